# SPDX-License-Identifier: Apache-2.0
"""From rows to counts: the only place before publishing where rows are read."""

from divulge.count.contingency import Cells, Contingency, Domain, build_cells
from divulge.count.counting import (
    CountedColumns,
    Nulls,
    Request,
    ValueCounts,
    ValueNumbers,
    align,
    count,
    domain_codes,
    encode,
    joint_domain,
    plain_values,
    population_sizes,
    text_domains,
    value_counts,
)
from divulge.count.counts import Counts, count_in_memory, whole_classes
from divulge.count.wildcards import SuppressedAs, Suppression, Suspects, alike_notes, people_matching, suspects_of

__all__ = [
    "Cells", "Contingency", "CountedColumns", "Counts", "Domain", "Nulls", "Request", "SuppressedAs", "Suppression",
    "Suspects", "ValueCounts", "ValueNumbers", "align", "alike_notes", "build_cells", "count", "count_in_memory",
    "domain_codes", "encode", "joint_domain", "people_matching", "plain_values", "population_sizes", "suspects_of",
    "text_domains", "value_counts", "whole_classes",
]  # fmt: skip
