# SPDX-License-Identifier: Apache-2.0
"""From rows to counts: the only folder that reads rows before a release is written."""

from divulge.counting import wildcards
from divulge.counting.contingency import NOT_PUBLISHED, Cells, Contingency, Domain, build_cells
from divulge.counting.encoding import EncodedColumn, domain_codes, encode, joint_domain
from divulge.counting.pairs import PairCounts, count_pairs
from divulge.counting.request import (
    CountedColumns,
    Nulls,
    Request,
    ValueCounts,
    ValueNumbers,
    align,
    count,
    population_sizes,
    text_domains,
    value_counts,
)
from divulge.counting.stored_counts import Counts, count_in_memory, whole_classes

__all__ = [
    "NOT_PUBLISHED",
    "Cells",
    "Contingency",
    "CountedColumns",
    "Counts",
    "Domain",
    "EncodedColumn",
    "Nulls",
    "PairCounts",
    "Request",
    "ValueCounts",
    "ValueNumbers",
    "align",
    "build_cells",
    "count",
    "count_in_memory",
    "count_pairs",
    "domain_codes",
    "encode",
    "joint_domain",
    "population_sizes",
    "text_domains",
    "value_counts",
    "whole_classes",
    "wildcards",
]
