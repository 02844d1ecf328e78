# SPDX-License-Identifier: Apache-2.0
"""Table division: the quasi-identifiers published together (Yao et al. 2021, section 4.3.1).

The columns with the highest entropy open one table each, so that no table reveals too much. The
others follow in descending weight; each goes to the table with which it is most associated. The
paper describes this in two ways, and both are implemented: by the average association with the
columns already in a table ("average", the text of 4.3.1) and by the association with its first
column ("first", section 6.1). Only "first" reproduces Fig. 3a. Neither reproduces the paper's own
Table 4; a size cap does. Ties go to the first column, and to the first table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from divulge.anatomization.encoded_rows import Association, ColumnCounts, associate, column_weight
from divulge.errors import BadInput, nearest

Linkage = Literal["average", "first"]
_TIE = 1e-12  # smaller differences of coefficients are rounding errors


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
    """Each column and its entropy in bits, in descending order; empty if the tables were passed."""
    coefficients: tuple[Coefficient, ...] = ()
    """The associations that were needed, in the order of computation."""
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
    """Assign the quasi-identifiers to tables."""
    check_table_count(quasi_identifiers, tables)
    if linkage not in ("average", "first"):
        raise BadInput(f"there is no linkage {linkage!r}", hint="Use 'average' or 'first'")
    count = len(quasi_identifiers)
    if max_table_size is not None and max_table_size * tables < count:
        raise BadInput(
            f"{tables} tables of at most {max_table_size} columns cannot hold {count} "
            "quasi-identifiers",
            hint=f"Allow {-(-count // tables)} columns, or ask for more tables",
        )
    weights = {name: column_weight(columns, name) for name in quasi_identifiers}
    # Rounded, so that equal entropies summed in another order still tie and keep the order of the
    # columns.
    order = sorted(quasi_identifiers, key=lambda name: -round(weights[name], 12))
    table_columns = [[seed] for seed in order[:tables]]
    coefficients: list[Coefficient] = []
    for name in order[tables:]:
        best = -1.0
        best_table = -1
        for position, members in enumerate(table_columns):
            if max_table_size is not None and len(members) >= max_table_size:
                continue
            if linkage == "average":
                partners = members
            else:
                partners = members[:1]
            pair_coefficients = [
                Coefficient(name, other, associate(columns, name, other, kind=association))
                for other in partners
            ]
            coefficients += pair_coefficients
            strength = sum(coefficient.value for coefficient in pair_coefficients) / len(
                pair_coefficients
            )
            if strength > best + _TIE:
                best = strength
                best_table = position
        table_columns[best_table].append(name)
    weighted = tuple((name, weights[name]) for name in order)
    return Division(
        tuple(map(tuple, table_columns)), weighted, tuple(coefficients), linkage, association
    )


def explicit_division(
    quasi_identifiers: Sequence[str], tables: Sequence[Sequence[str]]
) -> Division:
    """The division that the user passed; each quasi-identifier must be in exactly one table."""
    assigned_columns = [name for names in tables for name in names]
    for name in assigned_columns:
        if name not in quasi_identifiers:
            raise BadInput(
                f"{name!r} is put into a table but is not a quasi-identifier",
                hint=nearest(name, quasi_identifiers),
            )
        if assigned_columns.count(name) > 1:
            raise BadInput(
                f"{name!r} is put into two tables", hint="A column that is in two tables links them"
            )
    missing = [name for name in quasi_identifiers if name not in assigned_columns]
    if missing:
        raise BadInput(
            f"{missing[0]!r} is in no table", hint="Put each quasi-identifier into one table"
        )
    if not all(tables):
        raise BadInput("a table has no columns", hint="Leave it out")
    return Division(tuple(tuple(names) for names in tables))


def check_table_count(names: Sequence[str], tables: int) -> None:
    """Raise an error if there are no columns, or more tables than columns."""
    if not names:
        raise BadInput(
            "no quasi-identifiers were named", hint="Name the columns that an adversary may know"
        )
    if not 1 <= tables <= len(names):
        raise BadInput(
            f"{len(names)} quasi-identifiers cannot be divided into {tables} tables",
            hint=f"Ask for 1 to {len(names)} tables",
        )
