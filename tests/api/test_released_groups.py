# SPDX-License-Identifier: Apache-2.0
"""anatomize() and apply() beside what is out already: joint groups keep the bounds, later rows the promises, or nothing appears."""

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
from divulge.publish import Unverified
from tests.api.test_released import PEOPLE, SOME_OUT, decide, publish_without_c, publish_zip
from tests.helpers import run_cli

Engine = DuckDBEngine | SparkEngine
ROLES: dict[str, Any] = {"sensitive": "disease", "quasi_identifiers": ["age"], "leave_out": ["zip"]}


def crowd(rows: int = 240) -> pa.Table:
    """Ages are all different, so that everybody can be found again in the groups."""
    draw = random.Random(3)  # noqa: S311
    return pa.table(
        {
            "zip": [draw.choice("abcd") for _ in range(rows)],
            "age": list(range(1000, 1000 + rows)),
            "disease": [draw.choice(["flu", "cold", "hiv", "cough"]) for _ in range(rows)],
        }
    )


def worst_share(table: pa.Table, release: Any) -> Fraction:
    """Of a sensitive value in a joint group (group of the release, zip), counted from the published rows."""
    tables = release.tables()
    group_of = {row["age"]: row[release.held.group] for row in tables["quasi_identifiers"].to_pylist()}
    joint = defaultdict(list)
    for row in table.to_pylist():
        joint[group_of[row["age"]], row["zip"]].append(row["disease"])
    return max(Fraction(max(Counter(values).values()), len(values)) for values in joint.values())


@pytest.mark.parametrize("engine", ["memory", "spark collected"], indirect=True)
def test_joint_groups_keep_the_bounds(engine: Engine, tmp_path: Path) -> None:
    people = crowd()
    pq.write_table(people, tmp_path / "people.parquet")
    table = dv.read(tmp_path / "people.parquet", engine=engine)
    first = publish_zip(tmp_path / "first", people)
    careless = dv.anatomize(people, **ROLES, beta="1/2", tables=1, seed=1)
    assert worst_share(people, careless) > Fraction(1, 2)
    release = dv.anatomize(table, **ROLES, beta="1/2", tables=1, seed=1, adversary=dv.Adversary(released=first))
    folder = release.write(tmp_path / "second")
    assert dv.check_anatomized(folder).holds
    assert release.settings["released"][0]["release"] == str(first)
    assert any("upper bound" in note for note in release.notes)
    assert "first" not in (folder / "manifest.json").read_text()
    alike = dv.anatomize(people, **ROLES, beta="1/2", tables=1, seed=1, adversary=dv.Adversary(released=first))
    assert worst_share(people, alike) <= Fraction(1, 2)


def test_no_grouping_can_where_a_class_that_is_out_cannot_be_grouped(tmp_path: Path) -> None:
    """In zip b three of four have flu: no part of it keeps beta = 1/2, and 3/4 is what some grouping keeps."""
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


def test_delta_is_held_against_the_whole_table(tmp_path: Path) -> None:
    """Half of all have flu, three of four in zip b: a quarter more than in the table is the least that zip b can show."""
    people = pa.table({"zip": [*"aaaabbbb"], "age": list(range(8)), "disease": [*"fccccfff"]})
    people = people.set_column(2, "disease", [["f", "c", "c", "c", "f", "f", "f", "c"]])
    first = publish_zip(tmp_path / "first", people)
    asked: dict[str, Any] = {**ROLES, "tables": 1, "seed": 1, "adversary": dv.Adversary(released=first)}
    assert dv.anatomize(people, **asked, delta="1/4").levels.delta == Fraction(1, 4)
    with pytest.raises(Infeasible) as raised:
        dv.anatomize(people, **asked, delta="1/5")
    assert raised.value.document()["infeasible"]["delta"] == "1/4"


def test_prices_are_those_within_the_classes(tmp_path: Path) -> None:
    people = crowd()
    first = publish_zip(tmp_path / "first", people)
    release = dv.anatomize(people, **ROLES, beta="1/2", tables=1, seed=1, adversary=dv.Adversary(released=first))
    (price,) = release.explain().bounds
    assert price.alone.groups == release.summary.groups


