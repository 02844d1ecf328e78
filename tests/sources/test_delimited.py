# SPDX-License-Identifier: Apache-2.0
"""Delimited text: numbers, headers, nulls, and invalid files."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from divulge.errors import BadInput
from divulge.sources import Table, read

PAST_ANY_SAMPLE = 1_100_000


def write(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rows(table: Table) -> list[tuple[Any, ...]]:
    found = table.engine.query(f"SELECT * FROM {table.relation}").to_pylist()
    return [tuple(row.values()) for row in found]


@pytest.mark.parametrize(
    ("cells", "type_", "values"),
    [
        pytest.param(["1", "-20", "0"], "BIGINT", [1, -20, 0], id="whole numbers"),
        pytest.param(
            ["9223372036854775807", "-1"], "BIGINT", [2**63 - 1, -1], id="largest whole number"
        ),
        pytest.param(["9223372036854775808", "1"], "VARCHAR", None, id="too large for 64 bits"),
        pytest.param(
            ["1234567890123456", "0.5"], "VARCHAR", None, id="16 digits beside a fraction"
        ),
        pytest.param(["01234", "12345"], "VARCHAR", None, id="leading zero"),
        pytest.param(["00.5", "1.5"], "VARCHAR", None, id="leading zero before a point"),
        pytest.param(["0.5", ".25", "-3"], "DOUBLE", [0.5, 0.25, -3.0], id="decimals"),
        pytest.param(["1.50", "22.25"], "DOUBLE", [1.5, 22.25], id="fixed decimals"),
        pytest.param(
            ["1.0", "2.25"], "DOUBLE", [1.0, 2.25], id="whole number printed as a decimal"
        ),
        pytest.param(["250.1", "250.10"], "VARCHAR", None, id="last zero tells codes apart"),
        pytest.param(
            ["1e-05", "2.5E+3", "1.0E10"], "DOUBLE", [1e-05, 2500.0, 1e10], id="exponents"
        ),
        pytest.param(["1E5", "2E3"], "VARCHAR", None, id="codes with an E"),
        pytest.param(["+4412", "4412"], "VARCHAR", None, id="plus sign"),
        pytest.param(["1,5", "2,5"], "DOUBLE", [1.5, 2.5], id="decimal comma"),
        pytest.param(["nan", "1.5"], "VARCHAR", None, id="nan"),
        pytest.param(["true", "false"], "VARCHAR", None, id="booleans"),
        pytest.param(
            ["2024-01-31", "1999-12-01"],
            "DATE",
            [dt.date(2024, 1, 31), dt.date(1999, 12, 1)],
            id="dates",
        ),
        pytest.param(["2024-01-31", "2024-02-30"], "VARCHAR", None, id="a day that does not exist"),
        pytest.param(["01/02/2024", "03/04/2024"], "VARCHAR", None, id="local dates"),
        pytest.param(["01-02-2024", "03-04-2024"], "VARCHAR", None, id="local dates with dashes"),
        pytest.param(
            ["2024-01-31 10:00:00.5", "2024-01-31T10:00"],
            "TIMESTAMP",
            [dt.datetime(2024, 1, 31, 10, 0, 0, 500000), dt.datetime(2024, 1, 31, 10)],  # noqa: DTZ001
            id="timestamps",
        ),
        pytest.param(
            ["2024-01-31", "2024-01-31 00:00:00"], "VARCHAR", None, id="a date beside a timestamp"
        ),
        pytest.param(["2024-01-31", "7"], "VARCHAR", None, id="a date beside a number"),
    ],
)
def test_types(cells: list[str], type_: str, values: list[object] | None, tmp_path: Path) -> None:
    text = "name;value\n" + "".join(f"row;{cell}\n" for cell in cells)
    table = read(write(tmp_path, text), header=True, delimiter=";")
    assert table.column("value").type == type_
    assert sorted(map(str, (row[1] for row in rows(table)))) == sorted(map(str, values or cells))


@pytest.mark.parametrize(
    ("usual", "late", "type_"),
    [
        pytest.param("12345", "01234", "VARCHAR", id="leading zero"),
        pytest.param("1.5", "1234567890123456", "VARCHAR", id="16 digits"),
        pytest.param("2024-01-31", "unknown", "VARCHAR", id="no date"),
        pytest.param("7", "7.25", "DOUBLE", id="first fraction"),
        pytest.param("", "007", "VARCHAR", id="first value at all"),
    ],
)
def test_one_late_value_decides_the_type(usual: str, late: str, type_: str, tmp_path: Path) -> None:
    path = write(tmp_path, "id,value\n" + f"x,{usual}\n" * PAST_ANY_SAMPLE + f"y,{late}\n")
    table = read(path)
    assert table.column("value").type == type_
    found = table.engine.query(
        f"SELECT value FROM {table.relation} WHERE id = ?", ["y"]
    ).to_pylist()
    assert [str(row["value"]) for row in found] == [late]
    counted = table.engine.query(f"SELECT count(*) AS n FROM {table.relation}").to_pylist()
    assert counted == [{"n": PAST_ANY_SAMPLE + 1}]


@pytest.mark.parametrize(
    ("text", "names", "first"),
    [
        pytest.param("name,city\nann,rome\n", ("name", "city"), ("ann", "rome"), id="only text"),
        pytest.param("age,city\n7,rome\n", ("age", "city"), (7, "rome"), id="word above numbers"),
        pytest.param(
            "39, State-gov\n50, ?\n", ("column0", "column1"), (39, " State-gov"), id="no header"
        ),
        pytest.param(
            "?, Private\n50, x\n60, y\n",
            ("column0", "column1"),
            ("?", " Private"),
            id="unknown first cell",
        ),
        pytest.param(
            "id,2019,2020\n1,5,6\n", ("id", "2019", "2020"), (1, 5, 6), id="years as names"
        ),
        pytest.param(",age\n0,7\n", ("column0", "age"), (0, 7), id="blank name"),
        pytest.param("\n\nage\n7\n", ("age",), (7,), id="empty lines first"),
        pytest.param('"a\nb","c,d"\n1,2\n', ("a\nb", "c,d"), (1, 2), id="quoted names"),
        pytest.param(" age ,zip\n1,2\n", (" age ", "zip"), (1, 2), id="blanks around a name"),
        pytest.param("#id,x\n#1,2\n", ("#id", "x"), ("#1", 2), id="not a comment"),
    ],
)
def test_header(
    text: str, names: tuple[str, ...], first: tuple[object, ...], tmp_path: Path
) -> None:
    table = read(write(tmp_path, text))
    assert table.names == names
    assert first in rows(table)


def test_header_can_be_set(tmp_path: Path) -> None:
    path = write(tmp_path, "ann,rome\nbob,oslo\n")
    assert len(rows(read(path, header=False))) == 2
    assert read(path, header=True).names == ("ann", "rome")
    assert read(write(tmp_path, "x,2019\ny,5\n"), header=True).names == ("x", "2019")


def test_a_header_without_rows_is_an_empty_table(tmp_path: Path) -> None:
    table = read(write(tmp_path, "age,zip"))
    assert table.names == ("age", "zip")
    assert rows(table) == []


@pytest.mark.parametrize("delimiter", [*",;|\t^~:", "€"])
def test_any_delimiter(delimiter: str, tmp_path: Path) -> None:
    text = f'a{delimiter}b\n1{delimiter}"x{delimiter}y"\n'
    table = read(write(tmp_path, text), delimiter=delimiter)
    assert rows(table) == [(1, f"x{delimiter}y")]


def test_delimiter_by_its_escape(tmp_path: Path) -> None:
    assert rows(read(write(tmp_path, "a\tb\n1\t2\n"), delimiter="\\t")) == [(1, 2)]


@pytest.mark.parametrize(
    "delimiter", ["", ",,", '"', "\n"], ids=["empty", "two characters", "quote", "line end"]
)
def test_impossible_delimiter(delimiter: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="one character"):
        read(write(tmp_path, "a,b\n1,2\n"), delimiter=delimiter)


def test_commas_inside_values_do_not_win_over_the_delimiter(tmp_path: Path) -> None:
    table = read(write(tmp_path, "price;note\n1,5;a, b, c\n2,5;d\n"))
    assert table.names == ("price", "note")


def test_empty_cells_are_null_and_words_are_not(tmp_path: Path) -> None:
    table = read(write(tmp_path, 'a,b\n,NA\n"",NULL\nx,\n'))
    assert sorted(rows(table), key=str) == [("x", None), (None, "NA"), (None, "NULL")]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    path = write(tmp_path, "name,n\nJosé,1\n".encode(encoding))
    assert rows(read(path, encoding=encoding)) == [("José", 1)]
    packed = write(tmp_path, gzip.compress(path.read_bytes()), "table.csv.gz")
    assert rows(read(packed, encoding=encoding)) == [("José", 1)]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        pytest.param(b"", {}, r"table\.csv is empty", id="empty"),
        pytest.param(b"\n \n", {}, "no text in it", id="blank"),
        pytest.param(
            b"a,b\n1,2\n3\n4,5\n",
            {},
            "line 3: 2 fields were expected and 1 found",
            id="row too short",
        ),
        pytest.param(
            b"a,b\n1,2\n3,4,5\n",
            {},
            "line 3: 2 fields were expected and 3 found",
            id="row too long",
        ),
        pytest.param(
            b"a,b\n" + b"1,2\n" * 300_000 + b"3\n",
            {},
            "line 300002: 2 fields were expected",
            id="late ragged row",
        ),
        pytest.param(b'a,b\n1,2\n"x,3\n', {}, "line 3: a quoted value", id="quote without end"),
        pytest.param(b"a,b\r\n1,2\n3,4\r\n", {}, "line ends", id="mixed line ends"),
        pytest.param(
            "a,b\n1,José\n".encode("latin-1"),
            {},
            "line 2: the text is not UTF-8.*encoding=",
            id="latin-1",
        ),
        pytest.param("a,b\n1,2\n".encode("utf-16"), {}, "encoding='utf-16'", id="utf-16"),
        pytest.param(
            b"a,b\n1,2\n", {"encoding": "klingon"}, "no encoding 'klingon'", id="unknown encoding"
        ),
        *(
            pytest.param(
                b"a,b\n1,2\n",
                {"encoding": name},
                f"'{name}'.* no encoding|no encoding '{name}'",
                id=name,
            )
            for name in (
                "rot13",
                "base64",
                "zlib",
                "bz2",
                "hex",
                "quopri",
                "uu",
                "idna",
                "punycode",
                "undefined",
                "a b",
            )
        ),
        pytest.param(b"a,b\n1,2\n", {"encoding": "utf\0"}, "no encoding", id="a name with NUL"),
        pytest.param(
            b"a,b\n\xff,2\n",
            {"encoding": "utf-16"},
            "cannot be read as utf-16",
            id="wrong encoding",
        ),
        pytest.param(b"a\0b,c\n1,2\n", {}, "not a text file", id="binary"),
        pytest.param(
            b"a,b,a\n1,2,3\n", {}, r"'a' occurs twice \(columns 1 and 3 of", id="repeated name"
        ),
        pytest.param(
            b"age,b,Age\n1,2,3\n",
            {},
            r"'age' and 'Age' differ only.*\(columns 1 and 3 of",
            id="case",
        ),
        pytest.param(
            b"column1,\n1,2\n", {}, "'column1' occurs twice", id="blank name beside its number"
        ),
    ],
)
def test_bad_files(content: bytes, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with pytest.raises(BadInput, match=message) as caught:
        read(path, **options)
    assert "\n" not in str(caught.value)
    assert "José" not in str(caught.value)


def test_late_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = write(tmp_path, b"n,name\n" + b"1,x\n" * 400_000 + "1,José\n".encode("latin-1"))
    table = read(path)
    with pytest.raises(BadInput, match=r"table\.csv, line 400002: the text is not UTF-8"):
        table.engine.query(f"SELECT name, count(*) FROM {table.relation} GROUP BY name")


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,2\n")
    table = read(path)
    write(tmp_path, "a,b\nsecret,2\n")
    with pytest.raises(
        BadInput, match="line 2: a value does not fit its column any more"
    ) as caught:
        rows(table)
    assert "secret" not in str(caught.value)


def test_files_of_a_folder_may_end_their_lines_in_their_own_way(tmp_path: Path) -> None:
    write(tmp_path, "a,b\r\n1,2\r\n", "1.csv")
    write(tmp_path, "a,b\n3,4\n", "2.csv")
    assert sorted(rows(read(tmp_path))) == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    "inside", ["\n", "\r\n", "\r"], ids=["LF inside", "CRLF inside", "CR inside"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_line_ends_inside_quotes(inside: str, end: str, tmp_path: Path) -> None:
    lines = [f'"a{inside}b",c', f'"x{inside}y",1', "z,2"]
    table = read(write(tmp_path, end.join(lines) + end))
    assert table.names == (f"a{inside}b", "c")
    assert sorted(rows(table)) == [(f"x{inside}y", 1), ("z", 2)]


# Text without the line ends and quotes that make a one-column CSV ambiguous for any reader.
CELL = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=8)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cells=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8))
def test_texts_come_back_as_the_csv_module_wrote_them(
    cells: list[tuple[str, str]], tmp_path: Path
) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [("a", "b"), *((f"x{a}", f"x{b}") for a, b in cells)]
    )
    table = read(write(tmp_path, out.getvalue()), header=True, delimiter=",")
    assert sorted(rows(table)) == sorted((f"x{a}", f"x{b}") for a, b in cells)
