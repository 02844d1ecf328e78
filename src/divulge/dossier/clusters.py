# SPDX-License-Identifier: Apache-2.0
"""Which records belong together: groups that grow through an index of match keys.

This is the blocking behind entity resolution. Two records match exactly when they share a key: one value for each label
of a clause. So a record is never compared with others; its keys are looked up. With `compose` (R-Swoosh, Benjelloun et al.)
a group also owns the keys that only its merged record has: the name from one member, the card from another.

A group whose merged record would own too many keys (a thousand names and a thousand phones) does not list them. It is
asked instead: a key of another group matches when the large group holds each of its attributes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from divulge.dossier.matching import Clause, Key, MatchRule
from divulge.dossier.record import Attribute, Record

Held: TypeAlias = dict[str, dict[Attribute, int]]
"""By label: the attributes a group holds, each with the position of a record that has it."""

MOST_KEYS = 10_000
"""Keys of one group that are listed; beyond that the group counts as large. It changes the time, never the result."""


class Clusters:
    """Records added one by one, and the groups they form."""

    def __init__(self, rule: MatchRule, *, compose: bool, most_keys: int = MOST_KEYS) -> None:
        self.joins: list[tuple[int, int, Key]] = []
        """Each join that made a group larger: two records and the attributes they share, possibly through their groups."""
        self.absorbed: list[int] = []
        """The roots that became part of another group, one for each join."""
        self._rule = rule
        self._wide = tuple(clause for clause in rule.clauses if len(clause) > 1) if compose else ()
        self._most_keys = most_keys
        self._parent: list[int] = []
        self._members: dict[int, list[int]] = {}
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
        self._members[position] = [position]
        if self._wide:
            self._held[position] = {label: dict.fromkeys(found, position) for label, found in trusted.items()}
        for clause in self._rule.clauses:
            for key in product(*(trusted.get(label, ()) for label in clause)):
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

    def members(self, root: int) -> Sequence[int]:
        """Positions of the group's records, in no particular order."""
        return self._members[root]

    def groups(self) -> list[list[int]]:
        """All groups, each in order of position, ordered by their first member."""
        return sorted(sorted(members) for members in self._members.values())

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
        self._members[keep].extend(self._members.pop(gone))
        if self._wide:
            self._merge_held(keep, gone)

    def _weight(self, root: int) -> int:
        """How much moves when this group is folded into another; a large group always stays."""
        if not self._wide:
            return len(self._members[root])
        return sum(map(len, self._held[root].values())) + (1 << 60 if root in self._large else 0)

    def _merge_held(self, keep: int, gone: int) -> None:
        held, brought = self._held[keep], self._held.pop(gone)
        new = {
            label: {attribute: at for attribute, at in found.items() if attribute not in held.get(label, ())}
            for label, found in brought.items()
        }
        listed = (
            keep not in self._large and sum(_count_keys(clause, held, new) for clause in self._wide) <= self._most_keys
        )
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
        for attribute in _attributes(new if root in self._large else self._held[root]):
            self._large_holders[attribute].add(root)
        self._large.add(root)
        rivals: set[int] = set()
        for attribute in _attributes(new):
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
        for clause in self._wide:
            left, right = self._held[first], self._held[second]
            shared = [left.get(label, {}).keys() & right.get(label, {}).keys() for label in clause]
            if all(shared):
                return tuple(min(found) for found in shared)
        return None


def _attributes(held: Held) -> Iterator[Attribute]:
    for found in held.values():
        yield from found


def _count_keys(clause: Clause, old: Held, new: Held) -> int:
    """How many keys the merged record has."""
    return prod(len(old.get(label, ())) + len(new.get(label, ())) for label in clause)


def _new_keys(clause: Clause, old: Held, new: Held) -> Iterator[Key]:
    """The keys with a new attribute: the first new one stands at each place of the clause in turn."""
    for place, label in enumerate(clause):
        if not new.get(label):
            continue
        before = [old.get(other, ()) for other in clause[:place]]
        after = [[*old.get(other, ()), *new.get(other, ())] for other in clause[place + 1 :]]
        yield from product(*before, new[label], *after)
