# SPDX-License-Identifier: Apache-2.0
"""Attacks by the nearest row: for releases whose values were changed, swapped or made up, where no row need fit a person exactly.

The distance of two rows is Gower's, as anonymeter takes it: numbers by their difference over the range of the release, at most 1; texts 1
where they differ; null differs from everything else by 1. Rows that are equally near are equally likely, and the chance to take the right
one is counted instead of a throw. No promise bounds these attacks: what random changes of values leave to be learnt is measured, not
promised.

Rows are found by an index instead of one by one: the release is cut at medians into boxes of neighbours, boxes are visited from the nearest
on, and those that lie farther off than what was found are left out. That loses nothing; where many columns make all boxes equally near, it
also saves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.arrays import Bools, Floats, Ints
from divulge.attacks.attempt import Attacker, Attempt, Rate
from divulge.attacks.stage import People, Stage
from divulge.table import Table

_AS_NEAR = 1e-9
_CELLS = 4_000_000
"""So many distances are held at a time."""


# --- the index --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Boxes:
    """Points in boxes of neighbours."""

    points: Floats = field(repr=False)
    """One line for each distinct point; texts are numbers that mean nothing but themselves."""
    measured: Bools = field(repr=False)
    """Which columns are numbers."""
    layout: arrays.Members = field(repr=False)
    """The points of each box."""
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)

    @classmethod
    def of(cls, points: Floats, measured: Bools) -> Boxes:
        """Cut the points at medians, along the widest side, until about as many are in a box as there are boxes."""
        size = max(int(np.sqrt(len(points))), 8)
        boxes = list(_cut(points, np.arange(len(points)), measured, size))
        low, high = (np.array([end(points[box], axis=0) for box in boxes]) for end in (np.min, np.max))
        start = np.concatenate([[0], np.cumsum([len(box) for box in boxes])])
        return cls(points, measured, arrays.Members(np.concatenate(boxes), start), low, high)

    def nearest(self, wanted: Floats) -> tuple[Ints, Ints, Floats]:
        """Pairs of a wanted point and each of the points nearest to it, by wanted point; and the distance of each wanted point."""
        best = np.full(len(wanted), np.inf)
        people = max(_CELLS // max(len(self.low) * wanted.shape[1], 1), 1)
        found = [
            self._nearest(wanted, np.arange(first, min(first + people, len(wanted))), best)
            for first in range(0, len(wanted), people)
        ]
        who, point = (np.concatenate([part[side] for part in found]) for side in (0, 1))
        return who, point, best

    def _nearest(self, wanted: Floats, whom: Ints, best: Floats) -> tuple[Ints, Ints]:
        """For some of them; `best` is filled in."""
        least = self._least(wanted[whom])
        order = np.argsort(least, axis=1)
        least = np.take_along_axis(least, order, axis=1)
        pairs: list[tuple[Ints, Ints, Floats]] = []
        waiting = np.arange(len(whom))
        for turn in range(least.shape[1]):
            waiting = waiting[least[waiting, turn] <= best[whom[waiting]] + _AS_NEAR]
            if not len(waiting):
                break
            portions = len(waiting) * int(self.layout.sizes.max()) * wanted.shape[1] // _CELLS + 1
            pairs += [
                self._visit(wanted, whom[some], order[some, turn], best) for some in np.array_split(waiting, portions)
            ]
        who, point, far = (np.concatenate([part[side] for part in pairs]) for side in range(3))
        kept = far <= best[who] + _AS_NEAR
        who, point = who[kept], point[kept]
        by = np.lexsort((point, who))
        return who[by], point[by]

    def _visit(self, wanted: Floats, whom: Ints, box: Ints, best: Floats) -> tuple[Ints, Ints, Floats]:
        """Hold people against all points of a box each; what is as near as the best so far comes back."""
        point, place = self.layout.gather(box)
        far = self._far(wanted[whom], place, point)
        begins = arrays.run_starts(place)
        best[whom] = np.minimum(best[whom], np.minimum.reduceat(far, begins))
        kept = np.flatnonzero(far <= best[whom][place] + _AS_NEAR)
        return whom[place[kept]], point[kept], far[kept]

    def _far(self, wanted: Floats, person: Ints, point: Ints) -> Floats:
        """The distance of each pair, added up column by column."""
        total = np.zeros(len(person))
        for column, is_number in enumerate(self.measured.tolist()):
            own, theirs = wanted[:, column][person], self._columns[column][point]
            if is_number:
                apart = np.abs(np.subtract(own, theirs, out=own), out=own)
                total += np.minimum(apart, 1.0, out=apart)
            else:
                total += own != theirs
        return total

    @cached_property
    def _columns(self) -> Floats:
        """The points column by column, each in one piece."""
        return np.ascontiguousarray(self.points.T)

    def _least(self, wanted: Floats) -> Floats:
        """No point of a box is nearer than this: the distance to the box itself."""
        total = np.zeros((len(wanted), len(self.low)))
        for column, own in enumerate(wanted.T):
            below, above = own[:, None] < self.low[:, column], own[:, None] > self.high[:, column]
            if self.measured[column]:
                off = np.where(below, self.low[:, column] - own[:, None], 0.0)
                off = np.where(above, own[:, None] - self.high[:, column], off)
                total += np.minimum(off, 1.0)
            else:
                total += below | above
        return total


def _cut(points: Floats, members: Ints, measured: Bools, size: int) -> Iterator[Ints]:
    if len(members) <= size:
        yield members
        return
    own = points[members]
    low, high = own.min(axis=0), own.max(axis=0)
    wide = np.where(low == high, 0.0, np.where(measured, np.minimum(high - low, 1.0), 1.0))
    order = np.argsort(own[:, int(wide.argmax())], kind="stable")
    half = len(members) // 2
    yield from _cut(points, members[order[:half]], measured, size)
    yield from _cut(points, members[order[half:]], measured, size)


# --- rows as points ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Axis:
    """How the values of one column become coordinates: numbers as shares of the range of the release, texts by their place.

    What is no finite number (null, not a number, both infinities) is like itself and 1 away from all else, and so is a number that lies
    farther outside the range than it is wide.
    """

    texts: pa.Array | None
    """The distinct texts of the release; None: a column of numbers."""
    low: float = 0.0
    span: float = 1.0

    @classmethod
    def of(cls, column: pa.ChunkedArray, *, is_number: bool) -> _Axis:
        if not is_number:
            return cls(pc.unique(column.combine_chunks()).drop_null())
        own = _numbers(column)
        finite = own[np.isfinite(own)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        return cls(None, low, high - low or 1.0)

    def places(self, column: pa.ChunkedArray) -> Floats:
        """The coordinate of each value; a text that the release lacks is unlike all."""
        missing = column.combine_chunks().is_null().to_numpy(zero_copy_only=False)
        if self.texts is not None:
            found = pc.index_in(column.combine_chunks(), value_set=self.texts).fill_null(-1)
            return np.where(missing, len(self.texts), found.to_numpy(zero_copy_only=False)).astype(np.float64)
        own = _numbers(column)
        places = np.clip(
            (own - self.low) / self.span, -2.0, 3.0
        )  # no row is nearer than 1 to what lies outside [-1, 2]
        others = (np.isneginf(own), -4.0), (np.isposinf(own), 5.0), (np.isnan(own), 7.0), (missing, 9.0)
        for where, place in others:
            places[where] = place
        return places


@dataclass(frozen=True, eq=False)
class Space:
    """The rows of a release as points of some columns, and how the values of people become such points."""

    columns: tuple[str, ...]
    boxes: Boxes
    point_of_row: Ints = field(repr=False)
    _axes: tuple[_Axis, ...] = field(repr=False)

    @classmethod
    def of(cls, rows: pa.Table, columns: Sequence[str], *, numbers: Sequence[str]) -> Space:
        """Rows whose values are texts; those of `numbers` are read as numbers."""
        axes = [_Axis.of(rows.column(name), is_number=name in numbers) for name in columns]
        whole = np.stack([axis.places(rows.column(name)) for axis, name in zip(axes, columns, strict=True)], axis=1)
        distinct, of_row = np.unique(whole, axis=0, return_inverse=True)
        boxes = Boxes.of(distinct, np.array([axis.texts is None for axis in axes]))
        return cls(tuple(columns), boxes, of_row.ravel(), tuple(axes))

    def points(self, people: pa.Table) -> Floats:
        """People as points."""
        return np.stack(
            [axis.places(people.column(name)) for axis, name in zip(self._axes, self.columns, strict=True)], axis=1
        )

    @property
    def rows(self) -> arrays.Members:
        """The rows of each point."""
        return arrays.lay_out(self.point_of_row, len(self.boxes.points))

    def nearest(self, people: pa.Table) -> NearestRows:
        """The rows nearest to each of these people."""
        points = self.points(people)
        distinct, of_person = np.unique(points, axis=0, return_inverse=True)
        who, point, distance = self.boxes.nearest(distinct)
        row, place = self.rows.gather(point)
        layout = arrays.lay_out(who[place], len(distinct), row)
        found, person = layout.gather(of_person.ravel())
        return NearestRows(person, found, distance[of_person.ravel()], layout.sizes[of_person.ravel()])


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Pairs of a person and a row than which none is nearer."""

    person: Ints = field(repr=False)
    row: Ints = field(repr=False)
    distance: Floats = field(repr=False)
    """Of each person."""
    rows: Ints = field(repr=False)
    """How many rows are that near to each person."""

    def chance(self, right: Bools) -> Floats:
        """For each person the chance that one of the nearest rows, taken by lot, is right; `right` says it of each pair."""
        return arrays.sum_by_id(self.person, right, len(self.rows)) / self.rows


