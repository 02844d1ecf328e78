# SPDX-License-Identifier: Apache-2.0
"""Rules that build hierarchies: each by hand, its errors, and the forms that a user may write."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from divulge.errors import BadInput
from divulge.hierarchies import Hierarchy, build_hierarchies, build_hierarchy

NAN = float("nan")


def rows(spec: Any, values: list[Any]) -> dict[str | None, tuple[str | None, ...]]:
    return dict(build_hierarchy("x", spec, values).rows)


def test_widths_count_from_zero_and_are_left_closed() -> None:
    assert rows({"intervals": [5, 10, 20]}, [19, 20, -1]) == {
        "19": ("19", "[15, 20)", "[10, 20)", "[0, 20)", "*"),
        "20": ("20", "[20, 25)", "[20, 30)", "[20, 40)", "*"),
        "-1": ("-1", "[-5, 0)", "[-10, 0)", "[-20, 0)", "*"),
    }


def test_a_single_width_and_another_start_are_allowed() -> None:
    assert rows({"intervals": 10, "start": 18}, [17, 18, 27, 28]) == {
        "17": ("17", "[8, 18)", "*"),
        "18": ("18", "[18, 28)", "*"),
        "27": ("27", "[18, 28)", "*"),
        "28": ("28", "[28, 38)", "*"),
    }


def test_decimals_on_a_bound_land_in_the_range_that_begins_there() -> None:
    # In binary floats 0.3 // 0.1 is 2.
    assert rows({"intervals": [0.1]}, [0.3, 0.7, Decimal("1.10")]) == {
        "0.3": ("0.3", "[0.3, 0.4)", "*"),
        "0.7": ("0.7", "[0.7, 0.8)", "*"),
        "1.10": ("1.10", "[1.1, 1.2)", "*"),
    }


def test_top_and_bottom_cut_the_adjacent_ranges() -> None:
    built = rows({"intervals": [5, 20], "bottom": 18, "top": 90}, [17, 18, 19, 89, 90, 99])
    assert built["17"] == ("17", "<18", "<18", "*")
    assert built["18"] == ("18", "[18, 20)", "[18, 20)", "*")
    assert built["89"] == ("89", "[85, 90)", "[80, 90)", "*")
    assert built["90"][1:] == built["99"][1:] == (">=90", ">=90", "*")


def test_cut_points_make_ranges_with_open_ends() -> None:
    built = rows({"cuts": [[18, 30, 65], [30]]}, [17, 18, 64.5, 65])
    assert built == {
        "17": ("17", "<18", "<30", "*"),
        "18": ("18", "[18, 30)", "<30", "*"),
        "64.5": ("64.5", "[30, 65)", ">=30", "*"),
        "65": ("65", ">=65", ">=30", "*"),
    }
    assert rows({"cuts": [18]}, [17])["17"] == ("17", "<18", "*")


def test_top_and_bottom_coding_leaves_the_middle_as_it_is() -> None:
    assert rows({"bottom": 20, "top": 90}, [19, 20, 90]) == {
        "19": ("19", "<20", "*"),
        "20": ("20", "20", "*"),
        "90": ("90", ">=90", "*"),
    }


def test_numbers_that_are_not_finite_keep_their_text() -> None:
    assert rows({"intervals": [5]}, [NAN, 1])["nan"] == ("nan", "nan", "*")


def test_prefixes_hide_one_more_character_on_each_level() -> None:
    assert rows({"prefix": True}, ["47677", "476"]) == {
        "47677": ("47677", "4767*", "476**", "47***", "4****", "*"),
        "476": ("476", "476", "476", "47*", "4**", "*"),
    }
    assert rows({"prefix": [3]}, [47677])["47677"] == ("47677", "476**", "*")
    assert rows({"prefix": [1, 0]}, ["ab"])["ab"] == ("ab", "a*", "*")
    assert rows({"prefix": True}, ["a", "b"])["a"] == ("a", "*")


def test_dates_become_periods() -> None:
    every = {"dates": ["day", "month", "quarter", "year", "decade"]}
    assert rows(every, [dt.date(1999, 12, 31)])["1999-12-31"] == (
        ("1999-12-31", "1999-12-31", "1999-12", "1999-Q4", "1999", "1990s", "*")
    )
    assert rows(every, [dt.datetime(2000, 4, 1, 23, 59, tzinfo=dt.UTC)])[
        "2000-04-01 23:59:00+00:00"
    ][1:] == (("2000-04-01", "2000-04", "2000-Q2", "2000", "2000s", "*"))
    assert rows({"dates": "year", "format": "%d.%m.%Y"}, ["29.02.2024"])["29.02.2024"] == (
        "29.02.2024",
        "2024",
        "*",
    )


def test_a_time_keeps_the_day_that_it_writes() -> None:
    assert rows({"dates": ["day"]}, ["2024-01-01 00:30:00+02:00"]) == {
        "2024-01-01 00:30:00+02:00": ("2024-01-01 00:30:00+02:00", "2024-01-01", "*")
    }


def test_neighbours_on_a_scale_are_grouped_whether_they_occur_or_not() -> None:
    assert rows({"order": ["A", "B", "C", "D", "E"], "groups": [2, 4]}, ["A"]) == {
        "A": ("A", "[A, B]", "[A, D]", "*"),
        "B": ("B", "[A, B]", "[A, D]", "*"),
        "C": ("C", "[C, D]", "[A, D]", "*"),
        "D": ("D", "[C, D]", "[A, D]", "*"),
        "E": ("E", "E", "E", "*"),
    }
    assert rows({"order": True}, [10, 9, 100])["10"] == ("10", "[9, 10]", "*")
    assert rows({"order": True}, ["b", "a", "100"])["a"] == ("a", "[100, a]", "*")


def test_frequent_values_keep_their_name() -> None:
    assert rows({"keep": [["a", "b"], ["a"]], "rest": "else"}, ["a", "b", "c"]) == {
        "a": ("a", "a", "a", "*"),
        "b": ("b", "b", "else", "*"),
        "c": ("c", "else", "else", "*"),
    }


TREE = {"Technical": ["Tech-support", {"Craft": ["Repair"]}], "Other": ["Other"]}
TEXT = "Technical\n  Tech-support\n  Craft\n    Repair\n\n# the rest\nOther\n  Other\n"


@pytest.mark.parametrize("given", [TREE, TEXT])
def test_a_taxonomy_is_cut_one_step_nearer_to_the_root_on_each_level(given: Any) -> None:
    assert rows({"taxonomy": given}, ["Repair", None]) == {
        "Tech-support": ("Tech-support", "Tech-support", "Technical", "*"),
        "Repair": ("Repair", "Craft", "Technical", "*"),
        "Other": ("Other", "Other", "Other", "*"),
    }


def test_a_group_may_occur_as_a_value() -> None:
    assert rows({"taxonomy": TREE}, ["Craft"])["Craft"] == ("Craft", "Craft", "Technical", "*")


def test_files_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "job.csv").write_text("Sales;Nontechnical;Any\n", encoding="utf-8")
    (tmp_path / "job.txt").write_text(TEXT, encoding="utf-8")
    assert rows(tmp_path / "job.csv", []) == {"Sales": ("Sales", "Nontechnical", "Any")}
    assert build_hierarchy("job", {"file": "job.csv"}, [], folder=tmp_path).height == 2
    assert build_hierarchy("job", "job.txt", [], folder=tmp_path).rows["Repair"][-1] == "*"
    filled = build_hierarchy(
        "job", {"file": "job.csv", "other": "Rest"}, ["Sales", "Cook"], folder=tmp_path
    )
    assert filled.rows["Cook"] == ("Cook", "Rest", "Any")
    topped = build_hierarchy("job", {"file": "job.csv", "suppress": True}, [], folder=tmp_path)
    assert topped.rows["Sales"] == ("Sales", "Nontechnical", "Any", "*")


def test_rows_may_be_given_one_by_one() -> None:
    assert rows({"rows": {"a": ["A", "*"], "b": ["B", "*"]}}, ["a"])["a"] == ("a", "A", "*")


def test_values_that_do_not_fit_are_refused_together_or_get_the_other_label() -> None:
    with pytest.raises(BadInput, match="'x' meets 2 values that are no number: 'n/a', 'old'"):
        rows({"intervals": [5]}, [3, "n/a", "old"])
    with pytest.raises(BadInput, match="1 value that is no date: '2023-02-29'"):
        rows({"dates": ["year"]}, ["2023-02-29"])
    with pytest.raises(BadInput, match="1 value that is not in the order: 'F'"):
        rows({"order": ["A", "B"]}, ["F"])
    with pytest.raises(BadInput, match="1 value that is not in the taxonomy: 'Cook'"):
        rows({"taxonomy": TREE}, ["Cook"])
    assert rows({"intervals": [5, 10], "other": "unknown"}, ["n/a"])["n/a"] == (
        "n/a",
        "unknown",
        "unknown",
        "*",
    )


def test_suppression_is_on_top_once_and_may_be_left_out() -> None:
    assert rows({"suppress": True}, ["a"]) == {"a": ("a", "*")}
    assert rows({"intervals": [5], "suppress": False}, [3]) == {"3": ("3", "[0, 5)")}
    assert rows({"taxonomy": {"*": ["a", "b"]}}, [])["a"] == ("a", "*")
    # A level that suppresses some values only does not replace the one that suppresses all of them.
    some = rows({"intervals": [5], "other": "*"}, [3, "n/a"])
    assert some == {"3": ("3", "[0, 5)", "*"), "n/a": ("n/a", "*", "*")}


def test_a_column_of_nulls_has_a_hierarchy() -> None:
    assert rows({"intervals": [5]}, [None]) == {None: (None, None, "*")}
    assert rows({"prefix": True}, []) == {None: (None, None, "*")}


def test_the_command_line_writes_toml() -> None:
    assert rows("{intervals = [5], top = 90}", [91]) == {"91": ("91", ">=90", "*")}


def test_a_ready_hierarchy_stays_as_it_is() -> None:
    ready = Hierarchy("x", {"a": ("a", "*")})
    assert build_hierarchy("x", ready, ["b"]) is ready


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"intervals": [5, 8]}, "multiple of the one before"),
        ({"intervals": [5, 5]}, "multiple of the one before"),
        ({"intervals": []}, "gives no width"),
        ({"intervals": [0]}, "0 wide"),
        ({"intervals": ["wide"]}, "intervals = 'wide' is not a number"),
        ({"intervals": True}, "is not a number"),
        ({"intervals": [5], "bottom": 9, "top": 9}, "not below"),
        ({"cuts": [30, 18]}, "ascending"),
        ({"cuts": [[18, 30], [20]]}, "lacks: 20"),
        ({"cuts": [[18], [18]]}, "same cut points"),
        ({"cuts": []}, "at least one cut point"),
        ({"prefix": [2, 3]}, "not shorter"),
        ({"prefix": "yes"}, "neither true nor"),
        ({"prefix": [-1]}, "how many characters"),
        ({"dates": ["year", "month"]}, "'month' is not coarser than 'year'"),
        ({"dates": ["monht"]}, "did you mean 'month'"),
        ({"dates": []}, "names no period"),
        ({"order": ["A", "A"]}, "'A' twice"),
        ({"order": []}, "names no value"),
        ({"order": "A"}, "not a list of values"),
        ({"order": ["A"], "groups": 1}, "how many neighbours"),
        ({"order": ["A"], "groups": [2, 3]}, "multiple of the one before"),
        ({"order": ["A"], "groups": "2"}, "not a number of neighbours"),
        ({"taxonomy": {"A": ["x"], "B": ["x"]}}, "'x' in two places"),
        ({"taxonomy": "A\n    x\n  y\n"}, "line 3"),
        ({"taxonomy": {}}, "empty"),
        ({"taxonomy": 3}, "neither a table"),
        ({"keep": [["a"], ["b"]]}, "leave values out"),
        ({"keep": ["a"], "rest": "a"}, "both a value"),
        ({"keep": []}, "names no value"),
        ({"interval": [5]}, "did you mean 'intervals'"),
        ({"order": ["A"], "start": 3}, "'start' goes with intervals"),
        ({"nothing": True}, "'nothing' has no meaning here"),
        ({"top": 90, "coding": True}, "'coding' has no meaning here"),
        ({"intervals": [5], "prefix": True}, "intervals and prefix"),
        ({"file": "x.csv", "intervals": [5]}, "beside 'file'"),
        ({"file": "nowhere.csv"}, "no hierarchy file"),
        ({"file": "nowhere.txt"}, "no hierarchy file"),
        ({"rows": {"a": "*"}}, "ancestors"),
        ({"intervals": [5], "suppress": "no"}, "neither true nor false"),
        ("{intervals = }", "not a TOML table"),
    ],
)
def test_invalid_rules_raise_an_error_with_a_reason(spec: Any, told: str) -> None:
    with pytest.raises(BadInput) as refused:
        build_hierarchy("x", spec, [])
    assert told in str(refused.value)


def test_one_error_reports_the_problems_of_all_columns() -> None:
    with pytest.raises(BadInput) as refused:
        build_hierarchies(
            {"age": {"intervals": [5]}, "birth": {"dates": ["year"]}, "zip": {"prefix": True}},
            {"age": ["old"], "birth": ["long ago"], "zip": ["1"]},
        )
    assert "'age' meets" in str(refused.value)
    assert "'birth' meets" in str(refused.value)
    assert "zip" not in str(refused.value)
    assert sorted(build_hierarchies({"zip": {"prefix": True}}, {"zip": ["12"]})) == ["zip"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{rows = " + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
        ("{top = " + "9" * 5000 + "}", "not a TOML table"),
        ("{top = 0x" + "f" * 5000 + "}", "more than 64 bits"),
        ("{top = 1, top = 2}", "not a TOML table"),
        ("{top = 90}\nbottom = 2", "more than one TOML table"),
        ("{top = inf}", "hierarchy of 'age'"),
        ('{file = "\\u0000"}', "cannot be the name of a hierarchy file"),
        ("{intervals = [nan]}", "hierarchy of 'age'"),
        ("{intervals = [1e300, 1e-300]}", "hierarchy of 'age'"),
        ("{cuts = [[1, inf]]}", "hierarchy of 'age'"),
    ],
)
def test_rules_that_no_number_can_follow_are_one_line(text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told) as refused:
        build_hierarchy("age", text, ["34", "41"])
    assert len(str(refused.value)) < 1000


def test_thousands_of_digits_are_no_number() -> None:
    with pytest.raises(BadInput, match="2 values that are no number"):
        build_hierarchy("age", {"intervals": [5]}, ["9" * 5000, "1e9999", "34"])
