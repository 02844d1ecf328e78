# SPDX-License-Identifier: Apache-2.0
"""Utility cost of each requirement: the loss it causes, the columns it limits, and remedies.

All answers come from the search itself, on the existing counts. A requirement limits a column if
the best release without that requirement keeps the column finer. A relaxed bound saves a fully
suppressed column if the best release under that bound keeps more than one label of the column. The
nearest such bound is found in two steps:

- Find the nearest bound at which some solution that saves the column beats the best one that does
  not. This is a bisection down to numbers that occur.
- Check whether the best release under that bound saves the column. If another one that does not is
  now better, repeat from there.

The amount of work is limited by counts of nodes and classes, never by a clock, so the same release
gets the same answers. Answers that were cut short are marked as not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge import metrics
from divulge.arguments import Sentence, marked, outside
from divulge.errors import DivulgeError, InternalError
from divulge.generalization.constraints import Candidate, NodeChecker, all_published
from divulge.generalization.exact_search import LARGEST_LAID_OUT, exhaust
from divulge.generalization.infeasibility import rounded_outwards
from divulge.generalization.large_lattice_search import explore
from divulge.generalization.lattice import Node
from divulge.generalization.mondrian import BoxProblem
from divulge.generalization.objectives import displayed_value, find_objective
from divulge.generalization.plan import Plan
from divulge.generalization.pruning_rules import Rule
from divulge.generalization.search_state import TIE, SearchProblem, SearchState
from divulge.metrics import Identity
from divulge.policy import Promise
from divulge.results import Result

SHARES = (0.005, 0.01, 0.02, 0.05)
"""Suppression limits for which the best release is reported."""
_RUINOUS_LOSS = 0.5
_WORK = 100_000_000
"""Maximum number of raw classes merged in total, node by node: some seconds."""
_FEWEST_NODES = 1000
_MOST_PROBES = 40
_MOST_ROUNDS = 20
_RELATIVE_TOLERANCE = 1e-6
"""Bounds with a smaller relative difference are treated as equal."""


@dataclass(frozen=True)
class Alternative:
    """The best release under other conditions."""

    value: float
    """Value of the objective."""
    saves: float
    """Improvement over the release.

    Below 0 for boxes that are worse, or if suppressing other people violates an average.
    """
    levels: Mapping[str, int]
    suppressed: int
    classes: int
    exact: bool
    """Proved to be the best; False if the search was cut short, or for boxes."""


@dataclass(frozen=True)
class RequirementCost:
    """Utility cost of one requirement."""

    promise: str
    without: Alternative
    """The best release that meets all other requirements."""
    alone: Alternative
    """The best release that meets only this requirement."""
    binds: tuple[str, ...]
    """Columns that are finer without this requirement."""


@dataclass(frozen=True)
class RelaxedBound:
    """The nearest bound of a requirement that saves a fully suppressed column.

    The best release under this bound keeps more than one label of the column.
    """

    promise: str
    """Text of the requirement with the new bound."""
    of: str
    """Text of the original requirement."""
    bound: float
    instead_of: float
    at: Alternative
    proved: bool
    """Proved that no nearer bound (in four digits) is sufficient; False: none was found."""
    given_up: bool
    """The original table meets this bound although it has a unique person or a certain value.

    Such a bound amounts to giving up the requirement.
    """


@dataclass(frozen=True)
class ColumnPrice:
    """Generalization of one column, and changes that would keep it finer."""

    column: str
    level: int | None
    """Level of the column; None for boxes."""
    height: int | None
    wiped_out: bool
    """True if all its values have one label."""
    bound_by: tuple[str, ...]
    """Requirements that limit it: without any one of them the column is finer."""
    gentler: tuple[RelaxedBound, ...]
    """Relaxed bounds that would save a fully suppressed column, one requirement at a time."""


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """Utility cost of each requirement, limits of each column, and possible improvements."""

    view = "utility"

    method: str
    objective: str
    value: float
    loss: float
    """Information loss from 0 (original table) to 1 (nothing published), for any objective."""
    promises: tuple[RequirementCost, ...]
    columns: tuple[ColumnPrice, ...]
    suppression: Mapping[float, Alternative]
    """The best release with more suppression, by suppression limit."""
    boxes: Alternative | None
    """The release of Mondrian, measured in `loss`.

    None if it cannot meet the requirements, or if the release has boxes already.
    """
    cut_short: bool = False
    """The search reached its node limit, so remedies for a column may be missing."""
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All settings on which the numbers depend."""

    @property
    def wiped_out(self) -> tuple[str, ...]:
        """Columns whose values all have one label."""
        return tuple(item.column for item in self.columns if item.wiped_out)

    @property
    def exact(self) -> bool:
        """True if every answer about full-domain levels is proved."""
        alternatives = [
            alternative for price in self.promises for alternative in (price.without, price.alone)
        ]
        alternatives += self.suppression.values()
        proved = [bound.proved for column in self.columns for bound in column.gentler]
        return (
            not self.cut_short
            and all(proved)
            and all(alternative.exact for alternative in alternatives)
        )


