# SPDX-License-Identifier: Apache-2.0
"""Attributes, records, references and weights (Whang and Garcia-Molina, section 2).

A record is an adversary's belief about one person: a set of (label, value) pairs, each with a
confidence in (0, 1]. An absent attribute has confidence 0. One label may have several values; one
pair may not occur twice. A reference is the truth about the person: a record with confidence 1 in
all its attributes. Weights belong to labels.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from divulge.arguments import outside
from divulge.errors import BadInput
from divulge.validation import checked, checked_fields

LIGHTEST = 1e-60
HEAVIEST = 1e60
"""The largest weight. Positive weights outside the range raise an error.

Their sums and ratios would leave the range of a double.
"""


class Attribute(NamedTuple):
    """One piece of information: a label and a value, both text."""

    label: str
    value: str


@dataclass(frozen=True)
class Record:
    """An immutable map from attribute to confidence, with the ids of its base records."""

    attributes: Mapping[Attribute, float]
    id: str | None = None
    sources: frozenset[str] = frozenset()
    """Ids of the base records; {id} by default."""

    def __post_init__(self) -> None:
        try:  # types are not checked per entry: there may be a million
            confidences = {
                Attribute(*attribute): confidence
                for attribute, raw_confidence in self.attributes.items()
                if (confidence := check_confidence(raw_confidence, attribute)) > 0
            }
            sources = frozenset(self.sources or (() if self.id is None else (self.id,)))
        except (AttributeError, TypeError):
            message = (
                "a record is a mapping from (label, value) to a confidence, and its id is a text"
            )
            raise BadInput(
                message, hint='Record.of({"N": "Alice"}) makes one of plain values'
            ) from None
        object.__setattr__(self, "attributes", MappingProxyType(confidences))
        object.__setattr__(self, "sources", sources)

    @classmethod
    @checked
    def of(
        cls,
        entries: Mapping[str, object] | Iterable[Sequence[object]] = (),
        id: str | None = None,  # noqa: A002, the field it fills
    ) -> Record:
        """Build a record from `{"N": "Alice", "P": ("123", 0.5)}` or from tuples.

        A tuple is (label, value[, confidence]). A list holds several values of one label: `{"A":
        [("20", 0.5), ("30", 0.4)]}`.

        Examples:
            >>> len(Record.of([("N", "Alice"), ("A", 20, 0.5), ("A", 30, 0.4)]))
            3
        """
        attributes: dict[Attribute, float] = {}
        for attribute, confidence in _attribute_confidences(entries):
            if attribute in attributes:
                raise BadInput(
                    f"the attribute "
                    f"{outside(show(attribute))} occurs twice in one record{_quoted_name(id)}",
                    hint="keep one of them, with one confidence",
                )
            attributes[attribute] = confidence
        return cls(attributes, id)

    def merge(self, other: Record) -> Record:
        """Union of the attributes with the higher confidence of each.

        The operation is idempotent, commutative and associative. The merged record has no id of its
        own unless both sides share it. `sources` contains the ids of its base records.
        """
        merged = highest(other.attributes.items(), dict(self.attributes))
        return _unchecked_record(
            merged, self.id if self.id == other.id else None, self.sources | other.sources
        )

    def rewritten(self, change: Callable[[Attribute], Attribute]) -> Record:
        """Change each attribute; if two become equal, the higher confidence stays."""
        attributes = highest(
            (change(attribute), confidence) for attribute, confidence in self.attributes.items()
        )
        return _unchecked_record(attributes, self.id, self.sources)

    def kept(self, predicate: Callable[[Attribute], bool]) -> Record:
        """The record with only the attributes for which `predicate` is true."""
        return _unchecked_record(
            {a: c for a, c in self.attributes.items() if predicate(a)}, self.id, self.sources
        )

    def with_confidence(self, attribute: Attribute, confidence: float) -> Record:
        """The record with another confidence for one attribute; 0 removes it."""
        return replace(self, attributes={**self.attributes, attribute: confidence})

    def certain(self) -> Record:
        """The record with confidence 1 in all attributes: the reference r_p of section 4.3."""
        return _unchecked_record(dict.fromkeys(self.attributes, 1.0), self.id, self.sources)

    @cached_property
    def value_sets(self) -> Mapping[str, frozenset[str]]:
        """The values of each label."""
        values: dict[str, set[str]] = {}
        for label, value in self.attributes:
            values.setdefault(label, set()).add(value)
        return MappingProxyType(
            {label: frozenset(label_values) for label, label_values in values.items()}
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that occur, in order of first occurrence."""
        return tuple(self.value_sets)

    def __len__(self) -> int:
        return len(self.attributes)

    def __hash__(self) -> int:
        return hash((frozenset(self.attributes.items()), self.id, self.sources))

    def __reduce__(
        self,
    ) -> tuple[type[Record], tuple[dict[Attribute, float], str | None, frozenset[str]]]:
        return Record, (dict(self.attributes), self.id, self.sources)


