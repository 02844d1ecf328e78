# SPDX-License-Identifier: Apache-2.0
"""What is true of every Spark session: the packages it needs, how quiet it should be, and where its scratch files are."""

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

from divulge import private_folder
from divulge.errors import BadInput, DivulgeError, MissingDependency

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_INSTALL = "pip install 'divulge[spark]'; Spark itself also needs Java 17 or newer"
_OLDEST = 4
_JAVA_CLASS = re.compile(r"^:? ?[\w.$]+(?:Exception|Error): ")


def require_pyspark() -> None:
    """Refuse, with what to install, where the package is missing or too old."""
    missing = [name for name in ("pyspark", "pandas") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependency(f"the Spark engine needs {' and '.join(missing)}, not installed here", hint=_INSTALL)
    import pyspark

    if int(pyspark.__version__.partition(".")[0]) < _OLDEST:
        told = f"the Spark engine needs pyspark 4, and {pyspark.__version__} is installed"
        raise MissingDependency(told, hint=_INSTALL)


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
    scratch = private_folder.Scratch()
    atexit.register(scratch.remove)
    return scratch.directory


def first_line(error: BaseException) -> str:
    """What an error says first, without the names of Java's classes; the rest is Java's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return _JAVA_CLASS.sub("", lines[0]) if lines else type(error).__name__


# --- start ------------------------------------------------------------------------------------------------------------
# A session that runs already is taken as it is. One that we start gets settings under which Spark answers as DuckDB does: names in
# their exact case, timestamps in UTC, overflow as an error. It listens on loopback only where it runs on this machine alone, keeps
# its scratch files in a private directory (mode 0700) and writes its log there.
_JAVA = "Install Java 17 or newer (Debian and Ubuntu: apt install openjdk-17-jre-headless) or set JAVA_HOME"

# Workers die and are replaced; on one machine Spark gives up after the first unless it is told a number of attempts.
_DEFAULT_MASTER = "local[*,4]"
_PATIENCE = 10.0
"""Seconds to wait for an address to answer at all; Spark itself would try for minutes."""
_ADDRESS = re.compile(r"^(?:spark|sc)://(?P<places>[^/;]+)")
_JAVA_REASON = re.compile(r"^Exception in thread \S+ [\w.$]+: (.+)$", re.MULTILINE)
_WORKER_PYTHON = "PYSPARK_PYTHON"
_SQL_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Else Spark clones the session for every frame that is kept, with a copy of our code for the workers, and removes that copy when the
    # clone is collected as garbage: an executor that starts later may be sent for a file that is not there, and each of its tasks fails.
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
    """The session of this process, or a new one: on `master`, or on the Spark Connect server `remote` (sc://host:port)."""
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
            _refuse_other(running, master or remote, to_server=remote is not None)
            return running
        return _start(master, config or {}) if remote is None else _start_remote(remote, config or {})


def _refuse_other(running: SparkSession, asked: str | None, *, to_server: bool) -> None:
    """A process has one Spark: a second address would be ignored without a word."""
    where = "a Spark Connect server" if is_remote(running) else running.sparkContext.master
    if asked is not None and asked != where and not (to_server and is_remote(running)):
        told = f"{asked} was asked for, and a Spark session on {where} runs in this process"
        raise BadInput(told, hint="Stop it first")


def _start(master: str | None, config: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home) / "bin") if home else None) is None:
        raise MissingDependency("the Spark engine needs Java, and none was found", hint=_JAVA)
    chosen = master or config.get("spark.master") or _DEFAULT_MASTER
    alone = chosen.startswith("local")
    _check_answers(chosen, default_port=7077)
    builder: Any = SparkSession.builder
    for key, value in (_SQL_SETTINGS | _OWN_SETTINGS | (_alone() if alone else {}) | dict(config)).items():
        builder = builder.config(key, value)
    log = private_directory() / "spark.log"
    try:
        with _stderr_into(log), _same_python(alone=alone):
            session: SparkSession = builder.master(chosen).getOrCreate()
    except (PySparkException, Py4JError) as error:
        if SparkContext._active_spark_context is not None:  # noqa: SLF001 - half started, it would be taken for a session
            with suppress(PySparkException, Py4JError):
                SparkContext._active_spark_context.stop()  # noqa: SLF001
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

    if not remote.startswith("sc://"):
        raise BadInput(f"{remote!r} is not the address of a Spark Connect server", hint="Write sc://host:15002")
    _check_answers(remote, default_port=15002)
    try:
        with _stderr_into(private_directory() / "spark.log"):
            builder: Any = SparkSession.builder.remote(remote)
            for key, value in (_SQL_SETTINGS | dict(config)).items():
                builder = builder.config(key, value)
            session: SparkSession = builder.getOrCreate()
            session.version  # noqa: B018 - the first question to the server
    except ImportError as error:
        told = f"Spark Connect needs more packages: {first_line(error)}"
        raise MissingDependency(told, hint="pip install 'divulge[spark]'") from error
    except (PySparkException, OSError, RuntimeError) as error:
        raise BadInput(f"no Spark Connect server answers at {remote}: {first_line(error)}") from error
    return session


