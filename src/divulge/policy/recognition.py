# SPDX-License-Identifier: Apache-2.0
"""Recognition of a column's values: e-mail addresses, names, dates of birth, test results, ...

A sample of distinct values is examined, each weighted by its frequency. The engine's hash selects
the sample, so that every run on that engine takes the same one. A kind is reported with the share
of the sample that matches it. Kinds that resemble other things (a surname is also a town) are weak:
the name of the column takes precedence.
"""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import math
import random
import re
import tomllib
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from divulge.policy import national_ids

if TYPE_CHECKING:
    from divulge.sources import Column, Table

MOST = 1_000
"""Number of distinct values in the sample."""
_FIRST_VALUES = 30
"""Number of values of which at least one must match, before all are examined.

A kind that most values have is almost surely among thirty of them.
"""
_MAX_LENGTH = 400
"""Number of characters of a value that are examined."""
_MIN_DISTINCT = 5
"""Number of distinct values that establish a kind which single values may match by accident."""
_MIN_MEASURED = 20
"""Number of distinct fractional numbers beyond halves and quarters of something counted."""
_MIN_BIRTH_YEARS = 25
"""Years between the early and the late dates of a column that suggest dates of birth."""

E_MAIL = r"[^@\s]+@[^@\s]+\.[^@\s]+"
PHONE = (
    r"\+[0-9][0-9 ()/.\-]{6,}|\(?[0-9]{3}\)?[-. ]?[0-9]{3}[-. ][0-9]{4}|0[0-9]{2,5}[ /][0-9 "
    r"/\-]{4,}"
)
PERSON_OR_DEVICE = (
    r"[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{16,}|[0-9]{9,}"
    r"|[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}|([0-9]{1,3}\.){3}[0-9]{1,3}"
)
HOLDS_E_MAIL = r"(?s).*[A-Za-z0-9]@[A-Za-z0-9-]+\.[A-Za-z0-9].*"
HOLDS_SSN = r"(?s)(.*[^0-9-])?[0-9]{3}-[0-9]{2}-[0-9]{4}([^0-9-].*)?"
CERTAIN_PHONE = r"\+[0-9][0-9 ()/.\-]{6,}|\(?[0-9]{3}\)?[-. ]?[0-9]{3}[-. ][0-9]{4}"
CERTAIN_KEY = r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}"
"""Patterns of texts that contain something which hardly anything else matches."""
_POSTCODE = re.compile(
    r"[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]|[1-9][0-9]{3} "
    r"?[A-Z]{2}|[0-9]{5}-[0-9]{4}"
    r"|[0-9]{2}-[0-9]{3}|[0-9]{4}-[0-9]{3}|[0-9]{3}-[0-9]{4}|[0-9]{3} "
    r"[0-9]{2}|[A-Z]{1,2}-[0-9]{4,5}|[0-9]{2,4}\*{1,3}"
)
_NUMBER = r"[+-]?[0-9]{1,3}\.[0-9]{3,}"
_COORDINATES = re.compile(
    rf"\(?\s*{_NUMBER}\s*[,; ]\s*{_NUMBER}\s*\)?|POINT ?\({_NUMBER} "
    rf"{_NUMBER}\)|[0-9]{{1,3}}°.*[NSEWOnsewo]"
)
_MONEY = re.compile(r"[$€£¥] ?-?[0-9][0-9.,' ]*|-?[0-9][0-9.,' ]* ?(?:[$€£¥]|EUR|USD|GBP|CHF)")
_ICD = re.compile(r"[A-TV-Z][0-9][0-9AB](?:\.[0-9A-Z]{1,4})?\*?")
_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_DATE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ][0-9:.+Z]*)?|([0-9]{4})([0-9]{2})([0-9]{2})"
)
_DAY_FIRST = re.compile(r"([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4}|[0-9]{2})")
_TITLES = frozenset("mr mrs ms miss dr prof sir herr frau mme m.".split())

Role = Literal["identifier", "quasi_identifier", "sensitive"]


class Kind(NamedTuple):
    """A kind of values."""

    name: str
    role: Role
    fits: Callable[[str], bool]
    least: float = 0.8
    """Share of the rows that must match."""
    values: int = _MIN_DISTINCT
    """Number of distinct values that must match."""
    weak: bool = False
    why: str = ""
    """Addition to the reason."""


