# SPDX-License-Identifier: Apache-2.0
"""Read delimited text (CSV, TSV and others).

DuckDB detects nothing in delimited text. It is given names and delimiter (the dialect), and types
from a pass over the whole file (the shapes), which also detects decimal commas. An empty cell is
null. Text that is not UTF-8 is first rewritten as UTF-8 in the engine's private directory.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from divulge.arguments import Sentence, arg, outside
from divulge.engines import DuckDBEngine, Engine
from divulge.errors import BadInput, listed
from divulge.sources.hive_partitions import folder_values, with_folder_columns
from divulge.sources.paths import Files, compression, packing
from divulge.sources.schemas import FileGroup, United, unite
from divulge.sources.table import (
    AFTER_LAST_DAY,
    FIRST_DAY,
    ReadOptions,
    ReadSettings,
    Table,
    check_names,
    table_of,
)

# --- dialect --------------------------------------------------------------------------------------
# Detected here, from the first part of the file, and not by DuckDB's sniffer. The sniffer silently
# drops lines that start with '#', skips leading lines, takes a file with a ragged row for one wide
# column and renames repeated columns. Quoting is that of RFC 4180: double quotes, doubled inside.
_SAMPLE_BYTES = 1 << 20
_SAMPLE_RECORDS = 1000
_DELIMITERS = ",;|\t"
_TYPED = re.compile(
    r"\s*([-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?|\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?)\s*"
)
_OTHER_COMMA = re.compile(r"(?<!\d),|,(?!\d)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_MISSING_WORDS = ("na", "n/a", "nan", "null", "none")


@dataclass(frozen=True)
class Dialect:
    """Dialect of one file."""

    delimiter: str
    header: bool
    names: tuple[str, ...]
    skip: int
    """Number of empty lines before the first record."""
    line_end: str
    """Line end of the first record.

    DuckDB takes the first line end it sees, and loses all rows if that one is quoted.
    """


def read_dialect(
    path: Path, *, delimiter: str | None, header: bool | None, display_name: str
) -> Dialect:
    """Return the dialect of a UTF-8 file; explicit settings are used, the others are detected."""
    text = _sample(path, display_name=display_name)
    skip = len(text) - len(text.lstrip("\r\n"))
    if not text.strip():
        raise BadInput(
            f"{display_name} has no text in it", hint="A table needs at least a header line"
        )
    if delimiter is None:
        chosen = _find_delimiter(text, path)
    else:
        chosen = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(chosen) != 1 or chosen in '"\r\n\0':
        raise BadInput(
            f"the delimiter {delimiter!r} cannot be used",
            hint="Give one character, such as ';' or '\\t'",
        )
    first, *rest = _records(text, chosen)
    if header is None:
        has_header = looks_like_header(first, rest)
    else:
        has_header = header
    names = tuple((has_header and cell) or f"column{i}" for i, cell in enumerate(first))
    return Dialect(
        chosen, has_header, names, len(text[:skip].splitlines()), _line_end(text[skip:], chosen)
    )


def _sample(path: Path, *, display_name: str) -> str:
    """Return the start of the file as text, cut at a line end."""
    try:
        with pa.input_stream(str(path), compression=compression(path)) as stream:
            data: bytes = stream.read(_SAMPLE_BYTES)
    except OSError as error:
        raise BadInput(f"{display_name} cannot be read: {outside(error)}") from error
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput(f"{display_name} is UTF-16 text", hint=f"Pass {arg('encoding', 'utf-16')}")
    if len(data) == _SAMPLE_BYTES:
        data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1] or data
    if b"\0" in data:
        hint = "Give it the usual ending, such as .parquet, if it is a data file"
        raise BadInput(f"{display_name} is not a text file", hint=hint)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = (
            f"Pass the file's encoding, for example {arg('encoding', 'latin-1')} or "
            f"{arg('encoding', 'cp1252')}"
        )
        raise BadInput(f"{display_name}, line {line}: the text is not UTF-8", hint=hint) from error


def _lines(text: str) -> Iterator[str]:
    """Yield lines with their ends, one at a time, because only the first of a sample are needed."""
    return (line_match[0] for line_match in _LINE.finditer(text))


def _records(text: str, delimiter: str) -> list[list[str]]:
    """Return the first records of the sample."""
    reader = csv.reader(_lines(text), delimiter=delimiter)
    records: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        records.extend(itertools.islice((record for record in reader if record), _SAMPLE_RECORDS))
    return records or [[text.splitlines()[0]]]


def _line_end(text: str, delimiter: str) -> str:
    """Return the line end after the first record, whose quoted names may contain others."""
    reader = csv.reader(_lines(text), delimiter=delimiter)
    with contextlib.suppress(csv.Error):
        next(reader)
    *_, last = itertools.islice(_lines(text), reader.line_num)
    return last[len(last.rstrip("\r\n")) :] or "\n"


def _find_delimiter(text: str, path: Path) -> str:
    """Return the delimiter that gives most records the width of the first one, then the widest.

    If semicolons do so equally well, commas that occur only between digits are decimal signs.
    """
    if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes}:
        return "\t"
    candidates = {",": (0.0, 1, ",")}
    for delimiter in filter(text.__contains__, _DELIMITERS):
        records = _records(text, delimiter)
        width = len(records[0])
        if width > 1:
            share = sum(len(record) == width for record in records) / len(records)
            candidates[delimiter] = (share, width, delimiter)
    best = max(candidates.values())
    if (
        best[2] == ","
        and ";" in candidates
        and candidates[";"][0] >= best[0]
        and not _OTHER_COMMA.search(text)
    ):
        return ";"
    return best[2]


def looks_like_header(first: list[str], rest: list[list[str]]) -> bool:
    """Return whether a first row is a header.

    It is one if a column below it has numbers or dates and the row has a word there. If no column
    below has numbers or dates, there is nothing to compare with, and a header is assumed.
    """
    if not rest:
        return not any(_TYPED.fullmatch(cell) for cell in first)
    below = {
        i: [row[i] for row in rest if len(row) == len(first) and row[i].strip()]
        for i in range(len(first))
    }
    typed = [i for i, cells in below.items() if cells and all(map(_TYPED.fullmatch, cells))]
    return not typed or any(_is_word(first[i]) for i in typed)


def _is_word(cell: str) -> bool:
    word = cell.strip()
    return (
        any(map(str.isalpha, word))
        and word.lower() not in _MISSING_WORDS
        and not _TYPED.fullmatch(word)
    )


# --- shapes ---------------------------------------------------------------------------------------
# Every cell has a shape (a short integer, a decimal, an ISO date, ...). The shapes of a whole
# column, as one bit mask, decide its type. So a zip code keeps its leading zero and a card number
# its last digit, wherever in the file the decisive row is. 250.1 and 250.10, which are two codes
# and one number, stay two values.
_INTEGER, _LONG, _DECIMAL, _PADDED, _DATE, _TIMESTAMP, _ZONED, _OTHER = (
    1 << bit for bit in range(8)
)
_FRACTION = 256
"""Bit of a fraction of no digits; the next bit is that of one digit, and so on."""
_MOST_DIGITS = 19
_NO_VALUE = 1 << 28
_COMMA = 1 << 29
_COMMA_OR_THOUSANDS = 1 << 30
"""Bits of NaN and the like, of decimal commas, and of commas that may separate thousands.

