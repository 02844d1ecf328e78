# SPDX-License-Identifier: Apache-2.0
"""Types of the JSON documents about several tables or releases, of reports and of errors."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from divulge.marks import (
    ClassValues,
    ColumnName,
    Count,
    DataValue,
    FileName,
    FractionText,
    Measure,
    MetricName,
    Moment,
    Note,
    Parameter,
    Word,
)
from divulge.output.json_documents.attacks import AttemptSummary
from divulge.output.json_documents.releases import GeneralizeDocument, HierarchyCheckDocument
from divulge.output.json_documents.settings import (
    CompareSettings,
    ComposeSettings,
    LookupDocument,
    TableSettings,
)
from divulge.output.json_documents.tables import (
    MeasurementDocument,
    Numbers,
    SensitiveNumbers,
    VerdictDocument,
)

# --- compare --------------------------------------------------------------------------------------
ClassChange = TypedDict(
    "ClassChange",
    {
        "class": ClassValues,
        "becomes": ClassValues,
        "people": Count,
        "before": Measure,
        "after": Measure,
    },
)


class MovedPeople(TypedDict):
    """The numbers of people who are better or worse off by one metric."""

    metric: MetricName
    attribute: ColumnName | None
    better: Count
    worse: Count
    same: Count
    not_found: Count
    classes: list[ClassChange]


class Differences(TypedDict):
    """Differences of the metrics from the reference."""

    identity: dict[MetricName, Measure | None]
    sensitive: dict[ColumnName, dict[MetricName, Measure | None]]


class Changes(TypedDict):
    """The change of each metric from the reference: better or worse."""

    identity: dict[MetricName, Word | None]
    sensitive: dict[ColumnName, dict[MetricName, Word | None]]


class ComparedDocument(TypedDict):
    """One of the tables, releases or policies."""

    name: FileName
    kind: Word
    source: FileName
    refused: Note | None
    rows: Count | None
    people: Count | None
    classes: Count | None
    identity: Numbers
    sensitive: SensitiveNumbers
    difference: Differences | None
    change: Changes | None
    levels: dict[Word, Measure] | None
    broken: list[Note] | None
    utility: dict[Word, Measure] | None
    attacks: list[AttemptSummary]
    matched_by: Note | None
    unmatched: Note | None
    moved: list[MovedPeople]


class JointDocument(TypedDict):
    """Joint disclosure risk of the compared releases."""

    releases: list[FileName]
    people: Count
    alone: Count
    became_alone: Count
    identity: Numbers
    sensitive: SensitiveNumbers
    upper_bound: bool


class CompareDocument(TypedDict):
    """Document of `divulge compare`."""

    reference: FileName
    original: FileName | None
    compared: list[ComparedDocument]
    together: JointDocument | None
    notes: list[Note]
    settings: CompareSettings
    written: list[FileName]


# --- compose --------------------------------------------------------------------------------------
class ReleaseNumbers(TypedDict):
    """The metrics of one release, or of the joint classes of several."""

    people: Count
    classes: Count
    identity: Numbers
    sensitive: SensitiveNumbers


class AddedRisk(TypedDict):
    """The risk that one more release adds."""

    bits: dict[ColumnName, Measure | None]
    identity: dict[MetricName, Measure | None]
    sensitive: dict[ColumnName, dict[MetricName, Measure | None]]


class ComposedRelease(TypedDict):
    """One of several releases."""

    name: FileName
    kind: Word
    people: Count
    classes: Count
    found: LookupDocument | None
    alone: ReleaseNumbers | None
    so_far: ReleaseNumbers | None
    adds: AddedRisk | None


class SingledOutDocument(TypedDict):
    """The people who are in few or single joint classes."""

    people: Count
    smallest: Count
    below: Count
    alone: Count
    became_alone: Count
    named: list[DataValue]


class InvarianceDocument(TypedDict):
    """m-invariance of one sensitive attribute."""

    attribute: ColumnName
    unique: list[Count]
    distinct: list[Count]
    changed: Count
    followed: Count
    m: Count


class IntersectionDocument(TypedDict):
    """Guaranteed bounds on the intersections of two releases."""

    first: FileName
    second: FileName
    shared: list[ColumnName]
    attribute: ColumnName | None
    people: Count
    possible: Count
    certain: Count
    smallest: Count
    smallest_certain: Count | None
    below: list[Count]
    one_value: list[Count]


class ComposeDocument(TypedDict):
    """Document of `divulge compose`."""

    releases: list[ComposedRelease]
    together: SingledOutDocument | None
    invariance: list[InvarianceDocument]
    derived: list[IntersectionDocument]
    notes: list[Note]
    settings: ComposeSettings
    written: list[FileName]


DossierStepDocument = TypedDict(
    "DossierStepDocument",
    {
        "release": FileName,
        "class": ClassValues | None,
        "people": Count,
        "together": Count,
        "leakage_alone": Measure | None,
        "leakage_so_far": Measure,
        "record": list[list[DataValue]],
    },
)


class PersonDocument(TypedDict):
    """Document of `divulge compose --who`."""

    person: DataValue
    reference: ClassValues
    steps: list[DossierStepDocument]
    notes: list[Note]
    settings: ComposeSettings


# --- report, studio, demo, dbt, metrics, datasets -------------------------------------------------
class ReportRequirement(TypedDict):
    """One requirement in a report."""

    promise: DataValue
    bound: Parameter | FractionText | None
    value: Measure | FractionText | None
    holds: bool


class ReportDocument(TypedDict):
    """Document of `divulge report`."""

    about: FileName
    audience: Word
    date: Moment
    answer: DataValue
    promises: list[ReportRequirement]
    attacks: list[AttemptSummary]
    sections: list[Word]
    files: dict[FileName, Word]
    settings: TableSettings
    written: FileName | None


class StudioDocument(TypedDict):
    """Document of `divulge studio`."""

    address: FileName


class DemoSettings(TypedDict):
    """Settings of the demonstration."""

    rows: Count
    seed: Parameter


class DemoDocument(TypedDict):
    """Document of `divulge demo`."""

    settings: DemoSettings
    raw: MeasurementDocument
    generalized: MeasurementDocument
    verdict: VerdictDocument
    release: GeneralizeDocument
    files: list[FileName]


class DbtSettings(TypedDict):
    """The version that wrote the package."""

    divulge: Word


class DbtDocument(TypedDict):
    """Document of `divulge dbt`."""

    written: list[FileName]
    tests: list[Word]
    settings: DbtSettings


class MetricDocument(TypedDict):
    """The facts of one metric."""

    name: MetricName
    scope: Word
    symbol: Word
    unit: Word
    worse: Word
    monotone: bool
    per_class: bool
    can_be_promised: bool
    promise: Word
    source: Word
    meaning: Word
    formula: Word


class MetricsDocument(TypedDict):
    """Document of `divulge metrics`."""

    metrics: list[MetricDocument]


class DatasetDocument(TypedDict):
    """The facts of one public data set."""

    name: Word
    title: Word
    rows: Count
    columns: Count
    source: Word
    licence: Word
    sha256: Word
    cached: bool


class DatasetsDocument(TypedDict):
    """Document of `divulge datasets`."""

    datasets: list[DatasetDocument]


class FetchedDocument(TypedDict):
    """Document of `divulge datasets NAME`."""

    name: Word
    rows: Count
    columns: list[ColumnName]
    cached: FileName
    written: FileName | None


# --- errors ---------------------------------------------------------------------------------------
class FeasibleBoundDocument(TypedDict):
    """A requirement with a feasible bound."""

    promise: Note
    bound: Parameter
    levels: dict[ColumnName, Count]


ObstacleDocument = TypedDict(
    "ObstacleDocument", {"promise": Note, "class": ClassValues, "people": Count, "value": DataValue}
)


class PriorViolationDocument(TypedDict):
    """A requirement that prior releases violate by themselves."""

    promise: Note
    value: Measure
    people: Count | None


class InfeasibleDocument(TypedDict):
    """The reasons why no generalization meets the requirements, and changes that would."""

    because: Note
    proved: bool
    nearest: list[FeasibleBoundDocument]
    together: list[FeasibleBoundDocument]
    suppression: Measure | None
    suppression_levels: dict[ColumnName, Count]
    columns: list[ColumnName]
    in_the_way: ObstacleDocument | None
    looked_at: Count
    already: list[PriorViolationDocument]


class InfeasibleModelDocument(TypedDict):
    """The reasons why no grouping meets the bounds, and the nearest bounds that can be met."""

    alpha: FractionText
    beta: FractionText
    gamma: FractionText
    delta: FractionText
    records_per_group: Count
    because: Note
    proved: bool


class ErrorDocument(TypedDict):
    """The object that a command prints instead of an answer."""

    error: Note
    hint: Note
    exit_code: Count
    infeasible: NotRequired[InfeasibleDocument | InfeasibleModelDocument]


class UncoveredDocument(ErrorDocument, HierarchyCheckDocument):
    """The object that `divulge hierarchy check` prints if hierarchies lack values."""
