# SPDX-License-Identifier: Apache-2.0
"""Numbering, sums and members by id, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge import arrays

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=30
)
IDS = st.lists(st.integers(0, 6), min_size=1, max_size=40)
# So wide that the columns' product does not fit in 64 bits.
RADICES = st.sampled_from([(4, 6, 3), (2**40, 2**40, 2**40)])


@given(rows=ROWS, radices=RADICES)
@settings(deadline=None)
def test_distinct_rows_are_numbered_in_order(
    rows: list[tuple[int, int, int]], radices: tuple[int, int, int]
) -> None:
    columns = [np.array(column, dtype=np.int16) for column in zip(*rows, strict=True)]
    ids, first = arrays.class_ids(columns, radices, rows=len(rows))
    distinct = sorted(set(rows))
    assert ids.tolist() == [distinct.index(row) for row in rows]
    assert [rows[place] for place in first] == distinct


@given(keys=IDS, span=st.sampled_from([7, 2**40]))
@settings(deadline=None)
def test_keys_become_dense_numbers(keys: list[int], span: int) -> None:
    """With counters if the span is small, by sorting otherwise."""
    numbers, count = arrays.renumber(np.array(keys), span)
    distinct = sorted(set(keys))
    assert (numbers.tolist(), count) == ([distinct.index(key) for key in keys], len(distinct))


@given(ids=IDS)
@settings(deadline=None)
def test_sums_by_id(ids: list[int]) -> None:
    numbers = np.arange(len(ids)) + 1
    expected = [sum(n + 1 for n, own in enumerate(ids) if own == id_) for id_ in range(9)]
    assert arrays.sum_by_id(np.array(ids), numbers / 2, 9).tolist() == [
        number / 2 for number in expected
    ]
    assert arrays.exact_sums(np.array(ids), numbers, 9).tolist() == expected
    assert arrays.how_many_alike(np.array(ids)).tolist() == [ids.count(id_) for id_ in ids]


def test_whole_numbers_are_not_rounded() -> None:
    """2^53 + 1 is no float."""
    found = arrays.exact_sums(np.array([0, 0, 1]), np.array([2**53, 1, 5]), 2)
    assert found.tolist() == [2**53 + 1, 5]


@given(entries=IDS)
@settings(deadline=None)
def test_runs_and_ranks(entries: list[int]) -> None:
    ordered = sorted(entries)
    assert arrays.run_starts(np.array(ordered)).tolist() == [
        ordered.index(entry) for entry in sorted(set(entries))
    ]
    order = sorted(range(len(entries)), key=lambda place: entries[place])
    assert arrays.ranks(entries).tolist() == [order.index(place) for place in range(len(entries))]


def test_nothing_has_no_runs() -> None:
    assert arrays.run_starts(np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("count", [7, 2**15 + 1])
@given(ids=IDS, data=st.data())
@settings(deadline=None)
def test_members_of_each_id(count: int, ids: list[int], data: st.DataObject) -> None:
    """Few ids are sorted in 16 bits, many by a key that also holds the position."""
    things = np.arange(len(ids)) * 10
    layout = arrays.lay_out(np.array(ids), count, things)
    members = [[10 * place for place, own in enumerate(ids) if own == id_] for id_ in range(7)]
    assert layout.sizes.shape == (count,)
    assert layout.sizes[:7].tolist() == [len(some) for some in members]
    assert not layout.sizes[7:].any()
    assert layout.members.tolist() == [thing for some in members for thing in some]
    assert layout.numbers.tolist() == sorted(ids)
    wanted = data.draw(st.lists(st.integers(0, 6), max_size=4))
    gathered, places = layout.gather(np.array(wanted, dtype=np.int64))
    assert gathered.tolist() == [thing for id_ in wanted for thing in members[id_]]
    assert places.tolist() == [at for at, id_ in enumerate(wanted) for _ in members[id_]]
    chosen = np.isin(np.arange(count), wanted)
    some, where = layout.select(chosen)
    assert some.members.tolist() == layout.members[where].tolist()
    assert some.members.tolist() == [thing for id_ in sorted(set(wanted)) for thing in members[id_]]
    assert some.sizes.tolist() == [len(members[id_]) for id_ in np.flatnonzero(chosen)]


def test_least_and_greatest_of_each_id() -> None:
    layout = arrays.lay_out(np.array([1, 0, 1]), 2)
    per_thing = np.array([7, 5, 3])
    assert (layout.least(per_thing).tolist(), layout.greatest(per_thing).tolist()) == (
        [5, 3],
        [5, 7],
    )
