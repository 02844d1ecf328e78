# SPDX-License-Identifier: Apache-2.0
"""The recipient's view of a release: its classes or groups, their sizes and sensitive values.

A generalized release, our own or a third party's, has one class for each combination of labels. An
anatomized release has groups. The private part of one of our releases records exactly which class
each value became. Without the private part, labels are read as they are written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from divulge import anatomization, arrays, releases
from divulge.arrays import Ints
from divulge.counting import Contingency, Request, count_in_memory, encode
from divulge.errors import BadInput
from divulge.generalization import Recoding
from divulge.hierarchies import Hierarchy
from divulge.sources import Roles, Table
from divulge.text import as_text

ReleaseKind = Literal["generalized", "applied", "anatomized", "table"]


class ColumnEntries(NamedTuple):
    """Published entries of some columns: the labels or values of each class, with people counts."""

    columns: tuple[str, ...]
    class_index: Ints
    """The class of each entry, numbered from 0."""
    codes: tuple[Ints, ...]
    texts: tuple[list[str | None], ...]
    """Texts of the codes, per column."""
    people: Ints


@dataclass(frozen=True, eq=False)
class PublishedRelease:
    """One published release."""

    name: str
    kind: ReleaseKind
    lookup_entries: tuple[ColumnEntries, ...] = field(repr=False)
    """Entries of the columns by which a person is looked up.

    One part holds all of them, unless the release is anatomized.
    """
    sensitive_entries: tuple[ColumnEntries, ...] = field(repr=False)
    """Entries of each sensitive column."""
    groups: tuple[str, ...] | None = field(default=None, repr=False)
    """Names of the groups of an anatomized release."""
    opened: releases.OpenedRelease | None = field(default=None, repr=False)
    """The release with its private part, which records what each value became; None without it."""
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)
    contingency: Contingency | None = field(default=None, repr=False)
    """Contingency table of the classes, if the release is one table."""
    disjoint_columns: frozenset[str] = field(default_factory=frozenset, repr=False)
    """Columns in which two labels of the release never stand for the same value.

    Labels of Mondrian boxes may overlap.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns by which a person is looked up in the release."""
        return tuple(name for part in self.lookup_entries for name in part.columns)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Sensitive columns that the release publishes."""
        return tuple(name for part in self.sensitive_entries for name in part.columns)

    @property
    def has_mapping(self) -> bool:
        """True if the private part records exactly what each value became."""
        return self.opened is not None and self.opened.holds_mappings

    @property
    def prior_release_count(self) -> int:
        """Number of other releases because of whose classes this one suppressed people."""
        if self.opened is None:
            left_out = None
        else:
            left_out = self.opened.left_out
        if left_out is None:
            return 0
        return sum(name.startswith("r") for name in left_out.column_names)

    @cached_property
    def prior_class_hashes(self) -> frozenset[str]:
        """Class hashes of the other releases that determine who was suppressed here.

        People with the same values may be published or suppressed, depending on their classes
        there.
        """
        if self.opened is None:
            left_out = None
        else:
            left_out = self.opened.left_out
        if left_out is None:
            return frozenset()
        prior_fields = [
            left_out.schema.field(name) for name in left_out.column_names if name.startswith("r")
        ]
        return frozenset(
            (field.metadata or {}).get(releases.CLASSES, b"").decode() for field in prior_fields
        )

    @cached_property
    def sizes(self) -> Ints:
        """Number of people in each class."""
        entries = self.lookup_entries[0]
        return arrays.exact_sums(
            entries.class_index, entries.people, int(entries.class_index.max(initial=-1)) + 1
        )

    @property
    def people(self) -> int:
        """Number of people in the release."""
        return int(self.sizes.sum())

    def __len__(self) -> int:
        return len(self.sizes)

    def class_key(self, index: int) -> dict[str, Any]:
        """Labels of the class, or the name of the group."""
        if self.groups is not None:
            return {"group": self.groups[index]}
        (entries,) = self.lookup_entries
        return {
            name: texts[codes[index]]
            for name, codes, texts in zip(
                entries.columns, entries.codes, entries.texts, strict=True
            )
        }

    def class_text(self, index: int) -> str:
        """Name of the class with its number, which distinguishes classes that are written alike."""
        return (
            f"{index + 1}: "
            f"{', '.join(f'{name}={label}' for name, label in self.class_key(index).items())}"
        )

    @cached_property
    def classes_sha256(self) -> str:
        """Hash of the classes, by which another release's private part identifies this release.

        It does not depend on the folder in which the release is stored.
        """
        class_entries = [
            [self.class_text(index), int(size)] for index, size in enumerate(self.sizes)
        ]
        return hashlib.sha256(json.dumps(class_entries).encode()).hexdigest()

    def entries_of(self, attribute: str) -> ColumnEntries | None:
        """Entries of a sensitive column; None if the release does not publish it."""
        return next((part for part in self.sensitive_entries if part.columns == (attribute,)), None)

    # --- constructors -----------------------------------------------------------------------------
    @classmethod
    def of_table(
        cls,
        table: Table,
        roles: Roles,
        *,
        name: str,
        opened: releases.OpenedRelease | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
    ) -> PublishedRelease:
        """View of a release of one table, with or without its private part; may be third-party."""
        counting_roles = Roles(roles.quasi_identifiers, roles.sensitive, (), None, None)
        contingency = count_in_memory(Request(table, counting_roles, "category", joint=False))
        lookup_entries = ColumnEntries(
            roles.quasi_identifiers,
            np.arange(len(contingency)),
            contingency.codes,
            tuple([as_text(label) for label in key.labels] for key in contingency.keys),
            contingency.sizes,
        )
        sensitive_entries = tuple(
            ColumnEntries(
                (attribute,),
                cells.class_index,
                (cells.value,),
                ([as_text(label) for label in cells.domain.labels],),
                cells.mass.astype(np.int64),
            )
            for attribute, cells in contingency.cells.items()
        )
        if opened is None:
            kind: ReleaseKind = "table"
        else:
            kind = opened.document["kind"]
        if opened is not None and opened.private is not None:
            private_release = opened
        else:
            private_release = None
        return cls(
            name,
            kind,
            (lookup_entries,),
            sensitive_entries,
            opened=private_release,
            hierarchies=dict(hierarchies or {}),
            contingency=contingency,
            disjoint_columns=_disjoint_columns(opened, roles.quasi_identifiers),
        )

    @classmethod
    def of_groups(cls, published: anatomization.Published, *, name: str) -> PublishedRelease:
        """View of an anatomized release, our own or a third party's."""
        known_tables, sensitive_tables = published.divided()
        tallies = {
            table.relation: published.engine.query(published.tally_query(table))
            for table in published.tables
        }
        all_groups = pa.concat_arrays(
            [tally.column("g").combine_chunks() for tally in tallies.values()]
        )
        groups = sorted(all_groups.unique().to_pylist())
        index_of_group = {group: index for index, group in enumerate(groups)}

        def column_entries(relation: str, columns: Sequence[str]) -> ColumnEntries:
            tally = tallies[relation]
            encoded_columns = [
                encode(tally.column(f"c{index}"), name=name, kind="text", is_sorted=False)
                for index, name in enumerate(columns)
            ]
            class_index = np.array(
                [index_of_group[group] for group in tally.column("g").to_pylist()], dtype=np.int64
            )
            codes = tuple(encoded.int64_codes for encoded in encoded_columns)
            texts = tuple(encoded.domain.texts for encoded in encoded_columns)
            return ColumnEntries(
                tuple(columns), class_index, codes, texts, tally.column("n").to_numpy()
            )

        return cls(
            name,
            "anatomized",
            tuple(column_entries(table.relation, table.columns) for table in known_tables),
            tuple(column_entries(table.relation, table.columns) for table in sensitive_tables),
            groups=tuple(str(group) for group in groups),
        )


