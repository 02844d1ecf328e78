# SPDX-License-Identifier: Apache-2.0
"""Counting with less memory than it takes.

Spilled data is private, results are equal, and nothing is left behind in any case.
"""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from operator import add
from pathlib import Path
from typing import Any, Self

import duckdb
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, OwnEngine, memory
from divulge.engines import duckdb as engine_module
from divulge.errors import BadInput
from divulge.sources import read
from tests.helpers import run_cli

ROWS = 1_000_000
SOURCE = Path(__file__).parents[2] / "src"


def write_parquet(path: Path, sql: str) -> None:
    duckdb.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet)")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million people, half of them unique and half in pairs: 750,000 classes with long keys."""
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    write_parquet(
        path,
        "SELECT 'a long key that needs memory ' || (CASE WHEN i % 4 < 2 THEN i ELSE i - i % 2 "
        "END)::VARCHAR AS name, "
        f"i % 4 < 2 AS alone FROM range({ROWS}) AS t(i)",
    )
    return path


def test_a_union_that_is_many_times_the_memory_is_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 MB of rows in 20 MB of memory.

    A sort within the statement that unites them made DuckDB run out of memory.
    """
    for part in ("FIXED", "SMALLEST"):
        monkeypatch.setattr(memory, part, 0)
    engine = DuckDBEngine(memory_limit="40MB", temp_directory=tmp_path)
    texts = "chr(65 + CAST(HASH(i) % 26 AS INT)) || repeat('a', 30)"
    rows = [
        f"SELECT CAST(i * 7919 % 100000 AS BIGINT) AS g, {v} AS v FROM range(200000) AS t(i)"
        for v in ("NULL", texts, "NULL")
    ]
    held = engine.hold(" UNION ALL ".join(rows), together=["g"])
    found = engine.fold(
        held, lambda batches: [g for batch in batches for g in batch["g"].to_pylist()], add
    )
    # 7919 is a prime, so each comes twice in 200,000
    assert found == [g for g in range(100_000) for _ in range(6)]
    assert held.table()["v"].null_count == 400_000


class Spills:
    """Watches a directory for files that appear in private directories below it."""

    def __init__(self, parent: Path) -> None:
        self.largest = 0
        self.modes: set[int] = set()
        self._parent, self._done = parent, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            for directory in self._parent.glob("divulge-*"):
                try:
                    self.modes.add(stat.S_IMODE(directory.stat().st_mode))
                    sizes = [path.stat().st_size for path in directory.glob("duckdb_temp*")]
                except FileNotFoundError:
                    continue
                self.largest = max(self.largest, sum(sizes))


def test_spilled_data_is_private_and_goes_away(people: Path, tmp_path: Path) -> None:
    engine = DuckDBEngine(memory_limit="300MB", temp_directory=tmp_path, threads=2)
    spectrum = (
        "SELECT n, COUNT(*) AS m FROM (SELECT COUNT(*) AS n FROM {} GROUP BY name) AS c "
        "GROUP BY "
        "n ORDER BY n"
    )
    with Spills(tmp_path) as spills:
        counted = engine.query(spectrum.format(read(people, engine=engine).relation)).to_pylist()
    # By construction: half of the people unique, the other half in pairs.
    assert counted == [{"n": 1, "m": ROWS // 2}, {"n": 2, "m": ROWS // 4}]
    assert spills.largest > 10_000_000
    assert spills.modes == {0o700}
    engine.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command_counts_out_of_core(people: Path, tmp_path: Path) -> None:
    with Spills(tmp_path) as spills:
        document = run_cli(
            "profile",
            str(people),
            "--memory-limit",
            "300MB",
            "--temp-directory",
            str(tmp_path),
            "--json",
        ).json()
    name = next(item for item in document["columns"] if item["column"] == "name")
    assert (name["distinct"], name["uniques"]) == (ROWS * 3 // 4, ROWS // 2)
    assert spills.largest > 10_000_000
    assert spills.modes == {0o700}
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_is_reported(people: Path, tmp_path: Path) -> None:
    shown = run_cli(
        "profile", str(people), "--memory-limit", "5MB", "--temp-directory", str(tmp_path)
    )
    assert (shown.code, shown.err.count("\n")) == (2, 1)
    assert "a memory limit of 5MB is too small" in shown.err
    assert "The smallest that works is 300MB" in shown.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--memory-limit", "plenty"], "--memory-limit"),
        (["--temp-directory", "nowhere-at-all"], "nowhere-at-all"),
        (["--engine", "spark", "--memory-limit", "4GB"], "are DuckDB's"),
    ],
)
def test_options_that_make_no_sense(people: Path, arguments: list[str], told: str) -> None:
    shown = run_cli("profile", str(people), *arguments)
    assert (shown.code, told in shown.err) == (2, True)


@pytest.mark.slow
def test_progress_of_a_statement(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_PROGRESS_INTERVAL", 0.001)
    heard: list[tuple[int, int]] = []
    engine = DuckDBEngine(threads=1, progress=lambda done, total: heard.append((done, total)))
    dv.profile(read(people, engine=engine))
    assert heard[-1] == (100, 100)
    assert len(heard) > 2
    assert all(0 <= done <= total == 100 for done, total in heard)


def test_an_error_while_streaming_is_reported() -> None:
    """DuckDB takes no other statement while a stream is open; that must not hide the error."""
    engine = DuckDBEngine(memory_limit="300MB")
    held = engine.hold("SELECT * FROM range(1000000)")

    def refuse(batches: Iterator[Any]) -> int:
        next(batches)
        raise BadInput("the answer is no")

    with pytest.raises(BadInput, match=r"^the answer is no$"):
        engine.fold(held, refuse, add)
    assert engine.fold(held, lambda batches: sum(batch.num_rows for batch in batches), add) == 10**6


ENDLESS = """
import os, signal
from divulge.engines.duckdb import DuckDBEngine
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it
engine = DuckDBEngine()
try:
    print("ready", flush=True)
    engine.query("SELECT SUM(hash(a.range, b.range)) FROM range(100000000) AS a, range(1000000) AS b")
