# SPDX-License-Identifier: Apache-2.0
"""The five papers behind divulge, recomputed: every printed table, example, figure and claim beside ours."""

from divulge.papers import simulate
from divulge.papers.distances import Comparison, compare_distances
from divulge.papers.recompute import PAPERS, reproduce
from divulge.papers.reproduction import VERDICTS, Figure, Paper, Reproduced, Reproduction, Row
from divulge.papers.side_by_side import side_by_side
from divulge.papers.simulate import Figure3, Run, Simulation, Table5, Timings

__all__ = [
    "PAPERS", "VERDICTS", "Comparison", "Figure", "Figure3", "Paper", "Reproduced", "Reproduction", "Row", "Run", "Simulation",
    "Table5", "Timings", "compare_distances", "reproduce", "side_by_side", "simulate",
]  # fmt: skip
