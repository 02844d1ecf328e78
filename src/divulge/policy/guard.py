# SPDX-License-Identifier: Apache-2.0
"""Guard: columns that must not be published, whatever the requirements are.

Used by check, generalize and anatomize. Requirements are about quasi-identifiers and sensitive
columns. A table can meet them all and name everybody in another column. So every other column is
checked:

* columns named as identifier or as to be left out,
* columns that the policy does not mention,
* columns that look like identifiers by their name or their values,
* columns that make people unique in addition to the others (uniqueness.py).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from divulge.arguments import Sentence, arg
from divulge.errors import BadInput, listed
from divulge.policy import recognition
from divulge.policy import uniqueness as uniqueness  # noqa: PLC0414 - other folders use it through the guard
from divulge.sources import Column, Names, Roles, Table, resolve_roles
from divulge.text import as_names

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger("divulge.policy")
Guard = Literal[
    "identifier_present",
    "leave_out_present",
    "unknown_column",
    "looks_like_identifier",
    "unique_share",
]
NAMES_PEOPLE = frozenset(
    "name firstname lastname surname forename fullname email mail phone telephone mobile fax ssn "
    "passport iban account license licence plate address street ip mac url username login mrn nhs "
    "id uuid guid pid uid rowid nino imei imsi msisdn aadhaar pesel cpf curp".split()
)
"""Words of column names that indicate names or numbers of people."""
_SHARED_NAME_WORDS = frozenset(
    "firstname lastname surname forename fullname first last given family address street".split()
)
"""Words of names and addresses that many people share."""
_MIN_PEOPLE = 10
_MAX_ROWS_PER_PERSON = 100
"""Limits below and above which a repeated value does not name people.

A column of fewer values, each in more rows, is a category, such as the kind of a test.
"""
_LOGIN_WORDS = frozenset("user login account screen nick".split())
"""Words before "name" that indicate a name of one person only."""
_PERSON_WORDS = frozenset(
    "patient person member customer client user subject employee student citizen record row case".split()  # noqa: E501
)
_NUMBER_WORDS = frozenset("number no nr num nbr key hash code ref".split())
_QUANTITY_WORDS = frozenset(
    "percent pct percentage share ratio rate amount balance limit total count sum average avg mean "
    "median max min length duration days months years".split()
)
"""Words of names of measured numbers: account_never_delinq_percent names no account."""
_PERSON_NUMBERS = frozenset(
    f"{person}{number}" for person in _PERSON_WORDS for number in ("id", *_NUMBER_WORDS)
)
SENSITIVE_WORDS = frozenset(
    "disease diagnosis diagnoses condition illness symptom treatment medication drug hiv cancer "
    "icd salary income wage wages earnings debt credit religion belief party vote orientation "
    "crime conviction disability pregnancy result score grade capital".split()
)
QUASI_WORDS = frozenset(
    "zip zipcode postcode postal plz age birth birthday birthdate dob born sex gender "
    "race ethnicity nationality citizenship country state county city town region district marital "
    "relationship education school degree job occupation profession employer workclass industry "
    "height weight household children language admission date".split()
)
_COMMON_PATTERNS = {
    "e-mail addresses": recognition.E_MAIL,
    "phone numbers": recognition.PHONE,
    "numbers of persons or devices": recognition.PERSON_OR_DEVICE,
}
"""Patterns of values that name a person, however often they repeat.

Most non-null cells of a column must match.
"""
_UNMISTAKABLE_PATTERNS = {
    "an e-mail address": recognition.HOLDS_E_MAIL,
    "a social security number": recognition.HOLDS_SSN,
    "a phone number": recognition.CERTAIN_PHONE,
    "an IBAN or UUID": recognition.CERTAIN_KEY,
}
"""Patterns that hardly anything else matches: one cell is enough.

Addresses and social security numbers are also found within a longer text.
"""
_MIN_ROWS = 20
"""Number of rows below which distinct values mean nothing.

Eight people may well be 30, 31, ..., 37 years old.
"""
_NEARLY_UNIQUE_SHARE = 0.95
_POSSIBLY_UNIQUE_SHARE = 0.6
"""Share of distinct values below which an approximate count suffices; its error is small."""
_REPEATED_SHARE = 0.2
"""Share of distinct values below which each value is matched once.

