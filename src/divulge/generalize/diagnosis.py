# SPDX-License-Identifier: Apache-2.0
"""Nothing fits: the nearest promises that do, what suppression would buy, and the column, class or value that stands in the way.

For each promise, the others are kept and its own bound is moved until some node keeps it. The nodes are looked at from the most
general downwards, where solutions are likeliest, for a short time; the answer says how many were looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from divulge.belief import Belief
from divulge.count.contingency import Floats
from divulge.errors import Infeasible
from divulge.generalize.check import Candidate, Judge
from divulge.generalize.lattice import Lattice, Node, with_drop
from divulge.generalize.problem import Problem
from divulge.generalize.rollup import Classes, Rollup
from divulge.generalize.rules import Rule
from divulge.table.texts import as_text

_SECONDS = 2.0
_MOST_NODES = 2000


@dataclass(frozen=True)
class Nearest:
    """One promise with a bound that would fit, the others unchanged."""

    promise: str
    bound: float
    levels: Mapping[str, int]


@dataclass(frozen=True)
class InTheWay:
    """The class that breaks a promise worst at the node that comes nearest, and its most telling value."""

    promise: str
    labels: Mapping[str, str | None]
    people: int
    value: str | None
    """The sensitive value whose share differs most from the prior."""


@dataclass(frozen=True)
class Diagnosis:
    """Why nothing fits and what would."""

    proved: bool
    """Every node was excluded; False: the time was up before one was found."""
    nearest: tuple[Nearest, ...]
    suppression: float | None
    """The least suppression limit under which everything would fit."""
    suppression_levels: Mapping[str, int]
    columns: tuple[str, ...]
    """Columns without which the most general node would fit."""
    in_the_way: InTheWay | None
    looked_at: int

    def document(self) -> dict[str, Any]:
        """For JSON."""
        way = self.in_the_way
        return {
            "proved": self.proved,
            "nearest": [{"promise": item.promise, "bound": item.bound, "levels": dict(item.levels)} for item in self.nearest],
            "suppression": self.suppression,
            "suppression_levels": dict(self.suppression_levels),
            "columns": list(self.columns),
            "in_the_way": None
            if way is None
            else {"promise": way.promise, "class": dict(way.labels), "people": way.people, "value": way.value},
            "looked_at": self.looked_at,
        }

    @property
    def text(self) -> str:
        """One line of advice."""
        parts = [f"{item.promise} would fit" for item in self.nearest]
        if self.suppression is not None:
            parts.append(f"so would a suppression limit of {_rounded_up(self.suppression)}" if parts else f"a suppression limit of {_rounded_up(self.suppression)} would fit")
        if self.columns:
            parts.append(f"or drop {' or '.join(map(repr, self.columns))}")
        advice = ", ".join(parts)
        if self.in_the_way is not None:
            way = self.in_the_way
            value = f", where {way.value!r} stands out" if way.value is not None else ""
            advice += f"{'; ' if advice else ''}in the way: the class {dict(way.labels)} of {way.people} people{value}"
        return advice


class NothingFits(Infeasible):
    """No generalization keeps the promises; `diagnosis` says why and what would fit."""

    def __init__(self, message: str, *, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        super().__init__(message, hint=diagnosis.text)
