# SPDX-License-Identifier: Apache-2.0
"""The four attacks of Yao et al. 2021 with partial knowledge.

Section 5.2 on Table 3 is computed by hand, other releases by all reconstructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from divulge.anatomization import AlphaBetaGammaDelta, Anatomized, CodedTables, Slppa
from divulge.anatomization.methods import anatomize
from divulge.attacks import ATTACKERS, AttackContext, Attempt, People, group_linkage
from divulge.attacks.group_linkage import GroupPosterior, TargetsInGroups
from divulge.attacks.result import Bound
from divulge.errors import BadInput
from tests.anatomization.checker import Drawn, drawn
from tests.anatomization.literature import COLUMNS, PEOPLE, RECORDS, TABLES
from tests.anatomization.public import paper_rows
from tests.anatomization.table_3 import LEVELS, anatomized_table_1
from tests.attacks.reconstructions import every_reconstruction, grouped, true_records
from tests.attacks.staged import anatomized_stage, people_of

TABLE_1 = pa.table(
    {name: [record[place] for record in RECORDS] for place, name in enumerate(COLUMNS)}
)
SALARY = ("Salary",)
EVERYTHING = [name for table in TABLES for name in table]


def table_3(knows: Sequence[str], whom: Sequence[str] = PEOPLE) -> TargetsInGroups:
    """Return Table 3 of the paper and some of its people."""
    chosen = TABLE_1.take([PEOPLE.index(name) for name in whom])
    return TargetsInGroups.of(
        CodedTables.of(anatomized_table_1()), SALARY, people_of(chosen, knows)
    )


def alice(knows: Sequence[str], *sought: Sequence[str]) -> Fraction:
    posterior = table_3(knows, ["Alice"]).posterior(knows, sought)
    assert posterior.matching_targets == 1
    return Fraction(posterior.expected.item()).limit_denominator(1000)


def test_section_5_2_with_age_and_zip_code_of_alice_known() -> None:
    """Alice may be in g1 or g2, each with one (30, 11100).

    In g1 one of four is (F, Teacher) and two have 4500, in g2 none.
    """
    known = ["Age", "Zipcode"]
    assert alice(known, TABLES[1]) == Fraction(1, 2) * Fraction(1, 4)
    assert alice(known, SALARY) == Fraction(1, 2) * Fraction(2, 4)
    # The paper prints 1/2 (1/32 + 1/64) = 3/128. Errata: g2 has no (F, Teacher) and no 4500, so the
    # record can come from g1 only.
    assert alice(known, *TABLES, SALARY) == Fraction(1, 2) * Fraction(1, 32)


def test_section_5_2_with_all_quasi_identifiers_or_only_the_salary_known() -> None:
    assert alice(EVERYTHING, SALARY) == Fraction(2, 4)
    assert alice(EVERYTHING, *TABLES, SALARY) == Fraction(1, 32)
    assert alice(["Salary"], *TABLES) == Fraction(1, 16)  # as printed: 4500 is in g1 only
    assert alice(["Salary"], *TABLES, SALARY) == Fraction(1, 32)


def test_a_part_of_a_table_fits_every_row_that_agrees() -> None:
    """Jobs of g1: 2 Teachers of 4; of g2: none.

    Women of g1: 2 of 4, of g2: 1 of 4, so 2/3 and 1/3.
    """
    assert alice(["Job"], SALARY) == Fraction(1, 2)
    assert alice(["Gender"], SALARY) == Fraction(2, 3) * Fraction(2, 4)


def test_targets_without_a_group_are_not_drawn_and_empty_knowledge_raises_an_error() -> None:
    stranger = TABLE_1.slice(0, 1).set_column(COLUMNS.index("Age"), "Age", pa.array(["99"]))
    people = TargetsInGroups.of(
        CodedTables.of(anatomized_table_1()), SALARY, people_of(stranger, ["Age"])
    )
    posterior = people.posterior(["Age"], [SALARY])
    assert (posterior.expected.tolist(), posterior.matching_targets) == ([0.0], 0)
    with pytest.raises(BadInput, match="nothing of what is known"):
        people.posterior(["Name"], [SALARY])


def reconstructed_belief(
    found: Anatomized, known: Sequence[int], sought: Sequence[int], person: int
) -> Fraction:
    """Compute the belief over all reconstructions of all groups.

    It is the share of records with the sought values among those with the known values.
    """
    record, alike, same = true_records(found)[person], Fraction(0), Fraction(0)
    for group in every_reconstruction(found):
        fitting = [
            made
            for way in group
            for made in way
            if all(made[place] == record[place] for place in known)
        ]
        alike += Fraction(len(fitting), len(group))
        same += Fraction(
            sum(all(made[place] == record[place] for place in sought) for made in fitting),
            len(group),
        )
    return same / alike


def people_in_groups(found: Anatomized) -> TargetsInGroups:
    """Return the release and all of its people, of whom everything is known."""
    table = pa.table(
        {name: pa.chunked_array([found.rows.values(name)]) for name in found.rows.names}
    )
    return TargetsInGroups.of(
        CodedTables.of(found), found.sensitive, people_of(table, table.column_names)
    )


@given(example=drawn(most=5))
@settings(deadline=None, max_examples=40)
def test_beliefs_are_shares_of_all_reconstructions(example: Drawn) -> None:
    found = grouped(example)
    people = people_in_groups(found)
    tables = len(found.division.tables)
    for known in ([number] for number in range(tables)):
        others = [place for place in range(tables) if place not in known]
        for sought in ([tables], *([place] for place in others)):
            check_posterior(found, people, known, sought)


@given(example=drawn(most=5))
@settings(deadline=None, max_examples=30)
def test_belief_in_the_value_with_all_quasi_identifiers_known(example: Drawn) -> None:
    found = grouped(example)
    tables = len(found.division.tables)
    posterior = check_posterior(found, people_in_groups(found), list(range(tables)), [tables])
    assert posterior.highest.max() <= float(found.levels.beta) + 1e-12


def check_posterior(
    found: Anatomized, people: TargetsInGroups, known: list[int], sought: list[int]
) -> GroupPosterior:
    """Compare both posteriors with all reconstructions."""
    posterior = people.posterior(
        [name for place in known for name in found.tables[place]],
        [found.tables[place] for place in sought],
    )
    assert posterior.matching_targets == len(people)
    for person in range(len(people)):
        expected = reconstructed_belief(found, known, sought, person)
        assert posterior.expected[person] == pytest.approx(float(expected), abs=1e-9)
        highest = max(possible_shares(found, known, sought, person))
        assert posterior.highest[person] == pytest.approx(float(highest), abs=1e-9)
        assert posterior.expected[person] <= posterior.highest[person] + 1e-12
    return posterior


def possible_shares(
    found: Anatomized, known: Sequence[int], sought: Sequence[int], person: int
) -> list[Fraction]:
    """Share of the sought values in each group in which the known values can be joined."""
    record, shares = true_records(found)[person], []
    for group in every_reconstruction(found):
        joined = [made for way in group for made in way]
        if any(all(made[place] == record[place] for place in known) for made in joined):
            right = sum(all(made[place] == record[place] for place in sought) for made in joined)
            shares.append(Fraction(right, len(joined)))
    return shares


@given(example=drawn(most=5))
@settings(deadline=None, max_examples=30)
def test_a_random_join_holds_a_record_as_often_as_all_joins_do(example: Drawn) -> None:
    found = grouped(example)
    chances = people_in_groups(found).reconstructed()
    for person, record in enumerate(true_records(found)):
        missing = prod(
            Fraction(sum(record not in made for made in group), len(group))
            for group in every_reconstruction(found)
        )
        assert chances[person] == pytest.approx(float(1 - missing), abs=1e-9)


def test_targets_come_in_portions_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = table_3(["Gender"]).posterior(["Gender"], [SALARY])
    monkeypatch.setattr(group_linkage, "PAIRS", 3)
    some = table_3(["Gender"]).posterior(["Gender"], [SALARY])
    assert some.matching_targets == 8
    np.testing.assert_allclose(some.expected, whole.expected, atol=1e-12)
    np.testing.assert_allclose(some.highest, whole.highest, atol=1e-12)


def test_the_chance_of_each_person_if_the_group_is_known() -> None:
    """Section 3: a tuple is drawn from the group of the person, by its share there.

    Group 2 has two (M, Doctor): Eric and Henry 1/2, Frank and Gina 1/4; group 1 all 1/4. Alice and
    David share 4500, and Frank and Henry 6000: the others have a unique salary in their group.
    """
    linked = table_3(TABLES[0]).posterior(TABLES[0], [TABLES[1]]).highest
    assert linked.sum() == pytest.approx(6 * 0.25 + 2 * 0.5, abs=1e-12)
    inferred = table_3(EVERYTHING).posterior(EVERYTHING, [SALARY]).highest
    assert inferred.sum() == pytest.approx(2 * 0.5 + 6 * 0.25, abs=1e-12)


# --- on a stage -----------------------------------------------------------------------------------
def stage(knows: Sequence[str], **more: object) -> AttackContext:
    found, parts = anatomized_table_1(), []
    for names in (*TABLES, SALARY):
        columns = {name: [record[COLUMNS.index(name)] for record in RECORDS] for name in names}
        parts.append(pa.table({"GID": found.group, **columns}))
    given = {"levels": LEVELS.texts()} | more
    return anatomized_stage(parts, TABLE_1, sensitive="Salary", knows=knows, **given)  # type: ignore[arg-type]


def attempts(on: AttackContext, name: str) -> list[Attempt]:
    (found,) = (each for each in ATTACKERS if each.name == name)
    assert not found.obstacle(on)
    return list(found.run(on))


def test_the_four_attacks_stay_within_their_levels() -> None:
    """All quasi-identifiers are known.

    Only (30, 11100) of Gina and Alice, and (33, 12200) of Ben and Henry, are in both groups.
    """
    on = stage(EVERYTHING)
    linked, other = attempts(on, "record-linkage")
    assert (linked.about, other.about) == ("Age, Zipcode", "Gender, Job")
    (drawn_value,) = attempts(on, "attribute-linkage")
    assert drawn_value.successes == pytest.approx(
        2 * 0.5 + 6 * 0.25
    )  # as with the group known: each whole tuple is in one group
    assert drawn_value.bound == Bound(0.5, "beta <= 1/2")
    assert drawn_value.random == pytest.approx(1 / 6)  # six salaries
    assert drawn_value.prior == pytest.approx((4 * 2 / 8 + 4 * 1 / 8) / 8)  # 4500 and 6000 twice
    (moved,) = attempts(on, "probabilistic")
    assert moved.bound is not None
    assert moved.bound.value == pytest.approx(0.25 + 12 / 64)
    (present,) = attempts(on, "table-linkage")
    # g1: 1/4 1/4 c/4 with c = 2, 1, 1, 2; g2: (M, Doctor) twice for Eric and Henry.
    assert present.successes == pytest.approx((2 + 1 + 1 + 2) / 64 + (2 + 1 + 1 + 2) / 64)
    for attempt in (linked, other, drawn_value, moved, present):
        assert attempt.control is None
        assert not attempt.broken
        assert attempt.guesses == attempt.targets == 8


def test_table_3_is_attacked_as_far_as_its_levels_and_no_further() -> None:
    on = stage(EVERYTHING)
    linked = max(attempt.highest or 0.0 for attempt in attempts(on, "record-linkage"))
    (inferred,) = attempts(on, "attribute-linkage")
    (present,) = attempts(on, "table-linkage")
    (moved,) = attempts(on, "probabilistic")
    highest = [linked, inferred.highest, present.highest, moved.highest_gain]
    assert highest == pytest.approx(
        [float(LEVELS.alpha), float(LEVELS.beta), float(LEVELS.gamma), float(LEVELS.delta)],
        abs=1e-12,
    )
    assert {attempt.exceeding for attempt in (inferred, present, moved)} == {0}
    # Eq. 12: shares of a value in two groups differ by twice delta at most. 4500: 2/4 and 0.
    groups = anatomized_table_1().group.tolist()
    salaries = [record[COLUMNS.index("Salary")] for record in RECORDS]
    counts = Counter(zip(salaries, groups, strict=True))
    between = max(abs(counts[value, 0] - counts[value, 1]) / 4 for value in salaries)
    assert between == 1 / 2
    assert between <= 2 * float(LEVELS.delta)


def test_the_printed_alpha_of_one_quarter_does_not_cover_eric_and_henry() -> None:
    """Errata: "In Table 3 alpha >= 1/4 must be set" overlooks that (M, Doctor) occurs twice in
    group 2.
    """
    covered, linked = attempts(stage(EVERYTHING, levels={"alpha": "1/4"}), "record-linkage")
    assert not covered.broken
    assert linked.about == "Gender, Job"
    assert linked.rate.low < 1 / 4  # too few people for the rate to show it
    assert (linked.broken, linked.highest, linked.exceeding) == (True, 1 / 2, 2)


def test_presence_goes_beyond_gamma() -> None:
    """Gamma bounds one row drawn from each table; a join of the release has n chances per group.

    All people except Henry have a unique tuple: (33, 12200) and (M, Doctor) occur twice.
    """
    on, found = stage(EVERYTHING), anatomized_table_1()
    (present,) = attempts(on, "table-linkage")
    (joined,) = attempts(on, "reconstruction")
    (missed,) = attempts(on, "absence")
    reconstructions, chances = every_reconstruction(found), []
    for record in true_records(found):
        missing = prod(
            Fraction(sum(record not in made for made in group), len(group))
            for group in reconstructions
        )
        chances.append(1 - missing)
    assert joined.successes == pytest.approx(float(sum(chances)), abs=1e-12)
    assert present.bound is not None
    assert joined.rate.value > present.bound.value
    assert joined.bound is None
    assert (missed.successes, missed.guesses, missed.targets) == (7, 7, 8)


def test_absence_counts_only_what_is_known_and_true() -> None:
    (missed,) = attempts(stage(["Gender"]), "absence")
    assert missed.successes == 0  # four women and four men
    wrong = replace(stage(EVERYTHING), targets=wrong_ages())
    (missed,) = attempts(wrong, "absence")
    # (Gender, Job): only Eric and Henry share theirs, so six are missed by it.
    assert missed.successes == len(true_jobs_that_occur_once())


def wrong_ages() -> People:
    """Everybody's age is known wrongly."""
    true_values = people_of(TABLE_1, EVERYTHING)
    ages = pa.chunked_array([pa.array(["99"] * len(true_values))])
    known = true_values.known_values
    return replace(
        true_values, known_values=known.set_column(known.column_names.index("Age"), "Age", ages)
    )


