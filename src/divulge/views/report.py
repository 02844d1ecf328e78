# SPDX-License-Identifier: Apache-2.0
"""A report: one page that needs nothing beside it. The answer first, then four numbers, then evidence, then how to make it again.

The page forbids itself everything but its own style sheet and its own two scripts, by their hashes; nothing in it leads outside. What
regulators call singling out, linkability and inference, and the headings of HIPAA's expert determination and of NIST SP 800-188, get our
numbers; whether a law is kept is not ours to say, and is not said.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from divulge import attacks, charts, composition, metrics, publish, results, search, values
from divulge.api import compare as comparing
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check import ReleaseCheck
from divulge.api.report import Report
from divulge.api.utility import Utility
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.policy import Promise, judge
from divulge.version import __version__
from divulge.views import attack, compare, compose, html, provenance, releases, summary
from divulge.views.html import Html, el, joined
from divulge.views.summary import Lens, PromiseLine
from divulge.views.utility import kept_in_words
from divulge.views.words import metric_words, number, people, percent

_CARDS, _COLUMNS = 4, 4


# --- a report as a result ---------------------------------------------------------------------------------------------
@results.text_of.register(Report)
def report_text(report: Report, *, written: Any = None) -> str:
    """What the page says first, and where it lies."""
    told = _plain(_answer(report, lens_of(report)))
    return told + (f"\n\n{report.audience.capitalize()} report: {written}" if written else "")


@results.document_of.register(Report)
def report_document(report: Report, *, written: Any = None) -> dict[str, Any]:
    """What `divulge report --json` prints."""
    return {
        "about": report.name,
        "audience": report.audience,
        "date": report.date.isoformat(),
        "answer": _plain(_answer(report, lens_of(report))),
        "promises": [
            {"promise": line.text, "bound": line.limit, "value": line.measured, "holds": line.holds}
            for line in _lines(report)
        ],
        "attacks": attack.in_brief(report.attacks),
        "sections": [title for title, _ in _sections(report)],
        "files": dict(report.files),
        "settings": provenance.told_settings(report),
        "written": None if written is None else str(written),
    }


@results.rows_of.register(Report)
def report_rows(report: Report) -> results.Rows:
    """A row for each section of the page."""
    return ("section", "characters"), [(title, len(_plain(part))) for title, part in _sections(report)]


@results.html_of.register(Report)
def report_html(report: Report, *, page: bool = False) -> str:
    """The page, or what a notebook shows of it."""
    if page:
        return _page(report)
    told = el("p", _answer(report, lens_of(report)), class_="verdict")
    return summary.notebook(
        told, html.bullets(*(title for title, _ in _sections(report))), el("p", "save(path) writes the page.")
    )


def _plain(part: str) -> str:
    """The text of markup, for people and JSON."""
    import html as standard
    import re

    return standard.unescape(re.sub(r"<[^>]+>", "", part)).strip()


# --- the page ---------------------------------------------------------------------------------------------------------
def _page(report: Report) -> str:
    style, start = html.asset("parts.css") + html.asset("page.css"), html.asset("page.js")
    body = joined(
        (
            _header(report),
            *(el("section", el("h2", title), part) for title, part in _sections(report)),
            el(
                "footer",
                f"Made with divulge {__version__}. Nothing in this file asks anybody for anything: it opens offline.",
            ),
        )
    )
    is_drawn = 'class="live"' in body
    scripts = [charts.drawing_script(), start] if is_drawn else []
    allowed = " ".join(_hash(script) for script in scripts) or "'none'"
    policy = f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    head = joined(
        (
            Html('<meta charset="utf-8">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            Html('<meta name="viewport" content="width=device-width,initial-scale=1">'),
            Html('<meta name="referrer" content="no-referrer">'),
            el("title", f"What {values.visible(report.name)} tells"),
            el("style", Html(style)),
        )
    )
    run = joined(Html(f"<script>{script}</script>") for script in scripts)
    main = el("main", body, class_="divulge")
    return f'<!doctype html><html lang="en"><head>{head}</head><body class="report">{main}{run}</body></html>\n'


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def lens_of(report: Report) -> Lens:
    """What may be shown: to the public, values that as many people share as the promised k; none where none is promised."""
    if not report.public:
        return summary.INTERNAL
    leading = metrics.leading_metric("identity")
    bounds = [promise.bound for promise in provenance.promises(report) if promise.metric is leading]
    return Lens(public=True, least=int(max(bounds)) if bounds else None)


def _header(report: Report) -> Html:
    stamp, told = ("INTERNAL", "shows values of people; not for handing out")
    if report.public:
        stamp, told = ("PUBLIC", "made from the published files alone")
    date = f"{report.date.day} {report.date:%B %Y}"
    measured = report.measurement
    return el(
        "header",
        el(
            "div",
            el("span", stamp, class_="stamp open" if report.public else "stamp"),
            el("span", told),
            el("span", date),
            el("span", f"divulge {__version__}"),
            class_="meta",
        ),
        el("h1", "What ", html.value(report.name), " tells"),
        el("p", _answer(report, lens_of(report)), class_="verdict"),
        summary.four_tiles(measured) if measured is not None else summary.group_tiles(report.found),
    )


def _answer(report: Report, lens: Lens) -> Html:
    """What the page says first."""
    measured, lines = report.measurement, _lines(report)
    if measured is not None:
        findings = report.verdict.findings if report.verdict else ()
        more = joined((" ", el("strong", "Columns are there that must not be"), ".")) if findings else ""
        return joined((summary.answer(measured, lens), summary.kept(lines), more))
    found = report.found
    if isinstance(found, AnatomizedRelease | ReleaseCheck):
        return joined((summary.in_groups(found), summary.kept(lines)))
    if isinstance(found, comparing.TableComparison):
        return compare.answer(found)
    if isinstance(found, composition.Composition):
        return compose.answer(found)
    if isinstance(found, attacks.AttackResult):
        return html.escape(attack.verdict(found))
    return html.escape(next((line.strip() for line in str(found).splitlines() if line.strip()), ""))


def _sections(report: Report) -> Iterator[tuple[str, Html]]:
    """What follows the answer, each under its heading; what there is nothing to say about is left out."""
    measured, lens = report.measurement, lens_of(report)
    if lines := _lines(report):
        yield "Against the policy", _against(report, lines)
    if measured is not None:
        yield "Who is at risk", _at_risk(report, measured, lens)
        if known := _how_much_known(report):
            yield "How much must one know?", known
    yield from compose.beside_section(() if report.public else report.beside, report.found)
    if done := _done(report):
        yield "What was done", done
    if cost := _cost(report):
        yield "What it cost", cost
    if report.attacks is not None:
        yield "Attacks that were tried", _attacked(report)
    elif _is_anatomized(report) and not report.public:
        yield "Attacks that were tried", el("p", provenance.NO_ATTACKS)
    if not _has_own_sections(report):
        yield "What was found", _found(report)
    yield "What this does not promise", html.bullets(*not_promised(report))
    if measured is not None or _is_anatomized(report):
        yield "What ethics boards and regulators ask", _asked(report)
    yield "How this was made", provenance.how_made(report)
    yield "How to make it again", provenance.again(report)


def _has_own_sections(report: Report) -> bool:
    return report.measurement is not None or _is_anatomized(report) or report.attacks is report.found


def _is_anatomized(report: Report) -> bool:
    return isinstance(report.found, AnatomizedRelease | ReleaseCheck)


# --- promises ---------------------------------------------------------------------------------------------------------
def _lines(report: Report) -> list[PromiseLine]:
    found = report.found
    if report.verdict is not None:
        return summary.lines_of(report.verdict.outcomes)
    if isinstance(found, AnatomizedRelease | ReleaseCheck):
        return summary.lines_of_levels(found.model, found.levels)
    if report.release is not None and report.measurement is not None:
        return list(_published_lines(report, report.measurement))
    return []


def _published_lines(report: Report, measured: Measurement) -> Iterator[PromiseLine]:
    """As the public manifest tells them: what the files show is judged again, the rest is the publisher's word."""
    promises = {promise.text: promise for promise in provenance.promises(report)}
    for item in (report.release or {}).get("verdict", ()):
        promise = None if item["protects"] else promises.get(item["promise"])
        if promise is not None and item["shown_by"] == "files":
            about = Promise(promise.metric, promise.bound, item["attribute"], promise.l_value)
            yield from summary.lines_of(judge(measured, [about]).outcomes)
            continue
        about_ = f" ({item['attribute']})" if item["attribute"] else ""
        whom = f" for {item['protects']}" if item["protects"] else ""
        why = "held when it was published, says the publisher; the files alone do not show it"
        text = f"{item['promise']}{about_}{whom}"
        yield PromiseLine(
            html.value(text), "publisher's word", None, None if promise is None else promise.bound, None, why, text
        )