Matching a pattern costs far more than counting.
"""
_COLUMNS_PER_STATEMENT = 200
"""Columns in one statement."""
_MAX_FETCHED_CELLS = 2_000_000
"""Cells of a wide table that are fetched once.

A statement binds every column of its source, even those that it does not select.
"""


@dataclass(frozen=True)
class GuardFinding:
    """Columns that must not be published, and the reason."""

    guard: Guard
    columns: tuple[str, ...]
    why: str
    contributions: tuple[uniqueness.Contribution, ...] = ()
    """Number of unique people without each of the columns, and with only that column."""
    cure: str = ""
    """Remedy in `generalize`, with the argument names of Python."""

    @property
    def text(self) -> str:
        """Text for people."""
        if self.guard == "unique_share":
            return self.why
        return f"{listed(self.columns)} {self.why}"


# --- roles in effect --------------------------------------------------------------------------
@dataclass(frozen=True)
class ExplicitRoles:
    """Roles as the arguments of a call name them, before they are resolved against the table."""

    quasi_identifiers: Names = ()
    sensitive: Names = ()
    identifier: Names = ()
    leave_out: Names = ()
    plain: Names = ()
    weight: str | None = None
    person: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments of `resolve_roles`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def explicit_names(self) -> dict[str, Any]:
        """Arguments that name a column."""
        return {role: names for role, names in self.arguments.items() if names}


def roles_in_force(table: Table, policy: Mapping[str, Any], explicit_roles: ExplicitRoles) -> Roles:
    """Return the explicit roles, else those of a policy.

    A column that the policy calls identifier, leave_out or plain need not exist: a release has none
    of the first two. Explicit columns of these roles are added to the policy's columns, so that the
    others are not published by accident. An explicit role replaces the role in the policy. A weight
    of the policy that gets another explicit role is no longer a weight.
    """
    explicit = explicit_roles.explicit_names
    by_role = explicit_roles.arguments
    if (owner := policy.get("person")) and "person" not in explicit and not table.present(owner):
        message = (
            f"the policy counts people by {owner!r}, and {table.source} has no such column: a "
            "class may hold one person many times"
        )
        raise BadInput(
            message,
            hint="Check the table before that column is left out, or take `person` out to count "
            "rows",
        )
    # A glob for the remaining columns means those without a role in the policy either.
    exact = {
        role: [name for name in as_names(by_role[role]) if table.has(name)]
        for role in ("leave_out", "plain")
    }
    by_hand = resolve_roles(
        table, **{name: value for name, value in (explicit | exact).items() if name != "person"}
    ).all_columns
    roles = dict(policy)
    if roles.get("weight") in by_hand:  # it has another role now
        del roles["weight"]
    for role in ("identifier", "leave_out", "plain"):
        policy_columns = (name for name in table.present(roles.get(role)) if name not in by_hand)
        roles[role] = [*as_names(by_role[role]), *policy_columns]
    roles |= {
        role: value
        for role, value in explicit.items()
        if role not in ("identifier", "leave_out", "plain")
    }
    return resolve_roles(table, **roles, declared=True)


def _columns_with_roles(table: Table, policy: Mapping[str, Any]) -> set[str] | None:
    """Columns that a policy mentions; None if it mentions none, so that no column is new to it."""
    if not policy:
        return None
    return {
        name
        for names in policy.values()
        for part in table.present(names)
        for name in _expand_name(table, part)
    }


def _expand_name(table: Table, name: str) -> frozenset[str]:
    return resolve_roles(table, plain=name).all_columns


# --- forbidden columns ------------------------------------------------------------------------
def present(roles: Roles, *, person_published: bool = True) -> Iterator[GuardFinding]:
    """Yield findings for columns that must not be published and are in the table."""
    if person_published:
        spared = None
    else:
        spared = roles.person
    if names := tuple(name for name in roles.identifier if name != spared):
        yield GuardFinding(
            "identifier_present",
            names,
            "must not be in a table that is handed out: named as identifier",
        )
    if roles.leave_out:
        yield GuardFinding(
            "leave_out_present", roles.leave_out, "must not be there: named as to be left out"
        )


def findings_without_role(
    table: Table, roles: Roles, policy: Mapping[str, Any]
) -> Iterator[GuardFinding]:
    """Yield findings for columns without a role that are new or look like identifiers."""
    columns_without_role = without_role(table, roles)
    columns_with_roles = _columns_with_roles(table, policy)
    unknown_columns = tuple(
        name
        for name in columns_without_role
        if columns_with_roles is not None and name not in columns_with_roles
    )
    if unknown_columns:
        yield GuardFinding(
            "unknown_column",
            unknown_columns,
            "must be named by the policy first (as plain, if it may be published)",
        )
    for name, reason in objections(table, columns_without_role).items():
        yield GuardFinding("looks_like_identifier", (name,), reason)


def without_role(table: Table, roles: Roles) -> tuple[str, ...]:
    """Columns without a role."""
    return tuple(name for name in table.names if name not in roles.all_columns)


def refuse(findings: Sequence[GuardFinding]) -> None:
    """Raise an error if there are findings, before anything is published."""
    if findings:
        findings_text = "; ".join(finding.text for finding in findings)
        raise BadInput(
            f"columns would be published that must not be by accident: {findings_text}",
            hint=f"Give them a role: {arg('identifier')} or {arg('leave_out')} (not "
            f"published), {arg('plain')} (published "
            f"as it is), or {arg('quasi_identifiers')}",
        )


# --- unique by all published columns ----------------------------------------------------------
def unique_finding(problem: uniqueness.TooManyUnique | None) -> list[GuardFinding]:
    """Finding about columns that make too many people unique; empty if there is no problem."""
    if problem is None:
        return []
    return [
        GuardFinding(
            "unique_share",
            problem.uniqueness.columns,
            problem.uniqueness.violation,
            contributions=problem.contributions,
            cure=problem.cure.text,
        )
    ]


# --- columns that look like identifiers -------------------------------------------------------
@dataclass(frozen=True)
class Facts:
    """Statistics of a column's values."""

    rows: int
    filled: int
    distinct: int
    """Number of distinct values.

    It is exact if it is near the number of non-null rows, or if the column's name makes it matter.
    """
    whole: bool = False
    """True if all values are whole numbers, whatever the type.

    Pandas stores integer keys as floats if one is missing.
    """
    counts_up: bool = False
    """True if the values are whole numbers without gaps, each once."""
    pattern: str = ""
    unmistakable: str = ""
    """Name of the unmistakable pattern of a person that at least one cell matches."""

    @property
    def nearly_unique(self) -> bool:
        """True if hardly any value occurs twice."""
        return self.filled >= _MIN_ROWS and self.distinct >= _NEARLY_UNIQUE_SHARE * self.filled

    @property
    def repeats(self) -> bool:
        """True if values repeat, so that the column could identify people with several rows."""
        return 1 < self.distinct < _NEARLY_UNIQUE_SHARE * self.filled


