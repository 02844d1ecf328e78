# SPDX-License-Identifier: Apache-2.0
"""How a page was made: arguments that were passed are passed again, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import divulge as dv
from divulge.options import Invocation
from divulge.output.provenance import invocation, promises, repeat_section
from tests.output.test_numbers import page

PEOPLE = pa.table({"zip": [*"aabb"] * 3, "disease": [*"xyxz"] * 3})
ROLES: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("first.csv", "second.csv", "original.csv"):
        pyarrow.csv.write_csv(PEOPLE, name)
    return tmp_path


def of_comparison(tables: Any, **arguments: Any) -> Invocation:
    """Return the call that makes the page of a comparison again."""
    return invocation(dv.report(dv.compare(tables, **ROLES, **arguments)))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("original", "repeated"), [(None, None), ("first.csv", None), ("original.csv", "original.csv")]
)
def test_the_original_of_a_comparison_is_passed_unless_it_is_the_reference(
    original: str | None, repeated: str | None
) -> None:
    call = of_comparison(["first.csv", "second.csv"], original=original)
    assert call.sources == ("first.csv", "second.csv")
    assert call.arguments.get("original") == repeated
    assert ("original=" in call.as_python()) is (repeated is not None)
    assert {"policies", "target", "attack", "seed"}.isdisjoint(call.arguments)


@pytest.mark.usefixtures("folder")
def test_attacks_of_a_comparison_are_passed_with_their_seed() -> None:
    call = of_comparison(["first.csv", "second.csv"], original="first.csv", attack=9, seed=4)
    assert (call.arguments["attack"], call.arguments["seed"]) == (9, 4)


@pytest.mark.usefixtures("folder")
def test_policies_that_a_comparison_applies_follow_one_table(folder: Path) -> None:
    policies = []
    for k in (2, 3):
        path = folder / f"k{k}.toml"
        path.write_text(f"[promises]\nk_anonymity = {k}\n", encoding="utf-8")
        policies.append(path.name)
    call = of_comparison("first.csv", policies=policies)
    assert (call.sources, call.arguments["policies"]) == (("first.csv",), policies)


@pytest.mark.parametrize(
    ("policy", "passed"),
    [
        ({"k_anonymity": 2}, {"k_anonymity": 2}),
        ({"k_anonymity": 2, "t_closeness": 0.5}, {"k_anonymity": 2, "t_closeness": 0.5}),
        ({"recursive_c_l_diversity": {"c": 9, "l": 2}}, "divulge.toml"),
        (
            {"promises": {"k_anonymity": 2, "attributes": {"disease": {"l_diversity": 2}}}},
            "divulge.toml",
        ),
        ({"protect": [{"attribute": "disease", "values": ["x"], "alpha": 0.9}]}, "divulge.toml"),
        (None, None),
    ],
)
def test_a_policy_that_bounds_cannot_express_is_passed_as_a_file(policy: Any, passed: Any) -> None:
    report = dv.report(PEOPLE, policy, **ROLES)
    assert invocation(report).policy == passed
    has_file = "As a policy file (divulge.toml):" in page(repeat_section(report))
    assert has_file is (bool(promises(report)))


def test_requirements_of_a_public_page_come_from_the_manifest(tmp_path: Path) -> None:
    """A public page has no verdict, because it knows only the published files."""
    release = dv.generalize(PEOPLE, policy={"k_anonymity": 5}, **ROLES)
    report = dv.report(release.write(tmp_path / "release"), audience="public")
    assert report.verdict is None
    assert [promise.text for promise in promises(report)] == ["k_anonymity >= 5"]
    assert promises(replace(report, release=None)) == []
