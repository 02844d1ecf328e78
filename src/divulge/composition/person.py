# SPDX-License-Identifier: Apache-2.0
"""One person's dossier from several releases (Whang and Garcia-Molina): what each says of her, with what confidence, and her leakage.

A release says of somebody in a class: she has value v, with the share of v in her class. After several releases her class is the joint one,
and so are the shares. The reference is what is true of her; her leakage is that of the record of these beliefs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from divulge import dossier
from divulge.composition.joined import NOT_PUBLISHED, Joined
from divulge.errors import BadInput
from divulge.results import Result
from divulge.values import as_text


@dataclass(frozen=True)
class AfterRelease:
    """What is known of her after one more release."""

    release: str
    key: Mapping[str, Any] | None
    """Her class in it; None where she is not in it."""
    people: int
    """Who are in that class."""
    together: int
    """Who share her classes in all releases so far."""
    alone: float | None
    """Her leakage by this release alone."""
    so_far: float
    record: dossier.Record = field(repr=False)
    """What is believed of her so far."""


@dataclass(frozen=True, repr=False)
class PersonTold(Result):
    """What several releases tell of one person."""

    view = "compose"

    person: str
    reference: dossier.Record
    steps: tuple[AfterRelease, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def told_of(tied: Joined | None, who: Any, *, settings: Mapping[str, Any], notes: tuple[str, ...]) -> PersonTold:
    """The dossier of one person, by her name in the person column."""
    if tied is None or tied.person is None:
        raise BadInput("nobody can be named without the truth and its person column", hint="Give truth= and person=")
    table, engine, sensitive = tied.table, tied.table.engine, settings["sensitive"]
    if not sensitive:
        raise BadInput("no release tells a sensitive column, so there is nothing to be learnt of her")
    quote = engine.quote
    name = engine.cast(quote(tied.person), "VARCHAR")
    rows = engine.query(
        f"SELECT * FROM {table.relation} WHERE {name} = {engine.literal(str(as_text(who)))}"
    ).to_pylist()
    if len(rows) != 1:
        told = "nobody" if not rows else f"{len(rows)} rows"
        raise BadInput(f"{told} in the truth with {tied.person} = {who!r}", hint="Name one person who has one row")
    (her,) = rows
    true = {attribute: as_text(her[attribute]) for attribute in sensitive if her[attribute] is not None}
    reference = dossier.Record.of(true, id=str(who))
    steps: list[AfterRelease] = []
    for place, (column, release) in enumerate(zip(tied.columns, tied.disclosed, strict=True)):
        number = her[column]
        seen = number != NOT_PUBLISHED
        mine, size = _believed(tied, sensitive, {column: number}) if seen else (None, 0)
        in_some = any(her[name] != NOT_PUBLISHED for name in tied.columns[: place + 1])
        joint = {name: her[name] for name in tied.columns[: place + 1]}
        record, together = _believed(tied, sensitive, joint) if in_some else (dossier.Record.of({}), 0)
        steps.append(
            AfterRelease(
                release.name,
                release.class_key(number - 1) if seen else None,
                size,
                together,
                None if mine is None else dossier.leakage(mine, reference).leakage,
                dossier.leakage(record, reference).leakage,
                record,
            )
        )
    return PersonTold(str(who), reference, tuple(steps), settings, notes, frame=table.frame)


def _believed(tied: Joined, sensitive: Sequence[str], classes: Mapping[str, int]) -> tuple[dossier.Record, int]:
    """The record of what people in a class have, each value with its share, and how many they are."""
    engine, quote = tied.table.engine, tied.table.engine.quote
    where = " AND ".join(f"{quote(name)} = {number}" for name, number in classes.items())
    entries: list[tuple[str, str, float]] = []
    people = 0
    for attribute in sensitive:
        cell = quote(attribute)
        counted = engine.query(
            f"SELECT {cell} AS v, COUNT(*) AS n FROM {tied.table.relation} WHERE {where} GROUP BY {cell}"
        ).to_pylist()
        people = sum(row["n"] for row in counted)
        entries += [(attribute, str(as_text(row["v"])), row["n"] / people) for row in counted if row["v"] is not None]
    return dossier.Record.of(entries), people
