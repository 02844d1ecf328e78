# SPDX-License-Identifier: Apache-2.0
"""The four attacks of Yao et al. 2021 with partial knowledge.

Section 5.2 on Table 3 is computed by hand, other releases by all reconstructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from divulge.anatomization import Anatomized, CodedTables
from divulge.attacks import ATTACKERS, AttackContext, Attempt, group_linkage
from divulge.attacks.group_linkage import TargetsInGroups
from divulge.attacks.result import Bound
from divulge.errors import BadInput
from tests.anatomization.checker import Drawn, drawn
from tests.anatomization.literature import COLUMNS, PEOPLE, RECORDS, TABLES
from tests.anatomization.table_3 import LEVELS, anatomized_table_1
from tests.attacks.staged import anatomized_stage, people_of
from tests.attacks.test_attacks import every_reconstruction, grouped, true_records

TABLE_1 = pa.table(
    {name: [record[place] for record in RECORDS] for place, name in enumerate(COLUMNS)}
)
SALARY = ("Salary",)


def table_3(knows: Sequence[str], whom: Sequence[str] = PEOPLE) -> TargetsInGroups:
    """Return Table 3 of the paper and some of its people."""
    chosen = TABLE_1.take([PEOPLE.index(name) for name in whom])
    return TargetsInGroups.of(
        CodedTables.of(anatomized_table_1()), SALARY, people_of(chosen, knows)
    )


def alice(knows: Sequence[str], *sought: Sequence[str]) -> Fraction:
    (belief,), fitting = table_3(knows, ["Alice"]).believed(knows, sought)
    assert fitting == 1
    return Fraction(belief).limit_denominator(1000)


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
    everything = [name for table in TABLES for name in table]
    assert alice(everything, SALARY) == Fraction(2, 4)
    assert alice(everything, *TABLES, SALARY) == Fraction(1, 32)
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
    belief, fitting = people.believed(["Age"], [SALARY])
    assert (belief.tolist(), fitting) == ([0.0], 0)
    with pytest.raises(BadInput, match="nothing of what is known"):
        people.believed(["Name"], [SALARY])


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


@given(example=drawn(most=5))
@settings(deadline=None, max_examples=40)
def test_beliefs_are_shares_of_all_reconstructions(example: Drawn) -> None:
    found = grouped(example)
    table = pa.table(
        {name: pa.chunked_array([found.rows.values(name)]) for name in found.rows.names}
    )
    tables = len(found.division.tables)
    people = TargetsInGroups.of(
        CodedTables.of(found), found.sensitive, people_of(table, table.column_names)
    )
    for known in range(tables):
        others = [place for place in range(tables) if place != known]
        for sought in ([tables], *([place] for place in others)):
            belief, fitting = people.believed(
                found.tables[known], [found.tables[place] for place in sought]
            )
            assert fitting == len(people)
            for person in range(len(people)):
                expected = reconstructed_belief(found, [known], sought, person)
                assert belief[person] == pytest.approx(float(expected), abs=1e-9)


def test_targets_come_in_portions_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = table_3(["Gender"]).believed(["Gender"], [SALARY])
    monkeypatch.setattr(group_linkage, "PAIRS", 3)
    some, fitting = table_3(["Gender"]).believed(["Gender"], [SALARY])
    assert fitting == 8
    np.testing.assert_allclose(some, whole, atol=1e-12)


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


EVERYTHING = [name for table in TABLES for name in table]


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


def test_the_reason_that_tables_cannot_be_linked_is_reported() -> None:
    (record_linkage,) = (each for each in ATTACKERS if each.name == "record-linkage")
    known = pa.table({"GID": [1, 1], "zip": ["1", "2"], "age": ["30", "40"]})
    secret = pa.table({"GID": [1, 1], "ill": ["yes", "no"]})
    truth = pa.table({"zip": ["1", "2"], "age": ["30", "40"], "ill": ["yes", "no"]})
    one_table = anatomized_stage([known, secret], truth, sensitive="ill", knows=["zip", "age"])
    assert "in one table" in record_linkage.obstacle(one_table)
    assert "nothing is known" in record_linkage.obstacle(stage([]))


def test_a_control_group_is_attacked_alike() -> None:
    control = TABLE_1.slice(0, 2).set_column(COLUMNS.index("Age"), "Age", pa.array(["99", "33"]))
    (attempt,) = attempts(stage(["Age", "Zipcode"], control=control), "attribute-linkage")
    assert attempt.control is not None
    # No person is 99. (33, 12200) is in g1 with one 6000 of four, and in g2 with one of four.
    assert attempt.control.tries == 2
    assert attempt.control.successes == pytest.approx(1 / 4)
