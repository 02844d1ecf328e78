# SPDX-License-Identifier: Apache-2.0
"""Synthetic patients: seeded, with realistic correlations and a few people at high risk.

Nobody here exists. Diagnosis depends on age, sex and occupation; income on education. Three small
groups leak: old people of one town who share a rare disease, metalworkers of one workshop who share
a lung disease, and a handful of centenarians. Common requirements do not protect them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge.arguments import arg
from divulge.errors import BadInput
from divulge.validation import checked

ROWS = 20_000
FEWEST = 100
QUASI_IDENTIFIERS = ("zip", "age", "sex")
SENSITIVE = "diagnosis"
POLICY = """# What the hospital promises about its table. Every column has its part.
quasi_identifiers = ["zip", "age", "sex"]
sensitive = "diagnosis"
identifier = "patient_id"
leave_out = ["marital_status", "education", "occupation", "insurance", "income"]

[promises]
k_anonymity = 5
l_diversity = 2
entropy_leakage = 1.5
distribution_leakage = 0.5
"""
_TOWNS = ("02138", "02139", "02140", "02141", "02215", "03101", "03102", "03301", "04101", "04240")
_OCCUPATIONS = (
    "office",
    "sales",
    "teacher",
    "nurse",
    "driver",
    "metalworker",
    "engineer",
    "farmer",
    "student",
    "retired",
)
_EDUCATION = ("primary", "secondary", "vocational", "bachelor", "master")
_DIAGNOSES = (
    "influenza",
    "back pain",
    "diabetes",
    "hypertension",
    "asthma",
    "depression",
    "migraine",
    "arthritis",
    "breast cancer",
    "prostate cancer",
    "lung fibrosis",
    "HIV",
    "dementia",
    "Huntington's disease",
)
_BASE = np.array([18, 14, 7, 12, 7, 9, 8, 6, 2.0, 2.0, 0.4, 0.6, 1.5, 0.05])
_PLANTED_AGES = (99, 100, 101, 103)
"""Ages of the four oldest people, who are unique by their age."""
Generator = np.random.Generator
Texts = npt.NDArray[np.str_]
Ints = npt.NDArray[np.int64]


@checked
def patients(*, rows: int = ROWS, seed: int = 2026) -> pa.Table:
    """Return a table of synthetic patients.

    Args:
        rows: The number of patients.
        seed: The same seed gives the same people.

    Examples:
        >>> import divulge as dv
        >>> dv.datasets.patients(rows=100).num_rows
        100
    """
    if rows < FEWEST:
        raise BadInput(
            f"{arg('rows', rows)} is too little",
            hint=f"some people are planted among them: at least {FEWEST}",
        )
    random = np.random.default_rng(seed)
    age = np.clip(random.gamma(shape=6.0, scale=8.0, size=rows), 18, 94).astype(np.int64)
    sex = np.where(random.random(rows) < 0.52, "female", "male")
    town = random.choice(_TOWNS, size=rows, p=np.array([14, 13, 12, 12, 11, 10, 9, 8, 7, 4]) / 100)
    occupation = _occupations(random, age, sex)
    education = random.choice(_EDUCATION, size=rows, p=[0.1, 0.35, 0.25, 0.2, 0.1])
    diagnosis = _diagnoses(random, age, sex, occupation)
    schooling = 1 + 0.12 * np.searchsorted(_EDUCATION, education)
    income = np.round(random.lognormal(7.6, 0.35, rows) * schooling, -2).astype(np.int64)
    _plant(random, age, town, occupation, diagnosis)
    status = random.choice(
        ["single", "married", "divorced", "widowed"], size=rows, p=[0.3, 0.5, 0.14, 0.06]
    )
    marital = np.where(age < 25, "single", status)
    insured = random.choice(["public", "private"], size=rows, p=[0.86, 0.14]).astype(object)
    insured[random.random(rows) < 0.03] = None
    return pa.table(
        {
            "patient_id": [f"P{number:06d}" for number in random.permutation(rows)],
            "zip": town.tolist(),
            "age": age,
            "sex": sex.tolist(),
            "marital_status": marital.tolist(),
            "education": education.tolist(),
            "occupation": occupation.tolist(),
            "insurance": insured.tolist(),
            "income": income,
            "diagnosis": diagnosis.tolist(),
        }
    )


@checked
def generalized(table: pa.Table) -> pa.Table:
    """Return a naive generalization of the patients: zip, age, sex and diagnosis only.

    The zip keeps three digits; ages become decades, with 80 and more as one group.

    Args:
        table: The result of `patients`.

    Examples:
        >>> import divulge as dv
        >>> "patient_id" in dv.datasets.generalized(dv.datasets.patients(rows=100)).column_names
        False
    """
    zips = [f"{code[:3]}**" for code in table.column("zip").to_pylist()]
    decades = [age // 10 * 10 for age in table.column("age").to_pylist()]
    ages = [">=80" if decade >= 80 else f"{decade}-{decade + 9}" for decade in decades]
    published = table.select([*QUASI_IDENTIFIERS, SENSITIVE])
    return pa.table(
        dict(zip(published.column_names, published.columns, strict=True))
        | {"zip": zips, "age": ages}
    )


def _occupations(random: Generator, age: Ints, sex: Texts) -> Texts:
    weights = np.tile(np.array([18, 14, 9, 7, 9, 5, 9, 3, 0.0, 1.0]), (len(age), 1))
    weights[age < 25, 8] = 40
    weights[age >= 66, :] *= 0.06
    weights[age >= 66, 9] = 60
    weights[sex == "female", 3] *= 3.0
    weights[sex == "female", 5] *= 0.25
    return np.array(_OCCUPATIONS)[_draw(random, weights)]


def _diagnoses(random: Generator, age: Ints, sex: Texts, occupation: Texts) -> Texts:
    weights = np.tile(_BASE, (len(age), 1))
    years = (age - 40)[:, None] / 20.0
    slope = np.array([-0.1, 0.2, 0.7, 0.8, -0.2, -0.1, -0.3, 0.9, 0.5, 1.2, 0.6, -0.5, 2.2, 0.0])
    weights *= np.exp(np.clip(years * slope, -3, 4))
    weights[sex == "male", 8] *= 0.01
    weights[sex == "female", 9] = 0.0
    weights[occupation == "metalworker", 10] *= 12
    weights[np.isin(occupation, ["driver", "farmer", "nurse"]), 1] *= 2
    return np.array(_DIAGNOSES)[_draw(random, weights)]


def _draw(random: Generator, weights: npt.NDArray[np.float64]) -> Ints:
    """Draw one category per row, with the row's own weights."""
    cumulative = np.cumsum(weights, axis=1)
    indices: Ints = (cumulative < random.random((len(weights), 1)) * cumulative[:, -1:]).sum(axis=1)
    return indices


def _plant(random: Generator, age: Ints, town: Texts, occupation: Texts, diagnosis: Texts) -> None:
    """Make three small groups leak their diagnosis or their identity."""
    old_of_one_town = np.flatnonzero((town == "04240") & (age >= 80))
    diagnosis[old_of_one_town] = np.where(
        random.random(len(old_of_one_town)) < 0.9, "Huntington's disease", "dementia"
    )
    workshop = np.flatnonzero((town == "03102") & (occupation == "metalworker"))
    diagnosis[workshop] = np.where(
        random.random(len(workshop)) < 0.8, "lung fibrosis", diagnosis[workshop]
    )
    very_old = np.flatnonzero(age >= 85)
    if len(very_old) < len(_PLANTED_AGES):
        # A small table may have fewer people of that age: its oldest people take their part.
        very_old = np.argsort(-age, kind="stable")[: len(_PLANTED_AGES)]
    centenarians = random.choice(very_old, size=len(_PLANTED_AGES), replace=False)
    age[centenarians] = _PLANTED_AGES
