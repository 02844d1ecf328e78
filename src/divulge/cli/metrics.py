# SPDX-License-Identifier: Apache-2.0
"""`divulge metrics`: the list with definitions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

import divulge as dv
from divulge.cli.options import JsonOption, emit_json, new_app, show
from divulge.errors import BadInput
from divulge.policy import Promise

if TYPE_CHECKING:
    from divulge.metrics import Metric


app = new_app()
_SCOPES = {"identity": "Identity: who is this?", "sensitive": "Sensitive attributes: what does this person have?"}


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
    from divulge.views import words

    if markdown:
        sys.stdout.write(_reference())
        return
    for scope, heading in _SCOPES.items():
        table = words.grid("metric", "symbol", "unit", "as a promise", "meaning", "source", prose=2)
        for metric in dv.METRICS:
            if metric.scope == scope:
                table.add_row(metric.name, metric.symbol, metric.unit, _promise(metric), metric.plain, metric.source)
        show(heading, table, "")


def _promise(metric: Metric[Any]) -> str:
    """As --promise takes it; nothing where a metric says what could be reached at best."""
    if metric.kind != "risk":
        return ""
    return f"{Promise.name_of(metric)} {metric.sign} {'c,l' if metric.takes_l else 'bound'}"


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
        "promise": _promise(metric),
        "source": metric.source,
        "meaning": metric.plain,
    }


def _reference() -> str:
    """docs/reference/metrics.md, written from METRICS so that it cannot go stale."""
    lines = [
        "# Every metric",
        "",
        "Written by `divulge metrics --markdown`. *worse* says which end is worse for the people in the table; *monotone* that merging",
        "classes never makes it worse; *class* that each class has a value of its own, whose worst is the table's (for DR the average);",
        "*promise* how it is written after `--promise`.",
        "",
    ]
    for scope, heading in _SCOPES.items():
        lines += [
            f"## {heading}",
            "",
            "| name | symbol | unit | worse | monotone | class | promise | meaning | source |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        lines += [
            f"| `{metric.name}` | {metric.symbol.replace('|', '&#124;')} | {metric.unit} | {metric.worse} "
            f"| {_yes(metric.monotone)} | {_yes(metric.per_class is not None)} "
            f"| {f'`{_promise(metric)}`' if _promise(metric) else ''} | {metric.plain.replace('|', '&#124;')} | {metric.source} |"
            for metric in dv.METRICS
            if metric.scope == scope
        ]
        lines.append("")
    return "\n".join(lines)


def _yes(holds: bool) -> str:
    return "yes" if holds else ""
