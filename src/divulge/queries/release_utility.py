# SPDX-License-Identifier: Apache-2.0
"""Utility of a release compared with its original.

Four measures, all over the values of the original:

- the distance of each column's distribution,
- the change of each association,
- the error of counts,
- the share of the quasi-identifiers' information about a sensitive column that is lost (Bezzi 2010,
  section 4).

A fifth on request: the accuracy of a model that is trained on the release and predicts a column.
None of them measures disclosure risk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from divulge import arrays, counting, generalization, metrics
from divulge.adversary import Adversary, Assumptions
from divulge.anatomization import (
    LARGER,
    Anatomized,
    CodedTables,
    Coefficients,
    KeptAssociation,
    Recq,
    RowCodes,
    Workload,
    coefficients_of,
    estimator,
    needs_chunks,
    read_rows,
    reconstructed_information,
    recq,
)
from divulge.arrays import Bools, Ints
from divulge.counting import Contingency, Domain, Request
from divulge.errors import BadInput, nearest
from divulge.generalization import Hierarchies
from divulge.hierarchies import Hierarchy, build_hierarchies, load_hierarchies
from divulge.metrics import Measurement
from divulge.queries.label_matching import Spread, read_spread
from divulge.queries.model_utility import ModelQuality, Task, model_of_groups, model_of_labels
from divulge.results import Result
from divulge.sources import Names, Roles, Table, resolve_roles
from divulge.text import as_text

Kind = Literal["generalized", "anatomized", "table"]
_MAX_CELLS = 2**22
"""Pairs of columns with more pairs of values are excluded from the associations."""
_TOO_LARGE = "{what} not measured: the table has more rows than may come to memory"


@dataclass(frozen=True)
class ColumnDistance:
    """Distance of a column of a release from the original's."""

    column: str
    distance: float
    """Total variation: half the sum of the differences between the shares of each value.

    0: equal, 1: nothing in common.
    """
    values: int
    """Number of values in the original."""
    labels: int
    """Number of published labels."""
    read_by: str
    """Source of the values that a label stands for: value, mapping, hierarchy, as written."""


Shares = tuple[tuple[str | None, float], ...]
"""Values, each with its share of the original's records."""


@dataclass(frozen=True)
class InformationKept:
    """Information of the quasi-identifiers about a sensitive column, in bits."""

    attribute: str
    before: float
    """I(W;X) of the original."""
    after: float
    """I(W;X~) of the release, relative to the distribution of the original.

    Suppressed records contribute nothing.
    """

    @property
    def loss(self) -> float:
        """Share of the information that is lost; 0 if there was none."""
        if self.before > 0:
            return 1.0 - self.after / self.before
        return 0.0


@dataclass(frozen=True, repr=False)
class Utility(Result):
    """Utility of a release compared with its original."""

    view = "utility"

    kind: Kind
    rows: int
    """Number of rows of the original."""
    published: int
    """Number of rows of the release."""
    columns: tuple[ColumnDistance, ...]
    associations: tuple[KeptAssociation, ...]
    """Every pair of columns that was measured."""
    recq: Recq | None
    """Relative error of count queries; None if there were no queries."""
    information: tuple[InformationKept, ...]
    model: ModelQuality | None
    left_out: tuple[str, ...]
    """Columns of the original that are not in the release."""
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    shares: Mapping[str, tuple[Shares, Shares]] = field(default_factory=dict, repr=False)
    """Values of the original and labels of the release by column, with their shares.

    Labels are in the order of the values that they stand for.
    """

    @property
    def summary(self) -> dict[str, float]:
        """The few numbers by which releases are compared."""
        distances = [column.distance for column in self.columns]
        figures = {
            "rows_left_out": 1.0 - self.published / self.rows,
            "mean_distance": float(np.mean(distances)),
            "largest_distance": max(distances),
        }
        if self.associations:
            figures["association_change"] = float(
                np.mean(
                    [
                        abs(
                            _association_strength(item.true)
                            - _association_strength(item.reconstructed)
                        )
                        for item in self.associations
                    ]
                )
            )
        if self.recq is not None:
            figures |= {"query_error_median": self.recq.median, "query_error_mean": self.recq.mean}
        figures |= {f"information_loss.{item.attribute}": item.loss for item in self.information}
        if self.model is not None:
            figures |= {f"model_{score.name}": score.after for score in self.model.scores}
        return figures


