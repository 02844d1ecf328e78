# SPDX-License-Identifier: Apache-2.0
"""From rows to counts: the only place before publishing where rows are read."""

from divulge.count.contingency import Cells, Contingency, Domain
from divulge.count.counting import Nulls, count

__all__ = ["Cells", "Contingency", "Domain", "Nulls", "count"]
