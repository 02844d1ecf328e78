# SPDX-License-Identifier: Apache-2.0
"""The worker without a page: any request is answered by a message, and the state is kept."""

from __future__ import annotations

import io
import json
import logging
import queue
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import divulge as dv
from divulge.studio.session_state import SessionState
from divulge.studio.tabs import TABS, load_tab, promises
from divulge.studio.tabs.tab import measure_original
from divulge.studio.worker import Worker

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
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    """A worker with a few patients and the policy of their hospital.

    Nothing is logged, because a lone surrogate cannot be sent between processes.
    """
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(dv.datasets.patients(rows=100, seed=3), tmp_path / "patients.csv")
    (tmp_path / "hospital.toml").write_text(dv.datasets.POLICY, encoding="utf-8")
    found = Worker(queue.Queue(), io.StringIO())
    found.folder = str(tmp_path)
    assert told(found, "table", ("open", "", "patients.csv"), ("policy", "", "hospital.toml")) == []
    logging.disable()
    yield found
    logging.disable(logging.NOTSET)


def told(
    worker: Worker, place: str, *changes: tuple[str, str, Any], shown: bool = False
) -> list[str]:
    """Return the errors in the answer to a request."""
    before = worker._output.tell()  # noqa: SLF001 - a pipe, which is a text here
    request = {"place": place, "changes": list(changes), "to": 1}
    worker._answer_request(load_tab, request, renders=shown)  # noqa: SLF001
    worker._output.seek(before)  # noqa: SLF001
    messages = [json.loads(line) for line in worker._output]  # noqa: SLF001
    return [message["error"] for message in messages if "error" in message]


@pytest.mark.parametrize("place", TABS)
def test_invalid_changes_are_rejected_with_a_message(worker: Worker, place: str) -> None:
    before = worker.state
    # which take nothing
    for name in set(load_tab(place).edits) - {"publish", "demo", "example"}:
        for of in ABOUT:
            for value in JUNK:
                errors = told(worker, place, (name, of, value))
                assert not [error for error in errors if "bug" in error or "Traceback" in error], (
                    ascii((name, of, value))
                )
                assert not errors or worker.state == before
                worker.state = before


def test_a_failing_request_changes_nothing(worker: Worker) -> None:
    before = worker.state
    changes = (("bound", "k_anonymity", 7), ("bound", "k_anonymity", "many"))
    assert told(worker, "promises", *changes) == ["'many' is not a number"]
    assert worker.state == before
    assert told(worker, "promises", ("nothing", "", "")) == [
        "nothing is called 'nothing' in Promises"
    ]


def test_a_restarted_worker_has_its_state(worker: Worker) -> None:
    assert SessionState.from_dict(json.loads(json.dumps(worker.state.to_dict()))) == worker.state


def test_a_moving_slider_evicts_neither_the_table_nor_slow_results(worker: Worker) -> None:
    assert told(worker, "promises", shown=True) == []
    table, before = worker.table, measure_original(worker)
    for bound in range(2, 42):
        assert told(worker, "promises", ("bound", "k_anonymity", bound), shown=True) == []
    assert worker.table is table
    assert measure_original(worker) is before


def test_every_combination_of_kept_columns_has_its_loss(worker: Worker) -> None:
    """The release is among the combinations of kept columns, with its loss, and none costs less."""
    assert told(worker, "promises", ("method", "", "columns"), shown=True) == []
    release = promises.planned_release(worker)
    for found in (
        promises._front_points(worker, "entropy_leakage"),  # noqa: SLF001
        promises._feasible_nodes(worker, "entropy_leakage"),  # noqa: SLF001
    ):
        losses = {tuple(point.levels.items()): point.value for point in found.points}
        assert {level for levels in losses for _, level in levels} == {0, 1}
        assert losses[tuple(release.plan.levels.items())] == pytest.approx(release.plan.value)
    assert min(losses.values()) == pytest.approx(release.plan.value)
    assert told(worker, "promises", ("method", "", "full-domain"), shown=True) == []
    kept = promises._feasible_nodes(worker, "entropy_leakage")  # noqa: SLF001
    levels = [level for point in kept.points for level in point.levels.values()]
    assert max(levels) > 1


def test_a_page_of_a_stopped_studio_is_restored_as_far_as_possible(
    worker: Worker, tmp_path: Path
) -> None:
    before = worker.state
    for junk in (
        {"nothing": 1},
        {"document": 7},
        {"document": {"k_anonymity": "x"}},
        {"source": 3, "document": []},
    ):
        worker._restore_page(junk)  # noqa: SLF001 - as the server hands it on
        assert worker.state == SessionState()
        assert told(worker, "table", shown=True) == [
            "The studio was started again, and what this page was cannot be read"
        ]
    worker._restore_page(json.loads(json.dumps(before.to_dict())))  # noqa: SLF001
    assert told(worker, "promises", shown=True) == ["The studio was started again"]
    assert worker.state == before
    assert told(worker, "promises", shown=True) == []
    (tmp_path / "patients.csv").unlink()
    worker._restore_page(before.to_dict())  # noqa: SLF001
    assert told(worker, "table", shown=True) == ["The studio was started again"]
    assert (worker.has_table, worker.state.document) == (False, before.document)


