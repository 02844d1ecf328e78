# SPDX-License-Identifier: Apache-2.0
"""Spreadsheets, and files of SPSS and Stata with their labels."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import divulge as dv
from divulge.errors import BadInput, MissingDependency
from tests.docs.json_schema import assert_fits
from tests.helpers import run_cli

HEADER = ["zip", "age", "cost", "born", "seen", "ok", "mixed"]
ROWS: list[list[Any]] = [
    ["00100", 30, 1.5, dt.date(1990, 1, 31), dt.datetime(2020, 1, 1, 10, 30), True, 7],  # noqa: DTZ001 - sheets have no zones
    ["00200", 41, 2, None, None, False, "x"],
    [None, None, None, None, None, None, None],
    ["00200", 41, 2.25, dt.date(1980, 2, 29), None, None, 7.5],
]
FOUND = [
    ("00100", 30, 1.5, dt.date(1990, 1, 31), dt.datetime(2020, 1, 1, 10, 30), True, "7"),  # noqa: DTZ001 - as above
    ("00200", 41, 2.0, None, None, False, "x"),
    ("00200", 41, 2.25, dt.date(1980, 2, 29), None, None, "7.5"),
]


def cells(table: Any) -> list[tuple[Any, ...]]:
    found = table.engine.query(f"SELECT * FROM {table.relation}").to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


# --- spreadsheets ---------------------------------------------------------------------------------
@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Make the sheets people and codes, one that is hidden, and one that is empty."""
    pytest.importorskip("python_calamine", reason="pip install '.[excel]'")
    writer = pytest.importorskip("xlsxwriter", reason="pip install XlsxWriter")
    path = tmp_path / "clinic.xlsx"
    made = writer.Workbook(str(path))
    day, moment = (
        made.add_format({"num_format": form}) for form in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm")
    )
    people = made.add_worksheet("people")
    for i, row in enumerate([HEADER, *ROWS]):
        for j, cell in enumerate(row):
            if isinstance(cell, dt.date):
                people.write_datetime(
                    i + 2, j, cell, moment if isinstance(cell, dt.datetime) else day
                )
            elif cell is not None:
                people.write(i + 2, j, cell)
    hidden = made.add_worksheet("old")
    hidden.write(0, 0, "a")
    hidden.hide()
    made.add_worksheet("empty")
    made.close()
    return path


def test_the_only_sheet_that_holds_something(book: Path, engine: Any) -> None:
    table = dv.read(book, engine=engine)
    assert cells(table) == FOUND
    assert {column.name: column.kind for column in table.columns} == {
        "zip": "text",
        "age": "number",
        "cost": "number",
        "born": "date",
        "seen": "date",
        "ok": "boolean",
        "mixed": "text",
    }
    assert table.reading_settings == {
        "source": f"sheet 'people' of {book}",
        "read": {"kind": "excel", "sheet": "people", "header": True, "notes": []},
    }


def test_a_named_sheet(book: Path) -> None:
    assert dv.read(book, sheet="old", header=False).names == ("column0",)
    assert dv.read(book, sheet="old", header=True).names == ("a",)
    with pytest.raises(BadInput, match=r"has no sheet 'peple'. did you mean 'people'\?"):
        dv.read(book, sheet="peple")
    with pytest.raises(BadInput, match=r"sheet 'empty' of .* is empty"):
        dv.read(book, sheet="empty")
    found = run_cli("measure", str(book), "--sheet", "people", "--qi", "zip,age", "--json").json()
    assert (found["rows"], found["settings"]["read"]["sheet"]) == (3, "people")
    assert_fits(["measure"], found)


