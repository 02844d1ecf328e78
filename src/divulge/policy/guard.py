# SPDX-License-Identifier: Apache-2.0
"""The guard: which columns must not leave, whatever the promises say. check, generalize and anatomize ask the same one.

Promises are about quasi-identifiers and sensitive columns; a table can keep them all and name everybody in a column beside them. So
every other column is looked at: what was said to be an identifier or to be left out, what the policy has never heard of, what looks like
an identifier by its name or its values, and how many people are alone once somebody knows the rest too. `plain` lets a column through.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from divulge import values
from divulge.errors import BadInput, listed
from divulge.policy import recognize as recognize  # noqa: PLC0414 - profile asks it here, where the rest is asked
from divulge.table import Column, Names, Roles, Table, resolve_roles

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger("divulge.policy")
Guard = Literal["identifier_present", "leave_out_present", "unknown_column", "looks_like_identifier", "alone"]
NAMES_PEOPLE = frozenset(
    "name firstname lastname surname forename fullname email mail phone telephone mobile fax ssn passport iban account "
    "license licence plate address street ip mac url username login mrn nhs id uuid guid pid uid rowid nino imei imsi msisdn "
    "aadhaar pesel cpf curp".split()
)
"""Words of column names that say that somebody is named."""
_SHARED = frozenset("firstname lastname surname forename given address street".split())
"""Words of names and places that many people share."""
_WHOSE = frozenset(
    "patient person member customer client user subject employee student citizen record row case".split()
)
_NUMBERED = frozenset("number no nr num nbr key hash code ref".split())
_WHOSE_NUMBER = frozenset(f"{whose}{what}" for whose in _WHOSE for what in ("id", *_NUMBERED))
SENSITIVE_WORDS = frozenset(
    "disease diagnosis diagnoses condition illness symptom treatment medication drug hiv cancer icd salary income wage wages "
    "earnings debt credit religion belief party vote orientation crime conviction disability pregnancy result score grade "
    "capital".split()
)
QUASI_WORDS = frozenset(
    "zip zipcode postcode postal plz age birth birthday birthdate dob born sex gender race ethnicity nationality citizenship "
    "country state county city town region district marital relationship education school degree job occupation profession "
    "employer workclass industry height weight household children language admission date".split()
)
_PATTERNS = {
    "e-mail addresses": recognize.E_MAIL,
    "phone numbers": recognize.PHONE,
    "numbers of persons or devices": recognize.PERSON_OR_DEVICE,
}
"""What values look like that name somebody, however often they repeat."""
_ENOUGH = 20
"""In fewer rows, values of their own say nothing: eight people may well be 30, 31, ..., 37 years old."""
_NEARLY = 0.95
_MAYBE = 0.6
"""An approximate count this far from unique needs no exact one; its error is a few percent."""
_SELDOM = 0.2
"""Where values repeat more than this, each is matched once: a pattern costs far more than counting."""
_ROUNDING = 1e-6
"""29 of 100 rows are no more than 0.29 of them, which a float is a little less than."""
_AT_ONCE = 200
"""Columns in one statement."""
_AT_HAND = 2_000_000
"""Cells of a wide table that are fetched once: a statement binds every column of what it reads, also those that it does not ask for."""


@dataclass(frozen=True)
class GuardFinding:
    """Columns that must not be there, and why."""

    guard: Guard
    columns: tuple[str, ...]
    why: str

    @property
    def text(self) -> str:
        """For people."""
        return self.why if self.guard == "alone" else f"{listed(self.columns)} {self.why}"


@dataclass(frozen=True)
class Alone:
    """How many people are alone once these columns are known beside the quasi-identifiers."""

    columns: tuple[str, ...]
    people: int
    of: int

    @property
    def share(self) -> float:
        """Of all people."""
        return self.people / self.of if self.of else 0.0

    @property
    def text(self) -> str:
        """For people."""
        are = "person is" if self.people == 1 else "people are"
        return f"with {listed(self.columns)} known too, {self.people:,} {are} alone, of {self.of:,}"


# --- roles in force ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class GivenRoles:
    """The roles as a call names them, before the table is looked at: the arguments that one question after the other takes."""

    quasi_identifiers: Names = ()
    sensitive: Names = ()
    identifier: Names = ()
    leave_out: Names = ()
    plain: Names = ()
    weight: str | None = None
    person: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """All of them, as `resolve_roles` takes them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def named(self) -> dict[str, Any]:
        """Those that name a column."""
        return {role: names for role, names in self.arguments.items() if names}


