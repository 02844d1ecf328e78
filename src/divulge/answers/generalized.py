# SPDX-License-Identifier: Apache-2.0
"""What a generalized release answers: to a workload, worked out on counts, and to a condition, asked of the published table.

For a workload each value is spread uniformly over the values of the table that are published under its label. That is a little kinder to
generalization than a reader's view, who may not know which values of a range occur, so a comparison that anatomization wins is won.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge import anatomy, arrays
from divulge.answers.bounds import numbers_of, raise_average
from divulge.answers.condition import Terms, Tree, split, write
from divulge.answers.labels import Labels
from divulge.answers.meaning import Spread
from divulge.arrays import Floats, Ints
from divulge.count import Contingency, Domain
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, InternalError
from divulge.search import Recoding
from divulge.table import Table


def generalized_estimator(
    rows: anatomy.RowCodes, contingency: Contingency, recoding: Recoding, sensitive: str
) -> anatomy.Estimator:
    """Answers of the release that a recoding of these counts gives, to queries over these rows: one table, which is one group."""
    cells = contingency.cells[sensitive]
    known = {key.name: key for key in contingency.keys} | {sensitive: cells.domain}
    for domain in rows.domains:
        if not domain.values.equals(known[domain.name].values):
            raise InternalError(f"the values of {domain.name!r} were counted in another order than they were read in")
    published = recoding.kept[cells.class_index]
    classes, times = cells.class_index[published], cells.mass[published]
    spreads = {
        name: _spread(known[name], recoding, place, contingency.codes[place])
        for place, name in enumerate(recoding.columns)
    }
    labelled = anatomy.RowCodes(
        (*(spread.labels for spread in spreads.values()), cells.domain),
        (*(codes[classes] for codes in recoding.codes), cells.value[published]),
    )
    table = anatomy.CodedTable(labelled, np.zeros(len(classes), dtype=np.int64), times.astype(np.int64))
    return anatomy.estimator(anatomy.CodedTables((table,), np.array([table.records.sum()])), spreads)


def _spread(domain: Domain, recoding: Recoding, place: int, values: Ints) -> Spread:
    """The labels of a column over the values of the table that are published under them."""
    pairs = np.column_stack([recoding.codes[place][recoding.kept], values[recoding.kept]])
    label, value = np.unique(pairs, axis=0).T
    labels = Domain(domain.name, pa.array(recoding.labels[place], pa.string()), "text")
    return Spread(domain, labels, label, value, "mapping")


def largest_shift(published: Contingency, prior: Mapping[str, Floats]) -> float:
    """How far the share of a sensitive value in a class is from its share in the original: the delta of a generalized release."""
    furthest = 0.0
    for name, cells in published.cells.items():
        shares = prior[name] / prior[name].sum()
        difference = np.abs(cells.mass / cells.totals[cells.class_index] - shares[cells.value])
        lacking = np.bincount(cells.value, minlength=len(shares)) < len(published)
        furthest = max(furthest, float(difference.max()), float(shares[lacking].max(initial=0.0)))
    return furthest


# --- asking a generalized release -------------------------------------------------------------------------------------
# A label such as [20, 30) or 476* stands for some values, its leaves. Bounds hold whichever of them a record had; the estimate
# spreads records uniformly over them, column by column. Columns published as they are, the sensitive ones among them, are answered exactly.
@dataclass(frozen=True, eq=False)
class GeneralizedSource:
    """A generalized release that can be asked."""

    table: Table
    labels: Mapping[str, Labels]
    """What the labels of each column stand for; other columns were published as they are."""
    left_out: int | None = None
    """How many records of the original were not published, where the release tells."""
    folder: Path | None = None
    """Where the release lies."""

    @property
    def engine(self) -> DuckDBEngine:
        """Where the table can be read."""
        return cast("DuckDBEngine", self.table.engine)

    @property
    def source(self) -> list[str]:
        """Its table."""
        return [self.table.source]

    @property
    def frame(self) -> str:
        """The kind of frame that was handed in."""
        return self.table.frame

    @property
    def columns(self) -> tuple[str, ...]:
        """What a condition may name; a column with labels is asked by its leaves."""
        return self.table.names

    @property
    def binding(self) -> str:
        """The table with leaves in place of labels; it is never read."""
        cells = [
            f"CAST(NULL AS {self.labels[name].type}) AS {self.engine.quote(name)}"
            if name in self.labels
            else self.engine.quote(name)
            for name in self.columns
        ]
        return f"(SELECT {', '.join(cells)} FROM {self.table.relation}) AS t"

    @cached_property
    def records(self) -> int:
        """How many records were released."""
        found = self.engine.query(f"SELECT COUNT(*) AS n FROM {self.table.relation}").to_pylist()
        return int(found[0]["n"])

    def settings(self, asked: Iterable[str]) -> dict[str, Any]:
        """What an answer about these columns depends on."""
        told = {name: labels for name, labels in self.labels.items() if name in set(asked)}
        return {
            "records": self.records,
            "left_out": self.left_out,
            "labels": {name: {"from": labels.origin, "type": labels.type} for name, labels in told.items()},
        }

    def opposite(self, condition: Tree) -> Tree | None:  # noqa: ARG002 - bounds are found record by record, so they need no detour
        """No other condition has better bounds."""
        return None

    def hits(self, condition: Tree, value: Tree | None) -> LeafHits:
        """The kinds of records, and the leaves of their labels, for which the condition holds."""
        hidden = tuple(self.labels)
        place = {name: hidden.index(name) + 1 if name in self.labels else 0 for name in self.columns}
        terms = split(condition, place, value=value)
        asked = tuple(table for table in terms.tables if table > 0)
        names = {table: hidden[table - 1] for table in asked}
        self._check_labels(tuple(names.values()))
        lent = {table: self.engine.fresh_name("leaves") for table in asked}
        try:
            for table, name in names.items():
                self.engine.register(lent[table], self.labels[name].leaves(name, condition, value))
            found = self.engine.query(self._sql(terms, names, lent))
        finally:
            for name in lent.values():
                self.engine.forget(name)
        taken = [numbers_of(found, f"k{table}") for table in asked]
        all_leaves = [numbers_of(found, f"n{table}") for table in asked]
        share = np.ones(found.num_rows)
        for table in asked:
            share *= numbers_of(found, f"w{table}", np.float64)
        kind, value_of_hit = numbers_of(found, "x"), numbers_of(found, "v", np.float64)
        return LeafHits(kind, numbers_of(found, "c"), share, _always(kind, taken, all_leaves), value_of_hit)

    def _sql(self, terms: Terms, names: Mapping[int, str], lent: Mapping[int, str]) -> str:
        """Records by their labels and by their answers to what is published as it is; joined with the leaves of the labels."""
        engine = self.engine
        labels = "".join(f", {engine.quote(name)} AS l{table}" for table, name in names.items())
        answers = "".join(f", {write(tree)} AS {name}" for name, tree in terms.features.get(0, {}).items())
        where = f" WHERE {write(terms.own[0])}" if 0 in terms.own else ""
        keys = ", ".join([*(f"l{table}" for table in names), *terms.features.get(0, {}), "one"])
        rows = f"SELECT 1 AS one{labels}{answers} FROM {self.table.relation}{where}"
        counted = f"SELECT {keys}, COUNT(*) AS c FROM ({rows}) AS r GROUP BY {keys}"
        steps = [f"kinds AS (SELECT *, ROW_NUMBER() OVER () AS x FROM ({counted}) AS t)"]
        joined = ""
        for table, name in names.items():
            steps.append(f"p{table} AS ({self._leaf_sql(terms, table, name, engine.quote(lent[table]))})")
            joined += f" JOIN p{table} ON p{table}.l IS NOT DISTINCT FROM kinds.l{table}"
        columns = "".join(
            f", p{table}.k AS k{table}, p{table}.n AS n{table}, p{table}.w AS w{table}" for table in names
        )
        value = "1" if terms.value is None else write(terms.value)
        rest = "" if terms.rest is None else f" WHERE {write(terms.rest)}"
        return f"WITH {', '.join(steps)} SELECT x, c{columns}, CAST({value} AS DOUBLE) AS v FROM kinds{joined}{rest}"

    def _leaf_sql(self, terms: Terms, table: int, name: str, leaves: str) -> str:
        """For each label and each answer: how many of the label's leaves give it, of how many, and which share of their weight."""
        engine, features = self.engine, terms.features.get(table, {})
        answers = "".join(f", {write(tree)} AS {alias}" for alias, tree in features.items())
        where = f" WHERE {write(terms.own[table])}" if table in terms.own else ""
        of_label = "PARTITION BY leaves.label"
        # A struct holds what is not asked about, because the column may have any name.
        packed = f"{{'l': leaves.label, 'n': COUNT(*) OVER ({of_label}), 'w': weight / SUM(weight) OVER ({of_label})}}"
        own = engine.quote("other" if name.casefold() != "other" else "another")
        counted = f"SELECT leaves.leaf AS {engine.quote(name)}, {packed} AS {own} FROM {leaves} AS leaves"
        rows = f"SELECT {own}.l AS l, {own}.n AS n, {own}.w AS w{answers} FROM ({counted}) AS counted{where}"
        keys = ", ".join(["l", "n", *features])
        return f"SELECT {keys}, COUNT(*) AS k, SUM(w) AS w FROM ({rows}) AS r GROUP BY {keys}"

    def _check_labels(self, names: tuple[str, ...]) -> None:
        """Every label that occurs has leaves; a record whose label has none would be lost without a word."""
        for name in names:
            column = (
                f"SELECT DISTINCT {self.engine.quote(name)} AS label FROM {self.table.relation} ORDER BY 1 NULLS LAST"
            )
            known = self.labels[name].known
            strange = [label for label in self.engine.query(column)["label"].to_pylist() if label not in known]
            if strange:
                told = f"it is not known which values of {name!r} the label {strange[0]!r} stands for"
                raise BadInput(told, hint="Give the hierarchy of the column, or the release with its mappings")


