# SPDX-License-Identifier: Apache-2.0
"""Specifications of hierarchies: tables of keys in a policy file, on the command line or in Python.

    [hierarchies]
    age = {intervals = [5, 10, 20], bottom = 20, top = 90}
    income = {cuts = [[1000, 2000, 4000, 8000], [2000, 8000]]}
    zip = {prefix = true}
    birth = {dates = ["month", "year", "decade"]}
    grade = {order = ["A", "B", "C", "D"], groups = 2}
    job = {file = "job.csv", other = "*"}

One key selects the kind of levels; other keys configure that kind. An unknown key, or a key of
another kind, raises an error, because an ignored key would hide a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from divulge.arguments import marked, outside
from divulge.errors import BadInput, listed, nearest
from divulge.hierarchies import builders
from divulge.hierarchies.builders import HierarchyRule, Keys, Texts
from divulge.hierarchies.files import hierarchy_source, read_hierarchy
from divulge.hierarchies.hierarchy import SUPPRESSED, Hierarchy, Labels
from divulge.text import as_text, parse_toml

_RULE_BUILDERS: Mapping[str, Callable[[Keys, Texts], HierarchyRule]] = {
    "intervals": builders.interval_rule,
    "cuts": builders.cut_point_rule,
    "prefix": builders.prefix_rule,
    "dates": builders.date_rule,
    "order": builders.order_rule,
    "taxonomy": builders.taxonomy_rule,
    "keep": builders.frequent_value_rule,
    "coding": builders.coding_rule,
    "nothing": lambda _, __: HierarchyRule(0, lambda _: ()),
}
_KIND_KEYS = frozenset(_RULE_BUILDERS) - {"coding", "nothing"}
_KEYS_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "intervals": ("start", "bottom", "top"),
    "dates": ("format",),
    "order": ("groups",),
    "keep": ("rest",),
    "coding": ("bottom", "top"),
}
_COMMON_KEYS = ("other", "suppress")
"""Keys that are allowed with every kind."""
_ALL_KEYS = frozenset(
    (
        *_KIND_KEYS,
        *_COMMON_KEYS,
        "file",
        "rows",
        *(key for keys in _KEYS_BY_KIND.values() for key in keys),
    )
)
_REJECTION_REASONS = {
    **dict.fromkeys(("intervals", "cuts", "bottom", "top"), "no number"),
    "dates": "no date",
    "order": "not in the order",
    **dict.fromkeys(("taxonomy", "file"), "not in the taxonomy"),
}
"""The reason why a rule rejects a value, by key; rules of other keys reject no value."""

_EXCERPT_LENGTH = 200
"""The number of characters of a rule that a message quotes."""
_EXAMPLE_HINT = "Such as '{intervals = [5, 10, 20]}'"

# A rule defines levels above the values. Suppression (`*`) is added on top unless `suppress =
# false`. A file is used as it is. Values that no rule covers raise one error, unless `other` gives
# them a label. Null has no row; `Hierarchy.null_labels` defines its labels.
Spec = Keys | str | Path | Hierarchy
"""A specification of a hierarchy.

It is a table of keys, the path of a file, a table of keys as inline TOML ('{prefix = true}'), or a
`Hierarchy`.
"""


def build_hierarchy(
    column: str,
    spec: Spec,
    values: Iterable[Any],
    *,
    folder: Path | None = None,
    beyond: Iterable[str | None] = (),
) -> Hierarchy:
    """Build the hierarchy of a column over the values of the data.

    A relative file path is resolved against `folder`.

    `beyond` are values that the data does not have. They get labels if the rule, as built from the
    data, covers them.

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
    if isinstance(spec, Mapping):
        keys = spec
    else:
        keys = {"file": spec}
    try:
        if "file" in keys or "rows" in keys:
            return _hierarchy_from_rows(column, keys, texts, folder or Path(), beyond)
        return _hierarchy_from_rule(column, keys, _make_rule(keys, texts), texts, beyond)
    except BadInput as error:
        context = f"hierarchy of {column!r}"
        if context in error.message:
            raise error from None
        raise BadInput(f"{context}: {error.message.marked}", hint=error.hint) from None


