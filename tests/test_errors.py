# SPDX-License-Identifier: Apache-2.0
"""Messages of errors, even after the transfer from a worker to the driver."""

from __future__ import annotations

import importlib.metadata
import pickle
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from divulge.errors import BadInput, DivulgeError, InternalError, install_command

ROOT = Path(__file__).parents[1]
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]["optional-dependencies"]


@pytest.mark.parametrize(
    "error", [BadInput("no  such\ncolumn", hint="Name another"), BadInput("no"), InternalError("x")]
)
def test_an_error_keeps_its_message_after_pickling(error: DivulgeError) -> None:
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(sent) is type(error)
    assert str(sent) == str(error)
    assert str(sent).count(error.message) == 1


def test_an_error_is_one_line() -> None:
    assert str(BadInput("no  such\ncolumn", hint="Name\nanother")) == "no such column. Name another"


@pytest.mark.parametrize("extra", [name for name in EXTRAS if name != "dev"])
def test_the_command_to_install_an_extra_names_its_packages(extra: str) -> None:
    assert install_command(extra) == "pip install " + " ".join(
        f"'{package}'" for package in EXTRAS[extra]
    )


def test_a_clone_that_is_not_installed_is_installed_with_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", missing)
    assert install_command("spark") == "pip install '.[spark]' in a clone of divulge"


def test_no_text_advises_to_install_divulge_from_a_package_index() -> None:
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    wanted = re.compile(r"pip install (?:-\S+ )*['\"]?divulge\b")
    assert [str(path) for path in files if wanted.search(path.read_text(encoding="utf-8"))] == []
