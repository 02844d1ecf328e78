# SPDX-License-Identifier: Apache-2.0
"""A promise: a metric, a bound, and the attribute it is made for. Every risk in METRICS can be promised."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from divulge import metrics, values
from divulge.arrays import Bools
from divulge.belief import Belief, Ground
from divulge.count import Contingency, Domain
from divulge.errors import BadInput, BrokenPromise, nearest
from divulge.metrics import Measurement, Metric
from divulge.policy.guard import Alone, GuardFinding
from divulge.results import Result
from divulge.values import as_text


@dataclass(frozen=True)
class Promise:
    """`metric` stays on the right side of `bound` in every class (or for the whole table, where classes have no number)."""

    metric: Metric[Any]
    bound: float
    attribute: str | None = None
    """The sensitive attribute it is made for; None means each of them."""
    l_value: int | None = None
    """The l of recursive (c,l)-diversity."""

    @classmethod
    def make(
        cls, name: str, bound: Any, *, attribute: str | None = None, scope: metrics.Scope | None = None
    ) -> Promise:
        """Check and build; recursive (c,l)-diversity takes {c = ..., l = ...} or the text "c,l"."""
        metric = metrics.find_metric(name, scope)
        if metric.kind != "risk":
            raise BadInput(
                f"{name!r} is a {metric.kind} and cannot be promised", hint="`divulge metrics` lists what can"
            )
        bound, l_value = _c_and_l(name, bound) if metric.takes_l else (bound, None)
        return cls(metric, _number(name, bound), attribute, l_value)

    @classmethod
    def parse(cls, text: str) -> tuple[Promise, ...]:
        """From one line, as `text` writes them, several joined by AND.

        >>> [promise.text for promise in Promise.parse("k_anonymity >= 5 and entropy_leakage of disease <= 0.5")]
        ['k_anonymity >= 5', 'entropy_leakage of disease <= 0.5']
        """
        return tuple(
            _promise(piece) for piece in _pieces(_PROMISE, text, text, "promise", "write it like k_anonymity >= 5")
        )

    @staticmethod
    def name_of(metric: Metric[Any]) -> str:
        """How a promise names its metric; one that is there for attributes too says that identity is meant."""
        return metric.name if metrics.find_metric(metric.name) is metric else f"identity {metric.name}"

    @property
    def about(self) -> tuple[str, str, str | None]:
        """What it bounds: of two promises about the same, one can be meant."""
        return self.metric.name, self.metric.scope, self.attribute

    @property
    def text(self) -> str:
        """For people: k_anonymity >= 5, entropy_leakage of disease <= 0.5."""
        about = f" of {self.attribute}" if self.attribute else ""
        with_l = f" (l = {self.l_value})" if self.l_value else ""
        return f"{self.name_of(self.metric)}{about} {self.metric.sign} {self.bound:g}{with_l}"

    def spread(self, beliefs: Collection[str], *, has_population: bool) -> Iterator[tuple[Promise, str | None]]:
        """The promise for each sensitive attribute it is made for; where nothing is sensitive, it means identity, for which None stands."""
        metric = self.metric
        if not beliefs and self.attribute is None:
            metric = next((other for other in metrics.IDENTITY if other.name == metric.name), metric)
        if metric.needs_population and not has_population:
            raise metrics.needs_population(metric.name)
        if metric.scope == "identity":
            yield replace(self, metric=metric), None
            return
        if not beliefs:
            raise BadInput(
                f"{self.text} is about a sensitive attribute, and none was named", hint="name it with sensitive="
            )
        for about in beliefs if self.attribute is None else [self.attribute]:
            if about not in beliefs:
                raise BadInput(
                    f"{self.text}: {about!r} is not a sensitive attribute here", hint=nearest(about, beliefs)
                )
            yield self, about


_LARGEST_L = 2**31 - 1


def _number(name: str, bound: Any) -> float:
    try:
        number = float(bound) if isinstance(bound, (str, int, float)) and not isinstance(bound, bool) else math.nan
    except ValueError:
        number = math.nan
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise BadInput(f"{name} = {bound!r} is not a number")
    if math.isinf(number):
        raise BadInput(f"{name} = {number} is not a finite number, and no bound", hint="Leave it out if all is allowed")
    if number < 0:
        raise BadInput(f"{name} = {number:g} is below 0, which no table can be held to")
    return number


def _c_and_l(name: str, bound: Any) -> tuple[Any, int]:
    if isinstance(bound, Mapping) and set(bound) == {"c", "l"}:
        c, l_value = bound["c"], bound["l"]
    elif isinstance(bound, str) and bound.count(",") == 1:
        c, _, l_value = bound.partition(",")
    elif isinstance(bound, (list, tuple)) and len(bound) == 2:
        c, l_value = bound
    else:
        raise BadInput(
            f"{name} = {bound!r} does not give c and l", hint="write {c = 3, l = 2}, or 3,2 on the command line"
        )
    try:
        whole = int(l_value)
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or isinstance(l_value, bool) or (isinstance(l_value, float) and l_value != whole):
        raise BadInput(f"l = {l_value!r} of {name} is not a whole number")
    if not 1 <= whole <= _LARGEST_L:
        raise BadInput(f"l of {name} must be from 1 to {_LARGEST_L:,}")
    return c, whole


# --- protections ------------------------------------------------------------------------------------------------------
# A protection: promises of their own for chosen people or chosen values (open problem of Afifi et al. 2018, section 7).
#
# Chosen people ("over 75 in government"): every published class with at least one of them must keep the promises. Chosen values ("HIV"):
# the attribute is looked at as the chosen values against all others, and the promises are made about that; for example
# basic_beta_likeness = 1: in no class may the chosen value be more than twice as likely as in the table.
#
# As text: age >= 75 and workclass = 'State-gov': k_anonymity >= 20 and l_diversity >= 3
# In a policy file, as one [[protect]] table with `where`, or with `attribute` and `values`, and the promises.
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
_PROMISE = re.compile(
    r"""\s*(?:(?P<scope>identity)\s+(?=[a-z]))?(?P<name>\w+)\b(?:\s+of\s+(?:"(?P<quoted>[^"]+)"|(?P<bare>[^\s"<>=]+)))?"""
    rf"\s*(?P<sign><=|>=|<|>|=)?\s*(?P<bound>[^\s<>=()]+)(?:\s*\(l\s*=\s*(?P<l>\d+)\))?{_MORE}",
    re.IGNORECASE,
)


@values.checked_fields
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
        chosen, made = _texts(values), (Promise.make(name, bound) for name, bound in promises.items())
        about = attribute if not chosen else None
        return cls(
            tuple(_about(about, made)),
            {column: value if isinstance(value, str) else _texts(value) for column, value in (where or {}).items()},
            attribute,
            chosen,
        )

    @classmethod
    def parse(cls, text: str) -> Protection:
        """From one line: conditions, a colon, promises.

        Examples:
            >>> Protection.parse("age >= 75 and job in ('clerk', 'judge'): k_anonymity >= 20").where
            {'age': '>= 75', 'job': ('clerk', 'judge')}
        """
        colons = [found for found in re.finditer(r"""'(?:[^']|'')*'|"[^"]*"|(:)""", text) if found[1]]
        if not colons:  # none that is not within quotes
            raise BadInput(f"{text!r} makes no promise: there is no colon", hint=_EXAMPLE)
        conditions, promises = text[: colons[0].start()], text[colons[0].end() :]
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
    def text(self) -> str:
        """The promises, and for whom or what they are made, for people."""
        chosen = [_told(str(self.attribute), self.values)] if self.values else []
        about = " and ".join([*([self.who] if self.where else []), *chosen])
        return f"{' and '.join(promise.text for promise in self.promises)} for {about}"

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


