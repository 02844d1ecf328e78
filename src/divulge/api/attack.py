# SPDX-License-Identifier: Apache-2.0
"""attack(): play the adversary against a release, ours or anybody's, and tell what she achieves beside what was promised."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from divulge import anatomy, answers, engines, publish, values
from divulge import attacks as adversaries
from divulge import policy as policies
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.generalize import generalize
from divulge.api.measure import TableOrRelease
from divulge.api.query import is_anatomized, manifests_of, open_anatomized
from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.engines import choose_engine
from divulge.errors import BadInput, Infeasible, listed, nearest
from divulge.hierarchy import read_hierarchy
from divulge.policy import Policy, Promise, guard
from divulge.table import Names, Roles, Table, own_table, read, read_beside, resolve_roles

_Labels = dict[tuple[str | None, ...], tuple[str | None, ...] | None]
_WITHOUT_EFFECT = {
    ("original",): "her prior comes from the release, from prior= or from the background, and never from the truth",
    ("recursive_l",): "no attack depends on it",
    ("released",): "one release is attacked; dv.compose tells what several say together",
}
_EVERY = frozenset(attacker.name for attacker in adversaries.ATTACKERS)
_GUESSING = frozenset({"inference", "homogeneity", "background", "skewness", "similarity", "negative"})
_USERS: dict[str, tuple[frozenset[str], bool]] = {
    "background": (frozenset({"background"}), False),
    "rule_out": (frozenset({"background"}), False),
    "rule_in": (frozenset({"background"}), False),
    "population": (frozenset({"journalist"}), False),
    "prior": (_GUESSING, True),
    "tries": (frozenset({"inference"}), True),
    "within": (frozenset({"inference"}), True),
    "control": (_EVERY - {"prosecutor", "journalist", "marketer", "nearest-row", "minimality"}, False),
    "wrong": (_EVERY - {"journalist", "marketer", "singling-out", "minimality"}, True),
}
"""The attacks that look at an option, and whether the sets of known columns (`subsets`) do."""


@dataclass(frozen=True)
class _Opened:
    """A release as an adversary sees it, and what is promised of it."""

    table: Table
    roles: Roles
    mass: str | None = None
    promises: tuple[Promise, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    published: anatomy.Published | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, answers.Meanings] = field(default_factory=dict)
    """What labels stand for, of a release that has not been written."""
    other_prior: frozenset[str] = frozenset()
    """As in `Stage`."""


@values.checked
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
    """Play the adversary: for each target she outputs a row or a value, and the truth says whether she is right.

    The truth scores guesses, and no guess is made with it: what she believes beforehand comes from the release, from the adversary's prior,
    or from the background. What is broken is a promise whose bound lies below the whole 95 % interval of a rate.

    Args:
        release: The folder of a release, generalized or anatomized; what `generalize` or `anatomize` gave; the tables of another's
            anatomized release; or anybody's table: generalized, suppressed, perturbed, swapped or synthetic.
        truth: The table that the release was made of, with the values as they are.
        knows: The columns that she knows of each target; by default the quasi-identifiers that both tables have.
        quasi_identifiers: Of anybody's table: the columns that an adversary may know. By default what she knows here.
        sensitive: The columns that she is after; a release of ours says them itself.
        identifier: Of anybody's table: a column that says whose a row is, as the truth does; attacks by the nearest row are scored by it.
        background: Another table that she holds: what it says of people like the target weighs in the attack `background`.
        control: A table of people who are not in the release: what she achieves against them is no fault of it.
        attacks: The attacks to carry out, by name; by default all that have something to attack.
        records: How many people of the truth, and of the control, are attacked; drawn at random.
        seed: What chance is drawn from; the same seed attacks the same people on every engine.
        subsets: Tell too what she achieves by each set of up to so many of the columns that she knows.
        wrong: The share of what she knows that is wrong or outdated: such a value is another person's.
        policy: Promises to hold the attacks against, beside those of the release: as in `check`.
        hierarchies: A folder of hierarchy files that says what labels stand for.
        adversary: As in `measure`: what she believes beforehand, rules out, and holds as population; how suppressed cells are meant.
        progress: Called with how many attacks and sets of columns are done, and how many there are.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> truth = pa.table({"age": [31, 34, 38, 52], "disease": ["flu", "flu", "flu", "cold"]})
        >>> release = pa.table({"age": ["[30, 40)"] * 3 + ["[50, 60)"], "disease": ["flu", "flu", "flu", "cold"]})
        >>> found = dv.attack(release, truth=truth, knows="age", sensitive="disease")
        >>> [(a.name, a.rate.value) for a in found.attempts if a.name in ("prosecutor", "homogeneity")]
        [('prosecutor', 0.5), ('homogeneity', 1.0)]
    """
    _refuse_impossible(records=records, subsets=subsets, wrong=wrong)
    kept = Policy() if policy is None else Policy.of(policy)
    her = adversary_in_force(adversary, kept.adversary)
    for names, why in _WITHOUT_EFFECT.items():
        her.refuse(names, why)
    chosen = _chosen(values.several(attacks))
    _refuse_idle(chosen, adversary, subsets=subsets, background=background, control=control, wrong=wrong or None)
    given = guard.GivenRoles(quasi_identifiers or knows or (), sensitive, identifier)
    opened = _open(release, kept, given, engine=engine)
    if identifier and not opened.roles.identifier:
        raise BadInput("identifier= has no effect: a release of ours holds none", hint="Leave it out")
    stage = _set_up(
        opened,
        her,
        truth=truth,
        knows=knows,
        background=background,
        control=control,
        records=records,
        seed=seed,
        wrong=wrong,
        promises=kept.promises,
        hierarchies=hierarchies,
    )
    in_truth = stage.control_in_truth()
    stage = replace(stage, program=_program(release, opened, None if policy is None else kept))
    running, left_out = _with_something_to_attack(chosen, stage)
    sets = [
        columns
        for size in range(1, min(subsets, len(stage.knows)) + 1)
        for columns in itertools.combinations(stage.knows, size)
    ]
    attempts, knowledge = _carried_out(stage, running, sets, progress)
    asked = {"records": records, "seed": seed, "wrong": wrong, "subsets": subsets}
    settings = _settings(opened, stage, her, attackers=running, promises=kept.promises, asked=asked)
    return adversaries.AttackResult(
        attempts=attempts,
        knowledge=knowledge,
        left_out={} if chosen else left_out,
        settings=settings,
        notes=(*([] if in_truth is None else [in_truth]), *_notes(stage)),
        frame=opened.table.frame,
    )


def _refuse_impossible(*, records: int, subsets: int, wrong: float) -> None:
    for name, value, least in (("records", records, 1), ("subsets", subsets, 0)):
        if value < least:
            raise BadInput(f"{name}={value} is not possible", hint=f"it is at least {least}")
    if not 0 <= wrong < 1:
        raise BadInput(f"wrong={wrong} is not possible", hint="it is a share, from 0 up to below 1")


def _with_something_to_attack(
    chosen: Sequence[adversaries.Attacker], stage: adversaries.Stage
) -> tuple[list[adversaries.Attacker], dict[str, str]]:
    """The attacks that are carried out, and why the others are not; one that was asked for by its name must be."""
    offered = chosen or adversaries.ATTACKERS
    left_out = {attacker.name: why for attacker in offered if (why := attacker.obstacle(stage))}
    if chosen and left_out:
        name, why = next(iter(left_out.items()))
        raise BadInput(f"the attack {name!r} has nothing to attack: {why}")
    return [one for one in offered if one.name not in left_out and (chosen or one.by_default)], left_out


def _carried_out(
    stage: adversaries.Stage,
    running: Sequence[adversaries.Attacker],
    sets: Sequence[tuple[str, ...]],
    progress: Callable[[int, int], None] | None,
) -> tuple[tuple[adversaries.Attempt, ...], tuple[adversaries.Knowing, ...]]:
    """Every attack, then what each set of columns brings."""
    attempts: list[adversaries.Attempt] = []
    knowledge: list[adversaries.Knowing] = []
    tell = progress or (lambda _, __: None)
    for done, attacker in enumerate(running):
        tell(done, len(running) + len(sets))
        attempts += attacker.run(stage)
    for done, columns in enumerate(sets, len(running)):
        tell(done, len(running) + len(sets))
        knowledge += adversaries.knowing(stage, columns)
    tell(len(running) + len(sets), len(running) + len(sets))
    return tuple(attempts), tuple(knowledge)


def _settings(
    opened: _Opened,
    stage: adversaries.Stage,
    her: Adversary,
    *,
    attackers: Sequence[adversaries.Attacker],
    promises: Sequence[Promise],
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Everything that the rates depend on."""
    return {
        **opened.table.told,
        "truth": stage.everybody.source,
        "control": None if stage.nobody is None else stage.nobody.source,
        "attacks": [attacker.name for attacker in attackers],
        "knows": list(stage.knows),
        "identifier": list(stage.roles.identifier),
        "policy": [promise.text for promise in promises],
        "quasi_identifiers": list(stage.roles.quasi_identifiers),
        "sensitive": list(stage.roles.sensitive),
        "records": asked["records"],
        "targets": len(stage.targets),
        "controls": None if stage.controls is None else len(stage.controls),
        "seed": asked["seed"],
        "wrong": asked["wrong"],
        "subsets": asked["subsets"],
        "reading": stage.matcher.reading,
        "promises": [promise.text for promise in stage.promises] + [f"{k} <= {v}" for k, v in stage.levels.items()],
        "guesses": {
            name: dict(given) for name, given in (("tries", her.tries), ("within", her.within)) if given is not None
        },
        "prior": {name: "given" if name in stage.priors else "release" for name in stage.roles.sensitive},
        "background_knowledge": {name: known.describe() for name, known in her.knowledge().items()},
        "background": None if stage.background is None else stage.background.source,
        "population": None if stage.population is None else stage.population.source,
        "suppressed": {str(text): how for text, how in her.suppression.items()},
        "least_distance": dict(stage.least_distance),
        "taxonomies": sorted(her.taxonomies or {}),
        "agreeing": adversaries.AGREEING if any(one.name == "noisy-linkage" for one in attackers) else None,
        "interval": 0.95,
        "engine": stage.engine.name,
    }


