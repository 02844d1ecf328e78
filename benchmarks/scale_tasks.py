# SPDX-License-Identifier: Apache-2.0
"""What scale.py measures, each in a process of its own: `TASKS` by name, each returns seconds, a peak of memory and what else was found."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import duckdb
from scale_data import PEOPLE, RANKED
from scale_memory import Watch, peak


def best(work: Callable[[], Any], *, seconds: float = 20.0) -> tuple[float, Any]:
    """The best of up to five runs after the first, within about so many seconds."""
    times: list[float] = []
    began = time.perf_counter()
    for _ in range(6):
        started = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - started)
        if time.perf_counter() - began > seconds:
            break
    return min(times[1:] or times), result


def group_by_duckdb(path: str) -> dict[str, Any]:
    """The bare statement on DuckDB."""
    sql = f"SELECT {', '.join(PEOPLE)}, COUNT(*) AS n FROM read_parquet('{path}') GROUP BY ALL"
    seconds, _ = best(lambda: duckdb.connect().sql(sql).to_arrow_table())
    return {"seconds": seconds, "peak": peak()}


def measure(path: str, engine: Any) -> dict[str, Any]:
    """All metrics on an engine."""
    import divulge as dv

    seconds, found = best(lambda: dv.measure(path, quasi_identifiers=PEOPLE[:-1], sensitive=PEOPLE[-1], engine=engine))
    return {"seconds": seconds, "peak": peak(), "classes": int(found["classes"].value)}


def measure_within(path: str, limit: str, folder: str) -> dict[str, Any]:
    """All metrics on DuckDB within a memory limit, once."""
    import divulge as dv
    from divulge.engines import DuckDBEngine

    engine = DuckDBEngine(memory_limit=limit, temp_directory=folder)
    started = time.perf_counter()
    with Watch(engine.directory) as watch:
        found = dv.measure(path, quasi_identifiers=PEOPLE[:-1], sensitive=PEOPLE[-1], engine=engine)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "peak": peak(), "spilled": watch.peaks["folder"], "classes": found.class_count}


def spark_engine(heap: str = "4g") -> Any:
    """A session on all cores of this machine, started as divulge does; driver and executors share one Java."""
    from divulge.engines import SparkEngine

    return SparkEngine(config={"spark.driver.memory": heap})


def group_by_spark(path: str) -> dict[str, Any]:
    """The bare statement on Spark."""
    engine = spark_engine()
    work = engine.session.read.parquet(path).groupBy(*PEOPLE).count
    with Watch() as watch:
        seconds, _ = best(lambda: work().toArrow())
    return {"seconds": seconds, "peak": watch.peaks["all"]}


def measure_spark(path: str) -> dict[str, Any]:
    """All metrics on Spark."""
    engine = spark_engine()
    with Watch() as watch:
        found = measure(path, engine)
    return found | {"peak": watch.peaks["all"]}


def measure_spark_small(path: str, heap: str) -> dict[str, Any]:
    """All metrics on Spark with little memory for Java, once."""
    import divulge as dv

    engine = spark_engine(heap)
    started = time.perf_counter()
    with Watch() as watch:
        found = dv.measure(path, quasi_identifiers=PEOPLE[:-1], sensitive=PEOPLE[-1], engine=engine)
    return {
        "seconds": time.perf_counter() - started,
        "peaks": watch.peaks,
        "classes": found.class_count,
        "counts": found.settings["counts"],
        "came": len(found.contingency),
    }


def growing(path: str) -> dict[str, Any]:
    """The growing sets, once, with the time and the processor time at which each column was done."""
    import divulge as dv

    at: list[float] = []
    cpu: list[float] = []
    started, before = time.perf_counter(), time.process_time()

    def note(_done: int, _total: int) -> None:
        at.append(time.perf_counter() - started)
        cpu.append(time.process_time() - before)

    found = dv.growing(path, quasi_identifiers="a*", every=10, progress=note)
    itpr = [(step.n, step.identity["itpr"]) for step in found.steps]
    return {
        "at": at,
        "cpu": cpu,
        "peak": peak(),
        "itpr": itpr,
        "simple": [item.identity["itpr"] for item in found.alone],
    }


def rank(path: str, sensitive: list[str]) -> dict[str, Any]:
    """Rank all attributes."""
    import divulge as dv

    seconds, found = best(lambda: dv.rank(path, quasi_identifiers=RANKED, sensitive=sensitive), seconds=10)
    return {"seconds": seconds, "peak": peak(), "combinations": len(found.combinations)}


def group_by_each(path: str, sensitive: list[str]) -> dict[str, Any]:
    """One statement for each combination, and those for all attributes and all but one, which a ranking also looks at."""
    connection = duckdb.connect()

    def run(combinations: list[tuple[str, ...]]) -> float:
        started = time.perf_counter()
        for names in combinations:
            listed = ", ".join((*names, *sensitive))
            connection.sql(
                f"SELECT {listed}, COUNT(*) AS n FROM read_parquet('{path}') GROUP BY {listed}"
            ).to_arrow_table()
        return time.perf_counter() - started

    chosen = [names for size in (1, 2, 3) for names in itertools.combinations(RANKED, size)]
    more = [*itertools.combinations(RANKED, len(RANKED) - 1), tuple(RANKED)]
    return {"seconds": run(chosen), "combinations": len(chosen), "more_seconds": run(more), "more": len(more)}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "group by duckdb": group_by_duckdb,
    "group by spark": group_by_spark,
    "measure duckdb": lambda path: measure(path, "duckdb"),
    "measure spark": measure_spark,
    "measure within": measure_within,
    "measure spark small": measure_spark_small,
    "growing": growing,
    "rank": rank,
    "group by each": group_by_each,
}
