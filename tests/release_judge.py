# SPDX-License-Identifier: Apache-2.0
"""An independent judge of what several releases of the same people disclose together.

The judge reads the published files and the original table and nothing else. Each release carries a
plain column `id`, so the published files themselves say in which class every person is. All numbers
are counted from these labels with pandas and plain Python; nothing of divulge is used for them.
tests/composition/test_judge.py runs a few sets, benchmarks/judge.py runs thousands.
"""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log2, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import divulge as dv
from divulge.errors import BadInput, Infeasible
from tests.helpers import verdict_of

METHODS = ("full-domain", "columns", "mondrian", "relaxed-mondrian")
COLUMNS = ("age", "zip", "sex", "job")
TOLERANCE = 1e-9
STOPPED = (
    "judged together with another release",
    "nobody in",
    "relaxed parts may come to share a label",
)
"""The errors with which a release may stop.

Every other one is a fault of the judge or of divulge.
"""


@dataclass
class Alarm:
    """A number of divulge that differs from the judge's."""

    seed: int
    what: str
    detail: str


@dataclass
class Report:
    """Counts of compared sets and numbers, and every alarm."""

    counts: Counter[str] = field(default_factory=Counter)
    alarms: list[Alarm] = field(default_factory=list)

    def compare(self, seed: int, what: str, ours: Any, judged: Any) -> None:
        """Count one comparison; note an alarm where two numbers differ."""
        self.counts[what] += 1
        if ours is None or judged is None:
            equal = ours is judged
        else:
            equal = abs(float(ours) - float(judged)) <= TOLERANCE * max(1.0, abs(float(judged)))
        if not equal:
            self.alarm(seed, what, f"divulge {ours}, judge {judged}")

    def expect(self, seed: int, what: str, detail: str, *, holds: bool) -> None:
        """Count one comparison; note an alarm where a statement does not hold."""
        self.counts[what] += 1
        if not holds:
            self.alarm(seed, what, detail)

    def alarm(self, seed: int, what: str, detail: str) -> None:
        """Note an alarm."""
        self.alarms.append(Alarm(seed, what, detail))


# --- definitions ----------------------------------------------------------------------------------
def entropy(shares: Sequence[float]) -> float:
    """Return the entropy in bits."""
    return -sum(share * log2(share) for share in shares if share > 0)


def class_metrics(classes: Sequence[Sequence[Any]], prior: Counter[Any]) -> dict[str, float]:
    """Return the metrics of classes, each given as the list of the sensitive values of its
    people.
    """
    total = sum(prior.values())
    sizes = [len(values) for values in classes]
    before = {value: count / total for value, count in prior.items()}
    found = {
        "k_anonymity": min(sizes),
        "uniques": sizes.count(1),
        "classes": len(sizes),
        "prosecutor_risk": 1 / min(sizes),
        "l_diversity": min(len(set(values)) for values in classes),
    }
    worst: dict[str, list[float]] = {
        name: [] for name in ("alpha", "t", "entropy", "distribution", "beta", "kl")
    }
    for values in classes:
        counts = Counter(values)
        after = {value: counts.get(value, 0) / len(values) for value in before}
        worst["alpha"].append(max(after.values()))
        worst["t"].append(sum(abs(after[value] - before[value]) for value in before) / 2)
        worst["entropy"].append(abs(entropy(list(before.values())) - entropy(list(after.values()))))
        worst["distribution"].append(
            sqrt(sum((after[value] - before[value]) ** 2 for value in before))
        )
        gains = [(after[value] - before[value]) / before[value] for value in before]
        worst["beta"].append(max(0.0, *gains))
        worst["kl"].append(sum(after[v] * log2(after[v] / before[v]) for v in before if after[v]))
    found["alpha"] = max(worst["alpha"])
    found["t_closeness"] = max(worst["t"])
    found["entropy_leakage"] = max(worst["entropy"])
    found["distribution_leakage"] = max(worst["distribution"])
    found["basic_beta_likeness"] = max(worst["beta"])
    found["surprise"] = max(worst["kl"])
    return found


