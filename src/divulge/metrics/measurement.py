# SPDX-License-Identifier: Apache-2.0
"""What was measured: every metric's number, the class that is worst, and the settings that gave the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.arrays import Floats
from divulge.belief import Belief
from divulge.count import Contingency
from divulge.errors import BadInput, nearest
from divulge.metrics.catalogue import IDENTITY, SENSITIVE, find_metric
from divulge.metrics.identity import Identity
from divulge.metrics.metric import Metric
from divulge.metrics.survey import Answer, Question, Survey, answer
from divulge.results import Result

_WHOLE_UNITS = ("people", "classes", "values")


@dataclass(frozen=True)
class WorstClass:
    """The class where a metric is worst."""

    index: int
    key: Mapping[str, Any]
    size: int


@dataclass(frozen=True)
class Score:
    """One metric's number for the table; `worst` is the class that decides it, where classes have a number of their own."""

    metric: Metric[Any]
    value: float
    attribute: str | None
    worst: WorstClass | None

    @property
    def number(self) -> float | int:
        """The value, as a whole number where people, classes or values are counted."""
        return as_number(self.metric, self.value)


def as_number(metric: Metric[Any], value: float) -> float | int:
    """A count as a whole number, everything else as it is."""
    return int(value) if metric.unit in _WHOLE_UNITS and float(value).is_integer() else float(value)


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Result):
    """All metrics of one table under one choice of roles."""

    view = "measurement"

    contingency: Contingency = field(repr=False)
    """The classes; where they stayed on disk or on a cluster, the worst of them by each metric."""
    identity_view: Identity = field(repr=False)
    beliefs: Mapping[str, Belief] = field(repr=False)
    identity: Mapping[str, Score]
    sensitive: Mapping[str, Mapping[str, Score]]
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    frame: str = "arrow"
    survey: Survey | None = field(default=None, repr=False)
    """All classes, where they stayed on disk or on a cluster."""

    @property
    def class_count(self) -> int:
        """How many classes the table has."""
        return len(self.contingency) if self.survey is None else self.survey.classes

    def ask(self, questions: Sequence[Question], *, most: int = 10) -> list[Answer]:
        """Which classes are beyond a bound, among all classes of the table; up to `most` of them are named."""
        if self.survey is not None:
            return self.survey.ask(questions, most=most)
        return [
            answer(question, self.contingency, question.view(self.identity_view, self.beliefs), most=most)
            for question in questions
        ]

    @property
    def rows(self) -> int:
        """Rows counted."""
        return self.contingency.rows

    @property
    def people(self) -> int:
        """People among them."""
        return self.contingency.people

    def __getitem__(self, name: str) -> Score:
        """The score of a metric; with several sensitive attributes, the worst of theirs."""
        found = [scores[name] for scores in self.sensitive.values() if name in scores]
        if found:
            metric = found[0].metric
            return max(found, key=lambda score: score.value if metric.worse == "high" else -score.value)
        if name in self.identity:
            return self.identity[name]
        known = {*self.identity, *(key for scores in self.sensitive.values() for key in scores)}
        raise BadInput(f"{name!r} was not measured", hint=nearest(name, sorted(known)))

    def per_class(self, name: str, attribute: str | None = None) -> Floats:
        """One number per class; nan for a class that background knowledge excludes."""
        metric: Metric[Any] = find_metric(name, "identity" if attribute is None else "sensitive")
        if metric.per_class is None:
            raise BadInput(f"{name!r} is a number of the whole table, not of a class")
        if attribute is None:
            if name not in self.identity:
                raise BadInput(f"{name!r} needs a population", hint="give a population table or a weight column")
            return metric.per_class(self.identity_view) + 0.0  # -0.0 + 0.0 is 0.0
        if attribute not in self.beliefs:
            raise BadInput(f"{attribute!r} is not a sensitive attribute here", hint=nearest(attribute, self.beliefs))
        belief = self.beliefs[attribute]
        numbers = np.full(len(self.contingency), np.nan)
        numbers[belief.classes] = metric.per_class(belief) + 0.0
        return numbers

    @cached_property
    def classes(self) -> Any:
        """One row per class with all per-class metrics, as the kind of frame that was handed in.

        Where the classes stayed on disk or on a cluster, these are the worst of them; a note says how many there are.
        """
        return as_frame(self.class_table(), self.frame)

    def class_table(self) -> pa.Table:
        """The same as an Arrow table: the key columns, `size`, then `metric` for identity and `attribute.metric` for the rest."""
        columns: dict[str, Any] = {
            key.name: self.contingency.key_column(position) for position, key in enumerate(self.contingency.keys)
        }
        size = "size"
        while size in columns:
            size = f"class {size}"
        columns[size] = self.contingency.sizes
        prefix = "identity" if "identity" not in self.sensitive else "(identity)"
        for attribute, scores in [(None, self.identity), *self.sensitive.items()]:
            for name, score in scores.items():
                if score.metric.per_class is not None:
                    columns[f"{prefix if attribute is None else attribute}.{name}"] = self.per_class(name, attribute)
        return pa.table(columns)

    def class_records(self) -> list[dict[str, Any]]:
        """The class table as the nested records of the JSON document."""
        identity = self._class_columns(self.identity, None)
        sensitive = {name: self._class_columns(scores, name) for name, scores in self.sensitive.items()}
        present = {name: np.isin(np.arange(len(self.contingency)), self.beliefs[name].classes) for name in sensitive}
        keys = [self.contingency.key_column(position).to_pylist() for position in range(len(self.contingency.keys))]
        names = [key.name for key in self.contingency.keys]
        return [
            {
                "class": {name: column[index] for name, column in zip(names, keys, strict=True)},
                "size": int(self.contingency.sizes[index]),
                "identity": {name: numbers[index] for name, numbers in identity.items()},
                "sensitive": {
                    attribute: {name: numbers[index] for name, numbers in columns.items()}
                    for attribute, columns in sensitive.items()
                    if present[attribute][index]
                },
            }
            for index in range(len(self.contingency))
        ]

    def _class_columns(self, scores: Mapping[str, Score], attribute: str | None) -> dict[str, list[float | int]]:
        return {
            name: [as_number(score.metric, number) for number in self.per_class(name, attribute).tolist()]
            for name, score in scores.items()
            if score.metric.per_class is not None
        }


def score(contingency: Contingency, view: Identity | Belief) -> dict[str, Score]:
    """Every metric of identity that the data allow, or of one sensitive attribute."""
    found: dict[str, Score] = {}
    about = view.cells.domain.name if isinstance(view, Belief) else None
    metrics: Sequence[Metric[Any]] = SENSITIVE if isinstance(view, Belief) else IDENTITY
    for metric in metrics:
        if metric.needs_population and isinstance(view, Identity) and view.population is None:
            continue
        value, place = metric.value(view)
        worst = None
        if place is not None:
            index = int(view.classes[place]) if isinstance(view, Belief) else place
            worst = WorstClass(index, contingency.class_key(index), int(contingency.sizes[index]))
        found[metric.name] = Score(metric, value, about, worst)
    return found


def as_frame(table: pa.Table, kind: str) -> Any:
    """An Arrow table as pandas, Polars or Arrow."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table
