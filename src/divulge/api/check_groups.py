# SPDX-License-Identifier: Apache-2.0
"""The check of an anatomized release: exact levels of its groups, or requirements on joint classes.

The levels (alpha, beta, gamma, delta) are computed from the tables only, our own or a third
party's. With prior releases the groups become smaller. An adversary who holds all of them knows
the group and the prior classes of each person. Then the bounds are checked for these joint groups,
which are computed from the original table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from divulge import anatomization, metrics, releases
from divulge import policy as policies
from divulge.adversary import Adversary, Assumptions
from divulge.api.measure import ANATOMIZED_MESSAGE
from divulge.api.opened import OpenedAnatomized
from divulge.api.prior_releases import group_roles, join_new_groups, reject_uncertain
from divulge.arguments import arg
from divulge.counting import Request
from divulge.errors import BadInput, BrokenPromise
from divulge.policy import Policy, Verdict, judge
from divulge.results import Result
from divulge.sources import table_of


@dataclass(frozen=True, repr=False)
class ReleaseCheck(Result):
    """Levels that a release reaches, and the result of the check against bounds."""

    view = "releases"

    levels: anatomization.Reached
    model: anatomization.AlphaBetaGammaDelta
    tables: tuple[tuple[str, ...], ...]
    groups: int
    smallest: int
    largest: int
    breaking: int
    """Number of groups that violate a bound."""
    settings: Mapping[str, Any]
    """Origin of each bound, the tables, and their sensitive, group and count columns."""
    notes: tuple[str, ...] = ()

    def raise_for_broken(self) -> None:
        """Raise `BrokenPromise` with the names of the violated bounds, if there are any."""
        if not self.holds:
            violations = [
                f"{name} <= {getattr(self.model, name)} (reached {getattr(self.levels, name)})"
                for name in self.broken
            ]
            raise BrokenPromise(f"the release breaks {', '.join(violations)}")

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the violated bounds."""
        return self.model.broken_by(self.levels)

    @property
    def holds(self) -> bool:
        """True if every group meets every bound."""
        return self.breaking == 0


def check_groups(
    opened: OpenedAnatomized,
    bounds: Mapping[str, anatomization.Share],
    adversary: Adversary,
    *,
    requires_bounds: bool = True,
) -> ReleaseCheck:
    """Compute the exact levels of an anatomized release from its tables, and check its bounds.

    An explicit bound takes precedence over the release's. If there is neither, the function raises
    an error, unless `requires_bounds` is False. All four levels are verifiable from the files.
    """
    anatomization.reject_vacuous_bounds(bounds)
    model = anatomization.AlphaBetaGammaDelta(**{**opened.bounds, **bounds})
    published = opened.published()
    prior_releases, joint = _join_prior_releases(opened, published, adversary)
    group_summary = anatomization.measure_tables(joint, model)
    if requires_bounds and not bounds and model == anatomization.AlphaBetaGammaDelta():
        reached = ", ".join(
            f"{name} {level}" for name, level in group_summary.levels.texts().items()
        )
        message = (
            "the release promises nothing, so there is nothing to hold it against; it reaches "
            f"{reached}"
        )
        raise BadInput(message, hint=f"Give a bound, for example {arg('beta', '1/4')}")
    if group_summary.breaking == 0:
        reject_uncertain(prior_releases.settings, "the original")
    tables = tuple(table.columns for table in published.tables)
    return ReleaseCheck(
        levels=group_summary.levels,
        model=model,
        tables=tables,
        groups=group_summary.groups,
        smallest=group_summary.smallest,
        largest=group_summary.largest,
        breaking=group_summary.breaking,
        settings={
            "bounds": {
                name: "given" if name in bounds else "the release" for name in model.texts()
            },
            "engine": published.engine.name,
            "source": [table.source for table in published.tables],
            "sensitive": list(published.sensitive),
            "group": published.group,
            "count": published.count,
            "prior": "release",
            **(
                {"released": [dict(item) for item in prior_releases.settings]}
                if prior_releases.columns
                else {}
            ),
        },
        notes=prior_releases.notes,
        frame=published.frame,
    )


def _join_prior_releases(
    release: Any, published: anatomization.Published, adversary: Adversary
) -> tuple[releases.EarlierReleases, anatomization.Published]:
    """Prior releases, and the tables with joint groups; unchanged tables without prior releases."""
    why = "bounds of groups depend on what she holds, and the original on who is in which, alone"
    adversary.refuse(
        [
            name
            for name in adversary.explicit_settings
            if name not in ("released", "released_of", "original")
        ],
        why,
    )
    if adversary.released is None:
        adversary.refuse(
            ["original"] if adversary.original is not None else [],
            "nothing that is out already is named",
        )
    if adversary.released is None:
        return releases.EarlierReleases(), published
    people, prior_releases = join_new_groups(release, published, adversary)
    quote = people.engine.quote
    joint = (
        " || ' & ' || ".join(map(quote, prior_releases.columns)) + f" AS {quote(published.group)}"
    )
    tables = [
        table_of(
            people.engine,
            f"(SELECT {joint}, {', '.join(map(quote, table.columns))} FROM {people.relation})",
            source=people.source,
        )
        for table in published.tables
    ]
    join_options: dict[str, Any] = {
        "sensitive": published.sensitive,
        "group": published.group,
        "count": published.count,
    }
    return prior_releases, anatomization.join_tables(tables, **join_options)


def check_joint_classes(
    opened: OpenedAnatomized, policy: Policy, adversary: Adversary, *, joint: bool, sample: int
) -> Verdict:
    """Check requirements on the joint classes of an anatomized release and prior releases."""
    if adversary.released is None:
        raise BadInput(
            ANATOMIZED_MESSAGE,
            hint=f"Check them without other promises; {arg('beta')} and the like state bounds",
        )
    published = opened.published()
    roles = group_roles(published)
    for role in ("quasi_identifiers", "sensitive"):
        if policy.roles.get(role) and {*policy.roles[role]} != {*getattr(roles, role)}:
            message = (
                f"the {role} of the policy are not those of the release: "
                f"{', '.join(getattr(roles, role))}"
            )
            raise BadInput(message, hint="Give the policy that it was made by, or only promises")
    people, prior_releases = join_new_groups(opened, published, adversary)
    counting_roles = replace(roles, quasi_identifiers=prior_releases.columns)
    assumptions = Assumptions.of(adversary.holding_nothing, people, roles)
    measurement = metrics.measure_request(
        Request(people, counting_roles, adversary.counted_nulls, joint),
        assumptions=assumptions,
        population=None,
    )
    measurement = prior_releases.add_settings_to(measurement)
    protected = policies.choose_measured(policy.protections, measurement)
    return judge(measurement, policy.promises, protected=protected, sample=sample)
