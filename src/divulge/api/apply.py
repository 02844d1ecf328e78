# SPDX-License-Identifier: Apache-2.0
"""apply(): publish later records as an earlier release was published (an incremental release).

Every value gets its label in the earlier release, or the label of its column's rule. The new
records must meet the requirements of the earlier release together with everything published so far,
and among themselves. Both checks use the prior of all records. Records whose class fails are
deferred: they stay in the private part of the new release and are checked again with the next
batch.

The result reports facts that are not verified: whether a person is in both tables, and requirements
on assumptions that a manifest does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from divulge import attacks, engines, generalization, releases
from divulge import ledger as ledgers
from divulge.adversary import Adversary
from divulge.api.prior_releases import add_prior_releases
from divulge.api.request import resolve_request
from divulge.arguments import arg, arg_name, outside
from divulge.counting import Contingency, Request, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput, nearest
from divulge.generalization import Recoding
from divulge.metrics import Measurement
from divulge.policy import Policy, Verdict, guard
from divulge.results import Result
from divulge.sources import Roles, Table, own_table, read, table_of
from divulge.validation import checked

Unseen = Literal["refuse", "suppress"]
_MAX_LISTED = 20
_ROUNDING = 1e-6
"""Tolerance of shares: 29 of 100 rows are not more than 0.29, although the float is slightly less.
"""
_HINT = (
    f"Leave their rows out with {arg('unseen', 'suppress')}, or generalize old and new "
    "rows together"
)
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_INTEGER_TYPES = frozenset((*_INTEGERS, *(f"U{name}" for name in _INTEGERS)))


@dataclass(frozen=True, eq=False, repr=False)
class Applied(Result):
    """Later records that were published."""

    view = "releases"

    folder: Path
    rows: int
    """New records that were passed."""
    previously_deferred: int
    """Records that earlier batches deferred and that were checked again with the new ones."""
    suppressed: int
    """New records that were suppressed because the release does not contain one of their values."""
    deferred: int
    """Records that are deferred to the next batch."""
    reasons: Mapping[str, int]
    """Number of deferred records by reason."""
    together: Measurement = field(repr=False)
    """Metrics of everything published before together with the new records."""
    verdict: Verdict
    """Verdict of `together`."""
    alone: Verdict
    """Verdict of the new records among themselves.

    It is for an adversary who knows that a person is one of them.
    """
    unchecked: tuple[str, ...]
    """Requirements that could not be checked again, each with the reason."""
    max_deferred: float = 1.0
    """Share of records that could have been deferred."""
    accept_incremental_risk: bool = False
    """True if records that fail the requirements among themselves could be published."""
    person: str | None = None
    """Column that identifies people, if it is known."""
    uniqueness: guard.uniqueness.Uniqueness | None = field(default=None, repr=False)
    """Uniqueness of the published new records among themselves, by all published columns."""
    deferral_attacks: tuple[attacks.Attempt, ...] = ()
    """Attacks on the records of missing classes.

    The adversary knows the program, the policy and the people in the batch.
    """
    beside: Verdict | None = None
    """Verdict of the new records in joint classes with other prior releases, if there are any."""
    ledger: releases.Register | None = field(default=None, repr=False, metadata={"told": False})
    """Ledger in which the new release was entered."""
    private_folder: Path | None = None
    """Folder of the private part of the new release."""

    @property
    def published(self) -> int:
        """Number of published records."""
        return self.rows + self.previously_deferred - self.suppressed - self.deferred

    @property
    def smallest_class(self) -> int:
        """Size of the smallest class among the new records (k)."""
        return releases.smallest_class(self.alone.measurement)

    @property
    def unique(self) -> int:
        """Number of published new records that are unique among them."""
        return releases.unique_records(self.alone.measurement)

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings on which the numbers depend."""
        settings = dict(self.together.settings)
        if self.beside is not None:
            settings["released"] = self.beside.measurement.settings["released"]
        return settings | {
            "max_deferred": self.max_deferred,
            "accept_incremental_risk": self.accept_incremental_risk,
            "person": self.person,
            "prior_of_new_records": "all records that ever came, as for the judgment together",
            "deferral": releases.REVEALS,
        }


