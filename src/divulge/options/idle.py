# SPDX-License-Identifier: Apache-2.0
"""Options without effect: the reason, from the rows and the other options that are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from divulge.options.table import find_option

if TYPE_CHECKING:
    from divulge.options.row import Option


def idle_reason(option: Option, verb: str, values: Mapping[str, Any]) -> str:
    """Return the reason why an option has no effect, or "" if it has one.

    `values` are those of all options of the command, by their names.
    """
    for name in option.excluded_by:
        if _is_given(values.get(name)):
            return f"with {_spelled(name, verb)}"
    needed = [name for name in option.needs if name in values]
    if needed and not any(_is_given(values[name]) for name in needed):
        return "without " + " or ".join(_spelled(name, verb) for name in needed)
    return ""


def _is_given(value: Any) -> bool:
    return value is not None and value is not False and value not in ((), [])


def _spelled(name: str, verb: str) -> str:
    option = find_option(name, verb)
    if option is None:
        return name
    if option.positional:
        return option.placeholder or option.name
    return option.flag + option.effect