def true_jobs_that_occur_once() -> list[tuple[str, ...]]:
    places = [COLUMNS.index(name) for name in TABLES[1]]
    counts = Counter(tuple(str(record[place]) for place in places) for record in RECORDS)
    return [value for value, count in counts.items() if count == 1]


def test_one_table_leaves_nothing_to_put_together() -> None:
    """Record linkage is certain, so no alpha below 1 covers it."""
    known = pa.table({"GID": [1, 1], "zip": ["1", "2"], "age": ["30", "40"]})
    secret = pa.table({"GID": [1, 1], "ill": ["yes", "no"]})
    truth = pa.table({"zip": ["1", "2"], "age": ["30", "40"], "ill": ["yes", "no"]})
    on = anatomized_stage(
        [known, secret], truth, sensitive="ill", knows=["zip", "age"], levels={"alpha": "1/2"}
    )
    (linked,) = attempts(on, "record-linkage")
    assert (linked.rate.value, linked.highest, linked.exceeding) == (1.0, 1.0, 2)
    assert linked.broken


def test_a_bound_that_the_release_violates_is_reported() -> None:
    """Sixty-four people are in one group of two values, half each; the stated bound is 1/4."""
    known = pa.table({"GID": [1] * 64, "zip": [f"{place:02}" for place in range(64)]})
    secret = pa.table({"GID": [1, 1], "ill": ["yes", "no"], "Count": [32, 32]})
    truth = pa.table({"zip": known.column("zip"), "ill": ["yes", "no"] * 32})
    on = anatomized_stage(
        [known, secret], truth, sensitive="ill", knows=["zip"], levels={"beta": "1/4"}
    )
    (attempt,) = attempts(on, "attribute-linkage")
    assert attempt.rate.value == pytest.approx(0.5)
    assert attempt.broken
    assert (attempt.exceeding, attempt.rate.low > 1 / 4) == (64, True)


