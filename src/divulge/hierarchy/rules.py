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

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from numbers import Number
from pathlib import Path
from typing import Any

from divulge import values
from divulge.errors import BadInput, listed, nearest
from divulge.hierarchy import builders
from divulge.hierarchy.builders import PERIODS, HierarchyRule, Keys, Texts, parse_date
from divulge.hierarchy.hierarchy import SUPPRESSED, Hierarchy, Labels, hierarchy_source, read_hierarchy
from divulge.values import as_number, as_text, number_text, toml_key, toml_value

_MAKERS: Mapping[str, Callable[[Keys, Texts], HierarchyRule]] = {
    "intervals": builders.widths,
    "cuts": builders.cut_ranges,
    "prefix": builders.prefix,
    "dates": builders.dates,
    "order": builders.scale,
    "taxonomy": builders.taxonomy,
    "keep": builders.frequent,
    "coding": builders.coding,
    "nothing": lambda _, __: HierarchyRule(0, lambda _: ()),
}
_KINDS = frozenset(_MAKERS) - {"coding", "nothing"}
_COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "intervals": ("start", "bottom", "top"),
    "dates": ("format",),
    "order": ("groups",),
    "keep": ("rest",),
    "coding": ("bottom", "top"),
}
_COMMON = ("other", "suppress")
"""Keys that go with every kind."""
_ALL = frozenset((*_KINDS, *_COMMON, "file", "rows", *(key for keys in _COMPANIONS.values() for key in keys)))
_NEEDS = {
    **dict.fromkeys(("intervals", "cuts", "bottom", "top"), "no number"),
    "dates": "no date",
    "order": "not in the order",
    **dict.fromkeys(("taxonomy", "file"), "not in the taxonomy"),
}
"""What is wrong with a value that a rule refuses; rules of other keys refuse none."""

_SHOWN = 200
"""Characters of a rule that a message repeats."""
_SUCH_AS = "Such as '{intervals = [5, 10, 20]}'"

# A rule makes levels above the values; suppression (`*`) is put on top unless `suppress = false`. A file is taken as it is. Values
# that do not fit are refused, all at once, unless `other` gives them a label; null has no row and follows Hierarchy's own rule for
# it.
Spec = Keys | str | Path | Hierarchy
"""A table of keys, the path of a file, a table of keys as inline TOML ('{prefix = true}'), or a hierarchy that is ready."""


def build_hierarchy(
    column: str, spec: Spec, values: Iterable[Any], *, folder: Path | None = None, beyond: Iterable[str | None] = ()
) -> Hierarchy:
    """The hierarchy of a column over the values of the data; a relative path of a file is looked up in `folder`.

    `beyond` are values that the data does not have: they get their labels where the rule, as the data made it, has some for them.

    >>> build_hierarchy("age", {"intervals": [5, 10]}, [39, 40]).rows["39"]
    ('39', '[35, 40)', '[30, 40)', '*')
    >>> build_hierarchy("age", {"intervals": [5]}, [39, 40], beyond=["77", "old"]).beyond
    {'77': ('77', '[75, 80)', '*')}
    """
    if isinstance(spec, Hierarchy):
        return spec
    texts = list(dict.fromkeys(text for text in map(as_text, values) if text is not None))
    if isinstance(spec, str) and spec.lstrip().startswith("{"):
        spec = parse_inline(spec)
    keys = spec if isinstance(spec, Mapping) else {"file": spec}
    try:
        if "file" in keys or "rows" in keys:
            return _from_rows(column, keys, texts, folder or Path(), beyond)
        return _from_rule(column, keys, _make_rule(keys, texts), texts, beyond)
    except BadInput as error:
        where = f"hierarchy of {column!r}"
        raise error if where in error.message else BadInput(f"{where}: {error.message}", hint=error.hint) from None


