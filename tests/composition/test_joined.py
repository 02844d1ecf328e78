# SPDX-License-Identifier: Apache-2.0
"""Everybody is found in every release, of whatever kind, on every engine; a truth that changed is tied by the person."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge.api.compose import tie
from divulge.composition import Joined
from divulge.composition.joined import HowFound
from divulge.errors import BadInput

PEOPLE: dict[str, list[Any]] = {
    "id": list(range(1, 9)),
    "age": [21, 22, 31, 33, 41, 44, 52, 58],
    "zip": ["4761", "4762", "4761", "4771", "4772", "4791", "4792", "4791"],
    "disease": ["flu", "cold", "flu", "hiv", "cold", "flu", "hiv", "cold"],
}
ROLES: dict[str, Any] = {"quasi_identifiers": ["age", "zip"], "sensitive": "disease", "identifier": "id"}
YOUNG, OLD = ("[20, 40)", "476*"), ("[40, 60)", "479*")
TENS: dict[int, list[Any]] = {1: [YOUNG], 2: [YOUNG], 3: [YOUNG], 4: [None], 5: [None], 6: [OLD], 7: [OLD], 8: [OLD]}
"""Whom the release of `first` has where: 4 and 5, whose zip has one neighbour each, are left out."""


def called(found: Joined) -> dict[int, list[Any]]:
    """Of each person, what her class is called in each release; None: she is not there."""
    rows = found.table.engine.query(f"SELECT * FROM {found.table.relation}").to_pylist()
    return {
        row["id"]: [
            None if row[name] == 0 else tuple(release.class_key(row[name] - 1).values())
            for name, release in zip(found.columns, found.disclosed, strict=True)
        ]
        for row in rows
    }


def decided(people: pa.Table, **how: Any) -> Any:
    """A release in memory."""
    policy = {"suppression": 0.0 if "method" in how else 0.3, "k_anonymity": 2}
    return dv.generalize(people, policy=policy, hierarchies={"age": {"intervals": [10, 20]}}, **ROLES, **how)


def generalized(people: pa.Table, out: Path, **how: Any) -> Path:
    """Written with its private part."""
    return Path(decided(people, **how).write(out))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generalized release of everybody."""
    return generalized(pa.table(PEOPLE), tmp_path_factory.mktemp("first") / "release")


def test_by_mapping(engine: Any, first: Path) -> None:
    found = tie(dv.read(pa.table(PEOPLE), engine=engine), [first])
    assert called(found) == TENS
    assert found.readings[0].how == "mapping"
    assert (found.readings[0].too_many, found.readings[0].unfound) == (0, 0)


@pytest.mark.parametrize("how", [{}, {"method": "mondrian"}])
def test_a_release_in_memory_is_found_as_when_it_is_written(how: dict[str, Any], tmp_path: Path) -> None:
    people = pa.table(PEOPLE)
    release = decided(people, **how)
    found, written = tie(people, [release]), tie(people, [release.write(tmp_path / "release")])
    assert called(found) == called(written)
    assert found.readings == written.readings
    assert found.readings[0].how == "mapping"
    assert found.disclosed[0].classes_sha256 == written.disclosed[0].classes_sha256


def test_groups_in_memory() -> None:
    """Sensitive is what they say: in the other release, too."""
    people = pa.table(PEOPLE)
    groups = dv.anatomize(people, sensitive="disease", identifier="id", beta="1/2", tables=1, seed=1)
    found = dv.compose([groups, people.select(["zip", "disease"])], truth=people)
    assert [one.kind for one in found.releases] == ["anatomized", "table"]
    assert found.settings["sensitive"] == ["disease"]
    assert found.settings["quasi_identifiers"] == ["age", "zip"]


def test_labels_as_they_are_written(engine: Any, first: Path) -> None:
    truth = dv.read(pa.table(PEOPLE), engine=engine)
    found = tie(truth, [first / "table.parquet"], quasi_identifiers=["age", "zip"], sensitive="disease")
    assert called(found) == TENS
    assert found.readings[0].how == "labels"


def test_mondrian_boxes_by_mapping_and_as_written(tmp_path: Path) -> None:
    people = pa.table(PEOPLE)
    folder = generalized(people, tmp_path / "boxes", method="mondrian")
    boxes, written = tie(people, [folder]), tie(people, [folder / "table.parquet"], sensitive="disease", person="id")
    assert called(boxes) == called(written)
    assert min(Counter(keys[0] for keys in called(boxes).values()).values()) >= 2
    assert boxes.readings[0].unfound == boxes.readings[0].too_many == 0


def test_later_rows_are_a_release_of_their_own(first: Path, tmp_path: Path) -> None:
    later = pa.table({"id": [21, 22], "age": [25, 45], "zip": ["4763", "4794"], "disease": ["hiv", "flu"]})
    dv.apply(first, later, tmp_path / "later")
    found = called(tie([pa.table(PEOPLE), later], [first, tmp_path / "later"], person="id"))
    assert found == {person: [*keys, None] for person, keys in TENS.items()} | {21: [None, YOUNG], 22: [None, OLD]}


