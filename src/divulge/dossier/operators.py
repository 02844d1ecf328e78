# SPDX-License-Identifier: Apache-2.0
"""What the adversary does with the records, and what it costs (Whang and Garcia-Molina, section 2.4).

An operator E turns a database into another one and has a cost C(E, R). Operators compose: the second works on what the
first made, and the costs add. The leakage of R under E is the leakage of E(R) (definition 22); it may be lower than
that of R, because merging also piles up errors. Dipping asks what E finds out about one query record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from divulge import values
from divulge.dossier.equivalence import Equivalence
from divulge.dossier.leakage import Measure
from divulge.dossier.record import Attribute, Database, Record, check_confidence, highest
from divulge.dossier.resolve import MatchRule, Method, all_sources, as_rule, check_method, free_name, resolve, with_ids
from divulge.errors import BadInput
from divulge.results import Result


@values.checked_fields
@dataclass(frozen=True)
class Cost:
    """What an operator costs on |R| records: coefficient * |R|^exponent, in steps, seconds or money."""

    coefficient: float = 1.0
    exponent: float = 1.0

    def __post_init__(self) -> None:
        for name, number in (("coefficient", self.coefficient), ("exponent", self.exponent)):
            if not 0 <= number < math.inf:
                raise BadInput(f"the {name} of a cost is {number!r}", hint="it is a number of at least 0")

    def of(self, database: Database) -> float:
        """The cost for this many records."""
        return self.coefficient * math.pow(len(database), self.exponent)


@runtime_checkable
class Operator(Protocol):
    """One step of an adversary's analysis. It must keep each record's `sources`."""

    @property
    def monotone(self) -> bool:
        """Whether each record of E(R) is contained in a record of E(R + S), for any S; bounds rest on it."""

    def __call__(self, database: Database) -> Database:
        """The database after this step."""

    def cost(self, database: Database) -> float:
        """What the step costs on this database."""


@runtime_checkable
class Directed(Protocol):
    """An operator whose outcome depends on whose record is in question."""

    def seen_from(self, name: str) -> Operator:
        """The same operator, seen from the record of this id."""


class Priced:
    """An operator with a price; monotone unless it says otherwise."""

    price: Cost
    monotone = True
    merges = False
    """Whether records are put together."""

    def cost(self, database: Database) -> float:
        """The price for this many records."""
        return self.price.of(database)


@values.checked_fields
@dataclass(frozen=True)
class Correct(Priced):
    """Error correction: replace values that are known to be wrong or to mean the same."""

    corrections: Equivalence | Mapping[str, Mapping[str, str]]
    """Canonical values, or per label {wrong: right}."""
    price: Cost = field(default_factory=Cost)

    def __call__(self, database: Database) -> Database:
        """The database with corrected values; where two become one, the higher confidence stays."""
        return tuple(record.rewritten(self._corrected) for record in database)

    @property
    def settings(self) -> dict[str, Any]:
        """What it does, as a document holds it."""
        if isinstance(self.corrections, Equivalence):
            return {"equivalence": True}
        return {"corrected": sorted(self.corrections)}

    def _corrected(self, attribute: Attribute) -> Attribute:
        if isinstance(self.corrections, Equivalence):
            return self.corrections.canonical(attribute)
        right = self.corrections.get(attribute.label, {}).get(attribute.value, attribute.value)
        return Attribute(attribute.label, right)


@values.checked_fields
@dataclass(frozen=True)
class Augment(Priced):
    """Augmentation: infer one label from another, such as the zip code from the address."""

    source: str
    target: str
    lookup: Mapping[str, str] | Callable[[str], str | None]
    confidence: float = 1.0
    """How far the lookup is trusted; the inferred value has this times the confidence of what it came from."""
    price: Cost = field(default_factory=Cost)

    def __post_init__(self) -> None:
        check_confidence(self.confidence, (self.target, "any value"))

    def __call__(self, database: Database) -> Database:
        """The database with the inferred values added."""
        return tuple(self._augmented(record) for record in database)

    @property
    def settings(self) -> dict[str, Any]:
        """What it does, as a document holds it."""
        return {"augment": [f"{self.source}={self.target}"], "augment_confidence": self.confidence}

    def _augmented(self, record: Record) -> Record:
        find = self.lookup if callable(self.lookup) else self.lookup.get
        inferred = [
            (Attribute(self.target, value), confidence * self.confidence)
            for attribute, confidence in record.attributes.items()
            if attribute.label == self.source and (value := find(attribute.value)) is not None
        ]
        return replace(record, attributes=highest(inferred, dict(record.attributes)))


@values.checked_fields
@dataclass(frozen=True)
class Resolve(Priced):
    """Entity resolution by a match rule; its price is that of comparing all pairs unless told otherwise."""

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
        """What it does, as a document holds it."""
        return {"resolve": str(self.rule), "er": self.method, "trust": as_rule(self.rule).threshold}


@values.checked_fields
@dataclass(frozen=True)
class Chain:
    """Operators one after another; without any, the identity."""

    operators: tuple[Operator, ...] = ()

    @property
    def monotone(self) -> bool:
        """Whether all of them are."""
        return all(operator.monotone for operator in self.operators)

    def __call__(self, database: Database) -> Database:
        """The database after the last operator."""
        return self.run(database)[0]

    def cost(self, database: Database) -> float:
        """The sum of the costs, each on what the operators before made."""
        return self.run(database)[1]

    def seen_from(self, name: str) -> Chain:
        """The same steps, those that depend on it seen from the record of this id."""
        return Chain(tuple(step.seen_from(name) if isinstance(step, Directed) else step for step in self.operators))

    def run(self, database: Database) -> tuple[Database, float]:
        """The database after the last operator, and the sum of the costs."""
        spent = 0.0
        for operator in self.operators:
            spent += operator.cost(database)
            database = operator(database)
        return database, spent


def settings_of(operator: Operator) -> dict[str, Any]:
    """What an operator does, step by step, as a document holds it; a user's own is known by its name."""
    if isinstance(operator, Chain):
        found: dict[str, Any] = {}
        for step in map(settings_of, operator.operators):
            lists = {
                name: [*found[name], *step[name]] for name in ("augment", "operators") if name in found and name in step
            }
            found |= step | lists
        return found
    return dict(getattr(operator, "settings", {"operators": [type(operator).__name__]}))


