# SPDX-License-Identifier: Apache-2.0
"""Types of the JSON documents about one table: measure, check, profile, rank, perturbed, init."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from divulge.marks import (
    ClassValues,
    ColumnName,
    Count,
    DataValue,
    FileName,
    Measure,
    MetricName,
    Note,
    Parameter,
    Word,
)
from divulge.output.json_documents.settings import (
    AnatomyCheckSettings,
    Bounds,
    PerturbedSettings,
    PolicyFile,
    RepairSettings,
    SourceSettings,
    TableSettings,
)

Numbers = dict[MetricName, Measure]
SensitiveNumbers = dict[ColumnName, Numbers]

ClassReference = TypedDict("ClassReference", {"class": ClassValues, "size": Count})
"""The class that decides a metric."""


class ShiftDocument(TypedDict):
    """The share of a value that was expected, and its share in the class."""

    value: DataValue
    before: Measure
    after: Measure


WorstClassDocument = TypedDict(
    "WorstClassDocument",
    {
        "class": ClassValues,
        "size": Count,
        "attribute": ColumnName | None,
        "metric": MetricName,
        "value": Measure,
        "ruled_out": list[DataValue],
        "over_represented": list[ShiftDocument],
        "why": DataValue,
    },
)
ClassRow = TypedDict(
    "ClassRow",
    {"class": ClassValues, "size": Count, "identity": Numbers, "sensitive": SensitiveNumbers},
)


class WorstClasses(TypedDict):
    """For each metric, the class that decides it."""

    identity: dict[MetricName, ClassReference]
    sensitive: dict[ColumnName, dict[MetricName, ClassReference]]


class NecessaryCondition(TypedDict):
    """Bezzi's condition on the average."""

    holds: bool
    t: bool | None
    l: bool | None  # noqa: E741 - the l of l-diversity


class SufficientCondition(TypedDict):
    """Bezzi's condition on every class."""

    holds: bool
    classes_breaking_t: Count | None
    classes_breaking_l: Count | None


class ConditionsDocument(TypedDict):
    """Bezzi's conditions of one attribute."""

    t: Parameter | None
    l: Parameter | None  # noqa: E741 - the l of l-diversity
    l_max: Measure
    l_t: Measure | None
    average_surprise: Measure
    necessary: NecessaryCondition
    sufficient: SufficientCondition
    average_hides_classes: bool


class BandDocument(TypedDict):
    """One band of risk by ITPR."""

    name: Word
    above: Parameter | None
    up_to: Parameter | None
    classes: Count
    people: Count
    share: Measure


BandsDocument = TypedDict(
    "BandsDocument",
    {
        "attribute": ColumnName | None,
        "itpr": Measure,
        "band": Word,
        "epsilon": Measure,
        "lambda": Measure | None,
        "theta": Measure,
        "bands": list[BandDocument],
    },
)


class RiskBandsDocument(TypedDict):
    """The number of people at low, moderate and high risk by ITPR."""

    bounds: list[Parameter]
    bounds_from: Word
    about: list[BandsDocument]
    settings: TableSettings


RepairStepDocument = TypedDict(
    "RepairStepDocument",
    {
        "class": ClassValues,
        "people": Count,
        "column": ColumnName | None,
        "instead": DataValue,
        "itpr": Measure,
        "discrimination_rate": Measure,
        "people_at_worst": Count,
    },
)


class RepairDocument(TypedDict):
    """The records or cells whose removal lowers ITPR most."""

    attribute: ColumnName | None
    how: Word
    itpr: Measure
    discrimination_rate: Measure
    people_at_worst: Count
    steps: list[RepairStepDocument]
    why_ended: Word
    settings: RepairSettings


class MetricOrderDocument(TypedDict):
    """Metrics that order the classes alike, and the metric whose order is closest."""

    metrics: list[MetricName]
    closest: MetricName | None
    correlation: Measure | None
    independence: Measure | None


class IndependenceSettings(TypedDict):
    """Settings of the correlations, without those of the measurement."""

    correlation: Word
    weighed_by: Word
    compared_classes: Count


