# SPDX-License-Identifier: Apache-2.0
"""`divulge init`: the first policy of a table has a role for every column, and runs as it is."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from divulge.datasets import patients
from tests.helpers import run_cli

ROWS = 240
VISITS = pa.table(
    {
        "patient_id": [f"p{i // 3}" for i in range(ROWS)],
        "weighting": [1.5 + i % 2 for i in range(ROWS)],
        "date of birth": [f"19{60 + i // 3 % 9}-01-01" for i in range(ROWS)],
        'a "quoted"\tname': [i // 3 % 2 for i in range(ROWS)],
        "diagnosis": [("flu", "gout", "asthma")[i % 3] for i in range(ROWS)],
        "tags": [[i % 2] for i in range(ROWS)],
    }
)
WEIGHTED = VISITS.drop_columns(["patient_id", "tags"])
WITHOUT_SECRETS = pa.table({"age": [20 + i % 5 for i in range(60)], "sex": ["fm"[i % 2] for i in range(60)]})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "table",
    [patients(rows=1_000, seed=3), VISITS, WEIGHTED, WITHOUT_SECRETS],
    ids=["patients", "visits", "weighted", "plain"],
)
def test_it_runs_as_it_is(table: pa.Table, folder: Path) -> None:
    pq.write_table(table, folder / "t.parquet")
    assert run_cli("init", "t.parquet").code == 0
    written = tomllib.loads((folder / "divulge.toml").read_text(encoding="utf-8"))
    roles = [written.get(role, []) for role in ("quasi_identifiers", "sensitive", "identifier", "leave_out", "plain")]
    named = [name for names in roles for name in names] + [
        written[role] for role in ("person", "weight") if role in written
    ]
    assert sorted(named) == sorted(table.column_names)
    judged = run_cli("check", "t.parquet", "--json")
    assert judged.code in (0, 1), judged.err
    assert not [found for found in judged.json()["findings"] if found["guard"] == "unknown_column"]
    released = run_cli("generalize", "t.parquet", "--no-explain", "--out", "release", "--json")
    assert released.code == 0, released.err
    assert released.json()["settings"]["policy"]["file"] == "divulge.toml"
    # What it published keeps the policy too, read as any other table.
    if "person" not in written:
        assert run_cli("check", "release/table.parquet", "--policy", "divulge.toml").code == 0


def test_every_role_has_its_reason_as_a_comment(folder: Path) -> None:
    pyarrow.csv.write_csv(patients(rows=300, seed=3), folder / "p.csv")
    document = run_cli("init", "p.csv", "--json").json()
    text = (folder / "divulge.toml").read_text(encoding="utf-8")
    assert document["written"] == "divulge.toml"
    assert document["policy"] == tomllib.loads(text)
    for item in document["columns"]:
        assert f'"{item["column"]}",  # {item["reason"]}' in text
    shown = run_cli("init", "p.csv", "--out", "other.toml")
    assert "identifier: patient_id" in shown.out
    assert "divulge check p.csv --policy other.toml" in shown.out


def test_it_replaces_nothing_unasked(folder: Path) -> None:
    pyarrow.csv.write_csv(WITHOUT_SECRETS, folder / "t.csv")
    (folder / "divulge.toml").write_text("# mine\n", encoding="utf-8")
    shown = run_cli("init", "t.csv")
    assert (shown.code, "is there already" in shown.err) == (2, True)
    assert (folder / "divulge.toml").read_text(encoding="utf-8") == "# mine\n"
    assert run_cli("init", "t.csv", "--force").code == 0
    assert "k_anonymity" in (folder / "divulge.toml").read_text(encoding="utf-8")


def test_a_table_that_tells_nobody_apart_gets_none(folder: Path) -> None:
    (folder / "t.csv").write_text("note\nsame\nsame\n", encoding="utf-8")
    shown = run_cli("init", "t.csv")
    assert (shown.code, "others may know of a person" in shown.err) == (2, True)
    assert not (folder / "divulge.toml").exists()
