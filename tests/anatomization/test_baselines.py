# SPDX-License-Identifier: Apache-2.0
"""Anatomy, Slicing, ASN and random permutation: one interface, and the guarantee of each."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.anatomization import (
    AlphaBetaGammaDelta,
    Anatomized,
    Anatomy,
    Asn,
    InfeasibleModel,
    Method,
    RandomPermutation,
    RowCodes,
    Slicing,
    Slppa,
)
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.methods import anatomize, k_medoids
from divulge.errors import BadInput
from tests.anatomization.checker import as_lists
from tests.anatomization.literature import QUASI_IDENTIFIERS, table_1

COUNTS = st.lists(st.integers(1, 9), min_size=1, max_size=7)


def with_values(counts: list[int]) -> RowCodes:
    """Records with a sensitive value and two columns, in mixed order."""
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    mixed = np.random.default_rng(0).permutation(values).tolist()
    return rows_of({"a": range(len(mixed)), "b": [i % 3 for i in range(len(mixed))], "s": mixed})


def run(
    rows: RowCodes, method: Method, *, sensitive: str | list[str] = "s", seed: int = 0
) -> Anatomized:
    """Anatomize with all other columns as quasi-identifiers."""
    secret = [sensitive] if isinstance(sensitive, str) else sensitive
    names = [name for name in rows.names if name not in secret]
    return anatomize(rows, method, quasi_identifiers=names, sensitive=sensitive, seed=seed)


@settings(deadline=None)
@given(COUNTS, st.integers(1, 5))
def test_anatomy_makes_groups_of_different_values_exactly_if_it_can(
    counts: list[int], size: int
) -> None:
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


def test_anatomy_rejects_several_sensitive_attributes() -> None:
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
    """Sixteen records, x and y by turns: splits at the medians of a give eight pairs."""
    rows = rows_of({"a": range(16), "b": [0] * 16, "s": ["x", "y"] * 8})
    for check in ("frequency", "distinct"):
        found = run(rows, Slicing(2, check=check))
        assert sorted(as_lists(found.group)) == [[i, i + 1] for i in range(0, 16, 2)]


def test_slicing_clusters_attributes() -> None:
    """Table 1: 1 - phi2 is 0 between Age, Zipcode and Gender's pairs with Age; Job is separate."""
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

    assert sum(distance[item, medoid] for item, medoid in enumerate(found)) == pytest.approx(
        cost(medoids)
    )
    for other in combinations(range(items), clusters):
        if len(set(other) & set(medoids)) == clusters - 1:
            assert cost(other) >= cost(medoids) - 1e-9


def test_slicing_rejects_infeasible_settings() -> None:
    rows = with_values([2, 2])
    with pytest.raises(BadInput, match="into 3 tables"):
        run(rows, Slicing(1, tables=3))
    with pytest.raises(BadInput, match="no check 'entropy'"):
        Slicing(2, check="entropy")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="l = 0"):
        Slicing(0)
    with pytest.raises(InfeasibleModel, match="s has 2 values, fewer than l = 3") as error:
        run(rows, Slicing(3, check="distinct"))
    assert error.value.hint == "Raise beta to 1/2"


@pytest.mark.parametrize("method", ["anatomy", "slicing"])
@pytest.mark.parametrize("counts", [[3, 3, 2], [2, 2, 2], [5, 4, 3, 3], [3, 1, 1], [4, 3]], ids=str)
@pytest.mark.parametrize("beta", ["2/5", "1/3", "3/10", "1/4", "2/9"])
def test_a_beta_named_in_a_hint_can_be_satisfied(
    method: Literal["anatomy", "slicing"], counts: list[int], beta: str
) -> None:
    """The share of the most common value, 3/8, is below 2/5, and both methods round 2/5 to 1/3."""
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    table = pa.table({"a": list(range(len(values))), "b": [1] * len(values), "s": values})

    def release(method: Literal["anatomy", "slicing", "slppa"], beta: str) -> None:
        dv.anatomize(table, quasi_identifiers=["a", "b"], sensitive="s", beta=beta, method=method)

    feasible_l = len(values) // max(counts)
    if math.ceil(1 / Fraction(beta)) <= feasible_l:
        release(method, beta)
        return
    with pytest.raises(InfeasibleModel) as error:
        release(method, beta)
    if feasible_l > 1:
        assert error.value.hint.startswith(f"Raise beta to 1/{feasible_l} (")
        release(method, f"1/{feasible_l}")
    else:
        share = Fraction(max(counts), len(values))
        assert error.value.hint == f"Use the method slppa, with beta = {share} or more"
        release("slppa", str(share))


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


def test_random_permutation_guarantees_only_sizes() -> None:
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


def test_the_gamma_of_a_hint_is_reached_by_groups_of_the_requested_size() -> None:
    """Groups of two reach 1 * 1/2 * 1/2 = 1/4, the only group of four 3/4 * 3/4 * 1/2 = 9/32."""
    rows = rows_of({"a": [1, 1, 1, 2], "b": [1, 2, 1, 1], "s": [0, 1, 0, 1]})

    def slppa(gamma: Fraction) -> Slppa:
        model = AlphaBetaGammaDelta(beta="1/2", gamma=gamma)
        return Slppa(model, tables=(("a",), ("b",)), group_size=4)

    with pytest.raises(InfeasibleModel) as error:
        run(rows, slppa(Fraction(7, 32)))
    assert error.value.nearest.gamma == Fraction(9, 32)
    assert run(rows, slppa(Fraction(9, 32))).groups == 1
