# SPDX-License-Identifier: Apache-2.0
"""The look of every picture: fonts, colours that the colour-blind can tell apart, a thin grid, no boxes; and texts that a picture can take.

One accent; vermilion warns; green is for "holds" alone; grey is "before"; a dashed line is a promise. Never colour alone: what a colour
says, a place, a shape or a word says too. Fields of the data have names of ours, and texts from tables stand in values only: Vega reads
a dot or a bracket in a field's name as a path, and never evaluates a value.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import altair as alt
from altair.utils.schemapi import debug_mode

from divulge import values

INK, MUTED, GRID = "#1b2a33", "#5d6b73", "#e6ebee"
ACCENT, WARNING, HOLDS, BEFORE = "#0b5d6e", "#c6511a", "#1a7f5a", "#b4c0c7"
SEVERAL = (ACCENT, WARNING, "#e69f00", "#56b4e9", "#8a5a9e", MUTED)
"""For lines of several kinds; dashes tell them apart too."""
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [10, 3])
FONT = 'Inter, system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, "Liberation Sans", sans-serif'
WIDTH, HEIGHT = 460, 300
_TITLE, _SUBTITLE = 58, 84
"""Letters in a line of each."""

_CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "white",
    "view": {"stroke": None},
    "title": {
        "anchor": "start", "frame": "group", "color": INK, "fontSize": 15, "fontWeight": 600, "offset": 14, "lineHeight": 19,
        "subtitleColor": MUTED, "subtitleFontSize": 11.5, "subtitleLineHeight": 15, "subtitlePadding": 5,
    },
    "axis": {
        "gridColor": GRID, "gridWidth": 1, "domain": False, "ticks": False, "labelColor": INK, "labelFontSize": 11, "labelPadding": 6,
        "labelLimit": 0, "labelFlush": False, "titleColor": MUTED, "titleFontSize": 11.5, "titleFontWeight": 400, "titlePadding": 10,
    },
    "axisQuantitative": {"tickCount": 6},
    "axisBand": {"grid": False},
    "legend": {
        "labelColor": INK, "labelFontSize": 11, "labelLimit": 0, "titleColor": MUTED, "titleFontSize": 11, "titleFontWeight": 400,
        "symbolStrokeWidth": 1.5,
    },
    "header": {"labelColor": INK, "labelFontSize": 11.5, "titleColor": MUTED, "labelLimit": 0},
    "text": {"color": INK, "fontSize": 11},
    "bar": {"color": ACCENT},
    "line": {"color": ACCENT, "strokeWidth": 2},
    "point": {"color": ACCENT, "filled": True},
    "range": {"category": list(SEVERAL)},
}  # fmt: skip

Rows = Sequence[Mapping[str, Any]]
_P = ParamSpec("_P")
_R = TypeVar("_R")


def drawn(draw: Callable[_P, _R]) -> Callable[_P, _R]:
    """A picture of ours: Altair does not hold each of its parts against the schema, which took longer than all the rest; tests do."""
    checked = values.checked(draw)

    @functools.wraps(draw)
    def drawing(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with debug_mode(False):  # noqa: FBT003 - Altair's own
            return checked(*args, **kwargs)

    return drawing


class _Rows(alt.InlineData):
    """Data that nobody changes; Altair would copy every cell for each layer."""

    def __deepcopy__(self, memo: Any) -> _Rows:
        return self


def data_of(rows: Rows) -> alt.InlineData:
    """Rows as a chart carries them."""
    return _Rows(values=[dict(row) for row in rows])


def finished(chart: Any, title: str, *subtitle: str) -> Any:
    """The chart in our look, under a title and sentences that say what is seen and what was left out."""
    lines = [line for sentence in subtitle if sentence for line in textwrap.wrap(sentence, _SUBTITLE)]
    heading = alt.TitleParams(text=textwrap.wrap(title, _TITLE), subtitle=lines or alt.Undefined)
    chart.title, chart.config = (
        heading,
        alt.Config(**_CONFIG),
    )  # properties() and configure() would copy all of it, twice
    return chart


_DARK = {
    INK: "#e8eef1", MUTED: "#9fb0b9", GRID: "#33434d", "white": "#16212a",
    ACCENT: "#4cb5c9", WARNING: "#f0864c", HOLDS: "#45b98a", BEFORE: "#5f717c", "#8a5a9e": "#b98fd0", "#000000": "#ffffff",
}  # fmt: skip
"""What each colour becomes on a dark page."""


def in_dark(chart: Any) -> Any:
    """The same picture for a dark page."""
    return alt.Chart.from_dict(_recoloured(chart.to_dict()))


def _recoloured(part: Any) -> Any:
    """Colours of ours stand in marks, scales and the look, never in data, which have no text that is one."""
    if isinstance(part, dict):
        return {key: value if key == "datasets" else _recoloured(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_recoloured(each) for each in part]
    return _DARK.get(part, part) if isinstance(part, str) else part


def readable(value: Any, most: int = 0) -> str:
    """A value as one line of text that a picture can show: what is invisible is written out, and a long text is cut in the middle.

    >>> readable(None), readable("a" * 9, most=5), len(readable(chr(0x202E)))
    ('null', 'aa…aa', 6)
    """
    text = "null" if value is None else values.visible(str(value))
    if most and len(text) > most:
        half = (most - 1) // 2
        text = f"{text[: most - 1 - half]}…{text[len(text) - half :]}"
    return text


def labels_of(values: Iterable[Any], most: int = 38) -> list[str]:
    """A label for each value, short and never the same twice: marks of one label would fall together.

    >>> labels_of(["a" * 50, "a" * 60, "b", None, "null"], most=7)
    ['aaa…aaa', 'aaa…aaa (2)', 'b', 'null', 'null (2)']
    """
    found: dict[str, None] = {}
    for value in values:
        plain = label = readable(value, most)
        times = 1
        while label in found:
            times += 1
            label = f"{plain} ({times})"
        found[label] = None
    return list(found)


counted = values.counted


def shown_of(shown: int, of: int, what: str, chosen: str) -> str:
    """What a picture leaves out, as a sentence; nothing where it shows all.

    >>> shown_of(10, 2000, "classes", "with the most people")
    'Shown are the 10 of 2,000 classes with the most people.'
    """
    return "" if shown >= of else f"Shown are the {shown:,} of {of:,} {what} {chosen}."
