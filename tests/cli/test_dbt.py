# SPDX-License-Identifier: Apache-2.0
"""The dbt package: its SQL returns our numbers on random tables, and dbt runs its tests.

Jinja alone renders the SQL, as dbt would, and DuckDB runs it. dbt has an environment of its own,
which is created once if a package index can be reached: its parser and ours do not fit one lock
file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.datasets import patients
from divulge.metrics import METRICS
from tests.helpers import run_cli
from tests.sources.postgres_server import PostgresServer

Generic = Mapping[str, Callable[..., str]]
Rows = list[dict[str, Any]]
IDENTITY = ("k_anonymity", "identity_itpr")
AT_LEAST = ("k_anonymity", "l_diversity", "entropy_l_diversity")
TESTS = (
    *AT_LEAST,
    "t_closeness",
    "distribution_leakage",
    "entropy_leakage",
    "itpr",
    "identity_itpr",
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package that the command writes."""
    folder = tmp_path_factory.mktemp("dbt") / "divulge_dbt"
    shown = run_cli("dbt", str(folder), "--json")
    assert (shown.code, len(shown.json()["written"])) == (0, 2 + len(TESTS))
    return folder


@pytest.fixture(scope="module")
def generic(package: Path) -> Generic:
    """Return the generic tests as functions that return a statement, as macros of dbt do."""
    loaded = jinja2.Environment(extensions=["jinja2.ext.do"], undefined=jinja2.StrictUndefined)  # noqa: S701 - SQL
    loaded.globals["target"] = {"type": "duckdb"}
    loaded.globals["divulge"] = loaded.from_string(
        (package / "macros/classes.sql").read_text(encoding="utf-8")
    ).module
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (package / "macros").iterdir()}
    macros = {
        name: text.replace("{% test ", "{% macro test_").replace("endtest", "endmacro")
        for name, text in texts.items()
    }
    return {
        name: getattr(loaded.from_string(text).module, f"test_{name}")
        for name, text in macros.items()
        if name != "classes"
    }


def numbers(
    generic: Generic, ask: Callable[[str], Rows], distance: str
) -> dict[str, dict[Any, float]]:
    """Return the value of each class by each test, with a bound that every class violates."""
    found = {}
    for name, statement in generic.items():
        asked: dict[str, Any] = {"at_least": 1e9} if name in AT_LEAST else {"at_most": -1e9}
        asked |= {} if name in IDENTITY else {"sensitive": "s"}
        asked |= {"distance": distance} if name == "t_closeness" else {}
        rows = ask(statement("people", quasi_identifiers=["q", "r"], **asked))
        found[name] = {(row["q"], row["r"]): row[name] for row in rows}
    return found


def ours(table: pa.Table, distance: str) -> dict[str, dict[Any, float]]:
    """Return the value of each class by `dv.measure`."""
    her = dv.Adversary(distances={"s": "ordered" if distance == "ordered" else "equal"})
    measured = dv.measure(table, quasi_identifiers=["q", "r"], sensitive="s", adversary=her)
    keys = [
        tuple(measured.contingency.class_key(place).values())
        for place in range(measured.class_count)
    ]
    found: dict[str, dict[Any, float]] = {}
    for name in TESTS:
        scope = "identity" if name in IDENTITY else "sensitive"
        metric = next(
            it for it in METRICS if (it.name, it.scope) == (name.removeprefix("identity_"), scope)
        )
        assert metric.per_class is not None
        view = measured.identity_view if name in IDENTITY else measured.beliefs["s"]
        found[name] = dict(zip(keys, metric.per_class(view).tolist(), strict=True))
    return found


def drawn(seed: int) -> pa.Table:
    """Draw a table with few values, some of them null.

    Seed 0 has one class, seed 1 one value, seed 2 one person.
    """
    chance = np.random.default_rng(seed)
    rows = 1 if seed == 2 else int(chance.integers(2, 60))
    q = [
        None if pick == 0 else f"q{pick}"
        for pick in chance.integers(0, 1 if seed == 0 else 4, rows)
    ]
    r = chance.integers(0, 1 if seed == 0 else 3, rows)
    s = [
        None if pick == 0 else int(pick) for pick in chance.integers(0, 1 if seed == 1 else 5, rows)
    ]
    return pa.table({"q": pa.array(q, pa.string()), "r": r, "s": pa.array(s, pa.int64())})


def assert_equal(theirs: Mapping[str, Mapping[Any, float]], table: pa.Table, distance: str) -> None:
    mine = ours(table, distance)
    assert set(theirs) == set(TESTS)
    for name in TESTS:
        assert theirs[name] == pytest.approx(mine[name], abs=1e-9), name


def in_duckdb(generic: Generic, table: pa.Table, distance: str) -> dict[str, dict[Any, float]]:
    with duckdb.connect() as connection:
        connection.register("people", table)
        return numbers(
            generic, lambda sql: connection.sql(sql).to_arrow_table().to_pylist(), distance
        )


@pytest.mark.parametrize("distance", ["equal", "ordered"])
@pytest.mark.parametrize("seed", range(8))
def test_the_sql_gives_our_numbers(generic: Generic, seed: int, distance: str) -> None:
    assert_equal(in_duckdb(generic, drawn(seed), distance), drawn(seed), distance)


def test_the_sql_gives_our_numbers_in_postgresql(
    generic: Generic, database: PostgresServer
) -> None:
    """The statements run on a real server."""
    table = drawn(5)
    database.load("people", table)
    for distance in ("equal", "ordered"):
        assert_equal(numbers(generic, database.rows, distance), table, distance)


