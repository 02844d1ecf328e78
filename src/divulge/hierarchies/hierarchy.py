# SPDX-License-Identifier: Apache-2.0
"""Generalization hierarchies: each value of a column with its ancestors, level by level.

Level 0 is the value itself. A generalization maps values to more general ones (Afifi et al. 2018,
Definition 1). A hierarchy is a chain of such maps, so a label has one parent. The constructor
checks that all rows have equal width and that parents are unique. A null without a row stays null,
as its own category, up to a top level that suppresses everything (`*`).
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
                f"{odd_value!r} has {len(self.rows[odd_value])}, most have {usual_width}",
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
                        f"the hierarchy of {self.column!r} puts {label!r} of level {level} under "
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
        return (
            f"the hierarchy of {self.column!r} misses {len(self.missing)} {noun}: "
            f"{examples}{more} ({self.rule})"
        )


def check_coverage(
    hierarchies: Mapping[str, Hierarchy], values: Mapping[str, Iterable[Any]]
) -> None:
    """Raise an error if a column has values that its hierarchy lacks.

    Columns without a hierarchy are not checked.
    """
    gaps = find_gaps(hierarchies, values)
    if gaps:
        raise BadInput("; ".join(map(str, gaps)))


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
        f"{value!r} is written {spelling!r} there, write both alike"
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
            row_example = [f"add a row for each, such as {rows[0]}"]
        else:
            row_example = []
        rules.append(
            " or ".join((*row_example, f'put them under one label with other = "{SUPPRESSED}"'))
        )
    return "; ".join(rules)


def _normal_form(value: str) -> str | Fraction:
    """Normal form of a value, equal for values that differ only in spelling.

    Blanks at the ends, upper and lower case, and the notation of a number are ignored.
    """
    number = as_number(value.strip())
    if number is None:
        return value.strip().casefold()
    return number


# --- files ----------------------------------------------------------------------------------------
# Reads and writes hierarchy files of ARX (`;`) and anjana (`,`). Neither has a header. Each row
# holds one value, followed by one cell per level. An empty first cell is null. Values are compared
# as text. Invalid files raise an error that names the line; they are never repaired.
Flavour = Literal["arx", "anjana"]
DELIMITERS: Mapping[str, str] = {"arx": ";", "anjana": ","}
_NAME_MARKER = "_hierarchy_"


def read_hierarchy(source: str | Path | Mapping[str, Sequence[str]], column: str) -> Hierarchy:
    """Read a hierarchy from a CSV file of either flavor or from a mapping.

    The mapping assigns to each value its ancestors, from the nearest to the root.
    """
    if isinstance(source, Mapping):
        return Hierarchy(
            column, {value: (value, *ancestors) for value, ancestors in source.items()}
        )
    return parse_hierarchy(
        hierarchy_source(Path(source), column), column, origin=f"hierarchy file {str(source)!r}"
    )


def hierarchy_source(path: Path, column: str) -> str:
    """Read the text of a hierarchy file."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise BadInput(f"there is no hierarchy file {str(path)!r} for {column!r}") from None
    except OSError as error:
        raise BadInput(f"hierarchy file {str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(
            f"hierarchy file {str(path)!r} is not UTF-8 text", hint="Save it as UTF-8"
        ) from None
    except ValueError:  # a NUL in it
        raise BadInput(f"{str(path)!r} cannot be the name of a hierarchy file") from None


def parse_hierarchy(
    text: str, column: str, *, origin: str, delimiter: str | None = None
) -> Hierarchy:
    """Parse a hierarchy from text of either flavor, or with another delimiter."""
    lines: dict[str | None, int] = {}
    rows: dict[str | None, Labels] = {}
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter or _detect_delimiter(text), strict=True
    )
    try:
        for cells in reader:
            if not cells:
                continue
            value = cells[0] or None
            labels = tuple(cell or None for cell in cells)
            if value is not None and None in labels:
                raise BadInput(
                    f"{origin}, line {reader.line_num}: {value!r} has no label at level "
                    f"{cells.index('')}",
                    hint="Repeat the label of the level below where a value has no coarser one",
                )
            if rows.setdefault(value, labels) != labels:
                raise BadInput(
                    f"{origin} has {value!r} twice with different labels, in lines "
                    f"{lines[value]} and {reader.line_num}",
                    hint="Leave one of them out",
                )
            lines.setdefault(value, reader.line_num)
    except csv.Error as error:
        raise BadInput(
            f"{origin}, line {reader.line_num}: {error}",
            hint='Quote a cell with "; double a " inside it',
        ) from None
    if not rows:
        raise BadInput(f"{origin} is empty")
    return Hierarchy(column, rows)


