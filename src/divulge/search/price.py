# SPDX-License-Identifier: Apache-2.0
"""The price of each promise: what a release would lose without it, which columns it keeps coarse, and what would save them.

All is asked of the search itself, on the counts that are there. A column is bound by a promise if the best release without that promise
keeps the column finer. The nearest gentler bound that saves a column which is wiped out is the first one at which the best release keeps
more than one label of it. It is found by steps: the nearest bound at which some solution that saves the column beats the best one that does
not (bisection, which goes down to numbers that occur), then whether that bound's best release saves the column; if another one that does
not has become better still, the same again from there.

How much is asked is fixed by counts of nodes and classes, never by a clock, so the same release gets the same answers. What was cut short
says that it is not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge import metrics
from divulge.errors import DivulgeError, InternalError
from divulge.metrics import Identity
from divulge.policy import Promise
from divulge.results import Result
from divulge.search.diagnosis import rounded_outwards
from divulge.search.exact import LARGEST_LAID_OUT, exhaust
from divulge.search.judge import Candidate, Judge, all_published
from divulge.search.lattice import Node
from divulge.search.mondrian import BoxProblem
from divulge.search.objectives import find_objective, shown
from divulge.search.plan import Plan
from divulge.search.problem import TIE, SearchProblem, SearchState, explore
from divulge.search.rules import Rule

SHARES = (0.005, 0.01, 0.02, 0.05)
"""How many may be left out, to see what that would buy."""
_RUINOUS_LOSS = 0.5
_WORK = 100_000_000
"""Raw classes that may be merged in all, node by node: some seconds."""
_FEWEST_NODES = 1000
_MOST_PROBES = 40
_MOST_ROUNDS = 20
_APART = 1e-6
"""Bounds closer than this, relatively, are the same."""


@dataclass(frozen=True)
class Instead:
    """The best release under other terms."""

    value: float
    """The objective."""
    saves: float
    """How much better that is than the release; below 0 for boxes that came out worse, and where leaving out others breaks an average."""
    levels: Mapping[str, int]
    suppressed: int
    classes: int
    exact: bool
    """Proved to be the best; False: the search was cut short, or boxes, of which others may be better."""


@dataclass(frozen=True)
class PromisePrice:
    """What one promise costs."""

    promise: str
    without: Instead
    """The best release that keeps all others."""
    alone: Instead
    """The best release that keeps this one only."""
    binds: tuple[str, ...]
    """Columns that are finer without it."""


@dataclass(frozen=True)
class GentlerBound:
    """The nearest bound of a promise at which the best release keeps a column that is wiped out now."""

    promise: str
    """With the new bound."""
    of: str
    """The promise as it was made."""
    bound: float
    instead_of: float
    at: Instead
    proved: bool
    """No nearer bound does (in four digits); False: none was found."""
    given_up: bool
    """Even the table as it came keeps this bound, in which somebody is alone or a value is certain: that is to do without the promise."""


@dataclass(frozen=True)
class ColumnPrice:
    """What became of one column, and what would keep it finer."""

    column: str
    level: int | None
    """None: boxes."""
    height: int | None
    wiped_out: bool
    """All its values became one."""
    bound_by: tuple[str, ...]
    """Promises, each of which makes it coarser: without it alone the column is finer."""
    gentler: tuple[GentlerBound, ...]
    """Where it is wiped out: what would save it, one promise at a time."""


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """What each promise costs, what binds each column, and what would buy it back."""

    view = "utility"

    method: str
    objective: str
    value: float
    loss: float
    """From 0 (as it came) to 1 (nothing is told), whatever the objective."""
    promises: tuple[PromisePrice, ...]
    columns: tuple[ColumnPrice, ...]
    suppression: Mapping[float, Instead]
    """What leaving out more people would buy, by the share that may be."""
    boxes: Instead | None
    """What Mondrian would buy, in `loss`; None where it cannot keep the promises, or the release has boxes already."""
    cut_short: bool = False
    """The search looked at as many combinations as it may: what would save a column may be more than is told."""
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Everything that the numbers depend on."""

    @property
    def wiped_out(self) -> tuple[str, ...]:
        """Columns whose values all became one."""
        return tuple(item.column for item in self.columns if item.wiped_out)

    @property
    def exact(self) -> bool:
        """Whether every answer about one level for each column is proved."""
        told = [each for price in self.promises for each in (price.without, price.alone)]
        told += self.suppression.values()
        proved = [bound.proved for column in self.columns for bound in column.gentler]
        return not self.cut_short and all(proved) and all(each.exact for each in told)


Progress = Callable[[int, int], None]


