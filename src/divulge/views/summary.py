# SPDX-License-Identifier: Apache-2.0
"""What a result says on a page: the answer in a sentence, four numbers, promises against their bounds, the classes that stand out.

A notebook shows these by themselves, a report puts them under headings. Who may read them is a `Lens`: the publisher sees
every class, the public none that fewer people than the promised k share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge import anatomy, attacks, charts, metrics, publish, results
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check import ReleaseCheck
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.policy import Outcome, Promise, Verdict
from divulge.views import html
from divulge.views.html import Html, el, joined
from divulge.views.measurement import Finding, worst_classes
from divulge.views.words import classes, metric_words, number, people, percent

_SURE = 0.8
"""A value that is guessed right more often than this is as good as known."""
_ROWS, _TEXT_LINES = 12, 3
_UNITS = {"bits": " bits", "people": " people", "values": " values", "classes": " classes"}


@dataclass(frozen=True)
class Lens:
    """Whose values a page may show: the publisher's page all, a public one those that at least `least` people share (None: none)."""

    public: bool = False
    least: int | None = None

    def shows(self, carried_by: float) -> bool:
        """Whether a value that so many people share may be named."""
        return not self.public or (self.least is not None and carried_by >= self.least)

    def shows_classes(self, measurement: Measurement) -> bool:
        """Whether every class may be named."""
        return self.shows(float(measurement.identity_view.whole.sizes.min()))

    def shows_values(self, measurement: Measurement, attribute: str) -> bool:
        """Whether every value of a sensitive attribute may be named, wherever it occurs."""
        if not self.public:
            return True
        masses = measurement.beliefs[attribute].cells.marginal
        return bool(self.shows(float(masses[masses > 0].min())))


INTERNAL = Lens()


# --- the answer -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class BestGuess:
    """How well somebody's value is guessed, in the class where that is easiest."""

    attribute: str
    after: float
    before: float
    """Without the table: the share of the commonest value."""
    key: Mapping[str, Any]
    size: int
    value: Any
    sure: int
    """People whose value is as good as known: in classes where the best guess is right more than four times out of five."""

    @property
    def tells(self) -> bool:
        """Whether the table gives the value away: it is guessed well, and better than without."""
        return self.after > _SURE and self.after - self.before > (1 - _SURE)


def best_guess(measurement: Measurement, attribute: str) -> BestGuess:
    """By the class in which one value is commonest."""
    score, belief = measurement.sensitive[attribute]["alpha"], measurement.beliefs[attribute]
    metric = metrics.find_metric("alpha", "sensitive")
    worst = metrics.worst_first(measurement.per_class("alpha", attribute), measurement.contingency.sizes, most=1)
    index = int(worst[0])
    place = int(np.searchsorted(belief.classes, index))
    inside = belief.cells.of_class(place)
    commonest = max(inside, key=lambda code: inside[code])
    sure = measurement.ask([metrics.Question(metric, _SURE, attribute)], most=0)[0].tally.people
    contingency = measurement.contingency
    before = float(belief.prior.of_class(place).max())
    return BestGuess(
        attribute, float(score.value), before, contingency.class_key(index), int(contingency.sizes[index]),
        belief.cells.domain.labels[commonest], int(sure),
    )  # fmt: skip


def answer(measurement: Measurement, lens: Lens = INTERNAL) -> Html:
    """Who can be found, and what can be learnt, in one sentence for somebody who knows no metric."""
    names = listed(measurement.settings["quasi_identifiers"])
    whole = measurement.identity_view.whole
    alone, fewest = int(metrics.uniques(whole)), int(whole.sizes.min())
    if alone:
        told = f"{people(alone)} of {measurement.people:,} can be found"
        first = joined((el("strong", told), " by whoever knows their ", names))
    else:
        first = joined(("Nobody is alone: at least ", people(fewest), " share each combination of ", names))
    guesses = [best_guess(measurement, name) for name in measurement.beliefs if not measurement.overlapping]
    if not guesses:
        return joined((first, "."))
    worst = max(guesses, key=lambda guess: (guess.tells, guess.after - guess.before))
    return joined((first, _learnt(worst, measurement, lens, alone=bool(alone)), "."))


def _learnt(guess: BestGuess, measurement: Measurement, lens: Lens, *, alone: bool) -> Html:
    often = f"{percent(guess.after)} of the time, against {percent(guess.before)} without the table"
    if not guess.tells:
        return joined(("; the best guess at somebody's ", html.value(guess.attribute), f" is right at most {often}"))
    known = el("strong", "the ", html.value(guess.attribute), f" of {people(guess.sure)} is all but public")
    link = ", and " if alone else ", and still "
    if not (lens.shows_classes(measurement) and lens.shows_values(measurement, guess.attribute)):
        return joined((link, known, f": a guess is right {often}"))
    what = joined(("whoever knows that somebody is ", html.key_of(guess.key), " and guesses ", html.value(guess.value)))
    return joined((link, known, ": ", what, f" is right {often}"))


