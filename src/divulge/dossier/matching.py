# SPDX-License-Identifier: Apache-2.0
"""When two records are about the same person: monotone match rules (Whang and Garcia-Molina, sections 2.4 and 4.1).

A rule is an OR of clauses, a clause an AND of labels: "N+C,N+P" says "the same name and card, or the same name and
phone". Two records satisfy a clause when they share a value of each of its labels. A record that gains attributes
never loses a match; that makes the result of entity resolution unique, whatever the order of the records.
A confidence threshold keeps this property, because merging keeps the higher confidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias

from divulge.dossier.record import Attribute, Record
from divulge.errors import BadInput

Clause: TypeAlias = tuple[str, ...]
Key: TypeAlias = tuple[Attribute, ...]

_HINT = "write labels joined by + for 'and' and by , for 'or', such as N+C,N+P"


@dataclass(frozen=True)
class MatchRule:
    """Clauses of labels, any of which joins two records."""

    clauses: tuple[Clause, ...]
    threshold: float = 0.0
    """Attributes the adversary trusts less than this join nothing."""

    def __post_init__(self) -> None:
        if not self.clauses:
            raise BadInput("the match rule has no clause", hint=_HINT)
        for clause in self.clauses:
            if not clause or not all(clause):
                raise BadInput(f"the clause {clause!r} of the match rule lacks a label", hint=_HINT)
        if isinstance(self.threshold, bool) or not 0 <= self.threshold <= 1:
            raise BadInput(
                f"the confidence threshold of the match rule is {self.threshold!r}", hint="it lies in 0 .. 1"
            )
        object.__setattr__(self, "clauses", _minimal(self.clauses))

    @classmethod
    def parse(cls, text: str, *, threshold: float = 0.0) -> MatchRule:
        """The rule written as text. Labels that contain + or , need the constructor.

        >>> MatchRule.parse("N+C, N+P").clauses
        (('N', 'C'), ('N', 'P'))
        """
        clauses = tuple(tuple(label.strip() for label in part.split("+")) for part in text.split(","))
        if any(not label for clause in clauses for label in clause):
            raise BadInput(f"the match rule {text!r} lacks a label", hint=_HINT)
        return cls(clauses, threshold)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels the rule looks at, in order of first occurrence."""
        return tuple(dict.fromkeys(label for clause in self.clauses for label in clause))

    def keys(self, record: Record) -> Iterator[Key]:
        """The combinations of attributes by which other records can match this one, clause by clause."""
        trusted = self.trusted(record)
        for clause in self.clauses:
            yield from product(*(trusted.get(label, ()) for label in clause))

    def trusted(self, record: Record) -> dict[str, list[Attribute]]:
        """The attributes that may join the record to others, by label."""
        wanted = self.labels
        found: dict[str, list[Attribute]] = {}
        for attribute, confidence in record.attributes.items():
            if attribute.label in wanted and confidence >= self.threshold:
                found.setdefault(attribute.label, []).append(attribute)
        return found

    def matches(self, first: Record, second: Record) -> Clause | None:
        """The first clause that both records satisfy together, or None."""
        left, right = self.trusted(first), self.trusted(second)
        for clause in self.clauses:
            if all(not set(left.get(label, ())).isdisjoint(right.get(label, ())) for label in clause):
                return clause
        return None

    def unknown_labels(self, records: Iterable[Record]) -> tuple[str, ...]:
        """Labels that no record has. Such a clause joins nothing, which is well defined and often a slip."""
        missing = set(self.labels)
        for record in records:
            missing.difference_update(attribute.label for attribute in record.attributes)
            if not missing:
                break
        return tuple(label for label in self.labels if label in missing)

    def __str__(self) -> str:
        return ",".join("+".join(clause) for clause in self.clauses)


def as_rule(rule: MatchRule | str) -> MatchRule:
    """The rule itself, or the rule a text describes."""
    return rule if isinstance(rule, MatchRule) else MatchRule.parse(rule)


def _minimal(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """Without repeated labels and without clauses that a weaker one implies: N,N+C is N."""
    unique = list(dict.fromkeys(tuple(dict.fromkeys(clause)) for clause in clauses))
    by_labels = {frozenset(clause): clause for clause in reversed(unique)}
    return tuple(
        clause
        for clause in unique
        if by_labels[frozenset(clause)] is clause and not any(other < frozenset(clause) for other in by_labels)
    )
