# SPDX-License-Identifier: Apache-2.0
"""An incremental release: new records that are published now or deferred to the next batch.

New records must meet the requirements of the earlier release twice: together with all records that
were published before, and among themselves. The second check protects people whom an adversary
knows to be among the new records. An adversary who subtracts the earlier files from all files is
left with the new ones. Both checks use one prior, the distribution of all records received so far.

The decision is made for whole equivalence classes. A class whose new records fail is deferred: its
records stay with the publisher and are judged again, as new records, with the next batch. No record
of a class is chosen by its sensitive value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from divulge import generalization, metrics
from divulge.adversary import Assumptions
from divulge.arguments import arg, marked
from divulge.arrays import Bools
from divulge.counting import Cells, Contingency, Request, count, count_in_memory
from divulge.engines import OwnEngine
from divulge.generalization import Recoding
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Verdict, guard, judge
from divulge.releases import manifest
from divulge.releases.earlier_release import ContinuedRelease
from divulge.releases.formats import Format, choose_format, draw_secret, recoded_rows, writable
from divulge.releases.generalized import EarlierReleases
from divulge.releases.release import Register, Release, ReleasePart, StagedFile, Written
from divulge.releases.verification import Fingerprint, Unverified, compare, hold
from divulge.sources import Roles, Table, table_of
from divulge.text import as_text, count_with_noun

TOO_FEW_RECORDS = "too few alike among the new records"
ATTRIBUTE_REQUIREMENT_FAILS = (
    "a requirement on {attribute} fails for their class among the new records"
)
AVERAGE_FAILS = "a requirement on the average of all classes fails"
FAILS_WITH_EARLIER_RECORDS = "their class fails a requirement together with the earlier records"
FAILS_IN_JOINT_CLASS = "their joint class with other prior releases fails a requirement"
REVEALS = (
    "A class without new records here had too few of them, or they failed a requirement; "
    "its records may be published with a later batch. An adversary who knows who is in the batch "
    "learns this of each missing class."
)
"""Statement in the manifest on what the deferral of records reveals."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Decision on which new records are published, with their measurements."""

    recoding: Recoding
    """Recoding of the records that are published now."""
    deferred: Bools = field(repr=False)
    """Mask over raw classes: the records of the class are deferred."""
    reasons: Mapping[str, int]
    """Number of deferred records by reason."""
    together: Measurement = field(repr=False)
    """Measurement of all earlier records and the new ones that are published."""
    verdict: Verdict
    """Verdict on `together`."""
    new_records: Verdict
    """Verdict on the new records among themselves."""
    joint: Verdict | None
    """Verdict on the new records in joint classes with other prior releases, if there are any."""


