# SPDX-License-Identifier: Apache-2.0
"""Choice of disinformation: the best records to release under a budget.

Whang and Garcia-Molina, 4.2. The leakage of a database is a maximum, so single records often gain
nothing and only help in combination. Greedy choice fails there and is kept as a labeled baseline.
The search is best-first branch and bound. Its bound requires a monotone adversary: more records
only make merged records larger. A record that leaks now therefore keeps its correct attributes. It
gains at most the false ones that it would gain if all affordable candidates were released. `exact`
runs to the end. `bounded` stops after a number of steps and reports the largest possible distance
from the optimum.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, islice
from typing import Any, Literal, TypeAlias

import numpy as np

from divulge.arrays import Floats
from divulge.dossier.leakage import Measure
from divulge.dossier.operators import Operator, settings_of
from divulge.dossier.record import Attribute, Database, Record, highest
from divulge.dossier.resolve import (
    MatchRule,
    all_sources,
    as_rule,
    free_name,
    merge_all,
    name_of,
    with_ids,
)
from divulge.errors import BadInput, nearest
from divulge.results import Result
from divulge.validation import checked

Search: TypeAlias = Literal["exact", "bounded", "greedy"]
MOST_EXACT = 20
"""The largest number of candidates for an exhaustive search."""
EQUAL = 1e-12
"""Leakages that differ by less are equal."""


@dataclass(frozen=True)
class CandidateRecord:
    """A record that could be released, and the cost to create it."""

    name: str
    record: Record
    cost: float

    def __post_init__(self) -> None:
        if not 0 <= self.cost < math.inf:
            raise BadInput(
                f"the cost of {self.name!r} is {self.cost!r}",
                hint="a cost is a number of at least 0",
            )


@dataclass(frozen=True, repr=False)
class Disinformation(Result):
    """A choice of records, the resulting leakage, and a lower bound of the leakage."""

    view = "dossier"

    before: float
    leakage: float
    """Leakage of the database with the chosen records, after the adversary's analysis."""
    chosen: tuple[CandidateRecord, ...]
    budget: float
    method: str
    lower_bound: float
    """A proven bound: no affordable choice leads to a lower leakage.

    It covers choices among the candidates if there are any, else all possible records.
    """
    examined: int
    """The number of choices that were measured."""
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def cost(self) -> float:
        """The total cost of the chosen records."""
        return math.fsum(candidate.cost for candidate in self.chosen)

    @property
    def gap(self) -> float:
        """The largest possible excess of the leakage over the optimum."""
        return max(0.0, self.leakage - self.lower_bound)

    @property
    def optimal(self) -> bool:
        """True if it is proven that no better choice exists."""
        return self.gap <= EQUAL


@checked
def candidates_of(
    records: Iterable[Record], *, costs: Mapping[str, float] | None = None
) -> tuple[CandidateRecord, ...]:
    """The records as candidates for disinformation.

    Args:
        records: The records that could be released.
        costs: The cost of a record by its id; the default is its number of attributes.

    Examples:
        >>> import divulge as dv
        >>> decoys = [dv.dossier.Record.of({"N": "Alice", "P": "999"}, id="decoy")]
        >>> [(each.name, each.cost) for each in dv.dossier.candidates_of(decoys)]
        [('decoy', 2)]
    """
    record_costs = dict(costs or {})
    candidates = [
        CandidateRecord(name_of(record), record, record_costs.pop(name_of(record), len(record)))
        for record in with_ids(tuple(records))
    ]
    if record_costs:
        candidate_names = [candidate.name for candidate in candidates]
        raise BadInput(
            f"there is no candidate {next(iter(record_costs))!r} to price",
            hint=nearest(next(iter(record_costs)), candidate_names),
        )
    return tuple(candidates)


