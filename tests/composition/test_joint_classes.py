# SPDX-License-Identifier: Apache-2.0
"""Lookup of all people in releases of every kind, on every engine.

Versions of an original that changed are joined by the person column.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge.api.compose import join_original
from divulge.composition import JointClasses
from divulge.composition.joint_classes import LookupResult
from divulge.errors import BadInput

PEOPLE: dict[str, list[Any]] = {
    "id": list(range(1, 9)),
    "age": [21, 22, 31, 33, 41, 44, 52, 58],
    "zip": ["4761", "4762", "4761", "4771", "4772", "4791", "4792", "4791"],
    "disease": ["flu", "cold", "flu", "hiv", "cold", "flu", "hiv", "cold"],
}
ROLES: dict[str, Any] = {
    "quasi_identifiers": ["age", "zip"],
    "sensitive": "disease",
    "identifier": "id",
}
YOUNG, OLD = ("[20, 40)", "476*"), ("[40, 60)", "479*")
TENS: dict[int, list[Any]] = {
    1: [YOUNG],
    2: [YOUNG],
    3: [YOUNG],
    4: [None],
    5: [None],
    6: [OLD],
    7: [OLD],
    8: [OLD],
}
"""Class of each person in the release `first`.

4 and 5 are suppressed: each zip code has only one other person.
"""


def called(found: JointClasses) -> dict[int, list[Any]]:
    """Name of each person's class in each release; None if the person is not in it."""
    rows = found.table.engine.query(f"SELECT * FROM {found.table.relation}").to_pylist()
    return {
        row["id"]: [
            None if row[name] == 0 else tuple(release.class_key(row[name] - 1).values())
            for name, release in zip(found.columns, found.releases, strict=True)
        ]
        for row in rows
    }


def decided(people: pa.Table, **how: Any) -> Any:
    """A release in memory."""
    policy = {"suppression": 0.0 if "method" in how else 0.3, "k_anonymity": 2}
    return dv.generalize(
        people, policy=policy, hierarchies={"age": {"intervals": [10, 20]}}, **ROLES, **how
    )


