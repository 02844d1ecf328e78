# SPDX-License-Identifier: Apache-2.0
"""A prior that depends on columns, in every function, against a recount in plain Python.

By Afifi et al. 2018, Definition 2: P(s | merged) = sum P(c, s) / sum P(c) over the combinations c
that merge, including those that no person in the table has.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.engines import SparkEngine
from divulge.errors import BadInput, Infeasible
from divulge.policy import Promise

VALUES = ("flu", "cold", "hiv")
LABELS: dict[str, dict[str, list[str]]] = {
    "age": {
        "20": ["<22", "*"],
        "21": ["<22", "*"],
        "22": [">=22", "*"],
        "23": [">=22", "*"],
        "24": [">=22", "*"],
    },
    "zip": {"11": ["1*", "*"], "12": ["1*", "*"], "21": ["2*", "*"], "22": ["2*", "*"]},
}
LEVELS = {
    column: {value: [value, *above] for value, above in rows.items()}
    for column, rows in LABELS.items()
}

Key = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A table, and joint weights of some of its columns with the disease."""

    rows: list[dict[str, str]]
    conditions: Key
    joint: Mapping[Key, Mapping[str, float]]
    given_as: str

    @property
    def table(self) -> pa.Table:
        return pa.table(
            {
                "age": pa.array([int(row["age"]) for row in self.rows], pa.int64()),
                "zip": [row["zip"] for row in self.rows],
                "disease": [row["disease"] for row in self.rows],
            }
        )

    @property
    def adversary(self) -> dv.Adversary:
        total = sum(sum(entry.values()) for entry in self.joint.values())
        return dv.Adversary(
            prior=[
                {
                    **dict(zip(self.conditions, key, strict=True)),
                    "disease": value,
                    self.given_as: weight
                    / (total if self.given_as == "joint" else sum(entry.values())),
                }
                for key, entry in self.joint.items()
                for value, weight in entry.items()
            ]
        )

    @property
    def weights(self) -> dict[Key, dict[str, float]]:
        """Joint probabilities.

        If only conditional ones are passed, they are weighted by the number of people with the key.
        """
        if self.given_as == "joint":
            return {key: dict(entry) for key, entry in self.joint.items()}
        people = Counter(tuple(row[name] for name in self.conditions) for row in self.rows)
        return {
            key: {
                value: weight / sum(entry.values()) * people[key] for value, weight in entry.items()
            }
            for key, entry in self.joint.items()
        }

    def prior(self, fits: Mapping[str, Any]) -> list[float]:
        """P(disease | known values): `fits` decides for some columns if a value is possible."""
        sums = dict.fromkeys(VALUES, 0.0)
        for key, entry in self.weights.items():
            known = dict(zip(self.conditions, key, strict=True))
            if all(fits[name](value) for name, value in known.items() if name in fits):
                for value, weight in entry.items():
                    sums[value] += weight
        return [sums[value] / sum(sums.values()) for value in VALUES]


def draw(seed: int) -> Case:
    chance = random.Random(seed)  # noqa: S311 - a draw, no secret
    rows = [
        {
            "age": chance.choice(("20", "21", "22", "23")),
            "zip": chance.choice(("11", "12", "21")),
            "disease": chance.choice(VALUES),
        }
        for _ in range(chance.randint(5, 14))
    ]
    rows += [{"age": "20", "zip": "11", "disease": value} for value in VALUES]
    conditions = chance.choice((("age",), ("zip",), ("age", "zip"), ("zip", "age")))
    # Age 24, and age 22 in zip 22, occur only in the prior.
    keys = itertools.product(*(LEVELS[name] for name in conditions))
    joint = {key: {value: chance.randint(1, 9) for value in VALUES} for key in keys}
    return Case(rows, conditions, joint, chance.choice(("joint", "probability")))


@pytest.fixture
def seeds(request: pytest.FixtureRequest, *, quick: bool) -> Iterable[int]:
    """Many seeds in memory, where the recount is the question.

    Few elsewhere, where one takes ten or a hundred times as long.
    """
    place = (
        request.node.callspec.params.get("engine", "memory")
        if hasattr(request.node, "callspec")
        else "memory"
    )
    return range(min({"memory": 60, "limit": 12, "spark": 2}[place], 12 if quick else 60))


def shares(members: Sequence[Mapping[str, str]]) -> list[float]:
    return [sum(row["disease"] == value for row in members) / len(members) for value in VALUES]


def entropy(p: Iterable[float]) -> float:
    return -sum(x * math.log2(x) for x in p if x > 0)


