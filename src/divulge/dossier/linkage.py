# SPDX-License-Identifier: Apache-2.0
"""Probabilistic entity resolution with Splink (Fellegi and Sunter), on DuckDB, or on Spark when a session is given.

Where match rules say yes or no, this says how likely two records are about one person, and the probability is carried
into the confidences: seen from one record of a group, an attribute of another counts with its own confidence times the
probability that the two belong together, along the most likely chain of matches. A group is seen from the record with the
most and likeliest matches, or from the one named as anchor. As everywhere in the model, confidences count as independent.

How often a label agrees for one person (m) and by chance (u) is learnt from the records, or given for each label when
there are few. Records share a label when they have a value of it in common; `edits` also lets nearly equal values count.
Needs the extra `linkage`.
"""

from __future__ import annotations

import heapq
import importlib
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from divulge import values
from divulge.dossier.operators import Cost, Priced
from divulge.dossier.record import Database, Record, highest
from divulge.dossier.resolve import MatchRule, all_sources, as_rule, name_of, nodes_of, with_ids
from divulge.errors import BadInput, MissingDependency, nearest

if TYPE_CHECKING:
    import pyarrow as pa


# --- the conversation with Splink 5 -----------------------------------------------------------------------------------
# Nothing else knows its interface. Each compared label becomes a column with the list of a record's values, the most confident first;
# labels are renamed, so that no name reaches SQL. Pairs share a value of the blocking labels. The chance of agreement by accident (u)
# is learnt from random pairs, that of agreement for one person (m) by expectation maximisation on pairs that agree on another label.
Model: TypeAlias = Mapping[str, tuple[tuple[float, float], ...]]
SMALLEST = 1e-3
"""The probability of a level that was never seen while learning, so that nothing becomes impossible."""


@values.checked_fields
@dataclass(frozen=True)
class Compared:
    """A label that records are compared by."""

    label: str
    edits: int = 0
    """Values that differ by up to so many typing errors are nearly equal (the most confident value of each record)."""
    levels: tuple[tuple[float, float], ...] = ()
    """Given instead of learnt: (m, u) for equal, then, with `edits`, for nearly equal; the rest is left for different."""

    def __post_init__(self) -> None:
        if self.edits < 0:
            raise BadInput(f"{self.label!r} allows {self.edits} edits", hint="0 or more")
        due = 2 if self.edits else 1
        if self.levels and len(self.levels) != due:
            raise BadInput(f"{self.label!r} has {len(self.levels)} levels, {due} expected", hint="give (m, u) for each")
        for each in zip(*self.levels, strict=True):
            if not all(0 < share < 1 for share in each) or sum(each) >= 1:
                raise BadInput(f"the probabilities of {self.label!r} are {each}", hint="each above 0, together below 1")


def match(
    records: Database, labels: Sequence[Compared], rule: MatchRule, *, prior: float, least: float, seed: int, spark: Any
) -> tuple[Model, list[tuple[float, int, int]]]:
    """The model, and (probability, place, place) of the pairs that are at least so likely, the likeliest first."""
    columns = {each.label: f"c{number}" for number, each in enumerate(labels)}
    asked = _Asked(
        columns, labels, [[columns[label] for label in clause] for clause in rule.clauses], prior, least, seed
    )
    training = [[column] for column in _repeated(records, columns)]
    model, rows = _predict([_as_table(records, columns)], asked, training, spark)
    found = zip(*(rows[name].to_pylist() for name in ("match_probability", "unique_id_l", "unique_id_r")), strict=True)
    pairs = ((likely, *sorted(places)) for likely, *places in found)
    return model, sorted(pairs, key=lambda pair: (-pair[0], *pair[1:]))


