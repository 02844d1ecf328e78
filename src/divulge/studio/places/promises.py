# SPDX-License-Identifier: Apache-2.0
"""Promises: what the release must keep, and at once whether it can, what it loses, and what each promise costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from divulge import charts, metrics, values
from divulge.api import generalize
from divulge.errors import BadInput, Infeasible
from divulge.policy import Policy, Promise
from divulge.studio.desk import Desk
from divulge.studio.places.place import (
    Html,
    Place,
    button,
    card,
    choice,
    el,
    labelled,
    measured_before,
    needs_table,
    number_given,
    slide,
    usual_metrics,
    void,
)
from divulge.studio.work import POLICY, TABLE, Work
from divulge.views import html, summary, words

_MOST_LEFT_OUT = 20
"""Per cent, of the slider; the field beside it takes more."""
_MOST_LOOKED_AT = 600
"""Combinations of levels that are all looked at without being asked to."""
_MOST_DRAWN, _MOST_LISTED = 250, 2000
_MOST_K = 50
_LARGEST_ROUNDED = 1e9
_METHODS = (
    ("full-domain", "one level for each column"),
    ("mondrian", "boxes (Mondrian)"),
    ("columns", "columns kept or dropped"),
)


# --- what controls do -------------------------------------------------------------------------------------------------
def _bound(desk: Desk, of: str, value: Any) -> Work:
    return desk.work.with_promise(of, number_given(value))


def _promised(desk: Desk, of: str, value: Any) -> Work:
    """Switched on, a promise starts where it asks for something without asking for much."""
    if not value:
        return desk.work.with_promise(of, None)
    low, high, step = _range(desk, _metric(of))
    start = {True: 5 if high > _MOST_K - 1 else 2, False: math.ceil(high / 2 / step) * step}[low == 1]
    return desk.work.with_promise(of, round(start, 6))


def _take(desk: Desk, of: str, value: Any) -> Work:
    """A point of the front: the promise that makes it the best, rounded so that the point keeps it."""
    metric, bound, desk.afresh = _metric(of), number_given(value), True
    nearest = math.ceil if metric.worse == "high" else math.floor
    rounded = nearest(bound * 1e4) / 1e4 if abs(bound) < _LARGEST_ROUNDED else bound
    return desk.work.with_promise(of, rounded)


def _suppression(desk: Desk, _: str, value: Any) -> Work:
    share = number_given(value)
    if not 0 <= share <= 100:
        raise BadInput(f"{share:g} % of the people cannot be left out", hint="give a number from 0 to 100")
    return desk.work.with_suppression(round(share / 100, 6))


def _against(desk: Desk, _: str, value: Any) -> Work:
    _metric(str(value))
    return replace(desk.work, metric=str(value))


def _more(desk: Desk, _: str, value: Any) -> Work | None:
    desk.afresh = True
    return _promised(desk, str(value), True) if value else None  # noqa: FBT003 - as the tick says it


def _look_at_all(desk: Desk, *_: Any) -> None:
    """Long, and can be cancelled."""
    desk.asked.add(f"all of {desk.work.text}")


def _method(desk: Desk, _: str, value: Any) -> Work:
    return desk.work.with_method(str(value))


def _metric(name: str) -> Any:
    if name.startswith("identity "):
        return metrics.find_metric(name.removeprefix("identity "), "identity")
    return metrics.find_metric(name)


# --- what the library says --------------------------------------------------------------------------------------------
def released(desk: Desk) -> Any:
    """The release that keeps the policy at the least loss."""

    def searched() -> Any:
        ground = _ground(desk)
        desk.progress("looking for the levels that lose least")
        return ground.release(desk.work.policy)

    return desk.by_policy("release", searched)


_BOUNDS = ("method", "promises", "suppression", "protect", "alone_share")
"""Parts of a policy that change without anything being counted again."""


def _ground(desk: Desk) -> generalize.Groundwork:
    """What dv.generalize and dv.tradeoff begin with."""

    def counted() -> generalize.Groundwork:
        table = desk.table
        desk.progress("counting")
        return generalize.Groundwork.of(table, desk.work.policy)

    return desk.by_policy("ground", counted, *_BOUNDS)


def _explained(desk: Desk) -> Any:
    release = released(desk)
    return desk.by_policy(
        "price", lambda: release.explain(progress=desk.progress("working out what each promise costs"))
    )


def _front(desk: Desk, against: str) -> Any:
    """Every combination of levels that keeps all promises but those on this metric."""
    work = desk.work.with_promise(against, None)
    policy = work.policy if work.promises else work.with_suppression(0).policy
    return _all_nodes(desk, against, policy)


def _kept_nodes(desk: Desk, against: str) -> Any:
    """Every combination of levels that keeps every promise: the front's own where nothing is promised of its metric."""
    return _all_nodes(desk, against, desk.work.policy)


