# SPDX-License-Identifier: Apache-2.0
"""ITPR, the information-theoretic privacy risk (Bkakria et al. 2021, Definitions 1 and 2).

Its drivers, risk bands and the records to suppress or repair are in itpr_repair.py.
"""

from __future__ import annotations

from divulge.arrays import Floats
from divulge.metrics.information import View, initial_entropy, share_of_initial_entropy


def itpr(view: View) -> Floats:
    """1 - |classes| p(class) H(. | class) / H.

    ITPR is its maximum (Bkakria et al. 2021, Definitions 1 and 2).
    """
    return share_of_initial_entropy(
        view, initial_entropy(view) - view.whole_table.classes * view.class_share * view.entropy
    )


def itpr_unscaled(view: View) -> Floats:
    """1 - p(class) H(. | class) / H: ITPR without the number of classes (eq. 9).

    Its maximum is never below 1 - 1/|classes|.
    """
    return share_of_initial_entropy(view, initial_entropy(view) - view.class_share * view.entropy)
