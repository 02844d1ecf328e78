# SPDX-License-Identifier: Apache-2.0
"""An anatomized release that has been decided: its tables and groups, what it promises, and how it is measured again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from divulge import anatomy, answers, publish
from divulge.count import Nulls
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.table import Roles, Table, table_of

if TYPE_CHECKING:
    from divulge import attacks

_HINT = "Nothing was published. Did the source change meanwhile? Run it again; if it stays so, report it"
_SAMPLE = f"Measure a sample of the table, or {anatomy.LARGER}"
_NOTE = (
    "The table stayed on {place} and was grouped in {chunks:,} chunks of up to {chunk_rows:,} rows; "
    "the error of count queries and the attacks were not measured."
)


def refuse_in_chunks(table: Table, what: str) -> None:
    """Say before any long work that something cannot be measured, because the table is too large for memory."""
    if anatomy.needs_chunks(table):
        raise BadInput(f"{table.source} is too large for memory, and in chunks {what} can be measured", hint=_SAMPLE)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AnatomizedRelease(publish.Release):
    """What will be published: what it promises, and what it still tells.

    What lies on the disk is read back by an engine that did not write it. Its rows are compared with those that were to be written, which
    hold the tuples of the source; groups and levels are worked out from the files alone. Only then do the files appear.
    """

    groups: anatomy.Grouping
    roles: Roles
    left_out: Mapping[str, str]
    """The columns of the source that are not published, each with the reason."""
    nulls: Nulls
    seed_given: bool
    earlier: publish.EarlierReleases = field(default_factory=publish.EarlierReleases, repr=False)
    """What is out already, within whose classes groups lie."""

    @property
    def levels(self) -> anatomy.Reached:
        """What the release reaches, exactly."""
        return self.summary.levels

    @property
    def model(self) -> anatomy.AlphaBetaGammaDelta:
        """What it promises."""
        return self.groups.model

    @property
    def summary(self) -> anatomy.GroupSummary:
        """How many groups and records there are, how large groups are, and what they reach."""
        return self.groups.summary

    @property
    def table_columns(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table; each sensitive column is a table of its own, at the end."""
        return self.groups.tables

    @property
    def settings(self) -> dict[str, Any]:
        """How tables and groups were made, and beside what."""
        held = {"released": [dict(item) for item in self.earlier.settings]} if self.earlier.columns else {}
        return {**self._made_by, **held}

    @property
    def _made_by(self) -> dict[str, Any]:
        return {**self.groups.method.settings(), **self.groups.settings}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about how it came about."""
        chunked = self.groups.only is None
        told = (_NOTE.format(place=self.engine.place, **self.groups.settings),) if chunked else ()
        return (*told, *self.earlier.notes)

    @cached_property
    def held(self) -> anatomy.HeldTables:
        """The tables as they will be published; the order of their rows, or the numbers of their groups, come from a secret."""
        return self.groups.hold(None)

    @cached_property
    def outline(self) -> anatomy.HeldTables:
        """The same without the rows, which go when they have been written and are made again if they are asked for again."""
        return self.held.outline

    @cached_property
    def published(self) -> anatomy.Published:
        """The tables as whoever gets the release can read them, in memory."""
        hint = "Write the release, and ask it with query(folder, ...)"
        self.whole("It cannot be asked before it is written", hint=hint)
        opened = [table_of(self.engine, f"({table.query})", source=table.name) for table in self.held.tables]
        return replace(self._joined(opened), frame=self.frame)

    def query(
        self, condition: str = "true", *, total: str | None = None, average: str | None = None
    ) -> answers.Estimate:
        """What the release answers: a count, or the sum or average of an expression."""
        return answers.estimate(answers.AnatomizedSource(self.published), condition, total=total, average=average)

    def recq(self, workload: anatomy.Workload | None = None) -> anatomy.Recq:
        """The relative error of count queries (eq. 13)."""
        return anatomy.recq_of(self.whole("the error of count queries cannot be measured"), workload)

    def associations(self) -> list[anatomy.KeptAssociation]:
        """How closely each pair of columns goes together, in the table and as the release lets it be reconstructed."""
        return anatomy.associations(self.whole("the reconstruction of associations cannot be measured"))

    def attack(self, effort: attacks.Effort | None = None) -> attacks.Attacks:
        """What the four attacks achieve."""
        from divulge import attacks

        found = attacks.attack_anatomized(self.whole("attacks cannot be measured"), effort=effort)
        return replace(found, settings={**self.source.told, **found.settings}, frame=self.frame)

    def explain(self, *, progress: Callable[[int, int], None] | None = None) -> anatomy.GroupPrices:
        """What each of alpha, beta, gamma and delta costs: how many groups there are without it, and with it alone.

        The records are grouped again for that, in the same tables; where there are too many of them, the answer says so.

        Args:
            progress: Called after each grouping with how many are done and how many there are.
        """
        found = self.whole("what each bound costs cannot be worked out")
        settings = {**self.source.told, **self.settings}
        return anatomy.price_groups(found, self.groups.method, settings=settings, frame=self.frame, progress=progress)

    def parts(self, seed: int | None) -> Sequence[publish.ReleasePart]:
        """Its tables, if they hold the tuples of the source; a seed fixes the order of rows, and of the groups where there is one chunk."""
        held = self.held if seed is None else self.groups.hold(publish.draw_secret(seed))
        self.__dict__.setdefault("outline", held.outline)
        self._compare_with_source(held)
        prints = [publish.Fingerprint.of(self.engine, f"({table.query})") for table in held.tables]
        return [
            publish.ReleasePart(
                table.name,
                table.query,
                known,
                self.engine.files_for(table.rows),
                table.columns,
                done=partial(self._let_go, held, table.query),
            )
            for table, known in zip(held.tables, prints, strict=True)
        ]

    def _let_go(self, held: anatomy.HeldTables, query: str) -> None:
        """Free the memory of rows that have been written, unless somebody queries them."""
        if held.let_go is not None and "published" not in self.__dict__:
            self.__dict__.pop("held", None)
            held.let_go(query)

    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> anatomy.GroupSummary:
        """Groups, sizes and levels from the tables alone: what was decided, and what was promised."""
        del engine
        found = anatomy.measure_tables(self._joined(tables), self.model)
        if found != self.summary or found.breaking:
            told = ", ".join(self.model.broken_by(found.levels)) or "the levels differ"
            raise publish.Unverified(f"the staged tables are not what was promised: {told}", hint=_HINT)
        return found

    def document(self, measured: anatomy.GroupSummary, written: publish.Written) -> dict[str, Any]:
        """What everybody is told, all of it worked out from the tables or asked for; no seed is in it.

        Why a column was left out is not: the reason counts its values. Nor how chunks were dealt, which tells the size of the source.
        """
        drawn = "a seed given by the publisher" if self.seed_given or written.seed_given else "a secret"
        chunked = f"by group, whose numbers are drawn from {drawn}, then by value"
        return {
            "kind": "anatomized",
            "method": self.groups.method.name,
            "promises": self.model.texts(),
            "levels": measured.levels.texts(),
            "settings": {name: it for name, it in self._made_by.items() if name not in publish.CHUNK_SETTINGS},
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
                for table, (name, types) in zip(self.outline.tables, written.types.items(), strict=True)
            ],
            "row_order": chunked if self.groups.only is None else f"drawn from {drawn}",
            "engine": self.source.engine.name,
            "read_back_by": written.reader,
        }

    def whole(self, told: str, *, hint: str = _SAMPLE) -> anatomy.Anatomized:
        """All rows, which are in memory where there is one chunk."""
        if self.groups.only is None:
            raise BadInput(f"{told} where the table is too large for memory", hint=hint)
        return self.groups.only

    def _joined(self, tables: Sequence[Table]) -> anatomy.Published:
        names = {"group": self.outline.group, "count": self.outline.count}
        return anatomy.join_tables(tables, sensitive=self.roles.sensitive, **names)

    def _compare_with_source(self, held: anatomy.HeldTables) -> None:
        """Each table holds the tuples of the rows that were grouped, each as often as it occurs there."""
        engine = self.engine
        for table in held.tables:
            times = f"CAST({engine.quote(held.count)} AS BIGINT)" if table.counted else "1"
            ours = publish.Fingerprint.of(engine, f"({table.query})", columns=table.columns, times=times)
            if ours != publish.Fingerprint.of(engine, held.origin, columns=table.columns, times=held.times):
                raise publish.Unverified(f"{table.name} does not hold the values of {self.source.source}", hint=_HINT)
