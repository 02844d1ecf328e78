# SPDX-License-Identifier: Apache-2.0
"""Verification of staged files: they hold the planned rows and meet the requirements.

Nothing is published before both are verified. An engine that did not write the files reads them
back. One fingerprint over all columns compares every row with the plan. A generalized table is
counted anew, compared with the plan class by class, and checked against the policy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from divulge.arguments import marked
from divulge.arrays import Ints
from divulge.counting import Contingency, Domain
from divulge.engines import OwnEngine, is_plain_type
from divulge.errors import DivulgeError
from divulge.metrics import Measurement
from divulge.policy import Policy, Protected, Verdict, judge
from divulge.text import as_text

_HINT = (
    "Nothing was published. Did the source change meanwhile? Run it again; if it stays so, "
    "report it"
)


class Unverified(DivulgeError):
    """Error: the staged files differ from the plan, or do not meet their requirements.

    Nothing was published.
    """

    exit_code = 1


@dataclass(frozen=True)
class Fingerprint:
    """Rows as a multiset: their number, and the sum of their hashes, which ignores their order.

    A hash covers all values of a row together, so values that are exchanged between rows are
    detected. Equal rows add up, whereas with xor pairs of them would cancel out.
    """

    rows: int
    total: int

    @classmethod
    def of(
        cls,
        engine: OwnEngine,
        relation: str,
        *,
        columns: Sequence[str] | None = None,
        times: str = "1",
    ) -> Fingerprint:
        """Compute the fingerprint of a relation, or of some of its columns.

        Each row counts as often as the expression `times` evaluates to. Two fingerprints are
        comparable if engines of the same kind computed them.
        """
        types = dict(engine.describe(relation))
        row_hash = engine.row_hash([(name, types[name]) for name in columns or types])
        total = engine.cast(f"SUM({row_hash} * {times})", "VARCHAR")
        sums = engine.query(
            f"SELECT CAST(SUM({times}) AS BIGINT) AS n, {total} AS total FROM {relation} AS hashed"
        )
        row = sums.to_pylist()[0]
        return cls(int(row["n"] or 0), int(row["total"] or 0))

    def refuse_other(self, fingerprint: Fingerprint, name: str) -> None:
        """Raise an error if a staged table has other rows than these."""
        if fingerprint.rows != self.rows:
            raise Unverified(
                f"{name} has {fingerprint.rows:,} rows where {self.rows:,} were to be written",
                hint=_HINT,
            )
        if fingerprint != self:
            raise Unverified(f"{name} does not hold what was to be written", hint=_HINT)


def types_to_read(
    described: Sequence[tuple[str, str]], columns_to_count: Collection[str] = ()
) -> dict[str, str]:
    """Types for reading the columns of text files: their own, or text.

    A column keeps its own type if text represents it exactly, or if it is counted again.
    """
    return {
        name: type_
        if is_plain_type(type_) or (name in columns_to_count and not type_.startswith("ENUM"))
        else "VARCHAR"
        for name, type_ in described
    }


def compare(counts: Contingency, expected: Contingency) -> Contingency:
    """Return the counts, expressed in the expected values.

    Raises an error if anything differs.
    """
    prefix = "the staged table has"
    if counts.rows != expected.rows:
        raise Unverified(
            f"{prefix} {counts.rows:,} rows where {expected.rows:,} were to be written", hint=_HINT
        )
    if len(counts) != len(expected):
        raise Unverified(
            f"{prefix} {len(counts):,} classes where {len(expected):,} were to be made", hint=_HINT
        )
    keys = {
        key.name: (_expected_codes(key, expected_key), expected_key)
        for key, expected_key in zip(counts.keys, expected.keys, strict=True)
    }
    recoded = counts.roll_up(coarser=keys)
    cells = {}
    for name, column_cells in recoded.cells.items():
        domain = expected.cells[name].domain
        cells[name] = column_cells.recode(_expected_codes(column_cells.domain, domain), domain)
    recoded = replace(recoded, cells=cells)
    if not _same_counts(recoded, expected):
        raise Unverified(
            "the classes of the staged table are not those that were to be made", hint=_HINT
        )
    return recoded


def hold(measurement: Measurement, policy: Policy, protected: Sequence[Protected] = ()) -> Verdict:
    """Return the verdict on the table that was read back.

    Raises an error if a requirement is violated, including those for protected people or values.
    """
    verdict = judge(measurement, policy.promises, protected=protected)
    if not verdict.holds:
        violations = [
            f"{marked(outcome.text)} (measured {outcome.value:.4g})"
            for outcome in verdict.outcomes
            if not outcome.holds
        ]
        raise Unverified(
            f"the staged table breaks what was promised: {', '.join(violations)}", hint=_HINT
        )
    return verdict


def _expected_codes(domain: Domain, expected: Domain) -> Ints:
    """Position of each value among the expected ones.

    Values are compared as text, because a CSV file stores nothing else.
    """
    code_of_text = {as_text(label): code for code, label in enumerate(expected.labels)}
    unexpected = [label for label in domain.labels if as_text(label) not in code_of_text]
    if unexpected:
        message = (
            f"the staged table has {len(unexpected)} values of {domain.name!r} that were not to be "
            "published"
        )
        raise Unverified(message, hint=_HINT)
    return np.array([code_of_text[as_text(label)] for label in domain.labels], dtype=np.int64)


def _same_counts(counts: Contingency, expected: Contingency) -> bool:
    if set(counts.cells) != set(expected.cells) or not np.array_equal(counts.sizes, expected.sizes):
        return False
    same_keys = all(
        np.array_equal(code_column, expected_column)
        for code_column, expected_column in zip(counts.codes, expected.codes, strict=True)
    )
    return same_keys and all(
        np.array_equal(cells.start, expected.cells[name].start)
        and np.array_equal(cells.value, expected.cells[name].value)
        and np.allclose(cells.mass, expected.cells[name].mass, rtol=1e-9, atol=0.0)
        for name, cells in counts.cells.items()
    )
