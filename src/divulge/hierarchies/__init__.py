# SPDX-License-Identifier: Apache-2.0
"""Generalization hierarchies of columns: levels, rules, files and default suggestions."""

from divulge.hierarchies.files import (
    Flavour,
    column_of,
    file_name,
    load_hierarchies,
    parse_hierarchy,
    read_hierarchy,
    write_hierarchy,
)
from divulge.hierarchies.hierarchy import (
    SUPPRESSED,
    Gap,
    Hierarchy,
    Labels,
    check_coverage,
    find_gaps,
)
from divulge.hierarchies.rules import Spec, build_hierarchies, build_hierarchy, parse_inline
from divulge.hierarchies.suggestions import Suggestion, suggest_hierarchy

__all__ = [
    "SUPPRESSED",
    "Flavour",
    "Gap",
    "Hierarchy",
    "Labels",
    "Spec",
    "Suggestion",
    "build_hierarchies",
    "build_hierarchy",
    "check_coverage",
    "column_of",
    "file_name",
    "find_gaps",
    "load_hierarchies",
    "parse_hierarchy",
    "parse_inline",
    "read_hierarchy",
    "suggest_hierarchy",
    "write_hierarchy",
]
