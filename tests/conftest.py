# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several folders of tests share, and the marks by which tests are chosen and kept
together.
"""

from __future__ import annotations

import gc
import importlib.util
import shutil
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from divulge.engines import DuckDBEngine, SparkEngine

if TYPE_CHECKING:
    from tests.sources.postgres_server import PostgresServer

# --- What a test needs is seen from its fixtures --------------------------------------------------

MARKS = {"needs_spark": "spark", "postgres": "server"}
"""Mark of the tests that use a fixture, even through other fixtures."""
TOGETHER = ("cluster", "needs_spark", "postgres")
"""Fixtures that start slowly and are started once for all files.

Tests that use them run in one process, while others run in parallel.
"""
LONGEST = ("cluster", "needs_spark", "browser")
"""Prefixes of the names of the groups that take longest."""
ELSEWHERE = frozenset({"spark", "server", "public_data", "slow"})
"""Marks of tests that `make quick` leaves out."""
FEW_EXAMPLES = 5
FEW_CASES = 2
"""Number of examples of Hypothesis, and of cases of a parametrized test, in `make quick`."""
settings.register_profile("quick", max_examples=FEW_EXAMPLES)


@pytest.hookimpl(
    wrapper=True, tryfirst=True
)  # marks before tests are deselected by them, order after they are shuffled
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Mark tests by what they need, so that nobody has to remember to, and keep together what
    shares a Spark or a server.

    Side by side, what takes long comes first: tests that share a Spark or a browser, which only one
    process runs, then other groups and what is slow. One that begins last would keep all other
    processes waiting.
    """
    quick = config.getoption("--hypothesis-profile") == "quick"
    for item in items:
        if isinstance(item, pytest.Function):
            asked = _asked(item)
            for name in asked & MARKS.keys():
                item.add_marker(MARKS[name])
            if group := _group(item, asked):
                item.add_marker(pytest.mark.xdist_group(group))
            if quick:
                _draw_few(item)
    if quick:
        _keep_few_cases(config, items)
    yield
    if hasattr(config, "workerinput"):
        items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """Return the rank by which a test starts."""
    group = item.get_closest_marker("xdist_group")
    if group is not None and group.args[0].startswith(LONGEST):
        return 0
    return 1 if group is not None or item.get_closest_marker("slow") else 2


def _group(item: pytest.Function, asked: set[str]) -> str | None:
    """The tests with which one shares what starts slowly; Spark, whose jobs are mostly waited for,
    is started twice.

    What a file makes once, each process that runs a test of it would make again: such a file stays
    in one process, if it says nothing else.
    """
    for name in TOGETHER:
        if name in asked:
            return (
                f"{name}-{zlib.crc32(item.path.name.encode()) % 2}"
                if name == "needs_spark"
                else name
            )
    made = item._fixtureinfo.name2fixturedefs.values()  # noqa: SLF001 - pytest tells nobody else
    if item.get_closest_marker("xdist_group") is None and any(
        found[-1].scope == "module" for found in made
    ):
        return item.path.as_posix()
    return None


def _asked(item: pytest.Function) -> set[str]:
    """The fixtures of a test, and those that its parameters name: "spark", "cluster",
    "postgres".
    """
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    named = {value.split()[0] for value in chosen if isinstance(value, str) and value.strip()}
    means = {
        "spark": {"needs_spark"},
        "cluster": {"needs_spark", "cluster"},
        "connected": {"needs_spark", "cluster"},
        "postgres": {"postgres"},
    }
    return {*item.fixturenames}.union(*(means.get(name, set()) for name in named))


@pytest.fixture(scope="session")
def quick(request: pytest.FixtureRequest) -> bool:
    """Return whether few examples are enough (`make quick`), for tests that draw their own."""
    return bool(request.config.getoption("--hypothesis-profile") == "quick")