Database: TypeAlias = tuple[Record, ...]
Confidences: TypeAlias = dict[Attribute, float]


def highest(
    entries: Iterable[tuple[Attribute, float]], confidences: Confidences | None = None
) -> Confidences:
    """The highest confidence of each attribute, including those in `confidences`.

    `confidences` is updated in place.
    """
    if confidences is None:
        attributes = {}
    else:
        attributes = confidences
    for attribute, confidence in entries:
        if confidence > attributes.get(attribute, 0.0):
            attributes[attribute] = confidence
    return attributes


def check_reference(reference: Record) -> Record:
    """Return the reference, or raise an error if it is empty or not fully confident."""
    if not reference.attributes:
        raise BadInput(
            f"the reference record{_quoted_name(reference.id)} is empty",
            hint="it must hold what is true about the person",
        )
    for attribute, confidence in reference.attributes.items():
        if confidence != 1.0:
            raise BadInput(
                f"the reference says {outside(show(attribute))} with confidence {confidence}",
                hint="a reference is the truth: leave its confidences out, or set them to 1",
            )
    return reference


def check_weights(weights: Mapping[str, float] | None) -> Mapping[str, float]:
    """Check weights per label: 0 or within 1e-60 .. 1e60; a label without a weight weighs 1."""
    confidences = {}
    for label, weight in (weights or {}).items():
        number = finite_number(weight)
        if number is None or not (number == 0 or LIGHTEST <= number <= HEAVIEST):
            raise BadInput(
                f"the weight of {label!r} is {brief(weight)}",
                hint=f"a weight is 0, or from {LIGHTEST:g} to {HEAVIEST:g}",
            )
        confidences[label] = number
    return MappingProxyType(confidences)


def check_confidence(confidence: object, attribute: tuple[str, str]) -> float:
    """Check a confidence and convert it to a float in [0, 1]."""
    number = finite_number(confidence)
    if number is None or not 0 <= number <= 1:
        raise BadInput(
            f"the confidence of {outside(show(attribute))} is {brief(confidence)}",
            hint="a confidence lies between 0 and 1",
        )
    return number


