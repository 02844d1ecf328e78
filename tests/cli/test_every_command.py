# SPDX-License-Identifier: Apache-2.0
"""Shared behavior of all commands: --json, errors in terms of flags, and short help."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import json
import re
import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import divulge as dv
from divulge.arguments import spelled
from divulge.cli.main import COMMANDS, OPTIONS
from divulge.cli.program import Program
from divulge.metrics import METRICS
from divulge.options import PANELS
from tests.cli.every_command import ANATOMY, GOOD, WITH_ANOTHER_CODE, called, prepare
from tests.docs.json_schema import assert_fits
from tests.test_public_names import documented

BAD = {
    "demo": ("demo", "--out", "@t.csv"),
    "profile": ("profile", "@nothing.csv"),
    "init": ("init", "@nothing.csv", "--out", "@no.toml"),
    "measure": ("measure", "@t.csv"),
    "rank": ("rank", "@t.csv", "--qi", "nobody"),
    "check": ("check", "@t.csv", "--qi", "age", "--promise", "k_anonymity"),
    "dbt": ("dbt", "@t.csv"),
    "generalize": (
        "generalize",
        "@t.csv",
        "--qi",
        "age",
        "--k-anonymity",
        "2",
        "--out",
        "@release",
    ),
    "anatomize": ("anatomize", "@t.csv", "--sensitive", "main_diagnosis"),
    "attack": ("attack", "@release", "--truth", "@t.csv", "--attack", "guess"),
    "query": ("query", "@tables", "nobody > 3"),
    "apply": ("apply", "@levels", "@t.csv", "--out", "@no"),
    "ledger list": ("ledger", "list", "@ledger", "--recipient", "clinics"),
    "ledger show": ("ledger", "show", "@ledger", "99"),
    "ledger add": ("ledger", "add", "@ledger", "@levels"),
    "ledger retract": ("ledger", "retract", "@levels", "1"),
    "ledger forget": ("ledger", "forget", "@ledger", "1"),
    "ledger export": ("ledger", "export", "@ledger", "--out", "@releases.pdf"),
    "compose": ("compose", "nowhere/"),
    "compare": ("compare", "@t.csv", "--qi", "age"),
    "studio": ("studio", "@nothing.csv"),
    "report": ("report", "@t.csv", "--qi", "age", "--k-anonymity", "2", "--out", "@report.pdf"),
    "hierarchy build": ("hierarchy", "build", "@t.csv", "--column", "age", "--intervals", "wide"),
    "hierarchy cut": (
        "hierarchy",
        "cut",
        "@t.csv",
        "--column",
        "ward",
        "--about",
        "sex",
        "--k-anonymity",
        "2",
    ),
    "hierarchy check": ("hierarchy", "check", "@t.csv", "--hierarchy", "sex=@levels/age.csv"),
    "hierarchy convert": ("hierarchy", "convert", "@nothing.csv", "@no.csv"),
    "hierarchy show": ("hierarchy", "show", "@t.csv"),
    "perturbed": ("perturbed", "@t.csv", "@zips.csv", "--columns", "age"),
    "dossier leakage": ("dossier", "leakage", "--reference", "@me.json"),
    "dossier resolve": ("dossier", "resolve", "--database", "@shops.json"),
    "dossier dip": ("dossier", "dip", "--database", "@shops.json", "--query", "@t.csv"),
    "dossier release": (
        "dossier",
        "release",
        "--database",
        "@no.json",
        "--reference",
        "@me.json",
        "--release",
        "@me.json",
    ),
    "dossier disinform": (
        "dossier",
        "disinform",
        "--database",
        "@shops.json",
        "--reference",
        "@me.json",
        "--budget",
        "3",
    ),
    "dossier enhance": ("dossier", "enhance", "--database", "@shops.json", "--er", "closure"),
    "datasets": ("datasets", "nothing"),
    "metrics": ("metrics", "--markdown"),
}
"""A mistake that each command finds for itself."""


SEX, WARD = ("@t.csv", "--qi", "sex"), ("@t.csv", "--qi", "sex", "--sensitive", "ward")
ALICE = ("--database", "@shops.json", "--reference", "@me.json")
MISTAKES: Sequence[tuple[str, Sequence[str]]] = [
    ("--qi COLUMNS", ("rank", "@t.csv")),
    ("--sensitive COLUMNS", ("check", *SEX, "--l-diversity", "2")),
    ("--k-anonymity 5", ("check", *SEX)),
    ("--leave-out COLUMNS", ("generalize", *SEX, "--k-anonymity", "2")),
    ("--nulls keep", ("measure", *SEX, "--nulls", "keep")),
    ("--recursive-l 0", ("measure", *WARD, "--recursive-l", "0")),
    ("--memory-limit", ("measure", *SEX, "--memory-limit", "much")),
    (
        "--temp-directory",
        ("measure", *SEX, "--memory-limit", "1GB", "--temp-directory", "@no/where"),
    ),
    ("did you mean 'sex'?", ("measure", "@t.csv", "--qi", "sx")),
    ("quasi-identifiers and sensitive", ("measure", *SEX, "--sensitive", "sex")),
    ("--order COLUMN=LOW,..,HIGH", ("measure", *WARD, "--distance", "ward=ordered")),
    ("--hierarchy COLUMN=FILE", ("measure", *WARD, "--distance", "ward=hierarchical")),
    ("COLUMN=VALUE", ("measure", *WARD, "--rule-out", "flu")),
    (
        "--prior [COLUMN=]FILE",
        ("measure", *SEX, "--sensitive", "ward,main_diagnosis", "--prior", "@zips.csv"),
    ),
    ("--table NAME: 'a', 'b'", ("measure", "@two.sqlite", "--qi", "x")),
    ("--table x", ("measure", *SEX, "--table", "x")),
    ("--encoding latin-1", ("measure", "@latin.csv", "--qi", "a")),
    ("--nulls drop", ("measure", "@nulls.csv", "--qi", "a", "--nulls", "drop")),
    ("no column 'sex'", ("measure", *SEX, "--population", "@zips.csv")),
    ("--about and --given", ("measure", "@t.csv", "--about", "age")),
    (
        "--sensitive COLUMNS",
        (
            "generalize",
            *SEX,
            "--leave-out",
            "*",
            "--k-anonymity",
            "2",
            "--objective",
            "information",
        ),
    ),
    ("--pareto", ("generalize", *SEX, "--pareto", "itpr", "--optima")),
    ("--force", ("hierarchy", "build", "@t.csv", "--column", "age", "--out", "@levels/age.csv")),
    ("--order COLUMN=LOW,..,HIGH", BAD["hierarchy cut"]),
    ("--hierarchies DIR, or files with --hierarchy COLUMN=FILE", ("hierarchy", "check", "@t.csv")),
    ("--beta 1/4", BAD["anatomize"]),
    ("--sensitive COLUMNS", ("anatomize", "@t.csv", "--beta", "1/2")),
    ("--group-size", ("anatomize", "@t.csv", *ANATOMY, "--method", "anatomy", "--group-size", "3")),
    ("--suppress-unseen", ("apply", "@listed", "@unseen.csv", "--out", "@no")),
    ("generalize old and new records together", WITH_ANOTHER_CODE["apply"][1]),
    ("Ask for one", ("query", "@tables", "age > 3", "--sum", "age", "--average", "age")),
    ("not unique", ("perturbed", "@t.csv", "@t.csv", "--columns", "age", "--key", "ward")),
    ("--resolve N+C,N+P", BAD["dossier disinform"]),
    ("NAME=NUMBER", ("dossier", "leakage", *ALICE, "--grade", "A")),
    ("between 0 and 1", ("dossier", "leakage", *ALICE, "--link", "N", "--probability", "3")),
]
"""What is told, in part, of mistakes whose error comes from the library, where it is told in
Python's words.
"""


def parameters(name: str) -> list[Any]:
    """Return the parameters in a command's help, in their order."""
    command: Any = Program(COMMANDS, OPTIONS)
    for word in name.split():
        command = command.get_command(None, word)
    return [each for each in command.params if not getattr(each, "hidden", False)]


