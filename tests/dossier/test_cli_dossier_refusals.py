# SPDX-License-Identifier: Apache-2.0
"""`divulge dossier`: errors, warnings, help, and the progress bar on a terminal."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from divulge.cli import dossier_options
from tests.dossier.commands import Write, database, dossier, files, record
from tests.helpers import CliResult


def test_a_label_that_no_record_has_is_a_warning(write: Write) -> None:
    _, options = files(write, "003-2.4-after-ER")
    found = dossier("leakage", *options, "--resolve", "N+K", "--json")
    assert found.code == 0
    assert found.err == "divulge: warning: no record has the label K of --resolve N+K\n"
    assert found.json()["leakage"] == pytest.approx(2 / 3)


def test_labels_to_be_measured_otherwise_that_no_record_has_are_a_warning(write: Write) -> None:
    given = write("p.json", record([["N", "a"], ["P", "1"]]))
    options = ["--record", given, "--reference", given, "--grade", "Agee=3", "--joint", "J=N+Phone"]
    found = dossier("leakage", *options, "--json")
    assert found.code == 0
    assert (
        found.err
        == "divulge: warning: no record has the label Agee, Phone of --grade, --statistics or "
        "--joint\n"
    )


def test_an_empty_database_leaks_nothing(write: Write) -> None:
    options = [
        "--database",
        write("R.json", {"records": []}),
        "--reference",
        write("p.json", record([["N", "a"]])),
    ]
    found = dossier("leakage", *options, "--json").json()
    assert (found["leakage"], found["records"], found["witnesses"]) == (0, [], [])
    assert "Nothing in these records is true of you." in dossier("leakage", *options).out


BAD: list[tuple[list[str], str]] = [
    (["leakage", "--reference", "P"], "nothing was given to measure"),
    (
        ["leakage", "--reference", "P", "--record", "P", "--database", "R"],
        "--record and --database was given",
    ),
    (["leakage", "--reference", "P", "--record", "P", "--grade", "A"], "NAME=NUMBER"),
    (["leakage", "--reference", "P", "--record", "P", "--grade", "A=0"], "grade of 'A' is 0"),
    (
        ["leakage", "--reference", "P", "--record", "P", "--grade", "A=1", "--grade", "A=2"],
        "given twice for 'A'",
    ),
    (["leakage", "--reference", "P", "--record", "P", "--joint", "A+P"], "J=A+P:FILE"),
    (
        ["leakage", "--reference", "P", "--record", "P", "--joint", "J=A+P", "--joint", "J=A+N"],
        "twice for 'J'",
    ),
    (["leakage", "--reference", "P", "--record", "P", "--joint", "J=A"], "at least two labels"),
    (
        ["leakage", "--reference", "P", "--record", "P", "--joint", "J=A+P:missing.csv"],
        "cannot read",
    ),
    (["leakage", "--reference", "P", "--record", "P", "--statistics", "P"], "does not hold counts"),
    (
        [
            "leakage",
            "--reference",
            "P",
            "--database",
            "R",
            "--resolve",
            "N",
            "--cost-exponent",
            "-1",
        ],
        "exponent",
    ),
    (["resolve", "--database", "R", "--resolve", "N", "--link", "N"], "not both"),
    (
        [
            "disinform",
            "--database",
            "R",
            "--reference",
            "P",
            "--resolve",
            "N",
            "--budget",
            "1",
            "--grade",
            "A=1",
        ],
        "grades",
    ),
    (
        ["leakage", "--reference", "P", "--database", "R", "--resolve", "N++C"],
        "'N++C' lacks a label",
    ),
    (
        ["leakage", "--reference", "P", "--database", "R", "--resolve", "N", "--er", "guess"],
        "'swoosh', 'closure'",
    ),
    (
        ["leakage", "--reference", "P", "--database", "R", "--resolve", "N", "--trust", "2"],
        "threshold",
    ),
    (
        ["leakage", "--reference", "P", "--database", "R", "--resolve", "N", "--link", "N"],
        "not both",
    ),
    (["leakage", "--reference", "P", "--database", "R", "--link", "N~x"], "not a list of labels"),
    (["leakage", "--reference", "P", "--database", "R", "--augment", "A"], "A=Z:FILE"),
    (
        ["leakage", "--reference", "P", "--database", "R", "--augment", "A=Z:missing.csv"],
        "cannot read the lookup",
    ),
    (["leakage", "--reference", "P", "--record", "P", "--method", "exakt"], "did you mean 'exact'"),
    (["leakage", "--reference", "E", "--record", "P"], "empty"),
    (["leakage", "--reference", "P", "--table", "T"], "--table needs --qi"),
    (["leakage", "--reference", "P", "--record", "missing.json"], "cannot read"),
    (["resolve", "--database", "R"], "there is no match rule"),
    (
        ["disinform", "--database", "R", "--reference", "P", "--resolve", "N", "--budget", "-1"],
        "budget is -1",
    ),
    (
        ["disinform", "--database", "R", "--reference", "P", "--budget", "1"],
        "there is no match rule",
    ),
    (
        ["disinform", "--database", "R", "--reference", "P", "--link", "N", "--budget", "1"],
        "by a rule",
    ),
    (
        [
            "disinform",
            "--database",
            "R",
            "--reference",
            "P",
            "--budget",
            "1",
            "--candidates",
            "R",
            "--cost",
            "r",
        ],
        "NAME=NUMBER",
    ),
    (["enhance", "--database", "R", "--about", "x"], "there is no record 'x'"),
    (
        ["release", "--database", "R", "--reference", "P", "--release", "P", "--release", "P"],
        "two files are called",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD]
)
def test_bad_input_is_one_line_and_exit_code_2(
    write: Write, arguments: list[str], message: str
) -> None:
    paths = {
        "R": write("R.json", database({"r": [["N", "a"], ["P", "1"]], "s": [["N", "a"]]})),
        "P": write("p.json", record([["N", "a"]])),
        "E": write("e.json", record([])),
        "T": write("t.csv", "Zip\n1*\n"),
    }
    found = dossier(*(paths.get(argument, argument) for argument in arguments))
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert found.err.count("\n") == 1


def with_confidence(confidence: str) -> str:
    return '{"attributes": [{"label": "N", "value": "a", "confidence": ' + confidence + "}]}"


DEEP = "[" * 900 + "]" * 900
BAD_RECORDS: dict[str, str | bytes] = {
    "deep.json": "[" * 5000 + "]" * 5000,
    "deep value.json": '{"attributes": [{"label": "N", "value": ' + DEEP + "}]}",
    "deep attribute.jsonl": '{"attributes": [' + DEEP + "]}",
    "deep confidence.json": with_confidence(DEEP),
    "nan.json": with_confidence("NaN"),
    "infinity.json": with_confidence("Infinity"),
    "overflow.json": with_confidence("1e999"),
    "digits.json": with_confidence("1" * 5000),
    "twice.json": '{"attributes": [{"label": "N", "label": "P", "value": "a"}]}',
    "nan.csv": "record,label,value,confidence\nr,N,a,nan\n",
    "infinity.csv": "record,label,value,confidence\nr,N,a,inf\n",
    "header twice.csv": "record,label,value,value\nr,N,a,b\n",
    "quote.csv": 'record,"label,value\nr,N,a\n',
    "long header.csv": "record,label,value," + "x" * 200_000 + "\n",
    "long cell.csv": "record,label,value\nr,N," + "x" * 200_000 + "\n",
    "latin.json": b'{"attributes": [{"label": "N", "value": "\xe9"}]}',
    "latin.csv": b"record,label,value\nr,N,\xe9\n",
}
BAD_OPTION_FILES: list[tuple[str, str, str | bytes]] = [
    ("--weights", "deep.json", "[" * 5000 + "]" * 5000),
    ("--weights", "deep weight.json", '{"N": ' + DEEP + "}"),
    ("--weights", "nan.json", '{"N": NaN}'),
    ("--weights", "infinity.csv", "label,weight\nN,inf\n"),
    ("--weights", "twice.json", '{"N": 1, "N": 2}'),
    ("--weights", "latin.json", b'{"\xe9": 1}'),
    ("--equivalence", "deep.json", "[" * 5000 + "]" * 5000),
    ("--equivalence", "deep class.json", '{"N": ' + DEEP + "}"),
    ("--equivalence", "number.json", '{"N": 5}'),
    ("--equivalence", "twice.json", '{"N": ["1*"], "N": ["2*"]}'),
    ("--equivalence", "latin.json", b'{"\xe9": ["1*"]}'),
    ("--equivalence", "quote.csv", 'label,"canonical\nN,1*\n'),
    ("--statistics", "deep.json", "[" * 5000 + "]" * 5000),
    ("--statistics", "deep count.json", '{"N": {"a": ' + DEEP + "}}"),
    ("--statistics", "nan.json", '{"N": {"a": NaN}}'),
    ("--statistics", "infinity.csv", "label,value,count\nN,a,inf\n"),
    ("--statistics", "twice.csv", "label,value,count\nN,a,1\nN,a,2\n"),
    ("--statistics", "digits.json", '{"N": {"a": 1' + "0" * 400 + "}}"),
    ("--statistics", "text.json", '{"N": {"a": "1"}}'),
    ("--joint J=N+P:", "latin.csv", b"label,value,joint\nN,\xe9,x\n"),
    ("--joint J=N+P:", "twice.csv", "label,value,joint\nN,a,x\nN,a,y\n"),
    ("--joint J=N+P:", "stranger.csv", "label,value,joint\nX,a,x\n"),
    ("--augment N=Z:", "latin.csv", b"\xe9,1\n"),
    ("--augment N=Z:", "twice.csv", "a,1\na,2\n"),
    ("--augment N=Z:", "quote.csv", '"a,1\n'),
    ("--augment N=Z:", "three.csv", "a,1,2\n"),
]


def refused_in_one_line(found: CliResult, file: Path) -> None:
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("divulge: ")
    assert found.err.count("\n") == 1
    assert len(found.err) < 400 + len(str(file))


@pytest.mark.parametrize("name", BAD_RECORDS)
@pytest.mark.parametrize("option", ["--record", "--database", "--reference"])
def test_records_that_cannot_be_read(write: Write, tmp_path: Path, option: str, name: str) -> None:
    text, file = BAD_RECORDS[name], tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    good = write("good.json", record([["N", "a"]]))
    rest = ["--record", good] if option == "--reference" else ["--reference", good]
    refused_in_one_line(dossier("leakage", option, str(file), *rest), file)


@pytest.mark.parametrize(
    ("option", "name", "text"), BAD_OPTION_FILES, ids=[f"{o} {n}" for o, n, _ in BAD_OPTION_FILES]
)
def test_other_files_that_cannot_be_read(
    write: Write, tmp_path: Path, option: str, name: str, text: str | bytes
) -> None:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    good = write("good.json", record([["N", "a"]]))
    name, _, before = option.partition(" ")
    refused_in_one_line(
        dossier("leakage", "--database", good, "--reference", good, name, f"{before}{file}"), file
    )


def test_half_a_surrogate_is_not_written(write: Write, tmp_path: Path) -> None:
    given = write("R.json", '{"attributes": [{"label": "N", "value": "\\ud800"}]}')
    found = dossier(
        "resolve", "--database", given, "--resolve", "N", "--out", str(tmp_path / "out.json")
    )
    assert (found.code, found.err) == (
        2,
        "divulge: cannot write 'out.json': a value is not valid Unicode text\n",
    )


LEAKAGE = ["leakage", "--reference", "P"]
MERGING = [
    "--resolve N",
    "--er swoosh",
    "--trust 0",
    "--link N",
    "--probability 0.9",
    "--prior 0.1",
    "--augment A=Z:x",
]
COSTS = ["--cost-coefficient 1", "--cost-exponent 2"]
MEASURES = ["--weights W", "--beta 1", "--grade A=1", "--statistics W", "--joint J=A+P"]
PLAN = ["disinform", "--database", "R", "--reference", "P", "--budget", "1"]
IDLE: list[tuple[list[str], list[str], str]] = [
    ([*LEAKAGE, "--record", "P"], [*MERGING, *COSTS, "--timeline", "--without"], "with --record"),
    (
        [*LEAKAGE, "--record", "P"],
        ["--qi N", "--background T", "--generalized-confidence 1"],
        "with --record",
    ),
    (
        [*LEAKAGE, "--table", "T", "--qi", "Zip"],
        [*MERGING, *COSTS, "--timeline", "--without"],
        "with --table",
    ),
    (
        [*LEAKAGE, "--database", "R"],
        ["--qi N", "--background T", "--generalized-confidence 1"],
        "with --database",
    ),
    ([*LEAKAGE, "--database", "R"], ["--er swoosh", "--trust 0"], "without --resolve"),
    (
        [*LEAKAGE, "--database", "R", "--link", "N"],
        ["--er swoosh", "--trust 0"],
        "without --resolve",
    ),
    (
        [*LEAKAGE, "--database", "R", "--resolve", "N"],
        ["--probability 0.9", "--prior 0.1"],
        "without --link",
    ),
    ([*LEAKAGE, "--database", "R"], COSTS, "without --resolve or --link"),
    (
        ["resolve", "--database", "R", "--resolve", "N"],
        ["--probability 0.9", "--prior 0.1"],
        "without --link",
    ),
    (
        ["resolve", "--database", "R", "--link", "N"],
        ["--er swoosh", "--trust 0"],
        "without --resolve",
    ),
    (["dip", "--database", "R", "--query", "P", "--resolve", "N"], MEASURES, "without --reference"),
    (["dip", "--database", "R", "--query", "P"], ["--er swoosh", "--trust 0"], "without --resolve"),
    (
        ["dip", "--database", "R", "--query", "P"],
        ["--probability 0.9", "--prior 0.1"],
        "without --link",
    ),
    (
        ["release", "--database", "R", "--reference", "P", "--release", "P"],
        ["--er swoosh", "--trust 0"],
        "without --res",
    ),
    (
        ["release", "--database", "R", "--reference", "P", "--release", "P"],
        ["--prior 0.1"],
        "without --link",
    ),
    (
        [*PLAN, "--resolve", "N"],
        ["--cost a=1", "--method exact", "--steps 5"],
        "without --candidates",
    ),
    ([*PLAN, "--resolve", "N"], ["--probability 0.9", "--prior 0.1"], "without --link"),
    ([*PLAN, "--resolve", "N", "--candidates", "R"], ["--steps 5"], "without --method bounded"),
    ([*PLAN, "--candidates", "R"], ["--er swoosh", "--trust 0"], "without --resolve"),
    (["enhance", "--database", "R"], ["--er swoosh", "--trust 0"], "without --resolve"),
]


@pytest.mark.parametrize(
    ("arguments", "idle", "reason"), IDLE, ids=[f"{' '.join(a)} {r}" for a, _, r in IDLE]
)
def test_an_option_without_effect_is_refused(
    write: Write, arguments: list[str], idle: list[str], reason: str
) -> None:
    """This includes an option with the default value, because the user expects an effect."""
    paths = {
        "R": write("R.json", database({"r": [["N", "a"], ["P", "1"]], "s": [["N", "a"]]})),
        "P": write("p.json", record([["N", "a"]])),
        "T": write("t.csv", "Zip\n1*\n"),
        "W": write("w.json", {}),
    }
    for option in idle:
        found = dossier(
            *(paths.get(argument, argument) for argument in (*arguments, *option.split()))
        )
        assert (found.code, found.out) == (2, ""), option
        assert found.err.startswith(f"divulge: {option.split()[0]} has no effect {reason}"), option
        assert found.err.count("\n") == 1


def test_commands_have_no_options_without_effect() -> None:
    assert not {"--weights", "--beta", "--grade"} & set(dossier("resolve", "--help").out.split())
    assert not {"--link", "--probability", "--augment"} & set(
        dossier("enhance", "--help").out.split()
    )


@pytest.mark.parametrize(
    "command", ["leakage", "resolve", "dip", "release", "disinform", "enhance"]
)
def test_every_help_ends_with_an_example(command: str) -> None:
    found = dossier(command, "--help")
    assert found.code == 0
    assert f"divulge dossier {command} " in found.out
    assert "--json" in found.out


def test_a_bar_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(dossier_options.tracked(range(3), 3, what="numbers")) == [0, 1, 2]
    seen: list[tuple[int, int]] = []

    class Bar:
        def __enter__(self) -> Callable[[int, int], None]:
            return lambda done, total: seen.append((done, total))

        def __exit__(self, *_: object) -> None:
            sys.stderr.flush()

    monkeypatch.setattr(dossier_options, "progress_bar", lambda _: Bar())
    assert len(list(dossier_options.tracked(range(450), 450, what="numbers"))) == 450
    assert seen == [(0, 450), (200, 450), (400, 450)]


@pytest.mark.slow
def test_help_does_not_import_the_dossier() -> None:
    program = (
        "import sys; from divulge.cli.main import run; run(['dossier', '--help']); "
        "print(*sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = found.stdout.splitlines()[-1].split()
    assert "divulge.cli.dossier" in loaded
    assert not [name for name in loaded if name.startswith(("divulge.dossier", "divulge.output"))]
