# SPDX-License-Identifier: Apache-2.0
"""The tab Promises: requirements on the release, with their feasibility and utility cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from divulge import charts, metrics, releases
from divulge.api.generalize import prepare_search
from divulge.api.request import resolve_request
from divulge.errors import BadInput, Infeasible
from divulge.options import METHOD_LABELS
from divulge.output import formatting, html, summary
from divulge.policy import Policy, Promise
from divulge.studio.session_state import SessionState
from divulge.studio.tabs.tab import (
    Html,
    Tab,
    button,
    card,
    common_metrics,
    dropdown,
    el,
    labeled_field,
    measure_original,
    parse_number,
    require_table,
    slider_field,
    void_element,
)
from divulge.studio.worker import Worker
from divulge.text import visible

_LARGEST_SUPPRESSION = 20
"""Upper end of the slider in percent; the field next to it accepts more."""
_LARGEST_EVALUATED = 600
"""Largest number of combinations of levels that are all evaluated without a click."""
_LARGEST_DRAWN = 250
_LARGEST_LISTED = 2000
_LARGEST_K = 50
_LARGEST_ROUNDED = 1e9


# --- functions of the controls --------------------------------------------------------------------
def _set_bound(worker: Worker, subject: str, value: Any) -> SessionState:
    return worker.state.with_requirement(subject, parse_number(value))


def _switch_requirement(worker: Worker, subject: str, value: Any) -> SessionState:
    """Switch a requirement on or off; its initial bound has an effect but is not strict."""
    if not value:
        return worker.state.with_requirement(subject, None)
    _, high, step = _slider_range(worker, _find_metric(subject))
    start = math.ceil(high / 2 / step) * step
    if _find_metric(subject).worse == "low":
        if high > _LARGEST_K - 1:
            start = 5
        else:
            start = 2
    return worker.state.with_requirement(subject, round(start, 6))


def _take_point(worker: Worker, subject: str, value: Any) -> SessionState:
    """Require the bound of a point of the Pareto front, rounded so that the point meets it."""
    metric, bound, worker.redraw_controls = _find_metric(subject), parse_number(value), True
    nearest = math.ceil if metric.worse == "high" else math.floor
    if abs(bound) < _LARGEST_ROUNDED:
        rounded = nearest(bound * 1e4) / 1e4
    else:
        rounded = bound
    return worker.state.with_requirement(subject, None if metric.is_vacuous(rounded) else rounded)


def _set_suppression(worker: Worker, _: str, value: Any) -> SessionState:
    share = parse_number(value)
    if not 0 <= share <= 100:
        raise BadInput(
            f"{share:g} % of the people cannot be left out", hint="give a number from 0 to 100"
        )
    return worker.state.with_suppression(round(share / 100, 6))


def _set_front_metric(worker: Worker, _: str, value: Any) -> SessionState:
    _find_metric(str(value))
    return replace(worker.state, metric=str(value))


def _add_requirement(worker: Worker, _: str, value: Any) -> SessionState | None:
    worker.redraw_controls = True
    return _switch_requirement(worker, str(value), True) if value else None  # noqa: FBT003 - as the tick says it


def _evaluate_all(worker: Worker, *_: Any) -> None:
    """Allow the evaluation of all combinations, which is long and can be cancelled."""
    worker.requested.add(f"all of {worker.state.text}")


def _set_method(worker: Worker, _: str, value: Any) -> SessionState:
    return worker.state.with_method(str(value))


def _find_metric(name: str) -> Any:
    if name.startswith("identity "):
        return metrics.find_metric(name.removeprefix("identity "), "identity")
    return metrics.find_metric(name)


# --- results of the library -----------------------------------------------------------------------
def planned_release(worker: Worker) -> Any:
    """Return the release that meets the policy with the least information loss."""

    def search() -> Any:
        groundwork = _release_search(worker)
        worker.begin_step("looking for the levels that lose least")
        return groundwork.release(worker.state.policy)

    return worker.cached_by_policy("release", search)


_PARTS_WITHOUT_COUNTS = ("method", "promises", "suppression", "protect", "unique_share")
"""Parts of a policy whose changes need no new counts."""


def _release_search(worker: Worker) -> releases.ReleaseSearch:
    """Return the counts that `dv.generalize` and `dv.tradeoff` start from."""

    def count_original() -> releases.ReleaseSearch:
        table = worker.table
        worker.begin_step("counting")
        request = resolve_request(policy=worker.state.policy)
        return prepare_search(table, request, makes_release=True)

    return worker.cached_by_policy("ground", count_original, *_PARTS_WITHOUT_COUNTS)


def _explanation(worker: Worker) -> Any:
    release = planned_release(worker)
    return worker.cached_by_policy(
        "price",
        lambda: release.explain(progress=worker.begin_step("working out what each promise costs")),
    )


def _front_points(worker: Worker, metric_name: str) -> Any:
    """Return the combinations of levels that meet all requirements except those on this metric."""
    state = worker.state.with_requirement(metric_name, None)
    if state.promises:
        policy = state.policy
    else:
        policy = state.with_suppression(0).policy
    return _nodes(worker, metric_name, policy)


def _feasible_nodes(worker: Worker, metric_name: str) -> Any:
    """Return the combinations of levels that meet every requirement.

    Without a requirement on this metric, they are those of the Pareto front.
    """
    return _nodes(worker, metric_name, worker.state.policy)


def _nodes(worker: Worker, metric_name: str, policy: Policy) -> Any:
    def evaluate() -> Any:
        groundwork = _release_search(worker)
        worker.begin_step("looking at every combination of levels")
        return groundwork.tradeoff(
            policy, metric_name, method="columns" if policy.method == "columns" else "full-domain"
        )

    policy_key = f"{policy.method} {policy.promises} {policy.protections} {policy.suppression}"
    return worker.cached_by_policy(
        "nodes", evaluate, *_PARTS_WITHOUT_COUNTS, about=(metric_name, policy_key)
    )


# --- controls -------------------------------------------------------------------------------------
def _slider_range(worker: Worker, metric: Any) -> tuple[float, float, float]:
    """Return the lower end, the upper end and the step of a slider.

    It ends at the measured value of the original table; a larger bound would require nothing.
    """
    before = measure_original(worker)
    if metric.worse == "low":
        largest = _LARGEST_K
        if metric.scope == "sensitive" and before.beliefs:
            largest = max(len(belief.cells.domain) for belief in before.beliefs.values())
        if metric.is_vacuous(1):
            least = 2
        else:
            least = 1
        return least, max(largest, least), 1
    if metric.scope == "identity":
        scores = [before.identity]
    else:
        scores = list(before.sensitive.values())
    measured_values = [
        float(scope_scores[metric.name].value)
        for scope_scores in scores
        if metric.name in scope_scores
    ]
    highest = max([value for value in measured_values if math.isfinite(value)], default=1.0) or 1.0
    step = 10 ** math.floor(math.log10(highest)) / 20
    largest = round(math.ceil(highest / step) * step, 6)
    return 0, round(largest - step, 6) if metric.is_vacuous(largest) else largest, step


def _controls(worker: Worker) -> Iterator[Html]:
    state = worker.state
    yield el("h2", "Promises")
    requirements = state.promises
    has_sensitive = bool(state.policy.roles.get("sensitive"))
    common = [
        metric
        for metric in common_metrics()
        if (has_sensitive or metric.scope == "identity")
        and (state.policy.adversary.population or not metric.needs_population)
    ]
    names = dict.fromkeys([*(metric.name for metric in common), *requirements])
    yield from (_requirement_slider(worker, name, requirements.get(name)) for name in names)
    more = [
        metric
        for metric in metrics.METRICS
        if metric.kind == "risk" and Promise.name_of(metric) not in names and not metric.takes_l
    ]
    more = [
        metric
        for metric in more
        if (has_sensitive or metric.scope == "identity") and not metric.needs_population
    ]
    options = [
        ("", "one more promise …"),
        *((Promise.name_of(metric), _metric_words(Promise.name_of(metric))) for metric in more),
    ]
    yield dropdown("more", options, "", label="one more promise")
    others = [metric.text for metric in state.policy.promises if metric.attribute is not None]
    others += [metric.text for metric in state.policy.protections]
    if others:
        yield el("p", "Also promised, by the policy file:", class_="lead")
        yield html.bullets(*others)
    yield el("h2", "People who may be left out")
    yield slider_field(
        "suppression",
        "",
        "at most, in %",
        100 * state.policy.suppression,
        (0, _LARGEST_SUPPRESSION, 0.1),
        largest=100,
    )
    yield el("h2", "How columns become coarser")
    yield dropdown(
        "method", METHOD_LABELS.items(), state.method, label="how columns become coarser"
    )
    yield el("div", id="levels")


def _metric_words(name: str) -> str:
    inner = name.removeprefix("identity ")
    return formatting.metric_words(inner) + (" (identity)" if inner != name else "")


def _requirement_slider(worker: Worker, name: str, promise: Promise | None) -> Html:
    metric = _find_metric(name)
    low, high, step = _slider_range(worker, metric)
    on = promise is not None
    if metric.worse == "low":
        sign = "at least"
        bound = low
    else:
        if metric.strict:
            sign = "below"
        else:
            sign = "at most"
        bound = high
    if promise is not None:
        bound = promise.bound
    box = void_element(
        "input", type="checkbox", name="promised", data_of=name, checked="checked" if on else None
    )
    if metric.unit == "bits":
        unit = f", {metric.unit}"
    else:
        unit = ""
    head = el(
        "label",
        box,
        el("span", f"{_metric_words(name)}, {sign}{unit}"),
        class_="tick",
        title=metric.plain,
    )
    sliding = slider_field(
        "bound", name, f"{_metric_words(name)}, {sign}", bound, (low, max(high, bound), step)
    )
    return el("div", head, sliding, class_="promise" if on else "promise off")


# --- view -----------------------------------------------------------------------------------------
def show(worker: Worker, changed: bool) -> None:  # noqa: FBT001 - as in every tab
    """Show the verdict, the utility cost of each requirement, and every combination of levels."""
    if not require_table(worker):
        return
    state = worker.state
    worker.send(head=f"{state.name} · {worker.row_count:,} rows")
    call = state.invocation("generalize")
    worker.send_equivalents(call.as_command(), f"release = {call.as_python()}", "print(release)")
    if not state.policy.roles.get("quasi_identifiers"):
        raise BadInput(
            "no column is a quasi-identifier, so nobody could be found",
            hint="say on the tab Table which columns others may know",
        )
    if not changed:
        worker.put_part("controls", *_controls(worker))
        two_columns = el(
            "div", el("div", id="front"), el("div", id="price", class_="card"), class_="two"
        )
        worker.put_part(
            "view",
            el("div", id="answer"),
            two_columns,
            el("div", id="kept"),
            el("div", id="lattice"),
        )
    if not state.policy.promises and not state.policy.protections:
        raise BadInput("nothing is promised yet", hint="switch on a promise at the side")
    try:
        release = planned_release(worker)
    except Infeasible:
        worker.put_part("answer", *_infeasible_tiles(state))
        raise
    worker.put_part("answer", *_verdict_tiles(release))
    worker.put_part("levels", *_level_ladders(release, hidden=state.hidden))
    worker.put_part(
        "kept",
        card(
            "What was promised, and what is kept",
            summary.scoreboard(summary.lines_of(release.verdict)),
        ),
    )
    by_levels = not release.plan.boxes
    evaluates_all = by_levels and (
        release.plan.lattice <= _LARGEST_EVALUATED or f"all of {state.text}" in worker.requested
    )
    if evaluates_all:
        _show_front(worker, release)
    worker.put_part("price", *_cost_view(_explanation(worker)))
    if evaluates_all:
        worker.put_part("lattice", _lattice_card(worker, release))
    elif by_levels:
        sentence = (
            f"There are {release.plan.lattice:,} combinations of levels; to look at each of them "
            "takes a while."
        )
        worker.put_part(
            "front",
            card(
                "Every combination of levels",
                el("p", sentence),
                button("all", "Look at all of them"),
            ),
        )
        worker.put_part("lattice")
    else:
        worker.put_part("front")
        worker.put_part("lattice")


def _verdict_tiles(release: Any) -> Iterator[Html]:
    plan = release.plan
    lines = summary.lines_of(release.verdict)
    verdict = {1: "keeps it", 2: "keeps both"}.get(len(lines), f"keeps all {len(lines)}")
    if plan.boxes:
        search = f"boxes, {len(plan.boxes):,} of them"
    else:
        search = f"best of {plan.lattice:,} combinations, {plan.checked:,} looked at"
    share = plan.suppressed / release.before.people
    yield el("h1", "What would be published", class_="unseen")
    yield html.tiles(
        html.tile(verdict, search, good=True),
        html.tile(formatting.number(plan.value), "of the information is lost (0: nothing, 1: all)"),
        html.tile(f"{plan.suppressed:,}", f"people left out ({formatting.percent(share)})"),
        html.tile(f"{plan.classes:,}", f"classes; {release.before.class_count:,} before"),
    )


def _infeasible_tiles(state: SessionState) -> Iterator[Html]:
    count = len(state.policy.promises) + len(state.policy.protections)
    verdict = {1: "cannot keep it", 2: "cannot keep both"}.get(count, f"cannot keep all {count}")
    yield el("h1", "What would be published", class_="unseen")
    yield html.tiles(
        html.tile(
            verdict,
            "nothing would be published: no combination of levels keeps what is promised",
            bad=True,
        )
    )


def _level_ladders(release: Any, *, hidden: bool) -> Iterator[Html]:
    """Yield the levels of each column, with one value as the example, and mark the chosen level."""
    for name, level in release.plan.levels.items():
        hierarchy = release.hierarchies[name]
        example = next(
            value for value in hierarchy.rows if value is not None or len(hierarchy.rows) == 1
        )
        level_items = [
            _level_item(hierarchy, example, level_index, chosen=level_index == level, hidden=hidden)
            for level_index in range(hierarchy.height + 1)
        ]
        yield el("div", el("span", html.value(name)), el("ol", *level_items), class_="ladder")


def _level_item(hierarchy: Any, example: Any, level: int, *, chosen: bool, hidden: bool) -> Html:
    label = hierarchy.label_of(example, level)
    if chosen:
        chosen_mark = el("i", "chosen: ", class_="unseen")
    else:
        chosen_mark = None
    hides_label = hidden or (level > 0 and label == hierarchy.label_of(example, level - 1))
    if hides_label:
        label_html = el("small", f"level {level}")
    else:
        label_html = html.value(label)
    return el(
        "li", chosen_mark, label_html, class_="on" if chosen else None, title=f"level {level}"
    )


def _show_front(worker: Worker, release: Any) -> None:
    state = worker.state
    metric_name = _front_metric(state)
    front_result = _front_points(worker, metric_name)
    promise = state.promises.get(metric_name)
    chart = html.figure(
        charts.as_json(
            charts.front(
                front_result,
                bound=None if promise is None else promise.bound,
                chosen=release.plan.levels,
            )
        )
    )
    names = list(
        dict.fromkeys(
            [
                metric_name,
                *state.promises,
                *(metric.name for metric in common_metrics() if not metric.needs_population),
            ]
        )
    )
    has_sensitive = bool(state.policy.roles.get("sensitive"))
    names = [name for name in names if has_sensitive or _find_metric(name).scope == "identity"]
    chosen = dropdown(
        "against",
        [(name, _metric_words(name)) for name in names],
        metric_name,
        label="drawn against",
    )
    rows = [
        [
            formatting.number(point.leakage),
            formatting.number(point.value),
            f"{point.suppressed:,}",
            f"{point.classes:,}",
            _levels_text(point.levels),
            button(
                "take",
                "take it",
                subject=metric_name,
                value=repr(point.leakage),
                label=f"promise {formatting.number(point.leakage)}",
            ),
        ]
        for point in front_result.front
    ]
    head = (_metric_words(metric_name), "loss", "left out", "classes", "levels", "")
    point_list = el(
        "details", el("summary", "the points of the line, to choose one"), html.table(head, rows)
    )
    lead = (
        "Each mark is one choice of levels that keeps all other promises; the line joins those "
        "that no other beats in both. "
    )
    lead += (
        "The ring is what would be published, the dashed line what is promised. Click a point of "
        "the line to promise it."
    )
    drawing = el(
        "div", chart, data_click="take", data_of=metric_name, data_field="x", data_kind="front"
    )
    worker.put_part(
        "front",
        card(
            "What is lost, and what is told",
            labeled_field("against", chosen),
            drawing,
            point_list,
            lead=lead,
        ),
    )


def _requirement_words(promise: str) -> str:
    """Return a requirement in words, such as k-anonymity ≥ 5."""
    identity = "identity " * promise.startswith("identity ")
    name, _, rest = promise.removeprefix(identity).partition(" ")
    for sign, symbol in (
        (">=", "\N{GREATER-THAN OR EQUAL TO}"),
        ("<=", "\N{LESS-THAN OR EQUAL TO}"),
    ):
        before, separator, after = rest.rpartition(f"{sign} ")
        if separator:
            rest = f"{before}{symbol} {after}"
    return f"{_metric_words(identity + name)} {rest}"


def _cost_view(explanation: Any) -> Iterator[Html]:
    """Yield the utility cost of each requirement, and the savings by other settings."""

    def cost_text(instead: Any, does: str) -> str:
        if instead.saves > 0:
            saves = f"saves {formatting.number(instead.saves)}"
        else:
            saves = "nothing"
        return f"{saves}{' or more' if instead.saves > 0 and not instead.exact else ''}{does if instead.saves > 0 else ''}"  # noqa: E501

    def rows(pairs: list[tuple[Any, str]]) -> Html:
        return el(
            "table",
            el(
                "tbody",
                *(
                    el("tr", el("th", *name, scope="row"), el("td", cost, class_="num"))
                    for name, cost in pairs
                ),
            ),
        )

    yield el("h2", "What each promise costs")
    lead = (
        f"By how much the {explanation.objective} would fall without it; all the others are kept."
    )
    if len(explanation.promises) > 1 and all(
        cost.without.saves <= 0 and cost.without.exact for cost in explanation.promises
    ):
        lead += " Here each asks for no more than the others together do."
    yield el("p", lead, class_="lead")
    yield rows(
        [
            (
                (html.value(_requirement_words(cost.promise)),),
                cost_text(cost.without, f": {', '.join(cost.binds)} finer" if cost.binds else ""),
            )
            for cost in explanation.promises
        ]
    )
    more = [
        (
            (f"up to {formatting.percent(share)} left out",),
            cost_text(relaxed, f", {relaxed.suppressed:,} left out"),
        )
        for share, relaxed in explanation.suppression.items()
    ]
    if explanation.boxes is not None and explanation.objective == "loss":
        more.append((("boxes (Mondrian)",), cost_text(explanation.boxes, "")))
    if more:
        yield el("h2", "What would buy more")
        yield rows(more)


def _front_metric(state: SessionState) -> str:
    """Return the metric of the Pareto front.

    It is the chosen metric, else the first required one about a sensitive column, else the leading
    one.
    """
    if state.metric:
        return state.metric
    about = [
        name
        for name, promise in state.promises.items()
        if promise.metric.scope == "sensitive" and promise.metric.worse == "high"
    ]
    if about:
        return about[0]
    return metrics.leading_metric(
        "sensitive" if state.policy.roles.get("sensitive") else "identity"
    ).name


def _levels_text(levels: Any) -> str:
    return ", ".join(f"{visible(name)} {level}" for name, level in levels.items())


def _lattice_card(worker: Worker, release: Any) -> Html:
    """Return all combinations with their verdict and information loss, the finest first.

    They are drawn if there are few of them, else listed.
    """
    metric_name = _front_metric(worker.state)
    feasible = {
        tuple(point.levels.values()): point for point in _feasible_nodes(worker, metric_name).points
    }
    no_requirements = replace(worker.state.policy, promises=(), protections=(), suppression=0.0)
    nodes = {
        tuple(point.levels.values()): point
        for point in _nodes(worker, metric_name, no_requirements).points
    }
    chosen = tuple(release.plan.levels.values())
    names = ", ".join(visible(name) for name in release.plan.levels)
    lead = (
        f"Levels of {names}; 0 is as it came. {len(feasible):,} of {len(nodes):,} keep every "
        "promise. Below each: what it loses."
    )
    points = {levels: feasible.get(levels, point) for levels, point in nodes.items()}
    if len(nodes) > _LARGEST_DRAWN:
        cheapest = sorted(points.items(), key=lambda item: (item[0] not in feasible, item[1].value))
        rows = [_node_row(point, keeps=levels in feasible) for levels, point in cheapest]
        head = ("levels", "verdict", "loss", "left out", "classes")
        return card(
            "Every combination of levels", html.table(head, rows, most=_LARGEST_LISTED), lead=lead
        )
    level_rows = []
    for total in range(sum(max(nodes)) + 1):
        row = [
            _node_item(levels, point, keeps=levels in feasible, chosen=levels == chosen)
            for levels, point in points.items()
            if sum(levels) == total
        ]
        level_rows.append(el("ol", *row, class_="nodes"))
    kinds = (
        html.chip("ok", "keeps every promise"),
        html.chip("open", "breaks one"),
        el("span", "taken", class_="chip now"),
    )
    key = el("p", *(part for kind in kinds for part in (kind, " ")), class_="lead")
    return card("Every combination of levels", key, *level_rows, lead=lead)


def _node_row(point: Any, *, keeps: bool) -> list[Any]:
    if keeps:
        verdict = html.chip("ok", "keeps all")
    else:
        verdict = html.chip("open", "breaks one")
    if keeps:
        left_out = f"{point.suppressed:,}"
    else:
        left_out = ""
    return [
        _levels_text(point.levels),
        verdict,
        formatting.number(point.value),
        left_out,
        f"{point.classes:,}",
    ]


def _node_item(node: tuple[int, ...], point: Any, *, keeps: bool, chosen: bool) -> Html:
    if keeps:
        title = f"loss {formatting.number(point.value)}, {point.suppressed:,} left out"
    else:
        title = "breaks a promise"
    if keeps:
        kind = "ok"
    else:
        kind = "open"
    if chosen:
        kind = "now"
    loss = el("small", formatting.number(point.value))
    return el(
        "li",
        "·".join(map(str, node)),
        loss,
        class_=kind,
        title=f"{title}{'; this one is taken' if chosen else ''}",
    )


TAB = Tab(
    "promises",
    "Promises",
    show,
    {
        "bound": _set_bound,
        "promised": _switch_requirement,
        "more": _add_requirement,
        "take": _take_point,
        "suppression": _set_suppression,
        "against": _set_front_metric,
        "method": _set_method,
        "all": _evaluate_all,
    },
)
