# SPDX-License-Identifier: Apache-2.0
"""One class in detail: its people, prior and posterior of every value, every metric.

Classes are selected by the texts of their values, on every engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput
from tests.helpers import run_cli

# Afifi et al. 2018, Table 1: Heart 5, Cancer 3, Flu 1 of nine.
PATIENTS = pa.table(
    {
        "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "disease": ["Heart"] * 3 + ["Flu", "Heart", "Cancer"] + ["Heart", "Cancer", "Cancer"],
    }
)
ROLES: dict[str, Any] = {"quasi_identifiers": ["zip", "age"], "sensitive": "disease"}


def test_a_class_is_shown_in_detail_on_every_engine(engine: DuckDBEngine | SparkEngine) -> None:
    one = dv.measure(PATIENTS, engine=engine, **ROLES).of_class(zip="476**", age="3*")
    assert (dict(one.key), one.size, one.of_people) == ({"zip": "476**", "age": "3*"}, 3, 9)
    shares = {shift.value: (shift.before, shift.after) for shift in one.shares["disease"]}
    expected = {"Cancer": (3 / 9, 2 / 3), "Flu": (1 / 9, 0.0), "Heart": (5 / 9, 1 / 3)}
    assert shares == {value: pytest.approx(pair) for value, pair in expected.items()}
    numbers = {(score.attribute, score.metric.name): score.number for score in one.scores}
    assert numbers[None, "k_anonymity"] == 3
    assert numbers["disease", "l_diversity"] == 2
    assert numbers["disease", "distribution_leakage"] == pytest.approx((4 + 9 + 1) ** 0.5 / 9)
    assert numbers["disease", "values_ruled_out"] == 1


def test_the_shares_of_an_attribute_are_those_that_were_named_or_change_most() -> None:
    """In the class of zip 476** and age 2* everybody has a heart disease (5/9 before).

    One of three has a cat (4/9 before).
    """
    pets = pa.array(["cat", "dog", "dog", "cat", "cat", "cat", "dog", "dog", "dog"])
    roles = {**ROLES, "sensitive": ["disease", "pet"]}
    one = dv.measure(PATIENTS.append_column("pet", pets), **roles).of_class(zip="476**", age="2*")
    assert one.shares_of("pet") == ("pet", one.shares["pet"])
    assert one.shares_of("disease") == ("disease", one.shares["disease"])
    assert one.shares_of()[0] == "disease"
    with pytest.raises(BadInput, match=r"nothing is known about 'pets' in .*did you mean 'pet'"):
        one.shares_of("pets")
    without = dv.measure(PATIENTS, quasi_identifiers=["zip", "age"]).of_class(zip="476**", age="2*")
    with pytest.raises(BadInput, match="has no values"):
        without.shares_of()


def test_every_metric_that_classes_have_is_there_with_the_number_of_the_class_table() -> None:
    measured = dv.measure(PATIENTS, **ROLES)
    table = measured.class_table()
    place = list(zip(table["zip"].to_pylist(), table["age"].to_pylist(), strict=True)).index(
        ("476**", "2*")
    )
    one = measured.of_class(zip="476**", age="2*")
    told = {
        f"{score.attribute or 'identity'}.{score.metric.name}": score.number for score in one.scores
    }
    assert told == {name: table[name][place].as_py() for name in table.column_names[3:]}


def test_the_posterior_has_the_frame_kind_of_the_input() -> None:
    found = dv.measure(PATIENTS.to_pandas(), **ROLES).posterior(zip="4790*", age=">=40")
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == ["attribute", "value", "before", "after"]
    assert found.set_index("value")["after"].to_dict() == pytest.approx(
        {"Cancer": 1 / 3, "Flu": 1 / 3, "Heart": 1 / 3}
    )


def test_numbers_and_nulls_can_be_given_as_text() -> None:
    people = pa.table({"age": [30, 30, None], "s": [1, 2, 2]})
    measured = dv.measure(people, quasi_identifiers="age", sensitive="s")
    for asked in (30, "30", 30.0):
        assert measured.of_class(age=asked).size == 2
    for nothing in (None, "null"):
        assert measured.of_class(age=nothing).size == 1
    both = dv.measure(pa.table({"a": ["null", None, None]}), quasi_identifiers="a")
    assert (both.of_class(a="null").size, both.of_class(a=None).size) == (1, 2)


def test_the_text_null_denotes_no_null_where_both_occur(tmp_path: Path) -> None:
    """No class has the text "null" with b = 2: the class of the nulls is another one."""
    people = pa.table({"a": ["null", None, None], "b": [1, 2, 2]})
    measured = dv.measure(people, quasi_identifiers=["a", "b"])
    assert measured.of_class(a=None, b=2).size == 2
    with pytest.raises(BadInput, match="there is no class a=null, b=2"):
        measured.of_class(a="null", b=2)
    pq.write_table(people, tmp_path / "t.parquet")
    command = ["measure", str(tmp_path / "t.parquet"), "--qi", "a,b", "--class", "a=null"]
    outcome = run_cli(*command, "--class", "b=1")
    assert outcome.code == 2
    assert "--class a=null denotes two classes: 'a' has nulls and the text 'null'" in outcome.err


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            {"zip": "476**", "agee": "2*"},
            "'agee' is no quasi-identifier, and makes no class. did you mean 'age'?",
        ),
        (
            {"zip": "476**"},
            (
                "a class has a value of each quasi-identifier, and that of 'age' is not said. it "
                "is "
                "one of '2*', '3*', '>=40'"
            ),
        ),
        ({"zip": "4761*", "age": "2*"}, "no class has zip=4761*. did you mean '476**' or '4790*'?"),
        (
            {"zip": "4790*", "age": "2*"},
            (
                "there is no class zip=4790*, age=2*. near ones are zip=476**, age=2*; "
                "zip=4790*, "
                "age=>=40; zip=476**, age=3*"
            ),
        ),
    ],
)
def test_an_unknown_class_is_one_line_that_names_near_ones(
    asked: dict[str, str], told: str
) -> None:
    with pytest.raises(BadInput) as error:
        dv.measure(PATIENTS, **ROLES).of_class(**asked)
    assert str(error.value) == told


def test_the_error_says_that_a_class_stayed_with_the_engine(limited: DuckDBEngine) -> None:
    people = pa.table({"n": list(range(200)), "s": ["a", "b"] * 100})
    measured = dv.measure(people, quasi_identifiers="n", sensitive="s", engine=limited)
    here = set(measured.contingency.key_column(0).to_pylist())
    away = next(n for n in range(200) if n not in here)
    with pytest.raises(
        BadInput,
        match=rf"n={away} is not among the {len(here)} classes that were brought here, of 200",
    ):
        measured.of_class(n=away)
    assert measured.of_class(n=min(here)).size == 1


def test_a_class_that_knowledge_rules_out_still_has_its_people() -> None:
    her = dv.Adversary(rule_out={"disease": ["Heart"]})
    one = dv.measure(PATIENTS, adversary=her, **ROLES).of_class(zip="476**", age="2*")
    assert (one.size, dict(one.shares)) == (3, {})
    with pytest.raises(BadInput, match="zip=476"):
        one.chart()
