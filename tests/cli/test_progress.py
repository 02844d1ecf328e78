# SPDX-License-Identifier: Apache-2.0
"""Bars: on a terminal only, one at a time, gone when the work is done."""

from __future__ import annotations

import io
import logging
import re
import sys
import time
from pathlib import Path

import pytest

from divulge.cli import progress
from divulge.cli.progress import progress_bar, statement_bar
from tests.helpers import run_cli


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_nothing_is_shown_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert statement_bar() is None
    with progress_bar("combinations") as bar:
        assert bar is None


def test_a_long_statement_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    bar = statement_bar()
    assert bar is not None
    for _ in range(2):  # the second statement has a bar again
        bar(0, 100)
        bar(40, 100)
        bar(100, 100)
    assert screen.getvalue().count("counting") >= 2
    assert "100%" in screen.getvalue()


def test_one_bar_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    bar = statement_bar()
    assert bar is not None
    with progress_bar("combinations") as follow:
        assert follow is not None
        follow(1, 2)
        bar(10, 100)
        bar(100, 100)
    assert "combinations" in screen.getvalue()
    assert "counting" not in screen.getvalue()
    bar(10, 100)
    bar(100, 100)
    assert "counting" in screen.getvalue()


def test_long_work_shows_a_pulse_with_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0.2)
    with progress.followed(["measure"]) as given:
        logging.getLogger("divulge.generalization").info("searching")
        assert screen.getvalue() == ""
        time.sleep(0.7)
    assert given == ["measure"]
    assert "searching (" in screen.getvalue()
    before = screen.getvalue()
    time.sleep(0.3)
    assert screen.getvalue() == before


def test_a_bar_takes_the_line_from_the_pulse(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0.1)
    with progress.followed([]):
        time.sleep(0.5)
        with progress_bar("combinations") as bar:
            assert bar is not None
            told = len(screen.getvalue())
            bar(1, 2)
            time.sleep(0.5)
        assert "combinations" in screen.getvalue()[told:]
        assert "at work" not in screen.getvalue()[told:]


def test_steps_are_logged_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n1,3\n", encoding="utf-8")
    call = ("measure", str(path), "--qi", "a")
    assert run_cli(*call).err == ""
    told = run_cli(*call, "--verbose").err
    assert "divulge.sources INFO reading" in told
    assert "DEBUG" not in told
    monkeypatch.setenv("DIVULGE_LOG", "debug")
    assert re.search(r"divulge.engines DEBUG .* s: .*SELECT", run_cli(*call).err)
    monkeypatch.setenv("DIVULGE_LOG", "loud")
    assert (run_cli(*call).code, "debug, info" in run_cli(*call).err) == (2, True)


def test_a_bug_report_has_the_versions_of_all_parts_and_no_path() -> None:
    told = run_cli("--version", "--verbose").out
    assert {"divulge", "Python", "duckdb", "numpy", "pyarrow"} <= {
        line.split()[0] for line in told.splitlines()
    }
    assert str(Path.home()) not in told