def listed(names: Sequence[str]) -> Html:
    """zip, age and sex."""
    shown = [html.value(name) for name in names]
    return Html(", ".join(shown[:-1]) + " and " + shown[-1] if len(shown) > 1 else "".join(shown))


def kept(lines: Sequence[PromiseLine]) -> Html:
    """How many promises hold, and for how many there is the publisher's word alone."""
    broken, shown = (sum(line.holds is wanted for line in lines) for wanted in (False, True))
    if not lines:
        return Html("")
    if broken:
        are = "is" if broken == 1 else "are"
        return joined((" ", el("strong", f"{broken} of {len(lines)} promises {are} broken"), "."))
    if shown < len(lines):
        told = f"{shown} of {len(lines)} promises are shown by the files themselves"
        return joined((" ", el("strong", told, class_="ok"), "; for the others there is the publisher's word."))
    told = {1: "The one promise is kept", 2: "Both promises are kept"}.get(
        len(lines), f"All {len(lines)} promises are kept"
    )
    return joined((" ", el("strong", told, class_="ok"), "."))


def four_tiles(measurement: Measurement) -> Html:
    """People, the smallest class, the best guess, and the bits given away; of a table without a sensitive column who is alone, and risk."""
    whole = measurement.identity_view.whole
    fewest = int(whole.sizes.min())
    named = joined(
        (f"people in {classes(measurement.class_count)} of ", listed(measurement.settings["quasi_identifiers"]))
    )
    found = [
        html.tile(f"{measurement.people:,}", named),
        html.tile(
            f"{fewest:,}",
            "in the smallest class (k)" if fewest > 1 else "in the smallest class (k = 1): alone",
            bad=fewest == 1,
        ),
    ]
    if measurement.beliefs:
        guess = max(
            (best_guess(measurement, name) for name in measurement.beliefs), key=lambda each: each.after - each.before
        )
        told = joined(("best guess at ", html.value(guess.attribute), f"; {percent(guess.before)} without the table"))
        found += [html.tile(percent(guess.after), told, bad=guess.tells), _bits_tile(measurement)]
    else:
        alone = int(metrics.uniques(whole))
        found.append(html.tile(f"{alone:,}", "alone in their class", bad=alone > 0))
        found.append(html.tile(percent(1 / fewest), "the best chance to pick the record of somebody"))
    return html.tiles(*found)


def _bits_tile(measurement: Measurement) -> Html:
    """The uncertainty that the worst class takes away, beside what there was and the average."""
    leaks = {name: metrics.entropy_leakage(belief) for name, belief in measurement.beliefs.items()}
    name = max(leaks, key=lambda each: float(leaks[each].max()))
    belief, at = measurement.beliefs[name], int(leaks[name].argmax())
    uncertainty = float(belief.prior_entropy[at])
    average = "" if measurement.survey else f", {number(float(belief.class_share @ leaks[name]))} on average"
    told = f" changes in the worst class, of {_short(uncertainty)}{average}"
    return html.tile(f"{_short(float(leaks[name][at]))} bits", joined(("uncertainty about ", html.value(name), told)))


def _short(given: float) -> str:
    return f"{given:.2g}" if abs(given) < 10 else number(given)


# --- promises ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class PromiseLine:
    """A promise as a row of the scoreboard."""

    name: Any
    bound: str
    measured: float | None
    limit: float | None
    holds: bool | None
    """None where nobody can judge it here."""
    why: Any = ""
    text: str = ""
    """As a policy writes it."""


def lines_of(outcomes: Iterable[Outcome]) -> list[PromiseLine]:
    """Promises that were judged here."""
    return [
        PromiseLine(
            _promised(outcome.promise, outcome.attribute, outcome.protects, linked=outcome.linked),
            bound_in_words(outcome.promise),
            float(outcome.value),
            outcome.promise.bound,
            outcome.holds,
            _why(outcome),
            outcome.text,
        )
        for outcome in outcomes
    ]


def _promised(promise: Promise, attribute: str | None, protects: str = "", *, linked: bool = False) -> Html:
    about = attribute or promise.attribute
    parts: list[Any] = [metric_words(promise.metric.name)]
    parts += [" of ", html.value(about)] if about else []
    parts += [" for ", html.value(protects)] if protects else []
    return joined([*parts, *([" by all rows of a person"] if linked else [])])


