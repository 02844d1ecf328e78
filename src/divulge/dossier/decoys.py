# SPDX-License-Identifier: Apache-2.0
"""Making disinformation: the functions Create and Add of Whang and Garcia-Molina, section 4.2.

Create gives the smallest record that matches every record of a set: one key of each, shared attributes once. It is a
small set-cover problem. Add appends an attribute that is false and belongs to nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from divulge.dossier.matching import MatchRule, as_rule
from divulge.dossier.record import Attribute, Record
from divulge.errors import BadInput

_MOST_KEYS = 10_000
_MOST_STEPS = 50_000


def create(records: Sequence[Record], rule: MatchRule | str, *, limit: int | None = None) -> Record:
    """The smallest record that matches all of these; the empty record if there is none of at most `limit` attributes.

    Each attribute has the confidence it has in the records, so that linking them changes nothing else. Beyond 50,000
    steps of search (dozens of records that share parts of their keys) the best record found so far is returned.

    >>> sorted(create([Record.of({"N": "Ann", "P": "1"}), Record.of({"N": "Bob"})], "N").attributes)
    [Attribute(label='N', value='Ann'), Attribute(label='N', value='Bob')]
    """
    rule = as_rule(rule)
    choices = _choices(records, rule)
    if not choices or not all(choices):
        return Record({})
    attributes = _smallest_union(choices)
    if limit is not None and len(attributes) > limit:
        return Record({})
    held: dict[Attribute, float] = dict.fromkeys(sorted(attributes), 0.0)
    for record in records:
        for attribute in attributes & record.attributes.keys():
            held[attribute] = max(held[attribute], record.attributes[attribute])
    return Record(held)


def smallest_key(record: Record, rule: MatchRule) -> frozenset[Attribute]:
    """The fewest attributes by which a record can be matched; empty if it cannot."""
    return min((frozenset(key) for key in islice(rule.keys(record), _MOST_KEYS)), key=_rank, default=frozenset())


class Inventor:
    """Add: false attributes that nobody has, with the label that weighs most."""

    def __init__(
        self,
        reference: Record,
        records: Iterable[Record],
        *,
        weights: Mapping[str, float] | None = None,
        labels: Sequence[str] | None = None,
        invent: Callable[[str, int], str] | None = None,
    ) -> None:
        """`labels` may be used (those of the reference unless told otherwise); `invent` makes believable values."""
        offered = list(labels) if labels is not None else sorted(reference.labels)
        if not offered:
            raise BadInput("there is no label to invent values for", hint="name at least one")
        given = weights or {}
        self.label = max(offered, key=lambda label: given.get(label, 1.0))
        self.weight = float(given.get(self.label, 1.0))
        self._invent = invent or (lambda _, number: f"decoy-{number}")
        self._taken = {a.value for record in (reference, *records) for a in record.attributes if a.label == self.label}
        self._number = 0

    def add(self, record: Record, count: int = 1) -> Record:
        """The record with so many more false attributes."""
        attributes = dict(record.attributes)
        tries = 0
        while count:
            self._number += 1
            tries += 1
            if (value := self._invent(self.label, self._number)) not in self._taken:
                self._taken.add(value)
                attributes[Attribute(self.label, value)] = 1.0
                count -= 1
            elif tries > 10_000:
                raise BadInput(f"the values invented for {self.label!r} are all taken", hint="invent other ones")
        return Record(attributes, record.id)


def _choices(records: Sequence[Record], rule: MatchRule) -> list[list[frozenset[Attribute]]]:
    """For each record the keys worth trying: those with shared attributes, and the smallest of the others."""
    keys = [{frozenset(key) for key in islice(rule.keys(record), _MOST_KEYS)} for record in records]
    seen = Counter(attribute for own in keys for attribute in {part for key in own for part in key})
    choices = []
    for own in keys:
        shared = [key for key in own if any(seen[part] > 1 for part in key)]
        private = [key for key in own if all(seen[part] == 1 for part in key)]
        choices.append(sorted([*shared, *sorted(private, key=_rank)[:1]], key=_rank))
    return sorted(choices, key=len)


def _smallest_union(choices: list[list[frozenset[Attribute]]]) -> frozenset[Attribute]:
    """One key per record such that together they have the fewest attributes; depth first, the nearest key first."""
    best: frozenset[Attribute] | None = None
    stack = [(0, frozenset[Attribute]())]
    steps = 0
    while stack and (best is None or steps < _MOST_STEPS):
        steps += 1
        place, union = stack.pop()
        if best is not None and len(union) >= len(best):
            continue
        if place == len(choices):
            best = union
            continue
        options = {union | key for key in choices[place]}
        stack += [(place + 1, option) for option in sorted(options, key=lambda each: (-len(each), sorted(each)))]
    return best if best is not None else frozenset()


def _rank(key: frozenset[Attribute]) -> tuple[int, list[Attribute]]:
    return len(key), sorted(key)
