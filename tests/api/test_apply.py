# SPDX-License-Identifier: Apache-2.0
"""apply(): later records are published like the earlier ones, or not at all."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput
from divulge.policy import Policy
from divulge.releases import GeneralizedRelease, Unverified, private_place
from tests.helpers import run_cli, verdict_of, with_adversary
from tests.releases.folders import names

ZIP = {
    "rows": {
        "11": ["1*", "*"],
        "12": ["1*", "*"],
        "13": ["1*", "*"],
        "21": ["2*", "*"],
        "22": ["2*", "*"],
    }
}
OLD = pa.table(
    {
        "name": list("abcdef"),
        "zip": ["11", "11", "12", "21", "22", "22"],
        "age": [30, 30, 30, 40, 40, 40],
        "disease": ["flu", "cold", "flu", "flu", "cold", "cold"],
    }
)


def decide(**more: Any) -> GeneralizedRelease:
    asked: dict[str, Any] = {
        "policy": Policy(k_anonymity=3),
        "quasi_identifiers": ("zip", "age"),
        "sensitive": "disease",
        "identifier": "name",
        "hierarchies": {"zip": ZIP, "age": {"rows": {"30": ["*"], "40": ["*"], "50": ["*"]}}},
    }
    release: GeneralizedRelease = dv.generalize(
        more.pop("table", OLD), **with_adversary(asked | more)
    )
    return release


def later(**columns: list[Any]) -> pa.Table:
    """New rows; by default two that fit."""
    given: dict[str, list[Any]] = {
        "name": ["x", "y"],
        "zip": ["13", "21"],
        "age": [30, 40],
        "disease": ["flu", "cold"],
    }
    return pa.table(given | columns)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    decided = decide()
    assert decided.plan.levels == {"zip": 1, "age": 0}
    return decided.write(tmp_path / "release")


def rows(folder: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row.values()) for row in pq.read_table(folder / "table.parquet").to_pylist()
    )


def test_rows_get_the_labels_of_the_release(release: Path, tmp_path: Path) -> None:
    """13 did not occur in the old records, but the hierarchy covers it."""
    applied = dv.apply(release, later(), tmp_path / "out", accept_incremental_risk=True)
    assert rows(applied.folder) == {("1*", 30, "flu"): 1, ("2*", 40, "cold"): 1}
    assert (applied.rows, applied.suppressed, applied.deferred, applied.published) == (2, 0, 0, 2)
    assert pq.read_schema(applied.folder / "table.parquet").names == ["zip", "age", "disease"]
    assert pq.read_schema(applied.folder / "table.parquet").field("age").type == pa.int64()
    assert applied.together["k_anonymity"].value == 4
    assert applied.verdict.holds
    assert not applied.alone.holds  # one record per class: both are unique among the new records
    assert (applied.smallest_class, applied.unique) == (1, 2)
    manifest = json.loads((applied.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["kind"] == "applied"
    assert manifest["rows"] == 2
    assert names(applied.folder) == ["manifest.json", "table.parquet"]
    kept = ["age.csv", "earlier.parquet", "original.json", "rules.json", "types.json", "zip.csv"]
    assert names(private_place(applied.folder) / "mapping") == kept


def test_unseen_values_are_an_error_that_lists_them(release: Path, tmp_path: Path) -> None:
    table = later(zip=["99", "21"], age=[30, 77])
    with pytest.raises(BadInput, match=r"'zip': '99' \(1\); 'age': '77' \(1\)"):
        dv.apply(release, table, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unseen_values_are_suppressed_on_request(release: Path, tmp_path: Path) -> None:
    table = later(name=list("xyz"), zip=["99", "21", "11"], age=[30, 40, 30], disease=["flu"] * 3)
    applied = dv.apply(
        release,
        table,
        tmp_path / "out",
        unseen="suppress",
        suppression=0.5,
        accept_incremental_risk=True,
    )
    assert rows(applied.folder) == {("2*", 40, "flu"): 1, ("1*", 30, "flu"): 1}
    assert applied.suppressed == 1


def test_values_that_a_label_covers_are_known(tmp_path: Path) -> None:
    """No person was 100 before, and >=90 covers it.

    60 would be [60, 70), whose only member would be unique.
    """
    old = pa.table(
        {"age": [34, 35, 91, 92], "job": ["a", "b", "c", "d"], "disease": ["flu", "cold"] * 2}
    )
    rules = {"age": {"intervals": [10], "top": 90, "suppress": False}, "job": {"suppress": True}}
    made = decide(
        table=old,
        policy=Policy(k_anonymity=2),
        quasi_identifiers=("age", "job"),
        identifier=(),
        hierarchies=rules,
    )
    folder = made.write(tmp_path / "release")
    new = pa.table({"age": [100, 38], "job": ["new", "other"], "disease": ["flu", "cold"]})
    applied = dv.apply(folder, new, tmp_path / "out", accept_incremental_risk=True)
    assert rows(applied.folder) == {(">=90", "*", "flu"): 1, ("[30, 40)", "*", "cold"): 1}
    strange = new.set_column(0, "age", pa.array([60, 38]))
    alone = dv.apply(folder, strange, tmp_path / "alone", accept_incremental_risk=True)
    assert (alone.deferred, rows(alone.folder)) == (1, {("[30, 40)", "*", "cold"): 1})
    many = pa.table({"age": [60, 61], "job": ["new", "new"], "disease": ["flu", "cold"]})
    assert rows(dv.apply(folder, many, tmp_path / "many").folder) == {
        ("[60, 70)", "*", "flu"): 1,
        ("[60, 70)", "*", "cold"): 1,
    }


@pytest.mark.slow
def test_no_more_rows_than_the_policy_allows_are_suppressed(tmp_path: Path) -> None:
    """One of four new rows: the policy allows a quarter, not a fifth.

    An explicit limit takes precedence.
    """
    table = later(
        name=list("wxyz"), zip=["99", "21", "11", "11"], age=[30, 40, 30, 30], disease=["flu"] * 4
    )
    accept: dict[str, Any] = {"accept_incremental_risk": True}
    for share, allowed in ((0.25, True), (0.2, False)):
        folder = decide(policy=Policy(k_anonymity=3, suppression=share)).write(
            tmp_path / f"release{share}"
        )
        if allowed:
            assert (
                dv.apply(folder, table, tmp_path / "out", unseen="suppress", **accept).suppressed
                == 1
            )
        else:
            with pytest.raises(
                Unverified, match=r"1 of 4 new rows would be left out \(25.0%\), and 20.0% may be"
            ):
                dv.apply(folder, table, tmp_path / "none", unseen="suppress")
            assert not (tmp_path / "none").exists()
            assert (
                dv.apply(
                    folder, table, tmp_path / "more", unseen="suppress", suppression=0.3, **accept
                ).suppressed
                == 1
            )
            with pytest.raises(BadInput, match="no effect"):
                dv.apply(folder, table, tmp_path / "none", suppression=0.3)


def test_a_class_that_fails_together_is_deferred(release: Path, tmp_path: Path) -> None:
    """(1*, 50) is a class of one although its values are known; so it is with the accepted risk."""
    table = later(zip=["11", "21"], age=[50, 40])
    applied = dv.apply(release, table, tmp_path / "out", accept_incremental_risk=True)
    assert rows(applied.folder) == {("2*", 40, "cold"): 1}
    assert dict(applied.reasons) == {
        "their class fails a requirement together with the earlier records": 1
    }
    nobody = later(zip=["11", "12"], age=[50, 50])
    with pytest.raises(Unverified, match="none of 2 new records can be published") as refused:
        dv.apply(release, nobody, tmp_path / "none", accept_incremental_risk=True)
    assert "Nothing was written. Pass these records again" in str(refused.value)
    assert not (tmp_path / "none").exists()


def test_the_prior_is_that_of_all_rows_old_and_new(tmp_path: Path) -> None:
    """Old: 3 flu, 3 cold.

    New: 2 flu in class 1*. Together 5/8 have flu; class 1* has 4/5 and class 2* has 1/3.
    """
    table = later(zip=["11", "12"], age=[30, 30], disease=["flu", "flu"])
    folder = decide(policy=Policy(k_anonymity=3, t_closeness=0.3)).write(tmp_path / "release")
    together = dv.apply(folder, table, tmp_path / "out", accept_incremental_risk=True).together
    distances = together.per_class("t_closeness", "disease").tolist()
    assert dict(zip(together.contingency.key_column(0).to_pylist(), distances, strict=True)) == {
        "1*": pytest.approx(4 / 5 - 5 / 8),
        "2*": pytest.approx(5 / 8 - 1 / 3),
    }
    # The bound is violated only by the new rows, in a class without any of them. So suppressing
    # rows of that class does not help.
    strict = decide(policy=Policy(k_anonymity=3, t_closeness=0.2)).write(tmp_path / "strict")
    for accept in (False, True):
        with pytest.raises(
            Unverified,
            match=r"t_closeness <= 0.2 \(disease\) \(would be 0.2917, 1 class\)|none of 2",
        ):
            dv.apply(strict, table, tmp_path / "none", accept_incremental_risk=accept)
    with pytest.raises(
        Unverified, match="the earlier records with the distribution of all records would violate"
    ):
        dv.apply(strict, table, tmp_path / "none", accept_incremental_risk=True)


def test_columns_must_be_there_and_others_stay_behind(release: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="lacks columns of the release: 'disease'"):
        dv.apply(release, later().drop_columns(["disease"]), tmp_path / "out")
    applied = dv.apply(
        release, later(email=["x@y", "y@z"]), tmp_path / "out", accept_incremental_risk=True
    )
    assert pq.read_schema(applied.folder / "table.parquet").names == ["zip", "age", "disease"]


def test_types_are_those_of_the_release(release: Path, tmp_path: Path) -> None:
    applied = dv.apply(
        release, later(age=["30", "40"]), tmp_path / "out", accept_incremental_risk=True
    )
    assert rows(applied.folder) == {("1*", 30, "flu"): 1, ("2*", 40, "cold"): 1}
    with pytest.raises(BadInput, match="age"):
        dv.apply(release, later(age=["thirty", "40"]), tmp_path / "none")


def test_a_csv_release(tmp_path: Path) -> None:
    folder = decide().write(tmp_path / "release", format="csv")
    new = tmp_path / "new.csv"
    new.write_text("disease;age;zip\nflu;30;13\ncold;40;21\n", encoding="utf-8")
    applied = dv.apply(folder, new, tmp_path / "out", seed=1, accept_incremental_risk=True)
    assert sorted((applied.folder / "table.csv").read_text(encoding="utf-8").splitlines()) == [
        "1*,30,flu",
        "2*,40,cold",
        "zip,age,disease",
    ]


def test_nulls_follow_the_release(tmp_path: Path) -> None:
    table = pa.concat_tables(
        [
            OLD,
            pa.table(
                {"name": list("ghi"), "zip": [None] * 3, "age": [30] * 3, "disease": ["flu"] * 3},
                schema=OLD.schema,
            ),
        ]
    )
    folder = decide(table=table).write(tmp_path / "release")
    applied = dv.apply(
        folder, later(zip=[None, "21"]), tmp_path / "out", accept_incremental_risk=True
    )
    assert rows(applied.folder) == {(None, 30, "flu"): 1, ("2*", 40, "cold"): 1}


@pytest.mark.slow
def test_boxes_of_mondrian(tmp_path: Path) -> None:
    folder = decide(
        method="mondrian", hierarchies={"zip": ZIP}, policy=Policy(k_anonymity=3)
    ).write(tmp_path / "release")
    assert rows(folder) == {
        ("1*", 30, "flu"): 2,
        ("1*", 30, "cold"): 1,
        ("2*", 40, "flu"): 1,
        ("2*", 40, "cold"): 2,
    }
    applied = dv.apply(folder, later(), tmp_path / "out", accept_incremental_risk=True)
    assert rows(applied.folder) == {("1*", 30, "flu"): 1, ("2*", 40, "cold"): 1}
    outside = later(age=[35, 40])
    with pytest.raises(BadInput, match="1 combinations of values in the new rows lie in no class"):
        dv.apply(folder, outside, tmp_path / "none")
    some = dv.apply(
        folder,
        outside,
        tmp_path / "some",
        unseen="suppress",
        suppression=0.5,
        accept_incremental_risk=True,
    )
    assert some.suppressed == 1


@pytest.mark.slow
def test_requirements_that_cannot_be_checked_again_are_reported(tmp_path: Path) -> None:
    release = decide(
        policy=Policy(k_anonymity=3, t_closeness=0.99, l_diversity=2),
        taxonomies={"disease": {"flu": ["ill"], "cold": ["ill"]}},
    )
    folder = release.write(tmp_path / "release")
    applied = dv.apply(folder, later(), tmp_path / "out", accept_incremental_risk=True)
    assert str(applied).startswith("WARNING  Published 2 of 2 new records")
    assert applied.unchecked == (
        "t_closeness <= 0.99: the hierarchical distance of disease is not part of the release",
    )
    assert [outcome.promise.metric.name for outcome in applied.verdict.outcomes] == [
        "k_anonymity",
        "l_diversity",
    ]
    manifest = json.loads((applied.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["unchecked"] == list(applied.unchecked)


UNCHECKED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "population": (
        {"journalist_risk": 0.5},
        {"population": pa.concat_tables([OLD, OLD])},
        "the population table is not part of the release",
    ),
    "prior": (
        {"t_closeness": 0.9},
        {"prior": {"flu": 0.4, "cold": 0.6}},
        "the prior of disease was given and is not part of the release",
    ),
    "background": (
        {"t_closeness": 0.9},
        {"rule_out": {"disease": "cold"}},
        "the background knowledge about disease is not part of the release",
    ),
    "distance": (
        {"t_closeness": 0.9},
        {"taxonomies": {"disease": {"flu": ["ill"], "cold": ["ill"]}}},
        "the hierarchical distance of disease is not part of the release",
    ),
}
"""A requirement, an assumption that the release does not record, and the reason to expect."""


@pytest.mark.parametrize("reason", UNCHECKED)
def test_each_reason_why_a_requirement_cannot_be_checked_again(reason: str, tmp_path: Path) -> None:
    bound, adversary, text = UNCHECKED[reason]
    folder = decide(policy=Policy(k_anonymity=3, **bound), **adversary).write(tmp_path / "release")
    applied = dv.apply(folder, four(), tmp_path / "out")
    assert [item.partition(": ")[2] for item in applied.unchecked] == [text]
    assert [outcome.promise.metric.name for outcome in applied.verdict.outcomes] == ["k_anonymity"]


def test_later_rows_are_an_error_if_no_requirement_can_be_checked(tmp_path: Path) -> None:
    given = decide(policy=Policy(l_diversity=2), prior={"flu": 0.4, "cold": 0.6}).write(
        tmp_path / "given"
    )
    with pytest.raises(
        BadInput,
        match=r"no requirement of .* can be checked for new rows: l_diversity >= 2: the prior",
    ):
        dv.apply(given, later(), tmp_path / "out", accept_incremental_risk=True)
    assert not (tmp_path / "out").exists()


def test_a_changed_release_or_no_release_is_an_error(release: Path, tmp_path: Path) -> None:
    (private_place(release) / "mapping" / "zip.csv").write_text("11;11\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"mapping/zip\.csv has changed"):
        dv.apply(release, later(), tmp_path / "out")
    with pytest.raises(BadInput, match="not a release"):
        dv.apply(tmp_path, later(), tmp_path / "out")


def test_people_with_several_rows_are_an_error(tmp_path: Path) -> None:
    twice = pa.concat_tables([OLD, OLD])
    folder = decide(table=twice, identifier=(), person="name").write(tmp_path / "release")
    with pytest.raises(BadInput, match="does not say whose a row is"):
        dv.apply(folder, later(), tmp_path / "out")


def test_an_existing_folder_needs_force(release: Path, tmp_path: Path) -> None:
    dv.apply(release, later(), tmp_path / "out", accept_incremental_risk=True)
    with pytest.raises(BadInput, match="exists already"):
        dv.apply(release, later(), tmp_path / "out", accept_incremental_risk=True)
    dv.apply(
        release,
        later(disease=["flu", "flu"]),
        tmp_path / "out",
        force=True,
        accept_incremental_risk=True,
    )
    assert rows(tmp_path / "out") == {("1*", 30, "flu"): 1, ("2*", 40, "flu"): 1}


# --- values that did not occur before: every kind of rule -----------------------------------------
RULES: dict[str, tuple[dict[str, Any], list[Any], int, dict[Any, str | None]]] = {
    "intervals": (
        {"intervals": [10], "bottom": 20, "top": 90},
        [34, 35],
        1,
        {60: "[60, 70)", 7: "<20", 99: ">=90"},
    ),
    "cuts": ({"cuts": [40, 60]}, [34, 35], 1, {50: "[40, 60)", 60: ">=60", -3: "<40"}),
    "coding": ({"top": 90}, [95, 96], 1, {100: ">=90", 17: "17"}),
    "prefix": ({"prefix": True}, ["476", "471"], 1, {"479": "47*", "992": "99*", "4762": "47**"}),
    "dates": (
        {"dates": ["month", "year"]},
        ["2024-01-03", "2024-01-09"],
        1,
        {"2025-07-30": "2025-07", "soon": None},
    ),
    "order": (
        {"order": ["A", "B", "C", "D"], "groups": 2},
        ["A", "B"],
        1,
        {"D": "[C, D]", "E": None},
    ),
    "taxonomy": (
        {"taxonomy": {"red": ["ruby"], "blue": ["navy", "sky", "azure"]}},
        ["navy", "sky"],
        1,
        {"azure": "blue", "tea": None},
    ),
    "keep": ({"keep": ["a"], "rest": "other"}, ["b", "c"], 1, {"a": "a", "z": "other"}),
    "other": (
        {"rows": {"a": ["x", "*"], "b": ["x", "*"]}, "other": "else"},
        ["a", "b"],
        1,
        {"z": "else"},
    ),
    "rows": (
        {"rows": {"a": ["x", "*"], "b": ["x", "*"], "c": ["y", "*"]}},
        ["a", "b"],
        1,
        {"c": "y", "z": None},
    ),
    "suppress": ({"suppress": True}, ["a", "b"], 1, {"z": "*"}),
}
"""A rule, values of two people, the level that makes them one class, and labels of other values.

