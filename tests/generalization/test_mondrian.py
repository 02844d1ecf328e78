# SPDX-License-Identifier: Apache-2.0
"""Mondrian's parts worked out by hand, and properties of every division."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.counting import Contingency, count
from divulge.errors import BadInput, Infeasible
from divulge.generalization import mondrian, mondrian_axes
from divulge.generalization.constraints import NodeChecker
from divulge.hierarchies import Hierarchy
from divulge.policy import Promise, Protection
from divulge.sources import resolve_roles
from tests.metrics.drawn import opened

K2 = [Promise.make("k_anonymity", 2)]


def counted(**columns: Sequence[Any]) -> Contingency:
    """Count a table: all columns are quasi-identifiers except `d`, which is sensitive."""
    table = opened(pa.table({name: pa.array(values) for name, values in columns.items()}))
    keys = [name for name in columns if name != "d"]
    return count(
        table,
        resolve_roles(
            table, quasi_identifiers=keys, sensitive=[name for name in columns if name == "d"]
        ),
    )


def labels(contingency: Contingency, promises: Sequence[Promise] = K2, **options: Any) -> list[str]:
    """The published labels of the raw classes, in their order."""
    recoding = mondrian(contingency, promises, **options).recoding
    rows = zip(
        *(
            [column[code] for code in codes]
            for column, codes in zip(recoding.labels, recoding.codes, strict=True)
        ),
        strict=True,
    )
    return [" ".join(map(str, row)) for row in rows]


def test_a_line_is_halved_until_the_halves_are_too_small() -> None:
    assert labels(counted(age=[1, 2, 3, 4, 5, 9])) == ["[1, 3]"] * 3 + ["[4, 9]"] * 3
    assert labels(counted(age=[1, 2, 3, 4])) == ["[1, 2]"] * 2 + ["[3, 4]"] * 2
    assert labels(counted(age=[1, 1, 2, 2])) == ["1", "2"]


def test_the_widest_column_is_cut_first() -> None:
    """Age spans its whole range in both halves of sex, and is cut first.

    Then neither half can be cut by sex.
    """
    found = labels(
        counted(age=[20, 20, 60, 60], height=[170, 171, 170, 171], weight=[80, 80, 80, 80])
    )
    assert found == ["20 [170, 171] 80", "20 [170, 171] 80", "60 [170, 171] 80", "60 [170, 171] 80"]


def test_the_next_column_is_cut_if_the_widest_cannot_be() -> None:
    assert labels(counted(age=[20, 20, 20, 90], sex=["f", "f", "m", "m"])) == [
        "20 f",
        "[20, 90] m",
        "[20, 90] m",
    ]


def test_text_is_ordered_alphabetically_or_as_passed() -> None:
    contingency = counted(town=["Ulm", "Bonn", "Aachen", "Mainz"])
    assert labels(contingency) == ["{Aachen, Bonn}"] * 2 + ["{Mainz, Ulm}"] * 2
    south_to_north = ["Ulm", "Mainz", "Bonn", "Aachen"]
    assert (
        labels(contingency, orders={"town": south_to_north})
        == ["{Bonn, Aachen}"] * 2 + ["{Ulm, Mainz}"] * 2
    )


def test_a_hierarchy_is_cut_into_children() -> None:
    regions = {"Ulm": "south", "Hof": "south", "Kiel": "north", "Plön": "north"}
    towns = Hierarchy("town", {town: (town, region, "*") for town, region in regions.items()})
    assert labels(counted(town=["Ulm", "Hof", "Kiel", "Kiel"]), hierarchies={"town": towns}) == [
        "south",
        "Kiel",
        "south",
    ]


def test_relaxed_parts_share_values_at_the_cut() -> None:
    """Five people of 30 are in two raw classes.

    Strict parts cannot halve the ages; relaxed ones split the classes.
    """
    columns: dict[str, Sequence[Any]] = {
        "age": [30] * 5 + [31],
        "sex": ["f", "f", "m", "m", "m", "m"],
    }
    k3 = [Promise.make("k_anonymity", 3)]
    orders = {"sex": ["f", "m"]}
    assert labels(counted(**columns), k3, orders=orders) == ["[30, 31] {f, m}"] * 3
    relaxed = mondrian(
        counted(age=[30, 30, 30, 30, 31, 32], pair=[1, 2, 3, 4, 1, 1]), k3, strict=False
    )
    assert sorted(box.people for box in relaxed.boxes) == [3, 3]
    strict = mondrian(counted(age=[30, 30, 30, 30, 31, 32], pair=[1, 1, 1, 1, 1, 1]), k3)
    assert [box.people for box in strict.boxes] == [6]


def test_dates_and_nulls() -> None:
    found = labels(
        counted(
            born=[
                date(1990, 1, 1),
                date(1990, 1, 2),
                date(2001, 5, 5),
                None,
                None,
                date(2001, 5, 5),
            ]
        )
    )
    assert found == ["[1990-01-01, 1990-01-02]"] * 2 + ["2001-05-05", "None"]
    assert labels(counted(age=[1, 2, None])) == ["*", "*", "*"]


@pytest.mark.parametrize(
    ("labels", "positions"),
    [
        ([1.0, 2.0, 5.0], [0, 1 / 4, 1]),
        ([-1.6e308, 0.0, 1.6e308], [0, 1 / 2, 1]),  # their distance exceeds the largest float
        ([1.0, 3.0, math.inf], [0, 1 / 2, 1]),
        ([-math.inf, 1.0, 3.0], [0, 1 / 2, 1]),
        ([-math.inf, 1.0, 3.0, math.inf, None], [0, 1 / 6, 1 / 3, 1 / 2, 1]),
        ([1.0, 3.0, math.inf, math.nan], [0, 1 / 3, 2 / 3, 1]),
        ([-math.inf, math.inf], [0, 1]),
        ([math.inf], [0]),
        ([5, 5 + 2**64, None], [0, 1 / 2, 1]),
        ([4.0], [0]),
        ([4.0, None], [0, 1]),
        ([None], [0]),
        ([], []),
    ],
    ids=repr,
)
def test_positions_are_from_0_to_1_without_a_warning(
    labels: list[Any], positions: list[float]
) -> None:
    assert mondrian_axes._places(labels).tolist() == pytest.approx(positions)  # noqa: SLF001 - its numbers


def test_every_cut_meets_the_requirements() -> None:
    columns: dict[str, Sequence[Any]] = {"age": [1, 2, 3, 4], "d": ["flu", "flu", "HIV", "flu"]}
    diverse = [Promise.make("l_diversity", 2)]
    assert labels(counted(**columns), diverse) == ["[1, 4]"] * 4
    columns["d"] = ["flu", "HIV", "HIV", "flu"]
    assert labels(counted(**columns), diverse) == ["[1, 2]"] * 2 + ["[3, 4]"] * 2


def test_the_whole_table_meets_an_average() -> None:
    columns: dict[str, Sequence[Any]] = {"age": [1, 2, 3, 4], "d": ["flu", "HIV", "HIV", "flu"]}
    nothing = [Promise.make("mutual_information", 0.0)]
    assert labels(counted(**columns), nothing) == ["[1, 2]"] * 2 + ["[3, 4]"] * 2
    half = [Promise.make("mutual_information", 0.5)]
    assert labels(counted(**columns), half) == ["1", "2", "[3, 4]", "[3, 4]"]


def test_violating_pieces_reject_only_their_own_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty-two ages of four people stay separate, sixty-four of two only in pairs.

    Few checks of the table are needed to see which.

    ITPR of identity is 1 - classes * p(class) * H(X | class) / H(X): for 64 classes of 4 among 256
    people 1 - 2 / 8 = 0.75, and a class of 2 among at most 96 would have 1 - 96 * 2 / 256 * 1 / 8 =
    0.91.
    """
    looks = []
    original = NodeChecker.broken_within

    def counting(self: NodeChecker, classes: Any, kept: Any = None) -> Any:
        looks.append(len(classes))
        return original(self, classes, kept)

    monkeypatch.setattr(NodeChecker, "broken_within", counting)
    ages = [age for age in range(96) for _ in range(4 if age < 32 else 2)]
    plan = mondrian(counted(age=ages), [Promise.make("itpr", 0.8, scope="identity")])
    assert [box.people for box in plan.boxes] == [4] * 64
    assert len(looks) < 32


