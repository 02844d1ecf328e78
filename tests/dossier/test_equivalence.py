# SPDX-License-Identifier: Apache-2.0
"""Canonical values, applied to both sides (sections 3.1 and 3.2 of the paper)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from divulge.dossier import Attribute, Equivalence, Record, leakage, set_leakage
from divulge.errors import BadInput

SAME = Equivalence(
    {"Zip": ["11*", "2**"], "Age": ["3*", ">=50"], "Disease": {"Influenza": ["Flu"]}}
)
ALICE = Record.of({"Name": "Alice", "Zip": "111", "Age": "30", "Disease": "Heart"})
ZOE = Record.of({"Name": "Zoe", "Zip": "241", "Age": "60", "Disease": "Flu"})
R1 = Record.of({"Zip": "11*", "Age": "3*", "Disease": ["Heart", "Breast", "Cancer"]})
R2 = Record.of({"Zip": "2**", "Age": ">=50", "Disease": ["Hair", "Flu"]})
BACKGROUND = Record.of({"Name": "Alice", "Zip": "111", "Age": "30"})


@pytest.mark.parametrize(
    ("record", "reference", "expected"),
    [
        (R1, ALICE, "2/3"),
        (R2, ALICE, "0"),
        (R2, ZOE, "3/4"),
        # 111 and 11* are one attribute; as two they would give 2/3
        (R1.merge(BACKGROUND), ALICE, "4/5"),
        (R2.merge(Record.of({"Disease": "Influenza"})), ZOE, "3/4"),
    ],
)
def test_section_3_with_raw_values_on_both_sides(
    record: Record, reference: Record, expected: str
) -> None:
    found = leakage(record, reference, equivalence=SAME)
    assert found.leakage == pytest.approx(float(Fraction(expected)), rel=1e-12)


def test_without_the_synonym_influenza_is_wrong() -> None:
    masks = Equivalence({"Zip": ["2**"], "Age": [">=50"]})
    with_both = R2.merge(Record.of({"Disease": "Influenza"}))
    assert leakage(with_both, ZOE, equivalence=masks).leakage == pytest.approx(2 / 3, rel=1e-12)
    assert leakage(R1.merge(BACKGROUND), ALICE).leakage == pytest.approx(2 * 4 / (8 + 4), rel=1e-12)


def test_set_leakage_takes_the_equivalence_too() -> None:
    found = set_leakage([R1, R2], ZOE, equivalence=SAME)
    assert found.leakage == pytest.approx(3 / 4, rel=1e-12)
    assert found.witnesses == (R2,)


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("11*", ["110", "11x", "11*"], ["11", "1111", "211"]),
        ("3*", ["30", "39", "3*"], ["3", "300", "40"]),
        ("**", ["ab"], ["abc"]),
        (">=50", ["50", "60", "50.5", ">=50"], ["49.9", "old"]),
        (">50", ["51"], ["50"]),
        ("<18", ["17", "-1"], ["18"]),
        ("<=17", ["17"], ["17.5"]),
        ("≥50", ["50"], ["49"]),
        ("[20,30)", ["20", "25", "29.9"], ["30", "19"]),
        ("(20,30]", ["30"], ["20"]),
        ("20-29", ["20", "29"], ["30", "19"]),
    ],
)
def test_patterns_cover_what_they_say(pattern: str, inside: list[str], outside: list[str]) -> None:
    same = Equivalence({"L": [pattern]})
    assert {same.canonical(Attribute("L", value)).value for value in inside} == {pattern}
    assert all(same.canonical(Attribute("L", value)).value == value for value in outside)
    assert same.canonical(Attribute("other", inside[0])).value == inside[0]


@given(st.sampled_from(["Zip", "Age", "Disease", "Name"]), st.text("0123*Flu>=", max_size=5))
def test_canonical_values_are_stable(label: str, value: str) -> None:
    once = SAME.canonical(Attribute(label, value))
    assert SAME.canonical(once) == once


def test_the_first_class_that_covers_a_value_wins() -> None:
    same = Equivalence({"Age": ["3*", "[20,40)"]})
    assert [same.canonical(Attribute("Age", value)).value for value in ("35", "25")] == [
        "3*",
        "[20,40)",
    ]


def test_attributes_that_become_equal_keep_the_higher_confidence() -> None:
    merged = SAME.apply(
        Record.of([("Zip", "111", 0.4), ("Zip", "11*", 0.7), ("Zip", "112", 0.2)], id="r")
    )
    assert merged.attributes == {("Zip", "11*"): 0.7}
    assert merged.sources == {"r"}


def test_json_and_csv_declare_the_same(tmp_path: Path) -> None:
    as_json = tmp_path / "same.json"
    as_json.write_text(
        '{"Zip": ["11*"], "Disease": {"Influenza": ["Flu", "grippe"]}}', encoding="utf-8"
    )
    as_csv = tmp_path / "same.csv"
    as_csv.write_text(
        "label,canonical,value\nZip,11*,\nDisease,Influenza,Flu\nDisease,Influenza,grippe\n",
        encoding="utf-8",
    )
    for path in (as_json, as_csv):
        same = Equivalence.read(path)
        assert same.canonical(Attribute("Zip", "117")).value == "11*"
        assert same.canonical(Attribute("Disease", "grippe")).value == "Influenza"


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ({"Zip": ["111"]}, "not a class of values"),
        ({"Zip": "11*"}, r"classes\['Zip'\] is '11\*', and it must be a list"),
        ({"Zip": 5}, r"classes\['Zip'\] is 5, and it must be a list"),
        ({"Zip": [["11*"]]}, "must be a list"),
        ({"D": {"Influenza": 5}}, r"classes\['D'\]\['Influenza'\] is 5, and it must be a list"),
        ({"D": {"Influenza": [["Flu"]]}}, r"\['Influenza'\] is .* must be a list \(each a text\)"),
        ({"D": {"Influenza": "Flu"}}, r"\['Influenza'\] is 'Flu', and it must be a list"),
        (
            {"D": {"Influenza": ["Flu"], "Cold": ["Flu"]}},
            "'Flu' of 'D' belongs to 'Influenza' and to 'Cold'",
        ),
        (
            {"D": {"Influenza": ["Flu"], "Flu": ["grippe"]}},
            "'Flu' of 'D' belongs to 'Influenza' and to 'Flu'",
        ),
    ],
)
def test_bad_classes_are_refused(classes: dict[str, list[str]], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Equivalence(classes)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "[1]", "does not hold a JSON object"),
        ("a.json", "{", "is not JSON"),
        ("a.csv", "x,y\n1,2\n", "lacks the column 'label'"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        Equivalence.read(path)
    with pytest.raises(BadInput, match="cannot read"):
        Equivalence.read(tmp_path / "missing.json")
