# SPDX-License-Identifier: Apache-2.0
"""compose(): what several releases of the same people tell together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from divulge import answers, composition, engines, publish, values
from divulge import ledger as ledgers
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.query import manifests_of, open_anatomized
from divulge.belief import Adversary, adversary_in_force
from divulge.engines import DuckDBEngine, OwnEngine, choose_engine
from divulge.errors import BadInput, without_secrets
from divulge.hierarchy import load_hierarchies
from divulge.table import Names, Roles, Table, own_table, read, resolve_roles
from divulge.version import __version__

_UPPER = "no receiver can tell more of them apart, so this is an upper bound of what she learns"
_NO_BOUND = (
    "this is no upper bound of what a receiver learns, because the classes of some people are not known for certain: in another way to "
    "place them, which the releases allow too, fewer may share a class"
)
_SAME_PEOPLE = (
    "the truth was not given: the bounds hold for every truth of {people:,} people that fits, each at most once in each release, with the "
    "same sensitive values in all; who is not in a release is told by what is missing in it{why}"
)
_AS_MANY_AS_ROWS = (
    ". These are as many as the largest release has rows: where there are more, so that each lacks some, give people="
)
_WITHOUT_KEY = "no person column was given: only rows that are the same in all versions of the truth are one person"


@values.checked
def compose(
    releases: Sequence[Any] = (),
    *,
    truth: Any = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    person: str | None = None,
    joint: bool = False,
    adversary: Adversary | None = None,
    hierarchies: str | Path | None = None,
    people: int | None = None,
    sample: int = 0,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> composition.Composition:
    """Say what several releases of the same people tell together.

    With the truth, the classes that its people share in all releases are measured: every metric of each release alone, and of the first
    one, two, ... of them together. Where everybody's classes are known for certain, that is an upper bound of what any receiver learns;
    the notes say whether it is. Without the truth, what a receiver can derive from two of them is bounded from both sides.

    A release that was retracted, or has expired, is given like any other: whoever has it still knows what it tells.

    Args:
        releases: In the order in which they came out: folders of releases, releases in memory, what `open_release` gave, tables of others,
            or lists of tables with groups. Where a release has its private part, people are found by it exactly.
        truth: The table that the releases were made of; a list of as many tables as releases where it changed between them.
        quasi_identifiers: By which columns people are found, and so are the roles below; by default as the releases say.
        sensitive: The columns whose values must not be learnt.
        person: The column of the truth that names people. It ties versions of the truth together; without it only unchanged rows are.
        joint: Measure all sensitive columns together as one, too.
        adversary: As in `measure`; by default she believes the distribution of the truth.
        hierarchies: A folder of hierarchy files that says what labels stand for, where a release comes without its mapping.
        people: Without the truth: how many people all releases are about; by default as many as the largest has rows.
        sample: How many of the people who became alone are named.
        ledger: The `Ledger`, or its folder, whose releases come before these: all that is out, or what its recipient and coalition hold.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> truth = pa.table(
        ...     {"age": [21, 28, 31, 39], "sex": ["f", "m", "f", "m"], "disease": ["flu", "cold", "cold", "flu"]}
        ... )
        >>> by_age = pa.table(
        ...     {"age": ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"], "disease": ["flu", "cold", "cold", "flu"]}
        ... )
        >>> by_sex = pa.table({"sex": ["f", "m", "f", "m"], "disease": ["flu", "cold", "cold", "flu"]})
        >>> found = dv.compose([by_age, by_sex], truth=truth, sensitive="disease")
        >>> [one.alone["k_anonymity"].value for one in found.releases], found.together.became_alone
        ([2.0, 2.0], 4)
    """
    her = adversary_in_force(adversary)
    her.without_wildcards()
    if ledger is not None:
        releases = [*ledgers.Ledger.of(ledger).judge(new=False).released, *releases]
    her.refuse(
        ("population", "population_count", "suppressed", "nulls", "released"),
        "people are counted by their classes in the releases that are given, and nulls as the releases have them",
    )
    if sample < 0:
        raise BadInput(f"sample = {sample!r} is not possible", hint="It is how many people are named, from 0 on")
    roles: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
    if truth is None:
        given = {"person": person, "joint": joint or None, "sample": sample or None, "adversary": adversary}
        if idle := [name for name, value in given.items() if value is not None]:
            raise BadInput(f"{idle[0]}= has no effect without the truth", hint="Give truth= too, or leave it out")
        return _derived(releases, roles, people=people, hierarchies=hierarchies, engine=engine)
    if people is not None:
        raise BadInput("people= has no effect: the truth says how many there are", hint="Leave it out")
    found = tie(truth, releases, person=person, hierarchies=hierarchies, engine=engine, **roles)
    return _measured(found, her, joint=joint, sample=sample)


def all_out(
    releases: Sequence[Any], truth: Table, roles: Mapping[str, Any]
) -> tuple[composition.Composition | None, list[str]]:
    """What they would tell whoever holds all of them, or why that is not known; nothing of one alone."""
    if len(releases) < 2 or roles["weight"]:
        return None, []
    named: dict[str, Any] = {role: roles[role] or () for role in ("quasi_identifiers", "sensitive")}
    try:
        return compose(releases, truth=truth, person=roles["person"], **named), []
    except BadInput as error:
        return None, [f"what they would tell together is not known: {error.message}"]


def _measured(found: composition.Joined, her: Adversary, *, joint: bool, sample: int) -> composition.Composition:
    table = found.table
    told = dict.fromkeys(name for release in found.disclosed for name in release.sensitive if table.has(name))
    owns_several = found.person is not None and found.versions == 1 and _repeats(table, found.person)
    roles = Roles((), tuple(told), (), None, found.person if owns_several else None)
    if not roles.sensitive:
        her.refuse(("recursive_l", "distances", "orders", "taxonomies"), "no column is sensitive")
    prior = Adversary(original=table) if told and her.original is None and her.prior is None else Adversary()
    releases, together = composition.measured_together(found, roles, her.over(prior), joint=joint, sample=sample)
    invariance = [composition.invariance_of(found, name) for name in told] if len(releases) > 1 else []
    notes = how_certain(found, "measured on the classes that people of the truth share in all releases")
    if found.versions > 1:
        notes.append("who is in several versions of the truth is taken with the values of the last one that has her")
    last = releases[-1].so_far
    settings = {
        **({} if last is None else last.settings),
        **table.told,
        "releases": [one.name for one in releases],
        "found_by": [one.found.how for one in releases if one.found is not None],
        "quasi_identifiers": list(dict.fromkeys(name for release in found.disclosed for name in release.columns)),
        "sensitive": list(told),
        "upper_bound": found.exact,
        "person": found.person,
        "versions": found.versions,
        "version": __version__,
    }
    return composition.Composition(
        tuple(releases), together, tuple(item for item in invariance if item is not None),
        settings=settings, notes=tuple(notes), joined=found, frame=table.frame,
    )  # fmt: skip


def _repeats(table: Table, person: str) -> bool:
    name = table.engine.quote(person)
    found = table.engine.query(f"SELECT COUNT(*) AS n, COUNT(DISTINCT {name}) AS d FROM {table.relation}").to_pylist()[
        0
    ]
    return bool(found["n"] != found["d"])


def how_certain(found: composition.Joined, measured: str) -> list[str]:
    """Whether what is measured is a bound of what a receiver learns, and if not, whose classes are not known for certain."""
    notes = [f"{measured}: {_UPPER if found.exact else _NO_BOUND}"]
    for release, how in zip(found.disclosed, found.readings, strict=True):
        if how.several:
            who = values.counted(how.several, "person", "people")
            notes.append(f"several classes of {release.name} fit {who}, placed in one of them as its counts allow")
        if how.misfits:
            who = values.counted(how.misfits, "person", "people")
            notes.append(
                f"no class of {release.name} that fits {who} was found to have room for the sensitive value too: it is of another state "
                "of the table, or people lie otherwise in it than they were placed"
            )
        if how.too_many:
            who = values.counted(how.too_many, "person is", "people are")
            notes.append(
                f"{who} counted in classes of {release.name} that were published with fewer, so classes may be smaller than they are "
                "counted: name also what it was published beside, or give the table that it was made of"
            )
        if how.unfound:
            what = values.counted(how.unfound, "row", "rows")
            notes.append(
                f"nobody in the table fits {what} of {release.name}: it is of others too, or of another state of the table"
            )
    if found.versions > 1 and found.person is None:
        notes.append(_WITHOUT_KEY)
    return notes


def _derived(
    releases: Sequence[Any],
    roles: Mapping[str, Any],
    *,
    people: int | None,
    hierarchies: str | Path | None,
    engine: engines.EngineChoice,
) -> composition.Composition:
    """What a receiver derives from each two of them."""
    where = choose_engine(engine) or DuckDBEngine()
    found = disclose(releases, engine=where, hierarchies=hierarchies, **roles)
    if len(found) < 2:
        raise BadInput("one release alone has nothing to be compared with", hint="Give two, or the truth")
    levels = {} if hierarchies is None else load_hierarchies(hierarchies)
    several = max(release.people for release in found) if people is None else people
    told = list(dict.fromkeys(name for release in found for name in release.sensitive))
    pairs = [(one, other) for place, one in enumerate(found) for other in found[place + 1 :]]
    derived = []
    for one, other in pairs:
        both: list[str | None] = [name for name in told if one.about(name) and other.about(name)]
        derived += [
            composition.derive(one, other, attribute=name, people=several, hierarchies=levels)
            for name in both or [None]
        ]
    settings = {
        "releases": [release.name for release in found],
        "quasi_identifiers": list(dict.fromkeys(name for release in found for name in release.columns)),
        "sensitive": told,
        "people": several,
        "version": __version__,
    }
    note = _SAME_PEOPLE.format(people=several, why=_AS_MANY_AS_ROWS if people is None else "")
    shown = tuple(
        composition.OneRelease(release.name, release.kind, release.people, len(release), None) for release in found
    )
    return composition.Composition(shown, None, derived=tuple(derived), settings=settings, notes=(note,))


def tie(
    truth: Any,
    releases: Sequence[Any],
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    person: str | None = None,
    hierarchies: str | Path | None = None,
    people: Table | None = None,
    engine: engines.EngineChoice = None,
) -> composition.Joined:
    """The truth's rows with the class of each in every release; `truth` is a table, or for each release the table it was made of.

    With `people` the rows of that table, found again by the person column.
    """
    given = list(truth) if isinstance(truth, list | tuple) else [truth]
    tables = [own_table(read(item, engine=engine))[0] for item in given]
    _, where = own_table(tables[0])
    found = disclose(
        releases,
        engine=where,
        columns=set().union(*(table.names for table in tables)),
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        leave_out=() if person is None else (person,),
        hierarchies=hierarchies,
    )
    return composition.joined(tables, found, person=person, people=people)


def disclose(
    releases: Sequence[Any],
    *,
    engine: OwnEngine,
    columns: Collection[str] | None = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    leave_out: Collection[str] = (),
    hierarchies: str | Path | None = None,
) -> list[composition.Disclosed]:
    """Open releases that are out: ours, in folders or in memory, what `open_release` gave, tables of others, lists of tables with groups.

    By which columns people are found: those that are given, else what any release of ours calls a quasi-identifier, and of tables of others
    every column (of `columns`, those of the truth) that is not sensitive. A column that is sensitive in one release is so in all.
    """
    if not releases:
        raise BadInput("no releases were given", hint="Give a list of them: folders, tables, or what open_release gave")
    opened = [_Opened.of(item, place, engine) for place, item in enumerate(releases, start=1)]
    for place, item in enumerate(opened, start=1):
        if item.name in [other.name for other in opened[: place - 1]]:
            item.name = f"{item.name} ({place})"
    hidden = values.several(sensitive) or tuple(
        dict.fromkeys(name for item in opened for name in item.roles.get("sensitive", ()))
    )
    known = values.several(quasi_identifiers) or tuple(
        dict.fromkeys(name for item in opened for name in item.columns if columns is None or name in columns)
    )
    levels = {} if hierarchies is None else load_hierarchies(hierarchies)
    known = tuple(name for name in known if name not in {*hidden, *leave_out})
    return [item.disclosed(known, hidden, levels) for item in opened]


class _Opened:
    """One release on its way to be looked at."""

    def __init__(
        self,
        name: str,
        table: Table | None,
        release: publish.OpenedRelease | None,
        groups: Any,
        roles: Mapping[str, Any],
    ) -> None:
        self.name, self.table, self.release, self.groups, self.roles = name, table, release, groups, roles

    @classmethod
    def of(cls, item: Any, place: int, engine: OwnEngine) -> _Opened:
        if isinstance(item, answers.GeneralizedSource):
            item = item.folder
        if isinstance(item, answers.AnatomizedSource | AnatomizedRelease):
            return cls(f"release {place}", None, None, item, {"sensitive": item.published.sensitive})
        if isinstance(item, list | tuple | Mapping):
            return cls(f"release {place}", None, None, item, {})
        if isinstance(item, publish.GeneralizedRelease):
            opened = item.opened
            return cls(f"release {place}", opened.read(engine), opened, None, opened.document["roles"])
        found = manifests_of(item)
        if found is None:
            table = read(item, engine=None if isinstance(item, Table) else engine)
            return cls(
                without_secrets(str(item)) if isinstance(item, str | Path) else f"release {place}",
                table,
                None,
                None,
                {},
            )
        if found.public["kind"] == "anatomized":
            return cls(str(item), None, None, item, found.public["roles"])
        release = publish.OpenedRelease(Path(item), found.public, found.private)
        return cls(str(item), release.read(engine), release, None, release.document["roles"])

    @property
    def columns(self) -> tuple[str, ...]:
        """By which people may be found in it: quasi-identifiers, or every column where it does not say."""
        if self.roles or self.table is None:
            return tuple(self.roles.get("quasi_identifiers", ()))
        return self.table.names

    def disclosed(
        self, known: Sequence[str], hidden: Sequence[str], hierarchies: Mapping[str, Any]
    ) -> composition.Disclosed:
        if self.table is None:
            published = open_anatomized(self.groups, sensitive=() if self.roles else hidden)
            return composition.Disclosed.of_groups(published, name=self.name)
        table, names = self.table, self.table.names
        own = tuple(self.roles.get("quasi_identifiers", ()))
        found = [name for name in known if name in names and name not in own]
        if not own and not found:
            told = f"{self.name} has none of the columns by which people are found"
            raise BadInput(told, hint="Name the columns that it shares with the others with quasi_identifiers=")
        roles: Roles = resolve_roles(
            table, quasi_identifiers=[*own, *found], sensitive=[name for name in hidden if name in names]
        )
        return composition.Disclosed.of_table(
            table, roles, name=self.name, opened=self.release, hierarchies=hierarchies
        )