METRICS: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "distribution_leakage": lambda x, a: math.sqrt(
        sum((p - q) ** 2 for p, q in zip(x, a, strict=True))
    ),
    "entropy_leakage": lambda x, a: abs(entropy(a) - entropy(x)),
    "t_closeness": lambda x, a: sum(abs(p - q) for p, q in zip(x, a, strict=True)) / 2,
    "surprise": lambda x, a: sum(p * math.log2(p / q) for p, q in zip(x, a, strict=True) if p > 0),
}


def at(levels: Mapping[str, int], column: str, value: str) -> str:
    return LEVELS[column][value][levels[column]]


def classes_of(case: Case, levels: Mapping[str, int]) -> dict[Key, list[dict[str, str]]]:
    found: dict[Key, list[dict[str, str]]] = {}
    for row in case.rows:
        found.setdefault(tuple(at(levels, name, row[name]) for name in LEVELS), []).append(row)
    return found


def _is_under(levels: Mapping[str, int], column: str, label: str, value: str) -> bool:
    return at(levels, column, value) == label


def fitting(levels: Mapping[str, int], labels: Key) -> dict[str, Any]:
    """Values that have the label of a class, for each column."""
    told = dict(zip(LEVELS, labels, strict=True))
    return {name: partial(_is_under, levels, name, told[name]) for name in LEVELS}


def leak(
    case: Case,
    metric: str,
    levels: Mapping[str, int],
    labels: Key,
    members: Sequence[Mapping[str, str]],
) -> float:
    return METRICS[metric](shares(members), case.prior(fitting(levels, labels)))


def loss(case: Case, levels: Mapping[str, int], lost: Sequence[Mapping[str, str]]) -> float:
    """The loss of ARX, with the leaves of every column as passed."""
    people, factors = len(case.rows), 1.0
    for column, rows in LEVELS.items():
        under = Counter(labels[levels[column]] for labels in rows.values())
        total = sum(under[at(levels, column, row[column])] / len(rows) for row in case.rows)
        total += sum(1 - under[at(levels, column, row[column])] / len(rows) for row in lost)
        least = people / len(rows)
        factors *= 1 + (total - least) / (people - least)
    return float(factors ** (1 / len(LEVELS)) - 1)


NODES = [dict(zip(LEVELS, node, strict=True)) for node in itertools.product(range(3), repeat=2)]


def best(
    case: Case, metric: str, bound: float, limit: int
) -> tuple[dict[str, int], float, float] | None:
    """Levels, loss and leakage of the solution with the least loss, then the least levels."""
    found = []
    for levels in NODES:
        classes = classes_of(case, levels)
        leaks = {
            labels: leak(case, metric, levels, labels, members)
            for labels, members in classes.items()
        }
        kept = [labels for labels, number in leaks.items() if number <= bound + 1e-9]
        lost = [row for labels, members in classes.items() if labels not in kept for row in members]
        if kept and len(lost) <= limit:
            cost = loss(case, levels, lost)
            found.append(
                (
                    round(cost, 9),
                    sum(levels.values()),
                    tuple(levels.values()),
                    max(leaks[k] for k in kept),
                )
            )
    if not found:
        return None
    cost, _, node, worst = min(found)
    return dict(zip(LEVELS, node, strict=True)), cost, worst


def asked(case: Case, **more: Any) -> dict[str, Any]:
    roles = {
        "quasi_identifiers": ["age", "zip"],
        "sensitive": "disease",
        "adversary": case.adversary,
    }
    return {**roles, "hierarchies": {name: {"rows": rows} for name, rows in LABELS.items()}, **more}


def test_the_best_release_under_a_joint_prior(engine: Any, seeds: Iterable[int]) -> None:
    outcomes: Counter[bool] = Counter()
    for seed in seeds:
        case, chance = draw(seed), random.Random(seed + 1)  # noqa: S311 - a draw, no secret
        metric, bound = chance.choice(list(METRICS)), chance.choice((0.15, 0.3, 0.5))
        suppression = chance.choice((0.0, 0.3))
        expected = best(case, metric, bound, math.floor(suppression * len(case.rows) + 1e-9))
        outcomes[expected is not None] += 1
        promised: dict[str, Any] = {metric: bound}
        policy = dv.Policy(**promised, suppression=suppression)
        if expected is None:
            with pytest.raises(Infeasible):
                dv.generalize(case.table, policy=policy, **asked(case), engine=engine)
            continue
        release = dv.generalize(case.table, policy=policy, **asked(case), engine=engine)
        levels, cost, worst = expected
        assert dict(release.plan.levels) == levels, seed
        assert release.plan.value == pytest.approx(cost), seed
        assert release.after[metric].value == pytest.approx(worst), seed
        assert release.after.settings["prior"] == {"disease": "conditional"}
        told = "the joint probabilities" if case.given_as == "joint" else "the table's class sizes"
        assert release.after.settings["prior_weights"] == {"disease": told}
        assert any("class sizes" in note for note in release.after.notes) == (
            case.given_as == "probability"
        )
    assert len(outcomes) == 2 or isinstance(engine, SparkEngine)


