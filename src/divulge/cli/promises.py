# SPDX-License-Identifier: Apache-2.0
"""Promises on the command line: a flag for every metric that can be promised, beside those of a policy file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from divulge.metrics import METRICS, find_metric
from divulge.policy import Policy, Promise, Protection

PolicyOption = Annotated[
    str | None, typer.Option("--policy", metavar="FILE", help="Policy file (TOML) with roles and promises.")
]

ProtectOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHO:PROMISE",
        help="Promises of their own for chosen people or values: \"age >= 75 and job = 'clerk': k_anonymity >= 20\". Repeatable.",
    ),
]


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
    bound = "c,l" if metric.takes_l else ("at most" if metric.worse == "high" else "at least")
    return Annotated[
        str | None,
        typer.Option(
            f"--{name.replace('_', '-')}",
            metavar=bound.upper().replace(" ", "-"),
            help=f"{metric.plain}.",
            rich_help_panel="Promises",
        ),
    ]


def policy_of(
    file: str | None,
    bounds: Mapping[str, str] | None,
    *,
    protect: Sequence[str] | None = None,
    suppression: float | None = None,
) -> Policy:
    """The policy file, if there is one, with the promises and protections made by flags added to its own."""
    base = Policy() if file is None else Policy.load(file)
    return replace(
        base,
        promises=(*base.promises, *(Promise.make(name, bound) for name, bound in (bounds or {}).items())),
        protections=(*base.protections, *map(Protection.parse, protect or ())),
        suppression=base.suppression if suppression is None else suppression,
    )
