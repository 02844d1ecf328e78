# SPDX-License-Identifier: Apache-2.0
"""apply(): publish later rows the way an earlier release was published, if both together still keep its promises.

Every value gets the label it got then, or that its column's rule gives it. All that was published so far and the new rows are counted
together and held against the earlier promises, with the prior of all originals together. What this does not prove is said: whether a person
is in both, what the new rows tell somebody who knows that a person is among them (`Applied.alone`), and promises on assumptions that a
manifest does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from divulge import engines, metrics, publish, search, values
from divulge import ledger as ledgers
from divulge.api.released import beside_released
from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Cells, Contingency, Request, count, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Verdict, judge
from divulge.results import Result
from divulge.search import Recoding
from divulge.table import Roles, Table, own_table, read, table_of
from divulge.values import as_text

Unseen = Literal["refuse", "suppress"]
_SHOWN = 20
_ROUNDING = 1e-6
"""29 of 100 rows are no more than 0.29 of them, which a float is a little less than."""
_HINT = "Leave their rows out with unseen='suppress', or generalize old and new rows together"


@dataclass(frozen=True, eq=False, repr=False)
class Applied(Result):
    """Later rows that were published."""

    view = "releases"

    folder: Path
    rows: int
    """Rows that were handed in."""
    suppressed: int
    """Rows of them that were left out."""
    together: Measurement = field(repr=False)
    """What the earlier release and the new rows tell together."""
    verdict: Verdict | None
    """None where no promise could be checked."""
    alone: Verdict | None
    """The same for the new rows by themselves, where somebody looks who knows that a person is among them."""
    unchecked: tuple[str, ...]
    """Promises that could not be checked again, each with the reason."""
    beside: Verdict | None = None
    """The new rows in joint classes with other releases that are out already, where such were named."""
    ledger: publish.Register | None = field(default=None, repr=False, metadata={"told": False})
    """Where they were entered."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that the numbers depend on."""
        held = {} if self.beside is None else {"released": self.beside.measurement.settings["released"]}
        return {**self.together.settings, **held}


@values.checked
def apply(
    release: str | Path,
    table: Any,
    out: str | Path,
    *,
    unseen: Unseen = "refuse",
    suppression: float | None = None,
    force: bool = False,
    seed: int | None = None,
    adversary: Adversary | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    engine: engines.EngineChoice = None,
) -> Applied:
    """Publish later rows the way an earlier release was published, if both together still keep its promises.

    Args:
        release: The folder of the earlier release, as `generalize` wrote it, or `apply`: everything published so far is judged together.
        table: The later rows, whatever `read` opens.
        out: The folder to write.
        unseen: What becomes of rows with values that the release does not know, and of rows whose class would break a promise: nothing is
            published ("refuse"), or they are left out ("suppress").
        suppression: With unseen="suppress", the share of the new rows that may be left out; by default what the release's policy allowed.
        force: Overwrite what is at `out`.
        seed: Fixes the order of the rows, for tests; by default it is drawn from a secret.
        adversary: What else she holds of the new people (released=): the new rows then keep the promises in joint classes too, by
            themselves, for nobody knows here in which of these the people of the earlier release are. Nothing else about her has an
            effect here.
        ledger: The `Ledger`, or its folder, in which they are entered; what is out there and not continued by `release`, she holds too.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa, tempfile
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]})
        >>> later = pa.table({"zip": ["4762", "4791"], "disease": ["flu", "cold"]})
        >>> policy = dv.Policy(k_anonymity=2)
        >>> release = dv.generalize(people, policy=policy, quasi_identifiers="zip", sensitive="disease")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = release.write(f"{folder}/first")
        ...     applied = dv.apply(f"{folder}/first", later, f"{folder}/second")
        >>> applied.rows, applied.suppressed, applied.verdict.holds
        (2, 0, True)
    """
    if suppression is not None and unseen != "suppress":
        raise BadInput("suppression= has no effect where no row is left out", hint="Say unseen='suppress' with it")
    if ledger is None:
        return _applied(release, table, out, unseen, suppression, force=force, seed=seed, her=adversary, engine=engine)
    book = ledgers.Ledger.of(ledger)
    with book.turn():
        known = book.judge()
        # What the release continues is judged with the new rows as it is; all else as what is held beside it.
        her = known.held_by(adversary_in_force(adversary), continued=Path(release))
        asked: dict[str, Any] = {"force": force, "seed": seed, "her": her, "engine": engine}
        found = _applied(release, table, out, unseen, suppression, **asked, ledger=known)
        return replace(found, ledger=known)


