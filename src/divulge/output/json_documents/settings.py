# SPDX-License-Identifier: Apache-2.0
"""Types of the `settings` of JSON documents: everything that the numbers depend on."""

from __future__ import annotations

from typing import Required, TypedDict

from divulge.marks import (
    ColumnName,
    Count,
    DataValue,
    FileName,
    FractionText,
    MetricName,
    Moment,
    Note,
    Parameter,
    Word,
)


class ReadingSettings(TypedDict, total=False):
    """The reading of a source: options that were set, and those that were detected."""

    kind: Required[Word]
    delimiter: Word
    decimal: Word
    encoding: Word
    table: FileName
    sql: DataValue
    sheet: FileName
    header: bool
    codes: bool
    union_columns: bool
    types: dict[ColumnName, Word]
    version: Count
    snapshot: Count | None
    labels: list[ColumnName]
    notes: Required[list[Note]]


class SourceSettings(TypedDict, total=False):
    """The table, and how it was read."""

    engine: Word
    source: FileName | list[FileName]
    read: ReadingSettings
    nulls: Word


class PolicyFile(TypedDict):
    """The policy file in effect."""

    file: FileName
    found: bool


class ReleaseSettings(TypedDict, total=False):
    """The release that was measured or checked."""

    folder: FileName
    kind: Word
    private: bool
    promises: Word
    with_earlier: bool
    generalized: dict[ColumnName, Count]


class LookupDocument(TypedDict):
    """The lookup of the people of a table in a release."""

    how: Word
    several: Count
    misfits: Count
    too_many: Count
    unfound: Count


class PriorReleaseSettings(TypedDict):
    """A prior release that was taken into account."""

    release: FileName
    kind: Word
    classes: Count
    classes_sha256: Word | None
    made_of: FileName | None
    people: Count
    found_by: LookupDocument
    certain: bool


class Background(TypedDict, total=False):
    """Background knowledge about one attribute."""

    ruled_out: list[DataValue]
    ruled_in: list[DataValue]


class TableSettings(SourceSettings, total=False):
    """Settings of a measurement, and of everything that contains one."""

    divulge: Word
    counts: Word
    quasi_identifiers: list[ColumnName]
    sensitive: list[ColumnName]
    identifier: list[ColumnName]
    leave_out: list[ColumnName]
    plain: list[ColumnName]
    person: ColumnName | None
    person_published: bool
    weight: ColumnName | None
    nulls: Word
    suppressed: dict[DataValue, Word]
    prior: dict[ColumnName, FileName]
    prior_weights: dict[ColumnName, DataValue]
    original: FileName | None
    background: dict[ColumnName, Background]
    ground_distance: dict[ColumnName, Word]
    orders: dict[ColumnName, list[DataValue]]
    recursive_l: dict[ColumnName, Parameter]
    right_guess: dict[ColumnName, DataValue]
    population: FileName | None
    population_estimator: Word | None
    population_recoded: dict[ColumnName, DataValue] | None
    log_base: Parameter
    tolerance: Parameter
    unique_share: Parameter | None
    policy: PolicyFile
    release: ReleaseSettings
    released: list[PriorReleaseSettings]
    itpr_bands: list[Parameter]
    itpr_bands_from: Word
    # of explanations and rankings
    promises: list[Note]
    suppression: Parameter
    objective: Word
    work: Parameter
    strict: bool
    up_to: Count
    prune: bool
    threshold: Parameter
    threshold_metric: MetricName
    every: Count
    # of cut points
    most: Count | None
    keep: list[DataValue]
    among: list[DataValue] | None
    against: list[ColumnName]


class RepairSettings(TypedDict):
    """Settings of a repair of ITPR, without those of the measurement."""

    search: Word
    steps: Count
    limit: Parameter
    looked_at: Word


class Bounds(TypedDict):
    """Bounds or levels of an anatomized release, as exact fractions."""

    alpha: FractionText
    beta: FractionText
    gamma: FractionText
    delta: FractionText


class AnatomySettings(SourceSettings, total=False):
    """Settings of an anatomized release."""

    model: Bounds
    tables: list[list[ColumnName]] | Count
    linkage: Word
    association: Word
    max_table_size: Count | None
    algorithm: Word
    locality: bool
    group_size: Count
    l_diversity: Count
    check: Word
    beta: FractionText
    presence: FractionText
    records: Word
    chunks: Count
    chunk_rows: Count
    work: Parameter
    sensitive: list[ColumnName]
    nulls: Word
    released: list[PriorReleaseSettings]
    policy: PolicyFile
    # of advice
    method: Word
    most_tables: Count
    queries: Count
    seed: Parameter


class AnatomyCheckSettings(SourceSettings, total=False):
    """Settings of a check of an anatomized release."""

    bounds: dict[Word, Word]
    sensitive: list[ColumnName]
    group: ColumnName
    count: ColumnName
    prior: Word
    released: list[PriorReleaseSettings]
    release: ReleaseSettings
    policy: PolicyFile


