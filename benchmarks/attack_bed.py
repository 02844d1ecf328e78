# SPDX-License-Identifier: Apache-2.0
"""Attacks compared with the metrics that predict them and the bounds that releases must meet.

The tables are Adult and Census-Income, raw and released.

    python -m benchmarks.attack_bed [--games 200] [--records 1000] [--rows 5000] [--chart
    docs/assets/attack-bed.svg]

1. Raw tables: the success of an adversary who knows one column, two, three and so on, next to its
   prediction: Bayes vulnerability (on average), prosecutor risk and ITPR (of the worst class, so
   that they are 1 as soon as one person is unique). One chart.
2. The success rate converges to Bayes vulnerability as more people are attacked; with everybody it
   is the same number.
3. Releases with random policies and random adversaries (tests/attacks/bed.py): the number of
   attempts that exceed the bound of a requirement by their whole interval, and the number that may
   do so by chance. More is a defect: the exit code is then 1.
4. k-anonymous tables as ARX makes them, with k the only requirement, fall to homogeneity attacks:
   people whose class discloses their value.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import divulge as dv
from divulge.attacks import Attempt
from tests.attacks.bed import most_by_chance, play

TABLES: dict[str, tuple[list[str], list[str]]] = {
    "adult": (
        [
            "age",
            "sex",
            "race",
            "education",
            "workclass",
            "marital-status",
            "hours-per-week",
            "native-country",
        ],
        ["occupation", "income"],
    ),
    "census-income": (
        [
            "age",
            "sex",
            "race",
            "education",
            "marital stat",
            "class of worker",
            "weeks worked in year",
            "state of previous residence",
        ],
        ["major occupation code", "income"],
    ),
}
"""Quasi-identifiers in the order in which they become known, and sensitive columns."""


def raw(name: str, table: pa.Table, records: int) -> Iterator[dict[str, Any]]:
    """Yield the points of the chart: predicted and achieved."""
    columns, (sensitive, _) = TABLES[name]
    for known in range(1, len(columns) + 1):
        knows = columns[:known]
        measured = dv.measure(table, quasi_identifiers=knows, sensitive=sensitive)
        attacks = ["prosecutor", "inference"]
        found = dv.attack(
            table, truth=table, knows=knows, sensitive=sensitive, attacks=attacks, records=records
        )
        scores = {None: measured.identity, sensitive: measured.sensitive[sensitive]}
        for attempt in found.attempts:
            own = scores[attempt.about]
            what = "whose row it is" if attempt.about is None else attempt.about
            yield {
                "table": name,
                "known": known,
                "what": what,
                "predicted": own["posterior_vulnerability"].value,
                "itpr": own["itpr"].value,
                "worst class": own["prosecutor_risk" if attempt.about is None else "alpha"].value,
                "rate": attempt.rate.value,
                "low": attempt.rate.low,
                "high": attempt.rate.high,
            }


def nearer(name: str, table: pa.Table) -> Iterator[tuple[int, float, float]]:
    """Yield the number of targets, the rate and the vulnerability, with more and more targets."""
    columns, (sensitive, _) = TABLES[name]
    knows = columns[:4]
    measured = dv.measure(table, quasi_identifiers=knows, sensitive=sensitive)[
        "posterior_vulnerability"
    ].value
    for records in (100, 1_000, 10_000, table.num_rows):
        asked: dict[str, Any] = {"attacks": "inference", "records": records}
        (attempt,) = dv.attack(
            table, truth=table, knows=knows, sensitive=sensitive, **asked
        ).attempts
        yield records, attempt.rate.value, measured


def homogeneous(name: str, table: pa.Table, records: int) -> Iterator[tuple[int, Attempt]]:
    """Yield k, and the success of the homogeneity attack on each sensitive column."""
    columns, sensitive = TABLES[name]
    narrow = table.select([*columns[:4], *sensitive])
    asked: dict[str, Any] = {
        "quasi_identifiers": columns[:4],
        "sensitive": sensitive,
        "suppression": 0.05,
    }
    for k in (2, 5, 10):
        release = dv.generalize(narrow, policy=dv.Policy(k_anonymity=k), **asked)
        for attempt in dv.attack(
            release, truth=narrow, attacks="homogeneity", records=records
        ).attempts:
            yield k, attempt


def chart(points: list[dict[str, Any]], path: str) -> None:
    """Draw predictions as lines, and successes as points with their intervals.

    There is a column for each table, and a row for what is guessed.
    """
    import altair as alt

    kinds = {
        "predicted": "Bayes vulnerability",
        "worst class": "worst class (prosecutor risk, alpha)",
        "itpr": "ITPR",
    }
    lines = [
        {
            "table": each["table"],
            "known": each["known"],
            "of": _of(each),
            "share": each[key],
            "metric": metric,
        }
        for each in points
        for key, metric in kinds.items()
    ]
    seen = [{**each, "of": _of(each), "metric": "achieved, 95 % interval"} for each in points]
    x = alt.X("known:O", title="columns known", axis=alt.Axis(labelAngle=0))
    shades = alt.Scale(
        domain=[*kinds.values(), "achieved, 95 % interval"],
        range=["#2a6f97", "#c26a2d", "#8d99ae", "#111111"],
    )
    colour = alt.Color(
        "metric:N", title=None, scale=shades, legend=alt.Legend(orient="bottom", labelLimit=300)
    )
    share = alt.Y("share:Q", title="share of people", scale=alt.Scale(domain=[0, 1]))
    predicted = (
        alt.Chart(alt.InlineData(values=lines)).mark_line().encode(x=x, y=share, color=colour)
    )
    achieved = alt.Chart(alt.InlineData(values=seen)).encode(x=x, color=colour)
    whiskers = achieved.mark_rule().encode(y=alt.Y("low:Q"), y2="high:Q")
    dots = achieved.mark_point(filled=True, size=30).encode(y=alt.Y("rate:Q"))
    panels = [
        alt.layer(
            *(
                layer.transform_filter(f"datum.table == '{table}' && datum.of == '{of}'")
                for layer in (predicted, whiskers, dots)
            )
        ).properties(width=300, height=170, title=f"{table}: {of}")
        for table in dict.fromkeys(each["table"] for each in points)
        for of in ("identity", "sensitive value")
    ]
    alt.concat(*panels, columns=2).save(path)


def _of(point: dict[str, Any]) -> str:
    return "identity" if point["what"] == "whose row it is" else "sensitive value"


def main() -> int:
    """Run the attacks and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--games", type=int, default=200, help="random policies and adversaries")
    parser.add_argument("--records", type=int, default=1000, help="targets of each attack")
    parser.add_argument(
        "--rows", type=int, default=5000, help="rows of the tables that are generalized at random"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chart", help="an .svg or .png of raw tables")
    given = parser.parse_args()
    points: list[dict[str, Any]] = []
    broken, bounded = 0, 0
    for place, (name, (columns, sensitive)) in enumerate(TABLES.items()):
        table = dv.datasets.load(name).select([*columns, *sensitive])
        found = list(raw(name, table, given.records))
        points += found
        outside = sum(not each["low"] <= each["predicted"] <= each["high"] for each in found)
        print(
            f"{name}, raw, {table.num_rows:,} rows: {len(found)} rates, {outside} whose interval "
            "misses Bayes vulnerability"
        )
        for each in found:
            print(
                f"  {each['known']} known, {each['what']}: achieved {each['rate']:.4f} "
                f"({each['low']:.4f} to {each['high']:.4f}), "
                f"predicted {each['predicted']:.4f}, worst class {each['worst class']:.3f}, ITPR "
                f"{each['itpr']:.3f}"
            )
        for records, rate, predicted in nearer(name, table):
            print(
                f"  {records:,} targets: {rate:.5f}, {abs(rate - predicted):.5f} from "
                f"{predicted:.5f}"
            )
        for k, attempt in homogeneous(name, table, given.records):
            print(
                f"  k = {k} alone: homogeneity gives away {attempt.about} of "
                f"{attempt.rate.value:.3f} of the people "
                f"({attempt.rate.low:.3f} to {attempt.rate.high:.3f})"
            )
        sample = table.take(
            pa.array(range(0, table.num_rows, max(table.num_rows // given.rows, 1)))
        )
        exceeding: Counter[str] = Counter()
        games = given.games // len(TABLES) + (place < given.games % len(TABLES))
        for game in play(
            sample, columns, sensitive, games=games, seed=given.seed + place, records=given.records
        ):
            bounded += len(game.bounded)
            for attempt in game.bounded:
                if attempt.broken and attempt.bound is not None:
                    broken += 1
                    exceeding[f"{attempt.name}: {attempt.bound.promise}"] += 1
                    print(
                        f"  EXCEEDED {attempt.name} {attempt.rate.value:.4f} > "
                        f"{attempt.bound.value:.4f} {game.asked} {game.promises}"
                    )
        print(f"  {games} random policies and adversaries; exceeded: {dict(exceeding) or 'none'}")
    allowed = most_by_chance(bounded)
    print(
        f"{bounded} attempts that a promise bounds, {broken} exceed it by their whole interval; "
        f"chance allows {allowed}"
    )
    if given.chart:
        chart(points, given.chart)
    return int(broken > allowed)


if __name__ == "__main__":
    sys.exit(main())