def _all_nodes(desk: Desk, against: str, policy: Policy) -> Any:
    def looked() -> Any:
        ground = _ground(desk)
        desk.progress("looking at every combination of levels")
        return ground.tradeoff(policy, against, method="columns" if policy.method == "columns" else "full-domain")

    kept = f"{policy.method} {policy.promises} {policy.protections} {policy.suppression}"
    return desk.by_policy("nodes", looked, *_BOUNDS, about=(against, kept))


# --- controls ---------------------------------------------------------------------------------------------------------
def _range(desk: Desk, metric: Any) -> tuple[float, float, float]:
    """From where to where a slider goes, and by which steps: up to what the table tells as it came, beyond which nothing is promised."""
    before = measured_before(desk)
    if metric.worse == "low":
        most = _MOST_K
        if metric.scope == "sensitive" and before.beliefs:
            most = max(len(belief.cells.domain) for belief in before.beliefs.values())
        return 1, most, 1
    scores = [before.identity] if metric.scope == "identity" else list(before.sensitive.values())
    found = [float(each[metric.name].value) for each in scores if metric.name in each]
    highest = max([each for each in found if math.isfinite(each)], default=1.0) or 1.0
    step = 10 ** math.floor(math.log10(highest)) / 20
    return 0, round(math.ceil(highest / step) * step, 6), step


def _controls(desk: Desk) -> Iterator[Html]:
    work = desk.work
    yield el("h2", "Promises")
    promised = work.promises
    has_sensitive = bool(work.policy.roles.get("sensitive"))
    usual = [
        each
        for each in usual_metrics()
        if (has_sensitive or each.scope == "identity")
        and (work.policy.adversary.population or not each.needs_population)
    ]
    names = dict.fromkeys([*(each.name for each in usual), *promised])
    yield from (_slider(desk, name, promised.get(name)) for name in names)
    more = [
        each
        for each in metrics.METRICS
        if each.kind == "risk" and Promise.name_of(each) not in names and not each.takes_l
    ]
    more = [each for each in more if (has_sensitive or each.scope == "identity") and not each.needs_population]
    options = [("", "one more promise …"), *((Promise.name_of(each), _words(Promise.name_of(each))) for each in more)]
    yield choice("more", options, "", label="one more promise")
    others = [each.text for each in work.policy.promises if each.attribute is not None]
    others += [each.text for each in work.policy.protections]
    if others:
        yield el("p", "Also promised, by the policy file:", class_="lead")
        yield html.bullets(*others)
    yield el("h2", "People who may be left out")
    yield slide("suppression", "", "at most, in %", 100 * work.policy.suppression, (0, _MOST_LEFT_OUT, 0.1), most=100)
    yield el("h2", "How columns become coarser")
    yield choice("method", _METHODS, work.method, label="how columns become coarser")
    yield el("div", id="levels")


def _words(name: str) -> str:
    inner = name.removeprefix("identity ")
    return words.metric_words(inner) + (" (identity)" if inner != name else "")


