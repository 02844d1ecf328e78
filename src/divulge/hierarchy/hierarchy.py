# SPDX-License-Identifier: Apache-2.0
"""The levels of a column: each value with its ancestors, from the value itself (level 0) to the top.

A generalization maps values to coarser ones (Afifi et al. 2018, Definition 1); a hierarchy is a chain of such maps, so a label has one
parent. Whoever has a hierarchy has a good one: equal width and single parents are checked at construction. A null that the
hierarchy does not list stays null, its own category, up to the level where everything is suppressed (`*`).
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from divulge.arrays import Floats, Ints
from divulge.errors import BadInput, listed
from divulge.values import as_number, as_text, toml_key

SUPPRESSED = "*"
Labels = tuple[str | None, ...]
"""Of one value: at level 0 (the value itself), 1, ... up to the top."""


@dataclass(frozen=True, eq=False)
class LevelCodes:
    """One level over a domain: the node of each of its values, and the label of each node."""

    codes: Ints
    """Position in the domain to number of the node."""
    labels: Labels
    """Number of the node to its label; null where a null stays null."""


@dataclass(frozen=True)
class Hierarchy:
    """Values as text (null is None) and their labels; every value has the same number of levels."""

    column: str
    rows: Mapping[str | None, Labels] = field(repr=False)
    beyond: Mapping[str | None, Labels] = field(default_factory=dict, repr=False)
    """The labels of values that are no leaves: nobody in the data has them, so they count in no loss, but a prior may know them."""
    rule: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """The keys that give values beyond the rows their labels, whole without any file; None where the rows are all there is."""

    def __post_init__(self) -> None:
        if not self.rows:
            raise BadInput(f"the hierarchy of {self.column!r} is empty")
        widths = Counter(len(labels) for labels in self.rows.values())
        if len(widths) > 1:
            usual = widths.most_common(1)[0][0]
            odd = next(value for value, labels in self.rows.items() if len(labels) != usual)
            raise BadInput(
                f"the hierarchy of {self.column!r} has rows of {', '.join(map(str, sorted(widths)))} levels: "
                f"{odd!r} has {len(self.rows[odd])}, most have {usual}",
                hint="Give every row the same number, repeating a label where a value has no finer one",
            )
        moved = next((value for value, labels in self.rows.items() if labels[:1] != (value,)), None)
        if moved is not None:
            raise BadInput(f"level 0 of {moved!r} in the hierarchy of {self.column!r} is not the value itself")
        for level in range(self.height):
            parent: dict[str | None, str | None] = {}
            for label, above in (labels[level : level + 2] for labels in self.rows.values()):
                known = parent.setdefault(label, above)
                if known != above:
                    raise BadInput(
                        f"the hierarchy of {self.column!r} puts {label!r} of level {level} under {known!r} and under {above!r}",
                        hint="A label has one parent: rename it in one of the two places",
                    )

    @cached_property
    def height(self) -> int:
        """The number of levels above the values themselves."""
        return len(next(iter(self.rows.values()))) - 1

    @cached_property
    def null_labels(self) -> Labels:
        """The labels of null: as the hierarchy lists it, else null on every level but a top that suppresses everything."""
        if None in self.rows:
            return self.rows[None]
        suppresses = self.height > 0 and all(labels[-1] == SUPPRESSED for labels in self.rows.values())
        return (None,) * self.height + (SUPPRESSED if suppresses else None,)

    def label_of(self, text: str | None, level: int) -> str | None:
        """The label of any value on a level; LookupError where the hierarchy does not know the value."""
        labels = self.rows.get(text) or self.beyond.get(text) or (self.null_labels if text is None else ())
        return labels[level]

    def missing(self, texts: Sequence[str | None]) -> list[str]:
        """The values that have no row."""
        return [text for text in texts if text is not None and text not in self.rows]

    def labels_of(self, texts: Sequence[str | None]) -> list[Labels]:
        """The labels of each value."""
        missing = self.missing(texts)
        if missing:
            raise BadInput(f"the hierarchy of {self.column!r} misses {len(missing)} values: {listed(missing)}")
        return [self.null_labels if text is None else self.rows[text] for text in texts]

    def level_codes(self, texts: Sequence[str | None]) -> tuple[LevelCodes, ...]:
        """For each level, 0 to height: the node of each value; nodes are numbered as they first occur."""
        paths = self.labels_of(texts)
        return tuple(_number([path[level] for path in paths]) for level in range(self.height + 1))

    def leaf_shares(self, level: int, texts: Sequence[str | None]) -> Floats:
        """For each value, the share of all leaves that lie under its node: ARX's loss of publishing the node for the value.

        Leaves are the rows of the hierarchy as given, whether they occur in the data or not; a null that is not among them
        is one more leaf where it occurs.
        """
        leaves = list(self.rows.values())
        if None in texts and None not in self.rows:
            leaves.append(self.null_labels)
        under = Counter(labels[level] for labels in leaves)
        return np.array([under[labels[level]] for labels in self.labels_of(texts)], dtype=np.float64) / len(leaves)

    def nodes_below_root(self, values: Sequence[str | None]) -> tuple[Ints, ...]:
        """For each level below the root, the node of each value; a root is added on top where the last level is not one."""
        levels = tuple(level.codes for level in self.level_codes(values))
        has_root = self.height > 0 and len({labels[-1] for labels in self.rows.values()}) == 1
        return levels[:-1] if has_root else levels


def _number(labels: Sequence[str | None]) -> LevelCodes:
    numbers: dict[str | None, int] = {}
    codes = [numbers.setdefault(label, len(numbers)) for label in labels]
    return LevelCodes(np.array(codes, dtype=np.int64), tuple(numbers))


# --- coverage ---------------------------------------------------------------------------------------------------------
# A hierarchy that misses a value is the complaint heard most often about every tool of this kind; so all gaps of all columns are named
# at once, each with what to write where.
_SHOWN = 20
_ALIKE_SHOWN = 3


@dataclass(frozen=True)
class Gap:
    """The values of one column that its hierarchy does not have, and what would add them."""

    column: str
    missing: tuple[str, ...]
    rule: str

    def __str__(self) -> str:
        shown = ", ".join(repr(value) for value in self.missing[:_SHOWN])
        more = f" and {len(self.missing) - _SHOWN} more" if len(self.missing) > _SHOWN else ""
        noun = "value" if len(self.missing) == 1 else "values"
        return f"the hierarchy of {self.column!r} misses {len(self.missing)} {noun}: {shown}{more} ({self.rule})"


def check_coverage(hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Iterable[Any]]) -> None:
    """Refuse if a column has values that its hierarchy lacks; a column without a hierarchy is left alone."""
    gaps = find_gaps(hierarchies, values)
    if gaps:
        raise BadInput("; ".join(map(str, gaps)))


def find_gaps(hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Iterable[Any]]) -> list[Gap]:
    """Every column whose hierarchy lacks values of the data."""
    found = {
        column: tuple(dict.fromkeys(hierarchy.missing([as_text(value) for value in values.get(column, ())])))
        for column, hierarchy in hierarchies.items()
    }
    return [Gap(column, missing, _rule(hierarchies[column], missing)) for column, missing in found.items() if missing]


def _rule(hierarchy: Hierarchy, missing: Sequence[str]) -> str:
    """What to write so that nothing is missing any more."""
    known = {_plain(value): value for value in hierarchy.rows if value is not None}
    alike = {value: known[_plain(value)] for value in missing if _plain(value) in known}
    rest = [value for value in missing if value not in alike]
    rules = [
        f"{value!r} is written {there!r} there, write both alike" for value, there in list(alike.items())[:_ALIKE_SHOWN]
    ]
    if rest and all(isinstance(plain, Fraction) for plain in (*known, *map(_plain, rest))):
        rules.append(f"build it for any number with [hierarchies.{toml_key(hierarchy.column)}] intervals = [5, 10, 20]")
    elif rest:
        rows = [";".join((value, *[SUPPRESSED] * hierarchy.height)) for value in rest if value]
        add = [f"add a row for each, such as {rows[0]}"] if rows else []
        rules.append(" or ".join((*add, f'put them under one label with other = "{SUPPRESSED}"')))
    return "; ".join(rules)


def _plain(value: str) -> str | Fraction:
    """The same for values that differ only in blanks, in upper and lower case, or in how a number is written."""
    number = as_number(value.strip())
    return value.strip().casefold() if number is None else number


# --- files ------------------------------------------------------------------------------------------------------------
# Hierarchy files of ARX (`;`) and anjana (`,`), read and written.
# Both have no header, one row per value, the value first and one cell per level after it. An empty first cell is null. Values are compared
# as text. What cannot be a hierarchy is refused with the line it stands in, never repaired.
Flavour = Literal["arx", "anjana"]
DELIMITERS: Mapping[str, str] = {"arx": ";", "anjana": ","}
_MARK = "_hierarchy_"


def read_hierarchy(source: str | Path | Mapping[str, Sequence[str]], column: str) -> Hierarchy:
    """From a CSV file of either flavour, or a mapping of each value to its ancestors from the nearest to the root."""
    if isinstance(source, Mapping):
        return Hierarchy(column, {value: (value, *ancestors) for value, ancestors in source.items()})
    return parse_hierarchy(hierarchy_source(Path(source), column), column, origin=f"hierarchy file {str(source)!r}")


def hierarchy_source(path: Path, column: str) -> str:
    """The text of a hierarchy file."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise BadInput(f"there is no hierarchy file {str(path)!r} for {column!r}") from None
    except OSError as error:
        raise BadInput(f"hierarchy file {str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"hierarchy file {str(path)!r} is not UTF-8 text", hint="Save it as UTF-8") from None
    except ValueError:  # a NUL in it
        raise BadInput(f"{str(path)!r} cannot be the name of a hierarchy file") from None


def parse_hierarchy(text: str, column: str, *, origin: str, delimiter: str | None = None) -> Hierarchy:
    """The hierarchy in a text of either flavour, or of another delimiter."""
    lines: dict[str | None, int] = {}
    rows: dict[str | None, Labels] = {}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or _delimiter(text), strict=True)
    try:
        for cells in reader:
            if not cells:
                continue
            value, labels = cells[0] or None, tuple(cell or None for cell in cells)
            if value is not None and None in labels:
                raise BadInput(
                    f"{origin}, line {reader.line_num}: {value!r} has no label at level {cells.index('')}",
                    hint="Repeat the label of the level below where a value has no coarser one",
                )
            if rows.setdefault(value, labels) != labels:
                raise BadInput(
                    f"{origin} has {value!r} twice with different labels, in lines {lines[value]} and {reader.line_num}",
                    hint="Leave one of them out",
                )
            lines.setdefault(value, reader.line_num)
    except csv.Error as error:
        raise BadInput(
            f"{origin}, line {reader.line_num}: {error}", hint='Quote a cell with "; double a " inside it'
        ) from None
    if not rows:
        raise BadInput(f"{origin} is empty")
    return Hierarchy(column, rows)


