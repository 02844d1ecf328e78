# SPDX-License-Identifier: Apache-2.0
"""Probabilistic entity resolution with Splink (Fellegi and Sunter), on DuckDB or Spark.

Match rules are deterministic; this module estimates the probability that two records are about one
person. The probability is carried into the confidences. Seen from one record of a group, the
confidence of another record's attribute is multiplied by the probability of the most likely chain
of matches between the two. A group is seen from the record with the most and likeliest matches, or
from the given anchor. As everywhere in the model, confidences count as independent.

m is the probability that a label agrees for one person, u that it agrees by chance. They are
learned from the records, or given for each label if there are few records. Records share a label if
they have a value of it in common; with `edits`, nearly equal values count too. Needs the extra
`linkage`.
"""

from __future__ import annotations

import heapq
import importlib
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from divulge.dossier.operators import Cost, Priced
from divulge.dossier.record import Database, Record, highest
from divulge.dossier.resolve import MatchRule, all_sources, as_rule, name_of, nodes_of, with_ids
from divulge.errors import BadInput, MissingDependency, nearest
from divulge.validation import checked, checked_fields

if TYPE_CHECKING:
    import pyarrow as pa


# --- interface to Splink 5 ------------------------------------------------------------------------
#
# No other module uses its interface. Each compared label becomes a column with the list of a
# record's values, the most confident first. Labels are renamed, so that no name reaches SQL. Pairs
# share a value of the blocking labels. The probability of agreement by chance (u) is learned from
# random pairs. That of agreement for one person (m) is learned by expectation maximization on pairs
# that agree on another label.
Model: TypeAlias = Mapping[str, tuple[tuple[float, float], ...]]
SMALLEST = 1e-3
"""The probability of a level that did not occur in training, so that nothing is impossible."""


@checked_fields
@dataclass(frozen=True)
class Compared:
    """A label by which records are compared."""

    label: str
    edits: int = 0
    """The largest number of typing errors between nearly equal values.

    The most confident value of each record is compared.
    """
    levels: tuple[tuple[float, float], ...] = ()
    """Given (m, u) for equal values and, with `edits`, for nearly equal ones; empty: learned.

    The rest is the probability of different values.
    """

    def __post_init__(self) -> None:
        if self.edits < 0:
            raise BadInput(f"{self.label!r} allows {self.edits} edits", hint="0 or more")
        if self.edits:
            expected_levels = 2
        else:
            expected_levels = 1
        if self.levels and len(self.levels) != expected_levels:
            raise BadInput(
                f"{self.label!r} has {len(self.levels)} levels, {expected_levels} expected",
                hint="give (m, u) for each",
            )
        for probabilities in zip(*self.levels, strict=True):
            if not all(0 < share < 1 for share in probabilities) or sum(probabilities) >= 1:
                raise BadInput(
                    f"the probabilities of {self.label!r} are {probabilities}",
                    hint="each above 0, together below 1",
                )


def match(
    records: Database,
    labels: Sequence[Compared],
    rule: MatchRule,
    *,
    prior: float,
    least: float,
    seed: int,
    spark: Any,
) -> tuple[Model, list[tuple[float, int, int]]]:
    """Return the model, and (probability, index, index) of the pairs with at least `least`.

    The likeliest pairs come first.
    """
    columns = {comparison.label: f"c{number}" for number, comparison in enumerate(labels)}
    request = _SplinkRequest(
        columns,
        labels,
        [[columns[label] for label in clause] for clause in rule.clauses],
        prior,
        least,
        seed,
    )
    training = [[column] for column in _columns_with_repeats(records, columns)]
    model, rows = _predict([_as_table(records, columns)], request, training, spark)
    scored_pairs = zip(
        *(rows[name].to_pylist() for name in ("match_probability", "unique_id_l", "unique_id_r")),
        strict=True,
    )
    pairs = ((probability, *sorted(indexes)) for probability, *indexes in scored_pairs)
    return model, sorted(pairs, key=lambda pair: (-pair[0], *pair[1:]))


