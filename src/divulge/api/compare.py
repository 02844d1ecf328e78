# SPDX-License-Identifier: Apache-2.0
"""compare(): compare tables, releases, or one table under several policies.

The comparison covers every metric, utility, and the people whose risk is higher or lower. All
tables are measured with the same roles and the same adversary. If the original is known, its
distribution is the adversary's prior. The first table is the reference. People are followed from
their class there to their class in each other table: by the release's recoding of the original,
else by equal values. If neither is possible, the result reports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from divulge import anatomization, arrays, attacks, composition, counting, engines, metrics, results
from divulge import policy as policies
from divulge.adversary import Adversary
from divulge.api.attack import attack_by_known_columns
from divulge.api.compose import compose_or_note
from divulge.api.generalize import generalization_roles, generalize
from divulge.api.measure import measure
from divulge.api.opened import (
    OneTable,
    OpenedAnatomized,
    OpenedGeneralized,
    ThirdPartyTable,
    open_release,
)
from divulge.api.request import ResolvedRequest, resolve_request
from divulge.api.utility import utility
from divulge.arguments import Sentence, arg, marked
from divulge.arrays import Ints
from divulge.composition import (
    ClassAssignment,
    FollowedPeople,
    PeopleMoved,
    comparable,
    compare_people,
    identity_recoding,
    recoding_of,
)
from divulge.errors import BadInput, Infeasible
from divulge.metrics import Measurement
from divulge.policy import Policy, Verdict, guard
from divulge.queries import Kind, Utility
from divulge.releases import GeneralizedRelease
from divulge.sources import Names, Table, read, resolve_roles
from divulge.text import as_names
from divulge.validation import checked
from divulge.version import __version__

_ATTACKS = ("prosecutor", "singling-out", "inference", "homogeneity")
"""One attack for each of the regulators' criteria, and one for classes with a single value.

