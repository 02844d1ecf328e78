# SPDX-License-Identifier: Apache-2.0
"""Read files of SPSS (.sav, .zsav) and Stata (.dta) by pyreadstat (extra `spss`).

Labels replace their codes; a code without a label stays. If most of the values that occur have no
label, the column stays a number, with a note; an example is an age with one label for 90 and over.
Values that the file declares as missing are null, with a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from divulge.arguments import outside
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency, listed
from divulge.sources.delimited import recast
from divulge.sources.paths import Files
from divulge.sources.table import ReadOptions, ReadSettings, Table, check_names, table_of

_CHUNK_ROWS = 50_000
_MOMENTS = ("DATETIME", "YMDHMS", "%tc", "%tC")
_DAYS = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "%td", "%d")
_TIMES = ("TIME", "DTIME", "MTIME")
_EXACT_IN_DOUBLE = 2**53


def read_statistics(
    files: Files, options: ReadOptions, *, source: str, engine: DuckDBEngine
) -> Table:
    """Read the table in a file of SPSS or Stata, in chunks."""
    if len(files.paths) > 1:
        raise BadInput(
            f"{source} is {len(files.paths)} files of SPSS or Stata", hint="Name one of them"
        )
    try:
        import pyreadstat
    except ImportError:
        raise MissingDependency(
            f"{source} is a file of {files.kind}: reading it needs pyreadstat", extra="spss"
        ) from None
    if options.encoding == "utf-8":
        encoding = None
    else:
        encoding = options.encoding
    if files.kind == "spss":
        reader: Callable[..., Any] = pyreadstat.read_sav
    else:
        reader = pyreadstat.read_dta

    def opened(**how: Any) -> tuple[dict[str, list[Any]], Any]:
        try:
            columns_and_metadata: tuple[dict[str, list[Any]], Any] = reader(
                str(files.paths[0]), output_format="dict", encoding=encoding, **how
            )
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, OSError) as error:
            message = f"{source} is not a readable file of {files.kind}: {outside(error)}"
            raise BadInput(message, hint="Is it damaged, or of another encoding?") from None
        return columns_and_metadata

    about = opened(metadataonly=True, user_missing=True)[1]
    check_names(about.column_names, source=source)
    schema = pa.schema([(name, _type(about, name)) for name in about.column_names])
    stored = engine.store(pa.RecordBatchReader.from_batches(schema, _batches(opened, schema)))
    missing = sorted({*about.missing_ranges, *about.missing_user_values})
    if missing:
        notes = [f"what the file declares to be missing is null in {listed(missing)}"]
    else:
        notes = []
    labelled: dict[str, str] = {}
    if not options.codes:
        labelled, label_notes = _label_expressions(engine, stored, about.variable_value_labels)
        notes += label_notes
    integer_types = _whole_numbers(
        engine, stored, [name for name in schema.names if name not in labelled], schema
    )
    relation = recast(engine, stored, integer_types)
    if labelled:
        cells = ", ".join(f"{cell} AS {engine.quote(name)}" for name, cell in labelled.items())
        recoded = engine.keep(f"SELECT * REPLACE ({cells}) FROM {relation}")
        engine.discard(stored)
        relation = recoded
    reading = ReadSettings(
        files.kind, {"labels": list(labelled), "codes": options.codes}, tuple(notes)
    )
    return table_of(engine, relation, source=source, reading=reading)


def _type(about: Any, name: str) -> pa.DataType:
    """Return the type of a variable: text, dates by the format, else numbers."""
    if about.readstat_variable_types[name] == "string":
        return pa.string()
    form = about.original_variable_types[name] or ""
    if form.startswith(_MOMENTS):
        return pa.timestamp("us")
    if form.startswith(_DAYS):
        return pa.date32()
    if form.startswith(_TIMES):
        return pa.time64("us")
    return pa.float64()


def _batches(
    open_file: Callable[..., tuple[dict[str, list[Any]], Any]], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches; an empty text is null, as an empty cell of a CSV file is."""
    start = 0
    while True:
        columns, _ = open_file(row_offset=start, row_limit=_CHUNK_ROWS)
        rows = len(next(iter(columns.values()), []))
        if not rows:
            return
        cells = [
            pa.array(
                [value or None for value in columns[name]]
                if pa.types.is_string(type_)
                else columns[name],
                type_,
            )
            for name, type_ in zip(schema.names, schema.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(cells, schema=schema)
        if rows < _CHUNK_ROWS:
            return
        start += rows


def _label_expressions(
    engine: DuckDBEngine, relation: str, labels: Mapping[str, Mapping[Any, str]]
) -> tuple[dict[str, str], list[str]]:
    """Return SQL for each column whose labels replace its codes, and notes for the user."""
    label_cells: dict[str, str] = {}
    numbers = []
    partly_labeled = []
    for name, value_labels in labels.items():
        cell = engine.quote(name)
        distinct = f"SELECT DISTINCT {cell} AS c FROM {relation} WHERE {cell} IS NOT NULL"
        distinct_count = int(
            engine.query(f"SELECT COUNT(*) AS n FROM ({distinct})").column("n")[0].as_py()
        )
        among = ", ".join(_constant(engine, code) for code in value_labels)
        labeled_codes = (
            engine.query(f"{distinct} AND {cell} IN ({among}) ORDER BY c").column("c").to_pylist()
        )
        if not labeled_codes:
            continue
        if 2 * len(labeled_codes) < distinct_count:
            numbers.append(name)
            continue
        codes = engine.query(distinct).column("c").to_pylist()
        if len(labeled_codes) < len(codes):
            partly_labeled += [name]
        label_cells[name] = _label_case(
            engine,
            cell,
            {code: value_labels[code] for code in labeled_codes},
            [_text(code) for code in codes],
        )
    if numbers:
        unlabeled = f"most values of {listed(numbers)} have no label"
        notes = [f"{unlabeled}: they stay codes, the labelled ones too"]
    else:
        notes = []
    if partly_labeled:
        notes += [f"some values of {listed(partly_labeled)} have no label and stay codes"]
    return label_cells, notes


def _label_case(
    engine: DuckDBEngine, cell: str, labels: Mapping[Any, str], codes: list[str]
) -> str:
    """Return SQL that replaces codes by labels.

    A label of two codes, or one that equals another code, is followed by its own code.
    """
    times = Counter([*labels.values(), *codes])
    whens = " ".join(
        f"WHEN {_constant(engine, code)} THEN "
        f"{engine.literal(label if times[label] == 1 else f'{label} ({_text(code)})')}"
        for code, label in labels.items()
    )
    as_integer = f"TRY_CAST({cell} AS BIGINT)"
    is_number = not isinstance(next(iter(labels)), str)
    itself = (
        f"CASE WHEN {as_integer} = {cell} THEN CAST({as_integer} AS VARCHAR) ELSE CAST({cell} AS "
        "VARCHAR) END"
    )
    return f"CASE {cell} {whens} ELSE {itself if is_number else cell} END"


def _constant(engine: DuckDBEngine, code: Any) -> str:
    if isinstance(code, str):
        return engine.literal(code)
    return repr(float(code))


def _text(code: Any) -> str:
    if isinstance(code, float) and code.is_integer():
        return str(int(code))
    return str(code)


def _whole_numbers(
    engine: DuckDBEngine, relation: str, names: list[str], schema: pa.Schema
) -> dict[str, str]:
    """Return BIGINT for columns of whole numbers: these files store only doubles."""
    doubles = [name for name in names if pa.types.is_floating(schema.field(name).type)]
    if not doubles:
        return {}
    checks = ", ".join(
        f"bool_and({cell} = floor({cell}) AND abs({cell}) <= {_EXACT_IN_DOUBLE}) AS c{column_index}"
        for column_index, cell in enumerate(map(engine.quote, doubles))
    )
    check_row = engine.query(f"SELECT {checks} FROM {relation}").to_pylist()[0]
    return {
        name: "BIGINT" for column_index, name in enumerate(doubles) if check_row[f"c{column_index}"]
    }
