# SPDX-License-Identifier: Apache-2.0
"""The adversary as one value: what she believes, rules out and holds, and how distances between values are measured.

An `Adversary` is checked when it is made and depends on no table; `Assumptions` are what she comes to beside the roles of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from divulge import table as tables
from divulge.arrays import Floats
from divulge.belief.belief import Belief, Distance, GroundChoice, Taxonomy, tries_by_attribute, within_by_attribute
from divulge.belief.prior import (
    GivenPrior,
    Knowledge,
    PriorBelief,
    ValuesOf,
    as_share,
    counted_prior,
    read_prior,
    values_by_attribute,
)
from divulge.count import Cells, Contingency, Nulls, wildcards
from divulge.errors import BadInput, nearest
from divulge.table import Roles, Table, read_beside

Values = Mapping[str, Sequence[str | None] | str] | Iterable[str]
NullsSaid = Literal[Nulls, "wildcard"]
MarginalOf = Callable[[Table, Cells], tuple[Cells, PriorBelief]]
"""The marginal of an original table, and the cells over the values of both tables."""


@dataclass(frozen=True)
class Adversary:
    """What she believes, rules out and holds; None: nothing is said about it.

    Examples:
        >>> Adversary(rule_out={"disease": "flu"}, nulls="drop").over(Adversary(nulls="category", recursive_l=2)).nulls
        'drop'
    """

    original: Any = field(default=None, repr=False)  # an address may hold a password
    """The original of a published table (a path or a table); its marginal is her prior."""
    prior: Any = None
    """A CSV file, a mapping {value: probability} or rows; or one of these for each attribute."""
    rule_out: Values | None = None
    """Values she knows to be impossible: {attribute: values}, or texts "attribute=value"."""
    rule_in: Values | None = None
    """The only values she holds possible."""
    distances: Mapping[str, Distance] | None = None
    """The ground distance of t-closeness by attribute: equal, ordered or hierarchical."""
    taxonomies: Mapping[str, Taxonomy] | None = None
    """The tree of a hierarchical distance by attribute."""
    orders: Mapping[str, Sequence[str]] | None = None
    """The order of a text attribute's values from low to high."""
    tries: Mapping[str, int] | None = None
    """How often she may guess an attribute's value, by attribute: a vulnerability is the chance that one guess is right; 1."""
    within: Mapping[str, float] | None = None
    """How far from the value a guess may be, of numbers, or of dates in days, by attribute; by default it must be the value."""
    population: Any = field(default=None, repr=False)
    """The population (a path or a table), for journalist risk and k-map."""
    population_count: str | None = None
    """The column of the population that says how many people a row stands for; by default a row is one person."""
    released: Any = None
    """Releases of the same people that are out already: folders, tables, or what `open_release` gave; a list of them, or one."""
    released_of: Mapping[str, Any] | None = None
    """Which table a release that is out was made of, where that was an earlier state: by the release's folder, or its last part."""
    nulls: NullsSaid | None = None
    """A null is a "category" of its own (the default), its row is left out ("drop"), or it matches anything ("wildcard")."""
    suppressed: Mapping[str, wildcards.SuppressedAs] | None = None
    """What stands in suppressed cells, such as "*", and whether it is a "wildcard", which matches anything, or a "value" of its own."""
    recursive_l: int | None = None
    """The l of recursive (c,l)-diversity; by default the table's own distinct l."""

    def __post_init__(self) -> None:
        for name in ("original", "population"):
            given = getattr(self, name)
            if isinstance(given, (bool, int, float, bytes, list, tuple, set, frozenset)):
                raise BadInput(f"{name} is {type(given).__name__}, not a table", hint="give a path, a frame or a table")
        if self.population_count is not None and not isinstance(self.population_count, str):
            raise BadInput(f"population_count is {self.population_count!r}", hint="name a column of the population")
        _check_prior(self.prior)
        for name in ("rule_out", "rule_in"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, values_by_attribute(given, name))
        self.knowledge()
        self._check_distances()
        checked: dict[str, Callable[[Any], Any]] = {
            "tries": tries_by_attribute,
            "within": within_by_attribute,
            "released": _releases,
        }
        checked["released_of"] = _tables_by_release
        for name, check in checked.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check(getattr(self, name)))
        if self.nulls is not None and self.nulls not in get_args(NullsSaid):
            raise BadInput(f"nulls={self.nulls!r} is not known", hint="use 'category', 'drop' or 'wildcard'")
        self._check_suppressed()
        l_value: Any = self.recursive_l
        if l_value is not None and (isinstance(l_value, bool) or not isinstance(l_value, int) or l_value < 1):
            raise BadInput(f"recursive_l={l_value!r} is not possible", hint="l is a whole number, at least 1")

    def _check_suppressed(self) -> None:
        given: Any = {} if self.suppressed is None else self.suppressed
        if not isinstance(given, Mapping):
            hint = "give what stands in such cells and how it is meant, for example {'*': 'wildcard'}"
            raise BadInput(f"suppressed is {given!r}", hint=hint)
        for text, how in given.items():
            if not isinstance(text, str) or how not in get_args(wildcards.SuppressedAs):
                raise BadInput(f"{text!r} suppressed as {how!r} is not known", hint="use wildcard or value for a text")

    def _check_distances(self) -> None:
        for name, holds in (("distances", "a kind"), ("taxonomies", "a file or a tree"), ("orders", "its values")):
            given = getattr(self, name)
            if given is not None and not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
                raise BadInput(f"{name} is {given!r}", hint=f"give a mapping from attribute to {holds}")
        for attribute, kind in (self.distances or {}).items():
            if kind not in get_args(Distance):
                told = f"{kind!r} is not a ground distance, and was asked for {attribute!r}"
                raise BadInput(told, hint="use equal, ordered or hierarchical")
        for attribute, order in (self.orders or {}).items():
            if isinstance(order, str) or not isinstance(order, Sequence):
                raise BadInput(f"the order of {attribute!r} is {order!r}", hint="list its values from low to high")

    @classmethod
    def from_document(cls, document: Any, *, origin: str, folder: Path) -> Adversary:
        """From the table [adversary] of a policy file; paths in it are seen from the file's folder."""
        if not isinstance(document, Mapping):
            raise BadInput(f"{origin}: 'adversary' must be a table, not {document!r}")
        known = [item.name for item in fields(cls)]
        for key in document:
            if key not in known:
                raise BadInput(f"{origin}: unknown key {key!r} in [adversary]", hint=nearest(key, known))
        found = dict(document)
        for key in ("original", "population"):
            given = found.get(key)
            if isinstance(given, str):
                found[key] = _seen_from(folder, given)
            elif isinstance(given, Mapping) and isinstance(given.get("source"), str):
                found[key] = {**given, "source": _seen_from(folder, given["source"])}
        for key in ("prior", "taxonomies", "released", "released_of"):
            if isinstance(given := found.get(key), Mapping):
                found[key] = {
                    name: item if as_share(item) is not None else _paths_seen_from(folder, item)
                    for name, item in given.items()
                }
            else:
                found[key] = _paths_seen_from(folder, given)
        try:
            return cls(**found)
        except BadInput as error:
            raise BadInput(f"{origin}: [adversary]: {error.message}", hint=error.hint) from None

    def over(self, other: Adversary | None) -> Adversary:
        """What is said here goes before what the other one says, key by key."""
        return self if other is None else replace(other, **self.given)

    @property
    def given(self) -> dict[str, Any]:
        """What is said about her."""
        every = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in every.items() if value is not None}

    def knowledge(self) -> dict[str, Knowledge]:
        """What she rules out or in, by attribute."""
        out, only = cast("ValuesOf", self.rule_out or {}), cast("ValuesOf", self.rule_in or {})
        if both := sorted(set(out) & set(only)):
            raise BadInput(f"values of {both[0]!r} are ruled both out and in", hint="give one of the two")
        known = {name: Knowledge(name, out=values) for name, values in out.items()}
        return known | {name: Knowledge(name, only=values) for name, values in only.items()}

    @property
    def suppression(self) -> wildcards.Suppression:
        """What was said of suppressed cells and of nulls."""
        said: dict[str | None, wildcards.SuppressedAs] = {}
        said.update((self.suppressed or {}).items())
        if self.nulls is not None:
            said[None] = "wildcard" if self.nulls == "wildcard" else "value"
        return said

    @property
    def counted_nulls(self) -> Nulls:
        """Whether rows with nulls are counted; those that are wildcards are."""
        return "drop" if self.nulls == "drop" else "category"

    def without_wildcards(self) -> Nulls:
        """The same where everybody has to be in one class; wildcards are refused."""
        if "wildcard" in self.suppression.values():
            told = "with wildcards a person matches several classes, which only measure and check can count"
            raise BadInput(told, hint="Count such cells as a value of their own here")
        return self.counted_nulls

    @property
    def holding_nothing(self) -> Adversary:
        """The same where what she holds has become columns of the table."""
        return replace(self, released=None, released_of=None)

    def refuse(self, names: Iterable[str], why: str) -> None:
        """An option without effect is refused."""
        for name in names:
            if name in self.given:
                raise BadInput(f"{name}= of the adversary has no effect here: {why}", hint="Leave it out")


