# SPDX-License-Identifier: Apache-2.0
"""Comparison of a paper's printed numbers with ours; a verdict for each number, claim and figure.

A paper is one file that registers its parts: an example, a table, a figure, a section's claims. A
part yields rows (`row`, `claim`) and figures (`Figure`). None of our numbers is written down; all
of them are computed when the part runs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from divulge.errors import BadInput, InternalError, nearest
from divulge.results import Result
from divulge.validation import checked

# --- digits ---------------------------------------------------------------------------------------
# Compare our number with the printed one, to the printed digits and no further. The printed number
# is stored as text, because the text determines the digits that count. 0.57 matches everything from
# 0.565 to 0.575, and 0.579 if it was truncated instead of rounded. 3/4 and sqrt(8)/12 match exactly
# or not at all. ">= 6" is a bound that holds or does not.
Agreement = Literal["match", "truncated", "holds", "does not hold", "differs"]
_DECIMAL = re.compile(r"-?\d*\.?\d+(?:[eE]-?\d+)?")
_ROOT = re.compile(r"sqrt\((\d+)\)(?:/(\d+))?")
_BOUND = re.compile(r"(<=|>=|<|>)\s*(.+)")
_TOLERANCE = 1e-9
"""Tolerance for rounding errors of floating point."""


def agreement(ours: float | str, printed: str) -> Agreement:
    """Compare our number, or our words, with the printed text.

    >>> [agreement(ours, "0.57") for ours in (0.5731, 0.5779, 0.5801)]
    ['match', 'truncated', 'differs']
    >>> (
    ...     agreement(2**0.5 / 6, "sqrt(8)/12"),
    ...     agreement(0.333, "1/3"),
    ...     agreement(22, ">= 6"),
    ...     agreement(0.876, "88%"),
    ... )
    ('match', 'differs', 'holds', 'match')
    >>> agreement("yes", "Yes")
    'differs'
    """
    if isinstance(ours, str):
        if ours == printed:
            return "match"
        return "differs"
    if bound := _BOUND.fullmatch(printed):
        if _meets_bound(ours, bound[1], value_of(bound[2])):
            return "holds"
        return "does not hold"
    text = _without_marks(printed)
    value = value_of(printed)
    if not _DECIMAL.fullmatch(text):
        if math.isclose(ours, value, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return "match"
        return "differs"
    unit = unit_of(printed)
    if abs(ours - value) <= unit / 2 + _TOLERANCE:
        return "match"
    cut_off = math.trunc(ours / unit + math.copysign(_TOLERANCE, ours)) * unit
    if math.isclose(cut_off, value, abs_tol=unit * 1e-6):
        return "truncated"
    return "differs"


def value_of(printed: str) -> float:
    """Convert printed text such as sqrt(8)/12, 3/4, 0.57, 30,162, ~1.85 or 88% to a number.

    >>> value_of("3/4"), value_of("30,162"), value_of("~88%"), round(value_of("sqrt(8)/12"), 4)
    (0.75, 30162.0, 0.88, 0.2357)
    """
    text = _without_marks(printed)
    if root := _ROOT.fullmatch(text):
        number = math.sqrt(int(root[1])) / int(root[2] or 1)
    elif "e" in text.lower():
        number = float(text)
    else:
        number = float(Fraction(text))
    if printed.endswith("%"):
        return number / 100
    return number


def unit_of(printed: str) -> float:
    """Value of one unit in the last printed digit.

    >>> unit_of("0.57"), unit_of("8"), unit_of("88%"), unit_of("2.5e-3")
    (0.01, 1.0, 0.01, 0.0001)
    """
    mantissa, _, exponent = _without_marks(printed).lower().partition("e")
    places = (
        len(mantissa.partition(".")[2]) - int(exponent or 0) + (2 if printed.endswith("%") else 0)
    )
    return float(f"1e{-places}")


def is_number(printed: str) -> bool:
    """True if the printed text is a number or a bound, False if it is words.

    >>> is_number("3/4"), is_number(">= 6"), is_number("yes")
    (True, True, False)
    """
    bound = _BOUND.fullmatch(printed)
    try:
        value_of(bound[2] if bound else printed)
    except ValueError:
        return False
    return True


def _without_marks(printed: str) -> str:
    return printed.removeprefix("~").removesuffix("%").replace(",", "").strip()


def _meets_bound(ours: float, sign: str, bound: float) -> bool:
    if "<" in sign:
        if "=" in sign:
            return ours <= bound + _TOLERANCE
        return ours < bound
    if "=" in sign:
        return ours >= bound - _TOLERANCE
    return ours > bound


# --- reproduction ---------------------------------------------------------------------------------
Kind = Literal["table", "figure", "example", "claim"]
Verdict = Literal[
    "match",
    "truncated",
    "erratum",
    "not reproducible",
    "holds",
    "does not hold",
    "no number printed",
    "differs",
]
VERDICTS: dict[str, str] = {
    "match": "equal to the printed digits",
    "truncated": "equal if our digits are cut off instead of rounded",
    "erratum": "the printed number is wrong, for the reason told",
    "not reproducible": "another number, and the paper does not say enough to tell why",
    "holds": "the claim or bound is met",
    "does not hold": "the claim or bound is not met",
    "no number printed": "the paper shows it without a number",
    "differs": "another number, and nobody has explained it yet",
}
"""Every verdict and its meaning."""


@dataclass(frozen=True)
class Printed:
    """A statement of a paper, and its location."""

    value: str | None = None
    """The printed text, digit by digit; None if the paper prints no number."""
    where: str = ""
    """Location, such as "Example 8" or "Table 5, row 2"; that of the part if empty."""
    kind: Kind = "claim"


@dataclass(frozen=True)
class Row:
    """A printed number or claim, compared with ours."""

    label: str
    """The class, row or case."""
    quantity: str
    """The quantity that the number measures."""
    printed: Printed
    ours: float | str
    verdict: Verdict
    reason: str = ""
    """Reason why the printed number is wrong or cannot be met, or a remark."""
    exact: bool = False
    """True if our number is shown as a fraction."""

    @property
    def as_printed(self) -> str:
        """The printed text, with a decimal value added if ours is a decimal.

        Empty if the paper prints nothing.
        """
        text = self.printed.value or ""
        is_plain = (
            isinstance(self.ours, str)
            or self.exact
            or not re.fullmatch(r"(sqrt\(\d+\)|\d+)/\d+", text)
        )
        if is_plain:
            return text
        return f"{text} = {value_of(text):.4g}"

    @property
    def shown(self) -> str:
        """Our number as text: at most six decimals, or a fraction."""
        if isinstance(self.ours, str):
            return self.ours
        if self.exact:
            fraction = Fraction(self.ours).limit_denominator(4000)
            if abs(float(fraction) - self.ours) <= 1e-12:
                return str(fraction)
        if abs(self.ours) < float("inf"):
            return f"{round(self.ours, 6) + 0.0:.6f}".rstrip("0").rstrip(".")
        return "inf"


def row(
    label: str,
    quantity: str,
    ours: float | str,
    printed: str | None = None,
    *,
    where: str = "",
    erratum: str = "",
    open_: str = "",
    note: str = "",
    exact: bool = False,
) -> Row:
    """Compare our number with the printed one.

    Args:
        label: The class, row or case.
        quantity: The quantity that the number measures.
        ours: The computed number.
        printed: The printed text; None if the paper prints no number.
        where: Its location, if it differs from that of the part.
        erratum: Reason why the printed number is wrong, if it is.
        open_: Detail that the paper omits, so that its number cannot be reproduced.
        note: Further remark.
        exact: Show our number as a fraction.
    """
    if not isinstance(ours, str):
        ours = float(ours)
    if printed is None:
        verdict: Verdict = "no number printed"
    else:
        verdict = agreement(ours, printed)
    if verdict == "differs" and (erratum or open_):
        if erratum:
            verdict = "erratum"
        else:
            verdict = "not reproducible"
        note = erratum or open_
    elif erratum or open_:
        message = (
            f"{label}, {quantity}: ours ({ours}) is told to differ from {printed!r}, and "
            "the "
            f"verdict is {verdict!r}"
        )
        raise InternalError(message)
    return Row(label, quantity, Printed(printed, where), ours, verdict, note, exact)


def claim(statement: str, *, holds: bool, ours: str, where: str = "", note: str = "") -> Row:
    """Record whether a claim about order or shape holds in our numbers.

    Args:
        statement: The claim of the paper.
        holds: True if our numbers confirm it.
        ours: Summary of our numbers.
        where: Its location, if it differs from that of the part.
        note: Reason why it does not hold, or a further remark.
    """
    return Row(
        statement,
        "claim",
        Printed(statement, where),
        ours,
        "holds" if holds else "does not hold",
        note,
    )


@dataclass(frozen=True)
class Figure:
    """Our version of a figure: points of lines or bars, with the printed numbers."""

    name: str
    """Name, such as Fig. 2a."""
    title: str
    x: str
    """Title of the x axis."""
    y: str
    points: tuple[Mapping[str, Any], ...]
    """Points with x and y, and with `series` and `panel` if there are several."""
    mark: Literal["bars", "lines"] = "bars"
    printed: tuple[Mapping[str, Any], ...] = ()
    """Points with the printed numbers, if there are any."""
    levels: Mapping[str, float] = field(default_factory=dict)
    """Labels and heights of horizontal lines: thresholds, averages."""
    told: str = ""
    """Caption: the content of the figure, and the paper's claim about it."""
    log: tuple[Literal["x", "y"], ...] = ()

    @property
    def slug(self) -> str:
        """The name as a part of a file name, such as fig-2a."""
        return "-".join(
            self.name.lower()
            .replace(".", "")
            .replace("(", "")
            .replace(")", "")
            .replace(",", "")
            .split()
        )


