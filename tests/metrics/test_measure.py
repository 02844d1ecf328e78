# SPDX-License-Identifier: Apache-2.0
"""dv.measure from a user's side: hand-counted people, weights, populations, results and errors."""

from __future__ import annotations

import json
import math
from math import log2
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import BadInput
from divulge.metrics import IDENTITY, worst_first
from divulge.metrics.catalogue import SENSITIVE
from tests.literature import TABLE_1B, TABLE_2B
from tests.metrics.drawn import measured

PATIENTS: dict[str, Any] = {"quasi_identifiers": ["zip", "age"], "sensitive": "disease"}


# --- People who own several rows ------------------------------------------------------------------

VISITS = pa.table(
    {
        "who": ["Ann", "Ann", "Ann", "Bob", "Bob", "Cem"],
        "zip": ["1", "1", "2", "1", "1", "2"],
        "disease": ["flu", "cancer", "flu", "flu", "flu", "flu"],
    }
)


def test_people_in_several_classes_by_hand() -> None:
    """Class 1 contains Ann and Bob, class 2 Ann and Cem.

    Of the four (person, class) pairs Ann has two, so H(X) = 1.5 bits.
    """
    found = measured(VISITS, quasi_identifiers="zip", sensitive="disease", person="who")
    assert (found.rows, found.people, found.settings["person"]) == (6, 3, "who")
    value = {name: score.value for name, score in found.identity.items()}
    assert (value["k_anonymity"], value["classes"], value["uniques"]) == (2, 2, 0)
    assert value["prosecutor_risk"] == 0.5
    assert value["mutual_information"] == pytest.approx(1.5 - 1)
    assert value["discrimination_rate"] == pytest.approx(1 / 3)
    assert value["itpr"] == pytest.approx(1 - 2 * (1 / 2) * 1 / 1.5)
    # In class 1 Ann has two diseases and Bob one: flu twice, cancer once. By rows it would be 3 to
    # 1.
    assert found.per_class("alpha", "disease") == pytest.approx([2 / 3, 1])


def test_counting_rows_gives_other_numbers() -> None:
    found = measured(VISITS, quasi_identifiers="zip", sensitive="disease")
    assert (found.people, found.identity["k_anonymity"].value) == (6, 2)
    assert found.per_class("alpha", "disease") == pytest.approx([3 / 4, 1])


def test_one_row_each_is_the_same_with_and_without_person() -> None:
    table = TABLE_1B.append_column("who", pa.array([f"#{i}" for i in range(9)]))
    plain, people = measured(table, **PATIENTS), measured(table, **PATIENTS, person="who")
    for name, score in plain.identity.items():
        assert people.identity[name].value == pytest.approx(score.value, abs=1e-12), name
    for name, score in plain.sensitive["disease"].items():
        assert people[name].value == pytest.approx(score.value, abs=1e-12), name


def test_a_table_of_one_person_reveals_them() -> None:
    table = pa.table(
        {"who": ["Ann"] * 3, "zip": ["1", "1", "2"], "disease": ["flu", "flu", "gout"]}
    )
    found = measured(table, quasi_identifiers="zip", sensitive="disease", person="who")
    assert (
        found.people,
        found.identity["k_anonymity"].value,
        found.identity["mutual_information"].value,
    ) == (1, 1, 0)


# --- Weights and populations ----------------------------------------------------------------------


