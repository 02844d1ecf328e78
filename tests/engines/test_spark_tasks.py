# SPDX-License-Identifier: Apache-2.0
"""profile, rank, check and the commands give equal results on every engine.

Counts are collected, on disk and on the cluster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from rich.console import Console

import divulge as dv
from divulge.engines import Engine, SparkEngine
from divulge.errors import BadInput
from divulge.metrics import conditions_of
from divulge.output.measurement import story_text
from divulge.policy import Policy, judge
from divulge.results import plain
from tests.engines.spark_cases import beliefs, odd_names, people, weights
from tests.engines.spark_documents import differences
from tests.helpers import run_cli, with_adversary

ROOT = Path(__file__).parent.parent.parent


def as_json(document: Any) -> Any:
    """Return a document as a command prints it, without what must differ."""
    found = json.loads(json.dumps(plain(document)))
    for name in ("engine", "counts", "source"):
        found.get("settings", {}).pop(name, None)
    return found


def allow_cells(engine: Any, cells: int) -> None:
    """Keep counts of more cells than these outside of memory."""
    setattr(engine, "collect_limit" if engine.name == "spark" else "cell_limit", cells)


ELSEWHERE = pytest.mark.parametrize("engine", ["limit", "spark"], indirect=True)
"""Engines that keep counts outside of memory, compared with DuckDB in memory."""
EVERYWHERE = pytest.mark.parametrize("engine", ["limit", "spark", "spark collected"], indirect=True)


@ELSEWHERE
def test_profiles_agree(engine: Engine) -> None:
    table = odd_names().table
    here = as_json(dv.profile(table).to_dict())
    there = as_json(dv.profile(table, engine=engine).to_dict())
    assert differences(here, there) == []


@ELSEWHERE
@pytest.mark.parametrize("person", [None, "patient"])
def test_rankings_agree(engine: Engine, person: str | None) -> None:
    """The combination of both is too large for memory, each of them is small enough."""
    allow_cells(engine, 20)
    asked: dict[str, Any] = {
        "quasi_identifiers": ["zip", "sex"],
        "sensitive": "disease",
        "person": person,
        "up_to": 1,
    }
    table = people().table
    here, there = dv.rank(table, **asked), dv.rank(table, **asked, engine=engine)
    assert differences(as_json(here.to_dict()), as_json(there.to_dict())) == []


@EVERYWHERE
def test_verdicts_agree(engine: Engine) -> None:
    """Requirements that are met and violated, about classes and about averages, with another l."""
    case = beliefs()
    policy = Policy(
        k_anonymity=9,
        l_diversity=2,
        t_closeness=0.1,
        entropy_leakage=5,
        mutual_information=0.01,
        recursive_c_l_diversity="1.5,2",
        marketer_risk=0.01,
    )
    asked = with_adversary(case.arguments)
    here = dv.check(case.table, policy, **asked, sample=4)
    there = dv.check(case.table, policy, **asked, sample=4, engine=engine)
    mine, theirs = (as_json(found.to_dict()) for found in (here, there))
    theirs["notes"] = [note for note in theirs["notes"] if "the counts stayed on" not in note]
    assert differences(mine, theirs) == []
    assert here.holds is False
    assert {outcome.holds for outcome in here.outcomes} == {True, False}


@ELSEWHERE
def test_stories_and_conditions_agree(engine: Engine) -> None:
    case = beliefs()
    here = dv.measure(case.table, **with_adversary(case.arguments))
    there = dv.measure(case.table, **with_adversary(case.arguments), engine=engine)
    for name in here.beliefs:
        mine, theirs = (
            conditions_of(found, name, t=0.3, l_value=2.5).document() for found in (here, there)
        )
        assert differences(as_json(mine), as_json(theirs)) == []
    console = Console(width=200)
    with console.capture() as one:
        console.print(story_text(here, worst=7))
    with console.capture() as other:
        console.print(story_text(there, worst=7))
    told = [line for line in other.get().splitlines() if "the counts stayed on " not in line]
    assert told == one.get().splitlines()


def test_a_million_unique_people(spark: SparkEngine) -> None:
    """Each person is a class: every number is known, and the driver's memory does not grow."""
    n = 1_000_000
    frame = spark.session.range(n).selectExpr(
        "id", "CAST(id % 4 AS STRING) AS zip", "IF(id < 250000, 'yes', 'no') AS ill"
    )
    found = dv.measure(frame, quasi_identifiers=["id", "zip"], sensitive="ill")
    assert (found.settings["counts"], found.rows, found.class_count) == ("cluster", n, n)
    assert len(found.contingency) < 1_000
    identity = {name: score.value for name, score in found.identity.items()}
    assert (identity["k_anonymity"], identity["uniques"], identity["classes"]) == (1, n, n)
    assert identity["mutual_information"] == pytest.approx(log2(n), abs=1e-9)
    assert identity["discrimination_rate"] == pytest.approx(1.0, abs=1e-9)
    entropy = -(0.25 * log2(0.25) + 0.75 * log2(0.75))
    ill = {name: score.value for name, score in found.sensitive["ill"].items()}
    assert ill["mutual_information"] == pytest.approx(entropy, abs=1e-9)
    assert ill["surprise"] == pytest.approx(2.0, abs=1e-9)
    assert ill["t_closeness"] == pytest.approx(0.75, abs=1e-9)
    assert ill["distribution_leakage"] == pytest.approx(0.75 * 2**0.5, abs=1e-9)
    assert found.sensitive["ill"]["surprise"].worst is not None
    assert found.sensitive["ill"]["surprise"].worst.key == {"id": 0, "zip": "0"}
    broken = judge(found, Policy(alpha=0.9).promises).outcomes[0]
    assert (broken.breaking_classes, broken.breaking_people) == (n, n)


