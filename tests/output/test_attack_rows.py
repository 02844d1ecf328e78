# SPDX-License-Identifier: Apache-2.0
"""Every number of a row about an attack, on attempts written by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from divulge.attacks import AttackResult, Attempt, KnowledgeResult
from divulge.attacks.result import AtRisk, Bound, Rate
from divulge.output import attack
from divulge.output.html import Html
from tests.output.test_numbers import in_one_line, page

SETTINGS: dict[str, Any] = {"source": "release", "knows": ["zip"], "targets": 40, "seed": 7}
ATTEMPT = Attempt(
    name="inference",
    aim="inference",
    about="disease",
    knows=("zip",),
    targets=40,
    guesses=32,
    successes=20.0,
    random=0.125,
    prior=0.25,
    control=Rate(6.0, 16),
    bound=Bound(0.75, "alpha <= 0.75"),
    told="It guesses.",
)


def result(*attempts: Attempt, **fields: Any) -> AttackResult:
    return AttackResult(attempts, **{"settings": SETTINGS, **fields})


def cells(section: Html) -> list[str]:
    """Return the texts of the cells after the drawing."""
    row = str(section).split("<tbody>", 1)[1].split("</tr>", 1)[0]
    return [page(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)][1:]


def test_a_row_of_a_page_has_each_number_in_its_column() -> None:
    """20 of 40 are 50%; Wilson's interval is 35.20% to 64.80%."""
    section = attack.sections(result(ATTEMPT), None, with_details=False)
    interval = "35.20% to 64.80%"
    assert cells(section) == ["50.00%", interval, "12.50%", "25.00%", "37.50%", "75.00%"]
    assert "Bounded by alpha &lt;= 0.75." in str(section)
    assert "broken" not in str(section)


@pytest.mark.parametrize(
    ("fields", "column"), [({"control": None}, 4), ({"prior": None}, 3), ({"random": None}, 2)]
)
def test_a_row_of_a_page_leaves_missing_numbers_empty(fields: dict[str, Any], column: int) -> None:
    complete = ["50.00%", "35.20% to 64.80%", "12.50%", "25.00%", "37.50%", "75.00%"]
    complete[column] = ""
    section = attack.sections(result(replace(ATTEMPT, **fields)), None, with_details=False)
    assert cells(section) == complete


def test_a_row_of_a_page_without_a_bound_or_with_a_broken_one() -> None:
    unbounded = attack.sections(result(replace(ATTEMPT, bound=None)), None, with_details=False)
    assert cells(unbounded)[4:] == ["37.50%", ""]
    assert "Bounded by" not in str(unbounded)
    broken = replace(ATTEMPT, bound=Bound(0.3, "alpha <= 0.3"))
    section = attack.sections(result(broken), None, with_details=False)
    assert cells(section)[4:] == ["37.50%", "30.00%"]
    assert "broken" in str(section)


def test_a_row_of_a_text_has_each_number_in_its_column() -> None:
    """20 of 32 guesses are 62.50%."""
    output = in_one_line(attack.attack_text(result(ATTEMPT)))
    assert (
        "inference disease 50.00% 35.20% 64.80% 32 62.50% 12.50% 25.00% 37.50% 75.00% "
        "alpha <= 0.75" in output
    )


def test_the_first_line_counts_the_bounds() -> None:
    unbounded = replace(ATTEMPT, bound=None)
    lines = list(attack.answer(result(ATTEMPT, unbounded, unbounded)))
    assert lines[0] == (
        "release: no attack achieves more than its promise leaves (1 of 3 are bounded)."
    )
    lines = list(attack.answer(result(unbounded)))
    assert lines[0] == "release: no promise bounds these attacks."
    broken = replace(ATTEMPT, bound=Bound(0.3, "alpha <= 0.3"))
    lines = list(attack.answer(result(broken, ATTEMPT)))
    assert lines[0].startswith("BROKEN: alpha <= 0.3 leaves at most 30.00%, and inference gets ")
    assert not any("no attack achieves more" in line for line in lines)


def test_targets_who_are_in_the_release_have_their_own_rate() -> None:
    """8 of 10 are 80%; Wilson's interval is 49.02% to 94.33%."""
    inside = replace(ATTEMPT, in_release=Rate(8.0, 10))
    clause = "80.00% (49.02% to 94.33%) of 10"
    output = in_one_line(attack.attack_text(result(inside)))
    assert f", and for {clause} of them who are in the release" in output
    assert f"are held against these: inference, disease {clause}" in output
    output = in_one_line(attack.attack_text(result(ATTEMPT)))
    assert "in the release" not in output


def test_three_targets_most_at_risk_are_listed() -> None:
    targets = tuple(
        AtRisk({"zip": str(index)}, index, index, "flu", belief=1 / index, right=1.0)
        for index in (1, 2, 4, 5)
    )
    output = in_one_line(attack.attack_text(result(replace(ATTEMPT, most_at_risk=targets))))
    assert "zip=1: 1 person, 1 fitting row; disease = flu with belief 100%" in output
    assert "zip=4: 4 people, 4 fitting rows; disease = flu with belief 25.00%" in output
    assert "zip=5" not in output


@pytest.mark.parametrize(("sets", "more"), [(20, 0), (21, 1), (25, 5)])
def test_twenty_sets_of_known_columns_are_listed(sets: int, more: int) -> None:
    """The sets with the highest rates are listed."""
    knowledge = tuple(
        KnowledgeResult((f"column{index}",), "disease", Rate(float(index), 40))
        for index in range(sets)
    )
    output = in_one_line(attack.attack_text(result(ATTEMPT, knowledge=knowledge)))
    assert (f"... and {more} more (in the JSON" in output) is (more > 0)
    assert (" more (in the JSON" in output) is (more > 0)
    assert (" column0 " in output) is (more == 0)
    assert f" column{sets - 1} " in output


def test_the_verdict_counts_violated_bounds_if_there_are_several() -> None:
    """Two of three bounds are violated, and two attempts have no bound."""
    unbounded = replace(ATTEMPT, bound=None)
    broken = replace(ATTEMPT, bound=Bound(0.3, "alpha <= 0.3"))
    several = result(broken, broken, ATTEMPT, unbounded, unbounded)
    assert attack.verdict(several).startswith("2 of 3 bounds are broken. BROKEN: alpha <= 0.3 ")
    one = result(broken, ATTEMPT, unbounded, unbounded)
    assert attack.verdict(one).startswith("BROKEN: alpha <= 0.3 ")
