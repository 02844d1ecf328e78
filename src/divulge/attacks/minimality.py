# SPDX-License-Identifier: Apache-2.0
"""The minimality attack (Wong, Fu, Wang and Pei 2007) on the choice of a generalization.

An adversary who knows the anonymization program can rule out originals that would not have led to
the release. The adversary knows everyone's quasi-identifiers, the program and the policy. A
permutation of the sensitive values in a class is another possible original. It is ruled out if the
program would have published it with less generalization. The remaining originals are equally
likely. The credibility of a value is the share of these originals in which the person has it. It
may exceed the value's share in the class. Requirements on shares in classes do not bound it,
because they assume an adversary who does not know the reason for the generalization.

All originals are enumerated, up to permutations of people with equal quasi-identifiers, who are
indistinguishable. So the attack is for small tables. On large tables the disclosure by the
program's choice remains unknown.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from divulge import queries
from divulge.attacks.context import AttackContext, Program
from divulge.attacks.result import AtRisk, Attacker, Attempt
from divulge.text import as_text

Key = tuple[queries.Text, ...]
Labels = Mapping[Key, Key]
"""Published labels of each combination of quasi-identifiers."""
MOST_ORIGINALS = 1000
MOST_PEOPLE = 200
_MAX_SHOWN = 5
_TIE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ValueAssignment:
    """One assignment of the values of a class to its units; a unit is people with equal keys."""

    values: tuple[tuple[tuple[queries.Text, int], ...], ...]
    ways: int
    """Number of assignments of the values to the people within the units."""


def assignments(
    units: Sequence[int], values: Mapping[queries.Text, int]
) -> Iterator[ValueAssignment]:
    """Yield all assignments of the values of a class to units of these sizes.

    >>> [(each.values, each.ways) for each in assignments([1, 2], {"flu": 2, "cold": 1})]
    [(((('cold', 1),), (('flu', 2),)), 1), (((('flu', 1),), (('cold', 1), ('flu', 1))), 2)]
    """
    if not units:
        yield ValueAssignment((), 1)
        return
    for unit_values in _multisets(
        units[0], sorted(values.items(), key=lambda item: (item[0] is None, item[0] or ""))
    ):
        remaining = {
            value: count - dict(unit_values).get(value, 0) for value, count in values.items()
        }
        ways = math.factorial(units[0]) // math.prod(
            math.factorial(count) for _, count in unit_values
        )
        for rest in assignments(units[1:], remaining):
            yield ValueAssignment((unit_values, *rest.values), ways * rest.ways)


def _multisets(
    size: int, values: Sequence[tuple[queries.Text, int]]
) -> Iterator[tuple[tuple[queries.Text, int], ...]]:
    """Yield all multisets of `size` values; none if there are too few values.

    Those with the most of the first value come first.
    """
    if size == 0:
        yield ()
    elif sum(count for _, count in values) >= size:
        (value, available_count), *others = values
        for count in range(min(size, available_count), -1, -1):
            first_values = ((value, count),) if count else ()
            yield from (first_values + rest for rest in _multisets(size - count, others))


@dataclass(frozen=True)
class Posterior:
    """Posterior of the sensitive values after the enumeration of all originals."""

    belief: Mapping[Key, Mapping[queries.Text, float]]
    """Posterior of each value for each combination of quasi-identifiers."""
    possible: int
    """Number of originals that would have led to the release, up to indistinguishable people."""
    tried: int
    """Number of enumerated originals."""


def credibility(
    units: Mapping[Key, int],
    labels: Labels,
    values: Mapping[Key, Mapping[queries.Text, int]],
    would_publish: Callable[[Mapping[Key, Counter[queries.Text]]], bool],
) -> Posterior:
    """Compute the posterior of the sensitive values by enumeration of all originals.

    `units` has the number of people of each combination of quasi-identifiers, `values` the counts
    of the values of each published class.
    """
    classes: dict[Key, list[Key]] = {}
    for unit in units:
        classes.setdefault(labels[unit], []).append(unit)
    class_assignments = [
        list(assignments([units[unit] for unit in members], values[label]))
        for label, members in classes.items()
    ]
    weights: dict[Key, Counter[queries.Text]] = {unit: Counter() for unit in units}
    possible = tried = total = 0
    for combination in itertools.product(*class_assignments):
        values_of_units = {
            unit: Counter(dict(unit_values))
            for members, assignment in zip(classes.values(), combination, strict=True)
            for unit, unit_values in zip(members, assignment.values, strict=True)
        }
        tried += 1
        if would_publish(values_of_units):
            ways = math.prod(assignment.ways for assignment in combination)
            possible += 1
            total += ways
            for unit, unit_values in values_of_units.items():
                weights[unit].update({value: ways * count for value, count in unit_values.items()})
    belief = {
        unit: {
            value: weight / (total * units[unit])
            for value, weight in value_weights.items()
            if weight
        }
        for unit, value_weights in weights.items()
    }
    return Posterior(belief, possible, tried)


# --- on a context ---------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _SmallTable:
    """Small original: everyone's quasi-identifiers and the labels that the program publishes."""

    program: Program
    rows: pa.Table
    quasi_identifiers: tuple[str, ...]
    about: str
    keys: tuple[Key, ...]
    """Quasi-identifiers of each row."""
    labels: Labels

    @classmethod
    def of(cls, context: AttackContext) -> _SmallTable | str:
        """Collect the inputs of the attack, or return the reason that it does not apply."""
        if context.program is None:
            return "she knows no policy by which the release was made: give it"
        if len(context.roles.sensitive) != 1:
            return "it goes through the values of one sensitive column, and there must be one"
        names = context.roles.quasi_identifiers
        about = context.roles.sensitive[0]
        engine = context.everybody.engine
        relation = context.everybody.relation
        if (
            people := engine.query(f"SELECT COUNT(*) AS n FROM {relation}").column("n")[0].as_py()
        ) > MOST_PEOPLE:
            return (
                f"the truth has {people:,} rows, too many to go through all originals: what the "
                "program's choice gives away stays open"
            )
        rows = engine.query(
            f"SELECT {', '.join(map(engine.quote, [*names, about]))} FROM {relation}"
        )
        labels = context.program(rows)
        if labels is None:
            return "nothing can be published of the truth by this policy"
        published_labels = {key: label for key, label in labels.items() if label is not None}
        if len(published_labels) < len(labels):
            return "the release leaves people out, and what they have is open"
        columns = [[as_text(value) for value in rows.column(name).to_pylist()] for name in names]
        small_table = cls(
            context.program, rows, names, about, tuple(zip(*columns, strict=True)), published_labels
        )
        if not _same_release(context, small_table):
            return "this policy does not lead from this truth to this release"
        if small_table.originals() > MOST_ORIGINALS:
            return (
                f"more than {MOST_ORIGINALS:,} originals would have to be gone through; what the "
                "program's choice gives away stays open on a table of this size"
            )
        return small_table

    @cached_property
    def truth(self) -> list[queries.Text]:
        return [as_text(value) for value in self.rows.column(self.about).to_pylist()]

    @cached_property
    def values_of_classes(self) -> dict[Key, Counter[queries.Text]]:
        """Counts of the values of each published class, which the release reveals."""
        class_values: dict[Key, Counter[queries.Text]] = {}
        for key, value in zip(self.keys, self.truth, strict=True):
            class_values.setdefault(self.labels[key], Counter())[value] += 1
        return class_values

    def originals(self) -> int:
        """Count the originals to enumerate; the count stops above `MOST_ORIGINALS`."""
        members: dict[Key, list[int]] = {}
        for key, people in Counter(self.keys).items():
            members.setdefault(self.labels[key], []).append(people)
        total = 1
        for label, values in self.values_of_classes.items():
            total *= sum(
                1 for _ in itertools.islice(assignments(members[label], values), MOST_ORIGINALS + 1)
            )
            if total > MOST_ORIGINALS:
                break
        return total

    def would_publish(self, values_of_units: Mapping[Key, Counter[queries.Text]]) -> bool:
        """Return True if the program publishes equal labels for an original with these values."""
        remaining_values = {
            key: list(value_counts.elements()) for key, value_counts in values_of_units.items()
        }
        value_of_text = dict(zip(self.truth, self.rows.column(self.about).to_pylist(), strict=True))
        column = pa.array(
            [value_of_text[remaining_values[key].pop()] for key in self.keys],
            self.rows.schema.field(self.about).type,
        )
        column_index = self.rows.column_names.index(self.about)
        return self.program(self.rows.set_column(column_index, self.about, column)) == self.labels


