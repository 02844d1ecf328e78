# SPDX-License-Identifier: Apache-2.0
"""What is told about all classes together: bands of risk, records to leave out or to repair, and which metrics say the same."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from divulge import metrics, results
from divulge.views.words import bullet, cell, class_name, grid, heading, number, people, percent


def _about(attribute: str | None) -> str:
    return "re-identification" if attribute is None else f"inference of {attribute}"


@results.text_of.register(metrics.RiskBands)
def bands_text(found: metrics.RiskBands) -> RenderableType:
    """Who is in which band, and what ITPR grows with."""
    low, high = found.settings["itpr_bands"]
    parts: list[RenderableType] = [
        heading(f"Bands of ITPR: low to {number(low)}, moderate to {number(high)}, high above")
    ]
    for about in found.about:
        parts.append(
            bullet(f"Risk of {_about(about.attribute)}: {about.band}, ITPR {number(about.itpr)}; {_driven(about)}.")
        )
        table = grid("band", "classes", "people", "share", right=[1, 2, 3])
        for band in about.bands:
            table.add_row(band.name, f"{band.classes:,}", f"{band.people:,}", percent(band.share))
        parts.append(Padding(table, (0, 0, 0, 2)))
    bounds = found.settings["itpr_bands_from"]
    parts.append(
        Text(f"Epsilon, lambda and theta: Bkakria et al. 2021, eqs. 13-15. The bounds: {bounds}.", style="dim")
    )
    return Group(*parts)


def _driven(about: metrics.BandsOf) -> str:
    """What it grows with, in words and in the paper's letters."""
    told = [f"class sizes differ by up to {number(about.epsilon)} (epsilon)"]
    if about.lambda_ is not None:
        told.append(f"values in a class by {number(about.lambda_)} (lambda)")
    return ", ".join([*told, f"entropy falls by up to {number(about.theta)} bits (theta)"])


@results.document_of.register(metrics.RiskBands)
def bands_document(found: metrics.RiskBands) -> dict[str, Any]:
    """As part of `divulge measure --json`."""
    return {
        "bounds": found.settings["itpr_bands"],
        "bounds_from": found.settings["itpr_bands_from"],
        "about": [about.document() for about in found.about],
        "settings": found.settings,
    }


@results.rows_of.register(metrics.RiskBands)
def bands_rows(found: metrics.RiskBands) -> results.Rows:
    """Every band of identity, then of each sensitive attribute."""
    return ("attribute", "band", "above", "up_to", "classes", "people", "share"), [
        (about.attribute, band.name, band.above, band.up_to, band.classes, band.people, band.share)
        for about in found.about
        for band in about.bands
    ]


@results.text_of.register(metrics.Repair)
def repair_text(found: metrics.Repair) -> RenderableType:
    """Each step, and what is left after it."""
    what = "Records to leave out" if found.how == "records" else "Values to repair"
    parts: list[RenderableType] = [
        heading(
            f"{what} for the most fall of the risk of {_about(found.attribute)}: "
            f"ITPR {number(found.itpr)} to {number(found.after)}"
        )
    ]
    table = grid("", "class", "people", "", "ITPR then", "DR then", "people at it", prose=1, right=[0, 2, 4, 5, 6])
    before = (number(found.itpr), number(found.discrimination_rate), f"{found.people_at_worst:,}")
    table.add_row("", "as it is", "", "", *before)
    for place, step in enumerate(found.steps, start=1):
        done = "left out" if step.column is None else f"{step.column} becomes {cell(step.instead)}"
        numbers = (number(step.itpr), number(step.discrimination_rate), f"{step.people_at_worst:,}")
        table.add_row(f"{place}.", class_name(step.key), f"{step.people:,}", done, *numbers)
    changed = people(sum(step.people for step in found.steps))
    told = (
        f"Greedy, {changed} in all: each step leaves the least ITPR that one more class can, and another choice of as many "
        f"classes may leave less. It ended because {found.why_ended}."
    )
    if found.after >= 1 and found.steps:
        # A class that leaves no entropy has 1 whatever the others are.
        told += f" It falls below 1 only when none of the {people(found.steps[-1].people_at_worst)} still at it is left there."
    if found.how == "cells":
        told += " A repair is what the table would be if the value were wrong; whether it is, only its owner knows."
    return Group(*parts, table, Text(told, style="dim"))


@results.document_of.register(metrics.Repair)
def repair_document(found: metrics.Repair) -> dict[str, Any]:
    """As part of `divulge measure --json`."""
    document: dict[str, Any] = results.plain(found)
    document["steps"] = [{"class": step.pop("key"), **step} for step in document["steps"]]
    return document


@results.rows_of.register(metrics.Repair)
def repair_rows(found: metrics.Repair) -> results.Rows:
    """What is now, as step 0, and each step."""
    return found.table()


@results.text_of.register(metrics.Independence)
def independence_text(found: metrics.Independence) -> RenderableType:
    """Each order of classes, who shares it, and how far the others are."""
    about = "identity" if found.attribute is None else found.attribute
    ranked, weighed = found.settings["compared_classes"], found.settings["weighed_by"]
    table = grid(
        "metrics that order the classes alike", "closest other", "correlation", "independence", prose=0, right=[2, 3]
    )
    for order in found.orders:
        numbers = ["" if value is None else f"{value:.3f}" for value in (order.correlation, order.independence)]
        table.add_row(", ".join(order.metrics), order.closest or "", *numbers)
    parts: list[RenderableType] = [
        heading(
            f"Which metrics say the same about {about}: {len(found.orders)} orders of {ranked:,} classes by "
            f"{len(found.names)} metrics"
        ),
        table,
    ]
    if found.two_leakages is not None:
        told = "Distribution and entropy leakage, which Afifi et al. 2018 chose as independent, correlate by"
        parts.append(bullet(f"{told} {found.two_leakages:.3f} on these classes."))
    if found.constant:
        parts.append(bullet(f"The same in every class, so without an order: {', '.join(found.constant)}."))
    depends = (
        f"Spearman's correlation of ranks, higher is worse, weighed by {weighed}; independence is 1 minus the mean absolute "
        "correlation with the other orders. It is about this table's classes only."
    )
    return Group(*parts, Text(depends, style="dim"))


@results.document_of.register(metrics.Independence)
def independence_document(found: metrics.Independence) -> dict[str, Any]:
    """As part of `divulge measure --json`."""
    return {
        "attribute": found.attribute,
        "orders": list(found.orders),
        "two_leakages": found.two_leakages,
        "constant": list(found.constant),
        "metrics": list(found.names),
        "correlation": found.correlation.tolist(),
        "settings": found.settings,
    }


@results.rows_of.register(metrics.Independence)
def independence_rows(found: metrics.Independence) -> results.Rows:
    """Every pair of metrics."""
    return ("metric", "other", "correlation"), [
        (one, other, float(found.correlation[at, place]))
        for at, one in enumerate(found.names)
        for place, other in enumerate(found.names)
        if place != at
    ]