@checked
def choose_disinformation(
    database: Sequence[Record],
    reference: Record,
    candidates: Sequence[CandidateRecord],
    *,
    budget: float,
    operator: Operator,
    measure: Measure | None = None,
    method: Search = "exact",
    steps: int = 1000,
) -> Disinformation:
    """Choose the affordable candidates that leave the least leakage.

    Args:
        database: The adversary's records.
        reference: The true attributes of the person.
        candidates: The records that could be released, with their costs; see `candidates_of`.
        budget: The largest total cost of the chosen records.
        operator: The adversary's analysis, as in `attack`.
        measure: The options of `leakage`; by default its defaults.
        method: "exact" (up to 20 candidates), "bounded", which stops early and reports its gap, or
            "greedy".
        steps: The number of steps after which the method "bounded" stops.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "P": "123"})
        >>> offered = dv.dossier.candidates_of(
        ...     [dv.dossier.Record.of({"N": "Alice", "P": "999"}, id="decoy")]
        ... )
        >>> found = dv.dossier.choose_disinformation(
        ...     [alice], alice, offered, budget=2, operator=dv.dossier.Resolve("N")
        ... )
        >>> [each.name for each in found.chosen], round(found.leakage, 12)
        (['decoy'], 0.8)
    """
    check_budget(budget)
    if method == "exact" and len(candidates) > MOST_EXACT:
        raise BadInput(
            f"exact search takes up to {MOST_EXACT} candidates, not {len(candidates)}",
            hint="use the method bounded, which reports its gap",
        )
    measure = measure or Measure()
    problem = _Problem(
        with_ids(database), reference, candidates, operator=operator, measure=measure
    )
    settings = {
        **measure.settings,
        **settings_of(operator),
        **({"steps": steps} if method == "bounded" else {}),
    }
    if method == "greedy":
        return replace(_greedy(problem, budget), settings=settings)
    plan = _branch_and_bound(problem, budget, steps=None if method == "exact" else steps)
    return replace(plan, settings=settings)


def check_budget(budget: float) -> None:
    """Raise an error if the budget is not a finite number of at least 0."""
    if isinstance(budget, bool) or not 0 <= budget < math.inf:
        raise BadInput(f"the budget is {budget!r}", hint="a budget is a number of at least 0")


class _Problem:
    """The relevant part of the database, and the leakage of a choice of candidates."""

    def __init__(
        self,
        database: Database,
        reference: Record,
        candidates: Sequence[CandidateRecord],
        *,
        operator: Operator,
        measure: Measure,
    ) -> None:
        self.candidates = tuple(candidates)
        self.examined = 0
        self._operator, self._measure, self._reference = operator, measure, reference
        taken_names = all_sources(database)
        self._decoys = tuple(
            Record(candidate.record.attributes, free_name(f"decoy {number}", taken_names))
            for number, candidate in enumerate(self.candidates, start=1)
        )
        self._bounded = operator.monotone and not measure.graded and not measure.joint
        if self._bounded:
            self._base = self._relevant(database)
        else:
            self._base = database
        if measure.equivalence:
            self._canonical = measure.equivalence.canonical
        else:
            self._canonical = lambda attribute: attribute
        self._true_attributes = {self._canonical(attribute) for attribute in reference.attributes}

    def measure(self, chosen: Iterable[int]) -> float:
        """The leakage if these candidates are released."""
        self.examined += 1
        return self._measure.most(self._outcome(chosen), self._reference).leakage

    def bound(self, chosen: Sequence[int], open_: Iterable[int]) -> float:
        """A lower bound of the leakage of any choice of `chosen` and a part of `open_`."""
        if not self._bounded:
            return 0.0
        widest = {
            source: record
            for record in self._outcome([*chosen, *open_])
            for source in record.sources
        }
        best = [
            self._best_case(record, widest[next(iter(record.sources))])
            for record in self._outcome(chosen)
        ]
        return float(self._measure.each(best, self._reference).max(initial=0.0))

    def _outcome(self, chosen: Iterable[int]) -> Database:
        return self._operator((*self._base, *(self._decoys[number] for number in chosen)))

    def _best_case(self, record: Record, widest: Record) -> Record:
        """The record's correct attributes, with all false ones that it can ever gain."""
        correct = record.kept(lambda attribute: self._canonical(attribute) in self._true_attributes)
        false = widest.kept(
            lambda attribute: self._canonical(attribute) not in self._true_attributes
        )
        return correct.merge(false)

    def _relevant(self, database: Database) -> Database:
        """Records that can ever be merged with correct information.

        The others leak nothing, independent of the release.
        """
        outcome = self._operator((*database, *self._decoys))
        leaks = self._measure.each(outcome, self._reference)
        leaking_sources = all_sources(
            record for record, leak in zip(outcome, leaks, strict=True) if leak > 0
        )
        return tuple(record for record in database if record.sources & leaking_sources)


