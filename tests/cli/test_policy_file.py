# SPDX-License-Identifier: Apache-2.0
"""`divulge.toml` is detected within the project, named first, and ignored on request."""

from __future__ import annotations

from pathlib import Path

import pytest

from divulge.cli.inputs import find_policy
from tests.cli.conftest import PATIENTS
from tests.helpers import run_cli

POLICY = """quasi_identifiers = ["zip", "age"]
sensitive = "disease"

[promises]
k_anonymity = 3
l_diversity = 2
"""
FOUND = "Policy: ../divulge.toml, found by itself; --no-policy leaves it out."


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a policy; the current folder is one below it."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "data").mkdir()
    (root / "divulge.toml").write_text(POLICY, encoding="utf-8")
    (root / "data" / "patients.csv").write_text(PATIENTS, encoding="utf-8")
    monkeypatch.chdir(root / "data")
    return root


def test_the_file_of_the_project_is_in_effect_and_named_first(project: Path) -> None:
    shown = run_cli("check", "patients.csv")
    assert (shown.code, shown.out.splitlines()[0]) == (1, FOUND)
    document = run_cli("check", "patients.csv", "--json").json()
    assert document["settings"]["policy"] == {"file": "../divulge.toml", "found": True}
    assert [item["promise"] for item in document["promises"]] == [
        "k_anonymity >= 3",
        "l_diversity >= 2",
    ]
    named = run_cli("check", "patients.csv", "--policy", str(project / "divulge.toml"))
    assert (named.code, "found by itself" in named.out) == (1, False)


def test_explicit_options_take_precedence_over_the_file(project: Path) -> None:  # noqa: ARG001 - the current folder
    shown = run_cli("check", "patients.csv", "--l-diversity", "3", "--qi", "zip", "--json")
    assert [item["promise"] for item in shown.json()["promises"]] == [
        "k_anonymity >= 3",
        "l_diversity >= 3",
    ]
    assert shown.json()["settings"]["quasi_identifiers"] == ["zip"]


def test_no_policy_ignores_the_file(project: Path) -> None:
    shown = run_cli(
        "check",
        "patients.csv",
        "--no-policy",
        "--qi",
        "zip,age",
        "--k-anonymity",
        "3",
        "--plain",
        "*",
    )
    assert (shown.code, "divulge.toml" in shown.out) == (0, False)
    both = run_cli(
        "check", "patients.csv", "--no-policy", "--policy", str(project / "divulge.toml")
    )
    assert (both.code, "--no-policy has no effect" in both.err) == (2, True)


@pytest.mark.parametrize(
    "line",
    [
        "generalize patients.csv --no-explain",
        "generalize patients.csv --pareto l_diversity",
        "report patients.csv",
        "hierarchy cut patients.csv --column age --about disease --order age=2*,3*,>=40",
    ],
)
def test_every_command_with_a_policy_detects_it(project: Path, line: str) -> None:  # noqa: ARG001 - as above
    shown = run_cli(*line.split(), "--json")
    assert shown.code == 0, shown.err
    assert shown.json()["settings"]["policy"] == {"file": "../divulge.toml", "found": True}
    if "report" not in line:  # a report draws for seconds
        assert run_cli(*line.split()).out.splitlines()[0] == FOUND


def test_a_release_is_checked_against_its_own_requirements(project: Path) -> None:
    assert (
        run_cli(
            "generalize", "patients.csv", "--out", "release", "--k-anonymity", "4", "--no-explain"
        ).code
        == 0
    )
    (project / "divulge.toml").write_text(POLICY.replace("3", "9"), encoding="utf-8")
    shown = run_cli("check", "release", "--json")
    assert [
        item["bound"] for item in shown.json()["promises"] if item["metric"] == "k_anonymity"
    ] == [4]
    assert "policy" not in shown.json()["settings"]
    # Together with a table, for which the file is in effect.
    both = run_cli("check", "release", "patients.csv", "--json").json()
    bounds = [[item["bound"] for item in each["promises"]] for each in both["tables"]]
    assert bounds == [[2, 4], [9, 2]]


def test_the_search_ends_at_the_project(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner" / "deep"
    inner.mkdir(parents=True)
    (outer / "divulge.toml").touch()
    assert find_policy(inner) == outer / "divulge.toml"
    (inner.parent / ".git").touch()  # a worktree has a file
    assert find_policy(inner) is None
    (inner.parent / "divulge.toml").touch()
    assert find_policy(inner) == inner.parent / "divulge.toml"


def test_the_home_folder_is_searched_only_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, below = tmp_path / "ann", tmp_path / "ann" / "study"
    below.mkdir(parents=True)
    (home / "divulge.toml").touch()
    (tmp_path / "divulge.toml").touch()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    assert find_policy(below) is None
    assert find_policy(home) == home / "divulge.toml"


def test_a_folder_of_that_name_is_no_policy(tmp_path: Path) -> None:
    (tmp_path / "divulge.toml").mkdir()
    assert find_policy(tmp_path) is None


def test_hierarchies_of_other_columns_than_the_explicit_ones_are_ignored(project: Path) -> None:
    (project / "divulge.toml").write_text(
        POLICY + "[hierarchies]\nzip = {prefix = true}\n", encoding="utf-8"
    )
    shown = run_cli(
        "generalize", "patients.csv", "--qi", "age", "--leave-out", "zip", "--no-explain", "--json"
    )
    assert (shown.code, list(shown.json()["levels"])) == (0, ["age"]), shown.err
    (project / "divulge.toml").write_text(
        POLICY + "[hierarchies]\nzpi = {prefix = true}\n", encoding="utf-8"
    )
    assert "'zpi', which is not a quasi-identifier" in run_cli("generalize", "patients.csv").err
