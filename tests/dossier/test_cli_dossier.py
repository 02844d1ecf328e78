# SPDX-License-Identifier: Apache-2.0
"""`divulge dossier`: the golden cases through the command line, its output, and its errors."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from divulge.dossier import Joint, Record, leakage, read_database
from divulge.output.dossier import _record_name
from tests.dossier.commands import Write, database, dossier, files, record
from tests.dossier.oracle import golden
from tests.dossier.worlds import golden_rule
from tests.helpers import CliResult


def test_one_record_prints_three_numbers(write: Write) -> None:
    case = golden()["003-2.3-L-as-stated"]
    options = ["--record", write("r.json", record(case["inputs"]["r"]))]
    options += [
        "--reference",
        write("p.json", record(case["inputs"]["p"])),
        "--weights",
        write("w.json", {"N": 2}),
    ]
    found = dossier("leakage", *options, "--json")
    assert (found.code, found.err) == (0, "")
    document = found.json()
    assert document.pop("settings")["weights"] == {"N": 2}
    assert document == {
        "leakage": pytest.approx(22 / 35),
        "precision": pytest.approx(1),
        "recall": pytest.approx(1 / 2),
    }
    assert dossier("leakage", *options).out.startswith(
        "Whoever holds this record knows 63 % of you: 100 % of what it says"
    )


@pytest.mark.parametrize("method", ["exact", "naive", "algorithm1", "taylor"])
def test_the_methods(write: Write, method: str) -> None:
    case = golden()["003-5.2-taylor-tiny"]
    options = ["--record", write("r.json", record(case["inputs"]["r"]))]
    options += ["--reference", write("p.json", record(case["inputs"]["p"])), "--method", method]
    found = dossier("leakage", *options, "--json").json()
    expected = case["expected"]["taylor" if method == "taylor" else "exact"]
    assert found["leakage"] == pytest.approx(float(Fraction(expected)), rel=1e-12)
    assert ("approximate" in found) == (method == "taylor")
    many = ["--database", *options[1:]]
    assert dossier("leakage", *many, "--json").json()["leakage"] == pytest.approx(
        float(Fraction(expected)), rel=1e-12
    )


def test_a_database_without_and_with_resolution(write: Write) -> None:
    case, options = files(write, "003-2.4-after-ER")
    before = dossier("leakage", *options, "--json").json()
    assert before["leakage"] == pytest.approx(2 / 3)
    assert before["witnesses"] == ["r", "s"]
    assert {each["id"]: each["leakage"] for each in before["records"]} == pytest.approx(
        {"r": 2 / 3, "s": 2 / 3, "t": 0}
    )
    after = dossier("leakage", *options, "--resolve", golden_rule(case), "--json").json()
    assert after["leakage"] == pytest.approx(float(Fraction(case["expected"])), rel=1e-12)
    assert after["witnesses"] == ["r+s"]
    assert after["witness_records"][0]["sources"] == ["r", "s"]
    assert after["graph"]["edges"] == [
        {"source": "s", "target": "r", "rule": "N", "values": ["Alice"]}
    ]
    assert (after["before"], after["cost"]) == (pytest.approx(2 / 3), 9)


@pytest.mark.parametrize(
    ("record_id", "sources", "name"),
    [("shop", "ab", "shop"), (None, "ba", "a+b"), (None, "abcdefgh", "a+b+c+d+e+f and 2 more")],
)
def test_a_record_is_named_by_its_id_or_by_its_first_sources(
    record_id: str | None, sources: str, name: str
) -> None:
    assert _record_name(Record({}, id=record_id, sources=frozenset(sources))) == name


def test_closure_is_the_other_choice(write: Write) -> None:
    case, options = files(write, "003-own-12-swoosh-vs-closure")
    options += ["--resolve", golden_rule(case), "--json"]
    assert dossier("leakage", *options).json()["leakage"] == pytest.approx(1)
    assert dossier("leakage", *options, "--er", "closure").json()["leakage"] == pytest.approx(6 / 7)


def test_text_output(write: Write) -> None:
    case, options = files(write, "003-4.1-incremental-v")
    everything = {**case["inputs"]["R"], "v": case["inputs"]["new"]}
    options[1] = write("R.json", database(everything))
    said = dossier("leakage", *options, "--resolve", "N+C,N+P", "--timeline").out
    first = said.splitlines()[0]
    assert first.startswith("An adversary who links these 3 records (s, t, v) knows 89 % of you; ")
    assert "without P, 57 %" in first
    assert "Without linking, the most telling record gives away 75 %." in said
    assert "+14 %  s, t" in said


def test_timeline_and_labels_are_data_for_a_chart(write: Write) -> None:
    case, options = files(write, "003-4.1-incremental-v")
    options[1] = write("R.json", database({**case["inputs"]["R"], "v": case["inputs"]["new"]}))
    found = dossier(
        "leakage", *options, "--resolve", "N+C,N+P", "--timeline", "--without", "--json"
    ).json()
    assert [(step["id"], step["joined"]) for step in found["timeline"]] == [
        ("s", []),
        ("t", []),
        ("v", ["s", "t"]),
    ]
    assert [step["leakage"] for step in found["timeline"]] == pytest.approx([3 / 4, 3 / 4, 8 / 9])
    assert {each["label"]: each["leakage"] for each in found["without"]} == pytest.approx(
        dict.fromkeys("NCP", 4 / 7)
    )


def test_linking_can_mislead_the_adversary(write: Write) -> None:
    case, options = files(write, "003-own-13-ER-can-lower")
    said = dossier("leakage", *options, "--resolve", golden_rule(case)).out
    assert "knows 44 % of you" in said
    assert "Linking misleads here: the most telling single record gives away 57 %." in said


def test_a_published_table(write: Write) -> None:
    rows = [
        "11*,3*,Heart",
        "11*,3*,Breast",
        "11*,3*,Cancer",
        "2**,>=50,Hair",
        "2**,>=50,Flu",
        "2**,>=50,Flu",
    ]
    options = [
        "--table",
        write("release.csv", "\n".join(["Zip,Age,Disease", *rows])),
        "--qi",
        "Zip,Age",
    ]
    people = {
        "Alice": [["Name", "Alice"], ["Zip", "111"], ["Age", "30"], ["Disease", "Heart"]],
        "Zoe": [["Name", "Zoe"], ["Zip", "241"], ["Age", "60"], ["Disease", "Flu"]],
    }
    options += ["--reference", write("people.json", database(people))]
    found = dossier("leakage", *options, "--json").json()
    assert [(each["person"], each["leakage"]) for each in found["people"]] == [
        ("Alice", pytest.approx(2 / 3)),
        ("Zoe", pytest.approx(3 / 4)),
    ]
    same = dossier(
        "leakage",
        *options,
        "--equivalence",
        write("same.json", {"Disease": {"Flu": ["Influenza"]}}),
    )
    assert "Alice      67 %" in same.out
    known = dossier(
        "leakage", *options, "--background", write("known.csv", "Name,Zip,Age\nAlice,111,30\n")
    )
    assert "Alice      80 %" in known.out


def one(write: Write, known: list[list[str]], truth: list[list[str]], *options: str) -> CliResult:
    given = [
        "--record",
        write("r.json", record(known)),
        "--reference",
        write("p.json", record(truth)),
    ]
    return dossier("leakage", *given, *options)


def test_near_misses_count_in_part(write: Write) -> None:
    """31 for an age of 30 earns 0.9 of the weight: 2 * 0.9 / (1 + 2)."""
    case: tuple[Any, ...] = write, [["A", "31"]], [["N", "Bob"], ["A", "30"]], "--grade", "A=10"
    found = one(*case, "--json").json()
    assert found["leakage"] == pytest.approx(0.6)
    assert (
        found["leakage"]
        == leakage(
            Record.of({"A": "31"}), Record.of({"N": "Bob", "A": "30"}), graded={"A": 10}
        ).leakage
    )
    assert found["settings"]["graded"] == {"A": 10}
    assert "In force: near misses count within A = 10." in one(*case).out


def test_rare_values_leak_more(write: Write) -> None:
    """90 has the share 1/4: 2 bits, over an entropy of 3/4 * log2(4/3) + 1/4 * 2 bits."""
    weight = 2 / (0.75 * math.log2(4 / 3) + 0.25 * 2)
    as_json = write("ages.json", {"A": {"30": 75, "90": 25}})
    as_csv = write("ages.csv", "label,value,count\nA,30,75\nA,90,25\n")
    for file in (as_json, as_csv):
        case: tuple[Any, ...] = (
            write,
            [["A", "90"]],
            [["N", "x"], ["A", "90"]],
            "--statistics",
            file,
        )
        found = one(*case, "--json").json()
        assert found["leakage"] == pytest.approx(2 * weight / (weight + weight + 1))
        assert found["settings"]["background"] == ["A"]
        assert "In force: rare values of A tell more." in one(*case).out


ALICE = [["N", "Alice"], ["A", "123 Main"], ["P", "555"]]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([["P", "555"]], 2 * 4 / (4 + 6)),  # J and P: 3 + 1 of W_p = 1 + 1 + 1 + 3
        ([["A", "123 Main"], ["P", "555"]], 2 * 5 / (5 + 6)),  # J once
        # the false address reveals a false J as well
        ([["A", "777 Main"], ["P", "555"]], 2 * 4 / (8 + 6)),
    ],
)
def test_joint_information_of_labels_counts_once(
    write: Write, known: list[list[str]], expected: float
) -> None:
    options = ["--joint", "J=A+P", "--weights", write("w.json", {"J": 3})]
    found = one(write, known, ALICE, *options, "--json").json()
    assert found["leakage"] == pytest.approx(expected)
    assert found["settings"]["joint"] == {"J": ["A", "P"]}
    assert "J is what A and P tell together" in one(write, known, ALICE, *options).out
    alice = Record.of([tuple(each) for each in ALICE])
    joint = Joint.of_reference("J", ["A", "P"], reference=alice)
    by_hand = leakage(
        joint.apply(Record.of([tuple(each) for each in known])),
        joint.apply(alice),
        weights={"J": 3},
    )
    assert found["leakage"] == by_hand.leakage


def test_a_file_declares_joint_values(write: Write) -> None:
    """A wrong phone of the right district reveals the district.

    Only J is right: 3 of (1 + 3) and of 6.
    """
    districts = write(
        "districts.csv", "label,value,joint\nA,123 Main,north\nP,555,north\nP,556,north\n"
    )
    options = ["--joint", f"J=A+P:{districts}", "--weights", write("w.json", {"J": 3})]
    assert one(write, [["P", "556"]], ALICE, *options, "--json").json()["leakage"] == pytest.approx(
        2 * 3 / (4 + 6)
    )


def test_joints_and_grades_after_merging(write: Write) -> None:
    """Two merged halves of Alice reveal J once, and a number near the true phone a part of it.

    That is 1 + 3 + 1 + 0.5 of (6 + 6).
    """
    halves = {"r": [["N", "Alice"], ["A", "123 Main"]], "s": [["N", "Alice"], ["P", "560"]]}
    options = [
        "--database",
        write("R.json", database(halves)),
        "--reference",
        write("p.json", record(ALICE)),
    ]
    options += ["--resolve", "N", "--grade", "P=10"]
    assert dossier("leakage", *options, "--json").json()["leakage"] == pytest.approx(
        2 * 2.5 / (3 + 3)
    )
    options += ["--joint", "J=A+P", "--weights", write("w.json", {"J": 3})]
    # N, A and half of P, the true J of A; and the J of the wrong phone, which is false
    assert dossier("leakage", *options, "--json").json()["leakage"] == pytest.approx(
        2 * 5.5 / (9 + 6)
    )


def test_the_cost_of_merging(write: Write) -> None:
    """Section 2.4: c |R|^2 with c = 1/1000 for 1000 records is 1000."""
    many = {f"r{number}": [["N", str(number)]] for number in range(1000)}
    options = [
        "--database",
        write("R.json", database(many)),
        "--reference",
        write("p.json", record([["N", "1"]])),
    ]
    options += ["--resolve", "N", "--cost-coefficient", "0.001"]
    found = dossier("leakage", *options, "--json").json()
    assert found["cost"] == pytest.approx(1000)
    assert found["settings"]["cost"] == {"coefficient": 0.001, "exponent": 2}
    assert dossier("leakage", *options, "--cost-exponent", "1", "--json").json()[
        "cost"
    ] == pytest.approx(1)
    said = dossier("leakage", *options).out
    assert (
        "The analysis costs the adversary 1000 (linking |R| records costs 0.001 * |R|^2)." in said
    )


def test_a_generalized_value_may_count_for_less(write: Write) -> None:
    """11* and 3* with confidence 1/2 each, and the disease.

    The worlds have 3, 2 and 1 correct attributes out of 4 true ones.
    """
    truth = {"Alice": [["Name", "Alice"], ["Zip", "111"], ["Age", "30"], ["Disease", "Heart"]]}
    options = ["--table", write("t.csv", "Zip,Age,Disease\n11*,3*,Heart\n"), "--qi", "Zip,Age"]
    options += ["--reference", write("p.json", database(truth)), "--generalized-confidence", "0.5"]
    found = dossier("leakage", *options, "--json").json()
    assert found["leakage"] == pytest.approx(0.25 * 6 / 7 + 0.5 * 4 / 6 + 0.25 * 2 / 5)
    assert found["settings"]["generalized_confidence"] == 0.5
    assert "In force: generalized values count 0.5." in dossier("leakage", *options).out


def test_equivalence_and_augmentation(write: Write) -> None:
    """The zip code is inferred from the address, and both are known in a generalized form."""
    reference = write("p.json", record([["N", "a"], ["Z", "111"]]))
    options = [
        "--database",
        write("R.json", database({"r": [["N", "a"], ["A", "Main"]]})),
        "--reference",
        reference,
    ]
    plain = dossier("leakage", *options, "--json").json()["leakage"]
    options += [
        "--augment",
        f"A=Z:{write('zips.csv', 'Main,112')}",
        "--equivalence",
        write("e.json", {"Z": ["11*"]}),
    ]
    assert plain == pytest.approx(2 * 1 / (2 + 2))
    assert dossier("leakage", *options, "--json").json()["leakage"] == pytest.approx(
        2 * 2 / (3 + 2)
    )


def test_resolve_prints_and_writes(write: Write, tmp_path: Path) -> None:
    case, options = files(write, "003-own-12-swoosh-vs-closure")
    options = [*options[:2], "--rule", golden_rule(case)]
    out = tmp_path / "merged.jsonl"
    found = dossier("resolve", *options, "--out", str(out), "--json").json()
    assert (found["given"], found["rule"], found["method"]) == (3, "P,N+C", "swoosh")
    assert [each["sources"] for each in found["records"]] == [["r", "s", "t"]]
    assert [edge["rule"] for edge in found["graph"]["edges"]] == ["P", "N+C"]
    assert [len(each) for each in read_database(out)] == [4]
    said = dossier("resolve", *options).out
    assert said.startswith("3 records are about 1 person, as far as the adversary can tell.")
    assert "t and r: the same N+C (a, 9)" in said


@pytest.mark.slow
def test_resolve_by_probability(write: Write) -> None:
    pytest.importorskip("splink")
    records = {}
    for person in range(60):
        for copy in range(2 if person % 3 == 0 else 1):
            records[f"{person}.{copy}"] = [
                ["N", f"name{person % 7}"],
                ["P", str(person)],
                ["C", str(person)],
            ]
    options = ["--database", write("R.json", database(records)), "--link", "N~1,P,C"]
    found = dossier("resolve", *options, "--json").json()
    assert (found["given"], len(found["records"]), found["engine"]) == (80, 60, "duckdb")
    assert {"source", "target", "probability"} == found["graph"]["edges"][0].keys()
    assert "about one person with probability" in dossier("resolve", *options).out


@pytest.mark.parametrize(
    "name", ["003-2.4-dipping", "003-own-14-dip-nomatch", "003-own-15-dip-chain"]
)
def test_dip(write: Write, name: str) -> None:
    case, options = files(write, name)
    expected = (
        case["expected"]["leakage"] if isinstance(case["expected"], dict) else case["expected"]
    )
    rule = golden_rule(case) if "match" in case["inputs"] else "N"
    options += ["--query", write("q.json", record(case["inputs"]["q"])), "--resolve", rule]
    found = dossier("dip", *options, "--json").json()
    assert found["leakage"] == pytest.approx(float(Fraction(expected)), rel=1e-12)
    assert set(found["reached"]) == set(found["record"]["sources"]) - {"q"}
    said = dossier("dip", *options).out
    assert ("leads nowhere" in said) == (not found["reached"])


def test_release(write: Write) -> None:
    case, options = files(write, "003-4.1-incremental-v")
    u = write("u.json", record(golden()["003-4.1-incremental-u"]["inputs"]["new"]))
    v = write("v.json", record(case["inputs"]["new"]))
    options += ["--resolve", "N+C,N+P", "--release", f"card2={v}", "--release", u]
    found = dossier("release", *options, "--json").json()
    assert found["best"] == "u"
    assert [(each["name"], each["joined"]) for each in found["alternatives"]] == [
        ("u", ["s"]),
        ("card2", ["s", "t"]),
    ]
    assert [each["change"] for each in found["alternatives"]] == pytest.approx(
        [0, 5 / 36], abs=1e-12
    )
    assert dossier("release", *options).out.startswith(
        "Release u: the adversary then knows 75 % of you, now it is 75 %."
    )


def test_disinform_among_candidates(write: Write) -> None:
    case, options = files(write, "003-own-18-link-B3")
    offered = {name: each["record"] for name, each in case["inputs"]["candidates"].items()}
    options += [
        "--resolve",
        "N",
        "--budget",
        "3",
        "--candidates",
        write("c.json", database(offered)),
    ]
    found = dossier("disinform", *options, "--json").json()
    assert found["leakage"] == pytest.approx(1 / 3)
    assert ([each["name"] for each in found["chosen"]], found["cost"], found["optimal"]) == (
        ["link1"],
        3,
        True,
    )
    assert (
        "with these candidates and this budget (proved: exact)."
        in dossier("disinform", *options).out
    )
    greedy = dossier("disinform", *options, "--method", "greedy")
    assert "This is the best found (greedy), a leakage of" in greedy.out
    assert "Greedy choice is only a baseline" in greedy.out
    dear = dossier("disinform", *options, "--cost", "link1=9", "--cost", "link0=9", "--json").json()
    assert [each["name"] for each in dear["chosen"]] == ["self2"]


def test_disinform_by_invention(write: Write) -> None:
    case, options = files(write, "003-own-17-self-B3")
    options += ["--resolve", golden_rule(case), "--budget", "3"]
    found = dossier("disinform", *options, "--json").json()
    assert found["leakage"] == pytest.approx(float(Fraction(case["expected"])))
    assert (found["gap"], found["cost"], len(found["chosen"])) == (0, 3, 1)
    said = dossier("disinform", *options).out
    assert said.startswith("The leakage falls from 67 % to 50 % for a cost of 3.")
    assert "Nothing better is possible with this budget" in said


def test_enhance(write: Write) -> None:
    case = golden()["003-4.3-phone"]
    options = ["--database", write("R.json", database(case["inputs"]["R"])), "--resolve", "N"]
    (composite,) = dossier("enhance", *options, "--json").json()["composites"]
    assert composite["certainty"] == pytest.approx(13 / 14)
    best = composite["options"][0]
    assert (best["record"], best["label"], best["ratio"]) == (
        "r2",
        "P",
        pytest.approx(float(Fraction(case["expected"]))),
    )
    assert "r1+r2 is 93 % certain." in dossier("enhance", *options).out
