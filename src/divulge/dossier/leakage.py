# SPDX-License-Identifier: Apache-2.0
"""Record leakage and set leakage (Whang and Garcia-Molina, definitions 21 and 22).

In one possible world, precision is X/Y, recall is X/W_p and F_beta combines them into (1 + beta^2) X / (Y + beta^2 W_p), where
X is the weight of what is correct, Y the weight of the world and W_p the weight of the reference. A world without correct
information has precision, recall and leakage 0; that settles the empty world. Record leakage is the expectation of F_1
over the worlds; the leakage of a database is the largest leakage of one of its records.
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

from divulge import arrays, values
from divulge.arrays import Floats
from divulge.dossier.equivalence import Background, Equivalence, Grade, check_grade, grade, rarity
from divulge.dossier.expectation import Batch, Expectation, expected_share
from divulge.dossier.record import Attribute, Joint, Record, check_reference, check_weights, joints_of
from divulge.errors import BadInput, nearest
from divulge.results import Result

# --- comparison -------------------------------------------------------------------------------------------------------
# The only place where labels and values are looked at: weights, equivalence, grades and background all end here, in a confidence, a
# weight and a credit per attribute.
NO_SHIELDS = np.empty((0, 2), dtype=np.int64)


class _LabelWeights(dict[str, float]):
    """Weight per label, 1 where none is given."""

    def __missing__(self, label: str) -> float:
        return 1.0


class RecordComparison:
    """How records are compared with one reference."""

    def __init__(self, reference: Record, measure: Measure) -> None:
        """Check everything once; the reference and the background take canonical values here."""
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
        """W_p, the weight of everything that is true."""

    def weights_of(self, attributes: Iterable[Attribute]) -> Floats:
        """The weight of each attribute."""
        if not self.rarity:
            return np.fromiter(map(self.weights.__getitem__, map(itemgetter(0), attributes)), np.float64)
        rare = ((a.label, self.rarity[a.label](a.value) if a.label in self.rarity else 1.0) for a in attributes)
        return np.array([self.weights[label] * factor for label, factor in rare], dtype=np.float64)

    def batch(self, records: Sequence[Record]) -> Batch:
        """The numbers of all records."""
        canonical = map(self.equivalence.apply, records) if self.equivalence else records
        maps = [self._with_joints(record).attributes for record in canonical]
        weight = self.weights_of(chain.from_iterable(maps))
        row = np.repeat(np.arange(len(maps)), list(map(len, maps)))
        values = chain.from_iterable(attributes.values() for attributes in maps)
        confidence = np.fromiter(values, np.float64, len(weight))
        found = map(frozenset(self.reference.attributes).__contains__, chain.from_iterable(maps))
        credit = weight * np.fromiter(found, np.bool_, len(weight))
        batch = Batch(len(maps), row, confidence, weight, credit, NO_SHIELDS)
        return self._with_grades(batch, list(chain.from_iterable(maps))) if self.graded else batch

    def _with_joints(self, record: Record) -> Record:
        for joint in self.joints:
            record = joint.apply(record)
        return record

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
        shields = [(worse, better) for places in ranked for better, worse in combinations(places, 2)]
        pairs = np.array(shields, dtype=np.int64).reshape(-1, 2)
        hopeless = pairs[batch.confidence[pairs[:, 1]] == 1.0, 0]
        credit[hopeless] = 0.0
        return replace(batch, credit=credit, shields=pairs[~np.isin(pairs[:, 0], hopeless)])


# --- leakage ----------------------------------------------------------------------------------------------------------
Method: TypeAlias = Literal["exact", "naive", "algorithm1", "taylor"]
METHODS: tuple[Method, ...] = get_args(Method)
TIE = 1e-12
"""Leakages that differ by less, relatively, are equal: the certified error of each is below it."""


@dataclass(frozen=True, repr=False)
class Leakage(Result):
    """What one record gives away, from 0 (nothing) to 1 (everything, and nothing false)."""

    view = "dossier"

    leakage: float
    """Expected F_beta over the possible worlds; F_1 unless said otherwise."""
    precision: float
    """Expected precision; 0 in a world that says nothing."""
    recall: float
    """Expected recall."""
    method: str
    error_bound: float
    """Certified bound of the relative error of `leakage` (above 1e-290, where doubles keep their precision).

    It is inf for the Taylor approximation, which has none.
    """
    settings: Mapping[str, object]


@dataclass(frozen=True, repr=False)
class SetLeakage(Result):
    """What a database gives away: its most telling record."""

    view = "dossier"

    leakage: float
    each: tuple[float, ...]
    """The leakage of each record, in the order of the database."""
    witnesses: tuple[Record, ...]
    """All records that reach the maximum; none when nothing leaks."""
    settings: Mapping[str, object]


@values.checked
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
    """L(r, p): how much a record tells about the person behind the reference.

    Args:
        record: What is known, each attribute with the confidence in it.
        reference: What is true of the person.
        weights: How much each label matters; 1 where none is given.
        method: "exact", which takes any weights; to compare, "naive" (all possible worlds), "algorithm1" and "taylor" of the paper.
        beta: How much more recall counts than precision; 0 asks for precision alone.
        equivalence: Which values mean the same.
        graded: For labels whose near misses count in part: the distance at which a number stops being similar, or a function of
            (guess, truth) to a number from 0 to 1.
        background: For each label how often its values occur in the population: a rare true value tells more.
        joint: For labels that tell a part of each other, a label for what they tell together: {"J": ["A", "P"]}, or a `Joint`.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> found = dv.dossier.leakage(dv.dossier.Record.of({"N": ("Alice", 0.5), "A": "20"}), alice)
        >>> round(found.leakage, 12)
        0.65
    """
    return Measure(weights, beta, equivalence, graded, background, method, joint).one(record, reference)


@values.checked
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
        records: What is known, each as in `leakage`.
        reference: What is true of the person.
        weights: As in `leakage`, and so are the other options.
        beta: How much more recall counts than precision.
        equivalence: Which values mean the same.
        graded: For which labels near misses count in part.
        background: How often values occur in the population.
        joint: Which labels tell a part of each other.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20"})
        >>> known = [alice, dv.dossier.Record.of({"N": "Bob"})]
        >>> dv.dossier.record_leakages(known, alice).tolist()
        [1.0, 0.0]
    """
    return Measure(weights, beta, equivalence, graded, background, joint=joint).each(records, reference)


