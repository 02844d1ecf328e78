# SPDX-License-Identifier: Apache-2.0
"""RECQ and associations: the paper's numbers, an oracle in plain Python, and trends on Adult.

The trends are those of Figs. 6, 9 and 10.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import ceil, log2, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.anatomization import (
    AlphaBetaGammaDelta,
    Anatomized,
    Asn,
    CodedTables,
    Query,
    RowCodes,
    Slppa,
    Workload,
    associations,
    estimator,
    query_error,
    recq,
    recq_of,
)
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.methods import anatomize
from divulge.errors import BadInput, Infeasible
from tests.anatomization.checker import Drawn, drawn
from tests.anatomization.literature import CASES, PEOPLE, QUASI_IDENTIFIERS, expected, table_1
from tests.anatomization.public import paper_rows
from tests.anatomization.table_3 import anatomized_table_1


def question() -> Query:
    """Age > 30 and Job = Doctor and Salary = 6700 (section 5.1)."""
    rows = table_1()
    masks = {
        "Age": np.array([int(age) > 30 for age in rows.domain("Age").labels]),
        "Job": np.array([job == "Doctor" for job in rows.domain("Job").labels]),
        "Salary": np.array([pay == "6700" for pay in rows.domain("Salary").labels]),
    }
    return Query(masks, 2)


def test_the_papers_query_and_its_error() -> None:
    grouped, whole = anatomized_table_1(), anatomized_table_1([PEOPLE])
    true = int(question().matches(table_1()).sum())
    assert true == 1
    assert estimator(CodedTables.of(grouped))(question()) == Fraction(expected("5.1-query-grouped"))
    assert estimator(CodedTables.of(whole))(question()) == Fraction(expected("5.1-query-ungrouped"))


def test_error_of_a_query_without_matches_is_divided_by_the_floor() -> None:
    # Golden case eq11-zero: Q(T) = 0 and Q(T*) = 3/4 leave eq. 13 undefined.
    assert CASES["002-eq11-zero"]["expected"] is None
    rows = rows_of({"a": [1, 1, 1, 2], "s": [1, 1, 2, 3]})
    found = recq(
        rows,
        lambda _: 0.75,
        quasi_identifiers=["a"],
        sensitive=["s"],
        workload=Workload(kind="range", selectivity=0.01, queries=60),
    )
    empty = [
        query for query in found.workload.draw(rows, ["a"], ["s"]) if not query.matches(rows).any()
    ]
    assert found.below_floor == len(empty) > 0
    errors = [
        abs(count - 0.75) / max(count, 1)
        for query in found.workload.draw(rows, ["a"], ["s"])
        for count in [int(query.matches(rows).sum())]
    ]
    assert found.mean == pytest.approx(sum(errors) / len(errors), abs=1e-12)


def by_hand(found: Anatomized, query: Query) -> tuple[int, Fraction]:
    """The true count, and equation 11, record by record."""
    cells = {name: found.rows.column(name).tolist() for name in query.masks}

    def satisfies(row: int, names: tuple[str, ...]) -> bool:
        return all(query.masks[name][cells[name][row]] for name in names if name in query.masks)

    everything = tuple(query.masks)
    true = sum(satisfies(row, everything) for row in range(len(found.rows)))
    total = Fraction(0)
    for group in range(found.groups):
        members = np.flatnonzero(found.group == group).tolist()
        shares = [
            Fraction(sum(satisfies(row, names) for row in members), len(members))
            for names in found.tables
        ]
        total += len(members) * prod(shares, start=Fraction(1))
    return true, total


@given(example=drawn(), seed=st.integers(0, 1000), few=st.sampled_from([0, 3]))
@settings(deadline=None, max_examples=30)
def test_small_caches_give_the_same_answers(example: Drawn, seed: int, few: int) -> None:
    """Few combinations are evaluated one by one, and the cache has room for hardly any count."""
    if (found := _grouped(example)) is None:
        return
    names = [name for name in found.rows.names if name in example.quasi_identifiers]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_error, "_FEW_COMBINATIONS", few)
        patch.setattr(query_error, "_CELLS", 8)
        answer = estimator(CodedTables.of(found))
        for query in Workload(kind="range", queries=10, seed=seed).draw(
            found.rows, names, example.sensitive
        ):
            assert answer(query) == pytest.approx(float(by_hand(found, query)[1]), abs=1e-12)


@given(example=drawn(), kind=st.sampled_from(["anchored", "range"]), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_recq_is_what_counting_by_hand_gives(example: Drawn, kind: str, seed: int) -> None:
    found = _grouped(example)
    if found is None:
        return
    workload = Workload(kind=kind, queries=15, seed=seed, selectivity=0.4)  # type: ignore[arg-type]
    errors = []
    names = [name for name in found.rows.names if name in example.quasi_identifiers]
    for query in workload.draw(found.rows, names, example.sensitive):
        true, answered = by_hand(found, query)
        errors.append(float(abs(true - answered) / max(true, 1)))
        assert estimator(CodedTables.of(found))(query) == pytest.approx(float(answered), abs=1e-12)
    measured = recq_of(found, workload)
    assert measured.mean == pytest.approx(sum(errors) / len(errors), abs=1e-12)
    assert measured.median == pytest.approx(sorted(errors)[7], abs=1e-12)
    assert measured.queries == 15


def _grouped(example: Drawn) -> Anatomized | None:
    method = Slppa(AlphaBetaGammaDelta(beta="2/3"), tables=example.tables)
    try:
        return anatomize(
            example.codes,
            method,
            quasi_identifiers=example.quasi_identifiers,
            sensitive=example.sensitive,
            seed=1,
        )
    except Infeasible:
        return None


def test_every_anchored_query_is_satisfied_by_its_record() -> None:
    rows = table_1()
    for query in Workload(queries=200, quasi_identifiers=(1, 4)).draw(
        rows, QUASI_IDENTIFIERS, ["Salary"]
    ):
        assert query.matches(rows).any()
        assert query.quasi_identifiers == len(query.masks) - 1
        assert all(mask.sum() == 1 for mask in query.masks.values())


def test_range_queries_have_the_width_of_xiao_and_tao_and_neighbours_where_there_is_an_order() -> (
    None
):
    rows = rows_of(
        {"age": list(range(50)), "job": [f"j{i:02}" for i in range(50)], "s": list(range(50))}
    )
    workload = Workload(kind="range", queries=100, quasi_identifiers=(2, 2), selectivity=0.1)
    spread = 0
    for query in workload.draw(rows, ["age", "job"], ["s"]):
        for name, mask in query.masks.items():
            places = np.flatnonzero(mask)
            assert len(places) == ceil(50 * 0.1 ** (1 / 3))
            neighbours = places[-1] - places[0] + 1 == len(places)
            assert neighbours or name == "job"
            spread += not neighbours
    assert spread > 50


def test_a_workload_draws_the_same_queries_for_every_release() -> None:
    rows = table_1()
    first, second = (
        [
            {name: mask.tolist() for name, mask in query.masks.items()}
            for query in Workload(queries=50).draw(rows, QUASI_IDENTIFIERS, ["Salary"])
        ]
        for _ in range(2)
    )
    assert first == second


def test_releases_that_divide_the_columns_differently_are_asked_the_same_queries() -> None:
    rows, workload = table_1(), Workload(queries=40, quasi_identifiers=(1, 3))
    divisions = ((("Age", "Job"), ("Zipcode", "Gender")), (("Zipcode", "Gender"), ("Age", "Job")))
    errors = [
        recq_of(
            anatomize(
                rows,
                Slppa(AlphaBetaGammaDelta(beta="1/4"), tables=tables),
                quasi_identifiers=QUASI_IDENTIFIERS,
                sensitive="Salary",
                seed=1,
            ),
            workload,
        ).mean
        for tables in divisions
    ]
    assert errors[0] == pytest.approx(errors[1], abs=1e-12)


def test_large_tables_get_fewer_queries_by_default() -> None:
    assert Workload().size(1_000_000) == 1000
    assert Workload().size(10_000_000) == 200
    assert Workload(queries=7).size(10_000_000) == 7


@pytest.mark.parametrize(
    "wrong",
    [
        {"quasi_identifiers": (0, 1)},
        {"quasi_identifiers": (3, 2)},
        {"kind": "other"},
        {"selectivity": 0.0},
        {"selectivity": 1.5},
        {"queries": 0},
        {"floor": 0},
    ],
)
def test_workloads_that_cannot_be_drawn_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        Workload(**wrong)  # type: ignore[arg-type]


def pairs_by_hand(
    found: Anatomized, left: str, right: str, *, together: bool
) -> tuple[float, float]:
    """phi2 (eq. 10) and mutual information of the expected joint distribution."""
    a, b = found.rows.column(left).tolist(), found.rows.column(right).tolist()
    joint: Counter[tuple[int, int]] = Counter()
    if together:
        joint.update(zip(a, b, strict=True))
    else:
        for group in range(found.groups):
            members = np.flatnonzero(found.group == group).tolist()
            for i in members:
                for j in members:
                    joint[a[i], b[j]] += Fraction(1, len(members))  # type: ignore[assignment]
    total = Fraction(sum(joint.values()))
    shares = {pair: Fraction(count) / total for pair, count in joint.items() if count}
    lefts: Counter[int] = Counter()
    rights: Counter[int] = Counter()
    for (x, y), share in shares.items():
        lefts[x] += share  # type: ignore[assignment]
        rights[y] += share  # type: ignore[assignment]
    square = sum(
        (shares.get((x, y), Fraction(0)) - lefts[x] * rights[y]) ** 2
        / (Fraction(1) * lefts[x] * rights[y])
        for x in lefts
        for y in rights
    )
    fewest = min(len(lefts), len(rights))
    information = sum(
        float(share) * log2(share / (lefts[x] * rights[y])) for (x, y), share in shares.items()
    )
    return (float(square / (fewest - 1)) if fewest > 1 else 0.0), information


@given(example=drawn())
@settings(deadline=None, max_examples=40)
def test_associations_are_what_counting_by_hand_gives(example: Drawn) -> None:
    found = _grouped(example)
    if found is None:
        return
    place = {name: number for number, names in enumerate(found.tables) for name in names}
    measured = associations(found)
    assert [(item.left, item.right) for item in measured] == list(combinations(place, 2))
    for item in measured:
        true = pairs_by_hand(found, item.left, item.right, together=True)
        rebuilt = pairs_by_hand(
            found, item.left, item.right, together=place[item.left] == place[item.right]
        )
        assert (item.true.phi2, item.true.mutual_information) == pytest.approx(true, abs=1e-9)
        assert (item.reconstructed.phi2, item.reconstructed.mutual_information) == pytest.approx(
            rebuilt, abs=1e-9
        )


MODEL = AlphaBetaGammaDelta(beta="1/7")


@pytest.fixture(scope="module")
def adult_rows() -> tuple[RowCodes, list[str]]:
    rows = paper_rows("adult")
    return rows, [name for name in rows.names if name not in ("occupation", "native-country")]


@pytest.mark.public_data
def test_the_error_grows_with_the_quasi_identifiers_of_a_query(
    adult_rows: tuple[RowCodes, list[str]],
) -> None:
    """Fig. 6 of Yao et al. 2021."""
    rows, names = adult_rows
    found = anatomize(
        rows, Slppa(MODEL, tables=3), quasi_identifiers=names, sensitive="occupation", seed=1
    )
    asked = (Workload(queries=300, quasi_identifiers=(number, number)) for number in (1, 4, 7))
    means = [recq_of(found, workload).mean for workload in asked]
    assert means == sorted(means)


@pytest.mark.public_data
def test_the_error_grows_with_tables_and_group_size_and_asn_is_worst(
    adult_rows: tuple[RowCodes, list[str]],
) -> None:
    """Figs. 9 and 10, and section 6.2.

    ASN is worst because each attribute is a separate table (errata).
    """
    rows, names = adult_rows
    releases = [
        anatomize(rows, method, quasi_identifiers=names, sensitive="occupation", seed=1)
        for method in (
            Slppa(MODEL, tables=1),
            Slppa(MODEL, tables=4),
            Asn(beta=MODEL.beta),
            Slppa(MODEL, tables=1, group_size=100),
        )
    ]
    workload = Workload(queries=400, quasi_identifiers=(4, 6))
    one, four, each, large = (recq_of(release, workload).mean for release in releases)
    assert one < four < each
    assert one < large
    assert len(releases[0].tables) == 2
    assert len(releases[2].tables) == len(names) + 1
    assert releases[3].sizes.mean() > 90


@pytest.mark.public_data
def test_locality_lowers_the_error(adult_rows: tuple[RowCodes, list[str]]) -> None:
    rows, names = adult_rows
    method = Slppa(AlphaBetaGammaDelta(beta="1/5"), tables=2)
    apart, alike = (
        recq_of(
            anatomize(
                rows,
                replace(method, locality=locality),
                quasi_identifiers=names,
                sensitive="occupation",
                seed=1,
            ),
            Workload(queries=400),
        )
        for locality in (False, True)
    )
    assert alike.mean < apart.mean