def test_groups_hold_as_many_as_were_published(engine: Any) -> None:
    """Two people of 30 lie in different groups; only one placement fits the diseases of the groups."""
    truth = pa.table({"id": [1, 2, 3, 4], "age": [30, 30, 41, 42], "disease": ["flu", "hiv", "cold", "cold"]})
    ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 41, 30, 42]})
    values = pa.table({"GID": [1, 1, 2, 2], "disease": ["hiv", "cold", "cold", "flu"]})
    found = tie(dv.read(truth, engine=engine), [[ages, values]], sensitive="disease")
    assert called(found) == {1: [("2",)], 2: [("1",)], 3: [("1",)], 4: [("2",)]}
    assert found.readings[0].several == 0


def test_every_zero_is_one_value_and_so_is_every_nan(engine: Any) -> None:
    """Nobody is lost, or found in two groups, because a group writes 0.0 and the truth -0.0, or a NaN of other bits."""
    other_nan = float(np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0])
    dose = [0.0, -0.0, float("nan"), other_nan, None, None, 1.5, 1.5]
    truth = pa.table({"id": range(8), "dose": dose, "disease": [*"abcdefgh"]})
    group = [1, 2, 3, 4, 5, 6, 5, 6]
    released = [pa.table({"GID": group, "dose": dose}), pa.table({"GID": group, "disease": truth["disease"]})]
    found = tie(dv.read(truth, engine=engine), [released], sensitive="disease", person="id")
    assert called(found) == {person: [(str(number),)] for person, number in enumerate(group)}
    assert found.readings[0] == HowFound("groups")
    flipped = [pa.table({"GID": group, "disease": truth["disease"]}), pa.table({"GID": group, "dose": dose[::-1]})]
    mirrored = truth.set_column(1, "dose", [dose[::-1]])
    found = tie(dv.read(mirrored, engine=engine), [flipped], sensitive="dose", person="id")
    assert called(found) == {person: [(str(number),)] for person, number in enumerate(group)}
    assert found.readings[0] == HowFound("groups")


def test_people_with_the_same_values_are_placed_in_one_of_the_ways_that_fit(engine: Any) -> None:
    truth = pa.table({"id": [1, 2, 3, 4], "age": [30, 30, 41, 42], "disease": ["flu", "flu", "cold", "hiv"]})
    ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 41, 30, 42]})
    values = pa.table({"GID": [1, 1, 2, 2], "disease": ["flu", "cold", "hiv", "flu"]})
    found = tie(dv.read(truth, engine=engine), [[ages, values]], sensitive="disease")
    told = called(found)
    assert (told[3], told[4]) == ([("1",)], [("2",)])
    assert {told[1][0], told[2][0]} == {("1",), ("2",)}
    assert found.readings[0].several == 2
    assert found.readings[0].misfits == 0


def test_who_fits_several_labels_is_placed_where_there_is_room() -> None:
    truth = pa.table({"id": [1, 2, 3], "age": [30, 31, 35], "disease": ["flu", "cold", "hiv"]})
    theirs = pa.table({"age": ["[30, 35]", "[30, 35]", "*"], "disease": ["flu", "hiv", "cold"]})
    found = tie(truth, [theirs], sensitive="disease", person="id")
    assert called(found) == {1: [("[30, 35]",)], 2: [("*",)], 3: [("[30, 35]",)]}


@pytest.mark.parametrize(
    ("young", "old", "values"),
    [
        ("20-39", "40-59", [21, 39, 40, 59]),
        ("<40", ">=40", [21, 39, 40, 59]),
        ("{21, 39}", "{40, 59}", [21, 39, 40, 59]),
        (
            "[2024-01-01, 2024-07-01)",
            "[2024-07-01, 2024-12-31]",
            ["2024-01-01", "2024-06-30", "2024-07-01", "2024-12-31"],
        ),
    ],
)
def test_labels_in_the_ways_that_others_write_them(young: str, old: str, values: list[Any]) -> None:
    truth = pa.table({"id": [1, 2, 3, 4], "age": values})
    found = tie(truth, [pa.table({"age": [young, young, old, old]})], person="id")
    assert called(found) == {1: [(young,)], 2: [(young,)], 3: [(old,)], 4: [(old,)]}


def test_a_label_that_cannot_be_read_is_refused() -> None:
    truth = pa.table({"id": [1, 2], "work": ["clerk", "nurse"]})
    theirs = pa.table({"work": ["office", "nurse"]})
    with pytest.raises(BadInput, match="'office' stands for"):
        tie(truth, [theirs], person="id")


