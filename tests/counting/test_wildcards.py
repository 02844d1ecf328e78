# SPDX-License-Identifier: Apache-2.0
"""Suppressed cells: wildcards against brute force and sdcMicro's example.

Notes on cells that look suppressed, or values with several spellings.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.counting import Domain, wildcards
from divulge.errors import BadInput
from tests.helpers import run_cli

STAR = dv.Adversary(suppressed={"*": "wildcard"})
FRANCDAT = ["1251", "1211", "12*1", "**15", "431*", "*311", "6215", "1251"]
"""Example of sdcMicro's freqCalc with missing values.

The four keys of the eight records of Capobianchi, Polettini and Lucarelli.
"""
FK = [3, 2, 4, 3, 3, 2, 2, 3]
"""Number of matches of each record, counted by hand.

1 and 8 match each other and 3; 2 and 3; 3 also 1, 2 and 8; 4 and 5, 7; 5 and 4, 6; 6 and 5; 7 and
4.
"""


def table_of(rows: Sequence[Sequence[Any]]) -> pa.Table:
    return pa.table(
        {f"q{place}": list(column) for place, column in enumerate(zip(*rows, strict=True))}
    )


def brute_force(rows: Sequence[Sequence[Any]], any_value: Sequence[Any]) -> list[int]:
    """Count the rows that match each row.

    A row of wildcards only matches all, and only another such row matches it.
    """
    bare = [all(cell in any_value for cell in row) for row in rows]

    def match(one: Sequence[Any], other: Sequence[Any]) -> bool:
        return all(
            a == b or a in any_value or b in any_value for a, b in zip(one, other, strict=True)
        )

    return [
        len(rows)
        if bare[i]
        else sum(match(row, other) and not bare[j] for j, other in enumerate(rows))
        for i, row in enumerate(rows)
    ]


def expected(rows: Sequence[Sequence[Any]], any_value: Sequence[Any]) -> dict[str, float]:
    matched = brute_force(rows, any_value)
    return {
        "k_anonymity": min(matched),
        "uniques": matched.count(1),
        "prosecutor_risk": 1 / min(matched),
    }


def told(measurement: dv.Measurement) -> dict[str, float]:
    return {name: score.value for name, score in measurement.identity.items()}


def test_the_example_of_sdcmicro() -> None:
    assert brute_force(FRANCDAT, "*") == FK
    found = dv.measure(table_of(FRANCDAT), quasi_identifiers="q*", adversary=STAR)
    assert told(found) == {"k_anonymity": 2, "uniques": 0, "prosecutor_risk": 0.5}
    classes = {
        "".join(record["class"].values()): record["identity"] for record in found.class_records()
    }
    assert {key: int(numbers["k_anonymity"]) for key, numbers in classes.items()} == dict(
        zip(FRANCDAT, FK, strict=True)
    )


def test_a_missing_metric_has_a_reason() -> None:
    found = dv.measure(table_of(FRANCDAT), quasi_identifiers="q*", adversary=STAR)
    for asked in (
        lambda: found["l_diversity"],
        lambda: found["itpr"],
        lambda: found.per_class("k_map"),
    ):
        with pytest.raises(BadInput, match="cannot be told: with wildcards classes overlap"):
            asked()
    with pytest.raises(BadInput, match="there is no metric 'k_anonimity'"):
        found["k_anonimity"]


@pytest.mark.parametrize("seed", range(20))
def test_against_brute_force(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By joins, by comparing one by one, and by a mixture."""
    monkeypatch.setattr(wildcards, "_COMPARISONS_PER_JOIN", (0, 100_000, 40)[seed % 3])
    draw = random.Random(seed)  # noqa: S311 - rows, no secrets
    columns, kinds = draw.randint(1, 4), draw.choice(["a*", "ab*", "abc*", "abcd*"])
    rows = [
        tuple(draw.choice([*kinds, "N"]) for _ in range(columns))
        for _ in range(draw.randint(1, 40))
    ]
    assert told(dv.measure(table_of(rows), quasi_identifiers="q*", adversary=STAR)) == expected(
        rows, ["*"]
    )
    # The same table with nulls for N, which are wildcards too.
    rows = [tuple(None if cell == "N" else cell for cell in row) for row in rows]
    both = dv.Adversary(suppressed={"*": "wildcard"}, nulls="wildcard")
    typed = pa.table(
        {f"q{i}": pa.array(column, pa.string()) for i, column in enumerate(zip(*rows, strict=True))}
    )
    assert told(dv.measure(typed, quasi_identifiers="q*", adversary=both)) == expected(
        rows, ["*", None]
    )


def test_fully_suppressed_rows_hide_nobody() -> None:
    """By hand: a and b are unique in their class; fifty suppressed rows do not make it k = 51."""
    found = dv.measure(table_of(["aa", "bb", *["**"] * 50]), quasi_identifiers="q*", adversary=STAR)
    assert told(found) == {"k_anonymity": 1, "uniques": 2, "prosecutor_risk": 1}
    assert any("50 rows have nothing but wildcards" in note for note in found.notes)


