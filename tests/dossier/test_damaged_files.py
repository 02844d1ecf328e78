# SPDX-License-Identifier: Apache-2.0
"""Damaged files of records: each command ends with exit code 0 or 2, and an error is one line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import run_cli
from tests.ledger.test_damage import _damage_bytes, _damage_json


def _record(attributes: dict[str, str], **more: Any) -> dict[str, Any]:
    return {
        "attributes": [{"label": label, "value": value} for label, value in attributes.items()],
        **more,
    }


SHOPS = [
    _record({"N": "Alice", "C": "Berlin", "A": "20"}, id="a"),
    _record({"N": "Alice", "P": "123"}, id="b"),
    _record({"N": "Bob", "P": "9"}, id="c"),
]
FILES = {
    "shops.json": json.dumps({"records": SHOPS}),
    "shops.jsonl": "".join(json.dumps(record) + "\n" for record in SHOPS),
    "shops.csv": "record,label,value,confidence\na,N,Alice,1\na,P,123,0.5\nb,N,Bob,\nb,P,123,0.4\n",
    "me.json": json.dumps(_record({"N": "Alice", "C": "Berlin", "P": "123", "A": "21"})),
    "query.json": json.dumps(_record({"N": "Alice"})),
    "weights.json": json.dumps({"N": 2, "P": 1}),
}
ABOUT_ME = ("--reference", "me.json", "--resolve", "N")
CALLS = [
    (
        "leakage",
        "--database",
        "shops.json",
        *ABOUT_ME,
        "--timeline",
        "--without",
        "--weights",
        "weights.json",
    ),
    ("leakage", "--database", "shops.csv", *ABOUT_ME),
    ("leakage", "--database", "shops.jsonl", *ABOUT_ME),
    ("resolve", "--database", "shops.json", "--resolve", "N"),
    ("dip", "--database", "shops.json", *ABOUT_ME, "--query", "query.json"),
    ("release", "--database", "shops.json", *ABOUT_ME, "--release", "card=query.json"),
    ("disinform", "--database", "shops.json", *ABOUT_ME, "--budget", "3"),
    ("enhance", "--database", "shops.json", "--resolve", "N"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_every_damage_is_answered(folder: Path, *, quick: bool) -> None:
    for call in CALLS:
        assert run_cli("dossier", *call).code == 0
    for seed in range(30 if quick else 200):
        draw = random.Random(seed)  # noqa: S311 - no secret
        call = draw.choice(CALLS)
        used = [name for name in FILES if any(word.endswith(name) for word in call)]
        path = folder / draw.choice(used)
        content = path.read_bytes()
        damages_json = path.suffix == ".json" and draw.random() < 0.6
        path.write_bytes(
            _damage_json(content, draw) if damages_json else _damage_bytes(content, draw)
        )
        result = run_cli("dossier", *call, "--json")
        path.write_bytes(content)
        assert result.code in (0, 2), f"{seed}: {result}"
        assert isinstance(result.json(), dict), f"{seed}: {result}"
        errors = [
            line for line in result.err.splitlines() if not line.startswith("divulge: warning:")
        ]
        assert len(errors) == (result.code == 2), f"{seed}: {result.err}"


@pytest.mark.parametrize(
    ("name", "text"), [("shops.jsonl", "\n"), ("shops.csv", "record,label,value,confidence\n")]
)
def test_a_file_of_lines_without_a_record_is_not_a_person_without_leakage(
    folder: Path, name: str, text: str
) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    result = run_cli("dossier", "leakage", "--database", name, *ABOUT_ME)
    assert result.code == 2
    assert f"'{name}' holds no record" in result.err
