# SPDX-License-Identifier: Apache-2.0
"""The DuckDB engine: private, quiet, cleaned up, with clear error messages."""

from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.engines import DuckDBEngine
from divulge.engines import duckdb as engine_module
from divulge.errors import BadInput, DivulgeError, InternalError

ENGINE = DuckDBEngine()
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


def setting(engine: DuckDBEngine, name: str) -> object:
    found = engine.query("SELECT value FROM duckdb_settings() WHERE name = ?", [name]).to_pylist()
    return found[0]["value"]


def test_the_directory_is_private_and_goes_away(tmp_path: Path) -> None:
    engine = DuckDBEngine(temp_directory=tmp_path)
    assert engine.directory.parent == tmp_path
    assert stat.S_IMODE(engine.directory.stat().st_mode) == 0o700
    assert setting(engine, "temp_directory") == str(engine.directory)
    engine.store(pa.table({"a": [1]}).to_reader())
    del engine
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_two_databases_wait_for_the_next_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module._Database, "waiting", {False: [], True: []})  # noqa: SLF001
    engines = [DuckDBEngine() for _ in range(3)]
    left = [engine.directory for engine in engines]
    del engines
    taken = [DuckDBEngine() for _ in range(3)]
    assert len({engine.directory for engine in taken} & {*left}) == 2
    assert len({engine.directory for engine in taken}) == 3
    assert sum(directory.exists() for directory in left) == 2


def test_nothing_phones_home() -> None:
    assert setting(ENGINE, "autoinstall_known_extensions") == "false"
    assert setting(ENGINE, "autoload_known_extensions") == "false"
    with pytest.raises(DivulgeError):
        ENGINE.query("SELECT * FROM read_parquet('https://127.0.0.1:1/t.parquet')")


def test_options(tmp_path: Path) -> None:
    engine = DuckDBEngine(
        memory_limit="400MB", threads=1, temp_directory=tmp_path, preserve_order=True
    )
    # half of the memory that the libraries themselves leave
    assert setting(engine, "memory_limit") == "95.3 MiB"
    assert setting(engine, "threads") == "1"
    assert setting(engine, "preserve_insertion_order") == "true"
    assert setting(ENGINE, "preserve_insertion_order") == "false"


def test_a_memory_limit_leaves_each_thread_what_duckdb_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    wanted = {
        "300MB": "1",
        "698MB": "1",
        "702MB": "2",
        "1300MB": "4",
        "4GB": "4",
    }  # of half of what is above 200 MB, 125 each
    assert {
        limit: setting(DuckDBEngine(memory_limit=limit), "threads") for limit in wanted
    } == wanted
    assert setting(DuckDBEngine(memory_limit="300MB", threads=3), "threads") == "3"


def test_a_bad_option_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="DuckDB cannot start"):
        DuckDBEngine(memory_limit="plenty", temp_directory=tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BadInput, match="nowhere"):
        DuckDBEngine(temp_directory=tmp_path / "nowhere")


def test_python_variables_are_not_tables() -> None:
    people = pa.table({"a": [1]})
    assert people.num_rows == 1
    with pytest.raises(InternalError, match="people"):
        ENGINE.query("SELECT * FROM people")


