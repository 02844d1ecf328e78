# SPDX-License-Identifier: Apache-2.0
"""Protections: additional requirements for chosen people or chosen values."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from divulge import arrays
from divulge.adversary import Belief, GroundDistance, PriorBelief
from divulge.arguments import Sentence, arg, marked, outside, quoted
from divulge.arrays import Bools, Ints
from divulge.counting import Cells, Contingency, Domain, build_cells
from divulge.errors import BadInput, nearest
from divulge.metrics import Measurement
from divulge.policy.requirement import AND_OR_END, Promise, parse_requirements, split_at_and
from divulge.text import as_text
from divulge.validation import checked_fields

# A protection: additional requirements for chosen people or chosen values (open problem of Afifi et
# al. 2018, section 7).
#
# Chosen people ("over 75 in government"): every published class with at least one of them must meet
# the requirements. Chosen values ("HIV"): the attribute is reduced to the chosen values against all
# others, and the requirements apply to that. For example basic_beta_likeness = 1: in no class may
# the chosen value be more than twice as likely as in the table.
#
# As text: age >= 75 and workclass = 'State-gov': k_anonymity >= 20 and l_diversity >= 3
# In a policy file, as one [[protect]] table with `where`, or with `attribute` and `values`, and the
# requirements.
Condition = str | Sequence[str | None]
"""A comparison such as ">= 75" or ">= 65 and < 75", a value, or a list of values."""
_PROTECTION_HINT = "write it like \"age >= 75 and workclass = 'State-gov': k_anonymity >= 20\""
_VALUE = r"'(?:[^']|'')*'|[^\s'(),:<>=]+"
_CONDITION_PATTERN = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s"'(),:<>=]+))\s*(?P<sign><=|>=|<|>|=|\bin\b)\s*"""
    rf"(?P<value>\(\s*(?:{_VALUE})(?:\s*,\s*(?:{_VALUE}))*\s*\)|{_VALUE}){AND_OR_END}",
    re.IGNORECASE,
)


