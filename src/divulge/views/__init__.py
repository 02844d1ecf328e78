# SPDX-License-Identifier: Apache-2.0
"""Results for readers: in words, on a terminal, as JSON, as charts. One file for each kind of result, loaded when one is looked at."""

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """`views.attack`: the file of a kind of result, loaded now."""
    if name.startswith("_"):
        raise AttributeError(f"module 'divulge.views' has no attribute {name!r}")
    return importlib.import_module(f"divulge.views.{name}")
