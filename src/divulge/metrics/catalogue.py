# SPDX-License-Identifier: Apache-2.0
"""What a metric is (a plain function, and the facts about it that searches, policies, views and tests need), and METRICS: all of them.

They stand in the order in which people read them. Commands, policies, searches, reports, documentation and the law tests loop over this
tuple; there is no other registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from divulge.arrays import Floats, Ints
from divulge.belief import Belief
from divulge.errors import BadInput, nearest
from divulge.metrics import bounds, closeness, dense, identity, information
from divulge.metrics import closeness as diversity
from divulge.metrics.bounds import Leaves
from divulge.metrics.dense import DenseSums
from divulge.metrics.identity import Identity

View = TypeVar("View")
Scope = Literal["identity", "sensitive"]
LooksAt = Literal["class", "class within the table", "table"]
RankingTable = Literal["combinations", "growth"]
TOLERANCE = 1e-9
"""Thresholds are compared with this slack: eq. 6 of Bezzi 2010 is met with equality on its own example."""


def worst_first(badness: Floats, sizes: Any, *, most: int) -> Ints:
    """The positions of the largest numbers, largest first; in a tie the larger class goes first, then the first one.

    Numbers that agree to 12 digits are a tie: engines add up in different orders. A class without a number (nan) is none of the worst.
    """
    rounded = np.round(badness, 12)
    chosen = np.flatnonzero(~np.isnan(rounded))
    if len(chosen) > most > 0:
        least = np.partition(rounded[chosen], len(chosen) - most)[len(chosen) - most]
        chosen = chosen[rounded[chosen] >= least]
    order: Ints = np.lexsort((chosen, -sizes[chosen], -rounded[chosen]))
    return chosen[order[:most]]


def as_it_is(values: Floats) -> Floats:
    """The numbers themselves."""
    return values


@dataclass(frozen=True)
class Convex:
    """What is convex in the posterior and may not exceed the bound: it bounds how many people of a breaking class must be left out."""

    scale: Callable[[Floats], Floats] = as_it_is
    """From the promised number (and its bound) to what is convex."""
    half: Callable[[Any], Floats] | None = None
    """The convex one of two halves, where the number as a whole is not convex; of the view."""


@dataclass(frozen=True)
class Metric(Generic[View]):
    """One number for a table and, where that exists, one for each class."""

    name: str
    scope: Scope
    """identity: who is this? sensitive: what does this person have?"""
    symbol: str
    unit: str
    worse: Literal["high", "low"]
    """Which end is worse for the people in the table."""
    monotone: bool
    """Merging classes never makes it worse, so a search may prune by it."""
    source: str
    """Paper and definition."""
    plain: str
    """One sentence for people who do not know the symbol."""
    formula: str = ""
    """As it is typed: `frac{}{}`, `sqrt{}`, `_` and `^`, names and signs between spaces; the reference page says what each letter is."""
    per_class: Callable[[View], Floats] | None = None
    of_table: Callable[[View], float] | None = None
    """The table's number where it is not the worst class's, for example an average."""
    needs_population: bool = False
    overlapping: bool = False
    """Told with wildcards too, where a person may match several classes: it looks at how many people each one matches."""
    kind: Literal["risk", "limit", "description"] = "risk"
    """A risk can be promised; a limit is a bound to set promises by; a description only describes."""
    against_prior: bool = False
    """It compares with the prior. Where that depends on the class it changes as classes merge, and what is proved for one prior is not."""
    strict: bool = False
    """A promise needs a value strictly below its bound (recursive diversity: r1 < c * tail)."""
    takes_l: bool = False
    """A promise gives an l beside the bound (recursive diversity)."""
    by_distance: bool = False
    """It depends on the ground distance between values (t-closeness)."""
    by_guess: bool = False
    """It depends on when a guess is right: how near it must be, and how many tries there are."""
    within_table: bool = False
    """The number of a class changes when other classes are left out; otherwise it depends on the class and the prior alone."""
    absorbing: bool = False
    """A class that keeps a bound still does when others are merged in, so no part of a breaking class keeps it."""
    convex: Convex | None = None
    """What a class that breaks a bound proves about its parts, by convexity."""
    links: bool = False
    """The chance that a record is tied to the person whose it is: what reviewers call linkability."""
    leads: bool = False
    """Where nobody says by which metric, classes are listed by this one; one for each scope."""
    common: int = 0
    """The place among the promises that are made so often that the help of commands has a flag for them; 0: none."""
    begins_at: float | None = None
    """The bound that a new policy begins with; None: it is no part of one."""
    sql: str = ""
    """Its number of a class in plain SQL, over what `divulge dbt` sums up of the class; empty: it is no test there."""
    orders_rankings: bool = False
    """Sets of columns are ordered and pruned by it: a column never lowers it, and adds least to the largest set (submodular)."""
    ranked: str = ""
    """The head of its column where quasi-identifiers are ranked; empty: it is no part of a ranking."""
    ranked_in: tuple[RankingTable, ...] = ("combinations", "growth")
    """The tables of a ranking that show it; its document holds it anyway."""
    dense: Callable[[DenseSums], float] | None = None
    """A faster way to the table's number, from a dense table of values by classes; None: from the belief, as everywhere else."""
    leaves: Leaves | None = None
    """The most that a promise leaves to a guess by somebody who knows the class of a person; None: it promises nothing about guesses."""

    @property
    def looks_at(self) -> LooksAt:
        """What a promise about it is held against: an average is kept or broken by the table, not by a class."""
        if self.per_class is None or self.of_table is not None:
            return "table"
        return "class within the table" if self.within_table else "class"

    def value(self, view: View) -> tuple[float, int | None]:
        """The table's number and the position of the worst class, if classes have one of their own."""
        numbers = None if self.per_class is None else self.per_class(view)
        worst = None if numbers is None else self.first_worst(numbers)
        return self._of_table(view, numbers), worst

    def table_value(self, view: View) -> float:
        """The table's number alone."""
        return self._of_table(view, None)

    def _of_table(self, view: View, numbers: Floats | None) -> float:
        """The table's number, where those of its classes may be known."""
        if self.of_table is not None:
            return self.of_table(view) + 0.0  # -0.0 + 0.0 is 0.0
        if numbers is None and self.per_class is not None:
            numbers = self.per_class(view)
        if numbers is None:
            raise TypeError(f"metric {self.name} has neither a class nor a table function")
        return self.worst(numbers)

    def worst(self, numbers: Floats) -> float:
        """Of numbers of classes."""
        return float(numbers.max() if self.worse == "high" else numbers.min()) + 0.0  # -0.0 + 0.0 is 0.0

    def first_worst(self, numbers: Floats) -> int:
        """The first class that has the worst number but for rounding, so that engines name the same class."""
        badness = numbers if self.worse == "high" else -numbers
        worst = badness.max()
        slack = 1e-12 * max(abs(worst), 1.0) if np.isfinite(worst) else 0.0
        return int(np.argmax(badness >= worst - slack))

    @property
    def sign(self) -> str:
        """What stands between the metric and its bound."""
        return "<" if self.strict else ("<=" if self.worse == "high" else ">=")

    def holds(self, value: Any, bound: float) -> Any:
        """Whether a value (or an array of them) keeps a bound, with the common tolerance."""
        if self.strict:
            return value < bound - TOLERANCE
        return value <= bound + TOLERANCE if self.worse == "high" else value >= bound - TOLERANCE


