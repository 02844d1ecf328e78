# SPDX-License-Identifier: Apache-2.0
"""measure() and rank() for tables on Spark: the ordinary path for small counts, the cluster's own for large ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from divulge.belief import Assumptions, Belief
from divulge.count.align import population_sizes
from divulge.count.assemble import Coding
from divulge.count.cluster import ClusterCounts, count_on_cluster
from divulge.count.counting import Request
from divulge.engines.spark import SparkEngine
from divulge.errors import BadInput
from divulge.metrics import Identity
from divulge.metrics.measurement import Measurement
from divulge.table.table import Table
from divulge.tasks.distributed import Stock, outlook_of, recoded, take_stock
from divulge.tasks.measure import beliefs_by, form_belief, measurement_of, population_request, settings_of
from divulge.tasks.partition import Outlook


def measure_on_spark(request: Request, *, assumptions: Assumptions, population: Table | None) -> Measurement:
    """Count on the cluster; then measure here if there are few cells, else there."""
    counts = count_on_cluster(request)
    register = None if population is None else count_on_cluster(_register(request, population, counts.engine))
    if counts.is_small and (register is None or register.is_small):
        return _measure_here(counts, register, assumptions)
    stock = stock_of(counts, register, assumptions)
    settings = settings_of(
        request.table,
        request.roles,
        stock.sample.beliefs,
        assumptions,
        nulls=request.nulls,
        population=population is not None,
        counts="cluster",
    )
    return measurement_of(
        stock.contingency,
        stock.sample.identity,
        stock.sample.beliefs,
        settings=settings,
        frame=request.table.frame,
        survey=stock,
    )


def _register(request: Request, population: Table, engine: SparkEngine) -> Request:
    found = population_request(population, request.roles, request.nulls)
    own = population.engine
    if not isinstance(own, SparkEngine) or own.session is not engine.session:
        raise BadInput(
            f"the population ({population.source}) is not in the Spark session of the table",
            hint="give both as Spark frames of one session, or both as paths",
        )
    return found


def _measure_here(counts: ClusterCounts, register: ClusterCounts | None, assumptions: Assumptions) -> Measurement:
    request = counts.request
    contingency = counts.collect()
    beliefs = {
        name: form_belief(contingency, name, assumptions, roles=request.roles, nulls=request.nulls)
        for name in contingency.cells
    }
    sizes = None if register is None else population_sizes(contingency, register.collect())
    settings = settings_of(
        request.table,
        request.roles,
        beliefs,
        assumptions,
        nulls=request.nulls,
        population=register is not None,
    )
    return measurement_of(
        contingency, Identity.of(contingency, sizes), beliefs, settings=settings, frame=request.table.frame
    )


def stock_of(
    counts: ClusterCounts,
    register: ClusterCounts | None,
    assumptions: Assumptions,
    *,
    metrics: Sequence[str] | None = None,
) -> Stock:
    """Form the beliefs about the table as one class, and take prior, order and distances from there to the workers."""
    request = counts.request
    codings: dict[str, Coding] = {}
    outlooks: dict[str, Outlook] = {}
    if request.roles.sensitive:
        marginals, codings = counts.one_class()
        for name in marginals.cells:
            by_class = assumptions.conditional.get(name)
            others = {key: prior for key, prior in assumptions.priors.items() if key != name}
            assumed = assumptions if by_class is None else replace(assumptions, priors=others, original=None)
            belief = form_belief(marginals, name, assumed, roles=request.roles, nulls=request.nulls)
            outlooks[name] = outlook_of(belief, knowledge=assumptions.knowledge.get(name), given=by_class)
            codings[name] = recoded(codings[name], belief)
    return take_stock(counts, codings, outlooks, register=register, metrics=metrics)


@dataclass(frozen=True, eq=False)
class ClusterViews:
    """The views of any combination of quasi-identifiers, from counts that stay on the cluster."""

    counts: ClusterCounts
    metrics: Sequence[str]
    assumptions: Assumptions = field(default_factory=Assumptions)
    """The adversary's; her priors are joint."""

    @property
    def rows(self) -> int:
        """Rows counted."""
        request = self.counts.request
        sql = f"SELECT COUNT(*) AS n FROM {request.table.relation}{request.where()}"
        return int(self.counts.engine.query(sql).to_pylist()[0]["n"])

    def of(self, columns: Sequence[str]) -> tuple[Identity, Mapping[str, Belief]]:
        """What the metrics of one combination are functions of."""
        whole = tuple(columns) == self.counts.request.roles.quasi_identifiers
        counts = self.counts if whole else self.counts.roll_up(columns)
        request = self.counts.request
        if counts.is_small:
            contingency = counts.collect()
            return Identity.of(contingency), beliefs_by(self.assumptions, request.roles, request.nulls)(contingency)
        stock = stock_of(counts, None, self.assumptions.known_to(columns), metrics=self.metrics)
        return stock.sample.identity, stock.sample.beliefs
