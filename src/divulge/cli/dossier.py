# SPDX-License-Identifier: Apache-2.0
"""`divulge dossier`: what scattered records give away about one person, and what to do about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer
from typer import Option

import divulge as dv
from divulge.cli.dossier_options import (
    AdversaryOptions,
    CostOptions,
    DatabaseOption,
    EquivalenceOption,
    MatchOptions,
    MeasureOptions,
    ReferenceOption,
    ReleaseOptions,
    named_files,
    numbers,
    read_equivalence,
    warn_about_labels,
)
from divulge.cli.options import (
    ChartOption,
    JsonOption,
    Pictures,
    Text,
    Texts,
    emit_json,
    new_app,
    show,
    takes_groups,
    tell,
)
from divulge.cli.program import options_of, refuse_idle
from divulge.cli.progress import progress_bar
from divulge.errors import BadInput

app = new_app()
EXPLAINED = 1000
"""Records up to which the text says what each label contributes without being asked."""


@app.callback()
def dossier() -> None:
    """What scattered records give away about one person.

    \b
    Example:
      divulge dossier leakage --database shops.json --reference me.json --resolve N+C,N+P
    """


@app.command()
@takes_groups
def leakage(
    context: typer.Context,
    reference: ReferenceOption,
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    price: CostOptions,
    table: ReleaseOptions,
    record: Annotated[Text, Option(metavar="FILE", help="One record.", rich_help_panel="Records")] = None,
    database: Annotated[
        Text, Option(metavar="FILE", help="Many records: .json, .jsonl or .csv.", rich_help_panel="Records")
    ] = None,
    method: Annotated[
        str, Option(help="exact, naive, algorithm1 or taylor (approximate).", rich_help_panel="Measure")
    ] = "exact",
    timeline: Annotated[bool, Option("--timeline", help="Also how the leakage grew, record by record.")] = False,
    without: Annotated[bool, Option("--without", help="Also what keeping a label back would have brought.")] = False,
    chart: ChartOption = None,
    json_: JsonOption = False,
) -> None:
    """Measure how much one record, many records or a published table tell about a person.

    \b
    Examples:
      divulge dossier leakage --database shops.json --reference p.json --resolve N+C,N+P --without --timeline
      divulge dossier leakage --table release.csv --qi Zip,Age --background known.csv --reference p.json
      divulge dossier leakage --record r.json --reference p.json --grade Age=10 --statistics ages.json --joint J=Address+Phone
    """
    given = {"--record": record, "--database": database, "--table": table.table}
    named = [name for name, file in given.items() if file]
    if len(named) != 1:
        raise BadInput(
            f"{' and '.join(named) or 'nothing'} was given to measure", hint="give one of --record, --database, --table"
        )
    only_many = (*options_of(AdversaryOptions, CostOptions), "timeline", "without")
    refuse_idle(context, {} if database else {f"with {named[0]}": only_many})
    refuse_idle(context, {"with --record, of which there is no picture": ("chart",)} if record else {})
    kinds = [name for name, asked in (("timeline", timeline), ("labels", without), ("records", True)) if asked]
    drawing = Pictures.of(chart, kinds)
    refuse_idle(context, {} if table.table else {f"with {named[0]}": options_of(ReleaseOptions)})
    refuse_idle(context, adversary.idle)
    refuse_idle(context, {} if adversary.merges else {"without --resolve or --link": options_of(CostOptions)})
    options = replace(measure.read(), method=method)  # type: ignore[arg-type]
    if table.table:
        people = table.measure(reference, options)
        tell(people, json_=json_)
        drawing.draw({"records": people.chart}, json_=json_)
        return
    if record:
        held, truth = dv.dossier.read_record(record), dv.dossier.read_record(reference)
        one = options.one(held, truth)
        warn_about_labels(options, [held, truth])
        tell(one, json_=json_)
        return
    records, truth = dv.dossier.read_database(str(database)), dv.dossier.read_record(reference)
    adversary.warn_about_labels(records)
    operator = adversary.operator(options.equivalence, price.read())
    explain = without or (not json_ and adversary.merges and len(records) <= EXPLAINED)
    with progress_bar("linking records"):
        found = dv.dossier.attack(records, truth, operator, measure=options)
        kept = dv.dossier.without(records, truth, operator=operator, measure=options) if explain else None
    steps = None
    if timeline:
        with progress_bar("timeline") as bar:
            steps = dv.dossier.timeline(records, truth, operator=operator, measure=options, progress=bar)
    warn_about_labels(options, [*records, truth])
    found = adversary.with_files(found)
    if json_:
        graph = adversary.merge(records, options.equivalence)[1] if adversary.merges else None
        emit_json(found.to_dict(graph=graph, kept=kept or (), steps=steps))
    else:
        show(found.text(kept=kept or (), steps=steps))
    pictured = {"records": found, "timeline": steps, "labels": kept}
    drawing.draw({kind: each.chart for kind, each in pictured.items() if each is not None}, json_=json_)


@app.command()
@takes_groups
def resolve(
    context: typer.Context,
    database: DatabaseOption,
    adversary: AdversaryOptions,
    equivalence: EquivalenceOption = None,
    out: Annotated[Text, Option(metavar="FILE", help="Write the merged records here: .json, .jsonl or .csv.")] = None,
    json_: JsonOption = False,
) -> None:
    """Merge the records that are about one person, and say why.

    \b
    Examples:
      divulge dossier resolve --database shops.json --resolve N+C,N+P --json
      divulge dossier resolve --database shops.jsonl --link N~1,P,C --probability 0.95 --out people.json
    """
    from divulge.views import dossier as views

    refuse_idle(context, adversary.idle if adversary.merges else {})
    records = dv.dossier.read_database(database)
    adversary.warn_about_labels(records)
    merged, graph, how = adversary.merge(records, read_equivalence(equivalence))
    settings = {**adversary.settings, "equivalence": equivalence is not None}
    if out:
        dv.dossier.write_database(merged, out)
    if json_:
        documents = [views.record_document(record) for record in merged]
        emit_json({"given": len(records), "records": documents, "graph": graph, **how, "settings": settings})
    else:
        show(views.resolution_text(merged, len(records), graph["edges"]), *views.settings_text(settings))


@app.command()
@takes_groups
def dip(
    context: typer.Context,
    database: DatabaseOption,
    query: Annotated[
        str, Option(metavar="FILE", help="What the adversary starts from: a record.", rich_help_panel="Records")
    ],
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    reference: Annotated[
        Text,
        Option(metavar="FILE", help="The truth about the person, to measure the result.", rich_help_panel="Records"),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Find out what the records tell about one query record.

    \b
    Example:
      divulge dossier dip --database shops.json --query q.json --resolve N --reference p.json
    """
    measures = [name for name in options_of(MeasureOptions) if name != "equivalence"]
    refuse_idle(context, {**adversary.idle, **({} if reference else {"without --reference": measures})})
    records, start, options = dv.dossier.read_database(database), dv.dossier.read_record(query), measure.read()
    adversary.warn_about_labels([*records, start])
    known: dict[str, Any] = {}
    if reference:
        known = {"reference": dv.dossier.read_record(reference), "measure": options}
    found = dv.dossier.dip(records, start, adversary.operator(options.equivalence), **known)
    tell(adversary.with_files(found), json_=json_)


