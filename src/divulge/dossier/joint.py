# SPDX-License-Identifier: Apache-2.0
"""Correlated attributes: the joint-information device (Whang and Garcia-Molina, section 2).

The model takes attributes as unrelated. Phone and address are not: each tells a part of the other. The device splits them into
J, what both tell (say the district), A, what only the address tells, and P, what only the phone tells. Who learns the phone
learns J and P, who learns the address learns J and A, who learns both learns J, A and P: J once, not twice. The three labels
get weights of their own. So a joint is a way to add <J, ...> to every record that has one of its members.

J takes the highest confidence among the members that tell it, as in a merge, and like any attribute it is then independent
of the others: this is the paper's model, not an exact account of dependent beliefs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from divulge.dossier.record import Attribute, Record
from divulge.errors import BadInput

TRUE_VALUE = "as in the reference"


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
        if strangers := sorted({attribute.label for attribute in self.values} - self.members):
            raise BadInput(
                f"the joint {self.label!r} has values for {strangers}", hint="only members tell a joint value"
            )
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    @classmethod
    def of_reference(cls, label: str, members: Iterable[str], *, reference: Record) -> Joint:
        """A joint that every true member tells rightly and every false one wrongly."""
        kept = frozenset(members)
        values = {attribute: TRUE_VALUE for attribute in reference.attributes if attribute.label in kept}
        return cls(label, kept, values)

    def apply(self, record: Record) -> Record:
        """The record with the joint information its members tell; apply it to the reference as well.

        >>> alice = Record.of({"A": "123 Main", "P": "555"})
        >>> joint = Joint.of_reference("J", ["A", "P"], reference=alice)
        >>> len(joint.apply(alice)), len(joint.apply(Record.of({"P": "555"})))
        (3, 2)
        """
        if self.label in record.value_sets:
            raise BadInput(f"the record already has the label {self.label!r}", hint="give the joint a label of its own")
        attributes = dict(record.attributes)
        for attribute, confidence in record.attributes.items():
            if attribute.label in self.members:
                told = Attribute(self.label, self.values.get(attribute, f"{attribute.label} = {attribute.value}"))
                attributes[told] = max(confidence, attributes.get(told, 0.0))
        return Record(attributes, record.id, record.sources)
