# SPDX-License-Identifier: Apache-2.0
"""A generalized release that has been decided: its plan, what it tells before and after, and how it is measured again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from divulge import metrics, search
from divulge.belief import Assumptions
from divulge.count import Contingency, Domain, Nulls, Request, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy, Suggestion, file_name
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Protected, Verdict, guard, judge
from divulge.publish import manifest, mapping
from divulge.publish.files import draw_secret, recoded_rows
from divulge.publish.opened import OpenedRelease, needs_publisher
from divulge.publish.release import Release, ReleasePart, StagedFile, Written
from divulge.publish.verify import Fingerprint, compare, hold
from divulge.search import Plan, Recoding
from divulge.table import Roles, Table, resolve_roles, table_of
from divulge.values import as_text

_POPULATION_NOTE = (
    "people of the population count where somebody in the original has the same values: k_map is at least this high"
)


@dataclass(frozen=True, eq=False)
class EarlierReleases:
    """Releases of the same people that are out already: what each says of a person stands in a column beside the original's own."""

    columns: tuple[str, ...] = ()
    """One for each of them; they tell classes apart and are never published."""
    settings: tuple[Mapping[str, Any], ...] = ()
    """Which they are, and how people were found in them."""
    notes: tuple[str, ...] = ()
    kept: object = field(default=None, repr=False)
    """What must not go before this does."""

    def judged(self, roles: Roles) -> Roles:
        """The roles by which classes are counted."""
        return replace(roles, quasi_identifiers=(*roles.quasi_identifiers, *self.columns))

    def kept_back(self, roles: Roles) -> Roles:
        """The roles by which rows are published."""
        return replace(roles, leave_out=(*roles.leave_out, *self.columns))

    def pinned(self, counted: Contingency) -> Contingency:
        """Counts by `judged`, which say which of their columns are never published."""
        return replace(counted, pinned=len(self.columns))

    def told_by(self, measured: Measurement) -> Measurement:
        """A measurement of joint classes, which says so."""
        if not self.columns:
            return measured
        settings = {**measured.settings, "released": [dict(item) for item in self.settings]}
        return replace(measured, settings=settings, notes=(*measured.notes, *self.notes))


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
    released: EarlierReleases = field(default_factory=EarlierReleases)
    """What is out already, in whose classes its people are judged together."""

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
        known = replace(assumptions, original_masses=masses)
        return cls(source, engine, roles, people, known, nulls, joint, released or EarlierReleases())

    def recoded(self, recoding: Recoding) -> str:
        """A query for its rows as they are published."""
        roles = self.released.kept_back(self.roles)
        return recoded_rows(self.source, self.engine, self.people, recoding, roles=roles, nulls=self.nulls)

    def with_person(self, recoding: Recoding) -> Table:
        """The rows as they are published, and whose each is, which is not."""
        roles, person = self.released.kept_back(self.roles), self.roles.person
        if person is not None:
            roles = replace(roles, person=None, identifier=tuple(name for name in roles.identifier if name != person))
        rows = recoded_rows(self.source, self.engine, self.people, recoding, roles=roles, nulls=self.nulls)
        return table_of(self.engine, f"({rows})", source=self.source.source, reading=self.source.reading)

    def measure(self, published: Contingency) -> Measurement:
        """What a release of this table tells, against the prior of the original."""
        table = replace(self.source, source=f"{self.source.source}, generalized")
        found = metrics.measure_counts(published, table, self.roles, assumptions=self.assumptions, nulls=self.nulls)
        found = self.released.told_by(found)
        if self.roles.weight is not None or self.people.population is None:
            return found
        settings = {**found.settings, "population": "table"}
        return replace(found, settings=settings, notes=(*found.notes, _POPULATION_NOTE))

    @cached_property
    def rows(self) -> Contingency:
        """Counts of rows, which is what a file can be held against: it does not say whose a row is."""
        if self.roles.person is None:
            return self.people
        roles = self.released.judged(replace(self.roles, person=None))
        return self.released.pinned(count_in_memory(Request(self.source, roles, self.nulls, self.joint)))


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
    """Columns that are plain or have no role; they are published as they are."""
    alone: guard.Alone | None = None
    """Who is alone in the release with these columns known too."""
    notes: tuple[str, ...] = ()
    original: Original = field(repr=False)
    expected: Fingerprint = field(repr=False)
    """Of the rows that were decided on, in every published column."""
    protected: tuple[Protected, ...] = field(default=(), repr=False)
    """Whom and what the policy protects, in classes of the original."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that the numbers depend on."""
        return self.after.settings

    def explain(self, *, progress: Callable[[int, int], None] | None = None) -> search.Explanation:
        """What each promise costs, which one keeps each column coarse, and what would buy it back.

        Asked of the search on the counts that are there, as often as their number allows, so that large tables get fewer answers that are
        proved; what is not says so.

        Args:
            progress: Called after each question with how many are done and how many there are.
        """
        own = {name: levels for name, levels in self.hierarchies.items() if name not in self.suggestions}
        boxes = partial(
            search.mondrian,
            self.original.people,
            self.policy.promises,
            hierarchies={} if self.plan.method == "columns" else own,
            protections=self.policy.protections,
            beliefs=self.before.beliefs,
            population=self.original.people.population,
        )
        return search.explain(self.plan, boxes=boxes, settings=self.settings, frame=self.frame, progress=progress)

    def values_of(self, domain: Domain) -> dict[str | None, list[str | None]]:
        """Which values of a column of the original each label stands for; empty where it is published as it is."""
        recoding, name = self.plan.recoding, domain.name
        if name not in recoding.columns or recoding.unchanged[recoding.columns.index(name)]:
            return {}
        if self.plan.boxes:
            return mapping.values_by_box(mapping.placed(self.plan.boxes), recoding.columns.index(name), domain)
        return mapping.values_by_label(mapping.mapping_of(self.hierarchies[name], self.plan.levels[name]), domain)

    def parts(self, seed: int | None) -> list[ReleasePart]:
        """The one table, in an order that tells nothing."""
        files = self.engine.files_for(self.plan.published(self.original.rows).rows)
        rows, secret = self.original.recoded(self.plan.recoding), draw_secret(seed)
        return [ReleasePart("table", rows, self.expected, files, self.original.roles.counted, secret)]

    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> MeasuredAgain:
        """Count the published table, compare it with the plan, measure it and hold it against the policy."""
        del engine
        (table,) = tables
        original, asked = self.original, self.original.roles
        roles = resolve_roles(
            table, quasi_identifiers=asked.quasi_identifiers, sensitive=asked.sensitive, weight=asked.weight
        )
        counted = count_in_memory(Request(table, roles, "category", original.joint))
        found = compare(counted, self.plan.published(original.rows).roll_up(asked.quasi_identifiers))
        if asked.person is not None or original.released.columns:
            # The file has exactly the rows that were planned; whose they are is known to the original alone.
            found = self.plan.published(original.people)
        elif asked.weight is None:
            found = replace(found, population=self.plan.published(original.people).population)
        measured = original.measure(found)
        verdict = hold(measured, self.policy, follow(self.protected, self.plan, original.people))
        return MeasuredAgain(
            metrics.measure_counts(
                counted, table, roles, assumptions=Assumptions.guessing(self.original.assumptions.guesses)
            ),
            measured,
            verdict,
        )

    def private_files(self) -> list[StagedFile]:
        """What each value was published as, and how often each sensitive value occurred: later rows are published by them."""
        masses = {
            name: {as_text(label): float(mass) for label, mass in zip(cells.domain.labels, cells.marginal, strict=True)}
            for name, cells in self.original.people.cells.items()
        }
        writers: dict[str, Callable[[Path], None]] = {}
        if (left_out := self._left_out()) is not None:
            writers[mapping.LEFT_OUT] = partial(pq.write_table, left_out)
        if self.plan.boxes:
            writers[mapping.BOXES] = partial(mapping.write_boxes, boxes=self.plan.boxes)
        for name, level in self.plan.levels.items():
            mapped = mapping.mapping_of(self.hierarchies[name], level)
            writers[f"{manifest.FOLDER}/{file_name(name)}"] = partial(mapping.write_mapping, mapping=mapped)
        rules = {
            name: mapping.LaterRule(hierarchy.rule, self.plan.levels.get(name))
            for name, hierarchy in self.hierarchies.items()
            if hierarchy.rule is not None
        }
        writers[mapping.RULES] = partial(mapping.write_rules, rules=rules)
        types = {name: self.source.column(name).type for name in self.original.roles.quasi_identifiers}
        writers[mapping.TYPES] = partial(mapping.write_types, types=types)
        writers[mapping.ORIGINAL] = partial(mapping.write_original, counts=masses)
        return [StagedFile(name, write, public=False) for name, write in writers.items()]

    def _left_out(self) -> pa.Table | None:
        """Who was left out for their classes in what is out already, though others with the same values were not."""
        if not self.original.people.pinned or self.plan.recoding.kept.all():
            return None
        beside = [each["classes_sha256"] for each in self.original.released.settings]
        return mapping.left_out_of(self.original.people, self.plan.recoding, beside)

    @property
    def opened(self) -> OpenedRelease:
        """As it will be once it is written, with its private part."""
        rows = table_of(self.engine, f"({self.original.recoded(self.plan.recoding)})", source="the release")
        types = {column.name: column.type for column in rows.columns}
        document = {"kind": "generalized", "roles": self._told_roles(), "nulls": self.original.nulls}
        private = {"unchanged": self._on_level_0(), "after": {"settings": self.settings}, "files": {}}
        return _Unwritten(Path(), {**document, "table": {"types": types}}, private, self, rows)

    def _told_roles(self) -> dict[str, Any]:
        own = self.original.roles
        return {
            "quasi_identifiers": list(own.quasi_identifiers),
            "sensitive": list(own.sensitive),
            "identifier": list(own.identifier),
            "leave_out": list(own.leave_out),
            "person": own.person,
            "weight": own.weight,
            "plain": list(self.plain),
        }

    def _rows_alone(self) -> dict[str, Any] | None:
        """Rows that are alone with the plain columns known too, as whoever has the table can count them: it does not say whose they are."""
        found, roles = self.alone, self.original.roles
        if found is None:
            return None
        if roles.person is not None:
            rows = table_of(self.engine, f"({self.original.recoded(self.plan.recoding)})", source="the release")
            found = guard.count_alone(rows, replace(roles, person=None), found.columns)
        return {"columns": list(found.columns), "rows": found.people, "of": found.of}

    def document(self, measured: MeasuredAgain, written: Written) -> dict[str, Any]:
        """What everybody is told: what was asked for, and what the published table tells anyhow."""
        roles = self._told_roles()
        background = list(self.original.assumptions.knowledge)
        told = manifest.describe_verdict(measured.verdict)
        promises = {outcome.promise.text: outcome.promise for outcome in measured.verdict.outcomes}
        return {
            "kind": "generalized",
            "policy": manifest.describe_policy(self.policy),
            "roles": roles,
            "method": self.plan.method,
            "nulls": self.original.nulls,
            "unchanged": self._holding_values(),
            "table": written.describe(next(iter(written.types))),
            "rows": measured.alone.rows,
            "row_order": written.row_order,
            "engine": self.engine.name,
            "joint": self.original.joint,
            "background": background,
            **({"guesses": guesses} if (guesses := self.original.assumptions.guesses) else {}),
            "alone": self._rows_alone(),
            "measured": manifest.public_numbers(measured.alone),
            "verdict": public_verdict(told, promises, measured.alone, roles=roles, background=background),
        }

    def private_document(self, measured: MeasuredAgain) -> dict[str, Any]:
        """What the publisher needs later: how it was found, and all that was measured against the original."""
        chosen = {name: name in self.suggestions for name in self.hierarchies}
        return {
            "kind": "generalized",
            "plan": self.plan.describe(),
            "hierarchies": {
                name: {"height": hierarchy.height, "from": "the data" if chosen[name] else "the publisher"}
                for name, hierarchy in self.hierarchies.items()
            },
            "unchanged": self._on_level_0(),
            "rows": {"original": self.before.rows, "published": measured.alone.rows},
            "before": manifest.numbers(self.before),
            "after": manifest.numbers(measured.with_prior),
            "verdict": manifest.describe_verdict(measured.verdict),
        }

    def _on_level_0(self) -> list[str]:
        recoding = self.plan.recoding
        return [name for name, same in zip(recoding.columns, recoding.unchanged, strict=True) if same]

    def _holding_values(self) -> list[str]:
        """Columns whose cells are the values themselves. Looked at in the published rows alone: a level is chosen by those left out too."""
        recoding, people = self.plan.recoding, self.original.people
        found = set(self._on_level_0())
        for name, labels, codes, key, own in zip(
            recoding.columns, recoding.labels, recoding.codes, people.own_keys, people.own_codes, strict=True
        ):
            if key.values.type == pa.string():  # others become text, which their type in the file tells
                pairs = zip(codes[recoding.kept].tolist(), own[recoding.kept].tolist(), strict=True)
                if all(labels[label] == key.labels[value] for label, value in set(pairs)):
                    found.add(name)
        return [name for name in recoding.columns if name in found]


