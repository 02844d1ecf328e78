# SPDX-License-Identifier: Apache-2.0
"""Spark writes the same release as DuckDB: equal rows and numbers, and nothing else.

If something is wrong, nothing is written at all.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.api.apply import apply
from divulge.engines import SparkEngine
from divulge.engines import spark as spark_files
from divulge.engines.memory import ShufflePart
from divulge.errors import BadInput
from divulge.releases import GeneralizedRelease, Unverified
from divulge.releases import formats as recoded_module
from tests.api.patients import PATIENTS, patients
from tests.engines.spark_documents import differences, release_in_words, released
from tests.engines.test_spark_agrees import OTHER_SETTINGS
from tests.releases.folders import names

ZIP, SECRET = 'zip "code"; `x`.y', "Krankheit ü😀"
SETTINGS = OTHER_SETTINGS | {"spark.sql.parquet.outputTimestampType": "INT96"}
SECRETS = ["flu", 'a "quoted", one', "two\nlines", "", None, " blank", "back\\slash"]


def drawn(
    rng: np.random.Generator, values: list[Any], n: int, type_: pa.DataType | None = None
) -> pa.Array:
    return pa.array([values[i] for i in rng.integers(0, len(values), n)], type_)


def survey() -> tuple[pa.Table, dict[str, Any]]:
    """Weighted rows with nulls, odd names and texts, and values of all types.

    A few must be suppressed.
    """
    rng, n = np.random.default_rng(11), 300
    noon = dt.datetime(2020, 2, 29, 12, 30, 0, 250, tzinfo=dt.UTC)
    prices = [Decimal("1.50"), Decimal("-0.01"), None]
    columns = {
        "name": pa.array([f"person {i}" for i in range(n)]),
        ZIP: drawn(rng, ["Ä1", "Ä2", "日3", None], n),
        "place": pa.array([30 if i % 40 else 88 for i in range(n)]),
        "born": drawn(rng, [dt.date(1969, 12, 31), dt.date(1970, 1, 1), None], n),
        "flag": drawn(rng, [True, False, None], n),
        "ratio": drawn(rng, [0.0, -0.0, 1.5, float("nan"), None], n),
        SECRET: drawn(rng, SECRETS, n),
        "price": drawn(rng, prices, n, pa.decimal128(10, 2)),
        "copy": drawn(rng, [noon, noon + dt.timedelta(microseconds=1), None], n),
        "weight": pa.array(rng.uniform(0.25, 40.0, n)),
    }
    hide = {"suppress": True}
    asked = {
        "quasi_identifiers": (ZIP, "place", "born", "ratio"),
        "sensitive": (SECRET, "price"),
        "identifier": "name",
        "weight": "weight",
        "hierarchies": {ZIP: hide, "place": hide, "born": {"dates": ["year"]}, "ratio": hide},
        "policy": dv.Policy(k_anonymity=3, suppression=0.1),
        "plain": ("copy", "flag"),
    }
    return pa.table(columns), asked


def visits() -> tuple[pa.Table, dict[str, Any]]:
    """People who own several rows, all in one class."""
    people = [(f"p{i}", f"{i % 4}{i % 3}", 20 + i % 30) for i in range(60)]
    rows = [
        (*person, ["flu", "HIV", None][(i + turn) % 3])
        for i, person in enumerate(people)
        for turn in range(i % 4)
    ]
    table = pa.table(
        dict(
            zip(
                ("patient", "zip", "age", "disease"),
                map(list, zip(*rows, strict=True)),
                strict=True,
            )
        )
    )
    asked = {"quasi_identifiers": ("zip", "age"), "sensitive": "disease", "person": "patient"}
    return table, asked | {"policy": dv.Policy(k_anonymity=4, l_diversity=2, suppression=0.2)}


def published(folder: Path) -> Counter[tuple[str, ...]]:
    """Return the rows of a release, read by Arrow; the two zeros are one value."""
    table = pq.read_table(folder / "table.parquet").replace_schema_metadata(None)
    columns = [[plain_zero(value) for value in column.to_pylist()] for column in table.columns]
    return Counter(
        [tuple(table.column_names), *(tuple(map(str, row)) for row in zip(*columns, strict=True))]
    )


def plain_zero(value: Any) -> Any:
    return (
        value.astimezone(dt.UTC)
        if isinstance(value, dt.datetime)
        else value + 0.0
        if value == 0.0
        else value
    )


def manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest without the entries that must differ."""
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert found["measured"]["settings"].pop("engine") == found["table"].pop("read_back_by")
    return {
        name: value
        for name, value in found.items()
        if name not in ("engine", "versions", "files", "release_id")
    }


