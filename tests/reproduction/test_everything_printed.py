# SPDX-License-Identifier: Apache-2.0
"""Each entry of the printed lists has a row, and docs/papers has our current numbers.

`printed/*.tsv` were made from the texts (extract.py). `python -m reproduction --out docs/papers`
rewrites the pages.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reproduction import PAPERS, Reproduced, pages
from tests.reproduction.extract import committed, entries, found_in, left_out, missing, numbers
from tests.reproduction.reproduced import quick

pytestmark = pytest.mark.xdist_group("papers")  # each paper is computed once
DOCS = Path(__file__).parents[2] / "docs" / "papers"
SECTIONS = [
    pytest.param(
        paper.name,
        place,
        id=f"{paper.name}-{part.heading}",
        marks=[pytest.mark.public_data] if part.public else [],
    )
    for paper in PAPERS.values()
    for place, part in enumerate(paper.parts)
]


def part(name: str, place: int) -> Reproduced:
    """One part; the test is skipped if its data is not available here."""
    found = quick(name).parts[place]
    if found.left_out:
        pytest.skip(found.left_out)
    return found


@pytest.mark.parametrize("name", ["afifi", "bezzi"])
@pytest.mark.public_data
def test_rows_and_printed_entries_agree(name: str) -> None:
    found = quick(name)
    ours = {
        (row.printed.where, row.printed.value)
        for row in found.rows
        if row.printed.value is not None
    }
    drawn = {(figure.name, "(drawn)") for each in found.parts for figure in each.figures}
    assert entries(name) == ours | drawn


@pytest.mark.parametrize("name", ["afifi", "bezzi"])
@pytest.mark.public_data
def test_every_difference_from_print_is_explained(name: str) -> None:
    told = quick(name)
    assert [
        (row.label, row.quantity, row.ours) for row in told.rows if row.verdict == "differs"
    ] == []
    unexplained = [
        row
        for row in told.rows
        if row.verdict in ("erratum", "not reproducible") and not row.reason
    ]
    assert unexplained == []


@pytest.mark.parametrize(("name", "place"), SECTIONS)
def test_page_has_the_computed_numbers(name: str, place: int) -> None:
    """For times and experiments that the quick form reduces, only the presence is checked."""
    found, committed = part(name, place), sections(name)[1:]
    if found.part.heavy or found.part.timed:
        assert committed[place].startswith(f"## {found.part.heading}\n")
    else:
        assert committed[place] == pages.section(found), (
            "out of date: python -m reproduction --out docs/papers"
        )
    for figure in found.figures:
        for dark in (False, True):
            file_name = pages.figure_file_name(name, figure, dark=dark)
            assert (DOCS / "figures" / file_name).is_file()


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_has_its_opening_and_its_sections(name: str) -> None:
    opening, *rest = sections(name)
    assert opening == pages.opening(PAPERS[name])
    assert [each.partition("\n")[0] for each in rest] == [
        f"## {each.heading}" for each in PAPERS[name].parts
    ]
    assert f"]({name}.md)" in (DOCS / "errata.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "place"), SECTIONS)
def test_errata_page_lists_unmet_rows(name: str, place: int) -> None:
    found, page = part(name, place), (DOCS / "errata.md").read_text(encoding="utf-8").splitlines()
    if not (found.part.heavy or found.part.timed):
        wanted = [
            row
            for row in found.rows
            if row.verdict in ("erratum", "does not hold", "not reproducible")
        ]
        assert [row.label for row in wanted if pages.errata_row(row) not in page] == []


def sections(name: str) -> list[str]:
    """The opening of a page, then its sections."""
    return re.split(r"\n(?=## )", (DOCS / f"{name}.md").read_text(encoding="utf-8"))


def test_number_missing_from_the_list_is_detected() -> None:
    assert list(numbers("30,162 rows, 0.5137 and C3")) == ["30162", "0.5137"]
    assert list(numbers("0,875 and 3,0; 1,240; 30,11100")) == [
        "0.875",
        "3.0",
        "1240",
        "30",
        "11100",
    ]
    text = "3.1 Leakage\nis $[0.5137, 0.9999]$ in [4] and [5,6]\n## REFERENCES\n 0.777"
    assert missing(found_in(text), "afifi") == ["3.1: 0.9999"]


@pytest.mark.parametrize("name", PAPERS)
def test_every_number_of_the_text_is_on_the_list_or_left_out_with_a_reason(name: str) -> None:
    """`found.tsv` has the numbers that extract.py finds in the texts."""
    in_text = committed(name)
    assert missing(in_text, name) == []
    assert set(left_out(name)) <= {number for number, _ in in_text}, "left out, but not in the text"
    assert len(in_text) > 100
