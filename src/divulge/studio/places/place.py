# SPDX-License-Identifier: Apache-2.0
"""What a place is, and the controls that all of them use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import divulge as dv
from divulge import metrics
from divulge.errors import BadInput
from divulge.policy import Policy
from divulge.studio.desk import Desk
from divulge.studio.work import Work
from divulge.views import html

Html: TypeAlias = html.Html
el = html.el
Edit = Callable[[Desk, str, Any], Work | None]
"""What a control does: the work that follows, of what the control is about and its value; None: the work stays."""


@dataclass(frozen=True)
class Place:
    """One tab."""

    name: str
    title: str
    show: Callable[[Desk, bool], None]
    """Fills the page; with True only what a change of its controls changes."""
    edits: Mapping[str, Edit] = field(default_factory=dict)

    def edit(self, name: str) -> Edit:
        """What a control does."""
        if name not in self.edits:
            raise BadInput(f"nothing is called {name!r} in {self.title}")
        return self.edits[name]


def needs_table(desk: Desk) -> bool:
    """Whether there is something to show; where not, the page says where to begin."""
    if desk.is_open:
        return True
    desk.put("controls")
    link = el("a", "Open a table", href="table", class_="button")
    desk.put(
        "view",
        el("div", el("h1", "No table is open"), el("p", "Everything here is about a table."), link, class_="card"),
    )
    desk.same_as("divulge studio TABLE")
    return False


def known_roles(policy: Policy) -> dict[str, Any]:
    """As dv.measure takes them: what is published and how is no matter to it."""
    return {role: names for role, names in policy.roles.items() if names and role not in ("leave_out", "plain")}


def measured_before(desk: Desk) -> Any:
    """The table as it came, measured."""

    def measured() -> Any:
        policy, table = desk.work.policy, desk.table
        desk.progress("measuring the table as it came")
        return dv.measure(table, **known_roles(policy), adversary=policy.adversary)

    return desk.by_policy(
        "before",
        measured,
        "method",
        "promises",
        "suppression",
        "hierarchies",
        "protect",
        "alone_share",
        "plain",
        "leave_out",
    )


def usual_metrics() -> list[Any]:
    """What is promised so often that it has a control of its own, the most usual first."""
    return sorted((metric for metric in metrics.METRICS if metric.common), key=lambda metric: metric.common)


def number_given(value: Any) -> float:
    """What a field for numbers holds."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise BadInput(f"{value!r} is not a number")
    return found


def whole_given(value: Any) -> int:
    """What a field for whole numbers holds."""
    return int(number_given(value))


def labelled(words: Any, control: Html, *, small: Any = None) -> Html:
    """A control under its name."""
    return el("label", el("span", words), control, el("small", small) if small else None, class_="field")


def choice(
    name: str, options: Iterable[tuple[str, Any]], chosen: str, *, of: str = "", label: str | None = None
) -> Html:
    """One of several."""
    made = [
        el("option", words, value=value, selected="selected" if value == chosen else None) for value, words in options
    ]
    return el("select", *made, name=name, data_of=of, aria_label=label)


def tick(name: str, words: Any, *, on: bool, of: str = "") -> Html:
    """Yes or no."""
    box = void("input", type="checkbox", name=name, data_of=of, checked="checked" if on else None)
    return el("label", box, el("span", words), class_="tick")


def button(
    name: str, words: Any, *, of: str = "", value: str = "", main: bool = False, label: str | None = None
) -> Html:
    """Does something when it is pressed."""
    kind = "button main" if main else "button"
    return el("button", words, type="button", name=name, data_of=of, value=value, class_=kind, aria_label=label)


def slide(
    name: str, of: str, label: str, value: float, between: tuple[float, float, float], *, most: float | None = None
) -> Html:
    """A slider and a field for the same number."""
    low, high, step = between
    common = {"name": name, "data_of": of, "value": f"{value:g}", "min": f"{low:g}"}
    slider = void("input", type="range", max=f"{high:g}", step=f"{step:g}", aria_label=label, **common)
    upper = None if of and most is None else most
    field = void("input", type="number", step="any", max=upper, aria_label=f"{label}: number", **common)
    return el("div", slider, field, class_="slide")


def void(name: str, /, **attributes: Any) -> Html:
    """An element without an end."""
    return Html(el(name, **attributes).removesuffix(f"</{name}>"))


def card(title: Any, *parts: Any, lead: Any = None) -> Html:
    """Something with a heading."""
    return el("section", el("h2", title), el("p", lead, class_="lead") if lead else None, *parts, class_="card")


def meter(share: float, told: str) -> Html:
    """A share of the whole, as a bar."""
    width = max(0.0, min(share, 1.0)) * 100
    rail = el("rect", class_="rail", x=0, y=5, width=100, height=8, rx=2)
    bar = el("rect", class_="after", x=0, y=5, width=f"{width:.1f}", height=8, rx=min(2, width))
    return el(
        "svg", rail, bar, class_="bar", viewBox="0 0 100 18", preserveAspectRatio="none", role="img", aria_label=told
    )


def shown_name(name: str) -> Html:
    """The name of a column."""
    return html.value(name)
