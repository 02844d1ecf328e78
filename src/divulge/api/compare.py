# SPDX-License-Identifier: Apache-2.0
"""compare(): tables, releases, or one table under several policies, side by side: every metric, what is left, and who is better off.

All are measured with the same roles and against the same adversary: where the original is known, its distribution is her prior. The
first one is the reference. People are followed from their class there to their class in each other one: through what a release made of
the values of the original, else by the same values; where neither is possible, that is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from divulge import anatomy, answers, arrays, attacks, composition, count, engines, metrics, publish, results, values
from divulge import policy as policies
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.attack import attack_plainly
from divulge.api.compose import all_out
from divulge.api.generalize import generalize, roles_of
from divulge.api.measure import TableOrRelease, measure
from divulge.api.moved import Followed, PeopleMoved, Way, as_it_is, comparable, people_moved, recoding_of
from divulge.api.query import is_anatomized, open_anatomized
from divulge.api.utility import Kind, Utility, utility
from divulge.arrays import Ints
from divulge.belief import Adversary, adversary_in_force
from divulge.errors import BadInput, Infeasible
from divulge.metrics import Measurement
from divulge.policy import Policy, Verdict, guard
from divulge.table import Names, Table, read, resolve_roles
from divulge.version import __version__

__all__ = ["ComparedTable", "Difference", "PeopleMoved", "TableComparison", "compare"]
_ATTACKS = ("prosecutor", "singling-out", "inference", "homogeneity")
"""One in each of the regulators' words, and where all of a class have one value; an anatomized release has others."""
_SHARED = ("quasi_identifiers", "sensitive", "weight", "person")
"""The roles that must be the same for all, else their numbers say nothing beside each other."""


@dataclass(frozen=True, eq=False)
class ComparedTable:
    """One of those that are compared."""

    name: str
    kind: Kind
    source: str
    measurement: Measurement | None = field(default=None, repr=False)
    """None of an anatomized release, which has groups and no classes, and where nothing keeps the policy."""
    levels: anatomy.Reached | None = None
    """Of an anatomized release."""
    verdict: Verdict | None = field(default=None, repr=False)
    """Against the policy that was given, or that it was made for."""
    refused: str | None = None
    """Why nothing keeps the policy."""
    utility: Utility | None = field(default=None, repr=False)
    """What is left of the original; None where that is not known, and of the original itself."""
    attacked: attacks.AttackResult | None = field(default=None, repr=False)
    """What an adversary achieves who knows the quasi-identifiers, where that was asked."""
    matched_by: Literal["mapping", "values"] | None = None
    """How people were followed from the reference."""
    unmatched: str | None = None
    """Why they could not be followed."""
    moved: tuple[PeopleMoved, ...] = ()
    """By every risk that classes have a number of."""

    @cached_property
    def numbers(self) -> dict[tuple[str | None, str], metrics.Score]:
        """The scores by attribute and metric; identity has no attribute."""
        found = self.measurement
        if found is None:
            return {}
        parts = [(None, found.identity), *found.sensitive.items()]
        return {(attribute, name): score for attribute, scores in parts for name, score in scores.items()}


@dataclass(frozen=True)
class Difference:
    """How a number differs from that of the reference."""

    value: float
    """How much higher it is; two infinities are the same."""
    change: Literal["better", "worse", "same"] | None
    """For the people in the table; None of a number that is no risk."""


@dataclass(frozen=True, eq=False, repr=False)
class TableComparison(results.Several[ComparedTable]):
    """Tables and releases side by side; the first is the reference."""

    view = "compare"

    original: str | None
    """The table that the others are held against for what is left of it; None where it is not known."""
    notes: tuple[str, ...] = ()
    together: composition.Composition | None = field(default=None, repr=False)
    """What all releases would tell together, where there are several and their original is known."""

    @property
    def reference(self) -> ComparedTable:
        """What differences are told against."""
        return self.items[0]

    @property
    def others(self) -> tuple[ComparedTable, ...]:
        """Those that are held against it."""
        return self.items[1:]

    def difference(self, other: ComparedTable, attribute: str | None, name: str) -> Difference | None:
        """One of its metrics against the reference; None where that does not have it, or tells it by another l or another distance."""
        first, here, there = self.reference, self.reference.measurement, other.measurement
        mine, against = other.numbers.get((attribute, name)), first.numbers.get((attribute, name))
        if other is first or here is None or there is None or mine is None or against is None:
            return None
        if not comparable(here, there, mine):
            return None
        value = 0.0 if mine.value == against.value else float(mine.value) - float(against.value)
        if abs(value) <= metrics.TOLERANCE:
            return Difference(value, "same")
        is_worse = (value > 0) == (mine.metric.worse == "high")
        return Difference(value, ("worse" if is_worse else "better") if mine.metric.kind == "risk" else None)


