# SPDX-License-Identifier: Apache-2.0
"""Bkakria et al. 2021, section 5: Figs. 1 to 7 and Table 7.

Figs. 1 to 5 show the metrics along eps, lambda and theta; Figs. 6 and 7 show their time. The
figures print almost no numbers. The text does not state how eps is distributed over the values,
which joint distribution lambda and theta mean, or which formula MIL is. Each such reading has a
name here and is tried. A claim holds if all of them agree.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

from divulge.api.measure import measure
from reproduction.bkakria import (
    METRICS,
    PAPER,
    Numbers,
    RowsAndFigures,
    is_decreasing,
    is_increasing,
    measure_small_table,
    metrics_of_counts,
    paper_metrics,
)
from reproduction.verdicts import Figure, Row, claim, row

PEOPLE = 10_000
ONE_SCALE = ("ITPR", "DR", "MI", "CP", "ELD")
"""Metrics that share one scale in a chart; MIL is much larger."""
Sweep = list[tuple[float, Numbers]]
"""Values of all metrics, point by point."""


def _metrics_of_sizes(sizes: Sequence[float]) -> dict[str, float]:
    """Identity metrics of classes of these sizes."""
    whole_sizes = [round(size) for size in sizes]
    return paper_metrics(
        measure_small_table(
            pa.table({"y": np.repeat(np.arange(len(whole_sizes)), whole_sizes)}), ["y"]
        )
    )


def _is_constant(values: Sequence[float]) -> bool:
    return max(values) - min(values) < 1e-9


def _metric_series(sweep: Sweep, metric: str) -> list[float]:
    return [numbers[metric] for _, numbers in sweep]


def _end_values(sweeps: Mapping[str, Sweep], metric: str) -> str:
    """Text with the first and the last value in each reading."""
    reading_values = {reading: _metric_series(sweep, metric) for reading, sweep in sweeps.items()}
    return "; ".join(
        f"{reading}: {values[0]:.4g} to {values[-1]:.4g}"
        for reading, values in reading_values.items()
    )


def _shape_claim(
    statement: str,
    sweeps: Mapping[str, Sweep],
    metric: str,
    shape: Callable[[Sequence[float]], bool],
    note: str = "",
) -> Row:
    """A claim about one metric; it holds if the metric has the shape in every reading."""
    other_readings = [
        remark for remark, sweep in sweeps.items() if not shape(_metric_series(sweep, metric))
    ]
    if other_readings and len(sweeps) > 1:
        exceptions = f"Not so: {', '.join(other_readings)}."
    else:
        exceptions = ""
    remark = " ".join(text for text in (note, exceptions) if text)
    return claim(statement, holds=not other_readings, ours=_end_values(sweeps, metric), note=remark)


def _sweep_figure(
    name: str,
    title: str,
    x: str,
    sweeps: Mapping[str, Sweep],
    metrics: Sequence[str],
    *,
    caption: str,
) -> Figure:
    points = tuple(
        {"x": position, "y": numbers[metric], "series": metric, "panel": reading}
        for reading, sweep in sweeps.items()
        for position, numbers in sweep
        for metric in metrics
    )
    return Figure(name, title, x, "value of the metric", points, mark="lines", told=caption)


# --- eps: Figs. 1 and 2 ---------------------------------------------------------------------------
def _two_sizes(eps: float) -> list[float]:
    return [(PEOPLE - eps) / 2, (PEOPLE + eps) / 2]


@cache
def _two_class_sweep(*, quick: bool) -> Sweep:
    gaps = (0, 2000, 4000, 6000, 8000, 9000, 9600, 9800, 9960, 9998)
    return [(eps, _metrics_of_sizes(_two_sizes(eps))) for eps in (gaps[::3] if quick else gaps)]


@PAPER.part(
    "Fig. 1",
    "figure",
    title="two classes of 10,000 people",
    told="eps is the difference of the two class sizes. Only what the text names is printed. MIL "
    "between 7 and 13 is the weighted reading.",
    how="the identity metrics of `divulge measure`.",
    heavy=True,
)
def figure_1(*, quick: bool) -> RowsAndFigures:
    """All metrics as the sizes of two classes diverge."""
    sweep = _two_class_sweep(quick=quick)
    first = sweep[0][1]
    last = sweep[-1][1]
    single_sweep = {"two classes": sweep}
    title = "Two classes of 10,000 people"
    drawn = _sweep_figure(
        "Fig. 1a",
        title,
        "eps",
        single_sweep,
        ONE_SCALE,
        caption="Rings are what the text prints of ITPR.",
    )
    yield replace(
        drawn,
        printed=({"x": 0, "y": 0.07, "series": "ITPR"}, {"x": 9998, "y": 1.0, "series": "ITPR"}),
    )
    mil = ("MIL", "MIL, weighted")
    drawn = _sweep_figure(
        "Fig. 1b",
        "MIL, in two readings",
        "eps",
        single_sweep,
        mil,
        caption="Rings are the range that the text prints.",
    )
    yield replace(
        drawn,
        printed=({"x": 0, "y": 7.0, "series": mil[1]}, {"x": 9998, "y": 13.0, "series": mil[1]}),
    )
    for eps, texts in ((sweep[-1][0], ("1", "9999")), (sweep[0][0], ("5000", "5000"))):
        for class_name, size, text in zip(
            ("smaller", "larger"), _two_sizes(eps), texts, strict=True
        ):
            yield row(f"eps = {eps:.0f}", f"{class_name} class", size, text)
    yield row("eps = 9998", "ITPR", last["ITPR"], "1")
    yield row("eps = 0", "ITPR", first["ITPR"], "0.07")
    yield row("largest of all", "DR", max(_metric_series(sweep, "DR")), "< 0.1")
    yield row(
        "eps = 0",
        "MIL, weighted",
        first["MIL, weighted"],
        "7",
        note=f"by the cited definition {first['MIL']:.4g}",
    )
    yield row(
        "eps = 9998",
        "MIL, weighted",
        last["MIL, weighted"],
        "13",
        note="that is log2 of 10,000, by either definition",
    )
    yield _shape_claim(
        "ITPR diminishes smoothly while eps decreases", single_sweep, "ITPR", is_increasing
    )
    yield _shape_claim(
        "MI increases as the two groups move towards being equal", single_sweep, "MI", is_decreasing
    )
    yield _shape_claim(
        "CP increases as the two groups move towards being equal", single_sweep, "CP", is_decreasing
    )
    yield _shape_claim(
        "the output of MIL increases as eps increases", single_sweep, "MIL, weighted", is_increasing
    )
    values_before_end = [numbers["ELD"] for eps, numbers in sweep if eps <= 9800]
    last_eps = max(eps for eps, _ in sweep if eps <= 9800)
    yield claim(
        "the output of ELD increases extremely slowly as eps increases",
        holds=is_increasing(_metric_series(sweep, "ELD")) and values_before_end[-1] < 0.05,
        ours=f"{values_before_end[0]:.2g} to {values_before_end[-1]:.2g} at eps = {last_eps}, "
        f"then {last['ELD']:.2g} at 9998",
    )


EPS_READINGS: dict[str, Callable[[float, int], list[float]]] = {
    "evenly": lambda eps, k: [PEOPLE / k + eps * (i / (k - 1) - 0.5) for i in range(k)],
    "one rare value": lambda eps, k: [
        (PEOPLE - (k - 1) * eps) / k,
        *[(PEOPLE + eps) / k] * (k - 1),
    ],
    "one common value": lambda eps, k: [
        *[(PEOPLE - eps) / k] * (k - 1),
        (PEOPLE + (k - 1) * eps) / k,
    ],
}
"""Sizes of k classes for an eps, smallest first.

