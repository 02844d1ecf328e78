# SPDX-License-Identifier: Apache-2.0
"""Session state: controls return new values, the saved file is complete, and bad policies raise."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge import metrics
from divulge.errors import BadInput
from divulge.options import ROLES
from divulge.policy import Policy, Promise
from divulge.sources import known_options
from divulge.studio.session_state import SessionState
from divulge.studio.tabs.promises import _find_metric
from divulge.studio.tabs.table import _READING_FIELDS, _set_reading_option
from divulge.studio.worker import Worker

NAMES = ["zip", "age of person", 'quo"te', "x.y", "diagnosis", "</script>"]
RISKS = [
    Promise.name_of(each) for each in metrics.METRICS if each.kind == "risk" and not each.takes_l
]
DEMO = SessionState(source="patients.csv", name="patients.csv").with_policy_text(dv.datasets.POLICY)

roles = st.tuples(st.just("role"), st.sampled_from(NAMES), st.sampled_from(["", *ROLES]))
promises = st.tuples(
    st.just("promise"), st.sampled_from(RISKS), st.none() | st.floats(0, 50)
).filter(lambda change: change[2] is None or not _find_metric(change[1]).is_vacuous(change[2]))
shares = st.tuples(st.just("suppression"), st.just(""), st.floats(0, 1))
levels = st.tuples(
    st.just("levels"), st.sampled_from(NAMES), st.none() | st.just({"intervals": [5, 10]})
)
said = st.tuples(
    st.just("said"),
    st.sampled_from(["knows", "records"]),
    st.none() | st.integers(0, 9) | st.lists(st.sampled_from(NAMES), max_size=2),
)
adversary = st.tuples(
    st.just("adversary"), st.just(""), st.none() | st.just({"diagnosis": ["flu"]})
)


def after(state: SessionState, change: tuple[str, str, object]) -> SessionState:
    """Return the state after a control was used."""
    name, of, value = change
    if name == "role":
        return state.with_role(of, str(value))
    if name == "promise":
        return state.with_requirement(of, value)
    if name == "said":
        return replace(state.with_argument("attack", of, value), out=f"out of {of}\n")
    if name == "suppression":
        return state.with_suppression(float(str(value)))
    return (
        state.with_levels(of, value) if name == "levels" else state.with_adversary(rule_out=value)
    )


# names of metrics are looked up while it draws
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(roles | promises | shares | levels | adversary | said, max_size=6))
def test_opening_the_saved_file_restores_the_state(changes: list[tuple[str, str, object]]) -> None:
    state = SessionState(source="t.csv", name="t.csv")
    for change in changes:
        state = after(state, change)
        opened = SessionState(source="t.csv", name="t.csv").with_policy_text(state.text)
        assert opened == state
        assert opened.policy == state.policy
        assert SessionState.from_dict(json.loads(json.dumps(state.to_dict()))) == state


def test_the_file_is_a_policy_file(tmp_path: Path) -> None:
    (tmp_path / "divulge.toml").write_text(DEMO.text, encoding="utf-8")
    assert Policy.load(tmp_path / "divulge.toml") == Policy.from_document(DEMO.document)


def test_a_column_has_one_role() -> None:
    state = DEMO.with_role("age", "sensitive")
    assert state.policy.roles["quasi_identifiers"] == ["zip", "sex"]
    assert state.policy.roles["sensitive"] == ["diagnosis", "age"]
    assert [state.role_of(name) for name in ("age", "zip", "patient_id", "nothing")] == [
        "sensitive",
        "quasi_identifiers",
        "identifier",
        "",
    ]
    assert state.with_role("age", "").role_of("age") == ""
    assert DEMO.role_of("age") == "quasi_identifiers"  # the one before is as it was


def test_a_pattern_matches_columns_without_another_role() -> None:
    columns = ["zip", "zip_of_work", "age", "note", "diagnosis"]
    text = 'quasi_identifiers = ["zip*"]\nsensitive = ["diagnosis", "nowhere"]\nleave_out = ["*"]'
    state = (
        SessionState(source="t.csv", name="t.csv").with_policy_text(text).expand_patterns(columns)
    )
    assert state.names("quasi_identifiers") == ("zip", "zip_of_work")
    assert [state.role_of(name) for name in columns] == ["quasi_identifiers"] * 2 + [
        "leave_out"
    ] * 2 + ["sensitive"]
    assert state.names("leave_out") == ("*",)  # it stays as somebody wrote it
    assert list(state.named_columns) == ["zip", "zip_of_work", "diagnosis", "nowhere"]
    assert state.with_role("age", "sensitive").role_of("age") == "sensitive"
    spread = state.expand_patterns(columns, rest=True)
    assert spread.names("leave_out") == ("age", "note")
    assert spread.with_role("age", "").role_of("age") == ""


def test_the_hierarchy_of_a_column_is_removed_with_its_role() -> None:
    state = DEMO.with_levels("age", {"intervals": [10]})
    assert state.policy.hierarchies == {"age": {"intervals": [10]}}
    assert state.with_role("age", "plain").policy.hierarchies == {}


def test_an_invalid_policy_raises_an_error() -> None:
    beside = (
        "{",
        "[]",
        '{"source": "x"}',
        '{"out": 3}',
        '{"arguments": {"attack": 1}}',
        '{"format": "exe"}',
    )
    broken = (f"k_anonymity = 5\n# for the studio: {text}" for text in beside)
    for wrong in (
        "k_anonimity = 5",
        "k_anonymity = -1",
        "= 1",
        "[promises]\nk_anonymity = 'x'",
        *broken,
    ):
        with pytest.raises(BadInput):
            DEMO.with_policy_text(wrong)
    with pytest.raises(BadInput):
        DEMO.with_requirement("k_anonymity", float("nan"))
    with pytest.raises(BadInput):
        DEMO.with_suppression(2)


def test_paths_in_a_policy_are_relative_to_its_folder() -> None:
    state = DEMO.with_policy_text('[hierarchies]\nage = "age.csv"', base="policies")
    assert state.policy.hierarchies == {"age": str(Path("policies") / "age.csv")}


_CHECKBOXES = (("codes", True), ("union_columns", True))


@pytest.mark.parametrize(
    ("subject", "value"),
    [*((name, "x") for name in _READING_FIELDS), ("header", "no"), *_CHECKBOXES],
)
def test_a_page_is_restored_with_every_reading_option_of_its_tab(
    subject: str, value: object
) -> None:
    class Page:
        state = SessionState()
        has_table = False

    state = _set_reading_option(cast("Worker", Page()), subject, value)
    assert subject in state.reading
    assert SessionState.from_dict(json.loads(json.dumps(state.to_dict()))) == state


def test_the_tab_sets_every_reading_option() -> None:
    options = {*_READING_FIELDS, "header", *(name for name, _ in _CHECKBOXES)}
    assert options == set(known_options())
