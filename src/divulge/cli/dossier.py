# SPDX-License-Identifier: Apache-2.0
"""`divulge dossier`: leakage of one person's scattered records, and measures against it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, cast

import divulge as dv
from divulge.cli.dossier_options import (
    AdversaryOptions,
    CostOptions,
    MatchOptions,
    MeasureOptions,
    ReleaseOptions,
    named_files,
    numbers,
    read_equivalence,
    warn_about_labels,
)
from divulge.cli.options import Pictures, Text, Texts, emit_json, new_app, show, tell
from divulge.cli.program import reject_idle
from divulge.cli.progress import progress_bar
from divulge.errors import BadInput

app = new_app()
EXPLAINED = 1000
"""Largest number of records for which the text shows each label's contribution by default."""


@app.callback()
def dossier() -> None:
    """What scattered records give away about one person.

    \b
    Example:
      divulge dossier leakage --database shops.json --reference me.json --resolve N+C,N+P
    """


@app.command()
def leakage(
    reference: str,
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    price: CostOptions,
    table: ReleaseOptions,
    record: Text,
    database: Text,
    method: str,
    timeline: bool,
    without: bool,
    chart: Texts,
    json_: bool,
) -> None:
    """Measure how much one record, many records or a published table tell about a person.

    \b
    Examples:
      divulge dossier leakage --database shops.json --reference p.json --resolve N+C,N+P --without --timeline
      divulge dossier leakage --table release.csv --qi Zip,Age --background known.csv --reference p.json
      divulge dossier leakage --record r.json --reference p.json --grade Age=10 --statistics ages.json --joint J=Address+Phone
    """  # noqa: E501
    sources_by_flag = {"--record": record, "--database": database, "--table": table.table}
    source_flags = [name for name, file in sources_by_flag.items() if file]
    if len(source_flags) != 1:
        raise BadInput(
            f"{' and '.join(source_flags) or 'nothing'} was given to measure",
            hint="give one of --record, --database, --table",
        )
    kinds = [
        name
        for name, is_requested in (("timeline", timeline), ("labels", without), ("records", True))
        if is_requested
    ]
    drawing = Pictures.of(chart, kinds)
    reject_idle("with --record, of which there is no picture", "chart", when=bool(record))
    options = replace(measure.read(), method=method)  # type: ignore[arg-type]
    if table.table:
        people = table.measure(reference, options)
        tell(people, json_=json_)
        drawing.draw({"records": people.chart}, json_=json_)
        return
    if record:
        adversary_record = dv.dossier.read_record(record)
        truth = dv.dossier.read_record(reference)
        record_leakage = options.one(adversary_record, truth)
        warn_about_labels(options, [adversary_record, truth])
        tell(record_leakage, json_=json_)
        return
    records = dv.dossier.read_database(str(database))
    truth = dv.dossier.read_record(reference)
    adversary.warn_about_labels(records)
    operator = adversary.operator(options.equivalence, price.read())
    with progress_bar("linking records"):
        attack_result = dv.dossier.attack(records, truth, operator, measure=options)
        without_labels = (
            dv.dossier.without(records, truth, operator=operator, measure=options)
            if without or (not json_ and adversary.merges and len(records) <= EXPLAINED)
            else None
        )
    steps = None
    if timeline:
        with progress_bar("timeline") as bar:
            steps = dv.dossier.timeline(
                records, truth, operator=operator, measure=options, progress=bar
            )
    warn_about_labels(options, [*records, truth])
    attack_result = adversary.with_files(attack_result)
    if json_:
        graph = adversary.merge(records, options.equivalence)[1] if adversary.merges else None
        emit_json(attack_result.to_dict(graph=graph, kept=without_labels or (), steps=steps))
    else:
        show(attack_result.text(kept=without_labels or (), steps=steps))
    pictured = {"records": attack_result, "timeline": steps, "labels": without_labels}
    drawing.draw(
        {kind: result.chart for kind, result in pictured.items() if result is not None}, json_=json_
    )


@app.command()
def resolve(
    database: str, adversary: AdversaryOptions, equivalence: Text, out: Text, json_: bool
) -> None:
    """Merge the records that are about one person, and say why.

    \b
    Examples:
      divulge dossier resolve --database shops.json --resolve N+C,N+P --json
      divulge dossier resolve --database shops.jsonl --link N~1,P,C --probability 0.95 --out people.json
    """  # noqa: E501
    from divulge.output import dossier as views

    records = dv.dossier.read_database(database)
    adversary.warn_about_labels(records)
    merged, graph, how = adversary.merge(records, read_equivalence(equivalence))
    settings = {**adversary.settings, "equivalence": equivalence is not None}
    if out:
        dv.dossier.write_database(merged, out)
    if json_:
        documents = [views.record_document(record) for record in merged]
        emit_json(
            {
                "given": len(records),
                "records": documents,
                "graph": graph,
                **how,
                "settings": settings,
            }
        )
    else:
        show(
            views.resolution_text(merged, len(records), graph["edges"]),
            *views.settings_text(settings),
        )


