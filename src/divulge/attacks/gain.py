# SPDX-License-Identifier: Apache-2.0
"""Several guesses at a value, or a guess near it: gain functions (Alvim et al. 2012), played as an attack.

The guesses are those that the vulnerability of a class is reckoned by (`belief.Guess`), so that with everybody attacked the success is
that metric, and with a sample of people it is near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import answers, belief
from divulge.arrays import Bools, Floats, Ints
from divulge.attacks.matching import Shares
from divulge.attacks.stage import Stage
from divulge.count import Cells, Domain
from divulge.errors import BadInput


@dataclass(frozen=True, eq=False)
class Gain:
    """When guesses of a column are right, where one need not be the value at the first try."""

    guess: belief.Guess
    domain: Domain
    of_label: Ints = field(repr=False)
    """For each value of the release its place in the domain."""
    place: dict[answers.Text, int] = field(repr=False)
    """The place of each text, of the release and of the truth."""

    @classmethod
    def of(cls, stage: Stage, about: str) -> Gain | None:
        """As the adversary says it; None: one guess, which must be the value."""
        tries, within = ((given or {}).get(about) for given in (stage.adversary.tries, stage.adversary.within))
        if within is None and tries in (None, 1):
            return None
        labels = stage.matcher.labels(about)
        texts = list(labels)
        for people in (stage.targets, stage.controls):
            if people is not None and about in people.truth.column_names:
                texts += people.truth[about].unique().to_pylist()
        kind = stage.release.column(about).kind
        codes, values = _ordered(about, texts, kind if within is not None else "text")
        domain = Domain(about, values, kind)
        guess = belief.Guess.of(domain, tries=int(tries or 1), within=within)
        return cls(guess, domain, codes[: len(labels)], dict(zip(texts, codes.tolist(), strict=True)))

    def said(self, shares: Shares, tuples: int) -> tuple[Ints, Floats]:
        """Of each tuple the values that her guesses begin with (as `shares` numbers them, -1: none), and her belief that one is right."""
        said, sure = np.full((tuples, self.guess.tries), -1, dtype=np.int64), np.zeros(tuples)
        if not len(shares.tuple_):
            return said, sure
        order = np.lexsort((self.of_label[shares.value], shares.tuple_))
        fitting, owner = np.unique(shares.tuple_[order], return_index=True)
        start = np.append(owner, len(order)).astype(np.int64)
        cells = Cells(self.domain, start, self.of_label[shares.value[order]], shares.records[order])
        begins = self.guess.begins(cells)
        said[fitting] = np.where(begins >= 0, shares.value[order][begins], -1)
        sure[fitting] = self.guess.best(cells) / cells.totals
        return said, sure

    def right(self, said: Ints, truth: Sequence[answers.Text]) -> Bools:
        """Whether one of the windows that begin with what was said of each person holds what is true."""
        own = np.array([self.place[text] for text in truth], dtype=np.int64)[:, None]
        begins = self.of_label[said]
        ends = begins if self.guess.reach is None else self.guess.reach[begins]
        return np.asarray(((said >= 0) & (begins <= own) & (own <= ends)).any(axis=1))


def _ordered(about: str, texts: Sequence[answers.Text], kind: str) -> tuple[Ints, pa.Array]:
    """The place of each text in ascending order, by what it stands for, and the distinct values; null comes last."""
    stored = {"number": pa.float64(), "date": pa.timestamp("us")}.get(kind, pa.string())
    try:
        values = pc.cast(pa.array(texts, pa.string()), stored)
    except pa.ArrowInvalid as error:
        told = f"within is given for {about!r}, which has values of another kind in the truth"
        raise BadInput(told, hint="Give both tables the same kind of values") from error
    distinct = values.unique()
    distinct = distinct.take(pc.sort_indices(distinct))
    codes = pc.index_in(values, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, distinct
