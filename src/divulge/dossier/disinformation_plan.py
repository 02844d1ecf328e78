# SPDX-License-Identifier: Apache-2.0
"""Inventing disinformation under a budget: self and linkage disinformation (Whang and Garcia-Molina, section 4.2).

A release costs 1 for each attribute. The paper's form is Create(S) + k * Add: a record that links the clusters S, and k
invented attributes. One linking record for each group is enough, since the union of two does the same for no more. First a
plan is made by knapsacks, measured with real entity resolution, and held against the lower bound, which holds for all
releases. If there is a gap and the releases that can matter are few, all of them are tried: then it is the best release there
is, of that form or not (with an uncertain false attribute confirmed, say). Else all ways to group the clusters are tried, if
they are few, and the gap is reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TypeAlias

import numpy as np

from divulge import values
from divulge.arrays import Floats
from divulge.dossier import disinformation
from divulge.dossier.leakage import Measure
from divulge.dossier.operators import Resolve
from divulge.dossier.record import Attribute, Record
from divulge.dossier.resolve import MatchRule, all_sources, as_rule, resolve, with_ids
from divulge.errors import BadInput

Groups: TypeAlias = tuple[tuple[int, ...], ...]
"""Which clusters are linked with each other, by place."""
MOST_BUDGET = 1000
MOST_PLANS = 2000
"""Releases, and ways to group the clusters, up to which all are tried."""
MOST_RECORDS = 5000
"""Sets of attributes up to which all are listed."""
TARGETS = 40
"""Leakages the knapsacks aim at."""


@dataclass(frozen=True)
class _Draft:
    """Linking records, how many attributes to invent for each, and the leakage that remains."""

    leakage: float
    links: tuple[Record, ...] = ()
    invented: tuple[int, ...] = ()


@values.checked
def plan_disinformation(
    database: Sequence[Record],
    reference: Record,
    *,
    rule: MatchRule | str,
    budget: float,
    measure: Measure | None = None,
    labels: Sequence[str] | None = None,
    invent: Callable[[str, int], str] | None = None,
) -> disinformation.Disinformation:
    """Invent records to release against an adversary who merges by a rule.

    Args:
        database: The records that are known.
        reference: What is true of the person.
        rule: What makes the adversary merge two records, as in `resolve`.
        budget: The most attributes in all records that are invented.
        measure: How leakage is measured; by default as `leakage` does. Plans know weights, but no equivalence, grades,
            background or joint information.
        labels: For which labels false values may be invented (by default those of the reference); the heaviest is used.
        invent: A function of (label, number) that makes the values.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "P": "123"})
        >>> plan = dv.dossier.plan_disinformation([alice], alice, rule="N", budget=2)
        >>> plan.before, round(plan.leakage, 12)
        (1.0, 0.8)
    """
    disinformation.check_budget(budget)
    if budget > MOST_BUDGET:
        raise BadInput(f"the budget is {budget:g} attributes", hint=f"plans are made for up to {MOST_BUDGET}")
    measure, rule, whole = measure or Measure(), as_rule(rule), int(budget)
    if measure.equivalence or measure.graded or measure.background or measure.joint:
        raise BadInput(
            "plans know weights, but no equivalence, grades, background or joint information",
            hint="apply the equivalence to records and reference first, or choose among given candidates",
        )
    given = with_ids(database)
    inventor = disinformation.Inventor(reference, given, weights=measure.weights, labels=labels, invent=invent)
    resolved = resolve(given, rule).records
    setting = disinformation.describe(
        disinformation.Setting(reference, rule, measure, inventor.weight), resolved, whole
    )
    planner = _Planner(setting, whole)
    floor = disinformation.lower_bound(setting, whole)
    best, method = planner.draft(()), "knapsack"
    if best.leakage > floor + disinformation.EQUAL:
        best = planner.by_knapsack(best)
    if best.leakage > floor + disinformation.EQUAL:
        if (releases := _all_releases(setting, resolved, whole)) is not None:
            # dominated strangers were left out above by their mean weights: to be sure, none is left out here
            planner = _Planner(disinformation.describe(setting, resolved, None), whole, examined=planner.examined)
            best = min((best, *map(planner.settle, releases)), key=lambda draft: draft.leakage)
            floor, method = best.leakage, "enumeration"
        elif len(ways := list(islice(planner.groupings(), MOST_PLANS + 1))) <= MOST_PLANS:
            best, method = min((best, *map(planner.draft, ways)), key=lambda draft: draft.leakage), "grouping"
    decoys = [inventor.add(link, count) for link, count in zip(best.links, best.invented, strict=True)]
    chosen = tuple(
        disinformation.CandidateRecord(f"decoy {number}", each, len(each))
        for number, each in enumerate(decoys, start=1)
    )
    before = measure.most(resolved, reference).leakage
    return disinformation.Disinformation(
        before=before,
        leakage=best.leakage,
        chosen=chosen,
        budget=budget,
        method=method,
        lower_bound=min(floor, best.leakage),
        examined=planner.examined,
        settings={**measure.settings, **Resolve(rule).settings},
    )


def _all_releases(
    setting: disinformation.Setting, clusters: Sequence[Record], budget: int
) -> list[tuple[Record, ...]] | None:
    """All sets of records that can matter, invented attributes aside; None if they are too many.

    A record joins a cluster only if it holds a match key of one. Beyond keys, only false attributes that weigh more than
    an invented one can be worth a copy: an invented one that weighs as much adds as much, whatever is uncertain. What is
    false is released as certain, which never raises the leakage; what is true no surer than it is known already.
    """
    sure: dict[Attribute, float] = {}
    keys: set[frozenset[Attribute]] = set()
    for record in clusters:
        keys.update(map(frozenset, islice(setting.rule.keys(record), MOST_RECORDS + 1)))
        for attribute, confidence in record.attributes.items():
            part = attribute.label in setting.rule.labels and confidence >= setting.rule.threshold
            if part or setting.weight(attribute) > setting.added_weight:
                known = min(confidence, sure.get(attribute, 1.0))
                sure[attribute] = known if attribute in setting.reference.attributes else 1.0
    sizes = range(1, min(budget, len(sure)) + 1)
    if len(keys) > MOST_RECORDS or sum(math.comb(len(sure), size) for size in sizes) > MOST_RECORDS:
        return None
    subsets = (frozenset(held) for size in sizes for held in combinations(sorted(sure), size))
    useful = [Record({a: sure[a] for a in sorted(held)}) for held in subsets if any(key <= held for key in keys)]

    def extend(start: int, left: int, chosen: tuple[Record, ...]) -> Iterator[tuple[Record, ...]]:
        yield chosen
        for at in range(start, len(useful)):
            if len(useful[at]) > left:
                break
            yield from extend(at + 1, left - len(useful[at]), (*chosen, useful[at]))

    found = list(islice(extend(0, budget, ()), MOST_PLANS + 1))
    return found if len(found) <= MOST_PLANS else None


class _Planner:
    """Tries ways to group the clusters and spends what is left on invented attributes."""

    def __init__(self, setting: disinformation.Setting, budget: int, *, examined: int = 0) -> None:
        self._setting, self._budget = setting, budget
        self._records = tuple(cluster.record for cluster in setting.clusters)
        linkable = [place for place, cluster in enumerate(setting.clusters) if cluster.private is not None]
        self._telling = [place for place in linkable if setting.clusters[place].leakage > 0]
        self._telling.sort(key=lambda place: -setting.clusters[place].leakage)
        self._strangers = [place for place in linkable if setting.clusters[place].leakage <= 0]
        self.examined = examined

    def by_knapsack(self, best: _Draft) -> _Draft:
        """Aim at several leakages; serve the clusters one after another, each stranger once; keep the best plan."""
        plans = dict.fromkeys(self._serve(float(target)) for target in np.linspace(best.leakage, 0.0, TARGETS))
        return min((best, *(self.draft(groups) for groups in plans if groups)), key=lambda draft: draft.leakage)

    def draft(self, groups: Groups) -> _Draft:
        """Link the groups, each by one record, and settle what is left."""
        return self.settle([self._link([self._records[place] for place in group]) for group in groups])

    def _link(self, records: Sequence[Record]) -> Record:
        """The smallest record that matches all of these, certain of what is false."""
        link = disinformation.create(records, self._setting.rule)
        return Record({a: 1.0 if self._setting.weight(a) else c for a, c in link.attributes.items()})

    def settle(self, released: Sequence[Record]) -> _Draft:
        """Release these, then bring the leakage down with invented attributes as far as the budget goes."""
        self.examined += 1
        links = list(released)
        left = self._budget - sum(map(len, links))
        if left < 0:
            return _Draft(math.inf)
        named = [Record(link.attributes, f"link {number}") for number, link in enumerate(links)]
        telling = [(block, leak) for block, leak in self._blocks(named) if leak > 0]
        own = [next((n for n, link in enumerate(named) if link.sources <= block.sources), None) for block, _ in telling]

        def fall(number: int) -> Floats:
            return self._fall(*telling[number], linked=own[number] is not None, left=left)

        leakage, spent, _ = disinformation.bring_down([leak for _, leak in telling], fall, left)
        invented = [0] * len(links)
        for number, amount in spent.items():
            place = own[number]
            if place is not None:
                invented[place] += amount
            elif amount:
                links.append(self._link([telling[number][0]]))
                invented.append(amount - len(links[-1]))
        return _Draft(leakage, tuple(links), tuple(invented))

    def _blocks(self, links: Sequence[Record]) -> list[tuple[Record, float]]:
        """All records after the links are released, with their leakage; only what the links can reach is resolved."""
        places = self._setting.places
        reached = {place for link in links for attribute in link.attributes for place in places.get(attribute, ())}
        while True:
            near = {n for place in reached for a in self._records[place].attributes for n in places[a]}
            merged = resolve((*(self._records[place] for place in sorted(near)), *links), self._setting.rule).records
            sources = all_sources(record for record in merged if record.sources & all_sources(links))
            grown = reached | {place for place in near if self._records[place].sources & sources}
            if grown == reached:
                break
            reached = grown
        leaks = self._setting.measure.each(merged, self._setting.reference).tolist()
        rest = [(c.record, c.leakage) for place, c in enumerate(self._setting.clusters) if place not in near]
        return [*zip(merged, leaks, strict=True), *rest]

    def _fall(self, block: Record, leak: float, *, linked: bool, left: int) -> Floats:
        """The leakage of a block after spending 0, 1, .. on it: first its linking record, then invented attributes."""
        link = Record({}) if linked else self._link([block])
        found = np.full(left + 1, leak)
        if linked or 0 < len(link) <= left:
            count = np.arange(left + 1 - len(link), dtype=float)
            found[len(link) :] = self._setting.leakages(block.merge(link), count * self._setting.added_weight)
        return found

    def _serve(self, target: float) -> Groups:
        """Bring one telling cluster after another to the target, with the strangers and the budget that are left."""
        clusters, left, free = self._setting.clusters, self._budget, list(self._strangers)
        groups: list[tuple[int, ...]] = []
        for place in self._telling:
            own = clusters[place]
            room = left - own.key
            if own.leakage <= target + disinformation.EQUAL or room < 0:
                continue
            gains = self._setting.gains(own.record)[free]
            brought, choices = disinformation.most_weight([clusters[other].key for other in free], gains, room)
            weight, linked = disinformation.with_additions(brought, self._setting.added_weight)
            reached = np.flatnonzero(self._setting.leakages(own.record, weight) <= target + disinformation.EQUAL)
            spend = int(reached[0]) if len(reached) else room
            chosen = [free[item] for item in choices[int(linked[spend])]]
            left -= own.key + spend
            free = [other for other in free if other not in set(chosen)]
            if chosen:
                groups.append((place, *sorted(chosen)))
        return tuple(groups)

    def groupings(self) -> Iterator[Groups]:
        """Each partition of the telling clusters, with each stranger in one of its parts or in none."""
        clusters = self._setting.clusters
        places = [*self._telling, *self._strangers]

        def cost(parts: list[list[int]]) -> int:
            return sum(clusters[place].private or 0 for part in parts if len(part) > 1 for place in part)

        def extend(number: int, parts: list[list[int]]) -> Iterator[Groups]:
            if cost(parts) > self._budget:
                return
            if number == len(places):
                yield tuple(tuple(part) for part in parts if len(part) > 1)
                return
            alone = [[places[number]]] if number < len(self._telling) else []
            yield from extend(number + 1, [*parts, *alone])
            for at, part in enumerate(parts):
                yield from extend(number + 1, [*parts[:at], [*part, places[number]], *parts[at + 1 :]])

        return extend(0, [])
