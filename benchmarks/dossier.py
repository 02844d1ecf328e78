# SPDX-License-Identifier: Apache-2.0
"""Record leakage: the exact method beside the paper's methods, in one run. Prints; decides nothing.

python benchmarks/dossier.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from divulge.dossier import (
    NO_SHIELDS,
    Attribute,
    Batch,
    Record,
    algorithm1_printed,
    expected_f,
    leakage,
    naive,
    record_leakages,
    taylor,
)
from divulge.dossier.paper_methods import algorithm1
from divulge.papers.simulate import Parameters, generate


def best(call: Callable[[], object], *, repeat: int = 5) -> float:
    """The least of several times, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def show(what: str, seconds: float, note: str = "") -> None:
    """One line of the result."""
    print(f"  {what:<58} {seconds * 1e3:>12.3f} ms   {note}")


def many_records() -> None:
    """10,000 records of about 100 attributes with random weights."""
    print("10,000 records x about 100 attributes, random weights")
    simulation = generate(Parameters(n=100, w="R"), seed=0)
    batch, total = simulation.batch, simulation.reference_weight
    exact = best(lambda: expected_f(batch, total))
    show("exact, from numbers", exact, f"certified relative error {expected_f(batch, total).error.max():.1e}")
    records, p, weights = simulation.records(), simulation.reference(), simulation.weights()
    show("exact, from Record objects (record_leakages)", best(lambda: record_leakages(records, p, weights=weights)))
    show(
        "Taylor (approximate)", near := best(lambda: taylor(batch, total)), f"exact takes {exact / near:.1f} x as long"
    )
    show("exact, light reference (a tenth of the weight)", best(lambda: expected_f(batch, total / 10)))
    show("expected precision (beta = 0)", best(lambda: expected_f(batch, total, 0.0), repeat=3))


def long_records() -> None:
    """One record, from 100 to 5,000 attributes, three kinds of weights."""
    print("\none record, half of it correct")
    random = np.random.default_rng(0)
    for size in (100, 250, 1000, 5000):
        kinds = {
            "equal weights": np.ones(size),
            "weights in (0, 1)": random.random(size),
            "weights 10^-3 .. 10^3": 10 ** random.uniform(-3, 3, size),
        }
        for kind, weight in kinds.items():
            credit = weight * (np.arange(size) % 2)
            batch = Batch(1, np.zeros(size, dtype=np.int64), random.random(size), weight, credit, NO_SHIELDS)
            seconds = best(lambda: expected_f(batch, float(credit.sum())))  # noqa: B023 - used at once
            error = expected_f(batch, float(credit.sum())).error[0]
            show(f"{size} attributes, {kind}", seconds, f"certified relative error {error:.1e}")
    light = np.where(weight == weight.min(), weight, 0.0)
    batch = Batch(1, batch.row, batch.confidence, weight, light, NO_SHIELDS)
    show("5000 attributes, only the lightest of them correct", best(lambda: expected_f(batch, float(light.sum()))))
    record = Record({Attribute(f"L{i}", "x"): float(c) for i, c in enumerate(batch.confidence)})
    p = Record({Attribute(f"L{i}", "x"): 1.0 for i in range(0, 5000, 2)})
    show("5000 attributes, leakage() with precision and recall", best(lambda: leakage(record, p)))


def against_the_paper() -> None:
    """The methods of the paper on the same records, equal weights."""
    print("\nthe paper's methods on the same record (n = |p|, equal weights)")
    for n in (12, 50, 100, 250):
        simulation = generate(Parameters(n=n, records=1, p_c=1.0, p_b=0.0, m=0.9), seed=n)
        batch, total = simulation.batch, simulation.reference_weight
        exact = best(lambda: expected_f(batch, total), repeat=20)  # noqa: B023 - used at once
        show(f"n = {n}: exact", exact)
        found = np.flatnonzero(batch.credit > 0).tolist()
        places = [*found, *[None] * (n - len(found))]
        confidence = batch.confidence.tolist()
        rivals: dict[str, Callable[[], object]] = {
            "Algorithm 1 as printed": lambda: algorithm1_printed(confidence, places),  # noqa: B023
            "Algorithm 1 corrected, NumPy": lambda: algorithm1(batch, total),  # noqa: B023
            "Taylor (approximate)": lambda: taylor(batch, total),  # noqa: B023
        }
        if n <= 12:
            rivals["naive, all worlds"] = lambda: naive(batch, total)  # noqa: B023
        for name, call in rivals.items():
            seconds = best(call, repeat=2)
            show(f"n = {n}: {name}", seconds, f"{seconds / exact:,.1f} x the exact method")


if __name__ == "__main__":
    many_records()
    long_records()
    against_the_paper()
