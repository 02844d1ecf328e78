# SPDX-License-Identifier: Apache-2.0
"""attack(): simulate attacks on a release and compare their success with its guarantees."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from divulge import anatomization, engines, queries, releases
from divulge import attacks as adversaries
from divulge import policy as policies
from divulge.adversary import Adversary, Assumptions
from divulge.api.generalize import generalize
from divulge.api.opened import OpenedAnatomized, OpenedGeneralized, open_release
from divulge.api.request import resolve_request
from divulge.arguments import Sentence, arg
from divulge.errors import BadInput, Infeasible, listed, nearest
from divulge.hierarchies import read_hierarchy
from divulge.policy import Policy, Promise, guard
from divulge.sources import Names, Roles, Table, own_table, read, read_with_engine_of, resolve_roles
from divulge.text import as_names, as_text
from divulge.validation import checked

_Labels = dict[tuple[str | None, ...], tuple[str | None, ...] | None]
_WITHOUT_EFFECT = {
    (
        "original",
    ): f"her prior comes from the release, from {arg('prior')} or from the background, and "
    "never from the "
    "truth",
    ("recursive_l",): "no attack depends on it",
    ("released",): "one release is attacked; dv.compose tells what several say together",
}
_ATTACK_NAMES = frozenset(attacker.name for attacker in adversaries.ATTACKERS)
_INFERENCE_ATTACKS = frozenset(
    {"inference", "homogeneity", "background", "skewness", "similarity", "negative"}
)
_ATTACKS_BY_OPTION: dict[str, tuple[frozenset[str], bool]] = {
    "background": (frozenset({"background"}), False),
    "rule_out": (frozenset({"background"}), False),
    "rule_in": (frozenset({"background"}), False),
    "population": (frozenset({"journalist"}), False),
    "prior": (_INFERENCE_ATTACKS, True),
    "tries": (frozenset({"inference"}), True),
    "within": (frozenset({"inference"}), True),
    "control": (
        _ATTACK_NAMES - {"prosecutor", "journalist", "marketer", "nearest-row", "minimality"},
        False,
    ),
    "wrong": (_ATTACK_NAMES - {"journalist", "marketer", "singling-out", "minimality"}, True),
}
"""Attacks that use an option, and True if the sets of known columns (`subsets`) use it too."""


@dataclass(frozen=True)
class _AttackTarget:
    """A release as an adversary sees it, with its guarantees."""

    table: Table
    roles: Roles
    mass: str | None = None
    promises: tuple[Promise, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    private_folder: Path | None = None
    """Folder of the private part, which records the meaning of labels; None if it is elsewhere."""
    published: anatomization.Published | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, queries.Meanings] = field(default_factory=dict)
    """Meanings of labels, for a release that has not been written."""
    other_prior: frozenset[str] = frozenset()
    """As in `AttackContext`."""


@checked
def attack(
    release: Any,
    *,
    truth: Any,
    knows: Names = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    background: Any = None,
    control: Any = None,
    attacks: str | Sequence[str] = (),
    records: int = 1000,
    seed: int = 1,
    subsets: int = 0,
    wrong: float = 0.0,
    policy: policies.PolicyLike | None = None,
    hierarchies: str | Path | None = None,
    adversary: Adversary | None = None,
    progress: Callable[[int, int], None] | None = None,
    engine: engines.EngineChoice = None,
) -> adversaries.AttackResult:
    """Simulate attacks on a release and score the adversary's guesses by the original.

    For each target the adversary outputs a row or a value. The original scores guesses and is never
    used to make them. The adversary's prior comes from the release, from the `adversary`, or from
    the background. A guarantee is violated if its bound is below the whole 95% interval of a rate.

    Args:
        release: The folder of a generalized or anatomized release, a result of `generalize` or
            `anatomize`, the tables of a third-party anatomized release, or any third-party table:
            generalized, suppressed, perturbed, swapped or synthetic.
        truth: The original table from which the release was made, with unmodified values.
        knows: The columns that the adversary knows about each target. The default is the
            quasi-identifiers that both tables have.
        quasi_identifiers: For a third-party table: the columns that an adversary may know. The
            default is `knows`.
        sensitive: The columns that the adversary wants to infer; our own releases record them.
        identifier: For a third-party table: a column that identifies the person of each row, as in
            the original. It scores attacks by the nearest row.
        background: Another table that the adversary holds. The attack `background` uses its rows of
            people who are like the target.
        control: A table of people who are not in the release. The success against them is not
            caused by the release.
        attacks: Names of the attacks to run; by default all that have something to attack.
        records: Number of people of the original, and of the control, to attack; drawn at random.
        seed: Seed of the random draws; it selects the same people on every engine.
        subsets: Also report the success with each set of up to this many of the known columns.
        wrong: Share of the background knowledge that is wrong or outdated: such a value belongs to
            another person.
        policy: Requirements to compare with the attacks, in addition to those of the release; as in
            `check`.
        hierarchies: A folder of hierarchy files that define the meaning of labels.
        adversary: As in `measure`: prior, values ruled out, population, and meaning of suppressed
            cells.
        progress: Called with the number of attacks and sets of columns done, and the total.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> truth = pa.table({"age": [31, 34, 38, 52], "disease": ["flu", "flu", "flu", "cold"]})
        >>> release = pa.table(
        ...     {"age": ["[30, 40)"] * 3 + ["[50, 60)"], "disease": ["flu", "flu", "flu", "cold"]}
        ... )
        >>> found = dv.attack(release, truth=truth, knows="age", sensitive="disease")
        >>> [
        ...     (a.name, a.rate.value)
        ...     for a in found.attempts
        ...     if a.name in ("prosecutor", "homogeneity")
        ... ]
        [('prosecutor', 0.5), ('homogeneity', 1.0)]
    """
    _check_ranges(records=records, subsets=subsets, wrong=wrong)
    request = resolve_request(
        guard.ExplicitRoles(quasi_identifiers or knows or (), sensitive, identifier),
        policy=policy,
        adversary=adversary,
    )
    effective_policy = request.policy
    effective_adversary = request.adversary
    for names, why in _WITHOUT_EFFECT.items():
        effective_adversary.refuse(names, why)
    named_attackers = _attackers_by_name(as_names(attacks))
    _reject_unused_options(
        named_attackers,
        adversary,
        subsets=subsets,
        background=background,
        control=control,
        wrong=wrong or None,
    )
    target = _release_target(release, effective_policy, request.explicit_roles, engine=engine)
    if identifier and not target.roles.identifier:
        raise BadInput(
            f"{arg('identifier')} has no effect: a release of ours holds none", hint="Leave it out"
        )
    context = _attack_context(
        target,
        effective_adversary,
        truth=truth,
        knows=knows,
        background=background,
        control=control,
        records=records,
        seed=seed,
        wrong=wrong,
        promises=effective_policy.promises,
        hierarchies=hierarchies,
    )
    control_note = context.control_in_truth()
    context = replace(
        context,
        program=_release_program(release, target, None if policy is None else effective_policy),
    )
    active_attackers, left_out = _select_attacks(named_attackers, context)
    column_sets = [
        columns
        for size in range(1, min(subsets, len(context.knows)) + 1)
        for columns in itertools.combinations(context.knows, size)
    ]
    attempts, knowledge = _run_attacks(context, active_attackers, column_sets, progress)
    attack_options = {"records": records, "seed": seed, "wrong": wrong, "subsets": subsets}
    settings = _settings(
        target,
        context,
        effective_adversary,
        attackers=active_attackers,
        promises=effective_policy.promises,
        options=attack_options,
    )
    return adversaries.AttackResult(
        attempts=attempts,
        knowledge=knowledge,
        left_out={} if named_attackers else left_out,
        settings=settings,
        notes=(*([] if control_note is None else [control_note]), *_notes(context)),
        frame=target.table.frame,
    )


def _check_ranges(*, records: int, subsets: int, wrong: float) -> None:
    for name, value, least in (("records", records, 1), ("subsets", subsets, 0)):
        if value < least:
            raise BadInput(f"{arg(name, value)} is not possible", hint=f"it is at least {least}")
    if not 0 <= wrong < 1:
        raise BadInput(
            f"{arg('wrong', wrong)} is not possible", hint="it is a share, from 0 up to below 1"
        )


def _select_attacks(
    named_attackers: Sequence[adversaries.Attacker], context: adversaries.AttackContext
) -> tuple[list[adversaries.Attacker], dict[str, str]]:
    """Select the attacks to run, and state why the others are not run.

    Raises:
        BadInput: An attack that was requested by name cannot be run.
    """
    candidates = named_attackers or adversaries.ATTACKERS
    obstacles = {
        attacker.name: why for attacker in candidates if (why := attacker.obstacle(context))
    }
    if named_attackers and obstacles:
        name, why = next(iter(obstacles.items()))
        raise BadInput(f"the attack {name!r} has nothing to attack: {why}")
    return [
        candidate
        for candidate in candidates
        if candidate.name not in obstacles and (named_attackers or candidate.by_default)
    ], obstacles


def _run_attacks(
    context: adversaries.AttackContext,
    attackers: Sequence[adversaries.Attacker],
    column_sets: Sequence[tuple[str, ...]],
    progress: Callable[[int, int], None] | None,
) -> tuple[tuple[adversaries.Attempt, ...], tuple[adversaries.KnowledgeResult, ...]]:
    """Run every attack, then measure the success with each set of columns."""
    attempts: list[adversaries.Attempt] = []
    knowledge: list[adversaries.KnowledgeResult] = []
    report_progress = progress or (lambda _, __: None)
    for done, attacker in enumerate(attackers):
        report_progress(done, len(attackers) + len(column_sets))
        attempts += attacker.run(context)
    for done, columns in enumerate(column_sets, len(attackers)):
        report_progress(done, len(attackers) + len(column_sets))
        knowledge += adversaries.knowing(context, columns)
    report_progress(len(attackers) + len(column_sets), len(attackers) + len(column_sets))
    return tuple(attempts), tuple(knowledge)


def _settings(
    target: _AttackTarget,
    context: adversaries.AttackContext,
    adversary: Adversary,
    *,
    attackers: Sequence[adversaries.Attacker],
    promises: Sequence[Promise],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """All settings on which the rates depend."""
    return {
        **target.table.reading_settings,
        "truth": context.everybody.source,
        "control": None if context.nobody is None else context.nobody.source,
        "attacks": [attacker.name for attacker in attackers],
        "knows": list(context.knows),
        "identifier": list(context.roles.identifier),
        "policy": [promise.text for promise in promises],
        "quasi_identifiers": list(context.roles.quasi_identifiers),
        "sensitive": list(context.roles.sensitive),
        "records": options["records"],
        "targets": len(context.targets),
        "controls": None if context.controls is None else len(context.controls),
        "seed": options["seed"],
        "wrong": options["wrong"],
        "subsets": options["subsets"],
        "reading": context.matcher.reading,
        "promises": [promise.text for promise in context.promises]
        + [f"{k} <= {v}" for k, v in context.levels.items()],
        "guesses": {
            name: dict(guess_settings)
            for name, guess_settings in (("tries", adversary.tries), ("within", adversary.within))
            if guess_settings is not None
        },
        "prior": {
            name: "given" if name in context.priors else "release"
            for name in context.roles.sensitive
        },
        "background_knowledge": {
            name: column_knowledge.describe()
            for name, column_knowledge in adversary.knowledge().items()
        },
        "background": None if context.background is None else context.background.source,
        "population": None if context.population is None else context.population.source,
        "suppressed": {str(text): how for text, how in adversary.suppression.items()},
        "least_distance": dict(context.least_distance),
        "taxonomies": sorted(adversary.taxonomies or {}),
        "agreeing": adversaries.AGREEING
        if any(active_attacker.name == "noisy-linkage" for active_attacker in attackers)
        else None,
        "interval": 0.95,
        "engine": context.engine.name,
    }


def attack_by_known_columns(
    release: Any, adversary: Adversary, **attack_options: Any
) -> adversaries.AttackResult:
    """Attack with knowledge of some columns only.

    Of the adversary's settings, only the meaning of suppressed cells is used.
    """
    suppressed = {
        name: getattr(adversary, name)
        for name in ("nulls", "suppressed")
        if name in adversary.explicit_settings
    }
    return attack(release, **attack_options, adversary=Adversary(**suppressed))


def _release_program(
    release: Any, target: _AttackTarget, release_policy: Policy | None
) -> Callable[[pa.Table], _Labels | None] | None:
    """Program that made the release: `generalize` with its own settings or with the policy."""
    roles = target.roles
    options: dict[str, Any] = {
        "quasi_identifiers": roles.quasi_identifiers,
        "sensitive": roles.sensitive,
    }
    if isinstance(release, releases.GeneralizedRelease):
        release_policy = release.policy
        plan = release.plan
        options["method"] = plan.request_name
        if plan.method != "columns":
            options |= {"hierarchies": release.hierarchies}
        if plan.method == "full-domain":
            options |= {"objective": plan.objective}
    if release_policy is None or not release_policy.promises or target.published is not None:
        return None
    policy = replace(release_policy, roles={})

    def program(rows: pa.Table) -> _Labels | None:
        try:
            release_result = generalize(rows, policy=policy, **options)
        except Infeasible:
            return None
        people = release_result.original.people
        recoding = release_result.plan.recoding
        labels: _Labels = {}
        for number in range(len(people)):
            key = tuple(as_text(value) for value in people.class_key(number).values())
            class_labels = (
                label[codes[number]]
                for label, codes in zip(recoding.labels, recoding.codes, strict=True)
            )
            if recoding.published_mask[number]:
                labels[key] = tuple(class_labels)
            else:
                labels[key] = None
        return labels

    return program


def _reject_unused_options(
    attackers: Sequence[adversaries.Attacker],
    adversary: Adversary | None,
    *,
    subsets: int,
    **option_values: Any,
) -> None:
    """Raise BadInput for options that none of the named attacks uses.

    Settings of the adversary in a policy are exempt, because the policy is not only for attacks.
    """
    if not attackers:
        return
    explicit_settings = () if adversary is None else adversary.explicit_settings
    names = {attacker.name for attacker in attackers}
    for option, (users, in_sets) in _ATTACKS_BY_OPTION.items():
        is_set = option in explicit_settings or option_values.get(option) is not None
        if is_set and not names & users and not (subsets and in_sets):
            message = f"{arg(option)} has no effect on {listed(sorted(names))}"
            raise BadInput(
                message,
                hint=f"attacks that it is for: {listed(sorted(users), most=9)}; else leave it out",
            )


def _attackers_by_name(names: Sequence[str]) -> tuple[adversaries.Attacker, ...]:
    attackers_by_name = {attacker.name: attacker for attacker in adversaries.ATTACKERS}
    for name in names:
        if name not in attackers_by_name:
            raise BadInput(f"there is no attack {name!r}", hint=nearest(name, attackers_by_name))
    return tuple(attacker for attacker in adversaries.ATTACKERS if attacker.name in names)


# --- the release ----------------------------------------------------------------------------------
def _release_target(
    release: Any,
    policy: Policy,
    explicit_roles: guard.ExplicitRoles,
    *,
    engine: engines.EngineChoice,
) -> _AttackTarget:
    """Open a release of any kind and present it as an adversary sees it."""
    opened = open_release(release, engine=engine)
    if isinstance(opened, OpenedAnatomized):
        return _anatomized_target(opened, explicit_roles.sensitive)
    if isinstance(opened, OpenedGeneralized):
        if opened.unwritten is not None:
            return _unwritten_target(opened.unwritten, engine=engine)
        return _generalized_target(opened, explicit_roles.sensitive)
    table, _ = own_table(opened.table)
    return _AttackTarget(table, guard.roles_in_force(table, policy.roles, explicit_roles))


def _unwritten_target(
    release: releases.GeneralizedRelease, *, engine: engines.EngineChoice
) -> _AttackTarget:
    """Present a generalized release in memory, with its tables verified like files."""
    (rows,) = release.tables().values()
    table, _ = own_table(read(rows, engine=engine))
    roles = {
        "quasi_identifiers": release.original.roles.quasi_identifiers,
        "sensitive": release.original.roles.sensitive,
    }
    release_roles = guard.roles_in_force(table, roles, guard.ExplicitRoles())
    person = release.original.roles.person
    promises = () if person is not None else release.policy.promises
    return _AttackTarget(
        replace(table, source=f"{release.original.source.source}, generalized"),
        release_roles,
        promises=promises,
        document={"kind": "generalized"},
        meanings=_label_meanings(release),
        other_prior=frozenset(release.original.assumptions.priors),
    )


def _generalized_target(opened: OpenedGeneralized, sensitive: Names) -> _AttackTarget:
    """Present the folder of a generalized release."""
    release_roles = guard.roles_in_force(
        opened.table, opened.release.roles, guard.ExplicitRoles(sensitive=sensitive)
    )
    # The private part records the prior of the requirements. Without it, the prior is unknown.
    release = opened.release.with_private_part
    several_rows = release.document["roles"].get("person") is not None
    promises = () if several_rows else release.promises
    private_manifest = release.private or {}
    prior_sources = private_manifest.get("after", {}).get("settings", {}).get("prior", {})
    explicit_priors = frozenset(
        name for name, how in prior_sources.items() if how not in ("table", "original")
    )
    return _AttackTarget(
        opened.table,
        release_roles,
        promises=promises,
        document=release.document,
        private_folder=release.private_folder,
        other_prior=explicit_priors,
    )


def _label_meanings(release: releases.GeneralizedRelease) -> dict[str, queries.Meanings]:
    """Meanings of the labels of a release: the values that were recoded to them."""
    people = release.original.people
    recoding = release.plan.recoding
    meanings = {}
    for column_index, name in enumerate(recoding.columns):
        values_by_label: dict[str | None, set[str | None]] = {}
        labels = (
            recoding.labels[column_index][code] for code in recoding.codes[column_index].tolist()
        )
        for label, value in zip(labels, people.key_column(column_index).to_pylist(), strict=True):
            values_by_label.setdefault(label, set()).add(as_text(value))
        listing = {label: frozenset(texts) for label, texts in values_by_label.items()}
        meanings[name] = queries.Meanings("mapping", listing)
    return meanings


def _anatomized_target(opened: OpenedAnatomized, sensitive: Names) -> _AttackTarget:
    """Present an anatomized release, our own or a third party's."""
    published = opened.with_sensitive(sensitive).answers.published
    table = adversaries.put_together(published)
    if opened.is_own or opened.folder is not None:
        table = replace(table, source=opened.name)
    others = [name for name in published.columns if name not in published.sensitive]
    roles = resolve_roles(table, quasi_identifiers=others, sensitive=list(published.sensitive))
    return _AttackTarget(
        table,
        roles,
        mass=adversaries.MASS,
        document=opened.document,
        published=published,
        levels=opened.bounds,
    )


