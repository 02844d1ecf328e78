# SPDX-License-Identifier: Apache-2.0
"""Different numbers stay different values, however many digits they have.

Spellings of one number are one value.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.engines import SparkEngine
from divulge.sources import Table, spark_tables
from tests.helpers import run_cli

LONG = "1234567890123456"
"""16 digits: with two decimals, more than a double distinguishes."""

# Numbers as they are written, the type of the column, and the text of the notes.
NUMBERS: dict[str, tuple[list[str], str, str]] = {
    "two decimals": ([f"{LONG}.71", f"{LONG}.72"], "DECIMAL(18,2)", "read as exact decimals"),
    "negative": ([f"-{LONG}.71", f"-{LONG}.72"], "DECIMAL(18,2)", "read as exact decimals"),
    "17 digits": (
        ["0.10000000000000001", "0.10000000000000002"],
        "DECIMAL(18,17)",
        "read as exact decimals",
    ),
    "after 3,000 short ones": (
        [*["1.5"] * 3000, f"{LONG}.71", f"{LONG}.72"],
        "DECIMAL(18,2)",
        "exact decimals",
    ),
    "too long for a decimal": (
        [f"0.{'1' * 39}{last}" for last in (1, 2)],
        "VARCHAR",
        "read as text",
    ),
    "exponents": (["1e-05", "1.00000000000000001e-05"], "VARCHAR", "read as text"),
    "above the largest double": (["1e+400", "1e+401"], "VARCHAR", "read as text"),
    "below the smallest double": (["1e-400", "1e-401", "0.0"], "VARCHAR", "read as text"),
    "one above the largest double": (["1e+400", "1.5"], "VARCHAR", "read as text"),
    "one below the smallest double": (["1e-400", "1.5"], "VARCHAR", "read as text"),
    # NumPy writes 0.1 this way, and no other number here has its double.
    "18 decimals of a double": (
        ["1.000000000000000056e-01", "2.500000000000000000e-01"],
        "DOUBLE",
        "",
    ),
    "short": (["1.5", "2.25"], "DOUBLE", ""),
}


def distinct(table: Table, name: str = "q") -> int:
    sql = f"SELECT count(DISTINCT {table.engine.quote(name)}) AS n FROM {table.relation}"
    return int(table.engine.query(sql).column("n")[0].as_py())


def write_csv(folder: Path, cells: list[str]) -> Path:
    path = folder / "numbers.csv"
    path.write_text("q;s\n" + "".join(f"{cell};a\n" for cell in cells), encoding="utf-8")
    return path


def write_json(folder: Path, cells: list[str], *, lines: bool = True) -> Path:
    path = folder / "numbers.jsonl"
    records = [f'{{"q": {cell}, "inner": {{"x": [{cell}]}}, "s": "a"}}' for cell in cells]
    path.write_text("\n".join(records) if lines else f"[{', '.join(records)}]", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["csv", "json lines", "json array"])
@pytest.mark.parametrize(("cells", "type_", "note"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_stay_apart(
    kind: str, cells: list[str], type_: str, note: str, tmp_path: Path
) -> None:
    path = (
        write_csv(tmp_path, cells)
        if kind == "csv"
        else write_json(tmp_path, cells, lines=kind == "json lines")
    )
    table = dv.read(path)
    assert table.column("q").type == type_
    assert distinct(table) == len(set(map(Decimal, cells)))
    assert note in " ".join(table.reading.notes)
    assert bool(note) == any("'q'" in text for text in table.reading.notes)


def test_numbers_with_decimal_commas_stay_apart(tmp_path: Path) -> None:
    table = dv.read(write_csv(tmp_path, [f"{LONG},71", f"{LONG},72"]))
    assert table.column("q").type == "DECIMAL(18,2)"
    cells = table.engine.query(f"SELECT q FROM {table.relation} ORDER BY q").column("q").to_pylist()
    assert cells == [Decimal(f"{LONG}.71"), Decimal(f"{LONG}.72")]


def test_integers_of_many_digits_in_json(tmp_path: Path) -> None:
    table = dv.read(write_json(tmp_path, ["1" * 21, "1" * 20 + "2"]))
    assert table.column("q").type == "DECIMAL(21,0)"
    assert distinct(table) == 2
    assert distinct(dv.read(write_json(tmp_path, ["1" * 45, "1" * 44 + "2"]))) == 2


def test_numbers_inside_of_lists_and_objects_stay_apart(tmp_path: Path) -> None:
    table = dv.read(write_json(tmp_path, [f"{LONG}.71", f"{LONG}.72"]))
    assert table.column("inner").kind == "nested"
    assert distinct(table, "inner") == 2


@pytest.mark.parametrize("text", ["a", "2020-01-01", "1.50", 'q"', ""])
def test_texts_next_to_objects_with_long_numbers(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    objects = [f'{{"x": {LONG}.{last}}}' for last in (71, 72)]
    values = [json.dumps(text), *objects, "true", "null"]
    path.write_text("".join(f'{{"q": {value}}}\n' for value in values), encoding="utf-8")
    table = dv.read(path)
    assert table.column("q").kind == "nested"
    assert distinct(table) == 4
    nulls = table.engine.query(f"SELECT q FROM {table.relation} WHERE q IS NULL")
    assert nulls.num_rows == 1


def test_a_number_in_a_text_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    records = [{"q": 1.5, "note": f'he said "{LONG}.71"'}, {"q": 2.5, "note": f"{LONG}.72"}]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    table = dv.read(path)
    assert table.column("q").type == "DOUBLE"
    assert table.reading.notes == ()


def test_spellings_of_one_number_are_one_value_with_a_note(tmp_path: Path) -> None:
    for cells in (["1", "1.0", " 1"], ["7", " 7"], [".5", "0.5"], ["1.5", " 1.5"]):
        table = dv.read(write_csv(tmp_path, cells))
        assert (table.column("q").kind, distinct(table)) == ("number", 1)
        assert [note for note in table.reading.notes if "written in several ways" in note]
    for cells in (["1", "2"], ["1.5", "2"], [" 1", " 2"]):
        assert dv.read(write_csv(tmp_path, cells)).reading.notes == ()


def test_a_late_spelling_is_noted(tmp_path: Path) -> None:
    table = dv.read(write_csv(tmp_path, [*["1"] * 3000, " 1"]))
    assert distinct(table) == 1
    assert "written in several ways" in table.reading.notes[0]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_check_does_not_pass_unique_numbers(kind: str, tmp_path: Path) -> None:
    cells = [f"{LONG}.71", f"{LONG}.72"] * 2 + [f"{LONG}.73"]
    path = write_csv(tmp_path, cells) if kind == "csv" else write_json(tmp_path, cells)
    dropped = ["--leave-out", "inner"] if kind == "json" else []
    assert (
        run_cli(
            "check", str(path), "--qi", "q", "--sensitive", "s", *dropped, "--k-anonymity", "2"
        ).code
        == 1
    )


digits = st.integers(min_value=0, max_value=10**17).map(str)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(["", "-"]), digits, digits), min_size=2, max_size=6))
def test_as_many_values_as_numbers(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[tuple[str, str, str]]
) -> None:
    cells = [f"{sign}{whole}.{fraction}" for sign, whole, fraction in numbers]
    folder = tmp_path_factory.mktemp("numbers")
    # One that a double cannot distinguish from its neighbors, so that every draw needs the exact
    # check.
    every = [*cells, f"{LONG}.71", f"{LONG}.72"]
    expected = len(set(map(Decimal, every)))
    assert distinct(dv.read(write_csv(folder, every))) >= expected
    assert distinct(dv.read(write_json(folder, every))) >= expected


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_numbers_stay_apart_on_spark(
    kind: str, spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_tables, "SMALL_TEXT", 0)
    cells: list[Any] = [f"{LONG}.71", f"{LONG}.72"]
    path = write_csv(tmp_path, cells) if kind == "csv" else write_json(tmp_path, cells)
    table = dv.read(path, engine=spark)
    assert table.column("q").type == "DECIMAL(18,2)"
    assert distinct(table) == 2
    assert "read as exact decimals" in table.reading.notes[0]
