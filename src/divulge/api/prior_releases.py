# SPDX-License-Identifier: Apache-2.0
"""Prior releases of a table's people: their class in each, as additional columns.

An adversary who holds all releases cannot distinguish people with equal classes in every release,
including the new one. Requirements are checked on these joint classes, computed from the table
itself. No recipient can distinguish more people, so the joint classes are an upper bound of what
they learn. This holds if the class of each person in each release is known for certain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from divulge import counting
from divulge.adversary import Adversary
from divulge.api.opened import (
    OpenedAnatomized,
    OpenedGeneralized,
    ThirdPartyTable,
    is_anatomized,
    is_release,
)
from divulge.arguments import arg, arg_name
from divulge.errors import BadInput, nearest
from divulge.releases import EarlierReleases, Release
from divulge.sources import Roles, Table, read_with_engine_of, table_of
from divulge.text import count_with_noun

if TYPE_CHECKING:
    from divulge import anatomization, composition

_CHECKED_NOTE = (
    "judged together with {out} already, in the joint classes of the people in the table{taken}"
)
_DEPARTED_NOTE = (
    "{left} of what is out already left the table since, and nothing that is published of it now "
    "changes what is known of them: whoever "
    "knows who is still in it finds {alone} among nobody else"
)


def add_prior_releases(
    source: Table, roles: Roles, adversary: Adversary, *, measure_only: bool = False
) -> tuple[Table, EarlierReleases]:
    """Add a column for each prior release to the table; unchanged if there is none.

    Raises an error if the class of a person in a release is not known for certain, unless numbers
    are only reported (`measure_only`).
    """
    if adversary.released is None:
        adversary.refuse(["released_of"], "no release that is out already is named")
        return source, EarlierReleases()
    joint_classes = _join_classes(source, adversary.released, roles, adversary)
    prior_releases = prior_releases_of(joint_classes)
    if not measure_only:
        reject_uncertain(prior_releases.settings, source.source)
    return _with_class_texts(source, joint_classes, joint_classes.columns), prior_releases


def reject_uncertain(released: Sequence[Mapping[str, Any]], source: str) -> None:
    """Raise an error if a person's class in a prior release is uncertain.

    Joint classes of another possible assignment may be smaller, so metrics of these classes are not
    a guarantee.
    """
    uncertain_releases = [item for item in released if not item["certain"]]
    if not uncertain_releases:
        return
    reasons = [
        reason
        for item in uncertain_releases
        for reason in _uncertainty_reasons(item["release"], item["found_by"])
    ]
    why = (
        "; ".join(reasons) or "the classes of the release that is checked are not known for certain"
    )
    raise BadInput(
        "it is not known for certain in which classes of what is out already the people of "
        f"{source} are: {why}",
        hint="Name release folders that still have their private part, and give the table that "
        f"each was made of with {arg('released_of')}",
    )


def _uncertainty_reasons(release: str, lookup: Mapping[str, Any]) -> list[str]:
    """Reasons why the classes of a release are not known for certain."""
    counts = {
        "several": ("several classes of {1} fit {0}", "person", "people"),
        "misfits": ("no class of {1} has room for the sensitive values of {0}", "person", "people"),
        "too_many": (
            "classes of {1} were published without {0} whose values they fit",
            "person",
            "people",
        ),
        "unfound": ("nobody in the table fits {0} of {1}", "row", "rows"),
    }
    return [
        text.format(count_with_noun(lookup[name], singular, many), release)
        for name, (text, singular, many) in counts.items()
        if lookup[name]
    ]


def join_new_release(
    new_release: Any, source: Table, roles: Roles, adversary: Adversary
) -> tuple[Table, EarlierReleases]:
    """People of the original affected by a new release, with their new and prior classes.

    Some of them are suppressed in the new release. An adversary can subtract its people from a
    prior class and is left with the suppressed ones.
    """
    if adversary.original is None:
        message = (
            f"who is in which class of {source.source} and of what is out already, the original "
            "alone says"
        )
        raise BadInput(message, hint=f"Give the table that it was made of with {arg('original')}")
    original = read_with_engine_of(source, adversary.original)
    joint_classes = _join_classes(original, [new_release, *adversary.released], roles, adversary)
    prior_releases = prior_releases_of(joint_classes, first=1)
    if "this release" not in original.names:
        new_column = "this release"
    else:
        new_column = joint_classes.columns[-1] + " (new)"
    names = (new_column, *joint_classes.columns[:-1])
    return _with_class_texts(
        original, replace(joint_classes, table=_affected_people(joint_classes)), names
    ), replace(prior_releases, columns=names)


def _join_classes(
    original: Table, releases: Sequence[Any], roles: Roles, adversary: Adversary
) -> composition.JointClasses:
    """People of the table with their class in each release.

    They are looked up in the table from which a release was made, if that was another one.
    """
    from divulge.api.compose import (
        join_original,
    )  # imported late: most tables have no prior release

    reject_population(adversary)
    role_arguments = _matching_roles(original, roles, adversary)
    if not adversary.released_of:
        joint_classes = join_original(original, releases, **role_arguments, person=roles.person)
        _reject_unknown_suppression(joint_classes)
        return joint_classes
    key = roles.person or (roles.identifier[0] if len(roles.identifier) == 1 else None)
    if key is None:
        message = (
            "who of this table was in an earlier state of it, only a column that names people says"
        )
        raise BadInput(
            message,
            hint=(
                f"Give {arg('person')}, or one {arg('identifier')}; or leave "
                f"{arg_name('released_of')} out"
            ),
        )
    original_names = [
        next((name for name in adversary.released_of if _has_name(item, name)), None)
        for item in releases
    ]
    if unknown := set(adversary.released_of) - {*original_names}:
        message = (
            f"{arg_name('released_of')} names {min(unknown)!r}, which is no release "
            "that is out already"
        )
        raise BadInput(
            message,
            hint=nearest(min(unknown), [Path(item).name for item in releases if _is_path(item)]),
        )
    tables_by_release = {
        name: read_with_engine_of(original, table) for name, table in adversary.released_of.items()
    }
    tables = [original if name is None else tables_by_release[name] for name in original_names]
    joint_classes = join_original(tables, releases, **role_arguments, person=key, people=original)
    _reject_unknown_suppression(joint_classes)
    return joint_classes


def _reject_unknown_suppression(joint_classes: composition.JointClasses) -> None:
    """Raise an error if it is not known who was suppressed in a release.

    A release that was checked together with others suppresses people by their classes in these
    others. Without the others, suppressed people would be counted in classes that they are not in.
    These classes would appear larger than they are.
    """
    class_hashes = {release.classes_sha256 for release in joint_classes.releases}
    for release, lookup in zip(joint_classes.releases, joint_classes.lookups, strict=True):
        if lookup.too_many and not release.prior_class_hashes <= class_hashes:
            people = count_with_noun(lookup.too_many, "person", "people")
            message = (
                f"{people} of {joint_classes.table.source} cannot be located in {release.name}: it "
                "was judged together with another release, which is not given and which alone says "
                "who was suppressed"
            )
            raise BadInput(message, hint="Name that release too, or the coalition that holds it")


def _is_path(release: Any) -> bool:
    return isinstance(release, str | Path)


def _has_name(release: Any, name: str) -> bool:
    if isinstance(release, OpenedAnatomized):
        release = release.folder
    elif isinstance(release, OpenedGeneralized):
        release = release.release.folder
    return _is_path(release) and (Path(release) == Path(name) or Path(release).name == name)


def join_new_groups(
    release: OpenedAnatomized, published: anatomization.Published, adversary: Adversary
) -> tuple[Table, EarlierReleases]:
    """People of the original affected by a new anatomized release, as in `join_new_release`."""
    source = table_of(published.engine, published.tables[0].relation, source=release.name)
    identifier = tuple(release.document.get("roles", {}).get("identifier", ()))
    return join_new_release(
        release, source, replace(group_roles(published), identifier=identifier), adversary
    )


def group_roles(published: anatomization.Published) -> Roles:
    """Roles of the columns of an anatomized release."""
    known_tables, _ = published.divided()
    columns = tuple(name for table in known_tables for name in table.columns)
    return Roles(columns, published.sensitive, (), None, None)


def _affected_people(joint_classes: composition.JointClasses) -> Table:
    """People in the first release, and those who share all other classes with one of them."""
    rows = joint_classes.table
    quote = joint_classes.table.engine.quote
    new_column, *prior_columns = map(quote, joint_classes.columns)
    partition = f"PARTITION BY {', '.join(prior_columns)}"
    flag = f"MAX(CASE WHEN {new_column} <> 0 THEN 1 ELSE 0 END) OVER ({partition})"
    is_affected = quote("divulge_affected")
    flag_query = f"SELECT *, {flag} AS {is_affected} FROM {rows.relation}"
    is_published = " OR ".join(f"{name} <> 0" for name in prior_columns)
    names = ", ".join(map(quote, rows.names))
    relation = f"""(
        SELECT {names}
        FROM ({flag_query}) AS flagged
        WHERE {new_column} <> 0 OR ({is_affected} = 1 AND ({is_published}))
    )"""
    return replace(rows, relation=relation)


def _matching_roles(original: Table, roles: Roles, adversary: Adversary) -> dict[str, Any]:
    """Columns by which people are looked up, in addition to those declared by a release.

    These are the quasi-identifiers and all columns that a third-party table shares.
    """
    release_types = (OpenedAnatomized, OpenedGeneralized, Release)
    third_party = [
        item
        for item in adversary.released
        if not isinstance(item, release_types)
        and not (_is_path(item) and is_release(item))
        and not is_anatomized(item)
    ]
    shared = [
        name for item in third_party for name in _names_of(original, item) if original.has(name)
    ]
    excluded = {*roles.sensitive, *roles.identifier, roles.person, roles.weight}
    matching_columns = dict.fromkeys(
        (*roles.quasi_identifiers, *(name for name in shared if name not in excluded))
    )
    return {"quasi_identifiers": tuple(matching_columns), "sensitive": roles.sensitive}


def _names_of(original: Table, item: Any) -> tuple[str, ...]:
    """Columns of a third-party table, which may be open already."""
    table = item.table if isinstance(item, ThirdPartyTable) else item
    return read_with_engine_of(original, table).names


def reject_population(adversary: Adversary) -> None:
    """Raise BadInput for options that cannot be used with joint classes."""
    if adversary.population is not None:
        message = "nobody knows in which classes of a release the people of a population are"
        raise BadInput(message, hint=f"Leave out {arg('population')} or {arg('released')}")
    adversary.without_wildcards()


def prior_releases_of(
    joint_classes: composition.JointClasses, *, first: int = 0
) -> EarlierReleases:
    """Prior releases from `first` on, with their settings and notes.

    Raises:
        BadInput: A release contains no person of the table.
    """
    from divulge.composition import certainty_notes

    quote = joint_classes.table.engine.quote
    engine = joint_classes.table.engine
    columns = joint_classes.columns[first:]
    sums = ", ".join(
        f"SUM(CASE WHEN {quote(name)} <> 0 THEN 1 ELSE 0 END) AS n{index}"
        for index, name in enumerate(columns)
    )
    count_row = engine.query(f"SELECT {sums} FROM {joint_classes.table.relation}").to_pylist()[0]
    settings = []
    for index, (release, lookup) in enumerate(
        zip(joint_classes.releases[first:], joint_classes.lookups[first:], strict=True)
    ):
        people = int(count_row[f"n{index}"] or 0)
        if not people:
            message = (
                f"nobody in {joint_classes.table.source} is in {release.name}: its classes fit "
                "none of the rows"
            )
            raise BadInput(message, hint="Name releases of the same people, or leave it out")
        release_settings: dict[str, Any] = {
            "release": release.name,
            "kind": release.kind,
            "classes": len(release),
        }
        release_settings["classes_sha256"] = release.classes_sha256
        release_settings["made_of"] = joint_classes.sources[first + index]
        release_settings |= {
            "people": people,
            "found_by": asdict(lookup),
            "certain": joint_classes.exact,
        }
        settings.append(release_settings)
    release_count = count_with_noun(len(columns), "release that is out", "releases that are out")
    if joint_classes.left is None:
        assumption = ", which what is out is taken to be made of"
    else:
        assumption = ""
    notes = certainty_notes(
        joint_classes, _CHECKED_NOTE.format(out=release_count, taken=assumption)
    )
    if joint_classes.left is not None and joint_classes.left[0]:
        departed, unique_people = (
            count_with_noun(count, "person", "people") for count in joint_classes.left
        )
        notes.append(_DEPARTED_NOTE.format(left=departed, alone=unique_people))
    return EarlierReleases(columns, tuple(settings), tuple(notes), kept=joint_classes)


def _with_class_texts(
    source: Table, joint_classes: composition.JointClasses, names: Sequence[str]
) -> Table:
    """Rows with the class in each release as readable text."""
    rows = joint_classes.table
    engine = joint_classes.table.engine
    quote = engine.quote
    cells = [f"source.{quote(name)}" for name in source.names]
    joins = []
    for index, (release, column) in enumerate(
        zip(joint_classes.releases, joint_classes.columns, strict=True)
    ):
        alias = f"class{index}"
        class_texts = engine.lend(_class_texts(release))
        cells.append(f"COALESCE({alias}.text, '{counting.NOT_PUBLISHED}') AS {quote(names[index])}")
        joins.append(f"LEFT JOIN {class_texts} AS {alias} ON source.{quote(column)} = {alias}.code")
    relation = f"(SELECT {', '.join(cells)} FROM {rows.relation} AS source {' '.join(joins)})"
    return table_of(
        engine, relation, source=source.source, frame=source.frame, reading=source.reading
    )


def _class_texts(release: composition.PublishedRelease) -> pa.Table:
    """Text of each class; the number distinguishes classes that are written alike."""
    class_texts = [release.class_text(index) for index in range(len(release))]
    return pa.table(
        {
            "code": pa.array(range(1, len(class_texts) + 1), pa.int64()),
            "text": pa.array(class_texts, pa.string()),
        }
    )
