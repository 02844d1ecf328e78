# SPDX-License-Identifier: Apache-2.0
"""A generalized release: its plan, its measurements before and after, and its verification."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from divulge import generalization, metrics
from divulge.adversary import Assumptions
from divulge.counting import Contingency, Domain, Nulls, Request, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.generalization import Plan, Recoding
from divulge.hierarchies import Hierarchy, Suggestion, file_name
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Protected, Verdict, guard, judge
from divulge.releases import manifest, mapping
from divulge.releases.formats import draw_secret, recoded_rows
from divulge.releases.open import OpenedRelease, needs_publisher
from divulge.releases.release import Release, ReleasePart, StagedFile, Written
from divulge.releases.verification import Fingerprint, compare, hold
from divulge.sources import Roles, Table, resolve_roles, table_of
from divulge.text import as_text

_POPULATION_NOTE = (
    "people of the population count where somebody in the original has the same values: k_map is "
    "at least this high"
)


@dataclass(frozen=True, eq=False)
class EarlierReleases:
    """Prior releases of the same people, each as a column that is added to the original table.

    The column holds the class of each person in that prior release.
    """

    columns: tuple[str, ...] = ()
    """One column for each prior release; they split classes and are never published."""
    settings: tuple[Mapping[str, Any], ...] = ()
    """The prior releases, and how people were matched with them."""
    notes: tuple[str, ...] = ()
    kept: object = field(default=None, repr=False)
    """Objects that must stay alive as long as this one."""

    def roles_with_priors(self, roles: Roles) -> Roles:
        """Return the roles for counting joint classes: prior classes are quasi-identifiers too."""
        return replace(roles, quasi_identifiers=(*roles.quasi_identifiers, *self.columns))

    def kept_back(self, roles: Roles) -> Roles:
        """Return the roles for publishing rows, without the prior-release columns."""
        return replace(roles, leave_out=(*roles.leave_out, *self.columns))

    def pinned(self, contingency: Contingency) -> Contingency:
        """Mark the prior-release columns of counts by joint classes as never published."""
        return replace(contingency, pinned=len(self.columns))

    def add_settings_to(self, measurement: Measurement) -> Measurement:
        """Add the prior releases to the settings and notes of a measurement of joint classes."""
        if not self.columns:
            return measurement
        settings = {**measurement.settings, "released": [dict(item) for item in self.settings]}
        return replace(measurement, settings=settings, notes=(*measurement.notes, *self.notes))


@dataclass(frozen=True, eq=False)
class Original:
    """The original table with its counts, and the settings for measuring its releases."""

    source: Table
    engine: OwnEngine
    """Engine that holds the table and writes its releases."""
    roles: Roles
    people: Contingency
    """Counts of people; the search uses these."""
    assumptions: Assumptions
    nulls: Nulls
    joint: bool
    released: EarlierReleases = field(default_factory=EarlierReleases)
    """Prior releases with which its people are measured in joint classes."""

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
        released: EarlierReleases | None = None,
    ) -> Original:
        """Build it from the measured original.

        Raises an error if the rows of a person are in several classes: such people cannot be
        counted once classes merge.
        """
        people = before.contingency
        memberships = int(people.sizes.sum())
        if memberships != people.people:
            raise BadInput(
                f"the rows of a person differ in the quasi-identifiers: {people.people:,} people "
                f"stand in {memberships:,} places, "
                "and who is hidden among whom cannot be counted when classes merge",
                hint="Reduce the table to one row per person, or make the quasi-identifiers the "
                "same in all rows of a person; "
                f"if {roles.person!r} does not name people, remove its role",
            )
        masses = {name: cells.marginal for name, cells in people.cells.items()}
        # Weights are counted again for every release; a population table is not.
        if roles.weight is None:
            population = before.identity_view.population
        else:
            population = people.population
        # With one class for each person, people add up like rows.
        people = replace(
            people, person_entropy=None, unique_people=None, population=population, notes=()
        )
        if roles.person is None:
            owners = None
        else:
            owners = float(memberships)
        prior_assumptions = replace(assumptions, original_masses=masses, original_people=owners)
        return cls(
            source,
            engine,
            roles,
            people,
            prior_assumptions,
            nulls,
            joint,
            released or EarlierReleases(),
        )

    def recoded(self, recoding: Recoding) -> str:
        """SQL query for the rows as they are published."""
        roles = self.released.kept_back(self.roles)
        return recoded_rows(
            self.source, self.engine, self.people, recoding, roles=roles, nulls=self.nulls
        )

    def with_person(self, recoding: Recoding) -> Table:
        """The rows as they are published, with the person column, which is not published."""
        roles = self.released.kept_back(self.roles)
        person = self.roles.person
        if person is not None:
            roles = replace(
                roles,
                person=None,
                identifier=tuple(name for name in roles.identifier if name != person),
            )
        rows = recoded_rows(
            self.source, self.engine, self.people, recoding, roles=roles, nulls=self.nulls
        )
        return table_of(
            self.engine, f"({rows})", source=self.source.source, reading=self.source.reading
        )

    def measure(self, published: Contingency) -> Measurement:
        """Measure a release of this table against the prior of the original."""
        table = replace(self.source, source=f"{self.source.source}, generalized")
        measurement = metrics.measure_counts(
            published, table, self.roles, assumptions=self.assumptions, nulls=self.nulls
        )
        measurement = self.released.add_settings_to(measurement)
        if self.roles.weight is not None or self.people.population is None:
            return measurement
        settings = {**measurement.settings, "population": "table"}
        return replace(measurement, settings=settings, notes=(*measurement.notes, _POPULATION_NOTE))

    @cached_property
    def rows(self) -> Contingency:
        """Counts of rows, which a published file can be compared with: it has no person column."""
        if self.roles.person is None:
            return self.people
        roles = self.released.roles_with_priors(replace(self.roles, person=None))
        return self.released.pinned(
            count_in_memory(Request(self.source, roles, self.nulls, self.joint))
        )


def follow(
    protected: Sequence[Protected], plan: Plan, people: Contingency
) -> tuple[Protected, ...]:
    """Translate protections into classes of the release.

    Only the original shows which people are protected.
    """
    release_protections = (
        item if item.only is None else replace(item, only=plan.holding(people, item.only))
        for item in protected
    )
    return tuple(release_protections)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GeneralizedRelease(Release):
    """A generalized release that has been planned and can be written."""

    view = "releases"

    before: Measurement
    after: Measurement
    verdict: Verdict
    plan: Plan
    policy: Policy
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    suggestions: Mapping[str, Suggestion]
    """Hierarchies that were derived from the data because none was passed."""
    plain: tuple[str, ...]
    """Columns that are insensitive or have no role; they are published unchanged."""
    uniqueness: guard.uniqueness.Uniqueness
    """Number of people who are unique in the release by all published columns."""
    notes: tuple[str, ...] = ()
    original: Original = field(repr=False)
    expected: Fingerprint = field(repr=False)
    """Fingerprint of the planned rows, over all published columns."""
    protected: tuple[Protected, ...] = field(default=(), repr=False)
    """People and values that the policy protects, in classes of the original."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings on which the numbers depend."""
        return self.after.settings

    def explain(
        self, *, progress: Callable[[int, int], None] | None = None
    ) -> generalization.Explanation:
        """Explain the cost of each requirement, what limits each column, and what would improve it.

        Runs further searches on the existing counts, as many as their number allows. Large tables
        therefore get fewer proved answers; an answer that is not proved is marked as such.

        Args:
            progress: Called after each search with the number of searches done and their total.
        """
        given_hierarchies = {
            name: levels
            for name, levels in self.hierarchies.items()
            if name not in self.suggestions
        }
        boxes = partial(
            generalization.mondrian,
            self.original.people,
            self.policy.promises,
            hierarchies={} if self.plan.method == "columns" else given_hierarchies,
            protections=self.policy.protections,
            beliefs=self.before.beliefs,
            population=self.original.people.population,
        )
        return generalization.explain(
            self.plan, boxes=boxes, settings=self.settings, frame=self.frame, progress=progress
        )

    def values_of(self, domain: Domain) -> dict[str | None, list[str | None]]:
        """Return the values of a column of the original by the label that covers them.

        Empty if the column is published unchanged.
        """
        recoding = self.plan.recoding
        name = domain.name
        if name not in recoding.columns or recoding.unchanged[recoding.columns.index(name)]:
            return {}
        if self.plan.boxes:
            return mapping.values_by_box(
                mapping.box_records(self.plan.boxes), recoding.columns.index(name), domain
            )
        return mapping.values_by_label(
            mapping.mapping_of(self.hierarchies[name], self.plan.levels[name]), domain
        )

    def parts(self, seed: int | None) -> list[ReleasePart]:
        """The one table, with its rows in an order that reveals nothing."""
        files = self.engine.files_for(self.plan.published(self.original.rows).rows)
        rows = self.original.recoded(self.plan.recoding)
        secret = draw_secret(seed)
        return [
            ReleasePart(
                "table", rows, self.expected, files, self.original.roles.counted_columns, secret
            )
        ]

    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> StagedMeasurements:
        """Count the published table, compare it with the plan, measure it and check the policy."""
        del engine
        (table,) = tables
        original = self.original
        original_roles = self.original.roles
        roles = resolve_roles(
            table,
            quasi_identifiers=original_roles.quasi_identifiers,
            sensitive=original_roles.sensitive,
            weight=original_roles.weight,
        )
        contingency = count_in_memory(Request(table, roles, "category", original.joint))
        counts = compare(
            contingency,
            self.plan.published(original.rows).roll_up(original_roles.quasi_identifiers),
        )
        if original_roles.person is not None or original.released.columns:
            # The file has exactly the planned rows; only the original names the person of each.
            counts = self.plan.published(original.people)
        elif original_roles.weight is None:
            counts = replace(counts, population=self.plan.published(original.people).population)
        measured = original.measure(counts)
        verdict = hold(measured, self.policy, follow(self.protected, self.plan, original.people))
        return StagedMeasurements(
            metrics.measure_counts(
                contingency,
                table,
                roles,
                assumptions=Assumptions.guessing(self.original.assumptions.guesses),
            ),
            measured,
            verdict,
        )

    def private_files(self) -> list[StagedFile]:
        """Private files for later rows: the mappings and the frequencies of sensitive values."""
        masses = {
            name: {
                as_text(label): float(mass)
                for label, mass in zip(cells.domain.labels, cells.marginal, strict=True)
            }
            for name, cells in self.original.people.cells.items()
        }
        writers: dict[str, Callable[[Path], None]] = {}
        if (left_out := self._left_out()) is not None:
            writers[mapping.LEFT_OUT] = partial(pq.write_table, left_out)
        if self.plan.boxes:
            writers[mapping.BOXES] = partial(mapping.write_boxes, boxes=self.plan.boxes)
        for name, level in self.plan.levels.items():
            label_mapping = mapping.mapping_of(self.hierarchies[name], level)
            writers[f"{manifest.FOLDER}/{file_name(name)}"] = partial(
                mapping.write_mapping, mapping=label_mapping
            )
        rules = {
            name: mapping.GeneralizationRule(hierarchy.rule, self.plan.levels.get(name))
            for name, hierarchy in self.hierarchies.items()
            if hierarchy.rule is not None
        }
        writers[mapping.RULES] = partial(mapping.write_rules, rules=rules)
        types = {
            name: self.source.column(name).type for name in self.original.roles.quasi_identifiers
        }
        writers[mapping.TYPES] = partial(mapping.write_types, types=types)
        writers[mapping.ORIGINAL] = partial(mapping.write_original, counts=masses)
        return [StagedFile(name, write, public=False) for name, write in writers.items()]

    def _left_out(self) -> pa.Table | None:
        """People suppressed although others with the same values are published; None if nobody.

        Their classes in prior releases are the reason.
        """
        if not self.original.people.pinned or self.plan.recoding.published_mask.all():
            return None
        class_hashes = [
            release_settings["classes_sha256"]
            for release_settings in self.original.released.settings
        ]
        return mapping.suppressed_classes_table(
            self.original.people, self.plan.recoding, class_hashes
        )

    @property
    def opened(self) -> OpenedRelease:
        """The release as it will be once it is written, with its private part."""
        rows = table_of(
            self.engine, f"({self.original.recoded(self.plan.recoding)})", source="the release"
        )
        types = {column.name: column.type for column in rows.columns}
        document = {
            "kind": "generalized",
            "roles": self._roles_document(),
            "nulls": self.original.nulls,
        }
        private = {
            "unchanged": self._unchanged_columns(),
            "after": {"settings": self.settings},
            "files": {},
        }
        return _UnwrittenRelease(
            Path(), {**document, "table": {"types": types}}, private, release=self, rows=rows
        )

    def _roles_document(self) -> dict[str, Any]:
        roles = self.original.roles
        return {
            "quasi_identifiers": list(roles.quasi_identifiers),
            "sensitive": list(roles.sensitive),
            "identifier": list(roles.identifier),
            "leave_out": list(roles.leave_out),
            "person": roles.person,
            "weight": roles.weight,
            "plain": list(self.plain),
        }

    def _unique_rows(self) -> dict[str, Any]:
        """Count unique rows as anyone with the published table can.

        The table does not show which rows belong to one person.
        """
        uniqueness = self.uniqueness
        if self.original.roles.person is not None:
            rows = table_of(
                self.engine, f"({self.original.recoded(self.plan.recoding)})", source="the release"
            )
            roles = replace(self.original.roles, person=None, identifier=(), leave_out=())
            uniqueness = guard.uniqueness.measure_uniqueness(rows, roles, unit="rows")
        return {
            "columns": list(uniqueness.columns),
            "unique_by_quasi_identifiers": uniqueness.by_quasi_identifiers,
            "unique": uniqueness.unique,
            "unique_with_sensitive": uniqueness.with_sensitive,
            "of": uniqueness.of,
        }

    def document(self, measured: StagedMeasurements, written: Written) -> dict[str, Any]:
        """Public manifest: what was requested, and numbers that follow from the published table."""
        roles = self._roles_document()
        background = list(self.original.assumptions.knowledge)
        outcomes = manifest.describe_verdict(measured.verdict)
        promises = {outcome.promise.text: outcome.promise for outcome in measured.verdict.outcomes}
        return {
            "kind": "generalized",
            "policy": manifest.describe_policy(self.policy),
            "roles": roles,
            "method": self.plan.method,
            "nulls": self.original.nulls,
            "unchanged": self._columns_with_original_values(),
            "table": written.describe(next(iter(written.types))),
            "rows": measured.published_files.rows,
            "row_order": written.row_order,
            "engine": self.engine.name,
            "joint": self.original.joint,
            "background": background,
            **({"guesses": guesses} if (guesses := self.original.assumptions.guesses) else {}),
            "unique_rows": self._unique_rows(),
            "measured": manifest.public_numbers(measured.published_files),
            "verdict": public_verdict(
                outcomes, promises, measured.published_files, roles=roles, background=background
            ),
        }

    def private_document(self, measured: StagedMeasurements) -> dict[str, Any]:
        """Private manifest: the plan, and all measurements against the original."""
        is_suggested = {name: name in self.suggestions for name in self.hierarchies}
        return {
            "kind": "generalized",
            "plan": self.plan.describe(),
            "hierarchies": {
                name: {
                    "height": hierarchy.height,
                    "from": "the data" if is_suggested[name] else "the publisher",
                }
                for name, hierarchy in self.hierarchies.items()
            },
            "unchanged": self._unchanged_columns(),
            "rows": {"original": self.before.rows, "published": measured.published_files.rows},
            "before": manifest.numbers(self.before),
            "after": manifest.numbers(measured.against_original),
            "verdict": manifest.describe_verdict(measured.verdict),
        }

    def _unchanged_columns(self) -> list[str]:
        recoding = self.plan.recoding
        return [
            name for name, same in zip(recoding.columns, recoding.unchanged, strict=True) if same
        ]

    def _columns_with_original_values(self) -> list[str]:
        """Columns whose published cells are the original values.

        Only published rows are examined, because suppressed rows also affect the choice of a level.
        """
        recoding = self.plan.recoding
        people = self.original.people
        columns_with_values = set(self._unchanged_columns())
        for name, labels, codes, key, value_codes in zip(
            recoding.columns,
            recoding.labels,
            recoding.codes,
            people.own_keys,
            people.own_codes,
            strict=True,
        ):
            # columns of other types become text, as their type in the file shows
            if key.values.type == pa.string():
                pairs = zip(
                    codes[recoding.published_mask].tolist(),
                    value_codes[recoding.published_mask].tolist(),
                    strict=True,
                )
                if all(labels[label] == key.labels[value] for label, value in set(pairs)):
                    columns_with_values.add(name)
        return [name for name in recoding.columns if name in columns_with_values]


