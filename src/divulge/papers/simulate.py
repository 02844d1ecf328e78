# SPDX-License-Identifier: Apache-2.0
"""The experiments of Whang and Garcia-Molina (section 6): the generator, Table 5 and Figs. 3a to 3d, with spreads over seeds.

A reference has n attributes. A record copies each of them with probability p_c; a copy is perturbed into a wrong value with
probability p_p; for each reference attribute a bogus one is added with probability p_b. Confidences are uniform on (0, m).
Weights are 1 (C) or uniform on (0, 1) per label (R): a perturbed copy keeps its label, a bogus attribute has a label of its own.
The leakage of a run is the set leakage, the maximum over its records.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from divulge import dossier, results, values
from divulge.arrays import Floats, Ints
from divulge.errors import BadInput
from divulge.results import Result


@values.checked_fields
@dataclass(frozen=True)
class Parameters:
    """Table 4 of the paper; the defaults are its basic values."""

    n: int = 100
    records: int = 10_000
    p_c: float = 0.5
    p_p: float = 0.5
    p_b: float = 0.5
    m: float = 0.5
    w: Literal["C", "R"] = "C"

    def __post_init__(self) -> None:
        if self.n < 1 or self.records < 1:
            raise BadInput(f"n is {self.n} and |R| is {self.records}", hint="both are at least 1")
        for name in ("p_c", "p_p", "p_b", "m"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadInput(f"{name} is {getattr(self, name)}", hint="it lies between 0 and 1")
        if self.w not in ("C", "R"):
            raise BadInput(f"w is {self.w!r}", hint="weights are C (constant) or R (random)")


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Result):
    """One run of the generator, as numbers."""

    view = "papers"

    batch: dossier.Batch
    label_weights: Floats
    """Weights of the n labels of the reference, then of the n bogus labels."""
    column: Ints
    """For every attribute its place in `label_weights`."""
    settings: Mapping[str, Any]
    """The parameters and the seed."""

    @property
    def labels(self) -> list[str]:
        """Those of the reference, then the bogus ones."""
        return [f"{kind}{i}" for kind in "LX" for i in range(len(self.label_weights) // 2)]

    @property
    def reference_weight(self) -> float:
        """W_p."""
        return float(self.label_weights[: len(self.label_weights) // 2].sum())

    def exact(self) -> Floats:
        """The exact leakage of every record."""
        return dossier.expected_f(self.batch, self.reference_weight).value

    def approximate(self) -> Floats:
        """The Taylor approximation for every record."""
        return dossier.taylor(self.batch, self.reference_weight)

    def weights(self) -> dict[str, float]:
        """The weights per label, for the records below."""
        return dict(zip(self.labels, self.label_weights.tolist(), strict=True))

    def reference(self) -> dossier.Record:
        """The reference as a record."""
        return dossier.Record({dossier.Attribute(label, "true"): 1.0 for label in self.labels if label[0] == "L"}, "p")

    def records(self) -> dossier.Database:
        """The records as such."""
        labels = self.labels
        found: list[dict[dossier.Attribute, float]] = [{} for _ in range(self.batch.size)]
        parts = zip(self.batch.row, self.column, self.batch.credit > 0, self.batch.confidence.tolist(), strict=True)
        for row, place, correct, confidence in parts:
            found[row][dossier.Attribute(labels[place], "true" if correct else f"false in r{row + 1}")] = confidence
        return tuple(dossier.Record(attributes, f"r{number}") for number, attributes in enumerate(found, start=1))


@values.checked
def generate(parameters: Parameters, *, seed: int) -> Simulation:
    """One run of the generator of section 6."""
    random = np.random.default_rng(seed)
    shape = (parameters.records, parameters.n)
    copied = random.random(shape) < parameters.p_c
    correct = copied & (random.random(shape) >= parameters.p_p)
    bogus = random.random(shape) < parameters.p_b
    row, column = np.nonzero(np.hstack([copied, bogus]))
    confidence = random.random(len(row)) * parameters.m
    labels = 2 * parameters.n
    label_weights = np.ones(labels) if parameters.w == "C" else random.random(labels)
    weight = label_weights[column]
    credit = weight * np.hstack([correct, np.zeros(shape, dtype=bool)])[row, column]
    batch = dossier.Batch(parameters.records, row, confidence, weight, credit, dossier.NO_SHIELDS)
    return Simulation(batch, label_weights, column, {"parameters": asdict(parameters), "seed": seed})


@dataclass(frozen=True)
class SeedSpread:
    """A number over several seeds."""

    mean: float
    deviation: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> SeedSpread:
        """Mean, standard deviation (0 for a single value) and range."""
        found = np.array(values)
        deviation = float(found.std(ddof=1)) if len(found) > 1 else 0.0
        return cls(float(found.mean()), deviation, float(found.min()), float(found.max()))


@dataclass(frozen=True, repr=False)
class Run(Result):
    """One set of parameters over several seeds."""

    view = "papers"

    parameters: Parameters
    seeds: tuple[int, ...]
    leakage: SeedSpread
    """The set leakage: the largest record leakage."""
    approximate: SeedSpread
    """The largest Taylor value."""
    mean_record: SeedSpread
    """The mean record leakage, which the maximum over many records hides."""
    taylor_error: float
    """The worst relative error of the Taylor value of a record, over all seeds; 0 where nothing leaks."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that the numbers depend on."""
        return {"parameters": asdict(self.parameters), "seeds": list(self.seeds)}


