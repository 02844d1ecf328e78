# SPDX-License-Identifier: Apache-2.0
"""Hierarchy files of ARX and anjana: reading, writing, discovery in a folder, error lines."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.errors import BadInput
from divulge.hierarchies import (
    Flavour,
    Hierarchy,
    column_of,
    file_name,
    load_hierarchies,
    parse_hierarchy,
    read_hierarchy,
    write_hierarchy,
)
from divulge.hierarchies.files import hierarchy_text

# As the two tools write them: ARX's education of the Adult data, anjana's age.
ARX = "Bachelors;Undergraduate;Higher education;*\n11th;High School;Secondary education;*\n"
ANJANA = '17,"[15, 20[","[0, 20[",*\n21,"[20, 25[","[20, 40[",*\n'


def parse(text: str) -> Hierarchy:
    return parse_hierarchy(text, "x", origin="the file")


def test_arx_is_read() -> None:
    assert parse(ARX).rows == {
        "Bachelors": ("Bachelors", "Undergraduate", "Higher education", "*"),
        "11th": ("11th", "High School", "Secondary education", "*"),
    }


def test_anjana_is_read() -> None:
    assert parse(ANJANA).rows == {
        "17": ("17", "[15, 20[", "[0, 20[", "*"),
        "21": ("21", "[20, 25[", "[20, 40[", "*"),
    }


def test_labels_with_commas_do_not_mislead_the_search_for_the_delimiter() -> None:
    assert parse("17;[15, 20);*\n21;[20, 25);*\n").height == 2
    assert parse("a;b,B,*\nc,B,*\n").rows["a;b"] == ("a;b", "B", "*")


def test_windows_line_ends_a_byte_order_mark_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbf1;0-4;*\r\n\r\n2;0-4;*\r\n")
    assert read_hierarchy(path, "x").rows == {"1": ("1", "0-4", "*"), "2": ("2", "0-4", "*")}


def test_an_empty_first_cell_is_null() -> None:
    assert parse("a;A;*\n;unknown;*\n").rows[None] == (None, "unknown", "*")
    assert parse("a;A;*\n;;*\n").rows[None] == (None, None, "*")


def test_a_repeated_row_counts_once() -> None:
    assert len(parse("a;*\na;*\n").rows) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("a;A;*\nb;;*\n", "line 2: 'b' has no label at level 1"),
        ("a;A;*\nb;B;*\na;B;*\n", "'a' twice with different labels, in lines 1 and 3"),
        ("a;A;*\nb;*\n", "'b' has 2"),
        ("a;A;x\nb;A;y\n", "puts 'A' of level 1 under 'x' and under 'y'"),
        ('a;"A;*\n', "line 1"),
    ],
)
def test_an_invalid_file_raises_an_error_with_its_line(text: str, told: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse(text)
    assert told in str(refused.value)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no hierarchy file"):
        read_hierarchy(tmp_path / "none.csv", "x")
    (tmp_path / "latin.csv").write_bytes(b"K\xf6ln;*\n")
    with pytest.raises(BadInput, match="not UTF-8"):
        read_hierarchy(tmp_path / "latin.csv", "x")


@pytest.mark.parametrize(("flavour", "delimiter"), [("arx", ";"), ("anjana", ",")])
def test_written_files_are_what_the_tools_read(
    tmp_path: Path, flavour: Flavour, delimiter: str
) -> None:
    hierarchy = Hierarchy("age", {"17": ("17", "[15, 20)", "*"), None: (None, None, "*")})
    write_hierarchy(hierarchy, tmp_path / "age.csv", flavour=flavour)
    with (tmp_path / "age.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file, delimiter=delimiter)) == [
            ["17", "[15, 20)", "*"],
            ["", "", "*"],
        ]


labels = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6
)


@settings(deadline=None)
@given(
    values=st.sets(
        labels | st.sampled_from(['a;b"', "a,b", "x\ny", "x\r\ny", " "]), min_size=1, max_size=5
    ),
    null=st.sets(st.none()),
    height=st.integers(0, 3),
    flavour=st.sampled_from(["arx", "anjana"]),
)
def test_written_hierarchies_are_read_back(
    values: set[str], null: set[None], height: int, flavour: Flavour
) -> None:
    rows = {value: (value, *[f"<{value}>"] * height) for value in values} | (
        {None: (None,) * (height + 1)} if null else {}
    )
    hierarchy = Hierarchy("x", rows)
    assert parse(hierarchy_text(hierarchy, flavour=flavour)) == hierarchy


def test_an_empty_text_cannot_be_written() -> None:
    with pytest.raises(BadInput, match="empty text"):
        hierarchy_text(Hierarchy("x", {"": ("", "*")}))


def test_the_column_is_in_the_name() -> None:
    assert column_of(Path("marital-status.csv")) == "marital-status"
    assert column_of(Path("adult_hierarchy_marital-status.csv")) == "marital-status"


@pytest.mark.parametrize("name", ["", "../age", "a\\b", "a/b"])
def test_a_column_named_like_a_path_gets_no_file(name: str) -> None:
    with pytest.raises(BadInput, match="file name"):
        file_name(name)


def test_a_folder_is_read_by_column(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("1;*\n", encoding="utf-8")
    (tmp_path / "sex.csv").write_text("f,*\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a hierarchy", encoding="utf-8")
    assert sorted(load_hierarchies(tmp_path)) == ["age", "sex"]
    assert sorted(load_hierarchies(tmp_path, columns=["sex", "zip"])) == ["sex"]


def test_data_next_to_arx_hierarchies_is_not_read_as_a_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "adult.csv").write_text("age;sex\n1;f\n", encoding="utf-8")
    (tmp_path / "adult_hierarchy_age.csv").write_text("1;*\n", encoding="utf-8")
    assert sorted(load_hierarchies(tmp_path)) == ["age"]
    assert sorted(load_hierarchies(tmp_path, columns=["age", "sex"])) == ["age"]


def test_one_error_reports_all_invalid_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a_hierarchy_age.csv").write_text("1;*\n", encoding="utf-8")
    (tmp_path / "b_hierarchy_age.csv").write_text("1;*\n", encoding="utf-8")
    (tmp_path / "a_hierarchy_sex.csv").write_text("f;x;*\nm;*\n", encoding="utf-8")
    (tmp_path / "a_hierarchy_zip.csv").write_text("", encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        load_hierarchies(tmp_path)
    told = str(refused.value)
    assert "'age' has several hierarchies" in told
    assert "'sex'" in told
    assert "is empty" in told
    with pytest.raises(BadInput, match="no folder"):
        load_hierarchies(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="no hierarchy of height"):
        load_hierarchies(tmp_path, columns=["height"])
