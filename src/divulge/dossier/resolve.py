# SPDX-License-Identifier: Apache-2.0
"""Entity resolution: which records are about one person, and the records they merge into (Whang and Garcia-Molina, 2.4).

`swoosh` (default) merges until no two records match, so a merged record may match what none of its parts matches: the
result of R-Swoosh, unique for the monotone rules used here. `closure` only follows matches between the given records.
Merged records name their sources, and each join names the rule and the values that caused it.
Identical records that satisfy no clause stay apart: nothing says that they are about one person.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import Any, Literal, TypeAlias, get_args

from divulge import values
from divulge.dossier.record import Attribute, Database, Record
from divulge.errors import BadInput

# --- match rules ------------------------------------------------------------------------------------------------------
# A rule is an OR of clauses, a clause an AND of labels: "N+C,N+P" says "the same name and card, or the same name and phone" (sections
# 2.4 and 4.1). A record that gains attributes never loses a match, so the order of the records does not matter. A confidence
# threshold keeps this property, because merging keeps the higher confidence.
Clause: TypeAlias = tuple[str, ...]
Key: TypeAlias = tuple[Attribute, ...]
_HINT = "write labels joined by + for 'and' and by , for 'or', such as N+C,N+P"


@values.checked_fields
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

        Examples:
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
        return self.combinations(self.trusted(record))

    def combinations(self, trusted: Mapping[str, Iterable[Attribute]]) -> Iterator[Key]:
        """One attribute for each label of a clause, clause by clause."""
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
        shared = {label for label, found in left.items() if not set(found).isdisjoint(right.get(label, ()))}
        return next((clause for clause in self.clauses if shared.issuperset(clause)), None)

    def unknown_labels(self, records: Iterable[Record]) -> tuple[str, ...]:
        """Labels that no record has. Such a clause joins nothing, which is well defined and often a slip."""
        known = {attribute.label for record in records for attribute in record.attributes}
        return tuple(label for label in self.labels if label not in known)

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


# --- clusters ---------------------------------------------------------------------------------------------------------
# Records match exactly when they share a key: one value for each label of a clause. So keys are looked up, records never compared. With
# `compose` (R-Swoosh, Benjelloun et al.) a group also owns the keys that only its merged record has: the name from one member, the card
# from another. A group with too many keys (a thousand names and phones) does not list them; it is asked whether it holds another's key.
Held: TypeAlias = dict[str, dict[Attribute, int]]
"""By label: the attributes a group holds, each with the position of a record that has it."""
MOST_KEYS = 10_000
"""Keys of one group that are listed; beyond that the group counts as large. It changes the time, never the result."""


class Clusters:
    """Records added one by one, and the groups they form."""

    def __init__(self, rule: MatchRule | str, *, compose: bool, most_keys: int = MOST_KEYS) -> None:
        self.joins: list[tuple[int, int, Key]] = []
        """Each join that made a group larger: two records and the attributes they share, possibly through their groups."""
        self.absorbed: list[int] = []
        """The roots that became part of another group, one for each join."""
        self.members: dict[int, list[int]] = {}
        """By root: positions of the group's records, in no particular order."""
        self._rule = as_rule(rule)
        self._wide = tuple(clause for clause in self._rule.clauses if len(clause) > 1) if compose else ()
        self._most_keys = most_keys
        self._parent: list[int] = []
        self._held: dict[int, Held] = {}
        self._owner: dict[Key, int] = {}
        self._pending: list[tuple[int, int, Key]] = []
        self._large: set[int] = set()
        self._large_holders: defaultdict[Attribute, set[int]] = defaultdict(set)
        self._keys_with: defaultdict[Attribute, list[Key]] = defaultdict(list)

    def add(self, record: Record) -> int:
        """Take one more record in; the answer is the root of the group it now belongs to."""
        position = len(self._parent)
        trusted = self._rule.trusted(record)
        self._parent.append(position)
        self.members[position] = [position]
        if self._wide:
            self._held[position] = {label: dict.fromkeys(found, position) for label, found in trusted.items()}
        for key in self._rule.combinations(trusted):
            self._offer(key, position)
        while self._pending:
            self._join(*self._pending.pop())
        return self.root(position)

    def root(self, position: int) -> int:
        """The record that stands for the group of this one."""
        parent = self._parent
        while parent[position] != position:
            parent[position] = parent[parent[position]]
            position = parent[position]
        return position

    def groups(self) -> list[list[int]]:
        """All groups, each in order of position, ordered by their first member."""
        return sorted(sorted(members) for members in self.members.values())

    def _offer(self, key: Key, position: int) -> None:
        """Claim a key for a record's group, or note which other group has it already."""
        owner = self._owner.get(key)
        if owner is not None:
            if self.root(owner) != self.root(position):
                self._pending.append((position, owner, key))
            return
        self._owner[key] = position
        if self._large and len(key) > 1:
            self._list_by_part(key)
            for root in {self.root(holder) for holder in self._large_holders.get(key[0], ())}:
                if root != self.root(position) and self._holds(root, key):
                    self._pending.append((position, self._held[root][key[0].label][key[0]], key))

    def _join(self, first: int, second: int, key: Key) -> None:
        keep, gone = self.root(first), self.root(second)
        if keep == gone:
            return
        self.joins.append((first, second, key))
        if self._weight(keep) < self._weight(gone):
            keep, gone = gone, keep
        self.absorbed.append(gone)
        self._parent[gone] = keep
        self.members[keep].extend(self.members.pop(gone))
        if self._wide:
            self._merge_held(keep, gone)

    def _weight(self, root: int) -> int:
        """How much moves when this group is folded into another; a large group always stays."""
        if not self._wide:
            return len(self.members[root])
        return sum(map(len, self._held[root].values())) + (1 << 60 if root in self._large else 0)

    def _merge_held(self, keep: int, gone: int) -> None:
        held, brought = self._held[keep], self._held.pop(gone)
        new = {
            label: {attribute: at for attribute, at in found.items() if attribute not in held.get(label, ())}
            for label, found in brought.items()
        }
        counts = {label: len(held.get(label, ())) + len(new.get(label, ())) for label in self._rule.labels}
        due = sum(prod(counts[label] for label in clause) for clause in self._wide)
        listed = keep not in self._large and due <= self._most_keys
        keys = [key for clause in self._wide for key in _new_keys(clause, held, new)] if listed else []
        for label, found in new.items():
            held.setdefault(label, {}).update(found)
        if not listed:
            self._grow_large(keep, new)
        for key in keys:
            self._offer(key, held[key[0].label][key[0]])

    def _grow_large(self, root: int, new: Held) -> None:
        """Find what a large group matches through its new attributes, without listing its keys."""
        if not self._large:
            for key in self._owner:
                self._list_by_part(key)
        for attribute in chain.from_iterable((new if root in self._large else self._held[root]).values()):
            self._large_holders[attribute].add(root)
        self._large.add(root)
        rivals: set[int] = set()
        for attribute in chain.from_iterable(new.values()):
            rivals.update(self.root(holder) for holder in self._large_holders[attribute])
            for key in self._keys_with[attribute]:
                if self.root(self._owner[key]) != root and self._holds(root, key):
                    self._pending.append((self._held[root][key[0].label][key[0]], self._owner[key], key))
        for rival in rivals - {root}:
            if shared := self._shared_key(root, rival):
                here, there = (self._held[group][shared[0].label][shared[0]] for group in (root, rival))
                self._pending.append((here, there, shared))

    def _list_by_part(self, key: Key) -> None:
        if len(key) > 1:
            for part in key:
                self._keys_with[part].append(key)

    def _holds(self, root: int, key: Key) -> bool:
        held = self._held[root]
        return all(part in held.get(part.label, ()) for part in key)

    def _shared_key(self, first: int, second: int) -> Key | None:
        left, right = self._held[first], self._held[second]
        for clause in self._wide:
            shared = [left.get(label, {}).keys() & right.get(label, {}).keys() for label in clause]
            if all(shared):
                return tuple(min(found) for found in shared)
        return None


