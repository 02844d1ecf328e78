# SPDX-License-Identifier: Apache-2.0
"""What drives ITPR, who is in which band of it, and which records to leave out or repair so that it falls (Bkakria et al. 2021, section 5).

The paper names low, moderate and high risk and leaves the thresholds to the data owner ("remains an issue"): bounds are given, or are our
thirds. Its epsilon and lambda are no thresholds but what ITPR grows with: how uneven the sizes of classes are (eq. 13), and the values in a
class (eq. 14); its theta is the largest fall of entropy (eq. 15). It proposes ITPR to find records with errors and outliers, which are
then cleaned or suppressed; a way to choose them is ours.

With K classes, n people, f(x) = x log2 x and m the people with a value, a class has 1 - K g / L, where g = f(class) - sum f(m in class) and
L = f(n) - sum f(m): to leave a class out changes K, L and one g, so every candidate of a step is judged from sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from divulge import values
from divulge.arrays import Floats, Ints
from divulge.belief import Belief
from divulge.count import Cells, Contingency, build_cells
from divulge.errors import BadInput
from divulge.metrics.identity import Identity
from divulge.metrics.survey import Answer, Question, Tally
from divulge.results import Result

How = Literal["records", "cells"]


class Measured(Protocol):
    """What questions about all classes need to know of a measurement, which itself answers them."""

    @property
    def contingency(self) -> Contingency:
        """The classes."""

    @property
    def identity_view(self) -> Identity:
        """Their sizes."""

    @property
    def beliefs(self) -> Mapping[str, Belief]:
        """What is believed of each sensitive attribute."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Scores about identity."""

    @property
    def sensitive(self) -> Mapping[str, Mapping[str, Any]]:
        """Scores of each sensitive attribute."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the numbers depend on."""

    @property
    def survey(self) -> Any:
        """Something where the classes stayed with an engine."""

    @property
    def class_count(self) -> int:
        """How many classes there are."""

    @property
    def frame(self) -> str:
        """The kind of frame that came in."""

    def ask(self, questions: Sequence[Question], *, most: int = 10) -> list[Answer]:
        """Which classes are beyond a bound."""

    def per_class(self, name: str, attribute: str | None = None) -> Floats:
        """One number per class."""


THIRDS = (1 / 3, 2 / 3)
"""Ours: the paper gives no bounds."""
_LOOKED_AT = 50
"""Of classes that are equally worst, so many are looked at in each step where cells are repaired."""
_TIE = 1e-12


@dataclass(frozen=True)
class Band:
    """The classes above one bound and up to the next."""

    name: str
    above: float | None
    """None: the lowest band has no lower bound; a class can be below 0."""
    up_to: float | None
    classes: int
    people: int
    share: float


