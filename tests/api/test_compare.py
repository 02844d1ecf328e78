# SPDX-License-Identifier: Apache-2.0
"""Comparison of tables: people with lower or higher risk, counted by hand.

Metrics are those that `measure` reports for each table by itself.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.api.compare import ComparedTable, TableComparison
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput, Infeasible
from tests.charts.test_charts import data
from tests.helpers import run_cli

# Twelve people: 6 have the flu, 6 a cold.
ZIPS = ["10"] + ["11"] * 3 + ["20"] * 2 + ["21"] * 4 + ["30"] * 2
DISEASES = ["flu"] + ["flu", "flu", "cold"] + ["flu", "cold"] + ["cold"] * 4 + ["flu"] * 2
PEOPLE = pa.table({"zip": ZIPS, "disease": DISEASES})
ROLES: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
LEVELS = {"hierarchies": {"zip": {"prefix": [1]}}}
K2, K3 = {"k_anonymity": 2, **LEVELS}, {"k_anonymity": 3, "suppression": 0.2, **LEVELS}


def moves(
    other: ComparedTable, name: str, attribute: str | None = None
) -> tuple[int, int, int, int]:
    """Number of people with lower risk, higher risk, equal risk, and without a class."""
    (found,) = (
        move for move in other.moved if (move.metric.name, move.attribute) == (name, attribute)
    )
    assert found.people == found.better + found.worse + found.same + found.not_found
    return found.better, found.worse, found.same, found.not_found


def test_people_through_a_release_by_hand() -> None:
    """10 and 11 become 1*, 20 and 21 become 2*, 30 becomes 3*: classes of 4, 6 and 2."""
    found = dv.compare(PEOPLE, policies=[K2], **ROLES)
    (other,) = found.others
    assert other.matched_by == "mapping"
    # 1 -> 4, 3 -> 4, 2 -> 6, 4 -> 6 people; 2 -> 2 of the two at 30.
    assert moves(other, "k_anonymity") == (10, 0, 2, 0)
    # Distinct diseases: 1 -> 2 (one person), 2 -> 2 (three), 2 -> 2 (two), 1 -> 2 (four), 1 -> 1
    # (two).
    assert moves(other, "l_diversity", "disease") == (5, 0, 7, 0)
    # The share of the most common disease: 1 -> 3/4 (one), 2/3 -> 3/4 (three), 1/2 -> 5/6 (two), 1
    # -> 5/6 (four), 1 -> 1 (two).
    assert moves(other, "alpha", "disease") == (5, 5, 2, 0)
    (alpha,) = (move for move in other.moved if move.metric.name == "alpha" and move.attribute)
    worst = alpha.classes[0]
    assert (worst.key, worst.becomes, worst.people) == ({"zip": "20"}, {"zip": "2*"}, 2)
    assert (worst.before, worst.after) == pytest.approx((1 / 2, 5 / 6))
    # A smaller k is worse, a larger surprise is worse. Half of all people have the flu: at 10 one
    # of one (1 bit), at 1* three of four (0.1887), at 20 one of two (0), at 2* one of six (0.35).
    text = " ".join(str(found).split())
    for sentence in (
        "k_anonymity better: zip=20, now zip=2* (2 people), 2 before, 6 now",
        "surprise of disease worse: zip=20, now zip=2* (2 people), 0 before, 0.35 now",
        "surprise of disease better: zip=10, now zip=1* (1 person), 1 before, 0.1887 now",
    ):
        assert sentence in text
    # Only risks are better or worse; what describes a table, and what limits a risk, is neither.
    kinds = {metric.name: metric.kind for metric in dv.METRICS}
    change = found.to_dict()["compared"][1]["change"]
    risks = Counter(
        word
        for scores in (change["identity"], *change["sensitive"].values())
        for name, word in scores.items()
        if kinds[name] == "risk"
    )
    assert (
        f"of {risks.total()} risks {risks['better']} are better, {risks['worse']} worse, "
        f"{risks['same']} the same" in text
    )


def test_joint_risk_of_all_compared_releases() -> None:
    """Each zip code has three people. By age, 1 and 4 are unique.

    The four between are two and two by their zip codes.
    """
    people = pa.table({"zip": [*"aaabbb"], "age": [1, 2, 2, 3, 3, 4], "disease": [*"fcfcfc"]})
    by_zip = pa.table({"zip": people["zip"], "age": ["*"] * 6, "disease": people["disease"]})
    by_age = pa.table(
        {"zip": ["*"] * 6, "age": ["[1, 3)"] * 3 + ["[3, 5)"] * 3, "disease": people["disease"]}
    )
    by_both = by_age.set_column(1, "age", [["1", *["[2, 4)"] * 4, "4"]])
    roles: dict[str, Any] = {"quasi_identifiers": ["zip", "age"], "sensitive": "disease"}
    found = dv.compare({"truth": people, "zips": by_zip, "both": by_both}, original=people, **roles)
    told = found.to_dict()["together"]
    assert (
        told["people"],
        told["identity"]["k_anonymity"],
        told["alone"],
        told["became_alone"],
    ) == (6, 1, 2, 0)
    # One of the two in zip a has a cold and one the flu, and so in b. The values of 1 and 4 are
    # known, so 4 of 6 are guessed.
    assert told["sensitive"]["disease"]["posterior_vulnerability"] == pytest.approx(4 / 6)
    assert "all 2 releases together: k_anonymity 1" in str(found)
    # By zip and by age the same three people share all: the second release adds nothing.
    alike = dv.compare({"truth": people, "zips": by_zip, "ages": by_age}, original=people, **roles)
    assert alike.to_dict()["together"]["identity"]["k_anonymity"] == 3
    assert dv.compare(PEOPLE, policies=[K2, K3], **ROLES).together is None, (
        "policies are alternatives"
    )
    assert dv.compare({"zips": by_zip, "both": by_both}, **roles).together is None, (
        "the original is not known"
    )


def test_suppressed_people_are_neither_better_nor_worse_off() -> None:
    """The policy requires k = 3 and allows suppression of a fifth of twelve: the two at 30."""
    found = dv.compare(PEOPLE, policies=[K3], **ROLES)
    assert found[1].measurement is not None
    assert found[1].measurement.people == 10
    assert moves(found[1], "k_anonymity") == (10, 0, 0, 2)
    assert (
        "by the k_anonymity of their class 83% of 12 people are better off, 0% worse, "
        "and 17% are left out" in " ".join(str(found).split())
    )


def test_a_written_release_is_followed_by_its_mapping(tmp_path: Path) -> None:
    two = dv.generalize(PEOPLE, policy=K2, **ROLES)
    three = dv.generalize(PEOPLE, policy=K3, **ROLES)
    folders = [
        str(release.write(tmp_path / name)) for name, release in (("two", two), ("three", three))
    ]
    found = dv.compare([PEOPLE, *folders, two])
    assert [each.name for each in found] == ["table 1", "two", "three", "table 4"]
    assert [each.kind for each in found] == ["table", *["generalized"] * 3]
    assert [moves(each, "k_anonymity") for each in found.others] == [
        (10, 0, 2, 0),
        (10, 0, 0, 2),
        (10, 0, 2, 0),
    ]
    # Two tables: neither is known to be the original of the release.
    assert found.original is not None
    assert dv.compare([PEOPLE, PEOPLE.slice(0), two], **ROLES).original is None
    # From one release to the other: ten are in their old class, and two are suppressed.
    between = dv.compare(folders, original=PEOPLE)
    assert between.reference.name == "two"
    assert moves(between[1], "k_anonymity") == (0, 0, 10, 2)
    assert between[0].utility is not None
    assert between[0].utility.summary["rows_left_out"] == 0.0
    # Without the original and its mapping, classes are matched by the labels 1*, 2* and 3*.
    by_values = dv.compare(folders)
    assert by_values[1].matched_by == "values"
    assert moves(by_values[1], "k_anonymity") == (0, 0, 10, 2)
    assert by_values[1].utility is None
    assert any("the original is not known" in note for note in by_values.notes)


def test_tables_are_matched_by_their_values() -> None:
    """10 gets a second person, 20 loses one, and 30 is missing.

    Numbers and texts of equal digits are one class.
    """
    other = pa.table({"zip": [10, 10, 11, 11, 11, 20, 21, 21, 21, 21, 40, 40], "disease": DISEASES})
    found = dv.compare({"before": PEOPLE, "after": other}, **ROLES)
    assert [each.name for each in found] == ["before", "after"]
    assert found[1].matched_by == "values"
    assert moves(found[1], "k_anonymity") == (1, 2, 7, 2)
    strange = dv.compare([PEOPLE, pa.table({"zip": ["x"] * 12, "disease": DISEASES})], **ROLES)
    assert strange[1].moved == ()
    assert strange[1].unmatched is not None
    assert "no class has the same values" in strange[1].unmatched


def test_a_published_table_is_matched_by_its_labels_where_the_original_has_none_of_them(
    tmp_path: Path,
) -> None:
    folder = dv.generalize(PEOPLE, policy=K2, **ROLES).write(tmp_path / "release")
    found = dv.compare([str(folder / "table.parquet"), str(folder)], original=PEOPLE)
    assert found[1].matched_by == "values"
    assert moves(found[1], "k_anonymity") == (0, 0, 12, 0)


def test_a_release_of_other_people_is_not_followed_by_its_mapping(tmp_path: Path) -> None:
    folder = str(dv.generalize(PEOPLE, policy=K2, **ROLES).write(tmp_path / "release"))
    others = pa.table({"zip": ["10", *ZIPS[:-1]], "disease": DISEASES})
    found = dv.compare([others, folder])
    assert found[1].matched_by is None
    assert found[1].unmatched is not None


def test_metrics_are_those_of_each_table_by_itself(tmp_path: Path) -> None:
    release = dv.generalize(PEOPLE, policy=K2, **ROLES)
    folder = str(release.write(tmp_path / "release"))
    found = dv.compare([PEOPLE, folder, release])
    against = dv.Adversary(original=PEOPLE)
    alone = [dv.measure(PEOPLE, **ROLES), dv.measure(folder, adversary=against), release.after]
    for each, measured in zip(found, alone, strict=True):
        expected: dict[Any, float] = {
            (None, name): score.value for name, score in measured.identity.items()
        }
        expected |= {
            ("disease", name): score.value for name, score in measured.sensitive["disease"].items()
        }
        assert {key: score.value for key, score in each.numbers.items()} == pytest.approx(expected)
    # Files and plan agree.
    assert {key: score.value for key, score in found[1].numbers.items()} == pytest.approx(
        {key: score.value for key, score in found[2].numbers.items()}
    )
    assert found[1].utility is not None
    assert found[1].utility.summary == dv.utility(PEOPLE, folder, **ROLES).summary


def test_differences_are_against_the_first() -> None:
    found = dv.compare(PEOPLE, policies=[K2], **ROLES)
    k = found.difference(found[1], None, "k_anonymity")
    assert k is not None
    assert (k.value, k.change) == (1.0, "better")  # 1 person before, 2 now
    alpha = found.difference(found[1], "disease", "alpha")
    assert alpha is not None
    # those at 30 all have the flu, before and after
    assert (alpha.value, alpha.change) == (0.0, "same")
    classes = found.difference(found[1], None, "classes")
    assert classes is not None
    assert (classes.value, classes.change) == (-2.0, None)  # a description, no risk
    # Each table has its own l of recursive diversity: 1 before, 1 now. With an explicit l, any
    # tables can be compared.
    sharp = pa.table({"zip": ["1", "1"], "disease": ["flu", "cold"]})
    apart = dv.compare([PEOPLE, sharp], **ROLES)
    assert apart.difference(apart[1], "disease", "recursive_c_l_diversity") is None
    same_l = dv.compare([PEOPLE, sharp], **ROLES, adversary=dv.Adversary(recursive_l=2))
    assert same_l.difference(same_l[1], "disease", "recursive_c_l_diversity") is not None


def test_the_chart_shows_the_numbers_and_the_people() -> None:
    found = dv.compare(PEOPLE, policies=[K2], **ROLES)
    rows = data(found.chart())
    people = {
        row["how"]: row["people"] for row in rows if row.get("what") == "policy 1: k anonymity"
    }
    assert people == {"less than before": 10, "the same": 2}
    told = [
        (row["table"], row["value"]) for row in rows if row.get("kind") in ("reference", "other")
    ]
    assert {("table 1", 1.0), ("policy 1", 2.0)} <= set(told)


def test_an_anatomized_release_has_levels_and_utility() -> None:
    people = PEOPLE.append_column("age", pa.array(range(20, 32)))
    anatomized = dv.anatomize(
        people, sensitive="disease", quasi_identifiers=["zip", "age"], beta="1/2"
    )
    found = dv.compare([people, anatomized], quasi_identifiers=["zip", "age"], sensitive="disease")
    assert found[1].levels == anatomized.levels
    assert found[1].measurement is None
    assert found[1].utility is not None
    assert "groups and no classes" in str(found[1].unmatched)
    rows = found.to_frame().to_pylist()
    assert {row["name"] for row in rows if row["kind"] == "level"} == {
        "alpha",
        "beta",
        "gamma",
        "delta",
    }


def test_attacks_in_a_comparison() -> None:
    """One row of each class is found: 5 classes before, 3 after.

    1 + 2 + 1 + 4 + 2 diseases are guessed before, 3 + 5 + 2 after.
    """
    found = dv.compare(PEOPLE, policies=[K2], attack=12, **ROLES)
    rates = [
        {(one.name, one.about): one.successes for one in each.attacked.attempts}
        for each in found
        if each.attacked
    ]
    assert [each["prosecutor", None] for each in rates] == pytest.approx([5, 3])
    assert [each["inference", "disease"] for each in rates] == [10, 10]
    assert [each["singling-out", None] for each in rates] == [1, 0]
    told = found.to_dict()["compared"][1]["attacks"]
    assert {one["attack"]: one["bound"] for one in told}["prosecutor"] == 1 / 2
    assert "prosecutor gets the right row for 25% instead of 42%" in " ".join(str(found).split())
    frame = [
        row
        for row in found.to_frame().to_pylist()
        if row["kind"] == "attack" and row["name"] == "prosecutor"
    ]
    assert [row["difference"] for row in frame] == [None, pytest.approx(-2 / 12)]
    assert "What attacks achieve" in dv.report(found).html()
    assert dv.compare(PEOPLE, policies=[K2], **ROLES)[1].attacked is None


def test_an_anatomized_release_is_attacked_by_its_groups(tmp_path: Path) -> None:
    dv.anatomize(PEOPLE, beta="2/3", **ROLES, seed=1).write(tmp_path / "groups")
    found = dv.compare([PEOPLE, tmp_path / "groups"], attack=12, **ROLES)
    assert found[1].attacked is not None
    assert {"attribute-linkage", "definetti"} <= {one.name for one in found[1].attacked.attempts}


def test_an_infeasible_policy_is_named_and_the_others_are_reported() -> None:
    found = dv.compare(PEOPLE, policies=[K2, {"k_anonymity": 13}], **ROLES)
    assert found[2].refused is not None
    assert "nothing keeps this policy" in str(found)
    with pytest.raises(Infeasible):
        dv.compare(PEOPLE, policies=[{"k_anonymity": 13}], **ROLES)


def test_several_tables_are_checked_against_one_policy() -> None:
    found = dv.compare([PEOPLE, PEOPLE.slice(1)], policies=[{"k_anonymity": 2, "roles": ROLES}])
    broken = [
        [not outcome.holds for outcome in each.verdict.outcomes] for each in found if each.verdict
    ]
    assert broken == [[True], [False]]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"tables": [PEOPLE], **ROLES}, "nothing to compare with"),
        ({"tables": [PEOPLE, PEOPLE], "plain": "zip", **ROLES}, "plain= has no effect"),
        ({"tables": [PEOPLE, PEOPLE], "policies": [K2, K3], **ROLES}, "several policies"),
        ({"tables": [PEOPLE, PEOPLE], "target": "disease", **ROLES}, "the original is not known"),
        (
            {"tables": [PEOPLE, PEOPLE], "attack": 5, **ROLES},
            "scored by the original, which is not known",
        ),
        ({"tables": PEOPLE, "policies": [K2], "attack": 0, **ROLES}, "attack=0 is not possible"),
        ({"tables": PEOPLE, "policies": [K2], "seed": 2, **ROLES}, "seed= has no effect"),
        ({"tables": PEOPLE, "policies": [{}], **ROLES}, "makes no promise"),
        (
            {
                "tables": PEOPLE,
                "policies": [K2, {**K2, "roles": {"sensitive": "disease"}}],
                "quasi_identifiers": "zip",
            },
            "sensitive differ",
        ),
        (
            {
                "tables": [PEOPLE, PEOPLE],
                "original": PEOPLE,
                "adversary": dv.Adversary(original=PEOPLE),
                **ROLES,
            },
            "named twice",
        ),
    ],
)
def test_mistakes_are_one_sentence(given: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        dv.compare(**given)


def test_roles_and_assumptions_of_a_release_are_its_own() -> None:
    release = dv.generalize(PEOPLE, policy=K2, **ROLES)
    with pytest.raises(BadInput, match="quasi-identifiers differ"):
        dv.compare([PEOPLE, release], quasi_identifiers="disease")
    with pytest.raises(BadInput, match="nulls= has no effect"):
        dv.compare([PEOPLE, release], adversary=dv.Adversary(nulls="drop"))


def test_every_engine_gives_equal_results(engine: DuckDBEngine | SparkEngine) -> None:
    expected = _numbers(dv.compare(PEOPLE, policies=[K2], **ROLES))
    found = dv.compare(dv.read(PEOPLE, engine=engine), policies=[K2], **ROLES)
    assert list(_numbers(found).values()) == pytest.approx(list(expected.values()))
    assert found.reference.measurement is not None
    if found.reference.measurement.survey is None:
        assert moves(found[1], "k_anonymity") == (10, 0, 2, 0)
    else:
        assert "stayed where they were counted, so nobody can be followed" in str(
            found[1].unmatched
        )
        assert found[1].moved == ()


def _numbers(found: TableComparison) -> dict[Any, float]:
    return {(each.name, *key): score.value for each in found for key, score in each.numbers.items()}


# --- the command ----------------------------------------------------------------------------------
@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The twelve people, two policies, and a release."""
    import pyarrow.csv

    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(PEOPLE, tmp_path / "t.csv")
    head = 'quasi_identifiers = ["zip"]\nsensitive = ["disease"]\n'
    rule = "[hierarchies.zip]\nprefix = [1]\n"
    (tmp_path / "k2.toml").write_text(
        f"{head}[promises]\nk_anonymity = 2\n{rule}", encoding="utf-8"
    )
    (tmp_path / "k3.toml").write_text(
        f"{head}[promises]\nk_anonymity = 3\nsuppression = 0.2\n{rule}", encoding="utf-8"
    )
    assert run_cli("generalize", "t.csv", "--policy", "k2.toml", "--out", "release").code == 0
    return tmp_path


