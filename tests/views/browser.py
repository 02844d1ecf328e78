# SPDX-License-Identifier: Apache-2.0
"""A real Chromium, driven by Playwright with its path, and a page in it that remembers everything it should not have done."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "there is no Chromium here: install one (Debian: apt-get install chromium), or run .ci/run as root"


def chromium() -> str | None:
    """Where it is."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


NEEDED = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.skipif(chromium() is None, reason=MISSING)]
"""Marks of tests in a browser: one process for all of them."""
SIZES = {"phone": (390, 844), "desktop": (1366, 900)}


@contextmanager
def started() -> Iterator[Any]:
    """A browser; in a container it runs as root, which its sandbox does not."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Watched:
    """An open page, and what it said, asked for and refused."""

    page: Any
    events: list[str] = field(default_factory=list)

    def drawn(self) -> int:
        """Wait until every picture is drawn anew; how many there are."""
        self.page.wait_for_function("document.querySelectorAll('figure.live img').length === 0")
        return int(self.page.evaluate("document.querySelectorAll('figure.live .drawn svg').length"))


def opened(browser: Any, path: Path, size: str = "desktop", *, scripts: bool = True) -> Watched:
    """Open a file; dialogs, errors, violations of its policy and requests for anything but itself are kept."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, java_script_enabled=scripts)
    page = context.new_page()
    watched = Watched(page)
    own = path.resolve().as_uri()
    keep = watched.events.append
    page.on("console", lambda message: keep(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: keep(f"error: {error}"))
    page.on("dialog", lambda dialog: (keep(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on(
        "request",
        lambda request: (
            None if request.url == own or request.url.startswith("data:") else keep(f"request: {request.url}")
        ),
    )
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation', (e) => console.error('violation', e.violatedDirective))"
    )
    page.goto(own)
    return watched