def _against(report: Report, lines: Sequence[PromiseLine]) -> Html:
    broken = sum(line.holds is False for line in lines)
    are = "promise is" if len(lines) == 1 else "promises is" if broken == 1 else "promises are"
    told = f"{broken} of {len(lines)} {are} broken." if broken else "Every promise that was judged is kept."
    lead = f"{told} The line across each bar is the bound, the bar is what was measured."
    findings = report.verdict.findings if report.verdict else ()
    columns = [joined((html.chip("bad", "must not be there"), " ", finding.text, ".")) for finding in findings]
    return joined(
        (
            el("p", lead, class_="lead"),
            el("div", summary.scoreboard(lines), class_="card"),
            html.bullets(*columns) if columns else None,
        )
    )


# --- risk -------------------------------------------------------------------------------------------------------------
def _at_risk(report: Report, measured: Measurement, lens: Lens) -> Html:
    lead = "A class is everybody who looks alike to somebody who knows these columns. The further out a class, the more it gives away."
    drawn = [_chart(report.verdict or measured)] if lens.shows_classes(measured) else []
    drawn += [_chart_by(charts.class_sizes, measured)]
    cards = summary.class_cards(measured, most=_CARDS, lens=lens)
    hidden = (
        "Classes and values are not named here: fewer people may share one than the policy promises."
        if report.public and not cards
        else None
    )
    return joined(
        (
            el("p", lead, class_="lead"),
            _pictures(drawn),
            cards,
            el("p", hidden, class_="lead") if hidden else None,
            html.bullets(*(f"{note}." for note in _notes(report, measured))) if _notes(report, measured) else None,
        )
    )


