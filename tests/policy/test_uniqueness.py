# SPDX-License-Identifier: Apache-2.0
"""Uniqueness over all published columns, compared with pandas on the table and on the CSV file.

Every branch of `unique_share`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import BadInput, BrokenPromise, Infeasible
from divulge.policy.uniqueness import Remedy
from divulge.sources import Roles
from tests.helpers import run_cli, verdict_of

ROLES = ("quasi_identifiers", "sensitive", "plain", "weight", "identifier", "leave_out", None)


def unique_in(frame: pd.DataFrame, columns: list[str], person: str | None = None) -> int:
    """Count people (rows without a person column) with unique values, by pandas."""
    groups = frame.groupby(columns, dropna=False)
    if person is None:
        return int((groups.size() == 1).sum())
    rows = groups[person].transform("nunique") == 1
    return int(frame.loc[rows, person].nunique())


def drawn_table(seed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A small table of few values with nulls, and a role for each column."""
    random = np.random.default_rng(seed)
    rows, count = int(random.integers(2, 25)), int(random.integers(2, 7))
    cells = random.integers(0, 4, (count, rows))
    frame = pd.DataFrame(
        {
            f"c{i}": pd.array(
                [None if cell == 0 else int(cell) for cell in cells[i]], dtype="Int64"
            )
            for i in range(count)
        }
    )
    roles: dict[str, Any] = {"quasi_identifiers": ["c0"]}
    for i in range(1, count):
        role = ROLES[random.integers(0, len(ROLES))]
        if role == "weight":
            frame[f"c{i}"] = frame[f"c{i}"].fillna(9)
            roles["weight"] = f"c{i}"
        elif role is not None:
            roles.setdefault(role, []).append(f"c{i}")
    if "weight" not in roles and random.integers(0, 2):
        frame["person"] = random.integers(0, rows, rows)
        roles["person"] = "person"
    return frame, roles


def unique_by_all_rows(frame: pd.DataFrame, columns: list[str], person: str) -> int:
    """Count people whose rows together are those of nobody else, by plain Python."""
    rows_of_person: dict[Any, list[str]] = {}
    for row in frame[[person, *columns]].astype(object).to_dict("records"):
        cells = [None if pd.isna(row[name]) else str(row[name]) for name in columns]
        rows_of_person.setdefault(row[person], []).append(repr(cells))
    people = Counter(tuple(sorted(rows)) for rows in rows_of_person.values())
    return sum(count == 1 for count in people.values())


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_uniqueness_is_that_of_pandas(seed: int, published: bool) -> None:  # noqa: FBT001
    frame, roles = drawn_table(seed)
    person = roles.get("person")
    policy = dv.Policy(k_anonymity=2, unique_share=0.5, person_published=published)
    found = dv.check(frame, policy, **roles).uniqueness
    assert found is not None
    assert found.linked == (published and person is not None)
    known = roles["quasi_identifiers"]
    hidden = {
        *known,
        *roles.get("sensitive", ()),
        *roles.get("identifier", ()),
        *roles.get("leave_out", ()),
        person,
    }
    others = [name for name in frame.columns if name not in hidden]
    assert found.columns == tuple(others)
    every_column = [*known, *others, *roles.get("sensitive", ())]
    expected = [unique_in(frame, names, person) for names in (known, [*known, *others])]
    expected.append(unique_in(frame, every_column, person))
    if found.linked and person is not None:
        lists = (known, [*known, *others], every_column)
        expected = [unique_by_all_rows(frame, names, person) for names in lists]
    assert [found.by_quasi_identifiers, found.unique, found.with_sensitive] == expected
    assert found.of == (len(frame) if person is None else frame[person].nunique())


