# SPDX-License-Identifier: Apache-2.0
"""Probabilistic resolution with Splink: probabilities by hand (Fellegi and Sunter), confidences."""

from __future__ import annotations

import builtins
from math import prod
from pathlib import Path
from typing import Any

import pytest

from divulge.dossier import Attribute, Chain, Compared, Link, Record, dip, link
from divulge.dossier.linkage import Pair, merge_by_probability
from divulge.engines import SparkEngine
from divulge.errors import BadInput, MissingDependency

PEOPLE = (
    Record.of({"N": "alice", "P": "1"}, id="a"),
    Record.of({"N": "alice", "P": ["1", "2"], "C": "9"}, id="b"),
    Record.of({"N": "alicd", "C": ("9", 0.5), "Z": "5"}, id="c"),
    Record.of({"N": "bob", "P": "7"}, id="d"),
)
GIVEN = (
    Compared("N", edits=1, levels=((0.9, 0.01), (0.08, 0.02))),
    Compared("P", levels=((0.95, 0.05),)),
    Compared("C", levels=((0.95, 0.001),)),
)
PRIOR = 0.1


def probability(*shares: tuple[float, float]) -> float:
    """Prior odds times m / u of each comparison that is not missing."""
    odds = PRIOR / (1 - PRIOR) * prod(m / u for m, u in shares)
    return odds / (1 + odds)


A_B = probability((0.9, 0.01), (0.95, 0.05))  # the same name, a phone in common, no card to compare
# nearly the same name, the same card, no phone to compare
B_C = probability((0.08, 0.02), (0.95, 0.001))
# only a similar name: they share no value, so they are not even compared
A_C = probability((0.08, 0.02))


def check_by_hand(spark: Any) -> None:
    found = link(PEOPLE, GIVEN, threshold=0.5, prior=PRIOR, spark=spark)
    assert [(pair.left, pair.right) for pair in found.pairs] == [("b", "c"), ("a", "b")]
    assert [pair.probability for pair in found.pairs] == pytest.approx([B_C, A_B], rel=1e-9)
    merged, alone = found.records
    assert (merged.id, sorted(merged.sources), alone.id) == ("a+b+c", ["a", "b", "c"], "d")
    # b has the likeliest matches, so the group is seen from b: its own attributes count fully
    assert dict(merged.attributes) == pytest.approx(
        {
            Attribute("N", "alice"): 1.0,
            Attribute("P", "1"): 1.0,
            Attribute("P", "2"): 1.0,
            Attribute("C", "9"): 1.0,
            Attribute("N", "alicd"): B_C,
            Attribute("Z", "5"): B_C,
        },
        rel=1e-9,
    )
    assert [share for level in found.model["N"] for share in level] == pytest.approx(
        [0.9, 0.01, 0.08, 0.02, 0.02, 0.97]
    )
    assert found.graph()["edges"][1] == {
        "source": "a",
        "target": "b",
        "probability": found.pairs[1].probability,
    }


def test_probabilities_by_hand_on_duckdb() -> None:
    pytest.importorskip("splink")
    check_by_hand(None)


@pytest.mark.filterwarnings("ignore")  # PySpark warns about the versions of others
def test_probabilities_by_hand_on_spark(spark: SparkEngine) -> None:
    pytest.importorskip("splink")
    check_by_hand(spark.session)


def test_the_threshold_decides_who_is_merged() -> None:
    pytest.importorskip("splink")
    assert A_B < 0.996 < B_C
    found = link(PEOPLE, GIVEN, threshold=0.996, prior=PRIOR)
    assert {record.sources for record in found.records} == {
        frozenset({"a"}),
        frozenset({"b", "c"}),
        frozenset({"d"}),
    }


def test_a_query_is_seen_from_itself() -> None:
    """Q = {alicd} is the c of above: it reaches b by the card and a through b.

    Each step has a lower probability.
    """
    pytest.importorskip("splink")
    operator = Chain((Link(GIVEN, threshold=0.5, prior=PRIOR),))
    found = dip([PEOPLE[0], PEOPLE[1], PEOPLE[3]], PEOPLE[2], operator)
    assert found.reached == {"a", "b"}
    assert dict(found.record.attributes) == pytest.approx(
        {
            Attribute("N", "alicd"): 1.0,
            Attribute("Z", "5"): 1.0,
            Attribute("C", "9"): B_C,
            Attribute("N", "alice"): B_C,
            Attribute("P", "1"): B_C,
            Attribute("P", "2"): B_C,
        },
        rel=1e-9,
    )
    assert not operator.monotone


