# SPDX-License-Identifier: Apache-2.0
"""Counts, sums and averages estimated from a release (Yao et al. 2021, section 5.1, eq. 11).

A source turns a condition into one statement over its tables. What comes back says in how many ways the condition can hold; bounds.py
forms the estimate and its bounds. A condition over one anatomized table is answered exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import duckdb
import numpy as np

from divulge import anatomy
from divulge.answers.bounds import Arrangements, numbers_of
from divulge.answers.condition import (
    Expression,
    Terms,
    Tree,
    complement,
    cut,
    is_not_null,
    join,
    names_in,
    parse,
    split,
    too_deep,
    write,
)
from divulge.answers.generalized import GeneralizedSource, LeafHits
from divulge.engines import Engine
from divulge.errors import BadInput, InternalError
from divulge.results import Result

_ROUNDING = 1e-12
_LONGEST_REASON = 200
What = Literal["count", "sum", "average"]
Hits = Arrangements | LeafHits
"""The combinations of released values for which a condition holds."""


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """A number that a release gives, and the bounds between which the truth lies.

    The bounds are proved. The estimate is the mean over all tables that could have led to the release, each taken for as likely as any
    other; how far it is from the truth depends on the data, and the release does not tell.
    """

    view = "utility"

    what: What
    estimate: float | None
    """None: the average of no records."""
    low: float | None
    """No table that could have led to this release has less ..."""
    high: float | None
    """... nor more. For a count over one table low = estimate = high."""
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What it depends on: the release and what it was asked, how many records were published and left out, and how labels were read."""


def estimate(
    source: Source, condition: str = "true", *, total: str | None = None, average: str | None = None
) -> Estimate:
    """Count the records for which a condition holds, or sum up or average an expression over them.

    `total` and `average` take an expression such as "hours * wage"; records where it is null are left out, as in SQL.
    """
    if total is not None and average is not None:
        raise BadInput("a sum and an average were both asked for", hint="Ask for one of them")
    asked = parse(condition, source.columns)
    measured = total if total is not None else average
    question = {"source": source.source, "condition": condition, "expression": measured}
    try:
        _check_kind(source, asked)
        if measured is None:
            settings = question | source.settings(names_in(asked.tree))
            return replace(_count(source, asked.tree), settings=settings, frame=source.frame)
        value = parse(measured, source.columns)
        hits = source.hits(join("and", [asked.tree, is_not_null(value.tree)]), value.tree)
    except RecursionError:
        raise too_deep(cut(condition)) from None
    except InternalError as error:
        raise _refusal(error, asked, measured) from error
    if not np.all(np.isfinite(hits.value)):
        told = f"{measured!r} is infinite or not a number for some records"
        raise BadInput(told, hint="Leave them out by a condition")
    found = _sum(hits) if total is not None else _average(hits)
    settings = question | source.settings({*names_in(asked.tree), *names_in(value.tree)})
    return replace(found, settings=settings, frame=source.frame)


def _check_kind(source: Source, asked: Expression) -> None:
    """DuckDB would take a number for a truth value."""
    written = write(asked.tree)
    ((_, found),) = source.engine.describe(f"(SELECT {written} AS answer FROM {source.binding})")
    if found not in ("BOOLEAN", '"NULL"', "NULL"):
        raise BadInput(f"{cut(asked.text)} is not a condition but a value ({found})", hint="Compare it with something")


def _count(source: Source, condition: Tree) -> Estimate:
    opposite = source.opposite(condition)
    if opposite is None:
        return replace(_sum(source.hits(condition, None)), what="count")
    without = _sum(source.hits(opposite, None))
    mean, low, high = (source.records - (end or 0.0) for end in (without.estimate, without.high, without.low))
    return Estimate("count", mean, low, high)


def _sum(hits: Hits) -> Estimate:
    value = hits.value
    return _between("sum", hits.mean(value), -hits.most(-value) + 0.0, hits.most(value))


def _average(hits: Hits) -> Estimate:
    value = hits.value
    expected = hits.mean(np.ones(len(value)))
    if len(value) == 0:
        return Estimate("average", None, None, None)
    # Where the estimate expects nobody although somebody can match, nothing speaks for one average more than for another.
    high, low = hits.highest_average(value), -hits.highest_average(-value) + 0.0
    return _between("average", hits.mean(value) / expected if expected else (low + high) / 2, low, high)


def _between(what: What, mean: float, low: float, high: float) -> Estimate:
    """Bounds that are no whole numbers are moved apart by more than their rounding; rounding must not put the mean outside of them."""
    if low != high:
        low, high = (
            end if end.is_integer() else end + way * _ROUNDING * abs(end) for end, way in ((low, -1), (high, 1))
        )
    return Estimate(what, min(max(mean, low), high), low, high)


