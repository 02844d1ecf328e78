# SPDX-License-Identifier: Apache-2.0
"""publish(): write the parts of a release, verify them from the disk, seal them with a manifest, and move them into place.

It knows nothing of how the parts came about, so every kind of release (generalized, anatomized) is published by the same steps, in this
order, and a failure in any of them leaves the target as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge.errors import BadInput
from divulge.publish.manifest import read_manifest, refuse_unless_release, seal, write_manifest
from divulge.publish.staging import check_target, stage


@dataclass(frozen=True)
class Part:
    """One file of a release, or a folder of files that hold one table."""

    name: str
    """Its path within the release, with / between folders."""
    write: Callable[[Path], None]
    """Writes the file, or the folder, to the path that it is given."""
    public: bool = True
    """Whether it may be handed out; a file with values of the original may not."""


def publish(
    out: str | Path, parts: Sequence[Part], *, verify: Callable[[Path], Mapping[str, Any]], force: bool = False
) -> Path:
    """Publish a release at `out` and return its folder.

    `verify` gets the staged folder, reads it back, raises if it must not be published, and returns what the manifest is to say.
    An existing release is replaced only with `force`; anything else that stands at `out` never is.
    """
    with stage(out, replaceable=refuse_unless_release if force else None) as staging:
        for part in parts:
            _write(part, staging.folder)
        files = seal(
            staging.folder, {name: part.public for part in parts for name in _files(staging.folder, part.name)}
        )
        document = verify(staging.folder)
        write_manifest(staging.folder, document, files=files)
        # Hashed before they were verified and again now: what is moved is what was verified.
        read_manifest(staging.folder)
        staging.move_into_place()
        return staging.target


def refuse_target(out: str | Path, *, force: bool = False) -> None:
    """Say before any long work that nothing could be published at `out`."""
    check_target(out, replaceable=refuse_unless_release if force else None)


def _files(folder: Path, name: str) -> list[str]:
    """The files of a part, by their paths within the release."""
    path = folder / name
    inside = sorted(entry for entry in path.rglob("*") if entry.is_file()) if path.is_dir() else [path]
    return [entry.relative_to(folder).as_posix() for entry in inside]


def _write(part: Part, folder: Path) -> None:
    path = folder / part.name
    try:
        path.parent.mkdir(mode=0o777 if part.public else 0o700, parents=True, exist_ok=True)
        part.write(path)
    except OSError as error:
        raise BadInput(f"{part.name} of the release cannot be written: {error.strerror}") from error
