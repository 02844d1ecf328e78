# SPDX-License-Identifier: Apache-2.0
"""`--chart` on every command with a chart, `measure --class`, and errors before any work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import divulge as dv
from tests.cli.every_command import ABOUT_ME, ANATOMY, ROLES, SHOPS, called, prepare

DRAWN = {
    "measure": (
        ("measure", "@t.csv", *ROLES),
        ("leakages", "class_sizes", "information", "independence"),
    ),
    "measure --t": (("measure", "@t.csv", *ROLES, "--t", "0.5"), ("information",)),
    "check": (("check", "@t.csv", *ROLES[:4], "--k-anonymity", "9"), ("leakages", "class_sizes")),
    "check anatomized": (("check", "@tables"), ("groups",)),
    "rank": (("rank", "@t.csv", *ROLES), ("sets", "known_columns")),
    "rank --growing": (("rank", "@t.csv", *ROLES, "--growing"), ("known_columns",)),
    "generalize": (
        ("generalize", "@t.csv", *ROLES, "--leave-out", "ward", "--k-anonymity", "4"),
        ("leakages", "class_sizes", "distributions"),
    ),
    "generalize --pareto": (
        ("generalize", "@t.csv", *ROLES, "--pareto", "entropy_leakage"),
        ("front",),
    ),
    "anatomize": (("anatomize", "@t.csv", *ANATOMY, "--queries", "0"), ("groups",)),
    "check groups": (("check", "@tables"), ("groups",)),
    "attack": (
        ("attack", "@release", "--truth", "@t.csv", "--subsets", "1"),
        ("success", "knowledge"),
    ),
    "dossier leakage": (SHOPS, ("records",)),
    "dossier leakage --timeline": (
        (*SHOPS, "--timeline", "--without"),
        ("timeline", "labels", "records"),
    ),
    "dossier release": (
        ("dossier", "release", *ABOUT_ME, "--release", "all=@me.json"),
        ("records",),
    ),
    "dossier disinform": (
        ("dossier", "disinform", *ABOUT_ME, "--budget", "3"),
        ("disinformation",),
    ),
}
"""Each call, and the kinds of pictures that it draws, the main one first."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("pictures"))


@pytest.mark.parametrize("name", DRAWN)
def test_every_chart_is_written_in_addition_to_the_output(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, kinds = DRAWN[name]
    titles: dict[str, str] = {}

    def save(chart: dv.charts, path: Path) -> Path:  # type: ignore[valid-type]
        titles[path.name] = chart.to_dict()["title"]["text"]  # type: ignore[attr-defined]
        return path

    monkeypatch.setattr(dv.charts, "save", save)  # drawing itself is tested with the pictures
    charts = [word for kind in kinds for word in ("--chart", f"{kind}=@{kind}.svg")]
    shown = called(folder, *call, "--chart", "@main.svg", *charts)
    assert shown.code == (1 if name == "check" else 0), shown.err
    assert list(titles) == ["main.svg", *(f"{kind}.svg" for kind in kinds)]
    assert titles["main.svg"] == titles[f"{kinds[0]}.svg"]
    assert "main.svg" in shown.out.rpartition("Drawn: ")[2]
    plain, drawn = (
        called(folder, *call, *more, "--json") for more in ((), ("--chart", "@main.svg"))
    )
    assert json.loads(drawn.out).keys() == json.loads(plain.out).keys()
    assert drawn.code == shown.code


def test_a_class_as_text_json_and_chart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # a long path would be wrapped
    (folder / "nine.csv").write_text(
        "zip,age,disease\n"
        + "476**,2*,Heart\n" * 3
        + "4790*,>=40,Flu\n4790*,>=40,Heart\n4790*,>=40,Cancer\n",
        encoding="utf-8",
    )
    call = (
        "measure",
        "nine.csv",
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        "--class",
        "zip=4790*",
        "--class",
        "age=>=40",
    )
    shown = called(folder, *call, "--chart", "@class.svg")
    assert shown.code == 0, shown.err
    assert shown.out.splitlines()[0].startswith("zip=4790*, age=>=40: 3 people, 50% of the 6 in ")
    # Heart 4 of 6, then 1 of 3.
    assert [line.split() for line in shown.out.splitlines()[3:7]] == [
        ["disease", "before", "in", "this", "class"],
        ["Heart", "67%", "33%", "falls"],
        ["Cancer", "17%", "33%", "rises"],
        ["Flu", "17%", "33%", "rises"],
    ]
    assert "<svg" in (folder / "class.svg").read_text(encoding="utf-8")
    told = called(folder, *call, "--json").json()
    assert (told["class"], told["size"], told["people"]) == ({"zip": "4790*", "age": ">=40"}, 3, 6)
    assert told["sensitive"]["disease"]["values"][2] == {
        "value": "Heart",
        "before": pytest.approx(4 / 6),
        "after": pytest.approx(1 / 3),
    }
    assert told["identity"]["k_anonymity"] == 3
    assert told["sensitive"]["disease"]["metrics"]["l_diversity"] == 3


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--chart", "@x.gif"), "a chart cannot be written as '.gif'. use .svg, .png or .html"),
        (
            ("--chart", "sizes=x.svg"),
            "there is no picture 'sizes' here. did you mean 'class_sizes'?",
        ),
        (
            ("--chart", "@no/x.svg"),
            "the chart cannot be written to {}/no/x.svg: there is no folder {}/no",
        ),
        (
            ("--class", "sex"),
            "--class sex does not say COLUMN=VALUE. for example --class postal_code=...",
        ),
        (
            ("--class", "sex=m", "--class", "sex=f"),
            "--class names 'sex' twice. a class has one value of each quasi-identifier",
        ),
        (("--class", "sex=m", "--worst", "3"), "--worst has no effect with --class. leave it out"),
        (
            ("--class", "wrd=1"),
            (
                "'wrd' is no quasi-identifier, and makes no class. there are: 'postal_code', "
                "'age', "
                "'sex'"
            ),
        ),
    ],
)
def test_an_invalid_chart_is_one_clear_line(more: tuple[str, ...], told: str, folder: Path) -> None:
    shown = called(folder, "measure", "@t.csv", *ROLES, *more)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err == f"divulge: {told.format(folder, folder)}\n"


def test_a_result_without_a_chart_is_reported(folder: Path) -> None:
    shown = called(
        folder,
        "dossier",
        "leakage",
        "--record",
        "@me.json",
        "--reference",
        "@me.json",
        "--chart",
        "@x.svg",
    )
    assert shown.code == 2
    assert "of which there is no picture" in shown.err
    pruned = called(folder, "rank", "@t.csv", *ROLES, "--prune", "--chart", "known_columns=@x.svg")
    assert pruned.code == 2
    assert "not every set was counted" in pruned.err
    assert not (folder / "x.svg").exists()


def test_a_name_with_an_equals_sign_in_its_folder_is_a_file(folder: Path) -> None:
    (folder / "a=b").mkdir()
    assert called(folder, "rank", "@t.csv", *ROLES, "--chart", "@a=b/x.svg").code == 0
    assert (folder / "a=b" / "x.svg").exists()