def _delimiter(text: str) -> str:
    """The one that gives all rows the same number of cells, `;` first; where none does, the one that the first line has."""
    for delimiter in DELIMITERS.values():
        with contextlib.suppress(csv.Error):  # quotes that do not fit the delimiter
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            widths = {len(row) for row in rows if row}
            if len(widths) == 1 and widths != {1}:
                return delimiter
    return ";" if ";" in text.partition("\n")[0] else ","


def hierarchy_text(hierarchy: Hierarchy, *, flavour: Flavour = "arx") -> str:
    """The hierarchy as the text of a file."""
    if flavour not in DELIMITERS:
        raise BadInput(f"{flavour!r} is not a kind of hierarchy file", hint="There are: 'arx' (;) and 'anjana' (,)")
    if any("" in labels for labels in hierarchy.rows.values()):
        raise BadInput(
            f"the hierarchy of {hierarchy.column!r} has an empty text, which a file cannot tell from null",
            hint="Make it null in the data, or give it a name",
        )
    # A reader that looks for the delimiter, or for the end of the line, may take a part of a label for it: quote them all.
    marks = ";,\r" if not hierarchy.height else "\r" if flavour == "arx" else ";\r"
    rows = [["" if label is None else label for label in labels] for labels in hierarchy.rows.values()]
    misleads = any(mark in label for labels in rows for label in labels for mark in marks)
    quoting: Literal[0, 1] = csv.QUOTE_ALL if misleads else csv.QUOTE_MINIMAL
    out = io.StringIO()
    csv.writer(out, delimiter=DELIMITERS[flavour], lineterminator="\n", quoting=quoting).writerows(rows)
    return out.getvalue()


