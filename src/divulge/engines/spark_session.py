# SPDX-License-Identifier: Apache-2.0
"""Spark sessions: required packages, start, log messages, code for the workers, cleanup."""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.util
import io
import os
import pickle
import re
import shutil
import socket
import sys
import threading
import warnings
import weakref
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from divulge import interrupts, private_folder
from divulge.arguments import outside
from divulge.errors import BadInput, DivulgeError, MissingDependency

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_MIN_PYSPARK = 4
_ALSO_JAVA_HINT = "Spark itself also needs Java 17 or newer"
_JAVA_CLASS = re.compile(r"^:? ?[\w.$]+(?:Exception|Error): ")


def require_pyspark() -> None:
    """Raise an error with the command to install, if the package is missing or too old."""
    missing = [name for name in ("pyspark", "pandas") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependency(
            f"the Spark engine needs {' and '.join(missing)}, not installed here",
            extra="spark",
            hint=_ALSO_JAVA_HINT,
        )
    import pyspark

    if int(pyspark.__version__.partition(".")[0]) < _MIN_PYSPARK:
        message = f"the Spark engine needs pyspark 4, and {pyspark.__version__} is installed"
        raise MissingDependency(message, extra="spark", hint=_ALSO_JAVA_HINT)


def is_remote(session: SparkSession) -> bool:
    """Report whether a session talks to a Spark Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress pyspark's warnings about unknown packages, and Java's stack traces."""
    from pyspark.logger import PySparkLogger

    loggers = [
        PySparkLogger.getLogger(name)
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
    ]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
            yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


@functools.cache
def private_directory() -> Path:
    """Return a directory of this process that only its owner can read, removed with the process."""
    scratch = private_folder.Scratch()
    atexit.register(scratch.remove)
    return scratch.directory


def first_line(error: BaseException) -> str:
    """Return the first line of an error without the names of Java's classes; the rest is Java's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    if lines:
        return _JAVA_CLASS.sub("", lines[0])
    return type(error).__name__


# --- start ----------------------------------------------------------------------------------------
# A running session is used as it is. A session that we start gets settings under which Spark
# computes as DuckDB does: names in their exact case, timestamps in UTC, overflow as an error. If
# it runs on this machine only, it listens on loopback only. It keeps its scratch files in a private
# directory (mode 0700) and writes its log there.
_JAVA_HINT = (
    "Install Java 17 or newer (Debian and Ubuntu: apt install openjdk-17-jre-headless) or set "
    "JAVA_HOME"
)

# Workers die and are replaced. On one machine Spark gives up after the first failure unless a
# number of attempts is set.
_DEFAULT_MASTER = "local[*,4]"
_CONNECT_SECONDS = 10.0
"""Seconds to wait for an address to answer at all; Spark itself would try for minutes."""
_ADDRESS = re.compile(r"^(?:spark|sc)://(?P<endpoints>[^/;]+)")
_JAVA_REASON = re.compile(r"^Exception in thread \S+ [\w.$]+: (.+)$", re.MULTILINE)
_WORKER_PYTHON = "PYSPARK_PYTHON"
_SQL_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Otherwise Spark clones the session for every cached frame, with a copy of our code for the
    # workers. It removes that copy when the clone is garbage-collected. An executor that starts
    # later may then request a file that no longer exists, and each of its tasks fails.
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false",
    "spark.sql.adaptive.applyFinalStageShuffleOptimizations": "false",
}
_OWN_SETTINGS = {
    "spark.app.name": "divulge",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def find_session(
    *, master: str | None = None, remote: str | None = None, config: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the session of this process, or start one.

    A new session runs on `master`, or on the Spark Connect server `remote` (sc://host:port).
    """
    if master is not None and remote is not None:
        raise BadInput("master and remote were both given", hint="A session runs on one of them")
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with quiet():
        running = SparkSession.getActiveSession()
        context = SparkContext._active_spark_context  # noqa: SLF001 - getOrCreate would change the settings of its session
        if running is None and context is not None:
            running = SparkSession(context)
        if running is not None:
            _check_same_address(running, master or remote, to_server=remote is not None)
            return running
        if remote is None:
            return _start(master, config or {})
        return _start_remote(remote, config or {})


def _check_same_address(running: SparkSession, address: str | None, *, to_server: bool) -> None:
    """Raise an error for a second address: a process has one Spark and would silently ignore it."""
    where = "a Spark Connect server" if is_remote(running) else running.sparkContext.master
    if address is not None and address != where and not (to_server and is_remote(running)):
        message = f"{address} was asked for, and a Spark session on {where} runs in this process"
        raise BadInput(message, hint="Stop it first")


def _start(master: str | None, config: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home) / "bin") if home else None) is None:
        raise MissingDependency("the Spark engine needs Java, and none was found", hint=_JAVA_HINT)
    chosen_master = master or config.get("spark.master") or _DEFAULT_MASTER
    is_local = chosen_master.startswith("local")
    _check_listening(chosen_master, default_port=7077)
    builder: Any = SparkSession.builder
    for key, value in (
        _SQL_SETTINGS | _OWN_SETTINGS | (_local_settings() if is_local else {}) | dict(config)
    ).items():
        builder = builder.config(key, value)
    log = private_directory() / "spark.log"
    try:
        with _redirect_stderr(log), _workers_use_this_python(is_local=is_local):
            session: SparkSession = builder.master(chosen_master).getOrCreate()
    except (PySparkException, Py4JError) as error:
        if SparkContext._active_spark_context is not None:  # noqa: SLF001 - half started, it would be taken for a session
            with suppress(PySparkException, Py4JError):
                SparkContext._active_spark_context.stop()  # noqa: SLF001
        raise _start_failure(chosen_master, log, error) from error
    interrupts.restore_handlers()  # pyspark has replaced the handler of Ctrl-C
    return session


