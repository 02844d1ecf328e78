# SPDX-License-Identifier: Apache-2.0
"""Table division: weights and coefficients of Table 1, both linkages, size cap, public data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.anatomization import Association, Linkage
from divulge.anatomization.column_division import divide, explicit_division
from divulge.anatomization.encoded_rows import associate, column_weight, rows_of
from divulge.errors import BadInput
from tests.anatomization.literature import QUASI_IDENTIFIERS, expected, table_1
from tests.anatomization.public import ADULT, CENSUS, paper_rows, public, rows_where

NAMES = {"adult": ADULT, "census-income": CENSUS}


def oracle_entropy(column: Sequence[Any]) -> float:
    """Eq. 9 on plain values."""
    return -math.fsum(
        n / len(column) * math.log2(n / len(column)) for n in Counter(column).values()
    )


def oracle_phi2(left: Sequence[Any], right: Sequence[Any]) -> Fraction:
    """Eq. 10 on plain values as printed, including the pairs that do not occur."""
    n, pairs, lefts, rights = (
        len(left),
        Counter(zip(left, right, strict=True)),
        Counter(left),
        Counter(right),
    )
    total = sum(
        (Fraction(pairs[a, b], n) - Fraction(lefts[a] * rights[b], n * n)) ** 2
        / Fraction(lefts[a] * rights[b], n * n)
        for a in lefts
        for b in rights
    )
    return Fraction(total) / (min(len(lefts), len(rights)) - 1)


def oracle_division(
    columns: Mapping[str, Sequence[Any]],
    tables: int,
    *,
    average: bool,
    coefficient: dict[frozenset[str], float],
) -> list[list[str]]:
    """Section 4.3.1: columns of highest entropy open the tables, others join their best table."""
    order = sorted(columns, key=lambda name: -round(oracle_entropy(columns[name]), 12))
    made = [[name] for name in order[:tables]]
    for name in order[tables:]:
        partners = [members if average else members[:1] for members in made]
        strength = [
            math.fsum(coefficient[frozenset((name, other))] for other in others) / len(others)
            for others in partners
        ]
        made[next(i for i, value in enumerate(strength) if value >= max(strength) - 1e-12)].append(
            name
        )
    return made


def test_weights_of_table_1() -> None:
    for name, bits in expected("eq9-weights").items():
        assert column_weight(table_1(), name) == pytest.approx(bits, abs=1e-12)


def test_coefficients_of_table_1() -> None:
    for pair, text in expected("eq10-phi2").items():
        left, right = pair.split("|")
        assert associate(table_1(), left, right) == pytest.approx(float(Fraction(text)), abs=1e-12)
        assert associate(table_1(), right, left) == pytest.approx(float(Fraction(text)), abs=1e-12)


@pytest.mark.parametrize("linkage", ["average", "first"])
def test_division_of_table_1_as_written(linkage: Linkage) -> None:
    found = divide(table_1(), QUASI_IDENTIFIERS, tables=2, linkage=linkage)
    assert [list(names) for names in found.tables] == expected("division-as-written")


def test_division_of_table_1_with_a_cap() -> None:
    found = divide(table_1(), QUASI_IDENTIFIERS, tables=2, max_table_size=2)
    assert [list(names) for names in found.tables] == expected("division-capped")


def test_division_holds_weights_and_coefficients() -> None:
    found = divide(table_1(), QUASI_IDENTIFIERS, tables=2)
    assert [name for name, _ in found.weights] == ["Age", "Job", "Zipcode", "Gender"]
    known = {
        frozenset(pair.split("|")): Fraction(text) for pair, text in expected("eq10-phi2").items()
    }
    # C(4, 2) - C(2, 2): the columns that open tables are not compared
    assert len(found.coefficients) == 5
    for row in found.coefficients:
        assert row.value == pytest.approx(float(known[frozenset((row.left, row.right))]), abs=1e-12)


def test_first_linkage_needs_fewer_coefficients() -> None:
    found = divide(table_1(), QUASI_IDENTIFIERS, tables=2, linkage="first")
    assert len(found.coefficients) == 2 * (4 - 2)


def test_equal_columns_keep_their_order() -> None:
    rows = rows_of({"b": [0, 1, 0, 1], "a": [0, 1, 0, 1], "c": [1, 0, 1, 0]})
    assert divide(rows, ["b", "a", "c"], tables=2).tables == (("b", "c"), ("a",))
    assert divide(rows, ["c", "a", "b"], tables=2).tables == (("c", "b"), ("a",))


def test_a_constant_column_has_no_association() -> None:
    rows = rows_of({"a": [1, 1, 1], "b": [1, 2, 3]})
    assert column_weight(rows, "a") == 0
    assert associate(rows, "a", "b") == 0
    assert associate(rows, "a", "b", kind="cramers_v2") == 0


def test_corrected_coefficient_by_hand() -> None:
    """Counts 3 1 / 1 3: phi2 = 1/4; corrected (1/4 - 1/7) / (2 - 1/7 - 1) = 1/8."""
    rows = rows_of({"a": [0, 0, 0, 0, 1, 1, 1, 1], "b": [0, 0, 0, 1, 0, 1, 1, 1]})
    assert associate(rows, "a", "b") == pytest.approx(1 / 4, abs=1e-15)
    assert associate(rows, "a", "b", kind="cramers_v2") == pytest.approx(1 / 8, abs=1e-15)


def test_corrected_coefficient_of_independent_columns_is_0_where_phi2_is_not() -> None:
    """Two columns with distinct values in each row: phi2 is 1, the corrected coefficient 0."""
    rows = rows_of({"a": range(6), "b": [5, 0, 3, 1, 4, 2]})
    assert associate(rows, "a", "b") == pytest.approx(1)
    assert associate(rows, "a", "b", kind="cramers_v2") == 0


_COLUMN = st.lists(st.sampled_from([0, 1, 2, None]), min_size=5, max_size=5)


@settings(deadline=None)
@given(st.fixed_dictionaries(dict.fromkeys("pqrst", _COLUMN)), st.integers(1, 5), st.booleans())
def test_division_agrees_with_the_text(
    columns: dict[str, list[Any]],
    tables: int,
    average: bool,  # noqa: FBT001
) -> None:
    coefficient = {
        frozenset((a, b)): float(oracle_phi2(columns[a], columns[b]))
        if min(len(set(columns[a])), len(set(columns[b]))) > 1
        else 0.0
        for a in columns
        for b in columns
        if a < b
    }
    rows = rows_of(columns)
    for pair, value in coefficient.items():
        left, right = sorted(pair)
        assert associate(rows, left, right) == pytest.approx(value, abs=1e-12)
    found = divide(rows, list(columns), tables=tables, linkage="average" if average else "first")
    assert [list(names) for names in found.tables] == oracle_division(
        columns, tables, average=average, coefficient=coefficient
    )


def test_tables_passed_explicitly() -> None:
    assert explicit_division(["a", "b", "c"], [["c", "a"], ["b"]]).tables == (("c", "a"), ("b",))


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([["a"], ["b"]], "'c' is in no table"),
        ([["a", "b"], ["c", "a"]], "'a' is put into two tables"),
        ([["a", "b", "c", "d"]], "'d' is put into a table"),
        ([["a", "b", "c"], []], "a table has no columns"),
    ],
)
def test_invalid_tables_are_rejected(tables: list[list[str]], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        explicit_division(["a", "b", "c"], tables)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tables": 5}, "4 quasi-identifiers cannot be divided into 5 tables"),
        ({"tables": 0}, "into 0 tables"),
        ({"tables": 2, "max_table_size": 1}, "cannot hold 4"),
        ({"tables": 2, "linkage": "single"}, "no linkage 'single'"),
        ({"tables": 2, "association": "pearson"}, "no association 'pearson'"),
    ],
)
def test_invalid_division_options_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        divide(table_1(), QUASI_IDENTIFIERS, **options)


@pytest.mark.public_data
@pytest.mark.parametrize(("data", "case"), [("adult", "T5-counts"), ("census-income", "T6-counts")])
def test_distinct_values_of_the_paper(data: str, case: str) -> None:
    rows = paper_rows(data)
    assert {name: len(rows.domain(column)) for name, column in NAMES[data].items()} == expected(
        case
    )


@cache
def public_column(data: str, column: str) -> list[Any]:
    """The values of a public table's column."""
    values: list[Any] = public(data).column(column).to_pylist()
    return values