def published_rows(folder: Path) -> pd.DataFrame:
    """Return the published table of a generalized release, cells as text."""
    table = pd.read_parquet(folder / "table.parquet")
    return table.astype(object).where(table.notna(), None)


def class_of_people(
    folder: Path, columns: Sequence[str], ids: Sequence[int]
) -> dict[int, tuple[Any, ...] | None]:
    """Return the published labels of every person, None for those who are not published."""
    table = published_rows(folder)
    labels = {
        int(row["id"]): tuple(None if row[name] is None else str(row[name]) for name in columns)
        for _, row in table.iterrows()
    }
    return {person: labels.get(person) for person in ids}


# --- random tables and releases -------------------------------------------------------------------
@dataclass
class OneRelease:
    """A release that was written, and what the judge knows of it."""

    folder: Path
    columns: tuple[str, ...]
    method: str
    policy: dict[str, Any]
    gate: tuple[int, ...]
    """The releases that it was judged together with, by their number in the set."""
    classes: dict[int, tuple[Any, ...] | None] = field(default_factory=dict)


def random_people(rng: np.random.Generator) -> pd.DataFrame:
    """Return a table of people, one row each."""
    count = int(rng.integers(8, 45))
    skew = rng.choice([0.3, 1.0, 5.0])
    shares = rng.dirichlet([skew] * int(rng.integers(2, 6)))
    people = pd.DataFrame(
        {
            "id": np.arange(count),
            "age": rng.integers(20, 20 + int(rng.integers(3, 30)), count),
            "zip": rng.choice(["0213", "0214", "0311", "0312", "0415"], count),
            "sex": rng.choice(["f", "m"], count),
            "job": rng.choice(["clerk", "nurse", "cook", "smith"], count),
            "disease": rng.choice(
                ["flu", "cold", "gout", "hiv", "acne"][: len(shares)], count, p=shares
            ),
        }
    )
    if rng.random() < 0.25:
        people["job"] = people["job"].where(rng.random(count) > 0.2, None)
    if rng.random() < 0.2:
        people["age"] = people["age"].astype("Int64").mask(rng.random(count) < 0.2)
    if rng.random() < 0.15:
        people["disease"] = people["disease"].where(rng.random(count) > 0.1, None)
    return people


def random_hierarchies(rng: np.random.Generator, columns: Sequence[str]) -> dict[str, Any]:
    """Return hierarchies for some of the columns; the others get divulge's defaults."""
    width = int(rng.integers(2, 8))
    rules: dict[str, Any] = {
        "age": {"intervals": [width, 2 * width], "start": int(rng.integers(0, 5))},
        "zip": {"prefix": True},
        "sex": {"suppress": True},
        "job": {"taxonomy": {"office": ["clerk"], "other": ["nurse", "cook", "smith"]}},
    }
    return {name: rules[name] for name in columns if rng.random() < 0.6}


def random_policy(rng: np.random.Generator) -> dict[str, Any]:
    """Return a policy of one or two requirements."""
    policy: dict[str, Any] = {"k_anonymity": int(rng.integers(2, 5))}
    extra = rng.random()
    if extra < 0.25:
        policy["l_diversity"] = 2
    elif extra < 0.4:
        policy["t_closeness"] = float(rng.choice([0.4, 0.6]))
    elif extra < 0.55:
        policy["entropy_leakage"] = float(rng.choice([0.5, 0.8]))
    elif extra < 0.65:
        policy["distribution_leakage"] = 0.6
    return policy


def release_options(rng: np.random.Generator, method: str) -> dict[str, Any]:
    """Return random columns, hierarchies, requirements and suppression for one release."""
    count = int(rng.integers(1, 4))
    columns = tuple(str(name) for name in rng.choice(COLUMNS, size=count, replace=False))
    options: dict[str, Any] = {
        "policy": random_policy(rng),
        "quasi_identifiers": list(columns),
        "sensitive": "disease",
        "plain": "id",
        "leave_out": [name for name in COLUMNS if name not in columns],
        "method": method,
    }
    if method in ("full-domain", "mondrian"):
        options["hierarchies"] = random_hierarchies(rng, columns)
    if method in ("full-domain", "columns"):
        options["suppression"] = float(rng.choice([0.0, 0.1, 0.3]))
    return options


