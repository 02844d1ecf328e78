# SPDX-License-Identifier: Apache-2.0
"""Groups of a part of a table, checked against the whole table by an independent checker.

Also the numbering of groups.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.anatomization import AlphaBetaGammaDelta, InfeasibleModel, Slppa
from divulge.anatomization.chunks import ChunkPlan, group_chunk
from divulge.anatomization.encoded_rows import rows_of, scatter
from divulge.anatomization.methods import anatomize
from divulge.anatomization.problem import SensitiveTotals, sensitive_totals
from divulge.sources import Column
from tests.anatomization.checker import Drawn, as_lists, drawn, random_table


def grouped_in_parts(table: Drawn, parts: int) -> list[list[int]] | None:
    """Groups of all parts, assigned by sensitive value; None if a part cannot be grouped."""
    order = sorted(
        range(len(table.rows)), key=lambda i: [str(table.rows[i][name]) for name in table.sensitive]
    )
    whole = table.codes
    totals = {
        name: SensitiveTotals(
            whole.domain(name), np.bincount(whole.column(name), minlength=len(whole.domain(name)))
        )
        for name in table.sensitive
    }
    groups: list[list[int]] = []
    for part in range(min(parts, len(order))):
        members = order[part::parts]
        rows = rows_of({name: [table.rows[i][name] for i in members] for name in table.rows[0]})
        try:
            found = anatomize(
                rows,
                Slppa(table.model, tables=table.tables),
                quasi_identifiers=table.quasi_identifiers,
                sensitive=table.sensitive,
                seed=1,
                totals=totals,
            )
        except InfeasibleModel:
            return None
        lists = as_lists(found.group)
        groups += [[members[i] for i in group] for group in lists]
        # The levels of a part are those of the checker, with delta against the whole table.
        worst = [
            max(levels)
            for levels in zip(
                *(table.levels(group) for group in groups[-len(lists) :]), strict=True
            )
        ]
        assert [
            found.levels.alpha,
            found.levels.beta,
            found.levels.gamma,
            found.levels.delta,
        ] == worst
    return groups


@settings(max_examples=150, deadline=None)
@given(table=drawn(most=24), parts=st.integers(1, 4))
def test_groups_of_parts_keep_the_model_in_the_whole_table(table: Drawn, parts: int) -> None:
    groups = grouped_in_parts(table, parts)
    if groups is not None:
        assert sorted(i for group in groups for i in group) == list(range(len(table.rows)))
        assert all(table.satisfies(group) for group in groups)


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_parts_lose_few_groups(parts: int) -> None:
    """Each part has the same mix of values as the table, so nearly as many groups result.

    Beta = delta, as in the paper.
    """
    loose = random_table(700, seed=3, skew=0.5)
    model = AlphaBetaGammaDelta(alpha="1/2", beta="1/3", delta="1/3")
    table = Drawn(
        loose.rows,
        loose.tables,
        loose.sensitive,
        (model.alpha, model.beta, model.gamma, model.delta),
    )
    groups, whole = grouped_in_parts(table, parts), grouped_in_parts(table, 1)
    assert groups is not None
    assert whole is not None
    assert len(groups) >= 0.95 * len(whole)


def test_moments_go_back_to_spark_in_utc() -> None:
    """Spark passes timestamps in the zone of its session and accepts them in UTC only."""
    moments = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=i) for i in range(4)]
    totals = sensitive_totals(
        pa.table({"v": ["flu", "cold"], "n": [2, 2]}), name="disease", kind="text"
    )
    plan = ChunkPlan(
        method=Slppa(AlphaBetaGammaDelta(beta="1/2"), tables=(("seen",),)),
        columns=(
            Column("seen", "TIMESTAMP WITH TIME ZONE", "date"),
            Column("disease", "VARCHAR", "text"),
        ),
        quasi_identifiers=("seen",),
        sensitive=("disease",),
        totals={"disease": totals},
        chunks=1,
        capacity=4,
        secret=1,
        numbering=2,
    )
    zoned = pa.array(moments, pa.timestamp("us", "America/New_York"))
    chunk = pa.table(
        {"c0": zoned, "c1": ["flu", "cold"] * 2, "chunk": pa.array([0] * 4, pa.int32())}
    )
    found = group_chunk(plan, chunk)
    assert found.schema.field("c0").type == pa.timestamp("us", "UTC")
    assert (
        sorted(moment for moment in found.column("c0").to_pylist() if moment is not None) == moments
    )


@pytest.mark.parametrize("span", [1, 2, 5, 64, 1000])
def test_scattered_numbers_are_a_permutation(span: int) -> None:
    found = scatter(np.arange(span), span, secret=11)
    assert sorted(found.tolist()) == list(range(span))
    assert span < 64 or found.tolist() != scatter(np.arange(span), span, secret=12).tolist()


def test_adjacent_group_numbers_are_scattered() -> None:
    """Groups with adjacent numbers are scattered: old and new numbers have no rank correlation."""
    span = 100_000
    found = scatter(np.arange(span), span, secret=3)
    assert abs(np.corrcoef(np.arange(span), found)[0, 1]) < 0.02
    assert abs(np.mean(np.abs(np.diff(found))) / span - 1 / 3) < 0.01
