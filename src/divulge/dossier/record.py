# SPDX-License-Identifier: Apache-2.0
"""Attributes, records, references and weights (Whang and Garcia-Molina, section 2).

A record is what an adversary believes about one person: a set of (label, value) pairs, each with a confidence in
(0, 1]. An absent attribute has confidence 0. One label may carry several values, one pair may not occur twice.
A reference is the truth about the person: a record that is certain of everything it says. Weights belong to labels.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from divulge import values
from divulge.errors import BadInput

LIGHTEST, HEAVIEST = 1e-60, 1e60
"""Positive weights outside this range are refused: sums and ratios of them would leave the range of a double."""


class Attribute(NamedTuple):
    """One piece of information: a label and a value, both text."""

    label: str
    value: str


@dataclass(frozen=True)
class Record:
    """An immutable map from attribute to confidence, with the ids of the base records it was made from."""

    attributes: Mapping[Attribute, float]
    id: str | None = None
    sources: frozenset[str] = frozenset()
    """Ids of the base records; {id} unless said otherwise."""

    def __post_init__(self) -> None:
        try:  # not held against its types entry by entry: there may be a million of them
            known = {
                Attribute(*attribute): confidence
                for attribute, given in self.attributes.items()
                if (confidence := check_confidence(given, attribute)) > 0
            }
            sources = frozenset(self.sources or (() if self.id is None else (self.id,)))
        except (AttributeError, TypeError):
            told = "a record is a mapping from (label, value) to a confidence, and its id is a text"
            raise BadInput(told, hint='Record.of({"N": "Alice"}) makes one of plain values') from None
        object.__setattr__(self, "attributes", MappingProxyType(known))
        object.__setattr__(self, "sources", sources)

    @classmethod
    @values.checked
    def of(
        cls,
        entries: Mapping[str, object] | Iterable[Sequence[object]] = (),
        id: str | None = None,  # noqa: A002, the field it fills
    ) -> Record:
        """A record from `{"N": "Alice", "P": ("123", 0.5)}` or from (label, value[, confidence]) tuples.

        A list holds several values of one label: `{"A": [("20", 0.5), ("30", 0.4)]}`.

        Examples:
            >>> len(Record.of([("N", "Alice"), ("A", 20, 0.5), ("A", 30, 0.4)]))
            3
        """
        attributes: dict[Attribute, float] = {}
        for attribute, confidence in _flatten(entries):
            if attribute in attributes:
                raise BadInput(
                    f"the attribute {show(attribute)} occurs twice in one record{_named(id)}",
                    hint="keep one of them, with one confidence",
                )
            attributes[attribute] = confidence
        return cls(attributes, id)

    def merge(self, other: Record) -> Record:
        """Union of the attributes, the higher confidence of each: idempotent, commutative, associative.

        The merged record has no id of its own unless both sides share it; `sources` remembers where it came from.
        """
        merged = highest(other.attributes.items(), dict(self.attributes))
        return _trusted(merged, self.id if self.id == other.id else None, self.sources | other.sources)

    def rewritten(self, change: Callable[[Attribute], Attribute]) -> Record:
        """The record with changed attributes; where two become one, the higher confidence stays."""
        attributes = highest((change(attribute), confidence) for attribute, confidence in self.attributes.items())
        return _trusted(attributes, self.id, self.sources)

    def kept(self, wanted: Callable[[Attribute], bool]) -> Record:
        """The record with only the attributes that are wanted."""
        return _trusted({a: c for a, c in self.attributes.items() if wanted(a)}, self.id, self.sources)

    def with_confidence(self, attribute: Attribute, confidence: float) -> Record:
        """The same record with another confidence for one attribute; 0 removes it."""
        return replace(self, attributes={**self.attributes, attribute: confidence})

    def certain(self) -> Record:
        """The same attributes, all with confidence 1: the reference r_p of section 4.3."""
        return _trusted(dict.fromkeys(self.attributes, 1.0), self.id, self.sources)

    @cached_property
    def value_sets(self) -> Mapping[str, frozenset[str]]:
        """The values of each label."""
        values: dict[str, set[str]] = {}
        for label, value in self.attributes:
            values.setdefault(label, set()).add(value)
        return MappingProxyType({label: frozenset(found) for label, found in values.items()})

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that occur, in order of first occurrence."""
        return tuple(self.value_sets)

    def __len__(self) -> int:
        return len(self.attributes)

    def __hash__(self) -> int:
        return hash((frozenset(self.attributes.items()), self.id, self.sources))

    def __reduce__(self) -> tuple[type[Record], tuple[dict[Attribute, float], str | None, frozenset[str]]]:
        return Record, (dict(self.attributes), self.id, self.sources)