def _obstacle(context: AttackContext) -> str:
    small_table = _SmallTable.of(context)
    if isinstance(small_table, str):
        return small_table
    return ""


def _same_release(context: AttackContext, small_table: _SmallTable) -> bool:
    """Return True if the classes of the release are those that the program produces."""
    engine = context.release.engine
    names = (*small_table.quasi_identifiers, small_table.about)
    cells = ", ".join(engine.cast(engine.quote(name), "VARCHAR") for name in names)
    release_rows = engine.query(f"SELECT {cells} FROM {context.release.relation}")
    release_counts = Counter(
        zip(*(column.to_pylist() for column in release_rows.columns), strict=True)
    )
    program_counts = Counter(
        (*small_table.labels[key], value)
        for key, value in zip(small_table.keys, small_table.truth, strict=True)
    )
    return release_counts == program_counts


def _minimality(context: AttackContext) -> Iterator[Attempt]:
    small_table = _SmallTable.of(context)
    if isinstance(small_table, str):
        return
    units = Counter(small_table.keys)
    posterior = credibility(
        units, small_table.labels, small_table.values_of_classes, small_table.would_publish
    )
    people = list(zip(small_table.keys, small_table.truth, strict=True))
    success = [_guess_success(posterior.belief[key], value) for key, value in people]
    baseline = [
        _guess_success(small_table.values_of_classes[small_table.labels[key]], value)
        for key, value in people
    ]
    yield Attempt(
        name="minimality",
        aim="inference",
        about=small_table.about,
        knows=small_table.quasi_identifiers,
        targets=len(small_table.keys),
        guesses=len(small_table.keys),
        successes=float(sum(success)),
        random=1 / len(set(small_table.truth)),
        prior=float(sum(baseline)) / len(baseline),
        most_at_risk=tuple(_most_confident(small_table, posterior, units, success)),
        told=f"Of {posterior.tried:,} originals that fit the release, {posterior.possible:,} would "
        "have led to it; she guesses what is likeliest in these. The prior is what the classes "
        "alone tell. Promises about shares in classes do not cover who knows program and policy.",
    )