def loans(rows: int = 400, seed: int = 7) -> pd.DataFrame:
    """Few states and titles, and amounts that are nearly unique to each person."""
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "state": random.choice(["CA", "TX"], rows),
            "title": random.choice(["nurse", "clerk", "judge"], rows),
            "amount": random.integers(1, 4 * rows, rows) / 8,
            "term": random.choice([36, 60], rows),
            "grade": random.choice(list("ABC"), rows),
        }
    )


KNOWN: dict[str, Any] = {"quasi_identifiers": ["state", "title"], "sensitive": "grade"}
ALL = ["state", "title", "amount", "term"]


def test_the_counts_are_those_of_the_written_file_on_every_engine(
    engine: Any, tmp_path: Path
) -> None:
    frame = loans(120)
    release = dv.generalize(
        pa.Table.from_pandas(frame),
        policy=dv.Policy(k_anonymity=5),
        **KNOWN,
        plain=["amount", "term"],
        engine=engine,
    )
    folder = release.write(tmp_path / "r", format="parquet")
    parts = sorted(folder.glob("table*.parquet")) or sorted(folder.glob("table*/*.parquet"))
    written = pd.concat([pd.read_parquet(part) for part in parts])
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    by_pandas = unique_in(written, ALL)
    assert release.uniqueness.unique == by_pandas > 100
    assert manifest["unique_rows"] == {
        "columns": ["amount", "term"],
        "unique_by_quasi_identifiers": 0,
        "unique": by_pandas,
        "unique_with_sensitive": unique_in(written, [*ALL, "grade"]),
        "of": len(written),
    }
    assert manifest["policy"]["unique_share"] is None


def test_a_requirement_binds_whatever_the_role(tmp_path: Path) -> None:
    frame = loans()
    policy = dv.Policy(k_anonymity=5, unique_share=0.01)
    by_pandas = unique_in(frame, ALL)
    verdict = dv.check(frame, policy, **KNOWN, plain=["amount", "term"])
    (finding,) = verdict.findings
    assert (verdict.holds, finding.guard, finding.columns) == (
        False,
        "unique_share",
        ("amount", "term"),
    )
    assert f"{by_pandas} of 400 people" in finding.text
    found = {item.column: (item.without, item.only) for item in finding.contributions}
    assert found == {
        "amount": (
            unique_in(frame, ["state", "title", "term"]),
            unique_in(frame, ["state", "title", "amount"]),
        ),
        "term": (
            unique_in(frame, ["state", "title", "amount"]),
            unique_in(frame, ["state", "title", "term"]),
        ),
    }
    with pytest.raises((BrokenPromise, Infeasible), match=r"unique_share <= 0\.01"):
        dv.generalize(frame, policy=policy, **KNOWN, plain=["amount", "term"]).write(tmp_path / "r")
    assert not (tmp_path / "r").exists()
    cured = dv.generalize(frame, policy=policy, **KNOWN, plain="term", leave_out="amount")
    assert cured.uniqueness.share <= 0.01
    assert not cured.uniqueness.warns


def test_a_weight_that_is_unique_counts() -> None:
    frame = loans().drop(columns=["term"])
    asked: dict[str, Any] = {**KNOWN, "weight": "amount"}
    assert not dv.check(frame, dv.Policy(k_anonymity=5, unique_share=0.01), **asked).holds
    warned = dv.check(frame, dv.Policy(k_anonymity=5), **asked)
    assert warned.holds
    assert str(warned).startswith("WARNING  k = ")


def test_without_a_requirement_an_explicit_role_warns_and_no_role_fails() -> None:
    frame = loans()
    policy = dv.Policy(k_anonymity=5)
    assert str(dv.check(frame, policy, **KNOWN, plain=["amount", "term"])).startswith("WARNING  ")
    free = dv.check(frame, policy, **KNOWN, plain="term")
    assert [item.columns for item in free.findings] == [("amount",)]
    with pytest.raises(BadInput, match="columns without a role would make people unique"):
        dv.generalize(frame, policy=policy, **KNOWN)
    few = dv.check(frame, policy, **KNOWN, plain="term", leave_out="amount")
    assert few.uniqueness is not None
    assert not few.uniqueness.warns
    assert not str(few).startswith("WARNING")