@app.command()
@takes_groups
def release(
    context: typer.Context,
    database: DatabaseOption,
    reference: ReferenceOption,
    alternatives: Annotated[
        list[str],
        Option(
            "--release",
            metavar="[NAME=]FILE",
            help="A record that could be released; repeatable.",
            rich_help_panel="Records",
        ),
    ],
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    chart: ChartOption = None,
    json_: JsonOption = False,
) -> None:
    """Compare what releasing one record or another would add to the leakage.

    \b
    Example:
      divulge dossier release --database shops.json --reference p.json --resolve N+C,N+P --release card1=u.json --release card2=v.json
    """
    refuse_idle(context, adversary.idle)
    drawing = Pictures.of(chart, ("records",))
    records, options = dv.dossier.read_database(database), measure.read()
    offered = {name: dv.dossier.read_record(path) for name, path in named_files(alternatives).items()}
    adversary.warn_about_labels([*records, *offered.values()])
    truth, operator = dv.dossier.read_record(reference), adversary.operator(options.equivalence)
    found = dv.dossier.compare(records, truth, offered, operator=operator, measure=options)
    warn_about_labels(options, [*records, *offered.values(), truth])
    tell(adversary.with_files(found), json_=json_)
    drawing.draw({"records": found.chart}, json_=json_)


