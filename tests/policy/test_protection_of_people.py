# SPDX-License-Identifier: Apache-2.0
"""Protections if people own several rows, compared with a count of people in plain Python.

A person has a value if any of their rows has it. The shares that are bounded are shares of people:
those who have the protected value and those who do not have it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.engines import Engine
from divulge.errors import BadInput
from divulge.policy import Policy, Promise, Protection
from tests import oracle

Row = dict[str, Any]
BOUNDS = {"basic_beta_likeness": 1.0, "alpha": 0.5}
KNOWN = ["zip", "age"]


def random_rows(random: Random, *, same_class: bool = False, first: int = 0) -> list[Row]:
    """Up to twelve people with up to three rows each.

    Most stay in one class, all of them with `same_class`.

    The first person is of age 0 and has x, the last one has y.
    """
    rows = []
    for person in range(first, first + random.randint(4, 12)):
        home = {"zip": random.choice("ab"), "age": random.randint(0, min(person, 1))}
        for _ in range(random.randint(1, 3)):
            moved = not same_class and random.random() < 0.2
            place = {**home, "zip": random.choice("ab")} if moved else home
            rows.append({"id": person, **place, "disease": random.choice("xyzw")})
    rows[0]["disease"] = "x"
    rows[-1]["disease"] = "y"
    return rows


def people_by(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> list[Counter[str]]:
    """Count, for each class, the people with x in one of their rows there, and the others."""
    classes: dict[Hashable, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        classes[key(row)][row["id"]].append(row["disease"])
    return [
        Counter("x" if "x" in values else "no x" for values in people.values())
        for people in classes.values()
    ]


def own_class(row: Row) -> Hashable:
    return row["zip"], row["age"]


def everybody(_: Row) -> Hashable:
    return "all"


def by_all_rows(rows: Sequence[Row]) -> Callable[[Row], Hashable]:
    """Return the class of a person who is known by all of their rows."""
    known: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for row in rows:
        known[row["id"]].append((row["zip"], row["age"]))
    return lambda row: tuple(sorted(known[row["id"]]))


def checked(
    rows: Sequence[Row],
    protection: Protection,
    adversary: dv.Adversary | None = None,
    *,
    engine: Engine | None = None,
) -> dict[tuple[str, bool], tuple[float, bool]]:
    """Return value and verdict of each requirement, by one row of a person and by all rows."""
    verdict = dv.check(
        pa.Table.from_pylist(list(rows)),
        Policy(protections=[protection]),
        quasi_identifiers=KNOWN,
        sensitive="disease",
        person="id",
        adversary=adversary,
        engine=engine,
    )
    return {
        (item.promise.metric.name, item.linked): (item.value, item.holds)
        for item in verdict.outcomes
    }


@pytest.mark.parametrize("seed", range(24))
def test_a_protected_value_is_counted_by_people(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    rows = random_rows(random)
    adversary, prior = None, None
    if seed % 3 == 1:
        original = [*rows, *random_rows(random, first=100)]
        adversary = dv.Adversary(original=pa.Table.from_pylist(original))
        [prior] = people_by(original, everybody)
    elif seed % 3 == 2:
        values = sorted({row["disease"] for row in rows})
        weights = {value: random.randint(1, 9) for value in values}
        total = sum(weights.values())
        adversary = dv.Adversary(
            prior={value: f"{weight}/{total}" for value, weight in weights.items()}
        )
        prior = Counter({"x": weights["x"], "no x": total - weights["x"]})
    measured = checked(rows, Protection.make(BOUNDS, attribute="disease", values=["x"]), adversary)
    assert {linked for _, linked in measured} == {False, True}
    for linked, key in ((False, own_class), (True, by_all_rows(rows))):
        expected = oracle.sensitive(people_by(rows, key), prior=prior)
        for metric, bound in BOUNDS.items():
            value, holds = measured[metric, linked]
            assert value == pytest.approx(float(expected[metric][0]), abs=1e-9), (metric, linked)
            assert holds == (float(expected[metric][0]) <= bound + 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_protected_people_are_also_checked_by_all_of_their_rows(seed: int) -> None:
    rows = random_rows(Random(seed))  # noqa: S311
    measured = checked(rows, Protection.make({"k_anonymity": 3}, where={"age": 0}))
    for linked, key in ((False, own_class), (True, by_all_rows(rows))):
        members: dict[Hashable, set[int]] = defaultdict(set)
        chosen: set[Hashable] = set()
        for row in rows:
            members[key(row)].add(row["id"])
            if row["age"] == 0:
                chosen.add(key(row))
        smallest = min(len(members[name]) for name in chosen)
        assert measured["k_anonymity", linked] == (smallest, smallest >= 3)


@pytest.mark.parametrize("engine", ["memory", "spark collected"], indirect=True)
def test_protections_count_people_on_every_engine(engine: Engine) -> None:
    """A value of the people whose age is 0, by one row of a person and by all of their rows."""
    rows = random_rows(Random(7))  # noqa: S311
    protection = Protection.make(
        {"alpha": 0.5}, where={"age": 0}, attribute="disease", values=["x"]
    )
    measured = checked(rows, protection, engine=engine)
    for linked, key in ((False, own_class), (True, by_all_rows(rows))):
        chosen = {key(row) for row in rows if row["age"] == 0}
        [*classes] = people_by([row for row in rows if key(row) in chosen], key)
        value, holds = measured["alpha", linked]
        largest = max(max(counts.values()) / sum(counts.values()) for counts in classes)
        assert value == pytest.approx(largest, abs=1e-9)
        assert holds == (largest <= 0.5)


def test_shares_are_of_people_not_of_pairs() -> None:
    """Everybody in zip a has x and y: of pairs one half is x, of people all have it.

    Three quarters of all people have x. In zip b one half does not have it, twice the share of the
    table: the gain is 1.
    """
    rows = [
        {"id": person, "zip": "a", "age": 1, "disease": value}
        for person in (1, 2)
        for value in "xy"
    ]
    rows += [
        {"id": 3, "zip": "b", "age": 1, "disease": "x"},
        {"id": 4, "zip": "b", "age": 1, "disease": "z"},
    ]
    measured = checked(
        rows,
        Protection.make(
            {"alpha": 0.5, "basic_beta_likeness": 0.2}, attribute="disease", values="x"
        ),
    )
    assert measured["alpha", False] == (1.0, False)
    gain, holds = measured["basic_beta_likeness", False]
    assert gain == pytest.approx(1.0)
    assert not holds


def test_several_values_at_once_and_background_knowledge_are_rejected() -> None:
    """Counts of x and of y do not determine whether the people with x and with y are the same."""
    rows = [
        {"id": person, "zip": "a", "age": 1, "disease": value}
        for person in (1, 2)
        for value in "xyz"
    ]
    with pytest.raises(BadInput, match="somebody has several values of 'disease'") as caught:
        checked(rows, Protection.make({"alpha": 0.5}, attribute="disease", values=["x", "y"]))
    assert "a protection for each value" in str(caught.value.hint)
    with pytest.raises(BadInput, match="background knowledge"):
        checked(
            rows,
            Protection.make({"alpha": 0.5}, attribute="disease", values=["x"]),
            dv.Adversary(rule_out=["disease=z"]),
        )


@pytest.mark.parametrize(
    ("requirement", "adversary", "reason"),
    [
        (
            "k_map >= 2",
            {"population": {"zip": ["a"] * 9, "age": [1] * 9}},
            "it depends on a population",
        ),
        (
            "l_diversity >= 2",
            {"prior": [{"disease": value, "zip": "a", "probability": "1/2"} for value in "xy"]},
            "the prior depends on columns",
        ),
    ],
)
def test_unsupported_protections_by_all_rows_of_a_person_raise_an_error(
    requirement: str, adversary: dict[str, Any], reason: str
) -> None:
    """It is checked if the policy declares that the person column is not published."""
    rows = [
        {"id": person, "zip": "a", "age": 1, "disease": value}
        for person in (1, 2)
        for value in "xy"
    ]
    if "population" in adversary:
        adversary = {"population": pa.table(adversary["population"])}
    roles: dict[str, Any] = {"quasi_identifiers": KNOWN, "sensitive": "disease", "person": "id"}
    table, believed = pa.Table.from_pylist(rows), dv.Adversary(**adversary)
    promises = Promise.parse(requirement)
    with pytest.raises(BadInput, match=f"cannot be judged by all rows of a person: {reason}"):
        dv.check(table, Policy(promises=promises), **roles, adversary=believed)
    private = Policy(promises=promises, person_published=False)
    assert dv.check(table, private, **roles, adversary=believed).holds


@pytest.mark.parametrize("seed", range(8))
def test_a_release_meets_requirements_for_people_with_a_value(seed: int) -> None:
    """The published classes follow from the chosen levels; people are counted in the original."""
    random = Random(seed)  # noqa: S311
    rows = random_rows(random, same_class=True)
    protection = Protection.make({"basic_beta_likeness": 0.5}, attribute="disease", values=["x"])
    hierarchies = {
        "zip": {"rows": {"a": ["*"], "b": ["*"]}},
        "age": {"rows": {"0": ["*"], "1": ["*"]}},
    }
    release = dv.generalize(
        pa.Table.from_pylist(rows),
        policy=Policy(protections=[protection]),
        quasi_identifiers=KNOWN,
        sensitive="disease",
        person="id",
        hierarchies=hierarchies,
    )
    levels = release.plan.levels

    def published(row: Row) -> Hashable:
        return tuple(row[name] if levels[name] == 0 else "*" for name in KNOWN)

    [prior] = people_by(rows, everybody)
    value = oracle.sensitive(people_by(rows, published), prior=prior)["basic_beta_likeness"][0]
    [outcome] = release.verdict.outcomes
    assert outcome.value == pytest.approx(float(value), abs=1e-9)
    assert float(value) <= 0.5 + 1e-9
