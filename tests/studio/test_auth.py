# SPDX-License-Identifier: Apache-2.0
"""Authentication: requests without the token, or from another page, host or interface, fail.

No process or file is left behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import divulge as dv

pytest.importorskip("starlette")
from divulge.studio.auth import AuthMiddleware
from tests.helpers import run_cli
from tests.studio.served import SOURCES, Served, studio


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One studio for all tests."""
    with studio(tmp_path_factory.mktemp("studio")) as found:
        yield found


@pytest.fixture(scope="module")
def cookie(served: Served) -> str:
    """Cookie of a browser that opened the printed address."""
    return served.enter()


def test_the_token_is_valid_once_and_scripts_cannot_read_the_cookie(
    served: Served, cookie: str
) -> None:
    assert served.status(f"GET /?token={served.token}") == 403  # it was used for the cookie
    assert served.status("GET /", Cookie=cookie) == 303
    answer = served.send("GET /static/studio.js", Cookie=cookie)
    assert answer.startswith("HTTP/1.1 200")
    assert "content-security-policy: default-src 'none'; script-src 'self'" in answer.lower()


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=guess", "/w/x/table", "/static/studio.js", "/w/x/alive"]
)
def test_requests_without_the_cookie_are_rejected(served: Served, path: str) -> None:
    answer = served.send(f"GET {path}")
    assert answer.startswith("HTTP/1.1 403")
    assert "studio.js" not in answer
    assert served.status(f"GET {path}", Cookie=f"divulge-studio-{served.port}=guess") == 403


def test_a_foreign_host_name_is_rejected(served: Served, cookie: str) -> None:
    for host in (
        "evil.example",
        f"evil.example:{served.port}",
        "127.0.0.1",
        f"127.0.0.1.evil.example:{served.port}",
        "",
    ):
        assert served.status("GET /static/studio.js", Host=host, Cookie=cookie) == 403, host
    assert (
        served.status("GET /static/studio.js", Host=f"localhost:{served.port}", Cookie=cookie)
        == 200
    )
    assert served.status("GET /static/studio.js", Host=None, Cookie=cookie) in (400, 403)


def test_another_page_in_the_same_browser_is_rejected(served: Served, cookie: str) -> None:
    own = f"http://127.0.0.1:{served.port}"
    for origin in ("https://evil.example", "http://127.0.0.1:1", "null", f"{own}.evil.example"):
        assert (
            served.status("POST /w/x/ask", Origin=origin, Cookie=cookie, Content_Length="0") == 403
        ), origin
        assert served.status("GET /static/studio.js", Origin=origin, Cookie=cookie) == 403, origin
    # a page always says its origin
    assert served.status("POST /w/x/ask", Cookie=cookie, Content_Length="0") == 403
    # there is no page x
    assert served.status("POST /w/x/ask", Origin=own, Cookie=cookie, Content_Length="0") == 404
    for site in ("cross-site", "same-site"):
        assert served.status("GET /static/studio.js", Sec_Fetch_Site=site, Cookie=cookie) == 403
    assert (
        served.status("GET /static/studio.js", Sec_Fetch_Site="same-origin", Cookie=cookie) == 200
    )


def test_there_is_no_websocket(served: Served, cookie: str) -> None:
    asked = {"Upgrade": "websocket", "Sec_WebSocket_Key": "x", "Sec_WebSocket_Version": "13"}
    own = f"http://127.0.0.1:{served.port}"
    answer = served.send(
        "GET /w/x/ask", Origin=own, Cookie=cookie, Connection="Upgrade, close", **asked
    )
    assert not answer.startswith("HTTP/1.1 101")


def test_it_listens_on_loopback_only(served: Served) -> None:
    others = {
        item[4][0] for item in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    } - {"127.0.0.1"}
    for address in others or {"127.0.0.2"}:
        with (
            pytest.raises(OSError),  # noqa: PT011
            socket.create_connection((str(address), served.port), timeout=2),
        ):
            pass


