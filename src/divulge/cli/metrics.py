# SPDX-License-Identifier: Apache-2.0
"""`divulge metrics`: the list with definitions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

import divulge as dv
from divulge.cli import metrics_page
from divulge.cli.options import JsonOption, emit_json, new_app, show
from divulge.errors import BadInput
from divulge.views import words

if TYPE_CHECKING:
    from divulge.metrics import Measurement, Metric


app = new_app()


@app.command()
def metrics(
    markdown: Annotated[bool, Option("--markdown", help="Print the reference page.")] = False, json_: JsonOption = False
) -> None:
    """List every metric with its definition, and how it is promised.

    \b
    Examples:
      divulge metrics
      divulge metrics --json
    """
    if json_ and markdown:
        raise BadInput("--markdown and --json were both given", hint="ask for one of them")
    if json_:
        emit_json({"metrics": [_facts(metric) for metric in dv.METRICS]})
        return
    if markdown:
        sys.stdout.write(metrics_page.reference_page(_example()))
        return
    for scope, heading in metrics_page.SCOPES.items():
        table = words.grid("metric", "symbol", "unit", "as a promise", "meaning", "source", prose=2)
        for metric in dv.METRICS:
            if metric.scope == scope:
                table.add_row(
                    metric.name,
                    metric.symbol,
                    metric.unit,
                    metrics_page.promise_of(metric),
                    metric.plain,
                    metric.source,
                )
        show(heading, table, "")


def _facts(metric: Metric[Any]) -> dict[str, object]:
    return {
        "name": metric.name,
        "scope": metric.scope,
        "symbol": metric.symbol,
        "unit": metric.unit,
        "worse": metric.worse,
        "monotone": metric.monotone,
        "per_class": metric.per_class is not None,
        "can_be_promised": metric.kind == "risk",
        "promise": metrics_page.promise_of(metric),
        "source": metric.source,
        "meaning": metric.plain,
        "formula": metric.formula,
    }


def _example() -> Measurement:
    """The eight people of the page."""
    import pyarrow as pa

    people = pa.table({"class": list(metrics_page.CLASSES), "value": list(metrics_page.VALUES)})
    known = metrics_page.POPULATION
    population = pa.table({"class": list(known), "people": list(known.values())})
    adversary = dv.Adversary(population=population, population_count="people")
    return dv.measure(people, quasi_identifiers="class", sensitive="value", adversary=adversary)
