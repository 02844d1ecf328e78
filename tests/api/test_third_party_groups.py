# SPDX-License-Identifier: Apache-2.0
"""A third party's anatomized release, written by hand, is opened by every verb.

Two groups of four people: ages 30 to 33 and 50 to 53. Group 1 has two flu, one cold and one cough,
group 2 one of each of four diseases. By hand: beta is 2/4, alpha 1/4, gamma 1/4 * 2/4 = 1/8. The
table has three flu, cold twice, and cough, ulcer and asthma once.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.api.opened import OpenedAnatomized
from divulge.errors import BadInput
from tests.helpers import group_check_of, run_cli

AGES = [30, 31, 32, 33, 50, 51, 52, 53]
DISEASES = ["flu", "flu", "cold", "cough", "flu", "cold", "ulcer", "asthma"]
PEOPLE = pa.table({"age": AGES, "disease": DISEASES})
KNOWN = pa.table({"GID": [1] * 4 + [2] * 4, "age": AGES})
SECRET = pa.table(
    {
        "GID": [1, 1, 1, 2, 2, 2, 2],
        "disease": ["flu", "cold", "cough", "flu", "cold", "ulcer", "asthma"],
        "Count": [2, 1, 1, 1, 1, 1, 1],
    }
)


def write_csv(table: pa.Table, folder: Path, name: str) -> None:
    pc.write_csv(table, folder / f"{name}.csv")


def write_parquet(table: pa.Table, folder: Path, name: str) -> None:
    pq.write_table(table, folder / f"{name}.parquet")


def write_arrow(table: pa.Table, folder: Path, name: str) -> None:
    pf.write_feather(table, folder / f"{name}.feather", compression="uncompressed")


def write_parts(table: pa.Table, folder: Path, name: str) -> None:
    """Write a folder of files, as Spark does."""
    (folder / name).mkdir()
    half = len(table) // 2
    pq.write_table(table.slice(0, half), folder / name / "part-0.parquet")
    pq.write_table(table.slice(half), folder / name / "part-1.parquet")


WRITERS: dict[str, Callable[[pa.Table, Path, str], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "arrow": write_arrow,
    "parts": write_parts,
}


@pytest.fixture(params=WRITERS)
def theirs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of the release, with the original next to it."""
    pc.write_csv(PEOPLE, tmp_path / "people.csv")
    folder = tmp_path / "theirs"
    folder.mkdir()
    WRITERS[request.param](KNOWN, folder, "known")
    WRITERS[request.param](SECRET, folder, "secret")
    return folder


def test_every_function_opens_it(theirs: Path) -> None:
    sensitive: dict[str, Any] = {"sensitive": "disease"}
    opened = dv.open_release(theirs)
    assert isinstance(opened, OpenedAnatomized)
    for release in (theirs, opened):
        levels = group_check_of(release, **sensitive, beta="1/2").levels
        assert (levels.alpha, levels.beta) == (Fraction(1, 4), Fraction(1, 2))
        assert levels.gamma == Fraction(1, 8)
        assert not dv.check(release, **sensitive, beta="1/4").holds
        # group 1: two of four; the other group has one of four.
        assert dv.query(release, "age < 40 and disease = 'flu'").estimate == 2.0
        drawn = dv.attack(release, truth=PEOPLE, attacks="attribute-linkage", **sensitive)
        # by hand: flu of group 1 twice 2/4, all others 1/4
        assert drawn.attempts[0].successes == pytest.approx(2 * 0.5 + 6 * 0.25)
        joint = dv.compose([release, PEOPLE], truth=PEOPLE, **sensitive)
        assert joint.releases[0].kind == "anatomized"
        compared = dv.compare(
            [PEOPLE, release],
            quasi_identifiers="age",
            adversary=dv.Adversary(original=PEOPLE),
            attack=8,
            **sensitive,
        )
        assert compared[1].levels == levels
        assert compared[1].attacked is not None
        assert dv.utility(PEOPLE, release, queries=10, **sensitive).to_dict()
        assert "1/2" in dv.report(release, **sensitive).html()
        with pytest.raises(BadInput, match="which has groups and no classes"):
            dv.measure(release)


def test_every_command_opens_it(theirs: Path) -> None:
    original = theirs.parent / "people.csv"
    page = theirs.parent / "report.html"
    commands = {
        "check {0} --sensitive disease --beta 1/2": 0,
        "check {0} --sensitive disease --alpha 1/5": 1,
        "check {0} --sensitive disease": 2,
        "attack {0} --truth {1} --sensitive disease": 0,
        "query {0} disease='flu'": 0,
        "compose {0} {1} --truth {1} --sensitive disease": 0,
        "compare {1} {0} --original {1} --qi age --sensitive disease --attack 8": 0,
        "report {0} --sensitive disease --original {1} --out {2}": 0,
        "measure {0}": 2,
    }
    for command, code in commands.items():
        result = run_cli(*(word.format(theirs, original, page) for word in command.split()))
        assert result.code == code, (command, result.err)
    document = run_cli("check", str(theirs), "--sensitive", "disease", "--beta", "1/2", "--json")
    assert document.json()["levels"]["beta"] == "1/2"
    assert f"divulge check {theirs}" in run_cli("measure", str(theirs)).err


def test_other_names_of_the_linking_columns(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    write_csv(KNOWN.rename_columns(["bucket", "age"]), folder, "known")
    write_csv(SECRET.rename_columns(["bucket", "disease", "n"]), folder, "secret")
    pc.write_csv(PEOPLE, tmp_path / "people.csv")
    names = ("--group", "bucket", "--count", "n")
    asked = ("--sensitive", "disease", *names)
    assert run_cli("check", str(folder), "--beta", "1/2", *asked).code == 0
    assert run_cli("query", str(folder), "disease = 'flu'", *names).code == 0
    attacked = run_cli("attack", str(folder), "--truth", str(tmp_path / "people.csv"), *asked)
    assert attacked.code == 0, attacked.err
    opened = dv.open_release(folder, group="bucket", count="n", sensitive="disease")
    for verb in (
        lambda: dv.check(opened, beta="1/2"),
        lambda: dv.compose([opened, PEOPLE], truth=PEOPLE, sensitive="disease"),
        lambda: dv.report(opened),
    ):
        assert verb() is not None


def test_a_table_in_several_files_is_no_anatomized_release(tmp_path: Path) -> None:
    for number in range(2):
        write_csv(KNOWN.slice(4 * number, 4), tmp_path, f"part-{number}")
    assert len(dv.read(tmp_path).names) == 2
    assert not isinstance(dv.open_release(tmp_path), OpenedAnatomized)
    assert dv.measure(tmp_path, quasi_identifiers="GID")["k_anonymity"].value == 4
