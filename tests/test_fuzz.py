# SPDX-License-Identifier: Apache-2.0
"""Anything for a policy, a condition, a hierarchy or a table: an answer or one line.
benchmarks/fuzz.py goes on as long as one likes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, seed, settings

import divulge as dv
from tests import fuzz

some = settings(
    max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
few = settings(some, max_examples=15)


@seed(12)
@few
@given(fuzz.tables(), fuzz.POLICIES)
def test_policies(table: pa.Table, policy: dict[str, Any]) -> None:
    fuzz.fuzz_policy(table, policy)
    fuzz.fuzz_policy(table, {**policy, **fuzz.GOOD})


@seed(12)
@some
@given(fuzz.POLICIES)
def test_policy_files(policy: dict[str, Any]) -> None:
    fuzz.fuzz_policy_file(policy)


@seed(12)
@few
@given(fuzz.tables(), fuzz.RULES)
def test_hierarchies(table: pa.Table, rule: Any) -> None:
    fuzz.fuzz_rule(table, rule)


@seed(12)
@some
@given(fuzz.TEXT_PROMISES)
def test_promises(text: str) -> None:
    fuzz.fuzz_promise(text)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    people = pa.table(
        {"zip": ["1", "1", "2", "2"], "age": [30, 31, 40, 41], "disease": ["flu", "cold"] * 2}
    )
    policy = dv.Policy(k_anonymity=2)
    made = dv.generalize(
        people, policy=policy, quasi_identifiers=["zip", "age"], sensitive="disease"
    )
    return made.write(tmp_path_factory.mktemp("fuzz") / "release")


@seed(12)
@few
@given(fuzz.CONDITIONS)
def test_conditions(release: Path, condition: str) -> None:
    fuzz.fuzz_condition(release, condition)


@seed(12)
@few
@given(fuzz.RAW_TABLES, fuzz.SUFFIXES)
def test_files(content: bytes, suffix: str) -> None:
    fuzz.fuzz_file(content, suffix)
