# SPDX-License-Identifier: Apache-2.0
"""`divulge hierarchy`: build, check, convert and show, as a user runs them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.helpers import run_cli

PEOPLE = "zip,age,grade,birth\n02139,34,A,1980-05-01\n02138,41,B,1981-06-02\n02139,95,C,1979-12-31\n10115,17,D,\n"  # noqa: E501


@pytest.fixture
def people(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    return str(path)


def test_build_writes_a_hierarchy_by_rule(people: str, tmp_path: Path) -> None:
    out = tmp_path / "made" / "age.csv"
    done = run_cli(
        "hierarchy",
        "build",
        people,
        "--column",
        "age",
        "--intervals",
        "5,10",
        "--top",
        "90",
        "--out",
        str(out),
    )
    assert done.code == 0, done.err
    assert out.read_text(encoding="utf-8") == (
        "17;[15, 20);[10, 20);*\n34;[30, 35);[30, 40);*\n41;[40, 45);[40, 50);*\n95;>=90;>=90;*\n"
    )
    assert "age: 4 values, 3 levels above them" in done.out
    again = run_cli("hierarchy", "build", people, "--column", "age", "--prefix", "--out", str(out))
    assert (again.code, again.out) == (2, "")
    assert "exists already" in again.err
    assert (
        run_cli(
            "hierarchy",
            "build",
            people,
            "--column",
            "age",
            "--prefix",
            "--out",
            str(out),
            "--force",
        ).code
        == 0
    )


@pytest.mark.parametrize(
    ("column", "options", "level_1"),
    [
        ("zip", ["--prefix"], ["0213*", "1011*"]),
        ("age", ["--cuts", "18,65", "--cuts", "65"], ["<18", "[18, 65)", ">=65"]),
        (
            "age",
            ["--bottom", "-5", "--start", "7", "--intervals", "10"],
            ["[17, 27)", "[27, 37)", "[37, 47)", "[87, 97)"],
        ),
        ("grade", ["--order", "A,B,C,D", "--groups", "2"], ["[A, B]", "[C, D]"]),
        ("birth", ["--dates", "decade"], ["1970s", "1980s"]),
        (
            "birth",
            ["--dates", "year", "--format", "%Y-%m-%d", "--no-suppress"],
            ["1979", "1980", "1981"],
        ),
        ("grade", ["--rule", '{keep = ["A"]}'], ["A", "(other)"]),
        ("grade", ["--intervals", "5", "--other", "none"], ["none"]),
    ],
)
def test_build_takes_every_rule(
    people: str, column: str, options: list[str], level_1: list[str]
) -> None:
    done = run_cli("hierarchy", "build", people, "--column", column, *options, "--json")
    assert done.code == 0, done.err
    assert done.json()["hierarchies"][column]["levels"][1]["examples"] == level_1


def test_build_takes_a_taxonomy_from_a_file(people: str, tmp_path: Path) -> None:
    path = tmp_path / "grades.txt"
    path.write_text("passed\n  A\n  B\n  C\nfailed\n  D\n", encoding="utf-8")
    levels = run_cli(
        "hierarchy", "build", people, "--column", "grade", "--taxonomy", str(path), "--json"
    ).json()
    assert levels["hierarchies"]["grade"]["levels"][1] == {
        "level": 1,
        "labels": 2,
        "largest": 3,
        "examples": ["passed", "failed"],
    }


def test_without_a_rule_the_choice_is_shown_and_nothing_is_written(
    people: str, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    shown = run_cli("hierarchy", "build", people, "--column", "zip,age")
    assert shown.code == 0
    assert "[hierarchies.age]  # numbers from 17 to 95\nintervals = [5, 10, 20]\n" in shown.out
    assert sorted(tmp_path.iterdir()) == before
    document = run_cli("hierarchy", "build", people, "--column", "*", "--json").json()
    assert sorted(document["rules"]) == ["age", "birth", "grade", "zip"]
    assert document["rules"]["age"] == {"intervals": [5, 10, 20]}
    assert document["reasons"]["birth"] == "3 values: kept or suppressed"


def test_several_columns_go_into_a_folder_that_check_reads(people: str, tmp_path: Path) -> None:
    folder = tmp_path / "hierarchies"
    assert (
        run_cli("hierarchy", "build", people, "--column", "zip,age", "--out", str(folder)).code == 0
    )
    assert sorted(path.name for path in folder.iterdir()) == ["age.csv", "zip.csv"]
    checked = run_cli("hierarchy", "check", people, "--hierarchies", str(folder), "--json")
    assert checked.code == 0
    assert checked.json()["covered"] is True
    assert checked.json()["hierarchies"]["age"] == {"values": 4, "leaves": 4, "height": 4}


def test_check_names_every_gap(people: str, tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("17;*\n34;*\n", encoding="utf-8")
    (tmp_path / "g.csv").write_text("a;*\nB;*\nC;*\n", encoding="utf-8")
    options = ("--hierarchies", str(tmp_path), "--hierarchy", f"grade={tmp_path / 'g.csv'}")
    checked = run_cli("hierarchy", "check", people, *options)
    assert checked.code == 2
    assert checked.err.count("\n") == 1
    assert "'age' misses 2 values: '41', '95'" in checked.err
    assert "'grade' misses 2 values: 'A', 'D'" in checked.err
    assert "'A' is written 'a' there" in checked.err
    document = run_cli("hierarchy", "check", people, *options, "--json").json()
    assert [gap["missing"] for gap in document["gaps"]] == [["A", "D"], ["41", "95"]]


def test_check_needs_something_to_check(people: str, tmp_path: Path) -> None:
    assert "no hierarchy was named" in run_cli("hierarchy", "check", people).err
    wrong = run_cli("hierarchy", "check", people, "--hierarchy", f"agee={tmp_path / 'x.csv'}")
    assert (wrong.code, "did you mean 'age'" in wrong.err) == (2, True)


def test_convert_changes_the_delimiter_and_nothing_else(tmp_path: Path) -> None:
    source, target = tmp_path / "adult_hierarchy_age.csv", tmp_path / "age.csv"
    source.write_text("17;[15, 20);*\n", encoding="utf-8")
    assert run_cli("hierarchy", "convert", str(source), str(target), "--to", "anjana").code == 0
    assert target.read_text(encoding="utf-8") == '17,"[15, 20)",*\n'
    back = tmp_path / "back"
    document = run_cli("hierarchy", "convert", str(tmp_path), str(back), "--json").json()
    assert document == {"written": [str(back / "age.csv")]}
    assert (back / "age.csv").read_text(encoding="utf-8") == "17;[15, 20);*\n"


def test_convert_unpacks_an_arx_project(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "study.deid", "w") as archive:
        archive.writestr(
            "input/definition.xml",
            "<definition><assigment><name>age</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type></assigment>"
            "<assigment><name>disease</name><type>SENSITIVE_ATTRIBUTE</type></assigment></definition>",
        )
        archive.writestr("input/hierarchies/age.csv", "34;30-39;*\n41;40-49;*\n")
        archive.writestr("data/input.csv", "age;disease\n34;flu\n41;NULL\n")
    out = tmp_path / "study"
    done = run_cli("hierarchy", "convert", str(tmp_path / "study.deid"), str(out))
    assert done.code == 0, done.err
    assert (out / "data.csv").read_text(encoding="utf-8") == "age;disease\n34;flu\n41;\n"
    assert (out / "divulge.toml").read_text(encoding="utf-8") == (
        'quasi_identifiers = ["age"]\nsensitive = ["disease"]\n'
    )
    assert (
        run_cli(
            "hierarchy", "check", str(out / "data.csv"), "--hierarchies", str(out / "hierarchies")
        ).code
        == 0
    )
    assert (
        run_cli(
            "measure", str(out / "data.csv"), "--qi", "age", "--sensitive", "disease", "--json"
        ).code
        == 0
    )
    assert run_cli("hierarchy", "convert", str(tmp_path / "study.deid"), str(out)).code == 2
    shown = run_cli("hierarchy", "show", str(tmp_path / "study.deid"), "--json").json()
    assert shown["hierarchies"]["age"]["leaves"] == 2


def test_a_project_writes_nothing_outside_its_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "evil.deid", "w") as archive:
        archive.writestr("input/definition.xml", "<definition/>")
        archive.writestr("input/hierarchies/../../../evil.csv", "a;*\n")
        archive.writestr("data/input.csv", "age\n1\n")
    done = run_cli("hierarchy", "convert", str(tmp_path / "evil.deid"), str(tmp_path / "out"))
    assert (done.code, "cannot be a file name" in done.err) == (2, True)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["evil.deid"]


def test_show_prints_the_levels_and_the_labels_of_null(tmp_path: Path) -> None:
    path = tmp_path / "adult_hierarchy_education.csv"
    path.write_text(
        "Bachelors;Undergraduate;*\nSome-college;Undergraduate;*\n11th;High School;*\n",
        encoding="utf-8",
    )
    shown = run_cli("hierarchy", "show", str(path), "--most", "1")
    assert "education: 3 values, 2 levels above them" in shown.out
    assert "... and 2 more values" in shown.out
    document = run_cli("hierarchy", "show", str(path), "--json").json()["hierarchies"]["education"]
    assert document["null"] == [None, None, "*"]
    assert [(level["labels"], level["largest"]) for level in document["levels"]] == [
        (3, 1),
        (2, 2),
        (1, 3),
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--intervals", "5,8"], "multiple"),
        (["--intervals", "wide"], "not a number"),
        (["--prefix", "--dates", "year"], "two kinds"),
        (["--rule", "intervals"], "not a TOML table"),
        (["--order", "A", "--groups", "x"], "not a number of neighbours"),
        (["--to", "excel"], "--to"),
    ],
)
def test_a_wrong_rule_is_one_line(people: str, options: list[str], told: str) -> None:
    done = run_cli("hierarchy", "build", people, "--column", "age", *options)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert told in done.err


@pytest.mark.parametrize("command", ["build", "check", "convert", "show"])
def test_each_help_ends_with_an_example(command: str) -> None:
    assert f"divulge hierarchy {command}" in run_cli("hierarchy", command, "--help").out


def test_cut_finds_the_most_informative_ranges(tmp_path: Path) -> None:
    """Two people of each age: the young have flu, the old have colds.

    One cut between them keeps the whole bit of information in age.
    """
    table = tmp_path / "people.csv"
    rows = [
        (age, grade, "flu" if age < 40 else "cold")
        for age, grade in ((20, "A"), (30, "B"), (50, "C"), (60, "D"))
    ]
    table.write_text(
        "age,grade,ill\n" + "".join(f"{a},{g},{i}\n" * 2 for a, g, i in rows), encoding="utf-8"
    )
    out = tmp_path / "age.csv"
    asked = ("hierarchy", "cut", str(table), "--about", "ill", "--k-anonymity", "4", "--json")
    found = run_cli(*asked, "--column", "age", "--out", str(out)).json()
    assert (found["rule"], found["information"], found["original_information"]) == (
        {"cuts": [50]},
        1,
        1,
    )
    assert [(item["low"], item["high"], item["people"]) for item in found["ranges"]] == [
        ("20", "30", 4),
        ("50", "60", 4),
    ]
    assert out.read_text(encoding="utf-8") == "20;<50;*\n30;<50;*\n50;>=50;*\n60;>=50;*\n"
    scale = run_cli(*asked, "--column", "grade", "--order", "grade=A,B,C,D").json()
    assert scale["rule"]["rows"] == {
        name: [f"[{'A, B' if name < 'C' else 'C, D'}]", "*"] for name in "ABCD"
    }
    assert run_cli(*asked, "--column", "age", "--ranges", "1").json()["rule"] == {"suppress": True}
    told = run_cli(*asked[:-1], "--column", "age").out
    assert "age in 2 ranges tells 1 bits about ill, of 1 as it is" in told
    assert "age = {cuts = [50]}" in told
    assert run_cli(*asked, "--column", "grade").code == 2
    assert run_cli(*asked[:-2], "9", "--column", "age").code == 3