def _slider(desk: Desk, name: str, promise: Promise | None) -> Html:
    metric = _metric(name)
    low, high, step = _range(desk, metric)
    on = promise is not None
    bound = promise.bound if promise is not None else (low if metric.worse == "low" else high)
    sign = "at least" if metric.worse == "low" else "below" if metric.strict else "at most"
    box = void("input", type="checkbox", name="promised", data_of=name, checked="checked" if on else None)
    unit = f", {metric.unit}" if metric.unit == "bits" else ""
    head = el("label", box, el("span", f"{_words(name)}, {sign}{unit}"), class_="tick", title=metric.plain)
    sliding = slide("bound", name, f"{_words(name)}, {sign}", bound, (low, max(high, bound), step))
    return el("div", head, sliding, class_="promise" if on else "promise off")


# --- the view ---------------------------------------------------------------------------------------------------------
def show(desk: Desk, changed: bool) -> None:  # noqa: FBT001 - as every place
    """The verdict first, then its price, then every combination."""
    if not needs_table(desk):
        return
    work = desk.work
    desk.say(head=f"{work.name} · {desk.rows:,} rows")
    desk.same_as(work.command("generalize"), f"release = dv.generalize({TABLE}, policy={POLICY})", "print(release)")
    if not work.policy.roles.get("quasi_identifiers"):
        raise BadInput(
            "no column is a quasi-identifier, so nobody could be found",
            hint="say on the tab Table which columns others may know",
        )
    if not changed:
        desk.put("controls", *_controls(desk))
        beside = el("div", el("div", id="front"), el("div", id="price", class_="card"), class_="two")
        desk.put("view", el("div", id="answer"), beside, el("div", id="kept"), el("div", id="lattice"))
    if not work.policy.promises and not work.policy.protections:
        raise BadInput("nothing is promised yet", hint="switch on a promise at the side")
    try:
        release = released(desk)
    except Infeasible:
        desk.put("answer", *_cannot(work))
        raise
    desk.put("answer", *_answer(release))
    desk.put("levels", *_levels(release, hidden=work.hidden))
    desk.put(
        "kept",
        card("What was promised, and what is kept", summary.scoreboard(summary.lines_of(release.verdict.outcomes))),
    )
    by_levels = not release.plan.boxes
    small = by_levels and (release.plan.lattice <= _MOST_LOOKED_AT or f"all of {work.text}" in desk.asked)
    if small:
        _put_front(desk, release)
    desk.put("price", *_price(_explained(desk)))
    if small:
        desk.put("lattice", _lattice(desk, release))
    elif by_levels:
        told = f"There are {release.plan.lattice:,} combinations of levels; to look at each of them takes a while."
        desk.put("front", card("Every combination of levels", el("p", told), button("all", "Look at all of them")))
        desk.put("lattice")
    else:
        desk.put("front")
        desk.put("lattice")


def _answer(release: Any) -> Iterator[Html]:
    plan, lines = release.plan, summary.lines_of(release.verdict.outcomes)
    kept = {1: "keeps it", 2: "keeps both"}.get(len(lines), f"keeps all {len(lines)}")
    searched = (
        f"boxes, {len(plan.boxes):,} of them"
        if plan.boxes
        else f"best of {plan.lattice:,} combinations, {plan.checked:,} looked at"
    )
    share = plan.suppressed / release.before.people
    yield el("h1", "What would be published", class_="unseen")
    yield html.tiles(
        html.tile(kept, searched, good=True),
        html.tile(words.number(plan.value), "of the information is lost (0: nothing, 1: all)"),
        html.tile(f"{plan.suppressed:,}", f"people left out ({words.percent(share)})"),
        html.tile(f"{plan.classes:,}", f"classes; {release.before.class_count:,} before"),
    )


def _cannot(work: Work) -> Iterator[Html]:
    count = len(work.policy.promises) + len(work.policy.protections)
    told = {1: "cannot keep it", 2: "cannot keep both"}.get(count, f"cannot keep all {count}")
    yield el("h1", "What would be published", class_="unseen")
    yield html.tiles(
        html.tile(told, "nothing would be published: no combination of levels keeps what is promised", bad=True)
    )


