# SPDX-License-Identifier: Apache-2.0
"""divulge measures what a table tells an adversary about the people in it, and publishes a version that tells less.

The public names are imported when first used: `import divulge` itself loads no engine, no frames and no charts. `__init__.pyi` tells
type checkers what each of them is.
"""

from __future__ import annotations

import importlib
from typing import Any

from divulge.version import __version__

_HOMES = {
    "measure": "api.measure",
    "check": "api.measure",
    "profile": "api.profile",
    "rank": "api.rank",
    "growing": "api.rank",
    "perturbed": "api.perturbed",
    "generalize": "api.generalize",
    "tradeoff": "api.generalize",
    "cut": "api.generalize",
    "apply": "api.apply",
    "anatomize": "api.anatomize",
    "query": "api.query",
    "open_release": "api.query",
    "check_anatomized": "api.query",
    "compare_distances": "papers",
    "read": "table",
    "METRICS": "metrics",
    "Adversary": "belief",
    "Measurement": "metrics",
    "Policy": "policy",
    "Protection": "policy",
    "DivulgeError": "errors",
    "SparkEngine": "engines",
}
_ROOMS = ("datasets", "dossier", "papers")

__all__ = ["__version__", *_HOMES, *_ROOMS]  # noqa: PLE0604 - the names are resolved by __getattr__


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"divulge.{_HOMES[name]}"), name)
    if name in _ROOMS:
        return importlib.import_module(f"divulge.{name}")
    raise AttributeError(f"module 'divulge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
