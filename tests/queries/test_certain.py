# SPDX-License-Identifier: Apache-2.0
"""Guaranteed bounds of queries: random tables are published and queried.

The exact answers are counted by DuckDB on the original. The tables contain cases that break such
bounds: nulls, empty texts, floats inside ranges, the two zeros, dates, texts that differ only in
case, normal form or a zero-width space, names that are equal after case folding, suppressed rows
and suppressed cells. Every release is queried with its private part, with the hierarchies, and with
the public files only.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import divulge as dv
from divulge import queries
from divulge.errors import BadInput, Infeasible
from divulge.hierarchies import write_hierarchy
from divulge.releases import GeneralizedRelease, private_place

RELEASES = int(os.environ.get("DIVULGE_CERTAIN", "6"))
"""Number of random tables; DIVULGE_CERTAIN=2000 makes a long run."""
QUESTIONS = 12

_TEXTS = [
    "Ab",
    "ab",
    "AB",
    "a\u200bb",
    "é",
    "e\u0301",
    "straße",
    "strasse",
    "",
    "a;b",
    'q"',
    "x\ny",
    "10",
    "9",
    "*",
    "null",
]
_CODES = ["07", "7", "071", "10", "100", "9"]
_FLOATS = [0.0, -0.0, 0.5, 1.0, 9.99, 10.0, 10.5, 19.999999, 20.0, 29.5, 33.25]
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), _TEXTS),
    "code": (pa.string(), _CODES),
    "whole": (pa.int64(), list(range(-3, 35))),
    "float": (pa.float64(), _FLOATS),
    "single": (pa.float32(), [0.1, 0.2, 0.5, 10.0, 29.7]),
    "decimal": (
        pa.decimal128(6, 2),
        [Decimal("0.10"), Decimal("9.99"), Decimal("10.00"), Decimal("20.05")],
    ),
    "date": (
        pa.date32(),
        [dt.date(2019, 12, 31) + dt.timedelta(days=n) for n in range(0, 400, 17)],
    ),
    "truth": (pa.bool_(), [True, False]),
}
_NAMES = [
    "straße",
    "strasse",
    "STRASSE2",
    "leaf",
    "label",
    "divulge_label",
    "f0",
    "my col",
    'w"x',
    "é",
    "e\u0301",
    "Age",
]
_NUMERIC = ("whole", "float", "single", "decimal")


_DUCKDB = duckdb.connect()


class World:
    """Random table with random queries."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)  # noqa: S311 - not for secrets
        names = self.draw.sample(_NAMES, self.draw.randint(2, 4))
        self.keys = {name: self.draw.choice(list(KINDS)) for name in names[:-1]}
        self.sensitive = names[-1]
        self.kinds = {
            **self.keys,
            self.sensitive: self.draw.choice(["text", "float", "whole"]),
            "other": "text",
        }
        rows = self.draw.randint(4, 30)
        self.table = pa.table({name: self._column(kind, rows) for name, kind in self.kinds.items()})

    def _column(self, kind: str, rows: int) -> pa.Array:
        type_, values = KINDS[kind]
        values = self.draw.sample(values, min(len(values), self.draw.randint(2, 8)))
        nulls = self.draw.choice([0.0, 0.0, 0.2])
        return pa.array(
            [None if self.draw.random() < nulls else self.draw.choice(values) for _ in range(rows)],
            type_,
        )

    def hierarchies(self, *, odd: bool) -> dict[str, Any]:
        """Generalization levels for some of the columns; divulge suggests those of the others.

        Odd hierarchies have labels whose notation is misleading.
        """
        found: dict[str, Any] = {}
        for name, kind in self.keys.items():
            if kind in _NUMERIC and self.draw.random() < 0.7:
                found[name] = {"intervals": self.draw.choice([[10], [5, 10, 30], [2.5, 10]])}
                if self.draw.random() < 0.3:
                    found[name] |= {"top": 30}
            elif odd and kind in ("code", "whole", "text") and self.draw.random() < 0.5:
                texts = {str(value) for value in self.table[name].to_pylist() if value is not None}
                if "" not in texts:
                    found[name] = {
                        "rows": {
                            text: [self.draw.choice(["7", "9", "x", "[0, 5)"]), "*"]
                            for text in texts
                        }
                    }
        return found

    def condition(self, depth: int = 2) -> str:
        draw = self.draw
        if depth and draw.random() < 0.5:
            if draw.random() < 0.3:
                return f"not ({self.condition(depth - 1)})"
            joint = draw.choice(["and", "or"])
            return f"({self.condition(depth - 1)}) {joint} ({self.condition(depth - 1)})"
        name = draw.choice(list(self.kinds))
        return self.atom(_quoted(name), self.kinds[name], self.table[name].to_pylist())

    def atom(self, column: str, kind: str, values: list[Any]) -> str:
        draw = self.draw

        def one() -> str:
            known = [value for value in values if value is not None] or KINDS[kind][1]
            return _literal(draw.choice(draw.choice([known, KINDS[kind][1]])), kind)

        def few() -> str:
            return ", ".join(
                [
                    *(one() for _ in range(draw.randint(1, 3))),
                    *(["null"] if draw.random() < 0.2 else []),
                ]
            )

        sign = draw.choice(["=", "<>", "<", "<=", ">", ">="])
        forms = [
            f"{column} {sign} {one()}",
            f"{column} {sign} {one()}",
            f"{column} {draw.choice(['', 'not '])}between {one()} and {one()}",
            f"{column} {draw.choice(['', 'not '])}in ({few()})",
            f"{column} is {draw.choice(['', 'not '])}null",
            f"{column} is {draw.choice(['', 'not '])}distinct from {one()}",
            f"coalesce({column}, {one()}) {sign} {one()}",
            f"case when {column} {sign} {one()} then {column} is null else {column} = {one()} end",
        ]
        if kind in ("text", "code"):
            pattern = draw.choice(["'%b'", "'a%'", "'_'", "''", "'1%'", "'%7'", "'%'"])
            forms += [
                f"{column} {draw.choice(['', 'not '])}{draw.choice(['like', 'ilike'])} {pattern}"
            ] * 3
            forms += [f"length({column}) {sign} {draw.randint(0, 3)}", f"lower({column}) = {one()}"]
        if kind in _NUMERIC:
            forms += [
                (
                    f"{column} {sign} "
                    f"{draw.choice(['10', '9.995', '20.0', '0', '-1', '1e1', '0.1', '25'])}"
                )
            ] * 4
            forms += [
                f"{column} * 2 + 1 {sign} {draw.randint(0, 60)}",
                f"floor({column}) = {draw.randint(0, 30)}",
            ]
        if kind == "date":
            forms += [f"year({column}) = 2020", f"month({column}) in (1, 2)"]
        return draw.choice(forms)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Any, kind: str) -> str:
    if kind in ("text", "code"):
        return "'" + str(value).replace("'", "''") + "'"
    return f"date '{value}'" if kind == "date" else str(value).lower()


