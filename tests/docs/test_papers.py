# SPDX-License-Identifier: Apache-2.0
"""docs/papers/*.md say what divulge computes today; `python -m tests.docs.papers` writes them anew.

Section by section, so that only the sections about Adult and Census-Income are skipped where these cannot be fetched.
"""

from __future__ import annotations

import re

import pytest

from tests.docs.papers.all_pages import FOLDER, PAGES
from tests.docs.papers.layout import ERRATUM, MATCH, TRUNCATED, Cell, Page, Section, fraction, markdown

SECTIONS = [
    pytest.param(
        page, section, id=f"{page.name}-{section.title}", marks=[pytest.mark.public_data] if section.public else []
    )
    for page in PAGES
    for section in page.sections
]


def committed(page: Page) -> list[str]:
    """The opening of a page, then its sections."""
    return re.split(r"\n(?=## )", (FOLDER / f"{page.name}.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_a_section_says_what_we_compute(page: Page, section: Section) -> None:
    assert section.text() in committed(page), "out of date: run python -m tests.docs.papers"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_its_opening_and_its_sections_in_order(page: Page) -> None:
    opening, *sections = committed(page)
    assert opening == page.opening
    assert [section.splitlines()[0] for section in sections] == [f"## {section.title}" for section in page.sections]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_and_the_errata_link_each_other(page: Page) -> None:
    assert "](errata.md)" in page.opening
    assert f"]({page.name}.md)" in (FOLDER / "errata.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("ours", "printed", "verdict"),
    [
        (0.5731, "0.57", MATCH),
        (0.5779, "0.57", TRUNCATED),
        (0.5801, "0.57", ERRATUM),
        (0.5699, "0.57", MATCH),
        (0.5649, "0.57", ERRATUM),
        (1 / 3, "1/3", MATCH),
        (0.333, "1/3", ERRATUM),
        (2**0.5 / 6, "sqrt(8)/12", MATCH),
        (2.0, None, None),
    ],
)
def test_verdicts(ours: float, printed: str | None, verdict: str | None) -> None:
    assert Cell(ours, printed).verdict == verdict


def test_a_table_of_printed_and_computed_numbers() -> None:
    rows = {
        "C1": {"L_D": Cell(0.25, "4/16"), "L_E": Cell(0.7375168, "0.73")},
        "C2": {"L_D": Cell(0.5, "0.4"), "L_E": Cell(0.1)},
    }
    assert markdown("class", rows).splitlines() == [
        "| class | L_D, printed | L_D, divulge | L_E, printed | L_E, divulge | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
        "| C1 | 4/16 = 0.25 | 0.25 | 0.73 | 0.737517 | L_E truncated |",
        "| C2 | 0.4 | 0.5 |  | 0.1 | **erratum** |",
    ]
    assert fraction(22 / 35) == "22/35"
