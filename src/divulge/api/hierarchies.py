# SPDX-License-Identifier: Apache-2.0
"""Hierarchies of a table's columns: build, check against the data, and convert between tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge import generalization
from divulge import hierarchies as levels
from divulge import sources as tables
from divulge.arguments import arg
from divulge.counting import Contingency, count
from divulge.errors import BadInput
from divulge.results import Result
from divulge.sources import Table, read, resolve_roles
from divulge.text import toml_value

Levels = Mapping[str, levels.Hierarchy]
"""Hierarchies by column."""


@dataclass(frozen=True, repr=False)
class Built(Result):
    """Hierarchies of some columns, with the rules from which they were built."""

    view = "columns"

    hierarchies: Levels
    suggestions: Mapping[str, levels.Suggestion]
    """Suggestions for the columns without a rule."""
    rules: Mapping[str, Any]
    """Rule of each column, explicit or suggested."""
    settings: Mapping[str, Any]
    """Settings of the source of the values."""


@dataclass(frozen=True, repr=False)
class Coverage(Result):
    """Coverage of a table's values by hierarchies."""

    view = "columns"

    hierarchies: Levels
    distinct: Mapping[str, int]
    """Number of distinct values in the data, without null."""
    gaps: tuple[levels.Gap, ...]
    settings: Mapping[str, Any]
    """Settings of the source of the values."""

    def refuse_gaps(self) -> None:
        """Raise an error that lists every missing value of every column, if there are any."""
        if self.gaps:
            raise NotCovered(self)


class NotCovered(BadInput):
    """Values of a table are missing from its hierarchies."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        super().__init__("; ".join(map(str, coverage.gaps)))

    def document(self) -> dict[str, Any]:
        """Return the error with every missing value."""
        return {**super().document(), **self.coverage.to_dict()}


def build(
    table: Any,
    columns: Sequence[str],
    *,
    specs: Mapping[str, levels.Spec] | None = None,
    folder: Path | None = None,
) -> Built:
    """Build the hierarchies of some columns.

    A column without a rule gets the default for its values.
    """
    source = read(table)
    explicit_specs = specs or {}
    contingencies = _count_columns(source, columns)
    suggestions = {
        name: generalization.suggest(contingencies[name])[0]
        for name in columns
        if name not in explicit_specs
    }
    chosen = {
        name: suggestions[name].spec if name in suggestions else explicit_specs[name]
        for name in columns
    }
    values = {name: contingency.keys[0].labels for name, contingency in contingencies.items()}
    built = levels.build_hierarchies(chosen, values, folder=folder)
    return Built(built, suggestions, chosen, _settings(source), frame=source.frame)


def cover(table: Any, hierarchies: Levels) -> Coverage:
    """Check hierarchies against the columns they belong to."""
    source = read(table)
    contingencies = _count_columns(source, list(hierarchies))
    values = {name: contingency.keys[0].labels for name, contingency in contingencies.items()}
    distinct = {name: sum(value is not None for value in labels) for name, labels in values.items()}
    gaps = tuple(levels.find_gaps(hierarchies, values))
    return Coverage(dict(hierarchies), distinct, gaps, _settings(source), frame=source.frame)


def load_any(source: str | Path) -> dict[str, levels.Hierarchy]:
    """Load the hierarchies of a file, a folder or an ARX project, by column."""
    path = Path(source)
    if path.suffix.lower() == ".deid":
        return dict(tables.read_project(path).hierarchies)
    if path.is_dir():
        return levels.load_hierarchies(path)
    return {levels.column_of(path): levels.read_hierarchy(path, levels.column_of(path))}


def load_for(
    table: Table, folder: Path | None, files: Mapping[str, str]
) -> dict[str, levels.Hierarchy]:
    """Load the hierarchies of a table's columns from a folder and from single files.

    A file of one column takes precedence over the folder's.
    """
    for name in files:
        table.column(name)
    hierarchies = {name: levels.read_hierarchy(Path(path), name) for name, path in files.items()}
    if folder is not None:
        hierarchies |= levels.load_hierarchies(
            folder, columns=[name for name in table.names if name not in files]
        )
    if not hierarchies:
        raise BadInput(
            "no hierarchy was named",
            hint=f"Give a folder with {arg('hierarchies')}, or files with {arg('hierarchy')}",
        )
    return hierarchies


def _settings(source: Table) -> dict[str, Any]:
    """Settings on which levels depend in addition to their rules.

    Rules receive each distinct value once as text, and null as a value of its own.
    """
    return {"engine": source.engine.name, **source.reading_settings, "nulls": "category"}


def _count_columns(source: Table, columns: Sequence[str]) -> dict[str, Contingency]:
    return {
        name: count(source, resolve_roles(source, quasi_identifiers=[name])) for name in columns
    }


def convert(
    source: str | Path,
    target: str | Path,
    *,
    to: levels.Flavour = "arx",
    force: bool = False,
    encoding: str = "utf-8",
) -> list[Path]:
    """Convert a hierarchy file, a folder of them, or an ARX project; return the written paths.

    A project becomes a folder: `hierarchies/<column>.csv`, `data.csv` and `divulge.toml` with the
    roles.
    """
    origin = Path(source)
    goal = Path(target)
    if origin.suffix.lower() == ".deid":
        return _write_project(
            tables.read_project(origin, encoding=encoding), goal, to=to, force=force
        )
    return write_to(load_any(origin), goal, to=to, force=force, many=origin.is_dir())


def write_to(
    hierarchies: Levels, target: Path, *, to: levels.Flavour, force: bool, many: bool = False
) -> list[Path]:
    """Write one hierarchy to a .csv file, or each to `<column>.csv` in a folder.

    Raises:
        BadInput: A file exists and `force` is false; nothing is written.
    """
    many = many or len(hierarchies) > 1 or target.suffix.lower() != ".csv" or target.is_dir()
    paths = {name: target / levels.file_name(name) if many else target for name in hierarchies}
    _reject_existing(paths.values(), force=force)
    if many:
        folder = target
    else:
        folder = target.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"the folder {str(folder)!r} cannot be made: {error.strerror}") from None
    for name, path in paths.items():
        levels.write_hierarchy(hierarchies[name], path, flavour=to)
    return list(paths.values())


def _write_project(
    project: tables.ArxProject, folder: Path, *, to: levels.Flavour, force: bool
) -> list[Path]:
    data = folder / "data.csv"
    policy = folder / "divulge.toml"
    _reject_existing([data, policy], force=force)
    written = write_to(project.hierarchies, folder / "hierarchies", to=to, force=force, many=True)
    project.extract(data)
    roles = [f"{role} = {toml_value(list(names))}\n" for role, names in project.roles.items()]
    policy.write_text("".join(roles), encoding="utf-8")
    return [*written, data, policy]


def _reject_existing(paths: Iterable[Path], *, force: bool) -> None:
    existing = [str(path) for path in paths if path.exists()]
    if existing and not force:
        raise BadInput(
            f"{', '.join(existing)} exists already",
            hint=f"Choose another place, or overwrite it with {arg('force', value=True)}",
        )
