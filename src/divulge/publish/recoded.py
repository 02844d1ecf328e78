# SPDX-License-Identifier: Apache-2.0
"""The rows of a table under a recoding: the pass in which the engine applies what the search decided.

Each row's quasi-identifiers are looked up among the raw classes, null for null; the row gets the labels of its class, or is left out with
it. A row that no counted class knows is left out too, so rows that appeared after counting are not published unseen.
Identifiers and the person never are.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from divulge.count import Contingency, Nulls
from divulge.engines.choose import OwnEngine
from divulge.generalize.plan import Recoding
from divulge.table.roles import Roles
from divulge.table.table import Table

_SMALL = 200_000
"""So many classes may be sent to every worker, so that no row of the source moves for the lookup."""


def recoded_rows(
    table: Table, engine: OwnEngine, contingency: Contingency, recoding: Recoding, *, roles: Roles, nulls: Nulls
) -> str:
    """A query for the published rows, in no order that means anything."""
    lookup = engine.lend(_lookup_table(contingency, recoding))
    quote = engine.quote
    same = " AND ".join(
        f"source.{quote(name)} IS NOT DISTINCT FROM classes.k{place}" for place, name in enumerate(recoding.columns)
    )
    label = {
        name: f"classes.p{place}"
        for place, (name, unchanged) in enumerate(zip(recoding.columns, recoding.unchanged, strict=True))
        if not unchanged
    }
    published = [column for column in table.columns if column.name not in (*roles.identifier, roles.person)]
    for column in published:
        if column.name not in roles.counted:
            label[column.name] = engine.durable(f"source.{quote(column.name)}", column.type)
    selected = ", ".join(
        f"{label.get(column.name, f'source.{quote(column.name)}')} AS {quote(column.name)}" for column in published
    )
    where = _without_nulls(engine, roles.sensitive) if nulls == "drop" else ""
    # A hint for Spark; DuckDB takes it for a comment.
    everywhere = "/*+ BROADCAST(classes) */ " if recoding.kept.sum() <= _SMALL else ""
    return f"SELECT {everywhere}{selected} FROM {table.relation} AS source JOIN {lookup} AS classes ON {same}{where}"


def _lookup_table(contingency: Contingency, recoding: Recoding) -> pa.Table:
    """One row per raw class that is kept: its values as k0, k1, ..., its labels as p0, p1, ..."""
    kept = pa.array(recoding.kept)
    columns: dict[str, pa.Array] = {}
    for place, (labels, codes) in enumerate(zip(recoding.labels, recoding.codes, strict=True)):
        columns[f"k{place}"] = contingency.key_column(place).filter(kept)
        if not recoding.unchanged[place]:
            columns[f"p{place}"] = pa.array(labels, type=pa.string()).take(pa.array(codes)).filter(kept)
    return pa.table(columns)


def _without_nulls(engine: OwnEngine, names: Sequence[str]) -> str:
    known = [f"source.{engine.quote(name)} IS NOT NULL" for name in names]
    return f" WHERE {' AND '.join(known)}" if known else ""