@values.checked
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
    """Put tables and releases side by side, or what several policies make of one table.

    Args:
        tables: A list of tables, releases and folders of releases, or a mapping of names to them; the first is the reference. Or one
            table, which is generalized under each of the policies and is the reference itself; nothing is written.
        policies: Of one table: what it is generalized under. Of several: at most one, whose roles, adversary and promises hold for all.
        original: The table that the others are releases of: its distribution is the adversary's prior, and what is left of it is
            measured. By default the first, where it is a table and all others are releases.
        quasi_identifiers: As in `measure`, and so are the other roles; they hold for all. By default those of the policy, else those that
            the releases bring.
        sensitive: The columns whose values must not be learnt.
        identifier: Columns that name people; they take no part.
        leave_out: With policies for one table: columns that are not published.
        plain: With policies for one table: columns that are published as they are.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        target: A column that a model foretells, learning from the original and from each release (needs divulge[model]).
        attack: So many people of the original, drawn at random, are attacked in each table, as in `dv.attack`, by somebody who knows the
            quasi-identifiers: `attacked` tells how often she is right.
        seed: What these people are drawn from, the same for all.
        adversary: As in `measure`, the same for all; what is said here goes before the policies' own.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]})
        >>> roles = {"quasi_identifiers": "zip", "sensitive": "disease"}
        >>> found = dv.compare(people, policies=[{"k_anonymity": 2}, {"k_anonymity": 4}], **roles)
        >>> [each.measurement["k_anonymity"].number for each in found]
        [1, 2, 4]
        >>> found[1].moved[0].metric.name, found[1].moved[0].better
        ('k_anonymity', 4)
    """
    kept = [Policy.of(policy) for policy in policies]
    asked = guard.GivenRoles(quasi_identifiers, sensitive, identifier, leave_out, plain, weight, person)
    named = _named(tables)
    her = _adversary(kept, adversary, original)
    if len(named) == 1:
        ((name, given),) = named.items()
        first = _Side.of(name, given, engine=engine)
        sides, roles = _under_policies(first, dict(zip(_policy_names(policies), kept, strict=True)), asked, her)
        origin = first.table
    else:
        if idle := [name for name in ("leave_out", "plain") if name in asked.named]:
            raise BadInput(f"{idle[0]}= has no effect: nothing is generalized here", hint="leave it out")
        sides = [_Side.of(name, given, engine=engine) for name, given in named.items()]
        roles = _shared_roles(sides, asked, kept, her)
        itself = next(
            (side.table for side, given in zip(sides, named.values(), strict=True) if given is her.original), None
        )
        origin = itself or _original(sides, her, engine)
    if target is not None and origin is None:
        raise BadInput("target= is foretold from the original and from each release, and the original is not known",
                       hint="name the original")  # fmt: skip
    _refuse_idle_attack(attack, seed, origin, roles)
    held = kept[0] if kept and len(named) > 1 else None
    draw, told = None if attack is None else (attack, seed), tuple(_told(policy) for policy in policies)
    return _Comparing(sides, roles, her, origin, held, told, draw).found(target=target)


def _refuse_idle_attack(attack: int | None, seed: int, origin: Table | None, roles: Mapping[str, Any]) -> None:
    asked = attack is not None
    for is_wrong, told, hint in (
        (not asked and seed != 1, "seed= has no effect: nobody is attacked", "give attack=, or leave it out"),
        (attack is not None and attack < 1, f"attack={attack} is not possible", "it is how many people are attacked"),
        (asked and origin is None, "attack= is scored by the original, which is not known", "name the original"),
        (asked and roles["person"], "attack= takes each row for a person, and people own several", "leave one out"),
    ):
        if is_wrong:
            raise BadInput(told, hint=hint)


