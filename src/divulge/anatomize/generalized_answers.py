# SPDX-License-Identifier: Apache-2.0
"""What a generalized release answers to a workload, worked out on counts: each value is spread uniformly over what its label stands for.

A label stands for the values of the table that are published under it. That is a little kinder to generalization than
a reader's view, who may not know which values of a range occur, so a comparison that anatomization wins is won.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from divulge.anatomize.codes import RowCodes
from divulge.anatomize.utility import Estimator
from divulge.anatomize.workload import Mask, Query
from divulge.arrays import Floats
from divulge.count import Contingency, Domain
from divulge.errors import InternalError
from divulge.generalize.plan import Recoding


def generalized_estimator(rows: RowCodes, contingency: Contingency, recoding: Recoding) -> Estimator:
    """Answers of the release that a recoding of these counts gives, to queries over these rows."""
    position = {name: place for place, name in enumerate(recoding.columns)}
    members = {name: _members(contingency, recoding, place) for name, place in position.items()}
    for domain in rows.domains:
        known = (
            contingency.keys[position[domain.name]]
            if domain.name in position
            else contingency.cells[domain.name].domain
        )
        _check_same(domain, known)
    kept = recoding.kept.astype(np.float64)

    def answer(query: Query) -> float:
        expected = kept * contingency.sizes
        for name, mask in query.masks.items():
            if name in position:
                expected = expected * _share(members[name], mask)[recoding.codes[position[name]]]
            else:
                expected = expected * _sensitive_share(contingency, name, mask)
        return float(expected.sum())

    return answer


def largest_shift(published: Contingency, prior: Mapping[str, Floats]) -> float:
    """How far the share of a sensitive value in a class is from its share in the original: the delta of a generalized release."""
    furthest = 0.0
    for name, cells in published.cells.items():
        shares = prior[name] / prior[name].sum()
        difference = np.abs(cells.mass / cells.totals[cells.class_index] - shares[cells.value])
        lacking = np.bincount(cells.value, minlength=len(shares)) < len(published)
        furthest = max(furthest, float(difference.max()), float(shares[lacking].max(initial=0.0)))
    return furthest


def _members(contingency: Contingency, recoding: Recoding, place: int) -> Floats:
    """For each label, which values are published under it."""
    grid = np.zeros((len(recoding.labels[place]), len(contingency.keys[place])))
    grid[recoding.codes[place][recoding.kept], contingency.codes[place][recoding.kept]] = 1.0
    return grid


def _share(members: Floats, mask: Mask) -> Floats:
    """For each label, the share of its values that satisfy."""
    share: Floats = (members @ mask) / np.maximum(members.sum(axis=1), 1.0)
    return share


def _sensitive_share(contingency: Contingency, name: str, mask: Mask) -> Floats:
    """For each raw class, the share of its records that satisfy."""
    cells = contingency.cells[name]
    return cells.sum_by_class(np.where(mask[cells.value], cells.mass, 0.0)) / cells.totals


def _check_same(domain: Domain, known: Domain) -> None:
    if not domain.values.equals(known.values):
        raise InternalError(f"the values of {domain.name!r} were counted in another order than they were read in")
