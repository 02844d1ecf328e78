# SPDX-License-Identifier: Apache-2.0
"""Selection of the engine: by name, from an engine or a Spark session, or from the table itself."""

from __future__ import annotations

import datetime as dt
import math
import re
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from divulge.arguments import outside
from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.duckdb_errors import explained
from divulge.engines.engine import DuckDBDialect, Engine, Merge, Result, StoredRows, Summarize
from divulge.engines.held_rows import HeldRows
from divulge.engines.spark import SparkEngine
from divulge.errors import BadInput, InternalError, nearest

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


OwnEngine = DuckDBEngine | SparkEngine
"""Engine that divulge may put tables into; the connection of a user's own relation gets none."""
EngineName = Literal["duckdb", "spark"]


class Session(Protocol):
    """Spark session, classic or of Spark Connect, as far as a type checker needs it."""

    def sql(self, *args: Any, **kwargs: Any) -> Any:
        """Run a statement."""


EngineChoice: TypeAlias = EngineName | Engine | Session | None
"""Engine to count with: a name, an engine, or a Spark session; None means the table's engine."""
ENGINES: dict[str, Callable[[], OwnEngine]] = {"duckdb": DuckDBEngine, "spark": SparkEngine}


def choose_engine(choice: EngineChoice) -> OwnEngine | None:
    """Return the requested engine; None if none was requested."""
    if choice is None or isinstance(choice, DuckDBEngine | SparkEngine):
        return choice
    if isinstance(choice, str):
        if choice not in ENGINES:
            raise BadInput(f"there is no engine {choice!r}", hint=nearest(choice, tuple(ENGINES)))
        return ENGINES[choice]()
    if _is_instance_of("pyspark.sql.session", "SparkSession", choice):
        return SparkEngine(cast("SparkSession", choice))
    hint = "give 'duckdb', 'spark' or a Spark session"
    raise BadInput(f"an engine cannot be made from {type(choice).__qualname__}", hint=hint)


def as_spark_frame(source: Any) -> DataFrame | None:
    """Return the source if it is a Spark frame, classic or of Spark Connect; else None.

    Pyspark is looked up among the loaded modules and never imported for this.
    """
    return source if _is_instance_of("pyspark.sql.dataframe", "DataFrame", source) else None


def _is_instance_of(module: str, name: str, value: Any) -> bool:
    expected_type = getattr(sys.modules.get(module), name, None)
    return isinstance(expected_type, type) and isinstance(value, expected_type)


# Quoted parts are matched first, so that a question mark inside a name or a text is not taken for a
# placeholder.
_PLACEHOLDER = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\?""")
_VIEW_NAME = "divulge_relation"


class RelationEngine(DuckDBDialect):
    """Engine that runs SQL over a relation in the user's own connection.

    The relation is called `divulge_relation` there, and nothing is left behind. Rows that must be
    kept go to a DuckDB of ours. DuckDB takes no parameters on this path, so they are written into
    the statement.
    """

    cell_limit: int | None = None
    row_limit: int | None = None

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation
        self.relation = self.quote(_VIEW_NAME)

    def query(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Run one statement and return its rows as an Arrow table."""
        bound = self._bind_parameters(sql, parameters)
        with explained(bound):
            return self._run(bound).to_arrow_table()

    def stream(self, sql: str) -> pa.RecordBatchReader:
        """Return the rows of a query as Arrow batches, so that they need not fit into memory."""
        with explained(sql):
            return self._run(sql).to_arrow_reader()

    def describe(self, relation: str) -> tuple[tuple[str, str], ...]:
        """Return the name and type of each column of `relation`, without reading rows."""
        sql = f"SELECT * FROM {relation}"
        with explained(sql):
            # The relation itself keeps a repeated name; the result of a query over it would rename
            # it to name_1.
            if relation == self.relation:
                bound = self._relation
            else:
                bound = self._run(sql)
            return tuple(zip(bound.columns, map(str, bound.types), strict=True))

    @cached_property
    def home(self) -> DuckDBEngine:
        """DuckDB engine that keeps rows."""
        return DuckDBEngine()

    def hold(
        self,
        sql: str,
        *,
        together: Sequence[str] = (),
        rows: int | None = None,  # noqa: ARG002 - as in DuckDBEngine
        source: str = "",  # noqa: ARG002 - as in DuckDBEngine
    ) -> HeldRows:
        """Keep the rows of a query in memory."""
        return HeldRows(self, self.query(sql), together=together)

    def hold_table(self, table: pa.Table, *, together: Sequence[str] = ()) -> HeldRows:
        """Keep rows that are already in memory."""
        return HeldRows(self, table, together=together)

    def fold(
        self, held_rows: StoredRows, summarize: Summarize[Result], merge: Merge[Result]
    ) -> Result:
        """Summarize all rows, which come in their order, batch by batch."""
        return self.home.fold(held_rows, summarize, merge)

    def sees(self, _held_rows: StoredRows) -> bool:
        """Return False: only the relation can be selected from here."""
        return False

    def lend(self, table: pa.Table) -> str:
        """Raise an error: nothing is put into the user's connection."""
        raise InternalError(
            f"a table of {table.num_rows} rows was to be put into a connection that is not ours"
        )

    def line_up(self, relation: str, columns: Sequence[str]) -> HeldRows:
        """Copy columns to disk, where they can be read one after the other."""
        rows = f"SELECT {', '.join(map(self.quote, columns))} FROM {relation}"
        return HeldRows(self, self.home.store(self.stream(rows)))

    def _run(self, sql: str) -> duckdb.DuckDBPyRelation:
        relation = self._relation.query(_VIEW_NAME, sql)
        if relation is None:
            raise InternalError(f"a statement without a result: {outside(sql)}")
        return relation

    def _bind_parameters(self, sql: str, parameters: Sequence[object]) -> str:
        placeholder_count = _PLACEHOLDER.findall(sql).count("?")
        if placeholder_count != len(parameters):
            if placeholder_count > len(parameters):
                more = "placeholders"
                fewer = "parameters"
            else:
                more = "parameters"
                fewer = "placeholders"
            raise InternalError(f"more {more} than {fewer} in: {outside(sql)}")
        constants = map(self._sql_constant, parameters)
        return _PLACEHOLDER.sub(
            lambda match: next(constants) if match.group() == "?" else match.group(), sql
        )

    def _sql_constant(self, value: object) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, int) or (isinstance(value, Decimal) and value.is_finite()):
            return str(value).upper()
        if isinstance(value, float):
            if math.isfinite(value):
                return f"{value!r}::DOUBLE"
            return f"'{value}'::DOUBLE"
        if isinstance(value, dt.datetime):
            if value.tzinfo is None:
                zone = ""
            else:
                zone = " WITH TIME ZONE"
            return f"{self.literal(value.isoformat())}::TIMESTAMP{zone}"
        if isinstance(value, dt.date):
            return f"{self.literal(value.isoformat())}::DATE"
        if isinstance(value, str):
            return self.literal(value)
        raise InternalError(f"a parameter of type {type(value).__name__} cannot be bound")