None: the rule does not cover the value.
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", RULES)
def test_a_rule_labels_values_that_did_not_occur_before(kind: str, tmp_path: Path) -> None:
    rule, old, level, expected = RULES[kind]
    given = pa.table({"x": old, "disease": ["flu", "cold"]})
    made = decide(
        table=given,
        policy=Policy(k_anonymity=2),
        quasi_identifiers="x",
        identifier=(),
        hierarchies={"x": rule},
    )
    assert made.plan.levels == {"x": level}
    folder = made.write(tmp_path / "release")
    for number, (value, label) in enumerate(expected.items()):
        new = pa.table({"x": [value] * 2, "disease": ["flu", "cold"]})
        out = tmp_path / f"out {number}"
        if label is None:
            with pytest.raises(
                BadInput, match=f"does not know values of the new rows: 'x': '{value}'"
            ):
                dv.apply(folder, new, out)
        else:
            assert set(rows(dv.apply(folder, new, out).folder)) == {(label, "flu"), (label, "cold")}


@pytest.mark.slow
def test_a_rule_determines_the_mondrian_box_of_a_value(tmp_path: Path) -> None:
    """Two boxes, 47* and 48*: 475 is in the first; 491 is in neither."""
    old = pa.table({"zip": ["476", "471", "483", "484"], "disease": ["flu", "cold"] * 2})
    asked = {
        "quasi_identifiers": "zip",
        "identifier": (),
        "hierarchies": {"zip": {"prefix": [2, 1]}},
    }
    folder = decide(table=old, policy=Policy(k_anonymity=2), method="mondrian", **asked).write(
        tmp_path / "release"
    )
    assert {row[0] for row in rows(folder)} == {"47*", "48*"}
    new = pa.table({"zip": ["475", "480"], "disease": ["flu", "flu"]})
    applied = dv.apply(folder, new, tmp_path / "out", accept_incremental_risk=True)
    assert rows(applied.folder) == {("47*", "flu"): 1, ("48*", "flu"): 1}
    again = dv.apply(applied.folder, new, tmp_path / "again", accept_incremental_risk=True)
    assert again.together["k_anonymity"].value == 4
    with pytest.raises(BadInput, match="1 combinations of values in the new rows lie in no class"):
        dv.apply(
            applied.folder,
            pa.table({"zip": ["475", "491"], "disease": ["flu", "flu"]}),
            tmp_path / "none",
        )


