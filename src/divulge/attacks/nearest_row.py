# SPDX-License-Identifier: Apache-2.0
"""Attacks by the nearest row, for releases with perturbed, swapped or synthesized values.

No row of such a release need match a person exactly. The distance of two rows is Gower's, as in
anonymeter:

- numbers: their difference divided by the range of the release, at most 1,
- texts: 1 if they differ,
- null: 1 to any other value.

Equally near rows are equally likely, and the probability of the right one is counted instead of a
random draw. No requirement bounds these attacks: the risk that remains after perturbation is
measured, not guaranteed.

An index finds the nearest rows. The release is cut at medians into boxes of neighboring points.
Boxes are visited in order of distance, and boxes farther away than the nearest row so far are
skipped. The result is exact. If many columns make all boxes equally near, the index saves no time.
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
from divulge.attacks.context import AttackContext, People
from divulge.attacks.result import Attacker, Attempt, Rate
from divulge.sources import Table

_TIE_TOLERANCE = 1e-9
_CELLS = 4_000_000
"""Maximum number of distances in memory at a time."""


# --- the index ------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Boxes:
    """Spatial index: points in boxes of neighbors."""

    points: Floats = field(repr=False)
    """One row for each distinct point; texts are arbitrary codes."""
    measured: Bools = field(repr=False)
    """Mask of the columns that are numbers."""
    layout: arrays.Members = field(repr=False)
    """Points of each box."""
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)

    @classmethod
    def of(cls, points: Floats, measured: Bools) -> Boxes:
        """Cut the points at medians along the widest side.

        The number of boxes is about the number of points in a box.
        """
        size = max(int(np.sqrt(len(points))), 8)
        boxes = list(_cut(points, np.arange(len(points)), measured, size))
        low, high = (
            np.array([end(points[box], axis=0) for box in boxes]) for end in (np.min, np.max)
        )
        start = np.concatenate([[0], np.cumsum([len(box) for box in boxes])])
        return cls(points, measured, arrays.Members(np.concatenate(boxes), start), low, high)

    def nearest(self, query_points: Floats) -> tuple[Ints, Ints, Floats]:
        """Find the nearest points of each query point.

        Returns the pairs of a query point and a nearest point, sorted by query point, and the
        distance of each query point.
        """
        best = np.full(len(query_points), np.inf)
        people = max(_CELLS // max(len(self.low) * query_points.shape[1], 1), 1)
        portions = [
            self._nearest(
                query_points, np.arange(first, min(first + people, len(query_points))), best
            )
            for first in range(0, len(query_points), people)
        ]
        who, point = (np.concatenate([part[side] for part in portions]) for side in (0, 1))
        return who, point, best

    def _nearest(self, query_points: Floats, whom: Ints, best: Floats) -> tuple[Ints, Ints]:
        """Find the nearest points of some query points; their distances are stored in `best`."""
        least = self._box_distances(query_points[whom])
        order = np.argsort(least, axis=1)
        least = np.take_along_axis(least, order, axis=1)
        pairs: list[tuple[Ints, Ints, Floats]] = []
        waiting = np.arange(len(whom))
        for turn in range(least.shape[1]):
            waiting = waiting[least[waiting, turn] <= best[whom[waiting]] + _TIE_TOLERANCE]
            if not len(waiting):
                break
            portions = (
                len(waiting) * int(self.layout.sizes.max()) * query_points.shape[1] // _CELLS + 1
            )
            pairs += [
                self._visit(query_points, whom[some], order[some, turn], best)
                for some in np.array_split(waiting, portions)
            ]
        who, point, far = (np.concatenate([part[side] for part in pairs]) for side in range(3))
        is_nearest = far <= best[who] + _TIE_TOLERANCE
        who, point = who[is_nearest], point[is_nearest]
        pair_order = np.lexsort((point, who))
        return who[pair_order], point[pair_order]

    def _visit(
        self, query_points: Floats, whom: Ints, box: Ints, best: Floats
    ) -> tuple[Ints, Ints, Floats]:
        """Compare each query point with all points of one box.

        Returns the pairs that are as near as the best so far, and updates `best`.
        """
        point, person_index = self.layout.gather(box)
        distances = self._pair_distances(query_points[whom], person_index, point)
        run_starts = arrays.run_starts(person_index)
        best[whom] = np.minimum(best[whom], np.minimum.reduceat(distances, run_starts))
        near_pairs = np.flatnonzero(distances <= best[whom][person_index] + _TIE_TOLERANCE)
        return whom[person_index[near_pairs]], point[near_pairs], distances[near_pairs]

    def _pair_distances(self, query_points: Floats, person: Ints, point: Ints) -> Floats:
        """Compute the distance of each pair as a sum over the columns."""
        total = np.zeros(len(person))
        for column, is_number in enumerate(self.measured.tolist()):
            coordinates = query_points[:, column][person]
            point_coordinates = self._columns[column][point]
            if is_number:
                difference = np.abs(
                    np.subtract(coordinates, point_coordinates, out=coordinates), out=coordinates
                )
                total += np.minimum(difference, 1.0, out=difference)
            else:
                total += coordinates != point_coordinates
        return total

    @cached_property
    def _columns(self) -> Floats:
        """Points by column, each column contiguous in memory."""
        return np.ascontiguousarray(self.points.T)

    def _box_distances(self, query_points: Floats) -> Floats:
        """Compute the distance to each box, a lower bound of the distance to its points."""
        total = np.zeros((len(query_points), len(self.low)))
        for column, coordinates in enumerate(query_points.T):
            below = coordinates[:, None] < self.low[:, column]
            above = coordinates[:, None] > self.high[:, column]
            if self.measured[column]:
                outside = np.where(below, self.low[:, column] - coordinates[:, None], 0.0)
                outside = np.where(above, coordinates[:, None] - self.high[:, column], outside)
                total += np.minimum(outside, 1.0)
            else:
                total += below | above
        return total


def _cut(points: Floats, members: Ints, measured: Bools, size: int) -> Iterator[Ints]:
    if len(members) <= size:
        yield members
        return
    member_points = points[members]
    low = member_points.min(axis=0)
    high = member_points.max(axis=0)
    widths = np.where(low == high, 0.0, np.where(measured, np.minimum(high - low, 1.0), 1.0))
    order = np.argsort(member_points[:, int(widths.argmax())], kind="stable")
    middle = len(members) // 2
    yield from _cut(points, members[order[:middle]], measured, size)
    yield from _cut(points, members[order[middle:]], measured, size)


# --- rows as points -------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Axis:
    """Conversion of the values of one column to coordinates.

    Numbers are scaled by the range of the release. Texts become their position among the distinct
    texts. A value that is not a finite number (null, NaN, both infinities) equals itself and has
    distance 1 to all other values. So has a number that is farther outside the range than the range
    is wide.
    """

    texts: pa.Array | None
    """Distinct texts of the release; None for a column of numbers."""
    low: float = 0.0
    span: float = 1.0

    @classmethod
    def of(cls, column: pa.ChunkedArray, *, is_number: bool) -> _Axis:
        if not is_number:
            return cls(pc.unique(column.combine_chunks()).drop_null())
        numbers = _numbers(column)
        finite = numbers[np.isfinite(numbers)]
        if len(finite):
            low = float(finite.min())
            high = float(finite.max())
        else:
            low = 0.0
            high = 0.0
        return cls(None, low, high - low or 1.0)

    def coordinates(self, column: pa.ChunkedArray) -> Floats:
        """Compute the coordinate of each value; a text not in the release differs from all rows."""
        missing = column.combine_chunks().is_null().to_numpy(zero_copy_only=False)
        if self.texts is not None:
            text_codes = pc.index_in(column.combine_chunks(), value_set=self.texts).fill_null(-1)
            return np.where(
                missing, len(self.texts), text_codes.to_numpy(zero_copy_only=False)
            ).astype(np.float64)
        numbers = _numbers(column)
        coordinates = np.clip(
            (numbers - self.low) / self.span, -2.0, 3.0
        )  # no row is nearer than 1 to a coordinate outside [-1, 2]
        others = (
            (np.isneginf(numbers), -4.0),
            (np.isposinf(numbers), 5.0),
            (np.isnan(numbers), 7.0),
            (missing, 9.0),
        )
        for mask, coordinate in others:
            coordinates[mask] = coordinate
        return coordinates


@dataclass(frozen=True, eq=False)
class Space:
    """Rows of a release as points of some columns, with the conversion of people to points."""

    columns: tuple[str, ...]
    boxes: Boxes
    point_of_row: Ints = field(repr=False)
    _axes: tuple[_Axis, ...] = field(repr=False)

    @classmethod
    def of(cls, rows: pa.Table, columns: Sequence[str], *, numbers: Sequence[str]) -> Space:
        """Build the space from rows of texts; the columns of `numbers` are read as numbers."""
        axes = [_Axis.of(rows.column(name), is_number=name in numbers) for name in columns]
        coordinates = np.stack(
            [axis.coordinates(rows.column(name)) for axis, name in zip(axes, columns, strict=True)],
            axis=1,
        )
        distinct, of_row = np.unique(coordinates, axis=0, return_inverse=True)
        boxes = Boxes.of(distinct, np.array([axis.texts is None for axis in axes]))
        return cls(tuple(columns), boxes, of_row.ravel(), tuple(axes))

    def points(self, people: pa.Table) -> Floats:
        """Convert people to points."""
        return np.stack(
            [
                axis.coordinates(people.column(name))
                for axis, name in zip(self._axes, self.columns, strict=True)
            ],
            axis=1,
        )

    @property
    def rows(self) -> arrays.Members:
        """Rows of each point."""
        return arrays.lay_out(self.point_of_row, len(self.boxes.points))

    def nearest(self, people: pa.Table) -> NearestRows:
        """Find the rows nearest to each of these people."""
        points = self.points(people)
        distinct, of_person = np.unique(points, axis=0, return_inverse=True)
        who, point, distance = self.boxes.nearest(distinct)
        row, point_index = self.rows.gather(point)
        layout = arrays.lay_out(who[point_index], len(distinct), row)
        nearest_rows, person = layout.gather(of_person.ravel())
        return NearestRows(
            person, nearest_rows, distance[of_person.ravel()], layout.sizes[of_person.ravel()]
        )


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Pairs of a person and one of the rows nearest to them."""

    person: Ints = field(repr=False)
    row: Ints = field(repr=False)
    distance: Floats = field(repr=False)
    """Distance of each person to the nearest rows."""
    rows: Ints = field(repr=False)
    """Number of nearest rows of each person."""

    def probability_right(self, right: Bools) -> Floats:
        """Compute for each person the probability that a random one of the nearest rows is right.

        `right` marks the right pairs.
        """
        return arrays.sum_by_id(self.person, right, len(self.rows)) / self.rows


