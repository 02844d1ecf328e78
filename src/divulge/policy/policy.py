# SPDX-License-Identifier: Apache-2.0
"""A policy: roles, promises and the adversary, from a TOML file or from Python.

quasi_identifiers = ["zip", "age"]
sensitive = ["disease"]
identifier = ["name"]              # names people: must not be in a release
leave_out = ["income"]             # names nobody, and is not to be published
plain = ["ward"]                   # may be published as it is; guard.py looks at every column that has no role
alone_share = 0.01                 # so many may be alone with what else is published
method = "full-domain"             # how columns become coarser, where a release is made

[promises]
k_anonymity = 5
entropy_leakage = 0.5

[promises.identity]                # for names that exist for identity and for sensitive attributes
itpr = 0.9

[promises.attributes.disease]      # for one sensitive attribute
l_diversity = 3

[[protect]]                        # promises of their own for chosen people or values; protection.py
where = {age = ">= 75"}
k_anonymity = 20

[adversary]                        # what she believes, rules out and holds; belief/adversary.py lists the keys
rule_out = {disease = "flu"}

[hierarchies.age]                  # how a column is made coarser; table/hierarchy_rules.py lists the keys
intervals = [5, 10, 20]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from divulge import metrics, values
from divulge.belief import Adversary, adversary_in_force
from divulge.errors import BadInput, nearest
from divulge.policy.promise import Promise, Protection, protections_of

_LISTS = ("quasi_identifiers", "sensitive", "identifier", "leave_out", "plain")
_TEXTS = ("person", "weight")
_ROLES = (*_LISTS, *_TEXTS)
_TABLES = ("roles", "adversary", "hierarchies", "protect")
_SHARES = ("suppression", "alone_share")
_PUBLISHED = "person_published"
_METHOD = "method"
_METHODS = ("full-domain", "columns", "mondrian", "relaxed-mondrian")
ALONE_SHARE = 0.01
_METRIC_NAMES = frozenset(metric.name for metric in metrics.METRICS)


@dataclass(frozen=True, init=False)
class Policy:
    """What a table must keep, and optionally the roles of its columns."""

    promises: tuple[Promise, ...]
    suppression: float
    """The share of records that a generalization may leave out."""
    alone_share: float
    """The share of people who may be alone once the columns without a role are known beside the quasi-identifiers."""
    person_published: bool
    """Whether the column that tells people apart is handed out, so that the rows of a person can be put together."""
    roles: Mapping[str, Any]
    hierarchies: Mapping[str, Any]
    """How each column is made coarser: a table of keys, or a file."""
    protections: tuple[Protection, ...]
    """Promises of their own for chosen people or values."""
    adversary: Adversary
    """Against whom; what is given by hand goes before it."""
    method: str | None
    """How `generalize` makes columns coarser, where nobody says otherwise; None: one level for each column."""

    @values.checked
    def __init__(
        self,
        promises: Sequence[Promise] = (),
        *,
        suppression: float = 0.0,
        alone_share: float = ALONE_SHARE,
        person_published: bool = True,
        roles: Mapping[str, Any] | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        protections: Sequence[Protection] = (),
        adversary: Adversary | None = None,
        method: str | None = None,
        **bounds: Any,
    ) -> None:
        """Promises as values, or as keywords named like the metrics: Policy(k_anonymity=5, entropy_leakage=0.5)."""
        made = tuple(Promise.make(name, bound) for name, bound in bounds.items())
        object.__setattr__(self, "promises", (*promises, *made))
        object.__setattr__(self, "suppression", _fraction("suppression", suppression))
        object.__setattr__(self, "alone_share", _fraction("alone_share", alone_share))
        object.__setattr__(self, "person_published", _yes_or_no(_PUBLISHED, person_published))
        object.__setattr__(self, "roles", dict(roles or {}))
        object.__setattr__(self, "hierarchies", dict(hierarchies or {}))
        object.__setattr__(self, "protections", tuple(protections))
        object.__setattr__(self, "adversary", adversary_in_force(adversary))
        if method not in (None, *_METHODS):
            raise BadInput(f"there is no method {method!r}", hint=nearest(method, _METHODS))
        object.__setattr__(self, "method", method)

    @classmethod
    def of(cls, given: PolicyLike) -> Policy:
        """A policy as it is, from a mapping with the keys of a policy file, or from the path of one.

        Examples:
            >>> given = {"k_anonymity": 5, "promises": {"identity": {"itpr": 0.9}}}
            >>> [promise.text for promise in Policy.of(given).promises]
            ['k_anonymity >= 5', 'identity itpr <= 0.9']
        """
        if isinstance(given, Policy):
            return given
        return cls.from_document(given) if isinstance(given, Mapping) else cls.load(given)

    @classmethod
    @values.checked
    def load(cls, path: str | Path) -> Policy:
        """Read a TOML file."""
        try:
            document = values.parse_toml(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BadInput(f"there is no policy file {str(path)!r}") from None
        except OSError as error:
            raise BadInput(f"policy file {str(path)!r} cannot be read: {error.strerror}") from None
        except ValueError as error:  # also what is not UTF-8
            raise BadInput(f"policy file {str(path)!r} is not valid TOML: {error}") from None
        return cls.from_document(document, origin=str(path), folder=Path(path).parent)

    @classmethod
    def from_document(
        cls, document: Mapping[str, Any], *, origin: str = "the policy", folder: Path | None = None
    ) -> Policy:
        """From the parsed document; an unknown key is refused with the nearest known one. Files are looked for in `folder`."""
        roles = dict(_table(document.get("roles", {}), "roles", "name = column", origin))
        published = _given_once(document, roles, _PUBLISHED, "roles", origin)
        roles.pop(_PUBLISHED, None)
        promises: list[Promise] = []
        for key, value in document.items():
            if key in _ROLES or key == "nulls":
                roles[key] = value
            elif key == "promises":
                promises += _promises(value, origin)
            elif key in _METRIC_NAMES:
                promises.append(Promise.make(key, value))
            elif key not in (*_TABLES, *_SHARES, _PUBLISHED, _METHOD):
                known = [*_ROLES, *_TABLES, *_SHARES, _PUBLISHED, _METHOD, "promises", *sorted(_METRIC_NAMES)]
                raise BadInput(f"{origin}: unknown key {key!r}", hint=nearest(key, known))
        inner = document.get("promises", {})
        shares = {name: _given_once(document, inner, name, "promises", origin) for name in _SHARES}
        rules = _table(document.get("hierarchies", {}), "hierarchies", "tables, one for each column", origin)
        folder = folder or Path()
        return cls(
            promises,
            suppression=0.0 if shares["suppression"] is None else shares["suppression"],
            alone_share=ALONE_SHARE if shares["alone_share"] is None else shares["alone_share"],
            person_published=True if published is None else published,
            roles=_checked_roles(roles, origin),
            hierarchies={column: _anchored(rule, folder) for column, rule in rules.items()},
            protections=tuple(protections_of(document.get("protect", []), origin)),
            adversary=Adversary.from_document(document.get("adversary", {}), origin=origin, folder=folder),
            method=document.get(_METHOD),
        )


PolicyLike: TypeAlias = Policy | Mapping[str, Any] | str | Path
"""What says which promises are to be kept: a policy, a mapping with the keys of a policy file, or the path of one."""


def _anchored(rule: Any, folder: Path) -> Any:
    """A rule with its file, if it names one, as seen from the policy's folder."""
    if isinstance(rule, Mapping) and isinstance(rule.get("file"), str):
        return {**rule, "file": str(folder / rule["file"])}
    return str(folder / rule) if isinstance(rule, str) and not rule.lstrip().startswith("{") else rule