@pytest.mark.parametrize("engine", ["memory", "spark collected"], indirect=True)
def test_other_engines(engine: Any) -> None:
    found = dv.measure(table_of(FRANCDAT), quasi_identifiers="q*", adversary=STAR, engine=engine)
    assert told(found) == {"k_anonymity": 2, "uniques": 0, "prosecutor_risk": 0.5}


def test_too_many_for_memory_raises_an_error(limited: dv.DuckDBEngine) -> None:
    with pytest.raises(BadInput, match="too many to look in memory for what matches a wildcard"):
        dv.measure(table_of(FRANCDAT), quasi_identifiers="q*", adversary=STAR, engine=limited)


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"l_diversity": 2},
        {},
        (
            "l_diversity >= 2 cannot be told: with wildcards classes overlap, and only "
            "k_anonymity, "
            "uniques, prosec"
        ),
    ),
    ({"promises": {"identity": {"itpr": 0.5}}}, {}, "identity itpr <= 0.5 cannot be told"),
    ({"k_map": 2}, {}, "k_map >= 2 cannot be told"),
    ({"uniques": 1000}, {"joint": True}, "joint=True"),
    (
        {"uniques": 1000},
        {"person": "p"},
        "the rows of one 'p' would be counted as people who hide each other",
    ),
    (
        {"uniques": 1000, "protect": [{"where": {"q": "a"}, "k_anonymity": 2}]},
        {},
        "chosen people may be behind a wildcard",
    ),
    (
        {"uniques": 1000, "adversary": {"rule_out": {"s": "x"}}},
        {},
        "rule_out= of the adversary has no effect here",
    ),
]


@pytest.mark.parametrize(("policy", "more", "why"), REFUSED)
def test_metrics_undefined_with_wildcards_raise_an_error(
    policy: dict[str, Any], more: dict[str, Any], why: str
) -> None:
    table = pa.table({"q": ["a", "a", "*"], "s": ["x", "y", "x"], "p": [1, 2, 3]})
    roles: dict[str, Any] = {
        "quasi_identifiers": "q",
        "sensitive": "s",
        "plain": [] if "person" in more else "p",
    }
    with pytest.raises(BadInput, match=why):
        dv.check(table, policy, **roles, **more, adversary=STAR)


def test_only_measure_and_check_support_wildcards() -> None:
    table = pa.table({"q": ["a", "a", "*"], "s": ["x", "y", "x"]})
    verbs = (
        lambda her: dv.rank(table, quasi_identifiers="q", adversary=her),
        lambda her: dv.generalize(
            table, policy={"k_anonymity": 2}, quasi_identifiers="q", plain="s", adversary=her
        ),
        lambda her: dv.cut(
            table, "q", about="s", policy={"k_anonymity": 2}, order=["a", "*"], adversary=her
        ),
    )
    for verb in verbs:
        with pytest.raises(BadInput, match="only measure and check can count"):
            verb(STAR)
        verb(dv.Adversary(suppressed={"*": "value"}))


# --- notes and warnings -----------------------------------------------------------------------
ROWS = "zip,age,disease\n1,20,flu\n1,20,flu\n*,20,flu\n2,,cold\n"


def test_cells_that_look_suppressed_are_noted(tmp_path: Path) -> None:
    """By hand: one of four zip codes, one of four ages."""
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    command = ["measure", str(tmp_path / "t.csv"), "--qi", "zip,age"]
    found = run_cli(*command, "--json").json()
    assert found["settings"]["suppressed"] == {"*": "value"}
    assert found["notes"] == [
        (
            "'*' stands in 25 % of the rows in zip; it counts as a value of its own; say "
            "--suppressed '*' --as wildcard if it matches anything"
        ),
        (
            "null stands in 25 % of the rows in age; it counts as a value of its own; say "
            "--nulls "
            "wildcard if it matches anything"
        ),
    ]
    assert [
        note.partition("; say ")[2]
        for note in dv.measure(tmp_path / "t.csv", quasi_identifiers=["zip", "age"]).notes
    ] == [
        "suppressed={'*': 'wildcard'} if it matches anything",
        "nulls='wildcard' if it matches anything",
    ]
    for said in (["wildcard", "wildcard"], ["value", "category"]):
        found = run_cli(
            *command, "--suppressed", "*", "--as", said[0], "--nulls", said[1], "--json"
        ).json()
        assert (found["settings"]["suppressed"], found["settings"]["nulls"]) == (
            {"*": said[0]},
            said[1],
        )
        assert not any("stands in" in note for note in found["notes"])


