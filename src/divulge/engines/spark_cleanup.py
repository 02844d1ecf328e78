# SPDX-License-Identifier: Apache-2.0
"""Takes out of a Spark session what objects that are gone have left there: views and cached frames.

An object may go anywhere, also while pyspark waits for an answer of Java's, because the garbage collector runs where it likes. A second
question on the same connection would tear both apart, so a thread with a connection of its own asks it.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

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