class IndependenceDocument(TypedDict):
    """Correlations between the orders in which metrics rank the classes."""

    attribute: ColumnName
    orders: list[MetricOrderDocument]
    two_leakages: Measure | None
    constant: list[MetricName]
    metrics: list[MetricName]
    correlation: list[list[Measure]]
    settings: IndependenceSettings


class MeasurementDocument(TypedDict):
    """Document of `divulge measure`."""

    rows: Count
    people: Count
    classes: Count
    settings: TableSettings
    notes: list[Note]
    identity: Numbers
    sensitive: SensitiveNumbers
    worst: list[WorstClassDocument]
    worst_class: WorstClasses
    conditions: NotRequired[dict[ColumnName, ConditionsDocument]]
    class_table: NotRequired[list[ClassRow]]
    itpr_bands: NotRequired[RiskBandsDocument]
    repair: NotRequired[list[RepairDocument]]
    independence: NotRequired[list[IndependenceDocument]]


class AttributeOfClass(TypedDict):
    """One sensitive attribute in one class."""

    metrics: Numbers
    values: list[ShiftDocument]


ClassDetailDocument = TypedDict(
    "ClassDetailDocument",
    {
        "class": ClassValues,
        "size": Count,
        "people": Count,
        "identity": Numbers,
        "sensitive": dict[ColumnName, AttributeOfClass],
        "settings": TableSettings,
    },
)
"""Document of `divulge measure --class`."""

ViolatingClass = TypedDict(
    "ViolatingClass", {"class": ClassValues, "size": Count, "value": Measure}
)


class RequirementDocument(TypedDict):
    """One requirement, the measured value, and a sample of the classes that violate it."""

    promise: Note
    protects: DataValue
    linked: bool
    new_records: bool
    shown_by: Word | None
    metric: MetricName
    scope: Word
    attribute: Note | None
    bound: Parameter
    value: Measure
    holds: bool
    breaking_classes: Count
    breaking_people: Count
    sample: list[ViolatingClass]


class ContributionDocument(TypedDict):
    """Contribution of one column to the number of unique people."""

    column: ColumnName
    without: Count
    only: Count


class FindingDocument(TypedDict):
    """A column that must not be in a table."""

    guard: Word
    columns: list[ColumnName]
    why: Note
    contributions: list[ContributionDocument]
    cure: Word | None


class UniquenessDocument(TypedDict):
    """The number of people who are unique by all published columns."""

    quasi_identifiers: list[ColumnName]
    columns: list[ColumnName]
    sensitive: list[ColumnName]
    unit: Word
    linked: bool
    k: Count
    unique_by_quasi_identifiers: Count
    unique: Count
    unique_with_sensitive: Count
    of: Count
    share: Measure
    unique_share: Parameter | None
    in_words: Word
    warning: Word | None


class VerdictDocument(TypedDict):
    """Document of `divulge check` of one table or generalized release."""

    holds: bool
    in_words: list[Word]
    rows: Count
    people: Count
    classes: Count
    settings: TableSettings
    notes: list[Note]
    promises: list[RequirementDocument]
    accepted_risk: Note | None
    findings: list[FindingDocument]
    uniqueness: UniquenessDocument | None


class GroupSizes(TypedDict):
    """The smallest and the largest group."""

    min: Count
    max: Count


class AnatomyVerdictDocument(TypedDict):
    """Document of `divulge check` of an anatomized release."""

    holds: bool
    levels: Bounds
    promises: Bounds
    broken: list[Word]
    breaking_groups: Count
    tables: list[list[ColumnName]]
    groups: Count
    group_sizes: GroupSizes
    settings: AnatomyCheckSettings
    notes: list[Note]


class OneOfTables(TypedDict):
    """The name of a table that was checked together with others."""

    table: FileName


class CheckedTable(OneOfTables, VerdictDocument):
    """The verdict of one of several tables."""


class CheckedRelease(OneOfTables, AnatomyVerdictDocument):
    """The verdict of one of several anatomized releases."""


class UncheckedTable(OneOfTables):
    """The error of a table that could not be checked."""

    error: Note
    hint: Note
    exit_code: Count


class PolicySettings(TypedDict, total=False):
    """The policy file in effect, if there is one."""

    policy: PolicyFile


