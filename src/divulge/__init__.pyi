# SPDX-License-Identifier: Apache-2.0
"""Types of the public names for type checkers; `__init__.py` imports the names on first use."""

from divulge import charts as charts
from divulge import datasets as datasets
from divulge import dossier as dossier
from divulge.adversary import Adversary as Adversary
from divulge.api.advise import advise as advise
from divulge.api.anatomize import anatomize as anatomize
from divulge.api.apply import apply as apply
from divulge.api.attack import attack as attack
from divulge.api.check import check as check
from divulge.api.compare import compare as compare
from divulge.api.compose import compose as compose
from divulge.api.cut import cut as cut
from divulge.api.generalize import generalize as generalize
from divulge.api.measure import measure as measure
from divulge.api.opened import open_release as open_release
from divulge.api.perturbed import perturbed as perturbed
from divulge.api.profile import profile as profile
from divulge.api.query import query as query
from divulge.api.rank import growing as growing
from divulge.api.rank import rank as rank
from divulge.api.report import report as report
from divulge.api.side_by_side import side_by_side as side_by_side
from divulge.api.tradeoff import tradeoff as tradeoff
from divulge.api.utility import utility as utility
from divulge.engines import DuckDBEngine as DuckDBEngine
from divulge.engines import SparkEngine as SparkEngine
from divulge.errors import DivulgeError as DivulgeError
from divulge.ledger import Ledger as Ledger
from divulge.metrics import METRICS as METRICS
from divulge.metrics import Measurement as Measurement
from divulge.policy import Policy as Policy
from divulge.policy import Protection as Protection
from divulge.sources import read as read
from divulge.version import __version__ as __version__
