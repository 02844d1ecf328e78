# SPDX-License-Identifier: Apache-2.0
"""Decimal commas: read on request, detected if they can be nothing else, noted if ambiguous."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput
from divulge.sources import Table, spark_tables
from tests.helpers import run_cli

EUROPEAN = "name;cost;weight;n\nAnn;1,5;70,25;1\nBen;0,25;;2\nCem;-3;81,5;3\n"


def written(folder: Path, text: str, name: str = "t.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def cells(table: Table, column: str) -> list[Any]:
    found = table.engine.query(
        f"SELECT {table.engine.quote(column)} AS c FROM {table.relation} ORDER BY name"
    )
    return list(found.column("c").to_pylist())


def test_a_european_file_is_read_as_numbers_with_a_note(tmp_path: Path, engine: Any) -> None:
    table = dv.read(written(tmp_path, EUROPEAN), engine=engine)
    assert {column.name: column.kind for column in table.columns} == {
        "name": "text",
        "cost": "number",
        "weight": "number",
        "n": "number",
    }
    assert cells(table, "cost") == [1.5, 0.25, -3.0]
    assert cells(table, "weight") == [70.25, None, 81.5]
    assert table.reading.how == {"delimiter": ";", "header": True, "decimal": ","}
    (note,) = table.reading.notes
    assert "decimal sign of 'cost', 'weight'" in note


def test_the_finding_is_in_the_settings_and_on_standard_error(tmp_path: Path) -> None:
    found = run_cli("measure", str(written(tmp_path, EUROPEAN)), "--qi", "cost", "--json")
    read = found.json()["settings"]["read"]
    assert (read["kind"], read["decimal"]) == ("csv", ",")
    assert read["notes"]
    assert found.err.startswith("divulge: a comma was found to be the decimal sign")
    assert "--decimal . reads it as text" in found.err
    quiet = run_cli("measure", str(tmp_path / "t.csv"), "--qi", "cost", "--decimal", ",", "--json")
    assert (quiet.err, quiet.json()["settings"]["read"]["decimal"]) == ("", ",")


def test_a_generalization_keeps_such_a_column(tmp_path: Path) -> None:
    """As text it was fully suppressed: classes of two were reached by suppressing all prices."""
    path = written(
        tmp_path, "price;sick\n" + "".join(f"{i // 2},{5 * (i % 2)};{i % 3}\n" for i in range(40))
    )
    found = run_cli(
        "generalize",
        str(path),
        "--qi",
        "price",
        "--sensitive",
        "sick",
        "--k-anonymity",
        "2",
        "--json",
    )
    assert found.json()["after"]["classes"] > 1


# Text of the file, the kind of each column, and the text of a note, if there is one.
DOUBTS = {
    "thousands or decimals": (
        "name;pay\nAnn;1,234\nBen;2,500\n",
        {"pay": "text"},
        "may separate thousands or decimals",
    ),
    "decided by another column": (
        "name;pay;x\nAnn;1,234;1,5\nBen;2,500;2,5\n",
        {"pay": "number", "x": "number"},
        "was found",
    ),
    "but not against a dot": (
        "name;pay;x;y\nAnn;1,234;1,5;1.5\nBen;2,501;2,5;2.5\n",
        {"pay": "text", "x": "number", "y": "number"},
        "thousands or",
    ),
    "decided in the column": ("name;pay\nAnn;1,234\nBen;2,5\n", {"pay": "number"}, "was found"),
    "dots that may be thousands": (
        "name;pay;x\nAnn;1.234;1,5\nBen;2.501;2,5\n",
        {"pay": "number", "x": "number"},
        "dots of 'pay'",
    ),
    "with a comma between cells": (
        'name,pay\nAnn,"1,5"\nBen,"2,5"\n',
        {"pay": "text"},
        "decimal=',' reads",
    ),
    "codes with a last zero": ("name;pay\nAnn;1,5\nBen;1,50\n", {"pay": "text"}, None),
    "a list of codes": ("name;pay\nAnn;1,5\nBen;1,2,3\n", {"pay": "text"}, None),
    "with dots between thousands": (
        "name;pay\nAnn;1.234,50\nBen;99,90\n",
        {"pay": "number"},
        "was found",
    ),
    "with dots for either": (
        "name;pay\nAnn;1.234\nBen;99,90\n",
        {"pay": "text"},
        "both dots and commas",
    ),
    "beside words for nothing": (
        "name;pay\nAnn;1,5\nBen;NaN\n",
        {"pay": "text"},
        "'pay' would be numbers or dates but for",
    ),
    "dots beside such words": (
        "name;pay\nAnn;1.5\nBen; n/a \n",
        {"pay": "text"},
        "leave such cells empty",
    ),
    "nothing but such words": ("name;pay\nAnn;NA\nBen;NaN\n", {"pay": "text"}, None),
    "such words and others": ("name;pay\nAnn;1,5\nBen;NaN\nCem;some\n", {"pay": "text"}, None),
    "many thousands": ("name;pay\nAnn;1,234,567\nBen;2,500\n", {"pay": "text"}, None),
}


@pytest.mark.parametrize("case", DOUBTS)
def test_ambiguous_commas_are_noted_and_not_guessed(case: str, tmp_path: Path) -> None:
    text, kinds, told = DOUBTS[case]
    table = dv.read(written(tmp_path, text))
    assert {name: table.column(name).kind for name in kinds} == kinds
    assert any(told in note for note in table.reading.notes) if told else table.reading.notes == ()


def test_an_explicit_decimal_sign_is_used(tmp_path: Path) -> None:
    thousands = written(tmp_path, "name;pay;x\nAnn;1,234;1.5\nBen;2,500;2.5\n")
    by_comma = dv.read(thousands, decimal=",")
    assert [by_comma.column(name).kind for name in ("pay", "x")] == ["number", "text"]
    assert cells(by_comma, "pay") == [1.234, 2.5]
    by_dot = dv.read(thousands, decimal=".")
    assert [by_dot.column(name).kind for name in ("pay", "x")] == ["text", "number"]
    assert by_comma.reading.notes == by_dot.reading.notes == ()
    with pytest.raises(BadInput, match="decimal=';' is no decimal sign"):
        dv.read(thousands, decimal=";")


def test_a_comma_that_is_no_decimal_sign_has_no_note(tmp_path: Path) -> None:
    assert (
        dv.read(written(tmp_path, "name;pay\nAnn;1,5\nBen;NaN\n"), decimal=".").reading.notes == ()
    )


def test_words_far_below_the_first_rows_are_looked_at(tmp_path: Path) -> None:
    numbers = "name;pay\n" + "x;NaN\n" * 10_001 + "y;1,5\n"
    assert "but for words such as NaN" in dv.read(written(tmp_path, numbers)).reading.notes[0]
    assert dv.read(written(tmp_path, numbers + "z;some\n")).reading.notes == ()


def test_thousands_are_read_with_their_dots(tmp_path: Path) -> None:
    table = dv.read(written(tmp_path, "name;pay\nAnn;1.234,50\nBen;-12.345.678,25\nCem;7,00\n"))
    assert cells(table, "pay") == [1234.5, -12345678.25, 7.0]


def test_semicolons_are_found_beside_decimal_commas_without_a_header(tmp_path: Path) -> None:
    table = dv.read(written(tmp_path, "1,5;2,5\n3,5;4,5\n"))
    assert table.reading.how["delimiter"] == ";"
    assert [column.kind for column in table.columns] == ["number", "number"]
    commas = dv.read(written(tmp_path, "a,b\nx;y,1\nz;w,2\n"))
    assert commas.reading.how["delimiter"] == ","


def test_a_late_row_decides(tmp_path: Path) -> None:
    rows = "".join(f"p{i:06};{i},5\n" for i in range(12_000))
    assert dv.read(written(tmp_path, f"name;cost\n{rows}")).column("cost").kind == "number"
    table = dv.read(
        written(tmp_path, f"name;cost\n{rows}q;unknown\n"),
        engine=DuckDBEngine(memory_limit="300MB"),
    )
    assert (table.column("cost").kind, table.reading.notes) == ("text", ())


def test_spark_reads_large_files_by_the_same_rules(
    tmp_path: Path, spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_tables, "SMALL_TEXT", 0)
    table = dv.read(written(tmp_path, EUROPEAN), engine=spark)
    assert cells(table, "cost") == [1.5, 0.25, -3.0]
    assert table.reading.how["decimal"] == ","