def attack_plainly(release: Any, her: Adversary, **asked: Any) -> adversaries.AttackResult:
    """By somebody who knows some columns and nothing else: of what is said of her, only how suppressed cells are meant counts."""
    suppressed = {name: getattr(her, name) for name in ("nulls", "suppressed") if name in her.given}
    return attack(release, **asked, adversary=Adversary(**suppressed))


def _program(release: Any, opened: _Opened, given: Policy | None) -> Callable[[pa.Table], _Labels | None] | None:
    """The program that made the release, by its policy: that of `generalize`'s own result, or the one that is given."""
    roles = opened.roles
    options: dict[str, Any] = {"quasi_identifiers": roles.quasi_identifiers, "sensitive": roles.sensitive}
    if isinstance(release, publish.GeneralizedRelease):
        given = release.policy
        plan = release.plan
        options["method"] = plan.asked_as
        options |= {} if plan.method == "columns" else {"hierarchies": release.hierarchies}
        options |= {"objective": plan.objective} if plan.method == "full-domain" else {}
    if given is None or not given.promises or opened.published is not None:
        return None
    policy = replace(given, roles={})

    def program(rows: pa.Table) -> _Labels | None:
        try:
            made = generalize(rows, policy=policy, **options)
        except Infeasible:
            return None
        people, recoding = made.original.people, made.plan.recoding
        labels: _Labels = {}
        for number in range(len(people)):
            key = tuple(values.as_text(value) for value in people.class_key(number).values())
            own = (label[codes[number]] for label, codes in zip(recoding.labels, recoding.codes, strict=True))
            labels[key] = tuple(own) if recoding.kept[number] else None
        return labels

    return program