def _association_strength(coefficients: Coefficients) -> float:
    return float(np.sqrt(coefficients.phi2))


# --- releases of any kind -------------------------------------------------------------------------
Meaning = Callable[[Domain], Mapping[str | None, Sequence[str | None]] | None]
"""Values of a column that each label stands for; None if they are unknown."""


def unknown_meaning(_: Domain) -> None:
    """A recipient does not know the values that a label stands for."""


@dataclass(frozen=True, eq=False)
class ReleaseData:
    """The data of a release: its rows and the meaning of its labels."""

    kind: Kind
    source: str
    published_data: Table | CodedTables
    """The one table of a generalized or third-party release, or all tables of an anatomized one.
    """
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    meaning: Meaning = unknown_meaning
    hierarchies: Hierarchies | None = None
    anatomized: Anatomized | None = None
    """Assignment of records to groups, if the release has not been written."""
    recode: Callable[[Table], tuple[Contingency, generalization.Recoding]] | None = None
    """Recoding of each class of the original, if classes are recoded individually."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the release."""
        if isinstance(self.published_data, Table):
            return self.published_data.names
        return tuple(self.published_data.table_by_column)


# --- measurement ----------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class UtilityComparison:
    """An original and a release of it, to be compared."""

    original: Table
    opened: ReleaseData
    roles: Roles
    """Roles of the columns that both have."""
    names: tuple[str, ...]
    """Columns to compare."""

    @classmethod
    def of(
        cls, original: Table, opened: ReleaseData, quasi_identifiers: Names, sensitive: Names
    ) -> UtilityComparison:
        """Select the common columns and the roles: explicit roles, else those of the release."""
        names = tuple(
            column.name
            for column in original.columns
            if column.name in opened.names and column.kind != "nested"
        )
        if not names:
            message = f"{original.source} and {opened.source} have no column in common"
            raise BadInput(message, hint="Is this the table that the release was made from?")
        roles = resolve_roles(
            original,
            quasi_identifiers=quasi_identifiers or tuple(opened.roles.get("quasi_identifiers", ())),
            sensitive=sensitive or tuple(opened.roles.get("sensitive", ())),
        )
        for name in (*roles.quasi_identifiers, *roles.sensitive):
            if name not in names:
                raise BadInput(f"{opened.source} has no column {name!r}", hint=nearest(name, names))
        return cls(original, opened, roles, names)

    @cached_property
    def original_counts(self) -> counting.PairCounts:
        """Counts of the original."""
        return counting.count_pairs(self.original, self.names, is_wanted=_has_few_cells)

    @cached_property
    def release_counts(self) -> counting.PairCounts | CodedTables:
        """Counts of the release: its one table in its engine, or all tables as codes."""
        if isinstance(self.opened.published_data, CodedTables):
            return self.opened.published_data
        return counting.count_pairs(
            self.opened.published_data, self.names, is_wanted=_has_few_cells
        )

    @cached_property
    def label_values(self) -> dict[str, Spread]:
        """Values that the labels of each column stand for."""
        hierarchies = self._hierarchies()
        meaning = self.opened.meaning
        domains = {name: self.original_counts.domain(name) for name in self.names}
        return {
            name: read_spread(
                domain,
                self.release_counts.domain(name),
                known_values=meaning(domain),
                hierarchy=hierarchies.get(name),
            )
            for name, domain in domains.items()
        }

    def _hierarchies(self) -> dict[str, Hierarchy]:
        hierarchies = self.opened.hierarchies
        if hierarchies is None:
            return {}
        if isinstance(hierarchies, str | Path):
            return dict(load_hierarchies(hierarchies, columns=list(self.names)))
        for name in hierarchies:
            if name not in self.names:
                raise BadInput(
                    f"a hierarchy is given for {name!r}, which is not compared",
                    hint=nearest(name, self.names),
                )
        return build_hierarchies(
            hierarchies, {name: self.original_counts.domain(name).labels for name in hierarchies}
        )

    def utility(
        self, *, target: str | None, queries: int | None, workload: Any, folds: int, seed: int
    ) -> Utility:
        """Measure everything."""
        notes: list[str] = []
        is_large = needs_chunks(self.original)
        if is_large and target is not None:
            raise BadInput(
                _TOO_LARGE.format(what="a model is"),
                hint=f"Take a sample of both tables, or {LARGER}",
            )
        recq = None
        if queries != 0 and not is_large:
            recq = self._recq(
                Workload(
                    workload, queries=queries, seed=seed, with_sensitive=bool(self.roles.sensitive)
                )
            )
        elif is_large:
            notes.append(_TOO_LARGE.format(what="the error of count queries was"))
        associations, skipped_pairs = self._associations()
        if skipped_pairs:
            notes.append(
                f"{skipped_pairs} pairs of columns have too many values together, and their "
                "association was not measured"
            )
        information = self._information(notes)
        if target is None:
            model = None
        else:
            model = self._model(Task(target, folds, seed))
        return Utility(
            kind=self.opened.kind,
            rows=self.original_counts.records,
            published=self.release_counts.records,
            columns=tuple(map(self._distance, self.names)),
            associations=associations,
            recq=recq,
            information=information,
            model=model,
            left_out=tuple(name for name in self.original.names if name not in self.opened.names),
            settings=self._settings(recq, model),
            notes=tuple(notes),
            shares={name: self._shares(name) for name in self.names},
            frame=self.original.frame,
        )

    def _settings(self, recq: Recq | None, model: ModelQuality | None) -> dict[str, Any]:
        if recq is None:
            query_settings = None
        else:
            query_settings = {
                **recq.as_json(),
                "seed": recq.workload.seed,
                "floor": recq.workload.floor,
            }
        return {
            "original": self.original.source,
            "read": self.original.reading.document(),
            "release": self.opened.source,
            "kind": self.opened.kind,
            "engine": self.original.engine.name,
            "quasi_identifiers": list(self.roles.quasi_identifiers),
            "sensitive": list(self.roles.sensitive),
            "counted": "rows",
            "distance": "total variation over the values of the original",
            "labels": {name: spread.read_by for name, spread in self.label_values.items()},
            "spread": "each label in equal parts over those of its values that occur in the "
            "original",
            "association": "Cramer's V and mutual information in bits",
            "information": "reconstructed within groups"
            if self.opened.kind == "anatomized"
            else "classes of labels",
            "queries": None
            if query_settings is None
            else {
                k: v
                for k, v in query_settings.items()
                if k not in ("mean", "median", "p90", "below_floor")
            },
            "model": None if model is None else dict(model.settings),
        }

    def _distance(self, name: str) -> ColumnDistance:
        spread = self.label_values[name]
        true = self.original_counts.counts(name) / self.original_counts.records
        published_shares = (
            spread.over_values(self.release_counts.counts(name)) / self.release_counts.records
        )
        distance = arrays.never_negative(
            0.5 * float(np.abs(np.append(true, 0.0) - published_shares).sum())
        )
        return ColumnDistance(
            name, distance, len(spread.domain), len(spread.labels), spread.read_by
        )

    def _shares(self, name: str) -> tuple[Shares, Shares]:
        spread = self.label_values[name]
        record_count = self.original_counts.records
        first = np.full(len(spread.labels), len(spread.domain))
        np.minimum.at(first, spread.label, spread.value)
        before = self.original_counts.counts(name) / record_count
        after = self.release_counts.counts(name) / record_count
        return (
            tuple(zip(spread.domain.labels, before.tolist(), strict=True)),
            tuple(
                (spread.labels.labels[code], float(after[code]))
                for code in np.argsort(first, kind="stable")
            ),
        )

    def _associations(self) -> tuple[tuple[KeptAssociation, ...], int]:
        """Association of each pair of columns in the original and as reconstructed."""
        associations = []
        skipped = 0
        for left, right in combinations(self.names, 2):
            lefts = self.label_values[left]
            rights = self.label_values[right]
            if (left, right) not in self.original_counts.cells or not _has_few_cells(
                lefts.labels, rights.labels
            ):
                skipped += 1
                continue
            true = self.original_counts.together(left, right)
            published_counts = (
                lefts.matrix().T @ self.release_counts.together(left, right) @ rights.matrix()
            )
            before = coefficients_of(true, self.original_counts.records)
            exact = bool(np.array_equal(published_counts[:-1, :-1], true))
            if exact:
                after = before
            else:
                after = coefficients_of(published_counts, self.release_counts.records)
            associations.append(KeptAssociation(left, right, exact, before, after))
        return tuple(associations), skipped

    def _recq(self, workload: Workload) -> Recq:
        # Columns are in the order of the table, so that releases with different divisions get equal
        # queries.
        candidate_columns = self.roles.quasi_identifiers or set(self.names).difference(
            self.roles.sensitive
        )
        names = [name for name in self.names if name in candidate_columns]
        query_columns = [*names, *self.roles.sensitive]
        published_data = self.opened.published_data
        if isinstance(published_data, CodedTables):
            coded = published_data
        else:
            coded = CodedTables.of_table(published_data, query_columns)
        answer = estimator(coded, self.label_values)
        rows = read_rows(self.original, query_columns)
        return recq(
            rows, answer, quasi_identifiers=names, sensitive=self.roles.sensitive, workload=workload
        )

    def _information(self, notes: list[str]) -> tuple[InformationKept, ...]:
        names = self.roles.quasi_identifiers
        attributes = self.roles.sensitive
        if not names or not attributes:
            notes.append(
                "information is about quasi-identifiers and a sensitive column, and they were "
                "not named"
            )
            return ()
        before = _measure(self.original, self.roles, Adversary())
        published_data = self.opened.published_data
        if isinstance(published_data, CodedTables):
            information_bits = {
                name: reconstructed_information(published_data, names, name) for name in attributes
            }
        else:
            # E[I1] relative to the original's distribution, over all of its people. Suppressed
            # people contribute nothing.
            after = _measure(published_data, self.roles, Adversary(original=self.original))
            share = self.release_counts.records / self.original_counts.records
            information_bits = {
                name: after.information_about(name)[1] * share for name in attributes
            }
        information = []
        for name, bits in information_bits.items():
            if bits is None:
                notes.append(
                    f"what is left of the information about {name} was not worked out: groups "
                    "are too large"
                )
            else:
                information.append(InformationKept(name, before.information_about(name)[0], bits))
        return tuple(information)

    def _model(self, task: Task) -> ModelQuality:
        if task.target not in self.names:
            message = f"the target {task.target!r} is not a column of both tables"
            raise BadInput(message, hint=nearest(task.target, self.names))
        if isinstance(self.opened.published_data, CodedTables):
            if self.opened.anatomized is None:
                message = (
                    "which rows of the original are in which group is not known, so none can be "
                    "held back from the model"
                )
                hint = (
                    "Give the release as `anatomize` made it, before it is written: it knows who "
                    "is in which group"
                )
                raise BadInput(message, hint=hint)
            return model_of_groups(self.opened.anatomized, task, [*self.names])
        names = list(dict.fromkeys([*self.names, *self.roles.quasi_identifiers]))
        (original_table,) = CodedTables.of_table(self.original, names).tables
        labels = self._label_codes(original_table.rows)
        model_quality = model_of_labels(
            original_table,
            labels,
            self.label_values,
            task,
            is_published=self._has_published_class(labels, self.opened.published_data),
        )
        if self.opened.recode:
            message = "by the boxes; of several that hold it, the first"
        else:
            message = "by the labels of its values"
        return replace(
            model_quality,
            settings={
                **model_quality.settings,
                "records": f"each row as it was published, {message}",
            },
        )

    def _label_codes(self, rows: RowCodes) -> dict[str, Ints]:
        """Label code of each row in each column; -1 if there is none."""
        by_value = {name: self.label_values[name].label_of_value for name in rows.names}
        ambiguous = [name for name, of_value in by_value.items() if of_value is None]
        label_codes = {
            name: label_of_value[rows.column(name)]
            for name, label_of_value in by_value.items()
            if label_of_value is not None
        }
        if not ambiguous:
            return label_codes
        # Classes were recoded individually, and a value has several labels.
        if self.opened.recode is None:
            message = (
                f"values of {ambiguous[0]!r} are published under several labels, and nothing says "
                "which row has which"
            )
            raise BadInput(
                message,
                hint="Give the release as `generalize` made it, or its folder with its private "
                "part",
            )
        contingency, recoding = self.opened.recode(self.original)
        class_of = _class_of_rows(rows, contingency)
        for name in ambiguous:
            column_index = recoding.columns.index(name)
            codes = {
                as_text(label): code
                for code, label in enumerate(self.label_values[name].labels.labels)
            }
            code = np.array(
                [codes.get(label, -1) for label in recoding.labels[column_index]], dtype=np.int64
            )
            label_codes[name] = np.where(
                class_of >= 0, code[recoding.codes[column_index]][class_of], -1
            )
        return label_codes

    def _has_published_class(self, labels: Mapping[str, Ints], table: Table) -> Bools:
        """Flags of the rows whose class is in the release."""
        rows = len(next(iter(labels.values())))
        classes = list(self.roles.quasi_identifiers) or [
            name for name in labels if not self.label_values[name].exact
        ]
        if not classes:
            return np.ones(rows, dtype=bool)
        (published_table,) = CodedTables.of_table(table, classes).tables
        stacked_codes = [
            np.concatenate([labels[name], published_table.rows.column(name)]) + 1
            for name in classes
        ]
        ids, _ = arrays.class_ids(
            stacked_codes,
            [len(self.label_values[name].labels) + 1 for name in classes],
            rows=len(stacked_codes[0]),
        )
        return np.isin(ids[:rows], ids[rows:])


