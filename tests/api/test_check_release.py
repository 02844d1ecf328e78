# SPDX-License-Identifier: Apache-2.0
"""check() and measure() of a release.

The tests cover facts that the files prove, facts that only the publisher can prove, and that
nothing passes by mistake.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput
from tests.helpers import run_cli, verdict_of

# Four people in each of two zip codes, half of them with flu. The ninth is unique, suppressed, and
# the only one with cancer.
PEOPLE = pa.table(
    {"zip": [*"aaaabbbb", "c"], "disease": ["flu", "flu", "cold", "cold"] * 2 + ["cancer"]}
)
ROLES: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
# By hand: in both classes H = 1 bit. The published table has H = 1 too, so by itself it leaks
# nothing. The original, 4/9, 4/9 and 1/9, has 8/9 * log2(9/4) + 1/9 * log2(9) bits.
AGAINST_ORIGINAL = 8 / 9 * math.log2(9 / 4) + math.log2(9) / 9 - 1
BETWEEN = 0.2
assert 0 < BETWEEN < AGAINST_ORIGINAL == pytest.approx(0.39215, abs=1e-5)


def published(
    folder: Path, promises: dict[str, Any], table: pa.Table = PEOPLE, **more: Any
) -> Path:
    policy = {"promises": promises, "suppression": 0.2, **more.pop("policy", {})}
    release = dv.generalize(
        table, policy=policy, **ROLES, hierarchies={"zip": {"suppress": True}}, **more
    )
    return release.write(folder)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Two classes of four; cancer is suppressed."""
    found = published(
        tmp_path / "release", {"k_anonymity": 4, "l_diversity": 2, "entropy_leakage": 0.5}
    )
    assert json.loads((found / "manifest.json").read_text())["rows"] == 8
    return found


@pytest.fixture
def handed_out(release: Path, tmp_path: Path) -> Path:
    """The release as a recipient gets it."""
    folder = tmp_path / "handed out"
    folder.mkdir()
    for path in release.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_requirements_not_proved_by_the_files_are_named_and_never_pass(
    release: Path, handed_out: Path
) -> None:
    for folder in (release, handed_out):  # mapping/ is not looked into unasked
        shown = run_cli("check", str(folder))
        assert (shown.code, shown.out) == (2, "")
        assert "cannot be said to keep entropy_leakage <= 0.5" in shown.err
        assert (
            "what was judged holds: k_anonymity >= 4 (4), l_diversity >= 2 (disease) (2)"
            in shown.err
        )
        assert "--with-private" in shown.err
        assert "holds" not in run_cli("check", str(folder), "--json").json()


def test_the_private_part_or_the_original_decides(release: Path) -> None:
    original = verdict_of(release, adversary=dv.Adversary(original=PEOPLE))
    for verdict in (verdict_of(release, with_private=True), original):
        assert verdict.holds
        assert [outcome.shown_by for outcome in verdict.outcomes] == ["files", "files", "publisher"]
        assert verdict.outcomes[2].value == pytest.approx(AGAINST_ORIGINAL)
        assert verdict.settings["release"]["promises"] == "its own"


