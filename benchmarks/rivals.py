# SPDX-License-Identifier: Apache-2.0
"""Run rivals in an interpreter of their own, because they pin old packages; print JSON.

python benchmarks/rivals.py anonypy|anjana|anonymeter JSON
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ASKED: dict[str, Any] = {
    "known": ["age", "class of worker", "education", "marital stat", "sex"],
    "about": "major occupation code",
    "one": ["age", "instance weight", "education"],
    "other": ["weeks worked in year", "dividends from stocks", "marital stat"],
    "numbers": ["age", "instance weight", "weeks worked in year", "dividends from stocks"],
}
"""Columns of Census-Income: known and inferred ones, and those of the two linked sources."""


def anonypy(table: str, keys: list[str], sensitive: str, k: int) -> dict[str, Any]:
    """Run Mondrian."""
    import anonypy as peer
    import pandas as pd

    data = pd.read_csv(table, keep_default_na=False)[[*keys, sensitive]]
    data = data.astype({name: "category" for name in data.columns if data[name].dtype == object})
    started = time.perf_counter()
    rows = peer.Preserver(data, keys, sensitive).anonymize_k_anonymity(k=k)
    seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "classes": len({tuple(str(row[key]) for key in keys) for row in rows}),
    }


def anjana(table: str, keys: list[str], levels: str, k: int, percent: float) -> dict[str, Any]:
    """Run full-domain generalization."""
    import pandas as pd
    from anjana.anonymity._k_anonymity import k_anonymity_inner

    data = pd.read_csv(table, keep_default_na=False).astype(dict.fromkeys(keys, str))
    labels = json.loads(Path(levels).read_text())
    given = {
        key: {at: pd.Series(each).to_numpy() for at, each in enumerate(labels[key])} for key in keys
    }
    started = time.perf_counter()
    found, suppressed, chosen = k_anonymity_inner(data, [], keys, k, percent, given)
    seconds = time.perf_counter() - started
    classes = len(found[keys].drop_duplicates())
    levels_chosen = {key: int(chosen[key]) for key in keys}
    return {
        "seconds": seconds,
        "classes": classes,
        "suppressed": int(suppressed),
        "levels": levels_chosen,
    }


def anonymeter(folder: str, kind: str, targets: int) -> dict[str, Any]:
    """Run inference or linkability attacks by the nearest row.

    Code is compiled before the clock starts, and all cores may be used.
    """
    import pandas as pd
    from anonymeter.evaluators.inference_evaluator import InferenceEvaluator
    from anonymeter.evaluators.linkability_evaluator import LinkabilityEvaluator

    files = {"ori": "truth", "syn": "release", "control": "control"}
    frames = {name: pd.read_csv(f"{folder}/{side}.csv") for name, side in files.items()}

    def attack(attacks: int) -> Any:
        if kind == "inference":
            asked = {"aux_cols": ASKED["known"], "secret": ASKED["about"], "n_attacks": attacks}
            return InferenceEvaluator(**frames, **asked).evaluate(n_jobs=-1).results()
        asked = {"aux_cols": (ASKED["one"], ASKED["other"]), "n_neighbors": 1, "n_attacks": attacks}
        return LinkabilityEvaluator(**frames, **asked).evaluate(n_jobs=-1).results()

    attack(20)
    started = time.perf_counter()
    found = attack(targets)
    seconds = time.perf_counter() - started
    rates = {"rate": found.attack_rate, "control": found.control_rate}
    return {
        "seconds": seconds,
        **{
            side: [rate.value - rate.error, rate.value + rate.error] for side, rate in rates.items()
        },
    }


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](**json.loads(sys.argv[2]))))
