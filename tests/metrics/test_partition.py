# SPDX-License-Identifier: Apache-2.0
"""Results of Spark's workers on parts merge into those of the whole table, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.adversary import Belief
from divulge.counting import Request, ValueNumbers, whole_classes
from divulge.metrics import IDENTITY, ClassQuery, Identity
from divulge.metrics.catalogue import SENSITIVE
from divulge.metrics.out_of_core import (
    BeliefBasis,
    Survey,
    SurveyFindings,
    SurveyPlan,
    SurveyTotals,
    Tally,
    add_up,
    find_worst,
    merge_findings,
    merge_totals,
    part_of,
)
from divulge.sources import resolve_roles
from tests.metrics.drawn import arrow, opened, rows

KEYS, SECRETS = ["zip", "age"], ["disease", "visits", "dose"]


def counted(table: pa.Table) -> tuple[SurveyPlan, pa.Table]:
    """The plan and the counted rows of a table, in the order of a Spark worker's input."""
    source = opened(table)
    request = Request(
        source,
        resolve_roles(source, quasi_identifiers=KEYS, sensitive=SECRETS),
        "category",
        joint=False,
    )
    found = source.engine.query(
        f"SELECT * FROM ({request.sql()}) ORDER BY k0 NULLS LAST, k1 NULLS LAST"
    )
    layout = request.layout
    marginals = replace(layout, keys=()).assemble(found)
    codings = {
        name: ValueNumbers(cells.domain, (cells.domain,)) for name, cells in marginals.cells.items()
    }
    beliefs = {name: Belief.of_table(cells) for name, cells in marginals.cells.items()}
    belief_bases = {
        name: BeliefBasis(belief.prior, belief.ground, None, None, belief.cells.marginal)
        for name, belief in beliefs.items()
    }
    return SurveyPlan(layout, codings, belief_bases, rows_per_batch=7), found


def partitions(found: pa.Table, parts: int) -> Iterator[list[pa.RecordBatch]]:
    """The rows, assigned class by class, in batches of three."""
    keys = list(zip(found["k0"].to_pylist(), found["k1"].to_pylist(), strict=True))
    places = {key: place % parts for place, key in enumerate(dict.fromkeys(keys))}
    for part in range(parts):
        yield found.filter(pa.array([places[key] == part for key in keys])).to_batches(
            max_chunksize=3
        )


def summed(plan: SurveyPlan, found: pa.Table, parts: int) -> SurveyTotals:
    """The first pass."""
    sums = [add_up(plan, batches) for batches in partitions(found, parts)]
    return reduce(merge_totals, [item for item in sums if item is not None])


@settings(deadline=None, max_examples=25)
@given(rows(most=40), st.integers(1, 4))
def test_sums_over_parts_are_those_of_the_table(drawn: list[dict[str, Any]], parts: int) -> None:
    plan, found = counted(arrow(drawn))
    sums = summed(plan, found, parts)
    whole = dv.measure(opened(arrow(drawn)), quasi_identifiers=KEYS, sensitive=SECRETS)
    sizes, repeats = np.unique(whole.contingency.sizes, return_counts=True)
    assert (sums.sizes.tolist(), sums.repeats.tolist()) == (sizes.tolist(), repeats.tolist())
    for name, belief in whole.beliefs.items():
        part = sums.wholes[name]
        assert part.classes == belief.whole_table.classes
        assert part.fewest_values == belief.whole_table.fewest_values
        assert part.marginal.tolist() == belief.whole_table.marginal.tolist()
        assert part.class_entropy == pytest.approx(belief.whole_table.class_entropy, abs=1e-12)
        assert part.remaining_entropy == pytest.approx(
            belief.whole_table.remaining_entropy, abs=1e-12
        )
        assert part.class_entropy_of_value == pytest.approx(
            belief.whole_table.class_entropy_of_value, abs=1e-12
        )
        assert sums.averages[name].surprise == pytest.approx(belief.mean_surprise, abs=1e-12)
        assert sums.averages[name].vulnerability == pytest.approx(
            belief.mean_vulnerability, abs=1e-12
        )
        assert sums.averages[name].prior_vulnerability == pytest.approx(
            belief.mean_prior_vulnerability, abs=1e-12
        )
    constant = [len(key) == 1 for key in whole.contingency.keys]
    assert [len(values) == 1 for values in sums.keys] == constant


