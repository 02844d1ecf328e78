# SPDX-License-Identifier: Apache-2.0
"""Nine patients with names (Afifi et al. 2018, Table 1a), a policy, and the equivalent flags."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

ROWS = """name,zip,age,disease
Ann,47677,29,Heart
Bob,47602,22,Heart
Cid,47678,27,Heart
Dora,47905,43,Flu
Eve,47909,52,Heart
Fay,47906,47,Cancer
Gus,47605,30,Heart
Hal,47673,36,Cancer
Ida,47607,32,Cancer
"""
POLICY = """
quasi_identifiers = ["zip", "age"]
sensitive = "disease"
identifier = "name"

[promises]
k_anonymity = 3

[hierarchies.zip]
prefix = [4, 3, 2]

[hierarchies.age]
intervals = [10, 20]
"""
ROLES = ("--qi", "zip,age", "--sensitive", "disease", "--identifier", "name")
RULES = ("--hierarchy", "zip={prefix = [4, 3, 2]}", "--hierarchy", "age={intervals = [10, 20]}")


def published(folder: Path) -> Counter[tuple[str, ...]]:
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["zip", "age", "disease"]
    return Counter((row[0], row[1]) for row in rows[1:])
