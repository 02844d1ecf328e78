# SPDX-License-Identifier: Apache-2.0
"""Later rows of an earlier release, which is read from its folder: its table, its promises, and the mappings that they are published by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from divulge.count import Contingency
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.hierarchy import file_name
from divulge.policy import Promise
from divulge.publish import manifest
from divulge.publish.files import Format, read_rows
from divulge.table import Table


@dataclass(frozen=True)
class Earlier:
    """A release whose files are all there and unchanged."""

    folder: Path
    document: dict[str, Any]

    @classmethod
    def open(cls, folder: str | Path) -> Earlier:
        """Read the manifest and hold every file against it; refused if later rows cannot be published by this release."""
        where = Path(folder)
        document = manifest.read_manifest(where)
        if document.get("kind") != "generalized":
            told = f"{folder} is a release of the kind {document.get('kind')!r}, which has no mappings for later rows"
            raise BadInput(told, hint="Name the folder that `divulge generalize` wrote")
        reason = ""
        if document["before"]["rows"] != document["before"]["people"]:
            reason = "hides people who own several rows, and does not say whose a row is"
        elif document["policy"].get("protections"):
            reason = (
                "protects chosen people or values by promises of their own, and does not say which classes hold them"
            )
        if reason:
            told = f"{folder} {reason}, so later rows cannot be checked with it"
            raise BadInput(told, hint="Generalize the old and the new rows together")
        return cls(where, document)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that were made coarser, or looked at for it."""
        return tuple(self.document["roles"]["quasi_identifiers"])

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return tuple(self.document["roles"]["sensitive"])

    @property
    def weight(self) -> str | None:
        """The weight column, if there is one."""
        return cast("str | None", self.document["roles"]["weight"])

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers of the release depend on."""
        return cast("dict[str, Any]", self.document["after"]["settings"])

    @property
    def unchanged(self) -> frozenset[str]:
        """The columns that were published as they came."""
        return frozenset(self.columns) - set(self.quasi_identifiers) | set(self.document["unchanged"])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the published table, in its order."""
        return tuple(self.document["table"]["types"])

    @property
    def form(self) -> Format:
        """How its table is written."""
        table = self.document["table"]
        return Format(table["format"], table["delimiter"])

    @cached_property
    def promises(self) -> tuple[Promise, ...]:
        """What was promised."""
        made = []
        for item in self.document["policy"]["promises"]:
            bound = item["bound"] if item["l"] is None else {"c": item["bound"], "l": item["l"]}
            made.append(Promise.make(item["metric"], bound, attribute=item["attribute"], scope=item["scope"]))
        return tuple(made)

    @cached_property
    def mappings(self) -> dict[str, manifest.Mapped]:
        """What each value of each quasi-identifier is published as."""
        files = {name: self._private(f"{manifest.FOLDER}/{file_name(name)}") for name in self.quasi_identifiers}
        return {name: manifest.read_mapping(path) for name, path in files.items()}

    @cached_property
    def boxes(self) -> tuple[manifest.Placed, ...]:
        """What each class of a local recoding stands for; empty where columns were mapped one by one."""
        local = self.document["plan"]["method"] == "mondrian"
        return manifest.read_boxes(self._private(manifest.BOXES)) if local else ()

    @cached_property
    def masses(self) -> dict[str, dict[str | None, float]]:
        """How often each sensitive value occurred in the original."""
        return manifest.read_original(self._private(manifest.ORIGINAL))

    def read(self, engine: OwnEngine) -> Table:
        """Its published table."""
        table = self.document["table"]
        return read_rows(engine, self.folder / table["file"], form=self.form, types=table["types"])

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
            if settings["prior"][name] != "original":
                return f"the prior of {name} was given and is not part of the release"
            if name in self.document["background"]:
                return f"the background knowledge about {name} is not part of the release"
            usual = "ordered" if later.cells[name].domain.is_ordered else "equal"
            if promise.metric.by_distance and settings["ground_distance"][name] != usual:
                return f"the {settings['ground_distance'][name]} distance of {name} is not part of the release"
        return None

    def _private(self, name: str) -> Path:
        if name not in self.document["files"]:
            hint = "Take the release from its publisher, with its mappings"
            raise BadInput(f"{self.folder} has no {name}", hint=hint)
        return self.folder / name
