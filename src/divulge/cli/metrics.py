# SPDX-License-Identifier: Apache-2.0
"""`divulge metrics`: the list with definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from divulge.cli.common import emit_json, new_app, show
from divulge.cli.options import JsonOption

if TYPE_CHECKING:
    from divulge.metrics import Metric

app = new_app()


@app.command()
def metrics(json_: JsonOption = False) -> None:
    """List every metric with its definition.

    \b
    Example:
      divulge metrics --json
    """
    from divulge.metrics import METRICS

    if json_:
        emit_json({"metrics": [_facts(metric) for metric in METRICS]})
        return
    from divulge.report.text import grid

    for scope, heading in (
        ("identity", "Identity: who is this?"),
        ("sensitive", "Sensitive attributes: what does this person have?"),
    ):
        table = grid("metric", "symbol", "unit", "worse", "meaning", "source", whole=[0, 1, 2, 3])
        for metric in METRICS:
            if metric.scope == scope:
                table.add_row(metric.name, metric.symbol, metric.unit, metric.worse, metric.plain, metric.source)
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
        "source": metric.source,
        "meaning": metric.plain,
    }