@dataclass(frozen=True)
class Look:
    """Recognized kind of a column's values, with the share of the sample that matches."""

    kind: str
    role: Role
    share: float
    values: int
    """Number of distinct values that were examined."""
    weak: bool = False
    why: str = ""

    @property
    def text(self) -> str:
        """Text for people."""
        if self.values < MOST * 0.8:
            sample_size = f"the {self.values:,} values"
        else:
            sample_size = f"{self.values:,} values sampled"
        return (
            f"its values are {self.kind} ({_percent(self.share)} of "
            f"{sample_size}){self.why and '; '}{self.why}"
        )


def _percent(share: float) -> str:
    return f"{math.floor(share * 100)}%"


# --- the sample -----------------------------------------------------------------------------------
Sample = Mapping[str, Sequence[tuple[str, int]]]


def sample(table: Table, columns: Sequence[Column], distinct: Mapping[str, int]) -> Sample:
    """Sample about a thousand distinct values of each column, with their numbers of rows.

    One statement does it for all columns.
    """
    if not columns:
        return {}
    engine = table.engine
    cells = []
    for column_index, column in enumerate(columns):
        cell = engine.quote(column.name)
        step = math.ceil(distinct[column.name] / MOST)
        cells.append(
            f"{f'CASE WHEN hash({cell}) % {step} = 0 THEN {cell} END' if step > 1 else cell} "
            f"AS c{column_index}"
        )
    names = [f"c{column_index}" for column_index in range(len(columns))]
    column_cases = " ".join(
        f"WHEN GROUPING({name}) = 0 THEN {column_index}" for column_index, name in enumerate(names)
    )
    sets = ", ".join(f"({name})" for name in names)
    # Only the remaining values are converted to texts, not every row.
    texts = ", ".join([*(engine.cast(name, "VARCHAR") for name in names), "NULL"])
    grouped = (
        f"SELECT CASE {column_cases} END AS c, COALESCE({texts}) AS v, COUNT(*) AS n FROM (SELECT "
        f"{', '.join(cells)} FROM {table.relation}) AS cells GROUP BY GROUPING SETS ({sets})"
    )
    counts = engine.query(f"SELECT c, v, n FROM ({grouped}) AS counted WHERE v IS NOT NULL")
    values: dict[str, list[tuple[str, int]]] = {column.name: [] for column in columns}
    for column_index, value, n in zip(
        *(counts.column(name).to_pylist() for name in ("c", "v", "n")), strict=True
    ):
        values[columns[column_index].name].append((value[:_MAX_LENGTH], n))
    for sampled_values in values.values():
        sampled_values.sort()
        random.Random(0).shuffle(sampled_values)  # noqa: S311 - an order without meaning, the same each time
    return values


# --- kinds ----------------------------------------------------------------------------------------
@functools.cache
def _word_lists() -> Mapping[str, frozenset[str]]:
    document = _vocabulary()
    return {
        name: frozenset(text.split()) for name, text in document.items() if isinstance(text, str)
    }


@functools.cache
def _vocabulary() -> dict[str, Any]:
    return tomllib.loads(
        resources.files("divulge.policy").joinpath("vocabulary.toml").read_text(encoding="utf-8")
    )


@functools.cache
def _vocabulary_values(name: str) -> frozenset[str]:
    return frozenset(_vocabulary()["few"][name]["values"].split("|"))


