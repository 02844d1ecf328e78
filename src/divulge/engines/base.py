# SPDX-License-Identifier: Apache-2.0
"""What the rest of divulge may ask of an engine: quote, run one statement, say what columns a relation has.

Statements are written once in the part of SQL that all engines share; what differs (how a name and a constant are
quoted) is asked of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Engine(Protocol):
    """A place where SQL runs."""

    @property
    def name(self) -> str:
        """The engine's name as a user knows it: "duckdb"."""

    def quote(self, name: str) -> str:
        """An identifier, quoted for this engine."""

    def literal(self, value: str) -> str:
        """A text constant, quoted for this engine."""

    def query(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """Run one statement; each ? in it stands for the next parameter."""

    def describe(self, relation: str) -> tuple[tuple[str, str], ...]:
        """Name and type of each column of what stands after FROM, without reading rows."""


def double_quoted(name: str) -> str:
    """An identifier as standard SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def single_quoted(value: str) -> str:
    """A text constant as standard SQL quotes it."""
    return "'" + value.replace("'", "''") + "'"
