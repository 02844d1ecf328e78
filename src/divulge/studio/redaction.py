# SPDX-License-Identifier: Apache-2.0
"""Redaction of the command, the Python code and the policy of a page whose values are hidden.

Everything that may hold a data value is replaced by an ellipsis: the argument of an option, a
string or a number in Python, a key or an entry of the policy.
"""

from __future__ import annotations

import ast
import functools
import html
import io
import re
import shlex
import tokenize
from collections.abc import Collection, Mapping
from typing import Any

from divulge import metrics
from divulge.marks import HIDDEN
from divulge.options import ROLES, all_options
from divulge.text import toml_text

_SECTIONS = ("adversary", "roles", "promises", "identity", "attributes", "protect")
"""Tables of a policy file whose keys are columns or settings."""
_NUMBER = re.compile(r"-?\d[\d./]*")


@functools.cache
def harmless_options() -> frozenset[str]:
    """Return the names of options and metrics whose values are never data values."""
    names: dict[str, bool] = {}
    for option in all_options():
        for name in (option.name, option.library_name, option.flag.lstrip("-").replace("-", "_")):
            names[name] = names.get(name, False) or option.may_hold_value
    harmless = {name for name, may_hold_value in names.items() if not may_hold_value}
    return frozenset(harmless) | {metric.name for metric in metrics.METRICS}


def _is_safe(option: str) -> bool:
    return option.removeprefix("--").replace("-", "_") in harmless_options()


def redact_command(command: str, known_names: Collection[str]) -> str:
    """Return the command lines without data values; `known_names` are columns and files.

    >>> redact_command("divulge measure t.csv --qi age --rule-out 'job=Doctor'", {"age", "t.csv"})
    'divulge measure t.csv --qi age --rule-out …'
    """
    return "\n".join(_redact_line(line, known_names) for line in command.splitlines())


def _redact_line(line: str, known_names: Collection[str]) -> str:
    words: list[str] = []
    option = ""
    for word in shlex.split(line):
        if word.startswith("--"):
            option = word
            words.append(word)
            continue
        if option:
            harmless = _is_safe(option)
        else:
            harmless = re.search(r"[\s=<>'\"]", word) is None
        if not harmless and word not in known_names:
            words.append(HIDDEN)
        else:
            words.append(word if word == "#" else shlex.quote(word))
    return " ".join(words)


def redact_python(program: str, known_names: Collection[str]) -> str:
    """Return the program without strings and numbers that may be data values.

    >>> print(
    ...     redact_python(
    ...         "dv.measure('t.csv', tries=2, rule_out={'job': ['Doctor', 7]})", {"t.csv", "job"}
    ...     )
    ... )
    dv.measure('t.csv', tries=2, rule_out={'job': ['…', …]})
    """
    names = frozenset(known_names) | harmless_options()
    lines = program.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(program).readline))
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        if token.type == tokenize.STRING:
            if ast.literal_eval(token.string) not in names:
                placeholder = f"'{HIDDEN}'"
            else:
                placeholder = token.string
        elif token.type == tokenize.NUMBER:
            if _names_a_setting(tokens[:index], names):
                placeholder = token.string
            else:
                placeholder = HIDDEN
        else:
            continue
        row, begin = token.start
        line = lines[row - 1]
        lines[row - 1] = line[:begin] + placeholder + line[token.end[1] :]
    return "".join(lines)


def _names_a_setting(before: list[tokenize.TokenInfo], names: Collection[str]) -> bool:
    """Return True if the number after these tokens is an argument, or the bound of a metric."""
    if len(before) < 2:
        return False
    name, sign = before[-2:]
    if sign.string == "=":
        return name.type == tokenize.NAME
    return (
        sign.string == ":"
        and name.type == tokenize.STRING
        and ast.literal_eval(name.string) in names
    )


def hide_phrases(text: str, phrases: Collection[str]) -> str:
    """Return the HTML text without these phrases, such as the condition of a protection.

    >>> hide_phrases("<b>k for age &gt;= 80</b>", ["age >= 80"])
    '<b>k for …</b>'
    """
    for phrase in phrases:
        for spelling in (phrase, phrase.replace(">=", "≥").replace("<=", "≤")):
            text = text.replace(html.escape(spelling), HIDDEN)
    return text


def redact_policy(document: Mapping[str, Any], known_names: Collection[str]) -> str:
    """Return the policy file without data values: roles, bounds and the names of columns stay.

    >>> print(
    ...     redact_policy(
    ...         {"promises": {"k_anonymity": 5}, "hierarchies": {"age": {"cuts": [30, 71]}}},
    ...         {"age"},
    ...     )
    ... )
    [promises]
    k_anonymity = 5
    <BLANKLINE>
    [hierarchies]
    age = "…"
    <BLANKLINE>
    """
    return toml_text(
        {name: _redact_entry(entry, name, known_names) for name, entry in document.items()}
    )


def _redact_entry(entry: Any, key: str, known_names: Collection[str]) -> Any:
    if isinstance(entry, Mapping):
        if key == "hierarchies":
            return dict.fromkeys(entry, HIDDEN)
        return {
            _redact_key(name, number, key, known_names): _redact_entry(part, name, known_names)
            for number, (name, part) in enumerate(entry.items(), start=1)
        }
    if isinstance(entry, list):
        return [_redact_entry(part, key, known_names) for part in entry]
    if isinstance(entry, bool) or key in ROLES or key == "method" or entry in known_names:
        return entry
    number = not isinstance(entry, str) or _NUMBER.fullmatch(entry) is not None
    if number and _is_safe(key):
        return entry
    return HIDDEN


def _redact_key(name: str, number: int, section: str, known_names: Collection[str]) -> str:
    """Return the name of an entry, unless it may be a data value."""
    if section in _SECTIONS or name in (*known_names, *_SECTIONS) or _is_safe(name):
        return name
    return f"{HIDDEN} {number}"
