# SPDX-License-Identifier: Apache-2.0
"""The quick form of each paper, computed once for all tests."""

from __future__ import annotations

from functools import cache

from reproduction import Reproduction, reproduce


@cache
def quick(paper: str) -> Reproduction:
    """Result of `python -m reproduction PAPER --quick`."""
    return reproduce(paper, quick=True)
