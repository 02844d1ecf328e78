# SPDX-License-Identifier: Apache-2.0
"""Processes that publish with a ledger and die, run as a program.

Its children are forked from a process without threads. A child counts the lines that it runs in the
code of releases and ledgers, and kills itself with SIGKILL before a chosen line. It publishes a
real release, copied from a model: planning one is not what is tested here.
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

import divulge.ledger.store
import divulge.releases.release
import divulge.releases.staging
from divulge.errors import BadInput
from divulge.ledger import Ledger, PriorReleases
from divulge.releases import Fingerprint, read_manifests, refuse_target
from divulge.releases.release import StagedFile, publish

WATCHED = {
    module.__file__
    for module in (
        divulge.ledger.store,
        divulge.ledger.ledger,
        divulge.releases.release,
        divulge.releases.staging,
    )
}
MOMENTS = 25
"""Kills in a new ledger, and as many in one with a release that is replaced."""
ROUNDS = 40
"""Number of rounds in which three processes create a ledger at once.

Of 600 such rounds 234 failed before only the holder of the lock opened the database.
"""


def republish(model: Path, out: Path, judged: PriorReleases) -> Path:
    """Publish the release of another folder again, with a ledger."""
    public, private, private_folder = read_manifests(model)
    assert private is not None
    assert private_folder is not None
    files = [StagedFile(name, partial(shutil.copyfile, model / name)) for name in public["files"]]
    files += [
        StagedFile(name, partial(shutil.copyfile, private_folder / name), public=False)
        for name in private["files"]
    ]
    written = ("divulge_release", "divulge_private", "release_id", "manifest", "files")
    told = {name: value for name, value in public.items() if name not in written}
    kept = {name: value for name, value in private.items() if name not in written}
    enter = partial(judged.entering, source=Fingerprint(4, 17), engine="duckdb")
    with judged.turn():
        return publish(out, files, verify=lambda _: (told, kept), force=True, enter=enter)


def whole(model: Path, place: Path) -> None:
    """Judge, publish and enter: the work of a child."""
    republish(model, place / "out", Ledger(place / "ledger", recipient="the clinic").judge())


def dies_before(line: int, seen: list[str]) -> Callable[[FrameType, str, Any], Any]:
    """Return a trace that counts and records lines of the watched files, and ends the process."""

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
    """Fork a child that does some work and exits."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BadInput as error:
            sys.stderr.write(f"{error}\n")
            os._exit(2)
        finally:
            os._exit(1)  # a child must not continue the work of its parent
    yield child


def status(child: int) -> int:
    """Exit code of a child, or its signal as a negative number."""
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
    """States in the database before any recovery."""
    if not (ledger / "ledger.sqlite").exists():
        return []
    with contextlib.closing(sqlite3.connect(ledger / "ledger.sqlite")) as database:
        if not database.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = 'releases'"
        ).fetchone()[0]:
            return []
        return [
            state for (state,) in database.execute("SELECT state FROM releases ORDER BY number")
        ]


def entries(ledger: Path) -> list[Any]:
    """Entries of the ledger; none if it was only about to be created."""
    if not (ledger / "ledger.sqlite").exists():
        return []
    return [*Ledger(ledger).holdings()]


def content(manifest: Path) -> dict[str, Any]:
    """A manifest without the release id, which differs whenever the release is published."""
    document = json.loads(manifest.read_text(encoding="utf-8"))
    return {name: value for name, value in document.items() if name != "release_id"}


def consistent(models: list[Path], place: Path) -> str:
    """Compare ledger and release after a death, continue with them, and return the case."""
    out, ledger = place / "out", place / "ledger"
    new = content(place / "new.json")
    is_new = (out / "manifest.json").exists() and content(out / "manifest.json") == new
    before = raw_states(ledger)
    found = entries(ledger)
    copies = [content(entry.copy / "manifest.json") for entry in found]
    assert (new in copies) == is_new, f"{place}: out {is_new}, states {before}"
    assert {entry.state for entry in found} <= {"published"}
    for entry in found:
        read_manifests(entry.copy)
    if found:
        kept = {copy.name for copy in (ledger / "releases").iterdir()}
        assert kept == {f"{entry.number}{suffix}" for entry in found for suffix in ("", ".private")}
    refuse_target(out, force=True)  # the next run for the same target cleans up
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
        begin = next(
            place for place, line in enumerate(seen) if line.startswith("enter_intention:")
        )
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
    """Prepare a folder to publish in, with the manifest of the new release.

    A release that is to be replaced is there and entered.
    """
    place.mkdir()
    if replaces:
        republish(
            models[0], place / "out", Ledger(place / "ledger", recipient="the clinic").judge()
        )
    shutil.copyfile(models[1] / "manifest.json", place / "new.json")
    return place


def at_once(models: list[Path], folder: Path) -> dict[str, Any]:
    """Run two processes that judge and publish with one ledger, and one that waits too long.

    Another one judged before the other had published.
    """
    ledger = Ledger(folder / "ledger", recipient="a")

    def in_turn(number: int) -> None:
        with ledger.turn():
            judged = ledger.judge()
            (folder / f"judged-{number}").write_text(str(len(judged.against)), encoding="utf-8")
            time.sleep(0.05)
            republish(models[number], folder / f"out-{number}", judged)

    with forked(partial(in_turn, 0)) as one, forked(partial(in_turn, 1)) as other:
        ended = [status(one), status(other)]
    judged_against = sorted(
        int(path.read_text(encoding="utf-8")) for path in folder.glob("judged-*")
    )

    def impatient() -> None:
        republish(
            models[0], folder / "late", Ledger(folder / "ledger", recipient="a", wait=0.1).judge()
        )

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
    """Run three processes that create one ledger.

    Those that publish nothing remove it again, and at most one publishes.
    """
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

        with (
            forked(looks) as one,
            forked(adds if number % 2 else looks) as other,
            forked(looks) as third,
        ):
            ended |= {status(one), status(other), status(third)}
        if number % 2:
            left.add(tuple(entry.place.name for entry in ledger.holdings()))
    return {"ended": sorted(ended), "left": sorted(left)}


if __name__ == "__main__":
    what, place, *given = sys.argv[1:]
    done = {"deaths": deaths, "at_once": at_once, "crowd": crowd}[what](
        [Path(each) for each in given], Path(place)
    )
    sys.stdout.write(json.dumps(done))
