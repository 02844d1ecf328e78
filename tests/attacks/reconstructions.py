# SPDX-License-Identifier: Apache-2.0
"""Oracles of attacks on groups: all joins of small anatomized releases, listed one by one."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import reject

from divulge.anatomization import AlphaBetaGammaDelta, Anatomized, Slppa
from divulge.anatomization.methods import anatomize
from divulge.errors import Infeasible
from tests.anatomization.checker import Drawn


def every_reconstruction(found: Anatomized) -> list[list[list[tuple[int, ...]]]]:
    """List for each group all joins of its records: tuples of values, one per record."""
    columns = [found.problem.tables[i].ids.tolist() for i in range(len(found.division.tables))]
    columns += [found.rows.column(name).tolist() for name in found.sensitive]
    groups = []
    for group in range(found.groups):
        members = np.flatnonzero(found.group == group).tolist()
        others = itertools.product(*(itertools.permutations(members) for _ in columns[1:]))
        groups.append(
            [
                [
                    tuple(column[who] for column, who in zip(columns, people, strict=True))
                    for people in zip(members, *chosen, strict=True)
                ]
                for chosen in others
            ]
        )
    return groups


def grouped(example: Drawn) -> Anatomized:
    """Anatomize a random table; a table without a valid grouping is drawn again."""
    try:
        return anatomize(
            example.codes,
            Slppa(AlphaBetaGammaDelta(beta="2/3"), tables=example.tables),
            quasi_identifiers=example.quasi_identifiers,
            sensitive=example.sensitive[:1],
            seed=2,
        )
    except Infeasible:
        reject()


def true_records(found: Anatomized) -> list[tuple[int, ...]]:
    columns = [found.problem.tables[i].ids.tolist() for i in range(len(found.division.tables))]
    columns += [found.rows.column(name).tolist() for name in found.sensitive]
    return list(zip(*columns, strict=True))
