# SPDX-License-Identifier: Apache-2.0
"""Requests that no page sends: the answer is a status below 500, and the worker process
survives.
"""

from __future__ import annotations

import io
import json
import queue
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import divulge as dv

pytest.importorskip("starlette")
from divulge.studio import server
from divulge.studio.session_state import SessionState
from divulge.studio.tabs import TABS, load_tab
from divulge.studio.worker import Worker
from tests.studio.served import Served, studio

VALUES: list[Any] = [
    "",
    None,
    True,
    False,
    0,
    -1,
    1e308,
    1.5,
    2**62,
    "x",
    "age",
    "</script>",
    "../x",
    "{",
    "patients.csv",
    [],
    {},
    [1],
    {"a": 1},
    {"age": {"intervals": [5]}},
    ["age", "zip"],
    {"k_anonymity": 5},
]
FIELDS = (*SessionState().to_dict(), "unknown")
KEYS = (
    "quasi_identifiers",
    "sensitive",
    "promises",
    "hierarchies",
    "adversary",
    "suppression",
    "method",
    "unknown",
)
DEEP = ["[" * 200_000, '{"a":' * 5_000, "[" * 500 + "]" * 500, '{"a":' * 40 + "1" + "}" * 40]
NOT_JSON = [
    "",
    "{",
    "NaN",
    '{"a": NaN}',
    '{"a": 1e999}',
    '{"a": -Infinity}',
    '{"a": ' + "9" * 5000 + "}",
]
NO_VALUE = ['"\\ud800"', '{"\\u0000": 1}', '["a\\u0000b"]', str(2**63), "[1e400]"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("requests")
    pyarrow.csv.write_csv(dv.datasets.patients(rows=100, seed=3), folder / "patients.csv")
    with studio(folder) as running:
        yield running


@pytest.fixture(scope="module")
def cookie(served: Served) -> str:
    return served.enter()


@pytest.fixture(scope="module")
def page(served: Served, cookie: str) -> str:
    """One page, whose worker process has to survive all requests that are rejected."""
    return served.new_page(cookie)


@pytest.mark.parametrize("body", [*DEEP, *NOT_JSON, *NO_VALUE], ids=lambda text: text[:20])
def test_bodies_that_no_page_can_send_raise_an_error(body: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever its text, the answer is one
        server._parse_json(body.encode())  # noqa: SLF001


def test_the_request_of_a_page_is_parsed() -> None:
    body = {
        "place": "table",
        "changes": [["open", "", "é.csv"], ["bound", "k_anonymity", 5.5]],
        "tab": "x",
    }
    nested: Any = 1
    for _ in range(30):
        nested = [nested]
    documents: list[Any] = [body, SessionState().to_dict(), nested, [], 2**63 - 1]
    for document in documents:
        assert server._parse_json(json.dumps(document).encode()) == document  # noqa: SLF001


@pytest.mark.parametrize("path", ["ask", "back"])
@pytest.mark.parametrize(
    "body", [*DEEP, "[]", "1", '"x"', '{"place": 1}', '{"changes": []}'], ids=lambda text: text[:20]
)
def test_bad_bodies_are_bad_requests(
    served: Served, cookie: str, page: str, path: str, body: str
) -> None:
    is_object = path == "back" and body in ('{"place": 1}', '{"changes": []}')
    if is_object:  # it replaces the state of the page
        page = served.new_page(cookie)
    status = served.post(f"/w/{page}/{path}", cookie, body).split()[1]
    assert status == ("200" if is_object else "404" if body == '{"place": 1}' else "400")
    assert served.post(f"/w/{page}/ask", cookie, '{"place": "table"}').startswith("HTTP/1.1 200")


@pytest.mark.parametrize(
    "state",
    [
        {"source": 1},
        {"unknown": 1},
        {"document": {"promises": 3}},
        {"reading": {"engine": "x"}, "source": "patients.csv"},
    ],
    ids=repr,
)
def test_a_page_restored_from_an_invalid_state_has_a_worker(
    served: Served, cookie: str, state: dict[str, Any]
) -> None:
    name = "".join(random.Random(repr(state)).choices(string.ascii_letters, k=12))  # noqa: S311 - an address
    assert served.post(f"/w/{name}/back", cookie, json.dumps(state)).startswith("HTTP/1.1 200")
    for _ in range(2):
        answer = served.post(f"/w/{name}/ask", cookie, '{"place": "table"}')
        assert answer.startswith("HTTP/1.1 200")
        assert "ended before it was done" not in answer
        assert '"end"' not in answer
    assert "cannot be read" not in answer  # said once


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "NOTHING"]
)
def test_other_methods_are_not_allowed(served: Served, cookie: str, page: str, method: str) -> None:
    own = f"http://127.0.0.1:{served.port}"
    for path in ("ask", "cancel", "back", "file"):
        status = served.status(
            f"{method} /w/{page}/{path}", Origin=own, Cookie=cookie, Content_Length="0"
        )
        assert status in (404, 405), (method, path)
    for path in (
        "/",
        f"/w/{page}",
        f"/w/{page}/table",
        "/static/studio.js",
        f"/w/{page}/paper/report.html",
    ):
        status = served.status(f"{method} {path}", Origin=own, Cookie=cookie, Content_Length="0")
        assert status in ((200, 303, 404) if method in ("GET", "HEAD") else (405,)), (method, path)


def drawn_work(draw: random.Random) -> dict[str, Any]:
    """Return a description of a page with fields of any type."""
    state = {name: draw.choice(VALUES) for name in draw.sample(FIELDS, draw.randrange(1, 4))}
    if draw.random() < 0.6:
        state["source"] = "patients.csv"
    if draw.random() < 0.5:
        state["document"] = {draw.choice(KEYS): draw.choice(VALUES) for _ in range(2)}
    if draw.random() < 0.3:
        keys = ("against", "knows", "tables", "condition", "database", "records")
        state["arguments"] = {draw.choice(TABS): {draw.choice(keys): draw.choice(VALUES)}}
    return state


def test_any_description_of_a_page_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, quick: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(dv.datasets.patients(rows=100, seed=3), tmp_path / "patients.csv")
    draw = random.Random(27)  # noqa: S311 - requests, no secret
    for _ in range(20 if quick else 150):
        state = drawn_work(draw)
        output = io.StringIO()
        worker = Worker(queue.Queue(), output)
        worker.folder = str(tmp_path)
        worker._restore_page(state)  # noqa: SLF001
        worker._answer_request(load_tab, {"place": draw.choice(TABS), "to": 1}, renders=True)  # noqa: SLF001
        messages = [json.loads(line) for line in output.getvalue().splitlines()]
        assert messages[-1] == {"end": True, "to": 1}
        errors = [message["error"] for message in messages if "error" in message]
        assert not [error for error in errors if "bug" in error], (state, errors)
