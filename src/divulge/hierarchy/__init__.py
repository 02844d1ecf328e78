# SPDX-License-Identifier: Apache-2.0
"""How a column may become coarser: its levels, the rules and files they come from, and defaults."""

from divulge.hierarchy.defaults import Suggestion, suggest_hierarchy
from divulge.hierarchy.files import (
    Flavour,
    column_of,
    file_name,
    load_hierarchies,
    parse_hierarchy,
    read_hierarchy,
    write_hierarchy,
)
from divulge.hierarchy.hierarchy import SUPPRESSED, Gap, Hierarchy, Labels, check_coverage, find_gaps
from divulge.hierarchy.rules import Spec, build_hierarchies, build_hierarchy, parse_inline

__all__ = [
    "SUPPRESSED", "Flavour", "Gap", "Hierarchy", "Labels", "Spec", "Suggestion", "build_hierarchies", "build_hierarchy",
    "check_coverage", "column_of", "file_name", "find_gaps", "load_hierarchies", "parse_hierarchy", "parse_inline",
    "read_hierarchy", "suggest_hierarchy", "write_hierarchy",
]  # fmt: skip
