# SPDX-License-Identifier: Apache-2.0
"""Views of attacks on a release: text, JSON document, table and HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import attacks, results
from divulge.output import html
from divulge.output.formatting import bullet, grid, heading, noted, number, people, percent
from divulge.output.html import Html, el, joined
from divulge.text import class_name, count_with_noun

_SHOWN_SETS = 20


@results.text_of.register(attacks.AttackResult)
def attack_text(result: attacks.AttackResult) -> RenderableType:
    """Render the violated bounds, the strongest attacks, then every attack."""
    parts: list[RenderableType] = [Text(sentence) for sentence in answer(result)]
    parts += attack_parts(result)
    at_risk = list(_at_risk_sentences(result))
    if at_risk:
        parts += [heading("Most at risk"), *map(bullet, at_risk)]
    if result.knowledge:
        parts += [heading("By what she knows"), _knowledge_table(result)]
    if result.left_out:
        parts += [heading("Not tried"), *map(bullet, _untried_attacks(result))]
    return Group(
        *parts,
        *([Text("")] if result.notes else []),
        *(bullet(noted(note)) for note in result.notes),
    )


def attack_parts(result: attacks.AttackResult) -> list[RenderableType]:
    """Render the success of each attack next to its baselines and its bound."""
    sentences = (*_in_release_sentences(result), *_highest_sentences(result))
    return [heading("What each attack achieves"), _rates_table(result), *map(bullet, sentences)]


def answer(result: attacks.AttackResult) -> Iterator[str]:
    """Yield the first lines: violated bounds, and the strongest attacks on rows and on values."""
    bounded = [attempt for attempt in result.attempts if attempt.bound is not None]
    source = result.settings["source"]
    for attempt in result.broken:
        if attempt.bound is not None:
            yield (
                f"BROKEN: {attempt.bound.promise} leaves at most "
                f"{_share_text(attempt.bound.value)}, "
                f"and {_attempt_sentence(attempt)}{_exceeding_clause(attempt)}."
            )
    if not result.broken:
        sentence = (
            f"no attack achieves more than its promise leaves ({len(bounded)} of "
            f"{len(result.attempts)} are bounded)"
        )
        yield f"{source}: {sentence if bounded else 'no promise bounds these attacks'}."
    knows = ", ".join(result.settings["knows"])
    yield f"She knows {knows} of {people(result.settings['targets'])}."
    yield from _strongest_sentences(result)


def _exceeding_clause(attempt: attacks.Attempt) -> str:
    """State how many targets are exposed to more than the bound leaves for one person."""
    if not attempt.exceeding:
        return ""
    targets = count_with_noun(attempt.exceeding, "target", "targets")
    return (
        f"; against {targets} its exact chance is higher, up to "
        f"{_share_text(attempt.highest or 0.0)}, if their group is known"
    )


def _strongest_sentences(result: attacks.AttackResult) -> Iterator[str]:
    for about in dict.fromkeys(
        attempt.about for attempt in result.attempts if attempt.aim in ("linkability", "inference")
    ):
        sentence = _attempt_sentence(_strongest_attempt(result, about))
        yield f"{sentence[0].upper()}{sentence[1:]}."


def verdict(result: attacks.AttackResult) -> str:
    """Return the first line, preceded by the number of violated bounds if there are several."""
    first = next(iter(answer(result)))
    broken = len(result.broken)
    bounded = sum(attempt.bound is not None for attempt in result.attempts)
    if broken < 2:
        return first
    return f"{broken} of {bounded} bounds are broken. {first}"


def _untried_attacks(result: attacks.AttackResult) -> Iterator[str]:
    """Yield attacks that had no target or no input, grouped by reason."""
    for reason in dict.fromkeys(result.left_out.values()):
        names = [name for name, other in result.left_out.items() if other == reason]
        yield f"{', '.join(names)}: {reason}"


def _strongest_attempt(result: attacks.AttackResult, about: str | None) -> attacks.Attempt:
    """Return the attack on rows (None) or on a column with the largest success rate.

    The `negative` and `similarity` attacks count only if no other attack was tried.
    """
    tried = [
        attempt
        for attempt in result.attempts
        if attempt.about == about and attempt.aim in ("linkability", "inference")
    ]
    positive = [attempt for attempt in tried if attempt.name not in ("negative", "similarity")]
    return max(
        positive or tried,
        key=lambda attempt: -1 if math.isnan(attempt.rate.value) else attempt.rate.value,
    )


def _attempt_sentence(attempt: attacks.Attempt) -> str:
    """Describe the success rate of an attack as a clause."""
    rate = attempt.rate
    if attempt.about is None:
        target = "the right row"
    else:
        target = f"{attempt.about}"
    baselines = [
        f"{words} {_share_text(value)}"
        for words, value in (("blind guessing", attempt.random), ("the prior alone", attempt.prior))
        if value is not None
    ]
    if baselines:
        baseline_text = f"; {', '.join(baselines)}"
    else:
        baseline_text = ""
    if attempt.in_release is not None:
        in_release = f", and {_in_release_clause(attempt.in_release)}"
    else:
        in_release = ""
    return f"{attempt.name} gets {target} for {interval_text(rate, baseline_text)}{in_release}"


def _in_release_clause(rate: Any) -> str:
    """Describe the rate among the targets in the release, to which bounds apply."""
    return f"for {interval_text(rate)} of {rate.tries:,} of them who are in the release"


def interval_text(rate: Any, suffix: str = "") -> str:
    """Format a rate with its interval."""
    return (
        f"{_share_text(rate.value)} ({_share_text(rate.low)} to {_share_text(rate.high)}{suffix})"
    )


def _in_release_sentences(result: attacks.AttackResult) -> Iterator[str]:
    """Yield a sentence with the rates that bounds are compared with.

    It is needed only if some targets are not in the release.
    """
    rates = [
        f"{attempt.name}, {attempt.about or 'row'} {interval_text(attempt.in_release)} of "
        f"{attempt.in_release.tries:,}"
        for attempt in result.attempts
        if attempt.in_release is not None
    ]
    if rates:
        yield (
            "bounds are about people who are in the release, and are held against these: "
            f"{'; '.join(rates)}"
        )


def _highest_sentences(result: attacks.AttackResult) -> Iterator[str]:
    """Yield a sentence with the exact chances against the targets with the highest risk."""
    chances = [
        f"{attempt.name}, {attempt.about or 'row'} {_share_text(attempt.highest)}"
        for attempt in result.attempts
        if attempt.highest is not None
    ]
    if chances:
        yield (
            "highest chance against one target whose group is known (exact, without an interval): "
            f"{'; '.join(chances)}"
        )


def _share_text(value: float) -> str:
    """Format a share with two decimals; values that would round to 0% or 100% say so."""
    if math.isnan(value):
        return "-"
    text = f"{value:.2%}"
    if text in ("0.00%", "100.00%"):
        return percent(value)
    return text


def _rates_table(result: attacks.AttackResult) -> RenderableType:
    table = grid(
        "attack",
        "about",
        "success",
        "from",
        "to",
        "guesses",
        "right",
        "random",
        "prior",
        "control",
        "bound",
        "promise",
        right=range(2, 11),
        prose=1,
    )
    for attempt in result.attempts:
        table.add_row(
            attempt.name,
            attempt.about or "row",
            _share_text(attempt.rate.value),
            _share_text(attempt.rate.low),
            _share_text(attempt.rate.high),
            f"{attempt.guesses:,}",
            _share_text(attempt.precision),
            "-" if attempt.random is None else _share_text(attempt.random),
            "-" if attempt.prior is None else _share_text(attempt.prior),
            "-" if attempt.control is None else _share_text(attempt.control.value),
            *_bound_cells(attempt),
        )
    return table


def _bound_cells(attempt: attacks.Attempt) -> tuple[str, str]:
    """Return the guaranteed bound of an attempt and the requirement that it follows from."""
    bound = attempt.bound
    if bound is None:
        return "-", ""
    if attempt.broken:
        return f"{_share_text(bound.value)} !", f"{bound.promise} is broken"
    return _share_text(bound.value), bound.promise


def _at_risk_sentences(result: attacks.AttackResult) -> Iterator[str]:
    """Yield the people most at risk from the strongest attack on rows and on each column."""
    for about in dict.fromkeys(
        attempt.about for attempt in result.attempts if attempt.most_at_risk
    ):
        best = _strongest_attempt(result, about)
        for target in best.most_at_risk[:3]:
            if target.guess is None:
                guess = "their row"
            else:
                guess = f"{about} = {target.guess}"
            fitting_rows = (
                f"{number(target.fitting)} fitting {'row' if target.fitting == 1 else 'rows'}"
            )
            yield (
                f"{class_name(target.known)}: {people(target.people)}, {fitting_rows}; {guess} "
                f"with belief {_share_text(target.belief)}"
            )


def _knowledge_table(result: attacks.AttackResult) -> RenderableType:
    table = grid("she knows", "about", "success", "from", "to", right=[2, 3, 4])
    column_sets = list(_strongest_column_sets(result))
    for column_set in column_sets:
        table.add_row(
            " + ".join(column_set.knows), column_set.about or "row", *_rate_cells(column_set.rate)
        )
    more = len(result.knowledge) - len(column_sets)
    if more > 0:
        return Group(
            table, Text(f"... and {more} more (in the JSON and in the frame)", style="dim")
        )
    return table


def _strongest_column_sets(result: attacks.AttackResult) -> Iterator[attacks.KnowledgeResult]:
    """Yield the sets of known columns with the highest rates, for rows and each column."""
    counts: dict[str | None, int] = {}
    for column_set in sorted(
        result.knowledge,
        key=lambda knowing: (knowing.about is not None, knowing.about or "", -knowing.rate.value),
    ):
        counts[column_set.about] = counts.get(column_set.about, 0) + 1
        if counts[column_set.about] <= _SHOWN_SETS:
            yield column_set


@results.document_of.register(attacks.AttackResult)
def attack_document(result: attacks.AttackResult) -> dict[str, Any]:
    """Return the JSON document of attacks."""
    return {
        "holds": result.holds,
        "attacks": attempt_documents(result),
        "knowledge": [
            {
                "knows": list(column_set.knows),
                "about": column_set.about,
                **_rate_document(column_set.rate),
            }
            for column_set in result.knowledge
        ],
        "not_tried": dict(result.left_out),
        "notes": list(result.notes),
        "settings": dict(result.settings),
    }


def attempt_documents(result: attacks.AttackResult) -> list[dict[str, Any]]:
    """Return the JSON document of each attack."""
    return [_attempt_document(attempt) for attempt in result.attempts]


def _rate_document(rate: Any) -> dict[str, Any]:
    return {"rate": rate.value, "low": rate.low, "high": rate.high, "tries": rate.tries}


def _attempt_document(attempt: attacks.Attempt) -> dict[str, Any]:
    rate = attempt.rate
    control = attempt.control
    bound = attempt.bound
    return {
        "attack": attempt.name,
        "aim": attempt.aim,
        "about": attempt.about,
        "knows": list(attempt.knows),
        "targets": attempt.targets,
        "guesses": attempt.guesses,
        "successes": attempt.successes,
        "rate": rate.value,
        "low": rate.low,
        "high": rate.high,
        "precision": attempt.precision,
        "random": attempt.random,
        "prior": attempt.prior,
        "control": None if control is None else _rate_document(control),
        "risk": attempt.risk,
        "bound": None if bound is None else bound.value,
        "promise": None if bound is None else bound.promise,
        "in_release": None if attempt.in_release is None else _rate_document(attempt.in_release),
        "highest": attempt.highest,
        "highest_gain": attempt.highest_gain,
        "exceeding": attempt.exceeding,
        "broken": attempt.broken,
        "most_at_risk": [results.plain(target) for target in attempt.most_at_risk],
        "told": attempt.told,
    }


def attack_summaries(result: attacks.AttackResult | None) -> list[dict[str, Any]]:
    """Return rates, intervals and bounds of attacks for a report or a comparison."""
    if result is None:
        return []
    field_names = (
        "attack",
        "about",
        "targets",
        "rate",
        "low",
        "high",
        "bound",
        "promise",
        "in_release",
        "highest",
        "exceeding",
        "broken",
    )
    return [
        {name: value for name, value in document.items() if name in field_names}
        for document in attempt_documents(result)
    ]


@results.rows_of.register(attacks.AttackResult)
def attack_rows(result: attacks.AttackResult) -> results.Rows:
    """Table with one row for each attack and for each set of known columns."""
    head = (
        "attack",
        "aim",
        "about",
        "knows",
        "targets",
        "guesses",
        "successes",
        "rate",
        "low",
        "high",
        "random",
        "prior",
        "control",
        "bound",
        "highest",
        "broken",
    )
    rows: list[tuple[Any, ...]] = [
        (
            a.name,
            a.aim,
            a.about,
            ", ".join(a.knows),
            a.targets,
            a.guesses,
            float(a.successes),
            a.rate.value,
            a.rate.low,
            a.rate.high,
            a.random,
            a.prior,
            None if a.control is None else a.control.value,
            None if a.bound is None else a.bound.value,
            a.highest,
            a.broken,
        )
        for a in result.attempts
    ]
    for column_set in result.knowledge:
        if column_set.about is None:
            name = "prosecutor"
            aim = "linkability"
        else:
            name = "inference"
            aim = "inference"
        rate = column_set.rate
        known_columns = ", ".join(column_set.knows)
        counts = (rate.tries, rate.tries, float(rate.successes), rate.value, rate.low, rate.high)
        rows.append((name, aim, column_set.about, known_columns, *counts, *[None] * 5, False))
    return head, rows


# --- HTML -----------------------------------------------------------------------------------------
_HTML_HEAD = (
    "attack",
    "from 0 to 100 %",
    "succeeds",
    "95 % interval",
    "blindly",
    "by the prior",
    "control",
    "bound",
)


def tiles(result: attacks.AttackResult) -> Html:
    """Tiles with the number of violated bounds and the strongest attacks on rows and each value."""
    bounded = sum(attempt.bound is not None for attempt in result.attempts)
    broken = len(result.broken)
    if bounded:
        bounds_label = "bounds of promises are broken"
    else:
        bounds_label = "bounds: nothing is promised that limits these attacks"
    attack_tiles = [
        html.tile(
            f"{broken} of {bounded}",
            bounds_label,
            bad=bool(broken),
            good=bool(bounded) and not broken,
        )
    ]
    for about in dict.fromkeys(
        candidate_attempt.about
        for candidate_attempt in result.attempts
        if candidate_attempt.aim in ("linkability", "inference")
    ):
        best = _strongest_attempt(result, about)
        if best.prior is None:
            baseline = best.random
        else:
            baseline = best.prior
        if about is None:
            target = "the right row"
        else:
            target = joined((html.value(about), " of a person"))
        if baseline is None:
            baseline_note = ""
        else:
            baseline_note = f"; {_share_text(baseline)} without looking anybody up"
        attack_tiles.append(
            html.tile(
                _share_text(best.rate.value),
                joined(("of the time she gets ", target, f" ({best.name})", baseline_note)),
            )
        )
    return html.tiles(
        *attack_tiles,
        html.tile(f"{result.settings['targets']:,}", "people attacked, drawn at random"),
    )


def sections(result: attacks.AttackResult, curve: Html | None, *, with_details: bool) -> Html:
    """Build the HTML table of attacks, one row for each attack.

    With `with_details`, the people most at risk, the rates with less knowledge, and the attacks
    that were not tried follow.
    """
    settings = result.settings
    lead = (
        f"She knows {', '.join(settings['knows'])} of {people(settings['targets'])}, drawn by seed "
        f"{settings['seed']}. "
    )
    lead += (
        "Coloured: how often she is right, with its interval; grey: who looks nobody up; the "
        "vermilion line is the bound."
    )
    rows = html.rows_of_parts(
        _HTML_HEAD,
        (_attempt_row(entry) for entry in result.attempts if entry.targets),
        caption="What each attack achieves",
        numbers=range(2, 8),
    )
    parts: list[Any] = [el("p", lead, class_="lead"), el("div", rows, class_="card")]
    sentences = (*_in_release_sentences(result), *_highest_sentences(result))
    parts += [html.bullets(*map(noted, sentences))]
    if not with_details:
        return joined(parts)
    parts += [html.bullets(*_strongest_sentences(result), *map(noted, result.notes))]
    at_risk = list(_at_risk_sentences(result))
    if at_risk:
        parts += [el("h3", "Most at risk"), html.bullets(*at_risk)]
    if result.knowledge:
        head = ("she knows", "about", "success", "from", "to")
        sets = [
            (" + ".join(entry.knows), entry.about or "row", *_rate_cells(entry.rate))
            for entry in _strongest_column_sets(result)
        ]
        parts += [el("h3", "By what she knows"), el("div", curve, class_="card") if curve else None]
        parts += [el("div", html.table(head, sets), class_="card")]
    if result.left_out:
        parts += [el("h3", "Not tried"), html.bullets(*_untried_attacks(result))]
    return joined(parts)


def _attempt_row(attempt: attacks.Attempt) -> Html:
    rate = attempt.rate
    bound = attempt.bound
    control, bound_value = (
        None if estimate is None else estimate.value for estimate in (attempt.control, bound)
    )
    broken_chip = joined((" ", html.chip("bad", "broken"))) if attempt.broken else ""
    if bound is None:
        bound_note = ""
    else:
        bound_note = f". Bounded by {bound.promise}"
    cell_texts = [_share_text(rate.value), f"{_share_text(rate.low)} to {_share_text(rate.high)}"]
    cell_texts += [
        "" if share is None else _share_text(share)
        for share in (attempt.random, attempt.prior, control, bound_value)
    ]
    return html.interval_row(
        joined((html.value(attempt.name), broken_chip)),
        f"{attempt.about or 'row'}: {attempt.told.rstrip('.')}{bound_note}.",
        point=rate.value,
        low=rate.low,
        high=rate.high,
        baseline=attempt.random if attempt.prior is None else attempt.prior,
        bound=None if bound is None else bound.value,
        cells=dict(zip(_HTML_HEAD[2:], cell_texts, strict=True)),
    )


def _rate_cells(rate: Any) -> tuple[str, str, str]:
    return _share_text(rate.value), _share_text(rate.low), _share_text(rate.high)
