# SPDX-License-Identifier: Apache-2.0
"""Works that are timed, each in a process of its own.

`python -m benchmarks.works NAME JSON` runs a function and prints its result. `seconds` is the time
of the work without imports and, if a `warm` table is named, after a first run on it. Bare works are
the least that any tool must do: the GROUP BY of the same columns, the copy of the same rows in
another order.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import divulge as dv
from benchmarks.data import COLUMNS, MORE, PEOPLE, QUASI_IDENTIFIERS, RANKED, SENSITIVE

K5: dict[str, Any] = {"policy": {"k_anonymity": 5}, "suppression": 0.05}
ADULT: dict[str, Any] = {"quasi_identifiers": QUASI_IDENTIFIERS, "sensitive": SENSITIVE}
Told = dict[str, Any]


def timed(work: Callable[[str], Any], path: str, warm: str | None = None) -> tuple[float, Any]:
    """Return seconds and result, after a first run on a small table."""
    if warm:
        work(warm)
    started = time.perf_counter()
    found = work(path)
    return time.perf_counter() - started, found


def make(path: str, kind: str, rows: int) -> Told:
    """Make a table of data.py."""
    from benchmarks import data

    data.make(Path(path), kind, rows)
    return {}


# --- Bare works -----------------------------------------------------------------------------------
def group_by(path: str, warm: str | None = None, columns: Sequence[str] = COLUMNS) -> Told:
    """Run the bare statement on DuckDB."""
    import duckdb

    names = ", ".join(f'"{name}"' for name in columns)
    seconds, found = timed(
        lambda source: (
            duckdb.connect()
            .sql(f"SELECT {names}, COUNT(*) AS n FROM read_parquet('{source}') GROUP BY {names}")
            .to_arrow_table()
        ),
        path,
        warm,
    )
    return {"seconds": seconds, "cells": found.num_rows}


def group_by_each(path: str) -> Told:
    """Run a statement for each combination of up to three attributes."""
    import duckdb

    connection, started = duckdb.connect(), time.perf_counter()
    chosen = [names for size in (1, 2, 3) for names in itertools.combinations(RANKED, size)]
    for names in chosen:
        listed = ", ".join(names)
        connection.sql(
            f"SELECT {listed}, COUNT(*) AS n FROM read_parquet('{path}') GROUP BY {listed}"
        ).to_arrow_table()
    return {"seconds": time.perf_counter() - started, "combinations": len(chosen)}


def shuffled_copy(path: str, out: str) -> Told:
    """Write all rows in another order, compressed as divulge does it."""
    import duckdb

    started = time.perf_counter()
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    connection.execute(
        f"COPY (SELECT * FROM read_parquet('{path}') ORDER BY random()) TO '{out}' (FORMAT "
        "parquet, COMPRESSION zstd)"
    )
    return {"seconds": time.perf_counter() - started}


# --- divulge --------------------------------------------------------------------------------------
def measure(path: str, warm: str | None = None, columns: Sequence[str] = COLUMNS) -> Told:
    """Compute all metrics."""
    *known, about = columns
    seconds, found = timed(
        lambda source: dv.measure(source, quasi_identifiers=known, sensitive=about), path, warm
    )
    return {"seconds": seconds, "classes": found.class_count}


def generalize(path: str, out: str, warm: str | None = None) -> Told:
    """Generalize, from the file to the verified release."""
    return _generalize(path, out, warm)


def _generalize(path: str, out: str, warm: str | None, engine: Any = None) -> Told:
    plain = [name for name in dv.read(path).names if name in MORE]

    def work(source: str) -> Any:
        target = out if source == path else f"{out}-warm"
        release = dv.generalize(source, **ADULT, **K5, plain=plain, engine=engine)
        release.write(target, force=True)
        return release

    seconds, found = timed(work, path, warm)
    return {"seconds": seconds, "classes": found.plan.classes}


def apply(path: str, release: str, out: str, warm: str) -> Told:
    """Release as many later rows as a release has, with its generalization."""

    def work(later: str) -> Any:
        small = "" if later == path else "-warm"
        return dv.apply(
            release + small, later, out + small, unseen="suppress", suppression=1.0, force=True
        )

    seconds, found = timed(work, path, warm)
    return {"seconds": seconds, "rows": found.rows}


def anatomize(path: str, out: str, warm: str | None = None) -> Told:
    """Anatomize, from the file to the verified release."""
    known = [*QUASI_IDENTIFIERS, *(name for name in dv.read(path).names if name in MORE)]

    def work(source: str) -> Any:
        release = dv.anatomize(source, quasi_identifiers=known, sensitive=SENSITIVE, beta="1/4")
        release.write(out if source == path else f"{out}-warm", force=True)
        return release

    seconds, _ = timed(work, path, warm)
    return {"seconds": seconds}


def query(release: str) -> Told:
    """Open a release and count over two of its tables."""
    value = "between 0 and 5000" if "numbers" in release else "<> 'Sales'"
    asked = f"age >= 40 and {SENSITIVE} {value}"
    seconds, found = timed(lambda folder: dv.query(folder, asked), release, f"{release}-warm")
    return {"seconds": seconds, "estimate": found.estimate}


def dossier(path: str, warm: str) -> Told:
    """Compute the leakage of each row, as a record, about one person."""
    import pyarrow.parquet as pq

    (truth,) = dv.dossier.from_rows(next(pq.ParquetFile(path).iter_batches(1)).to_pylist())
    seconds, found = timed(
        lambda source: dv.dossier.record_leakages(
            dv.dossier.from_rows(source, confidence=0.9), truth
        ),
        path,
        warm,
    )
    return {"seconds": seconds, "records": len(found)}


def rank(path: str, warm: str) -> Told:
    """Rank all attributes and all their combinations of up to three."""
    seconds, found = timed(lambda source: dv.rank(source, quasi_identifiers=RANKED), path, warm)
    return {"seconds": seconds, "combinations": len(found.combinations)}


def search(path: str, columns: Sequence[str], time_limit: float) -> Told:
    """Search the best levels of quasi-identifiers, and the gap to the optimum."""
    import pyarrow as pa

    asked = {**K5, "quasi_identifiers": columns, "leave_out": ["*"], "time_limit": time_limit}
    dv.generalize(pa.table(dict.fromkeys(columns, ["1"] * 10)), **asked)
    seconds, release = timed(lambda source: dv.generalize(source, **asked), path)
    plan = release.plan
    return {
        "seconds": seconds,
        "gap": plan.gap,
        "loss": plan.value,
        "nodes": plan.lattice,
        "checked": plan.checked,
    }


def growing(path: str) -> Told:
    """Compute simple and combined ITPR of growing sets of columns.

    With the seconds until n = 1, 10, 20, ...
    """
    at: list[float] = []
    started = time.perf_counter()
    found = dv.growing(
        path,
        quasi_identifiers="a*",
        every=10,
        progress=lambda _done, _all: at.append(time.perf_counter() - started),
    )
    return {"seconds": at[-1], "until": [round(at[step.n - 1], 2) for step in found.steps]}


def measure_within(path: str, limit: str, folder: str) -> Told:
    """Compute all metrics within a memory limit, with each row a class of its own."""
    from benchmarks.memory import Watch
    from divulge.engines import DuckDBEngine

    engine = DuckDBEngine(memory_limit=limit, temp_directory=folder)
    with Watch(engine.directory) as watch:
        seconds, found = timed(
            lambda source: dv.measure(
                source, quasi_identifiers=PEOPLE[:-1], sensitive=PEOPLE[-1], engine=engine
            ),
            path,
        )
    return {
        "seconds": seconds,
        "classes": found.class_count,
        "spilled MiB": round(watch.peaks["folder"]),
    }


# --- On Spark: one session on all cores of this machine, started as divulge does ------------------
def on_spark(do: str, path: str, warm: str | None = None, out: str = "", heap: str = "4g") -> Told:
    """Run a bare work or one of ours; memory is that of Python, Java and the workers together."""
    from pyspark.sql import functions

    from benchmarks.memory import Watch
    from divulge.engines import SparkEngine

    engine = SparkEngine(config={"spark.driver.memory": heap})
    names = COLUMNS if do != "measure distinct" else PEOPLE
    works: dict[str, Callable[[str], Any]] = {
        "group by": lambda source: (
            engine.session.read.parquet(source).groupBy(*names).count().toArrow()
        ),
        "shuffled copy": lambda source: (
            engine.session.read.parquet(source)
            .orderBy(functions.rand())
            .write.mode("overwrite")
            .option("compression", "zstd")
            .parquet(out)
        ),
    }
    works["measure"] = works["measure distinct"] = lambda source: dv.measure(
        source, quasi_identifiers=names[:-1], sensitive=names[-1], engine=engine
    )
    with Watch() as watch:
        if do == "generalize":
            told = _generalize(path, out, warm, engine)
        else:
            seconds, _ = timed(works[do], path, warm)
            told = {"seconds": seconds}
    peaks = {
        f"{kind} MiB": round(watch.peaks.get(kind, 0.0)) for kind in ("driver", "java", "workers")
    }
    return told | {"peak": watch.peaks["all"]} | peaks


# --- Compared with other tools, whose results must be equal ---------------------------------------
PYCANON = ["sex", "race", "education"]


def pycanon(path: str) -> Told:
    """Compute the nine numbers of pycanon."""
    import pandas as pd
    from pycanon import anonymity

    frame = pd.read_parquet(path)
    started = time.perf_counter()
    about = (frame, PYCANON, [SENSITIVE])
    told = {
        "k_anonymity": anonymity.k_anonymity(frame, PYCANON),
        "alpha": anonymity.alpha_k_anonymity(*about)[0],
    }
    told |= {
        name: getattr(anonymity, name)(*about)
        for name in ("l_diversity", "t_closeness", "basic_beta_likeness")
    }
    for name in (
        "entropy_l_diversity",
        "recursive_c_l_diversity",
        "enhanced_beta_likeness",
        "delta_disclosure",
    ):
        getattr(anonymity, name)(*about)  # defined differently there: timed, not compared
    return {
        "seconds": time.perf_counter() - started,
        **{name: float(value) for name, value in told.items()},
    }


def measure_frame(path: str) -> Told:
    """Compute all metrics of the frame."""
    import pandas as pd

    frame = pd.read_parquet(path)
    dv.measure(frame[:1000], quasi_identifiers=PYCANON, sensitive=SENSITIVE)
    started = time.perf_counter()
    found = dv.measure(frame, quasi_identifiers=PYCANON, sensitive=SENSITIVE)
    seconds = time.perf_counter() - started
    names = ("k_anonymity", "alpha", "l_diversity", "t_closeness", "basic_beta_likeness")
    return {"seconds": seconds, **{name: float(found[name].value) for name in names}}


def adult_files(table: str, levels: str) -> Told:
    """Write the complete rows of Adult and the hierarchies of ARX's benchmark, for the rivals."""
    import pyarrow.csv

    from tests.generalization.adult import QUASI_IDENTIFIERS as EIGHT
    from tests.generalization.adult import hierarchies

    adult = dv.datasets.load("adult").drop_null().select([*EIGHT, SENSITIVE])
    pyarrow.csv.write_csv(adult, table)
    labels = {
        name: list(map(list, zip(*item.rows.values(), strict=True)))
        for name, item in hierarchies().items()
    }
    Path(levels).write_text(json.dumps(labels), encoding="utf-8")
    return {}


