# SPDX-License-Identifier: Apache-2.0
"""Fuzzing of conditions: any text is answered or rejected in one line, without side effects."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.csv
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.api.opened import OpenedAnatomized
from divulge.errors import BadInput
from divulge.queries import Source
from tests.helpers import run_cli
from tests.queries.test_query import TABLE_3

EXAMPLES = int(os.environ.get("DIVULGE_CONDITIONS", "120"))
"""Number of conditions; DIVULGE_CONDITIONS=100000 makes a long run."""
_WORDS = (
    "Age Job Salary agee \"Zipcode\" 'Doctor' 'it''s' 30 -1 0.5 1e400 99999999999999999999 null "
    "true false and or not in ( ( ) ) , between "
    "is = <> < >= + - * / % ^ || like ilike glob similar to case when then else end cast as "
    "integer varchar date '2020-01-01' :: . ; -- /* "
    "*/ abs lower length substr year round coalesce greatest select from interval [ ] { } ? $1 @ "
    "# ! ~ \\ \" ' exists distinct all"
).split(" ")
_grammar = st.lists(st.sampled_from(_WORDS), max_size=14).map(" ".join)
_comparisons = st.builds(
    "{} {} {}".format,
    st.sampled_from(
        [
            "Age",
            "Job",
            "Salary",
            "Age % Salary",
            "lower(Job)",
            "-Age",
            "Age / 0",
            "sqrt(Age - 40)",
            "ln(0)",
        ]
    ),
    st.sampled_from(
        [
            "=",
            "<",
            "is distinct from",
            "in (1, null) or Job =",
            "between 1 and",
            "like",
            "//",
            "and not",
        ]
    ),
    st.sampled_from(
        [
            "1",
            "'x'",
            "null",
            "Age",
            "Job",
            "1e308 * 10",
            "cast(Job as int)",
            "0.1",
            "Salary / 0",
            "true",
            "2 ^ 1000",
        ]
    ),
)
_texts = st.one_of(
    st.text(max_size=40),
    _grammar,
    _comparisons,
    st.binary(max_size=20).map(lambda raw: raw.decode(errors="surrogateescape")),
)


@pytest.fixture(scope="module")
def release() -> Source:
    opened = dv.open_release(TABLE_3)
    assert isinstance(opened, OpenedAnatomized)
    return opened.answers


@given(condition=_texts, measured=st.one_of(st.none(), _grammar, _comparisons))
@example(condition="not " * 500 + "age > 30", measured=None)
@example(condition="not (" * 60 + "age > 30 or job = 'x'" + ")" * 60, measured=None)
@example(condition="(" * 5000 + "age > 30" + ")" * 5000, measured=None)
@example(condition=f"age in ({', '.join(map(str, range(100_000)))})", measured=None)
@example(condition=f"age > {'9' * 400}", measured=None)
@example(condition="age > 1e400", measured=None)
@example(condition="job = '\udcff'", measured=None)
@example(condition="\udcff = 1", measured="\udcff")
@example(condition="job = '\0'", measured=None)
@example(condition="age > 3\0", measured="age\0")
@settings(deadline=None, max_examples=EXAMPLES)
def test_any_text_is_answered_or_refused_in_one_line(
    release: Source, condition: str, measured: str | None
) -> None:
    try:
        found = dv.query(release, condition, total=measured)
    except BadInput as error:
        told = str(error)
    else:
        told = str(found)
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.high
    assert "\n" not in told
    assert len(told) < 1500
    assert told.encode()


@pytest.mark.parametrize(
    "condition", ["not " * 500 + "age > 30", "job = '\udcff'", "agee = 1", "age = 'old'", "(" * 300]
)
def test_on_the_command_line_it_is_one_line_and_exit_code_2(condition: str, tmp_path: Path) -> None:

    for number, table in enumerate(TABLE_3):
        pyarrow.csv.write_csv(table, tmp_path / f"t{number}.csv")
    found = run_cli("query", str(tmp_path), condition)
    assert (found.code, found.err.count("\n"), found.out) == (2, 1, "")
