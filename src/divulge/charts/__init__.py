# SPDX-License-Identifier: Apache-2.0
"""Pictures of results, as Altair charts: `result.chart()` draws the main one, `save` writes any of them as .svg, .png or .html."""

from divulge.charts.classes import before_and_after, class_sizes, leakages
from divulge.charts.files import as_json, check_path, drawing_script, save
from divulge.charts.papers import distances

__all__ = [
    "as_json", "before_and_after", "check_path", "class_sizes", "distances", "drawing_script", "leakages", "save",
]  # fmt: skip