# --- long chains of incremental releases ----------------------------------------------------------
@pytest.mark.slow
def test_everything_published_is_checked_together(
    engine: DuckDBEngine | SparkEngine, tmp_path: Path
) -> None:
    """A table in four parts.

    After each part, k, l, the classes and the distance to all originals so far are counted by hand.
    """
    draw = random.Random(12)  # noqa: S311 - a test table
    people = [
        (
            draw.choice("1122234") + draw.choice("12345"),
            draw.choice(["flu", "flu", "cold", "cancer"]),
        )
        for _ in range(160)
    ]
    parts = [
        pa.table({"zip": [p[0] for p in part], "disease": [p[1] for p in part]})
        for part in (people[at : at + 40] for at in range(0, 160, 40))
    ]
    made = dv.generalize(
        parts[0],
        policy=Policy(k_anonymity=3, l_diversity=2, suppression=0.2),
        quasi_identifiers="zip",
        sensitive="disease",
        hierarchies={"zip": {"prefix": [1]}},
        engine=engine,
    )
    folder = made.write(tmp_path / "0")
    public = rows(folder)
    # each takes some seconds with Spark
    later_parts = parts[1:] if isinstance(engine, DuckDBEngine) else parts[1:3]
    for number, part in enumerate(later_parts, start=1):
        applied = dv.apply(
            folder, part, tmp_path / str(number), unseen="suppress", suppression=0.3, engine=engine
        )
        folder = applied.folder
        public += rows(folder)
        classes: dict[str, Counter[str]] = {}
        for zip_, disease in public.elements():
            classes.setdefault(zip_, Counter())[disease] += 1
        together = applied.together
        assert together.rows == public.total() <= 40 * (number + 1)
        alone: dict[str, Counter[str]] = {}
        for zip_, disease in rows(folder).elements():
            alone.setdefault(zip_, Counter())[disease] += 1
        assert min(map(Counter.total, alone.values())) >= 3
        assert min(map(len, alone.values())) >= 2
        assert together["k_anonymity"].value == min(map(Counter.total, classes.values())) >= 3
        assert together["l_diversity"].value == min(map(len, classes.values())) >= 2
        everybody = Counter(disease for _, disease in people[: 40 * (number + 1)])
        furthest = max(
            sum(
                abs(inside[x] / inside.total() - everybody[x] / everybody.total())
                for x in everybody
            )
            / 2
            for inside in classes.values()
        )
        assert together["t_closeness"].value == pytest.approx(furthest)
        assert applied.verdict.holds