@checked_fields
@dataclass(frozen=True)
class Protection:
    """Additional requirements for chosen people, for chosen values, or for both."""

    promises: tuple[Promise, ...]
    where: Mapping[str, Condition] = field(default_factory=dict)
    """Values or a comparison such as ">75" for each quasi-identifier; all must hold.

    Empty: all people. A sensitive column may be here too, with its chosen values.
    """
    attribute: str | None = None
    """Sensitive attribute that the requirements apply to; None: each."""
    values: tuple[str | None, ...] = ()
    """Chosen values of the attribute; empty: the attribute as it is."""

    def __post_init__(self) -> None:
        if not self.promises:
            raise BadInput(
                "a protection without a promise protects nobody",
                hint="for example k_anonymity = 20",
            )
        if not self.where and not self.values:
            raise BadInput(
                "a protection must choose people (where) or values",
                hint='for example where = {age = ">75"}',
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
        """Build a protection from plain values, as in a policy file.

        For example Protection.make({"k_anonymity": 20}, where={"age": ">75"}).
        """
        value_texts = _texts(values)
        requirements = (Promise.make(name, bound) for name, bound in promises.items())
        if not value_texts:
            about = attribute
        else:
            about = None
        return cls(
            tuple(_with_attribute(about, requirements)),
            {
                column: value if isinstance(value, str) else _texts(value)
                for column, value in (where or {}).items()
            },
            attribute,
            value_texts,
        )

    @classmethod
    def parse(cls, text: str) -> Protection:
        """Parse a protection from one line: conditions, a colon, requirements.

        Examples:
            >>> Protection.parse("age >= 75 and job in ('clerk', 'judge'): k_anonymity >= 20").where
            {'age': '>= 75', 'job': ('clerk', 'judge')}
        """
        colons = [
            match for match in re.finditer(r"""'(?:[^']|'')*'|"[^"]*"|(:)""", text) if match[1]
        ]
        if not colons:  # no colon outside quotes
            raise BadInput(f"{text!r} makes no promise: there is no colon", hint=_PROTECTION_HINT)
        conditions = text[: colons[0].start()]
        promises = text[colons[0].end() :]
        where: dict[str, Condition] = {}
        form = {"text": text, "what": "protection", "hint": _PROTECTION_HINT}
        for piece in split_at_and(_CONDITION_PATTERN, conditions, **form):
            column = piece["quoted"] or piece["bare"]
            sign = piece["sign"].lower()
            before = where.get(column)
            if sign in ("=", "in"):
                condition: Condition = tuple(
                    _unquoted(value) for value in re.findall(_VALUE, piece["value"])
                )
            else:
                condition = f"{sign} {_unquoted(piece['value'])}"
                if isinstance(before, str):
                    condition = f"{before} and {condition}"
            if before is not None and not (isinstance(before, str) and isinstance(condition, str)):
                raise BadInput(
                    f"{text!r} chooses {column} twice",
                    hint=f"for several values: {column} in (a, b)",
                )
            where[column] = condition
        return cls(parse_requirements(promises, **form), where)

    @property
    def text(self) -> str:
        """Text for people: the requirements, and the people or values that they apply to."""
        if self.values:
            parts = [_condition_text(str(self.attribute), self.values)]
        else:
            parts = []
        about = " and ".join([*([self.who] if self.where else []), *parts])
        promises = " and ".join(marked(promise.text) for promise in self.promises)
        return Sentence(f"{promises} for {outside(about)}")

    @property
    def who(self) -> str:
        """Text for people: the chosen people; empty: all people."""
        return " and ".join(
            _condition_text(column, condition) for column, condition in self.where.items()
        )


def protections_of(tables: Any, origin: str) -> Iterator[Protection]:
    """Parse the [[protect]] tables of a policy file."""
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise BadInput(
            f"{origin}: 'protect' must be tables", hint="head each of them with [[protect]]"
        )
    for table in tables:
        chosen = {name: table[name] for name in ("where", "attribute", "values") if name in table}
        promises = {
            name: bound
            for name, bound in table.items()
            if name not in chosen and name != "promises"
        }
        inner = table.get("promises", {})
        if not isinstance(chosen.get("where", {}), Mapping) or not isinstance(inner, Mapping):
            raise BadInput(
                f"{origin}: 'where' and 'promises' of a protection are tables",
                hint='where = {age = ">= 75"}',
            )
        try:
            yield Protection.make({**promises, **inner}, **chosen)
        except BadInput as error:
            raise BadInput(
                f"{origin}: [[protect]]: {error.message.marked}", hint=error.hint
            ) from None


def _with_attribute(attribute: str | None, promises: Iterable[Promise]) -> Iterator[Promise]:
    """Set the attribute of requirements; those about identity have none."""
    for promise in promises:
        yield (
            replace(promise, attribute=attribute)
            if promise.metric.scope == "sensitive"
            else promise
        )


def _texts(values: Any) -> tuple[str | None, ...]:
    """Return one value or several as texts."""
    is_list = isinstance(values, Sequence) and not isinstance(values, str)
    return tuple(as_text(value) for value in (values if is_list else (values,)))


def _unquoted(value: str) -> str:
    if value.startswith("'"):
        return value[1:-1].replace("''", "'")
    return value


def _condition_text(column: str, condition: Condition) -> str:
    if isinstance(condition, str):
        if condition.lstrip().startswith(("<", ">")):
            return f"{column} {condition}"
        return f"{column} = {condition}"
    return f"{column} = {' or '.join('null' if value is None else value for value in condition)}"


_COMPARISON = re.compile(r"\s*(<=|>=|<|>)\s*(.+?)\s*")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True, eq=False)
class Protected:
    """A protection and the classes of a table that contain its people."""

    protection: Protection
    only: Bools | None = field(default=None, repr=False)
    """Mask of the classes; None: all people are meant."""

    def about(
        self, beliefs: Mapping[str, Belief], contingency: Contingency
    ) -> tuple[dict[str, Belief], list[Promise]]:
        """Return the beliefs that the requirements apply to, and the requirements.

        With chosen values, the belief is about these values against all others.
        """
        protection = self.protection
        if not protection.values:
            return dict(beliefs), list(protection.promises)
        name, belief = _chosen_values(protection, beliefs, contingency)
        return {name: belief}, list(_with_attribute(name, protection.promises))


def choose(
    protections: Sequence[Protection], contingency: Contingency, attributes: Iterable[str]
) -> tuple[Protected, ...]:
    """Find the chosen people of each protection among the counted classes.

    `attributes` are the sensitive ones.
    """
    sensitive_columns = tuple(attributes)
    return tuple(
        _find_protected(
            _move_sensitive_conditions(protection, contingency, sensitive_columns), contingency
        )
        for protection in protections
    )


