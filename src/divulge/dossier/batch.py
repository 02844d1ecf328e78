# SPDX-License-Identifier: Apache-2.0
"""Records against one reference, as the numbers that leakage is computed from.

This is the only place where labels and values are looked at: weights, equivalence, grades and background (see
`equivalence` and `extensions`) all end here, in a confidence, a weight and a credit per attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

import numpy as np

from divulge.dossier.equivalence import Equivalence
from divulge.dossier.expectation import Batch
from divulge.dossier.extensions import Background, Grade, check_graded, grade, rarity_factors
from divulge.dossier.quadrature import Floats
from divulge.dossier.record import Attribute, Record, check_reference, check_weights

NO_SHIELDS = np.empty((0, 2), dtype=np.int64)


class _LabelWeights(dict[str, float]):
    """Weight per label, 1 where none is given."""

    def __missing__(self, label: str) -> float:
        return 1.0


@dataclass(frozen=True)
class RecordComparison:
    """How records are compared with one reference."""

    reference: Record
    weights: Mapping[str, float]
    equivalence: Equivalence | None
    graded: Mapping[str, Grade]
    rarity: Mapping[str, Callable[[str], float]]

    @classmethod
    def of(
        cls,
        reference: Record,
        *,
        weights: Mapping[str, float] | None = None,
        equivalence: Equivalence | None = None,
        graded: Mapping[str, Grade] | None = None,
        background: Background | None = None,
    ) -> RecordComparison:
        """Check everything once; the reference and the background take canonical values here."""
        reference = check_reference(reference)
        if equivalence is not None:
            reference = equivalence.apply(reference)
            background = equivalence.apply_to_background(background or {})
        return cls(
            reference,
            _LabelWeights(check_weights(weights)),
            equivalence,
            check_graded(graded),
            rarity_factors(background),
        )

    @property
    def reference_weight(self) -> float:
        """W_p, the weight of everything that is true."""
        return float(self.weights_of(self.reference.attributes).sum())

    def weights_of(self, attributes: Iterable[Attribute]) -> Floats:
        """The weight of each attribute."""
        if not self.rarity:
            return np.fromiter(map(self.weights.__getitem__, map(itemgetter(0), attributes)), np.float64)
        return np.array([self._weight(attribute) for attribute in attributes], dtype=np.float64)

    def _weight(self, attribute: Attribute) -> float:
        factor = self.rarity.get(attribute.label)
        return self.weights[attribute.label] * (factor(attribute.value) if factor else 1.0)

    def canonical(self, record: Record) -> Record:
        """The record with canonical values."""
        return record if self.equivalence is None else self.equivalence.apply(record)

    def batch(self, records: Sequence[Record]) -> Batch:
        """The numbers of all records."""
        maps = [self.canonical(record).attributes for record in records]
        counts = [len(attributes) for attributes in maps]
        weight = self.weights_of(chain.from_iterable(maps))
        row = np.repeat(np.arange(len(maps)), counts)
        values = chain.from_iterable(attributes.values() for attributes in maps)
        confidence = np.fromiter(values, np.float64, len(weight))
        found = map(frozenset(self.reference.attributes).__contains__, chain.from_iterable(maps))
        credit = weight * np.fromiter(found, np.bool_, len(weight))
        batch = Batch(len(maps), row, confidence, weight, credit, NO_SHIELDS)
        return self._with_grades(batch, list(chain.from_iterable(maps))) if self.graded else batch

    def _with_grades(self, batch: Batch, attributes: list[Attribute]) -> Batch:
        """Partial credit for near misses; a better guess at the same truth shields a worse one."""
        truths = [truth for truth in self.reference.attributes if truth.label in self.graded]
        weight_of = dict(zip(truths, self.weights_of(truths).tolist(), strict=True))
        credit = batch.credit.copy()
        guesses: dict[tuple[int, Attribute], list[tuple[float, int]]] = {}
        for place, attribute in enumerate(attributes):
            rivals = (truth for truth in truths if truth.label == attribute.label)
            grades = [(grade(attribute, truth, self.graded), truth) for truth in rivals]
            best, truth = max(grades, default=(0.0, attribute), key=itemgetter(0))
            earned = best * min(float(batch.weight[place]), weight_of.get(truth, 0.0))
            if earned > 0:
                credit[place] = earned
                guesses.setdefault((int(batch.row[place]), truth), []).append((-earned, place))
        ranked = [[place for _, place in sorted(found)] for found in guesses.values()]
        shields = [
            (place, better) for places in ranked for rank, place in enumerate(places) for better in places[:rank]
        ]
        pairs = np.array(shields, dtype=np.int64).reshape(-1, 2)
        hopeless = pairs[batch.confidence[pairs[:, 1]] == 1.0, 0]
        credit[hopeless] = 0.0
        pairs = pairs[~np.isin(pairs[:, 0], hopeless)]
        return Batch(batch.size, batch.row, batch.confidence, batch.weight, credit, pairs)