def _branch_and_bound(problem: _Problem, budget: float, *, steps: int | None) -> Disinformation:
    costs = [candidate.cost for candidate in problem.candidates]
    before = best = problem.measure(())
    plan: tuple[int, ...] = ()

    def affordable(chosen: tuple[int, ...], start: int) -> list[int]:
        remaining_budget = budget - math.fsum(costs[number] for number in chosen)
        return [
            number
            for number in range(start, len(costs))
            if costs[number] <= remaining_budget + EQUAL
        ]

    heap = [(problem.bound((), affordable((), 0)), 0, plan, 0)]
    while heap and heap[0][0] < best - EQUAL and (steps is None or problem.examined < steps):
        floor, _, chosen, start = heapq.heappop(heap)
        open_ = affordable(chosen, start)
        if not open_:
            continue
        next_choice = (*chosen, open_[0])
        leakage = problem.measure(next_choice)
        if leakage < best - EQUAL:
            best = leakage
            plan = next_choice
        for branch in (next_choice, chosen):
            rest = affordable(branch, open_[0] + 1)
            if rest and (bound := max(floor, problem.bound(branch, rest))) < best - EQUAL:
                heapq.heappush(heap, (bound, -len(branch), branch, open_[0] + 1))
    if heap:
        lower = min(best, heap[0][0])
    else:
        lower = best
    records = tuple(problem.candidates[number] for number in plan)
    if steps is None:
        method = "exact"
    else:
        method = "bounded"
    return Disinformation(before, best, records, budget, method, lower, problem.examined)


def _greedy(problem: _Problem, budget: float) -> Disinformation:
    """Take the candidate with the largest gain per cost as long as one has a gain."""
    before = current = problem.measure(())
    chosen: list[int] = []
    remaining_budget = budget
    while True:
        options = []
        for number, candidate in enumerate(problem.candidates):
            affordable = number not in chosen and candidate.cost <= remaining_budget + EQUAL
            if affordable and (leakage := problem.measure([*chosen, number])) < current - EQUAL:
                if candidate.cost:
                    ratio = (current - leakage) / candidate.cost
                else:
                    ratio = math.inf
                options.append((-ratio, number, leakage))
        if not options:
            break
        _, number, current = min(options)
        chosen.append(number)
        remaining_budget -= problem.candidates[number].cost
    floor = problem.bound(
        (), [n for n, offer in enumerate(problem.candidates) if offer.cost <= budget + EQUAL]
    )
    plan = tuple(problem.candidates[number] for number in chosen)
    return Disinformation(
        before, current, plan, budget, "greedy", min(current, floor), problem.examined
    )


# --- Create and Add -------------------------------------------------------------------------------
# Create returns the smallest record that matches every record of a set: one key of each, with
# shared attributes once. It is a small set-cover problem. Add appends a false attribute that
# belongs to nobody.
_MOST_KEYS = 10_000
_MOST_STEPS = 50_000


def create(records: Sequence[Record], rule: MatchRule | str, *, limit: int | None = None) -> Record:
    """The smallest record that matches all of these.

    The result is empty if there is no such record of at most `limit` attributes. Each attribute has
    the confidence it has in the records, so that linking them has no other effect. After 50,000
    search steps (dozens of records that share parts of their keys) the best record so far is
    returned.

    >>> sorted(create([Record.of({"N": "Ann", "P": "1"}), Record.of({"N": "Bob"})], "N").attributes)
    [Attribute(label='N', value='Ann'), Attribute(label='N', value='Bob')]
    """
    rule = as_rule(rule)
    choices = _candidate_keys(records, rule)
    if choices and all(choices):
        attributes = _smallest_union(choices)
    else:
        attributes = frozenset()
    if limit is not None and len(attributes) > limit:
        return Record({})
    return Record(
        highest(
            (a, record.attributes.get(a, 0.0)) for a in sorted(attributes) for record in records
        )
    )