@dataclass(frozen=True)
class MeasuredAgain:
    """What was read back of a release."""

    alone: Measurement
    """By itself, as anybody can who has the published files."""
    with_prior: Measurement
    """Against the original, as the promises were made."""
    verdict: Verdict


def public_verdict(
    told: Sequence[Mapping[str, Any]],
    promises: Mapping[str, Promise],
    alone: Measurement,
    *,
    roles: Mapping[str, Any],
    background: Collection[str],
) -> list[dict[str, Any]]:
    """Each promise, that it held, and its number where the published files show it: then it is worked out from them.

    Which these are follows from what was asked for, never from the data. `promises` are those of the table as a whole, by their texts.
    """

    def by_files(item: Mapping[str, Any]) -> Promise | None:
        promise = None if item["protects"] else promises.get(item["promise"])
        attribute = item["attribute"]
        if (
            attribute is not None and attribute not in alone.beliefs
        ):  # chosen values, which are measured as an attribute of their own
            return None
        if promise is None or needs_publisher(promise, attribute, roles=roles, background=background):
            return None
        return replace(promise, attribute=attribute)

    return [
        {
            **{name: item[name] for name in ("promise", "protects", "attribute", "holds")},
            "shown_by": "publisher" if promise is None else "files",
            "value": None if promise is None else judge(alone, [promise]).outcomes[0].value,
        }
        for item, promise in ((item, by_files(item)) for item in told)
    ]


@dataclass(frozen=True)
class _Unwritten(OpenedRelease):
    """A release that is in memory, with what its private part will say."""

    release: GeneralizedRelease
    rows: Table

    @cached_property
    def mappings(self) -> dict[str, mapping.Mapped]:
        own = self.release
        return {name: mapping.mapping_of(own.hierarchies[name], level) for name, level in own.plan.levels.items()}

    @cached_property
    def boxes(self) -> tuple[mapping.Placed, ...]:
        return tuple(mapping.placed(self.release.plan.boxes)) if self.release.plan.boxes else ()

    @cached_property
    def left_out(self) -> pa.Table | None:
        return self.release._left_out()  # noqa: SLF001 - what it will write

    def read(self, engine: OwnEngine) -> Table:
        del engine
        return self.rows