def _refuse_idle(
    chosen: Sequence[adversaries.Attacker], adversary: Adversary | None, *, subsets: int, **given: Any
) -> None:
    """What none of the attacks that were named looks at; what a policy says of the adversary is for more than attacks."""
    if not chosen:
        return
    hers = () if adversary is None else adversary.given
    names = {attacker.name for attacker in chosen}
    for option, (users, in_sets) in _USERS.items():
        asked = option in hers or given.get(option) is not None
        if asked and not names & users and not (subsets and in_sets):
            told = f"{option}= has no effect on {listed(sorted(names))}"
            raise BadInput(told, hint=f"attacks that it is for: {listed(sorted(users), most=9)}; else leave it out")


def _chosen(names: Sequence[str]) -> tuple[adversaries.Attacker, ...]:
    known = {attacker.name: attacker for attacker in adversaries.ATTACKERS}
    for name in names:
        if name not in known:
            raise BadInput(f"there is no attack {name!r}", hint=nearest(name, known))
    return tuple(attacker for attacker in adversaries.ATTACKERS if attacker.name in names)


# --- the release ------------------------------------------------------------------------------------------------------
def _open(release: Any, kept: Policy, given: guard.GivenRoles, *, engine: engines.EngineChoice) -> _Opened:
    """Whatever she was handed."""
    several = isinstance(release, Mapping | list | tuple)
    if several or isinstance(release, AnatomizedRelease | answers.AnatomizedSource) or is_anatomized(release):
        return _open_anatomized(release, given.sensitive, engine=engine)
    if isinstance(release, publish.GeneralizedRelease):
        (rows,) = release.tables().values()
        table, _ = own_table(read(rows, engine=engine))
        roles = {
            "quasi_identifiers": release.original.roles.quasi_identifiers,
            "sensitive": release.original.roles.sensitive,
        }
        found = guard.roles_in_force(table, roles, guard.GivenRoles())
        person = release.original.roles.person
        promises = () if person is not None else release.policy.promises
        return _Opened(
            replace(table, source=f"{release.original.source.source}, generalized"),
            found,
            promises=promises,
            document={"kind": "generalized"},
            meanings=_recoded(release),
            other_prior=frozenset(release.original.assumptions.priors),
        )
    judged = TableOrRelease.of(release, engine=engine)
    if judged.release is None:
        table, _ = own_table(judged.table)
        return _Opened(table, guard.roles_in_force(table, kept.roles, given))
    roles_ = guard.roles_in_force(judged.table, judged.release.roles, guard.GivenRoles(sensitive=given.sensitive))
    several_rows = judged.release.document["roles"].get("person") is not None
    promises = () if several_rows else judged.release.promises
    document, folder = judged.release.document, judged.release.folder
    # Against what promises were judged is in the publisher's part; without it nobody can say.
    both = manifests_of(folder)
    mine = {} if both is None else both.private or {}
    against = mine.get("after", {}).get("settings", {}).get("prior", {})
    given_by_hand = frozenset(name for name, how in against.items() if how not in ("table", "original"))
    return _Opened(judged.table, roles_, None, promises, document, folder, other_prior=given_by_hand)


