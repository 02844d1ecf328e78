# SPDX-License-Identifier: Apache-2.0
"""t-closeness and l-diversity as conditions on information, on average and in every class.

The condition on the average is necessary; the condition on every class is necessary and sufficient.
Bezzi 2010, eqs. 13 and 14, with t read as I1 and l as entropy l. The comparison shows when an
average hides a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.metrics.catalogue import find_metric
from divulge.metrics.information import average_surprise, l_of_t, largest_l, remaining_entropy
from divulge.metrics.measurement import Measurement
from divulge.metrics.metric import TOLERANCE
from divulge.metrics.out_of_core import ClassQuery

_T_METRIC = find_metric("surprise", "sensitive")
_L_METRIC = find_metric("entropy_l_diversity", "sensitive")


@dataclass(frozen=True)
class Conditions:
    """Conditions on t and l: on average, and the number of classes that violate them."""

    t: float | None
    l_value: float | None
    l_max: float
    """The largest entropy l that any generalization of the table can reach."""
    prior_entropy: float
    """H(W) under the prior; the largest one if there is a prior per class."""
    average_surprise: float
    """I1 on average; the mutual information if the prior is the table's own marginal."""
    t_on_average: bool | None
    l_on_average: bool | None
    classes_breaking_t: int | None
    classes_breaking_l: int | None

    @property
    def necessary(self) -> bool:
        """Eq. 13: the averages meet the bounds."""
        return self.t_on_average is not False and self.l_on_average is not False

    @property
    def sufficient(self) -> bool:
        """Eq. 14: every class meets the bounds."""
        return not self.classes_breaking_t and not self.classes_breaking_l

    @property
    def average_hides_classes(self) -> bool:
        """True if the averages meet the bounds and some class does not."""
        return self.necessary and not self.sufficient

    def document(self) -> dict[str, Any]:
        """The content for JSON."""
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
    measurement: Measurement,
    attribute: str,
    *,
    t: float | None = None,
    l_value: float | None = None,
) -> Conditions:
    """Check one attribute of a measured table against t (in bits) and an entropy l."""
    # A class takes more than H - log2 l bits (eq. 14) if it leaves less than log2 l.
    questions = [
        ClassQuery(metric, bound, attribute)
        for metric, bound in ((_T_METRIC, t), (_L_METRIC, l_value))
        if bound is not None
    ]
    answers = zip(questions, measurement.ask(questions), strict=True)
    violating_classes = {question.metric.name: answer.tally.classes for question, answer in answers}
    belief = measurement.beliefs[attribute]
    mean_surprise = average_surprise(belief)
    remaining = remaining_entropy(belief)
    return Conditions(
        t=t,
        l_value=l_value,
        l_max=largest_l(belief),
        prior_entropy=float(belief.prior_entropy.max()),
        average_surprise=mean_surprise,
        t_on_average=None if t is None else mean_surprise <= t + TOLERANCE,
        # Eq. 13: I <= H - log2 l on average, which means that log2 l bits remain on average.
        l_on_average=None if l_value is None else remaining >= np.log2(l_value) - TOLERANCE,
        classes_breaking_t=violating_classes.get(_T_METRIC.name),
        classes_breaking_l=violating_classes.get(_L_METRIC.name),
    )