Anatomized releases have other attacks.
"""
_SHARED_ROLES = ("quasi_identifiers", "sensitive", "weight", "person")
"""Roles that must be equal for all tables; otherwise their numbers are not comparable."""


@dataclass(frozen=True, eq=False)
class ComparedTable:
    """One of the compared tables or releases."""

    name: str
    kind: Kind
    source: str
    measurement: Measurement | None = field(default=None, repr=False)
    """Measurement of the classes.

    None for an anatomized release, which has groups and no classes, or if the policy is infeasible.
    """
    levels: anatomization.Reached | None = None
    """Levels of an anatomized release."""
    verdict: Verdict | None = field(default=None, repr=False)
    """Verdict by the policy that was passed, or by the policy of the release."""
    refused: str | None = None
    """Reason why no release meets the policy."""
    utility: Utility | None = field(default=None, repr=False)
    """Utility compared with the original; None if it is not known, and for the original itself."""
    attacked: attacks.AttackResult | None = field(default=None, repr=False)
    """Success of an adversary who knows the quasi-identifiers, if requested."""
    matched_by: Literal["mapping", "values"] | None = None
    """Method by which people were followed from the reference."""
    unmatched: str | None = None
    """Reason why people could not be followed."""
    moved: tuple[PeopleMoved, ...] = ()
    """People with higher or lower risk, for every risk metric of classes."""

    @cached_property
    def numbers(self) -> dict[tuple[str | None, str], metrics.Score]:
        """Scores by attribute and metric; the attribute of identity metrics is None."""
        measurement = self.measurement
        if measurement is None:
            return {}
        parts = [(None, measurement.identity), *measurement.sensitive.items()]
        return {
            (attribute, name): score
            for attribute, scores in parts
            for name, score in scores.items()
        }


@dataclass(frozen=True)
class Difference:
    """Difference of a number from that of the reference."""

    value: float
    """Number minus that of the reference; 0 for two infinities."""
    change: Literal["better", "worse", "same"] | None
    """Change for the people in the table; None for a number that is not a risk."""


@dataclass(frozen=True, eq=False, repr=False)
class TableComparison(results.Several[ComparedTable]):
    """Comparison of tables and releases; the first is the reference."""

    view = "compare"

    original: str | None
    """Table with which the others are compared for utility; None if it is not known."""
    notes: tuple[str, ...] = ()
    together: composition.Composition | None = field(default=None, repr=False)
    """Joint risk of all releases, if there are several and their original is known."""

    @property
    def reference(self) -> ComparedTable:
        """Table to which differences refer."""
        return self.items[0]

    @property
    def others(self) -> tuple[ComparedTable, ...]:
        """Tables that are compared with the reference."""
        return self.items[1:]

    def difference(
        self, other: ComparedTable, attribute: str | None, name: str
    ) -> Difference | None:
        """Difference of a metric from the reference.

        None if the reference lacks the metric, or measures it with another l or another distance.
        """
        first = self.reference
        here = self.reference.measurement
        there = other.measurement
        mine = other.numbers.get((attribute, name))
        against = first.numbers.get((attribute, name))
        if other is first or here is None or there is None or mine is None or against is None:
            return None
        if not comparable(here, there, mine):
            return None
        if mine.value == against.value:
            value = 0.0
        else:
            value = float(mine.value) - float(against.value)
        if abs(value) <= metrics.TOLERANCE:
            return Difference(value, "same")
        if mine.metric.kind != "risk":
            return Difference(value, None)
        is_worse = (value > 0) == (mine.metric.worse == "high")
        return Difference(value, "worse" if is_worse else "better")


@checked
def compare(
    tables: Any,
    *,
    policies: Sequence[policies.PolicyLike] = (),
    original: Any = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    leave_out: Names = (),
    plain: Names = (),
    weight: str | None = None,
    person: str | None = None,
    target: str | None = None,
    attack: int | None = None,
    seed: int = 1,
    adversary: Adversary | None = None,
    engine: engines.EngineChoice = None,
) -> TableComparison:
    """Compare tables and releases, or the releases of one table under several policies.

    Args:
        tables: A list of tables, releases and folders of releases, or a mapping of names to them;
            the first is the reference. Or one table, which is generalized under each of the
            policies and is the reference itself; nothing is written.
        policies: For one table: the policies under which it is generalized. For several tables: at
            most one policy, whose roles, adversary and requirements apply to all.
        original: The table from which the others were released. Its distribution is the adversary's
            prior, and the utility of the others is measured by it. The default is the first, if it
            is a table and all others are releases.
        quasi_identifiers: As in `measure`, like the other roles; they apply to all. The default is
            the roles of the policy, else those of the releases.
        sensitive: The columns whose values must not be disclosed.
        identifier: Columns that identify people; they are ignored.
        leave_out: With policies for one table: columns that are not published.
        plain: With policies for one table: columns that are published unchanged.
        weight: The column with the number of people that a row represents.
        person: The column that names the person each row belongs to, if people have several rows.
        target: A column that a model predicts, trained on the original and on each release (needs
            scikit-learn).
        attack: Number of people of the original, drawn at random, to attack in each table, as in
            `dv.attack`. The adversary knows the quasi-identifiers. `attacked` reports the success
            rates.
        seed: Seed of that draw, equal for all tables.
        adversary: As in `measure`, equal for all; it takes precedence over the policies'.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]}
        ... )
        >>> roles = {"quasi_identifiers": "zip", "sensitive": "disease"}
        >>> found = dv.compare(people, policies=[{"k_anonymity": 2}, {"k_anonymity": 4}], **roles)
        >>> [each.measurement["k_anonymity"].number for each in found]
        [1, 2, 4]
        >>> found[1].moved[0].metric.name, found[1].moved[0].better
        ('k_anonymity', 4)
    """
    requests = [
        resolve_request(policy=policy, adversary=adversary) for policy in policies or [Policy()]
    ]
    effective_policies = [request.policy for request in requests[: len(policies)]]
    explicit_roles = guard.ExplicitRoles(
        quasi_identifiers, sensitive, identifier, leave_out, plain, weight, person
    )
    tables_by_name = _tables_by_name(tables)
    effective_adversary = _shared_adversary(requests, original)
    if len(tables_by_name) == 1:
        ((name, table_input),) = tables_by_name.items()
        first = _ComparedInput.of(name, table_input, engine=engine)
        sides, roles = _release_under_policies(
            first,
            dict(zip(_policy_names(policies), effective_policies, strict=True)),
            explicit_roles,
            effective_adversary,
        )
        origin = first.table
    else:
        if unused_options := [
            name for name in ("leave_out", "plain") if name in explicit_roles.explicit_names
        ]:
            raise BadInput(
                f"{arg(unused_options[0])} has no effect: nothing is generalized here",
                hint="leave it out",
            )
        sides = [
            _ComparedInput.of(name, table_input, engine=engine)
            for name, table_input in tables_by_name.items()
        ]
        roles = _shared_roles(sides, explicit_roles, effective_policies, effective_adversary)
        original_table = next(
            (
                side.table
                for side, table_input in zip(sides, tables_by_name.values(), strict=True)
                if table_input is effective_adversary.original
            ),
            None,
        )
        origin = original_table or _resolve_original(sides, effective_adversary, engine)
    if target is not None and origin is None:
        raise BadInput(
            f"{arg('target')} is foretold from the original and from each release, and the "
            "original is "
            "not known",
            hint="name the original",
        )
    _check_attack_options(attack, seed, origin, roles)
    if effective_policies and len(tables_by_name) > 1:
        shared_policy = effective_policies[0]
    else:
        shared_policy = None
    if attack is None:
        attack_draw = None
    else:
        attack_draw = (attack, seed)
    policy_labels = tuple(_policy_label(policy) for policy in policies)
    return _Comparison(
        sides, roles, effective_adversary, origin, shared_policy, policy_labels, attack_draw
    ).compare(target=target)


def _check_attack_options(
    attack: int | None, seed: int, origin: Table | None, roles: Mapping[str, Any]
) -> None:
    has_attack = attack is not None
    for is_wrong, message, hint in (
        (
            not has_attack and seed != 1,
            f"{arg('seed')} has no effect: nobody is attacked",
            f"give {arg('attack')}, or leave it out",
        ),
        (
            attack is not None and attack < 1,
            f"{arg('attack', attack)} is not possible",
            "it is how many people are attacked",
        ),
        (
            has_attack and origin is None,
            f"{arg('attack')} is scored by the original, which is not known",
            "name the original",
        ),
        (
            has_attack and roles["person"],
            f"{arg('attack')} takes each row for a person, and people own several",
            "leave one out",
        ),
    ):
        if is_wrong:
            raise BadInput(message, hint=hint)


# --- compared tables and releases -----------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _ComparedInput:
    """One opened table or release."""

    name: str
    kind: Kind
    table_input: Any
    source: str
    target: OneTable | None = None
    """A table, or the table of a release that was written."""
    release: GeneralizedRelease | None = None
    """A release that was not written."""
    infeasible: Infeasible | None = None

    @classmethod
    def of(cls, name: str, table_input: Any, *, engine: engines.EngineChoice) -> _ComparedInput:
        """Open any input that `compare` accepts."""
        if isinstance(table_input, GeneralizedRelease):
            return cls(
                name, "generalized", table_input, table_input.source.source, release=table_input
            )
        target = open_release(table_input, engine=engine)
        if isinstance(target, OpenedAnatomized):
            return cls(name, "anatomized", target, name if target.folder is None else target.name)
        if target.release is None:
            kind: Kind = "table"
        else:
            kind = "generalized"
        return cls(name, kind, target, target.table.source, target)

    @property
    def published(self) -> Any:
        """Input for `compose`."""
        target = self.target
        if target is None:
            return self.table_input
        if target.release is None:
            return target.table
        return target

    @property
    def table(self) -> Table | None:
        """Rows of a table that is not a release."""
        if self.target is not None and self.kind == "table":
            return self.target.table
        return None

    @property
    def roles(self) -> dict[str, Any]:
        """Roles that the table or release declares."""
        if self.release is not None:
            release_roles = self.release.original.roles
            return {role: getattr(release_roles, role) for role in _SHARED_ROLES}
        if self.target is None or self.target.release is None:
            own_roles = {}
        else:
            own_roles = self.target.release.roles
        return {role: own_roles.get(role) for role in _SHARED_ROLES if role != "person"}


def _tables_by_name(tables: Any) -> dict[str, Any]:
    """Tables by unique name: the explicit name, else the file name."""
    if isinstance(tables, Mapping):
        return {str(name): table_input for name, table_input in tables.items()}
    if isinstance(tables, list | tuple):
        several = list(tables)
    else:
        several = [tables]
    names = [_name_of(table_input, position) for position, table_input in enumerate(several, 1)]
    if len(set(names)) < len(names):
        sources = [
            _source_of(table_input) or name
            for table_input, name in zip(several, names, strict=True)
        ]
        if len(set(sources)) == len(sources):
            names = sources
        else:
            names = [f"{name} ({position})" for position, name in enumerate(sources, 1)]
    return dict(zip(names, several, strict=True))


def _name_of(table_input: Any, position: int) -> str:
    source = _source_of(table_input)
    if source is None:
        return f"table {position}"
    return Path(source).name or source


def _source_of(table_input: Any) -> str | None:
    """Path or name of the source; None if it has none."""
    table = (
        table_input.table
        if isinstance(table_input, ThirdPartyTable | OpenedGeneralized)
        else table_input
    )
    if isinstance(table, Table):
        return table.source
    return str(table_input) if isinstance(table_input, str | Path) else None


def _policy_label(policy: policies.PolicyLike) -> str:
    """Path of a policy file, or the requirements of a policy passed in Python."""
    if isinstance(policy, str | Path):
        return str(policy)
    return ", ".join(promise.text for promise in Policy.of(policy).promises)


def _policy_names(policy_inputs: Sequence[Any]) -> list[str]:
    names = [
        Path(policy).name if isinstance(policy, str | Path) else f"policy {at}"
        for at, policy in enumerate(policy_inputs, 1)
    ]
    if len(set(names)) < len(names):
        names = [
            str(policy) if isinstance(policy, str | Path) else name
            for policy, name in zip(policy_inputs, names, strict=True)
        ]
    return names


def _shared_adversary(requests: Sequence[ResolvedRequest], original: Any) -> Adversary:
    """Resolve one adversary for all tables.

    Numbers for different adversaries are not comparable.
    """
    adversaries = [request.adversary for request in requests]
    if any(policy_adversary != adversaries[0] for policy_adversary in adversaries):
        raise BadInput(
            "the policies assume different adversaries",
            hint=f"give {arg('adversary')}, or leave it out of the files",
        )
    if original is None:
        return adversaries[0]
    if adversaries[0].original is not None:
        raise BadInput(
            f"the original is named twice: by {arg('original')} and by the adversary",
            hint="leave one of them out",
        )
    return replace(adversaries[0], original=original)


def _release_under_policies(
    first: _ComparedInput,
    policies_by_name: Mapping[str, Policy],
    explicit_roles: guard.ExplicitRoles,
    adversary: Adversary,
) -> tuple[list[_ComparedInput], dict[str, Any]]:
    """The table itself, and its release under each policy."""
    if not policies_by_name:
        raise BadInput(
            "there is nothing to compare with", hint="name a second table or release, or policies"
        )
    if first.table is None:
        raise BadInput(
            f"{first.name} is a release, and policies are applied to a table",
            hint="name its original",
        )
    source = first.table
    sides = [first]
    roles = [
        generalization_roles(source, policy, explicit_roles) for policy in policies_by_name.values()
    ]
    _require_equal_roles(
        {
            name: {role: getattr(policy_roles, role) for role in _SHARED_ROLES}
            for name, policy_roles in zip(policies_by_name, roles, strict=True)
        }
    )
    for name, policy in policies_by_name.items():
        if not (policy.promises or policy.protections):
            raise BadInput(
                f"{name} makes no promise, so nothing would be generalized", hint="leave it out"
            )
        try:
            release = generalize(
                source, policy=policy, adversary=adversary, **explicit_roles.arguments
            )
        except Infeasible as error:
            sides.append(_ComparedInput(name, "generalized", None, source.source, infeasible=error))
        else:
            sides.append(
                _ComparedInput(
                    name, "generalized", release, f"{source.source}, generalized", release=release
                )
            )
    if all(side.infeasible for side in sides[1:]):
        raise next(side.infeasible for side in sides[1:] if side.infeasible)
    return sides, {role: getattr(roles[0], role) for role in (*_SHARED_ROLES, "identifier")}


def _shared_roles(
    sides: Sequence[_ComparedInput],
    explicit_roles: guard.ExplicitRoles,
    effective_policies: Sequence[Policy],
    adversary: Adversary,
) -> dict[str, Any]:
    """Resolve shared roles: explicit roles, else the policy's, else those of the releases."""
    if len(effective_policies) > 1:
        raise BadInput(
            "several policies are applied to one table, and several tables were named",
            hint="give one table, or one policy",
        )
    if effective_policies:
        policy_roles = effective_policies[0].roles
    else:
        policy_roles = {}
    shared_roles = {
        role: getattr(explicit_roles, role) or policy_roles.get(role)
        for role in (*_SHARED_ROLES, "identifier")
    }
    declared_roles = {side.name: side.roles for side in sides if any(side.roles.values())}
    if not shared_roles["quasi_identifiers"]:
        _require_equal_roles(declared_roles)
    for roles in declared_roles.values():
        shared_roles = {role: names or roles.get(role) for role, names in shared_roles.items()}
    for side in sides:
        if side.release is not None:
            _require_equal_roles(
                {
                    "those in force": {role: shared_roles[role] for role in _SHARED_ROLES},
                    side.name: side.roles,
                }
            )
            idle_options = sorted(set(adversary.explicit_settings) - {"original"})
            if idle_options:
                raise BadInput(
                    f"{arg(idle_options[0])} has no effect on {side.name}, which was measured when "
                    "it was made",
                    hint="write the release and give its folder, or leave it out",
                )
    return shared_roles


