# SPDX-License-Identifier: Apache-2.0
"""Group division: invariants of unions, swaps and merges.

An independent checker verifies every output.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.anatomization import AlphaBetaGammaDelta, Anatomized, InfeasibleModel, Slppa, read_rows
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.methods import anatomize
from divulge.anatomization.problem import problem_of
from divulge.anatomization.record_grouping import assign_round_robin
from divulge.anatomization.repair import merge, repair
from divulge.errors import BadInput
from tests.anatomization.checker import Drawn, as_lists, drawn, random_table
from tests.anatomization.literature import QUASI_IDENTIFIERS, TABLES, table_1


def grouped(table: Drawn, **options: Any) -> Anatomized:
    """Anatomize a drawn table with its own bounds."""
    return anatomize(
        table.codes,
        Slppa(table.model, tables=table.tables, **options),
        quasi_identifiers=table.quasi_identifiers,
        sensitive=table.sensitive,
        seed=3,
    )


@settings(deadline=None, max_examples=200)
@given(drawn(most=8, tables=3), st.data())
def test_unions_keep_alpha_beta_and_delta(table: Drawn, data: st.DataObject) -> None:
    records = list(range(len(table.rows)))
    assume(len(records) > 1)
    cut = data.draw(st.integers(1, len(records) - 1))
    mixed = data.draw(st.permutations(records))
    one, other = table.levels(mixed[:cut]), table.levels(mixed[cut:])
    both = table.levels(mixed)
    for place in (0, 1, 3):
        assert both[place] <= max(one[place], other[place])


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.fractions(min_value="1/5", max_value="3/4", max_denominator=20))
def test_swaps_keep_sizes_and_sensitive_values_and_break_no_group(
    seed: int, alpha: Fraction
) -> None:
    table = random_table(120, seed=seed)
    model = AlphaBetaGammaDelta(alpha=alpha, beta="1/2", gamma="1/10")
    problem = problem_of(table.codes, tables=table.tables, sensitive=["s"], model=model)
    rng = np.random.default_rng(seed)
    before = assign_round_robin(problem, groups=np.array([12]), rng=rng)
    after = repair(problem, before, groups=12, rng=rng)
    values = problem.sensitive[0].ids
    for number in range(12):
        assert sorted(values[before == number].tolist()) == sorted(
            values[after.group == number].tolist()
        )
    was = problem.measure(before, groups=12).satisfies(model)
    now = problem.measure(after.group, groups=12).satisfies(model)
    assert (after.valid == now).all()
    assert (now | ~was).all()
    event("repaired" if now.sum() > was.sum() else "nothing to gain")


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 30))
def test_merges_make_unions_until_all_groups_keep_the_model(seed: int, groups: int) -> None:
    table = random_table(90, seed=seed)
    loose = problem_of(
        table.codes, tables=table.tables, sensitive=["s"], model=AlphaBetaGammaDelta()
    )
    whole = loose.whole_table.levels
    model = AlphaBetaGammaDelta(
        alpha=min(whole.alpha + Fraction(1, 50), Fraction(1)), beta=whole.beta, delta="1/3"
    )
    problem = problem_of(table.codes, tables=table.tables, sensitive=["s"], model=model)
    rng = np.random.default_rng(seed)
    before = repair(
        problem, (rng.permutation(90) % groups).astype(np.int32), groups=groups, rng=rng
    )
    after = merge(problem, before, rng=rng)
    parts = Counter(zip(before.group.tolist(), after.group.tolist(), strict=True))
    assert len(parts) == groups  # each old group lies in one new group
    assert sorted(np.unique(after.group).tolist()) == list(range(len(after.valid)))
    assert after.valid.all()
    assert problem.measure(after.group, groups=len(after.valid)).satisfies(model).all()


@settings(deadline=None, max_examples=80)
@given(
    st.integers(0, 10**6),
    st.tuples(*[st.fractions(min_value="1/20", max_value=1, max_denominator=40)] * 4),
    st.sampled_from([("s",), ("s", "t")]),
    st.booleans(),
)
def test_output_passes_the_checker_or_is_refused(
    seed: int,
    bounds: tuple[Fraction, Fraction, Fraction, Fraction],
    sensitive: tuple[str, ...],
    locality: bool,  # noqa: FBT001
) -> None:
    drawn_table = random_table(150, seed=seed, skew=0.4)
    table = Drawn(drawn_table.rows, drawn_table.tables, sensitive, bounds)
    whole = table.levels(range(150))
    try:
        found = grouped(table, locality=locality)
    except InfeasibleModel:
        event("refused")
        assert any(level > bound for level, bound in zip(whole, bounds, strict=True))
    else:
        event(f"{min(found.groups, 5)} groups or more")
        assert all(table.satisfies(group) for group in as_lists(found.group))
        assert sorted(np.unique(found.group).tolist()) == list(range(found.groups))


def test_table_1_is_grouped_where_algorithm_1_fails() -> None:
    """The paper's own beta = 1/2 and delta = 1/4 mean N = 4, for which Algorithm 1 as printed
    ends at line 17.
    """
    model = AlphaBetaGammaDelta(alpha="1/2", beta="1/2", gamma="1/32", delta="1/4")
    for seed in range(20):
        found = anatomize(
            table_1(),
            Slppa(model, tables=TABLES),
            quasi_identifiers=QUASI_IDENTIFIERS,
            sensitive="Salary",
            seed=seed,
        )
        assert model.allows(found.levels)
        assert found.groups == 2


def test_more_groups_where_swaps_suffice() -> None:
    """Four pairs; after a random assignment one or two may be (x, x), and a swap avoids a merge."""
    rows = rows_of({"q": ["x", "x", "1", "2", "x", "x", "3", "4"], "s": [1, 1, 1, 1, 2, 2, 2, 2]})
    method = Slppa(AlphaBetaGammaDelta(alpha="1/2", beta="1/2", delta="1/2"), tables=1)
    assert {
        anatomize(rows, method, quasi_identifiers=["q"], sensitive="s", seed=seed).groups
        for seed in range(20)
    } == {4}


def test_several_sensitive_attributes_are_all_protected() -> None:
    table = random_table(300, seed=5, skew=0.3)
    both = Drawn(
        table.rows,
        table.tables,
        ("s", "t"),
        (Fraction(1), Fraction(2, 5), Fraction(1), Fraction(2, 5)),
    )
    found = grouped(both)
    assert found.groups > 20
    assert found.tables == (("a",), ("b", "c"), ("s",), ("t",))
    for name in ("s", "t"):
        alone = Drawn(table.rows, table.tables, (name,), both.bounds)
        assert all(alone.satisfies(group) for group in as_lists(found.group))


def test_several_sensitive_attributes_are_refused_by_the_one_that_cannot_be_protected() -> None:
    rows = rows_of({"q": [1, 2, 3, 4], "s": [1, 2, 3, 4], "t": ["x", "x", "x", "y"]})
    with pytest.raises(InfeasibleModel, match="t = 'x' is in 3 of 4 records"):
        anatomize(
            rows,
            Slppa(AlphaBetaGammaDelta(beta="1/2"), tables=1),
            quasi_identifiers=["q"],
            sensitive=["s", "t"],
        )


def test_groups_are_at_least_as_large_as_asked() -> None:
    table = random_table(200, seed=1)
    found = grouped(table, group_size=30)
    assert found.sizes.min() >= 30
    assert found.groups == 6


def test_the_same_seed_gives_the_same_groups_in_any_row_order() -> None:
    table = random_table(200, seed=2, skew=0.3)
    columns = {name: [row[name] for row in table.rows] for name in "abcs"}
    order = np.random.default_rng(0).permutation(200)
    mixed = {name: [cells[i] for i in order] for name, cells in columns.items()}
    method = Slppa(AlphaBetaGammaDelta(beta="1/3", delta="1/3"))

    def run(cells: dict[str, list[Any]], seed: int) -> tuple[list[Any], list[int]]:
        rows = read_rows(dv.read(pa.table(cells)), list(cells))
        found = anatomize(rows, method, quasi_identifiers=["a", "b", "c"], sensitive="s", seed=seed)
        records = [rows.values(name).to_pylist() for name in cells]
        return records, found.group.tolist()

    assert run(columns, 7) == run(mixed, 7)
    assert run(columns, 7)[1] != run(columns, 8)[1]


def test_a_seed_is_drawn_and_recorded() -> None:
    table = random_table(50, seed=2)
    method = Slppa(AlphaBetaGammaDelta(beta="1/2", delta="1/2"))
    names = ["a", "b", "c"]
    one, other = (
        anatomize(table.codes, method, quasi_identifiers=names, sensitive="s") for _ in range(2)
    )
    assert one.seed != other.seed
    again = anatomize(table.codes, method, quasi_identifiers=names, sensitive="s", seed=one.seed)
    assert (again.group == one.group).all()
    assert one.settings["model"] == {"alpha": "1", "beta": "1/2", "gamma": "1", "delta": "1/2"}


def test_nulls_are_a_value_of_their_own() -> None:
    rows = rows_of({"q": [None, None, None, "x"], "s": [1, 2, 3, 4]})
    with pytest.raises(InfeasibleModel, match="q = None is in 3 of 4"):
        anatomize(
            rows,
            Slppa(AlphaBetaGammaDelta(alpha="1/2"), tables=1),
            quasi_identifiers=["q"],
            sensitive="s",
        )


def test_rows_with_nulls_can_be_left_out() -> None:
    table = dv.read(pa.table({"a": [1, None, 3], "s": ["x", "y", None]}))
    assert len(read_rows(table, ["a", "s"])) == 3
    assert len(read_rows(table, ["a", "s"], nulls="drop")) == 1
    with pytest.raises(BadInput, match="no rows"):
        read_rows(dv.read(pa.table({"a": [None], "s": ["x"]})), ["a", "s"], nulls="drop")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "greedy"}, "no algorithm 'greedy'"),
        ({"group_size": 0}, "at least 0 records"),
        ({"algorithm": "paper", "locality": True}, "neither locality nor a group size"),
    ],
)
def test_invalid_method_options_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Slppa(AlphaBetaGammaDelta(), **options)


@pytest.mark.parametrize(
    ("quasi_identifiers", "sensitive", "message"),
    [
        ([], "s", "no quasi-identifiers"),
        (["a"], [], "no sensitive attribute"),
        (["a", "zip"], "s", "'zip' was not read"),
        (["a", "s"], "s", "'s' is named twice"),
    ],
)
def test_invalid_columns_are_rejected(
    quasi_identifiers: list[str], sensitive: Any, message: str
) -> None:
    rows = rows_of({"a": [1, 2], "s": [1, 2]})
    with pytest.raises(BadInput, match=message):
        anatomize(
            rows,
            Slppa(AlphaBetaGammaDelta(), tables=1),
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
        )