def generalize_adult(table: str, method: str) -> Told:
    """Generalize Adult with the k of the rivals, by levels or by boxes."""
    import pandas as pd

    from tests.generalization.adult import QUASI_IDENTIFIERS as EIGHT
    from tests.generalization.adult import hierarchies

    frame = pd.read_csv(table, keep_default_na=False)
    known: dict[str, Any] = {
        "quasi_identifiers": list(EIGHT),
        "sensitive": SENSITIVE,
        "method": method,
    }
    asked = {
        **known,
        **(
            K5 | {"hierarchies": hierarchies()}
            if method == "full-domain"
            else {"policy": K5["policy"]}
        ),
    }
    started = time.perf_counter()
    release = dv.generalize(frame, **asked)
    seconds = time.perf_counter() - started
    plan = release.plan
    return {
        "seconds": seconds,
        "classes": plan.classes,
        "suppressed": plan.suppressed,
        "levels": dict(plan.levels),
    }


def synthetic(folder: str, rows: int) -> Told:
    """Write the original, a control group and a table made from the original.

    One cell in ten is another row's, and numbers are moved a little.
    """
    import numpy as np

    from benchmarks.rivals import ASKED

    chance = np.random.default_rng(7)
    columns = list(dict.fromkeys([*ASKED["known"], ASKED["about"], *ASKED["one"], *ASKED["other"]]))
    everybody = dv.datasets.load("census-income").select(columns).drop_null().to_pandas()
    everybody = everybody.sample(frac=1.0, random_state=7).reset_index(drop=True)
    rows = min(rows, len(everybody) // 2)
    truth, control = everybody[:rows], everybody[rows : 2 * rows].reset_index(drop=True)
    release = truth.copy()
    for column in columns:
        moved = chance.random(rows) < 0.1
        values = truth[column].to_numpy().copy()
        values[moved] = values[chance.integers(0, rows, int(moved.sum()))]
        release[column] = values
    for column in ASKED["numbers"]:
        spread = 0.001 * float(truth[column].max() - truth[column].min())
        release[column] = (release[column] + chance.normal(0.0, spread, rows)).round(3)
    release = release.sample(frac=1.0, random_state=7).reset_index(drop=True)
    Path(folder).mkdir(exist_ok=True)
    for side, frame in (("truth", truth), ("control", control), ("release", release)):
        frame.to_csv(f"{folder}/{side}.csv", index=False)
    return {}


def attack_nearest(folder: str, kind: str, targets: int) -> Told:
    """Run the attacks of anonymeter by dv.attack."""
    import pandas as pd

    from benchmarks.rivals import ASKED

    frames = {side: pd.read_csv(f"{folder}/{side}.csv") for side in ("truth", "control", "release")}
    options: dict[str, Any] = {"attacks": "linkability", "knows": [*ASKED["one"], *ASKED["other"]]}
    if kind == "inference":
        options = {"attacks": "nearest-value", "knows": ASKED["known"], "sensitive": ASKED["about"]}
    people: dict[str, Any] = {"truth": frames["truth"], "control": frames["control"]}
    dv.attack(
        frames["release"], **people, records=20, **options
    )  # imports, as anonymeter compiles before its clock starts
    started = time.perf_counter()
    (attempt,) = dv.attack(frames["release"], **people, records=targets, **options).attempts
    seconds, control = time.perf_counter() - started, attempt.control
    told = {"rate": [attempt.rate.low, attempt.rate.high]}
    return {
        "seconds": seconds,
        **told,
        "control": None if control is None else [control.low, control.high],
    }


# --- Separate parts -------------------------------------------------------------------------------
def method(table: str, name: str) -> Told:
    """Divide and group Adult's complete rows by one method, beta = 1/7."""
    import pandas as pd

    frame = dv.read(pd.read_csv(table, keep_default_na=False))
    asked: dict[str, Any] = {
        "sensitive": SENSITIVE,
        "beta": "1/7",
        "seed": 1,
        "method": name.partition(",")[0],
    }
    asked |= {"tables": 3} if "anatomy" not in name and "asn" not in name else {}
    asked |= {"locality": True} if "locality" in name else {}
    started = time.perf_counter()
    release = dv.anatomize(frame, **asked)
    seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "beta": float(release.levels.beta),
        "RECQ": round(release.recq().mean, 3),
    }