# --- context of the attacks -----------------------------------------------------------------------
def _attack_context(
    target: _AttackTarget,
    adversary: Adversary,
    *,
    truth: Any,
    knows: Names,
    background: Any,
    control: Any,
    records: int,
    seed: int,
    wrong: float,
    promises: tuple[Promise, ...],
    hierarchies: str | Path | None,
) -> adversaries.AttackContext:
    """Open and check all inputs of the attacks."""
    table = target.table
    roles = target.roles
    _require_rows(table, "release")
    original = _read_other_table(table, truth, "truth")
    known_columns = _known_columns(table, original, roles, knows)
    if control is None:
        control_table = None
    else:
        control_table = _read_other_table(table, control, "control")
    for name in roles.sensitive:
        original.column(name)
    if control_table is not None:
        for name in known_columns:
            control_table.column(name)
    assumptions = Assumptions.of(adversary, table, roles)
    if target.published is None:
        document = dict(target.document)
    else:
        document = {}
    meanings: Mapping[str, queries.Meanings] = target.meanings
    if hierarchies is not None or not meanings:
        meanings = queries.read_meanings(
            table, known_columns, document, target.private_folder, hierarchies=hierarchies
        )
    matcher = adversaries.Matcher(
        table,
        known_columns,
        roles.sensitive,
        mass=target.mass,
        meanings=meanings,
        suppression=adversary.suppression,
    )
    if adversary.population is None:
        population = None
    else:
        population = _read_other_table(table, adversary.population, "population")
    matcher.knowing_values(
        [item for item in (original, control_table, population) if item is not None]
    )
    shared = [name for name in original.names if table.has(name)]
    targets = adversaries.people_of(original, shared, known_columns, records=records, seed=seed)
    controls = None
    if control_table is not None:
        control_columns = [name for name in control_table.names if table.has(name)]
        controls = adversaries.people_of(
            control_table, control_columns, known_columns, records=records, seed=seed
        )
    return adversaries.AttackContext(
        engine=table.engine,
        release=table,
        mass=target.mass,
        roles=roles,
        knows=known_columns,
        targets=_with_wrong_values(targets, wrong, seed),
        controls=None if controls is None else _with_wrong_values(controls, wrong, seed),
        adversary=adversary,
        background=None
        if background is None
        else _read_other_table(table, background, "background"),
        promises=(*target.promises, *promises),
        seed=seed,
        everybody=original,
        nobody=control_table,
        population=population,
        matcher=matcher,
        priors=_priors(assumptions),
        least_distance={
            name: _least_distance(original, name, adversary) for name in roles.sensitive
        },
        published=target.published,
        levels=target.levels,
        document=target.document,
        other_prior=target.other_prior | frozenset(assumptions.priors),
    )


