# SPDX-License-Identifier: Apache-2.0
"""Reproduction of the five papers behind divulge: their tables, examples, figures and claims.

It is not part of the package: `make papers` and the tests run it from a clone of the repository.
The package finds the views and charts of these results because they are registered here.
"""

from reproduction import simulate
from reproduction.charts import figure
from reproduction.distances import Comparison, compare_distances
from reproduction.recompute import PAPERS, reproduce
from reproduction.simulate import Figure3, Run, Simulation, Table5, Timings
from reproduction.verdicts import VERDICTS, Figure, Paper, Reproduced, Reproduction, Row

__all__ = [
    "PAPERS",
    "VERDICTS",
    "Comparison",
    "Figure",
    "Figure3",
    "Paper",
    "Reproduced",
    "Reproduction",
    "Row",
    "Run",
    "Simulation",
    "Table5",
    "Timings",
    "compare_distances",
    "figure",
    "reproduce",
    "simulate",
]
