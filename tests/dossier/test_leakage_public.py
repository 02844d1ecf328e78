# SPDX-License-Identifier: Apache-2.0
"""Public names of `divulge.dossier`: all resolve, and no module hides a function of its name."""

from __future__ import annotations

import importlib
import inspect

import pytest

import divulge.dossier as dossier  # noqa: PLR0402 - the package is under test, as a user writes it


@pytest.mark.parametrize("name", dossier.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(dossier, name) is not None
    assert name in dir(dossier)


@pytest.mark.parametrize("name", ["leakage", "resolve"])
def test_a_function_wins_over_its_module(name: str) -> None:
    importlib.import_module(f"divulge.dossier.{name}")
    assert inspect.isfunction(getattr(dossier, name))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'leak'"):
        getattr(dossier, "leak")  # noqa: B009 - as a user who mistypes it
