# SPDX-License-Identifier: Apache-2.0
"""HTML parts for notebooks and reports.

The parts are tile, scoreboard row, class card, interval row, price row, table and chart.

Markup has its own type: everything that is not `Html` is text and is escaped when it enters a page.
Nobody can forget to escape it. Characters that are invisible or change how others are read
(control, bidi, zero width) are written as their numbers. A part has no id and no inline style.
Parts can therefore share a page, and a page may forbid everything but its own style sheet.
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

from divulge.output.formatting import number, percent
from divulge.text import visible

_BAR_WIDTH = 200
"""Width of bars in units of the drawing; a page scales them."""
_MOST_SVG_BYTES = 150_000
"""Largest size of an embedded SVG in bytes; larger charts are embedded as PNG."""


class Html(str):
    """Markup that enters a page without escaping."""

    __slots__ = ()


def escape(text: Any) -> Html:
    """Escape any value as text of a page; markup is returned unchanged."""
    if isinstance(text, Html):
        return text
    plain_text = str(text)
    if plain_text.isascii() and plain_text.isprintable():
        return Html(html.escape(plain_text))
    letters = ((char, visible(char)) for char in plain_text)
    return Html(
        "".join(
            html.escape(char) if char == visible_char else _char_span(visible_char)
            for char, visible_char in letters
        )
    )


def _char_span(visible_char: str) -> str:
    return f'<span class="char">{visible_char}</span>'


def el(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Build one element; children and attributes are escaped, and None is omitted.

    >>> el("p", "1 < 2 ", el("b", "yes"), class_="lead")
    '<p class="lead">1 &lt; 2 <b>yes</b></p>'
    """
    present_attributes = {
        key.rstrip("_").replace("_", "-"): value
        for key, value in attributes.items()
        if value is not None
    }
    head = "".join(
        f' {key}="{html.escape(visible(str(value)))}"' for key, value in present_attributes.items()
    )
    return Html(f"<{name}{head}>{joined(children)}</{name}>")


def joined(parts: Iterable[Any]) -> Html:
    """Concatenate parts, escaping text."""
    return Html("".join(escape(part) for part in parts if part is not None))


def value(cell: Any) -> Html:
    """Format a cell value, isolated so that its text direction affects nothing else."""
    if cell is None:
        return el("i", "null")
    if isinstance(cell, float):
        return escape(number(cell))
    return el("bdi", str(cell))


def key_of(class_key: Mapping[str, Any]) -> Html:
    """Format the key of a class."""
    parts = [joined((el("bdi", name), " ", value(cell))) for name, cell in class_key.items()]
    return Html(", ".join(parts))


# --- parts ----------------------------------------------------------------------------------------
def tile(figure: str, words: Any, *, bad: bool = False, good: bool = False) -> Html:
    """Build a tile with one number and its meaning."""
    kind = "tile"
    if bad:
        kind = "tile bad"
    elif good:
        kind = "tile ok"
    return el("div", el("b", figure), el("span", words), class_=kind)


def tiles(*children: Html) -> Html:
    """Arrange tiles in rows, as many in a row as fit."""
    return el("div", *children, class_="tiles")


_CHIP_TEXTS = {"open": "not shown here", "ok": "holds", "bad": "broken"}


def chip(kind: Literal["ok", "bad", "open"], words: str | None = None) -> Html:
    """Build a label for holds, broken or open, in words and not only in color."""
    return el("span", words or _CHIP_TEXTS[kind], class_=f"chip {kind}")


def bar(measured: float, bound: float, *, holds: bool) -> Html:
    """Draw a bullet bar of a measured number, with a line at the bound.

    The line is in the middle: twice the bound fills the bar.
    """
    if bound and math.isfinite(measured) and math.isfinite(bound):
        share = measured / (2 * bound)
    else:
        share = float(measured > bound)
    return _drawing(
        f"{number(measured)} against {number(bound)}",
        _rect("rail", 0, 5, _BAR_WIDTH, 8),
        _rect("ok" if holds else "bad", 0, 5, _BAR_WIDTH * min(max(share, 0.0), 1.0), 8),
        _rect("bound", _BAR_WIDTH / 2 - 1, 1, 2, 16),
    )


