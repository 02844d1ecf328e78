# SPDX-License-Identifier: Apache-2.0
"""Attributes to verify: the corrected example of section 4.3, the affine formula by definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from divulge.dossier import Attribute, Record, enhance, enhance_each, leakage
from divulge.errors import BadInput
from tests.dossier.oracle import golden
from tests.dossier.worlds import databases, golden_database

FACTS = golden()["003-4.3-base"]


def test_golden_certainty() -> None:
    found = enhance(golden_database(FACTS))
    assert found.certainty == pytest.approx(float(Fraction(FACTS["expected"])), rel=1e-12)
    assert found.record.id == "r1+r2"


@pytest.mark.parametrize("name", ["003-4.3-name", "003-4.3-phone"])
def test_golden_ratio(name: str) -> None:
    """The phone's ratio is 1/7; the paper prints 1/28."""
    case = golden()[name]
    source, label = case["inputs"]["enhance"]
    (option,) = (
        each
        for each in enhance(golden_database(case)).options
        if (each.source, each.attribute.label) == (source, label)
    )
    assert option.ratio == pytest.approx(float(Fraction(case["expected"])), abs=1e-12)


def test_the_best_comes_first_without_certain_attributes() -> None:
    found = enhance(golden_database(FACTS))
    assert [(each.source, each.attribute) for each in found.options] == [
        ("r2", Attribute("P", "123")),
        ("r2", Attribute("N", "Alice")),
    ]
    assert [each.cost for each in found.options] == pytest.approx([0.5, 0.1])


def test_ties_go_to_the_cheaper_one() -> None:
    """Both attributes have equal slopes, so equal ratios, independent of their confidence.

    An attribute with more confidence costs less to verify.
    """
    found = enhance(
        [
            Record.of({"A": ("1", 0.5), "B": ("1", 0.5)}, id="r"),
            Record.of({"C": ("1", 0.5)}, id="s"),
        ]
    )
    assert [each.source for each in found.options] == ["r", "r", "s"]
    cheap = enhance(
        [Record.of({"A": ("1", 0.5), "B": ("1", 0.5)}, id="r")],
        cost=lambda attribute, _: 1 + (attribute.label == "A"),
    )
    assert [each.attribute.label for each in cheap.options] == ["B", "A"]


def test_weights_move_the_choice() -> None:
    records = [Record.of({"A": ("1", 0.5), "B": ("1", 0.5)}, id="r")]
    assert enhance(records, weights={"B": 3}).options[0].attribute.label == "B"
    assert enhance(records, weights={"A": 3}).options[0].attribute.label == "A"


def test_each_composite_by_itself() -> None:
    database = [*golden_database(FACTS), Record.of({"N": "Bob", "P": ("9", 0.1)}, id="b")]
    found = enhance_each(database, rule="N")
    assert [each.record.id for each in found] == ["b", "r1+r2"]
    assert found[1].certainty == pytest.approx(13 / 14, rel=1e-12)
    (chosen,) = enhance_each(database, rule="N", about="r2")
    assert chosen == found[1]
    assert [each.record.id for each in enhance_each(database, rule=None)] == ["b+r1+r2"]


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadInput, match="no record to enhance"):
        enhance([])
    with pytest.raises(BadInput, match="did you mean 'r1'"):
        enhance_each(golden_database(FACTS), rule="N", about="r11")
    with pytest.raises(BadInput, match="costs 0"):
        enhance(golden_database(FACTS), cost=lambda *_: 0)


@settings(deadline=None)
@given(databases(most=4, confidences=(0.25, 0.5, 0.9, 1.0)))
def test_the_affine_formula_is_the_definition(database: list[Record]) -> None:
    """Raise the confidence in the source record, merge again, and measure: the gain is equal."""
    if not any(record.attributes for record in database):
        return
    found = enhance(database)
    truth = found.record.certain()
    for option in found.options:
        raised = [
            record.with_confidence(option.attribute, 1.0) if record.id == option.source else record
            for record in database
        ]
        after = enhance(raised).record
        gain = leakage(after, truth).leakage - leakage(found.record, truth).leakage
        assert option.gain == pytest.approx(gain, abs=1e-12)
        assert option.ratio == pytest.approx(gain / (1 - option.confidence), abs=1e-11)
    assert [option.ratio for option in found.options] == sorted(
        (each.ratio for each in found.options), reverse=True
    )