@checked
def link_tables(
    left: Any,
    right: Any,
    comparisons: Sequence[Compared],
    *,
    blocking: Sequence[Sequence[str]],
    prior: float,
    threshold: float = 0.5,
) -> Any:
    """Find pairs of rows of two tables that are likely about one person.

    Needs the extra `linkage`. Few pairs between two tables are about one person, which is too
    little for training, so the comparisons need their levels.

    Args:
        left: An Arrow table of texts, with columns named like the labels of the comparisons.
        right: Another such table.
        comparisons: The labels by which rows are compared, each with `levels`.
        blocking: Sets of labels; a pair that agrees on all labels of one set is compared.
        prior: The probability that two random rows are about one person.
        threshold: The smallest probability of a reported pair.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> ours, theirs = pa.table({"N": ["Ann", "Bea"]}), pa.table({"N": ["Bea", "Cid"]})
        >>> names = dv.dossier.Compared("N", levels=((0.9, 0.1),))
        >>> found = dv.dossier.link_tables(ours, theirs, [names], blocking=[["N"]], prior=0.5)
        >>> found.select(["left", "right"]).to_pylist(), round(found["probability"][0].as_py(), 6)
        ([{'left': 1, 'right': 0}], 0.9)
    """
    import pyarrow as pa

    _check_tables([left, right], comparisons, threshold, prior)
    columns = {comparison.label: f"c{number}" for number, comparison in enumerate(comparisons)}
    if unknown_labels := [label for clause in blocking for label in clause if label not in columns]:
        raise BadInput(
            f"the blocking uses {unknown_labels[0]!r}, which is not compared",
            hint="compare it as well",
        )
    blocks = [[columns[label] for label in clause] for clause in blocking]
    tables = [
        pa.table(
            {"unique_id": pa.array(range(side.num_rows), pa.int64())}
            | {column: _lists_of_one(side.column(label)) for label, column in columns.items()}
        )
        for side in (left, right)
    ]
    _, rows = _predict(
        tables, _SplinkRequest(columns, comparisons, blocks, prior, threshold), [], None
    )
    pair_columns = {
        "left": rows["unique_id_l"],
        "right": rows["unique_id_r"],
        "probability": rows["match_probability"],
    }
    return pa.table(pair_columns).sort_by(
        [("left", "ascending"), ("probability", "descending"), ("right", "ascending")]
    )


def _check_tables(
    tables: Sequence[Any], compared: Sequence[Compared], threshold: float, prior: float
) -> None:
    import pyarrow as pa

    for side in tables:
        if not isinstance(side, pa.Table):
            raise BadInput(
                f"{type(side).__name__} is not an Arrow table", hint="pyarrow.table(...) makes one"
            )
        if missing_labels := [
            comparison.label for comparison in compared if comparison.label not in side.column_names
        ]:
            raise BadInput(
                f"a table has no column {missing_labels[0]!r}",
                hint=nearest(missing_labels[0], side.column_names),
            )
    if not compared or not all(comparison.levels for comparison in compared):
        raise BadInput(
            "a comparison comes without levels",
            hint="compare at least one label, and give (m, u) for each",
        )
    for name, share in (("threshold", threshold), ("prior", prior)):
        if not 0 < share < 1:
            raise BadInput(
                f"the {name} is {share!r}", hint="it lies between 0 and 1, without the ends"
            )


def _lists_of_one(column: pa.ChunkedArray) -> pa.Array:
    """A list with the text of each cell; null stays null."""
    import pyarrow as pa

    cells = column.combine_chunks()
    return pa.array(
        [None if cell is None else [cell] for cell in cells.to_pylist()], pa.list_(pa.string())
    )


@dataclass(frozen=True)
class _SplinkRequest:
    """The settings of a Splink run."""

    columns: Mapping[str, str]
    labels: Sequence[Compared]
    blocks: Sequence[list[str]]
    prior: float
    least: float
    seed: int = 1


