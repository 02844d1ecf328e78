# SPDX-License-Identifier: Apache-2.0
"""Try unusual policies, hierarchies, conditions, requirements and files for a given time.

    python -m benchmarks.fuzz --seconds 600 --seed 7

The strategies are those of tests/test_fuzz.py. An input that leads neither to a result nor to an
error of one line is printed, as small as hypothesis can make it, with its traceback. The exit code
is then 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import divulge as dv
from tests import fuzz

BATCH = 100


def release_in(folder: Path) -> Path:
    """Make a release to query."""
    people = pa.table(
        {"zip": ["1", "1", "2", "2"], "age": [30, 31, 40, 41], "disease": ["flu", "cold"] * 2}
    )
    made = dv.generalize(
        people,
        policy=dv.Policy(k_anonymity=2),
        quasi_identifiers=["zip", "age"],
        sensitive="disease",
    )
    return made.write(folder / "release")


def targets(
    folder: Path,
) -> dict[str, tuple[Callable[..., Any], tuple[st.SearchStrategy[Any], ...]]]:
    """Return the functions to try, by name."""
    good = fuzz.POLICIES.map(lambda policy: {**policy, **fuzz.GOOD})
    return {
        "policies": (fuzz.fuzz_policy, (fuzz.tables(), st.one_of(fuzz.POLICIES, good))),
        "policy files": (fuzz.fuzz_policy_file, (fuzz.POLICIES,)),
        "hierarchies": (fuzz.fuzz_rule, (fuzz.tables(), fuzz.RULES)),
        "promises": (fuzz.fuzz_promise, (fuzz.TEXT_PROMISES,)),
        "conditions": (
            lambda condition: fuzz.fuzz_condition(folder, condition),
            (fuzz.CONDITIONS,),
        ),
        "files": (fuzz.fuzz_file, (fuzz.RAW_TABLES, fuzz.SUFFIXES)),
    }


def batch(
    attempt: Callable[..., Any], strategies: tuple[st.SearchStrategy[Any], ...], number: int
) -> None:
    """Run many attempts with one seed; raise the error of the smallest failing input."""

    @seed(number)
    @settings(
        max_examples=BATCH, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(st.tuples(*strategies))
    def attempts(drawn: tuple[Any, ...]) -> None:
        attempt(*drawn)

    attempts()


def main() -> int:
    """Run batches of each target, each with a seed of its own, until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="the name of one target")
    asked = parser.parse_args()
    found, tried, number, end = 0, 0, asked.seed, time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory() as folder:
        chosen = targets(release_in(Path(folder)))
        while time.monotonic() < end:
            for name, (attempt, strategies) in chosen.items():
                if asked.only not in (None, name) or time.monotonic() >= end:
                    continue
                tried += BATCH
                try:
                    batch(attempt, strategies, number)
                except Exception:  # noqa: BLE001 - any error is a finding
                    found += 1
                    print(f"--- {name}, seed {number}\n{traceback.format_exc()}", flush=True)
            number += 1
    print(f"{tried:,} attempts, {found} batches with a defect; the next seed is {number}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
