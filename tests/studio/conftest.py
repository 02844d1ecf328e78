# SPDX-License-Identifier: Apache-2.0
"""A studio that runs, on tables that it could stumble over, and a browser that was let in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import divulge as dv
from tests.studio.served import Served, studio
from tests.views import browser as driver
from tests.views.test_html import EVIL


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the studio is started: patients, a table of markup, and one with which a search takes long."""
    found = tmp_path_factory.mktemp("studio")
    pyarrow.csv.write_csv(dv.datasets.patients(rows=1500, seed=3), found / "patients.csv")
    (found / "hospital.toml").write_text(dv.datasets.POLICY + "suppression = 0.05\n", encoding="utf-8")
    texts = [text for text in EVIL if "\x00" not in text]
    evil = {EVIL[0]: texts * 3, EVIL[4]: [*texts[1:], texts[0]] * 3, "age": list(range(30, 30 + len(texts))) * 3}
    pyarrow.csv.write_csv(pa.table(evil), found / "evil.csv")
    (found / "queue.py").write_text(
        "raise SystemExit('the folder of the data is no place for programs')", encoding="utf-8"
    )
    draw = random.Random(5)  # noqa: S311 - a table, not a secret
    wide = {f"column_{place}": [draw.randrange(60) for _ in range(3000)] for place in range(14)}  # 30 s, its time limit
    pyarrow.csv.write_csv(pa.table(wide), found / "wide.csv")
    return found


@pytest.fixture(scope="package")
def served(folder: Path) -> Iterator[Served]:
    """One studio, and a browser that has come by its address."""
    with studio(folder) as found:
        yield found


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """One Chromium for all of them."""
    pytest.importorskip("playwright")
    with driver.started() as found:
        yield found


@pytest.fixture(scope="package")
def context(browser: Any, served: Served) -> Any:
    """A browser with the cookie."""
    found = browser.new_context(viewport={"width": 1366, "height": 768})
    page = found.new_page()
    page.goto(served.address)
    assert "token" not in page.url
    page.close()
    return found