def every_command() -> list[str]:
    """Yield all commands, with subcommands instead of their groups."""
    found = []
    for name in COMMANDS:
        inner = getattr(
            get_command(importlib.import_module(f"divulge.cli.{name}").app), "commands", {}
        )
        found += [f"{name} {own}" for own in inner] or [name]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = prepare(tmp_path_factory.mktemp("every"))
    (folder / "latin.csv").write_bytes("a,b\nKöln,1\n".encode("latin-1"))
    (folder / "nulls.csv").write_text("a,b\n,1\n,2\n", encoding="utf-8")
    with contextlib.closing(sqlite3.connect(folder / "two.sqlite")) as database:
        database.execute("CREATE TABLE a (x)")
        database.execute("CREATE TABLE b (x)")
    return folder


@pytest.fixture(autouse=True)
def _no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip drawing, which takes longer than the rest and is tested elsewhere."""
    monkeypatch.setattr(dv.charts, "save", lambda _chart, path: path)


def test_no_command_is_missing_here() -> None:
    assert list(BAD) == sorted(BAD, key=every_command().index) == every_command()
    assert {call.partition(" --")[0] for call in GOOD} == set(every_command())


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_a_successful_command_prints_one_object(folder: Path, name: str) -> None:
    shown = called(folder, *GOOD[name], "--json")
    assert (shown.code, shown.err) == (0, "")
    assert isinstance(json.loads(shown.out), dict)
    assert "error" not in shown.json()
    assert_fits(GOOD[name], shown.json())


@pytest.mark.parametrize("name", WITH_ANOTHER_CODE)
def test_violations_and_infeasible_requests_print_one_object(folder: Path, name: str) -> None:
    code, call = WITH_ANOTHER_CODE[name]
    shown = called(folder, *call, "--json")
    document = shown.json()
    assert_fits(call, document)
    assert shown.code == code
    assert document["exit_code"] == code if "error" in document else document["holds"] is False
    assert shown.err.count("\n") == ("error" in document)


@cache
def arguments_of_python() -> frozenset[str]:
    """Return the names of all parameters of public functions, classes and methods."""
    named: set[str] = set()
    for _, each in documented():
        # a property, or a class that is written in C
        with contextlib.suppress(ValueError, TypeError):
            named |= inspect.signature(each).parameters.keys()
    return frozenset(named)


@pytest.mark.parametrize("name", BAD)
def test_an_unknown_option_prints_one_object_and_one_line(folder: Path, name: str) -> None:
    shown = called(folder, *name.split(), "--no-such", "--json")
    assert (shown.code, shown.json()["exit_code"], shown.err.count("\n")) == (2, 2, 1)


@pytest.mark.parametrize(
    ("told", "call"),
    [
        *MISTAKES,
        *(("", call) for call in BAD.values() if call not in [other for _, other in MISTAKES]),
    ],
    ids=repr,
)
def test_an_error_prints_one_object_and_one_line_in_terms_of_flags(
    folder: Path, told: str, call: Sequence[str]
) -> None:
    shown = called(folder, *call, "--json")
    document = shown.json()
    assert_fits(call, document)
    assert shown.code == document["exit_code"]
    assert shown.code == 2 or call == WITH_ANOTHER_CODE["apply"][1]
    assert (
        shown.err
        == f"divulge: {document['error']}{'. ' * bool(document['hint'])}{document['hint']}\n"
    )
    assert told in shown.err
    words = re.sub(r"(?<!\w)'[^']*'|in Python.*", "", shown.err)  # what is quoted is the user's
    assert {"quasi_identifiers", "orders", "memory_limit"} <= arguments_of_python()
    assert not {
        name for name in re.findall(r"(?<![\w-])(\w+)=", words) if name in arguments_of_python()
    }
    metrics = {metric.name for metric in METRICS}
    assert not {
        name
        for name in re.findall(r"\b[a-z]+_\w+\b", words)
        if name in arguments_of_python() - metrics
    }
    assert not re.search(r"\b(True|False|None|dv\.)", words)
    flags = {flag.written for flag in Program(COMMANDS, OPTIONS).flags(call).values()}
    assert {*re.findall(r"--[a-z][a-z-]+", words)} <= {*flags, "--help"}


def test_words_of_the_data_are_not_translated() -> None:
    """Only marked arguments become options, whatever a data value looks like."""
    spelling = Program(COMMANDS, OPTIONS).front_end(["generalize"]).spelling
    for told in (
        "zip=476**, sex=f is 1 person",
        "k_anonymity >= 5 breaks",
        "'sensitive=x' is not known",
        "the table's own, nulls'",
    ):
        assert spelled(told, spelling) == told


@pytest.mark.parametrize("name", [*every_command(), "dossier", "hierarchy"])
def test_help_fits_two_screens_with_one_sentence_and_few_examples(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = called(Path(), *name.split(), "-h")
    assert (shown.code, shown.err) == (0, "")
    assert len(shown.out.splitlines()) <= 100
    _, told, examples, *_ = shown.out.split("\n\n")
    assert told.endswith(".")
    assert not re.search(r"[.?!]\s+[A-Z]", told)
    assert 1 <= examples.count("\n    divulge ") <= 3
    assert all(
        line.startswith(f"    divulge {name} ") or line == f"    divulge {name}"
        for line in examples.splitlines()[1:]
    )


@pytest.mark.parametrize("name", [*every_command(), "dossier", "hierarchy", "ledger", ""])
def test_help_is_the_same_with_every_global_option_and_variable(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    plain = called(Path(), *name.split(), "--help")
    assert plain.code == 0
    for options in (["--value-free"], ["--verbose"], ["--verbose", "--value-free"]):
        assert called(Path(), *name.split(), "--help", *options) == plain
        if name:  # the option may be in front of --help, though not in front of a command
            assert called(Path(), *name.split(), *options, "-h") == plain
    for variable, value in (("DIVULGE_VALUE_FREE", "1"), ("DIVULGE_LOG", "debug")):
        monkeypatch.setenv(variable, value)
        assert called(Path(), *name.split(), "--help") == plain


@pytest.mark.parametrize("name", ["check", "dossier", "dossier leakage", "ledger list"])
def test_a_missing_argument_is_the_same_line_without_values(name: str) -> None:
    plain = called(Path(), *name.split())
    assert plain.code == 2
    redacted = called(Path(), *name.split(), "--value-free")
    assert redacted.code == 2
    assert re.sub(r"'[^-']\S*'", "'…'", plain.err) == redacted.err


@pytest.mark.parametrize("name", every_command())
def test_options_are_in_known_sections_of_the_help(name: str) -> None:
    panels = [
        getattr(each, "rich_help_panel", None)
        for each in parameters(name)
        if each.param_type_name == "option"
    ]
    assert {panel for panel in panels if panel is not None} <= set(PANELS)
    if name.startswith("dossier"):
        output = {
            each.name
            for each in parameters(name)
            if each.param_type_name == "option" and each.rich_help_panel is None
        }
        assert output <= {"chart", "json_", "timeline", "without", "out"}


@pytest.mark.parametrize("name", ["check", "generalize", "hierarchy cut"])
def test_requirement_flags_are_ordered_by_how_common_they_are(name: str) -> None:
    names = {metric.name for metric in METRICS} - {"alpha"}  # in check also a bound on groups
    shown = [each.name for each in parameters(name) if each.name in names]
    assert shown[:3] == ["k_anonymity", "l_diversity", "t_closeness"]
    assert set(shown) == {metric.name for metric in METRICS if metric.common}


def test_messages_of_the_library_name_arguments_not_options() -> None:
    """Messages name arguments with marks, which the command line spells as its own options."""
    package = Path(dv.__file__).parent
    # Excluded: the commands themselves and the rows of their options, arguments of pip, the parts
    # of reports and pages that show how to reproduce them, and the signal handlers, which read the
    # command line.
    aside = {"cli", "datasets", "options", "studio"}
    made_by = {"json_schema.py", "provenance.py", "signals.py"}
    found = []
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] in aside or path.name in made_by:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        constants = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and id(node) not in docs
        ]
        texts = [node.value for node in constants if isinstance(node.value, str)]
        found += [f"{path.name}: {text}" for text in texts if re.search(r"(?<![\w`])--[a-z]", text)]
    assert [each for each in found if "--check`" not in each] == []  # a whole command in backticks
