# SPDX-License-Identifier: Apache-2.0
"""Probabilistic entity resolution with Splink (Fellegi and Sunter), on DuckDB, or on Spark when a session is given.

Where match rules say yes or no, this says how likely two records are about one person, and the probability is carried
into the confidences: seen from one record of a group, an attribute of another counts with its own confidence times the
probability that the two belong together, along the most likely chain of matches. A group is seen from the record with the
most and likeliest matches, or from the one named as anchor. As everywhere in the model, confidences count as independent.

How often a label agrees for one person (m) and by chance (u) is learnt from the records, or given for each label when
there are few. Records share a label when they have a value of it in common; `edits` also lets nearly equal values count.
Needs the extra `linkage`.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from divulge.dossier.adversary import Cost
from divulge.dossier.matching import MatchRule, as_rule
from divulge.dossier.record import Attribute, Database, Record
from divulge.dossier.resolve import name_of, with_ids
from divulge.dossier.splink_model import Compared, match
from divulge.errors import BadInput


@dataclass(frozen=True)
class Pair:
    """Two records that are about one person with this probability."""

    left: str
    right: str
    probability: float


@dataclass(frozen=True)
class Linkage:
    """The records after probabilistic merging, the matches behind it, and the model."""

    records: Database
    pairs: tuple[Pair, ...]
    """The matches at or above the threshold, the most likely first."""
    model: Mapping[str, tuple[tuple[float, float], ...]]
    """Per label (m, u) for equal, nearly equal (if asked for), different."""
    prior: float
    threshold: float
    engine: str

    def graph(self) -> dict[str, list[dict[str, Any]]]:
        """Nodes and edges for a chart: one node for each given record, one edge for each match."""
        nodes = [{"id": source, "cluster": record.id} for record in self.records for source in sorted(record.sources)]
        edges = [{"source": pair.left, "target": pair.right, "probability": pair.probability} for pair in self.pairs]
        return {"nodes": nodes, "edges": edges}


def link(
    database: Sequence[Record],
    comparisons: Sequence[Compared | str],
    *,
    threshold: float = 0.9,
    prior: float | None = None,
    blocking: MatchRule | str | None = None,
    anchor: str | None = None,
    seed: int = 1,
    spark: Any = None,
) -> Linkage:
    """Records that are about one person with at least the probability `threshold`, merged.

    `prior` is the chance that two records taken at random are about one person (1 / number of records unless given).
    `blocking` says which pairs are looked at: by default those that share a value of any compared label.
    """
    compared = [Compared(each) if isinstance(each, str) else each for each in comparisons]
    records = with_ids(database)
    prior = 1 / max(2, len(records)) if prior is None else prior
    _check(compared, records, threshold, prior)
    rule = MatchRule(tuple((each.label,) for each in compared)) if blocking is None else as_rule(blocking)
    if strangers := [label for label in rule.labels if label not in {each.label for each in compared}]:
        raise BadInput(f"the blocking rule uses {strangers[0]!r}, which is not compared", hint="compare it as well")
    model, found = match(records, compared, rule, prior=prior, threshold=threshold, seed=seed, spark=spark)
    pairs = tuple(Pair(name_of(records[left]), name_of(records[right]), likely) for likely, left, right in found)
    merged = merge_by_probability(records, pairs, anchor=anchor)
    return Linkage(merged, pairs, model, prior, threshold, "duckdb" if spark is None else "spark")


@dataclass(frozen=True)
class Link:
    """Probabilistic entity resolution as an operator. More records change the model, so it is not monotone."""

    comparisons: tuple[Compared | str, ...]
    threshold: float = 0.9
    prior: float | None = None
    blocking: MatchRule | str | None = None
    anchor: str | None = None
    """The record from which its group is seen."""
    seed: int = 1
    spark: Any = None
    price: Cost = field(default_factory=lambda: Cost(exponent=2))
    monotone: bool = field(default=False, init=False)

    def __call__(self, database: Database) -> Database:
        """The database after merging."""
        return link(
            database,
            self.comparisons,
            threshold=self.threshold,
            prior=self.prior,
            blocking=self.blocking,
            anchor=self.anchor,
            seed=self.seed,
            spark=self.spark,
        ).records

    def seen_from(self, name: str) -> Link:
        """The same, with the record of this id as anchor."""
        return replace(self, anchor=name)

    def cost(self, database: Database) -> float:
        """The price for this many records."""
        return self.price.of(database)


def merge_by_probability(records: Database, pairs: Sequence[Pair], *, anchor: str | None = None) -> Database:
    """Groups of matching records merged, each attribute discounted by how surely its record belongs to the group.

    >>> pair = (Record.of({"N": "Ann"}, id="a"), Record.of({"P": "1"}, id="b"))
    >>> merge_by_probability(pair, [Pair("a", "b", 0.9)])[0].attributes[Attribute("P", "1")]
    0.9
    """
    near: dict[str, dict[str, float]] = {name_of(record): {} for record in records}
    for pair in pairs:
        near[pair.left][pair.right] = near[pair.right][pair.left] = pair.probability
    by_name = {name_of(record): record for record in records}
    merged, seen = [], set[str]()
    for name, record in by_name.items():
        if name not in seen:
            group = _belonging(name, near)
            seen.update(group)
            merged.append(_merge_group(group.keys(), by_name, near, anchor=anchor) if len(group) > 1 else record)
    return tuple(merged)


def _merge_group(
    group: Collection[str],
    by_name: Mapping[str, Record],
    near: Mapping[str, Mapping[str, float]],
    *,
    anchor: str | None,
) -> Record:
    central = anchor if anchor in group else max(sorted(group), key=lambda name: sum(near[name].values()))
    surely = _belonging(str(central), near)
    attributes: dict[Attribute, float] = {}
    sources = frozenset[str]()
    for name in sorted(group):
        sources |= by_name[name].sources
        for attribute, confidence in by_name[name].attributes.items():
            attributes[attribute] = max(attributes.get(attribute, 0.0), confidence * surely[name])
    return Record(attributes, "+".join(sorted(sources)), sources)


def _belonging(start: str, near: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Everything that can be reached, with the probability of the most likely chain (Dijkstra on products)."""
    surely: dict[str, float] = {}
    heap = [(-1.0, start)]
    while heap:
        likely, name = heapq.heappop(heap)
        if name not in surely:
            surely[name] = -likely
            for other, probability in near[name].items():
                if other not in surely:
                    heapq.heappush(heap, (likely * probability, other))
    return surely


def _check(compared: Sequence[Compared], records: Database, threshold: float, prior: float) -> None:
    labels = [each.label for each in compared]
    if not labels or len(set(labels)) < len(labels):
        raise BadInput(f"the compared labels are {labels}", hint="name each label once, and at least one")
    for name, share in (("threshold", threshold), ("prior", prior)):
        if not 0 < share < 1:
            raise BadInput(f"the {name} is {share!r}", hint="it lies between 0 and 1, without the ends")
    given = sum(bool(each.levels) for each in compared)
    if given not in (0, len(compared)):
        raise BadInput(
            "some labels come with probabilities and some without",
            hint="give them for all labels or for none",
        )
    if not given and (len(labels) < 2 or len(records) < 3):
        raise BadInput(
            f"nothing can be learnt from {len(records)} records compared by {len(labels)} labels",
            hint="compare at least two labels of at least three records, or give each label its levels",
        )
