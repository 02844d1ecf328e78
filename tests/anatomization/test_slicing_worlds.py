# SPDX-License-Identifier: Apache-2.0
"""Slicing compared with every world consistent with a release: no posterior exceeds beta.

A world assigns each person, whose quasi-identifiers are all known, to a group such that it gives
every published table. All worlds are equally likely. The posterior of a value is the mean of its
share in the person's group. The test uses exact fractions and no code of divulge for counting.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.api.anatomized import AnatomizedRelease
from divulge.errors import DivulgeError

KNOWN = ("age", "zip", "job")
Row = dict[str, Any]
Tables = list[tuple[list[str], dict[int, Counter[tuple[Any, ...]]]]]


def people(random: Random) -> list[Row]:
    """Up to eight people; few of them have the same values."""
    return [
        {
            "age": random.randint(20, 22),
            "zip": random.choice("ab"),
            "job": random.choice("pq"),
            "disease": random.choice("xyzw"),
        }
        for _ in range(random.randint(4, 8))
    ]


def published_counts(release: AnatomizedRelease) -> tuple[Tables, dict[int, Counter[Any]]]:
    """The tables of quasi-identifiers, and the sensitive values, each counted by group."""
    tables: Tables = []
    values: dict[int, Counter[Any]] = {}
    for table in release.tables().values():
        columns = [name for name in table.column_names if name in (*KNOWN, "disease")]
        counts: dict[int, Counter[tuple[Any, ...]]] = {}
        for row in table.to_pylist():
            key = tuple(row[name] for name in columns)
            counts.setdefault(row["GID"], Counter())[key] += row.get("Count", 1)
        if columns == ["disease"]:
            values = {
                group: Counter({key[0]: n for key, n in found.items()})
                for group, found in counts.items()
            }
        else:
            tables.append((columns, counts))
    return tables, values


def worlds(rows: Sequence[Row], tables: Tables, groups: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every assignment of people to groups that gives the published tables."""
    assigned: list[int] = []
    left = [{group: Counter(counts.get(group, {})) for group in groups} for _, counts in tables]

    def assign(person: int) -> Iterator[tuple[int, ...]]:
        if person == len(rows):
            yield tuple(assigned)
            return
        keys = [tuple(rows[person][name] for name in columns) for columns, _ in tables]
        for group in groups:
            if any(counts[group][key] == 0 for counts, key in zip(left, keys, strict=True)):
                continue
            for counts, key in zip(left, keys, strict=True):
                counts[group][key] -= 1
            assigned.append(group)
            yield from assign(person + 1)
            assigned.pop()
            for counts, key in zip(left, keys, strict=True):
                counts[group][key] += 1

    return assign(0)


@pytest.mark.parametrize("seed", range(16))
def test_posterior_over_all_worlds_is_at_most_beta(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    beta = [Fraction(1, 2), Fraction(2, 3), Fraction(2, 5), Fraction(1, 3)][seed % 4]
    rows = people(random)
    try:
        release = dv.anatomize(
            pa.Table.from_pylist(rows),
            quasi_identifiers=list(KNOWN),
            sensitive="disease",
            beta=str(beta),
            method="slicing",
            seed=seed,
        )
    except DivulgeError:
        most = max(Counter(row["disease"] for row in rows).values())
        # slicing groups by a whole number of values, l = ceil(1 / beta)
        eligible = Fraction(1, math.ceil(1 / beta))
        assert Fraction(most, len(rows)) > eligible, (
            "one group of everybody would have been possible"
        )
        return
    tables, values = published_counts(release)
    assert sum(sum(counts.values()) for counts in values.values()) == len(rows)
    shares = {
        group: {value: Fraction(n, sum(counts.values())) for value, n in counts.items()}
        for group, counts in values.items()
    }
    assert max(share for group in shares.values() for share in group.values()) <= beta
    posterior: list[Counter[Any]] = [Counter() for _ in rows]
    count = 0
    for world in worlds(rows, tables, sorted(values)):
        count += 1
        for person, group in enumerate(world):
            posterior[person].update(shares[group])
    assert count > 0
    assert max(max(found.values()) / count for found in posterior) <= beta
