# SPDX-License-Identifier: Apache-2.0
"""Before a record leaves the house: what it would add (Whang and Garcia-Molina, section 4.1).

The incremental leakage of a release is the leakage with it minus the leakage without it, both after the adversary's
analysis. It is large when the record ties others together, 0 when the adversary learns nothing new, and negative when
the record misleads. Alternatives are compared by it; the timeline shows how leakage grew record by record; `without`
says which label, if it had been kept back everywhere, would have helped most.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from divulge import results, values
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


@dataclass(frozen=True, repr=False)
class Increment(Result):
    """What one release changes."""

    view = "dossier"

    name: str
    before: float
    after: float
    witnesses: tuple[Record, ...]
    """The most telling records after the release."""
    joined: frozenset[str]
    """Ids of the earlier records that the release is merged with."""
    settings: Mapping[str, Any] = field(compare=False)

    @property
    def change(self) -> float:
        """I(R, p, E, r); negative when the release misleads the adversary."""
        return self.after - self.before


@dataclass(frozen=True, repr=False)
class Alternatives(results.Several[Increment]):
    """What each of several releases would change, the least revealing first."""

    view = "dossier"


@dataclass(frozen=True)
class TimelineStep:
    """The state after one more record."""

    id: str
    leakage: float
    change: float
    records: int
    """How many records the adversary holds after merging."""
    joined: frozenset[str]
    """Ids of the earlier records it was merged with."""


@dataclass(frozen=True, repr=False)
class Timeline(results.Several[TimelineStep]):
    """How the leakage grew, record by record."""

    view = "dossier"


@dataclass(frozen=True)
class Without:
    """The leakage if one label had never been given to anybody."""

    label: str
    leakage: float
    change: float


@dataclass(frozen=True, repr=False)
class WithoutLabels(results.Several[Without]):
    """What keeping back each label would have brought, the most helpful first."""

    view = "dossier"


@values.checked
def incremental(
    database: Sequence[Record],
    reference: Record,
    release: Record,
    *,
    operator: Operator,
    measure: Measure | None = None,
) -> Increment:
    """What releasing a record adds to the leakage.

    Args:
        database: The records that are known already.
        reference: What is true of the person.
        release: The record that would be released.
        operator: What the adversary does, as in `attack`.
        measure: How leakage is measured; by default as `leakage` does.

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


@values.checked
def compare(
    database: Sequence[Record],
    reference: Record,
    alternatives: Mapping[str, Record],
    *,
    operator: Operator,
    measure: Measure | None = None,
) -> Alternatives:
    """Which of several records to release: the least revealing first; ties stay in the order given.

    Args:
        database: The records that are known already.
        reference: What is true of the person.
        alternatives: The records, by a name for each.
        operator: What the adversary does, as in `attack`.
        measure: How leakage is measured; by default as `leakage` does.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> cards = {"true": alice, "false": dv.dossier.Record.of({"N": "Alice", "P": "999"})}
        >>> [found.name for found in dv.dossier.compare([], alice, cards, operator=dv.dossier.Resolve("N"))]
        ['false', 'true']
    """
    measure = measure or Measure()
    given = with_ids(database)
    before = measure.most(operator(given), reference).leakage
    taken, settings = all_sources(given), {**measure.settings, **settings_of(operator)}
    found = []
    for name, release in alternatives.items():
        marked = Record(release.attributes, free_name(name, taken))
        outcome = operator((*given, marked))
        after = measure.most(outcome, reference)
        found.append(Increment(name, before, after.leakage, after.witnesses, _joined(outcome, marked), settings))
    return Alternatives(tuple(sorted(found, key=lambda increment: increment.after)), settings)


