# SPDX-License-Identifier: Apache-2.0
"""Anatomization: quasi-identifiers and sensitive attributes in separate tables, tied together only by groups of records."""

from divulge.anatomize.anatomized import Anatomized, Method, anatomize
from divulge.anatomize.anatomy import Anatomy
from divulge.anatomize.baselines import Asn, RandomPermutation
from divulge.anatomize.codes import RowCodes, read_rows, rows_of
from divulge.anatomize.division import Division
from divulge.anatomize.feasibility import InfeasibleModel
from divulge.anatomize.model import AlphaBetaGammaDelta, Reached
from divulge.anatomize.slicing import Slicing
from divulge.anatomize.slppa import Slppa

__all__ = [
    "AlphaBetaGammaDelta",
    "Anatomized",
    "Anatomy",
    "Asn",
    "Division",
    "InfeasibleModel",
    "Method",
    "RandomPermutation",
    "Reached",
    "RowCodes",
    "Slicing",
    "Slppa",
    "anatomize",
    "read_rows",
    "rows_of",
]
