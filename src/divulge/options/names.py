# SPDX-License-Identifier: Apache-2.0
"""Names that a user can choose from: roles of columns, methods, file formats.

Each list is written here once. The types are for signatures, the tuples for checks and controls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args


@dataclass(frozen=True, slots=True)
class Role:
    """A role that columns can have."""

    name: str
    """Argument of the library and key of a policy file."""
    label: str
    """Its name in the studio."""
    comment: str
    """Its meaning, as a comment of a policy file."""
    singular: str = ""
    """Role of one column in a profile if it differs from the name."""
    single: bool = False
    """True if at most one column has it."""
    fallback: bool = False
    """True if a pattern matches only columns without another role."""

    @property
    def column_role(self) -> str:
        """Role of one column, as a profile names it."""
        return self.singular or self.name


_ROLES = (
    Role(
        "quasi_identifiers",
        "quasi-identifier",
        "What somebody may know of a person; together they make the classes.",
        singular="quasi_identifier",
    ),
    Role("sensitive", "sensitive", "What must not be learnt of a person."),
    Role(
        "identifier",
        "identifier",
        "Names people: never published, and breaks a check if it is there.",
    ),
    Role(
        "leave_out",
        "left out",
        "Not published. To keep a column, move it to quasi_identifiers if others may know it, "
        "otherwise to plain.",
        fallback=True,
    ),
    Role("plain", "as it is", "May be published as it is.", fallback=True),
    Role(
        "person", "whose row it is", "Whose row it is: people are counted, not rows.", single=True
    ),
    Role(
        "weight",
        "survey weight",
        "How many people of the population a row stands for.",
        single=True,
    ),
)
ROLES = {role.name: role for role in _ROLES}
"""Every role by its name, in the order of a policy file."""
LIST_ROLES = tuple(role.name for role in _ROLES if not role.single)
"""Roles that several columns can have."""
SINGLE_ROLES = tuple(role.name for role in _ROLES if role.single)
"""Roles of at most one column."""
FALLBACK_ROLES = tuple(role.name for role in _ROLES if role.fallback)
"""Roles in which a pattern matches only columns without another role."""
ColumnRole = Literal[
    "identifier", "person", "quasi_identifier", "sensitive", "weight", "leave_out", "plain"
]
"""Role of one column in a profile."""
ROLE_OF_COLUMN = {role.column_role: role.name for role in _ROLES}
"""Name of each role by the role of one column in a profile."""

GeneralizationMethod = Literal["full-domain", "columns", "mondrian", "relaxed-mondrian"]
"""Generalization methods; the first is the default.

- full-domain: one generalization level for each column.
- columns: each column is published unchanged or fully suppressed.
- mondrian: boxes that never overlap.
- relaxed-mondrian: boxes that may share values at a cut.
"""
GENERALIZATION_METHODS: tuple[GeneralizationMethod, ...] = get_args(GeneralizationMethod)
DEFAULT_METHOD = GENERALIZATION_METHODS[0]
METHOD_LABELS: dict[GeneralizationMethod, str] = {
    "full-domain": "one level for each column",
    "mondrian": "boxes (Mondrian)",
    "relaxed-mondrian": "boxes that may share values (relaxed Mondrian)",
    "columns": "columns kept or dropped",
}
"""Name of each method in the studio."""

AnatomizationMethod = Literal["slppa", "anatomy", "slicing", "asn", "permutation"]
"""Methods of `anatomize`; the first is the default."""
ANATOMIZATION_METHODS: tuple[AnatomizationMethod, ...] = get_args(AnatomizationMethod)

ReleaseFormat = Literal["csv", "parquet", "arrow"]
"""File formats of released tables."""
RELEASE_FORMATS: tuple[ReleaseFormat, ...] = get_args(ReleaseFormat)
FORMAT_LABELS: dict[ReleaseFormat, str] = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow"}
"""Name of each format in the studio."""
