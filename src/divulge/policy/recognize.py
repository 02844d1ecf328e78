# SPDX-License-Identifier: Apache-2.0
"""What the values of a column are: e-mail addresses, names, numbers of persons, dates of birth, test results, free text.

A sample of distinct values is looked at, each as often as it occurs. Which ones is decided by the engine's hash of them, so that every run
on it takes the same. A kind is told with the share of the sample that matches it. Kinds that other things look like too (a surname is also
a town) are weak: they yield to what the name of the column says.
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
    from divulge.table import Column, Table

MOST = 1_000
"""Distinct values that are looked at."""
_FIRST = 30
"""Of these one at least must match, before all are asked: a kind that most values have does not hide from thirty of them."""
_LONGEST = 400
"""Letters of a value that are looked at."""
_MANY = 5
"""Distinct values that make a kind which single values may have by accident."""
_MEASURED = 20
"""Distinct numbers with a fraction that are no longer halves and quarters of something counted."""
_SPREAD_OF_BIRTHS = 25
"""Years between the early and the late dates of a column, from which on they are taken for dates of birth."""

E_MAIL = r"[^@\s]+@[^@\s]+\.[^@\s]+"
PHONE = r"\+[0-9][0-9 ()/.\-]{6,}|\(?[0-9]{3}\)?[-. ]?[0-9]{3}[-. ][0-9]{4}|0[0-9]{2,5}[ /][0-9 /\-]{4,}"
PERSON_OR_DEVICE = (
    r"[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{16,}|[0-9]{9,}"
    r"|[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}|([0-9]{1,3}\.){3}[0-9]{1,3}"
)
_POSTCODE = re.compile(
    r"[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]|[1-9][0-9]{3} ?[A-Z]{2}|[0-9]{5}-[0-9]{4}"
    r"|[0-9]{2}-[0-9]{3}|[0-9]{4}-[0-9]{3}|[0-9]{3}-[0-9]{4}|[0-9]{3} [0-9]{2}|[A-Z]{1,2}-[0-9]{4,5}|[0-9]{2,4}\*{1,3}"
)
_NUMBER = r"[+-]?[0-9]{1,3}\.[0-9]{3,}"
_PLACE = re.compile(
    rf"\(?\s*{_NUMBER}\s*[,; ]\s*{_NUMBER}\s*\)?|POINT ?\({_NUMBER} {_NUMBER}\)|[0-9]{{1,3}}°.*[NSEWOnsewo]"
)
_MONEY = re.compile(r"[$€£¥] ?-?[0-9][0-9.,' ]*|-?[0-9][0-9.,' ]* ?(?:[$€£¥]|EUR|USD|GBP|CHF)")
_ICD = re.compile(r"[A-TV-Z][0-9][0-9AB](?:\.[0-9A-Z]{1,4})?\*?")
_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ][0-9:.+Z]*)?|([0-9]{4})([0-9]{2})([0-9]{2})")
_DAY_FIRST = re.compile(r"([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4}|[0-9]{2})")
_TITLES = frozenset("mr mrs ms miss dr prof sir herr frau mme m.".split())

Role = Literal["identifier", "quasi_identifier", "sensitive"]


class Kind(NamedTuple):
    """Something that values can be."""

    told: str
    role: Role
    fits: Callable[[str], bool]
    least: float = 0.8
    """The share of the rows that must match."""
    values: int = _MANY
    """Distinct values that must match."""
    weak: bool = False
    why: str = ""
    """What is added to the reason."""


@dataclass(frozen=True)
class Look:
    """What the values of a column are, with the share of the sample that matches."""

    kind: str
    role: Role
    share: float
    values: int
    """Distinct values that were looked at."""
    weak: bool = False
    why: str = ""

    @property
    def text(self) -> str:
        """For people."""
        seen = f"the {self.values:,} values" if self.values < MOST * 0.8 else f"{self.values:,} values sampled"
        return f"its values are {self.kind} ({_percent(self.share)} of {seen}){self.why and '; '}{self.why}"


def _percent(share: float) -> str:
    return f"{math.floor(share * 100)}%"


# --- the sample -------------------------------------------------------------------------------------------------------
Sample = Mapping[str, Sequence[tuple[str, int]]]


def sample(table: Table, columns: Sequence[Column], distinct: Mapping[str, int]) -> Sample:
    """Up to about a thousand distinct values of each column as texts, with the rows that have them; one statement."""
    if not columns:
        return {}
    engine = table.engine
    cells = []
    for place, column in enumerate(columns):
        cell, every = engine.quote(column.name), math.ceil(distinct[column.name] / MOST)
        cells.append(f"{f'CASE WHEN hash({cell}) % {every} = 0 THEN {cell} END' if every > 1 else cell} AS c{place}")
    names = [f"c{place}" for place in range(len(columns))]
    which = " ".join(f"WHEN GROUPING({name}) = 0 THEN {place}" for place, name in enumerate(names))
    sets = ", ".join(f"({name})" for name in names)
    # Texts are made of the few values that are left, not of every row.
    texts = ", ".join([*(engine.cast(name, "VARCHAR") for name in names), "NULL"])
    grouped = (
        f"SELECT CASE {which} END AS c, COALESCE({texts}) AS v, COUNT(*) AS n "
        f"FROM (SELECT {', '.join(cells)} FROM {table.relation}) AS cells GROUP BY GROUPING SETS ({sets})"
    )
    found = engine.query(f"SELECT c, v, n FROM ({grouped}) AS counted WHERE v IS NOT NULL")
    values: dict[str, list[tuple[str, int]]] = {column.name: [] for column in columns}
    for place, value, n in zip(*(found.column(name).to_pylist() for name in ("c", "v", "n")), strict=True):
        values[columns[place].name].append((value[:_LONGEST], n))
    for drawn in values.values():
        drawn.sort()
        random.Random(0).shuffle(drawn)  # noqa: S311 - an order without meaning, the same each time
    return values


# --- kinds ------------------------------------------------------------------------------------------------------------
@functools.cache
def _words() -> Mapping[str, frozenset[str]]:
    document = _vocabulary()
    return {name: frozenset(text.split()) for name, text in document.items() if isinstance(text, str)}


@functools.cache
def _vocabulary() -> dict[str, Any]:
    return tomllib.loads(resources.files("divulge.policy").joinpath("vocabulary.toml").read_text(encoding="utf-8"))


@functools.cache
def _few(name: str) -> frozenset[str]:
    return frozenset(_vocabulary()["few"][name]["values"].split("|"))


def _folded(text: str) -> str:
    """In small letters, without accents."""
    whole = unicodedata.normalize("NFKD", text.casefold().replace("ß", "ss"))
    return "".join(letter for letter in whole if not unicodedata.combining(letter))


def _tokens(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", _folded(text))


def _matches(pattern: str | re.Pattern[str]) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text.strip()) is not None


def _is_phone(text: str) -> bool:
    return re.fullmatch(PHONE, text.strip()) is not None and 7 <= sum(letter.isdigit() for letter in text) <= 15


def _is_name(text: str) -> bool:
    """One to four words, one of them a given name or a surname that is common, or that ends as surnames do."""
    tokens = _tokens(text)
    if not 1 <= len(tokens) <= 4 or re.search(r"[0-9@/:;()_]", text):
        return False
    words = _words()
    known = words["given_names"] | words["surnames"]
    if any(token in known for token in tokens) or (len(tokens) > 1 and tokens[0] in _TITLES):
        return True
    return len(tokens[-1]) > 5 and tokens[-1].endswith(tuple(words["surname_endings"]))


def _is_address(text: str) -> bool:
    tokens = _tokens(text)
    if not tokens or len(text) > 80:
        return False
    ends = ("strasse", "straat", "weg", "gasse", "platz", "allee", "gatan", "vagen")
    in_one_word = any(token.endswith(ends) and len(token) > 6 for token in tokens)
    kinds = {tokens[0], tokens[-1]} & _words()["streets"]
    return in_one_word or (len(tokens) > 1 and bool(kinds))


def _is_disease(text: str) -> bool:
    words = _words()
    return any(token in words["diseases"] or token.endswith(tuple(words["disease_endings"])) for token in _tokens(text))


def _is_prose(text: str) -> bool:
    """A sentence: several words, most of them small, more than a label has."""
    words = text.split()
    return len(words) >= 5 and len(text) >= 25 and 2 * sum(word[:1].islower() for word in words) >= len(words)


def _one_of(name: str) -> Callable[[str], bool]:
    return lambda text: text.strip().casefold() in _few(name)


_ART_9 = "a special category of GDPR art. 9"
KNOWN_TOO = "others often know it too: where they do, call it a quasi-identifier"
"""Said of racial or ethnic origin, which is sensitive and seen."""

_KINDS: tuple[Kind, ...] = (
    Kind("e-mail addresses", "identifier", _matches(E_MAIL), 0.5, 1),
    Kind("IBANs", "identifier", national_ids.iban, 0.5, 1),
    *(Kind(f"national ids of {form.country}", "identifier", form.fits) for form in national_ids.FORMS),
    Kind("numbers of payment cards", "identifier", national_ids.payment_card),
    Kind("phone numbers", "identifier", _is_phone, 0.5),
    Kind("web addresses", "identifier", _matches(_URL), 0.5, weak=True),
    Kind("numbers of persons or devices", "identifier", _matches(PERSON_OR_DEVICE), 0.5),
    Kind("postcodes", "quasi_identifier", _matches(_POSTCODE)),
    Kind("coordinates", "quasi_identifier", _matches(_PLACE)),
    Kind("sexes", "quasi_identifier", _one_of("sex"), 0.95, 2, weak=True),
    Kind("marital statuses", "quasi_identifier", _one_of("marital"), 0.9, 2, weak=True),
    Kind("racial or ethnic origins", "sensitive", _one_of("ethnic"), 0.9, 2, weak=True, why=f"{_ART_9}; {KNOWN_TOO}"),
    Kind("religions", "sensitive", _one_of("religion"), 0.9, 3, weak=True, why=_ART_9),
    Kind("sexual orientations", "sensitive", _one_of("orientation"), 0.9, 2, weak=True, why=_ART_9),
    Kind("political parties", "sensitive", _one_of("party"), 0.9, 3, weak=True, why=_ART_9),
    Kind("blood groups", "sensitive", _one_of("blood"), 0.9, 3, weak=True, why=_ART_9),
    Kind("results of tests", "sensitive", _one_of("test"), 0.9, 2, weak=True, why=f"{_ART_9} where they are of health"),
    Kind("codes of diseases (ICD)", "sensitive", _matches(_ICD), 0.8, 10, weak=True, why=_ART_9),
    Kind("diseases", "sensitive", _is_disease, 0.35, 2, weak=True, why=_ART_9),
    Kind("amounts of money", "sensitive", _matches(_MONEY), weak=True),
    Kind("street addresses", "identifier", _is_address, 0.6, 10, weak=True),
    Kind("free text", "identifier", _is_prose, 0.5, 10, weak=True, why="it may name anybody"),
    Kind("names of people", "identifier", _is_name, 0.33, 15, weak=True),
)
"""In the order of what they say; the first that most values have is told."""
_OF_NUMBERS = frozenset(kind.told for kind in _KINDS if kind.told.startswith(("national", "numbers of")))
_OUTSIDE = {"racial or ethnic origins": frozenset("red blue green grey gray silver yellow brown".split())}
"""Values that say that it is something else: colours, of which black and white are two."""
_MEANINGLESS = frozenset(("other", "unknown", "none", "x", "m", "f", "invalid", "pending", "normal"))


def recognize(values: Sequence[tuple[str, int]], column: Column) -> Look | None:
    """What most values of a column are; None where nothing is known of them."""
    whole = sum(n for _, n in values)
    if column.kind == "boolean" or not whole:
        return None
    if found := _date(values, column):
        return found
    for kind in _KINDS:
        if column.kind != "text" and kind.told not in _OF_NUMBERS:
            continue
        if not any(kind.fits(value) for value, _ in values[:_FIRST]):
            continue
        hits = [(value, n) for value, n in values if kind.fits(value)]
        share = sum(n for _, n in hits) / whole
        # A table of few rows has few values: those that it has must all match.
        enough = len(hits) >= min(kind.values, max(3, len(values)) if share == 1 else kind.values)
        if share >= kind.least and enough and _is_meant(kind, values, hits):
            return Look(kind.told, kind.role, share, len(values), kind.weak, kind.why)
    return _zip_codes(values, column) or _measured(values, column)


def _is_meant(kind: Kind, values: Sequence[tuple[str, int]], hits: Sequence[tuple[str, int]]) -> bool:
    said = {value.strip().casefold() for value, _ in hits}
    if {value.strip().casefold() for value, _ in values} & _OUTSIDE.get(kind.told, frozenset()):
        return False
    if kind.told == "sexes":
        return len(said) <= 6
    return bool(said - _MEANINGLESS)


def _zip_codes(values: Sequence[tuple[str, int]], column: Column) -> Look | None:
    """Five digits each, kept as texts because some begin with a zero: nobody writes an amount so."""
    if column.kind != "text" or len(values) < _MANY:
        return None
    fit = [n for value, n in values if re.fullmatch(r"[0-9]{5}", value.strip())]
    zero = any(value.startswith("0") for value, _ in values)
    share = sum(fit) / sum(n for _, n in values)
    return Look("postcodes", "quasi_identifier", share, len(values), weak=True) if zero and share >= 0.8 else None


def _measured(values: Sequence[tuple[str, int]], column: Column) -> Look | None:
    """Many numbers with fractions, which come from an instrument or a formula."""
    if column.kind != "number" or len(values) < _MEASURED:
        return None
    share = sum(n for value, n in values if re.search(r"\.[0-9]*[1-9]", value)) / sum(n for _, n in values)
    if share < 0.5:
        return None
    return Look("measured numbers", "sensitive", share, len(values), weak=True, why="others hardly know them exactly")


# --- names of columns -------------------------------------------------------------------------------------------------
_CAUSE = frozenset("cause causes reason ursache".split())
_DEATH = frozenset("death deaths dead mortality todesursache".split())


def says(words: Collection[str]) -> tuple[Role | Literal["weight"], str] | None:
    """The role that the words of a column's name say, and why; None where they say nothing."""
    own, names = frozenset(words), {key: frozenset(text.split()) for key, text in _vocabulary()["names"].items()}
    if own & names["weight"]:
        return "weight", "its name says that it is a survey weight"
    if own & _CAUSE and own & _DEATH:
        return "sensitive", f"its name says causes of death: health, {_ART_9}, also of relatives"
    special = next((told for told, text in _vocabulary()["special"].items() if own & frozenset(text.split())), "")
    if special and not own & names["when"]:
        which = "of GDPR art. 10" if "art. 10" in special else _ART_9
        known = f"; {KNOWN_TOO}" if special.startswith("racial") else ""
        return "sensitive", f"its name says {special.removesuffix(' (art. 10)')}, {which}{known}"
    if own & names["sensitive"] and not own & names["when"]:
        return "sensitive", "its name says that people want it kept to themselves"
    return ("quasi_identifier", "others may know it of a person") if own & names["quasi"] else None


