# SPDX-License-Identifier: Apache-2.0
"""From rows to counts: the only place before publishing where rows are read."""

from divulge.count import wildcards
from divulge.count.contingency import NOT_PUBLISHED, Cells, Contingency, Domain, build_cells
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
from divulge.count.pairs import PairCounts, count_pairs

__all__ = [
    "NOT_PUBLISHED", "Cells", "Contingency",
    "CountedColumns", "Counts", "Domain", "Nulls", "PairCounts", "Request", "ValueCounts", "ValueNumbers",
    "align", "build_cells", "count", "count_in_memory", "count_pairs", "domain_codes", "encode", "joint_domain", "plain_values",
    "population_sizes", "text_domains", "value_counts", "whole_classes", "wildcards",
]  # fmt: skip