def choose_measured(
    protections: Sequence[Protection], measurement: Measurement
) -> tuple[Protected, ...]:
    """Find the chosen people of each protection by the values of a measured table.

    Raises:
        BadInput: If some of its classes are not available.
    """
    if protections and measurement.overlapping:
        raise BadInput(
            "chosen people may be behind a wildcard, so nobody can say which classes hold them",
            hint="Check without protections, or count what is suppressed as a value of its own",
        )
    if protections and measurement.survey is not None:
        storage = measurement.survey.held_rows.engine.storage
        raise BadInput(
            f"the counts stayed on {storage}: chosen people and values cannot be looked for among "
            "classes that were not brought together",
            hint="Check without protections, with fewer quasi-identifiers, without a memory limit, "
            "or, on Spark, in Python with a larger SparkEngine(collect_limit=...)",
        )
    return choose(protections, measurement.contingency, measurement.beliefs)


def _find_protected(protection: Protection, contingency: Contingency) -> Protected:
    if protection.where:
        only = _chosen_people(protection, contingency)
    else:
        only = None
    for promise in protection.promises if protection.where else ():
        if promise.metric.looks_at == "table":
            raise BadInput(
                f"{marked(promise.text)} is about the whole table and cannot protect chosen people",
                hint="choose a promise about classes",
            )
    return Protected(protection, only)


def _move_sensitive_conditions(
    protection: Protection, contingency: Contingency, attributes: Sequence[str]
) -> Protection:
    """Move a sensitive column from the conditions to the chosen values."""
    keys = [key.name for key in contingency.keys]
    about = [column for column in protection.where if column in attributes and column not in keys]
    if not about:
        return protection
    if len(about) > 1 or protection.values:
        raise BadInput(
            f"values of several sensitive attributes are chosen at once: {outside(protection.who)}",
            hint="make a protection for each attribute",
        )
    value_condition = protection.where[about[0]]
    if isinstance(value_condition, str) and _COMPARISON.fullmatch(value_condition):
        raise BadInput(
            f"values of {about[0]!r} cannot be chosen by {value_condition!r}",
            hint="name the values",
        )
    where = {
        column: condition for column, condition in protection.where.items() if column != about[0]
    }
    values = (value_condition,) if isinstance(value_condition, str) else tuple(value_condition)
    return replace(protection, where=where, attribute=about[0], values=values)


def _chosen_people(protection: Protection, contingency: Contingency) -> Bools:
    """Mask of the classes that contain the chosen people."""
    names = [key.name for key in contingency.keys]
    is_chosen: Bools = np.ones(len(contingency), dtype=bool)
    for column, condition in protection.where.items():
        if column not in names:
            raise BadInput(
                f"people are chosen by {column!r}, which is not a quasi-identifier",
                hint=nearest(column, names),
            )
        position = names.index(column)
        is_chosen &= _matching_values(contingency.keys[position], condition)[
            contingency.codes[position]
        ]
    if not is_chosen.any():
        raise BadInput(
            f"nobody in the table is chosen by {outside(protection.who)}",
            hint="look at the values with `divulge profile`",
        )
    return is_chosen


def _matching_values(domain: Domain, condition: Condition) -> Bools:
    """Mask of the values of a column that meet a condition."""
    texts = [as_text(label) for label in domain.labels]
    if isinstance(condition, str) and condition not in texts:
        parts = _AND.split(condition)
    else:
        parts = []
    comparisons = [_COMPARISON.fullmatch(part) for part in parts]
    if comparisons and all(comparisons):
        if not domain.is_ordered:
            raise BadInput(
                f"{quoted(condition)} cannot be asked of {domain.name!r}, whose values are "
                "text, such "
                f"as {texts[0]!r}",
                hint="Choose people in the table before its columns are made coarser, or name "
                "the values",
            )
        return np.array([_meets_all(label, comparisons, domain) for label in domain.labels])
    wanted_texts = [condition] if isinstance(condition, str) else list(condition)
    _check_known_values(wanted_texts, texts, domain.name)
    return np.array([text in wanted_texts for text in texts])


def _meets_all(label: Any, comparisons: Sequence[re.Match[str] | None], domain: Domain) -> bool:
    return label is not None and all(
        _OPERATORS[part[1]](label, _parse_bound(label, part[2], domain))
        for part in comparisons
        if part is not None
    )


def _parse_bound(label: Any, bound: str, domain: Domain) -> Any:
    """Parse a bound as a value of the type of a label."""
    try:
        if isinstance(label, datetime):
            return datetime.fromisoformat(bound).replace(tzinfo=label.tzinfo)
        if isinstance(label, date):
            return date.fromisoformat(bound)
        if isinstance(label, int):
            return float(bound)
        return type(label)(bound)
    except (TypeError, ValueError, ArithmeticError):
        raise BadInput(
            f"{bound!r} cannot be compared with the values of {domain.name!r}, such as {label!r}"
        ) from None


