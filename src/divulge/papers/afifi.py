# SPDX-License-Identifier: Apache-2.0
"""Afifi, Zhou and Ren 2018: distribution leakage L_D and entropy leakage L_E; every example, table, figure and claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from divulge import datasets
from divulge.api.measure import measure
from divulge.belief import Adversary
from divulge.metrics import Measurement
from divulge.papers.distances import compare_distances
from divulge.papers.reproduction import Figure, Paper, Row, claim, row

PAPER = Paper(
    "afifi",
    "Afifi, Zhou and Ren 2018",
    "Privacy Characterization and Quantification in Data Publishing",
    "What a table gives away is the change of an adversary's belief: **distribution leakage** L_D (Euclidean distance) and **entropy "
    "leakage** L_E (change of uncertainty), for each class, and their largest values epsilon and alpha. The paper's examples show that "
    "neither k-anonymity, l-diversity nor t-closeness sees it. [Concepts](../concepts/leakage.md) tells it in short.",
)
_METRICS = {
    "L_D": "distribution_leakage",
    "L_E": "entropy_leakage",
    "EMD": "t_closeness",
    "KL": "surprise",
    "best guess": "alpha",
    "values ruled out": "values_ruled_out",
}
_MEASURE = (
    "`divulge measure published.csv --qi … --sensitive … --original original.csv --classes`: L_D is `distribution_leakage`, "
    "L_E `entropy_leakage`"
)
_CUT_OFF = "two-decimal L_E are cut off in this paper, four-decimal ones rounded"
_SLIP = "the differences are (4, 0, -4)/12, so it is sqrt(32)/12; sqrt(26)/12 is the distance to (3, 4, 5)/12, the prior of Example 8"


def classes(
    table: pa.Table, quasi_identifiers: Sequence[str], sensitive: str, adversary: Adversary | None = None
) -> tuple[Measurement, list[dict[str, Any]]]:
    """A table measured, and its classes in the order in which the table shows them: key, size and the numbers of the paper."""
    found = measure(table, quasi_identifiers=list(quasi_identifiers), sensitive=sensitive, adversary=adversary)
    keys = [tuple(found.contingency.class_key(at).values()) for at in range(len(found.contingency))]
    shown = dict.fromkeys(zip(*(table[name].to_pylist() for name in quasi_identifiers), strict=True))
    numbers = {short: found.per_class(name, sensitive) for short, name in _METRICS.items()}
    told = []
    for key in shown:
        at = keys.index(key)
        told.append(
            {"key": key, "size": int(found.contingency.sizes[at])} | {k: float(v[at]) for k, v in numbers.items()}
        )
    return found, told


def from_counts(
    counts: Sequence[Sequence[int]], prior: Sequence[int] | None = None, **held: Any
) -> list[dict[str, Any]]:
    """Classes of which only the distributions are printed, as a table that has them; the prior as an original table."""
    table = _table(counts)
    original = None if prior is None else _table([prior]).drop_columns(["class"])
    adversary = Adversary(original=original, **held) if original is not None or held else None
    return classes(table, ["class"], "value", adversary)[1]


def _table(counts: Sequence[Sequence[int]]) -> pa.Table:
    cells = [
        (at, f"v{value}")
        for at, own in enumerate(counts, start=1)
        for value, many in enumerate(own)
        for _ in range(many)
    ]
    return pa.table({"class": [at for at, _ in cells], "value": [value for _, value in cells]})


def leakages(
    found: Sequence[Mapping[str, Any]],
    printed: Mapping[str, Sequence[str | None]],
    errata: Mapping[tuple[str, int], str] | None = None,
    labels: Sequence[str] = (),
) -> Iterator[Row]:
    """A row for each class and quantity; `errata` by quantity and number of the class, from 1."""
    for at, numbers in enumerate(found, start=1):
        label = f"C{at}" + (f": {labels[at - 1]}" if labels else "")
        for quantity, texts in printed.items():
            ours, text = numbers[quantity], texts[at - 1]
            cut = text is not None and quantity == "L_E" and len(text.partition(".")[2]) == 2
            yield row(
                label,
                quantity,
                ours,
                text,
                erratum=(errata or {}).get((quantity, at), ""),
                note=_CUT_OFF if cut and abs(ours - float(str(text))) > 0.005 else "",
            )


# --- section 3: what others miss --------------------------------------------------------------------------------------
@PAPER.part(
    "Table 1",
    "table",
    title="Example 1, Bob and Carl",
    told="A 3-anonymous table. Everybody in Bob's class has heart disease (homogeneity). Alice knows that Carl has a very low risk "
    "of it, so cancer is left (background knowledge).",
    how="`k_anonymity` and `alpha` of `divulge measure`; Carl with `--rule-out 'disease=Heart Disease'`.",
)
def table_1() -> Iterator[Row]:
    """Homogeneity and background knowledge."""
    published = datasets.load("afifi-table-1b")
    found, plain = classes(published, ["zip", "age"], "disease")
    _, told = classes(published, ["zip", "age"], "disease", Adversary(rule_out={"disease": "Heart Disease"}))
    yield row("Table 1(b)", "records in (a) and (b)", published.num_rows, "9")
    yield row("Table 1(b)", "k", found.identity["k_anonymity"].value, "3")
    yield row("Bob, class 476**, 2*", "best guess: Heart Disease", plain[0]["best guess"], "1")
    yield row("Carl, class 476**, 3*, heart disease ruled out", "best guess: Cancer", told[2]["best guess"], "1")


@PAPER.part(
    "Fig. 1",
    "figure",
    title="which distances to use",
    told="The figure's data are not printed; here beliefs are drawn at random, as the function states.",
    how="`dv.papers.compare_distances()`.",
)
def figure_1() -> Iterator[Row | Figure]:
    """Sensitivity and independence of distances between distributions."""
    found = compare_distances()
    by_sensitivity = sorted(found.names, key=lambda name: -found.sensitivity[name])
    by_independence = sorted(found.names, key=lambda name: -found.independence(name))
    for name in by_sensitivity:
        yield row(name, "sensitivity", found.sensitivity[name])
        yield row(name, "independence", found.independence(name))
    yield claim(
        "L1 and the Euclidean distance are the most sensitive metrics",
        holds=set(by_sensitivity[:2]) == {"L1", "Euclidean"},
        ours=f"most sensitive first: {', '.join(by_sensitivity)}",
        note="for beliefs drawn at random from the simplex, the Euclidean distance lies in the middle; the paper's own data are unknown",
    )
    yield claim(
        "the entropy distance is the only one that is independent of the others",
        holds=by_independence[0] == "entropy",
        ours=f"most independent first: {', '.join(by_independence)}",
    )
    yield found.figure()


@PAPER.part(
    "Example 8",
    "example",
    title="Table 4(b), 4-anonymous",
    told="Prior (3, 4, 5)/12: heart disease, virus infection, cancer.",
    how=f"{_MEASURE}.",
)
def example_8() -> Iterator[Row]:
    """Twelve inpatients, 4-anonymous."""
    found, told = classes(datasets.load("afifi-table-4b"), ["zip", "age"], "condition")
    swapped = {("L_D", 3): "sqrt(74)/12 = 0.7169: two digits are exchanged in print, twice"}
    printed = {"L_D": ("0.5137", "0.2357", "0.7619"), "L_E": ("0.5546", "0.0546", "1.5546")}
    yield row("Table 4(b)", "k", found.identity["k_anonymity"].value, "4")
    yield from leakages(told, printed, swapped, ("under 30", "over 40", "in their 30s"))