@dataclass(frozen=True, eq=False)
class NewRecords:
    """New records, and those that earlier batches deferred."""

    earlier: ContinuedRelease
    source: Table
    engine: OwnEngine
    roles: Roles
    contingency: Contingency
    prior_releases: EarlierReleases
    """Other releases of the new people, which an adversary may hold."""
    previously_deferred: Contingency | None = None
    """Counts of the records that earlier batches deferred; they are part of `counted`."""
    not_published: tuple[str, ...] = ()
    """Columns that are kept with deferred records and never published."""

    def decide(
        self, recoding: Recoding, promises: Sequence[Promise], *, accept_risk: bool
    ) -> Decision:
        """Defer classes until the others meet the requirements.

        They must meet them together with the earlier records and among themselves. With
        `accept_risk` the new records need not meet them among themselves. Raises an error if none
        can be published. Also raises one if deferral cannot help because the earlier records by
        themselves fail with the updated prior.
        """
        published = recoding.published_mask.copy()
        reasons: dict[str, int] = {}
        failed: Verdict | None = None
        while published.any():
            current = replace(recoding, published_mask=published)
            new_records = _judge_all_classes(self.measure_new(current), promises)
            if not accept_risk and not new_records.holds:
                failed = new_records
                failing = self._failing_classes(current, new_records)
                _add_reasons(
                    reasons, self._split_by_reason(current, new_records, failing), self.contingency
                )
                published &= ~failing
                continue
            together = self.measure(self.published_rows(current))
            verdict = _judge_all_classes(together, promises)
            joint = None
            if verdict.holds and self.prior_releases.columns:
                joint = _judge_all_classes(self.measure_joint(current), promises)
            if joint is None:
                failed = verdict
            else:
                failed = joint
            if failed.holds:
                deferred = recoding.published_mask & ~published
                return Decision(current, deferred, reasons, together, verdict, new_records, joint)
            failing = self._failing_classes(current, failed)
            if not failing.any():
                raise _infeasible_error(failed, joint=joint is not None)
            if joint is None:
                reason = FAILS_WITH_EARLIER_RECORDS
            else:
                reason = FAILS_IN_JOINT_CLASS
            _add_reasons(reasons, {reason: failing}, self.contingency)
            published &= ~failing
        raise self._none_published_error(failed)

    def deferred_records(self, decision: Decision) -> int:
        """The number of records that are deferred."""
        return int(self.contingency.sizes[decision.deferred].sum())

    def release(
        self,
        decision: Decision,
        *,
        promises: tuple[Promise, ...],
        unchecked: tuple[str, ...],
        accept_risk: bool,
        person: str | None,
        ledger: Register | None,
    ) -> Release:
        """Build the release of the records that a decision publishes, with these requirements."""
        return _IncrementalRelease(
            source=self.source,
            engine=self.engine,
            ledger=ledger,
            batch=self,
            decision=decision,
            promises=promises,
            unchecked=unchecked,
            accept_risk=accept_risk,
            person=person,
        )

    def judge_uniqueness(
        self, published: Table, *, accept_risk: bool
    ) -> guard.uniqueness.Uniqueness:
        """Measure how many published new records are unique among them by all published columns.

        Raises an error if there are more than the policy allows, unless the risk is accepted.
        """
        required = self.earlier.unique_share
        uniqueness = guard.uniqueness.measure_uniqueness(
            published, self.roles, unit="rows", required=required
        )
        if (
            required is not None
            and not accept_risk
            and uniqueness.adds
            and uniqueness.exceeds(required)
        ):
            raise Unverified(
                f"unique_share <= {required:g} is violated among the new records: "
                f"{uniqueness.violation}",
                hint="Nothing was written. Pass these records again with the next batch, or "
                f"accept it with {arg('accept_incremental_risk')}",
            )
        return uniqueness

    def published_table(self, recoding: Recoding) -> Table:
        """The new records as they are published."""
        return table_of(
            self.engine, f"({self.published_rows(recoding)})", source=self.source.source
        )

    def _failing_classes(self, current: Recoding, verdict: Verdict) -> Bools:
        """Published raw classes whose class violates a requirement.

        For a requirement on an average, these are the smallest classes.
        """
        violated = [outcome for outcome in verdict.outcomes if not outcome.holds]
        keys = {_key_texts(item.key) for outcome in violated for item in outcome.sample}
        failing = self._classes_with_keys(current, keys)
        if not failing.any() and any(outcome.breaking_classes == 0 for outcome in violated):
            sizes = self._published_sizes(current)
            failing = current.published_mask & (sizes == sizes[current.published_mask].min())
        return failing

    def _classes_with_keys(self, current: Recoding, keys: set[tuple[str | None, ...]]) -> Bools:
        """Published raw classes with one of these keys.

        Keys are those of published classes, or of joint classes, which have more columns.
        """
        key_count = len(self.contingency.own_keys)
        joint_keys = {key for key in keys if len(key) > key_count}
        labels = [self._label_texts(current, position) for position in range(key_count)]
        is_match = _rows_with_keys(labels, keys - joint_keys)
        if joint_keys:
            prior_classes = [
                [as_text(value) for value in self.contingency.key_column(position).to_pylist()]
                for position in range(key_count, len(self.contingency.keys))
            ]
            is_match |= _rows_with_keys([*labels, *prior_classes], joint_keys)
            # People who are suppressed or deferred while others of their prior classes are
            # published are revealed by their absence: then nobody of these prior classes is
            # published.
            absent = {
                key[key_count:]
                for key in joint_keys
                if set(key[:key_count]) == {generalization.LEFT_OUT}
            }
            is_match |= _rows_with_keys(prior_classes, absent)
        return is_match & current.published_mask

    def _label_texts(self, recoding: Recoding, position: int) -> list[str | None]:
        labels = recoding.labels[position]
        return [labels[code] for code in recoding.codes[position].tolist()]

    def _published_sizes(self, current: Recoding) -> Any:
        """Number of published new records in the class of each raw class."""
        key_positions = range(len(self.contingency.own_keys))
        keys = list(
            zip(*(self._label_texts(current, position) for position in key_positions), strict=True)
        )
        sizes: dict[tuple[str | None, ...], int] = {}
        records = np.where(current.published_mask, self.contingency.sizes, 0).tolist()
        for key, size in zip(keys, records, strict=True):
            sizes[key] = sizes.get(key, 0) + size
        return np.array([sizes[key] for key in keys])

    def _split_by_reason(
        self, current: Recoding, verdict: Verdict, failing: Bools
    ) -> dict[str, Bools]:
        """Split failing raw classes by the first reason for which each fails."""
        classes_by_reason: dict[str, Bools] = {}
        unexplained = failing.copy()
        outcomes = sorted(
            verdict.outcomes, key=lambda outcome: outcome.promise.metric.scope != "identity"
        )
        for outcome in outcomes:
            keys = {_key_texts(item.key) for item in outcome.sample}
            matching = self._classes_with_keys(current, keys) & unexplained
            if not outcome.holds and matching.any():
                reason = _reason_of(outcome.attribute)
                classes_by_reason[reason] = (
                    classes_by_reason.get(reason, np.zeros_like(failing)) | matching
                )
                unexplained &= ~matching
        if unexplained.any():
            classes_by_reason[AVERAGE_FAILS] = unexplained
        return classes_by_reason

    def _none_published_error(self, failed: Verdict | None) -> Unverified:
        if failed is None:
            violation = ""
        else:
            violation = f": they would violate {_violations(failed)}"
        hint = (
            "Nothing was written. Pass these records again, together with those of the next batch"
        )
        if self.previously_deferred is not None:
            hint += (
                f" (records that earlier batches deferred stay with {self.earlier.folder}: do not "
                "pass those)"
            )
        records = count_with_noun(self.contingency.rows, "new record", "new records")
        return Unverified(f"none of {records} can be published{violation}", hint=hint)

    # --- rows -------------------------------------------------------------------------------------
    def published_rows(self, recoding: Recoding) -> str:
        """SQL query for the new records as they are published."""
        roles = self.prior_releases.kept_back(self.roles)
        roles = replace(roles, leave_out=(*roles.leave_out, *self.not_published))
        return self._recoded_rows(recoding, roles)

    def deferred_rows(self, recoding: Recoding, deferred: Bools) -> str:
        """SQL query for the original values of the deferred records."""
        original = replace(
            recoding, published_mask=deferred, unchanged=(True,) * len(recoding.columns)
        )
        return self._recoded_rows(original, self.prior_releases.kept_back(self.roles))

    def _recoded_rows(self, recoding: Recoding, roles: Roles) -> str:
        nulls = self.earlier.nulls
        return recoded_rows(
            self.source, self.engine, self.contingency, recoding, roles=roles, nulls=nulls
        )

    # --- measurements -----------------------------------------------------------------------------
    def measure_new(self, recoding: Recoding) -> Measurement:
        """Measure the new records that a recoding publishes, among themselves, from counts."""
        published = generalization.published(self.contingency, recoding)
        if published.pinned:
            published = published.roll_up(self.roles.quasi_identifiers)
        return metrics.measure_counts(
            published, self.source, self.roles, assumptions=self.assumptions
        )

    def measure_joint(self, recoding: Recoding) -> Measurement:
        """Measure the new records in joint classes with other prior releases.

        Includes people whose absence reveals them.
        """
        contingency = generalization.published(
            self.contingency, generalization.with_left_behind(self.contingency, recoding)
        )
        assumptions = Assumptions(original_values=self.masses)
        return self.prior_releases.add_settings_to(
            metrics.measure_counts(contingency, self.source, self.roles, assumptions=assumptions)
        )

    def measure(
        self,
        rows: str,
        *,
        engine: OwnEngine | None = None,
        together: bool = True,
        against_original: bool = True,
    ) -> Measurement:
        """Measure published rows among themselves or with all earlier ones.

        With `against_original` the prior is the distribution of all records received so far,
        otherwise that of the rows.
        """
        reading_engine = engine or self.engine
        column_list = ", ".join(map(reading_engine.quote, self.roles.counted_columns))
        relation = f"SELECT {column_list} FROM ({rows}) AS later"
        source = self.source.source
        if together:
            relation += (
                f" UNION ALL {self.earlier.all_rows(reading_engine, self.roles.counted_columns)}"
            )
            source = f"{self.earlier.folder} with {source}"
        table = table_of(reading_engine, f"({relation})", source=source)
        contingency = count(table, self.roles, joint=self.earlier.document["joint"])
        if against_original:
            assumptions = self.assumptions
        else:
            assumptions = Assumptions.guessing(self.earlier.guesses)
        return metrics.measure_counts(contingency, table, self.roles, assumptions=assumptions)

    @property
    def assumptions(self) -> Assumptions:
        """The prior of both checks, and when a guess is correct."""
        return replace(Assumptions.guessing(self.earlier.guesses), original_values=self.masses)

    @cached_property
    def masses(self) -> dict[str, dict[str | None, float]]:
        """Frequency of each sensitive value in all records received so far.

        A deferred record counts once.
        """
        masses = {name: dict(self.earlier.masses[name]) for name in self.contingency.cells}
        for name, cells in self.contingency.cells.items():
            _add_masses(masses[name], cells, sign=1)
            if self.previously_deferred is not None:
                _add_masses(masses[name], self.previously_deferred.cells[name], sign=-1)
        return masses


