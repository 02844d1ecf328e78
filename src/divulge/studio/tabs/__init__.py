# SPDX-License-Identifier: Apache-2.0
"""The tabs of the studio, in their order.

Each tab is a module of this folder that shows results of the library. It is imported when it is
first needed: charts and attacks take longer to load than a table takes to read.
"""

from __future__ import annotations

import importlib
from typing import Any

TABS = ("table", "risk", "levels", "promises", "anatomize", "attack", "publish", "dossier")

__all__ = ["TABS", "load_tab"]


def load_tab(name: str) -> Any:
    """Return the tab of that name."""
    return importlib.import_module(f"divulge.studio.tabs.{name}").TAB
