# SPDX-License-Identifier: Apache-2.0
"""One way to open a table or release: its kinds, and how often its files are hashed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import divulge as dv
from divulge.api import opened
from divulge.errors import BadInput
from divulge.releases import file_hashes, manifest
from tests.helpers import run_cli

PEOPLE = pa.table(
    {
        "zip": [*"aaaabbbb"],
        "age": [31, 32, 33, 34, 51, 52, 53, 54],
        "disease": ["flu", "flu", "cold", "cold"] * 2,
    }
)
ROLES: dict[str, Any] = {"quasi_identifiers": ["zip", "age"], "sensitive": "disease"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the original, a generalized and an anatomized release of it."""
    pc.write_csv(PEOPLE, tmp_path / "people.csv")
    generalized = dv.generalize(
        PEOPLE,
        policy={"promises": {"k_anonymity": 4}},
        **ROLES,
        hierarchies={"zip": {"suppress": True}, "age": {"intervals": [10, 20]}},
    )
    generalized.write(tmp_path / "generalized")
    anatomized = dv.anatomize(PEOPLE, sensitive="disease", beta="1/2", seed=1)
    anatomized.write(tmp_path / "anatomized")
    return tmp_path


@pytest.fixture
def hashed_files(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each file is hashed."""
    counts: Counter[str] = Counter()
    original_function = file_hashes.sha256

    def counted_sha256(path: Path) -> str:
        counts[str(path)] += 1
        return original_function(path)

    for module in (file_hashes, manifest):
        monkeypatch.setattr(module, "sha256", counted_sha256)
    return counts


ATTACK = "attack {release} --truth {original} --records 4"
COMMANDS = {
    "attack": ("generalized", ATTACK),
    "attack groups": ("anatomized", ATTACK),
    "query": ("generalized", "query {release} zip='a'"),
    "query groups": ("anatomized", "query {release} zip='a'"),
    "measure": ("generalized", "measure {release}"),
    "check": ("generalized", "check {release}"),
    "check with the private part": ("generalized", "check {release} --with-private"),
    "check groups": ("anatomized", "check {release}"),
    "compose": ("generalized", "compose {release} {original} --truth {original}"),
    "compose groups": ("anatomized", "compose {release} {original} --truth {original}"),
    "compare": ("generalized", "compare {original} {release} --original {original} --attack 4"),
    "compare groups": (
        "anatomized",
        "compare {original} {release} --original {original} --qi zip,age --sensitive disease",
    ),
    "apply": ("generalized", "apply {release} {original} --out {folder}/later"),
    "report": ("generalized", "report {release} --original {original} --out {folder}/r.html"),
    "report groups": ("anatomized", "report {release} --original {original} --out {folder}/r.html"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_hashes_each_file_of_a_release_once(
    name: str, folder: Path, hashed_files: Counter[str]
) -> None:
    release, command = COMMANDS[name]
    original = folder / "people.csv"
    words = [
        word.format(release=folder / release, original=original, folder=folder)
        for word in command.split()
    ]
    result = run_cli(*words)
    assert result.code in (0, 1), result.err
    shared_files = {
        str(path)
        for path in (folder / release).rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }
    assert shared_files <= hashed_files.keys()
    # `apply` hashes the files that it writes when it seals them and when it reads them back
    numbers = {count for path, count in hashed_files.items() if "later" not in path}
    assert numbers == {1}, hashed_files


def test_functions_hash_each_file_of_a_release_once(
    folder: Path, hashed_files: Counter[str]
) -> None:
    calls: dict[str, Any] = {
        "attack": lambda: dv.attack(folder / "generalized", truth=PEOPLE, records=4),
        "query": lambda: dv.query(folder / "anatomized", "zip = 'a'"),
        "compose": lambda: dv.compose(
            [folder / "generalized", folder / "anatomized"], truth=PEOPLE
        ),
        "check": lambda: dv.check(folder / "generalized"),
        "check groups": lambda: dv.check(folder / "anatomized"),
        "utility": lambda: dv.utility(PEOPLE, folder / "generalized"),
    }
    for name, call in calls.items():
        hashed_files.clear()
        call()
        assert set(hashed_files.values()) == {1}, (name, hashed_files)


def test_each_input_opens_as_its_kind(folder: Path) -> None:
    kinds = {
        "table": dv.open_release(PEOPLE),
        "file": dv.open_release(folder / "people.csv"),
        "named file": dv.open_release({"source": folder / "people.csv", "delimiter": ","}),
        "generalized": dv.open_release(folder / "generalized"),
        "source": dv.open_release(dv.open_release(folder / "generalized")),
        "anatomized": dv.open_release(folder / "anatomized"),
        "groups": dv.open_release(dv.open_release(folder / "anatomized")),
        "linked": dv.open_release([PEOPLE, PEOPLE]),
    }
    assert {name: type(value) for name, value in kinds.items()} == {
        "table": opened.ThirdPartyTable,
        "file": opened.ThirdPartyTable,
        "named file": opened.ThirdPartyTable,
        "generalized": opened.OpenedGeneralized,
        "source": opened.OpenedGeneralized,
        "anatomized": opened.OpenedAnatomized,
        "groups": opened.OpenedAnatomized,
        "linked": opened.OpenedAnatomized,
    }
    for value in kinds.values():
        assert dv.open_release(value) is value


@pytest.mark.parametrize("release", ["generalized", "anatomized"])
@pytest.mark.parametrize("verb", ["attack", "query", "compose", "check", "utility", "compare"])
def test_a_changed_file_is_an_error_in_every_verb(verb: str, release: str, folder: Path) -> None:
    """The kind of a release is read without hashing; no verb may use its files then."""
    path = next(path for path in (folder / release).iterdir() if path.name != "manifest.json")
    path.write_bytes(path.read_bytes() + b"\n")
    changed = folder / release
    calls: dict[str, Any] = {
        "attack": lambda: dv.attack(changed, truth=PEOPLE),
        "query": lambda: dv.query(changed, "zip = 'a'"),
        "compose": lambda: dv.compose([changed, PEOPLE], truth=PEOPLE),
        "check": lambda: dv.check(changed),
        "utility": lambda: dv.utility(PEOPLE, changed),
        "compare": lambda: dv.compare([PEOPLE, changed], **ROLES),
    }
    with pytest.raises(BadInput, match="is not as it was released"):
        calls[verb]()


def test_a_changed_private_file_is_an_error_if_the_private_part_is_used(folder: Path) -> None:
    private = folder / "generalized.private"
    path = next(
        path for path in private.rglob("*") if path.is_file() and path.parent.name == "mapping"
    )
    path.write_bytes(path.read_bytes() + b"\n")
    dv.measure(folder / "generalized")
    for call in (
        lambda: dv.measure(folder / "generalized", with_private=True),
        lambda: dv.attack(folder / "generalized", truth=PEOPLE),
        lambda: dv.utility(PEOPLE, folder / "generalized"),
    ):
        with pytest.raises(BadInput, match="is not as it was released"):
            call()
