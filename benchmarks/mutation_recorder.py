# SPDX-License-Identifier: Apache-2.0
"""Pytest plugin that records the statements of src/divulge that each test executes.

`python -m benchmarks.mutants` loads it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest
from hypothesis import settings

from benchmarks.mutation import RECORD, take_executed
from tests.conftest import ELSEWHERE, FEW_CASES

FEW_EXAMPLES = 5
_report: dict[str, Any] = {}
_outcome: dict[str, bool] = {}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Limit every property to few examples, and note which tests `make quick` runs."""
    cases: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        elsewhere = bool(ELSEWHERE & {mark.name for mark in item.iter_markers()})
        cases[test] += not elsewhere
        item.stash[QUICK] = not elsewhere and cases[test] <= FEW_CASES
        function = getattr(item, "obj", None)
        function = getattr(function, "__func__", function)
        own = getattr(function, "_hypothesis_internal_use_settings", None)
        if own is not None:
            few = settings(own, max_examples=min(own.max_examples, FEW_EXAMPLES))
            function._hypothesis_internal_use_settings = few  # type: ignore[union-attr] # noqa: SLF001 - the only way


def name_without_group(item: pytest.Item) -> str:
    """Return the name by which pytest finds a test.

    pytest-xdist appends the group to it, which pytest does not accept.
    """
    group = item.get_closest_marker("xdist_group")
    return item.nodeid if group is None else item.nodeid.removesuffix(f"@{group.args[0]}")


QUICK = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record one test.

    Statements that its fixtures execute count for every test of its file, because fixtures are
    shared.
    """
    take_executed()
    _report.clear()
    _outcome.clear()
    result = yield
    executed = take_executed()
    seconds = _report.pop("seconds", 0.0)
    marks = sorted(ELSEWHERE & {mark.name for mark in item.iter_markers()})
    record = {
        "test": name_without_group(item),
        "node": item.nodeid,
        "file": item.path.relative_to(item.config.rootpath).as_posix(),
        "seconds": seconds,
        "quick": item.stash[QUICK],
        "marks": marks,
        "passed": all(_outcome.values()) and bool(_outcome.get("call")),
        "fixtures": _report.get("setup", {}),
        "lines": executed,
    }
    _stream().write(json.dumps(record) + "\n")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Record the statements of fixtures separately."""
    result = yield
    _report["setup"] = take_executed()
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the outcome and the duration of each phase."""
    _outcome[str(report.when)] = report.passed
    _report["seconds"] = _report.get("seconds", 0.0) + report.duration


_streams: list[TextIO] = []


def pytest_unconfigure() -> None:
    """Close the file of this process."""
    for stream in _streams:
        stream.close()
    _streams.clear()


def _stream() -> TextIO:
    if not _streams:
        folder = Path(os.environ[RECORD]) / "tests"
        folder.mkdir(parents=True, exist_ok=True)
        _streams.append((folder / f"{os.getpid()}.jsonl").open("w", encoding="utf-8", buffering=1))
    return _streams[0]
