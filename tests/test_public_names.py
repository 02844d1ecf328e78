# SPDX-License-Identifier: Apache-2.0
"""The public names: what `import divulge` offers, what type checkers are told of it, and that
rooms hide none of it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import divulge as dv

STUB = Path(dv.__file__).with_suffix(".pyi")
FETCHING = {"datasets.fetch", "datasets.load"}
"""Their examples would fetch data from elsewhere, and are not run."""


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function that a user can call, by its name below `dv`."""
    for name in dir(dv):
        found = getattr(dv, name)
        inner = [(f"{name}.{own}", getattr(found, own)) for own in getattr(found, "__all__", ())]
        for path, value in inner if inspect.ismodule(found) else [(name, found)]:
            if inspect.isfunction(value):
                yield path, value


def sections(function: Callable[..., Any]) -> dict[str, str]:
    """The sections of a docstring by title, as the API page shows them.

    What comes before the first has the title "".
    """
    title, *rest = re.split(
        r"^(Args|Examples):$", f"\n{inspect.getdoc(function)}", flags=re.MULTILINE
    )
    return {"": title.strip(), **dict(zip(rest[::2], rest[1::2], strict=True))}


def documented() -> Iterator[tuple[str, Any]]:
    """Every function and class that a user meets, and what such a class can do, by its name
    below `dv`.
    """
    for name in dir(dv):
        found = getattr(dv, name)
        inner = [(f"{name}.{own}", getattr(found, own)) for own in getattr(found, "__all__", ())]
        for path, value in inner if inspect.ismodule(found) else [(name, found)]:
            own = vars(value).items() if inspect.isclass(value) else ()
            for at, each in [
                (path, value),
                *((f"{path}.{at}", each) for at, each in own if not at.startswith("_")),
            ]:
                if inspect.isclass(each) or inspect.isroutine(each) or isinstance(each, property):
                    yield at, each


def test_an_example_stands_in_a_section_of_its_own_for_the_page_shows_no_other() -> None:
    outside = [
        path
        for path, each in documented()
        if ">>>"
        in re.split(r"^\s*Examples:$", each.__doc__ or "", maxsplit=1, flags=re.MULTILINE)[0]
    ]
    assert outside == []


def test_type_checkers_are_told_of_every_public_name() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    told = {
        alias.asname
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == set(dir(dv))


@pytest.mark.parametrize("name", dir(dv))
def test_every_public_name_is_what_the_stub_says(name: str) -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    homes = {
        a.asname: (n.module, a.name)
        for n in tree.body
        if isinstance(n, ast.ImportFrom)
        for a in n.names
    }
    module, own = homes[name]
    if module == "divulge":
        assert getattr(dv, name) is importlib.import_module(f"divulge.{own}")
    else:
        assert getattr(dv, name) is getattr(importlib.import_module(str(module)), own)


def test_a_module_can_be_imported_under_a_name_of_ones_own() -> None:
    import divulge.generalization.plan as p

    assert inspect.ismodule(p)
    assert inspect.isfunction(dv.generalize)
    assert inspect.isfunction(dv.anatomize)
    assert type(dv) is type(ast)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'measur'"):
        getattr(dv, "measur")  # noqa: B009 - as a user who mistypes it


def test_public_functions_are_found() -> None:
    assert {"measure", "read", "dossier.leakage", "datasets.load", "side_by_side"} <= dict(
        public_functions()
    ).keys()


@pytest.mark.parametrize("name", dict(public_functions()))
def test_a_docstring_explains_every_argument_in_order_and_shows_an_example(name: str) -> None:
    function = dict(public_functions())[name]
    told = sections(function)
    assert told[""], "it says what it does"
    explained = re.findall(r"^    (\w+): \S", told.get("Args", ""), re.MULTILINE)
    assert explained == list(inspect.signature(function).parameters)
    assert f"{name.rpartition('.')[2]}(" in told.get("Examples", "")
    assert ("+SKIP" in told["Examples"]) == (name in FETCHING)