def _local_settings() -> dict[str, str]:
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

    if not remote.startswith("sc://"):
        raise BadInput(
            f"{remote!r} is not the address of a Spark Connect server", hint="Write sc://host:15002"
        )
    _check_listening(remote, default_port=15002)
    try:
        with _redirect_stderr(private_directory() / "spark.log"):
            builder: Any = SparkSession.builder.remote(remote)
            for key, value in (_SQL_SETTINGS | dict(config)).items():
                builder = builder.config(key, value)
            session: SparkSession = builder.getOrCreate()
            session.version  # noqa: B018 - the first request to the server
    except ImportError as error:
        message = f"Spark Connect needs more packages: {outside(first_line(error))}"
        raise MissingDependency(message, extra="spark") from error
    except (PySparkException, OSError, RuntimeError) as error:
        raise BadInput(
            f"no Spark Connect server answers at {remote}: {outside(first_line(error))}"
        ) from error
    return session


def _check_listening(address: str, *, default_port: int) -> None:
    """Raise an error if nothing listens at an address; of several masters one is enough."""
    match = _ADDRESS.match(address)
    if match is None:
        return
    reason = ""
    for endpoint in match["endpoints"].split(","):
        host, _, port = endpoint.rpartition("@")[2].partition(":")
        try:
            with socket.create_connection(
                (host, int(port or default_port)), timeout=_CONNECT_SECONDS
            ):
                return
        except (OSError, ValueError) as error:
            reason = str(error)
    raise BadInput(
        f"nobody answers at {address}: {outside(reason)}",
        hint="Is it running, and is the address right?",
    )


def _start_failure(master: str, log: Path, error: Exception) -> DivulgeError:
    if log.exists():
        log_text = log.read_text(encoding="utf-8", errors="replace")
    else:
        log_text = ""
    if "UnsupportedClassVersionError" in log_text:
        return MissingDependency("this Java is too old for Spark", hint=_JAVA_HINT)
    if "JAVA_GATEWAY_EXITED" in str(error):
        reasons = _JAVA_REASON.findall(log_text)
    else:
        reasons = []
    if reasons:
        reason = reasons[0]
    else:
        reason = first_line(error)
    return BadInput(
        f"Spark cannot start on {master}: {outside(reason)}", hint="Is the master's address right?"
    )


@contextmanager
def _workers_use_this_python(*, is_local: bool) -> Iterator[None]:
    """Let workers on this machine run this Python, unless the user has chosen one.

    Pyspark reads the environment variable once.
    """
    if not is_local or _WORKER_PYTHON in os.environ:
        yield
        return
    os.environ[_WORKER_PYTHON] = sys.executable
    try:
        yield
    finally:
        del os.environ[_WORKER_PYTHON]