@settings(deadline=None)
@given(name=TEXT, value=st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_quoting(name: str, value: str) -> None:
    found = ENGINE.query(
        f"SELECT {ENGINE.literal(value)} AS {ENGINE.quote(name)}, ? AS bound", [value]
    )
    assert found.column_names[0] == name
    assert found.to_pylist()[0][name] == value
    assert found.column(1).to_pylist() == [value]


def test_a_rejected_statement_carries_its_sql() -> None:
    with pytest.raises(
        InternalError, match=r"SELECT nothing FROM nowhere.*please report it"
    ) as caught:
        ENGINE.query("SELECT nothing\nFROM nowhere")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_the_users_matter() -> None:
    with pytest.raises(BadInput, match=r"gone\.csv"):
        ENGINE.query("SELECT * FROM read_csv('gone.csv')")


def test_memory_that_runs_out(tmp_path: Path) -> None:
    engine = DuckDBEngine(memory_limit="300MB", temp_directory=tmp_path, threads=1)
    with pytest.raises(DivulgeError, match="memory_limit") as caught:
        engine.query("SELECT list(i::VARCHAR || repeat('x', 100)) FROM range(5000000) t(i)")
    assert not isinstance(caught.value, InternalError)


def test_stored_rows_are_on_disk_and_can_be_read_again(tmp_path: Path) -> None:
    engine = DuckDBEngine(temp_directory=tmp_path)
    first = engine.store(pa.table({"a": range(100_000)}).to_reader(max_chunksize=1000))
    second = engine.store(pa.table({"a": ["7", None]}).to_reader(), select="a::BIGINT AS a")
    for relation, total in (
        (first, sum(range(100_000))),
        (first, sum(range(100_000))),
        (second, 7),
    ):
        assert engine.query(f"SELECT sum(a)::BIGINT AS total FROM {relation}").to_pylist() == [
            {"total": total}
        ]
    assert any(path.stat().st_size > 100_000 for path in engine.directory.iterdir())


def test_a_spill_goes_to_the_private_directory(tmp_path: Path) -> None:
    engine = DuckDBEngine(memory_limit="300MB", temp_directory=tmp_path, threads=1)
    sql = (
        "SELECT count(*) AS n FROM (SELECT DISTINCT i::VARCHAR || repeat('x', 40) FROM "
        "range(1500000) t(i))"
    )
    assert engine.query(sql).to_pylist() == [{"n": 1_500_000}]
    assert list(tmp_path.iterdir()) == [engine.directory]


def test_names_are_fresh() -> None:
    assert len({ENGINE.fresh_name("frame") for _ in range(10)}) == 10


def test_describe() -> None:
    assert ENGINE.describe("(SELECT 1 AS a, 'x' AS \"it's\")") == (
        ("a", "INTEGER"),
        ("it's", "VARCHAR"),
    )
    with pytest.raises(InternalError, match="nowhere"):
        ENGINE.describe("nowhere")


def test_a_database_that_is_left_serves_the_next_engine_which_sees_nothing_of_the_first() -> None:
    first = DuckDBEngine()
    directory = first.directory
    first.lend(pa.table({"secret": [1]}))
    first.query("CREATE TEMP TABLE made AS SELECT 2 AS secret")
    with pytest.raises(RuntimeError), first.in_row_order():
        raise RuntimeError
    first.close()
    second, third = DuckDBEngine(), DuckDBEngine()
    assert second.directory == directory != third.directory
    shown = (
        second.query("SELECT table_name AS name FROM information_schema.tables")
        .column("name")
        .to_pylist()
    )
    assert shown == []
    assert setting(second, "preserve_insertion_order") == "false"
    with pytest.raises(BadInput, match="closed"):
        first.query("SELECT 1 AS one")


def test_a_database_with_kept_rows_or_limits_goes_with_its_engine(tmp_path: Path) -> None:
    kept, limited, placed = (
        DuckDBEngine(),
        DuckDBEngine(threads=1),
        DuckDBEngine(temp_directory=tmp_path),
    )
    kept.keep("SELECT 1 AS secret")
    places = [engine.directory for engine in (kept, limited, placed)]
    for engine in (kept, limited, placed):
        engine.close()
    assert not [place for place in places if place.exists()]


HELD = """
import threading
from divulge.engines import DuckDBEngine, duckdb
threading.Thread(target=lambda kept: threading.Event().wait(), args=[duckdb._Database], daemon=True).start()
DuckDBEngine()
"""  # noqa: E501


def test_nothing_is_left_when_the_interpreter_ends_though_a_thread_still_waits() -> None:
    """A database that waits for the next engine must not outlive the interpreter.

    Otherwise DuckDB prints a warning about leaked objects.
    """
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run(
        [sys.executable, "-c", HELD], env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