def bound_in_words(promise: Promise) -> str:
    """At least 5, at most 1.5 bits."""
    metric = promise.metric
    sign = "at least" if metric.worse == "low" else "below" if metric.strict else "at most"
    given_l = f", l = {promise.l_value}" if promise.l_value is not None else ""
    return f"{sign} {number(promise.bound)}{_UNITS.get(metric.unit, '')}{given_l}"


def _why(outcome: Outcome) -> str:
    if outcome.holds:
        return outcome.promise.metric.plain
    if not outcome.breaking_classes:
        return "a number of the whole table"
    return f"broken for {people(outcome.breaking_people)} in {classes(outcome.breaking_classes)}"


def lines_of_levels(model: anatomy.AlphaBetaGammaDelta, levels: anatomy.Reached) -> list[PromiseLine]:
    """What an anatomized release promises, and reaches."""
    meanings = {
        "alpha": "how surely the quasi-identifiers of a record can be put together",
        "beta": "how surely a sensitive value can be inferred",
        "gamma": "how surely one row of each table makes up a given record",
        "delta": "how far the belief in a sensitive value moves",
    }
    return [
        PromiseLine(
            name,
            f"at most {bound if bound.denominator < 100 else number(float(bound))}",
            float(getattr(levels, name)),
            float(bound),
            getattr(levels, name) <= bound,
            told,
            f"{name} <= {bound}",
        )
        for name, told in meanings.items()
        if (bound := getattr(model, name)) != 1
    ]


def in_groups(found: AnatomizedRelease | ReleaseCheck) -> str:
    """What an anatomized release leaves, in one sentence."""
    told = "Which values belong to one person is hidden in groups: whoever knows somebody's group guesses a sensitive value "
    return f"{told}right at most {percent(float(found.levels.beta))} of the time."


def group_tiles(found: Any) -> Html | None:
    """Of an anatomized release: how many groups there are, the smallest, and the best guess; None of anything else."""
    if isinstance(found, AnatomizedRelease):
        told = found.summary
        records, groups, smallest, tables = told.records, told.groups, told.smallest, len(found.table_columns)
    elif isinstance(found, ReleaseCheck):
        records, groups, smallest, tables = None, found.groups, found.smallest, len(found.tables)
    else:
        return None
    first = [] if records is None else [html.tile(f"{records:,}", "records")]
    return html.tiles(
        *first,
        html.tile(f"{groups:,}", f"groups in {tables} tables"),
        html.tile(f"{smallest:,}", "records in the smallest group"),
        html.tile(
            percent(float(found.levels.beta)), "best guess at a sensitive value of somebody whose group is known"
        ),
    )


def scoreboard(lines: Sequence[PromiseLine]) -> Html:
    """Every promise: the bar is what was measured, the line across it the bound."""
    rows = [
        html.scoreboard_row(line.name, line.bound, line.measured, line.limit, holds=line.holds, why=line.why)
        for line in lines
    ]
    head = ("promise", "measured", "against its bound", "verdict", "in words")
    return html.rows_of_parts(head, rows, caption="Each promise, what was measured, and whether it holds", numbers=[1])


# --- classes ----------------------------------------------------------------------------------------------------------
def class_cards(measurement: Measurement, *, most: int, lens: Lens = INTERNAL) -> Html:
    """The classes that stand out, in words."""
    found = [each for each in worst_classes(measurement, most=most) if _named(measurement, each, lens)]
    return el("div", *(_card(measurement, each) for each in found), class_="cards") if found else Html("")


def _named(measurement: Measurement, finding: Finding, lens: Lens) -> bool:
    shown = lens.shows(finding.size)
    return shown and (finding.attribute is None or lens.shows_values(measurement, finding.attribute))


def _card(measurement: Measurement, finding: Finding) -> Html:
    if finding.attribute is None:
        told = (
            "whoever knows these values knows whose record it is"
            if finding.size == 1
            else f"a guess at the record is right once in {finding.size:,} times"
        )
        return html.class_card(html.key_of(finding.key), f"{people(finding.size)}: {told}.")
    name, total = html.value(finding.attribute), len(measurement.beliefs[finding.attribute].cells.domain.labels)
    parts: list[Any] = [f"{people(finding.size)}. "]
    top = finding.over_represented[0] if finding.over_represented else None
    if top is not None and top.after == 1.0:
        parts += ["Everybody here has the same ", name, "."]
    elif finding.ruled_out:
        parts += [f"An observer can rule out {len(finding.ruled_out)} of {total} values of ", name, "."]
    elif top is not None:
        parts += ["Some values of ", name, " are commoner here."]
    else:
        parts += [name, " is as in the whole table."]
    parts.append(f" {_capital(metric_words(finding.metric))}: {number(float(finding.value))}.")
    shares = [
        (shift.value, shift.before, shift.after) for shift in (*finding.over_represented[:4], *finding.ruled_out[:3])
    ]
    return html.class_card(html.key_of(finding.key), joined(parts), shares)


