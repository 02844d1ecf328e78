# SPDX-License-Identifier: Apache-2.0
"""Tables and arguments of `measure` on which all engines must agree.

Each is small and holds values on which engines tend to disagree.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

LONG = "n" * 199 + "é"
ODD = (
    'a `tick` and "quotes"',
    "it's; DROP TABLE x --",
    "😀 {brace}",
    "select",
    LONG,
    "k0",
    "n",
    "s0",
    "g0",
)


@dataclass(frozen=True)
class Case:
    """A table, the arguments of `measure`, and further tables among them."""

    table: pa.Table
    arguments: dict[str, Any]
    tables: dict[str, pa.Table] = field(default_factory=dict)
    """Arguments that are tables of their own: original, population."""


def _drawn(
    rng: np.random.Generator, values: list[Any], n: int, type_: pa.DataType | None = None
) -> pa.Array:
    return pa.array([values[i] for i in rng.integers(0, len(values), n)], type_)


def odd_names() -> Case:
    """Names that break unquoted SQL or clash with our own; nulls and Unicode.

    There are two sensitive columns, singly and jointly.
    """
    rng, n = np.random.default_rng(1), 400
    texts: list[Any] = ["x", "Ü", "ü", "", " x", None, "日本", "a\\b", "o'k"]
    columns = {name: _drawn(rng, texts[: 2 + place % 5], n) for place, name in enumerate(ODD)}
    columns |= {
        "sick `ness`": _drawn(rng, ["flu", "cancer", None, "Grippe ü"], n),
        "dose": _drawn(rng, [0, 1, 5, None], n),
    }
    return Case(
        pa.table(columns),
        {"quasi_identifiers": list(ODD[:8]), "sensitive": ["sick `ness`", "dose"], "joint": True},
    )


def types() -> Case:
    """Values of every type as a key, with nulls; floats with both zeros and not-a-number.

    Decimals and timestamps are sensitive values.
    """
    rng, n = np.random.default_rng(2), 400
    noon = dt.datetime(2020, 2, 29, 12, 30, 0, 250)  # noqa: DTZ001 - a moment without a zone is what is meant
    columns = {
        "day": _drawn(rng, [dt.date(1969, 12, 31), dt.date(2020, 2, 29), None], n),
        "moment": _drawn(rng, [noon, noon + dt.timedelta(microseconds=1), None], n),
        "flag": _drawn(rng, [True, False, None], n),
        "float": _drawn(rng, [0.0, -0.0, 0.1, float("nan"), None, float("inf")], n),
        "small": _drawn(rng, [1, -1, None], n, pa.int8()),
        "price": _drawn(
            rng,
            [Decimal("1.50"), Decimal("-0.01"), None, Decimal("99999999.99")],
            n,
            pa.decimal128(10, 2),
        ),
        "seen": _drawn(
            rng, [noon.replace(tzinfo=dt.UTC), noon.replace(year=1968, tzinfo=dt.UTC), None], n
        ),
        "score": _drawn(rng, [1.5, float("nan"), None, 2.25, -1.0], n),
    }
    keys = ["day", "moment", "flag", "float", "small"]
    return Case(
        pa.table(columns), {"quasi_identifiers": keys, "sensitive": ["price", "seen", "score"]}
    )


def weights() -> Case:
    """Survey weights, which also make a population; rows with nulls are left out."""
    rng, n = np.random.default_rng(3), 300
    columns = {
        "zip": _drawn(rng, ["01234", "1234", None], n),
        "age": _drawn(rng, [20, 30, 40, 50, None], n),
        "disease": _drawn(rng, ["flu", "cancer", "HIV"], n),
        "weight": pa.array(rng.uniform(0.25, 40.0, n)),
        "constant": pa.array(["all"] * n),
    }
    roles = {
        "quasi_identifiers": ["zip", "age", "constant"],
        "sensitive": "disease",
        "weight": "weight",
    }
    return Case(pa.table(columns), roles | {"nulls": "drop", "recursive_l": 2})


def people() -> Case:
    """People who own several rows, in one class and in several."""
    rng, n = np.random.default_rng(4), 400
    columns = {
        "zip": _drawn(rng, ["1", "2", "3", None], n),
        "sex": _drawn(rng, ["f", "m"], n),
        "disease": _drawn(rng, ["flu", "cancer", "HIV", None], n),
        "patient": pa.array([f"p{i}" for i in rng.integers(0, 150, n)]),
    }
    roles = {
        "quasi_identifiers": ["zip", "sex"],
        "sensitive": "disease",
        "identifier": "patient",
        "person": "patient",
    }
    return Case(pa.table(columns), roles)


def beliefs() -> Case:
    """A prior that depends on the class, values ruled out, an order of texts and a taxonomy."""
    rng, n = np.random.default_rng(5), 300
    columns = {
        "zip": _drawn(rng, ["1", "2", None], n),
        "age": _drawn(rng, list(range(20, 40)), n),
        "disease": _drawn(rng, ["flu", "cancer", "HIV"], n),
        "grade": _drawn(rng, ["low", "middle", "high"], n),
        "job": _drawn(rng, ["nurse", "clerk", "judge"], n),
    }
    shares = {"1": (0.5, 0.3, 0.2), "2": (0.2, 0.2, 0.6), None: (0.1, 0.8, 0.1)}
    prior = [
        {"disease": value, "zip": zip_, "probability": share}
        for zip_, row in shares.items()
        for value, share in zip(("flu", "cancer", "HIV"), row, strict=True)
    ]
    roles = {"quasi_identifiers": ["zip", "age"], "sensitive": ["disease", "grade", "job"]}
    assumed = {
        "prior": {"disease": prior},
        "rule_out": {"grade": ["middle"]},
        "orders": {"grade": ["low", "middle", "high"]},
        "taxonomies": {
            "job": {"nurse": ["care", "*"], "clerk": ["office", "*"], "judge": ["office", "*"]}
        },
    }
    return Case(pa.table(columns), roles | assumed)


def other_tables() -> Case:
    """An original whose marginal is the prior, with a value that was not published.

    And the population behind the table.
    """
    rng, n = np.random.default_rng(6), 200
    columns = {
        "zip": _drawn(rng, ["1", "2", "3", None], n),
        "born": _drawn(rng, [dt.date(1980, 1, 1), dt.date(1990, 1, 1)], n),
        "disease": _drawn(rng, ["flu", "cancer"], n),
    }
    table = pa.table(columns)
    original = pa.table({"disease": _drawn(rng, ["flu", "flu", "cancer", "HIV", None], 500)})
    strangers = pa.table(
        {"zip": _drawn(rng, ["1", "2", "9"], 300), "born": _drawn(rng, [dt.date(1980, 1, 1)], 300)}
    )
    population = pa.concat_tables([table.select(["zip", "born"])] * 2 + [strangers])
    roles = {"quasi_identifiers": ["zip", "born"], "sensitive": "disease"}
    return Case(table, roles, {"original": original, "population": population})


def identity_only() -> Case:
    """No sensitive column; most people are unique."""
    rng, n = np.random.default_rng(7), 500
    columns = {"a": pa.array(rng.integers(0, 400, n)), "b": _drawn(rng, ["x", None], n)}
    return Case(pa.table(columns), {"quasi_identifiers": ["a", "b"]})


CASES: dict[str, Callable[[], Case]] = {
    case.__name__: case
    for case in (odd_names, types, weights, people, beliefs, other_tables, identity_only)
}
