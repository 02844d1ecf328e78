# SPDX-License-Identifier: Apache-2.0
"""Engines agree: DuckDB in memory and within a limit, Spark in several forms.

Spark runs here, in several processes and through Connect; counts are collected or left there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from divulge.engines import Engine, SparkEngine
from divulge.engines.spark import COLLECT_LIMIT
from tests.engines.spark_cases import CASES
from tests.engines.spark_children import Child
from tests.engines.spark_documents import differences, measured
from tests.engines.spark_process import started

OTHER_SETTINGS = {
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.enabled": "false",
}
PATHS = {"collected": COLLECT_LIMIT, "cluster": 5}
PLACES = {"limit": "disk", "spark collected": "collected", "spark": "cluster"}
"""Engines of the tests, and the places of their counts."""


def assert_same(expected: dict[str, Any], found: dict[str, Any], path: str) -> None:
    """Assert equal numbers, classes, words and settings.

    If the counts stayed in another place, only for the classes that came back.
    """
    assert found["settings"].pop("engine") == ("duckdb" if path == "disk" else "spark")
    assert found["settings"].pop("counts") == path
    classes = found.pop("class_table")
    if path != "collected":
        note, where = found["notes"].pop(), {"cluster": "on the cluster", "disk": "on disk"}[path]
        assert note.startswith(
            f"the counts stayed {where}: {len(classes)} of {expected['classes']} classes"
        )
    mine = {name: value for name, value in expected.items() if name != "class_table"}
    mine["settings"] = {
        name: value for name, value in mine["settings"].items() if name not in ("engine", "counts")
    }
    assert differences(mine, found) == []
    by_key = {json.dumps(item["class"]): item for item in expected["class_table"]}
    assert len(classes) == len({json.dumps(item["class"]) for item in classes})
    if path == "collected":
        assert len(classes) == len(by_key)
    for item in classes:
        assert differences(by_key[json.dumps(item["class"])], item) == []


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", PLACES, indirect=True)
def test_engines_agree(engine: Engine, case: str, request: pytest.FixtureRequest) -> None:
    assert_same(
        measured(case, "duckdb"),
        measured(case, engine),
        PLACES[request.node.callspec.params["engine"]],
    )


@pytest.mark.parametrize(
    ("case", "path"), [*((case, "cluster") for case in CASES), ("types", "collected")]
)
def test_a_cluster_agrees(cluster: Child, case: str, path: str) -> None:
    assert_same(measured(case, "duckdb"), cluster.measured(case, collect_limit=PATHS[path]), path)


@pytest.mark.parametrize(
    ("case", "path"), [("odd_names", "cluster"), ("types", "collected"), ("beliefs", "cluster")]
)
def test_spark_connect_agrees(connected: Child, case: str, path: str) -> None:
    assert_same(measured(case, "duckdb"), connected.measured(case, collect_limit=PATHS[path]), path)


@pytest.mark.parametrize("case", ["odd_names", "types"])
def test_a_session_with_other_settings_agrees_and_keeps_them(case: str, spark: SparkEngine) -> None:
    """A user's own session may have another time zone, ignore case and tolerate overflow."""
    session = spark.session.newSession()
    for name, value in OTHER_SETTINGS.items():
        session.conf.set(name, value)
    engine = SparkEngine(session, collect_limit=PATHS["cluster"])
    assert_same(measured(case, "duckdb"), measured(case, engine), "cluster")
    assert {name: session.conf.get(name) for name in OTHER_SETTINGS} == OTHER_SETTINGS


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes in /proc")
def test_killed_processes_change_nothing(tmp_path: Path, cluster: Child) -> None:
    """A worker is killed in the first pass over the classes, an executor in the second.

    Both are killed in the middle of a batch.
    """
    undisturbed = cluster.measured("odd_names", collect_limit=5)
    disturbed = cluster.measured("odd_names", collect_limit=5, sabotage=tmp_path)
    victims = {path.name: json.loads(path.read_text()) for path in tmp_path.iterdir()}
    assert set(victims) == {"worker", "executor"}
    assert [name for name, (victim, since) in victims.items() if started(victim) == since] == []
    assert disturbed == undisturbed