def _check_answers(address: str, *, default_port: int) -> None:
    """Refuse an address where nobody listens; of several masters one is enough."""
    found = _ADDRESS.match(address)
    if found is None:
        return
    reason = ""
    for place in found["places"].split(","):
        host, _, port = place.rpartition("@")[2].partition(":")
        try:
            with socket.create_connection((host, int(port or default_port)), timeout=_PATIENCE):
                return
        except (OSError, ValueError) as error:
            reason = str(error)
    raise BadInput(f"nobody answers at {address}: {reason}", hint="Is it running, and is the address right?")


def _did_not_start(master: str, log: Path, error: Exception) -> DivulgeError:
    told = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if "UnsupportedClassVersionError" in told:
        return MissingDependency("this Java is too old for Spark", hint=_JAVA)
    reasons = _JAVA_REASON.findall(told) if "JAVA_GATEWAY_EXITED" in str(error) else []
    reason = reasons[0] if reasons else first_line(error)
    return BadInput(f"Spark cannot start on {master}: {reason}", hint="Is the master's address right?")


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


# --- code -------------------------------------------------------------------------------------------------------------
# Workers compute with the same code as the driver whatever is installed there: they need numpy and pyarrow, divulge comes along.
_PACKAGE = Path(__file__).parent.parent


def send_code(session: SparkSession) -> None:
    """Make `import divulge` work in this session's workers; sending the same code again does nothing."""
    before = list(sys.path)
    try:
        session.addArtifacts(str(_archive()), pyfile=True)
    finally:
        sys.path[:] = before  # pyspark puts the archive there as well; the driver has the package itself


@functools.cache
def _archive() -> Path:
    """The package as a zip file, named by its content. It lives as long as the process: a worker may start at any time."""
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
    """A partition becomes one row: its number and its summary. An error of ours is a result too, so that nothing is retried."""

    def __init__(self, summarize: Callable[[Iterator[pa.RecordBatch]], Any]) -> None:
        self._summarize = summarize

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Of one partition."""
        from pyspark import TaskContext

        context = TaskContext.get()
        try:
            result = self._summarize(batches)
        except DivulgeError as error:
            result = error
        if result is not None:
            part = pa.array([context.partitionId() if context is not None else 0], pa.int32())
            yield pa.RecordBatch.from_arrays([part, pa.array([pickle.dumps(result)], pa.binary())], ["part", "result"])


class MergeParts:
    """All summaries become one; the first error wins."""

    def __init__(self, merge: Callable[[Any, Any], Any]) -> None:
        self._merge = merge

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Of all partitions, in their order."""
        total: Any = None
        for batch in batches:
            for packed in batch.column("result"):
                result = pickle.loads(packed.as_py())  # noqa: S301 - written by our own code, over Spark's own connections
                if not isinstance(total, DivulgeError):
                    first = total is None or isinstance(result, DivulgeError)
                    total = result if first else self._merge(total, result)
        if total is not None:
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(total)], pa.binary())], ["result"])


# --- cleanup ----------------------------------------------------------------------------------------------------------
# An object may go anywhere, also while pyspark waits for an answer of Java's, because the garbage collector runs where it likes. A
# second question on the same connection would tear both apart, so a thread with a connection of its own asks it.
_tasks: SimpleQueue[Callable[[], Any]] = SimpleQueue()
"""Of the kind whose `put` may be called by the garbage collector."""


def when_gone(owner: object, task: Callable[[], Any]) -> weakref.finalize[..., Any]:
    """Have a task done soon after an object is gone; a session that ends with the process needs none."""
    _start_worker()
    found = weakref.finalize(owner, _tasks.put, task)
    found.atexit = False
    return found


def wait_until_clean() -> None:
    """Return when everything is done that was to be done so far."""
    done = threading.Event()
    _tasks.put(done.set)
    done.wait()


@functools.cache
def _start_worker() -> None:
    threading.Thread(target=_work, name="divulge-spark-cleanup", daemon=True).start()


def _work() -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    while True:
        task = _tasks.get()
        # The session may have gone before.
        with suppress(PySparkException, Py4JError, OSError, AttributeError):
            task()
        del task