def test_after_a_file_is_removed_another_can_be_opened(worker: Worker, tmp_path: Path) -> None:
    assert told(worker, "dossier", ("example", "", ""), shown=True) == []
    (tmp_path / "ann.json").unlink()
    (tmp_path / "patients.csv").unlink()
    worker._cache.clear()  # noqa: SLF001 - as in a desk that was started again
    for place, part in (("dossier", "Records that others hold"), ("table", "Path of a table")):
        assert len(told(worker, place, shown=True)) == 1
        worker._output.seek(0)  # noqa: SLF001
        assert part in worker._output.read()  # noqa: SLF001


@pytest.mark.parametrize("place", TABS)
def test_hidden_values_are_nowhere_on_the_page(worker: Worker, place: str) -> None:
    """Check a row-by-row rule, cut points, ruled-out values, a protection and a query."""
    hierarchies = {
        "sex": {"rows": {"female": ["zqperson"], "male": ["zqperson"]}},
        "age": {"cuts": [33.25, 71.25]},
    }
    document = {
        **worker.state.document,
        "hierarchies": hierarchies,
        "adversary": {"rule_out": {"diagnosis": ["Huntington's disease"]}},
        "protect": [{"where": {"age": ">= 71.25", "sex": "female"}, "k_anonymity": 2}],
    }
    arguments = {"anatomize": {"condition": "diagnosis = 'Huntington''s disease'"}}
    shown = replace(worker.state, document=document, arguments=arguments)
    for column in ("sex", "age"):
        worker.state = replace(shown, column=column)
        open_page = same_texts(worker, place)
        worker.state = replace(shown, column=column, hidden=True)
        hidden_page = same_texts(worker, place)
        for value in ("zqperson", "71.25", "Huntington", "female"):
            assert value in open_page["policy"]
            assert not [
                kind
                for kind in ("command", "python", "policy", "page")
                if value in hidden_page[kind]
            ]
        assert hidden_page["saved"] == open_page["policy"]
        assert "k_anonymity" in hidden_page["policy"]


def test_hidden_values_are_nowhere_on_the_page_of_a_dossier(worker: Worker) -> None:
    """Values of the records and names of the records; labels and numbers stay."""
    told(worker, "dossier", ("example", "", ""))
    open_page = same_texts(worker, "dossier")["page"]
    worker.state = replace(worker.state, hidden=True)
    hidden_page = same_texts(worker, "dossier")["page"]
    for value in ("insulin", "555-0101", "0815", "Ann Lee", "pharmacy", "bookshop"):
        assert value in open_page
        assert value not in hidden_page
    for text in ("medicine", "0.9889", "What to verify"):
        assert text in open_page
        assert text in hidden_page


def same_texts(worker: Worker, place: str) -> dict[str, str]:
    """Show a tab; return the command, the Python code and the policy of the page, and its HTML."""
    before = worker._output.tell()  # noqa: SLF001 - a pipe, which is a text here
    worker._answer_request(load_tab, {"place": place, "to": 1}, renders=True)  # noqa: SLF001
    worker._output.seek(before)  # noqa: SLF001
    messages = [json.loads(line) for line in worker._output]  # noqa: SLF001
    assert not [message for message in messages if "bug" in message.get("error", "")]
    page = "".join(message.get("html", "") + message.get("error", "") for message in messages)
    return {**next(message["same"] for message in messages if "same" in message), "page": page}


def test_reports_for_the_publisher_are_private(worker: Worker, tmp_path: Path) -> None:
    assert told(worker, "publish", ("out", "", "release"), ("publish", "", "")) == []
    papers = tmp_path / "release-papers"
    modes = {path.name: path.stat().st_mode & 0o777 for path in (papers, *papers.iterdir())}
    assert modes["release-papers"] == 0o700
    assert (modes["report.html"], modes["divulge.toml"]) == (0o600, 0o600)


@pytest.mark.parametrize(
    ("place", "changes"),
    [("publish", [("out", "", "release")]), ("anatomize", [("out", "", "release")])],
)
def test_a_publication_is_reported_though_the_page_has_asked_for_something_newer(
    worker: Worker, tmp_path: Path, place: str, changes: list[tuple[str, str, Any]]
) -> None:
    newer: dict[str, Any] = {"place": place, "to": 2}
    announce = worker.announce_release

    def announce_and_ask(folder: Path) -> None:
        announce(folder)
        worker._request_queue.put(newer)  # noqa: SLF001 - as the server does

    worker.announce_release = announce_and_ask  # type: ignore[method-assign]
    assert told(worker, place, *changes, ("publish", "", ""), shown=True) == []
    assert (tmp_path / "release" / "manifest.json").exists()
    assert worker._request_queue.get() == newer  # noqa: SLF001 - the next one to be answered
    page = same_texts(worker, place)["page"]
    assert "and verified" in page
    assert "manifest.json" in page
    assert "and verified" not in same_texts(worker, place)["page"]  # it is said once