The readings are equal steps, or one value that differs from all others.
"""
_LARGEST_EPS = {"evenly": 1998, "one rare value": 1110, "one common value": 9990}
"""The largest eps for which none of 10 classes is empty."""


@cache
def _ten_class_sweeps(*, quick: bool) -> dict[str, Sweep]:
    if quick:
        steps = 4
    else:
        steps = 12
    return {
        spread_name: [
            (eps := _LARGEST_EPS[spread_name] * step / steps, _metrics_of_sizes(spread(eps, 10)))
            for step in range(steps + 1)
        ]
        for spread_name, spread in EPS_READINGS.items()
    }


@PAPER.part(
    "Fig. 2",
    "figure",
    title="ten values of Y",
    told="The paper does not say how eps is spread over ten values. Three readings: the sizes "
    "grow in equal steps; one value is rare and "
    "the others share alike; one value is common. No number is printed.",
    how="the identity metrics of `divulge measure`.",
    heavy=True,
)
def figure_2(*, quick: bool) -> RowsAndFigures:
    """All metrics along eps for ten classes, in three readings."""
    sweeps = _ten_class_sweeps(quick=quick)
    title = "Ten classes of 10,000 people, eps spread in three ways"
    yield _sweep_figure(
        "Fig. 2", title, "eps", sweeps, ONE_SCALE, caption="MI is in bits; no number is printed."
    )
    yield _shape_claim(
        "lower risk when the values are distributed equally, gradually enhanced (ITPR)",
        sweeps,
        "ITPR",
        is_increasing,
    )
    yield _shape_claim(
        "the same behaviours for several values: MI falls as eps grows", sweeps, "MI", is_decreasing
    )
    yield _shape_claim(
        "the same behaviours for several values: CP falls as eps grows", sweeps, "CP", is_decreasing
    )
    yield _shape_claim(
        "the same behaviours for several values: MIL grows with eps",
        sweeps,
        "MIL, weighted",
        is_increasing,
    )
    yield _shape_claim(
        "the same behaviours for several values: ELD grows with eps", sweeps, "ELD", is_increasing
    )
    yield claim(
        "the higher risk value when a certain value appears only in a small number of records",
        holds=all(sweep[-1][1]["ITPR"] > 0.999 for sweep in sweeps.values()),
        ours=_end_values(sweeps, "ITPR"),
    )


# --- lambda: Fig. 3 -------------------------------------------------------------------------------
def _skewed(gap: float, *, common: int, people: float = 2000, values: int = 10) -> list[float]:
    """One class in which a value is by `gap` more common than each of the others."""
    cells = [(people - gap) / values] * values
    cells[common] += gap
    return cells


LAMBDA_READINGS: dict[str, Callable[[float], list[list[float]]]] = {
    "one age is skewed": lambda gap: [_skewed(gap, common=0), *[_skewed(0, common=0)] * 4],
    "each age has its own disease": lambda gap: [_skewed(gap, common=age) for age in range(5)],
    "all ages alike": lambda gap: [_skewed(gap, common=0)] * 5,
}
"""Possible joint distributions of five ages and ten diseases for a lambda."""


@cache
def _lambda_sweeps(*, quick: bool) -> dict[str, Sweep]:
    if quick:
        steps = 4
    else:
        steps = 10
    gaps = [1999 * step / steps for step in range(steps + 1)]
    return {
        reading: [(gap, metrics_of_counts(joint(gap))) for gap in gaps]
        for reading, joint in LAMBDA_READINGS.items()
    }


@PAPER.part(
    "Fig. 3",
    "figure",
    title="inference along lambda",
    told="Five ages of 2,000 people, ten diseases; lambda is by how much the commonest disease "
    "of an age outnumbers the rarest. Which "
    "joint distribution is meant is not said. Three readings: one age is skewed; each age has a "
    "common disease of its own; all ages are "
    "alike, where age tells nothing. No number is printed.",
    how="`itpr`, `discrimination_rate`, `mutual_information`, `conditional_privacy`, "
    "`entropy_l_risk`, `maximum_information_leakage`.",
    heavy=True,
)
def figure_3(*, quick: bool) -> RowsAndFigures:
    """All metrics as one disease becomes common, in three readings."""
    sweeps = _lambda_sweeps(quick=quick)
    informative_sweeps = {name: sweep for name, sweep in sweeps.items() if name != "all ages alike"}
    yield _sweep_figure(
        "Fig. 3a",
        "Inference as one disease becomes common",
        "lambda",
        sweeps,
        ONE_SCALE,
        caption="No number is printed.",
    )
    mil = ("MIL", "MIL, weighted", "MIL, weighted, least")
    yield _sweep_figure(
        "Fig. 3b",
        "MIL, in three readings",
        "lambda",
        sweeps,
        mil,
        caption="The paper says that it falls.",
    )
    for metric in ("ITPR", "DR", "MI", "ELD", "CP"):
        yield _shape_claim(
            f"the output of {metric} increases with lambda",
            informative_sweeps if metric != "ELD" else sweeps,
            metric,
            is_increasing,
            note=""
            if metric == "ELD"
            else f"Where all ages are alike, age tells nothing, and {metric} stays 0.",
        )
    least = {
        name: is_decreasing(_metric_series(sweep, "MIL, weighted, least"))
        for name, sweep in sweeps.items()
    }
    falling_readings = [name for name, is_falling in least.items() if is_falling]
    yield claim(
        "the value of MIL decreases with lambda",
        holds=all(
            is_decreasing(_metric_series(sweep, "MIL")) for sweep in informative_sweeps.values()
        ),
        ours=_end_values(informative_sweeps, "MIL"),
        note="By the cited definition it rises. It falls as H(X) - p(y) H(X|y) of the class "
        "where that is least, which is also what fits "
        f"the numbers of Fig. 4 ({', '.join(falling_readings)}), though not those of Fig. 1.",
    )
    yield claim(
        "without knowing the output in the worst case the ranges of DR, MI and CP are hard to "
        "interpret; ITPR and ELD range between 0 and "
        "1",
        holds=all(
            sweep[-1][1][metric] > 0.99
            for sweep in informative_sweeps.values()
            for metric in ("ITPR", "ELD")
        ),
        ours="; ".join(
            f"{metric} at the end: "
            f"{', '.join(f'{sweep[-1][1][metric]:.3g}' for sweep in informative_sweeps.values())}"
            for metric in METRICS
        ),
        note="DR ranges between 0 and 1 as well, but does not reach 1 where one age of five "
        "gives its disease away.",
    )


# --- theta: Figs. 4 and 5 -------------------------------------------------------------------------
def _entropy_bits(cells: Sequence[float]) -> float:
    shares = np.array([cell for cell in cells if cell > 0]) / sum(cells)
    return float(-(shares * np.log2(shares)).sum())


def _theta(cells: Sequence[Sequence[float]], class_index: int) -> float:
    """Difference theta = |H(X) - H_q(X)| of one class; eq. 15 has no absolute value."""
    return abs(_entropy_bits(np.sum(cells, axis=0).tolist()) - _entropy_bits(cells[class_index]))


def _share_for_theta(
    counts_for_share: Callable[[float], list[list[float]]],
    class_index: int,
    theta: float,
    low: float,
    high: float,
) -> float:
    """Find the share for which a class has this theta, by bisection: theta grows with the share."""
    for _ in range(60):
        middle = (low + high) / 2
        if _theta(counts_for_share(middle), class_index) < theta:
            low = middle
        else:
            high = middle
    return (low + high) / 2


BASES = {"base 1 %": 0.01, "base 10^-3 %, as the text says": 1e-5}


def _hiv_counts(base: float) -> Callable[[float], list[list[float]]]:
    """Ten classes of 1,000; the first has a different share of the disease than the others."""
    return lambda share: [
        [1000 * class_counts, 1000 * (1 - class_counts)] for class_counts in (share, *[base] * 9)
    ]


def _class_of_100(share: float) -> list[list[float]]:
    """The paper's example: 1000 of 10^8 people have HIV, and this share of one class of 100."""
    return [[100 * share, 100 * (1 - share)], [1000 - 100 * share, 1e8 - 1100 + 100 * share]]