def _recoded(release: publish.GeneralizedRelease) -> dict[str, answers.Meanings]:
    """What the labels of a release stand for: the values that were recoded to them."""
    people, recoding, found = release.original.people, release.plan.recoding, {}
    for place, name in enumerate(recoding.columns):
        listed: dict[str | None, set[str | None]] = {}
        labels = (recoding.labels[place][code] for code in recoding.codes[place].tolist())
        for label, value in zip(labels, people.key_column(place).to_pylist(), strict=True):
            listed.setdefault(label, set()).add(values.as_text(value))
        listing = {label: frozenset(texts) for label, texts in listed.items()}
        found[name] = answers.Meanings("mapping", listing)
    return found


def _open_anatomized(release: Any, sensitive: Names, *, engine: engines.EngineChoice) -> _Opened:
    found = manifests_of(release)
    published = open_anatomized(release, sensitive=values.several(sensitive), engine=choose_engine(engine))
    anatomy.check_groups(published)
    table = adversaries.put_together(published)
    if found is not None:
        table = replace(table, source=str(release))
    others = [name for name in published.columns if name not in published.sensitive]
    roles = resolve_roles(table, quasi_identifiers=others, sensitive=list(published.sensitive))
    levels: Mapping[str, str] = {}
    if isinstance(release, AnatomizedRelease):
        levels = release.model.texts()
    elif isinstance(release, answers.AnatomizedSource):
        levels = release.promises
    elif found is not None:
        levels = found.public.get("promises", {})
    document = {} if found is None else found.public
    return _Opened(
        table, roles, adversaries.MASS, (), document, Path(release) if found is not None else None, published, levels
    )


# --- the stage --------------------------------------------------------------------------------------------------------
def _set_up(
    opened: _Opened,
    her: Adversary,
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
) -> adversaries.Stage:
    """Everything that an attack needs, opened and checked."""
    table, roles = opened.table, opened.roles
    _refuse_empty(table, "release")
    everybody = _beside(table, truth, "truth")
    known = _known(table, everybody, roles, knows)
    nobody = None if control is None else _beside(table, control, "control")
    for name in roles.sensitive:
        everybody.column(name)
    if nobody is not None:
        for name in known:
            nobody.column(name)
    assumptions = Assumptions.of(her, table, roles)
    document = dict(opened.document) if opened.published is None else {}
    meanings: Mapping[str, answers.Meanings] = opened.meanings
    if hierarchies is not None or not meanings:
        meanings = answers.read_meanings(table, known, document, opened.folder, hierarchies=hierarchies)
    matcher = adversaries.Matcher(
        table, known, roles.sensitive, mass=opened.mass, meanings=meanings, suppression=her.suppression
    )
    population = None if her.population is None else _beside(table, her.population, "population")
    matcher.knowing_values([item for item in (everybody, nobody, population) if item is not None])
    shared = [name for name in everybody.names if table.has(name)]
    targets = adversaries.people_of(everybody, shared, known, records=records, seed=seed)
    controls = None
    if nobody is not None:
        of_both = [name for name in nobody.names if table.has(name)]
        controls = adversaries.people_of(nobody, of_both, known, records=records, seed=seed)
    return adversaries.Stage(
        engine=table.engine,
        release=table,
        mass=opened.mass,
        roles=roles,
        knows=known,
        targets=_partly_wrong(targets, wrong, seed),
        controls=None if controls is None else _partly_wrong(controls, wrong, seed),
        adversary=her,
        background=None if background is None else _beside(table, background, "background"),
        promises=(*opened.promises, *promises),
        seed=seed,
        everybody=everybody,
        nobody=nobody,
        population=population,
        matcher=matcher,
        priors=_priors(assumptions),
        least_distance={name: _least_distance(everybody, name, her) for name in roles.sensitive},
        published=opened.published,
        levels=opened.levels,
        document=opened.document,
        other_prior=opened.other_prior | frozenset(assumptions.priors),
    )


