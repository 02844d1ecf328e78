# SPDX-License-Identifier: Apache-2.0
"""Two simple ways to anatomize, to measure the others against: ASN, and random permutation.

ASN (Rajaei et al. 2015) publishes each attribute as a table of its own and bounds the sensitive association (beta) and the presence of a
record; the presence bound is gamma here, where Yao et al. 2021 call it ASN's alpha. Random permutation puts records into groups of equal
size by lot and promises nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from divulge.anatomize.codes import RowCodes
from divulge.anatomize.division import Division, given_division
from divulge.anatomize.grouping import group_records
from divulge.anatomize.model import AlphaBetaGammaDelta
from divulge.anatomize.problem import GroupingProblem, Groups
from divulge.errors import BadInput


@dataclass(frozen=True)
class Asn:
    """Each attribute by itself; beta and presence bounded."""

    name: ClassVar[str] = "asn"

    beta: Fraction
    presence: Fraction = Fraction(1)

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """beta, and the presence as gamma."""
        return AlphaBetaGammaDelta(beta=self.beta, gamma=self.presence)

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """A table for each."""
        del rows
        return given_division(quasi_identifiers, [[name] for name in quasi_identifiers])

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Groups that keep the model."""
        return group_records(problem, rng=rng)

    def settings(self) -> Mapping[str, Any]:
        """For the record."""
        return {"beta": str(self.beta), "presence": str(self.presence)}


@dataclass(frozen=True)
class RandomPermutation:
    """All quasi-identifiers in one table, records in groups by lot."""

    name: ClassVar[str] = "random_permutation"

    group_size: int

    def __post_init__(self) -> None:
        if self.group_size < 1:
            raise BadInput(f"groups of {self.group_size} records make no sense", hint="Ask for 1 or more")

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """Nothing is promised."""
        return AlphaBetaGammaDelta()

    def divide(self, rows: RowCodes, quasi_identifiers: Sequence[str]) -> Division:
        """One table."""
        del rows
        return given_division(quasi_identifiers, [quasi_identifiers])

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Groups of equal size, or one record more."""
        groups = max(len(problem) // self.group_size, 1)
        return rng.permutation(len(problem)).astype(np.int32) % np.int32(groups)

    def settings(self) -> Mapping[str, Any]:
        """For the record."""
        return {"group_size": self.group_size}
