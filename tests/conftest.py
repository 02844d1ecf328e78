# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several folders of tests share."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator

import pytest

from divulge.engines.spark import SparkEngine

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
