# SPDX-License-Identifier: Apache-2.0
"""Rows that a DuckDB of ours keeps, in memory or on disk, as long as somebody refers to them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from divulge.engines.engine import double_quoted

if TYPE_CHECKING:
    import pyarrow as pa

Home: TypeAlias = Any
"""A DuckDBEngine, which stands above this."""


class HeldRows:
    """Rows that DuckDB keeps: an Arrow table in memory, or a table in the private directory, which goes with this."""

    def __init__(
        self, owner: HasHome, kept: pa.Table | str, *, together: Sequence[str] = (), lent: bool = False
    ) -> None:
        """`together` are the columns to sort by where that has not been done; what is lent stays when this goes."""
        self._owner, self._kept, self._order = owner, kept, in_order(together)
        if isinstance(kept, str) and not lent:
            _when_gone(self, owner.home, owner.home.discard, kept)

    @property
    def engine(self) -> Home:
        """Where they can be selected from."""
        return self._owner.home

    @cached_property
    def rows(self) -> int:
        """How many there are."""
        if not isinstance(self._kept, str):
            return int(self._kept.num_rows)
        return int(self.engine.query(f"SELECT COUNT(*) AS n FROM {self._kept}").column("n")[0].as_py())

    @cached_property
    def relation(self) -> str:
        """What stands after FROM."""
        if isinstance(self._kept, str):
            return self._kept
        name = self.engine.fresh_name("held")
        _when_gone(self, self.engine, self.engine.forget, name)
        return str(self.engine.register(name, self._kept))

    @cached_property
    def in_order(self) -> str:
        """A query for them, those that stand together one after the other.

        What lies on disk is sorted there when this is first asked for: in the statement that made it, above a union, a join or groups, a
        sort would not spill in time, and memory would run out.
        """
        if not self._order or not isinstance(self._kept, str):
            return f"SELECT * FROM {self.relation}{self._order}"
        ordered = self.engine.keep(f"SELECT * FROM {self._kept}{self._order}")
        _when_gone(self, self.engine, self.engine.discard, ordered)
        return f"SELECT * FROM {ordered}"

    def table(self) -> pa.Table:
        """All of them, in memory."""
        return self.engine.query(f"SELECT * FROM {self._kept}") if isinstance(self._kept, str) else self._kept

    def column(self, expression: str) -> pa.ChunkedArray:
        """What an expression is for each row, in the order of the rows."""
        with self.engine.in_row_order():
            return self.engine.query(f"SELECT {expression} AS c FROM {self.relation}").column("c")


class HasHome(Protocol):
    """An engine of the DuckDB family: what it holds lies in a DuckDB of ours."""

    @property
    def home(self) -> Home:
        """That DuckDB."""


def _when_gone(rows: HeldRows, engine: Home, remove: Callable[[str], None], name: str) -> None:
    """Remove what was kept soon after the rows are no longer referred to, unless all of the engine has gone before."""
    weakref.finalize(rows, lambda: remove(name) if engine.close.alive else None).atexit = False


def in_order(columns: Sequence[str]) -> str:
    """ORDER BY columns, nulls last; nothing without columns."""
    return f" ORDER BY {', '.join(f'{double_quoted(name)} ASC NULLS LAST' for name in columns)}" if columns else ""