def test_what_else_is_said_of_her_has_no_effect(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nulls= of the adversary has no effect"):
        dv.anatomize(PEOPLE, **ROLES, beta="1/2", adversary=dv.Adversary(nulls="drop"))
    folder = decide().write(tmp_path / "ages")
    with pytest.raises(BadInput, match="nulls= of the adversary has no effect"):
        dv.apply(folder, PEOPLE, tmp_path / "later", adversary=dv.Adversary(nulls="drop"))


# --- apply ------------------------------------------------------------------------------------------------------------


# The ages of eight people are out (1-2 and 3-4, four each). Eight others come later, whose zip is out already: (b, 1-2) and (a, 3-4)
# would be one person each. Of SOME_OUT the two with zip c are out nowhere: whoever is left out of them is told by nothing.


def test_later_rows_leave_out_who_would_be_alone_beside_what_else_is_out(engine: Engine, tmp_path: Path) -> None:
    ages, zips = decide().write(tmp_path / "ages"), publish_without_c(tmp_path / "zips", SOME_OUT)
    pq.write_table(SOME_OUT, tmp_path / "people.parquet")
    table = dv.read(tmp_path / "people.parquet", engine=engine)
    her = dv.Adversary(released=zips)
    found = dv.apply(ages, table, tmp_path / "later", adversary=her, unseen="suppress", suppression=0.25)
    assert found.suppressed == 2
    assert found.beside is not None
    assert found.beside.outcomes[0].value == 3
    assert found.settings["released"][0]["release"] == str(zips)
    rows = pq.read_table(found.folder / "table.parquet").to_pylist()
    assert Counter(row["age"] for row in rows) == {"1-2": 3, "3-4": 3}
    assert set(rows[0]) == {"age", "disease"}
    assert "zips" not in (found.folder / "manifest.json").read_text()


def test_later_rows_are_refused_where_they_would_break_a_promise_beside_what_else_is_out(tmp_path: Path) -> None:
    ages, zips = decide().write(tmp_path / "ages"), publish_zip(tmp_path / "zips")
    careless = dv.apply(ages, PEOPLE, tmp_path / "careless")
    assert careless.verdict is not None
    assert (careless.verdict.holds, careless.beside) == (True, None)
    with pytest.raises(Unverified, match="beside what is out already would break k_anonymity >= 2"):
        dv.apply(ages, PEOPLE, tmp_path / "later", adversary=dv.Adversary(released=zips))
    assert not (tmp_path / "later").exists()
    # Without (b, 1-2) and (a, 3-4) three people of each zip are published, and the fourth is told by what is missing.
    with pytest.raises(Unverified, match="beside what is out already would break k_anonymity >= 2"):
        dv.apply(
            ages, PEOPLE, tmp_path / "later", adversary=dv.Adversary(released=zips), unseen="suppress", suppression=0.25
        )


def test_the_commands(tmp_path: Path) -> None:
    table = str(tmp_path / "people.csv")
    pc.write_csv(SOME_OUT, table)
    zips, ages = publish_without_c(tmp_path / "zips", SOME_OUT), decide().write(tmp_path / "ages")
    later = ("apply", str(ages), table, "--out", str(tmp_path / "later"), "--released", str(zips))
    refused = run_cli(*later)
    assert refused.code == 1
    assert "beside what is out already" in refused.err
    made = run_cli(*later, "--suppress-unseen", "--suppression", "0.25", "--json")
    assert (made.code, made.json()["suppressed"], made.json()["beside"][0]["value"]) == (0, 2, 3)
    table, zips = str(tmp_path / "everybody.csv"), publish_zip(tmp_path / "everybody")
    pc.write_csv(PEOPLE, table)
    groups = ("anatomize", table, "--sensitive", "disease", "--qi", "age", "--leave-out", "zip", "--tables", "1")
    beside = ("--released", str(zips), "--no-explain", "--json")
    assert run_cli(*groups, "--beta", "1/2", *beside).code == 0
    none = run_cli(*groups, "--beta", "1/4", *beside)
    assert (none.code, none.json()["infeasible"]["beta"]) == (3, "1/2")
    assert run_cli("anatomize", table, "--sensitive", "disease", "--advise", "--released", str(zips)).code == 2
    assert json.loads((tmp_path / "later" / "manifest.json").read_text())["rows"] == 6


# --- check ------------------------------------------------------------------------------------------------------------


def test_groups_are_held_against_their_bounds_beside_what_is_out(engine: Engine, tmp_path: Path) -> None:
    people = crowd()
    pq.write_table(people, tmp_path / "people.parquet")
    her = dv.Adversary(original=tmp_path / "people.parquet", released=publish_zip(tmp_path / "first", people))
    careless = dv.anatomize(people, **ROLES, beta="1/2", tables=1, seed=1)
    folder = careless.write(tmp_path / "careless")
    assert dv.check_anatomized(folder, engine=engine).holds
    found = dv.check_anatomized(folder, adversary=her, engine=engine)
    assert not found.holds
    assert found.levels.beta == worst_share(people, careless)
    assert found.settings["released"][0]["kind"] == "generalized"
    assert "an upper bound" in found.notes[0]
    verdict = dv.check(folder, {"l_diversity": 2}, adversary=her, engine=engine)
    assert (verdict.holds, verdict.measurement["l_diversity"].value) == (False, 1)
    alike = dv.anatomize(people, **ROLES, beta="1/2", tables=1, seed=1, adversary=replace(her, original=None))
    folder = alike.write(tmp_path / "alike")
    found = dv.check_anatomized(folder, adversary=her, engine=engine)
    assert (found.holds, found.levels, found.groups) == (True, alike.levels, alike.summary.groups)
    assert dv.check(folder, {"l_diversity": 2}, adversary=her, engine=engine).holds


def test_what_is_out_may_have_groups_too(tmp_path: Path) -> None:
    """Each of four groups of two has two zips, so that whoever holds both knows everybody's disease."""
    people = pa.table({"zip": [*"abababab"], "age": list(range(8)), "disease": [*"xyxyxyxy"]})
    asked: dict[str, Any] = {"sensitive": "disease", "leave_out": ["zip"], "quasi_identifiers": ["age"], "tables": 1}
    groups = dv.anatomize(people, **asked, beta="1/2", seed=1).write(tmp_path / "groups")
    zips = publish_zip(tmp_path / "zips", people)
    verdict = dv.check(zips, {"l_diversity": 2}, adversary=dv.Adversary(original=people, released=groups))
    assert not verdict.holds
    her = dv.Adversary(original=people, released=[groups])
    others = dv.anatomize(people, **{**asked, "leave_out": ["age"], "quasi_identifiers": ["zip"]}, beta="1/2", seed=2)
    found = dv.check_anatomized(others, adversary=her)
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
    assert run_cli(*asked, "--l-diversity", "1").code == 0
    dv.Ledger(tmp_path / "ledger").add(zips)
    by_ledger = ("--ledger", str(tmp_path / "ledger"), "--original", str(tmp_path / "people.csv"))
    assert run_cli("check", str(groups), *by_ledger, "--json").json()["levels"] == found.json()["levels"]
    assert run_cli("check", str(groups), "--original", str(tmp_path / "people.csv")).code == 2
    assert run_cli(*asked, "--qi", "age").code == 2
