# SPDX-License-Identifier: Apache-2.0
"""The command, the Python code and the policy file of an invocation run, and give one result."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import divulge as dv
from divulge.options import READING_NAMES, Invocation, options_of
from tests.helpers import run_cli

PEOPLE = "zip;age;disease\n" + "".join(
    f"{zip_code};{age};{disease}\n"
    for zip_code, age in (("1", 30), ("1", 40), ("2", 30), ("2", 40))
    for disease in ("flu", "cold", "flu", "cancer")
)
ROLES: dict[str, Any] = {"quasi_identifiers": ["zip", "age"], "sensitive": ["disease"]}
READING = {"delimiter": ";"}
POLICY: dict[str, Any] = {"policy": {"k_anonymity": 2}}
PROMISE = {"promise": ["k_anonymity >= 2"]}
NO_POLICY_FILE = {"no_policy": True}
CASES = {
    case.verb: case
    for case in (
        Invocation("profile", ("people.csv",), READING),
        Invocation(
            "measure",
            ("people.csv",),
            {**ROLES, **READING, "joint": False},
            adversary={"rule_out": {"disease": ["flu"]}, "tries": {"disease": 2}},
        ),
        Invocation("rank", ("people.csv",), {**ROLES, **READING, "up_to": 2}),
        Invocation(
            "check",
            ("people.csv",),
            {**ROLES, **READING},
            adversary={"nulls": "drop"},
            flags={**PROMISE, **NO_POLICY_FILE},
            policy={"k_anonymity": 2},
        ),
        Invocation(
            "generalize",
            ("people.csv",),
            {**ROLES, **READING, "method": "columns", "suppression": 0.25},
            flags={**PROMISE, **NO_POLICY_FILE, "no_explain": True},
            policy={"k_anonymity": 2},
        ),
        Invocation(
            "anatomize",
            ("people.csv",),
            {**ROLES, **READING, "beta": "1/2", "seed": 1},
            flags={"queries": 0, "explain": False},
        ),
        Invocation(
            "attack",
            ("release",),
            {"truth": "plain.csv", "attacks": ["prosecutor"], "records": 5, "seed": 3},
        ),
        Invocation(
            "apply",
            ("release", "people.csv"),
            {**READING, "out": "later", "seed": 1, "max_deferred": 0.5, "force": True},
        ),
        Invocation("report", ("plain.csv",), ROLES, flags={"out": "page.html", "no_policy": True}),
        Invocation("query", ("release", "age > 30"), {"average": "age"}),
        Invocation("compose", ("release", "second"), {"truth": "plain.csv", "sample": 1}),
        Invocation("compare", ("plain.csv", "release"), ROLES),
        Invocation("perturbed", ("plain.csv", "plain.csv"), {"columns": ["age"]}),
        Invocation(
            "hierarchy cut",
            ("people.csv",),
            {"column": "age", "about": "disease", **READING},
            flags={**PROMISE, **NO_POLICY_FILE},
            policy={"k_anonymity": 2},
        ),
    )
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with another delimiter, one without, and two releases of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "plain.csv").write_text(PEOPLE.replace(";", ","), encoding="utf-8")
    for name in ("release", "second"):
        dv.generalize("plain.csv", policy={"k_anonymity": 2}, **ROLES).write(name, seed=1)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", CASES)
def test_what_an_invocation_prints_runs_and_gives_one_result(verb: str) -> None:
    call = CASES[verb]
    typed = run_cli(*shlex.split(call.as_command())[1:], "--json")
    assert typed.code in (0, 1), typed.err
    result = eval(call.as_python(), {"dv": dv})  # noqa: S307 - that it runs is what is tested
    document = result.to_dict()
    settings = document.pop("settings", None)
    from_command = typed.json()
    typed_settings = from_command.pop("settings", None)
    document.pop("notes", None)  # the command names its flags in them
    document = {name: value for name, value in document.items() if value is not None}
    assert {name: from_command[name] for name in document} == document
    if settings is not None:
        assert {name: typed_settings[name] for name in settings} == settings


def test_every_verb_of_the_library_has_a_case() -> None:
    verbs = {name for name in dir(dv) if list(options_of(name))}
    assert verbs - {"datasets"} == {verb for verb in CASES if " " not in verb}


def test_a_policy_file_has_the_arguments_and_the_requirements(folder: Path) -> None:
    call = Invocation(
        "check",
        ("plain.csv",),
        ROLES,
        adversary={"rule_out": {"disease": ["flu"]}},
        document={"promises": {"k_anonymity": 2}},
    )
    (folder / "divulge.toml").write_text(call.as_policy(), encoding="utf-8")
    from_file = dv.check("plain.csv", "divulge.toml")
    explicit = dv.check(
        "plain.csv",
        {"k_anonymity": 2},
        adversary=dv.Adversary(rule_out={"disease": ["flu"]}),
        **ROLES,
    )
    assert from_file.to_dict() == explicit.to_dict()
    assert Invocation("check", ("plain.csv",), ROLES).as_policy() == ""


def test_reading_options_stay_with_the_table() -> None:
    call = Invocation("measure", ("t.csv",), {"sheet": "Data", "codes": True, **ROLES})
    assert set(call.arguments) & set(READING_NAMES) == {"sheet", "codes"}
    assert call.as_command() == (
        "divulge measure t.csv --sheet Data --codes --qi zip,age --sensitive disease"
    )
    assert call.as_python() == (
        "dv.measure(dv.read('t.csv', sheet='Data', codes=True), "
        "quasi_identifiers=['zip', 'age'], sensitive=['disease'])"
    )


def test_settings_that_no_option_expresses_are_left_out() -> None:
    call = Invocation("measure", ("t.csv",), adversary={"population": object(), "nulls": "drop"})
    assert call.as_command() == "divulge measure t.csv --nulls drop"
    assert call.as_python() == "dv.measure('t.csv', adversary=dv.Adversary(nulls='drop'))"