class Inventor:
    """Add: false attributes that nobody has, with the label of the largest weight."""

    def __init__(
        self,
        reference: Record,
        records: Iterable[Record],
        *,
        weights: Mapping[str, float] | None = None,
        labels: Sequence[str] | None = None,
        invent: Callable[[str, int], str] | None = None,
    ) -> None:
        """`labels` are the allowed labels; the default is those of the reference.

        `invent` returns plausible values.
        """
        if labels is not None:
            allowed_labels = list(labels)
        else:
            allowed_labels = sorted(reference.labels)
        if not allowed_labels:
            raise BadInput("there is no label to invent values for", hint="name at least one")
        label_weights = weights or {}
        self.label = max(allowed_labels, key=lambda label: label_weights.get(label, 1.0))
        self.weight = float(label_weights.get(self.label, 1.0))
        self._invent = invent or (lambda _, number: f"decoy-{number}")
        self._taken = {
            a.value
            for record in (reference, *records)
            for a in record.attributes
            if a.label == self.label
        }
        self._number = 0

    def add(self, record: Record, count: int = 1) -> Record:
        """Add `count` false attributes to the record."""
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
                raise BadInput(
                    f"the values invented for {self.label!r} are all taken",
                    hint="invent other ones",
                )
        return Record(attributes, record.id)


def _candidate_keys(records: Sequence[Record], rule: MatchRule) -> list[list[frozenset[Attribute]]]:
    """For each record the keys to try: those with shared attributes, and the smallest other."""
    keys = [{frozenset(key) for key in islice(rule.keys(record), _MOST_KEYS)} for record in records]
    attribute_counts = Counter(
        attribute
        for record_keys in keys
        for attribute in {part for key in record_keys for part in key}
    )
    choices = []
    for record_keys in keys:
        shared = [key for key in record_keys if any(attribute_counts[part] > 1 for part in key)]
        private = [key for key in record_keys if all(attribute_counts[part] == 1 for part in key)]
        choices.append(sorted([*shared, *sorted(private, key=_key_order)[:1]], key=_key_order))
    return sorted(choices, key=len)


def _smallest_union(choices: list[list[frozenset[Attribute]]]) -> frozenset[Attribute]:
    """One key per record such that their union has the fewest attributes.

    The search is depth first, with the nearest key first.
    """
    best: frozenset[Attribute] | None = None
    stack = [(0, frozenset[Attribute]())]
    steps = 0
    while stack and (best is None or steps < _MOST_STEPS):
        steps += 1
        record_index, union = stack.pop()
        if best is not None and len(union) >= len(best):
            continue
        if record_index == len(choices):
            best = union
            continue
        options = {union | key for key in choices[record_index]}
        stack += [
            (record_index + 1, option)
            for option in sorted(
                options, key=lambda union_option: (-len(union_option), sorted(union_option))
            )
        ]
    if best is not None:
        return best
    return frozenset()


def _key_order(key: frozenset[Attribute]) -> tuple[int, list[Attribute]]:
    return len(key), sorted(key)


# --- lower bound by knapsacks ---------------------------------------------------------------------
# A record that leaks keeps its correct attributes, so its leakage depends on the false weight that
# the budget can attach to it. Released records that end in one merged record are equivalent to one
# record at no higher cost. To contain a cluster, it needs the attributes of a match key. Attributes
# that no other cluster has are private to the cluster; they add the confidence that the cluster
# lacked. Each further attribute adds at most the largest weight, whether it is invented, copied or
# confirmed. Overlaps of strangers are ignored, and uncertain false weight counts with its mean.
# Both err on the safe side, because leakage falls with the false weight and is convex in it
# (Jensen). The bound holds for all releases, not only for those of the planner's form.
_MOST_PAIRS = 500


