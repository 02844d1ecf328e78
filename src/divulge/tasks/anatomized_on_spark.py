# SPDX-License-Identifier: Apache-2.0
"""An anatomized release of a table that stays on the cluster: the workers group, write and read back; counts and levels come to the driver.

What lies on the disk is held against three things: the rows that were to be written, the tuples of the source, each as often as it
occurs there, and the levels of every group, worked out from the files alone. Only then do the files appear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn

from divulge.anatomize import AlphaBetaGammaDelta, Method, Reached, Slppa
from divulge.anatomize.cluster import keep_rows
from divulge.anatomize.cluster_groups import ClusterGroups, group_on_cluster
from divulge.anatomize.cluster_levels import GroupSummary, levels_on_cluster
from divulge.anatomize.published import join_tables
from divulge.anatomize.release import table_names
from divulge.anatomize.workload import Workload
from divulge.attack.linkage import Effort
from divulge.count import Nulls
from divulge.engines.spark import SparkEngine
from divulge.errors import BadInput, DivulgeError
from divulge.publish.formats import Format, choose_format, read_rows, write_rows
from divulge.publish.parts import part_count
from divulge.publish.release import Part, publish
from divulge.publish.shuffle import draw_secret
from divulge.publish.verify import Unverified
from divulge.table.roles import Roles
from divulge.table.table import Table
from divulge.tasks.anatomized_outline import Decided, Outline, TableOutline

_HINT = "Nothing was published. Did the source change meanwhile? Run it again; if it stays so, report it"
_SAMPLE = "Measure a sample of the table, or raise SparkEngine(row_limit=...)"
_NOTE = (
    "The table stayed on the cluster and was grouped in {chunks:,} chunks of up to {rows:,} rows; "
    "the error of count queries and the attacks were not measured."
)


def stays_on_cluster(table: Table) -> bool:
    """Whether a table is too large to be anatomized on the driver."""
    engine = table.engine
    if not isinstance(engine, SparkEngine):
        return False
    rows = engine.query(f"SELECT COUNT(*) AS n FROM {table.relation}").column("n")[0].as_py()
    return bool(rows > engine.row_limit)


def refuse_on_cluster(table: Table, what: str) -> None:
    """Say before any long work that something cannot be measured, because the table is too large for the driver."""
    if stays_on_cluster(table):
        raise BadInput(f"{table.source} stays on the cluster, where {what} can be measured", hint=_SAMPLE)


def anatomize_on_spark(
    source: Table, method: Method, *, roles: Roles, left_out: Mapping[str, str], nulls: Nulls, seed: int | None
) -> ClusterAnatomizedRelease:
    """Divide and group a table on the cluster."""
    if not isinstance(method, Slppa) or method.algorithm != "guaranteed":
        told = "Algorithm 1 of the paper" if isinstance(method, Slppa) else f"the method {method.name}"
        raise BadInput(
            f"{told} needs all rows on the driver, and {source.source} is too large for that",
            hint="Use slppa, or raise SparkEngine(row_limit=...)",
        )
    rows = keep_rows(source, [*roles.quasi_identifiers, *roles.sensitive], nulls=nulls)
    if len(rows) == 0:
        raise BadInput(f"{source.source} has no rows", hint="There is nothing to anatomize")
    found = group_on_cluster(
        rows,
        method,
        quasi_identifiers=roles.quasi_identifiers,
        sensitive=roles.sensitive,
        secret=draw_secret(seed),
        numbering=draw_secret(None if seed is None else seed ^ 1),
    )
    return ClusterAnatomizedRelease(
        found, source=source, roles=roles, left_out=left_out, nulls=nulls, seed_given=seed is not None
    )


@dataclass(frozen=True, eq=False)
class ClusterAnatomizedRelease(Decided):
    """What will be published; its rows are on the cluster."""

    found: ClusterGroups

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table; each sensitive column is a table of its own, at the end."""
        return self.found.tables

    @property
    def levels(self) -> Reached:
        """What the release reaches, exactly."""
        return self.found.outcome.levels

    @property
    def model(self) -> AlphaBetaGammaDelta:
        """What it promises."""
        return self.found.method.model

    @cached_property
    def outline(self) -> Outline:
        """Everything but the rows."""
        found, outcome, plan = self.found, self.found.outcome, self.found.plan
        names = table_names(len(found.division.tables), len(plan.sensitive))
        tables = zip(names, found.tables, outcome.counted, outcome.rows, strict=True)
        number = "a seed given by the publisher" if self.seed_given else "a secret"
        return Outline(
            source=self.source.source,
            method=found.method.name,
            model=self.model,
            levels=self.levels,
            settings={
                **found.method.settings(),
                "records": "cluster",
                "chunks": plan.chunks,
                "chunk_rows": plan.capacity,
            },
            division=found.division,
            roles=self.roles,
            left_out=self.left_out,
            nulls=self.nulls,
            rows=len(found.rows),
            groups=outcome.groups,
            smallest=outcome.smallest,
            largest=outcome.largest,
            group=found.group,
            count=found.count,
            tables=tuple(
                TableOutline(name, columns, columns[0] in plan.sensitive, counted, rows)
                for name, columns, counted, rows in tables
            ),
            engine=self.source.engine.name,
            row_order=f"by group, whose numbers are drawn from {number}, then by value",
            notes=(_NOTE.format(chunks=plan.chunks, rows=plan.capacity),),
        )

    def frames(self) -> dict[str, Any]:
        """The tables as Spark frames, by name."""
        return {
            table.name: self._engine.frame(self.found.ordered(part, files=self._files(part)))
            for part, table in enumerate(self.outline.tables)
        }

    def query(self, condition: str = "true", *, total: str | None = None, average: str | None = None) -> NoReturn:
        """Not before it is written."""
        del condition, total, average
        raise BadInput("the rows are on the cluster", hint="Write the release, and ask it with query(folder, ...)")

    def recq(self, workload: Workload | None = None) -> NoReturn:
        """Not available: every query would need all rows of the source."""
        del workload
        raise _not_here("the error of count queries")

    def associations(self) -> NoReturn:
        """Not available."""
        raise _not_here("the reconstruction of associations")

    def attack(self, effort: Effort | None = None) -> NoReturn:
        """Not available."""
        del effort
        raise _not_here("attacks")

    def write(self, out: str | Path, *, force: bool = False, format: str | None = None) -> Path:  # noqa: A002
        """Have the workers write a folder of Parquet or CSV files per table, and add manifest.json; verified before it appears.

        `out` must be on storage that the workers share with this process. A folder that holds a release is replaced with `force`.
        """
        form = choose_format(self.source, format)
        names = [table.name + form.ending for table in self.outline.tables]
        types = {name: dict(self._engine.describe(f"({self.found.released(part)})")) for part, name in enumerate(names)}
        parts = [Part(name, partial(self._write, part, form)) for part, name in enumerate(names)]

        def verify(folder: Path) -> dict[str, Any]:
            self._verify(folder, form=form, types=types)
            return self.outline.document(form=form, types=types)

        return publish(out, parts, verify=verify, force=force)

    @property
    def _engine(self) -> SparkEngine:
        return self.found.rows.engine

    def _files(self, part: int) -> int:
        return part_count(self._engine, self.found.outcome.rows[part])

    def _write(self, part: int, form: Format, path: Path) -> None:
        files = self._files(part)
        write_rows(self._engine, self.found.ordered(part, files=files), path, form=form, parts=files)

    def _verify(self, folder: Path, *, form: Format, types: Mapping[str, Mapping[str, str]]) -> None:
        """Read the files back on the cluster and work everything out from them alone."""
        fresh = SparkEngine(self._engine.session)
        try:
            opened = {name: read_rows(fresh, folder / name, form=form, types=types[name]) for name in types}
            self._compare(fresh, opened)
            published = join_tables(
                list(opened.values()),
                sensitive=self.roles.sensitive,
                group=self.outline.group,
                count=self.outline.count,
            )
            self._hold(levels_on_cluster(published, model=self.model))
        except Unverified:
            raise
        except DivulgeError as error:
            raise Unverified(f"the staged tables cannot be read back: {error.message}", hint=_HINT) from error
        finally:
            fresh.close()

    def _compare(self, engine: SparkEngine, tables: Mapping[str, Table]) -> None:
        """What was read back has the rows that were to be written, and the tuples of the source, each as often as there."""
        rows = self.found.rows
        cells = [([rows.cell(column) for column in columns], "1") for columns in self.tables]
        original = _fingerprints(engine, rows.view, *cells)
        for part, (name, table) in enumerate(tables.items()):
            counted = self.found.outcome.counted[part]
            times = f"CAST({engine.quote(self.outline.count)} AS BIGINT)" if counted else "1"
            written, tuples = _fingerprints(engine, table.relation, (table.names, "1"), (self.tables[part], times))
            if [written] != _fingerprints(engine, f"({self.found.released(part)})", (table.names, "1")):
                raise Unverified(f"{name} does not hold what was to be written", hint=_HINT)
            if tuples != original[part]:
                raise Unverified(f"{name} does not hold the values of {self.source.source}", hint=_HINT)

    def _hold(self, summary: GroupSummary) -> None:
        """What was found in the files is what was decided, and keeps the promise."""
        outcome = self.found.outcome
        decided = (self.levels, outcome.groups, len(self.found.rows), outcome.smallest, outcome.largest)
        found = (summary.levels, summary.groups, summary.records, summary.smallest, summary.largest)
        broken = self.model.broken_by(summary.levels)
        if broken or summary.breaking or found != decided:
            told = ", ".join(broken) or "the levels differ"
            raise Unverified(f"the staged tables are not what was promised: {told}", hint=_HINT)


def _fingerprints(engine: SparkEngine, relation: str, *wanted: tuple[Sequence[str], str]) -> list[tuple[int, int]]:
    """For some columns, the number of rows and the sum of their hashes, each as often as a count says: the same in any order."""
    selected = []
    for place, (names, times) in enumerate(wanted):
        cells = [engine.quote(name) for name in names]
        # XXHASH64 passes nulls over, so that without their places ("a", null) would be (null, "a").
        listed = ", ".join([*cells, *(f"{cell} IS NULL" for cell in cells)])
        selected.append(f"CAST(SUM({times}) AS STRING) AS n{place}")
        selected.append(f"CAST(SUM(CAST(XXHASH64({listed}) AS DECIMAL(20, 0)) * {times}) AS STRING) AS h{place}")
    found = engine.query(f"SELECT {', '.join(selected)} FROM {relation} AS r").to_pylist()[0]
    return [(int(found[f"n{place}"] or 0), int(found[f"h{place}"] or 0)) for place in range(len(wanted))]


def _not_here(what: str) -> BadInput:
    return BadInput(
        f"{what} cannot be measured where the table stays on the cluster",
        hint=_SAMPLE,
    )