@dataclass(frozen=True, eq=False, kw_only=True)
class _IncrementalRelease(Release):
    """Release of the new records that may be published."""

    batch: NewRecords
    decision: Decision
    promises: tuple[Promise, ...]
    unchecked: tuple[str, ...]
    accept_risk: bool
    person: str | None = None

    def form(self, name: str | None) -> Format:
        """Return the named format, else the format of the earlier release."""
        earlier = self.batch.earlier.form
        if name:
            return choose_format(self.source, name)
        return writable(self.engine, earlier)

    def parts(self, seed: int | None) -> list[ReleasePart]:
        """The one table of the release."""
        rows = self.batch.published_rows(self.decision.recoding)
        expected = Fingerprint.of(self.engine, f"({rows})")
        files = self.engine.files_for(expected.rows)
        secret = draw_secret(seed)
        return [
            ReleasePart("table", rows, expected, files, self.batch.roles.counted_columns, secret)
        ]

    def measure_again(self, tables: Sequence[Table], engine: OwnEngine) -> _BatchMeasurements:
        """Measure the staged table, together with the earlier records and by itself.

        Raises an error if it fails a requirement.
        """
        (table,) = tables
        batch = self.batch
        request = Request(table, batch.roles, "category", batch.earlier.document["joint"])
        planned_counts = generalization.published(batch.contingency, self.decision.recoding)
        compare(count_in_memory(request), planned_counts.roll_up(batch.roles.quasi_identifiers))
        rows = f"SELECT * FROM {table.relation}"
        uniqueness = batch.judge_uniqueness(table, accept_risk=self.accept_risk)
        together = batch.measure(rows, engine=engine)
        policy = Policy(self.promises)
        hold(together, policy)
        if not self.accept_risk:
            hold(batch.measure(rows, engine=engine, together=False), policy)
        if batch.prior_releases.columns:
            # The staged rows are the planned ones; only the new table has the prior classes of
            # their people.
            hold(batch.measure_joint(self.decision.recoding), policy)
        return _BatchMeasurements(
            together=together,
            public_all_records=batch.measure(rows, engine=engine, against_original=False),
            public_new_records=batch.measure(
                rows, engine=engine, together=False, against_original=False
            ),
            uniqueness=uniqueness,
        )

    def document(self, measured: _BatchMeasurements, written: Written) -> dict[str, Any]:
        """Public manifest: numbers that can be counted in the published files, and the request."""
        earlier = self.batch.earlier
        roles = self.batch.roles
        policy = Policy(
            self.promises, suppression=earlier.suppression, unique_share=earlier.unique_share
        )
        return {
            "kind": "applied",
            "release": {name: entry["sha256"] for name, entry in earlier.document["files"].items()},
            "policy": manifest.describe_policy(policy),
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
            "rows": self.published,
            "row_order": written.row_order,
            "engine": self.engine.name,
            "together": manifest.public_numbers(measured.public_all_records),
            "unique_rows": {
                "columns": list(measured.uniqueness.columns),
                "unique_by_quasi_identifiers": measured.uniqueness.by_quasi_identifiers,
                "unique": measured.uniqueness.unique,
                "unique_with_sensitive": measured.uniqueness.with_sensitive,
                "of": measured.uniqueness.of,
            },
            "measured": manifest.public_numbers(measured.public_new_records),
            "new_records": {
                "required": not self.accept_risk,
                "accept_incremental_risk": self.accept_risk,
                "smallest_class": smallest_class(measured.public_new_records),
                "unique": unique_records(measured.public_new_records),
                "deferral": REVEALS,
            },
        }

    def private_document(self, measured: _BatchMeasurements) -> dict[str, Any]:
        """The private manifest."""
        deferred = self.batch.deferred_records(self.decision)
        rows = {
            "original": self.batch.contingency.rows,
            "published": self.published,
            "deferred": deferred,
        }
        return {
            "kind": "applied",
            "rows": rows,
            "deferred_because": dict(self.decision.reasons),
            **({} if self.person is None else {"person": self.person}),
            "unchanged": self.batch.earlier.mine["unchanged"],
            "after": manifest.numbers(measured.together),
        }

    def private_files(self) -> Sequence[StagedFile]:
        """Files that the next batch needs.

        They are the mappings, the distribution of all records, all published rows, and deferred
        records.
        """
        deferred = None
        if self.decision.deferred.any():
            deferred = self.batch.deferred_rows(self.decision.recoding, self.decision.deferred)
        columns = self.batch.roles.counted_columns
        return self.batch.earlier.private_files_of_next(
            self.engine, columns, self.batch.masses, deferred=deferred
        )

    @property
    def published(self) -> int:
        """The number of published records."""
        return generalization.published(self.batch.contingency, self.decision.recoding).rows