def as_text(value: object) -> str:
    """The text of a value for comparison: 30 and 30.0 are "30", True is "true"."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        if value.is_integer():
            return str(int(value))
        return repr(value)
    raise BadInput(
        f"{brief(value)} is not a value",
        hint="a value is text or a finite number; leave an unknown one out",
    )


def brief(value: object) -> str:
    """The text of a value in an error; long or deeply nested values are abbreviated."""
    return reprlib.repr(value)


@checked
def show(attribute: tuple[str, str]) -> str:
    """The text of an attribute in the paper's notation.

    Args:
        attribute: A label and a value.

    Examples:
        >>> import divulge as dv
        >>> dv.dossier.show(dv.dossier.Attribute("N", "Alice"))
        '<N, Alice>'
    """
    return f"<{attribute[0]}, {attribute[1]}>"


def _unchecked_record(
    attributes: dict[Attribute, float], name: str | None, sources: frozenset[str]
) -> Record:
    """Build a record from parts of checked records without checking them again.

    Entity resolution merges very often.
    """
    record = object.__new__(Record)
    object.__setattr__(record, "attributes", MappingProxyType(attributes))
    object.__setattr__(record, "id", name)
    object.__setattr__(record, "sources", sources)
    return record


def _attribute_confidences(
    entries: Mapping[str, object] | Iterable[Sequence[object]],
) -> Iterable[tuple[Attribute, float]]:
    if isinstance(entries, Mapping):
        for label, raw_value in entries.items():
            if isinstance(raw_value, list):
                chosen_entries = raw_value
            else:
                chosen_entries = [raw_value]
            for entry in chosen_entries:
                yield _attribute_confidence(
                    label, *(entry if isinstance(entry, tuple) else (entry,))
                )
        return
    for entry in entries:
        if isinstance(entry, str) or len(entry) not in (2, 3):
            raise BadInput(
                f"{brief(entry)} is not an attribute",
                hint="write (label, value) or (label, value, confidence)",
            )
        yield _attribute_confidence(*entry)


def _attribute_confidence(
    label: object, value: object, confidence: object = 1.0
) -> tuple[Attribute, float]:
    if not isinstance(label, str) or not label:
        raise BadInput(f"{brief(label)} is not a label", hint="a label is text that is not empty")
    attribute = Attribute(label, as_text(value))
    return attribute, check_confidence(confidence, attribute)


def finite_number(value: object) -> float | None:
    """The value as a finite float, or None; text and booleans are not numbers here."""
    if type(value) is float:
        if math.isfinite(value):
            return value
        return None
    if isinstance(value, bool | str):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    if math.isfinite(number):
        return number
    return None


def _quoted_name(name: str | None) -> str:
    if name is not None:
        return f" {name!r}"
    return ""


# --- joint information ----------------------------------------------------------------------------
# Correlated attributes (section 2). Phone and address each reveal a part of the other, say the
# district. The device splits them into J, which both reveal, and the parts that only one of them
# reveals. An adversary who learns both learns J once, not twice. A joint adds <J, ...> to every
# record with one of its members. J has their highest confidence and is then independent like any
# attribute. This is the paper's model, not an exact one.
TRUE_VALUE = "as in the reference"


@checked_fields
@dataclass(frozen=True)
class Joint:
    """Information that several labels share, under a label of its own."""

    label: str
    members: frozenset[str]
    values: Mapping[Attribute, str] = field(default_factory=dict)
    """The joint value that a member attribute reveals.

    A member without an entry has a value of its own and agrees with no other.
    """

    def __post_init__(self) -> None:
        if len(self.members) < 2 or self.label in self.members:
            raise BadInput(
                f"the joint {self.label!r} has the members {sorted(self.members)}",
                hint="name at least two labels that share information, and a new label for what "
                "they share",
            )
        if others := sorted({attribute.label for attribute in self.values} - self.members):
            raise BadInput(
                f"the joint {self.label!r} has values for {outside(others)}",
                hint="only members tell a joint value",
            )
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    @classmethod
    def of_reference(cls, label: str, members: Iterable[str], *, reference: Record) -> Joint:
        """Build a joint that every true member reveals correctly and every false one wrongly."""
        member_labels = frozenset(members)
        values = {
            attribute: TRUE_VALUE
            for attribute in reference.attributes
            if attribute.label in member_labels
        }
        return cls(label, member_labels, values)

    def apply(self, record: Record) -> Record:
        """Add the joint information of the record's members to the record.

        Apply it to the reference as well.

        Examples:
            >>> alice = Record.of({"A": "123 Main", "P": "555"})
            >>> joint = Joint.of_reference("J", ["A", "P"], reference=alice)
            >>> len(joint.apply(alice)), len(joint.apply(Record.of({"P": "555"})))
            (3, 2)
        """
        if self.label in record.value_sets:
            raise BadInput(
                f"the record already has the label {self.label!r}",
                hint="give the joint a label of its own",
            )
        joint_entries = (
            (
                Attribute(
                    self.label, self.values.get(attribute, f"{attribute.label} = {attribute.value}")
                ),
                confidence,
            )
            for attribute, confidence in record.attributes.items()
            if attribute.label in self.members
        )
        return replace(record, attributes=highest(joint_entries, dict(record.attributes)))


def joints_of(
    joint_members: Mapping[str, Joint | Iterable[str]] | None, reference: Record
) -> tuple[Joint, ...]:
    """The joints by label.

    If only members are given, the reference determines which of them reveal the joint correctly.
    """
    joints = []
    for label, members in (joint_members or {}).items():
        if isinstance(members, str) or (isinstance(members, Joint) and members.label != label):
            raise BadInput(
                f"the joint {label!r} is {brief(members)}", hint=f'write {{"{label}": ["A", "P"]}}'
            )
        if isinstance(members, Joint):
            joint = members
        else:
            joint = Joint.of_reference(label, members, reference=reference)
        joints.append(joint)
    return tuple(joints)