def _detect_delimiter(text: str) -> str:
    """The delimiter that gives all rows the same number of cells; `;` is tried first.

    If neither fits, the delimiter of the first line is used.
    """
    for delimiter in DELIMITERS.values():
        with contextlib.suppress(csv.Error):  # quotes that do not fit the delimiter
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            widths = {len(row) for row in rows if row}
            if len(widths) == 1 and widths != {1}:
                return delimiter
    if ";" in text.partition("\n")[0]:
        return ";"
    return ","


def hierarchy_text(hierarchy: Hierarchy, *, flavour: Flavour = "arx") -> str:
    """The text of a hierarchy file."""
    if flavour not in DELIMITERS:
        raise BadInput(
            f"{flavour!r} is not a kind of hierarchy file",
            hint="There are: 'arx' (;) and 'anjana' (,)",
        )
    if any("" in labels for labels in hierarchy.rows.values()):
        raise BadInput(
            f"the hierarchy of {hierarchy.column!r} has an empty text, which a file cannot tell "
            "from null",
            hint="Make it null in the data, or give it a name",
        )
    # Some readers detect the delimiter or the line ending. They may mistake a part of a label for
    # it, so such a file quotes every cell.
    if not hierarchy.height:
        ambiguous_marks = ";,\r"
    elif flavour == "arx":
        ambiguous_marks = "\r"
    else:
        ambiguous_marks = ";\r"
    rows = [
        ["" if label is None else label for label in labels] for labels in hierarchy.rows.values()
    ]
    is_ambiguous = any(
        mark in label for labels in rows for label in labels for mark in ambiguous_marks
    )
    if is_ambiguous:
        quoting: Literal[0, 1] = csv.QUOTE_ALL
    else:
        quoting = csv.QUOTE_MINIMAL
    buffer = io.StringIO()
    csv.writer(
        buffer, delimiter=DELIMITERS[flavour], lineterminator="\n", quoting=quoting
    ).writerows(rows)
    return buffer.getvalue()


def write_hierarchy(hierarchy: Hierarchy, path: str | Path, *, flavour: Flavour = "arx") -> None:
    """Write the hierarchy to a file."""
    try:
        Path(path).write_text(
            hierarchy_text(hierarchy, flavour=flavour), encoding="utf-8", newline=""
        )
    except OSError as error:
        raise BadInput(
            f"hierarchy file {str(path)!r} cannot be written: {error.strerror}"
        ) from None


def column_of(path: Path) -> str:
    """The column in a file name.

    File names are `<column>.csv` or `<anything>_hierarchy_<column>.csv`.
    """
    return path.stem.partition(_NAME_MARKER)[2] or path.stem


def file_name(column: str) -> str:
    """The file name of a column in a folder.

    A column name that contains a path separator raises an error, so that no file is written outside
    the folder.
    """
    if not column or any(mark in column for mark in "/\\\0"):
        raise BadInput(
            f"the column name {column!r} cannot be a file name", hint="Rename the column"
        )
    return f"{column}.csv"


def load_hierarchies(
    folder: str | Path, *, columns: Iterable[str] | None = None
) -> dict[str, Hierarchy]:
    """Read the hierarchies of a folder by column, for the given columns or for all.

    The error lists every invalid file at once.

    If `columns` is not given and the folder has files named `*_hierarchy_<column>.csv`, only these
    are read, because ARX stores the data in the same folder.
    """
    paths = _hierarchy_paths(Path(folder), None if columns is None else set(columns))
    hierarchies: dict[str, Hierarchy] = {}
    problems: list[str] = []
    for path in paths:
        column = column_of(path)
        same_column_files = [other.name for other in paths if column_of(other) == column]
        if len(same_column_files) > 1:
            problems.append(f"{column!r} has several hierarchies: {', '.join(same_column_files)}")
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
    paths = sorted(
        path for path in folder.iterdir() if path.suffix.lower() == ".csv" and path.is_file()
    )
    marked_paths = [path for path in paths if _NAME_MARKER in path.stem]
    matching_paths = marked_paths or paths
    if columns is not None:
        matching_paths = [path for path in paths if column_of(path) in columns]
    if not matching_paths:
        raise BadInput(
            f"the folder {str(folder)!r} has no hierarchy"
            + (f" of {', '.join(sorted(columns))}" if columns else ""),
            hint="Name a file <column>.csv or *_hierarchy_<column>.csv",
        )
    return matching_paths
