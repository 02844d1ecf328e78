# SPDX-License-Identifier: Apache-2.0
"""What all commands have in common: with --json, one object on standard output and nothing else, whatever the exit code."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from typer.main import get_command

from divulge.cli.main import COMMANDS
from tests.cli.every_command import GOOD, WITH_ANOTHER_CODE, called, prepare

BAD = {
    "demo": ("demo", "--out", "@t.csv"),
    "profile": ("profile", "@nothing.csv"),
    "measure": ("measure", "@t.csv"),
    "rank": ("rank", "@t.csv", "--qi", "nobody"),
    "check": ("check", "@t.csv", "--qi", "age", "--promise", "k_anonymity"),
    "generalize": ("generalize", "@t.csv", "--qi", "age", "--k-anonymity", "2", "--out", "@release"),
    "anatomize": ("anatomize", "@t.csv", "--sensitive", "main_diagnosis"),
    "query": ("query", "@tables", "nobody > 3"),
    "apply": ("apply", "@levels", "@t.csv", "--out", "@no"),
    "reseal": ("reseal", "@levels"),
    "hierarchy build": ("hierarchy", "build", "@t.csv", "--column", "age", "--intervals", "wide"),
    "hierarchy cut": ("hierarchy", "cut", "@t.csv", "--column", "ward", "--about", "sex", "--k-anonymity", "2"),
    "hierarchy check": ("hierarchy", "check", "@t.csv", "--hierarchy", "sex=@levels/age.csv"),
    "hierarchy convert": ("hierarchy", "convert", "@nothing.csv", "@no.csv"),
    "hierarchy show": ("hierarchy", "show", "@t.csv"),
    "perturbed": ("perturbed", "@t.csv", "@zips.csv", "--columns", "age"),
    "distances": ("distances", "--values", "many"),
    "dossier leakage": ("dossier", "leakage", "--reference", "@me.json"),
    "dossier resolve": ("dossier", "resolve", "--database", "@shops.json"),
    "dossier dip": ("dossier", "dip", "--database", "@shops.json", "--query", "@t.csv"),
    "dossier release": ("dossier", "release", "--database", "@no.json", "--reference", "@me.json", "--release", "@me.json"),
    "dossier disinform": ("dossier", "disinform", "--database", "@shops.json", "--reference", "@me.json", "--budget", "3"),
    "dossier enhance": ("dossier", "enhance", "--database", "@shops.json", "--er", "closure"),
    "dossier simulate": ("dossier", "simulate", "--p-c", "2"),
    "datasets": ("datasets", "nothing"),
    "metrics": ("metrics", "--markdown"),
}  # fmt: skip
"""A mistake that each command finds for itself."""


def every_command() -> list[str]:
    """Commands, and those below them instead of their groups."""
    found = []
    for name in COMMANDS:
        inner = getattr(get_command(importlib.import_module(f"divulge.cli.{name}").app), "commands", {})
        found += [f"{name} {own}" for own in inner] or [name]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("every"))


@pytest.fixture(autouse=True)
def _no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all the rest, and is tested elsewhere."""
    from divulge.views import charts

    monkeypatch.setattr(charts, "save_chart", lambda _chart, path: path)


def test_no_command_is_missing_here() -> None:
    assert list(BAD) == sorted(BAD, key=every_command().index) == every_command()
    assert {call.partition(" --")[0] for call in GOOD} == set(every_command())


@pytest.mark.parametrize("name", GOOD)
def test_what_went_well_is_one_object(folder: Path, name: str) -> None:
    shown = called(folder, *GOOD[name], "--json")
    assert (shown.code, shown.err) == (0, "")
    assert isinstance(json.loads(shown.out), dict)
    assert "error" not in shown.json()


@pytest.mark.parametrize("name", WITH_ANOTHER_CODE)
def test_a_promise_that_fails_and_a_request_without_answer_are_one_object(folder: Path, name: str) -> None:
    code, call = WITH_ANOTHER_CODE[name]
    shown = called(folder, *call, "--json")
    document = shown.json()
    assert shown.code == code
    assert document["exit_code"] == code if "error" in document else document["holds"] is False
    assert shown.err.count("\n") == ("error" in document)


@pytest.mark.parametrize("call", [*BAD.values(), *((*name.split(), "--no-such") for name in BAD)], ids=" ".join)
def test_a_mistake_is_one_object_and_one_line(folder: Path, call: tuple[str, ...]) -> None:
    shown = called(folder, *call, "--json")
    document = shown.json()
    assert (shown.code, document["exit_code"]) == (2, 2)
    assert shown.err == f"divulge: {document['error']}{'. ' * bool(document['hint'])}{document['hint']}\n"
