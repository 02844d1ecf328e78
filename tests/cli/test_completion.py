# SPDX-License-Identifier: Apache-2.0
"""Shell completion of commands, options, choices and columns, in real shells."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from divulge.cli.main import run
from tests.helpers import run_cli

ROOT = Path(__file__).parents[2]
KEYS = "divulge check t.csv --sensitive dis\t"
TABLE = "zip,age,zone,disease\n04227,29,N,flu\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with `divulge` on its PATH and a table in it."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "divulge"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m divulge "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path


def environment(home: Path, **more: str) -> dict[str, str]:
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    return {
        "HOME": str(home),
        "PATH": path,
        "PYTHONPATH": str(ROOT / "src"),
        "TERM": "dumb",
        "PS1": "> ",
        **more,
    }


def divulge(home: Path, *arguments: str, **more: str) -> str:
    done = subprocess.run(
        [str(home / "bin" / "divulge"), *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
        env=environment(home, **more),
    )
    return done.stdout


def offered(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the completions that bash receives at the end of a line."""
    words = line.split(" ")
    monkeypatch.setenv("_DIVULGE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit):
        run([])
    return out.getvalue().split()


@pytest.mark.parametrize(
    ("line", "some", "none"),
    [
        ("divulge me", ["measure", "metrics"], ["check"]),
        ("divulge --s", ["--show-completion"], ["measure"]),
        ("divulge hierarchy b", ["build"], ["cut"]),
        ("divulge check t.csv --k-a", ["--k-anonymity"], []),
        ("divulge check t.csv --itp", [], ["--itpr"]),  # hidden, but accepted
        ("divulge check t.csv --promise l_d", ["l_diversity"], ["--l-diversity"]),
        ("divulge measure t.csv --by entropy_l", ["entropy_leakage"], ["k_anonymity"]),
        ("divulge generalize t.csv --method m", ["mondrian"], ["full-domain"]),
        ("divulge generalize t.csv --format p", ["parquet"], ["csv"]),
        ("divulge generalize t.csv --objective d", ["discernibility"], ["loss"]),
        ("divulge check t.csv --engine ", ["duckdb", "spark"], []),
        ("divulge check t.csv --qi z", ["zip", "zone"], ["age"]),
        (
            "divulge check --k-anonymity 5 t.csv --qi zip,",
            ["zip,age", "zip,zone", "zip,disease"],
            ["zip,zip"],
        ),
        ("divulge check t.csv --sensitive d", ["disease"], ["zip"]),
        ("divulge check t.csv --identifier ", ["zip", "age", "zone", "disease"], []),
        ("divulge check t.csv --person a", ["age"], ["zip"]),
        ("divulge check t.csv --weight a", ["age"], ["zip"]),
        ("divulge anatomize t.csv --sensitive d", ["disease"], ["zip"]),
        ("divulge compare t.csv u.csv --qi z", ["zip", "zone"], ["age"]),
        ("divulge check no.csv --qi z", [], ["zip"]),
    ],
)
def test_completions(
    home: Path, line: str, some: list[str], none: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    found = offered(line, monkeypatch)
    assert set(some) <= set(found)
    assert not set(none) & set(found)


def type_into(shell: list[str], home: Path, keys: str, until: str) -> str:
    """Return the output of a shell in a terminal after these keys; it must contain `until`."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(home)
        os.execvpe(shell[0], shell, environment(home))  # noqa: S606 - the shell itself is what is tried
    shown, deadline = "", time.monotonic() + 30
    try:
        while "> " not in shown and time.monotonic() < deadline:
            shown += _read(terminal)
        if shell[0] == "bash":  # as its start would, without the settings of this machine
            os.write(terminal, b"source .bashrc\n")
        os.write(terminal, keys.encode())
        shown = ""
        while until not in shown and time.monotonic() < deadline:
            shown += _read(terminal)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    return shown


def _read(terminal: int) -> str:
    ready, _, _ = select.select([terminal], [], [], 0.5)
    try:
        return os.read(terminal, 4096).decode(errors="replace") if ready else ""
    except OSError:
        return ""


@pytest.mark.slow
def test_bash_completes_and_installs_only_below_home(home: Path) -> None:
    before = set(home.rglob("*"))
    told = divulge(home, "--install-completion", "bash")
    written = {
        path.relative_to(home).as_posix()
        for path in home.rglob("*")
        if path.is_file() and path not in before
    }
    assert written == {".bashrc", ".bash_completions/divulge.sh"}
    assert str(home / ".bash_completions/divulge.sh") in told
    assert "disease " in type_into(["bash", "--norc", "-i"], home, KEYS, "disease ")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here: apt-get install zsh")
def test_zsh_completes(home: Path) -> None:
    divulge(home, "--install-completion", "zsh")
    assert (home / ".zfunc" / "_divulge").is_file()
    settings = (home / ".zshrc").read_text(encoding="utf-8").replace("compinit\n", "compinit -u\n")
    (home / ".zshrc").write_text(f"{settings}PROMPT='> '\n", encoding="utf-8")
    # The first key loads Typer's lines, the second completes "dis".
    assert type_into(["zsh", "-i"], home, f"{KEYS}\t", "ease ").endswith("ease ")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here: apt-get install fish")
def test_fish_completes(home: Path) -> None:
    divulge(home, "--install-completion", "fish")
    asked = ["fish", "-c", "complete -C 'divulge check t.csv --qi z'"]
    done = subprocess.run(
        asked, capture_output=True, text=True, check=True, cwd=home, env=environment(home)
    )
    assert done.stdout.split() == ["zip", "zone"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_printed(shell: str) -> None:
    assert f"_DIVULGE_COMPLETE=complete_{shell}" in run_cli("--show-completion", shell).out


def test_an_unknown_shell_is_rejected() -> None:
    refused = run_cli("--show-completion", "bsh")
    assert (refused.code, "did you mean 'bash'" in refused.err) == (2, True)


def test_a_link_that_leads_out_of_home_is_not_written(
    home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "bashrc"
    outside.write_text("mine\n", encoding="utf-8")
    (home / ".bashrc").symlink_to(outside)
    monkeypatch.setenv("HOME", str(home))
    refused = run_cli("--install-completion", "bash")
    assert (refused.code, outside.read_text(encoding="utf-8")) == (2, "mine\n")
    assert "leads out of the home folder" in refused.err