# --- dates ------------------------------------------------------------------------------------------------------------
def _date(values: Sequence[tuple[str, int]], column: Column) -> Look | None:
    """Dates, and whether they spread as dates of birth do."""
    if column.kind not in ("date", "text", "number"):
        return None
    if not any(_day(value) for value, _ in values[:_FIRST]):
        return None
    days = [(day, n) for value, n in values if (day := _day(value)) is not None]
    share = sum(n for _, n in days) / sum(n for _, n in values)
    if share < 0.8 or (column.kind != "date" and len(days) < _MANY):
        return None
    if (years := _spread(days)) >= _SPREAD_OF_BIRTHS and not _has_hours(values):
        told = f"dates that spread over {years} years, as dates of birth do"
        return Look(told, "quasi_identifier", share, len(values))
    return Look("dates", "quasi_identifier", share, len(values), why="others may know when something happened")


def _day(text: str) -> dt.date | None:
    """The day that a text means; of day and month whichever order there is."""
    written = text.strip()
    if (found := _DATE.fullmatch(written)) is not None:
        year, month, day = (int(part) for part in found.groups() if part)
    elif (found := _DAY_FIRST.fullmatch(written)) is not None:
        day, month, year = map(int, found.groups())
        year += 0 if year > 99 else 1900 if year > 30 else 2000
        day, month = (month, day) if month > 12 else (day, month)
    else:
        return None
    try:
        return dt.date(year, month, day) if 1850 <= year <= 2100 else None
    except ValueError:
        return None


