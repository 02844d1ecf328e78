# SPDX-License-Identifier: Apache-2.0
"""t-closeness and l-diversity as conditions on information: on average (necessary) and in every class (necessary and sufficient).

Bezzi 2010, eqs. 13 and 14, with t read as I1 and l as entropy l. Side by side they show when an average hides a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.metrics.catalogue import TOLERANCE, find_metric
from divulge.metrics.information import average_surprise, l_of_t, largest_l, remaining_entropy
from divulge.metrics.measurement import Measurement
from divulge.metrics.survey import Question

_T, _L = find_metric("surprise", "sensitive"), find_metric("entropy_l_diversity", "sensitive")


@dataclass(frozen=True)
class Conditions:
    """Whether t and l hold on average, and in how many classes they do not."""

    t: float | None
    l_value: float | None
    l_max: float
    """The largest entropy l that any generalization of the table can reach."""
    prior_entropy: float
    """H(W) under the prior; with a prior per class, the largest."""
    average_surprise: float
    """I1 on average: the mutual information where the prior is the table's own."""
    t_on_average: bool | None
    l_on_average: bool | None
    classes_breaking_t: int | None
    classes_breaking_l: int | None

    @property
    def necessary(self) -> bool:
        """Eq. 13: the averages keep the bounds."""
        return self.t_on_average is not False and self.l_on_average is not False

    @property
    def sufficient(self) -> bool:
        """Eq. 14: every class keeps the bounds."""
        return not self.classes_breaking_t and not self.classes_breaking_l

    @property
    def average_hides_classes(self) -> bool:
        """The averages look right and some class is not."""
        return self.necessary and not self.sufficient

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "t": self.t,
            "l": self.l_value,
            "l_max": self.l_max,
            "l_t": None if self.t is None else l_of_t(self.prior_entropy, self.t),
            "average_surprise": self.average_surprise,
            "necessary": {"holds": self.necessary, "t": self.t_on_average, "l": self.l_on_average},
            "sufficient": {
                "holds": self.sufficient,
                "classes_breaking_t": self.classes_breaking_t,
                "classes_breaking_l": self.classes_breaking_l,
            },
            "average_hides_classes": self.average_hides_classes,
        }


def conditions_of(
    measurement: Measurement, attribute: str, *, t: float | None = None, l_value: float | None = None
) -> Conditions:
    """Hold one attribute of a measured table against t (in bits) and an entropy l."""
    # A class takes more than H - log2 l bits (eq. 14) where it leaves less than log2 l.
    asked = [Question(metric, bound, attribute) for metric, bound in ((_T, t), (_L, l_value)) if bound is not None]
    answers = zip(asked, measurement.ask(asked), strict=True)
    breaking = {question.metric.name: answer.tally.classes for question, answer in answers}
    belief = measurement.beliefs[attribute]
    average, left = average_surprise(belief), remaining_entropy(belief)
    return Conditions(
        t=t,
        l_value=l_value,
        l_max=largest_l(belief),
        prior_entropy=float(belief.prior_entropy.max()),
        average_surprise=average,
        t_on_average=None if t is None else average <= t + TOLERANCE,
        # Eq. 13: I <= H - log2 l on average, which is to leave log2 l bits on average.
        l_on_average=None if l_value is None else left >= np.log2(l_value) - TOLERANCE,
        classes_breaking_t=breaking.get(_T.name),
        classes_breaking_l=breaking.get(_L.name),
    )