@cache
def _theta_sweeps(*, quick: bool) -> dict[str, Sweep]:
    sweeps: dict[str, Sweep] = {}
    for base_name, base in BASES.items():
        points_along = [theta / 10 for theta in ((0, 2, 4, 6) if quick else (0, 1, 2, 3, 4, 5, 6))]
        shares = [
            base,
            *(
                _share_for_theta(_hiv_counts(base), 0, theta, base, 0.5)
                for theta in points_along[1:]
            ),
        ]
        sweeps[base_name] = [
            (theta, metrics_of_counts(_hiv_counts(base)(share)))
            for theta, share in zip(points_along, shares, strict=True)
        ]
    return sweeps


@PAPER.part(
    "Fig. 4",
    "figure",
    title="inference along theta",
    told="theta is how far the entropy of a class is from that of everybody. Eq. 15 is signed "
    "and finds nothing in the paper's own HIV "
    "example, where the class is *more* uncertain than everybody; its absolute value is entropy "
    "leakage. The printed numbers fit ten "
    "classes of equal size in which 1 % have HIV, not 10^-3 %, and MIL as H(X) - p(y) H(X|y) of "
    "the class where that is least.",
    how="`divulge measure` with a weight; `specific_information` is eq. 15 of each class, "
    "`entropy_leakage` its absolute value.",
    heavy=True,
)
def figure_4(*, quick: bool) -> RowsAndFigures:
    """All metrics as one class diverges from the whole table."""
    sweeps = _theta_sweeps(quick=quick)
    title = "Inference as one class becomes more uncertain than all"
    drawn = (*ONE_SCALE, "MIL, weighted, least")
    heading = "Printed: MIL .07 to .09, MI 0 to .02, CP 0 to .01 at theta = .4."
    yield _sweep_figure("Fig. 4", title, "theta", sweeps, drawn, caption=heading)
    everybody = _class_of_100(0.05)
    table = pa.table(
        {
            "y": [0, 0, 1, 1],
            "x": ["yes", "no"] * 2,
            "n": [people for class_counts in everybody for people in class_counts],
        }
    )
    measurement = measure_small_table(table, ["y"], "x", "n")
    yield row(
        "1000 of 10^8 records",
        "share with HIV",
        sum(class_counts[0] for class_counts in everybody) / 1e8,
        "1e-3%",
    )
    yield row("5 of 100 records", "share with HIV", everybody[0][0] / sum(everybody[0]), "5%")
    signed_difference = float(measurement.per_class("specific_information", "x")[0])
    yield claim(
        "the variation theta (eq. 15) is the higher the higher the inference risk: the HIV example",
        holds=signed_difference > 0.01,
        ours=f"H(X) - H_q(X) = {signed_difference:.3f} in the class with 5 %; its absolute value "
        f"{abs(signed_difference):.3f}",
        note="The class is more uncertain than everybody, so the signed variation of eq. 15 is "
        "below 0 in the case it is made for.",
    )
    base_sweep = sweeps["base 1 %"]
    (zero, at_four) = (
        next(numbers for theta, numbers in base_sweep if math.isclose(theta, target_theta))
        for target_theta in (0.0, 0.4)
    )
    share = _share_for_theta(_class_of_100, 0, 0.4, 1e-5, 0.5)
    base = BASES["base 1 %"]
    share_of_equal_classes = _share_for_theta(_hiv_counts(base), 0, 0.4, base, 0.5)
    yield row(
        "theta = 0.4, the HIV example",
        "share with HIV in the class",
        share,
        "12%",
        erratum=f"in a class of 100 among 10^8, 0.4 bits are {share:.1%}; in ten equal classes "
        "of which nine have 1 % they are "
        f"{share_of_equal_classes:.1%}, and that base fits the other numbers of the sentence",
    )
    for heading, numbers, printed in (
        ("theta = 0", zero, ("0.07", "0", "0")),
        ("theta = 0.4", at_four, ("0.09", "0.02", "0.01")),
    ):
        for metric, text in zip(("MIL, weighted, least", "MI", "CP"), printed, strict=True):
            yield row(f"{heading}, base 1 %", metric, numbers[metric], text)
    yield _shape_claim("the output of ELD is constant in theta", sweeps, "ELD", _is_constant)
    yield claim(
        "the outputs of MIL, MI and CP increase extremely slowly with theta",
        holds=all(
            is_increasing(_metric_series(base_sweep, metric)) and at_four[metric] < 0.1
            for metric in ("MI", "CP", "MIL, weighted, least")
        ),
        ours="; ".join(
            f"{metric} {zero[metric]:.3f} to {at_four[metric]:.3f}"
            for metric in ("MIL, weighted, least", "MI", "CP")
        ),
    )
    yield _shape_claim(
        "ITPR has the best behaviour regarding the increase of theta", sweeps, "ITPR", is_increasing
    )


