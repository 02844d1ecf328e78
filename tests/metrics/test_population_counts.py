# SPDX-License-Identifier: Apache-2.0
"""A population given as counts: a column has the number of people that a row represents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import divulge as dv
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from tests.helpers import run_cli

SAMPLE = pa.table({"zip": ["1", "1", "2", "3"], "age": [30, 30, 40, 40]})
EVERYBODY = pa.table(
    {"zip": ["1", "1", "2", "3", "9"], "age": [30, 30, 40, 40, 50], "people": [4, 3, 2, 5, 0]}
)


def k_map(population: Any, engine: Any = None, **asked: Any) -> list[float]:
    """The k-map number of each class, in the order of the keys."""
    her = dv.Adversary(population=population, **asked)
    found = dv.measure(SAMPLE, quasi_identifiers=["zip", "age"], adversary=her, engine=engine)
    return sorted(found.per_class("k_map").tolist())


def test_counts_are_people(engine: OwnEngine) -> None:
    """Seven people of zip 1, two of zip 2, five of zip 3, as counted by hand.

    A table with a row for each of them gives equal numbers.
    """
    assert k_map(EVERYBODY, engine, population_count="people") == [2, 5, 7]
    one_by_one = pa.table({"zip": ["1"] * 7 + ["2"] * 2 + ["3"] * 5, "age": [30] * 7 + [40] * 7})
    assert k_map(one_by_one, engine) == [2, 5, 7]


@pytest.mark.parametrize("value", [None, -1.0, 2.5, 1e300])
def test_invalid_numbers_of_people_raise_an_error(value: float | None) -> None:
    wrong = EVERYBODY.set_column(2, "people", pa.array([4.0, 3.0, 2.0, 5.0, value]))
    with pytest.raises(
        BadInput, match="1 rows of the Arrow table have no number of people in 'people'"
    ):
        k_map(wrong, population_count="people")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"population": EVERYBODY, "population_count": "persons"}, "no column 'persons'"),
        ({"population": EVERYBODY, "population_count": "zip"}, "cannot say how many people"),
        ({"population_count": "people"}, "is a column of a population, and there is none"),
    ],
)
def test_bad_requests(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        dv.measure(SAMPLE, quasi_identifiers=["zip", "age"], adversary=dv.Adversary(**asked))


def test_on_the_command_line_and_in_a_policy(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(SAMPLE, tmp_path / "sample.csv")
    pyarrow.csv.write_csv(EVERYBODY, tmp_path / "everybody.csv")
    asked = ["measure", str(tmp_path / "sample.csv"), "--qi", "zip,age", "--json"]
    told = run_cli(
        *asked, "--population", str(tmp_path / "everybody.csv"), "--population-count", "people"
    ).json()
    assert told["identity"]["k_map"] == 2
    policy = tmp_path / "divulge.toml"
    policy.write_text(
        'quasi_identifiers = ["zip", "age"]\n[promises]\nk_map = 3\n'
        '[adversary]\npopulation = "everybody.csv"\npopulation_count = "people"\n',
        encoding="utf-8",
    )
    judged = run_cli("check", str(tmp_path / "sample.csv"), "--policy", str(policy), "--json")
    assert (judged.code, judged.json()["promises"][0]["value"]) == (1, 2)


def test_population_counts_apply_to_a_release() -> None:
    """Zip and age suppressed: all four among the fourteen."""
    her = dv.Adversary(population=EVERYBODY, population_count="people")
    levels = {"zip": {"suppress": True}, "age": {"suppress": True}}
    found = dv.generalize(
        SAMPLE,
        policy={"k_map": 14},
        quasi_identifiers=["zip", "age"],
        adversary=her,
        hierarchies=levels,
    )
    assert found.after.identity["k_map"].value == 14
