# SPDX-License-Identifier: Apache-2.0
"""Every paper that has a page, and where the pages are."""

from __future__ import annotations

from pathlib import Path

from tests.docs.papers import bkakria, slppa, whang

FOLDER = Path(__file__).parents[3] / "docs" / "papers"
PAGES = (bkakria.PAGE, whang.PAGE, slppa.PAGE)
