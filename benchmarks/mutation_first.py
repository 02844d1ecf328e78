# SPDX-License-Identifier: Apache-2.0
"""Pytest plugin that runs the import hook of benchmarks/mutation.py before pytest's own.

Pytest rewrites the asserts of files that are passed by name, and would load sources with examples
unchanged.
"""

from __future__ import annotations

import tests.conftest  # noqa: F401 - registers the Hypothesis profiles, even if only examples of sources run
from benchmarks.mutation import go_first


def pytest_sessionstart() -> None:
    """Move the import hook to the front."""
    go_first()
