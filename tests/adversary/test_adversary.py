# SPDX-License-Identifier: Apache-2.0
"""The adversary as a value: errors at construction, and precedence of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import BadInput
from tests.helpers import run_cli

ROWS = {
    "age": [1, 1, 1, 2, 2, 2],
    "s": ["a", "b", "b", "a", "a", "b"],
    "d": ["x", "y", "x", "y", "x", "y"],
}
TABLE = pa.table(ROWS)

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"original": 3}, "original is int, not a table"),
    ({"population": [1, 2]}, "population is list, not a table"),
    ({"prior": 0.5}, "a prior cannot be read from float"),
    ({"prior": {"s": 3, "d": object()}}, "a prior cannot be read from object"),
    ({"rule_out": 3}, "rule_out is 3"),
    ({"rule_in": ["disease"]}, "'disease' does not say which value is meant"),
    ({"rule_out": {"s": "a"}, "rule_in": {"s": "b"}}, "values of 's' are ruled both out and in"),
    ({"distances": "ordered"}, "distances is 'ordered'"),
    ({"distances": {"s": "near"}}, "'near' is not a ground distance"),
    ({"taxonomies": ["tree.csv"]}, r"taxonomies is \['tree.csv'\]"),
    ({"orders": {"s": "a,b"}}, "the order of 's' is 'a,b'"),
    ({"nulls": "keep"}, "nulls='keep' is not known"),
    ({"suppressed": "*"}, r"suppressed is '\*'"),
    ({"suppressed": {"*": "unknown"}}, r"'\*' suppressed as 'unknown' is not known"),
    ({"suppressed": {None: "value"}}, "None suppressed as 'value' is not known"),
    ({"recursive_l": 0}, "recursive_l=0 is not possible"),
]


@pytest.mark.parametrize(("given", "told"), REFUSED)
def test_invalid_settings_raise_an_error_at_construction(given: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        dv.Adversary(**given)


def test_other_types_are_not_an_adversary() -> None:
    with pytest.raises(BadInput, match="must be an Adversary or None"):
        dv.measure(TABLE, quasi_identifiers="age", adversary={"nulls": "drop"})  # type: ignore[arg-type]


def test_explicit_settings_take_precedence_over_the_policy_file() -> None:
    of_file = dv.Adversary(nulls="drop", rule_out={"s": "a"}, recursive_l=2)
    by_hand = dv.Adversary(nulls="category", rule_out={"d": ["x"]})
    assert by_hand.over(of_file) == dv.Adversary(
        nulls="category", rule_out={"d": ["x"]}, recursive_l=2
    )
    assert by_hand.over(None) == by_hand


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("distances", {"s": "equal"}),
        ("taxonomies", {"s": {"a": ["*"], "b": ["*"]}}),
        ("orders", {"s": ["a", "b"]}),
        ("population", TABLE),
        ("recursive_l", 2),
    ],
)
def test_a_ranking_rejects_settings_without_effect(name: str, value: Any) -> None:
    with pytest.raises(BadInput, match=f"{name}= of the adversary has no effect here"):
        dv.rank(
            TABLE, quasi_identifiers="age", sensitive="s", adversary=dv.Adversary(**{name: value})
        )


def test_a_ranking_uses_the_original_prior_and_excluded_values() -> None:
    """By hand: without b, both classes have only a, and so has the prior.

    Of the original 3/4 are a.
    """
    roles: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "s"}
    found = dv.rank(TABLE, **roles, adversary=dv.Adversary(rule_out={"s": "b"}))
    assert found.everything.sensitive["s"]["distribution_leakage"] == 0
    assert found.settings["background"] == {"s": {"ruled_out": ["b"]}}
    original = pa.table({"s": ["a", "a", "a", "b"]})
    found = dv.rank(TABLE, **roles, adversary=dv.Adversary(original=original))
    # Class 1 has a third of a: (1/3 - 3/4, 2/3 - 1/4).
    assert found.everything.sensitive["s"]["distribution_leakage"] == pytest.approx(2**0.5 * 5 / 12)
    assert found.settings["prior"] == {"s": "original"}


def test_the_policy_file_describes_the_adversary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are relative to the policy file's folder, independent of the working directory."""
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "prior.csv").write_text("s,probability\na,1/4\nb,3/4\n", encoding="utf-8")
    (folder / "divulge.toml").write_text(
        'quasi_identifiers = "age"\nsensitive = "s"\nl_diversity = 2\n[adversary]\nprior = '
        '"prior.csv"\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    measured = dv.check(TABLE, folder / "divulge.toml").measurement
    # Class 2 has two thirds of a.
    assert measured["distribution_leakage"].value == pytest.approx(2**0.5 * 5 / 12)
    assert measured.settings["prior"] == {"s": "given"}
    by_hand = dv.Adversary(prior={"a": 0.5, "b": 0.5})
    measured = dv.check(TABLE, folder / "divulge.toml", adversary=by_hand).measurement
    assert measured["distribution_leakage"].value == pytest.approx(2**0.5 / 6)
    table = tmp_path / "table.csv"
    table.write_text("age,s\n1,a\n1,b\n1,b\n2,a\n2,a\n2,b\n", encoding="utf-8")
    told = run_cli("check", str(table), "--policy", "policies/divulge.toml", "--json")
    assert told.json()["settings"]["prior"] == {"s": "given"}
    cut = "--column age --about s".split()
    for command, table_first in ((["generalize"], ["--dry-run"]), (["hierarchy", "cut"], cut)):
        told = run_cli(
            *command, str(table), *table_first, "--policy", "policies/divulge.toml", "--json"
        )
        assert '"s": "given"' in told.out, command


FILES: list[tuple[str, str]] = [
    (
        '[adversary]\nrule_owt = {s = "a"}',
        "unknown key 'rule_owt' in [adversary]. did you mean 'rule_out' or 'rule_in'?",
    ),
    ('[adversary]\nnulls = "keep"', "[adversary]: nulls='keep' is not known"),
    ('nulls = "drop"', "'nulls' is no role any more. Write it as nulls = ... below [adversary]"),
    (
        '[roles]\nnulls = "drop"',
        "'nulls' is no role any more. Write it as nulls = ... below [adversary]",
    ),
    ("adversary = 3", "'adversary' must be a table, not 3"),
]


@pytest.mark.parametrize(("text", "told"), FILES)
def test_an_invalid_policy_file_raises_an_error(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "divulge.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        dv.Policy.load(path)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)


def test_paths_and_other_addresses(tmp_path: Path) -> None:
    document = {
        "original": "raw.csv",
        "population": "postgresql://host/db",
        "prior": {"s": "p.csv", "d": {"x": 0.5, "y": "1/2"}},
        "taxonomies": {"s": "tree.csv"},
    }
    her = dv.Adversary.from_document(document, origin="the policy", folder=tmp_path)
    assert her.original == str(tmp_path / "raw.csv")
    assert her.population == "postgresql://host/db"
    assert her.prior == {"s": str(tmp_path / "p.csv"), "d": {"x": 0.5, "y": "1/2"}}
    assert her.taxonomies == {"s": str(tmp_path / "tree.csv")}
    catalog = dv.Adversary.from_document(
        {"original": "clinic.visits"}, origin="the policy", folder=tmp_path
    )
    assert catalog.original == "clinic.visits"


def test_commands_take_a_prior_that_depends_on_columns(tmp_path: Path) -> None:
    """P(a | 1) = 1/2 and P(a | 2) = 1/4; of both together, with P(1) = 3/4, it is 7/16.

    In the table half are a.
    """
    table = tmp_path / "table.csv"
    table.write_text("age,s\n1,a\n1,b\n1,b\n2,a\n2,a\n2,b\n", encoding="utf-8")
    prior = tmp_path / "prior.csv"
    prior.write_text("age,s,joint\n1,a,3/8\n1,b,3/8\n2,a,1/16\n2,b,3/16\n", encoding="utf-8")
    roles = (str(table), "--qi", "age", "--sensitive", "s", "--prior", str(prior), "--json")
    found = run_cli("measure", *roles).json()
    assert found["sensitive"]["s"]["distribution_leakage"] == pytest.approx(2**0.5 * 5 / 12)
    release = run_cli("generalize", *roles, "--distribution-leakage", "0.1", "--dry-run").json()
    assert release["after"]["sensitive"]["s"]["distribution_leakage"] == pytest.approx(2**0.5 / 16)
    front = run_cli("generalize", *roles, "--pareto", "distribution_leakage").json()
    assert [point["leakage"] for point in front["points"]][-1] == pytest.approx(2**0.5 / 16)
    ranked = run_cli("rank", *roles).json()
    assert ranked["everything"]["sensitive"]["s"]["distribution_leakage"] == pytest.approx(
        2**0.5 * 5 / 12
    )
    cut = (
        str(table),
        "--column",
        "age",
        "--about",
        "s",
        "--prior",
        str(prior),
        "--distribution-leakage",
        "0.1",
        "--json",
    )
    assert run_cli("hierarchy", "cut", *cut).json()["rule"] == {"suppress": True}
    assert run_cli("check", *roles, "--distribution-leakage", "0.1").code == 1
    refused = run_cli("rank", *roles, "--recursive-l", "2")
    assert (refused.code, "of the adversary has no effect here" in refused.err) == (2, True)
