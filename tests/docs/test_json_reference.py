# SPDX-License-Identifier: Apache-2.0
"""docs/reference/json.md names the keys that every command's document has, and no others."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from divulge.cli.main import COMMANDS
from tests.docs.blocks import blocks_of
from tests.docs.json_schema import assert_fits
from tests.docs.world import write_world
from tests.helpers import run_cli

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = re.split(
    r"^## ", (DOCS / "reference" / "json.md").read_text(encoding="utf-8"), flags=re.MULTILINE
)[1:]

RELEASE = (
    "generalize patients.csv --qi zip,age,sex --sensitive disease --identifier name "
    "--leave-out "
    "'*' --k-anonymity 5 --out r"
)
GROUPS = (
    "anatomize patients.csv --qi zip,age,sex --sensitive disease --identifier name --beta "
    "1/2 "
    "--out a"
)
SHOPS = "--database shops.json --reference me.json"

# What to run for each section; the last command's document is compared.
ADDED = "ledger add l r --recipient clinic"
RUNS = {
    "divulge measure": ["measure patients.csv --qi sex --sensitive disease"],
    "divulge measure --class": [
        "measure patients.csv --qi sex --sensitive disease --class sex=female"
    ],
    "divulge check": ["check patients.csv --qi zip,age --sensitive disease --k-anonymity 5"],
    "divulge profile": ["profile patients.csv"],
    "divulge dbt": ["dbt divulge_dbt"],
    "divulge init": ["init patients.csv --out begun.toml"],
    "divulge rank": [
        "rank patients.csv --qi zip,age --sensitive disease",
        "rank patients.csv --qi zip,age --sensitive disease --set zip,age --k-anonymity 2",
    ],
    "divulge rank --growing": ["rank patients.csv --qi zip,age --sensitive disease --growing"],
    "divulge generalize": [RELEASE],
    "divulge apply": [
        RELEASE,
        "apply r new-patients.csv --suppress-unseen --suppression 1 --out r2",
    ],
    "divulge ledger list": [RELEASE, ADDED, "ledger list l"],
    "divulge ledger show": [RELEASE, ADDED, "ledger show l 1"],
    "divulge ledger add": [RELEASE, ADDED],
    "divulge ledger retract": [RELEASE, ADDED, "ledger retract l 1"],
    "divulge ledger forget": [RELEASE, ADDED, "ledger forget l 1 --force"],
    "divulge ledger export": [RELEASE, ADDED, "ledger export l --out l.csv"],
    "divulge compose": [RELEASE, "compose r r --truth patients.csv"],
    "divulge compose --who": [
        RELEASE,
        "compose r r --truth patients.csv --person name --who 'person 7'",
    ],
    "divulge compare": [RELEASE, "compare patients.csv r"],
    "divulge studio": ["studio patients.csv --no-browser --stop-after 0"],
    "divulge report": ["report patients.csv --qi zip,age --sensitive disease --k-anonymity 5"],
    "divulge anatomize": [GROUPS],
    "divulge anatomize --advise": [
        (
            "anatomize patients.csv --qi zip,age,sex --sensitive disease --identifier name "
            "--advise "
            "--queries 10"
        )
    ],
    "divulge check of an anatomized release": [GROUPS, "check a --beta 1/4"],
    "divulge attack": [RELEASE, "attack r --truth patients.csv --records 50 --subsets 1"],
    "divulge query": [GROUPS, "query a \"disease = 'Flu'\""],
    "divulge hierarchy build": ["hierarchy build patients.csv --column age"],
    "divulge hierarchy cut": [
        "hierarchy cut patients.csv --column age --about disease --k-anonymity 5 --ranges 3"
    ],
    "divulge hierarchy check": ["hierarchy check adult.csv --hierarchies hierarchies/"],
    "divulge dossier leakage": [f"dossier leakage {SHOPS}"],
    "divulge dossier resolve": ["dossier resolve --database shops.json --resolve N"],
    "divulge dossier dip": ["dossier dip --database shops.json --query card1.json --resolve N"],
    "divulge dossier release": [f"dossier release {SHOPS} --resolve N --release card1.json"],
    "divulge dossier disinform": [f"dossier disinform {SHOPS} --resolve N --budget 2"],
    "divulge dossier enhance": ["dossier enhance --database facts.json --resolve N"],
    "divulge perturbed": ["perturbed original.csv published.csv --columns age --key id"],
    "divulge metrics": ["metrics"],
    "divulge datasets": ["datasets"],
    "divulge demo": ["demo --rows 200 --out d"],
}


def keys(section: str) -> tuple[set[str], set[str]]:
    """The keys that are always there, and those that the table says are there with an option
    only.
    """
    always: set[str] = set()
    sometimes: set[str] = set()
    for names, told in re.findall(r"^\| (`[^|]+) \| ([^|]+) \|$", section, re.MULTILINE):
        (sometimes if told.startswith("with ") else always).update(re.findall(r"`([^`]+)`", names))
    return always, sometimes


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_the_keys_are_those_of_the_document(
    section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_world(tmp_path)
    for block in blocks_of(DOCS / "how-to" / "dossier.md"):
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    for command in RUNS[section.partition("\n")[0]]:
        found = run_cli(*shlex.split(command), "--json")
        assert_fits(shlex.split(command), found.json())
    always, sometimes = keys(section)
    assert always <= set(found.json()) <= always | sometimes


def test_every_command_has_its_section() -> None:
    titles = [section.partition("\n")[0] for section in SECTIONS]
    assert titles == list(dict.fromkeys(titles))
    assert set(titles) == set(RUNS)
    assert {title.split()[1] for title in titles} == set(COMMANDS)
