# SPDX-License-Identifier: Apache-2.0
"""docs/reference/environment.md names every variable that divulge looks at, and no others."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_variable_is_documented() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    used = set(re.findall(r"\b_?DIVULGE_[A-Z_]+\b", source))
    assert used == set(re.findall(r"^\| `(_?DIVULGE_[A-Z_]+)`", page, re.MULTILINE))
