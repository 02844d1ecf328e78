# SPDX-License-Identifier: Apache-2.0
"""Re-identification of rows: prosecutor, journalist and marketer attacks, and singling out.

The first three follow El Emam and Dankar 2008, and Dankar and El Emam 2010. The rows of a release
have no names and no order. If n rows match the adversary's knowledge, the adversary picks one. The
pick is right with probability 1/n if the target's own row is among them (`Stage.own_row_fits`), and
0 otherwise. This expectation is counted instead of a random draw. If values were perturbed, a key
column identifies a person's own rows. Without a key, any row that matches the target's true values
counts as their own, and the rate is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from divulge import arrays, metrics
from divulge.arrays import Floats, Ints
from divulge.attacks.context import AttackContext, People
from divulge.attacks.matching import Matcher, Matches
from divulge.attacks.result import AtRisk, Attempt, Bound, Rate

MAX_AT_RISK = 5


def prosecutor(context: AttackContext) -> Iterator[Attempt]:
    """Prosecutor attack: the target is known to be in the release; one matching row is picked."""
    matches = context.matches(context.targets)
    success = right_rows(context, context.knows)
    confidence = np.where(matches.rows > 0, 1 / np.maximum(matches.rows, 1), 0.0)
    mean_success = arrays.sum_by_id(matches.of_person, success, len(confidence)) / np.maximum(
        matches.people, 1
    )
    bound = context.bound(None)
    if bound is None:
        membership = None
    else:
        membership = context.in_release(None)
    yield Attempt(
        name="prosecutor",
        aim="linkability",
        about=None,
        knows=context.knows,
        targets=len(context.targets),
        guesses=int(matches.people[matches.rows > 0].sum()),
        successes=float(success.sum()),
        random=1 / context.matcher.records if context.matcher.records else None,
        bound=bound,
        in_release=None
        if membership is None
        else Rate.expected(float(success.sum()), float(membership.sum())),
        most_at_risk=at_risk(context.targets, matches, confidence, mean_success),
        told="for each target she takes one of the rows that fit what she knows",
    )


def right_rows(context: AttackContext, knows: Sequence[str]) -> Floats:
    """Compute for each target the probability that the picked row is their own.

    An expected number of records below one counts as one.
    """
    matches = context.matches(context.targets, knows)
    rows = np.maximum(matches.rows, 1)[matches.of_person]
    return np.where(matches.rows[matches.of_person] > 0, context.own_row_fits(knows) / rows, 0.0)


def at_risk(
    people: People,
    matches: Matches,
    belief: Floats,
    right: Floats,
    guess: list[str | None] | None = None,
) -> tuple[AtRisk, ...]:
    """Select the tuples with the highest confidence; equal ones are sorted by number of people."""
    tuple_indices = metrics.worst_first(
        np.where(belief > 0, belief, np.nan), matches.people, limit=MAX_AT_RISK
    ).tolist()
    known_rows = people.known_values.take(pa.array(matches.first[tuple_indices])).to_pylist()
    return tuple(
        AtRisk(
            known=row,
            people=int(matches.people[tuple_index]),
            fitting=float(matches.rows[tuple_index]),
            guess=None if guess is None else guess[tuple_index],
            belief=float(belief[tuple_index]),
            right=float(right[tuple_index]),
        )
        for tuple_index, row in zip(tuple_indices, known_rows, strict=True)
    )


def marketer(context: AttackContext) -> Iterator[Attempt]:
    """Marketer attack: each row is assigned to a matching person of a list, each person only once.

    If n rows and N people match each other, min(n, N) rows are assigned. Each assignment is right
    with probability 1/max(n, N).
    """
    rows, people = context.matcher.crowds(context.everybody, context.knows)
    assigned_rows = np.minimum(rows, people)
    expected_right = assigned_rows / np.maximum(np.maximum(rows, people), 1)
    bound = context.bound(None, average=True)
    description = "every row is given to somebody whom it fits"
    yield _attempt_on_rows(
        context,
        "marketer",
        rows=rows,
        guessed_rows=assigned_rows,
        expected_right=expected_right,
        bound=bound,
        description=description,
    )


def journalist(context: AttackContext) -> Iterator[Attempt]:
    """Journalist attack: a matching person of the population is named for each row.

    The adversary does not know who is in the release.
    """
    if context.population is None:
        return
    count = context.adversary.population_count
    rows, people = context.matcher.crowds(context.population, context.knows, count=count)
    named_rows = np.where(people > 0, rows, 0.0)
    expected_right = named_rows / np.maximum(np.maximum(rows, people), 1)
    description = "for every row she names somebody of the population whom it fits"
    bound = context.bound(None, journalist=True)
    yield _attempt_on_rows(
        context,
        "journalist",
        rows=rows,
        guessed_rows=named_rows,
        expected_right=expected_right,
        bound=bound,
        description=description,
    )


def without_population(context: AttackContext) -> str:
    """Return the reason that the journalist attack does not apply; empty if it does."""
    if context.population is not None:
        return in_several_tables(context)
    return "no population is given"


def in_several_tables(context: AttackContext) -> str:
    """Return the reason that rows cannot be picked; empty if they can.

    An anatomized release may have the known columns in several tables.
    """
    tables = [] if context.published is None else context.published.tables
    holding = [table for table in tables if set(table.columns) & set(context.knows)]
    return (
        "what she knows stands in several tables of an anatomized release, so no row is a person's"
        if len(holding) > 1
        else ""
    )


def _attempt_on_rows(
    context: AttackContext,
    name: str,
    *,
    rows: Floats,
    guessed_rows: Floats,
    expected_right: Floats,
    bound: Bound | None,
    description: str,
) -> Attempt:
    """Build the attempt of an attack on every row of the release instead of sampled people."""
    total = round(float(rows.sum()))
    return Attempt(
        name=name,
        aim="linkability",
        about=None,
        knows=context.knows,
        targets=total,
        guesses=min(round(float(guessed_rows.sum())), total),
        successes=float(expected_right.sum()),
        random=1 / total if total else None,
        bound=bound,
        told=description,
    )


def singling_out(context: AttackContext) -> Iterator[Attempt]:
    """Singling-out attack: each row with unique labels is a predicate.

    A predicate succeeds if exactly one person matches it. The baseline is the success of predicates
    with labels drawn independently for each column. The control is the success of the predicates on
    the control group.
    """
    rows, people = context.matcher.crowds(context.everybody, context.knows)
    is_unique = rows == 1
    total = round(float(rows.sum()))
    control = None
    if context.nobody is not None:
        rows, others = context.matcher.crowds(context.nobody, context.knows)
        control = Rate(int(((rows == 1) & (others == 1)).sum()), total)
    bound = context.bound(None)
    yield Attempt(
        name="singling-out",
        aim="singling out",
        about=None,
        knows=context.knows,
        targets=total,
        guesses=int(is_unique.sum()),
        successes=int((is_unique & (people == 1)).sum()),
        random=_random_predicate_success(context),
        control=control,
        bound=None if bound is None or bound.value > 0.5 else Bound(0.0, bound.promise),
        told="each row that is alone with its labels is a predicate; it succeeds where exactly "
        "one person of the truth fits it",
    )


def _random_predicate_success(context: AttackContext) -> float:
    """Compute the share of random predicates that single out a person.

    Each label of a random predicate is drawn independently.
    """
    draws = max(len(context.targets), 1)
    generator = context.generator("singling-out")
    columns = {name: _draw_labels(context, name, draws, generator) for name in context.knows}
    matcher = Matcher.of_predicates(context.matcher, pa.table(columns))
    predicates, people = matcher.crowds(context.everybody, context.knows)
    return float(predicates[people == 1].sum() / draws)


def _draw_labels(
    context: AttackContext, column: str, draws: int, generator: np.random.Generator
) -> pa.Array:
    masses = context.matcher.totals(column)
    codes: Ints = generator.choice(len(masses), size=draws, p=masses / masses.sum())
    return pa.array(context.matcher.labels(column), pa.string()).take(pa.array(codes))
