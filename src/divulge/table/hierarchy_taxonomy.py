# SPDX-License-Identifier: Apache-2.0
"""Levels of a column from a taxonomy: a tree of names, given as a nested mapping or as indented text.

    Technical                     {"Technical": ["Tech-support", "Craft-repair"],
        Tech-support               "Other": ["Other-service"]}
        Craft-repair
    Other
        Other-service

Level by level the tree is cut one step nearer to the root. A value that sits higher than the deepest ones keeps its own
name until the cut reaches it, so branches may differ in depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from divulge.errors import BadInput
from divulge.table.texts import as_text

Path = tuple[str, ...]
"""From the outermost name down to the name itself."""


@dataclass(frozen=True)
class Taxonomy:
    """Every name of the tree with the names above it."""

    paths: Mapping[str, Path] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.paths:
            raise BadInput("the taxonomy is empty", hint="Name groups and the values in them")

    @cached_property
    def levels(self) -> int:
        """The depth of the deepest value, less one: its own name is level 0."""
        return max(len(path) for path in self.paths.values()) - 1

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The names that have none under them."""
        groups = {path[:-1] for path in self.paths.values()}
        return tuple(name for name, path in self.paths.items() if path not in groups)

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The name on the path of the value that the cut meets, on each level."""
        path = self.paths.get(text)
        if path is None:
            return None
        return tuple(path[min(len(path), depth) - 1] for depth in range(self.levels, 0, -1))


def taxonomy_of(tree: Mapping[str, Any]) -> Taxonomy:
    """From a nested mapping: a group to a list of values, or to a mapping of smaller groups."""
    return Taxonomy(_by_name(_walk(tree, ())))


def taxonomy_of_text(text: str) -> Taxonomy:
    """From lines whose indentation says what lies under what; blank lines and lines that begin with # do not count."""
    return Taxonomy(_by_name(_indented(text)))


def _walk(tree: Any, above: Path) -> Iterator[Path]:
    if isinstance(tree, Mapping):
        for name, inner in tree.items():
            yield (*above, str(name))
            yield from _walk(inner, (*above, str(name)))
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for value in tree:
            if isinstance(value, Mapping):
                yield from _walk(value, above)
            else:
                yield (*above, _name(value, above))
    elif tree is not None:
        yield (*above, _name(tree, above))


def _name(value: Any, above: Path) -> str:
    name = as_text(value)
    if name is None or isinstance(value, (list, tuple, set)):
        raise BadInput(f"the taxonomy has {value!r} under {' / '.join(above)}", hint="A value is a text or a number")
    return name


def _indented(text: str) -> Iterator[Path]:
    stack: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        indent = len(line.expandtabs(8)) - len(line.expandtabs(8).lstrip())
        deeper = [width for width, _ in stack if width < indent]
        if len(deeper) < len(stack) and stack[len(deeper)][0] != indent:
            raise BadInput(
                f"line {number} of the taxonomy, {name!r}, is indented by {indent}, like no line above it",
                hint="Give the members of a group the same indentation",
            )
        stack = [*stack[: len(deeper)], (indent, name)]
        yield tuple(outer for _, outer in stack)


def _by_name(paths: Iterable[Path]) -> dict[str, Path]:
    """Paths by their last name; a value may be named like its own group (Other in Other) but has one place."""
    found: dict[str, Path] = {}
    for path in paths:
        name = path[-1]
        if name in found and found[name] != path[:-1]:
            raise BadInput(
                f"the taxonomy has {name!r} in two places: {' / '.join(found[name])} and {' / '.join(path)}",
                hint="A name has one place: rename one of them",
            )
        found[name] = path
    return found
