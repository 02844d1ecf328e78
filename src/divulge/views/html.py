# SPDX-License-Identifier: Apache-2.0
"""The parts of a page, written once for notebook and report: tile, scoreboard row, class card, interval row, price row, table, chart.

Markup is a type of its own: whatever is not `Html` is text and is escaped where it enters a page, so nobody can forget it. Characters that
cannot be seen, or that change how others are read (control, bidi, zero width), stand there by their numbers. A part holds no id and
no inline style: parts may stand side by side on one page, and a page may forbid everything but its own style sheet.
"""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import resources
from typing import Any, Literal

from divulge import values
from divulge.views.words import number, percent

_BAR = 200
"""How wide bars are drawn, in units of their own; a page scales them."""
_HEAVY = 150_000
"""A picture of more bytes than this goes into a page as pixels, not as lines."""


class Html(str):
    """Markup that goes into a page as it is."""

    __slots__ = ()


def escape(text: Any) -> Html:
    """Any value as text of a page; markup stays."""
    if isinstance(text, Html):
        return text
    told = str(text)
    if told.isascii() and told.isprintable():
        return Html(html.escape(told))
    letters = ((char, values.visible(char)) for char in told)
    return Html("".join(html.escape(char) if char == shown else _marked(shown) for char, shown in letters))


def _marked(shown: str) -> str:
    return f'<span class="char">{shown}</span>'


def el(name: str, /, *children: Any, **attributes: Any) -> Html:
    """One element; children and attributes are escaped, those that are None are left out.

    >>> el("p", "1 < 2 ", el("b", "yes"), class_="lead")
    '<p class="lead">1 &lt; 2 <b>yes</b></p>'
    """
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    head = "".join(f' {key}="{html.escape(values.visible(str(value)))}"' for key, value in given.items())
    return Html(f"<{name}{head}>{joined(children)}</{name}>")


def joined(parts: Iterable[Any]) -> Html:
    """Parts one after the other."""
    return Html("".join(escape(part) for part in parts if part is not None))


def value(given: Any) -> Html:
    """A value of a cell: isolated, so that its direction stays its own, and with every blank."""
    if given is None:
        return el("i", "null")
    if isinstance(given, float):
        return escape(number(given))
    return el("bdi", str(given))


def key_of(given: Mapping[str, Any]) -> Html:
    """A class by its values."""
    parts = [joined((el("bdi", name), " ", value(cell))) for name, cell in given.items()]
    return Html(", ".join(parts))


# --- parts ------------------------------------------------------------------------------------------------------------
def tile(figure: str, words: Any, *, bad: bool = False, good: bool = False) -> Html:
    """One number and what it means."""
    kind = "tile bad" if bad else "tile ok" if good else "tile"
    return el("div", el("b", figure), el("span", words), class_=kind)


def tiles(*given: Html) -> Html:
    """Some of them, as many beside each other as there is room for."""
    return el("div", *given, class_="tiles")


_SAID = {"open": "not shown here", "ok": "holds", "bad": "broken"}


def chip(kind: Literal["ok", "bad", "open"], words: str | None = None) -> Html:
    """Holds, broken, or open; in words, never in colour alone."""
    return el("span", words or _SAID[kind], class_=f"chip {kind}")


def bar(measured: float, bound: float, *, holds: bool) -> Html:
    """A bullet bar: what was measured, against a line at the bound, which stands in the middle; twice the bound fills the bar."""
    share = (
        measured / (2 * bound)
        if bound and math.isfinite(measured) and math.isfinite(bound)
        else float(measured > bound)
    )
    return _drawing(
        f"{number(measured)} against {number(bound)}",
        _rect("rail", 0, 5, _BAR, 8),
        _rect("ok" if holds else "bad", 0, 5, _BAR * min(max(share, 0.0), 1.0), 8),
        _rect("bound", _BAR / 2 - 1, 1, 2, 16),
    )


