# SPDX-License-Identifier: Apache-2.0
"""A work: the table that lies on the desk, and everything that was decided about it, as one value that is never changed.

What can be decided stands in a policy file, so a work holds the document of one: a control fills it, the file that is saved is its
text, and opening the file gives the same work. A work is checked when it is made: what a policy cannot say is refused by the policy.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from divulge import metrics, values
from divulge.errors import BadInput
from divulge.policy import Policy, Promise

FILE = "divulge.toml"
TABLE, POLICY = "\ue000", "\ue001"
"""Stand for the table and the policy file in lines of Python; no name that is quoted there can hold them."""
LISTS = ("quasi_identifiers", "sensitive", "identifier", "leave_out", "plain")
SINGLES = ("person", "weight")
_OF_REST = ("leave_out", "plain")
"""Roles in which a pattern means what has no other role."""
ROLES = (*LISTS, *SINGLES)
_FORMATS = ("", "csv", "parquet", "arrow")


@dataclass(frozen=True)
class Work:
    """One table, and what was decided about it."""

    source: str = ""
    """Where the table is; empty: none is open."""
    name: str = ""
    """What people call it."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """Of the policy file."""
    base: str = ""
    """The folder from which paths in it are seen."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """What was said about how the table is read, as arguments of dv.read."""
    metric: str = ""
    """What the front of losses is drawn against; empty: the one that leads."""
    hidden: bool = False
    """Whether the values of cells are hidden on the page."""
    column: str = ""
    """The column whose levels are looked at."""
    look: str = ""
    """The class that is looked at, by its name."""
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of functions of the library that no policy holds, by the place that fills them."""
    out: str = ""
    """The folder of the release."""
    format: str = ""
    """Of its tables; empty: as the table came."""
    force: bool = False
    """Whether a release that is there already is replaced."""

    def __post_init__(self) -> None:
        if self.format not in _FORMATS:
            raise BadInput(f"there is no format {self.format!r}", hint=f"there are: {', '.join(_FORMATS[1:])}")
        _ = self.policy

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Work:
        """From what `to_dict` gave."""
        return cls(**told)

    def to_dict(self) -> dict[str, Any]:
        """As JSON carries it."""
        return asdict(self)

    # --- as a policy --------------------------------------------------------------------------------------------------
    @cached_property
    def policy(self) -> Policy:
        """What was decided, as the library takes it."""
        return Policy.from_document(self.document, origin="the policy", folder=Path(self.base))

    @property
    def text(self) -> str:
        """The policy file; what the page says and no policy holds stands in a comment, which the studio alone reads."""
        rest = {name: getattr(self, name) for name in _BESIDE if getattr(self, name)}
        return values.toml_text(self.document) + (f"\n{_MARK}{json.dumps(rest, sort_keys=True)}\n" if rest else "")

    def opening(self, text: str, *, base: str = "") -> Work:
        """The same table with the policy of a file, and what else the page said that saved it."""
        try:
            document = values.parse_toml(text)
        except ValueError as error:
            raise BadInput(f"this is not a policy file: {error}") from None
        return replace(self, document=_in_order(document), base=base, **_said_beside(text))

    # --- as other programs say it -------------------------------------------------------------------------------------
    @property
    def target(self) -> str:
        """Where it is published, unless somebody says something else."""
        return self.out or "release"

    def command(self, verb: str, *more: str, policy: bool = True) -> str:
        """What does the same in a terminal."""
        taken = ("--policy", FILE) if policy else ()
        return shlex.join(["divulge", *verb.split(), self.source or "TABLE", *self._read_so, *taken, *more])

    @property
    def _read_so(self) -> Iterator[str]:
        """How the table is read, as options."""
        for name, value in self.reading.items():
            yield f"--{'no-' * (value is False)}{name.replace('_', '-')}"
            if not isinstance(value, bool):
                yield str(value)

    def python(self, *lines: str) -> str:
        """What does the same in Python; TABLE and POLICY stand for this work's."""
        table = {"source": self.source, **self.reading} if self.reading else self.source or "TABLE"
        told = "\n".join(("import divulge as dv", "", *lines))
        return told.replace(TABLE, repr(table)).replace(POLICY, repr(FILE))

    @property
    def method(self) -> str:
        """How columns become coarser."""
        return self.policy.method or "full-domain"

    def with_method(self, name: str) -> Work:
        """The same with columns that become coarser otherwise."""
        rest = {key: value for key, value in self.document.items() if key != "method"}
        return replace(self, document=_in_order(rest if name == "full-domain" else {**rest, "method": name}))

    def read_otherwise(self, name: str, value: Any) -> Work:
        """The same with something else said about how the table is read; None: found out."""
        rest = {key: given for key, given in self.reading.items() if key != name}
        return replace(self, reading=rest if value is None else {**rest, name: value})

    # --- decisions ----------------------------------------------------------------------------------------------------
    def names(self, role: str) -> tuple[str, ...]:
        """The columns that have a role, as the policy names them."""
        return _several(self.policy.roles.get(role))

    @property
    def named(self) -> Iterator[str]:
        """All columns that are named, without patterns."""
        return (name for role in ROLES for name in self.names(role) if not set("*?[") & set(name))

    def role_of(self, column: str) -> str:
        """The role of a column; empty: none. A pattern that is left out, else one that is plain, means what has no other role."""
        found = (role for role in ROLES if column in self.names(role))
        rest = (role for role in _OF_REST if any(fnmatchcase(column, name) for name in self.names(role)))
        return next(found, "") or next(rest, "")

    def spread(self, columns: Sequence[str], *, rest: bool = False) -> Work:
        """The same with columns of a table instead of patterns; those that mean the `rest` stay, unless this is asked for too."""

        def meant(role: str) -> Iterator[str]:
            for name in self.names(role):
                if name in columns or (role in _OF_REST and not rest):
                    yield name
                elif role in _OF_REST:
                    yield from (each for each in columns if self.role_of(each) == role and fnmatchcase(each, name))
                else:
                    found = [each for each in columns if fnmatchcase(each, name)]
                    yield from found if len(found) == 1 or (found and role in LISTS) else [name]

        spread = {role: list(dict.fromkeys(meant(role))) for role in ROLES}
        return self if all(spread[role] == list(self.names(role)) for role in ROLES) else self.with_roles(spread)

    def with_role(self, column: str, role: str) -> Work:
        """The same with a column in a role, and in no other; empty: in none."""
        if role and role not in ROLES:
            raise BadInput(f"there is no role {role!r}", hint=f"there are: {', '.join(ROLES)}")
        roles = {each: [name for name in self.names(each) if name != column] for each in ROLES}
        if role in SINGLES:
            roles[role] = [column]
        elif role:
            roles[role].append(column)
        return self.with_roles(roles)

    def with_roles(self, roles: Mapping[str, Any]) -> Work:
        """The same with other roles."""
        rest = {key: value for key, value in self.document.items() if key not in (*ROLES, "roles")}
        kept = {role: list(_several(roles.get(role))) for role in ROLES}
        said: dict[str, Any] = {role: kept[role] for role in LISTS if kept[role]}
        said |= {role: kept[role][0] for role in SINGLES if kept[role]}
        hierarchies = {
            name: rule for name, rule in rest.get("hierarchies", {}).items() if name in kept["quasi_identifiers"]
        }
        if "hierarchies" in rest:
            rest["hierarchies"] = hierarchies
        return replace(self, document=_in_order({**said, **rest}))

    @property
    def promises(self) -> dict[str, Promise]:
        """What is promised to everybody, by the name of its metric, for every attribute."""
        return {Promise.name_of(each.metric): each for each in self.policy.promises if each.attribute is None}

    def with_promise(self, name: str, bound: Any) -> Work:
        """The same with another bound of a metric; None: without the promise."""
        inner, metric = ("identity", name.removeprefix("identity ")) if name.startswith("identity ") else ("", name)
        metrics.find_metric(metric, "identity" if inner else None)
        told = {key: value for key, value in self.document.items() if key != metric}
        promises = dict(told.get("promises", {}))
        table = dict(promises.get(inner, {})) if inner else promises
        if bound is None:
            table.pop(metric, None)
        else:
            table[metric] = _whole(bound)
        if inner:
            promises[inner] = table
        told["promises"] = {key: value for key, value in promises.items() if value != {}}
        return replace(self, document=_in_order(told))

    def with_suppression(self, share: float) -> Work:
        """The same with another share of people who may be left out."""
        promises = {key: value for key, value in self.document.get("promises", {}).items() if key != "suppression"}
        rest = {key: value for key, value in self.document.items() if key not in ("suppression", "promises")}
        said = {"suppression": _whole(share)} if share else {}
        return replace(self, document=_in_order({**rest, "promises": promises, **said}))

    def with_levels(self, column: str, rule: Any) -> Work:
        """The same with another way to make a column coarser; None: the default of its values."""
        rules = {name: given for name, given in self.document.get("hierarchies", {}).items() if name != column}
        if rule is not None:
            rules[column] = rule
        return replace(self, document=_in_order({**self.document, "hierarchies": rules}))

    def argument(self, place: str, name: str, default: Any = None) -> Any:
        """What was said in a place."""
        return self.arguments.get(place, {}).get(name, default)

    def with_argument(self, place: str, name: str, value: Any) -> Work:
        """The same with something said in a place; None, "" and []: nothing."""
        said = {**self.arguments.get(place, {}), name: value}
        kept = {key: given for key, given in said.items() if given not in (None, "", [])}
        others = {key: given for key, given in self.arguments.items() if key != place}
        return replace(self, arguments={**others, **({place: kept} if kept else {})})

    def with_adversary(self, **said: Any) -> Work:
        """The same with more, or something else, said about the adversary; None: nothing."""
        her = {**self.document.get("adversary", {}), **said}
        told = {key: value for key, value in her.items() if value not in (None, {}, [])}
        return replace(self, document=_in_order({**self.document, "adversary": told}))