@dataclass(frozen=True)
class BandsOf:
    """The bands of identity, or of one sensitive attribute, and what ITPR grows with."""

    attribute: str | None
    itpr: float
    epsilon: float
    """Eq. 13: the people of the largest class less those of the smallest."""
    lambda_: float | None
    """Eq. 14: how much oftener the commonest value of a class occurs than the rarest.

    None for identity, and where the classes stay with an engine.
    """
    theta: float
    """Eq. 15: the largest fall of entropy from the table to a class, in bits."""
    bands: tuple[Band, ...]

    @property
    def band(self) -> str:
        """That of the table: of its worst class."""
        return next(band.name for band in reversed(self.bands) if band.classes)

    def document(self) -> dict[str, Any]:
        """For JSON."""
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
    """How many people are at low, moderate and high risk by ITPR."""

    view = "classes"

    about: tuple[BandsOf, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class RepairStep:
    """One class that is left out, or one value of its records that becomes that of another class; and ITPR after it."""

    key: Mapping[str, Any]
    people: int
    column: str | None
    """The column that is repaired; None where the records are left out."""
    instead: Any
    """The value that it gets."""
    itpr: float
    discrimination_rate: float
    people_at_worst: int


@dataclass(frozen=True, repr=False)
class Repair(Result):
    """Which records to leave out, or which of their values to repair, so that ITPR falls: greedily, one class at a time."""

    view = "classes"

    attribute: str | None
    how: How
    itpr: float
    """Before."""
    discrimination_rate: float
    """Before. DR (eq. 5) is the average of the same numbers over classes, of which ITPR is the largest."""
    people_at_worst: int
    """How many are in classes that have the largest."""
    steps: tuple[RepairStep, ...]
    why_ended: str
    settings: Mapping[str, Any]

    @property
    def after(self) -> float:
        """ITPR after all steps."""
        return self.steps[-1].itpr if self.steps else self.itpr

    def table(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """What is now, as step 0, and each step; values as texts."""
        numbers = ("itpr", "discrimination_rate", "people_at_worst")
        rows: list[tuple[Any, ...]] = [(0, None, None, None, None, *(getattr(self, name) for name in numbers))]
        for place, step in enumerate(self.steps, start=1):
            instead = None if step.column is None else values.as_text(step.instead)
            told = (place, values.class_name(step.key), step.people, step.column, instead)
            rows.append((*told, *(getattr(step, name) for name in numbers)))
        return ("step", "class", "people", "column", "instead", *numbers), rows


def bands_of(measurement: Measured, bounds: tuple[float, float]) -> RiskBands:
    """Count the people of each band, where the classes are."""
    low, high = bounds
    if not 0 <= low < high < 1:
        raise BadInput(f"{low:g} and {high:g} make no bands", hint="two bounds, the lower first, from 0 to below 1")
    scored: dict[str | None, Mapping[str, Any]] = {None: measurement.identity}
    scored.update(measurement.sensitive.items())
    asked = [
        Question(scores["itpr"].metric, edge, name) for name, scores in scored.items() for edge in (-np.inf, *bounds)
    ]
    tallies = [answer.tally for answer in measurement.ask(asked, most=1)]
    found = []
    for at, (name, scores) in enumerate(scored.items()):
        every, beyond_low, beyond_high = tallies[3 * at : 3 * at + 3]
        belief = None if name is None or measurement.survey is not None else measurement.beliefs[name]
        found.append(
            BandsOf(
                attribute=name,
                itpr=scores["itpr"].value,
                epsilon=float(np.ptp(measurement.identity_view.whole.sizes)),
                lambda_=None if belief is None else _uneven(belief),
                theta=scores["maximum_information_leakage"].value,
                bands=(
                    _band("low", None, low, every, beyond_low),
                    _band("moderate", low, high, beyond_low, beyond_high),
                    _band("high", high, None, beyond_high, Tally()),
                ),
            )
        )
    whose = "divulge; the paper gives none" if bounds == THIRDS else "given"
    settings = {**measurement.settings, "itpr_bands": list(bounds), "itpr_bands_from": whose}
    return RiskBands(tuple(found), settings, frame=measurement.frame)


def _band(name: str, above: float | None, up_to: float | None, here: Tally, beyond: Tally) -> Band:
    people, share = here.people - beyond.people, max(here.share - beyond.share, 0.0)
    return Band(name, above, up_to, here.classes - beyond.classes, people, share)


def _uneven(belief: Belief) -> float:
    """Eq. 14: a value that a class lacks occurs there 0 times."""
    cells = belief.cells
    rarest = np.minimum.reduceat(cells.mass, cells.start[:-1])
    lacks = np.diff(cells.start) < np.count_nonzero(cells.marginal)
    return float((cells.max_by_class(cells.mass) - np.where(lacks, 0.0, rarest)).max())


# --- repair ---------------------------------------------------------------------------------------------------------
def repair_of(measurement: Measured, about: str | None, *, how: How, steps: int, limit: float) -> Repair:
    """In each step the class whose leaving out, or repair, leaves the least ITPR; then the fewest people at it; then touches the fewest."""
    if steps < 1 or not 0 < limit <= 1:
        raise BadInput(
            f"steps={steps}, limit={limit:g} asks for nothing", hint="at least one step, a share from 0 to 1"
        )
    contingency = measurement.contingency
    if contingency.person_entropy is not None:
        told = "people own several rows, and the counts of classes do not say what is left when a class goes"
        raise BadInput(told, hint="reduce the table to one row per person first")
    if measurement.survey is not None:
        told = f"the {measurement.class_count:,} classes stay with the engine, and each step looks at all of them"
        raise BadInput(told, hint="Name fewer quasi-identifiers, or allow more memory")
    now = _Classes.of(contingency, measurement.identity_view if about is None else measurement.beliefs[about])
    allowed = limit * float(now.people.sum())
    begun = now.level
    done: list[RepairStep] = []
    ended = f"{steps} steps were asked for"
    for _ in range(steps):
        chosen = _best_left_out(now, allowed) if how == "records" else _best_repaired(now, allowed)
        if chosen is None or not chosen.after.level.is_less(now.level):
            ended = f"no single further class lowers it within {limit:.3g} of the people"
            break
        step = _told(contingency, now, chosen)
        done.append(step)
        allowed -= step.people
        now = chosen.after
    return Repair(
        attribute=about,
        how=how,
        itpr=begun.worst,
        discrimination_rate=begun.average,
        people_at_worst=begun.people_at_worst,
        steps=tuple(done),
        why_ended=ended,
        settings={
            **measurement.settings,
            "search": "greedy",
            "steps": steps,
            "limit": limit,
            "looked_at": "all classes" if how == "records" else f"the first {_LOOKED_AT} of equally worst classes",
        },
        frame=measurement.frame,
    )


def _told(contingency: Contingency, now: _Classes, chosen: _Candidate) -> RepairStep:
    repaired = None if chosen.column is None else contingency.keys[chosen.column]
    after = chosen.after.level
    return RepairStep(
        key={key.name: key.labels[codes[chosen.place]] for key, codes in zip(contingency.keys, now.codes, strict=True)},
        people=int(now.people[chosen.place]),
        column=None if repaired is None else repaired.name,
        instead=None if repaired is None else repaired.labels[chosen.code],
        itpr=after.worst,
        discrimination_rate=after.average,
        people_at_worst=after.people_at_worst,
    )


def _bits(x: Floats) -> Floats:
    """f(x) = x log2 x, with f(0) = 0."""
    return x * np.log2(np.where(x > 0, x, 1.0))


@dataclass(frozen=True)
class _Level:
    worst: float
    average: float
    people_at_worst: int

    def is_less(self, other: _Level) -> bool:
        """A lower worst, or fewer people at it."""
        if abs(self.worst - other.worst) > _TIE:
            return self.worst < other.worst
        return self.people_at_worst < other.people_at_worst


@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes that change: their keys, people, and the cells of an attribute (none for identity, where each person is a value)."""

    codes: tuple[Ints, ...]
    people: Ints
    mass: Floats
    cells: Cells | None = field(repr=False)

    @classmethod
    def of(cls, contingency: Contingency, view: Identity | Belief) -> _Classes:
        if isinstance(view, Identity):
            return cls(contingency.codes, contingency.sizes, contingency.sizes.astype(np.float64), None)
        chosen = tuple(codes[view.classes] for codes in contingency.codes)
        return cls(chosen, contingency.sizes[view.classes], view.cells.totals, view.cells)

    @property
    def hidden(self) -> Floats:
        """g: people times the entropy that the class leaves."""
        inside = 0.0 if self.cells is None else self.cells.sum_by_class(_bits(self.cells.mass))
        return np.maximum(_bits(self.mass) - inside, 0.0)

    @property
    def to_learn(self) -> float:
        """L: people times the entropy of the table."""
        known = 0.0 if self.cells is None else float(_bits(self.cells.marginal).sum())
        return float(_bits(self.mass.sum(keepdims=True))[0]) - known

    @property
    def level(self) -> _Level:
        """Over all classes."""
        numbers = self.scaled(self.hidden, len(self.mass), np.full(len(self.mass), self.to_learn))
        worst = float(numbers.max())
        there = int(self.people[numbers >= worst - _TIE].sum())
        return _Level(worst, float(numbers.mean()), there)

    @staticmethod
    def scaled(hidden: Floats, classes: int, to_learn: Floats) -> Floats:
        """1 - K g / L; 0 where there is nothing to learn."""
        some = to_learn > _TIE
        return np.where(some, 1.0 - classes * hidden / np.where(some, to_learn, 1.0), 0.0) + 0.0

    def without(self, place: int) -> _Classes:
        """One class left out."""
        return self._with(place, None)

    def merged(self, place: int, into: int) -> _Classes:
        """The records of one class with the key of another."""
        return self._with(place, into)

    def _with(self, place: int, into: int | None) -> _Classes:
        keep = np.arange(len(self.mass)) != place
        people, mass, cells = self.people.copy(), self.mass.copy(), self.cells
        if into is not None:
            people[into] += people[place]
            mass[into] += mass[place]
        if cells is not None:
            owner = cells.class_index if into is None else np.where(cells.class_index == place, into, cells.class_index)
            here = owner != place
            left = owner[here] - (owner[here] > place)
            cells = build_cells(cells.domain, left, cells.value[here], cells.mass[here], classes=len(mass) - 1)
        return _Classes(tuple(codes[keep] for codes in self.codes), people[keep], mass[keep], cells)


@dataclass(frozen=True, eq=False)
class _Candidate:
    place: int
    column: int | None
    code: int
    after: _Classes


def _best_left_out(now: _Classes, allowed: float) -> _Candidate | None:
    hidden, count = now.hidden, len(now.mass)
    allowed_here = np.flatnonzero(now.people <= allowed + _TIE)
    if count == 1 or len(allowed_here) == 0:
        return None
    order = np.argsort(hidden, kind="stable")
    tied = hidden <= hidden[order[0]] + _TIE * max(now.to_learn, 1.0)
    alone = int(np.count_nonzero(tied)) == 1
    least = np.where(tied & alone, hidden[order[1]], hidden[order[0]])
    numbers = now.scaled(least, count - 1, _to_learn_without(now))
    at_worst = int(now.people[tied].sum()) - np.where(tied & (not alone), now.people, 0)
    keys = (now.people[allowed_here], at_worst[allowed_here], numbers[allowed_here].round(12))
    place = int(allowed_here[np.lexsort(keys)[0]])
    return _Candidate(place, None, 0, now.without(place))


def _to_learn_without(now: _Classes) -> Floats:
    """L of the table without each class."""
    left = _bits(now.mass.sum() - now.mass)
    if now.cells is None:
        return left
    cells, whole = now.cells, now.cells.marginal
    falls = _bits(whole)[cells.value] - _bits(whole[cells.value] - cells.mass)
    return np.maximum(left - float(_bits(whole).sum()) + cells.sum_by_class(falls), 0.0)


def _best_repaired(now: _Classes, allowed: float) -> _Candidate | None:
    """Among the worst classes and those that differ from one of them in one column."""
    hidden, to_learn, count = now.hidden, now.to_learn, len(now.mass)
    least = np.argsort(hidden, kind="stable")[:3]
    worst = np.flatnonzero(hidden <= hidden[least[0]] + _TIE * max(to_learn, 1.0))
    best: tuple[tuple[float, int, int], int, int, int] | None = None
    for place in worst[now.people[worst] <= allowed + _TIE][:_LOOKED_AT].tolist():
        together = _hidden_together(now, place)
        # The least g of the classes that stay as they are: of the three least, two may be merged.
        first, second = [*hidden[least[least != place]], np.inf, np.inf][:2]
        for column, others in _one_column_apart(now, place):
            rest = np.where(others == least[least != place][0], second, first)
            numbers = now.scaled(np.minimum(rest, together[others]), count - 1, np.full(len(others), to_learn))
            also = np.where(np.isin(others, worst), now.people[others], 0)
            left = int(now.people[worst].sum() - now.people[place]) - also
            at = int(np.lexsort((left, numbers.round(12)))[0])
            key = (round(float(numbers[at]), 12), int(left[at]), int(now.people[place]))
            if best is None or key < best[0]:
                best = (key, place, column, int(others[at]))
    if best is None:
        return None
    _, place, column, into = best
    return _Candidate(place, column, int(now.codes[column][into]), now.merged(place, into))


def _hidden_together(now: _Classes, place: int) -> Floats:
    """G of one class merged with each other."""
    whole = _bits(now.mass + now.mass[place])
    if now.cells is None:
        return whole
    cells = now.cells
    own = np.zeros(len(cells.domain))
    for value, mass in cells.of_class(place).items():
        own[value] = mass
    here = own[cells.value]
    both = cells.sum_by_class(_bits(cells.mass + here) - _bits(here)) + float(_bits(own).sum())
    return np.maximum(whole - both, 0.0)


def _one_column_apart(now: _Classes, place: int) -> Iterator[tuple[int, Ints]]:
    """For each column, the classes that agree with this one in all others."""
    differs = np.array([codes != codes[place] for codes in now.codes])
    once = differs.sum(axis=0) == 1
    for column, here in enumerate(differs):
        others = np.flatnonzero(once & here)
        if len(others):
            yield column, others
