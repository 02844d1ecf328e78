# SPDX-License-Identifier: Apache-2.0
"""Priors, background knowledge, orders, taxonomies and joint attributes of the adversary.

They apply to the release as to the search.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.policy import Policy
from divulge.releases import GeneralizedRelease, private_place
from tests import oracle
from tests.helpers import with_adversary

ROWS = pa.table(
    {
        "zip": ["11", "11", "12", "12", "21", "21", "22", "22", "31"],
        "disease": ["flu", "cold", "flu", "hiv", "cold", "hiv", "flu", "cold", "rare"],
        "grade": ["low", "mid", "high", "low", "mid", "high", "low", "mid", "high"],
    }
)
ZIP = {"rows": {value: [value[0] + "*", "*"] for value in ("11", "12", "21", "22", "31")}}


def decide(policy: Policy, *, sensitive: Any = "disease", **assumptions: Any) -> GeneralizedRelease:
    release: GeneralizedRelease = dv.generalize(
        ROWS.drop_columns([name for name in ("disease", "grade") if name not in sensitive]),
        policy=policy,
        quasi_identifiers="zip",
        sensitive=sensitive,
        hierarchies={"zip": ZIP},
        **with_adversary(assumptions),
    )
    return release


def verified(release: GeneralizedRelease, tmp_path: Path) -> dict[str, Any]:
    """Numbers of the manifest after the files were read back; they equal the predicted numbers."""
    folder = release.write(tmp_path / "out", format="csv")
    manifest: dict[str, Any] = json.loads(
        (private_place(folder) / "manifest.json").read_text(encoding="utf-8")
    )
    for attribute, scores in release.after.sensitive.items():
        for name, score in scores.items():
            assert manifest["after"]["sensitive"][attribute][name] == pytest.approx(
                score.number
            ) or score.value == float("inf")
    public: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return manifest | public


def classes(release: GeneralizedRelease, name: str) -> list[Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in release.tables()["table"].to_pylist():
        found.setdefault(row["zip"], Counter())[row[name]] += 1
    return list(found.values())


def test_a_given_prior_that_names_a_value_which_is_suppressed(tmp_path: Path) -> None:
    prior = {"flu": 0.4, "cold": 0.3, "hiv": 0.2, "rare": 0.1}
    release = decide(Policy(distribution_leakage=0.6, k_anonymity=2, suppression=0.2), prior=prior)
    assert release.plan.suppressed == 1
    expected = oracle.sensitive(
        classes(release, "disease"), prior={name: round(p * 10) for name, p in prior.items()}
    )
    assert release.after["distribution_leakage"].value == pytest.approx(
        expected["distribution_leakage"][0]
    )
    assert release.after["distribution_leakage"].value <= 0.6
    assert verified(release, tmp_path)["after"]["settings"]["prior"] == {"disease": "given"}


def test_background_knowledge(tmp_path: Path) -> None:
    """An adversary who rules out rare and hiv only considers flu and cold."""
    release = decide(
        Policy(alpha=0.7, k_anonymity=2, suppression=0.2), rule_out=["disease=hiv", "disease=rare"]
    )
    for members in classes(release, "disease"):
        known = Counter({name: n for name, n in members.items() if name in ("flu", "cold")})
        assert max(known.values()) / known.total() <= 0.7
    manifest = verified(release, tmp_path)
    assert manifest["background"] == ["disease"]
    assert "hiv" not in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")


def test_an_order_of_texts(tmp_path: Path) -> None:
    policy = Policy(t_closeness=0.4, k_anonymity=2, suppression=0.2)
    release = decide(policy, sensitive="grade", orders={"grade": ["low", "mid", "high"]})
    values = {"low": 0, "mid": 1, "high": 2}
    expected = oracle.sensitive(
        [
            Counter({values[name]: n for name, n in members.items()})
            for members in classes(release, "grade")
        ],
        prior=Counter(values[name] for name in ROWS.column("grade").to_pylist()),
        distance=oracle.ordered_distance,
    )
    assert release.after["t_closeness"].value == pytest.approx(expected["t_closeness"][0])
    assert verified(release, tmp_path)["after"]["settings"]["ground_distance"] == {
        "grade": "ordered"
    }


def test_a_taxonomy(tmp_path: Path) -> None:
    tree = {
        "flu": ["cold-like", "any"],
        "cold": ["cold-like", "any"],
        "hiv": ["other", "any"],
        "rare": ["other", "any"],
    }
    release = decide(
        Policy(t_closeness=0.4, k_anonymity=2, suppression=0.2), taxonomies={"disease": tree}
    )
    assert release.after["t_closeness"].value <= 0.4
    assert verified(release, tmp_path)["after"]["settings"]["ground_distance"] == {
        "disease": "hierarchical"
    }


def test_joint_attributes(tmp_path: Path) -> None:
    policy = Policy(l_diversity=2, k_anonymity=2, suppression=0.2)
    release = decide(policy, sensitive=("disease", "grade"), joint=True)
    assert set(release.after.sensitive) == {"disease", "grade", "disease + grade"}
    assert verified(release, tmp_path)["joint"] is True