def _given_once(document: Mapping[str, Any], inner: Mapping[str, Any], name: str, table: str, origin: str) -> Any:
    """What stands at the top or in a table; None where it stands in neither."""
    if name in document and name in inner:
        raise BadInput(f"{origin}: {name} is given twice, at the top and in [{table}]")
    return inner.get(name, document.get(name))


def _yes_or_no(name: str, given: Any) -> bool:
    if not isinstance(given, bool):
        raise BadInput(f"{name} = {given!r} is neither true nor false")
    return given


def _fraction(name: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 1:
        raise BadInput(f"{name} = {given!r} is not a fraction", hint="give a number from 0 to 1, 0.05 for 5 %")
    return float(given)


def _promises(table: Any, origin: str) -> Iterator[Promise]:
    of_metric = "metric = bound"
    for name, bound in _table(table, "promises", of_metric, origin).items():
        if name == "identity":
            inside = _table(bound, "promises.identity", of_metric, origin)
            yield from (Promise.make(inner, value, scope="identity") for inner, value in inside.items())
        elif name == "attributes":
            tables = _table(bound, "promises.attributes", "tables, one for each attribute", origin)
            for about, bounds in tables.items():
                for inner, value in _table(bounds, f"promises.attributes.{about}", of_metric, origin).items():
                    yield Promise.make(inner, value, attribute=about, scope="sensitive")
        elif name not in _SHARES:
            yield Promise.make(name, bound)


def _table(given: Any, name: str, holds: str, origin: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise BadInput(f"{origin}: {name!r} must be a table of {holds}, not {given!r}")
    return given


def _checked_roles(roles: Mapping[str, Any], origin: str) -> dict[str, Any]:
    for name, value in roles.items():
        if name == "nulls":
            raise BadInput(f"{origin}: 'nulls' is no role any more", hint="Write it as nulls = ... below [adversary]")
        if name not in _ROLES:
            raise BadInput(f"{origin}: unknown role {name!r}", hint=nearest(name, _ROLES))
        is_list = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        if not isinstance(value, str) and not (name in _LISTS and is_list):
            several = " or a list of them" if name in _LISTS else ""
            raise BadInput(f"{origin}: {name} = {value!r} must be a column name{several}")
    return dict(roles)
