# SPDX-License-Identifier: Apache-2.0
"""HTML parts: table content is text in them, all of it is readable, and parts share a page."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.output import html
from divulge.output.html import Html, el
from divulge.text import visible

EVIL = (
    "<script>alert(1)</script>",
    "\"onmouseover='alert(1)'",
    "{{7*7}}",
    "javascript:alert(1)",
    "</style><img src=x onerror=alert(1)>",
    "a\u202egnp.exe",
    "tab\there",
    "nul\x00",
    "line\nbreak",
    "soft\u00adhyphen",
    "a\u00a0b",
    "&lt;",
    "</details>",
    "a  b",
)
ALLOWED = set(
    "b bdi caption details div figure h3 i img li p pre rect small span strong style summary svg "
    "table tbody td th thead tr ul".split()
)


class Seen(HTMLParser):
    """Elements, attributes and texts of a page, as a browser parses it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.elements[-1:] != ["style"]:
            self.texts.append(data)


@pytest.mark.parametrize("text", EVIL)
def test_text_is_escaped_and_complete(text: str) -> None:
    page = Seen(el("p", html.value(text), title=text))
    assert page.elements[:2] == ["p", "bdi"]
    assert set(page.elements) <= {"p", "bdi", "span"}
    assert "".join(page.texts) == visible(text)
    assert page.attributes[0] == ("title", visible(text))


def test_a_lone_surrogate_can_be_written_to_a_file() -> None:
    assert (
        el("p", "\ud800", title="\ud800").encode()
        == b'<p title="\\ud800"><span class="char">\\ud800</span></p>'
    )


def test_only_markup_is_not_escaped() -> None:
    assert el("p", Html("<b>1</b>"), "<b>", None) == "<p><b>1</b>&lt;b&gt;</p>"


def results_of_evil() -> list[Any]:
    """Return results whose values and column names all look like markup."""
    size = len(EVIL)
    people = pa.table(
        {
            EVIL[0]: [*EVIL, *EVIL],
            EVIL[1]: ["x"] * size + ["y"] * size,
            EVIL[4]: [*EVIL[::-1], *EVIL],
        }
    )
    roles: dict[str, Any] = {"quasi_identifiers": [EVIL[0], EVIL[1]], "sensitive": EVIL[4]}
    release = dv.generalize(people, policy={"k_anonymity": 2}, **roles)
    anatomized = dv.anatomize(
        people, sensitive=EVIL[4], quasi_identifiers=[EVIL[0], EVIL[1]], beta="1/2"
    )
    return [
        dv.measure(people, **roles),
        dv.check(people, {"k_anonymity": 2, "l_diversity": 2}, **roles),
        dv.rank(people, quasi_identifiers=[EVIL[0], EVIL[1]]),
        dv.profile(people),
        release,
        anatomized,
        anatomized.attack(),
    ]


def test_a_notebook_shows_a_table_full_of_markup_as_text() -> None:
    for result in results_of_evil():
        page = Seen(result._repr_html_())
        assert set(page.elements) <= ALLOWED, type(result)
        names = {name for name, _ in page.attributes}
        assert not names & {"id", "style", "href", "onerror", "onmouseover"}, type(result)
        assert all(
            str(attribute).startswith("data:image/")
            for name, attribute in page.attributes
            if name == "src"
        )
        assert not [text for text in page.texts if "\u202e" in text or "\x00" in text]


def test_the_rules_of_the_style_sheet_apply_only_to_our_parts() -> None:
    rules = html.asset("parts.css").replace("@media print{", "").split("}")
    selectors = [
        part for rule in rules for part in rule.partition("{")[0].split(",") if "{" in rule
    ]
    assert len(selectors) > 50
    assert [part for part in selectors if not part.strip().startswith((".divulge", "@media"))] == []


@pytest.mark.parametrize(
    ("measured", "bound", "width"),
    [
        (16, 5, 200.0),
        (2.5, 5, 50.0),
        (math.inf, 5, 200.0),
        (0, 0, 0.0),
        (1, 0, 200.0),
        (5, 5, 100.0),
    ],
)
def test_a_bar_ends_where_the_number_is_and_the_bound_is_in_the_middle(
    measured: float, bound: float, width: float
) -> None:
    drawn = html.bar(measured, bound, holds=True)
    assert f'class="ok" x="0.0" y="5" width="{width:.1f}"' in drawn
    assert 'class="bound" x="99.0"' in drawn


def test_a_table_says_how_many_rows_it_leaves_out() -> None:
    page = Seen(html.table(["a", "b"], [(1, None), (2, True), (3, "x")], most=2))
    assert "".join(page.texts) == "ab12yes… and 1 more"


def test_the_answer_is_counted_by_hand() -> None:
    """Three of six are unique, in b, c and d.

    Each of their classes has one disease, and half of all have the flu.
    """
    people = pa.table(
        {
            "town": ["a", "a", "a", "b", "c", "d"],
            "disease": ["flu", "cold", "cold", "flu", "flu", "cold"],
        }
    )
    text = "".join(
        Seen(dv.measure(people, quasi_identifiers="town", sensitive="disease")._repr_html_()).texts
    )
    assert "3 of 6 people are unique: nobody else has the same town." in text
    assert (
        "The disease of 3 people can be inferred with more than 80% confidence: flu for town b "
        "(1 person), " in text
    )
    assert "with 100% confidence (best guess without the table: 50%)." in text


@pytest.mark.parametrize(
    ("share", "point", "baseline", "bound"),
    [(0.0, 0, 0, 0), (0.25, 50, 50, 50), (1.0, 196, 198, 198)],
)
def test_marks_of_a_bar_stay_within_its_200_units(
    share: float, point: int, baseline: int, bound: int
) -> None:
    """The point is 4 units wide, baseline and bound are 2 units wide."""
    row = str(html.interval_row("a", "b", point=share, baseline=share, bound=share))
    drawn = {
        match["kind"]: float(match["x"])
        for match in re.finditer(r'<rect class="(?P<kind>[a-z]+)" x="(?P<x>[-0-9.]+)"', row)
    }
    assert drawn == {"rail": 0, "after": point, "before": baseline, "limit": bound}


def test_the_interval_of_a_bar_is_at_least_2_units_wide() -> None:
    for low, high, width in ((0.25, 0.75, 100.0), (0.25, 0.25, 2.0)):
        row = str(html.interval_row("a", "b", point=0.5, low=low, high=high))
        assert f'<rect class="after" x="50.0" y="6" width="{width}"' in row
