# SPDX-License-Identifier: Apache-2.0
"""The private folder and the move: what is refused, what is cleaned up, and what a crash at each step leaves."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from divulge.errors import BadInput
from divulge.publish.staging import Staging, stage
from tests.publish.folders import names


def allow(_: Path) -> None:
    """Anything may be replaced."""


def write(staging: Staging, text: str) -> None:
    (staging.folder / "inner").mkdir()
    (staging.folder / "inner" / "file").write_text(text, encoding="utf-8")


def content(target: Path) -> str:
    return (target / "inner" / "file").read_text(encoding="utf-8")


def publish(target: Path, text: str, *, force: bool = False) -> None:
    with stage(target, replaceable=allow if force else None) as staging:
        write(staging, text)
        staging.move_into_place()


def test_nothing_is_at_the_target_before_the_move(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with stage(target) as staging:
        write(staging, "new")
        assert not target.exists()
        assert stat.S_IMODE(staging.private.stat().st_mode) == 0o700
        assert staging.private.parent == tmp_path
        staging.move_into_place()
        assert content(target) == "new"
    assert names(tmp_path) == ["out"]


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


def test_an_existing_folder_is_not_touched_without_leave(tmp_path: Path) -> None:
    target = tmp_path / "out"
    publish(target, "old")
    with pytest.raises(BadInput, match=r"exists already.*force=True"):
        publish(target, "new")
    assert content(target) == "old"


def test_what_is_not_to_be_replaced_stays(tmp_path: Path) -> None:
    target = tmp_path / "out"
    publish(target, "old")

    def refuse(_: Path) -> None:
        raise BadInput("not this one")

    with pytest.raises(BadInput, match="not this one"), stage(target, replaceable=refuse):
        pass
    assert content(target) == "old"
    assert names(tmp_path) == ["out"]


def test_an_old_release_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "out"
    publish(target, "old")
    (target / "more").write_text("", encoding="utf-8")
    publish(target, "new", force=True)
    assert content(target) == "new"
    assert names(target) == ["inner"]
    assert names(tmp_path) == ["out"]


def test_an_empty_folder_is_as_good_as_none(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    publish(target, "new")
    assert content(target) == "new"


@pytest.mark.parametrize(("name", "message"), [("file", "is a file"), ("link", "is a link"), ("no/where", "parent")])
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


def test_the_old_release_comes_back_if_the_new_one_cannot_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    publish(target, "old")
    rename = Path.rename

    def fail_for_the_new(self: Path, goal: Path) -> Path:
        if self.name == "release":
            raise OSError(28, "No space left on device")
        return rename(self, goal)

    with stage(target, replaceable=allow) as staging:
        write(staging, "new")
        monkeypatch.setattr(Path, "rename", fail_for_the_new)
        with pytest.raises(BadInput, match="No space left"):
            staging.move_into_place()
        assert not target.exists()
    assert content(target) == "old"
    assert names(tmp_path) == ["out"]


def dead_run(tmp_path: Path, *, released: bool, replaced: bool) -> Path:
    """What a killed run leaves: a private folder that nobody holds a lock on."""
    private = tmp_path / ".out.divulge-dead1234"
    for name, is_there in (("release", released), ("replaced", replaced)):
        if is_there:
            (private / name / "inner").mkdir(parents=True)
            (private / name / "inner" / "file").write_text(name, encoding="utf-8")
    private.mkdir(exist_ok=True)
    return private


@pytest.mark.parametrize("released", [True, False])
def test_the_next_run_removes_what_a_dead_one_left(tmp_path: Path, released: bool) -> None:  # noqa: FBT001
    dead_run(tmp_path, released=released, replaced=False)
    publish(tmp_path / "out", "new")
    assert content(tmp_path / "out") == "new"
    assert names(tmp_path) == ["out"]


def test_a_run_that_died_between_the_renames_is_undone(tmp_path: Path) -> None:
    """The old release was moved aside and the new one not yet in: the old one is put back before anything else."""
    dead_run(tmp_path, released=True, replaced=True)
    with pytest.raises(BadInput, match="exists already"):
        publish(tmp_path / "out", "new")
    assert content(tmp_path / "out") == "replaced"
    assert names(tmp_path) == ["out"]


def test_a_run_that_died_after_the_renames_leaves_the_new_release(tmp_path: Path) -> None:
    publish(tmp_path / "out", "moved")
    dead_run(tmp_path, released=False, replaced=True)
    with pytest.raises(BadInput, match="exists already"):
        publish(tmp_path / "out", "new")
    assert content(tmp_path / "out") == "moved"
    assert names(tmp_path) == ["out"]


def test_a_living_run_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with stage(target) as slow:
        write(slow, "slow")
        publish(target, "fast")
        assert (slow.folder / "inner" / "file").exists()
        with pytest.raises(BadInput, match="exists already"):
            slow.move_into_place()
    assert content(target) == "fast"
    assert names(tmp_path) == ["out"]


def test_folders_of_other_targets_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / ".out2.divulge-dead1234"
    other.mkdir()
    publish(tmp_path / "out", "new")
    assert other.is_dir()


@pytest.mark.parametrize("name", ["a[b]c", "star*", "with space", "ünïcode"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    publish(tmp_path / name, "old")
    publish(tmp_path / name, "new", force=True)
    assert content(tmp_path / name) == "new"
    assert names(tmp_path) == [name]
