# SPDX-License-Identifier: Apache-2.0
"""Measurements as documents that can be compared and sent between processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import divulge as dv
from divulge.api.anatomize import anatomize
from divulge.engines import SparkEngine
from divulge.metrics import Measurement
from divulge.releases import GeneralizedRelease
from tests.engines.spark_cases import CASES, people, weights
from tests.helpers import with_adversary

TOLERANCE = 1e-9


def document(measurement: Measurement) -> dict[str, Any]:
    """Return the output of `divulge measure --json --classes`."""
    found: dict[str, Any] = json.loads(json.dumps(measurement.to_dict(classes=True, worst=25)))
    return found


def measured(case: str, engine: Any) -> dict[str, Any]:
    """Measure a case on an engine."""
    asked = CASES[case]()
    return document(
        dv.measure(asked.table, **with_adversary(asked.arguments | asked.tables), engine=engine)
    )


def released(out: Path, engine: Any) -> dict[str, Any]:
    """Generalize survey data on an engine, release it, and describe the release."""
    asked = weights()
    roles = {name: value for name, value in asked.arguments.items() if name != "recursive_l"}
    levels: dict[str, Any] = {
        "zip": {"suppress": True},
        "age": {"intervals": [20]},
        "constant": {"suppress": True},
    }
    policy = dv.Policy(k_anonymity=15, l_diversity=3, suppression=0.5)
    release = dv.generalize(
        asked.table, policy=policy, **with_adversary(roles), hierarchies=levels, engine=engine
    )
    release.write(out)
    return release_in_words(release)


def anatomized(out: Path, session: Any) -> dict[str, Any]:
    """Anatomize people in chunks on the workers of a session, and describe the release."""
    engine = SparkEngine(session, row_limit=0, chunk_rows=100)
    release = anatomize(
        people().table,
        quasi_identifiers=["zip", "sex"],
        sensitive="disease",
        alpha="3/5",
        beta="1/2",
        tables=2,
        engine=engine,
    )
    release.write(out)
    return {"levels": release.levels.texts(), "settings": release.settings}


def release_in_words(release: GeneralizedRelease) -> dict[str, Any]:
    """Return the output of `divulge generalize --json` without engine-specific entries."""
    found: dict[str, Any] = json.loads(json.dumps(release.to_dict()))
    for moment in ("before", "after"):
        for name in ("engine", "counts", "source"):
            del found[moment]["settings"][name]
    return found


def differences(expected: Any, found: Any, path: str = "") -> list[str]:
    """Return the differences of two documents; numbers may differ within the tolerance."""
    if (
        isinstance(expected, bool)
        or isinstance(found, bool)
        or not isinstance(expected, (dict, list, int, float))
    ):
        return [] if expected == found else [f"{path}: {expected!r} against {found!r}"]
    if isinstance(expected, (int, float)):
        near = isinstance(found, (int, float)) and abs(expected - found) <= TOLERANCE
        return [] if near else [f"{path}: {expected!r} against {found!r}"]
    if type(expected) is not type(found) or len(expected) != len(found):
        return [f"{path}: {str(expected)[:200]} against {str(found)[:200]}"]
    if isinstance(expected, dict):
        pairs = [
            (name, value, dict(found).get(name, "nothing")) for name, value in expected.items()
        ]
    else:
        pairs = [
            (str(place), *pair) for place, pair in enumerate(zip(expected, found, strict=True))
        ]
    return [
        line for name, one, other in pairs for line in differences(one, other, f"{path}/{name}")
    ]
