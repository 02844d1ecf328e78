# SPDX-License-Identifier: Apache-2.0
"""Hashes of the files of a release: computed for the manifest, and compared when it is opened."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from divulge.errors import BadInput
from divulge.releases.schema import TAKE_AGAIN_HINT


def hash_files(folder: Path, names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the hash and the size of each file."""
    return {
        name: {"sha256": sha256(folder / name), "bytes": (folder / name).stat().st_size}
        for name in names
    }


def sha256(path: Path) -> str:
    """Return the SHA-256 hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def reject_changed_files(
    folder: Path, file_entries: Mapping[str, Any], present: Collection[str]
) -> None:
    """Raise an error unless each file exists and has its hash, and there is no other file."""
    problems = [
        problem
        for name, entry in file_entries.items()
        if (problem := _file_problem(folder, name, entry["sha256"]))
    ]
    problems += [
        f"{name} is not in the manifest" for name in sorted(set(present) - set(file_entries))
    ]
    if problems:
        raise BadInput(
            f"{folder} is not as it was released: {'; '.join(problems[:20])}", hint=TAKE_AGAIN_HINT
        )


def _file_problem(folder: Path, name: str, expected_hash: str) -> str | None:
    try:
        if not (folder / name).is_file():
            return f"{name} is missing"
        return None if sha256(folder / name) == expected_hash else f"{name} has changed"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"


def file_names(folder: Path) -> set[str]:
    """Return every file below a folder; a link raises an error because it may lead anywhere."""
    return set(_walk_files(folder, folder))


def _walk_files(folder: Path, top: Path) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise BadInput(f"{folder} cannot be read: {error.strerror}") from None
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink():
            raise BadInput(
                f"{path.relative_to(top).as_posix()} in {top} is a link",
                hint="A release holds files alone",
            )
        if entry.is_dir():
            yield from _walk_files(path, top)
        else:
            yield path.relative_to(top).as_posix()