def _levels(release: Any, *, hidden: bool) -> Iterator[Html]:
    """Of each column the levels that there are, by a value that many have, and which one is taken."""
    for name, level in release.plan.levels.items():
        hierarchy = release.hierarchies[name]
        example = next(value for value in hierarchy.rows if value is not None or len(hierarchy.rows) == 1)
        told = [
            _level(hierarchy, example, each, chosen=each == level, hidden=hidden)
            for each in range(hierarchy.height + 1)
        ]
        yield el("div", el("span", html.value(name)), el("ol", *told), class_="ladder")


def _level(hierarchy: Any, example: Any, level: int, *, chosen: bool, hidden: bool) -> Html:
    label = hierarchy.label_of(example, level)
    told = el("i", "chosen: ", class_="unseen") if chosen else None
    again = hidden or (level > 0 and label == hierarchy.label_of(example, level - 1))
    shown = el("small", f"level {level}") if again else html.value(label)
    return el("li", told, shown, class_="on" if chosen else None, title=f"level {level}")


def _put_front(desk: Desk, release: Any) -> None:
    work = desk.work
    against = _against_what(work)
    found = _front(desk, against)
    promise = work.promises.get(against)
    drawn = html.figure(
        charts.as_json(
            charts.front(found, bound=None if promise is None else promise.bound, chosen=release.plan.levels)
        )
    )
    names = list(
        dict.fromkeys([against, *work.promises, *(each.name for each in usual_metrics() if not each.needs_population)])
    )
    has_sensitive = bool(work.policy.roles.get("sensitive"))
    names = [name for name in names if has_sensitive or _metric(name).scope == "identity"]
    chosen = choice("against", [(name, _words(name)) for name in names], against, label="drawn against")
    rows = [
        [words.number(point.leakage), words.number(point.value), f"{point.suppressed:,}", f"{point.classes:,}", _levels_told(point.levels),
         button("take", "take it", of=against, value=repr(point.leakage), label=f"promise {words.number(point.leakage)}")]
        for point in found.front
    ]  # fmt: skip
    head = (_words(against), "loss", "left out", "classes", "levels", "")
    listed = el("details", el("summary", "the points of the line, to choose one"), html.table(head, rows))
    lead = "Each mark is one choice of levels that keeps all other promises; the line joins those that no other beats in both. "
    lead += "The ring is what would be published, the dashed line what is promised. Click a point of the line to promise it."
    drawing = el("div", drawn, data_click="take", data_of=against, data_field="x", data_kind="front")
    desk.put("front", card("What is lost, and what is told", labelled("against", chosen), drawing, listed, lead=lead))


def _in_words(promise: str) -> str:
    """A promise as people write it: k-anonymity ≥ 5."""
    identity = "identity " * promise.startswith("identity ")
    name, _, rest = promise.removeprefix(identity).partition(" ")
    for sign, shown in ((">=", "\N{GREATER-THAN OR EQUAL TO}"), ("<=", "\N{LESS-THAN OR EQUAL TO}")):
        before, found, after = rest.rpartition(f"{sign} ")
        rest = f"{before}{shown} {after}" if found else rest
    return f"{_words(identity + name)} {rest}"


def _price(found: Any) -> Iterator[Html]:
    """What would be saved without each promise, and by other terms."""

    def told(instead: Any, does: str) -> str:
        saves = f"saves {words.number(instead.saves)}" if instead.saves > 0 else "nothing"
        return (
            f"{saves}{' or more' if instead.saves > 0 and not instead.exact else ''}{does if instead.saves > 0 else ''}"
        )

    def rows(pairs: list[tuple[Any, str]]) -> Html:
        return el(
            "table",
            el(
                "tbody", *(el("tr", el("th", *name, scope="row"), el("td", says, class_="num")) for name, says in pairs)
            ),
        )

    yield el("h2", "What each promise costs")
    lead = f"By how much the {found.objective} would fall without it; all the others are kept."
    if len(found.promises) > 1 and all(each.without.saves <= 0 and each.without.exact for each in found.promises):
        lead += " Here each asks for no more than the others together do."
    yield el("p", lead, class_="lead")
    yield rows(
        [
            (
                (html.value(_in_words(each.promise)),),
                told(each.without, f": {', '.join(each.binds)} finer" if each.binds else ""),
            )
            for each in found.promises
        ]
    )
    more = [
        ((f"up to {words.percent(share)} left out",), told(each, f", {each.suppressed:,} left out"))
        for share, each in found.suppression.items()
    ]
    if found.boxes is not None and found.objective == "loss":
        more.append((("boxes (Mondrian)",), told(found.boxes, "")))
    if more:
        yield el("h2", "What would buy more")
        yield rows(more)


