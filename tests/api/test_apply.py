# SPDX-License-Identifier: Apache-2.0
"""apply(): later rows are published like the earlier ones, or not at all."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput
from divulge.policy import Policy
from divulge.publish import GeneralizedRelease, Unverified
from tests.helpers import with_adversary
from tests.publish.folders import names

ZIP = {"rows": {"11": ["1*", "*"], "12": ["1*", "*"], "13": ["1*", "*"], "21": ["2*", "*"], "22": ["2*", "*"]}}
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
    release: GeneralizedRelease = dv.generalize(more.pop("table", OLD), **with_adversary(asked | more))
    return release


def later(**columns: list[Any]) -> pa.Table:
    """New rows; by default two that fit."""
    given: dict[str, list[Any]] = {"name": ["x", "y"], "zip": ["13", "21"], "age": [30, 40], "disease": ["flu", "cold"]}
    return pa.table(given | columns)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    decided = decide()
    assert decided.plan.levels == {"zip": 1, "age": 0}
    return decided.write(tmp_path / "release")


def rows(folder: Path) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in pq.read_table(folder / "table.parquet").to_pylist())


def test_rows_get_the_labels_of_the_release(release: Path, tmp_path: Path) -> None:
    """13 did not occur in the old rows; the hierarchy knew it."""
    applied = dv.apply(release, later(), tmp_path / "out")
    assert rows(applied.folder) == {("1*", 30, "flu"): 1, ("2*", 40, "cold"): 1}
    assert (applied.rows, applied.suppressed) == (2, 0)
    assert pq.read_schema(applied.folder / "table.parquet").names == ["zip", "age", "disease"]
    assert pq.read_schema(applied.folder / "table.parquet").field("age").type == pa.int64()
    assert applied.together["k_anonymity"].value == 4
    assert applied.verdict is not None
    assert applied.verdict.holds
    assert applied.alone is not None
    assert not applied.alone.holds  # one row per class: who knows that somebody is among the new rows finds them
    manifest = json.loads((applied.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["kind"] == "applied"
    assert manifest["rows"] == 2
    assert names(applied.folder) == ["manifest.json", "mapping", "table.parquet"]
    kept = ["age.csv", "earlier.parquet", "manifest.json", "original.json", "rules.json", "types.json", "zip.csv"]
    assert names(applied.folder / "mapping") == kept


def test_unseen_values_are_refused_with_the_list(release: Path, tmp_path: Path) -> None:
    table = later(zip=["99", "21"], age=[30, 77])
    with pytest.raises(BadInput, match=r"'zip': '99' \(1\); 'age': '77' \(1\)"):
        dv.apply(release, table, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unseen_values_are_left_out_on_request(release: Path, tmp_path: Path) -> None:
    table = later(name=list("xyz"), zip=["99", "21", "11"], age=[30, 40, 30], disease=["flu"] * 3)
    applied = dv.apply(release, table, tmp_path / "out", unseen="suppress", suppression=0.5)
    assert rows(applied.folder) == {("2*", 40, "flu"): 1, ("1*", 30, "flu"): 1}
    assert applied.suppressed == 1


def test_values_that_a_label_covers_are_known(tmp_path: Path) -> None:
    """Nobody was 100 before, and >=90 says what becomes of it; 60 would be [60, 70), whose only member is not hidden."""
    old = pa.table({"age": [34, 35, 91, 92], "job": ["a", "b", "c", "d"], "disease": ["flu", "cold"] * 2})
    rules = {"age": {"intervals": [10], "top": 90, "suppress": False}, "job": {"suppress": True}}
    made = decide(
        table=old, policy=Policy(k_anonymity=2), quasi_identifiers=("age", "job"), identifier=(), hierarchies=rules
    )
    folder = made.write(tmp_path / "release")
    new = pa.table({"age": [100, 38], "job": ["new", "other"], "disease": ["flu", "cold"]})
    applied = dv.apply(folder, new, tmp_path / "out")
    assert rows(applied.folder) == {(">=90", "*", "flu"): 1, ("[30, 40)", "*", "cold"): 1}
    with pytest.raises(Unverified, match=r"k_anonymity >= 2 \(would be 1, 1 classes\)"):
        dv.apply(folder, new.set_column(0, "age", pa.array([60, 38])), tmp_path / "none")
    many = pa.table({"age": [60, 61], "job": ["new", "new"], "disease": ["flu", "cold"]})
    assert rows(dv.apply(folder, many, tmp_path / "many").folder) == {
        ("[60, 70)", "*", "flu"): 1,
        ("[60, 70)", "*", "cold"): 1,
    }


@pytest.mark.slow
def test_more_rows_than_the_policy_allows_are_not_left_out(tmp_path: Path) -> None:
    """One of four new rows: the policy allows a quarter, not a fifth; what is said now goes before it."""
    table = later(name=list("wxyz"), zip=["99", "21", "11", "11"], age=[30, 40, 30, 30], disease=["flu"] * 4)
    for share, allowed in ((0.25, True), (0.2, False)):
        folder = decide(policy=Policy(k_anonymity=3, suppression=share)).write(tmp_path / f"release{share}")
        if allowed:
            assert dv.apply(folder, table, tmp_path / "out", unseen="suppress").suppressed == 1
        else:
            with pytest.raises(Unverified, match=r"1 of 4 new rows would be left out \(25.0%\), and 20.0% may be"):
                dv.apply(folder, table, tmp_path / "none", unseen="suppress")
            assert not (tmp_path / "none").exists()
            assert dv.apply(folder, table, tmp_path / "more", unseen="suppress", suppression=0.3).suppressed == 1
            with pytest.raises(BadInput, match="no effect"):
                dv.apply(folder, table, tmp_path / "none", suppression=0.3)


def test_classes_that_would_break_the_promise(release: Path, tmp_path: Path) -> None:
    """(1*, 50) is a class of one, known values though they are."""
    table = later(zip=["11", "21"], age=[50, 40])
    with pytest.raises(Unverified, match=r"k_anonymity >= 3 \(would be 1, 1 classes\)"):
        dv.apply(release, table, tmp_path / "out")
    applied = dv.apply(release, table, tmp_path / "out", unseen="suppress", suppression=0.5)
    assert rows(applied.folder) == {("2*", 40, "cold"): 1}
    nobody = later(zip=["11", "12"], age=[50, 50])
    with pytest.raises(Unverified, match="no new row can be published"):
        dv.apply(release, nobody, tmp_path / "none", unseen="suppress")


def test_the_prior_is_that_of_all_rows_old_and_new(tmp_path: Path) -> None:
    """Old: 3 flu, 3 cold. New: 2 flu in class 1*. Together 5/8 have flu; class 1* has 4/5 and class 2* has 1/3."""
    table = later(zip=["11", "12"], age=[30, 30], disease=["flu", "flu"])
    folder = decide(policy=Policy(k_anonymity=3, t_closeness=0.3)).write(tmp_path / "release")
    together = dv.apply(folder, table, tmp_path / "out").together
    distances = together.per_class("t_closeness", "disease").tolist()
    assert dict(zip(together.contingency.key_column(0).to_pylist(), distances, strict=True)) == {
        "1*": pytest.approx(4 / 5 - 5 / 8),
        "2*": pytest.approx(5 / 8 - 1 / 3),
    }
    # With a bound that only the new rows break, in a class that has none of them, leaving rows of that class out does not help.
    strict = decide(policy=Policy(k_anonymity=3, t_closeness=0.2)).write(tmp_path / "strict")
    for unseen in ("refuse", "suppress"):
        with pytest.raises(Unverified, match=r"t_closeness <= 0.2 \(would be 0.2917, 1 classes\)"):
            dv.apply(strict, table, tmp_path / "none", unseen=unseen)


def test_columns_must_be_there_and_others_stay_behind(release: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="lacks columns of the release: 'disease'"):
        dv.apply(release, later().drop_columns(["disease"]), tmp_path / "out")
    applied = dv.apply(release, later(email=["x@y", "y@z"]), tmp_path / "out")
    assert pq.read_schema(applied.folder / "table.parquet").names == ["zip", "age", "disease"]


def test_types_are_those_of_the_release(release: Path, tmp_path: Path) -> None:
    applied = dv.apply(release, later(age=["30", "40"]), tmp_path / "out")
    assert rows(applied.folder) == {("1*", 30, "flu"): 1, ("2*", 40, "cold"): 1}
    with pytest.raises(BadInput, match="age"):
        dv.apply(release, later(age=["thirty", "40"]), tmp_path / "none")


def test_a_csv_release(tmp_path: Path) -> None:
    folder = decide().write(tmp_path / "release", format="csv")
    new = tmp_path / "new.csv"
    new.write_text("disease;age;zip\nflu;30;13\ncold;40;21\n", encoding="utf-8")
    applied = dv.apply(folder, new, tmp_path / "out", seed=1)
    assert sorted((applied.folder / "table.csv").read_text(encoding="utf-8").splitlines()) == [
        "1*,30,flu", "2*,40,cold", "zip,age,disease"
    ]  # fmt: skip


def test_nulls_follow_the_release(tmp_path: Path) -> None:
    table = pa.concat_tables(
        [
            OLD,
            pa.table(
                {"name": list("ghi"), "zip": [None] * 3, "age": [30] * 3, "disease": ["flu"] * 3}, schema=OLD.schema
            ),
        ]
    )
    folder = decide(table=table).write(tmp_path / "release")
    applied = dv.apply(folder, later(zip=[None, "21"]), tmp_path / "out")
    assert rows(applied.folder) == {(None, 30, "flu"): 1, ("2*", 40, "cold"): 1}


@pytest.mark.slow
def test_boxes_of_mondrian(tmp_path: Path) -> None:
    folder = decide(method="mondrian", hierarchies={"zip": ZIP}, policy=Policy(k_anonymity=3)).write(
        tmp_path / "release"
    )
    assert rows(folder) == {("1*", 30, "flu"): 2, ("1*", 30, "cold"): 1, ("2*", 40, "flu"): 1, ("2*", 40, "cold"): 2}
    applied = dv.apply(folder, later(), tmp_path / "out")
    assert rows(applied.folder) == {("1*", 30, "flu"): 1, ("2*", 40, "cold"): 1}
    outside = later(age=[35, 40])
    with pytest.raises(BadInput, match="1 combinations of values in the new rows lie in no class"):
        dv.apply(folder, outside, tmp_path / "none")
    assert dv.apply(folder, outside, tmp_path / "some", unseen="suppress", suppression=0.5).suppressed == 1


@pytest.mark.slow
def test_what_cannot_be_checked_again_is_said(tmp_path: Path) -> None:
    release = decide(
        policy=Policy(k_anonymity=3, t_closeness=1.0, l_diversity=2),
        taxonomies={"disease": {"flu": ["ill"], "cold": ["ill"]}},
    )
    applied = dv.apply(release.write(tmp_path / "release"), later(), tmp_path / "out")
    assert applied.unchecked == ("t_closeness <= 1: the hierarchical distance of disease is not part of the release",)
    assert applied.verdict is not None
    assert [outcome.promise.metric.name for outcome in applied.verdict.outcomes] == ["k_anonymity", "l_diversity"]
    manifest = json.loads((applied.folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["unchecked"] == list(applied.unchecked)
    given = decide(policy=Policy(l_diversity=2), prior={"flu": 0.4, "cold": 0.6})
    nothing = dv.apply(given.write(tmp_path / "given"), later(), tmp_path / "out2")
    assert nothing.verdict is None
    assert nothing.unchecked == ("l_diversity >= 2: the prior of disease was given and is not part of the release",)


def test_a_release_that_was_changed_or_is_none(release: Path, tmp_path: Path) -> None:
    (release / "mapping" / "zip.csv").write_text("11;11\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"mapping/zip\.csv has changed"):
        dv.apply(release, later(), tmp_path / "out")
    with pytest.raises(BadInput, match="not a release"):
        dv.apply(tmp_path, later(), tmp_path / "out")


def test_people_with_several_rows_are_refused(tmp_path: Path) -> None:
    twice = pa.concat_tables([OLD, OLD])
    folder = decide(table=twice, identifier=(), person="name").write(tmp_path / "release")
    with pytest.raises(BadInput, match="does not say whose a row is"):
        dv.apply(folder, later(), tmp_path / "out")


def test_an_existing_folder_needs_force(release: Path, tmp_path: Path) -> None:
    dv.apply(release, later(), tmp_path / "out")
    with pytest.raises(BadInput, match="exists already"):
        dv.apply(release, later(), tmp_path / "out")
    dv.apply(release, later(disease=["flu", "flu"]), tmp_path / "out", force=True)
    assert rows(tmp_path / "out") == {("1*", 30, "flu"): 1, ("2*", 40, "flu"): 1}


# --- values that nobody had before: every kind of rule ------------------------------------------------------------------
RULES: dict[str, tuple[dict[str, Any], list[Any], int, dict[Any, str | None]]] = {
    "intervals": ({"intervals": [10], "bottom": 20, "top": 90}, [34, 35], 1, {60: "[60, 70)", 7: "<20", 99: ">=90"}),
    "cuts": ({"cuts": [40, 60]}, [34, 35], 1, {50: "[40, 60)", 60: ">=60", -3: "<40"}),
    "coding": ({"top": 90}, [95, 96], 1, {100: ">=90", 17: "17"}),
    "prefix": ({"prefix": True}, ["476", "471"], 1, {"479": "47*", "992": "99*", "4762": "47**"}),
    "dates": ({"dates": ["month", "year"]}, ["2024-01-03", "2024-01-09"], 1, {"2025-07-30": "2025-07", "soon": None}),
    "order": ({"order": ["A", "B", "C", "D"], "groups": 2}, ["A", "B"], 1, {"D": "[C, D]", "E": None}),
    "taxonomy": ({"taxonomy": {"red": ["ruby"], "blue": ["navy", "sky", "azure"]}}, ["navy", "sky"], 1, {"azure": "blue", "tea": None}),
    "keep": ({"keep": ["a"], "rest": "other"}, ["b", "c"], 1, {"a": "a", "z": "other"}),
    "other": ({"rows": {"a": ["x", "*"], "b": ["x", "*"]}, "other": "else"}, ["a", "b"], 1, {"z": "else"}),
    "rows": ({"rows": {"a": ["x", "*"], "b": ["x", "*"], "c": ["y", "*"]}}, ["a", "b"], 1, {"c": "y", "z": None}),
    "suppress": ({"suppress": True}, ["a", "b"], 1, {"z": "*"}),
}  # fmt: skip
"""A rule, values of two people, the level that makes them one class, and what other values become; None: the rule does not cover it."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", RULES)
def test_a_rule_says_what_becomes_of_values_that_nobody_had(kind: str, tmp_path: Path) -> None:
    rule, old, level, expected = RULES[kind]
    given = pa.table({"x": old, "disease": ["flu", "cold"]})
    made = decide(
        table=given, policy=Policy(k_anonymity=2), quasi_identifiers="x", identifier=(), hierarchies={"x": rule}
    )
    assert made.plan.levels == {"x": level}
    folder = made.write(tmp_path / "release")
    for number, (value, label) in enumerate(expected.items()):
        new = pa.table({"x": [value] * 2, "disease": ["flu", "cold"]})
        out = tmp_path / f"out {number}"
        if label is None:
            with pytest.raises(BadInput, match=f"does not know values of the new rows: 'x': '{value}'"):
                dv.apply(folder, new, out)
        else:
            assert set(rows(dv.apply(folder, new, out).folder)) == {(label, "flu"), (label, "cold")}


