# SPDX-License-Identifier: Apache-2.0
"""SLPPA: sensitive label privacy preservation with anatomization (Yao et al. 2021), by our group division or by Algorithm 1 as printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from divulge.anatomize.association import Association, ColumnCounts
from divulge.anatomize.division import Division, Linkage, divide, given_division
from divulge.anatomize.grouping import group_records
from divulge.anatomize.model import AlphaBetaGammaDelta
from divulge.anatomize.paper_algorithm import algorithm_1
from divulge.anatomize.problem import GroupingProblem, Groups
from divulge.errors import BadInput

if TYPE_CHECKING:
    import numpy as np

Algorithm = Literal["guaranteed", "paper"]


@dataclass(frozen=True)
class Slppa:
    """Tables by association, groups that keep (alpha, beta, gamma, delta)."""

    name: ClassVar[str] = "slppa"

    model: AlphaBetaGammaDelta
    tables: int | tuple[tuple[str, ...], ...] = 2
    """How many tables the quasi-identifiers are divided into, or the tables themselves."""
    linkage: Linkage = "average"
    association: Association = "phi2"
    max_table_size: int | None = None
    algorithm: Algorithm = "guaranteed"
    """"guaranteed" finds a grouping where there is one; "paper" is Algorithm 1 as printed, for comparison."""
    locality: bool = False
    """Deal inside regions of similar records: groups of alike people answer queries better."""
    group_size: int = 1
    """Groups have at least so many records; larger groups protect more and tell less."""

    def __post_init__(self) -> None:
        if self.algorithm not in ("guaranteed", "paper"):
            raise BadInput(f"there is no algorithm {self.algorithm!r}", hint="Use 'guaranteed' or 'paper'")
        if self.algorithm == "paper" and (self.locality or self.group_size != 1):
            raise BadInput("Algorithm 1 of the paper knows neither locality nor a group size", hint="Leave them out")
        if self.group_size < 1:
            raise BadInput(f"groups of at least {self.group_size} records make no sense", hint="Ask for 1 or more")

    def divide(self, columns: ColumnCounts, quasi_identifiers: Sequence[str]) -> Division:
        """Tables by entropy and association, or as given."""
        if not isinstance(self.tables, int):
            return given_division(quasi_identifiers, self.tables)
        return divide(
            columns,
            quasi_identifiers,
            tables=self.tables,
            linkage=self.linkage,
            association=self.association,
            max_table_size=self.max_table_size,
        )

    def group(self, problem: GroupingProblem, *, rng: np.random.Generator) -> Groups:
        """Groups that keep the model."""
        if self.algorithm == "paper":
            return algorithm_1(problem)
        return group_records(problem, rng=rng, group_size=self.group_size, locality=self.locality)

    def settings(self) -> Mapping[str, Any]:
        """For the record."""
        return {
            "model": self.model.texts(),
            "tables": self.tables if isinstance(self.tables, int) else [list(names) for names in self.tables],
            "linkage": self.linkage,
            "association": self.association,
            "max_table_size": self.max_table_size,
            "algorithm": self.algorithm,
            "locality": self.locality,
            "group_size": self.group_size,
        }
