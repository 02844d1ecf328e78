# SPDX-License-Identifier: Apache-2.0
"""Results for readers: in words, on a terminal, as JSON, as charts. One file for each kind of result, loaded when one is looked at."""

import importlib
import importlib.util
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """`views.attack`: the file of a kind of result, loaded now."""
    if name.startswith("_") or importlib.util.find_spec(f"divulge.views.{name}") is None:
        raise AttributeError(f"module 'divulge.views' has no attribute {name!r}")
    return importlib.import_module(f"divulge.views.{name}")
