# SPDX-License-Identifier: Apache-2.0
"""Probabilistic linkage (Fellegi and Sunter 1969) by Splink: what she knows has errors, and rows are linked by how much they agree.

Two records of one person agree in a column with a chance that she assumes (`AGREEING`), those of two people as often as chance has it in
the two tables. Of the rows that are likely, the likeliest is taken if she believes in it at least as much as in all else together. Beside
how often she is right stands how often she ventures it: precision is the share of guesses that are right, recall the rate. k-anonymity
bounds it where rows of a class are alike in what she knows; of rows that differ no promise speaks. Needs the extra `linkage`.
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
from divulge.attacks.attempt import Attacker, Attempt, Rate
from divulge.attacks.distance import no_key, release_texts
from divulge.attacks.stage import Stage

AGREEING = 0.9
"""How often two records of one person are taken to agree in a column."""
_VENTURED = 0.5
_LEAST = 1e-3
"""Pairs that are less likely are not looked at."""
_MOST_PAIRS = 1_000_000
_MOST_BLOCKS = 8


def best_links(known: pa.Table, rows: pa.Table, columns: Sequence[str]) -> tuple[Ints, Ints, Floats]:
    """Pairs of a record of hers and a likeliest row for it, with her belief in each; several where they are equally likely."""
    codes = {name: _codes(known.column(name), rows.column(name)) for name in columns}
    people = known.num_rows
    compared = [dossier.Compared(name, levels=((AGREEING, _by_chance(codes[name], people)),)) for name in columns]
    found = dossier.link_tables(
        known, rows, compared, blocking=_blocks(codes, people), prior=1 / max(rows.num_rows, 2), threshold=_LEAST
    )
    person, row, likely = (found.column(name).to_numpy() for name in ("left", "right", "probability"))
    odds = likely / np.maximum(1 - likely, np.finfo(np.float64).eps)
    belief = odds / (1 + arrays.sum_by_id(person, odds, people))[person]
    highest = np.zeros(people)
    np.maximum.at(highest, person, belief)
    best = belief >= highest[person] * (1 - 1e-9)
    return person[best], row[best], belief[best]


def _codes(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Ints:
    """The values of both columns in the same numbers, those of the first before those of the second; null is -1."""
    both = pa.chunked_array([*left.chunks, *right.chunks], pa.string()).combine_chunks().dictionary_encode()
    found: Ints = both.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _by_chance(codes: Ints, people: int) -> float:
    """How often a record of hers and a row agree; a model wants it between 0 and 1."""
    left, right = (
        np.bincount(side[side >= 0], minlength=int(codes.max(initial=0)) + 1) for side in np.split(codes, [people])
    )
    share = float(left @ right) / max(left.sum() * right.sum(), 1)
    return float(min(max(share, 1e-6), 1 - 1e-6))


def _blocks(codes: dict[str, Ints], people: int) -> list[tuple[str, ...]]:
    """The smallest sets of columns in which so few pairs agree that all can be compared, the most telling first."""
    found: list[tuple[str, ...]] = []
    for size in range(1, len(codes) + 1):
        sets = [
            chosen
            for chosen in itertools.combinations(codes, size)
            if not any(set(own) <= set(chosen) for own in found)
        ]
        pairs = {chosen: _agreeing(codes, chosen, people) for chosen in sets}
        found += sorted((chosen for chosen in sets if pairs[chosen] <= _MOST_PAIRS), key=lambda chosen: pairs[chosen])
        if len(found) >= _MOST_BLOCKS:
            break
    return found[:_MOST_BLOCKS] or [tuple(codes)]


def _agreeing(codes: dict[str, Ints], chosen: Sequence[str], people: int) -> int:
    known: Bools = np.logical_and.reduce([codes[name] >= 0 for name in chosen])
    columns = [codes[name][known] for name in chosen]
    if not len(columns[0]):
        return 0
    ids, first = arrays.class_ids(columns, [int(own.max()) + 1 for own in columns], rows=len(columns[0]))
    hers = np.flatnonzero(known) < people
    left, right = np.bincount(ids[hers], minlength=len(first)), np.bincount(ids[~hers], minlength=len(first))
    return int(left @ right)


# --- on a stage -------------------------------------------------------------------------------------------------------
def _obstacle(stage: Stage) -> str:
    if lacking := no_key(stage):
        return lacking
    if importlib.util.find_spec("splink") is None:
        return "it needs the package splink: pip install 'divulge[linkage]'"
    return ""


def _noisy_linkage(stage: Stage) -> Iterator[Attempt]:
    key = str(stage.key)
    rows = release_texts(stage.release, [*stage.knows, key])
    person, row, belief = best_links(stage.targets.known, rows, stage.knows)
    ventured = arrays.sum_by_id(person, belief, len(stage.targets)) >= _VENTURED
    own, theirs = stage.in_common(stage.targets, key, rows.column(key))
    right = arrays.sum_by_id(person, own[row] == theirs[person], len(stage.targets))
    chance = right / np.maximum(np.bincount(person, minlength=len(stage.targets)), 1)
    control = None
    if stage.controls is not None:
        others, _, theirs_believed = best_links(stage.controls.known, rows, stage.knows)
        named = arrays.sum_by_id(others, theirs_believed, len(stage.controls)) >= _VENTURED
        control = Rate(float(named.sum()), len(stage.controls))
    yield Attempt(
        name="noisy-linkage",
        aim="linkability",
        about=None,
        knows=stage.knows,
        targets=len(stage.targets),
        guesses=int(ventured.sum()),
        successes=float(chance[ventured].sum()),
        random=1 / max(rows.num_rows, 1),
        told=_told(rows, stage.knows, control),
    )


def _told(rows: pa.Table, knows: Sequence[str], control: Rate | None) -> str:
    smallest = pc.min(rows.group_by(list(knows)).aggregate([([], "count_all")]).column("count_all")).as_py()
    wrongly = (
        ""
        if control is None
        else f" Of people who are not in the release she links {control.value:.1%} to somebody's row."
    )
    return (
        f"She links what she knows, with errors, to the likeliest row, if she believes in it at least by half. Rows of the release that "
        f"are alike in these columns are {smallest} at least (k).{wrongly}"
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
