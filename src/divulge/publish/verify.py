# SPDX-License-Identifier: Apache-2.0
"""Is what lies on the disk what was decided, and does it keep its promises? Nothing is published before both are answered with yes.

The files are read back by an engine that did not write them. Every row is compared with what was decided on by one fingerprint over all
columns; a generalized table is counted anew, compared class by class with what the plan foretold, and held against the policy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from divulge.arrays import Ints
from divulge.count import Contingency, Domain
from divulge.engines import OwnEngine, is_plain_type
from divulge.errors import DivulgeError
from divulge.metrics import Measurement
from divulge.policy import Policy, Protected, Verdict, judge
from divulge.values import as_text

_HINT = "Nothing was published. Did the source change meanwhile? Run it again; if it stays so, report it"


class Unverified(DivulgeError):
    """What was staged is not what was decided, or does not keep its promises; nothing was published."""

    exit_code = 1


@dataclass(frozen=True)
class Fingerprint:
    """Rows as a multiset: how many there are, and the sum of their hashes, which does not depend on their order.

    A hash looks at all values of a row together, so values that change places between rows are found; equal rows add up, where xor
    would let pairs of them vanish.
    """

    rows: int
    total: int

    @classmethod
    def of(
        cls, engine: OwnEngine, relation: str, *, columns: Sequence[str] | None = None, times: str = "1"
    ) -> Fingerprint:
        """The fingerprint of what stands after FROM, or of some of its columns, each row as often as `times` says.

        Two can be compared if engines of one kind took them.
        """
        types = dict(engine.describe(relation))
        hashed = engine.row_hash([(name, types[name]) for name in columns or types])
        total = engine.cast(f"SUM({hashed} * {times})", "VARCHAR")
        found = engine.query(f"SELECT CAST(SUM({times}) AS BIGINT) AS n, {total} AS total FROM {relation} AS hashed")
        row = found.to_pylist()[0]
        return cls(int(row["n"] or 0), int(row["total"] or 0))

    def refuse_other(self, found: Fingerprint, name: str) -> None:
        """Refuse a staged table with other rows than these."""
        if found.rows != self.rows:
            raise Unverified(f"{name} has {found.rows:,} rows where {self.rows:,} were to be written", hint=_HINT)
        if found != self:
            raise Unverified(f"{name} does not hold what was to be written", hint=_HINT)


def types_to_read(described: Sequence[tuple[str, str]], counted: Collection[str] = ()) -> dict[str, str]:
    """The types to read columns of text files with: their own where text says it all or they are counted again, else text."""
    return {
        name: type_ if is_plain_type(type_) or (name in counted and not type_.startswith("ENUM")) else "VARCHAR"
        for name, type_ in described
    }


def compare(found: Contingency, expected: Contingency) -> Contingency:
    """The counts that were found, over the values that were expected; refused if anything at all differs."""
    has = "the staged table has"
    if found.rows != expected.rows:
        raise Unverified(f"{has} {found.rows:,} rows where {expected.rows:,} were to be written", hint=_HINT)
    if len(found) != len(expected):
        raise Unverified(f"{has} {len(found):,} classes where {len(expected):,} were to be made", hint=_HINT)
    keys = {key.name: (_codes(key, known), known) for key, known in zip(found.keys, expected.keys, strict=True)}
    recoded = found.roll_up(coarser=keys)
    cells = {}
    for name, own in recoded.cells.items():
        domain = expected.cells[name].domain
        cells[name] = own.recode(_codes(own.domain, domain), domain)
    recoded = replace(recoded, cells=cells)
    if not _equal(recoded, expected):
        raise Unverified("the classes of the staged table are not those that were to be made", hint=_HINT)
    return recoded


def hold(measurement: Measurement, policy: Policy, protected: Sequence[Protected] = ()) -> Verdict:
    """The verdict on what was read back; refused if a promise is broken, or one to the people or values that are protected."""
    verdict = judge(measurement, policy.promises, protected=protected)
    if not verdict.holds:
        broken = [f"{found.text} (measured {found.value:.4g})" for found in verdict.outcomes if not found.holds]
        raise Unverified(f"the staged table breaks what was promised: {', '.join(broken)}", hint=_HINT)
    return verdict


def _codes(found: Domain, expected: Domain) -> Ints:
    """The position of each found value among the expected ones; values are compared as text, for a CSV file holds nothing else."""
    place = {as_text(label): code for code, label in enumerate(expected.labels)}
    strange = [label for label in found.labels if as_text(label) not in place]
    if strange:
        told = f"the staged table has {len(strange)} values of {found.name!r} that were not to be published"
        raise Unverified(told, hint=_HINT)
    return np.array([place[as_text(label)] for label in found.labels], dtype=np.int64)


def _equal(found: Contingency, expected: Contingency) -> bool:
    if set(found.cells) != set(expected.cells) or not np.array_equal(found.sizes, expected.sizes):
        return False
    same_keys = all(np.array_equal(ours, theirs) for ours, theirs in zip(found.codes, expected.codes, strict=True))
    return same_keys and all(
        np.array_equal(cells.start, expected.cells[name].start)
        and np.array_equal(cells.value, expected.cells[name].value)
        and np.allclose(cells.mass, expected.cells[name].mass, rtol=1e-9, atol=0.0)
        for name, cells in found.cells.items()
    )
