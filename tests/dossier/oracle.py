# SPDX-License-Identifier: Apache-2.0
"""An oracle for leakage that shares no code with divulge: definition 21 in exact fractions, one
world at a time.

Precision and recall are computed per world as the paper writes them (0 where their denominator is
0) and combined by its F_beta formula, so that the algebra behind the fast method is under test,
too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from divulge.dossier import Record

Triple = tuple[str, str, Fraction]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Exact:
    """Expected values over the worlds."""

    leakage: Fraction
    precision: Fraction
    recall: Fraction


def exact(
    record: Sequence[Triple],
    reference: Sequence[Pair],
    weights: Mapping[str, Fraction],
    *,
    beta: Fraction = Fraction(1),
) -> Exact:
    """The expectations, by enumeration."""
    truth = set(reference)
    total = sum((weights.get(label, Fraction(1)) for label, _ in truth), Fraction(0))
    sums = [Fraction(0)] * 3
    for world, chance in worlds(record):
        heavy = sum((weights.get(label, Fraction(1)) for label, _ in world), Fraction(0))
        right = sum(
            (weights.get(label, Fraction(1)) for label, value in world if (label, value) in truth),
            Fraction(0),
        )
        precision = right / heavy if heavy else Fraction(0)
        recall = right / total if total else Fraction(0)
        for place, value in enumerate((f_beta(precision, recall, beta), precision, recall)):
            sums[place] += chance * value
    return Exact(*sums)


def worlds(record: Sequence[Triple]) -> Iterable[tuple[list[Pair], Fraction]]:
    """Every world that has a positive probability."""
    for present in product((True, False), repeat=len(record)):
        chance = Fraction(1)
        for here, (_, _, confidence) in zip(present, record, strict=True):
            chance *= confidence if here else 1 - confidence
        if chance:
            yield (
                [
                    (label, value)
                    for here, (label, value, _) in zip(present, record, strict=True)
                    if here
                ],
                chance,
            )


def f_beta(precision: Fraction, recall: Fraction, beta: Fraction) -> Fraction:
    """The weighted harmonic mean of section 2.2; 0 when both are 0."""
    below = beta**2 * precision + recall
    return (beta**2 + 1) * precision * recall / below if below else Fraction(0)


@cache
def golden() -> dict[str, dict[str, Any]]:
    """The golden cases of paper 003, by id."""
    text = (Path(__file__).parent / "golden_003.json").read_text(encoding="utf-8")
    return {case["id"]: case for case in json.loads(text)["cases"]}


def record_of(triples: Iterable[Sequence[str]]) -> Record:
    """A golden record: label, value and a confidence like "1/2"; a reference has no confidence."""
    return Record.of(
        [
            (entry[0], entry[1], float(Fraction(entry[2])) if len(entry) > 2 else 1.0)
            for entry in triples
        ]
    )
