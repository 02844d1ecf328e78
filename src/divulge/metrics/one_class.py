# SPDX-License-Identifier: Apache-2.0
"""One class in full: its people, what was believed of every value before and after it is known, and every metric that classes have."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge import values
from divulge.belief import Belief
from divulge.count import Contingency
from divulge.errors import BadInput, listed, nearest
from divulge.metrics.catalogue import Metric
from divulge.results import Result
from divulge.values import as_text


@dataclass(frozen=True)
class Shift:
    """One value's share before and after the class is known."""

    value: Any
    before: float
    after: float


@dataclass(frozen=True)
class ClassScore:
    """One metric's number for one class."""

    metric: Metric[Any]
    number: float | int
    attribute: str | None


@dataclass(frozen=True, repr=False)
class OneClass(Result):
    """A class of a table: who is in it, and what it tells about them."""

    view = "measurement"

    key: Mapping[str, Any]
    size: int
    of_people: int
    """In the whole table."""
    shares: Mapping[str, tuple[Shift, ...]]
    """Of each sensitive attribute every value, also those that fall or vanish, in the order of the values."""
    scores: tuple[ClassScore, ...]
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The values that make the class."""
        return values.class_name(self.key)

    def shares_of(self, attribute: str | None = None) -> tuple[str, tuple[Shift, ...]]:
        """An attribute and its shares; where none is named, the one whose shares change most."""
        if attribute is not None and attribute in self.shares:
            return attribute, self.shares[attribute]
        if attribute is not None or not self.shares:
            told = f"nothing is known about {attribute!r} in {self.name}" if attribute else f"{self.name} has no values"
            raise BadInput(
                told, hint=nearest(attribute or "", self.shares) if self.shares else "name sensitive columns"
            )
        return max(self.shares.items(), key=lambda item: sum(abs(each.after - each.before) for each in item[1]))


def shares_in(belief: Belief, index: int) -> Iterator[Shift]:
    """Every value that somebody could have expected or that occurs, in the order of the values."""
    position = int(np.searchsorted(belief.classes, index))
    inside, before = belief.cells.of_class(position), belief.prior.of_class(position)
    total = sum(inside.values())
    for code, label in enumerate(belief.cells.domain.labels):
        if before[code] > 0 or code in inside:
            yield Shift(label, float(before[code]), inside.get(code, 0.0) / total)


def find_class(contingency: Contingency, asked: Mapping[str, Any], *, among: int | None = None) -> int:
    """The class of these values, each given as it is or as its text; `among` says how many classes there are where some are not here."""
    names = [key.name for key in contingency.keys]
    for name in asked:
        if name not in names:
            raise BadInput(f"{name!r} is no quasi-identifier, and makes no class", hint=nearest(name, names))
    for key in contingency.keys:
        if key.name not in asked:
            told = f"a class has a value of each quasi-identifier, and that of {key.name!r} is not said"
            known = listed(["null" if label is None else label for label in key.labels], most=6)
            raise BadInput(told, hint=f"it is one of {known}")
    left = np.ones(len(contingency), dtype=bool)
    for key, codes in zip(contingency.keys, contingency.codes, strict=True):
        wanted = [code for code, label in enumerate(key.labels) if _is(label, asked[key.name])]
        left &= np.isin(codes, wanted)
    found = np.flatnonzero(left)
    if not len(found):
        raise _no_such_class(contingency, asked, among)
    return int(found[0])


def _is(label: Any, asked: Any) -> bool:
    """A value is meant by itself or by its text; null by None or, where nothing else is called so, by "null"."""
    if label is None or asked is None:
        return label is None and asked in (None, "null")
    return bool(label == asked) or as_text(label) == as_text(asked)


def _no_such_class(contingency: Contingency, asked: Mapping[str, Any], among: int | None) -> BadInput:
    wanted = values.class_name(asked)
    if among is not None and among > len(contingency):
        told = f"{wanted} is not among the {len(contingency):,} classes that were brought here, of {among:,}"
        return BadInput(
            told, hint="the others stay with the engine: give more memory, or measure only the rows asked for"
        )
    for key in contingency.keys:
        if not any(_is(label, asked[key.name]) for label in key.labels):
            known = ["null" if label is None else str(label) for label in key.labels]
            return BadInput(f"no class has {key.name}={asked[key.name]}", hint=nearest(str(asked[key.name]), known))
    names = [values.class_name(contingency.class_key(index)) for index in _alike(contingency, asked)]
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.0)
    return BadInput(f"there is no class {wanted}", hint=f"near ones are {'; '.join(near)}")


def _alike(contingency: Contingency, asked: Mapping[str, Any], most: int = 200) -> list[int]:
    """The classes that agree in the most columns."""
    agreeing = np.zeros(len(contingency), dtype=np.int64)
    for key, codes in zip(contingency.keys, contingency.codes, strict=True):
        agreeing += np.isin(codes, [code for code, label in enumerate(key.labels) if _is(label, asked[key.name])])
    return [int(index) for index in np.argsort(-agreeing, kind="stable")[:most]]