# --- what is compared -------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Side:
    """One of them, opened."""

    name: str
    kind: Kind
    given: Any
    source: str
    judged: TableOrRelease | None = None
    """A table, or the table of a release that was written."""
    release: publish.GeneralizedRelease | None = None
    """One that was not."""
    refused: Infeasible | None = None

    @classmethod
    def of(cls, name: str, given: Any, *, engine: engines.EngineChoice) -> _Side:
        """Open whatever `compare` takes."""
        if isinstance(given, publish.GeneralizedRelease):
            return cls(name, "generalized", given, given.source.source, release=given)
        if isinstance(given, AnatomizedRelease | answers.AnatomizedSource) or is_anatomized(given):
            return cls(name, "anatomized", given, str(given) if isinstance(given, str | Path) else name)
        judged = TableOrRelease.of(given, engine=engine)
        kind: Kind = "table" if judged.release is None else "generalized"
        return cls(name, kind, judged, judged.table.source, judged)

    @property
    def published(self) -> Any:
        """As `compose` takes it."""
        judged = self.judged
        return self.given if judged is None else judged.table if judged.release is None else judged.release.folder

    @property
    def table(self) -> Table | None:
        """Its rows, where it is a table and no release."""
        return self.judged.table if self.judged is not None and self.kind == "table" else None

    @property
    def roles(self) -> dict[str, Any]:
        """Those that it brings."""
        if self.release is not None:
            own = self.release.original.roles
            return {role: getattr(own, role) for role in _SHARED}
        own_roles = {} if self.judged is None or self.judged.release is None else self.judged.release.roles
        return {role: own_roles.get(role) for role in _SHARED if role != "person"}


def _named(tables: Any) -> dict[str, Any]:
    """Each with a name of its own: the one that is given, else that of its file."""
    if isinstance(tables, Mapping):
        return {str(name): given for name, given in tables.items()}
    several = list(tables) if isinstance(tables, list | tuple) else [tables]
    names = [_name_of(given, place) for place, given in enumerate(several, 1)]
    if len(set(names)) < len(names):
        whole = [_source_of(given) or name for given, name in zip(several, names, strict=True)]
        names = whole if len(set(whole)) == len(whole) else [f"{name} ({place})" for place, name in enumerate(whole, 1)]
    return dict(zip(names, several, strict=True))


def _name_of(given: Any, place: int) -> str:
    source = _source_of(given)
    return f"table {place}" if source is None else Path(source).name or source


def _source_of(given: Any) -> str | None:
    """Where it lies, if that has a name."""
    table = given.table if isinstance(given, TableOrRelease) else given
    if isinstance(table, Table):
        return table.source
    return str(given) if isinstance(given, str | Path) else None


def _told(policy: policies.PolicyLike) -> str:
    """A policy file by its name, what was given in Python by its promises."""
    return (
        str(policy) if isinstance(policy, str | Path) else ", ".join(each.text for each in Policy.of(policy).promises)
    )


def _policy_names(given: Sequence[Any]) -> list[str]:
    names = [Path(each).name if isinstance(each, str | Path) else f"policy {at}" for at, each in enumerate(given, 1)]
    if len(set(names)) < len(names):
        names = [str(each) if isinstance(each, str | Path) else name for each, name in zip(given, names, strict=True)]
    return names


def _adversary(kept: Sequence[Policy], adversary: Adversary | None, original: Any) -> Adversary:
    """One for all: numbers against different ones say nothing beside each other."""
    all_of_them = [adversary_in_force(adversary, policy.adversary) for policy in kept or [Policy()]]
    if any(her != all_of_them[0] for her in all_of_them):
        raise BadInput(
            "the policies assume different adversaries", hint="give adversary=, or leave it out of the files"
        )
    if original is None:
        return all_of_them[0]
    if all_of_them[0].original is not None:
        raise BadInput("the original is named twice: by original= and by the adversary", hint="leave one of them out")
    return replace(all_of_them[0], original=original)


