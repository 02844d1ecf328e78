# SPDX-License-Identifier: Apache-2.0
"""The adversary's prior: Afifi's Definition 2 in every form, and errors that list all reasons."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import BadInput
from divulge.metrics import Measurement
from tests.metrics.drawn import measured

# Definition 4's example: 100 people, a quarter in their fifties, 10 with cancer, 7 of them in their
# fifties.
AGES = ["5*"] * 25 + ["other"] * 75
DISEASES = ["Cancer"] * 7 + ["none"] * 18 + ["Cancer"] * 3 + ["none"] * 72
HUNDRED = pa.table({"age": AGES, "disease": DISEASES})

JOINT = [
    {"age": "5*", "disease": "Cancer", "joint": "4/100"},
    {"age": "5*", "disease": "none", "joint": "21/100"},
    {"age": "other", "disease": "Cancer", "joint": "6/100"},
    {"age": "other", "disease": "none", "joint": "69/100"},
]
CONDITIONAL = [
    {"age": "5*", "disease": "Cancer", "probability": 0.16},
    {"age": "5*", "disease": "none", "probability": 0.84},
    {"age": "other", "disease": "Cancer", "probability": 0.08},
    {"age": "other", "disease": "none", "probability": 0.92},
]


def believed(prior: Any, table: pa.Table = HUNDRED, **options: Any) -> Measurement:
    return measured(table, quasi_identifiers="age", sensitive="disease", prior=prior, **options)


def check_the_example(found: Measurement) -> None:
    """16/100 becomes 28/100 (the golden entries 000.def4)."""
    belief = found.beliefs["disease"]
    assert belief.prior_of_cell[0] == pytest.approx(0.16)
    assert belief.posterior[0] == pytest.approx(0.28)
    assert found.per_class("distribution_leakage", "disease")[0] == pytest.approx(
        0.16970562748477142
    )
    assert found.per_class("entropy_leakage", "disease")[0] == pytest.approx(0.22114125591956446)
    assert found.per_class("surprise", "disease")[0] == pytest.approx(0.06593683481388665)
    assert found.per_class("t_closeness", "disease")[0] == pytest.approx(0.12)
    # The others: 8/100 before, 3/75 after.
    assert found.per_class("t_closeness", "disease")[1] == pytest.approx(0.04)
    assert found.settings["prior"] == {"disease": "conditional"}


def test_joint_probabilities() -> None:
    check_the_example(believed(JOINT))


def test_conditional_probabilities() -> None:
    check_the_example(believed(CONDITIONAL))


def test_by_attribute() -> None:
    check_the_example(believed({"disease": JOINT}))


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_from_a_file(tmp_path: Path, bom: str) -> None:
    path = tmp_path / "prior.csv"
    lines = [
        "age,disease,joint",
        *(f"{row['age']},{row['disease']},{row['joint']}" for row in JOINT),
    ]
    path.write_text(bom + "\n".join(lines), encoding="utf-8")
    check_the_example(believed(path))
    check_the_example(believed(str(path)))
    check_the_example(believed({"disease": str(path)}))


def test_combinations_that_do_not_occur_do_no_harm() -> None:
    """Combinations that do not occur change nothing, even with weight 0."""
    more = [{"age": "9*", "disease": disease, "joint": 0} for disease in ("Cancer", "none")]
    check_the_example(believed([*JOINT, *more]))


@pytest.mark.parametrize(
    "marginal",
    [
        {"Cancer": 0.16, "none": 0.84},
        {"Cancer": "16/100", "none": "0.84"},
        {"Cancer": Fraction(16, 100), "none": Fraction(84, 100)},
        {"Cancer": Decimal("0.16"), "none": Decimal("0.84")},
        {"disease": {"Cancer": 0.16, "none": 0.84}},
        [{"disease": "Cancer", "probability": 0.16}, {"disease": "none", "probability": 0.84}],
    ],
    ids=["floats", "texts", "fractions", "decimals", "by attribute", "rows"],
)
def test_a_marginal(marginal: Any) -> None:
    found = believed(marginal)
    assert found.settings["prior"] == {"disease": "given"}
    assert found.per_class("t_closeness", "disease") == pytest.approx([0.12, 0.12])


def test_numbers_dates_and_nulls_are_named_by_their_text() -> None:
    table = pa.table({"age": ["a", "a", "b"], "disease": pa.array([1.0, 2.5, None])})
    found = believed({"1": 0.25, "2.5": 0.25, None: 0.5}, table)
    assert found.beliefs["disease"].prior.shares.tolist() == [[0.25, 0.25, 0.5]]
    by_number = believed({1: 0.25, 2.5: 0.25, None: 0.5}, table)
    assert by_number.beliefs["disease"].prior.shares.tolist() == [[0.25, 0.25, 0.5]]


def test_an_empty_cell_of_a_file_is_null(tmp_path: Path) -> None:
    path = tmp_path / "prior.csv"
    path.write_text("disease,probability\nflu,0.75\n,0.25\n", encoding="utf-8")
    table = pa.table({"age": ["a", "a"], "disease": ["flu", None]})
    assert believed(path, table).beliefs["disease"].prior.shares.tolist() == [[0.75, 0.25]]


def test_a_null_condition() -> None:
    table = pa.table({"age": ["a", None], "disease": ["flu", "flu"]})
    rows = [{"age": age, "disease": "flu", "probability": 1} for age in ("a", None)]
    assert believed(rows, table)["surprise"].value == 0


REFUSED: dict[str, tuple[Any, list[str]]] = {
    "a value is missing": ({"Cancer": 1}, ["missing values: 'none'"]),
    "a value is unknown": ({"Cancer": 0.1, "none": 0.8, "flue": 0.1}, ["unknown values: 'flue'"]),
    "the sum is not 1": ({"Cancer": 0.5, "none": 0.6}, ["sum to 1.1, not 1"]),
    "everything at once": (
        {"Cancer": 0.5, "flue": 0.1, "cold": 0},
        ["unknown values: 'flue', 'cold'", "missing values: 'none'", "sum to 0.6"],
    ),
    "negative": (
        {"Cancer": -0.1, "none": 1.1},
        ["-0.1 for disease = 'Cancer' is not between 0 and 1"],
    ),
    "above 1": ({"Cancer": 2, "none": -1}, ["2 for disease = 'Cancer' is not between 0 and 1"]),
    "not a number": (
        [{"disease": "Cancer", "probability": "often"}],
        ["'often' for disease = 'Cancer' is not a probability"],
    ),
    "nan": (
        {"Cancer": float("nan"), "none": 1},
        ["nan for disease = 'Cancer' is not between 0 and 1"],
    ),
    "divided by 0": (
        {"Cancer": 0.5, "none": "1/0"},
        ["'1/0' for disease = 'none' is not a probability"],
    ),
    "twice": ([{"disease": "Cancer", "probability": 0.5}] * 2, ["gives disease = 'Cancer' twice"]),
    "twice in one condition": (
        [*CONDITIONAL, CONDITIONAL[0]],
        ["gives disease = 'Cancer' twice for age=5*"],
    ),
    "empty": ([], ["the prior is empty", "'disease' and 'probability'"]),
    "an empty mapping": ({}, ["the prior is empty"]),
    "no attribute": ([{"illness": "Cancer", "probability": 1}], ["has no column 'disease'"]),
    "no probability": (
        [{"disease": "Cancer", "share": 1}],
        ["exactly one of the columns 'probability' and 'joint'"],
    ),
    "both measures": (
        [{"disease": "Cancer", "joint": 1, "probability": 1}],
        ["exactly one of the columns 'probability' and 'joint'"],
    ),
    "a condition that is no quasi-identifier": (
        [{"disease": "Cancer", "zap": "x", "probability": 1}],
        ["depends on 'zap', which is not a quasi-identifier"],
    ),
    "a combination is missing": (CONDITIONAL[:2], ["misses 1 combinations", "age=other"]),
    "a combination without weight": (
        [row | {"joint": {"5*": 0.5, "other": 0}[str(row["age"])]} for row in JOINT],
        ["gives them no weight: age=other"],
    ),
    "a condition does not sum to 1": (
        [
            row | {"probability": 0.5} if row["age"] == "5*" else row | {"probability": 0.4}
            for row in CONDITIONAL
        ],
        ["the probabilities given age=other sum to 0.8, not 1"],
    ),
    "a condition misses a value": (
        CONDITIONAL[:3],
        ["missing values given age=other: 'none'", "sum to 0.08"],
    ),
    "the joint does not sum to 1": (
        [row | {"joint": 0.2} for row in JOINT],
        ["the joint probabilities sum to 0.8, not 1"],
    ),
    "rows of different columns": (
        [
            {"disease": "Cancer", "probability": 0.5},
            {"disease": "none", "probability": 0.5, "age": "5*"},
        ],
        ["row 2 has other columns than the first"],
    ),
    "a row without probability": (
        [{"disease": "Cancer", "probability": 0.5}, {"disease": "none"}],
        ["row 2 has other columns"],
    ),
    "no file": ("nowhere.csv", ["there is no prior file 'nowhere.csv'"]),
    "for another attribute": (
        {"diseas": "prior.csv"},
        ["'diseas', which is not a sensitive attribute", "did you mean 'disease'"],
    ),
    "of another kind": (3.5, ["a prior cannot be read from float"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    prior, parts = REFUSED[name]
    with pytest.raises(BadInput) as caught:
        believed(prior)
    assert "\n" not in str(caught.value)
    assert [part for part in parts if part not in str(caught.value)] == [], str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"disease,probability\n", "is empty"),
        (
            b"disease,probability\nCancer,0.5\nnone\n",
            "None for disease = 'none' is not a probability",
        ),
        (b"disease,probability\nCancer,0.5,x\nnone,0.5\n", "row 1 has more cells than the header"),
        (b"disease,probability\nCancer,\xff\n", "is not UTF-8 text"),
        (b"disease,probability\n" + b"x" * 200_000 + b",1\n", "is not CSV: field larger"),
        (b"disease,probability,probability\nCancer,0.5,1\n", "has the column 'probability' twice"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "prior.csv"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message):
        believed(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        believed(tmp_path)


def test_one_prior_for_two_attributes_is_refused() -> None:
    with pytest.raises(BadInput, match="one prior for 2 sensitive attributes"):
        measured(
            HUNDRED.append_column("x", HUNDRED["age"]),
            quasi_identifiers="age",
            sensitive=["disease", "x"],
            prior={"Cancer": 1},
        )


def test_a_prior_for_one_of_two_attributes() -> None:
    table = HUNDRED.append_column("x", HUNDRED["disease"])
    found = measured(
        table, quasi_identifiers="age", sensitive=["disease", "x"], prior={"disease": JOINT}
    )
    assert found.settings["prior"] == {"disease": "conditional", "x": "table"}


def test_a_prior_may_exclude_what_occurs() -> None:
    """The KL divergence is infinite; distances stay finite."""
    found = believed({"Cancer": 0, "none": 1})
    infinite = (
        "surprise",
        "delta_disclosure",
        "delta_disclosure_present",
        "basic_beta_likeness",
        "enhanced_beta_likeness",
    )
    assert [found[name].value for name in infinite] == [float("inf")] * len(infinite)
    assert found["l_t"].value == 0
    assert found["distribution_leakage"].value == pytest.approx(0.28 * 2**0.5)
    assert found["t_closeness"].value == pytest.approx(0.28)
    assert found["values_ruled_out"].value == 0


@pytest.mark.parametrize("name", ["probability", "joint"])
def test_an_attribute_named_like_the_column_of_probabilities(name: str) -> None:
    table = pa.table({"a": ["1", "1", "2"], name: ["x", "y", "x"]})
    measured = dv.measure(
        table,
        quasi_identifiers="a",
        sensitive=name,
        adversary=dv.Adversary(prior={"x": 0.25, "y": 0.75}),
    )
    assert measured["surprise"].value == pytest.approx(2.0)  # class 2 has x only: log2(1 / 0.25)
