# SPDX-License-Identifier: Apache-2.0
"""The peers' side of benchmarks/generalize.py, run by an interpreter of their own: prints one JSON object with seconds and results.

python generalize_peers.py anonypy|anonypyx|anjana TABLE.csv QUASI,IDENTIFIERS SENSITIVE K SUPPRESSION HIERARCHIES.json
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    """Run one peer."""
    import pandas as pd

    name, table, columns, sensitive, k, suppression, hierarchies = sys.argv[1:]
    keys = columns.split(",")
    data = pd.read_csv(table, keep_default_na=False)
    peer = {"anonypy": anonypy, "anonypyx": anonypyx, "anjana": anjana}[name]
    print(
        json.dumps(peer(data, keys, sensitive, int(k), float(suppression), json.loads(Path(hierarchies).read_text())))
    )


def categories(data: Any, keys: list[str], sensitive: str) -> Any:
    """Text columns as categories, as both Mondrians want them."""
    kinds = {name: "category" for name in [*keys, sensitive] if data[name].dtype == object}
    return data[[*keys, sensitive]].astype(kinds)


def anonypy(
    data: Any, keys: list[str], sensitive: str, k: int, _suppression: float, _hierarchies: Any
) -> dict[str, Any]:
    """Mondrian."""
    import anonypy as peer

    frame = categories(data, keys, sensitive)
    started = time.perf_counter()
    rows = peer.Preserver(frame, keys, sensitive).anonymize_k_anonymity(k=k)
    return {
        "seconds": time.perf_counter() - started,
        "classes": len({tuple(str(row[key]) for key in keys) for row in rows}),
    }


def anonypyx(
    data: Any, keys: list[str], sensitive: str, k: int, _suppression: float, _hierarchies: Any
) -> dict[str, Any]:
    """Mondrian."""
    import anonypyx as peer

    frame = categories(data, keys, sensitive)
    started = time.perf_counter()
    options = {"k": k, "algorithm": "Mondrian", "feature_columns": keys, "generalisation_strategy": "human-readable"}
    found = peer.Anonymiser(frame, sensitive_column=sensitive, **options).anonymise()
    return {"seconds": time.perf_counter() - started, "classes": len(found[keys].astype(str).drop_duplicates())}


def anjana(data: Any, keys: list[str], _sensitive: str, k: int, suppression: float, hierarchies: Any) -> dict[str, Any]:
    """Full-domain generalization; the levels come back so that the loss can be compared."""
    import pandas as pd
    from anjana.anonymity._k_anonymity import k_anonymity_inner

    levels = {
        key: {level: pd.Series(labels).to_numpy() for level, labels in enumerate(hierarchies[key])} for key in keys
    }
    frame = data.astype(dict.fromkeys(keys, str))
    started = time.perf_counter()
    found, suppressed, level = k_anonymity_inner(frame, [], keys, k, suppression * 100, levels)
    seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "rows": len(found),
        "suppressed": int(suppressed),
        "levels": {key: int(level[key]) for key in keys},
    }


if __name__ == "__main__":
    main()
