# SPDX-License-Identifier: Apache-2.0
"""One fingerprint over every published column, including columns that are not counted."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, OwnEngine
from divulge.releases import Fingerprint, Format, GeneralizedRelease, Unverified, read_rows
from divulge.releases.verification import types_to_read
from tests.releases.folders import names

ROWS = 40
PEOPLE = pa.table(
    {
        "zip": [f"{i % 4}{i % 2}" for i in range(ROWS)],
        "disease": ["flu", "cold", "HIV", "flu"] * 10,
        "ward": [["north", "south", "east"][i * i % 3] for i in range(ROWS)],
        "stay": [float(i % 7) for i in range(ROWS)],
    }
)
ASKED: dict[str, Any] = {
    "quasi_identifiers": "zip",
    "sensitive": "disease",
    "plain": ["ward", "stay"],
    "policy": dv.Policy(k_anonymity=5),
}


def put(column: str, values: list[Any]) -> Callable[[pa.Table], pa.Table]:
    """The table with other values in a column."""
    return lambda table: table.set_column(
        table.column_names.index(column), column, pa.array(values)
    )


def turned(column: str) -> Callable[[pa.Table], pa.Table]:
    """Shift the values of a column by one row: every column by itself looks as before."""
    return lambda table: put(
        column, [*table.column(column).to_pylist()[1:], table.column(column)[0].as_py()]
    )(table)


def swapped(table: pa.Table) -> pa.Table:
    """Exchange the wards of two rows of one class and one disease, which no count distinguishes."""
    rows = table.to_pylist()
    one, other = next(
        (one, other)
        for one in rows
        for other in rows
        if (one["zip"], one["disease"]) == (other["zip"], other["disease"])
        and one["ward"] != other["ward"]
        and one["stay"] != other["stay"]
    )
    one["ward"], other["ward"] = other["ward"], one["ward"]
    return pa.Table.from_pylist(rows, schema=table.schema)


def doubled(table: pa.Table) -> pa.Table:
    """Replace a row by a copy of another one of its class and disease: xor would cancel both."""
    rows = sorted(table.to_pylist(), key=lambda row: (row["zip"], row["disease"], row["ward"]))
    one, other = next(
        (place, place + 1)
        for place in range(len(rows) - 1)
        if (rows[place]["zip"], rows[place]["disease"])
        == (rows[place + 1]["zip"], rows[place + 1]["disease"])
        and rows[place] != rows[place + 1]
    )
    rows[one] = dict(rows[other])
    return pa.Table.from_pylist(rows, schema=table.schema)


CHANGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "another value": put("ward", ["secret"] * ROWS),
    "nulls": put("ward", [None] * (ROWS - 1) + ["north"]),
    "moved by a row": turned("ward"),
    "two swapped": swapped,
    "one row twice": doubled,
    "numbers moved": turned("stay"),
}


def decide(source: Path, engine: OwnEngine) -> GeneralizedRelease:
    release: GeneralizedRelease = dv.generalize(source, **ASKED, engine=engine)
    return release


def refused(release: Any, out: Path, **how: Any) -> None:
    before = names(out.parent)
    with pytest.raises(Unverified, match=r"does not hold what was to be written"):
        release.write(out, **how)
    assert names(out.parent) == before


def save(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path)


@pytest.mark.parametrize("change", ["another value", "two swapped"])
def test_a_plain_column_replaced_after_planning_is_detected(
    engine: OwnEngine, change: str, tmp_path: Path
) -> None:
    source = tmp_path / "people.parquet"
    save(PEOPLE, source)
    release = decide(source, engine)
    assert release.plain == ("ward", "stay")
    source.unlink()
    save(CHANGES[change](PEOPLE), source)
    refused(release, tmp_path / "out")
    refused(release, tmp_path / "out", format="csv")
    with pytest.raises(Unverified, match="does not hold what was to be written"):
        release.tables()
    source.unlink()
    save(PEOPLE, source)
    release.write(tmp_path / "out")


@pytest.fixture(scope="module")
def decisions() -> dict[str, GeneralizedRelease]:
    """Planned releases, by engine."""
    return {}


@pytest.fixture
def decided(
    engine: OwnEngine,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    decisions: dict[str, GeneralizedRelease],
) -> GeneralizedRelease:
    """One release per engine for all faults in writing: planning on Spark takes longest."""
    name = request.node.callspec.params["engine"]
    if name not in decisions:
        save(PEOPLE, tmp_path / "people.parquet")
        decisions[name] = decide(tmp_path / "people.parquet", engine)
    return decisions[name]


@pytest.mark.parametrize("change", CHANGES)
def test_a_writer_that_changes_a_plain_column_is_detected(
    decided: GeneralizedRelease,
    engine: OwnEngine,
    change: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faulty(monkeypatch, engine, CHANGES[change])
    refused(decided, tmp_path / "out", format="csv")
    refused(decided, tmp_path / "out", format="parquet")


def faulty(
    monkeypatch: pytest.MonkeyPatch, engine: OwnEngine, change: Callable[[pa.Table], pa.Table]
) -> None:
    """Make an engine write other rows than it was passed."""
    honest = type(engine).write

    def write(engine: Any, sql: str, path: Path, **how: Any) -> None:
        honest(
            engine,
            f"SELECT * FROM {engine.lend(change(engine.query(sql)))}",
            path,
            **how | {"files": 1},
        )

    monkeypatch.setattr(type(engine), "write", write)


def moved(column: str) -> Callable[[pa.Table], pa.Table]:
    """Exchange the values of two rows of different groups: the column by itself looks as before."""

    def change(table: pa.Table) -> pa.Table:
        cells, groups = table.column(column).to_pylist(), table.column("GID").to_pylist()
        other = next(
            i for i, cell in enumerate(cells) if cell != cells[0] and groups[i] != groups[0]
        )
        cells[0], cells[other] = cells[other], cells[0]
        return put(column, cells)(table)

    return change


@pytest.mark.parametrize("column", ["ward", "stay"])
def test_changed_anatomized_tables_are_detected(
    column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = dv.anatomize(
        PEOPLE, sensitive="disease", quasi_identifiers=["ward", "stay"], beta="1/2", tables=2
    )
    faulty(
        monkeypatch,
        DuckDBEngine(),
        lambda table: moved(column)(table) if column in table.column_names else table,
    )
    with pytest.raises(Unverified):
        release.write(tmp_path / "out")
    assert names(tmp_path) == []


@pytest.mark.parametrize("part", ["its own", "what is out already"])
@pytest.mark.parametrize("engine", ["memory", "limit"], indirect=True)
def test_changed_later_rows_are_detected(
    engine: OwnEngine, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The private file for judging the next rows is checked too.

    It has only the counted columns.
    """
    release = dv.generalize(PEOPLE, **ASKED, engine=engine)
    release.write(tmp_path / "first")
    changed = CHANGES["two swapped"] if part == "its own" else turned("disease")
    own = part == "its own"
    faulty(
        monkeypatch,
        engine,
        lambda table: changed(table) if ("ward" in table.column_names) == own else table,
    )
    with pytest.raises(Unverified, match="does not hold what was to be written"):
        dv.apply(tmp_path / "first", PEOPLE, tmp_path / "second", engine=engine)
    assert "second" not in names(tmp_path)