@contextmanager
def _redirect_stderr(path: Path) -> Iterator[None]:
    """Redirect the messages of programs that are started meanwhile to a file.

    Java prints warnings before any setting can stop it.
    """
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


# --- code -----------------------------------------------------------------------------------------
# Workers compute with the same code as the driver, whatever is installed there. They need numpy and
# pyarrow; divulge is sent to them.
_PACKAGE = Path(__file__).parent.parent


def send_code(session: SparkSession) -> None:
    """Make `import divulge` work in this session's workers.

    Sending the same code again does nothing.
    """
    before = list(sys.path)
    try:
        session.addArtifacts(str(_archive()), pyfile=True)
    finally:
        # pyspark puts the archive there as well; the driver has the package itself
        sys.path[:] = before


@functools.cache
def _archive() -> Path:
    """Return the package as a zip file, named by its content.

    It exists as long as the process, because a worker may start at any time.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(_PACKAGE.rglob("*.py")):
            # A fixed date, so that the same code has the same name.
            entry = zipfile.ZipInfo(f"divulge/{path.relative_to(_PACKAGE).as_posix()}")
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    name = f"divulge-{hashlib.sha256(packed.getvalue()).hexdigest()[:16]}.zip"
    target = private_directory() / name
    target.write_bytes(packed.getvalue())
    return target


class SummarizePart:
    """Function that reduces a partition to one row: its number and its summary.

    A DivulgeError is a result too, so that Spark does not retry the task.
    """

    def __init__(self, summarize: Callable[[Iterator[pa.RecordBatch]], Any]) -> None:
        self._summarize = summarize

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Summarize one partition."""
        from pyspark import TaskContext

        context = TaskContext.get()
        try:
            result = self._summarize(batches)
        except DivulgeError as error:
            result = error
        if result is not None:
            part = pa.array([context.partitionId() if context is not None else 0], pa.int32())
            yield pa.RecordBatch.from_arrays(
                [part, pa.array([pickle.dumps(result)], pa.binary())], ["part", "result"]
            )


class MergeParts:
    """Function that merges all summaries into one; the first error wins."""

    def __init__(self, merge: Callable[[Any, Any], Any]) -> None:
        self._merge = merge

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Merge the summaries of all partitions, in their order."""
        total: Any = None
        for batch in batches:
            for packed in batch.column("result"):
                result = pickle.loads(packed.as_py())  # noqa: S301 - written by our own code, over Spark's own connections
                if not isinstance(total, DivulgeError):
                    first = total is None or isinstance(result, DivulgeError)
                    if first:
                        total = result
                    else:
                        total = self._merge(total, result)
        if total is not None:
            yield pa.RecordBatch.from_arrays(
                [pa.array([pickle.dumps(total)], pa.binary())], ["result"]
            )


# --- cleanup --------------------------------------------------------------------------------------
# The garbage collector may free an object anywhere, even while pyspark waits for a reply of Java. A
# second request on the same connection would corrupt both. So a thread with a connection of its own
# sends it.
_cleanup_tasks: SimpleQueue[Callable[[], Any]] = SimpleQueue()
"""Queue whose `put` may be called by the garbage collector."""


def when_gone(owner: object, task: Callable[[], Any]) -> weakref.finalize[..., Any]:
    """Run a task soon after an object is gone.

    Tasks are not run at the end of the process, when the session ends too.
    """
    _start_cleanup_thread()
    finalizer = weakref.finalize(owner, _cleanup_tasks.put, task)
    finalizer.atexit = False
    return finalizer


def wait_until_clean() -> None:
    """Wait until all tasks are done that were scheduled so far."""
    done = threading.Event()
    _cleanup_tasks.put(done.set)
    done.wait()


@functools.cache
def _start_cleanup_thread() -> None:
    threading.Thread(target=_run_cleanup_tasks, name="divulge-spark-cleanup", daemon=True).start()


def _run_cleanup_tasks() -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    while True:
        task = _cleanup_tasks.get()
        # The session may have ended before.
        with suppress(PySparkException, Py4JError, OSError, AttributeError):
            task()
        del task