@dataclass(frozen=True, eq=False)
class _BatchMeasurements:
    """Measurements of the staged files."""

    together: Measurement
    public_all_records: Measurement
    """Measurement of `together` with the prior of the published rows, as anyone can repeat it."""
    public_new_records: Measurement
    uniqueness: guard.uniqueness.Uniqueness


def smallest_class(measurement: Measurement) -> int:
    """The size of the smallest equivalence class."""
    return int(measurement.contingency.sizes.min())


def unique_records(measurement: Measurement) -> int:
    """The number of records that are unique in their equivalence class."""
    return int((measurement.contingency.sizes == 1).sum())


def _judge_all_classes(measurement: Measurement, promises: Sequence[Promise]) -> Verdict:
    """Judge a measurement, with every violating class in the sample."""
    return judge(measurement, promises, sample=len(measurement.contingency))


def _key_texts(key: Mapping[str, Any]) -> tuple[str | None, ...]:
    return tuple(as_text(value) for value in key.values())


def _rows_with_keys(
    columns: Sequence[Sequence[str | None]], keys: set[tuple[str | None, ...]]
) -> Bools:
    """Mask of the rows of these columns that are among the keys."""
    return np.array([key in keys for key in zip(*columns, strict=True)], dtype=bool)


def _reason_of(attribute: str | None) -> str:
    if attribute is None:
        return TOO_FEW_RECORDS
    return ATTRIBUTE_REQUIREMENT_FAILS.format(attribute=attribute)