def _about(attribute: str | None, promises: Iterable[Promise]) -> Iterator[Promise]:
    """Promises about an attribute; one about identity is about none."""
    for promise in promises:
        yield replace(promise, attribute=attribute) if promise.metric.scope == "sensitive" else promise


def _texts(values: Any) -> tuple[str | None, ...]:
    """One value or several, as text."""
    several = isinstance(values, Sequence) and not isinstance(values, str)
    return tuple(as_text(value) for value in (values if several else (values,)))


def _pieces(
    pattern: re.Pattern[str], part: str, text: str, what: str = "protection", hint: str = _EXAMPLE
) -> Iterator[re.Match[str]]:
    """What stands between the ANDs, one by one."""
    place = 0
    while True:
        found = pattern.match(part, place)
        if found is None:
            raise BadInput(f"{text!r} is not a {what}: {part[place:].strip()!r} is not understood", hint=hint)
        yield found
        place = found.end()
        if not found["more"]:
            return


def _promise(piece: re.Match[str]) -> Promise:
    about = piece["quoted"] or piece["bare"]
    scope: metrics.Scope | None = "identity" if piece["scope"] else ("sensitive" if about else None)
    bound = f"{piece['bound']},{piece['l']}" if piece["l"] else piece["bound"]
    promise = Promise.make(piece["name"], bound, attribute=about, scope=scope)
    wanted = "<" if promise.metric.worse == "high" else ">"
    # "k_anonymity > 5" asks for more than "k_anonymity >= 5", and must not be judged as that.
    if piece["sign"] not in (None, "=", promise.metric.sign, f"{wanted}="):
        raise BadInput(f"{piece[0].strip()!r}: this can only be promised as {promise.text}")
    return promise


