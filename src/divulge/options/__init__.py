# SPDX-License-Identifier: Apache-2.0
"""Options: one row for each, with its argument in Python, its flag, its policy key and its help.

Lists of names that a user can choose from (roles, methods, formats) are in `names`.
"""

from divulge.options.names import (
    ANATOMIZATION_METHODS,
    DEFAULT_METHOD,
    FALLBACK_ROLES,
    FORMAT_LABELS,
    GENERALIZATION_METHODS,
    LIST_ROLES,
    METHOD_LABELS,
    RELEASE_FORMATS,
    ROLE_OF_COLUMN,
    ROLES,
    SINGLE_ROLES,
    AnatomizationMethod,
    ColumnRole,
    GeneralizationMethod,
    ReleaseFormat,
)
from divulge.options.table import all_options, flag_of, options_of

__all__ = [
    "ANATOMIZATION_METHODS",
    "DEFAULT_METHOD",
    "FALLBACK_ROLES",
    "FORMAT_LABELS",
    "GENERALIZATION_METHODS",
    "LIST_ROLES",
    "METHOD_LABELS",
    "RELEASE_FORMATS",
    "ROLES",
    "ROLE_OF_COLUMN",
    "SINGLE_ROLES",
    "AnatomizationMethod",
    "ColumnRole",
    "GeneralizationMethod",
    "ReleaseFormat",
    "all_options",
    "flag_of",
    "options_of",
]
