# SPDX-License-Identifier: Apache-2.0
"""Which disinformation to release: the best choice among given records under a budget (Whang and Garcia-Molina, 4.2).

The leakage of a database is a maximum, so single records often gain nothing and only pay together; greedy choice fails
there and is kept as a labelled baseline. The search is best-first branch and bound. Its bound rests on a monotone
adversary: more records only make merged records larger. So a record that leaks now keeps its correct attributes, and
gains at most the false ones it would gain if all affordable candidates were released. `exact` runs to the end; `bounded`
stops after a number of steps and says how far the result can be from the optimum.
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

from divulge import values
from divulge.arrays import Floats
from divulge.dossier.leakage import Measure
from divulge.dossier.operators import Operator, settings_of
from divulge.dossier.record import Attribute, Database, Record, highest
from divulge.dossier.resolve import MatchRule, all_sources, as_rule, free_name, merge_all, name_of, with_ids
from divulge.errors import BadInput, nearest
from divulge.results import Result

Search: TypeAlias = Literal["exact", "bounded", "greedy"]
MOST_EXACT = 20
"""Candidates up to which the search is run to the end."""
EQUAL = 1e-12
"""Leakages that differ by less are equal."""


@dataclass(frozen=True)
class CandidateRecord:
    """A record that could be released, and what it costs to create it."""

    name: str
    record: Record
    cost: float

    def __post_init__(self) -> None:
        if not 0 <= self.cost < math.inf:
            raise BadInput(f"the cost of {self.name!r} is {self.cost!r}", hint="a cost is a number of at least 0")


@dataclass(frozen=True, repr=False)
class Disinformation(Result):
    """A choice of records, the leakage it leads to, and how good it can be at best."""

    view = "dossier"

    before: float
    leakage: float
    """Leakage of the database with the chosen records, after the adversary's analysis."""
    chosen: tuple[CandidateRecord, ...]
    budget: float
    method: str
    lower_bound: float
    """Proved: no affordable choice leads to less. One of the candidates, where there are any; else any records at all."""
    examined: int
    """How many choices were measured."""
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def cost(self) -> float:
        """What the chosen records cost together."""
        return math.fsum(candidate.cost for candidate in self.chosen)

    @property
    def gap(self) -> float:
        """How far the leakage can be above the optimum at most."""
        return max(0.0, self.leakage - self.lower_bound)

    @property
    def optimal(self) -> bool:
        """Whether it is proved that nothing better exists; else it is the best that was found."""
        return self.gap <= EQUAL


@values.checked
def candidates_of(
    records: Iterable[Record], *, costs: Mapping[str, float] | None = None
) -> tuple[CandidateRecord, ...]:
    """The records as candidates for disinformation.

    Args:
        records: What could be released.
        costs: What a record costs, by its id; one without costs as much as it has attributes.

    Examples:
        >>> import divulge as dv
        >>> decoys = [dv.dossier.Record.of({"N": "Alice", "P": "999"}, id="decoy")]
        >>> [(each.name, each.cost) for each in dv.dossier.candidates_of(decoys)]
        [('decoy', 2)]
    """
    given = dict(costs or {})
    found = [
        CandidateRecord(name_of(record), record, given.pop(name_of(record), len(record)))
        for record in with_ids(tuple(records))
    ]
    if given:
        known = [candidate.name for candidate in found]
        raise BadInput(f"there is no candidate {next(iter(given))!r} to price", hint=nearest(next(iter(given)), known))
    return tuple(found)


