# SPDX-License-Identifier: Apache-2.0
"""ITPR: its drivers, risk bands, and records to suppress or repair (Bkakria et al. 2021, sec. 5).

The paper names low, moderate and high risk and leaves the thresholds to the data owner ("remains an
issue"). Bounds are given by the user, or are our thirds. Its epsilon and lambda are not thresholds
but quantities with which ITPR grows: the unevenness of class sizes (eq. 13) and of the values in a
class (eq. 14). Its theta is the largest fall of entropy (eq. 15). The paper proposes ITPR to find
records with errors and outliers, which are then cleaned or suppressed. The way to choose them is
ours.

With K classes, n people, f(x) = x log2 x and m the people with a value, a class has 1 - K g / L.
Here g = f(class) - sum f(m in class) and L = f(n) - sum f(m). Removing a class changes K, L and one
g, so every candidate of a step is evaluated from sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from divulge.adversary import Belief
from divulge.arguments import arg
from divulge.arrays import Floats, Ints
from divulge.counting import Cells, Contingency, build_cells
from divulge.errors import BadInput
from divulge.metrics.identity import Identity
from divulge.metrics.out_of_core import ClassQuery, ClassQueryResult, Tally
from divulge.results import Result
from divulge.text import as_text, class_name

RepairKind = Literal["records", "cells"]


class MeasuredClasses(Protocol):
    """The part of a measurement that bands, repair and independence use."""

    @property
    def contingency(self) -> Contingency:
        """The classes."""

    @property
    def identity_view(self) -> Identity:
        """The class sizes."""

    @property
    def beliefs(self) -> Mapping[str, Belief]:
        """The belief about each sensitive attribute."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Scores about identity."""

    @property
    def sensitive(self) -> Mapping[str, Mapping[str, Any]]:
        """Scores of each sensitive attribute."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings on which the numbers depend."""

    @property
    def survey(self) -> Any:
        """The survey of all classes, if they stayed with an engine; else None."""

    @property
    def class_count(self) -> int:
        """The number of classes."""

    @property
    def frame(self) -> str:
        """The kind of frame of the input."""

    def ask(self, questions: Sequence[ClassQuery], *, most: int = 10) -> list[ClassQueryResult]:
        """Find the classes beyond a bound."""

    def per_class(self, name: str, attribute: str | None = None) -> Floats:
        """One number per class."""


THIRDS = (1 / 3, 2 / 3)
"""The default bounds of divulge; the paper gives no bounds."""
_MOST_EXAMINED = 50
"""The largest number of equally worst classes that a step of cell repair examines."""
_TIE = 1e-12


@dataclass(frozen=True)
class Band:
    """The classes above one bound and up to the next."""

    name: str
    above: float | None
    """The lower bound; None for the lowest band, because a class can be below 0."""
    up_to: float | None
    classes: int
    people: int
    share: float


@dataclass(frozen=True)
class BandsOf:
    """The bands of identity or of one sensitive attribute, and the drivers of ITPR."""

    attribute: str | None
    itpr: float
    epsilon: float
    """Eq. 13: the people of the largest class less those of the smallest."""
    lambda_: float | None
    """Eq. 14: the largest difference in a class between the most common and the rarest value.

    None for identity, and if the classes stay with an engine.
    """
    theta: float
    """Eq. 15: the largest fall of entropy from the table to a class, in bits."""
    bands: tuple[Band, ...]

    @property
    def band(self) -> str:
        """The band of the table, which is the band of its worst class."""
        return next(band.name for band in reversed(self.bands) if band.classes)

    def document(self) -> dict[str, Any]:
        """The content for JSON."""
        numbers = {
            "itpr": self.itpr,
            "band": self.band,
            "epsilon": self.epsilon,
            "lambda": self.lambda_,
            "theta": self.theta,
        }
        return {"attribute": self.attribute, **numbers, "bands": list(self.bands)}


