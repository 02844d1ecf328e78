# SPDX-License-Identifier: Apache-2.0
"""A policy that is written to a file is read back equal; Python's own TOML reader decides."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from divulge.text import toml_text

names = st.text(max_size=8)  # surrogates cannot be in a file, and hypothesis makes none that encode
scalars = (
    st.text(max_size=8) | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9)
)
lists = st.lists(scalars, max_size=3)
values = st.recursive(
    scalars | lists, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=6
)
documents = st.dictionaries(
    names, values | st.lists(st.dictionaries(names, values, max_size=2), max_size=2), max_size=5
)


def encodes(value: Any) -> bool:
    """Return whether a file can hold the value."""
    try:
        return bool(str(value).encode() or True)
    except UnicodeEncodeError:
        return False


@given(documents.filter(encodes))
def test_what_is_written_is_read_again(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(document)) == document


def test_it_looks_as_people_write_it() -> None:
    document = {
        "hierarchies": {"age": {"intervals": [5, 10]}},
        "quasi_identifiers": ["zip", "age"],
        "promises": {
            "k_anonymity": 5,
            "attributes": {"main diagnosis": {"l_diversity": 3}},
            "identity": {"itpr": 0.9},
        },
        "protect": [{"where": {"age": ">= 75"}, "k_anonymity": 20}],
        "weight": None,
    }
    assert toml_text(document).splitlines() == [
        'quasi_identifiers = ["zip", "age"]',
        "",
        "[hierarchies.age]",
        "intervals = [5, 10]",
        "",
        "[promises]",
        "k_anonymity = 5",
        "",
        '[promises.attributes."main diagnosis"]',
        "l_diversity = 3",
        "",
        "[promises.identity]",
        "itpr = 0.9",
        "",
        "[[protect]]",
        'where = {age = ">= 75"}',
        "k_anonymity = 20",
    ]
