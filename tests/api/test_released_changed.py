# SPDX-License-Identifier: Apache-2.0
"""Prior releases of a table that has changed: people joined, left and changed their values.

A column that identifies people joins the states.
"""

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
from tests.helpers import run_cli, verdict_of

LEVELS = {"age": {"rows": {str(age): [str(age // 2), "*"] for age in range(4)}}}
ASKED: dict[str, Any] = {
    "quasi_identifiers": "age",
    "sensitive": "disease",
    "leave_out": "zip",
    "hierarchies": LEVELS,
}


def states(seed: int) -> tuple[pa.Table, pa.Table]:
    """A table, and its state after some people left, joined or moved to another zip."""
    draw = random.Random(seed)  # noqa: S311

    def person(number: int) -> dict[str, Any]:
        return {
            "id": number,
            "zip": draw.choice("ab"),
            "age": draw.randrange(4),
            "disease": draw.choice("xyz"),
        }

    then = [person(number) for number in range(24)]
    stayed = [row | {"zip": draw.choice("ab")} for row in then if draw.random() < 0.8]
    return pa.Table.from_pylist(then), pa.Table.from_pylist(
        [*stayed, *(person(number) for number in range(30, 36))]
    )


def publish_zip(table: pa.Table, folder: Path) -> Path:
    """Publish the zip codes unchanged."""
    leave_out = ["age", "id"]
    asked: dict[str, Any] = {
        "quasi_identifiers": "zip",
        "sensitive": "disease",
        "leave_out": leave_out,
    }
    return Path(dv.generalize(table, policy={"k_anonymity": 2}, **asked).write(folder))


def joint_classes(then: pa.Table, now: pa.Table, level: int) -> Counter[tuple[str, str]]:
    """Joint classes of the people in the table: the published zip, if any, and the new label."""
    zips = dict(zip(then["id"].to_pylist(), then["zip"].to_pylist(), strict=True))
    rows = now.to_pylist()
    return Counter(
        (zips.get(row["id"], "new"), "*" if level == 2 else str(row["age"] // (1 + level)))
        for row in rows
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_check_uses_the_class_in_which_people_were_published(seed: int, tmp_path: Path) -> None:
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
    assert any(
        note.startswith(f"{people} of what is out already left the table")
        for note in release.after.notes
    )
    assert any(f"finds {alone} p" in note for note in release.after.notes)
    assert "an upper bound" in release.after.notes[0]
    # The written release is checked again by the same joint classes.
    again = verdict_of(
        release.write(tmp_path / "new"),
        adversary=dv.Adversary(original=now, **her.explicit_settings),
        person="id",
    )
    assert again.holds
    assert again.measurement["k_anonymity"].value == by_hand[level]


def test_on_every_engine(engine: Any, tmp_path: Path) -> None:
    then, now = states(1)
    her = dv.Adversary(released=publish_zip(then, tmp_path / "zips"), released_of={"zips": then})
    asked: dict[str, Any] = {
        "quasi_identifiers": "age",
        "sensitive": "disease",
        "person": "id",
        "adversary": her,
    }
    found = dv.measure(dv.read(now, engine=engine), **asked)
    assert found["k_anonymity"].value == min(joint_classes(then, now, 0).values())
    assert found.settings["released"][0]["people"] == sum(row["id"] < 24 for row in now.to_pylist())


def test_groups_lie_within_prior_classes(tmp_path: Path) -> None:
    """People are matched by the one identifier if there is no person column."""
    then, now = states(2)
    her = dv.Adversary(released=publish_zip(then, tmp_path / "zips"), released_of={"zips": then})
    asked: dict[str, Any] = {
        "sensitive": "disease",
        "quasi_identifiers": "age",
        "identifier": "id",
        "tables": 1,
    }
    release = dv.anatomize(now, **asked, beta="9/10", seed=1, adversary=her)
    folder = release.write(tmp_path / "groups")
    checked = dv.check(folder, adversary=dv.Adversary(original=now, **her.explicit_settings))
    assert checked.settings["released"][0]["made_of"] == "the Arrow table"
    assert release.levels.beta <= Fraction(9, 10)


def test_a_changed_table_is_detected(tmp_path: Path) -> None:
    """Each zip has as many people as before, but other people.

    Their diseases reveal it, so no upper bound is stated.
    """
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
    asked = [
        "generalize",
        f"{tmp_path}/now.csv",
        "--qi",
        "age",
        "--sensitive",
        "disease",
        "--leave-out",
        "zip",
    ]
    asked += [
        "--person",
        "id",
        "--k-anonymity",
        "2",
        "--hierarchy",
        "age={intervals=[2]}",
        "--no-explain",
        "--json",
    ]
    made_of = f"1={tmp_path}/then.csv"
    by_ledger = run_cli(*asked, "--ledger", f"{tmp_path}/ledger", "--released-of", made_of)
    by_folder = run_cli(
        *asked,
        "--released",
        f"{tmp_path}/zips",
        "--released-of",
        f"{tmp_path}/zips={tmp_path}/then.csv",
    )
    assert (by_ledger.code, by_folder.code) == (0, 0), by_ledger.err
    assert by_ledger.json()["after"]["identity"] == by_folder.json()["after"]["identity"]
    for wrong, told in (
        ("2=x.csv", "no release that is out already"),
        ("x.csv", "says no release and its table"),
    ):
        refused = run_cli(*asked, "--ledger", f"{tmp_path}/ledger", "--released-of", wrong)
        assert (refused.code, told in refused.err) == (2, True), refused.err
    assert run_cli(*asked, "--released-of", made_of).code == 2


def test_missing_arguments_are_named(tmp_path: Path) -> None:
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
