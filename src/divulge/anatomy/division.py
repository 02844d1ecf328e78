# SPDX-License-Identifier: Apache-2.0
"""Table division: which quasi-identifiers are published together (Yao et al. 2021, section 4.3.1).

The columns that tell most open one table each, so that no table tells too much. The others follow in descending weight, each to the table
it goes with best. The paper says this in two ways, and both are here: by the average association with the columns already in a table
("average", the text of 4.3.1) and by the association with its first column ("first", section 6.1, which alone gives Fig. 3a). Neither gives
the paper's own Table 4; a size cap does. Ties go to the column, and to the table, that comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from divulge.anatomy.rows import Association, ColumnCounts, associate, column_weight
from divulge.errors import BadInput, nearest

Linkage = Literal["average", "first"]
_TIE = 1e-12  # coefficients that differ by less are rounding of the same number


@dataclass(frozen=True)
class Coefficient:
    """The association of two columns."""

    left: str
    right: str
    value: float


@dataclass(frozen=True)
class Division:
    """The columns of each table of quasi-identifiers, and the numbers that led to it."""

    tables: tuple[tuple[str, ...], ...]
    weights: tuple[tuple[str, float], ...] = ()
    """Each column and its entropy in bits, heaviest first; empty where the tables were given."""
    coefficients: tuple[Coefficient, ...] = ()
    """The associations that were needed, in the order in which they were."""
    linkage: Linkage | None = None
    association: Association | None = None


def divide(
    columns: ColumnCounts,
    quasi_identifiers: Sequence[str],
    *,
    tables: int,
    linkage: Linkage = "average",
    association: Association = "phi2",
    max_table_size: int | None = None,
) -> Division:
    """Spread the quasi-identifiers over tables."""
    check_table_count(quasi_identifiers, tables)
    if linkage not in ("average", "first"):
        raise BadInput(f"there is no linkage {linkage!r}", hint="Use 'average' or 'first'")
    count = len(quasi_identifiers)
    if max_table_size is not None and max_table_size * tables < count:
        raise BadInput(
            f"{tables} tables of at most {max_table_size} columns cannot hold {count} quasi-identifiers",
            hint=f"Allow {-(-count // tables)} columns, or ask for more tables",
        )
    weights = {name: column_weight(columns, name) for name in quasi_identifiers}
    # Rounded, so that equal entropies summed in another order still tie and keep the order of the columns.
    order = sorted(quasi_identifiers, key=lambda name: -round(weights[name], 12))
    made = [[seed] for seed in order[:tables]]
    coefficients: list[Coefficient] = []
    for name in order[tables:]:
        best, place = -1.0, -1
        for position, members in enumerate(made):
            if max_table_size is not None and len(members) >= max_table_size:
                continue
            partners = members if linkage == "average" else members[:1]
            found = [Coefficient(name, other, associate(columns, name, other, kind=association)) for other in partners]
            coefficients += found
            strength = sum(coefficient.value for coefficient in found) / len(found)
            if strength > best + _TIE:
                best, place = strength, position
        made[place].append(name)
    weighted = tuple((name, weights[name]) for name in order)
    return Division(tuple(map(tuple, made)), weighted, tuple(coefficients), linkage, association)


def given_division(quasi_identifiers: Sequence[str], tables: Sequence[Sequence[str]]) -> Division:
    """Tables as the user wants them: each quasi-identifier in exactly one."""
    placed = [name for names in tables for name in names]
    for name in placed:
        if name not in quasi_identifiers:
            raise BadInput(
                f"{name!r} is put into a table but is not a quasi-identifier", hint=nearest(name, quasi_identifiers)
            )
        if placed.count(name) > 1:
            raise BadInput(f"{name!r} is put into two tables", hint="A column that is in two tables links them")
    missing = [name for name in quasi_identifiers if name not in placed]
    if missing:
        raise BadInput(f"{missing[0]!r} is in no table", hint="Put each quasi-identifier into one table")
    if not all(tables):
        raise BadInput("a table has no columns", hint="Leave it out")
    return Division(tuple(tuple(names) for names in tables))


def check_table_count(names: Sequence[str], tables: int) -> None:
    """There are columns, and not more tables than columns."""
    if not names:
        raise BadInput("no quasi-identifiers were named", hint="Name the columns that an adversary may know")
    if not 1 <= tables <= len(names):
        raise BadInput(
            f"{len(names)} quasi-identifiers cannot be divided into {tables} tables",
            hint=f"Ask for 1 to {len(names)} tables",
        )
