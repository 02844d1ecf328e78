# SPDX-License-Identifier: Apache-2.0
"""What a paper prints beside what divulge computes, with a verdict for each number, claim and figure.

A paper is one file that registers its parts: an example, a table, a figure, a section's claims. A part yields rows (`row`, `claim`) and
figures (`Figure`); nothing that it says of ours is written down, all of it is computed when the part runs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from divulge import values
from divulge.errors import BadInput, InternalError, nearest
from divulge.results import Result

# --- digits -----------------------------------------------------------------------------------------------------------
# Whether a number of ours is the one that a paper prints: as far as its digits go, and only so far.
# What is printed is kept as text, for the text says how many digits count: 0.57 is met by everything from 0.565 to 0.575, and by 0.579 if
# somebody cut off instead of rounding; 3/4 and sqrt(8)/12 are met exactly or not at all; ">= 6" is a bound that holds or does not.
Agreement = Literal["match", "truncated", "holds", "does not hold", "differs"]
_DECIMAL = re.compile(r"-?\d*\.?\d+(?:[eE]-?\d+)?")
_ROOT = re.compile(r"sqrt\((\d+)\)(?:/(\d+))?")
_BOUND = re.compile(r"(<=|>=|<|>)\s*(.+)")
_LEAST = 1e-9
"""What floating point may differ by."""


def agreement(ours: float | str, printed: str) -> Agreement:
    """How our number, or our words, stand to what is printed.

    >>> [agreement(ours, "0.57") for ours in (0.5731, 0.5779, 0.5801)]
    ['match', 'truncated', 'differs']
    >>> agreement(2**0.5 / 6, "sqrt(8)/12"), agreement(0.333, "1/3"), agreement(22, ">= 6"), agreement(0.876, "88%")
    ('match', 'differs', 'holds', 'match')
    >>> agreement("yes", "Yes")
    'differs'
    """
    if isinstance(ours, str):
        return "match" if ours == printed else "differs"
    if bound := _BOUND.fullmatch(printed):
        return "holds" if _kept(ours, bound[1], value_of(bound[2])) else "does not hold"
    text, value = _bare(printed), value_of(printed)
    if not _DECIMAL.fullmatch(text):
        return "match" if math.isclose(ours, value, rel_tol=_LEAST, abs_tol=_LEAST) else "differs"
    unit = unit_of(printed)
    if abs(ours - value) <= unit / 2 + _LEAST:
        return "match"
    cut_off = math.trunc(ours / unit + math.copysign(_LEAST, ours)) * unit
    return "truncated" if math.isclose(cut_off, value, abs_tol=unit * 1e-6) else "differs"


def value_of(printed: str) -> float:
    """The number behind sqrt(8)/12, 3/4, 0.57, 30,162, ~1.85 or 88%.

    >>> value_of("3/4"), value_of("30,162"), value_of("~88%"), round(value_of("sqrt(8)/12"), 4)
    (0.75, 30162.0, 0.88, 0.2357)
    """
    text = _bare(printed)
    if root := _ROOT.fullmatch(text):
        number = math.sqrt(int(root[1])) / int(root[2] or 1)
    else:
        number = float(text) if "e" in text.lower() else float(Fraction(text))
    return number / 100 if printed.endswith("%") else number


def unit_of(printed: str) -> float:
    """The worth of the last digit that is printed.

    >>> unit_of("0.57"), unit_of("8"), unit_of("88%"), unit_of("2.5e-3")
    (0.01, 1.0, 0.01, 0.0001)
    """
    mantissa, _, exponent = _bare(printed).lower().partition("e")
    places = len(mantissa.partition(".")[2]) - int(exponent or 0) + (2 if printed.endswith("%") else 0)
    return float(f"1e{-places}")


def is_number(printed: str) -> bool:
    """Whether a number is printed, or words.

    >>> is_number("3/4"), is_number(">= 6"), is_number("yes")
    (True, True, False)
    """
    bound = _BOUND.fullmatch(printed)
    try:
        value_of(bound[2] if bound else printed)
    except ValueError:
        return False
    return True


def _bare(printed: str) -> str:
    return printed.removeprefix("~").removesuffix("%").replace(",", "").strip()


def _kept(ours: float, sign: str, bound: float) -> bool:
    if "<" in sign:
        return ours <= bound + _LEAST if "=" in sign else ours < bound
    return ours >= bound - _LEAST if "=" in sign else ours > bound


# --- reproduction -----------------------------------------------------------------------------------------------------
Kind = Literal["table", "figure", "example", "claim"]
Judgement = Literal[
    "match", "truncated", "erratum", "not reproducible", "holds", "does not hold", "no number printed", "differs"
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
"""Every verdict, and what it says."""


@dataclass(frozen=True)
class Printed:
    """What a paper says, and where."""

    value: str | None = None
    """As it stands there, digit by digit; None where the paper prints no number."""
    where: str = ""
    """"Example 8", "Table 5, row 2"; the part's own place where it is empty."""
    kind: Kind = "claim"


