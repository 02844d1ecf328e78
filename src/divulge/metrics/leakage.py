# SPDX-License-Identifier: Apache-2.0
"""Distribution leakage and entropy leakage of a class (Afifi et al. 2018, Definitions 6 and 9).

The maxima are the epsilon of Definition 7 and the alpha of Definition 10. Entropy leakage is a
pseudometric: it is 0 for a permutation of the prior, so both metrics are needed. Theorem 3(2) and
the remark on convexity are wrong there; see docs/papers/errata.md.
"""

from __future__ import annotations

import numpy as np

from divulge import arrays
from divulge.adversary import Belief
from divulge.arrays import Floats


def distribution_leakage(belief: Belief) -> Floats:
    """L_D: the Euclidean distance between prior and posterior."""
    present = belief.cells.sum_by_class((belief.posterior - belief.prior_of_cell) ** 2)
    return np.sqrt(present + belief.absent_prior(2))


def entropy_leakage(belief: Belief) -> Floats:
    """L_E: the absolute change of entropy, in bits."""
    return np.abs(arrays.without_residue(belief.prior_entropy - belief.entropy))