@dataclass(frozen=True)
class Cluster:
    """A record after entity resolution, with the quantities that matter for disinformation."""

    record: Record
    leakage: float
    private: int | None
    """The number of attributes that a linking record needs only for this cluster.

    None if no record can link the cluster.
    """
    key: int
    """The number of attributes of its smallest match key."""
    confirmed: float
    """The largest false weight that `private` of its own attributes add if released as certain."""


@dataclass(frozen=True)
class Setting:
    """The records, the person and the adversary of a planning problem."""

    reference: Record
    rule: MatchRule
    measure: Measure
    added_weight: float
    """The weight of one invented attribute."""
    clusters: tuple[Cluster, ...] = ()
    largest_weight: float = 0.0
    """The largest weight of any released attribute, whether invented or copied."""

    def weight(self, attribute: Attribute) -> float:
        """The weight of the attribute if it is false; 0 if it is true."""
        if attribute in self.reference.attributes:
            return 0.0
        return (self.measure.weights or {}).get(attribute.label, 1.0)

    def false_weight(self, record: Record, *, beyond: Record | None = None) -> float:
        """The expected false weight of the record, in addition to that of another."""
        if beyond:
            other_confidences = beyond.attributes
        else:
            other_confidences = {}
        return sum(
            max(0.0, confidence - other_confidences.get(attribute, 0.0)) * self.weight(attribute)
            for attribute, confidence in record.attributes.items()
        )

    @cached_property
    def places(self) -> dict[Attribute, list[int]]:
        """The clusters in which each attribute occurs."""
        occurrences: dict[Attribute, list[int]] = {}
        for cluster_index, cluster in enumerate(self.clusters):
            for attribute in cluster.record.attributes:
                occurrences.setdefault(attribute, []).append(cluster_index)
        return occurrences

    @cached_property
    def false_weights(self) -> Floats:
        """Expected false weight of each cluster."""
        return np.array([self.false_weight(cluster.record) for cluster in self.clusters])

    def gains(self, record: Record) -> Floats:
        """The expected false weight that each cluster would add to this record."""
        added_weights = self.false_weights.copy()
        for cluster_index in {
            cluster_index
            for attribute in record.attributes
            for cluster_index in self.places.get(attribute, ())
        }:
            added_weights[cluster_index] = self.false_weight(
                self.clusters[cluster_index].record, beyond=record
            )
        return added_weights

    def leakages(self, record: Record, extra: Floats) -> Floats:
        """The leakage of the record with each of these certain false weights added."""
        weights = dict(self.measure.weights or {})
        loaded = []
        for number, weight in enumerate(extra):
            weights[label := f"false weight {number}"] = float(weight)
            loaded.append(Record({**record.attributes, Attribute(label, ""): 1.0}))
        return replace(self.measure, weights=weights).each(loaded, self.reference)


def describe(setting: Setting, records: Sequence[Record], budget: int | None) -> Setting:
    """Add the clusters to the setting.

    With a budget, these are the clusters that leak and the best strangers of each cost.
    """
    holders = Counter(attribute for record in records for attribute in record.attributes)
    clusters = []
    for record, leak in zip(records, setting.measure.each(records, setting.reference), strict=True):
        keys = list(islice(setting.rule.keys(record), _MOST_KEYS))
        private = min((sum(holders[part] == 1 for part in key) for key in keys), default=None)
        # keys beyond the limit may need none
        if len(keys) == _MOST_KEYS:
            private = 0
        doubts = (
            (1 - c) * setting.weight(a) for a, c in record.attributes.items() if holders[a] == 1
        )
        confirmed = sum(sorted(doubts, reverse=True)[: private or 0])
        clusters.append(
            Cluster(record, float(leak), private, min(map(len, keys), default=0), confirmed)
        )
    largest = max(map(setting.weight, holders), default=0.0)
    setting = replace(
        setting, clusters=tuple(clusters), largest_weight=max(setting.added_weight, largest)
    )
    if budget is None:
        return setting
    return replace(setting, clusters=_without_dominated_clusters(setting, budget))


