# SPDX-License-Identifier: Apache-2.0
"""The own column of the comparison tables is compared with the code, so that it cannot go stale."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

import divulge as dv
from divulge import attacks, sources
from divulge.adversary import ground_distance
from divulge.api import report
from divulge.cli.main import COMMANDS
from divulge.options import ANATOMIZATION_METHODS, GENERALIZATION_METHODS
from divulge.sources import paths, remote
from tests.helpers import run_cli

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "comparison.md"
NO = "\N{EN DASH}"
MARK = re.compile(rf"(Y|P|{NO})(?=[,:;]|$)")


def own_cells(page: Path) -> dict[str, str]:
    """The column of divulge, by the first cell of each row."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| | divulge |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return {row[0]: row[1] for row in rows if not row[0].startswith("**")}


def metric(*names: str) -> bool:
    return set(names) <= {found.name for found in dv.METRICS}


def command(*names: str) -> bool:
    return set(names) <= set(COMMANDS)


@cache
def help_texts() -> str:
    """The help of every command and the list of metrics: an ability that users can call has a
    word there.
    """
    texts = [run_cli(name, "--help").out for name in COMMANDS]
    return " ".join([*texts, *(found.name for found in dv.METRICS)]).lower()


def offered(*words: str) -> bool:
    return any(re.search(rf"\b{re.escape(word)}", help_texts()) for word in words)


def file_kind(*kinds: str) -> bool:
    return set(kinds) <= set(get_args(paths.FileKind))


def role(name: str) -> bool:
    return name in {field.name for field in fields(sources.Roles)}


def attacker(*names: str) -> bool:
    return set(names) <= {found.name for found in attacks.ATTACKERS}


@cache
def abilities() -> dict[str, dict[str, bool]]:
    """For each row of the page what it names, and whether the code has it."""
    searches = set(GENERALIZATION_METHODS)
    distances = get_args(ground_distance.Distance)
    return {
        "what it is": {
            "measures": command("measure", "check"),
            "publishes": command("generalize", "anatomize"),
            "Python": callable(dv.measure),
            "shell": command("demo"),
            "browser": command("studio"),
        },
        "k-anonymity; l-diversity in three kinds": {
            "k-anonymity": metric("k_anonymity"),
            "l-diversity": metric("l_diversity", "entropy_l_diversity", "recursive_c_l_diversity"),
        },
        "t-closeness: equal, ordered, hierarchical": {
            name: name in distances for name in ("equal", "ordered", "hierarchical")
        },
        "beta-likeness, delta-disclosure": {
            "beta": metric("basic_beta_likeness", "enhanced_beta_likeness"),
            "delta": metric("delta_disclosure"),
        },
        "entropy and distribution leakage, I1 and I2, discrimination rate, ITPR": {
            "leakages": metric("entropy_leakage", "distribution_leakage"),
            "information": metric("surprise", "specific_information"),
            "rates": metric("discrimination_rate", "itpr"),
        },
        "Bayes vulnerability, before and after": {
            "V": metric("prior_vulnerability", "posterior_vulnerability")
        },
        "k-map, journalist risk by a population table": {
            "metrics": metric("k_map", "journalist_risk"),
            "population table": "population" in {field.name for field in fields(dv.Adversary)},
        },
        "estimated uniqueness of a population": {
            "survey weights": role("weight"),
            "superpopulation models": offered("superpopulation", "population_uniques"),
        },
        "households, SUDA": {
            "households": role("household") or offered("household"),
            "SUDA": offered("suda"),
        },
        "delta-presence, game theory": {
            "delta-presence": offered("delta_presence", "delta-presence"),
            "game theory": offered("game"),
        },
        "optimal levels": {"exact": "full-domain" in searches},
        "Mondrian, local recoding": {
            "Mondrian": "mondrian" in searches,
            "local recoding": "relaxed-mondrian" in searches,
        },
        "cells suppressed one by one": {
            "cells": "cells" in searches or offered("local suppression", "cell suppression")
        },
        "noise, swapping, PRAM, microaggregation": {
            name: offered(name.lower()) for name in ("noise", "swap", "PRAM", "microaggregat")
        },
        "differential privacy": {"differential privacy": offered("laplace", "privacy budget")},
        "anatomy, with answers between bounds": {
            "anatomy": {"slppa", "anatomy", "slicing"} <= set(ANATOMIZATION_METHODS),
            "answers": command("query"),
        },
        "set-valued data (k^m)": {"k^m": offered("k^m", "km_anonymity", "set-valued")},
        "later rows by the same mapping": {"apply": command("apply")},
        "written, read back and verified before it appears": {"verify": command("generalize")},
        "attacks carried out, with a baseline and an interval": {
            "attack": command("attack") and attacker("singling-out")
        },
        "records of one person found by entity resolution": {"dossier": command("dossier")},
        "shell, exit code for a pipeline": {
            "shell": command("measure"),
            "exit code": command("check"),
        },
        "Parquet, Arrow, Polars, DuckDB, Spark": {
            "columnar files": file_kind("parquet", "arrow", "duckdb"),
            "engines": hasattr(dv, "DuckDBEngine") and hasattr(dv, "SparkEngine"),
        },
        "GUI": {"GUI": command("studio")},
        "report to attach": {
            name: name in get_args(report.Audience) for name in ("internal", "public")
        },
        "SAS, SPSS, Stata files": {
            "SAS": file_kind("sas"),
            "SPSS": file_kind("spss"),
            "Stata": file_kind("stata"),
        },
    }


