# SPDX-License-Identifier: Apache-2.0
"""What combinations of quasi-identifiers give away, and where their numbers come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from divulge.belief import Belief
from divulge.count.assemble import Coding
from divulge.count.counts import Counts
from divulge.metrics import Identity, find_metric
from divulge.metrics.identity import distinction, separation
from divulge.metrics.measurement import as_number
from divulge.metrics.metric import Metric
from divulge.tasks.distributed import default_outlooks, survey_classes
from divulge.tasks.partition import Outlook

Names = tuple[str, ...]
Numbers = dict[str, float | int]

IDENTITY = ("k_anonymity", "classes", "uniques", "discrimination_rate", "itpr")
SENSITIVE = ("mutual_information", "discrimination_rate", "itpr", "distribution_leakage", "entropy_leakage")
_IDENTITY = tuple(find_metric(name, "identity") for name in IDENTITY)
_SENSITIVE = tuple(find_metric(name, "sensitive") for name in SENSITIVE)


@dataclass(frozen=True)
class Combination:
    """What one set of columns gives away."""

    columns: Names
    identity: Numbers
    sensitive: dict[str, Numbers]

    @property
    def rate(self) -> float:
        """The discrimination rate: the share of the bits that name a person."""
        return float(self.identity["discrimination_rate"])

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {"columns": list(self.columns), "identity": self.identity, "sensitive": self.sensitive}


class Scorer(Protocol):
    """Finds the numbers of combinations."""

    @property
    def rows(self) -> int:
        """Rows of the table."""

    def score(self, columns: Names) -> Combination:
        """One combination."""

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Many combinations, in any order."""

    def score_without_each(self, columns: Names) -> Iterator[tuple[str, Combination]]:
        """For each of two or more columns, all the others."""


@dataclass(frozen=True, eq=False)
class OneByOne:
    """Every combination by itself, from counts that are held: rolled up, or counted again where people own several rows."""

    counts: Counts

    @property
    def rows(self) -> int:
        """Rows of the table."""
        request = self.counts.request
        sql = f"SELECT COUNT(*) AS n FROM {request.table.relation}{request.where()}"
        return int(request.table.engine.query(sql).column("n")[0].as_py())

    def score(self, columns: Names) -> Combination:
        """One combination."""
        whole = columns == self.counts.request.roles.quasi_identifiers
        identity, beliefs = _views(self.counts if whole else self.counts.roll_up(columns))
        return Combination(
            columns, identity_numbers(identity), {name: belief_numbers(belief) for name, belief in beliefs.items()}
        )

    def score_all(self, combinations: Sequence[Names]) -> Iterator[Combination]:
        """Many combinations, one after the other."""
        return map(self.score, combinations)

    def score_without_each(self, columns: Names) -> Iterator[tuple[str, Combination]]:
        """For each column, all the others."""
        return ((left_out, self.score(without(columns, left_out))) for left_out in columns)


def _views(counts: Counts) -> tuple[Identity, Mapping[str, Belief]]:
    """What the metrics of one combination are functions of."""
    if counts.is_small:
        contingency = counts.collect()
        return Identity.of(contingency), {name: Belief.of_table(cells) for name, cells in contingency.cells.items()}
    codings: dict[str, Coding] = {}
    outlooks: dict[str, Outlook] = {}
    if counts.layout.values:
        marginals, codings = counts.one_class()
        outlooks = default_outlooks(marginals)
    sample = survey_classes(counts, codings, outlooks, metrics=(*IDENTITY, *SENSITIVE)).sample
    return sample.identity, sample.beliefs


def identity_numbers(view: Identity) -> Numbers:
    """What a ranking shows about identity."""
    return _numbers(_IDENTITY, view) | {"distinction": distinction(view), "separation": separation(view)}


def belief_numbers(belief: Belief) -> Numbers:
    """What a ranking shows about a sensitive attribute."""
    return _numbers(_SENSITIVE, belief)


def without(columns: Names, left_out: str) -> Names:
    """All columns but one."""
    return tuple(name for name in columns if name != left_out)


def _numbers(metrics: Sequence[Metric[Any]], view: Identity | Belief) -> Numbers:
    return {metric.name: as_number(metric, metric.value(view)[0]) for metric in metrics}