def _new_keys(clause: Clause, old: Held, new: Held) -> Iterator[Key]:
    """The keys with a new attribute: the first new one stands at each place of the clause in turn."""
    for place, label in enumerate(clause):
        if not new.get(label):
            continue
        before = [old.get(other, ()) for other in clause[:place]]
        after = [[*old.get(other, ()), *new.get(other, ())] for other in clause[place + 1 :]]
        yield from product(*before, new[label], *after)


# --- resolution -------------------------------------------------------------------------------------------------------
Method: TypeAlias = Literal["swoosh", "closure"]


@dataclass(frozen=True)
class Join:
    """Why two records were put together."""

    left: str
    right: str
    rule: str
    values: tuple[str, ...]
    """The shared values, one for each label of the rule."""


@dataclass(frozen=True)
class Resolution:
    """The records after merging, and how they came together."""

    records: Database
    joins: tuple[Join, ...]
    rule: MatchRule
    method: Method

    @property
    def partition(self) -> frozenset[frozenset[str]]:
        """The groups of record ids."""
        return frozenset(record.sources for record in self.records)

    def graph(self) -> dict[str, list[dict[str, Any]]]:
        """Nodes and edges for a chart: one node for each given record, one edge for each join."""
        edges = [{"source": j.left, "target": j.right, "rule": j.rule, "values": list(j.values)} for j in self.joins]
        return {"nodes": nodes_of(self.records), "edges": edges}


