# SPDX-License-Identifier: Apache-2.0
"""The order of published rows: a function of what is published and of a secret, and of nothing else.

Equal rows are counted and numbered, and rows are sorted by a hash of the secret, the number and all their values. Whatever order the source
had is gone with the count, so the order of a release cannot tell it, even to somebody who learns the secret. The same secret gives
the same file, on one thread or many.

On Spark the same hash says in which of the part files a row lies, so the parts do not tell how the source was spread over the cluster.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from divulge.engines.choose import OwnEngine
from divulge.engines.spark import SparkEngine
from divulge.errors import BadInput
from divulge.table.table import kind_of

_BITS = 62
_CHUNK = 1 << 16
"""Copies of a row that one worker makes at a time."""


def draw_secret(seed: int | None = None) -> int:
    """A fresh secret, or the one that a test gives."""
    if seed is None:
        return secrets.randbits(_BITS)
    if not 0 <= seed < 1 << _BITS:
        raise BadInput(f"seed = {seed!r} is not possible", hint=f"Give a whole number from 0 to 2^{_BITS} - 1, or none")
    return seed


def shuffled(engine: OwnEngine, rows: str, columns: Sequence[str], *, secret: int, parts: int = 1) -> str:
    """The rows of a query with these columns, as a query whose order tells nothing; on Spark it has so many partitions."""
    names = [engine.quote(name) for name in columns]
    alias = [f"c{place}" for place in range(len(names))]
    renamed = ", ".join(f"{name} AS {short}" for name, short in zip(names, alias, strict=True))
    restored = ", ".join(f"{short} AS {name}" for name, short in zip(names, alias, strict=True))
    listed = ", ".join(alias)
    counted = (
        f"SELECT {listed}, COUNT(*) AS copies FROM (SELECT {renamed} FROM ({rows}) AS given) AS plain GROUP BY {listed}"
    )
    if isinstance(engine, SparkEngine):
        nested = [kind_of(type_) == "nested" for _, type_ in engine.describe(f"({rows})")]
        # Maps have no order and no hash; every other value goes in as it is.
        compared = ["CAST({} AS STRING)" if odd else "{}" for odd in nested]
        return f"SELECT {restored} FROM {_in_parts(counted, alias, compared, secret=secret, parts=parts)}"
    numbered = f"SELECT {listed}, UNNEST(RANGE(copies)) AS copy FROM ({counted}) AS counted"
    total = ", ".join(f"{short} NULLS LAST" for short in alias)
    return f"SELECT {restored} FROM ({numbered}) AS numbered ORDER BY HASH({secret}, copy, {listed}), {total}, copy"


def _in_parts(counted: str, alias: Sequence[str], compared: Sequence[str], *, secret: int, parts: int) -> str:
    """What stands after FROM on Spark. Copies are made in chunks, and on all workers: few rows with many copies would keep one busy."""
    listed = ", ".join(alias)
    values = ", ".join(form.format(short) for form, short in zip(compared, alias, strict=True))
    last = f"(copies - 1) DIV {_CHUNK}"
    chunks = f"SELECT {listed}, copies, EXPLODE(SEQUENCE(0, {last})) AS chunk FROM ({counted}) AS counted"
    spread = _placed(f"SELECT *, XXHASH64({secret}, chunk, {values}) AS place FROM ({chunks}) AS chunks", parts)
    numbers = f"SEQUENCE(chunk * {_CHUNK}, LEAST(copies, (chunk + 1) * {_CHUNK}) - 1)"
    numbered = f"SELECT {listed}, EXPLODE({numbers}) AS copy FROM ({spread}) AS spread"
    placed = _placed(f"SELECT *, XXHASH64({secret}, copy, {values}) AS place FROM ({numbered}) AS numbered", parts)
    # With the table's name, because a published column may be called place or copy.
    total = [f"{form.format(f'placed.{short}')} NULLS LAST" for form, short in zip(compared, alias, strict=True)]
    return f"({placed}) AS placed SORT BY {', '.join(['placed.place', *total, 'placed.copy'])}"


def _placed(rows: str, parts: int) -> str:
    """The rows in so many partitions, by their place."""
    return f"SELECT /*+ REPARTITION({parts}, place) */ * FROM ({rows}) AS hashed"
