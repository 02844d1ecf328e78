# SPDX-License-Identifier: Apache-2.0
"""Roles of the columns of an anatomized release, and the columns that it does not publish."""

from __future__ import annotations

from dataclasses import replace

from divulge.arguments import arg
from divulge.errors import BadInput
from divulge.policy import guard
from divulge.sources import Roles, Table, resolve_roles


def anatomy_roles(
    source: Table, explicit_roles: guard.ExplicitRoles
) -> tuple[Roles, dict[str, str]]:
    """Resolve the roles, and list the columns that are not published with the reason.

    If no quasi-identifier is named, every column without a role is one. Columns that might identify
    people are excluded.
    """
    if explicit_roles.quasi_identifiers and explicit_roles.plain:
        message = (
            "where quasi-identifiers are named, only they are published, and columns are called "
            "plain beside them"
        )
        raise BadInput(message, hint="Name them as quasi-identifiers, or leave plain out")
    roles = resolve_roles(source, **explicit_roles.arguments, declared=True)
    if not roles.sensitive:
        raise BadInput(
            "no sensitive column was named",
            hint=f"Name the column whose values are to stay secret with {arg('sensitive')}",
        )
    left_out = dict.fromkeys(roles.identifier, "an identifier") | dict.fromkeys(
        roles.leave_out, "to be left out"
    )
    candidates = [*roles.plain, *guard.without_role(source, roles)]
    if roles.quasi_identifiers:
        return roles, left_out | dict.fromkeys(candidates, "not named as a quasi-identifier")
    left_out |= guard.objections(source, guard.without_role(source, roles))
    quasi_identifiers = [
        name for name in source.names if name in candidates and name not in left_out
    ]
    if not quasi_identifiers:
        message = "; ".join(
            f"{name!r} {reason}" for name, reason in left_out.items() if name in candidates
        )
        raise BadInput(
            f"no column is left as a quasi-identifier{': ' if message else ''}{message}",
            hint="There is nothing to publish beside the sensitive column; name "
            "quasi-identifiers to publish them all the same",
        )
    return replace(roles, quasi_identifiers=tuple(quasi_identifiers), plain=()), left_out
