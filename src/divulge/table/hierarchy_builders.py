# SPDX-License-Identifier: Apache-2.0
"""From what the user asks for to a hierarchy: a rule applied to the values of the data, or a file.

A rule makes levels above the values; suppression (`*`) is put on top unless `suppress = false`. A file is taken as it is. Values that
do not fit are refused, all at once, unless `other` gives them a label; null has no row and follows Hierarchy's own rule for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from divulge.errors import BadInput, InternalError, listed
from divulge.table.hierarchy import SUPPRESSED, Hierarchy, Labels
from divulge.table.hierarchy_files import hierarchy_source, read_hierarchy
from divulge.table.hierarchy_rules import COMMON, HierarchyRule, make_rule, parse_inline
from divulge.table.hierarchy_taxonomy import Taxonomy, taxonomy_of_text
from divulge.table.hierarchy_words import Scale
from divulge.table.texts import as_text

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
