# SPDX-License-Identifier: Apache-2.0
"""A brute-force oracle: every metric of METRICS from a list of rows, by the papers' definitions, in
dicts and fractions.

It shares no code with divulge and wants to be obviously right, not fast. Each function returns, by
metric, the table's number and the list of the classes' numbers (None where classes have none).
Classes are sorted by their keys, nulls last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import inf, log, log2, sqrt
from statistics import median
from typing import Any

Row = Mapping[str, Any]
Result = dict[str, tuple[float, list[float] | None]]


def entropy(counts: Iterable[Fraction | int]) -> float:
    """H of counts or shares, in bits."""
    numbers = list(counts)
    shares = [Fraction(number) / sum(numbers) for number in numbers]
    return -sum(float(share) * log2(share) for share in shares if share) + 0.0


def nulls_last(key: Sequence[Any]) -> tuple[tuple[bool, Any], ...]:
    """For sorting values that may be None."""
    return tuple((value is None, value) for value in key)


def group(rows: Iterable[Row], keys: Sequence[str]) -> list[list[Row]]:
    """The classes."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [found[key] for key in sorted(found, key=nulls_last)]


def distinct(rows: Iterable[Row], columns: Sequence[str]) -> list[Row]:
    """Each combination of these columns once."""
    return list({tuple(row[name] for name in columns): row for row in rows}.values())


def identity(
    rows: Sequence[Row],
    keys: Sequence[str],
    *,
    person: str | None = None,
    population: Sequence[Any] = (),
    estimated: bool = False,
) -> Result:
    """Every identity metric; X is the row, or the person where one may own several rows.

    Sums of weights are an `estimated` population.
    """
    rows = rows if person is None else distinct(rows, [*keys, person])
    sizes = [len(members) for members in group(rows, keys)]
    n, q = len(rows), len(sizes)
    h = log2(n) if person is None else entropy(Counter(row[person] for row in rows).values())
    relative = [(p, log2(size)) for size in sizes for p in [size / n]]
    information = h - sum(p * h_class for p, h_class in relative)
    found: Result = {
        "k_anonymity": lowest(sizes),
        "classes": (q, None),
        "mean_class_size": (n / q, None),
        "median_class_size": (median(sizes), None),
        "largest_class_size": (max(sizes), None),
        "uniques": (unique_people(rows, keys, person), None),
        "prosecutor_risk": highest(1 / size for size in sizes),
        "marketer_risk": (q / n, None),
        "log2_k": lowest(h_class for _, h_class in relative),
        "shannon_conditional_entropy": (h - information, None),
        "specific_information": highest(h - h_class for _, h_class in relative),
        "mutual_information": (information, None),
        "discrimination_rate": (
            information / h if h else 0,
            [(h - h_class) / h if h else 0 for _, h_class in relative],
        ),
        "conditional_privacy": (1 - 2**-information, None),
        "maximum_information_leakage": highest(h - h_class for _, h_class in relative),
        "maximum_information_leakage_printed": highest(h - p * h_class for p, h_class in relative),
        "entropy_l_risk": highest(2**-h_class for _, h_class in relative),
        "itpr": highest(1 - q * p * h_class / h if h else 0 for p, h_class in relative),
        "itpr_unscaled": highest(1 - p * h_class / h if h else 0 for p, h_class in relative),
    }
    alone = max(Counter(row[person] for row in rows).values()) if person is not None else 1
    before, right = Fraction(alone, n), Fraction(q, n)
    found |= {
        "prior_vulnerability": (float(before), None),
        "posterior_vulnerability": (float(right), [1 / size for size in sizes]),
        "additive_leakage": (
            float(right - before),
            [float(Fraction(1, size) - before) for size in sizes],
        ),
        "multiplicative_leakage": (
            float(right / before),
            [float(Fraction(1, size) / before) for size in sizes],
        ),
        "min_entropy_leakage": (log2(right / before), None),
    }
    if population:
        found["k_map_plug_in"] = lowest(population)
        found["journalist_risk_plug_in"] = highest(1 / Fraction(size) for size in population)
        pairs = zip(sizes, population, strict=True)
        risks = [
            mean_reciprocal(f, float(total)) if estimated else 1 / Fraction(total)
            for f, total in pairs
        ]
        found["k_map"] = lowest(1 / risk for risk in risks)
        found["journalist_risk"] = highest(risks)
    return found