Database: TypeAlias = tuple[Record, ...]
Confidences: TypeAlias = dict[Attribute, float]


def highest(found: Iterable[tuple[Attribute, float]], known: Confidences | None = None) -> Confidences:
    """The highest confidence of each attribute, also among those known already; these are updated in place."""
    attributes = {} if known is None else known
    for attribute, confidence in found:
        if confidence > attributes.get(attribute, 0.0):
            attributes[attribute] = confidence
    return attributes


def check_reference(reference: Record) -> Record:
    """The reference itself, or an error when it is empty or unsure of something."""
    if not reference.attributes:
        raise BadInput(
            f"the reference record{_named(reference.id)} is empty", hint="it must hold what is true about the person"
        )
    for attribute, confidence in reference.attributes.items():
        if confidence != 1.0:
            raise BadInput(
                f"the reference says {show(attribute)} with confidence {confidence}",
                hint="a reference is the truth: leave its confidences out, or set them to 1",
            )
    return reference


def check_weights(weights: Mapping[str, float] | None) -> Mapping[str, float]:
    """Weights per label, 0 or within 1e-60 .. 1e60; a label without a weight weighs 1."""
    checked = {}
    for label, weight in (weights or {}).items():
        number = finite_number(weight)
        if number is None or not (number == 0 or LIGHTEST <= number <= HEAVIEST):
            raise BadInput(
                f"the weight of {label!r} is {brief(weight)}",
                hint=f"a weight is 0, or from {LIGHTEST:g} to {HEAVIEST:g}",
            )
        checked[label] = number
    return MappingProxyType(checked)


def check_confidence(given: object, attribute: tuple[str, str]) -> float:
    """The confidence as a float in [0, 1]."""
    number = finite_number(given)
    if number is None or not 0 <= number <= 1:
        raise BadInput(
            f"the confidence of {show(attribute)} is {brief(given)}", hint="a confidence lies between 0 and 1"
        )
    return number


def as_text(value: object) -> str:
    """A value as the text that is compared: 30 and 30.0 are "30", True is "true"."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    raise BadInput(
        f"{brief(value)} is not a value", hint="a value is text or a finite number; leave an unknown one out"
    )


def brief(value: object) -> str:
    """A value as an error shows it: the beginning of a long or deeply nested one."""
    return reprlib.repr(value)


@values.checked
def show(attribute: tuple[str, str]) -> str:
    """An attribute as the paper writes it.

    Args:
        attribute: A label and a value.

    Examples:
        >>> import divulge as dv
        >>> dv.dossier.show(dv.dossier.Attribute("N", "Alice"))
        '<N, Alice>'
    """
    return f"<{attribute[0]}, {attribute[1]}>"


def _trusted(attributes: dict[Attribute, float], name: str | None, sources: frozenset[str]) -> Record:
    """A record from parts of checked records, without checking them again: entity resolution merges very often."""
    record = object.__new__(Record)
    object.__setattr__(record, "attributes", MappingProxyType(attributes))
    object.__setattr__(record, "id", name)
    object.__setattr__(record, "sources", sources)
    return record


def _flatten(entries: Mapping[str, object] | Iterable[Sequence[object]]) -> Iterable[tuple[Attribute, float]]:
    if isinstance(entries, Mapping):
        for label, given in entries.items():
            for entry in given if isinstance(given, list) else [given]:
                yield _pair(label, *(entry if isinstance(entry, tuple) else (entry,)))
        return
    for entry in entries:
        if isinstance(entry, str) or len(entry) not in (2, 3):
            raise BadInput(
                f"{brief(entry)} is not an attribute", hint="write (label, value) or (label, value, confidence)"
            )
        yield _pair(*entry)


def _pair(label: object, value: object, confidence: object = 1.0) -> tuple[Attribute, float]:
    if not isinstance(label, str) or not label:
        raise BadInput(f"{brief(label)} is not a label", hint="a label is text that is not empty")
    attribute = Attribute(label, as_text(value))
    return attribute, check_confidence(confidence, attribute)


def finite_number(value: object) -> float | None:
    """The value as a finite float, or None: text and truth values are not numbers here."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool | str):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _named(name: str | None) -> str:
    return f" {name!r}" if name is not None else ""


