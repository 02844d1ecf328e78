# SPDX-License-Identifier: Apache-2.0
"""Hierarchies of a table's columns: build them (by a rule or by default), hold them against the data, move them between tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from divulge import hierarchy as levels
from divulge import table as tables
from divulge.count import Contingency, count
from divulge.errors import BadInput
from divulge.results import Result
from divulge.table import Table, read, resolve_roles
from divulge.values import toml_value

Levels = Mapping[str, levels.Hierarchy]
"""By column."""


@dataclass(frozen=True, repr=False)
class Built(Result):
    """The hierarchies of some columns, with what they were built from."""

    view = "columns"

    hierarchies: Levels
    suggestions: Mapping[str, levels.Suggestion]
    """For the columns that no rule was given for."""
    rules: Mapping[str, Any]
    """What each column was asked to become."""
    settings: Mapping[str, Any]
    """Where the values came from."""


@dataclass(frozen=True, repr=False)
class Coverage(Result):
    """How hierarchies fit a table."""

    view = "columns"

    hierarchies: Levels
    distinct: Mapping[str, int]
    """How many values the data has, null not counted."""
    gaps: tuple[levels.Gap, ...]
    settings: Mapping[str, Any]
    """Where the values came from."""

    def refuse_gaps(self) -> None:
        """Raise, naming every missing value of every column, if there is one."""
        if self.gaps:
            raise NotCovered(self)


class NotCovered(BadInput):
    """Values of a table have no place in its hierarchies."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        super().__init__("; ".join(map(str, coverage.gaps)))

    def document(self) -> dict[str, Any]:
        """With every missing value."""
        return {**super().document(), **self.coverage.to_dict()}


def build(
    table: Any, columns: Sequence[str], *, specs: Mapping[str, levels.Spec] | None = None, folder: Path | None = None
) -> Built:
    """Build the hierarchies of some columns; a column without a rule gets the default for its values."""
    source, given = read(table), specs or {}
    counted = _count_each(source, columns)
    suggestions = {name: suggest(counted[name])[0] for name in columns if name not in given}
    chosen = {name: suggestions[name].spec if name in suggestions else given[name] for name in columns}
    values = {name: contingency.keys[0].labels for name, contingency in counted.items()}
    built = levels.build_hierarchies(chosen, values, folder=folder)
    return Built(built, suggestions, chosen, _settings(source), frame=source.frame)


def suggest(contingency: Contingency, columns: Sequence[str] | None = None) -> tuple[levels.Suggestion, ...]:
    """The default rule of each counted column, or of those named."""
    return tuple(
        levels.suggest_hierarchy(
            key.name,
            key.labels,
            np.bincount(codes, weights=contingency.sizes, minlength=len(key)).astype(np.int64).tolist(),
        )
        for key, codes in zip(contingency.keys, contingency.codes, strict=True)
        if columns is None or key.name in columns
    )


def cover(table: Any, hierarchies: Levels) -> Coverage:
    """Hold hierarchies against the columns they are of."""
    source = read(table)
    counted = _count_each(source, list(hierarchies))
    values = {name: contingency.keys[0].labels for name, contingency in counted.items()}
    distinct = {name: sum(value is not None for value in labels) for name, labels in values.items()}
    gaps = tuple(levels.find_gaps(hierarchies, values))
    return Coverage(dict(hierarchies), distinct, gaps, _settings(source), frame=source.frame)


def load_any(source: str | Path) -> dict[str, levels.Hierarchy]:
    """The hierarchies of a file, a folder or an ARX project, by column."""
    path = Path(source)
    if path.suffix.lower() == ".deid":
        return dict(tables.read_project(path).hierarchies)
    if path.is_dir():
        return levels.load_hierarchies(path)
    return {levels.column_of(path): levels.read_hierarchy(path, levels.column_of(path))}


def load_for(table: Table, folder: Path | None, files: Mapping[str, str]) -> dict[str, levels.Hierarchy]:
    """The hierarchies of a table's columns, from a folder and one by one; a file of one column goes before the folder's."""
    for name in files:
        table.column(name)
    found = {name: levels.read_hierarchy(Path(path), name) for name, path in files.items()}
    if folder is not None:
        found |= levels.load_hierarchies(folder, columns=[name for name in table.names if name not in files])
    if not found:
        raise BadInput("no hierarchy was named", hint="Give a folder with hierarchies=, or files with hierarchy=")
    return found


def _settings(source: Table) -> dict[str, Any]:
    """Everything that levels depend on beside their rules: rules see each value once, as text, and null beside them."""
    return {"engine": source.engine.name, **source.told, "nulls": "category"}


def _count_each(source: Table, columns: Sequence[str]) -> dict[str, Contingency]:
    return {name: count(source, resolve_roles(source, quasi_identifiers=[name])) for name in columns}


def convert(
    source: str | Path, target: str | Path, *, to: levels.Flavour = "arx", force: bool = False, encoding: str = "utf-8"
) -> list[Path]:
    """Rewrite a hierarchy file, a folder of them, or an ARX project; returns what was written.

    A project becomes a folder: `hierarchies/<column>.csv`, `data.csv` and `divulge.toml` with the roles.
    """
    origin, goal = Path(source), Path(target)
    if origin.suffix.lower() == ".deid":
        return _unpack(tables.read_project(origin, encoding=encoding), goal, to=to, force=force)
    return write_to(load_any(origin), goal, to=to, force=force, many=origin.is_dir())


def write_to(hierarchies: Levels, target: Path, *, to: levels.Flavour, force: bool, many: bool = False) -> list[Path]:
    """Write one hierarchy to a .csv file, or each to `<column>.csv` in a folder; nothing if a file is there, unless forced."""
    many = many or len(hierarchies) > 1 or target.suffix.lower() != ".csv" or target.is_dir()
    paths = {name: target / levels.file_name(name) if many else target for name in hierarchies}
    _refuse_existing(paths.values(), force=force)
    folder = target if many else target.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"the folder {str(folder)!r} cannot be made: {error.strerror}") from None
    for name, path in paths.items():
        levels.write_hierarchy(hierarchies[name], path, flavour=to)
    return list(paths.values())


def _unpack(project: tables.ArxProject, folder: Path, *, to: levels.Flavour, force: bool) -> list[Path]:
    data, policy = folder / "data.csv", folder / "divulge.toml"
    _refuse_existing([data, policy], force=force)
    written = write_to(project.hierarchies, folder / "hierarchies", to=to, force=force, many=True)
    project.extract(data)
    roles = [f"{role} = {toml_value(list(names))}\n" for role, names in project.roles.items()]
    policy.write_text("".join(roles), encoding="utf-8")
    return [*written, data, policy]


def _refuse_existing(paths: Iterable[Path], *, force: bool) -> None:
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise BadInput(
            f"{', '.join(there)} exists already", hint="Choose another place, or overwrite it with force=True"
        )
