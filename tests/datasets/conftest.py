# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the dataset tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.datasets.server import FileServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FileServer]:
    """A file server on loopback with an empty folder."""
    folder = tmp_path / "served"
    folder.mkdir()
    running = FileServer(folder)
    yield running
    running.stop()