def _folded(text: str) -> str:
    """Return a text in lower case without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("ß", "ss"))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _tokens(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", _folded(text))


def _matches(pattern: str | re.Pattern[str]) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text.strip()) is not None


def _is_phone(text: str) -> bool:
    return (
        re.fullmatch(PHONE, text.strip()) is not None
        and 7 <= sum(letter.isdigit() for letter in text) <= 15
    )


def _is_name(text: str) -> bool:
    """Report whether a text looks like a person's name.

    It has one to four words. One of them is a common given name or surname, or ends like a surname.
    """
    tokens = _tokens(text)
    if not 1 <= len(tokens) <= 4 or re.search(r"[0-9@/:;()_]", text):
        return False
    words = _word_lists()
    known_names = words["given_names"] | words["surnames"]
    if any(token in known_names for token in tokens) or (len(tokens) > 1 and tokens[0] in _TITLES):
        return True
    return len(tokens[-1]) > 5 and tokens[-1].endswith(tuple(words["surname_endings"]))


def _is_address(text: str) -> bool:
    tokens = _tokens(text)
    if not tokens or len(text) > 80:
        return False
    ends = ("strasse", "straat", "weg", "gasse", "platz", "allee", "gatan", "vagen")
    in_one_word = any(token.endswith(ends) and len(token) > 6 for token in tokens)
    kinds = {tokens[0], tokens[-1]} & _word_lists()["streets"]
    return in_one_word or (len(tokens) > 1 and bool(kinds))


def _is_disease(text: str) -> bool:
    words = _word_lists()
    return any(
        token in words["diseases"] or token.endswith(tuple(words["disease_endings"]))
        for token in _tokens(text)
    )


def _is_prose(text: str) -> bool:
    """Report whether a text is a sentence: several words, most of them in lower case."""
    words = text.split()
    return (
        len(words) >= 5
        and len(text) >= 25
        and 2 * sum(word[:1].islower() for word in words) >= len(words)
    )


def _in_vocabulary(name: str) -> Callable[[str], bool]:
    return lambda text: text.strip().casefold() in _vocabulary_values(name)


_ART_9 = "a special category of GDPR art. 9"
KNOWN_TOO = "others often know it too: where they do, call it a quasi-identifier"
"""Note on racial or ethnic origin, which is sensitive and visible."""

_KINDS: tuple[Kind, ...] = (
    Kind("e-mail addresses", "identifier", _matches(E_MAIL), 0.5, 1),
    Kind("IBANs", "identifier", national_ids.iban, 0.5, 1),
    *(
        Kind(f"national ids of {form.country}", "identifier", form.fits)
        for form in national_ids.FORMS
    ),
    Kind("numbers of payment cards", "identifier", national_ids.payment_card),
    Kind("phone numbers", "identifier", _is_phone, 0.5),
    Kind("web addresses", "identifier", _matches(_URL), 0.5, weak=True),
    Kind("numbers of persons or devices", "identifier", _matches(PERSON_OR_DEVICE), 0.5),
    Kind("postcodes", "quasi_identifier", _matches(_POSTCODE)),
    Kind("coordinates", "quasi_identifier", _matches(_COORDINATES)),
    Kind("sexes", "quasi_identifier", _in_vocabulary("sex"), 0.95, 2, weak=True),
    Kind("marital statuses", "quasi_identifier", _in_vocabulary("marital"), 0.9, 2, weak=True),
    Kind(
        "racial or ethnic origins",
        "sensitive",
        _in_vocabulary("ethnic"),
        0.9,
        2,
        weak=True,
        why=f"{_ART_9}; {KNOWN_TOO}",
    ),
    Kind("religions", "sensitive", _in_vocabulary("religion"), 0.9, 3, weak=True, why=_ART_9),
    Kind(
        "sexual orientations",
        "sensitive",
        _in_vocabulary("orientation"),
        0.9,
        2,
        weak=True,
        why=_ART_9,
    ),
    Kind("political parties", "sensitive", _in_vocabulary("party"), 0.9, 3, weak=True, why=_ART_9),
    Kind("blood groups", "sensitive", _in_vocabulary("blood"), 0.9, 3, weak=True, why=_ART_9),
    Kind(
        "results of tests",
        "sensitive",
        _in_vocabulary("test"),
        0.9,
        2,
        weak=True,
        why=f"{_ART_9} where they are of health",
    ),
    Kind("codes of diseases (ICD)", "sensitive", _matches(_ICD), 0.8, 10, weak=True, why=_ART_9),
    Kind("diseases", "sensitive", _is_disease, 0.35, 2, weak=True, why=_ART_9),
    Kind("amounts of money", "sensitive", _matches(_MONEY), weak=True),
    Kind("street addresses", "identifier", _is_address, 0.6, 10, weak=True),
    Kind("free text", "identifier", _is_prose, 0.5, 10, weak=True, why="it may name anybody"),
    Kind("names of people", "identifier", _is_name, 0.33, 15, weak=True),
)
"""Kinds in the order of specificity; the first one that most values match is reported."""
_NUMBER_KINDS = frozenset(
    kind.name for kind in _KINDS if kind.name.startswith(("national", "numbers of"))
)
_COUNTEREXAMPLES = {
    "racial or ethnic origins": frozenset("red blue green grey gray silver yellow brown".split())
}
"""Values that indicate something else: colors, of which black and white are two."""
_MEANINGLESS = frozenset(
    ("other", "unknown", "none", "x", "m", "f", "invalid", "pending", "normal")
)


def recognize(values: Sequence[tuple[str, int]], column: Column) -> Look | None:
    """Recognize the kind of most values of a column; None if no kind is known."""
    value_count = sum(n for _, n in values)
    if column.kind == "boolean" or not value_count:
        return None
    if date_look := _recognize_dates(values, column):
        return date_look
    for kind in _KINDS:
        if column.kind != "text" and kind.name not in _NUMBER_KINDS:
            continue
        if not any(kind.fits(value) for value, _ in values[:_FIRST_VALUES]):
            continue
        hits = [(value, n) for value, n in values if kind.fits(value)]
        share = sum(n for _, n in hits) / value_count
        # A table of few rows has few values: all of them must match.
        has_enough_hits = len(hits) >= min(
            kind.values, max(3, len(values)) if share == 1 else kind.values
        )
        if share >= kind.least and has_enough_hits and _is_plausible(kind, values, hits):
            return Look(kind.name, kind.role, share, len(values), kind.weak, kind.why)
    return _recognize_zip_codes(values, column) or _recognize_measurements(values, column)


def _is_plausible(
    kind: Kind, values: Sequence[tuple[str, int]], hits: Sequence[tuple[str, int]]
) -> bool:
    distinct_values = {value.strip().casefold() for value, _ in hits}
    if {value.strip().casefold() for value, _ in values} & _COUNTEREXAMPLES.get(
        kind.name, frozenset()
    ):
        return False
    if kind.name == "sexes":
        return len(distinct_values) <= 6
    return bool(distinct_values - _MEANINGLESS)


def _recognize_zip_codes(values: Sequence[tuple[str, int]], column: Column) -> Look | None:
    """Recognize US ZIP codes: five digits, stored as texts because some begin with a zero.

    Amounts are not written like this.
    """
    if column.kind != "text" or len(values) < _MIN_DISTINCT:
        return None
    fit = [n for value, n in values if re.fullmatch(r"[0-9]{5}", value.strip())]
    zero = any(value.startswith("0") for value, _ in values)
    share = sum(fit) / sum(n for _, n in values)
    if zero and share >= 0.8:
        return Look("postcodes", "quasi_identifier", share, len(values), weak=True)
    return None


def _recognize_measurements(values: Sequence[tuple[str, int]], column: Column) -> Look | None:
    """Recognize many numbers with fractions, which come from an instrument or a formula."""
    if column.kind != "number" or len(values) < _MIN_MEASURED:
        return None
    share = sum(n for value, n in values if re.search(r"\.[0-9]*[1-9]", value)) / sum(
        n for _, n in values
    )
    if share < 0.5:
        return None
    return Look(
        "measured numbers",
        "sensitive",
        share,
        len(values),
        weak=True,
        why="others hardly know them exactly",
    )


# --- names of columns -----------------------------------------------------------------------------
_CAUSE = frozenset("cause causes reason ursache".split())
_DEATH = frozenset("death deaths dead mortality todesursache".split())


def role_by_name(words: Collection[str]) -> tuple[Role | Literal["weight"], str] | None:
    """Return the role that the words of a column name suggest, and why; None if there is none."""
    name_words = frozenset(words)
    names = {key: frozenset(text.split()) for key, text in _vocabulary()["names"].items()}
    if name_words & names["weight"]:
        return "weight", "its name says that it is a survey weight"
    if name_words & _CAUSE and name_words & _DEATH:
        return "sensitive", f"its name says causes of death: health, {_ART_9}, also of relatives"
    special = next(
        (
            category
            for category, text in _vocabulary()["special"].items()
            if name_words & frozenset(text.split())
        ),
        "",
    )
    if special and not name_words & names["when"]:
        if "art. 10" in special:
            which = "of GDPR art. 10"
        else:
            which = _ART_9
        if special.startswith("racial"):
            hint = f"; {KNOWN_TOO}"
        else:
            hint = ""
        return "sensitive", f"its name says {special.removesuffix(' (art. 10)')}, {which}{hint}"
    if name_words & names["sensitive"] and not name_words & names["when"]:
        return "sensitive", "its name says that people want it kept to themselves"
    if name_words & names["quasi"]:
        return ("quasi_identifier", "others may know it of a person")
    return None


# --- dates ----------------------------------------------------------------------------------------
def _recognize_dates(values: Sequence[tuple[str, int]], column: Column) -> Look | None:
    """Recognize dates, and whether their range is that of dates of birth."""
    if column.kind not in ("date", "text", "number"):
        return None
    if not any(_parse_day(value) for value, _ in values[:_FIRST_VALUES]):
        return None
    days = [(day, n) for value, n in values if (day := _parse_day(value)) is not None]
    share = sum(n for _, n in days) / sum(n for _, n in values)
    if share < 0.8 or (column.kind != "date" and len(days) < _MIN_DISTINCT):
        return None
    if (years := _years_spanned(days)) >= _MIN_BIRTH_YEARS and not _has_hours(values):
        date_kind = f"dates that spread over {years} years, as dates of birth do"
        return Look(date_kind, "quasi_identifier", share, len(values))
    return Look(
        "dates",
        "quasi_identifier",
        share,
        len(values),
        why="others may know when something happened",
    )


def _parse_day(text: str) -> dt.date | None:
    """Parse the day of a text, with day and month in either order."""
    stripped = text.strip()
    if (match := _DATE.fullmatch(stripped)) is not None:
        year, month, day = (int(part) for part in match.groups() if part)
    elif (match := _DAY_FIRST.fullmatch(stripped)) is not None:
        day, month, year = map(int, match.groups())
        if year <= 99:
            year += 1900 if year > 30 else 2000
        day, month = (month, day) if month > 12 else (day, month)
    else:
        return None
    try:
        return dt.date(year, month, day) if 1850 <= year <= 2100 else None
    except ValueError:
        return None


def _years_spanned(days: Sequence[tuple[dt.date, int]]) -> int:
    """Years between the 5% and the 95% quantile of the rows."""
    ordered = sorted(days)
    total = sum(n for _, n in ordered)
    cumulative = 0
    low = ordered[0][0]
    high = ordered[-1][0]
    for day, n in ordered:
        if cumulative <= 0.05 * total:
            low = day
        cumulative += n
        if cumulative >= 0.95 * total:
            high = day
            break
    return (high - low).days // 365


def _has_hours(values: Sequence[tuple[str, int]]) -> bool:
    return any(
        re.search(r"[0-9]:[0-9]", value) and not value.endswith("00:00:00")
        for value, _ in values[:_FIRST_VALUES]
    )


# --- places ---------------------------------------------------------------------------------------
def coordinates(columns: Sequence[Column], values: Sample) -> dict[str, Look]:
    """Recognize pairs of adjacent columns that hold coordinates.

    Both have numbers with four decimals, one within 90 and one within 180 degrees.
    """
    looks: dict[str, Look] = {}
    for first, other in itertools.pairwise(columns):
        if first.kind == other.kind == "number" and first.name not in looks:
            pair = [
                _coordinate_statistics(values.get(column.name, ())) for column in (first, other)
            ]
            if all(share >= 0.8 and largest > 10 for share, largest in pair):
                largest = sorted(degrees for _, degrees in pair)
                if largest[0] <= 90 and largest[1] <= 180:
                    for column, (share, _) in zip((first, other), pair, strict=True):
                        looks[column.name] = Look(
                            "coordinates", "quasi_identifier", share, len(values[column.name])
                        )
    return looks


def _coordinate_statistics(values: Sequence[tuple[str, int]]) -> tuple[float, float]:
    """Return the share of numbers with four decimals, and the largest absolute value."""
    if len(values) < _MIN_DISTINCT:
        return 0.0, 0.0
    fit = sum(n for value, n in values if re.fullmatch(r"-?[0-9]{1,3}\.[0-9]{4,}", value))
    largest = max(
        (abs(float(value)) for value, _ in values if re.fullmatch(r"-?[0-9.]+", value)), default=0.0
    )
    return fit / sum(n for _, n in values), largest


def looks(table: Table, columns: Sequence[Column], distinct: Mapping[str, int]) -> dict[str, Look]:
    """Recognize the values of columns; columns of an unknown kind are left out."""
    usable = [column for column in columns if column.kind not in ("nested", "boolean")]
    values = sample(table, usable, distinct)
    column_looks = {
        column.name: look for column in usable if (look := recognize(values[column.name], column))
    }
    return column_looks | coordinates(usable, values)
