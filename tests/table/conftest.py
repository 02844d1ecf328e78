# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server for the tests, started once, on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.table.postgres_server import PostgresServer, running_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server with one empty database; skips where PostgreSQL is not installed."""
    with running_server() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> PostgresServer:
    """The same server with nothing in it."""
    postgres.run("DROP SCHEMA IF EXISTS other CASCADE", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return postgres
