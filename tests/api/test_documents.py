# SPDX-License-Identifier: Apache-2.0
"""Every number of a document by its formula, and both values of each bool.

The table has classes of different sizes and values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log2
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv

ZIPS = ["a"] * 4 + ["b"] * 3 + ["c"] * 2
SEXES = list("ffmm") + list("fmm") + list("ff")
DISEASES = ["flu", "flu", "cold", "hiv", "flu", "flu", "cold", "cold", "cold"]
PEOPLE = pa.table({"zip": ZIPS, "sex": SEXES, "disease": DISEASES})
ROLES: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}


def entropy(values: Iterable[Any]) -> float:
    """Return the entropy of values, in bits."""
    counts = Counter(values)
    total = sum(counts.values())
    return -sum(count / total * log2(count / total) for count in counts.values())


def divergence(values: Sequence[Any], every_value: Sequence[Any]) -> float:
    """Return the KL divergence of the values of a class from those of the table, in bits (I1)."""
    prior = Counter(every_value)
    inside = Counter(values)
    return sum(
        count / len(values) * log2((count / len(values)) / (prior[value] / len(every_value)))
        for value, count in inside.items()
    )


def by_class(labels: Sequence[Any], values: Sequence[Any]) -> dict[Any, list[Any]]:
    """Return the values of each class."""
    classes: dict[Any, list[Any]] = defaultdict(list)
    for label, value in zip(labels, values, strict=True):
        classes[label].append(value)
    return dict(classes)


# --- measure --------------------------------------------------------------------------------------
def test_the_classes_of_a_measurement_are_listed_with_priors_and_posteriors() -> None:
    document = dv.measure(PEOPLE, **ROLES).to_dict()
    classes = by_class(ZIPS, DISEASES)
    assert (document["rows"], document["people"], document["classes"]) == (9, 9, 3)
    scores = {label: divergence(values, DISEASES) for label, values in classes.items()}
    order = sorted(classes, key=lambda label: -scores[label])
    assert [item["class"]["zip"] for item in document["worst"]] == order
    prior = Counter(DISEASES)
    for item in document["worst"]:
        label = item["class"]["zip"]
        inside = Counter(classes[label])
        shares = {value: (prior[value] / 9, inside[value] / len(classes[label])) for value in prior}
        assert (item["size"], item["attribute"], item["metric"]) == (
            len(classes[label]),
            "disease",
            "surprise",
        )
        assert item["value"] == pytest.approx(scores[label])
        assert set(item["ruled_out"]) == {value for value in prior if value not in inside}
        risen = {value: pair for value, pair in shares.items() if pair[1] > pair[0]}
        listed = {
            rise["value"]: (rise["before"], rise["after"]) for rise in item["over_represented"]
        }
        assert listed == {value: pytest.approx(pair) for value, pair in risen.items()}


@pytest.mark.parametrize(
    ("metric", "worst", "number"),
    [("k_anonymity", "c", 2), ("prosecutor_risk", "c", 1 / 2), ("log2_k", "c", 1.0)],
)
def test_the_worst_class_is_the_one_that_has_the_number_of_the_table(
    metric: str, worst: str, number: float
) -> None:
    document = dv.measure(PEOPLE, **ROLES).to_dict()
    assert document["identity"][metric] == pytest.approx(number)
    assert document["worst_class"]["identity"][metric] == {"class": {"zip": worst}, "size": 2}


@pytest.mark.parametrize(
    ("metric", "score", "extreme"),
    [
        ("l_diversity", lambda values: len(set(values)), min),
        ("entropy_l_diversity", lambda values: 2 ** entropy(values), min),
        ("surprise", lambda values: divergence(values, DISEASES), max),
        ("specific_information", lambda values: entropy(DISEASES) - entropy(values), max),
        ("entropy_leakage", lambda values: abs(entropy(DISEASES) - entropy(values)), max),
    ],
)
def test_the_worst_class_of_an_attribute_has_the_number_of_the_table(
    metric: str, score: Callable[[list[str]], float], extreme: Callable[[Iterable[float]], float]
) -> None:
    document = dv.measure(PEOPLE, **ROLES).to_dict()
    classes = by_class(ZIPS, DISEASES)
    scores = {label: score(values) for label, values in classes.items()}
    assert document["sensitive"]["disease"][metric] == pytest.approx(extreme(scores.values()))
    worst = document["worst_class"]["sensitive"]["disease"][metric]
    assert scores[worst["class"]["zip"]] == pytest.approx(extreme(scores.values()))
    assert worst["size"] == len(classes[worst["class"]["zip"]])


# --- check ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("metric", "bound", "values"),
    [
        ("k_anonymity", 2, {"a": 4, "b": 3, "c": 2}),
        ("k_anonymity", 3, {"a": 4, "b": 3, "c": 2}),
        ("k_anonymity", 4, {"a": 4, "b": 3, "c": 2}),
        ("l_diversity", 2, {"a": 3, "b": 2, "c": 1}),
        ("l_diversity", 3, {"a": 3, "b": 2, "c": 1}),
    ],
)
def test_a_requirement_counts_the_classes_and_people_that_violate_it(
    metric: str, bound: int, values: Mapping[str, int]
) -> None:
    verdict = dv.check(PEOPLE, {"promises": {metric: bound}}, plain="sex", **ROLES)
    sizes = Counter(ZIPS)
    violating = [label for label, value in values.items() if value < bound]
    (item,) = verdict.to_dict()["promises"]
    assert (item["metric"], item["bound"], item["value"]) == (metric, bound, min(values.values()))
    assert item["holds"] is not bool(violating)
    assert verdict.to_dict()["holds"] is not bool(violating)
    assert item["breaking_classes"] == len(violating)
    assert item["breaking_people"] == sum(sizes[label] for label in violating)
    found = {sample["class"]["zip"]: (sample["size"], sample["value"]) for sample in item["sample"]}
    assert found == {label: (sizes[label], values[label]) for label in violating}


def test_the_uniqueness_of_a_check_is_counted_over_known_columns() -> None:
    """By zip and sex, only (b, f) is unique. With the disease, five people are unique."""
    document = dv.check(PEOPLE, dv.Policy(k_anonymity=2), plain="sex", **ROLES).to_dict()[
        "uniqueness"
    ]

    def unique(*columns: list[str]) -> int:
        return sum(count == 1 for count in Counter(zip(*columns, strict=True)).values())

    assert document["k"] == min(Counter(ZIPS).values())
    assert document["unique_by_quasi_identifiers"] == unique(ZIPS)
    assert document["unique"] == unique(ZIPS, SEXES) == 1
    assert document["unique_with_sensitive"] == unique(ZIPS, SEXES, DISEASES) == 5
    assert (document["of"], document["share"]) == (9, pytest.approx(1 / 9))


# --- perturbed ------------------------------------------------------------------------------------
def test_the_document_of_perturbed_values_follows_the_formulas() -> None:
    """Ages 20, 30, 40 are published as 20, then two ages as 50 and two as 70.

    The classes have 3, 2 and 2 people.
    """
    ages = [20, 30, 40, 50, 60, 70, 80]
    published = [20, 20, 20, 50, 50, 70, 70]
    diseases = ["flu", "flu", "cold", "cold", "flu", "cold", "hiv"]
    original = pa.table({"id": range(7), "age": ages, "disease": diseases})
    release = pa.table({"id": range(7), "age": published})
    document = dv.perturbed(
        original, release, columns="age", key="id", sensitive="disease"
    ).to_dict()
    classes = by_class(published, ages)
    left = {label: entropy(values) for label, values in classes.items()}
    gain = {label: entropy(ages) - bits for label, bits in left.items()}
    assert (document["rows"], document["classes"]) == (7, 3)
    assert document["entropy"] == pytest.approx(entropy(ages))
    average = sum(len(values) / 7 * gain[label] for label, values in classes.items())
    assert document["mutual_information"] == pytest.approx(average)
    assert document["specific_information"] == pytest.approx(max(gain.values()))
    assert document["conditional_entropy"] == pytest.approx(min(left.values()))
    # Each age occurs once: log2 7 bits, minus the entropy that remains in the class.
    assert document["surprise_of_original"] == pytest.approx(
        max(divergence(v, ages) for v in classes.values())
    )
    assert [item["specific_information"] for item in document["worst"]] == pytest.approx(
        sorted(gain.values(), reverse=True)
    )
    for item in document["worst"]:
        label = item["class"]["published age"]
        assert item["size"] == len(classes[label])
        assert item["conditional_entropy"] == pytest.approx(left[label])
    assert_attribute(document, diseases, by_class(published, diseases))


def assert_attribute(
    document: dict[str, Any], diseases: list[str], classes: dict[Any, list[Any]]
) -> None:
    """Compare the information about the sensitive attribute with the formulas."""
    found = document["attributes"]["disease"]
    surprise = {label: divergence(values, diseases) for label, values in classes.items()}
    gain = {label: entropy(diseases) - entropy(values) for label, values in classes.items()}
    average = sum(len(values) / 7 * gain[label] for label, values in classes.items())
    assert found["entropy"] == pytest.approx(entropy(diseases))
    assert found["mutual_information"] == pytest.approx(average)
    # Each age belongs to one person: the original discloses everything.
    assert found["information_of_original"] == pytest.approx(entropy(diseases))
    assert found["surprise"] == pytest.approx(max(surprise.values()))
    assert found["specific_information"] == pytest.approx(max(gain.values()))
    assert len({round(value, 9) for value in surprise.values()}) == 3
    for item in document["worst"]:
        label = item["class"]["published age"]
        own = item["attributes"]["disease"]
        assert own["surprise"] == pytest.approx(surprise[label])
        assert own["specific_information"] == pytest.approx(gain[label])
