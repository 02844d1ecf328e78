# SPDX-License-Identifier: Apache-2.0
"""Types of the JSON documents about releases: generalize, anatomize, apply, query, hierarchies."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from divulge.marks import (
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
from divulge.output.json_documents.attacks import AttemptDocument
from divulge.output.json_documents.settings import (
    AnatomySettings,
    Bounds,
    LedgerSettings,
    ModelSettings,
    QuerySettings,
    SourceSettings,
    TableSettings,
    UtilitySettings,
)
from divulge.output.json_documents.tables import (
    GroupSizes,
    MeasurementDocument,
    RequirementDocument,
    UniquenessDocument,
)

Levels = dict[ColumnName, Count]


# --- utility --------------------------------------------------------------------------------------
class QueryErrorDocument(TypedDict):
    """Relative error of random count queries."""

    workload: Word
    queries: Count
    quasi_identifiers: list[Count]
    mean: Measure
    median: Measure
    p90: Measure
    below_floor: Count


class NoQueryError(TypedDict):
    """No queries were asked."""


class ColumnDistanceDocument(TypedDict):
    """Distance of a column of a release from the original's."""

    column: ColumnName
    distance: Measure
    values: Count
    labels: Count
    read_by: Word


class BeforeAndAfter(TypedDict):
    """A number of the original, and of the release."""

    before: Measure
    after: Measure


class AssociationDocument(TypedDict):
    """Association of two columns in the original and in the release."""

    left: ColumnName
    right: ColumnName
    exact: bool
    cramers_v: BeforeAndAfter
    bits: BeforeAndAfter


class InformationDocument(TypedDict):
    """Information of the quasi-identifiers about a sensitive column, in bits."""

    attribute: ColumnName
    before: Measure
    after: Measure
    loss: Measure


class ModelScoreDocument(TypedDict):
    """One score of the models of the original and of the release."""

    name: Word
    before: Measure
    after: Measure
    guess: Measure
    folds: list[list[Measure]]


class ModelQualityDocument(TypedDict):
    """Scores of models trained on the original and on the release."""

    target: ColumnName
    values: Count
    scores: list[ModelScoreDocument]
    settings: ModelSettings


class UtilityDocument(TypedDict):
    """The utility of a release."""

    kind: Word
    rows: Count
    published: Count
    left_out: list[ColumnName]
    summary: dict[Word, Measure]
    columns: list[ColumnDistanceDocument]
    associations: list[AssociationDocument]
    queries: QueryErrorDocument | None
    information: list[InformationDocument]
    model: ModelQualityDocument | None
    notes: list[Note]
    settings: UtilitySettings


# --- generalize -----------------------------------------------------------------------------------
class LedgerEntryDocument(TypedDict):
    """The ledger entry of a release, and the releases it was checked against."""

    folder: FileName
    number: Count | None
    dataset: FileName
    recipient: FileName | None
    coalition: list[FileName]
    judged_against: list[Count]


class AlternativeDocument(TypedDict):
    """The best release under other requirements."""

    value: Measure
    saves: Measure
    levels: Levels
    suppressed: Count
    classes: Count
    exact: bool


class SuppressionAlternative(AlternativeDocument):
    """The best release under another suppression limit."""

    share: Parameter


class RequirementCostDocument(TypedDict):
    """The utility cost of one requirement."""

    promise: Note
    without: AlternativeDocument
    alone: AlternativeDocument
    binds: list[ColumnName]


class RelaxedBoundDocument(TypedDict):
    """The nearest bound under which a column is not fully suppressed."""

    promise: Note
    of: Note
    bound: Parameter
    instead_of: Parameter
    at: AlternativeDocument
    proved: bool
    given_up: bool


class ColumnPriceDocument(TypedDict):
    """The level of one column, and the requirements that determine it."""

    column: ColumnName
    level: Count | None
    height: Count | None
    wiped_out: bool
    bound_by: list[Note]
    gentler: list[RelaxedBoundDocument]


class ExplanationDocument(TypedDict):
    """The utility cost of each requirement."""

    method: Word
    objective: Word
    value: Measure
    loss: Measure
    promises: list[RequirementCostDocument]
    columns: list[ColumnPriceDocument]
    suppression: list[SuppressionAlternative]
    boxes: AlternativeDocument | None
    cut_short: bool
    notes: list[Note]
    settings: TableSettings
    wiped_out: list[ColumnName]
    exact: bool


class ObjectiveDocument(TypedDict):
    """The objective of a search, its value, and the gap to the optimum."""

    name: Word
    value: Measure
    gap: Measure


class HierarchyRuleDocument(TypedDict, total=False):
    """The rule that a hierarchy is made by."""

    prefix: bool
    mask: bool
    intervals: DataValue
    cuts: DataValue
    start: DataValue
    bottom: DataValue
    top: DataValue
    order: DataValue
    groups: DataValue
    dates: list[Word]
    format: Word
    suppress: bool
    keep: DataValue
    other: DataValue
    rows: DataValue
    file: FileName
    levels: DataValue
    taxonomy: DataValue


