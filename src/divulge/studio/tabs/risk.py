# SPDX-License-Identifier: Apache-2.0
"""The tab Risk: disclosure risk of the original table, the classes at risk, and the adversary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import divulge as dv
from divulge import charts, metrics
from divulge.errors import BadInput, DivulgeError
from divulge.output import formatting, html, summary
from divulge.policy import judge
from divulge.studio.session_state import SessionState
from divulge.studio.tabs.tab import (
    Html,
    Tab,
    button,
    card,
    checkbox,
    common_metrics,
    dropdown,
    el,
    labeled_field,
    measure_original,
    measure_roles,
    require_table,
    void_element,
)
from divulge.studio.worker import Worker
from divulge.text import class_name, visible

_WORST_COUNT = 12
_LARGEST_DOMAIN = 40
"""Largest number of an attribute's values that can be ruled out one by one."""
_LARGEST_RANKING = 7
"""Largest number of quasi-identifiers for which every subset is measured."""
_IRRELEVANT_PARTS = ("method", "promises", "suppression", "hierarchies", "protect", "unique_share")
"""Parts of a policy that do not affect the measurement of the original table."""
_NULLS = (
    ("", "is a value like any other"),
    ("drop", "leaves its row out"),
    ("wildcard", "may be anything"),
)


# --- functions of the controls --------------------------------------------------------------------
def _select_class(worker: Worker, _: str, value: Any) -> SessionState:
    return replace(worker.state, look=str(value))


def _set_rule_out(worker: Worker, subject: str, value: Any) -> SessionState:
    try:
        attribute, label = map(str, json.loads(subject))
    except ValueError:
        raise BadInput(f"{subject!r} is no value of an attribute") from None
    labels_by_attribute = _ruled_out_values(worker.state)
    remaining = [
        other_label
        for other_label in labels_by_attribute.get(attribute, [])
        if other_label != label
    ]
    if value:
        labels_by_attribute[attribute] = [*remaining, label]
    else:
        labels_by_attribute[attribute] = remaining
    return worker.state.with_adversary(
        rule_out={name: labels for name, labels in labels_by_attribute.items() if labels}
    )


def _ruled_out_values(state: SessionState) -> dict[str, list[str]]:
    """Return the ruled-out values by attribute, as the policy states them."""
    rule_out = cast("Mapping[str, Any]", state.policy.adversary.rule_out or {})
    return {name: [str(value) for value in labels] for name, labels in rule_out.items()}


def _set_nulls(worker: Worker, _: str, value: Any) -> SessionState:
    return worker.state.with_adversary(nulls=str(value) or None)


def _set_prior(worker: Worker, subject: str, value: Any) -> SessionState:
    before = worker.state.document.get("adversary", {}).get("prior")
    if isinstance(before, dict):
        others = {name: prior for name, prior in before.items() if name != subject}
    else:
        others = {}
    path = str(value).strip()
    worker.state = worker.state.with_adversary(
        prior={**others, **({subject: path} if path else {})}
    )
    # a file that is missing or does not fit raises an error before anything changes
    measure_original(worker)
    return worker.state


# --- controls -------------------------------------------------------------------------------------
def _controls(worker: Worker, measured: Any) -> Iterator[Html]:
    """Yield the controls, even if the measurement failed, so that its cause can be corrected."""
    state = worker.state
    adversary = worker.state.policy.adversary
    yield el("h2", "The adversary knows")
    yield el(
        "p",
        summary.listed(state.names("quasi_identifiers")),
        " of somebody, and that the person is in the table.",
    )
    yield labeled_field("and an empty cell", dropdown("nulls", _NULLS, adversary.nulls or ""))
    if measured is None:
        beliefs = {}
    else:
        beliefs = measured.beliefs
    for attribute in state.names("sensitive"):
        yield el("h2", "She believes of ", html.value(attribute))
        prior = state.document.get("adversary", {}).get("prior")
        if isinstance(prior, dict):
            path = prior.get(attribute, "")
        else:
            path = prior or ""
        field = void_element(
            "input",
            type="text",
            name="prior",
            data_of=attribute,
            value=path,
            placeholder="as in the whole table",
        )
        yield labeled_field(
            "beforehand", field, small="or a CSV file of values and their probabilities"
        )
        ruled_out = set(_ruled_out_values(state).get(attribute, ()))
        if attribute in beliefs:
            domain_labels = beliefs[attribute].cells.domain.labels
        else:
            domain_labels = ()
        labels = sorted(
            {*map(str, (value for value in domain_labels if value is not None)), *ruled_out}
        )
        if labels and len(labels) <= _LARGEST_DOMAIN and not state.hidden:
            ticks = [
                checkbox(
                    "rule_out",
                    html.value(label),
                    on=label in ruled_out,
                    subject=json.dumps([attribute, label]),
                )
                for label in labels
            ]
            if ruled_out:
                head = f"rules out {len(ruled_out)} of {len(labels)} values"
            else:
                head = "rules nothing out"
            yield el("details", el("summary", head), *ticks)


