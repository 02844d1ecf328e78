# SPDX-License-Identifier: Apache-2.0
"""anatomize() and apply() with prior releases: joint groups and classes meet the bounds."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput, Infeasible
from divulge.releases import Unverified
from tests.api.test_prior_releases import PEOPLE, SOME_OUT, decide, publish_without_c, publish_zip
from tests.helpers import group_check_of, run_cli, verdict_of

Engine = DuckDBEngine | SparkEngine
ROLES: dict[str, Any] = {"sensitive": "disease", "quasi_identifiers": ["age"], "leave_out": ["zip"]}


def crowd(rows: int = 240) -> pa.Table:
    """All ages differ, so that each person can be found in the groups."""
    draw = random.Random(3)  # noqa: S311
    return pa.table(
        {
            "zip": [draw.choice("abcd") for _ in range(rows)],
            "age": list(range(1000, 1000 + rows)),
            "disease": [draw.choice(["flu", "cold", "hiv", "cough"]) for _ in range(rows)],
        }
    )


def worst_share(table: pa.Table, release: Any) -> Fraction:
    """Largest share of a sensitive value in a joint group (group, zip), from the rows."""
    tables = release.tables()
    group_of = {
        row["age"]: row[release.held_tables.group]
        for row in tables["quasi_identifiers"].to_pylist()
    }
    joint = defaultdict(list)
    for row in table.to_pylist():
        joint[group_of[row["age"]], row["zip"]].append(row["disease"])
    return max(Fraction(max(Counter(values).values()), len(values)) for values in joint.values())


@pytest.mark.parametrize("engine", ["memory", "spark collected"], indirect=True)
def test_joint_groups_meet_the_bounds(engine: Engine, tmp_path: Path) -> None:
    people = crowd()
    pq.write_table(people, tmp_path / "people.parquet")
    table = dv.read(tmp_path / "people.parquet", engine=engine)
    first = publish_zip(tmp_path / "first", people)
    careless = dv.anatomize(people, **ROLES, beta="1/2", tables=1, seed=1)
    assert worst_share(people, careless) > Fraction(1, 2)
    release = dv.anatomize(
        table, **ROLES, beta="1/2", tables=1, seed=1, adversary=dv.Adversary(released=first)
    )
    folder = release.write(tmp_path / "second")
    assert dv.check(folder).holds
    assert release.settings["released"][0]["release"] == str(first)
    assert any("upper bound" in note for note in release.notes)
    assert "first" not in (folder / "manifest.json").read_text()
    alike = dv.anatomize(
        people, **ROLES, beta="1/2", tables=1, seed=1, adversary=dv.Adversary(released=first)
    )
    assert worst_share(people, alike) <= Fraction(1, 2)


def test_no_grouping_is_feasible_if_a_prior_class_cannot_be_grouped(tmp_path: Path) -> None:
    """In zip b three of four have flu: no part of it meets beta = 1/2, and 3/4 is feasible."""
    people = pa.table(
        {
            "zip": [*"aaaabbbb"],
            "age": list(range(8)),
            "disease": ["flu", "cold", "hiv", "cough", "flu", "flu", "flu", "cold"],
        }
    )
    first = publish_zip(tmp_path / "first", people)
    asked: dict[str, Any] = {**ROLES, "tables": 1, "seed": 1}
    assert dv.anatomize(people, **asked, beta="1/2").levels.beta <= Fraction(1, 2)
    her = dv.Adversary(released=first)
    with pytest.raises(Infeasible) as raised:
        dv.anatomize(people, **asked, beta="1/2", adversary=her)
    told = raised.value.document()["infeasible"]
    assert (told["beta"], told["proved"], raised.value.exit_code) == ("3/4", True, 3)
    assert "1 of 2 cannot be grouped" in told["because"]
    assert "zip=b" in told["because"]
    assert dv.anatomize(people, **asked, beta="3/4", adversary=her).levels.beta <= Fraction(3, 4)


def test_delta_is_relative_to_the_whole_table(tmp_path: Path) -> None:
    """Half of all people have flu, but three of four in zip b.

    So the smallest feasible delta is a quarter.
    """
    people = pa.table({"zip": [*"aaaabbbb"], "age": list(range(8)), "disease": [*"fccccfff"]})
    people = people.set_column(2, "disease", [["f", "c", "c", "c", "f", "f", "f", "c"]])
    first = publish_zip(tmp_path / "first", people)
    asked: dict[str, Any] = {
        **ROLES,
        "tables": 1,
        "seed": 1,
        "adversary": dv.Adversary(released=first),
    }
    assert dv.anatomize(people, **asked, delta="1/4").levels.delta == Fraction(1, 4)
    with pytest.raises(Infeasible) as raised:
        dv.anatomize(people, **asked, delta="1/5")
    assert raised.value.document()["infeasible"]["delta"] == "1/4"


def test_costs_of_bounds_are_those_within_prior_classes(tmp_path: Path) -> None:
    people = crowd()
    first = publish_zip(tmp_path / "first", people)
    release = dv.anatomize(
        people, **ROLES, beta="1/2", tables=1, seed=1, adversary=dv.Adversary(released=first)
    )
    (price,) = release.explain().bounds
    assert price.alone.groups == release.summary.groups


def test_other_settings_of_the_adversary_have_no_effect(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nulls= of the adversary has no effect"):
        dv.anatomize(PEOPLE, **ROLES, beta="1/2", adversary=dv.Adversary(nulls="drop"))
    folder = decide().write(tmp_path / "ages")
    with pytest.raises(BadInput, match="nulls= of the adversary has no effect"):
        dv.apply(folder, PEOPLE, tmp_path / "later", adversary=dv.Adversary(nulls="drop"))


# --- apply ----------------------------------------------------------------------------------------


# The ages of eight people are published (1-2 and 3-4, four each). Eight others come later, whose
# zip codes are published already: (b, 1-2) and (a, 3-4) would be unique. The two people of SOME_OUT
# with zip c are in no prior release, so suppressing them discloses nothing.


def test_later_rows_suppress_joint_uniques_with_prior_releases(
    engine: Engine, tmp_path: Path
) -> None:
    ages, zips = decide().write(tmp_path / "ages"), publish_without_c(tmp_path / "zips", SOME_OUT)
    pq.write_table(SOME_OUT, tmp_path / "people.parquet")
    table = dv.read(tmp_path / "people.parquet", engine=engine)
    her = dv.Adversary(released=zips)
    found = dv.apply(ages, table, tmp_path / "later", adversary=her)
    assert (found.suppressed, found.deferred) == (0, 2)
    assert dict(found.reasons) == {
        "their joint class with other prior releases fails a requirement": 2
    }
    assert found.beside is not None
    assert found.beside.outcomes[0].value == 3
    assert found.settings["released"][0]["release"] == str(zips)
    rows = pq.read_table(found.folder / "table.parquet").to_pylist()
    assert Counter(row["age"] for row in rows) == {"1-2": 3, "3-4": 3}
    assert set(rows[0]) == {"age", "disease"}
    assert "zips" not in (found.folder / "manifest.json").read_text()


def test_later_rows_that_violate_a_requirement_with_prior_releases_are_an_error(
    tmp_path: Path,
) -> None:
    ages, zips = decide().write(tmp_path / "ages"), publish_zip(tmp_path / "zips")
    careless = dv.apply(ages, PEOPLE, tmp_path / "careless")
    assert (careless.verdict.holds, careless.beside) == (True, None)
    # Without (b, 1-2) and (a, 3-4) three people of each zip are published, and the absence of the
    # fourth discloses them. Then no person of these zips is published.
    with pytest.raises(Unverified, match="none of 8 new records can be published"):
        dv.apply(ages, PEOPLE, tmp_path / "later", adversary=dv.Adversary(released=zips))
    assert not (tmp_path / "later").exists()


def test_the_commands(tmp_path: Path) -> None:
    table = str(tmp_path / "people.csv")
    pc.write_csv(SOME_OUT, table)
    zips, ages = publish_without_c(tmp_path / "zips", SOME_OUT), decide().write(tmp_path / "ages")
    later = ("apply", str(ages), table, "--out", str(tmp_path / "later"), "--released", str(zips))
    refused = run_cli(*later, "--max-deferred", "0.2")
    assert refused.code == 1
    assert "2 of 8 records would be deferred (25.0%), and 20.0% may be" in refused.err
    made = run_cli(*later, "--json")
    assert (made.code, made.json()["deferred"], made.json()["beside"][0]["value"]) == (0, 2, 3)
    table, zips = str(tmp_path / "everybody.csv"), publish_zip(tmp_path / "everybody")
    pc.write_csv(PEOPLE, table)
    groups = (
        "anatomize",
        table,
        "--sensitive",
        "disease",
        "--qi",
        "age",
        "--leave-out",
        "zip",
        "--tables",
        "1",
    )
    beside = ("--released", str(zips), "--no-explain", "--json")
    assert run_cli(*groups, "--beta", "1/2", *beside).code == 0
    none = run_cli(*groups, "--beta", "1/4", *beside)
    assert (none.code, none.json()["infeasible"]["beta"]) == (3, "1/2")
    assert (
        run_cli(
            "anatomize", table, "--sensitive", "disease", "--advise", "--released", str(zips)
        ).code
        == 2
    )
    assert json.loads((tmp_path / "later" / "manifest.json").read_text())["rows"] == 6


# --- check ----------------------------------------------------------------------------------------


def test_joint_groups_are_checked_against_bounds(engine: Engine, tmp_path: Path) -> None:
    people = crowd()
    pq.write_table(people, tmp_path / "people.parquet")
    her = dv.Adversary(
        original=tmp_path / "people.parquet", released=publish_zip(tmp_path / "first", people)
    )
    careless = dv.anatomize(people, **ROLES, beta="1/2", tables=1, seed=1)
    folder = careless.write(tmp_path / "careless")
    assert dv.check(folder, engine=engine).holds
    found = group_check_of(folder, adversary=her, engine=engine)
    assert not found.holds
    assert found.levels.beta == worst_share(people, careless)
    assert found.settings["released"][0]["kind"] == "generalized"
    assert "an upper bound" in found.notes[0]
    verdict = verdict_of(folder, {"l_diversity": 2}, adversary=her, engine=engine)
    assert (verdict.holds, verdict.measurement["l_diversity"].value) == (False, 1)
    alike = dv.anatomize(
        people, **ROLES, beta="1/2", tables=1, seed=1, adversary=replace(her, original=None)
    )
    folder = alike.write(tmp_path / "alike")
    found = group_check_of(folder, adversary=her, engine=engine)
    assert (found.holds, found.levels, found.groups) == (True, alike.levels, alike.summary.groups)
    assert dv.check(folder, {"l_diversity": 2}, adversary=her, engine=engine).holds


def test_a_prior_release_may_be_anatomized(tmp_path: Path) -> None:
    """Each of four groups of two has two zips, so both releases disclose every disease."""
    people = pa.table({"zip": [*"abababab"], "age": list(range(8)), "disease": [*"xyxyxyxy"]})
    asked: dict[str, Any] = {
        "sensitive": "disease",
        "leave_out": ["zip"],
        "quasi_identifiers": ["age"],
        "tables": 1,
    }
    groups = dv.anatomize(people, **asked, beta="1/2", seed=1).write(tmp_path / "groups")
    zips = publish_zip(tmp_path / "zips", people)
    verdict = dv.check(
        zips, {"l_diversity": 2}, adversary=dv.Adversary(original=people, released=groups)
    )
    assert not verdict.holds
    her = dv.Adversary(original=people, released=[groups])
    others = dv.anatomize(
        people, **{**asked, "leave_out": ["age"], "quasi_identifiers": ["zip"]}, beta="1/2", seed=2
    )
    found = group_check_of(others, adversary=her)
    assert "no upper bound" in found.notes[0], (
        "four people of each zip have the same disease: nobody knows their groups"
    )


def test_a_check_of_groups_by_the_command(tmp_path: Path) -> None:
    zips = publish_zip(tmp_path / "zips")
    pc.write_csv(PEOPLE, tmp_path / "people.csv")
    groups = dv.anatomize(PEOPLE, **ROLES, beta="1/2", tables=1, seed=1).write(tmp_path / "groups")
    asked: tuple[str, ...] = ("check", str(groups), "--released", str(zips))
    without = run_cli(*asked)
    assert (without.code, "the original alone says" in without.err) == (2, True)
    asked += ("--original", str(tmp_path / "people.csv"))
    found = run_cli(*asked, "--json")
    assert (found.code, found.json()["broken"]) == (1, ["beta"])
    assert "joint groups break what it promises" in run_cli(*asked).out
    by_promises = run_cli(*asked, "--l-diversity", "2", "--json")
    assert (by_promises.code, by_promises.json()["holds"]) == (1, False)
    uncertain = run_cli(*asked, "--uniques", "1000")
    assert (uncertain.code, "not known for certain in which classes" in uncertain.err) == (2, True)
    dv.Ledger(tmp_path / "ledger").add(zips)
    by_ledger = ("--ledger", str(tmp_path / "ledger"), "--original", str(tmp_path / "people.csv"))
    assert (
        run_cli("check", str(groups), *by_ledger, "--json").json()["levels"]
        == found.json()["levels"]
    )
    assert run_cli("check", str(groups), "--original", str(tmp_path / "people.csv")).code == 2
    assert run_cli(*asked, "--qi", "age").code == 2
