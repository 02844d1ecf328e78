# SPDX-License-Identifier: Apache-2.0
"""The order of published rows: the same rows, in an order that the source's order has no part in."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.publish import draw_secret, shuffled

ENGINE = DuckDBEngine()
Row = tuple[Any, ...]


def order(rows: list[Row], *, secret: int, names: tuple[str, ...] = ("a", "b")) -> list[Row]:
    """The rows after shuffling."""
    table = pa.table({name: pa.array([row[i] for row in rows]) for i, name in enumerate(names)})
    relation = ENGINE.register(ENGINE.fresh_name("rows"), table)
    found = ENGINE.query(shuffled(ENGINE, f"SELECT * FROM {relation}", secret=secret))
    assert tuple(found.column_names) == names
    return [tuple(row.values()) for row in found.to_pylist()]


ROWS = st.lists(
    st.tuples(st.sampled_from(["x", "y", "", "1|2", None]), st.one_of(st.none(), st.integers(0, 3))),
    min_size=1,
    max_size=30,
)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(0, 2**62 - 1), st.randoms(use_true_random=False))
def test_the_order_of_the_source_has_no_part_in_it(rows: list[Row], secret: int, chance: random.Random) -> None:
    found = order(rows, secret=secret)
    assert Counter(found) == Counter(rows)
    other = list(rows)
    chance.shuffle(other)
    assert order(other, secret=secret) == found


def test_another_secret_gives_another_order() -> None:
    rows = [(str(i), i) for i in range(50)]
    assert order(rows, secret=1) == order(rows, secret=1)
    assert order(rows, secret=1) != order(rows, secret=2)
    assert order(rows, secret=1) != rows


def test_equal_rows_do_not_stand_together() -> None:
    """100 rows of two kinds: sorted by kind there would be one change; a shuffle has about fifty."""
    found = order([("x", 0)] * 50 + [("y", 0)] * 50, secret=7)
    changes = sum(one != next_ for one, next_ in pairwise(found))
    assert 25 < changes < 75


def test_odd_column_names() -> None:
    names = ('a "b"', "copy", "c0", "select")
    rows = [(1, 2, 3, 4), (5, 6, 7, 8), (1, 2, 3, 4)]
    assert Counter(order(rows, secret=3, names=names)) == Counter(rows)


def test_secrets_are_drawn_anew_and_seeds_are_checked() -> None:
    assert len({draw_secret() for _ in range(20)}) == 20
    assert draw_secret(5) == 5
    for seed in (-1, 2**62):
        with pytest.raises(BadInput, match="seed"):
            draw_secret(seed)
