# SPDX-License-Identifier: Apache-2.0
"""Keys of the documents of releases, on results with attempts written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import divulge as dv
from divulge.attacks import Attempt
from divulge.attacks.result import Bound

ATTEMPT = Attempt(
    name="deferral",
    aim="inference",
    about="disease",
    knows=("zip",),
    targets=125,
    guesses=110,
    successes=100.0,
    prior=0.6,
    bound=Bound(0.85, "alpha <= 0.85"),
)


def test_the_document_of_deferral_attacks(tmp_path: Path) -> None:
    """100 of 125 are 80%; Wilson's interval is 72.14% to 86.07%, so 85% is not exceeded."""
    people = pa.table({"zip": ["1", "1"] * 3, "disease": ["flu", "cold"] * 3})
    release = dv.generalize(
        people, policy={"k_anonymity": 2}, quasi_identifiers="zip", sensitive="disease"
    )
    applied = dv.apply(release.write(tmp_path / "release"), people, tmp_path / "later")
    attempts = (ATTEMPT, replace(ATTEMPT, bound=None), replace(ATTEMPT, bound=Bound(0.5, "x")))
    documents = replace(applied, deferral_attacks=attempts).to_dict()["deferral_attacks"]
    assert documents[0] == {
        "about": "disease",
        "targets": 125,
        "guesses": 110,
        "successes": 100.0,
        "rate": 0.8,
        "low": pytest.approx(0.7214, abs=1e-4),
        "high": pytest.approx(0.8607, abs=1e-4),
        "prior": 0.6,
        "bound": 0.85,
        "promise": "alpha <= 0.85",
        "broken": False,
    }
    bounds = [(item["bound"], item["promise"], item["broken"]) for item in documents]
    assert bounds == [(0.85, "alpha <= 0.85", False), (None, None, False), (0.5, "x", True)]