def _drawing(label: str, *shapes: Html) -> Html:
    return el(
        "svg",
        *shapes,
        class_="bar",
        viewBox=f"0 0 {_BAR_WIDTH} 18",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Html:
    return el(
        "rect",
        class_=kind,
        x=f"{x:.1f}",
        y=y,
        width=f"{max(width, 0):.1f}",
        height=height,
        rx=min(height, width) // 4,
    )


def scoreboard_row(
    name: Any,
    bound: Any,
    measured: float | None,
    limit: float | None,
    *,
    holds: bool | None,
    why: Any = "",
) -> Html:
    """Build the row of a requirement: bound, measured number, verdict and explanation.

    `measured` and `limit` are None if no number is shown. `holds` is None if the requirement could
    not be checked.
    """
    bullet_bar = None
    if measured is not None and limit is not None:
        bullet_bar = bar(measured, limit, holds=bool(holds))
    kind: Literal["ok", "bad", "open"] = "open"
    if holds is not None:
        if holds:
            kind = "ok"
        else:
            kind = "bad"
    return el(
        "tr",
        el("th", name, el("small", bound), scope="row"),
        el("td", "" if measured is None else number(measured), class_="num"),
        el("td", bullet_bar, class_="wide"),
        el("td", chip(kind)),
        el("td", why, class_="why"),
    )


def interval_row(
    name: Any,
    small: Any,
    *,
    point: float,
    baseline: float | None = None,
    bound: float | None = None,
    low: float | None = None,
    high: float | None = None,
    cells: Mapping[str, str] | None = None,
) -> Html:
    """Build the row of an estimated share with its interval, a baseline (gray) and a bound.

    All shares are between 0 and 1. `cells` follow the bar, by default the three shares. On a phone
    the table has no head, so each cell shows its name.
    """
    shapes = [_rect("rail", 0, 8, _BAR_WIDTH, 2)]
    if low is not None and high is not None:
        shapes.append(_rect("after", _BAR_WIDTH * low, 6, max(_BAR_WIDTH * (high - low), 2), 6))
    shapes.append(_rect("after", min(_BAR_WIDTH * point, _BAR_WIDTH - 4), 3, 4, 12))
    if baseline is not None:
        shapes += [_rect("before", min(_BAR_WIDTH * baseline, _BAR_WIDTH - 2), 2, 2, 14)]
    if bound is not None:
        shapes += [_rect("limit", min(_BAR_WIDTH * bound, _BAR_WIDTH - 2), 1, 2, 16)]
    labels = [f"{percent(point)}", *([f"bound {percent(bound)}"] if bound is not None else [])]
    shares = [("" if share is None else percent(share), None) for share in (point, baseline, bound)]
    cell_texts = shares if cells is None else [(text, name) for name, text in cells.items()]
    return el(
        "tr",
        el("th", name, el("small", small), scope="row"),
        el("td", _drawing(", ".join(labels), *shapes), class_="wide"),
        *(el("td", text, class_="num", data_name=name) for text, name in cell_texts),
    )


def price_row(
    name: Any, does: Any, numbers: Sequence[Any], note: Any, *, now: bool = False
) -> Html:
    """Build the row of an alternative: without a requirement, or with another method."""
    cells = [el("td", cell_number, class_="num") for cell_number in numbers]
    return el(
        "tr",
        el("th", name, scope="row"),
        el("td", does, class_="why"),
        *cells,
        el("td", note, class_="why"),
        class_="now" if now else None,
    )


def rows_of_parts(
    head: Sequence[str], body: Iterable[Html], *, caption: str, numbers: Sequence[int] = ()
) -> Html:
    """Build a table of rows that are already HTML."""
    cells = [
        el("th", name, scope="col", class_="num" if column in numbers else None)
        for column, name in enumerate(head)
    ]
    return el(
        "table",
        el("caption", caption, hidden="hidden"),
        el("thead", el("tr", *cells)),
        el("tbody", *body),
        class_="stack",
    )


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], *, most: int | None = None) -> Html:
    """Build a table with right-aligned numbers, and state how many rows are not shown."""
    all_rows = [list(row) for row in rows]
    if most is None:
        visible_rows = all_rows
    else:
        visible_rows = all_rows[:most]
    right = {
        column
        for column in range(len(head))
        if any(_is_number(row[column]) for row in visible_rows)
    }
    cells = [
        el("th", name, scope="col", class_="num" if column in right else None)
        for column, name in enumerate(head)
    ]
    body = [
        el("tr", *(_cell(cell, column in right) for column, cell in enumerate(row)))
        for row in visible_rows
    ]
    if len(all_rows) > len(visible_rows):
        more = el("p", f"… and {len(all_rows) - len(visible_rows):,} more", class_="lead")
    else:
        more = None
    return joined(
        (
            el(
                "div",
                el("table", el("thead", el("tr", *cells)), el("tbody", *body)),
                class_="scroll",
                tabindex="0",
            ),
            more,
        )
    )


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _cell(cell: Any, right: bool) -> Html:  # noqa: FBT001 - one of two columns
    content: str
    if cell is None:
        content = ""
    elif isinstance(cell, Html):
        content = cell
    elif _is_number(cell):
        content = number(cell)
    elif isinstance(cell, bool):
        if cell:
            content = "yes"
        else:
            content = "no"
    else:
        content = value(cell)
    return el("td", content, class_="num" if right else None)


