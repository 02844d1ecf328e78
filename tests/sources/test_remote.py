# SPDX-License-Identifier: Apache-2.0
"""Remote tables: a web server, an S3 server (moto's), standard input.

Secrets are never shown.
"""

from __future__ import annotations

import base64
import gzip
import io
import sys
import threading
import traceback
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency
from divulge.sources import remote
from divulge.sources.paths import Address
from tests.helpers import run_cli

TABLE = "zip,age,disease\n00100,30,flu\n00100,30,cold\n00200,41,flu\n"
SECRET = "hunter2"  # noqa: S105 - the tests look for it
ROLES = ("--qi", "zip,age", "--sensitive", "disease")


class Web(BaseHTTPRequestHandler):
    """Serves a CSV file to everybody, and under /private to clients with the password."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        token = base64.b64encode(f"ann:{SECRET}".encode()).decode()
        if path.startswith("/private") and self.headers.get("Authorization") != f"Basic {token}":
            self.send_error(403)
            return
        if path == "/moved.csv":
            self.send_response(302)
            self.send_header("Location", "/people.csv")
            self.end_headers()
            return
        if path == "/gone.csv":
            self.send_error(404)
            return
        body = gzip.compress(TABLE.encode()) if path.endswith(".gz") else TABLE.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + 9 * (path == "/cut.csv")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    )
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def s3(moto: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {
        "AWS_ENDPOINT_URL": moto,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIDHUNTER",
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }.items():
        monkeypatch.setenv(name, value)
    return moto


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    """Yield the address of an S3 server with the bucket clinic."""
    pytest.importorskip("obstore", reason="pip install '.[cloud]'")
    server_of = pytest.importorskip("moto.server", reason="pip install 'moto[s3]' flask flask-cors")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    bucket = urllib.request.Request(f"{address}/clinic", method="PUT")  # noqa: S310 - the server of the tests
    with urllib.request.urlopen(bucket):  # noqa: S310 - as above
        yield address
    server.stop()


def put(key: str, body: bytes) -> None:
    obstore = pytest.importorskip("obstore.store")
    obstore.from_url("s3://clinic").put(key, body)


def parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def rows(source: object, **how: Any) -> list[tuple[Any, ...]]:
    table = dv.read(source, **how)
    return sorted(
        tuple(row.values())
        for row in table.engine.query(f"SELECT * FROM {table.relation}").to_pylist()
    )


EXPECTED = [("00100", 30, "cold"), ("00100", 30, "flu"), ("00200", 41, "flu")]


@pytest.mark.parametrize(
    "name",
    ["people.csv", "people.csv.gz", "moved.csv", "people.csv?signature=hunter2#part", "table"],
)
def test_a_file_of_the_web(name: str, web: str, engine: Any) -> None:
    table = dv.read(f"http://{web}/{name}", engine=engine)
    assert rows(table) == EXPECTED
    assert table.source == f"http://{web}/{name.partition('?')[0]}"


def test_a_password_is_sent_and_shown_nowhere(web: str, tmp_path: Path) -> None:
    address = f"http://ann:{SECRET}@{web}/private/people.csv?token={SECRET}"
    found = run_cli("measure", address, *ROLES, "--json")
    assert found.code == 0, found.err
    assert found.json()["settings"]["source"] == f"http://{web}/private/people.csv"
    assert SECRET not in found.out + found.err
    for command in (
        (
            "check",
            address,
            *ROLES,
            "--k-anonymity",
            "2",
            "--json",
            "--junit",
            str(tmp_path / "j.xml"),
        ),
        ("measure", address, *ROLES, "--original", address, "--json"),
        (
            "generalize",
            address,
            *ROLES,
            "--k-anonymity",
            "2",
            "--suppression",
            "1",
            "--out",
            str(tmp_path / "release"),
        ),
        ("measure", address, "--qi", "nothing"),
        ("measure", address, *ROLES, "--table", "x", "--json"),
        ("query", address, "age > 3"),
        ("compose", address, address, "--truth", address, "--qi", "zip", "--sensitive", "disease"),
    ):
        ran = run_cli(*command)
        assert ran.code in (0, 1, 2, 3), (command, ran.err)
        assert SECRET not in ran.out + ran.err, command
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in written if SECRET in path.read_text("utf-8", "replace")] == []
    policy = tmp_path / "divulge.toml"
    policy.write_text(
        f'quasi_identifiers = ["zip"]\n[adversary]\noriginal = "{address}"\n', encoding="utf-8"
    )
    ran = run_cli(
        "check",
        address,
        "--policy",
        str(policy),
        "--sensitive",
        "disease",
        "--uniques",
        "1000",
        "--json",
    )
    assert ran.json()["settings"]["original"] == f"http://{web}/private/people.csv"
    assert SECRET not in ran.out + ran.err
    assert SECRET not in repr(dv.Policy.load(policy))
    page = tmp_path / "with-policy.html"
    ran = run_cli(
        "report",
        address,
        "--policy",
        str(policy),
        "--sensitive",
        "disease",
        "--uniques",
        "1000",
        "--out",
        str(page),
    )
    assert (ran.code, SECRET in ran.out + ran.err + page.read_text(encoding="utf-8")) == (0, False)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://ann:wrong-hunter2@{web}/private/people.csv", "the server answers 403"),
        ("http://{web}/gone.csv?sig=hunter2", "the server answers 404"),
        ("http://{web}/cut.csv?sig=hunter2", "ended before the file did|Incomplete"),
        ("http://ann:hunter2@127.0.0.1:1/people.csv", "cannot be fetched"),
        ("http://ann:hunter2/x@{web}/people.csv", "cannot be taken apart"),
        ("http://ann:12/hunter2@{web}/people.csv", "cannot be taken apart"),
        ("https://ann:hunter2@{web}/people.csv", "cannot be fetched"),
        ("http://ann:hunter2@[::1/people.csv", "cannot be taken apart"),
    ],
)
def test_no_failure_shows_a_secret(address: str, told: str, web: str) -> None:
    with pytest.raises(BadInput, match=told) as caught:
        dv.read(address.format(web=web))
    seen: BaseException | None = caught.value
    while seen is not None:
        assert "hunter2" not in "".join(traceback.format_exception(seen))
        seen = seen.__context__
    found = run_cli("measure", address.format(web=web), "--qi", "zip")
    assert (found.code, found.err.count("\n"), "hunter2" in found.err) == (2, 1, False)


def test_what_may_be_shown_of_an_address() -> None:
    shown = {
        "https://token@host/a/b.csv?sig=x": "https://host/a/b.csv",
        "s3://bucket/a@b.csv": "s3://bucket/a@b.csv",
        "https://host:8443/@me/t.csv": None,
        "postgres://me:x@host/db?password=y": "postgresql://me@host/db",
    }
    for address, expected in shown.items():
        if expected is None:
            with pytest.raises(BadInput):
                Address.of(address)
        else:
            assert getattr(Address.of(address), "display_name", None) == expected
    assert Address.of("C:/data/t.csv") is None
    assert "x" not in repr(Address.of("https://me:x@host/t"))


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize("limit", [None, "300MB"])
def test_objects_folders_and_globs_of_a_bucket(limit: str | None) -> None:
    engine = DuckDBEngine(memory_limit=limit)
    put("raw/people.csv", TABLE.encode())
    first, last = pa.table({"zip": ["1", "2"], "age": [3, 4]}), pa.table({"zip": ["5"], "age": [6]})
    put("parts/year=2024/a.parquet", parquet(first))
    put("parts/year=2025/b.parquet", parquet(last))
    put("parts/_SUCCESS", b"")
    assert rows("s3://clinic/raw/people.csv", engine=engine) == EXPECTED
    everything = [("1", 3, 2024), ("2", 4, 2024), ("5", 6, 2025)]
    assert (
        rows("s3://clinic/parts", engine=engine)
        == rows("s3://clinic/parts/", engine=engine)
        == everything
    )
    assert rows("s3://clinic/parts/**/*.parquet", engine=engine) == everything
    assert rows("s3://clinic/parts/*/b.parquet", engine=engine) == everything[2:]
    table = dv.read("s3://clinic/raw/people.csv", engine=engine)
    assert table.reading_settings["source"] == "s3://clinic/raw/people.csv"
    assert table.reading.kind == "csv"


@pytest.mark.usefixtures("s3")
def test_a_delta_table_in_a_bucket_is_read_by_its_log(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="pip install '.[delta]'")
    deltalake.write_deltalake(tmp_path / "t", pa.table({"zip": ["1", "2"]}))
    deltalake.write_deltalake(tmp_path / "t", pa.table({"zip": ["3"]}), mode="overwrite")
    for path in (tmp_path / "t").rglob("*"):
        if path.is_file():
            put(f"lake/{path.relative_to(tmp_path / 't').as_posix()}", path.read_bytes())
    assert rows("s3://clinic/lake") == [("3",)]
    for part in (
        "lake/*.parquet",
        "lake/_delta_log",
        f"lake/{next((tmp_path / 't').glob('*.parquet')).name}",
    ):
        with pytest.raises(BadInput, match="lies in a table of Delta Lake"):
            dv.read(f"s3://clinic/{part}")


@pytest.mark.parametrize("key", ["nothing.csv", "nothing/*.csv", ""])
@pytest.mark.usefixtures("s3")
def test_what_is_not_in_the_bucket(key: str) -> None:
    with pytest.raises(
        BadInput, match=r"there is nothing at s3://elsewhere|s3://elsewhere.* cannot be read"
    ) as caught:
        dv.read(f"s3://elsewhere/{key}")
    assert "HUNTER" not in "".join(traceback.format_exception(caught.value)).upper()


@pytest.mark.usefixtures("s3")
def test_a_store_that_does_not_answer_shows_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{SECRET}@127.0.0.1:1")
    found = run_cli(
        "measure",
        f"s3://ann:{SECRET}@clinic/people.csv?X-Amz-Signature={SECRET}",
        "--qi",
        "zip",
        "--json",
    )
    assert (found.code, SECRET in found.out + found.err) == (2, False)


def test_without_obstore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(MissingDependency, match=r"pip install 'obstore>="):
        dv.read("s3://bucket/t.csv")


# --- standard input -------------------------------------------------------------------------------
def ipc() -> bytes:
    out = pa.BufferOutputStream()
    table = pa.table(
        {"zip": ["00100", "00100", "00200"], "age": [30, 30, 41], "disease": ["flu", "cold", "flu"]}
    )
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue().to_pybytes())


PIPED = {
    "csv": (TABLE.encode(), "csv"),
    "gzip": (gzip.compress(TABLE.encode()), "csv"),
    "arrow stream": (ipc(), "arrow"),
    "json lines": (b'{"zip": "00100", "age": 30, "disease": "flu"}\n' * 3, "json"),
    "parquet": (
        parquet(pa.table({"zip": ["1"] * 3, "age": [1] * 3, "disease": ["flu"] * 3})),
        "parquet",
    ),
}


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Any:
    def pipe(content: bytes) -> None:
        monkeypatch.setattr(remote, "_stdin_reads", [])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return pipe


@pytest.mark.parametrize("kind", PIPED)
def test_standard_input_is_known_by_its_first_bytes(kind: str, piped: Any) -> None:
    content, expected = PIPED[kind]
    piped(content)
    found = run_cli("measure", "-", *ROLES, "--json").json()
    assert (found["rows"], found["settings"]["source"]) == (3, "standard input")
    assert found["settings"]["read"]["kind"] == expected


def test_standard_input_can_be_read_once_and_only_from_a_pipe(
    piped: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(TABLE.encode())
    assert rows("-") == EXPECTED
    with pytest.raises(BadInput, match="only once"):
        dv.read("-")
    piped(b"")
    with pytest.raises(BadInput, match="standard input is empty"):
        dv.read("-")
    piped(TABLE.encode())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    with pytest.raises(BadInput, match="nothing is piped"):
        dv.read("-")


def test_options_of_text_are_for_what_is_piped_too(piped: Any) -> None:
    piped(b"1|2\n3|4\n")
    table = dv.read("-", header=False, delimiter="|")
    assert (table.names, rows(table)) == (("column0", "column1"), [(1, 2), (3, 4)])
    piped(ipc())
    with pytest.raises(
        BadInput, match=r"delimiter= is for delimited text, and standard input is arrow"
    ):
        dv.read("-", delimiter="|")
