# SPDX-License-Identifier: Apache-2.0
"""A table beside what is out already: what each earlier release says of each of its people, in columns of their own.

People who have the same class in every release, the new one too, cannot be told apart by whoever holds them all. What is judged are
these joint classes, as the table itself knows them: no receiver can tell more people apart, so what she learns is at most that, as far
as everybody's class in each release is known for certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from divulge import answers, publish, values
from divulge import count as counting
from divulge import ledger as ledgers
from divulge.belief import Adversary
from divulge.errors import BadInput, nearest
from divulge.table import Roles, Table, read_beside, table_of

if TYPE_CHECKING:
    from divulge import anatomy, composition

_JUDGED = "judged together with {out} already, in the joint classes of the people in the table{taken}"
_LEFT = (
    "{left} of what is out already left the table since, and nothing that is published of it now changes what is known of them: whoever "
    "knows who is still in it finds {alone} among nobody else"
)


def judged_by(
    ledger: str | Path | ledgers.Ledger | None, her: Adversary, *, new: bool = False
) -> tuple[ledgers.OutAlready | None, Adversary]:
    """What is out by a ledger, and the adversary who holds that too; without one, she as she is. `new`: as in `Ledger.judge`."""
    if ledger is None:
        return None, her
    out = ledgers.Ledger.of(ledger).judge(new=new)
    return out, out.held_by(her)


def beside_released(source: Table, roles: Roles, her: Adversary) -> tuple[Table, publish.EarlierReleases]:
    """The table with a column for each release that is out already; as it is where none is named."""
    if her.released is None:
        her.refuse(["released_of"], "no release that is out already is named")
        return source, publish.EarlierReleases()
    found = _found_in(source, her.released, roles, her)
    return _with_texts(source, found, found.columns), released_in(found)


def beside_new(new: Any, source: Table, roles: Roles, her: Adversary) -> tuple[Table, publish.EarlierReleases]:
    """The people of the original whom a new release tells something of, each with the class in it and in those that are out already.

    Some of them it leaves out: whoever takes its people from a class that is out already is left with them.
    """
    if her.original is None:
        told = f"who is in which class of {source.source} and of what is out already, the original alone says"
        raise BadInput(told, hint="Give the table that it was made of with original=")
    truth = read_beside(source, her.original)
    found = _found_in(truth, [new, *her.released], roles, her)
    held = released_in(found, first=1)
    new_one = "this release" if "this release" not in truth.names else found.columns[-1] + " (new)"
    names = (new_one, *found.columns[:-1])
    return _with_texts(truth, replace(found, table=_told_of(found)), names), replace(held, columns=names)


def _found_in(truth: Table, releases: Sequence[Any], roles: Roles, her: Adversary) -> composition.Joined:
    """Everybody in the table, with her class in each release: by the table that it was made of, where that was another one."""
    from divulge.api.compose import tie  # most tables are the first of their kind

    refuse_unheld(her)
    known = _known(truth, roles, her)
    if not her.released_of:
        return tie(truth, releases, **known, person=roles.person)
    key = roles.person or (roles.identifier[0] if len(roles.identifier) == 1 else None)
    if key is None:
        told = "who of this table was in an earlier state of it, only a column that names people says"
        raise BadInput(told, hint="Give person=, or one identifier=; or leave released_of out")
    made_of = [next((name for name in her.released_of if _is_called(item, name)), None) for item in releases]
    if unknown := set(her.released_of) - {*made_of}:
        told = f"released_of names {min(unknown)!r}, which is no release that is out already"
        raise BadInput(told, hint=nearest(min(unknown), [Path(item).name for item in releases if _is_path(item)]))
    then = {name: read_beside(truth, table) for name, table in her.released_of.items()}
    tables = [truth if name is None else then[name] for name in made_of]
    return tie(tables, releases, **known, person=key, people=truth)


def _is_path(release: Any) -> bool:
    return isinstance(release, str | Path)


def _is_called(release: Any, name: str) -> bool:
    return _is_path(release) and (Path(release) == Path(name) or Path(release).name == name)


def groups_beside(release: Any, published: anatomy.Published, her: Adversary) -> tuple[Table, publish.EarlierReleases]:
    """The same for an anatomized release."""
    from divulge.api.query import manifests_of

    source = table_of(published.engine, published.tables[0].relation, source=_called(release))
    manifests = manifests_of(release)
    new = answers.AnatomizedSource(published) if manifests is None else release
    identifier = () if manifests is None else tuple(manifests.public["roles"]["identifier"])
    return beside_new(new, source, replace(roles_of_groups(published), identifier=identifier), her)


def roles_of_groups(published: anatomy.Published) -> Roles:
    """What the columns of an anatomized release are."""
    known, _ = published.divided()
    columns = tuple(name for table in known for name in table.columns)
    return Roles(columns, published.sensitive, (), None, None)


def _called(release: Any) -> str:
    return str(release) if _is_path(release) else "the release"


def _told_of(found: composition.Joined) -> Table:
    """Whoever is in the first release, and whoever shares all classes of the others with somebody in it."""
    rows, quote = found.table, found.table.engine.quote
    new, *earlier = map(quote, found.columns)
    told = f"MAX(CASE WHEN {new} <> 0 THEN 1 ELSE 0 END) OVER (PARTITION BY {', '.join(earlier)})"
    counted = f"SELECT *, {told} AS {quote('told of')} FROM {rows.relation}"
    out = " OR ".join(f"{name} <> 0" for name in earlier)
    names = ", ".join(map(quote, rows.names))
    relation = f"(SELECT {names} FROM ({counted}) AS counted WHERE {new} <> 0 OR ({quote('told of')} = 1 AND ({out})))"
    return replace(rows, relation=relation)


def _known(truth: Table, roles: Roles, her: Adversary) -> dict[str, Any]:
    """By which columns people are found, beside what a release says itself: these, and all that somebody else's table shares."""
    from divulge.api.query import manifests_of

    ours = (answers.AnatomizedSource, answers.GeneralizedSource, publish.Release, list, tuple)
    foreign = [item for item in her.released if not isinstance(item, ours) and manifests_of(item) is None]
    shared = [name for item in foreign for name in read_beside(truth, item).names if truth.has(name)]
    never = {*roles.sensitive, *roles.identifier, roles.person, roles.weight}
    found = dict.fromkeys((*roles.quasi_identifiers, *(name for name in shared if name not in never)))
    return {"quasi_identifiers": tuple(found), "sensitive": roles.sensitive}


