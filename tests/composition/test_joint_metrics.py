# SPDX-License-Identifier: Apache-2.0
"""Joint metrics of releases against counts by hand and in plain Python; m-invariance; dossiers."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import BadInput
from tests.helpers import run_cli

TRUTH = pa.table(
    {
        "id": [1, 2, 3, 4],
        "age": [21, 28, 31, 39],
        "sex": ["f", "m", "f", "m"],
        "disease": ["flu", "cold", "cold", "flu"],
    }
)
BY_AGE = pa.table(
    {
        "age": ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"],
        "disease": ["flu", "cold", "cold", "flu"],
    }
)
BY_SEX = pa.table({"sex": ["f", "m", "f", "m"], "disease": ["flu", "cold", "cold", "flu"]})


def test_four_people_become_unique(engine: Any) -> None:
    """Age splits four people into two pairs, sex splits them into other pairs, both isolate each.

    So their diseases are known: 1 bit.
    """
    truth = dv.read(TRUTH, engine=engine)
    found = dv.compose([BY_AGE, BY_SEX], truth=truth, sensitive="disease", person="id", sample=1)
    assert found.together is not None
    assert (found.together.smallest, found.together.below, found.together.became_alone) == (2, 4, 4)
    assert found.together.named[0]["person"] == 1
    assert found.together.named[0]["classes"] == {
        "release 1": {"age": "[20, 30)"},
        "release 2": {"sex": "f"},
    }
    told = found.to_dict()["releases"][1]
    assert told["alone"]["identity"]["k_anonymity"] == 2
    assert told["so_far"]["identity"]["k_anonymity"] == 1
    assert told["adds"]["bits"]["disease"] == pytest.approx(1.0)
    assert told["adds"]["identity"]["k_anonymity"] == -1


def test_a_composition_records_the_settings_of_its_measurement() -> None:
    composition = dv.compose([BY_AGE, BY_SEX], truth=TRUTH, sensitive="disease", person="id")
    last_release = composition.releases[-1].so_far
    assert last_release is not None
    assert {**last_release.settings, **composition.settings} == composition.settings
    assert composition.settings["prior_weights"] == {}
    assert composition.settings["log_base"] == 2
    assert composition.settings["person"] == "id"


def test_examples_of_a_table_whose_columns_have_names_of_the_query() -> None:
    names = ["n", "c0", "c1", "a0", "a1", "c", "r", "j", "s0", "person", "id"]
    truth = TRUTH
    for name in names:
        if name not in truth.column_names:
            truth = truth.append_column(name, pa.array([7] * truth.num_rows))
    composition = dv.compose(
        [BY_AGE, BY_SEX], truth=truth, sensitive="disease", person="id", sample=4
    )
    assert composition.together is not None
    assert [example["person"] for example in composition.together.named] == [1, 2, 3, 4]


def random_people(rows: int, seed: int) -> dict[str, list[Any]]:
    """People drawn at random."""
    draw = random.Random(seed)  # noqa: S311 - people are invented
    return {
        "id": list(range(rows)),
        "age": [draw.randrange(20, 60) for _ in range(rows)],
        "zip": [str(4700 + draw.randrange(100)) for _ in range(rows)],
        "disease": [draw.choice(("flu", "cold", "hiv")) for _ in range(rows)],
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_joint_classes_are_those_that_plain_python_counts(seed: int) -> None:
    people = random_people(80, seed)
    tens = [f"[{age // 10 * 10}, {age // 10 * 10 + 10})" for age in people["age"]]
    fifteens = [f"[{age // 15 * 15}, {age // 15 * 15 + 15})" for age in people["age"]]
    masked = [code[:3] + "*" for code in people["zip"]]
    first = pa.table({"age": tens, "disease": people["disease"]})
    second = pa.table({"age": fifteens, "zip": masked, "disease": people["disease"]})
    found = dv.compose([first, second], truth=pa.table(people), sensitive="disease", person="id")
    joint = Counter(zip(tens, fifteens, masked, strict=True))
    alone = Counter(tens), Counter(zip(fifteens, masked, strict=True))
    smallest = min(*alone[0].values(), *alone[1].values())
    assert found.together is not None
    assert found.together.smallest == smallest
    assert found.together.below == sum(n for n in joint.values() if n < smallest)
    became = [
        key
        for key, n in joint.items()
        if n == 1 and alone[0][key[0]] > 1 and alone[1][key[1], key[2]] > 1
    ]
    assert found.together.became_alone == len(became)
    assert found.measurement is not None
    assert found.measurement["k_anonymity"].value == min(joint.values())
    assert found.measurement["classes"].value == len(joint)


def versions() -> tuple[list[pa.Table], list[pa.Table]]:
    """Releases like Table I of Xiao and Tao: 4 leaves, 5 joins and takes the value that 4 had."""
    then = {"id": [1, 2, 3, 4], "age": [21, 28, 31, 39], "disease": ["flu", "cold", "cold", "flu"]}
    now = {"id": [1, 2, 3, 5], "age": [21, 28, 31, 38], "disease": ["flu", "cold", "cold", "flu"]}
    tens = ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"]
    return [pa.table(then), pa.table(now)], [
        pa.table({"age": tens, "disease": t["disease"]}) for t in (then, now)
    ]


def test_releases_that_keep_the_signatures_are_m_invariant(engine: Any) -> None:
    truths, releases = versions()
    tied = [dv.read(table, engine=engine) for table in truths]
    found = dv.compose(releases, truth=tied, person="id", sensitive="disease")
    (told,) = found.invariance
    assert (told.m, told.unique, told.changed, told.followed) == (2, (2, 2), 0, 3)
    assert found.together is not None
    assert (found.together.people, found.together.became_alone) == (5, 3)


def test_a_signature_that_changes_breaks_m_invariance() -> None:
    truths, (first, _) = versions()
    second = pa.table(
        {"age": ["[20, 30)"] * 2 + ["[30, 40)"] * 2, "disease": ["flu", "cold", "cold", "hiv"]}
    )
    truths[1] = truths[1].set_column(2, "disease", pa.array(["flu", "cold", "cold", "hiv"]))
    (told,) = dv.compose([first, second], truth=truths, person="id", sensitive="disease").invariance
    assert (told.m, told.changed, told.followed) == (0, 1, 3)


def test_a_class_with_a_value_twice_is_not_m_unique() -> None:
    twice = pa.table({"age": ["[20, 40)"] * 4, "disease": ["flu", "cold", "cold", "flu"]})
    (told,) = dv.compose([BY_AGE, twice], truth=TRUTH, person="id", sensitive="disease").invariance
    assert (told.m, told.unique, told.distinct, told.changed) == (0, (2, 0), (2, 2), 0)


def test_a_person_missing_from_one_release_is_unique() -> None:
    """All people but 1 are in the second release.

    1 is unique in the joint classes, and not unique in the first release.
    """
    first = pa.table({"age": ["[20, 40)"] * 4, "disease": TRUTH["disease"]})
    second = pa.table({"age": ["[22, 40)"] * 3, "disease": ["cold", "cold", "flu"]})
    found = dv.compose([first, second], truth=TRUTH, person="id", sensitive="disease", sample=4)
    assert found.together is not None
    assert [one["person"] for one in found.together.named] == [1]
    assert found.together.named[0]["classes"]["release 2"] is None


def test_a_retracted_release_is_composed(tmp_path: Path) -> None:
    """A folder that was moved because the release was retracted is composed like any other."""
    roles: dict[str, Any] = {"sensitive": "disease", "identifier": "id"}
    release = dv.generalize(
        TRUTH, policy={"k_anonymity": 2}, quasi_identifiers=["age"], leave_out="sex", **roles
    )
    folder = Path(release.write(tmp_path / "first"))
    folder.rename(tmp_path / "retracted")
    folder.with_name("first.private").rename(tmp_path / "retracted.private")
    found = dv.compose([tmp_path / "retracted", BY_SEX], truth=TRUTH, sensitive="disease")
    assert found.releases[0].kind == "generalized"
    assert found.releases[0].found is not None
    assert found.releases[0].found.how == "mapping"


def test_a_column_published_unchanged_in_one_release_and_generalized_in_another(
    tmp_path: Path,
) -> None:
    """Sex is insensitive in the first release and a quasi-identifier in the second.

    An adversary who knows it can use it in both.
    """
    roles: dict[str, Any] = {"sensitive": "disease", "identifier": "id", "plain": "sex"}
    release = dv.generalize(TRUTH, policy={"k_anonymity": 4}, quasi_identifiers=["age"], **roles)
    first = release.write(tmp_path / "first")
    alone = dv.compose([first], truth=TRUTH).releases[0].alone
    beside = dv.compose([first], truth=TRUTH, quasi_identifiers=["age", "sex"]).releases[0].alone
    assert alone is not None
    assert beside is not None
    assert (alone["k_anonymity"].value, beside["k_anonymity"].value) == (4, 2)


def test_dossier_of_one_person(engine: Any) -> None:
    """Person 2 has a cold.

    Each release by itself leaves 1/2 flu and 1/2 cold. Together they make the cold certain, which
    is the person's whole record.
    """
    truth = dv.read(TRUTH, engine=engine)
    found = dv.compose([BY_AGE, BY_SEX], truth=truth, sensitive="disease", person="id").person(2)
    assert [step.people for step in found.steps] == [2, 2]
    assert [step.together for step in found.steps] == [2, 1]
    half = dv.dossier.Record.of([("disease", "flu", 0.5), ("disease", "cold", 0.5)])
    expected = dv.dossier.leakage(half, dv.dossier.Record.of({"disease": "cold"})).leakage
    assert [step.alone for step in found.steps] == pytest.approx([expected, expected])
    assert [step.so_far for step in found.steps] == pytest.approx([expected, 1.0])
    with pytest.raises(BadInput, match="nobody in the truth"):
        dv.compose([BY_AGE], truth=TRUTH, sensitive="disease", person="id").person(9)


def test_the_command(tmp_path: Path) -> None:
    from pyarrow import csv

    for name, table in {"truth": TRUTH, "age": BY_AGE, "sex": BY_SEX}.items():
        csv.write_csv(table, tmp_path / f"{name}.csv")
    asked = [
        "compose",
        str(tmp_path / "age.csv"),
        str(tmp_path / "sex.csv"),
        "--sensitive",
        "disease",
    ]
    told = run_cli(*asked, "--truth", str(tmp_path / "truth.csv"), "--person", "id")
    assert told.code == 0
    assert told.out.startswith(
        "2 releases together: 4 of 4 people share all their classes with fewer than 2"
    )
    found = run_cli(*asked, "--json").json()
    assert found["together"] is None
    assert found["derived"][0]["possible"] == 4
    assert run_cli(*asked, "--sample", "2").code == 2
    assert run_cli(*asked, "--truth", str(tmp_path / "truth.csv"), "--who", "2").code == 2


def test_two_releases_that_meet_k_and_l_have_joint_uniques(tmp_path: Path) -> None:
    """20,000 patients are released by age and sex, and by age and marital status.

    Each release has k >= 10 and l >= 3, and 4 people are unique in the joint classes.
    """
    patients = dv.datasets.patients(rows=20_000)
    folders, labels = [], []
    for columns in (["age", "sex"], ["age", "marital_status"]):
        policy = {"k_anonymity": 10, "l_diversity": 3, "suppression": 0.05}
        roles: dict[str, Any] = {
            "sensitive": "diagnosis",
            "identifier": "patient_id",
            "leave_out": "*",
        }
        release = dv.generalize(patients, policy=policy, quasi_identifiers=columns, **roles)
        folders.append(release.write(tmp_path / columns[1]))
        rows = list(zip(*(patients[name].to_pylist() for name in columns), strict=True))
        sizes = Counter(rows)
        assert set(release.plan.levels.values()) == {0}
        labels.append([row if sizes[row] >= 10 else None for row in rows])
    found = dv.compose(folders, truth=patients, person="patient_id")
    pairs = Counter(pair for pair in zip(*labels, strict=True) if pair != (None, None))
    assert found.together is not None
    assert found.together.people == sum(pairs.values()) == 19_996
    assert found.together.below == sum(n for n in pairs.values() if n < 10) == 761
    assert found.together.became_alone == sum(n == 1 for n in pairs.values()) == 4


def test_a_release_checked_with_a_prior_release_has_no_joint_uniques(tmp_path: Path) -> None:
    """A person suppressed because of their class in the first release is recognized as such.

    Others with the same values are published.
    """
    patients = dv.datasets.patients(rows=400, seed=7)
    roles: dict[str, Any] = {"sensitive": "diagnosis", "identifier": "patient_id", "leave_out": "*"}
    policy = {"k_anonymity": 5, "suppression": 0.05}
    tens = {"age": {"intervals": [10, 20]}}
    first = dv.generalize(
        patients, policy=policy, quasi_identifiers=["age", "sex"], hierarchies=tens, **roles
    )
    out = first.write(tmp_path / "first")
    beside = dv.Adversary(released=[out])
    second = dv.generalize(
        patients, policy=policy, quasi_identifiers=["zip", "sex"], adversary=beside, **roles
    )
    third = second.write(tmp_path / "second")
    assert second.plan.suppressed > 0
    for order in ([out, third], [third, out], [first, second]):
        found = dv.compose(order, truth=patients)
        assert [one.found.too_many for one in found.releases if one.found is not None] == [0, 0]
        assert found.together is not None
        assert found.together.below == 0
    alone = dv.compose([third], truth=patients).releases[0].found
    assert alone is not None
    assert alone.too_many == second.plan.suppressed


# --- three releases, and people with several rows -------------------------------------------------


def test_three_releases_one_after_the_other(engine: Any) -> None:
    """Eight people, one of each kind.

    Four share a class in one release, two in two releases, and each is unique in all three.
    """
    kinds = [(a, b, c) for a in "xy" for b in "xy" for c in "xy"]
    people = pa.table(
        {name: list(column) for name, column in zip("abc", zip(*kinds, strict=True), strict=True)}
    )
    people = people.append_column(
        "disease", [["flu", "flu", "cold", "cold", "hiv", "hiv", "cough", "cough"]]
    )
    releases = [people.select([name, "disease"]) for name in "abc"]
    found = dv.compose(releases, truth=dv.read(people, engine=engine), sensitive="disease")
    so_far = [one.so_far for one in found.releases if one.so_far is not None]
    assert [one["k_anonymity"].value for one in so_far] == [4, 2, 1]
    # Release a leaves two diseases of two people each. Releases a and b leave one disease of two
    # people. Release c adds nothing about the disease, but identifies the person.
    assert [one.sensitive["disease"]["l_diversity"].value for one in so_far] == [2, 1, 1]
    added = [one["adds"]["bits"]["disease"] for one in found.to_dict()["releases"][1:]]
    assert added == pytest.approx([1.0, 0.0])
    assert found.together is not None
    assert (found.together.smallest, found.together.below, found.together.became_alone) == (4, 8, 8)
    assert len(dv.compose(releases, sensitive="disease").derived) == 3


def test_a_person_of_several_rows_is_one_person(engine: Any) -> None:
    """Ann has three rows, the others one each.

    (x, p) has three rows, all of Ann. (x, q) has only Bob, and (y, p) only Cid.
    """
    people = pa.table(
        {
            "id": ["ann", "ann", "ann", "bob", "cid", "dan", "eve"],
            "a": [*"xxxxyyy"],
            "b": [*"pppqpqq"],
            "disease": ["flu", "flu", "cold", "flu", "cold", "hiv", "flu"],
        }
    )
    releases = [people.select([name, "disease"]) for name in "ab"]
    truth = dv.read(people, engine=engine)
    rows, owners = (
        dv.compose(releases, truth=truth, sensitive="disease", person=who) for who in (None, "id")
    )
    for found, smallest, people_, below, alone in ((rows, 3, 7, 4, 2), (owners, 2, 5, 3, 3)):
        assert found.together is not None
        assert (found.together.smallest, found.together.people) == (smallest, people_)
        assert (found.together.below, found.together.became_alone) == (below, alone)
        assert found.measurement is not None
        assert found.measurement["k_anonymity"].value == 1
    assert [one.alone["k_anonymity"].value for one in owners.releases if one.alone is not None] == [
        2,
        2,
    ]
