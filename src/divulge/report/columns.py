# SPDX-License-Identifier: Apache-2.0
"""Columns on a terminal: the profile of each, and their ranking alone and in combination."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from divulge.metrics import RankingTable, ordering_metric, ranked_metrics
from divulge.report.text import Listing, bullet, grid, heading
from divulge.tasks.combinations import BESIDE_METRICS, Combination, Numbers
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
    symbol, heads = ordering_metric().symbol, _identity_heads("combinations")
    attributes = grid("attribute", *heads, "adds to the rest", right=range(1, len(heads) + 2))
    for item in ranking.attributes:
        attributes.add_row(
            item.attribute, *_identity_cells(item.alone.identity, "combinations"), f"{item.contribution:.4f}"
        )
    parts: list[RenderableType] = [
        Text(
            f"{ranking.settings['source']}: {ranking.rows:,} rows; all together: {symbol} {ranking.everything.rate:.4f}"
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
    parts.append(heading(f"The smallest combinations with {symbol} of at least {ranking.threshold:g}"))
    if ranking.smallest:
        parts += [bullet(f"{' + '.join(item.columns)}: {item.rate:.4f}") for item in ranking.smallest[:most]]
    else:
        parts.append(bullet(f"none of up to {ranking.settings['up_to']} attributes"))
    if ranking.sets:
        parts += [heading("Your sets, side by side"), _combinations(ranking.sets, ranking.settings["sensitive"])]
    return Group(*parts, *(bullet(f"Note: {note}.") for note in ranking.notes))


def growth_text(growth: Growth) -> RenderableType:
    """Each attribute by itself, and the first n together."""
    heads = [*_identity_heads("growth"), *_sensitive_heads("growth", growth.settings["sensitive"])]
    alone = grid("attribute", *heads, right=range(1, len(heads) + 1))
    for item in growth.alone:
        alone.add_row(
            item.columns[0], *_identity_cells(item.identity, "growth"), *_sensitive_cells(item.sensitive, "growth")
        )
    together = grid("first", "up to", *heads, right=[0, *range(2, len(heads) + 2)])
    for step in growth.steps:
        together.add_row(
            f"{step.n:,}",
            step.attribute,
            *_identity_cells(step.identity, "growth"),
            *_sensitive_cells(step.sensitive, "growth"),
        )
    return Group(
        Text(f"{growth.settings['source']}: {growth.rows:,} rows, {len(growth.alone)} attributes"),
        heading("Each attribute by itself"),
        alone,
        heading("The first attributes together"),
        together,
    )


def _combinations(items: Sequence[Combination], sensitive: Sequence[str]) -> RenderableType:
    heads = [*_identity_heads("combinations"), *_sensitive_heads("combinations", sensitive)]
    table = grid("combination", *heads, right=range(1, len(heads) + 1))
    for item in items:
        table.add_row(
            " + ".join(item.columns),
            *_identity_cells(item.identity, "combinations"),
            *_sensitive_cells(item.sensitive, "combinations"),
        )
    return table


def _identity_heads(where: RankingTable) -> list[str]:
    return [*(metric.ranked for metric in ranked_metrics("identity", where)), *BESIDE_METRICS]


def _identity_cells(numbers: Numbers, where: RankingTable) -> list[str]:
    return [_cell(numbers[metric.name]) for metric in ranked_metrics("identity", where)] + [
        _cell(numbers[name]) for name in BESIDE_METRICS
    ]


def _sensitive_heads(where: RankingTable, attributes: Sequence[str]) -> list[str]:
    return [f"{metric.ranked} {name}" for name in attributes for metric in ranked_metrics("sensitive", where)]


def _sensitive_cells(sensitive: dict[str, Numbers], where: RankingTable) -> list[str]:
    shown = ranked_metrics("sensitive", where)
    return [_cell(numbers[metric.name]) for numbers in sensitive.values() for metric in shown]


def _cell(number: float) -> str:
    """A count, or a share or bits with four digits."""
    return f"{number:,}" if isinstance(number, int) else f"{number:.4f}"
