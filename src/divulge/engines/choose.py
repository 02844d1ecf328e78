# SPDX-License-Identifier: Apache-2.0
"""Which engine is meant: by name, by an engine or a Spark session that the caller has, or by the table itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.spark import SparkEngine
from divulge.errors import BadInput, nearest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENGINES = ("duckdb", "spark")
OwnEngine = DuckDBEngine | SparkEngine
"""An engine that takes tables from us; the connection of a user's own relation gets none."""


def choose_engine(asked: Any) -> OwnEngine | None:
    """The engine that was asked for; None where nothing was."""
    if asked is None or isinstance(asked, DuckDBEngine | SparkEngine):
        return asked
    if asked == "duckdb":
        return DuckDBEngine()
    if asked == "spark":
        return SparkEngine()
    if _is_of("pyspark.sql.session", "SparkSession", asked):
        return SparkEngine(asked)
    if isinstance(asked, str):
        raise BadInput(f"there is no engine {asked!r}", hint=nearest(asked, ENGINES))
    raise BadInput(
        f"an engine cannot be made from {type(asked).__qualname__}", hint="give 'duckdb', 'spark' or a Spark session"
    )


def as_spark_frame(source: Any) -> DataFrame | None:
    """A Spark frame, classic or of Spark Connect; pyspark is looked up among the loaded modules and never imported for this."""
    return source if _is_of("pyspark.sql.dataframe", "DataFrame", source) else None


def _is_of(module: str, name: str, value: Any) -> bool:
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, type) and isinstance(value, found)
