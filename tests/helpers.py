# SPDX-License-Identifier: Apache-2.0
"""Helpers of several tests: running a command in this process, and gathering adversary options."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import divulge as dv
from divulge.adversary import Adversary
from divulge.api.check_groups import ReleaseCheck
from divulge.cli.main import run
from divulge.policy import Verdict


def with_adversary(options: Mapping[str, Any]) -> dict[str, Any]:
    """Gather the adversary's options in one."""
    hers = {field.name for field in fields(Adversary)}
    others = {name: value for name, value in options.items() if name not in hers}
    said = {name: value for name, value in options.items() if name in hers}
    return {**others, "adversary": Adversary(**said)} if said else others


def verdict_of(*args: Any, **options: Any) -> Verdict:
    """Check something that has classes."""
    verdict = dv.check(*args, **options)
    assert isinstance(verdict, Verdict)
    return verdict


def group_check_of(*args: Any, **options: Any) -> ReleaseCheck:
    """Check the groups of an anatomized release."""
    release_check = dv.check(*args, **options)
    assert isinstance(release_check, ReleaseCheck)
    return release_check


def without_digests(text: str) -> str:
    """Remove hashes and release ids, in which any short number occurs by chance."""
    return re.sub(r"\b[0-9a-f]{32,}\b", "", text)


@dataclass(frozen=True)
class CliResult:
    """Exit code and output of one command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return the JSON object on standard output; fail if there is anything else."""
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