@pytest.mark.slow
def test_a_rule_says_which_box_of_mondrian_a_value_lies_in(tmp_path: Path) -> None:
    """Two boxes, 47* and 48*: 475 lies below the first; 491 below none."""
    old = pa.table({"zip": ["476", "471", "483", "484"], "disease": ["flu", "cold"] * 2})
    asked = {"quasi_identifiers": "zip", "identifier": (), "hierarchies": {"zip": {"prefix": [2, 1]}}}
    folder = decide(table=old, policy=Policy(k_anonymity=2), method="mondrian", **asked).write(tmp_path / "release")
    assert {row[0] for row in rows(folder)} == {"47*", "48*"}
    new = pa.table({"zip": ["475", "480"], "disease": ["flu", "flu"]})
    applied = dv.apply(folder, new, tmp_path / "out")
    assert rows(applied.folder) == {("47*", "flu"): 1, ("48*", "flu"): 1}
    again = dv.apply(applied.folder, new, tmp_path / "again")
    assert again.together["k_anonymity"].value == 4
    with pytest.raises(BadInput, match="1 combinations of values in the new rows lie in no class"):
        dv.apply(applied.folder, pa.table({"zip": ["475", "491"], "disease": ["flu", "flu"]}), tmp_path / "none")


# --- a release that goes on and on --------------------------------------------------------------------------------------
@pytest.mark.slow
def test_everything_that_was_published_is_judged_together(engine: DuckDBEngine | SparkEngine, tmp_path: Path) -> None:
    """A table in four parts: after each, k, l, the classes and the distance to all originals so far are counted by hand."""
    draw = random.Random(12)  # noqa: S311 - a test table
    people = [
        (draw.choice("1122234") + draw.choice("12345"), draw.choice(["flu", "flu", "cold", "cancer"]))
        for _ in range(160)
    ]
    parts = [
        pa.table({"zip": [p[0] for p in part], "disease": [p[1] for p in part]})
        for part in (people[at : at + 40] for at in range(0, 160, 40))
    ]
    made = dv.generalize(
        parts[0], policy=Policy(k_anonymity=3, l_diversity=2, suppression=0.2), quasi_identifiers="zip", sensitive="disease",
        hierarchies={"zip": {"prefix": [1]}}, engine=engine,
    )  # fmt: skip
    folder = made.write(tmp_path / "0")
    public = rows(folder)
    later_parts = parts[1:] if isinstance(engine, DuckDBEngine) else parts[1:3]  # each takes Spark some seconds
    for number, part in enumerate(later_parts, start=1):
        applied = dv.apply(folder, part, tmp_path / str(number), unseen="suppress", suppression=0.3, engine=engine)
        folder = applied.folder
        public += rows(folder)
        classes: dict[str, Counter[str]] = {}
        for zip_, disease in public.elements():
            classes.setdefault(zip_, Counter())[disease] += 1
        together = applied.together
        assert together.rows == public.total() <= 40 * (number + 1)
        assert together["k_anonymity"].value == min(map(Counter.total, classes.values())) >= 3
        assert together["l_diversity"].value == min(map(len, classes.values())) >= 2
        everybody = Counter(disease for _, disease in people[: 40 * (number + 1)])
        furthest = max(
            sum(abs(inside[x] / inside.total() - everybody[x] / everybody.total()) for x in everybody) / 2
            for inside in classes.values()
        )
        assert together["t_closeness"].value == pytest.approx(furthest)
        assert applied.verdict is not None
        assert applied.verdict.holds


