# SPDX-License-Identifier: Apache-2.0
"""Other options of `divulge generalize`: protections, populations, methods, optima, trade-offs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from divulge.releases import private_place
from tests.cli.nine_patients import POLICY, ROLES, RULES, published
from tests.helpers import run_cli


def test_protections_by_flag_and_by_file(table: str, policy: str, tmp_path: Path) -> None:
    """Nobody under 30 may be in a class of fewer than six.

    So the towns 4760* and 4767* are merged; 479* stay three.
    """
    file = tmp_path / "protect.toml"
    file.write_text(
        f'{POLICY}\n[[protect]]\nwhere = {{age = "< 30"}}\nk_anonymity = 6\n', encoding="utf-8"
    )
    flag = run_cli(
        "generalize",
        table,
        "--policy",
        policy,
        "--protect",
        "age < 30: k_anonymity >= 6",
        "--json",
        "--dry-run",
    ).json()
    out = tmp_path / "out"
    result = run_cli("generalize", table, "--policy", str(file), "--out", str(out))
    assert published(out) == {("476**", "[20, 40)"): 6, ("479**", "[40, 60)"): 3}
    assert flag["levels"] == {"zip": 2, "age": 2}
    assert [(item["promise"], item["protects"], item["value"]) for item in flag["promises"]] == [
        ("k_anonymity >= 3", "", 3),
        ("k_anonymity >= 6", "age < 30", 6),
    ]
    assert "k_anonymity >= 6 for age < 30 1 6 holds" in " ".join(result.out.split())
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert [item["where"] for item in manifest["policy"]["protections"]] == [{"age": "< 30"}]
    assert [item["value"] for item in manifest["verdict"]] == [3, None]
    later = run_cli("apply", str(out), table, "--out", str(tmp_path / "later"))
    assert later.code == 2
    assert "protects chosen people or values" in later.err
    assert not (tmp_path / "later").exists()
    checked = run_cli("check", table, "--policy", str(file))
    assert checked.code == 1
    assert "k_anonymity >= 6 for age < 30" in checked.out


@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_a_population_table(tmp_path: Path, method: str) -> None:
    """Each of four people has three of the population: two merged classes reach six."""
    sample, everybody = tmp_path / "sample.csv", tmp_path / "everybody.csv"
    rows = ["1301,20", "1302,30", "1401,40", "1402,40"]
    sample.write_text("\n".join(["zip,age", *rows, ""]), encoding="utf-8")
    everybody.write_text("\n".join(["zip,age", *rows * 3, ""]), encoding="utf-8")
    rules = ("--hierarchy", "zip={prefix = [3]}", "--hierarchy", "age={intervals = [20]}")
    asked = ("generalize", str(sample), "--qi", "zip,age", *rules, "--method", method, "--json")
    out = tmp_path / "out"
    found = run_cli(
        *asked, "--k-map", "6", "--population", str(everybody), "--out", str(out)
    ).json()
    assert (found["classes"], found["after"]["identity"]["k_map"]) == (2, 6)
    assert [(item["promise"], item["holds"]) for item in found["promises"]] == [
        ("k_map >= 6", True)
    ]
    assert "k_map is at least this high" in found["after"]["notes"][-1]
    assert (
        json.loads((private_place(out) / "manifest.json").read_text(encoding="utf-8"))["after"][
            "identity"
        ]["k_map"]
        == 6
    )
    refused = run_cli(*asked, "--k-map", "6", "--dry-run")
    assert (refused.code, "needs a population" in refused.err) == (2, True)
    too_many = run_cli(*asked, "--k-map", "13", "--population", str(everybody), "--dry-run")
    assert too_many.code == 3
    assert too_many.json()["infeasible"]["nearest"][0]["promise"] == "k_map >= 12"


def test_mondrian_suppresses_no_record(table: str, policy: str) -> None:
    asked = (
        "generalize",
        table,
        "--policy",
        policy,
        "--method",
        "mondrian",
        "--dry-run",
        "--suppression",
    )
    refused = run_cli(*asked, "0.1")
    assert (refused.code, refused.out) == (2, "")
    assert (
        "suppression = 0.1 has no use: Mondrian cuts only where every piece keeps the promises"
        in refused.err
    )
    assert run_cli(*asked, "0").code == 0


def test_all_optima_and_all_nodes_on_request(tmp_path: Path) -> None:
    """Two towns and two jobs, each pair once: either column may be dropped; the first one stays."""
    table = tmp_path / "people.csv"
    table.write_text("town,job\nA,clerk\nA,judge\nB,clerk\nB,judge\n", encoding="utf-8")
    asked = ("generalize", str(table), "--qi", "town,job", "--k-anonymity", "2", "--method")
    found = run_cli(*asked, "columns", "--optima", "--nodes", "--json").json()
    assert found["levels"] == {"town": 0, "job": 1}
    assert found["optima"] == [{"town": 0, "job": 1}, {"town": 1, "job": 0}]
    assert len(found["nodes"]) == found["checked"]
    best = [node for node in found["nodes"] if node["levels"] == found["levels"]]
    assert [
        (node["feasible"], node["suppressed"], node["classes"], node["obstacle"]) for node in best
    ] == [(True, 0, 2, None)]
    told = run_cli(*asked, "columns", "--optima", "--nodes").out
    assert "All 2 optima (levels)" in told
    assert "combinations that were looked at" in told
    refused = run_cli(*asked, "mondrian", "--nodes", "--objective", "precision")
    assert (refused.code, "Mondrian takes no --objective or --nodes" in refused.err) == (2, True)


def test_the_method_columns_keeps_or_drops_columns(tmp_path: Path) -> None:
    """Town and job together identify everyone.

    Each town has two people; one job has only one.
    """
    table = tmp_path / "people.csv"
    table.write_text(
        "town,job,disease\nA,clerk,flu\nA,judge,flu\nB,clerk,cold\nB,nurse,flu\n", encoding="utf-8"
    )
    asked = (
        "generalize",
        str(table),
        "--qi",
        "town,job",
        "--sensitive",
        "disease",
        "--k-anonymity",
        "2",
        "--method",
        "columns",
    )
    found = run_cli(*asked, "--json", "--out", str(tmp_path / "out")).json()
    assert (found["levels"], found["method"], found["classes"]) == (
        {"town": 0, "job": 1},
        "columns",
        2,
    )
    refused = run_cli(*asked, "--hierarchy", "job={suppress = true}")
    assert (refused.code, "as it is or not at all" in refused.err) == (2, True)


def test_relaxed_boxes_may_share_values(tmp_path: Path) -> None:
    """Of six people four are 30: strict boxes cannot separate them, relaxed ones of three can."""
    table = tmp_path / "people.csv"
    ages = [(30, 1), (30, 2), (30, 3), (30, 4), (31, 1), (32, 1)]
    table.write_text(
        "age,pair\n" + "".join(f"{age},{pair}\n" for age, pair in ages), encoding="utf-8"
    )
    asked = (
        "generalize",
        str(table),
        "--qi",
        "age,pair",
        "--k-anonymity",
        "3",
        "--json",
        "--method",
    )
    found = run_cli(*asked, "relaxed-mondrian", "--out", str(tmp_path / "out")).json()
    assert found["after"]["identity"]["k_anonymity"] == 3
    assert found["classes"] == 2


def test_the_trade_off_as_data(table: str) -> None:
    """Nine classes of one, three of three, or one of nine people."""
    asked = ("generalize", table, *ROLES, *RULES, "--pareto", "k_anonymity")
    found = run_cli(*asked, "--json").json()
    assert (found["metric"], found["objective"], len(found["points"])) == (
        "k_anonymity",
        "loss",
        5 * 4,
    )
    front = [point for point in found["points"] if point["on_front"]]
    assert (front[0]["levels"], front[0]["leakage"], front[0]["value"]) == (
        {"zip": 0, "age": 0},
        1,
        0,
    )
    assert 3 in {point["leakage"] for point in front}
    assert (front[-1]["leakage"], front[-1]["value"]) == (9, 1)
    assert "20 combinations of levels" in run_cli(*asked).out
    two = run_cli(*asked, "--pareto", "entropy_leakage", "--json").json()
    assert (two["metric"], two["further"]) == ("k_anonymity", ["entropy_leakage"])
    assert [
        point["further"] for point in two["points"] if point["levels"] == {"zip": 4, "age": 3}
    ] == [[0]]
    narrowed = run_cli(*asked, "--k-anonymity", "3", "--json").json()
    assert min(point["leakage"] for point in narrowed["points"]) == 3
    for ignored in (("--method", "mondrian"), ("--out", "x"), ("--optima",), ("--time-limit", "9")):
        assert run_cli(*asked, *ignored).code == 2


def test_a_likely_quasi_identifier_without_a_requirement_is_reported(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text(
        "age,birthdate,ward\n" + "".join(f"30,199{i}-01-01,a\n" for i in range(4)), encoding="utf-8"
    )
    asked = ("generalize", str(table), "--k-anonymity", "4", "--qi")
    assert "birthdate: no promise covers" in run_cli(*asked, "age", "--plain", "birthdate").out
    assert "no promise covers" not in run_cli(*asked, "age,birthdate").out
