# SPDX-License-Identifier: Apache-2.0
"""Golden cases as files for the commands of `divulge dossier`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tests.dossier.oracle import golden
from tests.helpers import CliResult, run_cli

Write = Callable[[str, Any], str]


def record(entries: list[list[str]], name: str | None = None) -> dict[str, Any]:
    attributes = [
        {
            "label": label,
            "value": value,
            **({"confidence": float(Fraction(rest[0]))} if rest else {}),
        }
        for label, value, *rest in entries
    ]
    return {**({"id": name} if name else {}), "attributes": attributes}


def database(records: dict[str, list[list[str]]]) -> dict[str, Any]:
    return {"records": [record(entries, name) for name, entries in records.items()]}


def files(write: Write, name: str) -> tuple[dict[str, Any], list[str]]:
    """A golden case with the options that name its database and reference."""
    case = golden()[name]
    given = ["--database", write("R.json", database(case["inputs"]["R"]))]
    return case, [*given, "--reference", write("p.json", record(case["inputs"]["p"]))]


def dossier(*arguments: str) -> CliResult:
    return run_cli("dossier", *arguments)