@values.checked
def link_tables(
    left: Any,
    right: Any,
    comparisons: Sequence[Compared],
    *,
    blocking: Sequence[Sequence[str]],
    prior: float,
    threshold: float = 0.5,
) -> Any:
    """The pairs of a row of one table and a row of another that are likely about one person; needs the extra `linkage`.

    Between two tables few pairs are about one person and too little can be learnt from them, so the comparisons come with their levels.

    Args:
        left: An Arrow table of texts, with columns called like the labels of the comparisons.
        right: Another one.
        comparisons: What rows are compared by, each with `levels`.
        blocking: Sets of labels; a pair that agrees on all of one of them is compared.
        prior: The chance that two rows taken at random are about one person.
        threshold: How likely a pair must be to be told.

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
    columns = {each.label: f"c{number}" for number, each in enumerate(comparisons)}
    if strangers := [label for clause in blocking for label in clause if label not in columns]:
        raise BadInput(f"the blocking uses {strangers[0]!r}, which is not compared", hint="compare it as well")
    blocks = [[columns[label] for label in clause] for clause in blocking]
    tables = [
        pa.table(
            {"unique_id": pa.array(range(side.num_rows), pa.int64())}
            | {column: _lists_of_one(side.column(label)) for label, column in columns.items()}
        )
        for side in (left, right)
    ]
    _, rows = _predict(tables, _Asked(columns, comparisons, blocks, prior, threshold), [], None)
    found = {"left": rows["unique_id_l"], "right": rows["unique_id_r"], "probability": rows["match_probability"]}
    return pa.table(found).sort_by([("left", "ascending"), ("probability", "descending"), ("right", "ascending")])


def _check_tables(tables: Sequence[Any], compared: Sequence[Compared], threshold: float, prior: float) -> None:
    import pyarrow as pa

    for side in tables:
        if not isinstance(side, pa.Table):
            raise BadInput(f"{type(side).__name__} is not an Arrow table", hint="pyarrow.table(...) makes one")
        if strangers := [each.label for each in compared if each.label not in side.column_names]:
            raise BadInput(f"a table has no column {strangers[0]!r}", hint=nearest(strangers[0], side.column_names))
    if not compared or not all(each.levels for each in compared):
        raise BadInput("a comparison comes without levels", hint="compare at least one label, and give (m, u) for each")
    for name, share in (("threshold", threshold), ("prior", prior)):
        if not 0 < share < 1:
            raise BadInput(f"the {name} is {share!r}", hint="it lies between 0 and 1, without the ends")


def _lists_of_one(column: pa.ChunkedArray) -> pa.Array:
    """A list with the text of each cell; null stays null."""
    import pyarrow as pa

    cells = column.combine_chunks()
    return pa.array([None if cell is None else [cell] for cell in cells.to_pylist()], pa.list_(pa.string()))


@dataclass(frozen=True)
class _Asked:
    """What Splink is asked."""

    columns: Mapping[str, str]
    labels: Sequence[Compared]
    blocks: Sequence[list[str]]
    prior: float
    least: float
    seed: int = 1


def _predict(
    tables: Sequence[pa.Table], asked: _Asked, training: Sequence[list[str]], spark: Any
) -> tuple[Model, pa.Table]:
    """The model and the pairs: within one table, or between two. The model is learnt from pairs that agree in a set of columns."""
    splink = _import_splink(spark)
    first = 1 if spark is None else 0  # lists count from 1 in DuckDB and from 0 in Spark
    settings = {
        "link_type": "dedupe_only" if len(tables) == 1 else "link_only",
        "probability_two_random_records_match": asked.prior,
        "comparisons": [_comparison(each, asked.columns[each.label], first) for each in asked.labels],
        "blocking_rules_to_generate_predictions": [
            splink.block_on(*names, arrays_to_explode=list(names)) for names in asked.blocks
        ],
        "retain_matching_columns": False,
    }
    with _quiet():
        # on Spark, intermediate tables stay in memory: no checkpoint folder is needed; only Spark's own functions are used
        on_spark = {"spark_session": spark, "break_lineage_method": "persist", "register_udfs_automatically": False}
        api = splink.DuckDBAPI() if spark is None else splink.SparkAPI(**on_spark)
        held = [api.register(table) for table in tables]
        given: Any = held[0] if len(held) == 1 else held
        linker = splink.Linker(given, splink.SettingsCreator(**settings), log_level=None)
        if not asked.labels[0].levels:
            linker.training.estimate_u_using_random_sampling(max_pairs=5e6, seed=asked.seed)
            for names in training:
                blocked = splink.block_on(*(f"{column}[{first}]" for column in names))
                linker.training.estimate_parameters_using_expectation_maximisation(blocked)
        learnt = _completed(linker.misc.save_model_to_json(), asked.columns)
        linker = splink.Linker(given, learnt, log_level=None)
        rows = linker.inference.predict(
            threshold_match_probability=asked.least, warning_mode="never"
        ).as_pyarrow_table()
    shares = (
        tuple((float(level["m_probability"]), float(level["u_probability"])) for level in _levels(comparison))
        for comparison in learnt["comparisons"]
    )
    return dict(zip(asked.columns, shares, strict=True)), rows


def _repeated(records: Database, columns: Mapping[str, str]) -> list[str]:
    """Columns whose most confident value occurs in two records: without a pair, Splink's training breaks off."""
    firsts = {c: [held[0] for r in records if (held := _values(r, label))] for label, c in columns.items()}
    return [column for column, values in firsts.items() if len(set(values)) < len(values)]