def write_hierarchy(hierarchy: Hierarchy, path: str | Path, *, flavour: Flavour = "arx") -> None:
    """Write the hierarchy to a file."""
    try:
        Path(path).write_text(hierarchy_text(hierarchy, flavour=flavour), encoding="utf-8", newline="")
    except OSError as error:
        raise BadInput(f"hierarchy file {str(path)!r} cannot be written: {error.strerror}") from None


def column_of(path: Path) -> str:
    """The column that a file's name tells: `<column>.csv` or `<anything>_hierarchy_<column>.csv`."""
    return path.stem.partition(_MARK)[2] or path.stem


def file_name(column: str) -> str:
    """The name of a column's file in a folder; a column named like a path is refused, lest it be written elsewhere."""
    if not column or any(mark in column for mark in "/\\\0"):
        raise BadInput(f"the column name {column!r} cannot be a file name", hint="Rename the column")
    return f"{column}.csv"


def load_hierarchies(folder: str | Path, *, columns: Iterable[str] | None = None) -> dict[str, Hierarchy]:
    """The hierarchies of a folder, by column: of the named columns, or all; every broken file is named at once.

    Without `columns`, a folder that has files named `*_hierarchy_<column>.csv` is read for these alone: ARX keeps the data beside them.
    """
    paths = _hierarchy_paths(Path(folder), None if columns is None else set(columns))
    hierarchies: dict[str, Hierarchy] = {}
    problems: list[str] = []
    for path in paths:
        column = column_of(path)
        rivals = [other.name for other in paths if column_of(other) == column]
        if len(rivals) > 1:
            problems.append(f"{column!r} has several hierarchies: {', '.join(rivals)}")
            continue
        try:
            hierarchies[column] = read_hierarchy(path, column)
        except BadInput as error:
            problems.append(str(error))
    if problems:
        raise BadInput("; ".join(dict.fromkeys(problems)))
    return hierarchies


def _hierarchy_paths(folder: Path, columns: Collection[str] | None) -> list[Path]:
    if not folder.is_dir():
        raise BadInput(f"there is no folder of hierarchies {str(folder)!r}")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv" and path.is_file())
    marked = [path for path in paths if _MARK in path.stem]
    found = [path for path in paths if column_of(path) in columns] if columns is not None else marked or paths
    if not found:
        raise BadInput(
            f"the folder {str(folder)!r} has no hierarchy" + (f" of {', '.join(sorted(columns))}" if columns else ""),
            hint="Name a file <column>.csv or *_hierarchy_<column>.csv",
        )
    return found
