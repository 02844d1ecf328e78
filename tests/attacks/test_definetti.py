# SPDX-License-Identifier: Apache-2.0
"""The deFinetti attack: hand counts, releases with full or no correlation, and Adult."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge.anatomization import (
    AlphaBetaGammaDelta,
    Anatomy,
    CodedTable,
    CodedTables,
    RandomPermutation,
    RowCodes,
    Slppa,
)
from divulge.anatomization.encoded_rows import rows_of
from divulge.anatomization.methods import anatomize
from divulge.attacks import ATTACKERS, Attempt, definetti
from divulge.attacks.definetti import (
    ROUNDS,
    Assignment,
    _GroupValues,
    _sinkhorn,
    assign_values,
    guess,
)
from divulge.attacks.group_linkage import TargetsInGroups
from divulge.engines import DuckDBEngine, SparkEngine
from tests.anatomization.public import paper_rows
from tests.attacks.staged import anatomized_stage, people_of

SMOKERS = pa.table({"GID": [1, 1, 2, 2, 3, 3], "smokes": ["yes", "no", "yes", "no", "no", "no"]})
DISEASES = pa.table(
    {"GID": [1, 1, 2, 2, 3, 3], "disease": ["cancer", "flu", "cancer", "flu", "flu", "cold"]}
)
TRUTH = pa.table({"smokes": SMOKERS.column("smokes"), "disease": DISEASES.column("disease")})


def attempt(tables: list[pa.Table], truth: pa.Table, **more: object) -> Attempt:
    (attacker,) = (each for each in ATTACKERS if each.name == "definetti")
    on = anatomized_stage(tables, truth, sensitive="disease", knows=["smokes"], **more)  # type: ignore[arg-type]
    assert not attacker.obstacle(on)
    (found,) = attacker.run(on)
    return found


def test_one_round_by_hand() -> None:
    """Compute the odds of cancer for the smoker of group 1.

    In a uniform assignment, one of two people with cancer smokes, and one of three with flu. One
    pseudo-record is distributed over both habits: p(smokes | cancer) = (1 + 1/2) / (2 + 1) = 1/2
    and p(smokes | flu) = (1 + 1/2) / (3 + 1) = 3/8. The scaling gives each of two people one of two
    values. So the odds of group 1 are the root of (1/2 * 5/8) / (3/8 * 1/2) = 5/3.
    """
    rows = rows_of(
        {
            "smokes": SMOKERS.column("smokes").to_pylist(),
            "disease": DISEASES.column("disease").to_pylist(),
        }
    )
    tables = _tables(rows, np.array([0, 0, 1, 1, 2, 2]))
    taken: list[Assignment] = []
    assign_values(
        tables.tables[0], _GroupValues.of(tables, "disease"), tables.sizes, taken.append, rounds=1
    )
    odds = math.sqrt(5 / 3)
    smoker = taken[0].belief[taken[0].rows[taken[0].row] == 0]
    assert smoker == pytest.approx([odds / (1 + odds), 1 / (1 + odds)], abs=1e-9)


def _tables(rows: RowCodes, group: np.ndarray) -> CodedTables:
    parts = [CodedTable(rows.select_columns([name]), group) for name in rows.names]
    return CodedTables(tuple(parts), np.bincount(group))


def test_the_guess_for_smokers_is_cancer() -> None:
    """In groups 1 and 2, the smoker has cancer and the other flu, and all guesses are right.

    In group 3, two people are equal, so the guess is flu or cold by the other groups.
    """
    found = attempt([SMOKERS, DISEASES], TRUTH, levels={"beta": "1/2"})
    assert found.bound is None  # beta does not bound it
    assert found.prior == pytest.approx(3 / 6)  # flu
    assert found.random == pytest.approx(1 / 3)
    assert found.successes == pytest.approx(
        2 + 2 + 1
    )  # the non-smokers know of no group: flu for all, right for three of four
    assert found.most_at_risk[0].guess in ("cancer", "flu")


def planted(values: int, people: int, seed: int, *, linked: bool) -> RowCodes:
    """Build a table with a column that determines the sensitive value or is independent of it.

    A second column makes all people unique.
    """
    rng = np.random.default_rng(seed)
    secret = np.arange(people) % values
    shown = secret if linked else rng.permutation(secret)
    return rows_of(
        {"shown": shown.tolist(), "id": rng.permutation(people).tolist(), "secret": secret.tolist()}
    )


def success(rows: RowCodes, group_size: int) -> tuple[float, float]:
    """Compute the success of the attack, and of guessing the most common value of the group.

    Records are in random groups: the values that share a group must vary, or nothing distinguishes
    them.
    """
    found = anatomize(
        rows,
        RandomPermutation(group_size),
        quasi_identifiers=["shown", "id"],
        sensitive="secret",
        seed=3,
    )
    table = pa.table(
        {name: pa.chunked_array([found.rows.values(name)]) for name in found.rows.names}
    )
    people = TargetsInGroups.of(
        CodedTables.of(found), ["secret"], people_of(table, ["shown", "id"])
    )
    counted = Counter(zip(found.group.tolist(), found.rows.column("secret").tolist(), strict=True))
    commonest = {
        group: max(n for (other, _), n in counted.items() if other == group)
        for group in range(found.groups)
    }
    return float(guess(people, ["shown", "id"], "secret").success.mean()), sum(
        commonest.values()
    ) / len(rows)


def test_correlated_columns_are_learned_and_independent_ones_are_not() -> None:
    learnt, _ = success(planted(8, 800, 1, linked=True), 4)
    assert learnt > 0.99
    blind, commonest = success(planted(8, 800, 1, linked=False), 4)
    assert abs(blind - commonest) < 4 * math.sqrt(1 / 4 / 800)


def test_the_assignment_agrees_with_all_permutations_on_the_likeliest_value() -> None:
    """Scaling approximates the sum over permutations.

    If the likeliest value of a row is clear, both agree on it.
    """
    rng = np.random.default_rng(5)
    for _ in range(50):
        weight = rng.random((4, 4)) ** 3 + 0.01
        exact = np.zeros((4, 4))
        for order in itertools.permutations(range(4)):
            exact[range(4), order] += math.prod(weight[range(4), order])
        exact /= exact.sum(axis=1, keepdims=True)
        row, slot = np.divmod(np.arange(16), 4)
        scaled = _sinkhorn(weight.ravel(), row, slot, np.ones(4), np.ones(4)).reshape(4, 4)
        clear = np.sort(exact, axis=1)[:, -1] > 2 * np.sort(exact, axis=1)[:, -2]
        assert (scaled.argmax(axis=1) == exact.argmax(axis=1))[clear].all()
        assert scaled.sum(axis=1) == pytest.approx(np.ones(4))
        assert scaled.sum(axis=0) == pytest.approx(np.ones(4), abs=0.1)


def test_the_assignment_does_not_depend_on_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = planted(8, 800, 1, linked=True)
    whole, _ = success(rows, 4)
    monkeypatch.setattr(definetti, "_CELLS", 50)
    assert success(rows, 4)[0] == whole


def test_targets_in_no_group_are_guessed_by_the_model() -> None:
    """The control group needs it: its success is not due to being in the release."""
    control = pa.table({"smokes": ["yes", "often"], "disease": ["cancer", "flu"]})
    found = attempt([SMOKERS, DISEASES], TRUTH, control=control)
    assert found.control is not None
    # "often" is not in the model, and flu is the most common value
    assert (found.control.tries, found.control.successes) == (2, 2.0)


def test_every_engine_learns_the_same(engine: DuckDBEngine | SparkEngine) -> None:
    asked: dict[str, Any] = {
        "sensitive": "disease",
        "knows": "smokes",
        "attacks": ["attribute-linkage", "definetti"],
    }
    (linked, learnt) = dv.attack([SMOKERS, DISEASES], truth=TRUTH, engine=engine, **asked).attempts
    assert learnt.successes == pytest.approx(attempt([SMOKERS, DISEASES], TRUTH).successes)
    assert linked.successes < learnt.successes


@pytest.mark.public_data
def test_the_success_rate_on_adult_exceeds_beta() -> None:
    """Occupation with beta = 1/7; the adversary knows the paper's nine other attributes only."""
    rows = paper_rows("adult")
    names = [name for name in rows.names if name != "occupation"]
    chosen = np.random.default_rng(1).choice(len(rows), 3000, replace=False)
    model = AlphaBetaGammaDelta(alpha="1/2", beta="1/7", delta="1/7")
    for method, at_least in ((Anatomy(7), 0.25), (Slppa(model, tables=3), 0.22)):
        found = anatomize(rows, method, quasi_identifiers=names, sensitive="occupation", seed=1)
        table = pa.table(
            {name: pa.chunked_array([found.rows.values(name, chosen)]) for name in rows.names}
        )
        people = TargetsInGroups.of(CodedTables.of(found), ["occupation"], people_of(table, names))
        made = guess(people, names, "occupation", rounds=ROUNDS)
        assert made.success.mean() > at_least
        belief = people.posterior(names, [("occupation",)]).highest
        assert belief.max() <= 1 / 7 + 1e-9  # what beta does bound
