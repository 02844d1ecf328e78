# SPDX-License-Identifier: Apache-2.0
"""Every command as a user runs it, with its files, for tests of shared behavior."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.helpers import CliResult, run_cli

DISEASES = ("influenza", "cancer", "heart disease", "influenza", "broken leg, left")
ROLES = ("--qi", "postal_code,age,sex", "--sensitive", "main_diagnosis", "--identifier", "name")
LISTED = ("--hierarchies", "@levels", "--objective", "loss")
ANATOMY = (
    "--sensitive",
    "main_diagnosis",
    "--identifier",
    "name",
    "--leave-out",
    "ward",
    "--beta",
    "1/2",
)
SHOPS = (
    "dossier",
    "leakage",
    "--database",
    "@shops.json",
    "--reference",
    "@me.json",
    "--resolve",
    "N+C,N+P",
)
ABOUT_ME = ("--database", "@shops.json", "--reference", "@me.json", "--resolve", "N")

GOOD: Mapping[str, Sequence[str]] = {
    "demo": ("demo", "--out", "@demo", "--rows", "200"),
    "profile": ("profile", "@t.csv"),
    "init": ("init", "@t.csv", "--out", "@begun.toml", "--force"),
    "measure": ("measure", "@t.csv", *ROLES, "--t", "0.5"),
    "measure --class": (
        "measure",
        "@t.csv",
        *ROLES,
        "--class",
        "postal_code=47600",
        "--class",
        "age=21",
        "--class",
        "sex=m",
    ),
    "measure --repair": (
        "measure",
        "@t.csv",
        *ROLES,
        "--itpr-bands",
        "0.3,0.7",
        "--repair",
        "cells",
        "--repair-limit",
        "0.1",
    ),
    "measure --independence": ("measure", "@t.csv", *ROLES, "--independence"),
    "measure --classes": ("measure", "@t.csv", *ROLES, "--classes"),
    "rank": ("rank", "@t.csv", *ROLES, "--sensitive", "ward", "--set", "sex,age"),
    "rank --k-anonymity": (
        "rank",
        "@t.csv",
        *ROLES,
        "--set",
        "sex,age",
        "--set",
        "postal_code,age",
        "--k-anonymity",
        "4",
    ),
    "rank --growing": ("rank", "@t.csv", *ROLES, "--growing"),
    "check": (
        "check",
        "@release/table.csv",
        *ROLES[:4],
        "--k-anonymity",
        "4",
        "--l-diversity",
        "2",
    ),
    "check --policy": (
        "check",
        "@release/table.csv",
        "@release/table.csv",
        *ROLES[:4],
        "--policy",
        "@gate.toml",
    ),
    "dbt": ("dbt", "@divulge_dbt"),
    "generalize": (
        "generalize",
        "@t.csv",
        *ROLES,
        "--leave-out",
        "ward",
        "--k-anonymity",
        "4",
        "--optima",
        "--nodes",
        "--dry-run",
    ),
    "generalize --out": (
        "generalize",
        "@t.csv",
        *ROLES,
        "--leave-out",
        "ward",
        "--k-anonymity",
        "4",
        "--out",
        "@new",
        "--force",
    ),
    "generalize --policy": (
        "generalize",
        "@t.csv",
        *ROLES,
        "--leave-out",
        "ward",
        "--policy",
        "@gate.toml",
        "--no-explain",
    ),
    "generalize --pareto": ("generalize", "@t.csv", *ROLES, "--pareto", "entropy_leakage"),
    "anatomize": (
        "anatomize",
        "@t.csv",
        *ANATOMY,
        "--attack",
        "--out",
        "@tables-2",
        "--force",
        "--seed",
        "1",
    ),
    "anatomize --advise": ("anatomize", "@t.csv", *ANATOMY, "--advise", "--queries", "10"),
    "check --beta": ("check", "@tables", "--beta", "1/2"),
    "attack": (
        "attack",
        "@release",
        "--truth",
        "@t.csv",
        "--control",
        "@others.csv",
        "--records",
        "20",
        "--subsets",
        "2",
    ),
    "attack --anatomized": ("attack", "@tables", "--truth", "@t.csv"),
    "query": ("query", "@tables", "age > 30 and main_diagnosis = 'cancer'"),
    "apply": ("apply", "@release", "@t.csv", "--out", "@release-2", "--force"),
    "ledger list": ("ledger", "list", "@ledger", "--recipient", "clinic"),
    "ledger show": ("ledger", "show", "@ledger", "1"),
    "ledger add": (
        "ledger",
        "add",
        "@ledger",
        "@tables",
        "--recipient",
        "press",
        "--expires",
        "2027-12-31",
    ),
    "ledger retract": ("ledger", "retract", "@ledger", "2"),
    "ledger forget": ("ledger", "forget", "@ledger", "1", "--dry-run"),
    "ledger export": ("ledger", "export", "@ledger", "--out", "@releases.csv"),
    "compose": (
        "compose",
        "@release",
        "@release",
        "--truth",
        "@t.csv",
        "--person",
        "name",
        "--sample",
        "3",
    ),
    "compose --who": (
        "compose",
        "@release",
        "@release",
        "--truth",
        "@t.csv",
        "--person",
        "name",
        "--who",
        "patient 1",
    ),
    "compose --without-truth": ("compose", "@release", "@release"),
    "compare": ("compare", "@t.csv", "@release", "@tables", "--attack", "20"),
    "studio": ("studio", "@t.csv", "--no-browser", "--stop-after", "0"),
    "report": (
        "report",
        "@t.csv",
        *ROLES,
        "--leave-out",
        "ward",
        "--k-anonymity",
        "4",
        "--out",
        "@report.html",
    ),
    "hierarchy build": ("hierarchy", "build", "@t.csv", "--column", "postal_code,age"),
    "hierarchy cut": (
        "hierarchy",
        "cut",
        "@t.csv",
        "--column",
        "age",
        "--about",
        "main_diagnosis",
        "--k-anonymity",
        "4",
    ),
    "hierarchy check": ("hierarchy", "check", "@t.csv", "--hierarchies", "@levels"),
    "hierarchy convert": (
        "hierarchy",
        "convert",
        "@levels/age.csv",
        "@age.csv",
        "--to",
        "anjana",
        "--force",
    ),
    "hierarchy show": ("hierarchy", "show", "@levels"),
    "perturbed": ("perturbed", "@t.csv", "@t.csv", "--columns", "age,sex"),
    "dossier leakage": (*SHOPS, "--timeline", "--without", "--grade", "A=10"),
    "dossier leakage --table": (
        "dossier",
        "leakage",
        "--table",
        "@zips.csv",
        "--qi",
        "Zip",
        "--reference",
        "@zip.json",
    ),
    "dossier leakage --record": (
        "dossier",
        "leakage",
        "--record",
        "@me.json",
        "--reference",
        "@me.json",
    ),
    "dossier resolve": ("dossier", "resolve", "--database", "@shops.json", "--resolve", "N+C,N+P"),
    "dossier dip": ("dossier", "dip", *ABOUT_ME, "--query", "@query.json"),
    "dossier release": (
        "dossier",
        "release",
        *ABOUT_ME,
        "--release",
        "card=@query.json",
        "--release",
        "all=@me.json",
    ),
    "dossier disinform": ("dossier", "disinform", *ABOUT_ME, "--budget", "3"),
    "dossier enhance": ("dossier", "enhance", "--database", "@shops.json", "--resolve", "N"),
    "datasets": ("datasets",),
    "metrics": ("metrics",),
}
"""A call of every command and of each kind of table that it prints; @ stands for the folder of
`prepare`.
"""

WITH_ANOTHER_CODE: Mapping[str, tuple[int, Sequence[str]]] = {
    "check": (1, ("check", "@t.csv", "--qi", "age", "--k-anonymity", "20")),
    "attack": (
        1,
        ("attack", "@t.csv", "--truth", "@t.csv", "--knows", "age,sex", "--k-anonymity", "20"),
    ),
    "check --beta": (1, ("check", "@tables", "--beta", "1/9")),
    "apply": (1, ("apply", "@release", "@many.csv", "--out", "@no")),
    "generalize": (
        3,
        ("generalize", "@t.csv", *ROLES, "--leave-out", "ward", "--k-anonymity", "1000"),
    ),
    "anatomize": (3, ("anatomize", "@t.csv", *ANATOMY[:-1], "1/9")),
    "hierarchy cut": (
        3,
        (
            "hierarchy",
            "cut",
            "@t.csv",
            "--column",
            "age",
            "--about",
            "ward",
            "--k-anonymity",
            "1000",
        ),
    ),
}
"""Calls that leave with 1, a promise that does not hold, or with 3, a request that nothing can
satisfy.
"""


def prepare(folder: Path, written: Callable[[str], str] = str) -> Path:
    """Write the files that the calls read; `written` may change their cells."""
    lines = ["name,postal_code,age,sex,main_diagnosis,ward"]
    lines += [
        "patient "
        f'{i},{47600 + 13 * (i % 7)},{21 + 3 * (i % 8)},{"mf"[i % 2]},"{DISEASES[i % 5]}",ward '
        f"{i % 3}"
        for i in range(40)
    ]
    lines = [lines[0], *map(written, lines[1:])]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "many.csv").write_text(
        "\n".join([lines[0], *lines[2:3] * 60]) + "\n", encoding="utf-8"
    )
    unseen = [line.replace(",476", ",999") for line in lines]
    (folder / "unseen.csv").write_text("\n".join(unseen) + "\n", encoding="utf-8")
    (folder / "gate.toml").write_text("[promises]\nk_anonymity = 3\n", encoding="utf-8")
    (folder / "others.csv").write_text(
        "\n".join(line.replace("patient", "visitor") for line in lines) + "\n", encoding="utf-8"
    )
    (folder / "zips.csv").write_text(
        "Zip,Disease\n" + written("11*,flu\n11*,cancer\n"), encoding="utf-8"
    )
    places = (
        "a shop for books and records in the old town",
        "the-tennis-club-beside-the-river-and-the-railway-station",
    )
    shops = {
        places[0]: {"N": "Alice", "C": "Berlin", "A": "20"},
        places[1]: {
            "N": "Alice",
            "C": "Berlin",
            "P": "+49 30 1234567890123456789012345678901234567890",
        },
        "3": {"N": "Bob", "P": "9"},
    }
    documents = {
        "shops": {"records": [_record(attributes, name) for name, attributes in shops.items()]},
        "me": _record(
            {
                "N": "Alice",
                "C": "Berlin",
                "P": "+49 30 1234567890123456789012345678901234567890",
                "A": "21",
            }
        ),
        "query": _record({"N": "Alice", "C": "Berlin"}),
        "zip": {"records": [_record({"Zip": "112", "Disease": "flu"}) | {"id": "Alice"}]},
    }
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(written(json.dumps(document)), encoding="utf-8")
    for asked in (
        ("hierarchy", "build", "@t.csv", "--column", "postal_code,age", "--out", "@levels"),
        (
            "generalize",
            "@t.csv",
            *ROLES,
            "--leave-out",
            "ward",
            "--k-anonymity",
            "4",
            "--t-closeness",
            "0.4",
            "--out",
            "@release",
        ),
        (
            "generalize",
            "@t.csv",
            *ROLES,
            "--leave-out",
            "ward",
            "--k-anonymity",
            "2",
            *LISTED,
            "--out",
            "@listed",
        ),
        ("anatomize", "@t.csv", *ANATOMY, "--out", "@tables"),
        ("ledger", "add", "@ledger", "@release", "--recipient", "clinic"),
        ("ledger", "add", "@ledger", "@tables"),
    ):
        assert (shown := called(folder, *asked)).code == 0, shown.err
    return folder


def words(folder: Path, call: Sequence[str]) -> Iterator[str]:
    """Return a call with the folder in place of @."""
    return (word.replace("@", f"{folder}/") for word in call)


def called(folder: Path, *call: str) -> CliResult:
    """Run a call, and return its exit code and output."""
    return run_cli(*words(folder, call))


def _record(attributes: Mapping[str, str], name: str | None = None) -> dict[str, object]:
    """Return a record: with an id, one of many with uncertain values; without, the truth."""
    sure = {} if name is None else {"confidence": 0.9}
    listed = [{"label": label, "value": value, **sure} for label, value in attributes.items()]
    return {"attributes": listed} | ({} if name is None else {"id": name})
