# SPDX-License-Identifier: Apache-2.0
"""What the rest of divulge may ask of an engine: quote, run one statement, hold rows and fold them into one summary.

Statements are written once in the part of SQL that all engines share; what differs (how a name and a constant are
quoted, how a text is matched and cast, where rows are held) is asked of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa


Result = TypeVar("Result")
Summarize = Callable[[Iterator["pa.RecordBatch"]], Result | None]
"""What a function makes of rows that come batch by batch; None where there are none."""
Merge = Callable[[Result, Result], Result]
Make = Callable[[Iterator["pa.ChunkedArray"]], Result]
"""What a function makes of the columns of a batch, each of which is read when it is asked for."""
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_MOMENTS = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
_OTHERS = ("BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "BLOB")
_PLAIN = frozenset((*_INTEGERS, *(f"U{name}" for name in _INTEGERS), *_MOMENTS, *_OTHERS))


class Held(Protocol):
    """Rows that an engine keeps, in memory, on disk or on a cluster; they go when nobody refers to them any more."""

    @property
    def engine(self) -> Engine:
        """Where they are kept and can be selected from."""

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def relation(self) -> str:
        """What stands after FROM."""

    def table(self) -> pa.Table:
        """All of them, in memory."""


class LinedUp(Protocol):
    """Rows whose columns can be read one after the other, always in the same order; they go when nobody refers to them any more."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def column(self, expression: str) -> pa.ChunkedArray:
        """What an expression is for each row."""


class Engine(Protocol):
    """A place where SQL runs."""

    name: str
    """The engine's name as a user knows it: "duckdb" or "spark"."""
    packages: tuple[str, ...]
    """What its work depends on; a release tells their versions."""
    place: str
    """Where rows stay that are too many for memory: "disk" or "the cluster"."""
    formats: tuple[str, ...]
    """The kinds of files that a release of its tables can be written to."""
    search_limit: int | None
    """How many cells may come to memory where a search needs all of them; None: all."""
    row_limit: int | None
    """How many rows may come to memory where all of them are needed at once; None: all."""

    @property
    def cell_limit(self) -> int | None:
        """How many cells of a count may come to memory; None: all."""

    def hold(self, sql: str, *, together: Sequence[str] = (), rows: int | None = None, source: str = "") -> Held:
        """Keep the rows of a query; a fold finds those that agree in the columns `together` one after the other, sorted, nulls last.

        `rows` says how many there are where that is known; `source` names in messages what is read.
        """

    def fold(self, held: Held, summarize: Summarize[Result], merge: Merge[Result]) -> Result:
        """One summary of rows that are held: of all in one stream, or of each partition where it is, merged.

        Both functions are of this package, or partial calls of such, and what they return can be pickled.
        """

    def sees(self, held: Held) -> bool:
        """Whether rows that some engine holds can be selected from here."""

    def hold_table(self, table: pa.Table, *, together: Sequence[str] = ()) -> Held:
        """The same of rows that are here already."""

    def each_batch(
        self, relation: str, types: Mapping[str, pa.DataType], make: Make[Result]
    ) -> Generator[Result, None, None] | None:
        """What a function makes of each batch of columns, in any order, texts in dictionaries; None where SQL is the way to read them."""

    def lend(self, table: pa.Table) -> str:
        """Make an Arrow table of ours readable; what stands after FROM comes back."""

    def line_up(self, relation: str, columns: Sequence[str]) -> LinedUp | None:
        """Columns of what stands after FROM, to be read one after the other; None where the engine keeps no order of rows."""

    def quote(self, name: str) -> str:
        """An identifier, quoted for this engine."""

    def literal(self, value: str) -> str:
        """A text constant, quoted for this engine."""

    def query(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Run one statement; each ? in it stands for the next parameter."""

    def describe(self, relation: str) -> tuple[tuple[str, str], ...]:
        """Name and type of each column of what stands after FROM, without reading rows."""

    def full_match(self, cell: str, pattern: str) -> str:
        """SQL that is true where the whole text matches a regular expression."""

    def byte_length(self, cell: str) -> str:
        """SQL for the number of bytes of a text."""

    def digest(self, cell: str) -> str:
        """SQL for the SHA-256 of all texts of a group together, whatever their order."""

    def cast(self, cell: str, type_: str, *, attempt: bool = False) -> str:
        """SQL for a cast to a type by its DuckDB name; an attempt gives null where the value does not fit."""


class ReadsBySQL:
    """An engine whose rows come by SQL alone."""

    def each_batch(
        self, _relation: str, _types: Mapping[str, pa.DataType], _make: Make[Result]
    ) -> Generator[Result, None, None] | None:
        """None of them."""
        return None


class DuckDBDialect(ReadsBySQL):
    """What is special in DuckDB, whoever owns the connection."""

    name = "duckdb"
    packages: tuple[str, ...] = ("duckdb", "numpy", "pyarrow")
    place = "disk"
    formats: tuple[str, ...] = ("csv", "parquet", "arrow")
    search_limit: int | None = None

    def quote(self, name: str) -> str:
        """An identifier in double quotes."""
        return double_quoted(name)

    def literal(self, value: str) -> str:
        """A text constant in single quotes."""
        return "'" + value.replace("'", "''") + "'"

    def full_match(self, cell: str, pattern: str) -> str:
        """SQL that is true where the whole text matches a regular expression."""
        return f"regexp_full_match({cell}, {self.literal(pattern)})"

    def byte_length(self, cell: str) -> str:
        """SQL for the number of bytes of a text."""
        return f"strlen({cell})"

    def digest(self, cell: str) -> str:
        """SQL for the SHA-256 of all texts of a group together, whatever their order."""
        return f"sha256(string_agg({cell}, ',' ORDER BY {cell}))"

    def cast(self, cell: str, type_: str, *, attempt: bool = False) -> str:
        """SQL for a cast; an attempt gives null where the value does not fit."""
        return f"{'TRY_CAST' if attempt else 'CAST'}({cell} AS {type_})"


def is_plain_type(type_: str) -> bool:
    """Whether every kind of file gives values of a type (by its DuckDB name) back as they were; others are compared as texts."""
    return type_.partition("(")[0] in _PLAIN and not type_.endswith("]")


def double_quoted(name: str) -> str:
    """An identifier as standard SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'
