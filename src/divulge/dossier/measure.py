# SPDX-License-Identifier: Apache-2.0
"""How leakage is measured throughout an analysis: weights, method and extensions of `leakage`, kept together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from divulge.arrays import Floats
from divulge.dossier.equivalence import Equivalence
from divulge.dossier.extensions import Background, Grade
from divulge.dossier.leakage import TIE, Leakage, Method, SetLeakage, leakage, record_leakages
from divulge.dossier.record import Record


@dataclass(frozen=True)
class Measure:
    """The options of `leakage`, with its defaults."""

    weights: Mapping[str, float] | None = None
    beta: float = 1.0
    equivalence: Equivalence | None = None
    graded: Mapping[str, Grade] | None = None
    background: Background | None = None
    method: Method = "exact"

    def one(self, record: Record, reference: Record) -> Leakage:
        """The leakage of one record, with precision and recall."""
        return leakage(
            record,
            reference,
            weights=self.weights,
            method=self.method,
            beta=self.beta,
            equivalence=self.equivalence,
            graded=self.graded,
            background=self.background,
        )

    def each(self, records: Sequence[Record], reference: Record) -> Floats:
        """The leakage of every record."""
        if self.method != "exact":
            return np.array([self.one(record, reference).leakage for record in records], dtype=float)
        return record_leakages(
            records,
            reference,
            weights=self.weights,
            beta=self.beta,
            equivalence=self.equivalence,
            graded=self.graded,
            background=self.background,
        )

    def most(self, database: Sequence[Record], reference: Record) -> SetLeakage:
        """The largest leakage of a record, with every record that reaches it; 0 for an empty database."""
        each = self.each(database, reference)
        most = float(each.max(initial=0.0))
        places = np.flatnonzero(each >= most * (1 - TIE)).tolist() if most > 0 else []
        return SetLeakage(most, tuple(each.tolist()), tuple(database[place] for place in places))