@values.checked
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
    """The largest record leakage of a database, with every record that reaches it; 0 for an empty database.

    Args:
        database: The records that are known.
        reference: What is true of the person.
        weights: As in `leakage`, and so are the other options.
        beta: How much more recall counts than precision.
        equivalence: Which values mean the same.
        graded: For which labels near misses count in part.
        background: How often values occur in the population.
        joint: Which labels tell a part of each other.

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
    return Measure(weights, beta, equivalence, graded, background, joint=joint).most(database, reference)


@values.checked
def expected_f(batch: Batch, reference_weight: float, beta: float = 1.0) -> Expectation:
    """E[F_beta] = (1 + beta^2) E[X / (Y + beta^2 W_p)] of every record, with a certified bound of its error.

    Args:
        batch: The records as numbers.
        reference_weight: W_p, the weight of everything that is true.
        beta: How much more recall counts than precision; 0 is the expected precision.

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
    """The beta as a float; 0 asks for precision, large values approach recall."""
    if isinstance(beta, bool) or not 0 <= beta <= 1e6:
        raise BadInput(f"beta is {beta!r}", hint="beta lies between 0 (precision) and 1e6 (practically recall)")
    return float(beta)


def _expected_recall(batch: Batch, reference_weight: float) -> Floats:
    """E[X] / W_p; 0 when the reference weighs nothing. A shielded attribute counts where its shields are absent."""
    earned = batch.credit * batch.confidence
    np.multiply.at(earned, batch.shields[:, 0], 1 - batch.confidence[batch.shields[:, 1]])
    found = arrays.sum_by_id(batch.row, earned, batch.size)
    return np.minimum(found / reference_weight, 1.0) if reference_weight > 0 else np.zeros(batch.size)


def _by_method(method: Method, batch: Batch, reference_weight: float, beta: float) -> tuple[float, float]:
    """The leakage of the one record of a batch and its error bound, by the method of that name."""
    from divulge.dossier import paper_methods

    if method == "exact":
        found = expected_f(batch, reference_weight, beta)
        return float(found.value[0]), float(found.error[0])
    if method == "naive":
        return paper_methods.naive(batch, reference_weight, beta=beta)
    if method not in METHODS:
        raise BadInput(f"there is no method {method!r}", hint=nearest(str(method), METHODS))
    if beta != 1 or len(batch.shields) or not np.isin(batch.credit, (0.0, *batch.weight)).all():
        raise BadInput(f"{method} knows only F_1 and no grades", hint="use the method exact or naive")
    if method == "algorithm1":
        return paper_methods.algorithm1(batch, reference_weight)
    return float(paper_methods.taylor(batch, reference_weight)[0]), math.inf


@values.checked_fields
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
        """Everything that the numbers depend on, as a document can hold it."""
        grades = {label: "function" if callable(rule) else rule for label, rule in (self.graded or {}).items()}
        members = {
            label: given.members if isinstance(given, Joint) else given for label, given in (self.joint or {}).items()
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
        batch, total, beta = comparison.batch([record]), comparison.reference_weight, check_beta(self.beta)
        precision = float(expected_f(batch, total, 0.0).value[0])
        recall = float(_expected_recall(batch, total)[0])
        value, error = _by_method(self.method, batch, total, beta)
        return Leakage(value, precision, recall, self.method, error, self.settings)

    def each(self, records: Sequence[Record], reference: Record) -> Floats:
        """The leakage of every record."""
        if self.method != "exact":
            return np.array([self.one(record, reference).leakage for record in records], dtype=float)
        comparison = RecordComparison(reference, self)
        return expected_f(comparison.batch(records), comparison.reference_weight, check_beta(self.beta)).value

    def most(self, database: Sequence[Record], reference: Record) -> SetLeakage:
        """The largest leakage of a record, with every record that reaches it; 0 for an empty database."""
        each = self.each(database, reference)
        most = float(each.max(initial=0.0))
        places = np.flatnonzero(each >= most * (1 - TIE)).tolist() if most > 0 else []
        return SetLeakage(most, tuple(each.tolist()), tuple(database[place] for place in places), self.settings)
