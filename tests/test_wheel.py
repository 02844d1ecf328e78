# SPDX-License-Identifier: Apache-2.0
"""The wheel that `make wheel` builds has what users need and nothing else, and runs in an
environment that has nothing of ours.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from divulge.version import __version__
from tests import wheel

TEST = """
def test_the_wheel_brings_the_fixture(divulge_check):
    assert divulge_check("people.csv", {"quasi_identifiers": ["zip"], "k_anonymity": 2}).holds
"""


@pytest.mark.slow
def test_the_wheel_is_whole_and_runs_in_an_empty_environment(tmp_path: Path) -> None:
    built, archive = wheel.build(tmp_path / "dist")
    wheel.check_wheel(built)
    wheel.check_archive(archive)
    python = wheel.environment(tmp_path / "empty", beside=True)
    wheel.install(python, "--no-index", "--no-deps", "--no-compile", str(built))
    place = wheel.run(
        python, "python", "-c", "import divulge; print(divulge.__file__)", folder=tmp_path
    )
    assert Path(place.strip()).is_relative_to(tmp_path / "empty")
    assert wheel.run(python, "divulge", "--version", folder=tmp_path) == f"divulge {__version__}\n"
    assert "Nobody in this demonstration exists" in wheel.run(
        python, "divulge", "demo", "--rows", "200", folder=tmp_path
    )
    assert (tmp_path / "divulge-demo" / "release" / "manifest.json").is_file()
    # An extra of what is installed is asked of no index for divulge itself, which none has yet.
    wheel.install(python, "--no-index", "divulge[model]")
    # pytest finds the fixture by the entry point.
    (tmp_path / "people.csv").write_text("zip\n1\n1\n", encoding="utf-8")
    (tmp_path / "test_people.py").write_text(TEST, encoding="utf-8")
    told = wheel.run(
        python,
        "python",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_people.py",
        folder=tmp_path,
    )
    assert "1 passed" in told
