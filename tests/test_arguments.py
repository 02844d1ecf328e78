# SPDX-License-Identifier: Apache-2.0
"""Arguments in messages: marked where they are written, spelled where they are shown."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from functools import cache
from pathlib import Path

import pytest

import divulge as dv
from divulge.arguments import (
    Argument,
    FrontEnd,
    Sentence,
    arg,
    arg_name,
    arguments_in,
    marked,
    spelled,
    worded_by,
)
from divulge.errors import BadInput
from divulge.sources import known_options
from tests.test_public_names import documented

PACKAGE = Path(dv.__file__).parent


def dashed(argument: Argument) -> str:
    """Spell an argument in a way of its own."""
    return f"--{argument.name} {argument.code}".rstrip()


@pytest.mark.parametrize(
    ("mark", "python", "other"),
    [
        (arg("original"), "original=", "--original"),
        (arg("records", 0), "records=0", "--records 0"),
        (arg("suppression", 0.05), "suppression=0.05", "--suppression 0.05"),
        (arg("seeds", 0.1 + 0.2), f"seeds={0.1 + 0.2!r}", f"--seeds {0.1 + 0.2!r}"),
        (arg("plain", ["a b", "c"]), "plain=['a b', 'c']", "--plain ['a b', 'c']"),
        (arg("force", value=True), "force=True", "--force True"),
        (arg("prior", example="{...}"), "prior={...}", "--prior {...}"),
        (arg_name("max_deferred"), "max_deferred", "--max_deferred"),
    ],
)
def test_an_argument_is_spelled_by_each_front_end(mark: str, python: str, other: str) -> None:
    sentence = Sentence(f"give {mark}, or leave it out")
    assert sentence == f"give {python}, or leave it out"
    assert spelled(sentence) == sentence
    assert spelled(sentence, dashed) == f"give {other}, or leave it out"
    with worded_by(FrontEnd(dashed, str.upper)):
        assert spelled(sentence) == f"give {other}, or leave it out".upper()
    assert spelled(sentence) == sentence


def test_a_value_that_looks_like_a_mark_stays_a_value() -> None:
    value = marked(arg("force"))
    (argument,) = arguments_in(f"{arg('person', value)} is not a column")
    assert (argument.name, argument.value) == ("person", value)


def test_an_error_knows_the_argument_that_it_names() -> None:
    error = BadInput(f"the table has no {arg('person', 'who')}", hint=f"Give {arg('original')}")
    assert error.argument == "person"
    assert str(error) == "the table has no person='who'. Give original="
    assert BadInput("no table", hint=f"Give {arg('original')}").argument == "original"
    assert BadInput("no table", argument="table").argument == "table"
    assert BadInput("no table").argument == ""


def test_an_error_can_be_spelled_after_pickling_and_inside_another_error() -> None:
    error = BadInput(f"no {arg('person')}", hint=f"Give {arg('original')}")
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    outer = BadInput(f"t.csv: {marked(sent.message)}", hint=sent.hint)
    assert str(outer) == "t.csv: no person=. Give original="
    assert spelled(outer.message, dashed) == "t.csv: no --person"
    assert spelled(outer.hint, dashed) == "Give --original"


@cache
def arguments_of_python() -> frozenset[str]:
    """Return the parameters of public functions and methods, and the options of reading."""
    names = set(known_options())
    for _, documented_object in documented():
        try:
            names |= inspect.signature(documented_object).parameters.keys()
        except (ValueError, TypeError):  # a property, or a class that is written in C
            continue
    return frozenset(names)


def is_message(text: str) -> bool:
    """Report whether a text may be a sentence; SQL, HTML and Python code are none."""
    return " " in text and not re.search(r"\b(FROM|AS)\b|<|read_\w+\(|SparkEngine\(|\?mode=", text)


def test_messages_mark_the_arguments_that_they_name() -> None:
    """An argument that is written as `name=` would be shown in Python's spelling everywhere."""
    aside = {"cli", "studio", "charts"}
    made_by = {"provenance.py", "html.py", "ci_reports.py"}
    unmarked = []
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in aside or path.name in made_by:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in docstrings:
                continue
            if isinstance(node.value, str) and is_message(node.value):
                names = re.findall(r"(?<![\w/.{-])([a-z]\w*)=(?!=)", node.value)
                unmarked += [
                    f"{path.name}:{node.lineno}: {name}="
                    for name in names
                    if name in arguments_of_python()
                ]
    assert not unmarked, "\n".join(["write {arg('name')} instead:", *unmarked])
