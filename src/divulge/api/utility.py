# SPDX-License-Identifier: Apache-2.0
"""utility(): how much of a table is still in a release of it, measured and not guessed.

Four questions, all asked of the values of the original: how far is each column's distribution, how much of each association is left, how
far off are counts, and how much of what the quasi-identifiers say about a sensitive column is lost (Bezzi 2010, section 4). A fifth on
request: how well does a model foretell a column that learns from the release. None of them says what an adversary learns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from divulge import anatomy, answers, arrays, count, engines, hierarchy, publish, search, values
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.generalize import Hierarchies
from divulge.api.measure import TableOrRelease, measure
from divulge.api.query import is_anatomized, open_anatomized
from divulge.arrays import Bools, Ints
from divulge.belief import Adversary
from divulge.count import Contingency, Domain, Request, count_in_memory
from divulge.errors import BadInput, nearest
from divulge.hierarchy import Hierarchy, load_hierarchies
from divulge.results import Result
from divulge.table import Names, Roles, Table, read, read_beside, resolve_roles, table_of

Kind = Literal["generalized", "anatomized", "table"]
_MOST_CELLS = 2**22
"""Pairs of columns with more pairs of values are left out of the associations."""
_LARGE = "{what} not measured: the table has more rows than may come to memory"


@dataclass(frozen=True)
class ColumnDistance:
    """How far a column of a release is from the original's."""

    column: str
    distance: float
    """Total variation: half the sum of the differences between the shares of each value. 0: the same, 1: nothing in common."""
    values: int
    """How many the original has ..."""
    labels: int
    """... and how many are published."""
    read_by: str
    """What says which values a label stands for: value, mapping, hierarchy, as written."""


Shares = tuple[tuple[str | None, float], ...]
"""Values and how many of the original's records have each."""


@dataclass(frozen=True)
class InformationKept:
    """What the quasi-identifiers say about a sensitive column, in bits."""

    attribute: str
    before: float
    """I(W;X) of the original."""
    after: float
    """Of the release: I(W;X~), against the distribution of the original; who was left out tells nothing."""

    @property
    def loss(self) -> float:
        """The share that is lost; 0 where there was nothing to lose."""
        return 1.0 - self.after / self.before if self.before > 0 else 0.0


@dataclass(frozen=True, repr=False)
class Utility(Result):
    """How much of a table is still in a release of it."""

    view = "utility"

    kind: Kind
    rows: int
    """Of the original."""
    published: int
    """Of the release."""
    columns: tuple[ColumnDistance, ...]
    associations: tuple[anatomy.KeptAssociation, ...]
    """Every pair of columns that was measured."""
    recq: anatomy.Recq | None
    """The relative error of count queries; None where none were asked."""
    information: tuple[InformationKept, ...]
    model: answers.ModelQuality | None
    left_out: tuple[str, ...]
    """Columns of the original that the release does not have."""
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    shares: Mapping[str, tuple[Shares, Shares]] = field(default_factory=dict, repr=False)
    """Of each column, the values of the original, and the labels of the release in the order of what they stand for."""

    @property
    def summary(self) -> dict[str, float]:
        """The few numbers that releases are compared by."""
        distances = [column.distance for column in self.columns]
        found = {
            "rows_left_out": 1.0 - self.published / self.rows,
            "mean_distance": float(np.mean(distances)),
            "largest_distance": max(distances),
        }
        if self.associations:
            found["association_change"] = float(
                np.mean([abs(_v(each.true) - _v(each.reconstructed)) for each in self.associations])
            )
        if self.recq is not None:
            found |= {"query_error_median": self.recq.median, "query_error_mean": self.recq.mean}
        found |= {f"information_loss.{each.attribute}": each.loss for each in self.information}
        if self.model is not None:
            found |= {f"model_{score.name}": score.after for score in self.model.scores}
        return found


def _v(coefficients: anatomy.Coefficients) -> float:
    return float(np.sqrt(coefficients.phi2))


