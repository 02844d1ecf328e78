# SPDX-License-Identifier: Apache-2.0
"""The adversary's prior: marginal of the table, marginal of the original, or a given prior.

Afifi et al. 2018, Definition 2. A given prior is a marginal or a set of conditionals. It is checked
against the table before it is used. It must name every value that occurs and no other value, and
sum to 1. The error lists all problems. Conditionals may be given as such or as joint probabilities
(the paper's example: P(Cancer and 5*) = 4/100 with P(5*) = 25/100 is 16/100).
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

from divulge import text as divulge_values
from divulge.arguments import arg_name, outside, quoted
from divulge.arrays import Floats, Ints
from divulge.counting import Cells, Contingency, Domain, align
from divulge.errors import BadInput, nearest
from divulge.text import as_text

_SUM_TOLERANCE = 1e-6
Key = tuple[str | None, ...]
"""The values of some columns as text; null is None."""


@dataclass(frozen=True, eq=False)
class PriorBelief:
    """The prior belief about one attribute: one row of weights per distinct prior.

    `row` is the index of the prior that each class uses (None: all classes use the only one).
    """

    name: str
    weights: Floats = field(repr=False)
    """Unnormalized weights of shape (priors, values).

    They are counts if the prior was counted, so that their sums stay exact.
    """
    row: Ints | None = field(default=None, repr=False)
    conditions: tuple[str, ...] = ()
    """The columns on which a prior per class depends."""
    keys: tuple[Key, ...] = field(default=(), repr=False)
    """For each row of weights, the values of these columns.

    The rows then weigh as the joint probabilities do, so that they add up.
    """
    people: float | None = None
    """The number of people in the weights; None if no person can have several values.

    A person with several values is counted once for each of them.
    """
    ruled_out: bool = False
    """True if background knowledge ruled values out; the weights cover the remaining values."""

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
        """The number of values with a positive weight, for each prior."""
        return np.asarray((self.weights > 0).sum(axis=1), dtype=np.float64)

    def of_class(self, number: int) -> Floats:
        """The prior probabilities of a class."""
        return np.asarray(self.shares[0 if self.row is None else self.row[number]])

    def of_classes(self, per_prior: Floats, classes: int) -> Floats:
        """Expand one number per prior to one number per class."""
        if self.row is None:
            return np.broadcast_to(per_prior[0], (classes,))
        return per_prior[self.row]

    def of_cells(self, per_value: Floats, cells: Cells) -> Floats:
        """The entry of each cell's value in `per_value`, an array of shape (priors, values)."""
        row = 0 if self.row is None else self.row[cells.class_index]
        return np.asarray(per_value[row, cells.value])

    def with_weights(self, weights: Floats, classes: Ints | None = None) -> PriorBelief:
        """Return this prior with other weights, optionally for some of the classes only.

        Rows without weight are dropped, because no class may use them.
        """
        if self.row is None:
            return replace(self, weights=weights)
        if classes is None:
            row = self.row
        else:
            row = self.row[classes]
        remaining = np.flatnonzero(weights.sum(axis=1) > 0)
        new_index = np.full(len(weights), -1, dtype=np.int64)
        new_index[remaining] = np.arange(len(remaining))
        keys = tuple(self.keys[i] for i in remaining.tolist())
        return replace(self, weights=weights[remaining], row=new_index[row], keys=keys)

    def merged(self, into: Ints, row: Ints, count: int) -> PriorBelief:
        """Merge priors: P(s | merged) = sum P(c, s) / sum P(c).

        `into` is the index of the merged prior, of `count`, for each row (-1: none).
        """
        is_merged = into >= 0
        weights = np.zeros((count, self.weights.shape[1]))
        np.add.at(weights, into[is_merged], self.weights[is_merged])
        return replace(self, weights=weights, row=row, keys=())