def lower_bound(setting: Setting, budget: int) -> float:
    """A lower bound of the leakage of any release within the budget."""
    leaking_clusters = [
        cluster_index
        for cluster_index, cluster in enumerate(setting.clusters)
        if cluster.leakage > 0
    ]
    leaks = [setting.clusters[cluster_index].leakage for cluster_index in leaking_clusters]
    separate_bound, _, falls = bring_down(
        leaks,
        lambda number: _leakage_by_amount(setting, (leaking_clusters[number],), budget),
        budget,
    )
    single_bound = max(
        [
            _unreduced_leakage(setting, leaking_clusters, budget),
            *(float(fall[-1]) for fall in falls.values()),
        ],
        default=0.0,
    )
    if separate_bound <= single_bound + EQUAL:
        return single_bound
    pairs = list(islice(combinations(leaking_clusters, 2), _MOST_PAIRS + 1))
    if len(pairs) > _MOST_PAIRS:
        return min(separate_bound, single_bound)
    # the least leakage of any plan that merges two leaking clusters, for pairs that can be merged
    costs = [
        math.inf if cluster.private is None else cluster.private for cluster in setting.clusters
    ]
    joint = [
        float(_leakage_by_amount(setting, (a, b), budget)[-1])
        for a, b in pairs
        if costs[a] + costs[b] <= budget
    ]
    return min(separate_bound, max(single_bound, min(joint, default=math.inf)))


def bring_down(
    leaks: Sequence[float], fall: Callable[[int], Floats], budget: int
) -> tuple[float, dict[int, int], dict[int, Floats]]:
    """Find the smallest leakage to which all records can be reduced with a shared budget.

    Returns the leakage, the amount to spend on each record, and the computed falls.
    `fall(number)[s]` is the leakage of a record after spending s on it. It is computed only if it
    matters.
    """
    falls: dict[int, Floats] = {}
    target = 0.0
    cost_by_record = dict[int, int]()
    for number in sorted(range(len(leaks)), key=lambda number: -leaks[number]):
        if leaks[number] <= target + EQUAL:
            break
        falls[number] = fall(number)
        target, cost_by_record = _share_budget(falls, budget)
    return target, cost_by_record, falls


def most_weight(costs: Sequence[int], gains: Floats, budget: int) -> tuple[Floats, list[list[int]]]:
    """Solve the 0/1 knapsack: for each budget, the largest weight of a choice, and that choice."""
    free_items = [item for item, cost in enumerate(costs) if cost == 0 and gains[item] > 0]
    best = np.full(budget + 1, float(gains[free_items].sum()))
    choices: list[list[int]] = [free_items] * len(best)
    for item in _useful_items(costs, gains, budget):
        cost = costs[item]
        improved = best[: budget + 1 - cost] + gains[item]
        improved_amounts = np.flatnonzero(improved > best[cost:] + EQUAL)
        chosen = [[*choices[amount], item] for amount in improved_amounts]
        best[improved_amounts + cost] = improved[improved_amounts]
        for amount, choice in zip(improved_amounts + cost, chosen, strict=True):
            choices[amount] = choice
    return best, choices


def with_additions(brought: Floats, weight: float) -> tuple[Floats, Floats]:
    """The largest false weight per budget if the rest of it buys invented attributes.

    Returns also the part spent on strangers.
    """
    spending = np.arange(len(brought), dtype=float)
    ahead = np.maximum.accumulate(brought - spending * weight)
    return ahead + spending * weight, np.searchsorted(ahead, ahead - EQUAL).astype(float)


def _leakage_by_amount(setting: Setting, cluster_indexes: Sequence[int], budget: int) -> Floats:
    """The least leakage of a record with these clusters, by amount spent from 0 to the budget."""
    merged_clusters = [setting.clusters[cluster_index] for cluster_index in cluster_indexes]
    merged = merge_all([cluster.record for cluster in merged_clusters])
    correct = merged.kept(setting.reference.attributes.__contains__)
    extra = np.zeros(budget + 1)
    start = sum(cluster.private or 0 for cluster in merged_clusters)
    if start <= budget and all(cluster.private is not None for cluster in merged_clusters):
        gains = setting.gains(merged) + [cluster.confirmed for cluster in setting.clusters]
        others = [
            n
            for n, other_cluster in enumerate(setting.clusters)
            if other_cluster.private is not None and n not in cluster_indexes
        ]
        brought, _ = most_weight(
            [setting.clusters[n].private or 0 for n in others], gains[others], budget
        )
        added_weight = with_additions(brought, setting.largest_weight)[0] + sum(
            cluster.confirmed for cluster in merged_clusters
        )
        extra[start:] = added_weight[: budget + 1 - start]
    distinct, distinct_index = np.unique(extra, return_inverse=True)
    return setting.leakages(correct, setting.false_weight(merged) + distinct)[distinct_index]


