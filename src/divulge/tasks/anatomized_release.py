# SPDX-License-Identifier: Apache-2.0
"""An anatomized release that has been decided: what it promises, what it still tells, and how it is written and verified.

What lies on the disk is read back by an engine that did not write it; the groups, the sizes and all four levels are
worked out from the files alone, and the rows are compared with those that were to be written. Only then do the files
appear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from divulge.anatomize import AlphaBetaGammaDelta, Anatomized, Reached
from divulge.anatomize.group_query import AnatomizedSource
from divulge.anatomize.published import Published, publish_tables
from divulge.anatomize.query import Estimate, estimate
from divulge.anatomize.release import Released, ReleasedTable, released
from divulge.anatomize.utility import Association, Recq, associations, recq_of
from divulge.anatomize.workload import Workload
from divulge.attack.anatomized import Attacks, attack_anatomized
from divulge.attack.linkage import Effort
from divulge.engines.duckdb import DuckDBEngine
from divulge.errors import DivulgeError
from divulge.metrics.measurement import as_frame
from divulge.publish.formats import Format, choose_format, read_rows, write_rows
from divulge.publish.release import Part, publish
from divulge.publish.shuffle import draw_secret
from divulge.publish.verify import Unverified
from divulge.table.table import table_of
from divulge.tasks.anatomized_outline import Decided, Outline, TableOutline

_HINT = "Nothing was published. Run it again; if it stays so, report it"


@dataclass(frozen=True, eq=False)
class AnatomizedRelease(Decided):
    """What will be published."""

    anatomized: Anatomized

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table; each sensitive column is a table of its own, at the end."""
        return self.anatomized.tables

    @property
    def levels(self) -> Reached:
        """What the release reaches, exactly."""
        return self.anatomized.levels

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """What it promises."""
        return self.anatomized.model

    @cached_property
    def released(self) -> Released:
        """The tables as they will be published; the order of their rows comes from a secret of its own."""
        return released(self.anatomized, secret=draw_secret(self._secret_seed()))

    @cached_property
    def outline(self) -> Outline:
        """Everything but the rows."""
        found = self.anatomized
        drawn = "a seed given by the publisher" if self.seed_given else "a secret"
        return Outline(
            source=self.source.source,
            method=found.method,
            model=self.model,
            levels=self.levels,
            settings=found.settings,
            division=found.division,
            roles=self.roles,
            left_out=self.left_out,
            nulls=self.nulls,
            rows=len(found.rows),
            groups=found.groups,
            smallest=int(found.sizes.min()),
            largest=int(found.sizes.max()),
            group=self.released.group,
            count=self.released.count,
            tables=tuple(
                TableOutline(table.name, table.columns, table.sensitive, table.counted, table.rows.num_rows)
                for table in self.released.tables
            ),
            engine=self.source.engine.name,
            row_order=f"drawn from {drawn}",
        )

    def frames(self) -> dict[str, Any]:
        """The tables as frames of the kind that was handed in (Arrow for a file), by name."""
        return {table.name: as_frame(_plain(table), self.source.frame) for table in self.released.tables}

    def query(self, condition: str = "true", *, total: str | None = None, average: str | None = None) -> Estimate:
        """What the release answers: a count, or the sum or average of an expression."""
        return estimate(AnatomizedSource(self.published), condition, total=total, average=average)

    def recq(self, workload: Workload | None = None) -> Recq:
        """The relative error of count queries (eq. 13)."""
        return recq_of(self.anatomized, workload)

    def associations(self) -> list[Association]:
        """How closely each pair of columns goes together, in the table and as the release lets it be reconstructed."""
        return associations(self.anatomized)

    def attack(self, effort: Effort | None = None) -> Attacks:
        """What the four attacks achieve."""
        return attack_anatomized(self.anatomized, effort=effort)

    def write(self, out: str | Path, *, force: bool = False, format: str | None = None) -> Path:  # noqa: A002
        """Write one file per table and manifest.json to a new folder; verified before it appears there.

        The files have the source's format (CSV, Parquet, Arrow; else Parquet), or the one named by `format`. A folder that
        holds a release is replaced with `force`.
        """
        form = choose_format(self.source, format)
        engine = DuckDBEngine(preserve_order=True)
        try:
            queries = {
                table.name + form.ending: f"SELECT * FROM {engine.register(engine.fresh_name('released'), table.rows)}"
                for table in self.released.tables
            }
            types = {name: dict(engine.describe(f"({sql})")) for name, sql in queries.items()}
            fingerprints = {name: fingerprint(engine, f"({sql})") for name, sql in queries.items()}
            parts = [Part(name, partial(_write, engine, sql, form)) for name, sql in queries.items()]

            def verify(folder: Path) -> dict[str, Any]:
                self._verify(folder, form=form, types=types, fingerprints=fingerprints)
                return self.outline.document(form=form, types=types)

            return publish(out, parts, verify=verify, force=force)
        finally:
            engine.close()

    @cached_property
    def published(self) -> Published:
        """The tables as whoever gets the release can read them, in memory."""
        engine = DuckDBEngine()
        relations = [engine.register(engine.fresh_name("released"), table.rows) for table in self.released.tables]
        opened = [
            table_of(engine, relation, source=table.name)
            for relation, table in zip(relations, self.released.tables, strict=True)
        ]
        return publish_tables(
            opened, sensitive=self.roles.sensitive, group=self.released.group, count=self.released.count
        )

    def _secret_seed(self) -> int | None:
        """A seed given for tests also fixes the order of rows; otherwise the order has a secret of its own."""
        return self.anatomized.seed % (1 << 62) if self.seed_given else None

    def _verify(
        self,
        folder: Path,
        *,
        form: Format,
        types: Mapping[str, Mapping[str, str]],
        fingerprints: Mapping[str, tuple[int, int]],
    ) -> None:
        """Read the files back and work everything out from them alone."""
        fresh = DuckDBEngine()
        try:
            opened = [read_rows(fresh, folder / name, form=form, types=types[name]) for name in types]
            found = {name: fingerprint(fresh, table.relation) for name, table in zip(types, opened, strict=True)}
            levels = publish_tables(
                opened, sensitive=self.roles.sensitive, group=self.released.group, count=self.released.count
            ).levels()
        except DivulgeError as error:
            raise Unverified(f"the staged tables cannot be read back: {error.message}", hint=_HINT) from error
        finally:
            fresh.close()
        changed = [name for name in types if found[name] != fingerprints[name]]
        if changed:
            raise Unverified(f"{changed[0]} does not hold what was to be written", hint=_HINT)
        worst = levels.worst()
        broken = self.model.broken_by(worst)
        if broken or not levels.keeps(self.model).all() or worst != self.levels:
            told = ", ".join(broken) or "the levels differ"
            raise Unverified(f"the staged tables are not what was promised: {told}", hint=_HINT)


def fingerprint(engine: DuckDBEngine, relation: str) -> tuple[int, int]:
    """The number of rows and the sum of their hashes: the same for the same rows in any order."""
    names = ", ".join(engine.quote(name) for name, _ in engine.describe(relation))
    found = engine.query(
        f"SELECT COUNT(*) AS n, CAST(SUM(CAST(HASH({names}) AS HUGEINT)) AS VARCHAR) AS total FROM {relation} AS r"
    ).to_pylist()[0]
    return int(found["n"]), int(found["total"] or 0)


def _write(engine: DuckDBEngine, sql: str, form: Format, path: Path) -> None:
    write_rows(engine, sql, path, form=form)


def _plain(table: ReleasedTable) -> Any:
    """The rows without the codes that keep them small."""
    rows = table.rows
    for position, name in enumerate(rows.column_names):
        if name in table.columns:
            rows = rows.set_column(position, name, rows.column(name).cast(rows.schema.field(name).type.value_type))
    return rows