def explain(
    plan: Plan, *, boxes: Callable[[], Plan], settings: Mapping[str, Any], frame: str, progress: Progress | None = None
) -> Explanation:
    """Ask the search that made a plan what else it could do; `boxes` makes the plan that Mondrian would."""
    if isinstance(plan.problem, BoxProblem):
        found = _explain_boxes(plan, plan.problem, progress)
    elif isinstance(plan.problem, SearchProblem):
        found = _Pricing.of(plan, plan.problem, progress).explain(boxes)
    else:
        raise InternalError("nobody knows which problem the plan solves")
    return replace(found, settings={**settings, **plan.settings, "work": _WORK}, frame=frame)


@dataclass(frozen=True)
class Ruin:
    """What a release has lost that its readers will miss."""

    columns: tuple[str, ...]
    """Those whose values all became one label."""
    loss: float
    """From 0 (as it came) to 1 (nothing is told)."""


def ruin_of(plan: Plan) -> Ruin | None:
    """A plan can keep every promise and be of no use; None: neither is a column wiped out nor most of the information lost."""
    columns, loss = _wiped_out(plan), _loss_of(plan)
    return Ruin(columns, loss) if columns or loss > _RUINOUS_LOSS else None


def _wiped_out(plan: Plan) -> tuple[str, ...]:
    if plan.problem is None:
        return ()
    values = (len(key) for key in plan.problem.judge.rollup.contingency.own_keys)
    labels = (len(labels) for labels in plan.recoding.labels)
    found = zip(plan.recoding.columns, labels, values, strict=True)
    return tuple(name for name, after, before in found if after == 1 < before)


def _loss_of(plan: Plan) -> float:
    """Whatever was to be kept low."""
    problem = plan.problem
    if plan.objective == "loss" or not isinstance(problem, SearchProblem):
        return plan.value
    return find_objective(problem.rollup, "loss").cost(problem.judge.check(_node(plan)))


def _node(plan: Plan) -> Node:
    return tuple(plan.levels.values())


@dataclass(frozen=True, eq=False)
class _Demand:
    """One promise as it was made: for each attribute that it is about there is a rule."""

    rules: tuple[Rule, ...]

    @property
    def text(self) -> str:
        first = self.rules[0]
        if len(self.rules) == 1:
            return first.text
        return f"{first.promise.text} for {first.who}" if first.only is not None else first.promise.text

    @property
    def bound(self) -> float:
        return self.rules[0].promise.bound

    @property
    def sign(self) -> float:
        """Times a bound: the higher, the gentler."""
        return 1.0 if self.rules[0].metric.worse == "high" else -1.0

    def at(self, bound: float) -> _Demand:
        return _Demand(tuple(replace(rule, promise=replace(rule.promise, bound=bound)) for rule in self.rules))

    def without(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if rule not in self.rules)

    def among(self, rules: Sequence[Rule], bound: float) -> tuple[Rule, ...]:
        """All rules, these with another bound."""
        moved = dict(zip(self.rules, self.at(bound).rules, strict=True))
        return tuple(moved.get(rule, rule) for rule in rules)


def _demands(judge: Judge) -> tuple[_Demand, ...]:
    found: dict[tuple[Promise, str, bool], list[Rule]] = {}
    for rule in judge.rules:
        whole = rule.attribute is None or rule.attribute in judge.rollup.contingency.cells  # else of chosen values
        found.setdefault((rule.promise, rule.who, whole), []).append(rule)
    return tuple(_Demand(tuple(rules)) for rules in found.values())


def _with_rules(judge: Judge, rules: Sequence[Rule]) -> Judge:
    """The same under other rules; where none is left, one that every class keeps."""
    size = next(metric for metric in metrics.IDENTITY if metric.absorbing and not metric.needs_population)
    return replace(judge, rules=tuple(rules) or (Rule(Promise(size, 0.0), None),))


