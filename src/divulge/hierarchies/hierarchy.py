# SPDX-License-Identifier: Apache-2.0
"""Generalization hierarchies: each value of a column with its ancestors, level by level.

Level 0 is the value itself. A generalization maps values to more general ones (Afifi et al. 2018,
Definition 1). A hierarchy is a chain of such maps, so a label has one parent. The constructor
checks that all rows have equal width and that parents are unique. A null without a row stays null,
as its own category, up to a top level that suppresses everything (`*`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge.arguments import Sentence, marked, outside, quoted
from divulge.arrays import Floats, Ints
from divulge.errors import BadInput, listed
from divulge.text import as_number, as_text, toml_key

SUPPRESSED = "*"
Labels = tuple[str | None, ...]
"""The labels of one value at level 0 (the value itself), 1, ... up to the top."""


@dataclass(frozen=True, eq=False)
class LevelCodes:
    """One level over a domain: the node of each value, and the label of each node."""

    codes: Ints
    """Node number by position in the domain."""
    labels: Labels
    """Label by node number; None if a null stays null."""


@dataclass(frozen=True)
class Hierarchy:
    """Values as text (null is None) and their labels; every value has the same number of levels."""

    column: str
    rows: Mapping[str | None, Labels] = field(repr=False)
    beyond: Mapping[str | None, Labels] = field(default_factory=dict, repr=False)
    """The labels of values that are not leaves.

    Nobody in the data has these values, so they do not count in the information loss. A prior may
    contain them.
    """
    rule: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """The keys that label values without a row, independent of any file.

    None if only the rows define labels.
    """

    def __post_init__(self) -> None:
        if not self.rows:
            raise BadInput(f"the hierarchy of {self.column!r} is empty")
        widths = Counter(len(labels) for labels in self.rows.values())
        if len(widths) > 1:
            usual_width = widths.most_common(1)[0][0]
            odd_value = next(
                value for value, labels in self.rows.items() if len(labels) != usual_width
            )
            raise BadInput(
                f"the hierarchy of {self.column!r} has rows of "
                f"{', '.join(map(str, sorted(widths)))} levels: "
                f"{quoted(odd_value)} has {len(self.rows[odd_value])}, most have {usual_width}",
                hint="Give every row the same number, repeating a label where a value has no "
                "finer one",
            )
        misplaced_value = next(
            (value for value, labels in self.rows.items() if labels[:1] != (value,)), None
        )
        if misplaced_value is not None:
            raise BadInput(
                f"level 0 of {misplaced_value!r} in the hierarchy of {self.column!r} is not the "
                "value itself"
            )
        for level in range(self.height):
            parent: dict[str | None, str | None] = {}
            for label, above in (labels[level : level + 2] for labels in self.rows.values()):
                existing_parent = parent.setdefault(label, above)
                if existing_parent != above:
                    raise BadInput(
                        f"the hierarchy of {self.column!r} puts {quoted(label)} of level "
                        f"{level} under "
                        f"{existing_parent!r} and under {above!r}",
                        hint="A label has one parent: rename it in one of the two places",
                    )

    @cached_property
    def height(self) -> int:
        """The number of levels above the values themselves."""
        return len(next(iter(self.rows.values()))) - 1

    @cached_property
    def null_labels(self) -> Labels:
        """The labels of null.

        They are the hierarchy's own row for null. Without one, null stays null on every level
        except a top level that suppresses everything.
        """
        if None in self.rows:
            return self.rows[None]
        suppresses = self.height > 0 and all(
            labels[-1] == SUPPRESSED for labels in self.rows.values()
        )
        return (None,) * self.height + (SUPPRESSED if suppresses else None,)

    def label_of(self, text: str | None, level: int) -> str | None:
        """Return the label of a value on a level.

        Raises LookupError if the hierarchy does not contain the value.
        """
        labels = (
            self.rows.get(text)
            or self.beyond.get(text)
            or (self.null_labels if text is None else ())
        )
        return labels[level]

    def missing(self, texts: Sequence[str | None]) -> list[str]:
        """The values without a row."""
        return [text for text in texts if text is not None and text not in self.rows]

    def labels_of(self, texts: Sequence[str | None]) -> list[Labels]:
        """The labels of each value."""
        missing = self.missing(texts)
        if missing:
            raise BadInput(
                f"the hierarchy of {self.column!r} misses {len(missing)} values: {listed(missing)}"
            )
        return [self.null_labels if text is None else self.rows[text] for text in texts]

    def level_codes(self, texts: Sequence[str | None]) -> tuple[LevelCodes, ...]:
        """Nodes of the values on each level, from 0 to the height.

        Nodes are numbered in the order of their first occurrence.
        """
        paths = self.labels_of(texts)
        return tuple(
            _number_nodes([path[level] for path in paths]) for level in range(self.height + 1)
        )

    def leaf_shares(self, level: int, texts: Sequence[str | None]) -> Floats:
        """For each value, the share of all leaves below its node on a level.

        This is the information loss of ARX when the node is published in place of the value. Leaves
        are the rows of the hierarchy, even if they do not occur in the data. A null without a row
        counts as one more leaf if it occurs.
        """
        leaves = list(self.rows.values())
        if None in texts and None not in self.rows:
            leaves.append(self.null_labels)
        leaf_counts = Counter(labels[level] for labels in leaves)
        return np.array(
            [leaf_counts[labels[level]] for labels in self.labels_of(texts)], dtype=np.float64
        ) / len(leaves)

    def nodes_below_root(self, values: Sequence[str | None]) -> tuple[Ints, ...]:
        """The node of each value on each level below the root.

        A root is added on top if the last level has several labels.
        """
        levels = tuple(level.codes for level in self.level_codes(values))
        has_root = self.height > 0 and len({labels[-1] for labels in self.rows.values()}) == 1
        if has_root:
            return levels[:-1]
        return levels


def _number_nodes(labels: Sequence[str | None]) -> LevelCodes:
    numbers: dict[str | None, int] = {}
    codes = [numbers.setdefault(label, len(numbers)) for label in labels]
    return LevelCodes(np.array(codes, dtype=np.int64), tuple(numbers))


# --- coverage -------------------------------------------------------------------------------------
# Missing values are the most frequent complaint about hierarchies in tools of this kind. The error
# therefore lists the gaps of all columns at once, each with the text that closes it.
_VALUES_SHOWN = 20
_SPELLINGS_SHOWN = 3


@dataclass(frozen=True)
class Gap:
    """The values of one column that its hierarchy lacks, and a rule that would add them."""

    column: str
    missing: tuple[str, ...]
    rule: str

    def __str__(self) -> str:
        examples = ", ".join(repr(value) for value in self.missing[:_VALUES_SHOWN])
        if len(self.missing) > _VALUES_SHOWN:
            more = f" and {len(self.missing) - _VALUES_SHOWN} more"
        else:
            more = ""
        if len(self.missing) == 1:
            noun = "value"
        else:
            noun = "values"
        return Sentence(
            f"the hierarchy of {self.column!r} misses {len(self.missing)} {noun}: "
            f"{examples}{more} ({marked(self.rule)})"
        )


def check_coverage(
    hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Iterable[Any]]
) -> None:
    """Raise an error if a column has values that its hierarchy lacks.

    Columns without a hierarchy are not checked.
    """
    gaps = find_gaps(hierarchies, values)
    if gaps:
        raise BadInput("; ".join(marked(str(gap)) for gap in gaps))


def find_gaps(
    hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Iterable[Any]]
) -> list[Gap]:
    """The gaps of all columns whose hierarchy lacks values of the data."""
    missing_values = {
        column: tuple(
            dict.fromkeys(hierarchy.missing([as_text(value) for value in values.get(column, ())]))
        )
        for column, hierarchy in hierarchies.items()
    }
    return [
        Gap(column, missing, _gap_instructions(hierarchies[column], missing))
        for column, missing in missing_values.items()
        if missing
    ]


def _gap_instructions(hierarchy: Hierarchy, missing: Sequence[str]) -> str:
    """Instructions that close the gap of the missing values."""
    values_by_plain_text = {
        _normal_form(value): value for value in hierarchy.rows if value is not None
    }
    known_spellings = {
        value: values_by_plain_text[_normal_form(value)]
        for value in missing
        if _normal_form(value) in values_by_plain_text
    }
    rest = [value for value in missing if value not in known_spellings]
    rules = [
        f"{quoted(value)} is written {spelling!r} there, write both alike"
        for value, spelling in list(known_spellings.items())[:_SPELLINGS_SHOWN]
    ]
    if rest and all(
        isinstance(plain, Fraction) for plain in (*values_by_plain_text, *map(_normal_form, rest))
    ):
        rules.append(
            f"build it for any number with [hierarchies.{toml_key(hierarchy.column)}] intervals "
            "= [5, 10, 20]"
        )
    elif rest:
        rows = [";".join((value, *[SUPPRESSED] * hierarchy.height)) for value in rest if value]
        if rows:
            row_example = [f"add a row for each, such as {outside(rows[0])}"]
        else:
            row_example = []
        rules.append(
            " or ".join((*row_example, f'put them under one label with other = "{SUPPRESSED}"'))
        )
    return Sentence("; ".join(rules))


def _normal_form(value: str) -> str | Fraction:
    """Normal form of a value, equal for values that differ only in spelling.

    Blanks at the ends, upper and lower case, and the notation of a number are ignored.
    """
    number = as_number(value.strip())
    if number is None:
        return value.strip().casefold()
    return number
