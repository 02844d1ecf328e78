# SPDX-License-Identifier: Apache-2.0
"""--value-free: every cell is marked, and no output of a command holds a mark at any exit code."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from divulge.cli import redaction
from tests.cli.every_command import GOOD, WITH_ANOTHER_CODE, called, prepare
from tests.cli.test_every_command import BAD, MISTAKES
from tests.helpers import run_cli, without_digests

PUBLIC = ("demo", "datasets", "metrics")
"""Commands that look at no table of the user's."""
MARKS = (
    (r"patient (\d+)", r"zqpatient \1"),
    (r"\b476(\d\d)\b", r"98765\1"),
    (r"(?<=,)(\d\d)(?=,[mf],)", r"987\1"),
    (r"(?<=,)([mf])(?=,)", r"zq\1"),
    (r"(influenza|cancer|heart disease|broken leg, left|flu)\b", r"zq\1"),
    (r"ward (\d)", r"zqward \1"),
    (r'"value": "', '"value": "zq'),
    (r'"id": "', '"id": "zq'),
    (r"11\*", "zq11*"),
    (r"age=21", "age=98721"),
    (r"sex=m", "sex=zqm"),
    (r"age > 30", "age > 98730"),
    (r"'cancer'", "'zqcancer'"),
)
MARKED = re.compile(r"zq|(?<![\d.])987\d{2}|9876")


def marked(text: str) -> str:
    """Return the text with a mark in every data value."""
    for pattern, instead in MARKS:
        text = re.sub(pattern, instead, text)
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("marked"), marked)