def test_a_bound_between_the_two_priors_does_not_pass(release: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot be said to keep entropy_leakage <= 0\.2"):
        dv.check(release, {"entropy_leakage": BETWEEN})
    assert not dv.check(release, {"entropy_leakage": BETWEEN}, with_private=True).holds
    assert dv.check(release, {"entropy_leakage": 0.4}, with_private=True).holds
    # A passed prior is a statement of the prior.
    her = dv.Adversary(prior={"disease": {"flu": 0.5, "cold": 0.5}})
    assert dv.check(release, {"entropy_leakage": BETWEEN}, adversary=her).holds


def test_a_requirement_violated_by_the_files_fails_whatever_else_is_unproved(release: Path) -> None:
    verdict = verdict_of(release, {"k_anonymity": 5, "entropy_leakage": BETWEEN})
    assert [(outcome.promise.metric.name, outcome.holds) for outcome in verdict.outcomes] == [
        ("k_anonymity", False)
    ]
    assert any("not judged: entropy_leakage <= 0.2" in note for note in verdict.measurement.notes)


def test_a_recipient_checks_requirements_proved_by_the_files(handed_out: Path) -> None:
    shown = run_cli("check", str(handed_out), "--k-anonymity", "4", "--json")
    assert (shown.code, shown.json()["holds"]) == (0, True)
    assert [item["shown_by"] for item in shown.json()["promises"]] == ["files"]
    told = run_cli("check", str(handed_out), "--with-private")
    assert (told.code, "the private part of" in told.err) == (2, True)


def test_the_prior_is_the_release_s_own_or_the_original_s(
    release: Path, engine: DuckDBEngine | SparkEngine
) -> None:
    alone = dv.measure(release, engine=engine)
    assert alone["entropy_leakage"].value == pytest.approx(0)
    assert alone.settings["prior"] == {"disease": "table"}
    assert (
        "of what the release promises, its files alone show: k_anonymity >= 4, l_diversity >= 2"
        in alone.notes
    )
    assert (
        "of what the release promises, only its publisher can show: entropy_leakage <= 0.5"
        in alone.notes
    )
    private = dv.measure(release, with_private=True, engine=engine)
    assert private["entropy_leakage"].value == pytest.approx(AGAINST_ORIGINAL)
    assert (private.settings["prior"], private.settings["release"]["private"]) == (
        {"disease": "original"},
        True,
    )
    assert dv.check(release, with_private=True, engine=engine).holds


def test_an_opened_release_is_accepted(release: Path) -> None:
    opened = dv.open_release(release)
    assert dv.check(opened, with_private=True).holds
    assert dv.measure(opened)["k_anonymity"].value == 4


def test_changed_files_are_an_error(release: Path) -> None:
    (release / "table.parquet").write_bytes(b"other")
    assert "table.parquet has changed" in run_cli("check", str(release), "--uniques", "1000").err
    with pytest.raises(BadInput, match="has changed"):
        dv.measure(release)


def _forged(folder: Path, **roles: Any) -> None:
    """A manifest with other roles of the columns; its files are unchanged."""
    document = json.loads((folder / "manifest.json").read_text())
    document["roles"] |= roles
    (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")


WARDS = PEOPLE.append_column("ward", pa.array([*"xyxyxyxy", "x"]))


def test_the_user_s_roles_take_precedence_over_the_manifest_s(tmp_path: Path) -> None:
    folder = published(tmp_path / "release", {"k_anonymity": 4}, WARDS, plain="ward")
    assert dv.check(folder).holds
    # zip + ward: in each zip two people with x, two with y.
    by_hand = verdict_of(folder, quasi_identifiers=["zip", "ward"])
    assert (by_hand.outcomes[0].value, by_hand.holds) == (2, False)
    policy = {
        "quasi_identifiers": ["zip", "ward"],
        "sensitive": "disease",
        "promises": {"k_anonymity": 3},
    }
    assert verdict_of(folder, policy).outcomes[0].value == 2
    # A policy that names columns, but not ward: the policy check does not know ward, whatever its
    # role in the manifest.
    unknown = verdict_of(
        folder, {"quasi_identifiers": "zip", "sensitive": "disease", "k_anonymity": 4}
    )
    assert [finding.guard for finding in unknown.findings] == ["unknown_column"]
    named = {
        "quasi_identifiers": "zip",
        "sensitive": "disease",
        "identifier": "name",
        "plain": "ward",
        "k_anonymity": 4,
    }
    assert dv.check(folder, named).holds


def test_a_manifest_with_false_roles_is_checked_by_the_user_s_policy(tmp_path: Path) -> None:
    folder = published(tmp_path / "release", {"k_anonymity": 4}, WARDS, plain="ward")
    _forged(folder, quasi_identifiers=["ward"], plain=["zip"])
    # four people in each ward, according to the manifest
    assert verdict_of(folder).outcomes[0].value == 4
    policy = {"quasi_identifiers": ["zip", "ward"], "sensitive": "disease", "k_anonymity": 4}
    assert (verdict_of(folder, policy).holds, verdict_of(folder, policy).outcomes[0].value) == (
        False,
        2,
    )
    with pytest.raises(BadInput, match="belongs to another"):
        dv.check(folder, policy, with_private=True)


def test_an_identifier_declared_insensitive_by_a_manifest_fails(tmp_path: Path) -> None:
    mails = pa.array([f"p{place}@example.org" for place in range(9)])
    folder = published(
        tmp_path / "release",
        {"k_anonymity": 4},
        PEOPLE.append_column("contact", mails),
        plain="contact",
    )
    assert [finding.guard for finding in verdict_of(folder).findings] == ["looks_like_identifier"]
    assert dv.check(folder, plain="contact").holds


def test_a_release_of_people_with_several_rows_is_not_checked_by_rows(tmp_path: Path) -> None:
    owners = PEOPLE.append_column("who", pa.array([*"ABCDEFGH", "I"]))
    folder = published(tmp_path / "release", {"k_anonymity": 4}, owners, person="who")
    with pytest.raises(BadInput, match="do not say whose a row is"):
        dv.check(folder)
    with pytest.raises(BadInput, match="do not say whose a row is"):
        dv.check(folder, {"k_anonymity": 2}, with_private=True)


def test_the_publisher_s_assumptions_must_be_passed_again(tmp_path: Path) -> None:
    her = dv.Adversary(rule_out={"disease": "cancer"})
    folder = published(tmp_path / "ruled out", {"entropy_leakage": 0.5}, adversary=her)
    with pytest.raises(BadInput, match="what the adversary knows about disease"):
        dv.check(folder, with_private=True)
    assert dv.check(folder, with_private=True, adversary=her).holds
    prior = dv.Adversary(prior={"disease": {"flu": 0.4, "cold": 0.4, "cancer": 0.2}})
    folder = published(tmp_path / "prior", {"entropy_leakage": 0.9}, adversary=prior)
    with pytest.raises(BadInput, match="the prior of disease was given"):
        dv.check(folder, with_private=True)


def test_protections_are_provable_only_by_the_publisher(tmp_path: Path) -> None:
    protect = {"protect": [{"where": {"zip": "a"}, "k_anonymity": 3}]}
    folder = published(tmp_path / "release", {"k_anonymity": 4}, policy=protect)
    with pytest.raises(BadInput, match=r"k_anonymity >= 3 for zip .*the original alone says"):
        dv.check(folder)
    assert dv.check(folder, {"k_anonymity": 4}).holds


def test_later_rows_are_not_checked_by_requirements_of_both_releases(tmp_path: Path) -> None:
    first = published(tmp_path / "first", {"k_anonymity": 2})
    dv.apply(first, PEOPLE.slice(0, 4), tmp_path / "later")
    with pytest.raises(BadInput, match="holds later rows"):
        dv.check(tmp_path / "later")
    assert dv.check(tmp_path / "later", {"k_anonymity": 4}).holds
    # against all nine originals and these four, of whom half have flu and half a cold: 6, 6 and 1
    # of 13
    found = dv.measure(tmp_path / "later", with_private=True)
    assert found.settings["prior"] == {"disease": "original"}
    assert found["t_closeness"].value == pytest.approx(1 / 13)


def test_later_rows_meet_their_requirements_with_all_earlier_ones(tmp_path: Path) -> None:
    first = published(tmp_path / "1", {"k_anonymity": 2, "t_closeness": 0.5})
    dv.apply(first, PEOPLE.slice(0, 4), tmp_path / "2")
    dv.apply(tmp_path / "2", PEOPLE.slice(0, 1), tmp_path / "3", accept_incremental_risk=True)
    assert dv.measure(tmp_path / "3")["k_anonymity"].value == 1, "one row by itself"
    tables = [pq.read_table(tmp_path / name / "table.parquet") for name in ("1", "2", "3")]
    everything = dv.measure(
        pa.concat_tables(tables),
        quasi_identifiers="zip",
        sensitive="disease",
        adversary=dv.Adversary(
            original=pa.concat_tables([PEOPLE, PEOPLE.slice(0, 4), PEOPLE.slice(0, 1)])
        ),
    )
    verdict = verdict_of(tmp_path / "3", with_private=True)
    assert {outcome.promise.metric.name: outcome.value for outcome in verdict.outcomes} == {
        name: pytest.approx(everything[name].value) for name in ("k_anonymity", "t_closeness")
    }
    assert (verdict.holds, verdict.settings["release"]["with_earlier"]) == (True, True)
    assert run_cli("check", str(tmp_path / "3"), "--with-private").code == 0
    refused = run_cli("check", str(tmp_path / "3"))
    assert refused.code == 2
    assert "--with-private" in refused.err
    given = verdict_of(tmp_path / "3", {"k_anonymity": 2}, with_private=True)
    assert (given.holds, given.settings["release"]["with_earlier"]) == (False, False)
    assert {outcome.shown_by for outcome in verdict.outcomes} == {"publisher"}
    assert "every value" in run_cli("query", str(tmp_path / "3"), "zip = 'a'").err


def test_an_anatomized_release_is_checked_by_its_groups(tmp_path: Path) -> None:
    ages = pa.table({"age": [30, 33, 45, 42], "salary": [45, 60, 47, 50]})
    folder = dv.anatomize(ages, sensitive="salary", quasi_identifiers="age", beta="1/2").write(
        tmp_path / "release"
    )
    shown = run_cli("check", str(folder), "--json")
    assert (shown.code, shown.json()["levels"]["beta"]) == (0, "1/2")
    assert run_cli("check", str(folder), "--k-anonymity", "2").code == 2
    assert dv.check(folder).holds
    with pytest.raises(BadInput, match="anatomized release, which has groups and no classes"):
        dv.measure(folder)
    assert f"divulge check {folder}" in run_cli("measure", str(folder)).err


def test_options_without_effect_are_errors(release: Path) -> None:
    assert "--delimiter has no effect" in run_cli("check", str(release), "--delimiter", ";").err
    assert (
        "no release was named"
        in run_cli("measure", str(release / "table.parquet"), "--with-private").err
    )
    with pytest.raises(BadInput, match="Give one of them"):
        dv.check(release, with_private=True, adversary=dv.Adversary(original=PEOPLE))


def test_a_population_of_original_values_is_recoded_by_the_mapping(
    tmp_path: Path, engine: DuckDBEngine | SparkEngine
) -> None:
    ages = pa.table({"age": [21, 22, 31, 32, 41, 42], "disease": ["flu", "cold"] * 3})
    levels = {"age": {"intervals": [10]}}
    roles: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease"}
    folder = dv.generalize(ages, policy={"k_anonymity": 2}, hierarchies=levels, **roles).write(
        tmp_path / "release"
    )
    # By hand: three people of the population are 21 or 22, two 31 or 32, two 41. No person of the
    # table is 77. No rule covers "old".
    everybody = ["21", "21", "22", "31", "32", "41", "41", "77", "old"]
    her = dv.Adversary(population=pa.table({"age": everybody}))
    table = folder / "table.parquet"
    for found in (
        dv.measure(folder, adversary=her, engine=engine),
        dv.measure(table, adversary=her, engine=engine, **roles),
    ):
        assert found["k_map"].value == 2
        assert found.settings["population_recoded"] == {"by": str(folder), "left_out": 1}
        assert any("recoded by the mapping" in note and "1 rows" in note for note in found.notes)
    away = tmp_path / "away.parquet"
    away.write_bytes(table.read_bytes())
    numbers = dv.Adversary(population=pa.table({"age": [int(age) for age in everybody[:-1]]}))
    for hers in (her, numbers):  # the same error wherever the counts are
        with pytest.raises(BadInput, match="original values and the table published labels"):
            dv.measure(away, adversary=hers, engine=engine, **roles)
    labels = dv.Adversary(population=pa.table({"age": ["[20, 30)", "[30, 40)", "[40, 50)"] * 2}))
    found = dv.measure(away, adversary=labels, engine=engine, **roles)
    assert (found["k_map"].value, found.settings["population_recoded"]) == (2, None)