def _numbers(column: pa.ChunkedArray) -> Floats:
    """Null is no number."""
    found = pc.cast(column, pa.float64()).combine_chunks().fill_null(np.nan)
    numbers: Floats = found.to_numpy(zero_copy_only=False)
    return numbers


# --- attacks ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Scene:
    """A release of one table as texts, and which of its columns are numbers."""

    rows: pa.Table
    numbers: tuple[str, ...]

    @classmethod
    def of(cls, stage: Stage, columns: Sequence[str]) -> _Scene:
        rows = release_texts(stage.release, columns)
        numbers = [
            name
            for name in stage.knows
            if stage.release.column(name).kind == "number"
            and all(_is_number(side.known.column(name)) for side in stage.sides)
        ]
        return cls(rows, tuple(numbers))

    def space(self, columns: Sequence[str]) -> Space:
        return Space.of(self.rows, columns, numbers=self.numbers)


def release_texts(table: Table, columns: Sequence[str]) -> pa.Table:
    """Columns of a release, every cell as a text."""
    engine = table.engine
    cells = ", ".join(f"{engine.cast(engine.quote(name), 'VARCHAR')} AS c{place}" for place, name in enumerate(columns))
    return engine.query(f"SELECT {cells} FROM {table.relation}").rename_columns(list(columns))


