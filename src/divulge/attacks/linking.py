# SPDX-License-Identifier: Apache-2.0
"""Whose row is it? Prosecutor, journalist and marketer (El Emam and Dankar 2008; Dankar and El Emam 2010), and singling out.

The rows of a release bear no name and lie in no order. Of n rows that fit what she knows, she takes one; she is right with chance 1/n if
the target's own row is among them (`Stage.own_row_fits`), and not at all if it is not. This expectation is counted instead of a throw. Of
a table whose values were changed, a column that says whose a row is tells which are the own ones; without it any row that fits what is true
of the target passes for the own one, and the rate is the most that she achieves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from divulge import arrays, metrics
from divulge.arrays import Floats, Ints
from divulge.attacks.attempt import AtRisk, Attempt, Bound, Rate
from divulge.attacks.matching import Matcher, Matches
from divulge.attacks.stage import People, Stage

MOST_AT_RISK = 5


def prosecutor(stage: Stage) -> Iterator[Attempt]:
    """She knows that the target is in the release, and takes one of the rows that fit."""
    matches, right = stage.matches(stage.targets), right_rows(stage, stage.knows)
    sure = np.where(matches.rows > 0, 1 / np.maximum(matches.rows, 1), 0.0)
    share = arrays.sum_by_id(matches.of_person, right, len(sure)) / np.maximum(matches.people, 1)
    bound = stage.bound(None)
    there = None if bound is None else stage.in_release(None)
    yield Attempt(
        name="prosecutor",
        aim="linkability",
        about=None,
        knows=stage.knows,
        targets=len(stage.targets),
        guesses=int(matches.people[matches.rows > 0].sum()),
        successes=float(right.sum()),
        random=1 / stage.matcher.records if stage.matcher.records else None,
        bound=bound,
        in_release=None if there is None else Rate.expected(float(right.sum()), float(there.sum())),
        most_at_risk=at_risk(stage.targets, matches, sure, share),
        told="for each target she takes one of the rows that fit what she knows",
    )


def right_rows(stage: Stage, knows: Sequence[str]) -> Floats:
    """For each target the chance that the row she takes is the target's own; an expected record of less than one is one."""
    matches = stage.matches(stage.targets, knows)
    rows = np.maximum(matches.rows, 1)[matches.of_person]
    return np.where(matches.rows[matches.of_person] > 0, stage.own_row_fits(knows) / rows, 0.0)


def at_risk(
    people: People, matches: Matches, belief: Floats, right: Floats, guess: list[str | None] | None = None
) -> tuple[AtRisk, ...]:
    """The tuples of which she is surest, larger ones first where she is as sure."""
    chosen = metrics.worst_first(np.where(belief > 0, belief, np.nan), matches.people, most=MOST_AT_RISK).tolist()
    known = people.known.take(pa.array(matches.first[chosen])).to_pylist()
    return tuple(
        AtRisk(
            known=row,
            people=int(matches.people[place]),
            fitting=float(matches.rows[place]),
            guess=None if guess is None else guess[place],
            belief=float(belief[place]),
            right=float(right[place]),
        )
        for place, row in zip(chosen, known, strict=True)
    )


def marketer(stage: Stage) -> Iterator[Attempt]:
    """She has a list of everybody and gives each row to somebody on it whom it fits, nobody twice.

    Of n rows and N people who fit each other, min(n, N) are given out, each rightly with chance 1/max(n, N).
    """
    rows, people = stage.matcher.crowds(stage.everybody, stage.knows)
    given = np.minimum(rows, people)
    right = given / np.maximum(np.maximum(rows, people), 1)
    bound, told = stage.bound(None, average=True), "every row is given to somebody whom it fits"
    yield _over_rows(stage, "marketer", rows=rows, tried=given, right=right, bound=bound, told=told)


def journalist(stage: Stage) -> Iterator[Attempt]:
    """She does not know who is in the release, and names somebody of the population whom a row fits."""
    if stage.population is None:
        return
    count = stage.adversary.population_count
    rows, people = stage.matcher.crowds(stage.population, stage.knows, count=count)
    tried = np.where(people > 0, rows, 0.0)
    right = tried / np.maximum(np.maximum(rows, people), 1)
    told = "for every row she names somebody of the population whom it fits"
    bound = stage.bound(None, journalist=True)
    yield _over_rows(stage, "journalist", rows=rows, tried=tried, right=right, bound=bound, told=told)


def without_population(stage: Stage) -> str:
    """Why there is no journalist."""
    return taken_apart(stage) if stage.population is not None else "no population is given"


def taken_apart(stage: Stage) -> str:
    """Why there are no rows to pick: an anatomized release has what is known in several tables."""
    tables = [] if stage.published is None else stage.published.tables
    holding = [table for table in tables if set(table.columns) & set(stage.knows)]
    return (
        "what she knows stands in several tables of an anatomized release, so no row is a person's"
        if len(holding) > 1
        else ""
    )


def _over_rows(
    stage: Stage, name: str, *, rows: Floats, tried: Floats, right: Floats, bound: Bound | None, told: str
) -> Attempt:
    """An attack on every row of the release instead of chosen people."""
    total = round(float(rows.sum()))
    return Attempt(
        name=name,
        aim="linkability",
        about=None,
        knows=stage.knows,
        targets=total,
        guesses=min(round(float(tried.sum())), total),
        successes=float(right.sum()),
        random=1 / total if total else None,
        bound=bound,
        told=told,
    )


def singling_out(stage: Stage) -> Iterator[Attempt]:
    """Each row that is alone with its labels makes a predicate; it succeeds where exactly one person fits it.

    Beside it stand as many predicates of labels that are drawn column by column, and the same predicates on the control group.
    """
    rows, people = stage.matcher.crowds(stage.everybody, stage.knows)
    alone = rows == 1
    total = round(float(rows.sum()))
    control = None
    if stage.nobody is not None:
        rows, others = stage.matcher.crowds(stage.nobody, stage.knows)
        control = Rate(int(((rows == 1) & (others == 1)).sum()), total)
    bound = stage.bound(None)
    yield Attempt(
        name="singling-out",
        aim="singling out",
        about=None,
        knows=stage.knows,
        targets=total,
        guesses=int(alone.sum()),
        successes=int((alone & (people == 1)).sum()),
        random=_blind_predicates(stage),
        control=control,
        bound=None if bound is None or bound.value > 0.5 else Bound(0.0, bound.promise),
        told="each row that is alone with its labels is a predicate; it succeeds where exactly one person of the truth fits it",
    )


def _blind_predicates(stage: Stage) -> float:
    """The share of predicates that single somebody out although each of their labels was drawn by itself."""
    draws, chance = max(len(stage.targets), 1), stage.generator("singling-out")
    columns = {name: _labels_drawn(stage, name, draws, chance) for name in stage.knows}
    drawn = Matcher.of_predicates(stage.matcher, pa.table(columns))
    predicates, people = drawn.crowds(stage.everybody, stage.knows)
    return float(predicates[people == 1].sum() / draws)


def _labels_drawn(stage: Stage, column: str, draws: int, chance: np.random.Generator) -> pa.Array:
    masses = stage.matcher.totals(column)
    codes: Ints = chance.choice(len(masses), size=draws, p=masses / masses.sum())
    return pa.array(stage.matcher.labels(column), pa.string()).take(pa.array(codes))
