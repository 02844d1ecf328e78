# SPDX-License-Identifier: Apache-2.0
"""Views of the reproduction of the papers: text, JSON documents and tables.

Distances between distributions and simulations are shown here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple
from typing import Any

from rich.console import Group, RenderableType

from divulge import results
from divulge.output.formatting import bullet, grid, heading
from reproduction.distances import Comparison
from reproduction.simulate import Figure3, Run, Simulation, Table5, Timings
from reproduction.verdicts import Reproduced, Reproduction


@results.text_of.register(Reproduction)
def reproduction_text(reproduction: Reproduction) -> RenderableType:
    """Render the verdicts of all papers, or each number of one paper or of chosen parts."""
    first_line = (
        f"{len(reproduction.rows):,} numbers and claims: {_counts_text(reproduction.counts)}."
    )
    if len(reproduction.papers) > 1 and reproduction.settings["part"] is None:
        table = grid("paper", "numbers and claims", right=[])
        for paper in reproduction.papers:
            table.add_row(
                f"{paper.name}: {paper.authors}", _counts_text(reproduction.counts_of(paper.name))
            )
        return Group(
            first_line,
            "",
            table,
            "",
            f"python -m reproduction {reproduction.papers[0].name} shows each number of one paper.",
        )
    return Group(first_line, *(line for part in reproduction.parts for line in _part_lines(part)))


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items())


def _part_lines(reproduced_part: Reproduced) -> Iterable[RenderableType]:
    yield heading(f"{reproduced_part.part.paper}, {reproduced_part.part.heading}")
    if reproduced_part.left_out:
        yield f"Left out: {reproduced_part.left_out}"
        return
    numbers = [entry for entry in reproduced_part.rows if entry.quantity != "claim"]
    table = grid("what", "printed", "ours", "verdict", right=[1, 2])
    for entry in numbers:
        table.add_row(
            f"{entry.label}, {entry.quantity}",
            entry.printed.value or "-",
            entry.shown,
            entry.verdict,
        )
    if numbers:
        yield table
    for entry in reproduced_part.rows:
        if entry.quantity == "claim":
            yield bullet(f"{entry.verdict}: {entry.label} ({entry.shown})")
    for reason in dict.fromkeys(entry.reason for entry in reproduced_part.rows if entry.reason):
        verdicts = dict.fromkeys(
            entry.verdict for entry in reproduced_part.rows if entry.reason == reason
        )
        yield bullet(f"{', '.join(verdicts)}: {reason}", mark="*")
    if reproduced_part.figures:
        yield (
            "Figures: "
            f"{'; '.join(f'{entry.name}, {entry.title}' for entry in reproduced_part.figures)}"
        )


@results.document_of.register(Reproduction)
def reproduction_document(reproduction: Reproduction) -> dict[str, Any]:
    """Return the document of `python -m reproduction --json`."""
    return {
        "holds": reproduction.holds,
        "counts": reproduction.counts,
        "papers": [
            {
                "name": paper.name,
                "authors": paper.authors,
                "title": paper.title,
                "counts": reproduction.counts_of(paper.name),
            }
            for paper in reproduction.papers
        ],
        "parts": [
            {
                "paper": part.part.paper,
                "heading": part.part.heading,
                "rows": [
                    {
                        "where": row.printed.where,
                        "kind": row.printed.kind,
                        "label": row.label,
                        "quantity": row.quantity,
                        "printed": row.printed.value,
                        "ours": row.ours,
                        "verdict": row.verdict,
                        "reason": row.reason,
                    }
                    for row in part.rows
                ],
                "figures": part.figures,
                "left_out": part.left_out,
            }
            for part in reproduction.parts
        ],
        "settings": reproduction.settings,
    }


@results.rows_of.register(Reproduction)
def reproduction_rows(reproduction: Reproduction) -> results.Rows:
    """Table with one row for each printed number, claim and figure."""
    names = ("paper", "where", "kind", "label", "quantity", "printed", "ours", "verdict", "reason")
    return names, [
        (
            part.part.paper,
            row.printed.where,
            row.printed.kind,
            row.label,
            row.quantity,
            row.printed.value,
            row.shown,
            row.verdict,
            row.reason,
        )
        for part in reproduction.parts
        for row in part.rows
    ]


@results.document_of.register(Comparison)
def distances_document(comparison: Comparison) -> dict[str, Any]:
    """Return each distance, the correlations and the curves."""
    names = comparison.names
    return {
        "settings": comparison.settings,
        "distances": [
            {
                "name": name,
                "sensitivity": comparison.sensitivity[name],
                "independence": comparison.independence(name),
            }
            for name in names
        ],
        "correlation": {
            name: dict(zip(names, map(float, row), strict=True))
            for name, row in zip(names, comparison.correlation, strict=True)
        },
        "curves": comparison.curves,
    }


@results.text_of.register(Comparison)
def distances_text(comparison: Comparison) -> RenderableType:
    """Render each distance, the most sensitive first."""
    table = grid("distance", "sensitivity", "independence", right=[1, 2])
    for name in sorted(comparison.names, key=lambda name: -comparison.sensitivity[name]):
        table.add_row(
            name, f"{comparison.sensitivity[name]:.3f}", f"{comparison.independence(name):.3f}"
        )
    settings = comparison.settings
    return Group(
        table,
        "",
        "sensitivity: growth of the distance per step of belief at the start of the way; "
        "independence: 1 - mean |rank correlation| with the others.",
        f"{settings['pairs']:,} random pairs of distributions over {settings['values']} values, "
        f"seed {settings['seed']}.",
    )


@results.rows_of.register(Comparison)
def distances_rows(comparison: Comparison) -> results.Rows:
    """Table with one row for each distance."""
    return ("distance", "sensitivity", "independence"), [
        (name, comparison.sensitivity[name], comparison.independence(name))
        for name in comparison.names
    ]


_PARAMETERS = ("n", "records", "p_c", "p_p", "p_b", "m", "w")


@results.text_of.register(Simulation)
def generated_text(simulation: Simulation) -> RenderableType:
    """Render the size of the generated records, and their leakage."""
    p = simulation.settings["parameters"]
    leakage = simulation.exact()
    parameters = ", ".join(f"{name} = {p[name]}" for name in _PARAMETERS)
    return Group(
        f"{simulation.batch.size:,} records of up to {2 * p['n']:,} attributes; "
        f"the most telling gives away {leakage.max():.5f}, on average {leakage.mean():.5f}.",
        f"{parameters}, seed {simulation.settings['seed']}.",
    )


@results.document_of.register(Simulation)
def generated_document(simulation: Simulation) -> dict[str, Any]:
    """Return the leakage of the simulation; `records()` returns its records."""
    leakage = simulation.exact()
    return {
        "leakage": leakage.max(),
        "approximate": simulation.approximate().max(),
        "mean_record": leakage.mean(),
        "settings": simulation.settings,
    }


@results.rows_of.register(Simulation)
def generated_rows(simulation: Simulation) -> results.Rows:
    """Table with one row for each record."""
    numbers = zip(simulation.exact().tolist(), simulation.approximate().tolist(), strict=True)
    return ("record", "leakage", "approximate"), [
        (record_number, *pair) for record_number, pair in enumerate(numbers, start=1)
    ]


@results.text_of.register(Run)
def run_text(run: Run) -> RenderableType:
    """Render one set of parameters."""
    return _runs_text([run])


@results.text_of.register(Figure3)
def figure_text(figure: Figure3) -> RenderableType:
    """Render the points of a panel of Fig. 3."""
    return _runs_text(figure)


def _runs_text(runs: Iterable[Run]) -> RenderableType:
    """Render mean and spread of the leakage for each set of parameters."""
    table = grid(
        "n", "|R|", "p_c", "p_p", "p_b", "m", "w", "leakage", "spread", "Taylor", right=range(10)
    )
    for run in runs:
        p = run.parameters
        leakage = run.leakage
        parameters = [f"{value:g}" for value in (p.n, p.records, p.p_c, p.p_p, p.p_b, p.m)]
        table.add_row(
            *parameters,
            p.w,
            f"{leakage.mean:.5f}",
            f"{leakage.deviation:.5f}",
            f"{run.approximate.mean:.5f}",
        )
    return Group(table)


@results.text_of.register(Table5)
def table5_text(rows: Table5) -> RenderableType:
    """Render Table 5, the printed values next to ours."""
    heads = (
        "n",
        "p_c",
        "p_p",
        "p_b",
        "m",
        "w",
        "printed",
        "ours",
        "spread",
        "Taylor, printed",
        "Taylor",
        "|R| = 1000",
    )
    table = grid(*heads, right=range(len(heads)))
    notes: list[str] = []
    for row in rows:
        p = row.as_stated.parameters
        leakage = row.as_stated.leakage
        mark = ""
        if row.note:
            mark = "*" * (len(notes) + 1)
            notes.append(f"{mark} {row.note}")
        parameters = [f"{value:g}" for value in (p.n, p.p_c, p.p_p, p.p_b, p.m)]
        ours = [f"{leakage.mean:.5f}", f"{leakage.deviation:.5f}", f"{row.printed_approximate:.5f}"]
        ours += [f"{row.as_stated.approximate.mean:.5f}", f"{row.with_1000.leakage.mean:.5f}"]
        table.add_row(*parameters, p.w, f"{row.printed_exact:.5f}{mark}", *ours)
    return Group(table, *notes)


@results.text_of.register(Timings)
def timings_text(timings: Timings) -> RenderableType:
    """Render Fig. 3d as a table."""
    table = grid("n", "method", "seconds", right=[0, 2])
    for timing in timings:
        table.add_row(str(timing.n), timing.method, f"{timing.seconds:.2e}")
    return Group(table)


@results.document_of.register(Timings)
def timings_document(timings: Timings) -> dict[str, Any]:
    """Return Fig. 3d as JSON."""
    return {"figure": "3d", "timings": list(map(asdict, timings)), "settings": timings.settings}


@results.rows_of.register(Timings)
def timings_rows(timings: Timings) -> results.Rows:
    """Table with one row for each method and n."""
    return ("n", "method", "seconds"), map(astuple, timings)


@results.document_of.register(Figure3)
def figure_document(figure: Figure3) -> dict[str, Any]:
    """Return a panel of Fig. 3 as JSON."""
    runs = list(map(run_document, figure))
    return {"figure": figure.settings["figure"], "runs": runs, "settings": figure.settings}


@results.rows_of.register(Run)
def run_rows(run: Run) -> results.Rows:
    """Table with one row."""
    return _RUN_COLUMNS, [_run_row(run)]


@results.rows_of.register(Figure3)
def figure_rows(figure: Figure3) -> results.Rows:
    """Table with one row for each point."""
    return _RUN_COLUMNS, map(_run_row, figure)


_STATISTICS = ("mean", "deviation", "lowest", "highest")
_RUN_COLUMNS = (
    *_PARAMETERS,
    "seeds",
    *(f"leakage_{name}" for name in _STATISTICS),
    "approximate",
    "mean_record",
    "taylor_error",
)


def _run_row(run: Run) -> tuple[Any, ...]:
    means = (run.approximate.mean, run.mean_record.mean)
    return (
        *astuple(run.parameters),
        len(run.seeds),
        *astuple(run.leakage),
        *means,
        run.taylor_error,
    )


@results.document_of.register(Run)
def run_document(run: Run) -> dict[str, Any]:
    """Return one run of the generator over several seeds as JSON."""
    return {
        "parameters": asdict(run.parameters),
        "seeds": list(run.seeds),
        "leakage": asdict(run.leakage),
        "approximate": asdict(run.approximate),
        "mean_record": asdict(run.mean_record),
        "taylor_error": run.taylor_error,
        "settings": run.settings,
    }


@results.rows_of.register(Table5)
def table5_rows(rows: Table5) -> results.Rows:
    """Table with one row for each row of Table 5, the printed values before ours."""
    names = (
        "printed_exact",
        "printed_approximate",
        *_RUN_COLUMNS,
        "leakage_mean_with_1000_records",
        "note",
    )
    return names, [
        (
            r.printed_exact,
            r.printed_approximate,
            *_run_row(r.as_stated),
            r.with_1000.leakage.mean,
            r.note,
        )
        for r in rows
    ]


@results.document_of.register(Table5)
def table5_document(rows: Table5) -> dict[str, Any]:
    """Return Table 5 as JSON, the printed values next to ours."""
    return {
        "table5": [
            {
                "printed": {"exact": row.printed_exact, "approximate": row.printed_approximate},
                "as_stated": run_document(row.as_stated),
                "with_1000_records": run_document(row.with_1000),
                "note": row.note,
            }
            for row in rows
        ],
        "settings": rows.settings,
    }