def _completed(model: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """The model with what learning never saw: a label needs the case of equal values, other cases get a small share."""
    labels = {column: label for label, column in columns.items()}
    for comparison in model["comparisons"]:
        levels = _levels(comparison)
        for kind in ("m_probability", "u_probability"):
            if levels[0].get(kind) is None:
                raise BadInput(
                    f"too few records agree to learn how much {labels[comparison['output_column_name']]!r} says",
                    hint="give each label its levels, or compare other labels",
                )
            for level in levels:
                if level.get(kind) is None:
                    level[kind] = SMALLEST
    return model


def _levels(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [level for level in comparison["comparison_levels"] if not level.get("is_null_level")]


def _comparison(each: Compared, column: str, first: int) -> Any:
    library = importlib.import_module("splink.comparison_library")
    levels = importlib.import_module("splink.comparison_level_library")
    near = f"levenshtein({column}_l[{first}], {column}_r[{first}]) <= {each.edits}"
    found = library.CustomComparison(
        output_column_name=column,
        comparison_levels=[
            levels.NullLevel(column),
            levels.ArrayIntersectLevel(column, min_intersection=1),
            *([levels.CustomLevel(near, label_for_charts="nearly equal")] if each.edits else []),
            levels.ElseLevel(),
        ],
    )
    if not each.levels:
        return found
    m, u = ([*column, 1 - sum(column)] for column in zip(*each.levels, strict=True))
    return found.configure(m_probabilities=m, u_probabilities=u)


def _as_table(records: Database, columns: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa

    lists = pa.list_(pa.string())
    data = {column: pa.array([_values(r, label) for r in records], lists) for label, column in columns.items()}
    return pa.table({"unique_id": pa.array(range(len(records)), pa.int64()), **data})


def _values(record: Record, label: str) -> list[str] | None:
    """The values of a label, the most confident first; None, which compares with nothing, when there is none."""
    held = sorted((-c, a.value) for a, c in record.attributes.items() if a.label == label)
    return [value for _, value in held] or None


def _import_splink(spark: Any) -> Any:
    try:
        splink = importlib.import_module("splink")
    except ImportError:
        raise MissingDependency(
            "probabilistic entity resolution needs the package splink", hint="pip install 'divulge[linkage]'"
        ) from None
    if int(splink.__version__.split(".")[0]) < 5:
        raise MissingDependency(
            f"splink {splink.__version__} is too old, version 5 is needed", hint="pip install 'splink>=5'"
        )
    if spark is not None and not hasattr(spark, "createDataFrame"):
        raise BadInput(f"{type(spark).__name__} is not a Spark session", hint="pass the SparkSession itself")
    return splink


@contextmanager
def _quiet() -> Iterator[None]:
    """Splink comments on its training in the log; what matters of it we check ourselves."""
    logger = logging.getLogger("splink")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


# --- merging by probability -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Pair:
    """Two records that are about one person with this probability."""

    left: str
    right: str
    probability: float


@dataclass(frozen=True)
class Linkage:
    """The records after probabilistic merging, the matches behind it, and the model."""

    records: Database
    pairs: tuple[Pair, ...]
    """The matches at or above the threshold, the most likely first."""
    model: Model
    """Per label (m, u) for equal, nearly equal (if asked for), different."""
    prior: float
    threshold: float
    engine: str

    def graph(self) -> dict[str, list[dict[str, Any]]]:
        """Nodes and edges for a chart: one node for each given record, one edge for each match."""
        edges = [{"source": pair.left, "target": pair.right, "probability": pair.probability} for pair in self.pairs]
        return {"nodes": nodes_of(self.records), "edges": edges}


@values.checked
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
    """Merge the records that are likely to be about one person (Fellegi and Sunter); needs the extra `linkage`.

    Args:
        database: The records that are known.
        comparisons: The labels that records are compared by; a `Compared` also says how.
        threshold: How likely two records must be about one person to be merged.
        prior: The chance that two records taken at random are about one person; 1 / number of records unless given.
        blocking: Which pairs are looked at, as a rule of `resolve`; by default those that share a value of any compared label.
        anchor: The id of the record from which its group is seen; by default the one with the most and likeliest matches.
        seed: Fixes the random pairs from which agreement by chance is learnt.
        spark: A Spark session to compare in; by default DuckDB does.

    Examples:
        >>> import divulge as dv
        >>> known = [dv.dossier.Record.of({"N": "Ann"}, id="a"), dv.dossier.Record.of({"N": "Ann", "P": "1"}, id="b")]
        >>> names = dv.dossier.Compared(
        ...     "N", levels=((0.9, 0.1),)
        ... )  # equal for 9 in 10 pairs of one person, for 1 in 10 of others
        >>> found = dv.dossier.link(known, [names], threshold=0.5, prior=0.5)
        >>> round(found.pairs[0].probability, 6)
        0.9
    """
    compared = [Compared(each) if isinstance(each, str) else each for each in comparisons]
    records = with_ids(database)
    prior = 1 / max(2, len(records)) if prior is None else prior
    _check(compared, records, threshold, prior)
    rule = MatchRule(tuple((each.label,) for each in compared)) if blocking is None else as_rule(blocking)
    if strangers := [label for label in rule.labels if label not in {each.label for each in compared}]:
        raise BadInput(f"the blocking rule uses {strangers[0]!r}, which is not compared", hint="compare it as well")
    model, found = match(records, compared, rule, prior=prior, least=threshold, seed=seed, spark=spark)
    pairs = tuple(Pair(name_of(records[left]), name_of(records[right]), likely) for likely, left, right in found)
    merged = merge_by_probability(records, pairs, anchor=anchor)
    return Linkage(merged, pairs, model, prior, threshold, "duckdb" if spark is None else "spark")


@values.checked_fields
@dataclass(frozen=True)
class Link(Priced):
    """Probabilistic entity resolution as an operator. More records change the model, so it is not monotone."""

    comparisons: tuple[Compared | str, ...]
    threshold: float = 0.9
    prior: float | None = None
    blocking: MatchRule | str | None = None
    anchor: str | None = None
    """The record from which its group is seen."""
    seed: int = 1
    spark: Any = None
    price: Cost = field(default_factory=lambda: Cost(exponent=2))
    monotone = False
    merges = True

    def __call__(self, database: Database) -> Database:
        """The database after merging."""
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "price"}
        return link(database, options.pop("comparisons"), **options).records

    @property
    def settings(self) -> dict[str, Any]:
        """What it does, as a document holds it."""
        compared = [Compared(each) if isinstance(each, str) else each for each in self.comparisons]
        labels = ",".join(f"{each.label}~{each.edits}" if each.edits else each.label for each in compared)
        given = {} if self.blocking is None else {"blocking": str(self.blocking)}
        return {"link": labels, "probability": self.threshold, "prior": self.prior, "seed": self.seed, **given}

    def seen_from(self, name: str) -> Link:
        """The same, with the record of this id as anchor."""
        return replace(self, anchor=name)


def merge_by_probability(records: Database, pairs: Sequence[Pair], *, anchor: str | None = None) -> Database:
    """Groups of matching records merged, each attribute discounted by how surely its record belongs to the group.

    >>> pair = (Record.of({"N": "Ann"}, id="a"), Record.of({"P": "1"}, id="b"))
    >>> merge_by_probability(pair, [Pair("a", "b", 0.9)])[0].attributes["P", "1"]
    0.9
    """
    near: dict[str, dict[str, float]] = {name_of(record): {} for record in records}
    for pair in pairs:
        near[pair.left][pair.right] = near[pair.right][pair.left] = pair.probability
    by_name = {name_of(record): record for record in records}
    merged, seen = [], set[str]()
    for name, record in by_name.items():
        if name not in seen:
            group = _belonging(name, near)
            seen.update(group)
            merged.append(_merge_group(group.keys(), by_name, near, anchor) if len(group) > 1 else record)
    return tuple(merged)


def _merge_group(
    group: Collection[str], by_name: Mapping[str, Record], near: Mapping[str, Mapping[str, float]], anchor: str | None
) -> Record:
    central = anchor if anchor in group else max(sorted(group), key=lambda name: sum(near[name].values()))
    surely = _belonging(str(central), near)
    members = [by_name[name] for name in sorted(group)]
    attributes = highest((a, c * surely[name_of(each)]) for each in members for a, c in each.attributes.items())
    sources = all_sources(members)
    return Record(attributes, "+".join(sorted(sources)), frozenset(sources))


def _belonging(start: str, near: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Everything that can be reached, with the probability of the most likely chain (Dijkstra on products)."""
    surely: dict[str, float] = {}
    heap = [(-1.0, start)]
    while heap:
        likely, name = heapq.heappop(heap)
        if name not in surely:
            surely[name] = -likely
            for other, probability in near[name].items():
                if other not in surely:
                    heapq.heappush(heap, (likely * probability, other))
    return surely


def _check(compared: Sequence[Compared], records: Database, threshold: float, prior: float) -> None:
    labels = [each.label for each in compared]
    if not labels or len(set(labels)) < len(labels):
        raise BadInput(f"the compared labels are {labels}", hint="name each label once, and at least one")
    for name, share in (("threshold", threshold), ("prior", prior)):
        if not 0 < share < 1:
            raise BadInput(f"the {name} is {share!r}", hint="it lies between 0 and 1, without the ends")
    given = sum(bool(each.levels) for each in compared)
    if given not in (0, len(compared)):
        raise BadInput(
            "some labels come with probabilities and some without", hint="give them for all labels or for none"
        )
    if not given and (len(labels) < 2 or len(records) < 3):
        raise BadInput(
            f"nothing can be learnt from {len(records)} records compared by {len(labels)} labels",
            hint="compare at least two labels of at least three records, or give each label its levels",
        )