def _capital(words: str) -> str:
    """A sentence begins with it; k-anonymity stays so."""
    return words if words[1:2] == "-" else words.capitalize()


# --- notebooks --------------------------------------------------------------------------------------------------------
def notebook(*parts: Any) -> str:
    """Parts with their style sheet, whose rules reach nothing but them; any number may stand on one page."""
    return str(el("div", el("style", Html(html.asset("parts.css"))), *parts, class_="divulge note"))


def main_picture(result: results.Result) -> Html | None:
    """The picture of a result; None where its kind has none, or nothing in it can be drawn."""
    try:
        return el("figure", html.picture(charts.as_json(result.chart())))
    except BadInput:
        return None


@results.html_of.register(results.Result)
def result_html(result: results.Result, **_: Any) -> str:
    """Any result: what its text begins with, its table, and the whole text on demand."""
    text = str(result)
    lines = [line for line in text.splitlines() if line.strip()]
    return notebook(
        el("p", " ".join(line.strip() for line in lines[:1]), class_="verdict"),
        _frame(result),
        main_picture(result),
        _whole(text),
    )


def _frame(result: results.Result) -> Html:
    found = results.rows_of(result)
    head, rows = (
        found if isinstance(found, tuple) else (found.column_names, [list(row.values()) for row in found.to_pylist()])
    )
    return html.table(head, rows, most=_ROWS)


def _whole(text: str) -> Html:
    return el("details", el("summary", "all of it, as text"), el("pre", *html.by_line(text)))


@results.html_of.register(Measurement)
def measurement_html(measurement: Measurement, **_: Any) -> str:
    """The answer, four numbers, the classes that stand out, every metric."""
    return notebook(
        el("p", answer(measurement), class_="verdict"),
        four_tiles(measurement),
        class_cards(measurement, most=2),
        main_picture(measurement),
        *(el("p", f"Note: {note}.", class_="lead") for note in measurement.notes),
        el("details", el("summary", "every metric"), _frame(measurement)),
    )


@results.html_of.register(Verdict)
def verdict_html(verdict: Verdict, **_: Any) -> str:
    """Whether the policy holds, and each promise."""
    lines = lines_of(verdict.outcomes)
    return notebook(
        el("p", answer(verdict.measurement), kept(lines), class_="verdict"),
        scoreboard(lines),
        *(el("p", html.chip("bad", "must not be there"), " ", finding.text, ".") for finding in verdict.findings),
        el("p", verdict.alone.text, ".", class_="lead") if verdict.alone else None,
        main_picture(verdict),
        _whole(str(verdict)),
    )


@results.html_of.register(publish.GeneralizedRelease)
def release_html(release: publish.GeneralizedRelease, **_: Any) -> str:
    """What is promised, before and after, and what becomes of each column."""
    lines = lines_of(release.verdict.outcomes)
    return notebook(
        el("p", answer(release.after), kept(lines), class_="verdict"),
        four_tiles(release.after),
        scoreboard(lines),
        el("h3", "What becomes of each column"),
        _frame(release),
        main_picture(release),
        _whole(str(release)),
    )


@results.html_of.register(AnatomizedRelease)
@results.html_of.register(ReleaseCheck)
def levels_html(found: AnatomizedRelease | ReleaseCheck, **_: Any) -> str:
    """What groups promise, and reach."""
    lines = lines_of_levels(found.model, found.levels)
    first = next(line for line in str(found).splitlines() if line.strip())
    return notebook(
        el("p", first, ".", kept(lines), class_="verdict"),
        scoreboard(lines),
        _frame(found),
        main_picture(found),
        _whole(str(found)),
    )


@results.html_of.register(attacks.Attacks)
def attacks_html(found: attacks.Attacks, **_: Any) -> str:
    """What each attack achieves beside what was promised."""
    told = "Every attack is covered by its promise." if found.holds else "An attack is not covered by its promise."
    return notebook(el("p", told, class_="verdict"), attack_rows(found), main_picture(found), _whole(str(found)))


def attack_rows(found: attacks.Attacks) -> Html:
    """Each attack: its success against the person who is worst off, and the bound."""
    rows = [
        html.interval_row(
            outcome.attack,
            outcome.target,
            point=float(outcome.worst),
            baseline=outcome.mean,
            bound=float(outcome.bound),
        )
        for outcome in found.outcomes
    ]
    head = ("adversary", "from 0 to 100 %", "succeeds at worst", "on average", "bound")
    return html.rows_of_parts(head, rows, caption="What each attack achieves", numbers=[2, 3, 4])