@pytest.mark.slow
def test_deferred_records_and_requirements_are_carried_on(tmp_path: Path) -> None:
    """(1*, 50) is a class of one until two more records come.

    All published records count, and the deferred record is added once.
    """
    accept: dict[str, Any] = {"accept_incremental_risk": True}
    old = decide(policy=Policy(k_anonymity=3, suppression=0.5)).write(tmp_path / "r")
    first = dv.apply(old, later(), tmp_path / "1", **accept)
    second = dv.apply(first.folder, later(zip=["11", "21"], age=[50, 40]), tmp_path / "2", **accept)
    assert (second.deferred, second.together.rows) == (1, 6 + 2 + 1)
    two = later(zip=["11"] * 2, age=[50] * 2, disease=["flu"] * 2)
    third = dv.apply(second.folder, two, tmp_path / "3", **accept)
    assert (third.rows, third.previously_deferred, third.published, third.deferred) == (2, 1, 3, 0)
    assert (third.together.rows, third.together["k_anonymity"].value) == (12, 3)
    # requirements that could not be checked before are listed again
    taxonomy = {"disease": {"flu": ["ill"], "cold": ["ill"]}}
    given = decide(policy=Policy(k_anonymity=3, t_closeness=0.99), taxonomies=taxonomy).write(
        tmp_path / "given"
    )
    unchecked = dv.apply(given, later(), tmp_path / "g1", **accept).unchecked
    assert (
        dv.apply(tmp_path / "g1", later(), tmp_path / "g2", **accept).unchecked[:1]
        == unchecked
        != ()
    )
    # a changed file of the private part is detected
    (private_place(third.folder) / "mapping" / "earlier.parquet").write_bytes(b"other")
    with pytest.raises(BadInput, match=r"mapping/earlier\.parquet has changed"):
        dv.apply(third.folder, later(), tmp_path / "out")


