# SPDX-License-Identifier: Apache-2.0
"""Which type a column of texts may take without losing anything.

Every cell has a shape (a short integer, a decimal, an ISO date, ...). The shapes of a whole column, as one bit mask,
decide its type. So a zip code keeps its leading zero and a card number its last digit wherever in the file the telling
row stands, and 250.1 and 250.10, which are two codes and one number, stay two values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from divulge.engines.base import Engine

_INTEGER, _LONG, _DECIMAL, _PADDED, _DATE, _TIMESTAMP, _ZONED, _OTHER = (1 << bit for bit in range(8))
_FRACTION = 256
"""The bit of a fraction of no digits; the next bit is that of one digit, and so on."""
_MOST_DIGITS = 20
_FIRST_ROWS = 10_000

_FIXED_POINT = "-?(0|[1-9][0-9]*)?[.][0-9]+"
# Programs write 1e-05, 1E+16 or 1.0E10; a bare 1E5 is as likely a code.
_FLOATING_POINT = "-?(0|[1-9][0-9]*)([.][0-9]+[eE][0-9]{1,3}|([.][0-9]+)?[eE][-+][0-9]{1,3})"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = _DAY + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_ZONE = "(Z|[-+][0-9]{2}(:?[0-9]{2})?)"


def column_types(engine: Engine, relation: str, names: Sequence[str], *, numbers: bool = True) -> dict[str, str]:
    """The narrowest type of each text column of `relation` that keeps every value apart.

    The first rows settle most text columns; one pass over the whole relation decides about the others only.
    Without `numbers`, only dates are looked for.
    """
    if not names:
        return {}
    if engine.name == "spark":  # it starts a job for each statement, so it looks at all rows at once
        masks = _all_shapes(engine, relation, dict.fromkeys(names, 0), numbers=numbers)
        return {name: _type(mask) for name, mask in masks.items()}
    masks, rows = _first_shapes(engine, relation, names, numbers=numbers)
    if rows == _FIRST_ROWS:
        undecided = {name: mask for name, mask in masks.items() if not mask or _type(mask) != "VARCHAR"}
        masks |= _all_shapes(engine, relation, undecided, numbers=numbers)
    return {name: _type(mask) for name, mask in masks.items()}


def _first_shapes(engine: Engine, relation: str, names: Sequence[str], *, numbers: bool) -> tuple[dict[str, int], int]:
    """The shapes among the first rows, and how many these are.

    Taken cell by cell, so that DuckDB plans one expression and not one per column.
    """
    columns = ", ".join(engine.quote(name) for name in names)
    rows = f"SELECT {columns} FROM {relation} LIMIT {_FIRST_ROWS}"
    cells = f"SELECT unnest([{columns}]) AS cell, unnest(range({len(names)})) AS place FROM ({rows})"
    shape = _shape(engine, "cell", numbers=numbers, dates=True)
    masks = f"SELECT place, bit_or({shape}) AS mask, count(*) AS n FROM ({cells}) GROUP BY place"
    found = {row["place"]: (row["mask"] or 0, row["n"]) for row in engine.query(masks).to_pylist()}
    return {name: found.get(place, (0, 0))[0] for place, name in enumerate(names)}, found.get(0, (0, 0))[1]


def _all_shapes(engine: Engine, relation: str, first: Mapping[str, int], *, numbers: bool) -> dict[str, int]:
    """The shapes among all rows; a column that began with numbers or dates can only stay so or become text."""
    if not first:
        return {}
    shapes = []
    for place, (name, mask) in enumerate(first.items()):
        dates = not mask or bool(mask & (_DATE | _TIMESTAMP | _ZONED))
        shape = _shape(engine, engine.quote(name), numbers=numbers and (not mask or not dates), dates=dates)
        shapes.append(f"bit_or({shape}) AS c{place}")
    found = engine.query(f"SELECT {', '.join(shapes)} FROM {relation}").to_pylist()[0]
    return {name: found[f"c{place}"] or 0 for place, name in enumerate(first)}


def _shape(engine: Engine, cell: str, *, numbers: bool, dates: bool) -> str:
    """SQL for the shape of one cell; an empty cell has none."""

    def like(pattern: str) -> str:
        return engine.full_match(cell, f" *{pattern}")

    def valid(type_: str) -> str:
        return f"{engine.cast(cell, type_, attempt=True)} IS NOT NULL"

    digits = f"least({engine.byte_length(cell)} - instr({cell}, '.'), {_MOST_DIGITS})"
    # A last zero says nothing in 2.0, which is how a whole number prints as a decimal.
    padded = f"CASE WHEN {cell} LIKE '%0' AND {digits} > 1 THEN {_PADDED} ELSE 0 END"
    number = (
        f"WHEN {like('-?(0|[1-9][0-9]{0,14}) *')} THEN {_INTEGER} "
        f"WHEN {like(_FIXED_POINT)} THEN {_DECIMAL} + {padded} + {_FRACTION} * (1 << CAST({digits} AS INTEGER)) "
        f"WHEN {like('-?[1-9][0-9]{15,18}')} AND {valid('BIGINT')} THEN {_LONG} "
        f"WHEN {like(_FLOATING_POINT)} AND {valid('DOUBLE')} THEN {_DECIMAL} "
    )
    date = (
        f"WHEN {like(_DAY)} AND {valid('DATE')} THEN {_DATE} "
        f"WHEN {like(_MOMENT)} AND {valid('TIMESTAMP')} THEN {_TIMESTAMP} "
        f"WHEN {like(_MOMENT + _ZONE)} AND {valid('TIMESTAMPTZ')} THEN {_ZONED} "
    )
    return f"CASE WHEN {cell} IS NULL THEN NULL {number if numbers else ''}{date if dates else ''}ELSE {_OTHER} END"


def _type(mask: int) -> str:
    """The type for a column's shapes; no shape at all (every cell empty) is text."""
    if not mask:
        return "VARCHAR"
    if mask & ~(_INTEGER | _LONG) == 0:
        return "BIGINT"
    if mask in (_DATE, _TIMESTAMP, _ZONED):
        return {_DATE: "DATE", _TIMESTAMP: "TIMESTAMP", _ZONED: "TIMESTAMPTZ"}[mask]
    if mask & (_LONG | _DATE | _TIMESTAMP | _ZONED | _OTHER):
        return "VARCHAR"
    lengths = (mask // _FRACTION) | (1 if mask & _INTEGER else 0)
    # 1.50 and 2.25 print one scale; 250.10 beside 250.1 means that the last zero tells two values apart.
    if mask & _PADDED and lengths.bit_count() > 1:
        return "VARCHAR"
    return "DOUBLE"


def recast(engine: Engine, relation: str, types: Mapping[str, str]) -> str:
    """What stands after FROM to read `relation` with these columns cast to these types, the others as they are."""
    changed = {name: type_ for name, type_ in types.items() if type_ != "VARCHAR"}
    if not changed:
        return relation
    casts = ", ".join(
        f"CAST({engine.quote(name)} AS {type_}) AS {engine.quote(name)}" for name, type_ in changed.items()
    )
    return f"(SELECT * REPLACE ({casts}) FROM {relation})"
