# SPDX-License-Identifier: Apache-2.0
"""A generalized release that has been decided: its plan, what it tells before and after, and how it is measured again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from divulge.count.counting import Request
from divulge.count.counts import count_in_memory
from divulge.engines.choose import OwnEngine
from divulge.generalize.plan import Plan
from divulge.metrics.measurement import Measurement
from divulge.policy import Policy, Verdict
from divulge.policy.chosen import Protected
from divulge.publish.boxes import BOXES, write_boxes
from divulge.publish.manifest import describe_policy, numbers
from divulge.publish.mapping import FOLDER, ORIGINAL, mapping_of, write_mapping, write_original
from divulge.publish.release import Release, ReleasePart, StagedFile, Written
from divulge.publish.shuffle import draw_secret, shuffled
from divulge.publish.verify import Fingerprint, compare, hold
from divulge.table.hierarchy import Hierarchy
from divulge.table.hierarchy_defaults import Suggestion
from divulge.table.hierarchy_files import file_name
from divulge.table.roles import resolve_roles
from divulge.table.table import Table
from divulge.table.texts import as_text
from divulge.tasks.counted import Original, follow


@dataclass(frozen=True, eq=False, kw_only=True)
class GeneralizedRelease(Release):
    """What will be published."""

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
        original = self.original
        roles = resolve_roles(
            table,
            quasi_identifiers=original.roles.quasi_identifiers,
            sensitive=original.roles.sensitive,
            weight=original.roles.weight,
        )
        found = compare(
            count_in_memory(Request(table, roles, "category", original.joint)), self.plan.published(original.rows)
        )
        if original.has_person:
            # The file has exactly the rows that were planned; whose they are is known to the original alone.
            found = self.plan.published(original.people)
        elif original.roles.weight is None:
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
        mappings = {name: mapping_of(self.hierarchies[name], level) for name, level in self.plan.levels.items()}
        boxes = (
            [StagedFile(BOXES, partial(write_boxes, boxes=self.plan.boxes), public=False)] if self.plan.boxes else []
        )
        return [
            *boxes,
            *(
                StagedFile(f"{FOLDER}/{file_name(name)}", partial(write_mapping, mapping=mapping), public=False)
                for name, mapping in mappings.items()
            ),
            StagedFile(ORIGINAL, partial(write_original, counts=masses), public=False),
        ]

    def document(self, measured: Measurement, written: Written) -> dict[str, Any]:
        """What the manifest says."""
        roles = self.original.roles
        chosen = {name: name in self.suggestions for name in self.hierarchies}
        return {
            "kind": "generalized",
            "policy": describe_policy(self.policy),
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
            "before": numbers(self.before),
            "after": numbers(measured),
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
