# SPDX-License-Identifier: Apache-2.0
"""A release as whoever holds it sees it: its classes or groups, how many people are in each, and which sensitive values.

A generalized release, ours or anybody's, has one class for each combination of labels; an anatomized one has groups. Where the private
part of one of ours is at hand, it says exactly which class each value became; otherwise labels are read as they are written.
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

from divulge import anatomy, arrays, count, publish
from divulge.arrays import Ints
from divulge.count import Contingency, Request, count_in_memory
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy
from divulge.search import Recoding
from divulge.table import Roles, Table
from divulge.values import as_text

ReleaseKind = Literal["generalized", "applied", "anatomized", "table"]


class Part(NamedTuple):
    """What a release says of some columns: of each class, the labels or values that occur in it, and how many people have them."""

    columns: tuple[str, ...]
    in_class: Ints
    """The class of each entry, numbered from 0."""
    codes: tuple[Ints, ...]
    texts: tuple[list[str | None], ...]
    """Per column: what each code stands for, as text."""
    people: Ints


@dataclass(frozen=True, eq=False)
class Disclosed:
    """One release that is out."""

    name: str
    kind: ReleaseKind
    known: tuple[Part, ...] = field(repr=False)
    """What it says of columns by which a person is found: all in one part, unless it is anatomized."""
    told: tuple[Part, ...] = field(repr=False)
    """What it says of each sensitive column."""
    groups: tuple[str, ...] | None = field(default=None, repr=False)
    """The names of its groups, where it is anatomized."""
    opened: publish.OpenedRelease | None = field(default=None, repr=False)
    """Where its private part is at hand, which says what each value became."""
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)
    counted: Contingency | None = field(default=None, repr=False)
    """Its classes, where it is one table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns by which a person is found in it."""
        return tuple(name for part in self.known for name in part.columns)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns that it tells."""
        return tuple(name for part in self.told for name in part.columns)

    @property
    def by_mapping(self) -> bool:
        """Whether it is known exactly what each value became."""
        return self.opened is not None and self.opened.holds_mappings

    @property
    def beside(self) -> int:
        """How many other releases it was judged beside, and left somebody out for."""
        left_out = None if self.opened is None else self.opened.left_out
        return 0 if left_out is None else sum(name.startswith("r") for name in left_out.column_names)

    @cached_property
    def sizes(self) -> Ints:
        """The people in each class."""
        first = self.known[0]
        return arrays.exact_sums(first.in_class, first.people, int(first.in_class.max(initial=-1)) + 1)

    @property
    def people(self) -> int:
        """How many it is about."""
        return int(self.sizes.sum())

    def __len__(self) -> int:
        return len(self.sizes)

    def class_key(self, index: int) -> dict[str, Any]:
        """What the class or group is called."""
        if self.groups is not None:
            return {"group": self.groups[index]}
        (part,) = self.known
        return {
            name: texts[codes[index]] for name, codes, texts in zip(part.columns, part.codes, part.texts, strict=True)
        }

    def class_text(self, index: int) -> str:
        """What the class is called, with its number, which keeps those apart that are written alike."""
        return f"{index + 1}: {', '.join(f'{name}={label}' for name, label in self.class_key(index).items())}"

    @cached_property
    def classes_sha256(self) -> str:
        """By this another release names it privately, wherever its folder is by then."""
        told = [[self.class_text(index), int(size)] for index, size in enumerate(self.sizes)]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def about(self, attribute: str) -> Part | None:
        """What it says of a sensitive column; None where it says nothing."""
        return next((part for part in self.told if part.columns == (attribute,)), None)

    # --- from what a release is opened as -----------------------------------------------------------------------------
    @classmethod
    def of_table(
        cls,
        table: Table,
        roles: Roles,
        *,
        name: str,
        opened: publish.OpenedRelease | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
    ) -> Disclosed:
        """A release of one table: ours, with its private part or without, or anybody's."""
        plain = Roles(roles.quasi_identifiers, roles.sensitive, (), None, None)
        counted = count_in_memory(Request(table, plain, "category", joint=False))
        known = Part(
            roles.quasi_identifiers,
            np.arange(len(counted)),
            counted.codes,
            tuple([as_text(label) for label in key.labels] for key in counted.keys),
            counted.sizes,
        )
        told = tuple(
            Part(
                (attribute,),
                cells.class_index,
                (cells.value,),
                ([as_text(label) for label in cells.domain.labels],),
                cells.mass.astype(np.int64),
            )
            for attribute, cells in counted.cells.items()
        )
        kind: ReleaseKind = "table" if opened is None else opened.document["kind"]
        private = opened if opened is not None and opened.private is not None else None
        return cls(name, kind, (known,), told, opened=private, hierarchies=dict(hierarchies or {}), counted=counted)

    @classmethod
    def of_groups(cls, published: anatomy.Published, *, name: str) -> Disclosed:
        """An anatomized release, ours or anybody's."""
        known, told = published.divided()
        tallies = {table.relation: published.engine.query(published.tally_query(table)) for table in published.tables}
        every = pa.concat_arrays([tally.column("g").combine_chunks() for tally in tallies.values()])
        groups = sorted(every.unique().to_pylist())
        number = {group: place for place, group in enumerate(groups)}

        def part(relation: str, columns: Sequence[str]) -> Part:
            tally = tallies[relation]
            coded = [coded_texts(tally.column(f"c{place}")) for place in range(len(columns))]
            in_class = np.array([number[group] for group in tally.column("g").to_pylist()], dtype=np.int64)
            codes, texts = tuple(codes for codes, _ in coded), tuple(texts for _, texts in coded)
            return Part(tuple(columns), in_class, codes, texts, tally.column("n").to_numpy())

        return cls(
            name,
            "anatomized",
            tuple(part(table.relation, table.columns) for table in known),
            tuple(part(table.relation, table.columns) for table in told),
            groups=tuple(str(group) for group in groups),
        )


def coded_texts(column: pa.ChunkedArray) -> tuple[Ints, list[str | None]]:
    """A column as codes, and what each code stands for as text; null is a value, and so is NaN."""
    encoded = count.plain_values(column).dictionary_encode(null_encoding="encode")
    codes: Ints = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, [as_text(value) for value in encoded.dictionary.to_pylist()]


def place_of(recoding: Recoding, there: Contingency) -> Ints:
    """The class of another table that has the labels of each class of this one; -1 where none has, or it is left out."""
    mine, radices = [], []
    for key in there.keys:
        place = recoding.columns.index(key.name)
        known = {as_text(label): code for code, label in enumerate(key.labels)}
        to = np.array([known.get(label, len(key)) for label in recoding.labels[place]], dtype=np.int64)
        mine.append(to[recoding.codes[place]])
        radices.append(len(key) + 1)
    both = [np.concatenate(columns) for columns in zip(there.codes, mine, strict=True)]
    ids, _ = arrays.class_ids(both, radices, rows=len(there) + len(recoding.kept))
    found = np.full(int(ids.max(initial=-1)) + 1, -1, dtype=np.int64)
    found[ids[: len(there)]] = np.arange(len(there))
    places: Ints = np.where(recoding.kept, found[ids[len(there) :]], -1)
    return places


def refuse_unless_there(table: Table, columns: Sequence[str], name: str) -> None:
    """Refuse a truth that lacks a column by which people are found in a release."""
    missing = [column for column in columns if not table.has(column)]
    if missing:
        told = f"{table.source} lacks the column {missing[0]!r}, by which people are found in {name}"
        raise BadInput(told, hint="The truth is the table that the release was made of, with all its columns")