1,5 and 1.234,50 are numbers with a decimal comma; 1,234 is one, or a thousand with its separator.
"""
_INEXACT, _SPACED, _NOT_SPACED, _WHOLE, _BARE = (1 << bit for bit in range(31, 36))
"""Bit of a number that differs from the text of its double, and bits of spellings.

Spaces around a number, or none; 2.0, which is 2; .5, which is 0.5.
"""
_MARKS = _INEXACT | _SPACED | _NOT_SPACED | _WHOLE | _BARE
"""Bits that do not decide whether a column holds numbers."""
_LENGTHS = (1 << 20) - 1
_MOST_BYTES = 16
"""Number of bytes up to which a decimal has at most 15 digits.

No other number of so few digits has the same double.
"""
_MOST_DECIMAL_DIGITS = 38
_FIRST_ROWS = 2_000
_FIXED_POINT = "-?(0|[1-9][0-9]*)?[.][0-9]+"
_FIXED_COMMA = _FIXED_POINT.replace(".", ",")
_GROUPED = "-?[1-9][0-9]{0,2},[0-9]{3}"
_GROUPED_COMMA = "-?[1-9][0-9]{0,2}([.][0-9]{3})+,[0-9]+"

# Programs write 1e-05, 1E+16 or 1.0E10; a bare 1E5 is as likely a code.
_FLOATING_POINT = "-?(0|[1-9][0-9]*)([.][0-9]+[eE][0-9]{1,3}|([.][0-9]+)?[eE][-+][0-9]{1,3})"
_SHORT_INTEGER = "-?(0|[1-9][0-9]{0,14}) *"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = _DAY + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_ZONE = "(Z|[-+][0-9]{2}(:?[0-9]{2})?)"


def column_types(
    engine: Engine, relation: str, names: Sequence[str], *, numbers: bool = True
) -> dict[str, str]:
    """Return the narrowest type of each text column that keeps every value distinct.

    A decimal comma does not make a number here. Without `numbers`, only dates are detected.
    """
    return {
        name: _type(mask)
        for name, mask in _shapes(engine, relation, names, numbers=numbers).items()
    }


def _shapes(
    engine: Engine, relation: str, names: Sequence[str], *, numbers: bool = True
) -> dict[str, int]:
    """Return the shapes of each text column.

    The first rows settle most columns; one pass over the whole relation decides only about the
    others.
    """
    if not names:
        return {}
    masks = dict.fromkeys(names, 0)
    rows = _FIRST_ROWS
    # Spark starts a job for each statement, so it examines all rows at once.
    if engine.name != "spark":
        masks, rows = _first_shapes(engine, relation, names, numbers=numbers)
    if rows == _FIRST_ROWS:
        undecided = {
            name: mask
            for name, mask in masks.items()
            if not mask & ~_NO_VALUE or _is_typed(mask & ~_NO_VALUE)
        }
        integers = _INTEGER | _NOT_SPACED
        changed = _not_only_integers(
            engine, relation, [name for name in undecided if masks[name] == integers]
        )
        masks |= _all_shapes(
            engine,
            relation,
            {name: mask for name, mask in undecided.items() if mask != integers or name in changed},
            numbers=numbers,
        )
    return masks


def _not_only_integers(engine: Engine, relation: str, names: Sequence[str]) -> set[str]:
    """Return the columns that begin with short integers and continue with something else.

    It examines each cell once, while planning all shapes would take 5 ms.
    """
    if not names:
        return set()
    looks = (
        f"bool_and({engine.full_match(engine.quote(name), _SHORT_INTEGER.rstrip(' *'))}) AS "
        f"c{column_index}"
        for column_index, name in enumerate(names)
    )
    checks = engine.query(f"SELECT {', '.join(looks)} FROM {relation}").to_pylist()[0]
    return {name for column_index, name in enumerate(names) if not checks[f"c{column_index}"]}


def _first_shapes(
    engine: Engine, relation: str, names: Sequence[str], *, numbers: bool
) -> tuple[dict[str, int], int]:
    """Return the shapes among the first rows, and the number of these rows.

    Cell by cell, so that DuckDB plans one expression, not many.
    """
    columns = ", ".join(engine.quote(name) for name in names)
    rows = f"SELECT {columns} FROM {relation} LIMIT {_FIRST_ROWS}"
    cells = (
        f"SELECT unnest([{columns}]) AS cell, unnest(range({len(names)})) AS place FROM ({rows})"
    )
    shape = _shape(engine, "cell", numbers=numbers, dates=True)
    masks = f"SELECT place, bit_or({shape}) AS mask, count(*) AS n FROM ({cells}) GROUP BY place"
    masks_by_column = {
        row["place"]: (row["mask"] or 0, row["n"]) for row in engine.query(masks).to_pylist()
    }
    return {
        name: masks_by_column.get(column_index, (0, 0))[0]
        for column_index, name in enumerate(names)
    }, masks_by_column.get(0, (0, 0))[1]


def _all_shapes(
    engine: Engine, relation: str, first: Mapping[str, int], *, numbers: bool
) -> dict[str, int]:
    """Return the shapes among all rows.

    A column that began with numbers or dates can only stay so or become text.
    """
    if not first:
        return {}
    shapes = []
    for column_index, (name, first_mask) in enumerate(first.items()):
        mask = first_mask & ~_NO_VALUE
        dates = not mask or bool(mask & (_DATE | _TIMESTAMP | _ZONED))
        shape = _shape(
            engine, engine.quote(name), numbers=numbers and (not mask or not dates), dates=dates
        )
        shapes.append(f"bit_or({shape}) AS c{column_index}")
    masks = engine.query(f"SELECT {', '.join(shapes)} FROM {relation}").to_pylist()[0]
    return {name: masks[f"c{column_index}"] or 0 for column_index, name in enumerate(first)}


def _shape(engine: Engine, cell: str, *, numbers: bool, dates: bool) -> str:
    """Return SQL for the shape of one cell; an empty cell has none."""

    def like(pattern: str) -> str:
        return engine.full_match(cell, f" *{pattern}")

    def valid(type_: str) -> str:
        return f"{engine.cast(cell, type_, attempt=True)} IS NOT NULL"

    def in_calendar(type_: str) -> str:
        """Return SQL that checks for a date in Python's years; a zone may move it out."""
        first, after_last = (
            engine.cast(engine.literal(day), type_) for day in (FIRST_DAY, AFTER_LAST_DAY)
        )
        moment = engine.cast(cell, type_, attempt=True)
        return f"({moment} >= {first} AND {moment} < {after_last})"

    def inexact(number: str) -> str:
        """Return SQL for a bit that is set if the double of a number prints other digits.

        It may do so if there are more than 15 digits, or an exponent.
        """
        printed = engine.cast(engine.cast(number, "DOUBLE", attempt=True), "VARCHAR")
        is_short = (
            f"{engine.byte_length(cell)} <= {_MOST_BYTES} AND instr({cell}, 'e') + instr({cell}, "
            "'E') = 0"
        )
        differs = f"{significant_digits(number)} IS DISTINCT FROM {significant_digits(printed)}"
        return (
            f"CASE WHEN {is_short} THEN 0 WHEN {printed} = {number} THEN 0 WHEN {differs} THEN "
            f"{_INEXACT} ELSE 0 END"
        )

    def fraction(sign: str) -> str:
        digits = f"least({engine.byte_length(cell)} - instr({cell}, '{sign}'), {_MOST_DIGITS})"
        # A last zero is not significant in 2.0, which is how a whole number prints as a decimal.
        padded = f"CASE WHEN {cell} LIKE '%0' AND {digits} > 1 THEN {_PADDED} ELSE 0 END"
        if sign == ".":
            number = cell
        else:
            number = with_dot(cell)
        trailing_zero = f"CASE WHEN {cell} LIKE '%{sign}0' THEN {_WHOLE} ELSE 0 END"
        bare = (
            f"CASE WHEN ltrim({cell}) LIKE '{sign}%' OR ltrim({cell}) LIKE '-{sign}%' THEN "
            f"{_BARE} ELSE 0 END"
        )
        lengths = f"{_FRACTION} * (1 << CAST({digits} AS INTEGER))"
        return f"{padded} + {lengths} + {trailing_zero} + {bare} + {spaces} + {inexact(number)}"

    spaces = f"CASE WHEN {cell} LIKE ' %' OR {cell} LIKE '% ' THEN {_SPACED} ELSE {_NOT_SPACED} END"

    # A word begins like none of the following shapes: one check instead of one for each shape, and
    # most cells are words.
    nothing = f"lower(trim({cell})) IN ({', '.join(map(engine.literal, _MISSING_WORDS))})"
    word = (
        f"WHEN NOT {like('[-.,0-9].*')} THEN CASE WHEN {nothing} THEN {_NO_VALUE} ELSE {_OTHER} "
        "END "
    )
    number = (
        f"WHEN {like(_SHORT_INTEGER)} THEN {_INTEGER} + {spaces} {word}WHEN {like(_FIXED_POINT)} "
        f"THEN {_DECIMAL} + {fraction('.')} WHEN {like(_GROUPED)} THEN {_COMMA_OR_THOUSANDS} "
        f"+ {fraction(',')} WHEN {like(_FIXED_COMMA)} OR {like(_GROUPED_COMMA)} THEN {_COMMA} "
        f"+ {fraction(',')} WHEN {like('-?[1-9][0-9]{15,18}')} AND {valid('BIGINT')} THEN {_LONG} "
        f"WHEN {like(_FLOATING_POINT)} AND {valid('DOUBLE')} THEN {_DECIMAL} + {inexact(cell)} "
    )
    date = (
        f"{'' if numbers else word}WHEN {like(_DAY)} AND {in_calendar('DATE')} THEN {_DATE} "
        f"WHEN {like(_MOMENT)} AND {in_calendar('TIMESTAMP')} THEN {_TIMESTAMP} "
        f"WHEN {like(_MOMENT + _ZONE)} AND {in_calendar('TIMESTAMPTZ')} THEN {_ZONED} "
    )
    return (
        f"CASE WHEN {cell} IS NULL THEN NULL "
        f"{number if numbers else ''}{date if dates else ''}ELSE {_OTHER} END"
    )


