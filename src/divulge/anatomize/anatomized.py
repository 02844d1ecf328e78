# SPDX-License-Identifier: Apache-2.0
"""anatomize(): divide the columns into tables and the records into groups, with any of the methods.

A method says which quasi-identifiers share a table, which records share a group, and what it promises. The result is measured here, in the
same way for every method, and a method that does not keep its own promise is a bug, not a release.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from divulge.anatomize.codes import RowCodes
from divulge.anatomize.division import Division
from divulge.anatomize.levels import GroupLevels, GroupSummary
from divulge.anatomize.model import AlphaBetaGammaDelta, Reached
from divulge.anatomize.problem import GroupingProblem, Groups, SensitiveTotals, problem_of
from divulge.arrays import Ints
from divulge.errors import BadInput, InternalError, nearest


class Method(Protocol):
    """A way to anatomize: a frozen value with its settings as fields."""

    name: ClassVar[str]

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """What every group keeps."""

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """The columns of each table of quasi-identifiers."""

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """The group of each record, numbered from 0."""

    def settings(self) -> Mapping[str, Any]:
        """The settings as plain values, for the record of how a release was made."""


@dataclass(frozen=True, eq=False)
class Anatomized:
    """A table divided into tables and groups. Rows are those of `rows`, in that order; nothing is published yet."""

    method: str
    rows: RowCodes = field(repr=False)
    division: Division
    sensitive: tuple[str, ...]
    group: Groups = field(repr=False)
    """The group of each record, from 0; the numbers are random and say nothing."""
    model: AlphaBetaGammaDelta
    """What the method promises."""
    settings: Mapping[str, Any]
    seed: int
    """Where all random choices came from. Who knows it can repeat them, so it must never be published."""
    problem: GroupingProblem = field(repr=False)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each published table; each sensitive attribute is a table of its own, at the end."""
        return (*self.division.tables, *((name,) for name in self.sensitive))

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @cached_property
    def sizes(self) -> Ints:
        """The records of each group."""
        return np.bincount(self.group)

    @cached_property
    def group_levels(self) -> GroupLevels:
        """What each group shows."""
        return self.problem.measure(self.group, groups=self.groups)

    @cached_property
    def summary(self) -> GroupSummary:
        """All groups in a few numbers."""
        return self.group_levels.summary(self.model)

    @cached_property
    def levels(self) -> Reached:
        """The exact levels of the release."""
        return self.group_levels.worst()


def anatomize(
    rows: RowCodes,
    method: Method,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str],
    seed: int | None = None,
    totals: Mapping[str, SensitiveTotals] | None = None,
) -> Anatomized:
    """Divide the columns into tables and the records into groups; without a seed one is drawn, and recorded.

    Where the rows are a chunk of a table, `totals` says how often each sensitive value occurs in the whole.
    """
    secret = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    _check_columns(rows, quasi_identifiers, secret)
    used = secrets.randbits(64) if seed is None else seed
    division = method.divide(rows, tuple(quasi_identifiers))
    problem = problem_of(rows, tables=division.tables, sensitive=secret, model=method.model, totals=totals)
    group = method.group(problem, rng=np.random.default_rng(used))
    found = Anatomized(
        method=method.name,
        rows=rows,
        division=division,
        sensitive=secret,
        group=group,
        model=method.model,
        settings=method.settings(),
        seed=used,
        problem=problem,
    )
    if not found.group_levels.keeps(found.model).all():
        raise InternalError(f"{method.name} made a group that breaks {', '.join(found.model.broken_by(found.levels))}")
    return found


def _check_columns(rows: RowCodes, quasi_identifiers: Sequence[str], sensitive: Sequence[str]) -> None:
    if not quasi_identifiers:
        raise BadInput("no quasi-identifiers were named", hint="Name the columns that an adversary may know")
    if not sensitive:
        raise BadInput("no sensitive attribute was named", hint="Name the column whose values are to stay secret")
    seen: set[str] = set()
    for name in (*quasi_identifiers, *sensitive):
        if name not in rows.names:
            raise BadInput(f"the column {name!r} was not read", hint=nearest(name, rows.names))
        if name in seen:
            raise BadInput(f"the column {name!r} is named twice", hint="A column has one role")
        seen.add(name)
    if len(rows) == 0:
        raise BadInput("there are no rows", hint="There is nothing to anatomize")