def test_weights_by_hand() -> None:
    """Shares are weighted: in class 1 flu weighs 1.5 of 4.

    The weights of a class are the people it represents.
    """
    table = pa.table({"q": [1, 1, 2], "s": ["flu", "gout", "flu"], "w": [1.5, 2.5, 10]})
    found = measured(table, quasi_identifiers="q", sensitive="s", weight="w")
    assert found.per_class("alpha", "s").tolist() == [2.5 / 4, 1]
    assert found.per_class("k_map_plug_in").tolist() == [4, 10]
    assert found.identity["journalist_risk_plug_in"].value == 0.25
    # Benedetti and Franconi 1998: for f = 2 and p = 1/2, p/q - (p/q)^2 ln(1/p); for f = 1 and p =
    # 1/10, p/q ln(1/p).
    risks = [1 - math.log(2), math.log(10) / 9]
    assert found.per_class("journalist_risk") == pytest.approx(risks)
    assert found.per_class("k_map") == pytest.approx([1 / risk for risk in risks])
    assert found.identity["k_anonymity"].value == 1
    assert found["t_closeness"].value == pytest.approx(11.5 / 14 - 1.5 / 4)
    assert (found.settings["weight"], found.settings["population"]) == ("w", "weights")
    assert "Benedetti and Franconi" in found.settings["population_estimator"]


def test_weights_of_one_change_nothing() -> None:
    weighted = measured(TABLE_1B.append_column("w", pa.array([1.0] * 9)), **PATIENTS, weight="w")
    for name, score in measured(TABLE_1B, **PATIENTS).sensitive["disease"].items():
        assert weighted[name].value == pytest.approx(score.value, abs=1e-12), name


def test_weights_below_one_make_no_risk_above_one() -> None:
    """Weights scaled to a mean below 1 still represent the people in the table."""
    table = pa.table({"q": [1, 1, 2], "s": ["flu", "gout", "flu"], "w": [0.2, 0.4, 0.3]})
    found = measured(table, quasi_identifiers="q", sensitive="s", weight="w")
    assert found.per_class("k_map").tolist() == [2, 1]
    assert found.identity["journalist_risk"].value == 1


def test_weights_that_do_not_add_up_exactly() -> None:
    """Three values are not four: (c,4)-diversity holds for no c.

    In floats 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1.
    """
    table = pa.table({"q": [1, 1, 1], "s": ["a", "b", "c"], "w": [0.1, 0.2, 0.3]})
    found = measured(table, quasi_identifiers="q", sensitive="s", weight="w", recursive_l=4)
    assert found["recursive_c_l_diversity"].value == np.inf


SAMPLE = pa.table({"zip": ["1", "1", "2", None], "age": [30, 30, 40, 40]})
POPULATION = pa.table(
    {"zip": ["1"] * 5 + ["2"] * 2 + [None] * 3 + ["3"] * 9, "age": [30] * 5 + [40] * 14}
)


def test_a_population_by_hand() -> None:
    found = measured(SAMPLE, quasi_identifiers=["zip", "age"], population=POPULATION)
    assert found.per_class("k_map").tolist() == [5, 2, 3]
    assert found.per_class("journalist_risk") == pytest.approx([1 / 5, 1 / 2, 1 / 3])
    k_map = found.identity["k_map"]
    assert k_map.worst is not None
    assert (k_map.value, k_map.worst.key) == (2, {"zip": "2", "age": 40})
    assert found.identity["prosecutor_risk"].value == 1
    assert found.settings["population"] == "table"


def test_a_population_counts_people_where_the_table_does() -> None:
    """Three rows of Ann do not hide anybody else."""
    table = pa.table({"who": ["Ann"], "zip": ["1"]})
    register = pa.table({"who": ["Ann", "Ann", "Ann", "Bob"], "zip": ["1"] * 4})
    assert (
        measured(table, quasi_identifiers="zip", person="who", population=register)
        .identity["k_map"]
        .value
        == 2
    )
    nameless = register.drop_columns("who")
    assert (
        measured(table, quasi_identifiers="zip", person="who", population=nameless)
        .identity["k_map"]
        .value
        == 4
    )


def test_a_population_of_whole_floats_matches_whole_numbers() -> None:
    found = measured(
        pa.table({"age": [30, 40]}),
        quasi_identifiers="age",
        population=pa.table({"age": [40.0, 30.0, 30.0]}),
    )
    assert found.per_class("k_map").tolist() == [2, 1]


def test_a_population_smaller_than_the_table_is_refused() -> None:
    message = (
        r"fewer people than the table in 2 classes, for example \{'zip': '1', 'age': "
        r"30\}: 1 "
        r"against 2"
    )
    with pytest.raises(BadInput, match=message):
        measured(SAMPLE, quasi_identifiers=["zip", "age"], population=SAMPLE.slice(1, 2))


