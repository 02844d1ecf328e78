# SPDX-License-Identifier: Apache-2.0
"""Requirements on joint classes with prior releases: measure, check, tradeoff and generalize.

Eight people by hand. The first release publishes the zip, the second would publish the age:

    zip  a  a  a  a   b  b  b  b        age 1 and 2 become "1-2", 3 and 4 "3-4", all become "*"
    age  1  1  2  3   2  3  3  4

By itself the second release meets k = 2 on level 1: four people each. Together with the first, (b,
1-2) and (a, 3-4) have one person each.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge import releases
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput, Infeasible
from divulge.releases import private_place
from tests.helpers import run_cli, verdict_of

Engine = DuckDBEngine | SparkEngine
PEOPLE = pa.table(
    {
        "zip": [*"aaaabbbb"],
        "age": [1, 1, 2, 3, 2, 3, 3, 4],
        "disease": ["flu", "cold", "flu", "cold", "flu", "cold", "flu", "cold"],
    }
)
SOME_OUT = PEOPLE.set_column(0, "zip", pa.array([*"aaacbbbc"])).set_column(
    1, "age", pa.array([1, 1, 2, 3, 3, 3, 4, 2])
)
AGE = {"rows": {str(age): ["1-2" if age < 3 else "3-4", "*"] for age in (1, 2, 3, 4)}}
K2 = {"k_anonymity": 2}


def publish_zip(folder: Path, table: pa.Table = PEOPLE, engine: Engine | None = None) -> Path:
    """The first release: every zip unchanged."""
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease", "leave_out": "age"}
    levels = {"zip": {"suppress": True}}
    return dv.generalize(table, policy=K2, **roles, hierarchies=levels, engine=engine).write(folder)


def decide(table: Any = PEOPLE, *, released: Any = None, **more: Any) -> Any:
    """The second release: ages."""
    asked: dict[str, Any] = {
        "policy": K2,
        "quasi_identifiers": "age",
        "sensitive": "disease",
        "leave_out": "zip",
        "hierarchies": {"age": AGE},
        "adversary": None if released is None else dv.Adversary(released=released),
    }
    return dv.generalize(table, **(asked | more))


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return publish_zip(tmp_path / "first")


def test_the_lowest_level_that_meets_the_requirement_with_a_prior_release(
    engine: Engine, tmp_path: Path
) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    table = dv.read(tmp_path / "people.parquet", engine=engine)
    first = publish_zip(tmp_path / "first", table)
    assert decide(table).plan.levels == {"age": 1}
    release = decide(table, released=first)
    assert release.plan.levels == {"age": 2}
    assert (release.after["k_anonymity"].value, release.plan.classes) == (4, 1)
    folder = release.write(tmp_path / "second")
    told = json.loads((private_place(folder) / "manifest.json").read_text())
    assert told["after"]["identity"]["k_anonymity"] == 4
    assert told["after"]["settings"]["released"][0]["release"] == str(first)


def publish_without_c(folder: Path, table: Any) -> Path:
    """The first release of SOME_OUT suppresses the two people with zip c."""
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease", "leave_out": "age"}
    levels, policy = {"zip": {"suppress": True}}, {"k_anonymity": 3, "suppression": 0.25}
    return dv.generalize(table, policy=policy, **roles, hierarchies=levels).write(folder)


def test_people_in_no_prior_release_may_be_suppressed(engine: Engine, tmp_path: Path) -> None:
    """On level 1 the two people with zip c are unique.

    Suppressing them costs half of level 2, and discloses nothing about them.
    """
    pq.write_table(SOME_OUT, tmp_path / "people.parquet")
    table = dv.read(tmp_path / "people.parquet", engine=engine)
    first = publish_without_c(tmp_path / "first", table)
    release = decide(table, released=[first], suppression=0.25)
    assert (release.plan.levels, release.plan.suppressed, release.plan.classes) == (
        {"age": 1},
        2,
        2,
    )
    assert release.plan.value == pytest.approx(0.5)
    folder = release.write(tmp_path / "second")
    rows = pq.read_table(folder / "table.parquet").to_pylist()
    assert Counter(row["age"] for row in rows) == {"1-2": 3, "3-4": 3}
    assert set(rows[0]) == {"age", "disease"}


def test_people_in_a_prior_release_are_not_suppressed_singly(
    engine: Engine, tmp_path: Path
) -> None:
    """On level 1 two people would be suppressed, one of each zip.

    An adversary subtracts the three published people of zip a from the four with zip a. The fourth
    and their disease remain.
    """
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    table = dv.read(tmp_path / "people.parquet", engine=engine)
    first = publish_zip(tmp_path / "first", table)
    assert decide(table, released=[first], suppression=0.25).plan.levels == {"age": 2}


def test_suppressed_people_of_a_prior_release_are_checked_too(first: Path, tmp_path: Path) -> None:
    """One person of zip a is not in the second release, and is derived from their absence."""
    roles: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease", "leave_out": "zip"}
    people = PEOPLE.set_column(1, "age", pa.array([1, 1, 1, 4, 1, 1, 1, 1]))
    levels = {"age": {"suppress": True}}
    policy = {"k_anonymity": 2, "suppression": 0.2}
    second = dv.generalize(people, policy=policy, **roles, hierarchies=levels).write(
        tmp_path / "second"
    )
    assert dv.check(second, policy=K2).holds
    verdict = verdict_of(
        second, policy=K2, adversary=dv.Adversary(original=people, released=[first])
    )
    assert not verdict.holds
    assert verdict.measurement["uniques"].value == 1


def test_text_and_settings_name_prior_releases_and_the_bound(first: Path) -> None:
    release = decide(released=first)
    (told,) = release.settings["released"]
    assert (told["release"], told["people"], told["classes"]) == (str(first), 8, 2)
    text = " ".join(str(release).split())
    assert "judged together with 1 release that is out already" in text
    assert "upper bound" in text
    assert "people are in 2 joint classes" in text
    assert "released" not in decide().settings


def test_no_bound_is_stated_if_another_placement_is_possible() -> None:
    """Either of two people of zip a may be in the group with zip c. Both have flu."""
    people = PEOPLE.set_column(0, "zip", [[*"aabbcbbc"]]).set_column(
        2, "disease", [["flu"] * 2 + ["cold"] * 6]
    )
    groups = [
        pa.table({"GID": [1, 1, 1, 1, 2, 2, 2, 2], "zip": [*"acbb"] * 2}),
        pa.table({"GID": [1, 1, 1, 1, 2, 2, 2, 2], "disease": ["flu", "cold", "cold", "cold"] * 2}),
    ]
    asked: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease"}
    found = dv.measure(people, **asked, adversary=dv.Adversary(released=[groups]))
    assert found.settings["released"][0]["found_by"]["several"] == 8
    assert found.settings["released"][0]["certain"] is False
    text = " ".join(str(found).split())
    assert "this is no upper bound" in text
    assert "so this is an upper bound" not in text
    reason = "not known for certain in which classes .* several classes of release 1 fit 8 people"
    with pytest.raises(BadInput, match=reason):
        decide(people, released=[groups])
    with pytest.raises(BadInput, match=reason):
        dv.check(
            people, {"uniques": 8}, **asked, plain="zip", adversary=dv.Adversary(released=[groups])
        )
    alone = dv.check(
        people, {"k_anonymity": 8}, **asked, plain="zip", adversary=dv.Adversary(released=[groups])
    )
    assert not alone.holds


def test_no_release_is_feasible_if_a_prior_release_violates_the_requirement(first: Path) -> None:
    """Four people have each zip, whatever is published about their age.

    For k = 5 all of them would have to be suppressed.
    """
    with pytest.raises(Infeasible) as raised:
        decide(released=first, policy={"k_anonymity": 5})
    error = raised.value
    assert error.exit_code == 3
    told = error.document()["infeasible"]
    assert told["already"] == ({"promise": "k_anonymity >= 5", "value": 4.0, "people": 8},)
    assert told["nearest"][0]["bound"] == 4
    assert "what is out already breaks k_anonymity >= 5 by itself" in str(error)


def test_boxes_are_cut_only_if_both_parts_meet_the_requirement(first: Path, tmp_path: Path) -> None:
    for method in ("mondrian", "relaxed-mondrian"):
        alone = decide(method=method, hierarchies=None)
        together = decide(method=method, hierarchies=None, released=first)
        assert alone.plan.classes > 1
        assert (together.plan.classes, together.after["k_anonymity"].value) == (1, 4)
        folder = together.write(tmp_path / method)
        assert dv.check(folder, adversary=dv.Adversary(original=PEOPLE, released=first)).holds


def test_each_column_as_it_is_or_not_at_all(first: Path) -> None:
    assert decide(method="columns", hierarchies=None, released=first).plan.levels == {"age": 1}


def test_a_tradeoff_measures_the_joint_classes(first: Path) -> None:
    """Size of the smallest joint class by level: 1 (b, age 2), 1 (b, 1-2) and 4."""
    asked: dict[str, Any] = {
        "quasi_identifiers": "age",
        "sensitive": "disease",
        "hierarchies": {"age": AGE},
    }
    found = dv.tradeoff(PEOPLE, "k_anonymity", **asked, adversary=dv.Adversary(released=first))
    assert {point.levels["age"]: point.leakage for point in found.points} == {0: 1, 1: 1, 2: 4}
    assert "released" in found.settings


def test_every_level_against_a_count_by_hand(tmp_path: Path) -> None:
    """Three releases of 600 people.

    The result is the lowest level whose joint classes, counted from the rows, have five people.
    """
    draw = random.Random(7)  # noqa: S311
    people = pa.table(
        {
            "zip": [draw.choice("abcd") + draw.choice("12") for _ in range(600)],
            "age": [draw.randrange(80) for _ in range(600)],
            "job": [draw.choice("xyz") for _ in range(600)],
            "disease": [draw.choice(["flu", "cold", "hiv"]) for _ in range(600)],
        }
    )
    common: dict[str, Any] = {"sensitive": "disease", "policy": {"k_anonymity": 5}}
    zips, jobs, ages = (
        {"zip": {"prefix": [1]}},
        {"job": {"suppress": True}},
        {"age": {"intervals": [5, 10, 20, 40]}},
    )
    one = dv.generalize(
        people, quasi_identifiers="zip", leave_out=["age", "job"], hierarchies=zips, **common
    )
    two = dv.generalize(
        people, quasi_identifiers="job", leave_out=["age", "zip"], hierarchies=jobs, **common
    )
    out = [one.write(tmp_path / "one"), two.write(tmp_path / "two")]
    asked = common | {"quasi_identifiers": "age", "leave_out": ["zip", "job"], "hierarchies": ages}
    found = dv.generalize(people, **asked, adversary=dv.Adversary(released=out))

    def smallest(width: int | None) -> int:
        """Smallest joint class; the first two releases publish zip and job unchanged."""
        assert (one.plan.levels, two.plan.levels) == ({"zip": 0}, {"job": 0})
        rows = people.to_pylist()
        return min(
            Counter(
                (row["zip"], row["job"], width and row["age"] // width) for row in rows
            ).values()
        )

    keeps = [smallest(width) >= 5 for width in (1, 5, 10, 20, 40, None)]
    assert found.plan.levels == {"age": keeps.index(True)}
    assert found.after["k_anonymity"].value == smallest((1, 5, 10, 20, 40, None)[keeps.index(True)])


def test_prior_releases_of_any_kind(tmp_path: Path) -> None:
    """A third-party table; groups are measured only, because several fit each person."""
    theirs = tmp_path / "theirs.csv"
    pc.write_csv(PEOPLE.select(["zip", "disease"]), theirs)
    assert decide(released=theirs).plan.levels == {"age": 2}
    assert decide(released=PEOPLE.select(["zip", "disease"])).plan.levels == {"age": 2}
    roles: dict[str, Any] = {"sensitive": "disease", "quasi_identifiers": "zip", "leave_out": "age"}
    groups = dv.anatomize(PEOPLE, **roles, beta="1/2", tables=1, seed=1).write(tmp_path / "groups")
    with pytest.raises(BadInput, match=r"several classes of .*groups fit 8 people"):
        decide(released=groups)
    held = dv.measure(
        PEOPLE,
        quasi_identifiers="age",
        sensitive="disease",
        adversary=dv.Adversary(released=groups),
    )
    assert held.settings["released"][0]["kind"] == "anatomized"


# --- check ----------------------------------------------------------------------------------------


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """The second release, made without regard to the first."""
    folder: Path = decide().write(tmp_path / "careless")
    return folder


def test_two_releases_that_meet_requirements_violate_them_together(
    engine: Engine, tmp_path: Path
) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    table = dv.read(tmp_path / "people.parquet", engine=engine)
    first, second = publish_zip(tmp_path / "first", table), decide(table).write(tmp_path / "second")
    assert dv.check(second, engine=engine).holds
    her = dv.Adversary(original=table, released=first)
    verdict = dv.check(second, adversary=her, engine=engine)
    (outcome,) = verdict.outcomes
    assert (verdict.holds, outcome.value, outcome.breaking_classes, outcome.shown_by) == (
        False,
        1,
        2,
        "publisher",
    )
    assert sorted(item.size for item in outcome.sample) == [1, 1]
    good = decide(table, released=first).write(tmp_path / "good")
    assert dv.check(good, adversary=her, engine=engine).holds


def test_a_table_to_be_published_unchanged(first: Path) -> None:
    her = dv.Adversary(released=first)
    verdict = dv.check(
        PEOPLE.select(["zip", "disease"]),
        K2,
        quasi_identifiers="zip",
        sensitive="disease",
        adversary=her,
    )
    assert verdict.holds
    measured = dv.measure(PEOPLE, quasi_identifiers="age", sensitive="disease", adversary=her)
    assert measured["k_anonymity"].value == 1
    assert measured["classes"].value == 6  # a1 a2 a3 b2 b3 b4
    assert measured.settings["quasi_identifiers"] == ["age"]


def test_suppressed_people_of_a_class_are_found_or_the_check_fails(tmp_path: Path) -> None:
    first, second = (
        publish_without_c(tmp_path / "first", SOME_OUT),
        decide(SOME_OUT).write(tmp_path / "second"),
    )
    folder = decide(SOME_OUT, released=first, suppression=0.25).write(tmp_path / "beside")
    measured = dv.measure(folder, adversary=dv.Adversary(original=SOME_OUT, released=first))
    # Those with zip c were suppressed, because they are not in the first release. Its private part
    # records this.
    assert measured.people == 6
    assert not any("are counted in classes of" in note for note in measured.notes)
    # With another release it is unknown because of whose class they were suppressed. By the mapping
    # they would seem to be in it.
    with pytest.raises(
        BadInput,
        match=r"2 people of .* cannot be located in .*judged together with another release",
    ):
        dv.measure(folder, adversary=dv.Adversary(original=SOME_OUT, released=second))


def test_an_internal_report_lists_prior_releases(tmp_path: Path) -> None:
    first = publish_zip(tmp_path / "zips-of-2024")
    release = decide(released=first)
    folder = release.write(tmp_path / "ages")
    for about in (release, folder):
        page = dv.report(about).html()
        assert "Beside what is out already" in page
        assert "zips-of-2024" in page
    assert "The numbers on this page are those of the release alone" in dv.report(folder).html()
    assert "zips-of-2024" not in (public := dv.report(folder, audience="public").html())
    assert "out already" not in public
    groups: dict[str, Any] = {
        "sensitive": "disease",
        "quasi_identifiers": "age",
        "leave_out": "zip",
        "tables": 1,
    }
    anatomized = dv.anatomize(
        PEOPLE, **groups, beta="1/2", seed=1, adversary=dv.Adversary(released=first)
    )
    assert "zips-of-2024" in dv.report(anatomized).html()


def test_joint_classes_need_the_original(first: Path, second: Path) -> None:
    with pytest.raises(BadInput, match="the original alone says"):
        dv.check(second, adversary=dv.Adversary(released=first))


# --- errors ---------------------------------------------------------------------------------------


def test_a_prior_release_of_other_people_is_an_error(first: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no file"):
        decide(released=tmp_path / "nowhere")
    others = PEOPLE.set_column(0, "zip", [[*"ccccdddd"]])
    strangers = publish_zip(tmp_path / "strangers", others)
    with pytest.raises(BadInput, match="nobody in"):
        decide(released=strangers)
    for wrong in ([], 3, [None]):
        with pytest.raises(BadInput, match="released"):
            dv.Adversary(released=wrong)
    with pytest.raises(BadInput, match="population"):
        decide(adversary=dv.Adversary(released=first, population=PEOPLE))


def test_prior_releases_without_effect_are_an_error(first: Path) -> None:
    her = dv.Adversary(released=first)
    with pytest.raises(BadInput, match="released= of the adversary has no effect"):
        dv.rank(PEOPLE, quasi_identifiers="age", sensitive="disease", adversary=her)
    with pytest.raises(BadInput, match="released= of the adversary has no effect"):
        dv.cut(PEOPLE, "age", about="disease", policy=K2, adversary=her)


# --- publication and texts ------------------------------------------------------------------------


def test_the_public_part_names_no_other_release(first: Path, tmp_path: Path) -> None:
    folder = decide(released=first).write(tmp_path / "second")
    public = (folder / "manifest.json").read_text()
    assert "first" not in public
    assert "released" not in public
    assert "joint classes" not in public
    by_itself = decide(hierarchies={"age": {"suppress": True}}, policy={"k_anonymity": 5}).write(
        tmp_path / "third"
    )
    assert json.loads(public).keys() == json.loads((by_itself / "manifest.json").read_text()).keys()


def test_staged_files_are_checked_with_prior_releases_again(first: Path, tmp_path: Path) -> None:
    """A plan that was changed to level 1 meets its requirement by itself.

    Together with the first release it does not, and nothing is published.
    """
    careless, careful = decide(), decide(released=first)
    age = careless.plan.recoding
    raw = [str(key) for key in careful.original.people.key_column(0).to_pylist()]
    codes = [age.labels[0].index("1-2" if value in "12" else "3-4") for value in raw]
    recoding = replace(
        careful.plan.recoding, labels=age.labels, codes=(pa.array(codes).to_numpy(),)
    )
    plan = replace(careful.plan, recoding=recoding)
    expected = releases.Fingerprint.of(careful.engine, f"({careful.original.recoded(recoding)})")
    with pytest.raises(releases.Unverified, match="breaks what was promised"):
        replace(careful, plan=plan, expected=expected).write(tmp_path / "changed")
    assert not (tmp_path / "changed").exists()


def test_the_policy_file_names_prior_releases(first: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    assert first.parent == policy.parent
    policy.write_text('k_anonymity = 2\n[adversary]\nreleased = ["first"]\n')
    assert decide(policy=policy).plan.levels == {"age": 2}
    policy.write_text('k_anonymity = 2\n[adversary]\nreleased = "first"\n')
    assert decide(policy=policy).plan.levels == {"age": 2}


def test_the_commands(first: Path, second: Path, tmp_path: Path) -> None:
    table = str(tmp_path / "people.csv")
    pc.write_csv(PEOPLE, table)
    roles = (
        "--qi",
        "age",
        "--sensitive",
        "disease",
        "--leave-out",
        "zip",
        "--hierarchy",
        'age={"suppress" = true}',
    )
    out = str(tmp_path / "new")
    made = run_cli(
        "generalize",
        table,
        *roles,
        "--k-anonymity",
        "2",
        "--released",
        str(first),
        "--out",
        out,
        "--json",
    )
    assert made.code == 0, made.err
    assert made.json()["levels"] == {"age": 1}
    told = ("--original", table, "--released", str(first))
    assert run_cli("check", str(second), *told).code == 1
    assert run_cli("check", out, *told).code == 0
    none = run_cli(
        "generalize", table, *roles, "--k-anonymity", "5", "--released", str(first), "--json"
    )
    assert none.code == 3
    assert none.json()["infeasible"]["already"][0]["people"] == 8
    assert (
        run_cli(
            "generalize", table, *roles, "--k-anonymity", "2", "--released", str(tmp_path / "no")
        ).code
        == 2
    )
