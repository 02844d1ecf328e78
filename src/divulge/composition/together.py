# SPDX-License-Identifier: Apache-2.0
"""What releases tell together, measured on the joint classes that really occur: beside each alone, and after each one that came out.

Also what m-invariance asks for (Xiao and Tao 2007): a class is m-unique if at least m people are in it and no two have the same sensitive
value; releases are m-invariant if every class is m-unique and the values of a person's class (its signature) are the same in every
release that has her. Then a receiver who intersects what the releases tell of her still has m values left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from divulge import dossier, metrics
from divulge.belief import Adversary, Assumptions
from divulge.composition.derived import Derived
from divulge.composition.joined import NOT_PUBLISHED, HowFound, Joined
from divulge.count import Request
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.results import Result
from divulge.table import Roles
from divulge.values import as_text


# --- person -----------------------------------------------------------------------------------------------------------
# One person's dossier from several releases (Whang and Garcia-Molina): what each says of her, with what confidence, and her leakage.
# A release says of somebody in a class: she has value v, with the share of v in her class. After several releases her class is the joint
# one, and so are the shares. The reference is what is true of her; her leakage is that of the record of these beliefs.
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


# --- together ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class OneRelease:
    """One release: what it is, and what it tells alone and with all that came before it."""

    name: str
    kind: str
    people: int
    """Rows that it has."""
    classes: int
    """Classes or groups."""
    found: HowFound | None
    """How people were found in it, where the truth is known."""
    alone: Measurement | None = field(default=None, repr=False)
    so_far: Measurement | None = field(default=None, repr=False)
    """With all releases before it."""


@dataclass(frozen=True)
class SingledOut:
    """How many people the releases single out that none of them does alone."""

    people: int
    """Who are in at least one of them."""
    smallest: int
    """The fewest people of a class of any release alone."""
    below: int
    """People who share all their classes with fewer than that."""
    alone: int
    """People whom nobody shares all their classes with."""
    became_alone: int
    """Those of them who are alone in no single release."""
    named: tuple[Mapping[str, Any], ...] = ()
    """Some of these, where they were asked for: the person, where there is a key, and her class in each release."""


@dataclass(frozen=True)
class Invariance:
    """Whether releases are m-invariant about one sensitive attribute."""

    attribute: str
    unique: tuple[int, ...]
    """For each release the largest m for which all its classes are m-unique; 0 where a class has a value twice."""
    distinct: tuple[int, ...]
    """For each release the fewest distinct values of a class."""
    changed: int
    """People whose signature is not the same in all releases that have them."""
    followed: int
    """People who are in several releases."""

    @property
    def m(self) -> int:
        """The largest m for which the releases are m-invariant; 0: for none."""
        return 0 if self.changed else min(self.unique)


@dataclass(frozen=True, eq=False, repr=False)
class Composition(Result):
    """What several releases of the same people tell together."""

    view = "compose"

    releases: tuple[OneRelease, ...]
    together: SingledOut | None
    """None where the truth is not known."""
    invariance: tuple[Invariance, ...] = ()
    derived: tuple[Derived, ...] = ()
    """What whoever holds two of them can derive, where the truth is not known."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    joined: Joined | None = field(default=None, repr=False, metadata={"told": False})

    @property
    def measurement(self) -> Measurement | None:
        """What all of them tell together, where the truth is known."""
        return self.releases[-1].so_far

    def person(self, who: Any) -> PersonTold:
        """The dossier of one person, named by the person column: what is believed of her after each release, and her leakage."""
        return told_of(self.joined, who, settings=self.settings, notes=self.notes)


def measured_together(
    found: Joined, roles: Roles, her: Adversary, *, joint: bool, sample: int
) -> tuple[list[OneRelease], SingledOut]:
    """Every metric of each release alone, and of the first ones together; all against the same prior."""
    releases: list[OneRelease] = []
    for place, (column, release, how) in enumerate(zip(found.columns, found.disclosed, found.readings, strict=True)):
        alone = _measure(found, [column], roles, her, joint=joint)
        so_far = _measure(found, found.columns[: place + 1], roles, her, joint=joint) if place else alone
        releases.append(OneRelease(release.name, release.kind, release.people, len(release), how, alone, so_far))
    return releases, _singled_out(found, sample)


def _measure(found: Joined, columns: Sequence[str], roles: Roles, her: Adversary, *, joint: bool) -> Measurement:
    table = found.within(columns)
    own = replace(roles, quasi_identifiers=tuple(columns))
    assumptions = Assumptions.of(her, table, own)
    request = Request(table, own, "category", joint)
    return metrics.measure_request(request, assumptions=assumptions, population=None)


# --- who is singled out -----------------------------------------------------------------------------------------------
def _people(found: Joined) -> str:
    return "COUNT(*)" if found.person is None else f"COUNT(DISTINCT {found.table.engine.quote(found.person)})"


def _joint_classes(found: Joined) -> str:
    """A query for the joint classes: c0, c1, ... for the class in each release, n for the people, a0, a1, ... for those of each alone."""
    quote, counted = found.table.engine.quote, _people(found)
    names = [quote(name) for name in found.columns]
    rows = found.within(found.columns).relation
    keys = ", ".join(f"{name} AS c{place}" for place, name in enumerate(names))
    joint = f"(SELECT {keys}, {counted} AS n FROM {rows} AS r GROUP BY {', '.join(names)}) AS j"
    beside = [
        f"JOIN (SELECT {name} AS c, {counted} AS n FROM {rows} AS r{place} GROUP BY {name}) AS s{place} ON s{place}.c = j.c{place}"
        for place, name in enumerate(names)
    ]
    alone = ", ".join(f"s{place}.n AS a{place}" for place in range(len(names)))
    return f"SELECT j.*, {alone} FROM {joint} {' '.join(beside)}"