ODD = {
    "zero": pa.array([0.0, -0.0, float("nan"), None, float("inf"), 1 / 3, 1e300, 5e-324]),
    "small": pa.array([0.1, -0.0, float("nan"), None, 1e30, 0.0, 2.5, 1.0], pa.float32()),
    "text": pa.array(
        ["", None, 'a "q", b', "two\nlines", " blank ", "back\\slash", "\ud7ff😀", "NULL"]
    ),
    "bytes": pa.array([b"", b"\x00\xff", None, b"\\x41", b"plain", b"\\", b'"', b"\n"]),
    "money": pa.array(
        [Decimal("1.10"), None, *[Decimal(f"-{i}.05") for i in range(6)]], pa.decimal128(20, 2)
    ),
    "day": pa.array([dt.date(1, 1, 1), None, *[dt.date(2024, 2, 22 + i) for i in range(6)]]),
    "moment": pa.array(
        [None, *[dt.datetime(2024, 2, 29, 1, 2, 3, i) for i in range(7)]],  # noqa: DTZ001
        pa.timestamp("us"),
    ),
    "zoned": pa.array(
        [None, *[i * 86_400_000_001 for i in range(7)]], pa.timestamp("us", tz="Europe/Berlin")
    ),
    "flag": pa.array([True, False, None, True, False, None, True, False]),
    "list": pa.array([[1, None], [], None, [2], [3, 4], [5], [6], [7]], pa.list_(pa.int32())),
    "record": pa.array([{"a": i, "b": None if i % 2 else "x, y"} for i in range(8)]),
    "k": pa.array([[("z", i), ("a", 1)] for i in range(8)], pa.map_(pa.string(), pa.int64())),
}
HERE_ONLY = {
    "hour": pa.array([None, *range(7)], pa.time64("us")),
    "seconds": pa.array([None, *range(7)], pa.timestamp("s")),
    "nanos": pa.array([None, *range(7)], pa.timestamp("ns")),
    "code": pa.array(list("abcabcab")).dictionary_encode(),
    "span": pa.array(
        [None, *[(1, 2, 3_001_000 + i * 1_000) for i in range(7)]], pa.month_day_nano_interval()
    ),
    "huge": pa.array([2**64 - 1, None, *range(6)], pa.uint64()),
}