def test_a_published_person_column_links_the_rows_of_a_person() -> None:
    """Ten people have two of five shops each, and no two people the same two.

    Each shop has four people, so nobody is unique by one row; all ten are by both.
    """
    pairs = list(itertools.combinations("abcde", 2))
    rows = [(index, shop) for index, pair in enumerate(pairs) for shop in pair]
    frame = pd.DataFrame(rows, columns=["member", "shop"]).assign(zip="1")
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "plain": "shop", "person": "member"}
    policy: dict[str, Any] = {"k_anonymity": 5, "unique_share": 0.01}
    linked = dv.check(frame, policy, **roles)
    assert linked.uniqueness is not None
    assert (linked.uniqueness.k, linked.uniqueness.unique, linked.holds) == (10, 10, False)
    assert "10 of 10 people (100%) are unique by all their rows" in linked.uniqueness.text
    (finding,) = linked.findings
    assert [tuple(item) for item in finding.contributions] == [("shop", 0, 10)]
    apart = dv.check(frame, dv.Policy(**policy, person_published=False), **roles)
    assert apart.uniqueness is not None
    assert (apart.uniqueness.unique, apart.holds) == (0, True)


def test_k_covers_people_unique_by_the_quasi_identifiers() -> None:
    frame = loans().assign(state=range(400))
    frame.loc[:, "state"] = frame["state"] * 7
    verdict = dv.check(
        frame, dv.Policy(k_anonymity=2, unique_share=0.01), **KNOWN, plain=["amount", "term"]
    )
    assert not verdict.outcomes[0].holds
    assert not verdict.findings, "the other columns make nobody unique who is not so already"


def test_a_high_unique_share_is_recorded_and_repeated_with_the_measured_share(
    tmp_path: Path,
) -> None:
    frame = loans()
    share = unique_in(frame, ALL) / 400
    release = dv.generalize(
        frame, policy=dv.Policy(k_anonymity=5, unique_share=0.99), **KNOWN, plain=["amount", "term"]
    )
    assert (
        "unique_share = 0.99 allows 99% of the people to be unique (usual: 1%); "
        f"{100 * share:.3g}% are" in str(release)
    )
    folder = release.write(tmp_path / "r")
    assert (
        json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["policy"]["unique_share"]
        == 0.99
    )
    verdict = verdict_of(folder)
    assert verdict.holds
    assert verdict.uniqueness is not None
    assert verdict.uniqueness.required == 0.99
    assert not dv.check(folder, {"unique_share": 0.5}).holds, (
        "what is passed explicitly takes precedence"
    )


