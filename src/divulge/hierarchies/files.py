# SPDX-License-Identifier: Apache-2.0
"""Hierarchy files of ARX (`;`) and anjana (`,`), read and written.

Neither has a header. Each row holds one value, followed by one cell per level. An empty first cell
is null. Values are compared as text. Invalid files raise an error that names the line; they are
never repaired.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from divulge.arguments import outside, quoted
from divulge.errors import BadInput
from divulge.hierarchies.hierarchy import Hierarchy, Labels

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
                    f"{origin}, line {reader.line_num}: {quoted(value)} has no label at level "
                    f"{cells.index('')}",
                    hint="Repeat the label of the level below where a value has no coarser one",
                )
            if rows.setdefault(value, labels) != labels:
                raise BadInput(
                    f"{origin} has {quoted(value)} twice with different labels, in lines "
                    f"{lines[value]} and {reader.line_num}",
                    hint="Leave one of them out",
                )
            lines.setdefault(value, reader.line_num)
    except csv.Error as error:
        raise BadInput(
            f"{origin}, line {reader.line_num}: {outside(error)}",
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
