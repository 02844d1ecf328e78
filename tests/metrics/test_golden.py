# SPDX-License-Identifier: Apache-2.0
"""Every entry of golden/table_metrics.json, through the public API.

Entries are assigned by the pattern of their id. An entry with no pattern, or with two, fails.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from tests.metrics import golden_afifi as afifi
from tests.metrics import golden_bezzi as bezzi
from tests.metrics import golden_bkakria as bkakria
from tests.metrics.golden import ENTRIES, Entry

# Entries that another part of divulge covers: id pattern to the reason. There is none at present.
# Optimal cut points and groupings of the papers are not in this file of worked examples.
ELSEWHERE: dict[str, str] = {}

TESTED: dict[str, Callable[[Entry], float]] = {
    r"000\.ex2\.prior": afifi.afifi_prior_entropy,
    r"000\.(ex|def|table)\w*(\.\w+)?\.C\d\.(LD|LE|EMD_equal|EMD_ordered|KL)": afifi.afifi_class,
    r"000\.(ex|def|table)\w*(\.\w+)?\.max\.(LD|LE)": afifi.afifi_given_prior,
    r"000\.table\w+\.disease\.C\d\.EMD_hier_1_[34]": afifi.afifi_hierarchical,
    r"000\.table3\.disease\.max_EMD_hier": afifi.afifi_table_3,
    r"000\.thm1\.\w+(\.LE)?": afifi.theorem_1,
    r"000\.maxLD\.general": afifi.largest_distribution_leakage,
    r"000\.maxLE\.formula": afifi.largest_entropy_leakage,
    r"000\.thm3\.2\.counterexample": afifi.entropy_distance,
    r"000\.convexity\.counterexample": afifi.midpoint,
    r"000\.alphaLE\.merge": afifi.merging_leaks_more,
    r"000\.table6\.\w+": afifi.distinct_values,
    r"001\.ex(13rows)?\.I[1-4]\.\[.*": bezzi.one_symbol,
    r"001\.ex(13rows)?\.(MI|H|lmax|t|l)": bezzi.bezzi_table,
    r"001\.ex\.eq4": bezzi.information_of_heights,
    r"001\.ex\.HX\.heights(\.170)?": bezzi.entropy_of_heights,
    r"001\.ex\.(eq6\.\[.*|k|IXX)": bezzi.record_identity,
    r"001\.ex\.eq13_14": bezzi.l_of_t_is_only_a_budget,
    r"001\.table1\.chain\.I[12]\.full": bezzi.chain_rule,
    r"001\.sec22\.additivity": bezzi.additivity,
    r"004\.(Id|D\d)\|.*": bkakria.bkakria_case,
    r"004\.T[12]\.\w+": bkakria.bkakria_tables,
    r"004\.ce\.refine\.\w+": bkakria.refinement,
    r"004\.ce\.independent": bkakria.independence,
    r"004\.hiv\.theta": bkakria.hiv,
}


def matches(entry: Entry) -> list[str]:
    return [pattern for pattern in (*TESTED, *ELSEWHERE) if re.fullmatch(pattern, entry["id"])]


def test_every_entry_is_tested_here_or_elsewhere_and_no_pattern_is_idle() -> None:
    unsettled = {entry["id"]: matches(entry) for entry in ENTRIES if len(matches(entry)) != 1}
    assert unsettled == {}
    used = {pattern for entry in ENTRIES for pattern in matches(entry)}
    assert used == {*TESTED, *ELSEWHERE}


def parameter(entry: Entry) -> Any:
    """Table 6 of Afifi et al. counts values of Adult."""
    marks = [pytest.mark.public_data] if entry["id"].startswith("000.table6.") else []
    return pytest.param(entry, id=entry["id"], marks=marks)


@pytest.mark.parametrize("entry", [parameter(e) for e in ENTRIES if set(matches(e)) & set(TESTED)])
def test_entry(entry: Entry) -> None:
    ours = TESTED[matches(entry)[0]](entry)
    assert ours == pytest.approx(entry["exact"], abs=1e-9)
    if entry["printed"] is not None:
        printed_as_the_verdict_says(ours, entry)


def printed_as_the_verdict_says(ours: float, entry: Entry) -> None:
    """Compared with the printed number: equal to its digits, equal if truncated, or an erratum."""
    text = entry["printed"]
    if not re.fullmatch(r"[\d.]+", text):
        root = re.fullmatch(r"sqrt\((\d+)\)/(\d+)", text)
        printed = math.sqrt(int(root[1])) / int(root[2]) if root else float(Fraction(text))
        assert (ours == pytest.approx(printed, abs=1e-9)) == (entry["verdict"] == "match")
        return
    unit = 10 ** -len(text.partition(".")[2])
    rounded = abs(ours - float(text)) <= unit / 2 + 1e-9
    cut_off = math.floor(ours / unit + 1e-9) * unit == pytest.approx(float(text), abs=1e-9)
    assert {
        "match": rounded,
        "match-if-truncated": cut_off and not rounded,
        "differs": not rounded and not cut_off,
    }[entry["verdict"]]
