# SPDX-License-Identifier: Apache-2.0
"""A generalized release that has been decided: its plan, what it tells before and after, and how it is measured again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from divulge import metrics
from divulge.belief import Assumptions
from divulge.count import Contingency, Nulls, Request, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy, Suggestion, file_name
from divulge.metrics import Measurement
from divulge.policy import Policy, Protected, Verdict
from divulge.publish import manifest
from divulge.publish.files import draw_secret, recoded_rows, shuffled
from divulge.publish.release import Release, ReleasePart, StagedFile, Written
from divulge.publish.verify import Fingerprint, compare, hold
from divulge.search import Plan, Recoding
from divulge.table import Roles, Table, resolve_roles
from divulge.values import as_text

_POPULATION_NOTE = (
    "people of the population count where somebody in the original has the same values: k_map is at least this high"
)


@dataclass(frozen=True, eq=False)
class Original:
    """The original table, counted, and everything that a measurement of its releases depends on."""

    source: Table
    engine: OwnEngine
    """Where it lies, and where its releases are written."""
    roles: Roles
    people: Contingency
    """Counts of people; the search works on these."""
    assumptions: Assumptions
    nulls: Nulls
    joint: bool

    @classmethod
    def of(
        cls,
        before: Measurement,
        source: Table,
        roles: Roles,
        *,
        engine: OwnEngine,
        assumptions: Assumptions,
        nulls: Nulls,
        joint: bool,
    ) -> Original:
        """From the measured original; people whose rows lie in several classes cannot be followed while classes merge."""
        people = before.contingency
        memberships = int(people.sizes.sum())
        if memberships != people.people:
            raise BadInput(
                f"the rows of a person differ in the quasi-identifiers: {people.people:,} people stand in {memberships:,} places, "
                "and who is hidden among whom cannot be counted when classes merge",
                hint="Reduce the table to one row per person, or make the quasi-identifiers the same in all rows of a person",
            )
        masses = {name: cells.marginal for name, cells in people.cells.items()}
        # Weights are counted again with every release, a population table is not.
        population = before.identity_view.population if roles.weight is None else people.population
        # With one class for each person, people add up like rows.
        people = replace(people, person_entropy=None, population=population, notes=())
        return cls(source, engine, roles, people, replace(assumptions, original_masses=masses), nulls, joint)

    def recoded(self, recoding: Recoding) -> str:
        """A query for its rows as they are published."""
        return recoded_rows(self.source, self.engine, self.people, recoding, roles=self.roles, nulls=self.nulls)

    def measure(self, published: Contingency) -> Measurement:
        """What a release of this table tells, against the prior of the original."""
        table = replace(self.source, source=f"{self.source.source}, generalized")
        found = metrics.measure_counts(published, table, self.roles, assumptions=self.assumptions, nulls=self.nulls)
        if self.roles.weight is not None or self.people.population is None:
            return found
        settings = {**found.settings, "population": "table"}
        return replace(found, settings=settings, notes=(*found.notes, _POPULATION_NOTE))

    @cached_property
    def rows(self) -> Contingency:
        """Counts of rows, which is what a file can be held against: it does not say whose a row is."""
        if self.roles.person is None:
            return self.people
        return count_in_memory(Request(self.source, replace(self.roles, person=None), self.nulls, self.joint))


def follow(protected: Sequence[Protected], plan: Plan, people: Contingency) -> tuple[Protected, ...]:
    """The same protections in classes of the release: who is chosen is known to the original alone."""
    chosen = (item if item.only is None else replace(item, only=plan.holding(people, item.only)) for item in protected)
    return tuple(chosen)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GeneralizedRelease(Release):
    """What will be published."""

    view = "releases"

    before: Measurement
    after: Measurement
    verdict: Verdict
    plan: Plan
    policy: Policy
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    suggestions: Mapping[str, Suggestion]
    """The hierarchies that were chosen from the data, because none was given."""
    plain: tuple[str, ...]
    """Columns without a role; they are published as they are."""
    original: Original = field(repr=False)
    expected: Fingerprint = field(repr=False)
    """Of the rows that were decided on, in every published column."""
    protected: tuple[Protected, ...] = field(default=(), repr=False)
    """Whom and what the policy protects, in classes of the original."""

    def parts(self, seed: int | None) -> list[ReleasePart]:
        """The one table, in an order that tells nothing."""
        files = self.engine.files_for(self.plan.published(self.original.rows).rows)
        query = shuffled(self.engine, self.original.recoded(self.plan.recoding), secret=draw_secret(seed), files=files)
        return [ReleasePart("table", query, self.expected, files=files, counted=self.original.roles.counted)]

    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> Measurement:
        """Count the published table, compare it with the plan, measure it and hold it against the policy."""
        del engine
        (table,) = tables
        original, asked = self.original, self.original.roles
        roles = resolve_roles(
            table, quasi_identifiers=asked.quasi_identifiers, sensitive=asked.sensitive, weight=asked.weight
        )
        counted = count_in_memory(Request(table, roles, "category", original.joint))
        found = compare(counted, self.plan.published(original.rows))
        if asked.person is not None:
            # The file has exactly the rows that were planned; whose they are is known to the original alone.
            found = self.plan.published(original.people)
        elif asked.weight is None:
            found = replace(found, population=self.plan.published(original.people).population)
        measured = original.measure(found)
        hold(measured, self.policy, follow(self.protected, self.plan, original.people))
        return measured

    def private_files(self) -> list[StagedFile]:
        """What each value was published as, and how often each sensitive value occurred: later rows are published by them."""
        masses = {
            name: {as_text(label): float(mass) for label, mass in zip(cells.domain.labels, cells.marginal, strict=True)}
            for name, cells in self.original.people.cells.items()
        }
        writers: dict[str, Callable[[Path], None]] = {}
        if self.plan.boxes:
            writers[manifest.BOXES] = partial(manifest.write_boxes, boxes=self.plan.boxes)
        for name, level in self.plan.levels.items():
            mapping = manifest.mapping_of(self.hierarchies[name], level)
            writers[f"{manifest.FOLDER}/{file_name(name)}"] = partial(manifest.write_mapping, mapping=mapping)
        types = {name: self.source.column(name).type for name in self.original.roles.quasi_identifiers}
        writers[manifest.TYPES] = partial(manifest.write_types, types=types)
        writers[manifest.ORIGINAL] = partial(manifest.write_original, counts=masses)
        return [StagedFile(name, write, public=False) for name, write in writers.items()]

    def document(self, measured: Measurement, written: Written) -> dict[str, Any]:
        """What the manifest says."""
        roles = self.original.roles
        chosen = {name: name in self.suggestions for name in self.hierarchies}
        return {
            "kind": "generalized",
            "policy": manifest.describe_policy(self.policy),
            "roles": {
                "quasi_identifiers": list(roles.quasi_identifiers),
                "sensitive": list(roles.sensitive),
                "identifier": list(roles.identifier),
                "person": roles.person,
                "weight": roles.weight,
                "plain": list(self.plain),
            },
            "plan": self.plan.describe(),
            "unchanged": [
                name
                for name, same in zip(self.plan.recoding.columns, self.plan.recoding.unchanged, strict=True)
                if same
            ],
            "hierarchies": {
                name: {"height": hierarchy.height, "from": "the data" if chosen[name] else "the publisher"}
                for name, hierarchy in self.hierarchies.items()
            },
            "table": written.describe(next(iter(written.types))),
            "rows": {"original": self.before.rows, "published": self.plan.published(self.original.rows).rows},
            "row_order": written.row_order,
            "engine": self.engine.name,
            "joint": self.original.joint,
            "background": list(self.original.assumptions.knowledge),
            "before": manifest.numbers(self.before),
            "after": manifest.numbers(measured),
            "verdict": [
                {
                    "promise": outcome.promise.text,
                    "protects": outcome.protects,
                    "attribute": outcome.attribute,
                    # The number could tell that the chosen people were there, and were all left out.
                    "value": None if outcome.protects else outcome.value,
                    "holds": outcome.holds,
                }
                for outcome in self.verdict.outcomes
            ],
        }
