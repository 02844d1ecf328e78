# SPDX-License-Identifier: Apache-2.0
"""Several tables in one `check`, and its JUnit XML and SARIF files, which hold no data value."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.cli.conftest import PATIENTS
from tests.helpers import run_cli

ROLES = ("--qi", "zip,age", "--sensitive", "disease")
GOOD, BAD = (
    (*ROLES, "--k-anonymity", "3"),
    (*ROLES, "--k-anonymity", "3", "--entropy-leakage", "0.5"),
)
CELLS = re.compile(r"476\*\*|4790\*|2\*|3\*|>=40|Flu|Cancer|Heart")


def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


TEXT = {"type": "string", "minLength": 1}
MESSAGE = _object("text", text=TEXT)
LEVEL = {"enum": ["none", "note", "warning", "error"]}
LOCATION = _object(
    physicalLocation=_object(
        "artifactLocation", artifactLocation=_object("uri", uri={**TEXT, "format": "uri-reference"})
    )
)
# The properties that SARIF 2.1.0 (OASIS, section 3) requires of the objects that we write, and no
# unknown property.
SARIF = _object(
    "version runs",
    **{"$schema": TEXT},
    version={"const": "2.1.0"},
    runs=_list(
        _object(
            "tool",
            tool=_object(
                "driver",
                driver=_object(
                    "name",
                    name=TEXT,
                    version=TEXT,
                    rules=_list(_object("id", id=TEXT, shortDescription=MESSAGE)),
                ),
            ),
            invocations=_list(
                _object(
                    "executionSuccessful",
                    executionSuccessful={"type": "boolean"},
                    toolExecutionNotifications=_list(
                        _object(
                            "message",
                            level=LEVEL,
                            descriptor=_object("id", id=TEXT),
                            message=MESSAGE,
                            locations=_list(LOCATION),
                        )
                    ),
                )
            ),
            results=_list(
                _object(
                    "message",
                    ruleId=TEXT,
                    ruleIndex={"type": "integer", "minimum": 0},
                    level=LEVEL,
                    message=MESSAGE,
                    locations=_list(LOCATION),
                    partialFingerprints={"type": "object", "additionalProperties": TEXT},
                )
            ),
        )
    ),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(PATIENTS, encoding="utf-8")
    (tmp_path / "b.csv").write_text(
        PATIENTS.replace("476**,2*,Heart Disease\n", "476**,2*,Flu\n", 1), encoding="utf-8"
    )
    (tmp_path / "alone.csv").write_text(
        "zip,age,disease\n1,30,Flu\n2,31,Cancer\n", encoding="utf-8"
    )
    return tmp_path


def sarif(name: str = "s.json") -> Any:
    document = json.loads(Path(name).read_text(encoding="utf-8"))
    jsonschema.validate(document, SARIF)
    return document["runs"][0]


def test_each_table_has_its_verdict_and_the_worst_decides() -> None:
    held = run_cli("check", "a.csv", "b.csv", *GOOD, "--json")
    assert (held.code, held.json()["holds"]) == (0, True)
    broken = run_cli("check", "a.csv", "alone.csv", *GOOD, "--json")
    assert (broken.code, broken.json()["holds"]) == (1, False)
    assert [(each["table"], each["holds"]) for each in broken.json()["tables"]] == [
        ("a.csv", True),
        ("alone.csv", False),
    ]
    failed = run_cli("check", "alone.csv", "missing.csv", "a.csv", *GOOD, "--json")
    assert (failed.code, failed.json()["holds"]) == (2, False)
    assert [each.get("holds") for each in failed.json()["tables"]] == [False, None, True]
    assert failed.json()["tables"][1]["exit_code"] == 2
    assert failed.err.startswith("divulge: missing.csv: there is no file")
    assert failed.json()["in_words"] == [
        "alone.csv: k_anonymity >= 3 is broken: measured 1, by 2 classes with 2 people",
        "missing.csv: could not be judged: exit code 2; standard error says why",
    ]


def test_the_summary_of_several_tables_comes_first() -> None:
    shown = run_cli("check", "a.csv", "alone.csv", "missing.csv", *GOOD)
    assert (
        shown.out.splitlines()[0]
        == "1 of 3 tables hold; broken: alone.csv; not judged: missing.csv."
    )
    assert "alone.csv: 2 rows, 2 classes" in shown.out


def test_the_output_of_one_table_is_unchanged() -> None:
    assert set(run_cli("check", "a.csv", *GOOD, "--json").json()) == {
        "holds",
        "in_words",
        "rows",
        "people",
        "classes",
        "settings",
        "notes",
        "promises",
        "accepted_risk",
        "findings",
        "uniqueness",
    }


def test_a_chart_of_several_tables_is_rejected() -> None:
    shown = run_cli("check", "a.csv", "b.csv", *GOOD, "--chart", "x.svg")
    assert (shown.code, "--chart has no effect with several tables" in shown.err) == (2, True)


def test_tables_and_releases_of_both_kinds_are_checked_in_one_call(folder: Path) -> None:
    lines = [
        "zip,age,disease",
        *(f"{47600 + i % 3},{20 + i % 4},{('Flu', 'Cancer')[i % 2]}" for i in range(24)),
    ]
    (folder / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    made = run_cli("generalize", "t.csv", *GOOD, "--out", "release", "--no-explain")
    groups = run_cli("anatomize", "t.csv", *ROLES, "--beta", "1/2", "--out", "groups")
    assert (made.code, groups.code) == (0, 0), made.err + groups.err
    shown = run_cli(
        "check",
        "release",
        "groups",
        "a.csv",
        *GOOD,
        "--json",
        "--junit",
        "j.xml",
        "--sarif",
        "s.json",
    )
    assert shown.code == 0, shown.err
    names = [case.get("name") for case in ET.parse("j.xml").getroot()[1]]  # noqa: S314 - our own
    assert names == ["alpha <= 1", "beta <= 1/2", "gamma <= 1", "delta <= 1"]
    assert sarif()["results"] == []


def test_junit_counts_passes_failures_and_errors() -> None:
    shown = run_cli("check", "a.csv", "missing.csv", *BAD, "--junit", "j.xml")
    root = ET.parse("j.xml").getroot()  # noqa: S314 - our own
    assert (shown.code, root.attrib) == (
        2,
        {"name": "divulge check", "tests": "4", "failures": "1", "errors": "1"},
    )
    (first, second) = root
    assert [case.get("name") for case in first] == [
        "k_anonymity >= 3",
        "entropy_leakage <= 0.5 (disease)",
        "no column is there that must not be",
    ]
    (failure,) = first.iter("failure")
    # One of the three classes has one disease only: all of H(5, 1, 3 of 9) = 1.352 bits is
    # disclosed about three people.
    told = "entropy_leakage <= 0.5 (disease) is broken: measured 1.352, by 1 class with 3 people"
    assert (failure.get("type"), failure.get("message")) == ("entropy_leakage", told)
    assert [error.get("type") for error in second.iter("error")] == ["BadInput"]


def test_sarif_has_a_result_for_each_violation_and_finding(folder: Path) -> None:
    lines = PATIENTS.splitlines()
    named = [
        f"{lines[0]},email",
        *(f"{line},ann{i}@example.com" for i, line in enumerate(lines[1:])),
    ]
    (folder / "with mail.csv").write_text("\n".join(named), encoding="utf-8")
    shown = run_cli("check", "with mail.csv", *BAD, "--sarif", "s.json")
    run = sarif()
    assert (shown.code, [item["ruleId"] for item in run["results"]]) == (
        1,
        ["entropy_leakage", "looks_like_identifier"],
    )
    assert [run["tool"]["driver"]["rules"][item["ruleIndex"]]["id"] for item in run["results"]] == [
        item["ruleId"] for item in run["results"]
    ]
    places = {
        item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for item in run["results"]
    }
    assert places == {"with%20mail.csv"}
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_one_table_that_cannot_be_read_is_in_the_files_too() -> None:
    shown = run_cli(
        "check", "missing.csv", *GOOD, "--sarif", "s.json", "--junit", "j.xml", "--json"
    )
    assert (shown.code, shown.json()["exit_code"]) == (2, 2)
    assert sarif()["invocations"][0]["executionSuccessful"] is False
    assert ET.parse("j.xml").getroot().get("errors") == "1"  # noqa: S314 - our own


def test_no_value_of_a_cell_is_in_the_files() -> None:
    people = "age = '2*' : k_anonymity >= 9"
    values = "disease = 'Cancer': basic_beta_likeness <= 0.1"
    for line in (("a.csv", "alone.csv"), ("a.csv",)):
        run_cli(
            "check",
            *line,
            *BAD,
            "--protect",
            people,
            "--protect",
            values,
            "--junit",
            "j.xml",
            "--sarif",
            "s.json",
        )
        written = Path("j.xml").read_text(encoding="utf-8") + json.dumps(sarif())
        assert CELLS.findall(written) == []
    assert "k_anonymity &gt;= 9 for chosen people, choice 1" in written
    assert "basic_beta_likeness of chosen values &lt;= 0.1 is broken" in written


def test_the_redacted_summary_comes_first() -> None:
    shown = run_cli("check", "a.csv", *BAD, "--value-free")
    told = (
        "in_words: entropy_leakage <= 0.5 (disease) is broken: measured 1.352, by 1 class "
        "with 3 "
        "people"
    )
    assert (shown.code, shown.out.split()[:2]) == (1, ["holds", "False"])
    assert told in shown.out.splitlines()[:10]
    assert CELLS.findall(shown.out) == []


def test_no_file_holds_a_password() -> None:
    address = "postgresql://ann:secret-word@localhost:1/people?sslpassword=other-secret"
    shown = run_cli(
        "check", address, "--table", "t", *GOOD, "--junit", "j.xml", "--sarif", "s.json", "--json"
    )
    written = (
        Path("j.xml").read_text(encoding="utf-8") + json.dumps(sarif()) + shown.out + shown.err
    )
    assert shown.code == 2
    assert "secret" not in written.replace("sslpassword", "")


def test_an_unwritable_file_fails_before_any_check() -> None:
    shown = run_cli("check", "a.csv", *GOOD, "--junit", "no-such/j.xml")
    assert (shown.code, shown.out, "there is no folder no-such" in shown.err) == (2, "", True)
