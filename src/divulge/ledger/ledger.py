# SPDX-License-Identifier: Apache-2.0
"""A ledger of prior releases of the same people, so that a new release is judged with them.

A release stays published: one that is retracted or expired is judged like any other. The name of a
dataset decides which releases belong together, not a path or a hash. Next year's table has another
path and other rows, but is about the same people.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from divulge import interrupts, releases, results
from divulge.adversary import Adversary
from divulge.arguments import arg
from divulge.errors import BadInput, listed, nearest
from divulge.ledger.store import LedgerStore, is_new, utc_now
from divulge.results import Result
from divulge.validation import checked, checked_fields

EVERYBODY = "everybody"
"""As a recipient: anyone. As a coalition: all recipients combine their releases."""
_DATASET = "people"
"""Name of the first dataset if none is passed."""


@dataclass(frozen=True, repr=False)
class Entry(Result):
    """One release in a ledger."""

    view = "ledger"

    number: int
    dataset: str
    recipient: str
    state: str
    """"published", "retracted", "expired", or "unclear".

    "unclear": a process died while it published the release, and its files have been removed since.
    """
    at: str
    """Time of publication, in UTC."""
    expires: str | None
    """The day after which its recipient should no longer have it."""
    retracted: str | None
    """Time of retraction."""
    kind: str
    rows: int
    """Number of published rows."""
    version: int | None
    """Number of the table version that it was made from; None if that is unknown.

    Releases of a dataset with the same number were made from tables with the same rows.
    """
    place: Path
    """Path where it was published."""
    copy: Path = field(metadata={"told": False})
    """The ledger's own copy, with the private part next to it; usable wherever a release is."""
    settings: Mapping[str, Any]
    """Settings on which the state depends: the ledger, and the day."""

    @property
    def document(self) -> dict[str, Any]:
        """The public manifest of the release, after comparing the copy with its hashes."""
        return releases.read_manifests(self.copy, private_part="if there").public


@dataclass(frozen=True, repr=False)
class Holdings(results.Several[Entry]):
    """The releases of a ledger, or those that some recipients hold, in order of publication."""

    view = "ledger"


