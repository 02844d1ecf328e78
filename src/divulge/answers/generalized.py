# SPDX-License-Identifier: Apache-2.0
"""What a generalized release answers to a workload, worked out on counts: each value is spread uniformly over what its label stands for.

A label stands for the values of the table that are published under it. That is a little kinder to generalization than
a reader's view, who may not know which values of a range occur, so a comparison that anatomization wins is won.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge import anatomy, arrays, publish
from divulge.answers.bounds import numbers_of, raise_average
from divulge.answers.condition import Terms, Tree, split, write
from divulge.arrays import Floats, Ints
from divulge.count import Contingency
from divulge.engines import DuckDBEngine, Engine
from divulge.errors import BadInput, InternalError
from divulge.hierarchy import file_name, load_hierarchies
from divulge.search import Recoding
from divulge.table import Table
from divulge.values import as_number, parse_interval


def generalized_estimator(rows: anatomy.RowCodes, contingency: Contingency, recoding: Recoding) -> anatomy.Estimator:
    """Answers of the release that a recoding of these counts gives, to queries over these rows."""
    position = {name: place for place, name in enumerate(recoding.columns)}
    # For each label of a column, which values are published under it.
    members = {
        name: np.zeros((len(recoding.labels[place]), len(contingency.keys[place]))) for name, place in position.items()
    }
    for name, place in position.items():
        members[name][recoding.codes[place][recoding.kept], contingency.codes[place][recoding.kept]] = 1.0
    known = {key.name: key for key in contingency.keys}
    known |= {name: cells.domain for name, cells in contingency.cells.items()}
    for domain in rows.domains:
        if not domain.values.equals(known[domain.name].values):
            raise InternalError(f"the values of {domain.name!r} were counted in another order than they were read in")
    kept = recoding.kept.astype(np.float64)

    def answer(query: anatomy.Query) -> float:
        expected = kept * contingency.sizes
        for name, mask in query.masks.items():
            if name in position:
                of_label = (members[name] @ mask) / np.maximum(members[name].sum(axis=1), 1.0)
                expected = expected * of_label[recoding.codes[position[name]]]
            else:
                cells = contingency.cells[name]
                expected *= cells.sum_by_class(np.where(mask[cells.value], cells.mass, 0.0)) / cells.totals
        return float(expected.sum())

    return answer


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
# A label such as [20, 30) or 476* stands for some values, its leaves; a record with it has each of them with the same
# probability, column by column. Columns that were published as they are, the sensitive ones among them, are answered exactly.
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

    def hits(self, condition: Tree, value: Tree | None) -> LeafHits:
        """The kinds of records, and the leaves of their labels, for which the condition holds."""
        hidden = tuple(self.leaves)
        place = {name: hidden.index(name) + 1 if name in hidden else 0 for name in self.columns}
        terms = split(condition, place, value=value)
        asked = tuple(table for table in terms.tables if table > 0)
        names = {table: hidden[table - 1] for table in asked}
        self._check_labels(tuple(names.values()))
        found = self.engine.query(self._sql(terms, names))
        taken = [numbers_of(found, f"k{table}") for table in asked]
        all_leaves = [numbers_of(found, f"n{table}") for table in asked]
        share = np.ones(found.num_rows)
        for some, whole in zip(taken, all_leaves, strict=True):
            share *= some / whole
        kind, value_of_hit = numbers_of(found, "x"), numbers_of(found, "v", np.float64)
        return LeafHits(kind, numbers_of(found, "c"), share, _always(kind, taken, all_leaves), value_of_hit)

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
                told = f"it is not known which values of {name!r} the label {found[0]['label']!r} stands for"
                raise BadInput(told, hint="Give the hierarchy of the column, or the release with its mappings")


@dataclass(frozen=True, eq=False)
class LeafHits:
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
        means = arrays.sum_by_id(kinds, value * self.share, len(first))
        squares = arrays.sum_by_id(kinds, value * value * self.share, len(first))
        return max(float(((squares - means * means) * self.records[first]).sum()), 0.0)

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


# --- which values labels stand for ------------------------------------------------------------------------------------
# Whoever published the release has mapping/, which lists the values of every label. Whoever was handed the release may
# have the hierarchies. Otherwise a range such as [20, 30) is read as the whole numbers from 20 up to 29, and any other
# label cannot be asked.
Leaf = tuple[str | None, str | None]
"""A label and a value that it stands for, as text; null is None."""
_LARGEST_RANGE = 100_000
_CLOSED = re.compile(r"\[\s*([^,\[\]]+?)\s*,\s*([^,\[\]]+?)\s*\]")  # a label of Mondrian: both ends included


def leaf_relations(
    engine: DuckDBEngine, table: Table, document: Mapping[str, Any], folder: Path, *, hierarchies: str | Path | None
) -> dict[str, str]:
    """For each column with labels, a relation with the columns `label` and `leaf`."""
    levels, boxes = document["plan"]["levels"], folder / publish.BOXES

    def leaves(name: str, position: int) -> set[Leaf]:
        mapping = folder / publish.FOLDER / file_name(name)
        if hierarchies is not None and name in levels:
            given, level = load_hierarchies(hierarchies, columns=[name]).get(name), levels[name]
            if given is not None:
                of_values = {(labels[level], value) for value, labels in given.rows.items()}
                return of_values | {(given.null_labels[level], None)}
        if mapping.is_file():
            return {(label, value) for value, label in publish.read_mapping(mapping).items()}
        if boxes.is_file():
            spans = [(box.labels[position], box.spans[position]) for box in publish.read_boxes(boxes)]
            return {leaf for label, span in spans for leaf in _of_span(label, span)}
        column = f"SELECT DISTINCT {engine.quote(name)} AS label FROM {table.relation}"
        return {leaf for label in engine.query(column).column("label").to_pylist() for leaf in _of_label(label)}

    return {
        name: engine.register(engine.fresh_name("leaves"), _typed(leaves(name, position)))
        for position, name in enumerate(document["roles"]["quasi_identifiers"])
        if name not in document["unchanged"]
    }


def _of_span(label: str | None, span: Any) -> Iterator[Leaf]:
    """The values of a box in one column."""
    if span is not None and "values" in span:
        yield from ((label, value) for value in span["values"])
    elif span is not None:
        yield from _whole_numbers(label, as_number(span["from"] or ""), as_number(span["to"] or ""))


def _of_label(label: str | None) -> Iterator[Leaf]:
    """What a label says by itself: null is null, a number is itself, a range holds the whole numbers in it."""
    if label is None or as_number(label) is not None:
        yield label, label
    elif closed := _CLOSED.fullmatch(label):
        yield from _whole_numbers(label, as_number(closed[1]), as_number(closed[2]))
    elif (interval := parse_interval(label)) is not None and interval.high is not None:
        yield from _whole_numbers(label, interval.low, interval.high - 1)


def _whole_numbers(label: str | None, low: Fraction | None, high: Fraction | None) -> Iterator[Leaf]:
    """The numbers from low to high, both included; none where an end is open or lies between whole numbers."""
    if low is None or high is None or low.denominator != 1 or high.denominator != 1 or high - low > _LARGEST_RANGE:
        return
    yield from ((label, str(number)) for number in range(int(low), int(high) + 1))


def _typed(leaves: set[Leaf]) -> pa.Table:
    """The values as what they are: whole numbers, numbers, dates or text; the release does not tell the type of what it hides."""
    others = {label for label, value in leaves if value is not None}
    # A mapping says what a null would become, whether there are nulls or not: it is a leaf only of a label that stands for nothing else.
    known = [(label, value) for label, value in leaves if value is not None or label not in others]
    ordered = sorted(known, key=lambda leaf: (leaf[0] is None, leaf[0] or "", leaf[1] is None, leaf[1] or ""))
    labels, texts = pa.array([label for label, _ in ordered], pa.string()), [value for _, value in ordered]
    values = [text for text in texts if text is not None]
    for read in (_whole, _number, _date):
        if values and all(read(text) is not None for text in values):
            return pa.table({"label": labels, "leaf": [None if text is None else read(text) for text in texts]})
    return pa.table({"label": labels, "leaf": pa.array(texts, pa.string())})


def _whole(text: str) -> int | None:
    """A whole number as it is written; 007 is not one."""
    number = as_number(text)
    return int(number) if number is not None and number.denominator == 1 and text == str(int(number)) else None


def _number(text: str) -> float | None:
    number = as_number(text)
    is_code = text.startswith("0") and not text.startswith("0.") and text != "0"
    return None if number is None or is_code else float(number)


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None
