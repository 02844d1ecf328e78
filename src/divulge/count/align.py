# SPDX-License-Identifier: Apache-2.0
"""Two tables, one coding: find the same values and the same classes in both."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from divulge.arrays import Floats, Ints, combined_key
from divulge.count.assemble import encode
from divulge.count.contingency import Contingency, Domain
from divulge.errors import BadInput


def align(left: Domain, right: Domain) -> tuple[Domain, Ints, Ints]:
    """A domain that holds the values of both, and the new code of each old one."""
    try:
        together = pa.concat_arrays([left.values, right.values.cast(left.values.type)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise BadInput(
            f"column {left.name!r} has type {left.values.type} in one table and {right.values.type} in the other",
            hint="give both the same type",
        ) from None
    domain, codes = encode(pa.chunked_array([together]), name=left.name, kind=left.kind)
    return domain, codes[: len(left)], codes[len(left) :]


def population_sizes(sample: Contingency, population: Contingency) -> Floats:
    """For each class of the sample, how many people of the population share its quasi-identifiers."""
    radices: list[int] = []
    ours: list[Ints] = []
    theirs: list[Ints] = []
    for position, key in enumerate(sample.keys):
        domain, left, right = align(key, population.keys[position])
        radices.append(len(domain))
        ours.append(left[sample.codes[position]])
        theirs.append(right[population.codes[position]])
    both = combined_key(
        [np.concatenate(pair) for pair in zip(ours, theirs, strict=True)], radices, rows=len(sample) + len(population)
    )
    wanted, known = both[: len(sample)], both[len(sample) :]
    order = np.argsort(known)
    found = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    matches = known[order][found] == wanted
    sizes = np.where(matches, population.sizes[order][found], 0)
    short = np.flatnonzero(sizes < sample.sizes)
    if len(short):
        example = sample.class_key(int(short[0]))
        raise BadInput(
            f"the population has fewer people than the table in {len(short)} classes, for example {example}: "
            f"{int(sizes[short[0]])} against {int(sample.sizes[short[0]])}",
            hint="a population table holds everybody the table was drawn from",
        )
    return sizes.astype(np.float64)
