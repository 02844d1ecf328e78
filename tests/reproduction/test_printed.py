# SPDX-License-Identifier: Apache-2.0
"""Everything that a paper prints has its row: printed/<paper>.tsv lists it, from its text.

The columns are `where<TAB>what is printed`: a number with its digits, a claim in short, or a figure
by its name with (drawn).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from reproduction import Figure, Row, figure, reproduce, whang
from tests.reproduction.reproduced import quick

pytestmark = pytest.mark.xdist_group("papers")  # each paper is computed once
LISTS = Path(__file__).parent / "printed"
FULL_ONLY = {("Fig. 3(b)", "slppa"), ("Fig. 3(d)", "slppa"), ("Fig. 3(f)", "slppa")}
"""Entries of the full form only, because the quick form leaves out Census-Income."""
PAPERS = [
    pytest.param(name, marks=[pytest.mark.public_data, pytest.mark.slow] if name == "slppa" else [])
    for name in ("bkakria", "slppa", "whang")
]


def listed(paper: str) -> Iterator[tuple[str, str]]:
    for line in (LISTS / f"{paper}.tsv").read_text(encoding="utf-8").splitlines():
        where, printed = line.split("\t")
        yield where, printed


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_printed_has_its_row(paper: str) -> None:
    found = quick(paper)
    rows = {
        (row.printed.where, row.printed.value)
        for row in found.rows
        if row.printed.value is not None
    }
    drawn = {(figure.name, "(drawn)") for part in found.parts for figure in part.figures}
    assert rows | drawn == {entry for entry in listed(paper) if (entry[0], paper) not in FULL_ONLY}
    assert found.holds, [row for row in found.rows if row.verdict == "differs"]


def row_of(paper: str, where: str, label: str, quantity: str) -> Row:
    (found,) = (
        row
        for row in quick(paper).rows
        if row.printed.where == where and row.label.startswith(label) and row.quantity == quantity
    )
    return found


@pytest.mark.parametrize(
    ("where", "label", "quantity", "ours", "verdict"),
    [
        # 1 - log2(5000) / log2(10000) by hand; table_metrics.json and its notes for the rest.
        ("Fig. 1", "eps = 0", "ITPR", 0.0752574989, "truncated"),
        ("Fig. 1", "eps = 0", "MIL, weighted", 7.1438561898, "match"),
        ("Table 4", "person, case 4 of age", "MIL", 2.0, "not reproducible"),
        ("Table 5", "case 2 of disease", "ITPR", 5 / 11, "match"),
        ("Fig. 4", "theta = 0, base 1 %", "MIL, weighted, least", 0.0727138223, "match"),
        (
            "Fig. 4",
            "theta = 0.4, the HIV example",
            "share with HIV in the class",
            0.0794,
            "erratum",
        ),
        ("Fig. 5", "theta = 0, eps = 1200", "ITPR", 1 - 10 * 400 / 10_000, "no number printed"),
    ],
)
def test_bkakria(where: str, label: str, quantity: str, ours: float, verdict: str) -> None:
    found = row_of("bkakria", where, label, quantity)
    assert found.ours == pytest.approx(ours, rel=1e-3 if "HIV" in label else 1e-6)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("the value of MIL decreases with lambda", "does not hold"),
        ("the output of ELD is constant in theta", "holds"),
        (
            (
                "the variation theta (eq. 15) is the higher the higher the inference risk: the HIV "
                "example"
            ),
            "does not hold",
        ),
        ("the output of ITPR increases smoothly while theta increases", "does not hold"),
        (
            (
                "ITPR is the only metric that can effectively assess both re-identification and "
                "inference risk"
            ),
            "does not hold",
        ),
    ],
)
def test_claims_of_bkakria(said: str, verdict: str) -> None:
    assert [row.verdict for row in quick("bkakria").rows if row.label == said] == [verdict]


@pytest.mark.parametrize(
    ("where", "label", "quantity", "shown", "verdict"),
    [
        ("Section 2.3", "w_N = 2", "L", "22/35", "erratum"),
        ("Section 4.3", "verifying P", "gain per cost", "1/7", "erratum"),
        ("Section 1", "after the second purchase", "leakage", "199/360", "no number printed"),
        ("Fig. 1", "before", "largest leakage", "4/7", "no number printed"),
        ("Fig. 1", "r, s and t joined", "largest leakage", "4/9", "no number printed"),
    ],
)
def test_whang(where: str, label: str, quantity: str, shown: str, verdict: str) -> None:
    found = row_of("whang", where, label, quantity)
    assert (found.shown, found.verdict) == (shown, verdict)


@pytest.mark.parametrize(
    ("above", "verdict"), [(100, "not reproducible"), (1, "holds"), (0, "not reproducible")]
)
def test_printed_maximum_is_checked_by_the_share_of_larger_leakages(
    above: int, verdict: str
) -> None:
    leakages = np.zeros((2, 10_000))
    leakages[0, :above] = 0.5
    assert whang.compare_maximum("n = 200", "exact", leakages, 0.4, decided=True).verdict == verdict


@pytest.mark.parametrize(
    ("where", "label", "quantity", "shown", "verdict"),
    [
        ("Section 5.2", "Table 3", "least alpha that can be set", "1/2", "erratum"),
        ("Section 5.2", "either group", "presence of Alice", "1/32", "erratum"),
        (
            "Table 4",
            "at most two columns in a table",
            "tables",
            "{age, zipcode}, {gender, job}",
            "match",
        ),
        ("Definition 1", "Alice", "alpha", "1/4", "match"),
    ],
)
def test_slppa_by_example(where: str, label: str, quantity: str, shown: str, verdict: str) -> None:
    part = {"Definition 1": "Table 3"}.get(where, where)
    (found,) = (
        row
        for row in reproduce("slppa", part=part).rows
        if row.printed.where == where and row.label == label and row.quantity == quantity
    )
    assert (found.shown, found.verdict) == (shown, verdict)


@pytest.mark.slow
@pytest.mark.public_data
def test_slppa_claims_that_do_not_hold() -> None:
    claims = {row.label: row.verdict for row in quick("slppa").rows if row.quantity == "claim"}
    assert (
        claims["no obvious difference compared with Fig. 6: alpha = 0.05 in SLPPA"]
        == "does not hold"
    )
    assert claims["SLPPA has a more even attribute distribution (c)"] == "does not hold"
    assert claims["SLPPA has a more even attribute distribution (a)"] == "holds"
    assert (
        claims["SLPPA: alpha = 0.5, beta = 0.05, gamma = 0.005, delta = 0.05, k = 3"]
        == "does not hold"
    )


def test_panels_are_drawn_with_their_own_axes_and_offsets() -> None:
    """An offset shared by panels with separate axes has no width, and bars become hairlines."""
    points = [
        {"x": x, "y": 1.0, "series": series, "panel": panel}
        for x in "ab"
        for series in "st"
        for panel in "pq"
    ]
    drawn = figure(Figure("Fig. 1", "Bars", "x", "y", tuple(points))).to_dict()
    assert drawn["columns"] == 2
    assert drawn["resolve"]["scale"] == {
        "x": "independent",
        "xOffset": "independent",
        "y": "independent",
    }
