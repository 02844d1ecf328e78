# SPDX-License-Identifier: Apache-2.0
"""Record leakage and set leakage (Whang and Garcia-Molina, definitions 21 and 22).

In one possible world, precision is X/Y, recall is X/W_p and F_beta combines them into (1 + beta^2)
X / (Y + beta^2 W_p). X is the weight of the correct attributes, Y the weight of the world and W_p
the weight of the reference. A world without correct information has precision, recall and leakage
0, which covers the empty world. Record leakage is the expectation of F_1 over the worlds. The
leakage of a database is the largest leakage of one of its records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from operator import itemgetter
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

import numpy as np

from divulge import arrays
from divulge.arrays import Floats
from divulge.dossier.equivalence import Background, Equivalence, Grade, check_grade, grade, rarity
from divulge.dossier.expectation import Batch, Expectation, expected_share
from divulge.dossier.record import (
    Attribute,
    Joint,
    Record,
    check_reference,
    check_weights,
    joints_of,
)
from divulge.errors import BadInput, nearest
from divulge.results import Result
from divulge.validation import checked, checked_fields

# --- comparison -----------------------------------------------------------------------------------
# The only place that examines labels and values. Weights, equivalence, grades and background all
# end here, in a confidence, a weight and a credit per attribute.
NO_SHIELDS = np.empty((0, 2), dtype=np.int64)


class _LabelWeights(dict[str, float]):
    """Weight per label; the default is 1."""

    def __missing__(self, label: str) -> float:
        return 1.0


class RecordComparison:
    """Comparison of records with one reference."""

    def __init__(self, reference: Record, measure: Measure) -> None:
        """Check all inputs once; the reference and the background get canonical values here."""
        self.reference, self.equivalence = check_reference(reference), measure.equivalence
        background = measure.background
        if self.equivalence is not None:
            self.reference = self.equivalence.apply(reference)
            background = self.equivalence.apply_to_background(background or {})
        self.joints = joints_of(measure.joint, self.reference)
        self.reference = self._with_joints(self.reference)
        self.weights = _LabelWeights(check_weights(measure.weights))
        self.graded = measure.graded or {}
        for label, rule in self.graded.items():
            check_grade(label, rule)
        self.rarity = {label: rarity(label, counts) for label, counts in (background or {}).items()}
        self.reference_weight = float(self.weights_of(self.reference.attributes).sum())
        """W_p, the weight of all true attributes."""

    def weights_of(self, attributes: Iterable[Attribute]) -> Floats:
        """The weight of each attribute."""
        if not self.rarity:
            return np.fromiter(
                map(self.weights.__getitem__, map(itemgetter(0), attributes)), np.float64
            )
        rare_labels = (
            (a.label, self.rarity[a.label](a.value) if a.label in self.rarity else 1.0)
            for a in attributes
        )
        return np.array(
            [self.weights[label] * factor for label, factor in rare_labels], dtype=np.float64
        )

    def batch(self, records: Sequence[Record]) -> Batch:
        """The records as numbers."""
        canonical = map(self.equivalence.apply, records) if self.equivalence else records
        maps = [self._with_joints(record).attributes for record in canonical]
        weight = self.weights_of(chain.from_iterable(maps))
        row = np.repeat(np.arange(len(maps)), list(map(len, maps)))
        values = chain.from_iterable(attributes.values() for attributes in maps)
        confidence = np.fromiter(values, np.float64, len(weight))
        is_correct = map(
            frozenset(self.reference.attributes).__contains__, chain.from_iterable(maps)
        )
        credit = weight * np.fromiter(is_correct, np.bool_, len(weight))
        batch = Batch(len(maps), row, confidence, weight, credit, NO_SHIELDS)
        if self.graded:
            return self._with_grades(batch, list(chain.from_iterable(maps)))
        return batch

    def _with_joints(self, record: Record) -> Record:
        for joint in self.joints:
            record = joint.apply(record)
        return record

    def _with_grades(self, batch: Batch, attributes: list[Attribute]) -> Batch:
        """Give partial credit for near misses.

        A better guess of a true attribute shields a worse one.
        """
        truths = [truth for truth in self.reference.attributes if truth.label in self.graded]
        weight_of = dict(zip(truths, self.weights_of(truths).tolist(), strict=True))
        credit = batch.credit.copy()
        guesses: dict[tuple[int, Attribute], list[tuple[float, int]]] = {}
        for attribute_index, attribute in enumerate(attributes):
            candidate_truths = (truth for truth in truths if truth.label == attribute.label)
            grades = [(grade(attribute, truth, self.graded), truth) for truth in candidate_truths]
            best, truth = max(grades, default=(0.0, attribute), key=itemgetter(0))
            earned = best * min(float(batch.weight[attribute_index]), weight_of.get(truth, 0.0))
            if earned > 0:
                credit[attribute_index] = earned
                guesses.setdefault((int(batch.row[attribute_index]), truth), []).append(
                    (-earned, attribute_index)
                )
        ranked = [
            [attribute_index for _, attribute_index in sorted(truth_guesses)]
            for truth_guesses in guesses.values()
        ]
        shields = [
            (worse, better)
            for attribute_indexes in ranked
            for better, worse in combinations(attribute_indexes, 2)
        ]
        pairs = np.array(shields, dtype=np.int64).reshape(-1, 2)
        never_earning = pairs[batch.confidence[pairs[:, 1]] == 1.0, 0]
        credit[never_earning] = 0.0
        return replace(batch, credit=credit, shields=pairs[~np.isin(pairs[:, 0], never_earning)])


# --- leakage --------------------------------------------------------------------------------------
Method: TypeAlias = Literal["exact", "naive", "algorithm1", "taylor"]
METHODS: tuple[Method, ...] = get_args(Method)
TIE = 1e-12
"""Leakages with a smaller relative difference are equal; the certified error is below it."""


@dataclass(frozen=True, repr=False)
class Leakage(Result):
    """The leakage of one record, from 0 (nothing) to 1 (everything, and nothing false)."""

    view = "dossier"

    leakage: float
    """Expected F_beta over the possible worlds; F_1 by default."""
    precision: float
    """Expected precision; 0 in an empty world."""
    recall: float
    """Expected recall."""
    method: str
    error_bound: float
    """Certified bound of the relative error of `leakage`.

    It holds above 1e-290, where doubles keep their precision. It is inf for the Taylor
    approximation, which has no bound.
    """
    settings: Mapping[str, object]


@dataclass(frozen=True, repr=False)
class SetLeakage(Result):
    """The leakage of a database, which is that of its record with the largest leakage."""

    view = "dossier"

    leakage: float
    each: tuple[float, ...]
    """The leakage of each record, in the order of the database."""
    witnesses: tuple[Record, ...]
    """All records that reach the maximum; empty if nothing leaks."""
    settings: Mapping[str, object]


@checked
def leakage(
    record: Record,
    reference: Record,
    *,
    weights: Mapping[str, float] | None = None,
    method: Method = "exact",
    beta: float = 1.0,
    equivalence: Equivalence | None = None,
    graded: Mapping[str, Grade] | None = None,
    background: Background | None = None,
    joint: Mapping[str, Joint | Iterable[str]] | None = None,
) -> Leakage:
    """L(r, p): the leakage of a record about the person described by the reference.

    Args:
        record: The adversary's belief, each attribute with its confidence.
        reference: The true attributes of the person.
        weights: The weight of each label; the default is 1.
        method: "exact", which takes any weights; for comparison, "naive" (all possible worlds),
            "algorithm1" and "taylor" of the paper.
        beta: The weight of recall relative to precision; 0 means precision only.
        equivalence: Values with equal meaning.
        graded: Labels whose near misses count in part. The value is the distance at which a number
            stops being similar, or a function of (guess, truth) to a number from 0 to 1.
        background: Frequencies of values in the population, by label. A rare true value reveals
            more.
        joint: Labels that share information, under a new label for the shared part:
            {"J": ["A", "P"]}, or a `Joint`.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> found = dv.dossier.leakage(
        ...     dv.dossier.Record.of({"N": ("Alice", 0.5), "A": "20"}), alice
        ... )
        >>> round(found.leakage, 12)
        0.65
    """
    return Measure(weights, beta, equivalence, graded, background, method, joint).one(
        record, reference
    )


@checked
def record_leakages(
    records: Sequence[Record],
    reference: Record,
    *,
    weights: Mapping[str, float] | None = None,
    beta: float = 1.0,
    equivalence: Equivalence | None = None,
    graded: Mapping[str, Grade] | None = None,
    background: Background | None = None,
    joint: Mapping[str, Joint | Iterable[str]] | None = None,
) -> Floats:
    """The exact leakage of every record against one reference.

    Args:
        records: The adversary's records, each as in `leakage`.
        reference: The true attributes of the person.
        weights: As in `leakage`, like the other options.
        beta: The weight of recall relative to precision.
        equivalence: Values with equal meaning.
        graded: Labels whose near misses count in part.
        background: Frequencies of values in the population.
        joint: Labels that share information.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20"})
        >>> known = [alice, dv.dossier.Record.of({"N": "Bob"})]
        >>> dv.dossier.record_leakages(known, alice).tolist()
        [1.0, 0.0]
    """
    return Measure(weights, beta, equivalence, graded, background, joint=joint).each(
        records, reference
    )


@checked
def set_leakage(
    database: Sequence[Record],
    reference: Record,
    *,
    weights: Mapping[str, float] | None = None,
    beta: float = 1.0,
    equivalence: Equivalence | None = None,
    graded: Mapping[str, Grade] | None = None,
    background: Background | None = None,
    joint: Mapping[str, Joint | Iterable[str]] | None = None,
) -> SetLeakage:
    """The largest record leakage of a database, with every record that reaches it.

    It is 0 for an empty database.

    Args:
        database: The adversary's records.
        reference: The true attributes of the person.
        weights: As in `leakage`, like the other options.
        beta: The weight of recall relative to precision.
        equivalence: Values with equal meaning.
        graded: Labels whose near misses count in part.
        background: Frequencies of values in the population.
        joint: Labels that share information.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20"})
        >>> known = [
        ...     dv.dossier.Record.of({"N": "Alice", "A": "20"}, id="shop"),
        ...     dv.dossier.Record.of({"N": "Bob"}, id="bank"),
        ... ]
        >>> found = dv.dossier.set_leakage(known, alice)
        >>> found.leakage, found.witnesses[0].id
        (1.0, 'shop')
    """
    return Measure(weights, beta, equivalence, graded, background, joint=joint).most(
        database, reference
    )


@checked
def expected_f(batch: Batch, reference_weight: float, beta: float = 1.0) -> Expectation:
    """E[F_beta] = (1 + beta^2) E[X / (Y + beta^2 W_p)] of every record, with an error bound.

    The bound is certified.

    Args:
        batch: The records as numbers.
        reference_weight: W_p, the weight of all true attributes.
        beta: The weight of recall relative to precision; 0 means the expected precision.

    Examples:
        >>> import divulge as dv, numpy as np
        >>> one = np.ones(1)
        >>> batch = dv.dossier.Batch(
        ...     1, np.zeros(1, int), one, one, one, dv.dossier.NO_SHIELDS
        ... )  # one true attribute of two
        >>> round(float(dv.dossier.expected_f(batch, 2.0).value[0]), 6)
        0.666667
    """
    share = expected_share(batch, beta**2 * reference_weight)
    return Expectation(np.minimum((1 + beta**2) * share.value, 1.0), share.error + 1e-15)


def check_beta(beta: float) -> float:
    """Check beta and convert it to a float; 0 means precision, large values approach recall."""
    if isinstance(beta, bool) or not 0 <= beta <= 1e6:
        raise BadInput(
            f"beta is {beta!r}", hint="beta lies between 0 (precision) and 1e6 (practically recall)"
        )
    return float(beta)


def _expected_recall(batch: Batch, reference_weight: float) -> Floats:
    """E[X] / W_p; 0 if the reference has weight 0.

    A shielded attribute counts in worlds without its shields.
    """
    earned = batch.credit * batch.confidence
    np.multiply.at(earned, batch.shields[:, 0], 1 - batch.confidence[batch.shields[:, 1]])
    earned_weight = arrays.sum_by_id(batch.row, earned, batch.size)
    if reference_weight > 0:
        return np.minimum(earned_weight / reference_weight, 1.0)
    return np.zeros(batch.size)


def _by_method(
    method: Method, batch: Batch, reference_weight: float, beta: float
) -> tuple[float, float]:
    """Leakage and error bound of the only record of a batch, by the named method."""
    from divulge.dossier import paper_methods

    if method == "exact":
        expectation = expected_f(batch, reference_weight, beta)
        return float(expectation.value[0]), float(expectation.error[0])
    if method == "naive":
        return paper_methods.naive(batch, reference_weight, beta=beta)
    if method not in METHODS:
        raise BadInput(f"there is no method {method!r}", hint=nearest(str(method), METHODS))
    if beta != 1 or len(batch.shields) or not np.isin(batch.credit, (0.0, *batch.weight)).all():
        raise BadInput(
            f"{method} knows only F_1 and no grades", hint="use the method exact or naive"
        )
    if method == "algorithm1":
        return paper_methods.algorithm1(batch, reference_weight)
    return float(paper_methods.taylor(batch, reference_weight)[0]), math.inf


@checked_fields
@dataclass(frozen=True)
class Measure:
    """The options of `leakage`, with its defaults."""

    weights: Mapping[str, float] | None = None
    beta: float = 1.0
    equivalence: Equivalence | None = None
    graded: Mapping[str, Grade] | None = None
    background: Background | None = None
    method: Method = "exact"
    joint: Mapping[str, Joint | Iterable[str]] | None = None

    @cached_property
    def settings(self) -> Mapping[str, object]:
        """All settings on which the numbers depend, for the JSON output."""
        grades = {
            label: "function" if callable(rule) else rule
            for label, rule in (self.graded or {}).items()
        }
        members = {
            label: joint.members if isinstance(joint, Joint) else joint
            for label, joint in (self.joint or {}).items()
        }
        return MappingProxyType(
            {
                "method": self.method,
                "beta": float(self.beta),
                "weights": dict(check_weights(self.weights)),
                "equivalence": self.equivalence is not None,
                "graded": grades,
                "background": sorted(self.background or ()),
                "joint": {label: sorted(labels) for label, labels in members.items()},
            }
        )

    def one(self, record: Record, reference: Record) -> Leakage:
        """The leakage of one record, with precision and recall."""
        comparison = RecordComparison(reference, self)
        batch = comparison.batch([record])
        total = comparison.reference_weight
        beta = check_beta(self.beta)
        precision = float(expected_f(batch, total, 0.0).value[0])
        recall = float(_expected_recall(batch, total)[0])
        value, error = _by_method(self.method, batch, total, beta)
        return Leakage(value, precision, recall, self.method, error, self.settings)

    def each(self, records: Sequence[Record], reference: Record) -> Floats:
        """The leakage of every record."""
        if self.method != "exact":
            return np.array(
                [self.one(record, reference).leakage for record in records], dtype=float
            )
        comparison = RecordComparison(reference, self)
        return expected_f(
            comparison.batch(records), comparison.reference_weight, check_beta(self.beta)
        ).value

    def most(self, database: Sequence[Record], reference: Record) -> SetLeakage:
        """The largest leakage of a record, with every record that reaches it.

        It is 0 for an empty database.
        """
        leakages = self.each(database, reference)
        largest = float(leakages.max(initial=0.0))
        if largest > 0:
            record_indexes = np.flatnonzero(leakages >= largest * (1 - TIE)).tolist()
        else:
            record_indexes = []
        return SetLeakage(
            largest,
            tuple(leakages.tolist()),
            tuple(database[record_index] for record_index in record_indexes),
            self.settings,
        )