@dataclass(frozen=True)
class Row:
    """One thing that a paper prints, beside ours."""

    label: str
    """Which class, row or case."""
    quantity: str
    """Which of its numbers."""
    printed: Printed
    ours: float | str
    verdict: Judgement
    reason: str = ""
    """Why the printed number is wrong or cannot be met; what is remarkable otherwise."""
    exact: bool = False
    """Whether ours is shown as a fraction."""

    @property
    def as_printed(self) -> str:
        """What the paper prints, with its decimals where ours are decimals; empty where it prints nothing."""
        text = self.printed.value or ""
        whole = isinstance(self.ours, str) or self.exact or not re.fullmatch(r"(sqrt\(\d+\)|\d+)/\d+", text)
        return text if whole else f"{text} = {value_of(text):.4g}"

    @property
    def shown(self) -> str:
        """Ours as text: six decimals at most, or the fraction it stands for."""
        if isinstance(self.ours, str):
            return self.ours
        if self.exact:
            found = Fraction(self.ours).limit_denominator(4000)
            if abs(float(found) - self.ours) <= 1e-12:
                return str(found)
        return f"{round(self.ours, 6) + 0.0:.6f}".rstrip("0").rstrip(".") if abs(self.ours) < float("inf") else "inf"


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
    """A number of ours beside the printed one.

    Args:
        label: Which class, row or case.
        quantity: Which of its numbers.
        ours: What was computed.
        printed: As it stands in the paper; None where it prints no number.
        where: Where it stands, if not where the part does.
        erratum: Why the printed number is wrong, if it is.
        open_: What the paper leaves open, so that its number cannot be reproduced.
        note: What else is to be said.
        exact: Whether ours is shown as a fraction.
    """
    ours = ours if isinstance(ours, str) else float(ours)
    found: Judgement = "no number printed" if printed is None else agreement(ours, printed)
    if found == "differs" and (erratum or open_):
        found = "erratum" if erratum else "not reproducible"
        note = erratum or open_
    elif erratum or open_:
        told = f"{label}, {quantity}: ours ({ours}) is told to differ from {printed!r}, and the verdict is {found!r}"
        raise InternalError(told)
    return Row(label, quantity, Printed(printed, where), ours, found, note, exact)


def claim(said: str, *, holds: bool, ours: str, where: str = "", note: str = "") -> Row:
    """A claim of order or shape, and whether it holds in our numbers.

    Args:
        said: What the paper says.
        holds: Whether our numbers say so too.
        ours: What they say.
        where: Where it stands, if not where the part does.
        note: Why it does not hold, or what else is to be said.
    """
    return Row(said, "claim", Printed(said, where), ours, "holds" if holds else "does not hold", note)


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, as ours: points of lines or bars, the printed numbers beside them."""

    name: str
    """Fig. 2a."""
    title: str
    x: str
    """What the axis along means."""
    y: str
    points: tuple[Mapping[str, Any], ...]
    """Each with x and y, and where there are several `series` and `panel`."""
    mark: Literal["bars", "lines"] = "bars"
    printed: tuple[Mapping[str, Any], ...] = ()
    """The same of what the paper prints, if it prints numbers."""
    levels: Mapping[str, float] = field(default_factory=dict)
    """Horizontal lines with their names: thresholds, averages."""
    told: str = ""
    """What is to be seen, and what the paper claims of it."""
    log: tuple[Literal["x", "y"], ...] = ()

    @property
    def slug(self) -> str:
        """As a part of a file name: fig-2a."""
        return "-".join(self.name.lower().replace(".", "").replace("(", "").replace(")", "").replace(",", "").split())


Compute = Callable[..., Iterator[Row | Figure]]
"""What a part does; a heavy one is told whether the quick form was asked for."""


@dataclass(frozen=True)
class PaperPart:
    """A table, an example, a figure or the claims of a section: where it stands, what it is about, how to ask for it."""

    paper: str
    where: str
    kind: Kind
    title: str
    told: str
    how: str
    """The command or function that gives our numbers."""
    compute: Compute = field(repr=False, metadata={"told": False})
    public: tuple[str, ...] = ()
    """Public data sets that it takes."""
    heavy: bool = False
    """Whether the quick form does less."""
    timed: bool = False
    """Whether its numbers are times, which follow the machine."""

    @property
    def heading(self) -> str:
        """Table 6: Adult."""
        return f"{self.where}: {self.title}" if self.title else self.where


@dataclass(frozen=True)
class Paper:
    """A paper: what it is called, what it is about, and its parts in their order."""

    name: str
    authors: str
    """And the year: the heading of its page."""
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
        """Register a function that yields rows and figures; a heavy one is given whether the quick form was asked for."""

        def register(compute: Compute) -> Compute:
            self.parts.append(PaperPart(self.name, where, kind, title, told, how, compute, public, heavy, timed))
            return compute

        return register


@dataclass(frozen=True)
class Reproduced:
    """What was found of one part."""

    part: PaperPart
    rows: tuple[Row, ...]
    figures: tuple[Figure, ...]
    seconds: float = field(compare=False, metadata={"told": False})
    left_out: str = ""
    """Why it could not be computed here."""


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """Every part of one paper or of all, with a verdict for each thing printed."""

    view = "papers"

    papers: tuple[Paper, ...] = field(repr=False)
    parts: tuple[Reproduced, ...]
    settings: Mapping[str, Any]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order of the papers."""
        return tuple(found for part in self.parts for found in part.rows)

    @property
    def counts(self) -> dict[str, int]:
        """How often each verdict was given."""
        return _counted(self.rows)

    def counts_of(self, paper: str) -> dict[str, int]:
        """The same of one paper."""
        return _counted(each for part in self.parts if part.part.paper == paper for each in part.rows)

    @property
    def holds(self) -> bool:
        """Whether each difference between print and ours is explained."""
        return all(each.verdict != "differs" for each in self.rows)

    @values.checked
    def figure(self, name: str, *, paper: str | None = None) -> Figure:
        """One figure by its name, such as Fig. 2a."""
        found = {
            each.name: each for part in self.parts if paper is None or part.part.paper == paper for each in part.figures
        }
        if name not in found:
            raise BadInput(f"there is no figure {name!r} here", hint=nearest(name, list(found)))
        return found[name]


def _counted(rows: Iterable[Row]) -> dict[str, int]:
    found = Counter(str(each.verdict) for each in rows)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}