def mark_of(parts: list[bool]) -> str:
    if all(parts):
        return "Y"
    return "P" if any(parts) else NO


def test_every_row_of_the_page_is_compared() -> None:
    assert set(own_cells(PAGE)) == set(abilities())


@pytest.mark.parametrize("row", [name for name in own_cells(PAGE) if name != "what it is"])
def test_our_mark_is_what_the_code_has(row: str) -> None:
    cell, parts = own_cells(PAGE)[row], abilities()[row]
    marks = MARK.findall(cell)
    assert marks, f"{row}: {cell!r} has no mark"
    if len(marks) > 1:
        # One mark for each part; a P is a part that the code has in some form.
        assert [mark != NO for mark in marks] == list(parts.values())
        return
    assert marks == [mark_of(list(parts.values()))]
    if marks == ["P"]:
        named = {name for name in parts if name in cell}
        assert named == {name for name, there in parts.items() if there}


def test_what_it_is_names_every_interface() -> None:
    words = set(re.findall(r"\w+", own_cells(PAGE)["what it is"]))
    assert words == {name for name, there in abilities()["what it is"].items() if there}


def test_no_other_tool_is_recommended_for_what_divulge_has() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## When to take another one")[2]
    ours = {name for parts in abilities().values() for name, there in parts.items() if there}
    assert not [name for name in ours if re.search(rf"\b{re.escape(name)}\b", text)]


def test_the_readme_claims_only_what_the_code_has() -> None:
    cells = own_cells(ROOT / "README.md")
    assert len(cells) >= 6
    assert set(cells.values()) == {"yes"}
    leading = {row.partition(",")[0].split()[0] for row in cells}
    assert leading == {"entropy", "t-closeness", "anatomized", "entity", "a", "Parquet"}
    rows = abilities()
    for row in (
        "entropy and distribution leakage, I1 and I2, discrimination rate, ITPR",
        "t-closeness: equal, ordered, hierarchical",
        "anatomy, with answers between bounds",
        "records of one person found by entity resolution",
        "shell, exit code for a pipeline",
        "Parquet, Arrow, Polars, DuckDB, Spark",
    ):
        assert all(rows[row].values())
    assert {"s3", "https"} <= {*remote.STORES, *remote.WEB}
