# SPDX-License-Identifier: Apache-2.0
"""check_anatomized(): which (alpha, beta, gamma, delta) an anatomized release keeps, ours or another's, from its tables alone.

Beside what is out already the groups become smaller: whoever holds all of it knows of each person the group and the classes that she has
there. Then the bounds are held against these joint groups, as the table that the release was made of knows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge import anatomy, engines, publish, values
from divulge import ledger as ledgers
from divulge.api.query import open_anatomized, promised_by
from divulge.api.released import groups_beside
from divulge.belief import Adversary, adversary_in_force
from divulge.engines import choose_engine
from divulge.errors import BadInput, BrokenPromise
from divulge.results import Result
from divulge.table import table_of


@dataclass(frozen=True, repr=False)
class ReleaseCheck(Result):
    """What a release reaches, and whether it keeps what is asked."""

    view = "releases"

    levels: anatomy.Reached
    model: anatomy.AlphaBetaGammaDelta
    tables: tuple[tuple[str, ...], ...]
    groups: int
    smallest: int
    largest: int
    breaking: int
    """How many groups break a bound."""
    settings: Mapping[str, Any]
    """Where each bound comes from, the tables, and which of their columns are sensitive, name the group, and count."""
    notes: tuple[str, ...] = ()

    def raise_for_broken(self) -> None:
        """Raise `BrokenPromise`, which names what is broken, unless every group keeps every bound."""
        if not self.holds:
            told = [
                f"{name} <= {getattr(self.model, name)} (reached {getattr(self.levels, name)})" for name in self.broken
            ]
            raise BrokenPromise(f"the release breaks {', '.join(told)}")

    @property
    def broken(self) -> tuple[str, ...]:
        """The names of the bounds that are exceeded."""
        return self.model.broken_by(self.levels)

    @property
    def holds(self) -> bool:
        """Every group keeps every bound."""
        return self.breaking == 0


@values.checked
def check_anatomized(
    release: Any,
    *,
    alpha: anatomy.Share | None = None,
    beta: anatomy.Share | None = None,
    gamma: anatomy.Share | None = None,
    delta: anatomy.Share | None = None,
    sensitive: str | Sequence[str] = (),
    group: str = anatomy.GROUP,
    count: str = anatomy.COUNT,
    adversary: Adversary | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> ReleaseCheck:
    """Work out the exact levels of an anatomized release from its tables alone, and hold them against what it promises.

    A bound that is given goes before the one that the release promises. Where there is neither, nothing is judged: that is refused. All
    four levels are shown by the files alone; the prior of delta is the distribution of the sensitive values over all groups, for an
    anatomized release leaves nobody out. Beside what is out already (`adversary`, `ledger`) joint groups are held against the bounds: who
    has the same group and the same classes there. The original alone says who that is.

    Args:
        release: An anatomized release, ours or another's, as in `query`.
        alpha: As in `anatomize`, and so are the other bounds; 1 demands nothing. By default what the release promises.
        beta: The bound on attribute linkage.
        gamma: The bound on table linkage.
        delta: The bound on the probabilistic attack.
        sensitive: The sensitive columns of another's release; ours says itself, and what is given goes before it.
        group: The column of another's release that names the group.
        count: The column of another's release that says how often a row stands in its group.
        adversary: What she holds already (released=), and the table that the release was made of (original=); nothing else about her has
            an effect here.
        ledger: The `Ledger`, or its folder, that knows what is out already: she holds that too.
        engine: As in `read`; with Spark groups are measured on the workers, which must see the files.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 33, 45, 42]})
        >>> jobs = pa.table({"GID": [1, 2, 2], "job": ["Teacher", "Doctor", "Teacher"], "Count": [2, 1, 1]})
        >>> found = dv.check_anatomized([ages, jobs], sensitive="job", beta="1/2")
        >>> found.levels.beta, found.holds
        (Fraction(1, 1), False)
    """
    bounds = {"alpha": alpha, "beta": beta, "gamma": gamma, "delta": delta}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    model = anatomy.AlphaBetaGammaDelta(**{**promised_by(release), **given})
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    published = open_anatomized(release, sensitive=names, group=group, count=count, engine=choose_engine(engine))
    beside, joint = _beside(release, published, adversary_in_force(adversary), ledger)
    found = anatomy.measure_tables(joint, model)
    if not given and model == anatomy.AlphaBetaGammaDelta():
        reached = ", ".join(f"{name} {level}" for name, level in found.levels.texts().items())
        told = f"the release promises nothing, so there is nothing to hold it against; it reaches {reached}"
        raise BadInput(told, hint="Give a bound, for example beta=1/4")
    tables = tuple(table.columns for table in published.tables)
    return ReleaseCheck(
        levels=found.levels,
        model=model,
        tables=tables,
        groups=found.groups,
        smallest=found.smallest,
        largest=found.largest,
        breaking=found.breaking,
        settings={
            "bounds": {name: "given" if name in given else "the release" for name in model.texts()},
            "engine": published.engine.name,
            "source": [table.source for table in published.tables],
            "sensitive": list(published.sensitive),
            "group": published.group,
            "count": published.count,
            "prior": "release",
            **({"released": [dict(item) for item in beside.settings]} if beside.columns else {}),
        },
        notes=beside.notes,
        frame=published.frame,
    )


def _beside(
    release: Any, published: anatomy.Published, her: Adversary, ledger: str | Path | ledgers.Ledger | None
) -> tuple[publish.EarlierReleases, anatomy.Published]:
    """What is out already, and the tables with joint groups: as they are where nothing is."""
    why = "bounds of groups depend on what she holds, and the original on who is in which, alone"
    her.refuse([name for name in her.given if name not in ("released", "released_of", "original")], why)
    if ledger is None and her.released is None:
        her.refuse(["original"] if her.original is not None else [], "nothing that is out already is named")
    _, holder = ledgers.judge_by(ledger, her)
    if holder.released is None:
        return publish.EarlierReleases(), published
    people, held = groups_beside(release, published, holder)
    quote = people.engine.quote
    joint = " || ' & ' || ".join(map(quote, held.columns)) + f" AS {quote(published.group)}"
    tables = [
        table_of(
            people.engine,
            f"(SELECT {joint}, {', '.join(map(quote, table.columns))} FROM {people.relation})",
            source=people.source,
        )
        for table in published.tables
    ]
    asked: dict[str, Any] = {"sensitive": published.sensitive, "group": published.group, "count": published.count}
    return held, anatomy.join_tables(tables, **asked)
