# SPDX-License-Identifier: Apache-2.0
"""What a page of Markdown asks its reader to type: its fenced blocks, the files among them, and
the commands in them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHELLS = ("", "sh", "bash", "shell", "console", "yaml")
"""Languages of blocks that may hold commands.

`text` holds output, or a synopsis that nobody can type.
"""

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?P<rest>[^\n]*)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_ENDS_COMMAND = {"|", "||", "&&", ">", ">>", ";"}


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    title: str
    """The name of the file that it shows, as in ```json title="me.json"; else empty."""
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One call of divulge, and the output that the page shows for it."""

    arguments: tuple[str, ...]
    line: int
    shown: tuple[str, ...] = ()
    whole: bool = False
    """Whether all of the output is shown (a block of text of its own), or some lines of it
    (below a prompt).
    """


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    source = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(source):
        title = re.search(r'title="([^"]+)"', match["rest"])
        indent = len(match["indent"])
        text = "".join(
            line[indent:] if line.strip() else line
            for line in match["text"].splitlines(keepends=True)
        )
        line = source.count("\n", 0, match.start("text")) + 1
        found.append(Block(match["language"], title[1] if title else "", text, line))
    return found


def commands_of(block: Block, following: Block | None) -> list[Command]:
    """The calls of divulge in a block.

    Output may stand below a prompt, or in a block of text that follows.
    """
    found = list(_calls(block))
    if (
        len(found) == 1
        and following is not None
        and following.language == "text"
        and not found[0].shown
    ):
        return [
            Command(
                found[0].arguments, found[0].line, tuple(following.text.splitlines()), whole=True
            )
        ]
    return found


def _calls(block: Block) -> Iterator[Command]:
    joined = block.text.replace("\\\n", " \0")
    arguments: tuple[str, ...] = ()
    line, begun, shown = block.line, 0, list[str]()
    for text in joined.splitlines():
        call = re.match(r"\s*(?:- run: |\$ )?divulge (.*)", text)
        prompt = text.lstrip().startswith("$ ")
        if call or prompt:
            if arguments:
                yield Command(arguments, begun, tuple(shown))
            arguments, begun, shown = _arguments(call[1]) if call else (), line, []
        elif arguments and block.language == "console":
            shown.append(text)
        line += 1 + text.count("\0")
    if arguments:
        yield Command(arguments, begun, tuple(shown))


def _arguments(text: str) -> tuple[str, ...]:
    """The words of a command up to a pipe, a redirection or a comment."""
    words = shlex.split(text.replace("\0", " "), comments=True)
    end = next((place for place, word in enumerate(words) if word in _ENDS_COMMAND), len(words))
    return tuple(words[:end])
