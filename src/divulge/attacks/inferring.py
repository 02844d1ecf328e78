# SPDX-License-Identifier: Apache-2.0
"""What does this person have? A sensitive value is guessed from the rows that fit (Machanavajjhala et al. 2007; Li et al. 2007).

Her belief in a value is its share among the rows that fit. Each attack is a rule that chooses one value for each target, or none. The
truth is looked at after all guesses have been made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import answers, arrays, belief
from divulge.arrays import Bools, Floats, Ints
from divulge.attacks.attempt import Aim, Attempt, Bound, Knowing, Rate
from divulge.attacks.linking import at_risk, right_rows
from divulge.attacks.matching import Matches, Shares
from divulge.attacks.stage import People, Stage
from divulge.count import Cells, Domain
from divulge.errors import BadInput, nearest
from divulge.hierarchy import Hierarchy, read_hierarchy


# --- gains ------------------------------------------------------------------------------------------------------------
# Several guesses at a value, or a guess near it: gain functions (Alvim et al. 2012), played as an attack.
# The guesses are those that the vulnerability of a class is reckoned by (`belief.Guess`), so that with everybody attacked the success is
# that metric, and with a sample of people it is near it.
@dataclass(frozen=True, eq=False)
class Gain:
    """When guesses of a column are right, where one need not be the value at the first try."""

    guess: belief.Guess
    domain: Domain
    of_label: Ints = field(repr=False)
    """For each value of the release its place in the domain."""
    place: dict[answers.Text, int] = field(repr=False)
    """The place of each text, of the release and of the truth."""

    @classmethod
    def of(cls, stage: Stage, about: str) -> Gain | None:
        """As the adversary says it; None: one guess, which must be the value."""
        tries, within = ((given or {}).get(about) for given in (stage.adversary.tries, stage.adversary.within))
        if within is None and tries in (None, 1):
            return None
        labels = stage.matcher.labels(about)
        texts = list(labels)
        for people in (stage.targets, stage.controls):
            if people is not None and about in people.truth.column_names:
                texts += people.truth[about].unique().to_pylist()
        kind = stage.release.column(about).kind
        codes, values = _ordered(about, texts, kind if within is not None else "text")
        domain = Domain(about, values, kind)
        guess = belief.Guess.of(domain, tries=int(tries or 1), within=within)
        return cls(guess, domain, codes[: len(labels)], dict(zip(texts, codes.tolist(), strict=True)))

    def said(self, shares: Shares, tuples: int) -> tuple[Ints, Floats]:
        """Of each tuple the values that her guesses begin with (as `shares` numbers them, -1: none), and her belief that one is right."""
        said, sure = np.full((tuples, self.guess.tries), -1, dtype=np.int64), np.zeros(tuples)
        if not len(shares.tuple_):
            return said, sure
        order = np.lexsort((self.of_label[shares.value], shares.tuple_))
        fitting, owner = np.unique(shares.tuple_[order], return_index=True)
        start = np.append(owner, len(order)).astype(np.int64)
        cells = Cells(self.domain, start, self.of_label[shares.value[order]], shares.records[order])
        begins = self.guess.begins(cells)
        said[fitting] = np.where(begins >= 0, shares.value[order][begins], -1)
        sure[fitting] = self.guess.best(cells) / cells.totals
        return said, sure

    def right(self, said: Ints, truth: Sequence[answers.Text]) -> Bools:
        """Whether one of the windows that begin with what was said of each person holds what is true."""
        own = np.array([self.place[text] for text in truth], dtype=np.int64)[:, None]
        begins = self.of_label[said]
        ends = begins if self.guess.reach is None else self.guess.reach[begins]
        return np.asarray(((said >= 0) & (begins <= own) & (own <= ends)).any(axis=1))


def _ordered(about: str, texts: Sequence[answers.Text], kind: str) -> tuple[Ints, pa.Array]:
    """The place of each text in ascending order, by what it stands for, and the distinct values; null comes last."""
    stored = {"number": pa.float64(), "date": pa.timestamp("us")}.get(kind, pa.string())
    try:
        values = pc.cast(pa.array(texts, pa.string()), stored)
    except pa.ArrowInvalid as error:
        told = f"within is given for {about!r}, which has values of another kind in the truth"
        raise BadInput(told, hint="Give both tables the same kind of values") from error
    distinct = values.unique()
    distinct = distinct.take(pc.sort_indices(distinct))
    codes = pc.index_in(values, value_set=distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, distinct


# --- inference --------------------------------------------------------------------------------------------------------
_SURE = 1 - 1e-12
_SUPPRESSED = re.compile(r"\*+")


@dataclass(frozen=True, eq=False)
class Guesses:
    """What she says of each tuple: the number of a value, or -1 where she says nothing, and how sure she is."""

    value: Ints
    belief: Floats


Rule = Callable[["Scene"], Guesses]


@dataclass(frozen=True, eq=False)
class Scene:
    """What a rule may look at: what fits each tuple and what she believed before, and nothing of the truth."""

    stage: Stage
    people: People
    matches: Matches
    about: str
    prior: Floats

    @property
    def shares(self) -> Shares:
        """The values among the rows that fit."""
        return self.matches.shares[self.about]

    @property
    def belief(self) -> Floats:
        """Of each pair of a tuple and a value of `shares`: its share among the rows that fit."""
        return self.shares.records / self.matches.rows[self.shares.tuple_]

    def best(self, score: Floats, belief: Floats, keep: Bools | None = None) -> Guesses:
        """The value with the highest score for each tuple, of equal ones the one that she held likelier before."""
        kept = np.flatnonzero(score > 0 if keep is None else keep & (score > 0))
        tuples, values = self.shares.tuple_[kept], self.shares.value[kept]
        # Sums come in different orders from different engines: scores that agree to 12 digits are equal.
        order = np.lexsort((values, -self.prior[values], -np.round(score[kept], 12), tuples))
        first = order[arrays.run_starts(tuples[order])]
        found, sure = np.full(len(self.matches.rows), -1, dtype=np.int64), np.zeros(len(self.matches.rows))
        found[tuples[first]], sure[tuples[first]] = values[first], belief[kept][first]
        return Guesses(found, sure)


# --- rules ------------------------------------------------------------------------------------------------------------
def _likeliest(scene: Scene) -> Guesses:
    return scene.best(scene.belief, scene.belief)


def _only_one(scene: Scene) -> Guesses:
    return scene.best(scene.belief, scene.belief, scene.belief >= _SURE)


def _grown(scene: Scene) -> Guesses:
    """The value that gained most against the prior."""
    before = scene.prior[scene.shares.value]
    gain = np.divide(scene.belief, before, out=np.full(len(before), np.inf), where=before > 0)
    return scene.best(gain, scene.belief, gain > 1 + 1e-12)


def _by_background(scene: Scene) -> Guesses:
    """The likeliest value after what she rules out, and what another table says of people like the target."""
    weight = scene.belief * _lift(scene) * _possible(scene)[scene.shares.value]
    total = arrays.sum_by_id(scene.shares.tuple_, weight, len(scene.matches.rows))
    belief = weight / np.maximum(total[scene.shares.tuple_], np.finfo(float).tiny)
    return scene.best(belief, belief)


def _possible(scene: Scene) -> Floats:
    known = scene.stage.adversary.knowledge().get(scene.about)
    labels = scene.shares.values
    if known is None:
        return np.ones(len(labels))
    for value in (*known.out, *known.only):
        if value not in labels:
            told = f"{scene.about!r} has no value {value!r} in the release"
            raise BadInput(told, hint=nearest(str(value), [label for label in labels if label is not None]))
    return np.array([float(label in known.only if known.only else label not in known.out) for label in labels])


def _lift(scene: Scene) -> Floats:
    """How much likelier her other table makes a value for people like the target: (n(w, x) + p(w)) / (n(x) + 1) over p(w)."""
    table, engine, about = scene.stage.background, scene.stage.engine, scene.about
    if table is None or not table.has(about):
        return np.ones(len(scene.shares.value))
    common = [name for name in scene.stage.knows if table.has(name)]
    first = scene.people.known.select(common).take(pa.array(scene.matches.first))
    lent = engine.lend(
        pa.table(
            {"id": np.arange(len(scene.matches.first))}
            | {f"c{place}": first[name] for place, name in enumerate(common)}
        )
    )
    number = {text: code for code, text in enumerate(scene.shares.values)}
    quoted = [engine.cast(engine.quote(name), "VARCHAR") for name in common]
    named = "".join(f", {cell} AS c{place}" for place, cell in enumerate(quoted))
    rows = f"SELECT {engine.cast(engine.quote(about), 'VARCHAR')} AS s{named} FROM {table.relation}"
    alike = " AND ".join(f"b.c{place} = t.c{place}" for place in range(len(common))) or "1 = 1"
    like_her = engine.query(
        f"SELECT t.id AS id, b.s AS s, COUNT(*) AS n FROM {lent} AS t JOIN ({rows}) AS b ON {alike} GROUP BY 1, 2"
    )
    overall = engine.query(f"SELECT s, COUNT(*) AS n FROM ({rows}) AS b GROUP BY 1")
    p = np.zeros(len(number))
    for text, n in zip(overall["s"].to_pylist(), overall["n"].to_pylist(), strict=True):
        if text in number:
            p[number[text]] = n
    p /= max(sum(overall["n"].to_pylist()), 1)
    ids, counts = like_her["id"].to_numpy(), like_her["n"].to_numpy().astype(np.float64)
    codes = np.array([number.get(text, -1) for text in like_her["s"].to_pylist()], dtype=np.int64)
    people = arrays.sum_by_id(ids, counts, len(scene.matches.first)) if len(ids) else np.zeros(len(scene.matches.first))
    key = scene.shares.tuple_ * len(number) + scene.shares.value
    seen, where = ids * len(number) + codes, codes >= 0
    order = np.argsort(seen[where])
    sorted_keys, sorted_counts = seen[where][order], counts[where][order]
    place = np.minimum(np.searchsorted(sorted_keys, key), max(len(sorted_keys) - 1, 0))
    found = np.where(sorted_keys[place] == key, sorted_counts[place], 0.0) if len(sorted_keys) else np.zeros(len(key))
    before = p[scene.shares.value]
    conditional = (found + before) / (people[scene.shares.tuple_] + 1)
    return np.divide(conditional, before, out=np.ones(len(before)), where=before > 0)


def _not_there(scene: Scene) -> Guesses:
    """The value that she held likeliest of those that no fitting row has."""
    tuples, values = len(scene.matches.rows), len(scene.prior)
    rank = arrays.ranks(-scene.prior)
    order = np.lexsort((rank[scene.shares.value], scene.shares.tuple_))
    owner, ranked = scene.shares.tuple_[order], rank[scene.shares.value[order]]
    place = np.arange(len(order)) - np.searchsorted(owner, owner)
    gap = np.full(tuples, values, dtype=np.int64)
    np.minimum.at(gap, owner, np.where(ranked != place, place, values))
    gap = np.minimum(gap, np.bincount(owner, minlength=tuples))
    by_rank = np.argsort(rank)
    missing = np.where((gap < values) & (scene.matches.rows > 0), by_rank[np.minimum(gap, values - 1)], -1)
    missing = np.where((missing >= 0) & (scene.prior[missing] > 0), missing, -1)
    return Guesses(missing, np.where(missing >= 0, 1.0, 0.0))


# --- attempts ---------------------------------------------------------------------------------------------------------
def inference(stage: Stage) -> Iterator[Attempt]:
    """The likeliest value among the rows that fit."""
    told = "she guesses the commonest value of the rows that fit"
    for about in stage.guessed:
        gain = Gain.of(stage, about)
        yield guess_values(stage, "inference", about, _likeliest, told) if gain is None else _gained(stage, about, gain)


def _gained(stage: Stage, about: str, gain: Gain) -> Attempt:
    """The best guesses, where there are several or where one need not be exact. Promises are about one exact guess."""
    matches, prior = stage.matches(stage.targets), stage.prior(about)
    said, sure = gain.said(matches.shares[about], len(matches.rows))
    right = gain.right(said[matches.of_person], stage.targets.truth[about].to_pylist())
    everywhere = Shares(stage.matcher.labels(about), np.zeros(len(prior), dtype=np.int64), np.arange(len(prior)), prior)
    blindly = np.repeat(gain.said(everywhere, 1)[0], len(stage.targets), axis=0)
    control = None
    if stage.controls is not None and about in stage.controls.truth.column_names:
        other = stage.matches(stage.controls)
        theirs = gain.said(other.shares[about], len(other.rows))[0][other.of_person]
        hits = gain.right(theirs, stage.controls.truth[about].to_pylist())
        control = Rate(int(hits.sum()), len(stage.controls))
    share = arrays.sum_by_id(matches.of_person, right.astype(float), len(sure)) / np.maximum(matches.people, 1)
    texts = stage.matcher.labels(about)
    told = [", ".join("null" if texts[code] is None else str(texts[code]) for code in row if code >= 0) for row in said]
    return Attempt(
        name="inference",
        aim="inference",
        about=about,
        knows=stage.knows,
        targets=len(stage.targets),
        guesses=int((said[:, 0] >= 0)[matches.of_person].sum()),
        successes=int(right.sum()),
        random=min(gain.guess.tries / len(prior), 1.0) if gain.guess.within is None else None,
        prior=float(gain.right(blindly, stage.targets.truth[about].to_pylist()).mean()) if len(stage.targets) else None,
        control=control,
        most_at_risk=at_risk(stage.targets, matches, sure, share, list(told)),
        told=f"a guess is right if it is {gain.guess.text}; no bound is shown, for promises are about one exact guess",
    )


def homogeneity(stage: Stage) -> Iterator[Attempt]:
    """Where all rows that fit have one value, she knows it."""
    yield from _every(stage, "homogeneity", _only_one, "she guesses only where all rows that fit have one value")


def skewness(stage: Stage) -> Iterator[Attempt]:
    """The value that is more frequent among the rows that fit than anywhere else."""
    yield from _every(
        stage, "skewness", _grown, "she guesses the value that gained most against what she believed before"
    )


def background(stage: Stage) -> Iterator[Attempt]:
    """The likeliest value after what she knows beside the release; no promise that was made without it bounds it."""
    told = (
        "she guesses the commonest value of the rows that fit, after what she rules out and what her other table says"
    )
    yield from _every(stage, "background", _by_background, told, bounded=False)


def without_background(stage: Stage) -> str:
    """Why background knowledge has nothing to work with."""
    if stage.adversary.knowledge():
        return ""
    if stage.background is None:
        return "she rules nothing out and holds no other table"
    told = any(stage.background.has(name) for name in stage.roles.sensitive)
    return "" if told else "her other table has no sensitive column"


def negative(stage: Stage) -> Iterator[Attempt]:
    """What somebody has not: the likeliest of the values that no fitting row has."""
    for about in stage.guessed:
        prior = stage.prior(about)
        scene = Scene(stage, stage.targets, stage.matches(stage.targets), about, prior)
        guesses, rarest = _not_there(scene), int(np.argmin(np.where(prior > 0, prior, np.inf)))
        has = _Truth(stage, stage.targets, about)
        right = ~has.right(guesses.value[scene.matches.of_person])
        yield _attempt(
            scene,
            "negative",
            guesses,
            right,
            random=1 - 1 / len(prior),
            prior_right=~has.right(np.full(len(stage.targets), rarest)),
            control=_control(stage, about, _not_there, negate=True),
            bound=None,
            told="she names a value that somebody has not, because no row that fits has it; the likeliest of these",
        )


def similarity(stage: Stage) -> Iterator[Attempt]:
    """The kind of value, where the value itself is not known: the likeliest parent in the taxonomy."""
    for about, source in (stage.adversary.taxonomies or {}).items():
        tree = read_hierarchy(source, about)
        kinds = _Kinds.of(tree, stage.matcher.labels(about))
        scene = Scene(stage, stage.targets, stage.matches(stage.targets), about, stage.prior(about))
        prior = arrays.sum_by_id(kinds.of_value, scene.prior, len(kinds.names))
        guesses = kinds.guesses(scene)
        right = kinds.right(stage.targets, about, guesses.value[scene.matches.of_person])
        control = None
        if stage.controls is not None:
            other = Scene(stage, stage.controls, stage.matches(stage.controls), about, scene.prior)
            said = kinds.guesses(other).value[other.matches.of_person]
            control = Rate(int(kinds.right(stage.controls, about, said).sum()), len(stage.controls))
        yield _attempt(
            scene,
            "similarity",
            guesses,
            right,
            random=1 / len(kinds.names),
            prior_right=kinds.right(stage.targets, about, np.full(len(stage.targets), int(prior.argmax()))),
            control=control,
            bound=None,
            told="she guesses what kind of value it is: its parent in the taxonomy",
            names=kinds.names,
        )


def without_taxonomy(stage: Stage) -> str:
    """Why values have no kinds."""
    return "" if stage.adversary.taxonomies else "no taxonomy says which values are alike"


def nothing_sensitive(stage: Stage) -> str:
    """Why there is nothing to infer."""
    return "" if stage.guessed else "no column is sensitive that she does not know"


def knowing(stage: Stage, columns: tuple[str, ...]) -> Iterator[Knowing]:
    """What is achieved by knowing these columns: picking the row, and guessing each sensitive value that is not known."""
    matches = stage.matches(stage.targets, columns)
    yield Knowing(columns, None, Rate(float(right_rows(stage, columns).sum()), len(stage.targets)))
    for about in stage.roles.sensitive:
        if about not in columns:
            gain = Gain.of(stage, about)
            if gain is not None:
                several = gain.said(matches.shares[about], len(matches.rows))[0][matches.of_person]
                right = gain.right(several, stage.targets.truth[about].to_pylist())
            else:
                scene = Scene(stage, stage.targets, matches, about, stage.prior(about))
                right = _Truth(stage, stage.targets, about).right(_likeliest(scene).value[matches.of_person])
            yield Knowing(columns, about, Rate(int(right.sum()), len(stage.targets)))


def _every(stage: Stage, name: str, rule: Rule, told: str, *, bounded: bool = True) -> Iterator[Attempt]:
    for about in stage.guessed:
        yield guess_values(stage, name, about, rule, told, bounded=bounded)


def guess_values(stage: Stage, name: str, about: str, rule: Rule, told: str, *, bounded: bool = True) -> Attempt:
    """An attack that guesses values by a rule, scored."""
    prior = stage.prior(about)
    scene = Scene(stage, stage.targets, stage.matches(stage.targets), about, prior)
    guesses, truth = rule(scene), _Truth(stage, stage.targets, about)
    # A guess that differs within a class is bounded by nothing that is promised of classes.
    one_class = bool((scene.matches.classes <= 1).all())
    right = truth.right(guesses.value[scene.matches.of_person])
    bound = stage.bound(about) if bounded and one_class else None
    there = None if bound is None else stage.in_release(about)
    return _attempt(
        scene,
        name,
        guesses,
        right,
        random=1 / len(prior),
        prior_right=truth.right(np.full(len(stage.targets), int(prior.argmax()))),
        control=_control(stage, about, rule),
        bound=bound,
        in_release=None if there is None else Rate.expected(float((there * right).sum()), float(there.sum())),
        told=told,
    )


def _control(stage: Stage, about: str, rule: Rule, *, negate: bool = False) -> Rate | None:
    if stage.controls is None or about not in stage.controls.truth.column_names:
        return None
    scene = Scene(stage, stage.controls, stage.matches(stage.controls), about, stage.prior(about))
    said = rule(scene).value[scene.matches.of_person]
    right = _Truth(stage, stage.controls, about).right(said)
    return Rate(int(((~right if negate else right) & (said >= 0)).sum()), len(stage.controls))


def _attempt(
    scene: Scene,
    name: str,
    guesses: Guesses,
    right: Bools,
    *,
    random: float,
    prior_right: Bools,
    control: Rate | None,
    bound: Bound | None,
    told: str,
    in_release: Rate | None = None,
    names: tuple[answers.Text, ...] | None = None,
) -> Attempt:
    aim: Aim = "inference"
    matches, targets = scene.matches, len(scene.people)
    ventured = (guesses.value >= 0)[matches.of_person]
    successes = right & ventured
    share = arrays.sum_by_id(matches.of_person, successes.astype(float), len(matches.rows)) / np.maximum(
        matches.people, 1
    )
    texts = names or scene.shares.values
    said = [
        None if code < 0 else ("null" if texts[code] is None else str(texts[code])) for code in guesses.value.tolist()
    ]
    return Attempt(
        name=name,
        aim=aim,
        about=scene.about,
        knows=scene.stage.knows,
        targets=targets,
        guesses=int(ventured.sum()),
        successes=int(successes.sum()),
        random=random,
        prior=float(prior_right.mean()) if targets else None,
        control=control,
        bound=bound,
        in_release=in_release,
        most_at_risk=at_risk(scene.people, matches, guesses.belief, share, said),
        told=told,
    )


class _Truth:
    """What is true of people, to be compared with what was said of them."""

    def __init__(self, stage: Stage, people: People, about: str) -> None:
        texts = people.truth[about].combine_chunks()
        encoded = pc.dictionary_encode(texts, null_encoding="encode")
        self._code = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        known = encoded.dictionary.to_pylist()
        labels = stage.matcher.labels(about)
        numbers = about in people.numbers and stage.release.column(about).kind == "number"
        found = answers.fits(labels, known, plain=known, numbers=numbers)
        said = np.array([not (label and _SUPPRESSED.fullmatch(label)) for label in labels], dtype=bool)
        read = np.array([label not in set(found.unread) for label in labels], dtype=bool)
        kept = (said & read)[found.label] if len(found.label) else np.zeros(0, dtype=bool)
        self._width = max(len(known), 1)
        self._pairs = np.unique(found.label[kept] * self._width + found.value[kept])

    def right(self, value: Ints) -> Bools:
        """Whether the value that was said of each person is theirs; of whom nothing was said, nothing is right."""
        found: Bools = np.isin(value * self._width + self._code, self._pairs) & (value >= 0)
        return found


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Values by their parents in a taxonomy."""

    tree: Hierarchy
    names: tuple[answers.Text, ...]
    of_value: Ints

    @classmethod
    def of(cls, tree: Hierarchy, labels: tuple[answers.Text, ...]) -> _Kinds:
        kinds = [tree.label_of(label, min(1, tree.height)) for label in labels]
        names = tuple(dict.fromkeys(kinds))
        return cls(tree, names, np.array([names.index(kind) for kind in kinds], dtype=np.int64))

    def guesses(self, scene: Scene) -> Guesses:
        """The likeliest kind among the rows that fit each tuple."""
        width = len(self.names)
        key = scene.shares.tuple_ * width + self.of_value[scene.shares.value]
        sums = arrays.sum_by_id(key, scene.belief, len(scene.matches.rows) * width).reshape(-1, width)
        best = sums.argmax(axis=1)
        found = np.where(scene.matches.rows > 0, best, -1)
        return Guesses(found, np.where(found >= 0, sums[np.arange(len(sums)), best], 0.0))

    def right(self, people: People, about: str, said: Ints) -> Bools:
        """Whether each person's value is of the kind that was said."""
        level = min(1, self.tree.height)
        numbers = {kind: place for place, kind in enumerate(self.names)}
        texts = people.truth[about].to_pylist()
        own = {text: numbers.get(self.tree.label_of(text, level), -2) for text in set(texts)}
        found: Bools = np.array([own[text] for text in texts], dtype=np.int64) == said
        return found
