# SPDX-License-Identifier: Apache-2.0
"""The nine patients of the literature, with names, and their release."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

import divulge as dv
from divulge.releases import GeneralizedRelease
from tests.helpers import with_adversary

# Table 1a of Afifi et al. 2018 (after Li et al. 2007), with names.
PATIENTS = pa.table(
    {
        "name": ["Ann", "Bob", "Cid", "Dora", "Eve", "Fay", "Gus", "Hal", "Ida"],
        "zip": ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"],
        "age": [29, 22, 27, 43, 52, 47, 30, 36, 32],
        "disease": [
            "Heart",
            "Heart",
            "Heart",
            "Flu",
            "Heart",
            "Cancer",
            "Heart",
            "Cancer",
            "Cancer",
        ],
    }
)
QI = ("zip", "age")
TWO_ZIPS = {"zip": {"rows": {"1": ["*"], "2": ["*"]}}}
ZIP = {"prefix": [4, 3, 2]}
AGE = {"intervals": [10, 20]}


def patients(**more: Any) -> GeneralizedRelease:
    """A release of the nine patients."""
    asked: dict[str, Any] = {
        "policy": dv.Policy(k_anonymity=3),
        "quasi_identifiers": QI,
        "sensitive": "disease",
        "identifier": "name",
        "hierarchies": {"zip": ZIP, "age": AGE},
    }
    release: GeneralizedRelease = dv.generalize(
        more.pop("table", PATIENTS), **with_adversary(asked | more)
    )
    return release


def classes(rows: list[dict[str, Any]], keys: tuple[str, ...] = QI) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[key] for key in keys) for row in rows)