@pytest.mark.parametrize("read_back_by", ["duckdb", "spark"])
@pytest.mark.parametrize("case", [survey, visits])
def test_the_same_rows_and_the_same_numbers(
    case: Callable[[], tuple[pa.Table, dict[str, Any]]],
    read_back_by: str,
    spark: SparkEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once with the defaults; once for a large release, in a session with settings of its own."""
    session = spark.session.newSession()
    if read_back_by == "spark":
        monkeypatch.setattr(spark_files, "LARGEST_READ_HERE", -1)
        monkeypatch.setattr(recoded_module, "_MAX_BROADCAST_CLASSES", 0)
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
    settings = dict(session.conf.getAll)
    table, asked = case()
    here, there = (
        dv.generalize(table, **asked),
        dv.generalize(table, **asked, engine=SparkEngine(session)),
    )
    assert differences(release_in_words(here), release_in_words(there)) == []
    assert 0 < there.plan.suppressed < 60
    here.write(tmp_path / "here", format="parquet")
    there.write(tmp_path / "there")
    assert published(tmp_path / "there") == published(tmp_path / "here")
    assert differences(manifest(tmp_path / "here"), manifest(tmp_path / "there")) == []
    told = json.loads((tmp_path / "there" / "manifest.json").read_text(encoding="utf-8"))
    assert (told["engine"], told["table"]["read_back_by"]) == ("spark", read_back_by)
    assert "pyspark" in told["versions"]
    assert dict(session.conf.getAll) == settings
    assert [path for path in told["files"] if path.startswith("table")] == [
        "table.parquet/part-00000.parquet"
    ]
    if case is survey:
        for folder, release in (("csv", here), ("csv on spark", there)):
            release.write(tmp_path / folder, format="csv")
        ours, theirs = tmp_path / "csv" / "table.csv", tmp_path / "csv on spark" / "table.csv"
        assert cells_in([ours], SECRET) == cells_in(theirs.iterdir(), SECRET)


def cells_in(paths: Iterable[Path], column: str | None = None) -> Counter[tuple[str, ...]]:
    """Return the rows of CSV files as Python reads them.

    Or one column, because engines format numbers differently.
    """
    rows = [
        row for path in paths for row in csv.DictReader(io.StringIO(path.read_bytes().decode()))
    ]
    assert all(len(row) == len(rows[0]) and None not in row for row in rows)
    return Counter(tuple(row.values()) if column is None else (row[column],) for row in rows)


def test_order_and_parts_do_not_reveal_the_position_of_a_row(
    spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows in another order and other partitions, with a comment in the catalog: equal files.

    No row comes to the driver.
    """
    monkeypatch.setattr(spark_files, "ROWS_PER_PART", 500)
    seen = watch(monkeypatch)
    ids = spark.session.range(2000)
    rows = ids.selectExpr(
        "CAST(id AS STRING) AS name", "CAST(id % 10 AS INT) AS age", "CAST(id % 4 AS STRING) AS s"
    )
    commented = rows.withMetadata("s", {"comment": "from the ward of Dr Who"})
    asked: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "s", "identifier": "name"}
    asked |= {"policy": dv.Policy(k_anonymity=300), "hierarchies": {"age": {"intervals": [5]}}}
    found: dict[str, list[list[tuple[Any, ...]]]] = {}
    frames = {
        "spread": commented.repartition(7),
        "sorted": rows.coalesce(1).sort("s", "age"),
        "other": rows,
    }
    for name, frame in frames.items():
        folder = dv.generalize(frame, **asked).write(
            tmp_path / name, seed=4 if name == "other" else 3
        )
        files = sorted((folder / "table.parquet").iterdir())
        assert [path.name for path in files] == [f"part-0000{i}.parquet" for i in range(4)]
        found[name] = [
            list(zip(*pq.read_table(path).to_pydict().values(), strict=True)) for path in files
        ]
    assert found["spread"] == found["sorted"] != found["other"]
    assert b"Dr Who" not in b"".join(
        path.read_bytes() for path in (tmp_path / "spread").rglob("*") if path.is_file()
    )
    # Counted by hand among 20 ids in a row: those with id mod 10 < 5 have id mod 4 = 0 and 2 three
    # times, 1 and 3 twice.
    every = Counter(row for part in found["other"] for row in part)
    assert every == {
        (age, s): 300 if (s in "02") == young else 200
        for age, young in (("[0, 5)", True), ("[5, 10)", False))
        for s in "0123"
    }
    # A part holds each of the 8 rows about 50 or 75 times, and equal rows are not adjacent: 7/8 of
    # neighbors differ.
    for part in found["other"]:
        assert all(25 < n < 110 for n in Counter(part).values())
        assert (
            0.75
            < np.mean([one != other for one, other in zip(part[1:], part[:-1], strict=True)])
            < 0.97
        )
    assert 0 < max(seen) <= 40


