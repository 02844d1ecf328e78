# SPDX-License-Identifier: Apache-2.0
"""Bars: on a terminal only, one at a time, gone when the work is done."""

from __future__ import annotations

import io
import sys

import pytest

from divulge.cli.options import progress_bar, statement_bar


class Terminal(io.StringIO):
    """Standard error of somebody who sits in front of it."""

    def isatty(self) -> bool:
        return True


def test_nothing_is_shown_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert statement_bar() is None
    with progress_bar("combinations") as progress:
        assert progress is None


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
    with progress_bar("combinations") as progress:
        assert progress is not None
        progress(1, 2)
        bar(10, 100)
        bar(100, 100)
    assert "combinations" in screen.getvalue()
    assert "counting" not in screen.getvalue()
    bar(10, 100)
    bar(100, 100)
    assert "counting" in screen.getvalue()
