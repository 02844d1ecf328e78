# SPDX-License-Identifier: Apache-2.0
"""Linkage by Splink: comparison with the formula of Fellegi and Sunter, precision and recall."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from divulge.attacks import AGREEING, ATTACKERS, noisy_linkage
from divulge.attacks.noisy_linkage import best_links
from tests.attacks.staged import table_stage

pytest.importorskip("splink")

NAMES = ["town", "job", "born"]


def people(count: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {
        name: [str(value) for value in rng.integers(0, width, count)]
        for name, width in zip(NAMES, (8, 9, 30), strict=True)
    }
    return pa.table({"id": [str(number) for number in range(count)], **columns})


def with_errors(table: pa.Table, share: float, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    changed = {}
    for name in NAMES:
        own = table.column(name).to_numpy(zero_copy_only=False)
        changed[name] = np.where(rng.random(len(own)) < share, rng.permutation(own), own)
    return pa.table({"id": table.column("id"), **changed})


def fellegi_sunter(known: pa.Table, rows: pa.Table) -> list[set[int]]:
    """Find the likeliest rows of each record by the formula.

    Every pair that agrees in some column is compared.
    """
    left, right = known.to_pylist(), rows.to_pylist()
    chance = {}
    for name in NAMES:
        ours, theirs = Counter(one[name] for one in left), Counter(one[name] for one in right)
        chance[name] = sum(count * theirs[value] for value, count in ours.items()) / (
            len(left) * len(right)
        )
    best = []
    for one in left:
        weights = []
        for other in right:
            agree = [one[name] == other[name] for name in NAMES]
            ratios = [
                AGREEING / chance[name] if same else (1 - AGREEING) / (1 - chance[name])
                for name, same in zip(NAMES, agree, strict=True)
            ]
            weights.append(float(np.prod(ratios)) if any(agree) else 0.0)
        most = max(weights)
        best.append({row for row, weight in enumerate(weights) if weight >= most * (1 - 1e-9)})
    return best


@pytest.mark.filterwarnings("ignore")
def test_the_likeliest_rows_are_those_of_the_formula() -> None:
    rows = people(120, 1)
    known = with_errors(rows.take(list(range(0, 120, 6))), 0.2, 2)
    person, row, belief = best_links(known, rows, NAMES)
    found = [set(row[person == number].tolist()) for number in range(known.num_rows)]
    assert found == fellegi_sunter(known, rows)
    assert ((belief > 0) & (belief < 1)).all()


@pytest.mark.filterwarnings("ignore")
def test_precision_and_recall_are_reported_with_k() -> None:
    """Each of two equal rows is right with probability 1/2; c is unique.

    There is no guess for d, because the error makes the link too unlikely.

    d agrees in town and born, by chance 6/16 each, and not in job, 5/16: odds 1/3 * (0.9 / 0.375)^2
    * (0.1 / 0.6875) = 0.28.
    """
    rows = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "town": ["1", "1", "2", "3"],
            "job": ["x", "x", "y", "z"],
            "born": ["5", "5", "6", "7"],
        }
    )
    (attacker,) = (each for each in ATTACKERS if each.name == "noisy-linkage")
    # error in the known values of d
    truth = rows.set_column(2, "job", pa.array(["x", "x", "y", "q"]))
    on = table_stage(rows, truth, knows=NAMES, person="id")
    assert not attacker.obstacle(on)
    (found,) = attacker.run(on)
    assert found.guesses == 3
    assert found.successes == pytest.approx(0.5 + 0.5 + 1)
    assert found.precision == pytest.approx(2 / 3)
    assert found.rate.value == pytest.approx(2 / 4)
    assert "are 1 at least (k)" in found.told


def test_blocks_are_small_enough_and_overlap_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noisy_linkage, "_MOST_PAIRS", 10)
    codes = {
        "sex": np.array([0, 1] * 10),
        "zip": np.arange(20) // 2,
        "age": np.array([0] * 10 + [0, 1] * 5),
    }
    blocks = noisy_linkage._blocks(codes, 10)  # noqa: SLF001
    # no known zip is among the rows; the others agree in 50 pairs each, together in 25
    assert blocks == [("zip",)]
