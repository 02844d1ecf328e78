# SPDX-License-Identifier: Apache-2.0
"""Operators: analyses of the records by the adversary, with costs (Whang and Garcia-Molina, 2.4).

An operator E maps a database to another one and has a cost C(E, R). Operators compose: the second
works on the output of the first, and the costs add. The leakage of R under E is the leakage of E(R)
(definition 22). It may be lower than that of R, because merging also accumulates errors. Dipping
computes the information that E yields about one query record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from divulge.dossier.equivalence import Equivalence
from divulge.dossier.leakage import Measure
from divulge.dossier.record import Attribute, Database, Record, check_confidence, highest
from divulge.dossier.resolve import (
    MatchRule,
    Method,
    all_sources,
    as_rule,
    check_method,
    free_name,
    resolve,
    with_ids,
)
from divulge.errors import BadInput
from divulge.results import Result
from divulge.validation import checked, checked_fields


@checked_fields
@dataclass(frozen=True)
class Cost:
    """The cost of an operator on |R| records: coefficient * |R|^exponent.

    The unit is steps, seconds or money.
    """

    coefficient: float = 1.0
    exponent: float = 1.0

    def __post_init__(self) -> None:
        for name, number in (("coefficient", self.coefficient), ("exponent", self.exponent)):
            if not 0 <= number < math.inf:
                raise BadInput(
                    f"the {name} of a cost is {number!r}", hint="it is a number of at least 0"
                )

    def of(self, database: Database) -> float:
        """The cost for this many records."""
        return self.coefficient * math.pow(len(database), self.exponent)


@runtime_checkable
class Operator(Protocol):
    """One step of an adversary's analysis. It must keep each record's `sources`."""

    @property
    def monotone(self) -> bool:
        """True if each record of E(R) is contained in a record of E(R + S), for any S.

        Bounds depend on it.
        """

    def __call__(self, database: Database) -> Database:
        """The database after this step."""

    def cost(self, database: Database) -> float:
        """The cost of the step on this database."""


@runtime_checkable
class Directed(Protocol):
    """An operator whose result depends on the record of interest."""

    def seen_from(self, name: str) -> Operator:
        """The operator as seen from the record of this id."""


class Priced:
    """An operator with a price; monotone by default."""

    price: Cost
    monotone = True
    merges = False
    """True if the operator merges records."""

    def cost(self, database: Database) -> float:
        """The price for this many records."""
        return self.price.of(database)


@checked_fields
@dataclass(frozen=True)
class Correct(Priced):
    """Error correction: replace values that are wrong or have a canonical synonym."""

    corrections: Equivalence | Mapping[str, Mapping[str, str]]
    """Canonical values, or per label {wrong: right}."""
    price: Cost = field(default_factory=Cost)

    def __call__(self, database: Database) -> Database:
        """Correct the values; if two become equal, the higher confidence stays."""
        return tuple(record.rewritten(self._correct) for record in database)

    @property
    def settings(self) -> dict[str, Any]:
        """The operator's settings for the JSON output."""
        if isinstance(self.corrections, Equivalence):
            return {"equivalence": True}
        return {"corrected": sorted(self.corrections)}

    def _correct(self, attribute: Attribute) -> Attribute:
        if isinstance(self.corrections, Equivalence):
            return self.corrections.canonical(attribute)
        right = self.corrections.get(attribute.label, {}).get(attribute.value, attribute.value)
        return Attribute(attribute.label, right)


