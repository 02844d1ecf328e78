# SPDX-License-Identifier: Apache-2.0
"""A protection: promises of their own for chosen people or chosen values (open problem of Afifi et al. 2018, section 7).

Chosen people ("over 75 in government"): every published class with at least one of them must keep the promises. Chosen values ("HIV"):
the attribute is looked at as the chosen values against all others, and the promises are made about that; for example
basic_beta_likeness = 1: in no class may the chosen value be more than twice as likely as in the table.

As text: age >= 75 and workclass = 'State-gov': k_anonymity >= 20 and l_diversity >= 3
In a policy file, as one [[protect]] table with `where`, or with `attribute` and `values`, and the promises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from divulge.errors import BadInput
from divulge.policy.promise import Promise
from divulge.table.texts import as_text

Condition = str | Sequence[str | None]
"""A comparison such as ">= 75" or ">= 65 and < 75", a value, or a list of values."""

_EXAMPLE = "write it like \"age >= 75 and workclass = 'State-gov': k_anonymity >= 20\""
_VALUE = r"'(?:[^']|'')*'|[^\s'(),:<>=]+"
_MORE = r"\s*(?:(?P<more>\band\b)|$)"
_PIECE = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s"'(),:<>=]+))\s*(?P<sign><=|>=|<|>|=|\bin\b)\s*"""
    rf"(?P<value>\(\s*(?:{_VALUE})(?:\s*,\s*(?:{_VALUE}))*\s*\)|{_VALUE}){_MORE}",
    re.IGNORECASE,
)
_PROMISE = re.compile(rf"\s*(?P<name>\w+)\s*(?P<sign><=|>=|<|>|=)?\s*(?P<bound>[^\s<>=]+){_MORE}", re.IGNORECASE)


@dataclass(frozen=True)
class Protection:
    """Extra promises for chosen people, chosen values, or chosen values of chosen people."""

    promises: tuple[Promise, ...]
    where: Mapping[str, Condition] = field(default_factory=dict)
    """Quasi-identifier to its values, or to a comparison such as ">75"; all must hold. Empty: everybody.

    A sensitive column may stand here too, with its chosen values.
    """
    attribute: str | None = None
    """The sensitive attribute the promises are about; None: each."""
    values: tuple[str | None, ...] = ()
    """Its chosen values; empty: the attribute as it is."""

    def __post_init__(self) -> None:
        if not self.promises:
            raise BadInput("a protection without a promise protects nobody", hint="for example k_anonymity = 20")
        if not self.where and not self.values:
            raise BadInput(
                "a protection must choose people (where) or values", hint='for example where = {age = ">75"}'
            )
        if self.values and self.attribute is None:
            raise BadInput(
                f"of which attribute are the chosen values {', '.join(map(repr, self.values))}?",
                hint="name it with attribute",
            )

    @classmethod
    def make(
        cls,
        promises: Mapping[str, Any],
        *,
        where: Mapping[str, Any] | None = None,
        attribute: str | None = None,
        values: Any = (),
    ) -> Protection:
        """From plain values, as they stand in a policy file: Protection.make({"k_anonymity": 20}, where={"age": ">75"})."""
        chosen = _texts(values)
        about = attribute if not chosen else None
        return cls(
            tuple(_about(Promise.make(name, bound, attribute=about)) for name, bound in promises.items()),
            {column: value if isinstance(value, str) else _texts(value) for column, value in (where or {}).items()},
            attribute,
            chosen,
        )

    @classmethod
    def parse(cls, text: str) -> Protection:
        """From one line: conditions, a colon, promises.

        >>> Protection.parse("age >= 75 and job in ('clerk', 'judge'): k_anonymity >= 20").where
        {'age': '>= 75', 'job': ('clerk', 'judge')}
        """
        conditions, colon, promises = _at_the_colon(text)
        if not colon:
            raise BadInput(f"{text!r} makes no promise: there is no colon", hint=_EXAMPLE)
        where: dict[str, Condition] = {}
        for piece in _pieces(_PIECE, conditions, text):
            column, sign = piece["quoted"] or piece["bare"], piece["sign"].lower()
            before = where.get(column)
            if sign in ("=", "in"):
                condition: Condition = tuple(_unquoted(value) for value in re.findall(_VALUE, piece["value"]))
            else:
                condition = f"{sign} {_unquoted(piece['value'])}"
                condition = f"{before} and {condition}" if isinstance(before, str) else condition
            if before is not None and not (isinstance(before, str) and isinstance(condition, str)):
                raise BadInput(f"{text!r} chooses {column} twice", hint=f"for several values: {column} in (a, b)")
            where[column] = condition
        return cls(tuple(_promise(piece) for piece in _pieces(_PROMISE, promises, text)), where)

    @property
    def who(self) -> str:
        """The chosen people, for people; empty: everybody."""
        return " and ".join(_told(column, condition) for column, condition in self.where.items())


def protections_of(tables: Any, origin: str) -> Iterator[Protection]:
    """The [[protect]] tables of a policy file."""
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise BadInput(f"{origin}: 'protect' must be tables", hint="head each of them with [[protect]]")
    for table in tables:
        chosen = {name: table[name] for name in ("where", "attribute", "values") if name in table}
        promises = {name: bound for name, bound in table.items() if name not in chosen and name != "promises"}
        inner = table.get("promises", {})
        if not isinstance(chosen.get("where", {}), Mapping) or not isinstance(inner, Mapping):
            raise BadInput(
                f"{origin}: 'where' and 'promises' of a protection are tables", hint='where = {age = ">= 75"}'
            )
        try:
            yield Protection.make({**promises, **inner}, **chosen)
        except BadInput as error:
            raise BadInput(f"{origin}: [[protect]]: {error.message}", hint=error.hint) from None


def _about(promise: Promise) -> Promise:
    """The same promise; one about identity is about no attribute."""
    return promise if promise.metric.scope == "sensitive" else replace(promise, attribute=None)


def _texts(values: Any) -> tuple[str | None, ...]:
    """One value or several, as text."""
    several = isinstance(values, Sequence) and not isinstance(values, str)
    return tuple(as_text(value) for value in (values if several else (values,)))


def _at_the_colon(text: str) -> tuple[str, str, str]:
    """Parted at the first colon that is not within quotes."""
    for found in re.finditer(r"""'(?:[^']|'')*'|"[^"]*"|(:)""", text):
        if found[1]:
            return text[: found.start()], ":", text[found.end() :]
    return text, "", ""


def _pieces(pattern: re.Pattern[str], part: str, text: str) -> Iterator[re.Match[str]]:
    """What stands between the ANDs, one by one."""
    place = 0
    while True:
        found = pattern.match(part, place)
        if found is None:
            raise BadInput(f"{text!r} is not a protection: {part[place:].strip()!r} is not understood", hint=_EXAMPLE)
        yield found
        place = found.end()
        if not found["more"]:
            return


def _promise(piece: re.Match[str]) -> Promise:
    promise = Promise.make(piece["name"], piece["bound"])
    wanted = "<" if promise.metric.worse == "high" else ">"
    if piece["sign"] not in (None, "=", wanted, f"{wanted}="):
        raise BadInput(f"{piece[0].strip()!r}: this can only be promised as {promise.text}")
    return promise


def _unquoted(value: str) -> str:
    return value[1:-1].replace("''", "'") if value.startswith("'") else value


def _told(column: str, condition: Condition) -> str:
    if isinstance(condition, str):
        return f"{column} {condition}" if condition.lstrip().startswith(("<", ">")) else f"{column} = {condition}"
    return f"{column} = {' or '.join('null' if value is None else value for value in condition)}"
