# SPDX-License-Identifier: Apache-2.0
"""Who is let in: nobody without the token, no other page, no other name, no other interface; and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

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


def test_every_answer_forbids_the_page_all_but_its_own(served: Served, cookie: str) -> None:
    page = served.new_page(cookie)
    told = [
        served.send("GET /"),
        *(served.send(f"GET {path}", Cookie=cookie) for path in ("/nowhere", f"/w/{page}/table", "/static/page.js")),
    ]
    told.append(served.post(f"/w/{page}/ask", cookie, '{"place": "table"}'))
    wanted = {
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }
    for answer in told:
        head = answer.partition("\r\n\r\n")[0].split("\r\n")
        found = dict(line.lower().split(": ", 1) for line in head[1:])
        assert wanted.items() <= found.items(), head[0]
        rules = dict(rule.split(" ", 1) for rule in found["content-security-policy"].split("; "))
        assert {rules[name] for name in ("default-src", "base-uri", "form-action", "frame-ancestors")} == {"'none'"}
        assert {rules[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
        assert "unsafe" not in found["content-security-policy"]
        assert "access-control-allow-origin" not in found
        assert "server" not in found


def test_who_takes_the_cookie_gets_one_that_scripts_and_other_sites_do_not(tmp_path: Path) -> None:
    with studio(tmp_path) as found:
        first = found.send(f"GET /?token={found.token}&token={found.token}")
        assert first.startswith("HTTP/1.1 403")
        answer = found.send(f"GET /?token={found.token}").lower()
        (line,) = [line for line in answer.split("\r\n") if line.startswith("set-cookie: ")]
        assert "httponly" in line
        assert "samesite=strict" in line
        assert "domain" not in line
        assert found.token.lower() not in answer  # the address that is left holds none


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2f..%2fdoor.py",
        "/static/../door.py",
        "/static/%2e%2e/door.py",
        "/static//etc/passwd",
        "/static/page.html",
    ],
)
def test_only_the_scripts_and_styles_of_the_page_are_handed_out(served: Served, cookie: str, path: str) -> None:
    assert served.status(f"GET {path}", Cookie=cookie) == 404


def test_reports_and_files_stay_in_their_folders(served: Served, cookie: str, tmp_path: Path) -> None:
    page, outside = served.new_page(cookie), tmp_path / "outside.csv"
    for name in (
        "../../outside.csv",
        "..%2f..%2foutside.csv",
        f"{outside}",
        "..\\..\\outside.csv",
        "%00outside.csv",
        "a%0ab.csv",
    ):
        told = served.post(f"/w/{page}/file?name={name}", cookie, "age\n1\n")
        assert told.startswith("HTTP/1.1 200"), name
        kept = Path(json.loads(told.partition("\r\n\r\n")[2])["path"])
        assert kept.read_text(encoding="utf-8") == "age\n1\n"
        assert kept.parent.parent.name.startswith("divulge-")  # the private folder
        assert kept.parent.parent.stat().st_mode & 0o077 == 0
        assert kept.name.endswith("outside.csv") or kept.name == "a_b.csv"
    assert not outside.exists()
    for name in ("", ".", "..", "%2e%2e", "/"):
        assert served.post(f"/w/{page}/file?name={name}", cookie, "x").startswith("HTTP/1.1 404"), name
    for name in ("report.html", "..%2freport.html", "divulge.toml", "%2fetc%2fpasswd"):  # nothing is published yet
        assert served.status(f"GET /w/{page}/paper/{name}", Cookie=cookie) == 404


def test_a_file_that_is_sent_without_its_size_is_cut_off_at_200_mb(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In this process, where 200 MB can be 200 bytes."""
    from starlette.requests import Request

    from divulge.studio import server
    from divulge.studio.beside import Beside

    monkeypatch.setattr(server, "LARGEST_UPLOAD", 200)
    found = server.Studio(Beside(str(tmp_path)), str(tmp_path))
    scope = {"type": "http", "path_params": {"work": found.new()}, "query_string": b"name=t.csv", "headers": []}

    def sent(size: int) -> int:
        chunks = [
            {"type": "http.request", "body": b"x" * 50, "more_body": more > 0} for more in reversed(range(size // 50))
        ]

        async def receive() -> Any:
            return chunks.pop(0)

        return asyncio.run(found.file(Request(scope, receive))).status_code

    with ThreadPoolExecutor() as aside:  # a browser of other tests may have a loop in this thread
        assert [aside.submit(sent, size).result() for size in (150, 250)] == [200, 413]
    found.close()
    assert [path.stat().st_size for path in tmp_path.rglob("t.csv")] == [150]  # of the other nothing is left


def test_a_request_that_no_page_would_send_is_refused(served: Served, cookie: str) -> None:
    page = served.new_page(cookie)
    for body in (
        "",
        "{",
        "[]",
        '{"place": "nowhere"}',
        '{"place": "table", "changes": [1]}',
        '{"place": "table", "changes": "x"}',
    ):
        assert served.post(f"/w/{page}/ask", cookie, body).split()[1] in ("400", "404"), body
    large = '{"place": "table", "changes": [["open", "", "' + "x" * 1024 * 1024 + '"]]}'
    assert served.post(f"/w/{page}/ask", cookie, large).startswith("HTTP/1.1 400")
    for path in ("ask", "cancel", "back", "file"):  # a link or a picture can send no more than this
        assert served.status(f"GET /w/{page}/{path}", Cookie=cookie) in (404, 405)


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
