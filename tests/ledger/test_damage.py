# SPDX-License-Identifier: Apache-2.0
"""Damaged files of a ledger: each command ends with one line and a known exit code.

The release in the ledger forbids the second one: together they single out two people. A ledger that
has lost or changed its entry must not let the second one pass.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.csv as pc
import pytest

import divulge as dv
from tests.api.test_prior_releases import PEOPLE, decide, publish_zip
from tests.helpers import CliResult, run_cli

CELLS: list[Any] = [
    *(None, -1, 0, 10**18, 1.5, "", "x", "2026-13-45", "/", "\x00", b"\xff\xfe"),
    *("published", "intended", "retracted", "unclear", "press"),
]
NODES: list[Any] = [None, True, -1, 0, 1e308, "", "x", [], {}, "*", [1], {"a": 1}, "../..", 10**30]


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("intact")
    pc.write_csv(PEOPLE, folder / "people.csv")
    people = dv.read(folder / "people.csv")
    publish_zip(folder / "first", people)
    decide(people).write(folder / "second")
    added = run_cli(
        "ledger", "add", str(folder / "ledger"), str(folder / "first"), "--recipient", "clinic"
    )
    assert added.code == 0, added.err
    assert _check(folder, folder / "ledger").code == 1
    return folder


def _check(folder: Path, ledger: Path) -> CliResult:
    released = (
        "check",
        str(folder / "second"),
        "--original",
        str(folder / "people.csv"),
        "--k-anonymity",
        "2",
    )
    return run_cli(*released, "--ledger", str(ledger), "--recipient", "clinic")


def _damage_bytes(content: bytes, draw: random.Random) -> bytes:
    start = draw.randrange(len(content))
    end = min(len(content), start + draw.randint(1, 64))
    part = content[start:end]
    return draw.choice(
        [
            b"",
            content[:start],
            content[:start]
            + bytes([content[start] ^ 1 << draw.randrange(8)])
            + content[start + 1 :],
            content[:start] + bytes(len(part)) + content[end:],
            content[:end] + part + content[end:],
            content[:start] + draw.randbytes(len(part)) + content[end:],
            content[:start] + draw.randbytes(len(part)) + content[start:],
        ]
    )


def _damage_json(content: bytes, draw: random.Random) -> bytes:
    document = json.loads(content)
    parents: list[Any] = [document]
    for node in parents:
        parents += [child for child in _children(node) if _children(child)]
    parent = draw.choice(parents)
    keys = list(parent) if isinstance(parent, dict) else range(len(parent))
    key = draw.choice(list(keys))
    if draw.random() < 0.3:
        del parent[key]
    else:
        parent[key] = draw.choice(NODES)
    return json.dumps(document).encode()


def _children(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


def _damage_row(path: Path, draw: random.Random) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(releases)")]
        with contextlib.suppress(sqlite3.Error):  # the table itself rejects these
            database.execute(
                f"UPDATE releases SET {draw.choice(columns)} = ?", (draw.choice(CELLS),)
            )
            database.commit()


def _damage(ledger: Path, draw: random.Random) -> None:
    files = sorted(
        path for path in ledger.rglob("*") if path.is_file() and path.name != "turn.sqlite"
    )
    database = ledger / "ledger.sqlite"
    path = draw.choice([*files, *[database] * len(files)])
    if path == database and draw.random() < 0.5:
        _damage_row(path, draw)
    elif path.suffix == ".json" and draw.random() < 0.5:
        path.write_bytes(_damage_json(path.read_bytes(), draw))
    else:
        path.write_bytes(_damage_bytes(path.read_bytes(), draw))


def test_no_damage_lets_a_release_pass(intact: Path, tmp_path: Path, *, quick: bool) -> None:
    ledger = tmp_path / "ledger"
    for seed in range(10 if quick else 60):
        shutil.rmtree(ledger, ignore_errors=True)
        shutil.copytree(intact / "ledger", ledger)
        _damage(ledger, random.Random(seed))  # noqa: S311 - no secret
        verdict = _check(intact, ledger)
        listed = run_cli("ledger", "list", str(ledger))
        shown = run_cli("ledger", "show", str(ledger), "1")
        assert verdict.code in (1, 2), f"{seed}: {verdict}"
        assert {listed.code, shown.code} <= {0, 2}, f"{seed}: {listed} {shown}"
        for result in (verdict, listed, shown):
            assert result.code != 2 or len(result.err.strip().splitlines()) == 1, (
                f"{seed}: {result.err}"
            )


def test_an_emptied_database_is_not_treated_as_a_new_ledger(intact: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    shutil.copytree(intact / "ledger", ledger)
    (ledger / "ledger.sqlite").write_bytes(b"")
    verdict = _check(intact, ledger)
    assert verdict.code == 2
    assert "is damaged: its database is empty" in verdict.err
    assert (ledger / "releases" / "1" / "manifest.json").is_file()


def test_a_copy_without_its_entry_is_neither_ignored_nor_deleted(
    intact: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    shutil.copytree(intact / "ledger", ledger)
    with contextlib.closing(sqlite3.connect(ledger / "ledger.sqlite")) as database:
        database.execute("DELETE FROM releases")
        database.commit()
    verdict = _check(intact, ledger)
    assert verdict.code == 2
    assert "is damaged: it holds a copy of release 1 and no entry of it" in verdict.err
    assert (ledger / "releases" / "1" / "manifest.json").is_file()
    (ledger / "releases" / "1.dropped").touch()  # a process died while it removed the release
    assert run_cli("ledger", "list", str(ledger)).code == 0
    assert list((ledger / "releases").iterdir()) == []


def test_a_changed_recipient_is_noticed(intact: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    shutil.copytree(intact / "ledger", ledger)
    database = ledger / "ledger.sqlite"
    database.write_bytes(database.read_bytes().replace(b"clinic", b"cyinic"))
    assert "is damaged: the entry 1 is not as it was written" in _check(intact, ledger).err