def test_policy_command_line_and_python_agree(tmp_path: Path) -> None:
    """Rows 1, 2 and 3 match each other; the fourth matches none."""
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "p.toml").write_text(
        'quasi_identifiers = ["zip", "age"]\nplain = "disease"\nk_anonymity = '
        '2\n[adversary]\nsuppressed = {"*" = "wildcard"}\n',
        encoding="utf-8",
    )
    of_file = run_cli(
        "check", str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.toml"), "--json"
    )
    by_hand = run_cli(
        *[
            "check",
            str(tmp_path / "t.csv"),
            "--qi",
            "zip,age",
            "--plain",
            "disease",
            "--k-anonymity",
            "2",
        ],
        *["--suppressed", "*", "--as", "wildcard", "--json"],
    )
    in_python = dv.check(
        tmp_path / "t.csv",
        {"k_anonymity": 2},
        quasi_identifiers=["zip", "age"],
        plain="disease",
        adversary=STAR,
    )
    assert of_file.code == by_hand.code == 1
    for found in (of_file.json(), by_hand.json(), in_python.to_dict()):
        assert found["promises"][0]["value"] == 1
        assert [item["class"] for item in found["promises"][0]["sample"]] == [
            {"zip": "2", "age": None}
        ]
        assert found["settings"]["suppressed"] == {"*": "wildcard"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--suppressed", "*"], "it is not said how '*' is meant. add --as wildcard or --as value"),
        (["--as", "value"], "--as value has no effect without --suppressed"),
        (
            ["--suppressed", "*", "--as", "unknown"],
            "'*' suppressed as 'unknown' is not known. use wildcard or value",
        ),
        (
            ["--suppressed", "*", "--as", "wildcard", "--t", "1"],
            "--t and --l are about a sensitive attribute",
        ),
        (
            ["--suppressed", "*", "--as", "wildcard", "--by", "itpr"],
            "cannot be told: with wildcards classes overlap",
        ),
    ],
)
def test_an_incomplete_suppression_option_raises_an_error(
    tmp_path: Path, options: list[str], told: str
) -> None:
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    found = run_cli("measure", str(tmp_path / "t.csv"), "--qi", "zip,age", *options)
    assert found.code == 2
    assert told in found.err


def test_fully_suppressed_columns_are_not_noted() -> None:
    """A fully suppressed column separates nobody, whatever its cells mean; 476** is a value."""
    found = dv.measure(
        pa.table({"a": ["*", "*"], "b": ["476**", "4767*"]}), quasi_identifiers=["a", "b"]
    )
    assert not any("stands in" in note for note in found.notes)
    assert found.settings["suppressed"] == {}


# --- values with several spellings ----------------------------------------------------------------
FOUR = ["HIV", "hiv", "HIV ", "HIV\u200b"]


def test_several_spellings_are_noted(engine: Any) -> None:
    table = pa.table(
        {
            "city": ["Ulm", "ulm", "Bonn", "Bonn", "B\u00fchl", "Bu\u0308hl", "Bonn", "*"],
            "disease": FOUR * 2,
        }
    )
    found = dv.measure(table, quasi_identifiers="city", sensitive="disease", engine=engine)
    notes = " | ".join(found.notes)
    assert "'HIV', 'HIV ', 'HIV\\u200b', 'hiv' of disease count as 4 values" in notes
    assert "the diversity looks larger than it may be" in notes
    assert "'Ulm', 'ulm' of city count as 2 values" in notes
    assert "'Bu\\u0308hl', 'Bühl' of city count as 2 values" in notes
    assert "Bonn" not in notes
    # By hand: one of eight.
    assert "'*' stands in 12 % of the rows in city" in notes
    assert found.settings["suppressed"] == {"*": "value"}
    assert dv.check(
        table, {"uniques": 1000}, quasi_identifiers="city", sensitive="disease"
    ).to_dict()["notes"] == list(
        dv.measure(table, quasi_identifiers="city", sensitive="disease").notes
    )


def test_a_profile_notes_them_too(engine: Any) -> None:
    found = dv.profile(pa.table({"disease": FOUR, "age": [1, 2, 3, 4]}), engine=engine)
    assert len(found.notes) == 1
    assert "'HIV', 'HIV ', 'HIV\\u200b', 'hiv' of disease count as 4 values" in found.notes[0]
    assert found.to_dict()["notes"] == list(found.notes)
    assert found.notes[0] in " ".join(str(found).split())


@pytest.mark.parametrize(
    "text", ["a\x00b", " a  b\t", "\u00a0a b", "A\u00adB", "\ufeffab", "A\x1cB"]
)
def test_arrow_and_python_fold_alike(text: str) -> None:
    """A value and its `folded` form are found, whichever of the two folds it."""
    for more in (text, text + "\u00e9"):
        domain = Domain("x", pa.array(sorted({more, wildcards.folded(more), "other"})), "text")
        assert [sorted(found) for found in wildcards.written_alike(domain)] == [
            sorted({more, wildcards.folded(more)})
        ]
