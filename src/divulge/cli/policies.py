# SPDX-License-Identifier: Apache-2.0
"""The policy of a command: the file that is named, else the `divulge.toml` of the project, with what is given by hand before it.

A gate must not depend on a file that somebody else left about. So the search for `divulge.toml` goes upwards from the current folder and
ends at the project: the first folder with `.git`. The home folder and the top of the file system are looked at only by who stands there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from typer import Option

from divulge import publish
from divulge.cli import options
from divulge.errors import BadInput
from divulge.policy import Policy, Promise, Protection

NAME = "divulge.toml"


def find(start: Path | None = None) -> Path | None:
    """The `divulge.toml` that is in force here, if there is one."""
    folders = _looked_at((start or Path.cwd()).resolve())
    return next((folder / NAME for folder in folders if (folder / NAME).is_file()), None)


def _looked_at(start: Path) -> Iterator[Path]:
    """The folders from here up to the project's own."""
    for folder in (start, *start.parents):
        if folder != start and folder in (Path.home().resolve(), folder.parent):
            return
        yield folder
        if (folder / ".git").exists():  # a file in a worktree
            return


@dataclass(frozen=True)
class PolicyOptions:
    """Which policy file is in force."""

    panel: ClassVar[str] = "Promises"
    policy: Annotated[
        options.Text, Option(metavar="FILE", help="Policy file (TOML); else divulge.toml, found here or above.")
    ] = None
    no_policy: Annotated[bool, Option("--no-policy", help="Do not look for divulge.toml.")] = False

    def __post_init__(self) -> None:
        if self.no_policy and self.policy is not None:
            raise BadInput(f"--no-policy has no effect beside --policy {self.policy}", hint="leave one of them out")

    def in_force(
        self, promises: Sequence[Promise], *, protect: options.Texts = None, alone_share: float | None = None
    ) -> InForce:
        """The file and what was given by hand."""
        found = None if self.no_policy or self.policy is not None else find()
        file = self.policy if found is None else os.path.relpath(found)
        kept, by_hand = (policy_of(name, promises, protect=protect, alone_share=alone_share) for name in (file, None))
        return InForce(kept, by_hand, file=file, found=found is not None)


@dataclass(frozen=True)
class InForce:
    """A policy, and where it comes from."""

    policy: Policy
    by_hand: Policy
    """What was given without a file."""
    file: str | None = None
    found: bool = False
    """Nobody named the file."""

    def of(self, source: str) -> InForce:
        """Of a release, which says itself what it promises, without a file that nobody named."""
        is_release = (Path(source) / publish.NAME).is_file()
        return InForce(self.by_hand, self.by_hand) if self.found and is_release else self

    def announce(self, *, json_: bool) -> None:
        """The first line of the output, where nobody named the file."""
        if self.found and not json_:
            options.show(f"Policy: {self.file}, found by itself; --no-policy leaves it out.")

    @property
    def settings(self) -> dict[str, Any]:
        """What a document says of it beside everything else that the numbers depend on."""
        return {} if self.file is None else {"policy": {"file": self.file, "found": self.found}}


def policy_of(
    file: str | None,
    promises: Sequence[Promise] | None,
    *,
    protect: Sequence[str] | None = None,
    alone_share: float | None = None,
) -> Policy:
    """The policy file, if there is one; a promise made by hand goes before the file's about the same."""
    base = Policy() if file is None else Policy.load(file)
    mine = {promise.about for promise in promises or ()}
    kept = (promise for promise in base.promises if promise.about not in mine)
    return replace(
        base,
        promises=(*kept, *(promises or ())),
        protections=(*base.protections, *map(Protection.parse, protect or ())),
        alone_share=base.alone_share if alone_share is None else alone_share,
    )