def _singled_out(found: Joined, sample: int) -> SingledOut:
    engine, places = found.table.engine, range(len(found.columns))
    held = engine.hold(_joint_classes(found))
    least = ", ".join(f"MIN(CASE WHEN c{place} <> {NOT_PUBLISHED} THEN a{place} END) AS m{place}" for place in places)
    first = engine.query(f"SELECT {least} FROM {held.relation}").to_pylist()[0]
    smallest = min(value for value in first.values() if value is not None)
    hidden = " AND ".join(f"(c{place} = {NOT_PUBLISHED} OR a{place} > 1)" for place in places)
    sums = {
        "people": "n",
        "below": f"CASE WHEN n < {smallest} THEN n ELSE 0 END",
        "alone": "CASE WHEN n = 1 THEN 1 ELSE 0 END",
        "became_alone": f"CASE WHEN n = 1 AND {hidden} THEN 1 ELSE 0 END",
    }
    asked = ", ".join(f"CAST(SUM({what}) AS BIGINT) AS {name}" for name, what in sums.items())
    told = engine.query(f"SELECT {asked} FROM {held.relation}").to_pylist()[0]
    named: tuple[Mapping[str, Any], ...] = ()
    if sample and told["became_alone"]:
        same = " AND ".join(f"r.{engine.quote(name)} = j.c{place}" for place, name in enumerate(found.columns))
        who = f"r.{engine.quote(found.person)} AS who" if found.person is not None else "1 AS who"
        rows = engine.query(
            f"SELECT {who}, {', '.join(f'c{place}' for place in places)} FROM {found.table.relation} AS r "
            f"JOIN {held.relation} AS j ON {same} WHERE n = 1 AND {hidden} ORDER BY 1, {', '.join(f'c{place}' for place in places)} "
            f"LIMIT {int(sample)}"
        )
        named = tuple(_named(found, row) for row in rows.to_pylist())
    return SingledOut(smallest=int(smallest), named=named, **{name: int(value) for name, value in told.items()})


def _named(found: Joined, row: Mapping[str, Any]) -> dict[str, Any]:
    classes = {
        release.name: None if row[f"c{place}"] == NOT_PUBLISHED else release.class_key(row[f"c{place}"] - 1)
        for place, release in enumerate(found.disclosed)
    }
    return ({} if found.person is None else {"person": row["who"]}) | {"classes": classes}


# --- m-invariance -----------------------------------------------------------------------------------------------------
def invariance_of(found: Joined, attribute: str) -> Invariance | None:
    """Whether the releases are m-invariant about an attribute that all of them tell; None where one does not."""
    parts = [release.about(attribute) for release in found.disclosed]
    told = [part for part in parts if part is not None]
    if len(told) < len(parts):
        return None
    engine, numbers = found.table.engine, dict[frozenset[str | None], int]()
    unique, distinct, joins, same = [], [], [], []
    for place, (part, release) in enumerate(zip(told, found.disclosed, strict=True)):
        values: list[set[str | None]] = [set() for _ in range(len(release))]
        for at, code in zip(part.in_class.tolist(), part.codes[0].tolist(), strict=True):
            values[at].add(part.texts[0][code])
        fewest = min(map(len, values))
        distinct.append(fewest)
        unique.append(0 if (part.people > 1).any() else fewest)
        signature = [numbers.setdefault(frozenset(each), len(numbers)) for each in values]
        lent = engine.lend(pa.table({"c": pa.array(range(1, len(release) + 1), pa.int64()), "s": pa.array(signature)}))
        joins.append(f"LEFT JOIN {lent} AS s{place} ON s{place}.c = j.c{place}")
        same.append(f"s{place}.s")
    listed = ", ".join(f"{name} AS s{place}" for place, name in enumerate(same))
    signatures = f"SELECT j.n AS n, {listed} FROM ({_joint_classes(found)}) AS j {' '.join(joins)}"
    each = ", ".join(_or(place, len(same)) for place in range(len(same)))
    least, most = f"LEAST({each})", f"GREATEST({each})"
    present = " + ".join(f"CASE WHEN s{place} IS NULL THEN 0 ELSE 1 END" for place in range(len(same)))
    sums = {
        "changed": f"CASE WHEN {least} <> {most} THEN n ELSE 0 END",
        "followed": f"CASE WHEN {present} > 1 THEN n ELSE 0 END",
    }
    asked = ", ".join(f"CAST(SUM({what}) AS BIGINT) AS {name}" for name, what in sums.items())
    row = engine.query(f"SELECT {asked} FROM ({signatures}) AS signed").to_pylist()[0]
    return Invariance(attribute, tuple(unique), tuple(distinct), int(row["changed"]), int(row["followed"]))


def _or(place: int, count: int) -> str:
    """A person's signature in a release, else in another that has her: engines differ in what LEAST makes of a null."""
    others = [other for other in range(count) if other != place]
    return f"COALESCE({', '.join(f's{at}' for at in (place, *others))})"
