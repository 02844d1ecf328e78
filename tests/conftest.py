# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several folders of tests share, and the marks by which tests are chosen and kept together."""

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
    from tests.table.postgres_server import PostgresServer

# --- What a test needs is seen from its fixtures -----------------------------------------------------------------------

MARKS = {"needs_spark": "spark", "postgres": "server"}
"""Fixtures, and the mark of the tests that ask for them, be it through other fixtures."""
TOGETHER = ("cluster", "needs_spark", "postgres")
"""What starts slowly and is started once for all files: tests that ask for it run in one process, where others run side by side."""
LONGEST = ("cluster", "needs_spark", "browser")
"""How the names of the groups begin that take longest."""
ELSEWHERE = frozenset({"spark", "server", "public_data", "slow"})
"""What `make quick` leaves out."""
FEW_EXAMPLES = 5
FEW_CASES = 2
"""Of each test in `make quick`: examples that Hypothesis draws, and cases that a parametrized test lists."""
settings.register_profile("quick", max_examples=FEW_EXAMPLES)


@pytest.hookimpl(
    wrapper=True, tryfirst=True
)  # marks before tests are deselected by them, order after they are shuffled
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark tests by what they need, so that nobody has to remember to, and keep together what shares a Spark or a server.

    Side by side, what takes long comes first: tests that share a Spark or a browser, which only one process runs, then other groups and
    what is slow. One that begins last would keep all other processes waiting.
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
    """How early a test begins."""
    group = item.get_closest_marker("xdist_group")
    if group is not None and group.args[0].startswith(LONGEST):
        return 0
    return 1 if group is not None or item.get_closest_marker("slow") else 2


def _group(item: pytest.Function, asked: set[str]) -> str | None:
    """The tests with which one shares what starts slowly; Spark, whose jobs are mostly waited for, is started twice.

    What a file makes once, each process that runs a test of it would make again: such a file stays in one process, if it says nothing else.
    """
    for name in TOGETHER:
        if name in asked:
            return f"{name}-{zlib.crc32(item.path.name.encode()) % 2}" if name == "needs_spark" else name
    made = item._fixtureinfo.name2fixturedefs.values()  # noqa: SLF001 - pytest tells nobody else
    if item.get_closest_marker("xdist_group") is None and any(found[-1].scope == "module" for found in made):
        return item.path.as_posix()
    return None


def _asked(item: pytest.Function) -> set[str]:
    """The fixtures of a test, and those that its parameters name: "spark", "cluster", "postgres"."""
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
    """Whether few examples are enough (`make quick`), for tests that draw their examples themselves."""
    return bool(request.config.getoption("--hypothesis-profile") == "quick")


def _keep_few_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The first cases of each test; a test that is asked for by name keeps all of its cases."""
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
    """Few examples even for a test that asks for many: a profile alone yields to what a test says itself."""
    test = getattr(item.obj, "__func__", item.obj)
    own = getattr(test, "_hypothesis_internal_use_settings", None)
    if own is not None:
        few = settings(own, max_examples=min(own.max_examples, FEW_EXAMPLES))
        test._hypothesis_internal_use_settings = few  # noqa: SLF001 - Hypothesis has no other way


# --- Strays -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def no_stray_policy(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A divulge.toml that somebody left above the temporary folder is not found: the search ends at a folder with .git."""
    (tmp_path_factory.getbasetemp() / ".git").mkdir(exist_ok=True)


# --- Garbage and the end -----------------------------------------------------------------------------------------------


def pytest_collection_finish() -> None:
    """What stays until the end, all modules and tests, is not searched for garbage again and again: a tenth of the processor time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let go of what modules of tests hold: DuckDB complains about every object of its own that outlives the interpreter."""
    gc.unfreeze()
    ours = [module for name, module in sys.modules.items() if name.startswith("tests.")]
    for module in [module for module in ours if not module.__name__.endswith("conftest")]:
        vars(module).clear()
    gc.collect()


# --- Engines: one body of a test, three places where rows and counts may lie -------------------------------------------

FEW_CELLS = 5
"""How many cells may come to memory where a test wants the counts to stay where they are."""


@pytest.fixture(params=["memory", "limit", "spark"])
def engine(request: pytest.FixtureRequest) -> DuckDBEngine | SparkEngine:
    """DuckDB in memory; DuckDB whose counts stay on disk; Spark whose counts stay on the cluster.

    `@pytest.mark.parametrize("engine", ["memory", "spark collected"], indirect=True)` chooses some of them, or Spark as users have
    it, whose small counts come to the driver.
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


# --- PostgreSQL: a real server, started once, on loopback --------------------------------------------------------------


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server with one empty database; skips where PostgreSQL is not installed."""
    from tests.table.postgres_server import running_server

    with running_server() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> PostgresServer:
    """The same server with nothing in it."""
    postgres.run("DROP SCHEMA IF EXISTS other CASCADE", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return postgres


# --- Spark: one session for the whole run, started when first asked for ------------------------------------------------


@pytest.fixture(scope="session")
def needs_spark() -> None:
    """Skip where Spark cannot run, and say what is missing."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("no pyspark: pip install 'divulge[spark]'")
    if shutil.which("java") is None:
        pytest.skip("no Java: install Java 17 or newer, for example with apt install openjdk-17-jre-headless")


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


# --- A browser: one for all tests of a file --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real Chromium."""
    pytest.importorskip("playwright")
    from tests.views.browser import started

    with started() as found:
        yield found
