# SPDX-License-Identifier: Apache-2.0
"""Query answers of a generalized release: to a workload from counts, to a condition from its table.

For a workload, the records of a label are distributed uniformly over the values of the table that
are published under it. A reader of the release may not know which values of a range occur. So the
method favors generalization slightly, and a comparison that anatomization wins is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge import anatomization, arrays
from divulge.arrays import Floats, Ints
from divulge.counting import Contingency, Domain
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, InternalError
from divulge.generalization import Recoding
from divulge.queries.bounds import column_array, maximize_average
from divulge.queries.condition import Terms, Tree, split_by_table, write
from divulge.queries.label_matching import Spread
from divulge.queries.labels import Labels
from divulge.sources import Table


def generalized_estimator(
    rows: anatomization.RowCodes, contingency: Contingency, recoding: Recoding, sensitive: str
) -> anatomization.Estimator:
    """Build the estimator of the release that a recoding of these counts produces.

    It answers queries over these rows. The release is one table that is one group.
    """
    cells = contingency.cells[sensitive]
    domains = {key.name: key for key in contingency.keys} | {sensitive: cells.domain}
    for domain in rows.domains:
        if not domain.values.equals(domains[domain.name].values):
            raise InternalError(
                f"the values of {domain.name!r} were counted in another order than they were "
                "read in"
            )
    is_published = recoding.published_mask[cells.class_index]
    classes = cells.class_index[is_published]
    records = cells.mass[is_published]
    spreads = {
        name: _labels_over_values(
            domains[name], recoding, column_index, contingency.codes[column_index]
        )
        for column_index, name in enumerate(recoding.columns)
    }
    label_codes = anatomization.RowCodes(
        (*(spread.labels for spread in spreads.values()), cells.domain),
        (*(codes[classes] for codes in recoding.codes), cells.value[is_published]),
    )
    table = anatomization.CodedTable(
        label_codes, np.zeros(len(classes), dtype=np.int64), records.astype(np.int64)
    )
    return anatomization.estimator(
        anatomization.CodedTables((table,), np.array([table.records.sum()])), spreads
    )


def _labels_over_values(
    domain: Domain, recoding: Recoding, column_index: int, values: Ints
) -> Spread:
    """Map the labels of a column to the values of the table that are published under them."""
    pairs = np.column_stack(
        [recoding.codes[column_index][recoding.published_mask], values[recoding.published_mask]]
    )
    label, value = np.unique(pairs, axis=0).T
    labels = Domain(domain.name, pa.array(recoding.labels[column_index], pa.string()), "text")
    return Spread(domain, labels, label, value, "mapping")


def largest_shift(published: Contingency, prior: Mapping[str, Floats]) -> float:
    """Compute the delta of a generalized release.

    It is the largest difference between the share of a sensitive value in a class and its share in
    the original.
    """
    largest_difference = 0.0
    for name, cells in published.cells.items():
        shares = prior[name] / prior[name].sum()
        difference = np.abs(cells.mass / cells.totals[cells.class_index] - shares[cells.value])
        is_absent_from_a_class = np.bincount(cells.value, minlength=len(shares)) < len(published)
        largest_difference = max(
            largest_difference,
            float(difference.max()),
            float(shares[is_absent_from_a_class].max(initial=0.0)),
        )
    return largest_difference


# --- queries of a generalized release -------------------------------------------------------------
# A label such as [20, 30) or 476* represents some values, its leaves. Bounds hold for any leaf that
# a record may have had. The estimate distributes records uniformly over the leaves, column by
# column. Columns published unchanged, such as the sensitive ones, are answered exactly.
@dataclass(frozen=True, eq=False)
class GeneralizedSource:
    """Generalized release as a source of estimates."""

    table: Table
    labels: Mapping[str, Labels]
    """Meaning of the labels of each generalized column; other columns were published unchanged."""
    left_out: int | None = None
    """Number of suppressed records; None if the release does not state it."""

    @property
    def engine(self) -> DuckDBEngine:
        """Engine that reads the table."""
        return cast("DuckDBEngine", self.table.engine)

    @property
    def source(self) -> list[str]:
        """Source of its table."""
        return [self.table.source]

    @property
    def frame(self) -> str:
        """Kind of data frame that was passed in."""
        return self.table.frame

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a condition may refer to; a column with labels is queried by its leaves."""
        return self.table.names

    @property
    def binding(self) -> str:
        """FROM clause of the table with leaves instead of labels; it is never executed."""
        cells = [
            f"CAST(NULL AS {self.labels[name].type}) AS {self.engine.quote(name)}"
            if name in self.labels
            else self.engine.quote(name)
            for name in self.columns
        ]
        return f"(SELECT {', '.join(cells)} FROM {self.table.relation}) AS t"

    @cached_property
    def records(self) -> int:
        """Number of released records."""
        counts = self.engine.query(f"SELECT COUNT(*) AS n FROM {self.table.relation}").to_pylist()
        return int(counts[0]["n"])

    def settings(self, names: Iterable[str]) -> dict[str, Any]:
        """Settings of an answer about these columns."""
        labels_by_column = {
            name: labels for name, labels in self.labels.items() if name in set(names)
        }
        return {
            "records": self.records,
            "left_out": self.left_out,
            "labels": {
                name: {"from": labels.origin, "type": labels.type}
                for name, labels in labels_by_column.items()
            },
        }

    def opposite(self, condition: Tree) -> Tree | None:  # noqa: ARG002 - bounds are computed record by record
        """Return None: no other condition has better bounds."""
        return None

    def hits(self, condition: Tree, value: Tree | None) -> LeafHits:
        """Query the kinds of records, and the leaves of their labels, that match a condition."""
        label_columns = tuple(self.labels)
        table_of_column = {
            name: label_columns.index(name) + 1 if name in self.labels else 0
            for name in self.columns
        }
        terms = split_by_table(condition, table_of_column, value=value)
        condition_tables = tuple(table for table in terms.tables if table > 0)
        names = {table: label_columns[table - 1] for table in condition_tables}
        self._check_labels(tuple(names.values()))
        leaf_relations = {table: self.engine.fresh_name("leaves") for table in condition_tables}
        try:
            for table, name in names.items():
                self.engine.register(
                    leaf_relations[table], self.labels[name].leaves(name, condition, value)
                )
            hits_table = self.engine.query(self._sql(terms, names, leaf_relations))
        finally:
            for name in leaf_relations.values():
                self.engine.forget(name)
        taken_leaves = [column_array(hits_table, f"k{table}") for table in condition_tables]
        all_leaves = [column_array(hits_table, f"n{table}") for table in condition_tables]
        share = np.ones(hits_table.num_rows)
        for table in condition_tables:
            share *= column_array(hits_table, f"w{table}", np.float64)
        kind = column_array(hits_table, "x")
        value_of_hit = column_array(hits_table, "v", np.float64)
        return LeafHits(
            kind,
            column_array(hits_table, "c"),
            share,
            _takes_all_leaves(kind, taken_leaves, all_leaves),
            value_of_hit,
        )

    def _sql(
        self, terms: Terms, names: Mapping[int, str], leaf_relations: Mapping[int, str]
    ) -> str:
        """Write the SQL that counts records by labels and joins them with the leaves of the labels.

        Records are also counted by their results for the terms over columns published unchanged.
        """
        engine = self.engine
        labels = "".join(f", {engine.quote(name)} AS l{table}" for table, name in names.items())
        answers = "".join(
            f", {write(tree)} AS {name}" for name, tree in terms.features.get(0, {}).items()
        )
        if 0 in terms.table_conditions:
            where = f" WHERE {write(terms.table_conditions[0])}"
        else:
            where = ""
        keys = ", ".join([*(f"l{table}" for table in names), *terms.features.get(0, {}), "one"])
        rows = f"SELECT 1 AS one{labels}{answers} FROM {self.table.relation}{where}"
        counts_sql = f"SELECT {keys}, COUNT(*) AS c FROM ({rows}) AS r GROUP BY {keys}"
        subqueries = [f"kinds AS (SELECT *, ROW_NUMBER() OVER () AS x FROM ({counts_sql}) AS t)"]
        joins = ""
        for table, name in names.items():
            leaf_sql = self._leaf_sql(terms, table, name, engine.quote(leaf_relations[table]))
            subqueries.append(f"p{table} AS ({leaf_sql})")
            joins += f" JOIN p{table} ON p{table}.l IS NOT DISTINCT FROM kinds.l{table}"
        columns = "".join(
            f", p{table}.k AS k{table}, p{table}.n AS n{table}, p{table}.w AS w{table}"
            for table in names
        )
        if terms.value is None:
            value = "1"
        else:
            value = write(terms.value)
        if terms.rest is None:
            rest = ""
        else:
            rest = f" WHERE {write(terms.rest)}"
        return (
            f"WITH {', '.join(subqueries)} "
            f"SELECT x, c{columns}, CAST({value} AS DOUBLE) AS v FROM kinds{joins}{rest}"
        )

    def _leaf_sql(self, terms: Terms, table: int, name: str, leaves: str) -> str:
        """Write the SQL that counts the leaves of each label by the results of the terms.

        Each row has a label, its number of leaves, the number of leaves with the result and their
        share of the label's weight.
        """
        engine = self.engine
        features = terms.features.get(table, {})
        answers = "".join(f", {write(tree)} AS {alias}" for alias, tree in features.items())
        if table in terms.table_conditions:
            where = f" WHERE {write(terms.table_conditions[table])}"
        else:
            where = ""
        of_label = "PARTITION BY leaves.label"
        # A struct holds the other columns, because the queried column may have any name.
        packed = (
            f"{{'l': leaves.label, 'n': COUNT(*) OVER ({of_label}), 'w': weight / SUM(weight) OVER "
            f"({of_label})}}"
        )
        packed_name = engine.quote("other" if name.casefold() != "other" else "another")
        leaves_sql = (
            f"SELECT leaves.leaf AS {engine.quote(name)}, {packed} AS {packed_name} "
            f"FROM {leaves} AS leaves"
        )
        rows = (
            f"SELECT {packed_name}.l AS l, {packed_name}.n AS n, {packed_name}.w AS w{answers} "
            f"FROM ({leaves_sql}) AS counted{where}"
        )
        keys = ", ".join(["l", "n", *features])
        return f"SELECT {keys}, COUNT(*) AS k, SUM(w) AS w FROM ({rows}) AS r GROUP BY {keys}"

    def _check_labels(self, names: tuple[str, ...]) -> None:
        """Raise an error if a label of the release has no leaves.

        The join would silently drop its records.
        """
        for name in names:
            column = (
                f"SELECT DISTINCT {self.engine.quote(name)} AS label "
                f"FROM {self.table.relation} ORDER BY 1 NULLS LAST"
            )
            known_labels = self.labels[name].known_labels
            unknown_labels = [
                label
                for label in self.engine.query(column)["label"].to_pylist()
                if label not in known_labels
            ]
            if unknown_labels and unknown_labels[0] in self.labels[name].any_value:
                message = (
                    f"the label {unknown_labels[0]!r} of {name!r} stands for any value, so answers "
                    "about it have no bounds"
                )
                raise BadInput(message, hint="Ask about other columns")
            if unknown_labels:
                label = unknown_labels[0]
                message = f"it is not known which values of {name!r} the label {label!r} stands for"
                raise BadInput(
                    message,
                    hint="Give the hierarchy of the column, or the release with its private part",
                )