class NodeDocument(TypedDict):
    """One combination of levels that a search checked."""

    levels: Levels
    feasible: bool
    value: Measure | None
    suppressed: Count
    classes: Count
    obstacle: Note | None


class GeneralizeDocument(TypedDict):
    """Document of `divulge generalize`."""

    levels: Levels
    objective: ObjectiveDocument
    suppressed: Count
    classes: Count
    lattice: Count
    checked: Count
    method: Word
    promises: list[RequirementDocument]
    explanation: ExplanationDocument | None
    chosen_hierarchies: dict[ColumnName, HierarchyRuleDocument]
    published_as_is: list[ColumnName]
    uniqueness: UniquenessDocument | None
    notes: list[Note]
    written: FileName | None
    private: FileName | None
    utility: UtilityDocument | None
    before: MeasurementDocument
    after: MeasurementDocument
    optima: NotRequired[list[Levels]]
    nodes: NotRequired[list[NodeDocument]]
    ledger: NotRequired[LedgerEntryDocument]
    settings: NotRequired[TableSettings]


class FrontPoint(TypedDict):
    """One combination of levels, its risk and its cost."""

    levels: Levels
    leakage: Measure
    value: Measure
    suppressed: Count
    classes: Count
    on_front: bool
    further: list[Measure]


class FrontDocument(TypedDict):
    """Document of `divulge generalize --pareto`."""

    metric: MetricName
    attribute: ColumnName | None
    objective: Word
    points: list[FrontPoint]
    further: list[Word]
    settings: TableSettings
    notes: list[Note]


# --- anatomize ------------------------------------------------------------------------------------
class CoefficientDocument(TypedDict):
    """Association of two columns."""

    left: ColumnName
    right: ColumnName
    value: Measure


class DivisionDocument(TypedDict):
    """The division of the quasi-identifiers into tables."""

    linkage: Word | None
    association: Word | None
    weights: dict[ColumnName, Measure]
    coefficients: list[CoefficientDocument]


class GroupingAlternative(TypedDict):
    """A grouping under other bounds."""

    groups: Count
    groups_at_most: Count
    group_sizes: GroupSizes
    levels: Bounds


class BoundPriceDocument(TypedDict):
    """The utility cost of one bound."""

    name: Word
    bound: FractionText
    without: GroupingAlternative
    alone: GroupingAlternative


class GroupPricesDocument(TypedDict):
    """The utility cost of each bound of an anatomized release."""

    groups: Count
    bounds: list[BoundPriceDocument]
    cut_short: bool
    notes: list[Note]
    settings: AnatomySettings


class AnatomizeDocument(TypedDict):
    """Document of `divulge anatomize`."""

    tables: list[list[ColumnName]]
    groups: Count
    groups_at_most: Count
    groups_proved_most: bool
    group_sizes: GroupSizes
    levels: Bounds
    recq: QueryErrorDocument | NoQueryError
    promises: Bounds
    explanation: GroupPricesDocument | None
    method: Word
    settings: AnatomySettings
    engine: Word
    rows: Count
    left_out: dict[ColumnName, Word]
    notes: list[Note]
    division: DivisionDocument
    attacks: list[AttemptDocument] | None
    written: FileName | None
    private: FileName | None
    utility: UtilityDocument | None
    ledger: NotRequired[LedgerEntryDocument]


class ProvedTables(TypedDict):
    """Proved bounds for a number of tables."""

    tables: list[list[ColumnName]]
    least_alpha: FractionText
    never_gamma: FractionText
    kept_gamma: FractionText
    verdict: Word | None


class ProvedBounds(TypedDict):
    """The least bounds that any grouping can meet."""

    least_beta: FractionText
    least_delta: FractionText
    records_per_group: Count
    tables: list[ProvedTables]


class PaperBounds(TypedDict):
    """The bounds that the paper states for a number of tables."""

    tables: Count
    never_alpha_below: FractionText
    always_alpha_above: FractionText
    wrong_here: bool


class TriedGroupingDocument(TypedDict):
    """One grouping that was made."""

    tables: Count
    beta: FractionText
    groups: Count
    group_sizes: GroupSizes
    levels: Bounds
    recq: Measure


class AdviceDocument(TypedDict):
    """Document of `divulge anatomize --advise`."""

    rows: Count
    asked: dict[Word, FractionText]
    proved: ProvedBounds
    paper: list[PaperBounds]
    measured: list[TriedGroupingDocument]
    settings: AnatomySettings


# --- apply, query ---------------------------------------------------------------------------------
class DeferralReason(TypedDict):
    """A reason for which later rows were deferred."""

    reason: Note
    records: Count


