# SPDX-License-Identifier: Apache-2.0
"""A release that is opened again: its table, roles and promises, which of these its files alone prove, and its private part on request.

Whoever is handed a release has its published files. They prove what is worked out from the rows of a class; what was judged against the
distribution of the original, against a population, by people who own several rows or with what an adversary knows, only the publisher
can show.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from divulge.arrays import Ints
from divulge.count import Contingency, Domain, Nulls, Request, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.hierarchy import file_name
from divulge.policy import Promise
from divulge.publish import manifest, mapping
from divulge.publish.files import Format, read_rows, recoded_rows
from divulge.search import Recoding
from divulge.table import Roles, Table, own_table, read, resolve_roles, table_of
from divulge.values import as_text

WHOLE = "Take the release from its publisher, with its mappings"


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


def needs_publisher(
    promise: Promise, attribute: str | None, *, roles: Mapping[str, Any], background: Collection[str]
) -> str:
    """Why the published files alone do not prove a promise; empty where they do. It follows from what was asked for, not from the data."""
    metric = promise.metric
    if roles.get("person") is not None:
        return "people own several rows, and the files do not say whose a row is"
    if attribute is not None and attribute in background:
        return f"what the adversary knows about {attribute} is not part of the release"
    if metric.needs_population and roles.get("weight") is None:
        return "the population is not part of the release"
    if metric.scope == "sensitive" and (metric.against_prior or metric.looks_at != "class"):
        return f"judged against the distribution of {attribute} in the original"
    return ""


@dataclass(frozen=True)
class OpenedRelease:
    """A release of one table, generalized or applied, whose files are unchanged."""

    folder: Path
    document: dict[str, Any]
    """What it says to everybody."""
    private: dict[str, Any] | None
    """What it says to its publisher; None where nobody looked, or it is not there."""

    @classmethod
    def read_folder(cls, folder: str | Path, *, private: bool = False) -> OpenedRelease:
        """Hold the files against their hashes; those of mapping/ only with `private`, which must be there then."""
        where = Path(folder)
        document, mine, _ = manifest.read_manifests(where, handed_out=True, private_part=private)
        if document["kind"] == "anatomized":
            told = f"{folder} is an anatomized release: what it promises are levels of its groups, alpha, beta, gamma and delta"
            raise BadInput(
                told, hint=f"`divulge anatomize {folder} --check`, or dv.check_anatomized, holds them against its files"
            )
        if private and mine is None:
            told = f"{folder} has no private part: there is no {manifest.FOLDER}/ beside its files"
            raise BadInput(
                told, hint="Its publisher has it; whoever was handed the release can give the original instead"
            )
        return cls(where, document, mine)

    @property
    def mine(self) -> dict[str, Any]:
        """The private part."""
        if self.private is None:
            raise BadInput(f"{self.folder} was opened without its private part", hint=WHOLE)
        return self.private

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
    def background(self) -> tuple[str, ...]:
        """The sensitive columns of which the adversary was assumed to know something."""
        return tuple(self.document.get("background", ()))

    @property
    def guesses(self) -> dict[str, dict[str, Any]]:
        """When a guess is right by what it promises, where it need not be the value at the first try."""
        return dict(self.document.get("guesses", {}))

    @property
    def roles(self) -> dict[str, Any]:
        """The roles of its columns, as a policy has them; people are not told apart in what is published."""
        return {role: names for role, names in self.document["roles"].items() if names and role != "person"}

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers of the release depend on; told to its publisher."""
        if not self.holds_mappings:
            told = f"{self.folder} holds later rows, and its private part does not say how the values of the original were distributed"
            raise BadInput(told, hint="Open it without its private part, and give the original")
        return cast("dict[str, Any]", self.mine["after"]["settings"])

    @property
    def holds_mappings(self) -> bool:
        """Whether the private part says what values became; later rows of an earlier version do not."""
        return {"after", "unchanged"} <= self.mine.keys()

    @property
    def nulls(self) -> Nulls:
        """How nulls were counted."""
        return cast("Nulls", self.document["nulls"])

    @property
    def unchanged(self) -> frozenset[str]:
        """The columns that were published as they came."""
        return frozenset(self.columns) - set(self.quasi_identifiers) | set(self.mine["unchanged"])

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
        """What was promised to everybody."""
        return promises_of(self.document)

    @cached_property
    def protections(self) -> tuple[str, ...]:
        """What was promised to chosen people, or about chosen values."""
        return tuple(
            f"{promise['promise']} for {_chosen(item)}"
            for item in self.document["policy"].get("protections", ())
            for promise in item["promises"]
        )

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Promises of a release that it continues, which could not be checked any more when its own rows came."""
        return tuple(self.document.get("unchecked", ()))

    @cached_property
    def mappings(self) -> dict[str, mapping.Mapped]:
        """What each value of each quasi-identifier is published as."""
        files = {name: self._private(f"{manifest.FOLDER}/{file_name(name)}") for name in self.quasi_identifiers}
        return {name: mapping.read_mapping(path) for name, path in files.items()}

    @cached_property
    def boxes(self) -> tuple[mapping.Placed, ...]:
        """What each class of a local recoding stands for; empty where columns were mapped one by one."""
        local = self._has(mapping.BOXES)
        return mapping.read_boxes(self._private(mapping.BOXES), len(self.quasi_identifiers)) if local else ()

    @cached_property
    def rules(self) -> dict[str, mapping.LaterRule]:
        """By which rule each column became coarser, where there was one."""
        return mapping.read_rules(self._private(mapping.RULES)) if self._has(mapping.RULES) else {}

    @cached_property
    def masses(self) -> dict[str, dict[str | None, float]]:
        """How often each sensitive value occurred in the original."""
        return mapping.read_original(self._private(mapping.ORIGINAL))

    @cached_property
    def left_out(self) -> pa.Table | None:
        """Who was left out although others with the same values are in; None where nobody was."""
        return pq.read_table(self._private(mapping.LEFT_OUT)) if self._has(mapping.LEFT_OUT) else None

    def read(self, engine: OwnEngine) -> Table:
        """Its published table."""
        return read_table(engine, self.folder, self.document)

    def all_rows(self, engine: OwnEngine, columns: Sequence[str]) -> str:
        """A query for everything that was published so far, in these columns: its own table, and what was published before it."""
        listed = ", ".join(map(engine.quote, columns))
        own = f"SELECT {listed} FROM {self.read(engine).relation}"
        if not self._has(mapping.EARLIER):
            return own
        before = read(self._private(mapping.EARLIER), engine=engine)
        if strange := [name for name in columns if name not in before.names]:
            raise BadInput(f"{self.folder / mapping.EARLIER} lacks the column {strange[0]!r}", hint=WHOLE)
        return f"{own} UNION ALL SELECT {listed} FROM {before.relation}"

    def shown_by(self, promise: Promise, attribute: str | None, *, own: bool = True) -> Literal["files", "publisher"]:
        """Who can show that a promise holds: the files, or only the publisher; `own`: the release makes it itself.

        What later rows promise they keep with all that was published before them, which is not in their files.
        """
        asked = needs_publisher(promise, attribute, roles=self.document["roles"], background=self.background)
        return "publisher" if asked or (own and self.document["kind"] == "applied") else "files"

    def recode(self, counted: Contingency) -> tuple[Recoding, dict[str, list[str]]]:
        """The labels of raw classes, by the mappings, and the values of each column that these do not know, whose classes are left out."""
        columns = tuple(key.name for key in counted.own_keys)
        unchanged = tuple(name in self.unchanged for name in columns)
        if self.boxes:
            boxes = mapping.reaching(self.boxes, counted, self.rules)
            return mapping.place(boxes, counted, unchanged=unchanged), {}
        labels: list[tuple[str | None, ...]] = []
        codes: list[Ints] = []
        kept = np.ones(len(counted), dtype=bool)
        strange: dict[str, list[str]] = {}
        for key, column in zip(counted.own_keys, counted.own_codes, strict=True):
            texts = [as_text(label) for label in key.labels]
            mapped = mapping.extended(key.name, self.mappings[key.name], texts, self.rules.get(key.name))
            known = np.array([text in mapped for text in texts])
            if not known.all():
                strange[key.name] = [str(text) for text, is_known in zip(texts, known, strict=True) if not is_known]
            numbers: dict[str | None, int] = {}
            number = np.array([numbers.setdefault(mapped.get(text), len(numbers)) for text in texts], dtype=np.int64)
            labels.append(tuple(numbers))
            codes.append(number[column])
            kept &= known[column]
        return Recoding(columns, tuple(labels), tuple(codes), kept, unchanged), strange

    def values_of(self, domain: Domain) -> dict[str | None, list[str | None]]:
        """Which values of a column of the original each label stands for; empty where it is published as it is."""
        if domain.name in self.unchanged:
            return {}
        if self.boxes:
            return mapping.values_by_box(self.boxes, self.quasi_identifiers.index(domain.name), domain)
        return mapping.values_by_label(self.mappings[domain.name], domain)

    def recode_table(self, table: Table, asked: Collection[str], nulls: Nulls) -> tuple[Table, int] | None:
        """A table of original values with the labels of the release, and how many rows were left out: it does not know all of their values.

        None where it knows none of the rows: they do not hold original values.
        """
        source, engine = own_table(table)
        columns = [name for name in self.quasi_identifiers if self.boxes or name in asked]
        roles: Roles = resolve_roles(source, quasi_identifiers=columns)
        counted = count_in_memory(Request(source, roles, nulls, joint=False))
        try:
            recoding, _ = self.recode(counted)
        except BadInput:  # ranges of numbers, and texts in the table
            return None
        if not recoding.kept.any():
            return None
        rows = recoded_rows(source, engine, counted, recoding, roles=roles, nulls=nulls)
        return table_of(engine, f"({rows})", source=table.source, reading=table.reading), int(
            counted.sizes[~recoding.kept].sum()
        )

    def _has(self, name: str) -> bool:
        """Whether a file, or a folder of files, is in the private part."""
        own = name.removeprefix(f"{manifest.FOLDER}/")
        return any(file == own or file.startswith(f"{own}/") for file in self.mine["files"])

    def _private(self, name: str) -> Path:
        if not self._has(name):
            raise BadInput(f"{self.folder} has no {name}", hint=WHOLE)
        return self.folder / name


def _chosen(protection: Mapping[str, Any]) -> str:
    """The chosen people or values, for people."""
    where = [f"{column} {condition}" for column, condition in protection.get("where", {}).items()]
    values = [str(value) for value in protection.get("values", ())]
    return " and ".join([*where, *([f"{protection.get('attribute')} = {', '.join(values)}"] if values else [])])
