# SPDX-License-Identifier: Apache-2.0
"""Policies from TOML and from Python: what is read, and every document that is rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import divulge as dv
from divulge.errors import BadInput
from divulge.metrics import METRICS
from divulge.policy import Policy, Promise

WHOLE = """
quasi_identifiers = ["zip", "age"]
sensitive = "disease"
person = "patient"
suppression = 0.05
l_diversity = 2

[promises]
k_anonymity = 5
entropy_leakage = 0.5
recursive_c_l_diversity = {c = 3, l = 2}

[promises.identity]
itpr = 0.9

[promises.attributes.disease]
itpr = 0.8

[adversary]
nulls = "drop"
rule_out = {disease = "flu"}
"""


def texts(policy: Policy) -> list[str]:
    return [promise.text for promise in policy.promises]


def test_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "divulge.toml"
    path.write_text(WHOLE, encoding="utf-8")
    for source in (path, str(path)):
        policy = Policy.load(source)
        assert policy.roles == {
            "quasi_identifiers": ["zip", "age"],
            "sensitive": "disease",
            "person": "patient",
        }
        assert policy.adversary == dv.Adversary(nulls="drop", rule_out={"disease": ["flu"]})
        assert policy.suppression == 0.05
        assert texts(policy) == [
            "l_diversity >= 2",
            "k_anonymity >= 5",
            "entropy_leakage <= 0.5",
            "recursive_c_l_diversity < 3 (l = 2)",
            "identity itpr <= 0.9",
            "itpr of disease <= 0.8",
        ]


def test_roles_may_have_a_table_of_their_own() -> None:
    policy = Policy.from_document(
        {"roles": {"sensitive": ["a", "b"], "weight": "w"}, "identifier": "name"}
    )
    assert policy.roles == {"sensitive": ["a", "b"], "weight": "w", "identifier": "name"}


def test_suppression_may_be_among_the_requirements() -> None:
    assert (
        Policy.from_document({"promises": {"suppression": 0.1, "k_anonymity": 2}}).suppression
        == 0.1
    )


def test_keywords_are_requirements() -> None:
    policy = Policy(k_anonymity=5, entropy_leakage=0.5, suppression=0.05)
    assert texts(policy) == ["k_anonymity >= 5", "entropy_leakage <= 0.5"]
    assert policy.suppression == 0.05
    assert texts(Policy([Promise.make("alpha", 0.5)], k_anonymity=2)) == [
        "alpha <= 0.5",
        "k_anonymity >= 2",
    ]


def test_a_document_is_not_changed() -> None:
    document: dict[str, Any] = {"roles": {"sensitive": "a"}, "quasi_identifiers": ["b"]}
    Policy.from_document(document)
    assert document == {"roles": {"sensitive": "a"}, "quasi_identifiers": ["b"]}


@pytest.mark.parametrize(
    "metric",
    [metric for metric in METRICS if metric.kind == "risk"],
    ids=lambda m: f"{m.scope}.{m.name}",
)
def test_every_risk_can_be_required(metric: Any) -> None:
    bound: Any = {"c": 3, "l": 2} if metric.name == "recursive_c_l_diversity" else 1.5
    bound = 0.5 if metric.worse == "high" and not metric.takes_l else bound
    if metric.scope == "identity":
        document = {"promises": {"identity": {metric.name: bound}}}
    else:
        document = {"promises": {"attributes": {"disease": {metric.name: bound}}}}
    (promise,) = Policy.from_document(document).promises
    assert promise.metric is metric
    assert promise.attribute == (None if metric.scope == "identity" else "disease")


@pytest.mark.parametrize(
    "metric",
    [metric for metric in METRICS if metric.kind != "risk"],
    ids=lambda m: f"{m.scope}.{m.name}",
)
def test_descriptive_metrics_cannot_be_required(metric: Any) -> None:
    with pytest.raises(
        BadInput, match=f"{metric.name!r} is a {metric.kind} and cannot be promised"
    ):
        Promise.make(metric.name, 1, scope=metric.scope)


def test_a_name_of_both_scopes_means_the_attribute() -> None:
    (promise,) = Policy(itpr=0.5).promises
    assert (promise.metric.scope, promise.text) == ("sensitive", "itpr <= 0.5")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown key": ({"k_anonimity": 5}, "unknown key 'k_anonimity'.*did you mean 'k_anonymity'"),
    "an unknown metric": (
        {"promises": {"k_anonimity": 5}},
        "there is no metric 'k_anonimity'.*did you mean 'k_anonymity'",
    ),
    "an unknown role": (
        {"roles": {"sensitiv": "a"}},
        "unknown role 'sensitiv'.*did you mean 'sensitive'",
    ),
    "roles that are no table": ({"roles": 5}, "'roles' must be a table of name = column, not 5"),
    "promises that are no table": ({"promises": 5}, "'promises' must be a table of metric = bound"),
    "promises as a list": ({"promises": ["k_anonymity"]}, "'promises' must be a table"),
    "identity that is no table": (
        {"promises": {"identity": 5}},
        "'promises.identity' must be a table",
    ),
    "attributes that are no table": (
        {"promises": {"attributes": 5}},
        "'promises.attributes' must be a table",
    ),
    "an attribute that is no table": (
        {"promises": {"attributes": {"disease": 5}}},
        "'promises.attributes.disease' must be a table",
    ),
    "a sensitive metric for identity": (
        {"promises": {"identity": {"alpha": 0.5}}},
        "there is no metric 'alpha'",
    ),
    "an identity metric for an attribute": (
        {"promises": {"attributes": {"a": {"k_anonymity": 5}}}},
        "there is no metric 'k_anonymity'",
    ),
    "a role that is a number": (
        {"sensitive": 5},
        "sensitive = 5 must be a column name or a list of them",
    ),
    "a role with numbers in it": (
        {"quasi_identifiers": ["a", 5]},
        "must be a column name or a list of them",
    ),
    "two persons": ({"person": ["a", "b"]}, "person = .* must be a column name$"),
    "a bound that is a word": ({"k_anonymity": "five"}, "k_anonymity = 'five' is not a number"),
    "a bound that is true": ({"k_anonymity": True}, "k_anonymity = True is not a number"),
    "a bound that is a list": ({"k_anonymity": [5]}, "is not a number"),
    "a bound that is nan": ({"alpha": float("nan")}, "is not a number"),
    "a negative bound": ({"promises": {"alpha": -0.5}}, "alpha = -0.5 is below 0"),
    "c without l": ({"recursive_c_l_diversity": 3}, "does not give c and l"),
    "only c": ({"recursive_c_l_diversity": {"c": 3}}, "does not give c and l"),
    "l of 0": ({"recursive_c_l_diversity": {"c": 3, "l": 0}}, "l of .* must be from 1 to"),
    "l without end": (
        {"recursive_c_l_diversity": {"c": 3, "l": float("inf")}},
        "l = inf .* is not a whole number",
    ),
    "l that is nan": (
        {"recursive_c_l_diversity": {"c": 3, "l": float("nan")}},
        "l = nan .* is not a whole number",
    ),
    "l of 5,000 digits": (
        {"recursive_c_l_diversity": {"c": 3, "l": 10**5000}},
        "l of .* must be from 1 to",
    ),
    "c without end": (
        {"recursive_c_l_diversity": {"c": float("inf"), "l": 2}},
        "is not a finite number",
    ),
    "a bound without end": (
        {"k_anonymity": float("inf")},
        "k_anonymity = inf is not a finite number",
    ),
    "a bound without end as text": ({"alpha": "-inf"}, "alpha = -inf is not a finite number"),
    "a bound of 5,000 digits": (
        {"k_anonymity": 10**5000},
        "k_anonymity = inf is not a finite number",
    ),
    "half an l": (
        {"recursive_c_l_diversity": {"c": 3, "l": 2.5}},
        "l = 2.5 .* is not a whole number",
    ),
    "l that is a word": (
        {"recursive_c_l_diversity": {"c": 3, "l": "two"}},
        "l = 'two' .* is not a whole number",
    ),
    "l that is true": (
        {"recursive_c_l_diversity": {"c": 3, "l": True}},
        "l = True .* is not a whole number",
    ),
    "c that is a word": (
        {"recursive_c_l_diversity": {"c": "x", "l": 2}},
        "recursive_c_l_diversity = 'x' is not a number",
    ),
    "an unknown method": (
        {"method": "mondrain"},
        "there is no method 'mondrain'.*did you mean 'mondrian'",
    ),
    "a method that is a number": ({"method": 5}, "method is 5, and it must be a text"),
    "a suppression above 1": (
        {"suppression": 5},
        "suppression = 5 is not a fraction.*0.05 for 5 %",
    ),
    "a suppression below 0": ({"suppression": -0.1}, "is not a fraction"),
    "a suppression that is true": (
        {"suppression": True},
        "suppression is True, and it must be a number",
    ),
    "a suppression that is a word": (
        {"promises": {"suppression": "some"}},
        "suppression is .some., and it must be a number",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_documents_raise_an_error(name: str) -> None:
    document, message = REFUSED[name]
    with pytest.raises(BadInput, match=message):
        Policy.from_document(document)


@pytest.mark.parametrize(
    "text", ["3,2", " 3 , 2 ", (3, 2), [3, 2], {"c": 3, "l": 2.0}, {"c": "3", "l": "2"}]
)
def test_c_and_l_in_every_form(text: Any) -> None:
    promise = Promise.make("recursive_c_l_diversity", text)
    assert (promise.bound, promise.l_value) == (3, 2)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "divulge.toml"
    path.write_text("k_anonimity = 5", encoding="utf-8")
    with pytest.raises(BadInput, match=r"divulge\.toml: unknown key"):
        Policy.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"k_anonymity = ", "is not valid TOML"),
        (b"a = 1\na = 2", "is not valid TOML"),
        (b'person = "\xff"', "is not valid TOML"),
        (b"k_anonymity = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
        (b"k_anonymity = " + b"{a=" * 5000 + b"1" + b"}" * 5000, "nested too deeply"),
        (b"k_anonymity = " + b"9" * 5000, "is not valid TOML"),
        (b"suppression = 0x" + b"f" * 5000, "more than 64 bits"),
    ],
)
def test_invalid_files_raise_an_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "divulge.toml"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message) as caught:
        Policy.load(path)
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no policy file"):
        Policy.load(tmp_path / "nowhere.toml")
    with pytest.raises(BadInput, match="cannot be read"):
        Policy.load(tmp_path)