def test_the_reason_that_tables_cannot_be_linked_is_reported() -> None:
    (record_linkage,) = (each for each in ATTACKERS if each.name == "record-linkage")
    known = pa.table({"GID": [1, 1], "zip": ["1", "2"], "age": ["30", "40"]})
    secret = pa.table({"GID": [1, 1], "ill": ["yes", "no"]})
    truth = pa.table({"zip": ["1", "2"], "age": ["30", "40"], "ill": ["yes", "no"]})
    one_table = anatomized_stage([known, secret], truth, sensitive="ill", knows=["zip", "age"])
    assert "in one table" in record_linkage.obstacle(one_table)
    assert "nothing is known" in record_linkage.obstacle(stage([]))


@pytest.mark.parametrize(
    ("knows", "linked"),
    [
        (EVERYTHING, ["Age, Zipcode", "Gender, Job"]),
        (TABLES[0], ["Gender, Job"]),
        (["Gender"], ["Age, Zipcode"]),
        (["Age", "Gender"], ["Age, Zipcode", "Gender, Job"]),
    ],
)
def test_a_table_is_linked_to_known_columns_of_another(
    knows: Sequence[str], linked: list[str]
) -> None:
    """Whoever knows only columns of one table cannot link that table to another."""
    assert [attempt.about for attempt in attempts(stage(knows), "record-linkage")] == linked


