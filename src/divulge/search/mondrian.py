# SPDX-License-Identifier: Apache-2.0
"""Mondrian: multidimensional local recoding (LeFevre et al. 2006), on the counts, all parts of one depth at a time.

Everybody is one part. A part is cut in its widest column, or else in the next widest, if every piece keeps every promise; when no
column can be cut, the part is a class. Strict parts never overlap; relaxed ones may share values at a cut, so that halves come out
more even (people with the same quasi-identifiers stay together). Where a promise is about classes within the table or about an
average, cuts are accepted only as long as the whole table still keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from divulge import arrays
from divulge.arrays import Bools, Floats, Ints, Members
from divulge.belief import Belief
from divulge.count import Contingency
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy, check_coverage
from divulge.policy import Promise, Protection
from divulge.search.diagnosis import nothing_fits
from divulge.search.judge import Judge, judge_for
from divulge.search.lattice import Classes, Lattice, Span, ladder_of
from divulge.search.mondrian_columns import Axis, Line, Tree
from divulge.search.plan import Box, Plan, Recoding
from divulge.values import as_text


def mondrian(
    contingency: Contingency,
    promises: Sequence[Promise],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    strict: bool = True,
    beliefs: Mapping[str, Belief] | None = None,
    protections: Sequence[Protection] = (),
    population: Floats | None = None,
) -> Plan:
    """Cut as long as every promise is kept. Columns with a hierarchy are cut along it, the others along their order."""
    axes = _axes(contingency, hierarchies or {}, orders or {}, strict=strict)

    def spans(of_raw: Ints) -> dict[str, list[Span]]:
        parts = arrays.lay_out(of_raw, int(of_raw.max()) + 1)
        return {
            key.name: [span for _, span in axis.written(parts)]
            for key, axis in zip(contingency.own_keys, axes, strict=True)
        }

    judge = judge_for(
        contingency, Lattice(()), promises, spans, beliefs=beliefs, protections=protections, population=population
    )
    loose = [rule.text for rule in judge.rules if not rule.monotone]
    if loose and not strict:
        raise BadInput(
            f"relaxed parts may come to share a label, and {', '.join(loose)} can get worse when classes merge",
            hint="use strict parts",
        )
    return BoxProblem(judge, axes, strict).solve()


def _axes(
    contingency: Contingency, hierarchies: Mapping[str, Hierarchy], orders: Mapping[str, Sequence[str]], *, strict: bool
) -> tuple[Axis, ...]:
    names = [key.name for key in contingency.own_keys if key.name in hierarchies and key.name not in orders]
    used = {name: hierarchies[name] for name in names}
    check_coverage(used, {key.name: key.labels for key in contingency.own_keys})
    return tuple(
        Tree(ladder_of(key, used[key.name]), codes, None in key.labels)
        if key.name in used
        else Line.of(key, codes, strict=strict, order=orders.get(key.name))
        for key, codes in zip(contingency.own_keys, contingency.own_codes, strict=True)
    )


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """Promises to keep, and the columns to cut."""

    judge: Judge
    axes: tuple[Axis, ...]
    strict: bool

    def solve(self) -> Plan:
        """Cut, and make a plan of the boxes."""
        return _plan(self, self.run())

    @property
    def people(self) -> Floats:
        """People in each raw class."""
        return self.judge.rollup.sizes

    def run(self) -> Ints:
        """The part of each raw class when nothing can be cut any more."""
        part = np.zeros(len(self.people), dtype=np.int64)
        if self.judge.first_broken(self.classes(part)) is not None:
            raise nothing_fits(self.judge, proved=True)
        active = arrays.lay_out(part, 1)
        while True:
            part, is_cut = self._cut_once(active, part)
            members = active.members[is_cut[active.numbers]]
            if not len(members):
                return arrays.renumber(part, int(part.max()) + 1)[0]
            active = arrays.lay_out(*arrays.renumber(part[members], int(part.max()) + 1), members)

    def classes(self, part: Ints) -> Classes:
        """The parts as classes, which pinned columns may split."""
        return self.judge.rollup.as_classes(part)

    def _cut_once(self, active: Members, part: Ints) -> tuple[Ints, Bools]:
        """Each active part in the widest column in which it may be cut: the new part of each raw class, and which parts were cut."""
        numbers, count = active.numbers, len(active)
        widths = np.array([axis.width(active) for axis in self.axes])
        widest_first = np.argsort(-widths, axis=0, kind="stable")
        is_cut: Bools = np.zeros(count, dtype=bool)
        most = max(axis.leaves for axis in self.axes) + 1
        for choice in widest_first:
            tried = ~is_cut & (widths[choice, np.arange(count)] > 0)
            if not tried.any():
                continue
            here = np.flatnonzero(tried[numbers])
            key = numbers[here] * most + self._pieces(active, tried, choice)[here]
            child, _ = arrays.renumber(key, count * most)
            fine = self._fine(active, here, child) & tried
            if self.judge.looks_at_the_table:
                fine = self._accepted(part, active, here, child, fine)
            chosen = fine[numbers[here]]
            part = _with(part, active.members[here[chosen]], int(part.max()) + 1 + child[chosen])
            is_cut = is_cut | fine
        return part, is_cut

    def _pieces(self, active: Members, tried: Bools, choice: Ints) -> Ints:
        """The piece of each member in the column chosen for its part."""
        piece = np.zeros(len(active.members), dtype=np.int64)
        for position, axis in enumerate(self.axes):
            chosen = tried & (choice == position)
            if chosen.any():
                some, where = active.select(chosen)
                piece[where] = axis.pieces(some, self.people)
        return piece

    def _fine(self, active: Members, here: Ints, child: Ints) -> Bools:
        """Which parts fall into several pieces that all keep the promises about a class by itself."""
        children = int(child.max()) + 1
        members = active.members[here]
        child_of = _with(np.full(len(self.people), children), members, child)
        classes = self.classes(child_of)
        whole = np.arange(len(classes)) if classes.published_as is None else classes.published_as
        broken = np.zeros(children + 1, dtype=bool)  # the last one: whoever is in no piece
        broken[whole[self.judge.breaking(classes, whole < children)]] = True
        broken = broken[:children]
        parent = np.empty(children, dtype=np.int64)
        parent[child] = active.numbers[here]
        pieces = np.bincount(parent, minlength=len(active))
        fine: Bools = (pieces > 1) & (np.bincount(parent, weights=broken, minlength=len(active)) == 0)
        return fine

    def _accepted(self, part: Ints, active: Members, here: Ints, child: Ints, fine: Bools) -> Bools:
        """As many of the cuts as the whole table bears: all but those with a piece that breaks a promise, or else half after half.

        A class that breaks ITPR among many classes breaks it among fewer too, so a cut that makes one is not tried again. For the other
        numbers that look around this is a guess, which can cost a cut and never a promise.
        """
        accepted: Bools = np.zeros(len(fine), dtype=bool)
        waiting = [np.flatnonzero(fine)] if fine.any() else []
        while waiting:
            some = waiting.pop()
            trial = accepted | np.isin(np.arange(len(fine)), some)
            cut = trial[active.numbers[here]]
            trial_part = _with(part, active.members[here[cut]], int(part.max()) + 1 + child[cut])
            classes = self.classes(arrays.renumber(trial_part, int(trial_part.max()) + 1)[0])
            rule, broken = self.judge.broken_within(classes)
            if rule is None:
                accepted = trial
                continue
            harmful = np.unique(active.numbers[broken[classes.of_raw[active.members]]])
            innocent = np.setdiff1d(some, harmful, assume_unique=True)
            if len(innocent) < len(some):
                waiting += [innocent] if len(innocent) else []
            elif len(some) > 1:
                waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
        return accepted


def _with(numbers: Ints, places: Ints, new: Ints) -> Ints:
    """A copy with some entries replaced."""
    changed = numbers.copy()
    changed[places] = new
    return changed


def _plan(cutter: BoxProblem, part: Ints) -> Plan:
    rollup, people = cutter.judge.rollup, cutter.people
    parts = arrays.lay_out(part, int(part.max()) + 1)
    written = [axis.written(parts) for axis in cutter.axes]
    recoding = _recoding(rollup.contingency, written, part)
    classes = _refuse_broken_by_labels(cutter, recoding, len(parts))
    total = float(rollup.people)
    sizes = arrays.sum_by_id(part, people)
    loss = []
    for axis in cutter.axes:
        least = total / axis.leaves
        loss.append((float(sizes @ axis.shares(parts)) - least) / (total - least) if axis.leaves > 1 else 0.0)
    return Plan(
        method="mondrian",
        levels={},
        recoding=recoding,
        objective="loss",
        value=float(np.expm1(np.mean(np.log1p(loss)))),
        suppressed=0,
        classes=classes,
        lattice=0,
        checked=0,
        gap=float("inf"),
        settings=cutter.judge.settings | {"strict": cutter.strict},
        boxes=tuple(
            Box(tuple(label for label, _ in box), tuple(span for _, span in box), int(size))
            for box, size in zip(zip(*written, strict=True), sizes, strict=True)
        ),
        problem=cutter,
    )


def _refuse_broken_by_labels(cutter: BoxProblem, recoding: Recoding, parts: int) -> int:
    """How many classes the labels make; parts that share all labels become one, which must keep the promises too."""
    values = [len(labels) for labels in recoding.labels]
    of_raw, first = arrays.class_ids(recoding.codes, values, rows=len(recoding.kept))
    if len(first) < parts:
        rule = cutter.judge.first_broken(cutter.classes(of_raw))
        if rule is not None:
            raise BadInput(
                f"different nodes of a hierarchy have one label, and their classes together break {rule.text}",
                hint="rename them",
            )
    return len(first)


def _recoding(contingency: Contingency, written: Sequence[Sequence[tuple[str | None, Span]]], part: Ints) -> Recoding:
    labels, codes, unchanged = [], [], []
    for position, column in enumerate(written):
        known = list(dict.fromkeys(label for label, _ in column))
        numbers = {label: number for number, label in enumerate(known)}
        number = np.array([numbers[label] for label, _ in column], dtype=np.int64)
        texts = [as_text(label) for label in contingency.keys[position].labels]
        labels.append(tuple(known))
        codes.append(number[part])
        pairs = set(zip(codes[-1].tolist(), contingency.codes[position].tolist(), strict=True))
        unchanged.append(all(known[new] == texts[old] for new, old in pairs))
    names, kept = tuple(key.name for key in contingency.own_keys), np.ones(len(part), dtype=bool)
    return Recoding(names, tuple(labels), tuple(codes), kept, tuple(unchanged))