@checked_fields
@dataclass(frozen=True)
class Augment(Priced):
    """Augmentation: infer one label from another, such as the zip code from the address."""

    source: str
    target: str
    lookup: Mapping[str, str] | Callable[[str], str | None]
    confidence: float = 1.0
    """The confidence in the lookup.

    The confidence of an inferred value is this times the confidence of its source.
    """
    price: Cost = field(default_factory=Cost)

    def __post_init__(self) -> None:
        check_confidence(self.confidence, (self.target, "any value"))

    def __call__(self, database: Database) -> Database:
        """The database with the inferred values added."""
        return tuple(self._augment(record) for record in database)

    @property
    def settings(self) -> dict[str, Any]:
        """The operator's settings for the JSON output."""
        return {"augment": [f"{self.source}={self.target}"], "augment_confidence": self.confidence}

    def _augment(self, record: Record) -> Record:
        if callable(self.lookup):
            find = self.lookup
        else:
            find = self.lookup.get
        inferred = [
            (Attribute(self.target, value), confidence * self.confidence)
            for attribute, confidence in record.attributes.items()
            if attribute.label == self.source and (value := find(attribute.value)) is not None
        ]
        return replace(record, attributes=highest(inferred, dict(record.attributes)))


@checked_fields
@dataclass(frozen=True)
class Resolve(Priced):
    """Entity resolution by a match rule.

    The default price is that of comparing all pairs.
    """

    rule: MatchRule | str
    method: Method = "swoosh"
    price: Cost = field(default_factory=lambda: Cost(exponent=2))
    merges = True

    def __post_init__(self) -> None:
        check_method(self.method)
        object.__setattr__(self, "rule", as_rule(self.rule))

    def __call__(self, database: Database) -> Database:
        """The database after merging."""
        return resolve(database, self.rule, method=self.method).records

    @property
    def settings(self) -> dict[str, Any]:
        """The operator's settings for the JSON output."""
        return {"resolve": str(self.rule), "er": self.method, "trust": as_rule(self.rule).threshold}


@checked_fields
@dataclass(frozen=True)
class Chain:
    """Operators in sequence; without any, the identity."""

    operators: tuple[Operator, ...] = ()

    @property
    def monotone(self) -> bool:
        """True if all operators are monotone."""
        return all(operator.monotone for operator in self.operators)

    def __call__(self, database: Database) -> Database:
        """The database after the last operator."""
        return self.run(database)[0]

    def cost(self, database: Database) -> float:
        """The sum of the costs, each on the output of the operators before."""
        return self.run(database)[1]

    def seen_from(self, name: str) -> Chain:
        """The chain as seen from the record of this id, for the steps that depend on it."""
        return Chain(
            tuple(
                step.seen_from(name) if isinstance(step, Directed) else step
                for step in self.operators
            )
        )

    def run(self, database: Database) -> tuple[Database, float]:
        """The database after the last operator, and the sum of the costs."""
        spent = 0.0
        for operator in self.operators:
            spent += operator.cost(database)
            database = operator(database)
        return database, spent


def settings_of(operator: Operator) -> dict[str, Any]:
    """The settings of an operator, step by step, for the JSON output.

    A user-defined operator is identified by its name.
    """
    if isinstance(operator, Chain):
        settings: dict[str, Any] = {}
        for step in map(settings_of, operator.operators):
            lists = {
                name: [*settings[name], *step[name]]
                for name in ("augment", "operators")
                if name in settings and name in step
            }
            settings |= step | lists
        return settings
    return dict(getattr(operator, "settings", {"operators": [type(operator).__name__]}))


def _price_of_merging(operator: Operator) -> dict[str, Any]:
    if isinstance(operator, Chain):
        steps = operator.operators
    else:
        steps = (operator,)
    merging = [step for step in steps if isinstance(step, Priced) and step.merges]
    if merging:
        return {"cost": asdict(merging[-1].price)}
    return {}


@dataclass(frozen=True, repr=False)
class Attack(Result):
    """The leakage under an operator, and its cost (definition 22)."""

    view = "dossier"

    leakage: float
    before: float
    """Leakage without the operator."""
    cost: float
    witnesses: tuple[Record, ...]
    """The records of E(R) that reach the leakage."""
    records: Database
    """E(R)."""
    each: tuple[float, ...]
    """The leakage of each record of E(R)."""
    settings: Mapping[str, Any]
    """The measure, the operator's settings, and the cost of merging."""

    @property
    def gain(self) -> float:
        """The added leakage; negative if merging accumulated more errors than truths."""
        return self.leakage - self.before


