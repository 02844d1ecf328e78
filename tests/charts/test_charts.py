# SPDX-License-Identifier: Apache-2.0
"""Charts: numbers behind the marks against hand counts and the papers, and hostile text.

Also checked: sentences about what a chart leaves out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
import reproduction
from divulge.errors import BadInput
from tests.metrics.golden import ENTRIES, from_rows

# Afifi et al. 2018, Table 1: Heart 5, Cancer 3, Flu 1 of nine.
PATIENTS = pa.table(
    {
        "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "disease": ["Heart"] * 3 + ["Flu", "Heart", "Cancer"] + ["Heart", "Cancer", "Cancer"],
    }
)
QI = ["zip", "age"]
ROLES: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease"}
ALICE = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123", "Z": "94305"})
# p = {N, A, P, Z}: Table 1 of Whang and Garcia-Molina style records; without weights leakage is 2
# |r & p| / (|r| + |p|).
SEEN = [
    dv.dossier.Record.of({"N": "Alice", "A": "20"}, id="shop"),
    dv.dossier.Record.of({"N": "Alice", "P": "123"}, id="bank"),
    dv.dossier.Record.of({"N": "Alice", "Z": "99999"}, id="forum"),
]
MERGED = dv.dossier.Resolve("N")
DECOYS = dv.dossier.candidates_of([dv.dossier.Record.of({"N": "Alice", "A": "99"}, id="decoy")])


def data(chart: Any) -> list[dict[str, Any]]:
    """Return every row of data in a chart, from all its layers and panels."""
    found: list[dict[str, Any]] = []

    def collect(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(values := node.get("data", {}), dict) and "values" in values:
                found.extend(values["values"])
            for key, inner in node.items():
                if key == "datasets":
                    for rows in inner.values():
                        found.extend(rows)
                else:
                    collect(inner)
        elif isinstance(node, list):
            for inner in node:
                collect(inner)

    collect(chart.to_dict())
    return found


def chart_text(chart: Any) -> str:
    """Return the title and the subtitle of a chart."""
    title = chart.to_dict()["title"]
    return " ".join([*title["text"], *title.get("subtitle", [])])


def entropy(*shares: float) -> float:
    return -sum(share * math.log2(share) for share in shares if share)


PRIOR = entropy(5 / 9, 3 / 9, 1 / 9)


def test_each_class_is_drawn_at_its_two_leakages() -> None:
    rows = {row["class"]: row for row in data(dv.charts.leakages(dv.measure(PATIENTS, **ROLES)))}
    # Heart 3 of 3: (4/9, -3/9, -1/9) from the prior.
    heart = rows["zip=476**, age=2*"]
    assert (heart["x"], heart["y"], heart["people"]) == pytest.approx(
        (math.sqrt(16 + 9 + 1) / 9, PRIOR, 3)
    )
    # One of each: (-2/9, 0, 2/9).
    mixed = rows["zip=4790*, age=>=40"]
    assert (mixed["x"], mixed["y"]) == pytest.approx((math.sqrt(8) / 9, abs(PRIOR - math.log2(3))))
    assert len(rows) == 3


def test_requirements_are_lines_and_classes_beyond_them_are_marked() -> None:
    policy = {"distribution_leakage": 0.4, "entropy_leakage": 1.0, "k_anonymity": 2}
    rows = data(dv.check(PATIENTS, policy, **ROLES).chart())
    assert sorted(row["at"] for row in rows if "at" in row) == [0.4, 1.0]
    marks = {row["class"]: row["mark"] for row in rows if "mark" in row}
    # L_D of the class of cancers: (-2/9, 3/9, -1/9).
    assert math.sqrt(4 + 9 + 1) / 9 > 0.4
    assert marks == {
        "zip=476**, age=2*": "beyond a dashed line",
        "zip=476**, age=3*": "beyond a dashed line",
        "zip=4790*, age=>=40": "within the dashed lines",
    }


def test_a_class_shows_every_value_even_ruled_out_ones() -> None:
    class_result = dv.measure(PATIENTS, **ROLES).of_class(zip="476**", age="3*")
    rows = {(row["value"], row["when"]): row["share"] for row in data(class_result.chart())}
    shares = {"Heart": (5 / 9, 1 / 3), "Cancer": (3 / 9, 2 / 3), "Flu": (1 / 9, 0.0)}
    for value, (before, after) in shares.items():
        assert (rows[value, "before"], rows[value, "in this class"]) == pytest.approx(
            (before, after)
        )
    assert len(rows) == 6
    assert "3 people; 1 of 3 values can be ruled out." in chart_text(class_result.chart())


def test_further_values_share_one_bar_and_shares_sum_to_one() -> None:
    people = pa.table({"zip": ["1"] * 50 + ["2"], "v": [f"v{i}" for i in range(50)] + ["v0"]})
    class_result = dv.measure(people, quasi_identifiers="zip", sensitive="v").of_class(zip="2")
    rows = data(class_result.chart())
    assert sum(row["share"] for row in rows if row["when"] == "before") == pytest.approx(1)
    assert sum(row["share"] for row in rows if row["when"] == "in this class") == pytest.approx(1)
    assert {row["value"] for row in rows} >= {"v0", "35 more values"}
    assert len(rows) == 2 * 16


def test_information_matches_the_paper() -> None:
    entries = [entry for entry in ENTRIES if re.match(r"001\.ex\.I[12]\.", entry["id"])]
    measurement = from_rows(entries[0]["inputs"])
    rows = data(dv.charts.information(measurement, t=0.5, l_value=1.5))
    drawn = {
        (row["class"].removeprefix("y="), row["kind"][:2]): row["bits"]
        for row in rows
        if "bits" in row
    }
    expected = {
        (entry["id"].split(".")[3], entry["id"].split(".")[2]): entry["exact"] for entry in entries
    }
    assert drawn == pytest.approx(expected, abs=1e-9)
    lines = {row["line"]: row["at"] for row in rows if "line" in row}
    # The average of I1 over the classes of 4, 4, 2 and 2 people; H(W) of 1 in 12 others less log2
    # l.
    average = (
        sum(
            people * expected[name, "I1"]
            for name, people in zip(sorted({n for n, _ in expected}), (4, 4, 2, 2), strict=True)
        )
        / 12
    )
    assert lines == pytest.approx(
        {"average": average, "t = 0.5": 0.5, "l = 1.5": entropy(1 / 12, 11 / 12) - math.log2(1.5)},
        abs=1e-9,
    )


def test_people_are_counted_by_the_size_of_their_class() -> None:
    people = pa.table({"zip": ["1", "2", "3", "3"] + ["4"] * 7})
    rows = data(dv.charts.class_sizes(dv.measure(people, quasi_identifiers="zip")))
    assert {row["size"]: (row["people"], row["classes"]) for row in rows} == {
        "1": (2, 2),
        "2": (2, 1),
        "3-4": (0, 0),
        "5-9": (7, 1),
    }


def test_class_sizes_of_a_release_are_drawn_next_to_the_original() -> None:
    people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
    release = dv.generalize(
        people,
        policy={"k_anonymity": 2},
        quasi_identifiers="zip",
        hierarchies={"zip": {"prefix": [3]}},
    )
    rows = {(row["size"], row["when"]): row["people"] for row in data(release.chart())}
    assert rows == {
        ("1", "before"): 4,
        ("1", "published"): 0,
        ("2", "before"): 0,
        ("2", "published"): 4,
    }


PERSONS = pa.table(
    {"a": ["1", "1", "2", "2"], "b": ["1", "2", "1", "2"], "c": ["1", "1", "1", "2"]}
)


def test_sets_show_their_discrimination_rate() -> None:
    chart = dv.rank(PERSONS, quasi_identifiers=["a", "b", "c"], up_to=2, threshold=0.9).chart()
    rows = {row["set"]: row for row in data(chart) if "set" in row}
    # H(a) = H(b) = 1 of log2 4 = 2 bits; a and b together identify everyone.
    assert rows["a"]["rate"] == pytest.approx(0.5)
    assert (rows["a + b"]["rate"], rows["a + b"]["kind"]) == (pytest.approx(1), "identifies")
    assert rows["c"]["rate"] == pytest.approx(entropy(1 / 4, 3 / 4) / 2)
    assert [row["at"] for row in data(chart) if "at" in row] == [0.9]


def test_known_columns_is_a_band_over_all_sets_of_a_size() -> None:
    rows = data(
        dv.charts.known_columns(dv.rank(PERSONS, quasi_identifiers=["a", "b", "c"], up_to=2))
    )
    by_size = {
        row["columns"]: (row["low"], row["middle"], row["high"], row["sets"]) for row in rows
    }
    # Unique by c: the last. By a + b: all. By a + c and b + c: the two who share the value that the
    # last one has.
    assert by_size == {1: (0, 0, 0.25, 3), 2: (0.5, 0.5, 1, 3), 3: (1, 1, 1, 1)}
    assert "not counted" not in chart_text(
        dv.charts.known_columns(dv.rank(PERSONS, quasi_identifiers=["a", "b", "c"], up_to=2))
    )
    ranked = dv.rank(PERSONS, quasi_identifiers=["a", "b", "c"], up_to=1)
    assert "Sets of 2 to 2 columns were not counted; all 3 are one set." in chart_text(
        dv.charts.known_columns(ranked)
    )
    with pytest.raises(BadInput, match="not every set was counted"):
        dv.charts.known_columns(dv.rank(PERSONS, quasi_identifiers=["a", "b"], prune=True))


def test_known_columns_shows_the_discrimination_rate_if_nobody_is_unique() -> None:
    """Two of four people share each value of a, and likewise of b.

    Each column has one of the two bits that identify a person. Both columns are equally
    identifying.
    """
    pairs = pa.table({"a": ["1", "1", "2", "2"], "b": ["x", "x", "y", "y"]})
    rows = data(dv.charts.known_columns(dv.rank(pairs, quasi_identifiers=["a", "b"])))
    assert [(row["columns"], row["low"], row["middle"], row["high"]) for row in rows] == [
        (1, 0.5, 0.5, 0.5),
        (2, 0.5, 0.5, 0.5),
    ]


def test_growing_sets_are_a_line() -> None:
    rows = data(dv.growing(PERSONS, quasi_identifiers=["c", "a", "b"]).chart())
    assert [(row["columns"], row["middle"]) for row in rows] == [(1, 0.25), (2, 0.5), (3, 1.0)]


def test_the_front_has_the_points_that_none_beats_in_both() -> None:
    people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
    front = dv.tradeoff(
        people, "k_anonymity", quasi_identifiers="zip", hierarchies={"zip": {"prefix": [3]}}
    )
    rows = data(front.chart())
    # As computed in the example of dv.tradeoff.
    assert sorted((row["x"], round(row["y"], 3), row["kind"]) for row in rows) == [
        (1, 0, "front"),
        (2, 0.333, "front"),
        (4, 1, "front"),
    ]
    two = dv.tradeoff(
        people,
        ["k_anonymity", "uniques"],
        quasi_identifiers="zip",
        hierarchies={"zip": {"prefix": [3]}},
    )
    # All four are unique, then pairs, then one class of all.
    assert sorted((row["x"], row["y"], round(row["lost"], 3)) for row in data(two.chart())) == [
        (1, 4, 0),
        (2, 0, 0.333),
        (4, 0, 1),
    ]


@pytest.mark.slow
def test_the_front_says_how_many_choices_it_leaves_out() -> None:
    from dataclasses import replace

    people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
    front = dv.tradeoff(people, "k_anonymity", quasi_identifiers="zip")
    many = replace(
        front, points=(*front.points, *[replace(front.points[0], on_front=False)] * 9_000)
    )
    chart = dv.charts.front(many)
    assert len(data(chart)) <= 3_000 + len(front.points)
    assert re.search(
        rf"Shown are the [\d,]+ of {9_000 + len(front.points):,} choices on the line",
        chart_text(chart),
    )


def test_distributions_before_and_after() -> None:
    people = pa.table({"zip": ["4761", "4762", "4791", "4791", "5000"]})
    policy = {"k_anonymity": 2, "suppression": 0.2, "hierarchies": {"zip": {"prefix": [2]}}}
    release = dv.generalize(people, policy=policy, quasi_identifiers="zip")
    chart = dv.charts.distributions(release)
    rows = data(chart)
    shares = {row["value"]: row["share"] for row in rows}
    assert shares == pytest.approx(
        {"4761": 0.2, "4762": 0.2, "4791": 0.4, "5000": 0.2, "47**": 0.8}
    )
    assert "1 of 5 people were left out." in chart_text(chart)


def test_shares_of_a_weighted_column_sum_to_one() -> None:
    people = pa.table(
        {"zip": ["1", "1", "2", "2"], "s": ["a", "b", "a", "a"], "w": [10, 30, 30, 30]}
    )
    release = dv.generalize(
        people, policy={"k_anonymity": 2}, quasi_identifiers="zip", sensitive="s", weight="w"
    )
    # equal before and after, and Altair stores it once
    rows = data(dv.charts.distributions(release, "s"))
    assert {row["value"]: row["share"] for row in rows} == pytest.approx({"a": 0.7, "b": 0.3})


def test_utility_shows_distances_and_associations_counted_by_hand() -> None:
    """[20, 30) stands for one record each of 20 and 25, * for half a record of four ages each.

    The distance is 1/4. Cramer's V falls from 1 to sqrt(1/3).
    """
    people = pa.table({"age": [20, 25, 40, 45], "disease": ["flu", "flu", "cold", "cold"]})
    coarse = pa.table({"age": ["[20, 30)", "[20, 30)", "*", "*"], "disease": people["disease"]})
    rows = data(dv.utility(people, coarse, queries=0).chart())
    assert [(row["what"], row["value"]) for row in rows if "when" not in row] == [
        ("age", 0.25),
        ("disease", 0.0),
    ]
    assert [row["value"] for row in rows if "when" in row] == pytest.approx([1.0, math.sqrt(1 / 3)])


def test_groups_show_sizes_and_levels_against_requirements() -> None:
    people = pa.table(
        {"age": [30, 33, 45, 42], "job": ["T", "E", "E", "T"], "salary": [45, 60, 47, 50]}
    )
    release = dv.anatomize(people, sensitive="salary", beta="1/2", tables=2)
    rows = data(release.chart())
    assert {row["size"]: row["groups"] for row in rows if "groups" in row} == {"2": 2}
    levels = {
        row["level"]: (row["reached"], row["bound"], row["kind"]) for row in rows if "level" in row
    }
    assert levels["a sensitive value (beta)"] == (0.5, 0.5, "holds")
    assert levels["whose record it is (alpha)"][1:] == (None, "no promise")


def test_a_timeline_rises_with_true_and_falls_with_false_records() -> None:
    rows = {
        row["record"]: row
        for row in data(dv.dossier.timeline(SEEN, ALICE, operator=MERGED).chart())
    }
    # 2 |r & p| / (|r| + |p|) of the records merged so far.
    assert rows["shop"]["leakage"] == pytest.approx(2 * 2 / (2 + 4))
    assert rows["bank"]["leakage"] == pytest.approx(2 * 3 / (3 + 4))
    assert rows["forum"]["leakage"] == pytest.approx(2 * 3 / (4 + 4))
    assert [rows[name]["kind"] for name in ("shop", "bank", "forum")] == [
        "tells more",
        "tells more",
        "misleads",
    ]


def test_disinformation_shows_its_effect_and_its_cost() -> None:
    chosen = dv.dossier.choose_disinformation(SEEN[:1], ALICE, DECOYS, budget=2, operator=MERGED)
    rows = data(chosen.chart())
    # {N, A, A'} against {N, A, P, Z}.
    assert {row["when"]: row["leakage"] for row in rows if "when" in row} == pytest.approx(
        {"before": 4 / 6, "with the chosen records": 4 / 7}
    )
    assert [(row["record"], row["cost"]) for row in rows if "cost" in row] == [("decoy", 2)]
    assert [row["at"] for row in rows if "at" in row] == pytest.approx([4 / 7])


def test_records_people_and_labels_are_bars() -> None:
    rows = data(dv.dossier.set_leakage(SEEN, ALICE).chart())
    assert sorted(row["value"] for row in rows) == pytest.approx([2 * 1 / 6, 4 / 6, 4 / 6])
    rows = data(dv.dossier.attack(SEEN[:2], ALICE, MERGED).chart())
    assert [row["value"] for row in rows] == pytest.approx([6 / 7])


# --- hostile text, large and empty results --------------------------------------------------------
HOSTILE = [
    "</script><script>alert(1)</script>",
    "a.b",
    "a[0]",
    "a\\'b\"c",
    "datum.x",
    "{'signal': 'alert(1)'}",
    "\x00\x1b[31m",
    "\u202eevil",
    "é" * 300,
    "",
    " ",
    "null",
    "line\nbreak",
    "<svg onload=alert(1)>",
    "&lt;",
    "${1}",
    "%s",
]


def hostile() -> Iterator[Any]:
    column = "bad.col[0]'\"\\</script>\u202e"
    cells = [text for text in HOSTILE for _ in range(2)] + [None, None]
    people = pa.table({column: cells, "s\n[1].x": cells[::-1]})
    roles: dict[str, Any] = {"quasi_identifiers": [column], "sensitive": "s\n[1].x"}
    measurement = dv.measure(people, **roles)
    yield measurement.chart()
    yield measurement.of_class(**{column: "</script><script>alert(1)</script>"}).chart()
    yield dv.charts.class_sizes(measurement)
    yield dv.charts.information(measurement, t=1)
    yield dv.check(people, {"distribution_leakage": 0.1}, **roles).chart()
    yield dv.rank(people, **roles).chart()
    yield dv.charts.known_columns(dv.rank(people, **roles))
    yield dv.charts.distributions(dv.generalize(people, policy={"k_anonymity": 2}, **roles))
    yield dv.tradeoff(people, "k_anonymity", **roles).chart()
    yield dv.compare(people, policies=[{"k_anonymity": 2}], **roles).chart()
    yield dv.utility(people, people, queries=5).chart()
    bad = [
        dv.dossier.Record.of({"N": text or "x"}, id=f"{text}{at}")
        for at, text in enumerate(HOSTILE)
    ]
    yield dv.dossier.timeline(bad, ALICE, operator=MERGED).chart()
    yield dv.dossier.set_leakage(bad, ALICE).chart()


@pytest.mark.slow
def test_no_text_of_a_table_becomes_a_field_name_or_a_script(tmp_path: Path) -> None:
    ours = re.compile(r"[a-z]\w*")
    for number, chart in enumerate(hostile()):
        specification = chart.to_dict()
        text = json.dumps({key: value for key, value in specification.items() if key != "datasets"})
        assert all(ours.fullmatch(name) for name in re.findall(r'"field": "([^"]*)"', text))
        assert '"signal"' not in text
        assert "alert(1)" not in "".join(
            re.findall(r'"(?:expr|filter|test|labelExpr)": "[^"]*"', text)
        )
        assert "</script" not in dv.charts.as_json(chart)
        svg = dv.charts.save(chart, tmp_path / f"{number}.svg").read_text(encoding="utf-8")
        assert "<script" not in svg
        assert "onload=alert(1)>" not in svg.replace("&gt;", "")
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e]", svg)


def test_values_that_look_alike_have_different_labels() -> None:
    people = pa.table({"zip": ["1"] * 4, "s": ["x" * 100, "x" * 101, "null", None]})
    class_result = dv.measure(people, quasi_identifiers="zip", sensitive="s").of_class(zip="1")
    assert len({row["value"] for row in data(class_result.chart())}) == 4


@pytest.mark.slow
def test_a_chart_of_thousands_of_classes_states_how_many_it_shows() -> None:
    people = pa.table({"n": list(range(5_000)), "s": ["a", "b"] * 2_500})
    measurement = dv.measure(people, quasi_identifiers="n", sensitive="s")
    assert len(data(measurement.chart())) == 2_000
    assert "Shown are the 2,000 of 5,000 classes that give away most." in chart_text(
        measurement.chart()
    )
    assert "Shown are the 20 of 5,000 classes that surprise most." in chart_text(
        dv.charts.information(measurement)
    )


def test_a_table_without_rows_raises_a_clear_error() -> None:
    empty = PATIENTS.slice(0, 0)
    with pytest.raises(BadInput, match=r"no (rows|classes|sensitive)"):
        dv.measure(empty, **ROLES).chart()
    with pytest.raises(BadInput, match="no rows"):
        dv.charts.class_sizes(dv.measure(empty, quasi_identifiers=QI))


def test_a_result_without_a_chart_raises_a_clear_error() -> None:
    with pytest.raises(BadInput, match="there is no picture of a Profile"):
        dv.profile(PATIENTS).chart()


@pytest.fixture(scope="module")
def every() -> dict[str, Any]:
    """Return one chart of each kind."""
    measurement = dv.measure(PATIENTS, **ROLES)
    ranked = dv.rank(PERSONS, quasi_identifiers=["a", "b", "c"], sensitive=[])
    release = dv.generalize(PATIENTS, policy={"k_anonymity": 3}, **ROLES)
    attacked = dv.attack(
        PATIENTS, truth=PATIENTS, knows=QI, sensitive=ROLES["sensitive"], subsets=2
    )
    return {
        "leakages": dv.check(PATIENTS, {"distribution_leakage": 0.4}, **ROLES).chart(),
        "before_and_after": measurement.of_class(zip="476**", age="2*").chart(),
        "class_sizes": dv.charts.class_sizes(measurement),
        "information": dv.charts.information(measurement, t=0.5, l_value=1.5),
        "sets": ranked.chart(),
        "known_columns": dv.charts.known_columns(ranked),
        "distributions": dv.charts.distributions(release),
        "front": dv.tradeoff(PATIENTS, "entropy_leakage", **ROLES).chart(),
        "groups": dv.anatomize(PATIENTS, beta="5/9", **ROLES).chart(),
        "timeline": dv.dossier.timeline(SEEN, ALICE, operator=MERGED).chart(),
        "disinformation": dv.dossier.choose_disinformation(
            SEEN, ALICE, DECOYS, budget=2, operator=MERGED
        ).chart(),
        "records": dv.dossier.set_leakage(SEEN, ALICE).chart(),
        "reproduction": reproduction.compare_distances(pairs=2, steps=10).chart(),
        "independence": dv.charts.independence(measurement.independence()),
        "compared": dv.compare([PATIENTS, release]).chart(),
        "after_each_release": dv.compose(
            [PATIENTS.select(["zip", "disease"]), PATIENTS], truth=PATIENTS, **ROLES
        ).chart(),
        "what_is_left": dv.utility(PATIENTS, release, queries=5).chart(),
        "success": attacked.chart(),
        "knowledge": dv.charts.knowledge(attacked),
    }


FILES = {"as_json", "check_path", "drawing_script", "save"}


def test_every_kind_of_chart_is_tested(every: dict[str, Any]) -> None:
    assert set(every) - {"reproduction"} == set(dv.charts.__all__) - FILES


@pytest.mark.parametrize("name", sorted(set(dv.charts.__all__) - FILES))
def test_every_chart_is_drawn(name: str, every: dict[str, Any], tmp_path: Path) -> None:
    svg = dv.charts.save(every[name], tmp_path / "x.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "NaN" not in svg
    drawn = dv.charts.save(every[name], tmp_path / "x.png").read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert len(drawn) > 5_000


@pytest.mark.slow
def test_a_page_makes_no_request(every: dict[str, Any], tmp_path: Path) -> None:
    page = dv.charts.save(every["leakages"], tmp_path / "x.HTML").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert "unsafe-eval" not in page
    assert page.count("<script") == 3
    assert "src=" not in page.partition("<script>")[0]


def test_a_chart_is_written_completely_or_not_at_all(
    every: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x.svg"
    target.write_text("before", encoding="utf-8")
    monkeypatch.setattr(
        Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(BadInput, match=r"cannot be written to .*: No space left on device"):
        dv.charts.save(every["leakages"], target)
    assert target.read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["x.svg"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.gif", "a chart cannot be written as '.gif'. use .svg, .png or .html"),
        (
            "x",
            "a chart cannot be written to 'x', whose name has no ending. use .svg, .png or .html",
        ),
        (
            "nowhere/x.svg",
            "the chart cannot be written to nowhere/x.svg: there is no folder nowhere",
        ),
    ],
)
def test_an_invalid_path_raises_a_one_line_error(name: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        dv.charts.save(dv.measure(PATIENTS, **ROLES).chart(), name)
    assert str(error.value) == message
