# SPDX-License-Identifier: Apache-2.0
"""Reads delimited text (CSV, TSV and others) and JSON.

DuckDB guesses nothing of delimited text: it is told names and delimiter (the dialect) and types, from a pass over the whole file (the
shapes), which also tells decimal commas. An empty cell is null. Text that is not UTF-8 is rewritten as UTF-8 in the engine's private
directory first.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from divulge.engines import DuckDBEngine, Engine
from divulge.errors import BadInput, InternalError, listed
from divulge.table.paths import Files, compression, packing
from divulge.table.table import HowRead, ReadOptions, Table, check_names, kind_of, table_of

# --- dialect ----------------------------------------------------------------------------------------------------------
# Decided here, from the first part of the file, and not by DuckDB's sniffer, which drops lines that start with '#',
# skips leading lines, takes a file with a ragged row for one wide column and renames repeated columns without a word.
# Quoting is that of RFC 4180: double quotes, doubled inside.
_SAMPLE_BYTES = 1 << 20
_SAMPLE_RECORDS = 1000
_DELIMITERS = ",;|\t"
_TYPED = re.compile(r"\s*([-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?|\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?)\s*")
_OTHER_COMMA = re.compile(r"(?<!\d),|,(?!\d)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_UNKNOWN = ("na", "n/a", "nan", "null", "none")


@dataclass(frozen=True)
class Dialect:
    """How one file is written."""

    delimiter: str
    header: bool
    names: tuple[str, ...]
    skip: int
    """Empty lines before the first record."""
    line_end: str
    """What ends the first record. DuckDB takes the first line end it sees, and loses all rows if that one is quoted."""


def read_dialect(path: Path, *, delimiter: str | None, header: bool | None, shown: str) -> Dialect:
    """The dialect of a UTF-8 file; what the caller says is taken, the rest is found out."""
    text = _sample(path, shown=shown)
    skip = len(text) - len(text.lstrip("\r\n"))
    if not text.strip():
        raise BadInput(f"{shown} has no text in it", hint="A table needs at least a header line")
    chosen = _find_delimiter(text, path) if delimiter is None else {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(chosen) != 1 or chosen in '"\r\n\0':
        raise BadInput(f"the delimiter {delimiter!r} cannot be used", hint="Give one character, such as ';' or '\\t'")
    first, *rest = _records(text, chosen)
    has_header = looks_like_header(first, rest) if header is None else header
    names = tuple((has_header and cell) or f"column{i}" for i, cell in enumerate(first))
    return Dialect(chosen, has_header, names, len(text[:skip].splitlines()), _line_end(text[skip:], chosen))


def _sample(path: Path, *, shown: str) -> str:
    """The start of the file as text, cut at a line end."""
    try:
        with pa.input_stream(str(path), compression=compression(path)) as stream:
            data: bytes = stream.read(_SAMPLE_BYTES)
    except OSError as error:
        raise BadInput(f"{shown} cannot be read: {error}") from error
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput(f"{shown} is UTF-16 text", hint="Pass encoding='utf-16'")
    if len(data) == _SAMPLE_BYTES:
        data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1] or data
    if b"\0" in data:
        hint = "Give it the usual ending, such as .parquet, if it is a data file"
        raise BadInput(f"{shown} is not a text file", hint=hint)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "Pass the file's encoding, for example encoding='latin-1' or encoding='cp1252'"
        raise BadInput(f"{shown}, line {line}: the text is not UTF-8", hint=hint) from error


def _lines(text: str) -> Iterator[str]:
    """Lines with their ends, one at a time: of a long sample only the first are looked at."""
    return (found[0] for found in _LINE.finditer(text))


def _records(text: str, delimiter: str) -> list[list[str]]:
    """The first records of the sample."""
    reader = csv.reader(_lines(text), delimiter=delimiter)
    records: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        records.extend(itertools.islice((record for record in reader if record), _SAMPLE_RECORDS))
    return records or [[text.splitlines()[0]]]


def _line_end(text: str, delimiter: str) -> str:
    """The line end after the first record, whose quoted names may contain others."""
    reader = csv.reader(_lines(text), delimiter=delimiter)
    with contextlib.suppress(csv.Error):
        next(reader)
    *_, last = itertools.islice(_lines(text), reader.line_num)
    return last[len(last.rstrip("\r\n")) :] or "\n"


def _find_delimiter(text: str, path: Path) -> str:
    """The delimiter that gives most records the width of the first one, then the widest.

    Beside semicolons that do so, commas that stand between digits only are decimal signs.
    """
    if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes}:
        return "\t"
    found = {",": (0.0, 1, ",")}
    for delimiter in filter(text.__contains__, _DELIMITERS):
        records = _records(text, delimiter)
        width = len(records[0])
        if width > 1:
            share = sum(len(record) == width for record in records) / len(records)
            found[delimiter] = (share, width, delimiter)
    best = max(found.values())
    if best[2] == "," and ";" in found and found[";"][0] >= best[0] and not _OTHER_COMMA.search(text):
        return ";"
    return best[2]


def looks_like_header(first: list[str], rest: list[list[str]]) -> bool:
    """A first row is a header if a column below it holds numbers or dates and it holds a word there.

    Where no column below holds numbers or dates there is nothing to compare with, and a header is assumed.
    """
    if not rest:
        return not any(_TYPED.fullmatch(cell) for cell in first)
    below = {i: [row[i] for row in rest if len(row) == len(first) and row[i].strip()] for i in range(len(first))}
    typed = [i for i, cells in below.items() if cells and all(map(_TYPED.fullmatch, cells))]
    return not typed or any(_is_word(first[i]) for i in typed)


def _is_word(cell: str) -> bool:
    word = cell.strip()
    return any(map(str.isalpha, word)) and word.lower() not in _UNKNOWN and not _TYPED.fullmatch(word)


# --- shapes -----------------------------------------------------------------------------------------------------------
# Every cell has a shape (a short integer, a decimal, an ISO date, ...). The shapes of a whole column, as one bit mask, decide its type.
# So a zip code keeps its leading zero and a card number its last digit wherever in the file the telling row stands, and 250.1 and
# 250.10, which are two codes and one number, stay two values.
_INTEGER, _LONG, _DECIMAL, _PADDED, _DATE, _TIMESTAMP, _ZONED, _OTHER = (1 << bit for bit in range(8))
_FRACTION = 256
"""The bit of a fraction of no digits; the next bit is that of one digit, and so on."""
_MOST_DIGITS = 19
_NO_VALUE, _COMMA, _COMMA_OR_THOUSANDS = 1 << 28, 1 << 29, 1 << 30
"""NaN and its like; 1,5 and 1.234,50 are numbers with a decimal comma; 1,234 is one, or a thousand with its separator."""
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


def column_types(engine: Engine, relation: str, names: Sequence[str], *, numbers: bool = True) -> dict[str, str]:
    """The narrowest type of each text column of `relation` that keeps every value apart; a decimal comma makes no number here.

    Without `numbers`, only dates are looked for.
    """
    return {name: _type(mask) for name, mask in _shapes(engine, relation, names, numbers=numbers).items()}


def _shapes(engine: Engine, relation: str, names: Sequence[str], *, numbers: bool = True) -> dict[str, int]:
    """The shapes of each text column: the first rows settle most, one pass over the whole relation decides about the others only."""
    if not names:
        return {}
    masks, rows = dict.fromkeys(names, 0), _FIRST_ROWS
    if engine.name != "spark":  # which starts a job for each statement, so it looks at all rows at once
        masks, rows = _first_shapes(engine, relation, names, numbers=numbers)
    if rows == _FIRST_ROWS:
        undecided = {
            name: mask for name, mask in masks.items() if not mask & ~_NO_VALUE or _is_typed(mask & ~_NO_VALUE)
        }
        changed = _integers_no_more(engine, relation, [name for name in undecided if masks[name] == _INTEGER])
        masks |= _all_shapes(
            engine,
            relation,
            {name: mask for name, mask in undecided.items() if mask != _INTEGER or name in changed},
            numbers=numbers,
        )
    return masks


def _integers_no_more(engine: Engine, relation: str, names: Sequence[str]) -> set[str]:
    """Which columns that began with short integers go on with something else; one look at a cell, where all shapes are planned for 5 ms."""
    if not names:
        return set()
    looks = (
        f"bool_and({engine.full_match(engine.quote(name), f' *{_SHORT_INTEGER}')}) AS c{place}"
        for place, name in enumerate(names)
    )
    found = engine.query(f"SELECT {', '.join(looks)} FROM {relation}").to_pylist()[0]
    return {name for place, name in enumerate(names) if not found[f"c{place}"]}


def _first_shapes(engine: Engine, relation: str, names: Sequence[str], *, numbers: bool) -> tuple[dict[str, int], int]:
    """The shapes among the first rows, and how many these are; cell by cell, so that DuckDB plans one expression, not many."""
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
    for place, (name, seen) in enumerate(first.items()):
        mask = seen & ~_NO_VALUE
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

    def fraction(sign: str) -> str:
        digits = f"least({engine.byte_length(cell)} - instr({cell}, '{sign}'), {_MOST_DIGITS})"
        # A last zero says nothing in 2.0, which is how a whole number prints as a decimal.
        padded = f"CASE WHEN {cell} LIKE '%0' AND {digits} > 1 THEN {_PADDED} ELSE 0 END"
        return f"{padded} + {_FRACTION} * (1 << CAST({digits} AS INTEGER))"

    # A word begins like none of what follows: one look instead of one for each shape, and most cells are words.
    nothing = f"lower(trim({cell})) IN ({', '.join(map(engine.literal, _UNKNOWN))})"
    word = f"WHEN NOT {like('[-.,0-9].*')} THEN CASE WHEN {nothing} THEN {_NO_VALUE} ELSE {_OTHER} END "
    number = (
        f"WHEN {like(_SHORT_INTEGER)} THEN {_INTEGER} {word}"
        f"WHEN {like(_FIXED_POINT)} THEN {_DECIMAL} + {fraction('.')} "
        f"WHEN {like(_GROUPED)} THEN {_COMMA_OR_THOUSANDS} + {fraction(',')} "
        f"WHEN {like(_FIXED_COMMA)} OR {like(_GROUPED_COMMA)} THEN {_COMMA} + {fraction(',')} "
        f"WHEN {like('-?[1-9][0-9]{15,18}')} AND {valid('BIGINT')} THEN {_LONG} "
        f"WHEN {like(_FLOATING_POINT)} AND {valid('DOUBLE')} THEN {_DECIMAL} "
    )
    date = (
        f"{'' if numbers else word}WHEN {like(_DAY)} AND {valid('DATE')} THEN {_DATE} "
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
    if date := {_DATE: "DATE", _TIMESTAMP: "TIMESTAMP", _ZONED: "TIMESTAMPTZ"}.get(mask):
        return date
    if mask & (_LONG | _DATE | _TIMESTAMP | _ZONED | _OTHER | _NO_VALUE | _COMMA | _COMMA_OR_THOUSANDS):
        return "VARCHAR"
    lengths = (mask // _FRACTION) | (1 if mask & _INTEGER else 0)
    # 1.50 and 2.25 print one scale; 250.10 beside 250.1 means that the last zero tells two values apart.
    return "VARCHAR" if mask & _PADDED and lengths.bit_count() > 1 else "DOUBLE"


def _type_by_comma(mask: int) -> str:
    """The type for a column's shapes where a comma stands before the decimals: a number, or text."""
    if not mask & (_COMMA | _COMMA_OR_THOUSANDS) or mask & _DECIMAL:
        return "VARCHAR"
    return _type(mask & ~(_COMMA | _COMMA_OR_THOUSANDS) | _DECIMAL)