def objections(table: Table, names: Collection[str]) -> dict[str, str]:
    """Reasons why columns must not be published without a role."""
    facts = look_at(table, names)
    name_set = frozenset(names)
    reasons = {}
    for column in table.columns:
        if column.name not in name_set:
            continue
        column_facts = facts.get(column.name)
        if column_facts is None:
            reason = "holds nested values, which nobody has looked into"
        else:
            reason = identifies(column, column_facts)
        if reason:
            reasons[column.name] = reason
    return reasons


def identifies(column: Column, facts: Facts) -> str:
    """Return the reason why a column looks like an identifier; empty if it does not."""
    words = words_of(column.name)
    # one value in all rows distinguishes nobody
    if not facts.filled or (facts.distinct <= 1 < facts.rows == facts.filled):
        return ""
    # Eight people may well be 30, 31, ..., 37 years old: the name of a quasi-identifier takes
    # precedence over the pattern.
    if facts.counts_up and not words & QUASI_WORDS:
        return "numbers the rows"
    # Two values that repeat, such as yes and no, are not names. A few numbers in an otherwise
    # empty column are.
    rare = 2 * facts.filled < facts.rows and facts.filled < _MIN_ROWS * facts.distinct
    flag = (
        facts.distinct <= 2
        and facts.distinct < facts.filled
        and not (rare and column.kind == "number")
        and (facts.rows >= _MIN_ROWS or facts.distinct <= 1)
    )
    if names_person(column, nearly_unique=facts.nearly_unique) and not flag:
        return "looks like an identifier: its name says that it names a person"
    if facts.pattern:
        return f"looks like an identifier: its values are {facts.pattern}"
    if facts.unmistakable:
        return f"looks like an identifier: {facts.unmistakable} is in at least one cell"
    if words & (SENSITIVE_WORDS | QUASI_WORDS) or not facts.nearly_unique:
        return ""
    if column.kind == "text" or facts.whole:
        return (
            f"looks like an identifier: {facts.distinct:,} of {facts.rows:,} rows have a value of "
            "their own"
        )
    return ""


