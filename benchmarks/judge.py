# SPDX-License-Identifier: Apache-2.0
"""Check random sets of releases with an independent judge, for any number of seeds.

    python -m benchmarks.judge --first 0 --sets 1000

The judge is tests/release_judge.py. The counts of comparisons are printed, then every alarm with
its seed; the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.release_judge import Alarm, judge_set


def main() -> int:
    """Run the sets and print the counts of comparisons."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--sets", type=int, default=100, help="how many sets of releases")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    alarms: list[Alarm] = []
    for seed in range(options.first, options.first + options.sets):
        with tempfile.TemporaryDirectory() as folder:
            report = judge_set(seed, Path(folder))
        counts.update(report.counts)
        alarms += report.alarms
    for what, count in sorted(counts.items()):
        print(f"{count:8,}  {what}")
    for alarm in alarms:
        print(f"ALARM  seed {alarm.seed}: {alarm.what}: {alarm.detail}")
    print(f"{len(alarms):,} alarms")
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
