# SPDX-License-Identifier: Apache-2.0
"""Small random databases and rules, and golden ones, for entity resolution and disinformation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from divulge.dossier import MatchRule, Record
from tests.dossier.oracle import record_of

LABELS = "ABCD"

RULES: Mapping[str, str] = {
    "same N": "N",
    "same N and C, or same N and P": "N+C,N+P",
    "same P, or same N and same C": "P,N+C",
    "same N or same P or same C": "N,P,C",
    "same N or same M": "N,M",
}
"""The match rules of the golden cases, as text for MatchRule."""


def golden_database(case: Mapping[str, Any]) -> list[Record]:
    """The records of a golden case, with their ids."""
    return [
        Record(record_of(triples).attributes, name) for name, triples in case["inputs"]["R"].items()
    ]


def golden_rule(case: Mapping[str, Any]) -> str:
    """The match rule of a golden case."""
    return RULES[case["inputs"]["match"]]


@st.composite
def databases(
    draw: st.DrawFn, *, most: int = 9, values: int = 4, confidences: Sequence[float] = (1.0,)
) -> list[Record]:
    """Records with several values per label, ids r0, r1, ..."""
    attribute = st.tuples(
        st.sampled_from(LABELS), st.integers(0, values - 1).map(str), st.sampled_from(confidences)
    )
    records = draw(
        st.lists(st.lists(attribute, max_size=5, unique_by=lambda entry: entry[:2]), max_size=most)
    )
    return [Record.of(entries, f"r{number}") for number, entries in enumerate(records)]


@st.composite
def rules(draw: st.DrawFn, *, thresholds: Sequence[float] = (0.0,)) -> MatchRule:
    """Up to three clauses of up to three labels."""
    clause = st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True).map(tuple)
    clauses = draw(st.lists(clause, min_size=1, max_size=3))
    return MatchRule(tuple(clauses), threshold=draw(st.sampled_from(thresholds)))


def share_a_value(first: Record, second: Record, rule: MatchRule) -> bool:
    """Return True if the rule joins two records, by its definition only."""
    sure = [
        {a for a, c in record.attributes.items() if c >= rule.threshold}
        for record in (first, second)
    ]
    both = {attribute.label for attribute in sure[0] & sure[1]}
    return any(set(clause) <= both for clause in rule.clauses)


def fixpoint(database: Sequence[Record], rule: MatchRule) -> frozenset[frozenset[str]]:
    """Merge any two records that match until none do: the result of R-Swoosh by brute force."""
    records = list(database)
    while pair := next(
        ((a, b) for a, b in combinations(records, 2) if share_a_value(a, b, rule)), None
    ):
        records = [record for record in records if record not in pair] + [pair[0].merge(pair[1])]
    return frozenset(record.sources for record in records)


def connected(database: Sequence[Record], rule: MatchRule) -> frozenset[frozenset[str]]:
    """The connected components of the graph of matches between the given records."""
    groups = [{str(record.id)} for record in database]
    for first, second in combinations(database, 2):
        if share_a_value(first, second, rule):
            touched = [group for group in groups if group & {first.id, second.id}]
            groups = [group for group in groups if group not in touched] + [set().union(*touched)]
    return frozenset(map(frozenset, groups))
