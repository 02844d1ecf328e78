# SPDX-License-Identifier: Apache-2.0
"""Anatomization: quasi-identifiers and sensitive attributes in separate tables, tied together only by groups of records."""

from divulge.anatomy.advice import Advice, GroupPrices, advise, price_groups
from divulge.anatomy.chunks import LARGER, Grouping, HeldTables, group_table, needs_chunks
from divulge.anatomy.division import Division, Linkage
from divulge.anatomy.methods import (
    Algorithm,
    Anatomized,
    Anatomy,
    Asn,
    Check,
    Method,
    RandomPermutation,
    Slicing,
    Slppa,
)
from divulge.anatomy.model import AlphaBetaGammaDelta, GroupLevels, GroupSummary, Reached, Share, as_share, tally
from divulge.anatomy.problem import InfeasibleModel
from divulge.anatomy.rows import Association, RowCodes, read_rows
from divulge.anatomy.tables import COUNT, GROUP, Published, check_groups, join_tables, measure_tables
from divulge.anatomy.utility import (
    CodedTable,
    CodedTables,
    Coefficients,
    Estimator,
    KeptAssociation,
    Query,
    Recq,
    Workload,
    associations,
    coefficients_of,
    estimator,
    reconstructed_information,
    recq,
    recq_of,
)

__all__ = [
    "COUNT", "GROUP", "LARGER", "Advice", "Algorithm", "AlphaBetaGammaDelta", "Anatomized", "Anatomy", "Asn", "Association",
    "Check", "CodedTable", "CodedTables", "Coefficients", "Division", "Estimator", "GroupLevels", "GroupPrices", "GroupSummary",
    "Grouping", "HeldTables", "InfeasibleModel", "KeptAssociation", "Linkage", "Method", "Published", "Query",
    "RandomPermutation", "Reached", "Recq", "RowCodes", "Share", "Slicing", "Slppa", "Workload", "advise", "as_share",
    "associations", "check_groups", "coefficients_of", "estimator", "group_table", "join_tables", "measure_tables",
    "needs_chunks", "price_groups", "read_rows", "reconstructed_information", "recq", "recq_of", "tally",
]  # fmt: skip
