# SPDX-License-Identifier: Apache-2.0
"""The original of a release, counted: what the search works on, and what every measurement of the release depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from divulge.arrays import Floats
from divulge.belief import Assumptions
from divulge.count import Contingency, Nulls
from divulge.count.counting import Request
from divulge.count.counts import count_in_memory
from divulge.engines.choose import OwnEngine
from divulge.errors import BadInput
from divulge.generalize.plan import Plan, Recoding
from divulge.metrics.measurement import Measurement
from divulge.policy.chosen import Protected
from divulge.publish.recoded import recoded_rows
from divulge.table.roles import Roles
from divulge.table.table import Table
from divulge.tasks.measuring import measure_counts

_POPULATION_NOTE = (
    "people of the population count where somebody in the original has the same values: k_map is at least this high"
)


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
    has_person: bool

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
        return cls(
            source=source,
            engine=engine,
            roles=roles,
            # With one class for each person, people add up like rows.
            people=replace(people, person_entropy=None, population=_population(before, roles), notes=()),
            assumptions=replace(assumptions, original_masses=masses),
            nulls=nulls,
            joint=joint,
            has_person=roles.person is not None,
        )

    def recoded(self, recoding: Recoding) -> str:
        """A query for its rows as they are published."""
        return recoded_rows(self.source, self.engine, self.people, recoding, roles=self.roles, nulls=self.nulls)

    def measure(self, published: Contingency) -> Measurement:
        """What a release of this table tells, against the prior of the original."""
        released = replace(self.source, source=f"{self.source.source}, generalized")
        measured = measure_counts(published, released, self.roles, assumptions=self.assumptions, nulls=self.nulls)
        if self.roles.weight is not None or self.people.population is None:
            return measured
        return replace(
            measured, settings={**measured.settings, "population": "table"}, notes=(*measured.notes, _POPULATION_NOTE)
        )

    @cached_property
    def rows(self) -> Contingency:
        """Counts of rows, which is what a file can be held against: it does not say whose a row is."""
        if not self.has_person:
            return self.people
        return count_in_memory(Request(self.source, replace(self.roles, person=None), self.nulls, self.joint))


def _population(before: Measurement, roles: Roles) -> Floats | None:
    """The people of the population behind each class: weights are counted again with every release, a population table is not."""
    return before.contingency.population if roles.weight is not None else before.identity_view.population


def follow(protected: Sequence[Protected], plan: Plan, people: Contingency) -> tuple[Protected, ...]:
    """The same protections in classes of the release: who is chosen is known to the original alone."""
    return tuple(
        item if item.only is None else replace(item, only=plan.holding(people, item.only)) for item in protected
    )
