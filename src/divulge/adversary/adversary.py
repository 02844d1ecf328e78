# SPDX-License-Identifier: Apache-2.0
"""The adversary as one value: prior, background knowledge, prior releases and ground distances.

An `Adversary` is checked at construction and does not depend on a table. `Assumptions` are the
result of checking an adversary against the roles of one table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from divulge import sources as tables
from divulge.adversary.belief import Belief
from divulge.adversary.ground_distance import Distance, GroundChoice, Taxonomy
from divulge.adversary.guesses import tries_by_attribute, within_by_attribute
from divulge.adversary.prior import (
    ExplicitPrior,
    Knowledge,
    PriorBelief,
    ValuesOf,
    as_share,
    counted_prior,
    read_prior,
    values_by_attribute,
)
from divulge.arguments import arg, arg_name
from divulge.arrays import Floats
from divulge.counting import Cells, Contingency, Nulls, wildcards
from divulge.errors import BadInput, nearest
from divulge.sources import Roles, Table, read_with_engine_of

Values = Mapping[str, Sequence[str | None] | str] | Iterable[str]
NullTreatment = Literal[Nulls, "wildcard"]
MarginalOf = Callable[[Table, Cells], tuple[Cells, PriorBelief]]
"""Function that returns cells over the values of both tables, and the original's marginal."""


