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


# --- Bayes vulnerability: how often she is right who always takes her best guess, before and after publication ----------
# Quantitative information flow (Smith 2009; Alvim et al. 2012 and 2020) takes the table for a channel: somebody's class goes out, the
# secret is who it is or what the person has. The prior vulnerability is the largest prior probability; the posterior one is the average
# over people of the largest probability in the class, sum over classes of the commonest value's count / n. What publication adds is told
# as difference (additive leakage), as ratio (multiplicative leakage) and as bits (min-entropy leakage, log2 of the ratio). Where a guess
# may be near, or one of several, the same are the g-vulnerabilities of that gain function (belief/belief.py).
# Merging classes never makes the posterior vulnerability larger, whatever the gain: with G(c, g) the people of class c whom guess g gets
# right, max_g (G(a, g) + G(b, g)) <= max_g G(a, g) + max_g G(b, g), for each term on the left is at most the sum of both maxima; n stays.
# The leakages rise and fall with it as long as the prior stays. In one class it is convex in the posterior, as a maximum of linear
# functions.
def prior_vulnerability(view: View) -> float:
    """The chance of the best guess before publication: of the likeliest value, or of the person who is in most classes."""
    return view.person_share if isinstance(view, Identity) else view.mean_prior_vulnerability


def posterior_vulnerability(view: View) -> float:
    """The same after publication, on average over people; of identity q/n, one person right in each class."""
    return view.classes / view.total if isinstance(view, Identity) else view.mean_vulnerability


def class_vulnerability(view: View) -> Floats:
    """The chance of the best guess about somebody in the class."""
    return 1.0 / view.sizes if isinstance(view, Identity) else view.vulnerability


def additive_leakage(view: View) -> float:
    """Posterior less prior; below 0 only against a prior that is surer of itself than the table is."""
    return float(arrays.without_residue(np.asarray(posterior_vulnerability(view) - prior_vulnerability(view))))


def class_additive_leakage(view: View) -> Floats:
    """The class's chance less the prior's; with one prior their average is the table's."""
    return arrays.without_residue(class_vulnerability(view) - _prior_of_class(view))


def multiplicative_leakage(view: View) -> float:
    """Posterior over prior: how many times as often she is right."""
    return posterior_vulnerability(view) / prior_vulnerability(view)


def class_multiplicative_leakage(view: View) -> Floats:
    """The class's chance over the prior's; with one prior their average is the table's."""
    return class_vulnerability(view) / _prior_of_class(view)


def min_entropy_leakage(view: View) -> float:
    """log2 of posterior over prior: the fall of min-entropy, in bits."""
    return float(arrays.without_residue(np.log2(np.asarray(multiplicative_leakage(view)))))


def _prior_of_class(view: View) -> Floats | float:
    return view.person_share if isinstance(view, Identity) else view.prior_vulnerability