def _guess_success(belief: Mapping[queries.Text, float], value: queries.Text) -> float:
    """Compute the probability that the likeliest value, or a random one of several, is `value`."""
    highest = max(belief.values())
    likeliest = [
        candidate for candidate, share in belief.items() if share >= highest * (1 - _TIE_TOLERANCE)
    ]
    return (value in likeliest) / len(likeliest)


def _most_confident(
    small_table: _SmallTable,
    posterior: Posterior,
    units: Mapping[Key, int],
    success: Sequence[float],
) -> Iterator[AtRisk]:
    by_key: dict[Key, list[float]] = {}
    for key, probability in zip(small_table.keys, success, strict=True):
        by_key.setdefault(key, []).append(probability)
    order = sorted(units, key=lambda key: (-max(posterior.belief[key].values()), -units[key]))
    for key in order[:_MAX_SHOWN]:
        guess, belief = max(posterior.belief[key].items(), key=lambda item: item[1])
        label = small_table.labels[key]
        fitting = sum(
            people for other, people in units.items() if small_table.labels[other] == label
        )
        known_values = dict(zip(small_table.quasi_identifiers, key, strict=True))
        yield AtRisk(
            known_values, units[key], float(fitting), guess, belief, sum(by_key[key]) / units[key]
        )


MINIMALITY = Attacker(
    "minimality",
    "inference",
    "rules out originals of which the program, known with its policy, would have published "
    "something else",
    "Wong et al. 2007",
    _minimality,
    _obstacle,
    by_default=False,
)