def _itpr_grid(spread: str, class_index: int, *, quick: bool) -> list[tuple[float, float, float]]:
    """Points of eps, theta and ITPR for ten ages and twenty diseases.

    One class, the smallest (0) or the largest (9), deviates from the others.
    """
    largest_eps = min(1200, _LARGEST_EPS[spread] - 1)
    points_along = [largest_eps * step / (2 if quick else 6) for step in range(3 if quick else 7)]
    points = []
    for eps in points_along:
        sizes = EPS_READINGS[spread](eps, 10)

        def counts_for_share(share: float, sizes: list[float] = sizes) -> list[list[float]]:
            cells = [[size / 20] * 20 for size in sizes]
            cells[class_index] = [
                sizes[class_index] * share,
                *[sizes[class_index] * (1 - share) / 19] * 19,
            ]
            return cells

        for theta in (0.0, 0.9) if quick else (0.0, 0.3, 0.6, 0.9):
            if theta:
                share = _share_for_theta(counts_for_share, class_index, theta, 1 / 20, 1.0)
            else:
                share = 1 / 20
            points.append((eps, theta, metrics_of_counts(counts_for_share(share))["ITPR"]))
    return points


@PAPER.part(
    "Fig. 5",
    "figure",
    title="ITPR over eps and theta",
    told="10,000 records, 10 ages, 20 diseases, eps from 0 to 1200 and theta from 0 to 0.9. How "
    "eps is spread and which class deviates is "
    "not said; with one rare value eps ends at 1110. No number is printed. ITPR rises with eps "
    "even where theta is 0 and age tells nothing "
    "of the disease: it is then 1 - q min p(y).",
    how="`itpr` of `divulge measure` with a weight.",
    heavy=True,
)
def figure_5(*, quick: bool) -> RowsAndFigures:
    """ITPR on a grid, in six readings."""
    readings = {
        f"{spread}; the {'smallest' if position == 0 else 'largest'} class deviates": _itpr_grid(
            spread, position, quick=quick
        )
        for spread in EPS_READINGS
        for position in (0, 9)
    }
    points = tuple(
        {"x": eps, "y": value, "series": f"theta = {theta:g}", "panel": reading}
        for reading, grid in readings.items()
        for eps, theta, value in grid
    )
    yield Figure(
        "Fig. 5",
        "ITPR over eps and theta",
        "eps",
        "ITPR",
        points,
        mark="lines",
        told="No number is printed.",
    )
    whys = (
        (
            "As the class that deviates grows, its entropy counts more before the smallest class "
            "takes over."
        ),
        "The smallest class decides, whatever a larger one gives away.",
    )
    for (axis, position, other), why in zip((("eps", 0, 1), ("theta", 1, 0)), whys, strict=True):
        other_readings = [
            reading
            for reading, grid in readings.items()
            for fixed in {point[other] for point in grid}
            if not np.all(
                np.diff(
                    [
                        point[2]
                        for point in sorted(grid, key=lambda point: point[position])
                        if point[other] == fixed
                    ]
                )
                >= -1e-9
            )
        ]
        # At the largest eps, the last theta compared with theta 0.
        last = {
            reading: [value for eps, _, value in grid if eps == grid[-1][0]]
            for reading, grid in readings.items()
        }
        constant_readings = [
            reading
            for reading, values in last.items()
            if axis == "theta" and values[-1] <= values[0] + 1e-9
        ]
        ends = "; ".join(
            f"{reading}: {grid[0][2]:.3f} to {grid[-1][2]:.3f}"
            for reading, grid in readings.items()
        )
        yield claim(
            f"the output of ITPR increases smoothly while {axis} increases",
            holds=not other_readings and not constant_readings,
            ours=ends,
            note=f"Not so: {', '.join(dict.fromkeys(other_readings + constant_readings))}. {why}"
            if other_readings or constant_readings
            else "",
        )
    evenly = readings["evenly; the smallest class deviates"]
    independent = max((point for point in evenly if point[1] == 0), key=lambda point: point[0])
    yield row(
        f"theta = 0, eps = {independent[0]:.0f}",
        "ITPR",
        independent[2],
        note="disease and age are independent",
    )


