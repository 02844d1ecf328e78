# SPDX-License-Identifier: Apache-2.0
"""Joint disclosure risk of releases, measured on the joint classes that occur in the data.

Each release is measured by itself and together with all earlier ones.

The module also checks m-invariance (Xiao and Tao 2007). A class is m-unique if it has at least m
people and no two of them have the same sensitive value. The signature of a person is the set of
values in their class. Releases are m-invariant if every class is m-unique and each person's
signature is equal in all releases that contain them. Then m values remain for a person after an
adversary has intersected the releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from divulge import dossier, metrics
from divulge.adversary import Adversary, Assumptions
from divulge.arguments import arg, quoted
from divulge.composition.intersection_bounds import IntersectionBounds
from divulge.composition.joint_classes import NOT_PUBLISHED, JointClasses, LookupResult
from divulge.counting import Request
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.results import Result
from divulge.sources import Roles
from divulge.text import as_text


# --- dossier of one person ------------------------------------------------------------------------
# The dossier of one person from several releases follows Whang and Garcia-Molina. A release states
# that a person in a class has value v with a confidence: the share of v in the class. After several
# releases the class is the joint class, and so are the shares. The reference is the person's true
# record. The leakage is that of the record of these posterior beliefs.
@dataclass(frozen=True)
class DossierStep:
    """Inferences about one person after one more release."""

    release: str
    key: Mapping[str, Any] | None
    """Class of the person in the release; None if the person is not in it."""
    people: int
    """Number of people in that class."""
    together: int
    """Number of people who share the person's classes in all releases so far."""
    alone: float | None
    """Leakage of this release by itself."""
    so_far: float
    record: dossier.Record = field(repr=False)
    """Posterior record of the person after all releases so far."""