class CheckedTables(TypedDict):
    """Document of `divulge check` of several tables."""

    holds: bool
    in_words: list[Word]
    tables: list[CheckedTable | CheckedRelease | UncheckedTable]
    settings: PolicySettings


class ProfileSettings(SourceSettings, total=False):
    """Settings of the profile of a table."""

    divulge: Word
    nulls: Word
    log_base: Parameter
    policy: PolicyFile


class ColumnProfileDocument(TypedDict):
    """One column, and its suggested role."""

    column: ColumnName
    type: Word
    distinct: Count
    nulls: Count
    entropy: Measure
    discrimination_rate: Measure
    itpr: Measure
    uniques: Count
    role: Word
    reason: Word
    looks_like: Word | None
    matches: Measure | None


class ProfileDocument(TypedDict):
    """Document of `divulge profile`."""

    columns: list[ColumnProfileDocument]
    settings: ProfileSettings
    notes: list[Note]


class SuggestedRole(TypedDict):
    """The suggested role of a column."""

    column: ColumnName
    role: Word
    reason: Word


class FirstPolicy(TypedDict, total=False):
    """The content of a first policy file."""

    quasi_identifiers: list[ColumnName]
    sensitive: list[ColumnName]
    identifier: list[ColumnName]
    plain: list[ColumnName]
    leave_out: list[ColumnName]
    person: ColumnName
    weight: ColumnName
    promises: dict[MetricName, Parameter]


class InitDocument(TypedDict):
    """Document of `divulge init`."""

    written: FileName
    policy: FirstPolicy
    columns: list[SuggestedRole]
    settings: ProfileSettings


class CombinationDocument(TypedDict):
    """The risk of a combination of columns."""

    columns: list[ColumnName]
    identity: Numbers
    sensitive: SensitiveNumbers


class RankedAttributeDocument(TypedDict):
    """The risk of one attribute."""

    attribute: ColumnName
    alone: CombinationDocument
    without: CombinationDocument | None
    contribution: Measure


class PrunedDocument(TypedDict):
    """Numbers of combinations that were not counted, by reason."""

    hold_a_smaller_one: Count
    cannot_reach: Count


class PublishedClassDocument(TypedDict):
    """One class of an anonymized combination."""

    values: ClassValues
    people: Count
    sensitive: SensitiveNumbers


class AnonymizedSetDocument(TypedDict):
    """A combination of columns after generalization."""

    columns: list[ColumnName]
    levels: dict[ColumnName, Count]
    loss: Measure | None
    suppressed: Count
    numbers: CombinationDocument | None
    classes: list[PublishedClassDocument]
    obstacle: Note


class RankingDocument(TypedDict):
    """Document of `divulge rank`."""

    rows: Count
    everything: CombinationDocument
    attributes: list[RankedAttributeDocument]
    combinations: list[CombinationDocument]
    threshold: Parameter
    smallest: list[list[ColumnName]]
    sets: list[CombinationDocument]
    settings: TableSettings
    pruned: PrunedDocument | None
    anonymized: list[AnonymizedSetDocument]
    notes: list[Note]


class GrowthStep(TypedDict):
    """The risk of the first n attributes."""

    n: Count
    attribute: ColumnName
    identity: Numbers
    sensitive: SensitiveNumbers


class GrowthDocument(TypedDict):
    """Document of `divulge rank --growing`."""

    rows: Count
    alone: list[CombinationDocument]
    steps: list[GrowthStep]
    settings: TableSettings


PerturbedClass = TypedDict(
    "PerturbedClass",
    {
        "class": ClassValues,
        "size": Count,
        "conditional_entropy": Measure,
        "specific_information": Measure,
        "attributes": dict[ColumnName, dict[Word, Measure]],
    },
)


class PerturbedDocument(TypedDict):
    """Document of `divulge perturbed`."""

    rows: Count
    classes: Count
    settings: PerturbedSettings
    entropy: Measure
    mutual_information: Measure
    conditional_entropy: Measure
    specific_information: Measure
    surprise_of_original: Measure
    surprise_bound: Measure | None
    attributes: dict[ColumnName, dict[Word, Measure]]
    worst: list[PerturbedClass]
