# SPDX-License-Identifier: Apache-2.0
"""Mondrian cells, and groups assigned inside them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from divulge.anatomization import Anatomized, Slppa
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.methods import anatomize
from divulge.anatomization.record_grouping import mondrian
from tests.anatomization.checker import Drawn, as_lists, random_table


def grouped(table: Drawn, **options: Any) -> Anatomized:
    """Anatomize a drawn table with its own bounds."""
    return anatomize(
        table.codes,
        Slppa(table.model, tables=table.tables, **options),
        quasi_identifiers=table.quasi_identifiers,
        sensitive=table.sensitive,
        seed=3,
    )


def test_regions_hold_alike_records_and_keep_the_model() -> None:
    table = random_table(600, seed=4, skew=0.2)
    local = Drawn(
        table.rows,
        (("a", "b"), ("c",)),
        ("s",),
        (Fraction(3, 5), Fraction(1, 3), Fraction(1), Fraction(2, 5)),
    )
    near, far = grouped(local, locality=True), grouped(local)
    assert all(local.satisfies(group) for group in as_lists(near.group))

    def spread(found: Anatomized) -> float:
        codes = np.stack([found.rows.column(name) for name in "abc"])
        prior_classes = [
            codes[:, found.group == number].var(axis=1).sum() for number in range(found.groups)
        ]
        return float(np.average(prior_classes, weights=found.sizes))

    assert spread(near) < 0.8 * spread(far)


def test_mondrian_cuts_at_the_median_until_halves_are_too_small() -> None:
    rows = rows_of({"x": [0, 1, 2, 3, 4, 5, 6, 7], "y": [0, 0, 0, 0, 1, 1, 1, 1]})

    def of_two(cell: Any, records: Any, cells: int) -> Any:
        assert len(cell) == len(records)
        return np.bincount(cell, minlength=cells) >= 2

    found = mondrian(rows, ["x", "y"], are_allowed=of_two)
    assert int(found.max()) == 3
    assert sorted(as_lists(found)) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_mondrian_takes_another_column_where_the_widest_cannot_be_cut() -> None:
    """Split at the median of x, one half is a single record; y splits the records evenly."""
    rows = rows_of({"x": [0, 9, 9, 9], "y": [0, 0, 1, 1]})

    def of_two(cell: Any, records: Any, cells: int) -> Any:
        del records
        return np.bincount(cell, minlength=cells) >= 2

    assert sorted(as_lists(mondrian(rows, ["x", "y"], are_allowed=of_two))) == [[0, 1], [2, 3]]
