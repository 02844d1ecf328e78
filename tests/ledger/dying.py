# SPDX-License-Identifier: Apache-2.0
"""Processes that publish by a ledger and die: run as a program, so that its children are forked from a process without threads.

A child counts the lines that it runs in the code of releases and ledgers, and kills itself with SIGKILL before the one it was told. What it
publishes is a real release, copied from a model: deciding on one is no part of what may break here.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import divulge.ledger.book
import divulge.publish.release
import divulge.publish.staging
from divulge.errors import BadInput
from divulge.ledger import Ledger, OutAlready
from divulge.publish import Fingerprint, read_manifests, refuse_target, sha256
from divulge.publish.release import StagedFile, publish

WATCHED = {
    module.__file__
    for module in (divulge.ledger.book, divulge.ledger.ledger, divulge.publish.release, divulge.publish.staging)
}
MOMENTS = 25
"""In a new ledger, and as many in one where the release replaces another."""
ROUNDS = 40
"""How often three processes begin a ledger at once: of 600 such rounds 234 failed before the database was left to who has the turn."""


def republish(model: Path, out: Path, judged: OutAlready) -> Path:
    """Publish the release of another folder again, by a ledger."""
    public, private, _ = read_manifests(model)
    assert private is not None
    files = [StagedFile(name, partial(shutil.copyfile, model / name)) for name in public["files"]]
    names = [f"mapping/{name}" for name in private["files"]]
    files += [StagedFile(name, partial(shutil.copyfile, model / name), public=False) for name in names]
    told = {name: value for name, value in public.items() if name not in ("divulge_release", "files")}
    kept = {name: value for name, value in private.items() if name not in ("divulge_private", "manifest", "files")}
    enter = partial(judged.entering, source=Fingerprint(4, 17), engine="duckdb")
    with judged.turn():
        return publish(out, files, verify=lambda _: (told, kept), force=True, enter=enter)


def whole(model: Path, place: Path) -> None:
    """What a child does: judge, publish, enter."""
    republish(model, place / "out", Ledger(place / "ledger", recipient="the clinic").judge())


def dies_before(line: int, seen: list[str]) -> Callable[[FrameType, str, Any], Any]:
    """A trace that counts lines of the watched files, remembers them, and ends the process before one of them."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            if len(seen) == line:
                os.kill(os.getpid(), signal.SIGKILL)
            seen.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
        return trace

    return trace


@contextlib.contextmanager
def forked(work: Callable[[], object]) -> Iterator[int]:
    """A child that does some work and leaves."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BadInput as error:
            sys.stderr.write(f"{error}\n")
            os._exit(2)
        finally:
            os._exit(1)  # a child must not go on with what its parent does
    yield child


def status(child: int) -> int:
    """How a child ended: its exit code, or the signal as a negative number."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(model: Path, place: Path, line: int) -> None:
    """Let a child die before it runs this line."""

    def work() -> None:
        sys.settrace(dies_before(line, []))
        whole(model, place)

    with forked(work) as child:
        ended = status(child)
    assert ended == -signal.SIGKILL, f"{place}: the child was not killed but ended with {ended}"


def raw_states(ledger: Path) -> list[str]:
    """What the database says before anybody has looked after it."""
    if not (ledger / "ledger.sqlite").exists():
        return []
    with contextlib.closing(sqlite3.connect(ledger / "ledger.sqlite")) as database:
        if not database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'releases'").fetchone()[0]:
            return []
        return [state for (state,) in database.execute("SELECT state FROM releases ORDER BY number")]


def entries(ledger: Path) -> list[Any]:
    """What the ledger says; one that was about to be made says nothing."""
    if not (ledger / "ledger.sqlite").exists():
        return []
    return [*Ledger(ledger).holdings()]


def consistent(models: list[Path], place: Path) -> str:
    """Hold ledger and release against each other after a death, and go on with them; which of the two cases it was."""
    out, ledger = place / "out", place / "ledger"
    is_new = (out / "manifest.json").exists() and sha256(out / "manifest.json") == sha256(place / "new.json")
    before = raw_states(ledger)
    found = entries(ledger)
    hashes = [sha256(entry.copy / "manifest.json") for entry in found]
    assert (sha256(place / "new.json") in hashes) == is_new, f"{place}: out {is_new}, states {before}"
    assert {entry.state for entry in found} <= {"published"}
    for entry in found:
        read_manifests(entry.copy)
    if found:
        kept = sorted(int(copy.name) for copy in (ledger / "releases").iterdir())
        assert kept == [entry.number for entry in found]
    refuse_target(out, force=True)  # the next run for the same target tidies up
    assert not [path.name for path in place.iterdir() if path.name.startswith(".")]
    if out.exists():
        read_manifests(out)
    # Nothing is stuck: the same ledger takes the next release.
    republish(models[0], place / "next", Ledger(ledger, recipient="the press").judge())
    assert len(entries(ledger)) == len(found) + 1
    return f"{'out' if is_new else 'not out'}, {'intended' if 'intended' in before else 'settled'}"


