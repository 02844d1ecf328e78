# SPDX-License-Identifier: Apache-2.0
"""rank() and growing(): which quasi-identifiers, alone and together, give people away."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from divulge import engines, ranking, values
from divulge import policy as policies
from divulge.api.generalize import Hierarchies, generalize
from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Nulls, Request
from divulge.errors import BadInput, Infeasible, nearest
from divulge.policy import Policy
from divulge.table import Names, Roles, Table, read, resolve_roles

_WITHOUT_EFFECT = (
    "distances",
    "taxonomies",
    "orders",
    "population",
    "population_count",
    "recursive_l",
    "tries",
    "within",
)


@values.checked
def rank(
    table: Any,
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    person: str | None = None,
    adversary: Adversary | None = None,
    up_to: int = 3,
    threshold: float = 0.8,
    sets: Sequence[Sequence[str]] = (),
    policy: policies.PolicyLike | None = None,
    hierarchies: Hierarchies | None = None,
    prune: bool = False,
    progress: Callable[[int, int], None] | None = None,
    engine: engines.EngineChoice = None,
) -> ranking.Ranking:
    """Rank attributes and their combinations by how far they give people away.

    Args:
        table: Whatever `read` opens.
        quasi_identifiers: The columns that are ranked, alone and together.
        sensitive: Columns whose values must not be learnt; how much each combination tells of them is measured as well.
        person: The column that says whose row it is, where people own several.
        adversary: As in `measure`; of a prior that depends on columns, a combination uses what it knows of them.
        up_to: The most attributes in a combination.
        threshold: The discrimination rate from which a combination counts as identifying; the smallest such ones are named.
        sets: Further combinations to measure, of any size.
        policy: The sets are measured a second time, each made coarser until it keeps these promises, with all its classes: a `Policy`, a
            mapping with the keys of a policy file, or the path of one.
        hierarchies: How columns become coarser then, as in `generalize`.
        prune: Count only combinations that can be among the smallest at the threshold: none that holds a smaller one, and none whose
            discrimination rate cannot reach it by what its parts have. This makes larger combinations of many attributes affordable.
        progress: Called with (combinations done, all combinations).
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"sex": ["f", "f", "m", "m"], "zip": ["1", "2", "1", "2"]})
        >>> ranking = dv.rank(people, quasi_identifiers=["sex", "zip"])
        >>> [(found.columns, found.identity["uniques"]) for found in ranking.combinations]
        [(('sex', 'zip'), 4), (('sex',), 0), (('zip',), 0)]
        >>> ranking = dv.rank(
        ...     people, quasi_identifiers=["sex", "zip"], sets=[["sex", "zip"]], policy=dv.Policy(k_anonymity=2)
        ... )
        >>> [(found.levels, len(found.classes)) for found in ranking.anonymized]
        [({'sex': 0, 'zip': 1}, 2)]
    """
    if up_to < 1:
        raise BadInput(f"up_to={up_to} is not possible", hint="combinations have at least 1 attribute")
    if not 0 <= threshold <= 1:
        raise BadInput(f"threshold={threshold} is not possible", hint="the discrimination rate lies between 0 and 1")
    kept = None if policy is None else Policy.of(policy)
    _refuse_idle(sets, kept, hierarchies)
    her = adversary_in_force(adversary, None if kept is None else kept.adversary)
    if kept is None:
        her.refuse(_WITHOUT_EFFECT, "a ranking shows no metric that depends on it")
    source = read(table, engine=engine)
    roles = resolve_roles(source, quasi_identifiers=quasi_identifiers, sensitive=sensitive, person=person)
    names = roles.quasi_identifiers
    for name in itertools.chain.from_iterable(sets):
        if name not in names:
            raise BadInput(f"{name!r} of a set is not among the quasi-identifiers", hint=nearest(name, names))
    if prune and person is not None:
        raise BadInput("combinations cannot be pruned where people own several rows", hint="leave prune or person out")
    anonymized: tuple[ranking.AnonymizedSet, ...] = ()
    if kept is not None:
        anonymized = tuple(_anonymized(source, roles, sets, policy=kept, hierarchies=hierarchies, adversary=her))
    found = ranking.rank_columns(
        source,
        roles,
        Assumptions.of(her, source, roles),
        nulls=her.without_wildcards(),
        up_to=up_to,
        threshold=threshold,
        sets=sets,
        prune=prune,
        progress=progress,
    )
    if kept is None:
        return found
    promised = {"promises": [promise.text for promise in kept.promises], "suppression": kept.suppression}
    return replace(found, anonymized=anonymized, settings=found.settings | promised)


def _refuse_idle(sets: Sequence[Sequence[str]], policy: Policy | None, hierarchies: Hierarchies | None) -> None:
    if policy is not None and not sets:
        raise BadInput(
            "the policy is kept by sets, and none was named", hint="name sets of quasi-identifiers to compare"
        )
    if policy is None and hierarchies is not None:
        raise BadInput("hierarchies have no effect without a policy", hint="name promises that the sets shall keep")


def _anonymized(
    source: Table,
    roles: Roles,
    sets: Sequence[Sequence[str]],
    *,
    policy: Policy,
    hierarchies: Hierarchies | None,
    adversary: Adversary,
) -> Iterator[ranking.AnonymizedSet]:
    """Each set as the only quasi-identifiers of a release, which is measured and not written."""
    given = hierarchies if isinstance(hierarchies, Mapping) else {}
    if (unknown := next((name for name in given if name not in roles.quasi_identifiers), None)) is not None:
        told = f"a hierarchy is given for {unknown!r}, which is not a quasi-identifier"
        raise BadInput(told, hint=nearest(unknown, roles.quasi_identifiers))
    for columns in map(tuple, sets):
        own = {name: spec for name, spec in policy.hierarchies.items() if name in columns}
        levels = {name: spec for name, spec in given.items() if name in columns}
        published = (*columns, *roles.sensitive, roles.person)
        try:
            release = generalize(
                source,
                policy=replace(policy, hierarchies=own, roles={}),
                quasi_identifiers=columns,
                sensitive=roles.sensitive,
                person=roles.person,
                leave_out=[name for name in source.names if name not in published],
                hierarchies=levels if hierarchies is given else hierarchies,
                adversary=adversary,
            )
        except Infeasible as error:
            yield ranking.AnonymizedSet(columns, {}, None, 0, None, (), str(error))
            continue
        plan = release.plan
        yield ranking.AnonymizedSet.of(columns, plan.levels, plan.value, plan.suppressed, release.after)


@values.checked
def growing(
    table: Any,
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    nulls: Nulls = "category",
    every: int = 1,
    progress: Callable[[int, int], None] | None = None,
    engine: engines.EngineChoice = None,
) -> ranking.Growth:
    """Measure the first n quasi-identifiers together, for n = 1, 2, 3 and so on.

    Args:
        table: Whatever `read` opens.
        quasi_identifiers: The columns, in the order in which they are added.
        sensitive: Columns whose values must not be learnt; how much each set tells of them is measured as well.
        nulls: A null is a "category" of its own, or its row is left out: "drop".
        every: For which n sets are measured: 1, the multiples of this number, and all.
        progress: Called with (columns done, all columns).
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"sex": ["f", "f", "m", "m"], "zip": ["1", "2", "3", "3"]})
        >>> found = dv.growing(people, quasi_identifiers=["sex", "zip"])
        >>> [(step.n, step.identity["uniques"], step.identity["itpr"]) for step in found.steps]
        [(1, 0, 0.5), (2, 2, 1.0)]
    """
    if every < 1:
        raise BadInput(f"every={every} is not possible", hint="sets grow by at least 1 attribute")
    source = read(table, engine=engine)
    roles = resolve_roles(source, quasi_identifiers=quasi_identifiers, sensitive=sensitive)
    return ranking.grow(Request(source, roles, nulls, joint=False), every=every, progress=progress)