def published(made: Any, folder: Path) -> bool:
    """Write a release; whether anybody is in it."""
    made.write(folder)
    return len(published_rows(folder)) > 0


def random_set(seed: int, folder: Path) -> tuple[pd.DataFrame, list[OneRelease], Report]:
    """Write two to four releases of the same people.

    Some are judged together with what was released before.
    """
    rng = np.random.default_rng(seed)
    people = random_people(rng)
    releases: list[OneRelease] = []
    report = Report()
    for number in range(int(rng.integers(2, 5))):
        method = str(rng.choice(METHODS))
        options = release_options(rng, method)
        gate: tuple[int, ...] = ()
        if releases and rng.random() < 0.5:
            gate = tuple(place for place in range(len(releases)) if rng.random() < 0.7)
        if gate:
            options["adversary"] = dv.Adversary(released=[releases[place].folder for place in gate])
        target = folder / f"release-{number}"
        report.counts["releases asked for"] += 1
        try:
            made = dv.generalize(people, **options)
        except Infeasible:
            report.counts["releases that are not possible"] += 1
            continue
        except BadInput as error:
            if not any(text in str(error) for text in STOPPED):
                raise
            report.counts["releases that are stopped"] += 1
            continue
        if not published(made, target):
            report.counts["releases that are not possible"] += 1
            continue
        columns = tuple(options["quasi_identifiers"])
        policy = dict(options["policy"])
        release = OneRelease(target, columns, method, policy, gate)
        release.classes = class_of_people(target, columns, people["id"].tolist())
        releases.append(release)
        report.counts[f"releases: {method}{', gated' if gate else ''}"] += 1
    return people, releases, report


def joint_classes(
    people: pd.DataFrame, releases: Sequence[OneRelease]
) -> dict[tuple[Any, ...], list[int]]:
    """Return the people of each joint class, those who are in none of the releases left out."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for person in people["id"].tolist():
        key = tuple(release.classes[person] for release in releases)
        if any(part is not None for part in key):
            found.setdefault(key, []).append(person)
    return found


def values_of(people: pd.DataFrame, classes: dict[tuple[Any, ...], list[int]]) -> list[list[Any]]:
    """Return the sensitive values of each class."""
    disease = dict(zip(people["id"].tolist(), people["disease"].tolist(), strict=True))
    return [[disease[person] for person in members] for members in classes.values()]


def prior_of(people: pd.DataFrame) -> Counter[Any]:
    """Return how many people of the original have each sensitive value."""
    return Counter(people["disease"].tolist())


def judge_set(seed: int, folder: Path) -> Report:
    """Write one set of releases and compare every number of divulge about it with the judge's."""
    people, releases, report = random_set(seed, folder)
    if not releases:
        return report
    report.counts["sets"] += 1
    if any("mondrian" in release.method for release in releases):
        report.counts["sets with Mondrian"] += 1
    _judge_composition(seed, people, releases, report, "mapping")
    without = [_without_mapping(release) for release in releases]
    _judge_composition(seed, people, without, report, "labels")
    if len(releases) > 1:
        _judge_order(seed, people, releases, report)
        judge_bounds(seed, people, without, report)
        _judge_check(seed, people, releases, report)
    for release in releases:
        _judge_gate(seed, people, releases, release, report)
    return report


def _without_mapping(release: OneRelease) -> OneRelease:
    copy = release.folder.with_name(f"{release.folder.name}-shared")
    shutil.copytree(release.folder, copy, ignore=shutil.ignore_patterns("mapping"))
    return OneRelease(
        copy, release.columns, release.method, release.policy, release.gate, release.classes
    )


