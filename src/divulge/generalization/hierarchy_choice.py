# SPDX-License-Identifier: Apache-2.0
"""Choice of a hierarchy for each quasi-identifier: explicit, of the policy, or suggested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from divulge.counting import Contingency
from divulge.errors import BadInput, nearest
from divulge.hierarchies import (
    Hierarchy,
    Spec,
    Suggestion,
    build_hierarchies,
    load_hierarchies,
    suggest_hierarchy,
)
from divulge.policy import Policy
from divulge.sources import Declared

Hierarchies = Mapping[str, Spec] | str | Path
"""Hierarchies by column, or the folder of their files."""


def suggest(
    contingency: Contingency, columns: Sequence[str] | None = None
) -> tuple[Suggestion, ...]:
    """Suggest the default rule of each counted column, or of the named columns."""
    return tuple(
        suggest_hierarchy(
            key.name,
            key.labels,
            np.bincount(codes, weights=contingency.sizes, minlength=len(key))
            .astype(np.int64)
            .tolist(),
        )
        for key, codes in zip(contingency.keys, contingency.codes, strict=True)
        if columns is None or key.name in columns
    )


def choose_hierarchies(
    contingency: Contingency,
    hierarchies: Hierarchies | None,
    policy: Policy,
    *,
    declared: Declared | None = None,
    defaults: bool = True,
    extra_values: Mapping[str, Sequence[str | None]] | None = None,
) -> tuple[dict[str, Hierarchy], dict[str, Suggestion]]:
    """Choose a hierarchy for each quasi-identifier.

    The order of precedence is: explicit, the policy's, the source's own, and with `defaults` one
    that is suggested for the values. `extra_values` are values that occur only in a prior. If a
    rule labels them, they are added to the hierarchy.
    """
    values = {key.name: key.labels for key in contingency.own_keys}
    if declared is not None:
        source_hierarchies = declared.hierarchies
    else:
        source_hierarchies = {}
    specs: dict[str, Spec] = {
        name: hierarchy for name, hierarchy in source_hierarchies.items() if name in values
    }
    # Explicit quasi-identifiers take precedence over the policy's, and the policy's levels of other
    # columns are then ignored.
    policy_columns = policy.roles.get("quasi_identifiers") or ()
    if isinstance(policy_columns, str):
        policy_column_set = {policy_columns}
    else:
        policy_column_set = {*policy_columns}
    specs |= {
        name: spec
        for name, spec in policy.hierarchies.items()
        if name in values or name not in policy_column_set
    }
    if isinstance(hierarchies, str | Path):
        specs |= load_hierarchies(hierarchies, columns=list(values))
    else:
        specs |= hierarchies or {}
    for column in specs:
        if column not in values:
            message = f"a hierarchy is given for {column!r}, which is not a quasi-identifier"
            raise BadInput(message, hint=nearest(column, values))
    if defaults:
        missing: Sequence[str] = [name for name in values if name not in specs]
    else:
        missing = []
    suggestions = {suggestion.column: suggestion for suggestion in suggest(contingency, missing)}
    chosen = specs | {name: suggestion.spec for name, suggestion in suggestions.items()}
    return build_hierarchies(chosen, values, beyond=extra_values), suggestions
