# SPDX-License-Identifier: Apache-2.0
"""What an adversary achieves against a release: in words, as a JSON document, and as one table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import attacks, results
from divulge.views import html, summary
from divulge.views.html import Html, el, joined
from divulge.views.words import bullet, class_name, grid, heading, noted, number, people, percent

_SHOWN_SETS = 20


@results.text_of.register(attacks.AttackResult)
def attack_text(found: attacks.AttackResult) -> RenderableType:
    """Whether a promise is broken, what she achieves, then attack by attack."""
    parts: list[RenderableType] = [Text(told) for told in answer(found)]
    parts += [heading("What each attack achieves"), _rates(found)]
    parts += [bullet(told) for told in _in_release(found)]
    risky = list(_at_risk(found))
    parts += [heading("Most at risk"), *map(bullet, risky)] if risky else []
    if found.knowledge:
        parts += [heading("By what she knows"), _knowledge(found)]
    if found.left_out:
        parts += [heading("Not tried"), *map(bullet, _not_tried(found))]
    return Group(*parts, *([Text("")] if found.notes else []), *(bullet(noted(note)) for note in found.notes))


def answer(found: attacks.AttackResult) -> Iterator[str]:
    """The first lines: whether a promise is broken, and the strongest attack on rows and on each value."""
    bounded = [attempt for attempt in found.attempts if attempt.bound is not None]
    source = found.settings["source"]
    for attempt in found.broken:
        if attempt.bound is not None:
            yield f"BROKEN: {attempt.bound.promise} leaves at most {_share(attempt.bound.value)}, and {_said(attempt)}."
    if not found.broken:
        kept = f"no attack achieves more than its promise leaves ({len(bounded)} of {len(found.attempts)} are bounded)"
        yield f"{source}: {kept if bounded else 'no promise bounds these attacks'}."
    knows = ", ".join(found.settings["knows"])
    yield f"She knows {knows} of {people(found.settings['targets'])}."
    yield from _strongest_lines(found)


def _strongest_lines(found: attacks.AttackResult) -> Iterator[str]:
    for about in dict.fromkeys(
        attempt.about for attempt in found.attempts if attempt.aim in ("linkability", "inference")
    ):
        yield f"{_said(_strongest(found, about))[0].upper()}{_said(_strongest(found, about))[1:]}."


def verdict(found: attacks.AttackResult) -> str:
    """The first line, and how many bounds are broken where several are."""
    first, broken = next(iter(answer(found))), len(found.broken)
    bounded = sum(attempt.bound is not None for attempt in found.attempts)
    return first if broken < 2 else f"{broken} of {bounded} bounds are broken. {first}"


def _not_tried(found: attacks.AttackResult) -> Iterator[str]:
    """Attacks that had nothing to attack, those together that lack the same."""
    for why in dict.fromkeys(found.left_out.values()):
        yield f"{', '.join(name for name, other in found.left_out.items() if other == why)}: {why}"


def _strongest(found: attacks.AttackResult, about: str | None) -> attacks.Attempt:
    """The attack on a thing that succeeds most often; what somebody has not counts only where nothing else was tried."""
    tried = [
        attempt for attempt in found.attempts if attempt.about == about and attempt.aim in ("linkability", "inference")
    ]
    positive = [attempt for attempt in tried if attempt.name not in ("negative", "similarity")]
    return max(positive or tried, key=lambda attempt: -1 if math.isnan(attempt.rate.value) else attempt.rate.value)


def _said(attempt: attacks.Attempt) -> str:
    """What an attack achieves, in half a sentence."""
    rate = attempt.rate
    what = "the right row" if attempt.about is None else f"{attempt.about}"
    beside = [
        f"{words} {_share(value)}"
        for words, value in (("blind guessing", attempt.random), ("the prior alone", attempt.prior))
        if value is not None
    ]
    told = f"; {', '.join(beside)}" if beside else ""
    there = f", and {_there(attempt.in_release)}" if attempt.in_release is not None else ""
    return f"{attempt.name} gets {what} for {interval_text(rate, told)}{there}"


def _there(rate: Any) -> str:
    """Bounds are about people who are in the release."""
    return f"for {interval_text(rate)} of {rate.tries:,} of them who are in the release"


def interval_text(rate: Any, told: str = "") -> str:
    """A rate with its interval."""
    return f"{_share(rate.value)} ({_share(rate.low)} to {_share(rate.high)}{told})"


def _in_release(found: attacks.AttackResult) -> Iterator[str]:
    """Where not all targets are in the release, what bounds are held against."""
    told = [
        f"{one.name}, {one.about or 'row'} {interval_text(one.in_release)} of {one.in_release.tries:,}"
        for one in found.attempts
        if one.in_release is not None
    ]
    if told:
        yield f"bounds are about people who are in the release, and are held against these: {'; '.join(told)}"


def _share(value: float) -> str:
    """With two digits; what would be rounded to nobody or to everybody says so."""
    rounded = not math.isnan(value) and f"{value:.2%}" in ("0.00%", "100.00%")
    return "-" if math.isnan(value) else percent(value) if rounded else f"{value:.2%}"


def _rates(found: attacks.AttackResult) -> RenderableType:
    table = grid(
        "attack", "about", "success", "from", "to", "guesses", "right", "random", "prior", "control", "bound", "promise",
        right=range(2, 11), prose=1,
    )  # fmt: skip
    for attempt in found.attempts:
        bound = attempt.bound
        table.add_row(
            attempt.name,
            attempt.about or "row",
            _share(attempt.rate.value),
            _share(attempt.rate.low),
            _share(attempt.rate.high),
            f"{attempt.guesses:,}",
            _share(attempt.precision),
            "-" if attempt.random is None else _share(attempt.random),
            "-" if attempt.prior is None else _share(attempt.prior),
            "-" if attempt.control is None else _share(attempt.control.value),
            "-" if bound is None else f"{_share(bound.value)}{' !' if attempt.broken else ''}",
            "" if bound is None else f"{bound.promise}{' is broken' if attempt.broken else ''}",
        )
    return table


def _at_risk(found: attacks.AttackResult) -> Iterator[str]:
    """The people whom the strongest attack on each thing hits hardest."""
    for about in dict.fromkeys(attempt.about for attempt in found.attempts if attempt.most_at_risk):
        best = _strongest(found, about)
        for one in best.most_at_risk[:3]:
            guess = "their row" if one.guess is None else f"{about} = {one.guess}"
            fit = f"{number(one.fitting)} fitting {'row' if one.fitting == 1 else 'rows'}"
            yield f"{class_name(one.known)}: {people(one.people)}, {fit}; {guess} with belief {_share(one.belief)}"


def _knowledge(found: attacks.AttackResult) -> RenderableType:
    table = grid("she knows", "about", "success", "from", "to", right=[2, 3, 4])
    shown = list(_most_telling(found))
    for one in shown:
        table.add_row(" + ".join(one.knows), one.about or "row", *_cells(one.rate))
    more = len(found.knowledge) - len(shown)
    return Group(table, Text(f"... and {more} more (in the JSON and in the frame)", style="dim")) if more > 0 else table


def _most_telling(found: attacks.AttackResult) -> Iterator[attacks.Knowing]:
    """Of each thing the sets that tell most."""
    shown: dict[str | None, int] = {}
    for one in sorted(found.knowledge, key=lambda one: (one.about is not None, one.about or "", -one.rate.value)):
        shown[one.about] = shown.get(one.about, 0) + 1
        if shown[one.about] <= _SHOWN_SETS:
            yield one


@results.document_of.register(attacks.AttackResult)
def attack_document(found: attacks.AttackResult) -> dict[str, Any]:
    """What `--json` tells of attacks."""
    return {
        "holds": found.holds,
        "attacks": [_attempt_document(attempt) for attempt in found.attempts],
        "knowledge": [
            {"knows": list(one.knows), "about": one.about, **_rate_document(one.rate)} for one in found.knowledge
        ],
        "not_tried": dict(found.left_out),
        "notes": list(found.notes),
        "settings": dict(found.settings),
    }


def _rate_document(rate: Any) -> dict[str, Any]:
    return {"rate": rate.value, "low": rate.low, "high": rate.high, "tries": rate.tries}


def _attempt_document(attempt: attacks.Attempt) -> dict[str, Any]:
    rate, control, bound = attempt.rate, attempt.control, attempt.bound
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
        "broken": attempt.broken,
        "most_at_risk": [results.plain(one) for one in attempt.most_at_risk],
        "told": attempt.told,
    }


def in_brief(found: attacks.Attacks | attacks.AttackResult | None) -> list[dict[str, Any]]:
    """What a report or a comparison tells of attacks: rates, intervals and bounds."""
    if not isinstance(found, attacks.AttackResult):
        return [] if found is None else [outcome.as_json() for outcome in found.outcomes]
    kept = ("attack", "about", "targets", "rate", "low", "high", "bound", "promise", "in_release", "broken")
    return [{name: told for name, told in _attempt_document(one).items() if name in kept} for one in found.attempts]


@results.rows_of.register(attacks.AttackResult)
def attack_rows(found: attacks.AttackResult) -> results.Rows:
    """A row for each attack, and for each set of columns."""
    head = (
        "attack", "aim", "about", "knows", "targets", "guesses", "successes", "rate", "low", "high", "random", "prior", "control", "bound",
        "broken",
    )  # fmt: skip
    rows: list[tuple[Any, ...]] = [
        (
            a.name, a.aim, a.about, ", ".join(a.knows), a.targets, a.guesses, float(a.successes), a.rate.value, a.rate.low, a.rate.high,
            a.random, a.prior, None if a.control is None else a.control.value, None if a.bound is None else a.bound.value, a.broken,
        )
        for a in found.attempts
    ]  # fmt: skip
    for one in found.knowledge:
        name, aim = ("prosecutor", "linkability") if one.about is None else ("inference", "inference")
        rate, known = one.rate, ", ".join(one.knows)
        counts = (rate.tries, rate.tries, float(rate.successes), rate.value, rate.low, rate.high)
        rows.append((name, aim, one.about, known, *counts, None, None, None, None, False))
    return head, rows


# --- a page -----------------------------------------------------------------------------------------------------------
_HEAD = ("attack", "from 0 to 100 %", "succeeds", "95 % interval", "blindly", "by the prior", "control", "bound")


def tiles(found: attacks.AttackResult) -> Html:
    """Whether a bound is broken, and the strongest attack on rows and on each value."""
    bounded = sum(attempt.bound is not None for attempt in found.attempts)
    broken = len(found.broken)
    judged = "bounds of promises are broken" if bounded else "bounds: nothing is promised that limits these attacks"
    shown = [html.tile(f"{broken} of {bounded}", judged, bad=bool(broken), good=bool(bounded) and not broken)]
    for about in dict.fromkeys(one.about for one in found.attempts if one.aim in ("linkability", "inference")):
        best = _strongest(found, about)
        beside = best.random if best.prior is None else best.prior
        what = "the right row" if about is None else joined((html.value(about), " of a person"))
        without = "" if beside is None else f"; {_share(beside)} without looking anybody up"
        shown.append(
            html.tile(_share(best.rate.value), joined(("of the time she gets ", what, f" ({best.name})", without)))
        )
    return html.tiles(*shown, html.tile(f"{found.settings['targets']:,}", "people attacked, drawn at random"))


def sections(found: Any, curve: Html | None, *, whole: bool) -> Html:
    """A row for each attack; of the whole result also who is most at risk, what less knowledge achieves, and what was not tried."""
    if isinstance(found, attacks.Attacks):
        lead = "Coloured: the success against the person who is worst off; grey: on average; the vermilion line is what was promised."
        return joined((el("p", lead, class_="lead"), el("div", summary.attack_rows(found), class_="card")))
    settings = found.settings
    lead = (
        f"She knows {', '.join(settings['knows'])} of {people(settings['targets'])}, drawn by seed {settings['seed']}. "
    )
    lead += "Coloured: how often she is right, with its interval; grey: who looks nobody up; the vermilion line is the bound."
    rows = html.rows_of_parts(
        _HEAD,
        (_row(one) for one in found.attempts if one.targets),
        caption="What each attack achieves",
        numbers=range(2, 8),
    )
    parts: list[Any] = [el("p", lead, class_="lead"), el("div", rows, class_="card")]
    parts += [html.bullets(*(noted(told) for told in _in_release(found)))]
    if not whole:
        return joined(parts)
    parts += [html.bullets(*_strongest_lines(found), *map(noted, found.notes))]
    risky = list(_at_risk(found))
    parts += [el("h3", "Most at risk"), html.bullets(*risky)] if risky else []
    if found.knowledge:
        head = ("she knows", "about", "success", "from", "to")
        sets = [(" + ".join(one.knows), one.about or "row", *_cells(one.rate)) for one in _most_telling(found)]
        parts += [el("h3", "By what she knows"), el("div", curve, class_="card") if curve else None]
        parts += [el("div", html.table(head, sets), class_="card")]
    if found.left_out:
        parts += [el("h3", "Not tried"), html.bullets(*_not_tried(found))]
    return joined(parts)


def _row(one: attacks.Attempt) -> Html:
    rate, bound = one.rate, one.bound
    control, most = (None if given is None else given.value for given in (one.control, bound))
    broken = joined((" ", html.chip("bad", "broken"))) if one.broken else ""
    promised = "" if bound is None else f". Bounded by {bound.promise}"
    told = [_share(rate.value), f"{_share(rate.low)} to {_share(rate.high)}"]
    told += ["" if share is None else _share(share) for share in (one.random, one.prior, control, most)]
    return html.interval_row(
        joined((html.value(one.name), broken)),
        f"{one.about or 'row'}: {one.told.rstrip('.')}{promised}.",
        point=rate.value,
        low=rate.low,
        high=rate.high,
        baseline=one.random if one.prior is None else one.prior,
        bound=None if bound is None else bound.value,
        cells=dict(zip(_HEAD[2:], told, strict=True)),
    )


def _cells(rate: Any) -> tuple[str, str, str]:
    return _share(rate.value), _share(rate.low), _share(rate.high)