def _predict(
    tables: Sequence[pa.Table], request: _SplinkRequest, training: Sequence[list[str]], spark: Any
) -> tuple[Model, pa.Table]:
    """Train the model and predict pairs, within one table or between two.

    The model is learned from pairs that agree in a set of columns.
    """
    splink = _import_splink(spark)
    # lists are 1-based in DuckDB and 0-based in Spark
    if spark is None:
        first = 1
    else:
        first = 0
    settings = {
        "link_type": "dedupe_only" if len(tables) == 1 else "link_only",
        "probability_two_random_records_match": request.prior,
        "comparisons": [
            _comparison(compared_label, request.columns[compared_label.label], first)
            for compared_label in request.labels
        ],
        "blocking_rules_to_generate_predictions": [
            splink.block_on(*names, arrays_to_explode=list(names)) for names in request.blocks
        ],
        "retain_matching_columns": False,
    }
    with _silence_splink():
        # on Spark, intermediate tables stay in memory: no checkpoint folder is needed; only Spark's
        # own functions are used
        on_spark = {
            "spark_session": spark,
            "break_lineage_method": "persist",
            "register_udfs_automatically": False,
        }
        if spark is None:
            api = splink.DuckDBAPI()
        else:
            api = splink.SparkAPI(**on_spark)
        splink_tables = [api.register(table) for table in tables]
        if len(splink_tables) == 1:
            linker_input: Any = splink_tables[0]
        else:
            linker_input = splink_tables
        linker = splink.Linker(linker_input, splink.SettingsCreator(**settings), log_level=None)
        if not request.labels[0].levels:
            linker.training.estimate_u_using_random_sampling(max_pairs=5e6, seed=request.seed)
            for names in training:
                blocked = splink.block_on(*(f"{column}[{first}]" for column in names))
                linker.training.estimate_parameters_using_expectation_maximisation(blocked)
        trained_model = _fill_untrained_levels(linker.misc.save_model_to_json(), request.columns)
        linker = splink.Linker(linker_input, trained_model, log_level=None)
        rows = linker.inference.predict(
            threshold_match_probability=request.least, warning_mode="never"
        ).as_pyarrow_table()
    shares = (
        tuple(
            (float(level["m_probability"]), float(level["u_probability"]))
            for level in _levels(comparison)
        )
        for comparison in trained_model["comparisons"]
    )
    return dict(zip(request.columns, shares, strict=True)), rows


def _columns_with_repeats(records: Database, columns: Mapping[str, str]) -> list[str]:
    """Columns whose most confident value occurs in two records.

    Without such a pair, Splink's training fails.
    """
    firsts = {
        c: [label_values[0] for r in records if (label_values := _values(r, label))]
        for label, c in columns.items()
    }
    return [column for column, values in firsts.items() if len(set(values)) < len(values)]


