# SPDX-License-Identifier: Apache-2.0
"""Inference attacks: guesses of a sensitive value from the rows that match a person.

See Machanavajjhala et al. 2007 and Li et al. 2007. The posterior of a value is its share among the
matching rows. Each attack is a rule that chooses one value for each target, or none. The original
is used only to score the guesses after all have been made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import adversary, arrays, queries, releases
from divulge.arrays import Bools, Floats, Ints
from divulge.attacks.context import AttackContext, People
from divulge.attacks.linkage import at_risk, right_rows
from divulge.attacks.matching import Matches, Shares
from divulge.attacks.result import Aim, Attempt, Bound, KnowledgeResult, Rate
from divulge.counting import Cells, Domain, EncodedColumn, encode
from divulge.errors import BadInput, nearest
from divulge.hierarchies import Hierarchy, read_hierarchy
from divulge.sources import Kind


# --- gains ----------------------------------------------------------------------------------------
# Several guesses of a value, or a guess near it: gain functions (Alvim et al. 2012), simulated as
# an attack. The guesses are those that define the vulnerability of a class (`belief.Guess`). So the
# success rate equals that metric if all people are attacked, and is near it for a sample.
@dataclass(frozen=True, eq=False)
class Gain:
    """Success criterion of guesses with several tries or a tolerance."""

    guess: adversary.Guess
    domain: Domain
    of_label: Ints = field(repr=False)
    """Position of each value of the release in the domain."""
    position_of_text: dict[queries.Text, int] = field(repr=False)
    """Position of each text of the release and of the original in the domain."""

    @classmethod
    def of(cls, context: AttackContext, about: str) -> Gain | None:
        """Read the criterion from the adversary; None for a single exact guess."""
        tries, within = (
            (guess_settings or {}).get(about)
            for guess_settings in (context.adversary.tries, context.adversary.within)
        )
        if within is None and tries in (None, 1):
            return None
        labels = context.matcher.labels(about)
        texts = list(labels)
        for people in (context.targets, context.controls):
            if people is not None and about in people.truth.column_names:
                texts += people.truth[about].unique().to_pylist()
        kind = context.release.column(about).kind
        encoded = _encode_texts(about, texts, kind if within is not None else "text")
        codes = encoded.int64_codes
        domain = Domain(about, encoded.domain.values, kind)
        guess = adversary.Guess.of(domain, tries=int(tries or 1), within=within)
        return cls(
            guess, domain, codes[: len(labels)], dict(zip(texts, codes.tolist(), strict=True))
        )

    def best_guesses(self, shares: Shares, tuples: int) -> tuple[Ints, Floats]:
        """Compute the guesses for each tuple, and the posterior that one of them is right.

        A guess is the first value of its window, in the codes of `shares`; -1 for none.
        """
        guesses = np.full((tuples, self.guess.tries), -1, dtype=np.int64)
        confidence = np.zeros(tuples)
        if not len(shares.tuple_):
            return guesses, confidence
        order = np.lexsort((self.of_label[shares.value], shares.tuple_))
        matched_tuples, first_positions = np.unique(shares.tuple_[order], return_index=True)
        start = np.append(first_positions, len(order)).astype(np.int64)
        cells = Cells(self.domain, start, self.of_label[shares.value[order]], shares.records[order])
        first_values = self.guess.begins(cells)
        guesses[matched_tuples] = np.where(first_values >= 0, shares.value[order][first_values], -1)
        confidence[matched_tuples] = self.guess.best(cells) / cells.totals
        return guesses, confidence

    def is_right(self, guesses: Ints, truth: Sequence[queries.Text]) -> Bools:
        """Mark the people whose true value is in one of the windows of their guesses."""
        true_codes = np.array([self.position_of_text[text] for text in truth], dtype=np.int64)[
            :, None
        ]
        first_values = self.of_label[guesses]
        if self.guess.reach is None:
            last_values = first_values
        else:
            last_values = self.guess.reach[first_values]
        return np.asarray(
            ((guesses >= 0) & (first_values <= true_codes) & (true_codes <= last_values)).any(
                axis=1
            )
        )


def _encode_texts(about: str, texts: Sequence[queries.Text], kind: Kind) -> EncodedColumn:
    """Encode the value that each text represents, in ascending order with null as the last one."""
    stored = {"number": pa.float64(), "date": pa.timestamp("us")}.get(kind, pa.string())
    try:
        values = pc.cast(pa.array(texts, pa.string()), stored)
    except pa.ArrowInvalid as error:
        message = f"within is given for {about!r}, which has values of another kind in the truth"
        raise BadInput(message, hint="Give both tables the same kind of values") from error
    return encode(values, name=about, kind=kind)


# --- inference ------------------------------------------------------------------------------------
_CERTAIN = 1 - 1e-12


@dataclass(frozen=True, eq=False)
class Guesses:
    """Guess for each tuple: the code of a value, or -1 for no guess, and its confidence."""

    value: Ints
    belief: Floats


Rule = Callable[["RuleInput"], Guesses]


@dataclass(frozen=True, eq=False)
class RuleInput:
    """Input of a rule: the matches of each tuple and the prior, without the true values."""

    context: AttackContext
    people: People
    matches: Matches
    about: str
    prior: Floats

    @property
    def shares(self) -> Shares:
        """Values among the matching rows."""
        return self.matches.shares[self.about]

    @property
    def belief(self) -> Floats:
        """Share among the matching rows of each pair of a tuple and a value of `shares`."""
        return self.shares.records / self.matches.rows[self.shares.tuple_]

    def best(self, score: Floats, belief: Floats, keep: Bools | None = None) -> Guesses:
        """Choose the value with the highest score for each tuple; ties go to the higher prior."""
        candidates = np.flatnonzero(score > 0 if keep is None else keep & (score > 0))
        tuples = self.shares.tuple_[candidates]
        values = self.shares.value[candidates]
        # Engines add up in different orders, so scores that agree to 12 digits count as equal.
        order = np.lexsort((values, -self.prior[values], -np.round(score[candidates], 12), tuples))
        first = order[arrays.run_starts(tuples[order])]
        best_values = np.full(len(self.matches.rows), -1, dtype=np.int64)
        confidence = np.zeros(len(self.matches.rows))
        best_values[tuples[first]], confidence[tuples[first]] = (
            values[first],
            belief[candidates][first],
        )
        return Guesses(best_values, confidence)


# --- rules ----------------------------------------------------------------------------------------
def _likeliest(rule_input: RuleInput) -> Guesses:
    return rule_input.best(rule_input.belief, rule_input.belief)


def _homogeneous(rule_input: RuleInput) -> Guesses:
    return rule_input.best(rule_input.belief, rule_input.belief, rule_input.belief >= _CERTAIN)


def _most_gained(rule_input: RuleInput) -> Guesses:
    """Choose the value with the largest ratio of posterior to prior."""
    priors = rule_input.prior[rule_input.shares.value]
    gain = np.divide(rule_input.belief, priors, out=np.full(len(priors), np.inf), where=priors > 0)
    return rule_input.best(gain, rule_input.belief, gain > 1 + 1e-12)


def _likeliest_with_background(rule_input: RuleInput) -> Guesses:
    """Choose the likeliest value after excluded values and an auxiliary table are considered."""
    weight = (
        rule_input.belief * _lift(rule_input) * _is_possible(rule_input)[rule_input.shares.value]
    )
    total = arrays.sum_by_id(rule_input.shares.tuple_, weight, len(rule_input.matches.rows))
    belief = weight / np.maximum(total[rule_input.shares.tuple_], np.finfo(float).tiny)
    return rule_input.best(belief, belief)


def _is_possible(rule_input: RuleInput) -> Floats:
    knowledge = rule_input.context.adversary.knowledge().get(rule_input.about)
    labels = rule_input.shares.values
    if knowledge is None:
        return np.ones(len(labels))
    for value in (*knowledge.out, *knowledge.only):
        if value not in labels:
            message = f"{rule_input.about!r} has no value {value!r} in the release"
            raise BadInput(
                message, hint=nearest(str(value), [label for label in labels if label is not None])
            )
    return np.array(
        [
            float(label in knowledge.only if knowledge.only else label not in knowledge.out)
            for label in labels
        ]
    )


def _lift(rule_input: RuleInput) -> Floats:
    """Compute the lift of values by the auxiliary table: (n(w, x) + p(w)) / (n(x) + 1) over p(w).

    w is the sensitive value, and x the known values that the target shares with that table.
    """
    table = rule_input.context.background
    engine = rule_input.context.engine
    about = rule_input.about
    if table is None or not table.has(about):
        return np.ones(len(rule_input.shares.value))
    common = [name for name in rule_input.context.knows if table.has(name)]
    first = rule_input.people.known_values.select(common).take(pa.array(rule_input.matches.first))
    tuple_relation = engine.lend(
        pa.table(
            {"id": np.arange(len(rule_input.matches.first))}
            | {f"c{position}": first[name] for position, name in enumerate(common)}
        )
    )
    code_of_text = {text: code for code, text in enumerate(rule_input.shares.values)}
    quoted = [engine.cast(engine.quote(name), "VARCHAR") for name in common]
    cell_list = "".join(f", {cell} AS c{position}" for position, cell in enumerate(quoted))
    rows = (
        f"SELECT {engine.cast(engine.quote(about), 'VARCHAR')} AS s{cell_list} FROM "
        f"{table.relation}"
    )
    join_condition = (
        " AND ".join(f"b.c{position} = t.c{position}" for position in range(len(common))) or "1 = 1"
    )
    similar_people = engine.query(
        f"SELECT t.id AS id, b.s AS s, COUNT(*) AS n FROM {tuple_relation} AS t JOIN ({rows}) AS b "
        f"ON {join_condition} GROUP BY 1, 2"
    )
    overall = engine.query(f"SELECT s, COUNT(*) AS n FROM ({rows}) AS b GROUP BY 1")
    background_shares = np.zeros(len(code_of_text))
    for text, n in zip(overall["s"].to_pylist(), overall["n"].to_pylist(), strict=True):
        if text in code_of_text:
            background_shares[code_of_text[text]] = n
    background_shares /= max(sum(overall["n"].to_pylist()), 1)
    ids = similar_people["id"].to_numpy()
    counts = similar_people["n"].to_numpy().astype(np.float64)
    codes = np.array(
        [code_of_text.get(text, -1) for text in similar_people["s"].to_pylist()], dtype=np.int64
    )
    if len(ids):
        people = arrays.sum_by_id(ids, counts, len(rule_input.matches.first))
    else:
        people = np.zeros(len(rule_input.matches.first))
    key = rule_input.shares.tuple_ * len(code_of_text) + rule_input.shares.value
    pair_keys = ids * len(code_of_text) + codes
    is_in_release = codes >= 0
    order = np.argsort(pair_keys[is_in_release])
    sorted_keys = pair_keys[is_in_release][order]
    sorted_counts = counts[is_in_release][order]
    position = np.minimum(np.searchsorted(sorted_keys, key), max(len(sorted_keys) - 1, 0))
    if len(sorted_keys):
        matching_counts = np.where(sorted_keys[position] == key, sorted_counts[position], 0.0)
    else:
        matching_counts = np.zeros(len(key))
    priors = background_shares[rule_input.shares.value]
    conditional = (matching_counts + priors) / (people[rule_input.shares.tuple_] + 1)
    return np.divide(conditional, priors, out=np.ones(len(priors)), where=priors > 0)


def _absent_value(rule_input: RuleInput) -> Guesses:
    """Choose the value with the highest prior among those that no matching row has."""
    tuples = len(rule_input.matches.rows)
    values = len(rule_input.prior)
    rank = arrays.ranks(-rule_input.prior)
    order = np.lexsort((rank[rule_input.shares.value], rule_input.shares.tuple_))
    tuples_in_order = rule_input.shares.tuple_[order]
    ranks = rank[rule_input.shares.value[order]]
    position = np.arange(len(order)) - np.searchsorted(tuples_in_order, tuples_in_order)
    first_gap = np.full(tuples, values, dtype=np.int64)
    np.minimum.at(first_gap, tuples_in_order, np.where(ranks != position, position, values))
    first_gap = np.minimum(first_gap, np.bincount(tuples_in_order, minlength=tuples))
    by_rank = np.argsort(rank)
    absent_values = np.where(
        (first_gap < values) & (rule_input.matches.rows > 0),
        by_rank[np.minimum(first_gap, values - 1)],
        -1,
    )
    absent_values = np.where(
        (absent_values >= 0) & (rule_input.prior[absent_values] > 0), absent_values, -1
    )
    return Guesses(absent_values, np.where(absent_values >= 0, 1.0, 0.0))


# --- attempts -------------------------------------------------------------------------------------
def inference(context: AttackContext) -> Iterator[Attempt]:
    """Inference attack: guess the most common value of the matching rows."""
    description = "she guesses the commonest value of the rows that fit"
    for about in context.guessed:
        gain = Gain.of(context, about)
        yield (
            guess_values(context, "inference", about, _likeliest, description)
            if gain is None
            else _attempt_with_gain(context, about, gain)
        )


def _attempt_with_gain(context: AttackContext, about: str, gain: Gain) -> Attempt:
    """Run the attack with several guesses or with a tolerance.

    It has no bound, because requirements are about one exact guess.
    """
    matches = context.matches(context.targets)
    prior = context.prior(about)
    guesses, confidence = gain.best_guesses(matches.shares[about], len(matches.rows))
    right = gain.is_right(guesses[matches.of_person], context.targets.truth[about].to_pylist())
    prior_as_shares = Shares(
        context.matcher.labels(about),
        np.zeros(len(prior), dtype=np.int64),
        np.arange(len(prior)),
        prior,
    )
    prior_guesses = np.repeat(
        gain.best_guesses(prior_as_shares, 1)[0], len(context.targets), axis=0
    )
    control = None
    if context.controls is not None and about in context.controls.truth.column_names:
        control_matches = context.matches(context.controls)
        control_guesses = gain.best_guesses(
            control_matches.shares[about], len(control_matches.rows)
        )[0][control_matches.of_person]
        hits = gain.is_right(control_guesses, context.controls.truth[about].to_pylist())
        control = Rate(int(hits.sum()), len(context.controls))
    share = arrays.sum_by_id(matches.of_person, right.astype(float), len(confidence)) / np.maximum(
        matches.people, 1
    )
    texts = context.matcher.labels(about)
    guess_texts = [
        ", ".join("null" if texts[code] is None else str(texts[code]) for code in row if code >= 0)
        for row in guesses
    ]
    return Attempt(
        name="inference",
        aim="inference",
        about=about,
        knows=context.knows,
        targets=len(context.targets),
        guesses=int((guesses[:, 0] >= 0)[matches.of_person].sum()),
        successes=int(right.sum()),
        random=min(gain.guess.tries / len(prior), 1.0) if gain.guess.within is None else None,
        prior=float(gain.is_right(prior_guesses, context.targets.truth[about].to_pylist()).mean())
        if len(context.targets)
        else None,
        control=control,
        most_at_risk=at_risk(context.targets, matches, confidence, share, list(guess_texts)),
        told=f"a guess is right if it is {gain.guess.text}; no bound is shown, for promises are "
        "about one exact guess",
    )


def homogeneity(context: AttackContext) -> Iterator[Attempt]:
    """Homogeneity attack: guess only if all matching rows have the same value."""
    yield from _attempt_each(
        context,
        "homogeneity",
        _homogeneous,
        "she guesses only where all rows that fit have one value",
    )


def skewness(context: AttackContext) -> Iterator[Attempt]:
    """Skewness attack: guess the value that gained most compared with the prior."""
    yield from _attempt_each(
        context,
        "skewness",
        _most_gained,
        "she guesses the value that gained most against what she believed before",
    )


def background(context: AttackContext) -> Iterator[Attempt]:
    """Background attack: guess the likeliest value with knowledge from outside the release.

    Requirements do not consider such knowledge, so they do not bound the attack.
    """
    description = (
        "she guesses the commonest value of the rows that fit, after what she rules out and what "
        "her other table says"
    )
    yield from _attempt_each(
        context, "background", _likeliest_with_background, description, bounded=False
    )


def without_background(context: AttackContext) -> str:
    """Return the reason that the background attack does not apply; empty if it does."""
    if context.adversary.knowledge():
        return ""
    if context.background is None:
        return "she rules nothing out and holds no other table"
    has_sensitive = any(context.background.has(name) for name in context.roles.sensitive)
    if has_sensitive:
        return ""
    return "her other table has no sensitive column"


def negative(context: AttackContext) -> Iterator[Attempt]:
    """Negative attack: name a value that the person does not have.

    It is the likeliest of the values that no matching row has.
    """
    for about in context.guessed:
        prior = context.prior(about)
        rule_input = RuleInput(
            context, context.targets, context.matches(context.targets), about, prior
        )
        guesses = _absent_value(rule_input)
        rarest = int(np.argmin(np.where(prior > 0, prior, np.inf)))
        true_values = _TrueValues(context, context.targets, about)
        right = ~true_values.is_right(guesses.value[rule_input.matches.of_person])
        yield _attempt(
            rule_input,
            "negative",
            guesses,
            right,
            random=1 - 1 / len(prior),
            prior_right=~true_values.is_right(np.full(len(context.targets), rarest)),
            control=_control(context, about, _absent_value, negate=True),
            bound=None,
            description="she names a value that somebody has not, because no row that fits has "
            "it; the likeliest of these",
        )


def similarity(context: AttackContext) -> Iterator[Attempt]:
    """Similarity attack: guess the kind of value, the likeliest parent in the taxonomy."""
    for about, source in (context.adversary.taxonomies or {}).items():
        tree = read_hierarchy(source, about)
        kinds = _Kinds.of(tree, context.matcher.labels(about))
        rule_input = RuleInput(
            context, context.targets, context.matches(context.targets), about, context.prior(about)
        )
        prior = arrays.sum_by_id(kinds.of_value, rule_input.prior, len(kinds.names))
        guesses = kinds.guesses(rule_input)
        right = kinds.is_right(context.targets, about, guesses.value[rule_input.matches.of_person])
        control = None
        if context.controls is not None:
            control_input = RuleInput(
                context,
                context.controls,
                context.matches(context.controls),
                about,
                rule_input.prior,
            )
            control_guesses = kinds.guesses(control_input).value[control_input.matches.of_person]
            control = Rate(
                int(kinds.is_right(context.controls, about, control_guesses).sum()),
                len(context.controls),
            )
        yield _attempt(
            rule_input,
            "similarity",
            guesses,
            right,
            random=1 / len(kinds.names),
            prior_right=kinds.is_right(
                context.targets, about, np.full(len(context.targets), int(prior.argmax()))
            ),
            control=control,
            bound=None,
            description="she guesses what kind of value it is: its parent in the taxonomy",
            names=kinds.names,
        )


def without_taxonomy(context: AttackContext) -> str:
    """Return the reason that the similarity attack does not apply; empty if it does."""
    if context.adversary.taxonomies:
        return ""
    return "no taxonomy says which values are alike"


def nothing_sensitive(context: AttackContext) -> str:
    """Return the reason that inference attacks do not apply; empty if they do."""
    if context.guessed:
        return ""
    return "no column is sensitive that she does not know"


def knowing(context: AttackContext, columns: tuple[str, ...]) -> Iterator[KnowledgeResult]:
    """Yield the success rates with knowledge of these columns only.

    The first is that of picking the row. The others are those of guessing each unknown sensitive
    column.
    """
    matches = context.matches(context.targets, columns)
    yield KnowledgeResult(
        columns, None, Rate(float(right_rows(context, columns).sum()), len(context.targets))
    )
    for about in context.roles.sensitive:
        if about not in columns:
            gain = Gain.of(context, about)
            if gain is not None:
                guesses = gain.best_guesses(matches.shares[about], len(matches.rows))[0][
                    matches.of_person
                ]
                right = gain.is_right(guesses, context.targets.truth[about].to_pylist())
            else:
                rule_input = RuleInput(
                    context, context.targets, matches, about, context.prior(about)
                )
                right = _TrueValues(context, context.targets, about).is_right(
                    _likeliest(rule_input).value[matches.of_person]
                )
            yield KnowledgeResult(columns, about, Rate(int(right.sum()), len(context.targets)))


def _attempt_each(
    context: AttackContext, name: str, rule: Rule, description: str, *, bounded: bool = True
) -> Iterator[Attempt]:
    for about in context.guessed:
        yield guess_values(context, name, about, rule, description, bounded=bounded)


def guess_values(
    context: AttackContext,
    name: str,
    about: str,
    rule: Rule,
    description: str,
    *,
    bounded: bool = True,
) -> Attempt:
    """Run and score an attack that guesses values by a rule."""
    prior = context.prior(about)
    rule_input = RuleInput(context, context.targets, context.matches(context.targets), about, prior)
    guesses = rule(rule_input)
    truth = _TrueValues(context, context.targets, about)
    # Requirements on classes do not bound guesses that differ within a class.
    one_class = bool((rule_input.matches.classes <= 1).all())
    right = truth.is_right(guesses.value[rule_input.matches.of_person])
    if bounded and one_class:
        bound = context.bound(about)
    else:
        bound = None
    if bound is None:
        membership = None
    else:
        membership = context.in_release(about)
    return _attempt(
        rule_input,
        name,
        guesses,
        right,
        random=1 / len(prior),
        prior_right=truth.is_right(np.full(len(context.targets), int(prior.argmax()))),
        control=_control(context, about, rule),
        bound=bound,
        in_release=None
        if membership is None
        else Rate.expected(float((membership * right).sum()), float(membership.sum())),
        description=description,
    )


def _control(
    context: AttackContext, about: str, rule: Rule, *, negate: bool = False
) -> Rate | None:
    if context.controls is None or about not in context.controls.truth.column_names:
        return None
    rule_input = RuleInput(
        context, context.controls, context.matches(context.controls), about, context.prior(about)
    )
    guess_codes = rule(rule_input).value[rule_input.matches.of_person]
    right = _TrueValues(context, context.controls, about).is_right(guess_codes)
    return Rate(
        int(((~right if negate else right) & (guess_codes >= 0)).sum()), len(context.controls)
    )


def _attempt(
    rule_input: RuleInput,
    name: str,
    guesses: Guesses,
    right: Bools,
    *,
    random: float,
    prior_right: Bools,
    control: Rate | None,
    bound: Bound | None,
    description: str,
    in_release: Rate | None = None,
    names: tuple[queries.Text, ...] | None = None,
) -> Attempt:
    aim: Aim = "inference"
    matches = rule_input.matches
    targets = len(rule_input.people)
    is_guessed = (guesses.value >= 0)[matches.of_person]
    successes = right & is_guessed
    mean_success = arrays.sum_by_id(
        matches.of_person, successes.astype(float), len(matches.rows)
    ) / np.maximum(matches.people, 1)
    texts = names or rule_input.shares.values
    text_of_code = ["null" if text is None else str(text) for text in texts]
    guess_texts = [None if code < 0 else text_of_code[code] for code in guesses.value.tolist()]
    return Attempt(
        name=name,
        aim=aim,
        about=rule_input.about,
        knows=rule_input.context.knows,
        targets=targets,
        guesses=int(is_guessed.sum()),
        successes=int(successes.sum()),
        random=random,
        prior=float(prior_right.mean()) if targets else None,
        control=control,
        bound=bound,
        in_release=in_release,
        most_at_risk=at_risk(rule_input.people, matches, guesses.belief, mean_success, guess_texts),
        told=description,
    )


class _TrueValues:
    """True values of people in one column, to score guesses."""

    def __init__(self, context: AttackContext, people: People, about: str) -> None:
        encoded = encode(people.truth[about], name=about, kind="text", is_sorted=False)
        self._code = encoded.int64_codes
        true_texts = encoded.domain.labels
        labels = context.matcher.labels(about)
        numbers = about in people.numbers and context.release.column(about).kind == "number"
        label_fits = queries.fits(labels, true_texts, plain=true_texts, numbers=numbers)
        is_specific = np.array(
            [releases.parse_label(label).kind != "anything" for label in labels], dtype=bool
        )
        read = np.array([label not in set(label_fits.unread) for label in labels], dtype=bool)
        if len(label_fits.label):
            is_usable = (is_specific & read)[label_fits.label]
        else:
            is_usable = np.zeros(0, dtype=bool)
        self._width = max(len(true_texts), 1)
        self._pairs = np.unique(
            label_fits.label[is_usable] * self._width + label_fits.value[is_usable]
        )

    def is_right(self, value: Ints) -> Bools:
        """Mark the people whose guessed value is right; no guess (-1) is never right."""
        is_right: Bools = np.isin(value * self._width + self._code, self._pairs) & (value >= 0)
        return is_right


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of values: their parents in a taxonomy."""

    tree: Hierarchy
    names: tuple[queries.Text, ...]
    of_value: Ints

    @classmethod
    def of(cls, tree: Hierarchy, labels: tuple[queries.Text, ...]) -> _Kinds:
        kinds = [tree.label_of(label, min(1, tree.height)) for label in labels]
        names = tuple(dict.fromkeys(kinds))
        return cls(tree, names, np.array([names.index(kind) for kind in kinds], dtype=np.int64))

    def guesses(self, rule_input: RuleInput) -> Guesses:
        """Guess the likeliest kind among the matching rows of each tuple."""
        width = len(self.names)
        key = rule_input.shares.tuple_ * width + self.of_value[rule_input.shares.value]
        sums = arrays.sum_by_id(
            key, rule_input.belief, len(rule_input.matches.rows) * width
        ).reshape(-1, width)
        best = sums.argmax(axis=1)
        kind_codes = np.where(rule_input.matches.rows > 0, best, -1)
        return Guesses(kind_codes, np.where(kind_codes >= 0, sums[np.arange(len(sums)), best], 0.0))

    def is_right(self, people: People, about: str, kind_guesses: Ints) -> Bools:
        """Mark the people whose true value is of the guessed kind."""
        level = min(1, self.tree.height)
        numbers = {kind: kind_index for kind_index, kind in enumerate(self.names)}
        texts = people.truth[about].to_pylist()
        true_kinds = {text: numbers.get(self.tree.label_of(text, level), -2) for text in set(texts)}
        is_right: Bools = (
            np.array([true_kinds[text] for text in texts], dtype=np.int64) == kind_guesses
        )
        return is_right
