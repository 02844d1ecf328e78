# SPDX-License-Identifier: Apache-2.0
"""A desk without a page: whatever a request says, the answer is a sentence and what was decided stays; never a stack."""

from __future__ import annotations

import io
import json
import logging
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import divulge as dv
from divulge.studio.desk import Desk
from divulge.studio.places import PLACES, place_named, promises
from divulge.studio.places.place import measured_before
from divulge.studio.work import Work

JUNK: list[Any] = [
    "",
    None,
    [],
    {},
    True,
    -1,
    1e308,
    float("nan"),
    "nan",
    "</script>",
    "../nowhere",
    "\x00",
    "\ud800",
    "1/0",
    "age",
    "{",
]
ABOUT = ["", "age", "k_anonymity", "beta", "rule", "header", "nothing", '["diagnosis", "flu"]', "{"]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """With a few patients, and the policy of their hospital; nothing is logged, for half a character cannot go from process to process."""
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(dv.datasets.patients(rows=100, seed=3), tmp_path / "patients.csv")
    (tmp_path / "hospital.toml").write_text(dv.datasets.POLICY, encoding="utf-8")
    found = Desk(queue.Queue(), io.StringIO())
    found.folder = str(tmp_path)
    assert told(found, "table", ("open", "", "patients.csv"), ("policy", "", "hospital.toml")) == []
    logging.disable()
    yield found
    logging.disable(logging.NOTSET)


def told(desk: Desk, place: str, *changes: tuple[str, str, Any], shown: bool = False) -> list[str]:
    """The errors that a request is answered with."""
    before = desk._out.tell()  # noqa: SLF001 - a pipe, which is a text here
    desk._answer(place_named, {"place": place, "changes": list(changes), "to": 1}, shown=shown)  # noqa: SLF001
    desk._out.seek(before)  # noqa: SLF001
    messages = [json.loads(line) for line in desk._out]  # noqa: SLF001
    return [message["error"] for message in messages if "error" in message]


@pytest.mark.parametrize("place", PLACES)
def test_what_nobody_meant_is_refused_in_a_sentence(desk: Desk, place: str) -> None:
    before = desk.work
    for name in set(place_named(place).edits) - {"publish", "demo", "example"}:  # which take nothing
        for of in ABOUT:
            for value in JUNK:
                errors = told(desk, place, (name, of, value))
                assert not [error for error in errors if "bug" in error or "Traceback" in error], ascii(
                    (name, of, value)
                )
                assert not errors or desk.work == before
                desk.work = before


def test_nothing_is_half_done(desk: Desk) -> None:
    before = desk.work
    changes = (("bound", "k_anonymity", 7), ("bound", "k_anonymity", "many"))
    assert told(desk, "promises", *changes) == ["'many' is not a number"]
    assert desk.work == before
    assert told(desk, "promises", ("nothing", "", "")) == ["nothing is called 'nothing' in Promises"]


def test_a_desk_that_comes_back_is_where_it_was(desk: Desk) -> None:
    assert Work.from_dict(json.loads(json.dumps(desk.work.to_dict()))) == desk.work


def test_a_slider_that_moves_for_long_loses_neither_the_table_nor_what_is_slow_to_find(desk: Desk) -> None:
    assert told(desk, "promises", shown=True) == []
    table, before = desk.table, measured_before(desk)
    for bound in range(2, 42):
        assert told(desk, "promises", ("bound", "k_anonymity", bound / 40), shown=True) == []
    assert desk.table is table
    assert measured_before(desk) is before


def test_every_combination_of_columns_that_are_kept_or_dropped_is_what_it_says(desk: Desk) -> None:
    """Not one of the levels that the columns could have: the release is among them, with its loss, and nothing costs less."""
    assert told(desk, "promises", ("method", "", "columns"), shown=True) == []
    release = promises.released(desk)
    for found in (promises._front(desk, "entropy_leakage"), promises._kept_nodes(desk, "entropy_leakage")):  # noqa: SLF001
        losses = {tuple(point.levels.items()): point.value for point in found.points}
        assert {level for levels in losses for _, level in levels} == {0, 1}
        assert losses[tuple(release.plan.levels.items())] == pytest.approx(release.plan.value)
    assert min(losses.values()) == pytest.approx(release.plan.value)
    assert told(desk, "promises", ("method", "", "full-domain"), shown=True) == []
    kept = promises._kept_nodes(desk, "entropy_leakage")  # noqa: SLF001
    levels = [level for point in kept.points for level in point.levels.values()]
    assert max(levels) > 1


def test_a_page_of_another_studio_goes_on_as_far_as_it_can(desk: Desk, tmp_path: Path) -> None:
    before = desk.work
    for junk in ({"nothing": 1}, {"document": 7}, {"document": {"k_anonymity": "x"}}, {"source": 3, "document": []}):
        desk._come_back(junk)  # noqa: SLF001 - as the server hands it on
        assert desk.work == Work()
        assert told(desk, "table", shown=True) == [
            "The studio was started again, and what this page was cannot be read"
        ]
    desk._come_back(json.loads(json.dumps(before.to_dict())))  # noqa: SLF001
    assert told(desk, "promises", shown=True) == ["The studio was started again"]
    assert desk.work == before
    assert told(desk, "promises", shown=True) == []
    (tmp_path / "patients.csv").unlink()
    desk._come_back(before.to_dict())  # noqa: SLF001
    assert told(desk, "table", shown=True) == ["The studio was started again"]
    assert (desk.is_open, desk.work.document) == (False, before.document)


def test_where_a_file_has_gone_another_can_be_opened(desk: Desk, tmp_path: Path) -> None:
    assert told(desk, "dossier", ("example", "", ""), shown=True) == []
    (tmp_path / "ann.json").unlink()
    (tmp_path / "patients.csv").unlink()
    desk._kept.clear()  # noqa: SLF001 - as in a desk that was started again
    for place, part in (("dossier", "Records that others hold"), ("table", "Path of a table")):
        assert len(told(desk, place, shown=True)) == 1
        desk._out.seek(0)  # noqa: SLF001
        assert part in desk._out.read()  # noqa: SLF001
