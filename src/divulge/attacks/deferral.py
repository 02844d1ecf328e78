# SPDX-License-Identifier: Apache-2.0
"""The deferral attack: inference from a class that is missing in an incremental release.

The adversary knows the program, its policy and the distribution of all records. The adversary also
knows the people in the batch and their quasi-identifiers. A class that is missing although it has
enough records failed a requirement on a sensitive column. So the adversary draws classes of its
size from the distribution and keeps those that the program would have deferred. The guess is the
most common value in these. This is the minimality attack (Wong, Fu, Wang and Pei 2007) on deferral.

Classes with too few records are not attacked: the adversary knows their sizes in advance, so their
absence reveals nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from divulge import metrics, releases
from divulge.arrays import Bools, Floats, Ints
from divulge.attacks.result import Attempt, Bound
from divulge.counting import Contingency, Domain, build_cells
from divulge.metrics import Measurement
from divulge.policy import Promise, Verdict, judge

_DRAWS = 2000
_MOST_SIZES = 25
_LARGEST_CLASS = 2000
_SEED = 27
_KEY = "class"


@dataclass(frozen=True, eq=False)
class _Deferred:
    """Deferred classes that have enough records, and the adversary's priors."""

    measurement: Measurement
    classes: Ints
    """Positions of the classes that failed a requirement on a sensitive column."""
    priors: Mapping[str, Floats] = field(repr=False)
    """Share of each value of each sensitive column in all records."""

    @property
    def sizes(self) -> Ints:
        return self.measurement.contingency.sizes[self.classes]


def attack_deferral(
    records: releases.NewRecords, decision: releases.Decision, promises: Sequence[Promise]
) -> tuple[Attempt, ...]:
    """Simulate the attack on the deferred records: one attempt for each sensitive column.

    There is no attempt in these cases:

    - no class was deferred because of a sensitive column,
    - the records have survey weights,
    - the joint distribution of all sensitive columns counts as another column.
    """
    about = [
        promise
        for promise in promises
        if promise.metric.scope == "sensitive" and promise.metric.looks_at != "table"
    ]
    if (
        not about
        or not decision.deferred.any()
        or records.roles.weight is not None
        or records.earlier.document["joint"]
    ):
        return ()
    deferred = _deferred_classes(records, decision, promises)
    if not len(deferred.classes):
        return ()
    sizes, counts = np.unique(deferred.sizes, return_counts=True)
    playable = sizes <= _LARGEST_CLASS
    most_records = np.argsort(-(sizes * counts)[playable], kind="stable")[:_MOST_SIZES]
    generator = np.random.default_rng(_SEED)
    posteriors = {
        int(size): _posterior(records, deferred, int(size), about, generator)
        for size in sizes[playable][most_records]
    }
    return tuple(_attempts(records, deferred, posteriors, about))


def _deferred_classes(
    records: releases.NewRecords, decision: releases.Decision, promises: Sequence[Promise]
) -> _Deferred:
    measurement = records.measure_new(replace(decision.recoding, published_mask=decision.deferred))
    verdict = judge(measurement, promises, sample=len(measurement.contingency))
    failing: Bools = np.zeros(len(measurement.contingency), dtype=bool)
    too_small: Bools = failing.copy()
    keys = {
        tuple(measurement.contingency.class_key(index).values()): index
        for index in range(len(failing))
    }
    for outcome in verdict.outcomes:
        positions = [keys[tuple(item.key.values())] for item in outcome.sample]
        (too_small if outcome.attribute is None else failing)[positions] = True
    priors = {}
    for name in records.roles.sensitive:
        weights = measurement.beliefs[name].prior.weights[0]
        priors[name] = np.asarray(weights / weights.sum())
    return _Deferred(measurement, np.flatnonzero(failing & ~too_small), priors)


def _posterior(
    records: releases.NewRecords,
    deferred: _Deferred,
    size: int,
    promises: Sequence[Promise],
    generator: np.random.Generator,
) -> dict[str, Floats] | None:
    """Compute the posterior of each sensitive column in a deferred class of this size.

    None if no drawn class would be deferred.
    """
    draws = {
        name: generator.multinomial(size, prior, size=_DRAWS)
        for name, prior in deferred.priors.items()
    }
    cells = {}
    for name, counts in draws.items():
        class_index, value = np.nonzero(counts)
        domain = deferred.measurement.beliefs[name].cells.domain
        mass = counts[class_index, value].astype(np.float64)
        cells[name] = build_cells(domain, class_index, value, mass, classes=_DRAWS)
    contingency = Contingency(
        keys=(Domain(_KEY, pa.array(range(_DRAWS)), "number"),),
        codes=(np.arange(_DRAWS),),
        sizes=np.full(_DRAWS, size, dtype=np.int64),
        cells=cells,
        rows=_DRAWS * size,
        people=_DRAWS * size,
    )
    measured = metrics.measure_counts(
        contingency, records.source, records.roles, assumptions=records.assumptions
    )
    would_be_deferred = _failing_draws(judge(measured, promises, sample=_DRAWS))
    if not len(would_be_deferred):
        return None
    return {name: counts[would_be_deferred].mean(axis=0) / size for name, counts in draws.items()}


def _failing_draws(verdict: Verdict) -> Ints:
    failing = {int(item.key[_KEY]) for outcome in verdict.outcomes for item in outcome.sample}
    return np.array(sorted(failing), dtype=np.int64)


def _attempts(
    records: releases.NewRecords,
    deferred: _Deferred,
    posteriors: Mapping[int, Mapping[str, Floats] | None],
    promises: Sequence[Promise],
) -> Iterator[Attempt]:
    for name, prior in deferred.priors.items():
        cells = deferred.measurement.beliefs[name].cells
        targets = guesses = 0
        successes = baseline = 0.0
        for index, size in zip(deferred.classes.tolist(), deferred.sizes.tolist(), strict=True):
            values = cells.of_class(index)
            targets += size
            baseline += values.get(int(prior.argmax()), 0.0)
            posterior = posteriors.get(size)
            if posterior is not None:
                guesses += size
                successes += values.get(int(posterior[name].argmax()), 0.0)
        yield Attempt(
            name="deferral",
            aim="inference",
            about=name,
            knows=records.roles.quasi_identifiers,
            targets=targets,
            guesses=guesses,
            successes=successes,
            random=1 / len(prior),
            prior=baseline / targets,
            bound=_bound(name, prior, promises),
            told="Of records that are deferred because a requirement on a sensitive column fails "
            f"for their class. The adversary draws {_DRAWS:,} classes of the same size and guesses "
            "the most common value of those that would have been deferred.",
        )


def _bound(name: str, prior: Floats, promises: Sequence[Promise]) -> Bound | None:
    """Find the lowest bound of a requirement on a guess about a published record."""
    bounds = [
        Bound(promise.metric.leaves(float(promise.bound), prior), promise.text)
        for promise in promises
        if promise.metric.leaves is not None
        and not promise.metric.by_distance
        and promise.attribute in (None, name)
    ]
    return min(
        (bound for bound in bounds if bound.value < 1), key=lambda bound: bound.value, default=None
    )
