# SPDX-License-Identifier: Apache-2.0
"""The program around the commands: help, version, errors in one line, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from divulge.cli.main import COMMANDS
from divulge.version import __version__
from tests.helpers import run_cli


def test_help_lists_every_command() -> None:
    shown = run_cli("--help")
    assert shown.code == 0
    assert all(f"  {name} " in shown.out for name in COMMANDS)


def test_without_a_command_the_help_is_shown_and_the_code_is_2() -> None:
    shown = run_cli()
    assert (shown.code, shown.out.startswith("Usage: divulge COMMAND")) == (2, True)


def test_version() -> None:
    assert run_cli("--version").out == f"divulge {__version__}\n"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "dossier"])
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    shown = run_cli(name, "--help")
    assert shown.code == 0
    assert "Example" in shown.out
    assert f"divulge {name}" in shown.out.split("Example")[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["meazure"], "did you mean 'measure'?", id="unknown command"),
        pytest.param(["measure"], "Missing argument 'TABLE'", id="missing argument"),
        pytest.param(["measure", "x.csv", "--colour"], "--colour", id="unknown option"),
        pytest.param(["measure", "x.csv", "--worst", "many"], "--worst", id="not a number"),
        pytest.param(
            ["measure", "no-such-file.csv", "--qi", "a"], "no-such-file.csv", id="missing file"
        ),
    ],
)
def test_a_mistake_is_one_line_on_standard_error_and_exit_code_2(
    arguments: list[str], told: str
) -> None:
    shown = run_cli(*arguments)
    assert shown.code == 2
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("divulge: ")
    assert told in shown.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("measure PATIENTS --qi zip,age --sensitive disease", 0),
        ("measure PATIENTS --qi zip,age --sensitive disease --chart CHART", 0),
        ("measure --help", 0),
        ("check PATIENTS --qi zip,age --sensitive disease --uniques 1000", 0),
        ("check PATIENTS --qi zip,age --sensitive disease --k-anonymity 9", 1),
        ("check PATIENTS --qi zip,age --sensitive disease --k-anonymity 9 --json", 1),
    ],
)
def test_a_reader_that_leaves_changes_no_exit_code(
    patients: str, tmp_path: Path, command: str, code: int
) -> None:
    chart = tmp_path / "chart.html"
    filled = command.replace("PATIENTS", f"'{patients}'").replace("CHART", f"'{chart}'")
    # `true` exits before the first line is written; bash itself would not report it.
    script = f"(sleep 0.1; '{sys.executable}' -m divulge {filled}; echo $? >&2) | true"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.stderr == f"{code}\n"
    assert chart.exists() == ("CHART" in command)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full, which Linux has")
@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "measure PATIENTS --qi zip,age --sensitive disease",
        "measure PATIENTS --qi zip,age --sensitive disease --json",
        "measure PATIENTS --qi zip,age --sensitive disease --value-free",
        "check PATIENTS --qi zip,age --sensitive disease --uniques 1000 --json",
    ],
)
def test_output_that_a_full_disk_rejects_is_a_failure(patients: str, command: str) -> None:
    words = [patients if word == "PATIENTS" else word for word in command.split()]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "divulge", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("Make room there, or write to another folder\n")


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "code"), [(2, 0), (9, 1)])
def test_a_closed_output_changes_no_exit_code(patients: str, bound: int, code: int) -> None:
    script = (
        f"'{sys.executable}' -m divulge check '{patients}' --qi zip,age --sensitive "
        "disease "
        f"--k-anonymity {bound} >&-"
    )
    done = subprocess.run(["bash", "-c", script], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "")


def test_a_file_that_cannot_be_written_is_one_line(patients: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("", encoding="utf-8")
    for arguments in (
        ["rank", str(patients), "--qi", "zip,age", "--chart", str(tmp_path / "no" / "x.svg")],
        ["demo", "--out", str(taken)],
    ):
        shown = run_cli(*arguments)
        assert (shown.code, shown.err.count("\n")) == (2, 1)
        assert shown.err.startswith("divulge: ")


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [True, False])
def test_an_output_that_is_not_utf_8_is_no_error(tmp_path: Path, *, as_json: bool) -> None:
    path = tmp_path / "emoji.csv"
    path.write_text("stadt\nKöln 😀\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "divulge",
        "measure",
        str(path),
        "--qi",
        "stadt",
        *(["--json"] if as_json else []),
    ]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    if as_json:
        assert json.loads(done.stdout)["worst"][0]["class"] == {"stadt": "Köln 😀"}
    else:
        assert b"K\\xf6ln" in done.stdout


def test_a_bug_has_another_exit_code_than_a_violated_policy() -> None:
    code = "import divulge.cli.main as m; m._dispatch = lambda arguments: 1 / 0; m.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "ZeroDivisionError" in done.stderr
    assert "this is a bug in divulge" in done.stderr


@pytest.mark.parametrize("command", ["generalize", "anatomize", "apply", "check", "compose"])
def test_only_publishing_commands_mention_entering_the_ledger(command: str) -> None:
    text = " ".join(run_cli(command, "--help").out.split())
    publishes = command not in ("check", "compose")
    assert (
        "--ledger DIR Judge with the releases in this ledger, and enter the new one." in text
    ) is publishes
    assert ("in this ledger; nothing is entered in it." in text) is not publishes
    assert ("--expires" in text) is publishes
