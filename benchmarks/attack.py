# SPDX-License-Identifier: Apache-2.0
"""How fast is `divulge attack`? Targets against a release of many rows, generalized and as it is, each in a process of its own.

    python benchmarks/attack.py [--rows 1000000] [--records 10000]

The rows are invented: age, zip, sex, education and job are drawn independently, the disease depends on the age. The aim is 60 s and 1 GiB
on two cores for 10,000 targets against a million rows.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import divulge as dv

KNOWS = ["age", "zip", "sex", "education", "job"]
ATTACKS = ["prosecutor", "marketer", "singling-out", "inference", "homogeneity", "skewness", "negative"]


def main() -> None:
    """Print time and peak memory of each release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--once", metavar="PARQUET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        attack_once(Path(options.once), options.records)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        invent(folder, options.rows)
        print(
            f"{options.records:,} targets against {options.rows:,} rows, {len(KNOWS)} columns known, {len(ATTACKS)} attacks"
        )
        for name in ("generalized", "truth"):
            command = [
                sys.executable,
                __file__,
                "--once",
                str(folder / f"{name}.parquet"),
                "--records",
                str(options.records),
            ]
            print(f"{name:<12}{subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()}")  # noqa: S603 - this file


def attack_once(release: Path, records: int) -> None:
    """Attack, and tell the time and the peak of this process."""
    begun = time.perf_counter()
    found = dv.attack(
        release,
        truth=release.parent / "truth.parquet",
        knows=KNOWS,
        sensitive="disease",
        records=records,
        attacks=ATTACKS,
    )
    seconds, peak = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rates = ", ".join(f"{one.name} {one.rate.value:.3f}" for one in found.attempts[:4])
    print(f"{seconds:7.1f} s {peak:7.0f} MiB   {rates}")


def invent(folder: Path, rows: int) -> None:
    """The truth, and a release with ages and zips made coarser, in another order."""
    chance = np.random.default_rng(1)
    ages, zips = chance.integers(18, 91, rows), chance.integers(10_000, 10_400, rows)
    plain = {
        "sex": np.array(["m", "f"])[chance.integers(0, 2, rows)],
        "education": np.array([f"e{n}" for n in range(16)])[chance.integers(0, 16, rows)],
        "job": np.array([f"j{n}" for n in range(12)])[chance.integers(0, 12, rows)],
        "disease": np.array([f"d{n}" for n in range(20)])[(chance.integers(0, 20, rows) * (1 + ages // 45)) % 20],
    }
    truth = pa.table({"age": ages, "zip": [str(code) for code in zips], **plain})
    labels = {
        "age": [f"[{age // 5 * 5}, {age // 5 * 5 + 5})" for age in ages],
        "zip": [f"{code // 10}*" for code in zips],
    }
    pq.write_table(truth, folder / "truth.parquet")
    pq.write_table(
        pa.table({**labels, **plain}).take(pa.array(chance.permutation(rows))), folder / "generalized.parquet"
    )


if __name__ == "__main__":
    main()
