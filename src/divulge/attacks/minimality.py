# SPDX-License-Identifier: Apache-2.0
"""The minimality attack (Wong, Fu, Wang and Pei 2007): who knows how a release was made knows which originals would not have led to it.

She knows the quasi-identifiers of everybody, the program and the policy. Values that people of one class might have exchanged make another
original; if the program would have published that one less coarsely, it was not the original. What is left, every original alike, is what
she believes: her credibility of a value is the share of these originals in which the person has it, and it may exceed every share in the
class. Promises about shares in classes do not cover it, for they are made to somebody who does not know why the class is as it is.

All originals are gone through, up to people with the same quasi-identifiers, whom nothing tells apart. So this is for small tables; on
large ones it stays open how much the program's choice gives away.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from divulge import answers
from divulge.attacks.attempt import AtRisk, Attacker, Attempt
from divulge.attacks.stage import Program, Stage
from divulge.values import as_text

Key = tuple[answers.Text, ...]
Labels = Mapping[Key, Key]
"""What each combination of quasi-identifiers is published as."""
MOST_ORIGINALS = 1000
MOST_PEOPLE = 200
_SHOWN = 5
_TIE = 1e-9


@dataclass(frozen=True)
class Dealing:
    """One way in which the values of a class may belong to its people: the values of each unit, people who are alike."""

    values: tuple[tuple[tuple[answers.Text, int], ...], ...]
    ways: int
    """In how many ways the people of the units can have them."""


def dealings(units: Sequence[int], values: Mapping[answers.Text, int]) -> Iterator[Dealing]:
    """All ways to deal the values of a class to units of so many people.

    >>> [(each.values, each.ways) for each in dealings([1, 2], {"flu": 2, "cold": 1})]
    [(((('cold', 1),), (('flu', 2),)), 1), (((('flu', 1),), (('cold', 1), ('flu', 1))), 2)]
    """
    if not units:
        yield Dealing((), 1)
        return
    for own in _hands(units[0], sorted(values.items(), key=lambda item: (item[0] is None, item[0] or ""))):
        left = {value: count - dict(own).get(value, 0) for value, count in values.items()}
        ways = math.factorial(units[0]) // math.prod(math.factorial(count) for _, count in own)
        for rest in dealings(units[1:], left):
            yield Dealing((own, *rest.values), ways * rest.ways)


def _hands(size: int, values: Sequence[tuple[answers.Text, int]]) -> Iterator[tuple[tuple[answers.Text, int], ...]]:
    """All sets of so many values; from the most of the first value on, none where too few are left."""
    if size == 0:
        yield ()
    elif sum(count for _, count in values) >= size:
        (value, most), *others = values
        for count in range(min(size, most), -1, -1):
            own = ((value, count),) if count else ()
            yield from (own + rest for rest in _hands(size - count, others))


@dataclass(frozen=True)
class Credible:
    """What she believes after she has gone through all originals."""

    belief: Mapping[Key, Mapping[answers.Text, float]]
    """For each combination of quasi-identifiers, of each value."""
    possible: int
    """How many originals would have led to the release, up to people who are alike ..."""
    tried: int
    """... of so many."""


def credibility(
    units: Mapping[Key, int],
    labels: Labels,
    values: Mapping[Key, Mapping[answers.Text, int]],
    would_publish: Callable[[Mapping[Key, Counter[answers.Text]]], bool],
) -> Credible:
    """Go through all originals: `units` says how many people have each combination, `values` what each published class holds."""
    classes: dict[Key, list[Key]] = {}
    for unit in units:
        classes.setdefault(labels[unit], []).append(unit)
    all_dealings = [
        list(dealings([units[unit] for unit in members], values[label])) for label, members in classes.items()
    ]
    weights: dict[Key, Counter[answers.Text]] = {unit: Counter() for unit in units}
    possible = tried = total = 0
    for chosen in itertools.product(*all_dealings):
        dealt = {
            unit: Counter(dict(own))
            for members, dealing in zip(classes.values(), chosen, strict=True)
            for unit, own in zip(members, dealing.values, strict=True)
        }
        tried += 1
        if would_publish(dealt):
            ways = math.prod(dealing.ways for dealing in chosen)
            possible, total = possible + 1, total + ways
            for unit, own in dealt.items():
                weights[unit].update({value: ways * count for value, count in own.items()})
    belief = {
        unit: {value: weight / (total * units[unit]) for value, weight in found.items() if weight}
        for unit, found in weights.items()
    }
    return Credible(belief, possible, tried)


# --- on a stage -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Small:
    """A small table: the quasi-identifiers of everybody, which she knows, and what the program makes of the original."""

    program: Program
    rows: pa.Table
    quasi_identifiers: tuple[str, ...]
    about: str
    keys: tuple[Key, ...]
    """Of each row."""
    labels: Labels

    @classmethod
    def of(cls, stage: Stage) -> _Small | str:
        """What the attack needs, or why it cannot be had."""
        if stage.program is None:
            return "she knows no policy by which the release was made: give it"
        if len(stage.roles.sensitive) != 1:
            return "it goes through the values of one sensitive column, and there must be one"
        names, about = stage.roles.quasi_identifiers, stage.roles.sensitive[0]
        engine, relation = stage.everybody.engine, stage.everybody.relation
        if (people := engine.query(f"SELECT COUNT(*) AS n FROM {relation}").column("n")[0].as_py()) > MOST_PEOPLE:
            return f"the truth has {people:,} rows, too many to go through all originals: what the program's choice gives away stays open"
        rows = engine.query(f"SELECT {', '.join(map(engine.quote, [*names, about]))} FROM {relation}")
        labels = stage.program(rows)
        if labels is None:
            return "nothing can be published of the truth by this policy"
        kept = {key: label for key, label in labels.items() if label is not None}
        if len(kept) < len(labels):
            return "the release leaves people out, and what they have is open"
        columns = [[as_text(value) for value in rows.column(name).to_pylist()] for name in names]
        small = cls(stage.program, rows, names, about, tuple(zip(*columns, strict=True)), kept)
        if not _same_release(stage, small):
            return "this policy does not lead from this truth to this release"
        if small.originals() > MOST_ORIGINALS:
            return (
                f"more than {MOST_ORIGINALS:,} originals would have to be gone through; what the program's choice gives away "
                "stays open on a table of this size"
            )
        return small

    @cached_property
    def truth(self) -> list[answers.Text]:
        return [as_text(value) for value in self.rows.column(self.about).to_pylist()]

    @cached_property
    def held(self) -> dict[Key, Counter[answers.Text]]:
        """The values of each published class, which the release shows."""
        found: dict[Key, Counter[answers.Text]] = {}
        for key, value in zip(self.keys, self.truth, strict=True):
            found.setdefault(self.labels[key], Counter())[value] += 1
        return found

    def originals(self) -> int:
        """How many originals there are to go through, counted no further than matters."""
        members: dict[Key, list[int]] = {}
        for key, people in Counter(self.keys).items():
            members.setdefault(self.labels[key], []).append(people)
        total = 1
        for label, values in self.held.items():
            total *= sum(1 for _ in itertools.islice(dealings(members[label], values), MOST_ORIGINALS + 1))
            if total > MOST_ORIGINALS:
                break
        return total

    def would_publish(self, dealt: Mapping[Key, Counter[answers.Text]]) -> bool:
        """Whether the program publishes the same of an original in which the values are dealt out so."""
        left = {key: list(own.elements()) for key, own in dealt.items()}
        written = dict(zip(self.truth, self.rows.column(self.about).to_pylist(), strict=True))
        column = pa.array([written[left[key].pop()] for key in self.keys], self.rows.schema.field(self.about).type)
        place = self.rows.column_names.index(self.about)
        return self.program(self.rows.set_column(place, self.about, column)) == self.labels


def _obstacle(stage: Stage) -> str:
    found = _Small.of(stage)
    return found if isinstance(found, str) else ""


def _same_release(stage: Stage, small: _Small) -> bool:
    """Whether the classes of the release are those that the program makes."""
    engine, names = stage.release.engine, (*small.quasi_identifiers, small.about)
    cells = ", ".join(engine.cast(engine.quote(name), "VARCHAR") for name in names)
    found = engine.query(f"SELECT {cells} FROM {stage.release.relation}")
    seen = Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))
    made = Counter((*small.labels[key], value) for key, value in zip(small.keys, small.truth, strict=True))
    return seen == made


def _minimality(stage: Stage) -> Iterator[Attempt]:
    small = _Small.of(stage)
    if isinstance(small, str):
        return
    units = Counter(small.keys)
    found = credibility(units, small.labels, small.held, small.would_publish)
    people = list(zip(small.keys, small.truth, strict=True))
    right = [_chance(found.belief[key], value) for key, value in people]
    blind = [_chance(small.held[small.labels[key]], value) for key, value in people]
    yield Attempt(
        name="minimality",
        aim="inference",
        about=small.about,
        knows=small.quasi_identifiers,
        targets=len(small.keys),
        guesses=len(small.keys),
        successes=float(sum(right)),
        random=1 / len(set(small.truth)),
        prior=float(sum(blind)) / len(blind),
        most_at_risk=tuple(_surest(small, found, units, right)),
        told=f"Of {found.tried:,} originals that fit the release, {found.possible:,} would have led to it; she guesses what is likeliest "
        "in these. The prior is what the classes alone tell. Promises about shares in classes do not cover who knows program and policy.",
    )


def _chance(belief: Mapping[answers.Text, float], value: answers.Text) -> float:
    """That the likeliest value, by lot among several, is this one."""
    most = max(belief.values())
    likeliest = [each for each, share in belief.items() if share >= most * (1 - _TIE)]
    return (value in likeliest) / len(likeliest)


def _surest(small: _Small, found: Credible, units: Mapping[Key, int], right: Sequence[float]) -> Iterator[AtRisk]:
    by_key: dict[Key, list[float]] = {}
    for key, chance in zip(small.keys, right, strict=True):
        by_key.setdefault(key, []).append(chance)
    order = sorted(units, key=lambda key: (-max(found.belief[key].values()), -units[key]))
    for key in order[:_SHOWN]:
        guess, belief = max(found.belief[key].items(), key=lambda item: item[1])
        label = small.labels[key]
        fitting = sum(people for other, people in units.items() if small.labels[other] == label)
        known = dict(zip(small.quasi_identifiers, key, strict=True))
        yield AtRisk(known, units[key], float(fitting), guess, belief, sum(by_key[key]) / units[key])


MINIMALITY = Attacker(
    "minimality",
    "inference",
    "rules out originals of which the program, known with its policy, would have published something else",
    "Wong et al. 2007",
    _minimality,
    _obstacle,
    by_default=False,
)
