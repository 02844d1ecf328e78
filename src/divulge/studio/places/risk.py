# SPDX-License-Identifier: Apache-2.0
"""Risk: what the table as it came tells an adversary, who is worst off, and what she is assumed to know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import divulge as dv
from divulge import charts, metrics, values, views
from divulge.errors import BadInput, DivulgeError
from divulge.policy import judge
from divulge.studio.desk import Desk
from divulge.studio.places.place import (
    Html,
    Place,
    button,
    card,
    choice,
    el,
    known_roles,
    labelled,
    measured_before,
    needs_table,
    tick,
    usual_metrics,
    void,
)
from divulge.studio.work import POLICY, TABLE, Work, role_flags
from divulge.views import html, summary, words

_WORST = 12
_MOST_VALUES = 40
"""Of an attribute, of which each can be ruled out by a click."""
_MOST_RANKED = 7
"""With more quasi-identifiers than this, not every set of them is looked at."""
_NOT_LOOKED_AT = ("method", "promises", "suppression", "hierarchies", "protect", "alone_share")
"""Parts of a policy on which the table as it came does not depend."""
_NULLS = (("", "is a value like any other"), ("drop", "leaves its row out"), ("wildcard", "may be anything"))


# --- what controls do -------------------------------------------------------------------------------------------------
def _look(desk: Desk, _: str, value: Any) -> Work:
    return replace(desk.work, look=str(value))


def _rule_out(desk: Desk, of: str, value: Any) -> Work:
    try:
        attribute, label = map(str, json.loads(of))
    except ValueError:
        raise BadInput(f"{of!r} is no value of an attribute") from None
    known = _ruled_out(desk.work)
    kept = [each for each in known.get(attribute, []) if each != label]
    known[attribute] = [*kept, label] if value else kept
    return desk.work.with_adversary(rule_out={name: labels for name, labels in known.items() if labels})


def _ruled_out(work: Work) -> dict[str, list[str]]:
    """By attribute, as the policy read it."""
    said = cast("Mapping[str, Any]", work.policy.adversary.rule_out or {})
    return {name: [str(each) for each in labels] for name, labels in said.items()}


def _nulls(desk: Desk, _: str, value: Any) -> Work:
    return desk.work.with_adversary(nulls=str(value) or None)


def _prior(desk: Desk, of: str, value: Any) -> Work:
    before = desk.work.document.get("adversary", {}).get("prior")
    others = {name: given for name, given in before.items() if name != of} if isinstance(before, dict) else {}
    path = str(value).strip()
    desk.work = desk.work.with_adversary(prior={**others, **({of: path} if path else {})})
    measured_before(desk)  # a file that is not there, or does not fit, is refused before anything changes
    return desk.work


# --- controls ---------------------------------------------------------------------------------------------------------
def _controls(desk: Desk, measured: Any) -> Iterator[Html]:
    """Also where nothing could be measured, so that it can be mended."""
    work, her = desk.work, desk.work.policy.adversary
    yield el("h2", "The adversary knows")
    yield el("p", summary.listed(work.names("quasi_identifiers")), " of somebody, and that the person is in the table.")
    yield labelled("and an empty cell", choice("nulls", _NULLS, her.nulls or ""))
    beliefs = {} if measured is None else measured.beliefs
    for attribute in work.names("sensitive"):
        yield el("h2", "She believes of ", html.value(attribute))
        said = work.document.get("adversary", {}).get("prior")
        path = said.get(attribute, "") if isinstance(said, dict) else said or ""
        field = void(
            "input", type="text", name="prior", data_of=attribute, value=path, placeholder="as in the whole table"
        )
        yield labelled("beforehand", field, small="or a CSV file of values and their probabilities")
        ruled_out = set(_ruled_out(work).get(attribute, ()))
        there = beliefs[attribute].cells.domain.labels if attribute in beliefs else ()
        labels = sorted({*map(str, (each for each in there if each is not None)), *ruled_out})
        if labels and len(labels) <= _MOST_VALUES and not work.hidden:
            ticks = [
                tick("rule_out", html.value(label), on=label in ruled_out, of=json.dumps([attribute, label]))
                for label in labels
            ]
            head = f"rules out {len(ruled_out)} of {len(labels)} values" if ruled_out else "rules nothing out"
            yield el("details", el("summary", head), *ticks)


# --- the view ---------------------------------------------------------------------------------------------------------
def show(desk: Desk, changed: bool) -> None:  # noqa: FBT001 - as every place
    """The answer, the scoreboard, the classes, and what sets of columns tell."""
    if not needs_table(desk):
        return
    work = desk.work
    desk.say(head=f"{work.name} · {desk.rows:,} rows")
    promised = bool(work.policy.promises)
    if promised:
        desk.same_as(work.command("check"), f"print(dv.check({TABLE}, {POLICY}))")
    else:
        roles, her = known_roles(work.policy), work.policy.adversary
        flags = (*role_flags(roles), *views.provenance.adversary_flags(her))
        given = "".join(f", {role}={names!r}" for role, names in roles.items())
        given += f", adversary=dv.Policy.load({POLICY}).adversary" if her.given else ""
        desk.same_as(work.command("measure", *flags, policy=False), f"print(dv.measure({TABLE}{given}))")
    if not work.policy.roles.get("quasi_identifiers"):
        raise BadInput("no column is a quasi-identifier", hint="say on the tab Table which columns others may know")
    if not changed:
        beside = el("div", el("div", id="classes"), el("div", id="class"), class_="two")
        desk.put("view", el("div", id="answer"), beside, *(el("div", id=each) for each in ("kept", "known")))
    try:
        measured = measured_before(desk)
    except DivulgeError:
        desk.put("controls", *_controls(desk, None))
        raise
    if not changed:
        desk.put("controls", *_controls(desk, measured))
    verdict = judge(measured, work.policy.promises) if promised and measured.survey is None else None
    lines_kept = summary.lines_of(verdict.outcomes) if verdict is not None else []
    lens = summary.Lens(public=work.hidden)
    told = el("p", summary.answer(measured, lens), summary.kept(lines_kept), class_="verdict")
    desk.put("answer", el("h1", "What ", html.value(work.name), " tells"), told, summary.four_tiles(measured))
    if work.hidden:  # a class is known by its values
        desk.put("classes", card("Who is at risk", el("p", "The values are hidden.", class_="lead")))
        desk.put("class")
    else:
        desk.put("classes", _classes(desk, measured, verdict))
        desk.put("class", _one_class(desk, measured))
    if verdict is not None:
        lead = "Of the table as it came, before anything is made coarser."
        desk.put("kept", card("Against what is promised", summary.scoreboard(lines_kept), lead=lead))
    else:
        desk.put("kept")
    desk.put("known", *_known(desk, measured))


def _names(desk: Desk, measured: Any) -> dict[str, int]:
    """Each class by its name, as a picture shows it."""

    def named() -> dict[str, int]:
        contingency = measured.contingency
        return {values.visible(values.class_name(contingency.class_key(at))): at for at in range(len(contingency))}

    return desk.by_policy("names of classes", named, *_NOT_LOOKED_AT)


def _worst(measured: Any) -> list[int]:
    """The classes that tell most, or where nothing is sensitive the smallest ones."""
    sizes = measured.contingency.sizes
    if not measured.beliefs:
        return [int(at) for at in metrics.worst_first(-sizes.astype(float), sizes, most=_WORST)]
    found: dict[int, float] = {}
    for attribute in measured.beliefs:
        numbers = measured.per_class(metrics.leading_metric("sensitive").name, attribute)
        for at in metrics.worst_first(numbers, sizes, most=_WORST):
            found[int(at)] = max(found.get(int(at), 0.0), float(numbers[at]))
    return sorted(found, key=lambda at: -found[at])[:_WORST]


def _classes(desk: Desk, measured: Any, verdict: Any) -> Html:
    drawn = None
    if measured.beliefs:
        picture = html.figure(charts.as_json((verdict or measured).chart()))
        drawn = el("div", picture, data_click="look", data_field="class")
    names = {at: name for name, at in _names(desk, measured).items()}
    tells = {attribute: _leakage(measured, attribute) for attribute in measured.beliefs}
    rows = [
        [html.key_of(measured.contingency.class_key(at)), f"{int(measured.contingency.sizes[at]):,}",
         *(words.number(float(numbers[at])) for each in tells.values() for numbers in each.values()),
         button("look", "look", value=names[at], label=f"look at {names[at]}")]
        for at in _worst(measured)
    ]  # fmt: skip
    told = [f"{name} of {values.visible(attribute)}" for attribute, each in tells.items() for name in each]
    head = ("class", "people", *told, "")
    listed = el("details", el("summary", f"the {len(rows)} classes that tell most"), html.table(head, rows))
    lead = "A class is everybody who looks alike to her. Click one to see what she learns about the people in it."
    return card("Who is at risk", drawn, listed, lead=lead)


def _leakage(measured: Any, attribute: str) -> dict[str, Any]:
    """What each class tells, by the metrics that are drawn, in words."""
    drawn = [each for each in usual_metrics() if each.scope == "sensitive" and each.ranked]
    units = {"bits": ", bits"}
    return {
        f"{words.metric_words(each.name)}{units.get(each.unit, '')}": measured.per_class(each.name, attribute)
        for each in drawn
    }


def _one_class(desk: Desk, measured: Any) -> Html:
    """The class that somebody looks at: what was believed before, and after."""
    names = _names(desk, measured)
    worst = _worst(measured)
    at = names.get(desk.work.look, worst[0] if worst else 0)
    key, size = measured.contingency.class_key(at), int(measured.contingency.sizes[at])
    found = measured.of_class(**key)
    told = (
        "alone: whoever knows these values knows whose record it is"
        if size == 1
        else f"{words.people(size)} look like this"
    )
    cards = [
        html.class_card(
            html.joined(("what is believed of ", html.value(attribute))),
            "; ".join(
                f"{name}: {words.number(float(numbers[at]))}" for name, numbers in _leakage(measured, attribute).items()
            ),
            [(each.value, each.before, each.after) for each in _shown(shares)],
        )
        for attribute, shares in found.shares.items()
    ]
    return card(html.key_of(key), el("div", *cards, class_="cards"), lead=f"{told}, of {measured.people:,}.")


def _shown(shares: Any) -> list[Any]:
    """The values that changed most, the most likely first."""
    chosen = sorted(shares, key=lambda each: -abs(each.after - each.before))[:8]
    return sorted(chosen, key=lambda each: (-each.after, -each.before))


def _known(desk: Desk, measured: Any) -> Iterator[Html]:
    """What sets of columns tell, where they are few enough to look at each; and how many people look alike."""
    known = measured.settings["quasi_identifiers"]
    drawn = [charts.class_sizes(measured)]
    if 1 < len(known) <= _MOST_RANKED and not measured.overlapping:
        told = measured.settings
        roles = {"quasi_identifiers": known, "sensitive": told["sensitive"], "person": told["person"]}

        def ranked() -> Any:
            desk.progress("looking at every set of columns that she may know")
            return dv.rank(desk.table, **roles, adversary=dv.Adversary(nulls=told["nulls"]), up_to=len(known))

        found = desk.by_policy("ranking", ranked, *_NOT_LOOKED_AT)
        drawn += [draw(found) for draw in (charts.known_columns, charts.sets)]
    pictures = [el("div", html.figure(charts.as_json(each)), class_="card") for each in drawn]
    yield el("div", *pictures[:2], class_="pictures")
    yield from pictures[2:]


PLACE = Place(
    "risk", "Risk", show, {"look": _look, "rule_out": _rule_out, "nulls": _nulls, "prior": _prior}
)  # fmt: skip
