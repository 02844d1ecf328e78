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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from divulge.dossier.adversary import Operator
from divulge.dossier.measure import Measure
from divulge.dossier.record import Attribute, Database, Record
from divulge.dossier.resolve import free_name, name_of, with_ids
from divulge.errors import BadInput, nearest

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


@dataclass(frozen=True)
class Disinformation:
    """A choice of records, the leakage it leads to, and how good it can be at best."""

    before: float
    leakage: float
    """Leakage of the database with the chosen records, after the adversary's analysis."""
    chosen: tuple[CandidateRecord, ...]
    budget: float
    method: str
    lower_bound: float
    """No affordable choice of this kind leads to less."""
    examined: int
    """How many choices were measured."""

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
        """Whether nothing better can exist."""
        return self.gap <= EQUAL


def candidates_of(
    records: Iterable[Record], *, costs: Mapping[str, float] | None = None
) -> tuple[CandidateRecord, ...]:
    """The records as candidates; one costs as much as it has attributes unless its id is among the costs."""
    given = dict(costs or {})
    found = [
        CandidateRecord(name_of(record), record, given.pop(name_of(record), len(record)))
        for record in with_ids(tuple(records))
    ]
    if given:
        known = [candidate.name for candidate in found]
        raise BadInput(f"there is no candidate {next(iter(given))!r} to price", hint=nearest(next(iter(given)), known))
    return tuple(found)


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
    """The affordable candidates that leave the least leakage. `steps` limits the method `bounded`."""
    check_budget(budget)
    if method not in ("exact", "bounded", "greedy"):
        raise BadInput(f"there is no method {method!r}", hint="there are: exact, bounded, greedy")
    if method == "exact" and len(candidates) > MOST_EXACT:
        raise BadInput(
            f"exact search takes up to {MOST_EXACT} candidates, not {len(candidates)}",
            hint="use the method bounded, which reports its gap",
        )
    problem = _Problem(database, reference, candidates, operator=operator, measure=measure or Measure())
    if method == "greedy":
        return _greedy(problem, budget)
    return _branch_and_bound(problem, budget, steps=None if method == "exact" else steps)


def check_budget(budget: float) -> None:
    """Refuse a budget that is no amount."""
    if isinstance(budget, bool) or not 0 <= budget < math.inf:
        raise BadInput(f"the budget is {budget!r}", hint="a budget is a number of at least 0")


class _Problem:
    """The part of the database that can matter, and what a choice of candidates leads to."""

    def __init__(
        self,
        database: Sequence[Record],
        reference: Record,
        candidates: Sequence[CandidateRecord],
        *,
        operator: Operator,
        measure: Measure,
    ) -> None:
        self.candidates = tuple(candidates)
        self.examined = 0
        self._operator, self._measure, self._reference = operator, measure, reference
        given = with_ids(database)
        taken = {source for record in given for source in record.sources}
        self._decoys = tuple(
            Record(candidate.record.attributes, free_name(f"decoy {number}", taken))
            for number, candidate in enumerate(self.candidates, start=1)
        )
        self._bounded = operator.monotone and not measure.graded
        self._base = self._relevant(given) if self._bounded else given
        equivalence = measure.equivalence
        self._canonical = equivalence.canonical if equivalence else lambda attribute: attribute
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
        attributes = {a: c for a, c in now.attributes.items() if self._is_true(a)}
        attributes |= {a: c for a, c in widest.attributes.items() if not self._is_true(a)}
        return Record(attributes)

    def _is_true(self, attribute: Attribute) -> bool:
        return self._canonical(attribute) in self._true

    def _relevant(self, given: Database) -> Database:
        """Records that can ever be merged with something correct; the others leak nothing, whatever is released."""
        outcome = self._operator((*given, *self._decoys))
        leaks = self._measure.each(outcome, self._reference)
        telling = {source for record, leak in zip(outcome, leaks, strict=True) if leak > 0 for source in record.sources}
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
    chosen_candidates = tuple(problem.candidates[number] for number in plan)
    method = "exact" if steps is None else "bounded"
    return Disinformation(before, best, chosen_candidates, budget, method, lower, problem.examined)


def _greedy(problem: _Problem, budget: float) -> Disinformation:
    """Take the candidate with the largest gain per cost while there is one with a gain."""
    before = now = problem.measure(())
    chosen: list[int] = []
    left = budget
    while True:
        options = []
        for number, candidate in enumerate(problem.candidates):
            if number not in chosen and candidate.cost <= left + EQUAL:
                leakage = problem.measure([*chosen, number])
                if leakage < now - EQUAL:
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
