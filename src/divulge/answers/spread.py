# SPDX-License-Identifier: Apache-2.0
"""What the labels of a release stand for among the values of its original: by this, two tables are compared value by value.

A label stands for the values that its mapping, its box or a hierarchy lists, else for what it says, read as in meaning.py: 34 and null
are themselves, [20, 30), 20-29, <20 and >=90 are numbers, 476** is every text of that form, {a, b} is a or b, and * is anything. Its
records are spread over those of them that occur in the original, in equal parts. A reader may not know which occur, so this is a little
kinder to a release than what a reader can do; `divulge query` gives the bounds that hold for readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.answers.meaning import Ends, KnownValues
from divulge.arrays import Floats, Ints
from divulge.count import Domain
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy
from divulge.values import as_number, as_text

ReadBy = Literal["value", "mapping", "hierarchy", "as written"]
Texts = Iterable[str | None]


@dataclass(frozen=True, eq=False)
class Spread:
    """One column of a release over the values of its original."""

    domain: Domain
    """The values of the original."""
    labels: Domain
    """What is published."""
    label: Ints = field(repr=False)
    """Each label, once for each value that it stands for ..."""
    value: Ints = field(repr=False)
    """... and that value. A label that stands for no value of the original is not among them."""
    read_by: ReadBy

    @cached_property
    def sizes(self) -> Ints:
        """For how many values of the original each label stands."""
        return np.bincount(self.label, minlength=len(self.labels))

    @cached_property
    def exact(self) -> bool:
        """Each label is one value, and no two are the same."""
        return bool((self.sizes == 1).all()) and len(np.unique(self.value)) == len(self.value)

    @cached_property
    def label_of_value(self) -> Ints | None:
        """The label of each value of the original, -1: it has none; None where a value may have had several."""
        if (np.bincount(self.value, minlength=1) > 1).any():
            return None
        found = np.full(len(self.domain), -1, dtype=np.int64)
        found[self.value] = self.label
        return found

    def over_values(self, counts: Floats) -> Floats:
        """Records by label, spread over the values; one more entry at the end has those of labels that stand for none."""
        spread = counts[self.label] / self.sizes[self.label]
        return np.append(arrays.sum_by_id(self.value, spread, len(self.domain)), counts[self.sizes == 0].sum())

    def part(self, mask: npt.NDArray[np.bool_]) -> Floats:
        """For each label, the share of its values that is in the mask."""
        inside = arrays.sum_by_id(self.label, mask[self.value].astype(np.float64), len(self.labels))
        return inside / np.maximum(self.sizes, 1)

    def matrix(self) -> Floats:
        """The share of each label that goes to each value; a last column is that of labels which stand for none."""
        found = np.zeros((len(self.labels), len(self.domain) + 1))
        found[self.label, self.value] = 1 / self.sizes[self.label]
        found[self.sizes == 0, -1] = 1.0
        return found


def read_spread(
    domain: Domain, labels: Domain, *, known: Mapping[str | None, Texts] | None, hierarchy: Hierarchy | None
) -> Spread:
    """Read the labels of a column: by what is known of them, by a hierarchy, else as they are written."""
    values = KnownValues([as_text(label) for label in domain.labels], numbers=False)
    listed = _of_hierarchy(hierarchy) if known is None else known
    pairs: list[tuple[int, int]] = []
    ways: set[ReadBy] = set()
    for number, label in enumerate(labels.labels):
        text = as_text(label)
        if listed is not None and text in listed:
            found: set[int] | None = set().union(*map(values.equal, listed[text]))
            ways.add("hierarchy" if known is None else "mapping")
        else:
            found = _value(text, values)
            ways.add("value")
            if found is None and text is not None:
                found = values.written(text)
                ways.add("as written")
        if found is None:
            told = f"it is not known which values of {domain.name!r} the label {text!r} stands for"
            raise BadInput(told, hint="Give the hierarchy of the column, or the release with its mappings")
        pairs += [(number, place) for place in sorted(found)]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    # A mapping says of a null what it would become, whether there are nulls or not; so does it of values that nobody has.
    by = next((way for way in ("mapping", "hierarchy", "as written", "value") if way in ways), "value")
    return Spread(domain, labels, both[:, 0], both[:, 1], by)  # type: ignore[arg-type]


def _value(text: str | None, values: KnownValues) -> set[int] | None:
    """Where a label is that is a value, be it one that the original does not have: a null, or another number; None where it is none."""
    found = values.equal(text)
    if found or text is None:
        return found
    number = as_number(text)
    return None if number is None else values.between(Ends(number, number, closed=True))


def _of_hierarchy(hierarchy: Hierarchy | None) -> dict[str | None, list[str | None]] | None:
    """Every label of any level with the values below it."""
    if hierarchy is None:
        return None
    found: dict[str | None, list[str | None]] = {}
    for value, labels in {None: hierarchy.null_labels, **hierarchy.rows}.items():
        for label in dict.fromkeys(labels):
            found.setdefault(label, []).append(value)
    return found