def unique_people(rows: Sequence[Row], keys: Sequence[str], person: str | None) -> int:
    """Rows that are alone in their class, or the distinct people who are the only person of some
    class.
    """
    singles = [members[0] for members in group(rows, keys) if len(members) == 1]
    return len(singles) if person is None else len({row[person] for row in singles})


def mean_reciprocal(seen: int, estimate: float) -> float:
    """E[1/F | f] with F negative binomial (Benedetti and Franconi 1998), summed over F = f, f +
    1, ...
    """
    p, total, people = seen / estimate, 0.0, seen
    chance = p**seen
    while chance > 1e-16 or people < estimate:
        total += chance / people
        chance *= (1 - p) * people / (people - seen + 1)
        people += 1
    return total


def sensitive(
    classes: Sequence[Mapping[Any, Any]],
    *,
    prior: Mapping[Any, Any] | None = None,
    recursive_l: int | None = None,
    distance: Callable[[list[Fraction], list[Fraction]], float] | None = None,
    tries: int = 1,
    near: float | None = None,
) -> Result:
    """Every metric of an attribute from its counts in each class.

    `distance` is the earth mover's (default: equal distance).
    """
    table: Counter[Any] = sum((Counter(members) for members in classes), Counter())
    before = table if prior is None else Counter(prior)
    values = sorted({*table, *before}, key=lambda value: (value is None, value))
    a = [share(before, value) for value in values]
    x = [[share(members, value) for value in values] for members in classes]
    p = [Fraction(sum(members.values())) / sum(table.values()) for members in classes]
    h, h_prior, h_class = entropy(table.values()), entropy(a), [entropy(c) for c in x]
    rows = range(len(classes))

    def within(measure: Callable[[list[Fraction]], Any]) -> tuple[float, list[float]]:
        return highest(measure(c) for c in x)

    information = h + entropy(p) - entropy(m for members in classes for m in members.values())
    least = min(len([v for v in c if v]) for c in x) if recursive_l is None else recursive_l
    of_value = [
        entropy(p) - entropy(members.get(value, 0) for members in classes) if table[value] else 0
        for value in values
    ]
    outside = [table - Counter(members) for members in classes]
    emd = distance or equal_distance
    guessed = [best_guess(dict(zip(values, c, strict=True)), tries, near) for c in x]
    before_guess = best_guess(dict(zip(values, a, strict=True)), tries, near)
    right = sum((p[i] * guessed[i] for i in rows), Fraction(0))
    return {
        "l_diversity": lowest(sum(v > 0 for v in c) for c in x),
        "entropy_l_diversity": lowest(2**bits for bits in h_class),
        "recursive_c_l_diversity": within(lambda c: recursive(sorted(c, reverse=True), least)),
        "alpha": within(max),
        "values_ruled_out": within(
            lambda c: sum(v == 0 and w > 0 for v, w in zip(c, a, strict=True))
        ),
        "t_closeness": within(lambda c: emd(c, a)),
        "basic_beta_likeness": within(lambda c: max(gains(c, a))),
        "enhanced_beta_likeness": within(
            lambda c: max(
                inf if w and gain > -log(w) + 1e-9 else gain
                for gain, w in zip(gains(c, a), a, strict=True)
            )
        ),
        "delta_disclosure": within(
            lambda c: max(abs(ratio(v, w)) for v, w in zip(c, a, strict=True) if v or w)
        ),
        "delta_disclosure_present": within(
            lambda c: max(abs(ratio(v, w)) for v, w in zip(c, a, strict=True) if v)
        ),
        "mutual_information": (information, None),
        "surprise": within(lambda c: divergence(c, a)),
        "average_surprise": (sum(float(p[i]) * divergence(x[i], a) for i in rows), None),
        "specific_information": highest(h_prior - bits for bits in h_class),
        "averaged_information": within(
            lambda c: sum(float(v) * fall for v, fall in zip(c, of_value, strict=True))
        ),
        "set_information": highest(
            h - p[i] * h_class[i] - (1 - p[i]) * (entropy(outside[i].values()) if p[i] < 1 else 0)
            for i in rows
        ),
        "l_max": (2**h, None),
        "l_t": lowest(2 ** (h_prior - divergence(c, a)) for c in x),
        "discrimination_rate": (
            information / h if h else 0,
            [(h - bits) / h if h else 0 for bits in h_class],
        ),
        "conditional_privacy": (1 - 2**-information, None),
        "maximum_information_leakage": highest(h - bits for bits in h_class),
        "maximum_information_leakage_printed": highest(h - p[i] * h_class[i] for i in rows),
        "entropy_l_risk": highest(2**-bits for bits in h_class),
        "itpr": highest(1 - len(classes) * p[i] * h_class[i] / h if h else 0 for i in rows),
        "itpr_unscaled": highest(1 - p[i] * h_class[i] / h if h else 0 for i in rows),
        "distribution_leakage": within(
            lambda c: sqrt(sum((v - w) ** 2 for v, w in zip(c, a, strict=True)))
        ),
        "entropy_leakage": highest(abs(h_prior - bits) for bits in h_class),
        "prior_vulnerability": (float(before_guess), None),
        "posterior_vulnerability": (float(right), [float(chance) for chance in guessed]),
        "maximum_vulnerability": highest(guessed),
        "additive_leakage": (
            float(right - before_guess),
            [float(chance - before_guess) for chance in guessed],
        ),
        "multiplicative_leakage": (
            float(right / before_guess),
            [float(chance / before_guess) for chance in guessed],
        ),
        "min_entropy_leakage": (log2(right / before_guess), None),
    }