# --- time: Figs. 6 and 7 --------------------------------------------------------------------------
def _seconds(table: pa.Table, y: Sequence[str]) -> float:
    start = time.perf_counter()
    measure(table, quasi_identifiers=list(y), sensitive="disease")
    return time.perf_counter() - start


def _power_law_exponent(points: Sequence[tuple[float, float]]) -> float:
    """Exponent of a power law through the first and the last point."""
    (a, s), (b, t) = points[0], points[-1]
    return math.log(t / s) / math.log(b / a)


@PAPER.part(
    "Fig. 6",
    "figure",
    title="time by number of records",
    told="The paper computes ITPR on four nodes with 100 workers of Spark and prints no number. "
    "Here all metrics are computed on this "
    "machine, with 120 ages and 100 diseases as in the paper; times say something about this "
    "machine alone.",
    how="`divulge measure`.",
    heavy=True,
    timed=True,
)
def figure_6(*, quick: bool) -> RowsAndFigures:
    """Seconds by records."""
    random = np.random.default_rng(0)
    points = []
    for records in (10_000, 30_000) if quick else (10_000, 100_000, 1_000_000, 5_000_000):
        table = pa.table(
            {"age": random.integers(0, 120, records), "disease": random.integers(0, 100, records)}
        )
        points.append((records, _seconds(table, ["age"])))
    yield Figure(
        "Fig. 6",
        "Time of all metrics by number of records",
        "records",
        "seconds",
        tuple({"x": x, "y": y} for x, y in points),
        mark="lines",
        log=("x", "y"),
        told="Times of this machine.",
    )
    for records, seconds in points:
        yield row(f"{records:,} records", "seconds", seconds)