def _check_known_values(
    value_texts: Sequence[str | None], texts: Sequence[str | None], column: str
) -> None:
    for value in value_texts:
        if value not in texts:
            raise BadInput(
                f"{column!r} has no value {quoted(value)}",
                hint=nearest(str(value), [text for text in texts if text is not None]),
            )


def _chosen_values(
    protection: Protection, beliefs: Mapping[str, Belief], contingency: Contingency
) -> tuple[str, Belief]:
    """Belief about the chosen values against all others.

    If people may have several values, it is the belief about the people who have a chosen value
    against those who have none.
    """
    attribute = str(protection.attribute)
    if attribute not in beliefs:
        raise BadInput(
            f"{attribute!r} is not a sensitive attribute here", hint=nearest(attribute, beliefs)
        )
    belief = beliefs[attribute]
    texts = [as_text(label) for label in belief.cells.domain.labels]
    _check_known_values(protection.values, texts, attribute)
    codes = np.array([0 if text in protection.values else 1 for text in texts])
    if codes.max() == 0:
        raise BadInput(
            f"all values of {attribute!r} are chosen, so there is nothing to tell them from",
            hint="choose fewer",
        )
    value_list = ", ".join("null" if value is None else value for value in protection.values)
    name = f"{attribute} = {value_list}"
    domain = Domain(name, pa.array([value_list, f"not {value_list}"]), "text")
    if _people_have_several_values(belief, contingency):
        cells, prior = _people_with_value(protection, belief, contingency, codes, domain)
    else:
        weights = np.stack(
            [belief.prior.weights[:, codes == code].sum(axis=1) for code in (0, 1)], axis=1
        )
        cells = belief.cells.recode(codes, domain)
        prior = belief.prior.with_weights(weights)
    return name, replace(belief, cells=cells, prior=prior, ground=GroundDistance("equal"))


def _people_have_several_values(belief: Belief, contingency: Contingency) -> bool:
    """Report whether a person has two values of the attribute.

    The person may be in a class, or in the table that the prior comes from.
    """
    if contingency.population_estimated:  # weights, which exclude a person column
        return False
    in_table = bool((contingency.cells[belief.cells.domain.name].totals != contingency.sizes).any())
    prior = belief.prior
    in_original = (
        prior.people is not None and not prior.ruled_out and float(prior.totals[0]) != prior.people
    )
    return in_table or in_original


def _people_with_value(
    protection: Protection, belief: Belief, contingency: Contingency, codes: Ints, domain: Domain
) -> tuple[Cells, PriorBelief]:
    """Count the people with and without the chosen value, in each class and in the prior.

    A person has the value if any of their rows has it. The counts of two values cannot be added,
    because a person may have both.
    """
    problem = f"somebody has several values of {protection.attribute!r}"
    if (codes == 0).sum() > 1:
        raise BadInput(
            f"{problem}, so the people who have one of "
            f"{outside(', '.join(map(str, protection.values)))} "
            "cannot be counted",
            hint="Make a protection for each value, or give these values one name in the table",
        )
    if belief.prior.ruled_out:
        raise BadInput(
            f"{problem}, so it is not known who remains where background knowledge rules values "
            "out",
            hint="Check protected values without background knowledge about the attribute",
        )
    sizes = contingency.sizes.astype(np.float64)
    is_chosen = codes[belief.cells.value] == 0
    with_value = arrays.sum_by_id(
        belief.cells.class_index[is_chosen], belief.cells.mass[is_chosen], len(sizes)
    )
    all_sizes = np.concatenate([with_value, sizes - with_value])
    present = np.flatnonzero(all_sizes > 0)
    index = present % len(sizes)
    code = present // len(sizes)
    cells = build_cells(domain, index, code, all_sizes[present], classes=len(sizes))
    prior = belief.prior
    chosen_weight = prior.weights[:, codes == 0].sum(axis=1)
    if prior.name == "table":
        weights = cells.marginal[None, :]
    elif prior.name != "original":  # probabilities, as they were given
        weights = np.stack([chosen_weight, prior.weights[:, codes == 1].sum(axis=1)], axis=1)
    elif prior.people is None:
        raise BadInput(
            f"{problem}, and it is not known how many people the prior counts",
            hint=f"Give {arg('original')}",
        )
    else:
        weights = np.stack([chosen_weight, prior.people - chosen_weight], axis=1)
    return cells, replace(prior.with_weights(weights), people=None)
