# SPDX-License-Identifier: Apache-2.0
"""A ledger: what was released of the same people, when and to whom, so that a new release is judged with all that is out already.

What is out stays out: a release that is retracted, or whose time is over, is judged like any other. Which releases belong together is said
by the name of a dataset, not by a path or a hash: the table of next year lies elsewhere and holds other rows, and is of the same people.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from divulge import publish, results, values
from divulge.belief import Adversary
from divulge.errors import BadInput, listed, nearest
from divulge.ledger.book import Book, is_new, now
from divulge.results import Result

EVERYBODY = "everybody"
"""As a recipient: whoever wants it. As a coalition: all who hold anything put it together."""
_DATASET = "people"
"""What the first dataset is called if nobody gives it a name."""


@dataclass(frozen=True, repr=False)
class Entry(Result):
    """One release in a ledger."""

    view = "ledger"

    number: int
    dataset: str
    recipient: str
    state: str
    """"published", "retracted", "expired", or "unclear": a process died while it published, and what was left has been tidied up."""
    at: str
    """When it was published, in UTC."""
    expires: str | None
    """The day after which its recipient should have it no more."""
    retracted: str | None
    """When it was called back."""
    kind: str
    rows: int
    """How many were published."""
    version: int | None
    """Releases of a dataset with the same number were made from a table with the same rows; None where nobody knows."""
    place: Path
    """Where it was published."""
    copy: Path = field(metadata={"told": False})
    """The ledger's own copy, with the private part: a folder that is good wherever a release is."""
    settings: Mapping[str, Any]
    """What the state depends on: the ledger, and the day."""

    @property
    def document(self) -> dict[str, Any]:
        """What the release says to everybody, after the copy has been held against its hashes."""
        return publish.read_manifests(self.copy, handed_out=True).public


@dataclass(frozen=True, repr=False)
class Holdings(results.Several[Entry]):
    """The releases of a ledger, or those that some recipients hold, in the order in which they were published."""

    view = "ledger"