@dataclass(frozen=True, eq=False)
class LeafHits:
    """Hits of a generalized release.

    Hit h consists of some of the leaves of the labels of records of one kind.
    """

    kind: Ints = field(repr=False)
    """Kind of record: equal labels, and equal results for the columns published unchanged."""
    records: Ints = field(repr=False)
    """Number of records of the hit's kind."""
    share: Floats = field(repr=False)
    """Weighted share of the leaves that the hit consists of."""
    must_match: npt.NDArray[np.bool_] = field(repr=False)
    """True if the hits of the kind take all leaves, so that each of its records must match."""
    value: Floats = field(repr=False)

    def mean(self, value: Floats) -> float:
        """Compute the mean if records are distributed over the leaves of labels by weight."""
        return float((value * self.share * self.records).sum())

    def greatest_sum(self, value: Floats) -> float:
        """Compute the greatest sum: every record takes its best leaf."""
        if len(value) == 0:
            return 0.0
        return self._best_choice(value)(0.0)[0]

    def highest_average(self, value: Floats) -> float:
        """Compute the highest average: every record takes its best leaf, or none."""
        return maximize_average(self._best_choice(value))

    @cached_property
    def _kinds(self) -> tuple[Ints, Ints]:
        return arrays.class_ids([self.kind], [int(self.kind.max()) + 1], rows=len(self.kind))

    def _best_choice(self, value: Floats) -> Callable[[float], tuple[float, float]]:
        kinds, first = self._kinds
        best_values = np.full(len(first), -np.inf)
        np.maximum.at(best_values, kinds, value)
        records = self.records[first]
        must_match = self.must_match[first]

        def take(limit: float) -> tuple[float, float]:
            taken_counts = np.where(must_match | (best_values > limit), records, 0)
            return float((best_values * taken_counts).sum()), float(taken_counts.sum())

        return take


def _takes_all_leaves(
    kind: Ints, taken_leaves: list[Ints], all_leaves: list[Ints]
) -> npt.NDArray[np.bool_]:
    """Mark the hits of kinds whose hits take all combinations of leaves.

    Computed with Python integers, which cannot overflow.
    """
    if len(kind) == 0:
        return np.zeros(0, dtype=np.bool_)
    taken_combinations = np.ones(len(kind), dtype=object)
    all_combinations = np.ones(len(kind), dtype=object)
    for taken_counts, leaf_counts in zip(taken_leaves, all_leaves, strict=True):
        taken_combinations = taken_combinations * taken_counts.astype(object)
        all_combinations = all_combinations * leaf_counts.astype(object)
    kinds, first = arrays.class_ids([kind], [int(kind.max()) + 1], rows=len(kind))
    sums = np.zeros(len(first), dtype=object)
    np.add.at(sums, kinds, taken_combinations)
    return np.asarray(sums == all_combinations[first], dtype=np.bool_)[kinds]
