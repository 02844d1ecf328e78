# SPDX-License-Identifier: Apache-2.0
"""Bands of ITPR, its drivers, and repairs.

They are compared with the paper's tables, hand counts, and tables that are really changed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest

import divulge as dv
from divulge.errors import BadInput
from tests.helpers import run_cli

# Bkakria et al. 2021, Table 3: cases 4 and 5 of age, case 3 of disease.
EIGHT = pd.DataFrame(
    {
        "case4": [30, 30, 30, 47, 30, 47, 30, 30],
        "case5": [30, 30, 30, 30, 47, 47, 47, 47],
        "disease": ["Diabetes"] * 5 + ["HIV", "Asthma", "Allergies"],
    }
)


def people(seed: int, rows: int = 60) -> pd.DataFrame:
    """A random table with a few rare ages."""
    draw = np.random.default_rng(seed)
    ages = draw.choice([20, 30, 40, 90, 99], size=rows, p=[0.4, 0.3, 0.24, 0.04, 0.02])
    disease = draw.choice(["flu", "cold", "hiv"], size=rows, p=[0.6, 0.3, 0.1])
    return pd.DataFrame(
        {"age": ages, "sex": draw.choice(["f", "m"], size=rows), "disease": disease}
    )


def measured(table: pd.DataFrame, **more: Any) -> dv.Measurement:
    return dv.measure(table, quasi_identifiers=["age", "sex"], sensitive="disease", **more)


def entropy(values: list[Any]) -> float:
    return -sum(n / len(values) * math.log2(n / len(values)) for n in Counter(values).values())


def by_class(table: pd.DataFrame, about: str | None) -> dict[tuple[int, str], tuple[float, int]]:
    """Definition 2 as printed: the number and the people of each class."""
    rows = list(
        zip(
            table["age"],
            table["sex"],
            range(len(table)) if about is None else table[about],
            strict=True,
        )
    )
    classes: dict[tuple[int, str], list[Any]] = defaultdict(list)
    for age, sex, value in rows:
        classes[int(age), str(sex)].append(value)
    whole = entropy([value for *_, value in rows])
    return {
        key: (
            1 - len(classes) * len(inside) / len(rows) * entropy(inside) / whole if whole else 0.0,
            len(inside),
        )
        for key, inside in classes.items()
    }


def itpr(table: pd.DataFrame, about: str | None) -> float:
    return max(number for number, _ in by_class(table, about).values())


def test_bands_and_drivers_of_itpr_on_the_papers_tables() -> None:
    found = dv.measure(EIGHT, quasi_identifiers="case4").bands()
    (identity,) = found.about
    # Sizes 6 and 2: ITPR 0.83 (Table 5, row 4) by the class of 2; the class of 6 has 1 - 2 (6/8)
    # log2(6) / 3, below 0.
    assert (identity.epsilon, identity.lambda_, identity.theta) == (4, None, 2)
    assert identity.itpr == pytest.approx(5 / 6)
    assert [(band.classes, band.people) for band in identity.bands] == [(1, 6), (0, 0), (1, 2)]
    assert identity.band == "high"
    assert found.settings["itpr_bands_from"] == "divulge; the paper gives none"
    inferred = (
        dv.measure(EIGHT, quasi_identifiers="case5", sensitive="disease").bands((0.4, 0.6)).about[1]
    )
    # Class 30 holds four times Diabetes and none of the other three; class 47 each value once. ITPR
    # is 1 (Table 5, row 10).
    assert (inferred.epsilon, inferred.lambda_, inferred.itpr) == (0, 4, 1)
    assert [(band.name, band.people, band.share) for band in inferred.bands] == [
        ("low", 4, 0.5),
        ("moderate", 0, 0.0),
        ("high", 4, 0.5),
    ]


def test_bands_are_the_same_on_every_engine(engine: Any) -> None:
    table = people(1)
    here = measured(table).bands((0.2, 0.5))
    there = dv.measure(
        table, quasi_identifiers=["age", "sex"], sensitive="disease", engine=engine
    ).bands((0.2, 0.5))
    for one, other in zip(here.about, there.about, strict=True):
        assert other.lambda_ in (one.lambda_, None)
        assert (one.epsilon, one.itpr, one.theta) == pytest.approx(
            (other.epsilon, other.itpr, other.theta)
        )
        assert [(band.classes, band.people) for band in one.bands] == [
            (band.classes, band.people) for band in other.bands
        ]


@pytest.mark.parametrize("bounds", [(0.5, 0.5), (0.7, 0.3), (-0.1, 0.5), (0.5, 1.0)])
def test_invalid_bounds_of_bands_raise_an_error(bounds: tuple[float, float]) -> None:
    with pytest.raises(BadInput, match="make no bands"):
        measured(people(1)).bands(bounds)


def left_out(table: pd.DataFrame, key: dict[str, Any]) -> pd.DataFrame:
    inside = pd.Series(data=True, index=table.index)
    for column, value in key.items():
        inside &= table[column] == value
    return table[~inside]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("about", [None, "disease"])
def test_each_suppression_step_is_optimal_and_equals_remeasuring(
    seed: int, about: str | None
) -> None:
    table = people(seed)
    found = measured(table).repair(about, limit=0.3, steps=4)
    assert found.itpr == pytest.approx(itpr(table, about))
    assert found.steps
    allowed = 0.3 * len(table)
    for step in found.steps:
        each = [left_out(table, {"age": age, "sex": sex}) for age, sex in by_class(table, about)]
        least = min(itpr(rest, about) for rest in each if len(table) - len(rest) <= allowed)
        rest = left_out(table, dict(step.key))
        assert step.people == len(table) - len(rest)
        assert step.itpr == pytest.approx(itpr(rest, about)) == pytest.approx(least)
        numbers = list(by_class(rest, about).values())
        # DR (eq. 5) is the average of the same numbers over classes.
        assert step.discrimination_rate == pytest.approx(
            sum(number for number, _ in numbers) / len(numbers)
        )
        assert step.people_at_worst == sum(
            size for number, size in numbers if number >= step.itpr - 1e-9
        )
        table, allowed = rest, allowed - step.people
    own = measured(table)
    scores = own.identity if about is None else own.sensitive[about]
    assert found.after == pytest.approx(scores["itpr"].value)
    assert found.steps[-1].discrimination_rate == pytest.approx(scores["discrimination_rate"].value)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("about", [None, "disease"])
def test_each_repair_step_is_optimal_and_equals_remeasuring(seed: int, about: str | None) -> None:
    table = people(seed)
    found = measured(table).repair(about, how="cells", limit=0.3, steps=3)
    assert found.steps
    for step in found.steps:
        numbers = by_class(table, about)
        worst = [key for key, (number, _) in numbers.items() if number >= itpr(table, about) - 1e-9]
        assert tuple(step.key.values()) in worst
        apart = [
            ({"age": key[0], "sex": key[1]}, column, other[at])
            for key, other in itertools.product(worst, numbers)
            for at, column in enumerate(["age", "sex"])
            if key[at] != other[at] and key[1 - at] == other[1 - at]
        ]
        least = min(itpr(changed(table, *each), about) for each in apart)
        table = changed(table, dict(step.key), str(step.column), step.instead)
        assert step.itpr == pytest.approx(itpr(table, about)) == pytest.approx(least)


def changed(table: pd.DataFrame, key: dict[str, Any], column: str, value: Any) -> pd.DataFrame:
    inside = ~table.index.isin(left_out(table, key).index)
    return table.assign(**{column: table[column].mask(inside, value)})


def test_suppression_stops_without_improvement_or_at_the_limit() -> None:
    # One odd person among three equal classes: without them every class has 1 - 3 (1/3) log2(20) /
    # log2(60), about 0.27.
    table = pd.DataFrame(
        {
            "age": [20] * 20 + [30] * 20 + [40] * 20 + [300],
            "sex": ["f"] * 61,
            "disease": ["flu", "cold"] * 30 + ["flu"],
        }
    )
    found = measured(table).repair()
    assert [(dict(step.key), step.people) for step in found.steps] == [
        ({"age": 300, "sex": "f"}, 1)
    ]
    assert found.after == pytest.approx(0.2683, abs=1e-4)
    assert found.why_ended == "no single further class lowers it within 0.05 of the people"
    assert measured(table).repair(limit=0.01).steps == ()


def test_the_text_reports_how_many_unique_people_must_be_suppressed() -> None:
    table = pd.DataFrame(
        {
            "age": [*range(15), *[99] * 400],
            "sex": ["f"] * 415,
            "disease": ["flu", "cold", "hiv", "cold", "flu"] * 83,
        }
    )
    found = measured(table).repair()
    assert (len(found.steps), found.after) == (10, 1)
    assert "falls below 1 only when none of the 5 people still at it is left there" in " ".join(
        str(found).split()
    )
    assert measured(table).repair(steps=15).after < 1


def test_repairs_that_cannot_be_recomputed_raise_an_error() -> None:
    table = people(1).assign(owner=[at // 2 for at in range(60)])
    with pytest.raises(BadInput, match="people own several rows"):
        measured(table, person="owner").repair()
    with pytest.raises(BadInput, match="'sex' is not a sensitive attribute"):
        measured(table).repair("sex")
    with pytest.raises(BadInput, match="asks for nothing"):
        measured(table).repair(steps=0)


def test_the_command_shows_bands_and_repairs(tmp_path: Any) -> None:
    people(2).to_csv(tmp_path / "t.csv", index=False)
    words = ("measure", str(tmp_path / "t.csv"), "--qi", "age,sex", "--sensitive", "disease")
    asked = ("--itpr-bands", "0.3,0.7", "--repair", "records", "--repair-limit", "0.2")
    told = run_cli(*words, *asked, "--json").json()
    here = measured(people(2))
    assert (
        told["itpr_bands"]["about"][0]["bands"][2]["people"]
        == here.bands((0.3, 0.7)).about[0].bands[2].people
    )
    assert [each["attribute"] for each in told["repair"]] == [None, "disease"]
    steps = here.repair(limit=0.2).steps
    assert [step["class"] for step in told["repair"][0]["steps"]] == [
        dict(step.key) for step in steps
    ]
    text = run_cli(*words, *asked).out
    assert "Bands of ITPR: low to 0.3, moderate to 0.7, high above" in text
    assert "another choice of as many classes may leave less" in " ".join(text.split())
    assert run_cli(*words, "--itpr-bands", "0.3").code == 2
    assert "has no effect without --repair" in run_cli(*words, "--repair-limit", "0.2").err
