# SPDX-License-Identifier: Apache-2.0
"""Invalid policies, conditions, hierarchies and tables: strategies for fuzz tests.

An attempt must end with a result, or with a DivulgeError of one line that is no InternalError. All
else is a defect.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import divulge as dv
from divulge.errors import DivulgeError, InternalError
from divulge.policy import Promise, Protection
from divulge.text import toml_value

NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.sampled_from(
        [
            0.5,
            -0.0,
            1e308,
            1e-308,
            float("inf"),
            float("-inf"),
            float("nan"),
            2**63,
            -(2**70),
            10**400,
        ]
    ),
)
TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "*",
            "zip",
            "age",
            "disease",
            "30",
            ">= 30",
            "< x",
            "1,2",
            "nan",
            "\0",
            "é",
            "K" * 300,
        ]
    ),
    st.text(max_size=6),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
COLUMNS = st.sampled_from(["zip", "age", "disease", "seen", "nobody", "*", "", "a*"])
METRICS = st.sampled_from(
    [*sorted({metric.name for metric in dv.METRICS}), "k-anonymity", "suppression"]
)
BOUNDS = st.one_of(NUMBERS, st.fixed_dictionaries({"c": NUMBERS, "l": NUMBERS}), ANYTHING)
PROMISES = st.dictionaries(METRICS, BOUNDS, max_size=2)
RULES = st.one_of(
    ANYTHING,
    st.dictionaries(
        st.sampled_from(
            "intervals cuts prefix dates order taxonomy keep start bottom top format groups rest "
            "other suppress file rows".split()
        ),
        st.one_of(
            NUMBERS,
            st.lists(NUMBERS, max_size=3),
            st.lists(st.lists(NUMBERS, max_size=3), max_size=2),
            ANYTHING,
        ),
        min_size=1,
        max_size=3,
    ),
)
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "quasi_identifiers": st.one_of(st.lists(COLUMNS, max_size=3), ANYTHING),
        "sensitive": st.one_of(COLUMNS, ANYTHING),
        "promises": st.one_of(PROMISES, ANYTHING),
        "suppression": st.one_of(NUMBERS, ANYTHING),
        "hierarchies": st.one_of(st.dictionaries(COLUMNS, RULES, max_size=2), ANYTHING),
        "protect": st.one_of(
            st.lists(st.fixed_dictionaries({"where": ANYTHING, "k_anonymity": BOUNDS}), max_size=2),
            ANYTHING,
        ),
        "adversary": st.one_of(
            st.dictionaries(
                st.sampled_from(
                    [
                        "prior",
                        "rule_out",
                        "rule_in",
                        "distances",
                        "orders",
                        "taxonomies",
                        "nulls",
                        "recursive_l",
                    ]
                ),
                st.one_of(st.dictionaries(COLUMNS, ANYTHING, max_size=2), ANYTHING),
                max_size=2,
            ),
            ANYTHING,
        ),
        "k_anonymity": BOUNDS,
    },
)
GOOD = {"quasi_identifiers": ["zip", "age"], "sensitive": "disease"}
"""Roles with which many policies get as far as a table."""


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Up to six rows of texts, numbers, times and nulls under names that a policy may name."""
    rows = draw(st.integers(0, 6))
    kinds: Mapping[str, Any] = {
        "zip": (pa.string(), st.one_of(st.none(), TEXTS.filter(lambda text: "\0" not in text))),
        "age": (
            pa.float64(),
            st.one_of(st.none(), st.integers(0, 4).map(float), st.floats(width=32)),
        ),
        "disease": (pa.string(), st.sampled_from(["flu", "cold", None])),
        "seen": (pa.date32(), st.one_of(st.none(), st.dates())),
    }
    names = draw(st.lists(st.sampled_from(list(kinds)), min_size=1, unique=True))
    return pa.table(
        {
            name: pa.array(
                draw(st.lists(kinds[name][1], min_size=rows, max_size=rows)), type=kinds[name][0]
            )
            for name in names
        }
    )


PIECES = st.sampled_from(
    "age zip disease nobody \"age\" 'flu' 30 -1 1e999 null true ( ) , + - * / = <> < >= and or "
    "not in is like between case when then "
    "else end cast as date interval ; -- /* */ select from exists lower coalesce :: [ ] { } ? $1 "
    "' \" \\ é".split(" ")
)
CONDITIONS = st.one_of(st.lists(PIECES, max_size=9).map(" ".join), st.text(max_size=12))
TEXT_PROMISES = st.one_of(
    st.builds(
        "{} {} {}".format,
        METRICS,
        st.sampled_from(["<=", ">=", "=", "of disease <=", "", "!"]),
        SCALARS,
    ),
    st.text(max_size=20),
)
RAW_TABLES = st.one_of(
    st.binary(max_size=40),
    st.lists(
        st.sampled_from(
            [
                b"a",
                b"1",
                b",",
                b";",
                b'"',
                b"\n",
                b"\r",
                b"\0",
                b"\xff",
                b"\xef\xbb\xbf",
                b"{",
                b"}",
                b":",
                b"[",
                b" ",
            ]
        )
    ).map(b"".join),
)
SUFFIXES = st.sampled_from(
    [".csv", ".json", ".jsonl", ".parquet", ".arrow", ".sqlite", ".deid", ".csv.gz", ".txt"]
)


def refused(attempt: Callable[[], Any]) -> str:
    """Return the line of the error; empty if there was a result."""
    try:
        attempt()
    except InternalError:
        raise
    except DivulgeError as error:
        told = str(error)
    else:
        told = ""
    assert "\n" not in told
    return told


def fuzz_policy(table: pa.Table, policy: Mapping[str, Any]) -> str:
    """Check a policy from Python against a table, and search a release for it."""
    refused(lambda: dv.check(table, policy))
    return refused(lambda: dv.generalize(table, policy=policy))


def fuzz_policy_file(document: Mapping[str, Any]) -> str:
    """Check a policy as a file, if it can be written as one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "divulge.toml"
        try:
            text = "".join(f"{name} = {toml_value(value)}\n" for name, value in document.items())
            path.write_text(text, encoding="utf-8")
        except ValueError:  # nothing that TOML has
            return ""
        return refused(lambda: dv.Policy.load(path))


def fuzz_rule(table: pa.Table, rule: Any) -> str:
    """Try a rule for a hierarchy."""
    roles = {"quasi_identifiers": table.column_names[0], "plain": "*"}
    return refused(
        lambda: dv.generalize(
            table,
            policy=dv.Policy(uniques=1000),
            hierarchies={table.column_names[0]: rule},
            **roles,
        )
    )


def fuzz_promise(text: str) -> str:
    """Try a requirement, and a protection with it, as text."""
    refused(lambda: Promise.parse(text))
    return refused(lambda: Protection.parse(f"age >= 1: {text}"))


def fuzz_condition(folder: Path, condition: str) -> str:
    """Try a query of a release."""
    return refused(lambda: dv.query(folder, condition))


def fuzz_file(content: bytes, suffix: str) -> str:
    """Try to read a file of any bytes by its name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{suffix}"
        path.write_bytes(content)
        return refused(lambda: dv.profile(path))