@values.checked
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
    """The affordable candidates that leave the least leakage.

    Args:
        database: The records that are known.
        reference: What is true of the person.
        candidates: What could be released, with its cost; `candidates_of` makes them of records.
        budget: The most that the chosen ones may cost together.
        operator: What the adversary does, as in `attack`.
        measure: How leakage is measured; by default as `leakage` does.
        method: "exact" (up to 20 candidates), "bounded", which stops early and reports its gap, or "greedy".
        steps: After how many steps the method "bounded" stops.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "P": "123"})
        >>> offered = dv.dossier.candidates_of([dv.dossier.Record.of({"N": "Alice", "P": "999"}, id="decoy")])
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
    problem = _Problem(with_ids(database), reference, candidates, by=operator, measure=measure)
    settings = {**measure.settings, **settings_of(operator), **({"steps": steps} if method == "bounded" else {})}
    if method == "greedy":
        return replace(_greedy(problem, budget), settings=settings)
    found = _branch_and_bound(problem, budget, steps=None if method == "exact" else steps)
    return replace(found, settings=settings)


def check_budget(budget: float) -> None:
    """Refuse a budget that is no amount."""
    if isinstance(budget, bool) or not 0 <= budget < math.inf:
        raise BadInput(f"the budget is {budget!r}", hint="a budget is a number of at least 0")


class _Problem:
    """The part of the database that can matter, and what a choice of candidates leads to."""

    def __init__(
        self, given: Database, reference: Record, offered: Sequence[CandidateRecord], *, by: Operator, measure: Measure
    ) -> None:
        self.candidates = tuple(offered)
        self.examined = 0
        self._operator, self._measure, self._reference = by, measure, reference
        taken = all_sources(given)
        self._decoys = tuple(
            Record(candidate.record.attributes, free_name(f"decoy {number}", taken))
            for number, candidate in enumerate(self.candidates, start=1)
        )
        self._bounded = by.monotone and not measure.graded and not measure.joint
        self._base = self._relevant(given) if self._bounded else given
        self._canonical = measure.equivalence.canonical if measure.equivalence else lambda attribute: attribute
        self._true = {self._canonical(attribute) for attribute in reference.attributes}

    def measure(self, chosen: Iterable[int]) -> float:
        """The leakage with these candidates released."""
        self.examined += 1
        return self._measure.most(self._outcome(chosen), self._reference).leakage

    def bound(self, chosen: Sequence[int], open_: Iterable[int]) -> float:
        """At most the least leakage of any choice that contains `chosen` and else only `open_`."""
        if not self._bounded:
            return 0.0
        widest = {source: record for record in self._outcome([*chosen, *open_]) for source in record.sources}
        best = [self._best_case(record, widest[next(iter(record.sources))]) for record in self._outcome(chosen)]
        return float(self._measure.each(best, self._reference).max(initial=0.0))

    def _outcome(self, chosen: Iterable[int]) -> Database:
        return self._operator((*self._base, *(self._decoys[number] for number in chosen)))

    def _best_case(self, now: Record, widest: Record) -> Record:
        """What is correct now, with all the false attributes the record can ever gain."""
        correct = now.kept(lambda attribute: self._canonical(attribute) in self._true)
        false = widest.kept(lambda attribute: self._canonical(attribute) not in self._true)
        return correct.merge(false)

    def _relevant(self, given: Database) -> Database:
        """Records that can ever be merged with something correct; the others leak nothing, whatever is released."""
        outcome = self._operator((*given, *self._decoys))
        leaks = self._measure.each(outcome, self._reference)
        telling = all_sources(record for record, leak in zip(outcome, leaks, strict=True) if leak > 0)
        return tuple(record for record in given if record.sources & telling)


def _branch_and_bound(problem: _Problem, budget: float, *, steps: int | None) -> Disinformation:
    costs = [candidate.cost for candidate in problem.candidates]
    before = best = problem.measure(())
    plan: tuple[int, ...] = ()

    def affordable(chosen: tuple[int, ...], start: int) -> list[int]:
        left = budget - math.fsum(costs[number] for number in chosen)
        return [number for number in range(start, len(costs)) if costs[number] <= left + EQUAL]

    heap = [(problem.bound((), affordable((), 0)), 0, plan, 0)]
    while heap and heap[0][0] < best - EQUAL and (steps is None or problem.examined < steps):
        floor, _, chosen, start = heapq.heappop(heap)
        open_ = affordable(chosen, start)
        if not open_:
            continue
        taken = (*chosen, open_[0])
        leakage = problem.measure(taken)
        if leakage < best - EQUAL:
            best, plan = leakage, taken
        for branch in (taken, chosen):
            rest = affordable(branch, open_[0] + 1)
            if rest and (bound := max(floor, problem.bound(branch, rest))) < best - EQUAL:
                heapq.heappush(heap, (bound, -len(branch), branch, open_[0] + 1))
    lower = min(best, heap[0][0]) if heap else best
    records = tuple(problem.candidates[number] for number in plan)
    method = "exact" if steps is None else "bounded"
    return Disinformation(before, best, records, budget, method, lower, problem.examined)


def _greedy(problem: _Problem, budget: float) -> Disinformation:
    """Take the candidate with the largest gain per cost while there is one with a gain."""
    before = now = problem.measure(())
    chosen: list[int] = []
    left = budget
    while True:
        options = []
        for number, candidate in enumerate(problem.candidates):
            affordable = number not in chosen and candidate.cost <= left + EQUAL
            if affordable and (leakage := problem.measure([*chosen, number])) < now - EQUAL:
                ratio = (now - leakage) / candidate.cost if candidate.cost else math.inf
                options.append((-ratio, number, leakage))
        if not options:
            break
        _, number, now = min(options)
        chosen.append(number)
        left -= problem.candidates[number].cost
    floor = problem.bound((), [n for n, each in enumerate(problem.candidates) if each.cost <= budget + EQUAL])
    plan = tuple(problem.candidates[number] for number in chosen)
    return Disinformation(before, now, plan, budget, "greedy", min(now, floor), problem.examined)


# --- Create and Add ---------------------------------------------------------------------------------------------------
# Create gives the smallest record that matches every record of a set: one key of each, shared attributes once. It is a small
# set-cover problem. Add appends an attribute that is false and belongs to nobody.
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
    attributes = _smallest_union(choices) if choices and all(choices) else frozenset()
    if limit is not None and len(attributes) > limit:
        return Record({})
    return Record(highest((a, record.attributes.get(a, 0.0)) for a in sorted(attributes) for record in records))


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


# --- lower bound by knapsacks -----------------------------------------------------------------------------------------
# A record that leaks keeps its correct attributes, so its leakage depends on how much false weight the budget can attach to it. Released
# records that end in one merged record are one record, for no more. To contain a cluster it needs the attributes of a match key; those
# that no other cluster has are the cluster's own, and bring what the cluster was not sure of. Each attribute beyond them brings at
# most the largest weight there is, whether invented, copied or confirmed. Overlaps of strangers are ignored and uncertain false weight
# counts with its mean. Both err on the safe side, since leakage falls with the false weight and is convex in it (Jensen): the bound
# holds for all releases, not only for those of the planner's form.
_MOST_PAIRS = 500


@dataclass(frozen=True)
class Cluster:
    """A record after entity resolution, with what matters for disinformation."""

    record: Record
    leakage: float
    private: int | None
    """How many attributes a linking record must have for this cluster alone; None if nothing can link it."""
    key: int
    """How many attributes its smallest match key has."""
    confirmed: float
    """The most false weight that so many attributes of its own can bring by being released as certain."""


@dataclass(frozen=True)
class Setting:
    """What is known about the records, the person and the adversary."""

    reference: Record
    rule: MatchRule
    measure: Measure
    added_weight: float
    """The weight of one invented attribute."""
    clusters: tuple[Cluster, ...] = ()
    largest_weight: float = 0.0
    """The most that any released attribute weighs: an invented one, or a copy of one that is there."""

    def weight(self, attribute: Attribute) -> float:
        """What the attribute weighs if it is false; 0 if it is true."""
        return 0.0 if attribute in self.reference.attributes else (self.measure.weights or {}).get(attribute.label, 1.0)

    def false_weight(self, record: Record, *, beyond: Record | None = None) -> float:
        """Expected weight of what the record says wrongly, in addition to what another says already."""
        known = beyond.attributes if beyond else {}
        return sum(
            max(0.0, confidence - known.get(attribute, 0.0)) * self.weight(attribute)
            for attribute, confidence in record.attributes.items()
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


def describe(setting: Setting, records: Sequence[Record], budget: int | None) -> Setting:
    """The setting with the clusters; for a budget, those that leak and the best strangers of each cost."""
    holders = Counter(attribute for record in records for attribute in record.attributes)
    clusters = []
    for record, leak in zip(records, setting.measure.each(records, setting.reference), strict=True):
        keys = list(islice(setting.rule.keys(record), _MOST_KEYS))
        private = min((sum(holders[part] == 1 for part in key) for key in keys), default=None)
        private = 0 if len(keys) == _MOST_KEYS else private  # those not looked at may need none
        doubts = ((1 - c) * setting.weight(a) for a, c in record.attributes.items() if holders[a] == 1)
        confirmed = sum(sorted(doubts, reverse=True)[: private or 0])
        clusters.append(Cluster(record, float(leak), private, min(map(len, keys), default=0), confirmed))
    largest = max(map(setting.weight, holders), default=0.0)
    setting = replace(setting, clusters=tuple(clusters), largest_weight=max(setting.added_weight, largest))
    return setting if budget is None else replace(setting, clusters=_reduced(setting, budget))


def lower_bound(setting: Setting, budget: int) -> float:
    """No release within the budget leads to less leakage than this."""
    telling = [place for place, cluster in enumerate(setting.clusters) if cluster.leakage > 0]
    leaks = [setting.clusters[place].leakage for place in telling]
    apart, _, falls = bring_down(leaks, lambda number: _fall(setting, (telling[number],), budget), budget)
    alone = max([_untouched(setting, telling, budget), *(float(found[-1]) for found in falls.values())], default=0.0)
    if apart <= alone + EQUAL:
        return alone
    pairs = list(islice(combinations(telling, 2), _MOST_PAIRS + 1))
    if len(pairs) > _MOST_PAIRS:
        return min(apart, alone)
    # the least leakage of any plan that puts two telling clusters together, for those that can be
    costs = [math.inf if cluster.private is None else cluster.private for cluster in setting.clusters]
    joint = [float(_fall(setting, (a, b), budget)[-1]) for a, b in pairs if costs[a] + costs[b] <= budget]
    return min(apart, max(alone, min(joint, default=math.inf)))


def bring_down(
    leaks: Sequence[float], fall: Callable[[int], Floats], budget: int
) -> tuple[float, dict[int, int], dict[int, Floats]]:
    """The smallest leakage to which all records can be brought with the budget shared, what to spend on each, the falls.

    `fall(number)[s]` is the leakage of a record after spending s on it; it is asked for only where it matters.
    """
    falls: dict[int, Floats] = {}
    target, spent = 0.0, dict[int, int]()
    for number in sorted(range(len(leaks)), key=lambda number: -leaks[number]):
        if leaks[number] <= target + EQUAL:
            break
        falls[number] = fall(number)
        target, spent = _share(falls, budget)
    return target, spent, falls


def most_weight(costs: Sequence[int], gains: Floats, budget: int) -> tuple[Floats, list[list[int]]]:
    """The 0/1 knapsack: for each budget up to this one, the most weight a choice of items brings, and that choice."""
    free = [item for item, cost in enumerate(costs) if cost == 0 and gains[item] > 0]
    best = np.full(budget + 1, float(gains[free].sum()))
    taken: list[list[int]] = [free] * len(best)
    for item in _worthwhile(costs, gains, budget):
        cost = costs[item]
        improved = best[: budget + 1 - cost] + gains[item]
        better = np.flatnonzero(improved > best[cost:] + EQUAL)
        chosen = [[*taken[at], item] for at in better]
        best[better + cost] = improved[better]
        for at, choice in zip(better + cost, chosen, strict=True):
            taken[at] = choice
    return best, taken


def with_additions(brought: Floats, weight: float) -> tuple[Floats, Floats]:
    """The most false weight per budget when what is left buys invented attributes, and the part spent on strangers."""
    place = np.arange(len(brought), dtype=float)
    ahead = np.maximum.accumulate(brought - place * weight)
    return ahead + place * weight, np.searchsorted(ahead, ahead - EQUAL).astype(float)


def _fall(setting: Setting, places: Sequence[int], budget: int) -> Floats:
    """The least leakage of a record that contains these clusters, for each amount spent on it from 0 to the budget."""
    inside = [setting.clusters[place] for place in places]
    merged = merge_all([cluster.record for cluster in inside])
    correct = merged.kept(setting.reference.attributes.__contains__)
    extra = np.zeros(budget + 1)
    start = sum(cluster.private or 0 for cluster in inside)
    if start <= budget and all(cluster.private is not None for cluster in inside):
        gains = setting.gains(merged) + [cluster.confirmed for cluster in setting.clusters]
        others = [n for n, each in enumerate(setting.clusters) if each.private is not None and n not in places]
        brought, _ = most_weight([setting.clusters[n].private or 0 for n in others], gains[others], budget)
        most = with_additions(brought, setting.largest_weight)[0] + sum(cluster.confirmed for cluster in inside)
        extra[start:] = most[: budget + 1 - start]
    distinct, where = np.unique(extra, return_inverse=True)
    return setting.leakages(correct, setting.false_weight(merged) + distinct)[where]


def _untouched(setting: Setting, telling: Iterable[int], budget: int) -> float:
    """A plan can touch only so many telling clusters; the largest leakage of the others stays."""
    leaks = sorted((setting.clusters[place].leakage for place in telling), reverse=True)
    costs = sorted(cost for place in telling if (cost := setting.clusters[place].private) is not None)
    touched = int(np.searchsorted(np.cumsum(costs), budget, side="right"))
    return leaks[touched] if touched < len(leaks) else 0.0


def _reduced(setting: Setting, budget: int) -> tuple[Cluster, ...]:
    """Without strangers that others beat: of one cost and nothing in common with telling clusters, the heaviest do."""
    touched = {a for cluster in setting.clusters if cluster.leakage > 0 for a in cluster.record.attributes}
    kept: set[int] = set()
    counts: Counter[tuple[str, int]] = Counter()
    brings = setting.false_weights + [cluster.confirmed for cluster in setting.clusters]
    for place in sorted(range(len(setting.clusters)), key=lambda place: -brings[place]):
        cluster = setting.clusters[place]
        if cluster.leakage > 0 or not touched.isdisjoint(cluster.record.attributes):
            kept.add(place)
        elif cluster.private is not None:
            for kind, size in (("private", cluster.private), ("key", cluster.key)):
                if size == 0 or counts[kind, size] < budget // size:
                    kept.add(place)
                    counts[kind, size] += 1
    near = {a for place in kept for a in setting.clusters[place].record.attributes}
    everything = enumerate(setting.clusters)
    return tuple(each for place, each in everything if place in kept or not near.isdisjoint(each.record.attributes))


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
    reached = {number: np.flatnonzero(fall <= target + EQUAL) for number, fall in falls.items()}
    return {number: int(at[0]) for number, at in reached.items()} if all(map(len, reached.values())) else None


def _worthwhile(costs: Sequence[int], gains: Floats, budget: int) -> list[int]:
    """Items with a cost that can be part of a best choice: of each cost only as many as fit, the heaviest."""
    by_cost: dict[int, list[int]] = {}
    for item in np.argsort(-gains, kind="stable").tolist():
        cost = costs[item]
        if cost and gains[item] > 0 and len(by_cost.setdefault(cost, [])) < budget // cost:
            by_cost[cost].append(item)
    return [item for items in by_cost.values() for item in items]
