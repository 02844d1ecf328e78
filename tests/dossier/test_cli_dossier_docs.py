# SPDX-License-Identifier: Apache-2.0
"""The how-to page is right: its files, its commands and their output, and its Python."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.helpers import run_cli

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "dossier.md").read_text(encoding="utf-8")
BLOCKS = re.findall(
    r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', PAGE, flags=re.MULTILINE | re.DOTALL
)
COMMANDS = [
    (command.strip(), output)
    for (kind, _, command), (next_kind, _, output) in pairwise(BLOCKS)
    if (kind, next_kind) == ("sh", "text")
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _, name, text in BLOCKS:
        if name:
            (tmp_path / name).write_text(text, encoding="utf-8")


def test_every_command_shows_its_output() -> None:
    assert len(COMMANDS) == sum(kind == "sh" for kind, _, _ in BLOCKS) == 9


@pytest.mark.parametrize(("command", "output"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_the_page_shows(command: str, output: str) -> None:
    found = run_cli(*command.split()[1:])
    assert (found.code, found.err) == (0, "")
    assert found.out.strip() == output.strip()


def test_the_python_runs() -> None:
    (program,) = (text for kind, _, text in BLOCKS if kind == "python")
    names: dict[str, object] = {}
    exec(program, names)  # noqa: S102 - our own page
    assert getattr(names["best"], "name", None) == "card 1"
