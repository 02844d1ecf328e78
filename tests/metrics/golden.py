# SPDX-License-Identifier: Apache-2.0
"""golden/table_metrics.json: every worked example of the three papers, recomputed exactly and
independently of any implementation.

Each entry has inputs in one of a few forms; the functions here turn a form into measured tables.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from divulge.metrics import Measurement
from tests.metrics.drawn import measured

FILE = Path(__file__).parent.parent / "golden" / "table_metrics.json"
Entry = dict[str, Any]
ENTRIES: list[Entry] = json.loads(FILE.read_text(encoding="utf-8"))["entries"]

STOMACH, LUNGS = "stomach", "respiratory"
BRANCHES = dict.fromkeys(["gastric ulcer", "gastritis", "stomach cancer"], STOMACH) | dict.fromkeys(
    ["flu", "bronchitis", "pneumonia"], LUNGS
)


def taxonomy(levels: int) -> dict[str, list[str]]:
    """Two branches that meet in the root at this level, so that siblings are 1/levels apart."""
    return {value: [branch] * (levels - 1) + ["disease"] for value, branch in BRANCHES.items()}


def counted(shares: Sequence[str], values: Sequence[str]) -> list[str]:
    """The smallest table with these shares."""
    fractions = [Fraction(share) for share in shares]
    size = math.lcm(*(fraction.denominator for fraction in fractions))
    return [
        value
        for value, fraction in zip(values, fractions, strict=True)
        for _ in range(int(fraction * size))
    ]


def names(inputs: dict[str, Any]) -> list[str]:
    """The values of the attribute, with made-up names if the paper has none."""
    return list(inputs.get("values", [f"value {i}" for i in range(len(inputs["prior"]))]))


def from_shares(inputs: dict[str, Any], **options: Any) -> Measurement:
    """Classes as shares: `published` for one, `classes` for several.

    The prior is that of an original table with its shares.
    """
    return _from_shares(json.dumps(inputs), json.dumps(options))


@cache
def _from_shares(inputs_text: str, options_text: str) -> Measurement:
    inputs, options = json.loads(inputs_text), json.loads(options_text)
    values = names(inputs)
    uniform = [f"1/{len(values)}"] * len(values)
    classes = inputs.get("classes") or [
        uniform if inputs["published"] == "uniform" else inputs["published"]
    ]
    rows = [
        (number, value)
        for number, shares in enumerate(classes)
        for value in counted(shares, values)
    ]
    published = pa.table(
        {"class": [number for number, _ in rows], "s": [value for _, value in rows]}
    )
    original = pa.table({"s": counted(inputs["prior"], values)})
    return measured(
        published, quasi_identifiers="class", sensitive="s", original=original, **options
    )


def from_rows(inputs: dict[str, Any]) -> Measurement:
    """Rows of (class, value)."""
    return _from_rows(tuple((y, x) for y, x in inputs["rows"]))


@cache
def _from_rows(rows: tuple[tuple[str, str], ...]) -> Measurement:
    table = pa.table({"y": [y for y, _ in rows], "x": [x for _, x in rows]})
    return measured(table, quasi_identifiers="y", sensitive="x")


def from_sizes(sizes: Sequence[int]) -> Measurement:
    """Classes of which only the size is given."""
    table = pa.table({"y": [number for number, size in enumerate(sizes) for _ in range(size)]})
    return measured(table, quasi_identifiers="y")


def bits(number: float) -> float:
    """The entropy behind an effective number of values."""
    return math.log2(number)