@dataclass(frozen=True)
class StagedMeasurements:
    """Measurements of a release that was read back."""

    published_files: Measurement
    """The release by itself, as anyone with the published files can measure it."""
    against_original: Measurement
    """The release against the prior of the original, on which the requirements are defined."""
    verdict: Verdict


def public_verdict(
    outcomes: Sequence[Mapping[str, Any]],
    promises: Mapping[str, Promise],
    measurement: Measurement,
    *,
    roles: Mapping[str, Any],
    background: Collection[str],
) -> list[dict[str, Any]]:
    """List each requirement, whether it is met, and its value if the published files prove it.

    Which requirements the files prove follows from the request, never from the data. `promises` are
    the requirements on the whole table, by their texts.
    """

    def requirement_proved_by_files(item: Mapping[str, Any]) -> Promise | None:
        if item["protects"]:
            promise = None
        else:
            promise = promises.get(item["promise"])
        attribute = item["attribute"]
        if (
            attribute is not None and attribute not in measurement.beliefs
        ):  # protected values, which are measured as a separate attribute
            return None
        if promise is None or needs_publisher(
            promise, attribute, roles=roles, background=background
        ):
            return None
        return replace(promise, attribute=attribute)

    return [
        {
            **{name: item[name] for name in ("promise", "protects", "attribute", "holds")},
            "shown_by": "publisher" if promise is None else "files",
            "value": None if promise is None else judge(measurement, [promise]).outcomes[0].value,
        }
        for item, promise in ((item, requirement_proved_by_files(item)) for item in outcomes)
    ]


@dataclass(frozen=True)
class _UnwrittenRelease(OpenedRelease):
    """A release in memory, with the contents of its future private part."""

    release: GeneralizedRelease = field(kw_only=True)
    rows: Table = field(kw_only=True)

    @cached_property
    def mappings(self) -> dict[str, mapping.LabelMapping]:
        release = self.release
        return {
            name: mapping.mapping_of(release.hierarchies[name], level)
            for name, level in release.plan.levels.items()
        }

    @cached_property
    def boxes(self) -> tuple[mapping.BoxRecord, ...]:
        if self.release.plan.boxes:
            return tuple(mapping.box_records(self.release.plan.boxes))
        return ()

    @cached_property
    def left_out(self) -> pa.Table | None:
        return self.release._left_out()  # noqa: SLF001 - the table that it will write

    def read(self, engine: OwnEngine) -> Table:
        del engine
        return self.rows
