# SPDX-License-Identifier: Apache-2.0
"""Generalization hierarchies of columns: levels, rules, files and default suggestions."""

from divulge.hierarchies.hierarchy import (
    SUPPRESSED,
    Flavour,
    Gap,
    Hierarchy,
    Labels,
    check_coverage,
    column_of,
    file_name,
    find_gaps,
    load_hierarchies,
    parse_hierarchy,
    read_hierarchy,
    write_hierarchy,
)
from divulge.hierarchies.rules import (
    Spec,
    Suggestion,
    build_hierarchies,
    build_hierarchy,
    parse_inline,
    suggest_hierarchy,
)

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