def roles_in_force(table: Table, policy: Mapping[str, Any], given: GivenRoles) -> Roles:
    """The roles given by hand, else those of a policy.

    An identifier of the policy, or a column that it leaves out or calls plain, need not be there: a release has none of the first two.
    Naming further ones by hand adds to them, for it must not publish the others; by hand they may get another role.
    """
    asked, by_role = given.named, given.arguments
    if (owner := policy.get("person")) and "person" not in asked and not table.present(owner):
        told = f"the policy counts people by {owner!r}, and {table.source} has no such column: a class may hold one person many times"
        raise BadInput(told, hint="Check the table before that column is left out, or take `person` out to count rows")
    # All the rest, by a glob, is what has no role in the policy either.
    exact = {
        role: [name for name in values.several(by_role[role]) if table.has(name)] for role in ("leave_out", "plain")
    }
    by_hand = resolve_roles(table, **{name: value for name, value in (asked | exact).items() if name != "person"}).named
    roles = dict(policy)
    for role in ("identifier", "leave_out", "plain"):
        kept = (name for name in table.present(roles.get(role)) if name not in by_hand)
        roles[role] = [*values.several(by_role[role]), *kept]
    for role, value in asked.items():
        roles[role] = roles[role] if role in ("identifier", "leave_out", "plain") else value
    return resolve_roles(table, **roles, declared=True)


def _known(table: Table, policy: Mapping[str, Any]) -> set[str] | None:
    """The columns that a policy knows; None where it names none, so that nothing is new to it."""
    if not policy:
        return None
    return {name for names in policy.values() for part in table.present(names) for name in _spread(table, part)}


def _spread(table: Table, name: str) -> frozenset[str]:
    return resolve_roles(table, plain=name).named


# --- what must not be there -------------------------------------------------------------------------------------------
def present(roles: Roles, *, person_published: bool = True) -> Iterator[GuardFinding]:
    """What was said not to be published, and is there."""
    spared = None if person_published else roles.person
    if names := tuple(name for name in roles.identifier if name != spared):
        yield GuardFinding(
            "identifier_present", names, "must not be in a table that is handed out: named as identifier"
        )
    if roles.leave_out:
        yield GuardFinding("leave_out_present", roles.leave_out, "must not be there: named as to be left out")


def unasked(table: Table, roles: Roles, policy: Mapping[str, Any]) -> Iterator[GuardFinding]:
    """Columns without a role that the policy has never heard of, or that look like identifiers."""
    free = without_role(table, roles)
    known = _known(table, policy)
    strange = tuple(name for name in free if known is not None and name not in known)
    if strange:
        yield GuardFinding(
            "unknown_column", strange, "must be named by the policy first (as plain, if it may be published)"
        )
    for name, why in objections(table, free).items():
        yield GuardFinding("looks_like_identifier", (name,), why)


def without_role(table: Table, roles: Roles) -> tuple[str, ...]:
    """The columns that nobody has said anything about."""
    return tuple(name for name in table.names if name not in roles.named)


def refuse(findings: Sequence[GuardFinding]) -> None:
    """Before anything is published: nothing leaves by accident."""
    if findings:
        told = "; ".join(finding.text for finding in findings)
        raise BadInput(
            f"columns would be published that must not be by accident: {told}",
            hint="Give them a role: identifier= or leave_out= (not published), plain= (published as it is), or quasi_identifiers=",
        )


