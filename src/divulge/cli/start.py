# SPDX-License-Identifier: Apache-2.0
"""Entry point of the installed program: handles signals before the program is imported."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the program; a signal that arrives before the handlers are installed waits for them."""
    waiting = [
        getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
    ]
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    from divulge import signals

    signals.install(json_output="--json" in sys.argv)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, waiting)
    from divulge.cli.main import main as run

    run()
