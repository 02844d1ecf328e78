# SPDX-License-Identifier: Apache-2.0
"""The staging folder and its renames: errors, clean-up, and the state after a crash."""

from __future__ import annotations

import itertools
import json
import os
import stat
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from divulge.errors import BadInput
from divulge.releases import private_place
from divulge.releases.staging import Staging, release_id_of, stage
from tests.releases.folders import names

PAIR = ["out", "out.private"]


def allow(target: Path, private: Path) -> Path:
    """Allow replacing anything, with the private part that has the same release id."""
    default = private_place(target)
    return private if release_id_of(private) == release_id_of(target) else default


def write(staging: Staging, text: str) -> None:
    """Write both parts of a release; its id is the text."""
    for folder in (staging.folder, staging.private_folder):
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text(text, encoding="utf-8")
        (folder / "manifest.json").write_text(json.dumps({"release_id": text}), encoding="utf-8")


def content(target: Path) -> str:
    """Return the id of a release whose two parts match."""
    text = (target / "inner" / "file").read_text(encoding="utf-8")
    assert release_id_of(target) == text
    return text


def pair(folder: Path) -> str:
    """Return the id of the release `out` in a folder that has only it and its private part."""
    assert names(folder) == PAIR
    assert content(folder / "out.private") == content(folder / "out")
    return content(folder / "out")


def publish(
    target: Path, text: str, *, force: bool = False, private_dir: Path | None = None
) -> None:
    with stage(target, private_dir=private_dir, replaceable=allow if force else None) as staging:
        write(staging, text)
        staging.move_into_place()


