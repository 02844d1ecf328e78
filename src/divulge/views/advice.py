# SPDX-License-Identifier: Apache-2.0
"""Advice on bounds and on the number of tables: what is proved, what the paper says, and what was measured, each said to be so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import anatomy, results
from divulge.views.words import bullet, grid, heading, number, rows


@results.text_of.register(anatomy.Advice)
def advice_text(found: anatomy.Advice) -> RenderableType:
    """Proved, the paper's, measured."""
    parts: list[RenderableType] = [
        Text(
            f"{found.settings['source']}: {rows(found.rows)}; beta of at least {_share(found.least_beta)} can be kept, any delta"
        ),
        heading("What groupings of k tables of quasi-identifiers can keep (proved)"),
    ]
    table = grid("k", "columns", "least alpha", "gamma: none below", "kept with them", prose=1, right=[0, 2, 3, 4])
    for each in found.counts:
        columns = "; ".join(", ".join(names) for names in each.tables)
        levels = (each.least_alpha, each.never_gamma, each.kept_gamma)
        table.add_row(f"{len(each.tables)}", columns, *(number(float(level)) for level in levels))
    parts.append(table)
    if found.asked:
        asked = ", ".join(f"{name} = {bound}" for name, bound in found.asked.items())
        parts += [bullet(f"{asked} with k = {len(each.tables)}: {each.verdict}.") for each in found.counts]
    parts += [heading("What the paper says (Yao et al. 2021, section 4.4)"), *(bullet(told) for told in _said(found))]
    tried = grid(
        "k",
        "beta asked",
        "groups",
        "records in a group",
        "alpha",
        "beta",
        "gamma",
        "delta",
        "query error",
        right=range(9),
    )
    for trial in found.trials:
        reached = (trial.reached.alpha, trial.reached.beta, trial.reached.gamma, trial.reached.delta)
        tried.add_row(
            f"{trial.tables}", str(trial.beta), f"{trial.groups:,}", f"{trial.smallest:,}-{trial.largest:,}",
            *(number(float(level)) for level in reached), number(trial.error),
        )  # fmt: skip
    depends = (
        f"Each line is a grouping that was made, with beta alone asked for; the error is the mean of {found.settings['queries']} count "
        "queries. Nothing was written."
    )
    return Group(*parts, heading("What it costs (measured on this table)"), tried, Text(depends, style="dim"))


def _said(found: anatomy.Advice) -> list[str]:
    wrong = [str(len(each.tables)) for each in found.counts if each.paper_is_wrong]
    always = found.counts[0].paper_always_alpha
    n_most, values = found.records_per_group, found.distinct_sensitive
    held = (
        f"wrong here with k = {', '.join(wrong)}, see the least alpha"
        if wrong
        else "so it is here; in general it is wrong"
    )
    return [
        f"N = max(1/beta, 1/delta) records of a group have different sensitive values: N <= {values:,} by M, N <= {n_most:,} by H <= L/N.",
        "Where gamma is not sure, alpha^k beta for k tables: that follows from its equations, and is always kept with alpha and beta.",
        f"Alpha above 1/min = {_share(always)} can always be kept: {held}.",
        "More tables tell less (Fig. 9): the query errors below are this table's.",
    ]


def _share(share: Fraction) -> str:
    return f"{share} (about {float(share):.4g})" if share.denominator > 100 else str(share)


@results.document_of.register(anatomy.Advice)
def advice_document(found: anatomy.Advice) -> dict[str, Any]:
    """Everything `divulge anatomize --advise --json` prints; levels as exact texts."""
    return {
        "rows": found.rows,
        "asked": found.asked,
        "proved": {
            "least_beta": str(found.least_beta),
            "least_delta": "0",
            "records_per_group": found.records_per_group,
            "tables": [
                {
                    "tables": each.tables,
                    "least_alpha": str(each.least_alpha),
                    "never_gamma": str(each.never_gamma),
                    "kept_gamma": str(each.kept_gamma),
                    "verdict": each.verdict if found.asked else None,
                }
                for each in found.counts
            ],
        },
        "paper": [
            {
                "tables": len(each.tables),
                "never_alpha_below": str(each.paper_never_alpha),
                "always_alpha_above": str(each.paper_always_alpha),
                "wrong_here": each.paper_is_wrong,
            }
            for each in found.counts
        ],
        "measured": [
            {
                "tables": trial.tables,
                "beta": str(trial.beta),
                "groups": trial.groups,
                "group_sizes": {"min": trial.smallest, "max": trial.largest},
                "levels": trial.reached.texts(),
                "recq": trial.error,
            }
            for trial in found.trials
        ],
        "settings": found.settings,
    }


@results.rows_of.register(anatomy.Advice)
def advice_rows(found: anatomy.Advice) -> results.Rows:
    """Each grouping that was made."""
    names = ("tables", "beta_asked", "groups", "smallest", "largest", "alpha", "beta", "gamma", "delta", "query_error")
    return names, [
        (
            trial.tables, float(trial.beta), trial.groups, trial.smallest, trial.largest, float(trial.reached.alpha),
            float(trial.reached.beta), float(trial.reached.gamma), float(trial.reached.delta), trial.error,
        )
        for trial in found.trials
    ]  # fmt: skip
