# SPDX-License-Identifier: Apache-2.0
"""`divulge generalize` and `divulge apply`: flags, files, JSON output, text and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.nine_patients import ROLES, RULES, published
from tests.helpers import run_cli
from tests.releases.folders import names

CLASSES = {("4767*", "[20, 40)"): 3, ("4760*", "[20, 40)"): 3, ("4790*", "[40, 60)"): 3}


def test_a_policy_file(table: str, policy: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run_cli("generalize", table, "--policy", policy, "--out", str(out))
    assert (result.code, result.err) == (0, "")
    assert published(out) == CLASSES
    text = " ".join(result.out.split())
    assert "zip (level 1 of 4): 9 values become 3, such as 4760*, 4767*, 4790*." in text
    assert "age (level 2 of 3): 9 values become 2, such as [20, 40), [40, 60)." in text
    assert "name: left out." in text
    assert "k_anonymity >= 3 1 3 holds" in text
    assert "0 people left out" in text
    joined = "".join(text.split())  # a long path is wrapped
    assert f"Publishedin{out}" in joined
    assert f"Itsprivatepartstayswithyou:{out}.private" in joined
    assert "WARNING Other users can list" not in text  # pytest makes it with mode 0700
    tmp_path.chmod(0o755)
    result = run_cli("generalize", table, "--policy", policy, "--out", str(out), "--force")
    assert f"WARNINGOtheruserscanlist{tmp_path}" in "".join(result.out.split())


def test_flags_and_the_json_document(table: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run_cli(
        "generalize", table, *ROLES, *RULES, "--k-anonymity", "3", "--out", str(out), "--json"
    )
    assert (result.code, result.err) == (0, "")
    document = result.json()
    assert published(out) == CLASSES
    assert document["levels"] == {"zip": 1, "age": 2}
    assert document["objective"]["name"] == "loss"
    assert (document["suppressed"], document["classes"], document["lattice"]) == (0, 3, 5 * 4)
    assert 0 < document["checked"] <= document["lattice"]
    assert document["written"] == str(out)
    measured = run_cli("measure", table, *ROLES, "--json").json()
    assert document["before"] == measured
    again = run_cli(
        "measure",
        str(out / "table.csv"),
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        "--original",
        table,
        "--json",
    ).json()
    for part in ("rows", "people", "classes", "identity", "sensitive"):
        assert document["after"][part] == again[part]


def test_the_cost_of_each_requirement(table: str) -> None:
    """With k only, the worst class has two people of one disease and one of another.

    H = .9183 bits there and 1.3516 in the table, so a bound of 0.4333 is needed.
    """
    asked = ("generalize", table, *ROLES, *RULES, "--k-anonymity", "3", "--entropy-leakage", "0.3")
    first, second, *_ = run_cli(*asked).out.splitlines()
    assert first.startswith("Beware: zip, age: every value became one")
    assert "entropy_leakage of disease <= 0.4334 instead of 0.3" in second
    told = run_cli(*asked, "--json").json()["explanation"]
    by_k, by_leakage = told["promises"]
    assert (by_k["promise"], by_k["binds"], by_k["without"]["saves"]) == ("k_anonymity >= 3", [], 0)
    assert by_leakage["binds"] == told["wiped_out"] == ["zip", "age"]
    assert by_leakage["without"]["levels"] == by_k["alone"]["levels"] == {"zip": 1, "age": 2}
    assert [column["gentler"][0]["bound"] for column in told["columns"]] == [0.4334, 0.4334]
    assert told["exact"]
    assert run_cli(*asked, "--no-explain", "--json").json()["explanation"] is None
    short = run_cli(*asked, "--no-explain").out
    assert short.startswith("Beware: zip, age")
    assert "What each promise costs" not in short


def test_a_bound_that_every_table_meets_is_no_requirement(tmp_path: Path) -> None:
    """Each of four people has their own zip code: k = 2 hides it, and k = 1 requires nothing."""
    people = tmp_path / "people.csv"
    people.write_text("zip,disease\n1,flu\n2,cold\n3,flu\n4,cold\n", encoding="utf-8")
    asked = (
        "generalize",
        str(people),
        "--qi",
        "zip",
        "--sensitive",
        "disease",
        "--hierarchy",
        "zip={suppress=true}",
    )
    told = run_cli(*asked, "--k-anonymity", "2").out
    assert "What would help most: without k_anonymity >= 2 (loss 0)." in told
    assert "without k_anonymity >= 2: no gentler bound keeps something of zip (loss 0)." in told
    assert "k_anonymity >= 1" not in told


def test_a_target_shows_the_utility_for_a_model(tmp_path: Path) -> None:
    """Of sixty people, those over fifty have a cold.

    The release keeps the two halves separate, and a model still predicts them.
    """
    lines = [f"{21 + place},{'flu' if place < 30 else 'cold'}" for place in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["age,disease", *lines, ""]), encoding="utf-8")
    asked = (
        "generalize",
        str(tmp_path / "t.csv"),
        "--qi",
        "age",
        "--sensitive",
        "disease",
        "--k-anonymity",
        "10",
    )
    rule = ("--hierarchy", "age={cuts = [51]}", "--dry-run", "--no-explain")
    found = run_cli(*asked, *rule, "--target", "disease", "--json")
    assert found.code == 0, found.err
    told = found.json()["utility"]
    assert told["model"]["target"] == "disease"
    assert {score["name"]: score["after"] for score in told["model"]["scores"]}[
        "auc"
    ] == pytest.approx(1.0)
    # 30 ages in each range: total variation is 0, because each age had one person and has one
    # on average.
    assert [column["distance"] for column in told["columns"]] == pytest.approx([0.0, 0.0])
    # Ranges carry the one bit that ages carried.
    assert told["information"][0]["before"] == pytest.approx(told["information"][0]["after"])
    text = " ".join(run_cli(*asked, *rule, "--target", "disease").out.split())
    assert "A model that foretells disease: AUC" in text
    assert "1.000 from the release" in text
    refused = run_cli(*asked, *rule, "--target", "diseases")
    assert (refused.code, "did you mean 'disease'" in refused.err) == (2, True)


def test_a_useless_model_is_reported_first(tmp_path: Path) -> None:
    """All old people smoke, so age predicts it; under k = 21 no age is left to predict from."""
    pytest.importorskip("sklearn")
    people = tmp_path / "people.csv"
    rows = [*["30,no,flu"] * 20, *["50,yes,flu"] * 20]
    people.write_text("\n".join(["age,smokes,disease", *rows]) + "\n", encoding="utf-8")
    roles = ("--qi", "age", "--sensitive", "disease", "--plain", "smokes")
    asked = ("generalize", str(people), *roles, "--target", "smokes")
    levels = ("--hierarchy", "age={suppress=true}", "--no-explain", "--k-anonymity")
    told, *_ = run_cli(*asked, *levels, "21").out.splitlines()
    assert told.startswith(
        "Beware: A model that foretells smokes: AUC 1.000 from the original, 0.500 from the release"
    )
    assert "Beware" not in run_cli(*asked, *levels, "20").out


def test_a_dry_run_writes_nothing(table: str, tmp_path: Path) -> None:
    before = names(tmp_path)
    result = run_cli(
        "generalize",
        table,
        *ROLES,
        *RULES,
        "--k-anonymity",
        "3",
        "--dry-run",
        "--out",
        str(tmp_path / "out"),
    )
    assert result.code == 0
    assert "Nothing was written" in result.out
    assert names(tmp_path) == before
    document = run_cli(
        "generalize", table, *ROLES, *RULES, "--k-anonymity", "3", "--dry-run", "--json"
    ).json()
    assert document["written"] is None
    assert document["classes"] == 3


def test_hierarchies_from_a_folder_and_from_the_data(table: str, tmp_path: Path) -> None:
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    zips = ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"]
    (folder / "patients_hierarchy_zip.csv").write_text(
        "".join(f"{z};{z[:4]}*;*\n" for z in zips), encoding="utf-8"
    )
    asked = (
        "generalize",
        table,
        *ROLES,
        "--hierarchies",
        str(folder),
        "--k-anonymity",
        "3",
        "--dry-run",
    )
    document = run_cli(*asked, "--json").json()
    assert set(document["chosen_hierarchies"]) == {"age"}
    told = run_cli(*asked).out
    assert told.index("What was done") < told.index("[hierarchies.age]")  # the answer first
    assert "[hierarchies.zip]" not in told


def test_suppression_and_several_promises(table: str) -> None:
    asked = ("generalize", table, *ROLES, *RULES, "--k-anonymity", "3", "--dry-run", "--json")
    strict = run_cli(*asked, "--l-diversity", "2", "--suppression", "0.4").json()
    assert [promise["holds"] for promise in strict["promises"]] == [True, True]
    assert strict["suppressed"] <= 3


def test_an_infeasible_request(table: str, tmp_path: Path) -> None:
    result = run_cli(
        "generalize", table, *ROLES, *RULES, "--k-anonymity", "10", "--out", str(tmp_path / "out")
    )
    assert result.code == 3
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert "What would fit: k_anonymity >= 9" in result.err
    asked = (
        "generalize",
        table,
        *ROLES,
        *RULES,
        "--k-anonymity",
        "10",
        "--out",
        str(tmp_path / "out"),
        "--json",
    )
    document = run_cli(*asked)
    assert (document.code, document.err, document.json()["exit_code"]) == (3, result.err, 3)
    found = document.json()["infeasible"]
    assert found["because"] == "no generalization keeps k_anonymity >= 10 without suppression"
    assert found["proved"]
    assert [(item["promise"], item["bound"]) for item in found["nearest"]] == [
        ("k_anonymity >= 9", 9)
    ]
    boxes = run_cli(*asked, "--method", "mondrian")
    assert boxes.code == 3
    assert [item["bound"] for item in boxes.json()["infeasible"]["nearest"]] == [9]
    assert not (tmp_path / "out").exists()


def test_an_existing_folder(table: str, policy: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ("generalize", table, "--policy", policy, "--out", str(out))
    assert run_cli(*asked).code == 0
    again = run_cli(*asked, "--k-anonymity", "9")
    assert (again.code, again.out) == (2, "")
    assert "exists already" in again.err
    assert published(out) == CLASSES
    assert run_cli(*asked, "--k-anonymity", "9", "--force").code == 0
    assert list(published(out).values()) == [9]
    assert names(tmp_path) == ["divulge.toml", "out", "out.private", "patients.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "out", "--qi", "nowhere"), "has no column 'nowhere'"),
        (("--out", "out", "--hierarchy", "zip=nowhere.csv"), "there is no hierarchy file"),
        (("--dry-run", "--objective", "joy"), "joy"),
        (("--dry-run", "--original", "x.csv"), "original itself"),
        (("--dry-run", "--suppression", "2"), "suppression"),
        (("--dry-run", "--method", "magic"), "magic"),
    ],
)
def test_bad_requests(table: str, arguments: tuple[str, ...], message: str) -> None:
    given = arguments if "--qi" in arguments else ("--qi", "zip,age", *arguments)
    result = run_cli(
        "generalize",
        table,
        *given,
        "--sensitive",
        "disease",
        "--identifier",
        "name",
        "--k-anonymity",
        "2",
    )
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1


def test_mondrian_and_formats(table: str, tmp_path: Path) -> None:
    asked = ("generalize", table, *ROLES, "--k-anonymity", "3", "--method", "mondrian")
    result = run_cli(*asked, "--format", "parquet", "--out", str(tmp_path / "out"))
    assert result.code == 0
    assert "boxes" in result.out
    assert names(tmp_path / "out") == ["manifest.json", "table.parquet"]
    assert names(tmp_path / "out.private") == ["manifest.json", "mapping"]


def test_a_seed_gives_the_same_file(table: str, policy: str, tmp_path: Path) -> None:
    for place in ("one", "two"):
        assert (
            run_cli(
                "generalize",
                table,
                "--policy",
                policy,
                "--seed",
                "5",
                "--out",
                str(tmp_path / place),
            ).code
            == 0
        )
    assert (tmp_path / "one" / "table.csv").read_bytes() == (
        tmp_path / "two" / "table.csv"
    ).read_bytes()


def test_apply(table: str, policy: str, tmp_path: Path) -> None:
    ruled, release, out, new = (tmp_path / name for name in ("ruled", "release", "out", "new.csv"))
    assert run_cli("generalize", table, "--policy", policy, "--out", str(ruled)).code == 0
    new.write_text("zip,age,disease\n47677,29,Flu\n99999,29,Flu\n", encoding="utf-8")
    alone = run_cli("apply", str(ruled), str(new), "--out", str(out))
    # a prefix covers 99999, whose person is unique in 9999*
    assert (alone.code, "k_anonymity >= 3" in alone.err) == (1, True)
    # a list of values does not
    listed = ("--hierarchy", f"zip={tmp_path / 'ruled.private' / 'mapping' / 'zip.csv'}")
    assert (
        run_cli("generalize", table, "--policy", policy, *listed, "--out", str(release)).code == 0
    )
    refused = run_cli("apply", str(release), str(new), "--out", str(out))
    assert (refused.code, refused.out) == (2, "")
    assert "'zip': '99999'" in refused.err
    anyway = ("--suppress-unseen", "--accept-incremental-risk")
    told = run_cli(
        "apply", str(release), str(new), "--out", str(out), *anyway, "--suppression", "0.5"
    )
    assert told.code == 0
    first = " ".join(told.out.split()).partition(". ")[0]
    assert first.startswith("WARNING Published 1 of 2 new records")
    assert "--accept-incremental-risk" in first
    assert first.endswith(
        "(k = 1, 1 unique); 1 is suppressed (values that the release does not know)"
    )
    assert "Not checked" in told.out
    assert published(out) == {("4767*", "[20, 40)"): 1}
    again = ("apply", str(release), str(new), "--out", str(out), *anyway, "--force", "--json")
    too_many = run_cli(*again)
    assert (too_many.code, too_many.json()["exit_code"]) == (1, 1)
    assert "1 of 2 new rows would be left out" in too_many.json()["error"]
    assert "--suppression" in too_many.json()["hint"]
    document = run_cli(*again, "--suppression", "0.5").json()
    assert (document["rows"], document["published"], document["suppressed"]) == (2, 1, 1)
    assert [promise["holds"] for promise in document["promises"]] == [True]
    assert [promise["holds"] for promise in document["alone"]] == [False]
    assert json.loads((out / "manifest.json").read_text(encoding="utf-8"))["kind"] == "applied"


def test_apply_that_violates_the_policy(table: str, policy: str, tmp_path: Path) -> None:
    release, new = tmp_path / "release", tmp_path / "new.csv"
    assert run_cli("generalize", table, "--policy", policy, "--out", str(release)).code == 0
    new.write_text("zip,age,disease\n47677,52,Flu\n", encoding="utf-8")
    result = run_cli("apply", str(release), str(new), "--out", str(tmp_path / "out"))
    assert (result.code, result.out) == (1, "")
    assert (
        "none of 1 new record can be published: they would violate k_anonymity >= 3" in result.err
    )
    assert "Pass these records again" in result.err
    assert not (tmp_path / "out").exists()


def test_help_ends_with_examples() -> None:
    for command in ("generalize", "apply"):
        result = run_cli(command, "--help")
        assert result.code == 0
        assert f"divulge {command}" in result.out
        assert "Example" in result.out
