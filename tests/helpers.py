# SPDX-License-Identifier: Apache-2.0
"""What several tests share: running a command in this process and reading what it printed."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from typing import Any

from divulge.cli.main import run


@dataclass(frozen=True)
class CliResult:
    """Exit code and output of one command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The JSON object on standard output; fails if anything else stands there."""
        return json.loads(self.out)


def run_cli(*args: str, stdin: str | None = None) -> CliResult:
    """Run `divulge` with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.stdin
    if stdin is not None:
        sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(args)
    finally:
        sys.stdin = before
    return CliResult(code, out.getvalue(), err.getvalue())
