# SPDX-License-Identifier: Apache-2.0
"""Which labels of a release fit a value that is known of a person: column by column, distinct labels against distinct values.

Labels are read as they are written: a value is itself, [20, 30), 20-29, >=90 and [2024-01-01, 2024-07-01) are ranges, 476** hides
characters, {a, b} lists values, and a cell of nothing but asterisks may be anything. Which values a word such as "married" stands
for is taken from hierarchies, or from the mapping that lies beside a release: that is no secret to a human reader, and an adversary who
could not read would make the release look safer than it is. A word that nothing explains fits everybody, and is told.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from divulge import arrays
from divulge.answers.labels import Labels, is_date, read_labels, span_of
from divulge.arrays import Floats, Ints
from divulge.count import Domain
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy, load_hierarchies
from divulge.table import Table
from divulge.values import as_number, as_text, number_text, parse_interval

_ASTERISKS = re.compile(r"\*+")
_FROM_TO = re.compile(r"(\d+(?:\.\d+)?)\s*[-\u2013]\s*(\d+(?:\.\d+)?)")  # 20-29: both ends included
_SET = re.compile(r"\{(.*)\}", re.DOTALL)
_ENDS = re.compile(r"[\[(]\s*([^,\[\]()]+?)\s*,\s*([^,\[\]()]+?)\s*([\])\[])")
Text = str | None
"""A cell; None is null."""


class Ends(NamedTuple):
    """Numbers from low to high; None: without end. The greater end belongs to it only if it is closed."""

    low: Fraction | None
    high: Fraction | None
    closed: bool


@dataclass(frozen=True, eq=False)
class Meanings:
    """What the labels of one column stand for beyond what they say."""

    origin: str = "as written"
    listed: Mapping[Text, frozenset[Text]] = field(default_factory=dict)
    spans: Mapping[Text, tuple[Ends, ...]] = field(default_factory=dict)

    @classmethod
    def of_levels(cls, tree: Hierarchy) -> Meanings:
        """What a hierarchy says: a label may be of any level."""
        listed: dict[Text, set[Text]] = {}
        for value, labels in tree.rows.items():
            for label in labels:
                listed.setdefault(label, set()).add(value)
        return cls("hierarchies", {label: frozenset(found) for label, found in listed.items()})


@dataclass(frozen=True, eq=False)
class Fits:
    """Which labels fit which values, as two arrays of positions, and the labels that nobody could read."""

    label: Ints
    value: Ints
    unread: tuple[str, ...] = ()


def read_meanings(
    table: Table, columns: Sequence[str], document: Mapping[str, Any], folder: Path | None, *, hierarchies: Any = None
) -> dict[str, Meanings]:
    """What hierarchies, or the mapping of a release, say of the labels of each column; others are read as they are written.

    `hierarchies` is a folder of files, or the hierarchies themselves. A label of somebody's table may be of any level.
    """
    if isinstance(hierarchies, Mapping):
        return {name: Meanings.of_levels(tree) for name, tree in hierarchies.items() if name in columns}
    if folder is None or not document:
        given = {} if hierarchies is None else load_hierarchies(hierarchies, columns=columns)
        return read_meanings(table, columns, document, folder, hierarchies=given)
    found = read_labels(DuckDBEngine(), table, document, folder, hierarchies=hierarchies)
    return {name: _meanings(labels) for name, labels in found.items() if name in columns}


def _meanings(labels: Labels) -> Meanings:
    if labels.origin == "as written":
        return Meanings()
    listed: dict[Text, set[Text]] = {}
    for label, leaf in zip(*(labels.listed[name].to_pylist() for name in ("label", "leaf")), strict=True):
        listed.setdefault(label, set()).add(as_text(leaf))
    spans = {label: tuple(Ends(*span) for span in spans) for label, spans in labels.spans.items()}
    return Meanings(labels.origin, {label: frozenset(texts) for label, texts in listed.items()}, spans)


def fits(
    labels: Sequence[Text],
    values: Sequence[Text],
    *,
    plain: Collection[Text] = (),
    meanings: Meanings | None = None,
    numbers: bool = False,
    suppression: Mapping[Text, str] | None = None,
) -> Fits:
    """Every pair of a label and a value that fit.

    Args:
        labels: The distinct labels of the release.
        values: The distinct values that she knows.
        plain: Values of the column: such a label stands for itself.
        meanings: What labels stand for beyond what they say.
        numbers: Both columns hold numbers: 34 and 34.0 are the same.
        suppression: What was said of suppressed cells, as `Adversary.suppression` has it.

    >>> found = fits(["[20, 30)", "4**", "*", "x"], ["25", "417", "x"], plain=["x"])
    >>> [(int(a), int(b)) for a, b in zip(found.label, found.value)]
    [(0, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 2)]
    """
    said, meant = dict(suppression or {}), meanings or Meanings()
    known = KnownValues(values, numbers=numbers)
    own = {_key(text, numbers=numbers) for text in plain}
    pairs: list[tuple[int, list[int]]] = []
    unread: list[str] = []
    for place, label in enumerate(labels):
        found = _places(label, known, meant, said, own)
        if found is None:
            unread.append(str(label))
        pairs.append((place, known.every if found is None else sorted(found | known.unknown(said))))
    label_of = np.repeat(np.array([place for place, _ in pairs], dtype=np.int64), [len(found) for _, found in pairs])
    return Fits(label_of, np.array([one for _, found in pairs for one in found], dtype=np.int64), tuple(unread))


def _places(
    label: Text, known: KnownValues, meant: Meanings, said: Mapping[Text, str], own: Collection[Text]
) -> set[int] | None:
    """The values that a label fits; None where nobody can read it."""
    if said.get(label) == "wildcard":
        return set(known.every)
    found = known.equal(label)
    for text in meant.listed.get(label, ()):
        found |= known.equal(text)
    for ends in meant.spans.get(label, ()):
        found |= known.between(ends)
    explained = label in meant.listed or label in meant.spans
    if label is None or said.get(label) == "value":
        return found
    if not _ASTERISKS.fullmatch(label) and _key(label, numbers=known.numbers) in own:
        return found
    written = known.written(label)
    if written is not None:
        return found | written
    # Of numbers every label is a value, NaN and infinity too.
    is_value = known.numbers or as_number(label) is not None or is_date(label)
    return found if explained or found or is_value else None


def _key(text: Text, *, numbers: bool) -> Text:
    """What equal values have in common: of numbers, the number."""
    number = as_number(text) if numbers and text is not None else None
    return text if number is None else number_text(number)


class KnownValues:
    """The values that are known, ready to be looked up by what a label says: the one way in which labels are read as they are written."""

    def __init__(self, values: Sequence[Text], *, numbers: bool) -> None:
        self.numbers, self.values = numbers, values
        self.every = list(range(len(values)))
        self._by_key: dict[Text, set[int]] = {}
        for place, text in enumerate(values):
            self._by_key.setdefault(_key(text, numbers=numbers), set()).add(place)
        parsed = [
            (number, place) for place, text in enumerate(values) if text and (number := as_number(text)) is not None
        ]
        parsed.sort()
        self._numbers = [number for number, _ in parsed]
        self._number_places = [place for _, place in parsed]
        self._masks: dict[tuple[int, tuple[int, ...]], dict[str, set[int]]] = {}

    def written(self, label: str) -> set[int] | None:
        """What a range, a mask or a list fits; None where the label is none of these."""
        if _ASTERISKS.fullmatch(label):
            return set(self.every)
        if (span := span_of(label)) is not None:
            return self.between(Ends(*span))
        if (ends := _FROM_TO.fullmatch(label)) and (low := Fraction(ends[1])) <= (high := Fraction(ends[2])):
            return self.between(Ends(low, high, closed=True))
        if (interval := parse_interval(label)) is not None:
            return self.between(Ends(interval.low, interval.high, closed=False))
        if (ends := _ENDS.fullmatch(label)) and is_date(ends[1]) and is_date(ends[2]):
            return self.days(ends[1], ends[2], closed=ends[3] == "]")
        if "*" in label:
            return self.masked(label)
        if (several := _SET.fullmatch(label)) is not None:
            return self.listed(several[1])
        return None

    def equal(self, text: Text) -> set[int]:
        """Where a value is."""
        return set(self._by_key.get(_key(text, numbers=self.numbers), ()))

    def unknown(self, said: Mapping[Text, str]) -> set[int]:
        """Where nulls are wildcards, what she does not know fits every label."""
        return self.equal(None) if said.get(None) == "wildcard" else set()

    def between(self, ends: Ends) -> set[int]:
        """Where numbers of a range are."""
        from bisect import bisect_left, bisect_right

        first = 0 if ends.low is None else bisect_left(self._numbers, ends.low)
        if ends.high is None:
            return set(self._number_places[first:])
        last = (bisect_right if ends.closed else bisect_left)(self._numbers, ends.high)
        return set(self._number_places[first:last])

    def days(self, low: str, high: str, *, closed: bool) -> set[int]:
        """Where days of a range are, and moments of these days."""
        days = ((place, text[:10]) for place, text in enumerate(self.values) if text is not None and is_date(text[:10]))
        return {place for place, day in days if low <= day and (day < high or (closed and day == high))}

    def listed(self, inside: str) -> set[int]:
        """Where the values of a list are; a value may hold a comma itself, and null is one that nobody else is called."""
        parts = inside.split(", ")
        if not all(map(self._named, parts)):
            parts = [part.strip() for part in inside.split(",")]
        return {place for part in parts for place in self._named(part)}

    def _named(self, part: str) -> set[int]:
        return self.equal(part) or (self.equal(None) if part == "null" else set())

    def masked(self, label: str) -> set[int]:
        """Values of the label's length that agree with it wherever it has no asterisk; if there are none, of any length that begin so."""
        shown = tuple(place for place, letter in enumerate(label) if letter != "*")
        kind = (len(label), shown)
        if kind not in self._masks:
            found: dict[str, set[int]] = {}
            for place, text in enumerate(self.values):
                if text is not None and len(text) == len(label):
                    found.setdefault("".join(text[index] for index in shown), set()).add(place)
            self._masks[kind] = found
        begin = label.rstrip("*")
        return self._masks[kind].get("".join(label[index] for index in shown)) or {
            place
            for place, text in enumerate(self.values)
            if "*" not in begin and text is not None and text.startswith(begin)
        }


# --- spreads ----------------------------------------------------------------------------------------------------------
# What the labels of a release stand for among the values of its original: by this, two tables are compared value by value.
# A label stands for the values that its mapping, its box or a hierarchy lists, else for what it says, read as above: 34 and null
# are themselves, [20, 30), 20-29, <20 and >=90 are numbers, 476** is every text of that form, {a, b} is a or b, and * is anything. Its
# records are spread over those of them that occur in the original, in equal parts. A reader may not know which occur, so this is a little
# kinder to a release than what a reader can do; `divulge query` gives the bounds that hold for readers.
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
