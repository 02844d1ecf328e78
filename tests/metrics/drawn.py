# SPDX-License-Identifier: Apache-2.0
"""Random tables for the laws and the oracle, and helpers from counts to numbers.

`Counts` is a table as the papers print it: for each class, the number of each value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from divulge.adversary import Belief, GroundDistance, PriorBelief
from divulge.api.measure import measure
from divulge.counting import Contingency, Domain, build_cells
from divulge.engines import DuckDBEngine
from divulge.metrics import METRICS, Identity, Measurement, Metric
from divulge.sources import Table, read
from tests.helpers import with_adversary

Counts = list[dict[str, int]]
VALUES = ("a", "b", "c", "d")


def counts(*, classes: int = 5, least: int = 1, most: int = 9) -> st.SearchStrategy[Counts]:
    """Up to `classes` classes over up to four values."""
    members = st.dictionaries(st.sampled_from(VALUES), st.integers(1, most), min_size=1)
    return st.lists(members, min_size=least, max_size=classes)


def rows(*, least: int = 1, most: int = 14) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows with two quasi-identifiers (text and numbers) and three sensitive columns (text,
    whole numbers, floats); nulls everywhere.
    """
    row = st.fixed_dictionaries(
        {
            "zip": st.sampled_from(["476**", "479**", "", None]),
            "age": st.sampled_from([20, 30, None]),
            "disease": st.sampled_from(["flu", "cancer", "Grippe ü", None]),
            "visits": st.sampled_from([0, 1, 5, None]),
            "dose": st.sampled_from([-0.5, 0.0, 2.25, None]),
        }
    )
    return st.lists(row, min_size=least, max_size=most)


COLUMNS = {
    "zip": pa.string(),
    "age": pa.int64(),
    "disease": pa.string(),
    "visits": pa.int64(),
    "dose": pa.float64(),
}


def arrow(given: Sequence[Mapping[str, Any]], **more: pa.DataType) -> pa.Table:
    """Rows as an Arrow table."""
    types = COLUMNS | more
    names = [name for name in types if name in given[0]]
    return pa.table({name: pa.array([row[name] for row in given], types[name]) for name in names})


@cache
def engine() -> DuckDBEngine:
    """One DuckDB for all drawn tables: starting it costs more than measuring them."""
    return DuckDBEngine(threads=1)


def opened(table: Any) -> Table:
    """A frame as a table of the shared engine."""
    return read(table, engine=engine())


def measured(
    table: Any, *, quasi_identifiers: Any, sensitive: Any = (), **options: Any
) -> Measurement:
    """dv.measure on the shared engine; settings of the adversary may follow the roles."""
    return measure(
        opened(table),
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        **with_adversary(options),
    )


def table_of(given: Sequence[Mapping[str, int]]) -> pa.Table:
    """Counts as rows: class number `q`, value `s`."""
    pairs = [
        (number, value)
        for number, members in enumerate(given)
        for value, n in members.items()
        for _ in range(n)
    ]
    return pa.table({"q": pa.array([q for q, _ in pairs], pa.int64()), "s": [s for _, s in pairs]})


def contingency_of(given: Sequence[Mapping[str, int]]) -> Contingency:
    """Counts without any rows; tests/counting checks that counting the rows gives the same."""
    values = sorted({value for members in given for value in members})
    cells = [
        (number, values.index(value), n)
        for number, members in enumerate(given)
        for value, n in members.items()
    ]
    class_index, codes, mass = (np.array(column) for column in zip(*cells, strict=True))
    total = int(mass.sum())
    return Contingency(
        keys=(Domain("q", pa.array(range(len(given)), pa.int64()), "number"),),
        codes=(np.arange(len(given)),),
        sizes=np.array([sum(members.values()) for members in given]),
        cells={
            "s": build_cells(
                Domain("s", pa.array(values), "text"),
                class_index,
                codes,
                mass.astype(float),
                classes=len(given),
            )
        },
        rows=total,
        people=total,
    )


def belief_of(
    counted: Contingency,
    *,
    distance: str = "equal",
    recursive_l: int | None = None,
    prior: Sequence[float] | None = None,
) -> Belief:
    """The belief about s, with the table's own marginal as the prior unless one is given."""
    cells = counted.cells["s"]
    weights = cells.marginal if prior is None else np.array(prior, dtype=float)
    ground = GroundDistance("ordered" if distance == "ordered" else "equal")
    return Belief(
        cells, PriorBelief("table", weights[None, :]), ground, np.arange(len(counted)), recursive_l
    )


@dataclass(frozen=True)
class Numbers:
    """All numbers of one table, by (scope, name)."""

    table: dict[tuple[str, str], float]
    classes: dict[tuple[str, str], list[float]]


def numbers_of(counted: Contingency, *, population: Any = None, **options: Any) -> Numbers:
    """Every metric of a counted table."""
    people = counted.sizes if population is None else population
    identity = Identity.of(counted, np.asarray(people, dtype=float))
    belief = belief_of(counted, **options)
    table: dict[tuple[str, str], float] = {}
    classes: dict[tuple[str, str], list[float]] = {}
    for metric in METRICS:
        view = identity if metric.scope == "identity" else belief
        table[metric.scope, metric.name], _ = metric.value(view)
        if metric.per_class is not None:
            classes[metric.scope, metric.name] = metric.per_class(view).tolist()
    return Numbers(table, classes)


def name_of(metric: Metric[Any]) -> tuple[str, str]:
    """The key of a metric in these tests."""
    return metric.scope, metric.name


def merged(counted: Contingency, into: Sequence[int]) -> Contingency:
    """Class number i becomes part of class into[i], on the counts alone."""
    names = sorted(set(into))
    codes = np.array([names.index(new) for new in into])
    return counted.roll_up(
        coarser={"q": (codes, Domain("q", pa.array(names, pa.int64()), "number"))}
    )


def merged_counts(given: Sequence[Mapping[str, int]], into: Sequence[int]) -> Counts:
    """Class number i becomes part of class into[i], on the table as printed."""
    found: dict[int, dict[str, int]] = {new: {} for new in sorted(set(into))}
    for members, new in zip(given, into, strict=True):
        for value, n in members.items():
            found[new][value] = found[new].get(value, 0) + n
    return list(found.values())
