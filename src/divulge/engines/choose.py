# SPDX-License-Identifier: Apache-2.0
"""Which engine is meant: by name, by an engine or a Spark session that the caller has, or by the table itself."""

from __future__ import annotations

import datetime as dt
import math
import re
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.duckdb_failures import explained
from divulge.engines.engine import DuckDBDialect, Engine, Held, Merge, Result, Summarize
from divulge.engines.held_rows import HeldRows
from divulge.engines.spark import SparkEngine
from divulge.errors import BadInput, InternalError, nearest

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


OwnEngine = DuckDBEngine | SparkEngine
"""An engine that takes tables from us; the connection of a user's own relation gets none."""
EngineName = Literal["duckdb", "spark"]


class Session(Protocol):
    """A Spark session, classic or of Spark Connect, as far as a type checker must know one."""

    def sql(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a statement."""


EngineChoice: TypeAlias = EngineName | Engine | Session | None
"""What counts: an engine by its name, an engine of the user's, the Spark session that one is made of; None: that of the table."""
ENGINES: dict[str, Callable[[], OwnEngine]] = {"duckdb": DuckDBEngine, "spark": SparkEngine}


def choose_engine(asked: EngineChoice) -> OwnEngine | None:
    """The engine that was asked for; None where nothing was."""
    if asked is None or isinstance(asked, DuckDBEngine | SparkEngine):
        return asked
    if isinstance(asked, str):
        if asked not in ENGINES:
            raise BadInput(f"there is no engine {asked!r}", hint=nearest(asked, tuple(ENGINES)))
        return ENGINES[asked]()
    if _is_of("pyspark.sql.session", "SparkSession", asked):
        return SparkEngine(cast("SparkSession", asked))
    hint = "give 'duckdb', 'spark' or a Spark session"
    raise BadInput(f"an engine cannot be made from {type(asked).__qualname__}", hint=hint)


def as_spark_frame(source: Any) -> DataFrame | None:
    """A Spark frame, classic or of Spark Connect; pyspark is looked up among the loaded modules and never imported for this."""
    return source if _is_of("pyspark.sql.dataframe", "DataFrame", source) else None


def _is_of(module: str, name: str, value: Any) -> bool:
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, type) and isinstance(value, found)


# --- What is quoted comes first, so that a question mark inside a name or a text is not taken for a parameter ---------
_PLACEHOLDER = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\?""")
_VIEW = "divulge_relation"


class RelationEngine(DuckDBDialect):
    """Runs SQL over a relation of the user's own connection, where it is called `divulge_relation`; nothing is left behind there.

    What is to be held lies in a DuckDB of ours. DuckDB takes no parameters on this path, so each is written into the statement.
    """

    cell_limit: int | None = None
    row_limit: int | None = None

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation
        self.relation = self.quote(_VIEW)

    def query(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Run one statement and return its rows as an Arrow table."""
        bound = self._bind(sql, parameters)
        with explained(bound):
            return self._run(bound).to_arrow_table()

    def stream(self, sql: str) -> pa.RecordBatchReader:
        """The rows of a query as Arrow batches, so that they need not fit into memory."""
        with explained(sql):
            return self._run(sql).to_arrow_reader()

    def describe(self, relation: str) -> tuple[tuple[str, str], ...]:
        """Name and type of each column of `relation`, without reading rows."""
        sql = f"SELECT * FROM {relation}"
        with explained(sql):
            # The relation itself keeps a repeated name; the result of a query over it would call it name_1.
            bound = self._relation if relation == self.relation else self._run(sql)
            return tuple(zip(bound.columns, map(str, bound.types), strict=True))

    @cached_property
    def home(self) -> DuckDBEngine:
        """Where rows are held."""
        return DuckDBEngine()

    def hold(self, sql: str, *, together: Sequence[str] = (), rows: int | None = None, source: str = "") -> HeldRows:  # noqa: ARG002 - as in DuckDBEngine
        """Keep the rows of a query in memory."""
        return HeldRows(self, self.query(sql), together=together)

    def hold_table(self, table: pa.Table, *, together: Sequence[str] = ()) -> HeldRows:
        """Rows that are here already."""
        return HeldRows(self, table, together=together)

    def fold(self, held: Held, summarize: Summarize[Result], merge: Merge[Result]) -> Result:
        """What a function makes of all rows, which come in their order, batch by batch."""
        return self.home.fold(held, summarize, merge)

    def sees(self, _held: Held) -> bool:
        """Nothing but the relation can be selected from here."""
        return False

    def lend(self, table: pa.Table) -> str:
        """Refused: nothing is put into the connection of the user."""
        raise InternalError(f"a table of {table.num_rows} rows was to be put into a connection that is not ours")

    def line_up(self, relation: str, columns: Sequence[str]) -> HeldRows:
        """Columns to be read one after the other, from a copy on disk."""
        rows = f"SELECT {', '.join(map(self.quote, columns))} FROM {relation}"
        return HeldRows(self, self.home.store(self.stream(rows)))

    def _run(self, sql: str) -> duckdb.DuckDBPyRelation:
        found = self._relation.query(_VIEW, sql)
        if found is None:
            raise InternalError(f"a statement without a result: {sql}")
        return found

    def _bind(self, sql: str, parameters: Sequence[object]) -> str:
        places = _PLACEHOLDER.findall(sql).count("?")
        if places != len(parameters):
            more, fewer = ("placeholders", "parameters") if places > len(parameters) else ("parameters", "placeholders")
            raise InternalError(f"more {more} than {fewer} in: {sql}")
        constants = map(self._constant, parameters)
        return _PLACEHOLDER.sub(lambda match: next(constants) if match.group() == "?" else match.group(), sql)

    def _constant(self, value: object) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, int) or (isinstance(value, Decimal) and value.is_finite()):
            return str(value).upper()
        if isinstance(value, float):
            return f"{value!r}::DOUBLE" if math.isfinite(value) else f"'{value}'::DOUBLE"
        if isinstance(value, dt.datetime):
            zone = "" if value.tzinfo is None else " WITH TIME ZONE"
            return f"{self.literal(value.isoformat())}::TIMESTAMP{zone}"
        if isinstance(value, dt.date):
            return f"{self.literal(value.isoformat())}::DATE"
        if isinstance(value, str):
            return self.literal(value)
        raise InternalError(f"a parameter of type {type(value).__name__} cannot be bound")
