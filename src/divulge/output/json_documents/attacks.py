# SPDX-License-Identifier: Apache-2.0
"""Types of the JSON documents about attacks."""

from __future__ import annotations

from typing import TypedDict

from divulge.marks import ClassValues, ColumnName, Count, DataValue, Measure, Note, Word
from divulge.output.json_documents.settings import AttackRunSettings


class RateDocument(TypedDict):
    """A rate of successes with its interval."""

    rate: Measure
    low: Measure
    high: Measure
    tries: Count


class TargetDocument(TypedDict):
    """A person at risk: what the adversary knows, and what they guess."""

    known: ClassValues
    people: Count
    fitting: Measure
    guess: DataValue
    belief: Measure
    right: Measure


class AttemptSummary(TypedDict):
    """Rate, interval and bound of one attack, for a report or a comparison."""

    attack: Word
    about: ColumnName | None
    targets: Count
    rate: Measure
    low: Measure
    high: Measure
    bound: Measure | None
    promise: Note | None
    in_release: RateDocument | None
    highest: Measure | None
    exceeding: Count | None
    broken: bool


class AttemptDocument(AttemptSummary):
    """One attack, with its baselines and the people most at risk."""

    aim: Word
    knows: list[ColumnName]
    guesses: Count
    successes: Measure
    precision: Measure
    random: Measure | None
    prior: Measure | None
    control: RateDocument | None
    risk: Measure | None
    highest_gain: Measure | None
    most_at_risk: list[TargetDocument]
    told: Word


class KnowledgeDocument(RateDocument):
    """The rate of an adversary who knows a set of columns."""

    knows: list[ColumnName]
    about: ColumnName | None


class AttackDocument(TypedDict):
    """Document of `divulge attack`."""

    holds: bool
    attacks: list[AttemptDocument]
    knowledge: list[KnowledgeDocument]
    not_tried: dict[Word, Word]
    notes: list[Note]
    settings: AttackRunSettings
