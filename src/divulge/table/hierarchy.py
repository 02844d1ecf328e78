# SPDX-License-Identifier: Apache-2.0
"""The levels of a column: each value with its ancestors, from the value itself to the root.

Read from the CSV files of ARX (`;`) and anjana (`,`): no header, one row per value, one column per level.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from divulge.errors import BadInput


@dataclass(frozen=True)
class Hierarchy:
    """Values (as text) and their ancestors; every row has the same number of levels."""

    column: str
    rows: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Value to its labels at level 0 (itself), 1, ..."""

    def __post_init__(self) -> None:
        widths = {len(labels) for labels in self.rows.values()}
        if len(widths) != 1:
            raise BadInput(
                f"the hierarchy of {self.column!r} has rows of {sorted(widths)} levels",
                hint="give every row the same number",
            )
        for level in range(widths.pop() - 1):
            parent: dict[str, str] = {}
            for labels in self.rows.values():
                known = parent.setdefault(labels[level], labels[level + 1])
                if known != labels[level + 1]:
                    raise BadInput(
                        f"the hierarchy of {self.column!r} puts {labels[level]!r} under {known!r} and under {labels[level + 1]!r}",
                        hint="a label has one parent",
                    )

    def nodes_below_root(self, values: Sequence[str | None]) -> tuple[npt.NDArray[np.int64], ...]:
        """For each level below the root, the node of each value; a root is added on top where the last level is not one."""
        missing = [repr(value) for value in values if value is None or value not in self.rows]
        if missing:
            raise BadInput(f"the hierarchy of {self.column!r} misses {len(missing)} values: {', '.join(missing[:20])}")
        paths = [self.rows[value] for value in values if value is not None]
        levels = [[path[level] for path in paths] for level in range(len(paths[0]))]
        has_root = len({labels[-1] for labels in self.rows.values()}) == 1
        below = levels[:-1] if has_root and len(levels) > 1 else levels
        return tuple(np.unique(labels, return_inverse=True)[1].astype(np.int64) for labels in below)


def read_hierarchy(source: str | Path | Mapping[str, Sequence[str]], column: str) -> Hierarchy:
    """From a CSV file, or a mapping of each value to its ancestors from the nearest to the root."""
    if isinstance(source, Mapping):
        return Hierarchy(column, {value: (value, *ancestors) for value, ancestors in source.items()})
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise BadInput(f"there is no hierarchy file {str(path)!r} for {column!r}") from None
    except UnicodeDecodeError:
        raise BadInput(f"hierarchy file {str(path)!r} is not UTF-8 text") from None
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first else ","
    rows = [tuple(row) for row in csv.reader(text.splitlines(), delimiter=delimiter) if row]
    if not rows:
        raise BadInput(f"hierarchy file {str(path)!r} is empty")
    return Hierarchy(column, {row[0]: row for row in rows})
