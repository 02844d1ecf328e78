# SPDX-License-Identifier: Apache-2.0
"""`divulge anatomize`: the documented command lines and JSON output."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import divulge as dv
from divulge.errors import BadInput
from tests.anatomization.literature import COLUMNS, RECORDS
from tests.helpers import run_cli

BOUNDS = ["--alpha", "0.5", "--beta", "1/4", "--gamma", "0.05", "--delta", "0.25", "--tables", "2"]


@pytest.fixture
def people(tmp_path: Path) -> str:
    """Table 1 of Yao et al. 2021, column names in lower case."""
    path = tmp_path / "people.csv"
    lines = [",".join(name.lower() for name in COLUMNS), *(",".join(record) for record in RECORDS)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def anatomize(people: str, *more: str) -> list[str]:
    return ["anatomize", people, "--sensitive", "salary", "--identifier", "name", *more]


def test_json_has_tables_groups_sizes_levels_and_recq(people: str, tmp_path: Path) -> None:
    found = run_cli(*anatomize(people, *BOUNDS, "--out", str(tmp_path / "out"), "--json"))
    assert (found.code, found.err) == (0, "")
    document = found.json()
    assert document["tables"] == [["age", "zipcode", "gender"], ["job"], ["salary"]]
    assert document["groups"] == 2
    assert document["group_sizes"] == {"min": 4, "max": 4}
    assert set(document["levels"]) == {"alpha", "beta", "gamma", "delta"}
    assert Fraction(document["levels"]["beta"]) == Fraction(1, 4)
    assert Fraction(document["levels"]["alpha"]) <= Fraction(1, 2)
    assert document["recq"]["workload"] == "anchored"
    assert {"mean", "median", "p90", "queries"} <= set(document["recq"])
    assert document["written"] == str(tmp_path / "out")
    assert (tmp_path / "out" / "sensitive.csv").is_file()


def test_the_cost_of_bounds_is_computed_for_few_rows_or_on_request(
    people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = anatomize(people, *BOUNDS, "--dry-run", "--queries", "0", "--json")
    assert run_cli(*asked).json()["explanation"]["bounds"]
    monkeypatch.setattr("divulge.cli.anatomize._QUICKLY_EXPLAINED", 7)
    assert run_cli(*asked).json()["explanation"] is None
    assert run_cli(*asked, "--explain").json()["explanation"]["bounds"]
    assert run_cli(*asked, "--no-explain").json()["explanation"] is None


def test_the_coefficients_are_data(people: str) -> None:
    document = run_cli(*anatomize(people, *BOUNDS, "--dry-run", "--json")).json()
    weights, pairs = document["division"]["weights"], document["division"]["coefficients"]
    assert weights["age"] == pytest.approx(2.5, abs=1e-12)
    values = {(pair["left"], pair["right"]): pair["value"] for pair in pairs}
    assert values["zipcode", "job"] == pytest.approx(17 / 27, abs=1e-12)
    assert values["gender", "job"] == pytest.approx(1 / 9, abs=1e-12)


def test_an_infeasible_request_exits_3_with_the_nearest_feasible_values(
    people: str, tmp_path: Path
) -> None:
    command = anatomize(people, "--beta", "0.2", "--alpha", "0.3", "--out", str(tmp_path / "out"))
    found = run_cli(*command, "--json")
    assert (found.code, found.err.count("\n")) == (3, 1)
    nearest = found.json()["infeasible"]
    assert nearest["beta"] == "1/4"
    assert nearest["alpha"] == "3/8"
    assert nearest["delta"] == "0"
    assert "beta = 1/5" in nearest["because"]
    assert "alpha = 3/10" in nearest["because"]
    told = run_cli(*command)
    assert told.code == 3
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "salary = 4500" in told.err
    assert not (tmp_path / "out").exists()


def test_the_text_shows_tables_levels_and_error(people: str, tmp_path: Path) -> None:
    found = run_cli(*anatomize(people, *BOUNDS, "--out", str(tmp_path / "out")))
    assert found.code == 0
    for told in (
        "8 rows in 2 groups of 4",
        "quasi_identifiers_1: age, zipcode, gender",
        "beta",
        "holds",
        "phi2",
        "relative error",
    ):
        assert told in found.out


def test_a_dry_run_writes_nothing(people: str, tmp_path: Path) -> None:
    found = run_cli(*anatomize(people, *BOUNDS, "--dry-run", "--out", str(tmp_path / "out")))
    assert found.code == 0
    assert "Nothing was written" in found.out
    assert not (tmp_path / "out").exists()


def test_without_out_nothing_is_written_and_the_text_says_so(people: str) -> None:
    found = run_cli(*anatomize(people, *BOUNDS))
    assert found.code == 0
    assert "Nothing was written. Name a folder with --out DIR to publish." in found.out


@pytest.mark.slow
def test_columns_like_identifiers_are_dropped_and_reported(tmp_path: Path) -> None:
    """No roles are set: names of people and row numbers must not be published by accident."""
    source = tmp_path / "people.csv"
    lines = [f"{n},Ann{n},{20 + n},{'TE'[n % 2]},{4000 + 100 * (n % 4)}" for n in range(8)]
    source.write_text("\n".join(["number,name,age,job,salary", *lines]) + "\n", encoding="utf-8")
    asked = ("anatomize", str(source), "--sensitive", "salary", "--beta", "1/4", "--tables", "2")
    document = run_cli(*asked, "--out", str(tmp_path / "out"), "--json").json()
    assert sorted(name for columns in document["tables"] for name in columns) == [
        "age",
        "job",
        "salary",
    ]
    assert list(document["left_out"]) == ["number", "name"]
    assert all(
        "Ann" not in path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()
    )
    assert "left out: name (looks like an identifier" in run_cli(*asked).out
    named = run_cli(*asked, "--qi", "name,age", "--json").json()
    assert named["tables"] == [["name"], ["age"], ["salary"]]
    assert named["left_out"] == dict.fromkeys(["number", "job"], "not named as a quasi-identifier")


@pytest.mark.slow
def test_attacks_are_shown_with_the_guarantee(people: str) -> None:
    document = run_cli(
        *anatomize(people, *BOUNDS, "--dry-run", "--attack", "--queries", "0", "--json")
    ).json()
    bounds = {attempt["attack"]: attempt["promise"] for attempt in document["attacks"]}
    linked = ("record-linkage", "attribute-linkage", "table-linkage", "probabilistic")
    assert [str(bounds[name]).partition(" ")[0] for name in linked] == [
        "alpha",
        "beta",
        "gamma",
        "delta",
    ]
    assert not any(attempt["broken"] for attempt in document["attacks"])
    assert document["recq"] == {}
    text = run_cli(*anatomize(people, *BOUNDS, "--dry-run", "--attack")).out
    assert "table-linkage" in text
    assert "What each attack achieves" in text


@pytest.mark.slow
def test_a_release_is_checked_from_its_files(people: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    run_cli(*anatomize(people, *BOUNDS, "--out", out, "--format", "parquet"))
    good = run_cli("check", out, "--beta", "1/4", "--json")
    assert good.code == 0
    assert good.json()["holds"] is True
    bad = run_cli("check", out, "--beta", "1/5", "--json")
    assert bad.code == 1
    assert bad.json()["broken"] == ["beta"]
    assert bad.json()["breaking_groups"] == 2
    assert "BROKEN" in run_cli("check", out, "--beta", "1/5").out


def test_options_that_a_check_ignores_are_rejected(people: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    run_cli(*anatomize(people, *BOUNDS, "--out", out, "--queries", "0"))
    unused = ["--qi age", "--identifier name", "--joint", "--sample 3", "--delimiter ;"]
    for option in unused:
        found = run_cli("check", out, *option.split())
        assert found.code == 2
        assert f"{option.split()[0]} has no effect on" in found.err
    table = run_cli("check", people, "--qi", "age", "--k-anonymity", "2", "--beta", "1/4")
    assert (table.code, "--beta" in table.err and "has no effect" in table.err) == (2, True)


@pytest.mark.parametrize(
    ("idle", "reason"),
    [
        (["--force"], "without --out"),
        (["--format", "csv"], "without --out"),
        (["--queries", "0", "--workload", "range"], "with"),
    ],
)
def test_options_without_effect_are_rejected(idle: list[str], reason: str, people: str) -> None:
    found = run_cli(*anatomize(people, *BOUNDS, *idle))
    assert found.code == 2
    assert f"has no effect {reason}" in found.err


@pytest.mark.slow
def test_the_largest_number_of_groups_is_shown(people: str) -> None:
    """Three groups exist at these bounds, and no more (golden file of paper 002)."""
    bounds = [
        "--alpha",
        "1/2",
        "--beta",
        "1/2",
        "--gamma",
        "1/8",
        "--delta",
        "1/4",
        "--tables",
        "gender,job;age,zipcode",
    ]
    document = run_cli(*anatomize(people, *bounds, "--json")).json()
    assert (document["groups"], document["groups_at_most"], document["groups_proved_most"]) == (
        3,
        3,
        True,
    )
    assert (
        "No grouping that keeps these promises has more groups; this is proved."
        in run_cli(*anatomize(people, *bounds)).out
    )


def test_a_third_party_release_is_checked(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "qit.csv").write_text("GID,age\n1,30\n1,40\n2,50\n2,60\n", encoding="utf-8")
    (folder / "st.csv").write_text(
        "GID,disease,Count\n1,flu,1\n1,cold,1\n2,flu,2\n", encoding="utf-8"
    )
    found = run_cli("check", str(folder), "--sensitive", "disease", "--alpha", "9/10", "--json")
    assert found.json()["levels"] == {"alpha": "1/2", "beta": "1", "gamma": "1/2", "delta": "1/4"}
    assert "not known which column" in run_cli("check", str(folder)).err
    nothing = run_cli("check", str(folder), "--sensitive", "disease")
    assert (nothing.code, nothing.out) == (2, "")
    assert "promises nothing" in nothing.err
    assert "alpha 1/2, beta 1, gamma 1/2, delta 1/4" in nothing.err


@pytest.mark.slow
def test_without_bounds_a_release_is_checked_against_its_own(people: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_cli(*anatomize(people, *BOUNDS, "--out", str(out)))
    kept = run_cli("check", str(out), "--json")
    assert (kept.code, kept.json()["promises"]) == (
        0,
        json.loads((out / "manifest.json").read_text())["promises"],
    )
    assert set(kept.json()["settings"]["bounds"].values()) == {"the release"}
    # A publisher claimed more than the tables meet: the files alone show it.
    shutil.rmtree(tmp_path / "out.private")  # it would show that the manifest was changed
    document = json.loads((out / "manifest.json").read_text())
    document["promises"]["beta"] = "1/5"
    (out / "manifest.json").write_text(json.dumps(document), encoding="utf-8")
    broken = run_cli("check", str(out), "--json")
    assert (broken.code, broken.json()["broken"]) == (1, ["beta"])
    # Explicit bounds take precedence, one by one.
    laxer = run_cli("check", str(out), "--beta", "1/4", "--json").json()
    assert (laxer["holds"], laxer["promises"]["delta"]) == (True, document["promises"]["delta"])
    assert laxer["settings"]["bounds"]["beta"] == "given"


def test_a_release_without_requirements_never_passes(people: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    run_cli(
        "anatomize",
        people,
        "--sensitive",
        "salary",
        "--identifier",
        "name",
        "--method",
        "permutation",
        "--out",
        out,
    )
    found = run_cli("check", out, "--json")
    assert (found.code, "holds" in found.json()) == (2, False)
    with pytest.raises(BadInput, match="promises nothing"):
        dv.check(dv.open_release(out))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--beta", "x"], "beta = 'x' is not a number"),
        (["--beta", "1/4", "--tables", "age,zip;job"], "'zip'"),
        (["--beta", "1/4", "--method", "anatomy", "--tables", "3"], "no setting --tables"),
        (["--beta", "1/4", "--method", "nothing"], "nothing"),
        (["--beta", "1/4", "--qi", "agee"], "did you mean 'age'"),
    ],
)
def test_mistakes_are_one_line(people: str, more: list[str], told: str) -> None:
    found = run_cli(*anatomize(people, "--dry-run", *more))
    assert found.code == 2
    assert found.err.count("\n") == 1
    assert told in found.err


@pytest.mark.parametrize(
    "more",
    [
        ["--method", "anatomy"],
        ["--method", "slicing", "--tables", "2", "--bucket-check", "distinct"],
        ["--method", "asn"],
        ["--algorithm", "paper"],
        ["--tables", "age,zipcode;gender,job"],
        ["--linkage", "first", "--association", "cramers_v2", "--max-table-size", "2"],
        ["--locality", "--group-size", "4"],
        ["--workload", "range", "--queries", "50", "--nulls", "drop"],
    ],
)
def test_methods_and_settings(people: str, more: list[str]) -> None:
    found = run_cli(*anatomize(people, "--beta", "1/2", "--dry-run", "--json", *more))
    assert found.code == 0, found.err
    assert Fraction(found.json()["levels"]["beta"]) <= Fraction(1, 2) or "distinct" in more


def test_the_seed_is_not_published(people: str, tmp_path: Path) -> None:
    run_cli(*anatomize(people, *BOUNDS, "--out", str(tmp_path / "out"), "--seed", "987654321"))
    assert "987654321" not in json.dumps(
        json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    )
