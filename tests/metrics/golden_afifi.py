# SPDX-License-Identifier: Apache-2.0
"""Answers of divulge for each kind of golden entry of Afifi et al. 2018."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from tests.metrics.adult import complete_adult
from tests.metrics.drawn import contingency_of, measured, merged, numbers_of
from tests.metrics.golden import ENTRIES, Entry, bits, counted, from_shares, names, taxonomy


def afifi_class(entry: Entry) -> float:
    """One class against a prior: L_D, L_E, EMD with two ground distances, KL."""
    inputs = entry["inputs"]
    metric = {
        "LD": "distribution_leakage",
        "LE": "entropy_leakage",
        "EMD_equal": "t_closeness",
        "EMD_ordered": "t_closeness",
        "KL": "surprise",
    }
    kind = entry["id"].rpartition(".")[2]
    options: dict[str, Any] = {}
    if kind == "EMD_ordered":
        options = {"distances": {"s": "ordered"}, "orders": {"s": names(inputs)}}
    return from_shares(inputs, **options)[metric[kind]].value


def afifi_given_prior(entry: Entry) -> float:
    """The worst class (Definitions 7 and 10), once more with the prior given as fractions
    instead of an original table.
    """
    inputs = entry["inputs"]
    metric = "distribution_leakage" if entry["id"].endswith("LD") else "entropy_leakage"
    of_original = from_shares(inputs)[metric].value
    occurring = {value for shares in inputs["classes"] for value in counted(shares, names(inputs))}
    if occurring == set(names(inputs)):
        given = dict(zip(names(inputs), inputs["prior"], strict=True))
        rows = [
            (c, value)
            for c, shares in enumerate(inputs["classes"])
            for value in counted(shares, names(inputs))
        ]
        published = pa.table({"class": [c for c, _ in rows], "s": [value for _, value in rows]})
        of_given = measured(published, quasi_identifiers="class", sensitive="s", prior=given)[
            metric
        ].value
        assert of_given == pytest.approx(of_original, abs=1e-12)
    return of_original


def afifi_hierarchical(entry: Entry) -> float:
    levels = int(entry["id"].rpartition("_")[2])
    return from_shares(entry["inputs"], taxonomies={"s": taxonomy(levels)})["t_closeness"].value


def afifi_table_3(entry: Entry) -> float:
    """0.278-closeness of Table 3: the worst of its three classes."""
    assert entry["inputs"] == {"tree": "as above, inside distance 1/4"}
    classes = [
        other
        for other in ENTRIES
        if re.fullmatch(r"000\.table3\.disease\.C\d\.EMD_hier_1_4", other["id"])
    ]
    assert len(classes) == 3
    inputs = classes[0]["inputs"] | {"classes": [other["inputs"]["published"] for other in classes]}
    return from_shares(inputs, taxonomies={"s": taxonomy(4)})["t_closeness"].value


def theorem_1(entry: Entry) -> float:
    """Against a uniform class L_D is sigma sqrt(m), with the population's sigma, and L_E is log2
    m - H(a).
    """
    inputs = entry["inputs"]
    metric = "entropy_leakage" if entry["id"].endswith("LE") else "distribution_leakage"
    return from_shares(inputs)[metric].value


def afifi_prior_entropy(entry: Entry) -> float:
    values = [value for value, n in entry["inputs"]["counts"].items() for _ in range(n)]
    table = pa.table({"q": [0] * len(values), "s": values})
    return bits(measured(table, quasi_identifiers="q", sensitive="s")["l_max"].value)


def largest_distribution_leakage(entry: Entry) -> float:
    return from_shares(entry["inputs"])["distribution_leakage"].value


def largest_entropy_leakage(entry: Entry) -> float:
    return from_shares(entry["inputs"])["entropy_leakage"].value


def entropy_distance(entry: Entry) -> float:
    """A permutation of the prior leaks nothing by L_E, but does by L_D."""
    leaked = from_shares({"prior": entry["inputs"]["x"], "published": entry["inputs"]["y"]})
    assert leaked["distribution_leakage"].value > 0.5
    return leaked["entropy_leakage"].value


def midpoint(entry: Entry) -> float:
    """Both ends leak nothing, their midpoint does: L_E is not convex."""
    inputs = entry["inputs"]
    ends = [
        from_shares({"prior": inputs["prior"], "published": inputs[end]}) for end in ("x1", "x2")
    ]
    assert [end["entropy_leakage"].value for end in ends] == pytest.approx([0, 0], abs=1e-12)
    return from_shares({"prior": inputs["prior"], "published": inputs["mid"]})[
        "entropy_leakage"
    ].value


def merging_leaks_more(entry: Entry) -> float:
    counts = contingency_of(list(entry["inputs"]["classes"].values()))
    before = numbers_of(counts).table
    after = numbers_of(merged(counts, [0, 1, 1])).table
    assert before["sensitive", "entropy_leakage"] == pytest.approx(0.468996, abs=1e-6)
    assert after["sensitive", "distribution_leakage"] <= before["sensitive", "distribution_leakage"]
    return after["sensitive", "entropy_leakage"]


ADULT_NAMES = {"country": "native-country", "marital": "marital-status", "salary": "income"}


def distinct_values(entry: Entry) -> float:
    column = entry["id"].rpartition(".")[2]
    found = measured(complete_adult(), quasi_identifiers=ADULT_NAMES.get(column, column))
    return found.identity["classes"].value