# --- view -----------------------------------------------------------------------------------------
def show(worker: Worker, changed: bool) -> None:  # noqa: FBT001 - as in every tab
    """Show the summary, the classes, the requirements, and the risk by known columns."""
    if not require_table(worker):
        return
    state = worker.state
    worker.send(head=f"{state.name} · {worker.row_count:,} rows")
    _send_equivalents(worker)
    if not state.policy.roles.get("quasi_identifiers"):
        raise BadInput(
            "no column is a quasi-identifier",
            hint="say on the tab Table which columns others may know",
        )
    if not changed:
        two_columns = el("div", el("div", id="classes"), el("div", id="class"), class_="two")
        worker.put_part(
            "view",
            el("div", id="answer"),
            two_columns,
            *(el("div", id=element_id) for element_id in ("kept", "known")),
        )
    try:
        measured = measure_original(worker)
    except DivulgeError:
        worker.put_part("controls", *_controls(worker, None))
        raise
    if not changed:
        worker.put_part("controls", *_controls(worker, measured))
    if state.policy.promises and measured.survey is None:
        verdict = judge(measured, state.policy.promises)
    else:
        verdict = None
    if verdict is not None:
        lines_kept = summary.lines_of(verdict)
    else:
        lines_kept = []
    lens = summary.DisclosureRule(public=state.hidden)
    headline = el(
        "p",
        summary.answer(measured, lens),
        summary.requirements_sentence(lines_kept),
        class_="verdict",
    )
    notes = None
    if measured.notes and not state.hidden:  # a note may name values
        notes = html.bullets(*(formatting.noted(note) for note in measured.notes))
    worker.put_part(
        "answer",
        el("h1", "What ", html.value(state.name), " tells"),
        headline,
        summary.four_tiles(measured),
        notes,
    )
    if state.hidden:  # the values of a class identify it
        worker.put_part(
            "classes", card("Who is at risk", el("p", "The values are hidden.", class_="lead"))
        )
        worker.put_part("class")
    else:
        worker.put_part("classes", _classes_card(worker, measured, verdict))
        worker.put_part("class", _class_card(worker, measured))
    if verdict is not None:
        lead = "Of the table as it came, before anything is made coarser."
        worker.put_part(
            "kept", card("Against what is promised", summary.scoreboard(lines_kept), lead=lead)
        )
    else:
        worker.put_part("kept")
    worker.put_part("known", *_knowledge_charts(worker, measured))


def _send_equivalents(worker: Worker) -> None:
    """Send the equivalent command and Python code: a policy check, or else a measurement."""
    state = worker.state
    if state.policy.promises:
        call = state.invocation("check")
    else:
        call = replace(
            state.invocation("measure", measure_roles(state.policy), policy=False),
            adversary=state.policy.adversary.explicit_settings,
        )
    worker.send_equivalents(call.as_command(), f"print({call.as_python()})")


def _class_indices(worker: Worker, measured: Any) -> dict[str, int]:
    """Return the index of each class by its name, as charts show it."""

    def index_classes() -> dict[str, int]:
        contingency = measured.contingency
        return {
            visible(class_name(contingency.class_key(class_index))): class_index
            for class_index in range(len(contingency))
        }

    return worker.cached_by_policy("names of classes", index_classes, *_IRRELEVANT_PARTS)


def _worst_classes(measured: Any) -> list[int]:
    """Return the classes with the highest leakage, or the smallest without a sensitive column."""
    sizes = measured.contingency.sizes
    if not measured.beliefs:
        return [
            int(class_index)
            for class_index in metrics.worst_first(-sizes.astype(float), sizes, limit=_WORST_COUNT)
        ]
    worst_values: dict[int, float] = {}
    for attribute in measured.beliefs:
        numbers = measured.per_class(metrics.leading_metric("sensitive").name, attribute)
        for class_index in metrics.worst_first(numbers, sizes, limit=_WORST_COUNT):
            worst_values[int(class_index)] = max(
                worst_values.get(int(class_index), 0.0), float(numbers[class_index])
            )
    return sorted(worst_values, key=lambda class_index: -worst_values[class_index])[:_WORST_COUNT]


