# SPDX-License-Identifier: Apache-2.0
"""Measuring classes that are not brought together: their counts stay on disk or on a Spark cluster.

The counting statement runs once. Where it finds few cells, they come to memory and everything goes on there. Else two folds go over the
cells, class by class, and only sums, the worst classes and tallies come back (see partition).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from divulge.belief import Belief, GivenPrior
from divulge.count import Contingency
from divulge.count.assemble import Coding, domain_codes
from divulge.count.counting import notes_on, totals
from divulge.count.counts import Counts
from divulge.engines.base import Held
from divulge.errors import InternalError
from divulge.metrics import IDENTITY, SENSITIVE, Identity, leading_metric
from divulge.metrics.metric import never_negative
from divulge.metrics.questions import Answer, Question, Tally, answer
from divulge.tasks.partition import (
    Outlook,
    Part,
    Plan,
    Totals,
    add_up,
    find_worst,
    merge_findings,
    merge_totals,
    part_of,
)


@dataclass(frozen=True, eq=False)
class Survey:
    """A table whose classes stayed where they are held: what is known about all of them, and the worst of them."""

    held: Held = field(repr=False)
    plan: Plan = field(repr=False)
    sample: Part = field(repr=False)
    """The worst classes by each metric."""
    contingency: Contingency = field(repr=False)
    """The same classes, with the numbers and notes of the whole table."""
    answers: dict[Question, Tally] = field(repr=False)

    @property
    def classes(self) -> int:
        """How many classes the table has."""
        if self.plan.identity is None:
            raise InternalError("classes were not counted")
        return int(self.plan.identity.classes)

    @property
    def kept(self) -> int:
        """How many of the worst classes are in the sample for each metric."""
        return self.plan.kept

    def ask(self, questions: Sequence[Question], *, most: int) -> list[Answer]:
        """Answer from the sample where it is enough, and all other questions together in one pass over the classes."""
        known = {question: self._from_sample(question, most) for question in questions}
        open_ones = tuple(question for question, found in known.items() if found is None)
        if not open_ones:
            return [_certain(known[question]) for question in questions]
        plan = replace(self.plan, kept=max(most, 1))
        findings = self.held.engine.fold(
            self.held, partial(find_worst, plan, open_ones, open_ones), partial(merge_findings, plan, open_ones)
        )
        part = _part(plan, findings.rows)
        for question, counted in zip(open_ones, findings.tallies, strict=True):
            view = question.view(part.identity, part.beliefs)
            known[question] = replace(answer(question, part.contingency, view, most=most), tally=counted)
        return [_certain(known[question]) for question in questions]

    def _from_sample(self, question: Question, most: int) -> Answer | None:
        """The sample holds the worst classes, so it shows whether a bound holds, but not how many classes break it."""
        if question.recursive_l is not None:
            return None
        view = question.view(self.sample.identity, self.sample.beliefs)
        found = answer(question, self.sample.contingency, view, most=min(most, self.kept))
        if question in self.answers:
            return replace(found, tally=self.answers[question])
        return found if found.tally.classes == 0 else None


def survey_classes(
    counts: Counts,
    codings: Mapping[str, Coding],
    outlooks: Mapping[str, Outlook],
    *,
    register: Counts | None = None,
    metrics: Sequence[str] | None = None,
) -> Survey:
    """Two folds over the classes; `metrics` are the names of those wanted, by default all."""
    held = counts.with_population(register)
    fold = held.engine.fold
    plan = Plan(counts.layout, codings, outlooks)
    sums = fold(held, partial(add_up, plan), merge_totals)
    rows, people, person_entropy = totals(counts.request, int(sums.sizes @ sums.repeats))
    plan = _with_whole(plan, sums, person_entropy)
    criteria = _criteria(plan, population=register is not None or counts.layout.weighted, metrics=metrics)
    hidden = _hidden_by_averages(plan) if metrics is None else ()
    findings = fold(held, partial(find_worst, plan, criteria, hidden), partial(merge_findings, plan, criteria))
    sample = _part(plan, findings.rows)
    alone = [coding.parts[0] for coding in codings.values() if coding.tuples is None]
    notes = notes_on(counts.request, rows, _constant(counts, sums), alone)
    kept = (
        f"the counts stayed on {held.engine.place}: {len(sample.contingency):,} of {int(sums.repeats.sum()):,} classes are here, "
        f"the {plan.kept} worst by each metric"
    )
    contingency = replace(
        sample.contingency, rows=rows, people=people, person_entropy=person_entropy, notes=(*notes, kept)
    )
    return Survey(held, plan, sample, contingency, dict(zip(hidden, findings.tallies, strict=True)))


def outlook_of(belief: Belief, *, knowledge: Any = None, given: GivenPrior | None = None) -> Outlook:
    """The outlook that a belief about the whole table as one class comes from; `given` is a prior that depends on the class."""
    return Outlook(
        prior=belief.prior if given is None else given,
        ground=belief.ground,
        knowledge=knowledge,
        recursive_l=belief.recursive_l,
        marginal=belief.cells.marginal,
    )


def recoded(coding: Coding, belief: Belief) -> Coding:
    """The same values under the numbers they have in a belief, where an order was given or an original has more of them."""
    target = belief.cells.domain
    return (
        coding
        if target is coding.domain
        else replace(coding, domain=target, codes=domain_codes(target, coding.domain.values))
    )


def _with_whole(plan: Plan, sums: Totals, person_entropy: float | None) -> Plan:
    outlooks = {
        name: replace(outlook, whole=sums.wholes[name], mean_prior_entropy=sums.prior_entropy[name])
        for name, outlook in plan.outlooks.items()
    }
    spectrum = Identity.of_spectrum(
        sums.sizes.astype(np.float64), sums.repeats.astype(np.float64), person_entropy=person_entropy
    )
    return replace(plan, outlooks=outlooks, identity=spectrum)


def _criteria(plan: Plan, *, population: bool, metrics: Sequence[str] | None) -> tuple[Question, ...]:
    """The metrics by which the worst classes are kept."""
    identity = [
        Question(metric, 0.0) for metric in IDENTITY if metric.per_class and (population or not metric.needs_population)
    ]
    sensitive = [Question(metric, 0.0, name) for name in plan.outlooks for metric in SENSITIVE]
    return tuple(item for item in (*identity, *sensitive) if metrics is None or item.metric.name in metrics)


def _hidden_by_averages(plan: Plan) -> tuple[Question, ...]:
    """Which classes give more than twice the average: every report tells it, so the answer comes along."""
    metric = leading_metric("sensitive")
    wholes = {name: outlook.whole for name, outlook in plan.outlooks.items() if outlook.whole is not None}
    return tuple(
        Question(metric, 2 * never_negative(whole.entropy - whole.remaining_entropy), name)
        for name, whole in wholes.items()
    )


def _constant(counts: Counts, sums: Totals) -> dict[str, Any]:
    pairs = zip(counts.layout.keys, sums.keys, strict=True)
    return {column.name: values[0].as_py() for column, values in pairs if len(values) == 1}


def _part(plan: Plan, rows: Any) -> Part:
    part = part_of(plan, rows)
    if part is None:
        raise InternalError("a survey returned no classes")
    return part


def _certain(found: Answer | None) -> Answer:
    if found is None:
        raise InternalError("a question was left open")
    return found
