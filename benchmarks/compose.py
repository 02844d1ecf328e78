# SPDX-License-Identifier: Apache-2.0
"""How long `compose` takes for three releases of 10^5 and 10^6 people: python benchmarks/compose.py [PEOPLE ...]."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import divulge as dv

DISEASES = 20
RELEASES: tuple[tuple[list[str], dict[str, Any]], ...] = (
    (["age", "sex"], {"age": {"intervals": [5, 10, 20]}}),
    (["zip", "sex"], {}),
    (["age", "zip"], {"age": {"intervals": [20, 40]}}),
)


def people(rows: int) -> pa.Table:
    """People drawn at random, the same ones every time."""
    draw = np.random.default_rng(16)
    return pa.table(
        {
            "id": np.arange(rows),
            "age": draw.integers(18, 98, rows),
            "zip": [f"{code:05d}" for code in draw.integers(10_000, 10_800, rows)],
            "sex": np.where(draw.random(rows) < 0.5, "f", "m"),
            "disease": [f"disease {number}" for number in np.minimum(draw.geometric(0.2, rows), DISEASES)],
        }
    )


def main(sizes: list[int]) -> None:
    """Publish three times, then time what they tell together."""
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            truth, out = Path(folder) / "truth.parquet", []
            pq.write_table(people(rows), truth)
            for place, (names, levels) in enumerate(RELEASES):
                release = dv.generalize(
                    truth, policy={"k_anonymity": 10, "l_diversity": 3}, hierarchies=levels, quasi_identifiers=names,
                    sensitive="disease", identifier="id", leave_out=[n for n in ("age", "zip", "sex") if n not in names],
                )  # fmt: skip
                out.append(release.write(Path(folder) / f"release {place}"))
            for person in ("id", None):
                began = time.perf_counter()
                found = dv.compose(out, truth=truth, person=person)
                took = time.perf_counter() - began
                told = found.together
                assert told is not None  # noqa: S101 - the truth was given
                print(
                    f"{rows:>9,} people, three releases, {'with' if person else 'without'} a key: {took:6.2f} s; "
                    f"{told.below:,} in joint classes below {told.smallest}, {told.became_alone:,} became alone"
                )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [100_000, 1_000_000])