def record_leakage(name: str, attributes: int) -> Told:
    """Compute the leakage of one record with equal weights, by a method of the paper or by ours."""
    import numpy as np

    from divulge.dossier import algorithm1_printed, expected_f, taylor
    from reproduction.simulate import Parameters, generate

    simulation = generate(
        Parameters(n=attributes, records=1, p_c=1.0, p_b=0.0, m=0.9), seed=attributes
    )
    batch, total = simulation.batch, simulation.reference_weight
    found = np.flatnonzero(batch.credit > 0).tolist()
    places, confidence = [*found, *[None] * (attributes - len(found))], batch.confidence.tolist()
    works: dict[str, Callable[[], object]] = {
        "exact": lambda: expected_f(batch, total),
        "taylor": lambda: taylor(batch, total),
        "algorithm 1": lambda: algorithm1_printed(confidence, places),
    }
    works[name]()
    times = 1 if name == "algorithm 1" else 100
    started = time.perf_counter()
    for _ in range(times):
        works[name]()
    return {"seconds": (time.perf_counter() - started) / times}


def many_records() -> Told:
    """Compute the leakage of 10,000 records of about 100 attributes with random weights.

    They start as Record objects.
    """
    from reproduction.simulate import Parameters, generate

    simulation = generate(Parameters(n=100, w="R"), seed=0)
    records, truth, weights = simulation.records(), simulation.reference(), simulation.weights()
    started = time.perf_counter()
    dv.dossier.record_leakages(records, truth, weights=weights)
    return {"seconds": time.perf_counter() - started}