def _against_what(work: Work) -> str:
    """The metric of the front: the one that was chosen, else a promise about what is sensitive, else the one that leads."""
    if work.metric:
        return work.metric
    about = [
        name
        for name, promise in work.promises.items()
        if promise.metric.scope == "sensitive" and promise.metric.worse == "high"
    ]
    if about:
        return about[0]
    return metrics.leading_metric("sensitive" if work.policy.roles.get("sensitive") else "identity").name


def _levels_told(levels: Any) -> str:
    return ", ".join(f"{values.visible(name)} {level}" for name, level in levels.items())


def _lattice(desk: Desk, release: Any) -> Html:
    """Every combination with its verdict and its loss, the finest above: drawn where there are few, else as a list."""
    against = _against_what(desk.work)
    keeping = {tuple(point.levels.values()): point for point in _kept_nodes(desk, against).points}
    nothing_asked = replace(desk.work.policy, promises=(), protections=(), suppression=0.0)
    nodes = {tuple(point.levels.values()): point for point in _all_nodes(desk, against, nothing_asked).points}
    chosen = tuple(release.plan.levels.values())
    names = ", ".join(values.visible(name) for name in release.plan.levels)
    lead = f"Levels of {names}; 0 is as it came. {len(keeping):,} of {len(nodes):,} keep every promise. Below each: what it loses."
    told = {levels: keeping.get(levels, point) for levels, point in nodes.items()}
    if len(nodes) > _MOST_DRAWN:
        cheapest = sorted(told.items(), key=lambda item: (item[0] not in keeping, item[1].value))
        rows = [_listed_node(point, keeps=levels in keeping) for levels, point in cheapest]
        head = ("levels", "verdict", "loss", "left out", "classes")
        return card("Every combination of levels", html.table(head, rows, most=_MOST_LISTED), lead=lead)
    drawn = []
    for total in range(sum(max(nodes)) + 1):
        row = [
            _node(levels, point, keeps=levels in keeping, chosen=levels == chosen)
            for levels, point in told.items()
            if sum(levels) == total
        ]
        drawn.append(el("ol", *row, class_="nodes"))
    kinds = (
        html.chip("ok", "keeps every promise"),
        html.chip("open", "breaks one"),
        el("span", "taken", class_="chip now"),
    )
    key = el("p", *(part for kind in kinds for part in (kind, " ")), class_="lead")
    return card("Every combination of levels", key, *drawn, lead=lead)


def _listed_node(point: Any, *, keeps: bool) -> list[Any]:
    verdict = html.chip("ok", "keeps all") if keeps else html.chip("open", "breaks one")
    left_out = f"{point.suppressed:,}" if keeps else ""
    return [_levels_told(point.levels), verdict, words.number(point.value), left_out, f"{point.classes:,}"]


def _node(node: tuple[int, ...], point: Any, *, keeps: bool, chosen: bool) -> Html:
    told = f"loss {words.number(point.value)}, {point.suppressed:,} left out" if keeps else "breaks a promise"
    kind = "now" if chosen else "ok" if keeps else "open"
    small = el("small", words.number(point.value))
    return el(
        "li", "·".join(map(str, node)), small, class_=kind, title=f"{told}{'; this one is taken' if chosen else ''}"
    )


PLACE = Place(
    "promises",
    "Promises",
    show,
    {
        "bound": _bound,
        "promised": _promised,
        "more": _more,
        "take": _take,
        "suppression": _suppression,
        "against": _against,
        "method": _method,
        "all": _look_at_all,
    },
)