@values.checked
def utility(
    original: Any,
    release: Any,
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    target: str | None = None,
    queries: int | None = None,
    workload: Literal["anchored", "range"] = "anchored",
    hierarchies: Hierarchies | None = None,
    folds: int = 5,
    seed: int = 0,
    engine: engines.EngineChoice = None,
) -> Utility:
    """Measure how much of a table is still in a release of it.

    Args:
        original: The table that the release was made from: whatever `read` opens.
        release: What `generalize`, `anatomize` or `open_release` gave, the folder of a release, a table of somebody else, or the list of
            the tables of somebody else's anatomized release.
        quasi_identifiers: The columns that count queries and information are about; by default those of the release. Of a table without
            roles, queries ask for any columns.
        sensitive: The sensitive columns; by default those of the release.
        target: A column that a model foretells from the others, learning from the original and from the release (needs divulge[model]).
        queries: How many random count queries; 0 for none, by default 1000 and fewer for large tables.
        workload: Queries for the values of a record ("anchored"), or for ranges of values ("range").
        hierarchies: What labels stand for, where the release does not say: a folder of files, or for each column a rule, a file or a
            hierarchy.
        folds: Into how many parts the people are dealt for the model.
        seed: Of the queries and of the folds.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"age": [20, 25, 40, 45], "disease": ["flu", "flu", "cold", "cold"]})
        >>> coarse = pa.table({"age": ["[20, 30)", "[20, 30)", "*", "*"], "disease": ["flu", "flu", "cold", "cold"]})
        >>> found = dv.utility(people, coarse, quasi_identifiers="age", sensitive="disease")
        >>> found.columns[0].distance, found.information[0].loss
        (0.25, 0.0)
    """
    if queries is not None and queries < 0:
        raise BadInput(f"queries = {queries} is not possible", hint="0 asks none")
    if target is not None:
        answers.require_scikit_learn()
    source = read(original, engine=engine)
    opened = _Opened.of(release, source, hierarchies=hierarchies, engine=engine)
    return _Measuring.of(source, opened, quasi_identifiers, sensitive).utility(
        target=target, queries=queries, workload=workload, folds=folds, seed=seed
    )


# --- releases of any kind ---------------------------------------------------------------------------------------------
Meaning = Callable[[Domain], Mapping[str | None, Sequence[str | None]] | None]
"""Which values of a column each label stands for; None: nobody says."""


