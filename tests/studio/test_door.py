# SPDX-License-Identifier: Apache-2.0
"""Who is let in: nobody without the token, no other page, no other name, no other interface; and nothing is left behind."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pyarrow.csv
import pytest

import divulge as dv

pytest.importorskip("starlette")
from tests.helpers import run_cli
from tests.studio.served import Served, studio


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for all."""
    with studio(tmp_path_factory.mktemp("studio")) as found:
        yield found


@pytest.fixture(scope="module")
def cookie(served: Served) -> str:
    """Of who came by the printed address."""
    return served.enter()


def test_the_token_is_good_once_and_the_cookie_is_kept_from_scripts(served: Served, cookie: str) -> None:
    assert served.status(f"GET /?token={served.token}") == 403  # it was used for the cookie
    assert served.status("GET /", Cookie=cookie) == 303
    answer = served.send("GET /static/studio.js", Cookie=cookie)
    assert answer.startswith("HTTP/1.1 200")
    assert "content-security-policy: default-src 'none'; script-src 'self'" in answer.lower()


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=guess", "/w/x/table", "/static/studio.js", "/w/x/alive"])
def test_without_the_cookie_nothing_is_told(served: Served, path: str) -> None:
    answer = served.send(f"GET {path}")
    assert answer.startswith("HTTP/1.1 403")
    assert "studio.js" not in answer
    assert served.status(f"GET {path}", Cookie=f"divulge-studio-{served.port}=guess") == 403


def test_a_name_of_somebody_else_that_leads_here_is_refused(served: Served, cookie: str) -> None:
    for host in (
        "evil.example",
        f"evil.example:{served.port}",
        "127.0.0.1",
        f"127.0.0.1.evil.example:{served.port}",
        "",
    ):
        assert served.status("GET /static/studio.js", Host=host, Cookie=cookie) == 403, host
    assert served.status("GET /static/studio.js", Host=f"localhost:{served.port}", Cookie=cookie) == 200
    assert served.status("GET /static/studio.js", Host=None, Cookie=cookie) in (400, 403)


def test_another_page_in_the_same_browser_is_refused(served: Served, cookie: str) -> None:
    own = f"http://127.0.0.1:{served.port}"
    for origin in ("https://evil.example", "http://127.0.0.1:1", "null", f"{own}.evil.example"):
        assert served.status("POST /w/x/ask", Origin=origin, Cookie=cookie, Content_Length="0") == 403, origin
        assert served.status("GET /static/studio.js", Origin=origin, Cookie=cookie) == 403, origin
    assert served.status("POST /w/x/ask", Cookie=cookie, Content_Length="0") == 403  # a page always says its origin
    assert served.status("POST /w/x/ask", Origin=own, Cookie=cookie, Content_Length="0") == 404  # there is no page x
    for site in ("cross-site", "same-site"):
        assert served.status("GET /static/studio.js", Sec_Fetch_Site=site, Cookie=cookie) == 403
    assert served.status("GET /static/studio.js", Sec_Fetch_Site="same-origin", Cookie=cookie) == 200


def test_there_is_no_websocket(served: Served, cookie: str) -> None:
    asked = {"Upgrade": "websocket", "Sec_WebSocket_Key": "x", "Sec_WebSocket_Version": "13"}
    own = f"http://127.0.0.1:{served.port}"
    answer = served.send("GET /w/x/ask", Origin=own, Cookie=cookie, Connection="Upgrade, close", **asked)
    assert not answer.startswith("HTTP/1.1 101")


def test_it_listens_on_this_machine_alone(served: Served) -> None:
    others = {item[4][0] for item in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others or {"127.0.0.2"}:
        with pytest.raises(OSError), socket.create_connection((str(address), served.port), timeout=2):  # noqa: PT011
            pass


def test_more_than_200_mb_are_refused_before_they_are_sent(served: Served, cookie: str) -> None:
    large = str(200 * 1024 * 1024 + 1)
    told = served.post(f"/w/{served.new_page(cookie)}/file?name=t.csv", cookie, Content_Length=large)
    assert told.startswith("HTTP/1.1 413")
    assert "larger than 200 MB" in told


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are not listed in /proc here")
def test_the_command_line_is_done_on_every_page_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(dv.datasets.patients(rows=100, seed=3), tmp_path / "patients.csv")
    (tmp_path / "hospital.toml").write_text(dv.datasets.POLICY, encoding="utf-8")
    (tmp_path / "opener").write_text('#!/bin/sh\necho "$1" > opened.new && mv opened.new opened\n', encoding="utf-8")
    (tmp_path / "opener").chmod(0o755)
    with studio(tmp_path, ["patients.csv", "--policy", "hospital.toml"], browser=f"{tmp_path}/opener %s") as found:
        cookie = found.enter()
        for _ in range(2):
            told = found.post(f"/w/{found.new_page(cookie)}/ask", cookie, '{"place": "risk"}')
            assert "patients.csv \\u00b7 100 rows" in told
            assert "Against what is promised" in told
        desks = _children(found.process.pid)
        assert len(desks) >= 2
        opened = (tmp_path / "opened").read_text(encoding="utf-8").strip()  # the browser gets a token of its own
        assert opened.startswith(f"http://127.0.0.1:{found.port}/?token=")
        assert opened != found.address
        assert found.status(f"GET {opened.partition(str(found.port))[2]}") == 303
    assert found.process.returncode == 0
    assert [pid for pid in desks if Path(f"/proc/{pid}").exists()] == []


def _children(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for task in tasks for child in task.read_text(encoding="utf-8").split()]


def test_it_stops_by_itself_when_no_page_is_open(tmp_path: Path) -> None:
    with studio(tmp_path, ["--stop-after", "0.01"]) as found:
        assert found.process.wait(30) == 0
    assert not found.process.poll()


def test_what_it_cannot_open_is_refused_before_it_starts(tmp_path: Path) -> None:
    missing = run_cli("studio", str(tmp_path / "nothing.csv"), "--no-browser")
    assert (missing.code, "there is no table" in missing.err) == (2, True)
    idle = run_cli("studio", "--policy", "divulge.toml", "--no-browser")
    assert (idle.code, "about a table" in idle.err) == (2, True)