def test_the_written_release_is_measured_with_the_same_prior(tmp_path: Any, engine: Any) -> None:
    case = draw(5)
    release = dv.generalize(
        case.table,
        policy=dv.Policy(distribution_leakage=0.8, k_anonymity=2),
        **asked(case),
        engine=engine,
    )
    release.write(tmp_path / "release")
    assert (tmp_path / "release" / "manifest.json").is_file()


def test_merging_classes_can_increase_leakage() -> None:
    """Each class is as the adversary expects, but both together are not.

    A search that prunes by the node of higher levels would find nothing.
    """
    rows = [("20", "flu")] * 3 + [("20", "cold")] + [("21", "flu")] + [("21", "cold")] * 3
    joint = {("20",): {"flu": 27 / 40, "cold": 9 / 40}, ("21",): {"flu": 1 / 40, "cold": 3 / 40}}
    prior = [
        {"age": key[0], "disease": s, "joint": p}
        for key, entry in joint.items()
        for s, p in entry.items()
    ]
    table = pa.table({"age": [age for age, _ in rows], "disease": [disease for _, disease in rows]})
    roles: dict[str, Any] = {
        "quasi_identifiers": "age",
        "sensitive": "disease",
        "adversary": dv.Adversary(prior=prior),
    }
    levels = {"age": {"rows": {"20": ["*"], "21": ["*"]}}}
    for metric in ("distribution_leakage", "t_closeness", "surprise", "entropy_leakage"):
        release = dv.generalize(
            table, policy=dv.Policy([Promise.make(metric, 0.01)]), **roles, hierarchies=levels
        )
        assert release.plan.levels == {"age": 0}
        assert release.after[metric].value == pytest.approx(0.0, abs=1e-9)
    points = dv.tradeoff(table, "distribution_leakage", **roles, hierarchies=levels).points
    # x = (1/2, 1/2) against a = (28/40, 12/40).
    assert {point.levels["age"]: point.leakage for point in points} == {
        0: pytest.approx(0.0, abs=1e-9),
        1: pytest.approx(math.sqrt(2) * 0.2),
    }


def test_the_front_under_a_joint_prior(engine: Any, seeds: Iterable[int]) -> None:
    for seed in seeds:
        case = draw(seed)
        front = dv.tradeoff(case.table, "surprise", **asked(case), engine=engine)
        assert len(front.points) == len(NODES)
        assert front.settings["prior"] == {"disease": "conditional"}
        for point in front.points:
            classes = classes_of(case, point.levels)
            worst = max(
                leak(case, "surprise", point.levels, labels, members)
                for labels, members in classes.items()
            )
            assert point.leakage == pytest.approx(worst), seed


def without(p: Sequence[float], value: str) -> list[float]:
    left = [0.0 if name == value else share for name, share in zip(VALUES, p, strict=True)]
    return [share / sum(left) for share in left]


def ordered(x: Sequence[float], a: Sequence[float]) -> float:
    """Earth mover's distance with adjacent values one step apart."""
    apart = itertools.accumulate(p - q for p, q in zip(x, a, strict=True))
    return sum(abs(step) for step in apart) / (len(VALUES) - 1)


@pytest.mark.slow
def test_with_an_order_or_with_a_value_ruled_out(seeds: Iterable[int]) -> None:
    """The Pareto front again: other settings of the adversary apply to the merged prior too."""
    for seed in list(seeds)[:40]:
        case = draw(seed)
        told = asked(case)
        told["adversary"] = replace(case.adversary, orders={"disease": VALUES})
        for point in dv.tradeoff(case.table, "t_closeness", **told).points:
            distances = [
                ordered(shares(members), case.prior(fitting(point.levels, labels)))
                for labels, members in classes_of(case, point.levels).items()
            ]
            assert point.leakage == pytest.approx(max(distances)), seed
        told["adversary"] = replace(case.adversary, rule_out={"disease": "flu"})
        for point in dv.tradeoff(case.table, "surprise", **told).points:
            leaks = [
                METRICS["surprise"](
                    without(shares(members), "flu"),
                    without(case.prior(fitting(point.levels, labels)), "flu"),
                )
                for labels, members in classes_of(case, point.levels).items()
                if any(row["disease"] != "flu" for row in members)
            ]
            assert point.leakage == pytest.approx(max(leaks)), seed


