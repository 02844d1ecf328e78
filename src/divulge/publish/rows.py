# SPDX-License-Identifier: Apache-2.0
"""The rows of a table under a recoding: the pass in which the engine applies what the search decided.

Each row's quasi-identifiers are looked up among the raw classes, null for null; the row gets the labels of its class, or is left out with
it. A row that no counted class knows is left out too, so rows that appeared after counting are not published unseen.
Identifiers and the person never are.
"""

from __future__ import annotations

import secrets

import pyarrow as pa

from divulge.count import Contingency, Nulls
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.search import Recoding
from divulge.table import Roles, Table

_SMALL = 200_000
"""So many classes may be sent to every worker, so that no row of the source moves for the lookup."""


def recoded_rows(
    table: Table, engine: OwnEngine, contingency: Contingency, recoding: Recoding, *, roles: Roles, nulls: Nulls
) -> str:
    """A query for the published rows, in no order that means anything."""
    lookup = engine.lend(_lookup_table(contingency, recoding))
    quote = engine.quote
    places = {name: place for place, name in enumerate(recoding.columns)}
    same = [f"source.{quote(name)} IS NOT DISTINCT FROM classes.k{place}" for name, place in places.items()]
    selected = []
    for column in table.columns:
        name, cell = column.name, f"source.{quote(column.name)}"
        if name in (*roles.identifier, roles.person):
            continue
        if name in places and not recoding.unchanged[places[name]]:
            cell = f"classes.p{places[name]}"
        elif name not in roles.counted:
            cell = engine.durable(cell, column.type)
        selected.append(f"{cell} AS {quote(name)}")
    known = [f"source.{quote(name)} IS NOT NULL" for name in roles.sensitive if nulls == "drop"]
    where = f" WHERE {' AND '.join(known)}" if known else ""
    # A hint for Spark; DuckDB takes it for a comment.
    everywhere = "/*+ BROADCAST(classes) */ " if recoding.kept.sum() <= _SMALL else ""
    joined = f"{table.relation} AS source JOIN {lookup} AS classes ON {' AND '.join(same)}"
    return f"SELECT {everywhere}{', '.join(selected)} FROM {joined}{where}"


def _lookup_table(contingency: Contingency, recoding: Recoding) -> pa.Table:
    """One row per raw class that is kept: its values as k0, k1, ..., its labels as p0, p1, ..."""
    kept = pa.array(recoding.kept)
    columns: dict[str, pa.Array] = {}
    for place, (labels, codes) in enumerate(zip(recoding.labels, recoding.codes, strict=True)):
        columns[f"k{place}"] = contingency.key_column(place).filter(kept)
        if not recoding.unchanged[place]:
            columns[f"p{place}"] = pa.array(labels, type=pa.string()).take(pa.array(codes)).filter(kept)
    return pa.table(columns)


# --- shuffle ----------------------------------------------------------------------------------------------------------
# Equal rows are counted and numbered, and rows are sorted by a hash of the secret, the number and all their values. Whatever order
# the source had is gone with the count, so the order of a release cannot tell it, even to somebody who learns the secret. On Spark
# the same hash says in which of the part files a row lies, so the parts do not tell how the source was spread over the cluster.
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
    plain = f"(SELECT {renamed} FROM ({rows}) AS given) AS plain"
    counted = f"SELECT {listed}, COUNT(*) AS copies FROM {plain} GROUP BY {listed}"
    typed = [(short, type_) for short, (_, type_) in zip(alias, described, strict=True)]
    return f"SELECT {restored} FROM {engine.in_hash_order(counted, typed, secret=secret, files=files)}"