def build_hierarchies(
    specs: Mapping[str, Spec],
    values: Mapping[str, Iterable[Any]],
    *,
    folder: Path | None = None,
    beyond: Mapping[str, Iterable[str | None]] | None = None,
) -> dict[str, Hierarchy]:
    """Build the hierarchies of several columns; one error reports all problems."""
    extra_values = beyond or {}
    hierarchies: dict[str, Hierarchy] = {}
    problems: list[BadInput] = []
    for column, spec in specs.items():
        try:
            column_values = values.get(column, ())
            hierarchies[column] = build_hierarchy(
                column, spec, column_values, folder=folder, beyond=extra_values.get(column, ())
            )
        except BadInput as error:
            problems.append(error)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        texts = [
            ". ".join(filter(None, (marked(error.message), marked(error.hint))))
            for error in problems
        ]
        raise BadInput("; ".join(texts))
    return hierarchies


def parse_inline(text: str) -> Keys:
    """Parse a specification from the command line: '{intervals = [5, 10], top = 90}'."""
    if len(text) <= _EXCERPT_LENGTH:
        excerpt = text
    else:
        excerpt = f"{text[:_EXCERPT_LENGTH]}..."
    try:
        document = parse_toml(f"spec = {text}")
    except ValueError as error:
        raise BadInput(
            f"the rule {excerpt!r} is not a TOML table: {outside(error)}", hint=_EXAMPLE_HINT
        ) from None
    if set(document) != {"spec"}:  # a line break, and more keys after it
        raise BadInput(f"the rule {excerpt!r} is more than one TOML table", hint=_EXAMPLE_HINT)
    keys: Keys = document["spec"]
    return keys


def _make_rule(keys: Keys, texts: Texts) -> HierarchyRule:
    kinds = [key for key in keys if key in _KIND_KEYS]
    if len(kinds) > 1:
        raise BadInput(f"{' and '.join(kinds)} are two kinds of levels", hint="Give one of them")
    if kinds:
        kind = kinds[0]
    elif {"bottom", "top"} & set(keys):
        kind = "coding"
    else:
        kind = "nothing"
    allowed_keys = {*kinds, *_KEYS_BY_KIND.get(kind, ()), *_COMMON_KEYS}
    for key in keys:
        if key not in allowed_keys:
            matching_kinds = [
                name for name, companions in _KEYS_BY_KIND.items() if key in companions
            ]
            if matching_kinds:
                hint = f"{key!r} goes with {' or '.join(matching_kinds)}"
            else:
                hint = nearest(str(key), sorted(_ALL_KEYS))
            raise BadInput(f"{key!r} has no meaning here", hint=hint)
    return _RULE_BUILDERS[kind](keys, texts)


def _hierarchy_from_rule(
    column: str, keys: Keys, rule: HierarchyRule, texts: Texts, beyond: Iterable[str | None]
) -> Hierarchy:
    other = as_text(keys.get("other"))

    def label_texts(values: Iterable[str | None]) -> dict[str | None, Labels | None]:
        labels_by_value = {text: rule.labels(text) for text in values if text is not None}
        if other is None:
            other_labels = None
        else:
            other_labels = (other,) * rule.levels
        return {
            text: other_labels if labels is None else labels
            for text, labels in labels_by_value.items()
        }

    labels_by_value = label_texts((*rule.leaves, *texts))
    if misfits := [str(text) for text, labels in labels_by_value.items() if labels is None]:
        raise _misfit_error(column, misfits, keys)
    rows = _prepend_values(labels_by_value) or {None: (None,) * (rule.levels + 1)}
    rows_beyond = _prepend_values(label_texts(text for text in beyond if text not in rows))
    is_suppressed = all(labels[-1] == SUPPRESSED for labels in rows.values())
    if _adds_suppression(keys, default=True) and not is_suppressed:
        rows, rows_beyond = _add_suppression(rows), _add_suppression(rows_beyond)
    return Hierarchy(column, rows, rows_beyond, keys)


