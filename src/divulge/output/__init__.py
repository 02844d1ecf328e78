# SPDX-License-Identifier: Apache-2.0
"""Views of results: text for a terminal, JSON documents, tables and HTML.

Each module shows one family of results. It is imported when such a result is first shown.
"""

import importlib
import importlib.util
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import a module of this package when it is first used, as in `output.attack`."""
    if name.startswith("_") or importlib.util.find_spec(f"divulge.output.{name}") is None:
        raise AttributeError(f"module 'divulge.output' has no attribute {name!r}")
    return importlib.import_module(f"divulge.output.{name}")
