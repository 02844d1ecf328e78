# SPDX-License-Identifier: Apache-2.0
"""The synthetic patients of the demo."""

from __future__ import annotations

import divulge as dv


def test_every_seed_gives_a_small_table() -> None:
    """65 of these 200 tables draw fewer than four people aged 85 or more."""
    for seed in range(200):
        ages = dv.datasets.patients(rows=100, seed=seed)["age"].to_pylist()
        assert sorted(ages)[-4:] == [99, 100, 101, 103]
