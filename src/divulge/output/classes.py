# SPDX-License-Identifier: Apache-2.0
"""Views of results about all classes of a measurement.

These are risk bands, records to suppress or to repair, and correlations of metrics.
"""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from divulge import metrics, results
from divulge.output.formatting import bullet, cell, grid, heading, number, people, percent
from divulge.text import class_name


def _risk_name(attribute: str | None) -> str:
    if attribute is None:
        return "re-identification"
    return f"inference of {attribute}"


@results.text_of.register(metrics.RiskBands)
def bands_text(risk_bands: metrics.RiskBands) -> RenderableType:
    """Render the number of people in each risk band, and the factors that increase ITPR."""
    low, high = risk_bands.settings["itpr_bands"]
    parts: list[RenderableType] = [
        heading(f"Bands of ITPR: low to {number(low)}, moderate to {number(high)}, high above")
    ]
    for about in risk_bands.about:
        parts.append(
            bullet(
                f"Risk of {_risk_name(about.attribute)}: {about.band}, ITPR {number(about.itpr)}; "
                f"{_risk_factors(about)}."
            )
        )
        table = grid("band", "classes", "people", "share", right=[1, 2, 3])
        for band in about.bands:
            table.add_row(band.name, f"{band.classes:,}", f"{band.people:,}", percent(band.share))
        parts.append(Padding(table, (0, 0, 0, 2)))
    bounds = risk_bands.settings["itpr_bands_from"]
    parts.append(
        Text(
            f"Epsilon, lambda and theta: Bkakria et al. 2021, eqs. 13-15. The bounds: {bounds}.",
            style="dim",
        )
    )
    return Group(*parts)


def _risk_factors(about: metrics.BandsOf) -> str:
    """Describe the factors that increase ITPR, in words and in the paper's symbols."""
    parts = [f"class sizes differ by up to {number(about.epsilon)} (epsilon)"]
    if about.lambda_ is not None:
        parts.append(f"values in a class by {number(about.lambda_)} (lambda)")
    return ", ".join([*parts, f"entropy falls by up to {number(about.theta)} bits (theta)"])


@results.document_of.register(metrics.RiskBands)
def bands_document(risk_bands: metrics.RiskBands) -> dict[str, Any]:
    """Return the risk bands as a part of `divulge measure --json`."""
    return {
        "bounds": risk_bands.settings["itpr_bands"],
        "bounds_from": risk_bands.settings["itpr_bands_from"],
        "about": [about.document() for about in risk_bands.about],
        "settings": risk_bands.settings,
    }


@results.rows_of.register(metrics.RiskBands)
def bands_rows(risk_bands: metrics.RiskBands) -> results.Rows:
    """Table of every band of identity, then of each sensitive attribute."""
    return ("attribute", "band", "above", "up_to", "classes", "people", "share"), [
        (about.attribute, band.name, band.above, band.up_to, band.classes, band.people, band.share)
        for about in risk_bands.about
        for band in about.bands
    ]


@results.text_of.register(metrics.Repair)
def repair_text(repair: metrics.Repair) -> RenderableType:
    """Render each step and the remaining risk after it."""
    if repair.how == "records":
        title = "Records to leave out"
    else:
        title = "Values to repair"
    parts: list[RenderableType] = [
        heading(
            f"{title} for the most fall of the risk of {_risk_name(repair.attribute)}: "
            f"ITPR {number(repair.itpr)} to {number(repair.after)}"
        )
    ]
    table = grid(
        "",
        "class",
        "people",
        "",
        "ITPR then",
        "DR then",
        "people at it",
        prose=1,
        right=[0, 2, 4, 5, 6],
    )
    before = (
        number(repair.itpr),
        number(repair.discrimination_rate),
        f"{repair.people_at_worst:,}",
    )
    table.add_row("", "as it is", "", "", *before)
    for step_number, step in enumerate(repair.steps, start=1):
        if step.column is None:
            treatment = "left out"
        else:
            treatment = f"{step.column} becomes {cell(step.instead)}"
        numbers = (number(step.itpr), number(step.discrimination_rate), f"{step.people_at_worst:,}")
        table.add_row(
            f"{step_number}.", class_name(step.key), f"{step.people:,}", treatment, *numbers
        )
    changed = people(sum(step.people for step in repair.steps))
    explanation = (
        f"Greedy, {changed} in all: each step leaves the least ITPR that one more class can, and "
        f"another choice of as many classes may leave less. It ended because {repair.why_ended}."
    )
    if repair.after >= 1 and repair.steps:
        # A class without remaining entropy has ITPR 1, whatever the other classes are.
        explanation += (
            f" It falls below 1 only when none of the {people(repair.steps[-1].people_at_worst)} "
            "still at it is left there."
        )
    if repair.how == "cells":
        explanation += (
            " A repair is what the table would be if the value were wrong; whether it is, only its "
            "owner knows."
        )
    return Group(*parts, table, Text(explanation, style="dim"))


