# SPDX-License-Identifier: Apache-2.0
"""check_anatomized(): which (alpha, beta, gamma, delta) an anatomized release keeps, ours or another's, from its tables alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from divulge.anatomize import AlphaBetaGammaDelta, Reached
from divulge.anatomize.measured import measure_tables
from divulge.anatomize.model import Share
from divulge.anatomize.published import COUNT, GROUP
from divulge.engines.choose import choose_engine
from divulge.results import Result
from divulge.tasks.query import open_anatomized


@dataclass(frozen=True, repr=False)
class ReleaseCheck(Result):
    """What a release reaches, and whether it keeps what is asked."""

    view = "releases"

    levels: Reached
    model: AlphaBetaGammaDelta
    tables: tuple[tuple[str, ...], ...]
    groups: int
    smallest: int
    largest: int
    breaking: int
    """How many groups break a bound."""

    @property
    def holds(self) -> bool:
        """Every group keeps every bound."""
        return self.breaking == 0


def check_anatomized(
    release: Any,
    *,
    alpha: Share = 1,
    beta: Share = 1,
    gamma: Share = 1,
    delta: Share = 1,
    sensitive: str | Sequence[str] = (),
    group: str = GROUP,
    count: str = COUNT,
    engine: Any = None,
) -> ReleaseCheck:
    """Work out the exact levels of a release from its tables and hold them against bounds.

    `sensitive`, `group` and `count` name columns of another's release; ours says itself. The prior of delta is the distribution of
    the sensitive values over all groups, for an anatomized release leaves nobody out. With the engine "spark", or one of yours, groups are
    measured on the workers, which must see the files.
    """
    model = AlphaBetaGammaDelta(alpha=alpha, beta=beta, gamma=gamma, delta=delta)
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    published = open_anatomized(release, sensitive=names, group=group, count=count, engine=choose_engine(engine))
    found = measure_tables(published, model)
    return ReleaseCheck(
        levels=found.levels,
        model=model,
        tables=tuple(table.columns for table in published.tables),
        groups=found.groups,
        smallest=found.smallest,
        largest=found.largest,
        breaking=found.breaking,
    )
