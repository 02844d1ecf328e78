# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of records, databases and weights: JSON, JSON lines and CSV.

JSON      a record    {"id": "r1", "attributes": [{"label": "N", "value": "Alice", "confidence": 0.5}, ...]}
          a database  {"records": [record, ...]}, a list of records, or one record per line (.jsonl, .ndjson)
          weights     {"N": 2, ...}
CSV       a database  record,label,value,confidence: one row per attribute
          weights     label,weight
A missing confidence is 1, a missing weight is 1, and a record without an id is named by its
position: r1, r2, ... Unknown keys raise an error, because a misspelled "confidence" must not become
certainty.
"""  # noqa: E501

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from divulge.arguments import outside
from divulge.dossier.record import Attribute, Database, Record, brief, check_weights, finite_number
from divulge.errors import BadInput, nearest
from divulge.validation import checked

Source: TypeAlias = "str | PathLike[str]"
_COLUMNS = ("record", "label", "value", "confidence")


@checked
def read_record(source: Source) -> Record:
    """Read the one record of a file.

    Args:
        source: A file in a format of `read_database`.

    Examples:
        >>> import divulge as dv, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "me.json")
        ...     _ = file.write_text('{"attributes": [{"label": "N", "value": "Alice"}]}')
        ...     dv.dossier.read_record(file).labels
        ('N',)
    """
    database = read_database(source)
    if len(database) != 1:
        raise BadInput(
            f"{str(source)!r} holds {len(database)} records, one was expected",
            hint="split the file",
        )
    return database[0]


@checked
def read_database(source: Source) -> Database:
    r"""Read all records of a file, each with an id.

    Args:
        source: A .json file ({"records": [...]}), a .jsonl file with one record in a line, or a
            .csv file with the columns record, label, value and confidence.

    Examples:
        >>> import divulge as dv, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "shops.csv")
        ...     _ = file.write_text(
        ...         "record,label,value,confidence\na,N,Alice,1\na,P,123,0.5\nb,N,Bob,\n"
        ...     )
        ...     [(record.id, len(record)) for record in dv.dossier.read_database(file)]
        [('a', 2), ('b', 1)]
    """
    path = Path(source)
    text = read_text(path)
    name = str(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _require_records(_from_csv(text, name), name)
    if suffix in {".jsonl", ".ndjson"}:
        lines = [
            (number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()
        ]
        documents = [parse_json(line, f"{name}, line {number}") for number, line in lines]
        return _require_records(_from_objects(documents, name), name)
    document = parse_json(text, name)
    if isinstance(document, dict) and "records" in document:
        _check_keys(document, ("records",), name)
        document = document["records"]
    elif isinstance(document, dict):
        document = [document]
    if not isinstance(document, list):
        raise BadInput(
            f"{name!r} is not a database",
            hint='write {"records": [...]}, or one record per line as .jsonl',
        )
    return _from_objects(document, name)


@checked
def read_weights(source: Source) -> Mapping[str, float]:
    """Read the weights of labels.

    Args:
        source: A .json file ({"label": weight}), or a .csv file with the columns label and weight.

    Examples:
        >>> import divulge as dv, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "weights.json")
        ...     _ = file.write_text('{"N": 2, "P": 1}')
        ...     dict(dv.dossier.read_weights(file))
        {'N': 2.0, 'P': 1.0}
    """
    path = Path(source)
    text = read_text(path)
    name = str(path)
    if path.suffix.lower() != ".csv":
        document = parse_json(text, name)
        if not isinstance(document, dict):
            raise BadInput(f"{name!r} does not hold weights", hint='write {"label": weight, ...}')
        return check_weights(document)
    weights: dict[str, float] = {}
    for number, row in csv_rows(text, ("label", "weight"), name):
        if row["label"] in weights:
            raise BadInput(
                f"{name!r}, line {number}: the label {row['label']!r} occurs twice",
                hint="keep one weight",
            )
        weights[row["label"]] = _parse_number(row["weight"], f"{name}, line {number}")
    return check_weights(weights)


@checked
def read_background(source: Source) -> Mapping[str, Mapping[str, float]]:
    """Read the frequencies of values in the population, for the option `background` of `leakage`.

    Args:
        source: A .json file ({"label": {"value": count}}), or a .csv file with the columns label,
            value and count. Counts may be shares.

    Examples:
        >>> import divulge as dv, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "ages.json")
        ...     _ = file.write_text('{"A": {"30": 75, "90": 25}}')
        ...     dv.dossier.read_background(file)
        {'A': {'30': 75.0, '90': 25.0}}
    """
    path = Path(source)
    text = read_text(path)
    name = str(path)
    frequencies: dict[str, dict[str, float]] = {}
    if path.suffix.lower() == ".csv":
        for number, row in csv_rows(text, ("label", "value", "count"), name):
            counts = frequencies.setdefault(row["label"], {})
            if row["value"] in counts:
                raise BadInput(
                    f"{name!r}, line {number}: {row['value']!r} of {row['label']!r} occurs twice"
                )
            counts[row["value"]] = _parse_number(row["count"], f"{name}, line {number}")
        return frequencies
    document = parse_json(text, name)
    hint = 'write {"label": {"value": count, ...}, ...}'
    if not isinstance(document, dict) or not all(
        isinstance(counts, dict) for counts in document.values()
    ):
        raise BadInput(f"{name!r} does not hold counts of values", hint=hint)
    frequencies = {label: {} for label in document}
    for label, counts in document.items():
        for value, count in counts.items():
            if (number_or_none := finite_number(count)) is None:
                raise BadInput(
                    f"{name}: the count of {value!r} of {label!r} is {brief(count)}", hint=hint
                )
            frequencies[label][value] = number_or_none
    return frequencies


@checked
def read_joint_values(source: Source) -> Mapping[Attribute, str]:
    r"""Read the joint values of attributes, for a `Joint`.

    Args:
        source: A .csv file with the columns label, value and joint: the joint value that the
            attribute reveals.

    Examples:
        >>> import divulge as dv, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "districts.csv")
        ...     _ = file.write_text("label,value,joint\nP,555,north\n")
        ...     dv.dossier.read_joint_values(file)
        {Attribute(label='P', value='555'): 'north'}
    """
    name = str(source)
    joint_values: dict[Attribute, str] = {}
    for number, row in csv_rows(read_text(Path(source)), ("label", "value", "joint"), name):
        if (
            joint_values.setdefault(Attribute(row["label"], row["value"]), row["joint"])
            != row["joint"]
        ):
            raise BadInput(
                f"{name!r}, line {number}: {row['value']!r} of {row['label']!r} tells two values"
            )
    return joint_values


@checked
def read_lookup(source: Source) -> Mapping[str, str]:
    r"""Read the value inferred from each value, for `Augment`.

    Args:
        source: A CSV file of two columns without a header: value, inferred value.

    Examples:
        >>> import divulge as dv, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "zips.csv")
        ...     _ = file.write_text("1 Main St,111\n")
        ...     dv.dossier.read_lookup(file)
        {'1 Main St': '111'}
    """
    name = str(source)
    reader = csv.reader(io.StringIO(read_text(Path(source), "the lookup ")), strict=True)
    inferred_values: dict[str, str] = {}
    try:
        for row in filter(None, reader):
            if len(row) != 2:
                raise BadInput(
                    f"the lookup {name!r} does not have two columns",
                    hint="write value,inferred value",
                )
            if inferred_values.setdefault(row[0], row[1]) != row[1]:
                raise BadInput(
                    f"the lookup {name!r} infers two values from {row[0]!r}",
                    hint="keep one of them",
                )
    except csv.Error as error:
        raise BadInput(f"{name!r}, line {reader.line_num}: {outside(error)}") from error
    return inferred_values


@checked
def write_database(database: Iterable[Record], path: Source) -> None:
    """Write records to a file that reads back to equal records.

    Args:
        database: The records.
        path: The file; its name ends in .json, .jsonl or .csv.

    Examples:
        >>> import divulge as dv, tempfile
        >>> records = (dv.dossier.Record.of({"N": ("Ann", 0.5)}, id="a"),)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dv.dossier.write_database(records, f"{folder}/known.csv")
        ...     dv.dossier.read_database(f"{folder}/known.csv") == records
        True
    """
    target = Path(path)
    write = _WRITERS.get(target.suffix.lower())
    if write is None:
        raise BadInput(
            f"cannot write {target.name!r}", hint=f"the name must end in {', '.join(_WRITERS)}"
        )
    text = write(_with_ids(list(database), str(path)))
    try:
        target.write_bytes(text.encode())
    except UnicodeEncodeError as error:
        # half of a surrogate pair: JSON can represent it, a UTF-8 file cannot
        raise BadInput(
            f"cannot write {target.name!r}: a value is not valid Unicode text"
        ) from error


@checked
def from_rows(
    rows: object,
    *,
    record_id: str | None = None,
    labels: Sequence[str] | None = None,
    confidence: float = 1.0,
) -> Database:
    """Build records from the rows of a table: a column is a label, a cell a value.

    An empty (null) cell is no attribute.

    Args:
        rows: A list of mappings, or any source that `dv.read` opens.
        record_id: The column with the ids of the records; it does not become an attribute.
        labels: The columns that become labels; by default all others.
        confidence: The confidence in every cell.

    Examples:
        >>> import divulge as dv
        >>> rows = [{"id": "a", "N": "Ann", "P": None}]
        >>> [(record.id, record.labels) for record in dv.dossier.from_rows(rows, record_id="id")]
        [('a', ('N',))]
    """
    columns, cells = _columns_and_rows(rows)
    for name in (*([record_id] if record_id is not None else []), *(labels or ())):
        if name not in columns:
            raise BadInput(f"there is no column {name!r}", hint=nearest(name, columns))
    label_columns = [name for name in labels or columns if name != record_id]
    database = []
    for row in cells:
        present_cells = [
            (name, row[name]) for name in label_columns if not _is_missing(row.get(name))
        ]
        # numbers stay numbers, so that 30.0 becomes "30"; dates and the rest become text
        entries = [
            (name, v if isinstance(v, str | int | float | bool) else str(v), confidence)
            for name, v in present_cells
        ]
        if record_id is not None:
            identifier = row[record_id]
        else:
            identifier = None
        database.append(Record.of(entries, None if identifier is None else str(identifier)))
    return _with_ids(database, "the table")


@checked
def record_to_json(record: Record) -> dict[str, object]:
    """The JSON object of a record, as `read_record` reads it; a confidence of 1 is omitted.

    Args:
        record: The record.

    Examples:
        >>> import divulge as dv
        >>> dv.dossier.record_to_json(dv.dossier.Record.of({"N": ("Ann", 0.5)}, id="a"))
        {'id': 'a', 'attributes': [{'label': 'N', 'value': 'Ann', 'confidence': 0.5}]}
    """
    attributes = [
        {"label": label, "value": value, **({} if confidence == 1 else {"confidence": confidence})}
        for (label, value), confidence in record.attributes.items()
    ]
    return {**({} if record.id is None else {"id": record.id}), "attributes": attributes}


def record_from_json(document: object, where: str = "the record") -> Record:
    """Build a record from its JSON object."""
    if not isinstance(document, dict) or not isinstance(document.get("attributes"), list):
        raise BadInput(
            f"{where} is not a record",
            hint='write {"attributes": [{"label": "N", "value": "Alice"}, ...]}',
        )
    _check_keys(document, ("id", "attributes"), where)
    entries = []
    for attribute in document["attributes"]:
        if not isinstance(attribute, dict) or not {"label", "value"} <= attribute.keys():
            raise BadInput(
                f"{where}: {brief(attribute)} is not an attribute",
                hint="it needs a label and a value",
            )
        _check_keys(attribute, ("label", "value", "confidence"), where)
        entries.append((attribute["label"], attribute["value"], attribute.get("confidence", 1.0)))
    identifier = document.get("id")
    return _build_record(entries, None if identifier is None else str(identifier), where)


def _require_records(database: Database, name: str) -> Database:
    """Return the database, or raise an error if it is empty.

    A file of lines without records may be truncated, and would leak nothing.
    """
    if not database:
        raise BadInput(
            f"{name!r} holds no record", hint='write {"records": []} as .json if there is none'
        )
    return database


def _from_objects(documents: Sequence[object], name: str) -> Database:
    records = [
        record_from_json(document, f"{name}, record {number}")
        for number, document in enumerate(documents, start=1)
    ]
    return _with_ids(records, name)


def _from_csv(text: str, name: str) -> Database:
    entries: dict[str, list[tuple[str, str, float]]] = {}
    for number, row in csv_rows(text, _COLUMNS[:3], name):
        location = f"{name}, line {number}"
        if row.get("confidence"):
            confidence = _parse_number(row["confidence"], location)
        else:
            confidence = 1.0
        entries.setdefault(row["record"], []).append((row["label"], row["value"], confidence))
    return tuple(
        _build_record(attributes, key, f"{name}, record {key!r}")
        for key, attributes in entries.items()
    )


def csv_rows(
    text: str, needed_columns: Sequence[str], name: str
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and cells of each row.

    The header must have the needed columns, each once. Rows must have as many cells as the header.
    """
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        header = reader.fieldnames or ()
        if missing := [column for column in needed_columns if column not in header]:
            raise BadInput(
                f"{name!r} lacks the column {missing[0]!r}",
                hint=f"the header is {','.join(needed_columns)}",
            )
        if repeated := [column for column in header if header.count(column) > 1]:
            raise BadInput(f"{name!r} has two columns {repeated[0]!r}", hint="keep one of them")
        for row in reader:
            if None in row or None in row.values():
                raise BadInput(
                    f"{name!r}, line {reader.line_num}: a row of another length",
                    hint="quote commas in values",
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise BadInput(f"{name!r}, line {reader.line_num}: {outside(error)}") from error


def _with_ids(database: list[Record], name: str) -> Database:
    """Give each record a unique id; the position names a record without one."""
    records = [
        source_record if source_record.id is not None else replace(source_record, id=f"r{n}")
        for n, source_record in enumerate(database, start=1)
    ]
    record_ids: set[str | None] = set()
    for record in records:
        if record.id in record_ids:
            raise BadInput(
                f"{name}: two records have the id {record.id!r}",
                hint="give each record an id of its own",
            )
        record_ids.add(record.id)
    return tuple(records)


def _columns_and_rows(rows: object) -> tuple[Sequence[str], Iterable[Mapping[str, object]]]:
    if isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows):
        return list(dict.fromkeys(name for row in rows for name in row)), rows
    from divulge.sources import read

    table = read(rows)
    names = ", ".join(table.engine.quote(name) for name in table.names)
    return table.names, table.engine.query(f"SELECT {names} FROM {table.relation}").to_pylist()


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def read_text(path: Path, what: str = "") -> str:
    """Read the text of a file; `what` precedes its name in errors."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"cannot read {what}{str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{str(path)!r} is not UTF-8 text", hint="save it as UTF-8") from error


def parse_json(text: str, location: str) -> object:
    """Parse JSON; errors are one line. A repeated key is an error."""
    try:
        return json.loads(text, object_pairs_hook=_object_of_unique_keys)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{location} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error
    except RecursionError:
        raise BadInput(
            f"{location} is nested too deeply", hint="a document has a handful of levels"
        ) from None
    except ValueError as error:  # Python reads integers of up to 4,300 digits
        raise BadInput(f"{location}: {outside(error)}") from error
    except BadInput as error:
        raise BadInput(f"{location}: {error.message.marked}", hint=error.hint) from None


def _object_of_unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build an object and raise an error for repeated keys, of which JSON would keep the last."""
    document = dict(pairs)
    if len(document) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated_key = next(key for key in keys if keys.count(key) > 1)
        raise BadInput(
            f"the key {repeated_key!r} occurs twice in one JSON object", hint="keep one of them"
        )
    return document


