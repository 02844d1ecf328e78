# SPDX-License-Identifier: Apache-2.0
"""The four attacks on Table 3 of Yao et al. 2021, by hand and by enumeration, and on Adult."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, reject, settings

from divulge.anatomization import AlphaBetaGammaDelta, Anatomized, Slppa
from divulge.anatomization.methods import anatomize
from divulge.attacks import Effort, attack_anatomized
from divulge.attacks.anatomized import (
    Victims,
    beliefs_without_group,
    draw_arrangement,
    student_interval,
    student_quantile,
)
from divulge.errors import Infeasible
from tests.anatomization.checker import Drawn, drawn
from tests.anatomization.literature import QUASI_IDENTIFIERS, table_1
from tests.anatomization.public import paper_rows
from tests.anatomization.table_3 import LEVELS, anatomized_table_1


def every_reconstruction(found: Anatomized) -> list[list[list[tuple[int, ...]]]]:
    """List for each group all joins of its records: tuples of values, one per record."""
    columns = [found.problem.tables[i].ids.tolist() for i in range(len(found.division.tables))]
    columns += [found.rows.column(name).tolist() for name in found.sensitive]
    groups = []
    for group in range(found.groups):
        members = np.flatnonzero(found.group == group).tolist()
        others = itertools.product(*(itertools.permutations(members) for _ in columns[1:]))
        groups.append(
            [
                [
                    tuple(column[who] for column, who in zip(columns, people, strict=True))
                    for people in zip(members, *chosen, strict=True)
                ]
                for chosen in others
            ]
        )
    return groups


def grouped(example: Drawn) -> Anatomized:
    """Anatomize a random table; a table without a valid grouping is drawn again."""
    try:
        return anatomize(
            example.codes,
            Slppa(AlphaBetaGammaDelta(beta="2/3"), tables=example.tables),
            quasi_identifiers=example.quasi_identifiers,
            sensitive=example.sensitive[:1],
            seed=2,
        )
    except Infeasible:
        reject()


def true_records(found: Anatomized) -> list[tuple[int, ...]]:
    columns = [found.problem.tables[i].ids.tolist() for i in range(len(found.division.tables))]
    columns += [found.rows.column(name).tolist() for name in found.sensitive]
    return list(zip(*columns, strict=True))


def test_table_3_is_attacked_as_far_as_its_levels_and_no_further() -> None:
    attacks = attack_anatomized(anatomized_table_1())
    assert [outcome.worst for outcome in attacks.outcomes] == [
        LEVELS.alpha,
        LEVELS.beta,
        LEVELS.gamma,
        LEVELS.delta,
    ]
    assert all(outcome.holds for outcome in attacks.outcomes)


def test_the_printed_alpha_of_one_quarter_does_not_cover_eric_and_henry() -> None:
    """Errata: "In Table 3 alpha >= 1/4 must be set" overlooks that (M, Doctor) occurs twice in
    group 2.
    """
    printed = AlphaBetaGammaDelta(alpha="1/4", beta="1/2", gamma="1/32", delta="1/4")
    found = attack_anatomized(anatomized_table_1(model=printed)).record_linkage
    assert not found.holds
    assert found.worst == Fraction(1, 2)


def test_record_linkage_by_all_24_arrangements_of_a_group() -> None:
    trial = attack_anatomized(anatomized_table_1()).record_linkage.trial
    assert trial is not None
    assert (trial.how, trial.arrangements) == ("enumeration", 48)
    # Definition 1: Alice 6 of 24; group 2 has two (M, Doctor): Eric and Henry 1/2, Frank and Gina
    # 1/4; group 1 all 1/4.
    assert trial.success == pytest.approx((6 * 0.25 + 2 * 0.5) / 8, abs=1e-12)


def test_attribute_linkage_by_all_arrangements() -> None:
    found = attack_anatomized(anatomized_table_1()).attribute_linkage
    assert found.trial is not None
    # Alice and David share 4500 (2/4 each), the other six have a unique salary in their group.
    assert found.trial.success == pytest.approx((2 * 0.5 + 6 * 0.25) / 8, abs=1e-12)
    assert found.mean == pytest.approx(found.trial.success, abs=1e-12)


def test_presence_goes_beyond_gamma() -> None:
    """Gamma bounds one row drawn from each table; a join of the release has n chances per group."""
    found = anatomized_table_1()
    outcome = attack_anatomized(found).table_linkage
    reconstructions, truth = every_reconstruction(found), true_records(found)
    chances = []
    for record in truth:
        missing = prod(
            Fraction(sum(record not in arranged for arranged in group), len(group))
            for group in reconstructions
        )
        chances.append(1 - missing)
    assert outcome.trial is not None
    assert outcome.trial.how == "enumeration"
    assert outcome.trial.success == pytest.approx(float(sum(chances) / len(chances)), abs=1e-12)
    assert outcome.trial.success > outcome.bound
    # All people except Henry have a unique tuple: (33, 12200) and (M, Doctor) occur twice.
    alone = next(value for told, value in outcome.beyond.items() if "absence" in told)
    assert alone == 7 / 8


def test_the_probabilistic_attack_and_equation_12() -> None:
    outcome = attack_anatomized(anatomized_table_1()).probabilistic
    gain = next(value for told, value in outcome.beyond.items() if "largest gain" in told)
    between = next(value for told, value in outcome.beyond.items() if "eq. 12" in told)
    assert gain == 1 / 4  # 4500: from 2/8 to 2/4
    assert between == 1 / 2  # 4500: 2/4 in group 1, 0 in group 2
    assert between <= 2 * outcome.worst


def test_one_table_leaves_nothing_to_put_together() -> None:
    found = anatomize(
        table_1(),
        Slppa(AlphaBetaGammaDelta(beta="1/4"), tables=1),
        quasi_identifiers=QUASI_IDENTIFIERS,
        sensitive="Salary",
    )
    outcome = attack_anatomized(found).record_linkage
    assert outcome.worst == 1
    strict = AlphaBetaGammaDelta(alpha="1/2", beta="1/4")
    found = anatomize(
        table_1(), Slppa(strict, tables=1), quasi_identifiers=QUASI_IDENTIFIERS, sensitive="Salary"
    )
    assert not attack_anatomized(found).record_linkage.holds


@given(example=drawn(most=5))
@settings(deadline=None, max_examples=30)
def test_trials_agree_with_an_independent_enumeration(example: Drawn) -> None:
    found = grouped(example)
    attacks = attack_anatomized(found, effort=Effort(most_arrangements=10**6))
    reconstructions, truth = every_reconstruction(found), true_records(found)
    tables = len(example.tables)
    linked = inferred = Fraction(0)
    for group, arranged in enumerate(reconstructions):
        members = np.flatnonzero(found.group == group).tolist()
        for place, person in enumerate(members):
            right = [way[place][:tables] == truth[person][:tables] for way in arranged]
            linked += Fraction(sum(right), len(arranged))
            inferred += Fraction(
                sum(way[place][tables] == truth[person][tables] for way in arranged), len(arranged)
            )
    assert attacks.attribute_linkage.trial is not None
    assert attacks.attribute_linkage.trial.success == pytest.approx(
        float(inferred / len(truth)), abs=1e-9
    )
    if tables > 1:
        assert attacks.record_linkage.trial is not None
        assert attacks.record_linkage.trial.success == pytest.approx(
            float(linked / len(truth)), abs=1e-9
        )
    for outcome in attacks.outcomes:
        if outcome.attack != "record linkage" or tables > 1:
            assert outcome.worst <= getattr(found.levels, outcome.promise)


@given(example=drawn(most=5))
@settings(deadline=None, max_examples=30)
def test_belief_without_the_group_is_the_mean_over_all_records_with_equal_values(
    example: Drawn,
) -> None:
    """The belief is a share of records over all reconstructions of all groups.

    It is the share of those with the person's value among those with their quasi-identifiers.
    """
    found = grouped(example)
    beliefs = beliefs_without_group(Victims.of(found), people=100)
    reconstructions, tables = every_reconstruction(found), len(example.tables)
    for person, record in enumerate(true_records(found)):
        alike = same = Fraction(0)
        for group in reconstructions:
            alike += Fraction(
                sum(made[:tables] == record[:tables] for way in group for made in way), len(group)
            )
            same += Fraction(sum(made == record for way in group for made in way), len(group))
        assert beliefs[person] == pytest.approx(float(same / alike), abs=1e-9)
        assert beliefs[person] <= float(found.levels.beta) + 1e-12


def test_a_drawn_arrangement_keeps_everybody_in_their_group() -> None:
    victims = Victims.of(anatomized_table_1())
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(200):
        partner = draw_arrangement(victims, rng)
        assert sorted(partner.tolist()) == list(range(8))
        assert (victims.group[partner] == victims.group).all()
        seen.add(tuple(partner[:4].tolist()))
    assert len(seen) == 24  # all arrangements of the first group turn up


@pytest.mark.public_data
def test_large_tables_are_sampled_and_the_interval_holds_the_exact_rate() -> None:
    rows = paper_rows("adult")
    names = [name for name in rows.names if name not in ("occupation", "native-country")]
    model = AlphaBetaGammaDelta(alpha="1/2", beta="1/7", delta="1/7")
    found = anatomize(
        rows, Slppa(model, tables=3), quasi_identifiers=names, sensitive="occupation", seed=1
    )
    attacks = attack_anatomized(found, effort=Effort(draws=10, people=100))
    linked, inferred = attacks.record_linkage, attacks.attribute_linkage
    assert linked.trial is not None
    assert inferred.trial is not None
    assert (linked.trial.how, linked.trial.arrangements) == ("sampling", 10)
    # Twice the interval, because 95% would fail once in twenty runs.
    for trial, exact in (
        (linked.trial, next(iter(linked.beyond.values()))),
        (inferred.trial, inferred.mean),
    ):
        width = trial.high - trial.low
        assert trial.low - width / 2 <= exact <= trial.high + width / 2
        assert width < 0.01
    assert all(outcome.holds for outcome in attacks.outcomes)
    # Eq. 6 multiplies the most common tuples of a group, which need not belong to one person. So
    # gamma bounds every person's probability.
    assert [outcome.worst for outcome in attacks.outcomes] == [
        found.levels.alpha,
        found.levels.beta,
        worst_presence(found),
        found.levels.delta,
    ]
    assert worst_presence(found) <= found.levels.gamma


def worst_presence(found: Anatomized) -> Fraction:
    """Compute Definition 3 person by person.

    It is the highest probability that one row drawn from each table of the group yields a person's
    record.
    """
    records, groups = true_records(found), found.group.tolist()
    columns = [Counter(zip(groups, column, strict=True)) for column in zip(*records, strict=True)]
    sizes = found.sizes.tolist()
    return max(
        Fraction(
            prod(count[group, value] for count, value in zip(columns, record, strict=True)),
            sizes[group] ** len(record),
        )
        for group, record in zip(groups, records, strict=True)
    )


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(9, 2.262), (19, 2.093), (29, 2.045), (99, 1.984)]
)
def test_the_quantiles_of_student(freedom: int, quantile: float) -> None:
    """Values are from a table of the t-distribution, two-sided 95%."""
    assert student_quantile(freedom) == pytest.approx(quantile, abs=0.01)


def test_the_interval_of_a_few_draws() -> None:
    low, high = student_interval([0.4, 0.5, 0.6, 0.5, 0.5])
    assert (low + high) / 2 == pytest.approx(0.5, abs=1e-12)
    assert (high - low) / 2 == pytest.approx(2.776 * (0.02 / 4 / 5) ** 0.5, rel=0.03)
    assert student_interval([0.3]) == (0.0, 1.0)
