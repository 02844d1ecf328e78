# SPDX-License-Identifier: Apache-2.0
"""What a published table gives away about one person (Whang and Garcia-Molina, section 3).

Each row of a release becomes a record, each column a label; a cell that is all stars says nothing. The adversary merges
the rows that agree on all quasi-identifiers, together with the background tables at hand. Generalized values stand for
what they cover: the 111 of a background table and of the reference becomes the 11* of the release before anything is
compared, or the adversary would hold the same fact twice. k-anonymity calls all rows equally safe; the leakage differs
from person to person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from divulge.dossier.equivalence import Equivalence
from divulge.dossier.files import from_rows
from divulge.dossier.leakage import Measure
from divulge.dossier.record import Database, Record
from divulge.dossier.resolve import MatchRule, resolve
from divulge.errors import BadInput


@dataclass(frozen=True)
class TableLeakage:
    """What the table says about one person, and the merged record that says it."""

    person: str
    leakage: float
    witnesses: tuple[Record, ...]


def table_leakage(
    release: object,
    people: Iterable[Record],
    *,
    quasi_identifiers: Sequence[str],
    background: Sequence[object] = (),
    same: Mapping[str, Mapping[str, Iterable[str]]] | None = None,
    generalized_confidence: float = 1.0,
    measure: Measure | None = None,
) -> tuple[TableLeakage, ...]:
    """The leakage of each person through a release, in the order given.

    `release` and each `background` table is a list of mappings or anything `divulge.read` opens. The generalized values
    of the quasi-identifiers are read off the release; `same` adds values that mean the same, such as
    {"Disease": {"Flu": ["Influenza"]}}. An equivalence in `measure` replaces both. A generalized value counts as the true
    one; `generalized_confidence` below 1 makes it count for less.
    """
    measure = measure or Measure()
    labels = [quasi_identifiers] if isinstance(quasi_identifiers, str) else list(quasi_identifiers)
    rows = tuple(_without_stars(record) for record in from_rows(release))
    for label in labels:
        if not any(label in record.value_sets for record in rows):
            raise BadInput(f"no row of the release has a value for the quasi-identifier {label!r}")
    equivalence = measure.equivalence or generalized(rows, labels, same=same)
    vague = tuple(_less_sure(record, labels, generalized_confidence) for record in rows)
    known = tuple(record for table in background for record in from_rows(table))
    merged = resolve(_named(vague, known, equivalence), MatchRule((tuple(labels),))).records
    plain = replace(measure, equivalence=equivalence)
    found = []
    for number, person in enumerate(people, start=1):
        most = plain.most(merged, person)
        found.append(TableLeakage(person.id or f"person {number}", most.leakage, most.witnesses))
    return tuple(found)


def generalized(
    rows: Iterable[Record],
    labels: Sequence[str],
    *,
    same: Mapping[str, Mapping[str, Iterable[str]]] | None = None,
) -> Equivalence:
    """The equivalence a release implies: each of its generalized values (11*, 3*, >=50, 20-29) stands for what it covers.

    Values that are no pattern, such as a plain 111, stand for themselves. When patterns overlap, the longer prefix and
    then the name decide.
    """
    classes: dict[str, dict[str, list[str]]] = {
        label: {name: list(values) for name, values in given.items()} for label, given in (same or {}).items()
    }
    values: dict[str, set[str]] = {label: set() for label in labels}
    for record in rows:
        for label, value in record.attributes:
            if label in values:
                values[label].add(value)
    for label, found in values.items():
        for value in sorted(found, key=lambda value: (-len(value.rstrip("*")), value)):
            if _is_pattern(label, value) and value not in classes.get(label, {}):
                classes.setdefault(label, {})[value] = []
    return Equivalence(classes)


def _is_pattern(label: str, value: str) -> bool:
    try:
        Equivalence({label: [value]})
    except BadInput:
        return False
    return True


def _named(rows: Database, known: Database, equivalence: Equivalence) -> Database:
    """The rows of the release and what is known besides, with canonical values and names that tell them apart."""
    named = [replace(record, id=f"row {number}", sources=frozenset()) for number, record in enumerate(rows, start=1)]
    named += [
        replace(record, id=f"known {number}", sources=frozenset()) for number, record in enumerate(known, start=1)
    ]
    return tuple(equivalence.apply(record) for record in named)


def _without_stars(record: Record) -> Record:
    kept = {attribute: c for attribute, c in record.attributes.items() if attribute.value.strip("*")}
    return replace(record, attributes=kept)


def _less_sure(record: Record, labels: Sequence[str], confidence: float) -> Record:
    """The record with this confidence in its generalized values."""
    changed = {
        attribute: c * confidence if attribute.label in labels and _is_pattern(*attribute) else c
        for attribute, c in record.attributes.items()
    }
    return replace(record, attributes=changed)