@pytest.mark.usefixtures("files")
def test_the_command_compares_tables_and_releases() -> None:
    found = run_cli("compare", "t.csv", "release", "--json").json()
    assert (found["reference"], found["original"]) == ("t.csv", "t.csv")
    first, other = found["compared"]
    assert first["difference"] is None
    assert (other["identity"]["k_anonymity"], other["difference"]["identity"]["k_anonymity"]) == (
        2,
        1,
    )
    assert other["change"]["identity"]["k_anonymity"] == "better"
    assert other["moved"][0]["metric"] == "k_anonymity"
    assert [other["moved"][0][name] for name in ("better", "worse", "same", "not_found")] == [
        10,
        0,
        2,
        0,
    ]
    text = run_cli("compare", "t.csv", "release")
    assert "release against t.csv, the reference and the original." in text.out
    assert (
        "by the k_anonymity of their class 83% of 12 people are better off, 0% worse"
        in " ".join(text.out.split())
    )


def test_the_command_applies_policies_and_writes_a_page(files: Path) -> None:
    found = run_cli(
        "compare",
        "t.csv",
        "--policy",
        "k2.toml",
        "--policy",
        "k3.toml",
        "--out",
        "c.html",
        "--chart",
        "c.svg",
    )
    assert found.code == 0, found.err
    assert "k2.toml, k3.toml against t.csv" in found.out
    page = Path("c.html").read_text(encoding="utf-8")
    assert "INTERNAL" in page
    command = "divulge compare t.csv --qi zip --sensitive disease --policy k2.toml --policy k3.toml"
    assert command in page
    assert not list(files.glob("*release-*"))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["t.csv"], "nothing to compare with"),
        (["t.csv", "release", "--leave-out", "disease"], "--leave-out has no effect"),
        (["release", "--policy", "k2.toml"], "is a release"),
        (["t.csv", "release", "--out", "c.pdf"], "does not end in .html"),
        (["t.csv", "release", "--seed", "1"], "--seed has no effect without --attack"),
        (["release", "release", "--delimiter", ";"], "--delimiter has no effect"),
        (["t.csv", "t.csv", "--qi", "zip", "--target", "disease"], "the original is not known"),
    ],
)
def test_mistakes_on_the_line(words: list[str], told: str) -> None:
    found = run_cli("compare", *words)
    assert found.code == 2
    assert told in found.err
    assert len(found.err.strip().splitlines()) == 1