def share_row(label: Any, before: float, after: float) -> Html:
    """Build the row of one value of a class: share before (gray) and after (colored)."""
    bars = _drawing(
        f"{percent(before)} before, {percent(after)} in this class",
        _rect("before", 0, 2, _BAR_WIDTH * before, 6),
        _rect("after", 0, 10, _BAR_WIDTH * after, 6),
    )
    numbers = el("td", f"{percent(before)} → {percent(after)}", class_="num")
    return el("tr", el("th", value(label), scope="row"), el("td", bars, class_="wide"), numbers)


def class_card(name: Any, words: Any, shares: Sequence[tuple[Any, float, float]] = ()) -> Html:
    """Build the card of a class: name, explanation, and values before and after."""
    if shares:
        bars = el("table", el("tbody", *(share_row(*share) for share in shares)), class_="shares")
    else:
        bars = None
    key = Html(
        '<div class="key"><span><i></i>without the table</span><span><i class="after"></i>in '
        "this class</span></div>"
    )
    return el("div", el("h3", name), el("p", words), bars, key if shares else None, class_="card")


def bullets(*sentences: Any) -> Html:
    """Build a list of sentences."""
    return el("ul", *(el("li", sentence) for sentence in sentences))


def definitions(entries: Mapping[str, Any]) -> Html:
    """Build a list of names and their definitions."""
    pairs = (
        part
        for name, definition in entries.items()
        for part in (el("dt", name), el("dd", definition))
    )
    return el("dl", *pairs)


def by_line(text: str) -> list[Html | str]:
    """Split text into lines, so that line ends are not written as visible characters."""
    return [
        part
        for line_index, line in enumerate(text.splitlines())
        for part in (Html("\n" if line_index else ""), line)
    ]


# --- charts ---------------------------------------------------------------------------------------
def picture(specification: str) -> Html:
    """Return a chart (Vega-Lite as JSON) as an image.

    An image prints, works in notebooks and cannot run scripts.
    """
    import vl_convert

    spec = json.loads(specification)
    image = str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])).encode()
    kind = "svg+xml"
    if len(image) > _MOST_SVG_BYTES:
        image = bytes(vl_convert.vegalite_to_png(spec, scale=2, allowed_base_urls=[]))
        kind = "png"
    return Html(
        f'<img src="data:image/{kind};base64,{base64.b64encode(image).decode()}" '
        f'alt="{html.escape(title_of(spec))}">'
    )


_WITH_STILLS: ContextVar[bool] = ContextVar("stills", default=True)


@contextmanager
def stills(*, enabled: bool) -> Iterator[None]:
    """Embed the image of each chart, or omit it, within this context.

    Drawing an image takes a second. A page that always runs the drawing script does not need it.
    """
    token = _WITH_STILLS.set(enabled)
    try:
        yield
    finally:
        _WITH_STILLS.reset(token)


def figure(specification: str) -> Html:
    """Return a chart that prints without scripts, and is interactive with them (page.js)."""
    if _WITH_STILLS.get():
        still = picture(specification)
    else:
        still = None
    label = title_of(json.loads(specification))
    script = Html(f'<script type="application/json">{specification}</script>')
    return el("figure", still, script, class_="live", data_label=label)


def title_of(spec: Mapping[str, Any]) -> str:
    """Return the title and the subtitle of a chart as text."""
    title = spec.get("title", "")
    if isinstance(title, Mapping):
        lines = [title.get(part, ()) for part in ("text", "subtitle")]
    else:
        lines = [title]
    return visible(
        " ".join(word for line in lines for word in ([line] if isinstance(line, str) else line))
    )


@cache
def asset(name: str) -> str:
    """Return the content of a file of this package: a style sheet or a script."""
    return (resources.files("divulge.output") / name).read_text(encoding="utf-8")
