# SPDX-License-Identifier: Apache-2.0
"""Interface of an engine: quote, run one statement, keep rows, fold them into one summary.

Statements are written once in the part of SQL that all engines share. The engine covers the
differences: how names and constants are quoted, how texts are matched and cast, where rows are
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from divulge.options import RELEASE_FORMATS

if TYPE_CHECKING:
    import pyarrow as pa


Result = TypeVar("Result")
Summarize = Callable[[Iterator["pa.RecordBatch"]], Result | None]
"""Function that summarizes rows that come batch by batch; it returns None if there are none."""
Merge = Callable[[Result, Result], Result]
Make = Callable[[Iterator["pa.ChunkedArray"]], Result]
"""Function of the columns of a batch, each of which is read when it is requested."""
_INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_TIME_TYPES = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
_OTHER_TYPES = ("BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "BLOB")
_PLAIN_TYPES = frozenset(
    (*_INTEGER_TYPES, *(f"U{name}" for name in _INTEGER_TYPES), *_TIME_TYPES, *_OTHER_TYPES)
)


class StoredRows(Protocol):
    """Rows that an engine keeps in memory, on disk or on a cluster.

    They are freed when nothing refers to them any more.
    """

    @property
    def engine(self) -> Engine:
        """Engine that keeps them and can select from them."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def relation(self) -> str:
        """Relation for a FROM clause."""

    def table(self) -> pa.Table:
        """Return all rows, in memory."""


class OrderedRows(Protocol):
    """Rows whose columns can be read one after the other, always in the same order.

    They are freed when nothing refers to them any more.
    """

    @property
    def rows(self) -> int:
        """Number of rows."""

    def column(self, expression: str) -> pa.ChunkedArray:
        """Return the values of an expression for all rows."""


class Engine(Protocol):
    """Engine that runs SQL."""

    name: str
    """Name for users: "duckdb" or "spark"."""
    packages: tuple[str, ...]
    """Packages that its work depends on; a release records their versions."""
    storage: str
    """Location of rows that are too many for memory: "disk" or "the cluster"."""
    formats: tuple[str, ...]
    """Formats of files in which a release of its tables can be written."""
    search_limit: int | None
    """Number of cells that may come to memory if a search needs all of them; None: no limit."""
    row_limit: int | None
    """Number of rows that may come to memory if all of them are needed at once; None: no limit."""

    @property
    def cell_limit(self) -> int | None:
        """Number of cells of a count that may come to memory; None: no limit."""

    def hold(
        self, sql: str, *, together: Sequence[str] = (), rows: int | None = None, source: str = ""
    ) -> StoredRows:
        """Keep the rows of a query.

        A fold gets rows that agree in the columns `together` one after the other, sorted, nulls
        last.

        `rows` is the number of rows, if known; `source` names the source in messages.
        """

    def fold(
        self, held_rows: StoredRows, summarize: Summarize[Result], merge: Merge[Result]
    ) -> Result:
        """Summarize held rows: all in one stream, or each partition where it is, then merged.

        Both functions are of this package, or partial calls of such functions. Their results can be
        pickled.
        """

    def sees(self, held_rows: StoredRows) -> bool:
        """Report whether rows that some engine holds can be selected from here."""

    def hold_table(self, table: pa.Table, *, together: Sequence[str] = ()) -> StoredRows:
        """Keep rows that are already in memory, as `hold` does."""

    def each_batch(
        self, relation: str, types: Mapping[str, pa.DataType], make: Make[Result]
    ) -> Generator[Result, None, None] | None:
        """Apply a function to each batch of columns, in any order, texts as dictionaries.

        Returns None if the engine reads them by SQL.
        """

    def lend(self, table: pa.Table) -> str:
        """Make an Arrow table of ours readable; return its name for a FROM clause."""

    def line_up(self, relation: str, columns: Sequence[str]) -> OrderedRows | None:
        """Return columns of a relation that can be read one after the other.

        Returns None if the engine keeps no order of rows.
        """

    def quote(self, name: str) -> str:
        """Quote an identifier for this engine."""

    def literal(self, value: str) -> str:
        """Quote a text constant for this engine."""

    def query(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Run one statement; each ? in it is replaced by the next parameter."""

    def describe(self, relation: str) -> tuple[tuple[str, str], ...]:
        """Return the name and type of each column of a relation, without reading rows."""

    def full_match(self, cell: str, pattern: str) -> str:
        """Return SQL that is true if the whole text matches a regular expression."""

    def group_key(self, cell: str) -> str:
        """Return SQL for a grouping key of a nested value: equal only if the values are equal."""

    def byte_length(self, cell: str) -> str:
        """Return SQL for the number of bytes of a text."""

    def digest(self, cell: str) -> str:
        """Return SQL for the SHA-256 of all texts of a group, independent of their order."""

    def cast(self, cell: str, type_: str, *, attempt: bool = False) -> str:
        """Return SQL for a cast to a type by its DuckDB name.

        With `attempt`, a value that does not fit becomes null.
        """


class ReadsBySQL:
    """Engine that reads rows only by SQL."""

    def each_batch(
        self, _relation: str, _types: Mapping[str, pa.DataType], _make: Make[Result]
    ) -> Generator[Result, None, None] | None:
        """Return None: no rows are read without SQL."""
        return None


class DuckDBDialect(ReadsBySQL):
    """SQL dialect of DuckDB, whether the connection is ours or the user's."""

    name = "duckdb"
    packages: tuple[str, ...] = ("duckdb", "numpy", "pyarrow")
    storage = "disk"
    formats: tuple[str, ...] = RELEASE_FORMATS
    search_limit: int | None = None

    def quote(self, name: str) -> str:
        """Quote an identifier with double quotes."""
        return double_quoted(name)

    def literal(self, value: str) -> str:
        """Quote a text constant with single quotes."""
        return "'" + value.replace("'", "''") + "'"

    def full_match(self, cell: str, pattern: str) -> str:
        """Return SQL that is true if the whole text matches a regular expression."""
        return f"regexp_full_match({cell}, {self.literal(pattern)})"

    def group_key(self, cell: str) -> str:
        """Return the nested value itself, which DuckDB can compare."""
        return cell

    def byte_length(self, cell: str) -> str:
        """Return SQL for the number of bytes of a text."""
        return f"strlen({cell})"

    def digest(self, cell: str) -> str:
        """Return SQL for the SHA-256 of all texts of a group, independent of their order."""
        return f"sha256(string_agg({cell}, ',' ORDER BY {cell}))"

    def cast(self, cell: str, type_: str, *, attempt: bool = False) -> str:
        """Return SQL for a cast; with `attempt`, a value that does not fit becomes null."""
        return f"{'TRY_CAST' if attempt else 'CAST'}({cell} AS {type_})"


def is_plain_type(type_: str) -> bool:
    """Report whether every file format preserves values of a type (by its DuckDB name).

    Values of other types are compared as texts.
    """
    return type_.partition("(")[0] in _PLAIN_TYPES and not type_.endswith("]")


def double_quoted(name: str) -> str:
    """Quote an identifier as in standard SQL."""
    return '"' + name.replace('"', '""') + '"'