def names_person(column: Column, *, nearly_unique: bool = False) -> bool:
    """Report whether the name of a column indicates that it names people.

    A diagnosis_name or a city_name is not the name of a person.
    """
    words = words_of(column.name)
    letters = re.sub(r"[^a-z0-9]", "", column.name.lower())
    name_matches = bool(words & NAMES_PEOPLE) or bool(
        words & _PERSON_WORDS and words & _NUMBER_WORDS
    )
    name_matches = name_matches or letters in _PERSON_NUMBERS
    is_other_word = bool(words & (SENSITIVE_WORDS | QUASI_WORDS))
    is_other_word = is_other_word or (column.kind == "number" and bool(words & _QUANTITY_WORDS))
    return (
        name_matches and column.kind in ("text", "number") and (nearly_unique or not is_other_word)
    )


def words_of(name: str) -> set[str]:
    """Words of a column name in snake_case, kebab-case, camelCase or with blanks."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return {part.lower() for part in parts} | {re.sub(r"[^a-z0-9]", "", name.lower())}


def look_at(table: Table, names: Collection[str]) -> dict[str, Facts]:
    """Compute statistics of columns, except nested ones.

    One pass covers all columns, and a second one the few that may be identifiers.
    """
    name_set = frozenset(names)
    columns = [
        column for column in table.columns if column.name in name_set and column.kind != "nested"
    ]
    if columns:
        LOG.info("looking at %d columns for what names people", len(columns))
    fetched = _fetch_wide_table(table, columns)
    facts: dict[str, Facts] = {}
    for start in range(0, len(columns), _COLUMNS_PER_STATEMENT):
        part = columns[start : start + _COLUMNS_PER_STATEMENT]
        if fetched is None:
            narrow = None
        else:
            narrow = table.engine.lend(fetched.select([column.name for column in part]))
        facts |= _column_facts(replace(table, relation=narrow) if narrow else table, part)
    return facts


def _fetch_wide_table(table: Table, columns: Sequence[Column]) -> pa.Table | None:
    """Rows of a table of very many columns, if the rows are few."""
    if len(columns) <= _COLUMNS_PER_STATEMENT:
        return None
    row_limit = _MAX_FETCHED_CELLS // len(columns)
    cells = ", ".join(table.engine.quote(column.name) for column in columns)
    rows = table.engine.query(f"SELECT {cells} FROM {table.relation} LIMIT {row_limit + 1}")
    if rows.num_rows <= row_limit:
        return rows
    return None


def _column_facts(table: Table, columns: Sequence[Column]) -> dict[str, Facts]:
    quoted = [table.engine.quote(column.name) for column in columns]
    sums = [
        f"COUNT({cell}) AS f{i}, approx_count_distinct({cell}) AS d{i}"
        for i, cell in enumerate(quoted)
    ]
    ends = [
        f"MIN({quoted[i]}) AS low{i}, MAX({quoted[i]}) AS high{i}"
        for i, column in enumerate(columns)
        if column.kind == "number"
    ]
    row = table.engine.query(
        f"SELECT COUNT(*) AS n, {', '.join(sums + ends)} FROM {table.relation}"
    ).to_pylist()[0]
    facts = {}
    close = []
    exact = set()
    for i, column in enumerate(columns):
        low = row.get(f"low{i}")
        high = row.get(f"high{i}")
        gapless = low is not None and bool(high - low == row["n"] - 1)
        column_facts = Facts(row["n"], row[f"f{i}"], row[f"d{i}"], counts_up=gapless)
        facts[column.name] = column_facts
        # In few rows distinct values mean nothing, unless the rows are numbered.
        maybe = column_facts.distinct >= _POSSIBLY_UNIQUE_SHARE * column_facts.filled and (
            column_facts.rows >= _MIN_ROWS or gapless
        )
        if maybe or names_person(column):
            exact.add(column.name)
        if column.name in exact or column.kind == "text":
            close.append(column)
    return {
        name: replace(column_facts, counts_up=False) for name, column_facts in facts.items()
    } | _exact_facts(table, close, facts, exact)


def _exact_facts(
    table: Table, columns: Sequence[Column], facts: Mapping[str, Facts], exact: Collection[str]
) -> dict[str, Facts]:
    """Compute exact counts of possible identifiers, and match the patterns of texts."""
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
            sums.append(
                f"SUM(CASE WHEN {rest} <> 0 AND NOT ISNAN({rest}) THEN 1 ELSE 0 END) AS r{i}"
            )
        if column.kind == "text":
            column_facts = facts[column.name]
            repeats = column_facts.distinct < _REPEATED_SHARE * column_facts.filled
            text = engine.cast(f"c{i}" if repeats else cell, "VARCHAR")
            if repeats:
                row_weight = "n"
            else:
                row_weight = "1"
            matches = [
                f"SUM(CASE WHEN {engine.full_match(text, pattern)} THEN {row_weight} ELSE 0 END) "
                f"AS p{i}_{pattern_index}"
                for pattern_index, pattern in enumerate(
                    (*_COMMON_PATTERNS.values(), *_UNMISTAKABLE_PATTERNS.values())
                )
            ]
            if repeats:
                often[f"{cell} AS c{i}"] = cell, matches
            else:
                sums += matches
    if sums:
        row = engine.query(f"SELECT {', '.join(sums)} FROM {table.relation}").to_pylist()[0]
    else:
        row = {}
    if often:
        # In the rows of another column's grouping set this column is null, which matches nothing.
        sets = ", ".join(f"({cell})" for cell, _ in often.values())
        values = (
            f"SELECT {', '.join(often)}, COUNT(*) AS n "
            f"FROM {table.relation} GROUP BY GROUPING SETS ({sets})"
        )
        match_sums = ", ".join(sum_ for _, matches in often.values() for sum_ in matches)
        row |= engine.query(f"SELECT {match_sums} FROM ({values}) AS counted").to_pylist()[0]
    return {
        column.name: _merge_facts(row, i, column, facts[column.name])
        for i, column in enumerate(columns)
    }


def _merge_facts(row: Mapping[str, Any], i: int, column: Column, facts: Facts) -> Facts:
    distinct = row.get(f"d{i}", facts.distinct)
    is_whole = column.kind == "number" and not row[f"r{i}"]
    counts_up = is_whole and facts.counts_up and facts.rows == facts.filled == distinct > 1
    pattern_names = [
        pattern_name
        for pattern_index, pattern_name in enumerate(_COMMON_PATTERNS)
        if 2 * (row.get(f"p{i}_{pattern_index}") or 0) > facts.filled
    ]
    rare_values = [
        name
        for pattern_index, name in enumerate(_UNMISTAKABLE_PATTERNS, start=len(_COMMON_PATTERNS))
        if (row.get(f"p{i}_{pattern_index}") or 0) > 0
    ]
    return Facts(
        facts.rows,
        facts.filled,
        distinct,
        is_whole,
        counts_up,
        pattern=pattern_names[0] if pattern_names else "",
        unmistakable=rare_values[0] if rare_values else "",
    )


# --- rows and people --------------------------------------------------------------------------
def repeated(table: Table, roles: Roles) -> tuple[str, ...]:
    """Return hints about identifiers whose values repeat, if no person column was named."""
    if roles.person is not None:
        return ()
    columns_without_role = set(without_role(table, roles))
    columns = [
        column
        for column in table.columns
        if column.name in roles.identifier
        or (column.name in columns_without_role and names_person(column))
    ]
    facts = look_at(table, [column.name for column in columns])
    return tuple(
        Sentence(
            f"{name!r} has {column_facts.distinct:,} values in {column_facts.filled:,} rows: does "
            f"it name people? Then give {arg('person', name)}"
        )
        for name, column_facts in facts.items()
        if column_facts.repeats
        and may_identify_one_person(name)
        and (
            column_facts.distinct >= _MIN_PEOPLE
            or column_facts.filled <= _MAX_ROWS_PER_PERSON * column_facts.distinct
        )
    )


def may_identify_one_person(name: str) -> bool:
    """Report whether a repeated value is likely to be the same person.

    Many people share a first name or an address.
    """
    words = words_of(name)
    return not words & _SHARED_NAME_WORDS and ("name" not in words or bool(words & _LOGIN_WORDS))