def test_protected_people() -> None:
    contingency = counted(age=[1, 2, 3, 4, 76, 77])
    old = Protection.make({"k_anonymity": 3}, where={"age": ">75"})
    assert labels(contingency, [Promise.make("k_anonymity", 1)], protections=[old]) == [
        "1",
        "2",
        "3",
        "[4, 77]",
        "[4, 77]",
        "[4, 77]",
    ]


def test_errors() -> None:
    with pytest.raises(
        Infeasible,
        match=r"no generalization keeps k_anonymity >= 2 .*What would fit: no requirement on "
        r"k_anonymity",
    ):
        mondrian(counted(age=[1]), K2)
    with pytest.raises(BadInput, match="use strict parts"):
        mondrian(
            counted(age=[1, 2], d=["a", "b"]), [Promise.make("entropy_leakage", 1)], strict=False
        )
    with pytest.raises(BadInput, match="misses 'Ulm'"):
        mondrian(counted(town=["Ulm", "Bonn"]), K2, orders={"town": ["Bonn"]})


def test_one_label_for_two_nodes() -> None:
    """A town and a region of one name would be one class.

    That is fine for k-anonymity, and an error if merging makes a requirement worse.
    """
    names = {"Berlin": "north", "Mitte": "Berlin", "Wedding": "Berlin", "Ulm": "south"}
    places = Hierarchy("place", {town: (town, region, "*") for town, region in names.items()})
    ill = {
        "Ulm": {"a": 80},
        "Berlin": {"a": 8, "b": 2},
        "Mitte": {"a": 1, "b": 4},
        "Wedding": {"a": 1, "b": 4},
    }
    pairs = [
        (town, value)
        for town, members in ill.items()
        for value, n in members.items()
        for _ in range(n)
    ]
    contingency = counted(place=[town for town, _ in pairs], d=[value for _, value in pairs])
    k10 = [Promise.make("k_anonymity", 10)]
    found = mondrian(contingency, k10, hierarchies={"place": places})
    assert (len(found.boxes), found.classes) == (3, 2)
    with pytest.raises(BadInput, match=r"one label.*entropy_leakage of d <= 0.5"):
        mondrian(
            contingency, [*k10, Promise.make("entropy_leakage", 0.5)], hierarchies={"place": places}
        )


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=30),
    st.integers(1, 4),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_no_part_could_be_cut_any_further(
    pairs: list[tuple[int, int]],
    k: int,
    strict: bool,  # noqa: FBT001 - drawn
) -> None:
    if len(pairs) < k:
        return
    contingency = counted(x=[x for x, _ in pairs], y=[y for _, y in pairs])
    plan = mondrian(contingency, [Promise.make("k_anonymity", k)], strict=strict)
    assert sum(box.people for box in plan.boxes) == len(pairs)
    for box in plan.boxes:
        assert box.people >= k
    if strict:
        # Boxes do not overlap, so the people in a box are those that it holds; the cut nearest the
        # middle leaves too few on one side.
        for box in plan.boxes:
            spans = [span for span in box.spans if isinstance(span, tuple)]
            inside = [
                pair
                for pair in pairs
                if all(low <= x <= high for x, (low, high) in zip(pair, spans, strict=True))
            ]
            assert len(inside) == box.people
            for axis in (0, 1):
                assert not nearest_cut_is_fine(sorted(pair[axis] for pair in inside), k)


def nearest_cut_is_fine(values: list[int], k: int) -> bool:
    places = [i for i in range(1, len(values)) if values[i - 1] != values[i]]
    if not places:
        return False
    place = min(places, key=lambda i: (abs(i - len(values) / 2), i))
    return min(place, len(values) - place) >= k
