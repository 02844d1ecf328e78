# SPDX-License-Identifier: Apache-2.0
"""The command, Python code and policy file of every tab, run as shown: results equal the page's."""

from __future__ import annotations

import contextlib
import html
import io
import json
import queue
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import divulge as dv
from divulge.output import formatting
from divulge.studio.tabs import load_tab
from divulge.studio.worker import Worker
from tests.helpers import run_cli

GROUPS = "the tables and groups of Anatomize"


class Shown:
    """A worker with the demo's patients, its last page, and the equivalent commands and code."""

    def __init__(self, folder: Path) -> None:
        self._told = io.StringIO()
        self.desk = Worker(queue.Queue(), self._told)
        self.desk.folder = str(folder)
        self.parts: dict[str, str] = {}
        self.same: dict[str, str] = {}

    def ask(self, place: str, *changes: tuple[str, str, Any]) -> Shown:
        """Move controls of a tab, and show it."""
        self._told.seek(0)
        self._told.truncate()
        asked = {"place": place, "changes": list(changes), "to": 1}
        self.desk._answer_request(load_tab, asked, renders=True)  # noqa: SLF001 - a page without a server
        messages = [json.loads(line) for line in self._told.getvalue().splitlines()]
        assert [message for message in messages if "error" in message] == []
        self.parts |= {message["put"]: message["html"] for message in messages if "put" in message}
        self.same = next(message["same"] for message in messages if "same" in message)
        return self

    def text(self, part: str = "view") -> str:
        """Return the visible text of a part of the page."""
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", self.parts[part])).split())

    @contextlib.contextmanager
    def saved(self) -> Iterator[None]:
        """Save the policy file, and return its path."""
        Path(self.same["file"]).write_text(self.same["policy"], encoding="utf-8")
        yield
        Path(self.same["file"]).unlink()

    def commands(self, *more: str) -> list[Any]:
        """Return the output of each command; commands that write may overwrite."""
        found = []
        with self.saved():
            for line in self.same["command"].splitlines():
                if line.startswith("#"):
                    continue
                program, *arguments = shlex.split(line)
                again = ["--force"] if "--out" in arguments and "--force" not in arguments else []
                done = run_cli(*arguments, *again, *more)
                assert (program, done.code in (0, 1), done.err) == ("divulge", True, ""), line
                found.append(done.json() if more else done.out)
        return found

    def python(self) -> tuple[str, dict[str, Any]]:
        """Return the output of the program, and its variables."""
        namespace: dict[str, Any] = {}
        with self.saved(), contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(self.same["python"], namespace)  # noqa: S102 - that is what a user does with it
        return printed.getvalue(), namespace


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """A worker in a folder with a table and a policy."""
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(dv.datasets.patients(rows=1500, seed=3), tmp_path / "patients.csv")
    (tmp_path / "hospital.toml").write_text(
        "suppression = 0.05\n" + dv.datasets.POLICY, encoding="utf-8"
    )
    (tmp_path / "private").mkdir()
    found = Shown(tmp_path / "private")
    return found.ask("table", ("open", "", "patients.csv"), ("policy", "", "hospital.toml"))


def test_table(shown: Shown) -> None:
    (told,) = shown.commands("--json")
    assert len(told["columns"]) == 10
    for column in told["columns"]:
        kind = {"BIGINT": "numbers", "VARCHAR": "text"}[column["type"]]
        assert f"{column['column']} {kind}" in shown.text()
        assert column["reason"] in shown.text()
    assert shown.python()[0].split() == shown.commands()[0].split()


def test_risk_with_requirements(shown: Shown) -> None:
    shown.ask("risk", ("rule_out", '["diagnosis", "HIV"]', True))
    (told,) = shown.commands("--json")
    assert told["settings"]["background"] == {"diagnosis": {"ruled_out": ["HIV"]}}
    for outcome in told["promises"]:
        assert formatting.number(outcome["value"]) in shown.text("kept")
    assert shown.python()[0].split() == shown.commands()[0].split()


def test_risk_without_requirements(shown: Shown) -> None:
    shown.ask(
        "promises", *(("promised", name, False) for name in list(shown.desk.state.promises)[1:])
    )
    shown.desk.state = shown.desk.state.with_requirement("k_anonymity", None)
    shown.ask("risk", ("nulls", "", "drop"))
    (told,) = shown.commands("--json")
    assert told["settings"]["nulls"] == "drop"
    assert f"{told['classes']:,}" in shown.text("answer")
    assert shown.python()[0].split() == shown.commands()[0].split()


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("zip", ""),
        ("zip", "prefix"),
        ("age", "intervals"),
        ("age", "cuts"),
        ("sex", "order"),
        ("sex", "rule"),
    ],
)
def test_levels(shown: Shown, column: str, kind: str) -> None:
    shown.ask("levels", ("column", "", column), ("kind", "", kind))
    (told,) = shown.commands("--json")
    found = told["hierarchies"][column]
    listed = [line.split(" < ") for line in shown.python()[0].splitlines()]
    assert (found["height"] + 1, found["leaves"]) == (len(listed[0]), len(listed))
    assert f"{len(listed):,} values, {found['height']} coarser levels" in shown.text()
    for level in range(1, len(listed[0])):
        labels = {labels[level] for labels in listed}
        assert found["levels"][level]["labels"] == len(labels)
        assert f"level {level}" in shown.text()
        assert all(label in shown.text() for label in found["levels"][level]["examples"])
        assert {*found["levels"][level]["examples"]} <= labels


