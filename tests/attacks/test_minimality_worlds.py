# SPDX-License-Identifier: Apache-2.0
"""The minimality attack compared with every world: each assignment of published values to people
that publishes the same release.

Whoever knows that the least generalization was taken rules out the other assignments. The release
is made again for each of them by a few lines of plain Python: the lowest of three levels that meets
the requirements.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random

import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import DivulgeError

Rows = Sequence[tuple[str, str]]
LEVELS: tuple[Callable[[str], str], ...] = (
    lambda value: value,
    lambda value: "ab" if value in "ab" else "cd",
    lambda _: "*",
)


def published(rows: Rows, k: int) -> tuple[int, tuple[tuple[str, tuple[str, ...]], ...]] | None:
    """Find the lowest level at which every class has k people and two values, and its classes.

    None if there is no such level.
    """
    for level, label in enumerate(LEVELS):
        classes: dict[str, list[str]] = {}
        for value, disease in rows:
            classes.setdefault(label(value), []).append(disease)
        if all(len(found) >= k and len(set(found)) >= 2 for found in classes.values()):
            return level, tuple(
                sorted((name, tuple(sorted(found))) for name, found in classes.items())
            )
    return None


def posteriors(rows: Rows, k: int, level: int) -> tuple[list[Counter[str]], int]:
    """Count the values of each person in the worlds that publish the same, and these worlds."""
    members: dict[str, list[int]] = {}
    for person, (value, _) in enumerate(rows):
        members.setdefault(LEVELS[level](value), []).append(person)
    expected = published(rows, k)
    found: list[Counter[str]] = [Counter() for _ in rows]
    count = 0
    orders = [
        itertools.permutations([rows[person][1] for person in people])
        for people in members.values()
    ]
    for choice in itertools.product(*orders):
        world = list(rows)
        for people, diseases in zip(members.values(), choice, strict=True):
            for person, disease in zip(people, diseases, strict=True):
                world[person] = rows[person][0], disease
        if published(world, k) == expected:
            count += 1
            for person, (_, disease) in enumerate(world):
                found[person][disease] += 1
    return found, count


RULED_OUT = (92, 129, 134, 145, 158, 217, 223, 242)
"""Seeds of tables where ruling out originals changes a best guess.

Of most tables it changes nothing.
"""


@pytest.mark.parametrize("seed", [*range(4), *RULED_OUT])
def test_successes_and_posteriors_are_those_of_all_worlds(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    k = 1 + seed % 2
    count = random.randint(4, 6)
    rows = [(random.choice("abcd"), random.choices("xyz", [5, 3, 2])[0]) for _ in range(count)]
    expected = published(rows, k)
    table = pa.table(
        {"zip": [value for value, _ in rows], "disease": [disease for _, disease in rows]}
    )
    levels = {"zip": {"rows": {value: [LEVELS[1](value), "*"] for value in "abcd"}}}
    policy = {"l_diversity": 2} | ({"k_anonymity": k} if k > 1 else {})
    try:
        release = dv.generalize(
            table, policy=policy, quasi_identifiers="zip", sensitive="disease", hierarchies=levels
        )
    except DivulgeError:
        assert expected is None
        return
    assert expected is not None
    assert release.plan.levels == {"zip": expected[0]}
    posterior, worlds = posteriors(rows, k, expected[0])
    right = Fraction(0)
    for (_, disease), found in zip(rows, posterior, strict=True):
        best = [value for value, often in found.items() if often == max(found.values())]
        right += Fraction(disease in best, len(best))
    by_class = [
        Counter(
            other for value, other in rows if LEVELS[expected[0]](value) == LEVELS[expected[0]](own)
        )
        for own, _ in rows
    ]
    best_changed = any(
        {value for value, often in before.items() if often == max(before.values())}
        != {value for value, often in after.items() if often == max(after.values())}
        for before, after in zip(by_class, posterior, strict=True)
    )
    assert best_changed == (seed in RULED_OUT)
    [attempt] = dv.attack(release, truth=table, attacks="minimality").attempts
    assert attempt.successes == pytest.approx(float(right), abs=1e-9)
    for exposed in attempt.most_at_risk:
        person = next(
            index for index, (value, _) in enumerate(rows) if value == exposed.known["zip"]
        )
        assert exposed.belief == pytest.approx(max(posterior[person].values()) / worlds, abs=1e-9)