def _drawing(label: str, *shapes: Html) -> Html:
    return el(
        "svg", *shapes, class_="bar", viewBox=f"0 0 {_BAR} 18", preserveAspectRatio="none", role="img", aria_label=label
    )


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Html:
    return el(
        "rect", class_=kind, x=f"{x:.1f}", y=y, width=f"{max(width, 0):.1f}", height=height, rx=min(height, width) // 4
    )


def scoreboard_row(
    name: Any, bound: Any, measured: float | None, limit: float | None, *, holds: bool | None, why: Any = ""
) -> Html:
    """A promise: its bound, what was measured, whether it holds, and by whom it is broken; None where no number is told."""
    drawn = None if measured is None or limit is None else bar(measured, limit, holds=bool(holds))
    return el(
        "tr",
        el("th", name, el("small", bound), scope="row"),
        el("td", "" if measured is None else number(measured), class_="num"),
        el("td", drawn, class_="wide"),
        el("td", chip("open" if holds is None else "ok" if holds else "bad")),
        el("td", why, class_="why"),
    )


def interval_row(
    name: Any, small: Any, *, point: float, baseline: float | None = None, bound: float | None = None,
    low: float | None = None, high: float | None = None, cells: Mapping[str, str] | None = None,
) -> Html:  # fmt: skip
    """An estimated share with its interval, another one to compare it with (grey), and what the promise allows; all from 0 to 1.

    `cells` follow the bar, by default the three shares; on a phone, where a table has no head, each is told with its name.
    """
    shapes = [_rect("rail", 0, 8, _BAR, 2)]
    if low is not None and high is not None:
        shapes.append(_rect("after", _BAR * low, 6, max(_BAR * (high - low), 2), 6))
    shapes.append(_rect("after", min(_BAR * point, _BAR - 4), 3, 4, 12))
    shapes += [] if baseline is None else [_rect("before", min(_BAR * baseline, _BAR - 2), 2, 2, 14)]
    shapes += [] if bound is None else [_rect("limit", min(_BAR * bound, _BAR - 2), 1, 2, 16)]
    told = [f"{percent(point)}", *([f"bound {percent(bound)}"] if bound is not None else [])]
    shares = [("" if each is None else percent(each), None) for each in (point, baseline, bound)]
    beside = shares if cells is None else [(text, name) for name, text in cells.items()]
    return el(
        "tr",
        el("th", name, el("small", small), scope="row"),
        el("td", _drawing(", ".join(told), *shapes), class_="wide"),
        *(el("td", text, class_="num", data_name=name) for text, name in beside),
    )


def price_row(name: Any, does: Any, numbers: Sequence[Any], told: Any, *, now: bool = False) -> Html:
    """What would change without a promise, or with another method."""
    cells = [el("td", each, class_="num") for each in numbers]
    return el(
        "tr",
        el("th", name, scope="row"),
        el("td", does, class_="why"),
        *cells,
        el("td", told, class_="why"),
        class_="now" if now else None,
    )


def rows_of_parts(head: Sequence[str], body: Iterable[Html], *, caption: str, numbers: Sequence[int] = ()) -> Html:
    """A table of such rows."""
    cells = [el("th", name, scope="col", class_="num" if place in numbers else None) for place, name in enumerate(head)]
    return el(
        "table",
        el("caption", caption, hidden="hidden"),
        el("thead", el("tr", *cells)),
        el("tbody", *body),
        class_="stack",
    )


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], *, most: int | None = None) -> Html:
    """Any table; numbers to the right, each cell escaped, and how many rows are not shown."""
    found = [list(row) for row in rows]
    shown = found if most is None else found[:most]
    right = {
        place for place in range(len(head)) if any(_is_number(row[place]) for row in shown)
    }  # fmt: skip
    cells = [el("th", name, scope="col", class_="num" if place in right else None) for place, name in enumerate(head)]
    body = [el("tr", *(_cell(cell, place in right) for place, cell in enumerate(row))) for row in shown]
    more = el("p", f"… and {len(found) - len(shown):,} more", class_="lead") if len(found) > len(shown) else None
    return joined(
        (el("div", el("table", el("thead", el("tr", *cells)), el("tbody", *body)), class_="scroll", tabindex="0"), more)
    )


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _cell(cell: Any, right: bool) -> Html:  # noqa: FBT001 - one of two columns
    told = (
        cell
        if isinstance(cell, Html)
        else number(cell)
        if _is_number(cell)
        else {True: "yes", False: "no"}[cell]
        if isinstance(cell, bool)
        else value(cell)
    )
    return el("td", "" if cell is None else told, class_="num" if right else None)