def _notes(report: Report, measured: Measurement) -> list[str]:
    """Notes name values; a public page has none of them."""
    return [] if report.public else list(measured.notes)


def _chart(result: results.Result) -> Html | None:
    return _chart_by(lambda found: found.chart(), result)


def _chart_by(draw: Any, found: Any) -> Html | None:
    """A picture; None where there is nothing to draw."""
    try:
        return html.figure(charts.as_json(draw(found)))
    except BadInput:
        return None


def _pictures(drawn: Sequence[Html | None]) -> Html | None:
    """Pictures in cards, as many beside each other as there is room for."""
    found = [el("div", each, class_="card") for each in drawn if each]
    return el("div", *found, class_="pictures") if found else None


def _how_much_known(report: Report) -> Html | None:
    if report.ranking is None:
        return None
    drawn = [_chart_by(charts.known_columns, report.ranking), _chart_by(charts.sets, report.ranking)]
    lead = "An adversary may know fewer of these columns, or others. What sets of them tell whoever knows them:"
    figures = _pictures(drawn)
    return joined((el("p", lead, class_="lead"), figures)) if figures else None


# --- what was done, and what it cost ----------------------------------------------------------------------------------
def _done(report: Report) -> Html | None:
    found, document = report.found, report.release
    if isinstance(found, publish.GeneralizedRelease):
        return html.bullets(*releases.columns_in_words(found))
    if isinstance(found, AnatomizedRelease):
        return html.bullets(*releases.tables_in_words(found))
    if document is None:
        return None
    return html.bullets(*_published_columns(document, report.measurement))


def _published_columns(document: Mapping[str, Any], measured: Measurement | None) -> Iterator[Any]:
    roles = document["roles"]
    if document["kind"] == "anatomized":
        for table in document["tables"]:
            yield joined((html.value(table["file"]), ": ", summary.listed(list(table["types"]))))
    elif measured is not None:
        unchanged = document.get("unchanged", ())
        for key in measured.contingency.keys:
            told = "published with its own values" if key.name in unchanged else f"made coarser: {len(key):,} labels"
            yield joined((html.value(key.name), f": {told}."))
    gone = [*roles.get("identifier", ()), *roles.get("leave_out", ()), *roles.get("left_out", ())]
    if gone:
        yield joined((summary.listed(list(dict.fromkeys(gone))), ": left out."))
    if roles.get("plain"):
        yield joined((summary.listed(roles["plain"]), ": published as they are."))
    suppression = document.get("policy", {}).get("suppression")
    if suppression:
        yield f"Up to {percent(suppression)} of the people may have been left out; how many were, is not told."


def _cost(report: Report) -> Html | None:
    found = report.found
    if not isinstance(found, publish.GeneralizedRelease):
        return _left(report)
    before = judge(found.before, found.policy.promises, protected=found.protected)
    rows = [
        (_plain(line.name), _number(old.value), _number(new.value), _number(new.promise.bound))
        for line, old, new in zip(
            summary.lines_of(found.verdict.outcomes), before.outcomes, found.verdict.outcomes, strict=True
        )
    ]
    return joined(
        (
            html.bullets(*releases.costs_in_words(found), *(kept_in_words(report.utility) if report.utility else ())),
            _price(report.explanation) if report.explanation is not None else None,
            _before_and_after(report.utility) if report.utility is not None else None,
            el("h3", "What it bought"),
            el("div", html.table(("promise", "before", "after", "bound"), rows), class_="card"),
        )
    )


