# SPDX-License-Identifier: Apache-2.0
"""Sentences about the utility cost of requirements, on explanations written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.generalization import Explanation, Plan
from divulge.generalization.requirement_cost import Alternative, ColumnPrice, RelaxedBound
from divulge.output.utility import warning_parts
from tests.output.test_numbers import in_one_line


def alternative(value: float, saves: float = 0.0, **levels: int) -> Alternative:
    return Alternative(value, saves, levels, suppressed=3, classes=7, exact=True)


def relaxed(
    name: str, bound: float, original: float, value: float, *, given_up: bool = False
) -> RelaxedBound:
    return RelaxedBound(
        promise=f"{name} >= {bound:g}",
        of=f"{name} >= {original:g}",
        bound=bound,
        instead_of=original,
        at=alternative(value),
        proved=True,
        given_up=given_up,
    )


def price(column: str, level: int | None, *gentler: RelaxedBound, wiped_out: bool) -> ColumnPrice:
    return ColumnPrice(column, level, 2, wiped_out, (), gentler)


def explanation(**fields: Any) -> Explanation:
    """Explain a release with objective 0.5 and loss 0.25: tenths of them differ."""
    plain = Explanation(
        method="full-domain",
        objective="entropy",
        value=0.5,
        loss=0.25,
        promises=(),
        columns=(),
        suppression={},
        boxes=None,
    )
    return replace(plain, **fields)


@pytest.fixture(scope="module")
def wiped_out_plan() -> Plan:
    """Two people with two zip codes: two in a class need one label."""
    release = dv.generalize(
        pa.table({"zip": ["11", "22"], "s": ["a", "b"]}),
        policy=dv.Policy(k_anonymity=2),
        quasi_identifiers="zip",
        sensitive="s",
        hierarchies={"zip": {"prefix": [1]}},
    )
    return release.plan


def advice(plan: Plan, explained: Explanation) -> str:
    """Return the sentence with the best alternatives."""
    return in_one_line(list(warning_parts(plan, explained))[-1])


# --- advice ---------------------------------------------------------------------------------------
def test_the_advised_bound_is_the_nearest_relative_to_the_original(wiped_out_plan: Plan) -> None:
    """From 100 to 90 is a tenth, from 4 to 3 a quarter, although 1 is less than 10."""
    bounds = (relaxed("l_diversity", 3, 4, 0.1), relaxed("k_anonymity", 90, 100, 0.2))
    for order in (bounds, bounds[::-1]):
        explained = explanation(columns=(price("zip", 1, *order, wiped_out=True),))
        assert advice(wiped_out_plan, explained) == (
            "What would help most: k_anonymity >= 90 instead of 100 (entropy 0.2)."
        )


def test_a_bound_of_zero_is_far_from_every_other(wiped_out_plan: Plan) -> None:
    bounds = (relaxed("t_closeness", 0.1, 0, 0.1), relaxed("k_anonymity", 2, 100, 0.2))
    explained = explanation(columns=(price("zip", 1, *bounds, wiped_out=True),))
    assert "help most: k_anonymity >= 2 instead of 100" in advice(wiped_out_plan, explained)


@pytest.mark.parametrize(("saves", "is_advised"), [(0.05, False), (0.0501, True)])
def test_advised_suppression_saves_more_than_a_tenth_of_the_objective(
    saves: float,
    is_advised: bool,  # noqa: FBT001
    wiped_out_plan: Plan,
) -> None:
    """The smallest share is named that saves enough; a tenth of 0.5 is not enough."""
    suppression = {
        0.01: alternative(0.48, 0.02),
        0.02: alternative(0.44, saves),
        0.05: alternative(0.42, saves),
    }
    assert advice(wiped_out_plan, explanation(suppression=suppression)) == (
        "What would help most: suppression=0.02 (entropy 0.44)."
        if is_advised
        else "No gentler bound, no suppression up to 5 % and no boxes help: use fewer "
        "quasi-identifiers."
    )


@pytest.mark.parametrize(("saves", "is_advised"), [(0.025, False), (0.0251, True)])
def test_advised_boxes_save_more_than_a_tenth_of_the_loss(
    saves: float,
    is_advised: bool,  # noqa: FBT001
    wiped_out_plan: Plan,
) -> None:
    output = advice(wiped_out_plan, explanation(boxes=alternative(0.2, saves)))
    assert ("help most: method='mondrian' (loss 0.2)." in output) is is_advised
    assert ("no boxes help" in output) is not is_advised


# --- alternatives ---------------------------------------------------------------------------------
def test_suppression_keeps_something_of_columns_with_a_lower_level() -> None:
    """Only zip gets finer; age keeps its level, and sex is not fully suppressed."""
    columns = (
        price("zip", 2, wiped_out=True),
        price("age", 1, wiped_out=True),
        price("sex", 1, wiped_out=False),
    )
    suppression = {
        0.01: alternative(0.4, 0.1, zip=2, age=1, sex=0),
        0.05: alternative(0.3, 0.2, zip=1, age=1, sex=0),
    }
    output = in_one_line(str(explanation(columns=columns, suppression=suppression)))
    assert "suppression=0.01 (up to 1%): entropy 0.4, 3 people left out." in output
    assert (
        "suppression=0.05 (up to 5%): entropy 0.3, 3 people left out; something of zip is kept."
        in output
    )
    assert "would buy nothing" not in output


def test_the_largest_share_that_buys_nothing() -> None:
    suppression = {share: alternative(0.5, 0.0) for share in (0.005, 0.05, 0.01)}
    output = in_one_line(str(explanation(suppression=suppression)))
    assert "Leaving out up to 5% would buy nothing." in output
    assert "suppression=" not in output


@pytest.mark.parametrize(("saves", "note"), [(0.01, ""), (0.0, ", no better"), (-1, ", no better")])
def test_boxes_are_better_only_if_they_save(saves: float, note: str) -> None:
    output = in_one_line(str(explanation(boxes=alternative(0.2, saves))))
    assert f"method='mondrian': loss 0.2{note} (7 classes)." in output


# --- columns --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given_up", "proved", "sentence"),
    [
        (False, True, "k >= 2 instead of 5: the nearest bound that keeps"),
        (False, False, "k >= 2 instead of 5: keeps, and a nearer bound may keep,"),
        (True, True, "without k >= 5: no gentler bound keeps"),
        (True, False, "without k >= 5: a gentler bound may keep, too,"),
    ],
)
def test_columns_that_a_relaxed_bound_saves(
    given_up: bool,  # noqa: FBT001
    proved: bool,  # noqa: FBT001
    sentence: str,
) -> None:
    bound = replace(relaxed("k", 2, 5, 0.3, given_up=given_up), proved=proved)
    columns = tuple(price(name, 1, bound, wiped_out=True) for name in ("zip", "age"))
    output = in_one_line(str(explanation(columns=columns)))
    assert f"{sentence} something of zip, age (entropy 0.3)." in output
    assert "keeps anything" not in output


@pytest.mark.parametrize(("cut_short", "note"), [(False, ""), (True, " of those looked at")])
def test_columns_that_no_relaxed_bound_saves(
    cut_short: bool,  # noqa: FBT001
    note: str,
) -> None:
    """Of boxes no relaxed bound is tried, and sex is not fully suppressed."""
    columns = (
        price("zip", 1, wiped_out=True),
        price("box", None, wiped_out=True),
        price("sex", 1, wiped_out=False),
        price("age", 1, relaxed("k", 2, 5, 0.3), wiped_out=True),
    )
    output = in_one_line(str(explanation(columns=columns, cut_short=cut_short)))
    assert f" zip: no gentler bound of one promise alone{note} keeps anything." in output