def resolve(kind: str, records: int) -> Told:
    """Resolve entities.

    Shops whose purchases share names, cards and phones; or nobody who matches, or everybody in one
    group.
    """
    chance = random.Random(0)  # noqa: S311 - data for a benchmark
    made: Callable[[int], Mapping[str, str]] = {
        "strangers": lambda i: {"N": f"n{i}", "C": f"c{i}", "P": f"p{i}"},
        "crowd": lambda i: {"E": "x", "N": f"n{i}", "P": f"p{i}"},
        "shops": lambda _: _purchase(chance, chance.randrange(records // 3), records // 5),
    }[kind]
    database = tuple(dv.dossier.Record.of(made(i), id=f"r{i}") for i in range(records))
    started = time.perf_counter()
    found = dv.dossier.resolve(database, "E,N+P" if kind == "crowd" else "N+C,N+P")
    return {"seconds": time.perf_counter() - started, "records": len(found.records)}


def _purchase(chance: random.Random, person: int, names: int) -> dict[str, str]:
    bought = {"N": f"name {person % names}", "C": f"card {person}.{chance.randrange(2)}"}
    return bought | (
        {"P": f"phone {person}.{chance.randrange(2)}"} if chance.random() < 0.8 else {}
    )


def attack(path: str, records: int) -> Told:
    """Run seven attacks on a table as it is, by five known columns."""
    asked: dict[str, Any] = {
        "knows": ["age", "sex", "region", "education", "marital"],
        "sensitive": "disease",
    }
    attacks = [
        "prosecutor",
        "marketer",
        "singling-out",
        "inference",
        "homogeneity",
        "skewness",
        "negative",
    ]
    seconds, found = timed(
        lambda source: dv.attack(source, truth=path, records=records, attacks=attacks, **asked),
        path,
    )
    return {"seconds": seconds, "attempts": len(found.attempts)}


def three_releases(path: str, out: str) -> Told:
    """Make three releases of the same people, each with other columns."""
    for place, names in enumerate((["age", "sex"], ["region", "sex"], ["age", "region"])):
        left = [name for name in PEOPLE[:-1] if name not in names]
        release = dv.generalize(
            path, **K5, quasi_identifiers=names, sensitive="disease", leave_out=left
        )
        release.write(f"{out}{place}", force=True)
    return {}


def compose(path: str, out: str) -> Told:
    """Compute the joint disclosure risk of the three releases."""
    seconds, found = timed(
        lambda truth: dv.compose([f"{out}{place}" for place in range(3)], truth=truth), path
    )
    return {"seconds": seconds, "became alone": found.together.became_alone}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](**json.loads(sys.argv[2]))))
