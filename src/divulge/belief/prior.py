# SPDX-License-Identifier: Apache-2.0
"""The adversary's prior: the table's own marginal, the original's, a given marginal, or given conditionals.

Afifi et al. 2018, Definition 2. A given prior is checked against the table before it is used: it must name every value that occurs,
no value that does not, and sum to 1; what is wrong is listed completely. Conditionals may be given as such or as joint
probabilities (the paper's example: P(Cancer and 5*) = 4/100 with P(5*) = 25/100 is 16/100).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge.arrays import Floats, Ints
from divulge.count import Cells, Contingency, Domain, align
from divulge.errors import BadInput, nearest
from divulge.values import as_text

_SUM_TOLERANCE = 1e-6
Key = tuple[str | None, ...]
"""The values of some columns as text; null is None."""


@dataclass(frozen=True, eq=False)
class PriorBelief:
    """One row of weights per distinct prior; `row` says which a class uses (None: all use the only one)."""

    name: str
    weights: Floats = field(repr=False)
    """Unnormalized, of shape (priors, values): counts where the prior was counted, so that their sums stay exact."""
    row: Ints | None = field(default=None, repr=False)
    conditions: tuple[str, ...] = ()
    """The columns that a prior per class depends on."""
    keys: tuple[Key, ...] = field(default=(), repr=False)
    """For each row of weights, the values of these columns: the rows then weigh as the joint probabilities do, so that they add up."""

    @cached_property
    def totals(self) -> Floats:
        """The sum of each prior's weights."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def shares(self) -> Floats:
        """The prior probabilities, of shape (priors, values)."""
        return self.weights / self.totals[:, None]

    @cached_property
    def entropy(self) -> Floats:
        """H of each prior, in bits."""
        positive = np.where(self.shares > 0, self.shares, 1.0)
        return np.asarray(np.maximum(-(positive * np.log2(positive)).sum(axis=1), 0.0))

    @cached_property
    def support(self) -> Floats:
        """How many values each prior holds possible."""
        return np.asarray((self.weights > 0).sum(axis=1), dtype=np.float64)

    def of_class(self, number: int) -> Floats:
        """The prior probabilities that a class is held against."""
        return np.asarray(self.shares[0 if self.row is None else self.row[number]])

    def of_classes(self, per_prior: Floats, classes: int) -> Floats:
        """Spread a number per prior over the classes."""
        return np.broadcast_to(per_prior[0], (classes,)) if self.row is None else per_prior[self.row]

    def of_cells(self, per_value: Floats, cells: Cells) -> Floats:
        """What each cell's value has in `per_value`, of shape (priors, values)."""
        row = 0 if self.row is None else self.row[cells.class_index]
        return np.asarray(per_value[row, cells.value])

    def with_weights(self, weights: Floats, classes: Ints | None = None) -> PriorBelief:
        """The same for other values, perhaps for some of the classes only; a row without weight goes, for no class may use it."""
        if self.row is None:
            return replace(self, weights=weights)
        row = self.row if classes is None else self.row[classes]
        left = np.flatnonzero(weights.sum(axis=1) > 0)
        number = np.full(len(weights), -1, dtype=np.int64)
        number[left] = np.arange(len(left))
        keys = tuple(self.keys[i] for i in left.tolist())
        return replace(self, weights=weights[left], row=number[row], keys=keys)

    def merged(self, into: Ints, row: Ints, count: int) -> PriorBelief:
        """P(s | merged) = sum P(c, s) / sum P(c): `into` says which of `count` merged priors each row is part of (-1: of none)."""
        kept = into >= 0
        weights = np.zeros((count, self.weights.shape[1]))
        np.add.at(weights, into[kept], self.weights[kept])
        return replace(self, weights=weights, row=row, keys=())