@dataclass(frozen=True, eq=False)
class LeafHits:
    """Hits of a generalized release; hit h takes, for records of one kind, some of the leaves of their labels."""

    kind: Ints = field(repr=False)
    """Records of one kind have the same labels, and the same answers to what is published as it is."""
    records: Ints = field(repr=False)
    """How many records are of the hit's kind."""
    share: Floats = field(repr=False)
    """The share of the leaves that the hit takes, by their weights."""
    always: npt.NDArray[np.bool_] = field(repr=False)
    """Whether the hits of that kind take all leaves, so that each of its records matches whatever it was."""
    value: Floats = field(repr=False)

    def mean(self, value: Floats) -> float:
        """Uniform spread inside labels."""
        return float((value * self.share * self.records).sum())

    def most(self, value: Floats) -> float:
        """Every record takes its best leaf."""
        if len(value) == 0:
            return 0.0
        return self._choice(value)(0.0)[0]

    def highest_average(self, value: Floats) -> float:
        """Every record takes its best leaf, or none."""
        return raise_average(self._choice(value))

    @cached_property
    def _kinds(self) -> tuple[Ints, Ints]:
        return arrays.class_ids([self.kind], [int(self.kind.max()) + 1], rows=len(self.kind))

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
    kinds, first = arrays.class_ids([kind], [int(kind.max()) + 1], rows=len(kind))
    sums = np.zeros(len(first), dtype=object)
    np.add.at(sums, kinds, ways)
    return np.asarray(sums == whole[first], dtype=np.bool_)[kinds]
