# SPDX-License-Identifier: Apache-2.0
"""`divulge check`: the gate in a pipeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from divulge.metrics import METRICS
from tests.helpers import run_cli


def test_a_policy_that_holds_exits_with_0(patients: str) -> None:
    shown = run_cli("check", patients, "--qi", "zip,age", "--k-anonymity", "3")
    assert (shown.code, "The policy holds." in shown.out) == (0, True)


def test_a_broken_policy_exits_with_1_and_names_the_classes(patients: str) -> None:
    shown = run_cli(
        "check", patients, "--qi", "zip,age", "--sensitive", "disease", "--k-anonymity", "3", "--entropy-leakage", "0.5"
    )
    assert shown.code == 1
    assert "zip=476**, age=2* (3 people)" in shown.out
    assert "1 of 2 promises are broken" in shown.out


def test_json_counts_and_samples_the_breaking_classes(patients: str) -> None:
    arguments = ["--qi", "zip,age", "--sensitive", "disease", "--l-diversity", "3", "--sample", "1", "--json"]
    shown = run_cli("check", patients, *arguments)
    outcome = shown.json()["promises"][0]
    assert (shown.code, shown.json()["holds"]) == (1, False)
    assert (outcome["breaking_classes"], outcome["breaking_people"], len(outcome["sample"])) == (2, 6, 1)
    assert outcome["sample"][0] == {"class": {"zip": "476**", "age": "2*"}, "size": 3, "value": 1}


def test_a_policy_file_brings_roles_and_promises(patients: str, tmp_path: Path) -> None:
    policy = tmp_path / "divulge.toml"
    policy.write_text(
        'quasi_identifiers = ["zip", "age"]\nsensitive = "disease"\n[promises]\nk_anonymity = 3\n'
        "recursive_c_l_diversity = {c = 3, l = 2}\n[promises.attributes.disease]\nl_diversity = 1\n",
        encoding="utf-8",
    )
    shown = run_cli("check", patients, "--policy", str(policy), "--json")
    assert shown.code == 1
    assert [item["holds"] for item in shown.json()["promises"]] == [True, False, True]


@pytest.mark.parametrize(
    "name", sorted({metric.name for metric in METRICS if metric.kind == "risk" and not metric.needs_population})
)
def test_every_risk_is_a_flag(patients: str, name: str) -> None:
    bound = "1000,1" if name == "recursive_c_l_diversity" else "1000"
    shown = run_cli(
        "check", patients, "--qi", "zip,age", "--sensitive", "disease", f"--{name.replace('_', '-')}", bound, "--json"
    )
    assert shown.code in (0, 1)
    assert shown.json()["promises"][0]["metric"] == name


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "makes no promise", id="no promise"),
        pytest.param(["--k-anonymity", "many"], "is not a number", id="not a number"),
        pytest.param(["--k-anonymity", "-1"], "below 0", id="negative"),
        pytest.param(["--l-diversity", "2"], "about a sensitive attribute", id="no sensitive attribute"),
        pytest.param(["--recursive-c-l-diversity", "3"], "c and l", id="c without l"),
        pytest.param(["--k-map", "3"], "population", id="no population"),
        pytest.param(["--policy", "no-such.toml"], "no-such.toml", id="no policy file"),
    ],
)
def test_a_bad_policy_is_refused(patients: str, arguments: list[str], told: str) -> None:
    shown = run_cli("check", patients, "--qi", "zip,age", *arguments)
    assert (shown.code, shown.out) == (2, "")
    assert told in shown.err


def test_the_text_names_as_many_classes_as_were_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "alone.csv"
    path.write_text("a\n" + "".join(f"v{i}\n" for i in range(30)), encoding="utf-8")
    for sample in (0, 3, 20):
        shown = run_cli("check", str(path), "--qi", "a", "--k-anonymity", "2", "--sample", str(sample))
        assert shown.out.count("(1 person)") == sample
        assert "broken by 30 classes with 30 people" in shown.out
