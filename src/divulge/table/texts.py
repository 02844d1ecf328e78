# SPDX-License-Identifier: Apache-2.0
"""How a value is written as text wherever it is matched with a file of the user's: hierarchies, priors, orders, policies."""

from __future__ import annotations

import json
import re
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def as_text(label: Any) -> str | None:
    """The value's text: whole floats as integers, dates as ISO dates; null stays null.

    >>> as_text(39.0), as_text(None)
    ('39', None)
    """
    if label is None:
        return None
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def toml_key(name: str) -> str:
    """A name as a key of a TOML file.

    >>> toml_key("marital-status"), toml_key("date of birth")
    ('marital-status', '"date of birth"')
    """
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A text, number, truth value, or lists and tables of them, as a value of a TOML file.

    >>> toml_value({"order": ["A", "B"], "groups": 2})
    '{order = ["A", "B"], groups = 2}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    # What TOML escapes in a basic text, JSON escapes the same way, but for DEL, which TOML wants escaped too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
