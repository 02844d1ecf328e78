# SPDX-License-Identifier: Apache-2.0
"""Entity resolution of 100,000 records: the ordinary case and the hard ones, and the timeline. Prints; decides nothing.

python benchmarks/resolve.py [--records 100000] [--linkage]
"""

from __future__ import annotations

import argparse
import random
import time

from divulge.dossier import Database, Record, Resolve, link, plan_disinformation, resolve, timeline
from divulge.dossier.resolve import Method


def shops(count: int, seed: int = 0) -> Database:
    """Purchases of count / 3 people: a name that others share, one of two cards, one of two phones, sometimes missing."""
    chance = random.Random(seed)  # noqa: S311 - data for a benchmark
    records = []
    for number in range(count):
        person = chance.randrange(count // 3)
        entries = [("N", f"name {person % (count // 5)}"), ("C", f"card {person}.{chance.randrange(2)}")]
        if chance.random() < 0.8:
            entries.append(("P", f"phone {person}.{chance.randrange(2)}"))
        records.append(Record.of(entries, id=f"r{number}"))
    return tuple(records)


def strangers(count: int) -> Database:
    """Nobody matches anybody."""
    return tuple(Record.of({"N": f"n{i}", "C": f"c{i}", "P": f"p{i}"}, id=f"r{i}") for i in range(count))


def crowd(count: int) -> Database:
    """All share an employer: one merged record with as many names and phones as there are records."""
    return tuple(Record.of({"E": "x", "N": f"n{i}", "P": f"p{i}"}, id=f"r{i}") for i in range(count))


def show(what: str, database: Database, rule: str, *, method: Method = "swoosh") -> None:
    """One line of the result."""
    start = time.perf_counter()
    found = resolve(database, rule, method=method)
    seconds = time.perf_counter() - start
    print(f"  {what:<34} {rule:<12} {method:<8} {len(found.records):>8,} records  {seconds:>7.2f} s")


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--linkage", action="store_true", help="also probabilistic linkage with Splink")
    options = parser.parse_args()
    count = options.records
    bought = shops(count)
    print(f"{count:,} records")
    show("shops", bought, "N+C,N+P")
    show("shops", bought, "N+C,N+P", method="closure")
    show("shops", bought, "C,P")
    show("shops, over-merging", bought, "N")
    show("strangers", strangers(count), "N+C,N+P")
    show("one crowd", crowd(count), "E,N+P")
    me = Record(bought[0].attributes)
    start = time.perf_counter()
    steps = sum(1 for _ in timeline(bought[: count // 10], me, operator=Resolve("N+C,N+P")))
    print(f"  timeline of {steps:,} records {time.perf_counter() - start:>47.2f} s")
    start = time.perf_counter()
    found = plan_disinformation(bought, me, rule="N+C,N+P", budget=10)
    gap = f"{found.before:.2f} -> {found.leakage:.2f}, gap {found.gap:.2g}"
    print(f"  disinformation, budget 10 ({gap}) {time.perf_counter() - start:>24.2f} s")
    if options.linkage:
        start = time.perf_counter()
        linked = link(bought, ["N", "C", "P"], blocking="C,P")
        print(f"  Splink on DuckDB, {len(linked.records):,} records {time.perf_counter() - start:>43.2f} s")


if __name__ == "__main__":
    main()
