# SPDX-License-Identifier: Apache-2.0
"""The public names: what `import divulge` offers, what type checkers are told of it, and that rooms hide none of it."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import divulge as dv

STUB = Path(dv.__file__).with_suffix(".pyi")


def test_type_checkers_are_told_of_every_public_name() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    told = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert told == set(dir(dv))


@pytest.mark.parametrize("name", dir(dv))
def test_every_public_name_is_what_the_stub_says(name: str) -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    homes = {a.asname: (n.module, a.name) for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    module, own = homes[name]
    if module == "divulge":
        assert getattr(dv, name) is importlib.import_module(f"divulge.{own}")
    else:
        assert getattr(dv, name) is getattr(importlib.import_module(str(module)), own)


def test_a_module_can_be_imported_under_a_name_of_ones_own() -> None:
    import divulge.search.plan as p

    assert inspect.ismodule(p)
    assert inspect.isfunction(dv.generalize)
    assert inspect.isfunction(dv.anatomize)
    assert type(dv) is type(ast)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'measur'"):
        getattr(dv, "measur")  # noqa: B009 - as a user who mistypes it
