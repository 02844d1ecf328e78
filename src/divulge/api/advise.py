# SPDX-License-Identifier: Apache-2.0
"""advise(): recommend bounds and a number of tables for anatomization (Yao et al. 2021)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from divulge import anatomization, engines
from divulge.api.anatomized import refuse_in_chunks
from divulge.counting import Nulls
from divulge.policy import guard
from divulge.sources import Names, read
from divulge.validation import checked


@checked
def advise(
    table: Any,
    *,
    sensitive: Names,
    quasi_identifiers: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    alpha: anatomization.Share = 1,
    beta: anatomization.Share = 1,
    gamma: anatomization.Share = 1,
    delta: anatomization.Share = 1,
    most_tables: int = 4,
    queries: int = 200,
    nulls: Nulls = "category",
    engine: engines.EngineChoice = None,
) -> anatomization.Advice:
    """Recommend bounds and a number of tables, with their cost (Yao et al. 2021, section 4.4).

    The result distinguishes proved facts, statements of the paper and measurements on this table.
    Nothing is written.

    Args:
        table: Any source that `read` opens and that fits into memory.
        sensitive: As in `anatomize`, like the other roles.
        quasi_identifiers: The columns that an adversary may know.
        identifier: Columns that identify people.
        leave_out: Columns that are not published.
        plain: Columns to treat as quasi-identifiers although they look like identifiers.
        alpha: Bound on record linkage to evaluate for each number of tables.
        beta: Bound on attribute linkage to evaluate.
        gamma: Bound on table linkage to evaluate.
        delta: Bound on the probabilistic attack to evaluate.
        most_tables: Largest number of tables to try.
        queries: Number of count queries by which the error of each grouping is measured.
        nulls: As in `anatomize`.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"age": [30, 33, 45, 42], "job": ["T", "E", "E", "T"], "salary": [45, 60, 47, 45]}
        ... )
        >>> found = dv.advise(people, sensitive="salary")
        >>> found.least_beta, found.records_per_group
        (Fraction(1, 2), 2)
    """
    source = read(table, engine=engine)
    refuse_in_chunks(source, "no grouping that is only tried")
    explicit_roles = guard.ExplicitRoles(quasi_identifiers, sensitive, identifier, leave_out, plain)
    roles, _ = anatomization.anatomy_roles(source, explicit_roles)
    advice = anatomization.advise(
        anatomization.read_rows(source, (*roles.quasi_identifiers, *roles.sensitive), nulls=nulls),
        quasi_identifiers=roles.quasi_identifiers,
        sensitive=roles.sensitive,
        model=anatomization.AlphaBetaGammaDelta(alpha=alpha, beta=beta, gamma=gamma, delta=delta),
        most_tables=most_tables,
        queries=queries,
        settings={**source.reading_settings, "sensitive": list(roles.sensitive), "nulls": nulls},
    )
    return replace(advice, frame=source.frame)
