# SPDX-License-Identifier: Apache-2.0
"""Incremental leakage: the effect of a planned release (Whang and Garcia-Molina, section 4.1).

The incremental leakage of a release is the leakage with it minus the leakage without it, both after
the adversary's analysis. It is large if the record links others, 0 if the adversary learns nothing
new, and negative if the record misleads. `compare` ranks alternatives by it. `timeline` shows the
growth of the leakage record by record. `without` shows the label whose removal from all records
would have lowered the leakage most.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from divulge import results
from divulge.arguments import outside
from divulge.dossier.equivalence import Equivalence, read_pattern
from divulge.dossier.files import from_rows
from divulge.dossier.leakage import Measure, record_leakages
from divulge.dossier.operators import Operator, Resolve, settings_of
from divulge.dossier.record import Attribute, Database, Record, show
from divulge.dossier.resolve import (
    Clusters,
    MatchRule,
    Method,
    all_sources,
    free_name,
    merge_all,
    name_of,
    resolve,
    with_ids,
)
from divulge.errors import BadInput, nearest
from divulge.results import Result
from divulge.text import as_names
from divulge.validation import checked


@dataclass(frozen=True, repr=False)
class Increment(Result):
    """The effect of one release on the leakage."""

    view = "dossier"

    name: str
    before: float
    after: float
    witnesses: tuple[Record, ...]
    """The records with the largest leakage after the release."""
    joined: frozenset[str]
    """Ids of the earlier records that the release is merged with."""
    settings: Mapping[str, Any] = field(compare=False)

    @property
    def change(self) -> float:
        """I(R, p, E, r); negative if the release misleads the adversary."""
        return self.after - self.before


@dataclass(frozen=True, repr=False)
class Alternatives(results.Several[Increment]):
    """The effect of each of several releases, the lowest leakage first."""

    view = "dossier"


@dataclass(frozen=True)
class TimelineStep:
    """The state after one more record."""

    id: str
    leakage: float
    change: float
    records: int
    """The number of the adversary's records after merging."""
    joined: frozenset[str]
    """Ids of the earlier records it was merged with."""


@dataclass(frozen=True, repr=False)
class Timeline(results.Several[TimelineStep]):
    """The growth of the leakage, record by record."""

    view = "dossier"


@dataclass(frozen=True)
class Without:
    """The leakage if no record contained one label."""

    label: str
    leakage: float
    change: float


@dataclass(frozen=True, repr=False)
class WithoutLabels(results.Several[Without]):
    """The effect of removing each label, the most helpful first."""

    view = "dossier"


@checked
def incremental(
    database: Sequence[Record],
    reference: Record,
    release: Record,
    *,
    operator: Operator,
    measure: Measure | None = None,
) -> Increment:
    """The change of the leakage by the release of a record.

    Args:
        database: The adversary's records before the release.
        reference: The true attributes of the person.
        release: The record that would be released.
        operator: The adversary's analysis, as in `attack`.
        measure: The options of `leakage`; by default its defaults.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> known, new = (
        ...     dv.dossier.Record.of({"N": "Alice", "A": "20"}),
        ...     dv.dossier.Record.of({"N": "Alice", "P": "123"}),
        ... )
        >>> found = dv.dossier.incremental([known], alice, new, operator=dv.dossier.Resolve("N"))
        >>> round(found.before, 12), found.after
        (0.8, 1.0)
    """
    return compare(database, reference, {"release": release}, operator=operator, measure=measure)[0]


@checked
def compare(
    database: Sequence[Record],
    reference: Record,
    alternatives: Mapping[str, Record],
    *,
    operator: Operator,
    measure: Measure | None = None,
) -> Alternatives:
    """Rank alternative releases, the lowest leakage first; ties keep the given order.

    Args:
        database: The adversary's records before the release.
        reference: The true attributes of the person.
        alternatives: The records, by a name for each.
        operator: The adversary's analysis, as in `attack`.
        measure: The options of `leakage`; by default its defaults.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> cards = {"true": alice, "false": dv.dossier.Record.of({"N": "Alice", "P": "999"})}
        >>> [
        ...     found.name
        ...     for found in dv.dossier.compare([], alice, cards, operator=dv.dossier.Resolve("N"))
        ... ]
        ['false', 'true']
    """
    measure = measure or Measure()
    input_records = with_ids(database)
    before = measure.most(operator(input_records), reference).leakage
    taken_names = all_sources(input_records)
    settings = {**measure.settings, **settings_of(operator)}
    increments = []
    for name, release in alternatives.items():
        named_release = Record(release.attributes, free_name(name, taken_names))
        outcome = operator((*input_records, named_release))
        after = measure.most(outcome, reference)
        increments.append(
            Increment(
                name,
                before,
                after.leakage,
                after.witnesses,
                _joined_sources(outcome, named_release),
                settings,
            )
        )
    return Alternatives(tuple(sorted(increments, key=lambda increment: increment.after)), settings)


