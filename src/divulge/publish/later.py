# SPDX-License-Identifier: Apache-2.0
"""Later rows of an earlier release, which is read from its folder: its table, its promises, and the mappings that they are published by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from divulge.count import Contingency
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.hierarchy import file_name
from divulge.policy import Promise
from divulge.publish import manifest, mapping
from divulge.publish.files import Format, read_rows
from divulge.table import Table

_WHOLE = "Take the release from its publisher, with its mappings"


def promises_of(document: Mapping[str, Any]) -> tuple[Promise, ...]:
    """What a generalized release promises to everybody."""
    made = []
    for item in document["policy"]["promises"]:
        bound = item["bound"] if item["l"] is None else {"c": item["bound"], "l": item["l"]}
        made.append(Promise.make(item["metric"], bound, attribute=item["attribute"], scope=item["scope"]))
    return tuple(made)


def read_table(engine: OwnEngine, folder: Path, document: Mapping[str, Any]) -> Table:
    """The published table of a generalized release."""
    table = document["table"]
    form = Format(table["format"], table["delimiter"])
    return read_rows(engine, folder / table["file"], form=form, types=table["types"])


@dataclass(frozen=True)
class Earlier:
    """A release whose files are all there and unchanged."""

    folder: Path
    document: dict[str, Any]
    """What it says to everybody."""
    private: dict[str, Any]
    """What it says to its publisher."""

    @classmethod
    def open(cls, folder: str | Path) -> Earlier:
        """Read the manifests and hold every file against them; refused if later rows cannot be published by this release."""
        where = Path(folder)
        document, private, _ = manifest.read_manifests(where)
        if private is None or document["kind"] != "generalized":
            told = f"{folder} is a release of the kind {document['kind']!r}, which has no mappings for later rows"
            raise BadInput(told, hint="Name the folder that `divulge generalize` wrote")
        reason = ""
        if private["before"]["rows"] != private["before"]["people"]:
            reason = "hides people who own several rows, and does not say whose a row is"
        elif document["policy"].get("protections"):
            reason = (
                "protects chosen people or values by promises of their own, and does not say which classes hold them"
            )
        if reason:
            told = f"{folder} {reason}, so later rows cannot be checked with it"
            raise BadInput(told, hint="Generalize the old and the new rows together")
        return cls(where, document, private)

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
        return cast("str | None", self.document["roles"].get("weight"))

    @property
    def suppression(self) -> float:
        """The share of the people that its policy allowed to leave out."""
        return float(self.document["policy"]["suppression"])

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers of the release depend on."""
        return cast("dict[str, Any]", self.private["after"]["settings"])

    @property
    def unchanged(self) -> frozenset[str]:
        """The columns that were published as they came."""
        return frozenset(self.columns) - set(self.quasi_identifiers) | set(self.private["unchanged"])

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
        return promises_of(self.document)

    @cached_property
    def mappings(self) -> dict[str, mapping.Mapped]:
        """What each value of each quasi-identifier is published as."""
        files = {name: self._private(f"{manifest.FOLDER}/{file_name(name)}") for name in self.quasi_identifiers}
        return {name: mapping.read_mapping(path) for name, path in files.items()}

    @cached_property
    def boxes(self) -> tuple[mapping.Placed, ...]:
        """What each class of a local recoding stands for; empty where columns were mapped one by one."""
        local = self.document["method"] == "mondrian"
        return mapping.read_boxes(self._private(mapping.BOXES), len(self.quasi_identifiers)) if local else ()

    @cached_property
    def masses(self) -> dict[str, dict[str | None, float]]:
        """How often each sensitive value occurred in the original."""
        return mapping.read_original(self._private(mapping.ORIGINAL))

    def read(self, engine: OwnEngine) -> Table:
        """Its published table."""
        return read_table(engine, self.folder, self.document)

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
            if name in self.document["background"]:
                return f"the background knowledge about {name} is not part of the release"
            usual = "ordered" if later.cells[name].domain.is_ordered else "equal"
            if promise.metric.by_distance and settings["ground_distance"][name] != usual:
                return f"the {settings['ground_distance'][name]} distance of {name} is not part of the release"
        return None

    def _expect(self, name: str, known: Collection[str], file: str) -> None:
        if name not in known:
            raise BadInput(f"{self.folder / file} says nothing of the sensitive column {name!r}", hint=_WHOLE)

    def _private(self, name: str) -> Path:
        if name.removeprefix(f"{manifest.FOLDER}/") not in self.private["files"]:
            raise BadInput(f"{self.folder} has no {name}", hint=_WHOLE)
        return self.folder / name
