# SPDX-License-Identifier: Apache-2.0
"""`python -m reproduction`: recompute the numbers of the five papers, and draw their figures.

    make papers                                        # all five, the verdicts of each
    make papers ARGS="afifi --part 'Example 8'"        # one part of one paper, number by number
    make papers ARGS="--out docs/papers"               # write the pages of the documentation

Exit codes: 0 if every difference from print is explained, 1 if one is not, 2 after bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from divulge import charts
from divulge.cli.progress import progress_bar
from divulge.errors import DivulgeError
from reproduction import pages
from reproduction.recompute import PAPERS, reproduce


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Recompute what the papers behind divulge print: every table, example, figure "
        "and claim next to ours, with a verdict.",
    )
    parser.add_argument(
        "paper", nargs="?", metavar="PAPER", help=f"{', '.join(PAPERS)}; without it, all of them"
    )
    parser.add_argument(
        "--part", metavar="TEXT", help="only parts with this text in their heading: 'Table 5'"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="reduce long experiments; their results are less certain",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="write a page for each paper, with its figures as SVG",
    )
    parser.add_argument(
        "--chart", metavar="FILE", help="draw the number of each verdict: .svg, .png or .html"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Recompute what the arguments select, show it, and return the exit code."""
    options = argument_parser().parse_args(arguments)
    written: list[Path] = []
    try:
        if options.chart is not None:
            charts.check_path(options.chart)
        with progress_bar("reproducing") as progress:
            result = reproduce(
                options.paper, part=options.part, quick=options.quick, progress=progress
            )
        if options.out is not None:
            written += pages.write(result, options.out)
        if options.chart is not None:
            written.append(charts.save(result.chart(), options.chart))
    except DivulgeError as error:
        sys.stderr.write(f"reproduction: {error}\n")
        return error.exit_code
    if options.json:
        text = json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    else:
        text = str(result)
        if written:
            text += f"\n\nWritten: {', '.join(map(str, written))}"
    sys.stdout.write(f"{text}\n")
    if result.holds:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