_BESIDE = {"metric": str, "arguments": dict, "out": str, "format": str}
"""What a page says that no policy holds, and a saved file brings back."""
_MARK = "# for the studio: "


def _said_beside(text: str) -> dict[str, Any]:
    """What stands in the comment of a file that a page has saved; nothing where there is none."""
    found = next((line.removeprefix(_MARK) for line in text.splitlines() if line.startswith(_MARK)), "{}")
    try:
        said = json.loads(found)
        places = said.get("arguments", {}).values()
        fits = all(isinstance(said[name], _BESIDE[name]) for name in said) and all(
            isinstance(each, dict) for each in places
        )
    except (ValueError, AttributeError, KeyError):
        fits = False
    if not fits:
        raise BadInput(f"the line {_MARK.strip()!r} of this file is not as a page wrote it", hint="take it out")
    return {name: said.get(name, {} if kind is dict else "") for name, kind in _BESIDE.items()} if said else {}


_FLAGS = {"quasi_identifiers": "--qi", "leave_out": "--leave-out"}


def role_flags(roles: Mapping[str, Any]) -> list[str]:
    """Roles as options of a command."""
    named = ((role, name) for role, names in roles.items() for name in _several(names))
    return [part for role, name in named for part in (_FLAGS.get(role, f"--{role}"), name)]


def _several(names: Any) -> tuple[str, ...]:
    return () if not names else (names,) if isinstance(names, str) else tuple(names)


def _whole(bound: Any) -> Any:
    """5, not 5.0; what is no number stays, and is refused by the policy."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


_ORDER = (
    *ROLES,
    "roles",
    "person_published",
    "method",
    "suppression",
    "alone_share",
    "promises",
    "protect",
    "adversary",
    "hierarchies",
)


def _in_order(document: Mapping[str, Any]) -> dict[str, Any]:
    """As people write one: who is who, what is promised, against whom, how; without tables that say nothing."""
    first = {key: document[key] for key in _ORDER if key in document}
    if isinstance(promises := document.get("promises"), Mapping):  # a table inside a table is written after its values
        first["promises"] = dict(sorted(promises.items(), key=lambda item: isinstance(item[1], Mapping)))
    return {key: value for key, value in {**document, **first}.items() if value not in ({}, [])}