def _beside(table: Table, source: Any, what: str) -> Table:
    """Another table, where the engine of the release can see it."""
    found = read_beside(table, source)
    if found.engine is not table.engine:
        rows = found.engine.query(f"SELECT * FROM {found.relation}")
        found = replace(read_beside(table, rows), source=found.source, frame=found.frame)
    _refuse_empty(found, what)
    return found


def _refuse_empty(table: Table, what: str) -> None:
    if not table.engine.query(f"SELECT 1 AS one FROM {table.relation} LIMIT 1").num_rows:
        raise BadInput(f"the {what} has no rows", hint=f"{table.source} is empty; give one that is not")


def _known(table: Table, truth: Table, roles: Roles, knows: Names) -> tuple[str, ...]:
    """The columns that she knows, which both tables have."""
    if knows is None:
        found = tuple(name for name in roles.quasi_identifiers if truth.has(name))
        if not found:
            told = (
                "it is not said what she knows of people, and the release says no quasi-identifier that the truth has"
            )
            raise BadInput(
                told,
                hint=f"name columns with knows=; both tables have: {listed(n for n in table.names if truth.has(n))}",
            )
        return found
    found = resolve_roles(table, quasi_identifiers=knows).quasi_identifiers
    for name in found:
        truth.column(name)
        if name in roles.sensitive and len(roles.sensitive) == 1:
            raise BadInput(
                f"she knows {name!r} already, which is what she is after", hint="leave it out of one of the two"
            )
    return found


def _priors(assumptions: Assumptions) -> dict[str, Mapping[str | None, float]]:
    for name, prior in assumptions.conditional.items():
        told = f"the prior of {name} depends on {', '.join(prior.conditions)}, which an attack does not take"
        raise BadInput(told, hint="give rows with these columns as the background instead")
    return {name: prior.entries[()] for name, prior in assumptions.priors.items()}


def _least_distance(truth: Table, name: str, her: Adversary) -> float:
    """Of the ground distance in force: 1 between all values, a step of m - 1, or a level of the taxonomy."""
    if name in (her.taxonomies or {}):
        return 1.0 / max(read_hierarchy((her.taxonomies or {})[name], name).height, 1)
    asked = (her.distances or {}).get(name)
    ordered = truth.column(name).kind in ("number", "date") or name in (her.orders or {})
    if asked == "equal" or (asked is None and not ordered):
        return 1.0
    sql = f"SELECT COUNT(DISTINCT {truth.engine.quote(name)}) AS n FROM {truth.relation}"
    return 1.0 / max(int(truth.engine.query(sql)["n"][0].as_py()) - 1, 1)


def _partly_wrong(people: adversaries.People, share: float, seed: int) -> adversaries.People:
    """Some of what is known replaced by what another of these people has; a value that both have stays right."""
    if not share or not len(people):
        return people
    chance = np.random.default_rng([seed, 7])
    columns = {}
    for name in people.known.column_names:
        own = np.arange(len(people))
        other = chance.integers(0, len(people), len(people))
        columns[name] = people.known[name].take(pa.array(np.where(chance.random(len(people)) < share, other, own)))
    return replace(people, known=pa.table(columns))


def _notes(stage: adversaries.Stage) -> Iterator[str]:
    for name, labels in stage.matcher.unread.items():
        yield (
            f"{len(labels):,} labels of {name} could not be read and fit everybody, for example {labels[0]!r}; hierarchies= says what "
            "they stand for"
        )
    yield from stage.unbounded()
    if stage.controls is None:
        yield "without a control group nobody can say what of a rate is due to being in the release: control= takes one"
    if stage.published is not None:
        yield "an anatomized release bounds belief by its levels, not the best guess: only attacks that a level is about show a bound"
    elif not stage.promises:
        yield "nothing is promised of this release, so no bound is shown"
    elif not stage.covers_all_known:
        yield "she knows columns that are no quasi-identifiers, or people own several rows: no promise is about that, so no bound is shown"
