# SPDX-License-Identifier: Apache-2.0
"""Later rows of a release: whether they can be published with its mappings and checked with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from divulge.counting import Contingency
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.policy import Promise
from divulge.releases import manifest, mapping
from divulge.releases.formats import draw_secret, shuffled
from divulge.releases.open import HINT_FROM_PUBLISHER, OpenedRelease
from divulge.releases.release import StagedFile
from divulge.releases.schema import read_checked
from divulge.releases.verification import Fingerprint
from divulge.sources import Table, read


@dataclass(frozen=True)
class ContinuedRelease(OpenedRelease):
    """A release with complete and unchanged files, with which later rows can be published."""

    @classmethod
    def open(cls, folder: str | Path, *, private_dir: str | Path | None = None) -> ContinuedRelease:
        """Read the manifests and compare every file with its hash.

        Raises an error if later rows cannot be published with this release.
        """
        release_folder = Path(folder)
        document, private, private_folder = manifest.read_manifests(
            release_folder, private_dir=private_dir
        )
        if private is None or document["kind"] == "anatomized":
            message = (
                f"{folder} is a release of the kind {document['kind']!r}, which has no mappings "
                "for later rows"
            )
            raise BadInput(
                message, hint="Name the folder that `divulge generalize` or `divulge apply` wrote"
            )
        release = cls(release_folder, document, private, private_folder)
        reason = ""
        if not release.holds_mappings:
            reason = "holds later rows, published by a version that kept no mappings with them"
        elif (
            document["kind"] == "generalized"
            and private["before"]["rows"] != private["before"]["people"]
        ):
            reason = "hides people who own several rows, and does not say whose a row is"
        elif document["policy"].get("protections"):
            reason = (
                "protects chosen people or values by promises of their own, and does not say which "
                "classes hold them"
            )
        if reason:
            message = f"{folder} {reason}, so later rows cannot be checked with it"
            raise BadInput(message, hint="Generalize the old and the new rows together")
        return release

    @property
    def suppression(self) -> float:
        """The share of people that its policy allows to be suppressed."""
        return float(self.document["policy"].get("suppression", 0.0))

    @property
    def unique_share(self) -> float | None:
        """Maximum share of people who are unique by all published non-sensitive columns.

        None if it is not limited.
        """
        share = self.document["policy"].get("unique_share")
        if share is None:
            return None
        return float(share)

    @property
    def person(self) -> str | None:
        """The person column of the earlier records, if there was one."""
        person = self.mine.get("person") or self.document["roles"].get("person")
        if person is None:
            return None
        return str(person)

    @cached_property
    def original_types(self) -> dict[str, str]:
        """Types of the generalized columns in the original, if the private part has them."""
        if not self._has_private_file(mapping.TYPES):
            return {}
        types: dict[str, str] = read_checked(self._private_path(mapping.TYPES), "column-types")
        return types

    def read_deferred(self, engine: OwnEngine) -> Table | None:
        """The records that were deferred, with their original values; None if there are none."""
        if not self._has_private_file(mapping.DEFERRED):
            return None
        return read(self._private_path(mapping.DEFERRED), engine=engine)

    def private_files_of_next(
        self,
        engine: OwnEngine,
        columns: Sequence[str],
        masses: Mapping[str, Mapping[str | None, float]],
        *,
        deferred: str | None = None,
    ) -> list[StagedFile]:
        """The private files of a release that continues this one.

        They are copies of its own files, except for:

        - the distribution of the original,
        - the rows published so far,
        - the records that are deferred now (`deferred`, a query).
        """
        writers: dict[str, Callable[[Path], object]] = {
            mapping.ORIGINAL: partial(mapping.write_original, counts=masses)
        }
        files = engine.files_for(int(self.document["rows"]))
        earlier_rows = self.all_rows(engine, columns)
        expected = Fingerprint.of(engine, f"({earlier_rows})")

        def write_earlier(path: Path) -> None:
            with shuffled(engine, earlier_rows, secret=draw_secret(), files=files) as rows:
                engine.write(rows, path, kind="parquet", files=files)
            expected.refuse_other(
                Fingerprint.of(engine, read(path, engine=engine).relation), mapping.EARLIER
            )

        writers[mapping.EARLIER] = write_earlier
        if deferred is not None:
            writers[mapping.DEFERRED] = partial(_write_deferred, engine, deferred)
        replaced_files = (mapping.EARLIER, mapping.DEFERRED)
        copied_names = [
            name
            for name in self.mine["files"]
            if name.startswith(f"{manifest.FOLDER}/")
            and name not in (*writers, *replaced_files, mapping.LEFT_OUT)
            and not name.startswith(tuple(f"{folder}/" for folder in replaced_files))
        ]
        writers |= {
            name: partial(shutil.copyfile, self._private_path(name)) for name in copied_names
        }
        return [StagedFile(name, write, public=False) for name, write in writers.items()]

    def refuse_unless_about(self, sensitive: Collection[str]) -> None:
        """Raise an error unless the private part has the value frequencies of these columns."""
        for name in sensitive:
            self._require_entry(name, self.masses, mapping.ORIGINAL)

    def checkable(self, later: Contingency) -> tuple[tuple[Promise, ...], tuple[str, ...]]:
        """Split the requirements into those that can be checked with later rows, and the others.

        The others are returned as texts with the reason.
        """
        reasons = {promise: self._unchecked_reason(promise, later) for promise in self.promises}
        unchecked = tuple(
            f"{promise.text}: {reason}" for promise, reason in reasons.items() if reason
        )
        return tuple(promise for promise, reason in reasons.items() if not reason), unchecked

    def _unchecked_reason(self, promise: Promise, later: Contingency) -> str | None:
        """Return the reason why a requirement cannot be checked again; None if it can."""
        settings = self.settings
        if promise.metric.needs_population and settings["population"] == "table":
            return "the population table is not part of the release"
        if promise.metric.scope == "identity":
            return None
        if promise.attribute:
            attribute_names = [promise.attribute]
        else:
            attribute_names = settings["sensitive"]
        for name in attribute_names:
            for collection in (later.cells, settings["prior"], settings["ground_distance"]):
                self._require_entry(name, collection, manifest.NAME)
            if settings["prior"][name] != "original":
                return f"the prior of {name} was given and is not part of the release"
            if name in self.background:
                return f"the background knowledge about {name} is not part of the release"
            if later.cells[name].domain.is_ordered:
                default_distance = "ordered"
            else:
                default_distance = "equal"
            if promise.metric.by_distance and settings["ground_distance"][name] != default_distance:
                return (
                    f"the {settings['ground_distance'][name]} distance of {name} is not part of "
                    "the release"
                )
        return None

    def _require_entry(self, name: str, collection: Collection[str], file: str) -> None:
        if name not in collection:
            message = (
                f"{file} in the private part of {self.folder} says nothing of the sensitive column "
                f"{name!r}"
            )
            raise BadInput(message, hint=HINT_FROM_PUBLISHER)


def _write_deferred(engine: OwnEngine, rows: str, path: Path) -> None:
    """Write deferred records, read them back and compare; only the owner may read them."""
    expected = Fingerprint.of(engine, f"({rows})")
    engine.write(rows, path, kind="parquet", files=engine.files_for(expected.rows))
    expected.refuse_other(
        Fingerprint.of(engine, read(path, engine=engine).relation), mapping.DEFERRED
    )
    if path.is_dir():
        entries = [path, *path.rglob("*")]
    else:
        entries = [path]
    for entry in entries:
        entry.chmod(0o700 if entry.is_dir() else 0o600)
