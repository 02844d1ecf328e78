# SPDX-License-Identifier: Apache-2.0
"""A release that has been decided: its plan, what it tells before and after, and how it is written and verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from divulge.count.counting import Request
from divulge.count.counts import count_in_memory
from divulge.engines.choose import OwnEngine
from divulge.engines.duckdb import DuckDBEngine
from divulge.engines.spark import SparkEngine
from divulge.errors import DivulgeError
from divulge.generalize.plan import Plan
from divulge.metrics.measurement import Measurement, as_frame
from divulge.policy import Policy, Verdict
from divulge.policy.chosen import Protected
from divulge.publish.boxes import BOXES, write_boxes
from divulge.publish.formats import Format, choose_format, read_rows, write_rows
from divulge.publish.manifest import describe_policy, numbers
from divulge.publish.mapping import FOLDER, ORIGINAL, mapping_of, write_mapping, write_original
from divulge.publish.parts import part_count, reader_for, without_notes
from divulge.publish.recoded import published_columns, recoded_rows
from divulge.publish.release import Part, publish
from divulge.publish.shuffle import draw_secret, shuffled
from divulge.publish.verify import Unverified, compare, hold
from divulge.table.hierarchy import Hierarchy
from divulge.table.hierarchy_defaults import Suggestion
from divulge.table.hierarchy_files import file_name
from divulge.table.roles import resolve_roles
from divulge.table.table import Table, table_of
from divulge.table.texts import as_text
from divulge.tasks.counted import Counted, follow


@dataclass(frozen=True, eq=False)
class Release:
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
    counted: Counted = field(repr=False)
    protected: tuple[Protected, ...] = field(default=(), repr=False)
    """Whom and what the policy protects, in classes of the original."""

    def write(
        self, out: str | Path, *, force: bool = False, file_format: str | None = None, seed: int | None = None
    ) -> Path:
        """Write the release to a new folder: table, manifest.json and mapping/; verified before it appears there.

        The table has the source's format (CSV, Parquet, Arrow; else Parquet), or the one named by `file_format`. `seed` fixes the order
        of the rows, for tests. A folder that holds a release is replaced with `force`. Of a table on Spark the workers write a folder
        of Parquet or CSV files; `out` must then be on storage that they share with this process.
        """
        form = choose_format(self.counted.source, file_format)
        rows = self._rows()
        name = f"table{form.ending}"
        types = self._types(rows)
        query = self._shuffled(rows, seed)
        parts = [
            Part(name, lambda path: write_rows(self.counted.engine, query, path, form=form, parts=self._parts)),
            *self._mapping_parts(),
        ]

        def verify(folder: Path) -> dict[str, Any]:
            fresh = reader_for(self.counted.engine, folder / name)
            measured = self._read_back(fresh, folder / name, form, types)
            return self._document(measured, form.describe(name, types, reader=fresh), seed_given=seed is not None)

        return publish(out, parts, verify=verify, force=force)

    def table(self, *, seed: int | None = None) -> Any:
        """The published rows as a frame of the kind that was handed in (Arrow for a file), counted and checked like a file.

        What was read with Spark from a file, a catalog or a Spark frame becomes a Spark frame.
        """
        if isinstance(self.counted.engine, SparkEngine):
            return self._spark_frame(self.counted.engine, seed)
        rows = self.counted.engine.query(self._shuffled(self._rows(), seed)).replace_schema_metadata(None)
        fresh = DuckDBEngine()
        try:
            relation = fresh.register(fresh.fresh_name("released"), rows)
            self._verify(table_of(fresh, relation, source="the released table"))
        finally:
            fresh.close()
        return as_frame(rows, self.counted.source.frame)

    def _spark_frame(self, engine: SparkEngine, seed: int | None) -> Any:
        with engine.explained("make the released table"):
            # Cut off from the source, so that what is used later is what was verified.
            rows = without_notes(engine.frame(self._shuffled(self._rows(), seed))).localCheckpoint()
        fresh = SparkEngine(engine.session, search_limit=engine.search_limit)
        try:
            self._verify(table_of(fresh, fresh.view(rows), source="the released table"))
        finally:
            fresh.close()
        kind = self.counted.source.frame
        return rows if kind == "none" else as_frame(rows.toArrow(), kind)

    def _rows(self) -> str:
        counted = self.counted
        return recoded_rows(
            counted.source, counted.engine, counted.people, self.plan.recoding, roles=counted.roles, nulls=counted.nulls
        )

    @property
    def _parts(self) -> int:
        return part_count(self.counted.engine, self.plan.published(self.counted.rows).rows)

    def _shuffled(self, rows: str, seed: int | None) -> str:
        columns = published_columns(self.counted.source, self.counted.roles)
        return shuffled(self.counted.engine, rows, columns, secret=draw_secret(seed), parts=self._parts)

    def _types(self, rows: str) -> dict[str, str]:
        """The types to read the published columns with; those that are not counted are taken as text."""
        roles = self.counted.roles
        counted = {*roles.quasi_identifiers, *roles.sensitive, roles.weight}
        described = self.counted.engine.describe(f"({rows})")
        return {name: type_ if name in counted else "VARCHAR" for name, type_ in described}

    def _read_back(self, fresh: OwnEngine, path: Path, form: Format, types: Mapping[str, str]) -> Measurement:
        """Measure a staged file with an engine that has not seen the original."""
        try:
            return self._verify(read_rows(fresh, path, form=form, types=types))
        except Unverified:
            raise
        except DivulgeError as error:
            raise Unverified(
                f"the staged table cannot be read back: {error.message}", hint="Nothing was published"
            ) from error
        finally:
            fresh.close()

    def _verify(self, table: Table) -> Measurement:
        """Count a published table, compare it with the plan, measure it and hold it against the policy."""
        counted = self.counted
        roles = resolve_roles(
            table,
            quasi_identifiers=counted.roles.quasi_identifiers,
            sensitive=counted.roles.sensitive,
            weight=counted.roles.weight,
        )
        found = compare(
            count_in_memory(Request(table, roles, "category", counted.joint)), self.plan.published(counted.rows)
        )
        if counted.has_person:
            # The file has exactly the rows that were planned; whose they are is known to the original alone.
            found = self.plan.published(counted.people)
        elif counted.roles.weight is None:
            found = replace(found, population=self.plan.published(counted.people).population)
        measured = counted.measure(found)
        hold(measured, self.policy, follow(self.protected, self.plan, counted.people))
        return measured

    def _mapping_parts(self) -> list[Part]:
        masses = {
            name: {as_text(label): float(mass) for label, mass in zip(cells.domain.labels, cells.marginal, strict=True)}
            for name, cells in self.counted.people.cells.items()
        }
        mappings = {name: mapping_of(self.hierarchies[name], level) for name, level in self.plan.levels.items()}
        boxes = [Part(BOXES, partial(write_boxes, boxes=self.plan.boxes), public=False)] if self.plan.boxes else []
        return [
            *boxes,
            *(
                Part(f"{FOLDER}/{file_name(name)}", partial(write_mapping, mapping=mapping), public=False)
                for name, mapping in mappings.items()
            ),
            Part(ORIGINAL, partial(write_original, counts=masses), public=False),
        ]

    def _document(self, measured: Measurement, table: Mapping[str, Any], *, seed_given: bool) -> dict[str, Any]:
        """What the manifest says."""
        roles, source = self.counted.roles, self.counted.source
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
            "table": dict(table),
            "rows": {"original": self.before.rows, "published": self.plan.published(self.counted.rows).rows},
            "row_order": "shuffled with a seed given by the publisher" if seed_given else "shuffled with a secret",
            "engine": source.engine.name,
            "joint": self.counted.joint,
            "background": list(self.counted.assumptions.knowledge),
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
