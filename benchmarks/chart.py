# SPDX-License-Identifier: Apache-2.0
"""The chart that several benchmarks write: time against rows, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def draw_lines(points: Sequence[dict[str, Any]], path: str) -> None:
    """A line for each `what` through its points of `rows` and `seconds`, as .svg or .png."""
    import altair as alt

    chart = (
        alt.Chart(alt.InlineData(values=list(points)), title="Time against rows", width=460, height=320)
        .mark_line(point=True)
        .encode(
            x=alt.X("rows:Q", scale=alt.Scale(type="log")),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log")),
            color=alt.Color("what:N", title=None),
        )
    )
    chart.save(path)
