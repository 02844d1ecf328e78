# SPDX-License-Identifier: Apache-2.0
"""Definition of a tab, and the controls that the tabs share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import divulge as dv
from divulge import metrics
from divulge.errors import BadInput
from divulge.output import html
from divulge.policy import Policy
from divulge.studio.session_state import SessionState
from divulge.studio.worker import Worker

Html: TypeAlias = html.Html
el = html.el
Edit = Callable[[Worker, str, Any], SessionState | None]
"""Function of a control: from its subject and value, return the new session state.

None: the state stays as it is.
"""


@dataclass(frozen=True)
class Tab:
    """One tab."""

    name: str
    title: str
    show: Callable[[Worker, bool], None]
    """Fills the page; with True, only the parts that its own controls affect."""
    edits: Mapping[str, Edit] = field(default_factory=dict)

    def edit(self, name: str) -> Edit:
        """Return the function of a control."""
        if name not in self.edits:
            raise BadInput(f"nothing is called {name!r} in {self.title}")
        return self.edits[name]


def require_table(worker: Worker) -> bool:
    """Return True if a table is open; if not, let the page show how to open one."""
    if worker.has_table:
        return True
    worker.put_part("controls")
    link = el("a", "Open a table", href="table", class_="button")
    worker.put_part(
        "view",
        el(
            "div",
            el("h1", "No table is open"),
            el("p", "Everything here is about a table."),
            link,
            class_="card",
        ),
    )
    worker.send_equivalents("divulge studio TABLE")
    return False


def measure_roles(policy: Policy) -> dict[str, Any]:
    """Return the roles that `dv.measure` takes; it needs neither `leave_out` nor `plain`."""
    return {
        role: names
        for role, names in policy.roles.items()
        if names and role not in ("leave_out", "plain")
    }


def measure_original(worker: Worker) -> Any:
    """Return the measurement of the original table."""

    def measure() -> Any:
        policy = worker.state.policy
        table = worker.table
        worker.begin_step("measuring the table as it came")
        return dv.measure(table, **measure_roles(policy), adversary=policy.adversary)

    return worker.cached_by_policy(
        "before",
        measure,
        "method",
        "promises",
        "suppression",
        "hierarchies",
        "protect",
        "unique_share",
        "plain",
        "leave_out",
    )


def common_metrics() -> list[Any]:
    """Return the metrics with a control of their own, the most common first."""
    return sorted(
        (metric for metric in metrics.METRICS if metric.common), key=lambda metric: metric.common
    )


def parse_number(value: Any) -> float:
    """Parse the value of a field for numbers."""
    try:
        parsed = float(value)
    except (TypeError, ValueError):
        parsed = math.nan
    if not math.isfinite(parsed):
        raise BadInput(f"{value!r} is not a number")
    return parsed


def parse_integer(value: Any) -> int:
    """Parse the value of a field for whole numbers."""
    return int(parse_number(value))


def labeled_field(text: Any, control: Html, *, small: Any = None) -> Html:
    """Return a control with its label above it."""
    return el(
        "label", el("span", text), control, el("small", small) if small else None, class_="field"
    )


def dropdown(
    name: str,
    options: Iterable[tuple[str, Any]],
    selected: str,
    *,
    subject: str = "",
    label: str | None = None,
) -> Html:
    """Return a drop-down list."""
    options_html = [
        el("option", text, value=value, selected="selected" if value == selected else None)
        for value, text in options
    ]
    return el("select", *options_html, name=name, data_of=subject, aria_label=label)


def checkbox(name: str, text: Any, *, on: bool, subject: str = "") -> Html:
    """Return a checkbox with its label."""
    box = void_element(
        "input", type="checkbox", name=name, data_of=subject, checked="checked" if on else None
    )
    return el("label", box, el("span", text), class_="tick")


def button(
    name: str,
    text: Any,
    *,
    subject: str = "",
    value: str = "",
    main: bool = False,
    label: str | None = None,
) -> Html:
    """Return a button."""
    if main:
        kind = "button main"
    else:
        kind = "button"
    return el(
        "button",
        text,
        type="button",
        name=name,
        data_of=subject,
        value=value,
        class_=kind,
        aria_label=label,
    )


def slider_field(
    name: str,
    subject: str,
    label: str,
    value: float,
    bounds: tuple[float, float, float],
    *,
    largest: float | None = None,
) -> Html:
    """Return a slider and a field for the same number."""
    low, high, step = bounds
    common = {"name": name, "data_of": subject, "value": f"{value:g}", "min": f"{low:g}"}
    slider = void_element(
        "input", type="range", max=f"{high:g}", step=f"{step:g}", aria_label=label, **common
    )
    if subject and largest is None:
        upper = None
    else:
        upper = largest
    field = void_element(
        "input", type="number", step="any", max=upper, aria_label=f"{label}: number", **common
    )
    return el("div", slider, field, class_="slide")


def void_element(name: str, /, **attributes: Any) -> Html:
    """Return an element without an end tag."""
    return Html(el(name, **attributes).removesuffix(f"</{name}>"))


def card(title: Any, *parts: Any, lead: Any = None) -> Html:
    """Return a card with a heading."""
    return el(
        "section",
        el("h2", title),
        el("p", lead, class_="lead") if lead else None,
        *parts,
        class_="card",
    )


def share_bar(share: float, label: str) -> Html:
    """Return a bar that shows a share of the whole."""
    width = max(0.0, min(share, 1.0)) * 100
    rail = el("rect", class_="rail", x=0, y=5, width=100, height=8, rx=2)
    bar = el("rect", class_="after", x=0, y=5, width=f"{width:.1f}", height=8, rx=min(2, width))
    return el(
        "svg",
        rail,
        bar,
        class_="bar",
        viewBox="0 0 100 18",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def column_name_html(name: str) -> Html:
    """Return the name of a column as HTML."""
    return html.value(name)
