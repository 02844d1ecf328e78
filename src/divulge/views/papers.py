# SPDX-License-Identifier: Apache-2.0
"""What the papers' reproduction finds, in words, as JSON and as a table; distances between distributions and simulations, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple
from typing import Any

from rich.console import Group, RenderableType

from divulge import papers, results
from divulge.views.words import bullet, grid, heading


@results.text_of.register(papers.Reproduction)
def reproduction_text(found: papers.Reproduction) -> RenderableType:
    """How the papers fare; of a single one, or of chosen parts, each number too."""
    opened = f"{len(found.rows):,} numbers and claims: {_counts(found.counts)}."
    if len(found.papers) > 1 and found.settings["part"] is None:
        table = grid("paper", "numbers and claims", right=[])
        for paper in found.papers:
            table.add_row(f"{paper.name}: {paper.authors}", _counts(found.counts_of(paper.name)))
        return Group(opened, "", table, "", f"divulge papers {found.papers[0].name} tells each number of one paper.")
    return Group(opened, *(line for each in found.parts for line in _part(each)))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items())


def _part(found: papers.Reproduced) -> Iterable[RenderableType]:
    yield heading(f"{found.part.paper}, {found.part.heading}")
    if found.left_out:
        yield f"Left out: {found.left_out}"
        return
    numbers = [each for each in found.rows if each.quantity != "claim"]
    table = grid("what", "printed", "ours", "verdict", right=[1, 2])
    for each in numbers:
        table.add_row(f"{each.label}, {each.quantity}", each.printed.value or "-", each.shown, each.verdict)
    if numbers:
        yield table
    for each in found.rows:
        if each.quantity == "claim":
            yield bullet(f"{each.verdict}: {each.label} ({each.shown})")
    for reason in dict.fromkeys(each.reason for each in found.rows if each.reason):
        verdicts = dict.fromkeys(each.verdict for each in found.rows if each.reason == reason)
        yield bullet(f"{', '.join(verdicts)}: {reason}", mark="*")
    if found.figures:
        yield f"Figures: {'; '.join(f'{each.name}, {each.title}' for each in found.figures)}"


@results.document_of.register(papers.Reproduction)
def reproduction_document(found: papers.Reproduction) -> dict[str, Any]:
    """Everything `divulge papers --json` prints."""
    return {
        "holds": found.holds,
        "counts": found.counts,
        "papers": [
            {"name": paper.name, "authors": paper.authors, "title": paper.title, "counts": found.counts_of(paper.name)}
            for paper in found.papers
        ],
        "parts": [
            {
                "paper": each.part.paper,
                "heading": each.part.heading,
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
                    for row in each.rows
                ],
                "figures": each.figures,
                "left_out": each.left_out,
            }
            for each in found.parts
        ],
        "settings": found.settings,
    }


@results.rows_of.register(papers.Reproduction)
def reproduction_rows(found: papers.Reproduction) -> results.Rows:
    """A row for each thing printed."""
    names = ("paper", "where", "kind", "label", "quantity", "printed", "ours", "verdict", "reason")
    return names, [
        (
            each.part.paper, row.printed.where, row.printed.kind, row.label, row.quantity, row.printed.value, row.shown,
            row.verdict, row.reason,
        )
        for each in found.parts
        for row in each.rows
    ]  # fmt: skip


@results.document_of.register(papers.Comparison)
def distances_document(comparison: papers.Comparison) -> dict[str, Any]:
    """Each distance, the correlations and the curves."""
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


_PARAMETERS = ("n", "records", "p_c", "p_p", "p_b", "m", "w")


@results.text_of.register(papers.Simulation)
def generated_text(found: papers.Simulation) -> RenderableType:
    """What the generator made, and what it gives away."""
    p, leakage = found.settings["parameters"], found.exact()
    given = ", ".join(f"{name} = {p[name]}" for name in _PARAMETERS)
    return Group(
        f"{found.batch.size:,} records of up to {2 * p['n']:,} attributes; "
        f"the most telling gives away {leakage.max():.5f}, on average {leakage.mean():.5f}.",
        f"{given}, seed {found.settings['seed']}.",
    )


@results.document_of.register(papers.Simulation)
def generated_document(found: papers.Simulation) -> dict[str, Any]:
    """The leakage of the run; the records themselves are `records()`."""
    leakage = found.exact()
    return {
        "leakage": leakage.max(), "approximate": found.approximate().max(), "mean_record": leakage.mean(),
        "settings": found.settings,
    }  # fmt: skip


@results.rows_of.register(papers.Simulation)
def generated_rows(found: papers.Simulation) -> results.Rows:
    """A row for each record."""
    numbers = zip(found.exact().tolist(), found.approximate().tolist(), strict=True)
    return ("record", "leakage", "approximate"), [(place, *pair) for place, pair in enumerate(numbers, start=1)]


@results.text_of.register(papers.Run)
def run_text(found: papers.Run) -> RenderableType:
    """One set of parameters."""
    return _runs_text([found])


@results.text_of.register(papers.Figure3)
def figure_text(found: papers.Figure3) -> RenderableType:
    """The points of a panel of Fig. 3."""
    return _runs_text(found)


def _runs_text(runs: Iterable[papers.Run]) -> RenderableType:
    """Mean and spread of the leakage for each set of parameters."""
    table = grid("n", "|R|", "p_c", "p_p", "p_b", "m", "w", "leakage", "spread", "Taylor", right=range(10))
    for run in runs:
        p, found = run.parameters, run.leakage
        given = [f"{value:g}" for value in (p.n, p.records, p.p_c, p.p_p, p.p_b, p.m)]
        table.add_row(*given, p.w, f"{found.mean:.5f}", f"{found.deviation:.5f}", f"{run.approximate.mean:.5f}")
    return Group(table)


@results.text_of.register(papers.Table5)
def table5_text(rows: papers.Table5) -> RenderableType:
    """Table 5, the printed values beside ours."""
    heads = ("n", "p_c", "p_p", "p_b", "m", "w", "printed", "ours", "spread", "Taylor, printed", "Taylor", "|R| = 1000")
    table = grid(*heads, right=range(len(heads)))
    notes: list[str] = []
    for row in rows:
        p, found = row.as_stated.parameters, row.as_stated.leakage
        mark = ""
        if row.note:
            mark = "*" * (len(notes) + 1)
            notes.append(f"{mark} {row.note}")
        given = [f"{value:g}" for value in (p.n, p.p_c, p.p_p, p.p_b, p.m)]
        ours = [f"{found.mean:.5f}", f"{found.deviation:.5f}", f"{row.printed_approximate:.5f}"]
        ours += [f"{row.as_stated.approximate.mean:.5f}", f"{row.with_1000.leakage.mean:.5f}"]
        table.add_row(*given, p.w, f"{row.printed_exact:.5f}{mark}", *ours)
    return Group(table, *notes)


@results.text_of.register(papers.Timings)
def timings_text(timings: papers.Timings) -> RenderableType:
    """Fig. 3d as a table."""
    table = grid("n", "method", "seconds", right=[0, 2])
    for each in timings:
        table.add_row(str(each.n), each.method, f"{each.seconds:.2e}")
    return Group(table)


@results.document_of.register(papers.Timings)
def timings_document(timings: papers.Timings) -> dict[str, Any]:
    """Fig. 3d as JSON."""
    return {"figure": "3d", "timings": list(map(asdict, timings)), "settings": timings.settings}


@results.rows_of.register(papers.Timings)
def timings_rows(timings: papers.Timings) -> results.Rows:
    """A row for each method and n."""
    return ("n", "method", "seconds"), map(astuple, timings)


@results.document_of.register(papers.Figure3)
def figure_document(found: papers.Figure3) -> dict[str, Any]:
    """A panel of Fig. 3 as JSON."""
    runs = list(map(run_document, found))
    return {"figure": found.settings["figure"], "runs": runs, "settings": found.settings}


@results.rows_of.register(papers.Run)
def run_rows(found: papers.Run) -> results.Rows:
    """One row."""
    return _RUN, [_run_row(found)]


@results.rows_of.register(papers.Figure3)
def figure_rows(found: papers.Figure3) -> results.Rows:
    """A row for each point."""
    return _RUN, map(_run_row, found)


_SPREAD = ("mean", "deviation", "lowest", "highest")
_RUN = (*_PARAMETERS, "seeds", *(f"leakage_{name}" for name in _SPREAD), "approximate", "mean_record", "taylor_error")


def _run_row(found: papers.Run) -> tuple[Any, ...]:
    means = (found.approximate.mean, found.mean_record.mean)
    return (*astuple(found.parameters), len(found.seeds), *astuple(found.leakage), *means, found.taylor_error)


@results.document_of.register(papers.Run)
def run_document(found: papers.Run) -> dict[str, Any]:
    """One run of the generator over several seeds."""
    return {
        "parameters": asdict(found.parameters),
        "seeds": list(found.seeds),
        "leakage": asdict(found.leakage),
        "approximate": asdict(found.approximate),
        "mean_record": asdict(found.mean_record),
        "taylor_error": found.taylor_error,
        "settings": found.settings,
    }


@results.rows_of.register(papers.Table5)
def table5_rows(rows: papers.Table5) -> results.Rows:
    """A row for each of the paper's, with the printed values before ours."""
    names = ("printed_exact", "printed_approximate", *_RUN, "leakage_mean_with_1000_records", "note")
    return names, [
        (r.printed_exact, r.printed_approximate, *_run_row(r.as_stated), r.with_1000.leakage.mean, r.note) for r in rows
    ]


@results.document_of.register(papers.Table5)
def table5_document(rows: papers.Table5) -> dict[str, Any]:
    """Table 5, the printed values beside ours."""
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
