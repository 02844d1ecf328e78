# SPDX-License-Identifier: Apache-2.0
"""Protections of chosen people or values made ready for a search: rules that look at some raw classes, or at some values, only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from divulge.belief import Belief
from divulge.count import Contingency
from divulge.generalize.rules import Rule, compile_rules
from divulge.policy import Protection
from divulge.policy.chosen import choose


def protect(
    protections: Sequence[Protection], contingency: Contingency, beliefs: Mapping[str, Belief], *, has_population: bool
) -> tuple[dict[str, Belief], tuple[Rule, ...]]:
    """The beliefs about chosen values that are needed, and the rules."""
    more: dict[str, Belief] = {}
    rules: list[Rule] = []
    for protected in choose(protections, contingency, beliefs):
        about, promises = protected.about(beliefs)
        more |= {name: belief for name, belief in about.items() if name not in beliefs}
        rules += compile_rules(
            promises, about, has_population=has_population, only=protected.only, who=protected.protection.who
        )
    return more, tuple(rules)