def counted_prior(cells: Cells, masses: Mapping[str | None, float]) -> tuple[Cells, PriorBelief]:
    """The prior of an original that is known by how often each value occurred, as text, and the cells over the values of both."""
    name, kind = cells.domain.name, cells.domain.kind
    try:
        values = pa.array(list(masses), type=pa.string()).cast(cells.domain.values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadInput(f"the values of {name!r} have another type than those of the original: {error}") from None
    domain, ours, theirs = align(cells.domain, Domain(name, values, kind))
    weights = np.zeros((1, len(domain)))
    np.add.at(weights[0], theirs, list(masses.values()))
    return cells.recode(ours, domain), PriorBelief("original", weights)


@dataclass(frozen=True)
class GivenPrior:
    """Probabilities of an attribute as the user gave them, not yet held against a table."""

    attribute: str
    conditions: tuple[str, ...]
    """The columns the probabilities depend on; empty for a marginal."""
    measure: Literal["probability", "joint"]
    entries: Mapping[Key, Mapping[str | None, float]] = field(repr=False)
    """Condition values (as text) to value (as text) to probability."""

    def against(self, contingency: Contingency) -> PriorBelief:
        """Match the entries with the values and classes of a table, or refuse with the complete list of what does not fit."""
        domain = contingency.cells[self.attribute].domain
        position = {as_text(label): code for code, label in enumerate(domain.labels)}
        wanted = self._keys_of_classes(contingency)
        self._check_values(position)
        if not self.conditions:
            return PriorBelief("given", self._weights([()], position))
        self._refuse_gaps(dict.fromkeys(wanted))
        shares = self.class_shares(contingency)
        keys = [key for key in self.entries if shares.get(key, 0.0) > 0]
        weights = self._weights(keys, position)
        if self.measure == "probability":
            weights = weights * np.array([[shares[key]] for key in keys])
        number = {key: i for i, key in enumerate(keys)}
        row = np.array([number[key] for key in wanted], dtype=np.int64)
        return PriorBelief("conditional", weights, row, self.conditions, tuple(keys))

    def class_shares(self, contingency: Contingency) -> dict[Key, float]:
        """How much each combination of condition values weighs: its joint probability, else the people of the table who have it."""
        if self.measure == "joint":
            return {key: sum(entry.values()) for key, entry in self.entries.items()}
        shares: dict[Key, float] = {}
        mass = contingency.cells[self.attribute].totals
        for key, people in zip(self._keys_of_classes(contingency), mass.tolist(), strict=True):
            shares[key] = shares.get(key, 0.0) + people
        return shares

    def as_joint(self, contingency: Contingency) -> GivenPrior:
        """The same as joint probabilities; conditional ones are weighted by the classes of a table."""
        if self.measure == "joint" or not self.conditions:
            return self
        shares = self.class_shares(contingency)
        self._refuse_gaps(shares)
        total = sum(shares.values())
        entries = {
            key: {value: probability * share / total for value, probability in self.entries[key].items()}
            for key, share in shares.items()
        }
        return replace(self, measure="joint", entries=entries)

    def merged(self, conditions: Sequence[str], into: Callable[[Key], Iterable[Key]]) -> GivenPrior:
        """Joint probabilities of coarser conditions: `into` says which of the new combinations an old one is part of, if any."""
        sums: dict[Key, dict[str | None, float]] = {}
        for key, entry in self.entries.items():
            for place in into(key):
                there = sums.setdefault(place, dict.fromkeys(entry, 0.0))
                for value, probability in entry.items():
                    there[value] = there.get(value, 0.0) + probability
        total = sum(sum(entry.values()) for entry in sums.values())
        entries = {key: {value: share / total for value, share in entry.items()} for key, entry in sums.items()}
        return GivenPrior(self.attribute, tuple(conditions), "joint", entries)

    def known_to(self, columns: Sequence[str]) -> GivenPrior:
        """Joint probabilities for an adversary who knows only these columns."""
        kept = [name for name in self.conditions if name in columns]
        if len(kept) == len(self.conditions):
            return self
        places = [self.conditions.index(name) for name in kept]
        return self.merged(kept, lambda key: [tuple(key[place] for place in places)])

    def _weights(self, keys: Sequence[Key], position: Mapping[str | None, int]) -> Floats:
        return np.array([[self.entries[key][text] for text in position] for key in keys])

    def _keys_of_classes(self, contingency: Contingency) -> list[Key]:
        """The condition values of each class."""
        names = [key.name for key in contingency.keys]
        for column in self.conditions:
            if column not in names:
                told = f"the prior of {self.attribute!r} depends on {column!r}, which is not a quasi-identifier"
                raise BadInput(told, hint=nearest(column, names))
        columns: list[list[str | None]] = []
        for place in map(names.index, self.conditions):
            labels = [as_text(label) for label in contingency.keys[place].labels]
            columns.append([labels[code] for code in contingency.codes[place].tolist()])
        return list(zip(*columns, strict=True))

    def _refuse_gaps(self, wanted: Iterable[Key]) -> None:
        missing = [str(key) for key in wanted if sum(self.entries.get(key, {}).values()) <= 0]
        if missing:
            raise BadInput(
                f"the prior of {self.attribute!r} given {', '.join(self.conditions)} misses {len(missing)} combinations, "
                f"or gives them no weight: {', '.join(missing[:10])}"
            )

    def _check_values(self, position: Mapping[str | None, int]) -> None:
        problems: list[str] = []
        for key, entry in self.entries.items():
            where = f" given {key}" if self.conditions else ""
            unknown = [repr(text) for text in entry if text not in position]
            missing = [repr(text) for text in position if text not in entry]
            if unknown:
                problems.append(f"unknown values{where}: {', '.join(unknown)}")
            if missing:
                problems.append(f"missing values{where}: {', '.join(missing)}")
            if self.measure == "probability" and not math.isclose(sum(entry.values()), 1.0, abs_tol=_SUM_TOLERANCE):
                problems.append(f"the probabilities{where} sum to {sum(entry.values()):.6g}, not 1")
        total = sum(sum(entry.values()) for entry in self.entries.values())
        if self.measure == "joint" and not math.isclose(total, 1.0, abs_tol=_SUM_TOLERANCE):
            problems.append(f"the joint probabilities sum to {total:.6g}, not 1")
        if problems:
            raise BadInput(f"the prior of {self.attribute!r} does not fit the table: {'; '.join(problems)}")


def read_prior(source: str | Path | Mapping[Any, Any] | Sequence[Mapping[str, Any]], attribute: str) -> GivenPrior:
    """Read the prior of one attribute.

    A mapping {value: probability} is a marginal. Rows (a CSV file with a header, or a list of dicts) have a column named like the
    attribute, a column `probability` (conditional) or `joint`, and any further columns are conditions. An empty cell is null.
    """
    if isinstance(source, Mapping):
        # Without conditions joint probabilities are the marginal: a name that an attribute called "probability" leaves free.
        measure = "probability" if attribute != "probability" else "joint"
        rows = [{attribute: value, measure: share} for value, share in source.items()]
        return _from_rows(rows, attribute, "the prior")
    if isinstance(source, (str, Path)):
        return _from_rows(_csv_rows(Path(source)), attribute, str(source))
    return _from_rows(list(source), attribute, "the prior")


def _csv_rows(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header, rows = list(reader.fieldnames or ()), list(reader)
    except FileNotFoundError:
        raise BadInput(f"there is no prior file {str(path)!r}") from None
    except OSError as error:
        raise BadInput(f"the prior file {str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{str(path)!r} is not UTF-8 text") from None
    except csv.Error as error:
        raise BadInput(f"{str(path)!r} is not CSV: {error}") from None
    except ValueError:  # a NUL in it
        raise BadInput(f"{str(path)!r} cannot be the name of a prior file") from None
    if twice := [name for place, name in enumerate(header) if name in header[:place]]:
        raise BadInput(f"{str(path)!r} has the column {twice[0]!r} twice", hint="Leave one of them out")
    longer = [number for number, row in enumerate(rows, start=1) if None in row]
    if longer:
        raise BadInput(f"{str(path)!r}: row {longer[0]} has more cells than the header")
    return [{name: cell or None for name, cell in row.items()} for row in rows]


def _from_rows(rows: Sequence[Mapping[str, Any]], attribute: str, origin: str) -> GivenPrior:
    if not rows:
        raise BadInput(f"{origin} is empty", hint=f"expected columns {attribute!r} and 'probability'")
    columns = list(rows[0])
    if attribute not in columns:
        raise BadInput(f"{origin} has no column {attribute!r}", hint=nearest(attribute, map(str, columns)))
    measures = [name for name in ("probability", "joint") if name in columns and name != attribute]
    if len(measures) != 1:
        raise BadInput(f"{origin} needs exactly one of the columns 'probability' and 'joint'", hint=f"it has {columns}")
    measure: Literal["probability", "joint"] = "joint" if measures == ["joint"] else "probability"
    conditions = tuple(str(column) for column in columns if column not in (attribute, measure))
    entries: dict[Key, dict[str | None, float]] = {}
    for number, row in enumerate(rows, start=1):
        if set(row) != set(columns):
            raise BadInput(f"{origin}: row {number} has other columns than the first, {list(row)} against {columns}")
        key = tuple(as_text(row[column]) for column in conditions)
        value = as_text(row[attribute])
        entry = entries.setdefault(key, {})
        if value in entry:
            raise BadInput(f"{origin} gives {attribute} = {value!r} twice{f' for {key}' if key else ''}")
        share = as_share(row[measure])
        if share is None or not 0.0 <= share <= 1.0:
            wrong = "a probability" if share is None else "between 0 and 1"
            raise BadInput(f"{origin}: {row[measure]!r} for {attribute} = {value!r} is not {wrong}")
        entry[value] = share
    return GivenPrior(attribute, conditions, measure, entries)


def as_share(given: Any) -> float | None:
    """The number in a number, a decimal text or a fraction such as 4/100; None where there is none."""
    try:
        numerator, _, denominator = str(given).partition("/")
        return float(numerator) / float(denominator) if denominator else float(numerator)
    except (ValueError, ZeroDivisionError):
        return None


# --- background knowledge (Afifi et al. 2018, Section 2 and Example 1) ------------------------------------------------
# What is ruled out is struck before and after publication. What remains of a class can then tell the value (positive disclosure) or
# exclude others (negative disclosure). A class whose values are all ruled out cannot be the person's and is left out.
ValuesOf = Mapping[str, tuple[str | None, ...]]
"""Attribute to some of its values, as text."""


@dataclass(frozen=True)
class Knowledge:
    """Values of one attribute that the adversary has ruled out, or the only ones held possible."""

    attribute: str
    out: tuple[str | None, ...] = ()
    only: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.out) == bool(self.only):
            raise BadInput(f"knowledge about {self.attribute!r} must rule values out or in, one of the two")

    def describe(self) -> dict[str, object]:
        """As it stands in the settings of a result."""
        return {"ruled_out": list(self.out)} if self.out else {"ruled_in": list(self.only)}

    def possible(self, domain: Domain) -> npt.NDArray[np.bool_]:
        """Which values of the attribute are left."""
        labels = [as_text(label) for label in domain.labels]
        for value in (*self.out, *self.only):
            if value not in labels:
                known = [label for label in labels if label is not None]
                raise BadInput(f"{self.attribute!r} has no value {value!r}", hint=nearest(str(value), known))
        possible = np.array([label in self.only if self.only else label not in self.out for label in labels])
        if not possible.any():
            raise BadInput(f"every value of {self.attribute!r} is ruled out")
        return possible

    def apply(self, cells: Cells, prior: PriorBelief) -> tuple[Cells, PriorBelief, Ints]:
        """Strike the impossible values from counts and prior; also which classes are left."""
        possible = self.possible(cells.domain)
        kept = possible[cells.value]
        left = np.flatnonzero(cells.sum_by_class(kept.astype(np.float64)) > 0)
        if len(left) == 0:
            raise BadInput(f"what is known about {self.attribute!r} fits nobody in the table")
        renumbered = np.full(len(cells.start) - 1, -1, dtype=np.int64)
        renumbered[left] = np.arange(len(left))
        starts = np.searchsorted(renumbered[cells.class_index[kept]], np.arange(len(left) + 1))
        struck = Cells(cells.domain, starts.astype(np.int64), cells.value[kept], cells.mass[kept])
        weights = prior.weights * possible
        used = weights if prior.row is None else weights[prior.row[left]]
        if np.any(used.sum(axis=1) <= 0):
            raise BadInput(f"the prior of {self.attribute!r} gives no weight to what is left after ruling values out")
        return struck, prior.with_weights(weights, left), left


def values_by_attribute(given: Any, what: str) -> ValuesOf:
    """From a mapping {attribute: values}, or from texts "attribute=value"."""
    if isinstance(given, Mapping):
        return {name: _texts(values) for name, values in given.items()}
    if not isinstance(given, Iterable):
        raise BadInput(f"{what} is {given!r}", hint="give {attribute: values}, or texts COLUMN=VALUE")
    found: dict[str, tuple[str | None, ...]] = {}
    for text in [given] if isinstance(given, str) else given:
        name, sign, value = str(text).partition("=")
        if not sign:
            raise BadInput(f"{text!r} does not say which value is meant", hint="write COLUMN=VALUE")
        found[name] = (*found.get(name, ()), value)
    return found


def _texts(values: Any) -> tuple[str | None, ...]:
    """One value or several, as text."""
    several = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
    return tuple(as_text(value) for value in values) if several else (as_text(values),)
