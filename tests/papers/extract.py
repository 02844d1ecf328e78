# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.papers.extract TEXT PAPER`: the numbers in the text of a paper that the list of everything printed does not have.

The texts of the papers are not part of the repository. `printed/PAPER.tsv` was made with this: where a number stands, and what is printed;
`printed/left-out.tsv` says which numbers of a text are no results, and why (cells of tables that are data sets, inputs of examples, numbers
of equations and references).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "printed"
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?")


def entries(paper: str) -> set[tuple[str, str]]:
    """Where something is printed, and what."""
    lines = (FOLDER / f"{paper}.tsv").read_text(encoding="utf-8").splitlines()
    return {(where, printed) for where, _, printed in (line.partition("\t") for line in lines)}


def left_out(paper: str) -> dict[str, str]:
    """Numbers of a text that are no results, and why."""
    lines = (FOLDER / "left-out.tsv").read_text(encoding="utf-8").splitlines()
    found = [line.split("\t") for line in lines]
    return {token: why for name, tokens, why in found if name == paper for token in tokens.split()}


def numbers(text: str) -> Iterator[str]:
    """The numbers of a text, without the marks of thousands."""
    return (found.replace(",", "") for found in _NUMBER.findall(text))


def missing(text: str, paper: str) -> list[str]:
    """Numbers of a paper's text, up to its references, that neither list has."""
    body = re.split(r"^## REFERENCES|^## References", text, flags=re.MULTILINE)[0]
    known = {number for _, printed in entries(paper) for number in numbers(re.sub(r"[~%(/<>=]", " ", printed))}
    lines = [(at, number) for at, line in enumerate(body.splitlines(), 1) for number in numbers(_plain(line))]
    return [f"{at}: {number}" for at, number in lines if number not in known and number not in left_out(paper)]


def _plain(line: str) -> str:
    r"""A line without its marks: citations, $ and \frac{1}{2}."""
    return re.sub(r"[^\w.,]+|\\[a-z]+|_", " ", re.sub(r"\[\d+\]|<[^>]*>|\$\w+\$", " ", line))


if __name__ == "__main__":
    sys.stdout.write("\n".join(missing(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2])) + "\n")
