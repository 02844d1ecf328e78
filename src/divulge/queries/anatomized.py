# SPDX-License-Identifier: Apache-2.0
"""Counts, sums and averages estimated from a release (Yao et al. 2021, section 5.1, eq. 11).

A source turns a condition into one SQL statement over its tables. The statement returns the
combinations of released values for which the condition holds. bounds.py computes the estimate and
its bounds from them. A condition over one anatomized table is answered exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import duckdb
import numpy as np

from divulge import anatomization
from divulge.arguments import outside
from divulge.engines import Engine
from divulge.errors import BadInput, InternalError
from divulge.queries.bounds import GroupHits, column_array
from divulge.queries.condition import (
    Expression,
    Terms,
    Tree,
    complement,
    is_not_null,
    join,
    names_in,
    nesting_error,
    parse,
    quoted_excerpt,
    split_by_table,
    write,
)
from divulge.queries.generalized import GeneralizedSource, LeafHits
from divulge.results import Result

_ROUNDING_ERROR = 1e-12
_MAX_REASON_LENGTH = 200
Aggregate = Literal["count", "sum", "average"]
Hits = GroupHits | LeafHits
"""Combinations of released values for which a condition holds."""


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """Estimate of a number from a release, with bounds on its value in the original.

    The bounds are proved. The estimate is the mean over all tables that could have led to the
    release, with equal probabilities. Its error depends on the data and cannot be computed from
    the release.
    """

    view = "utility"

    what: Aggregate
    estimate: float | None
    """Estimated number; None for the average of no records."""
    low: float | None
    """Lower bound over all tables that could have led to this release."""
    high: float | None
    """Upper bound over all tables that could have led to this release.

    For a count over one table low = estimate = high.
    """
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Settings of the estimate: the release, the query, the number of published and of suppressed
    records, and the interpretation of labels.
    """


def estimate(
    source: Source, condition: str = "true", *, total: str | None = None, average: str | None = None
) -> Estimate:
    """Count the records for which a condition holds, or sum up or average an expression over them.

    `total` and `average` take an expression such as "hours * wage". Records with a null result are
    ignored, as in SQL.

    Raises:
        BadInput: if the query is not an expression over the released columns or cannot be computed.
    """
    if total is not None and average is not None:
        raise BadInput("a sum and an average were both asked for", hint="Ask for one of them")
    expression = parse(condition, source.columns)
    measured_expression = total if total is not None else average
    query_settings = {
        "source": source.source,
        "condition": condition,
        "expression": measured_expression,
    }
    try:
        _check_boolean(source, expression)
        if measured_expression is None:
            settings = query_settings | source.settings(names_in(expression.tree))
            return replace(
                _estimate_count(source, expression.tree), settings=settings, frame=source.frame
            )
        value = parse(measured_expression, source.columns)
        hits = source.hits(join("and", [expression.tree, is_not_null(value.tree)]), value.tree)
    except RecursionError:
        raise nesting_error(quoted_excerpt(condition)) from None
    except InternalError as error:
        raise _query_error(error, expression, measured_expression) from error
    if not np.all(np.isfinite(hits.value)):
        message = f"{measured_expression!r} is infinite or not a number for some records"
        raise BadInput(message, hint="Leave them out by a condition")
    if total is not None:
        answer = _estimate_sum(hits)
    else:
        answer = _estimate_average(hits)
    settings = query_settings | source.settings({*names_in(expression.tree), *names_in(value.tree)})
    return replace(answer, settings=settings, frame=source.frame)


def _check_boolean(source: Source, expression: Expression) -> None:
    """Raise an error if a condition is not Boolean, because DuckDB would accept a number as one."""
    condition_sql = write(expression.tree)
    ((_, type_name),) = source.engine.describe(
        f"(SELECT {condition_sql} AS answer FROM {source.binding})"
    )
    if type_name not in ("BOOLEAN", '"NULL"', "NULL"):
        raise BadInput(
            f"{quoted_excerpt(expression.text)} is not a condition but a value ({type_name})",
            hint="Compare it with something",
        )


def _estimate_count(source: Source, condition: Tree) -> Estimate:
    complement_condition = source.opposite(condition)
    if complement_condition is None:
        return replace(_estimate_sum(source.hits(condition, None)), what="count")
    complement_estimate = _estimate_sum(source.hits(complement_condition, None))
    mean, low, high = (
        source.records - (bound or 0.0)
        for bound in (
            complement_estimate.estimate,
            complement_estimate.high,
            complement_estimate.low,
        )
    )
    return Estimate("count", mean, low, high)


def _estimate_sum(hits: Hits) -> Estimate:
    value = hits.value
    return _bounded_estimate(
        "sum", hits.mean(value), -hits.greatest_sum(-value) + 0.0, hits.greatest_sum(value)
    )


def _estimate_average(hits: Hits) -> Estimate:
    value = hits.value
    expected = hits.mean(np.ones(len(value)))
    if len(value) == 0:
        return Estimate("average", None, None, None)
    # If the expected number of records is 0 although records can match, no average is likelier than
    # another.
    high = hits.highest_average(value)
    low = -hits.highest_average(-value) + 0.0
    return _bounded_estimate(
        "average", hits.mean(value) / expected if expected else (low + high) / 2, low, high
    )


def _bounded_estimate(aggregate: Aggregate, mean: float, low: float, high: float) -> Estimate:
    """Build an estimate with bounds that are safe against rounding errors.

    Bounds that are not integers are widened by more than their rounding error. The mean is clipped
    to the bounds.
    """
    if low != high:
        low, high = (
            bound if bound.is_integer() else bound + direction * _ROUNDING_ERROR * abs(bound)
            for bound, direction in ((low, -1), (high, 1))
        )
    return Estimate(aggregate, min(max(mean, low), high), low, high)