@pytest.mark.slow
def test_chosen_values_are_protected_from_the_merged_prior(seeds: Iterable[int]) -> None:
    for seed in list(seeds)[:40]:
        case = draw(seed)
        protection = dv.Protection.parse("disease = 'hiv': surprise <= 0.2")
        found = []
        for levels in NODES:
            leaks = []
            for labels, members in classes_of(case, levels).items():
                x, a = shares(members)[2], case.prior(fitting(levels, labels))[2]
                leaks.append(METRICS["surprise"]([x, 1 - x], [a, 1 - a]))
            if max(leaks) <= 0.2 + 1e-9:
                found.append(
                    (round(loss(case, levels, []), 9), sum(levels.values()), tuple(levels.values()))
                )
        if not found:
            with pytest.raises(Infeasible):
                dv.generalize(
                    case.table, policy=dv.Policy(), protections=[protection], **asked(case)
                )
            continue
        release = dv.generalize(
            case.table, policy=dv.Policy(), protections=[protection], **asked(case)
        )
        assert tuple(release.plan.levels.values()) == min(found)[2], seed
        assert release.verdict.holds


def _between(ends: Sequence[int], age: str) -> bool:
    return ends[0] <= int(age) <= ends[-1]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "relaxed-mondrian"])
def test_boxes_under_a_joint_prior(engine: Any, method: Any, seeds: Iterable[int]) -> None:
    """A label [20, 22] stands for all ages between, even for those that are not in the box."""
    for seed in seeds:
        case = draw(seed)
        ages, zips = sorted(int(row["age"]) for row in case.rows), {row["zip"] for row in case.rows}
        everybody = {"age": partial(_between, ages), "zip": zips.__contains__}
        whole = METRICS["t_closeness"](shares(case.rows), case.prior(everybody))
        kept: dict[str, Any] = {
            "policy": dv.Policy(k_anonymity=2, t_closeness=max(whole, 0.4) + 1e-6)
        }
        if method == "relaxed-mondrian":
            with pytest.raises(BadInput, match="t_closeness of disease"):
                dv.generalize(case.table, **kept, method=method, **asked(case, hierarchies=None))
            kept = {"policy": dv.Policy(k_anonymity=2)}
        release = dv.generalize(
            case.table, **kept, method=method, **asked(case, hierarchies=None), engine=engine
        )
        found = release.after.contingency
        for number in range(len(found)):
            key = {name: str(label) for name, label in found.class_key(number).items()}
            ends = [int(part) for part in key["age"].strip("[]").split(", ")]
            held = key["zip"].strip("{}").split(", ")
            fits = {"age": partial(_between, ends), "zip": held.__contains__}
            inside = found.cells["disease"].of_class(number)
            total = sum(inside.values())
            labels = found.cells["disease"].domain.labels
            x = [
                inside.get(labels.index(value), 0.0) / total if value in labels else 0.0
                for value in VALUES
            ]
            belief = release.after.beliefs["disease"]
            expected = METRICS["distribution_leakage"](x, case.prior(fits))
            assert _leak_of(release.after, number) == pytest.approx(expected), (seed, key)
            assert belief.prior.name == "conditional"


def _leak_of(measured: Any, number: int) -> float:
    return float(measured.class_table().column("disease.distribution_leakage")[number].as_py())


@pytest.mark.slow
def test_rankings_under_a_joint_prior(engine: Any, seeds: Iterable[int]) -> None:
    for seed in seeds:
        case = draw(seed)
        told: dict[str, Any] = {"quasi_identifiers": ["age", "zip"], "sensitive": "disease"}
        ranking = dv.rank(case.table, **told, adversary=case.adversary, engine=engine)
        for found in (*ranking.combinations, ranking.everything):
            groups: dict[Key, list[dict[str, str]]] = {}
            for row in case.rows:
                groups.setdefault(tuple(row[name] for name in found.columns), []).append(row)
            for metric in ("distribution_leakage", "entropy_leakage"):
                worst = max(
                    METRICS[metric](
                        shares(members),
                        case.prior(
                            {
                                name: value.__eq__
                                for name, value in zip(found.columns, key, strict=True)
                            }
                        ),
                    )
                    for key, members in groups.items()
                )
                assert found.sensitive["disease"][metric] == pytest.approx(worst), (
                    seed,
                    found.columns,
                )
        assert ranking.settings["prior"] == {"disease": "conditional"}
        assert bool(ranking.notes) == (case.given_as == "probability")