@values.checked
def timeline(
    database: Iterable[Record],
    reference: Record,
    *,
    operator: Operator,
    measure: Measure | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Timeline:
    """The leakage after the first record, the first two, and so on, in the order given.

    Entity resolution alone continues from step to step. Any other operator is run again on every prefix.

    Args:
        database: The records, in the order in which they became known.
        reference: What is true of the person.
        operator: What the adversary does, as in `attack`.
        measure: How leakage is measured; by default as `leakage` does.
        progress: Called after each record with how many are done and how many there are.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> known = [dv.dossier.Record.of({"N": "Alice", "A": "20"}), dv.dossier.Record.of({"N": "Alice", "P": "123"})]
        >>> steps = dv.dossier.timeline(known, alice, operator=dv.dossier.Resolve("N"))
        >>> [round(step.leakage, 12) for step in steps]
        [0.8, 1.0]
    """
    measure = measure or Measure()
    records = with_ids(tuple(database))
    if isinstance(operator, Resolve):
        states = _resolved_states(records, reference, operator, measure)
    else:
        outcomes = ((record, operator(records[:end])) for end, record in enumerate(records, start=1))
        states = ((measure.most(made, reference).leakage, len(made), _joined(made, new)) for new, made in outcomes)
    leakage, steps = 0.0, []
    for record, (now, count, joined) in zip(records, states, strict=True):
        steps.append(TimelineStep(name_of(record), now, now - leakage, count, joined))
        leakage = now
        if progress is not None:
            progress(len(steps), len(records))
    return Timeline(tuple(steps), {**measure.settings, **settings_of(operator)})


@values.checked
def without(
    database: Sequence[Record], reference: Record, *, operator: Operator, measure: Measure | None = None
) -> WithoutLabels:
    """For each label, the leakage if no record had it; the label that would have helped most comes first.

    The reference stays as it is: the person still has a phone, only nobody was told its number.

    Args:
        database: The records that are known.
        reference: What is true of the person.
        operator: What the adversary does, as in `attack`.
        measure: How leakage is measured; by default as `leakage` does.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> known = [dv.dossier.Record.of({"N": "Alice", "A": "20"}), dv.dossier.Record.of({"N": "Alice", "P": "123"})]
        >>> found = dv.dossier.without(known, alice, operator=dv.dossier.Resolve("N"))
        >>> [(each.label, round(each.leakage, 12)) for each in found]
        [('N', 0.5), ('A', 0.8), ('P', 0.8)]
    """
    measure = measure or Measure()
    given = with_ids(database)
    now = measure.most(operator(given), reference).leakage
    found = []
    for label in dict.fromkeys(label for record in given for label in record.labels):
        kept = tuple(record.kept(lambda attribute: attribute.label != label) for record in given)  # noqa: B023
        leakage = measure.most(operator(kept), reference).leakage
        found.append(Without(label, leakage, leakage - now))
    settings = {**measure.settings, **settings_of(operator)}
    return WithoutLabels(tuple(sorted(found, key=lambda each: each.leakage)), settings)


def _joined(outcome: Iterable[Record], record: Record) -> frozenset[str]:
    mine = (found.sources for found in outcome if not found.sources.isdisjoint(record.sources))
    return frozenset[str]().union(*mine) - record.sources


def _resolved_states(
    records: Database, reference: Record, operator: Resolve, measure: Measure
) -> Iterator[tuple[float, int, frozenset[str]]]:
    """One pass: each new record changes one group; a heap remembers the leakage of all, outdated entries are skipped."""
    clusters = Clusters(operator.rule, compose=operator.method == "swoosh")
    merged: dict[int, Record] = {}
    heap: list[tuple[float, int, int]] = []
    for position, record in enumerate(records):
        known = len(clusters.absorbed)
        root = clusters.add(record)
        merged[position] = record
        merged[root] = merge_all([merged.pop(part) for part in (root, *clusters.absorbed[known:])])
        leakage = float(measure.each([merged[root]], reference)[0])
        heapq.heappush(heap, (-leakage, root, len(clusters.members[root])))
        while heap[0][1] not in merged or heap[0][2] != len(clusters.members[heap[0][1]]):
            heapq.heappop(heap)
        yield -heap[0][0], len(merged), merged[root].sources - record.sources


# --- what to verify next ----------------------------------------------------------------------------------------------
# An adversary, or an investigator, does not know the truth p (section 4.3). The certainty of a composite record r_c is its leakage
# against r_p, the same attributes with confidence 1. Verifying an attribute of a source record raises its confidence to 1 and costs
# 1 - c unless told otherwise. Leakage is affine in each confidence, so the gain is (1 - c') * (L(c=1) - L(c=0)), where c' is the
# confidence after merging. Verifying is not assumed to make further records match.
@dataclass(frozen=True)
class Verification:
    """One attribute of one source record that could be verified."""

    source: str
    attribute: Attribute
    confidence: float
    gain: float
    """How much more certain the composite record becomes."""
    cost: float
    ratio: float
    """Gain per cost: what to sort by."""


@dataclass(frozen=True, repr=False)
class Enhancement(Result):
    """A composite record, how certain it is, and what to verify, best first."""

    view = "dossier"

    record: Record
    certainty: float
    """L(r_c, r_p): 1 when nothing is in doubt."""
    options: tuple[Verification, ...]
    """By gain per cost, then the cheaper one, then by name. Attributes that are certain already are left out."""
    settings: Mapping[str, Any] = field(compare=False)


@dataclass(frozen=True, repr=False)
class Enhancements(results.Several[Enhancement]):
    """What to verify in each composite record, the least certain first."""

    view = "dossier"


@values.checked
def enhance(
    sources: Sequence[Record],
    *,
    weights: Mapping[str, float] | None = None,
    cost: Callable[[Attribute, float], float] | None = None,
) -> Enhancement:
    """What to verify among the records that make up one composite record, the most gain for its cost first.

    Args:
        sources: The records.
        weights: How much each label matters; 1 where none is given.
        cost: A function of (attribute, confidence) that says what verifying costs; 1 - confidence unless given.

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
        raise BadInput("there is no record to enhance", hint="give the records that make up the composite")
    named, settings = with_ids(sources), {"weights": dict(weights or {}), **({"price": "function"} if cost else {})}
    composite = merge_all(named)
    if not composite.attributes:
        return Enhancement(composite, 0.0, (), settings)
    truth = Record(composite.certain().attributes)
    doubtful = [attribute for attribute, confidence in composite.attributes.items() if confidence < 1]
    versions = [composite.with_confidence(attribute, sure) for sure in (1.0, 0.0) for attribute in doubtful]
    certainty, *ends = record_leakages([composite, *versions], truth, weights=weights).tolist()
    highs, lows = ends[: len(doubtful)], ends[len(doubtful) :]
    # a larger confidence never lowers certainty: what rounding says otherwise is cut off
    slopes = {a: max(0.0, high - low) for a, high, low in zip(doubtful, highs, lows, strict=True)}
    price = cost or (lambda _, confidence: 1 - confidence)
    options = []
    for record in named:
        for attribute, confidence in record.attributes.items():
            if confidence < 1:
                asked = price(attribute, confidence)
                if not 0 < asked < math.inf:
                    problem = f"verifying {show(attribute)} in {name_of(record)!r} costs {asked!r}"
                    raise BadInput(problem, hint="a cost is a number above 0")
                gain = (1 - composite.attributes[attribute]) * slopes.get(attribute, 0.0)
                options.append(Verification(name_of(record), attribute, confidence, gain, asked, gain / asked))
    options.sort(key=lambda each: (-each.ratio, each.cost, each.source, each.attribute))
    return Enhancement(composite, certainty, tuple(options), settings)


@values.checked
def enhance_each(
    database: Sequence[Record],
    *,
    rule: MatchRule | str | None,
    method: Method = "swoosh",
    about: str | None = None,
    weights: Mapping[str, float] | None = None,
) -> Enhancements:
    """What to verify, for each composite record that a rule makes, the least certain first.

    Args:
        database: The records that are known.
        rule: What makes two records one, as in `resolve`; without a rule all are one.
        method: As in `resolve`.
        about: Keep the composite that contains the record of this id.
        weights: How much each label matters; 1 where none is given.

    Examples:
        >>> import divulge as dv
        >>> known = [
        ...     dv.dossier.Record.of({"N": "Ann"}, id="a"),
        ...     dv.dossier.Record.of({"N": "Bob", "P": ("1", 0.5)}, id="b"),
        ... ]
        >>> [found.record.id for found in dv.dossier.enhance_each(known, rule="N")]
        ['b', 'a']
    """
    named = with_ids(database)
    by_name = {name_of(record): record for record in named}
    if about is not None and about not in by_name:
        raise BadInput(f"there is no record {about!r}", hint=nearest(about, by_name))
    # a record that was merged before stands for all its sources
    owner = {source: record for record in named for source in record.sources}
    merged = () if rule is None else Resolve(rule, method)(named)
    together = [{name_of(owner[source]): owner[source] for source in sorted(each.sources)} for each in merged]
    groups = [by_name] if rule is None else together
    found = [enhance(list(group.values()), weights=weights) for group in groups if about is None or about in group]
    merging = {} if rule is None else Resolve(rule, method).settings
    return Enhancements(
        tuple(sorted(found, key=lambda each: each.certainty)), {"weights": dict(weights or {}), **merging}
    )


# --- What a published table gives away about one person (Whang and Garcia-Molina, section 3) --------------------------
# Each row of a release becomes a record, each column a label; a cell that is all stars says nothing. The adversary merges
# the rows that agree on all quasi-identifiers, together with the background tables at hand. Generalized values stand for
# what they cover: the 111 of a background table and of the reference becomes the 11* of the release before anything is
# compared, or the adversary would hold the same fact twice. k-anonymity calls all rows equally safe; the leakage differs
# from person to person.
@dataclass(frozen=True)
class TableLeakage:
    """What the table says about one person, and the merged record that says it."""

    person: str
    leakage: float
    witnesses: tuple[Record, ...]


@dataclass(frozen=True, repr=False)
class PeopleLeakage(results.Several[TableLeakage]):
    """What a published table says about each of several people."""

    view = "dossier"

    @property
    def leakage(self) -> float:
        """The most that it says about one of them."""
        return max((each.leakage for each in self), default=0.0)


@values.checked
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
    """The leakage of each person through a published table, in the order given.

    Args:
        release: The published table: a list of mappings, or whatever `dv.read` opens.
        people: What is true of each person.
        quasi_identifiers: The columns by which rows are merged. Their generalized values are read off the release.
        background: Tables that the adversary holds besides.
        same: Values that mean the same, such as {"Disease": {"Flu": ["Influenza"]}}. They add to what is read off the release, and so
            does an equivalence in `measure`.
        generalized_confidence: How far a generalized value counts as the true one.
        measure: How leakage is measured; by default as `leakage` does.

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
    labels = values.several(quasi_identifiers)
    rows = [record.kept(lambda attribute: bool(attribute.value.strip("*"))) for record in from_rows(release)]
    for label in labels:
        if not any(label in record.value_sets for record in rows):
            raise BadInput(f"no row of the release has a value for the quasi-identifier {label!r}")
    equivalence = generalized(rows, labels).then(Equivalence(same or {})).then(measure.equivalence or Equivalence({}))
    vague = [_less_sure(record.attributes, labels, generalized_confidence) for record in rows]
    known = [record.attributes for table in background for record in from_rows(table)]
    named = [Record(attributes, f"row {number}") for number, attributes in enumerate(vague, start=1)]
    named += [Record(attributes, f"known {number}") for number, attributes in enumerate(known, start=1)]
    merged = resolve(map(equivalence.apply, named), MatchRule((tuple(labels),))).records
    settings = {
        **measure.settings,
        "quasi_identifiers": labels,
        "generalized_confidence": generalized_confidence,
        **({"same": sorted(same)} if same else {}),
        **({"background_tables": list(map(_source_of, background))} if background else {}),
    }
    measure = replace(measure, equivalence=equivalence)
    found = [(person.id or f"person {n}", measure.most(merged, person)) for n, person in enumerate(people, start=1)]
    people_found = (TableLeakage(name, most.leakage, most.witnesses) for name, most in found)
    return PeopleLeakage(tuple(people_found), settings)


def _source_of(table: object) -> str:
    return str(table) if isinstance(table, str | Path) else type(table).__name__


def generalized(rows: Iterable[Record], labels: Sequence[str]) -> Equivalence:
    """The equivalence a release implies: each of its generalized values (11*, 3*, >=50, 20-29) stands for what it covers.

    Values that are no pattern, such as a plain 111, stand for themselves. When patterns overlap, the longer prefix and
    then the name decide.
    """
    classes: dict[str, dict[str, list[str]]] = {}
    shown = {attribute for record in rows for attribute in record.attributes if attribute.label in labels}
    for label, value in sorted(shown, key=lambda attribute: (-len(attribute.value.rstrip("*")), attribute.value)):
        if read_pattern(value):
            classes.setdefault(label, {}).setdefault(value, [])
    return Equivalence(classes)


def _less_sure(attributes: Mapping[Attribute, float], labels: Sequence[str], trust: float) -> dict[Attribute, float]:
    """The attributes with this confidence in generalized values."""
    return {a: c * trust if a.label in labels and read_pattern(a.value) else c for a, c in attributes.items()}
