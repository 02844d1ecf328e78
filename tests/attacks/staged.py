# SPDX-License-Identifier: Apache-2.0
"""Stages for attacks, built from small tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import divulge as dv
from divulge.adversary import Adversary
from divulge.anatomization import join_tables
from divulge.attacks import MASS, AttackContext, Matcher, People, put_together
from divulge.sources import Roles, Table, resolve_roles


def people_of(table: pa.Table, knows: Sequence[str]) -> People:
    """Build people with all values as texts."""
    texts = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    return People(texts.select(list(knows)), texts, "people")


def anatomized_stage(
    tables: Sequence[pa.Table],
    truth: pa.Table,
    *,
    sensitive: str,
    knows: Sequence[str],
    levels: Mapping[str, str] | None = None,
    control: pa.Table | None = None,
) -> AttackContext:
    """Build a stage of an anatomized release; its tables have the column GID and perhaps Count."""
    engine = dv.DuckDBEngine()
    opened = [dv.read(table, engine=engine) for table in tables]
    published = join_tables(opened, sensitive=[sensitive])
    roles = Roles(tuple(knows), (sensitive,), (), None, None)
    return _stage(opened[0], truth, roles, control, published=published, levels=levels or {})


def table_stage(
    release: pa.Table,
    truth: pa.Table,
    *,
    sensitive: Sequence[str] = (),
    knows: Sequence[str],
    control: pa.Table | None = None,
    person: str | None = None,
    **more: Any,
) -> AttackContext:
    """Build a stage of a release of one table."""
    opened = dv.read(release)
    roles = resolve_roles(
        opened, quasi_identifiers=list(knows), sensitive=list(sensitive), person=person
    )
    return _stage(opened, truth, roles, control, **more)


def _stage(
    release: Table, truth: pa.Table, roles: Roles, control: pa.Table | None, **more: Any
) -> AttackContext:
    knows = roles.quasi_identifiers
    published, about = more.get("published"), roles.sensitive
    seen, mass = (release, None) if published is None else (put_together(published), MASS)
    beside: dict[str, Any] = {
        "everybody": dv.read(truth),
        "nobody": None if control is None else dv.read(control),
        "population": None,
    }
    beside["matcher"] = Matcher(seen, [name for name in knows if seen.has(name)], about, mass=mass)
    given = (
        beside
        | {"mass": None, "adversary": Adversary(), "background": None, "promises": (), "seed": 1}
        | more
    )
    return AttackContext(
        engine=release.engine,
        release=release,
        roles=roles,
        knows=knows,
        targets=people_of(truth, knows),
        controls=None if control is None else people_of(control, knows),
        **given,
    )