def test_uploads_over_200_mb_are_rejected_before_they_are_sent(served: Served, cookie: str) -> None:
    large = str(200 * 1024 * 1024 + 1)
    told = served.post(
        f"/w/{served.new_page(cookie)}/file?name=t.csv", cookie, Content_Length=large
    )
    assert told.startswith("HTTP/1.1 413")
    assert "larger than 200 MB" in told


def test_every_answer_has_a_strict_content_security_policy(served: Served, cookie: str) -> None:
    page = served.new_page(cookie)
    told = [
        served.send("GET /"),
        *(
            served.send(f"GET {path}", Cookie=cookie)
            for path in ("/nowhere", f"/w/{page}/table", "/static/page.js")
        ),
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
        assert {
            rules[name] for name in ("default-src", "base-uri", "form-action", "frame-ancestors")
        } == {"'none'"}
        assert {rules[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
        assert "unsafe" not in found["content-security-policy"]
        assert "access-control-allow-origin" not in found
        assert "server" not in found


def test_the_cookie_is_http_only_and_same_site(tmp_path: Path) -> None:
    with studio(tmp_path) as found:
        first = found.send(f"GET /?token={found.token}&token={found.token}")
        assert first.startswith("HTTP/1.1 403")
        answer = found.send(f"GET /?token={found.token}").lower()
        (line,) = [line for line in answer.split("\r\n") if line.startswith("set-cookie: ")]
        assert "httponly" in line
        assert "samesite=strict" in line
        assert "domain" not in line
        assert found.token.lower() not in answer  # the address that is left holds none


def test_a_token_is_accepted_only_by_get_of_the_root(tmp_path: Path) -> None:
    with studio(tmp_path) as running:
        own = f"http://127.0.0.1:{running.port}"
        asked = f"/?token={running.token}"
        for method in ("HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            answer = running.send(f"{method} {asked}", Origin=own, Content_Length="0")
            assert answer.startswith("HTTP/1.1 403"), method
            assert "set-cookie" not in answer.lower(), method
        for path in ("/w/x/table", "//", "/static/studio.js"):
            assert running.status(f"GET {path}?token={running.token}") == 403
        assert running.status(f"GET {asked}") == 303  # it was not used up


@pytest.mark.parametrize(
    "second", ["evil.example", "evil.example:{port}", "127.0.0.1:{port}", "localhost:{port}", ""]
)
def test_a_second_host_header_is_rejected_in_either_order(
    served: Served, cookie: str, second: str
) -> None:
    own, other = f"Host: 127.0.0.1:{served.port}", f"Host: {second.format(port=served.port)}"
    asked = ["GET /static/studio.js HTTP/1.1", f"Cookie: {cookie}", "Connection: close"]
    for hosts in ([own, other], [other, own]):
        lines = [asked[0], *hosts, *asked[1:], "", ""]
        with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
            connection.sendall("\r\n".join(lines).encode())
            assert connection.recv(65536).split()[1] in (b"400", b"403"), hosts
    headers = [(b"host", host.partition(": ")[2].encode()) for host in (own, other)]
    for order in (headers, headers[::-1]):  # whatever parser of HTTP is in front of it
        scope = {"headers": order, "method": "GET"}
        assert not AuthMiddleware(_nothing, port=served.port)._is_same_origin(scope)  # noqa: SLF001
    scope = {"headers": headers[:1], "method": "GET"}
    assert AuthMiddleware(_nothing, port=served.port)._is_same_origin(scope)  # noqa: SLF001


async def _nothing(*_: Any) -> None:
    """An application that answers nothing."""


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2f..%2fauth.py",
        "/static/../auth.py",
        "/static/%2e%2e/auth.py",
        "/static//etc/passwd",
        "/static/page.html",
    ],
)
def test_only_the_scripts_and_styles_of_the_page_are_served(
    served: Served, cookie: str, path: str
) -> None:
    assert served.status(f"GET {path}", Cookie=cookie) == 404


def test_reports_and_files_stay_in_their_folders(
    served: Served, cookie: str, tmp_path: Path
) -> None:
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
        assert served.post(f"/w/{page}/file?name={name}", cookie, "x").startswith("HTTP/1.1 404"), (
            name
        )
    # nothing is published yet
    for name in ("report.html", "..%2freport.html", "divulge.toml", "%2fetc%2fpasswd"):
        assert served.status(f"GET /w/{page}/paper/{name}", Cookie=cookie) == 404


def test_a_file_that_is_sent_without_its_size_is_cut_off_at_200_mb(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The limit is lowered to 200 bytes, which is possible within this process only."""
    from starlette.requests import Request

    from divulge.studio import server
    from divulge.studio.worker_process import WorkerProcess

    monkeypatch.setattr(server, "LARGEST_UPLOAD", 200)
    found = server.Studio(WorkerProcess(str(tmp_path)), str(tmp_path))
    scope = {
        "type": "http",
        "path_params": {"work": found.new_page()},
        "query_string": b"name=t.csv",
        "headers": [],
    }

    def sent(size: int) -> int:
        chunks = [
            {"type": "http.request", "body": b"x" * 50, "more_body": more > 0}
            for more in reversed(range(size // 50))
        ]

        async def receive() -> Any:
            return chunks.pop(0)

        return asyncio.run(found.upload(Request(scope, receive))).status_code

    with ThreadPoolExecutor() as aside:  # a browser of other tests may have a loop in this thread
        assert [aside.submit(sent, size).result() for size in (150, 250)] == [200, 413]
    found.close()
    # of the other nothing is left
    assert [path.stat().st_size for path in tmp_path.rglob("t.csv")] == [150]


def test_invalid_requests_are_rejected(served: Served, cookie: str) -> None:
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


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="processes are not listed in /proc here"
)
def test_every_page_starts_with_the_command_line_and_ctrl_c_cleans_up(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(dv.datasets.patients(rows=100, seed=3), tmp_path / "patients.csv")
    (tmp_path / "hospital.toml").write_text(dv.datasets.POLICY, encoding="utf-8")
    (tmp_path / "opener").write_text(
        '#!/bin/sh\necho "$1" > opened.new && mv opened.new opened\n', encoding="utf-8"
    )
    (tmp_path / "opener").chmod(0o755)
    with studio(
        tmp_path, ["patients.csv", "--policy", "hospital.toml"], browser=f"{tmp_path}/opener %s"
    ) as found:
        cookie = found.enter()
        for _ in range(2):
            told = found.post(f"/w/{found.new_page(cookie)}/ask", cookie, '{"place": "risk"}')
            assert "patients.csv \\u00b7 100 rows" in told
            assert "Against what is promised" in told
        desks = _children(found.process.pid)
        assert len(desks) >= 2
        # the browser gets a token of its own
        opened = (tmp_path / "opened").read_text(encoding="utf-8").strip()
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


def test_a_missing_table_is_rejected_before_the_server_starts(tmp_path: Path) -> None:
    missing = run_cli("studio", str(tmp_path / "nothing.csv"), "--no-browser")
    assert (missing.code, "there is no table" in missing.err) == (2, True)
    idle = run_cli("studio", "--policy", "divulge.toml", "--no-browser")
    assert (idle.code, "about a table" in idle.err) == (2, True)


def test_ctrl_c_is_the_normal_end_even_if_closing_takes_long() -> None:
    """A slow shutdown after Ctrl-C ended with exit code 130 after a second."""
    script = """
import signal, time
from divulge import signals
from divulge.studio import server

signals.install()
with server._ended_by_interrupt():
    signal.raise_signal(signal.SIGINT)
    time.sleep(60)
time.sleep(60)  # a slow close
"""
    environment = os.environ | {"PYTHONPATH": str(SOURCES)}
    process = subprocess.run(
        [sys.executable, "-c", script], check=False, env=environment, timeout=50
    )
    assert process.returncode == 0