@values.checked
def resolve(database: Iterable[Record], rule: MatchRule | str, *, method: Method = "swoosh") -> Resolution:
    """Merge the records that a rule says are about one person.

    Args:
        database: The records that are known.
        rule: Which labels two records must share: "N+C, N+P" joins those with the same N and C, or the same N and P.
        method: "swoosh" also lets merged records match by what they hold together; "closure" matches the given records only.

    Examples:
        >>> import divulge as dv
        >>> ann, also = (
        ...     dv.dossier.Record.of({"N": "Ann", "P": "1"}, id="r"),
        ...     dv.dossier.Record.of({"N": "Ann", "C": "9"}, id="s"),
        ... )
        >>> dv.dossier.resolve([ann, also], "N").records[0].id
        'r+s'
    """
    check_method(method)
    rule = as_rule(rule)
    clusters = Clusters(rule, compose=method == "swoosh")
    given: list[Record] = []
    for record in database:
        clusters.add(record)
        given.append(record)
    records = with_ids(given)
    merged = tuple(merge_all([records[position] for position in group]) for group in clusters.groups())
    joins = tuple(
        Join(name_of(records[left]), name_of(records[right]), "+".join(labels), values)
        for left, right, key in clusters.joins
        for labels, values in [zip(*key, strict=True)]
    )
    return Resolution(merged, joins, rule, method)


def check_method(method: str) -> None:
    """Refuse a way of resolution that does not exist."""
    if method not in get_args(Method):
        raise BadInput(f"entity resolution by {method!r} is unknown", hint=f"there are: {', '.join(get_args(Method))}")


def with_ids(records: Sequence[Record]) -> Database:
    """The records, each with sources to its name: its place (r3) names one that came without an id; ids must differ."""
    taken = {record.id for record in records}
    named = []
    for number, record in enumerate(records, start=1):
        own = record.id is not None or record.sources
        named.append(record if own else replace(record, id=free_name(f"r{number}", taken)))
    seen: set[str] = set()
    for name in map(name_of, named):
        if name in seen:
            raise BadInput(f"two records have the id {name!r}", hint="give each record an id of its own, or none")
        seen.add(name)
    return tuple(named)


def nodes_of(records: Database) -> list[dict[str, Any]]:
    """The given records as nodes of a chart, each with the cluster it ended in."""
    return [{"id": source, "cluster": record.id} for record in records for source in sorted(record.sources)]


def all_sources(records: Iterable[Record]) -> set[str]:
    """The sources of all records together."""
    return {source for record in records for source in record.sources}


@values.checked
def name_of(record: Record) -> str:
    """The record's id, or the ids of its sources joined by +.

    Args:
        record: A record that has an id or sources.

    Examples:
        >>> import divulge as dv
        >>> dv.dossier.name_of(dv.dossier.Record.of({"N": "Ann"}, id="shop"))
        'shop'
    """
    return record.id if record.id is not None else "+".join(sorted(record.sources))


def merge_all(records: Sequence[Record]) -> Record:
    """One record from several: union, highest confidence, all sources; its id is the sources' ids joined by +."""
    merged = list(records)
    while len(merged) > 1:
        odd = merged[len(merged) // 2 * 2 :]
        merged = [left.merge(right) for left, right in zip(merged[::2], merged[1::2], strict=False)] + odd
    return merged[0] if len(records) == 1 else replace(merged[0], id="+".join(sorted(merged[0].sources)))


def free_name(name: str, taken: Container[str | None]) -> str:
    """The name, with as many marks behind it as it takes to differ from the names that are taken."""
    while name in taken:
        name += "'"
    return name