def _keep_few_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first cases of each test; a test that is selected by name keeps all of its cases."""
    if any("::" in asked for asked in config.args):
        return
    seen: Counter[str] = Counter()
    few: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        seen[test] += not ELSEWHERE & {mark.name for mark in item.iter_markers()}
        (few if seen[test] <= FEW_CASES else others).append(item)
    items[:] = few
    config.hook.pytest_deselected(items=others)


def _draw_few(item: pytest.Function) -> None:
    """Draw few examples even for a test that sets many, because its setting overrides a profile."""
    test = getattr(item.obj, "__func__", item.obj)
    own = getattr(test, "_hypothesis_internal_use_settings", None)
    if own is not None:
        few = settings(own, max_examples=min(own.max_examples, FEW_EXAMPLES))
        test._hypothesis_internal_use_settings = few  # noqa: SLF001 - Hypothesis has no other way


# --- Strays ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def no_stray_policy(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hide a stray divulge.toml above the temporary folder: the search ends at .git."""
    (tmp_path_factory.getbasetemp() / ".git").mkdir(exist_ok=True)


# --- Garbage and the end --------------------------------------------------------------------------


def pytest_collection_finish() -> None:
    """Exclude modules and tests, which stay until the end, from further garbage collections.

    These take a tenth of the processor time.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Free objects of test modules: DuckDB complains about objects that outlive the interpreter."""
    gc.unfreeze()
    ours = [module for name, module in sys.modules.items() if name.startswith("tests.")]
    for module in [module for module in ours if not module.__name__.endswith("conftest")]:
        vars(module).clear()
    gc.collect()


# --- Engines: one body of a test, three places where rows and counts may lie ----------------------

FEW_CELLS = 5
"""Number of cells that may come to memory if a test wants the counts to stay elsewhere."""


@pytest.fixture(params=["memory", "limit", "spark"])
def engine(request: pytest.FixtureRequest) -> DuckDBEngine | SparkEngine:
    """DuckDB in memory; DuckDB whose counts stay on disk; Spark whose counts stay on the cluster.

    `@pytest.mark.parametrize("engine", ["memory", "spark collected"], indirect=True)` chooses some
    of them, or Spark as users have it, whose small counts come to the driver.
    """
    if request.param == "memory":
        return DuckDBEngine()
    if request.param == "limit":
        limited: DuckDBEngine = request.getfixturevalue("limited")
        return limited
    spark: SparkEngine = request.getfixturevalue("spark")
    if request.param == "spark":
        spark.collect_limit = FEW_CELLS
    return spark


@pytest.fixture
def limited(tmp_path: Path) -> DuckDBEngine:
    """DuckDB with little memory, which therefore keeps all but a few counts on disk."""
    folder = tmp_path / "spilled"
    folder.mkdir()
    engine = DuckDBEngine(memory_limit="300MB", temp_directory=folder)
    engine.cell_limit = FEW_CELLS
    return engine


# --- PostgreSQL: a real server, started once, on loopback -----------------------------------------


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server with one empty database; skips where PostgreSQL is not installed."""
    from tests.sources.postgres_server import running_server

    with running_server() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> PostgresServer:
    """Return the server with an empty database."""
    postgres.run(
        "DROP SCHEMA IF EXISTS other CASCADE", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public"
    )
    return postgres


# --- Spark: one session for the whole run, started when first asked for ---------------------------


@pytest.fixture(scope="session")
def needs_spark() -> None:
    """Skip if Spark cannot run, and state what is missing."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("no pyspark: pip install '.[spark]'")
    if shutil.which("java") is None:
        pytest.skip(
            "no Java: install Java 17 or newer, for example with apt install "
            "openjdk-17-jre-headless"
        )


@pytest.fixture(scope="session")
def spark_session(needs_spark: None) -> Iterator[SparkEngine]:  # noqa: ARG001 - it skips
    """The engine of the one Spark session of this process."""
    from tests.engines.spark_process import SETTINGS

    engine = SparkEngine(master="local[2,4]", config=SETTINGS)
    context = engine.session.sparkContext
    yield engine
    engine.session.stop()
    gateway = context._gateway  # noqa: SLF001 - pyspark leaves it open
    assert gateway is not None
    gateway.shutdown()  # else its thread outlives the interpreter, with all that it can reach
    gateway.proc.stdin.close()  # Java's word to end
    gateway.proc.wait()


@pytest.fixture
def spark(spark_session: SparkEngine) -> SparkEngine:
    """An engine on the one session, with settings of its own."""
    return SparkEngine(spark_session.session)


# --- A browser: one for all tests of a file -------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real Chromium."""
    pytest.importorskip("playwright")
    from tests.output.browser import started

    with started() as found:
        yield found
