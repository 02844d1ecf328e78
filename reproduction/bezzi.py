# SPDX-License-Identifier: Apache-2.0
"""Bezzi 2010: one-symbol information.

Covers the example of section 3.1, the claims, and the experiment of section 4 on Adult.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa

from divulge import datasets
from divulge.api import cut as api_cut
from divulge.api.measure import measure
from divulge.metrics import Measurement
from reproduction.verdicts import Figure, Paper, Row, claim, row

PAPER = Paper(
    "bezzi",
    "Bezzi 2010",
    "An information theoretic approach for privacy metrics",
    "Mutual information is an average; one-symbol information says what a single class "
    "contributes, in bits. **I1** (surprise) is "
    "t-closeness read as Kullback-Leibler distance, **I2** (specific information) is l-diversity "
    "read as entropy. "
    "[Concepts](../concepts/leakage.md) tells it in short.",
)
_METRICS = {
    "I1": "surprise",
    "I2": "specific_information",
    "I3": "averaged_information",
    "I4": "set_information",
}
_L = 2.7
_T = 0.55
"""The thresholds l and t of section 4."""
_ADULT = ("adult-complete", "adult")
_STATUS = "marital-status"
_QUASI = ("age", "sex", "race", "education")


def _entropy_of_effective_number(number: float) -> float:
    """Entropy in bits of an effective number of values."""
    return math.log2(number)


def one_symbol(measurement: Measurement, attribute: str) -> list[dict[str, Any]]:
    """Key, share and I1 to I4 of each class."""
    sizes = measurement.contingency.sizes
    numbers = {short: measurement.per_class(name, attribute) for short, name in _METRICS.items()}
    return [
        {
            "key": tuple(measurement.contingency.class_key(at).values()),
            "share": float(sizes[at] / sizes.sum()),
        }
        | {short: float(values[at]) for short, values in numbers.items()}
        for at in range(len(sizes))
    ]


# --- sections 2 and 3: definitions, and an example ------------------------------------------------
def _random_tables() -> Iterator[Measurement]:
    """Yield measurements of forty small random tables, some with rare classes."""
    random = np.random.default_rng(0)
    for _ in range(40):
        x = random.integers(0, 3, 12)
        y = random.choice(4, 12, p=[0.6, 0.2, 0.1, 0.1])
        yield measure(pa.table({"x": x, "y": y.astype(str)}), quasi_identifiers="x", sensitive="y")


def _chain_over_x(kind: str) -> tuple[float, float]:
    """Both sides of the chain rule over x, for two fair bits and Y = x1 AND x2.

    These are I((1, 0), Y) and I(x1 = 1, Y) + I(x2 = 0, Y given x1 = 1).
    """
    bits = [(x1, x2) for x1 in (0, 1) for x2 in (0, 1)]
    columns = {
        "x1": [x1 for x1, _ in bits],
        "x2": [x2 for _, x2 in bits],
        "y": [str(x1 & x2) for x1, x2 in bits],
    }
    table = pa.table(columns)
    joint_information = one_symbol(
        measure(table, quasi_identifiers=["x1", "x2"], sensitive="y"), "y"
    )[2][kind]
    first = one_symbol(measure(table, quasi_identifiers="x1", sensitive="y"), "y")[1][kind]
    second = one_symbol(measure(table.slice(2), quasi_identifiers="x2", sensitive="y"), "y")[0][
        kind
    ]
    return joint_information, first + second


@PAPER.part(
    "Table 1",
    "table",
    title="properties of one-symbol information",
    told="Signs and averages on forty small random tables; the chain rule over x on two fair "
    "bits and their AND, symbol (1, 0). Which "
    "variable the columns *Chain rule X* and *Y* speak of is not said; both are held against the "
    "chain rule over x.",
    how="`surprise`, `specific_information`, `averaged_information`, `set_information` of "
    "`divulge measure --classes`.",
)
def table_1() -> Iterator[Row]:
    """Sign, additivity and average of one-symbol information."""
    printed = {
        "I1": ("Yes", "Yes", "No", "Yes"),
        "I2": ("No", "Yes", "Yes", "Yes"),
        "I3": ("No", "Yes", "No", "Yes"),
        "I4": ("Yes", "Yes", "Yes/No", "No"),
    }
    tables = [
        (one_symbol(evidence, "y"), evidence["mutual_information"].value)
        for evidence in _random_tables()
    ]
    for kind, (positive, chain_x, chain_y, average) in printed.items():
        has_printed_sign = all(
            class_numbers[kind] >= -1e-12 for classes, _ in tables for class_numbers in classes
        )
        averages = all(
            math.isclose(sum(c["share"] * c[kind] for c in classes), information, abs_tol=1e-9)
            for classes, information in tables
        )
        joint_information, parts = _chain_over_x(kind)
        is_additive = _yes_or_no(math.isclose(joint_information, parts, abs_tol=1e-9))
        evidence = f"I(x) = {joint_information:.4f}, its parts add up to {parts:.4f}"
        erratum = f"{evidence}: with the text's I(x, Y) the columns look exchanged"
        yield row(kind, "positive definite", _yes_or_no(has_printed_sign), positive)
        yield row(
            kind,
            "chain rule X",
            is_additive,
            chain_x,
            erratum="" if is_additive == chain_x else erratum,
        )
        if chain_y == "Yes/No":
            open_detail = "Yes/No is printed, and the paper does not say when which"
        else:
            open_detail = ""
        yield row(kind, "chain rule Y, read as over x", is_additive, chain_y, open_=open_detail)
        yield row(kind, "average is MI", _yes_or_no(averages), average)


def _yes_or_no(condition: object) -> str:
    if condition:
        return "Yes"
    return "No"


@PAPER.part(
    "Section 2.2",
    "claim",
    title="additivity",
    told="X1 and X2 are two fair bits, Y is one if they differ.",
    how="`mutual_information` of `divulge measure`.",
)
def additivity() -> Iterator[Row]:
    """Two columns that are independent, but not given Y."""
    bits = [(x1, x2) for x1 in (0, 1) for x2 in (0, 1)]
    table = pa.table(
        {"x1": [a for a, _ in bits], "x2": [b for _, b in bits], "y": [str(a ^ b) for a, b in bits]}
    )
    joint_information, first, second = (
        measure(table, quasi_identifiers=names, sensitive="y")["mutual_information"].value
        for names in (["x1", "x2"], "x1", "x2")
    )
    yield claim(
        "for independent X1, X2: I({X1, X2}, Y) = I(X1, Y) + I(X2, Y)",
        holds=math.isclose(joint_information, first + second),
        ours=f"{joint_information:g} and {first:g} + {second:g}",
        note="it needs independence given Y",
    )


@PAPER.part(
    "Fig. 1",
    "figure",
    title="Tables 2 and 3, the bars",
    told="Twelve patients, one of them ill. The bars are not printed as numbers; these are they. "
    "Table 3 as printed has 13 rows, Table 2 "
    "has 12; both readings are measured, twelve rows first.",
    how='`divulge measure --classes` of `dv.datasets.load("bezzi-table-3")`.',
)
def figure_1() -> Iterator[Row | Figure]:
    """The class of the ill person has the highest I1, and is the only one with I2 below 0."""
    table = datasets.load("bezzi-table-3")
    measurement = measure(table, quasi_identifiers="height", sensitive="diagnosis")
    classes = one_symbol(measurement, "diagnosis")
    yield row("Table 2", "records", datasets.load("bezzi-table-2").num_rows, "12", where="Table 2")
    more = "Table 2 has twelve; one N too many is printed, and which range it is in is lost"
    yield row("Table 3", "records", table.num_rows, "13", where="Table 3", erratum=more)
    for class_numbers in classes:
        for kind in _METRICS:
            yield row(class_numbers["key"][0], kind, class_numbers[kind])
    information = measurement["mutual_information"].value
    yield row("dashed line, I(X~, W)", "average of I1 and I2", information)
    thirteen_rows = pa.concat_tables(
        [table, pa.table({"height": ["[180-190)"], "diagnosis": ["N"]})]
    )
    other = one_symbol(
        measure(thirteen_rows, quasi_identifiers="height", sensitive="diagnosis"), "diagnosis"
    )
    for kind in ("I1", "I2"):
        yield row("[190-200), with 13 rows", kind, other[-1][kind])
    largest_to_average = max(class_numbers["I1"] for class_numbers in classes) / information
    yield claim(
        "the risk fluctuates, the average is no good representation",
        holds=largest_to_average > 2,
        ours=f"the largest I1 is {largest_to_average:.1f} times the average",
    )
    is_opposite = max(classes, key=lambda class_numbers: class_numbers["I1"]) == min(
        classes, key=lambda class_numbers: class_numbers["I2"]
    )
    yield claim(
        "groups at risk by I2 have low I1, and vice versa",
        holds=is_opposite,
        ours="the class with the most I1 has the least I2",
    )
    points = tuple(
        {"x": class_numbers["key"][0], "y": class_numbers[kind], "series": kind}
        for class_numbers in classes
        for kind in ("I1", "I2")
    )
    caption = "The paper prints no numbers. Its claim: who is at risk depends on the measure."
    yield Figure(
        "Fig. 1",
        "One-symbol information of each range of height",
        "height",
        "bits",
        points,
        levels={"I(X~, W)": information},
        told=caption,
    )


@PAPER.part(
    "Section 3",
    "claim",
    title="eqs. 4 to 15 on the example",
    told="Generalization can only lose information, and k people leave log2 k bits. X is the "
    "record: height 170 occurs twice in Table 2, "
    "so that the heights are not all different, as eq. 6 assumes.",
    how="`mutual_information`, `l_max`, and the identity metrics `k_anonymity`, "
    "`specific_information`, `mutual_information`.",
)
def equations() -> Iterator[Row]:
    """Necessary, sufficient and equivalent conditions."""
    table = datasets.load("bezzi-table-3")
    original = datasets.load("bezzi-table-2")
    measurement = measure(table, quasi_identifiers="height", sensitive="diagnosis")
    ungeneralized = measure(original, quasi_identifiers="height", sensitive="diagnosis")
    before = ungeneralized["mutual_information"].value
    after = measurement["mutual_information"].value
    yield claim(
        "eq. 4: I(W, X~) <= I(W, X)", holds=after <= before, ours=f"{after:.4f} <= {before:.4f}"
    )
    k = measurement.identity["k_anonymity"].value
    bound = _entropy_of_effective_number(12 / measurement.identity["k_anonymity"].value)
    largest_information = float(measurement.per_class("specific_information").max())
    yield claim(
        "eq. 6: I2(X, x~) <= log2 N/k",
        holds=largest_information <= bound + 1e-9,
        ours=f"{largest_information:.4f} <= {bound:.4f}, k = {k:g}",
    )
    yield claim(
        "eq. 6 assumes that the tuples of X are different",
        holds=len(original["height"].unique()) == original.num_rows,
        ours=f"{len(original['height'].unique())} heights of {original.num_rows} people",
        note="take X as the record",
    )
    classes = one_symbol(measurement, "diagnosis")
    t = max(class_numbers["I1"] for class_numbers in classes)
    yield claim(
        "eqs. 9 and 11 are necessary and not sufficient",
        holds=after < t,
        ours=f"the average {after:.4f} is below the largest I1, {t:.4f}",
    )
    first = classes[0]
    yield row(
        "I2 - I1 of [160-170)",
        "bits",
        first["I2"] - first["I1"],
        where="Section 3",
        note="above 0: eq. 12 sets equal budgets in bits, not equal conditions; a t-close class "
        "need not be l_t-diverse",
    )
    l_max = measurement["l_max"].value
    yield claim(
        "eq. 15: 1 <= l <= l_max = 2^H(W)",
        holds=1 <= measurement["entropy_l_diversity"].value <= l_max,
        ours=f"l_max = {l_max:.4f}",
    )


# --- section 4: Adult -----------------------------------------------------------------------------
@cache
def adult() -> pa.Table:
    """The 30,162 rows of Adult without missing values."""
    return datasets.load("adult-complete")


@cache
def measure_by_age(years: int | None, *others: str) -> Measurement:
    """Measure Adult with age in left-closed ranges, together with other columns.

    `years` is the width of a range; None leaves age as it is, 0 suppresses it.
    """
    ages = np.asarray(adult()["age"])
    if years is None:
        low = ages
    elif years == 0:
        low = np.zeros_like(ages)
    else:
        low = ages // years * years
    table = pa.table({"age": low, **{name: adult()[name] for name in (*others, _STATUS)}})
    return measure(table, quasi_identifiers=["age", *others], sensitive=_STATUS)


def _threshold() -> float:
    """Largest I2 that l allows: H(W) - log2 l."""
    return _entropy_of_effective_number(
        measure_by_age(50)["l_max"].value
    ) - _entropy_of_effective_number(_L)


def _violation_counts(measurement: Measurement) -> tuple[int, int]:
    """Numbers of classes that violate t, and that violate l."""
    return int((measurement.per_class("surprise", _STATUS) > _T).sum()), int(
        (measurement.per_class("entropy_l_diversity", _STATUS) < _L).sum()
    )


def _averages_figure(name: str, information: float, release_name: str) -> Figure:
    """Left panel of Figs. 2 to 4: averages and thresholds."""
    points = {
        "I(X~, W)": information,
        "t": _T,
        "l": _threshold(),
        "I(X, W)": measure_by_age(None, "sex", "race", "education")["mutual_information"].value,
    }
    caption = (
        "The text says: the information of the release is lower than the other three (the "
        "bar "
        "colours of the captions contradict it)."
    )
    return Figure(
        name,
        f"Averages and thresholds, {release_name}",
        "",
        "bits",
        tuple({"x": x, "y": y} for x, y in points.items()),
        told=caption,
    )


def _classes_figure(
    name: str, classes: Sequence[Mapping[str, Any]], release_name: str, labels: Sequence[str]
) -> Figure:
    """Right panel of Figs. 2 to 4: one-symbol information of each class."""
    points = tuple(
        {"x": label, "y": class_numbers[kind], "series": kind}
        for label, class_numbers in zip(labels, classes, strict=True)
        for kind in ("I1", "I2")
    )
    levels = {f"t = {_T}, for I1": _T, f"l = {_L}, for I2": _threshold()}
    return Figure(
        name,
        f"One-symbol information, {release_name}",
        "age",
        "bits",
        points,
        levels=levels,
        told="The paper prints no numbers.",
    )


@PAPER.part(
    "Table 4",
    "table",
    title="what may become coarser",
    told="The table lists occupation as a quasi-identifier; the text has four, and only they "
    "give the printed loss. "
    "74 is the domain of age.",
    how="`divulge profile`.",
    public=_ADULT,
)
def table_4() -> Iterator[Row]:
    """Domain sizes, and the hierarchy of age."""
    printed = {
        "age": "74",
        "sex": "2",
        "race": "5",
        "education": "16",
        "occupation": "14",
        _STATUS: "7",
        "income": "2",
    }
    ages = np.asarray(adult()["age"])
    for name, text in printed.items():
        if name == "age":
            values = int(ages.max() - ages.min()) + 1
        else:
            values = len(adult()[name].unique())
        yield row(
            name, "values", values, text, note="17 to 90; 72 of them occur" if name == "age" else ""
        )
    for level, years, classes in (("A1", 25, "4"), ("A2", 50, "2"), ("A3", 100, "1")):
        yield row(
            f"age, {level}: ranges of {years}",
            "ranges",
            len(measure_by_age(years).contingency),
            classes,
        )


@PAPER.part(
    "Section 4",
    "claim",
    title="Adult and its entropies",
    told="0.80 is met by all 32,561 rows, not by the 30,162 of the experiment; both are measured.",
    how='`l_max` and `l_t` of `dv.measure(dv.datasets.load("adult-complete"), …)`.',
    public=_ADULT,
)
def entropies() -> Iterator[Row]:
    """H(salary), H(marital status), l_max and l_t."""
    all_adult = datasets.load("adult")
    yield row("Adult", "rows", all_adult.num_rows, "32,561")
    yield row("Adult", "variables", all_adult.num_columns, "15")
    yield row("Adult", "rows without a missing value", adult().num_rows, "30,162")
    measurement = measure(adult(), quasi_identifiers="age", sensitive=[_STATUS, "income"])
    all_rows = measure(
        all_adult.select(["age", "income"]), quasi_identifiers="age", sensitive="income"
    )
    entropy = _entropy_of_effective_number(measurement.sensitive["income"]["l_max"].value)
    yield row(
        "H(salary), 30,162 rows",
        "bits",
        entropy,
        "~0.80",
        note="rounded it is 0.81; all 32,561 rows give 0.80",
    )
    yield row(
        "H(salary), all rows",
        "bits",
        _entropy_of_effective_number(all_rows["l_max"].value),
        "~0.80",
    )
    l_max = measurement.sensitive[_STATUS]["l_max"].value
    yield row(
        "H(marital status)",
        "bits",
        _entropy_of_effective_number(l_max),
        "~1.85",
        erratum="the printed l_max of 3.53 is 2^1.8197, so 1.85 is the slip",
    )
    yield row("l_max", "value", l_max, "~3.53")
    equivalent = 2 ** (_entropy_of_effective_number(l_max) - _T)
    yield row(
        f"l_t for t = {_T}",
        "value",
        equivalent,
        "2.42",
        erratum="2.435 with all rows, 2.411 without those that miss a value",
    )
    relative_error = 1 - equivalent / _L
    yield row(
        f"l_t differs from l = {_L} by",
        "share",
        relative_error,
        "~10%",
        note="10.7 % of 2.7, from 2.411; 10.4 % from the printed 2.42",
    )


@PAPER.part(
    "Fig. 2",
    "figure",
    title="A2, age in two halves",
    told="Sex, race and education are suppressed, age is in ranges of 50 years. Both thresholds "
    "are kept on average (eq. 13) and in every "
    "class (eq. 14).",
    how=f"`divulge measure … --t {_T} --l {_L}`.",
    public=_ADULT,
)
def figure_2() -> Iterator[Row | Figure]:
    """Averages (left panel) and classes (right panel)."""
    measurement = measure_by_age(50)
    original_information = measure_by_age(None, "sex", "race", "education")[
        "mutual_information"
    ].value
    release_information = measurement["mutual_information"].value
    yield row("I(X, W), four quasi-identifiers", "bits", original_information)
    with_occupation = measure_by_age(None, "sex", "race", "education", "occupation")[
        "mutual_information"
    ].value
    yield row("I(X, W), occupation as a fifth (Table 4)", "bits", with_occupation)
    yield row("I(X~, W), A2", "bits", release_information, "0.09")
    yield row(
        "information lost, A2", "share", 1 - release_information / original_information, "~88%"
    )
    yield row(
        "information lost, occupation as a fifth",
        "share",
        1 - release_information / with_occupation,
    )
    above_t, below_l = _violation_counts(measurement)
    yield claim(
        "I(X~, W) is lower than the other three bars",
        holds=release_information < min(_T, _threshold(), original_information),
        ours=f"{release_information:.4f} < {_threshold():.4f}",
    )
    yield claim(
        f"A2 is {_T}-close and {_L}-diverse in every class",
        holds=above_t == below_l == 0,
        ours=f"{above_t} and {below_l} classes break it",
    )
    classes = one_symbol(measurement, _STATUS)
    labels = ("[0, 50)", "[50, 100)")
    for label, class_numbers in zip(labels, classes, strict=True):
        for kind in ("I1", "I2"):
            yield row(label, kind, class_numbers[kind])
    yield _averages_figure("Fig. 2 left", release_information, "A2")
    yield _classes_figure("Fig. 2 right", classes, "A2", labels)


@PAPER.part(
    "Fig. 3",
    "figure",
    title="A1, an average that hides two classes",
    told="Age in ranges of 25 years. Left-closed ranges fit the printed 0.09 and 88 % of A2. "
    "(The text calls this figure Fig. 2 once.)",
    how=f"`divulge measure … --t {_T} --l {_L}` says when the average hides a class.",
    public=_ADULT,
)
def figure_3() -> Iterator[Row | Figure]:
    """The average meets the threshold, two classes do not."""
    measurement = measure_by_age(25)
    release_information = measurement["mutual_information"].value
    original_information = measure_by_age(None, "sex", "race", "education")[
        "mutual_information"
    ].value
    yield row("I(X~, W), A1", "bits", release_information)
    yield row("information lost, A1", "share", 1 - release_information / original_information)
    classes = one_symbol(measurement, _STATUS)
    labels = ("[0, 25)", "[25, 50)", "[50, 75)", "[75, 100)")
    for label, class_numbers in zip(labels, classes, strict=True):
        for kind in ("I1", "I2"):
            yield row(label, kind, class_numbers[kind])
    yield claim(
        "the averages are kept (eqs. 13)",
        holds=release_information < min(_T, _threshold(), original_information),
        ours=f"{release_information:.4f} < {_threshold():.4f}",
    )
    risky_ranges = [
        label
        for label, class_numbers in zip(labels, classes, strict=True)
        if class_numbers["I1"] > _T
    ]
    yield claim(
        "two groups, [0, 25] and [75, 100], break t",
        holds=risky_ranges == ["[0, 25)", "[75, 100)"],
        ours=", ".join(risky_ranges),
    )
    low_diversity_ranges = [
        label
        for label, class_numbers in zip(labels, classes, strict=True)
        if class_numbers["I2"] > _threshold()
    ]
    yield claim(
        "one of them, [0, 25], breaks l",
        holds=low_diversity_ranges == ["[0, 25)"],
        ours=", ".join(low_diversity_ranges),
    )
    oldest_class = classes[-1]
    yield claim(
        "[75, 100] is very risky by t and pretty safe by l",
        holds=oldest_class["I1"] > _T and oldest_class["I2"] < _threshold() / 2,
        ours=f"I1 = {oldest_class['I1']:.4f}, I2 = {oldest_class['I2']:.4f}",
    )
    yield _averages_figure("Fig. 3 left", release_information, "A1")
    yield _classes_figure("Fig. 3 right", classes, "A1", labels)


@PAPER.part(
    "Fig. 4",
    "figure",
    title="A1*, the optimal ranges (Table 5)",
    told="The paper's heuristic changes the sizes of the outer groups of A1; its ranges (Table "
    "5) are lost with the picture. Every "
    "division is tried here, exactly: four ranges that keep the cut at 50 of A2 above them, four "
    "ranges without it, and as many as "
    "the promises allow.",
    how=f"`divulge hierarchy cut --column age --about marital-status --ranges 4 "
    f"--promise 'surprise <= {_T}' --promise 'entropy_l_diversity >= {_L}'`.",
    public=_ADULT,
)
def figure_4() -> Iterator[Row | Figure]:
    """The best of all divisions of age into ranges."""
    requirements = {"entropy_l_diversity": _L, "surprise": _T}
    readings: dict[str, Mapping[str, Any]] = {
        "four ranges, one cut at 50": {"most": 4, "keep": [50]},
        "four ranges": {"most": 4},
        "any number of ranges": {},
    }
    lost = (
        "no division reaches it under these thresholds; 0.34 and 55 % are I(Age; W) of age "
        "as it "
        "is and its loss"
    )
    best = {}
    for label, cut_options in readings.items():
        best[label] = api_cut.cut(
            adult(), "age", about=_STATUS, policy=requirements, against=list(_QUASI), **cut_options
        ).cuts
        points = ", ".join(map(str, best[label].cut_points))
        if len(best[label].ranges) <= 4:
            name = f"{label}: cut at {points}"
        else:
            name = f"{label}: {len(best[label].ranges)}"
        loss = best[label].whole_loss
        yield row(name, "I(X~, W)", best[label].information, "0.34", where="Fig. 4", erratum=lost)
        yield row(
            name, "information lost", math.nan if loss is None else loss, "~55%", erratum=lost
        )
    four = best["four ranges"]
    yield row("age as it is, which breaks both promises", "I(X~, W)", four.original_information)
    whole_information = measure_by_age(None, "sex", "race", "education")["mutual_information"].value
    yield row(
        "age as it is, which breaks both promises",
        "information lost",
        1 - four.original_information / whole_information,
    )
    ages = np.asarray(adult()["age"])
    table = pa.table(
        {
            "age": np.searchsorted(np.array(four.cut_points), ages, side="right"),
            _STATUS: adult()[_STATUS],
        }
    )
    measurement = measure(table, quasi_identifiers="age", sensitive=_STATUS)
    classes = one_symbol(measurement, _STATUS)
    ends = [0, *four.cut_points, 100]
    lost_table = (
        "the table is a picture that the text does not have; these are the best four ranges"
    )
    ranges_text = ", ".join(f"[{low}, {high})" for low, high in pairwise(ends))
    yield row("A1*", "ranges", ranges_text, where="Table 5", note=lost_table)
    labels = [f"[{low}, {high})" for low, high in pairwise(ends)]
    for label, class_numbers in zip(labels, classes, strict=True):
        for kind in ("I1", "I2"):
            yield row(label, kind, class_numbers[kind])
    yield claim(
        "A1* keeps t and l in every class",
        holds=_violation_counts(measurement) == (0, 0),
        ours="0 classes break them",
    )
    more = four.information > measure_by_age(50)["mutual_information"].value
    yield claim(
        "A1* keeps more information than A2",
        holds=more,
        ours=f"{four.information:.4f} against {measure_by_age(50)['mutual_information'].value:.4f}",
    )
    yield _averages_figure("Fig. 4 left", four.information, "A1*, the best four ranges")
    yield _classes_figure("Fig. 4 right", classes, "A1*, the best four ranges", labels)


@PAPER.part(
    "Section 4, lattice",
    "claim",
    title="is A2 the best of Table 4's generalizations?",
    told="Incognito with the transformations of Table 4 gave A2: gender, race and education "
    "suppressed. All 32 combinations of the levels "
    "are measured here.",
    how=f"`divulge generalize … --promise 'surprise <= {_T}' --promise 'entropy_l_diversity >= "
    f"{_L}'`.",
    public=_ADULT,
)
def lattice() -> Iterator[Row]:
    """All nodes of the lattice, those that meet the requirements, and the most informative one."""
    node_information: dict[str, float] = {}
    ages: dict[str, int | None] = {"A0": None, "A1": 25, "A2": 50, "A3": 0}
    for level, chosen in product(ages, product(*([(), (name,)] for name in _QUASI[1:]))):
        others = tuple(name for names in chosen for name in names)
        measurement = measure_by_age(ages[level], *others)
        if _violation_counts(measurement) == (0, 0):
            node_information[" + ".join([level, *others])] = measurement["mutual_information"].value
    best = max(node_information, key=lambda name: node_information[name])
    for name in sorted(node_information, key=lambda name: -node_information[name]):
        more = "keeps both promises too, and more information than A2, which the paper publishes"
        yield row(
            name, "I(X~, W)", node_information[name], note=more if name == best != "A2" else ""
        )
    finer = [
        name
        for name in node_information
        if name.startswith(("A0", "A1")) or (name.startswith("A2") and name != "A2")
    ]
    yield claim(
        "gender, race and education are suppressed, and age is in two groups (A2)",
        holds="A2" in node_information and not finer,
        ours="A2 keeps both promises, and no finer version of it does"
        if "A2" in node_information and not finer
        else f"finer: {finer}",
    )
