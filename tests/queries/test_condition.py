# SPDX-License-Identifier: Apache-2.0
"""Conditions: accepted and rejected expressions; a rejection is one clear line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.queries.condition import complement, parse, quoted_excerpt, split_by_table, write

COLUMNS = ["age", "Job", "salary", "my col", "when"]
PLACE = {"age": 0, "Job": 1, "salary": 2, "my col": 1, "when": 0}


ROWS = """(SELECT * FROM
    (VALUES (1), (35), (NULL)) AS a (age), (VALUES ('x'), ('it''s'), ('Wy'), (NULL)) AS b ("Job"),
    (VALUES (0), (7), (NULL)) AS c (salary),
    (VALUES ('ax'), (NULL)) AS d ("my col"), (VALUES (DATE '2020-02-29'), (NULL)) AS e ("when")) AS t"""  # noqa: E501


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
        ("age = 1;", {"age"}),
        # Precedence of operators: the text itself and the SQL written from the tree must have the
        # same results in DuckDB.
        (
            "not age = 1 and salary > 1 or Job = 'x' and not salary is null",
            {"age", "Job", "salary"},
        ),
        ("-age ^ 2 = 1 or 2 + 3 * age // 2 - 1 < age % 3 - -salary", {"age", "salary"}),
        ("'a' || 1 + 2 || Job = Job or - age::bigint < 0", {"Job", "age"}),
        (
            "not age between 1 and 2 + 3 and not Job in ('x', 'y') and Job like '%' || 'y'",
            {"age", "Job"},
        ),
        ("(age > 1) = (salary > 1) or (age > 1) is not true", {"age", "salary"}),
        ("age in (1, null) or age not in (35, null)", {"age"}),
        ("Job glob 'x*' or Job similar to 'x|y' or Job ~ 'W' or Job !~~ 'x'", {"Job"}),
        (
            (
                "prefix(Job, 'it') or ends_with(Job, 'y') or contains(Job, 't') or "
                "starts_with(Job, "
                "'x')"
            ),
            {"Job"},
        ),
        (
            "regexp_matches(Job, 'W.') or regexp_full_match(Job, 'x') or position('t' in Job) = 2",
            {"Job"},
        ),
        (
            (
                "substr(Job, 2) = 't''s' or left(Job, 1) = upper('w') or trim(leading 'x' from "
                "Job) "
                "= 'y'"
            ),
            {"Job"},
        ),
        (
            "date_trunc('month', \"when\") = '2020-02-01' and date_part('day', \"when\") = 29",
            {"when"},
        ),
        (
            (
                'extract(year from "when") = 2020 and "when"::timestamp < timestamp \'2021-01-01 '
                "00:00:00'"
            ),
            {"when"},
        ),
        (
            "log10(age) > 1 or round(age / 2, 1) = 17.5 or greatest(age, salary, 3) = 7",
            {"age", "salary"},
        ),
        (
            "case age when 1 then 'a' else 'b' end = 'a' and try_cast(Job as int) is null",
            {"age", "Job"},
        ),
        ("age = 1 -- a comment", {"age"}),
    ],
)
def test_expressions_over_released_columns_are_accepted(
    engine: DuckDBEngine, text: str, columns: set[str]
) -> None:
    tree = parse(text, COLUMNS).tree
    assert {node.name for node in tree.walk() if node.key == "column"} == columns
    found = engine.query(
        f"SELECT ({text.rstrip(';')}\n) AS asked, {write(tree)} AS written FROM {ROWS}"
    )
    assert found["written"].to_pylist() == found["asked"].to_pylist()


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
        "age > 1 > 0",
        "Job like 'x' = true",
        "age in salary",
        "age in ()",
        "age = interval 3 day",
        "(age, salary) = (1, 2)",
        "Job = E'\\x27 or true'",
        'age::"int); drop table t" = 1',
        "age::int[] = age",
        "age::enum('a') = 'a'",
        "date_trunc('mon''th', \"when\") = 1",
        "extract('ye''ar' from \"when\") = 1",
        "log(age) = 1",
        "Job = 'x",
        '"age = 1',
        "age = 1 /*",
        "age = 1) or (age = 2",
        pytest.param("(" * 500 + "age = 1" + ")" * 500, id="deep parentheses"),
        pytest.param("not " * 2000 + "true", id="many nots"),
    ],
)
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse(text, COLUMNS)
    assert "\n" not in str(refused.value)


def test_a_tree_that_is_nested_too_deeply_is_not_written() -> None:
    with pytest.raises(BadInput, match="nested too deeply"):
        write(parse("age" + " + 1 - 1" * 2000 + " > 1", COLUMNS).tree)


@pytest.mark.slow
def test_a_long_condition_is_not_nested_too_deeply(engine: DuckDBEngine) -> None:
    """The condition excludes the odd numbers below 6000 but 35; of 1, 35 and null, 35 matches."""
    text = " or ".join(f"age = {number}" for number in range(1, 6000, 2) if number != 35)
    terms = split_by_table(parse(f"not ({text})", COLUMNS).tree, PLACE)
    found = engine.query(
        f"SELECT DISTINCT age FROM {ROWS} WHERE {write(terms.table_conditions[0])}"
    )
    assert found["age"].to_pylist() == [35]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("age in (select 1)", "holds (sub)?(query|select)"),
        ("getenv('HOME') = 'x'", "holds the function getenv"),
        ("age = 1 limit 1", "not understood at 'limit'.* double quotes"),
        ("age = 1; select 2", "more than one condition|not understood"),
        (" ", "no condition"),
    ],
)
def test_a_refusal_names_what_is_refused(text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        parse(text, COLUMNS)


def test_a_column_that_was_not_released_names_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'salary'"):
        parse("salery = 1", COLUMNS)


def test_a_name_that_two_columns_have_but_for_case_is_ambiguous() -> None:
    with pytest.raises(BadInput, match=r"'AGE', which could be any of 'age', 'Age'\. Write it as"):
        parse("AGE = 1", ["age", "Age"])
    assert write(parse("Age = 1", ["age", "Age"]).tree) == '"Age" = 1'


def test_sql_is_written_from_the_tree_with_exact_names() -> None:
    asked = parse("JOB = 'x; drop table t --' and \"MY COL\" > 'it''s'", COLUMNS)
    assert write(asked.tree) == "(\"Job\" = 'x; drop table t --') AND (\"my col\" > 'it''s')"


def test_a_conjunction_is_split_by_table() -> None:
    asked = parse("age > 1 and Job = 'x' and not (salary = 1 or age > 9)", COLUMNS)
    terms = split_by_table(asked.tree, PLACE)
    assert {table: write(tree) for table, tree in terms.table_conditions.items()} == {
        0: '"age" > 1 AND NOT "age" > 9',
        1: "\"Job\" = 'x'",
        2: 'NOT "salary" = 1',
    }
    assert terms.rest is None
    assert not terms.features


def test_a_condition_over_several_tables_is_the_rest_with_names_for_its_parts() -> None:
    asked = parse("age > 1 and (age * 2 < salary or Job = 'x' or age * 2 = 4)", COLUMNS)
    terms = split_by_table(asked.tree, PLACE)
    assert set(terms.table_conditions) == {0}
    assert terms.rest is not None
    assert write(terms.rest) == '"f0" < "f1" OR "f2" OR "f3"'
    assert {
        table: {name: write(tree) for name, tree in parts.items()}
        for table, parts in terms.features.items()
    } == {
        0: {"f0": '"age" * 2', "f3": '("age" * 2) = 4'},
        1: {"f2": "\"Job\" = 'x'"},
        2: {"f1": '"salary"'},
    }


def test_a_part_of_several_comparisons_of_one_table_gets_one_name() -> None:
    terms = split_by_table(parse("(age > 1 and age < 5) or Job = 'x'", COLUMNS).tree, PLACE)
    assert terms.rest is not None
    assert write(terms.rest) == '"f0" OR "f1"'
    assert {
        table: [write(tree) for tree in parts.values()] for table, parts in terms.features.items()
    } == {0: ['"age" > 1 AND "age" < 5'], 1: ["\"Job\" = 'x'"]}


def test_parentheses_are_not_doubled() -> None:
    assert write(parse("(age + 1) * 2 = (4)", COLUMNS).tree) == '(("age" + 1) * 2) = (4)'


def test_a_condition_of_80_characters_is_shown_whole_in_a_message() -> None:
    assert quoted_excerpt("x" * 80) == repr("x" * 80)
    assert quoted_excerpt("x" * 81) == repr("x" * 77 + "...")


def test_bytes_that_are_not_utf_8_are_reported() -> None:
    for code in (0xD800, 0xDC80, 0xDFFF):
        with pytest.raises(BadInput, match="bytes that are not UTF-8"):
            parse(f"Job = '{chr(code)}'", COLUMNS)


def test_code_points_next_to_surrogates_are_text() -> None:
    for sign in ("\ud7ff", "\ue000"):
        assert write(parse(f"Job = '{sign}'", COLUMNS).tree) == f"\"Job\" = '{sign}'"


def test_the_complement_of_an_or_over_tables_is_an_and() -> None:
    asked = parse("age > 1 or Job = 'x'", COLUMNS)
    opposite = complement(asked.tree, PLACE)
    assert opposite is not None
    assert (
        write(opposite)
        == '("age" > 1) IS DISTINCT FROM TRUE AND ("Job" = \'x\') IS DISTINCT FROM TRUE'
    )
    assert complement(parse("age > 1 or age = 0", COLUMNS).tree, PLACE) is None
    assert complement(parse("age > 1 and Job = 'x'", COLUMNS).tree, PLACE) is None


@pytest.mark.slow
def test_the_parser_is_loaded_when_a_condition_is_read() -> None:
    """Importing sqlglot takes a sixth of a second, so other commands should not import it."""
    program = (
        "import sys, pyarrow as pa, divulge as dv, divulge.cli.main\n"
        "dv.measure(pa.table({'a': [1, 2]}), quasi_identifiers='a'); dv.anatomize, dv.query\n"
        "print('sqlglot' in sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent.parent / "src")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
