# SPDX-License-Identifier: Apache-2.0
"""How little disinformation can leave at best: a lower bound of the leakage by knapsacks (Whang and Garcia-Molina, 4.2).

A record that leaks keeps its correct attributes, so its leakage depends on how much false weight the budget can attach
to it: strangers, each for at least the attributes of a match key that no other record has, and invented attributes,
each for 1. Overlaps between strangers are ignored and uncertain false weight is replaced by its mean; both err on the
safe side, since leakage falls with the false weight and is convex in it (Jensen). So the bound holds for every plan.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice

import numpy as np

from divulge.arrays import Floats
from divulge.dossier.decoys import smallest_key
from divulge.dossier.matching import MatchRule
from divulge.dossier.measure import Measure
from divulge.dossier.record import Attribute, Record
from divulge.dossier.resolve import merge_all

_MOST_KEYS = 10_000
_MOST_PAIRS = 500
_EQUAL = 1e-12


@dataclass(frozen=True)
class Cluster:
    """A record after entity resolution, with what matters for disinformation."""

    record: Record
    leakage: float
    private: int | None
    """How many attributes a linking record must have for this cluster alone; None if nothing can link it."""
    key: int
    """How many attributes its smallest match key has."""


@dataclass(frozen=True)
class Setting:
    """What is known about the records, the person and the adversary."""

    clusters: tuple[Cluster, ...]
    reference: Record
    rule: MatchRule
    measure: Measure
    added_weight: float
    """The weight of one invented attribute."""

    def false_weight(self, record: Record, *, beyond: Record | None = None) -> float:
        """Expected weight of what the record says wrongly, in addition to what another says already."""
        weights = self.measure.weights or {}
        known = beyond.attributes if beyond else {}
        return sum(
            max(0.0, confidence - known.get(attribute, 0.0)) * weights.get(attribute.label, 1.0)
            for attribute, confidence in record.attributes.items()
            if attribute not in self.reference.attributes
        )

    @cached_property
    def places(self) -> dict[Attribute, list[int]]:
        """Where each attribute occurs."""
        found: dict[Attribute, list[int]] = {}
        for place, cluster in enumerate(self.clusters):
            for attribute in cluster.record.attributes:
                found.setdefault(attribute, []).append(place)
        return found

    @cached_property
    def false_weights(self) -> Floats:
        """Expected false weight of each cluster."""
        return np.array([self.false_weight(cluster.record) for cluster in self.clusters])

    def gains(self, record: Record) -> Floats:
        """The expected false weight that each cluster would add to this record."""
        found = self.false_weights.copy()
        for place in {place for attribute in record.attributes for place in self.places.get(attribute, ())}:
            found[place] = self.false_weight(self.clusters[place].record, beyond=record)
        return found

    def leakages(self, record: Record, extra: Floats) -> Floats:
        """The leakage of the record with each of these certain false weights in addition."""
        weights = dict(self.measure.weights or {})
        loaded = []
        for number, weight in enumerate(extra):
            weights[label := f"false weight {number}"] = float(weight)
            loaded.append(Record({**record.attributes, Attribute(label, ""): 1.0}))
        return replace(self.measure, weights=weights).each(loaded, self.reference)


def describe(
    records: Sequence[Record],
    reference: Record,
    *,
    rule: MatchRule,
    measure: Measure,
    added_weight: float,
    budget: int,
) -> Setting:
    """The setting, with the clusters that can matter: those that leak, and the best strangers of each cost."""
    leaks = measure.each(records, reference)
    holders = Counter(attribute for record in records for attribute in record.attributes)
    clusters = []
    for record, leak in zip(records, leaks, strict=True):
        keys = islice(rule.keys(record), _MOST_KEYS)
        private = min((sum(holders[part] == 1 for part in key) for key in keys), default=None)
        clusters.append(Cluster(record, float(leak), private, len(smallest_key(record, rule))))
    setting = Setting(tuple(clusters), reference, rule, measure, added_weight)
    return replace(setting, clusters=_reduced(setting, budget))


def lower_bound(setting: Setting, budget: int) -> float:
    """No plan within the budget leads to less leakage than this."""
    telling = [place for place, cluster in enumerate(setting.clusters) if cluster.leakage > 0]
    leaks = [setting.clusters[place].leakage for place in telling]
    falls: dict[int, Floats] = {}

    def fall(number: int) -> Floats:
        falls[number] = _fall(setting, (telling[number],), budget)
        return falls[number]

    apart, _ = bring_down(leaks, fall, budget)
    alone = max([_untouched(setting, telling, budget), *(float(found[-1]) for found in falls.values())], default=0.0)
    if apart <= alone + _EQUAL:
        return alone
    pairs = list(islice(combinations(telling, 2), _MOST_PAIRS + 1))
    if len(pairs) > _MOST_PAIRS:
        return min(apart, alone)
    together = min((_floor_together(setting, pair, budget) for pair in pairs), default=math.inf)
    return min(apart, max(alone, together))


def bring_down(leaks: Sequence[float], fall: Callable[[int], Floats], budget: int) -> tuple[float, dict[int, int]]:
    """The smallest leakage t to which all records can be brought with the budget shared, and what to spend on each.

    `fall(number)[s]` is the leakage of a record after spending s on it; it is asked for only where it matters.
    """
    falls: dict[int, Floats] = {}
    target, spent = 0.0, dict[int, int]()
    for number in sorted(range(len(leaks)), key=lambda number: -leaks[number]):
        if leaks[number] <= target + _EQUAL:
            break
        falls[number] = fall(number)
        target, spent = _share(falls, budget)
    return target, spent


def most_weight(costs: Sequence[int], gains: Floats, budget: int) -> tuple[Floats, list[list[int]]]:
    """The 0/1 knapsack: for each budget up to this one, the most weight a choice of items brings, and that choice."""
    free = [item for item, cost in enumerate(costs) if cost == 0 and gains[item] > 0]
    best = np.full(budget + 1, float(gains[free].sum()))
    taken: list[list[int]] = [free] * len(best)
    for item in _worthwhile(costs, gains, budget):
        cost = costs[item]
        improved = best[: budget + 1 - cost] + gains[item]
        better = np.flatnonzero(improved > best[cost:] + _EQUAL)
        chosen = [[*taken[at], item] for at in better]
        best[better + cost] = improved[better]
        for at, choice in zip(better + cost, chosen, strict=True):
            taken[at] = choice
    return best, taken


def with_additions(brought: Floats, weight: float) -> tuple[Floats, Floats]:
    """The most false weight per budget when what is left buys invented attributes, and the part spent on strangers."""
    place = np.arange(len(brought), dtype=float)
    ahead = np.maximum.accumulate(brought - place * weight)
    return ahead + place * weight, np.searchsorted(ahead, ahead - _EQUAL).astype(float)


def _fall(setting: Setting, places: Sequence[int], budget: int) -> Floats:
    """The least leakage of a record that contains these clusters, for each amount spent on it from 0 to the budget."""
    inside = [setting.clusters[place] for place in places]
    merged = merge_all([cluster.record for cluster in inside])
    correct = Record({a: c for a, c in merged.attributes.items() if a in setting.reference.attributes})
    extra = np.zeros(budget + 1)
    start = sum(cluster.private or 0 for cluster in inside)
    if start <= budget and all(cluster.private is not None for cluster in inside):
        gains = setting.gains(merged)
        others = [n for n, each in enumerate(setting.clusters) if each.private is not None and n not in places]
        brought, _ = most_weight([setting.clusters[n].private or 0 for n in others], gains[others], budget)
        extra[start:] = with_additions(brought, setting.added_weight)[0][: budget + 1 - start]
    distinct, where = np.unique(extra, return_inverse=True)
    return setting.leakages(correct, setting.false_weight(merged) + distinct)[where]


def _untouched(setting: Setting, telling: Iterable[int], budget: int) -> float:
    """A plan can touch only so many telling clusters; the largest leakage of the others stays."""
    leaks = sorted((setting.clusters[place].leakage for place in telling), reverse=True)
    costs = sorted(cost for place in telling if (cost := setting.clusters[place].private) is not None)
    touched = int(np.searchsorted(np.cumsum(costs), budget, side="right"))
    return leaks[touched] if touched < len(leaks) else 0.0


def _floor_together(setting: Setting, pair: tuple[int, int], budget: int) -> float:
    """The least leakage of any plan that puts these two telling clusters together; infinite if none can."""
    costs = [setting.clusters[place].private for place in pair]
    if sum(math.inf if cost is None else cost for cost in costs) > budget:
        return math.inf
    return float(_fall(setting, pair, budget)[-1])


def _reduced(setting: Setting, budget: int) -> tuple[Cluster, ...]:
    """Without strangers that others beat: of one cost and nothing in common with telling clusters, the heaviest do."""
    touched = {a for cluster in setting.clusters if cluster.leakage > 0 for a in cluster.record.attributes}
    kept: set[int] = set()
    counts: Counter[tuple[str, int]] = Counter()
    weight = [setting.false_weight(cluster.record) for cluster in setting.clusters]
    for place in sorted(range(len(weight)), key=lambda place: -weight[place]):
        cluster = setting.clusters[place]
        if cluster.leakage > 0 or not touched.isdisjoint(cluster.record.attributes):
            kept.add(place)
        elif cluster.private is not None:
            for kind in (("private", cluster.private), ("key", cluster.key)):
                if kind[1] == 0 or counts[kind] < budget // kind[1]:
                    kept.add(place)
                    counts[kind] += 1
    near = {a for place in kept for a in setting.clusters[place].record.attributes}
    return tuple(
        cluster
        for place, cluster in enumerate(setting.clusters)
        if place in kept or not near.isdisjoint(cluster.record.attributes)
    )


def _share(falls: dict[int, Floats], budget: int) -> tuple[float, dict[int, int]]:
    """The smallest target that the budget allows, by bisection over the leakages that occur."""
    values = np.unique(np.concatenate(list(falls.values())))
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        needs = _needs(falls, values[middle])
        low, high = (low, middle) if needs is not None and sum(needs.values()) <= budget else (middle + 1, high)
    return float(values[low]), _needs(falls, values[low]) or {}


def _needs(falls: dict[int, Floats], target: float) -> dict[int, int] | None:
    """What brings each to the target, or None if one cannot reach it."""
    reached = {number: np.flatnonzero(fall <= target + _EQUAL) for number, fall in falls.items()}
    return {number: int(at[0]) for number, at in reached.items()} if all(map(len, reached.values())) else None


def _worthwhile(costs: Sequence[int], gains: Floats, budget: int) -> list[int]:
    """Items with a cost that can be part of a best choice: of each cost only as many as fit, the heaviest."""
    by_cost: dict[int, list[int]] = {}
    for item in np.argsort(-gains, kind="stable").tolist():
        cost = costs[item]
        if cost and gains[item] > 0 and len(by_cost.setdefault(cost, [])) < budget // cost:
            by_cost[cost].append(item)
    return [item for items in by_cost.values() for item in items]