def _prepend_values(
    labels_by_value: Mapping[str | None, Labels | None],
) -> dict[str | None, Labels]:
    """Put each value in front of its labels; values without labels are dropped."""
    return {text: (text, *labels) for text, labels in labels_by_value.items() if labels is not None}


def _add_suppression(rows: Mapping[str | None, Labels]) -> dict[str | None, Labels]:
    return {text: (*labels, SUPPRESSED) for text, labels in rows.items()}


def _hierarchy_from_rows(
    column: str, keys: Keys, texts: Texts, folder: Path, beyond: Iterable[str | None]
) -> Hierarchy:
    if "file" in keys:
        source = "file"
    else:
        source = "rows"
    unknown_keys = [key for key in keys if key not in (source, *_COMMON_KEYS)]
    if unknown_keys:
        hint = f"Only {' and '.join(_COMMON_KEYS)} go with it"
        raise BadInput(f"{unknown_keys[0]!r} has no meaning beside {source!r}", hint=hint)
    if source == "file":
        path = folder / str(keys["file"])
        if path.suffix.lower() == ".txt":
            taxonomy_keys = {"taxonomy": hierarchy_source(path, column)}
            common_keys = {key: keys[key] for key in _COMMON_KEYS if key in keys}
            return _hierarchy_from_rule(
                column,
                {**taxonomy_keys, **common_keys},
                builders.taxonomy_rule(taxonomy_keys, texts),
                texts,
                beyond,
            )
        hierarchy = read_hierarchy(path, column)
    else:
        hierarchy = Hierarchy(column, _parse_rows(keys["rows"]))
    rows = dict(hierarchy.rows)
    rows_beyond = dict[str | None, Labels]()
    other = as_text(keys.get("other"))
    rule = None
    if other is not None:
        other_labels: list[str | None] = [other] * hierarchy.height
        top_labels = {labels[-1] for labels in rows.values()}
        if hierarchy.height and len(top_labels) == 1:
            other_labels[-1] = top_labels.pop()
        rows |= {text: (text, *other_labels) for text in hierarchy.missing(texts)}
        rows_beyond = {
            text: (text, *other_labels)
            for text in hierarchy.missing(list(beyond))
            if text not in rows
        }
        ancestors_by_value = {
            text: labels[1:] for text, labels in hierarchy.rows.items() if text is not None
        }
        rule = {
            "rows": ancestors_by_value,
            **{key: keys[key] for key in _COMMON_KEYS if key in keys},
        }
    if _adds_suppression(keys, default=False):
        rows, rows_beyond = _add_suppression(rows), _add_suppression(rows_beyond)
    return Hierarchy(column, rows, rows_beyond, rule)


def _parse_rows(raw: Any) -> dict[str | None, Labels]:
    if not isinstance(raw, Mapping) or not all(
        isinstance(labels, (list, tuple)) for labels in raw.values()
    ):
        raise BadInput(
            "rows must be a table of each value and the list of its ancestors, from the nearest "
            "to the root"
        )
    return {
        as_text(value): (as_text(value), *map(as_text, labels)) for value, labels in raw.items()
    }


def _adds_suppression(keys: Keys, *, default: bool) -> bool:
    setting = keys.get("suppress", default)
    if not isinstance(setting, bool):
        raise BadInput(f"suppress = {setting!r} is neither true nor false")
    return setting


def _misfit_error(column: str, misfits: Sequence[str], keys: Keys) -> BadInput:
    reason = next(requirement for key, requirement in _REJECTION_REASONS.items() if key in keys)
    if len(misfits) == 1:
        noun = "value that is"
    else:
        noun = "values that are"
    return BadInput(
        f"the hierarchy of {column!r} meets {len(misfits)} {noun} {reason}: {listed(misfits)}",
        hint=f'Correct them in the data, or put them under one label: other = "{SUPPRESSED}"',
    )
