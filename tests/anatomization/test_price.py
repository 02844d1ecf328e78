# SPDX-License-Identifier: Apache-2.0
"""Utility cost of each bound, compared with all groupings of a small table."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.anatomization import advice
from divulge.errors import BadInput, Infeasible
from tests.helpers import run_cli

NAMES = ("alpha", "beta", "gamma", "delta")
Row = tuple[str, str, str]


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """All partitions of records into groups."""
    if not items:
        yield []
        return
    first, *rest = items
    for groups in partitions(rest):
        yield [[first], *groups]
        for place, group in enumerate(groups):
            yield [*groups[:place], [first, *group], *groups[place + 1 :]]


def levels(rows: Sequence[Row], group: Sequence[int]) -> tuple[Fraction, ...]:
    """Eqs. 3, 5, 7 and 8 of the paper, for one group.

    Two tables of one quasi-identifier each; the third column is sensitive.
    """
    counts = [Counter(rows[i][column] for i in group) for column in range(3)]
    shares = [Fraction(max(each.values()), len(group)) for each in counts]
    table = Counter(row[2] for row in rows)
    moves = [
        abs(Fraction(counts[2][value], len(group)) - Fraction(n, len(rows)))
        for value, n in table.items()
    ]
    return max(shares[:2]), shares[2], prod(shares, start=Fraction(1)), max(moves)


def most_groups(rows: Sequence[Row], bounds: dict[str, Fraction]) -> int:
    limits = [bounds.get(name, Fraction(1)) for name in NAMES]
    every = {
        group for size in range(1, len(rows) + 1) for group in combinations(range(len(rows)), size)
    }
    good = {
        g
        for g in every
        if all(level <= limit for level, limit in zip(levels(rows, g), limits, strict=True))
    }
    keeping = (len(groups) for groups in PARTITIONS if all(group in good for group in groups))
    return max(keeping, default=0)


PARTITIONS = [[tuple(sorted(group)) for group in groups] for groups in partitions(range(6))]


def drawn(seed: int) -> tuple[list[Row], dict[str, Fraction]]:
    draw = random.Random(seed)  # noqa: S311 - a test
    rows = [(draw.choice("abc"), draw.choice("xyz"), draw.choice("123")) for _ in range(6)]
    wanted = draw.sample(NAMES, draw.choice([1, 2, 3, 4]))
    return rows, {name: Fraction(draw.choice(["1/2", "2/3", "3/4"])) for name in wanted}


def test_costs_agree_with_all_groupings() -> None:
    """The reported number of groups is at most that of brute force, and at least the release's."""
    compared: Counter[str] = Counter()
    for seed in range(24):
        rows, bounds = drawn(seed)
        asked: dict[str, Any] = {"tables": [["job"], ["city"]], **bounds}
        table = pa.table(dict(zip(("job", "city", "salary"), zip(*rows, strict=True), strict=True)))
        try:
            release = dv.anatomize(table, sensitive="salary", seed=seed, **asked)
        except Infeasible:
            continue
        found = release.explain()
        assert [price.name for price in found.bounds] == [name for name in NAMES if name in bounds]
        for each in found.bounds:
            others = {name: bound for name, bound in bounds.items() if name != each.name}
            for told, terms in ((each.without, others), (each.alone, {each.name: each.bound})):
                assert told.at_most == most_groups(rows, terms)
                assert release.summary.groups <= told.groups <= told.at_most
                limits = [terms.get(name, Fraction(1)) for name in NAMES]
                assert all(
                    level <= limit
                    for level, limit in zip(astuple(told.levels), limits, strict=True)
                )
            compared["costs" if each.without.groups > release.summary.groups else "free"] += 1
    assert compared["costs"] > 5
    assert compared["free"] > 5


PEOPLE = pa.table({"job": [*"aabb"] * 4, "city": [*"xyxy"] * 4, "salary": [*"1122"] * 4})
ASKED: dict[str, Any] = {"sensitive": "salary", "tables": [["job"], ["city"]], "seed": 1}


def test_the_answer_depends_on_the_number_of_records_and_not_on_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = dv.anatomize(PEOPLE, beta="1/2", alpha="1/2", **ASKED)
    assert len(release.explain().bounds) == 2
    monkeypatch.setattr(advice, "_MOST_RECORDS_REGROUPED", 2 * 16 - 1)
    found = release.explain()
    assert (found.bounds, found.cut_short) == ((), True)
    assert "too many records" in str(found)


def test_other_methods_have_no_such_price() -> None:
    release = dv.anatomize(PEOPLE, method="anatomy", beta="1/2", sensitive="salary")
    with pytest.raises(BadInput, match="no bounds to do without"):
        release.explain()


def test_command_reports_the_cost_of_bounds(tmp_path: Any) -> None:
    """Sixteen records, two salaries eight times each.

    Pairs with both salaries are the most groups under beta = 1/2, with or without delta = 1/4.
    """
    file = tmp_path / "people.csv"
    file.write_text(
        "job,city,salary\n"
        + "".join(f"{a},{b},{c}\n" for a, b, c in zip(*PEOPLE.to_pydict().values(), strict=True))
    )
    asked = (
        "anatomize",
        str(file),
        "--sensitive",
        "salary",
        "--beta",
        "1/2",
        "--delta",
        "1/4",
        "--seed",
        "1",
    )
    told = run_cli(*asked).out
    assert "What each bound costs" in told
    assert "Giving up one of them alone gives no more groups." in told
    beta, delta = run_cli(*asked, "--json").json()["explanation"]["bounds"]
    assert (beta["name"], beta["bound"], beta["without"]["groups"], beta["alone"]["groups"]) == (
        "beta",
        "1/2",
        8,
        8,
    )
    assert (delta["name"], delta["without"]["groups"], delta["alone"]["groups"]) == ("delta", 8, 8)
    assert run_cli(*asked, "--no-explain", "--json").json()["explanation"] is None
    assert "What each bound costs" not in run_cli(*asked, "--no-explain").out
