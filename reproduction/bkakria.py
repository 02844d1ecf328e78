# SPDX-License-Identifier: Apache-2.0
"""Bkakria, Cuppens, Boulahia Cuppens and Tasidou 2021: Tables 1 to 6.

They compare ITPR with five older metrics on small tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from divulge import datasets
from divulge.api.measure import measure
from divulge.engines import DuckDBEngine
from divulge.metrics import Measurement
from divulge.sources import read
from reproduction.verdicts import Figure, Paper, Row, claim, row

PAPER = Paper(
    "bkakria",
    "Bkakria, Cuppens, Boulahia Cuppens and Tasidou 2021",
    "Information theoretic-based privacy risk evaluation for data anonymization",
    "The paper sets information metrics side by side (DR, MI, CP, MIL, ELD) and adds **ITPR**, "
    "which looks at the least entropic class "
    "and "
    "is scaled to 0..1. X is the person for re-identification, or the sensitive attribute for "
    "inference. "
    "[Concepts](../concepts/leakage.md) says how to read it.",
)
METRICS = {
    "DR": "discrimination_rate",
    "MI": "mutual_information",
    "CP": "conditional_privacy",
    "MIL": "maximum_information_leakage",
    "ELD": "entropy_l_risk",
    "ITPR": "itpr",
}
WEIGHTED = "maximum_information_leakage_printed"
"""Metric H(X) - p(y) H(X|y), the class's entropy weighted by its share.

