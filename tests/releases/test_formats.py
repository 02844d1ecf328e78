# SPDX-License-Identifier: Apache-2.0
"""Files of a release: the source's format, its types, and only the columns.

Third-party readers read them back.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import struct
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, OwnEngine
from divulge.errors import BadInput
from divulge.releases import Format, choose_format, read_rows
from divulge.sources import read

TABLE = pa.table(
    {
        "text": pa.array(["plain", "", None, 'quote " comma , line\nend', "007"]),
        "whole": pa.array([1, -2, None, 2**62, 0]),
        "real": pa.array([0.1, -0.0, None, 1e300, 1 / 3]),
        "day": pa.array(
            [
                dt.date(2024, 2, 29),
                None,
                dt.date(1, 1, 1),
                dt.date(9999, 12, 31),
                dt.date(1970, 1, 1),
            ]
        ),
        "moment": pa.array(
            [dt.datetime(2024, 2, 29, 12, 30, 15, 123456), None, None, None, None],  # noqa: DTZ001
            pa.timestamp("us"),
        ),
        "truth": pa.array([True, False, None, True, False]),
        "money": pa.array(
            [Decimal("1.10"), None, Decimal("-3.00"), None, None], pa.decimal128(9, 2)
        ),
    }
)


def write(tmp_path: Path, form: Format, table: pa.Table = TABLE) -> tuple[Path, dict[str, str]]:
    engine = DuckDBEngine(preserve_order=True)
    relation = engine.register("rows", table)
    path = tmp_path / f"table{form.ending}"
    engine.write(f"SELECT * FROM {relation}", path, kind=form.kind, delimiter=form.delimiter)
    return path, dict(engine.describe(relation))


@pytest.mark.parametrize(
    "form",
    [Format("csv"), Format("csv", ";"), Format("csv", "\t"), Format("parquet"), Format("arrow")],
)
def test_values_and_types_come_back(tmp_path: Path, form: Format) -> None:
    path, types = write(tmp_path, form)
    engine = DuckDBEngine(preserve_order=True)
    table = read_rows(engine, path, form=form, types=types)
    assert {column.name: column.type for column in table.columns} == types
    assert engine.query(f"SELECT * FROM {table.relation}").to_pylist() == TABLE.to_pylist()


def test_csv_is_readable_by_other_tools(tmp_path: Path) -> None:
    path, _ = write(tmp_path, Format("csv"))
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == TABLE.column_names
    assert [row[0] for row in rows[1:]] == ["plain", "", "", 'quote " comma , line\nend', "007"]
    assert [row[1] for row in rows[1:]] == ["1", "-2", "", str(2**62), "0"]


def test_no_metadata_of_the_source_is_written(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"a": ["x", "y"]}, index=pandas.Index(["secret-1", "secret-2"], name="patient")
    )
    with_metadata = pa.Table.from_pandas(frame)
    assert b"secret" in b"".join(str(column).encode() for column in with_metadata.columns)
    for kind in ("parquet", "arrow", "csv"):
        table = read(frame)
        path = tmp_path / f"table.{kind}"
        engine = table.engine
        assert isinstance(engine, DuckDBEngine)
        engine.write(f"SELECT * FROM {table.relation}", path, kind=kind)
        assert b"secret" not in path.read_bytes()
        assert b"pandas" not in path.read_bytes()
    assert pq.read_schema(tmp_path / "table.parquet").metadata is None
    with pa.ipc.open_file(tmp_path / "table.arrow") as file:
        assert file.schema.metadata is None


def test_the_format_is_that_of_the_source(tmp_path: Path) -> None:
    text = "a;b\n1;2\n3;4\n"
    (tmp_path / "semicolons.csv").write_text(text, encoding="utf-8")
    (tmp_path / "tabs.tsv").write_text(text.replace(";", "\t"), encoding="utf-8")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    pq.write_table(TABLE, tmp_path / "file.parquet")
    (tmp_path / "folder").mkdir()
    pq.write_table(TABLE, tmp_path / "folder" / "part.parquet")
    with pa.ipc.new_file(str(tmp_path / "file.arrow"), TABLE.schema) as sink:
        sink.write_table(TABLE)
    with pa.ipc.new_stream(str(tmp_path / "file.arrows"), TABLE.schema) as sink:
        sink.write_table(TABLE)
    found = {path.name: choose_format(read(path)) for path in tmp_path.iterdir()}
    assert found == {
        "semicolons.csv": Format("csv", ";"),
        "tabs.tsv": Format("csv", "\t"),
        "packed.csv.gz": Format("csv", ";"),
        "rows.jsonl": Format("parquet"),
        "file.parquet": Format("parquet"),
        "folder": Format("parquet"),
        "file.arrow": Format("arrow"),
        "file.arrows": Format("arrow"),
    }
    assert found["tabs.tsv"].ending == ".tsv"
    assert choose_format(read(TABLE)) == Format("parquet")
    assert choose_format(read(tmp_path / "semicolons.csv"), "csv") == Format("csv", ";")
    assert choose_format(read(tmp_path / "file.parquet"), "csv") == Format("csv", ",")
    with pytest.raises(BadInput, match="cannot be written as 'excel'"):
        choose_format(read(TABLE), "excel")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_equal_values_are_written_alike(engine: OwnEngine, kind: str, tmp_path: Path) -> None:
    """0.0 and -0.0 are one value, and so are NaN of any payload.

    A class of four must not be three and one in the file.
    """
    other_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0001))[0]
    zeros = [0.0, 0.0, 0.0, -0.0]
    nans = [float("nan"), other_nan, other_nan, other_nan]
    table = pa.table({"x": [*zeros, *[1.5] * 4], "d": list("abcdabcd"), "plain": [*nans, *zeros]})
    release = dv.generalize(
        table,
        quasi_identifiers="x",
        sensitive="d",
        policy=dv.Policy(k_anonymity=4),
        plain="plain",
        engine=engine,
    )
    assert release.after["k_anonymity"].value == 4
    folder = release.write(tmp_path / "out", format=kind)  # type: ignore[arg-type]
    files = (
        sorted((folder / f"table.{kind}").iterdir())
        if (folder / f"table.{kind}").is_dir()
        else [folder / f"table.{kind}"]
    )
    texts: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for file in files:
        if kind == "csv":
            with file.open(encoding="utf-8", newline="") as opened:
                rows = list(csv.DictReader(opened))
        else:
            rows = pq.read_table(file).to_pylist()
            rows = [
                {name: struct.pack("<d", row[name]).hex() for name in ("x", "plain")}
                for row in rows
            ]
        texts.update(row["x"] for row in rows)
        others.update(row["plain"] for row in rows)
    assert sorted(texts.values()) == [4, 4], texts
    assert sorted(others.values()) == [4, 4], others