def test_sheets_are_not_guessed_between(tmp_path: Path) -> None:
    writer = pytest.importorskip("xlsxwriter", reason="pip install XlsxWriter")
    with writer.Workbook(str(tmp_path / "t.xlsx")) as made:
        for name in ("a", "b"):
            made.add_worksheet(name).write(0, 0, name)
    with pytest.raises(
        BadInput, match=r"has 2 sheets and none was chosen. Choose one with sheet=: 'a', 'b'"
    ):
        dv.read(tmp_path / "t.xlsx")
    found = run_cli("profile", str(tmp_path / "t.xlsx"))
    assert (found.code, "Choose one with --sheet NAME: 'a', 'b'" in found.err) == (2, True)


def test_a_small_file_that_expands_a_thousandfold(tmp_path: Path) -> None:
    writer = pytest.importorskip("xlsxwriter", reason="pip install XlsxWriter")
    path = tmp_path / "far.xlsx"
    with writer.Workbook(path) as workbook:
        sheet = workbook.add_worksheet()
        sheet.write(0, 0, "zip")
        # the last cell that a sheet has: 17 billion cells before it are empty
        sheet.write(1_048_575, 16_383, 1)
    assert path.stat().st_size < 10_000
    result = run_cli("check", str(path), "--qi", "zip", "--k-anonymity", "2")
    assert result.code == 2
    assert (
        "far.xlsx cannot be read within 2.0 GiB of memory. Is it damaged, or is a cell far"
        in result.err
    )


def test_a_last_row_far_below_is_read(tmp_path: Path) -> None:
    writer = pytest.importorskip("xlsxwriter", reason="pip install XlsxWriter")
    path = tmp_path / "low.xlsx"
    with writer.Workbook(path) as workbook:
        sheet = workbook.add_worksheet()
        sheet.write_column(0, 0, ["zip", "a"])
        sheet.write(1_048_575, 0, "b")
    assert cells(dv.read(path)) == [("a",), ("b",)]


def test_sheets_are_for_spreadsheets_only(
    tmp_path: Path, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"sheet='x' picks a sheet of a spreadsheet, and .* is csv"):
        dv.read(tmp_path / "t.csv", sheet="x")
    with pytest.raises(BadInput, match=r"delimiter= is for delimited text, and .* is excel"):
        dv.read(book, delimiter=";")
    (tmp_path / "cut.xlsx").write_bytes(book.read_bytes()[:-300])
    with pytest.raises(
        BadInput,
        match=r"is named like excel data and is not|zip archive|not a readable spreadsheet",
    ):
        dv.read(tmp_path / "cut.xlsx")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(
        MissingDependency,
        match=r"needs python-calamine. Install it with: pip install 'python-calamine>=",
    ):
        dv.read(book)


# --- SPSS and Stata -------------------------------------------------------------------------------
LABELS = {
    "sex": {1: "male", 2: "female", 9: "refused"},
    "age": {90: "90 and over"},
    "region": {1: "north", 2: "south", 3: "north"},
}