# --- all of them ------------------------------------------------------------------------------------------------------
_AFIFI, _BEZZI, _BKAKRIA = "Afifi et al. 2018", "Bezzi 2010", "Bkakria et al. 2021"
_SMITH, _ALVIM, _BRAUN = "Smith 2009", "Alvim et al. 2012", "Braun et al. 2009"
IDENTITY: tuple[Metric[Identity], ...] = (
    Metric("k_anonymity", "identity", "k", "people", "low", True, "Sweeney 2002",
           "the fewest people who share one combination of quasi-identifiers", per_class=identity.size,
           absorbing=True, overlapping=True, leads=True, ranked="k", common=1, begins_at=5, leaves=bounds.one_of, sql="class_size",
           formula="min_c n_c"),
    Metric("classes", "identity", "q", "classes", "high", True, f"{_AFIFI}, Def. 1",
           "how many combinations of quasi-identifiers occur", of_table=identity.class_count, kind="description", ranked="classes",
           formula="q"),
    Metric("mean_class_size", "identity", "n/q", "people", "low", True, "LeFevre et al. 2006",
           "people per class on average", of_table=identity.mean_size, kind="description", formula="frac{n}{q}"),
    Metric("median_class_size", "identity", "", "people", "low", False, "",
           "half of the classes are no larger than this", of_table=identity.median_size, kind="description", formula="median_c n_c"),
    Metric("largest_class_size", "identity", "", "people", "low", True, "",
           "people in the largest class", of_table=identity.largest_size, kind="description", formula="max_c n_c"),
    Metric("uniques", "identity", "", "people", "high", True, "Dalenius 1986",
           "people who are alone in their class", of_table=identity.uniques, overlapping=True, ranked="uniques",
           formula="sum_{c : n_c = 1} n_c"),
    Metric("prosecutor_risk", "identity", "1/k", "probability", "high", True, "El Emam and Dankar 2008",
           "the best chance to pick the record of somebody known to be in the table", per_class=identity.prosecutor_risk, absorbing=True,
           overlapping=True, links=True, leaves=bounds.as_promised, formula="max_c frac{1}{n_c}"),
    Metric("marketer_risk", "identity", "q/n", "probability", "high", True, "Dankar and El Emam 2010",
           "the share of records matched rightly when everybody is matched at random within the class", of_table=identity.marketer_risk,
           links=True, leaves=bounds.as_promised, formula="frac{q}{n}"),
    Metric("journalist_risk", "identity", "1/K", "probability", "high", True, "El Emam and Dankar 2008",
           "the best chance to pick the right record when only the population is known",
           per_class=identity.journalist_risk, needs_population=True, absorbing=True, links=True,
           leaves=bounds.as_promised, formula="max_c E [ frac{1}{N_c} | n_c ]"),
    Metric("k_map", "identity", "K", "people", "low", True, "Sweeney 2001",
           "the fewest people of the population behind one class", per_class=identity.population_size, needs_population=True,
           absorbing=True, common=6, leaves=bounds.one_of, formula="min_c frac{1}{E [ 1 / N_c | n_c ]}"),
    Metric("journalist_risk_plug_in", "identity", "1/K'", "probability", "high", True, "El Emam and Dankar 2008",
           "the same with 1 / the sum of weights for the chance: too low where the population is estimated",
           per_class=identity.journalist_risk_plug_in, needs_population=True, absorbing=True, formula="max_c frac{1}{sum_{i in c} u_i}"),
    Metric("k_map_plug_in", "identity", "K'", "people", "low", True, "Sweeney 2001",
           "the same with the sum of weights for the people: too high where the population is estimated",
           per_class=identity.population_plug_in,
           needs_population=True, absorbing=True, formula="min_c sum_{i in c} u_i"),
    Metric("log2_k", "identity", "H(X|x)", "bits", "low", True, f"{_BEZZI}, eq. 5",
           "the fewest bits that still hide a person, log2 k", per_class=identity.hidden_bits, absorbing=True,
           leaves=bounds.one_of_bits, formula="min_c log_2 n_c"),
    Metric("shannon_conditional_entropy", "identity", "H(X|X~)", "bits", "low", True, "Shannon 1948",
           "the bits that still hide a person on average", of_table=information.remaining_entropy, formula="sum_c frac{n_c}{n} log_2 n_c"),
    Metric("specific_information", "identity", "I2(X,x)", "bits", "high", True, f"{_BEZZI}, eq. 6",
           "the most bits of somebody's identity that a class gives", per_class=information.entropy_fall, within_table=True,
           formula="max_c log_2 frac{n}{n_c}"),
    Metric("mutual_information", "identity", "I(X;X~)", "bits", "high", True, f"{_BEZZI}, after eq. 6",
           "the bits of identity that the classes give on average", of_table=information.mutual_information,
           formula="I = sum_c frac{n_c}{n} log_2 frac{n}{n_c}"),
    Metric("discrimination_rate", "identity", "DR", "share", "high", True, f"{_BKAKRIA}, eq. 5",
           "the share of the bits that name a person which the classes give on average",
           per_class=information.class_discrimination, of_table=information.discrimination_rate,
           orders_rankings=True, ranked="DR", formula="frac{I}{log_2 n}"),
    Metric("conditional_privacy", "identity", "CP", "share", "high", True, f"{_BKAKRIA}, eq. 7",
           "the share of anonymity lost on average, 1 - 2^-I", of_table=information.conditional_privacy, formula="1 - 2^{- I}"),
    Metric("maximum_information_leakage", "identity", "MIL", "bits", "high", True, f"{_BKAKRIA}, eq. 8, corrected",
           "the most bits of identity that one class gives", per_class=information.entropy_fall, within_table=True,
           formula="max_c log_2 frac{n}{n_c}"),
    Metric("maximum_information_leakage_printed", "identity", "MIL'", "bits", "high", True, f"{_BKAKRIA}, Table 4",
           "MIL as the printed table has it: the class entropy weighted by the class's share", per_class=information.entropy_fall_printed,
           within_table=True, formula="max_c ( log_2 n - frac{n_c}{n} log_2 n_c )"),
    Metric("entropy_l_risk", "identity", "ELD", "probability", "high", True, f"{_BKAKRIA}, 3.3.5, corrected",
           "the certainty that the class with the least entropy leaves, 2^-H", per_class=identity.prosecutor_risk, absorbing=True,
           leaves=bounds.as_promised, formula="max_c 2^{- log_2 n_c}"),
    Metric("itpr", "identity", "ITPR", "share", "high", False, f"{_BKAKRIA}, Defs. 1-2",
           "risk of re-identification by the least entropic class, scaled to 0..1", per_class=information.itpr,
           within_table=True, ranked="ITPR",
           sql="case when people > 1 then 1 - classes * class_size / people * ln(class_size) / ln(people) else 0 end",
           formula="max_c ( 1 - q frac{n_c}{n} frac{log_2 n_c}{log_2 n} )"),
    Metric("itpr_unscaled", "identity", "", "share", "high", True, f"{_BKAKRIA}, eq. 9",
           "ITPR before it is scaled by the number of classes", per_class=information.itpr_unscaled, within_table=True,
           formula="max_c ( 1 - frac{n_c}{n} frac{log_2 n_c}{log_2 n} )"),
    Metric("prior_vulnerability", "identity", "V(X)", "probability", "high", True, _SMITH,
           "the chance to pick somebody's record before anything is known; none can be below it after publication",
           of_table=information.prior_vulnerability, kind="limit", formula="frac{1}{n}"),
    Metric("posterior_vulnerability", "identity", "V(X|X~)", "probability", "high", True, _SMITH,
           "how often the best guess whose record it is is right, over all people (Bayes vulnerability); the marketer's risk",
           per_class=information.class_vulnerability, of_table=information.posterior_vulnerability, links=True, ranked="V", ranked_in=(),
           leaves=bounds.as_promised,
           formula="V = sum_c frac{n_c}{n} frac{1}{n_c}"),
    Metric("additive_leakage", "identity", "L+", "probability", "high", True, _BRAUN,
           "how much more often the best guess whose record it is is right after publication",
           per_class=information.class_additive_leakage, of_table=information.additive_leakage, formula="V - frac{1}{n}"),
    Metric("multiplicative_leakage", "identity", "Lx", "ratio", "high", True, _BRAUN,
           "how many times as often the best guess whose record it is is right after publication",
           per_class=information.class_multiplicative_leakage, of_table=information.multiplicative_leakage,
           formula="frac{V}{1 / n}"),
    Metric("min_entropy_leakage", "identity", "L", "bits", "high", True, _SMITH,
           "the bits by which the best guess whose record it is becomes surer, log2 of the multiplicative leakage",
           of_table=information.min_entropy_leakage, formula="log_2 frac{V}{1 / n}"),
)  # fmt: skip
SENSITIVE: tuple[Metric[Belief], ...] = (
    Metric("l_diversity", "sensitive", "l", "values", "low", True, "Machanavajjhala et al. 2007",
           "the fewest distinct values in a class", per_class=diversity.distinct_l, absorbing=True, common=2, begins_at=2,
           sql="distinct_values",
           formula="min_c | { w : p_{w|c} > 0 } |"),
    Metric("entropy_l_diversity", "sensitive", "2^H", "values", "low", True, f"Machanavajjhala et al. 2007; {_BEZZI}, 2.1",
           "the fewest equally likely values that would leave as much uncertainty", per_class=diversity.entropy_l,
           convex=Convex(diversity.missing_bits), leaves=bounds.of_equally_likely, sql="power(2, entropy)",
           formula="min_c 2^{H ( W | c )}"),
    Metric("recursive_c_l_diversity", "sensitive", "c", "ratio", "high", True, "Machanavajjhala et al. 2007",
           "how far the commonest value outweighs the rarer ones beyond the first l - 1; (c,l)-diversity needs a c above it",
           per_class=diversity.recursive_c, strict=True, takes_l=True,
           leaves=bounds.outweighed, formula="max_c frac{r_1}{r_l + r_{l + 1} + ... + r_m}"),
    Metric("alpha", "sensitive", "alpha", "probability", "high", True, "Wong et al. 2006",
           "the best chance to guess the value of somebody in a class", per_class=diversity.alpha, convex=Convex(),
           leaves=bounds.as_promised,
           formula="max_{c , w} p_{w|c}"),
    Metric("values_ruled_out", "sensitive", "", "values", "high", True, f"{_AFIFI}, Sec. 2 (negative disclosure)",
           "the most values that a class excludes", per_class=diversity.values_ruled_out, absorbing=True, against_prior=True,
           formula="max_c | { w : p_{w|c} = 0 < p_w } |"),
    Metric("t_closeness", "sensitive", "t", "distance", "high", True, "Li et al. 2007",
           "the largest earth mover's distance between a class and the prior", per_class=closeness.t_closeness,
           by_distance=True, convex=Convex(), against_prior=True, common=3, begins_at=0.3,
           leaves=bounds.added, sql="distance",
           formula="max_c frac{1}{2} sum_w | p_{w|c} - p_w |"),
    Metric("basic_beta_likeness", "sensitive", "beta", "ratio", "high", True, "Cao and Karras 2012",
           "the largest relative gain of a value in a class", per_class=closeness.basic_beta, convex=Convex(), against_prior=True,
           leaves=bounds.gained, formula="max_{c , w} frac{p_{w|c} - p_w}{p_w}"),
    Metric("enhanced_beta_likeness", "sensitive", "beta", "ratio", "high", True, "Cao and Karras 2012",
           "the least beta of enhanced beta-likeness; infinite where a value gains more than -ln of its share",
           per_class=closeness.enhanced_beta, against_prior=True,
           leaves=bounds.gained_at_most_logarithm, formula="min { beta : frac{p_{w|c} - p_w}{p_w} <= min ( beta , - ln p_w ) }"),
    Metric("delta_disclosure", "sensitive", "delta", "bits", "high", True, "Brickell and Shmatikov 2008",
           "the largest |log2| of after over before; infinite where a class excludes a value",
           per_class=closeness.delta_disclosure, against_prior=True,
           leaves=bounds.doubled, formula="max_{c , w} | log_2 frac{p_{w|c}}{p_w} |"),
    Metric("delta_disclosure_present", "sensitive", "delta", "bits", "high", False, "Brickell and Shmatikov 2008, as in ARX",
           "the same over the values that occur only", per_class=closeness.delta_disclosure_present, against_prior=True,
           leaves=bounds.doubled, formula="max_{c , w : p_{w|c} > 0} | log_2 frac{p_{w|c}}{p_w} |"),
    Metric("mutual_information", "sensitive", "I(W;X~)", "bits", "high", True, f"{_BEZZI}, eqs. 9, 11",
           "the bits about the attribute that the classes give on average, against the table's own distribution",
           of_table=information.mutual_information,
           ranked="I", ranked_in=("combinations",), dense=dense.mutual_information, formula="I = H ( W ) - sum_c frac{n_c}{n} H ( W | c )"),
    Metric("surprise", "sensitive", "I1", "bits", "high", True, f"{_BEZZI}, eqs. 7-8",
           "how surprising the most surprising class is (Kullback-Leibler from the prior)", per_class=information.surprise,
           convex=Convex(), leads=True, against_prior=True,
           leaves=bounds.surprised, formula="max_c sum_w p_{w|c} log_2 frac{p_{w|c}}{p_w}"),
    Metric("average_surprise", "sensitive", "E[I1]", "bits", "high", True, f"{_BEZZI}, eq. 9",
           "how surprising the classes are on average; with the table's own distribution as prior, the mutual information",
           of_table=information.average_surprise, against_prior=True, formula="sum_c frac{n_c}{n} sum_w p_{w|c} log_2 frac{p_{w|c}}{p_w}"),
    Metric("specific_information", "sensitive", "I2", "bits", "high", True, f"{_BEZZI}, eqs. 3, 10",
           "the largest fall of uncertainty in a class", per_class=information.specific_information, convex=Convex(), against_prior=True,
           leaves=bounds.after_a_fall, formula="max_c ( H ( p ) - H ( W | c ) )"),
    Metric("averaged_information", "sensitive", "I3", "bits", "high", False, f"{_BEZZI}, Table 1",
           "the largest average fall of uncertainty about the class that its values bring", per_class=information.averaged_information,
           within_table=True, formula="max_c sum_w p_{w|c} ( H ( C ) - H ( C | w ) )"),
    Metric("set_information", "sensitive", "I4", "bits", "high", False, f"{_BEZZI}, Table 1",
           "what being in the class or not tells about the attribute, at most", per_class=information.set_information, within_table=True,
           formula="max_c I ( W ; 1_c )"),
    Metric("l_max", "sensitive", "l_max", "values", "low", True, f"{_BEZZI}, eq. 15",
           "the largest entropy l that any generalization can reach, 2^H(W)", of_table=information.largest_l, kind="limit",
           formula="2^{H ( W )}"),
    Metric("l_t", "sensitive", "l_t", "values", "low", True, f"{_BEZZI}, eq. 12",
           "the l that weighs as much as the t reached, 2^(H(W) - t), t read as I1",
           per_class=information.equivalent_l, against_prior=True, kind="limit", formula="min_c 2^{H ( p ) - I_1 ( c )}"),
    Metric("discrimination_rate", "sensitive", "DR", "share", "high", True, f"{_BKAKRIA}, eq. 5",
           "the share of the uncertainty about the attribute that the classes remove on average",
           per_class=information.class_discrimination, of_table=information.discrimination_rate,
           ranked="DR", ranked_in=(), dense=dense.discrimination_rate, formula="frac{I}{H ( W )}"),
    Metric("conditional_privacy", "sensitive", "CP", "share", "high", True, f"{_BKAKRIA}, eq. 7",
           "the share of privacy lost on average, 1 - 2^-I", of_table=information.conditional_privacy, formula="1 - 2^{- I}"),
    Metric("maximum_information_leakage", "sensitive", "MIL", "bits", "high", True, f"{_BKAKRIA}, eq. 8, corrected",
           "the most bits about the attribute that one class gives", per_class=information.entropy_fall, within_table=True,
           formula="max_c ( H ( W ) - H ( W | c ) )"),
    Metric("maximum_information_leakage_printed", "sensitive", "MIL'", "bits", "high", True, f"{_BKAKRIA}, Table 4",
           "MIL as the printed table has it: the class entropy weighted by the class's share",
           per_class=information.entropy_fall_printed, within_table=True, formula="max_c ( H ( W ) - frac{n_c}{n} H ( W | c ) )"),
    Metric("entropy_l_risk", "sensitive", "ELD", "probability", "high", True, f"{_BKAKRIA}, 3.3.5, corrected",
           "the certainty that the class with the least entropy leaves, 2^-H", per_class=information.certainty, convex=Convex(np.log2),
           leaves=bounds.of_certainty, formula="max_c 2^{- H ( W | c )}"),
    Metric("itpr", "sensitive", "ITPR", "share", "high", False, f"{_BKAKRIA}, Defs. 1-2",
           "risk of inference by the least entropic class, scaled to 0..1", per_class=information.itpr,
           within_table=True, ranked="ITPR", ranked_in=("growth",), dense=dense.itpr,
           sql="case when prior_entropy > 0 then 1 - classes * class_size / people * entropy / prior_entropy else 0 end",
           formula="max_c ( 1 - q frac{n_c}{n} frac{H ( W | c )}{H ( W )} )"),
    Metric("itpr_unscaled", "sensitive", "", "share", "high", True, f"{_BKAKRIA}, eq. 9",
           "ITPR before it is scaled by the number of classes", per_class=information.itpr_unscaled, within_table=True,
           formula="max_c ( 1 - frac{n_c}{n} frac{H ( W | c )}{H ( W )} )"),
    Metric("distribution_leakage", "sensitive", "L_D", "distance", "high", True, f"{_AFIFI}, Defs. 6-7",
           "the largest Euclidean distance between prior and posterior belief (epsilon)", per_class=information.distribution_leakage,
           convex=Convex(), ranked="L_D", ranked_in=("combinations",), dense=dense.distribution_leakage, against_prior=True,
           common=5, begins_at=0.5, leaves=bounds.added_in_the_square,
           sql="sqrt(case when squared_distance > 0 then squared_distance else 0 end)",
           formula="max_c sqrt{sum_w ( p_{w|c} - p_w )^2}"),
    Metric("entropy_leakage", "sensitive", "L_E", "bits", "high", False, f"{_AFIFI}, Defs. 9-10",
           "the largest change of uncertainty between prior and posterior belief (alpha)", per_class=information.entropy_leakage,
           convex=Convex(half=information.specific_information), ranked="L_E", ranked_in=("combinations",), dense=dense.entropy_leakage,
           against_prior=True, common=4, begins_at=1.5, leaves=bounds.after_a_fall, sql="abs(prior_entropy - entropy)",
           formula="max_c | H ( p ) - H ( W | c ) |"),
    Metric("prior_vulnerability", "sensitive", "V(W)", "probability", "high", True, f"{_SMITH}; {_ALVIM}",
           "how often the best guess of the attribute is right before publication (Bayes vulnerability of the prior)",
           of_table=information.prior_vulnerability, kind="limit", against_prior=True, by_guess=True, formula="max_w p_w"),
    Metric("posterior_vulnerability", "sensitive", "V(W|X~)", "probability", "high", True, f"{_SMITH}; {_ALVIM}",
           "how often the best guess of the attribute is right, over all people (Bayes vulnerability)",
           per_class=information.class_vulnerability, of_table=information.posterior_vulnerability, by_guess=True,
           leaves=bounds.as_promised, ranked="V", ranked_in=(), dense=dense.posterior_vulnerability,
           formula="V = sum_c frac{n_c}{n} max_w p_{w|c}"),
    Metric("maximum_vulnerability", "sensitive", "", "probability", "high", True, _ALVIM,
           "how often the best guess is right in the class where it is right most often: alpha, or more where a guess may be near",
           per_class=information.class_vulnerability, convex=Convex(), by_guess=True, leaves=bounds.as_promised,
           formula="max_{c , w} p_{w|c}"),
    Metric("additive_leakage", "sensitive", "L+", "probability", "high", True, f"{_BRAUN}; {_ALVIM}",
           "how much more often the best guess of the attribute is right after publication",
           per_class=information.class_additive_leakage, of_table=information.additive_leakage,
           against_prior=True, by_guess=True, formula="V - max_w p_w"),
    Metric("multiplicative_leakage", "sensitive", "Lx", "ratio", "high", True, f"{_BRAUN}; {_ALVIM}",
           "how many times as often the best guess of the attribute is right after publication",
           per_class=information.class_multiplicative_leakage, of_table=information.multiplicative_leakage,
           against_prior=True, by_guess=True, formula="frac{V}{max_w p_w}"),
    Metric("min_entropy_leakage", "sensitive", "L", "bits", "high", True, f"{_SMITH}; {_ALVIM}",
           "the bits by which the best guess of the attribute becomes surer, log2 of the multiplicative leakage",
           of_table=information.min_entropy_leakage, against_prior=True, by_guess=True, formula="log_2 frac{V}{max_w p_w}"),
)  # fmt: skip
METRICS: tuple[Metric[Any], ...] = (*IDENTITY, *SENSITIVE)