except KeyboardInterrupt:
    os._exit(42)
"""  # noqa: E501


def test_ctrl_c_ends_a_statement() -> None:
    """DuckDB turns Ctrl-C into an error of its own.

    The statement would take days; DuckDB may miss a signal before it really runs.
    """
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], env=environment, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        ended = None
        for _ in range(40):
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                ended = process.wait(3)
                break
        process.kill()  # no effect if it has ended
    assert ended == 42


def interrupt(*_: object) -> None:
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt


def test_ctrl_c_prints_one_line(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DuckDBEngine, "keep", interrupt)
    roles = ["--qi", "name", "--memory-limit", "300MB", "--temp-directory", str(tmp_path)]
    shown = run_cli("measure", str(people), *roles)
    assert (shown.code, shown.out, shown.err) == (130, "", "divulge: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many classes, nulls among keys and values, two sensitive attributes, and people with
    several rows.
    """
    path = tmp_path_factory.mktemp("visits") / "visits.parquet"
    write_parquet(
        path,
        "SELECT (hash(i, 1) % 7000)::INT AS zip, CASE WHEN i % 7 = 0 THEN NULL ELSE 'g' || "
        "(hash(i, 2) % 4) END AS sex, "
        "CASE WHEN i % 11 = 0 THEN NULL ELSE 'd' || (hash(i, 3) % 15) END AS disease, (hash(i, "
        "4) % 9)::INT AS visits, "
        "(hash(i, 5) % 8000)::INT AS who FROM range(20000) AS t(i)",
    )
    return path


@pytest.mark.parametrize("engine", ["limit", "spark"], indirect=True)
def test_thousands_of_classes_outside_memory_give_equal_results(
    visits: Path, engine: OwnEngine
) -> None:
    """Compared with memory, which has its own oracle: every metric, and the worst class.

    Small tables: test_spark_agrees.py.
    """
    asked: dict[str, Any] = {
        "quasi_identifiers": ["zip", "sex"],
        "sensitive": ["disease", "visits"],
        "joint": True,
    }
    ordinary, found = dv.measure(visits, **asked), dv.measure(visits, **asked, engine=engine)
    assert (ordinary.settings["counts"], found.settings["counts"]) == (
        "collected",
        engine.storage.split()[-1],
    )
    assert found.notes[-1].startswith(f"the counts stayed on {engine.storage}")
    pairs = [(found.identity, ordinary.identity)]
    pairs += [(found.sensitive[name], ordinary.sensitive[name]) for name in ordinary.sensitive]
    for ours, theirs in pairs:
        assert {name: score.value for name, score in ours.items()} == pytest.approx(
            {name: score.value for name, score in theirs.items()}, rel=1e-9, abs=1e-9
        )
        assert {name: score.worst and score.worst.key for name, score in ours.items()} == {
            name: score.worst and score.worst.key for name, score in theirs.items()
        }


def test_unreferenced_counts_on_disk_are_removed(visits: Path, limited: DuckDBEngine) -> None:
    found = dv.measure(
        visits, quasi_identifiers=["zip", "sex"], sensitive="disease", person="who", engine=limited
    )
    kept = "SELECT COUNT(*) > 0 AS n FROM duckdb_tables()"
    assert limited.query(kept).to_pylist() == [{"n": True}]
    del found
    gc.collect()
    assert limited.query(kept).to_pylist() == [{"n": False}]


def test_few_counts_are_taken_into_memory(visits: Path) -> None:
    found = dv.measure(visits, quasi_identifiers="sex", engine=DuckDBEngine(memory_limit="1GB"))
    assert found.settings["counts"] == "collected"
    assert len(found.contingency) == 5
