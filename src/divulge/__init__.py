# SPDX-License-Identifier: Apache-2.0
"""divulge measures what a table tells an adversary about the people in it, and publishes a version that tells less.

The public names are imported when first used: `import divulge` itself loads no engine, no frames and no charts.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "measure": "divulge.tasks.measure",
    "check": "divulge.tasks.check",
    "profile": "divulge.tasks.profile",
    "rank": "divulge.tasks.rank",
    "growing": "divulge.tasks.growing",
    "perturbed": "divulge.tasks.perturbed",
    "generalize": "divulge.tasks.generalize",
    "tradeoff": "divulge.tasks.tradeoff",
    "cut": "divulge.tasks.cut",
    "apply": "divulge.tasks.apply",
    "anatomize": "divulge.tasks.anatomize",
    "query": "divulge.tasks.query",
    "open_release": "divulge.tasks.query",
    "check_anatomized": "divulge.tasks.check_anatomized",
    "compare_distances": "divulge.metrics.distances",
    "read": "divulge.table.read",
    "METRICS": "divulge.metrics",
    "Measurement": "divulge.metrics.measurement",
    "Adversary": "divulge.belief",
    "Policy": "divulge.policy",
    "Protection": "divulge.policy",
    "DivulgeError": "divulge.errors",
    "SparkEngine": "divulge.engines.spark",
}
_MODULES = ("datasets", "dossier")

__all__ = ["__version__", *_PUBLIC, *_MODULES]  # noqa: PLE0604 - the names are resolved by __getattr__


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"divulge.{name}")
    raise AttributeError(f"module 'divulge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """A package where a folder does not hide the function of the same name: divulge.generalize(...) is the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds each folder as an attribute; `from divulge.generalize.plan import Plan` does not need it.
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
