# SPDX-License-Identifier: Apache-2.0
"""divulge measures what a table tells an adversary about the people in it, and publishes a version that tells less.

The public names are imported when first used: `import divulge` itself loads no engine, no frames and no charts. `__init__.pyi` tells
type checkers what each of them is.
"""

from __future__ import annotations

import importlib
from typing import Any

from divulge.version import __version__

_NAMES = {
    "api.measure": "measure",
    "api.check": "check check_anatomized",
    "api.profile": "profile",
    "api.rank": "rank growing",
    "api.perturbed": "perturbed",
    "api.generalize": "generalize tradeoff cut",
    "api.apply": "apply",
    "api.anatomize": "advise anatomize",
    "api.query": "query open_release",
    "api.attack": "attack",
    "api.report": "report",
    "api.utility": "utility",
    "api.compare": "compare",
    "api.compose": "compose",
    "publish": "reseal",
    "ledger": "Ledger",
    "table": "read",
    "metrics": "METRICS Measurement",
    "belief": "Adversary",
    "policy": "Policy Protection",
    "errors": "DivulgeError",
    "engines": "DuckDBEngine SparkEngine",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
_ROOMS = ("charts", "datasets", "dossier", "papers")

__all__ = ["__version__", *_HOMES, *_ROOMS]  # noqa: PLE0604 - the names are resolved by __getattr__


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"divulge.{_HOMES[name]}"), name)
    if name in _ROOMS:
        return importlib.import_module(f"divulge.{name}")
    raise AttributeError(f"module 'divulge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
