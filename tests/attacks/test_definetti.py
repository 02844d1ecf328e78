# SPDX-License-Identifier: Apache-2.0
"""The deFinetti attack: hand counts, releases in which everything or nothing can be learnt, and Adult."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge.anatomy import AlphaBetaGammaDelta, Anatomy, CodedTable, CodedTables, RandomPermutation, RowCodes, Slppa
from divulge.anatomy.methods import anatomize
from divulge.anatomy.rows import rows_of
from divulge.attacks import ATTACKERS, Attempt, definetti
from divulge.attacks.definetti import ROUNDS, Dealt, _scaled, _Values, deal, guess
from divulge.attacks.groups import TargetsInGroups
from divulge.engines import DuckDBEngine, SparkEngine
from tests.anatomy.public import paper_rows
from tests.attacks.staged import anatomized_stage, people_of

SMOKERS = pa.table({"GID": [1, 1, 2, 2, 3, 3], "smokes": ["yes", "no", "yes", "no", "no", "no"]})
DISEASES = pa.table({"GID": [1, 1, 2, 2, 3, 3], "disease": ["cancer", "flu", "cancer", "flu", "flu", "cold"]})
TRUTH = pa.table({"smokes": SMOKERS.column("smokes"), "disease": DISEASES.column("disease")})


def attempt(tables: list[pa.Table], truth: pa.Table, **more: object) -> Attempt:
    (attacker,) = (each for each in ATTACKERS if each.name == "definetti")
    on = anatomized_stage(tables, truth, sensitive="disease", knows=["smokes"], **more)  # type: ignore[arg-type]
    assert not attacker.obstacle(on)
    (found,) = attacker.run(on)
    return found


def test_one_round_by_hand() -> None:
    """The odds of cancer for the smoker of group 1.

    Dealt out blindly, cancer goes to one smoker of two people, flu to one of three; with one more record of no habit spread
    over both habits, p(smokes | cancer) = (1 + 1/2) / (2 + 1) = 1/2 and p(smokes | flu) = (1 + 1/2) / (3 + 1) = 3/8. Scaled so that each of
    two people has one of two values, the odds of group 1 are the root of (1/2 * 5/8) / (3/8 * 1/2) = 5/3.
    """
    rows = rows_of({"smokes": SMOKERS.column("smokes").to_pylist(), "disease": DISEASES.column("disease").to_pylist()})
    tables = _tables(rows, np.array([0, 0, 1, 1, 2, 2]))
    taken: list[Dealt] = []
    deal(tables.tables[0], _Values.of(tables, "disease"), tables.sizes, taken.append, rounds=1)
    odds = math.sqrt(5 / 3)
    smoker = taken[0].belief[taken[0].rows[taken[0].row] == 0]
    assert smoker == pytest.approx([odds / (1 + odds), 1 / (1 + odds)], abs=1e-9)


def _tables(rows: RowCodes, group: np.ndarray) -> CodedTables:
    parts = [CodedTable(rows.only([name]), group) for name in rows.names]
    return CodedTables(tuple(parts), np.bincount(group))


def test_who_smokes_is_guessed_to_have_cancer() -> None:
    """Groups 1 and 2: the smoker cancer, the other flu, all right; group 3: two people alike, so flu or cold by what others have."""
    found = attempt([SMOKERS, DISEASES], TRUTH, levels={"beta": "1/2"})
    assert found.bound is None  # beta does not bound it
    assert found.prior == pytest.approx(3 / 6)  # flu
    assert found.random == pytest.approx(1 / 3)
    assert found.successes == pytest.approx(
        2 + 2 + 1
    )  # the non-smokers know of no group: flu for all, right for three of four
    assert found.most_at_risk[0].guess in ("cancer", "flu")


def planted(values: int, people: int, seed: int, *, linked: bool) -> RowCodes:
    """A column that tells the sensitive value, or has nothing to do with it; a second one makes everybody unique."""
    rng = np.random.default_rng(seed)
    secret = np.arange(people) % values
    shown = secret if linked else rng.permutation(secret)
    return rows_of({"shown": shown.tolist(), "id": rng.permutation(people).tolist(), "secret": secret.tolist()})


def success(rows: RowCodes, group_size: int) -> tuple[float, float]:
    """Of the attack, and of who names the commonest value of the group.

    Records are in groups by lot: which values share a group must vary,
    or nothing tells them apart.
    """
    found = anatomize(
        rows, RandomPermutation(group_size), quasi_identifiers=["shown", "id"], sensitive="secret", seed=3
    )
    table = pa.table({name: pa.chunked_array([found.rows.values(name)]) for name in found.rows.names})
    people = TargetsInGroups.of(CodedTables.of(found), ["secret"], people_of(table, ["shown", "id"]))
    counted = Counter(zip(found.group.tolist(), found.rows.column("secret").tolist(), strict=True))
    commonest = {group: max(n for (other, _), n in counted.items() if other == group) for group in range(found.groups)}
    return float(guess(people, ["shown", "id"], "secret").success.mean()), sum(commonest.values()) / len(rows)


def test_what_can_be_learnt_is_learnt_and_nothing_else() -> None:
    learnt, _ = success(planted(8, 800, 1, linked=True), 4)
    assert learnt > 0.99
    blind, commonest = success(planted(8, 800, 1, linked=False), 4)
    assert abs(blind - commonest) < 4 * math.sqrt(1 / 4 / 800)


def test_dealing_agrees_with_all_permutations_on_who_is_likeliest() -> None:
    """Scaling stands in for the sum over permutations; where the likeliest value of a row is clear, both name the same."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        weight = rng.random((4, 4)) ** 3 + 0.01
        exact = np.zeros((4, 4))
        for order in itertools.permutations(range(4)):
            exact[range(4), order] += math.prod(weight[range(4), order])
        exact /= exact.sum(axis=1, keepdims=True)
        row, slot = np.divmod(np.arange(16), 4)
        scaled = _scaled(weight.ravel(), row, slot, np.ones(4), np.ones(4)).reshape(4, 4)
        clear = np.sort(exact, axis=1)[:, -1] > 2 * np.sort(exact, axis=1)[:, -2]
        assert (scaled.argmax(axis=1) == exact.argmax(axis=1))[clear].all()
        assert scaled.sum(axis=1) == pytest.approx(np.ones(4))
        assert scaled.sum(axis=0) == pytest.approx(np.ones(4), abs=0.1)


