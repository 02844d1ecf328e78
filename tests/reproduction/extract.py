# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.reproduction.extract PAPER TEXT`: numbers of a text that the printed lists lack.

The texts of the papers are not part of the repository. `printed/PAPER.tsv` was made with this
program: the location of each number, and the printed text. `printed/left-out.tsv` lists the numbers
of a text that are no results, with the reason (cells of data sets, inputs of examples, numbers of
equations and references). `printed/found.tsv` stores the numbers of each text and their locations,
so that a test can compare the lists with it without the text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "printed"
_NUMBER = re.compile(
    r"(?<![\w.-])(?:[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d+)?|(?P<comma>\d,\d{1,2}|0,\d+)(?![\d,])|\d+(?:\.\d+)?)"
)
"""30,162 has a thousands separator, 0,875 (Table 4 of bkakria) a decimal comma.

30,11100 is two numbers.
"""
_HEADING = re.compile(
    r"(?:#+ |\*\*)?((?:Table|TABLE|Fig\.|Figure|Example|Definition|Algorithm) \d+|\d(?:\.\d)*(?= "
    r"[A-Z]))"
)
_REFERENCES = re.compile(r"^(?:## )?(?:REFERENCES|References)\s*$", flags=re.MULTILINE)


def entries(paper: str) -> set[tuple[str, str]]:
    """Location and printed text of each entry of a paper's list."""
    lines = (FOLDER / f"{paper}.tsv").read_text(encoding="utf-8").splitlines()
    return {(where, printed) for where, _, printed in (line.partition("\t") for line in lines)}


def left_out(paper: str) -> dict[str, str]:
    """Numbers of a text that are no results, and the reason."""
    lines = (FOLDER / "left-out.tsv").read_text(encoding="utf-8").splitlines()
    found = [line.split("\t") for line in lines]
    return {token: why for name, tokens, why in found if name == paper for token in tokens.split()}


def numbers(text: str) -> Iterator[str]:
    """Numbers of a text, without thousands separators and with a decimal point."""
    return (
        found[0].replace(",", "." if found["comma"] else "") for found in _NUMBER.finditer(text)
    )


def found_in(text: str) -> list[tuple[str, str]]:
    """Numbers of a paper's text up to its references, once for each location.

    A location is the last heading, table or figure before the number.
    """
    place, seen = "", dict[tuple[str, str], None]()
    for line in _REFERENCES.split(text)[0].splitlines():
        heading = _HEADING.match(line)
        place = heading[1] if heading else place
        seen |= dict.fromkeys((number, place) for number in numbers(_plain(line)))
    return list(seen)


def committed(paper: str) -> list[tuple[str, str]]:
    """Numbers of a paper's text as stored in `printed/found.tsv`."""
    lines = (FOLDER / "found.tsv").read_text(encoding="utf-8").splitlines()
    return [
        (number, place)
        for name, number, place in (line.split("\t") for line in lines)
        if name == paper
    ]


def missing(in_text: Iterable[tuple[str, str]], paper: str) -> list[str]:
    """Numbers of a text that neither list has, and their locations."""
    known = {
        number
        for _, printed in entries(paper)
        for number in numbers(re.sub(r"[~%(/<>=\[\]{}^]", " ", printed))
    }
    known |= set(left_out(paper))
    return [f"{place}: {number}" for number, place in in_text if number not in known]


def _plain(line: str) -> str:
    r"""Remove markup from a line: citations, addresses, $ and \frac{1}{2}."""
    return re.sub(
        r"[^\w.,]+|\\[a-z]+|_",
        " ",
        re.sub(r"\[\d+(?:[,\u2013-] ?\d+)*\]|<[^>]*>|\$\w+\$", " ", line),
    )


def _write(texts: Mapping[str, str]) -> None:
    """Store the numbers of these texts in `printed/found.tsv`; entries of other texts stay."""
    path = FOLDER / "found.tsv"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if line.partition("\t")[0] not in texts]
    own = ["\t".join((paper, *each)) for paper, text in texts.items() for each in found_in(text)]
    path.write_text("\n".join(sorted(kept + own)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    paper, path = sys.argv[1:]
    body = Path(path).read_text(encoding="utf-8")
    _write({paper: body})
    sys.stdout.write("\n".join(missing(found_in(body), paper)) + "\n")