Compute = Callable[..., Iterator[Row | Figure]]
"""Computes a part; a heavy part takes the argument `quick`."""


@dataclass(frozen=True)
class PaperPart:
    """A table, an example, a figure or the claims of a section.

    It has a location, a topic and the command that computes it.
    """

    paper: str
    where: str
    kind: Kind
    title: str
    told: str
    how: str
    """The command or function that computes our numbers."""
    compute: Compute = field(repr=False, metadata={"told": False})
    public: tuple[str, ...] = ()
    """Public data sets that the part needs."""
    heavy: bool = False
    """True if the quick form computes less."""
    timed: bool = False
    """True if its numbers are times, which depend on the machine."""

    @property
    def heading(self) -> str:
        """Heading, such as "Table 6: Adult"."""
        if self.title:
            return f"{self.where}: {self.title}"
        return self.where


@dataclass(frozen=True)
class Paper:
    """A paper: its name, its topic, and its parts in order."""

    name: str
    authors: str
    """Authors and year: the heading of its page."""
    title: str
    told: str
    parts: list[PaperPart] = field(default_factory=list, repr=False)

    def part(
        self,
        where: str,
        kind: Kind,
        *,
        title: str = "",
        told: str = "",
        how: str = "",
        public: tuple[str, ...] = (),
        heavy: bool = False,
        timed: bool = False,
    ) -> Callable[[Compute], Compute]:
        """Register a function that yields rows and figures.

        A heavy function takes the argument `quick`.
        """

        def register(compute: Compute) -> Compute:
            self.parts.append(
                PaperPart(self.name, where, kind, title, told, how, compute, public, heavy, timed)
            )
            return compute

        return register