def test_nested_columns_are_counted(engine: Any) -> None:
    rows = 40
    table = pa.table(
        {
            "zip": ["1", "2"] * (rows // 2),
            "disease": ["flu", "cold", "gout", "flu"] * (rows // 4),
            "visits": pa.array([[place // 2, 1] for place in range(rows - 1)] + [[99, 1]]),
            "named": pa.array(
                [[("a", place % 2)] for place in range(rows)], type=pa.map_(pa.string(), pa.int64())
            ),
        }
    )
    asked: dict[str, Any] = {
        "quasi_identifiers": "zip",
        "sensitive": "disease",
        "plain": ["visits", "named"],
    }
    found = dv.check(table, dv.Policy(k_anonymity=5), **asked, engine=engine).uniqueness
    assert found is not None
    assert (found.columns, found.unique) == (("visits", "named"), rows), (
        "zip tells the two rows of each list apart"
    )
    verdict = dv.check(
        table,
        dv.Policy(k_anonymity=5),
        **{**asked, "quasi_identifiers": "disease", "sensitive": "zip"},
        engine=engine,
    )
    assert verdict.uniqueness is not None
    by_hand = pd.DataFrame(
        {
            "d": table.column("disease").to_pylist(),
            "v": [str(v) for v in table.column("visits").to_pylist()],
            "n": [place % 2 for place in range(rows)],
        }
    )
    assert verdict.uniqueness.unique == unique_in(by_hand, ["d", "v", "n"])


@pytest.mark.parametrize("given_", [1, 1.0, -0.1, 2, True, "x"])
def test_a_share_that_no_table_can_exceed_is_rejected(given_: Any) -> None:
    with pytest.raises(BadInput, match="unique_share"):
        dv.Policy(k_anonymity=2, unique_share=given_)
    with pytest.raises(BadInput):
        dv.Policy.of({"promises": {"k_anonymity": 2, "unique_share": given_}})


def test_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "loans.csv"
    loans().to_csv(path, index=False)
    asked = (
        str(path),
        "--qi",
        "state,title",
        "--sensitive",
        "grade",
        "--plain",
        "amount,term",
        "--k-anonymity",
        "5",
    )
    warned = run_cli("check", *asked)
    assert (warned.code, warned.out.splitlines()[0][:8]) == (0, "WARNING ")
    failed = run_cli("check", *asked, "--unique-share", "0.01")
    assert failed.code == 1
    assert "unique without it" in failed.out
    assert "--leave-out amount" in failed.out
    assert run_cli("check", *asked, "--unique-share", "1").code == 2
    out = str(tmp_path / "r")
    refused = run_cli("generalize", *asked, "--unique-share", "0.01", "--out", out)
    assert (refused.code, Path(out).exists()) == (3, False), (
        "amounts alone make most people unique: no release can help"
    )
    assert "--leave-out amount" in refused.err
    told = run_cli("generalize", *asked, "--unique-share", "0.99", "--out", out, "--json").json()
    assert told["uniqueness"]["unique_share"] == 0.99
    assert (
        run_cli("check", out, "--json").json()["uniqueness"]["share"] == told["uniqueness"]["share"]
    )


def test_the_report_shows_it_on_its_first_screen_and_where_people_are_singled_out() -> None:
    release = dv.generalize(
        loans(), policy=dv.Policy(k_anonymity=5), **KNOWN, plain=["amount", "term"]
    )
    report = dv.report(release)
    page = report.html()
    first = page[: page.index("</header>")]
    sentence = f"{release.uniqueness.unique} of 400 people"
    assert first.index("WARNING") < first.index(sentence) < first.index("No record is unique")
    for text in (str(report), report.to_dict()["answer"]):
        assert text.startswith("WARNING  k = ")
        assert sentence in text
    singled = page[page.index("Singling out") :][:600]
    assert sentence in singled


# --- proposals of a failure -----------------------------------------------------------------------
def survey(path: Path) -> str:
    """400 people by age, sex and region.

    Three other columns, of which the weight is unique to each person.
    """
    rows = ["age,sex,region,hobby,amount,weight_of_row,disease"]
    for index in range(400):
        cells: list[Any] = [
            20 + index % 5,
            "mf"[index % 2],
            "NESW"[index // 100],
            "abc"[index % 3],
            index // 2,
            1 + index / 1000,
        ]
        rows.append(",".join(map(str, [*cells, ["flu", "cold", "gout"][index % 7 % 3]])))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


OTHERS = {"--plain": "region,hobby,amount", "--weight": "weight_of_row"}
ASKED = {"--qi": "age,sex", "--sensitive": "disease", "--k-anonymity": "5"}
CASES = {
    "required": {**OTHERS, "--unique-share": "0.01"},
    "required, without a weight": {
        "--plain": "region,hobby,amount,weight_of_row",
        "--unique-share": "0.01",
    },
    "required, after the search": {
        "--plain": "region,amount",
        "--leave-out": "hobby,weight_of_row",
        "--unique-share": "0.01",
    },
    "no role": {},
    "some have a role": {"--plain": "hobby", "--weight": "weight_of_row"},
    "no role, with suppression": {"--suppression": "0.1"},
}


def proposals(message: str) -> list[tuple[dict[str, str], list[str]]]:
    """Return the options that a message proposes: those to add or replace, and those to remove."""
    found = []
    for part in re.split(
        r"\. (?=Or )|\. (?=Drop)|\. (?=Dropping)|\. (?=To be certain)", " ".join(message.split())
    ):
        _, colon, options = part.partition(": --")
        if not colon or not re.match(r"(Or|Drop|To be certain)\b", part):
            continue
        kept, _, without = f"--{options}".rstrip(".").partition(", without ")
        found.append(
            (dict(re.findall(r"(--[\w-]+) (\S+)", kept)), re.findall(r"--[\w-]+", without))
        )
    return found


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("command", ["generalize", "check"])
def test_every_proposed_command_fixes_the_failure(case: str, command: str, tmp_path: Path) -> None:
    options = ASKED | CASES[case]
    source = survey(tmp_path / "survey.csv")

    def run(verb: str, chosen: dict[str, str], out: str) -> Any:
        flags = [part for option in chosen.items() for part in option]
        return run_cli(
            verb,
            source,
            *flags,
            *(["--out", str(tmp_path / out), "--no-explain"] if verb == "generalize" else []),
        )

    unknown = ("--suppression",) if command == "check" else ()
    failed = run(
        command, {name: value for name, value in options.items() if name not in unknown}, "failed"
    )
    assert failed.code in (1, 2, 3)
    assert not (tmp_path / "failed").exists()
    found = proposals(
        failed.out.partition("To publish it, use generalize. ")[2].partition("\n\n")[0]
        or failed.err
    )
    assert len(found) >= 2
    for index, (added, removed) in enumerate(found):
        chosen = {name: value for name, value in (options | added).items() if name not in removed}
        cured = run("generalize", chosen, f"cured {index}")
        assert cured.code == 0, (chosen, cured.err)
        if list(added) == ["--plain"]:
            assert cured.out.startswith("WARNING  "), chosen


def test_options_fix_the_failure_of_a_policy_file_too(tmp_path: Path) -> None:
    source = survey(tmp_path / "survey.csv")
    policy = tmp_path / "divulge.toml"
    policy.write_text(
        'quasi_identifiers = ["age", "sex"]\nsensitive = "disease"\nplain = ["region", "hobby", '
        '"amount"]\n'
        'weight = "weight_of_row"\n[promises]\nk_anonymity = 5\nunique_share = 0.01\n',
        encoding="utf-8",
    )
    failed = run_cli("generalize", source, "--policy", str(policy), "--out", str(tmp_path / "r"))
    assert failed.code == 1
    for index, (added, _) in enumerate(proposals(failed.err)):
        flags = [part for option in added.items() for part in option]
        cured = run_cli(
            "generalize",
            source,
            "--policy",
            str(policy),
            *flags,
            "--out",
            str(tmp_path / f"cured {index}"),
        )
        assert cured.code == 0, cured.err


def test_a_failure_is_no_warning() -> None:
    free = dv.check(loans(), dv.Policy(k_anonymity=5), **KNOWN)
    assert not free.holds
    assert free.to_dict()["uniqueness"]["warning"] is None
    assert not str(free).startswith("WARNING")


def test_a_warning_is_the_first_line_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It precedes the policy that was detected and the hierarchies that were chosen."""
    source = survey(tmp_path / "survey.csv")
    (tmp_path / "divulge.toml").write_text(
        'quasi_identifiers = ["age", "sex"]\nsensitive = "disease"\nplain = ["region", "hobby", '
        '"amount"]\n'
        'weight = "weight_of_row"\n[promises]\nk_anonymity = 5\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    for command in (("check", source), ("generalize", source, "--out", "release")):
        shown = run_cli(*command)
        assert shown.code == 0
        assert shown.out.startswith("WARNING  k = ")
        assert shown.out.count("Policy: divulge.toml, found by itself") == 1
    assert shown.out.count("Hierarchies chosen from the data") == 1


def test_hierarchies_from_the_data_follow_the_answer(tmp_path: Path) -> None:
    """Three hierarchies fill ten lines; who is unique is told before them, and once."""
    source = survey(tmp_path / "survey.csv")
    roles = ["--qi", "age,sex,region", "--sensitive", "disease", "--leave-out", "*"]
    shown = run_cli(
        "generalize", source, *roles, "--k-anonymity", "5", "--out", str(tmp_path / "r")
    )
    assert shown.code == 0, shown.err
    answer, _, hierarchies = shown.out.partition("Hierarchies chosen from the data")
    assert any(line.startswith("k = ") for line in answer.splitlines()[:5])
    assert hierarchies.count("[hierarchies.") == 3


def test_many_columns_are_named_by_a_star(tmp_path: Path) -> None:
    """Thirty columns, most with a blank in their names: a proposal can be pasted into a shell."""
    path = tmp_path / "wide.csv"
    rows: list[list[Any]] = [["age", "disease", *(f"column {index}" for index in range(30))]]
    for index in range(200):
        cells = [index * 7 % (5 + divisor) for divisor in range(30)]
        rows.append([30 + index % 4, "flu" if index % 3 else "cold", *cells])
    path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n", encoding="utf-8")
    asked = [
        "generalize",
        str(path),
        "--qi",
        "age",
        "--sensitive",
        "disease",
        "--k-anonymity",
        "5",
        "--no-explain",
    ]
    failed = run_cli(*asked, "--out", str(tmp_path / "failed"))
    assert failed.code == 2
    assert "--leave-out '*'" in failed.err
    assert "--plain '*'" in failed.err
    assert run_cli(*asked, "--leave-out", "*", "--out", str(tmp_path / "dropped")).code == 0
    warned = run_cli(*asked, "--plain", "*", "--out", str(tmp_path / "warned"))
    assert (warned.code, warned.out.startswith("WARNING")) == (0, True)
    some = ["--plain", "column 0,column 29", "--leave-out", "*", "--unique-share", "0.01"]
    required = run_cli(*asked, *some, "--out", str(tmp_path / "some"))
    (added, removed), *_ = proposals(required.err)
    assert (required.code, added["--leave-out"], removed) == (3, "'*'", ["--plain"])


def test_a_unique_share_alone_is_rejected_with_the_true_reason(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,s\n1,x\n1,y\n")
    command = ["check", str(tmp_path / "t.csv"), "--qi", "a", "--sensitive", "s"]
    outcome = run_cli(*command, "--unique-share", "0.5")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "divulge: unique_share is checked only together with a requirement about classes, and the "
        "policy has none. Add one, for example --k-anonymity 5\n"
    )
    assert run_cli(*command, "--unique-share", "0.5", "--k-anonymity", "2").code == 0


@pytest.mark.parametrize(
    ("count", "advises_to_generalize"), [(0, False), (1, True), (12, True), (13, False)]
)
def test_few_columns_are_proposed_as_quasi_identifiers(
    count: int,
    advises_to_generalize: bool,  # noqa: FBT001
) -> None:
    columns = tuple(f"c{index}" for index in range(count))
    remedy = Remedy(("amount",), Roles(("zip",), (), (), None, None), columns, (), 0.12)
    proposals = remedy.text.split(". ")
    assert proposals[0] == "Drop amount: leave_out='amount'"
    assert proposals[-1] == "Or allow more: unique_share=0.12"
    assert proposals[1:-1] == (
        [f"Or generalize them: quasi_identifiers={['zip', *columns]!r}"]
        if advises_to_generalize
        else []
    )