def share_row(given: Any, before: float, after: float) -> Html:
    """One value of a class: its share before (grey) and after (coloured)."""
    drawn = _drawing(
        f"{percent(before)} before, {percent(after)} in this class",
        _rect("before", 0, 2, _BAR * before, 6),
        _rect("after", 0, 10, _BAR * after, 6),
    )
    numbers = el("td", f"{percent(before)} → {percent(after)}", class_="num")
    return el("tr", el("th", value(given), scope="row"), el("td", drawn, class_="wide"), numbers)


def class_card(name: Any, words: Any, shares: Sequence[tuple[Any, float, float]] = ()) -> Html:
    """A class, why it stands out in words, and its values before and after."""
    bars = el("table", el("tbody", *(share_row(*each) for each in shares)), class_="shares") if shares else None
    key = Html(
        '<div class="key"><span><i></i>without the table</span><span><i class="after"></i>in this class</span></div>'
    )
    return el("div", el("h3", name), el("p", words), bars, key if shares else None, class_="card")


def bullets(*sentences: Any) -> Html:
    """A list of sentences."""
    return el("ul", *(el("li", each) for each in sentences))


def definitions(given: Mapping[str, Any]) -> Html:
    """Names and what they stand for."""
    pairs = (part for name, told in given.items() for part in (el("dt", name), el("dd", told)))
    return el("dl", *pairs)


def by_line(text: str) -> list[Html | str]:
    """A text of several lines: the end of a line is no character to be shown."""
    return [part for place, line in enumerate(text.splitlines()) for part in (Html("\n" if place else ""), line)]


# --- pictures ---------------------------------------------------------------------------------------------------------
def picture(specification: str) -> Html:
    """A chart (Vega-Lite, as JSON) as an image that needs no script: it prints, shows in a notebook, and can run nothing."""
    import vl_convert

    spec = json.loads(specification)
    drawn, kind = str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])).encode(), "svg+xml"
    if len(drawn) > _HEAVY:
        drawn, kind = bytes(vl_convert.vegalite_to_png(spec, scale=2, allowed_base_urls=[])), "png"
    return Html(
        f'<img src="data:image/{kind};base64,{base64.b64encode(drawn).decode()}" alt="{html.escape(title_of(spec))}">'
    )


_STILLS: ContextVar[bool] = ContextVar("stills", default=True)


@contextmanager
def stills(*, wanted: bool) -> Iterator[None]:
    """With or without the image of each picture, which takes a second: a page that always runs the script that draws them needs none."""
    before = _STILLS.set(wanted)
    try:
        yield
    finally:
        _STILLS.reset(before)


def figure(specification: str) -> Html:
    """A chart that prints as it is, and answers the pointer where scripts run (page.js)."""
    still = picture(specification) if _STILLS.get() else None
    label = title_of(json.loads(specification))
    told = Html(f'<script type="application/json">{specification}</script>')
    return el("figure", still, told, class_="live", data_label=label)


def title_of(spec: Mapping[str, Any]) -> str:
    """What a chart says it shows."""
    title = spec.get("title", "")
    lines = [title.get(part, ()) for part in ("text", "subtitle")] if isinstance(title, Mapping) else [title]
    return values.visible(" ".join(word for line in lines for word in ([line] if isinstance(line, str) else line)))


@cache
def asset(name: str) -> str:
    """A file that lies beside this one: the style sheet, the script."""
    return (resources.files("divulge.views") / name).read_text(encoding="utf-8")
