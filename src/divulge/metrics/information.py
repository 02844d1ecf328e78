# SPDX-License-Identifier: Apache-2.0
"""Information about an attribute or an identity that a class or the table reveals.

Bezzi 2010: one-symbol information I1 to I4, the limits l_max and l_t. Bkakria et al. 2021: DR, CP,
MIL, ELD and ITPR, with the corrected readings (docs/papers/errata.md). The printed variants have
names of their own. All numbers are in bits, with 0 log 0 = 0.

I1 and I2 compare with the prior. The other metrics describe the published table and use its own
marginal. If the prior is the table's own marginal (the default), the two agree: I1, I2 and I3 then
average to the mutual information. The initial uncertainty of a `View` is H = H(W), the attribute's
entropy, or H(X), the entropy of a uniform choice among people.
"""

from __future__ import annotations

import numpy as np

from divulge import arrays
from divulge.adversary import Belief
from divulge.arrays import Floats
from divulge.metrics.identity import Identity

View = Belief | Identity


def initial_entropy(view: View) -> float:
    """H: the entropy of the attribute or of identity before publication."""
    if isinstance(view, Identity):
        return view.person_entropy
    return view.whole_table.entropy


def surprise(belief: Belief) -> Floats:
    """I1: the KL divergence of class from prior.

    This is t-closeness as Bezzi reads it (eq. 7).
    """
    return belief.surprise


def average_surprise(belief: Belief) -> float:
    """I1 on average over people.

    It is the mutual information if the prior is the table's own marginal (eq. 9). Any other prior
    that all classes share gives a larger average.
    """
    return belief.mean_surprise


def specific_information(belief: Belief) -> Floats:
    """I2: the fall of entropy from prior to class; negative if the class is more uncertain."""
    return arrays.without_residue(belief.prior_entropy - belief.entropy)


def averaged_information(belief: Belief) -> Floats:
    """I3: the fall of the entropy of the class given a value, averaged over the class's values."""
    per_value = belief.whole_table.class_entropy - belief.whole_table.class_entropy_of_value
    return arrays.without_residue(
        belief.cells.sum_by_class(belief.posterior * per_value[belief.cells.value])
    )


def set_information(belief: Belief) -> Floats:
    """I4: the mutual information between the attribute and "in this class or not"."""
    inside = belief.class_share
    outside_total = np.maximum(belief.whole_table.total - belief.cells.totals, 0.0)
    value_prior = belief.whole_table.shares[belief.cells.value]
    within = belief.cells.sum_by_class(belief.posterior * np.log2(belief.posterior / value_prior))
    rest = belief.whole_table.marginal[belief.cells.value] - belief.cells.mass
    scale = outside_total[belief.cells.class_index]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(rest > 0, rest / scale, 1.0)
        terms = np.where(rest > 0, share * np.log2(share / value_prior), 0.0)
        absent = (outside_total - belief.cells.sum_by_class(rest)) / outside_total
        without = belief.cells.sum_by_class(terms) + absent * -np.log2(1.0 - inside)
    without = np.where(outside_total > 0, without, 0.0)
    return np.maximum(inside * within + (1.0 - inside) * without, 0.0)


def mutual_information(view: View) -> float:
    """I = H - H(. | class) of the published table: the average of I1, I2 and I3."""
    return view.mutual_information


def remaining_entropy(view: View) -> float:
    """H(. | class): the remaining uncertainty on average, Shannon's conditional entropy."""
    return initial_entropy(view) - view.mutual_information


def discrimination_rate(view: View) -> float:
    """DR = I / H; 0 if H is 0."""
    if initial_entropy(view) > 0:
        return view.mutual_information / initial_entropy(view)
    return 0.0


def class_discrimination(view: View) -> Floats:
    """The share of H that the class removes; its average over people is DR."""
    return share_of_initial_entropy(view, initial_entropy(view) - view.entropy)


def conditional_privacy(view: View) -> float:
    """CP = 1 - 2^-I: the share of the effective number of values that publication removes."""
    return float(-np.expm1(-view.mutual_information * np.log(2.0)))


def entropy_fall(view: View) -> Floats:
    """H - H(. | class) against the table's own marginal.

    MIL is its maximum (Calmon and Fawaz 2012).
    """
    return arrays.without_residue(initial_entropy(view) - view.entropy)


def entropy_fall_printed(view: View) -> Floats:
    """H - p(class) H(. | class), as in the re-identification rows of Bkakria's printed Table 4."""
    return arrays.without_residue(initial_entropy(view) - view.class_share * view.entropy)


def certainty(belief: Belief) -> Floats:
    """2^-H(W | class); ELD is its maximum, in the class with the least entropy."""
    return np.exp2(-belief.entropy)


def largest_l(belief: Belief) -> float:
    """l_max = 2^H(W): no generalization can reach a larger entropy l (Bezzi 2010, eq. 15).

    It depends on the table itself, not on the prior.
    """
    return float(np.exp2(belief.whole_table.entropy))


def equivalent_l(belief: Belief) -> Floats:
    """l_t = 2^(H - t): the l of the same effect as the t of the class (eq. 12).

    t is read as I1, and H is the entropy of the class's prior.
    """
    return np.exp2(belief.prior_entropy - surprise(belief))


def l_of_t(entropy: float, t: float) -> float:
    """l_t = 2^(H(W) - t)."""
    return float(np.exp2(entropy - t))


def share_of_initial_entropy(view: View, bits: Floats) -> Floats:
    """Bits / H; 0 if H is 0."""
    if initial_entropy(view) > 0:
        return arrays.without_residue(bits) / initial_entropy(view)
    return np.zeros(len(bits))
