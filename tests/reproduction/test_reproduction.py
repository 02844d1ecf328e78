# SPDX-License-Identifier: Apache-2.0
"""Verdicts and the structure of a reproduction, with small examples by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from divulge.errors import BadInput, InternalError, MissingDependency
from reproduction import (
    PAPERS,
    Figure,
    Paper,
    Row,
    __main__,
    compare_distances,
    pages,
    reproduce,
    verdicts,
)
from reproduction.verdicts import claim, row


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
def test_agreement_to_the_printed_digits(ours: float | str, printed: str, told: str) -> None:
    assert verdicts.agreement(ours, printed) == told


def test_verdicts_of_rows_that_differ() -> None:
    assert row("C1", "L_D", 0.5, "0.4").verdict == "differs"
    assert row("C1", "L_D", 0.5, "0.4", erratum="a slip").verdict == "erratum"
    assert row("C1", "L_D", 0.5, "0.4", open_="not told how").verdict == "not reproducible"
    assert row("C1", "L_D", 0.5).verdict == "no number printed"
    assert claim("C1 is first", holds=False, ours="C2 is").verdict == "does not hold"


def test_erratum_for_a_matching_number_raises() -> None:
    with pytest.raises(InternalError, match=r"C1, L_D: ours \(0.4\) is told to differ from '0.4'"):
        row("C1", "L_D", 0.4, "0.4", erratum="a slip")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Paper:
    """A paper of two parts; one needs data that is not available."""
    paper = Paper("small", "A. Author 2000", "A title", "It is about stars.")

    @paper.part("Table 1", "table", told="A table.", how="`divulge measure`.", heavy=True)
    def table_1(*, quick: bool) -> Iterator[Row | Figure]:
        yield row("C*", "L_D", 1.0 if quick else 2.0, "2", erratum="a slip" if quick else "")
        yield row("C*", "L_E", 0.25, "1/4")
        yield claim("C* is first", holds=True, ours="it is")
        yield Figure(
            "Fig. 1(a)", "One bar", "class", "L_D", ({"x": "C*", "y": 2.0},), levels={"bound": 1.5}
        )

    @paper.part("Table 2", "table", public=("adult",))
    def table_2() -> Iterator[Row]:
        raise MissingDependency("adult cannot be had")

    monkeypatch.setitem(PAPERS, "small", paper)
    return paper


@pytest.mark.usefixtures("small")
def test_reproduction_has_the_rows_of_all_parts() -> None:
    found = reproduce("small")
    assert found.counts == {"match": 2, "holds": 1}
    assert found.holds
    assert [each.printed.where for each in found.rows] == ["Table 1"] * 3
    assert [each.left_out for each in found.parts] == ["", "adult cannot be had"]
    assert reproduce("small", quick=True).counts == {"match": 1, "erratum": 1, "holds": 1}
    assert found.figure("Fig. 1(a)").slug == "fig-1a"
    assert found.to_frame()["printed"].to_pylist() == ["2", "1/4", "C* is first"]
    with pytest.raises(BadInput, match="there is no part 'Table 9'"):
        reproduce("small", part="Table 9")


def test_the_page_of_a_paper(small: Paper, tmp_path: Path) -> None:
    (written,) = pages.write(reproduce("small", quick=True), tmp_path)
    assert written.read_text(encoding="utf-8").partition("## Table 1\n\n")[2] == (
        "A table.\n\n"
        "|  | L_D, printed | L_D, divulge | L_E, printed | L_E, divulge | verdict |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| C\\* | 2 | 1 | 1/4 = 0.25 | 0.25 | L_D **erratum** |\n\n"
        "| the paper says | our numbers | verdict |\n| --- | --- | --- |\n| C\\* is first | it "
        "is | holds |\n\n"
        "- **erratum** (C\\*, L_D): a slip.\n\n"
        "![Fig. 1(a): One bar](figures/small-fig-1a.svg#gh-light-mode-only)\n"
        "![Fig. 1(a): One bar](figures/small-fig-1a-dark.svg#gh-dark-mode-only)\n\n"
        "*How:* `divulge measure`.\n\n## Table 2\n\n*Left out here:* adult cannot be had\n"
    )
    light, dark = (
        (
            tmp_path
            / "figures"
            / pages.figure_file_name("small", reproduce("small").figure("Fig. 1(a)"), dark=dark)
        )
        for dark in (False, True)
    )
    assert 'fill="white"' in light.read_text(encoding="utf-8")
    assert 'fill="white"' not in dark.read_text(encoding="utf-8")
    assert small.parts[0].heading == "Table 1"


def test_an_unexplained_difference_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paper = Paper("off", "A. Author 2000", "A title", "")
    paper.part("Table 1", "table")(lambda: iter([row("C1", "L_D", 1.0, "2")]))
    monkeypatch.setitem(PAPERS, "off", paper)
    assert __main__.run(["off", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["holds"], document["counts"]) == (False, {"differs": 1})
    assert __main__.run(["nobody"]) == 2
    assert capsys.readouterr().err.startswith("reproduction: there is no paper 'nobody'")


@pytest.mark.usefixtures("small")
def test_unwritable_files_give_a_one_line_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    assert __main__.run(["small", "--out", str(tmp_path / "taken")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert __main__.run(["small", "--chart", str(tmp_path / "no" / "x.svg")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.usefixtures("small")
def test_the_program_writes_pages_and_a_chart_and_lists_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = tmp_path / "verdicts.svg"
    assert __main__.run(["small", "--out", str(tmp_path), "--chart", str(chart)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("3 numbers and claims: 2 match, 1 holds.")
    assert shown.endswith(f"\n\nWritten: {tmp_path / 'small.md'}, {chart}\n")
    assert chart.read_text(encoding="utf-8").startswith("<svg")


def test_python_dash_m_runs_from_the_repository() -> None:
    """`make papers` runs this; the package is on the path, the reproduction in the folder."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "reproduction", "afifi", "--part", "Example 8"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("7 numbers and claims: 6 match, 1 erratum.")


def test_errata_page_is_written_with_all_papers_only(
    small: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.write(reproduce("small"), tmp_path)
    assert not (tmp_path / "errata.md").exists()
    for name in [name for name in PAPERS if name != "small"]:
        monkeypatch.delitem(PAPERS, name)
    pages.write(reproduce(quick=True), tmp_path)
    page = (tmp_path / "errata.md").read_text(encoding="utf-8")
    assert f"## {small.authors}" in page
    assert "| Table 1 | C\\*, L_D | 2 | 1 | a slip |" in page


def test_the_entropy_distance_is_the_independent_one() -> None:
    """The claim of Fig. 1 of Afifi et al. 2018."""
    document = compare_distances().to_dict()
    independence = {item["name"]: item["independence"] for item in document["distances"]}
    assert max(independence, key=lambda name: independence[name]) == "entropy"
    assert document["settings"]["seed"] == 0
