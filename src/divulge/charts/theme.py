# SPDX-License-Identifier: Apache-2.0
"""Style of every chart: fonts, colors safe for color-blind readers, thin grid, no frames.

There is one accent color. Vermilion is a warning, green means "holds", gray means "before", and a
dashed line is a requirement. Color is never the only sign: position, shape or a word shows the
same. Vega reads a dot or a bracket in a field name as a path, but never evaluates a value. Fields
of the data therefore have our names, and text from tables occurs only in values.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import altair as alt
from altair.utils.schemapi import debug_mode

from divulge.text import count_with_noun, visible
from divulge.validation import checked

INK = "#1b2a33"
MUTED = "#5d6b73"
GRID = "#e6ebee"
ACCENT = "#0b5d6e"
WARNING = "#c6511a"
HOLDS = "#1a7f5a"
BEFORE = "#b4c0c7"
SEVERAL = (ACCENT, WARNING, "#e69f00", "#56b4e9", "#8a5a9e", MUTED)
"""Colors for several series, which dashes distinguish too."""
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [10, 3])
FONT = (
    'Inter, system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, "Liberation '
    'Sans", '
    "sans-serif"
)
WIDTH = 460
HEIGHT = 300
_TITLE_WIDTH = 58
_SUBTITLE_WIDTH = 84
"""Characters in a line of the subtitle; `_TITLE_WIDTH` are those in a line of the title."""

_CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "white",
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "frame": "group",
        "color": INK,
        "fontSize": 15,
        "fontWeight": 600,
        "offset": 14,
        "lineHeight": 19,
        "subtitleColor": MUTED,
        "subtitleFontSize": 11.5,
        "subtitleLineHeight": 15,
        "subtitlePadding": 5,
    },
    "axis": {
        "gridColor": GRID,
        "gridWidth": 1,
        "domain": False,
        "ticks": False,
        "labelColor": INK,
        "labelFontSize": 11,
        "labelPadding": 6,
        "labelLimit": 0,
        "labelFlush": False,
        "titleColor": MUTED,
        "titleFontSize": 11.5,
        "titleFontWeight": 400,
        "titlePadding": 10,
    },
    "axisQuantitative": {"tickCount": 6},
    "axisBand": {"grid": False},
    "legend": {
        "labelColor": INK,
        "labelFontSize": 11,
        "labelLimit": 0,
        "titleColor": MUTED,
        "titleFontSize": 11,
        "titleFontWeight": 400,
        "symbolStrokeWidth": 1.5,
    },
    "header": {"labelColor": INK, "labelFontSize": 11.5, "titleColor": MUTED, "labelLimit": 0},
    "text": {"color": INK, "fontSize": 11},
    "bar": {"color": ACCENT},
    "line": {"color": ACCENT, "strokeWidth": 2},
    "point": {"color": ACCENT, "filled": True},
    "range": {"category": list(SEVERAL)},
}

Rows = Sequence[Mapping[str, Any]]
_P = ParamSpec("_P")
_R = TypeVar("_R")


def chart_function(draw: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a drawing function: check its arguments, and skip Altair's schema validation.

    Validation of every part took longer than everything else. Tests validate the charts instead.
    """
    checked_draw = checked(draw)

    @functools.wraps(draw)
    def draw_without_validation(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with debug_mode(False):  # noqa: FBT003 - Altair's own
            return checked_draw(*args, **kwargs)

    return draw_without_validation


class _Rows(alt.InlineData):
    """Immutable data, because Altair would copy every cell for each layer."""

    def __deepcopy__(self, memo: Any) -> _Rows:
        return self


def data_of(rows: Rows) -> alt.InlineData:
    """Wrap rows as inline data of a chart."""
    return _Rows(values=[dict(row) for row in rows])


def finished(chart: Any, title: str, *subtitle: str) -> Any:
    """Apply our style, a title and a subtitle to a chart.

    The sentences of the subtitle say what is shown and what is left out.
    """
    lines = [
        line
        for sentence in subtitle
        if sentence
        for line in textwrap.wrap(sentence, _SUBTITLE_WIDTH)
    ]
    heading = alt.TitleParams(
        text=textwrap.wrap(title, _TITLE_WIDTH), subtitle=lines or alt.Undefined
    )
    # properties() and configure() would copy the whole chart twice.
    chart.title = heading
    chart.config = alt.Config(**_CONFIG)
    return chart


_DARK_COLORS = {
    INK: "#e8eef1",
    MUTED: "#9fb0b9",
    GRID: "#33434d",
    "white": "#16212a",
    ACCENT: "#4cb5c9",
    WARNING: "#f0864c",
    HOLDS: "#45b98a",
    BEFORE: "#5f717c",
    "#8a5a9e": "#b98fd0",
    "#000000": "#ffffff",
}
"""Color on a dark page by color on a light page."""


def with_dark_colors(chart: Any) -> Any:
    """Return a copy of the chart with the colors of a dark page."""
    return alt.Chart.from_dict(_replace_colors(chart.to_dict()))


def _replace_colors(part: Any) -> Any:
    """Replace our colors in a specification.

    They occur in marks, scales and the style. Data never contain them and are not searched.
    """
    if isinstance(part, dict):
        return {
            key: value if key == "datasets" else _replace_colors(value)
            for key, value in part.items()
        }
    if isinstance(part, list):
        return [_replace_colors(item) for item in part]
    if isinstance(part, str):
        return _DARK_COLORS.get(part, part)
    return part


def readable(value: Any, max_length: int = 0) -> str:
    """Return a value as one line of visible text.

    Invisible characters are written as escape sequences. Text longer than `max_length` is cut in
    the middle.

    >>> readable(None), readable("a" * 9, max_length=5), len(readable(chr(0x202E)))
    ('null', 'aa…aa', 6)
    """
    if value is None:
        text = "null"
    else:
        text = visible(str(value))
    if max_length and len(text) > max_length:
        half = (max_length - 1) // 2
        text = f"{text[: max_length - 1 - half]}…{text[len(text) - half :]}"
    return text


def unique_labels(values: Iterable[Any], max_length: int = 38) -> list[str]:
    """Return a short, unique label for each value, because marks with equal labels would overlap.

    >>> unique_labels(["a" * 50, "a" * 60, "b", None, "null"], max_length=7)
    ['aaa…aaa', 'aaa…aaa (2)', 'b', 'null', 'null (2)']
    """
    labels: dict[str, None] = {}
    for value in values:
        base_label = label = readable(value, max_length)
        occurrence = 1
        while label in labels:
            occurrence += 1
            label = f"{base_label} ({occurrence})"
        labels[label] = None
    return list(labels)


count_phrase = count_with_noun


def omission_sentence(drawn_count: int, total_count: int, plural_noun: str, selection: str) -> str:
    """Return a sentence that says what a chart leaves out, or an empty string.

    >>> omission_sentence(10, 2000, "classes", "with the most people")
    'Shown are the 10 of 2,000 classes with the most people.'
    """
    if drawn_count >= total_count:
        return ""
    return f"Shown are the {drawn_count:,} of {total_count:,} {plural_noun} {selection}."
