# SPDX-License-Identifier: Apache-2.0
"""Finds a Spark session or starts one.

A session that runs already is taken as it is. One that we start gets settings under which Spark answers as DuckDB does:
names in their exact case, timestamps in UTC, overflow as an error. It listens on loopback only where it runs on this
machine alone, keeps its scratch files in a private directory (mode 0700) and writes its log there.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from divulge.engines.scratch import Scratch
from divulge.errors import BadInput, DivulgeError, MissingDependency

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INSTALL = "pip install 'divulge[spark]'; Spark itself also needs Java 17 or newer"
_JAVA = "Install Java 17 or newer (Debian and Ubuntu: apt install openjdk-17-jre-headless) or set JAVA_HOME"
_OLDEST = 4
# Workers die and are replaced; on one machine Spark gives up after the first unless it is told a number of attempts.
_DEFAULT_MASTER = "local[*,4]"

_SQL_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
_OWN_SETTINGS = {
    "spark.app.name": "divulge",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_WORKER_PYTHON = "PYSPARK_PYTHON"


def find_session(
    *, master: str | None = None, remote: str | None = None, config: Mapping[str, str] | None = None
) -> SparkSession:
    """The session of this process, or a new one: on `master`, or on the Spark Connect server `remote` (sc://host:port)."""
    if master is not None and remote is not None:
        raise BadInput("master and remote were both given", hint="A session runs on one of them")
    require_pyspark()
    with quiet():
        running = _running_session()
        if running is not None:
            _refuse_other(running, master, remote)
            return running
        return _start_remote(remote, config or {}) if remote is not None else _start(master, config or {})


def require_pyspark() -> None:
    """Refuse, with what to install, where the package is missing or too old."""
    missing = [name for name in ("pyspark", "pandas") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependency(f"the Spark engine needs {' and '.join(missing)}, not installed here", hint=_INSTALL)
    import pyspark

    if int(pyspark.__version__.partition(".")[0]) < _OLDEST:
        raise MissingDependency(
            f"the Spark engine needs pyspark 4, and {pyspark.__version__} is installed", hint=_INSTALL
        )


def is_remote(session: SparkSession) -> bool:
    """Whether a session talks to a Spark Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out what pyspark says beside its errors: about packages it does not know yet, and Java's stack traces."""
    from pyspark.logger import PySparkLogger

    talkers = [PySparkLogger.getLogger(name) for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")]
    before = [talker.disabled for talker in talkers]
    try:
        for talker in talkers:
            talker.disabled = True
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
            yield
    finally:
        for talker, was in zip(talkers, before, strict=True):
            talker.disabled = was


@functools.cache
def private_directory() -> Path:
    """A directory of this process that only its owner can read; it goes away with the process."""
    scratch = Scratch()
    atexit.register(scratch.remove)
    return scratch.directory


def _running_session() -> SparkSession | None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is None and SparkContext._active_spark_context is not None:  # noqa: SLF001 - getOrCreate would change its settings
        return SparkSession(SparkContext._active_spark_context)  # noqa: SLF001
    return active


def _refuse_other(running: SparkSession, master: str | None, remote: str | None) -> None:
    """A process has one Spark: a second address would be ignored without a word."""
    where = "a Spark Connect server" if is_remote(running) else running.sparkContext.master
    if remote is not None and not is_remote(running):
        raise BadInput(
            f"{remote} was asked for, and a Spark session on {where} runs in this process", hint="Stop it first"
        )
    if master is not None and master != where:
        raise BadInput(
            f"{master} was asked for, and a Spark session on {where} runs in this process", hint="Stop it first"
        )


def _start(master: str | None, config: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if shutil.which("java", path=_java_path()) is None:
        raise MissingDependency("the Spark engine needs Java, and none was found", hint=_JAVA)
    chosen = master or config.get("spark.master") or _DEFAULT_MASTER
    settings = _SQL_SETTINGS | _OWN_SETTINGS | (_alone() if chosen.startswith("local") else {}) | dict(config)
    builder: Any = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    log = private_directory() / "spark.log"
    try:
        with _stderr_into(log), _same_python(alone=chosen.startswith("local")):
            session: SparkSession = builder.master(chosen).getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise _did_not_start(chosen, log, error) from error
    return session


def _alone() -> dict[str, str]:
    """Settings for a Spark that runs on this machine only."""
    scratch = private_directory()
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 2)),
    }


def _start_remote(remote: str, config: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.remote(remote)
    for key, value in (_SQL_SETTINGS | dict(config)).items():
        builder = builder.config(key, value)
    try:
        with _stderr_into(private_directory() / "spark.log"), _same_python(alone=remote.startswith("local")):
            session: SparkSession = builder.getOrCreate()
            session.version  # noqa: B018 - the first question to the server
    except ImportError as error:
        raise MissingDependency(
            f"Spark Connect needs more packages: {first_line(error)}", hint="pip install 'divulge[spark]'"
        ) from error
    except (PySparkException, OSError, RuntimeError) as error:
        raise BadInput(
            f"no Spark Connect server answers at {remote}: {first_line(error)}", hint="An address is sc://host:15002"
        ) from error
    return session


def _java_path() -> str | None:
    """Where Spark's own start script looks: in JAVA_HOME, else on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin") if home else None


def _did_not_start(master: str, log: Path, error: Exception) -> DivulgeError:
    told = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if "UnsupportedClassVersionError" in told:
        return MissingDependency("this Java is too old for Spark", hint=_JAVA)
    return BadInput(f"Spark cannot start on {master}: {first_line(error)}", hint="Is the master's address right?")


def first_line(error: BaseException) -> str:
    """What an error says first; the rest is Java's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def _same_python(*, alone: bool) -> Iterator[None]:
    """Workers on this machine run this Python, unless the user has chosen one; pyspark asks the environment, once."""
    if not alone or _WORKER_PYTHON in os.environ:
        yield
        return
    os.environ[_WORKER_PYTHON] = sys.executable
    try:
        yield
    finally:
        del os.environ[_WORKER_PYTHON]


@contextmanager
def _stderr_into(path: Path) -> Iterator[None]:
    """Programs started meanwhile write their messages into a file: Java warns on its own, before any setting can stop it."""
    sys.stderr.flush()
    terminal = os.dup(2)
    target = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        os.dup2(target, 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(target)
