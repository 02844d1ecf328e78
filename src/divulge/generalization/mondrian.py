# SPDX-License-Identifier: Apache-2.0
"""Mondrian: multidimensional local recoding (LeFevre et al. 2006) on the counts.

All parts of one depth are cut at a time. At first, everyone is in one part. A part is cut in its
widest column, or else in the next widest, if every piece meets every requirement. If no column can
be cut, the part is a class. Strict parts never overlap. Relaxed ones may share values at a cut, so
that the halves are more even; people with the same quasi-identifiers stay in one part. For a
requirement on classes within the table or on an average, cuts are accepted only as long as the
whole table still meets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from divulge import arrays
from divulge.adversary import Belief
from divulge.arguments import marked
from divulge.arrays import Bools, Floats, Ints, Members
from divulge.counting import Contingency
from divulge.errors import BadInput
from divulge.generalization.constraints import NodeChecker, node_checker
from divulge.generalization.infeasibility import infeasible_error
from divulge.generalization.lattice import Lattice, Span, column_levels_of
from divulge.generalization.mondrian_axes import Axis, OrderedAxis, Tree
from divulge.generalization.plan import Box, Plan, Recoding
from divulge.generalization.rollup import Classes
from divulge.hierarchies import Hierarchy, check_coverage
from divulge.policy import Promise, Protection
from divulge.text import as_text


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
    """Cut as long as every requirement is met.

    Columns with a hierarchy are cut along it, the others along their order.
    """
    axes = _axes(contingency, hierarchies or {}, orders or {}, strict=strict)

    def spans(of_raw: Ints) -> dict[str, list[Span]]:
        parts = arrays.lay_out(of_raw, int(of_raw.max()) + 1)
        return {
            key.name: [span for _, span in axis.written(parts)]
            for key, axis in zip(contingency.own_keys, axes, strict=True)
        }

    checker = node_checker(
        contingency,
        Lattice(()),
        promises,
        spans,
        beliefs=beliefs,
        protections=protections,
        population=population,
    )
    loose = [marked(rule.text) for rule in checker.rules if not rule.monotone]
    if loose and not strict:
        raise BadInput(
            f"relaxed parts may come to share a label, and {', '.join(loose)} can get worse when "
            "classes merge",
            hint="use strict parts",
        )
    return BoxProblem(checker, axes, strict).solve()


def _axes(
    contingency: Contingency,
    hierarchies: Mapping[str, Hierarchy],
    orders: Mapping[str, Sequence[str]],
    *,
    strict: bool,
) -> tuple[Axis, ...]:
    names = [
        key.name
        for key in contingency.own_keys
        if key.name in hierarchies and key.name not in orders
    ]
    used_hierarchies = {name: hierarchies[name] for name in names}
    check_coverage(used_hierarchies, {key.name: key.labels for key in contingency.own_keys})
    joint_ids = None
    if contingency.pinned and not strict:
        sizes = [len(key) for key in contingency.own_keys]
        joint_ids, _ = arrays.class_ids(contingency.own_codes, sizes, rows=len(contingency))
    return tuple(
        Tree(column_levels_of(key, used_hierarchies[key.name]), codes, None in key.labels)
        if key.name in used_hierarchies
        else OrderedAxis.of(
            key, codes, strict=strict, order=orders.get(key.name), together=joint_ids
        )
        for key, codes in zip(contingency.own_keys, contingency.own_codes, strict=True)
    )


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """Requirements to meet, and the columns to cut."""

    checker: NodeChecker
    axes: tuple[Axis, ...]
    strict: bool

    def solve(self) -> Plan:
        """Cut, and return the plan of the boxes."""
        return _plan(self, self.run())

    @property
    def people(self) -> Floats:
        """People in each raw class."""
        return self.checker.rollup.sizes

    def run(self) -> Ints:
        """Return the part of each raw class when no part can be cut further."""
        part = np.zeros(len(self.people), dtype=np.int64)
        if self.checker.first_broken(self.classes(part)) is not None:
            raise infeasible_error(self.checker, proved=True)
        active = arrays.lay_out(part, 1)
        while True:
            part, is_cut = self._cut_once(active, part)
            members = active.members[is_cut[active.numbers]]
            if not len(members):
                return arrays.renumber(part, int(part.max()) + 1)[0]
            active = arrays.lay_out(*arrays.renumber(part[members], int(part.max()) + 1), members)

    def classes(self, part: Ints) -> Classes:
        """The parts as classes, which pinned columns may split."""
        return self.checker.rollup.as_classes(part)

    def _cut_once(self, active: Members, part: Ints) -> tuple[Ints, Bools]:
        """Cut each active part in the widest column in which it may be cut.

        Returns the new part of each raw class, and a mask of the parts that were cut.
        """
        numbers = active.numbers
        count = len(active)
        widths = np.array([axis.width(active) for axis in self.axes])
        widest_first = np.argsort(-widths, axis=0, kind="stable")
        is_cut: Bools = np.zeros(count, dtype=bool)
        max_leaves = max(axis.leaves for axis in self.axes) + 1
        for choice in widest_first:
            is_tried = ~is_cut & (widths[choice, np.arange(count)] > 0)
            if not is_tried.any():
                continue
            entries = np.flatnonzero(is_tried[numbers])
            key = numbers[entries] * max_leaves + self._pieces(active, is_tried, choice)[entries]
            child, _ = arrays.renumber(key, count * max_leaves)
            is_feasible = self._feasible_cuts(active, entries, child) & is_tried
            if self.checker.looks_at_the_table:
                is_feasible = self._accepted_cuts(part, active, entries, child, is_feasible)
            is_cut_entry = is_feasible[numbers[entries]]
            part = _with_entries(
                part,
                active.members[entries[is_cut_entry]],
                int(part.max()) + 1 + child[is_cut_entry],
            )
            is_cut = is_cut | is_feasible
        return part, is_cut

    def _pieces(self, active: Members, is_tried: Bools, choice: Ints) -> Ints:
        """Piece of each member in the column chosen for its part."""
        piece = np.zeros(len(active.members), dtype=np.int64)
        for position, axis in enumerate(self.axes):
            is_on_axis = is_tried & (choice == position)
            if is_on_axis.any():
                parts_on_axis, entries = active.select(is_on_axis)
                piece[entries] = axis.pieces(parts_on_axis, self.people)
        return piece

    def _feasible_cuts(self, active: Members, entries: Ints, child: Ints) -> Bools:
        """Mask of parts with several pieces that all meet the requirements on a single class."""
        children = int(child.max()) + 1
        members = active.members[entries]
        child_of = _with_entries(np.full(len(self.people), children), members, child)
        classes = self.classes(child_of)
        if classes.published_as is None:
            published_as = np.arange(len(classes))
        else:
            published_as = classes.published_as
        is_violating = np.zeros(children + 1, dtype=bool)  # the last one: people in no piece
        is_violating[published_as[self.checker.breaking(classes, published_as < children)]] = True
        is_violating = is_violating[:children]
        parent = np.empty(children, dtype=np.int64)
        parent[child] = active.numbers[entries]
        pieces = np.bincount(parent, minlength=len(active))
        is_feasible: Bools = (pieces > 1) & (
            np.bincount(parent, weights=is_violating, minlength=len(active)) == 0
        )
        return is_feasible

    def _accepted_cuts(
        self, part: Ints, active: Members, entries: Ints, child: Ints, is_feasible: Bools
    ) -> Bools:
        """Accept as many of the cuts as the requirements on the whole table allow.

        Cuts with a violating piece are rejected. If no piece can be blamed, the cuts are halved
        repeatedly. A class that violates ITPR among many classes violates it among fewer too, so a
        cut that makes one is not tried again. For the other metrics of this kind that is a
        heuristic, which can cost a cut but never a requirement.
        """
        accepted: Bools = np.zeros(len(is_feasible), dtype=bool)
        if is_feasible.any():
            waiting = [np.flatnonzero(is_feasible)]
        else:
            waiting = []
        while waiting:
            parts_to_cut = waiting.pop()
            trial = accepted | np.isin(np.arange(len(is_feasible)), parts_to_cut)
            cut = trial[active.numbers[entries]]
            trial_part = _with_entries(
                part, active.members[entries[cut]], int(part.max()) + 1 + child[cut]
            )
            classes = self.classes(arrays.renumber(trial_part, int(trial_part.max()) + 1)[0])
            rule, is_violating = self.checker.broken_within(classes)
            if rule is None:
                accepted = trial
                continue
            harmful = np.unique(active.numbers[is_violating[classes.of_raw[active.members]]])
            innocent = np.setdiff1d(parts_to_cut, harmful, assume_unique=True)
            if len(innocent) < len(parts_to_cut):
                if len(innocent):
                    waiting += [innocent]
            elif len(parts_to_cut) > 1:
                waiting += [
                    parts_to_cut[len(parts_to_cut) // 2 :],
                    parts_to_cut[: len(parts_to_cut) // 2],
                ]
        return accepted


def _with_entries(numbers: Ints, places: Ints, new: Ints) -> Ints:
    """A copy with some entries replaced."""
    result = numbers.copy()
    result[places] = new
    return result


def _plan(cutter: BoxProblem, part: Ints) -> Plan:
    rollup = cutter.checker.rollup
    people = cutter.people
    parts = arrays.lay_out(part, int(part.max()) + 1)
    labels_and_spans = [axis.written(parts) for axis in cutter.axes]
    recoding = _recoding(rollup.contingency, labels_and_spans, part)
    classes = _refuse_broken_by_labels(cutter, recoding, len(parts))
    total = float(rollup.people)
    sizes = arrays.sum_by_id(part, people)
    loss = []
    for axis in cutter.axes:
        least = total / axis.leaves
        loss.append(
            (float(sizes @ axis.shares(parts)) - least) / (total - least)
            if axis.leaves > 1
            else 0.0
        )
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
        settings=cutter.checker.settings | {"strict": cutter.strict},
        boxes=tuple(
            Box(tuple(label for label, _ in box), tuple(span for _, span in box), int(size), rows)
            for box, size, rows in zip(
                zip(*labels_and_spans, strict=True),
                sizes,
                _rows(cutter, parts, labels_and_spans),
                strict=True,
            )
        ),
        problem=cutter,
    )


def _rows(
    cutter: BoxProblem,
    parts: Members,
    labels_and_spans: Sequence[Sequence[tuple[str | None, Span]]],
) -> list[tuple[tuple[str | None, ...], ...]]:
    """Combinations of values in each box, if boxes may overlap.

    Empty if the spans determine the box of a row. Relaxed boxes share values at a cut. A box of
    numbers and nulls is labeled *, whose span contains every number.
    """
    overlapping = not cutter.strict or any(
        span is None for column in labels_and_spans for _, span in column
    )
    if not overlapping:
        return [()] * len(parts)
    contingency = cutter.checker.rollup.contingency
    texts = []
    for key, codes in zip(contingency.own_keys, contingency.own_codes, strict=True):
        of_code = [as_text(label) for label in key.labels]
        texts.append([of_code[code] for code in codes.tolist()])
    of_raw = list(zip(*texts, strict=True))
    boxes: list[dict[tuple[str | None, ...], None]] = [{} for _ in range(len(parts))]
    for raw, number in zip(parts.members.tolist(), parts.numbers.tolist(), strict=True):
        boxes[number][of_raw[raw]] = None
    return [tuple(rows) for rows in boxes]


def _refuse_broken_by_labels(cutter: BoxProblem, recoding: Recoding, parts: int) -> int:
    """Return the number of classes by labels.

    Parts that share all labels become one class. Raises an error if such a class violates a
    requirement.
    """
    values = [len(labels) for labels in recoding.labels]
    of_raw, first = arrays.class_ids(recoding.codes, values, rows=len(recoding.published_mask))
    if len(first) < parts:
        rule = cutter.checker.first_broken(cutter.classes(of_raw))
        if rule is not None:
            raise BadInput(
                "different nodes of a hierarchy have one label, and their classes together "
                f"break {marked(rule.text)}",
                hint="rename them",
            )
    return len(first)


def _recoding(
    contingency: Contingency,
    labels_and_spans: Sequence[Sequence[tuple[str | None, Span]]],
    part: Ints,
) -> Recoding:
    labels = []
    codes = []
    unchanged = []
    for position, column in enumerate(labels_and_spans):
        distinct_labels = list(dict.fromkeys(label for label, _ in column))
        numbers = {label: number for number, label in enumerate(distinct_labels)}
        number = np.array([numbers[label] for label, _ in column], dtype=np.int64)
        texts = [as_text(label) for label in contingency.keys[position].labels]
        labels.append(tuple(distinct_labels))
        codes.append(number[part])
        pairs = set(zip(codes[-1].tolist(), contingency.codes[position].tolist(), strict=True))
        unchanged.append(all(distinct_labels[new] == texts[old] for new, old in pairs))
    names = tuple(key.name for key in contingency.own_keys)
    is_kept = np.ones(len(part), dtype=bool)
    return Recoding(names, tuple(labels), tuple(codes), is_kept, tuple(unchanged))