def _add_reasons(
    reasons: dict[str, int], rows_by_reason: Mapping[str, Bools], contingency: Contingency
) -> None:
    for reason, classes in rows_by_reason.items():
        reasons[reason] = reasons.get(reason, 0) + int(contingency.sizes[classes].sum())


def _add_masses(masses: dict[str | None, float], cells: Cells, *, sign: int) -> None:
    for label, mass in zip(cells.domain.labels, cells.marginal.tolist(), strict=True):
        text = as_text(label)
        masses[text] = masses.get(text, 0.0) + sign * mass


def _violations(verdict: Verdict) -> str:
    return ", ".join(_violation_texts(verdict))


def _violation_texts(verdict: Verdict) -> Iterator[str]:
    for outcome in verdict.outcomes:
        if not outcome.holds:
            classes = count_with_noun(outcome.breaking_classes, "class", "classes")
            yield f"{marked(outcome.text)} (would be {outcome.value:.4g}, {classes})"


def _infeasible_error(verdict: Verdict, *, joint: bool) -> Unverified:
    subject = "the earlier records with the distribution of all records"
    if joint:
        subject = "the new records in joint classes with other prior releases"
    hint = (
        "Nothing was written. Deferring new records cannot change this: generalize old and new "
        "records together"
    )
    return Unverified(f"{subject} would violate {_violations(verdict)}", hint=hint)
