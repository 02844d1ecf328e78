# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several folders of tests share, and the marks by which tests are chosen."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.spark import SparkEngine

# --- Marks: what a test needs is seen from its fixtures ----------------------------------------------------------------

MARKS = {"needs_spark": "spark", "postgres": "server"}
"""Fixtures, and the mark of the tests that ask for them, be it through other fixtures."""


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark tests by what they need, so that nobody has to remember to."""
    for item in items:
        asked = set(getattr(item, "fixturenames", ()))
        callspec = getattr(item, "callspec", None)
        if callspec is not None and str(callspec.params.get("engine", "")).startswith("spark"):
            asked.add("needs_spark")
        for fixture in asked & MARKS.keys():
            item.add_marker(MARKS[fixture])


# --- Engines: one body of a test, three places where rows and counts may lie -------------------------------------------

FEW_CELLS = 5
"""How many cells may come to memory where a test wants the counts to stay where they are."""


@pytest.fixture(params=["memory", "limit", "spark"])
def engine(request: pytest.FixtureRequest) -> DuckDBEngine | SparkEngine:
    """DuckDB in memory; DuckDB whose counts stay on disk; Spark whose counts stay on the cluster.

    `@pytest.mark.parametrize("engine", ["memory", "spark collected"], indirect=True)` chooses some of them, or Spark as users have
    it, whose small counts come to the driver.
    """
    if request.param == "memory":
        return DuckDBEngine()
    if request.param == "limit":
        limited: DuckDBEngine = request.getfixturevalue("limited")
        return limited
    spark: SparkEngine = request.getfixturevalue("spark")
    if request.param == "spark":
        spark.collect_limit = FEW_CELLS
    return spark


@pytest.fixture
def limited(tmp_path: Path) -> DuckDBEngine:
    """DuckDB with little memory, which therefore keeps all but a few counts on disk."""
    folder = tmp_path / "spilled"
    folder.mkdir()
    engine = DuckDBEngine(memory_limit="200MB", temp_directory=folder)
    engine.cell_limit = FEW_CELLS
    return engine


# --- Spark: one session for the whole run, started when first asked for ------------------------------------------------


@pytest.fixture(scope="session")
def needs_spark() -> None:
    """Skip where Spark cannot run, and say what is missing."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("no pyspark: pip install 'divulge[spark]'")
    if shutil.which("java") is None:
        pytest.skip("no Java: install Java 17 or newer, for example with apt install openjdk-17-jre-headless")


@pytest.fixture(scope="session")
def spark_session(needs_spark: None) -> Iterator[SparkEngine]:  # noqa: ARG001 - it skips
    """The engine of the one Spark session of this process."""
    from tests.engines.spark_process import SETTINGS

    engine = SparkEngine(master="local[2,4]", config=SETTINGS)
    yield engine
    engine.session.stop()


@pytest.fixture
def spark(spark_session: SparkEngine) -> SparkEngine:
    """An engine on the one session, with settings of its own."""
    return SparkEngine(spark_session.session)
