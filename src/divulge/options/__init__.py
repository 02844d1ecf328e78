# SPDX-License-Identifier: Apache-2.0
"""Options: one row for each, with its argument in Python, its flag, its policy key and its help.

Lists of names that a user can choose from (roles, methods, formats) are in `names`.
"""

from divulge.options.idle import idle_reason
from divulge.options.invocation import Invocation, PythonCode, is_expressible
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
from divulge.options.row import PANELS, Option
from divulge.options.table import (
    ENGINE_NAMES,
    READING_NAMES,
    all_options,
    command_words,
    flag_of,
    option_of,
    options_of,
    policy_keys,
)

__all__ = [
    "ANATOMIZATION_METHODS",
    "DEFAULT_METHOD",
    "ENGINE_NAMES",
    "FALLBACK_ROLES",
    "FORMAT_LABELS",
    "GENERALIZATION_METHODS",
    "LIST_ROLES",
    "METHOD_LABELS",
    "PANELS",
    "READING_NAMES",
    "RELEASE_FORMATS",
    "ROLES",
    "ROLE_OF_COLUMN",
    "SINGLE_ROLES",
    "AnatomizationMethod",
    "ColumnRole",
    "GeneralizationMethod",
    "Invocation",
    "Option",
    "PythonCode",
    "ReleaseFormat",
    "all_options",
    "command_words",
    "flag_of",
    "idle_reason",
    "is_expressible",
    "option_of",
    "options_of",
    "policy_keys",
]
