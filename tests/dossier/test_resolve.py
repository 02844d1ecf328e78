# SPDX-License-Identifier: Apache-2.0
"""Entity resolution: golden cases, brute-force oracles, and independence of the record order."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.dossier import Attribute, MatchRule, Record, resolve, set_leakage
from divulge.dossier.resolve import Clusters, Method, merge_all, with_ids
from divulge.errors import BadInput
from tests.dossier.oracle import golden, record_of
from tests.dossier.worlds import (
    connected,
    databases,
    fixpoint,
    golden_database,
    golden_rule,
    rules,
    share_a_value,
)


@pytest.mark.parametrize("name", ["003-2.4-after-ER", "003-4.1-before"])
def test_golden_resolution(name: str) -> None:
    case = golden()[name]
    found = resolve(golden_database(case), golden_rule(case))
    leaked = set_leakage(found.records, record_of(case["inputs"]["p"])).leakage
    assert leaked == pytest.approx(float(Fraction(case["expected"])), rel=1e-12)


def test_swoosh_finds_what_closure_misses() -> None:
    case = golden()["003-own-12-swoosh-vs-closure"]
    database, reference = golden_database(case), record_of(case["inputs"]["p"])
    methods: list[tuple[Method, str]] = [
        ("swoosh", "swoosh"),
        ("closure", "pairwise_transitive_closure"),
    ]
    for method, key in methods:
        records = resolve(database, golden_rule(case), method=method).records
        expected = float(Fraction(case["expected"][key]))
        assert set_leakage(records, reference).leakage == pytest.approx(expected, rel=1e-12)


def test_resolution_can_lower_the_leakage() -> None:
    case = golden()["003-own-13-ER-can-lower"]
    database, reference = golden_database(case), record_of(case["inputs"]["p"])
    after = set_leakage(resolve(database, golden_rule(case)).records, reference).leakage
    assert set_leakage(database, reference).leakage == pytest.approx(
        float(Fraction(case["expected"]["before"]))
    )
    assert after == pytest.approx(float(Fraction(case["expected"]["after"])), rel=1e-12)


def test_merging_keeps_the_higher_confidence_and_the_sources() -> None:
    first = Record.of({"N": ("a", 0.5), "P": ("1", 0.25)}, id="r")
    second = Record.of({"N": ("a", 0.25), "Q": ("z", 0.2)}, id="s")
    merged = resolve([second, first], "N").records[0]
    expected = golden()["003-own-16-merge-max"]["inputs"]["r"]
    assert merged.attributes == record_of(expected).attributes
    assert (merged.id, merged.sources) == ("r+s", frozenset({"r", "s"}))


def test_the_graph_names_the_rule_and_the_values_that_joined() -> None:
    case = golden()["003-own-12-swoosh-vs-closure"]
    found = resolve(golden_database(case), golden_rule(case))
    assert found.graph() == {
        "nodes": [{"id": name, "cluster": "r+s+t"} for name in "rst"],
        "edges": [
            {"source": "s", "target": "r", "rule": "P", "values": ["1"]},
            {"source": "t", "target": "r", "rule": "N+C", "values": ["a", "9"]},
        ],
    }
    assert found.partition == {frozenset("rst")}


def test_identical_records_that_satisfy_no_clause_stay_apart() -> None:
    twins = [Record.of({"Z": "5"}, id="a"), Record.of({"Z": "5"}, id="b")]
    assert len(resolve(twins, "N").records) == 2


def test_an_empty_database_resolves_to_nothing() -> None:
    assert resolve([], "N").records == ()
    assert resolve([Record({}, "r")], "N").records == (Record({}, "r"),)


def test_records_without_an_id_are_named_by_their_place() -> None:
    named = with_ids([Record.of({"N": "a"}), Record.of({"N": "b"}, id="r1"), Record.of({"N": "c"})])
    assert [record.id for record in named] == ["r1'", "r1", "r3"]
    assert [record.sources for record in named] == [{"r1'"}, {"r1"}, {"r3"}]


def test_two_records_of_one_id_are_refused() -> None:
    with pytest.raises(BadInput, match="two records have the id 'r'"):
        resolve([Record.of({"N": "a"}, id="r"), Record.of({"N": "b"}, id="r")], "N")


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(BadInput, match=r"there is no method .guess.*swoosh.*closure"):
        resolve([], "N", method="guess")  # type: ignore[arg-type]


def test_a_group_with_very_many_keys_is_not_listed() -> None:
    """200 records share an employer: 200 names times 200 phones would be 40,000 keys."""
    crowd = [Record.of({"E": "x", "N": f"n{i}", "P": f"p{i}"}, id=f"r{i}") for i in range(200)]
    stranger = Record.of({"N": "n3", "P": "p150"}, id="s")
    clusters = Clusters(MatchRule.parse("E,N+P"), compose=True, most_keys=1000)
    for record in [*crowd, stranger]:
        clusters.add(record)
    assert len(clusters.groups()) == 1
    assert len(clusters._owner) < 2000  # noqa: SLF001 - the point of the test is what is not stored


@settings(deadline=None, max_examples=300)
@given(databases(confidences=(0.3, 0.9)), rules(thresholds=(0.0, 0.5)))
def test_swoosh_is_the_fixpoint_of_merging(database: list[Record], rule: MatchRule) -> None:
    found = resolve(database, rule)
    assert found.partition == fixpoint(database, rule)
    assert len(found.joins) == len(database) - len(found.records)


@settings(deadline=None, max_examples=300)
@given(databases(), rules(), st.integers(0, 6))
def test_large_groups_give_the_same_result(
    database: list[Record], rule: MatchRule, most_keys: int
) -> None:
    clusters = Clusters(rule, compose=True, most_keys=most_keys)
    for record in database:
        clusters.add(record)
    found = frozenset(frozenset(f"r{place}" for place in group) for group in clusters.groups())
    assert found == fixpoint(database, rule)


@settings(deadline=None, max_examples=200)
@given(databases(confidences=(0.3, 0.9)), rules(thresholds=(0.0, 0.5)))
def test_closure_is_the_connected_components(database: list[Record], rule: MatchRule) -> None:
    assert resolve(database, rule, method="closure").partition == connected(database, rule)


@settings(deadline=None, max_examples=200)
@given(
    databases(confidences=(0.3, 0.9)),
    rules(thresholds=(0.0, 0.5)),
    st.randoms(),
    st.sampled_from(["swoosh", "closure"]),
)
def test_the_order_of_the_records_does_not_matter(
    database: list[Record], rule: MatchRule, random: object, method: Method
) -> None:
    shuffled = list(database)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found, again = resolve(database, rule, method=method), resolve(shuffled, rule, method=method)
    assert found.partition == again.partition
    assert set(found.records) == set(again.records)


@settings(deadline=None)
@given(databases(), rules())
def test_resolution_is_idempotent(database: list[Record], rule: MatchRule) -> None:
    once = resolve(database, rule).records
    assert set(resolve(once, rule).records) == set(once)


@settings(deadline=None)
@given(databases(), rules())
def test_each_join_shares_the_values_it_names(database: list[Record], rule: MatchRule) -> None:
    found = resolve(database, rule, method="closure")
    by_id = {record.id: record for record in database}
    for join in found.joins:
        shared = [Attribute(*pair) for pair in zip(join.rule.split("+"), join.values, strict=True)]
        assert share_a_value(by_id[join.left], by_id[join.right], rule)
        assert all(
            part in by_id[side].attributes for part in shared for side in (join.left, join.right)
        )


@settings(deadline=None)
@given(databases(confidences=(0.3, 0.6, 0.9)))
def test_merging_many_is_merging_one_by_one(database: list[Record]) -> None:
    if not database:
        return
    expected = {
        attribute: max(record.attributes.get(attribute, 0.0) for record in database)
        for attribute in {attribute for record in database for attribute in record.attributes}
    }
    assert dict(merge_all(database).attributes) == expected
