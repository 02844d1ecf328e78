# SPDX-License-Identifier: Apache-2.0
"""The rule of verdicts, and what a reproduction is: by hand, away from any paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import divulge as dv
from divulge.errors import BadInput, InternalError, MissingDependency
from divulge.papers import PAPERS, Figure, Paper, Row, reproduction
from divulge.papers.reproduction import claim, row
from divulge.views import paper_pages
from tests.helpers import run_cli


@pytest.mark.parametrize(
    ("ours", "printed", "told"),
    [
        (0.5731, "0.57", "match"),
        (0.5699, "0.57", "match"),
        (0.575, "0.57", "match"),
        (0.5779, "0.57", "truncated"),
        (0.5801, "0.57", "differs"),
        (0.5649, "0.57", "differs"),
        (-0.5779, "-0.57", "truncated"),
        (-0.5649, "-0.57", "differs"),
        (1 / 3, "1/3", "match"),
        (0.333, "1/3", "differs"),
        (2**0.5 / 6, "sqrt(8)/12", "match"),
        (0.8766, "~88%", "match"),
        (0.8966, "88%", "differs"),
        (0.8899, "88%", "truncated"),
        (30162, "30,162", "match"),
        (30161, "30,162", "differs"),
        (0.000612, "6.1e-4", "match"),
        (6, ">= 6", "holds"),
        (5, ">= 6", "does not hold"),
        (0.5 + 1e-12, "<= 0.5", "holds"),
        (0.5, "< 0.5", "does not hold"),
        ("yes", "yes", "match"),
        ("no", "yes", "differs"),
    ],
)
def test_digits_decide(ours: float | str, printed: str, told: str) -> None:
    assert reproduction.agreement(ours, printed) == told


def test_a_difference_is_explained_or_stays_one() -> None:
    assert row("C1", "L_D", 0.5, "0.4").verdict == "differs"
    assert row("C1", "L_D", 0.5, "0.4", erratum="a slip").verdict == "erratum"
    assert row("C1", "L_D", 0.5, "0.4", open_="not told how").verdict == "not reproducible"
    assert row("C1", "L_D", 0.5).verdict == "no number printed"
    assert claim("C1 is first", holds=False, ours="C2 is").verdict == "does not hold"


def test_an_erratum_that_is_none_is_our_mistake() -> None:
    with pytest.raises(InternalError, match=r"C1, L_D: ours \(0.4\) is told to differ from '0.4'"):
        row("C1", "L_D", 0.4, "0.4", erratum="a slip")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Paper:
    """A paper of two parts, one of which needs data that cannot be had."""
    paper = Paper("small", "A. Author 2000", "A title", "It is about stars.")

    @paper.part("Table 1", "table", told="A table.", how="`divulge measure`.", heavy=True)
    def table_1(*, quick: bool) -> Iterator[Row | Figure]:
        yield row("C*", "L_D", 1.0 if quick else 2.0, "2", erratum="a slip" if quick else "")
        yield row("C*", "L_E", 0.25, "1/4")
        yield claim("C* is first", holds=True, ours="it is")
        yield Figure("Fig. 1(a)", "One bar", "class", "L_D", ({"x": "C*", "y": 2.0},), levels={"bound": 1.5})

    @paper.part("Table 2", "table", public=("adult",))
    def table_2() -> Iterator[Row]:
        raise MissingDependency("adult cannot be had")

    monkeypatch.setitem(PAPERS, "small", paper)
    return paper


@pytest.mark.usefixtures("small")
def test_a_paper_is_what_its_parts_yield() -> None:
    found = dv.papers.reproduce("small")
    assert found.counts == {"match": 2, "holds": 1}
    assert found.holds
    assert [each.printed.where for each in found.rows] == ["Table 1"] * 3
    assert [each.left_out for each in found.parts] == ["", "adult cannot be had"]
    assert dv.papers.reproduce("small", quick=True).counts == {"match": 1, "erratum": 1, "holds": 1}
    assert found.figure("Fig. 1(a)").slug == "fig-1a"
    assert found.to_frame()["printed"].to_pylist() == ["2", "1/4", "C* is first"]
    with pytest.raises(BadInput, match="there is no part 'Table 9'"):
        dv.papers.reproduce("small", part="Table 9")


def test_the_page_of_a_paper(small: Paper, tmp_path: Path) -> None:
    (written,) = paper_pages.write(dv.papers.reproduce("small", quick=True), tmp_path)
    assert written.read_text(encoding="utf-8").partition("## Table 1\n\n")[2] == (
        "A table.\n\n"
        "|  | L_D, printed | L_D, divulge | L_E, printed | L_E, divulge | verdict |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| C\\* | 2 | 1 | 1/4 = 0.25 | 0.25 | L_D **erratum** |\n\n"
        "| the paper says | our numbers | verdict |\n| --- | --- | --- |\n| C\\* is first | it is | holds |\n\n"
        "- **erratum** (C\\*, L_D): a slip.\n\n"
        "![Fig. 1(a): One bar](figures/small-fig-1a.svg#gh-light-mode-only)\n"
        "![Fig. 1(a): One bar](figures/small-fig-1a-dark.svg#gh-dark-mode-only)\n\n"
        "*How:* `divulge measure`.\n\n## Table 2\n\n*Left out here:* adult cannot be had\n"
    )
    light, dark = (
        (
            tmp_path
            / "figures"
            / paper_pages.picture("small", dv.papers.reproduce("small").figure("Fig. 1(a)"), dark=dark)
        )
        for dark in (False, True)
    )
    assert 'fill="white"' in light.read_text(encoding="utf-8")
    assert 'fill="white"' not in dark.read_text(encoding="utf-8")
    assert small.parts[0].heading == "Table 1"


def test_an_unexplained_difference_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = Paper("off", "A. Author 2000", "A title", "")
    paper.part("Table 1", "table")(lambda: iter([row("C1", "L_D", 1.0, "2")]))
    monkeypatch.setitem(PAPERS, "off", paper)
    shown = run_cli("papers", "off", "--json")
    assert (shown.code, shown.json()["holds"], shown.json()["counts"]) == (1, False, {"differs": 1})
    assert run_cli("papers", "nobody").code == 2


@pytest.mark.usefixtures("small")
def test_pages_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    shown = run_cli("papers", "small", "--out", str(tmp_path / "taken"))
    assert (shown.code, shown.err.count("\n")) == (2, 1)


def test_what_was_learnt_is_written_with_all_papers_only(
    small: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper_pages.write(dv.papers.reproduce("small"), tmp_path)
    assert not (tmp_path / "errata.md").exists()
    for name in [name for name in PAPERS if name != "small"]:
        monkeypatch.delitem(PAPERS, name)
    paper_pages.write(dv.papers.reproduce(quick=True), tmp_path)
    page = (tmp_path / "errata.md").read_text(encoding="utf-8")
    assert f"## {small.authors}" in page
    assert "| Table 1 | C\\*, L_D | 2 | 1 | a slip |" in page