def _is_typed(mask: int, decimal: str | None = None) -> bool:
    """Whether a column's shapes make more than text of it, by point or by comma where the sign is not known."""
    return _type(mask) != "VARCHAR" or (decimal != "." and _type_by_comma(mask) != "VARCHAR")


@dataclass(frozen=True)
class CellTypes:
    """The types of text columns, and those whose numbers have a decimal comma."""

    types: Mapping[str, str]
    commas: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def decimal(self) -> str:
        """The decimal sign, for the settings."""
        return "," if self.commas else "."


def cell_types(
    engine: Engine, relation: str, names: Sequence[str], *, decimal: str | None, delimiter: str
) -> CellTypes:
    """The types of all columns of delimited text, with decimal commas as asked for.

    Otherwise these are found where cells are separated by another sign; what may as well be thousands is told and not guessed.
    """
    if decimal not in (None, ".", ","):
        raise BadInput(f"decimal={decimal!r} is no decimal sign", hint="Give ',' or '.'")
    masks = _shapes(engine, relation, names)
    types = {name: _type(mask) for name, mask in masks.items()}
    by_comma = [name for name, mask in masks.items() if _type_by_comma(mask) != "VARCHAR"]
    dotted = [name for name, mask in masks.items() if types[name] == "DOUBLE"]
    sure = [name for name in by_comma if masks[name] & _COMMA]
    commas, notes = by_comma if decimal == "," else [], []
    if decimal == ",":
        types |= dict.fromkeys(dotted, "VARCHAR")
    elif decimal is None and by_comma:
        if sure and delimiter != ",":
            commas = by_comma if not dotted else sure
            notes.append(f"a comma was found to be the decimal sign of {listed(commas)}; decimal='.' reads it as text")
            # 1.234 is a thousand where commas stand before decimals.
            grouped = [name for name in dotted if masks[name] & ~(_FRACTION - 1) == _FRACTION << 3]
            if grouped:
                notes.append(f"the dots of {listed(grouped)} are read as decimal signs, and may separate thousands")
        if doubtful := [name for name in by_comma if name not in commas]:
            either = (
                "may be decimal signs or not" if set(doubtful) <= set(sure) else "may separate thousands or decimals"
            )
            notes.append(f"the commas of {listed(doubtful)} {either}: read as text; decimal=',' reads numbers")
    both = [
        name
        for name, mask in masks.items()
        if mask & _DECIMAL and mask & (_COMMA | _COMMA_OR_THOUSANDS) and not mask & (_OTHER | _NO_VALUE)
    ]
    if both and decimal is None:
        notes.append(f"the numbers of {listed(both)} have both dots and commas before their last digits: read as text")
    words = [name for name, mask in masks.items() if mask & _NO_VALUE and _is_typed(mask & ~_NO_VALUE, decimal)]
    if words:
        told = f"{listed(words)} would be numbers or dates but for words such as NaN, NA or null: read as text"
        notes.append(f"{told}; leave such cells empty")
    return CellTypes(types | dict.fromkeys(commas, "DOUBLE"), tuple(commas), tuple(notes))