def test_cut_points_under_a_joint_prior(*, quick: bool) -> None:
    """All divisions of the ages; an age that does not occur goes with the one before it."""
    compared = 0
    for seed in range(50 if quick else 200):
        case = draw(seed)
        if case.conditions != ("age",):
            continue
        compared += 1
        ages = sorted({row["age"] for row in case.rows})
        promise = dv.Policy(distribution_leakage=0.45)
        divisions = []
        for cuts in itertools.chain.from_iterable(
            itertools.combinations(ages[1:], size) for size in range(len(ages))
        ):
            lows = [ages[0], *cuts]
            highs = [*cuts, "99"]
            ranges = [
                ("0" if i == 0 else low, high)
                for i, (low, high) in enumerate(zip(lows, highs, strict=True))
            ]
            members = [
                [row for row in case.rows if int(low) <= int(row["age"]) < int(high)]
                for low, high in ranges
            ]
            leaks = [
                METRICS["distribution_leakage"](
                    shares(some), case.prior({"age": partial(_between, [int(low), int(high) - 1])})
                )
                for some, (low, high) in zip(members, ranges, strict=True)
            ]
            if max(leaks) <= 0.45 + 1e-9:
                told = [len(some) / len(case.rows) * entropy(shares(some)) for some in members]
                divisions.append(entropy(shares(case.rows)) - sum(told))
        if not divisions:
            with pytest.raises(Infeasible):
                dv.cut(case.table, "age", about="disease", policy=promise, adversary=case.adversary)
            continue
        found = dv.cut(case.table, "age", about="disease", policy=promise, adversary=case.adversary)
        assert found.cuts.information == pytest.approx(max(divisions), abs=1e-9), seed
        assert found.settings["prior"] == {"disease": "conditional"}
    assert compared > (5 if quick else 30)


def test_infeasible_boxes_are_reported() -> None:
    """Even the whole table is not as the adversary expects, so no cut is tried.

    The result is an answer, not a crash.
    """
    table = pa.table({"age": [20, 21, 22, 23], "disease": ["flu", "flu", "flu", "cold"]})
    her = dv.Adversary(prior={"flu": 0.1, "cold": 0.9})
    roles: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease", "adversary": her}
    with pytest.raises(Infeasible, match="in the way: all 4 people"):
        dv.generalize(table, policy=dv.Policy(t_closeness=0.2), method="mondrian", **roles)


def test_a_rule_labels_values_that_occur_only_in_the_prior() -> None:
    """No person is 21 or 23; [20, 22) still stands for 20 and 21, in levels and in boxes.

    The loss counts only ages that occur.
    """
    table = pa.table({"age": [20, 20, 22, 22], "disease": ["flu", "cold", "flu", "cold"]})
    joint = {20: (2, 2), 21: (6, 2), 22: (1, 1), 23: (1, 5)}
    prior = [
        {"age": age, "disease": value, "joint": weight / 20}
        for age, weights in joint.items()
        for value, weight in zip(("flu", "cold"), weights, strict=True)
    ]
    roles: dict[str, Any] = {
        "quasi_identifiers": "age",
        "sensitive": "disease",
        "adversary": dv.Adversary(prior=prior),
    }
    levels = {"age": {"intervals": [2]}}
    points = dv.tradeoff(table, "t_closeness", **roles, hierarchies=levels).points
    plain = dv.tradeoff(
        table, "t_closeness", **(roles | {"adversary": None}), hierarchies=levels
    ).points
    assert [point.value for point in points] == [point.value for point in plain]
    # Half have flu. The adversary expected 8 of 12 of those under 22, 2 of 8 of the others, and 10
    # of 20 of all.
    assert {point.levels["age"]: pytest.approx(point.leakage) for point in points} == {
        0: 0.0,
        1: 1 / 4,
        2: 0.0,
    }
    boxes = dv.generalize(
        table, policy=dv.Policy(k_anonymity=2), method="mondrian", **roles, hierarchies=levels
    )
    assert boxes.after["t_closeness"].value == pytest.approx(0.0)  # cut down to the ages themselves
    ends = dv.generalize(table, policy=dv.Policy(k_anonymity=3), method="mondrian", **roles)
    assert ends.after.contingency.class_key(0) == {"age": "[20, 22]"}
    # 9 of 14 between 20 and 22 have flu.
    assert ends.after["t_closeness"].value == pytest.approx(9 / 14 - 1 / 2)
