# SPDX-License-Identifier: Apache-2.0
"""One option: its argument in Python, its flag, its key in a policy file and its help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from divulge.marks import HARMLESS, Mark

Takes = Literal[
    "text",
    "flag",
    "integer",
    "number",
    "choice",
    "columns",
    "column",
    "by column",
    "file",
    "folder",
    "path",
    "table",
]
ValuesOf = Literal[
    "", "columns", "metrics", "requirable metrics", "objectives", "attacks", "datasets"
]
PANELS = ("Records", "Table", "Roles", "Measure", "Adversary", "Promises", "Search", "Output")
"""Sections of a command's help, in this order; an option without one is in the last."""

# Commands that share a group of options.
READING_VERBS = (
    "profile",
    "init",
    "measure",
    "rank",
    "check",
    "generalize",
    "anatomize",
    "attack",
    "apply",
    "compose",
    "compare",
    "report",
    "hierarchy build",
    "hierarchy cut",
    "hierarchy check",
)
ADVERSARY_VERBS = (
    "measure",
    "rank",
    "check",
    "generalize",
    "attack",
    "compose",
    "compare",
    "report",
    "hierarchy cut",
)
ROLES_VERBS = ("measure", "rank", "check", "generalize", "compare", "report")
PUBLISHING_VERBS = ("generalize", "anatomize", "apply")
LEAKAGE_VERBS = ("dossier leakage", "dossier dip", "dossier release", "dossier disinform")
MERGING_VERBS = ("dossier leakage", "dossier resolve", *LEAKAGE_VERBS[1:])
MATCHING_VERBS = (*MERGING_VERBS, "dossier enhance")

_METAVARS = {
    "columns": "COLUMNS",
    "column": "COLUMN",
    "file": "FILE",
    "folder": "DIR",
    "table": "TABLE",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one or several commands."""

    name: str
    """Parameter of the commands."""
    help: str
    verbs: tuple[str, ...]
    """Commands that take it."""
    takes: Takes = "text"
    """Kind of its value."""
    flags: tuple[str, ...] = ()
    """Its flags if they do not follow from the name."""
    off_flag: str = ""
    """Flag that turns it off, such as `--no-header`."""
    positional: bool = False
    """True if it has no flag."""
    metavar: str | None = ""
    """Placeholder of its value in the help; "": that of `takes`."""
    panel: str | None = None
    """Section of the help."""
    argument: str = ""
    """Argument of the library's function if it differs from the name."""
    policy_key: str = ""
    """Its key in a policy file, such as `adversary.prior`."""
    values: tuple[str, ...] = ()
    """Values to choose from."""
    values_of: ValuesOf = ""
    """List of values that another layer holds."""
    completes: bool = True
    """False if a shell does not complete the columns."""
    low: float | None = None
    high: float | None = None
    needs: tuple[str, ...] = ()
    """Options of which one must be given for this one to have an effect."""
    excluded_by: tuple[str, ...] = ()
    """Options with which this one has no effect."""
    effect: str = ""
    """Text after its flag in the message that another option has no effect with or without it."""
    repeated: bool = False
    """True if the flag can be repeated, once for each value."""
    default: str | float | None = None
    required: bool = False
    mark: Mark | None = None
    """Mark of a text that is no data value, such as an encoding."""

    @property
    def flag(self) -> str:
        """Flag on the command line; "" of a positional argument."""
        if self.positional:
            return ""
        return self.all_flags[0]

    @property
    def all_flags(self) -> tuple[str, ...]:
        """Every spelling of the flag."""
        return self.flags or (f"--{self.name.strip('_').replace('_', '-')}",)

    @property
    def placeholder(self) -> str | None:
        """Placeholder of the value in the help; None: named after its type."""
        if self.metavar == "":
            return _METAVARS.get(self.takes)
        return self.metavar

    @property
    def unset(self) -> str | float | None:
        """Its value if the option is not given."""
        if self.takes == "flag" and not self.off_flag:
            return False
        return self.default

    @property
    def may_hold_value(self) -> bool:
        """True if its value may be a data value, so that redaction hides it.

        Numbers, files, columns and words from a list are none.
        """
        if self.values or self.values_of or self.mark in HARMLESS:
            return False
        return self.takes in ("text", "by column")

    @property
    def library_name(self) -> str:
        """Argument of the library's function."""
        return self.argument or self.name