def _judge_composition(
    seed: int, people: pd.DataFrame, releases: Sequence[OneRelease], report: Report, how: str
) -> None:
    """Compare compose with the original: every release alone, and the first one, two, ...
    together.
    """
    try:
        found = dv.compose([release.folder for release in releases], truth=people, person="id")
    except BadInput:
        report.counts[f"compose by {how}: rejected"] += 1
        return
    exact = found.settings["upper_bound"]
    report.counts[f"compose by {how}: {'exact' if exact else 'not exact'}"] += 1
    if how == "mapping":
        whole = all(
            not release.gate or set(release.gate) <= set(range(len(releases)))
            for release in releases
        )
        text = f"{[release.method for release in releases]} {found.notes}"
        report.expect(seed, "compose by mapping is exact", text, holds=exact or not whole)
    if not exact:
        return
    prior = prior_of(people)
    for place, one in enumerate(found.releases):
        measured: list[tuple[str, Any, Sequence[OneRelease]]] = [
            ("alone", one.alone, [releases[place]]),
            ("so far", one.so_far, releases[: place + 1]),
        ]
        for name, held, chosen in measured:
            judged = class_metrics(values_of(people, joint_classes(people, chosen)), prior)
            for metric, number in judged.items():
                report.compare(
                    seed, f"compose by {how}, {name}: {metric}", held[metric].value, number
                )
    _judge_singled_out(seed, people, releases, found.together, report=report, how=how)


def _judge_singled_out(
    seed: int,
    people: pd.DataFrame,
    releases: Sequence[OneRelease],
    ours: Any,
    *,
    report: Report,
    how: str,
) -> None:
    joint = joint_classes(people, releases)
    sizes = [Counter(release.classes.values()) for release in releases]
    smallest = min(size for counts in sizes for key, size in counts.items() if key is not None)
    alone = {key: members for key, members in joint.items() if len(members) == 1}

    def hidden(key: tuple[Any, ...]) -> bool:
        in_release = zip(key, sizes, strict=True)
        return all(label is None or counts[label] > 1 for label, counts in in_release)

    expected = {
        "people": sum(map(len, joint.values())),
        "smallest": smallest,
        "below": sum(len(members) for members in joint.values() if len(members) < smallest),
        "alone": len(alone),
        "became_alone": sum(hidden(key) for key in alone),
    }
    for name, number in expected.items():
        report.compare(seed, f"compose by {how}: {name}", getattr(ours, name), number)


def _judge_order(
    seed: int, people: pd.DataFrame, releases: Sequence[OneRelease], report: Report
) -> None:
    """Releases in another order have the same joint classes."""
    there = dv.compose([release.folder for release in releases], truth=people, person="id")
    back = dv.compose([release.folder for release in reversed(releases)], truth=people, person="id")
    for metric in (
        "k_anonymity",
        "uniques",
        "l_diversity",
        "t_closeness",
        "entropy_leakage",
        "classes",
    ):
        ours = None if back.measurement is None else back.measurement[metric].value
        other = None if there.measurement is None else there.measurement[metric].value
        report.compare(seed, "compose in another order", ours, other)


def judge_bounds(
    seed: int, people: pd.DataFrame, releases: Sequence[OneRelease], report: Report
) -> None:
    """Compare what compose derives without the original with how many people the classes really
    share.
    """
    disease = dict(zip(people["id"].tolist(), people["disease"].tolist(), strict=True))
    found = dv.compose([release.folder for release in releases], people=len(people))
    pairs = itertools.combinations(releases, 2)
    for (first, second), derived in zip(pairs, found.derived, strict=True):
        shared = joint_classes(people, [first, second])
        names = [_class_names(release) for release in (first, second)]
        told = derived.pairs
        bounds = {
            (names[0][a], names[1][b]): (int(low), int(high), int(values))
            for a, b, low, high, values in zip(
                told.first, told.second, told.low, told.high, told.values, strict=True
            )
        }
        for key in {*bounds, *shared}:
            low, high, values = bounds.get(key, (0, 0, 0))
            members = shared.get(key, [])
            text = (
                f"{first.method}, {second.method}: {key} has {len(members)} people, bounds "
                f"{low} "
                f"to {high}"
            )
            report.expect(seed, "bounds on shared people", text, holds=low <= len(members) <= high)
            left = {disease[person] for person in members}
            text = f"{key}: {len(left)} values, at most {values} are said to remain"
            report.expect(seed, "values that remain", text, holds=len(left) <= values)
        smallest = derived.smallest
        below = sum(len(members) for members in shared.values() if len(members) < smallest)
        text = f"{below} people below {smallest}, bounds {derived.below}"
        report.expect(
            seed, "people below", text, holds=derived.below[0] <= below <= derived.below[1]
        )