@checked
def apply(
    release: str | Path,
    table: Any,
    out: str | Path,
    *,
    unseen: Unseen = "refuse",
    suppression: float | None = None,
    max_deferred: float = 1.0,
    accept_incremental_risk: bool = False,
    person: str | None = None,
    force: bool = False,
    seed: int | None = None,
    private_dir: str | Path | None = None,
    release_private_dir: str | Path | None = None,
    adversary: Adversary | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> Applied:
    """Publish later records as an earlier release was published, and defer the others.

    The published new records meet the requirements of the earlier release together with everything
    published before and among themselves. Records of other classes are deferred: they are kept in
    the private part of the new release. The next `apply` to that release adds them automatically.
    Do not pass them again.

    Args:
        release: The folder of the last release, as `generalize` or `apply` wrote it. Everything
            published so far is checked together.
        table: The new records: any source that `read` opens.
        out: The folder to write.
        unseen: Handling of records with values that are not in the release: "refuse" publishes
            nothing and raises an error, "suppress" suppresses the records.
        suppression: With unseen="suppress", the share of the new records that may be suppressed.
            The default is the limit in the policy of the release.
        max_deferred: The share of the records (new ones and those deferred before) that may be
            deferred. If more would be, nothing is published. By default there is no limit, because
            a deferred record is not lost.
        accept_incremental_risk: Publish records that do not meet the requirements among the new
            records, if they meet them together with the earlier ones. An adversary who knows that a
            person is among the new records may then single them out.
        person: The column that names the person each record belongs to. A person with several
            records, or with a record that was deferred before, then raises an error. The next
            `apply` uses the same column.
        force: Overwrite what is at `out`.
        seed: Fixes the order of the rows, for tests; by default it is drawn from a secret.
        private_dir: Folder for the private part of the new release; by default next to `out`, with
            the suffix `.private`.
        release_private_dir: The private part of `release`, if it is not next to it.
        adversary: Other releases of the new people that the adversary holds (released=). The new
            records then meet the requirements in joint classes too, among themselves. The classes
            of the earlier release's people in these releases are not known. Other settings have no
            effect here.
        ledger: The `Ledger`, or its folder, in which the release is entered. The adversary also
            holds the releases in it that `release` does not continue.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa, tempfile
        >>> people = pa.table(
        ...     {"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]}
        ... )
        >>> later = pa.table({"zip": ["4762", "4761", "4791"], "disease": ["flu", "cold", "cold"]})
        >>> policy = dv.Policy(k_anonymity=2)
        >>> hierarchies = {"zip": {"prefix": [3]}}
        >>> release = dv.generalize(
        ...     people,
        ...     policy=policy,
        ...     quasi_identifiers="zip",
        ...     sensitive="disease",
        ...     hierarchies=hierarchies,
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = release.write(f"{folder}/first")
        ...     applied = dv.apply(f"{folder}/first", later, f"{folder}/second")
        >>> applied.published, applied.deferred, applied.smallest_class
        (2, 1, 2)
    """
    if suppression is not None and unseen != "suppress":
        raise BadInput(
            f"{arg('suppression')} has no effect where no row is left out",
            hint=f"Say {arg('unseen', 'suppress')} with it",
        )
    if not 0 <= max_deferred <= 1:
        raise BadInput(
            f"{arg_name('max_deferred')} = {max_deferred!r} is not a share",
            hint="Give a number from 0 to 1",
        )
    releases.refuse_target(out, force=force, private_dir=private_dir)
    request = _ApplyRequest(
        release,
        table,
        out,
        unseen,
        suppression,
        max_deferred,
        accept_incremental_risk,
        person,
        force,
        seed,
        private_dir,
        release_private_dir,
        engine,
    )
    if ledger is None:
        return _apply(request, adversary)
    open_ledger = ledgers.Ledger.of(ledger)
    with open_ledger.turn():
        ledger_releases = open_ledger.judge()
        # The releases that `release` continues are checked with the new rows. All others are prior
        # releases that the adversary holds.
        effective_adversary = ledger_releases.held_by(
            resolve_request(adversary=adversary).adversary, continued=Path(release)
        )
        return replace(
            _apply(request, effective_adversary, ledger_releases), ledger=ledger_releases
        )


@dataclass(frozen=True)
class _ApplyRequest:
    """The arguments of `apply`."""

    release: str | Path
    table: Any
    out: str | Path
    unseen: Unseen
    suppression: float | None
    max_deferred: float
    accept_incremental_risk: bool
    person: str | None
    force: bool
    seed: int | None
    private_dir: str | Path | None
    release_private_dir: str | Path | None
    engine: engines.EngineChoice


def _apply(
    request: _ApplyRequest, adversary: Adversary | None, ledger: releases.Register | None = None
) -> Applied:
    earlier = releases.ContinuedRelease.open(
        request.release, private_dir=request.release_private_dir
    )
    batch, person = _read_batch(request, earlier, adversary)
    new_rows = batch.contingency.rows
    previously_deferred = 0
    if batch.previously_deferred is not None:
        previously_deferred = batch.previously_deferred.rows
        new_rows -= previously_deferred
    recoding = _recode(earlier, batch.contingency, unseen=request.unseen)
    promises, unchecked = earlier.checkable(batch.contingency)
    unchecked = (*earlier.unchecked, *unchecked)
    if not promises:
        raise BadInput(
            f"no requirement of {request.release} can be checked for new rows: "
            f"{'; '.join(unchecked) or 'it has none'}",
            hint="Generalize old and new rows together",
        )
    suppressed = batch.contingency.rows - generalization.published(batch.contingency, recoding).rows
    _check_suppression_limit(request, earlier, suppressed, new_rows)
    decision = batch.decide(recoding, promises, accept_risk=request.accept_incremental_risk)
    deferred = batch.deferred_records(decision)
    published = batch.published_table(decision.recoding)
    uniqueness = batch.judge_uniqueness(published, accept_risk=request.accept_incremental_risk)
    _check_deferral_limit(request, deferred, batch.contingency.rows)
    release = batch.release(
        decision,
        promises=promises,
        unchecked=unchecked,
        accept_risk=request.accept_incremental_risk,
        person=person,
        ledger=ledger,
    )
    folder = release.write(
        request.out, force=request.force, seed=request.seed, private_dir=request.private_dir
    )
    return Applied(
        folder,
        rows=new_rows,
        previously_deferred=previously_deferred,
        suppressed=suppressed,
        deferred=deferred,
        reasons=decision.reasons,
        together=decision.together,
        verdict=decision.verdict,
        alone=decision.new_records,
        unchecked=unchecked,
        max_deferred=request.max_deferred,
        accept_incremental_risk=request.accept_incremental_risk,
        person=person,
        uniqueness=uniqueness,
        deferral_attacks=attacks.attack_deferral(batch, decision, promises),
        beside=decision.joint,
        private_folder=releases.private_place(folder, request.private_dir),
        frame=batch.source.frame,
    )


def _check_suppression_limit(
    request: _ApplyRequest, earlier: releases.ContinuedRelease, suppressed: int, rows: int
) -> None:
    if request.suppression is None:
        share = earlier.suppression
    else:
        share = request.suppression
    limit = Policy(suppression=share).suppression
    if suppressed > limit * rows + _ROUNDING:
        raise releases.Unverified(
            f"{suppressed} of {rows} new rows would be left out ({suppressed / rows:.1%}), and "
            f"{limit:.1%} may be",
            hint="Nothing was published. Generalize old and new rows together, or allow more "
            f"with {arg('suppression')}",
        )


def _check_deferral_limit(request: _ApplyRequest, deferred: int, rows: int) -> None:
    if deferred > request.max_deferred * rows + _ROUNDING:
        raise releases.Unverified(
            f"{deferred} of {rows} records would be deferred ({deferred / rows:.1%}), and "
            f"{request.max_deferred:.1%} may be",
            hint="Nothing was written. Pass the new records again with the next batch, or allow "
            f"more with {arg('max_deferred')}",
        )


# --- reading of new and previously deferred records -----------------------------------------------
def _read_batch(
    request: _ApplyRequest, earlier: releases.ContinuedRelease, adversary: Adversary | None
) -> tuple[releases.NewRecords, str | None]:
    """Read and count the new and previously deferred records; find the person column."""
    table, engine = own_table(read(request.table, engine=request.engine))
    missing = [name for name in earlier.columns if name not in table.names]
    if missing:
        message = f"{table.source} lacks columns of the release: {', '.join(map(repr, missing))}"
        raise BadInput(message, hint="New rows need every column that was published")
    person = _person_column(request.person, earlier, table)
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
    table, prior_releases = _with_prior_releases(table, roles, adversary)
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
    batch = releases.NewRecords(
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


def _count(table: Table, roles: Roles, earlier: releases.ContinuedRelease) -> Contingency:
    return count_in_memory(Request(table, roles, earlier.nulls, earlier.document["joint"]))


def _person_column(
    name: str | None, earlier: releases.ContinuedRelease, table: Table
) -> str | None:
    """Column that names people: the named one, else the one named before, if the table has it."""
    if name is None:
        if earlier.person in table.names:
            return earlier.person
        return None
    if name not in table.names:
        raise BadInput(f"{table.source} has no column {name!r}", hint=nearest(name, table.names))
    return name


def _with_prior_releases(
    table: Table, roles: Roles, adversary: Adversary | None
) -> tuple[Table, releases.EarlierReleases]:
    """Add the records' class in each other prior release that the adversary holds."""
    effective_adversary = resolve_request(adversary=adversary).adversary
    effective_adversary.refuse(
        [name for name in effective_adversary.explicit_settings if name != "released"],
        "the release says what it assumed of her",
    )
    return add_prior_releases(table, roles, effective_adversary)


def _with_release_types(
    table: Table, engine: OwnEngine, earlier: releases.ContinuedRelease
) -> Table:
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
    table: Table,
    deferred: Table,
    engine: OwnEngine,
    earlier: releases.ContinuedRelease,
    person: str | None,
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


def _recode(
    earlier: releases.ContinuedRelease, contingency: Contingency, *, unseen: Unseen
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