def _unquoted(value: str) -> str:
    return value[1:-1].replace("''", "'") if value.startswith("'") else value


def _told(column: str, condition: Condition) -> str:
    if isinstance(condition, str):
        return f"{column} {condition}" if condition.lstrip().startswith(("<", ">")) else f"{column} = {condition}"
    return f"{column} = {' or '.join('null' if value is None else value for value in condition)}"


_COMPARISON = re.compile(r"\s*(<=|>=|<|>)\s*(.+?)\s*")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True, eq=False)
class Protected:
    """A protection and the classes of a table that hold its people."""

    protection: Protection
    only: Bools | None = field(default=None, repr=False)
    """Per class; None: everybody is meant."""

    def about(self, beliefs: Mapping[str, Belief]) -> tuple[dict[str, Belief], list[Promise]]:
        """The beliefs that the promises are about, and the promises: with chosen values, those against all others."""
        protection = self.protection
        if not protection.values:
            return dict(beliefs), list(protection.promises)
        name, belief = _chosen_values(protection, beliefs)
        return {name: belief}, list(_about(name, protection.promises))


def choose(
    protections: Sequence[Protection], contingency: Contingency, attributes: Iterable[str]
) -> tuple[Protected, ...]:
    """The chosen people of each protection among the counted classes; `attributes` are the sensitive ones."""
    known = tuple(attributes)
    return tuple(_chosen(_with_values(protection, contingency, known), contingency) for protection in protections)


def choose_measured(protections: Sequence[Protection], measurement: Measurement) -> tuple[Protected, ...]:
    """The same in a measured table, by what the table itself says of people; refused where not all of its classes are here."""
    if protections and measurement.overlapping:
        raise BadInput(
            "chosen people may be behind a wildcard, so nobody can say which classes hold them",
            hint="Check without protections, or count what is suppressed as a value of its own",
        )
    if protections and measurement.survey is not None:
        raise BadInput(
            "chosen people and values cannot be looked for among classes that were not brought together",
            hint="Check without protections, or with fewer quasi-identifiers and without a memory limit",
        )
    return choose(protections, measurement.contingency, measurement.beliefs)


def _chosen(protection: Protection, contingency: Contingency) -> Protected:
    only = _chosen_people(protection, contingency) if protection.where else None
    for promise in protection.promises if protection.where else ():
        if promise.metric.looks_at == "table":
            raise BadInput(
                f"{promise.text} is about the whole table and cannot protect chosen people",
                hint="choose a promise about classes",
            )
    return Protected(protection, only)


def _with_values(protection: Protection, contingency: Contingency, attributes: Sequence[str]) -> Protection:
    """A sensitive column among the conditions chooses values."""
    keys = [key.name for key in contingency.keys]
    about = [column for column in protection.where if column in attributes and column not in keys]
    if not about:
        return protection
    if len(about) > 1 or protection.values:
        raise BadInput(
            f"values of several sensitive attributes are chosen at once: {protection.who}",
            hint="make a protection for each attribute",
        )
    wanted = protection.where[about[0]]
    if isinstance(wanted, str) and _COMPARISON.fullmatch(wanted):
        raise BadInput(f"values of {about[0]!r} cannot be chosen by {wanted!r}", hint="name the values")
    where = {column: condition for column, condition in protection.where.items() if column != about[0]}
    values = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    return replace(protection, where=where, attribute=about[0], values=values)


