# SPDX-License-Identifier: Apache-2.0
"""The places of the studio, in the order of its tabs; each is a file of this folder, which shows results of the library.

A place is imported when it is first needed: charts and attacks take longer to load than a table takes to be read.
"""

from __future__ import annotations

import importlib
from typing import Any

PLACES = ("table", "risk", "levels", "promises", "anatomize", "attack", "publish", "dossier")

__all__ = ["PLACES", "place_named"]


def place_named(name: str) -> Any:
    """The place of that name."""
    return importlib.import_module(f"divulge.studio.places.{name}").PLACE
