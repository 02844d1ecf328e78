# SPDX-License-Identifier: Apache-2.0
"""A page of the studio in a real browser, used as a user would, with a record of its faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from tests.studio.served import Served

LONG = 60_000


class Page:
    """A page of the studio, and a record of its faults."""

    def __init__(self, context: Any, served: Served) -> None:
        self._watch(context.new_page(), served.port)
        self.page.goto(f"http://127.0.0.1:{served.port}/")
        self.shown()

    @classmethod
    def of(cls, page: Any) -> Page:
        """Return a page that was opened from another one."""
        found = cls.__new__(cls)
        found._watch(page, int(page.url.split(":")[2].split("/")[0]))  # noqa: SLF001 - its own
        return found

    def _watch(self, page: Any, port: int) -> None:
        self.page, self.events = page, list[str]()
        keep, here = (
            self.events.append,
            (f"http://127.0.0.1:{port}/", "data:", f"blob:http://127.0.0.1:{port}/"),
        )
        self.page.on("console", lambda message: keep(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: keep(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (keep(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on(
            "request",
            lambda request: (
                None if request.url.startswith(here) else keep(f"request: {request.url}")
            ),
        )
        self.page.set_default_timeout(LONG)

    def shown(self, after: int = 0) -> int:
        """Wait until the newest request is answered and every chart is drawn; return its number."""
        self.page.wait_for_function(
            "(n) => Number(document.body?.dataset.shown ?? 0) > n", arg=after
        )
        assert (
            self.page.evaluate(
                "document.querySelectorAll('figure.live:not(:has(.drawn svg))').length"
            )
            == 0
        )
        return int(self.page.evaluate("Number(document.body.dataset.shown)"))

    def click(self, selector: str) -> None:
        """Click, and wait for the answer."""
        self.change(lambda: self.page.click(selector))

    def change(self, act: Callable[[], Any]) -> None:
        """Move a control, and wait for the answer.

        Checkboxes are clicked, because the answer may replace them.
        """
        before = int(self.page.evaluate("Number(document.body.dataset.shown ?? 0)"))
        act()
        self.shown(before)

    def fill(self, selector: str, text: str) -> None:
        """Type into a field, leave it, and wait for the answer."""
        self.change(lambda: self.page.fill(selector, text) or self.page.keyboard.press("Tab"))

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list, and wait for the answer."""
        self.change(lambda: self.page.select_option(selector, value))

    def give(self, path: Path) -> None:
        """Upload a file, and wait for the answer."""
        self.change(lambda: self.page.set_input_files("input[type=file]", path))

    def go(self, place: str) -> None:
        """Go to another tab."""
        self.page.click(f"nav a[href={place}]")
        self.page.wait_for_url(f"**/{place}")
        self.shown()

    def open(self, name: str, policy: Path | None = None) -> Page:
        """Open a table of the folder by a click, and upload a policy file."""
        self.click(f"button[name=open][value='{name}']")
        if policy is not None:
            self.give(policy)
        return self

    def said(self, kind: str) -> str:
        """Return the equivalent command, Python code or policy file."""
        self.page.click(f"[data-same={kind}]")
        return str(self.page.inner_text("#same"))

    def tabbed(self, there: str) -> bool:
        """Press Tab until the focus is on the wanted element; False if it never is."""
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(there):
                return True
        return False

    def trouble(self) -> str:
        """Return the error that is shown instead of an answer."""
        return str(self.page.inner_text("#trouble")) if self.page.is_visible("#trouble") else ""

    def welcomes_everybody(self) -> None:
        """Check that axe-core finds no serious fault, and that the page fits small screens."""
        session = self.page.context.new_cdp_session(self.page)
        axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
        session.send("Runtime.evaluate", {"expression": axe})
        asked = {
            "expression": "axe.run().then((r) => JSON.stringify(r.violations))",
            "awaitPromise": True,
            "returnByValue": True,
        }
        found = json.loads(session.send("Runtime.evaluate", asked)["result"]["value"])
        kinds = ("serious", "critical")
        assert [
            (each["id"], each["nodes"][0]["html"][:160])
            for each in found
            if each["impact"] in kinds
        ] == []
        for width in (390, 1366):
            self.page.set_viewport_size({"width": width, "height": 768})
            assert self.page.evaluate("document.documentElement.scrollWidth") == width

    def close(self) -> None:
        """Close the page; check that it sent no request elsewhere, and that nothing went wrong."""
        assert self.events == []
        self.page.close()