class GuessSettings(TypedDict, total=False):
    """The number of guesses of the adversary and their tolerance, by column."""

    tries: dict[ColumnName, Parameter]
    within: dict[ColumnName, DataValue]


class AttackRunSettings(SourceSettings, total=False):
    """Settings of simulated attacks."""

    truth: FileName
    control: FileName | None
    attacks: list[Word]
    knows: list[ColumnName]
    identifier: list[ColumnName]
    policy: list[Note]
    quasi_identifiers: list[ColumnName]
    sensitive: list[ColumnName]
    records: Count
    targets: Count
    controls: Count | None
    seed: Parameter
    wrong: Parameter
    subsets: Count
    reading: dict[ColumnName, Word]
    promises: list[Note]
    guesses: GuessSettings
    prior: dict[ColumnName, Word]
    background_knowledge: dict[ColumnName, Background]
    background: FileName | None
    population: FileName | None
    suppressed: dict[DataValue, Word]
    least_distance: dict[ColumnName, Parameter]
    taxonomies: list[ColumnName]
    agreeing: Count | None
    interval: Parameter


class ModelSettings(TypedDict, total=False):
    """Settings of the models by which the utility of a release is measured."""

    target: ColumnName
    values: Count
    model: Word
    features: list[ColumnName]
    too_many_values: list[ColumnName]
    folds: Count
    seed: Parameter
    scored_on: Word
    records: Word


class QueryWorkloadSettings(TypedDict):
    """A workload of random queries."""

    workload: Word
    queries: Count
    quasi_identifiers: list[Count]
    seed: Parameter
    floor: Parameter


class UtilitySettings(TypedDict):
    """Settings of the utility of a release."""

    original: FileName
    read: ReadingSettings
    release: FileName
    kind: Word
    engine: Word
    quasi_identifiers: list[ColumnName]
    sensitive: list[ColumnName]
    counted: Word
    distance: Word
    labels: dict[ColumnName, Word]
    spread: Word
    association: Word
    information: Word
    queries: QueryWorkloadSettings | None
    model: ModelSettings | None


LabelSettings = TypedDict("LabelSettings", {"from": Word, "type": Word})


class QuerySettings(TypedDict):
    """Settings of an answer to a query."""

    source: list[FileName]
    condition: DataValue
    expression: DataValue
    records: Count
    left_out: Count
    labels: dict[ColumnName, LabelSettings]


class AttackDraw(TypedDict):
    """The people that the attacks of a comparison are made on."""

    records: Count
    seed: Parameter


class CompareSettings(TypedDict, total=False):
    """Settings of a comparison."""

    divulge: Word
    reference: FileName
    original: FileName | None
    sources: dict[FileName, FileName]
    engine: Word
    quasi_identifiers: list[ColumnName]
    sensitive: list[ColumnName]
    identifier: list[ColumnName]
    person: ColumnName | None
    weight: ColumnName | None
    nulls: Word
    prior: dict[FileName, dict[ColumnName, FileName]]
    policies: list[FileName]
    applied: bool
    target: ColumnName | None
    tolerance: Parameter
    attack: AttackDraw | None
    together: bool
    policy: PolicyFile


class ComposeSettings(TableSettings, total=False):
    """Settings of a composition."""

    releases: list[FileName]
    found_by: list[Word]
    upper_bound: bool
    versions: Count
    version: Word
    people: Count


class PerturbedSettings(TypedDict):
    """Settings of a measurement of perturbed values."""

    engine: Word
    original: FileName
    published: FileName
    columns: list[ColumnName]
    sensitive: list[ColumnName]
    key: ColumnName | None
    epsilon: Parameter | None
    nulls: Word
    log_base: Parameter


class MergingCost(TypedDict, total=False):
    """The price of merging records."""

    coefficient: Parameter
    exponent: Parameter


class DossierSettings(TypedDict, total=False):
    """Settings of a dossier: the measure of leakage, and how records are merged."""

    method: Word
    beta: Parameter
    weights: dict[ColumnName, Parameter]
    equivalence: bool
    graded: dict[ColumnName, Parameter | Word]
    background: list[DataValue]
    joint: dict[ColumnName, list[ColumnName]]
    resolve: DataValue
    er: Word
    trust: Parameter
    cost: MergingCost | Word
    link: DataValue
    probability: Parameter
    prior: Parameter
    seed: Parameter
    blocking: DataValue
    corrected: list[ColumnName]
    augment: list[ColumnName]
    augment_confidence: Parameter
    operators: list[Word]
    price: Word
    quasi_identifiers: list[ColumnName]
    generalized_confidence: Parameter
    same: list[DataValue]
    background_tables: list[FileName]
    files: dict[Word, FileName | list[FileName]]


class LedgerSettings(TypedDict, total=False):
    """Settings of a list of releases."""

    ledger: FileName
    today: Moment
    dataset: FileName | None
    recipients: list[FileName] | None
