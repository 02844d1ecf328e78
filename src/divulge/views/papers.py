# SPDX-License-Identifier: Apache-2.0
"""What the papers' reproduction finds: distances between distributions (Afifi et al. 2018), simulations (Whang and Garcia-Molina)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType

from divulge import papers, results
from divulge.views.charts import data_of
from divulge.views.words import grid


@results.document_of.register(papers.Comparison)
def distances_document(comparison: papers.Comparison) -> dict[str, Any]:
    """Everything `divulge distances --json` prints."""
    names = comparison.names
    return {
        "settings": comparison.settings,
        "distances": [
            {"name": name, "sensitivity": comparison.sensitivity[name], "independence": comparison.independence(name)}
            for name in names
        ],
        "correlation": {
            name: dict(zip(names, map(float, row), strict=True))
            for name, row in zip(names, comparison.correlation, strict=True)
        },
        "curves": comparison.curves,
    }


@results.text_of.register(papers.Comparison)
def distances_text(comparison: papers.Comparison) -> RenderableType:
    """Each distance, the most sensitive first."""
    table = grid("distance", "sensitivity", "independence", right=[1, 2])
    for name in sorted(comparison.names, key=lambda name: -comparison.sensitivity[name]):
        table.add_row(name, f"{comparison.sensitivity[name]:.3f}", f"{comparison.independence(name):.3f}")
    settings = comparison.settings
    return Group(
        table,
        "",
        "sensitivity: growth of the distance per step of belief at the start of the way; "
        "independence: 1 - mean |rank correlation| with the others.",
        f"{settings['pairs']:,} random pairs of distributions over {settings['values']} values, seed {settings['seed']}.",
    )


@results.rows_of.register(papers.Comparison)
def distances_rows(comparison: papers.Comparison) -> results.Rows:
    """A row for each distance."""
    return ("distance", "sensitivity", "independence"), [
        (name, comparison.sensitivity[name], comparison.independence(name)) for name in comparison.names
    ]


def distances_chart(comparison: papers.Comparison) -> Any:
    """How each distance grows as belief moves from prior to target (Afifi et al. 2018, Fig. 1)."""
    import altair as alt

    return (
        alt.Chart(
            data_of(comparison.curves), title="Distances as belief moves from prior to target", width=460, height=320
        )
        .mark_line()
        .encode(
            x=alt.X("way:Q", title="way from prior to target"),
            y=alt.Y("mean:Q", title="mean distance", scale=alt.Scale(type="symlog")),
            color=alt.Color("distance:N", sort=list(comparison.names)),
        )
    )


def simulation_text(runs: Sequence[papers.Run]) -> RenderableType:
    """Mean and spread of the leakage for each set of parameters."""
    table = grid("n", "|R|", "p_c", "p_p", "p_b", "m", "w", "leakage", "spread", "Taylor", right=range(10))
    for run in runs:
        p, found = run.parameters, run.leakage
        given = [f"{value:g}" for value in (p.n, p.records, p.p_c, p.p_p, p.p_b, p.m)]
        table.add_row(*given, p.w, f"{found.mean:.5f}", f"{found.deviation:.5f}", f"{run.approximate.mean:.5f}")
    return Group(table)


def table5_text(rows: Sequence[papers.Table5Row]) -> RenderableType:
    """Table 5, the printed values beside ours."""
    table = grid("n", "p_c", "p_p", "p_b", "m", "w", "printed", "ours", "spread", "|R| = 1000", right=range(10))
    notes: list[str] = []
    for row in rows:
        p, found = row.as_stated.parameters, row.as_stated.leakage
        mark = ""
        if row.note:
            mark = "*" * (len(notes) + 1)
            notes.append(f"{mark} {row.note}")
        given = [f"{value:g}" for value in (p.n, p.p_c, p.p_p, p.p_b, p.m)]
        ours = [f"{found.mean:.5f}", f"{found.deviation:.5f}", f"{row.with_1000.leakage.mean:.5f}"]
        table.add_row(*given, p.w, f"{row.printed_exact:.5f}{mark}", *ours)
    return Group(table, *notes)


def timings_text(timings: Sequence[papers.Timing]) -> RenderableType:
    """Fig. 3d as a table."""
    table = grid("n", "method", "seconds", right=[0, 2])
    for each in timings:
        table.add_row(str(each.n), each.method, f"{each.seconds:.2e}")
    return Group(table)


def simulation_document(found: papers.Run) -> dict[str, Any]:
    """One run of the generator over several seeds."""
    return {
        "parameters": asdict(found.parameters),
        "seeds": list(found.seeds),
        "leakage": asdict(found.leakage),
        "approximate": asdict(found.approximate),
        "mean_record": asdict(found.mean_record),
        "taylor_error": found.taylor_error,
    }


def table5_document(rows: Sequence[papers.Table5Row]) -> dict[str, Any]:
    """Table 5, the printed values beside ours."""
    return {
        "table5": [
            {
                "printed": {"exact": row.printed_exact, "approximate": row.printed_approximate},
                "as_stated": simulation_document(row.as_stated),
                "with_1000_records": simulation_document(row.with_1000),
                "note": row.note,
            }
            for row in rows
        ]
    }