@dataclass(frozen=True)
class Adversary:
    """The adversary: prior, background knowledge and prior releases; None means unset.

    Examples:
        >>> Adversary(rule_out={"disease": "flu"}, nulls="drop").over(
        ...     Adversary(nulls="category", recursive_l=2)
        ... ).nulls
        'drop'
    """

    original: Any = field(default=None, repr=False)  # an address may contain a password
    """The original of a published table (a path or a table); its marginal is the prior."""
    prior: Any = None
    """A CSV file, a mapping {value: probability} or rows; or one of these for each attribute."""
    rule_out: Values | None = None
    """Values that the adversary rules out: {attribute: values}, or texts "attribute=value"."""
    rule_in: Values | None = None
    """The only values that the adversary considers possible."""
    distances: Mapping[str, Distance] | None = None
    """The ground distance of t-closeness by attribute: equal, ordered or hierarchical."""
    taxonomies: Mapping[str, Taxonomy] | None = None
    """The tree of a hierarchical distance by attribute."""
    orders: Mapping[str, Sequence[str]] | None = None
    """The order of a text attribute's values from low to high."""
    tries: Mapping[str, int] | None = None
    """The number of guesses of an attribute's value that the adversary may make, by attribute.

    A vulnerability is the probability that one guess is right. The default is 1.
    """
    within: Mapping[str, float] | None = None
    """The largest error of a right guess, by attribute: of numbers, or of dates in days.

    By default a guess must be the exact value.
    """
    population: Any = field(default=None, repr=False)
    """The population (a path or a table), for journalist risk and k-map."""
    population_count: str | None = None
    """The column of the population with the number of people that a row represents.

    By default a row is one person.
    """
    released: Any = None
    """Prior releases of the same people: one, or a list.

    Each is a folder, a table, or the result of `open_release`.
    """
    released_of: Mapping[str, Any] | None = None
    """The original table of a prior release, if that was an earlier state of the table.

    The key is the release's folder, or the last part of its path.
    """
    nulls: NullTreatment | None = None
    """The treatment of nulls: "category", "drop" or "wildcard".

    A null is a category of its own (the default), its row is left out, or it matches anything.
    """
    suppressed: Mapping[str, wildcards.SuppressedAs] | None = None
    """Texts in suppressed cells, such as "*", and their meaning: "wildcard" or "value".

    A wildcard matches anything; a value is a category of its own.
    """
    recursive_l: int | None = None
    """The l of recursive (c,l)-diversity; the default is the table's own distinct l."""

    def __post_init__(self) -> None:
        for name in ("original", "population"):
            setting = getattr(self, name)
            if isinstance(setting, (bool, int, float, bytes, list, tuple, set, frozenset)):
                raise BadInput(
                    f"{arg_name(name)} is {type(setting).__name__}, not a table",
                    hint="give a path, a frame or a table",
                )
        if self.population_count is not None and not isinstance(self.population_count, str):
            raise BadInput(
                f"{arg_name('population_count')} is {self.population_count!r}",
                hint="name a column of the population",
            )
        _check_prior(self.prior)
        for name in ("rule_out", "rule_in"):
            setting = getattr(self, name)
            if setting is not None:
                object.__setattr__(self, name, values_by_attribute(setting, name))
        self.knowledge()
        self._check_distances()
        checks: dict[str, Callable[[Any], Any]] = {
            "tries": tries_by_attribute,
            "within": within_by_attribute,
            "released": _check_releases,
        }
        checks["released_of"] = _check_originals
        for name, check in checks.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check(getattr(self, name)))
        if self.nulls is not None and self.nulls not in get_args(NullTreatment):
            raise BadInput(
                f"{arg('nulls', self.nulls)} is not known",
                hint="use 'category', 'drop' or 'wildcard'",
            )
        self._check_suppressed()
        l_value: Any = self.recursive_l
        if l_value is not None and (
            isinstance(l_value, bool) or not isinstance(l_value, int) or l_value < 1
        ):
            raise BadInput(
                f"{arg('recursive_l', l_value)} is not possible",
                hint="l is a whole number, at least 1",
            )

    def _check_suppressed(self) -> None:
        if self.suppressed is None:
            suppressed_cells: Any = {}
        else:
            suppressed_cells = self.suppressed
        if not isinstance(suppressed_cells, Mapping):
            hint = (
                "give what stands in such cells and how it is meant, for example {'*': 'wildcard'}"
            )
            raise BadInput(f"suppressed is {suppressed_cells!r}", hint=hint)
        for text, meaning in suppressed_cells.items():
            if not isinstance(text, str) or meaning not in get_args(wildcards.SuppressedAs):
                raise BadInput(
                    f"{text!r} suppressed as {meaning!r} is not known",
                    hint="use wildcard or value for a text",
                )

    def _check_distances(self) -> None:
        for name, content in (
            ("distances", "a kind"),
            ("taxonomies", "a file or a tree"),
            ("orders", "its values"),
        ):
            mapping = getattr(self, name)
            if mapping is not None and not (
                isinstance(mapping, Mapping) and all(isinstance(key, str) for key in mapping)
            ):
                raise BadInput(
                    f"{arg_name(name)} is {mapping!r}",
                    hint=f"give a mapping from attribute to {content}",
                )
        for attribute, kind in (self.distances or {}).items():
            if kind not in get_args(Distance):
                message = f"{kind!r} is not a ground distance, and was asked for {attribute!r}"
                raise BadInput(message, hint="use equal, ordered or hierarchical")
        for attribute, order in (self.orders or {}).items():
            if isinstance(order, str) or not isinstance(order, Sequence):
                raise BadInput(
                    f"the order of {attribute!r} is {order!r}",
                    hint="list its values from low to high",
                )

    @classmethod
    def from_document(cls, document: Any, *, origin: str, folder: Path) -> Adversary:
        """Build an adversary from the table [adversary] of a policy file.

        Paths in it are relative to the file's folder.
        """
        if not isinstance(document, Mapping):
            raise BadInput(f"{origin}: 'adversary' must be a table, not {document!r}")
        field_names = [item.name for item in fields(cls)]
        for key in document:
            if key not in field_names:
                raise BadInput(
                    f"{origin}: unknown key {key!r} in [adversary]", hint=nearest(key, field_names)
                )
        settings = dict(document)
        for key in ("original", "population"):
            setting = settings.get(key)
            if isinstance(setting, str):
                settings[key] = _resolve_path(folder, setting)
            elif isinstance(setting, Mapping) and isinstance(setting.get("source"), str):
                settings[key] = {**setting, "source": _resolve_path(folder, setting["source"])}
        for key in ("prior", "taxonomies", "released", "released_of"):
            if isinstance(setting := settings.get(key), Mapping):
                settings[key] = {
                    name: item if as_share(item) is not None else _resolve_paths(folder, item)
                    for name, item in setting.items()
                }
            else:
                settings[key] = _resolve_paths(folder, setting)
        try:
            return cls(**settings)
        except BadInput as error:
            raise BadInput(
                f"{origin}: [adversary]: {error.message.marked}", hint=error.hint
            ) from None

    def over(self, other: Adversary | None) -> Adversary:
        """Merge with another adversary, key by key; the settings of this one take precedence."""
        if other is None:
            return self
        return replace(other, **self.explicit_settings)

    @property
    def explicit_settings(self) -> dict[str, Any]:
        """The settings that are not None."""
        settings = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in settings.items() if value is not None}

    def knowledge(self) -> dict[str, Knowledge]:
        """Background knowledge by attribute: the values ruled out, or the only possible values."""
        ruled_out = cast("ValuesOf", self.rule_out or {})
        ruled_in = cast("ValuesOf", self.rule_in or {})
        if contradictory := sorted(set(ruled_out) & set(ruled_in)):
            raise BadInput(
                f"values of {contradictory[0]!r} are ruled both out and in",
                hint="give one of the two",
            )
        by_attribute = {name: Knowledge(name, out=values) for name, values in ruled_out.items()}
        return by_attribute | {
            name: Knowledge(name, only=values) for name, values in ruled_in.items()
        }

    @property
    def suppression(self) -> wildcards.Suppression:
        """The meaning of suppressed cells and of nulls, where it is set."""
        meanings: dict[str | None, wildcards.SuppressedAs] = {}
        meanings.update((self.suppressed or {}).items())
        if self.nulls is not None:
            if self.nulls == "wildcard":
                meanings[None] = "wildcard"
            else:
                meanings[None] = "value"
        return meanings

    @property
    def counted_nulls(self) -> Nulls:
        """Treatment of rows with nulls in counting; nulls that are wildcards are counted."""
        if self.nulls == "drop":
            return "drop"
        return "category"

    def without_wildcards(self) -> Nulls:
        """Return `counted_nulls`, for operations that put each person into one class.

        Raises BadInput if a suppressed cell or a null is a wildcard.
        """
        if "wildcard" in self.suppression.values():
            message = (
                "with wildcards a person matches several classes, which only measure and check can "
                "count"
            )
            raise BadInput(message, hint="Count such cells as a value of their own here")
        return self.counted_nulls

    @property
    def holding_nothing(self) -> Adversary:
        """This adversary without prior releases, whose classes are columns of the table by now."""
        return replace(self, released=None, released_of=None)

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Raise an error if one of these settings is set, because it would have no effect."""
        for name in names:
            if name in self.explicit_settings:
                raise BadInput(
                    f"{arg(name)} of the adversary has no effect here: {why}", hint="Leave it out"
                )


def adversary_in_force(explicit: Adversary | None, of_policy: Adversary | None = None) -> Adversary:
    """Merge the explicit adversary with the policy's; explicit settings take precedence."""
    if explicit is not None and not isinstance(explicit, Adversary):
        raise BadInput(
            f"the adversary is {type(explicit).__name__}",
            hint=f"give dv.Adversary(...), for example with {arg('rule_out')}",
        )
    adversary = (explicit or Adversary()).over(of_policy)
    if adversary.population_count is not None and adversary.population is None:
        message = (
            f"{arg('population_count', adversary.population_count)} is a column of a "
            "population, and "
            "there is none"
        )
        raise BadInput(message, hint=f"give the {arg('population')} too, or leave it out")
    return adversary


