# SPDX-License-Identifier: Apache-2.0
"""Conditions: what is let through, what is refused, and that a refusal is one clear line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from divulge.anatomize.condition import parse, write
from divulge.anatomize.terms import complement, split
from divulge.engines.duckdb import DuckDBEngine
from divulge.errors import BadInput

COLUMNS = ["age", "Job", "salary", "my col", "when"]
PLACE = {"age": 0, "Job": 1, "salary": 2, "my col": 1, "when": 0}


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    started = DuckDBEngine()
    yield started
    started.close()


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("age > 30", {"age"}),
        ("AGE > 30 and job = 'x'", {"age", "Job"}),
        ("\"my col\" like '%x' or Job not ilike 'y_'", {"my col", "Job"}),
        ("age in (1, 2) and age not in (3) and age between 1 and 2", {"age"}),
        ("Job is null or salary is not null", {"Job", "salary"}),
        ("case when age > 3 then true else Job = 'x' end", {"age", "Job"}),
        ("cast(age as varchar) = '3' and salary::double / 2 > 1.5", {"age", "salary"}),
        ('"when" >= date \'2020-01-01\' and year("when") = 2020', {"when"}),
        ("coalesce(age, 0) + abs(salary) * -1 <> 3 % 2", {"age", "salary"}),
        ("age is distinct from salary", {"age", "salary"}),
        ("true", set()),
        ("age = 1 -- a comment", {"age"}),
    ],
)
def test_expressions_over_released_columns_are_let_through(engine: DuckDBEngine, text: str, columns: set[str]) -> None:
    assert parse(engine, text, COLUMNS).columns == columns


@pytest.mark.parametrize(
    "text",
    [
        "",
        "age >",
        "age = 1; drop table t",
        "age = 1; select 2",
        "age = 1 union select 1",
        "age = 1 group by 1",
        "age = 1 order by 1",
        "age = 1 limit 1",
        "age = 1 qualify true",
        "age = (select 1)",
        "age in (select 1)",
        "exists (select 1 from read_csv('/etc/passwd'))",
        "age = any([1, 2])",
        "getenv('HOME') = 'x'",
        "current_setting('memory_limit') = age",
        "random() > 0.5",
        "nextval('s') = age",
        "sum(age) > 3",
        "row_number() over () = 1",
        "count(*) filter (where true) > 1",
        "read_text('x') = 'y'",
        "age = ?",
        "age = $name",
        "* > 1",
        "columns(*) > 1",
        "#1 = 2",
        "list_transform([1], x -> x) = age",
        "Job collate nocase = 'x'",
        "main.age(1) = 2",
        "grouping(age) = 1",
        "[1, 2][1] = age",
        "{'a': 1}.a = age",
        "t.age = 1",
        "name = 'Alice'",
        "rowid = 1",
    ],
)
def test_anything_else_is_refused_in_one_line(engine: DuckDBEngine, text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse(engine, text, COLUMNS)
    assert "\n" not in str(refused.value)


def test_a_column_that_was_not_released_names_the_nearest(engine: DuckDBEngine) -> None:
    with pytest.raises(BadInput, match="did you mean 'salary'"):
        parse(engine, "salery = 1", COLUMNS)


def test_what_runs_is_written_from_the_tree_with_exact_names(engine: DuckDBEngine) -> None:
    asked = parse(engine, "JOB = 'x; drop table t --' and \"MY COL\" > 'it''s'", COLUMNS)
    assert write(engine, asked.tree) == "((Job = 'x; drop table t --') AND (\"my col\" > 'it''s'))"


def test_a_conjunction_is_split_by_table(engine: DuckDBEngine) -> None:
    asked = parse(engine, "age > 1 and Job = 'x' and not (salary = 1 or age > 9)", COLUMNS)
    terms = split(asked.tree, PLACE)
    assert {table: write(engine, tree) for table, tree in terms.own.items()} == {
        0: "((age > 1) AND (NOT (age > 9)))",
        1: "(Job = 'x')",
        2: "(NOT (salary = 1))",
    }
    assert terms.rest is None
    assert not terms.features


def test_what_spans_tables_is_left_over_with_names_for_its_parts(engine: DuckDBEngine) -> None:
    asked = parse(engine, "age > 1 and (age * 2 < salary or Job = 'x' or age * 2 = 4)", COLUMNS)
    terms = split(asked.tree, PLACE)
    assert set(terms.own) == {0}
    assert terms.rest is not None
    assert write(engine, terms.rest) == "((f0 < f1) OR f2 OR f3)"
    assert {
        table: {name: write(engine, tree) for name, tree in parts.items()} for table, parts in terms.features.items()
    } == {
        0: {"f0": "(age * 2)", "f3": "((age * 2) = 4)"},
        1: {"f2": "(Job = 'x')"},
        2: {"f1": "salary"},
    }


def test_the_complement_of_an_or_over_tables_is_an_and(engine: DuckDBEngine) -> None:
    asked = parse(engine, "age > 1 or Job = 'x'", COLUMNS)
    opposite = complement(asked.tree, PLACE)
    assert opposite is not None
    assert write(engine, opposite) == "(((age > 1) IS DISTINCT FROM true) AND ((Job = 'x') IS DISTINCT FROM true))"
    assert complement(parse(engine, "age > 1 or age = 0", COLUMNS).tree, PLACE) is None
    assert complement(parse(engine, "age > 1 and Job = 'x'", COLUMNS).tree, PLACE) is None
