# SPDX-License-Identifier: Apache-2.0
"""reseal(): write the manifests of an earlier release as they are written today, so that the public one tells nothing around its promise.

Tables and mappings stay as they are, byte for byte. The numbers of the public manifest are measured anew, in the published table alone.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge import metrics, values
from divulge.belief import Assumptions
from divulge.count import Request, count_in_memory
from divulge.engines import DuckDBEngine
from divulge.publish.generalized import public_verdict
from divulge.publish.manifest import FOLDER, FORMAT, public_numbers, read_manifests, write_manifests
from divulge.publish.opened import promises_of, read_table
from divulge.publish.staging import stage
from divulge.results import Result
from divulge.table import resolve_roles
from divulge.version import __version__


@dataclass(frozen=True, repr=False)
class Resealed(Result):
    """A release whose public manifest tells nothing but what its files tell and what was asked for."""

    view = "releases"

    folder: Path
    kind: str
    was: int
    """The format its manifest had; where it is the one written today, nothing was changed."""
    files: int
    """Files that were held against their hashes, and are as they were."""
    private: bool
    """Whether the private part is there."""
    settings: Mapping[str, Any]
    """What the manifest depends on: who wrote it, in which format, and where its numbers were measured."""

    @property
    def changed(self) -> bool:
        """Whether the manifest was written anew."""
        return self.was != FORMAT


@values.checked
def reseal(release: str | Path) -> Resealed:
    """Clean the manifest of a release that an earlier version wrote.

    The numbers of the original, those measured against it, and the hashes of private files go from `manifest.json` to
    `mapping/manifest.json`. Every file is held against its hash before and after; the folder is replaced by one rename, or stays as it was.
    Of a release that was handed out, and so has no private part, only the public manifest is written.

    Args:
        release: The folder of a release of any kind.

    Examples:
        >>> import divulge as dv, pyarrow as pa, tempfile
        >>> people = pa.table({"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]})
        >>> policy = dv.Policy(k_anonymity=2)
        >>> release = dv.generalize(people, policy=policy, quasi_identifiers="zip", sensitive="disease")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = dv.reseal(release.write(f"{folder}/release"))
        >>> found.changed  # written today, so it is clean already
        False
    """
    folder = Path(release)
    handed_out = not (folder / FOLDER).exists()
    public, private, was = read_manifests(folder, handed_out=handed_out)
    names = [*public["files"], *(f"{FOLDER}/{name}" for name in (private or {}).get("files", ()))]
    if was != FORMAT:
        told = {
            name: value for name, value in (public | _measured(folder, public)).items() if name != "divulge_release"
        }
        with stage(folder, replaceable=lambda target: _refuse_changed(target, handed_out=handed_out)) as staging:
            for name in names:
                _copy(folder / name, staging.folder / name)
            write_manifests(staging.folder, told, private)
            # What is moved is what was held against its hashes.
            read_manifests(staging.folder, handed_out=private is None)
            staging.move_into_place()
    # Numbers are measured anew only where the manifest is, by one engine that this version fixes, in the published table alone.
    settings = {"divulge": __version__, "format": FORMAT, "engine": DuckDBEngine.name, "prior": "release"}
    return Resealed(folder, public["kind"], was, len(names), private is not None, settings)


def _refuse_changed(folder: Path, *, handed_out: bool) -> None:
    read_manifests(folder, handed_out=handed_out)


def _measured(folder: Path, public: Mapping[str, Any]) -> dict[str, Any]:
    """What a public manifest says of a generalized table beside what was asked for; the others hold nothing to be measured anew."""
    if public["kind"] != "generalized":
        return {}
    engine = DuckDBEngine()
    try:
        table = read_table(engine, folder, public)
        asked = {name: public["roles"].get(name) for name in ("quasi_identifiers", "sensitive", "weight")}
        roles = resolve_roles(table, **asked)
        counted = count_in_memory(Request(table, roles, "category", public["joint"]))
        alone = metrics.measure_counts(
            counted, table, roles, assumptions=Assumptions.guessing(public.get("guesses", {}))
        )
    finally:
        engine.close()
    promises = {promise.text: promise for promise in promises_of(public)}
    about = {"roles": public["roles"], "background": public["background"]}
    verdict = public_verdict(public["verdict"], promises, alone, **about)
    return {"rows": alone.rows, "measured": public_numbers(alone), "verdict": verdict}


def _copy(source: Path, target: Path) -> None:
    """The same file under another name; both hold what was verified, for nobody writes into a release."""
    target.parent.mkdir(mode=source.parent.stat().st_mode & 0o777, parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)