def best_guess(shares: Mapping[Any, Fraction], tries: int, within: float | None) -> Fraction:
    """The largest chance that one of several guesses is right, by trying them all.

    Of numbers the guesses are those that reach a value from below: any other number gets right what
    one of these does, or less.
    """

    def right(guess: Any) -> frozenset[Any]:
        if within is None or guess is None:
            return frozenset([guess])
        return frozenset(
            v for v in shares if v is not None and abs(Fraction(v) - guess) <= Fraction(within)
        )

    guesses = [
        value if within is None or value is None else Fraction(value) + Fraction(within)
        for value in shares
    ]
    sets = [right(guess) for guess in guesses]
    chosen = combinations(sets, min(tries, len(sets)))
    return max(sum((shares[v] for v in frozenset().union(*each)), Fraction(0)) for each in chosen)


def highest(numbers: Iterable[Any]) -> tuple[float, list[float]]:
    """A metric whose worst class has the largest number."""
    listed = [float(number) for number in numbers]
    return max(listed), listed


def lowest(numbers: Iterable[Any]) -> tuple[float, list[float]]:
    """A metric whose worst class has the smallest number."""
    listed = [float(number) for number in numbers]
    return min(listed), listed


def share(counts: Mapping[Any, Any], value: Any) -> Fraction:
    """The share of a value."""
    return Fraction(counts.get(value, 0)) / sum(map(Fraction, counts.values()))


def ratio(after: Fraction, before: Fraction) -> float:
    """log2(after / before), infinite where one of them is 0."""
    return log2(after / before) if after and before else inf


def divergence(after: Sequence[Fraction], before: Sequence[Fraction]) -> float:
    """Kullback-Leibler."""
    return sum(float(v) * ratio(v, w) for v, w in zip(after, before, strict=True) if v)


def gains(after: Sequence[Fraction], before: Sequence[Fraction]) -> list[float]:
    """The relative gain of each value, 0 where there is none."""
    return [
        float((v - w) / w) if w and v > w else inf if v > w else 0.0
        for v, w in zip(after, before, strict=True)
    ]


def recursive(descending: Sequence[Fraction], least: int) -> float:
    """r1 / (r_l + ... + r_m)."""
    return (
        float(descending[0] / sum(descending[least - 1 :])) if sum(descending[least - 1 :]) else inf
    )


def equal_distance(after: Sequence[Fraction], before: Sequence[Fraction]) -> float:
    """Earth mover's distance where all values are equally far apart: the mass that must move."""
    return float(sum(max(v - w, Fraction(0)) for v, w in zip(after, before, strict=True)))


def ordered_distance(after: Sequence[Fraction], before: Sequence[Fraction]) -> float:
    """Earth mover's distance along a line: what crosses each gap between neighbours, over the
    number of gaps.
    """
    crossing = [abs(float(sum(after[:gap]) - sum(before[:gap]))) for gap in range(1, len(after))]
    return sum(crossing) / len(crossing) if crossing else 0.0


def matched_distance(
    after: Sequence[int], before: Sequence[int], distance: Callable[[int, int], Fraction]
) -> Fraction:
    """Earth mover's distance by trying every way to match units: 6 units of each at most,
    please.
    """
    return min(
        sum((distance(i, j) for i, j in zip(after, order, strict=True)), Fraction(0))
        for order in set(permutations(before))
    ) / len(after)
