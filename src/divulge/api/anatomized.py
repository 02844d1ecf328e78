# SPDX-License-Identifier: Apache-2.0
"""An anatomized release: its tables and groups, its guarantees, and its verification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from divulge import queries, releases
from divulge.anatomization import (
    LARGER,
    AlphaBetaGammaDelta,
    Anatomized,
    Grouping,
    GroupPrices,
    GroupSummary,
    HeldTables,
    KeptAssociation,
    Published,
    Reached,
    Recq,
    Workload,
    associations,
    join_tables,
    measure_tables,
    needs_chunks,
    price_groups,
    recq_of,
)
from divulge.counting import Nulls
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.sources import Roles, Table, table_of

if TYPE_CHECKING:
    from divulge import attacks

_HINT = (
    "Nothing was published. Did the source change meanwhile? Run it again; if it stays so, "
    "report it"
)
_SAMPLE = f"Measure a sample of the table, or {LARGER}"
_NOTE = (
    "The table stayed on {place} and was grouped in {chunks:,} chunks of up to {chunk_rows:,} "
    "rows; the error of count queries and the attacks were not measured."
)


def refuse_in_chunks(table: Table, what: str) -> None:
    """Raise BadInput before long work if the table is too large for memory to be measured."""
    if needs_chunks(table):
        raise BadInput(
            f"{table.source} is too large for memory, and in chunks {what} can be measured",
            hint=_SAMPLE,
        )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AnatomizedRelease(releases.Release):
    """An anatomized release with its guarantees and measures of its remaining disclosure risk.

    The staged files are read back by an engine that did not write them. Their rows are compared
    with the intended rows, which hold the tuples of the source. Groups and levels are computed from
    the files only. The files appear after these checks.
    """

    groups: Grouping
    roles: Roles
    left_out: Mapping[str, str]
    """The columns of the source that are not published, each with the reason."""
    nulls: Nulls
    seed_given: bool
    earlier: releases.EarlierReleases = field(default_factory=releases.EarlierReleases, repr=False)
    """Prior releases; each group lies within one class of each of them."""

    @property
    def levels(self) -> Reached:
        """Exact levels that the release reaches."""
        return self.summary.levels

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """Bounds that the release guarantees."""
        return self.groups.model

    @property
    def summary(self) -> GroupSummary:
        """Number of groups and records, group sizes, and levels reached."""
        return self.groups.summary

    @property
    def table_columns(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table; each sensitive column is a table of its own, at the end."""
        return self.groups.tables

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of tables and groups, and the prior releases taken into account."""
        if self.earlier.columns:
            prior_settings = {"released": [dict(item) for item in self.earlier.settings]}
        else:
            prior_settings = {}
        return {**self._method_settings, **prior_settings}

    @property
    def _method_settings(self) -> dict[str, Any]:
        return {**self.groups.method.settings(), **self.groups.settings}

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the production of the release."""
        is_chunked = self.groups.only is None
        chunk_notes = (
            (_NOTE.format(place=self.engine.storage, **self.groups.settings),) if is_chunked else ()
        )
        return (*chunk_notes, *self.earlier.notes)

    @cached_property
    def held_tables(self) -> HeldTables:
        """Tables to be published.

        The order of their rows, or the numbers of their groups, come from a secret.
        """
        return self.groups.hold(None)

    @cached_property
    def outline(self) -> HeldTables:
        """Tables to be published without their rows.

        Rows are freed once they have been written, and are computed again if they are needed.
        """
        return self.held_tables.outline

    @cached_property
    def published(self) -> Published:
        """Tables as a recipient of the release can read them, in memory."""
        hint = "Write the release, and ask it with query(folder, ...)"
        self.rows_in_memory("It cannot be asked before it is written", hint=hint)
        opened = [
            table_of(self.engine, f"({table.query})", source=table.name)
            for table in self.held_tables.tables
        ]
        return replace(self._join_tables(opened), frame=self.frame)

    def query(
        self, condition: str = "true", *, total: str | None = None, average: str | None = None
    ) -> queries.Estimate:
        """Estimate a count, or the sum or average of an expression, from the release."""
        return queries.estimate(
            queries.AnatomizedSource(self.published), condition, total=total, average=average
        )

    def recq(self, workload: Workload | None = None) -> Recq:
        """Relative error of count queries (eq. 13)."""
        return recq_of(
            self.rows_in_memory("the error of count queries cannot be measured"), workload
        )

    def associations(self) -> list[KeptAssociation]:
        """Association of each pair of columns, in the table and reconstructed from the release."""
        return associations(
            self.rows_in_memory("the reconstruction of associations cannot be measured")
        )

    def attack(self, *, records: int = 1000, seed: int = 1) -> attacks.AttackResult:
        """Simulate attacks on the release, as `attack` does with its source as the original.

        Args:
            records: Number of people of the source to attack; drawn at random.
            seed: Seed of the random draws.
        """
        from divulge.api.attack import attack

        self.rows_in_memory("attacks cannot be measured")
        return replace(
            attack(self, truth=self.source, records=records, seed=seed), frame=self.frame
        )

    def explain(self, *, progress: Callable[[int, int], None] | None = None) -> GroupPrices:
        """Compute the cost of each of alpha, beta, gamma and delta in numbers of groups.

        Records are grouped again without the bound and with only this bound, in the same tables. If
        there are too many records, the result reports it.

        Args:
            progress: Called after each grouping with the number done and the total.
        """
        anatomization = self.rows_in_memory("what each bound costs cannot be worked out")
        settings = {**self.source.reading_settings, **self.settings}
        return price_groups(
            anatomization,
            self.groups.method,
            settings=settings,
            frame=self.frame,
            progress=progress,
        )

    def parts(self, seed: int | None) -> Sequence[releases.ReleasePart]:
        """Tables of the release, after a check that they hold the tuples of the source.

        A seed fixes the order of rows, and of the groups if there is one chunk.
        """
        if seed is None:
            release_tables = self.held_tables
        else:
            release_tables = self.groups.hold(releases.draw_secret(seed))
        self.__dict__.setdefault("outline", release_tables.outline)
        self._compare_with_source(release_tables)
        fingerprints = [
            releases.Fingerprint.of(self.engine, f"({table.query})")
            for table in release_tables.tables
        ]
        return [
            releases.ReleasePart(
                table.name,
                table.query,
                fingerprint,
                self.engine.files_for(table.rows),
                table.columns,
                done=partial(self._free_rows, release_tables, table.query),
            )
            for table, fingerprint in zip(release_tables.tables, fingerprints, strict=True)
        ]

    def _free_rows(self, release_tables: HeldTables, query: str) -> None:
        """Free the memory of rows that have been written, unless they are in use for queries."""
        if release_tables.let_go is not None and "published" not in self.__dict__:
            self.__dict__.pop("held_tables", None)
            release_tables.let_go(query)

    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> GroupSummary:
        """Compute groups, sizes and levels from the tables only, and check the guarantees."""
        del engine
        group_summary = measure_tables(self._join_tables(tables), self.model)
        if group_summary != self.summary or group_summary.breaking:
            violations = (
                ", ".join(self.model.broken_by(group_summary.levels)) or "the levels differ"
            )
            raise releases.Unverified(
                f"the staged tables are not what was promised: {violations}", hint=_HINT
            )
        return group_summary

    def document(self, measured: GroupSummary, written: releases.Written) -> dict[str, Any]:
        """Public manifest, computed from the tables or copied from the request.

        It contains no seed. It omits the reasons for unpublished columns, because they count
        values. It also omits the split into chunks, which discloses the size of the source.
        """
        if self.seed_given or written.seed_given:
            order_source = "a seed given by the publisher"
        else:
            order_source = "a secret"
        chunk_order = f"by group, whose numbers are drawn from {order_source}, then by value"
        return {
            "kind": "anatomized",
            "method": self.groups.method.name,
            "promises": self.model.texts(),
            "levels": measured.levels.texts(),
            "settings": {
                name: setting
                for name, setting in self._method_settings.items()
                if name not in releases.CHUNK_SETTINGS
            },
            "nulls": self.nulls,
            "roles": {
                "quasi_identifiers": list(self.roles.quasi_identifiers),
                "sensitive": list(self.roles.sensitive),
                "identifier": list(self.roles.identifier),
                "left_out": list(self.left_out),
            },
            "rows": measured.records,
            "groups": measured.groups,
            "group_sizes": {"min": measured.smallest, "max": measured.largest},
            "group_column": self.outline.group,
            "count_column": self.outline.count,
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
                for table, (name, types) in zip(
                    self.outline.tables, written.types.items(), strict=True
                )
            ],
            "row_order": chunk_order if self.groups.only is None else f"drawn from {order_source}",
            "engine": self.source.engine.name,
            "read_back_by": written.reader,
        }

    def private_document(self, measured: GroupSummary) -> dict[str, Any]:
        """Private manifest: size and division of the source, reasons for unpublished columns."""
        count_row = self.source.engine.query(
            f"SELECT COUNT(*) AS n FROM {self.source.relation}"
        ).to_pylist()[0]
        return {
            "kind": "anatomized",
            "rows": {"original": int(count_row["n"]), "published": measured.records},
            "left_out": dict(self.left_out),
            "settings": self.settings,
        }

    def rows_in_memory(self, message: str, *, hint: str = _SAMPLE) -> Anatomized:
        """Return all rows, which are in memory if there is one chunk.

        Raises:
            BadInput: The table was grouped in chunks.
        """
        if self.groups.only is None:
            raise BadInput(f"{message} where the table is too large for memory", hint=hint)
        return self.groups.only

    def _join_tables(self, tables: Sequence[Table]) -> Published:
        names = {"group": self.outline.group, "count": self.outline.count}
        return join_tables(tables, sensitive=self.roles.sensitive, **names)

    def _compare_with_source(self, release_tables: HeldTables) -> None:
        """Check that each table holds the tuples of the grouped rows as often as they occur."""
        engine = self.engine
        for table in release_tables.tables:
            if table.counted:
                times = f"CAST({engine.quote(release_tables.count)} AS BIGINT)"
            else:
                times = "1"
            fingerprint = releases.Fingerprint.of(
                engine, f"({table.query})", columns=table.columns, times=times
            )
            if fingerprint != releases.Fingerprint.of(
                engine, release_tables.origin, columns=table.columns, times=release_tables.times
            ):
                raise releases.Unverified(
                    f"{table.name} does not hold the values of {self.source.source}", hint=_HINT
                )