@dataclass(frozen=True, repr=False)
class Dip(Result):
    """The information that the adversary obtains about a query record."""

    view = "dossier"

    record: Record
    """The query merged with the records that belong to it; the query itself if there are none."""
    reached: frozenset[str]
    """Ids of the records that were found."""
    leakage: float | None
    """The leakage about the person, if the reference was given; else None."""
    settings: Mapping[str, Any]


@checked
def attack(
    database: Sequence[Record],
    reference: Record,
    operator: Operator,
    *,
    measure: Measure | None = None,
) -> Attack:
    """L(R, p, E): the leakage of the records after an operator, and its cost.

    Args:
        database: The adversary's records.
        reference: The true attributes of the person.
        operator: The adversary's analysis: `Resolve`, `Link`, `Correct`, `Augment`, or a `Chain` of
            such steps.
        measure: The options of `leakage`; by default its defaults.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> known = [
        ...     dv.dossier.Record.of({"N": "Alice", "A": "20"}),
        ...     dv.dossier.Record.of({"N": "Alice", "P": "123"}),
        ... ]
        >>> found = dv.dossier.attack(known, alice, dv.dossier.Resolve("N"))
        >>> round(found.before, 12), found.leakage, found.cost
        (0.8, 1.0, 4.0)
    """
    measure = measure or Measure()
    input_records = with_ids(database)
    before = measure.most(input_records, reference)
    if isinstance(operator, Chain):
        records, cost = operator.run(input_records)
    else:
        records = operator(input_records)
        cost = operator.cost(input_records)
    after = measure.most(records, reference)
    settings = {**measure.settings, **settings_of(operator), **_price_of_merging(operator)}
    return Attack(
        after.leakage, before.leakage, cost, after.witnesses, records, after.each, settings
    )


@checked
def dip(
    database: Sequence[Record],
    query: Record,
    operator: Operator,
    *,
    reference: Record | None = None,
    measure: Measure | None = None,
) -> Dip:
    """D(R, E, q): the record of E(R + {q}) that contains the query record.

    It is the information that the adversary obtains about the query.

    Args:
        database: The adversary's records.
        query: The query record.
        operator: The adversary's analysis, as in `attack`.
        reference: The true attributes of the person, for the leakage of the result.
        measure: The options of `leakage`; by default its defaults.

    Examples:
        >>> import divulge as dv
        >>> known = [dv.dossier.Record.of({"N": "Ann", "P": "1"}, id="shop")]
        >>> found = dv.dossier.dip(
        ...     known, dv.dossier.Record.of({"N": "Ann"}), dv.dossier.Resolve("N")
        ... )
        >>> sorted(found.reached), found.record.labels
        (['shop'], ('N', 'P'))
    """
    if measure is not None and reference is None:
        raise BadInput(
            "there is no reference to measure against", hint="give what is true of the person"
        )
    input_records, measure = with_ids(database), measure or Measure()
    name = free_name("q", all_sources(input_records))
    if isinstance(operator, Directed):
        directed_operator = operator.seen_from(name)
    else:
        directed_operator = operator
    outcome = directed_operator((*input_records, Record(query.attributes, name)))
    query_records = [record for record in outcome if name in record.sources]
    if len(query_records) != 1:
        raise BadInput(
            f"after the operator, {len(query_records)} records name the query as a source",
            hint="an operator must keep sources",
        )
    if reference is None:
        leakage = None
    else:
        leakage = float(measure.each([query_records[0]], reference)[0])
    measure_settings = {"equivalence": False} if reference is None else measure.settings
    return Dip(
        query_records[0],
        query_records[0].sources - {name},
        leakage,
        {**measure_settings, **settings_of(operator)},
    )
