# SPDX-License-Identifier: Apache-2.0
"""Rows as cells, and groups counted in pieces, compared with plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.anatomization import RowCodes, model, read_rows
from divulge.anatomization.encoded_rows import rows_of

CELL = st.tuples(
    st.sampled_from(["a", "b", None]), st.sampled_from([0.0, -0.0, 1.5, None]), st.integers(0, 2)
)
NAMES = ("x", "y", "z")


@given(st.lists(CELL, min_size=1, max_size=25))
@settings(deadline=None, max_examples=60)
def test_equal_rows_share_a_cell_and_give_equal_counts(cells: list[tuple[Any, ...]]) -> None:
    columns = dict(zip(NAMES, map(list, zip(*cells, strict=True)), strict=True))
    types = (pa.string(), pa.float64(), pa.int64())
    arrays = {
        name: pa.array(columns[name], type_) for name, type_ in zip(NAMES, types, strict=True)
    }
    found, plain = read_rows(dv.read(pa.table(arrays)), NAMES), rows_of(columns)
    ordered = sorted(cells, key=lambda row: [(value is None, value) for value in row])
    assert list(zip(*(found.values(name).to_pylist() for name in NAMES), strict=True)) == ordered
    assert [found.code("z", row) for row in range(len(found))] == found.column("z").tolist()
    for name in NAMES:
        assert [part.tolist() for part in found.spectrum(name)] == [
            part.tolist() for part in plain.spectrum(name)
        ]
    for left, right in (("x", "y"), ("y", "z")):
        ours, theirs = found.pair_statistics(left, right), plain.pair_statistics(left, right)
        assert (ours.lefts, ours.rights, ours.rows) == (theirs.lefts, theirs.rights, theirs.rows)
        assert ours.squares == pytest.approx(theirs.squares, abs=1e-12)
    _check_tuples(found)
    _check_tuples(found.take(np.arange(0, len(found), 2)))


def _check_tuples(rows: RowCodes) -> None:
    for names in (["x"], ["z", "y"], list(NAMES)):
        tuples = rows.tuples(names)
        each = list(zip(*(rows.column(name).tolist() for name in names), strict=True))
        assert dict(zip(tuples.ids.tolist(), each, strict=True)) == {
            number: tuple(
                rows.by_cell[rows.names.index(name)][tuples.cells[number]] for name in names
            )
            for number in tuples.ids.tolist()
        }
        assert sorted(Counter(each).values()) == sorted(tuples.counts[tuples.counts > 0].tolist())
        assert Counter(tuples.ids.tolist()) == {
            number: count for number, count in enumerate(tuples.counts.tolist()) if count
        }


@given(
    rows=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 3)), max_size=60),
    piece=st.integers(1, 8),
    weighted=st.booleans(),
)
@settings(deadline=None, max_examples=100)
def test_pieces_hold_whole_groups_and_all_counts(
    rows: list[tuple[int, int, int]], piece: int, *, weighted: bool
) -> None:
    group, value, times = (
        (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
        if rows
        else (np.zeros((3, 0), dtype=np.int64))
    )
    wanted = Counter[tuple[int, int]]()
    for own, tuple_, count in rows:
        wanted[own, tuple_] += count if weighted else 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "_PIECE", piece)
        patch.setattr(model, "_SMALLEST_GRID", 1)
        found = list(
            model.tally_in_pieces(
                group, value, groups=7, values=5, count=times if weighted else None
            )
        )
    assert [number for some, _ in found for number in range(*some.indices(7))] == list(range(7))
    counted: dict[tuple[int, int], int] = {}
    for some, part in found:
        assert part.groups == len(range(*some.indices(7)))
        first = some.indices(7)[0]
        entries = list(zip((part.group + first).tolist(), part.value.tolist(), strict=True))
        assert entries == sorted(set(entries))
        counted |= dict(zip(entries, part.count.tolist(), strict=True))
    assert counted == {key: count for key, count in wanted.items() if count}
