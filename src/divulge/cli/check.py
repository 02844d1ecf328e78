# SPDX-License-Identifier: Apache-2.0
"""`divulge check`: hold a table against a policy; exit code 0 or 1."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from divulge.cli.common import emit_json, new_app, show
from divulge.cli.options import BeliefOptions, JsonOption, RoleOptions, TableOptions, takes_groups
from divulge.metrics import METRICS, find_metric
from divulge.policy import Policy, Promise

app = new_app()


def takes_promises(command: Callable[..., None]) -> Callable[..., None]:
    """Add a flag for every metric that can be promised; the command receives them as `bounds`."""
    names = sorted({metric.name for metric in METRICS if metric.kind == "risk"})
    signature = inspect.signature(command)
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_flag(name)) for name in names
    ]

    def with_promises(**given: Any) -> None:
        bounds = {name: given.pop(name) for name in names}
        command(**given, bounds={name: bound for name, bound in bounds.items() if bound is not None})

    kept = [parameter for parameter in signature.parameters.values() if parameter.name != "bounds"]
    with_promises.__signature__ = signature.replace(parameters=[*kept, *flags])  # type: ignore[attr-defined]
    with_promises.__annotations__ = {parameter.name: parameter.annotation for parameter in [*kept, *flags]}
    with_promises.__doc__ = command.__doc__
    with_promises.__name__ = command.__name__
    return with_promises


def _flag(name: str) -> Any:
    metric = find_metric(name)
    bound = "c,l" if name == "recursive_c_l_diversity" else ("at most" if metric.worse == "high" else "at least")
    return Annotated[
        str | None,
        typer.Option(
            f"--{name.replace('_', '-')}",
            metavar=bound.upper().replace(" ", "-"),
            help=f"{metric.plain}.",
            rich_help_panel="Promises",
        ),
    ]


@app.command()
@takes_promises
@takes_groups
def check(
    table: TableOptions,
    roles: RoleOptions,
    belief: BeliefOptions,
    policy: Annotated[
        str | None, typer.Option(metavar="FILE", help="Policy file (TOML) with roles and promises.")
    ] = None,
    sample: Annotated[int, typer.Option(help="How many of the classes that break a promise to name.", min=0)] = 10,
    json_: JsonOption = False,
    bounds: dict[str, str] | None = None,
) -> None:
    """Hold a table against a policy: exit code 0 if it holds, 1 if not.

    \b
    Examples:
      divulge check patients.csv --policy divulge.toml
      divulge check patients.csv --qi zip,age --sensitive disease --k-anonymity 5 --entropy-leakage 0.5
    """
    from divulge.report.document import verdict_document
    from divulge.report.text import verdict_text
    from divulge.tasks.check import check as run_check

    opened = table.read()
    base = Policy() if policy is None else Policy.load(policy)
    kept = Policy(
        [*base.promises, *(Promise.make(name, bound) for name, bound in (bounds or {}).items())],
        suppression=base.suppression,
        roles=base.roles,
    )
    resolved = roles.resolve(opened)
    given = {name: value for name, value in resolved.items() if value} | ({} if roles.nulls else {"nulls": None})
    verdict, measurement = run_check(opened, kept, assumptions=given | belief.resolve(), sample=sample)
    if json_:
        emit_json(verdict_document(verdict, measurement))
    else:
        show(verdict_text(verdict, measurement))
    if not verdict.holds:
        raise typer.Exit(1)
