# SPDX-License-Identifier: Apache-2.0
"""Bkakria et al. 2021: Tables 1 to 5, the experiments that print numbers, and what the metric does not see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.docs.papers.golden_entries import BY_ID, cell, ours
from tests.docs.papers.layout import HOW_TO_READ, MATCH, NOT_REPRODUCED, Cell, Page, Rows, Section
from tests.metrics.golden import from_sizes

CASES = {f"person, case {i} of age": f"004.Id|Age{i}" for i in range(1, 6)} | {
    f"case {i} of disease, case 5 of age": f"004.D{i}|Age5" for i in (1, 2, 3)
}
ZIP = {
    "person, case 2 of age and 1 of zip code": "004.Id|Age2,Zip1",
    "person, case 2 of age and 2 of zip code": "004.Id|Age2,Zip2",
}


def table_4(*kinds: str) -> Rows:
    return {told: {kind: cell(f"{case}.{kind}") for kind in kinds} for told, case in CASES.items()}


def variants() -> Rows:
    names = {"MIL": "MIL", "weighted by p(y)": "MIL_paper", "by I1": "MIL_I1"}
    rows: dict[str, Mapping[str, Cell]] = {}
    for told, case in CASES.items():
        found = {title: Cell(ours(f"{case}.{kind}")) for title, kind in names.items()}
        beside = replace(found["MIL"], printed=BY_ID[f"{case}.MIL"]["printed"])
        rows[told] = found | {"MIL": beside if beside.verdict == MATCH else replace(beside, told=NOT_REPRODUCED)}
    return rows


def table_5() -> Rows:
    return {told: {"ITPR": cell(f"{case}.ITPR")} for told, case in (CASES | ZIP).items()}


def tables_1_and_2() -> Rows:
    kinds = {"k": "k", "l": "l", "t": "t", "best guess": "pmax", "ELD": "ELD", "ITPR": "ITPR"}
    return {f"Table {i}": {title: cell(f"004.T{i}.{kind}") for title, kind in kinds.items()} for i in (1, 2)}


def figure_1() -> Rows:
    printed = {1: "1", 5000: "0.07"}
    rows: dict[str, Mapping[str, Cell]] = {}
    for small in (1, 10, 100, 1000, 5000):
        found = from_sizes([small, 10_000 - small]).identity
        rows[f"{small} and {10_000 - small:,}"] = {
            "ITPR": Cell(found["itpr"].value, printed.get(small)),
            "DR": Cell(found["discrimination_rate"].value),
            "MI": Cell(found["mutual_information"].value),
            "CP": Cell(found["conditional_privacy"].value),
            "ELD": Cell(found["entropy_l_risk"].value),
            "MIL'": Cell(found["maximum_information_leakage_printed"].value),
        }
    return rows


def counterexamples() -> Rows:
    return {
        "classes of 2 and 6: ITPR": {"value": Cell(ours("004.ce.refine.coarse"))},
        "of 2, 3 and 3, which publishes more: ITPR": {"value": Cell(ours("004.ce.refine.fine"))},
        "an attribute independent of the classes: ITPR": {"value": Cell(ours("004.ce.independent"))},
        "HIV, 0.001 % against 5 %: H(X) - H_q(X)": {"value": Cell(ours("004.hiv.theta"))},
    }


OPENING = f"""# Bkakria, Cuppens, Boulahia Cuppens and Tasidou 2021

*Information theoretic-based privacy risk evaluation for data anonymization.* The paper sets information metrics side
by side (DR, MI, CP, MIL, ELD) and adds **ITPR**, which looks at the least entropic class and is scaled to 0..1. X is
the person for re-identification, or the sensitive attribute for inference. [Concepts](../concepts/leakage.md) says
how to read it.

{HOW_TO_READ}
"""

PAGE = Page(
    "bkakria",
    OPENING,
    (
        Section(
            "Tables 1 and 2: what k, l and t miss",
            "Both tables are 3-diverse and 0-close, but the best guess rises from a third to 60 %. ITPR does "
            "not see that either: it is 0 for both. ELD does.",
            "`k_anonymity`, `l_diversity`, `t_closeness`, `alpha`, `entropy_l_risk`, `itpr` of `divulge measure`.",
            "table",
            tables_1_and_2,
        ),
        Section(
            "Table 4: DR, MI and CP",
            "Eight people (Table 3). The last row's MI and CP are cut off.",
            "`discrimination_rate`, `mutual_information`, `conditional_privacy`, under `identity` and under "
            "the attribute.",
            "case",
            lambda: table_4("DR", "MI", "CP"),
        ),
        Section(
            "Table 4: MIL",
            "No one formula gives the printed column. divulge takes the cited definition, the largest H(X) - "
            "H(X given y). The printed values of the first six rows weight the class's entropy by p(y); 1.0 "
            "for case 2 of disease is the largest I1; 1.0 for case 3 is neither.",
            "`maximum_information_leakage`; `maximum_information_leakage_printed` (weighted); `surprise` (I1).",
            "case",
            variants,
        ),
        Section(
            "Table 4: ELD",
            "The formula of Section 3.3.5 has a minimum where the table needs a maximum. Taken literally it "
            "gives the last column.",
            "`entropy_l_risk` of the worst class; the literal formula is its least class value.",
            "case",
            lambda: {
                told: {"ELD": cell(f"{case}.ELD"), "literal formula": Cell(ours(f"{case}.ELD_formula"))}
                for told, case in CASES.items()
            },
        ),
        Section(
            "Table 5: ITPR",
            "All ten values match. Row 7 is labelled *case 1 of zip code*; 0.75 is case 2.",
            "`itpr`; eq. 9 is `itpr_unscaled`.",
            "case",
            table_5,
        ),
        Section(
            "Fig. 1: two classes of 10,000 people",
            "Printed in the text: ITPR falls from 1 to 7 · 10^-2, DR stays below 0.1, MIL lies between 7 and "
            "13 (the variant weighted by p(y)).",
            "the identity metrics of `divulge measure`.",
            "class sizes",
            figure_1,
        ),
        Section(
            "What ITPR does not say",
            "Publishing more can lower it, and classes of unequal size raise it without any information (1 - q "
            "min p). Eq. 15 is signed, so that it finds nothing in the paper's own HIV example, where the "
            "class is *more* uncertain than everybody; its absolute value is entropy leakage.",
            "`itpr`; `specific_information` (signed) and `entropy_leakage` (absolute).",
            "case",
            counterexamples,
        ),
    ),
)