def _price_of_merging(operator: Operator) -> dict[str, Any]:
    steps = operator.operators if isinstance(operator, Chain) else (operator,)
    merging = [step for step in steps if isinstance(step, Priced) and step.merges]
    return {"cost": asdict(merging[-1].price)} if merging else {}


@dataclass(frozen=True, repr=False)
class Attack(Result):
    """What an operator reveals, and for what cost (definition 22)."""

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
    """How leakage was measured, what the operator does, and what merging costs."""

    @property
    def gain(self) -> float:
        """What the operator added; negative when merging piled up more errors than truths."""
        return self.leakage - self.before


@dataclass(frozen=True, repr=False)
class Dip(Result):
    """What the adversary finds out about a query record."""

    view = "dossier"

    record: Record
    """The query merged with what belongs to it; the query itself when nothing does."""
    reached: frozenset[str]
    """Ids of the records that were found."""
    leakage: float | None
    """How much of the person that is, where the truth was given."""
    settings: Mapping[str, Any]


@values.checked
def attack(
    database: Sequence[Record], reference: Record, operator: Operator, *, measure: Measure | None = None
) -> Attack:
    """L(R, p, E): what the records tell after an operator has worked on them, and what that costs.

    Args:
        database: The records that are known.
        reference: What is true of the person.
        operator: What the adversary does: `Resolve`, `Link`, `Correct`, `Augment`, or a `Chain` of such steps.
        measure: How leakage is measured; by default as `leakage` does.

    Examples:
        >>> import divulge as dv
        >>> alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
        >>> known = [dv.dossier.Record.of({"N": "Alice", "A": "20"}), dv.dossier.Record.of({"N": "Alice", "P": "123"})]
        >>> found = dv.dossier.attack(known, alice, dv.dossier.Resolve("N"))
        >>> round(found.before, 12), found.leakage, found.cost
        (0.8, 1.0, 4.0)
    """
    measure = measure or Measure()
    given = with_ids(database)
    before = measure.most(given, reference)
    records, cost = operator.run(given) if isinstance(operator, Chain) else (operator(given), operator.cost(given))
    after = measure.most(records, reference)
    settings = {**measure.settings, **settings_of(operator), **_price_of_merging(operator)}
    return Attack(after.leakage, before.leakage, cost, after.witnesses, records, after.each, settings)


@values.checked
def dip(
    database: Sequence[Record],
    query: Record,
    operator: Operator,
    *,
    reference: Record | None = None,
    measure: Measure | None = None,
) -> Dip:
    """D(R, E, q): what the adversary finds out about a query record, the record of E(R + {q}) that it went into.

    Args:
        database: The records that are known.
        query: The record asked about.
        operator: What the adversary does, as in `attack`.
        reference: What is true of the person, to measure what was found.
        measure: How that is measured; by default as `leakage` does.

    Examples:
        >>> import divulge as dv
        >>> known = [dv.dossier.Record.of({"N": "Ann", "P": "1"}, id="shop")]
        >>> found = dv.dossier.dip(known, dv.dossier.Record.of({"N": "Ann"}), dv.dossier.Resolve("N"))
        >>> sorted(found.reached), found.record.labels
        (['shop'], ('N', 'P'))
    """
    if measure is not None and reference is None:
        raise BadInput("there is no reference to measure against", hint="give what is true of the person")
    given, measure = with_ids(database), measure or Measure()
    name = free_name("q", all_sources(given))
    seen = operator.seen_from(name) if isinstance(operator, Directed) else operator
    outcome = seen((*given, Record(query.attributes, name)))
    found = [record for record in outcome if name in record.sources]
    if len(found) != 1:
        raise BadInput(
            f"after the operator, {len(found)} records name the query as a source", hint="an operator must keep sources"
        )
    leakage = None if reference is None else float(measure.each([found[0]], reference)[0])
    measured = {"equivalence": False} if reference is None else measure.settings
    return Dip(found[0], found[0].sources - {name}, leakage, {**measured, **settings_of(operator)})