def test_an_earlier_version_kept_no_mappings_with_later_rows(release: Path, tmp_path: Path) -> None:
    first = dv.apply(release, later(), tmp_path / "1", accept_incremental_risk=True)
    kept = private_place(first.folder) / "manifest.json"
    document = json.loads(kept.read_text(encoding="utf-8"))
    kept.write_text(
        json.dumps({name: document[name] for name in document if name != "after"}), encoding="utf-8"
    )
    with pytest.raises(BadInput, match="kept no mappings"):
        dv.apply(first.folder, later(), tmp_path / "out")


def test_protections_are_an_error(tmp_path: Path) -> None:
    protection = dv.Protection.make({"k_anonymity": 3}, where={"age": ">= 40"})
    folder = decide(policy=Policy(k_anonymity=3, protections=[protection])).write(
        tmp_path / "release"
    )
    with pytest.raises(BadInput, match="protects chosen people or values by promises of their own"):
        dv.apply(folder, later(), tmp_path / "out")


def test_an_anatomized_release_is_an_error(tmp_path: Path) -> None:
    table = pa.table({"age": list(range(8)), "disease": list("abcd") * 2})
    folder = dv.anatomize(table, quasi_identifiers="age", sensitive="disease", beta=0.5).write(
        tmp_path / "release"
    )
    with pytest.raises(
        BadInput, match="a release of the kind 'anatomized', which has no mappings for later rows"
    ):
        dv.apply(folder, table, tmp_path / "out")


# --- deferred records -----------------------------------------------------------------------------
def four(**columns: list[Any]) -> pa.Table:
    """Three equal records, and one that is unique among the new ones."""
    given: dict[str, list[Any]] = {
        "name": list("wxyz"),
        "zip": ["11", "12", "13", "21"],
        "age": [30, 30, 30, 40],
        "disease": ["flu", "cold", "flu", "cold"],
    }
    return pa.table(given | columns)


def test_a_record_that_is_unique_among_the_new_ones_is_deferred(
    release: Path, tmp_path: Path
) -> None:
    applied = dv.apply(release, four(), tmp_path / "out")
    assert rows(applied.folder) == {("1*", 30, "flu"): 2, ("1*", 30, "cold"): 1}
    assert (applied.published, applied.deferred, applied.smallest_class, applied.unique) == (
        3,
        1,
        3,
        0,
    )
    assert " ".join(str(applied).split()).startswith(
        f"Published 3 of 4 new records in {applied.folder}; 1 is deferred to the next batch "
        "(too few alike among the new records)."
    )
    kept = private_place(applied.folder) / "mapping" / "deferred.parquet"
    assert pq.read_table(kept).to_pylist() == [{"zip": "21", "age": 40, "disease": "cold"}]
    assert kept.stat().st_mode & 0o777 == 0o600
    public = (applied.folder / "manifest.json").read_text(encoding="utf-8")
    assert json.loads(public)["new_records"]["smallest_class"] == 3
    assert "deferred.parquet" not in public
    document = applied.to_dict()
    assert (document["published"], document["deferred"]) == (3, 1)
    assert document["deferred_because"] == [
        {"reason": "too few alike among the new records", "records": 1}
    ]


