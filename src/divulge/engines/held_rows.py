# SPDX-License-Identifier: Apache-2.0
"""Rows that a DuckDB of ours keeps in memory or on disk as long as they are referred to."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from divulge.engines.engine import double_quoted

if TYPE_CHECKING:
    import pyarrow as pa

Home: TypeAlias = Any
"""A DuckDBEngine; its module imports this one."""


class HeldRows:
    """Rows that DuckDB keeps: an Arrow table in memory, or a table in the private directory.

    A table in the private directory is removed with this object.
    """

    def __init__(
        self,
        owner: HasHome,
        content: pa.Table | str,
        *,
        together: Sequence[str] = (),
        lent: bool = False,
    ) -> None:
        """Keep a table, given as Arrow or by its name.

        `together` are the columns to sort by; empty if the rows are sorted. A `lent` table is not
        removed with this object.
        """
        self._owner, self._content, self._order_by = owner, content, in_order(together)
        if isinstance(content, str) and not lent:
            _remove_when_freed(self, owner.home, owner.home.discard, content)

    @property
    def engine(self) -> Home:
        """Engine that can select from them."""
        return self._owner.home

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        if not isinstance(self._content, str):
            return int(self._content.num_rows)
        return int(
            self.engine.query(f"SELECT COUNT(*) AS n FROM {self._content}").column("n")[0].as_py()
        )

    @cached_property
    def relation(self) -> str:
        """Relation for a FROM clause."""
        if isinstance(self._content, str):
            return self._content
        name = self.engine.fresh_name("held")
        _remove_when_freed(self, self.engine, self.engine.forget, name)
        return str(self.engine.register(name, self._content))

    @cached_property
    def in_order(self) -> str:
        """Query for the rows in which rows that belong together follow one another.

        A table on disk is sorted on disk when this is first used. A sort in the statement that made
        it, above a union, a join or groups, would not spill in time, and memory would run out.
        """
        if not self._order_by or not isinstance(self._content, str):
            return f"SELECT * FROM {self.relation}{self._order_by}"
        ordered = self.engine.keep(f"SELECT * FROM {self._content}{self._order_by}")
        _remove_when_freed(self, self.engine, self.engine.discard, ordered)
        return f"SELECT * FROM {ordered}"

    def table(self) -> pa.Table:
        """Return all rows, in memory."""
        if isinstance(self._content, str):
            return self.engine.query(f"SELECT * FROM {self._content}")
        return self._content

    def column(self, expression: str) -> pa.ChunkedArray:
        """Return the values of an expression for all rows, in the order of the rows."""
        with self.engine.in_row_order():
            return self.engine.query(f"SELECT {expression} AS c FROM {self.relation}").column("c")


class HasHome(Protocol):
    """Engine of the DuckDB family, which keeps rows in a DuckDB of ours."""

    @property
    def home(self) -> Home:
        """DuckDB that keeps the rows."""


def _remove_when_freed(
    rows: HeldRows, engine: Home, remove: Callable[[str], None], name: str
) -> None:
    """Remove kept rows soon after nothing refers to them, unless the engine is already closed."""
    weakref.finalize(rows, lambda: remove(name) if engine.close.alive else None).atexit = False


def in_order(columns: Sequence[str]) -> str:
    """Return an ORDER BY clause, nulls last; empty without columns."""
    if columns:
        return f" ORDER BY {', '.join(f'{double_quoted(name)} ASC NULLS LAST' for name in columns)}"
    return ""
