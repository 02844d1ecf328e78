# SPDX-License-Identifier: Apache-2.0
"""A result's text equals its command's output, and its document the command's JSON.

Only the names of arguments differ: `out=` in Python is `--out DIR` of a command.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import divulge as dv
from divulge.api import hierarchies
from divulge.arguments import worded_by
from divulge.cli.main import COMMANDS, OPTIONS
from divulge.cli.program import Program
from divulge.results import Result
from tests.helpers import run_cli

ROLES: dict[str, Any] = {"quasi_identifiers": ["zip", "age"], "sensitive": "disease"}
RECORDS = {
    "shops": [
        dv.dossier.Record.of({"N": "Alice", "A": "20"}, id="shop"),
        dv.dossier.Record.of({"N": "Alice", "P": ("123", 0.5)}, id="bank"),
    ],
    "me": [dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"}, id="me")],
    "card": [dv.dossier.Record.of({"N": "Alice", "P": "123"})],
}
FILES = {
    "people.csv": "zip,age,disease\n4761,30,flu\n4762,31,cold\n4791,52,flu\n4792,53,cold\n",
    "published.csv": "zip,age,disease\n4761,30,flu\n4762,30,cold\n4791,50,flu\n4792,50,cold\n",
    "shops.json": json.dumps([dv.dossier.record_to_json(record) for record in RECORDS["shops"]]),
    "me.json": json.dumps(dv.dossier.record_to_json(RECORDS["me"][0])),
    "card.json": json.dumps(dv.dossier.record_to_json(RECORDS["card"][0])),
    "table.csv": "A,P\n2*,123\n3*,456\n",
}
RULE, BETA = dv.dossier.Resolve("N"), dv.dossier.Measure(beta=2.0)
CASES: dict[str, Callable[[], Result]] = {
    "measure people.csv --qi zip,age --sensitive disease": lambda: dv.measure(
        "people.csv", **ROLES
    ),
    "check people.csv --qi zip,age --sensitive disease --k-anonymity 2": lambda: dv.check(
        "people.csv", {"k_anonymity": 2}, **ROLES
    ),
    "compare people.csv published.csv --qi zip,age --sensitive disease": lambda: dv.compare(
        ["people.csv", "published.csv"], **ROLES
    ),
    "profile people.csv": lambda: dv.profile("people.csv"),
    "rank people.csv --qi zip,age --sensitive disease": lambda: dv.rank("people.csv", **ROLES),
    "rank people.csv --qi zip,age --sensitive disease --set zip,age --k-anonymity 2 "
    "--hierarchies levels": lambda: dv.rank(
        "people.csv",
        **ROLES,
        sets=[["zip", "age"]],
        policy={"k_anonymity": 2},
        hierarchies="levels",
    ),
    "rank people.csv --qi zip,age --growing": lambda: dv.growing(
        "people.csv", quasi_identifiers=["zip", "age"]
    ),
    "generalize people.csv --qi zip,age --sensitive disease --pareto k_anonymity --hierarchies "
    "levels": lambda: dv.tradeoff("people.csv", "k_anonymity", hierarchies="levels", **ROLES),
    "generalize people.csv --qi zip,age --sensitive disease --k-anonymity 2 --hierarchies levels "
    "--no-explain": lambda: dv.generalize(
        "people.csv", policy={"k_anonymity": 2}, hierarchies="levels", **ROLES
    ),
    "anatomize people.csv --qi zip,age --sensitive disease --beta 1/2 --seed 1 --queries 0 "
    "--no-explain": lambda: dv.anatomize("people.csv", beta="1/2", seed=1, **ROLES),
    "check anatomized --beta 1/4": lambda: dv.check("anatomized", beta="1/4"),
    "query anatomized \"disease = 'flu'\"": lambda: dv.query("anatomized", "disease = 'flu'"),
    'query generalized "age > 40" --average age': lambda: dv.query(
        "generalized", "age > 40", average="age"
    ),
    "hierarchy build people.csv --column age": lambda: hierarchies.build("people.csv", ["age"]),
    "hierarchy cut people.csv --column age --about disease --k-anonymity 2": lambda: dv.cut(
        "people.csv", "age", about="disease", policy={"k_anonymity": 2}
    ),
    "hierarchy check people.csv --hierarchies levels": lambda: hierarchies.cover(
        "people.csv", hierarchies.load_any("levels")
    ),
    "perturbed people.csv published.csv --columns age": lambda: dv.perturbed(
        "people.csv", "published.csv", columns="age"
    ),
    "dossier leakage --record card.json --reference me.json --beta 2": lambda: BETA.one(
        read("card"), read("me")
    ),
    "dossier leakage --database shops.json --reference me.json": lambda: dv.dossier.attack(
        shops(), read("me"), dv.dossier.Chain()
    ),
    "dossier leakage --table table.csv --qi A --reference me.json": lambda: (
        dv.dossier.table_leakage(
            "table.csv", dv.dossier.read_database("me.json"), quasi_identifiers=["A"]
        )
    ),
    "dossier dip --database shops.json --query card.json --resolve N": lambda: dv.dossier.dip(
        shops(), read("card"), RULE
    ),
    "dossier dip --database shops.json --query card.json --resolve N --reference me.json --beta 2": (  # noqa: E501
        lambda: dv.dossier.dip(shops(), read("card"), RULE, reference=read("me"), measure=BETA)
    ),
    "dossier release --database shops.json --reference me.json --resolve N --release card.json": (
        lambda: dv.dossier.compare(shops(), read("me"), {"card": read("card")}, operator=RULE)
    ),
    "dossier disinform --database shops.json --reference me.json --resolve N --budget 2": (
        lambda: dv.dossier.plan_disinformation(shops(), read("me"), rule="N", budget=2)
    ),
    "dossier enhance --database shops.json --resolve N": lambda: dv.dossier.enhance_each(
        shops(), rule="N"
    ),
}


def read(name: str) -> dv.dossier.Record:
    """Read a record of the working folder."""
    return dv.dossier.read_record(f"{name}.json")


def shops() -> dv.dossier.Database:
    """Read the records of the working folder."""
    return dv.dossier.read_database("shops.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, records, and a release of each kind."""
    place = tmp_path_factory.mktemp("same")
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    people = place / "people.csv"
    dv.generalize(people, policy={"k_anonymity": 2}, **ROLES).write(place / "generalized")
    dv.anatomize(people, beta="1/2", **ROLES).write(place / "anatomized")
    levels = hierarchies.build(people, ["zip", "age"]).hierarchies
    hierarchies.write_to(levels, place / "levels", to="arx", force=False, many=True)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("command", CASES)