def _refusal(error: InternalError, condition: Expression, measured: str | None) -> Exception:
    """A condition that DuckDB cannot run on these columns (age = 'old') is the user's matter, anything else ours."""
    if not isinstance(error.__cause__, duckdb.Error):
        return error
    reason = str(error.__cause__).strip().splitlines()[0].partition(": ")[2][:_LONGEST_REASON]
    asked = cut(condition.text) if measured is None else f"{cut(measured)} where {cut(condition.text)}"
    return BadInput(f"{asked} cannot be worked out: {reason}", hint="Do the kinds of the columns fit the condition?")


# --- group query ------------------------------------------------------------------------------------------------------
# Each table is counted by group and by what the condition asks of it; the counts are joined by the group and by nothing
# else. A table that the condition does not ask stays out.
@dataclass(frozen=True, eq=False)
class AnatomizedSource:
    """An anatomized release that can be asked."""

    published: anatomy.Published
    promises: Mapping[str, str] = field(default_factory=dict)
    """The bounds on its levels that it promises, where it tells."""

    @property
    def engine(self) -> Engine:
        """Where its tables can be read."""
        return self.published.engine

    @property
    def source(self) -> list[str]:
        """Its tables."""
        return [table.source for table in self.published.tables]

    @property
    def frame(self) -> str:
        """The kind of frame that was handed in."""
        return self.published.frame

    @property
    def columns(self) -> tuple[str, ...]:
        """What a condition may name."""
        return self.published.columns

    @property
    def binding(self) -> str:
        """What stands after FROM to find the type of an expression: all tables beside each other; it is never read."""
        return ", ".join(f"{table.relation} AS t{place}" for place, table in enumerate(self.published.tables))

    @property
    def records(self) -> int:
        """How many records were released."""
        return self.published.records

    def settings(self, asked: Iterable[str]) -> dict[str, Any]:  # noqa: ARG002 - every column is published as it was
        """What an answer depends on; an anatomized release leaves nobody out."""
        return {"records": self.records, "left_out": 0, "labels": {}}

    def opposite(self, condition: Tree) -> Tree | None:
        """For an OR over several tables: the AND that holds where it does not."""
        return complement(condition, self.published.place)

    def hits(self, condition: Tree, value: Tree | None) -> Arrangements:
        """The combinations of parts of the tables for which the condition holds."""
        terms = split(condition, self.published.place, value=value)
        tables = terms.tables or (len(self.published.tables) - 1,)
        found = self.engine.query(group_sql(self.published, terms, tables))
        one_by_one = terms.rest is None and len(terms.features) <= 1
        carrier = next(iter(terms.features), tables[0])
        return Arrangements(
            group=numbers_of(found, "g"),
            size=numbers_of(found, "n"),
            counts=tuple(numbers_of(found, f"c{table}") for table in tables),
            parts=tuple(numbers_of(found, f"x{table}") for table in tables),
            value=numbers_of(found, "v", np.float64),
            carrier=tables.index(carrier) if one_by_one else None,
        )


def group_sql(published: anatomy.Published, terms: Terms, tables: tuple[int, ...]) -> str:
    """One row for each combination, in each group, of parts of the tables for which the condition holds."""
    engine, smallest = published.engine, published.tables[-1]
    group = engine.quote(published.group)
    sizes = (
        f"SELECT {group} AS g, CAST(SUM({published.mass(smallest)}) AS BIGINT) AS n FROM {smallest.relation} GROUP BY 1"
    )
    steps = [f"sizes AS (SELECT g, n, ROW_NUMBER() OVER () AS k FROM ({sizes}) AS s)"]
    steps += [f"p{table} AS ({_part_sql(published, terms, table)})" for table in tables]
    columns = "".join(f", p{table}.c AS c{table}, p{table}.x AS x{table}" for table in tables)
    value = "1" if terms.value is None else write(terms.value)
    joined = " ".join(f"JOIN p{table} ON p{table}.g = sizes.g" for table in tables)
    rest = "" if terms.rest is None else f" WHERE {write(terms.rest)}"
    return (
        f"WITH {', '.join(steps)} SELECT sizes.k AS g, sizes.n AS n{columns}, CAST({value} AS DOUBLE) AS v "
        f"FROM sizes {joined}{rest}"
    )


def _part_sql(published: anatomy.Published, terms: Terms, table: int) -> str:
    """What one table says: for each group and each answer to what it is asked, how many records."""
    engine, asked = published.engine, published.tables[table]
    features = terms.features.get(table, {})
    answers = "".join(f", {write(tree)} AS {name}" for name, tree in features.items())
    where = f" WHERE {write(terms.own[table])}" if table in terms.own else ""
    rows = f"SELECT {engine.quote(published.group)} AS g, {published.mass(asked)} AS w{answers} FROM {asked.relation}{where}"
    names = "".join(f", {name}" for name in features)
    counted = f"SELECT g{names}, CAST(SUM(w) AS BIGINT) AS c FROM ({rows}) AS r GROUP BY g{names}"
    return f"SELECT *, ROW_NUMBER() OVER () AS x FROM ({counted}) AS t"


Source = AnatomizedSource | GeneralizedSource
"""A release that can be asked."""
