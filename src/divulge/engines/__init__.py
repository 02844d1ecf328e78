# SPDX-License-Identifier: Apache-2.0
"""Where SQL runs and rows are held: DuckDB in this process, somebody's own connection, Spark."""

from divulge.engines.choose import EngineChoice, OwnEngine, RelationEngine, as_spark_frame, choose_engine
from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.engine import Engine, Held, LinedUp, double_quoted, is_plain_type
from divulge.engines.spark import SparkEngine, read_texts, uri

__all__ = [
    "DuckDBEngine", "Engine", "EngineChoice", "Held", "LinedUp", "OwnEngine", "RelationEngine", "SparkEngine", "as_spark_frame",
    "choose_engine", "double_quoted", "is_plain_type", "read_texts", "uri",
]  # fmt: skip
