# SPDX-License-Identifier: Apache-2.0
"""The most groups: exact on small tables by brute force, and an upper bound otherwise.

Also many groups with tight alpha or gamma.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from divulge.anatomization import AlphaBetaGammaDelta, Anatomized, Anatomy, InfeasibleModel, Slppa
from divulge.anatomization.group_count_bound import bound_group_count, plan_groups
from divulge.anatomization.methods import anatomize
from divulge.anatomization.problem import GroupingProblem, problem_of
from divulge.anatomization.record_grouping import assign_by_plan
from tests.anatomization.checker import Drawn, as_lists, partitions
from tests.anatomization.literature import QUASI_IDENTIFIERS, TABLES, table_1
from tests.anatomization.public import ADULT, paper_rows

BOUNDS = [Fraction(text) for text in ("1", "3/4", "2/3", "1/2", "2/5", "1/3", "1/4", "1/8")]


def drawn_table(seed: int, *, rows: int = 7) -> Drawn:
    """A few values in each column, and random bounds such that alpha and beta are feasible."""
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c", "s"]
    columns = {name: rng.integers(0, rng.integers(2, 6), rows).tolist() for name in names}
    cells = [{name: columns[name][i] for name in names} for i in range(rows)]
    tables = [(("a",), ("b",), ("c",)), (("a",), ("b", "c")), (("a", "b", "c"),)][rng.integers(3)]
    whole = Drawn(cells, tables, ("s",), (Fraction(1),) * 4).levels(range(rows))
    kept = [[bound for bound in BOUNDS if bound >= level] for level in whole[:2]]
    alpha, beta = (bounds[rng.integers(len(bounds))] for bounds in kept)
    gamma = Fraction(1, int(rng.choice([1, 4, 8, 12, 27, 45])))
    return Drawn(cells, tables, ("s",), (alpha, beta, gamma, BOUNDS[rng.integers(len(BOUNDS))]))


@cache
def most_by_brute_force(seed: int) -> int:
    """The most groups over all 877 partitions of 7 records; 0 if none satisfies the bounds."""
    table = drawn_table(seed)
    keeps = cache(table.satisfies)
    every = partitions(list(range(len(table.rows))))
    return max(
        (len(groups) for groups in every if all(keeps(tuple(group)) for group in groups)), default=0
    )


def problem(table: Drawn) -> GroupingProblem:
    return problem_of(
        table.codes, tables=table.tables, sensitive=table.sensitive, model=table.model
    )


def divided(table: Drawn, **settings: Any) -> Anatomized:
    method = Slppa(table.model, tables=table.tables, **settings)
    return anatomize(
        table.codes, method, quasi_identifiers=table.quasi_identifiers, sensitive="s", seed=3
    )


def test_table_1_has_three_groups() -> None:
    """At (1/2, 1/2, 1/8, 1/4) three groups exist, by all 4,140 partitions (golden file 002)."""
    model = AlphaBetaGammaDelta(alpha="1/2", beta="1/2", gamma="1/8", delta="1/4")
    for seed in range(5):
        found = anatomize(
            table_1(),
            Slppa(model, tables=TABLES),
            quasi_identifiers=QUASI_IDENTIFIERS,
            sensitive="Salary",
            seed=seed,
        )
        assert found.groups == found.at_most == 3


@pytest.mark.parametrize("seed", range(50))
def test_small_tables_get_the_most_groups(seed: int) -> None:
    """A grouping is found if and only if one exists, with the most groups possible."""
    table, expected = drawn_table(seed), most_by_brute_force(seed)
    if expected == 0:
        with pytest.raises(InfeasibleModel) as raised:
            divided(table)
        assert raised.value.proved
        return
    found = divided(table)
    assert all(table.satisfies(group) for group in as_lists(found.group))
    assert found.groups == found.at_most == expected


@pytest.mark.parametrize(
    ("pressing", "sizes", "shapes"), [(3, 256, 300), (3, 256, 1), (1, 1, 300), (2, 2, 1)]
)
def test_no_grouping_has_more_groups_than_the_bound(
    monkeypatch: pytest.MonkeyPatch, pressing: int, sizes: int, shapes: int
) -> None:
    """The bound holds also with the approximations for large tables.

    They enumerate fewer tables, sizes and counts.
    """
    monkeypatch.setattr("divulge.anatomization.group_count_bound._MODELED_TABLES", pressing)
    monkeypatch.setattr("divulge.anatomization.group_count_bound._ENUMERATED_SIZES", sizes)
    monkeypatch.setattr("divulge.anatomization.group_count_bound._MOST_INTEGER_SHAPES", shapes)
    bounds = [bound_group_count(problem(drawn_table(seed)).whole_table) for seed in range(50)]
    truth = [most_by_brute_force(seed) for seed in range(50)]
    assert all(bound >= true for bound, true in zip(bounds, truth, strict=True))
    if pressing == 3 and shapes > 1:
        assert sum(bound == true for bound, true in zip(bounds, truth, strict=True)) >= 30


def skewed(rows: int, **bounds: Any) -> Drawn:
    """Three in ten records have the tuple 0; seven sensitive values are nearly equally frequent."""
    cells = [{"a": 0 if i % 10 < 3 else 1 + i, "s": (i * 3 + i // 10) % 7} for i in range(rows)]
    model = AlphaBetaGammaDelta(**bounds)
    return Drawn(cells, (("a",),), ("s",), (model.alpha, model.beta, model.gamma, model.delta))


def test_groups_of_two_sizes_where_one_size_does_not_fit() -> None:
    """Groups of two sizes if no single size fits, at alpha = 2/5.

    Groups of 7 have room for two records of the tuple, 2/7 < 3/10. Groups of 8 have room for three,
    but not for a value in 1/7 of all. By hand: x groups of 7, y of 14 (5 of the tuple, 2 of the
    value): 7x + 14y = 700 and 2x + 5y >= 210 give y = 10, x = 80.
    """
    table = skewed(700, alpha="2/5", beta="1/7")
    found = divided(table)
    assert all(table.satisfies(group) for group in as_lists(found.group))
    assert found.at_most == 90
    assert found.groups == 90


def test_a_plan_has_room_for_everything() -> None:
    table = skewed(700, alpha="2/5", beta="1/7")
    whole = problem(table).whole_table
    plan = plan_groups(whole, reserve_share=Fraction(1, 10))
    assert plan is not None
    assert plan.sizes.sum() == 700
    assert plan.tuples.sum() >= 210
    assert plan.values.sum() >= 100
    dealt = assign_by_plan(problem(table), plan, rng=np.random.default_rng(0))
    assert np.bincount(dealt).tolist() == plan.sizes.tolist()
    assert plan_groups(whole, reserve_share=Fraction(1)) is None


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_proved_against_a_grouping_that_exists(seed: int) -> None:
    """Twenty records, with the levels of a random partition as bounds.

    The search may miss it but must not prove it impossible.
    """
    table, group = drawn_table(seed, rows=20), np.random.default_rng(seed).integers(0, 4, 20)
    reached = [table.levels(members) for members in as_lists(group)]
    alpha, beta, gamma, delta = (max(column) for column in zip(*reached, strict=True))
    table = Drawn(table.rows, table.tables, table.sensitive, (alpha, beta, gamma, delta))
    assert bound_group_count(problem(table).whole_table) >= len(reached)
    try:
        assert divided(table).at_most >= len(reached)
    except InfeasibleModel as error:
        assert not error.proved  # noqa: PT017 - most seeds are grouped


def test_larger_groups_have_a_bound_of_their_own() -> None:
    table = skewed(700, beta="1/2")
    assert divided(table, group_size=30).at_most == 23
    assert divided(table, group_size=1000).at_most == 1


def test_upper_bound_is_reported_for_every_method() -> None:
    table = skewed(700)
    found = anatomize(table.codes, Anatomy(5), quasi_identifiers=["a"], sensitive="s", seed=0)
    assert found.groups == found.at_most == 140


@pytest.mark.public_data
@pytest.mark.parametrize(("tables", "least"), [(3, 2785), (1, 1040)])
def test_adult_where_alpha_or_gamma_bites(tables: int, least: int) -> None:
    """Lower bounds on the number of groups of Adult.

    First fit finds 2,785 groups with three tables. With one, 29 records take four of a value (4 <=
    0.005 29^2): 1,040 equal groups.
    """
    names = [name for name in ADULT.values() if name != "occupation"]
    model = AlphaBetaGammaDelta(alpha=0.4, beta="1/7", gamma=0.005, delta="1/7")
    method = Slppa(model, tables=tables, linkage="first")
    found = anatomize(
        paper_rows("adult"), method, quasi_identifiers=names, sensitive="occupation", seed=0
    )
    assert model.allows(found.levels)
    assert least <= found.groups <= found.at_most < 4308
    assert found.groups > 0.99 * found.at_most
