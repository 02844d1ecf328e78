# SPDX-License-Identifier: Apache-2.0
"""Start Debian's postgresql in a directory of its own, with password authentication.

It is stopped again at the end. The server does not run as root: then it runs as the user
`postgres`, whom Debian's package creates.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

PASSWORD = "correct horse/battery@staple"  # noqa: S105 - of a server that lives as long as the tests
USER = "steward"
_INSTALL = "PostgreSQL cannot be started here; install it with: apt-get install postgresql"


@dataclass(frozen=True)
class PostgresServer:
    """Address and files of the server."""

    port: int

    @property
    def url(self) -> str:
        """Return the address with the password, as a user would write it."""
        return f"postgresql://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/postgres"

    def run(self, *statements: str) -> None:
        """Run statements in one transaction."""
        driver: Any = importlib.import_module("adbc_driver_postgresql.dbapi")
        with driver.connect(self.url) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Return the rows of a statement."""
        driver: Any = importlib.import_module("adbc_driver_postgresql.dbapi")
        with driver.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            found: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
            return found

    def load(self, table: str, rows: Any) -> None:
        """Make a table from an Arrow table."""
        driver: Any = importlib.import_module("adbc_driver_postgresql.dbapi")
        with driver.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(table, rows, mode="create")
            connection.commit()


@contextlib.contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Start a server in a new directory, which is removed afterwards."""
    programs = _programs()
    pytest.importorskip("adbc_driver_postgresql", reason="needs pip install adbc-driver-postgresql")
    folder = Path(tempfile.mkdtemp(prefix="divulge-postgres-"))
    try:
        account = _account(folder)
        port = _free_port()
        _initialize(programs, folder, account)
        with _started(programs, folder, account, port) as server:
            yield server
    finally:
        shutil.rmtree(folder)


def _programs() -> Path:
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3])
    )
    if not found:
        pytest.skip(_INSTALL)
    return found[-1].parent


def _account(folder: Path) -> str | None:
    """Return the account to run as: our own, or `postgres` if we are root."""
    if os.geteuid() != 0:
        return None
    try:
        account = pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip(_INSTALL)
    os.chown(folder, account.pw_uid, account.pw_gid)
    return account.pw_name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _initialize(programs: Path, folder: Path, account: str | None) -> None:
    secret = folder / "password"
    secret.write_text(PASSWORD, encoding="utf-8")
    secret.chmod(0o644)  # the folder itself is open to the server's account only
    data, options = str(folder / "data"), ["-E", "UTF8", "--locale=C", "--no-sync"]
    command = [
        str(programs / "initdb"),
        "-D",
        data,
        "-U",
        USER,
        "-A",
        "scram-sha-256",
        f"--pwfile={secret}",
        *options,
    ]
    subprocess.run(command, user=account, cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def _started(
    programs: Path, folder: Path, account: str | None, port: int
) -> Iterator[PostgresServer]:
    settings = {
        "port": port,
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
    }
    options = [f"--{name}={value}" for name, value in settings.items()]
    command = [str(programs / "postgres"), "-D", str(folder / "data"), *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, user=account, cwd=folder, stdout=log, stderr=log)
    try:
        _wait_until_ready(programs, port, process, folder / "log")
        yield PostgresServer(port)
    finally:
        process.send_signal(signal.SIGINT)  # "fast" shutdown: open sessions are ended
        process.wait()


def _wait_until_ready(
    programs: Path, port: int, process: subprocess.Popen[bytes], log: Path
) -> None:
    ask = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    for _ in range(600):
        if process.poll() is not None:
            pytest.fail(f"postgres stopped at once: {log.read_text(encoding='utf-8')}")
        if subprocess.run(ask, check=False).returncode == 0:
            return
        time.sleep(0.1)
    pytest.fail(f"postgres did not come up: {log.read_text(encoding='utf-8')}")
