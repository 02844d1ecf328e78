# SPDX-License-Identifier: Apache-2.0
"""Anatomy, Slicing, ASN and random permutation under the same interface, each with the promise it makes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.anatomy import Anatomized, Anatomy, Asn, InfeasibleModel, Method, RandomPermutation, RowCodes, Slicing
from divulge.anatomy.methods import anatomize, k_medoids
from divulge.anatomy.rows import rows_of
from divulge.errors import BadInput
from tests.anatomy.checker import as_lists
from tests.anatomy.literature import QUASI_IDENTIFIERS, table_1

COUNTS = st.lists(st.integers(1, 9), min_size=1, max_size=7)


def with_values(counts: list[int]) -> RowCodes:
    """Records with a sensitive value and two columns, in mixed order."""
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    mixed = np.random.default_rng(0).permutation(values).tolist()
    return rows_of({"a": range(len(mixed)), "b": [i % 3 for i in range(len(mixed))], "s": mixed})


def run(rows: RowCodes, method: Method, *, sensitive: str | list[str] = "s", seed: int = 0) -> Anatomized:
    """All other columns are quasi-identifiers."""
    secret = [sensitive] if isinstance(sensitive, str) else sensitive
    names = [name for name in rows.names if name not in secret]
    return anatomize(rows, method, quasi_identifiers=names, sensitive=sensitive, seed=seed)


@settings(deadline=None)
@given(COUNTS, st.integers(1, 5))
def test_anatomy_makes_groups_of_different_values_exactly_if_it_can(counts: list[int], size: int) -> None:
    rows = with_values(counts)
    if max(counts) * size > sum(counts):
        with pytest.raises(InfeasibleModel, match="above beta"):
            run(rows, Anatomy(size))
        return
    found = run(rows, Anatomy(size))
    values = rows.column("s")
    assert found.tables == (("a", "b"), ("s",))
    assert found.groups == sum(counts) // size
    for group in as_lists(found.group):
        assert len(group) >= size
        assert len(set(values[group].tolist())) == len(group)
    assert found.levels.beta <= Fraction(1, size)


def test_anatomy_knows_one_sensitive_attribute() -> None:
    with pytest.raises(BadInput, match="knows one sensitive attribute"):
        run(with_values([1, 1]), Anatomy(1), sensitive=["a", "s"])


def test_anatomy_depends_on_the_seed_alone() -> None:
    rows = with_values([5, 5, 5, 5])
    assert (run(rows, Anatomy(2), seed=1).group == run(rows, Anatomy(2), seed=1).group).all()
    assert (run(rows, Anatomy(2), seed=1).group != run(rows, Anatomy(2), seed=2).group).any()


@settings(deadline=None)
@given(COUNTS, st.integers(1, 4))
def test_slicing_buckets_are_diverse(counts: list[int], size: int) -> None:
    rows = with_values(counts)
    values = rows.column("s")
    if len(counts) < size:
        with pytest.raises(InfeasibleModel):
            run(rows, Slicing(size, check="distinct"))
    else:
        for group in as_lists(run(rows, Slicing(size, check="distinct")).group):
            assert len(set(values[group].tolist())) >= size
    if max(counts) * size > sum(counts) or len(counts) < size:
        with pytest.raises(InfeasibleModel):
            run(rows, Slicing(size))
        return
    for group in as_lists(run(rows, Slicing(size)).group):
        assert max(Counter(values[group].tolist()).values()) * size <= len(group)


def test_slicing_buckets_are_alike() -> None:
    """Sixteen records with the values x and y by turns: cut at the medians of a into eight pairs."""
    rows = rows_of({"a": range(16), "b": [0] * 16, "s": ["x", "y"] * 8})
    found = run(rows, Slicing(2))
    assert sorted(as_lists(found.group)) == [[i, i + 1] for i in range(0, 16, 2)]


def test_slicing_clusters_attributes() -> None:
    """Table 1: 1 - phi2 is 0 between Age, Zipcode and Gender's pairs with Age; Job stands apart."""
    found = run(table_1().take(np.arange(8)), Slicing(1, tables=2), sensitive=["Name", "Salary"])
    assert {frozenset(table) for table in found.division.tables} == {
        frozenset(["Gender", "Age", "Zipcode"]),
        frozenset(["Job"]),
    }
    assert len(found.division.coefficients) == 6
    assert set(QUASI_IDENTIFIERS) == {name for table in found.division.tables for name in table}


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_k_medoids_finds_as_many_clusters_as_asked_and_no_single_exchange_is_better(
    items: int, clusters: int, seed: int
) -> None:
    clusters = min(items, clusters)
    drawn: Any = np.random.default_rng(seed).random((items, items))
    distance = (drawn + drawn.T) / 2
    np.fill_diagonal(distance, 0)
    found = k_medoids(distance, clusters)
    medoids = sorted(set(found))
    assert len(medoids) == clusters

    def cost(chosen: Any) -> float:
        return sum(float(min(distance[item, medoid] for medoid in chosen)) for item in range(items))

    assert sum(distance[item, medoid] for item, medoid in enumerate(found)) == pytest.approx(cost(medoids))
    for other in combinations(range(items), clusters):
        if len(set(other) & set(medoids)) == clusters - 1:
            assert cost(other) >= cost(medoids) - 1e-9


def test_slicing_refuses_what_cannot_be() -> None:
    rows = with_values([2, 2])
    with pytest.raises(BadInput, match="into 3 tables"):
        run(rows, Slicing(1, tables=3))
    with pytest.raises(BadInput, match="no check 'entropy'"):
        Slicing(2, check="entropy")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="l = 0"):
        Slicing(0)
    with pytest.raises(InfeasibleModel, match="s has 2 values, fewer than l = 3"):
        run(rows, Slicing(3, check="distinct"))


def test_slicing_checks_each_sensitive_attribute() -> None:
    rows = rows_of({"a": range(8), "s": [0, 1] * 4, "t": [0, 0, 0, 0, 1, 1, 1, 1]})
    assert run(rows, Slicing(2, tables=1), sensitive="s").groups == 4
    assert run(rows, Slicing(2, tables=1), sensitive=["s", "t"]).groups == 1


def test_asn_puts_each_attribute_into_a_table_and_keeps_beta_and_presence() -> None:
    rows = with_values([6, 6, 6, 6])
    found = run(rows, Asn(Fraction(1, 3), presence=Fraction(1, 10)))
    assert found.tables == (("a",), ("b",), ("s",))
    assert found.levels.beta <= Fraction(1, 3)
    assert found.levels.gamma <= Fraction(1, 10)
    with pytest.raises(InfeasibleModel, match="beta"):
        run(rows, Asn(Fraction(1, 5)))


def test_random_permutation_promises_nothing_but_sizes() -> None:
    found = run(with_values([9, 1]), RandomPermutation(3))
    assert sorted(found.sizes.tolist()) == [3, 3, 4]
    assert found.levels.beta == 1
    assert run(with_values([2]), RandomPermutation(5)).groups == 1
    with pytest.raises(BadInput, match="groups of 0 records"):
        RandomPermutation(0)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (Anatomy(2), {"l_diversity": 2}),
        (Slicing(2), {"l_diversity": 2, "tables": 2, "check": "frequency"}),
        (Asn(Fraction(1, 2)), {"beta": "1/2", "presence": "1"}),
        (RandomPermutation(2), {"group_size": 2}),
    ],
)
def test_settings_are_recorded(method: Method, settings: dict[str, Any]) -> None:
    found = run(with_values([3, 3, 3]), method)
    assert (found.method, found.settings, found.seed) == (method.name, settings, 0)
