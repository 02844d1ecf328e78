# SPDX-License-Identifier: Apache-2.0
"""A real Chromium, driven by Playwright, with pages that record forbidden actions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = (
    "there is no Chromium here: install one (Debian: apt-get install chromium), or run "
    ".ci/run "
    "as root"
)


def chromium() -> str | None:
    """Return the path of Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


NEEDED = [
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(chromium() is None, reason=MISSING),
]
"""Marks of browser tests: one process runs all of them."""
SIZES = {"phone": (390, 844), "desktop": (1366, 900)}


@contextmanager
def started() -> Iterator[Any]:
    """Start a browser; in a container it runs as root, which its sandbox does not allow."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Watched:
    """An open page with its messages, requests and policy violations."""

    page: Any
    events: list[str] = field(default_factory=list)

    def drawn(self) -> int:
        """Wait until every chart is drawn again; return the number of charts."""
        # a function: the page's policy forbids eval, which an expression needs while it polls
        self.page.wait_for_function(
            "() => document.querySelectorAll('figure.live img').length === 0"
        )
        return int(self.page.evaluate("document.querySelectorAll('figure.live .drawn svg').length"))


def opened(browser: Any, path: Path, size: str = "desktop", *, scripts: bool = True) -> Watched:
    """Open a file and record dialogs, errors, policy violations and requests to other addresses."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, java_script_enabled=scripts
    )
    page = context.new_page()
    watched = Watched(page)
    page_url = path.resolve().as_uri()
    keep = watched.events.append
    page.on("console", lambda message: keep(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: keep(f"error: {error}"))
    page.on("dialog", lambda dialog: (keep(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on(
        "request",
        lambda request: (
            None
            if request.url == page_url or request.url.startswith("data:")
            else keep(f"request: {request.url}")
        ),
    )
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation', (e) => console.error('violation', "
        "e.violatedDirective))"
    )
    page.goto(page_url)
    return watched