@values.checked
def run(parameters: Parameters, *, seeds: Sequence[int]) -> Run:
    """Generate and measure, once per seed."""
    if not seeds:
        raise BadInput("no seed was given", hint="give at least one")
    numbers = []
    for seed in seeds:
        simulation = generate(parameters, seed=seed)
        true, near = simulation.exact(), simulation.approximate()
        error = np.max(np.abs(near[true > 0] / true[true > 0] - 1), initial=0.0)
        numbers.append((true.max(), near.max(), true.mean(), error))
    exact, near_by, mean, errors = zip(*numbers, strict=True)
    worst = float(max(errors))
    return Run(parameters, tuple(seeds), SeedSpread.of(exact), SeedSpread.of(near_by), SeedSpread.of(mean), worst)


@dataclass(frozen=True)
class Table5Row:
    """One row of Table 5: what the paper prints beside what the generator gives."""

    printed_exact: float
    printed_approximate: float
    as_stated: Run
    """With |R| = 10,000."""
    with_1000: Run
    """With |R| = 1,000."""
    note: str


@dataclass(frozen=True, repr=False)
class Table5(results.Several[Table5Row]):
    """Table 5 of the paper, row by row."""

    view = "papers"


@dataclass(frozen=True, repr=False)
class Figure3(results.Several[Run]):
    """A panel of Fig. 3, from 0 to 1 along its axis."""

    view = "papers"


_UNREACHABLE = (
    "not reproduced: the printed value is far outside the spread of the maximum over 10,000 records of the generator"
)
TABLE_5: tuple[tuple[Parameters, float, float, str], ...] = (
    (Parameters(), 0.1740179, 0.1740178, ""),
    (Parameters(n=200), 0.1374662, 0.1374661, _UNREACHABLE),
    (Parameters(p_c=1.0), 0.2752435, 0.2752431, ""),
    (Parameters(p_p=1.0), 0.0, 0.0, ""),
    (Parameters(p_b=1.0), 0.1581138, 0.1581135, ""),
    (Parameters(m=1.0), 0.2625473, 0.2625469, _UNREACHABLE),
    (Parameters(n=10, w="R"), 0.4047125, 0.4046881, "the table prints n = 100; section 6.2 says 10 attributes"),
)


@values.checked
def table5(*, seeds: Sequence[int] = range(5), records: int = 10_000) -> Table5:
    """Table 5, every row over several seeds. The column the paper calls b is p_b."""
    rows = []
    for parameters, exact, approximate, note in TABLE_5:
        stated = run(replace(parameters, records=records), seeds=seeds)
        smaller = run(replace(parameters, records=min(records, 1000)), seeds=seeds)
        rows.append(Table5Row(exact, approximate, stated, smaller, note))
    return Table5(tuple(rows), {"seeds": list(seeds), "records": records})


@values.checked
def figure3(
    panel: Literal["a", "b", "c"], *, seeds: Sequence[int] = range(5), records: int = 10_000, steps: int = 10
) -> Figure3:
    """Figs. 3a, 3b, 3c: the leakage as p_c, p_p or m runs from 0 to 1."""
    vary = {"a": "p_c", "b": "p_p", "c": "m"}
    if panel not in vary:
        raise BadInput(f"there is no panel {panel!r}", hint="panels a, b and c vary p_c, p_p and m; d is figure3d")
    varied: list[dict[str, Any]] = [{vary[panel]: step / steps} for step in range(steps + 1)]
    runs = tuple(run(Parameters(records=records, **each), seeds=seeds) for each in varied)
    return Figure3(runs, {"figure": f"3{panel}", "seeds": list(seeds), "records": records, "steps": steps})


@dataclass(frozen=True)
class Timing:
    """How long one record of about n attributes takes by one method."""

    n: int
    method: str
    seconds: float


@dataclass(frozen=True, repr=False)
class Timings(results.Several[Timing]):
    """Fig. 3d: what each method takes as n grows."""

    view = "papers"


FIGURE_3D_LIMITS = {"naive": 12, "algorithm1": 250, "taylor": 5000, "exact": 5000}
"""The largest n each method is asked for; for the paper's methods, where its Fig. 3d ends them."""


@values.checked
def figure3d(
    *, sizes: Sequence[int] = (4, 8, 12, 50, 100, 250, 1000, 2000, 5000), seed: int = 0, repeat: int = 3
) -> Timings:
    """Fig. 3d: the time per record of every method as n grows, constant weights, best of several runs.

    Algorithm 1 is timed as printed. Times depend on the machine; only their growth and ratios mean something.
    """
    timings = []
    for n in sizes:
        simulation = generate(Parameters(n=n, records=1), seed=seed)
        batch, total = simulation.batch, simulation.reference_weight
        confidence = batch.confidence.tolist()
        found = np.flatnonzero(batch.credit > 0).tolist()
        places = [*found, *[None] * (n - len(found))]
        work: dict[str, Callable[[], object]] = {
            "naive": lambda: dossier.naive(batch, total),  # noqa: B023 - used within this turn of the loop
            "algorithm1": lambda: dossier.algorithm1_printed(confidence, places),  # noqa: B023
            "taylor": lambda: dossier.taylor(batch, total),  # noqa: B023
            "exact": lambda: dossier.expected_f(batch, total),  # noqa: B023
        }
        due = [(name, call) for name, call in work.items() if n <= FIGURE_3D_LIMITS[name]]
        timings += [Timing(n, name, min(timeit.repeat(call, number=1, repeat=repeat))) for name, call in due]
    return Timings(tuple(timings), {"figure": "3d", "sizes": list(sizes), "seed": seed, "repeat": repeat})