def _numbers(column: pa.ChunkedArray) -> Floats:
    """Convert a column to numbers; null becomes NaN."""
    number_array = pc.cast(column, pa.float64()).combine_chunks().fill_null(np.nan)
    numbers: Floats = number_array.to_numpy(zero_copy_only=False)
    return numbers


# --- attacks --------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _ReleaseTexts:
    """Release of one table as texts, and the names of its columns of numbers."""

    rows: pa.Table
    numbers: tuple[str, ...]

    @classmethod
    def of(cls, context: AttackContext, columns: Sequence[str]) -> _ReleaseTexts:
        rows = release_texts(context.release, columns)
        numbers = [
            name
            for name in context.knows
            if context.release.column(name).kind == "number"
            and all(_is_number(side.known_values.column(name)) for side in context.sides)
        ]
        return cls(rows, tuple(numbers))

    def space(self, columns: Sequence[str]) -> Space:
        return Space.of(self.rows, columns, numbers=self.numbers)


def release_texts(table: Table, columns: Sequence[str]) -> pa.Table:
    """Read columns of a release, every cell as a text."""
    engine = table.engine
    cells = ", ".join(
        f"{engine.cast(engine.quote(name), 'VARCHAR')} AS c{index}"
        for index, name in enumerate(columns)
    )
    return engine.query(f"SELECT {cells} FROM {table.relation}").rename_columns(list(columns))


