# SPDX-License-Identifier: Apache-2.0
"""How a hierarchy is asked for: a small table of keys, the same in a policy file, on the command line and in Python.

    [hierarchies]
    age = {intervals = [5, 10, 20], bottom = 20, top = 90}
    income = {cuts = [[1000, 2000, 4000, 8000], [2000, 8000]]}
    zip = {prefix = true}
    birth = {dates = ["month", "year", "decade"]}
    grade = {order = ["A", "B", "C", "D"], groups = 2}
    job = {file = "job.csv", other = "*"}

One key says what kind of levels they are; others belong to that kind. An unknown key, or one of another kind, is refused: a word that
is ignored is a mistake that is not seen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from divulge.errors import BadInput, InternalError, listed, nearest
from divulge.hierarchy.builders import (
    CutRanges,
    Dates,
    EndCoding,
    Frequent,
    Prefix,
    Scale,
    Taxonomy,
    Widths,
    taxonomy_of,
    taxonomy_of_text,
)
from divulge.hierarchy.files import hierarchy_source, read_hierarchy
from divulge.hierarchy.hierarchy import SUPPRESSED, Hierarchy, Labels
from divulge.values import as_number, as_text


class HierarchyRule(Protocol):
    """What gives a value its labels."""

    @property
    def levels(self) -> int:
        """How many levels it makes above the values themselves."""

    def labels(self, text: str) -> tuple[str, ...] | None:
        """The labels of a value on these levels; None if the value does not fit."""


@dataclass(frozen=True)
class Nothing:
    """No level between the values and their suppression."""

    levels: int = 0

    def labels(self, text: str) -> tuple[str, ...] | None:  # noqa: ARG002 - as all rules
        """No labels."""
        return ()


Texts = Sequence[str]
"""The values of the data, without null."""


def make_rule(spec: Mapping[str, Any], texts: Texts) -> HierarchyRule:
    """The rule that a table of keys asks for; `texts` are the values, which prefix = true and order = true look at."""
    kinds = [key for key in spec if key in _KINDS]
    if len(kinds) > 1:
        raise BadInput(f"{' and '.join(kinds)} are two kinds of levels", hint="Give one of them")
    kind = kinds[0] if kinds else "coding" if {"bottom", "top"} & set(spec) else "nothing"
    allowed = {kind, *_COMPANIONS.get(kind, ()), *COMMON}
    for key in spec:
        if key not in allowed:
            elsewhere = [name for name, companions in _COMPANIONS.items() if key in companions]
            hint = f"{key!r} goes with {' or '.join(elsewhere)}" if elsewhere else nearest(str(key), sorted(KEYS))
            raise BadInput(f"{key!r} has no meaning here", hint=hint)
    return _MAKERS[kind](spec, texts)


def parse_inline(text: str) -> Mapping[str, Any]:
    """A table of keys as it is written on the command line: '{intervals = [5, 10], top = 90}'."""
    try:
        spec: Mapping[str, Any] = tomllib.loads(f"spec = {text}")["spec"]
    except tomllib.TOMLDecodeError as error:
        raise BadInput(
            f"the rule {text!r} is not a TOML table: {error}", hint="Such as '{intervals = [5, 10, 20]}'"
        ) from None
    return spec


def numbers_of(given: Any, key: str) -> tuple[Fraction, ...]:
    """One number or several, exactly as they are written."""
    several = given if isinstance(given, (list, tuple)) else [given]
    return tuple(_number(number, key) for number in several)


def _number(given: Any, key: str) -> Fraction:
    number = None if isinstance(given, bool) else as_number(str(given))
    if number is None:
        raise BadInput(f"{key} = {given!r} is not a number")
    return number


def _bound(spec: Mapping[str, Any], key: str) -> Fraction | None:
    return None if key not in spec else _number(spec[key], key)


def _coding(spec: Mapping[str, Any], _: Texts = ()) -> EndCoding:
    return EndCoding(_bound(spec, "bottom"), _bound(spec, "top"))


def _widths(spec: Mapping[str, Any], _: Texts) -> Widths:
    return Widths(numbers_of(spec["intervals"], "intervals"), _bound(spec, "start") or Fraction(0), _coding(spec))


def _cuts(spec: Mapping[str, Any], _: Texts) -> CutRanges:
    given = spec["cuts"]
    nested = isinstance(given, (list, tuple)) and any(isinstance(level, (list, tuple)) for level in given)
    return CutRanges(tuple(numbers_of(level, "cuts") for level in (given if nested else [given])))


def _prefix(spec: Mapping[str, Any], texts: Texts) -> Prefix:
    given = spec["prefix"]
    if given is True:
        longest = max(map(len, texts), default=1)
        return Prefix(tuple(range(longest - 1, 0, -1)) or (0,))
    lengths = given if isinstance(given, (list, tuple)) else [given]
    if not all(isinstance(length, int) and not isinstance(length, bool) for length in lengths):
        raise BadInput(f"prefix = {given!r} is neither true nor a list of lengths", hint="Such as true, or [4, 3, 2]")
    return Prefix(tuple(lengths))


def _dates(spec: Mapping[str, Any], _: Texts) -> Dates:
    given = spec["dates"]
    periods = given if isinstance(given, (list, tuple)) else [given]
    return Dates(tuple(str(period) for period in periods), spec.get("format"))


def _scale(spec: Mapping[str, Any], texts: Texts) -> Scale:
    given = spec["order"]
    if given is True:
        numbers = {text: as_number(text) for text in texts}
        numeric = all(number is not None for number in numbers.values())
        order = tuple(sorted(numbers, key=lambda text: (numbers[text] if numeric else 0, text)))
    else:
        order = _names(given, "order")
    groups = spec.get("groups", 2)
    sizes = groups if isinstance(groups, (list, tuple)) else [groups]
    if not all(isinstance(size, int) and not isinstance(size, bool) for size in sizes):
        raise BadInput(f"groups = {groups!r} is not a number of neighbours", hint="Such as 2, or [2, 4]")
    return Scale(order, tuple(sizes))


def _taxonomy(spec: Mapping[str, Any], _: Texts) -> HierarchyRule:
    given = spec["taxonomy"]
    if isinstance(given, str):
        return taxonomy_of_text(given)
    if isinstance(given, Mapping):
        return taxonomy_of(given)
    raise BadInput(f"taxonomy = {given!r} is neither a table of groups nor indented text")


def _frequent(spec: Mapping[str, Any], _: Texts) -> Frequent:
    given = spec["keep"]
    nested = isinstance(given, (list, tuple)) and any(isinstance(level, (list, tuple)) for level in given)
    levels = tuple(_names(level, "keep") for level in (given if nested else [given]))
    return Frequent(levels, str(spec["rest"])) if "rest" in spec else Frequent(levels)


def _names(given: Any, key: str) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)):
        raise BadInput(f"{key} = {given!r} is not a list of values")
    names = [as_text(value) for value in given]
    return tuple(name for name in names if name is not None)


def _nothing(_: Mapping[str, Any], __: Texts) -> Nothing:
    return Nothing()


_MAKERS: Mapping[str, Callable[[Mapping[str, Any], Texts], HierarchyRule]] = {
    "intervals": _widths,
    "cuts": _cuts,
    "prefix": _prefix,
    "dates": _dates,
    "order": _scale,
    "taxonomy": _taxonomy,
    "keep": _frequent,
    "coding": _coding,
    "nothing": _nothing,
}
_KINDS = frozenset(_MAKERS) - {"coding", "nothing"}
_COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "intervals": ("start", "bottom", "top"),
    "dates": ("format",),
    "order": ("groups",),
    "keep": ("rest",),
    "coding": ("bottom", "top"),
}
COMMON = ("other", "suppress")
"""Keys that go with every kind."""
KEYS = frozenset((*_KINDS, *COMMON, "file", "rows", *(key for keys in _COMPANIONS.values() for key in keys)))

# --- hierarchy builders -----------------------------------------------------------------------------------------------
# From what the user asks for to a hierarchy: a rule applied to the values of the data, or a file.
#
# A rule makes levels above the values; suppression (`*`) is put on top unless `suppress = false`. A file is taken as it is. Values
# that do not fit are refused, all at once, unless `other` gives them a label; null has no row and follows Hierarchy's own rule for
# it.
Spec = Mapping[str, Any] | str | Path | Hierarchy
"""A table of keys, the path of a file, a table of keys as inline TOML ('{prefix = true}'), or a hierarchy that is ready."""


def build_hierarchy(column: str, spec: Spec, values: Iterable[Any], *, folder: Path | None = None) -> Hierarchy:
    """The hierarchy of a column over the values of the data; a relative path of a file is looked up in `folder`.

    >>> build_hierarchy("age", {"intervals": [5, 10]}, [39, 40]).rows["39"]
    ('39', '[35, 40)', '[30, 40)', '*')
    """
    if isinstance(spec, Hierarchy):
        return spec
    texts = list(dict.fromkeys(text for text in map(as_text, values) if text is not None))
    keys = _keys(spec)
    try:
        if "file" in keys or "rows" in keys:
            return _from_rows(column, keys, texts, folder or Path())
        return _from_rule(column, keys, make_rule(keys, texts), texts)
    except BadInput as error:
        where = f"hierarchy of {column!r}"
        raise error if where in error.message else BadInput(f"{where}: {error.message}", hint=error.hint) from None


def build_hierarchies(
    specs: Mapping[str, Spec], values: Mapping[str, Iterable[Any]], *, folder: Path | None = None
) -> dict[str, Hierarchy]:
    """The hierarchies of several columns; what is wrong with any of them is said at once."""
    built: dict[str, Hierarchy] = {}
    problems: list[BadInput] = []
    for column, spec in specs.items():
        try:
            built[column] = build_hierarchy(column, spec, values.get(column, ()), folder=folder)
        except BadInput as error:
            problems.append(error)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise BadInput("; ".join(map(str, problems)))
    return built


def _keys(spec: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    if isinstance(spec, Mapping):
        return spec
    if isinstance(spec, str) and spec.lstrip().startswith("{"):
        return parse_inline(spec)
    return {"file": spec}


def _from_rule(column: str, keys: Mapping[str, Any], rule: HierarchyRule, texts: Sequence[str]) -> Hierarchy:
    found = {text: rule.labels(text) for text in (*_listed(rule), *texts)}
    other = as_text(keys.get("other"))
    misfits = [text for text, labels in found.items() if labels is None]
    if misfits and other is None:
        raise _misfit(column, misfits, keys)
    above = {text: (other,) * rule.levels if labels is None else labels for text, labels in found.items()}
    rows: dict[str | None, Labels] = {text: (text, *labels) for text, labels in above.items()}
    if not rows:
        rows = {None: (None,) * (rule.levels + 1)}
    suppressed = all(labels[-1] == SUPPRESSED for labels in rows.values())
    if _suppresses(keys, usual=True) and not suppressed:
        rows = {text: (*labels, SUPPRESSED) for text, labels in rows.items()}
    return Hierarchy(column, rows)


def _listed(rule: HierarchyRule) -> tuple[str, ...]:
    """The values that the rule itself names: they are leaves whether they occur in the data or not."""
    if isinstance(rule, Scale):
        return rule.order
    return rule.values if isinstance(rule, Taxonomy) else ()


def _from_rows(column: str, keys: Mapping[str, Any], texts: Sequence[str], folder: Path) -> Hierarchy:
    source = "file" if "file" in keys else "rows"
    strange = [key for key in keys if key not in (source, *COMMON)]
    if strange:
        raise BadInput(
            f"{strange[0]!r} has no meaning beside {source!r}", hint=f"Only {' and '.join(COMMON)} go with it"
        )
    if source == "file":
        path = folder / str(keys["file"])
        if path.suffix.lower() == ".txt":
            return _from_rule(column, keys, taxonomy_of_text(hierarchy_source(path, column)), texts)
        given = read_hierarchy(path, column)
    else:
        given = Hierarchy(column, _given_rows(keys["rows"]))
    rows = dict(given.rows)
    other = as_text(keys.get("other"))
    if other is not None:
        top = {labels[-1] for labels in rows.values()}
        last = top.pop() if len(top) == 1 else other
        rows |= {text: _filled(text, other, last, given.height) for text in given.missing(texts)}
    if _suppresses(keys, usual=False):
        rows = {text: (*labels, SUPPRESSED) for text, labels in rows.items()}
    return Hierarchy(column, rows)


def _filled(text: str, other: str, last: str | None, height: int) -> Labels:
    return (text, *[other] * (height - 1), last) if height else (text,)


def _given_rows(given: Any) -> dict[str | None, Labels]:
    if not isinstance(given, Mapping) or not all(isinstance(labels, (list, tuple)) for labels in given.values()):
        raise BadInput("rows must be a table of each value and the list of its ancestors, from the nearest to the root")
    return {as_text(value): (as_text(value), *map(as_text, labels)) for value, labels in given.items()}


def _suppresses(keys: Mapping[str, Any], *, usual: bool) -> bool:
    given = keys.get("suppress", usual)
    if not isinstance(given, bool):
        raise BadInput(f"suppress = {given!r} is neither true nor false")
    return given


def _misfit(column: str, misfits: Sequence[str], keys: Mapping[str, Any]) -> BadInput:
    needs = next((told for key, told in _NEEDS.items() if key in keys), None)
    if needs is None:
        raise InternalError(f"the rule {dict(keys)} refuses values and nobody knows why")
    noun = "value that is" if len(misfits) == 1 else "values that are"
    return BadInput(
        f"the hierarchy of {column!r} meets {len(misfits)} {noun} {needs}: {listed(misfits)}",
        hint=f'Correct them in the data, or put them under one label: other = "{SUPPRESSED}"',
    )


_NEEDS = {
    "intervals": "no number",
    "cuts": "no number",
    "bottom": "no number",
    "top": "no number",
    "dates": "no date",
    "order": "not in the order",
    "taxonomy": "not in the taxonomy",
    "file": "not in the taxonomy",
}