def deaths(models: list[Path], folder: Path) -> dict[str, Any]:
    """Kill at many moments, in a new ledger, and in one where the release replaces another."""
    counted: dict[str, int] = {}
    moments = 0
    for replaces in (False, True):
        seen: list[str] = []
        trial = prepared(models, folder / f"whole-{replaces}", replaces=replaces)
        sys.settrace(dies_before(-1, seen))
        whole(models[1], trial)
        sys.settrace(None)
        begin = next(place for place, line in enumerate(seen) if line.startswith("intend:"))
        few, many = MOMENTS // 5, MOMENTS - MOMENTS // 5
        lines = [begin * step // few for step in range(few)]
        lines += [begin + (len(seen) - begin) * step // many for step in range(many)]
        for line in lines:
            trial = prepared(models, folder / f"{replaces}-{line}", replaces=replaces)
            killed(models[1], trial, line)
            case = consistent(models, trial)
            counted[case] = counted.get(case, 0) + 1
            moments += 1
    return {"moments": moments, "cases": counted}


def prepared(models: list[Path], place: Path, *, replaces: bool) -> Path:
    """A folder to publish in, with what the new release will look like; where it replaces another, that is there and entered."""
    place.mkdir()
    if replaces:
        republish(models[0], place / "out", Ledger(place / "ledger", recipient="the clinic").judge())
    shutil.copyfile(models[1] / "manifest.json", place / "new.json")
    return place


def at_once(models: list[Path], folder: Path) -> dict[str, Any]:
    """Two processes that judge and publish by one ledger; one that waits too long; one that judged before the other had published."""
    ledger = Ledger(folder / "ledger", recipient="a")

    def in_turn(number: int) -> None:
        with ledger.turn():
            judged = ledger.judge()
            (folder / f"judged-{number}").write_text(str(len(judged.against)), encoding="utf-8")
            time.sleep(0.05)
            republish(models[number], folder / f"out-{number}", judged)

    with forked(partial(in_turn, 0)) as one, forked(partial(in_turn, 1)) as other:
        ended = [status(one), status(other)]
    judged_against = sorted(int(path.read_text(encoding="utf-8")) for path in folder.glob("judged-*"))

    def impatient() -> None:
        republish(models[0], folder / "late", Ledger(folder / "ledger", recipient="a", wait=0.1).judge())

    with ledger.turn(), forked(impatient) as child:
        waited = status(child)

    early = ledger.judge()
    republish(models[0], folder / "between", ledger.judge())
    try:
        republish(models[1], folder / "too-late", early)
        refused = ""
    except BadInput as error:
        refused = str(error)
    return {
        "ended": ended,
        "judged_against": judged_against,
        "waited": waited,
        "late": (folder / "late").exists(),
        "refused": refused,
        "too_late": (folder / "too-late").exists(),
        "entered": [entry.place.name for entry in ledger.holdings()],
    }


def crowd(models: list[Path], folder: Path) -> dict[str, Any]:
    """Three processes that begin one ledger: those who publish nothing take it away again, and one at most publishes."""
    ended, left = set[int](), set[tuple[str, ...]]()
    for number in range(ROUNDS):
        place = folder / str(number)
        place.mkdir()
        ledger = Ledger(place / "ledger", recipient="a")

        def looks(ledger: Ledger = ledger) -> None:
            with ledger.turn():
                pass

        def adds(ledger: Ledger = ledger) -> None:
            ledger.add(models[0])

        with forked(looks) as one, forked(adds if number % 2 else looks) as other, forked(looks) as third:
            ended |= {status(one), status(other), status(third)}
        if number % 2:
            left.add(tuple(entry.place.name for entry in ledger.holdings()))
    return {"ended": sorted(ended), "left": sorted(left)}


if __name__ == "__main__":
    what, place, *given = sys.argv[1:]
    done = {"deaths": deaths, "at_once": at_once, "crowd": crowd}[what]([Path(each) for each in given], Path(place))
    sys.stdout.write(json.dumps(done))
