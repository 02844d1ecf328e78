# SPDX-License-Identifier: Apache-2.0
"""The dossier commands that plan and experiment: disinform, enhance, simulate."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from divulge.cli.common import emit_json, progress_bar, show
from divulge.cli.dossier_options import AdversaryOptions, DatabaseOption, MeasureOptions, ReferenceOption, numbers
from divulge.cli.options import JsonOption, takes_groups
from divulge.errors import BadInput


@takes_groups
def disinform(
    database: DatabaseOption,
    reference: ReferenceOption,
    budget: Annotated[float, typer.Option(help="What disinformation may cost in all; an attribute costs 1.")],
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    candidates: Annotated[
        str | None, typer.Option(help="Records to choose from; without, linking and false records are invented.")
    ] = None,
    cost: Annotated[
        list[str] | None, typer.Option(metavar="ID=COST", help="What a candidate costs; repeatable.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="With --candidates: exact, bounded (reports its gap) or greedy.")
    ] = "exact",
    steps: Annotated[int, typer.Option(help="How many choices the method bounded may measure.", min=1)] = 1000,
    json_: JsonOption = False,
) -> None:
    """Find the disinformation that lowers the leakage most for a budget.

    \b
    Examples:
      divulge dossier disinform --database shops.json --reference p.json --resolve N --budget 5
      divulge dossier disinform --database shops.json --reference p.json --resolve N --budget 6 --candidates decoys.json
    """
    from divulge.dossier.disinformation import candidates_of, choose_disinformation
    from divulge.dossier.files import read_database, read_record
    from divulge.dossier.plan import plan_disinformation
    from divulge.views import dossier as views

    records, truth, options = read_database(database), read_record(reference), measure.read()
    adversary.warn_about_labels(records)
    if not candidates:
        adversary.only_rule()
    with progress_bar("looking for disinformation"):
        if candidates:
            found = choose_disinformation(
                records,
                truth,
                candidates_of(read_database(candidates), costs=numbers(cost or [], "--cost")),
                budget=budget,
                operator=adversary.operator(options),
                measure=options,
                method=method,  # type: ignore[arg-type]
                steps=steps,
            )
        else:
            found = plan_disinformation(records, truth, rule=adversary.match_rule(), budget=budget, measure=options)
    emit_json(views.disinformation_document(found)) if json_ else show(views.disinformation_text(found))


@takes_groups
def enhance(
    database: DatabaseOption,
    adversary: AdversaryOptions,
    weights: Annotated[str | None, typer.Option(metavar="FILE", help="How much each label matters.")] = None,
    about: Annotated[str | None, typer.Option(help="Only the composite record that contains this record.")] = None,
    json_: JsonOption = False,
) -> None:
    """Say which attribute to verify next to make a composite record more certain.

    \b
    Example:
      divulge dossier enhance --database facts.json --resolve N
    """
    from divulge.dossier.enhance import enhance_each
    from divulge.dossier.files import read_database, read_weights
    from divulge.views import dossier as views

    records = read_database(database)
    adversary.warn_about_labels(records)
    rule = adversary.match_rule() if adversary.resolve else None
    found = enhance_each(
        records,
        rule=rule,
        method=adversary.er,  # type: ignore[arg-type]
        about=about,
        weights=read_weights(weights) if weights else None,
    )
    if json_:
        emit_json({"composites": [views.enhancement_document(each) for each in found]})
    else:
        show(views.enhancement_text(found))


def simulate(
    table5: Annotated[bool, typer.Option("--table5", help="Table 5 of the paper beside ours.")] = False,
    figure: Annotated[str | None, typer.Option(help="A panel of Fig. 3: a (p_c), b (p_p), c (m) or d (time).")] = None,
    n: Annotated[int, typer.Option(help="Attributes of the reference.")] = 100,
    records: Annotated[int, typer.Option(help="Records, |R|.")] = 10_000,
    p_c: Annotated[float, typer.Option("--p-c", help="Chance that an attribute is copied.")] = 0.5,
    p_p: Annotated[float, typer.Option("--p-p", help="Chance that a copy is wrong.")] = 0.5,
    p_b: Annotated[float, typer.Option("--p-b", help="Chance that a bogus attribute is added.")] = 0.5,
    m: Annotated[float, typer.Option(help="The largest confidence.")] = 0.5,
    w: Annotated[str, typer.Option(help="Weights: C (constant) or R (random).")] = "C",
    seeds: Annotated[int, typer.Option(help="How many seeds, from 0.", min=1)] = 5,
    json_: JsonOption = False,
) -> None:
    """Generate random records and measure them: section 6 of the paper, with spreads over seeds.

    \b
    Examples:
      divulge dossier simulate --n 200 --seeds 3 --json
      divulge dossier simulate --table5
      divulge dossier simulate --figure a
    """
    from divulge.dossier import simulate as simulation
    from divulge.views import dossier as views

    if table5 and figure:
        raise BadInput("--table5 and --figure were both given", hint="ask for one of them")
    chosen = range(seeds)
    with progress_bar("simulating"):
        if table5:
            rows = simulation.table5(seeds=chosen, records=records)
            document, text = views.table5_document(rows), views.table5_text(rows)
        elif figure == "d":
            timings = simulation.figure3d()
            document = {"figure": "3d", "timings": [asdict(each) for each in timings]}
            text = views.timings_text(timings)
        elif figure:
            runs = simulation.figure3(figure, seeds=chosen, records=records)  # type: ignore[arg-type]
            document = {"figure": f"3{figure}", "runs": [views.simulation_document(run) for run in runs]}
            text = views.simulation_text(runs)
        else:
            parameters = simulation.Parameters(n, records, p_c, p_p, p_b, m, w)  # type: ignore[arg-type]
            run = simulation.run(parameters, seeds=chosen)
            document, text = views.simulation_document(run), views.simulation_text([run])
    emit_json(document) if json_ else show(text)
