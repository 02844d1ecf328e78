# SPDX-License-Identifier: Apache-2.0
"""Engines that run SQL and keep rows: DuckDB in this process, a user's own connection, Spark."""

from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.engine import Engine, OrderedRows, StoredRows, double_quoted, is_plain_type
from divulge.engines.selection import (
    EngineChoice,
    OwnEngine,
    RelationEngine,
    as_spark_frame,
    choose_engine,
)
from divulge.engines.spark import SparkEngine, read_texts, uri

__all__ = [
    "DuckDBEngine",
    "Engine",
    "EngineChoice",
    "OrderedRows",
    "OwnEngine",
    "RelationEngine",
    "SparkEngine",
    "StoredRows",
    "as_spark_frame",
    "choose_engine",
    "double_quoted",
    "is_plain_type",
    "read_texts",
    "uri",
]
