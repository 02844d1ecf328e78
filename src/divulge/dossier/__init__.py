# SPDX-License-Identifier: Apache-2.0
"""Dossier: what scattered records give away about one person (Whang and Garcia-Molina).

import divulge as dv

alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
dv.dossier.leakage(dv.dossier.Record.of({"N": ("Alice", 0.5), "A": "20"}), alice).leakage      # 0.65
"""

from __future__ import annotations

import importlib
from typing import Any

# These functions have the name of their module. Bound here, the function is what the package shows; as an attribute that
# is resolved later, it would be hidden by the module as soon as somebody imports that.
from divulge.dossier.enhance import enhance
from divulge.dossier.leakage import leakage
from divulge.dossier.resolve import resolve

_PUBLIC = {
    "Attribute": "record",
    "Augment": "adversary",
    "Chain": "adversary",
    "Correct": "adversary",
    "Cost": "adversary",
    "Database": "record",
    "Equivalence": "equivalence",
    "Joint": "joint",
    "Leakage": "leakage",
    "MatchRule": "matching",
    "Measure": "adversary",
    "Record": "record",
    "Resolve": "adversary",
    "SetLeakage": "leakage",
    "attack": "adversary",
    "candidates_of": "disinformation",
    "choose_disinformation": "disinformation",
    "compare": "decide",
    "dip": "adversary",
    "from_rows": "files",
    "incremental": "decide",
    "plan_disinformation": "plan",
    "possible_worlds": "other_methods",
    "read_database": "files",
    "read_record": "files",
    "read_weights": "files",
    "record_leakages": "leakage",
    "set_leakage": "leakage",
    "table_leakage": "tables",
    "timeline": "decide",
    "without": "decide",
    "write_database": "files",
}
_MODULES = ("simulate",)

__all__ = ["enhance", "leakage", "resolve", *_PUBLIC, *_MODULES]  # noqa: PLE0604 - the names are resolved by __getattr__


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"divulge.dossier.{_PUBLIC[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"divulge.dossier.{name}")
    raise AttributeError(f"module 'divulge.dossier' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