def test_a_population_without_the_columns_is_refused() -> None:
    with pytest.raises(BadInput, match="no column 'age'"):
        measured(SAMPLE, quasi_identifiers=["zip", "age"], population=SAMPLE.drop_columns("age"))


def test_without_a_population_there_is_no_journalist() -> None:
    found = measured(SAMPLE, quasi_identifiers="zip")
    assert "k_map" not in found.identity
    assert found.settings["population"] is None
    with pytest.raises(BadInput, match="'journalist_risk' needs a population"):
        found.per_class("journalist_risk")


# --- Contents of a result -------------------------------------------------------------------------


def test_all_metrics_are_there() -> None:
    found = measured(TABLE_1B, **PATIENTS)
    assert list(found.identity) == [
        metric.name for metric in IDENTITY if not metric.needs_population
    ]
    assert list(found.sensitive["disease"]) == [metric.name for metric in SENSITIVE]


def test_the_worst_class_is_named() -> None:
    found = measured(TABLE_1B, **PATIENTS)
    score = found.sensitive["disease"]["entropy_leakage"]
    assert score.value == pytest.approx(1.3516441151533924)  # golden 000.table1.C1.LE
    assert score.worst is not None
    assert (score.worst.key, score.worst.size, score.attribute) == (
        {"zip": "476**", "age": "2*"},
        3,
        "disease",
    )
    assert found["mutual_information"].worst is None


def test_the_worst_attribute_decides() -> None:
    found = measured(TABLE_2B, quasi_identifiers=["zip", "age"], sensitive=["disease", "salary"])
    leaks = {name: scores["entropy_leakage"].value for name, scores in found.sensitive.items()}
    assert leaks == pytest.approx({"disease": 0.9182958340544896, "salary": log2(3)})
    assert found["entropy_leakage"].attribute == "salary"
    # A low number is the worse one here.
    assert found["l_max"].attribute == "disease"


def test_a_shared_name_means_the_attribute_and_falls_back_to_identity() -> None:
    assert measured(TABLE_1B, **PATIENTS)["itpr"].attribute == "disease"
    assert measured(TABLE_1B, quasi_identifiers=["zip", "age"])["itpr"].attribute is None


def test_whole_numbers_are_whole() -> None:
    found = measured(TABLE_1B, **PATIENTS)
    numbers = [found["k_anonymity"].number, found["classes"].number, found["l_diversity"].number]
    assert numbers == [3, 3, 1]
    assert {type(number) for number in numbers} == {int}
    assert isinstance(found["alpha"].number, float)


def test_settings_record_what_the_numbers_depend_on() -> None:
    settings = measured(TABLE_1B, **PATIENTS, nulls="drop").settings
    expected = {
        "engine": "duckdb",
        "quasi_identifiers": ["zip", "age"],
        "sensitive": ["disease"],
        "identifier": [],
        "person": None,
        "weight": None,
        "nulls": "drop",
        "prior": {"disease": "table"},
        "background": {},
        "ground_distance": {"disease": "equal"},
        "recursive_l": {"disease": 1},
        "population": None,
        "log_base": 2,
        "tolerance": 1e-9,
    }
    assert {key: settings[key] for key in expected} == expected
    assert json.loads(json.dumps(settings)) == settings


def test_class_records_and_the_class_table_agree() -> None:
    found = measured(TABLE_1B, **PATIENTS)
    records, table = found.class_records(), found.class_table().to_pylist()
    assert len(records) == len(table) == 3
    for record, row in zip(records, table, strict=True):
        assert record["class"] == {"zip": row["zip"], "age": row["age"]}
        assert record["size"] == row["size"]
        for name, number in record["identity"].items():
            assert number == row[f"identity.{name}"]
        for name, number in record["sensitive"]["disease"].items():
            assert number == row[f"disease.{name}"]
    assert set(records[0]["sensitive"]["disease"]) == {
        metric.name for metric in SENSITIVE if metric.per_class is not None
    }


