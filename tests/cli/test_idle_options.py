# SPDX-License-Identifier: Apache-2.0
"""An option without effect is rejected in one line that names it and gives the reason."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers import run_cli

PEOPLE = {
    "zip": ["1", "1", "2", "2"],
    "age": [30, 30, 40, 40],
    "disease": ["flu", "cold", "flu", "cold"],
}
ROLES = "--qi zip,age --sensitive disease"
IDLE = {
    # Reading options, for a table that states how it is read.
    f"measure p.parquet {ROLES} --delimiter ,": "is for delimited text",
    f"measure p.parquet {ROLES} --no-header": "is for delimited text",
    f"measure p.parquet {ROLES} --header": "is for delimited text",
    f"measure p.parquet {ROLES} --encoding latin-1": "is for delimited text",
    f"measure p.csv {ROLES} --table people": "picks a table of a database",
    f"measure p.csv {ROLES} --master local --engine duckdb": "--master and --remote are Spark's",
    f"measure p.csv {ROLES} --engine spark --memory-limit 1GB": "are DuckDB's",
    # Options of the output, although nothing is written.
    f"generalize p.csv {ROLES} --k-anonymity 2 --force": "--force has no effect without --out",
    f"generalize p.csv {ROLES} --k-anonymity 2 --seed 1": "--seed has no effect without --out",
    f"generalize p.csv {ROLES} --k-anonymity 2 --format csv": "--format has no effect without --out",  # noqa: E501
    f"generalize p.csv {ROLES} --k-anonymity 2 --pareto k_anonymity --out o": "--out has no effect with --pareto",  # noqa: E501
    f"generalize p.csv {ROLES} --k-anonymity 2 --pareto k_anonymity --dry-run": "--dry-run has no effect with --pareto",  # noqa: E501
    f"generalize p.csv {ROLES} --pareto k_anonymity --method mondrian": "--method has no effect with --pareto",  # noqa: E501
    f"generalize p.csv {ROLES} --pareto k_anonymity --suppression 0.1": "has no effect without a promise",  # noqa: E501
    f"generalize p.csv {ROLES} --pareto k_anonymity --unique-share 0.1": "--unique-share has no effect with --pareto",  # noqa: E501
    f"generalize p.csv {ROLES} --pareto k_anonymity --optima": "--optima has no effect with --pareto",  # noqa: E501
    "hierarchy build p.csv --column age --force": "--force has no effect without --out",
    "hierarchy build p.csv --column age --to anjana": "--to has no effect without --out",
    "hierarchy build p.csv --column age --json --most 3": "--most has no effect with --json",
    "hierarchy cut p.csv --column age --about disease --uniques 1000 --force": "--force has no effect without --out",  # noqa: E501
    "hierarchy convert age.csv other.csv --encoding cp1252": "--encoding has no effect where age.csv is no ARX project",  # noqa: E501
    "hierarchy show age.csv --json --most 3": "--most has no effect with --json",
    "datasets --out x.csv": "--out has no effect without NAME",
    f"anatomize p.csv {ROLES} --beta 1/2 --force": "--force has no effect without --out",
    # Options of another attack than the chosen one.
    "attack p.csv --truth p.csv --knows zip --attack prosecutor --background p.csv": "--background TABLE has no effect on 'prosecutor'",  # noqa: E501
    "attack p.csv --truth p.csv --knows zip --attack marketer --population p.csv": "--population TABLE has no effect on 'marketer'",  # noqa: E501
    # Options of another method.
    f"generalize p.csv {ROLES} --k-anonymity 2 --method mondrian --suppression 0.1": "has no use",
    f"generalize p.csv {ROLES} --k-anonymity 2 --method mondrian --time-limit 5": "Mondrian takes no",  # noqa: E501
    f"generalize p.csv {ROLES} --k-anonymity 2 --method columns --hierarchy "
    "age={intervals=[10]}": "hierarchies are given",
    f"rank p.csv {ROLES} --every 2": "--every has no effect without --growing",
    f"rank p.csv {ROLES} --growing --up-to 2": "--up-to has no effect with --growing",
    f"rank p.csv {ROLES} --growing --prune": "--prune has no effect with --growing",
    f"rank p.csv {ROLES} --k-anonymity 2": "promises have no effect without --set",
    f"rank p.csv {ROLES} --growing --k-anonymity 2": "promises have no effect with --growing",
    f"rank p.csv {ROLES} --set zip,age --hierarchies h": "--hierarchies has no effect without a "
    "promise",
    f"rank p.csv {ROLES} --json --most 3": "--most has no effect with --json",
    f"measure p.csv {ROLES} --classes --worst 3": "--worst has no effect with --classes and "
    "without --json",
    f"measure p.csv {ROLES} --classes --by alpha": "--by has no effect with --classes and "
    "without --json",
    f"measure p.csv {ROLES} --classes --t 0.5": "--t has no effect with --classes and without "
    "--json",
    f"measure p.csv {ROLES} --worst 0 --by alpha": "--by has no effect with --worst 0",
    f"measure p.csv {ROLES} --about age": "--about and --given go together",
    f"measure p.csv {ROLES} --as wildcard": "--as wildcard has no effect without --suppressed",
    f"measure p.csv {ROLES} --t nan": "--t of at least 0",
    f"measure p.csv {ROLES} --l inf": "--l must be a number",
    "measure p.csv --qi zip --recursive-l 2": "--recursive-l",
    "measure p.csv --qi zip --joint": "--joint",
    "measure p.csv --qi zip --sensitive disease --joint": "--joint",
    "metrics --markdown --json": "--markdown and --json were both given",
    "query r disease=1 --sum age --average age": "a sum and an average were both asked for",
    "apply r p.csv --out o --suppression 0.5": "--suppression has no effect",
    "query r true --group zip": "--group COLUMN has no effect",
    "query anatomized true --count zip": "--count COLUMN has no effect",
    "query anatomized true --hierarchies .": "--hierarchies DIR has no effect",
    f"rank p.csv {ROLES} --weight age": "--weight has no effect on a ranking",
    **dict.fromkeys(
        (
            f"{command} anatomized {options}"
            for command in ("check", "report")
            for options in (
                *(
                    ("--sample 3", "--joint", "--with-private", "--original p.csv")
                    if command == "check"
                    else ()
                ),
                "--delimiter ,",
                "--encoding latin-1",
                "--plain age",
                "--unique-share 0.5",
                "--nulls drop",
                "--suppressed * --as wildcard",
                "--population p.csv",
                "--rule-out disease=flu",
                "--qi zip",
                "--k-anonymity 2",
            )
        ),
        "no effect on an anatomized release",
    ),
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("idle")
    pq.write_table(pa.table(PEOPLE), folder / "p.parquet")
    rows = zip(*PEOPLE.values(), strict=True)
    (folder / "p.csv").write_text(
        "zip,age,disease\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows), encoding="utf-8"
    )
    (folder / "age.csv").write_text("30;*\n40;*\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        made = run_cli(*shlex.split(f"generalize p.csv {ROLES} --k-anonymity 2 --out r"))
        apart = run_cli(*shlex.split(f"anatomize p.csv {ROLES} --beta 1/2 --out anatomized"))
    assert made.code == apart.code == 0, made.err + apart.err
    return folder


@pytest.mark.parametrize("line", IDLE)
def test_an_option_without_effect_is_rejected(
    line: str, people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(people)
    before = sorted(people.rglob("*"))
    found = run_cli(*shlex.split(line))
    assert (found.code, found.err.count("\n")) == (2, 1), found.out
    assert IDLE[line] in found.err
    assert sorted(people.rglob("*")) == before


def test_a_dry_run_reports_an_unwritable_folder(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(people)
    line = f"generalize p.csv {ROLES} --k-anonymity 2 --dry-run --out"
    assert run_cli(*shlex.split(line), "new").code == 0
    assert not (people / "new").exists()
    assert run_cli(*shlex.split(line), "r").code == 2