It is the other reading of eq. 8, as a maximum and as a minimum over y.
"""
RowsAndFigures = Iterator[Row | Figure]
Numbers = Mapping[str, float]


@cache
def _engine() -> DuckDBEngine:
    """One engine for all small tables: starting it costs more than measuring them."""
    return DuckDBEngine(threads=1)


def measure_small_table(
    table: pa.Table, y: Sequence[str], x: str | None = None, weight: str | None = None
) -> Measurement:
    """Measure a small table."""
    return measure(
        read(table, engine=_engine()), quasi_identifiers=list(y), sensitive=x or (), weight=weight
    )


def paper_metrics(measurement: Measurement, x: str | None = None) -> dict[str, float]:
    """Value of each metric of the paper, and of the two weighted readings of MIL."""
    if x is None:
        scores = measurement.identity
    else:
        scores = measurement.sensitive[x]
    numbers = {name: scores[metric].value for name, metric in METRICS.items()}
    return numbers | {
        "MIL, weighted": scores[WEIGHTED].value,
        "MIL, weighted, least": float(np.min(measurement.per_class(WEIGHTED, x))),
    }


def metrics_of_counts(cells: Sequence[Sequence[float]]) -> dict[str, float]:
    """Metrics of a table passed as counts: classes (rows) by sensitive values (columns).

    The counts may be fractional.
    """
    entries = [
        (y, x, float(people))
        for y, class_counts in enumerate(cells)
        for x, people in enumerate(class_counts)
        if people > 0
    ]
    table = pa.table(dict(zip(("y", "x", "n"), map(list, zip(*entries, strict=True)), strict=True)))
    return paper_metrics(measure_small_table(table, ["y"], "x", "n"), "x")


def is_increasing(values: Sequence[float]) -> bool:
    """True if numbers never decrease and end above the first."""
    return bool(np.all(np.diff(values) >= -1e-9) and values[-1] > values[0] + 1e-6)


def is_decreasing(values: Sequence[float]) -> bool:
    """True if numbers never increase and end below the first."""
    return is_increasing([-value for value in values])


# --- Tables 1 to 6 --------------------------------------------------------------------------------
@PAPER.part(
    "Tables 1 and 2",
    "table",
    title="what k, l and t miss",
    told="Both tables are 3-diverse and 0-close, but the best guess rises from a third to 60 %. "
    "ITPR does not see that either: it is 0 for "
    "both. ELD does.",
    how="`k_anonymity`, `l_diversity`, `t_closeness`, `alpha`, `entropy_l_risk` and `itpr` of "
    "`divulge measure`.",
)
def tables_1_and_2() -> RowsAndFigures:
    """k, l and t, and the probability of the best guess."""
    scores_by_table: dict[int, dict[str, float]] = {}
    printed = {
        1: {"k": "3", "l": "3", "t": "0", "best guess": "0.33"},
        2: {"k": "5", "l": "3", "t": "0", "best guess": "0.60"},
    }
    names = {
        "k": "k_anonymity",
        "l": "l_diversity",
        "t": "t_closeness",
        "best guess": "alpha",
        "ELD": METRICS["ELD"],
    }
    for number, table in ((1, "bkakria-table-1b"), (2, "bkakria-table-2b")):
        measurement = measure_small_table(datasets.load(table), ["zip", "age"], "disease")
        scores_by_table[number] = {
            quantity: measurement[metric].value
            for quantity, metric in (names | {"ITPR": "itpr"}).items()
        }
        for quantity, value in scores_by_table[number].items():
            if quantity == "best guess":
                where = "Section 3.1"
            else:
                where = f"Table {number}"
            yield row(
                f"Table {number}", quantity, value, printed[number].get(quantity), where=where
            )
    first_scores = scores_by_table[1]
    two = scores_by_table[2]
    yield claim(
        "k-anonymity, l-diversity and t-closeness do not measure the effective disclosure risk",
        holds=two["k"] > first_scores["k"]
        and two["l"] == first_scores["l"]
        and two["t"] == first_scores["t"]
        and two["best guess"] > first_scores["best guess"],
        ours=f"k {first_scores['k']:.0f} to {two['k']:.0f}, l and t unchanged, best guess "
        f"{first_scores['best guess']:.2f} to "
        f"{two['best guess']:.2f}",
        where="Section 3.1",
    )
    yield claim(
        "ITPR is the only metric that can effectively assess both re-identification and "
        "inference risk",
        holds=two["ITPR"] > first_scores["ITPR"],
        ours=f"ITPR {first_scores['ITPR']:.3g} and {two['ITPR']:.3g}; ELD "
        f"{first_scores['ELD']:.3f} and {two['ELD']:.3f}",
        where="Section 6",
        note="In the two tables with which Section 3.1 opens, ITPR of the disease is 0 both "
        "times; ELD tells them apart.",
    )


CASES = {f"person, case {i} of age": (f"age{i}", None) for i in range(1, 6)} | {
    f"case {i} of disease, case 5 of age": ("age5", f"disease{i}") for i in (1, 2, 3)
}
TABLE_4: dict[str, str] = {
    "person, case 1 of age": "1.0 3.0 0.875 3.0 1.0",
    "person, case 2 of age": "0.0 0.0 0.0 0.0 0.125",
    "person, case 3 of age": "0.18 0.54 0.31 3.0 1.0",
    "person, case 4 of age": "0.27 0.81 0.43 2.75 0.5",
    "person, case 5 of age": "0.33 1.0 0.5 2.0 0.25",
    "case 1 of disease, case 5 of age": "0.33 1.0 0.5 2.0 0.25",
    "case 2 of disease, case 5 of age": "0.36 1.0 0.5 1.0 0.35",
    "case 3 of disease, case 5 of age": "0.35 0.54 0.31 1.0 1.0",
}
"""DR, MI, CP, MIL and ELD as printed, with decimal points instead of commas."""


@cache
def _cases() -> dict[str, Numbers]:
    eight = datasets.load("bkakria-table-3")
    return {
        case: paper_metrics(measure_small_table(eight, [y], x), x) for case, (y, x) in CASES.items()
    }


@PAPER.part(
    "Table 4",
    "table",
    title="five metrics on eight people",
    told="The people of Table 3. No one formula gives the printed column of MIL: divulge takes "
    "the cited definition, the largest H(X) - "
    "H(X|y); the printed values of the first six rows weight the class's entropy by p(y), and "
    "those of the last two are neither. The "
    "formula of ELD in Section 3.3.5 has a minimum where the table needs a maximum.",
    how="`discrimination_rate`, `mutual_information`, `conditional_privacy`, "
    "`maximum_information_leakage` and `entropy_l_risk` of "
    "`divulge measure`, under identity and under the attribute; "
    "`maximum_information_leakage_printed` is the weighted reading.",
)
def table_4() -> RowsAndFigures:
    """Eight cases by five metrics."""
    for case, numbers in _cases().items():
        printed = dict(zip(("DR", "MI", "CP", "MIL", "ELD"), TABLE_4[case].split(), strict=True))
        for metric, value in printed.items():
            weighted = (
                f"weighted by p(y) it is {numbers['MIL, weighted']:.4g}; no one formula "
                "gives "
                "the column"
            )
            differs = metric == "MIL" and abs(numbers[metric] - float(value)) > 0.005
            yield row(case, metric, numbers[metric], value, open_=weighted if differs else "")
    eight = datasets.load("bkakria-table-3")
    printed_formula = {
        case: float(np.min(measure_small_table(eight, [y], x).per_class(METRICS["ELD"], x)))
        for case, (y, x) in CASES.items()
    }
    wrong_cases = [
        case
        for case in CASES
        if abs(printed_formula[case] - float(TABLE_4[case].split()[4])) > 0.005
    ]
    yield claim(
        "pELD(X) = 2^(min over q of the sum of p log p)",
        holds=not wrong_cases,
        ours=", ".join(f"{case}: {printed_formula[case]:.3f}" for case in wrong_cases),
        where="Section 3.3.5",
        note="The printed column is 2^-H of the class with the least entropy, so the minimum is "
        "to be a maximum.",
    )


def _order_claim(
    statement: str,
    metrics: Sequence[str],
    cases: Sequence[str],
    is_right_order: Callable[[list[float]], bool],
    **more: str,
) -> Row:
    """A claim about how metrics order some cases; it holds if each metric orders them so."""
    metric_values = {metric: [_cases()[case][metric] for case in cases] for metric in metrics}
    ours = "; ".join(
        f"{metric} {', '.join(f'{value:.3g}' for value in values)}"
        for metric, values in metric_values.items()
    )
    return claim(
        statement,
        holds=all(is_right_order(values) for values in metric_values.values()),
        ours=ours,
        **more,
    )


def _has_expected_order(of_age: Sequence[float]) -> bool:
    """True if cases 1 and 3 are highest, 2 is lowest, and 4 is between 3 and 5."""
    first, two, three, four, five = of_age
    return (
        first == max(of_age)
        and math.isclose(three, first, abs_tol=1e-9)
        and two == min(of_age)
        and five < four < three
    )


@PAPER.part(
    "Section 3.3",
    "claim",
    title="which metric orders the cases as expected",
    told="Cases 1 and 3 of age name somebody and should be the riskiest, case 2 tells nothing, "
    "case 4 lies between 3 and 5; of the "
    "diseases, case 3 should be riskier than 2, and 2 than 1.",
    how="the numbers of Table 4.",
)
def section_3_3() -> RowsAndFigures:
    """The claims in the text about Table 4."""
    ages = list(CASES)[:5]
    diseases = list(CASES)[5:]
    yield _order_claim(
        "DR, MI and MIL correctly express the re-identification risk of cases 1 and 2 of age",
        ("DR", "MI", "MIL"),
        ages,
        lambda values: values[0] == max(values) and values[1] == min(values) == 0,
    )
    yield _order_claim(
        "CP correctly reflects case 2 of age, and fails for the others",
        ("CP",),
        ages,
        lambda values: values[1] == min(values) == 0 and values[0] < max(values),
        note="It is largest for case 1, as it should be.",
    )
    for metrics, finding in ((("DR", "MI"), "DR and MI fail"), (("CP",), "CP fails")):
        yield _order_claim(
            f"{finding} to reflect the re-identification risk of cases 3 to 5 of age",
            metrics,
            ages,
            lambda values: not _has_expected_order(values),
        )
    yield _order_claim(
        "MIL fails to reflect the re-identification risk of cases 3 to 5: lower for case 3 than "
        "for case 5",
        ("MIL", "MIL, weighted"),
        [ages[2], ages[4]],
        lambda values: values[0] < values[1],
        note="The paper's own table has 3.0 for case 3 and 2.0 for case 5.",
    )
    yield _order_claim(
        "ELD seems to correctly reflect the re-identification risk in all cases",
        ("ELD",),
        ages,
        _has_expected_order,
    )
    yield _order_claim(
        "ELD seems to correctly reflect the inference risk in all cases",
        ("ELD",),
        diseases,
        is_increasing,
    )
    yield _order_claim(
        "all considered metrics successfully reflect case 5 of age with case 1 of disease: the "
        "least of the three",
        ("DR", "MI", "CP", "MIL", "ELD"),
        diseases,
        lambda values: values[0] == min(values),
        note="MI and CP put case 3 below it; so does the printed column of MIL.",
    )
    yield _order_claim(
        "all considered metrics fail to reflect the inference risk of cases 2 and 3 of disease",
        ("DR", "MI", "CP", "ELD"),
        diseases,
        lambda values: not is_increasing(values),
        note="ELD orders them rightly, as the paper says two sentences before.",
    )


@PAPER.part(
    "Section 4",
    "claim",
    title="the range of ITPR",
    told="Without the factor for the number of classes, eq. 9 cannot come below 1 - 1/q. "
    "Proposition 1 is true where H(X) > 0, though its "
    "printed proof is not one: ITPR is at least the mean over classes, which is DR.",
    how="`itpr_unscaled` is eq. 9, `itpr` eq. 10.",
    heavy=True,
)
def section_4(*, quick: bool) -> RowsAndFigures:
    """Minimum and maximum of eq. 9, and Proposition 1."""
    for classes, least in ((2, "0.5"), (3, "0.66")):
        if classes == 2:
            label = "two distinct values"
        else:
            label = "three distinct values"
        equal = pa.table(
            {"y": [y for y in range(classes) for _ in range(2)], "x": ["a", "b"] * classes}
        )
        unique_table = pa.table({"y": range(classes), "x": [*"abc"][:classes]})
        for end, table, printed in (("least", equal, least), ("greatest", unique_table, "1.0")):
            value = measure_small_table(table, ["y"], "x").sensitive["x"]["itpr_unscaled"].value
            yield row(label, f"{end} of eq. 9", value, printed)
    random = np.random.default_rng(0)
    table_numbers = [
        metrics_of_counts(
            (random.integers(0, 9, size=(random.integers(1, 7), 4)) + np.eye(1, 4)).tolist()
        )
        for _ in range(10 if quick else 300)
    ]
    rates = [numbers["DR"] for numbers in table_numbers]
    yield claim(
        "DR is bounded on [0, 1], where 1 means that the anonymity set is reduced to a single "
        "individual",
        holds=min(rates) >= -1e-12
        and max(rates) <= 1 + 1e-12
        and math.isclose(_cases()[next(iter(CASES))]["DR"], 1),
        ours=f"{min(rates):.3g} to {max(rates):.3g} in {len(table_numbers)} random tables; "
        f"{_cases()[next(iter(CASES))]['DR']:.3g} if all "
        "differ",
        where="Section 3.3.1",
    )
    values = [numbers["ITPR"] for numbers in table_numbers]
    above = all(numbers["ITPR"] >= numbers["DR"] - 1e-9 for numbers in table_numbers)
    yield claim(
        "the output of both the simple and combined ITPR is bounded by 0 and 1",
        holds=min(values) >= -1e-12 and max(values) <= 1 + 1e-12 and above,
        ours=f"{min(values):.3g} to {max(values):.3g} in {len(table_numbers)} random tables, "
        "never below DR",
        where="Proposition 1",
    )


TABLE_5 = dict(
    zip(CASES, ("1.0", "0.0", "1.0", "0.83", "0.33", "0.33", "0.45", "1.0"), strict=True)
)


@PAPER.part(
    "Table 5",
    "table",
    title="ITPR",
    told="All ten values match. Row 7 is labelled *case 1 of zip code*; 0.75 is case 2 of Table 6.",
    how="`itpr` of `divulge measure`.",
)
def table_5() -> RowsAndFigures:
    """Ten cases."""
    for case, printed in TABLE_5.items():
        yield row(case, "ITPR", _cases()[case]["ITPR"], printed)
    eight = datasets.load("bkakria-table-3")
    for case, printed in (("zip1", "0.6"), ("zip2", "0.75")):
        value = paper_metrics(measure_small_table(eight, ["age2", case]))["ITPR"]
        yield row(f"person, case 2 of age and {case[-1]} of zip code", "ITPR", value, printed)
    ages = list(CASES)[:5]
    diseases = list(CASES)[5:]
    yield _order_claim(
        "ITPR correctly quantifies the re-identification risk for all the considered cases",
        ("ITPR",),
        ages,
        _has_expected_order,
    )
    yield _order_claim(
        "ITPR correctly measures the inference risk represented by Disease",
        ("ITPR",),
        diseases,
        is_increasing,
    )