def _disjoint_columns(
    opened: releases.OpenedRelease | None, columns: Sequence[str]
) -> frozenset[str]:
    """Columns in which no two labels of a release overlap, according to its public manifest.

    A third-party table is assumed to have one level in each column. The manifest of an incremental
    release does not record the method of its labels.
    """
    if opened is None or opened.document.get("method") in ("full-domain", "columns"):
        return frozenset(columns)
    unchanged = opened.document.get("unchanged", ())
    return frozenset(
        name for name in columns if name in unchanged or name not in opened.quasi_identifiers
    )


def matching_classes(recoding: Recoding, contingency: Contingency) -> Ints:
    """Class of another table with the same labels, for each class of this recoding.

    The result is -1 if no class has these labels, or if the class is suppressed.
    """
    recoded_columns = []
    radices = []
    for key in contingency.keys:
        column_index = recoding.columns.index(key.name)
        codes_of_labels = {as_text(label): code for code, label in enumerate(key.labels)}
        target_codes = np.array(
            [codes_of_labels.get(label, len(key)) for label in recoding.labels[column_index]],
            dtype=np.int64,
        )
        recoded_columns.append(target_codes[recoding.codes[column_index]])
        radices.append(len(key) + 1)
    stacked_codes = [
        np.concatenate(columns) for columns in zip(contingency.codes, recoded_columns, strict=True)
    ]
    ids, _ = arrays.class_ids(
        stacked_codes, radices, rows=len(contingency) + len(recoding.published_mask)
    )
    class_of_id = np.full(int(ids.max(initial=-1)) + 1, -1, dtype=np.int64)
    class_of_id[ids[: len(contingency)]] = np.arange(len(contingency))
    class_indices: Ints = np.where(
        recoding.published_mask, class_of_id[ids[len(contingency) :]], -1
    )
    return class_indices


def require_columns(table: Table, columns: Sequence[str], name: str) -> None:
    """Raise BadInput if the original lacks a column by which people are looked up in a release."""
    missing = [column for column in columns if not table.has(column)]
    if missing:
        message = (
            f"{table.source} lacks the column {missing[0]!r}, by which people are found in {name}"
        )
        raise BadInput(
            message,
            hint="The truth is the table that the release was made of, with all its columns",
        )