def _chosen_people(protection: Protection, contingency: Contingency) -> Bools:
    """Which classes hold the chosen people."""
    names = [key.name for key in contingency.keys]
    chosen: Bools = np.ones(len(contingency), dtype=bool)
    for column, condition in protection.where.items():
        if column not in names:
            raise BadInput(
                f"people are chosen by {column!r}, which is not a quasi-identifier", hint=nearest(column, names)
            )
        position = names.index(column)
        chosen &= _meeting(contingency.keys[position], condition)[contingency.codes[position]]
    if not chosen.any():
        raise BadInput(
            f"nobody in the table is chosen by {protection.who}", hint="look at the values with `divulge profile`"
        )
    return chosen


def _meeting(domain: Domain, condition: Condition) -> Bools:
    """Which values of a column meet a condition."""
    texts = [as_text(label) for label in domain.labels]
    parts = _AND.split(condition) if isinstance(condition, str) and condition not in texts else []
    comparisons = [_COMPARISON.fullmatch(part) for part in parts]
    if comparisons and all(comparisons):
        if not domain.is_ordered:
            raise BadInput(
                f"{condition!r} cannot be asked of {domain.name!r}, whose values are text, such as {texts[0]!r}",
                hint="Choose people in the table before its columns are made coarser, or name the values",
            )
        return np.array([_meets_all(label, comparisons, domain) for label in domain.labels])
    wanted = [condition] if isinstance(condition, str) else list(condition)
    _refuse_unknown(wanted, texts, domain.name)
    return np.array([text in wanted for text in texts])


def _meets_all(label: Any, comparisons: Sequence[re.Match[str] | None], domain: Domain) -> bool:
    return label is not None and all(
        _OPERATORS[part[1]](label, _like(label, part[2], domain)) for part in comparisons if part is not None
    )


def _like(label: Any, bound: str, domain: Domain) -> Any:
    """A bound read as a value of the same kind."""
    try:
        if isinstance(label, datetime):
            return datetime.fromisoformat(bound).replace(tzinfo=label.tzinfo)
        if isinstance(label, date):
            return date.fromisoformat(bound)
        return float(bound) if isinstance(label, int) else type(label)(bound)
    except (TypeError, ValueError, ArithmeticError):
        raise BadInput(f"{bound!r} cannot be compared with the values of {domain.name!r}, such as {label!r}") from None


def _refuse_unknown(wanted: Sequence[str | None], texts: Sequence[str | None], column: str) -> None:
    for value in wanted:
        if value not in texts:
            raise BadInput(
                f"{column!r} has no value {value!r}",
                hint=nearest(str(value), [text for text in texts if text is not None]),
            )


def _chosen_values(protection: Protection, beliefs: Mapping[str, Belief]) -> tuple[str, Belief]:
    """The belief about the chosen values against all others."""
    attribute = str(protection.attribute)
    if attribute not in beliefs:
        raise BadInput(f"{attribute!r} is not a sensitive attribute here", hint=nearest(attribute, beliefs))
    belief = beliefs[attribute]
    texts = [as_text(label) for label in belief.cells.domain.labels]
    _refuse_unknown(protection.values, texts, attribute)
    codes = np.array([0 if text in protection.values else 1 for text in texts])
    if codes.max() == 0:
        raise BadInput(
            f"all values of {attribute!r} are chosen, so there is nothing to tell them from", hint="choose fewer"
        )
    chosen = ", ".join("null" if value is None else value for value in protection.values)
    name = f"{attribute} = {chosen}"
    domain = Domain(name, pa.array([chosen, f"not {chosen}"]), "text")
    weights = np.stack([belief.prior.weights[:, codes == code].sum(axis=1) for code in (0, 1)], axis=1)
    cells, prior = belief.cells.recode(codes, domain), belief.prior.with_weights(weights)
    return name, replace(belief, cells=cells, prior=prior, ground=Ground("equal"))


# --- The verdict: for each promise whether it holds and, if not, which classes break it, counted and sampled ----------
@dataclass(frozen=True)
class BreakingClass:
    """One class that breaks a promise."""

    key: dict[str, Any]
    size: int
    value: float | int