def _under_policies(
    first: _Side, kept: Mapping[str, Policy], given: guard.GivenRoles, her: Adversary
) -> tuple[list[_Side], dict[str, Any]]:
    """The table itself, and what each policy makes of it."""
    if not kept:
        raise BadInput("there is nothing to compare with", hint="name a second table or release, or policies")
    if first.table is None:
        raise BadInput(f"{first.name} is a release, and policies are applied to a table", hint="name its original")
    source, sides = first.table, [first]
    roles = [roles_of(source, policy, given) for policy in kept.values()]
    _refuse_different(
        {at: {role: getattr(each, role) for role in _SHARED} for at, each in zip(kept, roles, strict=True)}
    )
    for at, policy in kept.items():
        if not (policy.promises or policy.protections):
            raise BadInput(f"{at} makes no promise, so nothing would be generalized", hint="leave it out")
        try:
            release = generalize(source, policy=policy, adversary=her, **given.arguments)
        except Infeasible as error:
            sides.append(_Side(at, "generalized", None, source.source, refused=error))
        else:
            sides.append(_Side(at, "generalized", release, f"{source.source}, generalized", release=release))
    if all(side.refused for side in sides[1:]):
        raise next(side.refused for side in sides[1:] if side.refused)
    return sides, {role: getattr(roles[0], role) for role in (*_SHARED, "identifier")}


def _shared_roles(
    sides: Sequence[_Side], given: guard.GivenRoles, kept: Sequence[Policy], her: Adversary
) -> dict[str, Any]:
    """Those that are given, else the policy's, else those that the releases bring."""
    if len(kept) > 1:
        raise BadInput("several policies are applied to one table, and several tables were named",
                       hint="give one table, or one policy")  # fmt: skip
    of_policy = kept[0].roles if kept else {}
    found = {role: getattr(given, role) or of_policy.get(role) for role in (*_SHARED, "identifier")}
    brought = {side.name: side.roles for side in sides if any(side.roles.values())}
    if not found["quasi_identifiers"]:
        _refuse_different(brought)
    for roles in brought.values():
        found = {role: names or roles.get(role) for role, names in found.items()}
    for side in sides:
        if side.release is not None:
            _refuse_different({"those in force": {role: found[role] for role in _SHARED}, side.name: side.roles})
            told = sorted(set(her.given) - {"original"})
            if told:
                raise BadInput(f"{told[0]}= has no effect on {side.name}, which was measured when it was made",
                               hint="write the release and give its folder, or leave it out")  # fmt: skip
    return found


def _refuse_different(roles: Mapping[str, Mapping[str, Any]]) -> None:
    """Numbers about different columns cannot be compared."""
    told = {
        name: {role: sorted(values.several(each)) for role, each in given.items() if each}
        for name, given in roles.items()
    }
    for name, given in told.items():
        first = next(iter(told))
        for role in _SHARED:
            if given.get(role) != told[first].get(role):
                sides = [f"{', '.join(told[each].get(role, ())) or 'none'} ({each})" for each in (first, name)]
                raise BadInput(f"the {role.replace('_', '-')} differ: {' and '.join(sides)}",
                               hint="name those to compare by, or compare what has the same")  # fmt: skip


def _original(sides: Sequence[_Side], her: Adversary, engine: engines.EngineChoice) -> Table | None:
    if her.original is not None:
        found = read(her.original, engine=engine)
        same = [side.table for side in sides if side.table is not None and side.table.source == found.source]
        return same[0] if same and Path(found.source).exists() else found
    others = all(side.kind != "table" for side in sides[1:])
    return sides[0].table if others else None


