# SPDX-License-Identifier: Apache-2.0
"""The order of published rows: a function of what is published and of a secret, and of nothing else.

Equal rows are counted and numbered, and rows are sorted by a hash of the secret, the number and all their values. Whatever order the source
had is gone with the count, so the order of a release cannot tell it, even to somebody who learns the secret. The same secret gives
the same file, on one thread or many.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from divulge.engines.base import Engine
from divulge.errors import BadInput

_BITS = 62


def draw_secret(seed: int | None = None) -> int:
    """A fresh secret, or the one that a test gives."""
    if seed is None:
        return secrets.randbits(_BITS)
    if not 0 <= seed < 1 << _BITS:
        raise BadInput(f"seed = {seed!r} is not possible", hint=f"Give a whole number from 0 to 2^{_BITS} - 1, or none")
    return seed


def shuffled(engine: Engine, rows: str, columns: Sequence[str], *, secret: int) -> str:
    """The rows of a query with these columns, as a query whose order tells nothing."""
    names = [engine.quote(name) for name in columns]
    alias = [f"c{place}" for place in range(len(names))]
    renamed = ", ".join(f"{name} AS {short}" for name, short in zip(names, alias, strict=True))
    restored = ", ".join(f"{short} AS {name}" for name, short in zip(names, alias, strict=True))
    listed = ", ".join(alias)
    counted = (
        f"SELECT {listed}, COUNT(*) AS copies FROM (SELECT {renamed} FROM ({rows}) AS given) AS plain GROUP BY {listed}"
    )
    numbered = f"SELECT {listed}, UNNEST(RANGE(copies)) AS copy FROM ({counted}) AS counted"
    total = ", ".join(f"{short} NULLS LAST" for short in alias)
    return f"SELECT {restored} FROM ({numbered}) AS numbered ORDER BY HASH({secret}, copy, {listed}), {total}, copy"