def _fill_untrained_levels(model: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Fill in the probabilities of cases that did not occur in training.

    A label needs the case of equal values; other cases get a small share.
    """
    labels = {column: label for label, column in columns.items()}
    for comparison in model["comparisons"]:
        levels = _levels(comparison)
        for kind in ("m_probability", "u_probability"):
            if levels[0].get(kind) is None:
                raise BadInput(
                    "too few records agree to learn how much "
                    f"{labels[comparison['output_column_name']]!r} says",
                    hint="give each label its levels, or compare other labels",
                )
            for level in levels:
                if level.get(kind) is None:
                    level[kind] = SMALLEST
    return model


def _levels(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [level for level in comparison["comparison_levels"] if not level.get("is_null_level")]


def _comparison(compared: Compared, column: str, first: int) -> Any:
    library = importlib.import_module("splink.comparison_library")
    levels = importlib.import_module("splink.comparison_level_library")
    near_condition = f"levenshtein({column}_l[{first}], {column}_r[{first}]) <= {compared.edits}"
    comparison = library.CustomComparison(
        output_column_name=column,
        comparison_levels=[
            levels.NullLevel(column),
            levels.ArrayIntersectLevel(column, min_intersection=1),
            *(
                [levels.CustomLevel(near_condition, label_for_charts="nearly equal")]
                if compared.edits
                else []
            ),
            levels.ElseLevel(),
        ],
    )
    if not compared.levels:
        return comparison
    m, u = ([*column, 1 - sum(column)] for column in zip(*compared.levels, strict=True))
    return comparison.configure(m_probabilities=m, u_probabilities=u)


def _as_table(records: Database, columns: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa

    lists = pa.list_(pa.string())
    data = {
        column: pa.array([_values(r, label) for r in records], lists)
        for label, column in columns.items()
    }
    return pa.table({"unique_id": pa.array(range(len(records)), pa.int64()), **data})


def _values(record: Record, label: str) -> list[str] | None:
    """The values of a label, the most confident first; None without values.

    None compares with nothing.
    """
    ranked_values = sorted((-c, a.value) for a, c in record.attributes.items() if a.label == label)
    return [value for _, value in ranked_values] or None


def _import_splink(spark: Any) -> Any:
    try:
        splink = importlib.import_module("splink")
    except ImportError:
        raise MissingDependency(
            "probabilistic entity resolution needs the package splink", extra="linkage"
        ) from None
    if int(splink.__version__.split(".")[0]) < 5:
        raise MissingDependency(
            f"splink {splink.__version__} is too old, version 5 is needed",
            hint="pip install 'splink>=5'",
        )
    if spark is not None and not hasattr(spark, "createDataFrame"):
        raise BadInput(
            f"{type(spark).__name__} is not a Spark session", hint="pass the SparkSession itself"
        )
    return splink


@contextmanager
def _silence_splink() -> Iterator[None]:
    """Silence Splink's log about its training; divulge checks the relevant parts itself."""
    logger = logging.getLogger("splink")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


# --- merging by probability -----------------------------------------------------------------------
@dataclass(frozen=True)
class Pair:
    """Two records and the probability that they are about one person."""

    left: str
    right: str
    probability: float


@dataclass(frozen=True)
class Linkage:
    """The records after probabilistic merging, the matches, and the model."""

    records: Database
    pairs: tuple[Pair, ...]
    """The matches at or above the threshold, the most likely first."""
    model: Model
    """(m, u) per label for equal, nearly equal (if requested) and different values."""
    prior: float
    threshold: float
    engine: str

    def graph(self) -> dict[str, list[dict[str, Any]]]:
        """Nodes and edges for a chart: one node for each given record, one edge for each match."""
        edges = [
            {"source": pair.left, "target": pair.right, "probability": pair.probability}
            for pair in self.pairs
        ]
        return {"nodes": nodes_of(self.records), "edges": edges}


@checked
def link(
    database: Sequence[Record],
    comparisons: Sequence[Compared | str],
    *,
    threshold: float = 0.9,
    prior: float | None = None,
    blocking: MatchRule | str | None = None,
    anchor: str | None = None,
    seed: int = 1,
    spark: Any = None,
) -> Linkage:
    """Merge the records that are likely to be about one person (Fellegi and Sunter).

    Needs the extra `linkage`.

    Args:
        database: The adversary's records.
        comparisons: The labels by which records are compared; a `Compared` has more options.
        threshold: The smallest probability of a match at which two records are merged.
        prior: The probability that two random records are about one person; the default is 1 /
            number of records.
        blocking: The pairs to compare, as a rule of `resolve`; by default those that share a value
            of any compared label.
        anchor: The id of the record from which its group is seen; by default the one with the most
            and likeliest matches.
        seed: The seed of the random pairs from which agreement by chance is learned.
        spark: A Spark session for the comparison; by default DuckDB is used.

    Examples:
        >>> import divulge as dv
        >>> known = [
        ...     dv.dossier.Record.of({"N": "Ann"}, id="a"),
        ...     dv.dossier.Record.of({"N": "Ann", "P": "1"}, id="b"),
        ... ]
        >>> names = dv.dossier.Compared(
        ...     "N", levels=((0.9, 0.1),)
        ... )  # equal for 9 in 10 pairs of one person, for 1 in 10 of others
        >>> found = dv.dossier.link(known, [names], threshold=0.5, prior=0.5)
        >>> round(found.pairs[0].probability, 6)
        0.9
    """
    compared = [
        Compared(comparison) if isinstance(comparison, str) else comparison
        for comparison in comparisons
    ]
    records = with_ids(database)
    if prior is None:
        prior = 1 / max(2, len(records))
    _check_comparisons(compared, records, threshold, prior)
    if blocking is None:
        rule = MatchRule(tuple((comparison.label,) for comparison in compared))
    else:
        rule = as_rule(blocking)
    if unknown_labels := [
        label for label in rule.labels if label not in {comparison.label for comparison in compared}
    ]:
        raise BadInput(
            f"the blocking rule uses {unknown_labels[0]!r}, which is not compared",
            hint="compare it as well",
        )
    model, scored_pairs = match(
        records, compared, rule, prior=prior, least=threshold, seed=seed, spark=spark
    )
    pairs = tuple(
        Pair(name_of(records[left]), name_of(records[right]), probability)
        for probability, left, right in scored_pairs
    )
    merged = merge_by_probability(records, pairs, anchor=anchor)
    return Linkage(merged, pairs, model, prior, threshold, "duckdb" if spark is None else "spark")


@checked_fields
@dataclass(frozen=True)
class Link(Priced):
    """Probabilistic entity resolution as an operator.

    It is not monotone, because more records change the model.
    """

    comparisons: tuple[Compared | str, ...]
    threshold: float = 0.9
    prior: float | None = None
    blocking: MatchRule | str | None = None
    anchor: str | None = None
    """The id of the record from which its group is seen."""
    seed: int = 1
    spark: Any = None
    price: Cost = field(default_factory=lambda: Cost(exponent=2))
    monotone = False
    merges = True

    def __call__(self, database: Database) -> Database:
        """The database after merging."""
        options = {
            setting.name: getattr(self, setting.name)
            for setting in fields(self)
            if setting.name != "price"
        }
        return link(database, options.pop("comparisons"), **options).records

    @property
    def settings(self) -> dict[str, Any]:
        """The operator's settings for the JSON output."""
        compared = [
            Compared(comparison) if isinstance(comparison, str) else comparison
            for comparison in self.comparisons
        ]
        labels = ",".join(
            f"{comparison.label}~{comparison.edits}" if comparison.edits else comparison.label
            for comparison in compared
        )
        if self.blocking is None:
            blocking_setting = {}
        else:
            blocking_setting = {"blocking": str(self.blocking)}
        return {
            "link": labels,
            "probability": self.threshold,
            "prior": self.prior,
            "seed": self.seed,
            **blocking_setting,
        }

    def seen_from(self, name: str) -> Link:
        """This operator with the record of this id as anchor."""
        return replace(self, anchor=name)


def merge_by_probability(
    records: Database, pairs: Sequence[Pair], *, anchor: str | None = None
) -> Database:
    """Merge groups of matching records, with discounted confidences.

    The confidence of each attribute is multiplied by the probability that its record belongs to the
    group.

    >>> pair = (Record.of({"N": "Ann"}, id="a"), Record.of({"P": "1"}, id="b"))
    >>> merge_by_probability(pair, [Pair("a", "b", 0.9)])[0].attributes["P", "1"]
    0.9
    """
    neighbors: dict[str, dict[str, float]] = {name_of(record): {} for record in records}
    for pair in pairs:
        neighbors[pair.left][pair.right] = neighbors[pair.right][pair.left] = pair.probability
    by_name = {name_of(record): record for record in records}
    merged = []
    merged_names = set[str]()
    for name, record in by_name.items():
        if name not in merged_names:
            group = _membership_probabilities(name, neighbors)
            merged_names.update(group)
            merged.append(
                _merge_group(group.keys(), by_name, neighbors, anchor) if len(group) > 1 else record
            )
    return tuple(merged)


def _merge_group(
    group: Collection[str],
    by_name: Mapping[str, Record],
    neighbors: Mapping[str, Mapping[str, float]],
    anchor: str | None,
) -> Record:
    if anchor in group:
        central = anchor
    else:
        central = max(sorted(group), key=lambda name: sum(neighbors[name].values()))
    membership = _membership_probabilities(str(central), neighbors)
    members = [by_name[name] for name in sorted(group)]
    attributes = highest(
        (a, c * membership[name_of(member)])
        for member in members
        for a, c in member.attributes.items()
    )
    sources = all_sources(members)
    return Record(attributes, "+".join(sorted(sources)), frozenset(sources))


def _membership_probabilities(
    start: str, neighbors: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """All reachable records, with the probability of the most likely chain.

    The algorithm is Dijkstra's on products.
    """
    membership: dict[str, float] = {}
    heap = [(-1.0, start)]
    while heap:
        negative_probability, name = heapq.heappop(heap)
        if name not in membership:
            membership[name] = -negative_probability
            for other, match_probability in neighbors[name].items():
                if other not in membership:
                    heapq.heappush(heap, (negative_probability * match_probability, other))
    return membership


def _check_comparisons(
    compared: Sequence[Compared], records: Database, threshold: float, prior: float
) -> None:
    labels = [comparison.label for comparison in compared]
    if not labels or len(set(labels)) < len(labels):
        raise BadInput(
            f"the compared labels are {labels}", hint="name each label once, and at least one"
        )
    for name, share in (("threshold", threshold), ("prior", prior)):
        if not 0 < share < 1:
            raise BadInput(
                f"the {name} is {share!r}", hint="it lies between 0 and 1, without the ends"
            )
    labels_with_levels = sum(bool(comparison.levels) for comparison in compared)
    if labels_with_levels not in (0, len(compared)):
        raise BadInput(
            "some labels come with probabilities and some without",
            hint="give them for all labels or for none",
        )
    if not labels_with_levels and (len(labels) < 2 or len(records) < 3):
        raise BadInput(
            f"nothing can be learnt from {len(records)} records compared by {len(labels)} labels",
            hint="compare at least two labels of at least three records, or give each label its "
            "levels",
        )