Progress = Callable[[int, int], None]


def explain(
    plan: Plan,
    *,
    boxes: Callable[[], Plan],
    settings: Mapping[str, Any],
    frame: str,
    progress: Progress | None = None,
) -> Explanation:
    """Explain a plan by further searches of its problem.

    `boxes` returns the plan of Mondrian.
    """
    if isinstance(plan.problem, BoxProblem):
        explanation = _explain_boxes(plan, plan.problem, progress)
    elif isinstance(plan.problem, SearchProblem):
        explanation = _Explainer.of(plan, plan.problem, progress).explain(boxes)
    else:
        raise InternalError("nobody knows which problem the plan solves")
    return replace(explanation, settings={**settings, **plan.settings, "work": _WORK}, frame=frame)


@dataclass(frozen=True)
class SevereLoss:
    """Severe losses of a release."""

    columns: tuple[str, ...]
    """Columns whose values all have one label."""
    loss: float
    """Information loss from 0 (original table) to 1 (nothing published)."""


def severe_loss(plan: Plan) -> SevereLoss | None:
    """Return the severe losses of a plan that meets every requirement but is of little use.

    None if no column is fully suppressed and at most half of the information is lost.
    """
    columns = _fully_suppressed_columns(plan)
    loss = _loss_of(plan)
    if columns or loss > _RUINOUS_LOSS:
        return SevereLoss(columns, loss)
    return None


def _fully_suppressed_columns(plan: Plan) -> tuple[str, ...]:
    if plan.problem is None:
        return ()
    values = (len(key) for key in plan.problem.checker.rollup.contingency.own_keys)
    labels = (len(labels) for labels in plan.recoding.labels)
    columns = zip(plan.recoding.columns, labels, values, strict=True)
    return tuple(name for name, after, before in columns if after == 1 < before)


def _loss_of(plan: Plan) -> float:
    """Information loss of the plan, for any objective."""
    problem = plan.problem
    if plan.objective == "loss" or not isinstance(problem, SearchProblem):
        return plan.value
    return find_objective(problem.rollup, "loss").cost(problem.checker.check(_node(plan)))


def _node(plan: Plan) -> Node:
    return tuple(plan.levels.values())


@dataclass(frozen=True, eq=False)
class _Requirement:
    """One requirement of the policy, with one rule for each attribute that it is about."""

    rules: tuple[Rule, ...]

    @property
    def text(self) -> str:
        first = self.rules[0]
        if len(self.rules) == 1:
            return first.text
        if first.only is not None:
            return Sentence(f"{marked(first.promise.text)} for {outside(first.who)}")
        return first.promise.text

    @property
    def bound(self) -> float:
        return self.rules[0].promise.bound

    @property
    def sign(self) -> float:
        """Factor for a bound so that a higher product is less strict."""
        if self.rules[0].metric.worse == "high":
            return 1.0
        return -1.0

    def at(self, bound: float) -> _Requirement:
        return _Requirement(
            tuple(replace(rule, promise=replace(rule.promise, bound=bound)) for rule in self.rules)
        )

    def without(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if rule not in self.rules)

    def among(self, rules: Sequence[Rule], bound: float) -> tuple[Rule, ...]:
        """All rules, with another bound for the rules of this requirement."""
        moved = dict(zip(self.rules, self.at(bound).rules, strict=True))
        return tuple(moved.get(rule, rule) for rule in rules)


