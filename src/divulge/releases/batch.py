# SPDX-License-Identifier: Apache-2.0
"""A batch of records for an incremental release: the new records and those deferred before.

Every value gets the type and the label that it has in the earlier release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from divulge.arguments import arg, outside
from divulge.counting import Contingency, Request, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput, nearest
from divulge.generalization import Recoding
from divulge.releases.earlier_release import ContinuedRelease
from divulge.releases.generalized import EarlierReleases
from divulge.releases.incremental import NewRecords
from divulge.sources import Roles, Table, own_table, table_of

Unseen = Literal["refuse", "suppress"]
_MAX_LISTED = 20
_HINT = (
    f"Leave their rows out with {arg('unseen', 'suppress')}, or generalize old and new "
    "rows together"
)
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_INTEGER_TYPES = frozenset((*_INTEGERS, *(f"U{name}" for name in _INTEGERS)))


def read_batch(
    table: Table,
    earlier: ContinuedRelease,
    *,
    person: str | None,
    add_prior_releases: Callable[[Table, Roles], tuple[Table, EarlierReleases]],
) -> tuple[NewRecords, str | None]:
    """Read and count the new and previously deferred records; find the person column.

    Args:
        table: The new records.
        earlier: The release that they continue.
        person: The column that names people, if it was passed.
        add_prior_releases: Adds the class of each record in other prior
    """
    table, engine = own_table(table)
    missing = [name for name in earlier.columns if name not in table.names]
    if missing:
        message = f"{table.source} lacks columns of the release: {', '.join(map(repr, missing))}"
        raise BadInput(message, hint="New rows need every column that was published")
    person = _person_column(person, earlier, table)
    table = _with_release_types(table, engine, earlier)
    deferred = earlier.read_deferred(engine)
    if deferred is not None:
        deferred = _with_release_types(deferred, engine, earlier)
    _require_one_record_per_person(table, deferred, engine, person)
    roles = Roles(earlier.quasi_identifiers, earlier.sensitive, (), earlier.weight, None)
    counted_deferred = None
    if deferred is not None:
        counted_deferred = _count(deferred, roles, earlier)
        table = _union_records(table, deferred, engine, earlier, person)
    table, prior_releases = add_prior_releases(table, roles)
    not_published = [name for name in (person,) if name is not None and name not in earlier.columns]
    if prior_releases.columns:
        unpublished = (
            name for name in table.names if name not in (*earlier.columns, *prior_releases.columns)
        )
        not_published = list(unpublished)
    selected = ", ".join(
        map(engine.quote, (*earlier.columns, *not_published, *prior_releases.columns))
    )
    relation = f"(SELECT {selected} FROM {table.relation})"
    source = table_of(
        engine, relation, source=table.source, frame=table.frame, reading=table.reading
    )
    contingency = prior_releases.pinned(
        _count(source, prior_releases.roles_with_priors(roles), earlier)
    )
    earlier.refuse_unless_about(contingency.cells)
    batch = NewRecords(
        earlier,
        source,
        engine,
        roles,
        contingency,
        prior_releases,
        counted_deferred,
        tuple(not_published),
    )
    return batch, person


def _count(table: Table, roles: Roles, earlier: ContinuedRelease) -> Contingency:
    return count_in_memory(Request(table, roles, earlier.nulls, earlier.document["joint"]))


def _person_column(name: str | None, earlier: ContinuedRelease, table: Table) -> str | None:
    """Column that names people: the named one, else the one named before, if the table has it."""
    if name is None:
        if earlier.person in table.names:
            return earlier.person
        return None
    if name not in table.names:
        raise BadInput(f"{table.source} has no column {name!r}", hint=nearest(name, table.names))
    return name


def _with_release_types(table: Table, engine: OwnEngine, earlier: ContinuedRelease) -> Table:
    """Cast columns to their types in the release, or in the original if they were generalized.

    Values of a generalized column that do not fit the type of the original are not cast. They are
    not in the release.
    """
    published = {column.name: column.type for column in earlier.read(engine).columns}
    unchanged: dict[str, str] = {}
    generalized: dict[str, str] = {}
    for name in earlier.columns:
        source_type = table.column(name).type
        if name in earlier.unchanged:
            unchanged[name] = published[name]
        else:
            generalized[name] = earlier.original_types.get(name, source_type)
    unchanged = {
        name: type_ for name, type_ in unchanged.items() if type_ != table.column(name).type
    }
    generalized = {
        name: type_
        for name, type_ in generalized.items()
        if type_ != table.column(name).type and _may_be_cast(table.column(name).type, type_)
    }
    misfits = _count_misfits(table, engine, unchanged | generalized)
    wrong = {name: misfits[name] for name in unchanged if misfits[name]}
    if wrong:
        mismatches = ", ".join(
            f"{n} values of {name!r} (not {unchanged[name]})" for name, n in wrong.items()
        )
        raise BadInput(
            f"{table.source} has values of other types than the release: {mismatches}",
            hint="Correct them first",
        )
    types = unchanged | {name: type_ for name, type_ in generalized.items() if not misfits[name]}
    return _cast(table, engine, types)


def _may_be_cast(source_type: str, target: str) -> bool:
    """True if labels are looked up by the same text after a cast of a generalized column.

    30.0 as text is not 30.
    """
    return target != "VARCHAR" or source_type in _INTEGER_TYPES


def _cast(table: Table, engine: OwnEngine, types: Mapping[str, str]) -> Table:
    if not types:
        return table
    cells = []
    for name in table.names:
        quoted = engine.quote(name)
        if name in types:
            cells.append(f"{engine.cast(quoted, types[name])} AS {quoted}")
        else:
            cells.append(quoted)
    relation = f"(SELECT {', '.join(cells)} FROM {table.relation})"
    return table_of(engine, relation, source=table.source, frame=table.frame, reading=table.reading)


def _count_misfits(table: Table, engine: OwnEngine, types: Mapping[str, str]) -> dict[str, int]:
    """Number of values of each column that a cast to the type would change or lose."""
    if not types:
        return {}
    sums = []
    for position, (name, type_) in enumerate(types.items()):
        cell = engine.quote(name)
        same = f"COALESCE({_same_after_cast(engine, cell, table.column(name).type, type_)}, FALSE)"
        sums.append(
            f"SUM(CASE WHEN {cell} IS NOT NULL AND NOT {same} THEN 1 ELSE 0 END) AS c{position}"
        )
    misfit_counts = engine.query(f"SELECT {', '.join(sums)} FROM {table.relation}").to_pylist()[0]
    return {name: int(misfit_counts[f"c{position}"] or 0) for position, name in enumerate(types)}


def _same_after_cast(engine: OwnEngine, cell: str, source_type: str, target: str) -> str:
    """SQL condition that a value does not change by a cast.

    30.7 is not a BIGINT, and a time of day is not a DATE.
    """
    value = engine.cast(cell, target, attempt=True)
    if source_type != "VARCHAR":
        return f"({engine.cast(value, source_type, attempt=True)} = {cell})"
    via_type = {"DATE": "TIMESTAMP", "BOOLEAN": "VARCHAR"}.get(target)
    if via_type == "VARCHAR":
        return f"({value} IS NOT NULL)"
    if via_type is None:
        if target in _INTEGER_TYPES or target.startswith("DECIMAL"):
            via_type = "DOUBLE"
        else:
            via_type = target
    return (
        f"({engine.cast(cell, via_type, attempt=True)} = "
        f"{engine.cast(value, via_type, attempt=True)})"
    )


def _union_records(
    table: Table, deferred: Table, engine: OwnEngine, earlier: ContinuedRelease, person: str | None
) -> Table:
    """Union of the new and the deferred records, in the columns that both have."""
    quote = engine.quote
    shared = [name for name in table.names if name in deferred.names]
    different = [name for name in shared if table.column(name).type != deferred.column(name).type]
    for name in different:
        types = (table.column(name).type, deferred.column(name).type)
        if name in earlier.columns and not all(
            type_ == "VARCHAR" or type_ in _INTEGER_TYPES for type_ in types
        ):
            message = (
                f"{name!r} has the type {types[0]} in the new rows and {types[1]} in the rows that "
                "were deferred"
            )
            raise BadInput(message, hint="Give the new rows the types of the earlier ones")
    texts = dict.fromkeys(different, "VARCHAR")
    sides = [_cast(table, engine, texts), _cast(deferred, engine, texts)]
    selected = [", ".join(map(quote, shared))] * 2
    if person is not None and person not in shared:
        type_ = table.column(person).type
        selected[0] += f", {quote(person)}"
        selected[1] += f", {engine.cast('NULL', type_)} AS {quote(person)}"
    queries = [
        f"SELECT {names} FROM {side.relation}" for names, side in zip(selected, sides, strict=True)
    ]
    relation = f"({' UNION ALL '.join(queries)})"
    return table_of(engine, relation, source=table.source, frame=table.frame, reading=table.reading)


def _require_one_record_per_person(
    table: Table, deferred: Table | None, engine: OwnEngine, person: str | None
) -> None:
    """Raise BadInput for people with several new records or with a previously deferred record."""
    if person is None:
        return
    cell = engine.cast(engine.quote(person), "VARCHAR")
    people = f"SELECT {cell} AS person FROM {table.relation}"
    sql = (
        "SELECT COUNT(*) AS n, COUNT(person) AS named, COUNT(DISTINCT person) AS people FROM "
        f"({people}) AS p"
    )
    counts = engine.query(sql).to_pylist()[0]
    if counts["named"] < counts["n"]:
        missing = counts["n"] - counts["named"]
        raise BadInput(
            f"{missing:,} new rows have no {person!r}, so their people cannot be told apart"
        )
    if counts["people"] < counts["named"]:
        message = (
            f"{counts['named']:,} new rows belong to {counts['people']:,} people by {person!r}"
        )
        raise BadInput(message, hint="An incremental release takes one row of each person")
    if deferred is None or not deferred.has(person):
        return
    before = f"SELECT {cell} AS person FROM {deferred.relation}"
    sql = f"SELECT COUNT(*) AS n FROM ({people}) AS p WHERE person IN ({before})"
    repeated = engine.query(sql)["n"][0].as_py()
    if repeated:
        message = (
            f"{repeated:,} new rows belong to people whose rows were deferred before, by {person!r}"
        )
        raise BadInput(
            message, hint="Do not pass deferred rows again: they are added automatically"
        )


def recode_batch(
    earlier: ContinuedRelease, contingency: Contingency, *, unseen: Unseen
) -> Recoding:
    """Label of each raw class, by the mappings.

    Classes with unseen values are suppressed, or an error lists the values.
    """
    recoding, unseen_values = earlier.recode(contingency)
    uncovered_classes = int((~recoding.published_mask).sum())
    if unseen == "suppress" or not uncovered_classes:
        return recoding
    if not unseen_values:
        raise BadInput(
            f"{uncovered_classes} combinations of values in the new rows lie in no class of "
            "the release",
            hint=_HINT,
        )
    unknown_values = "; ".join(
        f"{name!r}: {_list_values(unknown)}" for name, unknown in unseen_values.items()
    )
    raise BadInput(
        f"the release does not know values of the new rows: {outside(unknown_values)}", hint=_HINT
    )


def _list_values(unknown: Sequence[str]) -> str:
    examples = ", ".join(map(repr, unknown[:_MAX_LISTED]))
    if len(unknown) > _MAX_LISTED:
        more = ", ..."
    else:
        more = ""
    return f"{examples}{more} ({len(unknown)})"
