# SPDX-License-Identifier: Apache-2.0
"""`divulge init`: the first policy of a table has a role for every column and works unchanged."""

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
WITHOUT_SECRETS = pa.table(
    {"age": [20 + i % 5 for i in range(60)], "sex": ["fm"[i % 2] for i in range(60)]}
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "table",
    [patients(rows=1_000, seed=3), VISITS, WEIGHTED, WITHOUT_SECRETS],
    ids=["patients", "visits", "weighted", "plain"],
)
def test_the_first_policy_works_unchanged(table: pa.Table, folder: Path) -> None:
    pq.write_table(table, folder / "t.parquet")
    assert run_cli("init", "t.parquet").code == 0
    written = tomllib.loads((folder / "divulge.toml").read_text(encoding="utf-8"))
    roles = [
        written.get(role, [])
        for role in ("quasi_identifiers", "sensitive", "identifier", "leave_out", "plain")
    ]
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
    # The published table meets the policy too, when it is read as any other table.
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


def test_it_replaces_no_file_without_force(folder: Path) -> None:
    pyarrow.csv.write_csv(WITHOUT_SECRETS, folder / "t.csv")
    (folder / "divulge.toml").write_text("# mine\n", encoding="utf-8")
    shown = run_cli("init", "t.csv")
    assert (shown.code, "is there already" in shown.err) == (2, True)
    assert (folder / "divulge.toml").read_text(encoding="utf-8") == "# mine\n"
    assert run_cli("init", "t.csv", "--force").code == 0
    assert "k_anonymity" in (folder / "divulge.toml").read_text(encoding="utf-8")


def test_a_table_without_quasi_identifiers_gets_no_policy(folder: Path) -> None:
    (folder / "t.csv").write_text("note\nsame\nsame\n", encoding="utf-8")
    shown = run_cli("init", "t.csv")
    assert (shown.code, "others may know of a person" in shown.err) == (2, True)
    assert not (folder / "divulge.toml").exists()


def test_the_first_policy_finds_what_k_and_l_miss(folder: Path) -> None:
    """The demo's naive release has k = 16 and l = 2, but two classes nearly reveal a disease."""
    table = patients(rows=20_000, seed=2026)
    zips = [text[:3] + "**" for text in table.column("zip").to_pylist()]
    ages = [
        ">=80" if age >= 80 else f"{age // 10 * 10}-" for age in table.column("age").to_pylist()
    ]
    usual = pa.table(
        {
            "zip": zips,
            "age": ages,
            "sex": table.column("sex"),
            "diagnosis": table.column("diagnosis"),
        }
    )
    pyarrow.csv.write_csv(table.select(["zip", "age", "sex", "diagnosis"]), folder / "p.csv")
    pyarrow.csv.write_csv(usual, folder / "usual.csv")
    assert run_cli("init", "p.csv").code == 0
    written = tomllib.loads((folder / "divulge.toml").read_text(encoding="utf-8"))
    assert written["promises"]["unique_share"] == 0.01
    judged = run_cli("check", "usual.csv", "--json").json()
    broken = [item for item in judged["promises"] if not item["holds"]]
    assert [(item["metric"], item["breaking_classes"]) for item in broken] == [
        ("distribution_leakage", 2)
    ]
    assert {item["class"]["zip"] for item in broken[0]["sample"]} == {"042**"}


def test_undecided_columns_are_dropped(folder: Path) -> None:
    """`flag` distinguishes few people, but others may know it."""
    table = WITHOUT_SECRETS.append_column("flag", pa.array([int(i == 7) for i in range(60)]))
    table = table.append_column("constant", pa.array([1] * 60))
    pyarrow.csv.write_csv(table, folder / "t.csv")
    assert run_cli("init", "t.csv").code == 0
    text = (folder / "divulge.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text)
    assert (written["leave_out"], written["plain"]) == (["flag"], ["constant"])
    assert (
        "To keep a column, move it to quasi_identifiers if others may know it, otherwise to plain."
        in text
    )
