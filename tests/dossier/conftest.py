# SPDX-License-Identifier: Apache-2.0
"""A folder into which tests of commands write their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dossier.commands import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a JSON document, or CSV text, and return its path."""

    def to_file(name: str, document: Any) -> str:
        path = tmp_path / name
        path.write_text(
            document if isinstance(document, str) else json.dumps(document), encoding="utf-8"
        )
        return str(path)

    return to_file