@dataclass(frozen=True, eq=False)
class _Opened:
    """A release: its rows, where they are, and what its labels mean."""

    kind: Kind
    source: str
    held: Table | anatomy.CodedTables
    """The one table of a generalized release, or of somebody else; or all tables of an anatomized one."""
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    meaning: Meaning = lambda _: None
    hierarchies: Hierarchies | None = None
    anatomized: anatomy.Anatomized | None = None
    """Before it is written: which record is in which group."""
    recode: Callable[[Table], tuple[Contingency, search.Recoding]] | None = None
    """What becomes of each class of the original, where classes are recoded one by one."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        return self.held.names if isinstance(self.held, Table) else tuple(self.held.place)

    @classmethod
    def of(
        cls, release: Any, original: Table, *, hierarchies: Hierarchies | None, engine: engines.EngineChoice
    ) -> _Opened:
        """Open whatever `utility` takes."""
        if isinstance(release, AnatomizedRelease | answers.AnatomizedSource | list | tuple) or is_anatomized(release):
            if hierarchies is not None:
                told = "hierarchies say what labels stand for, and an anatomized release has values"
                raise BadInput(told, hint="Leave them out")
            return _anatomized(release)
        if isinstance(release, publish.GeneralizedRelease):
            return _generalized(release, hierarchies)
        judged = (
            TableOrRelease.of(release, engine=engine) if not isinstance(release, Table) else TableOrRelease(release)
        )
        if judged.release is None:
            table = read_beside(original, judged.table)
            return cls("table", table.source, table, hierarchies=hierarchies)
        return _written(judged.table, judged.release.folder, hierarchies)


def _generalized(release: publish.GeneralizedRelease, hierarchies: Hierarchies | None) -> _Opened:
    if hierarchies is not None:
        raise BadInput("the release itself says what its labels stand for", hint="Leave the hierarchies out")
    own = release.original
    table = table_of(own.engine, f"({own.recoded(release.plan.recoding)})", source=f"{own.source.source}, generalized")
    roles = {"quasi_identifiers": own.roles.quasi_identifiers, "sensitive": own.roles.sensitive}
    recode = (lambda _: (own.people, release.plan.recoding)) if release.plan.boxes else None
    return _Opened("generalized", table.source, table, roles, meaning=release.values_of, recode=recode)


def _written(table: Table, folder: Path, hierarchies: Hierarchies | None) -> _Opened:
    whole = (folder / publish.FOLDER).is_dir()
    release = publish.OpenedRelease.read_folder(folder, private=whole)
    if whole and hierarchies is not None:
        raise BadInput(f"{folder} itself says what its labels stand for", hint="Leave the hierarchies out")
    local = whole and bool(release.boxes)

    def recode(original: Table) -> tuple[Contingency, search.Recoding]:
        roles = resolve_roles(original, quasi_identifiers=release.quasi_identifiers)
        counted = count_in_memory(Request(original, roles, "category", joint=False))
        return counted, release.recode(counted)[0]

    return _Opened(
        "generalized",
        str(folder),
        table,
        {"quasi_identifiers": release.quasi_identifiers, "sensitive": release.sensitive},
        meaning=release.values_of if whole else lambda _: None,
        hierarchies=hierarchies,
        recode=recode if local else None,
    )


def _anatomized(release: Any) -> _Opened:
    if isinstance(release, AnatomizedRelease):
        whole = release.whole("its utility cannot be measured")
        coded, sensitive, source = (
            anatomy.CodedTables.of(whole),
            whole.sensitive,
            f"{release.source.source}, anatomized",
        )
    else:
        published = open_anatomized(release)
        anatomy.check_groups(published)
        whole, coded, sensitive = None, anatomy.CodedTables.read(published), published.sensitive
        source = (
            str(release) if isinstance(release, str | Path) else ", ".join(table.source for table in published.tables)
        )
    roles = {"quasi_identifiers": [name for name in coded.place if name not in sensitive], "sensitive": sensitive}
    # Values are published as they are.
    return _Opened("anatomized", source, coded, roles, meaning=lambda _: {}, anatomized=whole)


# --- measuring --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Measuring:
    """An original and a release of it, side by side."""

    original: Table
    opened: _Opened
    roles: Roles
    """Of the columns that both have."""
    names: tuple[str, ...]
    """What is compared."""

    @classmethod
    def of(cls, original: Table, opened: _Opened, quasi_identifiers: Names, sensitive: Names) -> _Measuring:
        """What both have, and the roles that are given, else those of the release."""
        names = tuple(
            column.name for column in original.columns if column.name in opened.names and column.kind != "nested"
        )
        if not names:
            told = f"{original.source} and {opened.source} have no column in common"
            raise BadInput(told, hint="Is this the table that the release was made from?")
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
    def true(self) -> count.PairCounts:
        """The original, counted."""
        return count.count_pairs(self.original, self.names, wanted=_few_cells)

    @cached_property
    def released(self) -> count.PairCounts | anatomy.CodedTables:
        """The release, counted: its one table where it is, or all tables as codes."""
        if isinstance(self.opened.held, anatomy.CodedTables):
            return self.opened.held
        return count.count_pairs(self.opened.held, self.names, wanted=_few_cells)

    @cached_property
    def spreads(self) -> dict[str, answers.Spread]:
        """What the labels of each column stand for."""
        known, meaning = self._hierarchies(), self.opened.meaning
        domains = {name: self.true.domain(name) for name in self.names}
        return {
            name: answers.read_spread(
                domain, self.released.domain(name), known=meaning(domain), hierarchy=known.get(name)
            )
            for name, domain in domains.items()
        }

    def _hierarchies(self) -> dict[str, Hierarchy]:
        given = self.opened.hierarchies
        if given is None:
            return {}
        if isinstance(given, str | Path):
            return dict(load_hierarchies(given, columns=list(self.names)))
        for name in given:
            if name not in self.names:
                raise BadInput(
                    f"a hierarchy is given for {name!r}, which is not compared", hint=nearest(name, self.names)
                )
        return hierarchy.build_hierarchies(given, {name: self.true.domain(name).labels for name in given})

    def utility(self, *, target: str | None, queries: int | None, workload: Any, folds: int, seed: int) -> Utility:
        """All of it."""
        notes: list[str] = []
        large = anatomy.needs_chunks(self.original)
        if large and target is not None:
            raise BadInput(_LARGE.format(what="a model is"), hint=f"Take a sample of both tables, or {anatomy.LARGER}")
        recq = None
        if queries != 0 and not large:
            recq = self._recq(
                anatomy.Workload(workload, queries=queries, seed=seed, with_sensitive=bool(self.roles.sensitive))
            )
        elif large:
            notes.append(_LARGE.format(what="the error of count queries was"))
        pairs, skipped = self._associations()
        if skipped:
            notes.append(
                f"{skipped} pairs of columns have too many values together, and their association was not measured"
            )
        information = self._information(notes)
        model = None if target is None else self._model(answers.Task(target, folds, seed))
        return Utility(
            kind=self.opened.kind,
            rows=self.true.records,
            published=self.released.records,
            columns=tuple(map(self._distance, self.names)),
            associations=pairs,
            recq=recq,
            information=information,
            model=model,
            left_out=tuple(name for name in self.original.names if name not in self.opened.names),
            settings=self._settings(recq, model),
            notes=tuple(notes),
            shares={name: self._shares(name) for name in self.names},
            frame=self.original.frame,
        )

    def _settings(self, recq: anatomy.Recq | None, model: answers.ModelQuality | None) -> dict[str, Any]:
        asked = None if recq is None else {**recq.as_json(), "seed": recq.workload.seed, "floor": recq.workload.floor}
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
            "labels": {name: spread.read_by for name, spread in self.spreads.items()},
            "spread": "each label in equal parts over those of its values that occur in the original",
            "association": "Cramer's V and mutual information in bits",
            "information": "reconstructed within groups" if self.opened.kind == "anatomized" else "classes of labels",
            "queries": None
            if asked is None
            else {k: v for k, v in asked.items() if k not in ("mean", "median", "p90", "below_floor")},
            "model": None if model is None else dict(model.settings),
        }

    def _distance(self, name: str) -> ColumnDistance:
        spread, true = self.spreads[name], self.true.counts(name) / self.true.records
        told = spread.over_values(self.released.counts(name)) / self.released.records
        distance = arrays.never_negative(0.5 * float(np.abs(np.append(true, 0.0) - told).sum()))
        return ColumnDistance(name, distance, len(spread.domain), len(spread.labels), spread.read_by)

    def _shares(self, name: str) -> tuple[Shares, Shares]:
        spread, whole = self.spreads[name], self.true.records
        first = np.full(len(spread.labels), len(spread.domain))
        np.minimum.at(first, spread.label, spread.value)
        before, after = self.true.counts(name) / whole, self.released.counts(name) / whole
        return (
            tuple(zip(spread.domain.labels, before.tolist(), strict=True)),
            tuple((spread.labels.labels[code], float(after[code])) for code in np.argsort(first, kind="stable")),
        )

    def _associations(self) -> tuple[tuple[anatomy.KeptAssociation, ...], int]:
        """Every pair of columns as the original has it, and as the release lets it be reconstructed over the same values."""
        found, skipped = [], 0
        for left, right in combinations(self.names, 2):
            lefts, rights = self.spreads[left], self.spreads[right]
            if (left, right) not in self.true.cells or not _few_cells(lefts.labels, rights.labels):
                skipped += 1
                continue
            true = self.true.together(left, right)
            told = lefts.matrix().T @ self.released.together(left, right) @ rights.matrix()
            before = anatomy.coefficients_of(true, self.true.records)
            exact = bool(np.array_equal(told[:-1, :-1], true))
            after = before if exact else anatomy.coefficients_of(told, self.released.records)
            found.append(anatomy.KeptAssociation(left, right, exact, before, after))
        return tuple(found), skipped

    def _recq(self, workload: anatomy.Workload) -> anatomy.Recq:
        # In the order of the table, so that releases that divide it differently are asked the same queries.
        asked_of = self.roles.quasi_identifiers or set(self.names).difference(self.roles.sensitive)
        names = [name for name in self.names if name in asked_of]
        asked, held = [*names, *self.roles.sensitive], self.opened.held
        coded = held if isinstance(held, anatomy.CodedTables) else anatomy.CodedTables.of_table(held, asked)
        answer = anatomy.estimator(coded, self.spreads)
        rows = anatomy.read_rows(self.original, asked)
        return anatomy.recq(rows, answer, quasi_identifiers=names, sensitive=self.roles.sensitive, workload=workload)

    def _information(self, notes: list[str]) -> tuple[InformationKept, ...]:
        names, attributes = self.roles.quasi_identifiers, self.roles.sensitive
        if not names or not attributes:
            notes.append("information is about quasi-identifiers and a sensitive column, and they were not named")
            return ()
        asked: dict[str, Any] = {"quasi_identifiers": names, "sensitive": attributes}
        before, held = measure(self.original, **asked), self.opened.held
        if isinstance(held, anatomy.CodedTables):
            kept = {name: anatomy.reconstructed_information(held, names, name) for name in attributes}
        else:
            # E[I1] against the original's distribution, over all of its people: those who are left out tell nothing.
            after = measure(held, **asked, adversary=Adversary(original=self.original))
            share = self.released.records / self.true.records
            kept = {name: after.information_about(name)[1] * share for name in attributes}
        found = []
        for name, bits in kept.items():
            if bits is None:
                notes.append(f"what is left of the information about {name} was not worked out: groups are too large")
            else:
                found.append(InformationKept(name, before.information_about(name)[0], bits))
        return tuple(found)

    def _model(self, task: answers.Task) -> answers.ModelQuality:
        if task.target not in self.names:
            told = f"the target {task.target!r} is not a column of both tables"
            raise BadInput(told, hint=nearest(task.target, self.names))
        if isinstance(self.opened.held, anatomy.CodedTables):
            if self.opened.anatomized is None:
                told = "which rows of the original are in which group is not known, so none can be held back from the model"
                hint = "Give the release as `anatomize` made it, before it is written: it knows who is in which group"
                raise BadInput(told, hint=hint)
            return answers.model_of_groups(self.opened.anatomized, task, [*self.names])
        names = list(dict.fromkeys([*self.names, *self.roles.quasi_identifiers]))
        (whole,) = anatomy.CodedTables.of_table(self.original, names).tables
        labels = self._published_as(whole.rows)
        found = answers.model_of_labels(whole, labels, self.spreads, task, kept=self._kept(labels, self.opened.held))
        told = (
            "by the boxes; of several that hold it, the first" if self.opened.recode else "by the labels of its values"
        )
        return replace(found, settings={**found.settings, "records": f"each row as it was published, {told}"})

    def _published_as(self, rows: anatomy.RowCodes) -> dict[str, Ints]:
        """The label of each row in each column, -1: none."""
        by_value = {name: self.spreads[name].label_of_value for name in rows.names}
        unclear = [name for name, of_value in by_value.items() if of_value is None]
        found = {name: of[rows.column(name)] for name, of in by_value.items() if of is not None}
        if not unclear:
            return found
        # Classes were recoded one by one, and a value has several labels.
        if self.opened.recode is None:
            told = f"values of {unclear[0]!r} are published under several labels, and nothing says which row has which"
            raise BadInput(told, hint="Give the release as `generalize` made it, or its folder with mapping/")
        counted, recoding = self.opened.recode(self.original)
        class_of = _class_of_rows(rows, counted)
        for name in unclear:
            place = recoding.columns.index(name)
            codes = {values.as_text(label): code for code, label in enumerate(self.spreads[name].labels.labels)}
            code = np.array([codes.get(label, -1) for label in recoding.labels[place]], dtype=np.int64)
            found[name] = np.where(class_of >= 0, code[recoding.codes[place]][class_of], -1)
        return found

    def _kept(self, labels: Mapping[str, Ints], table: Table) -> Bools:
        """Whether the release has the class of each row."""
        rows = len(next(iter(labels.values())))
        classes = list(self.roles.quasi_identifiers) or [name for name in labels if not self.spreads[name].exact]
        if not classes:
            return np.ones(rows, dtype=bool)
        (released,) = anatomy.CodedTables.of_table(table, classes).tables
        both = [np.concatenate([labels[name], released.rows.column(name)]) + 1 for name in classes]
        ids, _ = arrays.class_ids(both, [len(self.spreads[name].labels) + 1 for name in classes], rows=len(both[0]))
        return np.isin(ids[:rows], ids[rows:])


def _few_cells(left: Domain, right: Domain) -> bool:
    return len(left) * len(right) <= _MOST_CELLS


def _class_of_rows(rows: anatomy.RowCodes, counted: Contingency) -> Ints:
    """The class of each row, -1: it was not counted."""
    both, radices = [], []
    for key, codes in zip(counted.own_keys, counted.own_codes, strict=True):
        domain = rows.domain(key.name)
        place = {values.as_text(label): code for code, label in enumerate(domain.labels)}
        here = np.array([place[values.as_text(label)] for label in key.labels], dtype=np.int64)
        both.append(np.concatenate([rows.column(key.name), here[codes]]))
        radices.append(len(domain))
    ids, _ = arrays.class_ids(both, radices, rows=len(both[0]))
    class_of = np.full(int(ids.max()) + 1, -1, dtype=np.int64)
    class_of[ids[len(rows) :]] = np.arange(len(counted))
    return class_of[ids[: len(rows)]]
