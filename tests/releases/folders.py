# SPDX-License-Identifier: Apache-2.0
"""Contents of a folder, including hidden files; copies of releases with their private part."""

from __future__ import annotations

import shutil
from pathlib import Path

from divulge.releases import private_place


def names(folder: Path) -> list[str]:
    """Return the names of everything in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


def copy_release(release: Path, target: Path) -> Path:
    """Copy a release and its private part; returns the copy."""
    shutil.copytree(release, target)
    shutil.copytree(private_place(release), private_place(target))
    return target
