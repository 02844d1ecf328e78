# SPDX-License-Identifier: Apache-2.0
"""Write docs/papers/*.md: `python -m tests.docs.papers`."""

from __future__ import annotations

from tests.docs.papers.all_pages import FOLDER, PAGES

for page in PAGES:
    (FOLDER / f"{page.name}.md").write_text(page.text(), encoding="utf-8")
