# SPDX-License-Identifier: Apache-2.0
"""Every metric where people own several rows, compared with the oracle of plain Python.

Classes count distinct people, and a cell counts the people who have the value there
(docs/concepts/semantics.md). The prior is the table's, an original's, a given one, or a joint one
that depends on a quasi-identifier.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from tests import oracle

Row = dict[str, Any]
VALUES = "vwxyz"


def random_rows(random: Random, *, first: int = 0) -> list[Row]:
    """People with one to three rows each, most of them in one class."""
    rows = []
    for person in range(first, first + random.randint(3, 12)):
        home = {"zip": random.choice("abc"), "age": random.randint(0, 2)}
        for _ in range(random.randint(1, 3)):
            place = home if random.random() < 0.8 else {**home, "zip": random.choice("abc")}
            rows.append({"id": person, **place, "disease": random.choice(VALUES[1:])})
    return rows


def pairs_of(rows: Iterable[Row]) -> Counter[str]:
    """The number of distinct people with each value."""
    return Counter(value for _, value in {(row["id"], row["disease"]) for row in rows})


def classes_of(rows: Iterable[Row]) -> dict[tuple[str, int], list[Row]]:
    """The rows of each class."""
    classes: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        classes[row["zip"], row["age"]].append(row)
    return classes


def probabilities(random: Random, values: Iterable[str]) -> dict[str, Fraction]:
    """A random distribution in which every value is possible."""
    weights = {value: random.randint(1, 9) for value in values}
    return {value: Fraction(weight, sum(weights.values())) for value, weight in weights.items()}


def compare(scores: Any, expected: oracle.Result) -> int:
    """Compare every metric that both have, and return the number of these metrics."""
    compared = 0
    for name, (value, _) in expected.items():
        if name in scores:
            assert scores[name].value == pytest.approx(float(value), rel=1e-9, abs=1e-9), name
            compared += 1
    return compared


@pytest.mark.parametrize("seed", range(18))
def test_every_metric_counts_people(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    rows = random_rows(random)
    prior: Any = None
    adversary = None
    if seed % 3 == 1:
        original = [*rows, *random_rows(random, first=100)]
        prior, adversary = pairs_of(original), dv.Adversary(original=pa.Table.from_pylist(original))
    elif seed % 3 == 2:
        prior = probabilities(random, sorted({row["disease"] for row in rows}))
        adversary = dv.Adversary(prior={value: str(share) for value, share in prior.items()})
    measured = dv.measure(
        pa.Table.from_pylist(rows),
        quasi_identifiers=["zip", "age"],
        sensitive="disease",
        person="id",
        adversary=adversary,
    )
    classes = [pairs_of(members) for members in classes_of(rows).values()]
    assert compare(measured.sensitive["disease"], oracle.sensitive(classes, prior=prior)) > 25
    assert compare(measured.identity, oracle.identity(rows, ["zip", "age"], person="id")) > 5


@pytest.mark.parametrize("seed", range(8))
def test_a_joint_prior_is_that_of_the_person_s_class(seed: int) -> None:
    """P(value | zip) = P(value, zip) / P(zip); classes of one zip have one prior."""
    random = Random(seed)  # noqa: S311
    rows = random_rows(random)
    values = sorted({row["disease"] for row in rows})
    joint = probabilities(random, [f"{place}{value}" for place in "abc" for value in values])
    entries = [
        {"zip": key[0], "disease": key[1], "joint": str(share)} for key, share in joint.items()
    ]
    measured = dv.measure(
        pa.Table.from_pylist(rows),
        quasi_identifiers=["zip", "age"],
        sensitive="disease",
        person="id",
        adversary=dv.Adversary(prior=entries),
    )
    worst: dict[str, float] = {}
    for (place, _), members in classes_of(rows).items():
        prior = {value: joint[f"{place}{value}"] for value in values}
        alone = oracle.sensitive([pairs_of(members)], prior=prior)
        for name in (
            "basic_beta_likeness",
            "distribution_leakage",
            "entropy_leakage",
            "surprise",
            "t_closeness",
        ):
            worst[name] = max(worst.get(name, 0.0), float(alone[name][0]))
    for name, value in worst.items():
        assert measured.sensitive["disease"][name].value == pytest.approx(
            value, rel=1e-9, abs=1e-9
        ), name


def test_a_note_gives_the_largest_share_of_people_with_one_value() -> None:
    """In zip a 2 of 3 people have x, which are 2 of 5 pairs; in zip b one of two has it."""
    owners = [
        (1, "a", "x"),
        (1, "a", "y"),
        (2, "a", "x"),
        (2, "a", "z"),
        (3, "a", "w"),
        (4, "b", "x"),
        (5, "b", "y"),
    ]
    table = pa.table(
        {
            name: [row[place] for row in owners]
            for place, name in enumerate(("id", "zip", "disease"))
        }
    )
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
    measured = dv.measure(table, **roles, person="id")
    assert any("2 of 3 in a class have the same value" in note for note in measured.notes)
    assert measured.sensitive["disease"]["alpha"].value == 0.5
    one_value = table.take([0, 2, 4, 5, 6])
    assert not any(
        "several values" in note for note in dv.measure(one_value, **roles, person="id").notes
    )
    assert not any(
        "several values" in note for note in dv.measure(table, **roles, identifier="id").notes
    )