def test_the_numbers_of_the_demo(generic: Generic) -> None:
    people = patients(rows=20_000, seed=7)
    table = pa.table({"q": people["zip"], "r": people["age"], "s": people["diagnosis"]})
    assert_equal(in_duckdb(generic, table, "equal"), table, "equal")


def test_only_classes_beyond_the_bound_fail(generic: Generic) -> None:
    table = pa.table({"q": ["a", "a", "b"], "s": ["flu", "gout", "flu"]})
    with duckdb.connect() as connection:
        connection.register("people", table)
        for bound, failing in ((1, []), (2, [("b", 1)]), (3, [("a", 2), ("b", 1)])):
            statement = generic["k_anonymity"]("people", quasi_identifiers=["q"], at_least=bound)
            assert sorted(row[:2] for row in connection.execute(statement).fetchall()) == failing
        # A test below a column applies to that column.
        statement = generic["l_diversity"](
            "people", quasi_identifiers=["q"], at_least=2, column_name="s"
        )
        assert [row[0] for row in connection.execute(statement).fetchall()] == ["b"]


def test_a_foreign_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.sql").touch()
    shown = run_cli("dbt", str(tmp_path), "--force")
    assert (shown.code, "is not empty" in shown.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.sql"]
    again = tmp_path / "new"
    assert [
        run_cli("dbt", str(again)).code,
        run_cli("dbt", str(again)).code,
        run_cli("dbt", str(again), "--force").code,
    ] == [0, 2, 0]


# --- dbt itself -----------------------------------------------------------------------------------
PINS = ("dbt-core==1.10.23", "dbt-duckdb==1.11.1")
"""Later ones fetch their parser when they run."""
ENVIRONMENT = Path(__file__).parents[2] / "build" / "dbt-1.10.23"
RUN = """
import sys
from dbt.cli.main import dbtRunner

dbt = dbtRunner()
for line in (["deps"], ["build", "--store-failures"]):
    done = dbt.invoke([*line, "--profiles-dir", ".", "--quiet", "--no-partial-parse"])
    if done.exception:
        sys.exit(str(done.exception))
print(*(f"{each.node.name.split('_patients')[0]}={each.status}={each.failures}" for each in done.result), sep="\\n")
"""  # noqa: E501
PROJECT = {
    "dbt_project.yml": "name: hospital\nversion: '1.0'\nconfig-version: 2\nprofile: hospital\n",
    "profiles.yml": "hospital:\n  target: dev\n  outputs:\n    dev: {type: duckdb, path: "
    "hospital.duckdb}\n",
    "packages.yml": "packages:\n  - local: divulge_dbt\n",
    "models/patients.sql": "select * from read_parquet('patients.parquet')\n",
}


@pytest.fixture(scope="module")
def dbt() -> Path:
    """Return the Python of an environment with dbt, created once; `make clean` removes it."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        pip = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--retries=1",
            "--timeout=10",
        ]
        made = subprocess.run([*pip, *PINS], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"no {' and '.join(PINS)}: {made.stderr.strip().splitlines()[-1][:200]}")
        (ENVIRONMENT / "done").touch()
    return python


def asked(name: str, bound: float) -> dict[str, Any]:
    """Return a generic test as it is written for a model."""
    arguments: dict[str, Any] = {
        "quasi_identifiers": ["q", "r"],
        "at_least" if name in AT_LEAST else "at_most": bound,
    }
    return {
        f"divulge.{name}": {
            "arguments": arguments | ({} if name in IDENTITY else {"sensitive": "s"})
        }
    }


@pytest.mark.slow
def test_dbt_runs_the_tests_and_keeps_our_numbers(dbt: Path, tmp_path: Path) -> None:
    people = patients(rows=20_000, seed=7)
    table = pa.table({"q": people["zip"], "r": people["age"], "s": people["diagnosis"]})
    beside = [asked(name, 1e9 if name in AT_LEAST else -1e9) for name in TESTS] + [
        asked("k_anonymity", 1)
    ]
    files = PROJECT | {
        "models/patients.yml": json.dumps({"models": [{"name": "patients", "data_tests": beside}]})
    }
    (tmp_path / "models").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    pq.write_table(table, tmp_path / "patients.parquet")
    assert run_cli("dbt", str(tmp_path / "divulge_dbt")).code == 0
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "DO_NOT_TRACK": "1"
    }
    done = subprocess.run(
        [str(dbt), "-c", RUN],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    mine = ours(table, "equal")
    classes = str(len(mine["k_anonymity"]))
    told = [
        line.split("=")
        for line in done.stdout.split()
        if line.startswith("divulge_") and "=" in line
    ]
    assert sorted(told) == sorted(
        [
            ["divulge_k_anonymity", "pass", "0"],
            *([f"divulge_{name}", "fail", classes] for name in TESTS),
        ]
    )
    with duckdb.connect(str(tmp_path / "hospital.duckdb"), read_only=True) as kept:
        stored = [
            name
            for (name,) in kept.execute(
                "SELECT table_name FROM duckdb_tables() WHERE estimated_size > 0"
            ).fetchall()
        ]
        for name in TESTS:
            (one,) = [found for found in stored if found.startswith(f"divulge_{name}_patients")]
            rows = kept.execute(
                f'SELECT q, r, {name} FROM "main_dbt_test__audit"."{one}"'
            ).fetchall()
            assert {(q, r): number for q, r, number in rows} == pytest.approx(
                mine[name], abs=1e-9
            ), name
