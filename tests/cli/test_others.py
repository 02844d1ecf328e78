# SPDX-License-Identifier: Apache-2.0
"""profile, rank, perturbed, metrics, demo: each as a user runs it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import divulge as dv
from divulge.cli import anatomize as cli_anatomize
from divulge.cli import generalize as cli_generalize
from divulge.metrics import METRICS, surprise_allowed
from divulge.options import GENERALIZATION_METHODS, AnatomizationMethod, GeneralizationMethod
from tests.helpers import run_cli


def test_profile_describes_each_column(patients: str) -> None:
    document = run_cli("profile", patients, "--json").json()
    columns = {item["column"]: item for item in document["columns"]}
    assert (columns["zip"]["distinct"], columns["zip"]["nulls"], columns["zip"]["role"]) == (
        2,
        0,
        "quasi_identifier",
    )
    assert columns["disease"]["role"] == "sensitive"
    # age: three values three times each.
    assert columns["age"]["entropy"] == pytest.approx(math.log2(3))
    assert columns["age"]["discrimination_rate"] == pytest.approx(0.5)
    assert "suggested role" in run_cli("profile", patients).out


def test_profile_of_an_identifier_nulls_and_a_constant(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(
        "patient,note,city\n"
        + "".join(f"{i:05d},same,{'' if i % 2 else 'A'}\n" for i in range(40)),
        encoding="utf-8",
    )
    columns = {
        item["column"]: item for item in run_cli("profile", str(path), "--json").json()["columns"]
    }
    assert (
        columns["patient"]["role"],
        columns["patient"]["itpr"],
        columns["patient"]["uniques"],
    ) == ("identifier", 1.0, 40)
    assert (columns["note"]["role"], columns["note"]["discrimination_rate"]) == ("plain", 0.0)
    assert (columns["city"]["nulls"], columns["city"]["distinct"]) == (20, 1)


def test_rank_combines_attributes(patients: str) -> None:
    document = run_cli(
        "rank",
        patients,
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        "--threshold",
        "0.5",
        "--set",
        "age",
        "--json",
    ).json()
    # age splits 3/3/3 and decides the zip, so zip adds nothing to age.
    assert [item["attribute"] for item in document["attributes"]] == ["age", "zip"]
    assert document["attributes"][1]["contribution"] == pytest.approx(0.0, abs=1e-12)
    assert document["smallest"] == [["age"]]
    assert len(document["combinations"]) == 3
    assert document["sets"][0]["columns"] == ["age"]
    both = next(item for item in document["combinations"] if len(item["columns"]) == 2)
    # 27 of 36 pairs of people are distinguished.
    assert both["identity"]["separation"] == pytest.approx(27 / 36)
    assert both["identity"]["distinction"] == pytest.approx(3 / 9)
    assert "smallest combinations" in run_cli("rank", patients, "--qi", "zip,age").out


def test_rank_counts_people_where_they_own_several_rows(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who,zip,sex\na,1,f\na,1,f\nb,1,m\nc,2,m\n", encoding="utf-8")
    document = run_cli("rank", str(path), "--qi", "zip,sex", "--person", "who", "--json").json()
    alone = {item["attribute"]: item["alone"]["identity"] for item in document["attributes"]}
    assert (alone["zip"]["k_anonymity"], alone["sex"]["k_anonymity"]) == (1, 1)
    assert alone["sex"]["separation"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "arguments", [["--up-to", "0"], ["--threshold", "2"], ["--set", "nothing"]]
)
def test_rank_refuses(patients: str, arguments: list[str]) -> None:
    assert run_cli("rank", patients, "--qi", "zip,age", *arguments).code == 2


def test_perturbed_takes_the_joint_distribution(tmp_path: Path) -> None:
    original, published = tmp_path / "o.csv", tmp_path / "p.csv"
    original.write_text("id,age\n1,30\n2,30\n3,40\n4,50\n", encoding="utf-8")
    published.write_text("id,age\n4,50\n3,31\n2,31\n1,31\n", encoding="utf-8")
    document = run_cli(
        "perturbed", str(original), str(published), "--columns", "age", "--key", "id", "--json"
    ).json()
    # H(X) = 1.5; 31 replaces 30, 30, 40; 50 replaces 50.
    left = math.log2(3) - 2 / 3
    assert document["entropy"] == pytest.approx(1.5)
    assert document["mutual_information"] == pytest.approx(1.5 - 0.75 * left)
    assert document["worst"][0]["class"] == {"published age": 50}
    by_position = run_cli(
        "perturbed", str(original), str(published), "--columns", "age", "--json"
    ).json()
    # By position, 50 replaces 30, and 31 replaces 30, 40, 50.
    assert by_position["mutual_information"] == pytest.approx(1.5 - 0.75 * math.log2(3))


def test_perturbed_measures_the_original_values_behind_changed_ones(tmp_path: Path) -> None:
    # Four people of 30 and four of 40; one of each four changes sides. All of 30 have flu, all of
    # 40 have cold.
    original, published = tmp_path / "o.csv", tmp_path / "p.csv"
    original.write_text("age,ill\n" + "30,flu\n" * 4 + "40,cold\n" * 4, encoding="utf-8")
    published.write_text("age\n" + "30\n" * 3 + "40\n" * 4 + "30\n", encoding="utf-8")
    asked = (
        "perturbed",
        str(original),
        str(published),
        "--columns",
        "age",
        "--sensitive",
        "ill",
        "--epsilon",
    )
    document = run_cli(*asked, str(math.log(3)), "--json").json()
    kept = 1 - (0.75 * math.log2(4 / 3) + 0.25 * 2)  # 1 - H(1/4)
    told = document["attributes"]["ill"]
    assert [told["entropy"], told["information_of_original"]] == [1, 1]
    assert [
        told["mutual_information"],
        told["surprise"],
        told["specific_information"],
    ] == pytest.approx([kept] * 3)
    # A coin that lies once in four times keeps epsilon = ln 3 and reaches its bound.
    assert document["surprise_of_original"] == pytest.approx(kept)
    assert document["surprise_bound"] == pytest.approx(math.log2(3) * (3 - 1) / (3 + 1))
    assert "by chance" in run_cli(*asked, "0.5").out
    assert "by chance" not in run_cli(*asked, "1.2").out
    assert run_cli(*asked, "0").code == 2


@given(st.lists(st.floats(0.05, 1), min_size=2, max_size=4), st.data())
def test_no_mechanism_with_that_epsilon_leaks_more_bits(
    weights: list[float], data: st.DataObject
) -> None:
    rows = [data.draw(st.lists(st.floats(0.05, 1), min_size=3, max_size=3)) for _ in weights]
    channel = [[cell / sum(row) for cell in row] for row in rows]
    prior = [weight / sum(weights) for weight in weights]
    ratios = [a[s] / b[s] for a in channel for b in channel for s in range(3)]
    epsilon = math.log(max(ratios))
    mixed = [sum(p * row[s] for p, row in zip(prior, channel, strict=True)) for s in range(3)]
    surprise = max(
        sum(p * math.log2(p / q) for p, q in zip(row, mixed, strict=True)) for row in channel
    )
    assert surprise <= surprise_allowed(epsilon) + 1e-12


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        pytest.param("id,age\n1,30\n", [], "rows", id="other length"),
        pytest.param("id,age\n1,30\n1,31\n", ["--key", "id"], "not unique", id="key not unique"),
        pytest.param("id,age\n7,30\n8,31\n", ["--key", "id"], "are not in", id="keys do not match"),
        pytest.param("id,years\n1,30\n2,31\n", [], "age", id="column missing"),
    ],
)
def test_perturbed_refuses(tmp_path: Path, text: str, arguments: list[str], told: str) -> None:
    original, published = tmp_path / "o.csv", tmp_path / "p.csv"
    original.write_text("id,age\n1,30\n2,31\n", encoding="utf-8")
    published.write_text(text, encoding="utf-8")
    shown = run_cli("perturbed", str(original), str(published), "--columns", "age", *arguments)
    assert (shown.code, told in shown.err) == (2, True)


def test_metrics_are_listed() -> None:
    document = run_cli("metrics", "--json").json()
    assert [item["name"] for item in document["metrics"]] == [metric.name for metric in METRICS]
    told = run_cli("metrics").out
    assert all(metric.name in told for metric in METRICS)


def test_the_reference_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
    assert page.read_text(encoding="utf-8") == run_cli("metrics", "--markdown").out


@pytest.mark.slow
def test_the_demo_shows_what_k_anonymity_misses_and_publishes_a_safe_release(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "demo"
    shown = run_cli("demo", "--out", str(folder))
    assert shown.code == 0
    assert "Huntington's disease" in shown.out
    document = json.loads((folder / "demo.json").read_text(encoding="utf-8"))
    promises = {item["metric"]: item["holds"] for item in document["verdict"]["promises"]}
    assert promises == {
        "k_anonymity": True,
        "l_diversity": True,
        "entropy_leakage": False,
        "distribution_leakage": False,
    }
    assert document["raw"]["rows"] == 20_000
    assert {path.name for path in folder.iterdir()} == {
        "patients.csv",
        "generalized.csv",
        "classes.csv",
        "leakage.png",
        "worst-class.png",
        "divulge.toml",
        "demo.json",
        "release",
        "release.private",
        "report.html",
        "report-before.html",
    }
    page = (folder / "report.html").read_text(encoding="utf-8")
    told = (
        "What each promise costs",
        "from the original",
        "age, before and after",
        "How much must one know?",
    )
    assert [words for words in told if words not in page] == []
    assert all(item["holds"] for item in document["release"]["promises"])
    release = folder / "release" / "table.csv"
    asked = (
        "check",
        str(release),
        "--policy",
        str(folder / "divulge.toml"),
        "--original",
        str(folder / "patients.csv"),
    )
    assert run_cli(*asked).code == 0
    assert release.read_text(encoding="utf-8").splitlines()[0] == "zip,age,sex,diagnosis"
    assert (folder / "leakage.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_demo_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run_cli("demo", "--out", str(tmp_path / name), "--rows", "500", "--seed", "7")
    assert (tmp_path / "a" / "patients.csv").read_bytes() == (
        tmp_path / "b" / "patients.csv"
    ).read_bytes()


def test_perturbed_refuses_keys_of_different_types(tmp_path: Path) -> None:
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    before.write_text("id,age\n1,30\n2,40\n", encoding="utf-8")
    after.write_text("id,age\nx,30\ny,40\n", encoding="utf-8")
    shown = run_cli("perturbed", str(before), str(after), "--columns", "age", "--key", "id")
    assert shown.code == 2
    assert "key 'id' holds number in" in shown.err


def test_profile_takes_only_names_of_people_for_identifiers(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text(
        "last_name,diagnosis_name,city_name\n"
        + "".join(f"n{i},d{i % 3},c{i % 4}\n" for i in range(40)),
        encoding="utf-8",
    )
    columns = {
        item["column"]: item["role"]
        for item in run_cli("profile", str(path), "--json").json()["columns"]
    }
    assert columns == {
        "last_name": "identifier",
        "diagnosis_name": "sensitive",
        "city_name": "quasi_identifier",
    }


@pytest.mark.parametrize(
    ("offered", "known"),
    [
        (get_args(get_type_hints(cli_anatomize.anatomize)["method"])[0], AnatomizationMethod),
        (get_args(get_type_hints(cli_generalize.generalize)["method"])[0], GeneralizationMethod),
    ],
    ids=["anatomize", "generalize"],
)
def test_a_command_offers_the_methods_of_the_library(offered: object, known: object) -> None:
    assert get_args(offered) == get_args(known)


def test_a_policy_file_accepts_every_generalization_method() -> None:
    ways = GENERALIZATION_METHODS
    assert [dv.Policy.of({"method": name}).method for name in ways] == [*ways]