def _unreduced_leakage(setting: Setting, leaking_clusters: Iterable[int], budget: int) -> float:
    """The largest leakage of the clusters that a plan within the budget cannot change."""
    leaks = sorted(
        (setting.clusters[cluster_index].leakage for cluster_index in leaking_clusters),
        reverse=True,
    )
    costs = sorted(
        cost
        for cluster_index in leaking_clusters
        if (cost := setting.clusters[cluster_index].private) is not None
    )
    touched = int(np.searchsorted(np.cumsum(costs), budget, side="right"))
    if touched < len(leaks):
        return leaks[touched]
    return 0.0


def _without_dominated_clusters(setting: Setting, budget: int) -> tuple[Cluster, ...]:
    """Drop dominated strangers.

    Of those of equal cost that share nothing with leaking clusters, the heaviest are enough.
    """
    touched = {
        a for cluster in setting.clusters if cluster.leakage > 0 for a in cluster.record.attributes
    }
    cluster_ids: set[int] = set()
    counts: Counter[tuple[str, int]] = Counter()
    added_weights = setting.false_weights + [cluster.confirmed for cluster in setting.clusters]
    for cluster_index in sorted(
        range(len(setting.clusters)), key=lambda index: -added_weights[index]
    ):
        cluster = setting.clusters[cluster_index]
        if cluster.leakage > 0 or not touched.isdisjoint(cluster.record.attributes):
            cluster_ids.add(cluster_index)
        elif cluster.private is not None:
            for kind, size in (("private", cluster.private), ("key", cluster.key)):
                if size == 0 or counts[kind, size] < budget // size:
                    cluster_ids.add(cluster_index)
                    counts[kind, size] += 1
    nearby_attributes = {
        a
        for cluster_index in cluster_ids
        for a in setting.clusters[cluster_index].record.attributes
    }
    indexed_clusters = enumerate(setting.clusters)
    return tuple(
        candidate
        for cluster_index, candidate in indexed_clusters
        if cluster_index in cluster_ids
        or not nearby_attributes.isdisjoint(candidate.record.attributes)
    )


def _share_budget(falls: dict[int, Floats], budget: int) -> tuple[float, dict[int, int]]:
    """The smallest target that the budget allows, by bisection over the leakages that occur."""
    values = np.unique(np.concatenate(list(falls.values())))
    low = 0
    high = len(values) - 1
    while low < high:
        middle = (low + high) // 2
        needs = _required_amounts(falls, values[middle])
        if needs is not None and sum(needs.values()) <= budget:
            high = middle
        else:
            low = middle + 1
    return float(values[low]), _required_amounts(falls, values[low]) or {}


def _required_amounts(falls: dict[int, Floats], target: float) -> dict[int, int] | None:
    """The amounts that reduce each record to the target, or None if one cannot reach it."""
    reached = {number: np.flatnonzero(fall <= target + EQUAL) for number, fall in falls.items()}
    if all(map(len, reached.values())):
        return {number: int(amounts[0]) for number, amounts in reached.items()}
    return None


def _useful_items(costs: Sequence[int], gains: Floats, budget: int) -> list[int]:
    """Items with a cost that can be part of a best choice.

    Of each cost these are only as many as fit, the heaviest.
    """
    by_cost: dict[int, list[int]] = {}
    for item in np.argsort(-gains, kind="stable").tolist():
        cost = costs[item]
        if cost and gains[item] > 0 and len(by_cost.setdefault(cost, [])) < budget // cost:
            by_cost[cost].append(item)
    return [item for items in by_cost.values() for item in items]
