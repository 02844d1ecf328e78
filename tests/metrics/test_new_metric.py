# SPDX-License-Identifier: Apache-2.0
"""A new entry of METRICS is measured, checked, ranked, searched by and shown without other code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv
import pytest

import divulge as dv
from divulge.adversary import Belief
from divulge.arrays import Floats
from divulge.metrics import IDENTITY, METRICS, Identity, Metric
from divulge.metrics.catalogue import SENSITIVE
from divulge.policy import Policy
from tests.helpers import run_cli

# Zip 1: a a a b; zip 2: a b. Everybody has one sex.
PEOPLE = pa.table(
    {
        "zip": ["1", "1", "1", "1", "2", "2"],
        "sex": ["f"] * 6,
        "disease": ["a", "a", "a", "b", "a", "b"],
    }
)


def share_of_rarest(belief: Belief) -> Floats:
    return -belief.cells.max_by_class(-belief.posterior)


def share_of_people(identity: Identity) -> Floats:
    return identity.sizes / identity.total


RAREST = Metric[Belief](
    "rarest_share",
    "sensitive",
    symbol="r",
    unit="share",
    worse="high",
    monotone=False,
    source="this test",
    plain="the share of the rarest value that occurs in a class",
    per_class=share_of_rarest,
    ranked="r",
)
CROWD = Metric[Identity](
    "crowd",
    "identity",
    symbol="c",
    unit="share",
    worse="high",
    monotone=False,
    source="this test",
    plain="the largest share of the people in one class",
    per_class=share_of_people,
    within_table=True,
    ranked="crowd",
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register both metrics as if they were in the catalogue.

    The commands were built before, as in a process that has run other tests.
    """
    for name in ("measure", "rank", "metrics"):
        assert run_cli(name, "--help").code == 0
    longer = {
        "IDENTITY": (*IDENTITY, CROWD),
        "SENSITIVE": (*SENSITIVE, RAREST),
        "METRICS": (*METRICS, CROWD, RAREST),
    }
    known = {"IDENTITY": IDENTITY, "SENSITIVE": SENSITIVE, "METRICS": METRICS}
    for module in [module for name, module in sys.modules.items() if name.startswith("divulge.")]:
        for name, old in known.items():
            if vars(module).get(name) is old:
                monkeypatch.setattr(module, name, longer[name])


def test_measured() -> None:
    """Class 1 has 3:1 and two thirds of the people, class 2 has 1:1."""
    found = dv.measure(PEOPLE, quasi_identifiers="zip", sensitive="disease")
    assert found["rarest_share"].value == pytest.approx(1 / 2)
    worst = found["rarest_share"].worst
    assert worst is not None
    assert worst.key == {"zip": "2"}
    assert found.per_class("rarest_share", "disease") == pytest.approx([1 / 4, 1 / 2])
    assert found["crowd"].value == pytest.approx(2 / 3)


def test_checked(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[promises]\nrarest_share = 0.4\ncrowd = 0.7\n", encoding="utf-8")
    verdict = dv.check(PEOPLE, policy, quasi_identifiers="zip", sensitive="disease")
    assert [(outcome.promise.metric.name, outcome.holds) for outcome in verdict.outcomes] == [
        ("rarest_share", False),
        ("crowd", True),
    ]


def test_ranked() -> None:
    """Sex puts 4:2 into one class.

    Small sets come from cubes, all columns together from refined classes.
    """
    found = dv.rank(PEOPLE, quasi_identifiers=["zip", "sex"], sensitive="disease")
    numbers = {item.columns: item for item in (*found.combinations, found.everything)}
    rarest = {
        columns: item.sensitive["disease"]["rarest_share"] for columns, item in numbers.items()
    }
    assert rarest == pytest.approx({("zip",): 1 / 2, ("sex",): 1 / 3, ("zip", "sex"): 1 / 2})
    assert found.everything.sensitive["disease"]["rarest_share"] == pytest.approx(1 / 2)
    crowd = {columns: item.identity["crowd"] for columns, item in numbers.items()}
    assert crowd == pytest.approx({("zip",): 2 / 3, ("sex",): 1.0, ("zip", "sex"): 2 / 3})
    grown = dv.growing(PEOPLE, quasi_identifiers=["sex", "zip"], sensitive="disease")
    assert [step.sensitive["disease"]["rarest_share"] for step in grown.steps] == pytest.approx(
        [1 / 3, 1 / 2]
    )


@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_searched_by(method: Literal["full-domain", "mondrian"]) -> None:
    """Only all six together have at most 0.4 of their rarest value: 2 of 6."""
    policy = Policy.from_document({"promises": {"rarest_share": 0.4}})
    release = dv.generalize(
        PEOPLE, policy=policy, quasi_identifiers="zip", sensitive="disease", method=method
    )
    assert release.after["rarest_share"].value == pytest.approx(1 / 3)
    assert len(set(release.tables()["table"].column("zip").to_pylist())) == 1


def test_shown(tmp_path: Path) -> None:
    """In the texts and documents of measure, rank, growth and the list of metrics."""
    path = str(tmp_path / "people.csv")
    pyarrow.csv.write_csv(PEOPLE, path)
    about = (path, "--qi", "zip,sex", "--sensitive", "disease")
    assert (
        run_cli("measure", *about, "--json").json()["sensitive"]["disease"]["rarest_share"] == 0.5
    )
    told = run_cli("measure", *about, "--by", "rarest_share").out
    assert "the share of the rarest value that occurs in a class" in told
    assert run_cli("rank", *about, "--json").json()["everything"]["identity"][
        "crowd"
    ] == pytest.approx(2 / 3)
    # the heading "r disease", in one line or in two
    assert "r" in run_cli("rank", *about).out.split()
    listed = run_cli("metrics", "--json").json()["metrics"]
    assert {"rarest_share", "crowd"} <= {metric["name"] for metric in listed}