def _classes_card(worker: Worker, measured: Any, verdict: Any) -> Html:
    chart_html = None
    if measured.beliefs:
        picture = html.figure(charts.as_json((verdict or measured).chart()))
        chart_html = el("div", picture, data_click="look", data_field="class")
    names = {class_index: name for name, class_index in _class_indices(worker, measured).items()}
    leakage_by_attribute = {
        attribute: _class_leakage(measured, attribute) for attribute in measured.beliefs
    }
    rows = [
        [
            html.key_of(measured.contingency.class_key(class_index)),
            f"{int(measured.contingency.sizes[class_index]):,}",
            *(
                formatting.number(float(numbers[class_index]))
                for leakage in leakage_by_attribute.values()
                for numbers in leakage.values()
            ),
            button("look", "look", value=names[class_index], label=f"look at {names[class_index]}"),
        ]
        for class_index in _worst_classes(measured)
    ]
    metric_labels = [
        f"{name} of {visible(attribute)}"
        for attribute, leakage in leakage_by_attribute.items()
        for name in leakage
    ]
    head = ("class", "people", *metric_labels, "")
    class_list = el(
        "details", el("summary", f"the {len(rows)} classes that tell most"), html.table(head, rows)
    )
    lead = (
        "A class is everybody who looks alike to her. Click one to see what she learns about the "
        "people in it."
    )
    return card("Who is at risk", chart_html, class_list, lead=lead)


def _class_leakage(measured: Any, attribute: str) -> dict[str, Any]:
    """Return the leakage of each class, by the name of each metric that charts show."""
    drawn_metrics = [
        metric for metric in common_metrics() if metric.scope == "sensitive" and metric.ranked
    ]
    units = {"bits": ", bits"}
    return {
        f"{formatting.metric_words(metric.name)}{units.get(metric.unit, '')}": measured.per_class(
            metric.name, attribute
        )
        for metric in drawn_metrics
    }


def _class_card(worker: Worker, measured: Any) -> Html:
    """Return the card of the selected class: prior and posterior of each sensitive column."""
    names = _class_indices(worker, measured)
    worst = _worst_classes(measured)
    class_index = names.get(worker.state.look, worst[0] if worst else 0)
    key = measured.contingency.class_key(class_index)
    size = int(measured.contingency.sizes[class_index])
    one_class = measured.of_class(**key)
    if size == 1:
        sentence = "1 person: anyone who knows these values knows whose record it is"
    else:
        sentence = f"{formatting.people(size)} look like this"
    cards = [
        html.class_card(
            html.joined(("what is believed of ", html.value(attribute))),
            "; ".join(
                f"{name}: {formatting.number(float(numbers[class_index]))}"
                for name, numbers in _class_leakage(measured, attribute).items()
            ),
            [
                (value_share.value, value_share.before, value_share.after)
                for value_share in _most_changed(shares)
            ],
        )
        for attribute, shares in one_class.shares.items()
    ]
    return card(
        html.key_of(key),
        el("div", *cards, class_="cards"),
        lead=f"{sentence}, of {measured.people:,}.",
    )


def _most_changed(shares: Any) -> list[Any]:
    """Return the values with the largest change of probability, the most likely first."""
    chosen = sorted(shares, key=lambda share: -abs(share.after - share.before))[:8]
    return sorted(chosen, key=lambda share: (-share.after, -share.before))


def _knowledge_charts(worker: Worker, measured: Any) -> Iterator[Html]:
    """Yield charts of class sizes and, for few quasi-identifiers, of the risk of each subset."""
    quasi_identifiers = measured.settings["quasi_identifiers"]
    specs = [charts.class_sizes(measured)]
    if 1 < len(quasi_identifiers) <= _LARGEST_RANKING and not measured.overlapping:
        settings = measured.settings
        roles = {
            "quasi_identifiers": quasi_identifiers,
            "sensitive": settings["sensitive"],
            "person": settings["person"],
        }

        def rank() -> Any:
            worker.begin_step("looking at every set of columns that she may know")
            return dv.rank(
                worker.table,
                **roles,
                adversary=dv.Adversary(nulls=settings["nulls"]),
                up_to=len(quasi_identifiers),
            )

        ranking = worker.cached_by_policy("ranking", rank, *_IRRELEVANT_PARTS)
        specs += [draw(ranking) for draw in (charts.known_columns, charts.sets)]
    pictures = [el("div", html.figure(charts.as_json(spec)), class_="card") for spec in specs]
    yield el("div", *pictures[:2], class_="pictures")
    yield from pictures[2:]


TAB = Tab(
    "risk",
    "Risk",
    show,
    {"look": _select_class, "rule_out": _set_rule_out, "nulls": _set_nulls, "prior": _set_prior},
)