def _check_keys(document: Mapping[str, object], allowed_keys: Sequence[str], location: str) -> None:
    for key in document:
        if key not in allowed_keys:
            raise BadInput(
                f"{location}: the key {key!r} is unknown", hint=nearest(key, allowed_keys)
            )


def _parse_number(text: str, location: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{location}: {text!r} is not a number") from None


def _build_record(
    entries: Iterable[tuple[str, object, float]], key: str | None, location: str
) -> Record:
    """Build a record; an error names its position in the file."""
    try:
        return Record.of(entries, key)
    except BadInput as error:
        raise BadInput(f"{location}: {error.message.marked}", hint=error.hint) from error


def _to_json(database: Database) -> str:
    return (
        json.dumps(
            {"records": [record_to_json(record) for record in database]},
            ensure_ascii=False,
            indent=1,
        )
        + "\n"
    )


def _to_json_lines(database: Database) -> str:
    return "".join(
        json.dumps(record_to_json(record), ensure_ascii=False) + "\n" for record in database
    )


def _to_csv(database: Database) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for record in database:
        if not record.attributes:
            raise BadInput(
                f"the record {record.id!r} is empty: CSV has no row for it",
                hint="write .json or .jsonl",
            )
        writer.writerows(
            [record.id, label, value, repr(c)] for (label, value), c in record.attributes.items()
        )
    return text.getvalue()


_WRITERS: dict[str, Callable[[Database], str]] = {
    ".json": _to_json,
    ".jsonl": _to_json_lines,
    ".csv": _to_csv,
}
