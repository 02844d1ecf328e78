# SPDX-License-Identifier: Apache-2.0
"""The guard of columns: a forbidden column fails a verdict and stops a release.

It does so whatever the requirements are.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import divulge as dv
from divulge.errors import BadInput, BrokenPromise, Infeasible
from divulge.policy import guard, uniqueness
from divulge.sources import resolve_roles
from tests.helpers import run_cli

ROWS = 60
BASE = {
    "zip": [str(place % 3) for place in range(ROWS)],
    "disease": ["flu", "cold", "hiv", "gout"] * (ROWS // 4),
}
ASKED: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
POLICY = dv.Policy(k_anonymity=5, l_diversity=2)


def released(**more: list[Any]) -> pa.Table:
    """Return a table that meets its requirements, with further columns."""
    return pa.table(BASE | more)


def guards(verdict: Any) -> dict[str, list[str]]:
    """Return the findings: guard to columns."""
    found: dict[str, list[str]] = {}
    for item in verdict.to_dict()["findings"]:
        found.setdefault(item["guard"], []).extend(item["columns"])
    return found


def file_with(folder: Path, roles: str) -> Path:
    """A policy file."""
    path = folder / "divulge.toml"
    path.write_text(
        f'quasi_identifiers = "zip"\nsensitive = "disease"\n{roles}\n[promises]\nk_anonymity = 5\n',
        encoding="utf-8",
    )
    return path


SSN = [f"{(place * 7919) % 1000:03d}-{place % 90 + 10}-{place:04d}" for place in range(ROWS)]


def test_a_social_security_number_fails_the_verdict_on_every_engine(
    engine: Any, tmp_path: Path
) -> None:
    table = released(ssn=SSN)
    verdict = dv.check(table, POLICY, **ASKED, engine=engine)
    assert all(outcome.holds for outcome in verdict.outcomes)
    assert (verdict.holds, guards(verdict)) == (False, {"looks_like_identifier": ["ssn"]})
    with pytest.raises(BrokenPromise, match="'ssn' looks like an identifier"):
        verdict.raise_for_broken()
    named = dv.check(table, file_with(tmp_path, 'identifier = "ssn"'), engine=engine)
    assert (named.holds, guards(named)) == (False, {"identifier_present": ["ssn"]})
    assert dv.check(released(), file_with(tmp_path, 'identifier = "ssn"'), engine=engine).holds


def test_values_that_repeat_count_as_often_as_they_occur(engine: Any) -> None:
    # Two of three numbers are most rows here, and one of two is not; `n` and `c0` are names like
    # any other.
    most = ["123456789" if place % 3 else "-" for place in range(ROWS)]
    half = ["123456789" if place % 2 else "-" for place in range(ROWS)]
    # most distinct values, fewest rows
    few = ["-" if place % 3 else f"{place + 100000000}" for place in range(ROWS)]
    found = guards(dv.check(released(n=most, c0=half, c1=few), POLICY, **ASKED, engine=engine))
    assert found["looks_like_identifier"] == ["n"]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("ssn", "123-45-6789"),
        ("ssn", 123456789),
        ("email", "none yet"),
        ("remark", "call me, ann@example.org"),
        ("remark", "her number is 123-45-6789."),
        ("remark", "first line\nann@example.org\nlast line"),
        ("remark", "+44 20 7946 0123"),
        ("remark", "de305d54-75b4-431b-adb2-eb6b9e546014"),
        ("remark", "DE89370400440532013000"),
    ],
)
def test_a_recognized_identifier_counts_however_rare(column: str, cell: Any) -> None:
    """One non-null cell of 60."""
    table = released(**{column: [None] * (ROWS - 1) + [cell]})
    verdict = dv.check(table, POLICY, **ASKED)
    assert (verdict.holds, guards(verdict)["looks_like_identifier"]) == (False, [column])
    assert dv.profile(table)[column].role == "identifier"
    with pytest.raises(BadInput, match="looks like an identifier"):
        dv.generalize(table, policy=POLICY, **ASKED)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("remark", ["ward 7-12-2024"] * 5 + [None] * 55),
        ("remark", ["meet @ noon. ok"] * 5 + [None] * 55),
        ("remark", ["code 1234-56-78901"] * 5 + [None] * 55),
        ("email", ["yes"] * 5 + [None] * 55),
        ("contact", ["office@clinic.org"] * ROWS),
        ("ssn", [None] * ROWS),
    ],
)
def test_values_that_only_resemble_an_identifier_pass(column: str, values: list[Any]) -> None:
    assert "looks_like_identifier" not in guards(
        dv.check(released(**{column: values}), POLICY, **ASKED)
    )


def test_a_rare_identifier_counts_on_every_engine(engine: Any) -> None:
    table = released(
        ssn=[None] * (ROWS - 1) + ["x"],
        remark=["fine"] * (ROWS - 1) + ["ask ann@example.org\nsoon"],
    )
    verdict = dv.check(table, POLICY, **ASKED, engine=engine)
    assert guards(verdict)["looks_like_identifier"] == ["ssn", "remark"]


def test_a_wide_table_of_few_rows_is_read_once_and_checked_alike(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns: dict[str, list[Any]] = {
        f"plain {place}": ["a", None, "b"] * (ROWS // 3) for place in range(4)
    }
    columns |= {
        "ssn": SSN,
        "number": list(range(ROWS)),
        "mail": [f"{place}@x.org" for place in range(ROWS)],
    }
    table = dv.read(released(**columns), engine=engine)
    one_by_one = guard.look_at(table, table.names)
    monkeypatch.setattr(guard, "_COLUMNS_PER_STATEMENT", 3)
    asked: list[str] = []
    query = type(table.engine).query

    def listened(own: Any, sql: str, *more: Any) -> pa.Table:
        asked.append(sql)
        return query(own, sql, *more)

    monkeypatch.setattr(type(table.engine), "query", listened)
    assert guard.look_at(table, table.names) == one_by_one
    assert sum(table.relation in sql for sql in asked) == 1
    monkeypatch.setattr(guard, "_MAX_FETCHED_CELLS", ROWS)
    asked.clear()
    assert guard.look_at(table, table.names) == one_by_one
    assert sum(table.relation in sql for sql in asked) > 1


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("id", [place % 20 for place in range(ROWS)]),
        ("mrn", [1000 + place % 20 for place in range(ROWS)]),
        ("nhs_number", [9_434_765_919 + place % 20 for place in range(ROWS)]),
        ("patientId", [place % 20 for place in range(ROWS)]),
        ("member_no", [place % 20 for place in range(ROWS)]),
        ("contact", [f"a{place % 20}@example.org" for place in range(ROWS)]),
        ("call", [f"+44 20 7946 0{place % 20:03d}" for place in range(ROWS)]),
        ("device", [f"10.0.0.{place % 20}" for place in range(ROWS)]),
        # unique, whatever its name is
        ("code", [f"x{place * 37 % 101}" for place in range(ROWS)]),
    ],
)
def test_names_and_values_that_name_people_count_whatever_the_type(
    column: str, values: list[Any]
) -> None:
    table = released(**{column: values})
    assert guards(dv.check(table, POLICY, **ASKED)) == {"looks_like_identifier": [column]}
    with pytest.raises(BadInput, match=f"'{column}' looks like an identifier"):
        dv.generalize(table, policy=POLICY, **ASKED)
    assert column in dv.anatomize(table, sensitive="disease", beta="1/2").left_out
    assert dv.check(table, POLICY, **ASKED, plain=column).holds
    assert column in dv.generalize(table, policy=POLICY, **ASKED, plain=column).plain


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("city_name", ["Ulm", "Bonn", "Kiel"] * 20),
        ("region_id", [1, 2, 3] * 20),
        ("has_email", [True, False, True] * 20),
        ("email", [0, 1, 1] * 20),
        ("ward", ["2024-01-01", "2024-01-02", "2024-01-03"] * 20),
    ],
)
def test_columns_that_name_nobody_pass(column: str, values: list[Any]) -> None:
    assert guards(dv.check(released(**{column: values}), POLICY, **ASKED)) == {}


def alone_by_hand(table: pa.Table, columns: list[str]) -> int:
    rows = Counter(zip(*(table.column(name).to_pylist() for name in columns), strict=True))
    return sum(times == 1 for times in rows.values())


def test_places_and_times_that_single_people_out_are_counted_and_rejected(engine: Any) -> None:
    random = np.random.default_rng(4)
    table = released(
        lat=(random.integers(0, 4, ROWS) / 8).tolist(),
        lon=(random.integers(0, 4, ROWS) / 8).tolist(),
        ward=["a", "b"] * 30,
    )
    by_hand = alone_by_hand(table, ["zip", "lat", "lon", "ward"])
    verdict = dv.check(table, POLICY, **ASKED, engine=engine)
    assert 0 < by_hand < ROWS
    assert guards(verdict) == {"unique_share": ["lat", "lon", "ward"]}
    told = verdict.to_dict()["uniqueness"]
    assert (told["columns"], told["unique"], told["of"]) == (["lat", "lon", "ward"], by_hand, ROWS)
    assert (told["share"], told["k"], told["unique_by_quasi_identifiers"]) == (
        by_hand / ROWS,
        20,
        0,
    )
    assert told["unique_with_sensitive"] == alone_by_hand(table, table.column_names)
    assert f"{by_hand} of 60 people" in str(verdict)
    whatever_becomes_of_zip = alone_by_hand(table, ["lat", "lon", "ward"])
    with pytest.raises(BadInput, match=f"{whatever_becomes_of_zip} of 60 people"):
        dv.generalize(table, policy=POLICY, **ASKED, engine=engine)


def test_certain_failures_are_reported_before_the_search() -> None:
    lab = [place / 7 for place in range(40)] + [0.0] * 20  # alone: 39 of 60, as 0.0 is shared
    searched: list[object] = []
    asked = {**ASKED, "announce": searched.append}
    with pytest.raises(
        BadInput, match=r"39 of 60 people \(65%\) are unique for an adversary who knows lab;"
    ):
        dv.generalize(released(lab=lab), policy=POLICY, suppression=0.6, **asked)
    assert not searched
    for policy, suppression in (
        (POLICY, 0.65),
        (dv.Policy(l_diversity=2), 0.0),
    ):  # all of them may go; classes may be of one
        with pytest.raises(BadInput, match=r"are unique for an adversary who knows zip and lab;"):
            dv.generalize(released(lab=lab), policy=policy, suppression=suppression, **asked)
    assert len(searched) == 2


@pytest.mark.parametrize("seed", range(8))
def test_an_early_failure_equals_that_of_the_search(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(seed)
    table = released(lab=(random.integers(0, 60, ROWS) / 8).tolist())
    terms = {"suppression": float(random.choice([0.0, 0.1, 0.3])), **ASKED}
    policy = dv.Policy(
        k_anonymity=int(random.integers(2, 20)), unique_share=float(random.choice([0.01, 0.1]))
    )
    source = dv.read(table)
    known = resolve_roles(source, **ASKED)
    early = False
    try:
        uniqueness.refuse_unique_early(
            source, known, required=policy.unique_share, suppression=terms["suppression"]
        )
    except Infeasible:
        early = True
    monkeypatch.setattr(uniqueness, "refuse_unique_early", lambda *_, **__: None)
    if early:
        with pytest.raises(BrokenPromise, match="unique_share"):
            dv.generalize(table, policy=policy, **terms)


def test_unique_share_and_plain_allow_columns(tmp_path: Path) -> None:
    table = released(lab=[place / 7 for place in range(ROWS)], ward=["a", "b"] * 30)
    verdict = dv.check(table, POLICY, **ASKED, plain="lab")
    assert verdict.holds
    assert verdict.uniqueness is not None
    assert (verdict.uniqueness.columns, verdict.uniqueness.unique) == (("lab", "ward"), ROWS), (
        "it is told all the same"
    )
    release = dv.generalize(table, policy=POLICY, **ASKED, plain="lab")
    assert release.to_dict()["uniqueness"]["unique"] == ROWS
    assert str(release).startswith(
        "WARNING  k = 20 for an adversary who knows zip; 60 of 60 people (100%) are unique"
    )
    folder = release.write(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["unique_rows"] == {
        "columns": ["lab", "ward"],
        "unique_by_quasi_identifiers": 0,
        "unique": ROWS,
        "unique_with_sensitive": ROWS,
        "of": ROWS,
    }
    left = dv.generalize(table, policy=POLICY, **ASKED, leave_out=["lab", "ward"])
    assert left.tables()["table"].column_names == ["zip", "disease"]
    assert dv.anatomize(table, sensitive="disease", beta="1/2", leave_out="lab").left_out == {
        "lab": "to be left out"
    }


def test_columns_missing_from_a_policy_file_violate_it(tmp_path: Path) -> None:
    table = released(ward=["a", "b"] * 30)
    assert dv.check(table, POLICY, **ASKED).holds, "flags alone know no drift"
    policy = file_with(tmp_path, "")
    assert guards(dv.check(table, policy)) == {"unknown_column": ["ward"]}
    with pytest.raises(BadInput, match="'ward' must be named by the policy"):
        dv.generalize(table, policy=policy)
    assert dv.check(table, file_with(tmp_path, 'plain = ["ward", "gone"]')).holds
    assert guards(dv.check(table, file_with(tmp_path, 'leave_out = "ward"'))) == {
        "leave_out_present": ["ward"]
    }
    assert dv.check(released(), file_with(tmp_path, 'leave_out = "ward"')).holds
    assert dv.check(table, file_with(tmp_path, 'leave_out = "ward"'), plain="ward").holds, (
        "by hand goes before the file"
    )
    only_promises = tmp_path / "promises.toml"
    only_promises.write_text("[promises]\nk_anonymity = 5\n", encoding="utf-8")
    assert dv.check(table, only_promises, **ASKED).holds


def test_a_star_means_all_columns_without_another_role(tmp_path: Path) -> None:
    table = released(ssn=SSN, lab=[place / 7 for place in range(ROWS)], ward=["a", "b"] * 30)
    policy = file_with(tmp_path, 'identifier = "ssn"\nplain = "ward"\nleave_out = "*"')
    assert dv.generalize(table, policy=policy).tables()["table"].column_names == [
        "zip",
        "disease",
        "ward",
    ]
    assert guards(dv.check(table, policy)) == {
        "identifier_present": ["ssn"],
        "leave_out_present": ["lab"],
    }
    by_hand = dv.check(table, file_with(tmp_path, 'identifier = "ssn"'), plain="*")
    assert guards(by_hand) == {"identifier_present": ["ssn"]}, (
        "all the rest has no role in the policy either"
    )
    with pytest.raises(BadInput, match="matches 'x"):
        dv.check(table, POLICY, **ASKED, plain="x*")


def test_naming_one_more_identifier_does_not_publish_the_others(tmp_path: Path) -> None:
    table = released(ssn=SSN, mrn=[place % 20 for place in range(ROWS)])
    policy = file_with(tmp_path, 'identifier = "ssn"')
    assert guards(dv.check(table, policy, identifier="mrn")) == {
        "identifier_present": ["mrn", "ssn"]
    }
    assert dv.generalize(table, policy=policy, identifier="mrn").tables()["table"].column_names == [
        "zip",
        "disease",
    ]


def test_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pyarrow.csv.write_csv(released(ssn=SSN, lat=[place / 7 for place in range(ROWS)]), path)
    asked = (str(path), "--qi", "zip", "--sensitive", "disease", "--k-anonymity", "5")
    told = run_cli("check", *asked, "--json")
    assert (told.code, [item["guard"] for item in told.json()["findings"]]) == (
        1,
        ["looks_like_identifier", "unique_share"],
    )
    text = run_cli("check", *asked)
    assert (text.code, "columns are there that must not be" in text.out) == (1, True)
    assert run_cli("check", *asked, "--plain", "ssn,lat").code == 0
    assert run_cli("check", *asked, "--plain", "ssn,lat", "--unique-share", "0.99").code == 1
    assert run_cli("check", *asked, "--leave-out", "ssn,lat").code == 1
    refused = run_cli("generalize", *asked, "--identifier", "ssn", "--out", str(tmp_path / "out"))
    assert (
        refused.code,
        "60 of 60 people (100%) are unique for an adversary who knows lat" in refused.err,
    ) == (2, True)
    assert not (tmp_path / "out").exists()
    assert (
        run_cli(
            "generalize",
            *asked,
            "--identifier",
            "ssn",
            "--leave-out",
            "lat",
            "--out",
            str(tmp_path / "out"),
        ).code
        == 0
    )


# --- rows and people ------------------------------------------------------------------------------
def visits(people: int = 40, seed: int = 3) -> pa.Table:
    """Each person with two to four rows."""
    random = np.random.default_rng(seed)
    owner = np.repeat(np.arange(people), random.integers(2, 5, people))
    rows = len(owner)
    return pa.table(
        {
            "id": owner,
            "zip": random.choice(["1", "2"], rows).tolist(),
            "age": [None if draw else 30 for draw in random.integers(0, 2, rows)],
            "disease": random.choice(["flu", "cold", "gout"], rows).tolist(),
        }
    )


def classes_of_people(table: pa.Table) -> list[set[int]]:
    """Group people with the same rows, each as often; by brute force."""
    rows: dict[int, list[str]] = {}
    for row in table.to_pylist():
        rows.setdefault(row["id"], []).append(repr((row["zip"], row["age"])))
    together: dict[tuple[str, ...], set[int]] = {}
    for person, own in rows.items():
        together.setdefault(tuple(sorted(own)), set()).add(person)
    return list(together.values())


def test_all_rows_of_a_person_are_checked_together(engine: Any) -> None:
    table = visits()
    found = classes_of_people(table)
    diseases: dict[int, set[str]] = {}
    for row in table.to_pylist():
        diseases.setdefault(row["id"], set()).add(row["disease"])
    diversity = min(len(set().union(*(diseases[person] for person in people))) for people in found)
    roles: dict[str, Any] = {
        "quasi_identifiers": ["zip", "age"],
        "sensitive": "disease",
        "person": "id",
    }
    verdict = dv.check(table, dv.Policy(k_anonymity=5, l_diversity=2), **roles, engine=engine)
    told = {outcome.text: (outcome.value, outcome.holds) for outcome in verdict.outcomes}
    assert told["k_anonymity >= 5"][1]
    assert told["k_anonymity >= 5 by all rows of a person"] == (min(map(len, found)), False)
    assert told["l_diversity >= 2 (disease) by all rows of a person"] == (diversity, diversity >= 2)
    broken = next(
        outcome
        for outcome in verdict.outcomes
        if outcome.linked and outcome.promise.metric.name == "k_anonymity"
    )
    few = [people for people in found if len(people) < 5]
    assert (broken.breaking_classes, broken.breaking_people) == (len(few), sum(map(len, few)))
    assert not verdict.holds
    kept = dv.check(table, dv.Policy(k_anonymity=5, person_published=False), **roles, engine=engine)
    assert (kept.holds, [outcome.linked for outcome in kept.outcomes]) == (True, [False])


def test_an_identifier_that_is_the_person_may_stay_where_it_is_not_published() -> None:
    roles: dict[str, Any] = {
        "quasi_identifiers": "zip",
        "sensitive": "disease",
        "person": "id",
        "identifier": "id",
    }
    table = visits().drop_columns(["age"])
    assert guards(dv.check(table, dv.Policy(uniques=1000), **roles)) == {
        "identifier_present": ["id"]
    }
    assert dv.check(table, dv.Policy(uniques=1000, person_published=False), **roles).holds


def test_a_repeated_identifier_is_noted(tmp_path: Path) -> None:
    table = visits()
    note = (
        f"'id' has 40 values in {table.num_rows} rows: does it name people? Then give person='id'"
    )
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
    assert note in dv.measure(table, **roles).notes
    assert note in dv.measure(table, **roles, identifier="id").notes
    assert note in dv.check(table, POLICY, **roles).to_dict()["notes"]
    assert (
        note
        in dv.generalize(table, policy=POLICY, **roles, identifier="id", leave_out="age").to_dict()[
            "notes"
        ]
    )
    notes = dv.measure(table, **roles, person="id").notes
    assert [text for text in notes if "does it name people" in text] == []
    suggested = dv.profile(table)["id"]
    assert (suggested.role, f"40 values in {table.num_rows} rows" in suggested.reason) == (
        "person",
        True,
    )
    path = tmp_path / "t.csv"
    pyarrow.csv.write_csv(table, path)
    told = note.replace("person='id'", "--person id")  # a command says it in its own words
    assert (
        f"Note: {told}"
        in run_cli("measure", str(path), "--qi", "zip", "--sensitive", "disease").out
    )


@pytest.mark.parametrize(
    ("column", "asked"),
    [
        ("first_name", False),
        ("name", False),
        ("last name", False),
        ("user_name", True),
        ("customer_id", True),
    ],
)
def test_names_that_many_people_share_are_not_proposed_as_the_person(
    *, column: str, asked: bool
) -> None:
    """Forty values, each in two rows: two people may well be called Ann.

    A login belongs to one person.
    """
    table = pa.table(
        {
            column: [f"n{row // 2}" for row in range(80)],
            "zip": ["1", "2"] * 40,
            "s": ["a", "b"] * 40,
        }
    )
    notes = dv.measure(table, quasi_identifiers="zip", sensitive="s").notes
    assert any("does it name people?" in note for note in notes) == asked
    assert (dv.profile(table)[column].role == "person") == asked


def test_a_missing_person_column_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="counts people by 'id'"):
        dv.check(released(), file_with(tmp_path, 'person = "id"'))


@pytest.mark.parametrize(
    "name", ["account_never_delinq_percent", "accountBalance", "id_count", "phone_total"]
)
def test_a_quantity_names_nobody(name: str) -> None:
    """loans_full_schema of openintro: 282 values in 10,000 rows were taken for 282 people.

    `generalize` stopped because of that.
    """
    table = released(**{name: [place % 7 for place in range(ROWS)]})
    assert "looks_like_identifier" not in guards(dv.check(table, POLICY, **ASKED))
    assert dv.profile(table)[name].role not in ("identifier", "person")
    numbers = released(account_number=[place % 7 for place in range(ROWS)])
    assert guards(dv.check(numbers, POLICY, **ASKED))["looks_like_identifier"] == ["account_number"]
