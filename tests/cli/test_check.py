# SPDX-License-Identifier: Apache-2.0
"""`divulge check`: the policy check in a pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from divulge.metrics import METRICS, find_metric
from tests.helpers import run_cli


def test_a_policy_that_is_met_exits_with_0(patients: str) -> None:
    shown = run_cli("check", patients, "--qi", "zip,age", "--plain", "*", "--k-anonymity", "3")
    assert (shown.code, "The policy holds." in shown.out) == (0, True)


def test_a_violated_policy_exits_with_1_and_names_the_classes(patients: str) -> None:
    shown = run_cli(
        "check",
        patients,
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        "--k-anonymity",
        "3",
        "--entropy-leakage",
        "0.5",
    )
    assert shown.code == 1
    assert "zip=476**, age=2* (3 people)" in shown.out
    assert "1 of 2 promises are broken" in shown.out


def test_json_counts_and_samples_the_breaking_classes(patients: str) -> None:
    arguments = [
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        "--l-diversity",
        "3",
        "--sample",
        "1",
        "--json",
    ]
    shown = run_cli("check", patients, *arguments)
    outcome = shown.json()["promises"][0]
    assert (shown.code, shown.json()["holds"]) == (1, False)
    assert (outcome["breaking_classes"], outcome["breaking_people"], len(outcome["sample"])) == (
        2,
        6,
        1,
    )
    assert outcome["sample"][0] == {"class": {"zip": "476**", "age": "2*"}, "size": 3, "value": 1}


def test_a_policy_file_sets_roles_and_requirements(patients: str, tmp_path: Path) -> None:
    policy = tmp_path / "divulge.toml"
    policy.write_text(
        'quasi_identifiers = ["zip", "age"]\nsensitive = "disease"\n[promises]\nk_anonymity = 3\n'
        "recursive_c_l_diversity = {c = 3, l = 2}\n[promises.attributes.disease]\nalpha = 0.99\n",
        encoding="utf-8",
    )
    shown = run_cli("check", patients, "--policy", str(policy), "--json")
    assert shown.code == 1
    assert [item["holds"] for item in shown.json()["promises"]] == [True, False, False]


@pytest.mark.parametrize(
    "name",
    sorted(
        {metric.name for metric in METRICS if metric.kind == "risk" and not metric.needs_population}
    ),
)
def test_every_risk_is_a_flag(patients: str, name: str) -> None:
    bound = {"low": "1000", "high": "0.5"}[find_metric(name).worse]
    bound = "0.5,1" if name == "recursive_c_l_diversity" else bound
    shown = run_cli(
        "check",
        patients,
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        f"--{name.replace('_', '-')}",
        bound,
        "--json",
    )
    assert shown.code in (0, 1)
    assert shown.json()["promises"][0]["metric"] == name


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "makes no promise", id="no promise"),
        pytest.param(["--k-anonymity", "many"], "is not a number", id="not a number"),
        pytest.param(["--k-anonymity", "-1"], "below 0", id="negative"),
        pytest.param(
            ["--l-diversity", "2"], "about a sensitive attribute", id="no sensitive attribute"
        ),
        pytest.param(["--recursive-c-l-diversity", "3"], "c and l", id="c without l"),
        pytest.param(["--k-map", "3"], "population", id="no population"),
        pytest.param(["--policy", "no-such.toml"], "no-such.toml", id="no policy file"),
    ],
)
def test_an_invalid_policy_is_rejected(patients: str, arguments: list[str], told: str) -> None:
    shown = run_cli("check", patients, "--qi", "zip,age", *arguments)
    assert (shown.code, shown.out) == (2, "")
    assert told in shown.err


def test_the_text_names_the_requested_number_of_classes(tmp_path: Path) -> None:
    path = tmp_path / "alone.csv"
    path.write_text("a\n" + "".join(f"v{i}\n" for i in range(30)), encoding="utf-8")
    for sample in (0, 3, 20):
        shown = run_cli(
            "check", str(path), "--qi", "a", "--k-anonymity", "2", "--sample", str(sample)
        )
        assert shown.out.count("(1 person)") == sample
        assert "broken by 30 classes with 30 people" in shown.out


ASKED = ("--qi", "zip,age", "--sensitive", "disease", "--json")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("k_anonymity >= 3", ["k_anonymity >= 3"]),
        ("itpr <= 0.9", ["itpr <= 0.9"]),
        ("identity itpr <= 0.9", ["identity itpr <= 0.9"]),
        ("l_diversity of disease >= 2", ["l_diversity of disease >= 2"]),
        ("recursive_c_l_diversity < 1000 (l = 2)", ["recursive_c_l_diversity < 1000 (l = 2)"]),
        ("k_anonymity 3 and l_diversity = 2", ["k_anonymity >= 3", "l_diversity >= 2"]),
    ],
)
def test_any_metric_can_be_required_by_the_promise_option(
    patients: str, text: str, told: list[str]
) -> None:
    promises = run_cli("check", patients, *ASKED, "--promise", text).json()["promises"]
    assert [item["promise"] for item in promises] == told


def test_a_flag_and_several_promise_options_are_combined(patients: str) -> None:
    shown = run_cli(
        "check",
        patients,
        *ASKED,
        "--k-anonymity",
        "3",
        "--promise",
        "itpr <= 0.9",
        "--promise",
        "alpha <= 0.9",
    )
    assert [item["metric"] for item in shown.json()["promises"]] == ["k_anonymity", "itpr", "alpha"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--k-anonymity", "3", "--k-anonymity", "4"],
            "promised twice: k_anonymity >= 3 (--k-anonymity)",
        ),
        (["--k-anonymity", "3", "--promise", "k_anonymity >= 3"], "k_anonymity >= 3 (--promise)"),
        (["--promise", "alpha <= 0.6", "--promise", "alpha <= 0.5"], "alpha is promised twice"),
        (["--promise", "k_anonymty >= 3"], "did you mean 'k_anonymity'?"),
        (["--promise", "k_anonymity <= 3"], "can only be promised as k_anonymity >= 3"),
        (["--promise", "k_anonymity"], "is not a promise"),
        (["--promise", "l_diversity of zip >= 3"], "'zip' is not a sensitive attribute"),
    ],
)
def test_a_repeated_or_invalid_requirement_is_rejected(
    patients: str, arguments: list[str], told: str
) -> None:
    shown = run_cli("check", patients, *ASKED, *arguments)
    assert (shown.code, shown.err.count("\n"), shown.json()["exit_code"]) == (2, 1, 2)
    assert told in shown.err
