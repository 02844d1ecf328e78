# SPDX-License-Identifier: Apache-2.0
"""Test bed for attacks: random policies, releases and adversaries, and counts of exceeded bounds.

tests/attacks/test_bed.py runs a few of them, benchmarks/attack_bed.py hundreds on public tables.
The draws depend on the seed only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa

import divulge as dv
from divulge.attacks import Attempt
from divulge.errors import Infeasible

_CHANCE = 0.025
"""A rate whose true value is the bound itself lies with its whole interval above it this often,
and one below it less often.
"""
BOUNDS: Mapping[str, tuple[float, ...]] = {
    "k_anonymity": (2, 3, 5, 10, 25),
    "prosecutor_risk": (0.5, 0.2, 0.1),
    "marketer_risk": (0.2, 0.1, 0.05),
    "log2_k": (1.0, 2.0, 3.5),
    "alpha": (0.9, 0.7, 0.5),
    "entropy_l_diversity": (1.5, 2.0, 3.0),
    "t_closeness": (0.4, 0.25, 0.15),
    "basic_beta_likeness": (3.0, 2.0, 1.0),
    "enhanced_beta_likeness": (3.0, 1.5),
    "distribution_leakage": (0.5, 0.3, 0.15),
    "entropy_leakage": (1.5, 1.0, 0.5),
    "surprise": (1.5, 0.8, 0.3),
    "posterior_vulnerability": (0.9, 0.7, 0.5),
    "maximum_vulnerability": (0.9, 0.7, 0.6),
}
"""Promises that bound a guess, from gentle to strict."""


@dataclass(frozen=True)
class Played:
    """One attacked release."""

    promises: Mapping[str, float]
    asked: Mapping[str, Any]
    attempts: tuple[Attempt, ...]

    @property
    def bounded(self) -> list[Attempt]:
        """Attempts that a requirement bounds."""
        return [
            attempt
            for attempt in self.attempts
            if attempt.bound is not None and attempt.bound.value < 1
        ]


def play(
    table: pa.Table,
    columns: Sequence[str],
    sensitive: Sequence[str],
    *,
    games: int,
    seed: int = 1,
    records: int = 1000,
) -> Iterator[Played]:
    """Draw a policy and an adversary, publish, and attack.

    A policy that no release can meet is drawn again.
    """
    chance = np.random.default_rng(seed)
    done = 0
    while done < games:
        asked = _draw(chance, columns, sensitive)
        promises, knows, wrong = asked.pop("promises"), asked.pop("knows"), asked.pop("wrong")
        narrow = table.select([*asked["quasi_identifiers"], asked["sensitive"]])
        try:
            release = dv.generalize(
                narrow, policy=dv.Policy.from_document({"promises": promises}), **asked
            )
        except Infeasible:
            continue
        found = dv.attack(
            release,
            truth=narrow,
            knows=knows,
            wrong=wrong,
            records=records,
            seed=int(chance.integers(2**31)),
        )
        done += 1
        yield Played(promises, {**asked, "knows": knows, "wrong": wrong}, found.attempts)


def _draw(
    chance: np.random.Generator, columns: Sequence[str], sensitive: Sequence[str]
) -> dict[str, Any]:
    chosen = chance.choice(
        list(columns), size=int(chance.integers(2, min(len(columns), 4) + 1)), replace=False
    ).tolist()
    names = chance.choice(list(BOUNDS), size=int(chance.integers(1, 3)), replace=False).tolist()
    knows = chance.choice(
        chosen, size=int(chance.integers(1, len(chosen) + 1)), replace=False
    ).tolist()
    method = str(chance.choice(["full-domain", "mondrian"]))
    return {
        "promises": {name: float(chance.choice(BOUNDS[name])) for name in names},
        "quasi_identifiers": chosen,
        "sensitive": str(chance.choice(list(sensitive))),
        "suppression": 0.0 if method == "mondrian" else float(chance.choice([0.0, 0.02, 0.1])),
        "method": method,
        "knows": knows,
        "wrong": float(chance.choice([0.0, 0.0, 0.0, 0.2])),
    }


def most_by_chance(attempts: int) -> int:
    """Largest number of independent attempts that exceed their bounds by chance (99.9%)."""
    tail, broken = 1.0, 0
    while tail > 0.001:
        tail -= comb(attempts, broken) * _CHANCE**broken * (1 - _CHANCE) ** (attempts - broken)
        broken += 1
    return broken - 1
