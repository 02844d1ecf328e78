# SPDX-License-Identifier: Apache-2.0
"""An anatomized release that has been decided: what it promises, what it still tells, and how it is written and verified.

What lies on the disk is read back by an engine that did not write it; the groups, the sizes and all four levels are
worked out from the files alone, and the rows are compared with those that were to be written. Only then do the files
appear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from divulge.anatomize import AlphaBetaGammaDelta, Anatomized, Levels
from divulge.anatomize.group_query import AnatomizedSource
from divulge.anatomize.published import Published, publish_tables
from divulge.anatomize.query import Estimate, estimate
from divulge.anatomize.release import Released, ReleasedTable, released
from divulge.anatomize.utility import Association, Recq, associations, recq_of
from divulge.anatomize.workload import Workload
from divulge.attack.anatomized import Attacks, attack_anatomized
from divulge.attack.linkage import Effort
from divulge.engines.choose import OwnEngine
from divulge.engines.duckdb import DuckDBEngine
from divulge.publish.release import Release, ReleasePart, Written
from divulge.publish.shuffle import draw_secret
from divulge.publish.verify import Fingerprint, Unverified
from divulge.table.table import Table, table_of
from divulge.tasks.anatomized_outline import Decided, Outline, TableOutline

_HINT = "Nothing was published. Run it again; if it stays so, report it"


@dataclass(frozen=True, eq=False, kw_only=True)
class AnatomizedRelease(Decided, Release):
    """What will be published."""

    anatomized: Anatomized

    @property
    def table_columns(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table; each sensitive column is a table of its own, at the end."""
        return self.anatomized.tables

    @property
    def levels(self) -> Levels:
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

    def parts(self, seed: int | None) -> list[ReleasePart]:
        """Its tables; a seed gives their rows and the numbers of groups another order."""
        found = self.released if seed is None else released(self.anatomized, secret=draw_secret(seed))
        return [self._part(table) for table in found.tables]

    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> None:
        """Work everything out from the tables alone."""
        del engine
        levels = publish_tables(
            tables, sensitive=self.roles.sensitive, group=self.released.group, count=self.released.count
        ).levels()
        worst = levels.worst()
        broken = self.model.broken_by(worst)
        if broken or not levels.keeps(self.model).all() or worst != self.levels:
            told = ", ".join(broken) or "the levels differ"
            raise Unverified(f"the staged tables are not what was promised: {told}", hint=_HINT)

    def document(self, measured: None, written: Written) -> dict[str, Any]:
        """What the manifest says."""
        del measured
        found = self.outline.document(form=written.form, types=written.types)
        return found | ({"row_order": written.row_order} if written.seed_given else {})

    def _part(self, table: ReleasedTable) -> ReleasePart:
        """A table without the codes that keep its texts small in memory."""
        engine = self.engine
        relation = engine.lend(table.rows)
        described = engine.describe(relation)
        cells = (f"{engine.durable(engine.quote(name), type_)} AS {engine.quote(name)}" for name, type_ in described)
        query = f"SELECT {', '.join(cells)} FROM {relation}"
        names = tuple(table.rows.column_names)
        return ReleasePart(table.name, query, Fingerprint.of(engine, f"({query})"), counted=names)

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