def _query_error(
    error: InternalError, condition: Expression, measured_expression: str | None
) -> Exception:
    """Turn an error of DuckDB into an error of the user's input (such as age = 'old').

    Any other error is internal and returned unchanged.
    """
    if not isinstance(error.__cause__, duckdb.Error):
        return error
    reason = str(error.__cause__).strip().splitlines()[0].partition(": ")[2][:_MAX_REASON_LENGTH]
    if measured_expression is None:
        query_text = quoted_excerpt(condition.text)
    else:
        query_text = f"{quoted_excerpt(measured_expression)} where {quoted_excerpt(condition.text)}"
    return BadInput(
        f"{outside(query_text)} cannot be worked out: {outside(reason)}",
        hint="Do the kinds of the columns fit the condition?",
    )


# --- group query ----------------------------------------------------------------------------------
# Each table is counted by group and by the condition's parts that refer to it. The counts are
# joined by the group only. A table that the condition does not refer to is not joined.
@dataclass(frozen=True, eq=False)
class AnatomizedSource:
    """Anatomized release as a source of estimates."""

    published: anatomization.Published

    @property
    def engine(self) -> Engine:
        """Engine that reads its tables."""
        return self.published.engine

    @property
    def source(self) -> list[str]:
        """Sources of its tables."""
        return [table.source for table in self.published.tables]

    @property
    def frame(self) -> str:
        """Kind of data frame that was passed in."""
        return self.published.frame

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a condition may refer to."""
        return self.published.columns

    @property
    def binding(self) -> str:
        """FROM clause that determines the type of an expression: the cross join of all tables.

        It is never executed.
        """
        return ", ".join(
            f"{table.relation} AS t{table_index}"
            for table_index, table in enumerate(self.published.tables)
        )

    @property
    def records(self) -> int:
        """Number of released records."""
        return self.published.records

    def settings(self, names: Iterable[str]) -> dict[str, Any]:  # noqa: ARG002 - every column is published unchanged
        """Settings of an answer; an anatomized release suppresses no records."""
        return {"records": self.records, "left_out": 0, "labels": {}}

    def opposite(self, condition: Tree) -> Tree | None:
        """Return the complement (an AND) of an OR over several tables, else None."""
        return complement(condition, self.published.table_index)

    def hits(self, condition: Tree, value: Tree | None) -> GroupHits:
        """Query the combinations of parts of the tables for which the condition holds."""
        terms = split_by_table(condition, self.published.table_index, value=value)
        tables = terms.tables or (len(self.published.tables) - 1,)
        hits_table = self.engine.query(group_sql(self.published, terms, tables))
        is_conjunction = terms.rest is None and len(terms.features) <= 1
        carrier = next(iter(terms.features), tables[0])
        return GroupHits(
            group=column_array(hits_table, "g"),
            size=column_array(hits_table, "n"),
            counts=tuple(column_array(hits_table, f"c{table}") for table in tables),
            parts=tuple(column_array(hits_table, f"x{table}") for table in tables),
            value=column_array(hits_table, "v", np.float64),
            carrier=tables.index(carrier) if is_conjunction else None,
        )


def group_sql(published: anatomization.Published, terms: Terms, tables: tuple[int, ...]) -> str:
    """Write the SQL that returns, for each group, the combinations of parts that match a condition.

    A part is a set of records of one table of the release that have equal results for the
    condition's terms.
    """
    engine = published.engine
    smallest = published.tables[-1]
    group = engine.quote(published.group)
    sizes = (
        f"SELECT {group} AS g, CAST(SUM({published.mass(smallest)}) AS BIGINT) AS n FROM "
        f"{smallest.relation} GROUP BY 1"
    )
    subqueries = [f"sizes AS (SELECT g, n, ROW_NUMBER() OVER () AS k FROM ({sizes}) AS s)"]
    subqueries += [f"p{table} AS ({_part_sql(published, terms, table)})" for table in tables]
    columns = "".join(f", p{table}.c AS c{table}, p{table}.x AS x{table}" for table in tables)
    if terms.value is None:
        value = "1"
    else:
        value = write(terms.value)
    joins = " ".join(f"JOIN p{table} ON p{table}.g = sizes.g" for table in tables)
    if terms.rest is None:
        rest = ""
    else:
        rest = f" WHERE {write(terms.rest)}"
    return (
        f"WITH {', '.join(subqueries)} SELECT sizes.k AS g, "
        f"sizes.n AS n{columns}, CAST({value} AS DOUBLE) AS v FROM sizes {joins}{rest}"
    )


def _part_sql(published: anatomization.Published, terms: Terms, table: int) -> str:
    """Write the SQL that counts the records of one table by group and by its terms' results."""
    engine = published.engine
    table_part = published.tables[table]
    features = terms.features.get(table, {})
    answers = "".join(f", {write(tree)} AS {name}" for name, tree in features.items())
    if table in terms.table_conditions:
        where = f" WHERE {write(terms.table_conditions[table])}"
    else:
        where = ""
    rows = (
        f"SELECT {engine.quote(published.group)} AS g, {published.mass(table_part)} AS "
        f"w{answers} FROM {table_part.relation}{where}"
    )
    names = "".join(f", {name}" for name in features)
    counts_sql = (
        f"SELECT g{names}, CAST(SUM(w) AS BIGINT) AS c FROM ({rows}) AS r GROUP BY g{names}"
    )
    return f"SELECT *, ROW_NUMBER() OVER () AS x FROM ({counts_sql}) AS t"


Source = AnatomizedSource | GeneralizedSource
"""Release as a source of estimates."""
