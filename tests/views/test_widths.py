# SPDX-License-Identifier: Apache-2.0
"""Tables on terminals of any width: none loses a column or a digit."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from divulge.results import as_lines
from divulge.views.words import grid, number
from tests.helpers import run_cli

WIDTHS = (60, 80, 100, 200)
ROWS = [("476**", "2*", "m"), ("476**", "3*", "f"), ("4790*", ">=40", "m"), ("4790*", ">=40", "f")]


def on_terminal(columns: int, *arguments: str) -> str:
    """What a command shows on a terminal with so many columns, without colours."""
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "divulge", *arguments]
    started = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=subprocess.DEVNULL, env={**environment, "TERM": "xterm"}
    )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the command has left
        while part := os.read(ours, 65536):
            shown += part
    os.close(ours)
    assert started.wait() == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())


@pytest.fixture
def table(tmp_path: Path) -> str:
    lines = [",".join((*row, disease)) for row in ROWS for disease in ("flu", "cancer", "heart disease")]
    path = tmp_path / "t.csv"
    path.write_text("postal_code,age_group,sex,main_diagnosis\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_ranking_keeps_names_and_digits(table: str, columns: int) -> None:
    asked = ("rank", table, "--qi", "postal_code,age_group,sex", "--sensitive", "main_diagnosis")
    document, shown = run_cli(*asked, "--json").json(), on_terminal(columns, *asked)
    for item in document["combinations"]:
        for name in item["columns"]:
            assert name in shown
        for value in (*item["identity"].values(), *item["sensitive"]["main_diagnosis"].values()):
            assert f"{value:.4f}" in shown or f"{value:,}" in shown
    assert max(map(len, shown.splitlines())) <= columns


@pytest.mark.parametrize("columns", [60, 80])
def test_a_measurement_keeps_every_metric(table: str, columns: int) -> None:
    asked = ("measure", table, "--qi", "postal_code,age_group,sex", "--sensitive", "main_diagnosis")
    document, shown = run_cli(*asked, "--json").json(), on_terminal(columns, *asked)
    for name, value in (*document["identity"].items(), *document["sensitive"]["main_diagnosis"].items()):
        assert re.search(rf"(?m)^{name} +{re.escape('infinite' if value == 'inf' else number(value))} ", shown)
    assert max(map(len, shown.splitlines())) <= columns


@pytest.mark.parametrize("columns", [60, 80])
def test_a_profile_and_the_metrics_keep_every_row(table: str, columns: int) -> None:
    shown = on_terminal(columns, "profile", table)
    for item in run_cli("profile", table, "--json").json()["columns"]:
        assert {item["column"], item["role"], f"{item['entropy']:.2f}", f"{item['itpr']:.2f}"} <= set(shown.split()) | {
            item["role"]
        }
    shown = on_terminal(columns, "metrics")
    for metric in run_cli("metrics", "--json").json()["metrics"]:
        assert set(f"{metric['name']} {metric['promise']}".split()) <= set(shown.split())


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_table_keeps_every_cell(columns: int) -> None:
    heads = ["name", *(f"share of {place}" for place in range(12))]
    sheet = grid(*heads, "why", right=range(1, 13), prose=1)
    cells = [f"{place / 7919:.12f}" for place in range(1, 25)]
    for start in (0, 12):
        sheet.add_row(f"row_{start}", *cells[start : start + 12], f"because of {start}, which is a long story " * 3)
    lines = as_lines(sheet, width=columns).splitlines()
    shown = " ".join(" ".join(lines).split())
    assert [cell for cell in cells if cell not in shown] == []
    assert [head for head in heads if head.split()[-1] not in shown] == []
    assert shown.count("because of 12, which is a long story") == 3
    assert max(map(len, lines)) <= columns