@dataclass(frozen=True)
class Reproduced:
    """Rows and figures of one part."""

    part: PaperPart
    rows: tuple[Row, ...]
    figures: tuple[Figure, ...]
    seconds: float = field(compare=False, metadata={"told": False})
    left_out: str = ""
    """Reason why the part could not be computed here."""


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """All parts of one paper or of all papers, with a verdict for each printed item."""

    view = "reproduction.output"

    papers: tuple[Paper, ...] = field(repr=False)
    parts: tuple[Reproduced, ...]
    settings: Mapping[str, Any]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order of the papers."""
        return tuple(entry for part in self.parts for entry in part.rows)

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows with each verdict."""
        return _verdict_counts(self.rows)

    def counts_of(self, paper: str) -> dict[str, int]:
        """Number of rows of one paper with each verdict."""
        return _verdict_counts(
            entry for part in self.parts if part.part.paper == paper for entry in part.rows
        )

    @property
    def holds(self) -> bool:
        """True if each difference between the printed numbers and ours is explained."""
        return all(entry.verdict != "differs" for entry in self.rows)

    @checked
    def figure(self, name: str, *, paper: str | None = None) -> Figure:
        """Return one figure by its name, such as Fig. 2a."""
        figures = {
            candidate.name: candidate
            for part in self.parts
            if paper is None or part.part.paper == paper
            for candidate in part.figures
        }
        if name not in figures:
            raise BadInput(f"there is no figure {name!r} here", hint=nearest(name, list(figures)))
        return figures[name]


def _verdict_counts(rows: Iterable[Row]) -> dict[str, int]:
    totals = Counter(str(entry.verdict) for entry in rows)
    return {verdict: totals[verdict] for verdict in VERDICTS if totals[verdict]}
