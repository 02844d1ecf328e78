# SPDX-License-Identifier: Apache-2.0
"""The order of published rows: a function of what is published and of a secret, and of nothing else.

Equal rows are counted and numbered, and rows are sorted by a hash of the secret, the number and all their values. Whatever order the source
had is gone with the count, so the order of a release cannot tell it, even to somebody who learns the secret. The same secret gives
the same file, on one thread or many.

On Spark the same hash says in which of the part files a row lies, so the parts do not tell how the source was spread over the cluster.
"""

from __future__ import annotations

import secrets

from divulge.engines.choose import OwnEngine
from divulge.errors import BadInput

_BITS = 62


def draw_secret(seed: int | None = None) -> int:
    """A fresh secret, or the one that a test gives."""
    if seed is None:
        return secrets.randbits(_BITS)
    if not 0 <= seed < 1 << _BITS:
        raise BadInput(f"seed = {seed!r} is not possible", hint=f"Give a whole number from 0 to 2^{_BITS} - 1, or none")
    return seed


def shuffled(engine: OwnEngine, rows: str, *, secret: int, files: int = 1) -> str:
    """The rows of a query as one whose order tells nothing; on Spark it has a partition for each file."""
    described = engine.describe(f"({rows})")
    alias = [f"c{place}" for place in range(len(described))]
    names = [engine.quote(name) for name, _ in described]
    renamed = ", ".join(f"{name} AS {short}" for name, short in zip(names, alias, strict=True))
    restored = ", ".join(f"{short} AS {name}" for name, short in zip(names, alias, strict=True))
    listed = ", ".join(alias)
    counted = (
        f"SELECT {listed}, COUNT(*) AS copies FROM (SELECT {renamed} FROM ({rows}) AS given) AS plain GROUP BY {listed}"
    )
    typed = [(short, type_) for short, (_, type_) in zip(alias, described, strict=True)]
    return f"SELECT {restored} FROM {engine.in_hash_order(counted, typed, secret=secret, files=files)}"