def _kept(world: World, release: GeneralizedRelease) -> pa.Table:
    """Select the rows of the original whose class is published."""
    people, kept = release.original.people, release.plan.recoding.published_mask
    classes = zip(
        *(people.key_column(place).to_pylist() for place in range(len(people.keys))), strict=True
    )
    wanted = {row for row, stays in zip(classes, kept.tolist(), strict=True) if stays}
    rows = list(zip(*(world.table[key.name].to_pylist() for key in people.keys), strict=True))
    return world.table.filter(pa.array([row in wanted for row in rows]))


def _ask(table: pa.Table, sql: str, types: dict[str, str] | None = None) -> Any:
    """Query the original with DuckDB, with columns of the types that the answer reports."""
    cast = ", ".join(
        f"CAST({_quoted(name)} AS {type_}) AS {_quoted(name)}"
        for name, type_ in (types or {}).items()
    )
    _DUCKDB.register("original", table)
    replaced = f"* REPLACE ({cast})" if cast else "*"
    return _DUCKDB.sql(f"SELECT {sql} FROM (SELECT {replaced} FROM original)").fetchall()[0][0]


def _refused(source: Any, condition: str, **more: Any) -> queries.Estimate | None:
    """Return the estimate, or None if the release rejects the query."""
    try:
        return dv.query(source, condition, **more)
    except BadInput:
        return None


