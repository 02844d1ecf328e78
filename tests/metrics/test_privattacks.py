# SPDX-License-Identifier: Apache-2.0
"""privattacks as a differential oracle of Bayes vulnerability.

The tests use its own examples, random tables and every set of columns. Its numbers are called
re-identification (our identity) and attribute inference. Both exist before and after publication,
and one per record.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from tests.metrics.drawn import measured, opened

privattacks = pytest.importorskip(
    "privattacks", reason="privattacks is not installed (requirements-oracle.txt)"
)

PEOPLE = pd.DataFrame(
    {
        "age": [20, 30, 30, 30, 30, 55, 55, 55],
        "education": [
            "Master",
            "High School",
            "High School",
            "PhD",
            "PhD",
            "Bachelor",
            "Bachelor",
            "Bachelor",
        ],
        "income": ["low", "medium", "low", "medium", "medium", "high", "high", "medium"],
    }
)
"""The example of its guide, and of its tests."""
ILL = pd.DataFrame(
    {
        "age": [25] * 5 + [49] * 4 + [60],
        "disease": [
            "heart",
            "asthma",
            "asthma",
            "asthma",
            "heart",
            "asthma",
            "asthma",
            "heart",
            "heart",
            "heart",
        ],
    }
)
"""The other one of its tests."""


def attack(frame: pd.DataFrame) -> Any:
    return privattacks.Attack(privattacks.Data(dataframe=frame.copy()))  # it fills nulls in place


def same(frame: pd.DataFrame, quasi_identifiers: list[str], sensitive: list[str]) -> None:
    ours = measured(frame, quasi_identifiers=quasi_identifiers, sensitive=sensitive)
    theirs = attack(frame)
    before = theirs.prior_vulnerability("all", sensitive)
    after = theirs.posterior_vulnerability("all", quasi_identifiers, sensitive)
    assert ours.identity["prior_vulnerability"].value == pytest.approx(before["reid"])
    assert ours.identity["posterior_vulnerability"].value == pytest.approx(after["reid"])
    people = ours.contingency.sizes
    records = theirs.posterior_vulnerability("all", quasi_identifiers, sensitive, distribution=True)
    by_class = ours.per_class("posterior_vulnerability").repeat(people)
    assert sorted(by_class) == pytest.approx(sorted(records["reid"][1]))
    for name in sensitive:
        found = ours.sensitive[name]
        assert found["prior_vulnerability"].value == pytest.approx(before["ai"][name])
        assert found["posterior_vulnerability"].value == pytest.approx(after["ai"][name])
        gained = after["ai"][name] - before["ai"][name]
        assert found["additive_leakage"].value == pytest.approx(gained)
        by_class = ours.per_class("posterior_vulnerability", name).repeat(people)
        assert sorted(by_class) == pytest.approx(sorted(records["ai"][1][name]))


def test_its_own_examples() -> None:
    same(PEOPLE, ["age", "education"], ["income"])
    same(ILL, ["age"], ["disease"])


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "zip": st.sampled_from(["476", "479"]),
                "age": st.sampled_from([20, 30, 40]),
                "disease": st.sampled_from(["flu", "gout", "cancer"]),
                "visits": st.sampled_from([0, 1, 5]),
            }
        ),
        min_size=1,
        max_size=25,
    ).map(pd.DataFrame)
)
@settings(deadline=None, max_examples=30)
def test_random_tables(frame: pd.DataFrame) -> None:
    same(frame, ["zip", "age"], ["disease", "visits"])


def test_every_set_of_columns() -> None:
    """The numbers of rank for each combination, on the table that is printed in its guide."""
    theirs = attack(PEOPLE).posterior_vulnerability(
        "all", ["age", "education"], ["income"], combinations=[1, 2]
    )
    ranked = dv.rank(
        opened(PEOPLE), quasi_identifiers=["age", "education"], sensitive="income", up_to=2
    )
    ours = {
        ",".join(item.columns): (
            item.identity["posterior_vulnerability"],
            item.sensitive["income"]["posterior_vulnerability"],
        )
        for item in (*ranked.combinations, ranked.everything)
    }
    rows = theirs.to_dict("records")
    assert {
        row["qids"]: (float(row["posterior_reid"]), float(row["posterior_income"])) for row in rows
    } == ours
    assert ours == {
        "age": (3 / 8, 3 / 4),
        "education": (1 / 2, 3 / 4),
        "age,education": (1 / 2, 3 / 4),
    }
