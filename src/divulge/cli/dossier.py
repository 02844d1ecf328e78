# SPDX-License-Identifier: Apache-2.0
"""`divulge dossier`: what scattered records give away about one person, and what to do about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from divulge.cli.common import emit_json, new_app, progress_bar, show
from divulge.cli.dossier_options import (
    AdversaryOptions,
    DatabaseOption,
    MeasureOptions,
    ReferenceOption,
    ReleaseOptions,
    named_files,
    tracked,
)
from divulge.cli.dossier_plan import disinform, enhance, simulate
from divulge.cli.options import JsonOption, takes_groups
from divulge.errors import BadInput

if TYPE_CHECKING:
    from divulge.dossier.measure import Measure

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
    reference: ReferenceOption,
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    table: ReleaseOptions,
    record: Annotated[str | None, typer.Option(help="One record.")] = None,
    database: Annotated[str | None, typer.Option(help="Many records: .json, .jsonl or .csv.")] = None,
    method: Annotated[str, typer.Option(help="exact, naive, algorithm1 or taylor (approximate).")] = "exact",
    timeline: Annotated[bool, typer.Option("--timeline", help="Also how the leakage grew, record by record.")] = False,
    without: Annotated[
        bool,
        typer.Option(
            "--without",
            help="Also what keeping a label back would have brought.",
        ),
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Measure how much one record, many records or a published table tell about a person.

    \b
    Examples:
      divulge dossier leakage --record r.json --reference p.json --weights w.json --json
      divulge dossier leakage --database shops.json --reference p.json --resolve N+C,N+P --without --timeline
      divulge dossier leakage --table release.csv --qi Zip,Age --background known.csv --reference p.json
    """
    from divulge.dossier.files import read_record
    from divulge.views import dossier as views

    sources = [
        name for name, given in (("--record", record), ("--database", database), ("--table", table.table)) if given
    ]
    if len(sources) != 1:
        raise BadInput(
            f"{' and '.join(sources) or 'nothing'} was given to measure",
            hint="give one of --record, --database, --table",
        )
    options = replace(measure.read(), method=method)  # type: ignore[arg-type]
    if database:
        _database_leakage(
            database, reference, options, adversary=adversary, grow=timeline, without=without, json_=json_
        )
    elif table.table:
        people = table.measure(reference, options)
        emit_json(views.people_document(people)) if json_ else show(views.people_text(people))
    else:
        if adversary.resolve or adversary.link or adversary.augment or timeline or without:
            raise BadInput("one record was given, and an analysis of many was asked for", hint="use --database")
        found = options.one(read_record(str(record)), read_record(reference))
        emit_json(views.leakage_document(found)) if json_ else show(views.leakage_text(found))


def _database_leakage(
    database: str,
    reference: str,
    options: Measure,
    *,
    adversary: AdversaryOptions,
    grow: bool,
    without: bool,
    json_: bool,
) -> None:
    from divulge.dossier import decide
    from divulge.dossier.adversary import attack
    from divulge.dossier.files import read_database, read_record
    from divulge.views import dossier as views

    records, truth = read_database(database), read_record(reference)
    adversary.warn_about_labels(records)
    operator = adversary.operator(options)
    explain = without or (not json_ and adversary.merges and len(records) <= EXPLAINED)
    with progress_bar("linking records"):
        found = attack(records, truth, operator, measure=options)
        kept = decide.without(records, truth, operator=operator, measure=options) if explain else ()
    growing = decide.timeline(records, truth, operator=operator, measure=options) if grow else ()
    steps = tuple(tracked(growing, len(records), what="timeline"))
    if json_:
        graph = adversary.merge(records, options)[1] if adversary.merges else None
        emit_json(views.attack_document(found, graph=graph, kept=kept, steps=steps))
    else:
        show(
            views.attack_text(found, kept=kept, linked=adversary.merges),
            *(["", views.timeline_text(steps)] if grow else []),
        )


@app.command()
@takes_groups
def resolve(
    database: DatabaseOption,
    adversary: AdversaryOptions,
    measure: MeasureOptions,
    out: Annotated[str | None, typer.Option(help="Write the merged records here: .json, .jsonl or .csv.")] = None,
    json_: JsonOption = False,
) -> None:
    """Merge the records that are about one person, and say why.

    \b
    Examples:
      divulge dossier resolve --database shops.json --resolve N+C,N+P --json
      divulge dossier resolve --database shops.jsonl --link N~1,P,C --probability 0.95 --out people.json
    """
    from divulge.dossier.files import read_database, write_database
    from divulge.views import dossier as views

    records = read_database(database)
    adversary.warn_about_labels(records)
    merged, graph, settings = adversary.merge(records, measure.read())
    if out:
        write_database(merged, out)
    if json_:
        documents = [views.record_document(record) for record in merged]
        emit_json({"given": len(records), "records": documents, "graph": graph, **settings})
    else:
        show(views.resolution_text(merged, len(records), graph["edges"]))


@app.command()
@takes_groups
def dip(
    database: DatabaseOption,
    query: Annotated[str, typer.Option(help="What the adversary starts from: a record.")],
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    reference: Annotated[str | None, typer.Option(help="The truth about the person, to measure the result.")] = None,
    json_: JsonOption = False,
) -> None:
    """Find out what the records tell about one query record.

    \b
    Example:
      divulge dossier dip --database shops.json --query q.json --resolve N --reference p.json
    """
    from divulge.dossier.adversary import dip as run_dip
    from divulge.dossier.files import read_database, read_record
    from divulge.views import dossier as views

    records, start, options = read_database(database), read_record(query), measure.read()
    adversary.warn_about_labels([*records, start])
    found = run_dip(records, start, adversary.operator(options))
    document = {"record": views.record_document(found.record), "reached": sorted(found.reached)}
    leaked = float(options.each([found.record], read_record(reference))[0]) if reference else None
    if json_:
        emit_json(document if leaked is None else {**document, "leakage": leaked})
    else:
        show(views.dip_text(found, leaked))


@app.command()
@takes_groups
def release(
    database: DatabaseOption,
    reference: ReferenceOption,
    alternatives: Annotated[
        list[str], typer.Option("--release", metavar="[NAME=]FILE", help="A record that could be released; repeatable.")
    ],
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    json_: JsonOption = False,
) -> None:
    """Compare what releasing one record or another would add to the leakage.

    \b
    Example:
      divulge dossier release --database shops.json --reference p.json --resolve N+C,N+P --release card1=u.json --release card2=v.json
    """
    from divulge.dossier.decide import compare
    from divulge.dossier.files import read_database, read_record
    from divulge.views import dossier as views

    records, options = read_database(database), measure.read()
    offered = {name: read_record(path) for name, path in named_files(alternatives).items()}
    adversary.warn_about_labels([*records, *offered.values()])
    found = compare(records, read_record(reference), offered, operator=adversary.operator(options), measure=options)
    emit_json(views.release_document(found)) if json_ else show(views.release_text(found))


app.command()(disinform)
app.command()(enhance)
app.command()(simulate)
