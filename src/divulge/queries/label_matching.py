# SPDX-License-Identifier: Apache-2.0
"""Matching of the labels of a release with known values of people.

Distinct labels are matched with distinct values, column by column. Labels are read as written
(releases/labels.py).

The meaning of a word such as "married" is read from hierarchies or from the private part of a
release. A human reader knows such meanings. An adversary without them would make the release look
safer than it is. A word of unknown meaning matches every value, and is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.arrays import Floats, Ints
from divulge.counting import Domain
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.hierarchies import Hierarchy, load_hierarchies
from divulge.queries.labels import Labels, read_labels
from divulge.releases import Text, ValueIndex, parse_label, values_by_label
from divulge.sources import Table
from divulge.text import Interval, as_number, as_text


@dataclass(frozen=True, eq=False)
class Meanings:
    """Meaning of the labels of one column beyond their notation."""

    origin: str = "as written"
    listed: Mapping[Text, frozenset[Text]] = field(default_factory=dict)
    spans: Mapping[Text, tuple[Interval, ...]] = field(default_factory=dict)
    any_value: frozenset[Text] = frozenset()
    """Labels that represent any value of the column, including null."""

    @classmethod
    def of_levels(cls, tree: Hierarchy) -> Meanings:
        """Read the meaning of labels from a hierarchy; a label may be of any level."""
        return cls("hierarchies", values_by_label(tree))


@dataclass(frozen=True, eq=False)
class Fits:
    """Matching pairs of labels and values as arrays of positions, and labels without meaning."""

    label: Ints
    value: Ints
    unread: tuple[str, ...] = ()


def read_meanings(
    table: Table,
    columns: Sequence[str],
    document: Mapping[str, Any],
    private_folder: Path | None,
    *,
    hierarchies: Any = None,
) -> dict[str, Meanings]:
    """Read the meaning of the labels of each column from hierarchies or the mapping of a release.

    Labels of other columns are read as written. `hierarchies` is a folder of files, or the
    hierarchies themselves. A label of a third-party table may be of any level.
    """
    if isinstance(hierarchies, Mapping):
        return {
            name: Meanings.of_levels(tree) for name, tree in hierarchies.items() if name in columns
        }
    if "roles" not in document:
        if hierarchies is None:
            loaded = {}
        else:
            loaded = load_hierarchies(hierarchies, columns=columns)
        return read_meanings(table, columns, document, private_folder, hierarchies=loaded)
    labels_by_column = read_labels(
        DuckDBEngine(), table, document, private_folder, hierarchies=hierarchies
    )
    return {name: _meanings(labels) for name, labels in labels_by_column.items() if name in columns}


def _meanings(labels: Labels) -> Meanings:
    if labels.origin == "as written":
        return Meanings()
    values_by_label: dict[Text, set[Text]] = {}
    for label, leaf in zip(
        *(labels.listed[name].to_pylist() for name in ("label", "leaf")), strict=True
    ):
        values_by_label.setdefault(label, set()).add(as_text(leaf))
    spans = {
        label: tuple(Interval(*span) for span in spans) for label, spans in labels.spans.items()
    }
    values = {label: frozenset(texts) for label, texts in values_by_label.items()}
    return Meanings(labels.origin, values, spans, labels.any_value)


def fits(
    labels: Sequence[Text],
    values: Sequence[Text],
    *,
    plain: Collection[Text] = (),
    meanings: Meanings | None = None,
    numbers: bool = False,
    suppression: Mapping[Text, str] | None = None,
) -> Fits:
    """Find every pair of a label and a value that match.

    Args:
        labels: The distinct labels of the release.
        values: The distinct values that the adversary knows.
        plain: Values of the column; a label that equals one of them represents itself.
        meanings: Meaning of labels beyond their notation.
        numbers: Both columns hold numbers, so 34 and 34.0 are equal.
        suppression: Rules for suppressed cells, as in `Adversary.suppression`.

    >>> found = fits(["[20, 30)", "4**", "*", "x"], ["25", "417", "x"], plain=["x"])
    >>> [(int(a), int(b)) for a, b in zip(found.label, found.value)]
    [(0, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 2)]
    """
    suppression_rules = dict(suppression or {})
    label_meanings = meanings or Meanings()
    known_values = ValueIndex(values, numbers=numbers)
    plain_keys = {known_values.key(text) for text in plain}
    wildcard_nulls: set[int] = set()
    if suppression_rules.get(None) == "wildcard":
        wildcard_nulls = known_values.find_value(None)
    pairs: list[tuple[int, list[int]]] = []
    unread: list[str] = []
    for label_index, label in enumerate(labels):
        value_indices = _matching_values(
            label, known_values, label_meanings, suppression_rules, plain_keys
        )
        if value_indices is None:
            unread.append(str(label))
        pairs.append(
            (
                label_index,
                known_values.all_positions
                if value_indices is None
                else sorted(value_indices | wildcard_nulls),
            )
        )
    label_positions = np.repeat(
        np.array([label_index for label_index, _ in pairs], dtype=np.int64),
        [len(value_indices) for _, value_indices in pairs],
    )
    return Fits(
        label_positions,
        np.array(
            [value_index for _, value_indices in pairs for value_index in value_indices],
            dtype=np.int64,
        ),
        tuple(unread),
    )


def _matching_values(
    label: Text,
    known_values: ValueIndex,
    label_meanings: Meanings,
    suppression_rules: Mapping[Text, str],
    plain_keys: Collection[Text],
) -> set[int] | None:
    """Positions of the values that a label matches; None if its meaning is unknown."""
    if suppression_rules.get(label) == "wildcard" or label in label_meanings.any_value:
        return set(known_values.all_positions)
    value_indices = known_values.find_value(label)
    for text in label_meanings.listed.get(label, ()):
        value_indices |= known_values.find_value(text)
    for interval in label_meanings.spans.get(label, ()):
        value_indices |= known_values.find_numbers(interval)
    has_meaning = label in label_meanings.listed or label in label_meanings.spans
    if label is None or suppression_rules.get(label) == "value":
        return value_indices
    meaning = parse_label(label)
    if meaning.kind != "anything" and known_values.key(label) in plain_keys:
        return value_indices
    notation_matches = meaning.matches(known_values)
    if notation_matches is not None:
        return value_indices | notation_matches
    # In a column of numbers every label is a value, including NaN and infinity.
    if has_meaning or value_indices or known_values.numbers:
        return value_indices
    return None


# --- spreads --------------------------------------------------------------------------------------
# Meaning of the labels of a release among the values of its original, so that the two tables can be
# compared value by value. A label represents the values that its mapping, its box or a hierarchy
# lists. Otherwise it is read as written, as above: 34 and null are themselves, [20, 30), 20-29, <20
# and >=90 are numbers, 476** is every text of that form, {a, b} is a or b, and * is any value. The
# records of a label are distributed in equal parts over its values that occur in the original. A
# reader may not know which values occur, so this favors a release slightly. `divulge query` gives
# the bounds that hold for readers.
ReadBy = Literal["value", "mapping", "hierarchy", "as written"]
Texts = Iterable[str | None]


@dataclass(frozen=True, eq=False)
class Spread:
    """Mapping of the labels of one column of a release to the values of its original."""

    domain: Domain
    """Values of the original."""
    labels: Domain
    """Published labels."""
    label: Ints = field(repr=False)
    """Position of the label of each pair of a label and a value that it represents."""
    value: Ints = field(repr=False)
    """Position of the value of each pair. Labels without a value in the original have no pair."""
    read_by: ReadBy

    @cached_property
    def sizes(self) -> Ints:
        """Number of values of the original that each label represents."""
        return np.bincount(self.label, minlength=len(self.labels))

    @cached_property
    def exact(self) -> bool:
        """True if each label represents one value, and no two labels the same value."""
        return bool((self.sizes == 1).all()) and len(np.unique(self.value)) == len(self.value)

    @cached_property
    def label_of_value(self) -> Ints | None:
        """Label of each value of the original, -1 for values without one.

        None if a value may have several labels.
        """
        if (np.bincount(self.value, minlength=1) > 1).any():
            return None
        labels_of_values = np.full(len(self.domain), -1, dtype=np.int64)
        labels_of_values[self.value] = self.label
        return labels_of_values

    def over_values(self, counts: Floats) -> Floats:
        """Distribute counts by label over the values.

        An additional last entry has the counts of labels without values.
        """
        spread = counts[self.label] / self.sizes[self.label]
        return np.append(
            arrays.sum_by_id(self.value, spread, len(self.domain)), counts[self.sizes == 0].sum()
        )

    def part(self, mask: npt.NDArray[np.bool_]) -> Floats:
        """Compute for each label the share of its values that is in the mask."""
        inside = arrays.sum_by_id(self.label, mask[self.value].astype(np.float64), len(self.labels))
        return inside / np.maximum(self.sizes, 1)

    def matrix(self) -> Floats:
        """Matrix of the share of each label that each value gets.

        An additional last column is for labels without values.
        """
        shares = np.zeros((len(self.labels), len(self.domain) + 1))
        shares[self.label, self.value] = 1 / self.sizes[self.label]
        shares[self.sizes == 0, -1] = 1.0
        return shares


def read_spread(
    domain: Domain,
    labels: Domain,
    *,
    known_values: Mapping[str | None, Texts] | None,
    hierarchy: Hierarchy | None,
) -> Spread:
    """Read the labels of a column from a known mapping, from a hierarchy, else as written."""
    values = ValueIndex([as_text(label) for label in domain.labels])
    listed: Mapping[Text, Texts] | None = known_values
    if known_values is None and hierarchy is not None:
        listed = values_by_label(hierarchy)
    pairs: list[tuple[int, int]] = []
    sources_used: set[ReadBy] = set()
    for number, label in enumerate(labels.labels):
        text = as_text(label)
        if listed is not None and text in listed:
            value_indices: set[int] | None = set().union(*map(values.find_value, listed[text]))
            sources_used.add("hierarchy" if known_values is None else "mapping")
        else:
            value_indices = _value_positions(text, values)
            sources_used.add("value")
            if value_indices is None and text is not None:
                value_indices = parse_label(text).matches(values)
                sources_used.add("as written")
        if value_indices is None:
            message = (
                f"it is not known which values of {domain.name!r} the label {text!r} stands for"
            )
            raise BadInput(
                message,
                hint="Give the hierarchy of the column, or the release with its private part",
            )
        pairs += [(number, value_index) for value_index in sorted(value_indices)]
    pair_array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    # A mapping lists the label of null even if there are no nulls, and labels of values that do not
    # occur.
    origin = next(
        (
            source
            for source in ("mapping", "hierarchy", "as written", "value")
            if source in sources_used
        ),
        "value",
    )
    return Spread(domain, labels, pair_array[:, 0], pair_array[:, 1], origin)  # type: ignore[arg-type]


def _value_positions(text: str | None, values: ValueIndex) -> set[int] | None:
    """Find the positions of a label that is itself a value; None if it is not a value.

    A null is a value even if the original does not have it, and so is a number if the original has
    numbers.
    """
    value_indices = values.find_value(text)
    if value_indices or text is None:
        return value_indices
    number = as_number(text)
    if number is None:
        return None
    if not values.has_numbers:
        return None
    return values.find_numbers(Interval(number, number, closed=True))
