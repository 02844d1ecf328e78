# SPDX-License-Identifier: Apache-2.0
"""Answers of divulge for each kind of golden entry of Bezzi 2010."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyarrow as pa
import pytest

from divulge.metrics import Measurement
from tests.metrics.drawn import measured
from tests.metrics.golden import Entry, bits, from_rows

ONE_SYMBOL = {
    "I1": "surprise",
    "I2": "specific_information",
    "I3": "averaged_information",
    "I4": "set_information",
}


def of_class(found: Measurement, name: str, key: str, attribute: str | None = "x") -> float:
    """The number of one class."""
    keys = found.contingency.key_column(0).to_pylist()
    return float(found.per_class(name, attribute)[keys.index(key)])


def one_symbol(entry: Entry) -> float:
    _, _, kind, key = entry["id"].split(".")
    return of_class(from_rows(entry["inputs"]), ONE_SYMBOL[kind], key)


def bezzi_table(entry: Entry) -> float:
    found = from_rows(entry["inputs"])
    kind = entry["id"].rpartition(".")[2]
    if kind == "H":
        return bits(found["l_max"].value)
    metric = {
        "MI": "mutual_information",
        "lmax": "l_max",
        "t": "surprise",
        "l": "entropy_l_diversity",
    }
    return found[metric[kind]].value


def heights(entry: Entry) -> pa.Table:
    tall = entry["inputs"]["heights"]
    return pa.table(
        {
            "height": tall,
            "range": [height // 10 for height in tall],
            "w": entry["inputs"].get("W", ["N"] * len(tall)),
        }
    )


def information_of_heights(entry: Entry) -> float:
    """Eq. 4: the original quasi-identifiers reveal no less than the generalized ones."""
    fine, coarse = (
        measured(heights(entry), quasi_identifiers=qi, sensitive="w") for qi in ("height", "range")
    )
    assert fine["mutual_information"].value >= coarse["mutual_information"].value
    return fine["mutual_information"].value


def entropy_of_heights(entry: Entry) -> float:
    found = measured(heights(entry), quasi_identifiers="range", sensitive="height")
    if entry["id"].endswith("170"):
        keys = found.contingency.key_column(0).to_pylist()
        return bits(found.per_class("entropy_l_diversity", "height")[keys.index(17)])
    return bits(found["l_max"].value)


def record_identity(entry: Entry) -> float:
    """Eqs. 5 and 6 with X the record.

    The result is equal if the name is an attribute that nobody shares.
    """
    found = from_rows(entry["inputs"])
    if entry["id"] == "001.ex.k":
        assert found["entropy_l_diversity"].value == pytest.approx(
            found.identity["k_anonymity"].value
        )
        return found.identity["k_anonymity"].value
    if entry["id"] == "001.ex.IXX":
        assert found["mutual_information"].value == pytest.approx(
            found.identity["mutual_information"].value
        )
        return found.identity["mutual_information"].value
    key = entry["id"].rpartition(".")[2]
    own = of_class(found, "specific_information", key, attribute=None)
    assert of_class(found, "specific_information", key) == pytest.approx(own)
    assert own <= math.log2(12 / 2) + 1e-9
    return own


def l_of_t_is_only_a_budget(entry: Entry) -> float:
    found = from_rows(entry["inputs"])
    key = "[160-170)"
    return of_class(found, "specific_information", key) - of_class(found, "surprise", key)


def bits_table(function: Callable[[int, int], int]) -> pa.Table:
    """Two fair bits and a function of them."""
    pairs = [(x1, x2) for x1 in (0, 1) for x2 in (0, 1)]
    return pa.table(
        {
            "x1": [x1 for x1, _ in pairs],
            "x2": [x2 for _, x2 in pairs],
            "y": [str(function(x1, x2)) for x1, x2 in pairs],
        }
    )


def chain_rule(entry: Entry) -> float:
    """I((1,0), Y) for Y = x1 AND x2, and I(x1=1, Y) + I(x2=0, Y | x1=1).

    The chain rule over x would make them equal.
    """
    name = ONE_SYMBOL[entry["id"].split(".")[3]]
    table = bits_table(lambda x1, x2: x1 & x2)
    full = measured(table, quasi_identifiers=["x1", "x2"], sensitive="y")
    first = measured(table, quasi_identifiers="x1", sensitive="y")
    second = measured(table.slice(2), quasi_identifiers="x2", sensitive="y")
    whole = float(full.per_class(name, "y")[2])
    parts = float(first.per_class(name, "y")[1] + second.per_class(name, "y")[0])
    if name == "surprise":
        assert parts == pytest.approx(1.2075, abs=1e-4)
        assert whole != pytest.approx(parts, abs=0.5)
    else:
        assert whole == pytest.approx(parts)
    return whole


def additivity(entry: Entry) -> float:
    assert entry["inputs"]["joint"].endswith("XOR X2")
    table = bits_table(lambda x1, x2: x1 ^ x2)
    together, first, second = (
        measured(table, quasi_identifiers=qi, sensitive="y")["mutual_information"].value
        for qi in (["x1", "x2"], "x1", "x2")
    )
    return together - first - second