def refuse_unheld(her: Adversary) -> None:
    """Refuse what cannot be counted in joint classes."""
    if her.population is not None:
        told = "nobody knows in which classes of a release the people of a population are"
        raise BadInput(told, hint="Leave out population= or released=")
    her.without_wildcards()


def released_in(found: composition.Joined, *, first: int = 0) -> publish.EarlierReleases:
    """Which releases are held, those from `first` on, and what to say of them; refused where nobody in the table is in one of them."""
    from divulge.api.compose import how_certain

    quote, engine = found.table.engine.quote, found.table.engine
    columns = found.columns[first:]
    sums = ", ".join(f"SUM(CASE WHEN {quote(name)} <> 0 THEN 1 ELSE 0 END) AS n{at}" for at, name in enumerate(columns))
    counted = engine.query(f"SELECT {sums} FROM {found.table.relation}").to_pylist()[0]
    settings = []
    for at, (release, reading) in enumerate(zip(found.disclosed[first:], found.readings[first:], strict=True)):
        people = int(counted[f"n{at}"] or 0)
        if not people:
            told = f"nobody in {found.table.source} is in {release.name}: its classes fit none of the rows"
            raise BadInput(told, hint="Name releases of the same people, or leave it out")
        told_of: dict[str, Any] = {"release": release.name, "kind": release.kind, "classes": len(release)}
        told_of["classes_sha256"] = release.classes_sha256
        told_of["made_of"] = found.sources[first + at]
        settings.append(told_of | {"people": people, "found_by": asdict(reading)})
    out = values.counted(len(columns), "release that is out", "releases that are out")
    taken = ", which what is out is taken to be made of" if found.left is None else ""
    notes = how_certain(found, _JUDGED.format(out=out, taken=taken))
    if found.left is not None and found.left[0]:
        left, alone = (values.counted(count, "person", "people") for count in found.left)
        notes.append(_LEFT.format(left=left, alone=alone))
    return publish.EarlierReleases(columns, tuple(settings), tuple(notes), kept=found)


def _with_texts(source: Table, found: composition.Joined, names: Sequence[str]) -> Table:
    """The rows with the class in each release as text, by which people can read it."""
    rows, engine = found.table, found.table.engine
    quote = engine.quote
    cells = [f"source.{quote(name)}" for name in source.names]
    joins = []
    for at, (release, column) in enumerate(zip(found.disclosed, found.columns, strict=True)):
        cells.append(f"COALESCE(told{at}.told, '{counting.NOT_PUBLISHED}') AS {quote(names[at])}")
        joins.append(f"LEFT JOIN {engine.lend(_texts(release))} AS told{at} ON source.{quote(column)} = told{at}.code")
    relation = f"(SELECT {', '.join(cells)} FROM {rows.relation} AS source {' '.join(joins)})"
    return table_of(engine, relation, source=source.source, frame=source.frame, reading=source.reading)


def _texts(release: composition.Disclosed) -> pa.Table:
    """What each class is called; the number keeps those apart that are written alike."""
    told = [release.class_text(index) for index in range(len(release))]
    return pa.table({"code": pa.array(range(1, len(told) + 1), pa.int64()), "told": pa.array(told, pa.string())})