# --- alone with what else is published --------------------------------------------------------------------------------
def alone(
    table: Table, roles: Roles, share: float, *, flagged: Collection[str] = ()
) -> tuple[Alone | None, list[GuardFinding]]:
    """How many people are alone with every column beside the quasi-identifiers known, and whether those not called plain make too many.

    Columns that are flagged already are not known here: they would hide what the others do.
    """
    usable = [column.name for column in table.columns if column.kind != "nested" and column.name not in flagged]
    free = tuple(name for name in usable if name not in roles.named)
    known = {*free, *roles.plain}
    beside = tuple(name for name in usable if name in known)
    if not beside:
        return None, []
    told = count_alone(table, roles, beside)
    if not free or told.share <= share:  # fewer columns leave no more people alone
        return told, []
    found = told if free == beside else count_alone(table, roles, free)
    if found.share <= share or found.people <= count_alone(table, roles, ()).people:
        return told, []
    why = f"{found.text} ({found.share:.1%}; alone_share allows {share:.1%})"
    return told, [GuardFinding("alone", free, why)]


def alone_already(table: Table, roles: Roles, share: float, *, left_out: float) -> list[GuardFinding]:
    """What `alone` will say of any release in whose classes nobody is alone, where the columns without a role suffice for it.

    Who is alone by them stays alone whatever else is known, and whoever else is left out: up to the share `left_out` of the rows.
    """
    free = tuple(name for name in without_role(table, roles) if table.column(name).kind != "nested")
    if not free:
        return []
    found = count_alone(table, replace(roles, quasi_identifiers=()), free)
    if found.people <= (share + left_out) * found.of + _ROUNDING:
        return []
    why = f"{found.text}, whatever becomes of the rest ({found.share:.1%}; alone_share allows {share:.1%})"
    return [GuardFinding("alone", free, why)]


def count_alone(table: Table, roles: Roles, columns: Sequence[str]) -> Alone:
    """People who share the quasi-identifiers and these columns with nobody; exact, by one GROUP BY."""
    quote = table.engine.quote
    keys = ", ".join(quote(name) for name in (*roles.quasi_identifiers, *columns))
    if roles.person is None:
        rows = f"SELECT COUNT(*) AS n FROM {table.relation} GROUP BY {keys}"
        counted = f"SELECT SUM(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS alone, SUM(n) AS people FROM ({rows}) AS counted"
    else:
        person = quote(roles.person)
        rows = f"SELECT MIN({person}) AS p, COUNT(DISTINCT {person}) AS n FROM {table.relation} GROUP BY {keys}"
        everybody = f"SELECT COUNT(DISTINCT {person}) FROM {table.relation}"
        owners = "COUNT(DISTINCT CASE WHEN n = 1 THEN p END)"
        counted = f"SELECT {owners} AS alone, ({everybody}) AS people FROM ({rows}) AS counted"
    found = table.engine.query(counted).to_pylist()[0]
    return Alone(tuple(columns), int(found["alone"] or 0), int(found["people"] or 0))


# --- what looks like an identifier ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Facts:
    """What one look at a column's values tells."""

    rows: int
    filled: int
    distinct: int
    """Exact where it is near the number of filled rows, or where the name makes it matter."""
    whole: bool = False
    """It holds whole numbers only, whatever its type: pandas makes floats of keys where one is missing."""
    counts_up: bool = False
    """Whole numbers without gaps, each once."""
    pattern: str = ""

    @property
    def nearly_unique(self) -> bool:
        """Hardly a value occurs twice."""
        return self.filled >= _ENOUGH and self.distinct >= _NEARLY * self.filled

    @property
    def repeats(self) -> bool:
        """It would tell people apart who own several rows."""
        return 1 < self.distinct < _NEARLY * self.filled


def objections(table: Table, names: Collection[str]) -> dict[str, str]:
    """Which of these columns must not be published unasked, and why."""
    facts, wanted = look_at(table, names), frozenset(names)
    found = {}
    for column in table.columns:
        if column.name not in wanted:
            continue
        seen = facts.get(column.name)
        why = "holds nested values, which nobody has looked into" if seen is None else identifies(column, seen)
        if why:
            found[column.name] = why
    return found


