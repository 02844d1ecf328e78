# SPDX-License-Identifier: Apache-2.0
"""A policy: roles, requirements and the adversary, from a TOML file or from Python.

quasi_identifiers = ["zip", "age"]
sensitive = ["disease"]
identifier = ["name"]              # names people: must not be in a release
leave_out = ["income"]             # names nobody, and must not be published
plain = ["ward"]                   # may be published unchanged; guard.py checks columns without a role
unique_share = 0.01                # share of people who may be unique by all published columns but the sensitive ones
method = "full-domain"             # generalization method of a release

[promises]
k_anonymity = 5
entropy_leakage = 0.5

[promises.identity]                # for metrics that exist for identity and for sensitive attributes
itpr = 0.9

[promises.attributes.disease]      # for one sensitive attribute
l_diversity = 3

[[protect]]                        # additional requirements for chosen people or values; see requirement.Protection
where = {age = ">= 75"}
k_anonymity = 20

[adversary]                        # prior and background knowledge; adversary/adversary.py lists the keys
rule_out = {disease = "flu"}

[hierarchies.age]                  # generalization of a column; hierarchies/rules.py lists the keys
intervals = [5, 10, 20]
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from divulge import metrics
from divulge.adversary import Adversary, adversary_in_force
from divulge.arguments import outside, quoted
from divulge.errors import BadInput, nearest
from divulge.options import GENERALIZATION_METHODS, LIST_ROLES, ROLES, policy_keys
from divulge.policy.protection import Protection, protections_of
from divulge.policy.requirement import Promise
from divulge.policy.uniqueness import checked_unique_share
from divulge.text import parse_toml
from divulge.validation import checked

_SHARE_KEYS = ("suppression", "unique_share")
_PERSON_PUBLISHED = "person_published"
_METRIC_NAMES = frozenset(metric.name for metric in metrics.METRICS)


@dataclass(frozen=True, init=False)
class Policy:
    """Requirements for a table, and optionally the roles of its columns."""

    promises: tuple[Promise, ...]
    suppression: float
    """Share of records that a generalization may suppress."""
    unique_share: float | None
    """Share of people who may be unique by all published columns but the sensitive ones.

    None: columns with a role are not limited, and those without one may make
    `uniqueness.UNIQUE_SHARE` of the people unique.
    """
    person_published: bool
    """True if the person column is published, so that the rows of a person can be linked."""
    roles: Mapping[str, Any]
    hierarchies: Mapping[str, Any]
    """Generalization hierarchy of each column: a table of keys, or a file."""
    protections: tuple[Protection, ...]
    """Additional requirements for chosen people or values."""
    adversary: Adversary
    """Adversary that the requirements assume; explicit settings take precedence."""
    method: str | None
    """Default method of `generalize`; None: one level for each column."""

    @checked
    def __init__(
        self,
        promises: Sequence[Promise] = (),
        *,
        suppression: float = 0.0,
        unique_share: float | None = None,
        person_published: bool = True,
        roles: Mapping[str, Any] | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        protections: Sequence[Protection] = (),
        adversary: Adversary | None = None,
        method: str | None = None,
        **bounds: Any,
    ) -> None:
        """Build a policy from requirements, or from keywords named like the metrics.

        For example Policy(k_anonymity=5, entropy_leakage=0.5).
        """
        requirements = tuple(Promise.make(name, bound) for name, bound in bounds.items())
        for promise in (
            *promises,
            *requirements,
            *(promise for item in protections for promise in item.promises),
        ):
            promise.require_something()
        object.__setattr__(self, "promises", (*promises, *requirements))
        object.__setattr__(self, "suppression", _fraction("suppression", suppression))
        object.__setattr__(self, "unique_share", checked_unique_share(unique_share))
        object.__setattr__(
            self, "person_published", _checked_bool(_PERSON_PUBLISHED, person_published)
        )
        object.__setattr__(self, "roles", dict(roles or {}))
        object.__setattr__(self, "hierarchies", dict(hierarchies or {}))
        object.__setattr__(self, "protections", tuple(protections))
        object.__setattr__(self, "adversary", adversary_in_force(adversary))
        if method is not None and method not in GENERALIZATION_METHODS:
            raise BadInput(
                f"there is no method {method!r}", hint=nearest(method, GENERALIZATION_METHODS)
            )
        object.__setattr__(self, "method", method)

    @classmethod
    def of(cls, source: PolicyLike) -> Policy:
        """Return a policy as it is, or build it from a mapping or the path of a policy file.

        Examples:
            >>> given = {"k_anonymity": 5, "promises": {"identity": {"itpr": 0.9}}}
            >>> [promise.text for promise in Policy.of(given).promises]
            ['k_anonymity >= 5', 'identity itpr <= 0.9']
        """
        if isinstance(source, Policy):
            return source
        if isinstance(source, Mapping):
            return cls.from_document(source)
        return cls.load(source)

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Policy:
        """Read a TOML file."""
        try:
            document = parse_toml(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BadInput(f"there is no policy file {str(path)!r}") from None
        except OSError as error:
            raise BadInput(f"policy file {str(path)!r} cannot be read: {error.strerror}") from None
        except ValueError as error:  # also text that is not UTF-8
            raise BadInput(
                f"policy file {str(path)!r} is not valid TOML: {outside(error)}"
            ) from None
        return cls.from_document(document, origin=str(path), folder=Path(path).parent)

    @classmethod
    def from_document(
        cls, document: Mapping[str, Any], *, origin: str = "the policy", folder: Path | None = None
    ) -> Policy:
        """Build a policy from a parsed document.

        An unknown key raises an error that names the nearest known one.

        Files are looked up in `folder`.
        """
        roles = dict(_checked_table(document.get("roles", {}), "roles", "name = column", origin))
        published = _single_entry(document, roles, _PERSON_PUBLISHED, "roles", origin)
        roles.pop(_PERSON_PUBLISHED, None)
        promises: list[Promise] = []
        known_keys = [*policy_keys(), "roles", _PERSON_PUBLISHED, *sorted(_METRIC_NAMES)]
        for key, value in document.items():
            if key in ROLES or key == "nulls":
                roles[key] = value
            elif key == "promises":
                promises += _parse_requirements(value, origin)
            elif key in _METRIC_NAMES:
                promises.append(Promise.make(key, value))
            elif key not in known_keys:
                raise BadInput(f"{origin}: unknown key {key!r}", hint=nearest(key, known_keys))
        inner = document.get("promises", {})
        shares = {
            name: _single_entry(document, inner, name, "promises", origin) for name in _SHARE_KEYS
        }
        rules = _checked_table(
            document.get("hierarchies", {}), "hierarchies", "tables, one for each column", origin
        )
        folder = folder or Path()
        return cls(
            promises,
            suppression=0.0 if shares["suppression"] is None else shares["suppression"],
            unique_share=shares["unique_share"],
            person_published=True if published is None else published,
            roles=_checked_roles(roles, origin),
            hierarchies={column: _resolve_file(rule, folder) for column, rule in rules.items()},
            protections=tuple(protections_of(document.get("protect", []), origin)),
            adversary=Adversary.from_document(
                document.get("adversary", {}), origin=origin, folder=folder
            ),
            method=document.get("method"),
        )


PolicyLike: TypeAlias = Policy | Mapping[str, Any] | str | Path
"""A policy, a mapping with the keys of a policy file, or the path of one."""


def _resolve_file(rule: Any, folder: Path) -> Any:
    """Resolve the file of a rule, if it names one, against the policy's folder."""
    if isinstance(rule, Mapping) and isinstance(rule.get("file"), str):
        return {**rule, "file": str(folder / rule["file"])}
    if isinstance(rule, str) and not rule.lstrip().startswith("{"):
        return str(folder / rule)
    return rule


