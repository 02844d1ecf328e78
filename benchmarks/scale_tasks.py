# SPDX-License-Identifier: Apache-2.0
"""What scale.py measures, each in a process of its own: `TASKS` by name, each returns seconds, a peak of memory and what else was found."""

from __future__ import annotations

import itertools
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from scale_data import PEOPLE, RANKED


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


def peak() -> float:
    """The largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


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
    from divulge.engines.duckdb import DuckDBEngine

    engine = DuckDBEngine(memory_limit=limit, temp_directory=folder)
    started = time.perf_counter()
    found = dv.measure(path, quasi_identifiers=PEOPLE[:-1], sensitive=PEOPLE[-1], engine=engine)
    return {"seconds": time.perf_counter() - started, "peak": peak(), "classes": int(found["classes"].value)}


def spark_session() -> Any:
    """A session on all cores of this machine, started as divulge does."""
    from divulge.engines.spark import SparkEngine

    return SparkEngine(config={"spark.driver.memory": "4g"})


def group_by_spark(path: str) -> dict[str, Any]:
    """The bare statement on Spark."""
    engine = spark_session()
    work = engine.session.read.parquet(path).groupBy(*PEOPLE).count
    seconds, _ = best(lambda: work().toArrow())
    return {"seconds": seconds, "peak": spark_peak(engine)}


def measure_spark(path: str) -> dict[str, Any]:
    """All metrics on Spark."""
    engine = spark_session()
    return measure(path, engine) | {"peak": spark_peak(engine)}


def spark_peak(engine: Any) -> float:
    """The largest memory of this process and of Spark's Java process, in MiB."""
    status = Path(f"/proc/{engine.session.sparkContext._gateway.proc.pid}/status").read_text(encoding="utf-8")  # noqa: SLF001 - no other way
    java = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return peak() + java / 1024


def growing(path: str) -> dict[str, Any]:
    """The growing sets, once, with the time at which each column was done."""
    import divulge as dv

    at: list[float] = []
    started = time.perf_counter()
    found = dv.growing(
        path, quasi_identifiers="a*", every=10, progress=lambda _done, _total: at.append(time.perf_counter() - started)
    )
    return {"at": at, "peak": peak(), "itpr": [(step.n, step.identity["itpr"]) for step in found.steps]}


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
    "growing": growing,
    "rank": rank,
    "group by each": group_by_each,
}
