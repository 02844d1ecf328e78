# SPDX-License-Identifier: Apache-2.0
"""Entity resolution: which records are about one person, and the records they merge into (Whang and Garcia-Molina, 2.4).

`swoosh` (default) merges until no two records match, so a merged record may match what none of its parts matches: the
result of R-Swoosh, unique for the monotone rules used here. `closure` only follows matches between the given records.
Merged records name their sources, and each join names the rule and the values that caused it.
Identical records that satisfy no clause stay apart: nothing says that they are about one person.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from divulge.dossier.clusters import Clusters
from divulge.dossier.matching import MatchRule, as_rule
from divulge.dossier.record import Database, Record
from divulge.errors import BadInput

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
        nodes = [{"id": source, "cluster": record.id} for record in self.records for source in sorted(record.sources)]
        edges = [
            {"source": join.left, "target": join.right, "rule": join.rule, "values": list(join.values)}
            for join in self.joins
        ]
        return {"nodes": nodes, "edges": edges}


def resolve(database: Iterable[Record], rule: MatchRule | str, *, method: Method = "swoosh") -> Resolution:
    """Merge the records that the rule says are about one person.

    >>> people = [Record.of({"N": "Ann", "P": "1"}, id="r"), Record.of({"N": "Ann", "C": "9"}, id="s")]
    >>> resolve(people, "N").records[0].id
    'r+s'
    """
    check_method(method)
    rule = as_rule(rule)
    clusters = Clusters(rule, compose=method == "swoosh")
    records: list[Record] = []
    for record in database:
        clusters.add(record)
        records.append(record)
    records = list(with_ids(records))
    merged = tuple(merge_all([records[position] for position in group]) for group in clusters.groups())
    joins = tuple(
        Join(
            name_of(records[left]),
            name_of(records[right]),
            "+".join(part.label for part in key),
            tuple(part.value for part in key),
        )
        for left, right, key in clusters.joins
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


def name_of(record: Record) -> str:
    """The record's id, or the ids of its sources joined by +."""
    return record.id if record.id is not None else "+".join(sorted(record.sources))


def merge_all(records: Sequence[Record]) -> Record:
    """One record from several: union, highest confidence, all sources; its id is the sources' ids joined by +."""
    merged = list(records)
    while len(merged) > 1:
        merged = [
            merged[at].merge(merged[at + 1]) if at + 1 < len(merged) else merged[at] for at in range(0, len(merged), 2)
        ]
    return merged[0] if len(records) == 1 else replace(merged[0], id="+".join(sorted(merged[0].sources)))


def free_name(name: str, taken: Container[str | None]) -> str:
    """The name, with as many marks behind it as it takes to differ from the names that are taken."""
    while name in taken:
        name += "'"
    return name