def _is_number(column: pa.ChunkedArray) -> bool:
    try:
        pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def no_rows(context: AttackContext) -> str:
    """Return the reason that distances to rows do not apply to a release; empty if they do."""
    if context.published is not None:
        return "an anatomized release has no rows of whole people"
    if context.document.get("kind") in ("generalized", "applied"):
        return "the release is generalized: who fits a label is not near to it but in it"
    if context.knows:
        return context.too_many_rows
    return "nothing is known of the targets that is in the release"


def distances(context: AttackContext) -> list[Floats]:
    """Compute the distance to the nearest row for each target, and for the control group if any."""
    space = _ReleaseTexts.of(context, context.knows).space(context.knows)
    return [space.nearest(side.known_values).distance for side in context.sides]


def no_key(context: AttackContext) -> str:
    """Return the reason that the right row of a person is unknown; empty if a key identifies it."""
    message = (
        "no column says whose a row of the release is: name one that it shares with the truth as "
        "person"
    )
    return no_rows(context) or ("" if context.key else message)


def _nearest_row(context: AttackContext) -> Iterator[Attempt]:
    key = str(context.key)
    published_texts = _ReleaseTexts.of(context, [*context.knows, key])
    near = published_texts.space(context.knows).nearest(context.targets.known_values)
    description = (
        f"She takes the row that is nearest to what she knows; whose it is the column {key} tells."
    )
    rate = _rate(context, context.targets, near, key, published_texts)
    yield _attempt(
        context, "nearest-row", [rate], random=1 / published_texts.rows.num_rows, told=description
    )