@cache
def public_phi2(data: str, columns: frozenset[str]) -> float:
    """Eq. 10 over the pairs that occur; the others sum to the rest."""
    left, right = (public_column(data, column) for column in columns)
    pairs, lefts, rights = Counter(zip(left, right, strict=True)), Counter(left), Counter(right)
    total = math.fsum(n * n / (lefts[a] * rights[b]) for (a, b), n in pairs.items()) - 1
    return total / (min(len(lefts), len(rights)) - 1)


@pytest.mark.public_data
@pytest.mark.parametrize("data", ["adult", "census-income"])
def test_weights_of_public_data(data: str) -> None:
    rows = paper_rows(data)
    for column in NAMES[data].values():
        assert column_weight(rows, column) == pytest.approx(
            oracle_entropy(public_column(data, column)), abs=1e-9
        )


@pytest.mark.public_data
@pytest.mark.parametrize("tables", [2, 3, 4])
@pytest.mark.parametrize("linkage", ["average", "first"])
@pytest.mark.parametrize("data", ["adult", "census-income"])
def test_division_of_public_data(data: str, linkage: Linkage, tables: int) -> None:
    rows = paper_rows(data)
    names = list(NAMES[data].values())[:-1]  # the last is the paper's sensitive attribute
    found = divide(rows, names, tables=tables, linkage=linkage)
    coefficient = {}
    for row in found.coefficients:
        pair = frozenset((row.left, row.right))
        coefficient[pair] = public_phi2(data, pair)
        assert row.value == pytest.approx(coefficient[pair], abs=1e-9)
    columns = {name: public_column(data, name) for name in names}
    assert [list(members) for members in found.tables] == oracle_division(
        columns, tables, average=linkage == "average", coefficient=coefficient
    )


@pytest.mark.public_data
def test_industry_determines_major_industry() -> None:
    assert associate(
        paper_rows("census-income"), CENSUS["industry"], CENSUS["major"]
    ) == pytest.approx(1, abs=1e-12)


def _sizes(names: Sequence[str], linkage: Linkage, kind: Association = "phi2") -> list[int]:
    rows = rows_where("adult", names)
    found = divide(rows, names, tables=3, linkage=linkage, association=kind)
    return [len(members) for members in found.tables]


@pytest.mark.public_data
def test_figure_3_of_the_paper() -> None:
    names = list(ADULT.values())[:-1]
    assert sorted(_sizes(names, "first")) == expected("figure-3")["first"]
    assert sorted(_sizes(names, "average")) != expected("figure-3")["first"]


@pytest.mark.public_data
def test_a_survey_weight_draws_everything_unless_corrected() -> None:
    names = [*list(ADULT.values())[:-1], "fnlwgt", "education-num", "capital-gain", "capital-loss"]
    known = expected("figure-3")
    for linkage in ("average", "first"):
        assert max(_sizes(names, linkage)) == known["with fnlwgt, most columns in one table"]
    assert sorted(_sizes(names, "average", "cramers_v2")) == sorted(
        known["with fnlwgt, cramers_v2, average"]
    )
