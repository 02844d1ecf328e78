# SPDX-License-Identifier: Apache-2.0
"""Probabilistic record linkage (Fellegi and Sunter 1969) by Splink, for knowledge with errors.

Rows are linked by their agreement. Two records of one person agree in a column with an assumed
probability (`AGREEING`). Those of two people agree as often as random pairs of the two tables. The
likeliest row is guessed if its probability is at least one half. Precision is the share of guesses
that are right, recall is the success rate. k-anonymity bounds the attack if the rows of a class are
equal in the known columns. No requirement bounds it for rows that differ. Needs the extra
`linkage`.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays, dossier
from divulge.arrays import Bools, Floats, Ints
from divulge.attacks.context import AttackContext
from divulge.attacks.nearest_row import no_key, release_texts
from divulge.attacks.result import Attacker, Attempt, Rate
from divulge.counting import encode
from divulge.errors import MissingDependency

AGREEING = 0.9
"""Assumed probability that two records of one person agree in a column."""
_MIN_CONFIDENCE = 0.5
_MIN_PROBABILITY = 1e-3
"""Minimum probability of a pair; less likely pairs are ignored."""
_MOST_PAIRS = 1_000_000
_MAX_BLOCKS = 8


def best_links(
    known_table: pa.Table, rows: pa.Table, columns: Sequence[str]
) -> tuple[Ints, Ints, Floats]:
    """Link each known record to its likeliest row.

    Returns pairs of a record and a row with their probability. A record has several pairs if rows
    are equally likely.
    """
    codes = {name: _codes(known_table.column(name), rows.column(name)) for name in columns}
    people = known_table.num_rows
    compared = [
        dossier.Compared(name, levels=((AGREEING, _chance_agreement(codes[name], people)),))
        for name in columns
    ]
    links = dossier.link_tables(
        known_table,
        rows,
        compared,
        blocking=_blocks(codes, people),
        prior=1 / max(rows.num_rows, 2),
        threshold=_MIN_PROBABILITY,
    )
    person, row, probability = (
        links.column(name).to_numpy() for name in ("left", "right", "probability")
    )
    odds = probability / np.maximum(1 - probability, np.finfo(np.float64).eps)
    belief = odds / (1 + arrays.sum_by_id(person, odds, people))[person]
    highest = np.zeros(people)
    np.maximum.at(highest, person, belief)
    is_best = belief >= highest[person] * (1 - 1e-9)
    return person[is_best], row[is_best], belief[is_best]


def _codes(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Ints:
    """Encode two columns in the same codes, the first before the second; null is -1."""
    combined = pa.chunked_array([*left.chunks, *right.chunks], pa.string())
    encoded = encode(combined, name="both columns", kind="text", is_sorted=False)
    return encoded.codes_of_known_values


def _chance_agreement(codes: Ints, people: int) -> float:
    """Probability that a random known record and a random row agree, strictly between 0 and 1."""
    left, right = (
        np.bincount(side[side >= 0], minlength=int(codes.max(initial=0)) + 1)
        for side in np.split(codes, [people])
    )
    share = float(left @ right) / max(left.sum() * right.sum(), 1)
    return float(min(max(share, 1e-6), 1 - 1e-6))


def _blocks(codes: dict[str, Ints], people: int) -> list[tuple[str, ...]]:
    """Choose blocking rules: the smallest column sets with few enough agreeing pairs to compare.

    Smaller sets come first. Among sets of equal size, those with fewer agreeing pairs come first.
    """
    column_sets: list[tuple[str, ...]] = []
    for size in range(1, len(codes) + 1):
        sets = [
            chosen
            for chosen in itertools.combinations(codes, size)
            if not any(set(smaller_set) <= set(chosen) for smaller_set in column_sets)
        ]
        pairs = {chosen: _count_agreeing_pairs(codes, chosen, people) for chosen in sets}
        column_sets += sorted(
            (chosen for chosen in sets if pairs[chosen] <= _MOST_PAIRS),
            key=lambda chosen: pairs[chosen],
        )
        if len(column_sets) >= _MAX_BLOCKS:
            break
    return column_sets[:_MAX_BLOCKS] or [tuple(codes)]


def _count_agreeing_pairs(codes: dict[str, Ints], column_names: Sequence[str], people: int) -> int:
    is_known: Bools = np.logical_and.reduce([codes[name] >= 0 for name in column_names])
    columns = [codes[name][is_known] for name in column_names]
    if not len(columns[0]):
        return 0
    ids, first = arrays.class_ids(
        columns, [int(column_codes.max()) + 1 for column_codes in columns], rows=len(columns[0])
    )
    is_known_record = np.flatnonzero(is_known) < people
    left = np.bincount(ids[is_known_record], minlength=len(first))
    right = np.bincount(ids[~is_known_record], minlength=len(first))
    return int(left @ right)


# --- on a context ---------------------------------------------------------------------------------
def _obstacle(context: AttackContext) -> str:
    if lacking := no_key(context):
        return lacking
    if importlib.util.find_spec("splink") is None:
        return str(MissingDependency("it needs the package splink", extra="linkage"))
    return ""


def _noisy_linkage(context: AttackContext) -> Iterator[Attempt]:
    key = str(context.key)
    rows = release_texts(context.release, [*context.knows, key])
    person, row, belief = best_links(context.targets.known_values, rows, context.knows)
    is_guessed = arrays.sum_by_id(person, belief, len(context.targets)) >= _MIN_CONFIDENCE
    row_keys, person_keys = context.encode_in_common(context.targets, key, rows.column(key))
    right_rows = arrays.sum_by_id(
        person, row_keys[row] == person_keys[person], len(context.targets)
    )
    success = right_rows / np.maximum(np.bincount(person, minlength=len(context.targets)), 1)
    control = None
    if context.controls is not None:
        others, _, other_beliefs = best_links(context.controls.known_values, rows, context.knows)
        is_linked = (
            arrays.sum_by_id(others, other_beliefs, len(context.controls)) >= _MIN_CONFIDENCE
        )
        control = Rate(float(is_linked.sum()), len(context.controls))
    yield Attempt(
        name="noisy-linkage",
        aim="linkability",
        about=None,
        knows=context.knows,
        targets=len(context.targets),
        guesses=int(is_guessed.sum()),
        successes=float(success[is_guessed].sum()),
        random=1 / max(rows.num_rows, 1),
        told=_description(rows, context.knows, control),
    )


def _description(rows: pa.Table, knows: Sequence[str], control: Rate | None) -> str:
    smallest = pc.min(
        rows.group_by(list(knows)).aggregate([([], "count_all")]).column("count_all")
    ).as_py()
    if control is None:
        control_sentence = ""
    else:
        control_sentence = (
            f" Of people who are not in the release she links {control.value:.1%} to somebody's "
            "row."
        )
    return (
        "She links what she knows, with errors, to the likeliest row, if she believes in it at "
        "least by half. Rows of the release that "
        f"are alike in these columns are {smallest} at least (k).{control_sentence}"
    )


NOISY_LINKAGE = Attacker(
    "noisy-linkage",
    "linkability",
    "links what is known, with errors, to the likeliest row",
    "Fellegi and Sunter 1969",
    _noisy_linkage,
    _obstacle,
    by_default=False,
)
