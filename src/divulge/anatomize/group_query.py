# SPDX-License-Identifier: Apache-2.0
"""One statement over the group tables of an anatomized release (Yao et al. 2021, section 5.1).

Each table is counted by group and by what the condition asks of it; the counts are joined by the group and by nothing
else. A table that the condition does not ask stays out.
"""

from __future__ import annotations

from dataclasses import dataclass

from divulge.anatomize.condition import Tree, write
from divulge.anatomize.hits import Arrangements
from divulge.anatomize.published import Published
from divulge.anatomize.query import floats_of, ints_of
from divulge.anatomize.terms import Terms, complement, split
from divulge.engines.base import Engine


@dataclass(frozen=True, eq=False)
class AnatomizedSource:
    """An anatomized release that can be asked."""

    published: Published

    @property
    def engine(self) -> Engine:
        """Where its tables can be read."""
        return self.published.engine

    @property
    def columns(self) -> tuple[str, ...]:
        """What a condition may name."""
        return self.published.columns

    @property
    def binding(self) -> str:
        """All tables beside each other; the columns differ in their names."""
        return ", ".join(f"{table.relation} AS t{place}" for place, table in enumerate(self.published.tables))

    @property
    def records(self) -> int:
        """How many records were released."""
        return self.published.records

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
            group=ints_of(found, "g"),
            size=ints_of(found, "n"),
            counts=tuple(ints_of(found, f"c{table}") for table in tables),
            parts=tuple(ints_of(found, f"x{table}") for table in tables),
            value=floats_of(found, "v"),
            carrier=tables.index(carrier) if one_by_one else None,
        )


def group_sql(published: Published, terms: Terms, tables: tuple[int, ...]) -> str:
    """One row for each combination, in each group, of parts of the tables for which the condition holds."""
    engine, smallest = published.engine, published.tables[-1]
    group = engine.quote(published.group)
    sizes = (
        f"SELECT {group} AS g, CAST(SUM({published.mass(smallest)}) AS BIGINT) AS n FROM {smallest.relation} GROUP BY 1"
    )
    steps = [f"sizes AS (SELECT g, n, ROW_NUMBER() OVER () AS k FROM ({sizes}) AS s)"]
    steps += [f"p{table} AS ({_part_sql(published, terms, table)})" for table in tables]
    columns = "".join(f", p{table}.c AS c{table}, p{table}.x AS x{table}" for table in tables)
    value = "1" if terms.value is None else write(engine, terms.value)
    joined = " ".join(f"JOIN p{table} ON p{table}.g = sizes.g" for table in tables)
    rest = "" if terms.rest is None else f" WHERE {write(engine, terms.rest)}"
    return (
        f"WITH {', '.join(steps)} SELECT sizes.k AS g, sizes.n AS n{columns}, CAST({value} AS DOUBLE) AS v "
        f"FROM sizes {joined}{rest}"
    )


def _part_sql(published: Published, terms: Terms, table: int) -> str:
    """What one table says: for each group and each answer to what it is asked, how many records."""
    engine, asked = published.engine, published.tables[table]
    features = terms.features.get(table, {})
    answers = "".join(f", {write(engine, tree)} AS {name}" for name, tree in features.items())
    where = f" WHERE {write(engine, terms.own[table])}" if table in terms.own else ""
    rows = f"SELECT {engine.quote(published.group)} AS g, {published.mass(asked)} AS w{answers} FROM {asked.relation}{where}"
    names = "".join(f", {name}" for name in features)
    counted = f"SELECT g{names}, CAST(SUM(w) AS BIGINT) AS c FROM ({rows}) AS r GROUP BY g{names}"
    return f"SELECT *, ROW_NUMBER() OVER () AS x FROM ({counted}) AS t"
