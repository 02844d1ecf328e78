# SPDX-License-Identifier: Apache-2.0
"""What only the reproduction of the papers needs."""

from divulge.papers.distances import Comparison, compare_distances
from divulge.papers.simulate import Run, Table5Row, Timing

__all__ = ["Comparison", "Run", "Table5Row", "Timing", "compare_distances"]
