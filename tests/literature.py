# SPDX-License-Identifier: Apache-2.0
"""The tables of the papers, as Arrow tables: Tables 1 to 3 of Afifi et al. 2018."""

from __future__ import annotations

import pyarrow as pa

_CLASSES_1B = [("476**", "2*")] * 3 + [("4790*", ">=40")] * 3 + [("476**", "3*")] * 3
_DISEASES_1 = [
    "Heart Disease",
    "Heart Disease",
    "Heart Disease",
    "Flu",
    "Heart Disease",
    "Cancer",
    "Heart Disease",
    "Cancer",
    "Cancer",
]

TABLE_1B = pa.table(
    {
        "zip": [zip_ for zip_, _ in _CLASSES_1B],
        "age": [age for _, age in _CLASSES_1B],
        "disease": _DISEASES_1,
    }
)
"""Patients, a 3-anonymous version."""

_SALARIES_2B = [3, 4, 5, 6, 11, 8, 7, 9, 10]
_DISEASES_2B = [
    "gastric ulcer",
    "gastritis",
    "stomach cancer",
    "gastritis",
    "flu",
    "bronchitis",
    "bronchitis",
    "pneumonia",
    "stomach cancer",
]

TABLE_2B = pa.table(
    {
        "zip": TABLE_1B["zip"],
        "age": TABLE_1B["age"],
        "salary": _SALARIES_2B,
        "disease": _DISEASES_2B,
    }
)
"""Salary (in thousands) and disease, a 3-diverse version."""

_CLASSES_3 = [("4767*", "<=40")] * 3 + [("4790*", ">=40")] * 3 + [("4760*", "<=40")] * 3
_ROWS_3 = [0, 2, 7, 3, 4, 5, 1, 6, 8]

TABLE_3 = pa.table(
    {
        "zip": [zip_ for zip_, _ in _CLASSES_3],
        "age": [age for _, age in _CLASSES_3],
        "salary": [_SALARIES_2B[row] for row in _ROWS_3],
        "disease": [_DISEASES_2B[row] for row in _ROWS_3],
    }
)
"""Patients of the table above, 0.167-close in salary and 0.278-close in disease."""
