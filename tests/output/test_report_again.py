# SPDX-License-Identifier: Apache-2.0
"""Every page states how to repeat it: running these lines gives the page byte for byte."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import divulge as dv
from tests.helpers import run_cli
from tests.output.test_report import DAY, PATIENTS, ROLES, texts

pytestmark = pytest.mark.xdist_group("browser")
KEPT: dict[str, Any] = {"k_anonymity": 5}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, and with a generalized and an anatomized release of it."""
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(PATIENTS, "patients.csv")
    dv.generalize("patients.csv", policy={"k_anonymity": 7}, leave_out="note", **ROLES).write(
        "release", seed=1
    )
    dv.anatomize("patients.csv", beta="1/2", leave_out="note", **ROLES, seed=1).write(
        "groups", seed=1
    )
    return tmp_path


def commands(page: str) -> tuple[str, str]:
    """Return the command and the Python code of a page."""
    command, lines = re.findall(r"<pre>(divulge [^<]+|(?:dv|release|found)[. ][^<]+)</pre>", page)[
        :2
    ]
    return html.unescape(command), html.unescape(lines)


def made_again(page: str, about: str) -> tuple[str, str]:
    """Return the pages made by the command and by the Python code."""
    import datetime as dt

    # A reader of a public page has its files in a folder of another name.
    command, lines = (
        text.replace("report release ", f"report {about} ").replace("'release'", repr(about))
        for text in commands(page)
    )
    found = run_cli(*shlex.split(command)[1:])
    assert found.code == 0, (command, found.err)
    typed = Path("report.html").read_text(encoding="utf-8")
    exec(lines, {"dv": dv, "datetime": dt})  # noqa: S102 - that these lines work is what is tested
    return typed, Path("report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("about", "given"),
    [
        ("patients.csv", {"policy": KEPT, "plain": "note", **ROLES}),
        (
            "patients.csv",
            {
                "audience": "public",
                "title": "Our patients",
                "policy": KEPT,
                "plain": "note",
                **ROLES,
            },
        ),
        (
            "patients.csv",
            {
                "policy": {**KEPT, "entropy_leakage": 3},
                "plain": "note",
                "adversary": dv.Adversary(
                    rule_out={"disease": ["HIV"]}, nulls="drop", recursive_l=2
                ),
                **ROLES,
            },
        ),
        ("release", {}),
        ("release", {"audience": "public", "title": "Admissions 2026"}),
        ("release", {"adversary": dv.Adversary(original="patients.csv")}),
        ("groups", {}),
        ("groups", {"audience": "public"}),
        ("groups", {"adversary": dv.Adversary(original="patients.csv")}),
    ],
)
def test_the_commands_of_a_page_make_it_again(about: str, given: dict[str, Any]) -> None:
    page = dv.report(about, **given, date=DAY).html()
    for again in made_again(page, about):
        assert texts(again) == texts(page)
        assert again == page


@pytest.mark.slow
def test_the_command_line_makes_the_page_of_a_release_that_it_makes_itself(folder: Path) -> None:
    """The command of a page makes that page again."""
    (folder / "divulge.toml").write_text(
        'quasi_identifiers = "zip"\nsensitive = "disease"\nleave_out = "note"\nsuppression = '
        "0.1\n[promises]\nk_anonymity = 7\n",
        encoding="utf-8",
    )
    for command in (
        (
            "generalize",
            "patients.csv",
            "--policy",
            "divulge.toml",
            "--suppression",
            "0.2",
            "--report",
            "first.html",
        ),
        (
            "generalize",
            "patients.csv",
            "--qi",
            "zip",
            "--sensitive",
            "disease",
            "--leave-out",
            "note",
            "--k-anonymity",
            "7",
            "--suppression",
            "0.1",
            "--delimiter",
            ",",
            "--report",
            "first.html",
        ),
        (
            "generalize",
            "patients.csv",
            "--policy",
            "divulge.toml",
            "--method",
            "columns",
            "--report",
            "first.html",
        ),
        (
            "generalize",
            "patients.csv",
            "--policy",
            "divulge.toml",
            "--objective",
            "precision",
            "--report",
            "first.html",
        ),
    ):
        assert run_cli(*command).code == 0
        page = (folder / "first.html").read_text(encoding="utf-8")
        assert {"What each promise costs", "What it bought"} <= set(
            re.findall(r"<h3>([^<]+)</h3>", page)
        )
        assert "before and after" in page
        found = run_cli(*shlex.split(commands(page)[0])[1:])
        assert found.code == 0, found.err
        assert (folder / "report.html").read_text(encoding="utf-8") == page