def _left(report: Report) -> Html | None:
    """Of a release that was opened: how much of the original is left, where the original is there."""
    if report.public or (report.release is None and report.utility is None):
        return None
    price = [] if _is_anatomized(report) else [provenance.PRICE]
    if report.utility is None:
        return html.bullets(provenance.LEFT, *price)
    return joined((html.bullets(*kept_in_words(report.utility), *price), _before_and_after(report.utility)))


def _before_and_after(found: Utility) -> Html | None:
    """The columns that changed most."""
    changed = [each for each in found.columns if each.labels != each.values]
    chosen = sorted(changed, key=lambda each: each.labels / max(each.values, 1))[:_COLUMNS]
    chosen = chosen or [max(found.columns, key=lambda each: each.distance)]
    return _pictures([_chart_by(lambda it, name=each.column: charts.distributions(it, name), found) for each in chosen])


def _price(found: search.Explanation) -> Html:
    """What would change without each promise, with more people left out, or with boxes."""

    def row(name: Any, instead: Any, does: str) -> Html:
        value = number(instead.value) if instead.exact else f"{number(instead.value)} or better"
        told = f"saves {number(instead.saves)}" if instead.saves > 0 else "saves nothing"
        return html.price_row(name, does, [value], told)

    rows = [html.price_row("as asked", "keeps every promise", [number(found.value)], "", now=True)]
    rows += [
        row(
            joined(("without ", html.value(price.promise))),
            price.without,
            f"{', '.join(price.binds)} finer" if price.binds else "no change",
        )
        for price in found.promises
    ]
    rows += [
        row(f"with up to {percent(share)} left out", instead, f"{people(instead.suppressed)} left out")
        for share, instead in found.suppression.items()
    ]
    if found.boxes is not None and found.objective == "loss":
        rows.append(row("Mondrian", found.boxes, f"{found.boxes.classes:,} boxes"))
    head = ("release", "what it does", found.objective, "")
    table = html.rows_of_parts(head, rows, caption="What each promise costs", numbers=[2])
    lead = "The release that keeps all promises, and what would change without each of them, or by another way. "
    lead += f"{found.objective}: the lower, the more is kept."
    return joined((el("h3", "What each promise costs"), el("p", lead, class_="lead"), el("div", table, class_="card")))


def _number(given: float) -> Any:
    return given if abs(given) < float("inf") else number(given)


def _attacked(report: Report) -> Html:
    is_all = report.attacks is report.found
    return attack.sections(
        report.attacks, _chart_by(charts.knowledge, report.attacks) if is_all else None, whole=is_all
    )


def _found(report: Report) -> Html:
    if isinstance(report.found, comparing.TableComparison):
        return compare.sections(report.found, _chart(report.found))
    if isinstance(report.found, composition.Composition):
        return compose.sections(report.found, _chart(report.found))
    found = results.rows_of(report.found)
    head, rows = (
        found if isinstance(found, tuple) else (found.column_names, [list(row.values()) for row in found.to_pylist()])
    )
    drawn = _chart(report.found)
    return joined(
        (el("div", html.table(head, rows, most=500), class_="card"), el("div", drawn, class_="card") if drawn else None)
    )


# --- what is not promised ---------------------------------------------------------------------------------------------
def not_promised(report: Report) -> Iterator[Html]:
    """What a reader might take for promised and is not."""

    def item(title: str, *told: Any) -> Html:
        return joined((el("b", f"{title}. "), *told))

    yield item(
        "A second release",
        "Promises do not add up: together with another table of the same people, classes can become small again.",
    )
    yield item(
        "The method itself",
        "Whoever knows how the table was made knows that a finer one would have broken a promise (minimality); where other "
        "columns are known, that can make a value more likely.",
    )
    if report.alone is not None:
        found = report.alone
        are = "person is" if found.people == 1 else "people are"
        yield item(
            "Columns without a role", "No promise covers what is known by them. With ", summary.listed(found.columns),
            f" known too, {found.people:,} {are} alone, of {found.of:,}.",
        )  # fmt: skip
    elif report.measurement is not None:
        yield item("Other columns", "What somebody knows beside the quasi-identifiers is not counted.")
    yield item(
        "What is true of groups",
        "That a group of people has something more often is a finding, not a leak, as long as the promises hold.",
    )
    if report.public:
        yield item(
            "What only the publisher can show",
            "Numbers here are worked out from the published files alone. A promise that was judged against the original is named, "
            "without its number: numbers of the original could give away what was left out.",
        )
    elif report.measurement is not None:
        yield item(
            "Another adversary", "Numbers depend on what she was assumed to believe and to know; see how this was made."
        )


