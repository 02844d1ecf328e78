# SPDX-License-Identifier: Apache-2.0
"""t-closeness and l-diversity as conditions on information: on average (necessary) and in every class (necessary and sufficient).

Bezzi 2010, eqs. 13 and 14, with t read as I1 and l as entropy l. Side by side they show when an average hides a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.metrics.catalogue import find_metric
from divulge.metrics.information import l_of_t, mutual_information
from divulge.metrics.measurement import Measurement
from divulge.metrics.metric import TOLERANCE
from divulge.metrics.survey import Question

_T, _L = find_metric("surprise", "sensitive"), find_metric("entropy_l_diversity", "sensitive")


@dataclass(frozen=True)
class Conditions:
    """Whether t and l hold on average, and in how many classes they do not."""

    t: float | None
    l_value: float | None
    entropy: float
    """H(W) under the prior; with a prior per class, the largest."""
    mutual_information: float
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
            "l_max": float(np.exp2(self.entropy)),
            "l_t": None if self.t is None else l_of_t(self.entropy, self.t),
            "mutual_information": self.mutual_information,
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
    average = mutual_information(belief)
    room = None if l_value is None else belief.mean_prior_entropy - float(np.log2(l_value))
    return Conditions(
        t=t,
        l_value=l_value,
        entropy=float(belief.prior_entropy.max()),
        mutual_information=average,
        t_on_average=None if t is None else average <= t + TOLERANCE,
        l_on_average=None if room is None else average <= room + TOLERANCE,
        classes_breaking_t=breaking.get(_T.name),
        classes_breaking_l=breaking.get(_L.name),
    )