@pytest.mark.slow
def test_the_model_is_learnt_from_enough_records() -> None:
    """600 people, every third twice: phone and card agree for one person only.

    The name has 40 values and typing errors.
    """
    pytest.importorskip("splink")
    names = ["anna", "bert", "carla", "dieter", "emma", "franz", "gerda", "hans"]
    records = []
    for person in range(600):
        name = f"{names[person % 8]}{person % 5}"
        for copy in range(2 if person % 3 == 0 else 1):
            typed = name if copy == 0 or person % 2 else f"{name}x"
            entries = [("N", typed), ("P", f"p{person}")]
            if person % 5 or copy:
                entries.append(("C", f"c{person}"))
            records.append(Record.of(entries, id=f"{person}.{copy}"))
    found = link(records, [Compared("N", edits=1), "P", "C"], threshold=0.9)
    same = [pair.left.split(".")[0] == pair.right.split(".")[0] for pair in found.pairs]
    assert (len(same), all(same)) == (200, True)
    equal_m, equal_u = found.model["N"][0]
    assert equal_m == pytest.approx(0.5, abs=0.05)  # half of the copies have a typing error
    assert equal_u == pytest.approx(1 / 40, abs=0.01)
    assert found.prior == pytest.approx(1 / 800)


def test_confidences_are_multiplied_along_the_likeliest_chain() -> None:
    chain = tuple(Record.of({name: ("1", 0.5)}, id=name) for name in "abcd")
    pairs = [Pair("a", "b", 0.9), Pair("b", "c", 0.8), Pair("a", "c", 0.5)]
    seen_from_a, alone = merge_by_probability(chain, pairs, anchor="a")
    assert dict(seen_from_a.attributes) == pytest.approx(
        {Attribute("a", "1"): 0.5, Attribute("b", "1"): 0.45, Attribute("c", "1"): 0.36}
    )
    assert alone == chain[3]
    central = merge_by_probability(chain, pairs)[0]
    assert central.attributes[Attribute("b", "1")] == 0.5  # 0.9 + 0.8 is the most


def test_a_missing_splink_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == "splink":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(
        MissingDependency,
        match=r"needs the package splink\. Install it with: pip install 'splink>=5'",
    ):
        link(PEOPLE, GIVEN, prior=PRIOR)


def test_a_splink_that_is_too_old_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    splink = pytest.importorskip("splink")
    monkeypatch.setattr(splink, "__version__", "4.0.12")
    with pytest.raises(MissingDependency, match=r"splink 4\.0\.12 is too old, version 5 is needed"):
        link(PEOPLE, GIVEN, prior=PRIOR)


def test_too_few_records_to_learn_from() -> None:
    pytest.importorskip("splink")
    strangers = [Record.of({"N": str(i), "P": str(i), "C": str(i)}, id=f"r{i}") for i in range(5)]
    with pytest.raises(BadInput, match="too few records agree to learn how much 'N' says"):
        link(strangers, ["N", "P", "C"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"comparisons": []}, "at least one"),
        ({"comparisons": ["N", "N"]}, "each label once"),
        ({"comparisons": ["N"]}, "nothing can be learnt"),
        ({"comparisons": [GIVEN[1], "N"]}, "for all labels or for none"),
        ({"comparisons": GIVEN, "threshold": 1.0}, "threshold"),
        ({"comparisons": GIVEN, "prior": 0.0}, "prior"),
        ({"comparisons": GIVEN, "blocking": "Z"}, "'Z', which is not compared"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    given = dict(options)
    with pytest.raises(BadInput, match=message):
        link(PEOPLE, given.pop("comparisons"), **given)


def test_bad_levels_are_refused() -> None:
    with pytest.raises(BadInput, match="2 expected"):
        Compared("N", edits=1, levels=((0.9, 0.1),))
    with pytest.raises(BadInput, match="together below 1"):
        Compared("N", edits=1, levels=((0.9, 0.1), (0.1, 0.1)))
    with pytest.raises(BadInput, match="edits"):
        Compared("N", edits=-1)


def test_a_session_that_is_none_is_refused() -> None:
    pytest.importorskip("splink")
    with pytest.raises(BadInput, match="not a Spark session"):
        link(PEOPLE, GIVEN, prior=PRIOR, spark=Path())
