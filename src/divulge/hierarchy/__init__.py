# SPDX-License-Identifier: Apache-2.0
"""How a column may become coarser: its levels, the rules and files they come from, and defaults."""

from divulge.hierarchy.hierarchy import (
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
from divulge.hierarchy.rules import (
    Spec,
    Suggestion,
    build_hierarchies,
    build_hierarchy,
    parse_inline,
    suggest_hierarchy,
)

__all__ = [
    "SUPPRESSED", "Flavour", "Gap", "Hierarchy", "Labels", "Spec", "Suggestion", "build_hierarchies", "build_hierarchy",
    "check_coverage", "column_of", "file_name", "find_gaps", "load_hierarchies", "parse_hierarchy", "parse_inline",
    "read_hierarchy", "suggest_hierarchy", "write_hierarchy",
]  # fmt: skip
