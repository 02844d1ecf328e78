# SPDX-License-Identifier: Apache-2.0
"""compose(): joint disclosure risk of several releases of the same people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge import composition, engines
from divulge import ledger as ledgers
from divulge.adversary import Adversary
from divulge.api.opened import (
    Opened,
    OpenedAnatomized,
    OpenedGeneralized,
    ThirdPartyTable,
    open_release,
)
from divulge.api.request import resolve_request
from divulge.arguments import Sentence, arg
from divulge.engines import DuckDBEngine, OwnEngine, choose_engine
from divulge.errors import BadInput, without_secrets
from divulge.hierarchies import load_hierarchies
from divulge.sources import Names, Roles, Table, own_table, read, resolve_roles
from divulge.text import as_names
from divulge.validation import checked


@checked
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
    """Measure the joint disclosure risk of several releases of the same people.

    With the original, the joint classes of its people are measured: every metric of each release by
    itself, and of the first two, three, ... together. If all classes of all people are known for
    certain, the result is an upper bound of what any recipient learns. The notes report whether it
    is. Without the original, the facts that a recipient can derive from two releases are bounded
    from both sides.

    A retracted or expired release is passed like any other, because its recipients still have it.

    Args:
        releases: The releases in the order of publication: folders of releases, releases in memory,
            results of `open_release`, third-party tables, or lists of tables with groups. If a
            release has its private part, the lookup of people in it is exact.
        truth: The original table from which the releases were made. If it changed between releases,
            a list with one table for each release.
        quasi_identifiers: The columns by which people are looked up. The default for this and the
            roles below is the roles in the releases.
        sensitive: The columns whose values must not be disclosed.
        person: The column of the original that identifies people. It joins versions of the
            original; without it, only unchanged rows are joined.
        joint: Also measure all sensitive columns together as one.
        adversary: As in `measure`; the default prior is the distribution of the original.
        hierarchies: A folder of hierarchy files that define the meaning of labels, for a release
            without its private part.
        people: Without the original: the number of people in all releases together. The default is
            the number of rows of the largest release.
        sample: Number of people who became unique to list.
        ledger: The `Ledger`, or its folder, whose releases precede these: all published releases,
            or those that its recipient and coalition hold.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> truth = pa.table(
        ...     {
        ...         "age": [21, 28, 31, 39],
        ...         "sex": ["f", "m", "f", "m"],
        ...         "disease": ["flu", "cold", "cold", "flu"],
        ...     }
        ... )
        >>> by_age = pa.table(
        ...     {
        ...         "age": ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"],
        ...         "disease": ["flu", "cold", "cold", "flu"],
        ...     }
        ... )
        >>> by_sex = pa.table(
        ...     {"sex": ["f", "m", "f", "m"], "disease": ["flu", "cold", "cold", "flu"]}
        ... )
        >>> found = dv.compose([by_age, by_sex], truth=truth, sensitive="disease")
        >>> [one.alone["k_anonymity"].value for one in found.releases], found.together.became_alone
        ([2.0, 2.0], 4)
    """
    effective_adversary = resolve_request(adversary=adversary).adversary
    effective_adversary.without_wildcards()
    if ledger is not None:
        releases = [*ledgers.Ledger.of(ledger).judge(new=False).released, *releases]
    effective_adversary.refuse(
        ("population", "population_count", "suppressed", "nulls", "released"),
        "people are counted by their classes in the releases that are given, and nulls as the "
        "releases have them",
    )
    if sample < 0:
        raise BadInput(
            f"sample = {sample!r} is not possible",
            hint="It is how many people are named, from 0 on",
        )
    roles: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
    if truth is None:
        option_values = {
            "person": person,
            "joint": joint or None,
            "sample": sample or None,
            "adversary": adversary,
        }
        if idle := [name for name, value in option_values.items() if value is not None]:
            raise BadInput(
                f"{arg(idle[0])} has no effect without the truth",
                hint=f"Give {arg('truth')} too, or leave it out",
            )
        levels = {} if hierarchies is None else load_hierarchies(hierarchies)
        published_releases = open_releases(
            releases,
            engine=choose_engine(engine) or DuckDBEngine(),
            hierarchies=hierarchies,
            **roles,
        )
        return composition.bound_pairs_of_releases(
            published_releases, people=people, hierarchies=levels
        )
    if people is not None:
        raise BadInput(
            f"{arg('people')} has no effect: the truth says how many there are", hint="Leave it out"
        )
    joint_classes = join_original(
        truth, releases, person=person, hierarchies=hierarchies, engine=engine, **roles
    )
    return composition.measure_composition(
        joint_classes, effective_adversary, joint=joint, sample=sample
    )


def compose_or_note(
    releases: Sequence[Any], truth: Table, roles: Mapping[str, Any]
) -> tuple[composition.Composition | None, list[str]]:
    """Joint disclosure risk for an adversary who holds all releases, or a note why it is unknown.

    The result is None for fewer than two releases.
    """
    if len(releases) < 2 or roles["weight"]:
        return None, []
    role_arguments: dict[str, Any] = {
        role: roles[role] or () for role in ("quasi_identifiers", "sensitive")
    }
    try:
        return compose(releases, truth=truth, person=roles["person"], **role_arguments), []
    except BadInput as error:
        unknown = f"what they would tell together is not known: {error.message.marked}"
        return None, [Sentence(unknown)]


def join_original(
    truth: Any,
    releases: Sequence[Any],
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    person: str | None = None,
    hierarchies: str | Path | None = None,
    people: Table | None = None,
    engine: engines.EngineChoice = None,
) -> composition.JointClasses:
    """Rows of the original with the class of each in every release.

    `truth` is a table, or for each release the table from which it was made. With `people` the rows
    are those of that table, matched by the person column.
    """
    if isinstance(truth, list | tuple):
        originals = list(truth)
    else:
        originals = [truth]
    tables = [own_table(read(item, engine=engine))[0] for item in originals]
    _, own_engine = own_table(tables[0])
    disclosed_releases = open_releases(
        releases,
        engine=own_engine,
        columns=set().union(*(table.names for table in tables)),
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        leave_out=() if person is None else (person,),
        hierarchies=hierarchies,
    )
    return composition.join_classes(tables, disclosed_releases, person=person, people=people)


def open_releases(
    releases: Sequence[Any],
    *,
    engine: OwnEngine,
    columns: Collection[str] | None = None,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    leave_out: Collection[str] = (),
    hierarchies: str | Path | None = None,
) -> list[composition.PublishedRelease]:
    """Open published releases of any kind.

    These are our own releases, in folders or in memory, results of `open_release`, third-party
    tables, and lists of tables with groups. People are looked up by the explicit columns. The
    default is all quasi-identifiers of our own releases, and every column of third-party tables
    that is not sensitive. If `columns` is passed, the default is limited to it. A column that is
    sensitive in one release is sensitive in all.
    """
    if not releases:
        raise BadInput(
            "no releases were given",
            hint="Give a list of them: folders, tables, or what open_release gave",
        )
    opened = [
        _NamedRelease.of(item, position, engine) for position, item in enumerate(releases, start=1)
    ]
    for position, item in enumerate(opened, start=1):
        if item.name in [other.name for other in opened[: position - 1]]:
            item.name = f"{item.name} ({position})"
    sensitive_columns = as_names(sensitive) or tuple(
        dict.fromkeys(name for item in opened for name in item.roles.get("sensitive", ()))
    )
    known_columns = as_names(quasi_identifiers) or tuple(
        dict.fromkeys(
            name for item in opened for name in item.columns if columns is None or name in columns
        )
    )
    if hierarchies is None:
        levels = {}
    else:
        levels = load_hierarchies(hierarchies)
    known_columns = tuple(
        name for name in known_columns if name not in {*sensitive_columns, *leave_out}
    )
    return [item.published_release(known_columns, sensitive_columns, levels) for item in opened]


@dataclass
class _NamedRelease:
    """An opened release with its name in the results and the roles that it declares."""

    name: str
    opened: Opened
    roles: Mapping[str, Any]

    @classmethod
    def of(cls, release: Any, position: int, engine: OwnEngine) -> _NamedRelease:
        opened = open_release(release, engine=None if isinstance(release, Table) else engine)
        numbered_name = f"release {position}"
        if isinstance(opened, OpenedGeneralized):
            is_written = opened.unwritten is None
            name = str(opened.release.folder) if is_written else numbered_name
            return cls(name, opened, opened.release.document["roles"])
        if isinstance(opened, ThirdPartyTable):
            is_path = isinstance(release, str | Path)
            return cls(without_secrets(str(release)) if is_path else numbered_name, opened, {})
        name = numbered_name if opened.folder is None else opened.name
        return cls(name, opened, opened.roles)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns by which people may be looked up.

        These are the quasi-identifiers, or all columns if no roles are declared.
        """
        if self.roles or isinstance(self.opened, OpenedAnatomized):
            return tuple(self.roles.get("quasi_identifiers", ()))
        return self.opened.table.names

    def published_release(
        self, known_columns: Sequence[str], hidden: Sequence[str], hierarchies: Mapping[str, Any]
    ) -> composition.PublishedRelease:
        if isinstance(self.opened, OpenedAnatomized):
            published = self.opened.published(sensitive=hidden)
            return composition.PublishedRelease.of_groups(published, name=self.name)
        table = self.opened.table
        names = table.names
        release_columns = tuple(self.roles.get("quasi_identifiers", ()))
        shared_columns = [
            name for name in known_columns if name in names and name not in release_columns
        ]
        if not release_columns and not shared_columns:
            message = f"{self.name} has none of the columns by which people are found"
            raise BadInput(
                message,
                hint=(
                    "Name the columns that it shares with the others with "
                    f"{arg('quasi_identifiers')}"
                ),
            )
        roles: Roles = resolve_roles(
            table,
            quasi_identifiers=[*release_columns, *shared_columns],
            sensitive=[name for name in hidden if name in names],
        )
        if self.opened.release is None:
            release = None
        else:
            release = self.opened.release.with_private_part
        return composition.PublishedRelease.of_table(
            table, roles, name=self.name, opened=release, hierarchies=hierarchies
        )
