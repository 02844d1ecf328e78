# SPDX-License-Identifier: Apache-2.0
"""side_by_side(): anatomized and generalized releases of one table, at the same protection of the sensitive attribute.

The same beta is asked of both: no group and no class shows a sensitive value in more than that share of its records. What else they reach
is told beside it: an anatomized release publishes every value as it is, so anybody can see who is in it if a combination of values is rare,
while a generalized one of k records per class hides that; and an anatomized release breaks the ties between tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from divulge import anatomy, answers, values
from divulge.api import anatomize as api_anatomize
from divulge.api import generalize as api_generalize
from divulge.errors import Infeasible
from divulge.policy import Policy, guard
from divulge.table import Names, read


@dataclass(frozen=True)
class Side:
    """One release: how it protects, and how well it answers."""

    name: str
    beta: float | None
    """The largest share of a sensitive value in a group or class; None where no such release exists."""
    delta: float | None
    """The largest difference between a sensitive value's share in a group or class and in the table."""
    groups: int | None
    """Groups, or classes."""
    published: int | None
    """Records that were not left out."""
    recq: anatomy.Recq | None
    refused: str | None = None
    """Why there is no such release."""


@values.checked
def side_by_side(
    table: Any,
    *,
    sensitive: str,
    beta: anatomy.Share,
    quasi_identifiers: Names = (),
    identifier: Names = (),
    hierarchies: api_generalize.Hierarchies | None = None,
    suppression: float = 0.0,
    tables: int = 2,
    workload: anatomy.Workload | None = None,
    seed: int | None = None,
) -> list[Side]:
    """Anatomize (with and without locality) and generalize (full-domain and Mondrian) a table, and ask all four the same queries.

    Args:
        table: Whatever `dv.read` opens.
        sensitive: The column whose values must not be learnt.
        beta: The most that a sensitive value may make up in a group or class: 0.25 or "1/4".
        quasi_identifiers: As in `dv.anatomize`.
        identifier: Columns that name people; they are not published.
        hierarchies: How columns become coarser, as in `dv.generalize`.
        suppression: The share of records that generalizing may leave out; Mondrian leaves nobody out.
        tables: Into how many tables anatomizing divides the quasi-identifiers.
        workload: Which queries are asked; by default 1000 that each have an answer.
        seed: Makes the groups repeatable.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"age": [30, 33, 45, 42], "zip": ["1", "2", "1", "2"], "job": ["T", "E", "E", "T"]})
        >>> found = dv.papers.side_by_side(people, sensitive="job", beta="1/2", quasi_identifiers=["age", "zip"])
        >>> [side.name for side in found if side.refused is None][0]
        'anatomized'
    """
    source, bound = read(table), anatomy.as_share("beta", beta)
    roles, _ = api_anatomize.anatomy_roles(source, guard.GivenRoles(quasi_identifiers, sensitive, identifier))

    def anatomized(name: str, *, locality: bool) -> Side:
        release = api_anatomize.anatomize(
            source,
            sensitive=sensitive,
            quasi_identifiers=roles.quasi_identifiers,
            beta=bound,
            tables=tables,
            locality=locality,
            seed=seed,
        )
        reached, found = release.levels, release.summary
        return Side(
            name, float(reached.beta), float(reached.delta), found.groups, found.records, release.recq(workload)
        )

    def generalized(name: str, *, method: api_generalize.Method) -> Side:
        names = list(roles.quasi_identifiers)
        # Mondrian cuts only where every piece keeps the bound, and leaves nobody out.
        policy = Policy(alpha=float(bound), suppression=suppression if method == "full-domain" else 0.0)
        release = api_generalize.generalize(
            source,
            policy=policy,
            quasi_identifiers=names,
            sensitive=sensitive,
            identifier=[column for column in source.names if column not in (*names, sensitive)],
            hierarchies=hierarchies,
            method=method,
        )
        counted = release.original
        rows = anatomy.read_rows(counted.source, [*names, sensitive], nulls=counted.nulls)
        published = release.plan.published(counted.people)
        prior = {attribute: cells.marginal for attribute, cells in counted.people.cells.items()}
        estimator = answers.generalized_estimator(rows, counted.people, release.plan.recoding, sensitive)
        return Side(
            name=name,
            beta=float(release.after.sensitive[sensitive]["alpha"].value),
            delta=answers.largest_shift(published, prior),
            groups=len(published),
            published=published.rows,
            recq=anatomy.recq(rows, estimator, quasi_identifiers=names, sensitive=[sensitive], workload=workload),
        )

    makers: dict[str, Callable[[str], Side]] = {
        "anatomized": partial(anatomized, locality=False),
        "anatomized, records alike": partial(anatomized, locality=True),
        "generalized, full-domain": partial(generalized, method="full-domain"),
        "generalized, mondrian": partial(generalized, method="mondrian"),
    }
    sides: list[Side] = []
    for name, make in makers.items():
        try:
            sides.append(make(name))
        except Infeasible as error:
            sides.append(Side(name, None, None, None, None, None, refused=str(error)))
    return sides