def _single_entry(
    document: Mapping[str, Any], inner: Mapping[str, Any], name: str, table: str, origin: str
) -> Any:
    """Return an entry of the document or of one of its tables; None if neither has it."""
    if name in document and name in inner:
        raise BadInput(f"{origin}: {name} is given twice, at the top and in [{table}]")
    return inner.get(name, document.get(name))


def _checked_bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{name} = {quoted(value)} is neither true nor false")
    return value


def _fraction(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise BadInput(
            f"{name} = {quoted(value)} is not a fraction",
            hint="give a number from 0 to 1, 0.05 for 5 %",
        )
    return float(value)


def _parse_requirements(table: Any, origin: str) -> Iterator[Promise]:
    of_metric = "metric = bound"
    for name, bound in _checked_table(table, "promises", of_metric, origin).items():
        if name == "identity":
            inside = _checked_table(bound, "promises.identity", of_metric, origin)
            yield from (
                Promise.make(inner, value, scope="identity") for inner, value in inside.items()
            )
        elif name == "attributes":
            tables = _checked_table(
                bound, "promises.attributes", "tables, one for each attribute", origin
            )
            for about, bounds in tables.items():
                for inner, value in _checked_table(
                    bounds, f"promises.attributes.{about}", of_metric, origin
                ).items():
                    yield Promise.make(inner, value, attribute=about, scope="sensitive")
        elif name not in _SHARE_KEYS:
            yield Promise.make(name, bound)


def _checked_table(value: Any, name: str, holds: str, origin: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(f"{origin}: {name!r} must be a table of {holds}, not {quoted(value)}")
    return value


def _checked_roles(roles: Mapping[str, Any], origin: str) -> dict[str, Any]:
    for name, value in roles.items():
        if name == "nulls":
            raise BadInput(
                f"{origin}: 'nulls' is no role any more",
                hint="Write it as nulls = ... below [adversary]",
            )
        if name not in ROLES:
            raise BadInput(f"{origin}: unknown role {name!r}", hint=nearest(name, ROLES))
        is_list = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        if not isinstance(value, str) and not (name in LIST_ROLES and is_list):
            if name in LIST_ROLES:
                list_note = " or a list of them"
            else:
                list_note = ""
            raise BadInput(f"{origin}: {name} = {quoted(value)} must be a column name{list_note}")
    return dict(roles)