def counted_prior(cells: Cells, masses: Mapping[str | None, float]) -> tuple[Cells, PriorBelief]:
    """The prior from an original's counts per value (as text), with cells over both domains."""
    name = cells.domain.name
    kind = cells.domain.kind
    try:
        values = pa.array(list(masses), type=pa.string()).cast(cells.domain.values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadInput(
            f"the values of {name!r} have another type than those of the original: {outside(error)}"
        ) from None
    domain, table_codes, original_codes = align(cells.domain, Domain(name, values, kind))
    weights = np.zeros((1, len(domain)))
    np.add.at(weights[0], original_codes, list(masses.values()))
    return cells.recode(table_codes, domain), PriorBelief("original", weights)


@dataclass(frozen=True)
class ExplicitPrior:
    """User-provided probabilities of an attribute, not yet matched with a table."""

    attribute: str
    conditions: tuple[str, ...]
    """The columns on which the probabilities depend; empty for a marginal."""
    measure: Literal["probability", "joint"]
    entries: Mapping[Key, Mapping[str | None, float]] = field(repr=False)
    """Probabilities by condition values (as text), then by value (as text)."""

    def against(self, contingency: Contingency) -> PriorBelief:
        """Match the entries with the values and classes of a table.

        Raises BadInput with the complete list of mismatches.
        """
        domain = contingency.cells[self.attribute].domain
        position = {as_text(label): code for code, label in enumerate(domain.labels)}
        class_keys = self._keys_of_classes(contingency)
        self._check_values(position)
        if not self.conditions:
            return PriorBelief("given", self._weight_matrix([()], position))
        self._check_coverage(dict.fromkeys(class_keys))
        shares = self.class_shares(contingency)
        keys = [key for key in self.entries if shares.get(key, 0.0) > 0]
        weights = self._weight_matrix(keys, position)
        if self.measure == "probability":
            weights = weights * np.array([[shares[key]] for key in keys])
        row_of_key = {key: i for i, key in enumerate(keys)}
        row = np.array([row_of_key[key] for key in class_keys], dtype=np.int64)
        return PriorBelief("conditional", weights, row, self.conditions, tuple(keys))

    def class_shares(self, contingency: Contingency) -> dict[Key, float]:
        """The weight of each combination of condition values.

        It is the joint probability, or else the number of people in the table with the combination.
        """
        if self.measure == "joint":
            return {key: sum(entry.values()) for key, entry in self.entries.items()}
        shares: dict[Key, float] = {}
        mass = contingency.cells[self.attribute].totals
        for key, people in zip(self._keys_of_classes(contingency), mass.tolist(), strict=True):
            shares[key] = shares.get(key, 0.0) + people
        return shares

    def as_joint(self, contingency: Contingency) -> ExplicitPrior:
        """Convert to joint probabilities.

        Conditional probabilities are weighted by the classes of a table.
        """
        if self.measure == "joint" or not self.conditions:
            return self
        shares = self.class_shares(contingency)
        self._check_coverage(shares)
        total = sum(shares.values())
        entries = {
            key: {
                value: probability * share / total
                for value, probability in self.entries[key].items()
            }
            for key, share in shares.items()
        }
        return replace(self, measure="joint", entries=entries)

    def merged(
        self, conditions: Sequence[str], into: Callable[[Key], Iterable[Key]]
    ) -> ExplicitPrior:
        """Joint probabilities of merged conditions.

        `into` maps an old combination to the new combinations that contain it, if any.
        """
        sums: dict[Key, dict[str | None, float]] = {}
        for key, entry in self.entries.items():
            for merged_key in into(key):
                merged_entry = sums.setdefault(merged_key, dict.fromkeys(entry, 0.0))
                for value, probability in entry.items():
                    merged_entry[value] = merged_entry.get(value, 0.0) + probability
        total = sum(sum(entry.values()) for entry in sums.values())
        entries = {
            key: {value: share / total for value, share in entry.items()}
            for key, entry in sums.items()
        }
        return ExplicitPrior(self.attribute, tuple(conditions), "joint", entries)

    def known_to(self, columns: Sequence[str]) -> ExplicitPrior:
        """Joint probabilities for an adversary who knows only these columns."""
        conditions = [name for name in self.conditions if name in columns]
        if len(conditions) == len(self.conditions):
            return self
        indexes = [self.conditions.index(name) for name in conditions]
        return self.merged(conditions, lambda key: [tuple(key[index] for index in indexes)])

    def _weight_matrix(self, keys: Sequence[Key], position: Mapping[str | None, int]) -> Floats:
        return np.array([[self.entries[key][text] for text in position] for key in keys])

    def _keys_of_classes(self, contingency: Contingency) -> list[Key]:
        """The condition values of each class."""
        names = [key.name for key in contingency.keys]
        for column in self.conditions:
            if column not in names:
                message = (
                    f"the prior of {self.attribute!r} depends on {column!r}, which is not a "
                    "quasi-identifier"
                )
                raise BadInput(message, hint=nearest(column, names))
        columns: list[list[str | None]] = []
        for position in map(names.index, self.conditions):
            labels = [as_text(label) for label in contingency.keys[position].labels]
            columns.append([labels[code] for code in contingency.codes[position].tolist()])
        return list(zip(*columns, strict=True))

    def _check_coverage(self, class_keys: Iterable[Key]) -> None:
        missing = [
            self._condition_text(key)
            for key in class_keys
            if sum(self.entries.get(key, {}).values()) <= 0
        ]
        if missing:
            raise BadInput(
                f"the prior of {self.attribute!r} given {', '.join(self.conditions)} misses "
                f"{len(missing)} combinations, or gives them no weight: "
                f"{outside('; '.join(missing[:10]))}"
            )

    def _condition_text(self, key: Key) -> str:
        """The text of a combination of the conditions, as in zip=476**, sex=male."""
        return divulge_values.class_name(dict(zip(self.conditions, key, strict=True)))

    def _check_values(self, position: Mapping[str | None, int]) -> None:
        problems: list[str] = []
        for key, entry in self.entries.items():
            if self.conditions:
                condition = f" given {self._condition_text(key)}"
            else:
                condition = ""
            unknown = [repr(text) for text in entry if text not in position]
            missing = [repr(text) for text in position if text not in entry]
            if unknown:
                problems.append(f"unknown values{condition}: {', '.join(unknown)}")
            if missing:
                problems.append(f"missing values{condition}: {', '.join(missing)}")
            if self.measure == "probability" and not math.isclose(
                sum(entry.values()), 1.0, abs_tol=_SUM_TOLERANCE
            ):
                problems.append(
                    f"the probabilities{condition} sum to {sum(entry.values()):.6g}, not 1"
                )
        total = sum(sum(entry.values()) for entry in self.entries.values())
        if self.measure == "joint" and not math.isclose(total, 1.0, abs_tol=_SUM_TOLERANCE):
            problems.append(f"the joint probabilities sum to {total:.6g}, not 1")
        if problems:
            raise BadInput(
                f"the prior of {self.attribute!r} does not fit the table: "
                f"{outside('; '.join(problems))}"
            )


def read_prior(
    source: str | Path | Mapping[Any, Any] | Sequence[Mapping[str, Any]], attribute: str
) -> ExplicitPrior:
    """Read the prior of one attribute.

    A mapping {value: probability} is a marginal. Rows (a CSV file with a header, or a list of
    dicts) have a column named like the attribute, a column `probability` (conditional) or `joint`,
    and any further columns are conditions. An empty cell is null.
    """
    if isinstance(source, Mapping):
        # Without conditions, joint probabilities are the marginal. Their column name is free if the
        # attribute is called "probability".
        if attribute != "probability":
            measure = "probability"
        else:
            measure = "joint"
        rows = [{attribute: value, measure: share} for value, share in source.items()]
        return _prior_from_rows(rows, attribute, "the prior")
    if isinstance(source, (str, Path)):
        return _prior_from_rows(_read_csv_rows(Path(source)), attribute, str(source))
    return _prior_from_rows(list(source), attribute, "the prior")


def _read_csv_rows(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or ())
            rows = list(reader)
    except FileNotFoundError:
        raise BadInput(f"there is no prior file {str(path)!r}") from None
    except OSError as error:
        raise BadInput(f"the prior file {str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{str(path)!r} is not UTF-8 text") from None
    except csv.Error as error:
        raise BadInput(f"{str(path)!r} is not CSV: {outside(error)}") from None
    except ValueError:  # a NUL in it
        raise BadInput(f"{str(path)!r} cannot be the name of a prior file") from None
    if repeated := [
        name for column_index, name in enumerate(header) if name in header[:column_index]
    ]:
        raise BadInput(
            f"{str(path)!r} has the column {repeated[0]!r} twice", hint="Leave one of them out"
        )
    long_rows = [number for number, row in enumerate(rows, start=1) if None in row]
    if long_rows:
        raise BadInput(f"{str(path)!r}: row {long_rows[0]} has more cells than the header")
    return [{name: cell or None for name, cell in row.items()} for row in rows]


def _prior_from_rows(
    rows: Sequence[Mapping[str, Any]], attribute: str, origin: str
) -> ExplicitPrior:
    if not rows:
        raise BadInput(
            f"{origin} is empty", hint=f"expected columns {attribute!r} and 'probability'"
        )
    columns = list(rows[0])
    if attribute not in columns:
        raise BadInput(
            f"{origin} has no column {attribute!r}", hint=nearest(attribute, map(str, columns))
        )
    measures = [name for name in ("probability", "joint") if name in columns and name != attribute]
    if len(measures) != 1:
        raise BadInput(
            f"{origin} needs exactly one of the columns 'probability' and 'joint'",
            hint=f"it has {columns}",
        )
    if measures == ["joint"]:
        measure: Literal["probability", "joint"] = "joint"
    else:
        measure = "probability"
    conditions = tuple(str(column) for column in columns if column not in (attribute, measure))
    entries: dict[Key, dict[str | None, float]] = {}
    for number, row in enumerate(rows, start=1):
        if set(row) != set(columns):
            raise BadInput(
                f"{origin}: row {number} has other columns than the first, {list(row)} against "
                f"{columns}"
            )
        key = tuple(as_text(row[column]) for column in conditions)
        value = as_text(row[attribute])
        entry = entries.setdefault(key, {})
        if value in entry:
            if key:
                condition = (
                    f" for {divulge_values.class_name(dict(zip(conditions, key, strict=True)))}"
                )
            else:
                condition = ""
            raise BadInput(
                f"{origin} gives {attribute} = {quoted(value)} twice{outside(condition)}"
            )
        share = as_share(row[measure])
        if share is None or not 0.0 <= share <= 1.0:
            if share is None:
                expectation = "a probability"
            else:
                expectation = "between 0 and 1"
            raise BadInput(
                f"{origin}: {quoted(row[measure])} for {attribute} = {quoted(value)} is not "
                f"{expectation}"
            )
        entry[value] = share
    return ExplicitPrior(attribute, conditions, measure, entries)


def as_share(raw: Any) -> float | None:
    """Parse a number, a decimal text or a fraction such as 4/100; None if there is no number."""
    try:
        numerator, _, denominator = str(raw).partition("/")
        if denominator:
            return float(numerator) / float(denominator)
        return float(numerator)
    except (ValueError, ZeroDivisionError):
        return None


# --- background knowledge (Afifi et al. 2018, Section 2 and Example 1) ----------------------------
# Values that are ruled out are removed from the prior and from the posterior. The remaining values
# of a class can then reveal the value (positive disclosure) or exclude others (negative
# disclosure). A class whose values are all ruled out cannot contain the person and is left out.
ValuesOf = Mapping[str, tuple[str | None, ...]]
"""Some values (as text) of each attribute."""


@dataclass(frozen=True)
class Knowledge:
    """Values of one attribute that the adversary rules out, or the only possible ones."""

    attribute: str
    out: tuple[str | None, ...] = ()
    only: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.out) == bool(self.only):
            raise BadInput(
                f"knowledge about {self.attribute!r} must rule values out or in, one of the two"
            )

    def describe(self) -> dict[str, object]:
        """The entry in the settings of a result."""
        if self.out:
            return {"ruled_out": list(self.out)}
        return {"ruled_in": list(self.only)}

    def possible(self, domain: Domain) -> npt.NDArray[np.bool_]:
        """Mask of the values of the attribute that remain possible."""
        labels = [as_text(label) for label in domain.labels]
        for value in (*self.out, *self.only):
            if value not in labels:
                candidates = [label for label in labels if label is not None]
                raise BadInput(
                    f"{self.attribute!r} has no value {quoted(value)}",
                    hint=nearest(str(value), candidates),
                )
        possible_mask = np.array(
            [label in self.only if self.only else label not in self.out for label in labels]
        )
        if not possible_mask.any():
            raise BadInput(f"every value of {self.attribute!r} is ruled out")
        return possible_mask

    def apply(self, cells: Cells, prior: PriorBelief) -> tuple[Cells, PriorBelief, Ints]:
        """Remove the impossible values from counts and prior.

        Returns the cells, the prior and the indexes of the remaining classes.
        """
        possible_mask = self.possible(cells.domain)
        is_possible = possible_mask[cells.value]
        remaining = np.flatnonzero(cells.sum_by_class(is_possible.astype(np.float64)) > 0)
        if len(remaining) == 0:
            raise BadInput(f"what is known about {self.attribute!r} fits nobody in the table")
        new_index = np.full(len(cells.start) - 1, -1, dtype=np.int64)
        new_index[remaining] = np.arange(len(remaining))
        starts = np.searchsorted(
            new_index[cells.class_index[is_possible]], np.arange(len(remaining) + 1)
        )
        remaining_cells = Cells(
            cells.domain, starts.astype(np.int64), cells.value[is_possible], cells.mass[is_possible]
        )
        weights = prior.weights * possible_mask
        if prior.row is None:
            used_weights = weights
        else:
            used_weights = weights[prior.row[remaining]]
        if np.any(used_weights.sum(axis=1) <= 0):
            raise BadInput(
                f"the prior of {self.attribute!r} gives no weight to what is left after ruling "
                "values out"
            )
        return (
            remaining_cells,
            replace(prior.with_weights(weights, remaining), ruled_out=True),
            remaining,
        )


def values_by_attribute(raw: Any, option: str) -> ValuesOf:
    """Parse a mapping {attribute: values}, or texts "attribute=value"."""
    if isinstance(raw, Mapping):
        return {name: _as_texts(values) for name, values in raw.items()}
    if not isinstance(raw, Iterable):
        raise BadInput(
            f"{arg_name(option)} is {quoted(raw)}",
            hint="give {attribute: values}, or texts COLUMN=VALUE",
        )
    checked_values: dict[str, tuple[str | None, ...]] = {}
    if isinstance(raw, str):
        chosen_texts: Iterable[Any] = [raw]
    else:
        chosen_texts = raw
    for text in chosen_texts:
        name, sign, value = str(text).partition("=")
        if not sign:
            raise BadInput(f"{text!r} does not say which value is meant", hint="write COLUMN=VALUE")
        checked_values[name] = (*checked_values.get(name, ()), value)
    return checked_values


def _as_texts(values: Any) -> tuple[str | None, ...]:
    """One value or several, as text."""
    is_list = isinstance(values, Iterable) and not isinstance(values, (str, bytes))
    if is_list:
        return tuple(as_text(value) for value in values)
    return (as_text(values),)