def test_rows_shuffled_by_workers_equal_rows_sorted_by_spark(
    spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each type that workers shuffle, with nulls, in several files.

    Equal results if memory is too small for it, or workers cannot.
    """
    monkeypatch.setattr(spark_files, "ROWS_PER_PART", 100)
    rng, n = np.random.default_rng(3), 350
    floats = [0.0, -0.0, 2.5, float("nan"), None]
    days = [dt.date(1969, 12, 31), dt.date(2024, 2, 29), None]
    table = pa.table(
        {
            "place": drawn(rng, [1, 2, 3], n, pa.int8()),
            "own": drawn(rng, ["", "ä", "a b", None], n),
            "share": drawn(rng, [True, False, None], n),
            "part": drawn(rng, days, n, pa.date32()),
            "single": drawn(rng, floats, n, pa.float32()),
            "double": drawn(rng, floats, n, pa.float64()),
            **{
                f"int{bits}": drawn(rng, [-5, 0, 5, None], n, pa.type_for_alias(f"int{bits}"))
                for bits in (16, 32, 64)
            },
        }
    )
    asked: dict[str, Any] = {
        "quasi_identifiers": "place",
        "sensitive": "own",
        "policy": dv.Policy(k_anonymity=2),
    }
    release = dv.generalize(table, **asked, plain=[*table.column_names[2:]], engine=spark)
    tried: list[str] = []
    honest = SparkEngine._shuffle_on_workers  # noqa: SLF001 - to see which way was taken

    def deal(engine: SparkEngine, *how: Any) -> bool:
        tried.append("dealt" if (done := honest(engine, *how)) else "given up")
        return done

    monkeypatch.setattr(SparkEngine, "_shuffle_on_workers", deal)
    release.write(tmp_path / "dealt")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(
            spark_files, "cluster_path", lambda path: f"file:{tmp_path / 'elsewhere' / path.name}"
        )
        refused(
            release,
            tmp_path / "out",
            BadInput,
            "0 of the 4 files that Spark's workers wrote arrived",
        )
    too_small = partial(ShufflePart, max_bytes=100)
    too_small.takes = ShufflePart.takes  # type: ignore[attr-defined]
    monkeypatch.setattr(spark_files, "ShufflePart", too_small)
    release.write(tmp_path / "too large")
    monkeypatch.setattr(
        SparkEngine, "prepare_workers", lambda _: refuse("the workers have no Python")
    )
    release.write(tmp_path / "no Python")
    assert tried == ["dealt", "given up", "given up"]
    expected = Counter(tuple(map(str, map(plain_zero, row.values()))) for row in table.to_pylist())
    schemas = []
    for folder in ("dealt", "too large", "no Python"):
        parts = sorted((tmp_path / folder / "table.parquet").iterdir())
        assert [path.name for path in parts] == [f"part-0000{i}.parquet" for i in range(4)]
        # Of n copies each of 4 files has n / 4, and one file or another has one more of the
        # remainder.
        assert all(50 < pq.read_metadata(path).num_rows < 130 for path in parts)
        assert published(tmp_path / folder) - Counter([tuple(table.column_names)]) == expected
        schemas.append(
            [
                (field.name, field.type, field.nullable)
                for path in parts
                for field in pq.read_schema(path)
            ]
        )
    assert schemas[0] == schemas[1] == schemas[2]
    assert (
        pq.read_metadata(tmp_path / "dealt" / "table.parquet" / "part-00000.parquet").metadata
        is None
    )


def test_a_part_split_between_two_workers_is_rejected(spark: SparkEngine, tmp_path: Path) -> None:
    """Otherwise one of the halves would be lost; Spark sorts the rows then."""
    deal, path = ShufflePart("", ("a",), 1, 1), tmp_path / "table.parquet"
    for partitions in (2, 1):
        rows = (
            "CAST(id AS STRING) AS c0, id AS own, 2L AS share, 0 AS part FROM RANGE(0, 100, 1, 1)"
        )
        dealt = (f"SELECT /*+ REPARTITION({partitions}) */ {rows}", deal)
        assert spark._shuffle_on_workers(dealt, path, 1) is (partitions == 1)  # noqa: SLF001 - nothing of ours asks for this
        assert names(tmp_path) == [path.name] * (partitions == 1)
    assert Counter(pq.read_table(path).column("a").to_pylist()) == {str(i): 2 for i in range(100)}
    assert names(path) == ["part-00000.parquet"]


def refuse(why: str) -> None:
    raise BadInput(why)


def watch(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of rows that each statement brings to the driver."""
    from pyspark.sql.classic.dataframe import DataFrame

    seen: list[int] = []

    def noting(honest: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def brought(frame: Any) -> Any:
            found = honest(frame)
            seen.append(len(found))
            return found

        return brought

    for name in ("toArrow", "toPandas", "collect"):
        monkeypatch.setattr(DataFrame, name, noting(getattr(DataFrame, name)))
    return seen


def swapped(table: pa.Table) -> pa.Table:
    """Give one class the label of another."""
    place = table.column_names.index("zip")
    return table.set_column(place, "zip", pc.replace_substring(table.column("zip"), "4790", "4767"))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "8 rows where 9": lambda path: pq.write_table(pq.read_table(path).slice(1), path),
    "classes where 3|not those that were to be made": lambda path: pq.write_table(
        swapped(pq.read_table(path)), path
    ),
    "has the columns|has columns that Spark does not see: name": lambda path: pq.write_table(
        pq.read_table(path).append_column("name", pa.array(["Ann"] * 9)), path
    ),
    "cannot be read back": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "18 rows where 9": lambda path: (path.parent / "part-00001.parquet").write_bytes(
        path.read_bytes()
    ),
}


def refused(release: GeneralizedRelease, out: Path, error: type[Exception], message: str) -> None:
    before = names(out.parent)
    with pytest.raises(error, match=message) as told:
        release.write(out)
    assert "\n" not in str(told.value)
    assert names(out.parent) == before


def test_a_damaged_part_is_never_published(
    spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, honest = patients(engine=spark), SparkEngine.write
    for message, damage in DAMAGES.items():

        def write(
            engine: SparkEngine, sql: str, path: Path, *, hurt: Any = damage, **how: Any
        ) -> None:
            honest(engine, sql, path, **how)
            hurt(path / "part-00000.parquet")

        monkeypatch.setattr(SparkEngine, "write", write)
        for largest in (-1, 1 << 30):
            monkeypatch.setattr(spark_files, "LARGEST_READ_HERE", largest)
            refused(release, tmp_path / "out", Unverified, message)


def test_storage_that_the_workers_do_not_share(
    spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers with disks of their own do not find the marker file.

    Or they find it, and write to another disk.
    """
    release = patients(engine=spark)
    elsewhere = tmp_path / "the disk of a worker"
    for name in ("cluster_path", "uri"):
        monkeypatch.setattr(spark_files, name, lambda path: f"file:{elsewhere / path.name}")
    refused(release, tmp_path / "out", BadInput, "workers cannot read .*: a file does not exist")
    elsewhere.mkdir()
    (elsewhere / "mark").write_text("shared", encoding="utf-8")
    refused(
        release, tmp_path / "out", BadInput, "0 of the 1 files that Spark's workers wrote arrived"
    )
    monkeypatch.undo()
    refused(release, tmp_path / "a:b*", BadInput, "Spark cannot read a path with both ':'")
    odd = tmp_path / "a [1] {b} 100% *"
    release.write(odd)
    with pytest.raises(BadInput, match="exists already"):
        release.write(odd)
    release.write(odd, force=True, format="csv")
    assert names(odd) == ["manifest.json", "table.csv"]
    with pytest.raises(BadInput, match="does not write arrow"):
        release.write(tmp_path / "arrow", format="arrow")


def test_counts_that_do_not_fit_raise_an_error(spark: SparkEngine) -> None:
    with pytest.raises(
        BadInput, match=r"has 9 combinations of values, and a search holds at most 8 in memory"
    ):
        patients(engine=SparkEngine(spark.session, search_limit=8))


def test_frames_come_back_and_later_rows_follow(
    spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Spark frame is returned as a Spark frame.

    Rows of the next year get the labels of this one, on either engine.
    """
    frame = spark.session.createDataFrame(PATIENTS)
    release = patients(table=frame)
    table = release.tables()["table"]
    assert type(table) is type(frame)
    assert table.columns == ["zip", "age", "disease"]
    assert sorted(map(tuple, table.collect())) == sorted(
        tuple(row.values()) for row in patients().tables(seed=1)["table"].to_pylist()
    )
    monkeypatch.chdir(tmp_path)
    release.write("first", format="csv")
    later = PATIENTS.set_column(
        3, "disease", PATIENTS.column("disease").take(list(reversed(range(9))))
    )
    here = apply("first", later, "here")
    there = apply("first", later, "there", engine=spark)
    assert cells_in(Path("there/table.csv").iterdir()) == cells_in([Path("here/table.csv")])
    assert (there.rows, there.suppressed) == (here.rows, here.suppressed) == (9, 0)
    assert differences(there.together["k_anonymity"].value, 6.0) == []


@pytest.mark.parametrize("kind", ["cluster", "connected"])
def test_executors_of_a_cluster_write_it(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Executors in separate processes, and a client that has no Spark, but a server.

    Workers shuffle the rows, because Spark would write its name into the files.
    """
    there = request.getfixturevalue(kind).ask(
        {"release": str(tmp_path / "there"), "rows_per_part": 60}
    )
    assert differences(released(tmp_path / "here", "duckdb"), there) == []
    assert there["suppressed"] > 0
    assert published(tmp_path / "there") == published(tmp_path / "here")
    parts, rows = (
        sorted((tmp_path / "there" / "table.parquet").iterdir()),
        published(tmp_path / "there").total() - 1,
    )
    assert [path.name for path in parts] == [f"part-{i:05d}.parquet" for i in range(-(-rows // 60))]
    assert rows > 60
    assert all(pq.read_metadata(path).metadata is None for path in parts)