def _require_equal_roles(roles: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise BadInput if roles differ, because numbers of different columns are not comparable."""
    roles_by_table = {
        name: {role: sorted(as_names(entry)) for role, entry in table_roles.items() if entry}
        for name, table_roles in roles.items()
    }
    for name, table_roles in roles_by_table.items():
        first = next(iter(roles_by_table))
        for role in _SHARED_ROLES:
            if table_roles.get(role) != roles_by_table[first].get(role):
                sides = [
                    f"{', '.join(roles_by_table[entry].get(role, ())) or 'none'} ({entry})"
                    for entry in (first, name)
                ]
                raise BadInput(
                    f"the {role.replace('_', '-')} differ: {' and '.join(sides)}",
                    hint="name those to compare by, or compare what has the same",
                )


def _resolve_original(
    sides: Sequence[_ComparedInput], adversary: Adversary, engine: engines.EngineChoice
) -> Table | None:
    if adversary.original is not None:
        original = read(adversary.original, engine=engine)
        same = [
            side.table
            for side in sides
            if side.table is not None and side.table.source == original.source
        ]
        if same and Path(original.source).exists():
            return same[0]
        return original
    others = all(side.kind != "table" for side in sides[1:])
    if others:
        return sides[0].table
    return None


# --- comparison -----------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Comparison:
    """Inputs of a comparison: tables, shared roles and adversary, and the original if known."""

    sides: Sequence[_ComparedInput]
    roles: Mapping[str, Any]
    adversary: Adversary
    original: Table | None
    policy: Policy | None
    """Policy against which each of several tables is checked."""
    policies: tuple[str, ...]
    """Names of the policies as passed."""
    draw: tuple[int, int] | None
    """Number of people to attack, and the seed of their draw."""

    def compare(self, *, target: str | None) -> TableComparison:
        """Measure all tables, follow people, and measure utility."""
        compared_tables = [self._measure(side) for side in self.sides]
        first = compared_tables[0]
        if first.measurement is None:
            raise BadInput(
                f"{first.name} has groups and no classes, so nothing can be told against it",
                hint="name a table or a generalized release first",
            )
        assignments = self._class_assignments(compared_tables)
        compared_tables = [
            first,
            *(self._follow_people(first, other, assignments) for other in compared_tables[1:]),
        ]
        compared_tables = [
            self._with_more(compared_table, side, target)
            for compared_table, side in zip(compared_tables, self.sides, strict=True)
        ]
        joint_risk, joint_notes = self._joint_risk()
        notes = (*self._notes(compared_tables), *joint_notes)
        if self.original is None:
            origin = None
        else:
            origin = self.original.source
        settings = self._settings(compared_tables, target)
        return TableComparison(
            tuple(compared_tables),
            settings,
            origin,
            notes,
            joint_risk,
            frame=first.measurement.frame,
        )

    def _joint_risk(self) -> tuple[composition.Composition | None, list[str]]:
        """Joint risk of all releases, if the original is known.

        Policies for one table are alternatives, of which only one is published.
        """
        releases = [
            side.published
            for side in self.sides
            if side.table is None or side.table is not self.original
        ]
        alternatives = self.policies and self.policy is None
        if alternatives or self.original is None:
            return (None, [])
        return compose_or_note(releases, self.original, self.roles)

    def _measure(self, side: _ComparedInput) -> ComparedTable:
        if side.kind == "anatomized":
            published = side.table_input.published(
                sensitive=as_names(self.roles["sensitive"] or ())
            )
            group_summary = anatomization.measure_tables(
                published, anatomization.AlphaBetaGammaDelta()
            )
            return ComparedTable(side.name, side.kind, side.source, levels=group_summary.levels)
        if side.infeasible is not None:
            return ComparedTable(side.name, side.kind, side.source, refused=str(side.infeasible))
        if side.release is not None:
            release = side.release
            return ComparedTable(
                side.name, side.kind, side.source, release.after, verdict=release.verdict
            )
        measured = measure(
            side.table_input,
            **self._roles_in(side.table_input),
            adversary=self._adversary_for(side),
        )
        verdict = None
        if self.policy is not None and (self.policy.promises or self.policy.protections):
            protected = policies.choose_measured(self.policy.protections, measured)
            verdict = policies.judge(measured, self.policy.promises, protected=protected)
        return ComparedTable(side.name, side.kind, side.source, measured, verdict=verdict)

    def _roles_in(self, target: OneTable) -> dict[str, Any]:
        """Roles of one table.

        Identifiers may be missing, and a release may lack the person column.
        """
        table_roles = dict(self.roles)
        table_roles["identifier"] = target.table.present(table_roles.get("identifier"))
        if (
            target.release is not None
            and table_roles["person"]
            and not target.table.has(table_roles["person"])
        ):
            table_roles["person"] = None
        return table_roles

    def _adversary_for(self, side: _ComparedInput) -> Adversary:
        """Adversary for one table, with the original's distribution as the default prior."""
        if self.original is None or side.table is self.original or self.adversary.prior is not None:
            if side.table is self.original:
                return replace(self.adversary, original=None)
            return self.adversary
        return replace(self.adversary, original=self.original)

    def _with_more(
        self, compared_table: ComparedTable, side: _ComparedInput, target: str | None
    ) -> ComparedTable:
        return replace(
            compared_table, utility=self._utility(side, target), attacked=self._attack(side)
        )

    def _utility(self, side: _ComparedInput, target: str | None) -> Utility | None:
        if self.original is None or side.table is self.original or side.infeasible is not None:
            return None
        role_arguments: dict[str, Any] = {
            role: self.roles[role] or () for role in ("quasi_identifiers", "sensitive")
        }
        return utility(self.original, side.table_input, target=target, **role_arguments)

    def _attack(self, side: _ComparedInput) -> attacks.AttackResult | None:
        if self.draw is None or side.infeasible is not None:
            return None
        attack_options: dict[str, Any] = {
            "truth": self.original,
            "records": self.draw[0],
            "seed": self.draw[1],
        }
        sensitive = self.roles["sensitive"] or ()
        if side.kind != "anatomized":
            attack_options |= {
                "knows": self.roles["quasi_identifiers"],
                "attacks": _ATTACKS if sensitive else _ATTACKS[:2],
            }
        if side.kind == "table" or (side.kind == "anatomized" and not side.table_input.is_own):
            attack_options |= {"sensitive": sensitive}
        return attack_by_known_columns(side.table_input, self.adversary, **attack_options)

    def _notes(self, compared_tables: Sequence[ComparedTable]) -> tuple[str, ...]:
        notes = [
            f"{compared_table.name}: {compared_table.unmatched}"
            for compared_table in compared_tables
            if compared_table.unmatched
        ]
        if self.original is None:
            unknown = "what is left of the data is not told: the original is not known"
            notes.append(Sentence(f"{unknown}; {arg('original')} names it"))
        tables_without_person = [
            compared_table.name
            for side, compared_table in zip(self.sides, compared_tables, strict=True)
            if self.roles["person"]
            and side.target is not None
            and not side.target.table.has(self.roles["person"])
        ]
        notes += [
            f"{name}: it does not say whose a row is, so its rows are counted as people"
            for name in tables_without_person
        ]
        measurements = [
            compared_table.measurement
            for compared_table in compared_tables
            if compared_table.measurement is not None
        ]
        if any(
            not comparable(measurements[0], measurement, score)
            for measurement in measurements[1:]
            for scores in measurement.sensitive.values()
            for score in scores.values()
        ):
            notes.append(
                Sentence(
                    "numbers that depend on an l, a distance or a guess that differs between "
                    f"tables are not compared; {arg('recursive_l')} sets one l"
                )
            )
        by_note: dict[str, list[str]] = {}
        for compared_table in compared_tables:
            if compared_table.measurement is None:
                table_notes: tuple[str, ...] = ()
            else:
                table_notes = compared_table.measurement.notes
            for note in table_notes:
                by_note.setdefault(note, []).append(compared_table.name)
        table_sentences = (
            Sentence(f"{', '.join(names)}: {marked(note)}") for note, names in by_note.items()
        )
        return (*notes, *table_sentences)

    def _settings(
        self, compared_tables: Sequence[ComparedTable], target: str | None
    ) -> dict[str, Any]:
        measured = {
            compared_table.name: compared_table.measurement.settings
            for compared_table in compared_tables
            if compared_table.measurement is not None
        }
        first = measured[compared_tables[0].name]
        return {
            "divulge": __version__,
            "reference": compared_tables[0].name,
            "original": None if self.original is None else self.original.source,
            "sources": {
                compared_table.name: compared_table.source for compared_table in compared_tables
            },
            "engine": first["engine"],
            **{
                role: first[role]
                for role in (
                    "quasi_identifiers",
                    "sensitive",
                    "identifier",
                    "person",
                    "weight",
                    "nulls",
                )
            },
            "prior": {name: settings["prior"] for name, settings in measured.items()},
            "policies": list(self.policies),
            "applied": bool(self.policies) and self.policy is None,
            "target": target,
            "attack": None
            if self.draw is None
            else {"records": self.draw[0], "seed": self.draw[1]},
            "tolerance": metrics.TOLERANCE,
        }

    # --- following people from the reference to another table -------------------------------------
    def _follow_people(
        self, first: ComparedTable, other: ComparedTable, assignments: Sequence[ClassAssignment]
    ) -> ComparedTable:
        """Follow people from the reference to another table.

        They are followed through the original if both are releases of it, else by equal values.
        """
        here = first.measurement
        there = other.measurement
        if other.refused is not None or here is None or there is None:
            if other.refused:
                why = None
            else:
                why = "an anatomized release has groups and no classes, so nobody can be followed"
            return replace(other, unmatched=why)
        for compared_table in (first, other):
            if (
                compared_table.measurement is not None
                and compared_table.measurement.survey is not None
            ):
                why = (
                    f"the classes of {compared_table.name} stayed where they were counted, so "
                    "nobody can be followed"
                )
                return replace(other, unmatched=why)
            if (
                compared_table.measurement is not None
                and compared_table.measurement.contingency.pinned
            ):
                why = (
                    f"the numbers of {compared_table.name} are those beside releases that are out "
                    "already, whose classes no other table has"
                )
                return replace(other, unmatched=why)
        by_values = ClassAssignment(
            here.contingency.sizes,
            {
                first.name: np.arange(len(here.contingency)),
                other.name: composition.matching_classes(
                    identity_recoding(here.contingency), there.contingency
                ),
            },
        )
        for assignment in (*assignments, by_values):
            before = assignment.class_indices.get(first.name)
            after = assignment.class_indices.get(other.name)
            if before is None or after is None:
                continue
            is_complete = len(np.unique(before[before >= 0])) == len(
                here.contingency
            )  # all classes of the reference are covered
            if is_complete and (after[before >= 0] >= 0).any():
                movements = compare_people(
                    here, there, FollowedPeople(assignment.people, before, after)
                )
                if assignment.mapped & {first.name, other.name}:
                    method: Literal["mapping", "values"] = "mapping"
                else:
                    method = "values"
                return replace(other, matched_by=method, moved=tuple(movements))
        why = (
            f"no class has the same values as in {first.name}, and nothing says what became of the "
            "people there"
        )
        return replace(other, unmatched=why)

    def _class_assignments(self, compared_tables: Sequence[ComparedTable]) -> list[ClassAssignment]:
        """Class of the original's people in each table.

        The list is empty if the original is not known or has too many classes for memory.
        """
        if self.original is None:
            return []
        person = self.roles["person"]
        roles = resolve_roles(
            self.original,
            quasi_identifiers=self.roles["quasi_identifiers"],
            person=person if person and self.original.has(person) else None,
        )
        if self.adversary.nulls == "drop":
            nulls: counting.Nulls = "drop"
        else:
            nulls = "category"
        requests = [
            counting.Request(self.original, item, nulls, joint=False)
            for item in (roles, replace(roles, person=None))
        ]
        tables = [
            counting.Counts.of(request) for request in (requests if roles.person else requests[:1])
        ]
        if not all(counts.is_small for counts in tables):
            return []
        people = tables[0].collect()
        rows = tables[-1].collect()
        class_indices_by_table: dict[str, Ints] = {}
        mapped = set()
        for side, item in zip(self.sides, compared_tables, strict=True):
            if (
                item.measurement is None
                or item.measurement.survey
                or item.measurement.contingency.pinned
            ):
                continue
            recoding = recoding_of(
                side.release, None if side.target is None else side.target.release, people
            )
            class_indices = composition.matching_classes(
                recoding or identity_recoding(people), item.measurement.contingency
            )
            if recoding is not None:
                mapped.add(side.name)
                there = item.measurement.contingency
                if side.release is None:
                    contingency = rows
                else:
                    contingency = people
                class_sizes = arrays.exact_sums(
                    class_indices[class_indices >= 0],
                    contingency.sizes[class_indices >= 0],
                    len(there),
                )
                if not np.array_equal(class_sizes, there.sizes):
                    continue  # it was made from other rows
            class_indices_by_table[side.name] = class_indices
        return [ClassAssignment(people.sizes, class_indices_by_table, frozenset(mapped))]