def _spread(days: Sequence[tuple[dt.date, int]]) -> int:
    """Years between the first and the last twentieth of the rows."""
    ordered = sorted(days)
    whole, seen, low, high = sum(n for _, n in ordered), 0, ordered[0][0], ordered[-1][0]
    for day, n in ordered:
        low = day if seen <= 0.05 * whole else low
        seen += n
        if seen >= 0.95 * whole:
            high = day
            break
    return (high - low).days // 365


def _has_hours(values: Sequence[tuple[str, int]]) -> bool:
    return any(re.search(r"[0-9]:[0-9]", value) and not value.endswith("00:00:00") for value, _ in values[:_FIRST])


# --- places -----------------------------------------------------------------------------------------------------------
def coordinates(columns: Sequence[Column], values: Sample) -> dict[str, Look]:
    """Two number columns side by side with four digits behind the point, one within 90 and one within 180 degrees."""
    found: dict[str, Look] = {}
    for one, other in itertools.pairwise(columns):
        if one.kind == other.kind == "number" and one.name not in found:
            pair = [_degrees(values.get(column.name, ())) for column in (one, other)]
            if all(share >= 0.8 and largest > 10 for share, largest in pair):
                largest = sorted(place for _, place in pair)
                if largest[0] <= 90 and largest[1] <= 180:
                    for column, (share, _) in zip((one, other), pair, strict=True):
                        found[column.name] = Look("coordinates", "quasi_identifier", share, len(values[column.name]))
    return found


def _degrees(values: Sequence[tuple[str, int]]) -> tuple[float, float]:
    """The share with four digits behind the point, and the largest of all."""
    if len(values) < _MANY:
        return 0.0, 0.0
    fit = sum(n for value, n in values if re.fullmatch(r"-?[0-9]{1,3}\.[0-9]{4,}", value))
    largest = max((abs(float(value)) for value, _ in values if re.fullmatch(r"-?[0-9.]+", value)), default=0.0)
    return fit / sum(n for _, n in values), largest


def looks(table: Table, columns: Sequence[Column], distinct: Mapping[str, int]) -> dict[str, Look]:
    """What the values of these columns are, of those where it is known."""
    usable = [column for column in columns if column.kind not in ("nested", "boolean")]
    values = sample(table, usable, distinct)
    found = {column.name: look for column in usable if (look := recognize(values[column.name], column))}
    return found | coordinates(usable, values)
