# SPDX-License-Identifier: Apache-2.0
"""rank() and growing(): disclosure risk of quasi-identifiers, individually and in combination."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from divulge import engines, ranking
from divulge import policy as policies
from divulge.adversary import Adversary, Assumptions
from divulge.api.generalize import generalize
from divulge.api.request import resolve_request
from divulge.arguments import arg
from divulge.counting import Nulls, Request
from divulge.errors import BadInput, Infeasible, nearest
from divulge.generalization import Hierarchies
from divulge.policy import Policy
from divulge.sources import Names, Roles, Table, read, resolve_roles
from divulge.validation import checked

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


@checked
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
    """Rank attributes and their combinations by disclosure risk.

    Args:
        table: Any source that `read` opens.
        quasi_identifiers: The columns to rank, individually and in combination.
        sensitive: Columns whose values must not be disclosed; the information of each combination
            about them is measured as well.
        person: The column that names the person each row belongs to, if people have several rows.
        adversary: As in `measure`; with a prior that depends on columns, a combination uses those
            of them that it contains.
        up_to: Largest number of attributes in a combination.
        threshold: The discrimination rate from which a combination counts as identifying; the
            smallest such combinations are listed.
        sets: Further combinations to measure, of any size.
        policy: The sets are measured a second time, each generalized until it meets these
            requirements, with all its classes: a `Policy`, a mapping with the keys of a policy
            file, or the path of one.
        hierarchies: Generalization hierarchies for that, as in `generalize`.
        prune: Count only combinations that can be among the smallest at the threshold. This skips
            combinations that contain a smaller one, and those whose parts bound the discrimination
            rate below the threshold. It makes larger combinations of many attributes affordable.
        progress: Called with (combinations done, all combinations).
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"sex": ["f", "f", "m", "m"], "zip": ["1", "2", "1", "2"]})
        >>> ranking = dv.rank(people, quasi_identifiers=["sex", "zip"])
        >>> [(found.columns, found.identity["uniques"]) for found in ranking.combinations]
        [(('sex', 'zip'), 4), (('sex',), 0), (('zip',), 0)]
        >>> ranking = dv.rank(
        ...     people,
        ...     quasi_identifiers=["sex", "zip"],
        ...     sets=[["sex", "zip"]],
        ...     policy=dv.Policy(k_anonymity=2),
        ... )
        >>> [(found.levels, len(found.classes)) for found in ranking.anonymized]
        [({'sex': 0, 'zip': 1}, 2)]
    """
    if up_to < 1:
        raise BadInput(
            f"{arg('up_to', up_to)} is not possible", hint="combinations have at least 1 attribute"
        )
    if not 0 <= threshold <= 1:
        raise BadInput(
            f"{arg('threshold', threshold)} is not possible",
            hint="the discrimination rate lies between 0 and 1",
        )
    request = resolve_request(policy=policy, adversary=adversary)
    effective_policy = None if policy is None else request.policy
    effective_adversary = request.adversary
    _reject_unused_options(sets, effective_policy, hierarchies)
    if effective_policy is None:
        effective_adversary.refuse(_WITHOUT_EFFECT, "a ranking shows no metric that depends on it")
    source = read(table, engine=engine)
    roles = resolve_roles(
        source, quasi_identifiers=quasi_identifiers, sensitive=sensitive, person=person
    )
    names = roles.quasi_identifiers
    for name in itertools.chain.from_iterable(sets):
        if name not in names:
            raise BadInput(
                f"{name!r} of a set is not among the quasi-identifiers", hint=nearest(name, names)
            )
    if prune and person is not None:
        raise BadInput(
            "combinations cannot be pruned where people own several rows",
            hint="leave prune or person out",
        )
    anonymized: tuple[ranking.AnonymizedSet, ...] = ()
    if effective_policy is not None:
        anonymized = tuple(
            _anonymize_sets(
                source,
                roles,
                sets,
                policy=effective_policy,
                hierarchies=hierarchies,
                adversary=effective_adversary,
            )
        )
    column_ranking = ranking.rank_columns(
        source,
        roles,
        Assumptions.of(effective_adversary, source, roles),
        nulls=effective_adversary.without_wildcards(),
        up_to=up_to,
        threshold=threshold,
        sets=sets,
        prune=prune,
        progress=progress,
    )
    if effective_policy is None:
        return column_ranking
    policy_settings = {
        "promises": [promise.text for promise in effective_policy.promises],
        "suppression": effective_policy.suppression,
    }
    return replace(
        column_ranking, anonymized=anonymized, settings=column_ranking.settings | policy_settings
    )


def _reject_unused_options(
    sets: Sequence[Sequence[str]], policy: Policy | None, hierarchies: Hierarchies | None
) -> None:
    if policy is not None and not sets:
        raise BadInput(
            "the policy is kept by sets, and none was named",
            hint="name sets of quasi-identifiers to compare",
        )
    if policy is None and hierarchies is not None:
        raise BadInput(
            "hierarchies have no effect without a policy",
            hint="name promises that the sets shall keep",
        )


def _anonymize_sets(
    source: Table,
    roles: Roles,
    sets: Sequence[Sequence[str]],
    *,
    policy: Policy,
    hierarchies: Hierarchies | None,
    adversary: Adversary,
) -> Iterator[ranking.AnonymizedSet]:
    """Release each set as the only quasi-identifiers; the release is measured and not written."""
    if isinstance(hierarchies, Mapping):
        explicit_specs = hierarchies
    else:
        explicit_specs = {}
    if (
        unknown := next(
            (name for name in explicit_specs if name not in roles.quasi_identifiers), None
        )
    ) is not None:
        message = f"a hierarchy is given for {unknown!r}, which is not a quasi-identifier"
        raise BadInput(message, hint=nearest(unknown, roles.quasi_identifiers))
    for columns in map(tuple, sets):
        policy_hierarchies = {
            name: spec for name, spec in policy.hierarchies.items() if name in columns
        }
        levels = {name: spec for name, spec in explicit_specs.items() if name in columns}
        published = (*columns, *roles.sensitive, roles.person)
        try:
            release = generalize(
                source,
                policy=replace(policy, hierarchies=policy_hierarchies, roles={}),
                quasi_identifiers=columns,
                sensitive=roles.sensitive,
                person=roles.person,
                leave_out=[name for name in source.names if name not in published],
                hierarchies=levels if hierarchies is explicit_specs else hierarchies,
                adversary=adversary,
            )
        except Infeasible as error:
            yield ranking.AnonymizedSet(columns, {}, None, 0, None, (), str(error))
            continue
        plan = release.plan
        yield ranking.AnonymizedSet.of(
            columns, plan.levels, plan.value, plan.suppressed, release.after
        )


@checked
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
        table: Any source that `read` opens.
        quasi_identifiers: The columns, in the order in which they are added.
        sensitive: Columns whose values must not be disclosed; the information of each set about
            them is measured as well.
        nulls: Treat a null as a "category" of its own, or "drop" its row.
        every: Step of n: sets are measured for 1, the multiples of this number, and all columns.
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
        raise BadInput(
            f"{arg('every', every)} is not possible", hint="sets grow by at least 1 attribute"
        )
    source = read(table, engine=engine)
    roles = resolve_roles(source, quasi_identifiers=quasi_identifiers, sensitive=sensitive)
    return ranking.grow(
        Request(source, roles, nulls, joint=False), column_step=every, progress=progress
    )
