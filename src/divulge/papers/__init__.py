# SPDX-License-Identifier: Apache-2.0
"""What only the reproduction of the papers needs: their distances, experiments, and methods side by side."""

from divulge.papers import simulate
from divulge.papers.distances import Comparison, compare_distances
from divulge.papers.side_by_side import side_by_side
from divulge.papers.simulate import Figure3, Run, Simulation, Table5, Timings

__all__ = [
    "Comparison", "Figure3", "Run", "Simulation", "Table5", "Timings", "compare_distances", "side_by_side", "simulate",
]  # fmt: skip