@results.document_of.register(metrics.Repair)
def repair_document(repair: metrics.Repair) -> dict[str, Any]:
    """Return the repair as a part of `divulge measure --json`."""
    document: dict[str, Any] = results.plain(repair)
    document["steps"] = [{"class": step.pop("key"), **step} for step in document["steps"]]
    return document


@results.rows_of.register(metrics.Repair)
def repair_rows(repair: metrics.Repair) -> results.Rows:
    """Table with the current state as step 0, then each step."""
    return repair.table()


@results.text_of.register(metrics.Independence)
def independence_text(independence: metrics.Independence) -> RenderableType:
    """Render each order of classes, the metrics that share it, and its distance to others."""
    if independence.attribute is None:
        about = "identity"
    else:
        about = independence.attribute
    class_count = independence.settings["compared_classes"]
    weighting = independence.settings["weighed_by"]
    table = grid(
        "metrics that order the classes alike",
        "closest other",
        "correlation",
        "independence",
        prose=0,
        right=[2, 3],
    )
    for order in independence.orders:
        numbers = [
            "" if value is None else f"{value:.3f}"
            for value in (order.correlation, order.independence)
        ]
        table.add_row(", ".join(order.metrics), order.closest or "", *numbers)
    parts: list[RenderableType] = [
        heading(
            f"Which metrics say the same about {about}: {len(independence.orders)} orders of "
            f"{class_count:,} classes by {len(independence.names)} metrics"
        ),
        table,
    ]
    if independence.two_leakages is not None:
        sentence = (
            "Distribution and entropy leakage, which Afifi et al. 2018 chose as independent, "
            "correlate by"
        )
        parts.append(bullet(f"{sentence} {independence.two_leakages:.3f} on these classes."))
    if independence.constant:
        parts.append(
            bullet(
                f"The same in every class, so without an order: {', '.join(independence.constant)}."
            )
        )
    explanation = (
        f"Spearman's correlation of ranks, higher is worse, weighed by {weighting}; independence "
        "is 1 minus the mean absolute "
        "correlation with the other orders. It is about this table's classes only."
    )
    return Group(*parts, Text(explanation, style="dim"))


@results.document_of.register(metrics.Independence)
def independence_document(independence: metrics.Independence) -> dict[str, Any]:
    """Return the correlations as a part of `divulge measure --json`."""
    return {
        "attribute": independence.attribute,
        "orders": list(independence.orders),
        "two_leakages": independence.two_leakages,
        "constant": list(independence.constant),
        "metrics": list(independence.names),
        "correlation": independence.correlation.tolist(),
        "settings": independence.settings,
    }


@results.rows_of.register(metrics.Independence)
def independence_rows(independence: metrics.Independence) -> results.Rows:
    """Table with one row for each pair of metrics."""
    return ("metric", "other", "correlation"), [
        (metric, other, float(independence.correlation[index, other_index]))
        for index, metric in enumerate(independence.names)
        for other_index, other in enumerate(independence.names)
        if other_index != index
    ]