@PAPER.part(
    "Fig. 7",
    "figure",
    title="time by number of quasi-identifiers",
    told="The paper takes 10^7 records of 130 attributes on the cluster of Fig. 6; here 100,000 "
    "records. It prints no number.",
    how="`divulge measure --qi ...`.",
    heavy=True,
    timed=True,
)
def figure_7(*, quick: bool) -> RowsAndFigures:
    """Seconds by quasi-identifiers."""
    random = np.random.default_rng(0)
    if quick:
        records = 3_000
    else:
        records = 100_000
    columns = {f"a{index:03}": random.integers(0, 3, records) for index in range(129)}
    table = pa.table(columns | {"disease": random.integers(0, 100, records)})
    points = [
        (count, _seconds(table, list(columns)[:count]))
        for count in ((16, 32) if quick else (16, 32, 64, 96, 129))
    ]
    yield Figure(
        "Fig. 7",
        "Time of all metrics by number of quasi-identifiers",
        "quasi-identifiers",
        "seconds",
        tuple({"x": x, "y": y} for x, y in points),
        mark="lines",
        told="Times of this machine.",
    )
    growth = _power_law_exponent(points)
    yield claim(
        "the time increases linearly with the number of considered quasi-identifiers",
        holds=growth < 1.3,
        ours=f"{', '.join(f'{count}: {seconds:.2f} s' for count, seconds in points)}: as the "
        f"number to the power {growth:.2f}",
        note="Told by times of this machine.",
    )


