# SPDX-License-Identifier: Apache-2.0
"""Summary of a result in HTML: answer, four numbers, requirements, and the worst classes.

A notebook shows these parts alone. A report puts them under headings. A `DisclosureRule` states
what readers may see: the publisher sees every class, the public only classes of at least the
required k people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge import anatomization, charts, metrics, releases, results
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check_groups import ReleaseCheck
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.output import html
from divulge.output.formatting import (
    classes,
    classes_with_people,
    metric_words,
    noted,
    number,
    people,
    percent,
)
from divulge.output.html import Html, el, joined
from divulge.output.measurement import Finding, worst_classes
from divulge.policy import Outcome, Promise, Verdict, guard

_INFERRED_POSTERIOR = 0.8
"""Posterior probability above which a value counts as inferred."""
_DISCLOSED_GAIN = 0.2
"""Difference of posterior and prior above which the table is said to disclose a value."""
_MOST_GUESSES = 3
_LONG_FRACTION = 1000
"""Smallest denominator of a fraction that is shown only as a percentage."""
_MOST_ROWS = 12
_UNITS = {"bits": " bits", "people": " people", "values": " values", "classes": " classes"}


@dataclass(frozen=True)
class DisclosureRule:
    """Disclosure rule of a page.

    The publisher's page shows all values. A public page shows the values that at least `least`
    people share, or none if `least` is None.
    """

    public: bool = False
    least: int | None = None

    def shows(self, carried_by: float) -> bool:
        """Return whether a value may be shown that `carried_by` people share."""
        return not self.public or (self.least is not None and carried_by >= self.least)

    def shows_classes(self, measurement: Measurement) -> bool:
        """Return whether every class may be shown."""
        return self.shows(float(measurement.identity_view.whole_table.sizes.min()))

    def shows_values(self, measurement: Measurement, attribute: str) -> bool:
        """Return whether every value of a sensitive attribute may be shown in any class."""
        if not self.public:
            return True
        masses = measurement.beliefs[attribute].cells.marginal
        return bool(self.shows(float(masses[masses > 0].min())))


INTERNAL = DisclosureRule()


# --- the answer -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class BestGuess:
    """Value of a sensitive attribute that an adversary infers best, and the class of that value."""

    attribute: str
    after: float
    """Posterior probability of the value in the class."""
    value_prior: float
    """Prior probability of the value."""
    before: float
    """Prior probability of the most likely value.

    It is the success rate of the best guess without the table.
    """
    key: Mapping[str, Any]
    size: int
    value: Any
    likeliest: float
    """Largest posterior of any value, including values as likely without the table."""
    inferred_people: int
    """People in all classes with a disclosed value; a person counts once in each class."""
    inferred_classes: int
    has_exact_count: bool = True
    """False if the two numbers above are upper bounds, because only the worst classes are loaded.
    """

    @property
    def discloses(self) -> bool:
        """True if the table discloses the value.

        The value is likely in the class, and much less likely without the table.
        """
        return self.after > _INFERRED_POSTERIOR and self.after - self.value_prior > _DISCLOSED_GAIN


def best_guess(measurement: Measurement, attribute: str) -> BestGuess:
    """Find the class and the value that an adversary infers with the largest confidence.

    A value that the table discloses takes precedence over one that is as likely without the table.
    """
    belief = measurement.beliefs[attribute]
    contingency = measurement.contingency
    posterior = belief.posterior
    prior = belief.prior_of_cell
    disclosed = (posterior > _INFERRED_POSTERIOR) & (posterior - prior > _DISCLOSED_GAIN)
    sizes = contingency.sizes[belief.classes]
    cell_sizes = sizes[belief.cells.class_index]
    cell = int(np.lexsort((-cell_sizes, -np.round(posterior, 12), ~disclosed))[0])
    position = int(belief.cells.class_index[cell])
    index = int(belief.classes[position])
    inferred_classes = int(disclosed.sum())
    inferred_people = int(cell_sizes[disclosed].sum())
    has_exact_count = True
    if measurement.survey is not None and bool(disclosed.any()):
        # Only the worst classes are loaded. The engine counts all classes with such a likely value.
        metric = metrics.find_metric("alpha", "sensitive")
        tally = measurement.ask(
            [metrics.ClassQuery(metric, _INFERRED_POSTERIOR, attribute)], most=0
        )[0].tally
        inferred_classes = tally.classes
        inferred_people = tally.people
        has_exact_count = float(belief.prior.shares.max()) < _INFERRED_POSTERIOR - _DISCLOSED_GAIN
    return BestGuess(
        attribute=attribute,
        after=float(posterior[cell]),
        value_prior=float(prior[cell]),
        before=float(belief.prior.of_class(position).max()),
        key=contingency.class_key(index),
        size=int(contingency.sizes[index]),
        value=belief.cells.domain.labels[int(belief.cells.value[cell])],
        likeliest=float(posterior.max()),
        inferred_people=inferred_people,
        inferred_classes=inferred_classes,
        has_exact_count=has_exact_count,
    )


def answer(measurement: Measurement, lens: DisclosureRule = INTERNAL) -> Html:
    """State who is unique and what can be inferred, for readers who know no metric."""
    parts = [_uniqueness_sentence(measurement)]
    guesses = [
        best_guess(measurement, name) for name in measurement.beliefs if not measurement.overlapping
    ]
    guesses.sort(key=lambda guess: (not guess.discloses, -guess.after, guess.value_prior))
    parts += [_inference_sentence(guess, measurement, lens) for guess in guesses[:_MOST_GUESSES]]
    parts += _other_inferences(guesses[_MOST_GUESSES:])
    return joined(parts)


def _uniqueness_sentence(measurement: Measurement) -> Html:
    names = listed(measurement.settings["quasi_identifiers"])
    identity = measurement.identity_view.whole_table
    unique = int(metrics.uniques(identity))
    smallest_class = int(identity.sizes.min())
    if unique:
        if unique == 1:
            verb = "is"
        else:
            verb = "are"
        share = f"{unique:,} of {people(measurement.people)} {verb} unique"
        if measurement.settings["person"]:
            where = " in at least one of their rows"
        else:
            where = ""
        if measurement.overlapping:
            return joined(
                (
                    el("strong", share),
                    ": no other record matches by ",
                    names,
                    ", wildcards counted.",
                )
            )
        return joined((el("strong", share), f"{where}: nobody else has the same ", names, "."))
    if measurement.overlapping:
        return joined(
            ("No record is unique by ", names, f": each matches at least {people(smallest_class)}.")
        )
    shared = f": each combination is shared by at least {people(smallest_class)}."
    return joined(("No record is unique by ", names, shared))


def _inference_sentence(guess: BestGuess, measurement: Measurement, lens: DisclosureRule) -> Html:
    name = html.value(guess.attribute)
    without = f"best guess without the table: {percent(guess.before)}"
    if guess.value_prior != guess.before:
        without = f"prior of this value: {percent(guess.value_prior)}; {without}"
    confidence = f"with {percent(guess.after)} confidence ({without})"
    if lens.shows_classes(measurement) and lens.shows_values(measurement, guess.attribute):
        size = f" ({people(guess.size)}), "
        inferred = joined(
            (html.value(guess.value), " for ", html.key_of(guess.key), size, confidence)
        )
    else:
        inferred = joined(("in one class a value is inferred ", confidence))
    if not guess.discloses:
        return joined((" The most confident inference of ", name, ": ", inferred, "."))
    lead = el("strong", "The ", name, f" of {_inferred_people(guess, measurement)} can be inferred")
    more = ""
    if guess.likeliest > guess.after:
        more = f"; another value, likely without the table, with {percent(guess.likeliest)}"
    return joined(
        (
            " ",
            lead,
            f" with more than {percent(_INFERRED_POSTERIOR)} confidence: ",
            inferred,
            more,
            ".",
        )
    )


def _other_inferences(guesses: Sequence[BestGuess]) -> list[Html]:
    """Name further sensitive columns that are disclosed, and the confidence in the others."""
    parts: list[Html] = []
    disclosed = [guess.attribute for guess in guesses if guess.discloses]
    others = [guess for guess in guesses if not guess.discloses]
    if disclosed:
        confidence = (
            " can also be inferred of some people with more than "
            f"{percent(_INFERRED_POSTERIOR)} confidence."
        )
        parts.append(joined((" ", listed(disclosed), confidence)))
    if others:
        largest_confidence = percent(max(guess.likeliest for guess in others))
        if len(others) == 1:
            columns = "column"
        else:
            columns = "columns"
        parts.append(
            Html(
                f" {len(others):,} more sensitive {columns}: the most confident inference has "
                f"{largest_confidence}."
            )
        )
    return parts


def _inferred_people(guess: BestGuess, measurement: Measurement) -> str:
    if guess.has_exact_count:
        limit = ""
    else:
        limit = "at most "
    if measurement.settings["person"] and guess.inferred_classes > 1:
        if limit:
            everybody = "the people"
        else:
            everybody = "everybody"
        return f"{everybody} in {limit}{classes(guess.inferred_classes)}"
    return f"{limit}{people(guess.inferred_people)}"


def unique_sentence(
    uniqueness: guard.uniqueness.Uniqueness, measurement: Measurement | None
) -> str:
    """State how many people are unique by all published columns.

    The sentence omits k if the measurement has another k.
    """
    has_same_k = measurement is None or uniqueness.k == int(
        measurement.identity_view.whole_table.sizes.min()
    )
    sentence = uniqueness.sentence(with_k=has_same_k)
    if has_same_k:
        return f"{sentence}."
    return f"{sentence[0].upper()}{sentence[1:]}."


def unique_people(
    uniqueness: guard.uniqueness.Uniqueness | None, measurement: Measurement | None
) -> Html | None:
    """Build a paragraph on the people who are unique by all published columns.

    It is a warning if no requirement limits their number.
    """
    if uniqueness is None:
        return None
    if uniqueness.warns:
        warning = joined((html.chip("bad", "WARNING"), " "))
    else:
        warning = None
    if uniqueness.allowance:
        allowance = f" {uniqueness.allowance}."
    else:
        allowance = ""
    return el("p", warning, f"{unique_sentence(uniqueness, measurement)}{allowance}", class_="lead")


def accepted_risk(verdict: Verdict | None) -> Html:
    """Warn about violations among new records that their publisher accepted; empty without any."""
    if verdict is None or not verdict.accepted:
        return Html("")
    return joined((html.chip("bad", "WARNING"), f" {verdict.accepted_risk}. "))


def listed(names: Sequence[str]) -> Html:
    """Join names, as in: zip, age and sex."""
    cells = [html.value(name) for name in names]
    return Html(", ".join(cells[:-1]) + " and " + cells[-1] if len(cells) > 1 else "".join(cells))


def requirements_sentence(lines: Sequence[RequirementLine]) -> Html:
    """State how many requirements are met, and how many are only attested by the publisher."""
    broken, verified_count = (
        sum(line.holds is outcome for line in lines) for outcome in (False, True)
    )
    if not lines:
        return Html("")
    if broken:
        if broken == 1:
            are = "is"
        else:
            are = "are"
        return joined((" ", el("strong", f"{broken} of {len(lines)} promises {are} broken"), "."))
    if verified_count < len(lines):
        sentence = f"{verified_count} of {len(lines)} promises are shown by the files themselves"
        return joined(
            (
                " ",
                el("strong", sentence, class_="ok"),
                "; for the others there is the publisher's word.",
            )
        )
    sentence = {1: "The one promise is kept", 2: "Both promises are kept"}.get(
        len(lines), f"All {len(lines)} promises are kept"
    )
    return joined((" ", el("strong", sentence, class_="ok"), "."))


def four_tiles(measurement: Measurement) -> Html:
    """Build four tiles: people, smallest class, best guess, and change of entropy.

    Without a sensitive column, the last two are the number of unique people and the risk.
    """
    identity = measurement.identity_view.whole_table
    smallest_class = int(identity.sizes.min())
    people_label = joined(
        (
            (
                f"{'person' if measurement.people == 1 else 'people'} in "
                f"{classes(measurement.class_count)} of "
            ),
            listed(measurement.settings["quasi_identifiers"]),
        )
    )
    tile_parts = [
        html.tile(f"{measurement.people:,}", people_label),
        html.tile(
            f"{smallest_class:,}",
            "people in the smallest class (k)"
            if smallest_class > 1
            else "person in the smallest class (k = 1)",
            bad=smallest_class == 1,
        ),
    ]
    if measurement.beliefs:
        guess = max(
            (best_guess(measurement, name) for name in measurement.beliefs),
            key=lambda candidate: (candidate.discloses, candidate.after),
        )
        if guess.value_prior == guess.before:
            prior_note = ""
        else:
            prior_note = f"; prior of that value {percent(guess.value_prior)}"
        guess_label = joined(
            (
                "confidence in a value of ",
                html.value(guess.attribute),
                f" in one class{prior_note}; best guess without the table {percent(guess.before)}",
            )
        )
        tile_parts += [
            html.tile(percent(guess.after), guess_label, bad=guess.discloses),
            _bits_tile(measurement),
        ]
    else:
        unique_count = int(metrics.uniques(identity))
        tile_parts.append(
            html.tile(
                f"{unique_count:,}",
                "unique person" if unique_count == 1 else "unique people",
                bad=unique_count > 0,
            )
        )
        tile_parts.append(
            html.tile(
                percent(1 / smallest_class),
                "probability to pick the record of a person in the smallest class",
            )
        )
    return html.tiles(*tile_parts)


def _bits_tile(measurement: Measurement) -> Html:
    """Build the tile of the entropy leakage of the worst class, with prior entropy and average."""
    leaks = {name: metrics.entropy_leakage(belief) for name, belief in measurement.beliefs.items()}
    name = max(leaks, key=lambda attribute: float(leaks[attribute].max()))
    belief = measurement.beliefs[name]
    index = int(leaks[name].argmax())
    uncertainty = float(belief.prior_entropy[index])
    if measurement.survey:
        average = ""
    else:
        average = f", change {number(float(belief.class_share @ leaks[name]))} on average"
    worst_class_text = (
        f" in the worst class; prior entropy {_short_number(uncertainty)} bits{average}"
    )
    label = joined(("change of the entropy of ", html.value(name), worst_class_text))
    return html.tile(f"{_short_number(float(leaks[name][index]))} bits", label)


def _short_number(value: float) -> str:
    if abs(value) < 10:
        return f"{value:.2g}"
    return number(value)


# --- requirements ---------------------------------------------------------------------------------
@dataclass(frozen=True)
class RequirementLine:
    """A requirement as a row of the scoreboard."""

    name: Any
    bound: str
    measured: float | None
    limit: float | None
    holds: bool | None
    """None if the requirement cannot be checked here."""
    why: Any = ""
    text: str = ""
    """The requirement in the syntax of a policy."""


def lines_of(verdict: Verdict) -> list[RequirementLine]:
    """Return a line for each requirement of a verdict."""
    by_person = bool(verdict.measurement.settings["person"])
    return [
        RequirementLine(
            _requirement_name(outcome),
            bound_in_words(outcome.promise),
            float(outcome.value),
            outcome.promise.bound,
            outcome.holds,
            _explanation(outcome, by_person=by_person),
            outcome.text,
        )
        for outcome in verdict.outcomes
    ]


def _requirement_name(outcome: Outcome) -> Html:
    about = outcome.attribute or outcome.promise.attribute
    parts: list[Any] = [metric_words(outcome.promise.metric.name)]
    if about:
        parts += [" of ", html.value(about)]
    if outcome.protects:
        parts += [" for ", html.value(outcome.protects)]
    return joined([*parts, outcome.checked_records])


def bound_in_words(promise: Promise) -> str:
    """Format a bound, as in: at least 5, at most 1.5 bits."""
    metric = promise.metric
    if metric.worse == "low":
        sign = "at least"
    elif metric.strict:
        sign = "below"
    else:
        sign = "at most"
    if promise.l_value is not None:
        l_note = f", l = {promise.l_value}"
    else:
        l_note = ""
    return f"{sign} {number(promise.bound)}{_UNITS.get(metric.unit, '')}{l_note}"


def _explanation(outcome: Outcome, *, by_person: bool) -> str:
    if outcome.holds:
        return outcome.promise.metric.plain
    if not outcome.breaking_classes:
        return "a number of the whole table"
    by_person = by_person and not outcome.linked  # by all their rows, a person is in one class
    return (
        "broken by "
        f"{classes_with_people(outcome.breaking_classes, outcome.breaking_people, by_person=by_person)}"  # noqa: E501
    )


def lines_of_levels(
    model: anatomization.AlphaBetaGammaDelta, levels: anatomization.Reached
) -> list[RequirementLine]:
    """Return a line for each bounded level of an anatomized release."""
    meanings = {
        "alpha": "how surely the quasi-identifiers of a record can be put together",
        "beta": "how surely a sensitive value can be inferred",
        "gamma": "how surely one row of each table makes up a given record",
        "delta": "how far the belief in a sensitive value moves",
    }
    return [
        RequirementLine(
            name,
            f"at most {bound if bound.denominator < 100 else number(float(bound))}",
            float(getattr(levels, name)),
            float(bound),
            getattr(levels, name) <= bound,
            meaning,
            f"{name} <= {bound}",
        )
        for name, meaning in meanings.items()
        if (bound := getattr(model, name)) != 1
    ]


def in_groups(release: AnatomizedRelease | ReleaseCheck) -> str:
    """State the largest probability of guessing a sensitive value of an anatomized release."""
    beta = release.levels.beta
    if beta.denominator >= _LONG_FRACTION:
        share = percent(float(beta))
    else:
        share = f"{beta} (about {percent(float(beta))})"
    return (
        "Which values belong to one person is hidden in groups: an adversary who knows the group "
        f"of a person guesses their sensitive value with probability at most {share}."
    )


def group_tiles(result: Any) -> Html | None:
    """Build tiles of an anatomized release: groups, smallest group and best guess.

    Returns None for any other result.
    """
    if isinstance(result, AnatomizedRelease):
        group_summary = result.summary
        records = group_summary.records
        groups = group_summary.groups
        smallest = group_summary.smallest
        tables = len(result.table_columns)
    elif isinstance(result, ReleaseCheck):
        records = None
        groups = result.groups
        smallest = result.smallest
        tables = len(result.tables)
    else:
        return None
    if records is None:
        first = []
    else:
        first = [html.tile(f"{records:,}", "records")]
    return html.tiles(
        *first,
        html.tile(f"{groups:,}", f"groups in {tables} tables"),
        html.tile(f"{smallest:,}", "records in the smallest group"),
        html.tile(
            percent(float(result.levels.beta)),
            "best guess at a sensitive value of somebody whose group is known",
        ),
    )


def scoreboard(lines: Sequence[RequirementLine]) -> Html:
    """Build the table of requirements; bars are measured values, lines are bounds."""
    rows = [
        html.scoreboard_row(
            line.name, line.bound, line.measured, line.limit, holds=line.holds, why=line.why
        )
        for line in lines
    ]
    head = ("promise", "measured", "against its bound", "verdict", "in words")
    return html.rows_of_parts(
        head, rows, caption="Each promise, what was measured, and whether it holds", numbers=[1]
    )


# --- classes --------------------------------------------------------------------------------------
def class_cards(
    measurement: Measurement, *, max_classes: int, lens: DisclosureRule = INTERNAL
) -> Html:
    """Build cards that describe the worst classes."""
    findings = [
        finding
        for finding in worst_classes(measurement, max_classes=max_classes)
        if _is_visible(measurement, finding, lens)
    ]
    if findings:
        return el(
            "div", *(_class_card(measurement, finding) for finding in findings), class_="cards"
        )
    return Html("")


def _is_visible(measurement: Measurement, finding: Finding, lens: DisclosureRule) -> bool:
    is_large_enough = lens.shows(finding.size)
    return is_large_enough and (
        finding.attribute is None or lens.shows_values(measurement, finding.attribute)
    )


def _class_card(measurement: Measurement, finding: Finding) -> Html:
    if finding.attribute is None:
        if finding.size == 1:
            sentence = "anyone who knows these values knows whose record it is"
        else:
            sentence = (
                f"the record of one of them is picked with probability {percent(1 / finding.size)}"
            )
        return html.class_card(html.key_of(finding.key), f"{people(finding.size)}: {sentence}.")
    name = html.value(finding.attribute)
    total = len(measurement.beliefs[finding.attribute].cells.domain.labels)
    parts: list[Any] = [f"{people(finding.size)}. "]
    if finding.over_represented:
        top = finding.over_represented[0]
    else:
        top = None
    if top is not None and top.after == 1.0:
        parts += ["Everybody here has the same ", name, "."]
    elif finding.ruled_out:
        parts += [
            f"An observer can rule out {len(finding.ruled_out)} of {total} values of ",
            name,
            ".",
        ]
    elif top is not None:
        parts += ["Some values of ", name, " are more common here."]
    else:
        parts += [name, " is as in the whole table."]
    parts.append(f" {_capitalize(metric_words(finding.metric))}: {number(float(finding.value))}.")
    shares = [
        (shift.value, shift.before, shift.after)
        for shift in (*finding.over_represented[:4], *finding.ruled_out[:3])
    ]
    return html.class_card(html.key_of(finding.key), joined(parts), shares)


def _capitalize(words: str) -> str:
    """Capitalize the first letter, except of names such as k-anonymity."""
    if words[1:2] == "-":
        return words
    return words.capitalize()


# --- notebooks ------------------------------------------------------------------------------------
def notebook(*parts: Any) -> str:
    """Wrap parts with their style sheet, whose rules apply only to them.

    A page can contain several of these.
    """
    return str(el("div", el("style", Html(html.asset("parts.css"))), *parts, class_="divulge note"))


def main_picture(result: results.Result) -> Html | None:
    """Return the chart of a result, or None if there is nothing to draw."""
    try:
        return el("figure", html.picture(charts.as_json(result.chart())))
    except BadInput:
        return None


@results.html_of.register(results.Result)
def result_html(result: results.Result, **_: Any) -> str:
    """Return the HTML of any result: first line, table, chart, and the full text folded."""
    text = str(result)
    lines = [line for line in text.splitlines() if line.strip()]
    return notebook(
        el("p", " ".join(line.strip() for line in lines[:1]), class_="verdict"),
        _rows_table(result),
        main_picture(result),
        _full_text(text),
    )


def _rows_table(result: results.Result) -> Html:
    frame = results.rows_of(result)
    if isinstance(frame, tuple):
        head, rows = frame
    else:
        head = frame.column_names
        rows = [list(row.values()) for row in frame.to_pylist()]
    return html.table(head, rows, most=_MOST_ROWS)


def _full_text(text: str) -> Html:
    return el("details", el("summary", "all of it, as text"), el("pre", *html.by_line(text)))


@results.html_of.register(Measurement)
def measurement_html(measurement: Measurement, **_: Any) -> str:
    """Return the answer, four numbers, the worst classes and every metric as HTML."""
    return notebook(
        el("p", answer(measurement), class_="verdict"),
        four_tiles(measurement),
        class_cards(measurement, max_classes=2),
        main_picture(measurement),
        *(el("p", noted(note), class_="lead") for note in measurement.notes),
        el("details", el("summary", "every metric"), _rows_table(measurement)),
    )


@results.html_of.register(Verdict)
def verdict_html(verdict: Verdict, **_: Any) -> str:
    """Return the verdict and each requirement as HTML."""
    lines = lines_of(verdict)
    return notebook(
        el("p", answer(verdict.measurement), requirements_sentence(lines), class_="verdict"),
        scoreboard(lines),
        *(
            el("p", html.chip("bad", "must not be there"), " ", finding.text, ".")
            for finding in verdict.findings
        ),
        unique_people(verdict.uniqueness, verdict.measurement),
        main_picture(verdict),
        _full_text(str(verdict)),
    )


@results.html_of.register(releases.GeneralizedRelease)
def release_html(release: releases.GeneralizedRelease, **_: Any) -> str:
    """Return requirements, numbers and the treatment of each column as HTML."""
    lines = lines_of(release.verdict)
    return notebook(
        el("p", answer(release.after), requirements_sentence(lines), class_="verdict"),
        unique_people(release.uniqueness, release.after),
        four_tiles(release.after),
        scoreboard(lines),
        el("h3", "What becomes of each column"),
        _rows_table(release),
        main_picture(release),
        _full_text(str(release)),
    )


@results.html_of.register(AnatomizedRelease)
@results.html_of.register(ReleaseCheck)
def levels_html(result: AnatomizedRelease | ReleaseCheck, **_: Any) -> str:
    """Return the levels of groups and their bounds as HTML."""
    lines = lines_of_levels(result.model, result.levels)
    first = next(line for line in str(result).splitlines() if line.strip())
    return notebook(
        el("p", first, ".", requirements_sentence(lines), class_="verdict"),
        scoreboard(lines),
        _rows_table(result),
        main_picture(result),
        _full_text(str(result)),
    )