def identifies(column: Column, seen: Facts) -> str:
    """Why a column looks like an identifier; empty where it does not."""
    words = words_of(column.name)
    if seen.distinct <= 1:
        return ""
    # Eight people may well be 30, 31, ..., 37 years old: a name that says so counts for more than the pattern.
    if seen.counts_up and not words & QUASI_WORDS:
        return "numbers the rows"
    if names_person(column, nearly_unique=seen.nearly_unique) and (seen.distinct > 2 or seen.rows < _ENOUGH):
        return "looks like an identifier: its name says that it names a person"
    if seen.pattern:
        return f"looks like an identifier: its values are {seen.pattern}"
    if words & (SENSITIVE_WORDS | QUASI_WORDS) or not seen.nearly_unique:
        return ""
    if column.kind == "text" or seen.whole:
        return f"looks like an identifier: {seen.distinct:,} of {seen.rows:,} rows have a value of their own"
    return ""


def names_person(column: Column, *, nearly_unique: bool = False) -> bool:
    """Whether the name says that somebody is named; a diagnosis_name or a city_name is no name of a person."""
    words = words_of(column.name)
    whole = re.sub(r"[^a-z0-9]", "", column.name.lower())
    said = bool(words & NAMES_PEOPLE) or bool(words & _WHOSE and words & _NUMBERED)
    said = said or whole in _WHOSE_NUMBER
    spoken_for = bool(words & (SENSITIVE_WORDS | QUASI_WORDS))
    return said and column.kind in ("text", "number") and (nearly_unique or not spoken_for)