def test_nothing_is_at_the_target_before_the_move(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with stage(target) as staging:
        write(staging, "new")
        assert not target.exists()
        assert stat.S_IMODE(staging.root.stat().st_mode) == 0o700
        assert staging.root.parent == tmp_path
        staging.move_into_place()
        assert content(target) == "new"
    assert pair(tmp_path) == "new"
    assert stat.S_IMODE((tmp_path / "out.private").stat().st_mode) == 0o700


def test_a_release_that_is_not_moved_is_gone(tmp_path: Path) -> None:
    with stage(tmp_path / "out") as staging:
        write(staging, "new")
    assert names(tmp_path) == []


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with stage(tmp_path / "out") as staging:
            write(staging, "new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path) == []


def test_an_existing_folder_is_not_changed_without_force(tmp_path: Path) -> None:
    target = tmp_path / "out"
    publish(target, "old")
    with pytest.raises(BadInput, match=r"exists already.*force=True"):
        publish(target, "new")
    assert content(target) == "old"


def test_a_release_that_must_not_be_replaced_stays(tmp_path: Path) -> None:
    target = tmp_path / "out"
    publish(target, "old")

    def refuse(_: Path, __: Path) -> Path:
        raise BadInput("not this one")

    with pytest.raises(BadInput, match="not this one"), stage(target, replaceable=refuse):
        pass
    assert pair(tmp_path) == "old"


def test_an_old_release_is_replaced_completely(tmp_path: Path) -> None:
    target = tmp_path / "out"
    publish(target, "old")
    (target / "more").write_text("", encoding="utf-8")
    publish(target, "new", force=True)
    assert pair(tmp_path) == "new"
    assert names(target) == ["inner", "manifest.json"]


def test_an_empty_folder_counts_as_no_folder(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    publish(target, "new")
    assert content(target) == "new"


@pytest.mark.parametrize(
    ("name", "message"), [("file", "is a file"), ("link", "is a link"), ("no/where", "parent")]
)
def test_targets_that_cannot_be_folders(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    with pytest.raises(BadInput, match=message):
        publish(tmp_path / name, "new")


def test_a_target_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with stage(target) as staging:
        write(staging, "new")
        target.write_text("somebody else's", encoding="utf-8")
        with pytest.raises(BadInput, match="cannot be moved"):
            staging.move_into_place()
    assert target.read_text(encoding="utf-8") == "somebody else's"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("failing", ["release", "private", "out", "out.private"])
def test_the_old_release_comes_back_if_a_rename_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    target = tmp_path / "out"
    publish(target, "old")
    rename = Path.rename
    failures: list[Path] = []

    def fail_once(self: Path, goal: Path) -> Path:
        if self.name == failing and not failures:
            failures.append(goal)
            raise OSError(28, "No space left on device")
        return rename(self, goal)

    with stage(target, replaceable=allow) as staging:
        write(staging, "new")
        monkeypatch.setattr(Path, "rename", fail_once)
        with pytest.raises(BadInput, match="No space left"):
            staging.move_into_place()
    assert failures
    assert pair(tmp_path) == "old"


# --- a process that dies at each step -------------------------------------------------------------
def die_at(step: int, target: Path, *, force: bool, private_dir: Path | None, after: bool) -> bool:
    """Publish in a child process that dies at one of its renames, without any clean-up.

    Returns False if there is no such step.
    """
    with warnings.catch_warnings():
        # Python 3.12 warns of threads; the child only renames
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        counter = itertools.count()

        def dying(original: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
            def rename(self: Path, goal: Path) -> Path:
                is_last = next(counter) == step
                if is_last and not after:
                    os._exit(9)
                moved = original(self, goal)
                if is_last:
                    os._exit(9)
                return moved

            return rename

        Path.rename = dying(Path.rename)  # type: ignore[method-assign,assignment]
        Path.replace = dying(Path.replace)  # type: ignore[method-assign,assignment]
        try:
            publish(target, "new", force=force, private_dir=private_dir)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["next to it", "elsewhere"])
@pytest.mark.parametrize("force", [False, True], ids=["new", "replacing"])
def test_a_process_that_dies_at_any_rename_leaves_a_pair_or_nothing(
    tmp_path: Path,
    force: bool,  # noqa: FBT001
    elsewhere: bool,  # noqa: FBT001
    after: bool,  # noqa: FBT001
) -> None:
    outcomes = []
    for step in itertools.count():
        folder = tmp_path / str(step)
        (folder / "safe").mkdir(parents=True)
        target = folder / "out"
        private_dir = folder / "safe" / "own" if elsewhere else None
        private = private_place(target, private_dir)
        if force:
            publish(target, "old", private_dir=private_dir)
        died = die_at(step, target, force=force, private_dir=private_dir, after=after)
        if target.exists():  # a release is never without its private part, even before the next run
            assert release_id_of(private) == content(target)
        with stage(target, private_dir=private_dir, replaceable=allow):
            pass  # any later run recovers first
        assert [
            name for name in (*names(folder), *names(folder / "safe")) if ".divulge" in name
        ] == []
        assert target.exists() == private.exists()
        outcomes.append(content(target) if target.exists() else None)
        if target.exists():
            assert release_id_of(private) == content(target)
        if not died:
            break
    assert len(outcomes) > (6 if force else 4), "no run died in the middle, so nothing was tested"
    assert outcomes[0] == ("old" if force else None)
    assert outcomes[-1] == "new"


def test_a_private_part_without_its_release_is_not_overwritten(tmp_path: Path) -> None:
    """The user moved the release away: its private part is the only copy."""
    publish(tmp_path / "out", "old")
    (tmp_path / "out").rename(tmp_path / "moved")
    with pytest.raises(BadInput, match=r"out\.private exists already, and its release is not"):
        publish(tmp_path / "out", "new", force=True)
    assert content(tmp_path / "out.private") == "old"


@pytest.mark.parametrize("private", ["out", "."])
def test_a_private_part_is_never_inside_the_shared_folder(tmp_path: Path, private: str) -> None:
    with pytest.raises(BadInput, match="one folder would be inside the other"):
        publish(tmp_path / "out", "new", private_dir=tmp_path / private)
    assert names(tmp_path) == []


def test_addresses_are_rejected_for_either_part(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is an address"):
        publish(Path("s3://bucket/out"), "new")
    with (
        pytest.raises(BadInput, match="stays on this machine"),
        stage(tmp_path / "o", private_dir="s3://b/private"),
    ):
        pass
    assert names(tmp_path) == []


def test_staging_folders_of_running_processes_are_not_removed(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with stage(target) as slow:
        write(slow, "slow")
        publish(target, "fast")
        assert (slow.folder / "inner" / "file").exists()
        with pytest.raises(BadInput, match="exists already"):
            slow.move_into_place()
    assert pair(tmp_path) == "fast"


def test_staging_folders_of_other_targets_are_not_removed(tmp_path: Path) -> None:
    other = tmp_path / ".out2.divulge-dead1234"
    other.mkdir()
    publish(tmp_path / "out", "new")
    assert other.is_dir()


@pytest.mark.parametrize("name", ["a[b]c", "star*", "with space", "ünïcode"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    publish(tmp_path / name, "old")
    publish(tmp_path / name, "new", force=True)
    assert content(tmp_path / name) == content(tmp_path / f"{name}.private") == "new"
    assert names(tmp_path) == [name, f"{name}.private"]
