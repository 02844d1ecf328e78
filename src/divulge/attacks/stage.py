# SPDX-License-Identifier: Apache-2.0
"""Stage: release, targets and adversary set up for attacks, with the truth kept apart: it scores guesses, and no guess is made with it.

All values are texts here, as they are written; null is None. What she knows of a person (`People.known`) and what is true of them
(`People.truth`) are two tables of the same rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge import anatomy
from divulge.belief import Adversary
from divulge.engines import Engine
from divulge.policy import Promise
from divulge.table import Roles, Table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class People:
    """People who are attacked: one row for each, in the same order in both tables, every cell as a text."""

    known: pa.Table
    """What she knows of them: the columns of `Stage.knows`."""
    truth: pa.Table
    """Every column of the truth, to score guesses with."""
    source: str

    def __len__(self) -> int:
        return int(self.known.num_rows)


@dataclass(frozen=True, eq=False)
class Stage:
    """What an attack gets."""

    engine: Engine
    release: Table
    """What she sees; of an anatomized release its tables put together by group, each row for as many records as `mass` expects."""
    mass: str | None
    """The column of the release that says how many records a row stands for; None: each for one."""
    roles: Roles
    """Quasi-identifiers and sensitive columns of the release; she is after the sensitive ones."""
    knows: tuple[str, ...]
    """The columns of the release that she knows of each target."""
    targets: People
    controls: People | None
    """People who are not in the release; None: nobody said who is not."""
    adversary: Adversary
    background: Table | None
    """Another table that she holds."""
    promises: tuple[Promise, ...]
    """What was promised of the release, by its manifest or by whoever asks."""
    seed: int
    published: anatomy.Published | None = None
    """The tables of an anatomized release."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """alpha, beta, gamma and delta as an anatomized release promises them."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """The public manifest of a release of ours; empty for a table of somebody."""

    def generator(self, name: str) -> np.random.Generator:
        """Chance for one attack: the same whatever other attacks are run."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])
