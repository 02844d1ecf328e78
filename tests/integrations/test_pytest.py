# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, run by pytest itself: violations fail in words, and startup costs nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = "zip,age,disease\n476**,2*,Gout\n476**,2*,Gout\n479**,3*,Gout\n479**,3*,Cancer\n"
TESTS = """
import sys

ROLES = {"quasi_identifiers": ["zip", "age"], "sensitive": "disease"}


def test_nothing_heavy_is_loaded_by_starting(divulge_check):
    ours = {name for name in sys.modules if name.partition(".")[0] == "divulge"}
    plugin = {"divulge.integrations", "divulge.integrations.pytest"}
    assert ours == {"divulge", "divulge.version"} | plugin
    assert not {"duckdb", "numpy", "pyarrow", "rich", "typer"} & set(sys.modules)


def test_holds(divulge_check):
    assert divulge_check("people.csv", ROLES | {"k_anonymity": 2}).holds


def test_broken(divulge_check):
    divulge_check("people.csv", ROLES | {"k_anonymity": 3, "l_diversity": 2})


def test_file(divulge_check):
    divulge_check("people.csv", "divulge.toml")


def test_bad_input(divulge_check):
    divulge_check("nobody.csv", {"k_anonymity": 2})
"""


def told_by_pytest(folder: Path) -> str:
    """Return the output of pytest in a process of its own that loads only our plugin."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA"]
    alone = {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": entry_point(),
        "PYTHONPATH": str(ROOT / "src"),
    }
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | alone,
        capture_output=True,
        check=False,
        encoding="utf-8",
    ).stdout


def entry_point() -> str:
    """Return the module that pyproject.toml registers with pytest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["entry-points"]["pytest11"]["divulge"])


def test_violated_requirements_fail_a_test_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "test_people.py").write_text(TESTS, encoding="utf-8")
    # and not a word of the disease
    policy = 'quasi_identifiers = ["zip", "age"]\n[promises]\nk_anonymity = 2\n'
    (tmp_path / "divulge.toml").write_text(policy, encoding="utf-8")
    told = told_by_pytest(tmp_path)
    outcomes = dict(
        reversed(found)
        for found in re.findall(r"^(PASSED|FAILED) test_people.py::(\w+)", told, re.MULTILINE)
    )
    assert outcomes.pop("test_nothing_heavy_is_loaded_by_starting") == "PASSED", told
    assert outcomes == {
        "test_holds": "PASSED",
        "test_broken": "FAILED",
        "test_file": "FAILED",
        "test_bad_input": "FAILED",
    }
    broken = told[told.index("test_broken") : told.index("test_file _")]
    assert "people.csv does not keep the policy:" in broken
    assert "  - k_anonymity >= 3 is broken: measured 2, by 2 classes with 4 people" in broken
    assert (
        "  - l_diversity >= 2 (disease) is broken: measured 1, by 1 class with 2 people" in broken
    )
    assert "  - unknown_column: 'disease' must be named by the policy first" in told
    assert "there is no file nobody.csv" in told
    assert not re.search(r"476|Gout|Cancer|pytest\.fail\(", broken)
