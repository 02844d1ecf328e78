# SPDX-License-Identifier: Apache-2.0
"""What to verify next in a composite record (Whang and Garcia-Molina, section 4.3).

An adversary, or an investigator, does not know the truth p. The certainty of a composite record r_c is its leakage against
r_p, the same attributes with confidence 1. Verifying an attribute of a source record raises its confidence to 1 and costs
1 - c unless told otherwise. Leakage is affine in each confidence, so the gain is (1 - c') * (L(c=1) - L(c=0)), where c' is
the confidence after merging. It is nothing when another source is already certain. The composition of the record is
held fixed: verifying is not assumed to make further records match.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from divulge.dossier.leakage import record_leakages
from divulge.dossier.matching import MatchRule
from divulge.dossier.record import Attribute, Database, Record, show
from divulge.dossier.resolve import Method, merge_all, name_of, resolve, with_ids
from divulge.errors import BadInput, nearest


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


@dataclass(frozen=True)
class Enhancement:
    """A composite record, how certain it is, and what to verify, best first."""

    record: Record
    certainty: float
    """L(r_c, r_p): 1 when nothing is in doubt."""
    options: tuple[Verification, ...]
    """By gain per cost, then the cheaper one, then by name. Attributes that are certain already are left out."""


def enhance(
    sources: Sequence[Record],
    *,
    weights: Mapping[str, float] | None = None,
    cost: Callable[[Attribute, float], float] | None = None,
) -> Enhancement:
    """What to verify among the records that make up one composite record; `cost(attribute, confidence)` may price it.

    >>> found = enhance([Record.of({"N": "Alice"}, id="r1"), Record.of({"P": ("123", 0.5)}, id="r2")])
    >>> found.options[0].source
    'r2'
    """
    if not sources:
        raise BadInput("there is no record to enhance", hint="give the records that make up the composite")
    named = with_ids(sources)
    composite = merge_all(named)
    if not composite.attributes:
        return Enhancement(composite, 0.0, ())
    truth = Record(composite.certain().attributes)
    doubtful = [attribute for attribute, confidence in composite.attributes.items() if confidence < 1]
    versions = [composite]
    for attribute in doubtful:
        versions += [composite.with_confidence(attribute, 1.0), composite.with_confidence(attribute, 0.0)]
    leakages = record_leakages(versions, truth, weights=weights).tolist()
    slopes = dict(zip(doubtful, _differences(leakages[1:]), strict=True))
    price = cost or _what_is_missing
    options = [
        _verification(name_of(record), attribute, confidence, composite=composite, slopes=slopes, price=price)
        for record in named
        for attribute, confidence in record.attributes.items()
        if confidence < 1
    ]
    options.sort(key=lambda each: (-each.ratio, each.cost, each.source, each.attribute))
    return Enhancement(composite, leakages[0], tuple(options))


def enhance_each(
    database: Sequence[Record],
    *,
    rule: MatchRule | str | None,
    method: Method = "swoosh",
    about: str | None = None,
    weights: Mapping[str, float] | None = None,
) -> tuple[Enhancement, ...]:
    """The same for each composite record that the rule makes, the least certain first; without a rule all are one.

    `about` keeps the composite that contains the record of this id.
    """
    named = with_ids(database)
    by_name = {name_of(record): record for record in named}
    if about is not None and about not in by_name:
        raise BadInput(f"there is no record {about!r}", hint=nearest(about, by_name))
    groups = [list(named)] if rule is None else _groups(named, rule, method)
    chosen = [group for group in groups if about is None or any(name_of(record) == about for record in group)]
    found = [enhance(group, weights=weights) for group in chosen]
    return tuple(sorted(found, key=lambda each: each.certainty))


def _groups(named: Database, rule: MatchRule | str, method: Method) -> list[list[Record]]:
    """The records of each group; a record that was merged before stands for all its sources."""
    owner = {source: record for record in named for source in record.sources}
    merged = resolve(named, rule, method=method).records
    return [
        list({name_of(owner[source]): owner[source] for source in sorted(each.sources)}.values()) for each in merged
    ]


def _verification(
    source: str,
    attribute: Attribute,
    confidence: float,
    *,
    composite: Record,
    slopes: Mapping[Attribute, float],
    price: Callable[[Attribute, float], float],
) -> Verification:
    cost = price(attribute, confidence)
    if not 0 < cost < math.inf:
        raise BadInput(f"verifying {show(attribute)} in {source!r} costs {cost!r}", hint="a cost is a number above 0")
    gain = (1 - composite.attributes[attribute]) * slopes.get(attribute, 0.0)
    return Verification(source, attribute, confidence, gain, cost, gain / cost)


def _what_is_missing(_: Attribute, confidence: float) -> float:
    return 1 - confidence


def _differences(pairs: Sequence[float]) -> list[float]:
    """First minus second of each pair in a row of pairs; a larger confidence never lowers certainty."""
    return [max(0.0, pairs[at] - pairs[at + 1]) for at in range(0, len(pairs), 2)]