def test_a_key_called_size_keeps_its_name() -> None:
    found = measured(pa.table({"size": ["S", "S", "M"]}), quasi_identifiers="size")
    assert found.class_table()["size"].to_pylist() == ["M", "S"]
    assert found.class_table()["class size"].to_pylist() == [1, 2]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.Table])
def test_frames_have_the_kind_of_the_input(kind: Any) -> None:
    frame = {
        pd.DataFrame: TABLE_1B.to_pandas(),
        pl.DataFrame: pl.from_arrow(TABLE_1B),
        pa.Table: TABLE_1B,
    }[kind]
    found = dv.measure(frame, **PATIENTS)
    assert isinstance(found.classes, kind)
    assert found.per_class("alpha", "disease") == pytest.approx([1, 2 / 3, 1 / 3])


def test_the_input_is_not_changed() -> None:
    frame = TABLE_1B.to_pandas()
    frame.index = pd.Index(range(10, 19))
    before = frame.copy()
    dv.measure(frame, **PATIENTS)
    pd.testing.assert_frame_equal(frame, before)


def test_odd_names_of_columns() -> None:
    names = [
        'say "hi"',
        "a; DROP TABLE x",
        "`tick`",
        "select",
        "emoji 🩺",
        "x" * 200,
        "k0",
        "s0",
        "n",
        "g0",
        "w",
    ]
    table = pa.table(
        {name: [i % 2 for i in range(4)] for name in names}
        | {"der Wert'": ["a", "b", "a", "a"], "s1": list("abab")}
    )
    found = measured(table, quasi_identifiers=names, sensitive=["der Wert'", "s1"], joint=True)
    assert found.identity["k_anonymity"].value == 2
    assert set(found.class_records()[0]["class"]) == set(names)
    assert found.per_class("l_diversity", "der Wert'").tolist() == [1, 2]


# --- Errors ---------------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"recursive_l": 0}, "recursive_l=0 is not possible"),
    ({"recursive_l": 1.5}, "recursive_l=1.5 is not possible"),
    ({"recursive_l": True}, "recursive_l=True is not possible"),
    ({"nulls": "ignore"}, "nulls='ignore' is not known"),
    ({"sensitive": "diseases"}, "did you mean 'disease'"),
    ({"sensitive": "zip"}, "two roles"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        measured(TABLE_1B, **(PATIENTS | options))


def test_unmeasured_metrics_raise_an_error() -> None:
    found = measured(TABLE_1B, **PATIENTS)
    with pytest.raises(BadInput, match=r"'alfa' was not measured.*did you mean 'alpha'"):
        found["alfa"]
    with pytest.raises(BadInput, match="'illness' is not a sensitive attribute here"):
        found.per_class("alpha", "illness")
    with pytest.raises(BadInput, match="'l_max' is a number of the whole table"):
        found.per_class("l_max", "disease")
    with pytest.raises(BadInput, match="there is no metric 'alpha'"):
        found.per_class("alpha")


def test_infinite_numbers_stay_numbers() -> None:
    found = measured(TABLE_1B, **PATIENTS)
    assert (found["delta_disclosure"].value, type(found["delta_disclosure"].number)) == (
        np.inf,
        float,
    )


def test_a_class_without_a_number_is_not_among_the_worst() -> None:
    """An adversary who knows that nobody has flu excludes the class where everybody does."""
    badness, sizes = np.array([0.5, np.nan, 1.0, np.nan]), np.array([3, 9, 2, 9])
    assert worst_first(badness, sizes, limit=1).tolist() == [2]
    assert worst_first(badness, sizes, limit=3).tolist() == [2, 0]
    people = pa.table({"zip": ["1", "1", "2", "2"], "disease": ["flu", "flu", "cold", "gout"]})
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
    found = dv.measure(people, **roles, adversary=dv.Adversary(rule_out={"disease": "flu"}))
    assert found._repr_html_()
