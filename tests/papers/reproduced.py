# SPDX-License-Identifier: Apache-2.0
"""The quick form of each paper, computed once for all tests."""

from __future__ import annotations

from functools import cache

import divulge as dv
from divulge.papers import Reproduction


@cache
def quick(paper: str) -> Reproduction:
    """What `divulge papers PAPER --quick` finds."""
    return dv.papers.reproduce(paper, quick=True)
