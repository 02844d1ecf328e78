# SPDX-License-Identifier: Apache-2.0
"""Before a record leaves the house: what it would add (Whang and Garcia-Molina, section 4.1).

The incremental leakage of a release is the leakage with it minus the leakage without it, both after the adversary's
analysis. It is large when the record ties others together, 0 when the adversary learns nothing new, and negative when
the record misleads. Alternatives are compared by it; the timeline shows how leakage grew record by record; `without`
says which label, if it had been kept back everywhere, would have helped most.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from divulge.dossier.adversary import Operator, Resolve
from divulge.dossier.clusters import Clusters
from divulge.dossier.matching import as_rule
from divulge.dossier.measure import Measure
from divulge.dossier.record import Database, Record
from divulge.dossier.resolve import free_name, merge_all, name_of, with_ids


@dataclass(frozen=True)
class Increment:
    """What one release changes."""

    name: str
    before: float
    after: float
    witnesses: tuple[Record, ...]
    """The most telling records after the release."""
    joined: frozenset[str]
    """Ids of the earlier records that the release is merged with."""

    @property
    def change(self) -> float:
        """I(R, p, E, r); negative when the release misleads the adversary."""
        return self.after - self.before


@dataclass(frozen=True)
class TimelineStep:
    """The state after one more record."""

    id: str
    leakage: float
    change: float
    records: int
    """How many records the adversary holds after merging."""
    joined: frozenset[str]
    """Ids of the earlier records it was merged with."""


@dataclass(frozen=True)
class Without:
    """The leakage if one label had never been given to anybody."""

    label: str
    leakage: float
    change: float


def incremental(
    database: Sequence[Record],
    reference: Record,
    release: Record,
    *,
    operator: Operator,
    measure: Measure | None = None,
) -> Increment:
    """What releasing this record adds to the leakage."""
    return compare(database, reference, {"release": release}, operator=operator, measure=measure)[0]


def compare(
    database: Sequence[Record],
    reference: Record,
    alternatives: Mapping[str, Record],
    *,
    operator: Operator,
    measure: Measure | None = None,
) -> tuple[Increment, ...]:
    """The alternatives, the least revealing first; ties stay in the order given."""
    measure = measure or Measure()
    given = with_ids(database)
    before = measure.most(operator(given), reference).leakage
    taken = {source for record in given for source in record.sources}
    found = []
    for name, release in alternatives.items():
        marked = Record(release.attributes, free_name(name, taken))
        outcome = operator((*given, marked))
        after = measure.most(outcome, reference)
        joined = frozenset[str]().union(*(record.sources for record in outcome if marked.id in record.sources))
        found.append(Increment(name, before, after.leakage, after.witnesses, joined - {str(marked.id)}))
    return tuple(sorted(found, key=lambda increment: increment.after))


def timeline(
    database: Iterable[Record], reference: Record, *, operator: Operator, measure: Measure | None = None
) -> Iterator[TimelineStep]:
    """The leakage after the first record, the first two, and so on, in the order given.

    Entity resolution alone continues from step to step. Any other operator is run again on every prefix.
    """
    measure = measure or Measure()
    records = with_ids(tuple(database))
    states = (
        _resolved_states(records, reference, operator, measure)
        if isinstance(operator, Resolve)
        else _rerun_states(records, reference, operator, measure)
    )
    leakage = 0.0
    for record, (now, count, joined) in zip(records, states, strict=True):
        yield TimelineStep(name_of(record), now, now - leakage, count, joined - record.sources)
        leakage = now


def without(
    database: Sequence[Record], reference: Record, *, operator: Operator, measure: Measure | None = None
) -> tuple[Without, ...]:
    """For each label, the leakage if no record had it; the label that would have helped most comes first.

    The reference stays as it is: the person still has a phone, only nobody was told its number.
    """
    measure = measure or Measure()
    given = with_ids(database)
    now = measure.most(operator(given), reference).leakage
    found = []
    for label in dict.fromkeys(label for record in given for label in record.labels):
        kept = tuple(_strip(record, label) for record in given)
        leakage = measure.most(operator(kept), reference).leakage
        found.append(Without(label, leakage, leakage - now))
    return tuple(sorted(found, key=lambda each: each.leakage))


def _rerun_states(
    records: Database, reference: Record, operator: Operator, measure: Measure
) -> Iterator[tuple[float, int, frozenset[str]]]:
    for end, record in enumerate(records, start=1):
        outcome = operator(records[:end])
        mine = (found.sources for found in outcome if found.sources & record.sources)
        yield measure.most(outcome, reference).leakage, len(outcome), frozenset[str]().union(*mine)


def _resolved_states(
    records: Database, reference: Record, operator: Resolve, measure: Measure
) -> Iterator[tuple[float, int, frozenset[str]]]:
    """One pass: each new record changes one group; a heap remembers the leakage of all, outdated entries are skipped."""
    clusters = Clusters(as_rule(operator.rule), compose=operator.method == "swoosh")
    merged: dict[int, Record] = {}
    heap: list[tuple[float, int, int]] = []
    for position, record in enumerate(records):
        known = len(clusters.absorbed)
        root = clusters.add(record)
        merged[position] = record
        merged[root] = merge_all([merged.pop(part) for part in (root, *clusters.absorbed[known:])])
        leakage = float(measure.each([merged[root]], reference)[0])
        heapq.heappush(heap, (-leakage, root, len(clusters.members(root))))
        while heap[0][1] not in merged or heap[0][2] != len(clusters.members(heap[0][1])):
            heapq.heappop(heap)
        yield -heap[0][0], len(merged), merged[root].sources


def _strip(record: Record, label: str) -> Record:
    kept = {attribute: confidence for attribute, confidence in record.attributes.items() if attribute.label != label}
    return replace(record, attributes=kept)