@dataclass(frozen=True)
class Assumptions:
    """An adversary's assumptions about one table, by attribute.

    They are recorded in every result.
    """

    original: Table | None = None
    original_masses: Mapping[str, Floats] = field(default_factory=dict)
    """The original's mass of each value by attribute, counted over the same values."""
    original_people: float | None = None
    """The number of people in these masses; None if rows are counted."""
    original_values: Mapping[str, Mapping[str | None, float]] = field(default_factory=dict)
    """The original's mass of each value by attribute and text, if only its counts are known."""
    priors: Mapping[str, ExplicitPrior] = field(default_factory=dict)
    knowledge: Mapping[str, Knowledge] = field(default_factory=dict)
    ground: GroundChoice = field(default_factory=GroundChoice)
    recursive_l: int | None = None
    prior_weights: Mapping[str, str] = field(default_factory=dict)
    """The weights of merged priors, for each attribute whose prior depends on the class.

    Set if classes were merged.
    """

    @classmethod
    def of(cls, adversary: Adversary, table: Table, roles: Roles) -> Assumptions:
        """Check an adversary against the roles of a table and open its original."""
        adversary.refuse(
            ("released", "released_of"),
            "only measure, check, tradeoff and what publishes judge people in joint classes",
        )
        priors = _priors_by_attribute(adversary.prior, roles)
        return cls(
            original=None
            if adversary.original is None
            else read_with_engine_of(table, adversary.original),
            priors={name: read_prior(source, name) for name, source in priors.items()},
            knowledge=_check_sensitive(adversary.knowledge(), roles, "background knowledge"),
            ground=GroundChoice(
                _check_sensitive(adversary.distances or {}, roles, "a distance"),
                _check_sensitive(adversary.taxonomies or {}, roles, "a taxonomy"),
                _check_sensitive(adversary.orders or {}, roles, "an order"),
                _check_sensitive(adversary.tries or {}, roles, "a number of tries"),
                _check_sensitive(adversary.within or {}, roles, "a distance of guesses"),
            ),
            recursive_l=adversary.recursive_l,
        )

    @classmethod
    def guessing(cls, guesses: Mapping[str, Mapping[str, Any]]) -> Assumptions:
        """Assumptions that contain only the guess settings (`tries`, `within`)."""
        return cls(
            ground=GroundChoice(tries=guesses.get("tries", {}), within=guesses.get("within", {}))
        )

    @property
    def guesses(self) -> dict[str, dict[str, Any]]:
        """The guess settings `tries` and `within`, where they are set.

        The keys are the names of these settings in `Adversary`.
        """
        by_setting: dict[str, dict[str, Any]] = {
            "tries": dict(self.ground.tries),
            "within": dict(self.ground.within),
        }
        return {name: by_attribute for name, by_attribute in by_setting.items() if by_attribute}

    @property
    def is_default(self) -> bool:
        """True if every prior is the table's own marginal and no values are ruled out."""
        return self.original is None and not (
            self.original_masses or self.original_values or self.priors or self.knowledge
        )

    def belief(self, contingency: Contingency, attribute: str, of_original: MarginalOf) -> Belief:
        """Prior and posterior of one attribute."""
        cells = contingency.cells[attribute]
        if attribute in self.priors:
            prior = self.priors[attribute].against(contingency)
        elif attribute in self.original_masses:
            masses = self.original_masses[attribute][None, :]
            prior = PriorBelief("original", masses, people=self.original_people)
        elif attribute in self.original_values:
            cells, prior = counted_prior(cells, self.original_values[attribute])
        elif self.original is not None:
            cells, prior = of_original(self.original, cells)
        else:
            prior = PriorBelief("table", cells.marginal[None, :])
        ordered_cells = self.ground.arrange(cells)
        if ordered_cells is not cells:
            codes = [cells.domain.labels.index(label) for label in ordered_cells.domain.labels]
            prior = prior.with_weights(prior.weights[:, codes])
        ground = self.ground.ground(ordered_cells)
        classes = np.arange(len(contingency), dtype=np.int64)
        if attribute in self.knowledge:
            ordered_cells, prior, classes = self.knowledge[attribute].apply(ordered_cells, prior)
        return Belief(ordered_cells, prior, ground, classes, self.recursive_l)

    @property
    def conditional(self) -> dict[str, ExplicitPrior]:
        """The priors that depend on columns."""
        return {name: prior for name, prior in self.priors.items() if prior.conditions}

    def condition_values(self) -> dict[str, list[str | None]]:
        """All values of each column in a joint prior, even if nobody in the table has them."""
        values_by_column: dict[str, dict[str | None, None]] = {}
        for prior in self.conditional.values():
            for position, column in enumerate(prior.conditions) if prior.measure == "joint" else ():
                values_by_column.setdefault(column, {}).update(
                    dict.fromkeys(key[position] for key in prior.entries)
                )
        return {column: list(values) for column, values in values_by_column.items()}

    def as_joint(self, contingency: Contingency) -> Assumptions:
        """Convert conditional priors to joint ones, weighted by the classes of this table.

        Required before classes are merged.
        """
        if not self.conditional:
            return self
        priors = {name: prior.as_joint(contingency) for name, prior in self.conditional.items()}
        weights = {
            name: "the joint probabilities"
            if prior.measure == "joint"
            else "the table's class sizes"
            for name, prior in self.conditional.items()
        }
        return replace(self, priors={**self.priors, **priors}, prior_weights=weights)

    def known_to(self, columns: Sequence[str]) -> Assumptions:
        """Marginalize the joint priors to these columns, the only ones the adversary knows."""
        if not self.conditional:
            return self
        return replace(
            self, priors={name: prior.known_to(columns) for name, prior in self.priors.items()}
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of a result."""
        return tuple(
            f"the prior of {name} was given for each combination of "
            f"{', '.join(self.priors[name].conditions)}; merged classes "
            f"weigh these by the table's class sizes, for the joint probabilities are not known"
            for name, weights in self.prior_weights.items()
            if weights == "the table's class sizes" and name in self.conditional
        )


def _resolve_path(folder: Path, text: str) -> str:
    """Resolve a path against a folder.

    An address, or the name of a table in a catalog, stays as it is.
    """
    looks_like_a_file = tables.kind_by_name(Path(text)) is not None or any(
        sign in text for sign in "/\\*?"
    )
    is_path = "://" not in text and (looks_like_a_file or (folder / text).exists())
    if is_path:
        return str(folder / text)
    return text


def _resolve_paths(folder: Path, paths: Any) -> Any:
    """Resolve one path or several against a folder; other values stay as they are."""
    if isinstance(paths, list):
        return [_resolve_paths(folder, item) for item in paths]
    if isinstance(paths, str):
        return str(folder / paths)
    return paths


def _check_releases(releases: Any) -> tuple[Any, ...]:
    if isinstance(releases, list | tuple):
        release_list = tuple(releases)
    else:
        release_list = (releases,)
    for item in release_list:
        if item is None or isinstance(item, (bool, int, float, bytes, set, frozenset)):
            message = f"released holds {item!r}, which is no release"
            raise BadInput(
                message, hint="give the folders of releases that are out already, or their tables"
            )
    if not release_list:
        raise BadInput(
            "released names no release", hint="give the folders of those that are out already"
        )
    return release_list


def _check_originals(tables: Any) -> Mapping[str, Any]:
    if (
        not isinstance(tables, Mapping)
        or not tables
        or not all(isinstance(name, str) for name in tables)
    ):
        hint = "give the table of each, by its folder: {'release-2024': 'patients-2024.csv'}"
        raise BadInput(
            f"{arg_name('released_of')} is {type(tables).__name__}, which names no releases",
            hint=hint,
        )
    return tables


def _check_prior(prior: Any) -> None:
    if prior is None or isinstance(prior, (str, Path)):
        return
    if isinstance(prior, Mapping):
        for item in prior.values():
            if as_share(item) is None:
                _check_prior(item)
        return
    if not isinstance(prior, Sequence) or not all(isinstance(row, Mapping) for row in prior):
        raise BadInput(
            f"a prior cannot be read from {type(prior).__name__}",
            hint="use a CSV file, a mapping or rows",
        )


def _priors_by_attribute(prior: Any, roles: Roles) -> Mapping[str, Any]:
    """Priors by attribute; a single prior belongs to the only sensitive attribute."""
    if prior is None:
        return {}
    if (
        isinstance(prior, Mapping)
        and prior
        and all(as_share(item) is None for item in prior.values())
    ):
        return _check_sensitive(prior, roles, "a prior")
    if len(roles.sensitive) != 1:
        hint = f"give one for each attribute with {arg('prior', example='{...}')}"
        raise BadInput(f"one prior for {len(roles.sensitive)} sensitive attributes", hint=hint)
    return {roles.sensitive[0]: prior}


def _check_sensitive(
    by_attribute: Mapping[str, Any], roles: Roles, setting: str
) -> Mapping[str, Any]:
    for name in by_attribute:
        if name not in roles.sensitive:
            subject = arg_name(setting) if setting.isidentifier() else setting
            message = f"{subject} is given for {name!r}, which is not a sensitive attribute here"
            raise BadInput(message, hint=nearest(name, roles.sensitive))
    return by_attribute