def generalized(people: pa.Table, out: Path, **how: Any) -> Path:
    """Write a release with its private part."""
    return Path(decided(people, **how).write(out))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generalized release of all people."""
    return generalized(pa.table(PEOPLE), tmp_path_factory.mktemp("first") / "release")


def test_by_mapping(engine: Any, first: Path) -> None:
    found = join_original(dv.read(pa.table(PEOPLE), engine=engine), [first])
    assert called(found) == TENS
    assert found.lookups[0].how == "mapping"
    assert (found.lookups[0].too_many, found.lookups[0].unfound) == (0, 0)


@pytest.mark.parametrize("how", [{}, {"method": "mondrian"}])
def test_a_release_in_memory_is_looked_up_like_a_written_one(
    how: dict[str, Any], tmp_path: Path
) -> None:
    people = pa.table(PEOPLE)
    release = decided(people, **how)
    found, written = (
        join_original(people, [release]),
        join_original(people, [release.write(tmp_path / "release")]),
    )
    assert called(found) == called(written)
    assert found.lookups == written.lookups
    assert found.lookups[0].how == "mapping"
    assert found.releases[0].classes_sha256 == written.releases[0].classes_sha256


def test_groups_in_memory() -> None:
    """A column that one release declares sensitive is sensitive in the other one, too."""
    people = pa.table(PEOPLE)
    groups = dv.anatomize(
        people, sensitive="disease", identifier="id", beta="1/2", tables=1, seed=1
    )
    found = dv.compose([groups, people.select(["zip", "disease"])], truth=people)
    assert [one.kind for one in found.releases] == ["anatomized", "table"]
    assert found.settings["sensitive"] == ["disease"]
    assert found.settings["quasi_identifiers"] == ["age", "zip"]


def test_labels_as_they_are_written(engine: Any, first: Path) -> None:
    truth = dv.read(pa.table(PEOPLE), engine=engine)
    found = join_original(
        truth, [first / "table.parquet"], quasi_identifiers=["age", "zip"], sensitive="disease"
    )
    assert called(found) == TENS
    assert found.lookups[0].how == "labels"


def test_mondrian_boxes_by_mapping_and_as_written(tmp_path: Path) -> None:
    people = pa.table(PEOPLE)
    folder = generalized(people, tmp_path / "boxes", method="mondrian")
    boxes, written = (
        join_original(people, [folder]),
        join_original(people, [folder / "table.parquet"], sensitive="disease", person="id"),
    )
    assert called(boxes) == called(written)
    assert min(Counter(keys[0] for keys in called(boxes).values()).values()) >= 2
    assert boxes.lookups[0].unfound == boxes.lookups[0].too_many == 0


def test_an_incremental_release_is_a_release_of_its_own(first: Path, tmp_path: Path) -> None:
    later = pa.table(
        {"id": [21, 22], "age": [25, 45], "zip": ["4763", "4794"], "disease": ["hiv", "flu"]}
    )
    dv.apply(first, later, tmp_path / "later", accept_incremental_risk=True)
    found = called(
        join_original([pa.table(PEOPLE), later], [first, tmp_path / "later"], person="id")
    )
    assert found == {person: [*keys, None] for person, keys in TENS.items()} | {
        21: [None, YOUNG],
        22: [None, OLD],
    }


def test_groups_hold_as_many_as_were_published(engine: Any) -> None:
    """Two people aged 30 are in different groups.

    Only one placement fits the diseases of the groups.
    """
    truth = pa.table(
        {"id": [1, 2, 3, 4], "age": [30, 30, 41, 42], "disease": ["flu", "hiv", "cold", "cold"]}
    )
    ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 41, 30, 42]})
    values = pa.table({"GID": [1, 1, 2, 2], "disease": ["hiv", "cold", "cold", "flu"]})
    found = join_original(dv.read(truth, engine=engine), [[ages, values]], sensitive="disease")
    assert called(found) == {1: [("2",)], 2: [("1",)], 3: [("1",)], 4: [("2",)]}
    assert found.lookups[0].several == 0


def test_every_zero_is_one_value_and_so_is_every_nan(engine: Any) -> None:
    """0.0 in a group matches -0.0 in the original, and NaN matches a NaN with other bits.

    So no person is lost or found in two groups.
    """
    other_nan = float(np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0])
    dose = [0.0, -0.0, float("nan"), other_nan, None, None, 1.5, 1.5]
    truth = pa.table({"id": range(8), "dose": dose, "disease": [*"abcdefgh"]})
    group = [1, 2, 3, 4, 5, 6, 5, 6]
    released = [
        pa.table({"GID": group, "dose": dose}),
        pa.table({"GID": group, "disease": truth["disease"]}),
    ]
    found = join_original(
        dv.read(truth, engine=engine), [released], sensitive="disease", person="id"
    )
    assert called(found) == {person: [(str(number),)] for person, number in enumerate(group)}
    assert found.lookups[0] == LookupResult("groups")
    flipped = [
        pa.table({"GID": group, "disease": truth["disease"]}),
        pa.table({"GID": group, "dose": dose[::-1]}),
    ]
    mirrored = truth.set_column(1, "dose", [dose[::-1]])
    found = join_original(
        dv.read(mirrored, engine=engine), [flipped], sensitive="dose", person="id"
    )
    assert called(found) == {person: [(str(number),)] for person, number in enumerate(group)}
    assert found.lookups[0] == LookupResult("groups")


def test_people_with_equal_values_get_one_of_the_fitting_placements(engine: Any) -> None:
    truth = pa.table(
        {"id": [1, 2, 3, 4], "age": [30, 30, 41, 42], "disease": ["flu", "flu", "cold", "hiv"]}
    )
    ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 41, 30, 42]})
    values = pa.table({"GID": [1, 1, 2, 2], "disease": ["flu", "cold", "hiv", "flu"]})
    found = join_original(dv.read(truth, engine=engine), [[ages, values]], sensitive="disease")
    told = called(found)
    assert (told[3], told[4]) == ([("1",)], [("2",)])
    assert {told[1][0], told[2][0]} == {("1",), ("2",)}
    assert found.lookups[0].several == 2
    assert found.lookups[0].misfits == 0


def test_people_who_fit_several_labels_go_where_capacity_is_left() -> None:
    truth = pa.table({"id": [1, 2, 3], "age": [30, 31, 35], "disease": ["flu", "cold", "hiv"]})
    theirs = pa.table({"age": ["[30, 35]", "[30, 35]", "*"], "disease": ["flu", "hiv", "cold"]})
    found = join_original(truth, [theirs], sensitive="disease", person="id")
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
def test_labels_of_other_tools(young: str, old: str, values: list[Any]) -> None:
    truth = pa.table({"id": [1, 2, 3, 4], "age": values})
    found = join_original(truth, [pa.table({"age": [young, young, old, old]})], person="id")
    assert called(found) == {1: [(young,)], 2: [(young,)], 3: [(old,)], 4: [(old,)]}


def test_an_unreadable_label_is_an_error() -> None:
    truth = pa.table({"id": [1, 2], "work": ["clerk", "nurse"]})
    theirs = pa.table({"work": ["office", "nurse"]})
    with pytest.raises(BadInput, match="'office' stands for"):
        join_original(truth, [theirs], person="id")


def test_people_who_joined_left_and_changed(engine: Any, first: Path, tmp_path: Path) -> None:
    """8 left, 9 joined, 7 moved: the person column joins the versions.

    Each person has the values of the last version that contains them.
    """
    then, stayed = pa.table(PEOPLE), {name: values[:7] for name, values in PEOPLE.items()}
    now = {
        "id": [*stayed["id"], 9],
        "age": [*stayed["age"], 23],
        "zip": [*stayed["zip"][:6], "4761", "4762"],
        "disease": [*stayed["disease"], "hiv"],
    }
    second = generalized(pa.table(now), tmp_path / "second")
    versions = [dv.read(table, engine=engine) for table in (then, pa.table(now))]
    found = join_original(versions, [first, second], person="id")
    told = called(found)
    assert {person: keys[0] for person, keys in told.items()} == {
        p: keys[0] for p, keys in TENS.items()
    } | {9: None}
    assert told[8] == [OLD, None]
    assert told[7][1] != told[7][0]
    rows = found.table.engine.query(
        f"SELECT id, zip FROM {found.table.relation} ORDER BY id"
    ).to_pylist()
    assert [row["zip"] for row in rows] == [*PEOPLE["zip"][:6], "4761", "4791", "4762"]
    assert found.versions == 2


def test_without_a_person_column_only_unchanged_rows_are_matched(first: Path) -> None:
    changed = pa.table({**PEOPLE, "disease": ["hiv", *PEOPLE["disease"][1:]]}).drop_columns("id")
    found = join_original([pa.table(PEOPLE).drop_columns("id"), changed], [first, first])
    assert (
        found.table.engine.query(f"SELECT COUNT(*) AS n FROM {found.table.relation}")["n"][
            0
        ].as_py()
        == 9
    )


def test_versions_with_two_rows_of_a_person_are_an_error(first: Path) -> None:
    twice = pa.table({**PEOPLE, "id": [1, 1, *PEOPLE["id"][2:]]})
    with pytest.raises(BadInput, match="names some people twice"):
        join_original([pa.table(PEOPLE), twice], [first, first], person="id")


def test_the_class_columns_have_unused_names(first: Path) -> None:
    people = pa.table({**PEOPLE, "released 1": PEOPLE["age"]})
    found = join_original(people, [first])
    assert found.columns == ("released 1_",)
    assert called(found) == TENS


def test_an_original_with_more_people_than_published_is_reported(first: Path) -> None:
    more = pa.table({name: [*values, values[0]] for name, values in PEOPLE.items()})
    assert join_original(more, [first]).lookups[0].too_many == 1
    assert join_original(pa.table(PEOPLE).slice(1), [first]).lookups[0].unfound == 1


# --- upper bounds ---------------------------------------------------------------------------------


def bounded(found: Any) -> bool:
    """True if the output states an upper bound; it states or denies the bound, never both."""
    claimed, denied = (any(text in note for note in found.notes) for text in SAID)
    assert claimed != denied
    assert found.settings["upper_bound"] == claimed
    return claimed


SAID = ("so this is an upper bound", "this is no upper bound")


def test_the_mapping_gives_an_upper_bound(first: Path) -> None:
    found = dv.compose([first], truth=pa.table(PEOPLE))
    assert found.releases[0].found is not None
    assert found.releases[0].found.exact
    assert bounded(found)


def test_one_placement_of_several_is_no_bound() -> None:
    """Two people with flu are 30. Either of them may be in the group with 41."""
    truth = pa.table(
        {
            "age": [30, 30, 41, 42],
            "sex": ["f", "m", "f", "m"],
            "disease": ["flu", "flu", "cold", "hiv"],
        }
    )
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


def test_versions_matched_without_a_person_column_are_no_bound(first: Path) -> None:
    people = pa.table(PEOPLE)
    assert bounded(dv.compose([first, first], truth=[people, people.slice(0)], person="id"))
    assert not bounded(dv.compose([first, first], truth=[people, people.slice(0)]))


def test_people_dropped_for_a_null_are_not_in_excess(tmp_path: Path) -> None:
    people = pa.table({**PEOPLE, "disease": [None, *PEOPLE["disease"][1:]]})
    adversary = dv.Adversary(nulls="drop")
    release = dv.generalize(
        people,
        policy={"k_anonymity": 2},
        hierarchies={"age": {"intervals": [10, 20]}},
        **ROLES,
        adversary=adversary,
    )
    found = join_original(people, [release.write(tmp_path / "release")])
    assert found.lookups[0].exact
    assert called(found)[1] == [None]


def test_a_column_of_another_type_in_a_version_of_the_original_is_an_error() -> None:
    """The number 7 and the text 7 are other people; joined, they would be one."""
    release = pa.table({"q": ["1", "1"], "s": ["x", "y"]})
    numbers = pa.table({"id": [7, 8], "q": ["1", "1"], "s": ["x", "y"]})
    words = numbers.set_column(0, "id", [["7", "8"]])
    with pytest.raises(BadInput, match=r"the column 'id' is .* Give all versions of the truth the"):
        dv.compose(
            [release, release],
            truth=[numbers, words],
            person="id",
            quasi_identifiers="q",
            sensitive="s",
        )


def test_an_original_without_a_column_of_a_release_is_an_error() -> None:
    first = pa.table({"q": ["1", "1"], "s": ["x", "y"]})
    second = pa.table({"q": ["1", "1"], "r": ["2", "2"], "s": ["x", "y"]})
    message = "lacks the column 'r', by which people are found in release 2. The truth is the"
    with pytest.raises(BadInput, match=message):
        dv.compose([first, second], truth=first, quasi_identifiers=["q", "r"], sensitive="s")
