# SPDX-License-Identifier: Apache-2.0
"""Joint disclosure risk of several releases: measured with the original, bounded without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from divulge.adversary import Adversary
from divulge.arguments import Sentence, arg
from divulge.composition.intersection_bounds import bound_intersections
from divulge.composition.joint_classes import JointClasses
from divulge.composition.joint_metrics import Composition, OneRelease, m_invariance, measure_jointly
from divulge.composition.recipient_view import PublishedRelease
from divulge.errors import BadInput
from divulge.hierarchies import Hierarchy
from divulge.sources import Roles, Table
from divulge.text import count_with_noun
from divulge.version import __version__

_UPPER = "no receiver can tell more of them apart, so this is an upper bound of what she learns"
_NO_BOUND = (
    "this is no upper bound of what a receiver learns, because the classes of some people are "
    "not known for certain: in another way to "
    "place them, which the releases allow too, fewer may share a class"
)
_SAME_PEOPLE = (
    "the truth was not given: the bounds hold for every truth of {people:,} people that fits, "
    "each at most once in each release, with the "
    "same sensitive values in all; who is not in a release is told by what is missing in it{why}"
)
_AS_MANY_AS_ROWS = (
    ". These are as many as the largest release has rows: where there are more, so that each lacks "
    f"some, give {arg('people')}"
)
_WITHOUT_KEY = (
    "no person column was given: only rows that are the same in all versions of the truth are one "
    "person"
)


def measure_composition(
    joint_classes: JointClasses, adversary: Adversary, *, joint: bool, sample: int
) -> Composition:
    """Measure the joint classes of several releases.

    The default prior of the adversary is the distribution of the original.
    """
    table = joint_classes.table
    sensitive_columns = dict.fromkeys(
        name for release in joint_classes.releases for name in release.sensitive if table.has(name)
    )
    owns_several = (
        joint_classes.person is not None
        and joint_classes.versions == 1
        and _has_repeated_values(table, joint_classes.person)
    )
    roles = Roles(
        (), tuple(sensitive_columns), (), None, joint_classes.person if owns_several else None
    )
    if not roles.sensitive:
        adversary.refuse(
            ("recursive_l", "distances", "orders", "taxonomies"), "no column is sensitive"
        )
    if sensitive_columns and adversary.original is None and adversary.prior is None:
        prior = Adversary(original=table)
    else:
        prior = Adversary()
    releases, together = measure_jointly(
        joint_classes, roles, adversary.over(prior), joint=joint, sample=sample
    )
    if len(releases) > 1:
        invariance = [m_invariance(joint_classes, name) for name in sensitive_columns]
    else:
        invariance = []
    notes = certainty_notes(
        joint_classes, "measured on the classes that people of the truth share in all releases"
    )
    if joint_classes.versions > 1:
        notes.append(
            "who is in several versions of the truth is taken with the values of the last one "
            "that has her"
        )
    last = releases[-1].so_far
    settings = {
        **({} if last is None else last.settings),
        **table.reading_settings,
        "releases": [measured_release.name for measured_release in releases],
        "found_by": [
            measured_release.found.how
            for measured_release in releases
            if measured_release.found is not None
        ],
        "quasi_identifiers": list(
            dict.fromkeys(name for release in joint_classes.releases for name in release.columns)
        ),
        "sensitive": list(sensitive_columns),
        "upper_bound": joint_classes.exact,
        "person": joint_classes.person,
        "versions": joint_classes.versions,
        "version": __version__,
    }
    return Composition(
        tuple(releases),
        together,
        tuple(item for item in invariance if item is not None),
        settings=settings,
        notes=tuple(notes),
        joined=joint_classes,
        frame=table.frame,
    )


def _has_repeated_values(table: Table, person: str) -> bool:
    name = table.engine.quote(person)
    count_row = table.engine.query(
        f"SELECT COUNT(*) AS n, COUNT(DISTINCT {name}) AS d FROM {table.relation}"
    ).to_pylist()[0]
    return bool(count_row["n"] != count_row["d"])


def certainty_notes(joint_classes: JointClasses, measured: str) -> list[str]:
    """Notes that state whether the metrics are an upper bound, and which classes are uncertain."""
    notes = [f"{measured}: {_UPPER if joint_classes.exact else _NO_BOUND}"]
    for release, lookup in zip(joint_classes.releases, joint_classes.lookups, strict=True):
        if lookup.several:
            people = count_with_noun(lookup.several, "person", "people")
            notes.append(
                f"several classes of {release.name} fit {people}, placed in one of them as its "
                "counts allow"
            )
        if lookup.misfits:
            people = count_with_noun(lookup.misfits, "person", "people")
            notes.append(
                f"no class of {release.name} that fits {people} was found to have room for the "
                "sensitive value too: it is of another state "
                "of the table, or people lie otherwise in it than they were placed"
            )
        if lookup.too_many:
            people = count_with_noun(lookup.too_many, "person is", "people are")
            notes.append(
                f"{people} counted in classes of {release.name} that were published with fewer, "
                "so classes may be smaller than they are counted: name also what it was published "
                "beside, or give the table that it was made of"
            )
        if lookup.unfound:
            rows = count_with_noun(lookup.unfound, "row", "rows")
            notes.append(
                f"nobody in the table fits {rows} of {release.name}: it is of others too, or of "
                "another state of the table"
            )
    if joint_classes.versions > 1 and joint_classes.person is None:
        notes.append(_WITHOUT_KEY)
    return notes


def bound_pairs_of_releases(
    releases: Sequence[PublishedRelease],
    *,
    people: int | None,
    hierarchies: Mapping[str, Hierarchy],
) -> Composition:
    """Bound the facts that a recipient can derive from each pair of releases.

    `people` is the number of people in all releases together; by default that of the largest.
    """
    if len(releases) < 2:
        raise BadInput(
            "one release alone has nothing to be compared with", hint="Give two, or the truth"
        )
    if people is None:
        population = max(release.people for release in releases)
    else:
        population = people
    sensitive_columns = list(
        dict.fromkeys(name for release in releases for name in release.sensitive)
    )
    pairs = [
        (first_release, other)
        for index, first_release in enumerate(releases)
        for other in releases[index + 1 :]
    ]
    derived = []
    for first_release, other in pairs:
        common_attributes: list[str | None] = [
            name
            for name in sensitive_columns
            if first_release.entries_of(name) and other.entries_of(name)
        ]
        derived += [
            bound_intersections(
                first_release, other, attribute=name, people=population, hierarchies=hierarchies
            )
            for name in common_attributes or [None]
        ]
    settings = {
        "releases": [release.name for release in releases],
        "quasi_identifiers": list(
            dict.fromkeys(name for release in releases for name in release.columns)
        ),
        "sensitive": sensitive_columns,
        "people": population,
        "version": __version__,
    }
    note = _SAME_PEOPLE.format(people=population, why=_AS_MANY_AS_ROWS if people is None else "")
    release_entries = tuple(
        OneRelease(release.name, release.kind, release.people, len(release), None)
        for release in releases
    )
    return Composition(
        release_entries, None, derived=tuple(derived), settings=settings, notes=(Sentence(note),)
    )
