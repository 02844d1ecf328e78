# SPDX-License-Identifier: Apache-2.0
"""`divulge measure`, as a user runs it.

Expected values: Afifi et al. 2018, Tables 1b and Section 4, and hand counts.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divulge.metrics import IDENTITY
from divulge.metrics.catalogue import SENSITIVE
from tests.helpers import run_cli


def test_the_json_output_has_the_documented_shape(patients: str) -> None:
    shown = run_cli(
        "measure", patients, "--qi", "zip,age", "--sensitive", "disease", "--json", "--classes"
    )
    document = shown.json()
    assert shown.code == 0
    assert shown.err == ""
    assert (document["rows"], document["people"], document["classes"]) == (9, 9, 3)
    assert set(document["identity"]) == {
        metric.name for metric in IDENTITY if not metric.needs_population
    }
    assert set(document["sensitive"]["disease"]) == {metric.name for metric in SENSITIVE}
    assert document["identity"]["k_anonymity"] == 3
    assert document["sensitive"]["disease"]["l_diversity"] == 1
    assert document["sensitive"]["disease"]["delta_disclosure"] == "inf"
    assert document["sensitive"]["disease"]["t_closeness"] == pytest.approx(4 / 9)
    assert document["settings"]["nulls"] == "category"
    table = {tuple(row["class"].values()): row for row in document["class_table"]}
    assert table["476**", "2*"]["size"] == 3
    assert table["476**", "2*"]["sensitive"]["disease"]["alpha"] == 1
    assert table["4790*", ">=40"]["sensitive"]["disease"]["l_diversity"] == 3
    assert table["476**", "3*"]["identity"]["prosecutor_risk"] == pytest.approx(1 / 3)


def test_every_class_metric_carries_the_name_of_the_table_metric(patients: str) -> None:
    document = run_cli(
        "measure", patients, "--qi", "zip,age", "--sensitive", "disease", "--json", "--classes"
    ).json()
    expected = {metric.name for metric in SENSITIVE if metric.per_class is not None}
    assert all(set(row["sensitive"]["disease"]) == expected for row in document["class_table"])


def test_the_text_describes_the_worst_class(patients: str) -> None:
    shown = run_cli("measure", patients, "--qi", "zip", "--qi", "age", "--sensitive", "disease")
    told = " ".join(shown.out.split())
    assert (
        "zip=476**, age=2* (3 people): everybody has disease=Heart Disease, against 56% before."
        in told
    )
    assert "Cancer from 33% to 67%; an observer can rule out Flu." in told
    assert "nulls: category" in told


def test_how_many_of_the_worst_classes(patients: str) -> None:
    arguments = ["measure", patients, "--qi", "zip,age", "--sensitive", "disease", "--json"]
    assert len(run_cli(*arguments, "--worst", "2").json()["worst"]) == 2
    assert run_cli(*arguments, "--worst", "0").json()["worst"] == []
    first = run_cli(*arguments, "--by", "entropy_leakage", "--worst", "1").json()["worst"][0]
    assert first["class"] == {"zip": "476**", "age": "2*"}
    assert first["ruled_out"] == ["Cancer", "Flu"]


def test_any_attribute_given_any_others(patients: str) -> None:
    document = run_cli(
        "measure", patients, "--about", "age", "--given", "zip,disease", "--json"
    ).json()
    # 476** with cancer: two people, both in their thirties.
    assert document["sensitive"]["age"]["alpha"] == 1
    assert document["settings"]["quasi_identifiers"] == ["zip", "disease"]
    refused = run_cli("measure", patients, "--about", "age", "--qi", "zip")
    assert (refused.code, "--given" in refused.err) == (2, True)


def test_carl_has_cancer_once_heart_disease_is_ruled_out(patients: str) -> None:
    document = run_cli(
        "measure",
        patients,
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        "--rule-out",
        "disease=Heart Disease",
        "--json",
        "--classes",
    ).json()
    carl = next(row for row in document["class_table"] if row["class"]["age"] == "3*")
    assert carl["sensitive"]["disease"]["alpha"] == 1
    bob = next(row for row in document["class_table"] if row["class"]["age"] == "2*")
    assert bob["sensitive"] == {}
    assert document["settings"]["background"] == {"disease": {"ruled_out": ["Heart Disease"]}}


def test_a_prior_of_conditionals(tmp_path: Path) -> None:
    """Section 4 of Afifi et al.: belief in cancer given 5* moves from 16/100 to 28/100."""
    rows = ["5*,Cancer"] * 7 + ["5*,Flu"] * 18 + ["6*,Cancer"] * 3 + ["6*,Flu"] * 72
    table, prior = tmp_path / "t.csv", tmp_path / "prior.csv"
    table.write_text("age,disease\n" + "\n".join(rows) + "\n", encoding="utf-8")
    prior.write_text(
        "age,disease,joint\n5*,Cancer,4/100\n5*,Flu,21/100\n6*,Cancer,6/100\n6*,Flu,69/100\n",
        encoding="utf-8",
    )
    document = run_cli(
        "measure",
        str(table),
        "--qi",
        "age",
        "--sensitive",
        "disease",
        "--prior",
        str(prior),
        "--json",
        "--classes",
    ).json()
    fifties = document["class_table"][0]["sensitive"]["disease"]
    assert fifties["distribution_leakage"] == pytest.approx(math.sqrt(2) * 0.12)
    assert document["settings"]["prior"] == {"disease": "conditional"}


def test_the_average_can_hide_a_class(patients: str) -> None:
    document = run_cli(
        "measure", patients, "--qi", "zip,age", "--sensitive", "disease", "--t", "0.6", "--json"
    ).json()
    held = document["conditions"]["disease"]
    assert held["necessary"]["holds"] is True
    assert held["sufficient"] == {
        "holds": False,
        "classes_breaking_t": 1,
        "classes_breaking_l": None,
    }
    assert held["average_hides_classes"] is True
    text = run_cli(
        "measure", patients, "--qi", "zip,age", "--sensitive", "disease", "--t", "0.6"
    ).out
    assert "The average hides these classes." in " ".join(text.split())


def test_classes_without_json_are_a_csv_table(patients: str) -> None:
    shown = run_cli("measure", patients, "--qi", "zip,age", "--sensitive", "disease", "--classes")
    lines = shown.out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith('"zip","age","size","identity.k_anonymity"')


def test_original_and_population(patients: str, tmp_path: Path) -> None:
    text = Path(patients).read_text(encoding="utf-8")
    everybody = tmp_path / "everybody.csv"
    everybody.write_text(text + "476**,2*,Flu\n" * 3, encoding="utf-8")
    document = run_cli(
        "measure",
        patients,
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        "--original",
        str(everybody),
        "--population",
        str(everybody),
        "--json",
    ).json()
    assert document["settings"]["prior"] == {"disease": "original"}
    assert document["identity"]["k_map"] == 3
    # Bob's class against (5 heart, 3 cancer, 4 flu) of 12: the square of 7, 3 and 4 twelfths.
    assert document["sensitive"]["disease"]["distribution_leakage"] == pytest.approx(
        math.sqrt(49 + 9 + 16) / 12
    )


def test_odd_column_names(tmp_path: Path) -> None:
    names = ['a "b"', "c;d", "select", "`e`", "😀", "x" * 200]
    path = tmp_path / "odd.parquet"
    import pyarrow as pa
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({name: ["1", "1", "2"] for name in names}), path)
    arguments = [item for name in names[:-1] for item in ("--qi", name)]
    document = run_cli("measure", str(path), *arguments, "--sensitive", names[-1], "--json").json()
    assert document["identity"]["k_anonymity"] == 1
    assert document["settings"]["quasi_identifiers"] == names[:-1]


def test_json_is_one_object_even_with_infinities_and_nulls(tmp_path: Path) -> None:
    path = tmp_path / "nulls.csv"
    path.write_text("a,b\n1,x\n,y\n2,\n", encoding="utf-8")
    shown = run_cli("measure", str(path), "--qi", "a", "--sensitive", "b", "--json", "--classes")
    json.loads(shown.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert {"a": None} in [row["class"] for row in shown.json()["class_table"]]


def test_a_column_name_with_an_equals_sign(tmp_path: Path) -> None:
    path, prior = tmp_path / "odd.csv", tmp_path / "prior.csv"
    path.write_text("a,b=c\n1,x\n1,y\n2,x\n2,z\n", encoding="utf-8")
    prior.write_text("b=c,probability\nx,1/2\ny,1/4\nz,1/4\n", encoding="utf-8")
    arguments = [
        "--prior",
        f"b=c={prior}",
        "--order",
        "b=c=x,y,z",
        "--distance",
        "b=c=ordered",
        "--rule-out",
        "b=c=z",
    ]
    shown = run_cli("measure", str(path), "--qi", "a", "--sensitive", "b=c", *arguments, "--json")
    assert shown.code == 0, shown.err
    settings = shown.json()["settings"]
    assert settings["orders"] == {"b=c": ["x", "y", "z"]}
    assert settings["background"] == {"b=c": {"ruled_out": ["z"]}}
    assert settings["prior"] == {"b=c": "given"}


def test_whole_numbers_keep_all_their_digits(tmp_path: Path) -> None:
    large = 12345678901234567890123456789012345678
    values = pa.array([Decimal(large), Decimal(large - 1)], pa.decimal128(38, 0))
    pq.write_table(pa.table({"a": values}), tmp_path / "large.parquet")
    shown = run_cli("measure", str(tmp_path / "large.parquet"), "--qi", "a", "--json").json()
    assert {item["class"]["a"] for item in shown["worst"]} == {large, large - 1}
