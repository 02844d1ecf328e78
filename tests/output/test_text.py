# SPDX-License-Identifier: Apache-2.0
"""Text on a terminal: counts in words, ties, people with several rows, narrow terminals."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console, RenderableType

import divulge as dv
from divulge.errors import BadInput, BrokenPromise
from divulge.output.formatting import percent, settings_sentence
from divulge.output.measurement import story_text, uniqueness_lines, worst_classes
from divulge.policy import Promise, judge
from divulge.policy.uniqueness import Uniqueness


def printed(shown: RenderableType, width: int = 120) -> str:
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (0.5, "50%"),
        (0.0027, "0.27%"),
        (0.995, "99.50%"),
        (1e-6, "under 0.01%"),
    ],
)
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_percent_distinguishes_nearly_all_from_all() -> None:
    assert percent(0.999999) == "over 99.99%"


def test_one_row_is_one_row() -> None:
    measured = dv.measure(pa.table({"a": ["x"], "s": ["y"]}), quasi_identifiers="a", sensitive="s")
    assert "1 row, 1 person, 1 class of a" in printed(story_text(measured))


def test_in_a_tie_the_worst_class_is_the_first_of_the_list() -> None:
    # u, v and w are homogeneous and equally surprising; w has the most people.
    table = pa.table({"a": [*"u", *"vv", *"wwww", *"z" * 20], "s": ["ill"] * 7 + ["well"] * 20})
    measured = dv.measure(table, quasi_identifiers="a", sensitive="s")
    assert worst_classes(measured, max_classes=1)[0].key == {"a": "w"}
    assert "in the worst class, a=w." in printed(story_text(measured))


def test_a_person_unique_in_two_classes_counts_once() -> None:
    table = pa.table({"p": [1, 1], "a": ["x", "y"], "s": ["u", "v"]})
    measured = dv.measure(table, quasi_identifiers="a", sensitive="s", person="p")
    shown = printed(story_text(measured))
    assert (
        "1 person (100%) is unique in at least one of their rows (2 classes of 2 hold one person)"
        in shown
    )
    assert "200%" not in shown


def test_settings_are_shown_in_words() -> None:
    table = pa.table({"p": [1, 2, 3], "a": ["x", "y", "x"], "s": ["u", "v", None]})
    measured = dv.measure(
        table,
        quasi_identifiers="a",
        sensitive="s",
        person="p",
        adversary=dv.Adversary(rule_out={"s": ["u"]}),
    )
    text = settings_sentence(measured.settings)
    assert "people told apart by p" in text
    assert "ruled out for s: u" in text


def test_a_violation_counts_its_classes_even_without_a_sample() -> None:
    table = pa.table({"a": ["x", "y", "z", "z"]})
    measured = dv.measure(table, quasi_identifiers="a")
    for sample, names in ((0, 0), (1, 1), (5, 2)):
        verdict = judge(measured, [Promise.make("k_anonymity", 2)], sample=sample)
        shown = printed(verdict.text(sample=sample))
        assert "k_anonymity >= 2 is broken by 2 classes with 2 people" in shown
        assert shown.count("(1 person)") == names


@pytest.mark.parametrize(
    ("unique", "sentence"),
    [
        (0, "None of 100 people is unique for an adversary who knows zip and job."),
        (12, "12 of 100 people (12%) are unique for an adversary who knows zip and job."),
    ],
)
def test_unique_people_are_counted_without_k_if_another_k_was_measured(
    unique: int, sentence: str
) -> None:
    measured = dv.measure(pa.table({"zip": ["1", "1", "2", "2"]}), quasi_identifiers="zip")
    uniqueness = Uniqueness(
        ("zip",),
        ("job",),
        (),
        k=1,
        by_quasi_identifiers=0,
        unique=unique,
        with_sensitive=unique,
        of=100,
        required=0.5,
    )
    warning, lines = uniqueness_lines(uniqueness, measured)
    assert not warning
    assert lines[0].plain == sentence


def test_notes_show_dates_as_people_write_them() -> None:
    table = pa.table({"a": pa.array([0, 0], pa.date32()), "s": ["u", "v"]})
    assert (
        "has one value only (1970-01-01)"
        in dv.measure(table, quasi_identifiers="a", sensitive="s").notes[0]
    )


def test_worst_classes_by_a_name_that_identity_has_too() -> None:
    measured = dv.measure(pa.table({"a": ["x", "y", "y"]}), quasi_identifiers="a")
    assert worst_classes(measured, max_classes=1, metric_name="itpr")[0].key == {"a": "x"}


@pytest.mark.parametrize("width", [80, 120])
def test_no_word_is_broken_on_a_narrow_terminal(width: int) -> None:
    table = pa.table(
        {"marital_status": ["single", "married", "married"], "diagnosis": ["flu", "flu", "cold"]}
    )
    measured = dv.measure(table, quasi_identifiers="marital_status", sensitive="diagnosis")
    shown = printed(measured.text(), width) + printed(dv.profile(table).text(), width)
    assert max(len(line) for line in shown.splitlines()) <= width
    words = " ".join(shown.split())
    for word in (
        "maximum_information_leakage_printed",
        "marital_status",
        "quasi_identifier",
        "probability",
    ):
        assert word in words
    assert "the fewest people who share one combination of quasi-identifiers" in words


def test_a_result_is_one_line_in_a_shell_and_the_text_of_the_command_in_print() -> None:
    table = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "flu", "cold"]})
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
    verdict = dv.check(table, dv.Policy(k_anonymity=2), **roles)
    results: list[Any] = [
        dv.measure(table, **roles),
        verdict,
        dv.profile(table),
        dv.rank(table, **roles),
    ]
    for result in results:
        assert "\n" not in repr(result)
        assert len(repr(result)) < 200
        assert str(result).splitlines()[0] in repr(result)
    assert "1 of 1 promises are broken" in str(verdict)


def test_a_verdict_holds_its_measurement_and_raises_for_what_is_broken() -> None:
    table = pa.table({"zip": ["1", "1", "2"]})
    broken = dv.check(table, dv.Policy(k_anonymity=2), quasi_identifiers="zip")
    assert broken.measurement["k_anonymity"].value == 1
    with pytest.raises(BrokenPromise, match=r"k_anonymity >= 2 \(measured 1\)"):
        broken.raise_for_broken()
    dv.check(table, dv.Policy(uniques=1000), quasi_identifiers="zip").raise_for_broken()


def test_a_profile_returns_a_column_by_its_name() -> None:
    found = dv.profile(pa.table({"zip": ["1", "1", "2"]}))
    assert found["zip"].distinct == 2
    with pytest.raises(BadInput, match="did you mean 'zip'"):
        found["zap"]
