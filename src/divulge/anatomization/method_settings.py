# SPDX-License-Identifier: Apache-2.0
"""Methods of anatomization by name: the bounds that they guarantee, and their settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from divulge.anatomization.methods import Anatomy, Asn, Method, RandomPermutation, Slicing, Slppa
from divulge.anatomization.model import AlphaBetaGammaDelta, reject_vacuous_bounds
from divulge.arguments import arg, arg_name
from divulge.errors import BadInput, nearest

Tables = int | Sequence[Sequence[str]]
_SETTINGS: Mapping[str, tuple[str, str]] = {
    "slppa": (
        "alpha beta gamma delta",
        "tables linkage association max_table_size algorithm locality group_size",
    ),
    "anatomy": ("beta", ""),
    "slicing": ("beta", "tables check"),
    "asn": ("beta gamma", ""),
    "permutation": ("", "group_size"),
}
"""Bounds and settings of each method."""


def build_method(name: str, bounds: dict[str, Any], settings: dict[str, Any]) -> Method:
    """Build a method from its name, its bounds and its settings.

    Raises:
        BadInput: The method does not have a bound or a setting, or lacks a bound.
    """
    _reject_unknown_options(name, bounds, settings)
    model = AlphaBetaGammaDelta(**bounds)
    tables = settings.pop("tables", 2)
    if name == "slppa":
        column_tables = (
            tables if isinstance(tables, int) else tuple(tuple(names) for names in tables)
        )
        return Slppa(model, tables=column_tables, **settings)
    if name == "asn":
        return Asn(beta=model.beta, presence=model.gamma)
    if name == "permutation":
        return RandomPermutation(group_size=settings.get("group_size", 4))
    if model.beta == 0:
        raise BadInput("beta = 0 allows no sensitive value at all", hint="Give a beta above 0")
    l_diversity = math.ceil(1 / model.beta)
    if name == "anatomy":
        return Anatomy(l_diversity)
    if not isinstance(tables, int):
        raise BadInput(
            "the method slicing divides the columns itself", hint="Say how many tables, not which"
        )
    return Slicing(l_diversity, tables=tables, check=settings.get("check", "frequency"))


def _reject_unknown_options(
    name: str, bounds: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    """Raise BadInput for options that the method does not have and would ignore."""
    if name not in _SETTINGS:
        raise BadInput(f"there is no method {name!r}", hint=nearest(name, _SETTINGS))
    promises, option_names = (words.split() for words in _SETTINGS[name])
    for option in bounds:
        if option not in promises:
            promised = " and ".join(promises) or "nothing"
            raise BadInput(
                f"the method {name} promises {promised}, not {option}",
                hint="Leave it out, or use slppa",
            )
    for option in settings:
        if option not in option_names:
            raise BadInput(
                f"the method {name} has no setting {arg_name(option)}",
                hint="Leave it out, or use slppa",
            )
    if promises and not bounds:
        raise BadInput(
            "no bound was given, so there is nothing to keep",
            hint=f"For example {arg('beta', '1/4')}",
        )
    reject_vacuous_bounds(bounds)
