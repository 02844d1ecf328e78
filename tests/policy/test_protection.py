# SPDX-License-Identifier: Apache-2.0
"""Protections from text, from TOML and from Python.

What is read, what is rejected, and the people and values that are chosen in a counted table.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.counting import Counts
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.policy import Policy, Protection

PEOPLE = pa.table(
    {
        "age": [75, 75, 80, 30, 30, 30],
        "job": ["judge", "judge", "clerk", "clerk", "clerk", "clerk"],
        "born": [date(1950, 1, 1)] * 2 + [date(1945, 1, 1)] + [date(1995, 1, 1)] * 3,
        "disease": ["HIV", "flu", "flu", "flu", "cold", "cold"],
    }
)


def broken(protection: Protection, table: pa.Table = PEOPLE) -> dict[str, tuple[Any, int]]:
    """Return each requirement with its value and the people of the classes that violate it."""
    verdict = dv.check(
        table,
        Policy(protections=[protection]),
        quasi_identifiers=["age", "job", "born"],
        sensitive="disease",
    )
    return {outcome.text: (outcome.value, outcome.breaking_people) for outcome in verdict.outcomes}


def test_text_toml_and_python_agree() -> None:
    table = {
        "where": {"age": ">= 65 and < 80", "job": ["judge", "clerk"]},
        "k_anonymity": 20,
        "promises": {"l_diversity": 3},
    }
    [read] = Policy.from_document({"protect": [table]}).protections
    made = Protection.make(
        {"k_anonymity": 20, "l_diversity": 3},
        where={"age": ">= 65 and < 80", "job": ["judge", "clerk"]},
    )
    text = (
        "age >= 65 and age < 80 and job in ('judge', clerk): k_anonymity >= 20 and l_diversity = 3"
    )
    assert read == made == Protection.parse(text)
    assert made.who == "age >= 65 and < 80 and job = judge or clerk"


def test_names_and_values_with_signs() -> None:
    parsed = Protection.parse(
        "\"job title\" = 'a: b and ''c''' AND x=1: recursive_c_l_diversity = 3,2 and k_anonymity 5"
    )
    assert parsed.where == {"job title": ("a: b and 'c'",), "x": ("1",)}
    assert [promise.text for promise in parsed.promises] == [
        "recursive_c_l_diversity < 3 (l = 2)",
        "k_anonymity >= 5",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age >= 75", "there is no colon"),
        ("age >= 75:", "'' is not understood"),
        (": k_anonymity >= 3", "'' is not understood"),
        ("age >= 75 and: k_anonymity >= 3", "'' is not understood"),
        ("age >= 75: k_anonymity >= 3 and", "'' is not understood"),
        ("age >=: k_anonymity >= 3", "'age >=' is not understood"),
        ("age = 75 or age = 76: k_anonymity >= 3", "'age = 75 or age = 76' is not understood"),
        ("age = 75: k_anonymity >= 3, l_diversity >= 2", "is not understood|not a number"),
        ("age = 75 and age = 76: k_anonymity >= 3", "chooses age twice"),
        ("age > 75: k_anonymity <= 3", "can only be promised as k_anonymity >= 3"),
        ("age > 75: entropy_leakage > 3", "can only be promised as entropy_leakage <= 3"),
        ("age > 75: k_anonymty >= 3", "did you mean 'k_anonymity'"),
    ],
)
def test_invalid_texts_raise_an_error(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Protection.parse(text)


@pytest.mark.parametrize(
    ("protect", "message"),
    [
        ({"k_anonymity": 5}, "head each of them with [[protect]]"),
        ([{"k_anonymity": 5}], "must choose people (where) or values"),
        ([{"where": {"age": ">75"}}], "without a promise"),
        ([{"where": "age > 75", "k_anonymity": 5}], "are tables"),
        ([{"where": {"age": ">75"}, "k_anonymty": 5}], "did you mean 'k_anonymity'"),
        ([{"values": ["HIV"], "alpha": 0.5}], "of which attribute"),
    ],
)
def test_invalid_tables_raise_an_error(protect: Any, message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        Policy.from_document({"protect": protect}, origin="divulge.toml")


def test_protections_apply_only_to_classes_of_chosen_people() -> None:
    """The judges of 75 are two, the clerk of 80 is unique; the three of 30 are not chosen."""
    who = "k_anonymity >= 3 for age >= 75"
    assert broken(Protection.make({"k_anonymity": 3}, where={"age": ">= 75"})) == {who: (1, 3)}
    assert broken(Protection.make({"k_anonymity": 3}, where={"age": 75})) == {
        "k_anonymity >= 3 for age = 75": (2, 2)
    }
    assert broken(Protection.make({"k_anonymity": 2}, where={"born": "<1950-01-01"})) == {
        "k_anonymity >= 2 for born <1950-01-01": (1, 1)
    }
    young = Protection.make({"k_anonymity": 3, "l_diversity": 3}, where={"age": "<40"})
    assert broken(young) == {
        "k_anonymity >= 3 for age <40": (3, 0),
        "l_diversity >= 3 (disease) for age <40": (2, 3),
    }


def test_a_requirement_about_identity_has_no_attribute() -> None:
    """The one 80-year-old is unique.

    The pair of judges, who are 75, are not chosen; AND may be written in capitals.
    """
    chosen = Protection.make(
        {"k_anonymity": 3, "l_diversity": 2}, where={"age": ">= 76 AND < 90"}, attribute="disease"
    )
    who = "for age >= 76 AND < 90"
    assert broken(chosen) == {
        f"k_anonymity >= 3 {who}": (1, 1),
        f"l_diversity of disease >= 2 {who}": (1, 1),
    }


def test_chosen_values_are_compared_with_all_others() -> None:
    """1 of 6 has HIV; of the judges 1 of 2: (1/2 - 1/6) / (1/6) = 2.

    Cold and HIV: 3 of 6, and 2 of 3 of the young.
    """
    hidden = Protection.parse("disease = HIV: basic_beta_likeness <= 1")
    assert broken(hidden) == {"basic_beta_likeness of disease = HIV <= 1": (pytest.approx(2), 2)}
    both = Protection.parse("disease in (HIV, cold) and age < 40: alpha <= 0.5")
    assert broken(both) == {
        "alpha of disease = HIV, cold <= 0.5 for age < 40": (pytest.approx(2 / 3), 3)
    }


def test_ages_are_not_matched_with_ranges() -> None:
    ranges = PEOPLE.set_column(0, "age", pa.array(["[60, 90)"] * 3 + ["[30, 60)"] * 3))
    with pytest.raises(BadInput, match=r"'>= 75' cannot be asked of 'age', whose values are text"):
        broken(Protection.make({"k_anonymity": 3}, where={"age": ">= 75"}), ranges)


def test_protections_need_all_classes_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a memory limit only the worst classes come to memory, perhaps without the chosen."""
    monkeypatch.setattr(Counts, "is_small", False)
    table = dv.read(PEOPLE, engine=DuckDBEngine(memory_limit="500MB"))
    old = Protection.make({"k_anonymity": 3}, where={"age": ">= 75"})
    with pytest.raises(BadInput, match=r"stayed on disk: .* were not brought together") as error:
        dv.check(table, Policy(protections=[old]), quasi_identifiers="age")
    assert "SparkEngine(collect_limit=...)" in error.value.hint
    assert dv.check(table, Policy(uniques=1000), quasi_identifiers="age", plain="*").holds
