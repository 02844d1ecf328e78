# SPDX-License-Identifier: Apache-2.0
"""An opened release: its table, roles, requirements and, on request, its private part.

A recipient has only the published files. They prove requirements that follow from the rows of a
class. Only the publisher can prove requirements that were judged:

- against the distribution of the original or a population,
- by people who own several rows,
- with background knowledge of an adversary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from divulge.arrays import Ints
from divulge.counting import Contingency, Domain, Nulls, Request, count_in_memory
from divulge.engines import OwnEngine
from divulge.errors import BadInput
from divulge.generalization import Recoding
from divulge.hierarchies import file_name
from divulge.policy import Promise
from divulge.releases import manifest, mapping
from divulge.releases.formats import Format, read_rows, recoded_rows
from divulge.sources import Roles, Table, own_table, read, resolve_roles, table_of
from divulge.text import as_text

HINT_FROM_PUBLISHER = "Take the release from its publisher, with its private part"


def promises_of(document: Mapping[str, Any]) -> tuple[Promise, ...]:
    """The requirements on the whole table that the manifest of a generalized release lists."""
    requirements = []
    for item in document["policy"]["promises"]:
        if item["l"] is None:
            bound = item["bound"]
        else:
            bound = {"c": item["bound"], "l": item["l"]}
        requirements.append(
            Promise.make(item["metric"], bound, attribute=item["attribute"], scope=item["scope"])
        )
    for promise in requirements:
        promise.require_something()
    return tuple(requirements)


def read_table(engine: OwnEngine, folder: Path, document: Mapping[str, Any]) -> Table:
    """Read the published table of a generalized release."""
    table = document["table"]
    form = Format(table["format"], table["delimiter"])
    return read_rows(engine, folder / table["file"], form=form, types=table["types"])


def needs_publisher(
    promise: Promise,
    attribute: str | None,
    *,
    roles: Mapping[str, Any],
    background: Collection[str],
) -> str:
    """Return why the published files do not prove a requirement; empty if they do.

    The answer follows from the request, not from the data.
    """
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
    """The public manifest."""
    private: dict[str, Any] | None
    """The private manifest; None if it was not looked for or does not exist."""
    private_folder: Path | None = None
    """Folder of the private part, if it was opened."""

    @cached_property
    def with_private_part(self) -> Self:
        """The release with the private part next to it, if there is one.

        The shared files were compared with their hashes when the release was opened. Only the
        private files are hashed here, and only once.
        """
        if self.private is not None:
            return self
        _, private_document, private_folder = manifest.add_private_manifest(
            self.folder, self.document, private_part="if there"
        )
        return replace(self, private=private_document, private_folder=private_folder)

    def add_private_part(self, private_dir: str | Path | None = None) -> Self:
        """Add the private part, which must exist; the shared files are not hashed again."""
        _, private_document, private_folder = manifest.add_private_manifest(
            self.folder, self.document, private_part="required", private_dir=private_dir
        )
        return replace(self, private=private_document, private_folder=private_folder)

    @property
    def mine(self) -> dict[str, Any]:
        """The private manifest."""
        if self.private is None:
            raise BadInput(
                f"{self.folder} was opened without its private part", hint=HINT_FROM_PUBLISHER
            )
        return self.private

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The quasi-identifiers, whether they were generalized or not."""
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
        """Sensitive columns for which the adversary was assumed to have background knowledge."""
        return tuple(self.document.get("background", ()))

    @property
    def guesses(self) -> dict[str, dict[str, Any]]:
        """Guess settings by column; a column without them counts only the exact first guess."""
        return dict(self.document.get("guesses", {}))

    @property
    def roles(self) -> dict[str, Any]:
        """The roles of its columns, as a policy states them.

        The published table does not distinguish people, so the person role is omitted.
        """
        return {
            role: names
            for role, names in self.document["roles"].items()
            if names and role != "person"
        }

    @property
    def settings(self) -> dict[str, Any]:
        """Settings on which the numbers of the release depend, from the private manifest."""
        if not self.holds_mappings:
            message = (
                f"{self.folder} holds later rows, and its private part does not say how the values "
                "of the original were distributed"
            )
            raise BadInput(message, hint="Open it without its private part, and give the original")
        return cast("dict[str, Any]", self.mine["after"]["settings"])

    @property
    def holds_mappings(self) -> bool:
        """True if the private part holds the labels of values.

        Later rows that an earlier version published do not have them.
        """
        return {"after", "unchanged"} <= self.mine.keys()

    @property
    def nulls(self) -> Nulls:
        """Treatment of nulls in the counts."""
        return cast("Nulls", self.document["nulls"])

    @property
    def unchanged(self) -> frozenset[str]:
        """The columns that were published unchanged."""
        return frozenset(self.columns) - set(self.quasi_identifiers) | set(self.mine["unchanged"])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the published table, in its order."""
        return tuple(self.document["table"]["types"])

    @property
    def form(self) -> Format:
        """Format of its table."""
        table = self.document["table"]
        return Format(table["format"], table["delimiter"])

    @cached_property
    def promises(self) -> tuple[Promise, ...]:
        """Requirements on the whole table."""
        return promises_of(self.document)

    @cached_property
    def protections(self) -> tuple[str, ...]:
        """Requirements for chosen people or values, as texts."""
        return tuple(
            f"{promise['promise']} for {_protected_text(item)}"
            for item in self.document["policy"].get("protections", ())
            for promise in item["promises"]
        )

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Requirements of the continued release that could not be checked with its own rows."""
        return tuple(self.document.get("unchecked", ()))

    @cached_property
    def mappings(self) -> dict[str, mapping.LabelMapping]:
        """Published label of each value, by quasi-identifier."""
        files = {
            name: self._private_path(f"{manifest.FOLDER}/{file_name(name)}")
            for name in self.quasi_identifiers
        }
        return {name: mapping.read_mapping(path) for name, path in files.items()}

    @cached_property
    def boxes(self) -> tuple[mapping.BoxRecord, ...]:
        """Labels and spans of each class of a local recoding.

        Empty if columns were mapped one by one.
        """
        local = self._has_private_file(mapping.BOXES)
        if local:
            return mapping.read_boxes(
                self._private_path(mapping.BOXES), len(self.quasi_identifiers)
            )
        return ()

    @cached_property
    def rules(self) -> dict[str, mapping.GeneralizationRule]:
        """Generalization rule of each column that has one."""
        if self._has_private_file(mapping.RULES):
            return mapping.read_rules(self._private_path(mapping.RULES))
        return {}

    @cached_property
    def masses(self) -> dict[str, dict[str | None, float]]:
        """Frequency of each sensitive value in the original."""
        return mapping.read_original(self._private_path(mapping.ORIGINAL))

    @cached_property
    def left_out(self) -> pa.Table | None:
        """People suppressed although others with the same values are published; None if nobody."""
        if self._has_private_file(mapping.LEFT_OUT):
            return pq.read_table(self._private_path(mapping.LEFT_OUT))
        return None

    def read(self, engine: OwnEngine) -> Table:
        """Read its published table."""
        return read_table(engine, self.folder, self.document)

    def all_rows(self, engine: OwnEngine, columns: Sequence[str]) -> str:
        """SQL query for all rows published so far, in these columns.

        They are its own table and the rows published before it.
        """
        column_list = ", ".join(map(engine.quote, columns))
        table_sql = f"SELECT {column_list} FROM {self.read(engine).relation}"
        if not self._has_private_file(mapping.EARLIER):
            return table_sql
        earlier_table = read(self._private_path(mapping.EARLIER), engine=engine)
        if missing_columns := [name for name in columns if name not in earlier_table.names]:
            raise BadInput(
                f"{mapping.EARLIER} in the private part of {self.folder} lacks the column "
                f"{missing_columns[0]!r}",
                hint=HINT_FROM_PUBLISHER,
            )
        return f"{table_sql} UNION ALL SELECT {column_list} FROM {earlier_table.relation}"

    def shown_by(
        self, promise: Promise, attribute: str | None, *, own_promise: bool = True
    ) -> Literal["files", "publisher"]:
        """Return whether the files or only the publisher can prove that a requirement is met.

        `own_promise`: the requirement is one of the release itself. Later rows meet their
        requirements together with all rows published before them, which are not in their files.
        """
        publisher_reason = needs_publisher(
            promise, attribute, roles=self.document["roles"], background=self.background
        )
        if publisher_reason or (own_promise and self.document["kind"] == "applied"):
            return "publisher"
        return "files"

    def recode(self, contingency: Contingency) -> tuple[Recoding, dict[str, list[str]]]:
        """Label raw classes with the mappings, and list the values of each column that these lack.

        Classes with such values are suppressed.
        """
        columns = tuple(key.name for key in contingency.own_keys)
        unchanged = tuple(name in self.unchanged for name in columns)
        if self.boxes:
            boxes = mapping.extend_boxes(self.boxes, contingency, self.rules)
            return mapping.recode_by_boxes(boxes, contingency, unchanged=unchanged), {}
        labels: list[tuple[str | None, ...]] = []
        codes: list[Ints] = []
        is_kept = np.ones(len(contingency), dtype=bool)
        unknown_values: dict[str, list[str]] = {}
        for key, column in zip(contingency.own_keys, contingency.own_codes, strict=True):
            texts = [as_text(label) for label in key.labels]
            label_mapping = mapping.extend_mapping(
                key.name, self.mappings[key.name], texts, self.rules.get(key.name)
            )
            is_mapped = np.array([text in label_mapping for text in texts])
            if not is_mapped.all():
                unknown_values[key.name] = [
                    str(text)
                    for text, is_known in zip(texts, is_mapped, strict=True)
                    if not is_known
                ]
            label_numbers: dict[str | None, int] = {}
            number_of_value = np.array(
                [
                    label_numbers.setdefault(label_mapping.get(text), len(label_numbers))
                    for text in texts
                ],
                dtype=np.int64,
            )
            labels.append(tuple(label_numbers))
            codes.append(number_of_value[column])
            is_kept &= is_mapped[column]
        return Recoding(columns, tuple(labels), tuple(codes), is_kept, unchanged), unknown_values

    def values_of(self, domain: Domain) -> dict[str | None, list[str | None]]:
        """Return the values of a column of the original by the label that covers them.

        Empty if the column is published unchanged.
        """
        if domain.name in self.unchanged:
            return {}
        if self.boxes:
            return mapping.values_by_box(
                self.boxes, self.quasi_identifiers.index(domain.name), domain
            )
        return mapping.values_by_label(self.mappings[domain.name], domain)

    def recode_table(
        self, table: Table, columns_to_recode: Collection[str], nulls: Nulls
    ) -> tuple[Table, int] | None:
        """Recode a table of original values with the labels of the release, and count dropped rows.

        A row is dropped if the release has no label for one of its values. Returns None if all rows
        are: then the table does not hold original values.
        """
        source, engine = own_table(table)
        columns = [
            name for name in self.quasi_identifiers if self.boxes or name in columns_to_recode
        ]
        roles: Roles = resolve_roles(source, quasi_identifiers=columns)
        contingency = count_in_memory(Request(source, roles, nulls, joint=False))
        try:
            recoding, _ = self.recode(contingency)
        except BadInput:  # ranges of numbers, and texts in the table
            return None
        if not recoding.published_mask.any():
            return None
        rows = recoded_rows(source, engine, contingency, recoding, roles=roles, nulls=nulls)
        return table_of(engine, f"({rows})", source=table.source, reading=table.reading), int(
            contingency.sizes[~recoding.published_mask].sum()
        )

    def _has_private_file(self, name: str) -> bool:
        """True if a file, or a folder of files, is in the private part."""
        return any(file == name or file.startswith(f"{name}/") for file in self.mine["files"])

    def _private_path(self, name: str) -> Path:
        if self.private_folder is None or not self._has_private_file(name):
            raise BadInput(
                f"the private part of {self.folder} has no {name}", hint=HINT_FROM_PUBLISHER
            )
        return self.private_folder / name


def _protected_text(protection: Mapping[str, Any]) -> str:
    """Describe the protected people or values in text."""
    conditions = [
        f"{column} {condition}" for column, condition in protection.get("where", {}).items()
    ]
    values = [str(value) for value in protection.get("values", ())]
    return " and ".join(
        [*conditions, *([f"{protection.get('attribute')} = {', '.join(values)}"] if values else [])]
    )
