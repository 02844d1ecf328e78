# SPDX-License-Identifier: Apache-2.0
"""Entity resolution: the records about one person, and the record they merge into.

Whang and Garcia-Molina, 2.4. `swoosh` (default) merges until no two records match, so a merged
record may match a record that none of its parts matches. This is the result of R-Swoosh, unique for
the monotone rules used here. `closure` only follows matches between the given records. Merged
records name their sources, and each join names its rule and shared values. Identical records that
satisfy no clause stay separate, because nothing shows that they are about one person.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import Any, Literal, TypeAlias, get_args

from divulge.dossier.record import Attribute, Database, Record
from divulge.errors import BadInput
from divulge.validation import checked, checked_fields

# --- match rules ----------------------------------------------------------------------------------
# A rule is an OR of clauses, a clause an AND of labels: "N+C,N+P" means "equal name and card, or
# equal name and phone" (sections 2.4 and 4.1). A record that gains attributes never loses a match,
# so the order of the records does not matter. A confidence threshold keeps this property, because
# merging keeps the higher confidence.
Clause: TypeAlias = tuple[str, ...]
Key: TypeAlias = tuple[Attribute, ...]
_HINT = "write labels joined by + for 'and' and by , for 'or', such as N+C,N+P"


@checked_fields
@dataclass(frozen=True)
class MatchRule:
    """Clauses of labels, any of which joins two records."""

    clauses: tuple[Clause, ...]
    threshold: float = 0.0
    """Attributes with a lower confidence join no records."""

    def __post_init__(self) -> None:
        if not self.clauses:
            raise BadInput("the match rule has no clause", hint=_HINT)
        for clause in self.clauses:
            if not clause or not all(clause):
                raise BadInput(f"the clause {clause!r} of the match rule lacks a label", hint=_HINT)
        if isinstance(self.threshold, bool) or not 0 <= self.threshold <= 1:
            raise BadInput(
                f"the confidence threshold of the match rule is {self.threshold!r}",
                hint="it lies in 0 .. 1",
            )
        object.__setattr__(self, "clauses", _minimal(self.clauses))

    @classmethod
    def parse(cls, text: str, *, threshold: float = 0.0) -> MatchRule:
        """Parse a rule from text. Labels that contain + or , need the constructor.

        Examples:
            >>> MatchRule.parse("N+C, N+P").clauses
            (('N', 'C'), ('N', 'P'))
        """
        clauses = tuple(
            tuple(label.strip() for label in part.split("+")) for part in text.split(",")
        )
        if any(not label for clause in clauses for label in clause):
            raise BadInput(f"the match rule {text!r} lacks a label", hint=_HINT)
        return cls(clauses, threshold)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels in the rule, in order of first occurrence."""
        return tuple(dict.fromkeys(label for clause in self.clauses for label in clause))

    def keys(self, record: Record) -> Iterator[Key]:
        """The combinations of attributes by which other records can match this one, by clause."""
        return self.combinations(self.trusted(record))

    def combinations(self, trusted: Mapping[str, Iterable[Attribute]]) -> Iterator[Key]:
        """One attribute for each label of a clause, by clause."""
        for clause in self.clauses:
            yield from product(*(trusted.get(label, ()) for label in clause))

    def trusted(self, record: Record) -> dict[str, list[Attribute]]:
        """The attributes that may join the record to others, by label."""
        rule_labels = self.labels
        attributes: dict[str, list[Attribute]] = {}
        for attribute, confidence in record.attributes.items():
            if attribute.label in rule_labels and confidence >= self.threshold:
                attributes.setdefault(attribute.label, []).append(attribute)
        return attributes

    def matches(self, first: Record, second: Record) -> Clause | None:
        """The first clause that the two records satisfy, or None."""
        left = self.trusted(first)
        right = self.trusted(second)
        shared = {
            label
            for label, left_attributes in left.items()
            if not set(left_attributes).isdisjoint(right.get(label, ()))
        }
        return next((clause for clause in self.clauses if shared.issuperset(clause)), None)

    def unknown_labels(self, records: Iterable[Record]) -> tuple[str, ...]:
        """Labels that no record has.

        Such a clause joins no records, which is well defined and often a mistake.
        """
        record_labels = {attribute.label for record in records for attribute in record.attributes}
        return tuple(label for label in self.labels if label not in record_labels)

    def __str__(self) -> str:
        return ",".join("+".join(clause) for clause in self.clauses)


