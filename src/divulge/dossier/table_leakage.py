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

from divulge.dossier.equivalence import Equivalence, read_pattern
from divulge.dossier.files import from_rows
from divulge.dossier.leakage import Measure
from divulge.dossier.record import Attribute, Record
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
    rows = [record.kept(lambda attribute: bool(attribute.value.strip("*"))) for record in from_rows(release)]
    for label in labels:
        if not any(label in record.value_sets for record in rows):
            raise BadInput(f"no row of the release has a value for the quasi-identifier {label!r}")
    equivalence = measure.equivalence or generalized(rows, labels, same=same)
    vague = [_less_sure(record.attributes, labels, generalized_confidence) for record in rows]
    known = [record.attributes for table in background for record in from_rows(table)]
    named = [Record(attributes, f"row {number}") for number, attributes in enumerate(vague, start=1)]
    named += [Record(attributes, f"known {number}") for number, attributes in enumerate(known, start=1)]
    merged = resolve(map(equivalence.apply, named), MatchRule((tuple(labels),))).records
    measure = replace(measure, equivalence=equivalence)
    found = [(person.id or f"person {n}", measure.most(merged, person)) for n, person in enumerate(people, start=1)]
    return tuple(TableLeakage(name, most.leakage, most.witnesses) for name, most in found)


def generalized(
    rows: Iterable[Record], labels: Sequence[str], *, same: Mapping[str, Mapping[str, Iterable[str]]] | None = None
) -> Equivalence:
    """The equivalence a release implies: each of its generalized values (11*, 3*, >=50, 20-29) stands for what it covers.

    Values that are no pattern, such as a plain 111, stand for themselves. When patterns overlap, the longer prefix and
    then the name decide.
    """
    classes: dict[str, dict[str, list[str]]] = {
        label: {name: list(values) for name, values in given.items()} for label, given in (same or {}).items()
    }
    shown = {attribute for record in rows for attribute in record.attributes if attribute.label in labels}
    for label, value in sorted(shown, key=lambda attribute: (-len(attribute.value.rstrip("*")), attribute.value)):
        if read_pattern(value):
            classes.setdefault(label, {}).setdefault(value, [])
    return Equivalence(classes)


def _less_sure(attributes: Mapping[Attribute, float], labels: Sequence[str], trust: float) -> dict[Attribute, float]:
    """The attributes with this confidence in generalized values."""
    return {a: c * trust if a.label in labels and read_pattern(a.value) else c for a, c in attributes.items()}
