# SPDX-License-Identifier: Apache-2.0
"""--value-free with numbers and dates in every column, all far larger than counts and metrics."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from divulge.cli import redaction
from divulge.marks import HIDDEN
from tests.helpers import run_cli

ROLES = (
    "--qi",
    "age,zip,income,visited",
    "--sensitive",
    "salary",
    "--sensitive",
    "disease",
    "--identifier",
    "name",
)
GENERALIZE = ("generalize", "t.csv", *ROLES, "--k-anonymity", "3")
ANATOMIZE = (
    "anatomize",
    "t.csv",
    "--sensitive",
    "disease",
    "--identifier",
    "name",
    "--beta",
    "1/2",
)
CALLS: dict[str, tuple[str, ...]] = {
    "profile": ("profile", "t.csv"),
    "measure": ("measure", "t.csv", *ROLES, "--classes"),
    "rank": ("rank", "t.csv", *ROLES),
    "check": ("check", "t.csv", *ROLES, "--k-anonymity", "4", "--t-closeness", "0.1"),
    "check --protect": ("check", "t.csv", *ROLES, "--protect", "age > 98730: k_anonymity >= 20"),
    "generalize": (*GENERALIZE, "--optima"),
    "generalize, own rules": (*GENERALIZE, "--hierarchy", "income={intervals=[100], top=7654450}"),
    "generalize, Mondrian": (*GENERALIZE, "--method", "mondrian"),
    "generalize (3)": ("generalize", "t.csv", *ROLES, "--k-anonymity", "1000"),
    "anatomize": ANATOMIZE,
    "attack": ("attack", "release", "--truth", "t.csv", "--records", "20"),
    "query": ("query", "release", "age > 98730"),
    "query --sum": ("query", "release", "--sum", "salary"),
    "query --average": ("query", "tables", "age > 98730", "--average", "salary"),
    "apply": ("apply", "release", "others.csv"),
    "compose": (
        "compose",
        "release",
        "mondrian",
        "--truth",
        "t.csv",
        "--person",
        "name",
        "--sample",
        "3",
    ),
    "compose --who": (
        "compose",
        "release",
        "mondrian",
        "--truth",
        "t.csv",
        "--person",
        "name",
        "--who",
        "zqname 3",
    ),
    "compare": ("compare", "t.csv", "release", "tables"),
    "hierarchy build": ("hierarchy", "build", "t.csv", "--column", "age,zip,income,visited"),
    "hierarchy cut": (
        "hierarchy",
        "cut",
        "t.csv",
        "--column",
        "income",
        "--about",
        "salary",
        "--k-anonymity",
        "4",
    ),
    "hierarchy check": ("hierarchy", "check", "others.csv", "--hierarchies", "levels"),
    "hierarchy show": ("hierarchy", "show", "levels"),
}
VALUE = re.compile(
    r"zq|(?<![\d.])987\d{2,}|(?<![\d.])765\d{4}|(?<![\d.])812\d{5}|(?<![\d.])193\d\b"
)
LARGEST_COUNT = 5_000
"""No count, share, entropy or bound of these calls is larger, and every value is."""
LIMITS = (1_000_000, 100_000_000)
"""How much work a search may do, which the settings state."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("numbers")
    before = Path.cwd()
    os.chdir(folder)
    for name, count in {"t": 400, "others": 100}.items():
        (folder / f"{name}.csv").write_text(_table(count, seed=count), encoding="utf-8")
    for call in (
        (*GENERALIZE, "--out", "release"),
        (*GENERALIZE, "--method", "mondrian", "--out", "mondrian"),
        (*ANATOMIZE, "--out", "tables"),
        ("hierarchy", "build", "t.csv", "--column", "age,zip,income", "--out", "levels"),
    ):
        assert (made := run_cli(*call)).code == 0, made.err
    yield folder
    os.chdir(before)


def _table(count: int, *, seed: int) -> str:
    """Return a table whose ages have a long tail, so that their default rule has a top."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    lines = ["name,age,zip,income,visited,salary,disease"]
    for number in range(count):
        age = 98700 + min(int(draw.expovariate(0.05)), 300)
        income = draw.choice([7654321, 7654400, 7654500]) + draw.randint(0, 90)
        day = f"{1931 + draw.randint(0, 3)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"
        salary = 81230000 + 1000 * draw.randint(0, 5)
        zip_code = 9871000 + 7 * draw.randint(0, 12)
        disease = draw.choice(["zqflu", "zqcold", "zqcancer"])
        lines.append(f"zqname {number},{age},{zip_code},{income},{day},{salary},{disease}")
    return "\n".join(lines) + "\n"


def _leaves(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        yield from node
        for item in node.values():
            yield from _leaves(item)
    elif isinstance(node, list):
        for item in node:
            yield from _leaves(item)
    else:
        yield node


def _shows_value(leaf: Any) -> bool:
    if isinstance(leaf, str):
        return VALUE.search(leaf) is not None
    return isinstance(leaf, int | float) and abs(leaf) > LARGEST_COUNT and leaf not in LIMITS


@pytest.mark.parametrize("name", CALLS)
def test_no_number_of_a_cell_is_printed(name: str, folder: Path) -> None:
    del folder
    printed = run_cli(*CALLS[name], redaction.OPTION, "--json")
    assert printed.code in (0, 1, 2, 3), printed.err
    assert [leaf for leaf in _leaves(printed.json()) if _shows_value(leaf)] == []
    text = run_cli(*CALLS[name], redaction.OPTION)
    assert VALUE.search(printed.err + text.out + text.err) is None


@pytest.mark.parametrize("name", ["generalize", "query --sum", "compose --who", "hierarchy build"])
def test_these_calls_print_values_without_the_option(name: str, folder: Path) -> None:
    del folder
    assert any(map(_shows_value, _leaves(run_cli(*CALLS[name], "--json").json())))


def test_numbers_that_are_no_values_stay(folder: Path) -> None:
    del folder
    document = json.loads(run_cli(*CALLS["generalize"], redaction.OPTION, "--json").out)
    assert document["levels"].keys() == {"age", "zip", "income", "visited"}
    assert all(isinstance(level, int) for level in document["levels"].values())
    assert document["chosen_hierarchies"]["age"]["top"] == HIDDEN
    bounds = json.loads(run_cli(*CALLS["anatomize"], redaction.OPTION, "--json").out)
    assert bounds["settings"]["model"]["beta"] == "1/2"
