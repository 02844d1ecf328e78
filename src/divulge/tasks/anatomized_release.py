# SPDX-License-Identifier: Apache-2.0
"""An anatomized release that has been decided: what it promises, what it still tells, and what is verified when it is written.

What lies on the disk is read back by an engine that did not write it. Its rows are compared with those that were to be written, which
hold the tuples of the source, each as often as it occurs there; and the groups, their sizes and all four levels are worked out from the
files alone. Only then do the files appear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from divulge.anatomize import AlphaBetaGammaDelta, Anatomized, Reached
from divulge.anatomize.chunks import LARGER, Grouping, HeldTables, needs_chunks
from divulge.anatomize.group_query import AnatomizedSource
from divulge.anatomize.levels import GroupSummary
from divulge.anatomize.measured import measure_tables
from divulge.anatomize.published import Published, join_tables
from divulge.anatomize.query import Estimate, estimate
from divulge.anatomize.utility import Association, Recq, associations, recq_of
from divulge.anatomize.workload import Workload
from divulge.attack.anatomized import Attacks, attack_anatomized
from divulge.attack.linkage import Effort
from divulge.count import Nulls
from divulge.engines.choose import OwnEngine
from divulge.errors import BadInput
from divulge.publish.release import Release, ReleasePart, Written
from divulge.publish.shuffle import draw_secret
from divulge.publish.verify import Fingerprint, Unverified
from divulge.table.roles import Roles
from divulge.table.table import Table, table_of

_HINT = "Nothing was published. Did the source change meanwhile? Run it again; if it stays so, report it"
_SAMPLE = f"Measure a sample of the table, or {LARGER}"
_NOTE = (
    "The table stayed on {place} and was grouped in {chunks:,} chunks of up to {chunk_rows:,} rows; "
    "the error of count queries and the attacks were not measured."
)


def refuse_in_chunks(table: Table, what: str) -> None:
    """Say before any long work that something cannot be measured, because the table is too large for memory."""
    if needs_chunks(table):
        raise BadInput(f"{table.source} is too large for memory, and in chunks {what} can be measured", hint=_SAMPLE)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AnatomizedRelease(Release):
    """What will be published."""

    groups: Grouping
    roles: Roles
    left_out: Mapping[str, str]
    """The columns of the source that are not published, each with the reason."""
    nulls: Nulls
    seed_given: bool

    @property
    def levels(self) -> Reached:
        """What the release reaches, exactly."""
        return self.summary.levels

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """What it promises."""
        return self.groups.model

    @property
    def summary(self) -> GroupSummary:
        """How many groups and records there are, how large groups are, and what they reach."""
        return self.groups.summary

    @property
    def table_columns(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table; each sensitive column is a table of its own, at the end."""
        return self.groups.tables

    @property
    def settings(self) -> dict[str, Any]:
        """How tables and groups were made."""
        return {**self.groups.method.settings(), **self.groups.settings}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about how it came about."""
        chunked = self.groups.only is None
        return (_NOTE.format(place=self.engine.place, **self.groups.settings),) if chunked else ()

    @cached_property
    def held(self) -> HeldTables:
        """The tables as they will be published; the order of their rows, or the numbers of their groups, come from a secret."""
        return self.groups.hold(None)

    @cached_property
    def published(self) -> Published:
        """The tables as whoever gets the release can read them, in memory."""
        self._whole(
            "It cannot be asked before it is written", hint="Write the release, and ask it with query(folder, ...)"
        )
        opened = [table_of(self.engine, f"({table.query})", source=table.name) for table in self.held.tables]
        return self._joined(opened)

    def query(self, condition: str = "true", *, total: str | None = None, average: str | None = None) -> Estimate:
        """What the release answers: a count, or the sum or average of an expression."""
        return estimate(AnatomizedSource(self.published), condition, total=total, average=average)

    def recq(self, workload: Workload | None = None) -> Recq:
        """The relative error of count queries (eq. 13)."""
        return recq_of(self._whole("the error of count queries cannot be measured"), workload)

    def associations(self) -> list[Association]:
        """How closely each pair of columns goes together, in the table and as the release lets it be reconstructed."""
        return associations(self._whole("the reconstruction of associations cannot be measured"))

    def attack(self, effort: Effort | None = None) -> Attacks:
        """What the four attacks achieve."""
        return attack_anatomized(self._whole("attacks cannot be measured"), effort=effort)

    def parts(self, seed: int | None) -> Sequence[ReleasePart]:
        """Its tables, if they hold the tuples of the source; a seed fixes the order of rows, and of the groups where there is one chunk."""
        held = self.held if seed is None else self.groups.hold(draw_secret(seed))
        self._compare_with_source(held)
        return [
            ReleasePart(
                table.name,
                table.query,
                Fingerprint.of(self.engine, f"({table.query})"),
                files=self.engine.files_for(table.rows),
                counted=table.columns,
            )
            for table in held.tables
        ]

    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> GroupSummary:
        """Groups, sizes and levels from the tables alone: what was decided, and what was promised."""
        del engine
        found = measure_tables(self._joined(tables), self.model)
        if found != self.summary or found.breaking:
            told = ", ".join(self.model.broken_by(found.levels)) or "the levels differ"
            raise Unverified(f"the staged tables are not what was promised: {told}", hint=_HINT)
        return found

    def document(self, measured: GroupSummary, written: Written) -> dict[str, Any]:
        """What the manifest says; no seed is in it."""
        drawn = "a seed given by the publisher" if self.seed_given or written.seed_given else "a secret"
        chunked = f"by group, whose numbers are drawn from {drawn}, then by value"
        return {
            "kind": "anatomized",
            "method": self.groups.method.name,
            "promises": self.model.texts(),
            "levels": measured.levels.texts(),
            "settings": self.settings,
            "nulls": self.nulls,
            "roles": {
                "quasi_identifiers": list(self.roles.quasi_identifiers),
                "sensitive": list(self.roles.sensitive),
                "identifier": list(self.roles.identifier),
                "left_out": dict(self.left_out),
            },
            "rows": measured.records,
            "groups": measured.groups,
            "group_sizes": {"min": measured.smallest, "max": measured.largest},
            "group_column": self.held.group,
            "count_column": self.held.count,
            "format": written.form.kind,
            "delimiter": written.form.delimiter,
            "tables": [
                {
                    "file": name,
                    "columns": list(table.columns),
                    "sensitive": table.sensitive,
                    "counted": table.counted,
                    "types": dict(types),
                }
                for table, (name, types) in zip(self.held.tables, written.types.items(), strict=True)
            ],
            "row_order": chunked if self.groups.only is None else f"drawn from {drawn}",
            "engine": self.source.engine.name,
            "read_back_by": written.reader,
            "notes": list(self.notes),
        }

    def _whole(self, told: str, *, hint: str = _SAMPLE) -> Anatomized:
        """All rows, which are in memory where there is one chunk."""
        if self.groups.only is None:
            raise BadInput(f"{told} where the table is too large for memory", hint=hint)
        return self.groups.only

    def _joined(self, tables: Sequence[Table]) -> Published:
        return join_tables(tables, sensitive=self.roles.sensitive, group=self.held.group, count=self.held.count)

    def _compare_with_source(self, held: HeldTables) -> None:
        """Each table holds the tuples of the rows that were grouped, each as often as it occurs there."""
        engine = self.engine
        for table in held.tables:
            times = f"CAST({engine.quote(held.count)} AS BIGINT)" if table.counted else "1"
            ours = Fingerprint.of(engine, f"({table.query})", columns=table.columns, times=times)
            if ours != Fingerprint.of(engine, held.origin, columns=table.columns):
                raise Unverified(f"{table.name} does not hold the values of {self.source.source}", hint=_HINT)