@dataclass(frozen=True)
class Outcome:
    """One promise, held against one attribute (or identity)."""

    promise: Promise
    attribute: str | None
    value: float | int
    holds: bool
    breaking_classes: int
    breaking_people: int
    sample: tuple[BreakingClass, ...]
    """The worst of them, worst first; in a tie those with more people first."""
    protects: str = ""
    """The people it is made for, where it is not made for everybody."""
    shown_by: Literal["", "files", "publisher"] = ""
    """Of a release: whether its published files alone prove it, or only its publisher could."""
    linked: bool = False
    """Held against all rows of a person together, which the published person column ties to each other."""

    @property
    def text(self) -> str:
        """The promise, what it is about and for whom, for people."""
        about = f" ({self.attribute})" if self.attribute and not self.promise.attribute else ""
        together = " by all rows of a person" if self.linked else ""
        return f"{self.promise.text}{about}{f' for {self.protects}' if self.protects else ''}{together}"


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """All promises together, and what the guard found beside them."""

    view = "measurement"

    outcomes: tuple[Outcome, ...]
    measurement: Measurement
    """Of the table that was held against the promises."""
    findings: tuple[GuardFinding, ...] = ()
    """Columns that must not be there."""
    alone: Alone | None = None
    """Who is alone with the columns known that have no role, or are plain."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that the numbers depend on."""
        return self.measurement.settings

    @property
    def holds(self) -> bool:
        """Every promise is kept, and no column is there that must not be."""
        return not self.findings and all(outcome.holds for outcome in self.outcomes)

    def raise_for_broken(self) -> None:
        """Raise `BrokenPromise`, which names what is broken, unless everything holds."""
        if not self.holds:
            told = [f"{outcome.text} (measured {outcome.value})" for outcome in self.outcomes if not outcome.holds]
            told += [f"the guard of columns ({finding.text})" for finding in self.findings]
            raise BrokenPromise(f"{self.measurement.settings['source']} breaks {', '.join(told)}")


def judge(
    measurement: Measurement, promises: Sequence[Promise], *, protected: Sequence[Protected] = (), sample: int = 10
) -> Verdict:
    """Hold a measured table against promises, and its chosen classes and values against promises of their own."""
    if not promises and not protected:
        raise BadInput("the policy makes no promise, so there is nothing to check", hint="for example k_anonymity=5")
    held = _spread(measurement, promises, measurement.beliefs)
    questions = [
        metrics.Question(promise.metric, promise.bound, attribute, promise.l_value) for promise, attribute in held
    ]
    answers = measurement.ask(questions, most=sample)
    outcomes = [_outcome(*pair, answer) for pair, answer in zip(held, answers, strict=True)]
    further = (outcome for item in protected for outcome in _held(measurement, item, sample))
    return Verdict((*outcomes, *further), measurement, frame=measurement.frame)


def _held(measurement: Measurement, protected: Protected, sample: int) -> Iterator[Outcome]:
    """One outcome for each promise of a protection."""
    beliefs, promises = protected.about(measurement.beliefs)
    for promise, attribute in _spread(measurement, promises, beliefs):
        question = metrics.Question(promise.metric, promise.bound, attribute, promise.l_value, protected.only)
        view = question.view(measurement.identity_view, beliefs)
        found = metrics.answer(question, measurement.contingency, view, most=sample)
        yield replace(_outcome(promise, attribute, found), protects=protected.protection.who)


def _spread(
    measurement: Measurement, promises: Sequence[Promise], beliefs: Mapping[str, Belief]
) -> list[tuple[Promise, str | None]]:
    for promise in promises if measurement.overlapping else ():
        if not promise.metric.overlapping:
            raise metrics.not_told(promise.text)
    has_population = any(score.metric.needs_population for score in measurement.identity.values())
    return [pair for promise in promises for pair in promise.spread(beliefs, has_population=has_population)]


def _outcome(promise: Promise, attribute: str | None, found: metrics.Answer) -> Outcome:
    metric = promise.metric
    return Outcome(
        promise=promise,
        attribute=attribute,
        value=metrics.as_number(metric, found.value),
        holds=bool(metric.holds(found.value, promise.bound)),
        breaking_classes=found.tally.classes,
        breaking_people=found.tally.people,
        sample=tuple(
            BreakingClass(dict(item.key), item.size, metrics.as_number(metric, item.value)) for item in found.worst
        ),
    )
