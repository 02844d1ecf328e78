# SPDX-License-Identifier: Apache-2.0
"""`--chart [KIND=]FILE` and `--report FILE`: what a command draws or writes beside its answer; what cannot be is refused before work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

import divulge as dv
from divulge.cli.options import Text, Texts, show
from divulge.errors import BadInput, nearest

ChartOption = Annotated[
    Texts,
    Option("--chart", metavar="[KIND=]FILE", help="Also draw it: .svg, .png or .html. Repeatable, for other kinds."),
]
Makers = Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class Pictures:
    """What is to be drawn, and where."""

    wanted: tuple[tuple[str, Path], ...]

    @classmethod
    def of(cls, given: Sequence[str] | None, kinds: Sequence[str]) -> Pictures:
        """From what was typed; the first kind is meant where none is named. A name that holds = is a kind and a file."""
        wanted = []
        for text in given or ():
            kind, equals, name = text.partition("=")
            if equals and "/" not in kind and kind not in kinds:
                raise BadInput(f"there is no picture {kind!r} here", hint=nearest(kind, kinds))
            known = bool(equals) and kind in kinds
            wanted.append((kind if known else kinds[0], dv.charts.check_path(name if known else text)))
        return cls(tuple(wanted))

    def draw(self, makers: Makers, *, json_: bool) -> None:
        """Draw them all, then write them; a kind that has no maker cannot be drawn of this result."""
        for kind, _ in self.wanted:
            if kind not in makers:
                raise BadInput(f"there is no picture {kind!r} of this", hint=nearest(kind, makers))
        drawn = [(makers[kind](), path) for kind, path in self.wanted]
        written = [str(dv.charts.save(chart, path)) for chart, path in drawn]
        if written and not json_:
            show("", f"Drawn: {', '.join(written)}")


PageOption = Annotated[Text, Option(metavar="FILE", help="Also write it as one page (.html), replaced if it is there.")]
ReportOption = Annotated[Text, Option(metavar="FILE", help="Also write a page about the release (.html).")]


def write_report(made: Any, path: str, *, json_: bool) -> None:
    """A page beside the answer."""
    written = made.save(path)
    if not json_:
        show("", f"Report: {written}")