def as_rule(rule: MatchRule | str) -> MatchRule:
    """Return the rule, parsed if it is a text."""
    if isinstance(rule, MatchRule):
        return rule
    return MatchRule.parse(rule)


def _minimal(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """Remove repeated labels and clauses that a weaker one implies: N,N+C is N."""
    unique = list(dict.fromkeys(tuple(dict.fromkeys(clause)) for clause in clauses))
    by_labels = {frozenset(clause): clause for clause in reversed(unique)}
    return tuple(
        clause
        for clause in unique
        if by_labels[frozenset(clause)] is clause
        and not any(other < frozenset(clause) for other in by_labels)
    )


# --- clusters -------------------------------------------------------------------------------------
# Records match exactly if they share a key: one value for each label of a clause. Keys are
# therefore looked up, and records are never compared. With `compose` (R-Swoosh, Benjelloun et al.)
# a group also owns the keys that only its merged record has: the name from one member, the card
# from another. A group with too many keys (a thousand names and phones) does not list them. It is
# checked for the keys of other groups.
GroupAttributes: TypeAlias = dict[str, dict[Attribute, int]]
"""The attributes of a group by label, each with the position of a record that has it."""
MOST_KEYS = 10_000
"""The largest number of listed keys of one group; beyond it the group counts as large.

It affects the time, never the result.
"""


class Clusters:
    """Records added one by one, and the groups they form."""

    def __init__(self, rule: MatchRule | str, *, compose: bool, most_keys: int = MOST_KEYS) -> None:
        self.joins: list[tuple[int, int, Key]] = []
        """Each join of two groups: two records and the attributes that their groups share."""
        self.absorbed: list[int] = []
        """The roots that became part of another group, one for each join."""
        self.members: dict[int, list[int]] = {}
        """The positions of a group's records by root, in no particular order."""
        self._rule = as_rule(rule)
        if compose:
            self._long_clauses = tuple(clause for clause in self._rule.clauses if len(clause) > 1)
        else:
            self._long_clauses = ()
        self._most_keys = most_keys
        self._parent: list[int] = []
        self._attributes_by_root: dict[int, GroupAttributes] = {}
        self._owner: dict[Key, int] = {}
        self._pending: list[tuple[int, int, Key]] = []
        self._large: set[int] = set()
        self._large_holders: defaultdict[Attribute, set[int]] = defaultdict(set)
        self._keys_with: defaultdict[Attribute, list[Key]] = defaultdict(list)

    def add(self, record: Record) -> int:
        """Add a record and return the root of its group."""
        position = len(self._parent)
        trusted = self._rule.trusted(record)
        self._parent.append(position)
        self.members[position] = [position]
        if self._long_clauses:
            self._attributes_by_root[position] = {
                label: dict.fromkeys(attributes, position) for label, attributes in trusted.items()
            }
        for key in self._rule.combinations(trusted):
            self._claim_key(key, position)
        while self._pending:
            self._join(*self._pending.pop())
        return self.root(position)

    def root(self, position: int) -> int:
        """The record that represents the group of this one."""
        parent = self._parent
        while parent[position] != position:
            parent[position] = parent[parent[position]]
            position = parent[position]
        return position

    def groups(self) -> list[list[int]]:
        """All groups, each in order of position, ordered by their first member."""
        return sorted(sorted(members) for members in self.members.values())

    def _claim_key(self, key: Key, position: int) -> None:
        """Claim a key for a record's group, or queue a join with the group that has it."""
        owner = self._owner.get(key)
        if owner is not None:
            if self.root(owner) != self.root(position):
                self._pending.append((position, owner, key))
            return
        self._owner[key] = position
        if self._large and len(key) > 1:
            self._index_key_parts(key)
            for root in {self.root(holder) for holder in self._large_holders.get(key[0], ())}:
                if root != self.root(position) and self._has_key(root, key):
                    self._pending.append(
                        (position, self._attributes_by_root[root][key[0].label][key[0]], key)
                    )

    def _join(self, first: int, second: int, key: Key) -> None:
        kept_root = self.root(first)
        absorbed_root = self.root(second)
        if kept_root == absorbed_root:
            return
        self.joins.append((first, second, key))
        if self._merge_cost(kept_root) < self._merge_cost(absorbed_root):
            kept_root, absorbed_root = absorbed_root, kept_root
        self.absorbed.append(absorbed_root)
        self._parent[absorbed_root] = kept_root
        self.members[kept_root].extend(self.members.pop(absorbed_root))
        if self._long_clauses:
            self._merge_attributes(kept_root, absorbed_root)

    def _merge_cost(self, root: int) -> int:
        """The amount of data that moves when this group is merged; a large group always stays."""
        if not self._long_clauses:
            return len(self.members[root])
        return sum(map(len, self._attributes_by_root[root].values())) + (
            1 << 60 if root in self._large else 0
        )

    def _merge_attributes(self, kept_root: int, absorbed_root: int) -> None:
        group_attributes = self._attributes_by_root[kept_root]
        absorbed_attributes = self._attributes_by_root.pop(absorbed_root)
        new = {
            label: {
                attribute: position
                for attribute, position in label_attributes.items()
                if attribute not in group_attributes.get(label, ())
            }
            for label, label_attributes in absorbed_attributes.items()
        }
        counts = {
            label: len(group_attributes.get(label, ())) + len(new.get(label, ()))
            for label in self._rule.labels
        }
        key_count = sum(prod(counts[label] for label in clause) for clause in self._long_clauses)
        lists_keys = kept_root not in self._large and key_count <= self._most_keys
        if lists_keys:
            keys = [
                key
                for clause in self._long_clauses
                for key in _new_keys(clause, group_attributes, new)
            ]
        else:
            keys = []
        for label, label_attributes in new.items():
            group_attributes.setdefault(label, {}).update(label_attributes)
        if not lists_keys:
            self._grow_large(kept_root, new)
        for key in keys:
            self._claim_key(key, group_attributes[key[0].label][key[0]])

    def _grow_large(self, root: int, new: GroupAttributes) -> None:
        """Find the matches of a large group by its new attributes, without listing its keys."""
        if not self._large:
            for key in self._owner:
                self._index_key_parts(key)
        for attribute in chain.from_iterable(
            (new if root in self._large else self._attributes_by_root[root]).values()
        ):
            self._large_holders[attribute].add(root)
        self._large.add(root)
        rivals: set[int] = set()
        for attribute in chain.from_iterable(new.values()):
            rivals.update(self.root(holder) for holder in self._large_holders[attribute])
            for key in self._keys_with[attribute]:
                if self.root(self._owner[key]) != root and self._has_key(root, key):
                    self._pending.append(
                        (
                            self._attributes_by_root[root][key[0].label][key[0]],
                            self._owner[key],
                            key,
                        )
                    )
        for rival in rivals - {root}:
            if shared := self._shared_key(root, rival):
                position, rival_position = (
                    self._attributes_by_root[group][shared[0].label][shared[0]]
                    for group in (root, rival)
                )
                self._pending.append((position, rival_position, shared))

    def _index_key_parts(self, key: Key) -> None:
        if len(key) > 1:
            for part in key:
                self._keys_with[part].append(key)

    def _has_key(self, root: int, key: Key) -> bool:
        group_attributes = self._attributes_by_root[root]
        return all(part in group_attributes.get(part.label, ()) for part in key)

    def _shared_key(self, first: int, second: int) -> Key | None:
        left = self._attributes_by_root[first]
        right = self._attributes_by_root[second]
        for clause in self._long_clauses:
            shared = [left.get(label, {}).keys() & right.get(label, {}).keys() for label in clause]
            if all(shared):
                return tuple(min(attributes) for attributes in shared)
        return None


def _new_keys(clause: Clause, old: GroupAttributes, new: GroupAttributes) -> Iterator[Key]:
    """The keys with a new attribute; the first new one takes each position of a clause in turn."""
    for label_index, label in enumerate(clause):
        if not new.get(label):
            continue
        before = [old.get(other, ()) for other in clause[:label_index]]
        after = [[*old.get(other, ()), *new.get(other, ())] for other in clause[label_index + 1 :]]
        yield from product(*before, new[label], *after)


# --- resolution -----------------------------------------------------------------------------------
Method: TypeAlias = Literal["swoosh", "closure"]


@dataclass(frozen=True)
class Join:
    """The reason why two records were merged."""

    left: str
    right: str
    rule: str
    values: tuple[str, ...]
    """The shared values, one for each label of the rule."""


@dataclass(frozen=True)
class Resolution:
    """The records after merging, and the joins."""

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
        edges = [
            {"source": j.left, "target": j.right, "rule": j.rule, "values": list(j.values)}
            for j in self.joins
        ]
        return {"nodes": nodes_of(self.records), "edges": edges}


@checked
def resolve(
    database: Iterable[Record], rule: MatchRule | str, *, method: Method = "swoosh"
) -> Resolution:
    """Merge the records that are about one person by a rule.

    Args:
        database: The adversary's records.
        rule: The labels that two records must share: "N+C, N+P" joins records with equal N and C,
            or with equal N and P.
        method: "swoosh" also matches merged records by their combined attributes; "closure"
            matches only the given records.

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
    input_records: list[Record] = []
    for record in database:
        clusters.add(record)
        input_records.append(record)
    records = with_ids(input_records)
    merged = tuple(
        merge_all([records[position] for position in group]) for group in clusters.groups()
    )
    joins = tuple(
        Join(name_of(records[left]), name_of(records[right]), "+".join(labels), values)
        for left, right, key in clusters.joins
        for labels, values in [zip(*key, strict=True)]
    )
    return Resolution(merged, joins, rule, method)


def check_method(method: str) -> None:
    """Raise an error if the resolution method does not exist."""
    if method not in get_args(Method):
        raise BadInput(
            f"entity resolution by {method!r} is unknown",
            hint=f"there are: {', '.join(get_args(Method))}",
        )


def with_ids(records: Sequence[Record]) -> Database:
    """Give each record an id; a record without an id or sources is named by its position (r3).

    Ids must differ.
    """
    taken_ids = {record.id for record in records}
    identified_records = []
    for number, record in enumerate(records, start=1):
        has_name = record.id is not None or record.sources
        identified_records.append(
            record if has_name else replace(record, id=free_name(f"r{number}", taken_ids))
        )
    record_names: set[str] = set()
    for name in map(name_of, identified_records):
        if name in record_names:
            raise BadInput(
                f"two records have the id {name!r}",
                hint="give each record an id of its own, or none",
            )
        record_names.add(name)
    return tuple(identified_records)


def nodes_of(records: Database) -> list[dict[str, Any]]:
    """The given records as nodes of a chart, each with its final cluster."""
    return [
        {"id": source, "cluster": record.id}
        for record in records
        for source in sorted(record.sources)
    ]


def all_sources(records: Iterable[Record]) -> set[str]:
    """The union of the sources of all records."""
    return {source for record in records for source in record.sources}


@checked
def name_of(record: Record) -> str:
    """The record's id, or the ids of its sources joined by +.

    Args:
        record: A record that has an id or sources.

    Examples:
        >>> import divulge as dv
        >>> dv.dossier.name_of(dv.dossier.Record.of({"N": "Ann"}, id="shop"))
        'shop'
    """
    if record.id is not None:
        return record.id
    return "+".join(sorted(record.sources))


def merge_all(records: Sequence[Record]) -> Record:
    """Merge several records: union, highest confidence, all sources.

    Its id is the sources' ids joined by +.
    """
    merged = list(records)
    while len(merged) > 1:
        unpaired = merged[len(merged) // 2 * 2 :]
        merged = [
            left.merge(right) for left, right in zip(merged[::2], merged[1::2], strict=False)
        ] + unpaired
    if len(records) == 1:
        return merged[0]
    return replace(merged[0], id="+".join(sorted(merged[0].sources)))


def free_name(name: str, taken: Container[str | None]) -> str:
    """Append marks to a name until it differs from the taken names."""
    while name in taken:
        name += "'"
    return name
