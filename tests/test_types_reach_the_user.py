# SPDX-License-Identifier: Apache-2.0
"""Types reach the user: a small program is type-checked as a user would, with mypy and with
basedpyright; what is mistyped is found.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RIGHT = """
import divulge as dv

frame = dv.read("people.csv")
found: dv.Measurement = dv.measure(frame, quasi_identifiers=["zip"], sensitive="disease", engine="duckdb")
k: float = found["k_anonymity"].value
verdict = dv.check(frame, {"k_anonymity": 2}, quasi_identifiers="zip", adversary=dv.Adversary(nulls="drop"))
verdict.raise_for_broken()
holds: bool = verdict.holds
release = dv.generalize(frame, policy=dv.Policy(k_anonymity=2), quasi_identifiers="zip", method="mondrian")
release.write("out", format="parquet", force=True)
anatomized = dv.anatomize(frame, sensitive="disease", beta="1/2", method="anatomy")
estimate = dv.query(dv.open_release("out"), "zip = '1'").estimate
roles = [column.role for column in dv.profile(frame)]
alice = dv.dossier.Record.of({"N": "Alice"})
leaked: float = dv.dossier.leakage(alice, alice, method="exact").leakage
"""  # noqa: E501
# Each line is a mistake, put at the end of the right program.
WRONG = (
    "dv.measure(frame, quasi_identifier='zip')",
    "dv.generalize(frame, policy='p.toml', method='mondrain')",
    "dv.anatomize(frame, sensitive='disease', method='slpa')",
    "dv.measure(frame, quasi_identifiers='zip', engine='sparc')",
    "dv.Adversary(nulls='keep')",
    "dv.tradeoff(frame, 'k_anonymity', objective='los')",
    "dv.apply('out', frame, 'later', unseen='ignore')",
    "dv.dossier.leakage(alice, alice, method='exakt')",
    "release.write('out', format='xlsx')",
    "release.wirte('out')",
    "anatomized.attacks()",
    "found.clases",
    "verdict.hold",
    "dv.profile(frame).settngs",
    "dv.mesure(frame)",
)


def mypy(program: Path) -> set[int]:
    """The lines that mypy --strict finds wrong, by the settings and from the cache of `make
    lint`: libraries are read once for both.
    """
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--output=json"]
    found = [json.loads(line) for line in _run([*command, str(program)], ROOT).splitlines()]
    return {
        item["line"]
        for item in found
        if item["severity"] == "error" and Path(item["file"]).name == program.name
    }


def basedpyright(program: Path) -> set[int]:
    """The lines that basedpyright finds wrong, with its standard rules: the others are about
    style.
    """
    settings = {
        "typeCheckingMode": "standard",
        "include": [program.name],
        "extraPaths": [str(ROOT / "src")],
    }
    (program.parent / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    found = json.loads(_run(command, program.parent))["generalDiagnostics"]
    return {item["range"]["start"]["line"] + 1 for item in found if item["severity"] == "error"}


def _run(command: list[str], folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.slow
@pytest.mark.parametrize("checker", [mypy, basedpyright])
def test_a_right_program_is_clean_and_each_mistake_is_found(
    checker: Callable[[Path], set[int]], tmp_path: Path
) -> None:
    if importlib.util.find_spec(checker.__name__) is None:
        pytest.skip(f"{checker.__name__} is not there: pip install -e '.[dev]' brings it")
    program = tmp_path / "program.py"
    program.write_text(RIGHT + "\n".join(WRONG) + "\n", encoding="utf-8")
    first, found = RIGHT.count("\n") + 1, checker(program)
    missed = [text for line, text in enumerate(WRONG, first) if line not in found]
    assert not missed, f"{checker.__name__} does not find: {missed}"
    assert {line for line in found if line < first} == set()
