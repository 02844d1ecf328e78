# SPDX-License-Identifier: Apache-2.0
"""`make pictures`: what docs/assets/pictures holds, drawn anew by the commands of the pages that
show it.

A page that shows a picture has the command that draws it: `--chart NAME.svg`, or `--out NAME.html`
for the head of a report, which Chromium takes a picture of. test_pages.py runs the same commands,
and holds what they draw against what is stored: not pixels, which follow fonts and browsers, but
what a picture tells.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import struct
import sys
import tempfile
import zlib
from pathlib import Path

from tests.docs.blocks import SHELLS, blocks_of, commands_of
from tests.helpers import run_cli
from tests.output import browser as driver

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "assets" / "pictures"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WIDTH = 1000
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEY = b"Description\0"


def shown(page: Path) -> list[Path]:
    """The pictures of docs/assets/pictures that a page shows."""
    names = re.findall(
        r"!\[[^\]]*\]\([\w./-]*assets/pictures/([\w.-]+)\)", page.read_text(encoding="utf-8")
    )
    return [FOLDER / name for name in dict.fromkeys(names)]


def drawn_as(picture: Path) -> str:
    """The file that a command writes for it: a picture of a page is taken of the page."""
    return picture.name if picture.suffix == ".svg" else f"{picture.stem}.html"


def told(path: Path) -> list[str]:
    """What a picture tells: title, axes and every mark of a drawing.

    The head of a report in words, without the version.
    """
    if path.suffix == ".png":
        return description(path.read_bytes()).splitlines()
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".svg":
        return re.findall(r'aria-label="([^"]*)"', text)
    head = text[text.index("<header") : text.index("</section>")]
    words = (" ".join(html.unescape(part).split()) for part in re.split(r"<[^>]+>", head))
    return [re.sub(r"^divulge \d\S*$", "divulge", word) for word in words if word]


def description(png: bytes) -> str:
    """The text that `described` wrote into a picture."""
    place = len(_SIGNATURE)
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        kind, content = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        if kind == b"tEXt" and content.startswith(_KEY):
            return zlib.decompress(bytes.fromhex(content[len(_KEY) :].decode())).decode()
        place += 12 + length
    return ""


def described(png: bytes, lines: list[str]) -> bytes:
    """The same picture, with what it tells inside, packed since a tEXt chunk holds Latin letters
    only.
    """
    content = _KEY + zlib.compress("\n".join(lines).encode()).hex().encode()
    chunk = b"tEXt" + content
    end_of_header = len(_SIGNATURE) + 25
    packed = struct.pack(">I", len(content)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return png[:end_of_header] + packed + png[end_of_header:]


def main() -> int:
    """Draw all of them; say where they are."""
    if driver.chromium() is None:
        sys.stderr.write(f"{driver.MISSING}\n")
        return 1
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run_cli("demo", "--out", "divulge-demo")
        for page in PAGES:
            _draw(page, {drawn_as(picture): picture for picture in shown(page)})
    sys.stdout.write(f"look at {FOLDER.relative_to(ROOT)}\n")
    return 0


def _draw(page: Path, wanted: dict[str, Path]) -> None:
    blocks = [block for block in blocks_of(page) if block.language in SHELLS]
    for command in (command for block in blocks for command in commands_of(block, None)):
        files = {word.rpartition("=")[2] for word in command.arguments} & set(wanted)
        if files:
            run_cli(*command.arguments)
        for name in files:
            if wanted[name].suffix == ".svg":
                shutil.copyfile(name, wanted[name])
            else:
                wanted[name].write_bytes(described(_head_of(Path(name)), told(Path(name))))


def _head_of(page: Path) -> bytes:
    """The answer, the four numbers and the first section of a report, as a screen shows them."""
    with driver.started() as browser:
        opened = browser.new_context(viewport={"width": WIDTH, "height": 900}).new_page()
        opened.goto(page.resolve().as_uri())
        end = opened.evaluate(
            "document.querySelector('main > section').getBoundingClientRect().bottom"
        )
        picture: bytes = opened.screenshot(
            clip={"x": 0, "y": 0, "width": WIDTH, "height": int(end) + 16}, full_page=True
        )
        return picture


if __name__ == "__main__":
    sys.exit(main())
