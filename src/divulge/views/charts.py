# SPDX-License-Identifier: Apache-2.0
"""Charts as Altair specifications; SVG and PNG come out without a browser and without the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from divulge import metrics
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.views.measurement import shifts
from divulge.views.words import class_name

_MOST_CLASSES = 5_000


def leakage_chart(measurement: Measurement, attribute: str) -> Any:
    """Each class by its two leakages (Afifi et al. 2018, Figs. 2a and 3a in one): what one of them misses, the other shows."""
    import altair as alt

    belief = measurement.beliefs[attribute]
    classes, sizes = belief.classes, measurement.contingency.sizes
    distribution, entropy = metrics.distribution_leakage(belief), metrics.entropy_leakage(belief)
    order = np.argsort(-(distribution + entropy))[:_MOST_CLASSES]
    rows = [
        {
            "class": class_name(measurement.contingency.class_key(int(classes[index]))),
            "distribution leakage": float(distribution[index]),
            "entropy leakage (bits)": float(entropy[index]),
            "people": int(sizes[classes[index]]),
        }
        for index in order
    ]
    return (
        alt.Chart(data_of(rows), title=f"What each class gives away about {attribute}", width=460, height=320)
        .mark_circle(opacity=0.65)
        .encode(
            x=alt.X("distribution leakage:Q"),
            y=alt.Y("entropy leakage (bits):Q"),
            size=alt.Size("people:Q", scale=alt.Scale(type="sqrt")),
            tooltip=["class:N", "people:Q"],
        )
    )


def before_and_after_chart(measurement: Measurement, index: int, attribute: str) -> Any:
    """The prior beside the distribution in one class (Figs. 2b and 3b)."""
    import altair as alt

    ruled_out, _ = shifts(measurement, index, attribute)
    belief = measurement.beliefs[attribute]
    position = int(np.searchsorted(belief.classes, index))
    before = belief.prior.of_class(position)
    inside = belief.cells.of_class(position)
    total = sum(inside.values())
    rows: list[dict[str, Any]] = []
    for code, label in enumerate(belief.cells.domain.labels):
        text = "null" if label is None else str(label)
        rows.append({"value": text, "share": float(before[code]), "when": "before"})
        rows.append({"value": text, "share": inside.get(code, 0.0) / total, "when": "in this class"})
    size = int(measurement.contingency.sizes[index])
    title = f"{class_name(measurement.contingency.class_key(index))} ({size} people): {len(ruled_out)} values ruled out"
    return (
        alt.Chart(data_of(rows), title=title, width=460, height=320)
        .mark_bar()
        .encode(
            y=alt.Y("value:N", sort=None, title=attribute),
            yOffset=alt.YOffset("when:N", sort=["before", "in this class"]),
            x=alt.X("share:Q", axis=alt.Axis(format="%")),
            color=alt.Color("when:N", sort=["before", "in this class"], title=None),
        )
    )


def save_chart(chart: Any, path: str | Path) -> Path:
    """Write a chart as .svg, .png, .json (Vega-Lite) by the name's ending."""
    target = Path(path)
    if target.suffix not in (".svg", ".png", ".json"):
        raise BadInput(f"a chart cannot be written as {target.suffix!r}", hint="use .svg, .png or .json")
    chart.save(str(target), **({"scale_factor": 2} if target.suffix == ".png" else {}))
    return target


def data_of(rows: list[dict[str, Any]]) -> Any:
    """Rows as Altair takes them."""
    import altair as alt

    return alt.Data(values=rows)  # type: ignore[no-untyped-call]
