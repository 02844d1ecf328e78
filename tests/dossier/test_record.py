# SPDX-License-Identifier: Apache-2.0
"""Records: construction, merging (union, highest confidence, sources), and errors."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from divulge.dossier import Attribute, Record
from divulge.dossier.record import as_text, check_confidence, check_reference, check_weights
from divulge.errors import BadInput

attributes = st.dictionaries(
    st.builds(Attribute, st.sampled_from("NAPC"), st.sampled_from("123")),
    st.floats(0, 1),
    max_size=6,
)
records = st.builds(Record, attributes, st.sampled_from(["r", "s", "t", None]))


def test_a_record_is_built_from_a_mapping_or_from_tuples() -> None:
    mapped = Record.of({"N": "Alice", "P": ("123", 0.5), "A": [("20", 0.5), 30]})
    listed = Record.of([("N", "Alice"), ("P", "123", 0.5), ("A", "20", 0.5), ("A", "30")])
    assert mapped == listed
    assert mapped.labels == ("N", "P", "A")
    assert mapped.value_sets["A"] == {"20", "30"}
    assert len(mapped) == 4


def test_confidence_zero_means_absent() -> None:
    assert Record.of([("N", "a", 0.0), ("P", "1")]) == Record.of([("P", "1")])


def test_a_record_cannot_be_changed() -> None:
    source = {Attribute("N", "a"): 1.0}
    record = Record(source)
    source[Attribute("P", "1")] = 1.0
    assert len(record) == 1
    with pytest.raises(TypeError):
        record.attributes[Attribute("P", "1")] = 1.0  # type: ignore[index]


def test_the_id_is_the_only_source_of_a_base_record() -> None:
    assert Record.of({"N": "a"}, id="r1").sources == {"r1"}
    assert Record.of({"N": "a"}).sources == frozenset()


def test_records_survive_pickling_as_spark_workers_need() -> None:
    record = Record.of({"N": ("a", 0.25)}, id="r1")
    assert pickle.loads(pickle.dumps(record)) == record  # noqa: S301 - our own bytes


def test_merge_keeps_the_highest_confidence_and_all_sources() -> None:
    # Section 4.3: <N, Alice, 1> and <N, Alice, 0.9> merge to 1.
    left = Record.of([("N", "Alice"), ("A", "20")], id="r1")
    right = Record.of([("N", "Alice", 0.9), ("P", "123", 0.5), ("C", "987")], id="r2")
    merged = left.merge(right)
    assert merged.attributes == {
        ("N", "Alice"): 1.0,
        ("A", "20"): 1.0,
        ("P", "123"): 0.5,
        ("C", "987"): 1.0,
    }
    assert merged.sources == {"r1", "r2"}
    assert merged.id is None


@given(records, records, records)
def test_merge_is_idempotent_commutative_and_associative(r: Record, s: Record, t: Record) -> None:
    assert r.merge(r) == r
    assert r.merge(s) == s.merge(r)
    assert r.merge(s).merge(t).attributes == r.merge(s.merge(t)).attributes
    assert r.merge(s).merge(t).sources == r.merge(s.merge(t)).sources


@given(records)
def test_equal_records_have_equal_hashes_whatever_their_order(record: Record) -> None:
    turned = Record(dict(reversed(list(record.attributes.items()))), record.id, record.sources)
    assert turned == record
    assert hash(turned) == hash(record)


@pytest.mark.parametrize("confidence", [1.2, -0.1, math.nan, math.inf, "0.5", True, None])
def test_a_confidence_outside_0_to_1_is_refused(confidence: object) -> None:
    with pytest.raises(BadInput, match=r"confidence of <N, a> is .* between 0 and 1"):
        check_confidence(confidence, ("N", "a"))
    with pytest.raises(BadInput):
        Record({Attribute("N", "a"): confidence})  # type: ignore[dict-item]


def test_the_same_attribute_twice_is_refused() -> None:
    with pytest.raises(BadInput, match="<N, a> occurs twice"):
        Record.of([("N", "a", 0.5), ("N", "a", 0.6)])


def test_values_are_compared_as_text() -> None:
    assert [as_text(value) for value in ("x", 30, 30.0, 0.5, True)] == [
        "x",
        "30",
        "30",
        "0.5",
        "true",
    ]
    for value in (None, math.nan, b"x"):
        with pytest.raises(BadInput, match="is not a value"):
            as_text(value)


@pytest.mark.parametrize("entry", [("N",), ("N", "a", 1, 2), ("", "a"), (1, "a")])
def test_invalid_attributes_raise_an_error(entry: tuple[str, ...]) -> None:
    with pytest.raises(BadInput):
        Record.of([entry])


def test_a_reference_is_certain_and_not_empty() -> None:
    with pytest.raises(BadInput, match="reference record is empty"):
        check_reference(Record.of([]))
    with pytest.raises(BadInput, match=r"<N, a> with confidence 0\.5"):
        check_reference(Record.of([("N", "a", 0.5)]))


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf, "2", 1e-200, 1e200, None])
def test_a_bad_weight_is_refused(weight: float) -> None:
    with pytest.raises(BadInput, match="weight of 'N'"):
        check_weights({"N": weight})


def test_good_weights_pass() -> None:
    assert check_weights({"N": 2, "P": 0, "Q": 0.5}) == {"N": 2.0, "P": 0.0, "Q": 0.5}
    assert check_weights(None) == {}