def test_the_accepted_risk_is_in_the_first_sentence_and_the_manifest(
    release: Path, tmp_path: Path
) -> None:
    applied = dv.apply(release, four(), tmp_path / "out", accept_incremental_risk=True)
    first = " ".join(str(applied).split()).partition(". ")[0]
    assert first.startswith("WARNING Published 4 of 4 new records")
    assert "accept_incremental_risk=" in first
    assert "(k = 1, 1 unique)" in first
    told = json.loads((applied.folder / "manifest.json").read_text(encoding="utf-8"))["new_records"]
    assert (told["required"], told["accept_incremental_risk"]) == (False, True)
    assert (told["smallest_class"], told["unique"]) == (1, 1)
    assert not (private_place(applied.folder) / "mapping" / "deferred.parquet").exists()


def test_check_judges_the_new_records_among_themselves(release: Path, tmp_path: Path) -> None:
    """The k is 3 among the three published records, and together with the six old ones."""
    applied = dv.apply(release, four(), tmp_path / "out")
    verdict = verdict_of(applied.folder, with_private=True)
    assert [(outcome.new_records, outcome.value) for outcome in verdict.outcomes] == [
        (False, 3),
        (True, 3),
    ]
    assert "k_anonymity >= 3 among the new records" in str(verdict)


def test_check_warns_of_an_accepted_risk(release: Path, tmp_path: Path) -> None:
    """Record z is unique among the new ones: k is 1 there, and 3 or more with the old ones."""
    applied = dv.apply(release, four(), tmp_path / "out", accept_incremental_risk=True)
    sentence = (
        "WARNING published with an accepted risk, and violated: k_anonymity >= 3 among the new "
        "records (measured 1)."
    )
    shown = run_cli("check", str(applied.folder), "--with-private")
    assert (shown.code, " ".join(shown.out.split()).startswith(sentence)) == (0, True)
    document = run_cli("check", str(applied.folder), "--with-private", "--json").json()
    assert document["accepted_risk"].startswith("published with an accepted risk")
    verdict = verdict_of(applied.folder, with_private=True)
    assert verdict.warns
    assert [outcome.value for outcome in verdict.accepted] == [1]
    report = run_cli("report", str(applied.folder), "--out", str(tmp_path / "r.html"))
    answer = " ".join(report.out.split())
    assert answer.startswith(sentence)
    assert "With all records that were published before: No record is unique" in answer


def test_deferred_records_are_published_with_the_next_batch(release: Path, tmp_path: Path) -> None:
    """A deferred record is published once two more of its class come.

    Its value counts once in the prior.
    """
    second = dv.apply(release, four(), tmp_path / "2")
    more = later(zip=["21", "22"], age=[40, 40], disease=["flu", "flu"])
    third = dv.apply(second.folder, more, tmp_path / "3")
    assert rows(third.folder) == {("2*", 40, "flu"): 2, ("2*", 40, "cold"): 1}
    assert (third.rows, third.previously_deferred, third.published, third.deferred) == (2, 1, 3, 0)
    assert "Published 3 of 3 records (2 new, 1 deferred before)" in str(third)
    kept = json.loads(
        (private_place(third.folder) / "mapping" / "original.json").read_text(encoding="utf-8")
    )
    assert sorted(kept["disease"]) == [["cold", 5.0], ["flu", 7.0]]  # 6 old, 4 and 2 new records
    assert not (private_place(third.folder) / "mapping" / "deferred.parquet").exists()


def test_more_deferred_records_than_allowed_leave_no_release(release: Path, tmp_path: Path) -> None:
    """One of four records is deferred: a quarter."""
    with pytest.raises(
        Unverified, match=r"1 of 4 records would be deferred \(25.0%\), and 24.0% may be"
    ):
        dv.apply(release, four(), tmp_path / "none", max_deferred=0.24)
    assert not (tmp_path / "none").exists()
    assert dv.apply(release, four(), tmp_path / "out", max_deferred=0.25).deferred == 1
    with pytest.raises(BadInput, match=r"max_deferred = 1\.5 is not a share"):
        dv.apply(release, four(), tmp_path / "none", max_deferred=1.5)


def test_a_class_is_deferred_for_what_it_discloses(tmp_path: Path) -> None:
    """Three new records of 1* with one disease.

    k is 3 and l is 1 among them, although l is 2 together with the old ones.
    """
    folder = decide(policy=Policy(k_anonymity=3, l_diversity=2)).write(tmp_path / "release")
    table = pa.concat_tables([four(disease=["flu"] * 4), later(zip=["21", "22"], age=[40, 40])])
    applied = dv.apply(folder, table, tmp_path / "out")
    assert rows(applied.folder) == {("2*", 40, "flu"): 2, ("2*", 40, "cold"): 1}
    assert dict(applied.reasons) == {
        "a requirement on disease fails for their class among the new records": 3
    }