def _hold(found: Any, table: pa.Table, condition: str, total: str | None) -> None:
    """Assert that the exact answer lies between the bounds."""
    told = found.settings["labels"]
    types = {name: each["type"] for name, each in told.items()}
    try:
        counted = _ask(
            table,
            f"count(*) FILTER ({condition})"
            if total is None
            else f"sum({total}) FILTER ({condition})",
            types,
        )
    except duckdb.Error:
        return  # the original itself has no answer
    truth = float(counted or 0)
    slack = 0 if total is None else 1e-9 * max(1.0, abs(truth))
    asked = f"{condition!r} total={total} {told}\n{table.to_pylist()}"
    assert found.low - slack <= truth <= found.high + slack, (
        f"{truth} not in [{found.low}, {found.high}]: {asked}"
    )
    assert found.low <= found.estimate <= found.high, asked


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RELEASES))
def test_bounds_of_generalized_releases_hold(seed: int, tmp_path: Path) -> None:
    world = World(seed)
    draw = world.draw
    odd = draw.random() < 0.4
    local = draw.random() < 0.3
    chosen = world.hierarchies(odd=odd)
    try:
        bound: dict[str, Any] = (
            {"k_anonymity": draw.choice([2, 3])}
            if local or draw.random() < 0.67
            else {"uniques": 1000}
        )
        release = dv.generalize(
            world.table,
            policy=dv.Policy(**bound, suppression=0.0 if local else draw.choice([0.0, 0.3])),
            quasi_identifiers=list(world.keys),
            sensitive=world.sensitive,
            plain="*",
            hierarchies=chosen,
            method="mondrian" if local else "full-domain",
        )
        folder = release.write(
            tmp_path / "release", format=draw.choice(["csv", "parquet", "arrow"])
        )
    except Infeasible as error:
        pytest.skip(str(error))
    kept = _kept(world, release)
    views = {"publisher": dv.open_release(folder)}
    dv.query(views["publisher"])  # reads the private part, which is removed below
    given = tmp_path / "hierarchies"
    given.mkdir()
    try:
        for name, hierarchy in release.hierarchies.items():
            write_hierarchy(hierarchy, given / f"{name}.csv")
        shutil.rmtree(private_place(folder))
        if not local:
            views["hierarchies"] = dv.open_release(folder, hierarchies=given)
    except BadInput:  # an empty text, which such a file cannot hold
        shutil.rmtree(private_place(folder) / "mapping", ignore_errors=True)
    if not odd:
        views["receiver"] = dv.open_release(folder)
    answered = Counter[str]()
    for _ in range(QUESTIONS):
        condition = world.condition()
        numeric = [
            name for name, kind in world.kinds.items() if kind in ("whole", "float", "decimal")
        ]
        total = _quoted(draw.choice(numeric)) if numeric and draw.random() < 0.2 else None
        for view, source in views.items():
            found = _refused(source, condition, total=total)
            if found is not None and found.estimate is not None:
                answered[view] += 1
                _hold(found, kept, condition, total)
    assert answered["publisher"]


@pytest.mark.parametrize("seed", range(RELEASES))
def test_bounds_of_anatomized_releases_hold(seed: int, tmp_path: Path) -> None:
    world = World(100_000 + seed)
    draw = world.draw
    try:
        release = dv.anatomize(
            world.table,
            sensitive=world.sensitive,
            quasi_identifiers=[*world.keys, "other"],
            beta=draw.choice(["99/100", "1/2", "2/3"]),
            tables=draw.choice([1, 2, 2]),
        )
        folder = release.write(
            tmp_path / "release", format=draw.choice(["csv", "parquet", "arrow"])
        )
    except Infeasible as error:
        pytest.skip(str(error))
    source = dv.open_release(folder)
    for _ in range(QUESTIONS):
        condition = world.condition()
        numeric = [
            name for name, kind in world.kinds.items() if kind in ("whole", "float", "decimal")
        ]
        total = _quoted(draw.choice(numeric)) if numeric and draw.random() < 0.2 else None
        found = _refused(source, condition, total=total)
        if found is not None:
            _hold(found, world.table, condition, total)