@app.command()
@takes_groups
def disinform(
    context: typer.Context,
    database: DatabaseOption,
    reference: ReferenceOption,
    budget: Annotated[
        float, Option(help="What disinformation may cost in all; an attribute costs 1.", rich_help_panel="Search")
    ],
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    candidates: Annotated[
        Text,
        Option(
            metavar="FILE",
            help="Records to choose from; without, linking and false records are invented.",
            rich_help_panel="Search",
        ),
    ] = None,
    cost: Annotated[
        Texts, Option(metavar="ID=COST", help="What a candidate costs; repeatable.", rich_help_panel="Search")
    ] = None,
    method: Annotated[
        str, Option(help="With --candidates: exact, bounded (reports its gap) or greedy.", rich_help_panel="Search")
    ] = "exact",
    steps: Annotated[
        int, Option(help="How many choices the method bounded may measure.", min=1, rich_help_panel="Search")
    ] = 1000,
    chart: ChartOption = None,
    json_: JsonOption = False,
) -> None:
    """Find the disinformation that lowers the leakage most for a budget.

    \b
    Examples:
      divulge dossier disinform --database shops.json --reference p.json --resolve N --budget 5
      divulge dossier disinform --database shops.json --reference p.json --resolve N --budget 6 --candidates decoys.json
    """
    refuse_idle(context, adversary.idle if candidates or adversary.resolve else {})
    refuse_idle(context, {} if candidates else {"without --candidates": ("cost", "method", "steps")})
    refuse_idle(context, {} if method == "bounded" else {"without --method bounded": ("steps",)})
    drawing = Pictures.of(chart, ("disinformation",))
    records, truth, options = dv.dossier.read_database(database), dv.dossier.read_record(reference), measure.read()
    adversary.warn_about_labels(records)
    if not candidates and (adversary.link or adversary.augment or adversary.er != "swoosh"):
        raise BadInput(
            "disinformation is planned against merging by a rule (swoosh) only",
            hint="drop --link, --augment and --er, or choose among --candidates",
        )
    with progress_bar("looking for disinformation"):
        if candidates:
            costs, operator = numbers(cost or [], "--cost"), adversary.operator(options.equivalence)
            offered = dv.dossier.candidates_of(dv.dossier.read_database(candidates), costs=costs)
            asked: dict[str, Any] = {"budget": budget, "operator": operator, "method": method, "steps": steps}
            found = dv.dossier.choose_disinformation(records, truth, offered, measure=options, **asked)
        else:
            rule = adversary.match_rule()
            found = dv.dossier.plan_disinformation(records, truth, rule=rule, budget=budget, measure=options)
    tell(adversary.with_files(found), json_=json_)
    drawing.draw({"disinformation": found.chart}, json_=json_)


@app.command()
@takes_groups
def enhance(
    context: typer.Context,
    database: DatabaseOption,
    adversary: MatchOptions,
    weights: Annotated[
        Text, Option(metavar="FILE", help="How much each label matters.", rich_help_panel="Measure")
    ] = None,
    about: Annotated[
        Text,
        Option(metavar="ID", help="Only the composite record that contains this record.", rich_help_panel="Records"),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Say which attribute to verify next to make a composite record more certain.

    \b
    Example:
      divulge dossier enhance --database facts.json --resolve N
    """
    refuse_idle(context, adversary.idle)
    records = dv.dossier.read_database(database)
    adversary.warn_about_labels(records)
    rule = adversary.match_rule() if adversary.resolve else None
    heavy, er = dv.dossier.read_weights(weights) if weights else None, adversary.er
    found = dv.dossier.enhance_each(records, rule=rule, method=er, about=about, weights=heavy)  # type: ignore[arg-type]
    tell(found, json_=json_)