def _applied(
    release: str | Path,
    table: Any,
    out: str | Path,
    unseen: Unseen,
    suppression: float | None,
    *,
    force: bool,
    seed: int | None,
    her: Adversary | None,
    engine: engines.EngineChoice,
    ledger: publish.Register | None = None,
) -> Applied:
    earlier = publish.Earlier.open(release)
    limit = Policy(suppression=earlier.suppression if suppression is None else suppression).suppression
    given, own = own_table(read(table, engine=engine))
    roles = Roles(earlier.quasi_identifiers, earlier.sensitive, (), earlier.weight, None)
    given, held = _beside(given, roles, her)
    source, own = _source(given, own, earlier, held)
    counted = held.pinned(
        count_in_memory(Request(source, held.judged(roles), earlier.nulls, earlier.document["joint"]))
    )
    earlier.refuse_unless_about(counted.cells)
    recoding = _recode(earlier, counted, unseen=unseen)
    later = _Later(earlier, source, own, roles, counted, held)
    promises, unchecked = earlier.checkable(counted)
    unchecked = (*earlier.unchecked, *unchecked)
    if held.columns and not promises:
        told = f"released= has no effect: no promise of {release} can be checked again"
        raise BadInput(told, hint="Leave it out, or generalize old and new rows together")
    recoding, together, verdict = later.settle(recoding, promises, unseen=unseen)
    left_out = counted.rows - search.published(counted, recoding).rows
    if left_out > limit * counted.rows + _ROUNDING:
        raise publish.Unverified(
            f"{left_out} of {counted.rows} new rows would be left out ({left_out / counted.rows:.1%}), and {limit:.1%} may be",
            hint="Nothing was published. Generalize old and new rows together, or allow more with suppression=",
        )
    alone = judge(later.measure(later.rows(recoding), together=False), promises) if promises else None
    release_of = _LaterRelease(
        source=source, engine=own, ledger=ledger, later=later, recoding=recoding, promises=promises, unchecked=unchecked
    )
    folder = release_of.write(out, force=force, seed=seed)
    beside = judge(later.beside(recoding), promises) if promises and held.columns else None
    return Applied(folder, counted.rows, left_out, together, verdict, alone, unchecked, beside, frame=source.frame)


def _beside(table: Table, roles: Roles, adversary: Adversary | None) -> tuple[Table, publish.EarlierReleases]:
    """The new rows with what else is out already of their people."""
    her = adversary_in_force(adversary)
    her.refuse([name for name in her.given if name != "released"], "the release says what it assumed of her")
    return beside_released(table, roles, her)


def _source(
    table: Table, engine: OwnEngine, earlier: publish.Earlier, held: publish.EarlierReleases
) -> tuple[Table, OwnEngine]:
    """The columns that the release has, with its types, and what is held beside them; others are not published."""
    missing = [name for name in earlier.columns if name not in table.names]
    if missing:
        told = f"{table.source} lacks columns of the release: {', '.join(map(repr, missing))}"
        raise BadInput(told, hint="New rows need every column that was published")
    types = {column.name: column.type for column in earlier.read(engine).columns}
    # A column that was made coarser is text there and is looked up as it comes.
    kept = [name for name in earlier.columns if name in earlier.unchanged]
    other = {name: types[name] for name in kept if table.column(name).type != types[name]}
    _refuse_misfits(table, engine, other)
    cast = {name: f"{engine.cast(engine.quote(name), type_)} AS {engine.quote(name)}" for name, type_ in other.items()}
    selected = ", ".join(cast.get(name, engine.quote(name)) for name in (*earlier.columns, *held.columns))
    relation = f"(SELECT {selected} FROM {table.relation})"
    return table_of(engine, relation, source=table.source, frame=table.frame, reading=table.reading), engine


def _refuse_misfits(table: Table, engine: OwnEngine, types: Mapping[str, str]) -> None:
    """Refuse values that do not have the type that their column had in the release."""
    if not types:
        return
    quoted = {name: engine.quote(name) for name in types}
    sums = ", ".join(
        f"COUNT({quoted[name]}) - COUNT({engine.cast(quoted[name], type_, attempt=True)}) AS c{place}"
        for place, (name, type_) in enumerate(types.items())
    )
    found = engine.query(f"SELECT {sums} FROM {table.relation}").to_pylist()[0]
    misfits = {name: found[f"c{place}"] for place, name in enumerate(types) if found[f"c{place}"]}
    if misfits:
        told = ", ".join(f"{n} values of {name!r} (not {types[name]})" for name, n in misfits.items())
        raise BadInput(f"{table.source} has values of other types than the release: {told}", hint="Correct them first")