@values.checked_fields
@dataclass(frozen=True)
class Ledger:
    """A private folder that knows what is out, and what a release is to be entered as.

    Args:
        folder: The folder; made, for its owner alone, when the first release is entered.
        recipient: Who gets a new release; "everybody" is whoever wants it.
        coalition: Who puts together what they hold: a name or several, beside the recipient. By default all who hold anything.
        dataset: Which people the release is about: those of one dataset are judged together. By default the only one of the ledger.
        expires: The day after which the recipient should have it no more. It stays known, and is judged like the others.
        wait: Seconds to wait for another process that publishes by the same ledger.
        waiting: Called once, with the folder, after two of them.

    Examples:
        >>> import divulge as dv, pyarrow as pa, tempfile
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]})
        >>> release = dv.generalize(
        ...     people, policy=dv.Policy(k_anonymity=2), quasi_identifiers="zip", sensitive="disease"
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
        object.__setattr__(self, "expires", _day(self.expires))
        for name, given in [
            ("recipient", self.recipient),
            ("dataset", self.dataset),
            *(("coalition", it) for it in members),
        ]:
            if given is not None and (not given.strip() or "," in given or not given.isprintable()):
                raise BadInput(f"{name} is {given!r}", hint="A name is a text without commas")
        if not members:
            raise BadInput("coalition is empty", hint=f"Name its members; {EVERYBODY!r} are all who hold anything")
        if self.recipient == EVERYBODY and EVERYBODY not in members:
            raise BadInput(
                f"everybody gets the release, so that each who holds anything can add it: coalition={list(members)} would leave some out",
                hint="Name the recipient, or leave the coalition out",
            )
        if self.wait < 0:
            raise BadInput(f"wait is {self.wait:g}", hint="Give seconds")

    @classmethod
    def of(cls, given: str | Path | Ledger) -> Ledger:
        """As it is, or of a folder."""
        return given if isinstance(given, Ledger) else cls(given)

    # --- looking ----------------------------------------------------------------------------------------------------
    @values.checked
    def holdings(self, *recipients: str) -> Holdings:
        """What these recipients hold, with what everybody was given; without names, all that is out."""
        with Book.looked_at(self._path) as book:
            entries = self._entries(book, book.rows())
        of_dataset = [entry for entry in entries if self.dataset in (None, entry.dataset)]
        _refuse_unknown("dataset", [] if self.dataset is None else [self.dataset], [entry.dataset for entry in entries])
        _refuse_unknown("recipient", recipients, [entry.recipient for entry in of_dataset])
        held = [entry for entry in of_dataset if not recipients or entry.recipient in (EVERYBODY, *recipients)]
        asked = {"dataset": self.dataset, "recipients": list(recipients) or None}
        return Holdings(tuple(held), {**self._settings(), **asked})

    @values.checked
    def entry(self, number: int) -> Entry:
        """One release, by its number."""
        with Book.looked_at(self._path) as book:
            return self._entry(book, number)

    def judge(self, *, new: bool = True) -> OutAlready:
        """What a new release is to be judged against; a release that is entered must have been judged against all of it.

        Args:
            new: Whether there need be no ledger yet: the first release begins one. Who only looks and misspells it would be told that
                nothing is out.
        """
        if new and is_new(self._path):
            return OutAlready(self, self.dataset or _DATASET, ())
        with Book.looked_at(self._path) as book:
            return self._judged(book)

    @contextlib.contextmanager
    def turn(self) -> Iterator[Book]:
        """Publish alone: others who enter releases wait until the block is left, and are judged against what was entered in it."""
        with Book.turn(self._path, wait=self.wait, waiting=self.waiting) as book:
            yield book

    # --- entering ---------------------------------------------------------------------------------------------------
    @values.checked
    def add(self, release: str | Path) -> Entry:
        """Enter a release that is out already, such as one from before there was a ledger; it is not judged, and entered once only.

        Args:
            release: Its folder, with its private part, so that later releases can be judged with it.
        """
        place = Path(release).expanduser().absolute()
        document, private, _ = publish.read_manifests(place, handed_out=True)
        if private is None and document["kind"] != "anatomized":
            hint = "Take the release from its publisher, with its mappings"
            raise BadInput(f"{release} has no private part, so nothing could be judged with it", hint=hint)
        with self.turn() as book:
            judged = self._judged(book)
            about = (judged.dataset, self.recipient, publish.sha256(place / publish.NAME))
            if same := book.rows("(dataset, recipient, manifest) = (?, ?, ?)", about):
                return self._entry(book, same[0]["number"])
            row = judged.row(document) | {"place": str(place), "staged": str(place)}
            number = book.intend(place, row)
            book.set(number, state="published")
            return self._entry(book, number)

    @values.checked
    def retract(self, number: int) -> Entry:
        """Say that a release was called back. What is out stays known, so later releases are judged against it as before.

        Args:
            number: Its number in the ledger.
        """
        with self._changing() as book:
            if self._entry(book, number).retracted is not None:
                return self._entry(book, number)
            book.set(number, state="retracted", retracted=now())
            return self._entry(book, number)

    @values.checked
    def forget(self, number: int, *, force: bool = False) -> Entry:
        """Take a release out of the ledger, with the copy of its private part: nothing is judged against it any more.

        Args:
            number: Its number in the ledger.
            force: Forget it although it is out.
        """
        with self._changing() as book:
            entry = self._entry(book, number)
            if not force and entry.state != "unclear":
                raise BadInput(
                    f"release {number} is out, and later releases would not be judged against it any more",
                    hint="What is out stays known: retract it, or forget it with force=True",
                )
            book.drop(number)
            return entry

    @property
    def _path(self) -> Path:
        return Path(self.folder).absolute()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Book]:
        """The turn, of a ledger that is there."""
        with Book.looked_at(self._path), self.turn() as book:
            yield book

    def _judged(self, book: Book) -> OutAlready:
        entries = self._entries(book, book.rows())
        datasets = [*dict.fromkeys(entry.dataset for entry in entries)]
        if self.dataset is None and len(datasets) > 1:
            told = f"the ledger {self.folder} has several datasets: {listed(datasets)}"
            raise BadInput(told, hint="Say with dataset= which one the release is of")
        dataset = self.dataset or next(iter(datasets), _DATASET)
        own = [entry for entry in entries if entry.dataset == dataset]
        if EVERYBODY in self.coalition:
            return OutAlready(self, dataset, tuple(own))
        _refuse_unknown(
            "recipient", [name for name in self.coalition if name != self.recipient], [entry.recipient for entry in own]
        )
        members = {*self.coalition, self.recipient, EVERYBODY}
        return OutAlready(self, dataset, tuple(entry for entry in own if entry.recipient in members))

    def _entry(self, book: Book, number: int) -> Entry:
        entries = self._entries(book, book.rows())
        found = next((entry for entry in entries if entry.number == number), None)
        if found is None:
            there = listed((entry.number for entry in entries), most=10) or "no release"
            raise BadInput(f"the ledger {self.folder} has no release {number}", hint=f"It has: {there}")
        return found

    def _entries(self, book: Book, rows: Sequence[Mapping[str, Any]]) -> list[Entry]:
        settings = self._settings()
        versions: dict[str, dict[str, int]] = {}
        made = []
        for row in rows:
            known = versions.setdefault(row["dataset"], {})
            version = None if row["source"] is None else known.setdefault(row["source"], len(known) + 1)
            over = row["expires"] is not None and row["expires"] < settings["today"]
            told = {
                name: row[name]
                for name in ("number", "dataset", "recipient", "at", "expires", "retracted", "kind", "rows")
            }
            made.append(
                Entry(
                    **told,
                    state="expired" if over and row["state"] == "published" else row["state"],
                    version=version,
                    place=Path(row["place"]),
                    copy=book.copy_of(row["number"]),
                    settings=settings,
                )
            )
        return made

    def _settings(self) -> dict[str, Any]:
        return {"ledger": str(self.folder), "today": dt.datetime.now(dt.UTC).date().isoformat()}


@dataclass(frozen=True, eq=False)
class OutAlready:
    """What a new release is judged against, and where it is entered once it is out."""

    ledger: Ledger
    dataset: str
    against: tuple[Entry, ...]

    @property
    def released(self) -> tuple[Path, ...]:
        """Folders of releases, as an adversary's `released` takes them."""
        return tuple(entry.copy for entry in self.against)

    def held_by(self, her: Adversary, *, continued: Path | None = None) -> Adversary:
        """The adversary who holds this too, but for what later rows continue, with which they are judged anyhow."""
        judged = set() if continued is None else _chain(continued, self.against)
        more = [entry.copy for entry in self.against if entry.number not in judged]
        return replace(her, released=(*(her.released or ()), *more)) if more else her

    def turn(self) -> contextlib.AbstractContextManager[Book]:
        """While nobody else publishes by the ledger."""
        return self.ledger.turn()

    @contextlib.contextmanager
    def entering(self, staged: Path, target: Path, *, source: publish.Fingerprint, engine: str) -> Iterator[None]:
        """Enter the release that appears in this block; refused if others have been published since it was judged."""
        ledger = self.ledger
        with ledger.turn() as book:
            unseen = {entry.number for entry in ledger.judge().against} - {entry.number for entry in self.against}
            if unseen:
                numbers = " and ".join(map(str, sorted(unseen)))
                told = f"release {numbers} was entered since this one was decided, which was not judged against it"
                raise BadInput(told, hint="Nothing was published. Decide again")
            document = json.loads((staged / publish.NAME).read_text(encoding="utf-8"))
            places = {"place": str(target), "staged": str(staged)}
            row = self.row(document) | places | {"source": book.fingerprint(source, engine)}
            number = book.intend(staged, row)
            try:
                yield
            except BaseException:
                book.settle(number)
                raise
            try:
                book.set(number, state="published")
            except BadInput as error:
                told = f"the release is out at {target}, and could not be marked so: {error.message}"
                raise BadInput(told, hint="The ledger finds it there when it is used next") from error

    def row(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """What the ledger says of a release with this manifest."""
        about = {"dataset": self.dataset, "recipient": self.ledger.recipient, "expires": self.ledger.expires}
        return {**about, "kind": document["kind"], "rows": document["rows"]}

    def describe(self, written: Path | None) -> dict[str, Any]:
        """What a release was judged against, and the number it was entered with, for its publisher."""
        entered = None
        if written is not None:
            place = Path(written).absolute()
            entered = max(entry.number for entry in self.ledger.holdings() if entry.place == place)
        return {
            "folder": str(self.ledger.folder),
            "number": entered,
            "dataset": self.dataset,
            "recipient": self.ledger.recipient,
            "coalition": list(self.ledger.coalition),
            "judged_against": [entry.number for entry in self.against],
        }


def _chain(folder: Path, entries: Sequence[Entry]) -> set[int]:
    """Those of the entries that a release is or continues, by their numbers: their files have the hashes that it names."""
    known = [(entry.number, entry.document) for entry in entries]
    document = publish.read_manifests(folder, handed_out=True).public
    found = {number for number, other in known if _seals(other) == _seals(document)}
    while earlier := [(number, other) for number, other in known if _seals(other) == document.get("release")]:
        found |= {number for number, _ in earlier}
        document = earlier[0][1]
    return found


def _seals(document: Mapping[str, Any]) -> dict[str, str]:
    return {name: entry["sha256"] for name, entry in document["files"].items()}


def _refuse_unknown(what: str, names: Collection[str], known: Collection[str]) -> None:
    """A name that is written wrongly would be judged against nothing."""
    for name in names:
        if name not in (EVERYBODY, *known):
            hint = nearest(name, dict.fromkeys(known)) if known else "It is empty"
            raise BadInput(f"the ledger knows no {what} {name!r}", hint=hint)


def _day(given: str | dt.date | None) -> str | None:
    """A day as it is written in ISO 8601."""
    if given is None:
        return None
    try:
        return (given if isinstance(given, dt.date) else dt.date.fromisoformat(given)).strftime("%Y-%m-%d")
    except ValueError:
        raise BadInput(f"expires is {given!r}, which is no day", hint="Write it as 2027-12-31") from None