@checked_fields
@dataclass(frozen=True)
class Ledger:
    """A private folder that records prior releases, and the settings for entering a new one.

    Args:
        folder: The folder; created, readable only by its owner, when the first release is entered.
        recipient: Who gets a new release; "everybody" is anyone.
        coalition: Who combines their releases with those of the recipient: a name or several. By
            default all recipients.
        dataset: Which people the release is about: those of one dataset are judged together. By
            default the only one of the ledger.
        expires: The day after which the recipient should no longer have it. It stays in the ledger,
            and is judged like the others.
        wait: Seconds to wait for another process that publishes with the same ledger.
        waiting: Called once, with the folder, after two seconds of waiting.

    Examples:
        >>> import divulge as dv, pyarrow as pa, tempfile
        >>> people = pa.table(
        ...     {"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]}
        ... )
        >>> release = dv.generalize(
        ...     people,
        ...     policy=dv.Policy(k_anonymity=2),
        ...     quasi_identifiers="zip",
        ...     sensitive="disease",
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = dv.Ledger(f"{folder}/ledger", recipient="the clinic")
        ...     entry = ledger.add(release.write(f"{folder}/release"))
        ...     held = ledger.holdings()
        >>> [(entry.number, entry.kind, entry.recipient, entry.state) for entry in held]
        [(1, 'generalized', 'the clinic', 'published')]
    """

    folder: str | Path
    recipient: str = EVERYBODY
    coalition: str | Sequence[str] = EVERYBODY
    dataset: str | None = None
    expires: str | dt.date | None = None
    wait: float = 60.0
    waiting: Callable[[Path], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        members = (self.coalition,) if isinstance(self.coalition, str) else tuple(self.coalition)
        object.__setattr__(self, "folder", Path(self.folder).expanduser())
        object.__setattr__(self, "coalition", members)
        object.__setattr__(self, "expires", _iso_day(self.expires))
        for name, text in [
            ("recipient", self.recipient),
            ("dataset", self.dataset),
            *(("coalition", member) for member in members),
        ]:
            if text is not None and (not text.strip() or "," in text or not text.isprintable()):
                raise BadInput(f"{name} is {text!r}", hint="A name is a text without commas")
        if not members:
            raise BadInput(
                "coalition is empty",
                hint=f"Name its members; {EVERYBODY!r} are all who hold anything",
            )
        if self.recipient == EVERYBODY and EVERYBODY not in members:
            raise BadInput(
                "everybody gets the release, so that each who holds anything can add it: "
                f"{arg('coalition', list(members))} would leave some out",
                hint="Name the recipient, or leave the coalition out",
            )
        if self.wait < 0:
            raise BadInput(f"wait is {self.wait:g}", hint="Give seconds")

    @classmethod
    def of(cls, source: str | Path | Ledger) -> Ledger:
        """Return a ledger as it is, or the ledger of a folder."""
        if isinstance(source, Ledger):
            return source
        return cls(source)

    # --- looking ----------------------------------------------------------------------------------
    @checked
    def holdings(self, *recipients: str) -> Holdings:
        """Return the releases that these recipients hold, including those for everybody.

        Without names, all prior releases.
        """
        with LedgerStore.open_for_reading(self._path) as store:
            entries = self._entries(store, store.rows())
        dataset_entries = [entry for entry in entries if self.dataset in (None, entry.dataset)]
        _refuse_unknown(
            "dataset",
            [] if self.dataset is None else [self.dataset],
            [entry.dataset for entry in entries],
        )
        _refuse_unknown("recipient", recipients, [entry.recipient for entry in dataset_entries])
        matching_entries = [
            entry
            for entry in dataset_entries
            if not recipients or entry.recipient in (EVERYBODY, *recipients)
        ]
        query_settings = {"dataset": self.dataset, "recipients": list(recipients) or None}
        return Holdings(tuple(matching_entries), {**self._settings(), **query_settings})

    @checked
    def entry(self, number: int) -> Entry:
        """Return one release, by its number."""
        with LedgerStore.open_for_reading(self._path) as store:
            return self._entry(store, number)

    def judge(self, *, new: bool = True) -> PriorReleases:
        """Return the prior releases with which a new release is to be judged.

        A release can be entered only if it was judged with all of them.

        Args:
            new: Accept a missing ledger, because the first release creates one. Pass False for
                read-only use, where a misspelled path would otherwise look like an empty ledger.
        """
        if new and is_new(self._path):
            return PriorReleases(self, self.dataset or _DATASET, ())
        with LedgerStore.open_for_reading(self._path) as store:
            return self._prior_releases(store)

    @contextlib.contextmanager
    def turn(self) -> Iterator[LedgerStore]:
        """Hold the lock for publishing while the block runs.

        Other processes that enter releases wait, and are then judged with the releases entered
        here.
        """
        with LedgerStore.lock(self._path, wait=self.wait, waiting=self.waiting) as store:
            yield store

    # --- entering ---------------------------------------------------------------------------------
    @checked
    def add(self, release: str | Path, *, private_dir: str | Path | None = None) -> Entry:
        """Enter a release that is already published, such as one from before there was a ledger.

        It is not judged, and is entered only once.

        Args:
            release: Its folder; its private part is needed, so that later releases can be judged
                with it.
            private_dir: The folder of its private part, if it is not next to it.
        """
        release_folder = Path(release).expanduser().absolute()
        document, private, private_folder = releases.read_manifests(
            release_folder, private_part="if there", private_dir=private_dir
        )
        if private is None and document["kind"] != "anatomized":
            hint = (
                "Take the release from its publisher, with its private part; "
                f"{arg('private_dir')} says "
                "where that is"
            )
            raise BadInput(
                f"{release} has no private part, so nothing could be judged with it", hint=hint
            )
        with self.turn() as store:
            prior_releases = self._prior_releases(store)
            key = (
                prior_releases.dataset,
                self.recipient,
                releases.sha256(release_folder / releases.NAME),
            )
            if existing_rows := store.rows("(dataset, recipient, manifest) = (?, ?, ?)", key):
                return self._entry(store, existing_rows[0]["number"])
            row = prior_releases.row(document) | {
                "place": str(release_folder),
                "staged": str(release_folder),
            }
            number = store.enter_intention(release_folder, private_folder, row)
            store.update_row(number, state="published")
            return self._entry(store, number)

    @checked
    def retract(self, number: int) -> Entry:
        """Record that a release was retracted.

        A published release stays in the ledger, so later releases are judged with it as before.

        Args:
            number: Its number in the ledger.
        """
        with self._lock_existing() as store:
            if self._entry(store, number).retracted is not None:
                return self._entry(store, number)
            store.update_row(number, state="retracted", retracted=utc_now())
            return self._entry(store, number)

    @checked
    def forget(self, number: int, *, force: bool = False) -> Entry:
        """Remove a release from the ledger, so that later releases are no longer judged with it.

        Its copy and the copy of its private part are deleted.

        Args:
            number: Its number in the ledger.
            force: Forget it although it is published.
        """
        with self._lock_existing() as store:
            entry = self._entry(store, number)
            if not force and entry.state != "unclear":
                raise BadInput(
                    f"release {number} is out, and later releases would not be judged against it "
                    "any more",
                    hint=(
                        "What is out stays known: retract it, or forget it with "
                        f"{arg('force', value=True)}"
                    ),
                )
            store.remove(number)
            return entry

    @property
    def _path(self) -> Path:
        return Path(self.folder).absolute()

    @contextlib.contextmanager
    def _lock_existing(self) -> Iterator[LedgerStore]:
        """Hold the lock of an existing ledger."""
        with LedgerStore.open_for_reading(self._path), self.turn() as store:
            yield store

    def _prior_releases(self, store: LedgerStore) -> PriorReleases:
        entries = self._entries(store, store.rows())
        datasets = [*dict.fromkeys(entry.dataset for entry in entries)]
        if self.dataset is None and len(datasets) > 1:
            message = f"the ledger {self.folder} has several datasets: {listed(datasets)}"
            raise BadInput(message, hint=f"Say with {arg('dataset')} which one the release is of")
        dataset = self.dataset or next(iter(datasets), _DATASET)
        dataset_entries = [entry for entry in entries if entry.dataset == dataset]
        if EVERYBODY in self.coalition:
            return PriorReleases(self, dataset, tuple(dataset_entries))
        _refuse_unknown(
            "recipient",
            [name for name in self.coalition if name != self.recipient],
            [entry.recipient for entry in dataset_entries],
        )
        members = {*self.coalition, self.recipient, EVERYBODY}
        return PriorReleases(
            self, dataset, tuple(entry for entry in dataset_entries if entry.recipient in members)
        )

    def _entry(self, store: LedgerStore, number: int) -> Entry:
        entries = self._entries(store, store.rows())
        matching_entry = next((entry for entry in entries if entry.number == number), None)
        if matching_entry is None:
            existing_numbers = listed((entry.number for entry in entries), most=10) or "no release"
            raise BadInput(
                f"the ledger {self.folder} has no release {number}",
                hint=f"It has: {existing_numbers}",
            )
        return matching_entry

    def _entries(self, store: LedgerStore, rows: Sequence[Mapping[str, Any]]) -> list[Entry]:
        settings = self._settings()
        versions: dict[str, dict[str, int]] = {}
        entries = []
        for row in rows:
            source_versions = versions.setdefault(row["dataset"], {})
            if row["source"] is None:
                version = None
            else:
                version = source_versions.setdefault(row["source"], len(source_versions) + 1)
            is_expired = row["expires"] is not None and row["expires"] < settings["today"]
            row_fields = {
                name: row[name]
                for name in (
                    "number",
                    "dataset",
                    "recipient",
                    "at",
                    "expires",
                    "retracted",
                    "kind",
                    "rows",
                )
            }
            entries.append(
                Entry(
                    **row_fields,
                    state="expired" if is_expired and row["state"] == "published" else row["state"],
                    version=version,
                    place=Path(row["place"]),
                    copy=store.copy_path(row["number"]),
                    settings=settings,
                )
            )
        return entries

    def _settings(self) -> dict[str, Any]:
        return {"ledger": str(self.folder), "today": dt.datetime.now(dt.UTC).date().isoformat()}


@dataclass(frozen=True, eq=False)
class PriorReleases:
    """The prior releases with which a new release is judged, and the ledger to enter it in."""

    ledger: Ledger
    dataset: str
    against: tuple[Entry, ...]

    @property
    def released(self) -> tuple[Path, ...]:
        """Folders of the releases, for the `released` of an adversary."""
        return tuple(entry.copy for entry in self.against)

    def held_by(self, adversary: Adversary, *, continued: Path | None = None) -> Adversary:
        """Return the adversary with these releases added.

        Releases that later rows continue are excluded, because the rows are judged with them
        anyway.
        """
        if continued is None:
            excluded_numbers = set()
        else:
            excluded_numbers = _continued_entries(continued, self.against)
        folders = [entry.copy for entry in self.against if entry.number not in excluded_numbers]
        if folders:
            return replace(adversary, released=(*(adversary.released or ()), *folders))
        return adversary

    def turn(self) -> contextlib.AbstractContextManager[LedgerStore]:
        """Hold the lock for publishing with the ledger."""
        return self.ledger.turn()

    @contextlib.contextmanager
    def entering(
        self,
        staged: Path,
        private: Path,
        target: Path,
        *,
        source: releases.Fingerprint,
        engine: str,
    ) -> Iterator[None]:
        """Enter the release that appears in this block.

        Raises an error if others have been published since it was judged.
        """
        ledger = self.ledger
        with ledger.turn() as store:
            new_numbers = {entry.number for entry in ledger.judge().against} - {
                entry.number for entry in self.against
            }
            if new_numbers:
                numbers = " and ".join(map(str, sorted(new_numbers)))
                message = (
                    f"release {numbers} was entered since this one was decided, which was not "
                    "judged against it"
                )
                raise BadInput(message, hint="Nothing was published. Decide again")
            document = json.loads((staged / releases.NAME).read_text(encoding="utf-8"))
            paths = {"place": str(target), "staged": str(staged)}
            row = self.row(document) | paths | {"source": store.fingerprint(source, engine)}
            with interrupts.defer_signals():
                number = store.enter_intention(staged, private, row)
                try:
                    yield
                except BaseException:
                    store.settle(number)
                    raise
                try:
                    store.update_row(number, state="published")
                except BadInput as error:
                    message = (
                        f"the release is out at {target}, and could not be marked so: "
                        f"{error.message.marked}"
                    )
                    raise BadInput(
                        message, hint="The ledger finds it there when it is used next"
                    ) from error

    def row(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ledger row of a release with this manifest."""
        recipient_fields = {
            "dataset": self.dataset,
            "recipient": self.ledger.recipient,
            "expires": self.ledger.expires,
        }
        return {**recipient_fields, "kind": document["kind"], "rows": document["rows"]}

    def describe(self, written: Path | None) -> dict[str, Any]:
        """Describe the ledger entry of a release and the releases it was judged with.

        For its publisher.
        """
        number = None
        if written is not None:
            release_folder = Path(written).absolute()
            number = max(
                entry.number for entry in self.ledger.holdings() if entry.place == release_folder
            )
        return {
            "folder": str(self.ledger.folder),
            "number": number,
            "dataset": self.dataset,
            "recipient": self.ledger.recipient,
            "coalition": list(self.ledger.coalition),
            "judged_against": [entry.number for entry in self.against],
        }


def _continued_entries(folder: Path, entries: Sequence[Entry]) -> set[int]:
    """Return the numbers of the entries that a release is or continues.

    Their files have the hashes that its manifest names.
    """
    manifests = [(entry.number, entry.document) for entry in entries]
    document = releases.read_manifest(folder)
    numbers = {
        number
        for number, other_document in manifests
        if _file_hashes(other_document) == _file_hashes(document)
    }
    while earlier := [
        (number, other_document)
        for number, other_document in manifests
        if _file_hashes(other_document) == document.get("release")
    ]:
        numbers |= {number for number, _ in earlier}
        document = earlier[0][1]
    return numbers


def _file_hashes(document: Mapping[str, Any]) -> dict[str, str]:
    return {name: entry["sha256"] for name, entry in document["files"].items()}


def _refuse_unknown(kind: str, names: Collection[str], existing_names: Collection[str]) -> None:
    """Raise an error for an unknown name: a misspelled one would be judged with nothing."""
    for name in names:
        if name not in (EVERYBODY, *existing_names):
            if existing_names:
                hint = nearest(name, dict.fromkeys(existing_names))
            else:
                hint = "It is empty"
            raise BadInput(f"the ledger knows no {kind} {name!r}", hint=hint)


def _iso_day(day: str | dt.date | None) -> str | None:
    """Return a day in ISO 8601."""
    if day is None:
        return None
    try:
        return (day if isinstance(day, dt.date) else dt.date.fromisoformat(day)).strftime(
            "%Y-%m-%d"
        )
    except ValueError:
        raise BadInput(
            f"expires is {day!r}, which is no day", hint="Write it as 2027-12-31"
        ) from None