# --- Table 7 --------------------------------------------------------------------------------------
TABLE_7 = {
    "DR": ("X", "(✓)"),
    "MI": ("X", "(✓)"),
    "CP": ("X", "(✓)"),
    "MIL": ("(✓)", "X"),
    "ELD": ("(✓)", "X"),
    "ITPR": ("✓", "✓"),
}


@PAPER.part(
    "Table 7",
    "table",
    title="which metric assesses what",
    told="Ours is what the sweeps say: X where the metric does not rise with eps "
    "(re-identification) or with lambda and theta (inference), "
    "otherwise ✓ if it is 1 wherever somebody is alone in a class or a class gives its value "
    "away, and (✓) if its greatest value depends "
    "on the data.",
    how="the sweeps of Figs. 1 to 4.",
    heavy=True,
)
def table_7(*, quick: bool) -> RowsAndFigures:
    """Marks derived from the sweeps."""
    by_size = [_two_class_sweep(quick=quick), *_ten_class_sweeps(quick=quick).values()]
    by_gap = [
        sweep for label, sweep in _lambda_sweeps(quick=quick).items() if label != "all ages alike"
    ]
    by_theta = list(_theta_sweeps(quick=quick).values())
    reasons = {
        (
            "ELD",
            0,
        ): "ELD is 1 wherever somebody is alone; the text on Fig. 3 says itself that it ranges "
        "between 0 and 1",
        ("MIL", 1): "by the cited definition it rises with lambda and theta; it falls only in the "
        "weighted reading of the least class",
    }
    for metric, printed in TABLE_7.items():
        sides = (
            ("re-identification", by_size, by_size),
            ("inference", [*by_gap, *by_theta], by_gap),
        )
        for side_index, (label, sweeps, extremes) in enumerate(sides):
            is_correct = all(is_increasing(_metric_series(sweep, metric)) for sweep in sweeps)
            reaches_one = all(
                sweep[-1][1][metric] > 0.98 and max(_metric_series(sweep, metric)) <= 1 + 1e-9
                for sweep in extremes
            )
            if reaches_one:
                mark = "✓"
            else:
                mark = "(✓)"
            if is_correct:
                ours = mark
            else:
                ours = "X"
            if ours != printed[side_index]:
                reason = reasons.get((metric, side_index), "")
            else:
                reason = ""
            yield row(metric, label, ours, printed[side_index], erratum=reason)
