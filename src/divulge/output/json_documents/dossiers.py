# SPDX-License-Identifier: Apache-2.0
"""Types of the JSON documents of `divulge dossier`: records, leakage and what would change it."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from divulge.marks import ColumnName, Count, DataValue, Measure, Word
from divulge.output.json_documents.settings import DossierSettings


class AttributeDocument(TypedDict):
    """One attribute of a record."""

    label: ColumnName
    value: DataValue
    confidence: NotRequired[Measure]


class RecordDocument(TypedDict):
    """A record with its sources; ids are texts from outside."""

    id: DataValue
    attributes: list[AttributeDocument]
    sources: list[DataValue]


class LeakingRecord(TypedDict):
    """The leakage of one merged record."""

    id: DataValue
    leakage: Measure
    sources: list[DataValue]


class GraphNode(TypedDict):
    """A record, and the merged record that it is part of."""

    id: DataValue
    cluster: DataValue


class GraphEdge(TypedDict):
    """A match of two records."""

    source: DataValue
    target: DataValue
    rule: NotRequired[DataValue]
    values: NotRequired[list[DataValue]]
    probability: NotRequired[Measure]


class GraphDocument(TypedDict):
    """The links between records."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]


class WithoutLabel(TypedDict):
    """The leakage if no record contained one label."""

    label: ColumnName
    leakage: Measure
    change: Measure


class TimelineStepDocument(TypedDict):
    """The leakage after one more record."""

    position: Count
    id: DataValue
    leakage: Measure
    change: Measure
    records: Count
    joined: list[DataValue]


class DossierAttackDocument(TypedDict):
    """Document of `divulge dossier leakage` of a database."""

    leakage: Measure
    records: list[LeakingRecord]
    witnesses: list[DataValue]
    witness_records: list[RecordDocument]
    before: Measure
    cost: Measure
    graph: NotRequired[GraphDocument]
    without: NotRequired[list[WithoutLabel]]
    timeline: NotRequired[list[TimelineStepDocument]]
    settings: DossierSettings


class RecordLeakageDocument(TypedDict):
    """Document of `divulge dossier leakage` of one record."""

    leakage: Measure
    precision: Measure
    recall: Measure
    approximate: NotRequired[bool]
    settings: DossierSettings


class PersonLeakageDocument(TypedDict):
    """The leakage of one person through a table."""

    person: DataValue
    leakage: Measure
    witnesses: list[RecordDocument]


class PeopleLeakageDocument(TypedDict):
    """Document of `divulge dossier leakage --table`."""

    leakage: Measure
    people: list[PersonLeakageDocument]
    settings: DossierSettings


class ResolutionDocument(TypedDict):
    """Document of `divulge dossier resolve`."""

    given: Count
    records: list[RecordDocument]
    graph: GraphDocument
    method: Word
    rule: NotRequired[DataValue]
    model: NotRequired[dict[ColumnName, DataValue]]
    prior: NotRequired[Measure]
    engine: NotRequired[Word]
    settings: DossierSettings


class DipDocument(TypedDict):
    """Document of `divulge dossier dip`."""

    record: RecordDocument
    reached: list[DataValue]
    leakage: NotRequired[Measure]
    settings: DossierSettings


class IncrementDocument(TypedDict):
    """The effect of one release on the leakage."""

    name: DataValue
    after: Measure
    change: Measure
    joined: list[DataValue]
    witnesses: list[DataValue]


class AlternativesDocument(TypedDict):
    """Document of `divulge dossier release`."""

    before: Measure | None
    alternatives: list[IncrementDocument]
    best: DataValue
    settings: DossierSettings


class ChosenDisinformation(TypedDict):
    """One record of disinformation."""

    name: DataValue
    cost: Measure
    attributes: list[AttributeDocument]


class DisinformationDocument(TypedDict):
    """Document of `divulge dossier disinform`."""

    before: Measure
    leakage: Measure
    budget: Measure
    cost: Measure
    method: Word
    optimal: bool
    lower_bound: Measure
    gap: Measure
    examined: Count
    settings: DossierSettings
    chosen: list[ChosenDisinformation]


class VerificationOption(TypedDict):
    """An attribute whose verification raises the certainty of a composite record."""

    record: DataValue
    label: ColumnName
    value: DataValue
    confidence: Measure
    gain: Measure
    cost: Measure
    ratio: Measure


class CompositeDocument(TypedDict):
    """A composite record, and the attributes to verify."""

    id: DataValue
    certainty: Measure
    options: list[VerificationOption]


class EnhancementsDocument(TypedDict):
    """Document of `divulge dossier enhance`."""

    composites: list[CompositeDocument]
    settings: DossierSettings