def recast(engine: Engine, relation: str, types: Mapping[str, str]) -> str:
    """What stands after FROM to read `relation` with these columns cast to these types, the others as they are."""
    changed = {engine.quote(name): type_ for name, type_ in types.items() if type_ != "VARCHAR"}
    casts = ", ".join(f"CAST({cell} AS {type_}) AS {cell}" for cell, type_ in changed.items())
    return f"(SELECT * REPLACE ({casts}) FROM {relation})" if casts else relation


# --- delimited --------------------------------------------------------------------------------------------------------
UTF8 = ("utf-8", "utf-8-sig", "ascii")
"""Encodings that need no copy."""
_CHUNK = 1 << 20
_ENCODINGS = "Try 'utf-8', 'latin-1', 'cp1252' or 'utf-16'"
_NOT_OF_FILES = ("idna", "punycode", "undefined")
"""Names of hosts, a part of such names, and one that always fails."""


def read_delimited(files: Files, text: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """The table in one or more delimited text files that share one header."""
    paths = [_as_utf8(path, engine=engine, encoding=text.encoding, shown=source) for path in files.paths]
    shown = files.shown(source)
    dialect = read_dialect(paths[0], delimiter=text.delimiter, header=text.header, shown=shown[0])
    check_names(dialect.names, source=shown[0])
    for path, name in zip(paths[1:], shown[1:], strict=True):
        other = read_dialect(path, delimiter=dialect.delimiter, header=dialect.header, shown=name)
        if other != dialect:
            hint = "Files that are read as one table need the same columns in the same order, and the same line ends"
            raise BadInput(f"{name} is not written like {shown[0]}: {_difference(dialect, other)}", hint=hint)
    every = engine.files(paths, known_as=dict(zip(paths, shown, strict=True)))
    packed = packing(paths)

    def relation(types: Mapping[str, str]) -> str:
        return (
            f"read_csv({every}, auto_detect = false, columns = {engine.struct(types)}, delim = {engine.literal(dialect.delimiter)}, "
            f"header = {str(dialect.header).lower()}, skip = {dialect.skip}, quote = '\"', escape = '\"', nullstr = '', "
            f"new_line = {engine.literal(repr(dialect.line_end)[1:-1])}, compression = '{packed}')"
        )

    texts = relation(dict.fromkeys(dialect.names, "VARCHAR"))
    cells = cell_types(engine, texts, dialect.names, decimal=text.decimal, delimiter=dialect.delimiter)
    rows = relation({**cells.types, **dict.fromkeys(cells.commas, "VARCHAR")})
    if cells.commas:
        numbers = (f"CAST({with_dot(cell)} AS DOUBLE) AS {cell}" for cell in map(engine.quote, cells.commas))
        rows = f"(SELECT * REPLACE ({', '.join(numbers)}) FROM {rows})"
    return table_of(engine, rows, source=source, reading=reading_of_text(dialect, cells))


def with_dot(cell: str) -> str:
    """SQL for a number with a decimal comma as the engines write it: without dots between thousands, with one before decimals."""
    return f"replace(replace({cell}, '.', ''), ',', '.')"


def reading_of_text(dialect: Dialect, cells: CellTypes) -> HowRead:
    """How delimited text was read."""
    how = {"delimiter": dialect.delimiter, "header": dialect.header, "decimal": cells.decimal}
    return HowRead("csv", how, cells.notes)


def codec_of(encoding: str) -> codecs.CodecInfo:
    """The encoding of that name, which is one of texts: Python gives rot13, zlib and others the same kind of name."""
    try:
        codec = codecs.lookup(encoding)
        with contextlib.suppress(UnicodeError):
            b"a".decode(encoding)  # refuses what does not make text of bytes
    except (LookupError, ValueError):
        raise BadInput(f"there is no encoding {encoding!r} of text", hint=_ENCODINGS) from None
    if codec.name in _NOT_OF_FILES:
        raise BadInput(f"{encoding!r} is no encoding of files", hint=_ENCODINGS)
    return codec


def _difference(one: Dialect, other: Dialect) -> str:
    if one.names == other.names:
        return "its lines end differently"
    if len(one.names) != len(other.names):
        return f"{len(one.names)} columns against {len(other.names)}"
    place = next(i for i, pair in enumerate(zip(one.names, other.names, strict=True)) if pair[0] != pair[1])
    return f"column {place + 1} is {one.names[place]!r} in one and {other.names[place]!r} in the other"


def _as_utf8(path: Path, *, engine: DuckDBEngine, encoding: str, shown: str) -> Path:
    """The file itself if it is UTF-8, else a UTF-8 copy of it in the engine's private directory."""
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
        raise BadInput(f"{shown} cannot be read as {encoding}: {error}", hint="Pass another encoding") from error
    return copy


# --- jsonlines --------------------------------------------------------------------------------------------------------
# DuckDB finds the keys and their types from every record. Two of its choices are undone: a text is taken for a date only if all its
# values are ISO dates (DuckDB reads 02-01-2020 and "epoch" as dates too), and a key that holds texts in one record and numbers in
# another becomes text. Numbers written as texts stay texts.
_LOOK_AT_ALL = (
    "records = true, sample_size = -1, maximum_sample_files = 1000000, "
    "map_inference_threshold = -1, field_appearance_threshold = 0"
)
_LONGEST_LINE = 1 << 24
_FORMAT = "Write one object per line, or one array of objects"
_TEXTS = ("VARCHAR", "DATE", "TIME", "UUID", '"NULL"')


def read_json(files: Files, *, source: str, engine: DuckDBEngine) -> Table:
    """The table in one or more JSON files; a key that a record lacks is null there."""
    shown = files.shown(source)
    every = engine.files(files.paths, known_as=dict(zip(files.paths, shown, strict=True)))
    read = f"read_json({every}, compression = '{packing(files.paths)}'"
    try:
        found = dict(engine.describe(f"{read}, {_LOOK_AT_ALL})"))
    except BadInput as error:
        raise _bad_line(files, shown) or error from error
    except InternalError as error:
        nothing = BadInput(f"{source} holds no JSON objects with named values", hint=_FORMAT)
        raise _bad_line(files, shown) or nothing from error
    _refuse_renamed_keys(engine, read, tuple(found), source=source)
    types = {name: _plain_type(type_) for name, type_ in found.items()}
    mixed = [name for name, type_ in found.items() if type_ == "JSON"]
    types |= _scalar_types(engine, f"{read}, columns = {engine.struct(types)})", mixed)
    texts = [name for name, type_ in types.items() if type_ == "VARCHAR"]
    types |= column_types(engine, f"{read}, columns = {engine.struct(types)})", texts, numbers=False)
    return table_of(engine, f"{read}, columns = {engine.struct(types)})", source=source, reading=HowRead("json"))


def _plain_type(found: str) -> str:
    """The type to read a key with for now: what DuckDB takes for a date or an id is a text until looked at."""
    if found in _TEXTS or found.startswith("TIMESTAMP"):
        return "VARCHAR"
    return "JSON" if kind_of(found) == "nested" else found


def _scalar_types(engine: DuckDBEngine, relation: str, names: list[str]) -> dict[str, str]:
    """Text for a key whose values are of different types, but all plain; such a key is nested otherwise."""
    if not names:
        return {}
    nested = ", ".join(
        f"coalesce(bool_or(json_type({engine.quote(name)}) IN ('OBJECT', 'ARRAY')), false) AS c{i}"
        for i, name in enumerate(names)
    )
    found = engine.query(f"SELECT {nested} FROM {relation}").to_pylist()[0]
    return {name: "JSON" if found[f"c{i}"] else "VARCHAR" for i, name in enumerate(names)}


def _refuse_renamed_keys(engine: DuckDBEngine, read: str, names: tuple[str, ...], *, source: str) -> None:
    """DuckDB calls the second of two keys that differ only in case name_1: look at the keys themselves."""
    stems = {name.rpartition("_")[0].lower() for name in names if name.rpartition("_")[2].isdigit()}
    if not stems & {name.lower() for name in names}:
        return
    objects = read.replace("read_json(", "read_json_objects(", 1)
    keys = engine.query(f"SELECT DISTINCT unnest(json_keys(json)) AS key FROM {objects}) ORDER BY key")
    seen: dict[str, str] = {}
    for key in keys.column("key").to_pylist():
        if key.lower() in seen:
            raise BadInput(
                f"the keys {seen[key.lower()]!r} and {key!r} in {source} differ only in upper and lower case",
                hint="Rename one of them: SQL does not tell them apart",
            )
        seen[key.lower()] = key


def _bad_line(files: Files, shown: Sequence[str]) -> BadInput | None:
    """Which line is no JSON object, for a file of lines; only looked for once DuckDB has refused the file."""
    for path, name in zip(files.paths, shown, strict=True):
        with pa.input_stream(str(path), compression=compression(path)) as stream:
            lines = io.TextIOWrapper(stream, encoding="utf-8-sig")
            for number in itertools.count(1):
                try:
                    line = lines.readline(_LONGEST_LINE)
                    if not line:
                        break
                    record = json.loads(line) if line.strip() else {}
                except UnicodeDecodeError:
                    return BadInput(f"{name}: the text is not UTF-8", hint="Convert the file to UTF-8")
                except json.JSONDecodeError as error:
                    return BadInput(f"{name}, line {number}: not valid JSON ({error.msg})", hint=_FORMAT)
                except (RecursionError, ValueError):
                    told = f"{name}, line {number}: nested too deeply, or with a number of thousands of digits"
                    return BadInput(told, hint=_FORMAT)
                if not isinstance(record, dict):
                    return BadInput(f"{name}, line {number}: not a JSON object", hint=_FORMAT)
    return None
