# SPDX-License-Identifier: Apache-2.0
"""Columns on a terminal: the profile of each, and their ranking alone and in combination."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from divulge.report.text import Listing, bullet, grid, heading
from divulge.tasks.combinations import Combination, Numbers
from divulge.tasks.growing import Growth
from divulge.tasks.profile import ColumnProfile
from divulge.tasks.rank import Ranking


def profile_text(columns: Sequence[ColumnProfile], source: str) -> RenderableType:
    """One line per column, most identifying first."""
    rows = [
        (
            item.column, item.type, f"{item.distinct:,}", f"{item.nulls:,}", f"{item.entropy:.2f}", f"{item.discrimination_rate:.2f}",
            f"{item.itpr:.2f}", item.role, item.reason,
        )
        for item in sorted(columns, key=lambda item: -item.discrimination_rate)
    ]  # fmt: skip
    heads = ("column", "type", "distinct", "nulls", "entropy", "DR", "ITPR", "suggested role", "because")
    table = Listing(heads, rows, prose=2, right=[2, 3, 4, 5, 6])
    legend = "entropy in bits; DR and ITPR say how far the column alone identifies a record, from 0 to 1; nulls count as a value."
    return Group(Text(f"{source}: {len(columns)} columns"), table, Text(legend, style="dim"))


def ranking_text(ranking: Ranking, *, most: int = 15) -> RenderableType:
    """Attributes, combinations, and the smallest sets that identify."""
    head = ("DR", "ITPR", "k", "uniques", "distinction", "separation")
    attributes = grid("attribute", *head, "adds to the rest", right=range(1, 8))
    for item in ranking.attributes:
        attributes.add_row(item.attribute, *_identity_cells(item.alone.identity), f"{item.contribution:.4f}")
    parts: list[RenderableType] = [
        Text(
            f"{ranking.settings['source']}: {ranking.rows:,} rows; "
            f"all together: DR {ranking.everything.identity['discrimination_rate']:.4f}"
        ),
        heading("Each attribute"),
        attributes,
        heading(f"Combinations of up to {ranking.settings['up_to']}, the most identifying first"),
        _combinations(ranking.combinations[:most], ranking.settings["sensitive"]),
    ]
    if len(ranking.combinations) > most:
        parts.append(Text(f"... and {len(ranking.combinations) - most:,} more"))
    if ranking.pruned is not None:
        parts.append(
            Text(
                f"Not counted: {ranking.pruned.hold_a_smaller_one:,} that contain an identifying combination, "
                f"{ranking.pruned.cannot_reach:,} that cannot reach the threshold"
            )
        )
    parts.append(heading(f"The smallest combinations with DR of at least {ranking.threshold:g}"))
    if ranking.smallest:
        parts += [
            bullet(f"{' + '.join(item.columns)}: {item.identity['discrimination_rate']:.4f}")
            for item in ranking.smallest[:most]
        ]
    else:
        parts.append(bullet(f"none of up to {ranking.settings['up_to']} attributes"))
    if ranking.sets:
        parts += [heading("Your sets, side by side"), _combinations(ranking.sets, ranking.settings["sensitive"])]
    return Group(*parts, *(bullet(f"Note: {note}.") for note in ranking.notes))


def growth_text(growth: Growth) -> RenderableType:
    """Each attribute by itself, and the first n together."""
    head = ("DR", "ITPR", "k", "uniques", "distinction", "separation")
    learnt = [f"ITPR {name}" for name in growth.settings["sensitive"]]
    alone = grid("attribute", *head, *learnt, right=range(1, 7 + len(learnt)))
    for item in growth.alone:
        alone.add_row(item.columns[0], *_identity_cells(item.identity), *_itprs(item.sensitive))
    together = grid("first", "up to", "classes", *head, *learnt, right=[0, *range(2, 9 + len(learnt))])
    for step in growth.steps:
        together.add_row(
            f"{step.n:,}", step.attribute, f"{step.identity['classes']:,}", *_identity_cells(step.identity), *_itprs(step.sensitive)
        )  # fmt: skip
    return Group(
        Text(f"{growth.settings['source']}: {growth.rows:,} rows, {len(growth.alone)} attributes"),
        heading("Each attribute by itself"),
        alone,
        heading("The first attributes together"),
        together,
    )


def _itprs(sensitive: dict[str, Numbers]) -> list[str]:
    return [f"{numbers['itpr']:.4f}" for numbers in sensitive.values()]


def _combinations(items: Sequence[Combination], sensitive: Sequence[str]) -> RenderableType:
    learnt = [f"{short} {name}" for name in sensitive for short in ("L_D", "L_E", "I")]
    table = grid(
        "combination",
        "classes",
        "DR",
        "ITPR",
        "k",
        "uniques",
        "distinction",
        "separation",
        *learnt,
        right=range(1, 8 + len(learnt)),
    )
    for item in items:
        values = [
            f"{item.sensitive[name][metric]:.4f}"
            for name in sensitive
            for metric in ("distribution_leakage", "entropy_leakage", "mutual_information")
        ]
        table.add_row(
            " + ".join(item.columns), f"{item.identity['classes']:,}", *_identity_cells(item.identity), *values
        )
    return table


def _identity_cells(identity: Numbers) -> list[str]:
    shares = [f"{identity[name]:.4f}" for name in ("discrimination_rate", "itpr", "distinction", "separation")]
    return [*shares[:2], f"{identity['k_anonymity']:,}", f"{identity['uniques']:,}", *shares[2:]]
