# SPDX-License-Identifier: Apache-2.0
"""The joint-information device of section 2: information of phone and address counts once."""

from __future__ import annotations

import pytest

from divulge.dossier import Attribute, Joint, Record, leakage
from divulge.errors import BadInput

ALICE = Record.of({"N": "Alice", "A": "123 Main", "P": "555"})


def shares_district() -> Joint:
    """Phone and address share the district with weight 3; each weighs 1 without it."""
    return Joint.of_reference("J", ["A", "P"], reference=ALICE)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"P": "555"}, 2 * 4 / (4 + 6)),  # J and P: 3 + 1 of W_p = 1 + 1 + 1 + 3
        ({"A": "123 Main"}, 2 * 4 / (4 + 6)),
        ({"A": "123 Main", "P": "555"}, 2 * 5 / (5 + 6)),  # J once: 3 + 1 + 1, not 3 + 3 + 1 + 1
        # the false address reveals a false J as well
        ({"A": "777 Main", "P": "555"}, 2 * 4 / (8 + 6)),
    ],
)
def test_shared_information_counts_once(known: dict[str, str], expected: float) -> None:
    joint = shares_district()
    found = leakage(joint.apply(Record.of(dict(known))), joint.apply(ALICE), weights={"J": 3})
    assert found.leakage == pytest.approx(expected, rel=1e-12)


def test_values_may_be_declared_by_a_lookup() -> None:
    joint = Joint(
        "J",
        frozenset("AP"),
        {
            Attribute("A", "123 Main"): "north",
            Attribute("P", "555"): "north",
            Attribute("P", "556"): "north",
        },
    )
    told = joint.apply(Record.of([("P", "556", 0.3), ("A", "123 Main", 0.6)]))
    assert told.attributes[Attribute("J", "north")] == 0.6  # the higher confidence, as in a merge


def test_bad_joints_are_refused() -> None:
    with pytest.raises(BadInput, match="at least two labels"):
        Joint("J", frozenset("A"))
    with pytest.raises(BadInput, match="new label"):
        Joint("A", frozenset("AP"))
    with pytest.raises(BadInput, match="only members"):
        Joint("J", frozenset("AP"), {Attribute("X", "1"): "north"})
    with pytest.raises(BadInput, match="already has the label"):
        shares_district().apply(Record.of({"J": "x"}))