def _is_number(column: pa.ChunkedArray) -> bool:
    try:
        pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def no_rows(stage: Stage) -> str:
    """Why there are no rows to be near to."""
    if stage.published is not None:
        return "an anatomized release has no rows of whole people"
    if stage.document.get("kind") in ("generalized", "applied"):
        return "the release is generalized: who fits a label is not near to it but in it"
    return stage.too_many_rows if stage.knows else "nothing is known of the targets that is in the release"


def distances(stage: Stage) -> list[Floats]:
    """How far the nearest row is from each target, and from each of the control group if there is one."""
    space = _Scene.of(stage, stage.knows).space(stage.knows)
    return [space.nearest(side.known).distance for side in stage.sides]


def no_key(stage: Stage) -> str:
    """Why nobody could say whether a row is the right one; empty where a column says it."""
    lacking = "no column says whose a row of the release is: name one that it shares with the truth as person"
    return no_rows(stage) or ("" if stage.key else lacking)


def _nearest_row(stage: Stage) -> Iterator[Attempt]:
    key = str(stage.key)
    scene = _Scene.of(stage, [*stage.knows, key])
    near = scene.space(stage.knows).nearest(stage.targets.known)
    told = f"She takes the row that is nearest to what she knows; whose it is the column {key} tells."
    rate = _rate(stage, stage.targets, near, key, scene)
    yield _attempt(stage, "nearest-row", [rate], random=1 / scene.rows.num_rows, told=told)