def test_an_average_defers_the_smallest_classes(tmp_path: Path) -> None:
    """Marketer risk is classes divided by records.

    It is 2 / 4 among all new records, and 1 / 3 among those of the larger class.
    """
    folder = decide(policy=Policy(marketer_risk=0.34)).write(tmp_path / "release")
    applied = dv.apply(folder, four(), tmp_path / "out")
    assert rows(applied.folder) == {("1*", 30, "flu"): 2, ("1*", 30, "cold"): 1}
    assert dict(applied.reasons) == {"a requirement on the average of all classes fails": 1}


def homogeneous(classes: int, size: int, value: str, *, first: int = 0) -> pa.Table:
    """Records of classes in which all people have one disease."""
    zips = [str(first + index) for index in range(classes) for _ in range(size)]
    return pa.table({"zip": zips, "disease": [value] * len(zips)})


def test_the_deferral_attack_infers_the_common_value_of_missing_classes(tmp_path: Path) -> None:
    """Six of ten have flu. A missing class of five fails l = 2, so all five have one disease.

    It is flu with 0.6^5 / (0.6^5 + 0.4^5) = 88%. Of 25 such classes 22 have flu here, so the
    adversary is right for 88% of their records. alpha <= 0.85 allows at most 85% for a guess about
    a published record.
    """
    mixed = pa.table({"zip": ["mixed"] * 600, "disease": (["flu"] * 6 + ["cold"] * 4) * 60})
    policy = Policy(k_anonymity=5, alpha=0.85)
    made = dv.generalize(
        mixed,
        policy=policy,
        quasi_identifiers="zip",
        sensitive="disease",
        hierarchies={
            "zip": {"rows": {"mixed": ["*"], **{str(number): ["*"] for number in range(30)}}}
        },
    )
    folder = made.write(tmp_path / "release")
    assert {row[0] for row in rows(folder)} == {"mixed"}
    table = pa.concat_tables(
        [mixed, homogeneous(22, 5, "flu"), homogeneous(3, 5, "cold", first=22)]
    )
    applied = dv.apply(folder, table, tmp_path / "out")
    assert (applied.published, applied.deferred) == (600, 125)
    (attempt,) = applied.deferral_attacks
    assert (attempt.targets, attempt.guesses, attempt.successes) == (125, 125, 110)
    assert attempt.bound is not None
    assert attempt.bound.value == pytest.approx(0.85)
    assert attempt.rate.value > attempt.bound.value
    assert "guesses disease right for 88% of 125 deferred records" in " ".join(str(applied).split())
    # Too few records are no target: their absence was known before.
    few = dv.apply(folder, pa.concat_tables([mixed, homogeneous(3, 2, "flu")]), tmp_path / "few")
    assert (few.deferred, few.deferral_attacks) == (6, ())


def test_unique_records_by_all_published_columns(tmp_path: Path) -> None:
    """Each new record has a ward of its own.

    k is 3 among the new records, and all are unique with the ward.
    """
    wards = pa.concat_tables([OLD, OLD, OLD]).append_column("ward", pa.array(["a", "b"] * 9))
    asked: dict[str, Any] = {
        "table": wards,
        "quasi_identifiers": "age",
        "plain": "ward",
        "leave_out": "zip",
        "hierarchies": {},
    }
    new = four(age=[30] * 4).append_column("ward", pa.array(list("cdef")))
    free = decide(**asked).write(tmp_path / "free")
    applied = dv.apply(free, new, tmp_path / "out")
    assert applied.uniqueness is not None
    assert (applied.smallest_class, applied.uniqueness.unique, applied.uniqueness.columns) == (
        4,
        4,
        ("ward",),
    )
    assert str(applied).startswith("WARNING")
    told = json.loads((applied.folder / "manifest.json").read_text(encoding="utf-8"))
    assert (told["unique_rows"]["unique"], told["unique_rows"]["of"]) == (4, 4)
    limited = decide(**asked | {"policy": Policy(k_anonymity=3, unique_share=0.5)}).write(
        tmp_path / "limited"
    )
    with pytest.raises(Unverified, match=r"unique_share <= 0\.5 is violated among the new records"):
        dv.apply(limited, new, tmp_path / "none")
    anyway = dv.apply(limited, new, tmp_path / "anyway", accept_incremental_risk=True)
    policy = json.loads((anyway.folder / "manifest.json").read_text(encoding="utf-8"))["policy"]
    assert policy["unique_share"] == 0.5
    with pytest.raises(Unverified, match="unique_share"):
        dv.apply(anyway.folder, new, tmp_path / "none")  # the requirement is carried on


@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_a_chain_with_weights_nulls_and_two_sensitive_columns(nulls: str, tmp_path: Path) -> None:
    draw = random.Random(3)  # noqa: S311 - a test table

    def batch(size: int) -> pa.Table:
        people = [
            (
                draw.randint(20, 69),
                draw.choice([1.5, 2.0]),
                draw.choice(["a", "b", "c", None]),
                draw.choice("xyz"),
            )
            for _ in range(size)
        ]
        return pa.table(
            dict(
                zip(
                    ("age", "weight", "disease", "job"),
                    map(list, zip(*people, strict=True)),
                    strict=True,
                )
            )
        )

    made = decide(
        table=batch(200),
        quasi_identifiers="age",
        sensitive=("disease", "job"),
        weight="weight",
        identifier=(),
        nulls=nulls,
        policy=Policy(k_anonymity=4, l_diversity=2),
        hierarchies={"age": {"intervals": [10]}},
    )
    folder = made.write(tmp_path / "0")
    came = published = 0
    for number in range(1, 5):
        new = batch(20)
        came += len(new) if nulls == "category" else len(new) - new["disease"].null_count
        applied = dv.apply(folder, new, tmp_path / str(number))
        folder = applied.folder
        table = pq.read_table(folder / "table.parquet").to_pylist()
        published += len(table)
        for sensitive in ("disease", "job"):
            classes: dict[str, Counter[Any]] = {}
            for row in table:
                classes.setdefault(row["age"], Counter())[row[sensitive]] += 1
            assert min(map(Counter.total, classes.values())) >= 4
            assert min(map(len, classes.values())) >= 2
        assert published + applied.deferred == came


