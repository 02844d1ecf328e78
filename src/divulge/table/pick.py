# SPDX-License-Identifier: Apache-2.0
"""Which table of a database is meant: the one asked for, or the only one there is."""

from __future__ import annotations

from collections.abc import Sequence

from divulge.errors import BadInput, nearest


def pick_table(tables: Sequence[str], asked: str | None, *, source: str) -> str:
    """The table's name; `tables` are the names a user may choose from."""
    if not tables:
        raise BadInput(f"{source} has no tables")
    if asked is None:
        if len(tables) == 1:
            return tables[0]
        listed = ", ".join(repr(name) for name in tables[:20]) + (", ..." if len(tables) > 20 else "")
        raise BadInput(
            f"{source} has {len(tables)} tables and none was chosen", hint=f"Choose one with table=: {listed}"
        )
    if asked not in tables:
        raise BadInput(f"{source} has no table {asked!r}", hint=nearest(asked, tables))
    return asked