def test_a_table_with_a_column_of_unknown_truth_is_not_linked() -> None:
    """The true jobs are not in the table of the targets, so a guess cannot be judged."""
    on = replace(
        stage(knows := [*TABLES[0], "Gender"]),
        targets=people_of(TABLE_1.drop_columns(["Job"]), knows),
    )
    assert [attempt.about for attempt in attempts(on, "record-linkage")] == ["Age, Zipcode"]


def test_a_control_group_is_attacked_alike() -> None:
    control = TABLE_1.slice(0, 2).set_column(COLUMNS.index("Age"), "Age", pa.array(["99", "33"]))
    (attempt,) = attempts(stage(["Age", "Zipcode"], control=control), "attribute-linkage")
    assert attempt.control is not None
    # No person is 99. (33, 12200) is in g1 with one 6000 of four, and in g2 with one of four.
    assert attempt.control.tries == 2
    assert attempt.control.successes == pytest.approx(1 / 4)


@pytest.mark.public_data
def test_every_person_of_adult_is_attacked_as_far_as_the_levels() -> None:
    rows = paper_rows("adult")
    names = [name for name in rows.names if name not in ("occupation", "native-country")]
    model = AlphaBetaGammaDelta(alpha="1/2", beta="1/7", delta="1/7")
    found = anatomize(
        rows, Slppa(model, tables=3), quasi_identifiers=names, sensitive="occupation", seed=1
    )
    people = people_in_groups(found)
    tables, sensitive = found.tables[:-1], found.tables[-1]
    assert len(tables) == 3
    linked = [
        people.posterior([name for name in names if name not in table], [table]).highest.max()
        for table in tables
    ]
    inferred = people.posterior(names, [sensitive])
    present = people.posterior(names, found.tables)
    occurrences = people.occurrences(sensitive, people.truth)
    assert max(linked) == pytest.approx(float(found.levels.alpha), abs=1e-12)
    assert inferred.highest.max() == pytest.approx(float(found.levels.beta), abs=1e-12)
    # Eq. 6 multiplies the most common tuples of a group, which need not belong to one person. So
    # gamma bounds every person's probability.
    levels = found.levels
    assert float(worst_presence(found)) - 1e-12 <= present.highest.max() <= levels.gamma + 1e-12
    assert (inferred.highest - occurrences.share).max() <= levels.delta + 1e-12


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
