# SPDX-License-Identifier: Apache-2.0
"""Planning of invented disinformation under a budget: self and linkage disinformation.

Whang and Garcia-Molina, section 4.2. A release costs 1 for each attribute. The paper's form is
Create(S) + k * Add: a record that links the clusters S, and k invented attributes. One linking
record for each group is enough, because the union of two has the same effect at no higher cost.

First, a plan is computed by knapsacks, measured with real entity resolution, and compared with the
lower bound, which holds for all releases. If there is a gap and few releases can matter, all of
them are tried. The result is then optimal among all releases, of that form or not (for example,
with an uncertain false attribute confirmed). Otherwise all groupings of the clusters are tried if
they are few, and the gap is reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TypeAlias

import numpy as np

from divulge.arrays import Floats
from divulge.dossier import disinformation
from divulge.dossier.leakage import Measure
from divulge.dossier.operators import Resolve
from divulge.dossier.record import Attribute, Record
from divulge.dossier.resolve import MatchRule, all_sources, as_rule, resolve, with_ids
from divulge.errors import BadInput
from divulge.validation import checked

Groups: TypeAlias = tuple[tuple[int, ...], ...]
"""Groups of linked clusters, as indexes."""
MOST_BUDGET = 1000
MOST_PLANS = 2000
"""The largest number of releases, or of groupings of clusters, for exhaustive trial."""
MOST_RECORDS = 5000
"""The largest number of attribute sets that are listed."""
TARGETS = 40
"""The number of target leakages of the knapsacks."""


@dataclass(frozen=True)
class _Draft:
    """Linking records, the number of invented attributes of each, and the remaining leakage."""

    leakage: float
    links: tuple[Record, ...] = ()
    invented: tuple[int, ...] = ()


@checked
def plan_disinformation(
    database: Sequence[Record],
    reference: Record,
    *,
    rule: MatchRule | str,
    budget: float,
    measure: Measure | None = None,
    labels: Sequence[str] | None = None,
    invent: Callable[[str, int], str] | None = None,
) -> disinformation.Disinformation:
    """Invent records to release against an adversary who merges by a rule.

    Args:
        database: The adversary's records.
        reference: The true attributes of the person.
        rule: The rule by which the adversary merges two records, as in `resolve`.
        budget: The largest number of attributes in all invented records.
        measure: The options of `leakage`; by default its defaults. Plans support weights, but no
            equivalence, grades, background or joint information.
        labels: Labels for which false values may be invented (by default those of the reference);
            the heaviest is used.
        invent: A function of (label, number) that returns the values.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "P": "123"})
        >>> plan = dv.dossier.plan_disinformation([alice], alice, rule="N", budget=2)
        >>> plan.before, round(plan.leakage, 12)
        (1.0, 0.8)
    """
    disinformation.check_budget(budget)
    if budget > MOST_BUDGET:
        raise BadInput(
            f"the budget is {budget:g} attributes", hint=f"plans are made for up to {MOST_BUDGET}"
        )
    measure, rule, whole_budget = measure or Measure(), as_rule(rule), int(budget)
    if measure.equivalence or measure.graded or measure.background or measure.joint:
        raise BadInput(
            "plans know weights, but no equivalence, grades, background or joint information",
            hint="apply the equivalence to records and reference first, or choose among given "
            "candidates",
        )
    records = with_ids(database)
    inventor = disinformation.Inventor(
        reference, records, weights=measure.weights, labels=labels, invent=invent
    )
    resolved = resolve(records, rule).records
    setting = disinformation.describe(
        disinformation.Setting(reference, rule, measure, inventor.weight), resolved, whole_budget
    )
    planner = _Planner(setting, whole_budget)
    floor = disinformation.lower_bound(setting, whole_budget)
    best = planner.draft(())
    method = "knapsack"
    if best.leakage > floor + disinformation.EQUAL:
        best = planner.by_knapsack(best)
    if best.leakage > floor + disinformation.EQUAL:
        if (releases := _all_releases(setting, resolved, whole_budget)) is not None:
            # dominated strangers were dropped above by their mean weights; the enumeration drops
            # none, to be exact
            planner = _Planner(
                disinformation.describe(setting, resolved, None),
                whole_budget,
                examined=planner.examined,
            )
            best = min((best, *map(planner.settle, releases)), key=lambda draft: draft.leakage)
            floor = best.leakage
            method = "enumeration"
        elif len(groupings := list(islice(planner.groupings(), MOST_PLANS + 1))) <= MOST_PLANS:
            best, method = (
                min((best, *map(planner.draft, groupings)), key=lambda draft: draft.leakage),
                "grouping",
            )
    decoys = [
        inventor.add(link, count) for link, count in zip(best.links, best.invented, strict=True)
    ]
    chosen = tuple(
        disinformation.CandidateRecord(f"decoy {number}", decoy, len(decoy))
        for number, decoy in enumerate(decoys, start=1)
    )
    before = measure.most(resolved, reference).leakage
    return disinformation.Disinformation(
        before=before,
        leakage=best.leakage,
        chosen=chosen,
        budget=budget,
        method=method,
        lower_bound=min(floor, best.leakage),
        examined=planner.examined,
        settings={**measure.settings, **Resolve(rule).settings},
    )


def _all_releases(
    setting: disinformation.Setting, clusters: Sequence[Record], budget: int
) -> list[tuple[Record, ...]] | None:
    """All sets of records that can matter, without invented attributes; None if too many.

    A record joins a cluster only if it contains a match key. Beyond keys, only false attributes
    that weigh more than an invented one can be worth a copy. An invented one of equal weight adds
    as much, independent of uncertainty. False attributes are released as certain, which never
    raises the leakage. True ones are released with no more confidence than is known already.
    """
    released_confidence: dict[Attribute, float] = {}
    keys: set[frozenset[Attribute]] = set()
    for record in clusters:
        keys.update(map(frozenset, islice(setting.rule.keys(record), MOST_RECORDS + 1)))
        for attribute, confidence in record.attributes.items():
            is_key_part = (
                attribute.label in setting.rule.labels and confidence >= setting.rule.threshold
            )
            if is_key_part or setting.weight(attribute) > setting.added_weight:
                lowest_confidence = min(confidence, released_confidence.get(attribute, 1.0))
                if attribute in setting.reference.attributes:
                    released_confidence[attribute] = lowest_confidence
                else:
                    released_confidence[attribute] = 1.0
    sizes = range(1, min(budget, len(released_confidence)) + 1)
    if (
        len(keys) > MOST_RECORDS
        or sum(math.comb(len(released_confidence), size) for size in sizes) > MOST_RECORDS
    ):
        return None
    subsets = (
        frozenset(attribute_set)
        for size in sizes
        for attribute_set in combinations(sorted(released_confidence), size)
    )
    useful = [
        Record({a: released_confidence[a] for a in sorted(attribute_set)})
        for attribute_set in subsets
        if any(key <= attribute_set for key in keys)
    ]

    def extend(
        start: int, remaining_budget: int, chosen: tuple[Record, ...]
    ) -> Iterator[tuple[Record, ...]]:
        yield chosen
        for index in range(start, len(useful)):
            if len(useful[index]) > remaining_budget:
                break
            yield from extend(
                index + 1, remaining_budget - len(useful[index]), (*chosen, useful[index])
            )

    releases = list(islice(extend(0, budget, ()), MOST_PLANS + 1))
    if len(releases) <= MOST_PLANS:
        return releases
    return None


class _Planner:
    """Tries groupings of the clusters and spends the rest on invented attributes."""

    def __init__(self, setting: disinformation.Setting, budget: int, *, examined: int = 0) -> None:
        self._setting, self._budget = setting, budget
        self._records = tuple(cluster.record for cluster in setting.clusters)
        linkable = [
            cluster_index
            for cluster_index, cluster in enumerate(setting.clusters)
            if cluster.private is not None
        ]
        self._leaking = [
            cluster_index
            for cluster_index in linkable
            if setting.clusters[cluster_index].leakage > 0
        ]
        self._leaking.sort(key=lambda index: -setting.clusters[index].leakage)
        self._strangers = [
            cluster_index
            for cluster_index in linkable
            if setting.clusters[cluster_index].leakage <= 0
        ]
        self.examined = examined

    def by_knapsack(self, best: _Draft) -> _Draft:
        """Aim at several leakages, serve the clusters in turn, and keep the best plan.

        Each stranger is used once.
        """
        plans = dict.fromkeys(
            self._groups_for_target(float(target))
            for target in np.linspace(best.leakage, 0.0, TARGETS)
        )
        return min(
            (best, *(self.draft(groups) for groups in plans if groups)),
            key=lambda draft: draft.leakage,
        )

    def draft(self, groups: Groups) -> _Draft:
        """Link each group by one record and spend the rest of the budget."""
        return self.settle(
            [
                self._link([self._records[cluster_index] for cluster_index in group])
                for group in groups
            ]
        )

    def _link(self, records: Sequence[Record]) -> Record:
        """The smallest record that matches all of these, with false attributes as certain."""
        link = disinformation.create(records, self._setting.rule)
        return Record(
            {a: 1.0 if self._setting.weight(a) else c for a, c in link.attributes.items()}
        )

    def settle(self, released: Sequence[Record]) -> _Draft:
        """Release these records, then spend the rest of the budget on invented attributes."""
        self.examined += 1
        links = list(released)
        remaining_budget = self._budget - sum(map(len, links))
        if remaining_budget < 0:
            return _Draft(math.inf)
        link_records = [
            Record(link.attributes, f"link {number}") for number, link in enumerate(links)
        ]
        leaking_blocks = [(block, leak) for block, leak in self._blocks(link_records) if leak > 0]
        link_indexes = [
            next((n for n, link in enumerate(link_records) if link.sources <= block.sources), None)
            for block, _ in leaking_blocks
        ]

        def fall(number: int) -> Floats:
            return self._leakage_by_amount(
                *leaking_blocks[number],
                linked=link_indexes[number] is not None,
                remaining_budget=remaining_budget,
            )

        leakage, spent, _ = disinformation.bring_down(
            [leak for _, leak in leaking_blocks], fall, remaining_budget
        )
        invented = [0] * len(links)
        for number, amount in spent.items():
            link_index = link_indexes[number]
            if link_index is not None:
                invented[link_index] += amount
            elif amount:
                links.append(self._link([leaking_blocks[number][0]]))
                invented.append(amount - len(links[-1]))
        return _Draft(leakage, tuple(links), tuple(invented))

    def _blocks(self, links: Sequence[Record]) -> list[tuple[Record, float]]:
        """All records after the links are released, with their leakage.

        Only the clusters that the links can reach are resolved.
        """
        places = self._setting.places
        reached = {
            cluster_index
            for link in links
            for attribute in link.attributes
            for cluster_index in places.get(attribute, ())
        }
        while True:
            near_clusters = {
                n
                for cluster_index in reached
                for a in self._records[cluster_index].attributes
                for n in places[a]
            }
            merged = resolve(
                (
                    *(self._records[cluster_index] for cluster_index in sorted(near_clusters)),
                    *links,
                ),
                self._setting.rule,
            ).records
            sources = all_sources(
                record for record in merged if record.sources & all_sources(links)
            )
            grown = reached | {
                cluster_index
                for cluster_index in near_clusters
                if self._records[cluster_index].sources & sources
            }
            if grown == reached:
                break
            reached = grown
        leaks = self._setting.measure.each(merged, self._setting.reference).tolist()
        rest = [
            (c.record, c.leakage)
            for cluster_index, c in enumerate(self._setting.clusters)
            if cluster_index not in near_clusters
        ]
        return [*zip(merged, leaks, strict=True), *rest]

    def _leakage_by_amount(
        self, block: Record, leak: float, *, linked: bool, remaining_budget: int
    ) -> Floats:
        """The leakage of a block after spending 0, 1, ... on it.

        The linking record comes first, then invented attributes.
        """
        if linked:
            link = Record({})
        else:
            link = self._link([block])
        leakages = np.full(remaining_budget + 1, leak)
        if linked or 0 < len(link) <= remaining_budget:
            count = np.arange(remaining_budget + 1 - len(link), dtype=float)
            leakages[len(link) :] = self._setting.leakages(
                block.merge(link), count * self._setting.added_weight
            )
        return leakages

    def _groups_for_target(self, target: float) -> Groups:
        """Reduce the leaking clusters in turn to the target, with the remaining budget.

        Each uses the strangers that are left.
        """
        clusters = self._setting.clusters
        left = self._budget
        free_strangers = list(self._strangers)
        groups: list[tuple[int, ...]] = []
        for cluster_index in self._leaking:
            cluster = clusters[cluster_index]
            spendable = left - cluster.key
            if cluster.leakage <= target + disinformation.EQUAL or spendable < 0:
                continue
            gains = self._setting.gains(cluster.record)[free_strangers]
            brought, choices = disinformation.most_weight(
                [clusters[other].key for other in free_strangers], gains, spendable
            )
            weight, linked = disinformation.with_additions(brought, self._setting.added_weight)
            reached = np.flatnonzero(
                self._setting.leakages(cluster.record, weight) <= target + disinformation.EQUAL
            )
            if len(reached):
                spend = int(reached[0])
            else:
                spend = spendable
            chosen = [free_strangers[item] for item in choices[int(linked[spend])]]
            left -= cluster.key + spend
            free_strangers = [other for other in free_strangers if other not in set(chosen)]
            if chosen:
                groups.append((cluster_index, *sorted(chosen)))
        return tuple(groups)

    def groupings(self) -> Iterator[Groups]:
        """All partitions of the leaking clusters, with each stranger in one part or in none."""
        clusters = self._setting.clusters
        places = [*self._leaking, *self._strangers]

        def cost(parts: list[list[int]]) -> int:
            return sum(
                clusters[cluster_index].private or 0
                for part in parts
                if len(part) > 1
                for cluster_index in part
            )

        def extend(number: int, parts: list[list[int]]) -> Iterator[Groups]:
            if cost(parts) > self._budget:
                return
            if number == len(places):
                yield tuple(tuple(part) for part in parts if len(part) > 1)
                return
            if number < len(self._leaking):
                single_part = [[places[number]]]
            else:
                single_part = []
            yield from extend(number + 1, [*parts, *single_part])
            for part_index, part in enumerate(parts):
                yield from extend(
                    number + 1,
                    [*parts[:part_index], [*part, places[number]], *parts[part_index + 1 :]],
                )

        return extend(0, [])
