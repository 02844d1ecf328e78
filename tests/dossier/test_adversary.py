# SPDX-License-Identifier: Apache-2.0
"""Operators, their costs and compositions, and dipping (section 2.4 of the paper)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.dossier import (
    Attribute,
    Augment,
    Chain,
    Correct,
    Cost,
    Database,
    Equivalence,
    MatchRule,
    Measure,
    Record,
    Resolve,
    attack,
    dip,
    leakage,
    set_leakage,
)
from divulge.errors import BadInput
from tests.dossier.oracle import golden, record_of
from tests.dossier.worlds import databases, golden_database, golden_rule, rules

ALICE = Record.of({"N": "Alice", "P": "123", "C": "999", "Z": "111"})


@pytest.mark.parametrize("name", ["003-2.4-before-ER", "003-2.4-after-ER"])
def test_golden_attack(name: str) -> None:
    case = golden()[name]
    operator = Chain() if "E" in case["inputs"] else Resolve(golden_rule(case))
    found = attack(golden_database(case), record_of(case["inputs"]["p"]), operator)
    assert found.leakage == pytest.approx(float(Fraction(case["expected"])), rel=1e-12)


def test_the_attack_reports_gain_cost_and_witness() -> None:
    case = golden()["003-2.4-after-ER"]
    found = attack(golden_database(case), record_of(case["inputs"]["p"]), Resolve("N"))
    assert found.before == pytest.approx(2 / 3, rel=1e-12)
    assert found.gain == pytest.approx(6 / 7 - 2 / 3, rel=1e-12)
    assert found.cost == 9  # three records, compared pairwise: 3 squared
    assert [record.id for record in found.witnesses] == ["r+s"]
    assert found.each == pytest.approx((6 / 7, 0.0))


def test_golden_cost() -> None:
    case = golden()["003-2.4-cost"]
    database = tuple(Record.of({"N": str(i)}, id=str(i)) for i in range(case["inputs"]["R_size"]))
    operator = Resolve("N", price=Cost(float(Fraction(case["inputs"]["c"])), exponent=2))
    assert operator.cost(database) == pytest.approx(float(case["expected"]["cost"]))


def test_costs_add_and_the_second_operator_pays_for_what_the_first_left() -> None:
    case = golden()["003-2.4-after-ER"]
    database = tuple(golden_database(case))
    chain = Chain((Resolve("N", price=Cost(2.0, exponent=2)), Correct({}, price=Cost(10.0))))
    assert chain.cost(database) == 2 * 3**2 + 10 * 2  # three records, of which merging leaves two
    assert attack(database, ALICE, chain).cost == chain.cost(database)
    assert Chain().cost(database) == 0


def test_error_correction_and_augmentation_before_resolution() -> None:
    """Alise is a misspelling, and the address reveals the zip code.

    Only after both steps do the records match and leak it.
    """
    database = [
        Record.of({"N": "Alise", "A": ("1 Main", 0.8)}, id="r"),
        Record.of({"N": "Alice", "P": "123"}, id="s"),
    ]
    steps = Chain(
        (
            Correct({"N": {"Alise": "Alice"}}),
            Augment("A", "Z", {"1 Main": "111"}, confidence=0.5),
            Resolve("N"),
        )
    )
    (merged,) = steps(tuple(database))
    assert merged.attributes == {
        Attribute("N", "Alice"): 1.0,
        Attribute("A", "1 Main"): 0.8,
        Attribute("Z", "111"): 0.4,
        Attribute("P", "123"): 1.0,
    }
    assert merged.sources == {"r", "s"}


def test_correction_by_an_equivalence_merges_equal_values() -> None:
    flu = Correct(Equivalence({"D": {"Flu": ["Influenza"]}}))
    (found,) = flu((Record.of({"D": [("Flu", 0.2), ("Influenza", 0.7)]}, id="r"),))
    assert found.attributes == {Attribute("D", "Flu"): 0.7}
    assert found.id == "r"


def test_augmentation_by_a_function_skips_unknown_values() -> None:
    initials = Augment("N", "I", lambda name: name[0] if name else None)
    found = initials(
        (
            Record.of({"N": "Ann"}, id="r"),
            Record.of({"N": ""}, id="s"),
            Record.of({"P": "1"}, id="t"),
        )
    )
    assert [Attribute("I", "A") in record.attributes for record in found] == [True, False, False]
    assert [len(record) for record in found] == [2, 1, 1]


def test_augmentation_never_lowers_a_confidence() -> None:
    found = Augment("A", "Z", {"x": "1"}, confidence=0.5)(
        (Record.of({"A": "x", "Z": ("1", 0.9)}, id="r"),)
    )
    assert found[0].attributes[Attribute("Z", "1")] == 0.9


def test_golden_dipping() -> None:
    case = golden()["003-2.4-dipping"]
    found = dip(golden_database(case), record_of(case["inputs"]["q"]), Resolve(golden_rule(case)))
    assert sorted(found.record.attributes) == [tuple(pair) for pair in case["expected"]["record"]]
    assert found.reached == {"r", "s"}
    leaked = leakage(found.record, record_of(case["inputs"]["p"])).leakage
    assert leaked == pytest.approx(float(Fraction(case["expected"]["leakage"])), rel=1e-12)


def test_golden_dipping_without_a_match_is_the_query_itself() -> None:
    case = golden()["003-own-14-dip-nomatch"]
    query = record_of(case["inputs"]["q"])
    found = dip(golden_database(case), query, Resolve("N"))
    assert found.record.attributes == query.attributes
    assert found.reached == frozenset()
    leaked = leakage(found.record, record_of(case["inputs"]["p"])).leakage
    assert leaked == pytest.approx(float(Fraction(case["expected"])), rel=1e-12)


def test_golden_dipping_along_a_chain() -> None:
    case = golden()["003-own-15-dip-chain"]
    found = dip(golden_database(case), record_of(case["inputs"]["q"]), Resolve(golden_rule(case)))
    assert found.reached == {"a", "b", "c"}
    leaked = leakage(found.record, record_of(case["inputs"]["p"])).leakage
    assert leaked == pytest.approx(float(Fraction(case["expected"])), rel=1e-12)


def test_a_query_differs_from_a_record_with_the_id_q() -> None:
    found = dip([Record.of({"N": "Bob"}, id="q")], Record.of({"N": "Alice"}, id="q"), Resolve("N"))
    assert found.record.id == "q'"
    assert found.reached == frozenset()


def test_an_operator_that_loses_sources_is_refused() -> None:
    class Forget:
        monotone = False

        def __call__(self, database: Database) -> Database:
            return tuple(Record(record.attributes) for record in database)

        def cost(self, _: Database) -> float:
            return 0.0

    with pytest.raises(BadInput, match="must keep sources"):
        dip([], Record.of({"N": "Alice"}), Forget())


def test_an_empty_database_leaks_nothing() -> None:
    found = attack([], ALICE, Resolve("N"))
    assert (found.leakage, found.cost, found.witnesses) == (0.0, 0.0, ())


@pytest.mark.parametrize(
    "numbers", [(-1.0, 1.0), (1.0, -1.0), (float("nan"), 1.0), (float("inf"), 1.0)]
)
def test_a_cost_that_is_no_amount_is_refused(numbers: tuple[float, float]) -> None:
    with pytest.raises(BadInput, match="at least 0"):
        Cost(*numbers)


def test_an_inference_with_confidence_above_one_is_refused() -> None:
    with pytest.raises(BadInput, match="between 0 and 1"):
        Augment("A", "Z", {}, confidence=1.2)


def test_a_measure_by_another_method_names_the_same_witness() -> None:
    database = [
        Record.of({"N": ("Alice", 0.5), "P": "123"}, id="r"),
        Record.of({"N": "Alice"}, id="s"),
    ]
    exact, naive = Measure().most(database, ALICE), Measure(method="naive").most(database, ALICE)
    assert naive.each == pytest.approx(exact.each, rel=1e-12)
    assert naive.witnesses == exact.witnesses == set_leakage(database, ALICE).witnesses


@settings(deadline=None)
@given(databases(most=6), rules(), st.integers(0, 6))
def test_resolution_is_monotone(database: list[Record], rule: MatchRule, cut: int) -> None:
    """Each record of E(R) is contained in a record of E(R + S).

    The bounds of disinformation depend on it.
    """
    operator = Resolve(rule)
    assert operator.monotone
    whole = operator(tuple(database))
    for part in operator(tuple(database[:cut])):
        (container,) = (record for record in whole if part.sources <= record.sources)
        assert part.attributes.keys() <= container.attributes.keys()


@settings(deadline=None)
@given(databases(most=6), rules())
def test_dipping_for_a_known_record_gives_its_group(
    database: list[Record], rule: MatchRule
) -> None:
    """A query equal to a record with a match key lands in that record's group."""
    resolved = Resolve(rule)(tuple(database))
    for record in database:
        if any(rule.keys(record)):
            group = next(each for each in resolved if record.sources <= each.sources)
            assert dip(database, record, Resolve(rule)).reached == group.sources