def _nearest_value(context: AttackContext) -> Iterator[Attempt]:
    about = [name for name in context.guessed if name in context.targets.truth.column_names]
    published_texts = _ReleaseTexts.of(context, list(dict.fromkeys([*context.knows, *about])))
    space = published_texts.space(context.knows)
    sides = [(side, space.nearest(side.known_values)) for side in context.sides]
    for name in about:
        rates = [
            _rate(context, side, near, name, published_texts)
            for side, near in sides
            if name in side.truth.column_names
        ]
        codes, truth = context.encode_in_common(
            context.targets, name, published_texts.rows.column(name)
        )
        counts = np.bincount(codes)
        prior = float((truth == counts.argmax()).mean())
        description = "She guesses the value of the row that is nearest to what she knows."
        random = 1 / int(np.count_nonzero(counts))
        yield _attempt(
            context,
            "nearest-value",
            rates,
            about=name,
            random=random,
            prior=prior,
            told=description,
        )


def _rate(
    context: AttackContext,
    people: People,
    near: NearestRows,
    name: str,
    published_texts: _ReleaseTexts,
) -> Rate:
    """Rate at which a random nearest row has the person's true value in a column."""
    rows, truth = context.encode_in_common(people, name, published_texts.rows.column(name))
    return Rate(
        float(near.probability_right(rows[near.row] == truth[near.person]).sum()), len(people)
    )


def _attempt(
    context: AttackContext,
    name: str,
    rates: Sequence[Rate],
    *,
    about: str | None = None,
    **more: Any,
) -> Attempt:
    """Build an attempt that makes a guess for every target.

    `rates` has the rate of the targets and, if there is a control group, its rate.
    """
    return Attempt(
        name=name,
        aim="linkability" if about is None else "inference",
        about=about,
        knows=context.knows,
        targets=len(context.targets),
        guesses=len(context.targets),
        successes=rates[0].successes,
        control=rates[1] if len(rates) > 1 else None,
        **more,
    )


def _no_halves(context: AttackContext) -> str:
    return no_rows(context) or (
        "" if len(context.knows) > 1 else "two columns must be known, one for each source"
    )


def _linkability(context: AttackContext) -> Iterator[Attempt]:
    """Link the records of two sources that know different columns of the same people.

    Two records are linked if both are nearest to the same row.
    """
    published_texts = _ReleaseTexts.of(context, context.knows)
    half = (len(context.knows) + 1) // 2
    halves = context.knows[:half], context.knows[half:]
    spaces = [published_texts.space(columns) for columns in halves]
    rates = [_linkage_rate(side, spaces) for side in context.sides]
    description = (
        f"One source knows {', '.join(halves[0])}, another {', '.join(halves[1])}; she links a "
        "person's two records where both are nearest to the same row."
    )
    yield _attempt(
        context, "linkability", rates, random=1 / published_texts.rows.num_rows, told=description
    )


def _linkage_rate(people: People, spaces: Sequence[Space]) -> Rate:
    """Rate of people whose two records are linked.

    If a and b rows are nearest by the two halves and c rows are common, random choices agree with
    probability c / (a b).
    """
    first, second = (space.nearest(people.known_values) for space in spaces)
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
        lambda context: (
            no_rows(context)
            or ("" if context.guessed else "no column is sensitive that she does not know")
        ),
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