CALLS: dict[str, Sequence[str]] = {
    **{f"{name} (0)": call for name, call in GOOD.items() if name not in PUBLIC},
    **{f"{name} ({code})": call for name, (code, call) in WITH_ANOTHER_CODE.items()},
    **{f"{name} (2)": call for name, call in BAD.items() if name not in PUBLIC},
    **{f"{told} (2)": call for told, call in MISTAKES if call[0] not in PUBLIC},
    "class that is not there": (
        "measure",
        "@t.csv",
        "--qi",
        "age,sex",
        "--class",
        "age=98799",
        "--class",
        "sex=zqx",
    ),
    "value that is not there": (
        "measure",
        "@t.csv",
        "--qi",
        "age",
        "--sensitive",
        "ward",
        "--rule-out",
        "ward=zqward 77",
    ),
    "protection": (
        "check",
        "@t.csv",
        "--qi",
        "age",
        "--protect",
        "sex = 'zqm' and age > 98730: k_anonymity >= 20",
    ),
    "protection of values": (
        "check",
        "@t.csv",
        "--qi",
        "age,sex",
        "--sensitive",
        "main_diagnosis",
        "--protect",
        "main_diagnosis in ('zqcancer', 'zqinfluenza'): alpha <= 0.01",
    ),
    "protection that nothing can keep": (
        "generalize",
        "@t.csv",
        "--qi",
        "age,sex",
        "--leave-out",
        "*",
        "--k-anonymity",
        "2",
        "--protect",
        "age > 98730: k_anonymity >= 5000",
    ),
    "argument too many": ("profile", "@t.csv", "zqextra", "98799"),
    "number that is no option": ("measure", "@t.csv", "--qi", "age", "--worst", "zqten"),
    "column that is not there": ("measure", "@t.csv", "--qi", "zqcolumn"),
    "file that is not there": ("measure", "@t.csv", "--qi", "age", "--prior", "age=zqfile.csv"),
    "rule that is none": (
        "hierarchy",
        "build",
        "@t.csv",
        "--column",
        "age",
        "--cuts",
        "98730,98720",
    ),
    "condition that fails": ("query", "@release", "age > 98730 and zqtown = 'zqoslo'"),
    "hierarchy that lacks values": (
        "generalize",
        "@t.csv",
        "--qi",
        "age,sex",
        "--leave-out",
        "*",
        "--k-anonymity",
        "2",
        "--hierarchy",
        "sex=@levels/age.csv",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_data_value_is_printed(name: str, folder: Path) -> None:
    as_json = len(name) % 2 == 0
    shown = called(
        folder, *map(marked, CALLS[name]), redaction.OPTION, *(["--json"] if as_json else [])
    )
    for said in (shown.out, shown.err):
        assert not MARKED.search(said.replace(str(folder), "")), said
    assert shown.code in (0, 1, 2, 3), shown.err
    if as_json:
        assert isinstance(json.loads(shown.out), dict)
    elif shown.code == 0:
        assert shown.out.strip()


@pytest.mark.parametrize("name", ["measure", "generalize", "attack", "query", "anatomize"])
def test_no_data_value_is_logged(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIVULGE_LOG", "debug")
    shown = called(folder, *map(marked, GOOD[name]), redaction.OPTION)
    assert not MARKED.search(shown.err.replace(str(folder), "")), shown.err
    assert "DEBUG" in shown.err


def test_the_marks_are_there_without_the_option(folder: Path) -> None:
    told = [
        called(folder, *map(marked, GOOD[name]), "--json").out
        for name in ("measure", "query", "hierarchy build")
    ]
    assert all(map(MARKED.search, told))


def test_numbers_and_columns_stay(folder: Path) -> None:
    call = ("measure", "@t.csv", "--qi", "age,sex", "--sensitive", "ward", "--json")
    open_, hidden = called(folder, *call).json(), called(folder, *call, redaction.OPTION).json()
    assert hidden["identity"] == open_["identity"]
    assert hidden["sensitive"].keys() == {"ward"}
    assert [item["value"] for item in hidden["worst"]] == [item["value"] for item in open_["worst"]]
    assert hidden["worst"][0]["class"] == {"age": "…", "sex": "…"}
    assert "age" in called(folder, *call[:-1], redaction.OPTION).out


def test_values_in_words_of_divulge_are_hidden(tmp_path: Path) -> None:
    """A person whose id consists of words that our own messages use is hidden, too."""
    folder = prepare(tmp_path, lambda text: re.sub(r"patient (\d+)", r"people class \1", text))
    call = ("compose", "@release", "@release", "--truth", "@t.csv", "--person", "name")
    for as_json in ((), ("--json",)):
        shown = called(folder, *call, "--who", "people class 1", redaction.OPTION, *as_json)
        assert shown.code == 0, shown.err
        assert not re.search(r"person\W+(people|class)", shown.out + shown.err)
        assert "people class" not in shown.out + shown.err


OUR_WORDS = (
    (r"patient (\d+)", r"people \1"),
    (r"broken leg, left", "attack"),
    (r"\bcancer\b", "class"),
    (r"heart disease", "people"),
    (r"influenza|\bflu\b", "records"),
    (r"ward (\d)", r"table \1"),
    (r"(?<=,)f(?=,)", "no"),
    (r"(?<=,)m(?=,)", "rows"),
    (r"sex=m", "sex=rows"),
)
"""Words of divulge in place of the values, in the same order."""
BY_VALUES = ("profile", "attack", "compare", "query", "studio", "ledger", "report")
"""Commands whose numbers depend on the values themselves, draw records, or print the time.

A report is an error here.
"""


def in_our_words(text: str) -> str:
    for pattern, instead in OUR_WORDS:
        text = re.sub(pattern, instead, text)
    return text


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same files twice; in the second ones the values are words that our messages use."""
    return (
        prepare(tmp_path_factory.mktemp("values")),
        prepare(tmp_path_factory.mktemp("words"), in_our_words),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, call in GOOD.items()
        if not name.startswith((*PUBLIC, *BY_VALUES)) and "--attack" not in call
    ],
)
def test_the_output_is_the_same_whatever_the_values_are(
    name: str, folders: tuple[Path, Path]
) -> None:
    values = called(folders[0], *GOOD[name], redaction.OPTION)
    words = called(folders[1], *map(in_our_words, GOOD[name]), redaction.OPTION)
    assert (values.code, words.code) == (0, 0), values.err + words.err
    for shown, renamed in ((values.out, words.out), (values.err, words.err)):
        assert without_digests(shown).replace(str(folders[0]), "") == without_digests(
            renamed
        ).replace(str(folders[1]), "")


def test_the_environment_variable_redacts_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("rank", "@t.csv", "--qi", "age,sex")
    asked = called(folder, *call, redaction.OPTION).out
    monkeypatch.setenv(redaction.VARIABLE, "1")
    assert called(folder, *call).out == asked
    monkeypatch.setenv(redaction.VARIABLE, "0")
    assert called(folder, *call).out != asked


def test_charts_and_reports_are_rejected_before_any_work(folder: Path) -> None:
    for more in (("--chart", "@x.svg"),):
        shown = called(folder, "measure", "@t.csv", "--qi", "age", redaction.OPTION, *more)
        assert shown.code == 2
        assert "shows values" in shown.err
    assert not (folder / "x.svg").exists()
    assert (called(folder, "studio", "@t.csv", redaction.OPTION)).code == 2


def test_files_for_people_and_for_pipelines_hold_no_value(folder: Path) -> None:
    judged = (
        "check",
        "@t.csv",
        "--qi",
        "age,sex",
        "--sensitive",
        "main_diagnosis",
        "--k-anonymity",
        "20",
    )
    wanted = {"judged.xml": ("--junit",), "judged.sarif": ("--sarif",)}
    files = [word for name, option in wanted.items() for word in (*option, f"@{name}")]
    assert called(folder, *judged, *files, redaction.OPTION).code == 1
    assert called(folder, "init", "@t.csv", "--out", "@first.toml", redaction.OPTION).code == 0
    for name in (*wanted, "first.toml"):
        assert not MARKED.search(
            (folder / name).read_text(encoding="utf-8").replace(str(folder), "")
        ), name


def test_a_bug_shows_source_lines_but_no_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = f"{'zq'}value"  # the traceback shows this line, which does not hold the mark

    def broken(*_: object, **__: object) -> None:
        raise KeyError(told)

    monkeypatch.setattr("divulge.sources.read", broken)
    shown = run_cli("profile", str(folder / "t.csv"), redaction.OPTION)
    assert shown.code == 70
    assert "KeyError" in shown.err
    assert told not in shown.err