def significant_digits(number: str) -> str:
    """Return SQL for the significant digits of a number.

    Two numbers of about the same size with equal significant digits are equal.
    """
    return f"TRIM(BOTH '0' FROM translate(split_part(lower({number}), 'e', 1), '-. ', ''))"


def _type(marked: int) -> str:
    """Return the type for a column's shapes; no shape at all (every cell empty) is text."""
    mask = marked & ~_MARKS
    if not mask:
        return "VARCHAR"
    if mask & ~(_INTEGER | _LONG) == 0:
        return "BIGINT"
    if date := {_DATE: "DATE", _TIMESTAMP: "TIMESTAMP", _ZONED: "TIMESTAMPTZ"}.get(mask):
        return date
    if mask & (
        _LONG | _DATE | _TIMESTAMP | _ZONED | _OTHER | _NO_VALUE | _COMMA | _COMMA_OR_THOUSANDS
    ):
        return "VARCHAR"
    lengths = (mask // _FRACTION) & _LENGTHS | (1 if mask & _INTEGER else 0)
    # 1.50 and 2.25 print one scale; 250.10 next to 250.1 means that the last zero distinguishes two
    # values.
    if mask & _PADDED and lengths.bit_count() > 1:
        return "VARCHAR"
    return "DOUBLE"


def _type_by_comma(mask: int) -> str:
    """Return the type for a column's shapes if a comma is the decimal sign: a number, or text."""
    if not mask & (_COMMA | _COMMA_OR_THOUSANDS) or mask & _DECIMAL:
        return "VARCHAR"
    return _type(mask & ~(_COMMA | _COMMA_OR_THOUSANDS) | _DECIMAL)


def _is_typed(mask: int, decimal: str | None = None) -> bool:
    """Report whether a column's shapes make more than text of it.

    Both decimal signs are tried if the sign is not known.
    """
    return _type(mask) != "VARCHAR" or (decimal != "." and _type_by_comma(mask) != "VARCHAR")


@dataclass(frozen=True)
class CellTypes:
    """Types of text columns, and the columns whose numbers have a decimal comma."""

    types: Mapping[str, str]
    commas: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def decimal(self) -> str:
        """Decimal sign, for the settings."""
        if self.commas:
            return ","
        return "."


def cell_types(
    engine: Engine, relation: str, names: Sequence[str], *, decimal: str | None, delimiter: str
) -> CellTypes:
    """Return the types of all columns of delimited text, with the requested decimal sign.

    Without one, decimal commas are detected if another sign separates the cells. Commas that may as
    well separate thousands are noted, not guessed.
    """
    if decimal not in (None, ".", ","):
        raise BadInput(f"{arg('decimal', decimal)} is no decimal sign", hint="Give ',' or '.'")
    masks = _shapes(engine, relation, names)
    types = {name: _type(mask) for name, mask in masks.items()}
    by_comma = [name for name, mask in masks.items() if _type_by_comma(mask) != "VARCHAR"]
    dotted = [name for name, mask in masks.items() if types[name] == "DOUBLE"]
    comma_columns = [name for name in by_comma if masks[name] & _COMMA]
    commas = by_comma if decimal == "," else []
    notes: list[str] = []
    if decimal == ",":
        types |= dict.fromkeys(dotted, "VARCHAR")
    elif decimal is None and by_comma:
        if comma_columns and delimiter != ",":
            commas = by_comma if not dotted else comma_columns
            notes.append(
                Sentence(
                    f"a comma was found to be the decimal sign of {listed(commas)}; "
                    f"{arg('decimal', '.')} reads it as text"
                )
            )
            # 1.234 is a thousand if commas are decimal signs.
            grouped = [
                name
                for name in dotted
                if masks[name] & ~_MARKS & ~(_FRACTION - 1) == _FRACTION << 3
            ]
            if grouped:
                notes.append(
                    f"the dots of {listed(grouped)} are read as decimal signs, and may separate "
                    "thousands"
                )
        if doubtful := [name for name in by_comma if name not in commas]:
            either = (
                "may be decimal signs or not"
                if set(doubtful) <= set(comma_columns)
                else "may separate thousands or decimals"
            )
            notes.append(
                Sentence(
                    f"the commas of {listed(doubtful)} {either}: read as text; "
                    f"{arg('decimal', ',')} reads numbers"
                )
            )
    ambiguous_columns = [
        name
        for name, mask in masks.items()
        if mask & _DECIMAL
        and mask & (_COMMA | _COMMA_OR_THOUSANDS)
        and not mask & (_OTHER | _NO_VALUE)
    ]
    if ambiguous_columns and decimal is None:
        notes.append(
            f"the numbers of {listed(ambiguous_columns)} have both dots and commas before their "
            "last digits: read as text"
        )
    words = [
        name
        for name, mask in masks.items()
        if mask & _NO_VALUE and _is_typed(mask & ~_NO_VALUE, decimal)
    ]
    if words:
        note = (
            f"{listed(words)} would be numbers or dates but for words such as NaN, NA or null: "
            "read as text"
        )
        notes.append(f"{note}; leave such cells empty")
    types |= dict.fromkeys(commas, "DOUBLE")
    long = {
        name: name in commas
        for name, type_ in types.items()
        if type_ == "DOUBLE" and masks[name] & _INEXACT
    }
    exact = exact_types(engine, relation, long)
    types |= exact
    notes += notes_on_digits({name: type_ for name, type_ in exact.items() if type_ != "DOUBLE"})
    if spelled := [
        name
        for name, type_ in types.items()
        if type_ != "VARCHAR" and _is_spelled_variously(masks[name])
    ]:
        notes.append(
            f"numbers of {listed(spelled)} are written in several ways, as 1, 1.0 or ' 1': each "
            "number is one value"
        )
    return CellTypes(
        types, tuple(name for name in commas if types[name] != "VARCHAR"), tuple(notes)
    )


def _is_spelled_variously(mask: int) -> bool:
    """Return whether cells that are written in different ways may be one number."""
    spaces = mask & _SPACED and mask & _NOT_SPACED
    return bool(spaces or (mask & _INTEGER and mask & _WHOLE) or mask & _BARE)


def exact_types(engine: Engine, relation: str, names: Mapping[str, bool]) -> dict[str, str]:
    """Return the decimal type that holds every number of a column, else text.

    `names` maps each column to whether it has decimal commas.
    """
    if not names:
        return {}
    looks = []
    for index, (name, comma) in enumerate(names.items()):
        cell = engine.quote(name)
        number = f"trim({with_dot(cell) if comma else cell})"
        integer_length = engine.byte_length(f"translate(split_part({number}, '.', 1), '-', '')")
        fraction = engine.byte_length(f"split_part({number}, '.', 2)")
        looks += [f"max({integer_length}) AS w{index}", f"max({fraction}) AS f{index}"]
        looks.append(f"bool_or(instr(lower({cell}), 'e') > 0) AS e{index}")
    row = engine.query(f"SELECT {', '.join(looks)} FROM {relation}").to_pylist()[0]
    types = {}
    for index, name in enumerate(names):
        digits = max(int(row[f"w{index}"]), 1) + int(row[f"f{index}"])
        is_exact = digits <= _MOST_DECIMAL_DIGITS and not row[f"e{index}"]
        if is_exact:
            types[name] = f"DECIMAL({digits},{row[f'f{index}']})"
        else:
            types[name] = "VARCHAR"
    texts = [name for name, type_ in types.items() if type_ == "VARCHAR" and not names[name]]
    return types | dict.fromkeys(_distinct_as_doubles(engine, relation, texts), "DOUBLE")


def _distinct_as_doubles(engine: Engine, relation: str, names: Sequence[str]) -> list[str]:
    """Return the columns of texts whose doubles are finite and as many as their texts."""
    if not names:
        return []
    looks = []
    for index, name in enumerate(names):
        cell = engine.quote(name)
        double = engine.cast(cell, "DOUBLE", attempt=True)
        infinity = engine.cast(engine.literal("Infinity"), "DOUBLE")
        finite = (
            f"abs({double}) < {infinity} AND ({double} <> 0 OR {significant_digits(cell)} = '')"
        )
        looks.append(
            f"count(DISTINCT trim({cell})) = count(DISTINCT {double}) AND bool_and({finite}) AS "
            f"c{index}"
        )
    row = engine.query(f"SELECT {', '.join(looks)} FROM {relation}").to_pylist()[0]
    return [name for index, name in enumerate(names) if row[f"c{index}"]]


def notes_on_digits(types: Mapping[str, str]) -> list[str]:
    """Return notes on numbers that doubles do not distinguish."""
    texts = [name for name, type_ in types.items() if type_ == "VARCHAR"]
    decimals = [name for name in types if name not in texts]
    notes = []
    if decimals:
        notes.append(
            f"a double does not hold the numbers of {listed(decimals)}: read as exact decimals"
        )
    if texts:
        notes.append(f"a double does not hold the numbers of {listed(texts)}: read as text")
    return notes


def recast(engine: Engine, relation: str, types: Mapping[str, str]) -> str:
    """Return a relation for a FROM clause in which these columns are cast to these types."""
    changed_types = {
        engine.quote(name): type_ for name, type_ in types.items() if type_ != "VARCHAR"
    }
    casts = ", ".join(f"CAST({cell} AS {type_}) AS {cell}" for cell, type_ in changed_types.items())
    if casts:
        return f"(SELECT * REPLACE ({casts}) FROM {relation})"
    return relation


# --- delimited ------------------------------------------------------------------------------------
UTF8 = ("utf-8", "utf-8-sig", "ascii")
"""Encodings that need no copy."""
_CHUNK = 1 << 20
_ENCODINGS_HINT = "Try 'utf-8', 'latin-1', 'cp1252' or 'utf-16'"
_NOT_FILE_ENCODINGS = ("idna", "punycode", "undefined")
"""Encodings of host names, of a part of such names, and one that always fails."""


def read_delimited(files: Files, text: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """Read the table in one or more delimited text files.

    Columns are matched by their names in the header of each file.
    """
    paths = [
        _as_utf8(path, engine=engine, encoding=text.encoding, display_name=source)
        for path in files.paths
    ]
    display_names = dict(zip(paths, files.display_names(source), strict=True))
    dialects = read_dialects(display_names, text)
    first = dialects[paths[0]]
    folders = dict(zip(paths, folder_values(files).values(), strict=True))
    groups: dict[tuple[Dialect, tuple[tuple[str, str], ...]], list[Path]] = {}
    for path, dialect in dialects.items():
        groups.setdefault((dialect, tuple(folders[path].items())), []).append(path)

    def relation(dialect: Dialect, group_paths: Sequence[Path], types: Mapping[str, str]) -> str:
        file_list = engine.files(group_paths, known_as=display_names)
        return (
            f"read_csv({file_list}, auto_detect = false, columns = {engine.struct(types)}, "
            f"delim = {engine.literal(dialect.delimiter)}, header = {str(dialect.header).lower()}, "
            f"skip = {dialect.skip}, quote = '\"', escape = '\"', nullstr "
            f"= '', new_line = {engine.literal(repr(dialect.line_end)[1:-1])}, compression = "
            f"'{packing(group_paths)}', hive_partitioning = false)"
        )

    parts = []
    for (dialect, pairs), group_paths in groups.items():
        types = dict.fromkeys(dialect.names, "VARCHAR")
        part = FileGroup(
            tuple(display_names[path] for path in group_paths),
            relation(dialect, group_paths, types),
            types,
        )
        texts = dict.fromkeys(dict(pairs), "VARCHAR")
        parts.append(with_folder_columns(engine, part, dict(pairs), texts))
    united = unite(engine, parts, source=source, union_columns=text.union_columns)
    names = tuple(dict.fromkeys(name for part in parts for name in part.columns))
    cells = cell_types(
        engine, united.relation, names, decimal=text.decimal, delimiter=first.delimiter
    )
    changed = {**cells.types, **dict.fromkeys(cells.commas, "VARCHAR")}
    if len(groups) == 1 and not any(folders.values()):  # one statement reads and casts
        rows = relation(first, paths, changed)
    else:
        rows = recast(engine, united.relation, changed)
    if cells.commas:
        numbers = (
            f"CAST({with_dot(engine.quote(name))} AS {cells.types[name]}) AS {engine.quote(name)}"
            for name in cells.commas
        )
        rows = f"(SELECT * REPLACE ({', '.join(numbers)}) FROM {rows})"
    return table_of(engine, rows, source=source, reading=reading_of_text(first, cells, united))


def read_dialects(display_names: Mapping[Path, str], text: ReadOptions) -> dict[Path, Dialect]:
    """Return the dialect of each file.

    A file with another delimiter, or without a header if the first one has it, raises an error.
    """
    paths = list(display_names)
    first = read_dialect(
        paths[0], delimiter=text.delimiter, header=text.header, display_name=display_names[paths[0]]
    )
    dialects = {paths[0]: first}
    check_names(first.names, source=display_names[paths[0]])
    for path in paths[1:]:
        alike = read_dialect(
            path, delimiter=first.delimiter, header=first.header, display_name=display_names[path]
        )
        if set(alike.names) != set(first.names):
            dialect = read_dialect(
                path, delimiter=text.delimiter, header=text.header, display_name=display_names[path]
            )
            _check_same_dialect(
                dialect, first, name=display_names[path], first_name=display_names[paths[0]]
            )
        check_names(alike.names, source=display_names[path])
        dialects[path] = alike
    return dialects


def _check_same_dialect(dialect: Dialect, first: Dialect, *, name: str, first_name: str) -> None:
    """Raise an error if two files have different dialects."""
    if dialect.delimiter != first.delimiter:
        raise BadInput(
            f"{name} separates its cells by {dialect.delimiter!r} and {first_name} by "
            f"{first.delimiter!r}",
            hint="Write both alike, or pass the delimiter of both",
        )
    if dialect.header != first.header:
        if dialect.header:
            with_header = name
            without = first_name
        else:
            with_header = first_name
            without = name
        raise BadInput(
            f"{with_header} begins with column names and {without} does not seem to",
            hint=f"Write both alike, or pass {arg('header')}",
        )


def with_dot(cell: str) -> str:
    """Return SQL for a number with a decimal comma in the form of the engines.

    Dots between thousands are removed, and the comma becomes a dot.
    """
    return f"replace(replace({cell}, '.', ''), ',', '.')"


def reading_of_text(dialect: Dialect, cells: CellTypes, united: United) -> ReadSettings:
    """Return the reading settings of delimited text."""
    how = {
        "delimiter": dialect.delimiter,
        "header": dialect.header,
        "decimal": cells.decimal,
        **united.how,
    }
    return ReadSettings("csv", how, (*united.notes, *cells.notes))


def codec_of(encoding: str) -> codecs.CodecInfo:
    """Return the codec of a text encoding.

    Python gives rot13, zlib and others the same kind of name, and these raise an error.
    """
    try:
        codec = codecs.lookup(encoding)
        with contextlib.suppress(UnicodeError):
            b"a".decode(encoding)  # fails for codecs that do not turn bytes into text
    except (LookupError, ValueError):
        raise BadInput(f"there is no encoding {encoding!r} of text", hint=_ENCODINGS_HINT) from None
    if codec.name in _NOT_FILE_ENCODINGS:
        raise BadInput(f"{encoding!r} is no encoding of files", hint=_ENCODINGS_HINT)
    return codec


def _as_utf8(path: Path, *, engine: DuckDBEngine, encoding: str, display_name: str) -> Path:
    """Return the file if it is UTF-8, else a UTF-8 copy in the engine's private directory."""
    codec = codec_of(encoding)
    if codec.name in UTF8:
        return path
    copy = engine.directory / engine.fresh_name("utf8")
    decoder = codec.incrementaldecoder()
    try:
        with (
            pa.input_stream(str(path), compression=compression(path)) as stream,
            copy.open("w", encoding="utf-8", newline="") as out,
        ):
            while chunk := stream.read(_CHUNK):
                out.write(decoder.decode(chunk))
            out.write(decoder.decode(b"", final=True))
    except (UnicodeError, OSError) as error:
        raise BadInput(
            f"{display_name} cannot be read as {encoding}: {outside(error)}",
            hint="Pass another encoding",
        ) from error
    return copy
