# SPDX-License-Identifier: Apache-2.0
"""side_by_side(): anatomized and generalized releases of one table at the same beta.

beta bounds the share of a sensitive value in the records of a group or class of each release. The
other levels that they reach are reported too. An anatomized release publishes every value
unchanged. So if a combination of values is rare, it reveals who is in the table; a generalized
release with k records per class hides that. But an anatomized release breaks the links between
tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from divulge import anatomization, generalization, queries
from divulge.api import anatomize as api_anatomize
from divulge.api import generalize as api_generalize
from divulge.errors import Infeasible
from divulge.options import GeneralizationMethod
from divulge.policy import Policy, guard
from divulge.sources import Names, read
from divulge.validation import checked


@dataclass(frozen=True)
class Side:
    """One release: its protection, and its errors on count queries."""

    name: str
    beta: float | None
    """Largest share of a sensitive value in a group or class; None if there is no such release."""
    delta: float | None
    """Largest difference between a sensitive value's share in a group or class and in the table."""
    groups: int | None
    """Number of groups, or classes."""
    published: int | None
    """Number of records that are not suppressed."""
    recq: anatomization.Recq | None
    refused: str | None = None
    """Reason why there is no such release."""


@checked
def side_by_side(
    table: Any,
    *,
    sensitive: str,
    beta: anatomization.Share,
    quasi_identifiers: Names = (),
    identifier: Names = (),
    hierarchies: generalization.Hierarchies | None = None,
    suppression: float = 0.0,
    tables: int = 2,
    workload: anatomization.Workload | None = None,
    seed: int | None = None,
) -> list[Side]:
    """Compare anatomized and generalized releases of a table on the same count queries.

    The releases are anatomized with and without locality, and generalized by full-domain
    generalization and by Mondrian.

    Args:
        table: Any input of `dv.read`.
        sensitive: The column whose values must be protected.
        beta: Largest share of a sensitive value in a group or class: 0.25 or "1/4".
        quasi_identifiers: As in `dv.anatomize`.
        identifier: Columns that identify people; they are not published.
        hierarchies: Generalization hierarchies of columns, as in `dv.generalize`.
        suppression: Largest share of suppressed records when generalizing; Mondrian suppresses
            none.
        tables: Number of tables that anatomization divides the quasi-identifiers into.
        workload: The count queries; by default 1000 that match at least one record.
        seed: Makes the groups reproducible.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"age": [30, 33, 45, 42], "zip": ["1", "2", "1", "2"], "job": ["T", "E", "E", "T"]}
        ... )
        >>> found = dv.side_by_side(
        ...     people, sensitive="job", beta="1/2", quasi_identifiers=["age", "zip"]
        ... )
        >>> [side.name for side in found if side.refused is None][0]
        'anatomized'
    """
    source = read(table)
    bound = anatomization.as_share("beta", beta)
    roles, _ = anatomization.anatomy_roles(
        source, guard.ExplicitRoles(quasi_identifiers, sensitive, identifier)
    )

    def anatomized_side(name: str, *, locality: bool) -> Side:
        release = api_anatomize.anatomize(
            source,
            sensitive=sensitive,
            quasi_identifiers=roles.quasi_identifiers,
            beta=bound,
            tables=tables,
            locality=locality,
            seed=seed,
        )
        levels = release.levels
        summary = release.summary
        return Side(
            name,
            float(levels.beta),
            float(levels.delta),
            summary.groups,
            summary.records,
            release.recq(workload),
        )

    def generalized_side(name: str, *, method: GeneralizationMethod) -> Side:
        names = list(roles.quasi_identifiers)
        # Mondrian splits only if every part satisfies the bound, and suppresses no records.
        policy = Policy(
            alpha=float(bound), suppression=suppression if method == "full-domain" else 0.0
        )
        release = api_generalize.generalize(
            source,
            policy=policy,
            quasi_identifiers=names,
            sensitive=sensitive,
            identifier=[column for column in source.names if column not in (*names, sensitive)],
            hierarchies=hierarchies,
            method=method,
        )
        original = release.original
        rows = anatomization.read_rows(original.source, [*names, sensitive], nulls=original.nulls)
        published = release.plan.published(original.people)
        prior = {attribute: cells.marginal for attribute, cells in original.people.cells.items()}
        estimator = queries.generalized_estimator(
            rows, original.people, release.plan.recoding, sensitive
        )
        return Side(
            name=name,
            beta=float(release.after.sensitive[sensitive]["alpha"].value),
            delta=queries.largest_shift(published, prior),
            groups=len(published),
            published=published.rows,
            recq=anatomization.recq(
                rows, estimator, quasi_identifiers=names, sensitive=[sensitive], workload=workload
            ),
        )

    release_builders: dict[str, Callable[[str], Side]] = {
        "anatomized": partial(anatomized_side, locality=False),
        "anatomized, records alike": partial(anatomized_side, locality=True),
        "generalized, full-domain": partial(generalized_side, method="full-domain"),
        "generalized, mondrian": partial(generalized_side, method="mondrian"),
    }
    sides: list[Side] = []
    for name, build_side in release_builders.items():
        try:
            sides.append(build_side(name))
        except Infeasible as error:
            sides.append(Side(name, None, None, None, None, None, refused=str(error)))
    return sides
