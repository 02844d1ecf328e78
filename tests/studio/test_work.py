# SPDX-License-Identifier: Apache-2.0
"""A work is one value: every control gives another one, its file says all of it, and what no policy can say is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge import metrics
from divulge.errors import BadInput
from divulge.policy import Policy, Promise
from divulge.studio.work import ROLES, Work

NAMES = ["zip", "age of person", 'quo"te', "x.y", "diagnosis", "</script>"]
RISKS = [Promise.name_of(each) for each in metrics.METRICS if each.kind == "risk" and not each.takes_l]
DEMO = Work(source="patients.csv", name="patients.csv").opening(dv.datasets.POLICY)

roles = st.tuples(st.just("role"), st.sampled_from(NAMES), st.sampled_from(["", *ROLES]))
promises = st.tuples(st.just("promise"), st.sampled_from(RISKS), st.none() | st.floats(0, 50))
shares = st.tuples(st.just("suppression"), st.just(""), st.floats(0, 1))
levels = st.tuples(st.just("levels"), st.sampled_from(NAMES), st.none() | st.just({"intervals": [5, 10]}))
said = st.tuples(
    st.just("said"),
    st.sampled_from(["knows", "records"]),
    st.none() | st.integers(0, 9) | st.lists(st.sampled_from(NAMES), max_size=2),
)
adversary = st.tuples(st.just("adversary"), st.just(""), st.none() | st.just({"diagnosis": ["flu"]}))


def after(work: Work, change: tuple[str, str, object]) -> Work:
    """What a control does."""
    name, of, value = change
    if name == "role":
        return work.with_role(of, str(value))
    if name == "promise":
        return work.with_promise(of, value)
    if name == "said":
        return replace(work.with_argument("attack", of, value), out=f"out of {of}\n")
    if name == "suppression":
        return work.with_suppression(float(str(value)))
    return work.with_levels(of, value) if name == "levels" else work.with_adversary(rule_out=value)


@settings(suppress_health_check=[HealthCheck.too_slow])  # names of metrics are looked up while it draws
@given(st.lists(roles | promises | shares | levels | adversary | said, max_size=6))
def test_opening_the_file_of_a_work_gives_the_same_work(changes: list[tuple[str, str, object]]) -> None:
    work = Work(source="t.csv", name="t.csv")
    for change in changes:
        work = after(work, change)
        opened = Work(source="t.csv", name="t.csv").opening(work.text)
        assert opened == work
        assert opened.policy == work.policy
        assert Work.from_dict(json.loads(json.dumps(work.to_dict()))) == work


def test_the_file_is_a_policy_file(tmp_path: Path) -> None:
    (tmp_path / "divulge.toml").write_text(DEMO.text, encoding="utf-8")
    assert Policy.load(tmp_path / "divulge.toml") == Policy.from_document(DEMO.document)


def test_a_column_has_one_role() -> None:
    work = DEMO.with_role("age", "sensitive")
    assert work.policy.roles["quasi_identifiers"] == ["zip", "sex"]
    assert work.policy.roles["sensitive"] == ["diagnosis", "age"]
    assert [work.role_of(name) for name in ("age", "zip", "patient_id", "nothing")] == [
        "sensitive",
        "quasi_identifiers",
        "identifier",
        "",
    ]
    assert work.with_role("age", "").role_of("age") == ""
    assert DEMO.role_of("age") == "quasi_identifiers"  # the one before is as it was


def test_a_pattern_means_what_has_no_other_role() -> None:
    columns = ["zip", "zip_of_work", "age", "note", "diagnosis"]
    text = 'quasi_identifiers = ["zip*"]\nsensitive = ["diagnosis", "nowhere"]\nleave_out = ["*"]'
    work = Work(source="t.csv", name="t.csv").opening(text).spread(columns)
    assert work.names("quasi_identifiers") == ("zip", "zip_of_work")
    assert [work.role_of(name) for name in columns] == ["quasi_identifiers"] * 2 + ["leave_out"] * 2 + ["sensitive"]
    assert work.names("leave_out") == ("*",)  # it stays as somebody wrote it
    assert list(work.named) == ["zip", "zip_of_work", "diagnosis", "nowhere"]
    assert work.with_role("age", "sensitive").role_of("age") == "sensitive"
    spread = work.spread(columns, rest=True)
    assert spread.names("leave_out") == ("age", "note")
    assert spread.with_role("age", "").role_of("age") == ""


def test_levels_go_with_the_column_that_has_them() -> None:
    work = DEMO.with_levels("age", {"intervals": [10]})
    assert work.policy.hierarchies == {"age": {"intervals": [10]}}
    assert work.with_role("age", "plain").policy.hierarchies == {}


def test_what_no_policy_can_say_is_refused() -> None:
    beside = ("{", "[]", '{"source": "x"}', '{"out": 3}', '{"arguments": {"attack": 1}}', '{"format": "exe"}')
    broken = (f"k_anonymity = 5\n# for the studio: {text}" for text in beside)
    for wrong in ("k_anonimity = 5", "k_anonymity = -1", "= 1", "[promises]\nk_anonymity = 'x'", *broken):
        with pytest.raises(BadInput):
            DEMO.opening(wrong)
    with pytest.raises(BadInput):
        DEMO.with_promise("k_anonymity", float("nan"))
    with pytest.raises(BadInput):
        DEMO.with_suppression(2)


def test_paths_of_a_file_are_seen_from_its_folder() -> None:
    work = DEMO.opening('[hierarchies]\nage = "age.csv"', base="policies")
    assert work.policy.hierarchies == {"age": str(Path("policies") / "age.csv")}
