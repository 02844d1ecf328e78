# SPDX-License-Identifier: Apache-2.0
"""One call of divulge, and the texts that repeat it: command, Python code and policy file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from divulge.options.row import PANELS
from divulge.options.table import READING_NAMES, command_words, find_option, option_of, options_of
from divulge.text import toml_text

_FUNCTIONS = {"hierarchy cut": "cut"}
"""Functions of the library whose name is not that of their command."""


class PythonCode(str):
    """Python code that stands for a value, such as the name of a variable."""

    __slots__ = ()
    __repr__ = str.__str__


@dataclass(frozen=True)
class Invocation:
    """A call of a command or of its function, with what is needed to repeat it."""

    verb: str
    """The command, such as `measure` or `hierarchy cut`."""
    sources: tuple[str, ...] = ()
    """Its tables or releases."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the function, and reading options of its table."""
    adversary: Mapping[str, Any] = field(default_factory=dict)
    """Explicit settings of the adversary."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Options that only the command takes."""
    policy: Any = None
    """Policy in Python: a path, or the bounds by metric."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """Entries of a policy file: requirements, and roles that the arguments do not name."""

    def as_command(self) -> str:
        """Return the command line, without settings that no option can express.

        Options are in the order of the help's sections.
        """
        adversary = {
            name: setting
            for name, setting in self.adversary.items()
            if is_expressible(name, setting)
        }
        options = {**self.arguments, **adversary, **self.flags}
        options = {name: options[name] for name in sorted(options, key=self._section)}
        return shlex.join(
            ["divulge", *self.verb.split(), *self.sources, *command_words(options, self.verb)]
        )

    def _section(self, name: str) -> int:
        """Return the position of an option's section in the help."""
        option = find_option(name, self.verb) or find_option(name)
        panel = option.panel if option is not None else None
        return PANELS.index(panel or PANELS[-1])

    def as_python(self, source: str = "") -> str:
        """Return the call in Python, without settings whose value is no literal.

        `source` is an expression for the table or release, such as the name of a variable.
        """
        arguments = [source or self.table_expression]
        if self.policy is not None:
            arguments.append(f"policy={self.policy!r}")
        arguments += [
            f"{name}={value!r}"
            for name, value in self.arguments.items()
            if name not in READING_NAMES
        ]
        if literals := _literals(self.adversary):
            settings = ", ".join(f"{name}={setting!r}" for name, setting in literals.items())
            arguments.append(f"adversary=dv.Adversary({settings})")
        return f"dv.{_FUNCTIONS.get(self.verb, self.verb)}({', '.join(arguments)})"

    @property
    def table_expression(self) -> str:
        """The tables in Python; reading options stay with the last."""
        sources = [repr(source) for source in self.sources]
        reading = [
            f"{name}={value!r}" for name, value in self.arguments.items() if name in READING_NAMES
        ]
        if reading and sources:
            sources[-1] = f"dv.read({', '.join([sources[-1], *reading])})"
        tables = ", ".join(sources)
        takes_list = any(row.positional and row.repeated for row in options_of(self.verb))
        return f"[{tables}]" if takes_list and len(sources) > 1 else tables

    def as_policy(self) -> str:
        """Return the policy file of the call; "" if it has no requirement."""
        if not self.document.get("promises"):
            return ""
        keys = {name: option_of(name, self.verb).policy_key for name in self.arguments}
        document = {keys[name]: value for name, value in self.arguments.items() if keys[name]}
        document |= self.document
        if literals := _literals(self.adversary):
            document["adversary"] = literals
        return toml_text(document).rstrip("\n")


def is_expressible(name: str, setting: Any) -> bool:
    """Return whether a setting of the adversary can be an option of a command.

    Paths, names and texts can; frames, probabilities and trees cannot.
    """
    if not isinstance(setting, Mapping):
        return _is_scalar(setting)
    if name == "suppressed":
        return len(set(setting.values())) < 2
    if name == "orders":
        return not any("," in value for order in setting.values() for value in order)
    if name in ("rule_out", "rule_in"):
        return all(
            isinstance(value, str)
            for values in setting.values()
            for value in ([values] if _is_scalar(values) else values)
        )
    return all(
        isinstance(value, str | Path) or name in ("tries", "within") for value in setting.values()
    )


def _is_scalar(setting: Any) -> bool:
    return isinstance(setting, str | Path | int | float)


def _literals(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: setting for name, setting in settings.items() if _is_literal(setting)}


def _is_literal(value: Any) -> bool:
    """Return whether the repr of a value is valid program text."""
    if isinstance(value, Mapping):
        return all(_is_literal(item) for item in (*value, *value.values()))
    return isinstance(value, str | int | float) or (
        isinstance(value, list | tuple) and all(map(_is_literal, value))
    )