def test_levels_of_a_file(shown: Shown) -> None:
    Path("sex.csv").write_text("female;anybody\nmale;anybody\n", encoding="utf-8")
    shown.ask("levels", ("column", "", "sex"), ("parameter", "rule", "sex.csv"))
    assert "anybody" in shown.commands()[0]
    assert shown.python()[0].splitlines() == ["female < anybody", "male < anybody"]


def test_promises(shown: Shown) -> None:
    shown.ask("promises", ("bound", "k_anonymity", 7), ("suppression", "", 2))
    (told,) = shown.commands("--json")
    assert formatting.number(told["objective"]["value"]) in shown.text("answer")
    assert shown.python()[1]["release"].to_dict()["objective"] == told["objective"]


@pytest.mark.parametrize("against", ["", "the table as it came"])
def test_attack(shown: Shown, against: str) -> None:
    shown.ask(
        "attack",
        ("against", "", against),
        ("records", "", 150),
        ("knows", "sex", False),
        ("subsets", "", 1),
    )
    told = shown.commands("--json")[-1]
    for attack in told["attacks"]:
        assert attack["attack"] in shown.text("attacked")
    printed, _ = shown.python()
    assert f"{told['attacks'][0]['rate']:.2%}" in printed
    assert f"{told['attacks'][0]['rate']:.2%}" in shown.text("attacked")
    assert told["settings"]["knows"] == ["zip", "age"]


def test_attack_on_groups_by_the_adversary_of_the_policy(shown: Shown) -> None:
    shown.ask("risk", ("rule_out", '["diagnosis", "HIV"]', True))
    shown.ask("attack", ("against", "", GROUPS), ("records", "", 150))
    told = shown.commands("--json")[-1]
    assert told["settings"]["background_knowledge"] == {"diagnosis": {"ruled_out": ["HIV"]}}
    named = {attack["attack"] for attack in told["attacks"]}
    assert "background" in named  # there is something that she rules out
    assert all(name in shown.text("attacked") for name in named)
    assert "background" in shown.python()[0]
    # which looks at nothing that she rules out
    shown.ask("attack", ("attack", "homogeneity", True))
    assert [each["attack"] for each in shown.commands("--json")[-1]["attacks"]] == ["homogeneity"]
    assert "homogeneity" in shown.python()[0]


def test_anatomize(shown: Shown) -> None:
    condition = "sex = 'female' and age >= 50"
    shown.ask(
        "anatomize", ("bound", "alpha", "1/2"), ("tables", "", "1"), ("condition", "", condition)
    )
    made, asked, _, general = shown.commands("--json")
    assert made["promises"]["alpha"] == "1/2"
    rows = re.findall(
        r"(anatomized|generalized, as on Promises) ([\d,.]+) ([\d,.]+) ([\d,.]+)", shown.text("ask")
    )
    assert rows == [
        (name, *(formatting.number(answer[key]) for key in ("estimate", "low", "high")))
        for name, answer in (("anatomized", asked), ("generalized, as on Promises", general))
    ]
    for folder in ("anatomized", "anatomized.private", "release", "release.private"):
        shutil.rmtree(folder)
    assert [
        line
        for line in shown.python()[0].splitlines()
        if formatting.number(general["estimate"]) in line
    ]
    assert dv.check("anatomized", alpha="1/2").holds


@pytest.mark.slow
def test_publish(shown: Shown) -> None:
    shown.ask("publish").ask("publish", ("format", "", "parquet"))
    (told,) = shown.commands("--json")
    assert Path("release/table.parquet").is_file()
    assert Path("report.html").is_file()
    assert f"{told['after']['classes']:,}" in shown.text("what")
    shown.ask("publish", ("force", "", True))
    assert shown.python()[1]["release"].verdict.holds


def test_dossier(shown: Shown) -> None:
    shown.ask("dossier", ("example", "", ""), ("trust", "", 0.9))
    leaks, _, plan = shown.commands("--json")
    share = f"{leaks['leakage']:.0%}".replace("%", " %")
    assert share in shown.text("known")
    assert plan["leakage"] <= leaks["leakage"]
    assert shown.python()[0].strip()


def test_the_risk_tab_names_the_control_for_the_person_column(tmp_path: Path) -> None:
    """Each of 20 patients has three rows, but no person column is set."""
    rows = [f"p{row // 3},{row % 2},{'flu' if row % 4 else 'cold'}" for row in range(60)]
    table = tmp_path / "visits.csv"
    table.write_text("\n".join(["patient_id,zip,disease", *rows]), encoding="utf-8")
    shown = Shown(tmp_path)
    shown.ask("table", ("open", "", str(table)), ("role", "patient_id", "identifier"))
    told = shown.ask("risk").text("answer")
    question = "'patient_id' has 20 values in 60 rows: does it name people?"
    advice = "Then give the role 'whose row it is' to 'patient_id' on the tab Table"
    assert f"{question} {advice}" in told
    assert "person=" not in told
