# SPDX-License-Identifier: Apache-2.0
"""Information about an attribute, or about who somebody is, that a class, or the table on average, gives away.

Bezzi 2010: one-symbol information I1 to I4, the limits l_max and l_t. Bkakria et al. 2021: DR, CP, MIL, ELD and ITPR, with the corrected
readings (docs/papers/errata.md) and the printed variants under names of their own. All in bits, 0 log 0 = 0.

I1 and I2 compare with the prior; the rest describe the published table itself and use its own marginal. Where the prior is the table's
own, which is the default, the two agree: I1, I2 and I3 then average to the mutual information. Of a `View`, what there is to learn is
H = H(W), the attribute's entropy, or H(X), that of a uniform choice among people.
"""

from __future__ import annotations

import numpy as np

from divulge import arrays
from divulge.arrays import Floats
from divulge.belief import Belief
from divulge.metrics.identity import Identity

View = Belief | Identity


def _to_learn(view: View) -> float:
    return view.person_entropy if isinstance(view, Identity) else view.whole.entropy


def surprise(belief: Belief) -> Floats:
    """I1: the Kullback-Leibler distance of class from prior; t-closeness as Bezzi reads it (eq. 7)."""
    return belief.surprise


def average_surprise(belief: Belief) -> float:
    """I1 on average over people: the mutual information where the prior is the table's own (eq. 9), more where it is another."""
    return belief.mean_surprise


def specific_information(belief: Belief) -> Floats:
    """I2: the fall of entropy from prior to class; negative where the class is more uncertain."""
    return arrays.without_residue(belief.prior_entropy - belief.entropy)


def averaged_information(belief: Belief) -> Floats:
    """I3: the fall of the class's entropy that its values bring, averaged over them."""
    per_value = belief.whole.class_entropy - belief.whole.class_entropy_of_value
    return arrays.without_residue(belief.cells.sum_by_class(belief.posterior * per_value[belief.cells.value]))


def set_information(belief: Belief) -> Floats:
    """I4: the mutual information between the attribute and "in this class or not"."""
    inside = belief.class_share
    outside_total = np.maximum(belief.whole.total - belief.cells.totals, 0.0)
    own = belief.whole.shares[belief.cells.value]
    within = belief.cells.sum_by_class(belief.posterior * np.log2(belief.posterior / own))
    rest = belief.whole.marginal[belief.cells.value] - belief.cells.mass
    scale = outside_total[belief.cells.class_index]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(rest > 0, rest / scale, 1.0)
        terms = np.where(rest > 0, share * np.log2(share / own), 0.0)
        absent = (outside_total - belief.cells.sum_by_class(rest)) / outside_total
        without = belief.cells.sum_by_class(terms) + absent * -np.log2(1.0 - inside)
    without = np.where(outside_total > 0, without, 0.0)
    return np.maximum(inside * within + (1.0 - inside) * without, 0.0)


def mutual_information(view: View) -> float:
    """I = H - H(. | class) of the published table: the average of I1, I2 and I3."""
    return view.mutual_information


def remaining_entropy(view: View) -> float:
    """H(. | class): what is left to learn on average, Shannon's conditional entropy."""
    return _to_learn(view) - view.mutual_information


def discrimination_rate(view: View) -> float:
    """DR = I / H; 0 when there was nothing to learn."""
    return view.mutual_information / _to_learn(view) if _to_learn(view) > 0 else 0.0


def class_discrimination(view: View) -> Floats:
    """The share of H that the class takes away; its average over people is DR."""
    return _relative(view, _to_learn(view) - view.entropy)


def conditional_privacy(view: View) -> float:
    """CP = 1 - 2^-I: the share of the effective number of values that publication takes away."""
    return float(-np.expm1(-view.mutual_information * np.log(2.0)))


def entropy_fall(view: View) -> Floats:
    """H - H(. | class) against the table's own marginal; MIL is its maximum (Calmon and Fawaz 2012)."""
    return arrays.without_residue(_to_learn(view) - view.entropy)


def entropy_fall_printed(view: View) -> Floats:
    """H - p(class) H(. | class): the variant behind the printed re-identification rows of Bkakria's Table 4."""
    return arrays.without_residue(_to_learn(view) - view.class_share * view.entropy)


def certainty(belief: Belief) -> Floats:
    """2^-H(W | class); ELD is its maximum, the class with the least entropy."""
    return np.exp2(-belief.entropy)


def itpr(view: View) -> Floats:
    """1 - |classes| p(class) H(. | class) / H; ITPR is its maximum (Bkakria et al. 2021, Definitions 1 and 2)."""
    return _relative(view, _to_learn(view) - view.whole.classes * view.class_share * view.entropy)


def itpr_unscaled(view: View) -> Floats:
    """The same without the number of classes (eq. 9), never below 1 - 1/|classes|."""
    return _relative(view, _to_learn(view) - view.class_share * view.entropy)


def largest_l(belief: Belief) -> float:
    """l_max = 2^H(W): no generalization can reach a larger entropy l (Bezzi 2010, eq. 15); of the table itself, whatever the prior is."""
    return float(np.exp2(belief.whole.entropy))


def equivalent_l(belief: Belief) -> Floats:
    """l_t = 2^(H - t) for the t of the class, read as I1, and the H of the prior behind it: the l of the same effect (eq. 12)."""
    return np.exp2(belief.prior_entropy - surprise(belief))


def l_of_t(entropy: float, t: float) -> float:
    """l_t = 2^(H(W) - t)."""
    return float(np.exp2(entropy - t))


def _relative(view: View, bits: Floats) -> Floats:
    return arrays.without_residue(bits) / _to_learn(view) if _to_learn(view) > 0 else np.zeros(len(bits))


# --- leakage (Afifi et al. 2018, Definitions 6 and 9) -----------------------------------------------------------------
# The maxima are the epsilon of Definition 7 and the alpha of Definition 10. Entropy leakage is a pseudometric: a permutation of the prior
# leaks 0 by it, which is why both are needed (Theorem 3(2) and the remark on convexity are wrong there; see docs/papers/errata.md).
def distribution_leakage(belief: Belief) -> Floats:
    """L_D: the Euclidean distance between prior and posterior."""
    present = belief.cells.sum_by_class((belief.posterior - belief.prior_of_cell) ** 2)
    return np.sqrt(present + belief.absent_prior(2))


def entropy_leakage(belief: Belief) -> Floats:
    """L_E: the absolute change of entropy, in bits."""
    return np.abs(arrays.without_residue(belief.prior_entropy - belief.entropy))