@checked
def timeline(
    database: Iterable[Record],
    reference: Record,
    *,
    operator: Operator,
    measure: Measure | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Timeline:
    """The leakage after the first record, the first two, and so on, in the given order.

    `Resolve` continues from step to step. Any other operator is run again on every prefix.

    Args:
        database: The records, in the order in which they became known.
        reference: The true attributes of the person.
        operator: The adversary's analysis, as in `attack`.
        measure: The options of `leakage`; by default its defaults.
        progress: Called after each record with the number done and the total number.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> known = [
        ...     dv.dossier.Record.of({"N": "Alice", "A": "20"}),
        ...     dv.dossier.Record.of({"N": "Alice", "P": "123"}),
        ... ]
        >>> steps = dv.dossier.timeline(known, alice, operator=dv.dossier.Resolve("N"))
        >>> [round(step.leakage, 12) for step in steps]
        [0.8, 1.0]
    """
    measure = measure or Measure()
    records = with_ids(tuple(database))
    if isinstance(operator, Resolve):
        states = _resolved_states(records, reference, operator, measure)
    else:
        outcomes = (
            (record, operator(records[:end])) for end, record in enumerate(records, start=1)
        )
        states = (
            (
                measure.most(merged_records, reference).leakage,
                len(merged_records),
                _joined_sources(merged_records, new),
            )
            for new, merged_records in outcomes
        )
    leakage = 0.0
    steps = []
    for record, (now, count, joined_records) in zip(records, states, strict=True):
        steps.append(TimelineStep(name_of(record), now, now - leakage, count, joined_records))
        leakage = now
        if progress is not None:
            progress(len(steps), len(records))
    return Timeline(tuple(steps), {**measure.settings, **settings_of(operator)})


@checked
def without(
    database: Sequence[Record],
    reference: Record,
    *,
    operator: Operator,
    measure: Measure | None = None,
) -> WithoutLabels:
    """The leakage for each label if no record had it, the most helpful label first.

    The reference stays unchanged: the person still has a phone, but nobody knows its number.

    Args:
        database: The adversary's records.
        reference: The true attributes of the person.
        operator: The adversary's analysis, as in `attack`.
        measure: The options of `leakage`; by default its defaults.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> known = [
        ...     dv.dossier.Record.of({"N": "Alice", "A": "20"}),
        ...     dv.dossier.Record.of({"N": "Alice", "P": "123"}),
        ... ]
        >>> found = dv.dossier.without(known, alice, operator=dv.dossier.Resolve("N"))
        >>> [(each.label, round(each.leakage, 12)) for each in found]
        [('N', 0.5), ('A', 0.8), ('P', 0.8)]
    """
    measure = measure or Measure()
    input_records = with_ids(database)
    current = measure.most(operator(input_records), reference).leakage
    label_outcomes = []
    for label in dict.fromkeys(label for record in input_records for label in record.labels):
        reduced_records = tuple(
            record.kept(lambda attribute: attribute.label != label)  # noqa: B023
            for record in input_records
        )
        leakage = measure.most(operator(reduced_records), reference).leakage
        label_outcomes.append(Without(label, leakage, leakage - current))
    settings = {**measure.settings, **settings_of(operator)}
    return WithoutLabels(
        tuple(sorted(label_outcomes, key=lambda outcome: outcome.leakage)), settings
    )


def _joined_sources(outcome: Iterable[Record], record: Record) -> frozenset[str]:
    source_sets = (
        merged_record.sources
        for merged_record in outcome
        if not merged_record.sources.isdisjoint(record.sources)
    )
    return frozenset[str]().union(*source_sets) - record.sources


def _resolved_states(
    records: Database, reference: Record, operator: Resolve, measure: Measure
) -> Iterator[tuple[float, int, frozenset[str]]]:
    """The state after each record in one pass; each new record changes one group.

    A heap holds the leakage of all groups; outdated entries are skipped.
    """
    clusters = Clusters(operator.rule, compose=operator.method == "swoosh")
    merged: dict[int, Record] = {}
    heap: list[tuple[float, int, int]] = []
    for position, record in enumerate(records):
        absorbed_count = len(clusters.absorbed)
        root = clusters.add(record)
        merged[position] = record
        merged[root] = merge_all(
            [merged.pop(part) for part in (root, *clusters.absorbed[absorbed_count:])]
        )
        leakage = float(measure.each([merged[root]], reference)[0])
        heapq.heappush(heap, (-leakage, root, len(clusters.members[root])))
        while heap[0][1] not in merged or heap[0][2] != len(clusters.members[heap[0][1]]):
            heapq.heappop(heap)
        yield -heap[0][0], len(merged), merged[root].sources - record.sources


# --- verification of attributes -------------------------------------------------------------------
# An adversary, or an investigator, does not know the truth p (section 4.3). The certainty of a
# composite record r_c is its leakage against r_p, its attributes with confidence 1. Verifying an
# attribute of a source record raises its confidence to 1 and costs 1 - c by default. Leakage is
# affine in each confidence, so the gain is (1 - c') * (L(c=1) - L(c=0)), where c' is the confidence
# after merging. Verification is not assumed to make further records match.
@dataclass(frozen=True)
class Verification:
    """One attribute of one source record that could be verified."""

    source: str
    attribute: Attribute
    confidence: float
    gain: float
    """The increase of the composite record's certainty."""
    cost: float
    ratio: float
    """Gain per cost, by which options are sorted."""


@dataclass(frozen=True, repr=False)
class Enhancement(Result):
    """A composite record, its certainty, and the attributes to verify, best first."""

    view = "dossier"

    record: Record
    certainty: float
    """L(r_c, r_p); 1 if all attributes are certain."""
    options: tuple[Verification, ...]
    """Verifications by gain per cost, then by lower cost, then by name.

    Attributes that are certain already are left out.
    """
    settings: Mapping[str, Any] = field(compare=False)


@dataclass(frozen=True, repr=False)
class Enhancements(results.Several[Enhancement]):
    """The attributes to verify in each composite record, the least certain record first."""

    view = "dossier"


@checked
def enhance(
    sources: Sequence[Record],
    *,
    weights: Mapping[str, float] | None = None,
    cost: Callable[[Attribute, float], float] | None = None,
) -> Enhancement:
    """Rank the attributes of a composite record's sources by the gain per cost of verifying them.

    Args:
        sources: The records.
        weights: The weight of each label; the default is 1.
        cost: A function from (attribute, confidence) to the cost of verification; the default is
            1 - confidence.

    Examples:
        >>> import divulge as dv
        >>> sure, doubtful = (
        ...     dv.dossier.Record.of({"N": "Alice"}, id="r1"),
        ...     dv.dossier.Record.of({"P": ("123", 0.5)}, id="r2"),
        ... )
        >>> dv.dossier.enhance([sure, doubtful]).options[0].source
        'r2'
    """
    if not sources:
        raise BadInput(
            "there is no record to enhance", hint="give the records that make up the composite"
        )
    source_records = with_ids(sources)
    settings = {"weights": dict(weights or {}), **({"price": "function"} if cost else {})}
    composite = merge_all(source_records)
    if not composite.attributes:
        return Enhancement(composite, 0.0, (), settings)
    truth = Record(composite.certain().attributes)
    doubtful = [
        attribute for attribute, confidence in composite.attributes.items() if confidence < 1
    ]
    versions = [
        composite.with_confidence(attribute, sure) for sure in (1.0, 0.0) for attribute in doubtful
    ]
    certainty, *ends = record_leakages([composite, *versions], truth, weights=weights).tolist()
    highs = ends[: len(doubtful)]
    lows = ends[len(doubtful) :]
    # a larger confidence never lowers certainty; negative slopes are rounding errors and cut off
    slopes = {a: max(0.0, high - low) for a, high, low in zip(doubtful, highs, lows, strict=True)}
    price = cost or (lambda _, confidence: 1 - confidence)
    options = []
    for record in source_records:
        for attribute, confidence in record.attributes.items():
            if confidence < 1:
                verification_cost = price(attribute, confidence)
                if not 0 < verification_cost < math.inf:
                    problem = (
                        f"verifying {outside(show(attribute))} in {name_of(record)!r} costs "
                        f"{verification_cost!r}"
                    )
                    raise BadInput(problem, hint="a cost is a number above 0")
                gain = (1 - composite.attributes[attribute]) * slopes.get(attribute, 0.0)
                options.append(
                    Verification(
                        name_of(record),
                        attribute,
                        confidence,
                        gain,
                        verification_cost,
                        gain / verification_cost,
                    )
                )
    options.sort(
        key=lambda verification: (
            -verification.ratio,
            verification.cost,
            verification.source,
            verification.attribute,
        )
    )
    return Enhancement(composite, certainty, tuple(options), settings)


@checked
def enhance_each(
    database: Sequence[Record],
    *,
    rule: MatchRule | str | None,
    method: Method = "swoosh",
    about: str | None = None,
    weights: Mapping[str, float] | None = None,
) -> Enhancements:
    """Rank the attributes to verify of each composite record, the least certain record first.

    Args:
        database: The adversary's records.
        rule: The rule that merges two records, as in `resolve`; None merges all of them.
        method: As in `resolve`.
        about: Keep the composite that contains the record of this id.
        weights: The weight of each label; the default is 1.

    Examples:
        >>> import divulge as dv
        >>> known = [
        ...     dv.dossier.Record.of({"N": "Ann"}, id="a"),
        ...     dv.dossier.Record.of({"N": "Bob", "P": ("1", 0.5)}, id="b"),
        ... ]
        >>> [found.record.id for found in dv.dossier.enhance_each(known, rule="N")]
        ['b', 'a']
    """
    source_records = with_ids(database)
    by_name = {name_of(record): record for record in source_records}
    if about is not None and about not in by_name:
        raise BadInput(f"there is no record {about!r}", hint=nearest(about, by_name))
    # a record that was merged before represents all its sources
    owner = {source: record for record in source_records for source in record.sources}
    merged = () if rule is None else Resolve(rule, method)(source_records)
    composite_groups = [
        {name_of(owner[source]): owner[source] for source in sorted(composite.sources)}
        for composite in merged
    ]
    groups = [by_name] if rule is None else composite_groups
    enhancements = [
        enhance(list(group.values()), weights=weights)
        for group in groups
        if about is None or about in group
    ]
    resolution_settings = {} if rule is None else Resolve(rule, method).settings
    return Enhancements(
        tuple(sorted(enhancements, key=lambda enhancement: enhancement.certainty)),
        {"weights": dict(weights or {}), **resolution_settings},
    )


# --- leakage of a published table about one person ------------------------------------------------
# Whang and Garcia-Molina, section 3.
#
# Each row of a release becomes a record, each column a label. A cell of only stars contains no
# information. The adversary merges the rows that agree on all quasi-identifiers, including those of
# the background tables. Generalized values represent the values they cover. The 111 of a background
# table and of the reference becomes the 11* of the release before the comparison. Otherwise the
# adversary would hold one fact twice. k-anonymity calls all rows equally safe; the leakage differs
# from person to person.
@dataclass(frozen=True)
class TableLeakage:
    """The leakage of a table about one person, and the merged records that reach it."""

    person: str
    leakage: float
    witnesses: tuple[Record, ...]


@dataclass(frozen=True, repr=False)
class PeopleLeakage(results.Several[TableLeakage]):
    """The leakage of a published table about each of several people."""

    view = "dossier"

    @property
    def leakage(self) -> float:
        """The largest leakage about one of them."""
        return max((person.leakage for person in self), default=0.0)


@checked
def table_leakage(
    release: object,
    people: Iterable[Record],
    *,
    quasi_identifiers: str | Sequence[str],
    background: Sequence[object] = (),
    same: Mapping[str, Mapping[str, Iterable[str]]] | None = None,
    generalized_confidence: float = 1.0,
    measure: Measure | None = None,
) -> PeopleLeakage:
    """The leakage of each person through a published table, in the given order.

    Args:
        release: The published table: a list of mappings, or any source that `dv.read` opens.
        people: The true attributes of each person.
        quasi_identifiers: The columns by which rows are merged. Their generalized values are taken
            from the release.
        background: Additional tables of the adversary.
        same: Values with equal meaning, such as {"Disease": {"Flu": ["Influenza"]}}. They are added
            to those of the release, like an equivalence in `measure`.
        generalized_confidence: The confidence that a generalized value is the true one.
        measure: The options of `leakage`; by default its defaults.

    Examples:
        >>> import divulge as dv
        >>> release = [{"Zip": "11*", "Disease": "Flu"}, {"Zip": "12*", "Disease": "Cold"}]
        >>> alice = dv.dossier.Record.of({"Zip": "111", "Disease": "Flu"}, id="Alice")
        >>> [
        ...     (found.person, found.leakage)
        ...     for found in dv.dossier.table_leakage(release, [alice], quasi_identifiers=["Zip"])
        ... ]
        [('Alice', 1.0)]
    """
    measure = measure or Measure()
    labels = as_names(quasi_identifiers)
    rows = [
        record.kept(lambda attribute: bool(attribute.value.strip("*")))
        for record in from_rows(release)
    ]
    for label in labels:
        if not any(label in record.value_sets for record in rows):
            raise BadInput(f"no row of the release has a value for the quasi-identifier {label!r}")
    equivalence = (
        generalized(rows, labels)
        .then(Equivalence(same or {}))
        .then(measure.equivalence or Equivalence({}))
    )
    row_attributes = [
        _discount_generalized(record.attributes, labels, generalized_confidence) for record in rows
    ]
    background_rows = [record.attributes for table in background for record in from_rows(table)]
    source_records = [
        Record(attributes, f"row {number}")
        for number, attributes in enumerate(row_attributes, start=1)
    ]
    source_records += [
        Record(attributes, f"known {number}")
        for number, attributes in enumerate(background_rows, start=1)
    ]
    merged = resolve(map(equivalence.apply, source_records), MatchRule((tuple(labels),))).records
    settings = {
        **measure.settings,
        "quasi_identifiers": labels,
        "generalized_confidence": generalized_confidence,
        **({"same": sorted(same)} if same else {}),
        **({"background_tables": list(map(_source_name, background))} if background else {}),
    }
    measure = replace(measure, equivalence=equivalence)
    person_leakages = [
        (person.id or f"person {n}", measure.most(merged, person))
        for n, person in enumerate(people, start=1)
    ]
    leakages = (
        TableLeakage(name, set_leakage.leakage, set_leakage.witnesses)
        for name, set_leakage in person_leakages
    )
    return PeopleLeakage(tuple(leakages), settings)


def _source_name(table: object) -> str:
    if isinstance(table, str | Path):
        return str(table)
    return type(table).__name__


def generalized(rows: Iterable[Record], labels: Sequence[str]) -> Equivalence:
    """The equivalence that a release implies.

    Each of its generalized values (11*, 3*, >=50, 20-29) represents the values it covers. Values
    that are no pattern, such as a plain 111, represent themselves. If patterns overlap, the longer
    prefix takes precedence, then the name.
    """
    classes: dict[str, dict[str, list[str]]] = {}
    release_attributes = {
        attribute for record in rows for attribute in record.attributes if attribute.label in labels
    }
    for label, value in sorted(
        release_attributes,
        key=lambda attribute: (-len(attribute.value.rstrip("*")), attribute.value),
    ):
        if read_pattern(value):
            classes.setdefault(label, {}).setdefault(value, [])
    return Equivalence(classes)


def _discount_generalized(
    attributes: Mapping[Attribute, float], labels: Sequence[str], factor: float
) -> dict[Attribute, float]:
    """The attributes with this confidence in generalized values."""
    return {
        a: c * factor if a.label in labels and read_pattern(a.value) else c
        for a, c in attributes.items()
    }