@pytest.mark.usefixtures("folder")
def test_the_page_of_an_attack_makes_it_again() -> None:
    arguments: dict[str, Any] = {
        "truth": "patients.csv",
        "subsets": 1,
        "records": 20,
        "seed": 3,
        "wrong": 0.1,
    }
    page = dv.report(dv.attack("release", **arguments), date=DAY).html()
    command, lines = commands(page)
    assert run_cli(*shlex.split(command)[1:]).code == 0
    # A note names an option of the command line.
    repeated_text = texts(Path("report.html").read_text(encoding="utf-8")).replace(
        "--control TABLE", "control="
    )
    exec(lines, {"dv": dv})  # noqa: S102 - that these lines work is what is tested
    assert repeated_text == texts(Path("report.html").read_text(encoding="utf-8"))
    for expected in (
        "By what she knows",
        "Not tried",
        "nearest-row, nearest-value",
        "95 % interval",
        "labels are read",
    ):
        assert expected in repeated_text
    # Only the date may differ.
    assert repeated_text.split("Attacks that were tried")[1].split("How this was made")[0] in texts(
        page
    )


def test_settings_that_no_command_can_express_are_listed() -> None:
    adversary = dv.Adversary(prior={"disease": {"flu": 0.5, "cold": 0.2, "ulcer": 0.2, "HIV": 0.1}})
    text = texts(dv.report(PATIENTS, KEPT, plain="note", **ROLES, adversary=adversary).html())
    assert "The table was in memory; TABLE stands for a file of it." in text
    assert (
        "The adversary's prior was given as a value of Python that no option of the command "
        "takes." in text
    )
    measured = dv.measure(PATIENTS, **ROLES, adversary=adversary)
    text = texts(dv.report(measured).html())
    assert "It was made from a result in memory" in text
    assert "The adversary was not the usual one (prior); give it again." in text
    release = dv.generalize(
        PATIENTS, policy=KEPT, leave_out="note", hierarchies={"zip": {"suppress": True}}, **ROLES
    )
    assert "Hierarchies were given for zip; give them again" in texts(dv.report(release).html())


@pytest.mark.usefixtures("folder")
def test_the_report_of_an_opened_release_shows_its_utility() -> None:
    without_original, with_original = (
        dv.report("release"),
        dv.report("release", adversary=dv.Adversary(original="patients.csv")),
    )
    assert "How much of the data is left, --original TABLE tells." in texts(without_original.html())
    text = texts(with_original.html())
    assert with_original.utility == dv.utility("patients.csv", "release")
    assert "from the original's distribution on average" in text
    assert "zip, before and after" in with_original.html()
    assert with_original.verdict is not None
    assert [line.holds for line in with_original.verdict.outcomes] == [True]
    assert "What each attack achieves" not in without_original.html()
    assert "What each attack achieves" in with_original.html()
    attack = dv.attack("release", truth="patients.csv")
    assert [
        (attempt["attack"], attempt["rate"], attempt["bound"])
        for attempt in with_original.to_dict()["attacks"]
    ] == [
        (attempt.name, attempt.rate.value, None if attempt.bound is None else attempt.bound.value)
        for attempt in attack.attempts
    ]
    grouped = texts(dv.report("groups").html())
    assert "the files do not say which record is in which group" in grouped