def _class_names(release: OneRelease) -> list[tuple[Any, ...] | None]:
    """Return the classes in the order of divulge: sorted by their labels, nulls last.

    Then not published.
    """
    table = published_rows(release.folder)
    keys = {tuple(row) for row in table[list(release.columns)].itertuples(index=False)}
    ordered = sorted(
        keys, key=lambda key: tuple((cell is None, "" if cell is None else cell) for cell in key)
    )
    return [*(tuple(None if cell is None else str(cell) for cell in key) for key in ordered), None]


def judged_people(
    people: pd.DataFrame, new: OneRelease, earlier: Sequence[OneRelease]
) -> dict[tuple[Any, ...], list[int]]:
    """Return the joint classes that a new release discloses something of.

    These are the people in the new release, and those in an earlier one who share all classes of
    the earlier ones with somebody in it: an adversary who subtracts the new release from the
    earlier ones is left with them.
    """
    joint = joint_classes(people, [new, *earlier])
    told = {key[1:] for key in joint if key[0] is not None}
    out_already = {key for key in joint if any(part is not None for part in key[1:])}
    return {
        key: members
        for key, members in joint.items()
        if key[0] is not None or (key in out_already and key[1:] in told)
    }


def broken(policy: dict[str, Any], judged: dict[str, float]) -> list[str]:
    """Return the requirements that the judge's numbers violate."""
    low = ("k_anonymity", "l_diversity")
    return [
        f"{name}: {judged[name]} for {bound}"
        for name, bound in policy.items()
        if (judged[name] < bound - TOLERANCE if name in low else judged[name] > bound + TOLERANCE)
    ]


def _judge_check(
    seed: int, people: pd.DataFrame, releases: Sequence[OneRelease], report: Report
) -> None:
    """Compare check of the last release, together with the others, with the judge's joint
    classes.
    """
    new, earlier = releases[-1], releases[:-1]
    judged = class_metrics(values_of(people, judged_people(people, new, earlier)), prior_of(people))
    policy = {
        "k_anonymity": 3,
        "l_diversity": 2,
        "t_closeness": 0.4,
        "entropy_leakage": 0.6,
        "distribution_leakage": 0.5,
        "uniques": 1,
        "alpha": 0.8,
    }
    adversary = dv.Adversary(original=people, released=[release.folder for release in earlier])
    verdict = verdict_of(new.folder, policy, adversary=adversary)
    certain = not any("no upper bound" in note for note in verdict.measurement.notes)
    report.counts[f"check: {'exact' if certain else 'not exact'}"] += 1
    if not certain:
        return
    for outcome in verdict.outcomes:
        metric = outcome.promise.metric.name
        report.compare(seed, f"check: {metric}", outcome.value, judged[metric])
        fails = bool(broken({metric: policy[metric]}, judged))
        text = f"divulge {outcome.holds}, judge {judged[metric]} for {policy[metric]}"
        report.expect(seed, f"check verdict: {metric}", text, holds=outcome.holds != fails)


def _judge_gate(
    seed: int,
    people: pd.DataFrame,
    releases: Sequence[OneRelease],
    release: OneRelease,
    report: Report,
) -> None:
    """A release meets its policy alone, and together with the releases that it was judged with."""
    prior = prior_of(people)
    alone = class_metrics(values_of(people, joint_classes(people, [release])), prior)
    text = f"{release.method} {release.policy} gate {release.gate}: {broken(release.policy, alone)}"
    report.expect(
        seed, "release alone meets its policy", text, holds=not broken(release.policy, alone)
    )
    if release.gate:
        earlier = [releases[place] for place in release.gate]
        together = class_metrics(values_of(people, judged_people(people, release, earlier)), prior)
        text = (
            f"{release.method} {release.policy} gate {release.gate}: "
            f"{broken(release.policy, together)}"
        )
        report.expect(
            seed,
            "release meets its policy with earlier ones",
            text,
            holds=not broken(release.policy, together),
        )
