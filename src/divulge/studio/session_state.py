# SPDX-License-Identifier: Apache-2.0
"""Session state: the open table and every decision about it, as one immutable value.

The decisions can be written in a policy file, so a `SessionState` holds the document of one. A
control fills the document, the saved file is its text, and opening the file restores the state.
Creating a `SessionState` parses its policy, so that an invalid policy raises an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from divulge import metrics
from divulge.arguments import outside
from divulge.errors import BadInput
from divulge.options import (
    DEFAULT_METHOD,
    FALLBACK_ROLES,
    LIST_ROLES,
    RELEASE_FORMATS,
    ROLES,
    SINGLE_ROLES,
    Invocation,
)
from divulge.policy import Policy, Promise
from divulge.sources import known_options
from divulge.text import parse_toml, toml_text

FILE = "divulge.toml"


@dataclass(frozen=True)
class SessionState:
    """One table, and every decision about it."""

    source: str = ""
    """Path or address of the table; empty: none is open."""
    name: str = ""
    """File name of the table, as it is shown."""
    document: Mapping[str, Any] = field(default_factory=dict)
    """Document of the policy file."""
    base: str = ""
    """Folder that relative paths in the policy start from."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Reading options, as arguments of `dv.read`."""
    metric: str = ""
    """Metric of the Pareto front's other axis; empty: the leading metric."""
    hidden: bool = False
    """True if data values are hidden on the page."""
    column: str = ""
    """Column whose generalization levels are shown."""
    look: str = ""
    """Name of the equivalence class that is shown in detail."""
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments of library functions that no policy holds, by the tab that sets them."""
    out: str = ""
    """Folder of the release."""
    format: str = ""
    """File format of the released tables; empty: the format of the input table."""
    force: bool = False
    """True if an existing release is replaced."""

    def __post_init__(self) -> None:
        if self.format not in ("", *RELEASE_FORMATS):
            raise BadInput(
                f"there is no format {self.format!r}",
                hint=f"there are: {', '.join(RELEASE_FORMATS)}",
            )
        _ = self.policy

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> SessionState:
        """Return the session state that `to_dict` described.

        Raises:
            BadInput: A field is unknown or of another type.
        """
        defaults = {field.name: getattr(_EMPTY_STATE, field.name) for field in fields(cls)}
        for name, value in state.items():
            if name not in defaults:
                raise BadInput(f"a page has no field {name!r}")
            if not isinstance(value, type(defaults[name])):
                raise BadInput(
                    f"the field {name!r} of a page is not {type(defaults[name]).__name__}"
                )
        for tab, arguments in state.get("arguments", {}).items():
            if not isinstance(arguments, dict):
                raise BadInput(f"the arguments of {tab!r} are not an object")
        for name, value in state.get("reading", {}).items():
            if name not in known_options() or not isinstance(value, str | bool):
                raise BadInput(f"a table is not read by {name!r} = {value!r}")
        return cls(**state)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)

    # --- policy -----------------------------------------------------------------------------------
    @cached_property
    def policy(self) -> Policy:
        """The policy of the page."""
        return Policy.from_document(self.document, origin="the policy", folder=Path(self.base))

    @property
    def text(self) -> str:
        """Text of the policy file; a comment holds the page settings that no policy has."""
        rest = {name: getattr(self, name) for name in _PAGE_SETTINGS if getattr(self, name)}
        return toml_text(self.document) + (
            f"\n{_SETTINGS_COMMENT}{json.dumps(rest, sort_keys=True)}\n" if rest else ""
        )

    def with_policy_text(self, text: str, *, base: str = "") -> SessionState:
        """Return the state with the policy of a file, and with the page settings saved in it."""
        try:
            document = parse_toml(text)
        except ValueError as error:
            raise BadInput(f"this is not a policy file: {outside(error)}") from None
        return replace(
            self, document=_ordered_document(document), base=base, **_saved_page_settings(text)
        )

    # --- equivalent command and Python code -------------------------------------------------------
    @property
    def target(self) -> str:
        """Folder that the release is written to."""
        return self.out or "release"

    def invocation(
        self,
        verb: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        policy: bool = True,
        **flags: Any,
    ) -> Invocation:
        """Return the equivalent call of a command or function on the table.

        `flags` are options that only the command takes.
        """
        return Invocation(
            verb,
            (self.source or "TABLE",),
            {**self.reading, **(arguments or {})},
            flags={**({"policy": FILE} if policy else {}), **flags},
            policy=FILE if policy else None,
        )

    @property
    def method(self) -> str:
        """Generalization method."""
        return self.policy.method or DEFAULT_METHOD

    def with_method(self, name: str) -> SessionState:
        """Return the state with another generalization method."""
        rest = {key: value for key, value in self.document.items() if key != "method"}
        return replace(
            self,
            document=_ordered_document(
                rest if name == DEFAULT_METHOD else {**rest, "method": name}
            ),
        )

    def with_reading_option(self, name: str, value: Any) -> SessionState:
        """Return the state with another reading option; None: detected automatically."""
        rest = {key: option_value for key, option_value in self.reading.items() if key != name}
        return replace(self, reading=rest if value is None else {**rest, name: value})

    # --- decisions --------------------------------------------------------------------------------
    def names(self, role: str) -> tuple[str, ...]:
        """Return the columns of a role, as the policy names them."""
        return _as_names(self.policy.roles.get(role))

    @property
    def named_columns(self) -> Iterator[str]:
        """Columns that the policy names, without patterns."""
        return (name for role in ROLES for name in self.names(role) if not set("*?[") & set(name))

    def role_of(self, column: str) -> str:
        """Return the role of a column; "" if it has none.

        A pattern of `leave_out`, or else of `plain`, applies to columns without another role.
        """
        roles = (role for role in ROLES if column in self.names(role))
        rest = (
            role
            for role in FALLBACK_ROLES
            if any(fnmatchcase(column, name) for name in self.names(role))
        )
        return next(roles, "") or next(rest, "")

    def expand_patterns(self, columns: Sequence[str], *, rest: bool = False) -> SessionState:
        """Return the state with the table's columns in place of patterns.

        Patterns of `leave_out` and `plain` stay, unless `rest` is set.
        """

        def expanded_names(role: str) -> Iterator[str]:
            for name in self.names(role):
                if name in columns or (role in FALLBACK_ROLES and not rest):
                    yield name
                elif role in FALLBACK_ROLES:
                    yield from (
                        column
                        for column in columns
                        if self.role_of(column) == role and fnmatchcase(column, name)
                    )
                else:
                    matches = [column for column in columns if fnmatchcase(column, name)]
                    yield from (
                        matches if len(matches) == 1 or (matches and role in LIST_ROLES) else [name]
                    )

        columns_by_role = {role: list(dict.fromkeys(expanded_names(role))) for role in ROLES}
        if all(columns_by_role[role] == list(self.names(role)) for role in ROLES):
            return self
        return self.with_roles(columns_by_role)

    def with_role(self, column: str, role: str) -> SessionState:
        """Return the state with a column in this role and no other; "": in no role."""
        if role and role not in ROLES:
            raise BadInput(f"there is no role {role!r}", hint=f"there are: {', '.join(ROLES)}")
        roles = {
            role_name: [name for name in self.names(role_name) if name != column]
            for role_name in ROLES
        }
        if role in SINGLE_ROLES:
            roles[role] = [column]
        elif role:
            roles[role].append(column)
        return self.with_roles(roles)

    def with_roles(self, roles: Mapping[str, Any]) -> SessionState:
        """Return the state with other roles."""
        rest = {key: value for key, value in self.document.items() if key not in (*ROLES, "roles")}
        columns_by_role = {role: list(_as_names(roles.get(role))) for role in ROLES}
        entries: dict[str, Any] = {
            role: columns_by_role[role] for role in LIST_ROLES if columns_by_role[role]
        }
        entries |= {
            role: columns_by_role[role][0] for role in SINGLE_ROLES if columns_by_role[role]
        }
        hierarchies = {
            name: rule
            for name, rule in rest.get("hierarchies", {}).items()
            if name in columns_by_role["quasi_identifiers"]
        }
        if "hierarchies" in rest:
            rest["hierarchies"] = hierarchies
        return replace(self, document=_ordered_document({**entries, **rest}))

    @property
    def promises(self) -> dict[str, Promise]:
        """Requirements that apply to everyone and every attribute, by the name of their metric."""
        return {
            Promise.name_of(promise.metric): promise
            for promise in self.policy.promises
            if promise.attribute is None
        }

    def with_requirement(self, name: str, bound: Any) -> SessionState:
        """Return the state with another bound of a metric; None: without the requirement."""
        if name.startswith("identity "):
            section = "identity"
            metric = name.removeprefix("identity ")
        else:
            section = ""
            metric = name
        metrics.find_metric(metric, "identity" if section else None)
        document = {key: value for key, value in self.document.items() if key != metric}
        promises = dict(document.get("promises", {}))
        if section:
            table = dict(promises.get(section, {}))
        else:
            table = promises
        if bound is None:
            table.pop(metric, None)
        else:
            table[metric] = _integer_if_whole(bound)
        if section:
            promises[section] = table
        document["promises"] = {key: value for key, value in promises.items() if value != {}}
        return replace(self, document=_ordered_document(document))

    def with_suppression(self, share: float) -> SessionState:
        """Return the state with another limit on the share of suppressed records."""
        promises = {
            key: value
            for key, value in self.document.get("promises", {}).items()
            if key != "suppression"
        }
        rest = {
            key: value
            for key, value in self.document.items()
            if key not in ("suppression", "promises")
        }
        if share:
            entry = {"suppression": _integer_if_whole(share)}
        else:
            entry = {}
        return replace(self, document=_ordered_document({**rest, "promises": promises, **entry}))

    def with_levels(self, column: str, rule: Any) -> SessionState:
        """Return the state with another hierarchy of a column; None: the default for its values."""
        rules = {
            name: other_rule
            for name, other_rule in self.document.get("hierarchies", {}).items()
            if name != column
        }
        if rule is not None:
            rules[column] = rule
        return replace(self, document=_ordered_document({**self.document, "hierarchies": rules}))

    def argument(self, tab: str, name: str, default: Any = None) -> Any:
        """Return an argument that was set on a tab."""
        return self.arguments.get(tab, {}).get(name, default)

    def with_argument(self, tab: str, name: str, value: Any) -> SessionState:
        """Return the state with another argument of a tab; None, "" and [] remove it."""
        tab_arguments = {**self.arguments.get(tab, {}), name: value}
        nonempty = {
            key: argument
            for key, argument in tab_arguments.items()
            if argument not in (None, "", [])
        }
        others = {key: argument for key, argument in self.arguments.items() if key != tab}
        return replace(self, arguments={**others, **({tab: nonempty} if nonempty else {})})

    def with_adversary(self, **changes: Any) -> SessionState:
        """Return the state with changed adversary settings; None removes one."""
        adversary = {**self.document.get("adversary", {}), **changes}
        nonempty = {key: value for key, value in adversary.items() if value not in (None, {}, [])}
        return replace(self, document=_ordered_document({**self.document, "adversary": nonempty}))


_EMPTY_STATE = SessionState()
_PAGE_SETTINGS = {"metric": str, "arguments": dict, "out": str, "format": str}
"""Page settings that no policy has, but that a saved file restores."""
_SETTINGS_COMMENT = "# for the studio: "


def _saved_page_settings(text: str) -> dict[str, Any]:
    """Return the page settings in the comment of a saved file; {} if it has none."""
    settings_line = next(
        (
            line.removeprefix(_SETTINGS_COMMENT)
            for line in text.splitlines()
            if line.startswith(_SETTINGS_COMMENT)
        ),
        "{}",
    )
    try:
        document = json.loads(settings_line)
        places = document.get("arguments", {}).values()
        is_valid = all(
            isinstance(document[name], _PAGE_SETTINGS[name]) for name in document
        ) and all(isinstance(arguments, dict) for arguments in places)
    except (ValueError, AttributeError, KeyError):
        is_valid = False
    if not is_valid:
        raise BadInput(
            f"the line {_SETTINGS_COMMENT.strip()!r} of this file is not as a page wrote it",
            hint="take it out",
        )
    if document:
        return {
            name: document.get(name, {} if kind is dict else "")
            for name, kind in _PAGE_SETTINGS.items()
        }
    return {}


def _as_names(names: Any) -> tuple[str, ...]:
    if isinstance(names, str) and names:
        return (names,)
    return tuple(names or ())


def _integer_if_whole(bound: Any) -> Any:
    """Return 5 for 5.0; the policy rejects values that are not numbers."""
    if isinstance(bound, float) and bound.is_integer():
        return int(bound)
    return bound


_ORDER = (
    *ROLES,
    "roles",
    "person_published",
    "method",
    "suppression",
    "unique_share",
    "promises",
    "protect",
    "adversary",
    "hierarchies",
)


def _ordered_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document in the usual order of a policy file, without empty tables.

    The order is: roles, requirements, adversary, hierarchies.
    """
    first = {key: document[key] for key in _ORDER if key in document}
    # a table inside a table is written after its values
    if isinstance(promises := document.get("promises"), Mapping):
        first["promises"] = dict(
            sorted(promises.items(), key=lambda item: isinstance(item[1], Mapping))
        )
    return {key: value for key, value in {**document, **first}.items() if value not in ({}, [])}
