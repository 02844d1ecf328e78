# SPDX-License-Identifier: Apache-2.0
"""Views of the advice on bounds and on the number of tables.

The views distinguish proved statements, statements of the paper and measured numbers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import anatomization, results
from divulge.output.formatting import bullet, grid, heading, number, rows


@results.text_of.register(anatomization.Advice)
def advice_text(advice: anatomization.Advice) -> RenderableType:
    """Render the proved limits, the statements of the paper and the measured groupings."""
    parts: list[RenderableType] = [
        Text(
            f"{advice.settings['source']}: {rows(advice.rows)}; beta of at least "
            f"{_fraction_text(advice.least_beta)} can be kept, any delta"
        ),
        heading("What groupings of k tables of quasi-identifiers can keep (proved)"),
    ]
    table = grid(
        "k",
        "columns",
        "least alpha",
        "gamma: none below",
        "kept with them",
        prose=1,
        right=[0, 2, 3, 4],
    )
    for table_count in advice.counts:
        columns = "; ".join(", ".join(names) for names in table_count.tables)
        levels = (table_count.least_alpha, table_count.never_gamma, table_count.kept_gamma)
        table.add_row(
            f"{len(table_count.tables)}", columns, *(number(float(level)) for level in levels)
        )
    parts.append(table)
    if advice.asked:
        bounds_text = ", ".join(f"{name} = {bound}" for name, bound in advice.asked.items())
        parts += [
            bullet(f"{bounds_text} with k = {len(table_count.tables)}: {table_count.verdict}.")
            for table_count in advice.counts
        ]
    parts += [
        heading("What the paper says (Yao et al. 2021, section 4.4)"),
        *(bullet(sentence) for sentence in _paper_claims(advice)),
    ]
    trial_table = grid(
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
    for trial in advice.trials:
        levels_reached = (
            trial.reached.alpha,
            trial.reached.beta,
            trial.reached.gamma,
            trial.reached.delta,
        )
        trial_table.add_row(
            f"{trial.tables}",
            str(trial.beta),
            f"{trial.groups:,}",
            f"{trial.smallest:,}-{trial.largest:,}",
            *(number(float(level)) for level in levels_reached),
            number(trial.error),
        )
    explanation = (
        "Each line is a grouping that was made, with beta alone asked for; the error is the mean "
        f"of {advice.settings['queries']} count queries. Nothing was written."
    )
    return Group(
        *parts,
        heading("What it costs (measured on this table)"),
        trial_table,
        Text(explanation, style="dim"),
    )


def _paper_claims(advice: anatomization.Advice) -> list[str]:
    refuted_counts = [
        str(len(table_count.tables)) for table_count in advice.counts if table_count.paper_is_wrong
    ]
    always_alpha = advice.counts[0].paper_always_alpha
    most_records = advice.records_per_group
    values = advice.distinct_sensitive
    if refuted_counts:
        alpha_verdict = f"wrong here with k = {', '.join(refuted_counts)}, see the least alpha"
    else:
        alpha_verdict = "so it is here; in general it is wrong"
    return [
        (
            "N = max(1/beta, 1/delta) records of a group have different sensitive values: N <= "
            f"{values:,} by M, N <= {most_records:,} by H <= L/N."
        ),
        (
            "Where gamma is not sure, alpha^k beta for k tables: that follows from its equations, "
            "and is always kept with alpha and beta."
        ),
        f"Alpha above 1/min = {_fraction_text(always_alpha)} can always be kept: {alpha_verdict}.",
        "More tables tell less (Fig. 9): the query errors below are this table's.",
    ]


def _fraction_text(share: Fraction) -> str:
    if share.denominator > 100:
        return f"{share} (about {float(share):.4g})"
    return str(share)


@results.document_of.register(anatomization.Advice)
def advice_document(advice: anatomization.Advice) -> dict[str, Any]:
    """Return the document of `divulge anatomize --advise --json`; levels are exact fractions."""
    return {
        "rows": advice.rows,
        "asked": advice.asked,
        "proved": {
            "least_beta": str(advice.least_beta),
            "least_delta": "0",
            "records_per_group": advice.records_per_group,
            "tables": [
                {
                    "tables": table_count.tables,
                    "least_alpha": str(table_count.least_alpha),
                    "never_gamma": str(table_count.never_gamma),
                    "kept_gamma": str(table_count.kept_gamma),
                    "verdict": table_count.verdict if advice.asked else None,
                }
                for table_count in advice.counts
            ],
        },
        "paper": [
            {
                "tables": len(table_count.tables),
                "never_alpha_below": str(table_count.paper_never_alpha),
                "always_alpha_above": str(table_count.paper_always_alpha),
                "wrong_here": table_count.paper_is_wrong,
            }
            for table_count in advice.counts
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
            for trial in advice.trials
        ],
        "settings": advice.settings,
    }


@results.rows_of.register(anatomization.Advice)
def advice_rows(advice: anatomization.Advice) -> results.Rows:
    """Table with one row for each grouping that was made."""
    names = (
        "tables",
        "beta_asked",
        "groups",
        "smallest",
        "largest",
        "alpha",
        "beta",
        "gamma",
        "delta",
        "query_error",
    )
    return names, [
        (
            trial.tables,
            float(trial.beta),
            trial.groups,
            trial.smallest,
            trial.largest,
            float(trial.reached.alpha),
            float(trial.reached.beta),
            float(trial.reached.gamma),
            float(trial.reached.delta),
            trial.error,
        )
        for trial in advice.trials
    ]