def test_a_result_prints_what_its_command_prints(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    found, words = CASES[command](), shlex.split(command)
    assert "--" not in str(found), "an option of the command line is no word of Python"
    with worded_by(Program(COMMANDS, OPTIONS).front_end(words)):
        told, document = str(found), found.to_dict()
    assert run_cli(*words).out.rstrip("\n") == told
    assert run_cli(*words, "--json").json() == document


@pytest.mark.parametrize(
    ("command", "make"),
    [
        (
            (
                "generalize people.csv --qi zip,age --sensitive disease --k-anonymity 2 "
                "--hierarchies levels"
            ),
            lambda: dv.generalize(
                "people.csv", policy={"k_anonymity": 2}, hierarchies="levels", **ROLES
            ),
        ),
        (
            (
                "anatomize people.csv --qi zip,age --sensitive disease --beta 1/2 --seed 1 "
                "--queries "
                "0"
            ),
            lambda: dv.anatomize("people.csv", beta="1/2", seed=1, **ROLES),
        ),
    ],
)
def test_commands_print_a_release_and_the_cost_of_requirements(
    command: str, make: Callable[[], Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text is that of the release with the costs below the first line of the explanation."""
    monkeypatch.chdir(folder)
    words, release = shlex.split(command), make()
    with worded_by(Program(COMMANDS, OPTIONS).front_end(words)):
        told, document = str(release), release.to_dict(explanation=release.explain())
        price = str(release.explain()).partition("\n")[2]
    assert price
    assert run_cli(*words).out.replace(f"{price}\n", "", 1).rstrip("\n") == told
    assert run_cli(*words, "--json").json() == document


def test_merging_and_further_analyses_are_options_of_an_attack(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    truth = read("me")
    found = dv.dossier.attack(shops(), truth, RULE)
    kept = dv.dossier.without(shops(), truth, operator=RULE)
    steps = dv.dossier.timeline(shops(), truth, operator=RULE)
    command = shlex.split(
        "dossier leakage --database shops.json --reference me.json --resolve N --without --timeline"
    )
    document = run_cli(*command, "--json").json()
    assert document == found.to_dict(graph=document["graph"], kept=kept, steps=steps)
    assert document["timeline"] == steps.to_dict()["timeline"]
    assert document["without"] == kept.to_dict()["without"]
    assert "without" in run_cli(*command).out


@pytest.mark.slow
def test_an_incremental_release_prints_what_its_command_prints(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    found = dv.apply("generalized", "people.csv", "later")
    command = ["apply", "generalized", "people.csv", "--out", "later", "--force"]
    assert run_cli(*command).out.rstrip("\n") == str(found)
    assert run_cli(*command, "--json").json() == found.to_dict()
