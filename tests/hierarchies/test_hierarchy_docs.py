# SPDX-License-Identifier: Apache-2.0
"""The rules in docs/how-to/hierarchies.md are valid, and its Python gives the stated output."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from divulge.hierarchies import build_hierarchy

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "hierarchies.md").read_text(
    encoding="utf-8"
)

VALUES = {
    "age": ("20", "[20, 25)"),
    "income": ("2000", "[2000, 4000)"),
    "zip": ("47677", "4767*"),
    "birth": ("2024-02-29", "2024-02"),
    "grade": ("C", "[C, D]"),
    "city": ("Kiel", "elsewhere"),
    "sex": ("f", "*"),
    "job": ("Craft-repair", "Technical"),
}


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_policy_of_the_guide_builds() -> None:
    rules = tomllib.loads(block("toml"))["hierarchies"]
    assert {
        name: build_hierarchy(name, rule, [VALUES[name][0]]).rows[VALUES[name][0]][1]
        for name, rule in rules.items()
    } == {name: label for name, (_, label) in VALUES.items()}


def test_the_python_of_the_guide_gives_the_labels_in_its_comment() -> None:
    """The labels in the comment are those of the rule above it."""
    code = block("python")
    (rule,) = [line.partition("=")[2] for line in code.splitlines() if line.startswith("levels")]
    told = code.rstrip().rpartition(": ")[2]
    levels = ast.literal_eval(rule.strip())
    assert ", ".join(map(str, build_hierarchy("age", levels["age"], ["20"]).rows["20"])) == told
