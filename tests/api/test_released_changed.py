# SPDX-License-Identifier: Apache-2.0
"""The gate after the table has changed: people came, left and changed their values; a column that names them ties its states together."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import divulge as dv
from divulge.errors import BadInput
from tests.helpers import run_cli

LEVELS = {"age": {"rows": {str(age): [str(age // 2), "*"] for age in range(4)}}}
ASKED: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease", "leave_out": "zip", "hierarchies": LEVELS}


def states(seed: int) -> tuple[pa.Table, pa.Table]:
    """A table, and the same after some left, some came and some moved to another zip."""
    draw = random.Random(seed)  # noqa: S311

    def person(number: int) -> dict[str, Any]:
        return {"id": number, "zip": draw.choice("ab"), "age": draw.randrange(4), "disease": draw.choice("xyz")}

    then = [person(number) for number in range(24)]
    stayed = [row | {"zip": draw.choice("ab")} for row in then if draw.random() < 0.8]
    return pa.Table.from_pylist(then), pa.Table.from_pylist([*stayed, *(person(number) for number in range(30, 36))])


def publish_zip(table: pa.Table, folder: Path) -> Path:
    """The zips as they are."""
    leave_out = ["age", "id"]
    asked: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease", "leave_out": leave_out}
    return Path(dv.generalize(table, policy={"k_anonymity": 2}, **asked).write(folder))


def joint_classes(then: pa.Table, now: pa.Table, level: int) -> Counter[tuple[str, str]]:
    """Of everybody in the table: the zip that was published of her, if she was there, and the label that she gets now."""
    zips = dict(zip(then["id"].to_pylist(), then["zip"].to_pylist(), strict=True))
    rows = now.to_pylist()
    return Counter((zips.get(row["id"], "new"), "*" if level == 2 else str(row["age"] // (1 + level))) for row in rows)


@pytest.mark.parametrize("seed", range(6))
def test_the_gate_knows_who_was_published_as_what(seed: int, tmp_path: Path) -> None:
    then, now = states(seed)
    her = dv.Adversary(released=publish_zip(then, tmp_path / "zips"), released_of={"zips": then})
    release = dv.generalize(now, policy={"k_anonymity": 2}, person="id", adversary=her, **ASKED)
    by_hand = [min(joint_classes(then, now, level).values()) for level in range(3)]
    level = release.plan.levels["age"]
    assert release.after["k_anonymity"].value == by_hand[level] >= 2
    assert level == min(place for place, k in enumerate(by_hand) if k >= 2)
    left = [row for row in then.to_pylist() if row["id"] not in now["id"].to_pylist()]
    alone = sum(count == 1 for count in Counter(row["zip"] for row in left).values())
    people = f"{len(left)} people" if len(left) != 1 else "1 person"
    assert any(note.startswith(f"{people} of what is out already left the table") for note in release.after.notes)
    assert any(f"finds {alone} p" in note for note in release.after.notes)
    assert "an upper bound" in release.after.notes[0]
    # The written release is judged again by the same joint classes.
    again = dv.check(release.write(tmp_path / "new"), adversary=dv.Adversary(original=now, **her.given), person="id")
    assert again.holds
    assert again.measurement["k_anonymity"].value == by_hand[level]


def test_on_every_engine(engine: Any, tmp_path: Path) -> None:
    then, now = states(1)
    her = dv.Adversary(released=publish_zip(then, tmp_path / "zips"), released_of={"zips": then})
    asked: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease", "person": "id", "adversary": her}
    found = dv.measure(dv.read(now, engine=engine), **asked)
    assert found["k_anonymity"].value == min(joint_classes(then, now, 0).values())
    assert found.settings["released"][0]["people"] == sum(row["id"] < 24 for row in now.to_pylist())


def test_groups_lie_within_what_was_published(tmp_path: Path) -> None:
    """By the one identifier, where no column is called the person."""
    then, now = states(2)
    her = dv.Adversary(released=publish_zip(then, tmp_path / "zips"), released_of={"zips": then})
    asked: dict[str, Any] = {"sensitive": "disease", "quasi_identifiers": "age", "identifier": "id", "tables": 1}
    release = dv.anatomize(now, **asked, beta="9/10", seed=1, adversary=her)
    folder = release.write(tmp_path / "groups")
    checked = dv.check_anatomized(folder, adversary=dv.Adversary(original=now, **her.given))
    assert checked.settings["released"][0]["made_of"] == "the Arrow table"
    assert release.levels.beta <= Fraction(9, 10)


def test_a_changed_table_is_not_taken_for_the_one_it_was(tmp_path: Path) -> None:
    """As many in each zip as before, but others: by their diseases it shows, and nothing is called an upper bound."""
    then = pa.table({"zip": [*"aabb"], "age": [1, 2, 1, 2], "id": range(4), "disease": [*"xyxy"]})
    now = pa.table({"zip": [*"aabb"], "age": [1, 2, 1, 2], "id": range(4, 8), "disease": [*"xzxy"]})
    her = dv.Adversary(released=publish_zip(then, tmp_path / "zips"))
    asked: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease", "adversary": her}
    assert "so this is an upper bound" in dv.measure(then, **asked).notes[-1]
    notes = dv.measure(now, **asked).notes
    assert any("this is no upper bound" in note for note in notes)
    assert any("it is of another state of the table" in note for note in notes)


def test_by_a_ledger_and_the_commands(tmp_path: Path) -> None:
    then, now = states(3)
    for name, table in (("then.csv", then), ("now.csv", now)):
        pc.write_csv(table, tmp_path / name)
    dv.Ledger(tmp_path / "ledger").add(publish_zip(then, tmp_path / "zips"))
    asked = ["generalize", f"{tmp_path}/now.csv", "--qi", "age", "--sensitive", "disease", "--leave-out", "zip"]
    asked += ["--person", "id", "--k-anonymity", "2", "--hierarchy", "age={intervals=[2]}", "--no-explain", "--json"]
    made_of = f"1={tmp_path}/then.csv"
    by_ledger = run_cli(*asked, "--ledger", f"{tmp_path}/ledger", "--released-of", made_of)
    by_folder = run_cli(
        *asked, "--released", f"{tmp_path}/zips", "--released-of", f"{tmp_path}/zips={tmp_path}/then.csv"
    )
    assert (by_ledger.code, by_folder.code) == (0, 0), by_ledger.err
    assert by_ledger.json()["after"]["identity"] == by_folder.json()["after"]["identity"]
    for wrong, told in (("2=x.csv", "no release that is out already"), ("x.csv", "says no release and its table")):
        refused = run_cli(*asked, "--ledger", f"{tmp_path}/ledger", "--released-of", wrong)
        assert (refused.code, told in refused.err) == (2, True), refused.err
    assert run_cli(*asked, "--released-of", made_of).code == 2


def test_what_is_needed_is_said(tmp_path: Path) -> None:
    then, now = states(4)
    her = dv.Adversary(released=publish_zip(then, tmp_path / "zips"), released_of={"zips": then})
    with pytest.raises(BadInput, match="only a column that names people says"):
        dv.measure(now, quasi_identifiers="age", sensitive="disease", adversary=her)
    twice = pa.concat_tables([then, then])
    her = dv.Adversary(released=tmp_path / "zips", released_of={"zips": twice})
    with pytest.raises(BadInput, match="names some people twice"):
        dv.measure(now, quasi_identifiers="age", sensitive="disease", person="id", adversary=her)
    with pytest.raises(BadInput, match="released_of is list, which names no releases"):
        dv.Adversary(released_of=["then.csv"])  # type: ignore[arg-type]
