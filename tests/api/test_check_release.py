# SPDX-License-Identifier: Apache-2.0
"""check() and measure() of a release: what its files prove, what only its publisher can show, and that nothing passes by mistake."""

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
from tests.helpers import run_cli

# Four people in each of two zips, half of them with flu; the ninth is alone, left out, and the only one with cancer.
PEOPLE = pa.table({"zip": [*"aaaabbbb", "c"], "disease": ["flu", "flu", "cold", "cold"] * 2 + ["cancer"]})
ROLES: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
# By hand: in both classes H = 1 bit. The published table has H = 1 too, so by itself it leaks nothing; the original, 4/9, 4/9 and 1/9, has
# 8/9 * log2(9/4) + 1/9 * log2(9) bits.
AGAINST_ORIGINAL = 8 / 9 * math.log2(9 / 4) + math.log2(9) / 9 - 1
BETWEEN = 0.2
assert 0 < BETWEEN < AGAINST_ORIGINAL == pytest.approx(0.39215, abs=1e-5)


def published(folder: Path, promises: dict[str, Any], table: pa.Table = PEOPLE, **more: Any) -> Path:
    policy = {"promises": promises, "suppression": 0.2, **more.pop("policy", {})}
    release = dv.generalize(table, policy=policy, **ROLES, hierarchies={"zip": {"suppress": True}}, **more)
    return release.write(folder)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Two classes of four; cancer is left out."""
    found = published(tmp_path / "release", {"k_anonymity": 4, "l_diversity": 2, "entropy_leakage": 0.5})
    assert json.loads((found / "manifest.json").read_text())["rows"] == 8
    return found


@pytest.fixture
def handed_out(release: Path, tmp_path: Path) -> Path:
    """What a receiver gets."""
    folder = tmp_path / "handed out"
    folder.mkdir()
    for path in release.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_what_the_files_do_not_prove_is_named_and_never_said_to_hold(release: Path, handed_out: Path) -> None:
    for folder in (release, handed_out):  # mapping/ is not looked into unasked
        shown = run_cli("check", str(folder))
        assert (shown.code, shown.out) == (2, "")
        assert "cannot be said to keep entropy_leakage <= 0.5" in shown.err
        assert "what was judged holds: k_anonymity >= 4 (4), l_diversity >= 2 (disease) (2)" in shown.err
        assert "--private" in shown.err
        assert "holds" not in run_cli("check", str(folder), "--json").json()


def test_the_private_part_or_the_original_judges_it(release: Path) -> None:
    original = dv.check(release, adversary=dv.Adversary(original=PEOPLE))
    for verdict in (dv.check(release, private=True), original):
        assert verdict.holds
        assert [outcome.shown_by for outcome in verdict.outcomes] == ["files", "files", "publisher"]
        assert verdict.outcomes[2].value == pytest.approx(AGAINST_ORIGINAL)
        assert verdict.settings["release"]["promises"] == "its own"


def test_a_bound_between_the_two_priors_does_not_pass(release: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot be said to keep entropy_leakage <= 0\.2"):
        dv.check(release, {"entropy_leakage": BETWEEN})
    assert not dv.check(release, {"entropy_leakage": BETWEEN}, private=True).holds
    assert dv.check(release, {"entropy_leakage": 0.4}, private=True).holds
    # Whoever says what she believes has said the prior.
    her = dv.Adversary(prior={"disease": {"flu": 0.5, "cold": 0.5}})
    assert dv.check(release, {"entropy_leakage": BETWEEN}, adversary=her).holds


def test_a_promise_that_the_files_break_is_broken_whatever_else_is_open(release: Path) -> None:
    verdict = dv.check(release, {"k_anonymity": 5, "entropy_leakage": BETWEEN})
    assert [(outcome.promise.metric.name, outcome.holds) for outcome in verdict.outcomes] == [("k_anonymity", False)]
    assert any("not judged: entropy_leakage <= 0.2" in note for note in verdict.measurement.notes)


def test_a_receiver_checks_what_the_files_prove(handed_out: Path) -> None:
    shown = run_cli("check", str(handed_out), "--k-anonymity", "4", "--json")
    assert (shown.code, shown.json()["holds"]) == (0, True)
    assert [item["shown_by"] for item in shown.json()["promises"]] == ["files"]
    told = run_cli("check", str(handed_out), "--private")
    assert (told.code, "has no private part" in told.err) == (2, True)


def test_it_is_measured_with_its_own_prior_or_with_the_original_s(
    release: Path, engine: DuckDBEngine | SparkEngine
) -> None:
    alone = dv.measure(release, engine=engine)
    assert alone["entropy_leakage"].value == pytest.approx(0)
    assert alone.settings["prior"] == {"disease": "table"}
    assert "of what the release promises, its files alone show: k_anonymity >= 4, l_diversity >= 2" in alone.notes
    assert "of what the release promises, only its publisher can show: entropy_leakage <= 0.5" in alone.notes
    private = dv.measure(release, private=True, engine=engine)
    assert private["entropy_leakage"].value == pytest.approx(AGAINST_ORIGINAL)
    assert (private.settings["prior"], private.settings["release"]["private"]) == ({"disease": "original"}, True)
    assert dv.check(release, private=True, engine=engine).holds


def test_what_open_release_gives_is_taken_too(release: Path) -> None:
    opened = dv.open_release(release)
    assert dv.check(opened, private=True).holds
    assert dv.measure(opened)["k_anonymity"].value == 4


def test_changed_files_are_refused(release: Path) -> None:
    (release / "table.parquet").write_bytes(b"other")
    assert "table.parquet has changed" in run_cli("check", str(release), "--k-anonymity", "1").err
    with pytest.raises(BadInput, match="has changed"):
        dv.measure(release)


def _forged(folder: Path, **roles: Any) -> None:
    """A manifest that says something else of the columns; its files stay what they are."""
    document = json.loads((folder / "manifest.json").read_text())
    document["roles"] |= roles
    (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")


WARDS = PEOPLE.append_column("ward", pa.array([*"xyxyxyxy", "x"]))


def test_the_user_s_roles_go_before_those_of_a_manifest(tmp_path: Path) -> None:
    folder = published(tmp_path / "release", {"k_anonymity": 4}, WARDS, plain="ward")
    assert dv.check(folder).holds
    # zip + ward: in each zip two people with x, two with y.
    by_hand = dv.check(folder, quasi_identifiers=["zip", "ward"])
    assert (by_hand.outcomes[0].value, by_hand.holds) == (2, False)
    policy = {"quasi_identifiers": ["zip", "ward"], "sensitive": "disease", "promises": {"k_anonymity": 3}}
    assert dv.check(folder, policy).outcomes[0].value == 2
    # A policy that names columns, and not ward: whatever the manifest calls it, the gate has never heard of it.
    unknown = dv.check(folder, {"quasi_identifiers": "zip", "sensitive": "disease", "k_anonymity": 4})
    assert [finding.guard for finding in unknown.findings] == ["unknown_column"]
    named = {
        "quasi_identifiers": "zip",
        "sensitive": "disease",
        "identifier": "name",
        "plain": "ward",
        "k_anonymity": 4,
    }
    assert dv.check(folder, named).holds


def test_a_manifest_that_lies_about_roles_is_judged_by_the_user_s_policy(tmp_path: Path) -> None:
    folder = published(tmp_path / "release", {"k_anonymity": 4}, WARDS, plain="ward")
    _forged(folder, quasi_identifiers=["ward"], plain=["zip"])
    assert dv.check(folder).outcomes[0].value == 4  # four people in each ward: what the manifest says
    policy = {"quasi_identifiers": ["zip", "ward"], "sensitive": "disease", "k_anonymity": 4}
    assert (dv.check(folder, policy).holds, dv.check(folder, policy).outcomes[0].value) == (False, 2)
    with pytest.raises(BadInput, match="belongs to another"):
        dv.check(folder, policy, private=True)


def test_a_manifest_that_calls_an_identifier_plain_does_not_let_it_through(tmp_path: Path) -> None:
    mails = pa.array([f"p{place}@example.org" for place in range(9)])
    folder = published(
        tmp_path / "release", {"k_anonymity": 4}, PEOPLE.append_column("contact", mails), plain="contact"
    )
    assert [finding.guard for finding in dv.check(folder).findings] == ["looks_like_identifier"]
    assert dv.check(folder, plain="contact").holds


def test_a_release_of_people_with_several_rows_is_not_judged_by_rows(tmp_path: Path) -> None:
    owners = PEOPLE.append_column("who", pa.array([*"ABCDEFGH", "I"]))
    folder = published(tmp_path / "release", {"k_anonymity": 4}, owners, person="who")
    with pytest.raises(BadInput, match="do not say whose a row is"):
        dv.check(folder)
    with pytest.raises(BadInput, match="do not say whose a row is"):
        dv.check(folder, {"k_anonymity": 2}, private=True)


def test_what_the_publisher_assumed_must_be_said_again(tmp_path: Path) -> None:
    her = dv.Adversary(rule_out={"disease": "cancer"})
    folder = published(tmp_path / "ruled out", {"entropy_leakage": 0.5}, adversary=her)
    with pytest.raises(BadInput, match="what the adversary knows about disease"):
        dv.check(folder, private=True)
    assert dv.check(folder, private=True, adversary=her).holds
    prior = dv.Adversary(prior={"disease": {"flu": 0.4, "cold": 0.4, "cancer": 0.2}})
    folder = published(tmp_path / "prior", {"entropy_leakage": 0.9}, adversary=prior)
    with pytest.raises(BadInput, match="the prior of disease was given"):
        dv.check(folder, private=True)


def test_protections_are_the_publisher_s(tmp_path: Path) -> None:
    protect = {"protect": [{"where": {"zip": "a"}, "k_anonymity": 3}]}
    folder = published(tmp_path / "release", {"k_anonymity": 4}, policy=protect)
    with pytest.raises(BadInput, match=r"k_anonymity >= 3 for zip .*the original alone says"):
        dv.check(folder)
    assert dv.check(folder, {"k_anonymity": 4}).holds


def test_later_rows_are_not_held_against_promises_of_both_releases(tmp_path: Path) -> None:
    first = published(tmp_path / "first", {"k_anonymity": 2})
    dv.apply(first, PEOPLE.slice(0, 4), tmp_path / "later")
    with pytest.raises(BadInput, match="holds later rows"):
        dv.check(tmp_path / "later")
    assert dv.check(tmp_path / "later", {"k_anonymity": 4}).holds
    # against all nine originals and these four, which are half flu and half cold: 6, 6 and 1 of 13
    found = dv.measure(tmp_path / "later", private=True)
    assert found.settings["prior"] == {"disease": "original"}
    assert found["t_closeness"].value == pytest.approx(1 / 13)


def test_later_rows_keep_their_promises_with_all_that_was_published_before(tmp_path: Path) -> None:
    first = published(tmp_path / "1", {"k_anonymity": 2, "t_closeness": 0.5})
    dv.apply(first, PEOPLE.slice(0, 4), tmp_path / "2")
    dv.apply(tmp_path / "2", PEOPLE.slice(0, 1), tmp_path / "3")
    assert dv.measure(tmp_path / "3")["k_anonymity"].value == 1, "one row by itself"
    tables = [pq.read_table(tmp_path / name / "table.parquet") for name in ("1", "2", "3")]
    everything = dv.measure(
        pa.concat_tables(tables), quasi_identifiers="zip", sensitive="disease",
        adversary=dv.Adversary(original=pa.concat_tables([PEOPLE, PEOPLE.slice(0, 4), PEOPLE.slice(0, 1)])),
    )  # fmt: skip
    verdict = dv.check(tmp_path / "3", private=True)
    assert {outcome.promise.metric.name: outcome.value for outcome in verdict.outcomes} == {
        name: pytest.approx(everything[name].value) for name in ("k_anonymity", "t_closeness")
    }
    assert (verdict.holds, verdict.settings["release"]["with_earlier"]) == (True, True)
    assert run_cli("check", str(tmp_path / "3"), "--private").code == 0
    refused = run_cli("check", str(tmp_path / "3"))
    assert refused.code == 2
    assert "--private" in refused.err
    given = dv.check(tmp_path / "3", {"k_anonymity": 2}, private=True)
    assert (given.holds, given.settings["release"]["with_earlier"]) == (False, False)
    assert {outcome.shown_by for outcome in verdict.outcomes} == {"publisher"}
    assert "every value" in run_cli("query", str(tmp_path / "3"), "zip = 'a'").err


def test_an_anatomized_release_is_handed_over_to_its_levels(tmp_path: Path) -> None:
    ages = pa.table({"age": [30, 33, 45, 42], "salary": [45, 60, 47, 50]})
    folder = dv.anatomize(ages, sensitive="salary", quasi_identifiers="age", beta="1/2").write(tmp_path / "release")
    shown = run_cli("check", str(folder), "--json")
    assert (shown.code, shown.json()["levels"]["beta"]) == (0, "1/2")
    assert run_cli("check", str(folder), "--k-anonymity", "2").code == 2
    for call in (dv.check, dv.measure):
        with pytest.raises(BadInput, match="anatomized release"):
            call(folder)
    assert "anatomize" in run_cli("measure", str(folder)).err


def test_options_without_effect_are_refused(release: Path) -> None:
    assert "--delimiter has no effect" in run_cli("check", str(release), "--delimiter", ";").err
    assert "no release was named" in run_cli("measure", str(release / "table.parquet"), "--private").err
    with pytest.raises(BadInput, match="Give one of them"):
        dv.check(release, private=True, adversary=dv.Adversary(original=PEOPLE))


def test_a_population_of_original_values_is_recoded_by_the_mapping(
    tmp_path: Path, engine: DuckDBEngine | SparkEngine
) -> None:
    ages = pa.table({"age": [21, 22, 31, 32, 41, 42], "disease": ["flu", "cold"] * 3})
    levels = {"age": {"intervals": [10]}}
    roles: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease"}
    folder = dv.generalize(ages, policy={"k_anonymity": 2}, hierarchies=levels, **roles).write(tmp_path / "release")
    # By hand: of the population three are 21 or 22, two 31 or 32, two 41; nobody of the table is 77. No rule knows "old".
    everybody = ["21", "21", "22", "31", "32", "41", "41", "77", "old"]
    her = dv.Adversary(population=pa.table({"age": everybody}))
    table = folder / "table.parquet"
    for found in (
        dv.measure(folder, adversary=her, engine=engine), dv.measure(table, adversary=her, engine=engine, **roles)
    ):  # fmt: skip
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