def _nearest_value(stage: Stage) -> Iterator[Attempt]:
    about = [name for name in stage.guessed if name in stage.targets.truth.column_names]
    scene = _Scene.of(stage, list(dict.fromkeys([*stage.knows, *about])))
    space = scene.space(stage.knows)
    sides = [(side, space.nearest(side.known)) for side in stage.sides]
    for name in about:
        rates = [_rate(stage, side, near, name, scene) for side, near in sides if name in side.truth.column_names]
        codes, truth = stage.in_common(stage.targets, name, scene.rows.column(name))
        counts = np.bincount(codes)
        prior = float((truth == counts.argmax()).mean())
        told = "She guesses the value of the row that is nearest to what she knows."
        random = 1 / int(np.count_nonzero(counts))
        yield _attempt(stage, "nearest-value", rates, about=name, random=random, prior=prior, told=told)


def _rate(stage: Stage, people: People, near: NearestRows, name: str, scene: _Scene) -> Rate:
    """How often a row that is nearest, taken by lot, has what is true of the person in a column."""
    rows, truth = stage.in_common(people, name, scene.rows.column(name))
    return Rate(float(near.chance(rows[near.row] == truth[near.person]).sum()), len(people))


def _attempt(stage: Stage, name: str, rates: Sequence[Rate], *, about: str | None = None, **more: Any) -> Attempt:
    """An attempt that ventures a guess for everybody: the rate of the targets, and that of the control group if there is one."""
    return Attempt(
        name=name,
        aim="linkability" if about is None else "inference",
        about=about,
        knows=stage.knows,
        targets=len(stage.targets),
        guesses=len(stage.targets),
        successes=rates[0].successes,
        control=rates[1] if len(rates) > 1 else None,
        **more,
    )


def _no_halves(stage: Stage) -> str:
    return no_rows(stage) or ("" if len(stage.knows) > 1 else "two columns must be known, one for each source")


def _linkability(stage: Stage) -> Iterator[Attempt]:
    """Two sources know different columns of the same people; she links them where both are nearest to the same row."""
    scene = _Scene.of(stage, stage.knows)
    half = (len(stage.knows) + 1) // 2
    halves = stage.knows[:half], stage.knows[half:]
    spaces = [scene.space(columns) for columns in halves]
    rates = [_linked(side, spaces) for side in stage.sides]
    told = (
        f"One source knows {', '.join(halves[0])}, another {', '.join(halves[1])}; she links a person's two records where both are nearest "
        "to the same row."
    )
    yield _attempt(stage, "linkability", rates, random=1 / scene.rows.num_rows, told=told)


def _linked(people: People, spaces: Sequence[Space]) -> Rate:
    """Of a and b rows that are nearest by either half, c are the same: taken by lot, both are one row with chance c / (a b)."""
    first, second = (space.nearest(people.known) for space in spaces)
    rows = len(spaces[0].point_of_row)
    left, right = (near.person * rows + near.row for near in (first, second))
    shared = np.intersect1d(left, right, assume_unique=True) // rows
    same = np.bincount(shared, minlength=len(people))
    return Rate(float((same / (first.rows * second.rows.astype(np.float64))).sum()), len(people))


DISTANCE_ATTACKERS = (
    Attacker(
        "nearest-row",
        "linkability",
        "takes the row that is nearest to what is known, where values were changed",
        "Pagliuca and Seri 1999; Domingo-Ferrer and Torra 2001",
        _nearest_row,
        no_key,
    ),
    Attacker(
        "nearest-value",
        "inference",
        "guesses the value of the row that is nearest to what is known",
        "Giomi et al. 2023",
        _nearest_value,
        lambda stage: no_rows(stage) or ("" if stage.guessed else "no column is sensitive that she does not know"),
    ),
    Attacker(
        "linkability",
        "linkability",
        "links two records of a person that are nearest to the same row",
        "Giomi et al. 2023",
        _linkability,
        _no_halves,
    ),
)