def adversary_in_force(given: Adversary | None, of_policy: Adversary | None = None) -> Adversary:
    """The one given by hand, over the policy's."""
    if given is not None and not isinstance(given, Adversary):
        raise BadInput(
            f"the adversary is {type(given).__name__}", hint="give dv.Adversary(...), for example with rule_out="
        )
    her = (given or Adversary()).over(of_policy)
    if her.population_count is not None and her.population is None:
        told = f"population_count={her.population_count!r} is a column of a population, and there is none"
        raise BadInput(told, hint="give the population= too, or leave it out")
    return her


@dataclass(frozen=True)
class Assumptions:
    """What an adversary comes to beside the roles of a table, by attribute; recorded in every result."""

    original: Table | None = None
    original_masses: Mapping[str, Floats] = field(default_factory=dict)
    """The original's mass of each value of an attribute, where the original has been counted over the same values."""
    original_values: Mapping[str, Mapping[str | None, float]] = field(default_factory=dict)
    """The same by the text of each value, where the original is known by its counts alone."""
    priors: Mapping[str, GivenPrior] = field(default_factory=dict)
    knowledge: Mapping[str, Knowledge] = field(default_factory=dict)
    ground: GroundChoice = field(default_factory=GroundChoice)
    recursive_l: int | None = None
    prior_weights: Mapping[str, str] = field(default_factory=dict)
    """Where classes were merged: what their priors were weighted by, for each attribute whose prior depends on the class."""

    @classmethod
    def of(cls, adversary: Adversary, table: Table, roles: Roles) -> Assumptions:
        """Hold what is said about her against the roles of a table, and open her original beside it."""
        adversary.refuse(
            ("released", "released_of"),
            "only measure, check, tradeoff and what publishes judge people in joint classes",
        )
        priors = _by_attribute(adversary.prior, roles)
        return cls(
            original=None if adversary.original is None else read_beside(table, adversary.original),
            priors={name: read_prior(source, name) for name, source in priors.items()},
            knowledge=_known(adversary.knowledge(), roles, "background knowledge"),
            ground=GroundChoice(
                _known(adversary.distances or {}, roles, "a distance"),
                _known(adversary.taxonomies or {}, roles, "a taxonomy"),
                _known(adversary.orders or {}, roles, "an order"),
                _known(adversary.tries or {}, roles, "a number of tries"),
                _known(adversary.within or {}, roles, "a distance of guesses"),
            ),
            recursive_l=adversary.recursive_l,
        )

    @classmethod
    def guessing(cls, guesses: Mapping[str, Mapping[str, Any]]) -> Assumptions:
        """Nothing but when a guess is right, as `guesses` tells it."""
        return cls(ground=GroundChoice(tries=guesses.get("tries", {}), within=guesses.get("within", {})))

    @property
    def guesses(self) -> dict[str, dict[str, Any]]:
        """When a guess is right, where it need not be the value at the first try; by the names that an `Adversary` has for it."""
        told: dict[str, dict[str, Any]] = {"tries": dict(self.ground.tries), "within": dict(self.ground.within)}
        return {name: given for name, given in told.items() if given}

    @property
    def is_default(self) -> bool:
        """Whether every prior is the table's own marginal and nothing is ruled out."""
        return self.original is None and not (
            self.original_masses or self.original_values or self.priors or self.knowledge
        )

    def belief(self, contingency: Contingency, attribute: str, of_original: MarginalOf) -> Belief:
        """Prior and posterior of one attribute."""
        cells = contingency.cells[attribute]
        if attribute in self.priors:
            prior = self.priors[attribute].against(contingency)
        elif attribute in self.original_masses:
            prior = PriorBelief("original", self.original_masses[attribute][None, :])
        elif attribute in self.original_values:
            cells, prior = counted_prior(cells, self.original_values[attribute])
        elif self.original is not None:
            cells, prior = of_original(self.original, cells)
        else:
            prior = PriorBelief("table", cells.marginal[None, :])
        arranged = self.ground.arrange(cells)
        if arranged is not cells:
            codes = [cells.domain.labels.index(label) for label in arranged.domain.labels]
            prior = prior.with_weights(prior.weights[:, codes])
        ground = self.ground.ground(arranged)
        classes = np.arange(len(contingency), dtype=np.int64)
        if attribute in self.knowledge:
            arranged, prior, classes = self.knowledge[attribute].apply(arranged, prior)
        return Belief(arranged, prior, ground, classes, self.recursive_l)

    @property
    def conditional(self) -> dict[str, GivenPrior]:
        """The priors that depend on columns."""
        return {name: prior for name, prior in self.priors.items() if prior.conditions}

    def condition_values(self) -> dict[str, list[str | None]]:
        """Every value of a column that a joint prior knows, whether somebody in the table has it or not."""
        found: dict[str, dict[str | None, None]] = {}
        for prior in self.conditional.values():
            for place, column in enumerate(prior.conditions) if prior.measure == "joint" else ():
                found.setdefault(column, {}).update(dict.fromkeys(key[place] for key in prior.entries))
        return {column: list(values) for column, values in found.items()}

    def as_joint(self, contingency: Contingency) -> Assumptions:
        """The same for classes that are going to merge: conditional priors become joint by the classes of this table."""
        if not self.conditional:
            return self
        priors = {name: prior.as_joint(contingency) for name, prior in self.conditional.items()}
        weights = {
            name: "the joint probabilities" if prior.measure == "joint" else "the table's class sizes"
            for name, prior in self.conditional.items()
        }
        return replace(self, priors={**self.priors, **priors}, prior_weights=weights)

    def known_to(self, columns: Sequence[str]) -> Assumptions:
        """The same for an adversary who knows only these columns; the priors are joint."""
        if not self.conditional:
            return self
        return replace(self, priors={name: prior.known_to(columns) for name, prior in self.priors.items()})

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of a result must know."""
        return tuple(
            f"the prior of {name} was given for each combination of {', '.join(self.priors[name].conditions)}; merged classes "
            f"weigh these by the table's class sizes, for the joint probabilities are not known"
            for name, weights in self.prior_weights.items()
            if weights == "the table's class sizes" and name in self.conditional
        )


def _seen_from(folder: Path, text: str) -> str:
    """A path as seen from a folder; an address, or the name of a table in a catalog, stays as it is."""
    looks_like_a_file = tables.kind_by_name(Path(text)) is not None or any(sign in text for sign in "/\\*?")
    is_path = "://" not in text and (looks_like_a_file or (folder / text).exists())
    return str(folder / text) if is_path else text


def _paths_seen_from(folder: Path, given: Any) -> Any:
    """One path or several, as seen from a folder; what is no path stays as it is."""
    if isinstance(given, list):
        return [_paths_seen_from(folder, item) for item in given]
    return str(folder / given) if isinstance(given, str) else given


def _releases(given: Any) -> tuple[Any, ...]:
    several = tuple(given) if isinstance(given, list | tuple) else (given,)
    for item in several:
        if item is None or isinstance(item, (bool, int, float, bytes, set, frozenset)):
            told = f"released holds {item!r}, which is no release"
            raise BadInput(told, hint="give the folders of releases that are out already, or their tables")
    if not several:
        raise BadInput("released names no release", hint="give the folders of those that are out already")
    return several


def _tables_by_release(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
        hint = "give the table of each, by its folder: {'release-2024': 'patients-2024.csv'}"
        raise BadInput(f"released_of is {type(given).__name__}, which names no releases", hint=hint)
    return given


def _check_prior(given: Any) -> None:
    if given is None or isinstance(given, (str, Path)):
        return
    if isinstance(given, Mapping):
        for item in given.values():
            if as_share(item) is None:
                _check_prior(item)
        return
    if not isinstance(given, Sequence) or not all(isinstance(row, Mapping) for row in given):
        raise BadInput(f"a prior cannot be read from {type(given).__name__}", hint="use a CSV file, a mapping or rows")


def _by_attribute(prior: Any, roles: Roles) -> Mapping[str, Any]:
    """A prior for the only sensitive attribute, or a mapping from attribute to prior."""
    if prior is None:
        return {}
    if isinstance(prior, Mapping) and prior and all(as_share(item) is None for item in prior.values()):
        return _known(prior, roles, "a prior")
    if len(roles.sensitive) != 1:
        hint = "give one for each attribute with prior={...}"
        raise BadInput(f"one prior for {len(roles.sensitive)} sensitive attributes", hint=hint)
    return {roles.sensitive[0]: prior}


def _known(given: Mapping[str, Any], roles: Roles, what: str) -> Mapping[str, Any]:
    for name in given:
        if name not in roles.sensitive:
            told = f"{what} is given for {name!r}, which is not a sensitive attribute here"
            raise BadInput(told, hint=nearest(name, roles.sensitive))
    return given