def test_groups_in_portions_are_dealt_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = planted(8, 800, 1, linked=True)
    whole, _ = success(rows, 4)
    monkeypatch.setattr(definetti, "_CELLS", 50)
    assert success(rows, 4)[0] == whole


def test_who_is_in_no_group_is_guessed_by_what_was_learnt() -> None:
    """Kept for a control group: what is learnt about people who are not in the release is not the fault of their being in it."""
    control = pa.table({"smokes": ["yes", "often"], "disease": ["cancer", "flu"]})
    found = attempt([SMOKERS, DISEASES], TRUTH, control=control)
    assert found.control is not None
    assert (found.control.tries, found.control.successes) == (2, 2.0)  # of "often" nothing was learnt: flu is commonest


def test_every_engine_learns_the_same(engine: DuckDBEngine | SparkEngine) -> None:
    asked: dict[str, Any] = {"sensitive": "disease", "knows": "smokes", "attacks": ["attribute-linkage", "definetti"]}
    (linked, learnt) = dv.attack([SMOKERS, DISEASES], truth=TRUTH, engine=engine, **asked).attempts
    assert learnt.successes == pytest.approx(attempt([SMOKERS, DISEASES], TRUTH).successes)
    assert linked.successes < learnt.successes


@pytest.mark.public_data
def test_adult_is_guessed_more_often_than_beta_promises() -> None:
    """Occupation, beta = 1/7, the nine other attributes of the paper known, the group not."""
    rows = paper_rows("adult")
    names = [name for name in rows.names if name != "occupation"]
    chosen = np.random.default_rng(1).choice(len(rows), 3000, replace=False)
    model = AlphaBetaGammaDelta(alpha="1/2", beta="1/7", delta="1/7")
    for method, at_least in ((Anatomy(7), 0.25), (Slppa(model, tables=3), 0.22)):
        found = anatomize(rows, method, quasi_identifiers=names, sensitive="occupation", seed=1)
        table = pa.table({name: pa.chunked_array([found.rows.values(name, chosen)]) for name in rows.names})
        people = TargetsInGroups.of(CodedTables.of(found), ["occupation"], people_of(table, names))
        made = guess(people, names, "occupation", rounds=ROUNDS)
        assert made.success.mean() > at_least
        belief, _ = people.believed(names, [("occupation",)])
        assert belief.max() <= 1 / 7 + 1e-9  # what beta does bound