@settings(deadline=None, max_examples=25)
@given(rows(most=40), st.integers(1, 4), st.integers(1, 3))
def test_the_worst_classes_of_the_parts_hold_those_of_the_table(
    drawn: list[dict[str, Any]], parts: int, kept: int
) -> None:
    plan, found = counted(arrow(drawn))
    whole = dv.measure(opened(arrow(drawn)), quasi_identifiers=KEYS, sensitive=SECRETS)
    sums = summed(plan, found, parts)
    plan = replace(
        plan,
        worst_per_metric=kept,
        identity=Identity.of_spectrum(sums.sizes.astype(float), sums.repeats.astype(float)),
        belief_bases={
            name: replace(item, whole_table=sums.wholes[name], averages=sums.averages[name])
            for name, item in plan.belief_bases.items()
        },
    )
    identity = [
        ClassQuery(metric, 0.0)
        for metric in IDENTITY
        if metric.per_class and not metric.needs_population
    ]
    criteria = (
        *identity,
        *(ClassQuery(metric, 0.0, name) for name in SECRETS for metric in SENSITIVE),
    )
    asked = ClassQuery(identity[0].metric, 2.0)
    pieces = [find_worst(plan, criteria, (asked,), batches) for batches in partitions(found, parts)]
    merged = reduce(
        lambda one, other: merge_findings(plan, criteria, one, other),
        [item for item in pieces if item],
    )
    sample = part_of(plan, merged.rows)
    assert sample is not None
    for scores, view in (
        (whole.identity, sample.identity),
        *((whole.sensitive[name], sample.beliefs[name]) for name in SECRETS),
    ):
        for score in scores.values():
            value, worst = score.metric.value(view)
            assert value == pytest.approx(score.value, abs=1e-9)
            if score.worst is not None:
                assert worst is not None
                assert sample.contingency.class_key(worst) == score.worst.key
    alone = whole.contingency.sizes[whole.contingency.sizes < 2]
    (tally,) = merged.tallies
    assert (tally.classes, tally.people) == (len(alone), int(alone.sum()))
    assert tally.share == pytest.approx(alone.sum() / whole.rows)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]), st.sampled_from([0.0, 1.5, float("nan"), None])
        ),
        max_size=30,
    ),
    st.integers(1, 9),
)
def test_pieces_hold_whole_classes_and_all_rows(keys: list[tuple[Any, Any]], size: int) -> None:
    in_order = sorted(keys, key=repr)  # any order will do that puts equal keys together
    table = pa.table(
        {
            "k0": pa.array([a for a, _ in in_order], pa.string()),
            "k1": pa.array([b for _, b in in_order], pa.float64()),
        }
    )
    pieces = list(whole_classes(table.to_batches(max_chunksize=2), 2, rows=size))
    assert sum(piece.num_rows for piece in pieces) == len(keys)
    seen = [{repr(row) for row in piece.to_pylist()} for piece in pieces]
    assert sum(map(len, seen)) == len(set().union(*seen))


def test_findings_are_small_enough_to_send() -> None:
    """A thousand unique people: the size of the findings does not grow with them."""
    drawn = [
        {"zip": str(i), "age": i, "disease": "flu", "visits": 1, "dose": 0.5} for i in range(1000)
    ]
    plan, found = counted(arrow(drawn))
    criteria = tuple(
        ClassQuery(metric, 0.0)
        for metric in IDENTITY
        if metric.per_class and not metric.needs_population
    )
    plan = replace(
        plan,
        worst_per_metric=3,
        rows_per_batch=100,
        identity=Identity.of_spectrum(np.array([1.0]), np.array([1000.0])),
    )
    findings = find_worst(plan, criteria, (), found.to_batches(max_chunksize=50))
    assert isinstance(findings, SurveyFindings)
    assert findings.rows["k0"].unique().to_pylist() == ["0", "1", "10"]


@pytest.mark.parametrize(("most", "sizes"), [(1, [1]), (2, [1, 2]), (5, [1, 2])])
def test_no_more_classes_are_listed_than_the_sample_is_sure_of(most: int, sizes: list[int]) -> None:
    """Classes of 1 to 4 people are in the sample, but only two worst ones for each metric.

    The number of classes beyond the bound comes from the whole table.
    """
    drawn = [
        {"zip": str(size), "age": 1, "disease": "flu", "visits": 1, "dose": 0.5}
        for size in range(1, 5)
        for _ in range(size)
    ]
    plan, found = counted(arrow(drawn))
    spectrum = Identity.of_spectrum(np.array([1.0, 2, 3, 4]), np.ones(4))
    plan = replace(plan, worst_per_metric=2, identity=spectrum)
    sample = part_of(plan, found)
    assert sample is not None
    metric = next(metric for metric in IDENTITY if metric.name == "k_anonymity")
    question, whole_table = ClassQuery(metric, 9.0), Tally(7, 31, 0.25)
    survey = Survey(
        cast("Any", None), plan, sample, sample.contingency, answers={question: whole_table}
    )
    (answered,) = survey.ask([question], most=most)
    assert [listed.size for listed in answered.worst] == sizes
    assert answered.tally == whole_table
    (answered,) = survey.ask([ClassQuery(metric, 1.0)], most=most)
    assert (answered.value, answered.worst, answered.tally.classes) == (1.0, (), 0)
