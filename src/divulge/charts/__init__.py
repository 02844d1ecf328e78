# SPDX-License-Identifier: Apache-2.0
"""Altair charts of results.

`result.chart()` draws the main chart of a result. `save` writes any chart as .svg, .png or .html.
"""

from divulge.charts.attacks import knowledge, success
from divulge.charts.classes import (
    before_and_after,
    class_sizes,
    independence,
    information,
    leakages,
)
from divulge.charts.columns import distributions, known_columns, sets
from divulge.charts.dossiers import disinformation, records, timeline
from divulge.charts.files import as_json, check_path, drawing_script, save
from divulge.charts.releases import after_each_release, compared, front, groups, what_is_left

__all__ = [
    "after_each_release",
    "as_json",
    "before_and_after",
    "check_path",
    "class_sizes",
    "compared",
    "disinformation",
    "distributions",
    "drawing_script",
    "front",
    "groups",
    "independence",
    "information",
    "knowledge",
    "known_columns",
    "leakages",
    "records",
    "save",
    "sets",
    "success",
    "timeline",
    "what_is_left",
]