class NewRecordsDocument(TypedDict):
    """The new records by themselves."""

    smallest_class: Count
    unique: Count


class DeferralAttackDocument(TypedDict):
    """Attack by the knowledge that records were deferred."""

    about: ColumnName | None
    targets: Count
    guesses: Count
    successes: Measure
    rate: Measure
    low: Measure
    high: Measure
    prior: Measure | None
    bound: Measure | None
    promise: Note | None
    broken: bool


class ApplyDocument(TypedDict):
    """Document of `divulge apply`."""

    rows: Count
    previously_deferred: Count
    published: Count
    suppressed: Count
    deferred: Count
    deferred_because: list[DeferralReason]
    max_deferred: Parameter
    accept_incremental_risk: bool
    new_records: NewRecordsDocument
    uniqueness: UniquenessDocument | None
    deferral_attacks: list[DeferralAttackDocument]
    promises: list[RequirementDocument]
    alone: list[RequirementDocument]
    beside: list[RequirementDocument] | None
    unchecked: list[Note]
    written: FileName
    private: FileName | None
    together: MeasurementDocument
    ledger: NotRequired[LedgerEntryDocument]


class CountDocument(TypedDict):
    """Document of `divulge query` that counts records: an estimate with guaranteed bounds."""

    what: Literal["count"]
    estimate: Measure | None
    low: Measure | None
    high: Measure | None
    settings: QuerySettings


class AggregateDocument(TypedDict):
    """Document of `divulge query` of a sum or an average; of few people it is the value of one."""

    what: Literal["sum", "average"]
    estimate: DataValue
    low: DataValue
    high: DataValue
    settings: QuerySettings


# --- hierarchies ----------------------------------------------------------------------------------
class LevelDocument(TypedDict):
    """One level of a hierarchy."""

    level: Count
    labels: Count
    largest: Count
    examples: list[DataValue]


class HierarchyDocument(TypedDict):
    """A hierarchy, without its rows."""

    column: ColumnName
    height: Count
    leaves: Count
    null: list[DataValue]
    levels: list[LevelDocument]


class HierarchyShowDocument(TypedDict):
    """Document of `divulge hierarchy show`."""

    hierarchies: dict[ColumnName, HierarchyDocument]


class HierarchyBuildDocument(TypedDict):
    """Document of `divulge hierarchy build`."""

    hierarchies: dict[ColumnName, HierarchyDocument]
    rules: dict[ColumnName, HierarchyRuleDocument]
    reasons: dict[ColumnName, Note]
    settings: SourceSettings
    written: list[FileName]


class RangeDocument(TypedDict):
    """One range of a column that was cut."""

    low: DataValue
    high: DataValue
    people: Count
    information: Measure


class HierarchyCutDocument(TypedDict):
    """Document of `divulge hierarchy cut`."""

    column: ColumnName
    attribute: ColumnName
    ranges: list[RangeDocument]
    information: Measure
    original_information: Measure
    beside: list[ColumnName]
    whole_information: Measure | None
    information_loss: Measure
    whole_loss: Measure | None
    rule: HierarchyRuleDocument
    settings: TableSettings
    notes: list[Note]
    written: list[FileName]


class CoveredHierarchy(TypedDict):
    """The numbers of values of a column and of leaves of its hierarchy."""

    values: Count
    leaves: Count
    height: Count


class CoverageGap(TypedDict):
    """The values of a column that its hierarchy lacks."""

    column: ColumnName
    missing: list[DataValue]
    rule: DataValue


class HierarchyCheckDocument(TypedDict):
    """Document of `divulge hierarchy check`."""

    covered: bool
    hierarchies: dict[ColumnName, CoveredHierarchy]
    gaps: list[CoverageGap]
    settings: SourceSettings


class HierarchyConvertDocument(TypedDict):
    """Document of `divulge hierarchy convert`."""

    written: list[FileName]


# --- ledger ---------------------------------------------------------------------------------------
class EntryFields(TypedDict):
    """The fields of a ledger entry."""

    number: Count
    dataset: FileName
    recipient: FileName
    state: Word
    at: Moment
    expires: Moment | None
    retracted: Moment | None
    kind: Word
    rows: Count
    version: Count | None
    place: FileName


class ReleaseRoles(TypedDict):
    """The columns of a release by role."""

    quasi_identifiers: list[ColumnName]
    sensitive: list[ColumnName]


class EntryDocument(EntryFields):
    """Document of `divulge ledger show`, `add` and `retract`."""

    roles: ReleaseRoles
    promises: list[Note]
    settings: LedgerSettings


class ForgottenDocument(EntryFields):
    """Document of `divulge ledger forget`."""

    forgotten: bool
    settings: LedgerSettings


class HoldingsDocument(TypedDict):
    """Document of `divulge ledger list` and `export`."""

    releases: list[EntryFields]
    settings: LedgerSettings
