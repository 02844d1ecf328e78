# SPDX-License-Identifier: Apache-2.0
"""The nearest row: the index compared with all distances, hand counts, and increasing noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import divulge as dv
from divulge.attacks import ATTACKERS, AttackContext, Attempt, nearest_row
from divulge.attacks.nearest_row import Space
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput
from tests.attacks.staged import table_stage

COLUMNS = ("age", "wage", "job")
CELLS = st.tuples(
    st.one_of(st.none(), st.integers(0, 9)),
    st.integers(-3, 3),
    st.one_of(st.none(), st.sampled_from("abc")),
)
ROWS = st.lists(CELLS, min_size=1, max_size=40)


def as_texts(rows: Sequence[tuple[object, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    texts = ([None if cell is None else str(cell) for cell in column] for column in columns)
    return pa.table(
        {name: pa.array(column, pa.string()) for name, column in zip(COLUMNS, texts, strict=True)}
    )


def gower(
    person: tuple[object, ...], row: tuple[object, ...], release: Sequence[tuple[object, ...]]
) -> float:
    """Compute the distance cell by cell."""
    total = 0.0
    for place, (left, right) in enumerate(zip(person, row, strict=True)):
        if place == 2 or left is None or right is None:
            total += left != right
            continue
        held = [each[place] for each in release if each[place] is not None]
        span = (max(held) - min(held)) or 1  # type: ignore[type-var,operator]
        total += min(abs(left - right) / span, 1)  # type: ignore[operator]
    return total


@given(release=ROWS, people=ROWS)
def test_the_index_finds_what_all_distances_find(
    release: list[tuple[object, ...]], people: list[tuple[object, ...]]
) -> None:
    space = Space.of(as_texts(release), COLUMNS, numbers=("age", "wage"))
    found = space.nearest(as_texts(people))
    for number, person in enumerate(people):
        far = [gower(person, row, release) for row in release]
        expected = [row for row, apart in enumerate(far) if apart <= min(far) + 1e-9]
        assert sorted(found.row[found.person == number].tolist()) == expected
        assert found.distance[number] == pytest.approx(min(far))
        assert found.rows[number] == len(expected)


def test_values_that_are_not_finite_numbers_equal_only_themselves() -> None:
    """Null, NaN and both infinities have distance 1 to each other and to every number.

    That also holds for numbers far outside the range.
    """
    release = pa.table({"x": ["0", "10", None, "nan", "inf", "-inf"]})
    space = Space.of(release, ["x"], numbers=["x"])
    found = space.nearest(pa.table({"x": ["nan", None, "-inf", "inf", "4", "1e300", "-70"]}))
    nearest = [sorted(found.row[found.person == place].tolist()) for place in range(7)]
    assert nearest == [[3], [2], [5], [4], [0], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]
    assert found.distance.tolist() == pytest.approx([0, 0, 0, 0, 0.4, 1, 1])


def test_many_rows_in_few_boxes_and_small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skipped boxes must not contain nearer points."""
    monkeypatch.setattr(nearest_row, "_CELLS", 500)
    rng = np.random.default_rng(4)
    points, wanted = rng.random((3000, 3)), rng.random((60, 3))
    who, point, best = nearest_row.Boxes.of(points, np.array([True] * 3)).nearest(wanted)
    exact = np.abs(wanted[:, None] - points[None]).sum(axis=2)
    assert who.tolist() == list(range(60))
    assert point.tolist() == exact.argmin(axis=1).tolist()
    np.testing.assert_allclose(best, exact.min(axis=1))