# --- comparing --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Comparing:
    """All of them, the roles and the adversary that hold for all, and the original where it is known."""

    sides: Sequence[_Side]
    roles: Mapping[str, Any]
    her: Adversary
    original: Table | None
    policy: Policy | None
    """What each of several tables is held against."""
    policies: tuple[str, ...]
    """As they were named."""
    draw: tuple[int, int] | None
    """How many people are attacked, and by which seed they are drawn."""

    def found(self, *, target: str | None) -> TableComparison:
        """Measure, follow people, and ask what is left."""
        told = [self._measured(side) for side in self.sides]
        first = told[0]
        if first.measurement is None:
            raise BadInput(f"{first.name} has groups and no classes, so nothing can be told against it",
                           hint="name a table or a generalized release first")  # fmt: skip
        ways = self._ways(told)
        told = [first, *(self._followed(first, other, ways) for other in told[1:])]
        told = [self._with_more(each, side, target) for each, side in zip(told, self.sides, strict=True)]
        together, unknown = self._together()
        notes = (*self._notes(told), *unknown)
        origin = None if self.original is None else self.original.source
        settings = self._settings(told, target)
        return TableComparison(tuple(told), settings, origin, notes, together, frame=first.measurement.frame)

    def _together(self) -> tuple[composition.Composition | None, list[str]]:
        """Policies for one table are alternatives, of which one is published."""
        out = [side.published for side in self.sides if side.table is None or side.table is not self.original]
        alternatives = self.policies and self.policy is None
        return (None, []) if alternatives or self.original is None else all_out(out, self.original, self.roles)

    def _measured(self, side: _Side) -> ComparedTable:
        if side.kind == "anatomized":
            found = anatomy.measure_tables(open_anatomized(side.given), anatomy.AlphaBetaGammaDelta())
            return ComparedTable(side.name, side.kind, side.source, levels=found.levels)
        if side.refused is not None:
            return ComparedTable(side.name, side.kind, side.source, refused=str(side.refused))
        if side.release is not None:
            release = side.release
            return ComparedTable(side.name, side.kind, side.source, release.after, verdict=release.verdict)
        measured = measure(side.given, **self._roles_in(side.given), adversary=self._her_before(side))
        verdict = None
        if self.policy is not None and (self.policy.promises or self.policy.protections):
            protected = policies.choose_measured(self.policy.protections, measured)
            verdict = policies.judge(measured, self.policy.promises, protected=protected)
        return ComparedTable(side.name, side.kind, side.source, measured, verdict=verdict)

    def _roles_in(self, judged: TableOrRelease) -> dict[str, Any]:
        """The roles of one table: identifiers need not be there, and a release does not say whose a row is."""
        found = dict(self.roles)
        found["identifier"] = judged.table.present(found.get("identifier"))
        if judged.release is not None and found["person"] and not judged.table.has(found["person"]):
            found["person"] = None
        return found

    def _her_before(self, side: _Side) -> Adversary:
        """Before a release she believes the distribution of the original, unless a prior is given."""
        if self.original is None or side.table is self.original or self.her.prior is not None:
            return replace(self.her, original=None) if side.table is self.original else self.her
        return replace(self.her, original=self.original)

    def _with_more(self, each: ComparedTable, side: _Side, target: str | None) -> ComparedTable:
        return replace(each, utility=self._utility(side, target), attacked=self._attacked(side))

    def _utility(self, side: _Side, target: str | None) -> Utility | None:
        if self.original is None or side.table is self.original or side.refused is not None:
            return None
        asked: dict[str, Any] = {role: self.roles[role] or () for role in ("quasi_identifiers", "sensitive")}
        return utility(self.original, side.given, target=target, **asked)

    def _attacked(self, side: _Side) -> attacks.AttackResult | None:
        if self.draw is None or side.refused is not None:
            return None
        asked: dict[str, Any] = {"truth": self.original, "records": self.draw[0], "seed": self.draw[1]}
        sensitive = self.roles["sensitive"] or ()
        if side.kind != "anatomized":
            asked |= {"knows": self.roles["quasi_identifiers"], "attacks": _ATTACKS if sensitive else _ATTACKS[:2]}
        asked |= {"sensitive": sensitive} if side.kind == "table" else {}
        return attack_plainly(side.given, self.her, **asked)

    def _notes(self, told: Sequence[ComparedTable]) -> tuple[str, ...]:
        found = [f"{each.name}: {each.unmatched}" for each in told if each.unmatched]
        if self.original is None:
            found.append("what is left of the data is not told: the original is not known; original= names it")
        lost = [
            each.name for side, each in zip(self.sides, told, strict=True)
            if self.roles["person"] and side.judged is not None and not side.judged.table.has(self.roles["person"])
        ]  # fmt: skip
        found += [f"{name}: it does not say whose a row is, so its rows are counted as people" for name in lost]
        here = [each.measurement for each in told if each.measurement is not None]
        if any(
            not comparable(here[0], there, score)
            for there in here[1:]
            for scores in there.sensitive.values()
            for score in scores.values()
        ):
            found.append(
                "numbers that depend on an l, a distance or a guess that differs between tables are not compared; recursive_l= sets one l"
            )
        by_note: dict[str, list[str]] = {}
        for each in told:
            for note in () if each.measurement is None else each.measurement.notes:
                by_note.setdefault(note, []).append(each.name)
        return (*found, *(f"{', '.join(names)}: {note}" for note, names in by_note.items()))

    def _settings(self, told: Sequence[ComparedTable], target: str | None) -> dict[str, Any]:
        measured = {each.name: each.measurement.settings for each in told if each.measurement is not None}
        first = measured[told[0].name]
        return {
            "divulge": __version__,
            "reference": told[0].name,
            "original": None if self.original is None else self.original.source,
            "sources": {each.name: each.source for each in told},
            "engine": first["engine"],
            **{
                role: first[role]
                for role in ("quasi_identifiers", "sensitive", "identifier", "person", "weight", "nulls")
            },
            "prior": {name: settings["prior"] for name, settings in measured.items()},
            "policies": list(self.policies),
            "applied": bool(self.policies) and self.policy is None,
            "target": target,
            "attack": None if self.draw is None else {"records": self.draw[0], "seed": self.draw[1]},
            "tolerance": metrics.TOLERANCE,
        }

    # --- following people from the reference to another table ---------------------------------------------------------
    def _followed(self, first: ComparedTable, other: ComparedTable, ways: Sequence[Way]) -> ComparedTable:
        """Through the original where both are releases of it, else by the values that the reference itself has."""
        here, there = first.measurement, other.measurement
        if other.refused is not None or here is None or there is None:
            why = (
                None if other.refused else "an anatomized release has groups and no classes, so nobody can be followed"
            )
            return replace(other, unmatched=why)
        for each in (first, other):
            if each.measurement is not None and each.measurement.survey is not None:
                why = f"the classes of {each.name} stayed where they were counted, so nobody can be followed"
                return replace(other, unmatched=why)
            if each.measurement is not None and each.measurement.contingency.pinned:
                why = f"the numbers of {each.name} are those beside releases that are out already, whose classes no other table has"
                return replace(other, unmatched=why)
        by_values = Way(here.contingency.sizes, {first.name: np.arange(len(here.contingency)),
                         other.name: composition.place_of(as_it_is(here.contingency), there.contingency)})  # fmt: skip
        for way in (*ways, by_values):
            before, after = way.places.get(first.name), way.places.get(other.name)
            if before is None or after is None:
                continue
            whole = len(np.unique(before[before >= 0])) == len(here.contingency)  # nobody of the reference is missing
            if whole and (after[before >= 0] >= 0).any():
                found = people_moved(here, there, Followed(way.people, before, after))
                how: Literal["mapping", "values"] = "mapping" if way.mapped & {first.name, other.name} else "values"
                return replace(other, matched_by=how, moved=tuple(found))
        why = f"no class has the same values as in {first.name}, and nothing says what became of the people there"
        return replace(other, unmatched=why)

    def _ways(self, told: Sequence[ComparedTable]) -> list[Way]:
        """Through the classes of the original, where it is known and they are here: the class of their people in each table."""
        if self.original is None:
            return []
        person = self.roles["person"]
        roles = resolve_roles(
            self.original,
            quasi_identifiers=self.roles["quasi_identifiers"],
            person=person if person and self.original.has(person) else None,
        )
        nulls: count.Nulls = "drop" if self.her.nulls == "drop" else "category"
        asked = [
            count.Request(self.original, each, nulls, joint=False) for each in (roles, replace(roles, person=None))
        ]
        tables = [count.Counts.of(request) for request in (asked if roles.person else asked[:1])]
        if not all(counts.is_small for counts in tables):
            return []
        people, rows = tables[0].collect(), tables[-1].collect()
        places: dict[str, Ints] = {}
        mapped = set()
        for side, each in zip(self.sides, told, strict=True):
            if each.measurement is None or each.measurement.survey or each.measurement.contingency.pinned:
                continue
            recoding = recoding_of(side.release, None if side.judged is None else side.judged.release, people)
            found = composition.place_of(recoding or as_it_is(people), each.measurement.contingency)
            if recoding is not None:
                mapped.add(side.name)
                there, counted = each.measurement.contingency, rows if side.release is None else people
                held = arrays.exact_sums(found[found >= 0], counted.sizes[found >= 0], len(there))
                if not np.array_equal(held, there.sizes):
                    continue  # it was made from other rows
            places[side.name] = found
        return [Way(people.sizes, places, frozenset(mapped))]