def _published(
    tmp_path: Path, table: pa.Table, keys: list[str], hierarchies: dict[str, Any], k: int
) -> Path:
    release = dv.generalize(
        table,
        policy=dv.Policy(k_anonymity=k) if k > 1 else dv.Policy(uniques=1000),
        quasi_identifiers=keys,
        sensitive="s",
        hierarchies=hierarchies,
    )
    return release.write(tmp_path / "release", format="csv")


def test_nulls_and_empty_texts_under_a_label_count_in_the_bounds(tmp_path: Path) -> None:
    """One of four values under `*` is null and one is empty; the bounds must allow for both."""
    table = pa.table({"town": ["a", "b", "", None], "s": ["x", "y", "x", "y"]})
    folder = _published(tmp_path, table, ["town"], {}, 4)
    for condition in ("town is null", "town = ''", "town <> 'z'", "town in ('a', 'b')"):
        found = dv.query(folder, condition)
        assert (found.low, found.high) == (0.0, 4.0), condition
    # No possible value is 'z'. The empty text counts as a value in the estimate. The null, which
    # may not occur, does not.
    assert dv.query(folder, "town = 'z'").high == 0.0
    assert dv.query(folder, "town = ''").estimate == pytest.approx(4 / 3)


@pytest.mark.slow
def test_a_range_holds_every_number_between_its_ends(tmp_path: Path) -> None:
    table = pa.table(
        {"x": [20.5, 20.6, 29.8, 29.9, 30.0, 31.0], "s": ["a", "b", "a", "b", "a", "b"]}
    )
    folder = _published(tmp_path, table, ["x"], {"x": {"intervals": [10]}}, 2)
    shutil.rmtree(private_place(folder))
    ends = {}
    for condition in (
        "x > 29",
        "x >= 30",
        "x < 20",
        "x in (20.5, 31)",
        "not x between 20 and 29",
        "x is null",
    ):
        found = dv.query(folder, condition)
        ends[condition] = (found.low, found.high)
    assert ends == {
        "x > 29": (2.0, 6.0),
        "x >= 30": (2.0, 2.0),
        "x < 20": (0.0, 0.0),
        "x in (20.5, 31)": (0.0, 6.0),
        "not x between 20 and 29": (2.0, 6.0),
        "x is null": (0.0, 0.0),
    }
    summed = dv.query(folder, total="x")
    assert summed.low == pytest.approx(4 * 20 + 2 * 30)
    assert summed.high == pytest.approx(4 * 30 + 2 * 40)
    assert found.settings["labels"] == {"x": {"from": "as written", "type": "DOUBLE"}}
    with pytest.raises(BadInput, match="does more than compare"):
        dv.query(folder, "x * 2 > 50")


def test_names_that_case_folding_joins_are_two_columns(tmp_path: Path) -> None:
    table = pa.table({"straße": [1, 1, 2, 2], "strasse": [7, 7, 7, 7], "s": ["a", "b", "a", "b"]})
    folder = _published(tmp_path, table, ["straße", "strasse"], {}, 1)
    assert dv.query(folder, "straße = 1").estimate == 2.0
    assert dv.query(folder, "strasse = 7").estimate == 4.0
    with pytest.raises(BadInput, match="could be any of 'straße', 'strasse'"):
        dv.query(folder, "STRASSE = 7")


def test_the_number_of_suppressed_rows_is_reported(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 1, 1, 1, 1, 1, 1, 1, 1, 90], "s": list("ababababab")})
    release = dv.generalize(
        table,
        policy=dv.Policy(k_anonymity=3, suppression=0.2),
        quasi_identifiers="x",
        sensitive="s",
        hierarchies={},
    )
    found = dv.query(release.write(tmp_path / "release"))
    assert found.estimate == 10 - release.plan.suppressed
    assert found.settings["left_out"] == release.plan.suppressed