def test_few_boxes_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer than one in ten of 40,000 points in three columns is compared with a target."""
    seen = 0
    whole = nearest_row.Boxes._pair_distances  # noqa: SLF001 - counts what it is asked

    def counted(
        self: nearest_row.Boxes, wanted: np.ndarray, person: np.ndarray, point: np.ndarray
    ) -> np.ndarray:
        nonlocal seen
        seen += len(person)
        return whole(self, wanted, person, point)

    monkeypatch.setattr(nearest_row.Boxes, "_pair_distances", counted)
    rng = np.random.default_rng(4)
    nearest_row.Boxes.of(rng.random((40_000, 3)), np.array([True] * 3)).nearest(
        rng.random((100, 3))
    )
    assert seen < 100 * 40_000 / 10


# --- attacks --------------------------------------------------------------------------------------
TRUTH = pa.table(
    {
        "id": ["a", "b", "c", "d"],
        "age": [20, 30, 40, 60],
        "wage": [1, 2, 3, 5],
        "ill": ["x", "y", "y", "z"],
    }
)
CHANGED = pa.table(
    {
        "id": ["a", "b", "c", "d"],
        "age": [22, 28, 52, 58],
        "wage": [1, 2, 3, 5],
        "ill": ["x", "y", "y", "z"],
    }
)


def attempts(on: AttackContext, name: str) -> list[Attempt]:
    (found,) = (each for each in ATTACKERS if each.name == name)
    assert not found.obstacle(on)
    return list(found.run(on))


def test_nearest_rows_by_hand() -> None:
    """By age, 20 is nearest to 22, 30 to 28, 40 to both 28 and 52, 60 to 58: 3 1/2 of 4."""
    on = table_stage(CHANGED, TRUTH, sensitive=["ill"], knows=["age"], person="id")
    (row,) = attempts(on, "nearest-row")
    assert row.successes == pytest.approx(3.5)
    assert row.random == pytest.approx(1 / 4)
    assert row.bound is None
    (value,) = attempts(on, "nearest-value")
    assert value.successes == pytest.approx(4.0)  # both rows that are near to 40 have y
    assert value.prior == pytest.approx(2 / 4)


def test_every_engine_finds_the_same_rows(
    engine: DuckDBEngine | SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results are those by hand; too many rows for memory are not attacked."""
    names = ["nearest-row", "nearest-value", "linkability"]
    asked: dict[str, Any] = {
        "knows": ["age", "wage"],
        "sensitive": "ill",
        "identifier": "id",
        "attacks": names,
    }
    result = dv.attack(CHANGED, truth=TRUTH, **asked, engine=engine)
    # Wages distinguish all: 1, 2, 3 and 5 with a range of 4; ages have a range of 36.
    assert [one.successes for one in result.attempts] == pytest.approx([4, 4, 3.5])
    monkeypatch.setattr(engine, "row_limit", 3)
    with pytest.raises(
        BadInput, match="the release has 4 rows, and 3 may come to memory one by one"
    ):
        dv.attack(CHANGED, truth=TRUTH, **asked, engine=engine)


def test_without_a_key_the_row_of_a_person_is_unknown() -> None:
    on = table_stage(CHANGED.drop_columns("id"), TRUTH, sensitive=["ill"], knows=["age"])
    (nearest_row,) = (each for each in ATTACKERS if each.name == "nearest-row")
    assert "no column says whose" in nearest_row.obstacle(on)
    (linkability,) = (each for each in ATTACKERS if each.name == "linkability")
    assert "two columns" in linkability.obstacle(on)


@pytest.mark.filterwarnings("error")
def test_not_a_number_is_a_value_of_its_own() -> None:
    """Two of four ages are NaN: they differ from the other ages but not from each other."""
    people = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "age": [20.0, math.nan, math.nan, None],
            "ill": ["x", "y", "y", "z"],
        }
    )
    result = dv.attack(people, truth=people, knows="age", sensitive="ill", identifier="id")
    rates = {one.name: one.successes for one in result.attempts}
    assert (rates["nearest-row"], rates["nearest-value"], rates["prosecutor"]) == (3, 4, 3)


def test_numbers_are_the_same_however_they_are_written() -> None:
    """34 in the original is 34.0 in a release of decimal numbers, as a value and as a key."""
    truth = pa.table({"id": [1, 2], "age": [20, 30], "wage": [7, 8]})
    release = pa.table({name: truth[name].cast(pa.float64()) for name in truth.column_names})
    result = dv.attack(release, truth=truth, knows="age", sensitive="wage", identifier="id")
    rates = {one.name: one.successes for one in result.attempts}
    assert (
        rates["nearest-row"],
        rates["nearest-value"],
        rates["inference"],
        rates["prosecutor"],
    ) == (2, 2, 2, 2)


def test_two_sources_are_linked_by_a_row() -> None:
    """By age, the nearest rows are 22, 28, 28 or 52, 58.

    By wage, each person is nearest to their own row: c is linked with probability 1/2.
    """
    (attempt,) = attempts(table_stage(CHANGED, TRUTH, knows=["age", "wage"]), "linkability")
    assert attempt.successes == pytest.approx(3.5)
    assert attempt.control is None


def test_the_control_group_is_near_to_rows_of_others() -> None:
    control = pa.table({"id": ["e"], "age": [59], "wage": [2], "ill": ["y"]})
    on = table_stage(CHANGED, TRUTH, sensitive=["ill"], knows=["age", "wage"], control=control)
    (linked,) = attempts(on, "linkability")
    assert linked.control is not None
    assert linked.control.successes == 0  # nearest by age is d, by wage b
    (value,) = attempts(on, "nearest-value")
    assert value.control is not None
    assert value.control.successes == 1  # c is 7/36 + 1/4 away, d 1/36 + 3/4, b 31/36


def test_more_noise_leaves_less_to_be_linked() -> None:
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=(400, 2))
    truth = pa.table({"id": [str(n) for n in range(400)], "x": numbers[:, 0], "y": numbers[:, 1]})
    rates = []
    for noise in (0.0, 0.05, 1.0):
        changed = numbers + rng.normal(scale=noise, size=numbers.shape) if noise else numbers
        release = pa.table({"id": truth["id"], "x": changed[:, 0], "y": changed[:, 1]})
        (found,) = attempts(
            table_stage(release, truth, knows=["x", "y"], person="id"), "nearest-row"
        )
        rates.append(found.rate.value)
    assert rates[0] == 1.0
    assert rates[0] > rates[1] > rates[2]
    assert rates[2] < 0.1
