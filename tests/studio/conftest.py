# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a running studio, tables that it could fail on, and an authenticated browser."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import divulge as dv
from tests.output import browser as driver
from tests.output.test_html import EVIL
from tests.studio.served import Served, studio


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Working folder of the studio: patients, a table of markup, and one with a long search."""
    found = tmp_path_factory.mktemp("studio")
    pyarrow.csv.write_csv(dv.datasets.patients(rows=1500, seed=3), found / "patients.csv")
    (found / "hospital.toml").write_text(
        dv.datasets.POLICY + "suppression = 0.05\n", encoding="utf-8"
    )
    texts = [text for text in EVIL if "\x00" not in text]
    evil = {
        EVIL[0]: texts * 3,
        EVIL[4]: [*texts[1:], texts[0]] * 3,
        "age": list(range(30, 30 + len(texts))) * 3,
    }
    pyarrow.csv.write_csv(pa.table(evil), found / "evil.csv")
    (found / "queue.py").write_text(
        "raise SystemExit('the folder of the data is no place for programs')", encoding="utf-8"
    )
    draw = random.Random(5)  # noqa: S311 - a table, not a secret
    # 30 s, its time limit
    wide = {f"column_{place}": [draw.randrange(60) for _ in range(3000)] for place in range(14)}
    pyarrow.csv.write_csv(pa.table(wide), found / "wide.csv")
    return found


@pytest.fixture(scope="package")
def served(folder: Path) -> Iterator[Served]:
    """One studio, and a browser that has opened its address."""
    with studio(folder) as found:
        yield found


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """One Chromium for all tests."""
    pytest.importorskip("playwright")
    with driver.started() as found:
        yield found


@pytest.fixture(scope="package")
def context(browser: Any, served: Served) -> Any:
    """A browser context with the cookie."""
    found = browser.new_context(viewport={"width": 1366, "height": 768})
    page = found.new_page()
    page.goto(served.address)
    assert "token" not in page.url
    page.close()
    return found