def test_people_are_not_passed_twice(release: Path, tmp_path: Path) -> None:
    second = dv.apply(release, four(), tmp_path / "2", person="name")
    assert pq.read_table(private_place(second.folder) / "mapping" / "deferred.parquet")[
        "name"
    ].to_pylist() == ["z"]
    assert "name" not in pq.read_schema(second.folder / "table.parquet").names
    with pytest.raises(
        BadInput, match="1 new rows belong to people whose rows were deferred before"
    ):
        dv.apply(second.folder, four(), tmp_path / "none")  # the column is remembered
    with pytest.raises(BadInput, match="4 new rows belong to 3 people"):
        dv.apply(release, four(name=list("wxyy")), tmp_path / "none", person="name")
    with pytest.raises(BadInput, match="has no column 'nam'"):
        dv.apply(release, four(), tmp_path / "none", person="nam")
    third = dv.apply(
        second.folder, four(name=list("abcd"), zip=["21"] * 4, age=[40] * 4), tmp_path / "3"
    )
    assert (third.published, third.deferred) == (5, 0)


def test_values_are_not_changed_by_a_cast(tmp_path: Path) -> None:
    """30.7 is no whole age, and the text "101" is not in the box [1, 30]."""
    old = pa.table({"age": [1, 2, 3, 100, 101, 102], "disease": ["flu", "cold"] * 3})
    asked = {"quasi_identifiers": "age", "identifier": (), "hierarchies": {}, "table": old}
    boxes = decide(method="mondrian", **asked).write(tmp_path / "boxes")
    assert {row[0] for row in rows(boxes)} == {"[1, 3]", "[100, 102]"}
    texts = pa.table({"age": ["101", "102", "100"], "disease": ["flu", "cold", "flu"]})
    assert {row[0] for row in rows(dv.apply(boxes, texts, tmp_path / "out").folder)} == {
        "[100, 102]"
    }
    whole = pa.table({"age": [30] * 3 + [40] * 3, "disease": ["flu", "cold"] * 3})
    folder = decide(**asked | {"table": whole}).write(tmp_path / "whole")
    for ages in ([30.7, 30.0, 30.0], ["30.7", "30", "30"]):
        new = pa.table({"age": ages, "disease": ["flu"] * 3})
        with pytest.raises(BadInput, match="1 values of 'age' \\(not BIGINT\\)"):
            dv.apply(folder, new, tmp_path / "none")


@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_a_chain_loses_and_repeats_nothing(
    method: Literal["full-domain", "mondrian"], tmp_path: Path
) -> None:
    """Twelve batches: each release meets the requirements by itself and with all earlier ones.

    Every record is published once or deferred.
    """
    pandas = pytest.importorskip("pandas")
    draw = random.Random(27)  # noqa: S311 - a test table
    diseases = ["flu", "flu", "cold", "cancer"]

    def batch(size: int) -> Any:
        return pandas.DataFrame(
            {
                "age": [min(int(draw.expovariate(0.05)), 99) for _ in range(size)],
                "sex": [draw.choice(["f", "m", None]) for _ in range(size)],
                "disease": [draw.choice(diseases) for _ in range(size)],
            }
        )

    first = batch(400)
    k, t = 3, 0.45
    allowed = 0.05 if method == "full-domain" else 0.0
    made = dv.generalize(
        first,
        policy=Policy(k_anonymity=k, t_closeness=t, suppression=allowed),
        quasi_identifiers=("age", "sex"),
        sensitive="disease",
        hierarchies={"age": {"intervals": [10, 20], "top": 60}},
        method=method,
    )
    folder = made.write(tmp_path / "0", format="csv")
    came = [first]
    published = [pandas.read_csv(folder / "table.csv", keep_default_na=False)]
    new_records = deferred = suppressed = 0
    for number in range(1, 13):
        came.append(batch(draw.randint(15, 60)))
        unseen: dict[str, Any] = {"unseen": "suppress", "suppression": 1}
        applied = dv.apply(folder, came[-1], tmp_path / str(number), **unseen)
        folder = applied.folder
        new_records += len(came[-1])
        suppressed += applied.suppressed
        deferred = applied.deferred
        published.append(pandas.read_csv(folder / "table.csv", keep_default_na=False))
        prior = pandas.concat(came)["disease"].value_counts(normalize=True)
        for rows_ in (published[-1], pandas.concat(published)):
            classes = rows_.groupby(["age", "sex"])["disease"]
            assert classes.size().min() >= k
            shares = classes.value_counts(normalize=True).unstack(fill_value=0)
            assert (shares.sub(prior, axis=1).abs().sum(axis=1) / 2).max() <= t + 1e-9
        assert sum(map(len, published[1:])) + deferred + suppressed == new_records
    assert deferred > 0
    # sensitive values: every record is published, deferred or (with values outside the boxes)
    # suppressed
    kept = pq.read_table(private_place(folder) / "mapping" / "deferred.parquet").to_pandas()
    out = (
        pandas.concat(published[1:])["disease"]
        .value_counts()
        .add(kept["disease"].value_counts(), fill_value=0)
    )
    total = pandas.concat(came[1:])["disease"].value_counts()
    if not suppressed:
        assert out.to_dict() == total.to_dict()
    assert (out.sub(total, fill_value=0) <= 0).all()
