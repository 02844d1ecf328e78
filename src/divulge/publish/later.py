# SPDX-License-Identifier: Apache-2.0
"""Later rows of an earlier release, which is read from its folder: whether they can be published by it, and checked with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from divulge.count import Contingency
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.policy import Promise
from divulge.publish import manifest, mapping
from divulge.publish.files import draw_secret, shuffled
from divulge.publish.opened import WHOLE, OpenedRelease
from divulge.publish.release import StagedFile
from divulge.publish.verify import Fingerprint
from divulge.table import read


@dataclass(frozen=True)
class Earlier(OpenedRelease):
    """A release whose files are all there and unchanged, and by which later rows can be published."""

    @classmethod
    def open(cls, folder: str | Path) -> Earlier:
        """Read the manifests and hold every file against them; refused if later rows cannot be published by this release."""
        where = Path(folder)
        document, private, _ = manifest.read_manifests(where)
        if private is None:
            told = f"{folder} is a release of the kind {document['kind']!r}, which has no mappings for later rows"
            raise BadInput(told, hint="Name the folder that `divulge generalize` or `divulge apply` wrote")
        opened = cls(where, document, private)
        reason = ""
        if not opened.holds_mappings:
            reason = "holds later rows, published by a version that kept no mappings with them"
        elif document["kind"] == "generalized" and private["before"]["rows"] != private["before"]["people"]:
            reason = "hides people who own several rows, and does not say whose a row is"
        elif document["policy"].get("protections"):
            reason = (
                "protects chosen people or values by promises of their own, and does not say which classes hold them"
            )
        if reason:
            told = f"{folder} {reason}, so later rows cannot be checked with it"
            raise BadInput(told, hint="Generalize the old and the new rows together")
        return opened

    @property
    def suppression(self) -> float:
        """The share of the people that its policy allowed to leave out."""
        return float(self.document["policy"].get("suppression", 0.0))

    def handed_on(
        self, engine: OwnEngine, columns: Sequence[str], masses: Mapping[str, Mapping[str | None, float]]
    ) -> list[StagedFile]:
        """The private files of a release that continues this one: its own, but for how often values occurred and what is out already."""
        written: dict[str, Callable[[Path], object]] = {
            mapping.ORIGINAL: partial(mapping.write_original, counts=masses)
        }
        files = engine.files_for(int(self.document["rows"]))
        before = self.all_rows(engine, columns)
        expected = Fingerprint.of(engine, f"({before})")

        def write_earlier(path: Path) -> None:
            with shuffled(engine, before, secret=draw_secret(), files=files) as rows:
                engine.write(rows, path, kind="parquet", files=files)
            expected.refuse_other(Fingerprint.of(engine, read(path, engine=engine).relation), mapping.EARLIER)

        written[mapping.EARLIER] = write_earlier
        own = [f"{manifest.FOLDER}/{file}" for file in self.mine["files"]]
        same = [
            name
            for name in own
            if name not in written and name != mapping.LEFT_OUT and not name.startswith(f"{mapping.EARLIER}/")
        ]
        written |= {name: partial(shutil.copyfile, self.folder / name) for name in same}
        return [StagedFile(name, write, public=False) for name, write in written.items()]

    def refuse_unless_about(self, sensitive: Collection[str]) -> None:
        """Refuse a private part that does not say how often the values of each of these columns occurred."""
        for name in sensitive:
            self._expect(name, self.masses, mapping.ORIGINAL)

    def checkable(self, later: Contingency) -> tuple[tuple[Promise, ...], tuple[str, ...]]:
        """The promises that can be checked again with later rows, from the files of a release, and the others with the reason."""
        reasons = {promise: self._obstacle(promise, later) for promise in self.promises}
        unchecked = tuple(f"{promise.text}: {reason}" for promise, reason in reasons.items() if reason)
        return tuple(promise for promise, reason in reasons.items() if not reason), unchecked

    def _obstacle(self, promise: Promise, later: Contingency) -> str | None:
        """Why a promise cannot be checked again."""
        settings = self.settings
        if promise.metric.needs_population and settings["population"] == "table":
            return "the population table is not part of the release"
        if promise.metric.scope == "identity":
            return None
        for name in [promise.attribute] if promise.attribute else settings["sensitive"]:
            for known in (later.cells, settings["prior"], settings["ground_distance"]):
                self._expect(name, known, f"{manifest.FOLDER}/{manifest.NAME}")
            if settings["prior"][name] != "original":
                return f"the prior of {name} was given and is not part of the release"
            if name in self.background:
                return f"the background knowledge about {name} is not part of the release"
            usual = "ordered" if later.cells[name].domain.is_ordered else "equal"
            if promise.metric.by_distance and settings["ground_distance"][name] != usual:
                return f"the {settings['ground_distance'][name]} distance of {name} is not part of the release"
        return None

    def _expect(self, name: str, known: Collection[str], file: str) -> None:
        if name not in known:
            raise BadInput(f"{self.folder / file} says nothing of the sensitive column {name!r}", hint=WHOLE)