@dataclass(eq=False)
class _Pricing:
    """The questions to one search, and how much may still be asked."""

    problem: SearchProblem
    plan: Plan
    best: Candidate
    cost: float
    left: int
    """Nodes that may still be looked at."""
    progress: Progress | None = None
    asked: int = 0
    total: int = 0

    @classmethod
    def of(cls, plan: Plan, problem: SearchProblem, progress: Progress | None) -> _Pricing:
        best = problem.judge.check(_node(plan))
        nodes = max(_WORK // max(len(problem.rollup.contingency), 1), _FEWEST_NODES)
        return cls(problem, plan, best, problem.objective.cost(best), nodes, progress)

    def explain(self, boxes: Callable[[], Plan]) -> Explanation:
        judge, demands = self.problem.judge, _demands(self.problem.judge)
        self.total = 2 * len(demands) + len(SHARES) + 1
        prices = tuple(self._price(demand) for demand in demands)
        wider = [share for share in SHARES if share > judge.suppression]
        suppression = {share: self._instead(self._solve(replace(judge, suppression=share))) for share in wider}
        loss = _loss_of(self.plan)
        by_boxes = self._boxes(boxes, loss)
        columns = tuple(self._columns(prices, demands))
        cut_short = self.left <= 0
        told = (
            "too much was asked of a large table: answers marked so are not proved, and gentler bounds may be missing"
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
            (told,) if cut_short else (),
        )

    def _tell(self) -> None:
        self.asked += 1
        if self.progress is not None:
            self.progress(min(self.asked, self.total), self.total)

    def _solve(self, judge: Judge) -> tuple[SearchState, bool]:
        """The best under gentler terms, and whether that is proved."""
        self._tell()
        state = SearchState(replace(self.problem, judge=judge), most_nodes=max(self.left, 1))
        own = judge.check(self.best.node)
        if own.feasible:
            state.best, state.cost, state.ties = own, self.problem.objective.cost(own), [own.node]
        proved = self._run(state)
        if (
            state.best is None
        ):  # leaving out other people breaks an average; the release itself keeps fewer promises too
            state.best, state.cost = self.best, self.cost
        return state, proved

    def _run(self, state: SearchState) -> bool:
        lowest = exhaust(state) if state.problem.region.size <= LARGEST_LAID_OUT else explore(state)
        self.left -= state.checked
        return state.best is not None and lowest >= state.cost - state.slack

    def _instead(self, found: tuple[SearchState, bool]) -> Instead:
        state, proved = found
        best = _found(state)
        saves = self.cost - state.cost
        return Instead(
            shown(self.problem.objective, state.cost),
            saves if abs(saves) > TIE * max(1.0, abs(self.cost)) else 0.0,
            self.problem.rollup.lattice.named(best.node),
            best.suppressed,
            best.published_classes,
            proved,
        )

    def _price(self, demand: _Demand) -> PromisePrice:
        judge = self.problem.judge
        without = self._instead(self._solve(_with_rules(judge, demand.without(judge.rules))))
        alone = self._instead(self._solve(_with_rules(judge, demand.rules)))
        finer = [name for name, level in self.plan.levels.items() if without.levels[name] < level]
        return PromisePrice(demand.text, without, alone, tuple(finer))

    def _boxes(self, boxes: Callable[[], Plan], loss: float) -> Instead | None:
        self._tell()
        if len(self.problem.rollup.contingency) * len(self.plan.levels) > _WORK // 100:
            return None
        try:
            plan = boxes()
        except DivulgeError:
            return None
        return Instead(plan.value, loss - plan.value, {}, 0, plan.classes, exact=False)

    def _columns(self, prices: Sequence[PromisePrice], demands: Sequence[_Demand]) -> Iterator[ColumnPrice]:
        gone = _wiped_out(self.plan)
        for place, (ladder, level) in enumerate(zip(self.problem.rollup.lattice.ladders, self.best.node, strict=True)):
            wiped = ladder.column in gone
            found = (self._gentler(demand, place) for demand in (demands if wiped else ()) if self.left > 0)
            gentler = tuple(bound for bound in found if bound is not None)
            by = tuple(price.promise for price in prices if ladder.column in price.binds)
            yield ColumnPrice(ladder.column, level, ladder.height, wiped, by, gentler)

    # --- the nearest gentler bound
    def _gentler(self, demand: _Demand, place: int) -> GentlerBound | None:
        """Of one promise, for one column."""
        judge, ladder = self.problem.judge, self.problem.rollup.lattice.ladders[place]
        telling = sum(len(level.labels) > 1 for level in ladder.levels)
        ceiling = tuple(telling - 1 if i == place else high for i, high in enumerate(self.problem.rollup.lattice.top))
        bound, rival, cost, proved = demand.bound, self.best, self.cost, self._bounds_are_ordered
        for _ in range(_MOST_ROUNDS):
            nearest = self._nearest(demand, bound, ceiling, rival, cost)
            if nearest is None:
                return None
            value, sure = nearest
            proved = proved and sure
            for bound in dict.fromkeys((_readable(demand, value), _needed(demand, value))):
                state, sure = self._solve(_with_rules(judge, demand.among(judge.rules, bound)))
                rival, cost = _found(state), state.cost
                if rival.node[place] < telling:
                    at = self._instead((state, sure))
                    new, sure = demand.at(bound), proved and sure
                    given_up = self._is_given_up(new)
                    return GentlerBound(new.text, demand.text, bound, demand.bound, at, sure, given_up)
            if self.left <= 0:
                return None
        return None

    def _is_given_up(self, demand: _Demand) -> bool:
        """Whether the table as it came keeps a promise, though it gives somebody away."""
        judge = self.problem.judge
        raw = all_published(judge.rollup.classes((0,) * len(self.best.node)))
        if not demand.rules[0].metric.holds(_worst(judge, demand, raw), demand.bound):
            return False
        views = (judge.view(rule.attribute, raw.classes, raw.kept)[0] for rule in demand.rules)
        told = (view.sizes if isinstance(view, Identity) else np.diff(view.cells.start) for view in views)
        return any(len(each) and each.min() <= 1 for each in told)

    @property
    def _bounds_are_ordered(self) -> bool:
        """Whether what keeps a bound keeps every gentler one: not where leaving classes out changes what the others show."""
        return self.problem.judge.limit == 0 or not self.problem.judge.looks_at_the_table

    def _nearest(
        self, demand: _Demand, bound: float, ceiling: Node, rival: Candidate, cost: float
    ) -> tuple[float, bool] | None:
        """The number nearest to a bound that a better solution below the ceiling has, and whether it is proved to be the nearest."""
        judge, sign = self.problem.judge, demand.sign

        def better(rules: Sequence[Rule]) -> tuple[float | None, bool]:
            """The number of a solution that beats the rival (None: there is none), and whether that is sure."""
            problem = replace(self.problem, judge=_with_rules(judge, rules), ceiling=ceiling)
            state = SearchState(
                problem, most_nodes=max(self.left, 1), rival=rival, best=rival, cost=cost, ties=[rival.node]
            )
            proved = self._run(state)
            best = _found(state)
            return (None, proved) if best is rival else (_worst(problem.judge, demand, best), True)

        high, _ = better(demand.without(judge.rules))
        if high is not None and not np.isfinite(high):
            high, _ = better(demand.among(judge.rules, 1e12))
        if high is None:
            return None
        low = bound
        for _ in range(_MOST_PROBES):
            tighter = high - sign * max(_APART * abs(high), 4 * metrics.TOLERANCE)
            if sign * (tighter - low) <= 0:
                return high, True
            found, sure = better(demand.among(judge.rules, _needed(demand, tighter)))
            if found is None:
                return high, sure
            high = _nearer(sign, found, tighter)
            middle = (low + high) / 2
            found, sure = better(demand.among(judge.rules, _needed(demand, middle)))
            if found is None and not sure:
                return high, False
            low, high = (middle, high) if found is None else (low, _nearer(sign, found, middle))
        return high, False


def _found(state: SearchState) -> Candidate:
    """The best, where the search began with a solution."""
    if state.best is None:
        raise InternalError("a search lost the solution that it began with")
    return state.best


def _nearer(sign: float, found: float, tried: float) -> float:
    """What a solution has that keeps the bound that was tried; never gentler than that."""
    return found if np.isfinite(found) and sign * found <= sign * tried else tried


def _worst(judge: Judge, demand: _Demand, candidate: Candidate) -> float:
    """The number of a promise in what a candidate publishes: with this for its bound, the candidate is a solution too."""
    found = []
    for rule in demand.rules:
        view, members = judge.view(rule.attribute, candidate.classes, candidate.kept)
        if not len(members):
            continue
        if rule.looks_at == "table":
            found.append(rule.value(view))
            continue
        values = rule.values(view)[judge.subject(rule, candidate.classes, members)]
        found += [float((values * demand.sign).max()) * demand.sign] if len(values) else []
    return max(found, key=lambda value: value * demand.sign) if found else demand.sign * np.inf


def _needed(demand: _Demand, value: float) -> float:
    """A bound that this value keeps."""
    strict = demand.rules[0].metric.strict
    return value + max(_APART * abs(value) / 2, 2 * metrics.TOLERANCE) if strict else max(value, 0.0)


def _readable(demand: _Demand, value: float) -> float:
    """A bound in four digits that this value keeps."""
    metric = demand.rules[0].metric
    return rounded_outwards(value, up=metric.worse == "high", strict=metric.strict)


# --- boxes ------------------------------------------------------------------------------------------------------------
def _explain_boxes(plan: Plan, problem: BoxProblem, progress: Progress | None) -> Explanation:
    """The same cutting without each promise; a greedy cut proves nothing, so no answer is exact."""
    judge, demands, prices = problem.judge, _demands(problem.judge), []

    def cut(rules: Sequence[Rule]) -> Instead:
        found = replace(problem, judge=_with_rules(judge, rules)).solve()
        return Instead(found.value, plan.value - found.value, {}, 0, found.classes, exact=False)

    for number, demand in enumerate(demands):
        prices.append(PromisePrice(demand.text, cut(demand.without(judge.rules)), cut(demand.rules), ()))
        if progress is not None:
            progress(number + 1, len(demands))
    gone = _wiped_out(plan)
    columns = tuple(ColumnPrice(name, None, None, name in gone, (), ()) for name in plan.recoding.columns)
    note = "boxes are cut greedily: without a promise other cuts come first, so that a price may even be below 0"
    return Explanation(
        "mondrian", plan.objective, plan.value, plan.value, tuple(prices), columns, {}, None, notes=(note,)
    )