def _requirements(checker: NodeChecker) -> tuple[_Requirement, ...]:
    rules_by_demand: dict[tuple[Promise, str, bool], list[Rule]] = {}
    for rule in checker.rules:
        is_whole_column = (
            rule.attribute is None or rule.attribute in checker.rollup.contingency.cells
        )  # otherwise it is about protected values
        rules_by_demand.setdefault((rule.promise, rule.who, is_whole_column), []).append(rule)
    return tuple(_Requirement(tuple(rules)) for rules in rules_by_demand.values())


def _with_rules(checker: NodeChecker, rules: Sequence[Rule]) -> NodeChecker:
    """Return the checker with other rules; without any, with one that every class meets."""
    size = next(
        metric for metric in metrics.IDENTITY if metric.absorbing and not metric.needs_population
    )
    return replace(checker, rules=tuple(rules) or (Rule(Promise(size, 0.0), None),))


@dataclass(eq=False)
class _Explainer:
    """Searches on one problem, and the number of nodes that may still be checked."""

    problem: SearchProblem
    plan: Plan
    best: Candidate
    cost: float
    nodes_left: int
    """Number of nodes that may still be checked."""
    progress: Progress | None = None
    searches_done: int = 0
    total: int = 0

    @classmethod
    def of(cls, plan: Plan, problem: SearchProblem, progress: Progress | None) -> _Explainer:
        best = problem.checker.check(_node(plan))
        nodes = max(_WORK // max(len(problem.rollup.contingency), 1), _FEWEST_NODES)
        return cls(problem, plan, best, problem.objective.cost(best), nodes, progress)

    def explain(self, boxes: Callable[[], Plan]) -> Explanation:
        checker = self.problem.checker
        requirements = _requirements(self.problem.checker)
        self.total = 2 * len(requirements) + len(SHARES) + 1
        prices = tuple(self._price(demand) for demand in requirements)
        larger_shares = [share for share in SHARES if share > checker.suppression]
        suppression = {
            share: self._alternative(self._solve(replace(checker, suppression=share)))
            for share in larger_shares
        }
        loss = _loss_of(self.plan)
        by_boxes = self._boxes(boxes, loss)
        columns = tuple(self._columns(prices, requirements))
        cut_short = self.nodes_left <= 0
        note = (
            "too much was asked of a large table: answers marked so are not proved, and gentler "
            "bounds may be missing"
        )
        return Explanation(
            self.plan.method,
            self.plan.objective,
            self.plan.value,
            loss,
            prices,
            columns,
            suppression,
            by_boxes,
            cut_short,
            (note,) if cut_short else (),
        )

    def _report_progress(self) -> None:
        self.searches_done += 1
        if self.progress is not None:
            self.progress(min(self.searches_done, self.total), self.total)

    def _solve(self, checker: NodeChecker) -> tuple[SearchState, bool]:
        """Return the best solution under relaxed conditions, and whether it is proved."""
        self._report_progress()
        state = SearchState(
            replace(self.problem, checker=checker), most_nodes=max(self.nodes_left, 1)
        )
        candidate = checker.check(self.best.node)
        if candidate.feasible:
            state.best, state.cost, state.ties = (
                candidate,
                self.problem.objective.cost(candidate),
                [candidate.node],
            )
        proved = self._run(state)
        if (
            state.best is None
        ):  # suppressing other people violates an average; the release itself is still feasible
            state.best, state.cost = self.best, self.cost
        return state, proved

    def _run(self, state: SearchState) -> bool:
        if state.problem.region.size <= LARGEST_LAID_OUT:
            lowest = exhaust(state)
        else:
            lowest = explore(state)
        self.nodes_left -= state.checked
        return state.best is not None and lowest >= state.cost - state.slack

    def _alternative(self, search_outcome: tuple[SearchState, bool]) -> Alternative:
        state, proved = search_outcome
        best = _best_of(state)
        saves = self.cost - state.cost
        return Alternative(
            displayed_value(self.problem.objective, state.cost),
            saves if abs(saves) > TIE * max(1.0, abs(self.cost)) else 0.0,
            self.problem.rollup.lattice.levels_by_column(best.node),
            best.suppressed,
            best.published_classes,
            proved,
        )

    def _price(self, demand: _Requirement) -> RequirementCost:
        checker = self.problem.checker
        without = self._alternative(
            self._solve(_with_rules(checker, demand.without(checker.rules)))
        )
        only_this = self._alternative(self._solve(_with_rules(checker, demand.rules)))
        finer = [name for name, level in self.plan.levels.items() if without.levels[name] < level]
        return RequirementCost(demand.text, without, only_this, tuple(finer))

    def _boxes(self, boxes: Callable[[], Plan], loss: float) -> Alternative | None:
        self._report_progress()
        if len(self.problem.rollup.contingency) * len(self.plan.levels) > _WORK // 100:
            return None
        try:
            plan = boxes()
        except DivulgeError:
            return None
        return Alternative(plan.value, loss - plan.value, {}, 0, plan.classes, exact=False)

    def _columns(
        self, prices: Sequence[RequirementCost], requirements: Sequence[_Requirement]
    ) -> Iterator[ColumnPrice]:
        suppressed_columns = _fully_suppressed_columns(self.plan)
        for position, (column_levels, level) in enumerate(
            zip(self.problem.rollup.lattice.columns, self.best.node, strict=True)
        ):
            is_suppressed = column_levels.column in suppressed_columns
            bounds = (
                self._gentler(demand, position)
                for demand in (requirements if is_suppressed else ())
                if self.nodes_left > 0
            )
            gentler_bounds = tuple(bound for bound in bounds if bound is not None)
            binding = tuple(
                price.promise for price in prices if column_levels.column in price.binds
            )
            yield ColumnPrice(
                column_levels.column,
                level,
                column_levels.height,
                is_suppressed,
                binding,
                gentler_bounds,
            )

    # --- the nearest gentler bound
    def _gentler(self, demand: _Requirement, column_index: int) -> RelaxedBound | None:
        """Return the nearest relaxed bound of one requirement that saves one column."""
        checker = self.problem.checker
        column_levels = self.problem.rollup.lattice.columns[column_index]
        informative_levels = sum(len(level.labels) > 1 for level in column_levels.levels)
        ceiling = tuple(
            informative_levels - 1 if i == column_index else high
            for i, high in enumerate(self.problem.rollup.lattice.top)
        )
        bound = demand.bound
        rival = self.best
        cost = self.cost
        proved = self._bounds_are_ordered
        for _ in range(_MOST_ROUNDS):
            nearest = self._nearest(demand, bound, ceiling, rival, cost)
            if nearest is None:
                return None
            value, is_proved = nearest
            proved = proved and is_proved
            for bound in dict.fromkeys(
                (_rounded_bound(demand, value), _sufficient_bound(demand, value))
            ):
                state, is_proved = self._solve(
                    _with_rules(checker, demand.among(checker.rules, bound))
                )
                rival = _best_of(state)
                cost = state.cost
                if rival.node[column_index] < informative_levels:
                    at = self._alternative((state, is_proved))
                    new, is_proved = demand.at(bound), proved and is_proved
                    given_up = self._is_given_up(new)
                    return RelaxedBound(
                        new.text, demand.text, bound, demand.bound, at, is_proved, given_up
                    )
            if self.nodes_left <= 0:
                return None
        return None

    def _is_given_up(self, demand: _Requirement) -> bool:
        """True if the original table meets a requirement although it reveals a person."""
        checker = self.problem.checker
        raw = all_published(checker.rollup.classes((0,) * len(self.best.node)))
        if not demand.rules[0].metric.holds(_worst_value(checker, demand, raw), demand.bound):
            return False
        views = (
            checker.view(rule.attribute, raw.classes, raw.published_mask)[0]
            for rule in demand.rules
        )
        smallest_counts = (
            view.sizes if isinstance(view, Identity) else np.diff(view.cells.start)
            for view in views
        )
        return any(len(counts) and counts.min() <= 1 for counts in smallest_counts)

    @property
    def _bounds_are_ordered(self) -> bool:
        """True if a node that meets a bound meets every less strict one.

        That is not so if suppressing classes changes the values of the others.
        """
        return self.problem.checker.limit == 0 or not self.problem.checker.looks_at_the_table

    def _nearest(
        self, demand: _Requirement, bound: float, ceiling: Node, rival: Candidate, cost: float
    ) -> tuple[float, bool] | None:
        """The value nearest to a bound that a better solution below the ceiling has.

        Also returns whether it is proved to be the nearest.
        """
        checker = self.problem.checker
        sign = demand.sign

        def better(rules: Sequence[Rule]) -> tuple[float | None, bool]:
            """Return the value of a solution that beats the rival, and whether that is proved.

            The value is None if there is no such solution.
            """
            problem = replace(self.problem, checker=_with_rules(checker, rules), ceiling=ceiling)
            state = SearchState(
                problem,
                most_nodes=max(self.nodes_left, 1),
                rival=rival,
                best=rival,
                cost=cost,
                ties=[rival.node],
            )
            proved = self._run(state)
            best = _best_of(state)
            if best is rival:
                return (None, proved)
            return (_worst_value(problem.checker, demand, best), True)

        high, _ = better(demand.without(checker.rules))
        if high is not None and not np.isfinite(high):
            high, _ = better(demand.among(checker.rules, 1e12))
        if high is None:
            return None
        low = bound
        for _ in range(_MOST_PROBES):
            tighter = high - sign * max(_RELATIVE_TOLERANCE * abs(high), 4 * metrics.TOLERANCE)
            if sign * (tighter - low) <= 0:
                return high, True
            value, is_proved = better(
                demand.among(checker.rules, _sufficient_bound(demand, tighter))
            )
            if value is None:
                return high, is_proved
            high = _nearer(sign, value, tighter)
            middle = (low + high) / 2
            value, is_proved = better(
                demand.among(checker.rules, _sufficient_bound(demand, middle))
            )
            if value is None and not is_proved:
                return high, False
            if value is None:
                low = middle
            else:
                high = _nearer(sign, value, middle)
        return high, False


def _best_of(state: SearchState) -> Candidate:
    """The best solution of a search that began with one."""
    if state.best is None:
        raise InternalError("a search lost the solution that it began with")
    return state.best


def _nearer(sign: float, reached: float, tried: float) -> float:
    """Value of a solution that meets the tried bound; never less strict than that bound."""
    if np.isfinite(reached) and sign * reached <= sign * tried:
        return reached
    return tried


def _worst_value(checker: NodeChecker, demand: _Requirement, candidate: Candidate) -> float:
    """Value of a requirement in a candidate.

    With this as its bound, the candidate is a solution.
    """
    reached = []
    for rule in demand.rules:
        view, members = checker.view(rule.attribute, candidate.classes, candidate.published_mask)
        if not len(members):
            continue
        if rule.looks_at == "table":
            reached.append(rule.value(view))
            continue
        values = rule.values(view)[checker.subject(rule, candidate.classes, members)]
        if len(values):
            reached += [float((values * demand.sign).max()) * demand.sign]
    if reached:
        return max(reached, key=lambda value: value * demand.sign)
    return demand.sign * np.inf


def _sufficient_bound(demand: _Requirement, value: float) -> float:
    """Return a bound that this value meets."""
    strict = demand.rules[0].metric.strict
    if strict:
        return value + max(_RELATIVE_TOLERANCE * abs(value) / 2, 2 * metrics.TOLERANCE)
    return max(value, 0.0)


def _rounded_bound(demand: _Requirement, value: float) -> float:
    """Return a bound in four digits that this value meets."""
    metric = demand.rules[0].metric
    return rounded_outwards(value, up=metric.worse == "high", strict=metric.strict)


# --- boxes ----------------------------------------------------------------------------------------
def _explain_boxes(plan: Plan, problem: BoxProblem, progress: Progress | None) -> Explanation:
    """Repeat the cutting without each requirement.

    A greedy cut proves nothing, so no answer is exact.
    """
    checker = problem.checker
    requirements = _requirements(problem.checker)
    prices = []

    def cut(rules: Sequence[Rule]) -> Alternative:
        cut_plan = replace(problem, checker=_with_rules(checker, rules)).solve()
        return Alternative(
            cut_plan.value, plan.value - cut_plan.value, {}, 0, cut_plan.classes, exact=False
        )

    for number, demand in enumerate(requirements):
        prices.append(
            RequirementCost(demand.text, cut(demand.without(checker.rules)), cut(demand.rules), ())
        )
        if progress is not None:
            progress(number + 1, len(requirements))
    suppressed_columns = _fully_suppressed_columns(plan)
    columns = tuple(
        ColumnPrice(name, None, None, name in suppressed_columns, (), ())
        for name in plan.recoding.columns
    )
    note = (
        "boxes are cut greedily: without a promise other cuts come first, so that a price may even "
        "be below 0"
    )
    return Explanation(
        "mondrian",
        plan.objective,
        plan.value,
        plan.value,
        tuple(prices),
        columns,
        {},
        None,
        notes=(note,),
    )
