# SPDX-License-Identifier: Apache-2.0
"""`divulge dossier`: what it refuses, what it warns of, its help, and its bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from divulge.cli import dossier_options
from tests.dossier.commands import Write, database, dossier, files, record


def test_a_label_that_no_record_has_is_a_warning(write: Write) -> None:
    _, options = files(write, "003-2.4-after-ER")
    found = dossier("leakage", *options, "--resolve", "N+K", "--json")
    assert found.code == 0
    assert found.err == "divulge: warning: no record has the label K of --resolve N+K\n"
    assert found.json()["leakage"] == pytest.approx(2 / 3)


def test_an_empty_database_leaks_nothing(write: Write) -> None:
    options = ["--database", write("R.json", {"records": []}), "--reference", write("p.json", record([["N", "a"]]))]
    found = dossier("leakage", *options, "--json").json()
    assert (found["leakage"], found["records"], found["witnesses"]) == (0, [], [])
    assert "Nothing in these records is true of you." in dossier("leakage", *options).out


BAD: list[tuple[list[str], str]] = [
    (["leakage", "--reference", "P"], "nothing was given to measure"),
    (["leakage", "--reference", "P", "--record", "P", "--database", "R"], "--record and --database was given"),
    (["leakage", "--reference", "P", "--record", "P", "--resolve", "N"], "use --database"),
    (["leakage", "--reference", "P", "--database", "R", "--resolve", "N++C"], "'N++C' lacks a label"),
    (["leakage", "--reference", "P", "--database", "R", "--resolve", "N", "--er", "guess"], "swoosh, closure"),
    (["leakage", "--reference", "P", "--database", "R", "--resolve", "N", "--trust", "2"], "threshold"),
    (["leakage", "--reference", "P", "--database", "R", "--resolve", "N", "--link", "N"], "not both"),
    (["leakage", "--reference", "P", "--database", "R", "--link", "N~x"], "not a list of labels"),
    (["leakage", "--reference", "P", "--database", "R", "--augment", "A"], "A=Z:FILE"),
    (["leakage", "--reference", "P", "--database", "R", "--augment", "A=Z:missing.csv"], "cannot read the lookup"),
    (["leakage", "--reference", "P", "--record", "P", "--method", "exakt"], "did you mean 'exact'"),
    (["leakage", "--reference", "E", "--record", "P"], "empty"),
    (["leakage", "--reference", "P", "--table", "T"], "--table needs --qi"),
    (["leakage", "--reference", "P", "--record", "missing.json"], "cannot read"),
    (["resolve", "--database", "R"], "there is no match rule"),
    (["disinform", "--database", "R", "--reference", "P", "--resolve", "N", "--budget", "-1"], "budget is -1"),
    (["disinform", "--database", "R", "--reference", "P", "--budget", "1"], "there is no match rule"),
    (["disinform", "--database", "R", "--reference", "P", "--link", "N", "--budget", "1"], "by a rule"),
    (
        ["disinform", "--database", "R", "--reference", "P", "--budget", "1", "--candidates", "R", "--cost", "r"],
        "NAME=NUMBER",
    ),
    (["enhance", "--database", "R", "--about", "x"], "there is no record 'x'"),
    (["release", "--database", "R", "--reference", "P", "--release", "P", "--release", "P"], "two files are called"),
    (["simulate", "--figure", "z"], "no panel 'z'"),
    (["simulate", "--table5", "--figure", "a"], "both given"),
    (["simulate", "--m", "2"], "m is 2"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_line_and_exit_code_2(write: Write, arguments: list[str], message: str) -> None:
    paths = {
        "R": write("R.json", database({"r": [["N", "a"], ["P", "1"]], "s": [["N", "a"]]})),
        "P": write("p.json", record([["N", "a"]])),
        "E": write("e.json", record([])),
        "T": write("t.csv", "Zip\n1*\n"),
    }
    found = dossier(*(paths.get(argument, argument) for argument in arguments))
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert found.err.count("\n") == 1


@pytest.mark.parametrize("command", ["leakage", "resolve", "dip", "release", "disinform", "enhance", "simulate"])
def test_every_help_ends_with_an_example(command: str) -> None:
    found = dossier(command, "--help")
    assert found.code == 0
    assert f"divulge dossier {command} " in found.out
    assert "--json" in found.out


def test_a_bar_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(dossier_options.tracked(range(3), 3, what="numbers")) == [0, 1, 2]
    seen: list[tuple[int, int]] = []

    class Bar:
        def __enter__(self) -> Callable[[int, int], None]:
            return lambda done, total: seen.append((done, total))

        def __exit__(self, *_: object) -> None:
            sys.stderr.flush()

    monkeypatch.setattr(dossier_options, "progress_bar", lambda _: Bar())
    assert len(list(dossier_options.tracked(range(450), 450, what="numbers"))) == 450
    assert seen == [(0, 450), (200, 450), (400, 450)]
