# SPDX-License-Identifier: Apache-2.0
"""The published tables: every record once in each, no identifier, no trace of the input order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.anatomization import AlphaBetaGammaDelta, Anatomized, RowCodes, Slppa
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.methods import anatomize
from divulge.anatomization.problem import GroupingProblem, problem_of
from divulge.anatomization.tables import build_released_tables
from divulge.errors import Infeasible
from tests.anatomization.checker import Drawn, drawn
from tests.anatomization.literature import QUASI_IDENTIFIERS, table_1

Groups = Counter[tuple[object, ...]]
MODEL = AlphaBetaGammaDelta(alpha="1/2", beta="1/4", delta="1/4")


def of_table_1(rows: RowCodes | None = None, *, seed: int = 1) -> Anatomized:
    return anatomize(
        rows or table_1(),
        Slppa(MODEL),
        quasi_identifiers=QUASI_IDENTIFIERS,
        sensitive="Salary",
        seed=seed,
    )


def tuples(table: pa.Table, columns: Sequence[str], *, group: str = "GID") -> dict[int, Groups]:
    """Count of each tuple in each group of a published table."""
    found: dict[int, Groups] = {}
    for row in table.to_pylist():
        found.setdefault(row[group], Counter())[tuple(row[name] for name in columns)] += row.get(
            "Count", 1
        )
    return found


def records(found: Anatomized, columns: Sequence[str]) -> dict[int, Groups]:
    """Count of each tuple in each group, counted one by one in the anatomized table."""
    counted: dict[int, Groups] = {}
    values = [found.rows.values(name).to_pylist() for name in columns]
    for group, *cells in zip(found.group.tolist(), *values, strict=True):
        counted.setdefault(group, Counter())[tuple(cells)] += 1
    return counted


def joined(
    groups: Sequence[dict[int, Groups]],
) -> Counter[tuple[frozenset[tuple[tuple[object, ...], int]], ...]]:
    """Content of each group over all tables, independent of its number."""
    return Counter(
        tuple(frozenset(table[number].items()) for table in groups) for number in groups[0]
    )


@given(example=drawn(), secret=st.integers(0, 2**62 - 1))
@settings(deadline=None, max_examples=60)
def test_each_table_holds_every_record_of_every_group_under_the_same_number(
    example: Drawn, secret: int
) -> None:
    method = Slppa(AlphaBetaGammaDelta(beta="1/2"), tables=example.tables)
    try:
        found = anatomize(
            example.codes,
            method,
            quasi_identifiers=example.quasi_identifiers,
            sensitive=example.sensitive,
            seed=3,
        )
    except Infeasible:
        return
    made = build_released_tables(found, secret=secret).tables
    assert tuple(table.columns for table in made) == found.tables
    assert joined([tuples(table.rows, table.columns) for table in made]) == joined(
        [records(found, table.columns) for table in made]
    )
    for table in made:
        assert table.counted == ("Count" in table.rows.column_names)
        assert table.counted == (table.rows.num_rows < len(found.rows))


def test_the_order_of_the_input_leaves_no_trace() -> None:
    rows = table_1()
    found = of_table_1(rows)
    turned = Anatomized(
        method=found.method,
        rows=rows.take(np.arange(len(rows))[::-1]),
        division=found.division,
        sensitive=found.sensitive,
        group=found.group[::-1],
        model=found.model,
        settings=found.settings,
        seed=found.seed,
        problem=_problem_of(rows.take(np.arange(len(rows))[::-1]), found),
    )
    ours, theirs = build_released_tables(found, secret=9), build_released_tables(turned, secret=9)
    for one, other in zip(ours.tables, theirs.tables, strict=True):
        assert one.rows.to_pylist() == other.rows.to_pylist()


def _problem_of(rows: RowCodes, like: Anatomized) -> GroupingProblem:
    return problem_of(rows, tables=like.division.tables, sensitive=like.sensitive, model=like.model)


def test_the_rows_of_a_group_are_shuffled_and_groups_renumbered_by_the_secret() -> None:
    found = of_table_1()
    orders = {
        str(build_released_tables(found, secret=secret).tables[0].rows.to_pylist())
        for secret in range(30)
    }
    assert len(orders) > 20
    firsts = {
        build_released_tables(found, secret=secret).tables[2].rows.to_pylist()[0]["Salary"]
        for secret in range(60)
    }
    assert len(firsts) == 6  # each of the six salaries comes first at some time


def test_groups_come_one_after_the_other_from_1_on() -> None:
    numbers = build_released_tables(of_table_1(), secret=1).tables[0].rows.column("GID").to_pylist()
    assert numbers == sorted(numbers)
    assert set(numbers) == {1, 2}


def test_release_has_no_identifiers() -> None:
    text = str(
        [table.rows.to_pylist() for table in build_released_tables(of_table_1(), secret=1).tables]
    )
    assert "Alice" not in text
    assert "Name" not in text


def test_columns_that_are_called_like_group_and_count_keep_their_names() -> None:
    rows = rows_of(
        {
            "gid": ["a", "b", "a", "b"],
            "COUNT": [1, 1, 1, 1],
            "Count_": [1, 2, 3, 4],
            "s": [1, 2, 3, 4],
        }
    )
    found = anatomize(
        rows,
        Slppa(AlphaBetaGammaDelta(beta="1/2")),
        quasi_identifiers=["gid", "COUNT", "Count_"],
        sensitive="s",
        seed=1,
    )
    made = build_released_tables(found, secret=1)
    assert (made.group, made.count) == ("GID_", "Count__")
    for table in made.tables:
        assert table.rows.column_names[0] == "GID_"


def test_values_keep_their_types_and_nulls() -> None:
    rows = rows_of(
        {"age": [1, None, 3, 4], "name": ["x", "", None, "y"], "s": [1.5, 2.5, None, 4.0]}
    )
    found = anatomize(
        rows,
        Slppa(AlphaBetaGammaDelta(beta="1/2"), tables=2),
        quasi_identifiers=["age", "name"],
        sensitive="s",
        seed=1,
    )
    made = {
        name: values
        for table in build_released_tables(found, secret=1).tables
        for name, values in table.rows.to_pydict().items()
    }
    assert sorted(made["age"], key=str) == [1, 3, 4, None]
    assert sorted(made["name"], key=str) == ["", None, "x", "y"]
    assert sorted(made["s"], key=str) == [1.5, 2.5, 4.0, None]


def test_files_are_named_by_what_they_hold() -> None:
    names = [table.name for table in build_released_tables(of_table_1(), secret=1).tables]
    assert names == ["quasi_identifiers_1", "quasi_identifiers_2", "sensitive"]
