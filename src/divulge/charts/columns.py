# SPDX-License-Identifier: Apache-2.0
"""Charts of columns.

They show how identifying columns and sets of columns are, the effect of the number of known
columns, and distributions before and after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np

from divulge import metrics, ranking, releases, results
from divulge.charts import theme
from divulge.counting import Domain
from divulge.errors import BadInput, nearest
from divulge.queries import Utility
from divulge.text import as_text

_MOST_SETS = 20
_MOST_CLASSES = 40
_MOST_VALUES = 24
"""Largest number of bars for one column; neighboring values share a bar if there are more."""
_UNIQUES = next(metric.name for metric in metrics.METRICS if metric.of_table is metrics.uniques)
_LEAKAGES = {
    next(metric.name for metric in metrics.METRICS if metric.per_class is of): title
    for of, title in (
        (metrics.distribution_leakage, "change of the distribution (L_D)"),
        (metrics.entropy_leakage, "change of uncertainty, bits (L_E)"),
    )
}


# --- columns and sets of columns ------------------------------------------------------------------
@theme.chart_function
def sets(result: ranking.Ranking, attribute: str | None = None) -> Any:
    """Draw how identifying each column and the most identifying sets of columns are.

    With a sensitive attribute, further panels show the leakage of the worst class of each set. Sets
    that the user passed are shown without the others. If those sets were anonymized to meet a
    policy, the chart shows every class of each set (Afifi et al. 2018, Fig. 4).

    Args:
        result: output of `dv.rank`
        attribute: one of several sensitive attributes; by default the first

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "age": [30, 30]})
        >>> chart = dv.charts.sets(dv.rank(people, quasi_identifiers=["zip", "age"]))
    """
    attribute_name = _sensitive_attribute(result, attribute)
    if attribute_name is not None and any(item.classes for item in result.anonymized):
        return _anonymized_sets_chart(result, attribute_name)
    column_sets = result.sets or _most_identifying_sets(result)
    names = theme.unique_labels(
        (" + ".join(map(theme.readable, item.columns)) for item in column_sets), max_length=46
    )
    rows = [
        {
            "set": label,
            "rate": item.rate,
            "kind": "identifies"
            if item.rate >= result.threshold - metrics.TOLERANCE
            else "does not",
            **{
                f"v{index}": _finite_or_none(item.sensitive[attribute_name][name])
                for index, name in enumerate(_LEAKAGES)
                if attribute_name
            },
        }
        for label, item in zip(names, column_sets, strict=True)
    ]
    kinds = ["identifies", "does not"]
    colours = [theme.WARNING, theme.ACCENT]
    colour = alt.Color("kind:N", legend=None, scale=alt.Scale(domain=kinds, range=colours))
    rate_panel = _bar_panel(
        rows, "rate", "share of what names a person (DR)", labels=True, colour=colour, domain=[0, 1]
    )
    threshold_line = (
        alt.Chart(theme.data_of([{"at": result.threshold}]))
        .mark_rule(color=theme.INK, strokeDash=[5, 4])
        .encode(x="at:Q")
    )
    panels = [alt.layer(rate_panel, threshold_line)]
    if attribute_name:
        titles = enumerate(_LEAKAGES.values())
        panels += [
            _bar_panel(rows, f"v{index}", title, colour=alt.value(theme.ACCENT))
            for index, title in titles
        ]
    threshold_note = f"Dashed: {result.threshold:g}, from where on a set counts as identifying."
    leakage_note = ""
    if attribute_name:
        attribute_text = theme.readable(attribute_name, 30)
        leakage_note = f" The other two panels: what the worst class tells about {attribute_text}."
    combination_count = len(result.combinations)
    return theme.finished(
        alt.hconcat(*panels, spacing=18),
        "How much each column, and each set of columns, gives away",
        threshold_note + leakage_note,
        ""
        if result.sets
        else theme.omission_sentence(
            len(rows), combination_count, "columns and sets", "that say most about who somebody is"
        ),
        "Not every set was counted, only those that can be among the smallest identifying ones."
        if result.pruned
        else "",
    )


def _anonymized_sets_chart(result: ranking.Ranking, about: str) -> Any:
    """Draw both leakages of every class of each anonymized set.

    The classes are numbered in the order of their values.
    """
    shown_sets = [item for item in result.anonymized if item.classes][: len(theme.SEVERAL)]
    names = theme.unique_labels(
        (" + ".join(map(theme.readable, item.columns)) for item in shown_sets), max_length=46
    )
    rows = [
        {
            "set": label,
            "number": class_number,
            "class": ", ".join(
                theme.readable(value, 30) for value in published_class.values.values()
            ),
            "people": published_class.people,
            **{
                f"v{i}": _finite_or_none(published_class.sensitive[about][name])
                for i, name in enumerate(_LEAKAGES)
            },
        }
        for label, item in zip(names, shown_sets, strict=True)
        for class_number, published_class in enumerate(item.classes[:_MOST_CLASSES], start=1)
    ]
    panels = [
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT * 2 // 3)
        .mark_line(point=True)
        .encode(
            x=alt.X("number:O", title="class", axis=alt.Axis(labelAngle=0)),
            y=alt.Y(f"v{i}:Q", title=title),
            color=alt.Color(
                "set:N",
                title=None,
                scale=alt.Scale(domain=names, range=list(theme.SEVERAL[: len(names)])),
            ),
            strokeDash=alt.StrokeDash(
                "set:N", scale=alt.Scale(domain=names, range=list(theme.DASHES[: len(names)]))
            ),
            shape=alt.Shape("set:N", scale=alt.Scale(domain=names)),
            tooltip=[alt.Tooltip(f"{field}:N") for field in ("set", "class", "people", f"v{i}")],
        )
        for i, title in enumerate(_LEAKAGES.values())
    ]
    is_truncated = max(len(item.classes) for item in shown_sets) > _MOST_CLASSES
    return theme.finished(
        alt.vconcat(*panels, spacing=24),
        f"What each class tells about {theme.readable(about, 30)}, set by set",
        "Each set was made coarser until it keeps "
        f"{', '.join(map(theme.readable, result.settings['promises']))}.",
        "Classes are numbered in the order of their values, so that the same number in two sets "
        "is not the same people.",
        f"Shown: the first {_MOST_CLASSES} classes of each set." if is_truncated else "",
        theme.omission_sentence(
            len(shown_sets), len(result.anonymized), "sets", "that can keep the promises"
        ),
    )


def _sensitive_attribute(result: ranking.Ranking, attribute: str | None) -> str | None:
    attributes = list(result.everything.sensitive)
    if attribute is not None and attribute not in attributes:
        if attributes:
            hint = nearest(attribute, attributes)
        else:
            hint = "none was named"
        raise BadInput(f"{attribute!r} is not a sensitive attribute here", hint=hint)
    return attribute or next(iter(attributes), None)


def _most_identifying_sets(result: ranking.Ranking) -> list[ranking.Combination]:
    """Single columns up to half of the limit, then the most identifying larger sets.

    The list is sorted by discrimination rate, largest first.
    """
    single = [item for item in result.combinations if len(item.columns) == 1][: _MOST_SETS // 2]
    others = [item for item in result.combinations if len(item.columns) > 1][
        : _MOST_SETS - len(single)
    ]
    return sorted([*single, *others], key=lambda item: -item.rate)


def _finite_or_none(value: float) -> float | None:
    if np.isfinite(value):
        return float(value)
    return None


def _bar_panel(
    rows: list[dict[str, Any]],
    field: str,
    title: str,
    *,
    colour: Any,
    labels: bool = False,
    domain: list[float] | None = None,
) -> Any:
    """Draw one panel of horizontal bars; of several panels, only the first has row labels."""
    if domain:
        scale = alt.Scale(domain=domain)
    else:
        scale = alt.Scale(domainMin=0, nice=True)
    return (
        alt.Chart(theme.data_of(rows), width=190, height=alt.Step(19))
        .mark_bar()
        .encode(
            y=alt.Y("set:N", sort=None, title=None, axis=alt.Axis() if labels else None),
            x=alt.X(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5)),
            color=colour,
            tooltip=[
                alt.Tooltip("set:N", title="columns"),
                alt.Tooltip(f"{field}:Q", title=title, format=".4f"),
            ],
        )
    )


@theme.chart_function
def known_columns(result: ranking.Ranking | ranking.Growth) -> Any:
    """Draw the share of unique people by the number of columns that the adversary knows.

    The line is the median of all sets of that size, the band their range. If no person is unique,
    or people own several rows, the chart shows the discrimination rate instead. A result of
    `dv.growing` has one set of each size, so the chart has a line and no band.

    Args:
        result: output of `dv.rank` without pruning, or of `dv.growing`

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "age": [30, 30]})
        >>> chart = dv.charts.known_columns(dv.rank(people, quasi_identifiers=["zip", "age"]))
    """
    by_size: dict[int, list[float]] = defaultdict(list)
    score, axis_title = _set_score(result)
    if isinstance(result, ranking.Growth):
        for step in result.steps:
            by_size[step.n].append(score(step.identity))
    else:
        if result.pruned is not None:
            raise BadInput(
                "not every set was counted, so their range is not known", hint="rank without prune"
            )
        for item in result.combinations:
            by_size[len(item.columns)].append(score(item.identity))
        column_count = len(result.everything.columns)
        if column_count not in by_size:
            by_size[column_count].append(score(result.everything.identity))
    rows = [
        {
            "columns": size,
            "low": min(values),
            "middle": float(np.median(values)),
            "high": max(values),
            "sets": len(values),
        }
        for size, values in sorted(by_size.items())
    ]
    sizes = [row["columns"] for row in rows]
    axis = alt.Axis(values=sizes[:: max(1, len(sizes) // 12)], format="d")
    base = alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT).encode(
        x=alt.X(
            "columns:Q", title="columns the adversary knows", axis=axis, scale=alt.Scale(nice=False)
        )
    )
    percent = alt.Axis(format="%")
    band = base.mark_area(color=theme.ACCENT, opacity=0.18).encode(
        y=alt.Y("low:Q", title=axis_title, axis=percent, scale=alt.Scale(domain=[0, 1])),
        y2="high:Q",
    )
    line = base.mark_line(point=alt.OverlayMarkDef(color=theme.ACCENT, size=45)).encode(
        y=alt.Y("middle:Q"),
        tooltip=[
            alt.Tooltip("columns:Q", title="columns known"),
            alt.Tooltip("sets:Q", title="sets of that size", format=",d"),
            alt.Tooltip("low:Q", title="least", format=".2%"),
            alt.Tooltip("middle:Q", title="middle", format=".2%"),
            alt.Tooltip("high:Q", title="most", format=".2%"),
        ],
    )
    if isinstance(result, ranking.Growth):
        return theme.finished(
            line.encode(
                y=alt.Y("middle:Q", title=axis_title, axis=percent, scale=alt.Scale(domain=[0, 1]))
            ),
            "How much must one know?",
            "The columns are added in the order in which they were named.",
        )
    subtitle = (
        "Line: the middle of all sets of that many columns; shaded: from the least to the most "
        "telling set."
    )
    column_count = len(result.everything.columns)
    if len(sizes) > 1 and sizes[-1] - sizes[-2] > 1:
        gap = sizes[-2]
    else:
        gap = 0
    if gap:
        omission_note = (
            f"Sets of {gap + 1} to {column_count - 1} columns were not counted; all {column_count} "
            "are one set."
        )
    else:
        omission_note = ""
    return theme.finished(alt.layer(band, line), "How much must one know?", subtitle, omission_note)


def _set_score(result: ranking.Ranking | ranking.Growth) -> tuple[Any, str]:
    """Return a function that scores a set of columns, and the title of the axis.

    The score is the share of unique people. If no person is unique, or people own several rows, it
    is the discrimination rate.
    """
    # The set of all columns has the most unique people.
    largest = result.everything if isinstance(result, ranking.Ranking) else result.steps[-1]
    if result.settings.get("person") is not None or not largest.identity[_UNIQUES]:
        name = metrics.ordering_metric().name
        return (lambda numbers: float(numbers[name])), "share of what names a person"
    return (
        lambda numbers: float(numbers[_UNIQUES]) / max(result.rows, 1)
    ), "people who are alone with these values"


# --- distributions --------------------------------------------------------------------------------
@theme.chart_function
def distributions(result: releases.GeneralizedRelease | Utility, column: str | None = None) -> Any:
    """Draw the distribution of one column in the original and in the release.

    Args:
        result: output of `dv.generalize`, or of `dv.utility` for any release
        column: a quasi-identifier or a sensitive column, or any published column of a utility; by
            default the column that lost the largest share of its values

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
        >>> release = dv.generalize(people, policy={"k_anonymity": 2}, quasi_identifiers="zip")
        >>> chart = dv.charts.distributions(release, "zip")
    """
    if isinstance(result, Utility):
        default_candidates = valid_columns = list(result.shares)
        kind = "a published column"
        total_count = result.rows
        suppressed_count = result.rows - result.published
        unit = "records"
    else:
        default_candidates = list(result.plan.recoding.columns)
        valid_columns = [*default_candidates, *result.before.contingency.cells]
        kind = "a quasi-identifier or a sensitive column"
        total_count = int(result.before.contingency.sizes.sum())
        suppressed_count = result.plan.suppressed
        unit = "people"
    if column is None:
        column = max(default_candidates, key=lambda name: _values_lost(result, name))
    elif column not in valid_columns:
        raise BadInput(f"{column!r} is not {kind}", hint=nearest(column, valid_columns))
    before, after = _shares(result, column)
    if suppressed_count > 0:
        suppression_note = f"{suppressed_count:,} of {total_count:,} {unit} were left out."
    else:
        suppression_note = ""
    panels = [
        _histogram(rows, title, colour)
        for rows, title, colour in (
            (before, "before", theme.BEFORE),
            (after, "published", theme.ACCENT),
        )
    ]
    chart = alt.hconcat(*panels, spacing=34).resolve_scale(x="shared")
    return theme.finished(
        chart,
        f"{theme.readable(column, 40)}, before and after",
        f"Shares of the {unit} in the original.",
        suppression_note,
    )


def _values_lost(result: releases.GeneralizedRelease | Utility, column: str) -> float:
    before, after = _shares(result, column)
    return 1 - len(after) / max(len(before), 1)


Shares = list[tuple[str, float]]


def _shares(result: releases.GeneralizedRelease | Utility, column: str) -> tuple[Shares, Shares]:
    """Return (value, share) pairs of the original and (label, share) pairs of the release.

    Labels are in the order of the first value they stand for.
    """
    if isinstance(result, Utility):
        original, release = result.shares[column]
        return _readable_shares(original), _readable_shares(release)
    contingency = result.before.contingency
    total = float(contingency.sizes.sum())
    recoding = result.plan.recoding
    if column not in recoding.columns:
        before = contingency.cells[column]
        after = result.after.contingency.cells[column]
        mass = float(before.marginal.sum())  # sum of survey weights, if there are any
        return _domain_shares(before.domain, before.marginal, mass), _domain_shares(
            after.domain, after.marginal, mass
        )
    position = recoding.columns.index(column)
    domain = contingency.keys[position]
    values = contingency.codes[position]
    labels = recoding.labels[position]
    codes = recoding.codes[position]
    published_mask = recoding.published_mask
    first_values: dict[int, int] = {}
    for code, value in sorted(
        zip(codes[published_mask].tolist(), values[published_mask].tolist(), strict=True),
        key=lambda pair: pair[1],
    ):
        first_values.setdefault(code, value)
    published = np.bincount(
        codes[published_mask], weights=contingency.sizes[published_mask], minlength=len(labels)
    )
    return (
        _domain_shares(
            domain, np.bincount(values, weights=contingency.sizes, minlength=len(domain)), total
        ),
        [
            (theme.readable(labels[code]), float(published[code]) / total)
            for code in sorted(first_values, key=first_values.__getitem__)
        ],
    )


def _readable_shares(shares: Iterable[tuple[str | None, float]]) -> Shares:
    return [(theme.readable(value), share) for value, share in shares if share > 0]


def _domain_shares(domain: Domain, masses: Any, total: float) -> Shares:
    return [
        (theme.readable(as_text(label)), float(mass) / total)
        for label, mass in zip(domain.labels, masses, strict=True)
        if mass > 0
    ]


def _histogram(shares: Shares, title: str, colour: str) -> Any:
    """Draw one bar for each value; neighboring values share a bar if there are too many."""
    per_bar = -(-len(shares) // _MOST_VALUES)
    bins = [shares[start : start + per_bar] for start in range(0, len(shares), per_bar)]
    names = [
        bin_shares[0][0]
        if len(bin_shares) == 1
        else f"{theme.readable(bin_shares[0][0], 16)} … {theme.readable(bin_shares[-1][0], 16)}"
        for bin_shares in bins
    ]
    if per_bar > 1:
        bin_note = f", {per_bar:,} in a bar"
    else:
        bin_note = ""
    caption = f"{title}: {theme.count_phrase(len(shares), 'value', 'values')}{bin_note}"
    rows = [
        {"value": label, "share": sum(share for _, share in bin_shares)}
        for label, bin_shares in zip(theme.unique_labels(names), bins, strict=True)
    ]
    return (
        alt.Chart(
            theme.data_of(rows),
            width=200,
            height=alt.Step(16),
            title=alt.TitleParams(text=caption, fontSize=12, fontWeight=400, offset=6),
        )
        .mark_bar(color=colour)
        .encode(
            y=alt.Y("value:N", sort=None, title=None),
            x=alt.X("share:Q", title="share of people", axis=alt.Axis(format="%", tickCount=4)),
            tooltip=[
                alt.Tooltip("value:N", title="value"),
                alt.Tooltip("share:Q", title="share", format=".2%"),
            ],
        )
    )


results.chart_of.register(ranking.Ranking)(sets)
results.chart_of.register(ranking.Growth)(known_columns)
results.chart_of.register(Utility)(distributions)