def test_who_came_left_and_changed(engine: Any, first: Path, tmp_path: Path) -> None:
    """8 left, 9 came, 7 moved: the person ties the versions, and everybody is as in the last one that has her."""
    then, stayed = pa.table(PEOPLE), {name: values[:7] for name, values in PEOPLE.items()}
    now = {
        "id": [*stayed["id"], 9],
        "age": [*stayed["age"], 23],
        "zip": [*stayed["zip"][:6], "4761", "4762"],
        "disease": [*stayed["disease"], "hiv"],
    }
    second = generalized(pa.table(now), tmp_path / "second")
    versions = [dv.read(table, engine=engine) for table in (then, pa.table(now))]
    found = tie(versions, [first, second], person="id")
    told = called(found)
    assert {person: keys[0] for person, keys in told.items()} == {p: keys[0] for p, keys in TENS.items()} | {9: None}
    assert told[8] == [OLD, None]
    assert told[7][1] != told[7][0]
    rows = found.table.engine.query(f"SELECT id, zip FROM {found.table.relation} ORDER BY id").to_pylist()
    assert [row["zip"] for row in rows] == [*PEOPLE["zip"][:6], "4761", "4791", "4762"]
    assert found.versions == 2


def test_without_a_key_only_unchanged_rows_are_tied(first: Path) -> None:
    changed = pa.table({**PEOPLE, "disease": ["hiv", *PEOPLE["disease"][1:]]}).drop_columns("id")
    found = tie([pa.table(PEOPLE).drop_columns("id"), changed], [first, first])
    assert found.table.engine.query(f"SELECT COUNT(*) AS n FROM {found.table.relation}")["n"][0].as_py() == 9


def test_a_person_of_two_rows_ties_no_versions(first: Path) -> None:
    twice = pa.table({**PEOPLE, "id": [1, 1, *PEOPLE["id"][2:]]})
    with pytest.raises(BadInput, match="names some people twice"):
        tie([pa.table(PEOPLE), twice], [first, first], person="id")


def test_the_new_columns_meet_no_other(first: Path) -> None:
    people = pa.table({**PEOPLE, "released 1": PEOPLE["age"]})
    found = tie(people, [first])
    assert found.columns == ("released 1_",)
    assert called(found) == TENS


def test_a_truth_with_more_people_than_were_published_is_told(first: Path) -> None:
    more = pa.table({name: [*values, values[0]] for name, values in PEOPLE.items()})
    assert tie(more, [first]).readings[0].too_many == 1
    assert tie(pa.table(PEOPLE).slice(1), [first]).readings[0].unfound == 1


# --- what is known for certain ----------------------------------------------------------------------------------------


def bounded(found: Any) -> bool:
    """Whether it is said to be an upper bound; it is said or denied, never both."""
    claimed, denied = (any(text in note for note in found.notes) for text in SAID)
    assert claimed != denied
    assert found.settings["upper_bound"] == claimed
    return claimed


SAID = ("so this is an upper bound", "this is no upper bound")


def test_what_the_mapping_tells_is_a_bound(first: Path) -> None:
    found = dv.compose([first], truth=pa.table(PEOPLE))
    assert found.releases[0].found is not None
    assert found.releases[0].found.exact
    assert bounded(found)


def test_one_placement_of_several_is_no_bound() -> None:
    """Two people with flu are 30, and nobody knows which of them is in the group with 41."""
    truth = pa.table({"age": [30, 30, 41, 42], "sex": ["f", "m", "f", "m"], "disease": ["flu", "flu", "cold", "hiv"]})
    by_sex = truth.select(["sex", "disease"])
    groups = [
        pa.table({"GID": [1, 1, 2, 2], "age": [30, 41, 30, 42]}),
        pa.table({"GID": [1, 1, 2, 2], "disease": ["flu", "cold", "hiv", "flu"]}),
    ]
    found = dv.compose([groups, by_sex], truth=truth, sensitive="disease")
    assert not bounded(found)
    assert "several classes of release 1 fit 2 people, placed in one of them" in str(found.notes)
    assert bounded(dv.compose([by_sex], truth=truth, sensitive="disease"))


@pytest.mark.parametrize("who", [[1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7, 7]])
def test_more_or_fewer_people_than_were_published_are_no_bound(first: Path, who: list[int]) -> None:
    assert not bounded(dv.compose([first], truth=pa.table(PEOPLE).take(who)))


def test_versions_that_are_tied_without_a_key_are_no_bound(first: Path) -> None:
    people = pa.table(PEOPLE)
    assert bounded(dv.compose([first, first], truth=[people, people.slice(0)], person="id"))
    assert not bounded(dv.compose([first, first], truth=[people, people.slice(0)]))


def test_who_was_dropped_for_a_null_is_not_too_many(tmp_path: Path) -> None:
    people = pa.table({**PEOPLE, "disease": [None, *PEOPLE["disease"][1:]]})
    adversary = dv.Adversary(nulls="drop")
    release = dv.generalize(
        people, policy={"k_anonymity": 2}, hierarchies={"age": {"intervals": [10, 20]}}, **ROLES, adversary=adversary
    )
    found = tie(people, [release.write(tmp_path / "release")])
    assert found.readings[0].exact
    assert called(found)[1] == [None]