@dataclass(frozen=True, repr=False)
class PersonDossier(Result):
    """Dossier of one person from several releases."""

    view = "compose"

    person: str
    reference: dossier.Record
    steps: tuple[DossierStep, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def person_dossier(
    joint_classes: JointClasses | None,
    person_id: Any,
    *,
    settings: Mapping[str, Any],
    notes: tuple[str, ...],
) -> PersonDossier:
    """Build the dossier of one person, identified by their value in the person column."""
    if joint_classes is None or joint_classes.person is None:
        raise BadInput(
            "nobody can be named without the truth and its person column",
            hint=f"Give {arg('truth')} and {arg('person')}",
        )
    table = joint_classes.table
    engine = joint_classes.table.engine
    sensitive = settings["sensitive"]
    if not sensitive:
        raise BadInput(
            "no release tells a sensitive column, so there is nothing to be learnt of her"
        )
    quote = engine.quote
    name = engine.cast(quote(joint_classes.person), "VARCHAR")
    rows = engine.query(
        f"SELECT * FROM {table.relation} WHERE {name} = {engine.literal(str(as_text(person_id)))}"
    ).to_pylist()
    if len(rows) != 1:
        if not rows:
            row_text = "nobody"
        else:
            row_text = f"{len(rows)} rows"
        raise BadInput(
            f"{row_text} in the truth with {joint_classes.person} = {quoted(person_id)}",
            hint="Name one person who has one row",
        )
    (row,) = rows
    true = {
        attribute: as_text(row[attribute]) for attribute in sensitive if row[attribute] is not None
    }
    reference = dossier.Record.of(true, id=str(person_id))
    steps: list[DossierStep] = []
    for release_index, (column, release) in enumerate(
        zip(joint_classes.columns, joint_classes.releases, strict=True)
    ):
        number = row[column]
        is_published = number != NOT_PUBLISHED
        if is_published:
            release_record, size = _posterior_record(joint_classes, sensitive, {column: number})
        else:
            release_record = None
            size = 0
        in_some = any(
            row[name] != NOT_PUBLISHED for name in joint_classes.columns[: release_index + 1]
        )
        classes_so_far = {name: row[name] for name in joint_classes.columns[: release_index + 1]}
        if in_some:
            record, class_size = _posterior_record(joint_classes, sensitive, classes_so_far)
        else:
            record = dossier.Record.of({})
            class_size = 0
        steps.append(
            DossierStep(
                release.name,
                release.class_key(number - 1) if is_published else None,
                size,
                class_size,
                None
                if release_record is None
                else dossier.leakage(release_record, reference).leakage,
                dossier.leakage(record, reference).leakage,
                record,
            )
        )
    return PersonDossier(
        str(person_id), reference, tuple(steps), settings, notes, frame=table.frame
    )


def _posterior_record(
    joint_classes: JointClasses, sensitive: Sequence[str], classes: Mapping[str, int]
) -> tuple[dossier.Record, int]:
    """Record of the values in a class, each with its share, and the size of the class."""
    engine = joint_classes.table.engine
    quote = joint_classes.table.engine.quote
    where = " AND ".join(f"{quote(name)} = {number}" for name, number in classes.items())
    entries: list[tuple[str, str, float]] = []
    people = 0
    for attribute in sensitive:
        cell = quote(attribute)
        value_counts = engine.query(f"""
            SELECT {cell} AS v, COUNT(*) AS n
            FROM {joint_classes.table.relation}
            WHERE {where}
            GROUP BY {cell}
        """).to_pylist()
        people = sum(row["n"] for row in value_counts)
        entries += [
            (attribute, str(as_text(row["v"])), row["n"] / people)
            for row in value_counts
            if row["v"] is not None
        ]
    return dossier.Record.of(entries), people


# --- together -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class OneRelease:
    """One release, with its metrics by itself and together with all earlier releases."""

    name: str
    kind: str
    people: int
    """Number of rows."""
    classes: int
    """Number of classes or groups."""
    found: LookupResult | None
    """Result of the lookup of people in it, if the original is known."""
    alone: Measurement | None = field(default=None, repr=False)
    so_far: Measurement | None = field(default=None, repr=False)
    """Metrics together with all earlier releases."""


@dataclass(frozen=True)
class SingledOut:
    """Number of people whom the releases single out together but not individually."""

    people: int
    """Number of people in at least one of the releases."""
    smallest: int
    """Size of the smallest class of any single release."""
    below: int
    """Number of people in joint classes smaller than `smallest`."""
    alone: int
    """Number of people who are unique in the joint classes."""
    became_alone: int
    """Number of those people who are unique in no single release."""
    named: tuple[Mapping[str, Any], ...] = ()
    """Examples of people who became unique, if requested.

    Each has the person, if there is a person column, and their class in each release.
    """


@dataclass(frozen=True)
class MInvariance:
    """Result of the m-invariance check of releases for one sensitive attribute."""

    attribute: str
    unique: tuple[int, ...]
    """Largest m for which all classes of each release are m-unique; 0 if a class has a value twice.
    """
    distinct: tuple[int, ...]
    """Fewest distinct values of a class, for each release."""
    changed: int
    """Number of people whose signature differs between the releases that contain them."""
    followed: int
    """Number of people who are in several releases."""

    @property
    def m(self) -> int:
        """Largest m for which the releases are m-invariant; 0 if there is none."""
        if self.changed:
            return 0
        return min(self.unique)


@dataclass(frozen=True, eq=False, repr=False)
class Composition(Result):
    """Joint disclosure risk of several releases of the same people."""

    view = "compose"

    releases: tuple[OneRelease, ...]
    together: SingledOut | None
    """None if the original is not known."""
    invariance: tuple[MInvariance, ...] = ()
    derived: tuple[IntersectionBounds, ...] = ()
    """Facts that two of the releases prove together, if the original is not known."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    joined: JointClasses | None = field(default=None, repr=False, metadata={"told": False})

    @property
    def measurement(self) -> Measurement | None:
        """Joint metrics of all releases, if the original is known."""
        return self.releases[-1].so_far

    def person(self, who: Any) -> PersonDossier:
        """Build the dossier of one person: posterior record and leakage after each release.

        `who` is the person's value in the person column.
        """
        return person_dossier(self.joined, who, settings=self.settings, notes=self.notes)


def measure_jointly(
    joint_classes: JointClasses, roles: Roles, adversary: Adversary, *, joint: bool, sample: int
) -> tuple[list[OneRelease], SingledOut]:
    """Measure every metric of each release by itself and together with all earlier releases.

    All measurements use the same prior.
    """
    releases: list[OneRelease] = []
    for release_index, (column, release, how) in enumerate(
        zip(joint_classes.columns, joint_classes.releases, joint_classes.lookups, strict=True)
    ):
        single = _measure(joint_classes, [column], roles, adversary, joint=joint)
        if release_index:
            so_far = _measure(
                joint_classes,
                joint_classes.columns[: release_index + 1],
                roles,
                adversary,
                joint=joint,
            )
        else:
            so_far = single
        releases.append(
            OneRelease(
                release.name, release.kind, release.people, len(release), how, single, so_far
            )
        )
    return releases, _singled_out(joint_classes, sample)


def _measure(
    joint_classes: JointClasses,
    columns: Sequence[str],
    roles: Roles,
    adversary: Adversary,
    *,
    joint: bool,
) -> Measurement:
    table = joint_classes.within(columns)
    class_roles = replace(roles, quasi_identifiers=tuple(columns))
    assumptions = Assumptions.of(adversary, table, class_roles)
    request = Request(table, class_roles, "category", joint)
    return metrics.measure_request(request, assumptions=assumptions, population=None)


# --- people who are singled out -------------------------------------------------------------------
def _people_count_sql(joint_classes: JointClasses) -> str:
    if joint_classes.person is None:
        return "COUNT(*)"
    return f"COUNT(DISTINCT {joint_classes.table.engine.quote(joint_classes.person)})"


def _joint_classes_sql(joint_classes: JointClasses) -> str:
    """Query for the joint classes and their sizes.

    The columns c0, c1, ... hold the class in each release and n the people in the joint class. The
    columns a0, a1, ... hold the people in the class of each single release.
    """
    quote = joint_classes.table.engine.quote
    people_sql = _people_count_sql(joint_classes)
    names = [quote(name) for name in joint_classes.columns]
    rows = joint_classes.within(joint_classes.columns).relation
    keys = ", ".join(f"{name} AS c{release_index}" for release_index, name in enumerate(names))
    joint = f"(SELECT {keys}, {people_sql} AS n FROM {rows} AS r GROUP BY {', '.join(names)}) AS j"
    size_joins = []
    for release_index, name in enumerate(names):
        alias = f"s{release_index}"
        class_sizes = f"SELECT {name} AS c, {people_sql} AS n FROM {rows} AS r GROUP BY {name}"
        size_joins.append(f"JOIN ({class_sizes}) AS {alias} ON {alias}.c = j.c{release_index}")
    sizes_sql = ", ".join(
        f"s{release_index}.n AS a{release_index}" for release_index in range(len(names))
    )
    return f"SELECT j.*, {sizes_sql} FROM {joint} {' '.join(size_joins)}"


def _singled_out(joint_classes: JointClasses, sample: int) -> SingledOut:
    engine = joint_classes.table.engine
    indices = range(len(joint_classes.columns))
    stored_classes = engine.hold(_joint_classes_sql(joint_classes))
    smallest_sql = ", ".join(
        f"MIN(CASE WHEN c{release_index} <> {NOT_PUBLISHED} THEN a{release_index} END) AS "
        f"m{release_index}"
        for release_index in indices
    )
    smallest_row = engine.query(
        f"SELECT {smallest_sql} FROM {stored_classes.relation}"
    ).to_pylist()[0]
    smallest = min(value for value in smallest_row.values() if value is not None)
    not_unique_sql = " AND ".join(
        f"(j.c{release_index} = {NOT_PUBLISHED} OR j.a{release_index} > 1)"
        for release_index in indices
    )
    sums = {
        "people": "n",
        "below": f"CASE WHEN n < {smallest} THEN n ELSE 0 END",
        "alone": "CASE WHEN n = 1 THEN 1 ELSE 0 END",
        "became_alone": f"CASE WHEN n = 1 AND {not_unique_sql} THEN 1 ELSE 0 END",
    }
    sums_sql = ", ".join(
        f"CAST(SUM({expression}) AS BIGINT) AS {name}" for name, expression in sums.items()
    )
    totals = engine.query(f"SELECT {sums_sql} FROM {stored_classes.relation} AS j").to_pylist()[0]
    examples: tuple[Mapping[str, Any], ...] = ()
    if sample and totals["became_alone"]:
        condition = " AND ".join(
            f"r.{engine.quote(name)} = j.c{release_index}"
            for release_index, name in enumerate(joint_classes.columns)
        )
        if joint_classes.person is not None:
            person_sql = f"r.{engine.quote(joint_classes.person)} AS person"
        else:
            person_sql = "1 AS person"
        class_columns = ", ".join(f"j.c{release_index}" for release_index in indices)
        rows = engine.query(f"""
            SELECT {person_sql}, {class_columns}
            FROM {joint_classes.table.relation} AS r
            JOIN {stored_classes.relation} AS j ON {condition}
            WHERE j.n = 1 AND {not_unique_sql}
            ORDER BY 1, {class_columns}
            LIMIT {int(sample)}
        """)
        examples = tuple(_example(joint_classes, row) for row in rows.to_pylist())
    return SingledOut(
        smallest=int(smallest),
        named=examples,
        **{name: int(value) for name, value in totals.items()},
    )


def _example(joint_classes: JointClasses, row: Mapping[str, Any]) -> dict[str, Any]:
    classes = {
        release.name: None
        if row[f"c{release_index}"] == NOT_PUBLISHED
        else release.class_key(row[f"c{release_index}"] - 1)
        for release_index, release in enumerate(joint_classes.releases)
    }
    return ({} if joint_classes.person is None else {"person": row["person"]}) | {
        "classes": classes
    }


# --- m-invariance ---------------------------------------------------------------------------------
def m_invariance(joint_classes: JointClasses, attribute: str) -> MInvariance | None:
    """Check m-invariance for an attribute; None if one of the releases does not publish it."""
    parts = [release.entries_of(attribute) for release in joint_classes.releases]
    sensitive_parts = [part for part in parts if part is not None]
    if len(sensitive_parts) < len(parts):
        return None
    engine = joint_classes.table.engine
    signature_numbers = dict[frozenset[str | None], int]()
    unique = []
    distinct = []
    joins = []
    signature_columns = []
    for release_index, (part, release) in enumerate(
        zip(sensitive_parts, joint_classes.releases, strict=True)
    ):
        value_sets: list[set[str | None]] = [set() for _ in range(len(release))]
        for class_index, code in zip(
            part.class_index.tolist(), part.codes[0].tolist(), strict=True
        ):
            value_sets[class_index].add(part.texts[0][code])
        fewest = min(map(len, value_sets))
        distinct.append(fewest)
        unique.append(0 if (part.people > 1).any() else fewest)
        signature = [
            signature_numbers.setdefault(frozenset(value_set), len(signature_numbers))
            for value_set in value_sets
        ]
        signature_relation = engine.lend(
            pa.table(
                {"c": pa.array(range(1, len(release) + 1), pa.int64()), "s": pa.array(signature)}
            )
        )
        alias = f"s{release_index}"
        joins.append(f"LEFT JOIN {signature_relation} AS {alias} ON {alias}.c = j.c{release_index}")
        signature_columns.append(f"{alias}.s")
    signatures_sql = ", ".join(
        f"{name} AS s{release_index}" for release_index, name in enumerate(signature_columns)
    )
    signatures = f"""
        SELECT j.n AS n, {signatures_sql}
        FROM ({_joint_classes_sql(joint_classes)}) AS j
        {" ".join(joins)}
    """
    all_signatures = ", ".join(
        _signature_sql(release_index, len(signature_columns))
        for release_index in range(len(signature_columns))
    )
    least = f"LEAST({all_signatures})"
    greatest = f"GREATEST({all_signatures})"
    present = " + ".join(
        f"CASE WHEN s{release_index} IS NULL THEN 0 ELSE 1 END"
        for release_index in range(len(signature_columns))
    )
    sums = {
        "changed": f"CASE WHEN {least} <> {greatest} THEN n ELSE 0 END",
        "followed": f"CASE WHEN {present} > 1 THEN n ELSE 0 END",
    }
    sums_sql = ", ".join(
        f"CAST(SUM({expression}) AS BIGINT) AS {name}" for name, expression in sums.items()
    )
    row = engine.query(f"SELECT {sums_sql} FROM ({signatures}) AS signatures").to_pylist()[0]
    return MInvariance(
        attribute, tuple(unique), tuple(distinct), int(row["changed"]), int(row["followed"])
    )


def _signature_sql(release_index: int, count: int) -> str:
    """SQL for a person's signature in a release, else in another release that contains the person.

    Engines differ in the result of LEAST with a null.
    """
    others = [other for other in range(count) if other != release_index]
    return f"COALESCE({', '.join(f's{index}' for index in (release_index, *others))})"