def _recode(earlier: publish.Earlier, counted: Contingency, *, unseen: Unseen) -> Recoding:
    """The label of each raw class, by the mappings; classes with unseen values are left out, or all of the values are named."""
    recoding, strange = earlier.recode(counted)
    lost = int((~recoding.kept).sum())
    if unseen == "suppress" or not lost:
        return recoding
    if not strange:
        raise BadInput(f"{lost} combinations of values in the new rows lie in no class of the release", hint=_HINT)
    told = "; ".join(
        f"{name!r}: {', '.join(map(repr, values[:_SHOWN]))}{', ...' if len(values) > _SHOWN else ''} ({len(values)})"
        for name, values in strange.items()
    )
    raise BadInput(f"the release does not know values of the new rows: {told}", hint=_HINT)


@dataclass(frozen=True, eq=False)
class _Later:
    """New rows, on their way to be published."""

    earlier: publish.Earlier
    source: Table
    engine: OwnEngine
    roles: Roles
    counted: Contingency
    held: publish.EarlierReleases
    """What else is out already of the new people."""

    def settle(
        self, recoding: Recoding, promises: tuple[Promise, ...], *, unseen: Unseen
    ) -> tuple[Recoding, Measurement, Verdict | None]:
        """Leave out new rows until old and new rows together keep the promises, or refuse."""
        while True:
            if not recoding.kept.any():
                told = "no new row can be published by this release"
                raise publish.Unverified(told, hint="Generalize old and new rows together")
            together = self.measure(self.rows(recoding))
            if not promises:
                return recoding, together, None
            verdict = judge(together, promises, sample=len(together.contingency))
            broken = verdict
            if verdict.holds and self.held.columns:
                joint = self.beside(recoding)
                broken = judge(joint, promises, sample=len(joint.contingency))
            if broken.holds:
                return recoding, together, verdict
            fewer = self._without_breaking(recoding, broken)
            if unseen == "refuse" or not (recoding.kept & ~fewer.kept).any():
                raise _broken(broken, beside=verdict.holds)
            recoding = fewer

    def _without_breaking(self, recoding: Recoding, verdict: Verdict) -> Recoding:
        """The same without the new rows in classes that break a promise."""
        breaking = {
            tuple(as_text(value) for value in item.key.values())
            for outcome in verdict.outcomes
            for item in outcome.sample
            if not outcome.holds
        }
        columns = [
            [labels[code] for code in codes.tolist()]
            for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
        ]
        if breaking and len(next(iter(breaking))) > len(columns):  # joint classes
            places = range(len(columns), len(self.counted.keys))
            columns += [list(map(as_text, self.counted.key_column(place).to_pylist())) for place in places]
        broken = np.array([key in breaking for key in zip(*columns, strict=True)])
        return replace(recoding, kept=recoding.kept & ~broken)

    def rows(self, recoding: Recoding) -> str:
        """A query for the new rows as they are published."""
        roles = self.held.kept_back(self.roles)
        return publish.recoded_rows(
            self.source, self.engine, self.counted, recoding, roles=roles, nulls=self.earlier.nulls
        )

    def beside(self, recoding: Recoding) -> Measurement:
        """What the new rows tell in joint classes with what else is out, and what is missing among them."""
        found = search.published(self.counted, search.with_left_behind(self.counted, recoding))
        known = Assumptions(original_values=self.masses)
        return self.held.told_by(metrics.measure_counts(found, self.source, self.roles, assumptions=known))

    def measure(
        self, rows: str, *, engine: OwnEngine | None = None, together: bool = True, against_original: bool = True
    ) -> Measurement:
        """What these rows tell, by themselves or with the earlier release; the prior is that of the old original and all new rows.

        Not `against_original`: the prior is that of what is published, as anybody can measure it.
        """
        where = engine or self.engine
        listed = ", ".join(map(where.quote, self.roles.counted))
        relation = f"SELECT {listed} FROM ({rows}) AS later"
        if together:
            relation += f" UNION ALL {self.earlier.all_rows(where, self.roles.counted)}"
        source = f"{self.earlier.folder} with {self.source.source}" if together else self.source.source
        table = table_of(where, f"({relation})", source=source)
        counted = count(table, self.roles, joint=self.earlier.document["joint"])
        guessing = Assumptions.guessing(self.earlier.guesses)
        if not against_original:
            return metrics.measure_counts(counted, table, self.roles, assumptions=guessing)
        known = replace(guessing, original_values=self.masses)
        return metrics.measure_counts(counted, table, self.roles, assumptions=known)

    @cached_property
    def masses(self) -> dict[str, dict[str | None, float]]:
        """How often each sensitive value occurred in the old original and in all later rows."""
        return {name: _together(self.earlier.masses[name], cells) for name, cells in self.counted.cells.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class _LaterRelease(publish.Release):
    """New rows that may be published."""

    later: _Later
    recoding: Recoding
    promises: tuple[Promise, ...]
    unchecked: tuple[str, ...]

    def form(self, wanted: str | None) -> publish.Format:
        """That of the earlier release, unless another is asked for."""
        earlier = self.later.earlier.form
        return publish.choose_format(self.source, wanted) if wanted else publish.writable(self.engine, earlier)

    def parts(self, seed: int | None) -> list[publish.ReleasePart]:
        rows = self.later.rows(self.recoding)
        expected = publish.Fingerprint.of(self.engine, f"({rows})")
        files = self.engine.files_for(expected.rows)
        secret = publish.draw_secret(seed)
        return [publish.ReleasePart("table", rows, expected, files, self.later.roles.counted, secret)]

    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> tuple[Measurement, Measurement]:
        (table,) = tables
        later = self.later
        request = Request(table, later.roles, "category", later.earlier.document["joint"])
        planned = search.published(later.counted, self.recoding)
        publish.compare(count_in_memory(request), planned.roll_up(later.roles.quasi_identifiers))
        rows = f"SELECT * FROM {table.relation}"
        measured = later.measure(rows, engine=engine)
        if self.promises:
            publish.hold(measured, Policy(self.promises))
            if (
                later.held.columns
            ):  # the file has the rows that were planned, and only the new table says whose they are
                publish.hold(later.beside(self.recoding), Policy(self.promises))
        return later.measure(rows, engine=engine, against_original=False), measured

    def document(self, measured: tuple[Measurement, Measurement], written: publish.Written) -> dict[str, Any]:
        alone, _ = measured
        earlier, roles = self.later.earlier, self.later.roles
        return {
            "kind": "applied",
            "release": {name: entry["sha256"] for name, entry in earlier.document["files"].items()},
            "policy": publish.describe_policy(Policy(self.promises, suppression=earlier.suppression)),
            "roles": {
                "quasi_identifiers": list(roles.quasi_identifiers),
                "sensitive": list(roles.sensitive),
                "weight": roles.weight,
            },
            "nulls": earlier.nulls,
            "joint": earlier.document["joint"],
            **({"guesses": earlier.guesses} if earlier.guesses else {}),
            "unchecked": list(self.unchecked),
            "table": written.describe(next(iter(written.types))),
            "rows": self._published,
            "row_order": written.row_order,
            "engine": self.engine.name,
            "together": publish.public_numbers(alone),
        }

    def private_document(self, measured: tuple[Measurement, Measurement]) -> dict[str, Any]:
        _, against_original = measured
        rows = {"original": self.later.counted.rows, "published": self._published}
        unchanged = self.later.earlier.mine["unchanged"]
        return {"kind": "applied", "rows": rows, "unchanged": unchanged, "after": publish.numbers(against_original)}

    def private_files(self) -> Sequence[Any]:
        """What the next rows need: what values became, how often sensitive ones occurred, and all that is out already."""
        return self.later.earlier.handed_on(self.engine, self.later.roles.counted, self.later.masses)

    @property
    def _published(self) -> int:
        return search.published(self.later.counted, self.recoding).rows


def _broken(verdict: Verdict, *, beside: bool) -> publish.Unverified:
    who = "the new rows beside what is out already" if beside else "the earlier release and the new rows together"
    told = ", ".join(
        f"{outcome.promise.text} (would be {outcome.value:.4g}, {outcome.breaking_classes} classes)"
        for outcome in verdict.outcomes
        if not outcome.holds
    )
    return publish.Unverified(
        f"{who} would break {told}",
        hint="Nothing was published. Leave out the rows of these classes with unseen='suppress', or generalize old and new rows together",
    )


def _together(before: Mapping[str | None, float], later: Cells) -> dict[str | None, float]:
    """How often each value occurred in the old original and the new rows."""
    masses = dict(before)
    for label, mass in zip(later.domain.labels, later.marginal.tolist(), strict=True):
        masses[as_text(label)] = masses.get(as_text(label), 0.0) + mass
    return masses