def build_hierarchies(
    specs: Mapping[str, Spec],
    values: Mapping[str, Iterable[Any]],
    *,
    folder: Path | None = None,
    beyond: Mapping[str, Iterable[str | None]] | None = None,
) -> dict[str, Hierarchy]:
    """The hierarchies of several columns; what is wrong with any of them is said at once."""
    also = beyond or {}
    built: dict[str, Hierarchy] = {}
    problems: list[BadInput] = []
    for column, spec in specs.items():
        try:
            values_of = values.get(column, ())
            built[column] = build_hierarchy(column, spec, values_of, folder=folder, beyond=also.get(column, ()))
        except BadInput as error:
            problems.append(error)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise BadInput("; ".join(map(str, problems)))
    return built


def parse_inline(text: str) -> Keys:
    """A table of keys as it is written on the command line: '{intervals = [5, 10], top = 90}'."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    try:
        document = values.parse_toml(f"spec = {text}")
    except ValueError as error:
        raise BadInput(f"the rule {shown!r} is not a TOML table: {error}", hint=_SUCH_AS) from None
    if set(document) != {"spec"}:  # a line break, and more keys after it
        raise BadInput(f"the rule {shown!r} is more than one TOML table", hint=_SUCH_AS)
    keys: Keys = document["spec"]
    return keys


def _make_rule(keys: Keys, texts: Texts) -> HierarchyRule:
    kinds = [key for key in keys if key in _KINDS]
    if len(kinds) > 1:
        raise BadInput(f"{' and '.join(kinds)} are two kinds of levels", hint="Give one of them")
    kind = kinds[0] if kinds else "coding" if {"bottom", "top"} & set(keys) else "nothing"
    allowed = {*kinds, *_COMPANIONS.get(kind, ()), *_COMMON}
    for key in keys:
        if key not in allowed:
            elsewhere = [name for name, companions in _COMPANIONS.items() if key in companions]
            hint = f"{key!r} goes with {' or '.join(elsewhere)}" if elsewhere else nearest(str(key), sorted(_ALL))
            raise BadInput(f"{key!r} has no meaning here", hint=hint)
    return _MAKERS[kind](keys, texts)


def _from_rule(column: str, keys: Keys, rule: HierarchyRule, texts: Texts, beyond: Iterable[str | None]) -> Hierarchy:
    other = as_text(keys.get("other"))

    def labelled(values: Iterable[str | None]) -> dict[str | None, Labels | None]:
        found = {text: rule.labels(text) for text in values if text is not None}
        rest = None if other is None else (other,) * rule.levels
        return {text: rest if labels is None else labels for text, labels in found.items()}

    found = labelled((*rule.leaves, *texts))
    if misfits := [str(text) for text, labels in found.items() if labels is None]:
        raise _misfit(column, misfits, keys)
    rows = _with_values(found) or {None: (None,) * (rule.levels + 1)}
    further = _with_values(labelled(text for text in beyond if text not in rows))
    suppressed = all(labels[-1] == SUPPRESSED for labels in rows.values())
    if _suppresses(keys, usual=True) and not suppressed:
        rows, further = _under_one(rows), _under_one(further)
    return Hierarchy(column, rows, further, keys)


def _with_values(found: Mapping[str | None, Labels | None]) -> dict[str | None, Labels]:
    """Each value before its labels; those that have none are left out."""
    return {text: (text, *labels) for text, labels in found.items() if labels is not None}


def _under_one(rows: Mapping[str | None, Labels]) -> dict[str | None, Labels]:
    return {text: (*labels, SUPPRESSED) for text, labels in rows.items()}


def _from_rows(column: str, keys: Keys, texts: Texts, folder: Path, beyond: Iterable[str | None]) -> Hierarchy:
    source = "file" if "file" in keys else "rows"
    strange = [key for key in keys if key not in (source, *_COMMON)]
    if strange:
        hint = f"Only {' and '.join(_COMMON)} go with it"
        raise BadInput(f"{strange[0]!r} has no meaning beside {source!r}", hint=hint)
    if source == "file":
        path = folder / str(keys["file"])
        if path.suffix.lower() == ".txt":
            tree = {"taxonomy": hierarchy_source(path, column)}
            common = {key: keys[key] for key in _COMMON if key in keys}
            return _from_rule(column, {**tree, **common}, builders.taxonomy(tree, texts), texts, beyond)
        given = read_hierarchy(path, column)
    else:
        given = Hierarchy(column, _given_rows(keys["rows"]))
    rows, further = dict(given.rows), dict[str | None, Labels]()
    other, rule = as_text(keys.get("other")), None
    if other is not None:
        above: list[str | None] = [other] * given.height
        top = {labels[-1] for labels in rows.values()}
        if given.height and len(top) == 1:
            above[-1] = top.pop()
        rows |= {text: (text, *above) for text in given.missing(texts)}
        further = {text: (text, *above) for text in given.missing(list(beyond)) if text not in rows}
        listed = {text: labels[1:] for text, labels in given.rows.items() if text is not None}
        rule = {"rows": listed, **{key: keys[key] for key in _COMMON if key in keys}}
    if _suppresses(keys, usual=False):
        rows, further = _under_one(rows), _under_one(further)
    return Hierarchy(column, rows, further, rule)


def _given_rows(given: Any) -> dict[str | None, Labels]:
    if not isinstance(given, Mapping) or not all(isinstance(labels, (list, tuple)) for labels in given.values()):
        raise BadInput("rows must be a table of each value and the list of its ancestors, from the nearest to the root")
    return {as_text(value): (as_text(value), *map(as_text, labels)) for value, labels in given.items()}


def _suppresses(keys: Keys, *, usual: bool) -> bool:
    given = keys.get("suppress", usual)
    if not isinstance(given, bool):
        raise BadInput(f"suppress = {given!r} is neither true nor false")
    return given


def _misfit(column: str, misfits: Sequence[str], keys: Keys) -> BadInput:
    needs = next(told for key, told in _NEEDS.items() if key in keys)
    noun = "value that is" if len(misfits) == 1 else "values that are"
    return BadInput(
        f"the hierarchy of {column!r} meets {len(misfits)} {noun} {needs}: {listed(misfits)}",
        hint=f'Correct them in the data, or put them under one label: other = "{SUPPRESSED}"',
    )


# --- defaults ---------------------------------------------------------------------------------------------------------
# A hierarchy when none is given: a rule chosen from the values, with its reason, to be shown before it is used.
# What comes back is the same table of keys that a user would write, so it can be read, copied into a policy and changed. Numbers get
# ranges, codes their prefixes, dates their periods, categories their most frequent values; a few values get nothing but suppression.
_FEW = 3
"""So many values or fewer are not worth a level between themselves and suppression."""
_RANGES = 20
"""About how many ranges the finest level has."""
_LONGEST_CODE = 12
_CODE = re.compile(r"[A-Za-z]{0,3}[0-9][A-Za-z0-9.\- ]*")
_POSTAL = re.compile(r"zip|postal|postcode|plz|postleitzahl", re.IGNORECASE)
_SHARES_KEPT = (0.95, 0.6)
"""Of all people, how many belong to the categories that keep their name, on each level."""


@dataclass(frozen=True)
class Suggestion:
    """A rule for one column, and why."""

    column: str
    spec: Mapping[str, Any]
    reason: str

    def toml(self) -> str:
        """As it would stand in a policy file."""
        lines = [f"{key} = {toml_value(value)}" for key, value in self.spec.items()]
        return "\n".join([f"[hierarchies.{toml_key(self.column)}]  # {self.reason}", *lines])


def suggest_hierarchy(column: str, values: Sequence[Any], counts: Sequence[int]) -> Suggestion:
    """Choose the rule of a column from its distinct values and how many people have each.

    >>> suggest_hierarchy("zip", ["47677", "47602", "47905", "47909"], [2, 1, 1, 1]).spec
    {'prefix': True}
    """
    people = {value: n for value, n in zip(values, counts, strict=True) if value is not None}
    texts = {str(as_text(value)): n for value, n in people.items()}
    if len(texts) <= _FEW:
        noun = "value" if len(texts) == 1 else "values"
        return Suggestion(column, {"suppress": True}, f"{len(texts)} {noun}: kept or suppressed")
    days = [parse_date(text) for text in texts]
    if all(day is not None for day in days) and not _are_numbers(people):
        return _of_dates(column, [day for day in days if day is not None])
    if _are_numbers(people) and not _POSTAL.search(column):
        return _of_numbers(column, texts)
    if all(_CODE.fullmatch(text) and len(text) <= _LONGEST_CODE for text in texts):
        longest = max(map(len, texts))
        return Suggestion(column, {"prefix": True}, f"codes of up to {longest} characters: hidden from the right")
    return _of_categories(column, texts)


def _are_numbers(values: Mapping[Any, int]) -> bool:
    return all(isinstance(value, Number) and not isinstance(value, bool) for value in values)


def _of_dates(column: str, days: Sequence[dt.date]) -> Suggestion:
    """The periods that join more dates than the one before, and not all of them; quarters are left to those who want them."""
    useful: list[str] = []
    groups = len(days)
    for period, write in PERIODS.items():
        joined = len({write(day) for day in days})
        if 1 < joined < groups and period != "quarter":
            useful.append(period)
            groups = joined
    spec: dict[str, Any] = {"dates": useful} if useful else {"suppress": True}
    return Suggestion(column, spec, f"dates from {min(days)} to {max(days)}")


def _of_numbers(column: str, texts: Mapping[str, int]) -> Suggestion:
    """About twenty ranges over the middle 98 % of people, then twice as wide on each level; what lies outside is coded."""
    known = sorted((number, n) for text, n in texts.items() if (number := as_number(text)) is not None)
    if not known:
        return Suggestion(column, {"suppress": True}, "no finite number")
    low, high = _quantile(known, 0.01), _quantile(known, 0.99)
    span = high - low or Fraction(1)
    whole = all(number.denominator == 1 for number, _ in known)
    narrowest = max(_round_up(span / _RANGES), Fraction(2) if whole else Fraction(0))
    widths = [narrowest]
    while widths[-1] * 4 <= span:
        widths.append(widths[-1] * 2)
    spec: dict[str, Any] = {"intervals": [_plain(width) for width in widths]}
    floor, ceiling = low // widths[-1] * widths[-1], (high // widths[-1] + 1) * widths[-1]
    if known[0][0] < floor:
        spec["bottom"] = _plain(floor)
    if known[-1][0] >= ceiling:
        spec["top"] = _plain(ceiling)
    return Suggestion(column, spec, f"numbers from {number_text(known[0][0])} to {number_text(known[-1][0])}")


def _quantile(known: Sequence[tuple[Fraction, int]], share: float) -> Fraction:
    wanted = share * sum(n for _, n in known)
    seen = accumulate(n for _, n in known)
    return next(number for (number, _), reached in zip(known, seen, strict=True) if reached >= wanted)


def _round_up(width: Fraction) -> Fraction:
    """The least of 1, 2, 5, 10, 20, 50, ... (also 0.1, 0.2, ...) that is not below."""
    digits = len(str(width.numerator)) - len(str(width.denominator))
    below = Fraction(10) ** (digits - 1)
    return next(below * factor for factor in (1, 2, 5, 10, 20, 50, 100) if below * factor >= width)


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _of_categories(column: str, texts: Mapping[str, int]) -> Suggestion:
    """The most frequent values keep their name as long as at least two others share the rest."""
    ranked = sorted(texts, key=lambda text: (-texts[text], text))
    total = sum(texts.values())
    kept: list[list[str]] = []
    for share in _SHARES_KEPT:
        needed = sum(reached < share * total for reached in accumulate(texts[text] for text in ranked)) + 1
        most = (len(kept[-1]) if kept else len(ranked) - 1) - 1
        if names := ranked[: min(needed, most)]:
            kept.append(names)
    spec: dict[str, Any] = {"keep": kept}
    if "(other)" in texts:
        spec["rest"] = "(all others)"
    return Suggestion(column, spec, f"{len(texts)} categories: the most frequent keep their name")
