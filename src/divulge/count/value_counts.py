# SPDX-License-Identifier: Apache-2.0
"""How often the values of each column occur, as (size, how many values have it): enough for every identity metric of a column.

All columns share one scan, and what comes back is short even for a column with ten million distinct values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from divulge.arrays import Floats
from divulge.errors import BadInput
from divulge.table import Table


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """One column: the sizes that occur, how many values have each, and how many rows are null."""

    column: str
    sizes: Floats = field(repr=False)
    repeats: Floats = field(repr=False)
    nulls: int

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.sizes @ self.repeats)

    @property
    def distinct(self) -> int:
        """Distinct values; null is not counted as one."""
        return int(self.repeats.sum()) - (1 if self.nulls else 0)


def value_counts(table: Table, columns: Sequence[str]) -> dict[str, ValueCounts]:
    """Count every column in one statement."""
    quoted = [table.engine.quote(name) for name in columns]
    if not quoted:
        return {}
    which = " ".join(f"WHEN GROUPING({name}) = 0 THEN {i}" for i, name in enumerate(quoted))
    is_null = " ".join(f"WHEN GROUPING({name}) = 0 AND {name} IS NULL THEN 1" for name in quoted)
    selected = f"CASE {which} END AS c, CASE {is_null} ELSE 0 END AS absent, COUNT(*) AS n"
    sets = ", ".join(f"({name})" for name in quoted)
    inner = f"SELECT {selected} FROM {table.relation} GROUP BY GROUPING SETS ({sets})"
    counted = table.engine.query(
        f"SELECT c, absent, n, COUNT(*) AS m FROM ({inner}) AS counted GROUP BY c, absent, n ORDER BY c, n, absent"
    )
    if counted.num_rows == 0:
        raise BadInput(f"{table.source} has no rows", hint="there is nothing to measure in an empty table")
    column, absent = counted.column("c").to_numpy(), counted.column("absent").to_numpy() == 1
    sizes, repeats = (counted.column(name).to_numpy().astype(np.float64) for name in ("n", "m"))
    found: dict[str, ValueCounts] = {}
    for position, name in enumerate(columns):
        here = column == position
        found[name] = ValueCounts(name, sizes[here], repeats[here], int(sizes[here & absent].sum()))
    return found
