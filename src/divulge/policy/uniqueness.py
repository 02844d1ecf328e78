# SPDX-License-Identifier: Apache-2.0
"""Uniqueness over all published columns, for an adversary who knows more than quasi-identifiers.

k-anonymity counts people who share the quasi-identifiers. Every other published column can be known
as well, whatever its role. An adversary who also knows an amount, a date or a survey weight may
single out one person although k is five. So the rows are grouped by the quasi-identifiers and all
other published columns except the sensitive ones. A person is unique if no other person is in the
same group. If the person column is published too, all rows of a person can be linked: then a
person is unique if nobody else has the same rows. Nulls count as values. The engine groups exactly
and spills to disk if needed. The number of people who are unique if the sensitive columns are known
too is reported, but not bounded by a requirement.

`unique_share` of a policy bounds the share of unique people. Without it, columns that have no role
must not make more than UNIQUE_SHARE of the people unique. Columns with a role cause a warning above
that share.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from divulge.arguments import Sentence, arg
from divulge.errors import BadInput, BrokenPromise, Infeasible
from divulge.sources import Roles, Table

UNIQUE_SHARE = 0.01
"""Share of people whom columns may make unique if the policy has no `unique_share`."""
_ROUNDING_TOLERANCE = 1e-6
"""Tolerance for rounding: 29 of 100 rows are 0.29 of them, but the float is a little less."""
_MAX_LISTED = 6
"""Number of columns that a sentence names; it counts the rest."""
_MAX_EXPLAINED = 12
"""Number of columns whose contribution to a failure is measured: those with the most values."""
Unit = Literal["people", "rows"]


@dataclass(frozen=True)
class Uniqueness:
    """Number of unique people in a table, by the columns that an adversary knows."""

    quasi_identifiers: tuple[str, ...]
    columns: tuple[str, ...]
    """Other published columns except the sensitive ones."""
    sensitive: tuple[str, ...]
    k: int
    """Smallest number of people who share the quasi-identifiers."""
    by_quasi_identifiers: int
    """People who are unique if the quasi-identifiers are known."""
    unique: int
    """People who are unique if the quasi-identifiers and `columns` are known."""
    with_sensitive: int
    """People who are unique if the sensitive columns are known too."""
    of: int
    """Number of all people."""
    unit: Unit = "people"
    """Unit of the counts: rows if it is not known which rows belong to one person."""
    linked: bool = False
    """True if the published person column links all rows of a person. `k` is by single rows."""
    required: float | None = None
    """The `unique_share` of the policy; None if it has none."""
    fails: bool = False
    """True if too many people are unique, which is a finding and needs no warning."""

    @property
    def share(self) -> float:
        """Unique people as a share of all people."""
        if self.of:
            return self.unique / self.of
        return 0.0

    @property
    def adds(self) -> bool:
        """True if the other columns make more people unique than the quasi-identifiers.

        k bounds the latter.
        """
        return self.unique > self.by_quasi_identifiers

    @property
    def warns(self) -> bool:
        """True if more people than usual are unique and no requirement limits it."""
        return self.required is None and not self.fails and self.adds and self.exceeds(UNIQUE_SHARE)

    def exceeds(self, share: float) -> bool:
        """Report whether more than this share of the people is unique."""
        return self.unique > share * self.of + _ROUNDING_TOLERANCE

    @property
    def text(self) -> str:
        """One sentence without a period: k for the quasi-identifiers, then the unique people."""
        return self.sentence()

    def sentence(self, *, with_k: bool = True) -> str:
        """Write `text`, without k if another number was measured as k.

        The numbers differ if nulls or prior releases count.
        """
        if not with_k:
            known_columns = (*self.quasi_identifiers, *self.columns)
            return (
                f"{self._unique_phrase(self.unique)} for an adversary who knows "
                f"{name_columns(known_columns)}{self._sensitive_suffix}"
            )
        if not self.by_quasi_identifiers:
            unique_alone = ""
        else:
            unique_alone = f" ({self._unique_phrase(self.by_quasi_identifiers)})"
        first = (
            f"k = {self.k:,} for an adversary who knows "
            f"{name_columns(self.quasi_identifiers)}{unique_alone}"
        )
        if self.columns:
            return (
                f"{first}; {self._unique_phrase(self.unique)} for one who also knows "
                f"{name_columns(self.columns)}{self._sensitive_suffix}"
            )
        if self.sensitive:
            return (
                f"{first}; {self._unique_phrase(self.with_sensitive)} for one who also knows "
                f"{name_columns(self.sensitive)}"
            )
        return first

    @property
    def _sensitive_suffix(self) -> str:
        if not self.sensitive:
            return ""
        return (
            f", {self.with_sensitive:,} if {name_columns(self.sensitive)} "
            f"{'is' if len(self.sensitive) == 1 else 'are'} known too"
        )

    def _unique_phrase(self, count: int) -> str:
        by_all_rows = " by all their rows" if self.linked else ""
        if not count:
            return f"none of {self.of:,} {self.unit} is unique{by_all_rows}"
        return (
            f"{count:,} of {self.of:,} {self.unit} ({percent(count / self.of)}) "
            f"{'is' if count == 1 else 'are'} unique{by_all_rows}"
        )

    @property
    def violation(self) -> str:
        """Description of the problem if too many people are unique."""
        known_columns = name_columns((*self.quasi_identifiers, *self.columns))
        if self.required is None:
            allowed = UNIQUE_SHARE
        else:
            allowed = self.required
        return (
            f"{self._unique_phrase(self.unique)} for an adversary who knows {known_columns}; "
            f"unique_share allows {percent(allowed)}"
        )

    @property
    def warning(self) -> str:
        """Warning about a table that is published without a requirement.

        Empty if few people are unique.
        """
        if not self.warns:
            return ""
        return f"{self.text}. No requirement limits this: unique_share in the policy does"

    @property
    def allowance(self) -> str:
        """Note about a requirement that allows more unique people than usual.

        Empty if there is none.
        """
        if self.required is None or self.required <= UNIQUE_SHARE:
            return ""
        return (
            f"unique_share = {self.required:g} allows {percent(self.required)} of the {self.unit} "
            f"to be unique (usual: {percent(UNIQUE_SHARE)}); {percent(self.share)} are"
        )


class Contribution(NamedTuple):
    """Contribution of one column to the number of unique people."""

    column: str
    without: int
    """Unique people if this column is not published."""
    only: int
    """Unique people if this is the only column published in addition to the quasi-identifiers."""


@dataclass(frozen=True)
class Remedy:
    """Ways to meet the requirement: fewer columns, generalized columns, or a higher bound."""

    drop: tuple[str, ...]
    """Columns to drop so that few enough people are unique."""
    roles: Roles
    """Roles that were checked."""
    generalize: tuple[str, ...]
    """Columns that can become quasi-identifiers, so that k bounds them."""
    cannot_generalize: tuple[str, ...]
    """Columns that cannot: nested values and the survey weight. They are dropped."""
    unique_share: float | None
    """Bound that allows the measured share, rounded up to two digits; None if it would be 1."""
    may_be_enough: tuple[str, ...] = ()
    """Fewer columns to drop that may suffice, if the release is not known yet."""

    @property
    def text(self) -> Sentence:
        """Text for people, which names arguments."""
        first = f"Drop {name_columns(self.drop)}: {self._options(self.drop)}"
        if self.may_be_enough:
            first = (
                f"Dropping {name_columns(self.may_be_enough)} may be enough. To be certain, "
                f"{first[0].lower()}{first[1:]}"
            )
        parts = [first]
        if 0 < len(self.generalize) <= _MAX_EXPLAINED:
            quasi_identifiers = _as_argument((*self.roles.quasi_identifiers, *self.generalize))
            parts.append(
                f"Or generalize them: {arg('quasi_identifiers', quasi_identifiers)}"
                f"{self._options(self.cannot_generalize, also_moved=self.generalize, sentence=False)}"  # noqa: E501
            )
        if self.unique_share is not None:
            parts.append(f"Or allow more: {arg('unique_share', self.unique_share)}")
        return Sentence(". ".join(parts))

    def _leave_out(self, dropped: Sequence[str], removed: Collection[str]) -> str | list[str]:
        """Return the columns to drop as an argument.

        That is "*" instead of many, if every remaining column has a role.
        """
        names = (*self.roles.leave_out, *dropped)
        remaining = {*self.generalize, *self.cannot_generalize} - set(removed)
        if len(names) > _MAX_LISTED and remaining <= set(self.roles.all_columns):
            return "*"
        return _as_argument(names)

    @property
    def as_they_are(self) -> str | list[str]:
        """Value of `plain` that publishes the columns as they are; '*' instead of many."""
        names = (*self.generalize, *self.cannot_generalize)
        is_long = len(names) > _MAX_LISTED
        return _as_argument((*self.roles.plain, *(("*",) if is_long else names)))

    def _options(
        self, dropped: Sequence[str], *, also_moved: Sequence[str] = (), sentence: bool = True
    ) -> str:
        """Return the options that drop columns, and those that change with a lost role."""
        removed = {*dropped, *also_moved}
        if dropped:
            with_options = [arg("leave_out", self._leave_out(dropped, removed))]
        else:
            with_options = []
        without_options = []
        rest = tuple(name for name in self.roles.plain if name not in removed)
        if rest != self.roles.plain:
            if rest:
                with_options.append(arg("plain", _as_argument(rest)))
            else:
                without_options.append(arg("plain"))
        if self.roles.weight in removed:
            without_options.append(arg("weight"))
        text = " and ".join(with_options)
        if not sentence and text:
            text = f" and {text}"
        if without_options:
            text += f", without {' and '.join(without_options)}"
        return text


def _as_argument(names: Sequence[str]) -> str | list[str]:
    if len(names) == 1:
        return names[0]
    return list(names)


def percent(share: float) -> str:
    """Format a share in percent with three digits."""
    return f"{100 * share:.3g}%"


def name_columns(names: Sequence[str]) -> str:
    """Name columns in a sentence: zip, age and sex.

    Of many columns the first ones, and the number of the others.
    """
    if not names:
        return "no column"
    if len(names) <= _MAX_LISTED:
        column_names = list(names)
    else:
        column_names = [*names[: _MAX_LISTED - 1], f"{len(names) - _MAX_LISTED + 1} other columns"]
    if len(column_names) == 1:
        return column_names[0]
    return f"{', '.join(column_names[:-1])} and {column_names[-1]}"


# --- counting -------------------------------------------------------------------------------------
class GroupCount(NamedTuple):
    """Counts of people in groups of equal values."""

    unique: int
    people: int
    smallest: int


def count_groups(
    table: Table, columns: Sequence[str], *, person: str | None = None, linked: bool = False
) -> GroupCount:
    """Group the rows by these columns and count the people who are unique; exact.

    With `linked` the people are grouped by all their rows.
    """
    if linked and person is not None:
        return _count_linked_groups(table, columns, person)
    engine = table.engine
    keys = [f"g{index}" for index in range(len(columns))]
    cells = [
        f"{_grouping_key(table, name)} AS {key}" for name, key in zip(columns, keys, strict=True)
    ]
    if keys:
        group_by = f" GROUP BY {', '.join(keys)}"
    else:
        group_by = ""
    if person is None:
        rows = f"(SELECT {', '.join(cells) or '1 AS one'} FROM {table.relation}) AS keyed"
        groups = f"(SELECT COUNT(*) AS n FROM {rows}{group_by}) AS counted"
        sums = (
            "SUM(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS singles, SUM(n) AS people, MIN(n) AS "
            "smallest"
        )
        totals = engine.query(f"SELECT {sums} FROM {groups}").to_pylist()[0]
    else:
        owner = engine.quote(person)
        pairs = (
            f"(SELECT DISTINCT {', '.join([*cells, f'{owner} AS owner'])} "
            f"FROM {table.relation}) AS pairs"
        )
        groups = f"(SELECT MIN(owner) AS owner, COUNT(*) AS n FROM {pairs}{group_by}) AS counted"
        everybody = f"(SELECT COUNT(DISTINCT {owner}) FROM {table.relation}) AS people"
        sums = (
            f"COUNT(DISTINCT CASE WHEN n = 1 THEN owner END) AS singles, {everybody}, MIN(n) AS "
            "smallest"
        )
        totals = engine.query(f"SELECT {sums} FROM {groups}").to_pylist()[0]
    return GroupCount(
        int(totals["singles"] or 0), int(totals["people"] or 0), int(totals["smallest"] or 0)
    )


def _count_linked_groups(table: Table, columns: Sequence[str], person: str) -> GroupCount:
    """Group the people by all their rows in these columns, and count those who are unique."""
    engine = table.engine
    if columns:
        digest = engine.digest(row_text(table, columns))
    else:
        digest = "COUNT(*)"
    digests = (
        f"(SELECT {digest} AS digest FROM {table.relation} "
        f"GROUP BY {engine.quote(person)}) AS people"
    )
    groups = f"(SELECT COUNT(*) AS n FROM {digests} GROUP BY digest) AS counted"
    sums = "SUM(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS singles, SUM(n) AS people, MIN(n) AS smallest"
    totals = engine.query(f"SELECT {sums} FROM {groups}").to_pylist()[0]
    return GroupCount(
        int(totals["singles"] or 0), int(totals["people"] or 0), int(totals["smallest"] or 0)
    )


def row_text(table: Table, columns: Sequence[str]) -> str:
    """Return SQL for one text of these columns: different rows have different texts."""
    engine = table.engine
    texts = [engine.cast(_grouping_key(table, name), "VARCHAR") for name in columns]
    # Each text is preceded by its length, so that different rows have different texts.
    return " || ".join(
        f"COALESCE(CAST(LENGTH({text}) AS VARCHAR(20)) || ':' || {text}, '-')" for text in texts
    )


def _grouping_key(table: Table, name: str) -> str:
    """Return SQL for a value that rows can be grouped by."""
    cell = table.engine.quote(name)
    if table.column(name).kind == "nested":
        return table.engine.group_key(cell)
    return cell


def measure_uniqueness(
    table: Table,
    roles: Roles,
    *,
    without: Collection[str] = (),
    unit: Unit = "people",
    required: float | None = None,
    linked: bool = False,
) -> Uniqueness:
    """Measure the uniqueness of a table by its published columns.

    Not published are those in `without`, identifiers and dropped columns. With `linked` the person
    column is published, so that people are known by all their rows.
    """
    linked = linked and roles.person is not None
    hidden_columns = {
        *roles.identifier,
        *roles.leave_out,
        *roles.sensitive,
        *roles.quasi_identifiers,
        *without,
    }
    if roles.person is not None:
        hidden_columns |= {roles.person}
    columns = tuple(name for name in table.names if name not in hidden_columns)
    keys = roles.quasi_identifiers
    by_keys = count_groups(table, keys, person=roles.person, linked=linked)
    k = by_keys.smallest
    if linked:
        k = count_groups(table, keys, person=roles.person).smallest
    all_columns = by_keys
    if columns:
        all_columns = count_groups(table, (*keys, *columns), person=roles.person, linked=linked)
    everything = all_columns
    if roles.sensitive and all_columns.unique < all_columns.people:
        every_column = (*keys, *columns, *roles.sensitive)
        everything = count_groups(table, every_column, person=roles.person, linked=linked)
    return Uniqueness(
        quasi_identifiers=keys,
        columns=columns,
        sensitive=roles.sensitive,
        k=k,
        by_quasi_identifiers=by_keys.unique,
        unique=all_columns.unique,
        with_sensitive=everything.unique,
        of=by_keys.people,
        unit=unit,
        required=required,
        linked=linked,
    )


# --- checking -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class TooManyUnique:
    """Columns that make too many people unique, the contribution of each, and remedies."""

    uniqueness: Uniqueness
    """Uniqueness by the columns that are checked.

    These are all columns with a requirement, and the columns without a role otherwise.
    """
    contributions: tuple[Contribution, ...]
    cure: Remedy

    @property
    def explanation(self) -> str:
        """Contribution of each column, in one sentence without a period."""
        parts = (f"{item.without:,} without {item.column}" for item in self.contributions)
        total = f"{self.uniqueness.unique:,} with all of them"
        return f"unique {self.uniqueness.unit}: {total}, {', '.join(parts)}"


def judge_uniqueness(
    table: Table, roles: Roles, uniqueness: Uniqueness, *, leave_out: tuple[str, ...] = ()
) -> TooManyUnique | None:
    """Return the problem of a measured table; None if few enough people are unique.

    With a requirement all measured columns are checked, otherwise those without a role. The table
    may lack the columns that are dropped already (`leave_out`); the remedy names them again.
    """
    tested = uniqueness
    allowed_share = uniqueness.required
    if allowed_share is None:
        allowed_share = UNIQUE_SHARE
        columns_without_role = tuple(
            name for name in uniqueness.columns if name not in roles.all_columns
        )
        if not columns_without_role or not uniqueness.exceeds(
            allowed_share
        ):  # fewer columns make no more people unique
            return None
        if columns_without_role != uniqueness.columns:
            free_columns = count_groups(
                table,
                (*roles.quasi_identifiers, *columns_without_role),
                person=roles.person,
                linked=uniqueness.linked,
            )
            tested = replace(uniqueness, columns=columns_without_role, unique=free_columns.unique)
    if not (tested.exceeds(allowed_share) and tested.adds):
        return None
    contributions = _contributions(table, roles, tested)
    dropped = _columns_to_drop(table, roles, tested, contributions, allowed_share)
    roles = replace(roles, leave_out=tuple(dict.fromkeys((*roles.leave_out, *leave_out))))
    return TooManyUnique(
        tested, contributions, _remedy(table, roles, tested, dropped, uniqueness.share)
    )


def _contributions(table: Table, roles: Roles, uniqueness: Uniqueness) -> tuple[Contribution, ...]:
    """Measure the contribution of each column, the largest first."""
    keys = roles.quasi_identifiers
    people: dict[str, Any] = {"person": roles.person, "linked": uniqueness.linked}
    items = []
    for name in _with_most_values(table, uniqueness.columns):
        others = [other for other in uniqueness.columns if other != name]
        without = count_groups(table, (*keys, *others), **people).unique
        if others:
            only = count_groups(table, (*keys, name), **people).unique
        else:
            only = uniqueness.unique
        items.append(Contribution(name, without, only))
    return tuple(sorted(items, key=lambda item: (item.without, -item.only)))


def _with_most_values(table: Table, columns: Sequence[str]) -> tuple[str, ...]:
    if len(columns) <= _MAX_EXPLAINED:
        return tuple(columns)
    flat = [name for name in columns if table.column(name).kind != "nested"]
    nested = [name for name in columns if name not in flat]
    counts = ", ".join(
        f"approx_count_distinct({table.engine.quote(name)}) AS d{i}" for i, name in enumerate(flat)
    )
    if not flat:
        distinct = []
    else:
        distinct = list(
            table.engine.query(f"SELECT {counts} FROM {table.relation}").to_pylist()[0].values()
        )
    by_values = sorted(range(len(flat)), key=lambda index: -distinct[index])
    return (*nested, *(flat[index] for index in by_values))[:_MAX_EXPLAINED]


def _columns_to_drop(
    table: Table,
    roles: Roles,
    uniqueness: Uniqueness,
    contributions: Sequence[Contribution],
    allowed_share: float,
) -> tuple[str, ...]:
    """Select the columns to drop.

    As many columns as the bound allows are kept, those that contribute least by themselves first.
    """
    allowed_columns: list[str] = []
    for item in sorted(contributions, key=lambda item: item.only):
        unique = count_groups(
            table,
            (*roles.quasi_identifiers, *allowed_columns, item.column),
            person=roles.person,
            linked=uniqueness.linked,
        ).unique
        if unique <= max(
            allowed_share * uniqueness.of + _ROUNDING_TOLERANCE, uniqueness.by_quasi_identifiers
        ):
            allowed_columns.append(item.column)
    return tuple(name for name in uniqueness.columns if name not in allowed_columns)


def _remedy(
    table: Table, roles: Roles, uniqueness: Uniqueness, dropped: tuple[str, ...], share: float
) -> Remedy:
    """Return the columns to drop, the columns to generalize instead, and a sufficient bound."""
    fixed = tuple(
        name
        for name in uniqueness.columns
        if name == roles.weight or table.column(name).kind == "nested"
    )
    movable_columns = tuple(name for name in uniqueness.columns if name not in fixed)
    return Remedy(dropped, roles, movable_columns, fixed, _rounded_up(share))


def _rounded_up(share: float) -> float | None:
    hundredths = -int(-share * 100 // 1)
    if hundredths < 100:
        return hundredths / 100
    return None


def refuse_unique(problem: TooManyUnique | None) -> None:
    """Raise an error if too many people are unique.

    The error is a violated requirement, or about columns that need a role first.
    """
    if problem is None:
        return
    explanation = f"{problem.uniqueness.violation}. {problem.explanation.capitalize()}"
    if problem.uniqueness.required is not None:
        raise BrokenPromise(
            f"unique_share <= {problem.uniqueness.required:g} is violated: {explanation}",
            hint=problem.cure.text,
        )
    hint = (
        f"{problem.cure.text.marked}. Or publish them as they are, with a warning: "
        f"{arg('plain', problem.cure.as_they_are)}"
    )
    raise BadInput(f"columns without a role would make people unique: {explanation}", hint=hint)


def refuse_unique_early(
    table: Table, roles: Roles, *, required: float | None, suppression: float
) -> None:
    """Raise an error before the search if no release can have few enough unique people.

    This assumes that nobody is unique in the classes of the release. People who are unique by the
    other columns alone stay unique whatever becomes of the quasi-identifiers, unless they are
    suppressed. That is at most the share `suppression` of the rows.
    """
    columns_with_roles = (
        roles.all_columns
        if required is None
        else {*roles.all_columns} - {*roles.plain, roles.weight}
    )
    columns = tuple(name for name in table.names if name not in columns_with_roles)
    if not columns:
        return
    if required is None:
        allowed_share = UNIQUE_SHARE
    else:
        allowed_share = required
    count = count_groups(table, columns, person=roles.person)
    if count.unique <= (allowed_share + suppression) * count.people + _ROUNDING_TOLERANCE:
        return
    outside = replace(roles, quasi_identifiers=())
    uniqueness = Uniqueness(
        (), columns, (), 0, 0, count.unique, count.unique, count.people, required=required
    )
    contributions = _contributions(table, outside, uniqueness)
    columns_to_drop = _columns_to_drop(table, outside, uniqueness, contributions, allowed_share)
    published = tuple(dict.fromkeys((*columns, *roles.plain)))
    cure = _remedy(
        table, roles, uniqueness, columns, _largest_share(table, roles, published, suppression)
    )
    problem = TooManyUnique(
        uniqueness,
        contributions,
        replace(cure, may_be_enough=columns_to_drop if columns_to_drop != columns else ()),
    )
    if required is None:
        refuse_unique(problem)
    message = (
        f"{uniqueness.violation}, whatever becomes of the quasi-identifiers. "
        f"{problem.explanation.capitalize()}"
    )
    raise Infeasible(
        f"no release can meet unique_share <= {required:g}: {message}", hint=problem.cure.text
    )


def _largest_share(table: Table, roles: Roles, columns: Sequence[str], suppression: float) -> float:
    """Return a share of unique people that no release with these columns exceeds.

    Generalization makes nobody unique. A suppressed record makes at most one other person unique.
    """
    by_all = count_groups(table, (*roles.quasi_identifiers, *columns), person=roles.person)
    if suppression >= 1 or not by_all.people:
        return 1.0
    return min((by_all.unique / by_all.people + suppression) / (1 - suppression), 1.0)


def checked_unique_share(value: object) -> float | None:
    """Check a `unique_share`: a table must be able to violate it; None if there is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise BadInput(
            f"unique_share = {value!r} is not a fraction",
            hint="give a number from 0 to 1, 0.01 for 1%",
        )
    if value == 1:
        raise BadInput(
            "unique_share = 1 is a requirement that no table can violate",
            hint="Give a smaller number, or leave it out and name the columns with "
            f"{arg('plain')}, which "
            "publishes them with a warning",
        )
    return float(value)
