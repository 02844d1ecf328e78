# SPDX-License-Identifier: Apache-2.0
"""Asking a generalized release: each hidden value is spread uniformly over the leaves of its label.

A label such as [20, 30) or 476* stands for some values, its leaves; a record with it has each of them with the same
probability, column by column. Columns that were published as they are, the sensitive ones among them, are answered
exactly. The same conditions can so be asked of generalized and of anatomized releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from divulge.anatomize.condition import Tree, write
from divulge.anatomize.hits import raise_average
from divulge.anatomize.query import floats_of, ints_of
from divulge.anatomize.terms import Terms, split
from divulge.arrays import Floats, Ints, class_ids, sum_by_id
from divulge.engines.base import Engine
from divulge.errors import BadInput
from divulge.table.table import Table


@dataclass(frozen=True, eq=False)
class GeneralizedSource:
    """A generalized release that can be asked."""

    table: Table
    leaves: Mapping[str, str]
    """For each column with labels: a relation with the columns `label` and `leaf`, in the table's engine; no pair occurs twice."""

    @property
    def engine(self) -> Engine:
        """Where the table and the leaves can be read."""
        return self.table.engine

    @property
    def columns(self) -> tuple[str, ...]:
        """What a condition may name; a column with labels is asked by its leaves."""
        return self.table.names

    @property
    def binding(self) -> str:
        """The table with leaves in place of labels."""
        quote = self.engine.quote
        leaves = [
            f"(SELECT leaf AS {quote(name)} FROM {relation}) AS l{i}"
            for i, (name, relation) in enumerate(self.leaves.items())
        ]
        others = ", ".join(quote(name) for name in self.columns if name not in self.leaves) or "1 AS one"
        return ", ".join([f"(SELECT {others} FROM {self.table.relation}) AS t", *leaves])

    @cached_property
    def records(self) -> int:
        """How many records were released."""
        found = self.engine.query(f"SELECT COUNT(*) AS n FROM {self.table.relation}").to_pylist()
        return int(found[0]["n"])

    def opposite(self, condition: Tree) -> Tree | None:  # noqa: ARG002 - bounds are found record by record, so they need no detour
        """No other condition has better bounds."""
        return None

    def hits(self, condition: Tree, value: Tree | None) -> Spread:
        """The kinds of records, and the leaves of their labels, for which the condition holds."""
        hidden = tuple(self.leaves)
        place = {name: hidden.index(name) + 1 if name in hidden else 0 for name in self.columns}
        terms = split(condition, place, value=value)
        asked = tuple(table for table in terms.tables if table > 0)
        names = {table: hidden[table - 1] for table in asked}
        self._check_labels(tuple(names.values()))
        found = self.engine.query(self._sql(terms, names))
        taken = [ints_of(found, f"k{table}") for table in asked]
        all_leaves = [ints_of(found, f"n{table}") for table in asked]
        share = np.ones(found.num_rows)
        for some, whole in zip(taken, all_leaves, strict=True):
            share *= some / whole
        kind = ints_of(found, "x")
        return Spread(kind, ints_of(found, "c"), share, _always(kind, taken, all_leaves), floats_of(found, "v"))

    def _sql(self, terms: Terms, names: Mapping[int, str]) -> str:
        """Records by their labels and by their answers to what is published as it is; joined with the leaves of the labels."""
        engine = self.engine
        labels = "".join(f", {engine.quote(name)} AS l{table}" for table, name in names.items())
        answers = "".join(f", {write(engine, tree)} AS {name}" for name, tree in terms.features.get(0, {}).items())
        where = f" WHERE {write(engine, terms.own[0])}" if 0 in terms.own else ""
        keys = ", ".join([*(f"l{table}" for table in names), *terms.features.get(0, {}), "one"])
        rows = f"SELECT 1 AS one{labels}{answers} FROM {self.table.relation}{where}"
        counted = f"SELECT {keys}, COUNT(*) AS c FROM ({rows}) AS r GROUP BY {keys}"
        steps = [f"kinds AS (SELECT *, ROW_NUMBER() OVER () AS x FROM ({counted}) AS t)"]
        joined = ""
        for table, name in names.items():
            steps.append(f"p{table} AS ({self._leaf_sql(terms, table, name)})")
            joined += f" JOIN p{table} ON p{table}.divulge_label IS NOT DISTINCT FROM kinds.l{table}"
        columns = "".join(f", p{table}.k AS k{table}, p{table}.divulge_leaves AS n{table}" for table in names)
        value = "1" if terms.value is None else write(engine, terms.value)
        rest = "" if terms.rest is None else f" WHERE {write(engine, terms.rest)}"
        return f"WITH {', '.join(steps)} SELECT x, c{columns}, CAST({value} AS DOUBLE) AS v FROM kinds{joined}{rest}"

    def _leaf_sql(self, terms: Terms, table: int, name: str) -> str:
        """For each label and each answer: how many of the label's leaves give it, and how many leaves there are."""
        engine, features = self.engine, terms.features.get(table, {})
        answers = "".join(f", {write(engine, tree)} AS {alias}" for alias, tree in features.items())
        where = f" WHERE {write(engine, terms.own[table])}" if table in terms.own else ""
        counted = (
            f"(SELECT label AS divulge_label, leaf AS {engine.quote(name)}, "
            f"COUNT(*) OVER (PARTITION BY label) AS divulge_leaves FROM {self.leaves[name]})"
        )
        rows = f"SELECT divulge_label, divulge_leaves{answers} FROM {counted} AS leaves{where}"
        keys = ", ".join(["divulge_label", "divulge_leaves", *features])
        return f"SELECT {keys}, COUNT(*) AS k FROM ({rows}) AS r GROUP BY {keys}"

    def _check_labels(self, names: tuple[str, ...]) -> None:
        """Every label that occurs has leaves; a record whose label has none would be lost without a word."""
        for name in names:
            column = self.engine.quote(name)
            found = self.engine.query(
                f"SELECT DISTINCT {column} AS label FROM {self.table.relation} WHERE NOT EXISTS "
                f"(SELECT 1 FROM {self.leaves[name]} AS known WHERE known.label IS NOT DISTINCT FROM {column}) ORDER BY 1 NULLS LAST"
            ).to_pylist()
            if found:
                raise BadInput(
                    f"it is not known which values of {name!r} the label {found[0]['label']!r} stands for",
                    hint="Give the hierarchy of the column, or the release with its mappings",
                )


