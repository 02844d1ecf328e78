# SPDX-License-Identifier: Apache-2.0
"""perturbed(): a release whose values were changed at random, held against its original.

Classes no longer tell how many originals stand behind a published value, so H(X | x~) and I2 come from the joint distribution of
original and published values (Bezzi 2010, after eq. 6). The two tables are joined row by row, or by a key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from divulge import values
from divulge.arrays import Floats
from divulge.belief import Belief
from divulge.count import Contingency, count
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.metrics import mutual_information, specific_information
from divulge.results import Result
from divulge.table import Names, Table, read, resolve_roles, table_of


@dataclass(frozen=True, eq=False, repr=False)
class Perturbed(Result):
    """What published values tell about the original ones."""

    view = "columns"

    rows: int
    entropy: float
    """H(X): what there was to learn about the original values, in bits."""
    mutual_information: float
    """I(X; X~): what publication gives on average."""
    conditional_entropy: Floats = field(repr=False)
    """H(X | x~) for each published class."""
    specific_information: Floats = field(repr=False)
    """I2(X, x~) = H(X) - H(X | x~) for each published class."""
    contingency: Contingency = field(repr=False)
    settings: dict[str, Any]


@values.checked
def perturbed(original: Any, published: Any, *, columns: Names, key: str | None = None) -> Perturbed:
    """Measure how much of the original columns their randomly changed versions give away.

    Args:
        original: The table before, whatever `read` opens.
        published: The table after, with the same records.
        columns: The columns whose values were changed.
        key: The column by which records belong together, unique in both tables; by default they belong together by position.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> before, after = pa.table({"age": [30, 30, 40, 40]}), pa.table({"age": [31, 31, 31, 42]})
        >>> found = dv.perturbed(before, after, columns="age")
        >>> found.entropy, round(found.mutual_information, 4)
        (1.0, 0.3113)
    """
    engine = DuckDBEngine(preserve_order=True)
    before, after = read(original, engine=engine), read(published, engine=engine)
    names = resolve_roles(before, quasi_identifiers=columns).quasi_identifiers
    if not names:
        raise BadInput("no columns were named", hint="name the columns whose values were changed")
    for name in names:
        after.column(name)
    joined = _joined(engine, before, after, names, key)
    versions = {side: [f"{side} {name}" for name in names] for side in ("original", "published")}
    roles = resolve_roles(joined, quasi_identifiers=versions["published"], sensitive=versions["original"])
    counted = count(joined, roles, joint=len(names) > 1)
    belief = Belief.of_table(list(counted.cells.values())[-1])
    settings = {"engine": engine.name, "original": before.source, "published": after.source}
    return Perturbed(
        rows=counted.rows,
        entropy=belief.whole.entropy,
        mutual_information=mutual_information(belief),
        conditional_entropy=belief.entropy,
        specific_information=specific_information(belief),
        contingency=counted,
        settings=settings | {"columns": list(names), "key": key, "nulls": "category", "log_base": 2},
        frame=before.frame,
    )


def _joined(engine: DuckDBEngine, before: Table, after: Table, names: tuple[str, ...], key: str | None) -> Table:
    """Both versions of each column side by side."""
    quote = engine.quote

    def counted(relation: str, what: str = "*") -> int:
        return int(engine.query(f"SELECT COUNT({what}) AS n FROM {relation}").column("n")[0].as_py())

    rows = [counted(table.relation) for table in (before, after)]
    if rows[0] != rows[1]:
        told = f"{before.source} has {rows[0]} rows and {after.source} has {rows[1]}"
        raise BadInput(told, hint="both must hold the same records")
    if key is not None:
        kinds = [table.column(key).kind for table in (before, after)]
        if kinds[0] != kinds[1]:
            told = f"key {key!r} holds {kinds[0]} in {before.source} and {kinds[1]} in {after.source}"
            raise BadInput(told, hint="give both the same type")
        for table in (before, after):
            distinct = counted(table.relation, f"DISTINCT {quote(key)}")
            if distinct != rows[0]:
                raise BadInput(f"key {key!r} is not unique in {table.source}: {distinct} values in {rows[0]} rows")
    sides = [(before, "original", "o"), (after, "published", "p")]
    selected = [f"{alias}.{quote(name)} AS {quote(f'{side} {name}')}" for _, side, alias in sides for name in names]
    kind, on = ("POSITIONAL JOIN", "") if key is None else ("JOIN", f" ON o.{quote(key)} = p.{quote(key)}")
    relation = f"(SELECT {', '.join(selected)} FROM {before.relation} AS o {kind} {after.relation} AS p{on}) AS joined"
    table = table_of(engine, relation, source=f"{before.source} beside {after.source}")
    if key is not None:
        matched = counted(relation)
        if matched != rows[0]:
            raise BadInput(f"{rows[0] - matched} of {rows[0]} keys of {before.source} are not in {after.source}")
    return table
