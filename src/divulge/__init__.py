# SPDX-License-Identifier: Apache-2.0
"""Measure the disclosure risk of tables of personal data and release anonymized versions.

Public names are imported when they are first used: `import divulge` itself loads no engine, no
frames and no charts. `__init__.pyi` declares their types for type checkers.
"""

from __future__ import annotations

import importlib

from divulge.version import __version__

TYPE_CHECKING = False  # so that `typing` is not loaded before signals are handled
if TYPE_CHECKING:
    from typing import Any

_NAMES_BY_MODULE = {
    "api.measure": "measure",
    "api.check": "check",
    "api.profile": "profile",
    "api.rank": "rank growing",
    "api.perturbed": "perturbed",
    "api.generalize": "generalize",
    "api.tradeoff": "tradeoff",
    "api.cut": "cut",
    "api.apply": "apply",
    "api.advise": "advise",
    "api.anatomize": "anatomize",
    "api.opened": "open_release",
    "api.query": "query",
    "api.attack": "attack",
    "api.report": "report",
    "api.side_by_side": "side_by_side",
    "api.utility": "utility",
    "api.compare": "compare",
    "api.compose": "compose",
    "ledger": "Ledger",
    "sources": "read",
    "metrics": "METRICS Measurement",
    "adversary": "Adversary",
    "policy": "Policy Protection",
    "errors": "DivulgeError",
    "engines": "DuckDBEngine SparkEngine",
}
_MODULE_BY_NAME = {name: home for home, names in _NAMES_BY_MODULE.items() for name in names.split()}
_SUBPACKAGES = ("charts", "datasets", "dossier")

__all__ = ["__version__", *_MODULE_BY_NAME, *_SUBPACKAGES]  # noqa: PLE0604 - the names are resolved by __getattr__


def __getattr__(name: str) -> Any:
    if name in _MODULE_BY_NAME:
        return getattr(importlib.import_module(f"divulge.{_MODULE_BY_NAME[name]}"), name)
    if name in _SUBPACKAGES:
        return importlib.import_module(f"divulge.{name}")
    raise AttributeError(f"module 'divulge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
