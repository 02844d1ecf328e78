# SPDX-License-Identifier: Apache-2.0
"""What is in a folder, hidden things too."""

from __future__ import annotations

from pathlib import Path


def names(folder: Path) -> list[str]:
    """The names of everything in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())