@EVERYWHERE
def test_mistakes_give_equal_messages(engine: Engine) -> None:
    table = weights().table
    unweighted = table.set_column(3, "weight", pa.array([None, *table["weight"].to_pylist()[1:]]))
    twice: dict[str, dict[str, Any]] = {
        "rows have no weight": {
            "table": unweighted,
            "quasi_identifiers": "age",
            "weight": "weight",
        },
        "has no rows": {"table": table.slice(0, 0), "quasi_identifiers": "age"},
        "no row is left": {
            "table": pa.table({"a": pa.nulls(2, pa.string())}),
            "quasi_identifiers": "a",
            "nulls": "drop",
        },
        "have no 'age', so it is not known whose": {
            "table": table,
            "quasi_identifiers": "zip",
            "person": "age",
        },
        "misses 1 combinations": {
            "table": table,
            "quasi_identifiers": "zip",
            "sensitive": "constant",
            "prior": [
                {"zip": zip_, "constant": "all", "probability": 1.0} for zip_ in ("01234", "1234")
            ],
        },
        "is ruled out": {
            "table": table,
            "quasi_identifiers": "zip",
            "sensitive": "disease",
            "rule_out": {"disease": ["flu", "HIV", "cancer"]},
        },
    }
    for told, asked in twice.items():
        given = dict(asked)
        source = given.pop("table")
        with pytest.raises(BadInput) as here:
            dv.measure(source, **with_adversary(given))
        with pytest.raises(BadInput) as there:
            dv.measure(source, **with_adversary(given), engine=engine)
        assert told in str(here.value)
        assert str(there.value) == str(here.value)


@ELSEWHERE
def test_a_population_must_hold_the_table(engine: Engine) -> None:
    allow_cells(engine, 0)
    table = pa.table({"a": ["x", "x", "y"]})
    for register in (pa.table({"a": ["x", "x"]}), pa.table({"a": ["x", "y"]})):
        with pytest.raises(BadInput, match="the population has"):
            dv.measure(
                table,
                quasi_identifiers="a",
                adversary=dv.Adversary(population=register),
                engine=engine,
            )
    with pytest.raises(
        BadInput, match="column 'a' has type VARCHAR in one table and BIGINT in the other"
    ):
        dv.measure(
            table,
            quasi_identifiers="a",
            adversary=dv.Adversary(population=pa.table({"a": [1, 2]})),
            engine=engine,
        )


def test_commands_take_the_engine(tmp_path: Path, spark: SparkEngine) -> None:  # noqa: ARG001 - the commands use its session
    path = tmp_path / "people.csv"
    pyarrow.csv.write_csv(people().table, path)
    asked = ["--qi", "zip,sex", "--sensitive", "disease", "--json"]
    here = run_cli("measure", str(path), *asked)
    there = run_cli("measure", str(path), *asked, "--engine", "spark", "--master", "local[2,4]")
    assert (there.code, there.err) == (0, "")
    assert there.json()["settings"]["engine"] == "spark"
    assert differences(as_json(here.json()), as_json(there.json())) == []
    broken = run_cli(
        "check", str(path), "--qi", "zip,sex", "--k-anonymity", "1000", "--engine", "spark"
    )
    assert broken.code == 1
    wrong = run_cli("profile", str(path), "--engine", "duckdb", "--master", "local")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)


def test_a_command_on_spark_prints_no_messages_of_java(needs_spark: None, tmp_path: Path) -> None:  # noqa: ARG001 - it skips
    """Java and Spark print messages at their start, so this runs in a separate process."""
    (tmp_path / "t.csv").write_text("zip,age\n01234,30\n01234,40\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [
        sys.executable,
        "-m",
        "divulge",
        "profile",
        "t.csv",
        "--engine",
        "spark",
        "--master",
        "local[1]",
        "--json",
    ]
    found = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert [column["type"] for column in json.loads(found.stdout)["columns"]] == [
        "VARCHAR",
        "BIGINT",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@ELSEWHERE
def test_numbers_are_numpys(engine: Engine) -> None:
    """Class sizes above 2^31 stay whole: counts are 64 bit on all sides."""
    allow_cells(engine, 0)
    table = pa.table({"a": ["x"] * 3, "w": [3_000_000_000.0, 3_000_000_001.0, 3_000_000_002.0]})
    found = dv.measure(table, quasi_identifiers="a", weight="w", engine=engine)
    assert found.identity["k_map_plug_in"].value == 9_000_000_003
    assert found.contingency.sizes.dtype == np.int64