def words_of(name: str) -> set[str]:
    """The words of a column name: snake_case, kebab-case, camelCase and blanks."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return {part.lower() for part in parts} | {re.sub(r"[^a-z0-9]", "", name.lower())}


def look_at(table: Table, names: Collection[str]) -> dict[str, Facts]:
    """Facts about columns, nested ones left out: one pass over all of them, and one over the few that may be identifiers."""
    wanted = frozenset(names)
    columns = [column for column in table.columns if column.name in wanted and column.kind != "nested"]
    if columns:
        LOG.info("looking at %d columns for what names people", len(columns))
    fetched = _at_hand(table, columns)
    found: dict[str, Facts] = {}
    for start in range(0, len(columns), _AT_ONCE):
        part = columns[start : start + _AT_ONCE]
        narrow = None if fetched is None else table.engine.lend(fetched.select([column.name for column in part]))
        found |= _look(replace(table, relation=narrow) if narrow else table, part)
    return found


def _at_hand(table: Table, columns: Sequence[Column]) -> pa.Table | None:
    """The rows of a table of very many columns, where they are few."""
    if len(columns) <= _AT_ONCE:
        return None
    most = _AT_HAND // len(columns)
    cells = ", ".join(table.engine.quote(column.name) for column in columns)
    rows = table.engine.query(f"SELECT {cells} FROM {table.relation} LIMIT {most + 1}")
    return rows if rows.num_rows <= most else None


def _look(table: Table, columns: Sequence[Column]) -> dict[str, Facts]:
    quoted = [table.engine.quote(column.name) for column in columns]
    sums = [f"COUNT({cell}) AS f{i}, approx_count_distinct({cell}) AS d{i}" for i, cell in enumerate(quoted)]
    ends = [
        f"MIN({quoted[i]}) AS low{i}, MAX({quoted[i]}) AS high{i}"
        for i, column in enumerate(columns)
        if column.kind == "number"
    ]
    row = table.engine.query(f"SELECT COUNT(*) AS n, {', '.join(sums + ends)} FROM {table.relation}").to_pylist()[0]
    facts, close, exact = {}, [], set()
    for i, column in enumerate(columns):
        low, high = row.get(f"low{i}"), row.get(f"high{i}")
        gapless = low is not None and bool(high - low == row["n"] - 1)
        seen = Facts(row["n"], row[f"f{i}"], row[f"d{i}"], counts_up=gapless)
        facts[column.name] = seen
        # In few rows a value of one's own says nothing, unless the rows are numbered.
        maybe = seen.distinct >= _MAYBE * seen.filled and (seen.rows >= _ENOUGH or gapless)
        if maybe or names_person(column):
            exact.add(column.name)
        if column.name in exact or column.kind == "text":
            close.append(column)
    return {name: replace(seen, counts_up=False) for name, seen in facts.items()} | _look_closer(
        table, close, facts, exact
    )


def _look_closer(
    table: Table, columns: Sequence[Column], facts: Mapping[str, Facts], exact: Collection[str]
) -> dict[str, Facts]:
    """Exact counts of columns that may be identifiers, and what the values of texts look like."""
    if not columns:
        return {}
    engine = table.engine
    sums: list[str] = []
    often: dict[str, tuple[str, list[str]]] = {}
    for i, column in enumerate(columns):
        cell = engine.quote(column.name)
        if column.name in exact:
            sums.append(f"COUNT(DISTINCT {cell}) AS d{i}")
        if column.kind == "number":
            rest = f"CAST({cell} AS DOUBLE) % 1"
            sums.append(f"SUM(CASE WHEN {rest} <> 0 AND NOT ISNAN({rest}) THEN 1 ELSE 0 END) AS r{i}")
        if column.kind == "text":
            seen = facts[column.name]
            repeats = seen.distinct < _SELDOM * seen.filled
            text, each = engine.cast(f"c{i}" if repeats else cell, "VARCHAR"), "n" if repeats else "1"
            matches = [
                f"SUM(CASE WHEN {engine.full_match(text, pattern)} THEN {each} ELSE 0 END) AS p{i}_{place}"
                for place, pattern in enumerate(_PATTERNS.values())
            ]
            if repeats:
                often[f"{cell} AS c{i}"] = cell, matches
            else:
                sums += matches
    row = engine.query(f"SELECT {', '.join(sums)} FROM {table.relation}").to_pylist()[0] if sums else {}
    if often:
        # In the rows of another column's set this one is null, which matches nothing.
        sets = ", ".join(f"({cell})" for cell, _ in often.values())
        values = f"SELECT {', '.join(often)}, COUNT(*) AS n FROM {table.relation} GROUP BY GROUPING SETS ({sets})"
        told = ", ".join(sum_ for _, matches in often.values() for sum_ in matches)
        row |= engine.query(f"SELECT {told} FROM ({values}) AS counted").to_pylist()[0]
    return {column.name: _facts(row, i, column, facts[column.name]) for i, column in enumerate(columns)}


def _facts(row: Mapping[str, Any], i: int, column: Column, seen: Facts) -> Facts:
    distinct = row.get(f"d{i}", seen.distinct)
    whole = column.kind == "number" and not row[f"r{i}"]
    counts_up = whole and seen.counts_up and seen.rows == seen.filled == distinct > 1
    found = [told for place, told in enumerate(_PATTERNS) if 2 * (row.get(f"p{i}_{place}") or 0) > seen.filled]
    return Facts(seen.rows, seen.filled, distinct, whole, counts_up, found[0] if found else "")


# --- rows are not people ----------------------------------------------------------------------------------------------
def repeated(table: Table, roles: Roles) -> tuple[str, ...]:
    """What to say of identifiers whose values repeat, where nobody said that people own several rows."""
    if roles.person is not None:
        return ()
    free = set(without_role(table, roles))
    columns = [
        column
        for column in table.columns
        if column.name in roles.identifier or (column.name in free and names_person(column))
    ]
    facts = look_at(table, [column.name for column in columns])
    return tuple(
        f"{name!r} has {seen.distinct:,} values in {seen.filled:,} rows: did you mean person={name!r}?"
        for name, seen in facts.items()
        if seen.repeats and may_own_rows(name)
    )


def may_own_rows(name: str) -> bool:
    """Whether a value that repeats is likely to be the same person again: many people share a first name, or a house."""
    return not words_of(name) & _SHARED