# --- joint information ------------------------------------------------------------------------------------------------
# Correlated attributes (section 2). Phone and address each tell a part of the other, say the district. The device splits them into J,
# what both tell, and what only one of them tells; who learns both learns J once, not twice. A joint adds <J, ...> to every record with
# one of its members. J takes their highest confidence and is then independent like any attribute: the paper's model, not an exact one.
TRUE_VALUE = "as in the reference"


@values.checked_fields
@dataclass(frozen=True)
class Joint:
    """What several labels tell together, under a label of its own."""

    label: str
    members: frozenset[str]
    values: Mapping[Attribute, str] = field(default_factory=dict)
    """The joint value that a member attribute tells. A member without an entry tells one of its own: it agrees with nobody."""

    def __post_init__(self) -> None:
        if len(self.members) < 2 or self.label in self.members:
            raise BadInput(
                f"the joint {self.label!r} has the members {sorted(self.members)}",
                hint="name at least two labels that share information, and a new label for what they share",
            )
        if others := sorted({attribute.label for attribute in self.values} - self.members):
            raise BadInput(f"the joint {self.label!r} has values for {others}", hint="only members tell a joint value")
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    @classmethod
    def of_reference(cls, label: str, members: Iterable[str], *, reference: Record) -> Joint:
        """A joint that every true member tells rightly and every false one wrongly."""
        kept = frozenset(members)
        values = {attribute: TRUE_VALUE for attribute in reference.attributes if attribute.label in kept}
        return cls(label, kept, values)

    def apply(self, record: Record) -> Record:
        """The record with the joint information its members tell; apply it to the reference as well.

        Examples:
            >>> alice = Record.of({"A": "123 Main", "P": "555"})
            >>> joint = Joint.of_reference("J", ["A", "P"], reference=alice)
            >>> len(joint.apply(alice)), len(joint.apply(Record.of({"P": "555"})))
            (3, 2)
        """
        if self.label in record.value_sets:
            raise BadInput(f"the record already has the label {self.label!r}", hint="give the joint a label of its own")
        told = (
            (Attribute(self.label, self.values.get(each, f"{each.label} = {each.value}")), confidence)
            for each, confidence in record.attributes.items()
            if each.label in self.members
        )
        return replace(record, attributes=highest(told, dict(record.attributes)))


def joints_of(given: Mapping[str, Joint | Iterable[str]] | None, reference: Record) -> tuple[Joint, ...]:
    """What is told together, by label; where only members are named, the reference says which of them tell it rightly."""
    found = []
    for label, members in (given or {}).items():
        if isinstance(members, str) or (isinstance(members, Joint) and members.label != label):
            raise BadInput(f"the joint {label!r} is {brief(members)}", hint=f'write {{"{label}": ["A", "P"]}}')
        named = members if isinstance(members, Joint) else Joint.of_reference(label, members, reference=reference)
        found.append(named)
    return tuple(found)
