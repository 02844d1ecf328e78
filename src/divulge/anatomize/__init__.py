# SPDX-License-Identifier: Apache-2.0
"""Anatomization: quasi-identifiers and sensitive attributes in separate tables, tied together only by groups of records."""

from divulge.anatomize.anatomized import Anatomized, Method, anatomize
from divulge.anatomize.codes import RowCodes, read_rows, rows_of
from divulge.anatomize.division import Division
from divulge.anatomize.feasibility import InfeasibleModel
from divulge.anatomize.model import AlphaBetaGammaDelta, Levels
from divulge.anatomize.slppa import Slppa

__all__ = [
    "AlphaBetaGammaDelta",
    "Anatomized",
    "Division",
    "InfeasibleModel",
    "Levels",
    "Method",
    "RowCodes",
    "Slppa",
    "anatomize",
    "read_rows",
    "rows_of",
]