@pytest.fixture(params=["sav", "zsav", "dta"])
def survey(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Six people with labels.

    A code without a label, a label of two codes, one label among many ages, and (SPSS) a missing
    value.
    """
    pyreadstat = pytest.importorskip("pyreadstat", reason="pip install '.[spss]'")
    frame = pd.DataFrame(
        {
            "sex": [1.0, 2.0, 2.0, 1.0, 3.0, 9.0],
            "age": [30.0, 41.0, 52.0, 63.0, 90.0, None],
            "region": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0],
            "pay": [1.5, 2.25, None, 4.0, 5.0, 6.0],
            "job": ["clerk", "", "nurse", "nurse", "clerk", "clerk"],
            "born": [dt.date(1990, 1, 31)] * 6,
        }
    )
    path = tmp_path / f"survey.{request.param}"
    if request.param == "dta":
        pyreadstat.write_dta(frame, str(path), variable_value_labels=LABELS)
    else:
        pyreadstat.write_sav(
            frame,
            str(path),
            variable_value_labels=LABELS,
            missing_ranges={"sex": [9]},
            compress=request.param == "zsav",
        )
    return path


def column(table: Any, name: str) -> list[Any]:
    found = (
        table.engine.query(f"SELECT {table.engine.quote(name)} AS c FROM {table.relation}")
        .column("c")
        .to_pylist()
    )
    return sorted(found, key=str)


def test_labels_replace_codes(survey: Path, engine: Any) -> None:
    table = dv.read(survey, engine=engine)
    is_stata = survey.suffix == ".dta"
    # Stata has no user-missing values of this kind
    refused: list[Any] = ["refused"] if is_stata else [None]
    assert column(table, "sex") == sorted(
        ["male", "male", "female", "female", "3", *refused], key=str
    )
    assert column(table, "region") == sorted(
        ["north (1)", "north (1)", "north (3)", "north (3)", "south", "south"]
    )
    assert column(table, "age") == [30, 41, 52, 63, 90, None]
    assert column(table, "pay") == [1.5, 2.25, 4.0, 5.0, 6.0, None]
    assert column(table, "job") == [None, "clerk", "clerk", "clerk", "nurse", "nurse"]
    assert {item.name: item.kind for item in table.columns} == {
        "sex": "text",
        "age": "number",
        "region": "text",
        "pay": "number",
        "job": "text",
        "born": "date",
    }
    notes = " | ".join(table.reading.notes)
    assert "most values of 'age' have no label" in notes
    assert "some values of 'sex' have no label and stay codes" in notes
    assert ("declares to be missing is null in 'sex'" in notes) != is_stata
    assert table.reading.how == {"labels": ["sex", "region"], "codes": False}


def test_codes_stay_on_request(survey: Path) -> None:
    table = dv.read(survey, codes=True)
    assert column(table, "region") == [1, 1, 2, 2, 3, 3]
    assert table.reading.how["labels"] == []
    found = run_cli("measure", str(survey), "--codes", "--qi", "region", "--json").json()
    assert found["settings"]["read"]["codes"] is True


def test_every_command_takes_them(survey: Path) -> None:
    found = run_cli("measure", str(survey), "--qi", "region", "--sensitive", "job", "--json")
    assert (found.json()["rows"], found.json()["classes"]) == (6, 3)
    assert_fits(["measure"], found.json())
    assert "divulge: most values of 'age' have no label" in found.err


def test_unreadable_files_raise_an_error(
    survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(BadInput, match="codes= is for files of SPSS and Stata"):
        dv.read(tmp_path / "t.csv", codes=True)
    cut = tmp_path / f"cut{survey.suffix}"
    cut.write_bytes(survey.read_bytes()[:100])
    with pytest.raises(BadInput, match=r"is not a readable file of (spss|stata)"):
        dv.read(cut)
    (tmp_path / "other.sav").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(BadInput, match="is named like spss data and is not"):
        dv.read(tmp_path / "other.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(
        MissingDependency, match=r"needs pyreadstat. Install it with: pip install 'pyreadstat>="
    ):
        dv.read(survey)


@pytest.mark.parametrize(
    ("given", "passed"),
    [({}, None), ({"encoding": "utf-8"}, None), ({"encoding": "cp1252"}, "cp1252")],
)
def test_an_encoding_that_is_named_is_passed_to_the_reader_of_statistics_files(
    given: dict[str, Any], passed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file states its own encoding; only another one than UTF-8 overrides it."""
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_sav(pd.DataFrame({"town": ["Ulm", "Linz"]}), str(tmp_path / "t.sav"))
    encodings = []
    read_sav = pyreadstat.read_sav

    def recorded(*arguments: Any, encoding: str | None, **options: Any) -> Any:
        encodings.append(encoding)
        return read_sav(*arguments, encoding=encoding, **options)

    monkeypatch.setattr(pyreadstat, "read_sav", recorded)
    assert dv.read(tmp_path / "t.sav", **given).names == ("town",)
    assert set(encodings) == {passed}
