# SPDX-License-Identifier: Apache-2.0
"""Pictures of columns: how much each of them and each set says, what one must know, and what becomes of their distributions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np

from divulge import metrics, publish, ranking, results
from divulge.api.utility import Utility
from divulge.charts import theme
from divulge.count import Domain
from divulge.errors import BadInput, nearest
from divulge.values import as_text

_MOST_SETS = 20
_MOST_CLASSES = 40
_MOST_VALUES = 24
"""Bars of one column; further values stand together."""
_UNIQUES = next(metric.name for metric in metrics.METRICS if metric.of_table is metrics.uniques)
_LEAKAGES = {
    next(metric.name for metric in metrics.METRICS if metric.per_class is of): title
    for of, title in (
        (metrics.distribution_leakage, "change of the distribution (L_D)"),
        (metrics.entropy_leakage, "change of uncertainty, bits (L_E)"),
    )
}


# --- how much columns and sets say ------------------------------------------------------------------------------------
@theme.drawn
def sets(found: ranking.Ranking, attribute: str | None = None) -> Any:
    """Each column and the most telling sets of columns: what they say about who somebody is, and what their worst class tells.

    Sets that were given to be compared are shown alone; with every class where they keep a policy (Afifi et al. 2018, Fig. 4).

    Args:
        found: what `dv.rank` gave
        attribute: one of several sensitive attributes; by default the first

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "age": [30, 30]})
        >>> chart = dv.charts.sets(dv.rank(people, quasi_identifiers=["zip", "age"]))
    """
    about = _about(found, attribute)
    if about is not None and any(item.classes for item in found.anonymized):
        return _published_sets(found, about)
    chosen = found.sets or _most_telling(found)
    names = theme.labels_of((" + ".join(map(theme.readable, item.columns)) for item in chosen), most=46)
    rows = [
        {
            "set": label,
            "rate": item.rate,
            "kind": "identifies" if item.rate >= found.threshold - metrics.TOLERANCE else "does not",
            **{f"v{place}": _finite(item.sensitive[about][name]) for place, name in enumerate(_LEAKAGES) if about},
        }
        for label, item in zip(names, chosen, strict=True)
    ]
    kinds, colours = ["identifies", "does not"], [theme.WARNING, theme.ACCENT]
    colour = alt.Color("kind:N", legend=None, scale=alt.Scale(domain=kinds, range=colours))
    first = _bars(rows, "rate", "share of what names a person (DR)", labels=True, colour=colour, domain=[0, 1])
    line = (
        alt.Chart(theme.data_of([{"at": found.threshold}]))
        .mark_rule(color=theme.INK, strokeDash=[5, 4])
        .encode(x="at:Q")
    )
    panels = [alt.layer(first, line)]
    if about:
        titles = enumerate(_LEAKAGES.values())
        panels += [_bars(rows, f"v{place}", title, colour=alt.value(theme.ACCENT)) for place, title in titles]
    told = f"Dashed: {found.threshold:g}, from where on a set counts as identifying."
    worst = f" The other two panels: what the worst class tells about {theme.readable(about, 30)}." if about else ""
    of = len(found.combinations)
    return theme.finished(
        alt.hconcat(*panels, spacing=18),
        "How much each column, and each set of columns, gives away",
        told + worst,
        "" if found.sets else theme.shown_of(len(rows), of, "columns and sets", "that say most about who somebody is"),
        "Not every set was counted, only those that can be among the smallest identifying ones."
        if found.pruned
        else "",
    )


def _published_sets(found: ranking.Ranking, about: str) -> Any:
    """Both leakages of every class of each set, the classes numbered in the order of their values."""
    chosen = [item for item in found.anonymized if item.classes][: len(theme.SEVERAL)]
    names = theme.labels_of((" + ".join(map(theme.readable, item.columns)) for item in chosen), most=46)
    rows = [
        {
            "set": label,
            "number": place,
            "class": ", ".join(theme.readable(value, 30) for value in one.values.values()),
            "people": one.people,
            **{f"v{i}": _finite(one.sensitive[about][name]) for i, name in enumerate(_LEAKAGES)},
        }
        for label, item in zip(names, chosen, strict=True)
        for place, one in enumerate(item.classes[:_MOST_CLASSES], start=1)
    ]
    panels = [
        alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT * 2 // 3)
        .mark_line(point=True)
        .encode(
            x=alt.X("number:O", title="class", axis=alt.Axis(labelAngle=0)),
            y=alt.Y(f"v{i}:Q", title=title),
            color=alt.Color(
                "set:N", title=None, scale=alt.Scale(domain=names, range=list(theme.SEVERAL[: len(names)]))
            ),
            strokeDash=alt.StrokeDash("set:N", scale=alt.Scale(domain=names, range=list(theme.DASHES[: len(names)]))),
            shape=alt.Shape("set:N", scale=alt.Scale(domain=names)),
            tooltip=[alt.Tooltip(f"{field}:N") for field in ("set", "class", "people", f"v{i}")],
        )
        for i, title in enumerate(_LEAKAGES.values())
    ]
    cut = max(len(item.classes) for item in chosen) > _MOST_CLASSES
    return theme.finished(
        alt.vconcat(*panels, spacing=24),
        f"What each class tells about {theme.readable(about, 30)}, set by set",
        f"Each set was made coarser until it keeps {', '.join(map(theme.readable, found.settings['promises']))}.",
        "Classes are numbered in the order of their values, so that the same number in two sets is not the same people.",
        f"Shown: the first {_MOST_CLASSES} classes of each set." if cut else "",
        theme.shown_of(len(chosen), len(found.anonymized), "sets", "that can keep the promises"),
    )


def _about(found: ranking.Ranking, asked: str | None) -> str | None:
    known = list(found.everything.sensitive)
    if asked is not None and asked not in known:
        hint = nearest(asked, known) if known else "none was named"
        raise BadInput(f"{asked!r} is not a sensitive attribute here", hint=hint)
    return asked or next(iter(known), None)


def _most_telling(found: ranking.Ranking) -> list[ranking.Combination]:
    """The columns by themselves as far as there is room, then the sets that say most; the most telling first."""
    single = [item for item in found.combinations if len(item.columns) == 1][: _MOST_SETS // 2]
    others = [item for item in found.combinations if len(item.columns) > 1][: _MOST_SETS - len(single)]
    return sorted([*single, *others], key=lambda item: -item.rate)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _bars(
    rows: list[dict[str, Any]],
    field: str,
    title: str,
    *,
    colour: Any,
    labels: bool = False,
    domain: list[float] | None = None,
) -> Any:
    """One panel of horizontal bars; only the first of several says which is which."""
    scale = alt.Scale(domain=domain) if domain else alt.Scale(domainMin=0, nice=True)
    return (
        alt.Chart(theme.data_of(rows), width=190, height=alt.Step(19))
        .mark_bar()
        .encode(
            y=alt.Y("set:N", sort=None, title=None, axis=alt.Axis() if labels else None),
            x=alt.X(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5)),
            color=colour,
            tooltip=[alt.Tooltip("set:N", title="columns"), alt.Tooltip(f"{field}:Q", title=title, format=".4f")],
        )
    )


@theme.drawn
def known_columns(found: ranking.Ranking | ranking.Growth) -> Any:
    """How many people are alone for somebody who knows one, two, three … columns: the middle of all sets of that size, and the range.

    Where nobody is alone, or people own several rows: which share of the bits that name a person the columns give.
    Of growing sets there is one set of each size, so that there is a line and no range.

    Args:
        found: what `dv.rank` gave, without pruning, or `dv.growing`

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "age": [30, 30]})
        >>> chart = dv.charts.known_columns(dv.rank(people, quasi_identifiers=["zip", "age"]))
    """
    by_size: dict[int, list[float]] = defaultdict(list)
    share, words = _alone_or_rate(found)
    if isinstance(found, ranking.Growth):
        for step in found.steps:
            by_size[step.n].append(share(step.identity))
    else:
        if found.pruned is not None:
            raise BadInput("not every set was counted, so their range is not known", hint="rank without prune")
        for item in found.combinations:
            by_size[len(item.columns)].append(share(item.identity))
        whole = len(found.everything.columns)
        if whole not in by_size:
            by_size[whole].append(share(found.everything.identity))
    rows = [
        {
            "columns": size, "low": min(values), "middle": float(np.median(values)), "high": max(values), "sets": len(values),
        }
        for size, values in sorted(by_size.items())
    ]  # fmt: skip
    sizes = [row["columns"] for row in rows]
    axis = alt.Axis(values=sizes[:: max(1, len(sizes) // 12)], format="d")
    base = alt.Chart(theme.data_of(rows), width=theme.WIDTH, height=theme.HEIGHT).encode(
        x=alt.X("columns:Q", title="columns the adversary knows", axis=axis, scale=alt.Scale(nice=False))
    )
    percent = alt.Axis(format="%")
    band = base.mark_area(color=theme.ACCENT, opacity=0.18).encode(
        y=alt.Y("low:Q", title=words, axis=percent, scale=alt.Scale(domain=[0, 1])), y2="high:Q"
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
    if isinstance(found, ranking.Growth):
        return theme.finished(
            line.encode(y=alt.Y("middle:Q", title=words, axis=percent, scale=alt.Scale(domain=[0, 1]))),
            "How much must one know?",
            "The columns are added in the order in which they were named.",
        )
    told = "Line: the middle of all sets of that many columns; shaded: from the least to the most telling set."
    whole = len(found.everything.columns)
    gap = sizes[-2] if len(sizes) > 1 and sizes[-1] - sizes[-2] > 1 else 0
    left_out = f"Sets of {gap + 1} to {whole - 1} columns were not counted; all {whole} are one set." if gap else ""
    return theme.finished(alt.layer(band, line), "How much must one know?", told, left_out)


def _alone_or_rate(found: ranking.Ranking | ranking.Growth) -> tuple[Any, str]:
    """How a set is judged: by the share of people who are alone; where nobody is, or people own several rows, by bits that name them."""
    # The set of all columns leaves the most people alone.
    largest = found.everything if isinstance(found, ranking.Ranking) else found.steps[-1]
    if found.settings.get("person") is not None or not largest.identity[_UNIQUES]:
        name = metrics.ordering_metric().name
        return (lambda numbers: float(numbers[name])), "share of what names a person"
    return (lambda numbers: float(numbers[_UNIQUES]) / max(found.rows, 1)), "people who are alone with these values"


# --- distributions ----------------------------------------------------------------------------------------------------
@theme.drawn
def distributions(found: publish.GeneralizedRelease | Utility, column: str | None = None) -> Any:
    """How the values of one column are distributed before and after: in the original, and in what is published.

    Args:
        found: what `dv.generalize` gave, or `dv.utility` of any release
        column: a quasi-identifier or a sensitive column; of a utility any published one; by default the one that lost the most values

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"]})
        >>> release = dv.generalize(people, policy={"k_anonymity": 2}, quasi_identifiers="zip")
        >>> chart = dv.charts.distributions(release, "zip")
    """
    if isinstance(found, Utility):
        coarse = names = list(found.shares)
        kind, all_of, gone, whom = "a published column", found.rows, found.rows - found.published, "records"
    else:
        coarse = list(found.plan.recoding.columns)
        names, kind = [*coarse, *found.before.contingency.cells], "a quasi-identifier or a sensitive column"
        all_of, gone, whom = int(found.before.contingency.sizes.sum()), found.plan.suppressed, "people"
    if column is None:
        column = max(coarse, key=lambda name: _values_lost(found, name))
    elif column not in names:
        raise BadInput(f"{column!r} is not {kind}", hint=nearest(column, names))
    before, after = _shares(found, column)
    left_out = f"{gone:,} of {all_of:,} {whom} were left out." if gone > 0 else ""
    panels = [
        _histogram(rows, title, colour)
        for rows, title, colour in ((before, "before", theme.BEFORE), (after, "published", theme.ACCENT))
    ]
    chart = alt.hconcat(*panels, spacing=34).resolve_scale(x="shared")
    return theme.finished(
        chart, f"{theme.readable(column, 40)}, before and after", f"Shares of the {whom} in the original.", left_out
    )


def _values_lost(found: publish.GeneralizedRelease | Utility, column: str) -> float:
    before, after = _shares(found, column)
    return 1 - len(after) / max(len(before), 1)


Shares = list[tuple[str, float]]


def _shares(found: publish.GeneralizedRelease | Utility, column: str) -> tuple[Shares, Shares]:
    """Values and their shares before, labels and theirs after; labels in the order of what they stand for."""
    if isinstance(found, Utility):
        original, release = found.shares[column]
        return _told(original), _told(release)
    people = found.before.contingency
    total = float(people.sizes.sum())
    recoding = found.plan.recoding
    if column not in recoding.columns:
        before, after = people.cells[column], found.after.contingency.cells[column]
        mass = float(before.marginal.sum())  # of survey weights, where there are any
        return _counted(before.domain, before.marginal, mass), _counted(after.domain, after.marginal, mass)
    place = recoding.columns.index(column)
    domain, values = people.keys[place], people.codes[place]
    labels, codes, kept = recoding.labels[place], recoding.codes[place], recoding.kept
    first: dict[int, int] = {}
    for code, value in sorted(zip(codes[kept].tolist(), values[kept].tolist(), strict=True), key=lambda pair: pair[1]):
        first.setdefault(code, value)
    published = np.bincount(codes[kept], weights=people.sizes[kept], minlength=len(labels))
    return (
        _counted(domain, np.bincount(values, weights=people.sizes, minlength=len(domain)), total),
        [
            (theme.readable(labels[code]), float(published[code]) / total)
            for code in sorted(first, key=first.__getitem__)
        ],
    )


def _told(shares: Iterable[tuple[str | None, float]]) -> Shares:
    return [(theme.readable(value), share) for value, share in shares if share > 0]


def _counted(domain: Domain, masses: Any, total: float) -> Shares:
    return [
        (theme.readable(as_text(label)), float(mass) / total)
        for label, mass in zip(domain.labels, masses, strict=True)
        if mass > 0
    ]


def _histogram(shares: Shares, title: str, colour: str) -> Any:
    """One bar for each value, or for neighbours together where there are too many."""
    per_bar = -(-len(shares) // _MOST_VALUES)
    pieces = [shares[start : start + per_bar] for start in range(0, len(shares), per_bar)]
    names = [
        piece[0][0] if len(piece) == 1 else f"{theme.readable(piece[0][0], 16)} … {theme.readable(piece[-1][0], 16)}"
        for piece in pieces
    ]
    together = f", {per_bar:,} in a bar" if per_bar > 1 else ""
    told = f"{title}: {theme.counted(len(shares), 'value', 'values')}{together}"
    rows = [
        {"value": label, "share": sum(share for _, share in piece)}
        for label, piece in zip(theme.labels_of(names), pieces, strict=True)
    ]
    return (
        alt.Chart(
            theme.data_of(rows),
            width=200,
            height=alt.Step(16),
            title=alt.TitleParams(text=told, fontSize=12, fontWeight=400, offset=6),
        )
        .mark_bar(color=colour)
        .encode(
            y=alt.Y("value:N", sort=None, title=None),
            x=alt.X("share:Q", title="share of people", axis=alt.Axis(format="%", tickCount=4)),
            tooltip=[alt.Tooltip("value:N", title="value"), alt.Tooltip("share:Q", title="share", format=".2%")],
        )
    )


results.chart_of.register(ranking.Ranking)(sets)
results.chart_of.register(ranking.Growth)(known_columns)
results.chart_of.register(Utility)(distributions)