# --- regulators -------------------------------------------------------------------------------------------------------
def _asked(report: Report) -> Html:
    measured = report.measurement
    lead = (
        "Our numbers under the headings that reviewers use. They measure; whether a risk is small enough for a purpose, and whether a law "
        "is kept, somebody has to decide who knows the recipients and the controls. This page claims no compliance."
    )
    singling, linking, inferring = _three_risks(report, measured)
    risks = {"Singling out": singling, "Linkability": linking, "Inference": inferring}
    settings, document = report.settings, report.release or {}
    roles = document.get("roles", settings)
    known = roles.get("quasi_identifiers") or settings.get("quasi_identifiers") or ()
    direct = [*roles.get("identifier", ()), *roles.get("leave_out", ())]
    named = summary.listed(direct) if direct else "none was named"
    held = settings.get("population")
    register = "a population table was held against it" if held else "no population table was held against it"
    hipaa = {
        "Replicability": joined(
            (
                "Taken to be knowable again and again: ",
                summary.listed(list(known)) if known else "see the tables above",
                ".",
            )
        ),
        "Data source availability": f"Assumed to be known to the recipient; {register}.",
        "Distinguishability": singling,
        "Assessed risk": linking,
    }
    nist = {
        "Direct identifiers": named,
        "Quasi-identifiers": summary.listed(list(known)) if known else "published apart, see above",
        "De-identification technique": _technique(report),
        "Identity disclosure": singling,
        "Attribute and inferential disclosure": inferring,
        "Data-sharing model": "Not decided here: who gets the table, under which agreement, and who reviews it.",
    }
    return joined(
        (
            el("p", lead, class_="lead"),
            *(
                el("div", el("h3", title), html.definitions(told), class_="card")
                for title, told in (
                    ("Anonymity in the words of the European data protection authorities (WP 216)", risks),
                    ("Expert determination (HIPAA, 45 CFR 164.514(b)(1)): the principles of its guidance", hipaa),
                    ("De-identification in the words of NIST SP 800-188", nist),
                )
            ),
        )
    )


def _three_risks(report: Report, measured: Measurement | None) -> tuple[str, str, Html]:
    """Whether a person can be singled out, linked, and learnt about, in numbers."""
    found = report.found
    if measured is None:
        if not isinstance(found, AnatomizedRelease | ReleaseCheck):
            raise BadInput("nothing was measured that could be told")
        levels = found.levels
        return (
            (
                f"Quasi-identifiers of a record are put together with certainty at most {number(float(levels.alpha))} (alpha); "
                f"a record as a whole, {number(float(levels.gamma))} (gamma)."
            ),
            f"One row of each table is tied to one record with certainty at most {number(float(levels.gamma))} (gamma).",
            html.escape(
                f"A sensitive value is inferred with certainty at most {number(float(levels.beta))} (beta); "
                f"belief in one moves by at most {number(float(levels.delta))} (delta)."
            ),
        )  # fmt: skip
    whole = measured.identity_view.whole
    fewest, alone = int(whole.sizes.min()), int(metrics.uniques(whole))
    singling = f"{people(alone)} of {measured.people:,} alone in their class; at least {people(fewest)} in each class (k = {fewest})."
    risks = [
        f"{metric_words(score.metric.name)} {percent(score.value)} ({score.metric.plain})"
        for score in measured.identity.values()
        if score.metric.links
    ]
    inferring = [
        joined(
            (
                html.value(guess.attribute),
                f": the best guess is right {percent(guess.after)} of the time in the worst class, ",
                f"{percent(guess.before)} without the table. ",
            )
        )
        for guess in (summary.best_guess(measured, name) for name in measured.beliefs)
    ]
    return singling, f"At most: {'; '.join(risks)}.", joined(inferring) or Html("No column was named as sensitive.")


def _technique(report: Report) -> str:
    if _is_anatomized(report):
        return "Anatomization: values as they are, in several tables tied by groups; which belong together is hidden."
    if isinstance(report.found, publish.GeneralizedRelease) or report.release is not None:
        return "Generalization of quasi-identifiers, and records left out."
    return "None here: the table was measured as it is."