@dataclass(frozen=True, repr=False)
class RiskBands(Result):
    """The number of people at low, moderate and high risk by ITPR."""

    view = "classes"

    about: tuple[BandsOf, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class RepairStep:
    """One step of a repair: a class that is suppressed, or a value that is replaced in its records.

    The new value is the value of another class. The numbers are those after the step.
    """

    key: Mapping[str, Any]
    people: int
    column: str | None
    """The column that is repaired; None if the records are suppressed."""
    instead: Any
    """The new value of the column."""
    itpr: float
    discrimination_rate: float
    people_at_worst: int


@dataclass(frozen=True, repr=False)
class Repair(Result):
    """Records to suppress, or values of them to repair, so that ITPR falls.

    The search is greedy, one class at a time.
    """

    view = "classes"

    attribute: str | None
    how: RepairKind
    itpr: float
    """ITPR before the repair."""
    discrimination_rate: float
    """DR before the repair.

    DR (eq. 5) is the average over classes of the numbers of which ITPR is the largest.
    """
    people_at_worst: int
    """The number of people in the classes with the largest number, before the repair."""
    steps: tuple[RepairStep, ...]
    why_ended: str
    settings: Mapping[str, Any]

    @property
    def after(self) -> float:
        """ITPR after all steps."""
        if self.steps:
            return self.steps[-1].itpr
        return self.itpr

    def table(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The state before the repair, as step 0, and each step; values as texts."""
        numbers = ("itpr", "discrimination_rate", "people_at_worst")
        rows: list[tuple[Any, ...]] = [
            (0, None, None, None, None, *(getattr(self, name) for name in numbers))
        ]
        for step_number, step in enumerate(self.steps, start=1):
            if step.column is None:
                instead = None
            else:
                instead = as_text(step.instead)
            leading_cells = (step_number, class_name(step.key), step.people, step.column, instead)
            rows.append((*leading_cells, *(getattr(step, name) for name in numbers)))
        return ("step", "class", "people", "column", "instead", *numbers), rows


def bands_of(measurement: MeasuredClasses, bounds: tuple[float, float]) -> RiskBands:
    """Count the people of each band."""
    low, high = bounds
    if not 0 <= low < high < 1:
        raise BadInput(
            f"{low:g} and {high:g} make no bands",
            hint="two bounds, the lower first, from 0 to below 1",
        )
    scores_by_attribute: dict[str | None, Mapping[str, Any]] = {None: measurement.identity}
    scores_by_attribute.update(measurement.sensitive.items())
    questions = [
        ClassQuery(scores["itpr"].metric, edge, name)
        for name, scores in scores_by_attribute.items()
        for edge in (-np.inf, *bounds)
    ]
    tallies = [answer.tally for answer in measurement.ask(questions, most=1)]
    bands = []
    for index, (name, scores) in enumerate(scores_by_attribute.items()):
        all_classes, beyond_low, beyond_high = tallies[3 * index : 3 * index + 3]
        if name is None or measurement.survey is not None:
            belief = None
        else:
            belief = measurement.beliefs[name]
        bands.append(
            BandsOf(
                attribute=name,
                itpr=scores["itpr"].value,
                epsilon=float(np.ptp(measurement.identity_view.whole_table.sizes)),
                lambda_=None if belief is None else _largest_count_difference(belief),
                theta=scores["maximum_information_leakage"].value,
                bands=(
                    _band("low", None, low, all_classes, beyond_low),
                    _band("moderate", low, high, beyond_low, beyond_high),
                    _band("high", high, None, beyond_high, Tally()),
                ),
            )
        )
    if bounds == THIRDS:
        bounds_origin = "divulge; the paper gives none"
    else:
        bounds_origin = "given"
    settings = {
        **measurement.settings,
        "itpr_bands": list(bounds),
        "itpr_bands_from": bounds_origin,
    }
    return RiskBands(tuple(bands), settings, frame=measurement.frame)


def _band(
    name: str, above: float | None, up_to: float | None, tally: Tally, next_tally: Tally
) -> Band:
    people = tally.people - next_tally.people
    share = max(tally.share - next_tally.share, 0.0)
    return Band(name, above, up_to, tally.classes - next_tally.classes, people, share)


def _largest_count_difference(belief: Belief) -> float:
    """Eq. 14: a value that is absent from a class occurs there 0 times."""
    cells = belief.cells
    rarest_mass = np.minimum.reduceat(cells.mass, cells.start[:-1])
    lacks_a_value = np.diff(cells.start) < np.count_nonzero(cells.marginal)
    return float((cells.max_by_class(cells.mass) - np.where(lacks_a_value, 0.0, rarest_mass)).max())


# --- repair ---------------------------------------------------------------------------------------
def repair_of(
    measurement: MeasuredClasses, about: str | None, *, how: RepairKind, steps: int, limit: float
) -> Repair:
    """Choose in each step the class whose suppression or repair leaves the smallest ITPR.

    Ties are broken by the fewest people at the largest number, then by the fewest people affected.
    """
    if steps < 1 or not 0 < limit <= 1:
        raise BadInput(
            f"{arg('steps', steps)}, {arg('limit', limit)} asks for nothing",
            hint="at least one step, a share from 0 to 1",
        )
    contingency = measurement.contingency
    if contingency.person_entropy is not None:
        message = (
            "people own several rows, and the counts of classes do not say what is left when a "
            "class goes"
        )
        raise BadInput(message, hint="reduce the table to one row per person first")
    if measurement.survey is not None:
        message = (
            f"the {measurement.class_count:,} classes stay with the engine, and each step looks at "
            "all of them"
        )
        raise BadInput(message, hint="Name fewer quasi-identifiers, or allow more memory")
    classes = _Classes.of(
        contingency, measurement.identity_view if about is None else measurement.beliefs[about]
    )
    allowed_people = limit * float(classes.people.sum())
    initial_level = classes.level
    repair_steps: list[RepairStep] = []
    stop_reason = f"{steps} steps were asked for"
    for _ in range(steps):
        if how == "records":
            candidate = _best_suppression(classes, allowed_people)
        else:
            candidate = _best_repair(classes, allowed_people)
        if candidate is None or not candidate.after.level.is_lower_than(classes.level):
            stop_reason = f"no single further class lowers it within {limit:.3g} of the people"
            break
        step = _repair_step(contingency, classes, candidate)
        repair_steps.append(step)
        allowed_people -= step.people
        classes = candidate.after
    return Repair(
        attribute=about,
        how=how,
        itpr=initial_level.worst,
        discrimination_rate=initial_level.average,
        people_at_worst=initial_level.people_at_worst,
        steps=tuple(repair_steps),
        why_ended=stop_reason,
        settings={
            **measurement.settings,
            "search": "greedy",
            "steps": steps,
            "limit": limit,
            "looked_at": "all classes"
            if how == "records"
            else f"the first {_MOST_EXAMINED} of equally worst classes",
        },
        frame=measurement.frame,
    )


def _repair_step(contingency: Contingency, classes: _Classes, candidate: _Candidate) -> RepairStep:
    if candidate.column is None:
        repaired_key = None
    else:
        repaired_key = contingency.keys[candidate.column]
    level = candidate.after.level
    return RepairStep(
        key={
            key.name: key.labels[codes[candidate.class_index]]
            for key, codes in zip(contingency.keys, classes.codes, strict=True)
        },
        people=int(classes.people[candidate.class_index]),
        column=None if repaired_key is None else repaired_key.name,
        instead=None if repaired_key is None else repaired_key.labels[candidate.code],
        itpr=level.worst,
        discrimination_rate=level.average,
        people_at_worst=level.people_at_worst,
    )


def _x_log_x(x: Floats) -> Floats:
    """f(x) = x log2 x, with f(0) = 0."""
    return x * np.log2(np.where(x > 0, x, 1.0))


@dataclass(frozen=True)
class _RiskLevel:
    worst: float
    average: float
    people_at_worst: int

    def is_lower_than(self, other: _RiskLevel) -> bool:
        """Return True if the worst is lower, or equal with fewer people."""
        if abs(self.worst - other.worst) > _TIE:
            return self.worst < other.worst
        return self.people_at_worst < other.people_at_worst


@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of a step: their keys, people, and the cells of an attribute.

    There are no cells for identity, where each person is a value.
    """

    codes: tuple[Ints, ...]
    people: Ints
    mass: Floats
    cells: Cells | None = field(repr=False)

    @classmethod
    def of(cls, contingency: Contingency, view: Identity | Belief) -> _Classes:
        if isinstance(view, Identity):
            return cls(
                contingency.codes, contingency.sizes, contingency.sizes.astype(np.float64), None
            )
        code_columns = tuple(codes[view.classes] for codes in contingency.codes)
        return cls(code_columns, contingency.sizes[view.classes], view.cells.totals, view.cells)

    @property
    def hidden_bits(self) -> Floats:
        """g: people times the entropy that the class leaves."""
        value_bits = (
            0.0 if self.cells is None else self.cells.sum_by_class(_x_log_x(self.cells.mass))
        )
        return np.maximum(_x_log_x(self.mass) - value_bits, 0.0)

    @property
    def total_bits(self) -> float:
        """L: people times the entropy of the table."""
        if self.cells is None:
            sensitive_bits = 0.0
        else:
            sensitive_bits = float(_x_log_x(self.cells.marginal).sum())
        return float(_x_log_x(self.mass.sum(keepdims=True))[0]) - sensitive_bits

    @property
    def level(self) -> _RiskLevel:
        """The ITPR, its average and the people at the worst, over all classes."""
        numbers = self.itpr_of(
            self.hidden_bits, len(self.mass), np.full(len(self.mass), self.total_bits)
        )
        worst = float(numbers.max())
        people_at_worst = int(self.people[numbers >= worst - _TIE].sum())
        return _RiskLevel(worst, float(numbers.mean()), people_at_worst)

    @staticmethod
    def itpr_of(hidden_bits: Floats, classes: int, total_bits: Floats) -> Floats:
        """1 - K g / L; 0 if L is 0."""
        has_bits = total_bits > _TIE
        return (
            np.where(
                has_bits, 1.0 - classes * hidden_bits / np.where(has_bits, total_bits, 1.0), 0.0
            )
            + 0.0
        )

    def without(self, class_index: int) -> _Classes:
        """The classes without one class."""
        return self._moved(class_index, None)

    def merged(self, class_index: int, into: int) -> _Classes:
        """The classes after the records of one class get the key of another."""
        return self._moved(class_index, into)

    def _moved(self, class_index: int, into: int | None) -> _Classes:
        keep = np.arange(len(self.mass)) != class_index
        people = self.people.copy()
        mass = self.mass.copy()
        cells = self.cells
        if into is not None:
            people[into] += people[class_index]
            mass[into] += mass[class_index]
        if cells is not None:
            if into is None:
                owner = cells.class_index
            else:
                owner = np.where(cells.class_index == class_index, into, cells.class_index)
            is_remaining = owner != class_index
            new_index = owner[is_remaining] - (owner[is_remaining] > class_index)
            cells = build_cells(
                cells.domain,
                new_index,
                cells.value[is_remaining],
                cells.mass[is_remaining],
                classes=len(mass) - 1,
            )
        return _Classes(tuple(codes[keep] for codes in self.codes), people[keep], mass[keep], cells)


@dataclass(frozen=True, eq=False)
class _Candidate:
    class_index: int
    column: int | None
    code: int
    after: _Classes


def _best_suppression(classes: _Classes, allowed_people: float) -> _Candidate | None:
    hidden_bits = classes.hidden_bits
    count = len(classes.mass)
    affordable = np.flatnonzero(classes.people <= allowed_people + _TIE)
    if count == 1 or len(affordable) == 0:
        return None
    order = np.argsort(hidden_bits, kind="stable")
    is_worst = hidden_bits <= hidden_bits[order[0]] + _TIE * max(classes.total_bits, 1.0)
    is_only_worst = int(np.count_nonzero(is_worst)) == 1
    least_bits = np.where(is_worst & is_only_worst, hidden_bits[order[1]], hidden_bits[order[0]])
    class_numbers = classes.itpr_of(least_bits, count - 1, _table_bits_without(classes))
    at_worst = int(classes.people[is_worst].sum()) - np.where(
        is_worst & (not is_only_worst), classes.people, 0
    )
    keys = (classes.people[affordable], at_worst[affordable], class_numbers[affordable].round(12))
    class_index = int(affordable[np.lexsort(keys)[0]])
    return _Candidate(class_index, None, 0, classes.without(class_index))


def _table_bits_without(classes: _Classes) -> Floats:
    """L of the table without each class."""
    table_bits = _x_log_x(classes.mass.sum() - classes.mass)
    if classes.cells is None:
        return table_bits
    cells = classes.cells
    marginal = classes.cells.marginal
    falls = _x_log_x(marginal)[cells.value] - _x_log_x(marginal[cells.value] - cells.mass)
    return np.maximum(table_bits - float(_x_log_x(marginal).sum()) + cells.sum_by_class(falls), 0.0)


def _best_repair(classes: _Classes, allowed_people: float) -> _Candidate | None:
    """The best repair of one of the worst classes, by the value of a class one column apart."""
    hidden_bits = classes.hidden_bits
    total_bits = classes.total_bits
    count = len(classes.mass)
    least_indexes = np.argsort(hidden_bits, kind="stable")[:3]
    worst = np.flatnonzero(
        hidden_bits <= hidden_bits[least_indexes[0]] + _TIE * max(total_bits, 1.0)
    )
    best: tuple[tuple[float, int, int], int, int, int] | None = None
    for class_index in worst[classes.people[worst] <= allowed_people + _TIE][
        :_MOST_EXAMINED
    ].tolist():
        merged_bits = _bits_after_merging(classes, class_index)
        # The least g of the classes that stay unchanged. Two of the three least classes may be
        # merged.
        first, second = [*hidden_bits[least_indexes[least_indexes != class_index]], np.inf, np.inf][
            :2
        ]
        for column, others in _neighbor_classes(classes, class_index):
            unchanged_bits = np.where(
                others == least_indexes[least_indexes != class_index][0], second, first
            )
            numbers = classes.itpr_of(
                np.minimum(unchanged_bits, merged_bits[others]),
                count - 1,
                np.full(len(others), total_bits),
            )
            worst_people_merged = np.where(np.isin(others, worst), classes.people[others], 0)
            people_at_worst = (
                int(classes.people[worst].sum() - classes.people[class_index]) - worst_people_merged
            )
            best_index = int(np.lexsort((people_at_worst, numbers.round(12)))[0])
            key = (
                round(float(numbers[best_index]), 12),
                int(people_at_worst[best_index]),
                int(classes.people[class_index]),
            )
            if best is None or key < best[0]:
                best = (key, class_index, column, int(others[best_index]))
    if best is None:
        return None
    _, class_index, column, into = best
    return _Candidate(
        class_index, column, int(classes.codes[column][into]), classes.merged(class_index, into)
    )


def _bits_after_merging(classes: _Classes, class_index: int) -> Floats:
    """The g of one class merged with each other class."""
    class_bits = _x_log_x(classes.mass + classes.mass[class_index])
    if classes.cells is None:
        return class_bits
    cells = classes.cells
    class_masses = np.zeros(len(cells.domain))
    for value, mass in cells.of_class(class_index).items():
        class_masses[value] = mass
    added_masses = class_masses[cells.value]
    value_bits = cells.sum_by_class(
        _x_log_x(cells.mass + added_masses) - _x_log_x(added_masses)
    ) + float(_x_log_x(class_masses).sum())
    return np.maximum(class_bits - value_bits, 0.0)


def _neighbor_classes(classes: _Classes, class_index: int) -> Iterator[tuple[int, Ints]]:
    """For each column, the classes that agree with this class in all other columns."""
    differs = np.array([codes != codes[class_index] for codes in classes.codes])
    differs_once = differs.sum(axis=0) == 1
    for column, differs_in_column in enumerate(differs):
        others = np.flatnonzero(differs_once & differs_in_column)
        if len(others):
            yield column, others