@dataclass(frozen=True, eq=False)
class Spread:
    """Hits of a generalized release; hit h takes, for records of one kind, some of the leaves of their labels."""

    kind: Ints = field(repr=False)
    """Records of one kind have the same labels, and the same answers to what is published as it is."""
    records: Ints = field(repr=False)
    """How many records are of the hit's kind."""
    share: Floats = field(repr=False)
    """The share of the leaves that the hit takes."""
    always: npt.NDArray[np.bool_] = field(repr=False)
    """Whether the hits of that kind take all leaves, so that each of its records matches for certain."""
    value: Floats = field(repr=False)

    def mean(self, value: Floats) -> float:
        """Uniform spread inside labels."""
        return float((value * self.share * self.records).sum())

    def variance(self, value: Floats) -> float:
        """Records are drawn one by one."""
        if len(value) == 0:
            return 0.0
        kinds, first = self._kinds
        means = sum_by_id(kinds, value * self.share, len(first))
        squares = sum_by_id(kinds, value * value * self.share, len(first))
        return max(float(((squares - means * means) * self.records[first]).sum()), 0.0)

    def most(self, value: Floats) -> float:
        """Every record takes its best leaf."""
        if len(value) == 0:
            return 0.0
        total, _ = self._choice(value)(0.0)
        return total

    def highest_average(self, value: Floats) -> float:
        """Every record takes its best leaf, or none."""
        return raise_average(self._choice(value))

    @cached_property
    def _kinds(self) -> tuple[Ints, Ints]:
        return class_ids([self.kind], [int(self.kind.max()) + 1], rows=len(self.kind))

    def _choice(self, value: Floats) -> Callable[[float], tuple[float, float]]:
        kinds, first = self._kinds
        best = np.full(len(first), -np.inf)
        np.maximum.at(best, kinds, value)
        records, always = self.records[first], self.always[first]

        def take(limit: float) -> tuple[float, float]:
            taken = np.where(always | (best > limit), records, 0)
            return float((best * taken).sum()), float(taken.sum())

        return take


def _always(kind: Ints, taken: list[Ints], all_leaves: list[Ints]) -> npt.NDArray[np.bool_]:
    """Whether the hits of a kind take all combinations of leaves; in whole numbers of any length."""
    if len(kind) == 0:
        return np.zeros(0, dtype=np.bool_)
    ways, whole = np.ones(len(kind), dtype=object), np.ones(len(kind), dtype=object)
    for some, leaves in zip(taken, all_leaves, strict=True):
        ways, whole = ways * some.astype(object), whole * leaves.astype(object)
    kinds, first = class_ids([kind], [int(kind.max()) + 1], rows=len(kind))
    sums = np.zeros(len(first), dtype=object)
    np.add.at(sums, kinds, ways)
    return np.asarray(sums == whole[first], dtype=np.bool_)[kinds]