@app.command()
def dip(
    database: str,
    query: str,
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    reference: Text,
    json_: bool,
) -> None:
    """Find out what the records tell about one query record.

    \b
    Example:
      divulge dossier dip --database shops.json --query q.json --resolve N --reference p.json
    """
    records = dv.dossier.read_database(database)
    start = dv.dossier.read_record(query)
    options = measure.read()
    adversary.warn_about_labels([*records, start])
    reference_options: dict[str, Any] = {}
    if reference:
        reference_options = {"reference": dv.dossier.read_record(reference), "measure": options}
    dip_result = dv.dossier.dip(
        records, start, adversary.operator(options.equivalence), **reference_options
    )
    tell(adversary.with_files(dip_result), json_=json_)


@app.command()
def release(
    database: str,
    reference: str,
    alternatives: list[str],
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    chart: Texts,
    json_: bool,
) -> None:
    """Compare what releasing one record or another would add to the leakage.

    \b
    Example:
      divulge dossier release --database shops.json --reference p.json --resolve N+C,N+P --release card1=u.json --release card2=v.json
    """  # noqa: E501
    drawing = Pictures.of(chart, ("records",))
    records = dv.dossier.read_database(database)
    options = measure.read()
    offered = {
        name: dv.dossier.read_record(path) for name, path in named_files(alternatives).items()
    }
    adversary.warn_about_labels([*records, *offered.values()])
    truth = dv.dossier.read_record(reference)
    operator = adversary.operator(options.equivalence)
    comparison = dv.dossier.compare(records, truth, offered, operator=operator, measure=options)
    warn_about_labels(options, [*records, *offered.values(), truth])
    tell(adversary.with_files(comparison), json_=json_)
    drawing.draw({"records": comparison.chart}, json_=json_)


@app.command()
def disinform(
    database: str,
    reference: str,
    budget: float,
    measure: MeasureOptions,
    adversary: AdversaryOptions,
    candidates: Text,
    cost: Texts,
    method: str,
    steps: int,
    chart: Texts,
    json_: bool,
) -> None:
    """Find the disinformation that lowers the leakage most for a budget.

    \b
    Examples:
      divulge dossier disinform --database shops.json --reference p.json --resolve N --budget 5
      divulge dossier disinform --database shops.json --reference p.json --resolve N --budget 6 --candidates decoys.json
    """  # noqa: E501
    reject_idle("without --method bounded", "steps", when=method != "bounded")
    drawing = Pictures.of(chart, ("disinformation",))
    records = dv.dossier.read_database(database)
    truth = dv.dossier.read_record(reference)
    options = measure.read()
    adversary.warn_about_labels(records)
    if not candidates and (adversary.link or adversary.augment or adversary.er != "swoosh"):
        raise BadInput(
            "disinformation is planned against merging by a rule (swoosh) only",
            hint="drop --link, --augment and --er, or choose among --candidates",
        )
    with progress_bar("looking for disinformation"):
        if candidates:
            costs = numbers(cost or [], "--cost")
            operator = adversary.operator(options.equivalence)
            offered = dv.dossier.candidates_of(dv.dossier.read_database(candidates), costs=costs)
            search_options: dict[str, Any] = {
                "budget": budget,
                "operator": operator,
                "method": method,
                "steps": steps,
            }
            disinformation = dv.dossier.choose_disinformation(
                records, truth, offered, measure=options, **search_options
            )
        else:
            rule = adversary.match_rule()
            disinformation = dv.dossier.plan_disinformation(
                records, truth, rule=rule, budget=budget, measure=options
            )
    tell(adversary.with_files(disinformation), json_=json_)
    drawing.draw({"disinformation": disinformation.chart}, json_=json_)


@app.command()
def enhance(
    database: str, adversary: MatchOptions, weights: Text, about: Text, json_: bool
) -> None:
    """Say which attribute to verify next to make a composite record more certain.

    \b
    Example:
      divulge dossier enhance --database facts.json --resolve N
    """
    records = dv.dossier.read_database(database)
    adversary.warn_about_labels(records)
    if adversary.resolve:
        rule = adversary.match_rule()
    else:
        rule = None
    if weights:
        heavy = dv.dossier.read_weights(weights)
    else:
        heavy = None
    method = cast("Literal['swoosh', 'closure']", adversary.er)
    enhancements = dv.dossier.enhance_each(
        records, rule=rule, method=method, about=about, weights=heavy
    )
    tell(enhancements, json_=json_)
