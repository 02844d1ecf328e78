# SPDX-License-Identifier: Apache-2.0
"""What is true of every Spark session: the packages it needs, how quiet it should be, and where its scratch files are."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from divulge.engines.scratch import Scratch
from divulge.errors import MissingDependency

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


def first_line(error: BaseException) -> str:
    """What an error says first, without the names of Java's classes; the rest is Java's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return _JAVA_CLASS.sub("", lines[0]) if lines else type(error).__name__
