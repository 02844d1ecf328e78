# SPDX-License-Identifier: Apache-2.0
"""Results for readers: in words, on a terminal, as JSON, as charts."""

from divulge.views.charts import (
    before_and_after_chart,
    distances_chart,
    leakage_chart,
    save_chart,
)
from divulge.views.columns import hierarchy_document, hierarchy_text
from divulge.views.measurement import story_text
from divulge.views.releases import suggestions_text
from divulge.views.words import Listing, grid, written_text

__all__ = [
    "Listing",
    "before_and_after_chart",
    "distances_chart",
    "grid",
    "hierarchy_document",
    "hierarchy_text",
    "leakage_chart",
    "save_chart",
    "story_text",
    "suggestions_text",
    "written_text",
]
