# SPDX-License-Identifier: Apache-2.0
"""Reads files of SPSS (.sav, .zsav) and Stata (.dta) by pyreadstat (extra `spss`): labels stand for their codes.

A code without a label stays itself. Where most of the values that occur have no label, as in an age with one label for 90 and over,
the column stays a number, and that is told. What the file declares to be missing is null, and that is told too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency, listed
from divulge.table.paths import Files
from divulge.table.table import HowRead, ReadOptions, Table, check_names, table_of
from divulge.table.text_files import recast

_CHUNK_ROWS = 50_000
_MOMENTS = ("DATETIME", "YMDHMS", "%tc", "%tC")
_DAYS = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "%td", "%d")
_TIMES = ("TIME", "DTIME", "MTIME")
_EXACT_IN_DOUBLE = 2**53


def read_statistics(files: Files, asked: ReadOptions, *, source: str, engine: DuckDBEngine) -> Table:
    """The table in such a file, read in chunks."""
    if len(files.paths) > 1:
        raise BadInput(f"{source} is {len(files.paths)} files of SPSS or Stata", hint="Name one of them")
    try:
        import pyreadstat
    except ImportError:
        hint = "Install it with: pip install 'divulge[spss]'"
        raise MissingDependency(f"{source} is a file of {files.kind}: reading it needs pyreadstat", hint=hint) from None
    encoding = None if asked.encoding == "utf-8" else asked.encoding
    reader: Callable[..., Any] = pyreadstat.read_sav if files.kind == "spss" else pyreadstat.read_dta

    def opened(**how: Any) -> tuple[dict[str, list[Any]], Any]:
        try:
            found: tuple[dict[str, list[Any]], Any] = reader(
                str(files.paths[0]), output_format="dict", encoding=encoding, **how
            )
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, OSError) as error:
            told = f"{source} is not a readable file of {files.kind}: {error}"
            raise BadInput(told, hint="Is it damaged, or of another encoding?") from None
        return found

    about = opened(metadataonly=True, user_missing=True)[1]
    check_names(about.column_names, source=source)
    schema = pa.schema([(name, _type(about, name)) for name in about.column_names])
    stored = engine.store(pa.RecordBatchReader.from_batches(schema, _batches(opened, schema)))
    missing = sorted({*about.missing_ranges, *about.missing_user_values})
    notes = [f"what the file declares to be missing is null in {listed(missing)}"] if missing else []
    labelled: dict[str, str] = {}
    if not asked.codes:
        labelled, told = _labelled(engine, stored, about.variable_value_labels)
        notes += told
    whole = _whole_numbers(engine, stored, [name for name in schema.names if name not in labelled], schema)
    relation = recast(engine, stored, whole)
    if labelled:
        cells = ", ".join(f"{cell} AS {engine.quote(name)}" for name, cell in labelled.items())
        kept = engine.keep(f"SELECT * REPLACE ({cells}) FROM {relation}")
        engine.discard(stored)
        relation = kept
    reading = HowRead(files.kind, {"labels": list(labelled), "codes": asked.codes}, tuple(notes))
    return table_of(engine, relation, source=source, reading=reading)


def _type(about: Any, name: str) -> pa.DataType:
    """By what pyreadstat makes of a variable: texts, dates by the format, else numbers."""
    if about.readstat_variable_types[name] == "string":
        return pa.string()
    form = about.original_variable_types[name] or ""
    if form.startswith(_MOMENTS):
        return pa.timestamp("us")
    if form.startswith(_DAYS):
        return pa.date32()
    return pa.time64("us") if form.startswith(_TIMES) else pa.float64()


def _batches(opened: Callable[..., tuple[dict[str, list[Any]], Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """An empty text is null, as an empty cell of a CSV file is."""
    start = 0
    while True:
        columns, _ = opened(row_offset=start, row_limit=_CHUNK_ROWS)
        rows = len(next(iter(columns.values()), []))
        if not rows:
            return
        cells = [
            pa.array([value or None for value in columns[name]] if pa.types.is_string(type_) else columns[name], type_)
            for name, type_ in zip(schema.names, schema.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(cells, schema=schema)
        if rows < _CHUNK_ROWS:
            return
        start += rows


def _labelled(
    engine: DuckDBEngine, relation: str, labels: Mapping[str, Mapping[Any, str]]
) -> tuple[dict[str, str], list[str]]:
    """SQL for each column whose labels stand for its codes, and what is to be told."""
    found: dict[str, str] = {}
    numbers, partly = [], []
    for name, told in labels.items():
        cell = engine.quote(name)
        distinct = f"SELECT DISTINCT {cell} AS c FROM {relation} WHERE {cell} IS NOT NULL"
        several = int(engine.query(f"SELECT COUNT(*) AS n FROM ({distinct})").column("n")[0].as_py())
        among = ", ".join(_constant(engine, code) for code in told)
        known = engine.query(f"{distinct} AND {cell} IN ({among}) ORDER BY c").column("c").to_pylist()
        if not known:
            continue
        if 2 * len(known) < several:
            numbers.append(name)
            continue
        codes = engine.query(distinct).column("c").to_pylist()
        partly += [name] if len(known) < len(codes) else []
        found[name] = _case(engine, cell, {code: told[code] for code in known}, [_text(code) for code in codes])
    notes = (
        [f"most values of {listed(numbers)} have no label: they stay codes, the labelled ones too"] if numbers else []
    )
    notes += [f"some values of {listed(partly)} have no label and stay codes"] if partly else []
    return found, notes


def _case(engine: DuckDBEngine, cell: str, labels: Mapping[Any, str], codes: list[str]) -> str:
    """Labels for codes; one that two codes have, or that is another's code, is told apart by its own code."""
    times = Counter([*labels.values(), *codes])
    whens = " ".join(
        f"WHEN {_constant(engine, code)} THEN {engine.literal(label if times[label] == 1 else f'{label} ({_text(code)})')}"
        for code, label in labels.items()
    )
    whole = f"TRY_CAST({cell} AS BIGINT)"
    is_number = not isinstance(next(iter(labels)), str)
    itself = f"CASE WHEN {whole} = {cell} THEN CAST({whole} AS VARCHAR) ELSE CAST({cell} AS VARCHAR) END"
    return f"CASE {cell} {whens} ELSE {itself if is_number else cell} END"


def _constant(engine: DuckDBEngine, code: Any) -> str:
    return engine.literal(code) if isinstance(code, str) else repr(float(code))


def _text(code: Any) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _whole_numbers(engine: DuckDBEngine, relation: str, names: list[str], schema: pa.Schema) -> dict[str, str]:
    """These files have doubles only: a column of whole numbers is one."""
    doubles = [name for name in names if pa.types.is_floating(schema.field(name).type)]
    if not doubles:
        return {}
    checks = ", ".join(
        f"bool_and({cell} = floor({cell}) AND abs({cell}) <= {_EXACT_IN_DOUBLE}) AS c{place}"
        for place, cell in enumerate(map(engine.quote, doubles))
    )
    found = engine.query(f"SELECT {checks} FROM {relation}").to_pylist()[0]
    return {name: "BIGINT" for place, name in enumerate(doubles) if found[f"c{place}"]}
