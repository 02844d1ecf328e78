# SPDX-License-Identifier: Apache-2.0
"""Rows of tables and sections of pages, on small results whose cells are known."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.attacks.result import Rate
from divulge.generalization import Front
from divulge.generalization.pareto import Point
from divulge.output.compare import _attack_rows, _utility_cell, sections
from divulge.output.compose import prior_releases_section
from divulge.output.measurement import verdict_rows
from divulge.output.releases import front_rows

RELEASED = {
    "release": "first",
    "kind": "generalized",
    "classes": 2,
    "people": 8,
    "found_by": {"how": "mapping"},
    "made_of": "people.csv",
}
JOINT = "The promises above are about joint classes"
ALONE = "The numbers on this page are those of the release alone."


def test_a_front_of_one_point_has_one_row() -> None:
    point = Point({"zip": 1, "age": 2}, 0.5, 0.25, 3, 4, on_front=True)
    names, rows = front_rows(Front("alpha", "disease", "loss", (point,)))
    assert names == (
        "value",
        "leakage",
        "suppressed",
        "classes",
        "on_front",
        "level.zip",
        "level.age",
    )
    assert list(rows) == [(0.25, 0.5, 3, 4, True, 1, 2)]


def test_requirements_and_findings_have_the_same_columns() -> None:
    """Each of four people is unique by job, which nobody gave a role."""
    people = pa.table({"zip": ["1", "1", "2", "2"], "job": ["a", "b", "c", "d"]})
    verdict = dv.check(people, {"k_anonymity": 2}, quasi_identifiers="zip")
    assert verdict.findings
    names, rows = verdict_rows(verdict)
    assert [len(row) for row in rows] == [len(names)] * (1 + len(verdict.findings))
    finding = dict(zip(names, list(rows)[-1], strict=True))
    assert finding["holds"] is False
    assert finding["why"] == verdict.findings[-1].text


@pytest.mark.parametrize(
    ("name", "cell"),
    [("rows_left_out", "25%"), ("information_loss.disease", "25%"), ("mean_distance", "0.25")],
)
def test_shares_of_utility_are_percentages(name: str, cell: str) -> None:
    assert _utility_cell(name, 0.25) == cell


def test_the_utility_table_names_the_tables_whose_utility_was_measured() -> None:
    """Nothing was released from a table, so its utility is not measured."""
    people = pa.table({"zip": ["10", "11", "20", "21"], "disease": ["flu", "cold", "flu", "cold"]})
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
    policy = {"k_anonymity": 2, "hierarchies": {"zip": {"prefix": [1]}}}
    generalized = dv.compare({"people": people}, policies=[policy], **roles)
    assert [table.utility is None for table in generalized] == [True, False]
    utility_section = str(sections(generalized, None)).split("What is left of", 1)[1]
    head = utility_section.split("<tbody>", 1)[0]
    assert re.findall(r"<th [^>]*>([^<]*)</th>", head) == ["what", generalized.others[0].name]
    by_values = dv.compare([people, people], **roles)
    assert [table.utility is None for table in by_values] == [True, True]
    assert "What is left of" not in str(sections(by_values, None))


@pytest.mark.parametrize(
    ("successes", "change"), [(2.0, "better"), (20.0, None), (24.0, None), (38.0, "worse")]
)
def test_an_attack_changed_only_if_the_intervals_do_not_overlap(
    successes: float, change: str | None
) -> None:
    """20 of 40 successes have the interval 35% to 65%.

    That of 2 ends below 20%, that of 38 begins above 80%.
    """

    def compared(name: str, count: float) -> Any:
        attempt = SimpleNamespace(name="inference", about="disease", rate=Rate(count, 40))
        return SimpleNamespace(name=name, attacked=SimpleNamespace(attempts=(attempt,)))

    reference = compared("original", 20.0)
    comparison: Any = SimpleNamespace(reference=reference)
    (row,) = _attack_rows(comparison, compared("release", successes))
    assert row == (
        "release",
        "attack",
        "disease",
        "inference",
        successes / 40,
        pytest.approx((successes - 20) / 40),
        change,
    )
    (own_row,) = _attack_rows(comparison, reference)
    assert own_row[5:] == (None, None)


@pytest.mark.parametrize("holder", ["after", "measurement", None])
def test_prior_releases_are_explained_by_what_was_measured(holder: str | None) -> None:
    for settings, explanation in (({"released": [RELEASED]}, JOINT), ({}, ALONE)):
        measurement = SimpleNamespace(settings=settings)
        result = measurement if holder is None else SimpleNamespace(**{holder: measurement})
        ((_, section),) = prior_releases_section([RELEASED], result)
        assert explanation in str(section)
        assert (JOINT in str(section)) is not (ALONE in str(section))
    assert not list(prior_releases_section([], SimpleNamespace(settings={})))