def _read_other_table(table: Table, source: Any, name: str) -> Table:
    """Open another table in the engine of the release."""
    other_table = read_with_engine_of(table, source)
    if other_table.engine is not table.engine:
        rows = other_table.engine.query(f"SELECT * FROM {other_table.relation}")
        other_table = replace(
            read_with_engine_of(table, rows), source=other_table.source, frame=other_table.frame
        )
    _require_rows(other_table, name)
    return other_table


def _require_rows(table: Table, name: str) -> None:
    if not table.engine.query(f"SELECT 1 AS one FROM {table.relation} LIMIT 1").num_rows:
        raise BadInput(
            f"the {name} has no rows", hint=f"{table.source} is empty; give one that is not"
        )


def _known_columns(table: Table, truth: Table, roles: Roles, knows: Names) -> tuple[str, ...]:
    """Columns that the adversary knows, which both tables have."""
    if knows is None:
        known_columns = tuple(name for name in roles.quasi_identifiers if truth.has(name))
        if not known_columns:
            message = (
                "it is not said what she knows of people, and the release says no "
                "quasi-identifier that the truth has"
            )
            raise BadInput(
                message,
                hint=f"name columns with {arg('knows')}; both tables have: "
                f"{listed(n for n in table.names if truth.has(n))}",
            )
        return known_columns
    known_columns = resolve_roles(table, quasi_identifiers=knows).quasi_identifiers
    for name in known_columns:
        truth.column(name)
        if name in roles.sensitive and len(roles.sensitive) == 1:
            raise BadInput(
                f"she knows {name!r} already, which is what she is after",
                hint="leave it out of one of the two",
            )
    return known_columns