def test_values_of_every_type_are_published_unchanged(engine: OwnEngine, tmp_path: Path) -> None:
    """Faithfully written values raise no error: each row of odd values is in two classes."""
    columns = ODD | (HERE_ONLY if "arrow" in engine.formats else {})
    twice = pa.table(
        {"zip": pa.array([str(i // 8) for i in range(16)])}
        | {name: pa.chunked_array([column, column]) for name, column in columns.items()}
    )
    release = dv.generalize(
        twice,
        quasi_identifiers="zip",
        policy=dv.Policy(k_anonymity=8),
        plain=list(columns),
        engine=engine,
    )
    for kind in engine.formats:
        folder = release.write(tmp_path / kind, format=kind)  # type: ignore[arg-type]
        assert (folder / "manifest.json").is_file()
    found = release.tables()["table"]
    assert found.num_rows == 16
    assert Counter(found.column("text").to_pylist()) == Counter(twice.column("text").to_pylist())
    assert Counter(found.column("bytes").to_pylist()) == Counter(twice.column("bytes").to_pylist())


def test_a_fingerprint_depends_on_rows_and_not_on_their_order(engine: OwnEngine) -> None:
    """Rows in any order have one fingerprint.

    A row more, a row less, or a value in another column or row changes it.
    """
    rows = [("a", None, 1), (None, "a", 1), ("a", "b", 2), ("a", "b", 2), ("b", "a", 2)]
    given = Fingerprint(5, taken(engine, rows).total)
    mixed = list(rows)
    random.Random(7).shuffle(mixed)  # noqa: S311
    assert taken(engine, mixed) == given
    others = [
        rows[1:],
        [*rows, rows[0]],
        [*rows[:2], *rows[:2], rows[4]],  # under xor: the same as without the pair
        [("a", None, 1), ("a", None, 1), *rows[2:]],
        [("a", None, 2), (None, "a", 1), ("a", "b", 1), *rows[3:]],
        [(None, "a", 1), (None, "a", 1), *rows[2:]],
    ]
    found = [taken(engine, other) for other in others]
    assert given not in found
    assert len(set(found)) == len(others)


def taken(engine: OwnEngine, rows: list[tuple[Any, ...]]) -> Fingerprint:
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        {
            "p": pa.array(columns[0], pa.string()),
            "q": pa.array(columns[1], pa.string()),
            "n": columns[2],
        }
    )
    return Fingerprint.of(engine, engine.lend(table))


def test_no_swap_of_two_values_passes() -> None:
    """DuckDB's own hash of several columns would let one swap in a hundred million pass.

    Here all of many swaps are detected.
    """
    engine = DuckDBEngine()
    rng = random.Random(3)  # noqa: S311
    rows = [(str(rng.random()), str(rng.random()), i) for i in range(60)]
    given = taken(engine, rows)
    for place in range(59):
        other = [list(row) for row in rows]
        other[place][1], other[place + 1][1] = other[place + 1][1], other[place][1]
        assert taken(engine, [tuple(row) for row in other]) != given


def test_files_have_the_fingerprint_of_the_written_rows(tmp_path: Path) -> None:
    engine, fresh = DuckDBEngine(), DuckDBEngine()
    relation = engine.lend(pa.table(ODD | HERE_ONLY))
    cells = (
        f"{engine.durable(name, type_)} AS {name}" for name, type_ in engine.describe(relation)
    )
    query = f"SELECT {', '.join(cells)} FROM {relation}"
    expected = Fingerprint.of(engine, f"({query})")
    for kind in engine.formats:
        engine.write(query, tmp_path / f"table.{kind}", kind=kind)
        form = Format(kind)  # type: ignore[arg-type]
        types = types_to_read(engine.describe(f"({query})"))
        found = read_rows(fresh, tmp_path / f"table.{kind}", form=form, types=types)
        assert Fingerprint.of(fresh, found.relation) == expected, kind
