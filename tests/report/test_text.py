# SPDX-License-Identifier: Apache-2.0
"""What people read on a terminal: counts in words, ties, people with several rows, narrow terminals."""

from __future__ import annotations

import pyarrow as pa
import pytest
from rich.console import Console, RenderableType

import divulge as dv
from divulge.policy import Promise, judge
from divulge.report.columns import profile_text
from divulge.report.text import measurement_text, settings_sentence, story_text, verdict_text
from divulge.report.words import percent, worst_classes


def printed(shown: RenderableType, width: int = 120) -> str:
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0%"), (1.0, "100%"), (0.5, "50%"), (0.0027, "0.27%"), (0.995, "99.50%"), (1e-6, "under 0.01%")],
)
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_percent_tells_almost_everybody_from_everybody() -> None:
    assert percent(0.999999) == "over 99.99%"


def test_one_row_is_one_row() -> None:
    measured = dv.measure(pa.table({"a": ["x"], "s": ["y"]}), quasi_identifiers="a", sensitive="s")
    assert "1 row, 1 person, 1 class of a" in printed(story_text(measured))


def test_in_a_tie_the_worst_class_is_the_one_that_the_list_begins_with() -> None:
    # u, v and w are homogeneous and equally surprising; w has the most people.
    table = pa.table({"a": [*"u", *"vv", *"wwww", *"z" * 20], "s": ["ill"] * 7 + ["well"] * 20})
    measured = dv.measure(table, quasi_identifiers="a", sensitive="s")
    assert worst_classes(measured, most=1)[0].key == {"a": "w"}
    assert "the worst, a=w, gives" in printed(story_text(measured))


def test_somebody_alone_in_two_classes_is_not_two_people() -> None:
    table = pa.table({"p": [1, 1], "a": ["x", "y"], "s": ["u", "v"]})
    measured = dv.measure(table, quasi_identifiers="a", sensitive="s", person="p")
    shown = printed(story_text(measured))
    assert "2 classes of 2 hold 1 person only" in shown
    assert "200%" not in shown


def test_settings_are_told_in_words() -> None:
    table = pa.table({"p": [1, 2, 3], "a": ["x", "y", "x"], "s": ["u", "v", None]})
    measured = dv.measure(
        table, quasi_identifiers="a", sensitive="s", person="p", adversary=dv.Adversary(rule_out={"s": ["u"]})
    )
    told = settings_sentence(measured.settings)
    assert "people told apart by p" in told
    assert "ruled out for s: u" in told


def test_a_broken_promise_counts_its_classes_without_a_sample_too() -> None:
    table = pa.table({"a": ["x", "y", "z", "z"]})
    measured = dv.measure(table, quasi_identifiers="a")
    for sample, names in ((0, 0), (1, 1), (5, 2)):
        verdict = judge(measured, [Promise.make("k_anonymity", 2)], sample=sample)
        shown = printed(verdict_text(verdict, measured, sample=sample))
        assert "k_anonymity >= 2 is broken by 2 classes with 2 people" in shown
        assert shown.count("(1 person)") == names


def test_notes_show_dates_as_people_write_them() -> None:
    table = pa.table({"a": pa.array([0, 0], pa.date32()), "s": ["u", "v"]})
    assert "has one value only (1970-01-01)" in dv.measure(table, quasi_identifiers="a", sensitive="s").notes[0]


def test_worst_classes_by_a_name_that_identity_has_too() -> None:
    measured = dv.measure(pa.table({"a": ["x", "y", "y"]}), quasi_identifiers="a")
    assert worst_classes(measured, most=1, by="itpr")[0].key == {"a": "x"}


@pytest.mark.parametrize("width", [80, 120])
def test_no_word_is_broken_on_a_narrow_terminal(width: int) -> None:
    table = pa.table({"marital_status": ["single", "married", "married"], "diagnosis": ["flu", "flu", "cold"]})
    measured = dv.measure(table, quasi_identifiers="marital_status", sensitive="diagnosis")
    shown = printed(measurement_text(measured), width) + printed(profile_text(dv.profile(table), "people"), width)
    assert max(len(line) for line in shown.splitlines()) <= width
    words = " ".join(shown.split())
    for word in ("maximum_information_leakage_printed", "marital_status", "quasi_identifier", "probability"):
        assert word in words
    assert "the fewest people who share one combination of quasi-identifiers" in words