_RENAMED = {
    "conditional_entropy": "it was log2 of k, which is log2_k now; Shannon's, an average, is shannon_conditional_entropy"
}


def find_metric(name: str, scope: Scope | None = None) -> Metric[Any]:
    """The metric of that name; one that exists in both scopes means the sensitive attribute unless the scope is given."""
    hits = [metric for metric in METRICS if metric.name == name and scope in (None, metric.scope)]
    if not hits:
        names = sorted({metric.name for metric in METRICS if scope in (None, metric.scope)})
        raise BadInput(f"there is no metric {name!r}", hint=_RENAMED.get(name) or nearest(name, names))
    return hits[-1]


def leading_metric(scope: Scope) -> Metric[Any]:
    """By which classes are listed where nobody says by which."""
    return next(metric for metric in METRICS if metric.scope == scope and metric.leads)


def ordering_metric() -> Metric[Any]:
    """By which sets of quasi-identifiers are ordered."""
    return next(metric for metric in METRICS if metric.orders_rankings)


def ranked_metrics(scope: Scope, shown_in: RankingTable | None = None) -> tuple[Metric[Any], ...]:
    """What a ranking of quasi-identifiers holds, or what one of its tables shows."""
    return tuple(
        metric
        for metric in METRICS
        if metric.scope == scope and metric.ranked and (shown_in is None or shown_in in metric.ranked_in)
    )
