# SPDX-License-Identifier: Apache-2.0
"""Adult with the eight quasi-identifiers and the hierarchies of ARX's benchmark, written anew."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from divulge.counting import Contingency, count
from divulge.hierarchies import Hierarchy, read_hierarchy
from divulge.sources import read, resolve_roles
from tests.metrics.adult import complete_adult
from tests.metrics.drawn import opened

QUASI_IDENTIFIERS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "income",
)
ARX_FOLDER = Path(__file__).parents[3] / "shared" / "data" / "arx-adult"
"""Optional folder of ARX's own files, next to the checkout."""

_MARITAL = {
    "spouse present": "Married-civ-spouse Married-AF-spouse",
    "spouse not present": "Divorced Never-married Separated Widowed Married-spouse-absent",
}
_WORK = {
    "Non-Government": "Private Self-emp-not-inc Self-emp-inc",
    "Government": "Federal-gov Local-gov State-gov",
    "Unemployed": "Without-pay Never-worked",
}
_COUNTRIES = {
    "Africa": "South",
    "Asia": "Cambodia India Japan China Iran Philippines Vietnam Laos Taiwan Thailand Hong",
    "South America": "Ecuador Columbia Nicaragua Trinadad&Tobago Peru",
    "Europe": "England Germany Greece Italy Poland Portugal Ireland France Hungary Scotland "
    "Yugoslavia Holand-Netherlands",
    "North America": "United-States Puerto-Rico Canada Outlying-US(Guam-USVI-etc) Cuba Honduras "
    "Jamaica Mexico "
    "Dominican-Republic Haiti Guatemala El-Salvador",
}
_SCHOOLS = {
    ("Undergraduate", "Higher education"): "Bachelors Some-college",
    ("Graduate", "Higher education"): "Masters Doctorate",
    ("Professional Education", "Higher education"): "Prof-school Assoc-acdm Assoc-voc",
    ("High School", "Secondary education"): "9th 10th 11th 12th 7th-8th HS-grad",
    ("Primary School", "Primary education"): "Preschool 1st-4th 5th-6th",
}


def _grouped(column: str, groups: Mapping[str, str]) -> Hierarchy:
    return Hierarchy(
        column,
        {
            value: (value, label, "*")
            for label, values in groups.items()
            for value in values.split()
        },
    )


def _flat(column: str, values: str) -> Hierarchy:
    return Hierarchy(column, {value: (value, "*") for value in values.split()})


def _ages() -> Hierarchy:
    """Ages 1 to 100 in steps of 5, 10 and 20 years, 1 to 5 the first, as ARX has them."""
    rows: dict[str | None, tuple[str | None, ...]] = {}
    for age in range(1, 101):
        rows[str(age)] = (
            str(age),
            *(f"from {(age - 1) // width * width + 1}" for width in (5, 10, 20)),
            "*",
        )
    return Hierarchy("age", rows)


@cache
def hierarchies() -> dict[str, Hierarchy]:
    """One for each quasi-identifier."""
    schools: dict[str | None, tuple[str | None, ...]] = {
        value: (value, *labels, "*")
        for labels, values in _SCHOOLS.items()
        for value in values.split()
    }
    return {
        "sex": _flat("sex", "Male Female"),
        "age": _ages(),
        "race": _flat("race", "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
        "marital-status": _grouped("marital-status", _MARITAL),
        "education": Hierarchy("education", schools),
        "native-country": _grouped("native-country", _COUNTRIES),
        "workclass": _grouped("workclass", _WORK),
        "income": _flat("income", ">50K <=50K"),
    }


@cache
def counted() -> Contingency:
    """The 30,162 complete rows, occupation sensitive; skipped if they are not available."""
    table = opened(complete_adult())
    return count(
        table,
        resolve_roles(table, quasi_identifiers=list(QUASI_IDENTIFIERS), sensitive="occupation"),
    )


@cache
def counted_by_arx() -> tuple[Contingency, dict[str, Hierarchy]]:
    """ARX's own files; skipped if they are missing."""
    if not ARX_FOLDER.is_dir():
        pytest.skip(
            "ARX's Adult files are not beside this checkout (../shared/data/arx-adult); the same "
            "is tested on the public Adult"
        )
    columns = [name if name != "income" else "salary-class" for name in QUASI_IDENTIFIERS]
    table = read(ARX_FOLDER / "adult.csv")
    contingency = count(
        table, resolve_roles(table, quasi_identifiers=columns, sensitive="occupation")
    )
    return contingency, {
        name: read_hierarchy(ARX_FOLDER / f"adult_hierarchy_{name}.csv", name) for name in columns
    }
