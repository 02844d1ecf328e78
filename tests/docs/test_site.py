# SPDX-License-Identifier: Apache-2.0
"""The site builds without a warning, its generated pages hold every command and name, and each
page fits a phone, offline.
"""

from __future__ import annotations

import functools
import html
import http.server
import importlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

import divulge as dv
from divulge.cli.main import COMMANDS
from tests.docs.test_links import PRIVATE
from tests.output import browser as driver
from tests.test_structure import ORDER

ROOT = Path(__file__).parents[2]
PUBLIC_LAYERS = {"charts", "datasets", "dossier"}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]  # built once


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder


def page(site: Path, name: str) -> str:
    return (site / name / "index.html").read_text(encoding="utf-8")


def headings(text: str) -> set[str]:
    """The headings of a page, as they are read."""
    found = re.findall(r"<h[2-6][^>]*>(.*?)</h[2-6]>", text, re.DOTALL)
    return {
        html.unescape(re.sub(r"<[^>]+>", "", heading)).replace("¶", "").strip() for heading in found
    }


def shown(text: str) -> str:
    """What of a page is read: no markup."""
    return html.unescape(
        re.sub(r"<[^>]+>", "", text[text.index("<article") : text.index("</article>")])
    )


def test_every_public_name_has_its_place(site: Path) -> None:
    layers = {name: getattr(dv, name) for name in PUBLIC_LAYERS}
    names = {f"dv.{name}" for name in dir(dv) if name not in layers}
    names |= {f"dv.{layer}.{name}" for layer, module in layers.items() for name in module.__all__}
    found = headings(page(site, "reference/python")) | headings(page(site, "reference/dossier"))
    assert names <= found, names - found


def test_every_command_has_its_place_with_every_option_that_its_help_shows(site: Path) -> None:
    text = page(site, "reference/commands")
    titles = headings(text)
    for name in COMMANDS:
        command = get_command(importlib.import_module(f"divulge.cli.{name}").app)
        inner = getattr(command, "commands", {})
        assert {f"divulge {name}", *(f"divulge {name} {own}" for own in inner)} <= titles
        for each in inner.values() or [command]:
            options = [
                option
                for option in each.get_params(typer.Context(each))
                if not getattr(option, "hidden", False)
            ]
            told = {word for option in options for word in option.opts if word.startswith("--")}
            assert [
                word
                for word in told - {"--help"}
                if f"<code>{word}" not in text and f", {word}" not in text
            ] == []


@pytest.mark.parametrize("name", ["python", "dossier", "commands"])
def test_generated_pages_are_rendered_and_name_no_private_module(site: Path, name: str) -> None:
    text = page(site, f"reference/{name}")
    assert "<blockquote>" not in text, "an example outside a section Examples"
    assert PRIVATE.findall(shown(text)) == []
    assert "Parameters:" in text or name == "commands"


def test_no_page_shows_a_backslash_before_a_bar(site: Path) -> None:
    pages = {
        path.parent.name: shown(path.read_text(encoding="utf-8"))
        for path in site.rglob("index.html")
    }
    assert [name for name, text in pages.items() if "\\|" in text] == []


def test_every_layer_is_described_by_its_docstring_and_in_order(site: Path) -> None:
    rows = re.findall(
        r"<tr>\s*<td><code>(\w+)/?</code></td>\s*<td>(.+?)</td>", page(site, "architecture")
    )
    assert [name for name, _ in rows] == [name for name in ORDER if not name.startswith("__")]
    assert (
        dict(rows)["counting"]
        == "From rows to counts: the only folder that reads rows before a release is written."
    )


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Where the site is served; search, which asks for its index, does not work from a file."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Silent, directory=str(site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(driver.chromium() is None, reason=driver.MISSING)
@pytest.mark.parametrize("scripts", ["with scripts", "without"])
def test_pages_fit_500_pixels_and_ask_nobody_else(site: Path, address: str, scripts: str) -> None:
    pytest.importorskip("playwright")
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("index.html"))
    # scripts are slow
    some = ["index.html", "how-to/choose/index.html", "reference/metrics/index.html"]
    asked: list[str] = []
    wide = {}
    with driver.started() as browser:
        seen = browser.new_context(
            viewport={"width": 500, "height": 900}, java_script_enabled=scripts != "without"
        ).new_page()
        seen.on("request", lambda request: asked.append(request.url))
        for name in names if scripts == "without" else some:
            seen.goto(address + name)
            reach = seen.evaluate("document.documentElement.scrollWidth")
            if reach > 500:
                wide[name] = reach
    assert len(names) > 30
    assert wide == {}
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