def _priors(assumptions: Assumptions) -> dict[str, Mapping[str | None, float]]:
    for name, prior in assumptions.conditional.items():
        message = (
            f"the prior of {name} depends on {', '.join(prior.conditions)}, which an attack does "
            "not take"
        )
        raise BadInput(message, hint="give rows with these columns as the background instead")
    return {name: prior.entries[()] for name, prior in assumptions.priors.items()}


def _least_distance(truth: Table, name: str, adversary: Adversary) -> float:
    """Smallest ground distance: 1, one step of m - 1, or one level of the taxonomy."""
    if name in (adversary.taxonomies or {}):
        return 1.0 / max(read_hierarchy((adversary.taxonomies or {})[name], name).height, 1)
    distance = (adversary.distances or {}).get(name)
    ordered = truth.column(name).kind in ("number", "date") or name in (adversary.orders or {})
    if distance == "equal" or (distance is None and not ordered):
        return 1.0
    sql = f"SELECT COUNT(DISTINCT {truth.engine.quote(name)}) AS n FROM {truth.relation}"
    return 1.0 / max(int(truth.engine.query(sql)["n"][0].as_py()) - 1, 1)


def _with_wrong_values(people: adversaries.People, share: float, seed: int) -> adversaries.People:
    """Replace a share of the known values by those of other targets.

    A value that both people have stays correct.
    """
    if not share or not len(people):
        return people
    generator = np.random.default_rng([seed, 7])
    columns = {}
    for name in people.known_values.column_names:
        row_indices = np.arange(len(people))
        other = generator.integers(0, len(people), len(people))
        columns[name] = people.known_values[name].take(
            pa.array(np.where(generator.random(len(people)) < share, other, row_indices))
        )
    return replace(people, known_values=pa.table(columns))


def _notes(context: adversaries.AttackContext) -> Iterator[str]:
    for name, labels in context.matcher.unread.items():
        yield Sentence(
            f"{len(labels):,} labels of {name} could not be read and fit everybody, for example "
            f"{labels[0]!r}; {arg('hierarchies')} says what they stand for"
        )
    yield from context.unbounded()
    if context.controls is None:
        yield Sentence(
            "without a control group nobody can say what of a rate is due to being in the "
            f"release: {arg('control')} takes one"
        )
    if context.published is not None:
        yield (
            "an anatomized release bounds belief by its levels, not the best guess: only attacks "
            "that a level is about show a bound"
        )
    elif not context.promises:
        yield "nothing is promised of this release, so no bound is shown"
    elif not context.covers_all_known:
        yield (
            "she knows columns that are no quasi-identifiers, or people own several rows: no "
            "promise is about that, so no bound is shown"
        )
