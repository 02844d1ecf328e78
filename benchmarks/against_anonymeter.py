# SPDX-License-Identifier: Apache-2.0
"""How fast is an attack by the nearest row? dv.attack beside anonymeter on the same synthetic table, with the same rates.

    python benchmarks/against_anonymeter.py [--table census-income] [--rows 80000] [--targets 2000] [--repeats 3]

A part of the table is the truth, another the control group. The synthetic table is made of the truth: each cell is, with the chance of one
in ten, that of another row, and numbers are moved a little. Both tools infer the occupation from five columns, and link two halves of six
columns, against the same frames, in turns, best of several; told are seconds on the clock and of the processor. anonymeter needs an older
NumPy, so it runs in an environment of its own under build/, made here once; its compiled parts are compiled before the clock starts, and it
may use all cores. Intervals are Wilson's (95 %): rates are the same if they overlap. anonymeter's own examples (its tests/) are asked of
both as well; those with one neighbour apply.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

BUILD = Path(__file__).parents[1] / "build" / "anonymeter"
VERSION = "1.1.0"


class Asked(NamedTuple):
    """What is known and inferred, and which columns the two sources know that are linked."""

    known: list[str]
    about: str
    halves: tuple[list[str], list[str]]
    numbers: tuple[str, ...]


TABLES = {
    "adult": Asked(
        ["age", "workclass", "education", "marital-status", "sex"],
        "occupation",
        (["age", "fnlwgt", "education"], ["hours-per-week", "capital-gain", "marital-status"]),
        ("age", "fnlwgt", "hours-per-week", "capital-gain"),
    ),
    "census-income": Asked(
        ["age", "class of worker", "education", "marital stat", "sex"],
        "major occupation code",
        (["age", "instance weight", "education"], ["weeks worked in year", "dividends from stocks", "marital stat"]),
        ("age", "instance weight", "weeks worked in year", "dividends from stocks"),
    ),
}
EXAMPLES: list[dict[str, Any]] = [
    {"truth": [["a", "b"], ["c", "d"]], "release": [["a", "b"], ["c", "d"]], "expected": 1.0},
    {"truth": [["a", "b"], ["c", "d"]], "release": [["a", "b"], ["c", "e"]], "expected": 0.5},
    {"truth": [["a", "b"], ["c", "d"]], "release": [["a", "h"], ["c", "g"]], "expected": 0.0},
]
"""Of its test_inference_evaluator.py: the first column is known, the second inferred."""
LINKED: dict[str, Any] = {
    "truth": {"col0": [0, 0, 4, 0], "col1": [0, 1, 9, 4]},
    "release": {"col0": [0, 1, 4, 9], "col1": [0, 1, 4, 9]},
    "interval": [0.045587, 0.699358],
}
"""Of its test_linkability_evaluator.py, with one neighbour."""


# --- anonymeter's side, run by its own interpreter --------------------------------------------------------------------
def peer(folder: Path, asked: Asked, targets: int) -> dict[str, Any]:
    """Rates, intervals and seconds of one run."""
    import pandas as pd
    from anonymeter.evaluators.inference_evaluator import InferenceEvaluator
    from anonymeter.evaluators.linkability_evaluator import LinkabilityEvaluator

    truth, control, release = (pd.read_csv(folder / f"{side}.csv") for side in ("truth", "control", "release"))
    frames: dict[str, Any] = {"ori": truth, "syn": release, "control": control}

    def infer(attacks: int) -> Any:
        found = InferenceEvaluator(**frames, aux_cols=asked.known, secret=asked.about, n_attacks=attacks)
        return found.evaluate(n_jobs=-1).results()

    def link(attacks: int) -> Any:
        found = LinkabilityEvaluator(**frames, aux_cols=asked.halves, n_neighbors=1, n_attacks=attacks)
        return found.evaluate(n_jobs=-1).results()

    found: dict[str, Any] = {}
    for name, attack in (("inference", infer), ("linkability", link)):
        attack(20)
        started, worked = time.perf_counter(), time.process_time()
        results = attack(targets)
        seconds, work = time.perf_counter() - started, time.process_time() - worked
        rates = {"rate": results.attack_rate, "control": results.control_rate}
        ends = {side: [rate.value - rate.error, rate.value + rate.error] for side, rate in rates.items()}
        found[name] = {"seconds": seconds, "work": work, **ends}
    found["examples"] = [_example(item) for item in EXAMPLES]
    small = {name: pd.DataFrame(LINKED[side]) for name, side in (("ori", "truth"), ("syn", "release"))}
    linked = LinkabilityEvaluator(**small, n_attacks=4, n_neighbors=1, aux_cols=(["col0"], ["col1"]))
    found["linked"] = list(linked.evaluate(n_jobs=1).risk(confidence_level=0.95).ci)
    return found


def _example(item: dict[str, Any]) -> float:
    import pandas as pd
    from anonymeter.evaluators.inference_evaluator import InferenceEvaluator

    known, inferred = "c0", "c1"
    frames = {
        name: pd.DataFrame(item[side], columns=[known, inferred])
        for name, side in (("ori", "truth"), ("syn", "release"))
    }
    found = InferenceEvaluator(**frames, aux_cols=[known], secret=inferred, n_attacks=2).evaluate(n_jobs=1)
    return float(found.results(confidence_level=0).attack_rate.value)


def interpreter() -> Path:
    """That of anonymeter's environment, which is made where there is none."""
    python = BUILD / "bin" / "python"
    if not (BUILD / "ready").exists():
        print(f"making an environment for anonymeter {VERSION} under build/ ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(BUILD)], check=True)  # noqa: S603 - this interpreter
        subprocess.run([str(python), "-m", "pip", "install", "-qq", f"anonymeter=={VERSION}"], check=True)  # noqa: S603
        (BUILD / "ready").touch()
    return python


# --- ours -------------------------------------------------------------------------------------------------------------
def tables(folder: Path, name: str, rows: int, *, seed: int = 7) -> None:
    """Truth, control group and synthetic table as CSV files."""
    import numpy as np

    import divulge as dv

    chance, asked = np.random.default_rng(seed), TABLES[name]
    columns = list(dict.fromkeys([*asked.known, asked.about, *asked.halves[0], *asked.halves[1]]))
    everybody = dv.datasets.load(name).select(columns).drop_null().to_pandas()
    everybody = everybody.sample(frac=1.0, random_state=seed).reset_index(drop=True)
    rows = min(rows, len(everybody) // 2)
    truth, control = everybody[:rows], everybody[rows : 2 * rows].reset_index(drop=True)
    release = truth.copy()
    for column in columns:
        moved = chance.random(rows) < 0.1
        values = truth[column].to_numpy().copy()
        values[moved] = values[chance.integers(0, rows, int(moved.sum()))]
        release[column] = values
    for column in asked.numbers:
        spread = 0.001 * float(truth[column].max() - truth[column].min())
        release[column] = (release[column] + chance.normal(0.0, spread, rows)).round(3)
    release = release.sample(frac=1.0, random_state=seed).reset_index(drop=True)
    for side, frame in (("truth", truth), ("control", control), ("release", release)):
        frame.to_csv(folder / f"{side}.csv", index=False)


def ours(folder: Path, asked: Asked, targets: int) -> dict[str, Any]:
    """The same of dv.attack."""
    import pandas as pd

    import divulge as dv

    frames = {side: pd.read_csv(folder / f"{side}.csv") for side in ("truth", "control", "release")}
    found = examples()  # which imports what is imported when it is needed, before the clock starts
    kinds: dict[str, dict[str, Any]] = {
        "inference": {"attacks": "nearest-value", "knows": asked.known, "sensitive": asked.about},
        "linkability": {"attacks": "linkability", "knows": [*asked.halves[0], *asked.halves[1]]},
    }
    for name, options in kinds.items():
        people: dict[str, Any] = {"truth": frames["truth"], "control": frames["control"], "records": targets}
        started, worked = time.perf_counter(), time.process_time()
        (attempt,) = dv.attack(frames["release"], **people, **options).attempts
        seconds, work = time.perf_counter() - started, time.process_time() - worked
        control = attempt.control
        found[name] = {
            "seconds": seconds,
            "work": work,
            "rate": [attempt.rate.low, attempt.rate.high],
            "control": None if control is None else [control.low, control.high],
        }
    return found


def examples() -> dict[str, Any]:
    """The examples of anonymeter, by dv.attack."""
    import pyarrow as pa

    import divulge as dv

    rates = []
    for item in EXAMPLES:
        truth, release = (
            pa.table({name: [row[place] for row in item[side]] for place, name in enumerate(("c0", "c1"))})
            for side in ("truth", "release")
        )
        options: dict[str, Any] = {"knows": "c0", "sensitive": "c1", "attacks": "nearest-value"}
        (attempt,) = dv.attack(release, truth=truth, **options).attempts
        rates.append(attempt.rate.value)
    truth, release = pa.table(LINKED["truth"]), pa.table(LINKED["release"])
    (linked,) = dv.attack(release, truth=truth, knows=["col0", "col1"], attacks="linkability").attempts
    return {"examples": rates, "linked": [linked.rate.low, linked.rate.high]}


def main() -> None:
    """Run both in turns and print the ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", choices=TABLES, default="census-income")
    parser.add_argument("--rows", type=int, default=80_000)
    parser.add_argument("--targets", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    asked = TABLES[given.table]
    if given.peer is not None:
        print(json.dumps(peer(given.peer, asked, given.targets)))
        return
    python = interpreter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables(folder, given.table, given.rows)
        command = [str(python), __file__, "--peer", name, "--table", given.table, "--targets", str(given.targets)]
        runs: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for _ in range(given.repeats):
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - made here
            runs.append((json.loads(told.splitlines()[-1]), ours(folder, asked, given.targets)))
    for attack in ("inference", "linkability"):
        theirs, mine = (min((run[side][attack] for run in runs), key=lambda item: item["seconds"]) for side in (0, 1))
        clock, processor = (theirs[of] / mine[of] for of in ("seconds", "work"))
        print(
            f"{attack}: anonymeter {theirs['seconds']:.2f} s, divulge {mine['seconds']:.3f} s: {clock:.1f} times as fast; of the "
            f"processor {theirs['work']:.2f} s and {mine['work']:.3f} s: {processor:.1f} times"
        )
        for side, whom in (("rate", "in the release"), ("control", "not in it")):
            print(f"  {whom}: anonymeter {_span(theirs[side])}, divulge {_span(mine[side])}")
        same = all(_overlap(theirs[side], mine[side]) for side in ("rate", "control"))
        print(f"  rates {'agree within their intervals' if same else 'DIFFER'}")
    theirs, mine = runs[-1]
    expected = [item["expected"] for item in EXAMPLES]
    print(f"its own examples, expected {expected}: anonymeter {theirs['examples']}, divulge {mine['examples']}")
    print(f"its linked rows, expected {LINKED['interval']}: anonymeter {theirs['linked']}, divulge {mine['linked']}")


def _overlap(one: list[float], other: list[float]) -> bool:
    return max(one[0], other[0]) <= min(one[1], other[1])


def _span(ends: list[float]) -> str:
    return f"{ends[0]:.3f} to {ends[1]:.3f}"


if __name__ == "__main__":
    main()
