# SPDX-License-Identifier: Apache-2.0
"""Small runs of the test bed: predicted success on raw tables, bounds of releases, homogeneity."""

from __future__ import annotations

from math import comb
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from tests.attacks.bed import most_by_chance, play

COLUMNS = ["zip", "age", "sex", "education"]


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    return pa.table(dv.datasets.patients(rows=500, seed=5))


def test_the_success_rate_on_raw_tables_is_the_vulnerability(patients: pa.Table) -> None:
    """If all people are attacked, the rate is the vulnerability, which is the mean best guess."""
    for columns in (["sex"], ["age", "sex"], COLUMNS):
        table = patients.select([*columns, "diagnosis"])
        predicted = dv.measure(table, quasi_identifiers=columns, sensitive="diagnosis")
        found = dv.attack(
            table, truth=table, sensitive="diagnosis", knows=columns, records=table.num_rows
        )
        rates = {attempt.name: attempt.rate.value for attempt in found.attempts}
        assert rates["prosecutor"] == pytest.approx(
            predicted.identity["posterior_vulnerability"].value
        )
        assert rates["inference"] == pytest.approx(predicted["posterior_vulnerability"].value)


def test_the_success_rate_of_a_sample_is_near_the_vulnerability(patients: pa.Table) -> None:
    """The interval of a few hundred targets contains the rate of all, in each of five draws."""
    table = patients.select([*COLUMNS, "diagnosis"])
    predicted = dv.measure(table, quasi_identifiers=COLUMNS, sensitive="diagnosis")[
        "posterior_vulnerability"
    ].value
    for seed in range(5):
        asked: dict[str, Any] = {"attacks": "inference", "records": 200, "seed": seed}
        (attempt,) = dv.attack(
            table, truth=table, sensitive="diagnosis", knows=COLUMNS, **asked
        ).attempts
        assert attempt.rate.low <= predicted <= attempt.rate.high


def test_releases_stay_below_their_bounds(patients: pa.Table) -> None:
    played = list(play(patients, COLUMNS, ["diagnosis", "income"], games=4, seed=3, records=250))
    bounded = [attempt for game in played for attempt in game.bounded]
    broken = [
        (attempt.name, attempt.rate.value, attempt.bound) for attempt in bounded if attempt.broken
    ]
    assert len(bounded) >= 4
    assert broken == []


def test_k_anonymity_does_not_protect_from_homogeneity() -> None:
    """Each zip has five people, and in two of three zips all have the same disease.

    So k is 5, and the disease of ten of fifteen people follows from their zip.
    """
    rows = [
        (zip_, disease)
        for zip_, ill in {"1": "aaaaa", "2": "bbbbb", "3": "abcab"}.items()
        for disease in ill
    ]
    table = pa.table(
        {"zip": [zip_ for zip_, _ in rows], "disease": [disease for _, disease in rows]}
    )
    assert dv.measure(table, quasi_identifiers="zip", sensitive="disease")["k_anonymity"].value == 5
    asked: dict[str, Any] = {"attacks": "homogeneity", "policy": {"promises": {"k_anonymity": 5}}}
    (attempt,) = dv.attack(table, truth=table, knows="zip", sensitive="disease", **asked).attempts
    assert attempt.successes == 10
    assert attempt.bound is None  # k promises nothing about a disease


@pytest.mark.parametrize(("attempts", "most"), [(1, 1), (40, 5), (400, 21)])
def test_how_many_may_exceed_a_bound_by_chance(attempts: int, most: int) -> None:
    def more_than(broken: int) -> float:
        return 1 - sum(
            comb(attempts, n) * 0.025**n * 0.975 ** (attempts - n) for n in range(broken + 1)
        )

    assert most_by_chance(attempts) == most
    assert more_than(most) <= 0.001 < more_than(most - 1)


# --- anonymeter's own examples (its tests, with one neighbour); benchmarks/rivals.py asks anonymete


@pytest.mark.parametrize(
    ("released", "expected"), [(["b", "d"], 1.0), (["b", "e"], 0.5), (["h", "g"], 0.0)]
)
def test_inference_as_anonymeter_expects_it(released: list[str], expected: float) -> None:
    truth, release = (
        pa.table({"c0": ["a", "c"], "c1": ["b", "d"]}),
        pa.table({"c0": ["a", "c"], "c1": released}),
    )
    (attempt,) = dv.attack(
        release, truth=truth, knows="c0", sensitive="c1", attacks="nearest-value"
    ).attempts
    assert attempt.rate.value == expected


def test_linkability_as_anonymeter_expects_it() -> None:
    truth = pa.table({"col0": [0, 0, 4, 0], "col1": [0, 1, 9, 4]})
    release = pa.table({"col0": [0, 1, 4, 9], "col1": [0, 1, 4, 9]})
    (attempt,) = dv.attack(
        release, truth=truth, knows=["col0", "col1"], attacks="linkability"
    ).attempts
    assert attempt.rate.value == 0.25
    assert (attempt.rate.low, attempt.rate.high) == pytest.approx((0.045587, 0.699358), abs=1e-6)
