# SPDX-License-Identifier: Apache-2.0
"""Databases: DuckDB files, one SELECT on any database, other ADBC drivers by URI.

Nothing is ever written to them.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
import traceback
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

import divulge as dv
from divulge.errors import BadInput, MissingDependency
from divulge.releases import private_place
from divulge.sources.databases import one_select
from tests.docs.json_schema import assert_fits
from tests.helpers import run_cli
from tests.sources.postgres_server import PostgresServer

PEOPLE = [("00100", 30, "flu"), ("00100", 30, "cold"), ("00200", 41, "flu"), ("00200", 41, "flu")]
KIND = ("sqlite", "duckdb")


def database(kind: str, folder: Path) -> Path:
    """Make a file with the tables people and other."""
    path = folder / f"clinic.{kind}"
    connect: Any = sqlite3.connect if kind == "sqlite" else duckdb.connect
    with closing(connect(str(path))) as connection:
        connection.execute("CREATE TABLE people (zip VARCHAR(5), age INTEGER, disease VARCHAR(9))")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE)
        connection.execute("CREATE VIEW old AS SELECT * FROM people WHERE age > 40")
        connection.commit()
    return path


def rows(source: object, **how: Any) -> list[tuple[Any, ...]]:
    table = dv.read(source, **how)
    found = table.engine.query(f"SELECT * FROM {table.relation}").to_pylist()
    return sorted(tuple(row.values()) for row in found)


@pytest.mark.parametrize("kind", KIND)
def test_tables_views_and_statements(kind: str, tmp_path: Path, engine: Any) -> None:
    path = database(kind, tmp_path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    assert rows(path, table="people", engine=engine) == sorted(PEOPLE)
    assert rows(path, table="old", engine=engine) == [("00200", 41, "flu")] * 2
    asked = "SELECT zip, count(*) AS n FROM people GROUP BY zip"
    assert rows(path, sql=asked, engine=engine) == [("00100", 2), ("00200", 2)]
    assert rows(f"{kind}:///{path}", table="people", engine=engine) == sorted(PEOPLE)
    table = dv.read(path, sql=asked, engine=engine)
    assert table.reading_settings == {
        "source": f"the statement on {path}",
        "read": {"kind": kind, "sql": asked, "notes": []},
    }
    with pytest.raises(BadInput, match="has 2 tables and none was chosen"):
        dv.read(path, engine=engine)
    with pytest.raises(BadInput, match=r"has no table 'peopel'.*did you mean 'people'"):
        dv.read(path, table="peopel", engine=engine)
    with pytest.raises(BadInput, match="both given"):
        dv.read(path, table="people", sql=asked, engine=engine)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


@pytest.mark.parametrize("kind", KIND)
def test_every_command_takes_them(kind: str, tmp_path: Path) -> None:
    path = str(database(kind, tmp_path))
    roles = ("--qi", "zip,age", "--sensitive", "disease")
    found = run_cli("measure", path, "--table", "people", *roles, "--json").json()
    assert (found["rows"], found["settings"]["read"]["table"]) == (4, "people")
    young = "SELECT zip, age, disease FROM people WHERE age < 40"
    found = run_cli("check", path, "--sql", young, *roles, "--k-anonymity", "3", "--json")
    assert (found.code, found.json()["settings"]["read"]["sql"]) == (1, young)
    assert_fits(["check"], found.json())
    release = tmp_path / "release"
    made = run_cli(
        "generalize", path, "--table", "people", *roles, "--k-anonymity", "2", "--out", str(release)
    )
    assert made.code == 0, made.err
    # The statement and the address are not published.
    told = (release / "manifest.json").read_text() + (
        private_place(release) / "manifest.json"
    ).read_text()
    assert str(tmp_path) not in told
    assert '"read"' not in told


def test_a_policy_names_a_table_of_a_database_for_the_adversary(tmp_path: Path) -> None:
    database("duckdb", tmp_path)
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'quasi_identifiers = ["zip"]\nsensitive = "disease"\nuniques = 1000\n'
        '[adversary]\noriginal = {source = "clinic.duckdb", sql = "SELECT * FROM people"}\n',
        encoding="utf-8",
    )
    here = {"source": str(tmp_path / "clinic.duckdb"), "table": "old"}
    verdict = dv.check(here, policy)
    assert (
        verdict.measurement.settings["original"] == f"the statement on {tmp_path / 'clinic.duckdb'}"
    )
    assert verdict.measurement.settings["prior"] == {"disease": "original"}
    with pytest.raises(BadInput, match=r"a table has no option 'tabel'. did you mean 'table'\?"):
        dv.read({"source": "x.duckdb", "tabel": "old"})


# A statement, and whether it is one SELECT.
STATEMENTS = {
    "SELECT * FROM people": True,
    "  select 1 ; ": True,
    "-- a word\nSELECT 1": True,
    "WITH x AS (SELECT 1 AS a) SELECT * FROM x": True,
    "(SELECT 1 AS a) UNION ALL (SELECT 2)": True,
    "SELECT 'DROP TABLE people; ' AS a": True,
    "SELECT 1; SELECT 2": False,
    "SELECT 1; DROP TABLE people": False,
    "DELETE FROM people": False,
    "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone": False,
    "SELECT * INTO other FROM people": False,
    "SELECT * FROM people FOR UPDATE": False,
    "CREATE TABLE t AS SELECT 1": False,
    "COPY people TO 'x.csv'": False,
    "ATTACH 'x.db' AS x": False,
    "PRAGMA journal_mode = DELETE": False,
    "EXPLAIN SELECT 1": False,
    "CALL wipe()": False,
    "": False,
    "SELECT FROM WHERE": False,
}


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", None])
@pytest.mark.parametrize(("statement", "fine"), STATEMENTS.items())
def test_only_one_select_is_accepted(
    *, statement: str, fine: bool, dialect: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    if fine:
        assert one_select(statement, dialect) == statement.strip().removesuffix(";").strip()
    else:
        with pytest.raises(BadInput, match=r"is not one SELECT|cannot be understood"):
            one_select(statement, dialect)
    assert not caplog.records


@pytest.mark.parametrize("kind", KIND)
def test_a_refused_statement_changes_nothing_and_is_one_line(kind: str, tmp_path: Path) -> None:
    path = database(kind, tmp_path)
    found = run_cli("measure", str(path), "--sql", "DELETE FROM people", "--qi", "zip")
    assert (found.code, found.err.count("\n")) == (2, 1)
    assert "--sql SELECT is not one SELECT" in found.err
    found = run_cli("measure", str(path), "--sql", "SELECT nothing FROM nowhere", "--qi", "zip")
    assert (found.code, found.err.count("\n")) == (2, 1)
    assert len(rows(path, table="people")) == 4
    with pytest.raises(BadInput, match="occurs twice"):
        dv.read(path, sql="SELECT zip, zip FROM people")


def test_a_statement_on_a_duckdb_file_sees_no_other_file(tmp_path: Path) -> None:
    path = database("duckdb", tmp_path)
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    for sql in (
        f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",
        f"SELECT * FROM '{tmp_path}/secret.csv'",
    ):
        with pytest.raises(BadInput, match="cannot be answered"):
            dv.read(path, sql=sql)


def test_a_duckdb_file_that_is_open_for_writing_is_reported(tmp_path: Path) -> None:
    path = database("duckdb", tmp_path)
    with closing(duckdb.connect(str(path))) as connection:
        with pytest.raises(BadInput, match=r"cannot be opened: .*Close what writes to it"):
            dv.read(path, table="people")
        assert dv.read(connection.table("people")).names == ("zip", "age", "disease")
    assert len(rows(path, table="people")) == 4


def test_schemas_and_types_of_a_duckdb_file(tmp_path: Path) -> None:
    with closing(duckdb.connect(str(tmp_path / "t.ddb"))) as connection:
        connection.execute(
            "CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1.50::DECIMAL(9, 2) AS a, [1, 2] AS b"
        )
    table = dv.read(tmp_path / "t.ddb")
    assert table.source == f"table 's.t' of {tmp_path / 't.ddb'}"
    assert {column.name: column.kind for column in table.columns} == {"a": "number", "b": "nested"}
    # the same file twice in one engine
    beside = dv.read(tmp_path / "t.ddb", table="s.t", engine=table.engine)
    assert beside.engine.query(f"SELECT a FROM {beside.relation}").to_pylist() == [
        {"a": Decimal("1.50")}
    ]


def test_a_statement_on_postgresql(database: PostgresServer) -> None:
    database.run("CREATE TABLE people (zip text, cost numeric(6, 2), born date)")
    database.run(
        "INSERT INTO people VALUES ('00100', 1.5, '1990-01-31'), ('00200', 2.25, '1980-02-29')"
    )
    asked = (
        "SELECT zip, cost, extract(year FROM born) AS year -- by year\nFROM people WHERE cost > 1;"
    )
    table = dv.read(database.url, sql=asked)
    assert {column.name: column.kind for column in table.columns} == {
        "zip": "text",
        "cost": "number",
        "year": "number",
    }
    assert rows(table) == [("00100", Decimal("1.50"), 1990), ("00200", Decimal("2.25"), 1980)]
    for harmful in (
        "DELETE FROM people",
        "WITH d AS (DELETE FROM people RETURNING *) SELECT * FROM d",
        "SELECT 1; SELECT 2",
    ):
        with pytest.raises(BadInput, match="is not one SELECT"):
            dv.read(database.url, sql=harmful)
    # No parser detects this: the transaction is read-only.
    database.run(
        "CREATE FUNCTION wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM people RETURNING 1'"
    )
    with pytest.raises(BadInput, match="read-only transaction"):
        dv.read(database.url, sql="SELECT wipe()")
    assert len(rows(database.url, table="people")) == 2


def test_another_driver_by_its_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver manifest, by which ADBC's driver manager finds drivers.

    It loads ADBC's own driver for SQLite.
    """
    driver = pytest.importorskip("adbc_driver_sqlite", reason="pip install adbc-driver-sqlite")
    (library,) = (
        path
        for path in Path(driver.__file__).parent.iterdir()
        if "libadbc_driver_sqlite" in path.name
    )
    (tmp_path / "clinicdb.toml").write_text(
        f"manifest_version = 1\nname = 'clinicdb'\n[Driver]\nshared = {str(library)!r}\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("ADBC_DRIVER_PATH", str(tmp_path))
    (tmp_path / "clinicdb:").mkdir()  # the driver takes the address for the name of a file
    database("sqlite", tmp_path).rename(tmp_path / "clinicdb:" / "people.db")
    monkeypatch.chdir(tmp_path)
    assert rows("clinicdb://people.db", table="people") == sorted(PEOPLE)
    asked = "SELECT age, disease FROM people WHERE age < 40"
    table = dv.read("clinicdb://people.db", sql=asked)
    assert rows(table) == [(30, "cold"), (30, "flu")]
    assert table.reading.document() == {"kind": "adbc clinicdb", "sql": asked, "notes": []}
    with pytest.raises(BadInput, match="is not one SELECT"):
        dv.read("clinicdb://people.db", sql="DROP TABLE people")
    with pytest.raises(BadInput, match=r"cannot be read: .*no such table"):
        dv.read("clinicdb://people.db", sql="SELECT * FROM nowhere")


@pytest.mark.parametrize(
    "address", ["nosuch://me:hunter2@host/db?token=hunter3", "nosuch://hunter2@host/db"]
)
def test_a_missing_driver_is_one_line_without_secrets(address: str) -> None:
    with pytest.raises(
        MissingDependency, match=r"no ADBC driver 'nosuch'.*pip install adbc-driver-nosuch"
    ) as caught:
        dv.read(address, table="people")
    assert "hunter" not in "".join(traceback.format_exception(caught.value))
    found = run_cli("measure", address, "--qi", "zip", "--json")
    assert (found.code, "hunter" in found.out + found.err) == (2, False)


def test_without_the_driver_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_manager", None)
    with pytest.raises(MissingDependency, match="adbc-driver-manager is not installed"):
        dv.read("snowflake://me@account/db", table="people")