def _measure(table: Table, roles: Roles, adversary: Adversary) -> Measurement:
    """Measure a table by quasi-identifiers and sensitive columns only."""
    own_roles = resolve_roles(
        table, quasi_identifiers=roles.quasi_identifiers, sensitive=roles.sensitive, declared=True
    )
    request = Request(table, own_roles, adversary.counted_nulls, joint=False)
    assumptions = Assumptions.of(adversary, table, own_roles)
    return metrics.measure_request(request, assumptions=assumptions, population=None)


def _has_few_cells(left: Domain, right: Domain) -> bool:
    return len(left) * len(right) <= _MAX_CELLS


def _class_of_rows(rows: RowCodes, contingency: Contingency) -> Ints:
    """Class of each row; -1 if the row was not counted."""
    stacked_codes = []
    radices = []
    for key, codes in zip(contingency.own_keys, contingency.own_codes, strict=True):
        domain = rows.domain(key.name)
        codes_by_label = {as_text(label): code for code, label in enumerate(domain.labels)}
        own_codes = np.array(
            [codes_by_label[as_text(label)] for label in key.labels], dtype=np.int64
        )
        stacked_codes.append(np.concatenate([rows.column(key.name), own_codes[codes]]))
        radices.append(len(domain))
    ids, _ = arrays.class_ids(stacked_codes, radices, rows=len(stacked_codes[0]))
    class_of = np.full(int(ids.max()) + 1, -1, dtype=np.int64)
    class_of[ids[len(rows) :]] = np.arange(len(contingency))
    return class_of[ids[: len(rows)]]