@pytest.mark.slow
def test_what_is_carried_on(tmp_path: Path) -> None:
    """(1*, 50) is a class of one until three of them come at once; all that is out counts, and the policy's limit goes with it."""
    old = decide(policy=Policy(k_anonymity=3, suppression=0.5)).write(tmp_path / "r")
    first = dv.apply(old, later(), tmp_path / "1")
    one = later(zip=["11", "21"], age=[50, 40])
    with pytest.raises(Unverified, match=r"k_anonymity >= 3 \(would be 1, 1 classes\)"):
        dv.apply(first.folder, one, tmp_path / "no")
    # the policy's own limit is carried on too: one of two rows may be left out
    second = dv.apply(first.folder, one, tmp_path / "2", unseen="suppress")
    assert (second.suppressed, second.together.rows) == (1, 6 + 2 + 1)
    three = later(name=list("xyz"), zip=["11"] * 3, age=[50] * 3, disease=["flu"] * 3)
    third = dv.apply(second.folder, three, tmp_path / "3")
    assert (third.together.rows, third.together["k_anonymity"].value) == (12, 3)
    # what could not be checked then is said again
    given = decide(policy=Policy(l_diversity=2), prior={"flu": 0.4, "cold": 0.6}).write(tmp_path / "given")
    unchecked = dv.apply(given, later(), tmp_path / "g1").unchecked
    assert dv.apply(tmp_path / "g1", later(), tmp_path / "g2").unchecked == unchecked != ()
    # an earlier version kept no mappings with later rows
    kept = first.folder / "mapping" / "manifest.json"
    document = json.loads(kept.read_text(encoding="utf-8"))
    kept.write_text(json.dumps({name: document[name] for name in document if name != "after"}), encoding="utf-8")
    with pytest.raises(BadInput, match="kept no mappings"):
        dv.apply(first.folder, later(), tmp_path / "out")
    # a file of the private part that changed is seen
    (third.folder / "mapping" / "earlier.parquet").write_bytes(b"other")
    with pytest.raises(BadInput, match=r"mapping/earlier\.parquet has changed"):
        dv.apply(third.folder, later(), tmp_path / "out")
