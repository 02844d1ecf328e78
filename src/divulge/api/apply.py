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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from divulge import attacks, engines, generalization, releases
from divulge import ledger as ledgers
from divulge.adversary import Adversary
from divulge.api.prior_releases import add_prior_releases
from divulge.api.request import resolve_request
from divulge.arguments import arg, arg_name
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.policy import Policy, Verdict, guard
from divulge.results import Result
from divulge.sources import Roles, Table, read
from divulge.validation import checked

_ROUNDING = 1e-6
"""Tolerance of shares: 29 of 100 rows are not more than 0.29, although the float is slightly less.
"""


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
    unseen: releases.Unseen = "refuse",
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
    unseen: releases.Unseen
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
    batch, person = releases.read_batch(
        read(request.table, engine=request.engine),
        earlier,
        person=request.person,
        add_prior_releases=partial(_with_prior_releases, adversary=adversary),
    )
    new_rows = batch.contingency.rows
    previously_deferred = 0
    if batch.previously_deferred is not None:
        previously_deferred = batch.previously_deferred.rows
        new_rows -= previously_deferred
    recoding = releases.recode_batch(earlier, batch.contingency, unseen=request.unseen)
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


def _with_prior_releases(
    table: Table, roles: Roles, *, adversary: Adversary | None
) -> tuple[Table, releases.EarlierReleases]:
    """Add the records' class in each other prior release that the adversary holds."""
    effective_adversary = resolve_request(adversary=adversary).adversary
    effective_adversary.refuse(
        [name for name in effective_adversary.explicit_settings if name != "released"],
        "the release says what it assumed of her",
    )
    return add_prior_releases(table, roles, effective_adversary)
