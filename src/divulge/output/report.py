# SPDX-License-Identifier: Apache-2.0
"""HTML report: one self-contained page.

It starts with the answer and four numbers. Evidence and instructions to repeat it follow.

The page allows only its own style sheet and its own two scripts, by their hashes. Nothing in it
links to other pages. Our numbers are shown under singling out, linkability and inference, and under
the headings of HIPAA's expert determination and of NIST SP 800-188. The report does not state
whether a law is met, because that is not ours to decide.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from divulge import attacks, charts, composition, generalization, metrics, results
from divulge.api import compare as comparing
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check_groups import ReleaseCheck
from divulge.api.report import Report
from divulge.arguments import spelled
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.output import attack, compare, compose, html, provenance, releases, summary
from divulge.output.formatting import metric_words, number, people, percent
from divulge.output.html import Html, el, joined
from divulge.output.summary import DisclosureRule, RequirementLine
from divulge.output.utility import utility_sentences
from divulge.policy import Promise, judge
from divulge.queries import Utility
from divulge.releases import GeneralizedRelease
from divulge.text import visible
from divulge.version import __version__

_MOST_CARDS = 4
_MOST_COLUMNS = 4


# --- a report as a result -------------------------------------------------------------------------
@results.text_of.register(Report)
def report_text(report: Report, *, written: Any = None) -> str:
    """Render the answer of the page, and its path."""
    return _answer_text(report) + (
        f"\n\n{report.audience.capitalize()} report: {written}" if written else ""
    )


def _answer_text(report: Report) -> str:
    """Return the first sentences as text, a warning about unique people before them."""
    answer = _strip_markup(_answer(report, disclosure_rule(report)))
    uniqueness = report.uniqueness
    if uniqueness is None or not uniqueness.warns:
        return answer
    return f"WARNING  {summary.unique_sentence(uniqueness, report.measurement)} {answer}"


@results.document_of.register(Report)
def report_document(report: Report, *, written: Any = None) -> dict[str, Any]:
    """Return the document of `divulge report --json`."""
    return {
        "about": report.name,
        "audience": report.audience,
        "date": report.date.isoformat(),
        "answer": _answer_text(report),
        "promises": [
            {"promise": line.text, "bound": line.limit, "value": line.measured, "holds": line.holds}
            for line in _requirement_lines(report)
        ],
        "attacks": attack.attack_summaries(report.attacks),
        "sections": [title for title, _ in _sections(report)],
        "files": dict(report.files),
        "settings": provenance.visible_settings(report),
        "written": None if written is None else str(written),
    }


@results.rows_of.register(Report)
def report_rows(report: Report) -> results.Rows:
    """Table with one row for each section of the page."""
    return ("section", "characters"), [
        (title, len(_strip_markup(part))) for title, part in _sections(report)
    ]


@results.html_of.register(Report)
def report_html(report: Report, *, page: bool = False) -> str:
    """Return the page, or a short version for notebooks."""
    if page:
        return _page(report)
    verdict = el("p", _answer(report, disclosure_rule(report)), class_="verdict")
    return summary.notebook(
        verdict,
        html.bullets(*(title for title, _ in _sections(report))),
        el("p", "save(path) writes the page."),
    )


def _strip_markup(part: str) -> str:
    """Return the text of markup, for terminals and JSON."""
    import html as standard
    import re

    return standard.unescape(re.sub(r"<[^>]+>", "", part)).strip()


# --- the page -------------------------------------------------------------------------------------
def _page(report: Report) -> str:
    style = html.asset("parts.css") + html.asset("page.css")
    start = html.asset("page.js")
    body = joined(
        (
            _header(report),
            *(el("section", el("h2", title), part) for title, part in _sections(report)),
            el(
                "footer",
                f"Made with divulge {__version__}. Nothing in this file asks anybody for "
                "anything: it opens offline.",
            ),
        )
    )
    is_drawn = 'class="live"' in body
    if is_drawn:
        scripts = [charts.drawing_script(), start]
    else:
        scripts = []
    allowed = " ".join(_hash(script) for script in scripts) or "'none'"
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = joined(
        (
            Html('<meta charset="utf-8">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            Html('<meta name="viewport" content="width=device-width,initial-scale=1">'),
            Html('<meta name="referrer" content="no-referrer">'),
            el("title", f"What {visible(report.name)} tells"),
            el("style", Html(style)),
        )
    )
    run = joined(Html(f"<script>{script}</script>") for script in scripts)
    main = el("main", body, class_="divulge")
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body '
        f'class="report">{main}{run}</body></html>\n'
    )


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def disclosure_rule(report: Report) -> DisclosureRule:
    """Return the disclosure rule of a report.

    A public report shows values that at least the required k people share. It shows none if no k is
    required.
    """
    if not report.public:
        return summary.INTERNAL
    leading = metrics.leading_metric("identity")
    bounds = [promise.bound for promise in provenance.promises(report) if promise.metric is leading]
    return DisclosureRule(public=True, least=int(max(bounds)) if bounds else None)


def _header(report: Report) -> Html:
    stamp = "INTERNAL"
    audience_note = "shows values of people; not for handing out"
    if report.public:
        stamp = "PUBLIC"
        audience_note = "made from the published files alone"
    date = f"{report.date.day} {report.date:%B %Y}"
    measured = report.measurement
    answer: list[Html | None] = [
        el("p", _answer(report, disclosure_rule(report)), class_="verdict"),
        summary.unique_people(report.uniqueness, measured),
    ]
    if report.uniqueness is not None and report.uniqueness.warns:
        answer.reverse()
    return el(
        "header",
        el(
            "div",
            el("span", stamp, class_="stamp open" if report.public else "stamp"),
            el("span", audience_note),
            el("span", date),
            el("span", f"divulge {__version__}"),
            class_="meta",
        ),
        el("h1", "What ", html.value(report.name), " tells"),
        *answer,
        summary.four_tiles(measured) if measured is not None else summary.group_tiles(report.found),
    )


def _answer(report: Report, lens: DisclosureRule) -> Html:
    """Return the first sentences of the page."""
    measured = report.measurement
    lines = _requirement_lines(report)
    if measured is not None:
        if report.verdict:
            findings = report.verdict.findings
        else:
            findings = ()
        more = (
            joined((" ", el("strong", "Columns are there that must not be"), "."))
            if findings
            else ""
        )
        warning = summary.accepted_risk(report.verdict)
        scope = ""
        if measured.settings.get("release", {}).get("with_earlier"):
            scope = "With all records that were published before: "
        answer = summary.answer(measured, lens)
        return joined((warning, scope, answer, summary.requirements_sentence(lines), more))
    result = report.found
    if isinstance(result, AnatomizedRelease | ReleaseCheck):
        return joined((summary.in_groups(result), summary.requirements_sentence(lines)))
    if isinstance(result, comparing.TableComparison):
        return compare.answer(result)
    if isinstance(result, composition.Composition):
        return compose.answer(result)
    if isinstance(result, attacks.AttackResult):
        return html.escape(attack.verdict(result))
    return html.escape(
        next((line.strip() for line in str(result).splitlines() if line.strip()), "")
    )


def _sections(report: Report) -> Iterator[tuple[str, Html]]:
    """Yield (heading, content) of each section after the answer; empty sections are omitted."""
    measured = report.measurement
    lens = disclosure_rule(report)
    if lines := _requirement_lines(report):
        yield "Against the policy", _policy_section(report, lines)
    if measured is not None:
        yield "Who is at risk", _risk_section(report, measured, lens)
        if knowledge := _known_columns_section(report):
            yield "How much must one know?", knowledge
    yield from compose.prior_releases_section(() if report.public else report.beside, report.found)
    if treatment := _treatment_section(report):
        yield "What was done", treatment
    if cost := _cost_section(report):
        yield "What it cost", cost
    if report.attacks is not None:
        yield "Attacks that were tried", _attack_section(report, report.attacks)
    elif _is_anatomized(report) and not report.public:
        yield "Attacks that were tried", el("p", provenance.NO_ATTACKS_NOTE)
    if not _has_own_sections(report):
        yield "What was found", _result_section(report)
    yield "What this does not promise", html.bullets(*not_promised(report))
    if measured is not None or _is_anatomized(report):
        yield "What ethics boards and regulators ask", _reviewer_section(report)
    yield "How this was made", provenance.settings_section(report)
    yield "How to make it again", provenance.repeat_section(report)


def _has_own_sections(report: Report) -> bool:
    return (
        report.measurement is not None or _is_anatomized(report) or report.attacks is report.found
    )


def _is_anatomized(report: Report) -> bool:
    return isinstance(report.found, AnatomizedRelease | ReleaseCheck)


# --- requirements ---------------------------------------------------------------------------------
def _requirement_lines(report: Report) -> list[RequirementLine]:
    result = report.found
    if report.verdict is not None:
        return summary.lines_of(report.verdict)
    if isinstance(result, AnatomizedRelease | ReleaseCheck):
        return summary.lines_of_levels(result.model, result.levels)
    if report.release is not None and report.measurement is not None:
        return list(_manifest_lines(report, report.measurement))
    return []


def _manifest_lines(report: Report, measured: Measurement) -> Iterator[RequirementLine]:
    """Yield the requirements that the public manifest lists.

    Those that the files show are checked again. The others are publisher attestations.
    """
    promises = {promise.text: promise for promise in provenance.promises(report)}
    for item in (report.release or {}).get("verdict", ()):
        if item["protects"]:
            promise = None
        else:
            promise = promises.get(item["promise"])
        if promise is not None and item["shown_by"] == "files":
            requirement = Promise(promise.metric, promise.bound, item["attribute"], promise.l_value)
            yield from summary.lines_of(judge(measured, [requirement]))
            continue
        if item["attribute"]:
            attribute_note = f" ({item['attribute']})"
        else:
            attribute_note = ""
        if item["protects"]:
            protection_note = f" for {item['protects']}"
        else:
            protection_note = ""
        explanation = (
            "held when it was published, says the publisher; the files alone do not show it"
        )
        text = f"{item['promise']}{attribute_note}{protection_note}"
        yield RequirementLine(
            html.value(text),
            "publisher's word",
            None,
            None if promise is None else promise.bound,
            None,
            explanation,
            text,
        )


def _policy_section(report: Report, lines: Sequence[RequirementLine]) -> Html:
    broken = sum(line.holds is False for line in lines)
    if len(lines) == 1:
        noun = "promise"
    else:
        noun = "promises"
    if len(lines) == 1 or broken == 1:
        verb = "is"
    else:
        verb = "are"
    conclusion = "Every promise that was judged is kept."
    if broken:
        conclusion = f"{broken} of {len(lines)} {noun} {verb} broken."
    lead = f"{conclusion} The line across each bar is the bound, the bar is what was measured."
    if report.verdict:
        findings = report.verdict.findings
    else:
        findings = ()
    columns = [
        joined((html.chip("bad", "must not be there"), " ", finding.text, "."))
        for finding in findings
    ]
    return joined(
        (
            el("p", lead, class_="lead"),
            el("div", summary.scoreboard(lines), class_="card"),
            html.bullets(*columns) if columns else None,
        )
    )


# --- risk -----------------------------------------------------------------------------------------
def _risk_section(report: Report, measured: Measurement, lens: DisclosureRule) -> Html:
    lead = (
        "A class is everybody who looks alike to somebody who knows these columns. The further out "
        "a class, the more it gives away."
    )
    if lens.shows_classes(measured):
        figures = [_chart(report.verdict or measured)]
    else:
        figures = []
    figures += [_chart_by(charts.class_sizes, measured)]
    cards = summary.class_cards(measured, max_classes=_MOST_CARDS, lens=lens)
    if report.public and not cards:
        hidden_note = (
            "Classes and values are not named here: fewer people may share one than the policy "
            "promises."
        )
    else:
        hidden_note = None
    return joined(
        (
            el("p", lead, class_="lead"),
            _chart_cards(figures),
            cards,
            el("p", hidden_note, class_="lead") if hidden_note else None,
            html.bullets(*(_note_sentence(note) for note in _notes(report, measured)))
            if _notes(report, measured)
            else None,
        )
    )


def _note_sentence(note: str) -> str:
    return f"{spelled(note)}{'' if note.endswith('?') else '.'}"


def _notes(report: Report, measured: Measurement) -> list[str]:
    """Return the notes, or none for a public page, because notes contain values."""
    if report.public:
        return []
    return list(measured.notes)


def _chart(result: results.Result) -> Html | None:
    return _chart_by(lambda drawable: drawable.chart(), result)


def _chart_by(draw: Any, result: Any) -> Html | None:
    """Return a chart, or None if there is nothing to draw."""
    try:
        return html.figure(charts.as_json(draw(result)))
    except BadInput:
        return None


def _chart_cards(figures: Sequence[Html | None]) -> Html | None:
    """Arrange charts in cards, as many in a row as fit."""
    cards = [el("div", picture, class_="card") for picture in figures if picture]
    if cards:
        return el("div", *cards, class_="pictures")
    return None


def _known_columns_section(report: Report) -> Html | None:
    if report.ranking is None:
        return None
    figures = [
        _chart_by(charts.known_columns, report.ranking),
        _chart_by(charts.sets, report.ranking),
    ]
    lead = (
        "An adversary may know fewer of these columns, or others. What sets of them tell whoever "
        "knows them:"
    )
    cards = _chart_cards(figures)
    if cards:
        return joined((el("p", lead, class_="lead"), cards))
    return None


# --- treatment and cost ---------------------------------------------------------------------------
def _treatment_section(report: Report) -> Html | None:
    result = report.found
    document = report.release
    if isinstance(result, GeneralizedRelease):
        return html.bullets(*releases.columns_in_words(result))
    if isinstance(result, AnatomizedRelease):
        return html.bullets(*releases.tables_in_words(result))
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
            if key.name in unchanged:
                treatment = "published with its own values"
            else:
                treatment = f"made coarser: {len(key):,} labels"
            yield joined((html.value(key.name), f": {treatment}."))
    left_out = [
        *roles.get("identifier", ()),
        *roles.get("leave_out", ()),
        *roles.get("left_out", ()),
    ]
    if left_out:
        yield joined((summary.listed(list(dict.fromkeys(left_out))), ": left out."))
    if roles.get("plain"):
        yield joined((summary.listed(roles["plain"]), ": published as they are."))
    suppression = document.get("policy", {}).get("suppression")
    if suppression:
        yield (
            f"Up to {percent(suppression)} of the people may have been left out; how many were, is "
            "not told."
        )


def _cost_section(report: Report) -> Html | None:
    result = report.found
    if not isinstance(result, GeneralizedRelease):
        return _utility_section(report)
    before = judge(result.before, result.policy.promises, protected=result.protected)
    rows = [
        (
            _strip_markup(line.name),
            _finite_or_text(old.value),
            _finite_or_text(new.value),
            _finite_or_text(new.promise.bound),
        )
        for line, old, new in zip(
            summary.lines_of(result.verdict), before.outcomes, result.verdict.outcomes, strict=True
        )
    ]
    return joined(
        (
            html.bullets(
                *releases.costs_in_words(result),
                *(utility_sentences(report.utility) if report.utility else ()),
            ),
            _cost_table(report.explanation) if report.explanation is not None else None,
            _before_and_after(report.utility) if report.utility is not None else None,
            el("h3", "What it bought"),
            el("div", html.table(("promise", "before", "after", "bound"), rows), class_="card"),
        )
    )


def _utility_section(report: Report) -> Html | None:
    """Build the section on utility of an opened release; numbers need the original."""
    if report.public or (report.release is None and report.utility is None):
        return None
    if _is_anatomized(report):
        cost_hint = []
    else:
        cost_hint = [provenance.COST_HINT]
    if report.utility is None:
        return html.bullets(provenance.UTILITY_HINT, *cost_hint)
    return joined(
        (
            html.bullets(*utility_sentences(report.utility), *cost_hint),
            _before_and_after(report.utility),
        )
    )


def _before_and_after(utility: Utility) -> Html | None:
    """Draw the distributions of the columns that changed most."""
    changed = [
        column_utility
        for column_utility in utility.columns
        if column_utility.labels != column_utility.values
    ]
    chosen = sorted(changed, key=lambda column: column.labels / max(column.values, 1))[
        :_MOST_COLUMNS
    ]
    chosen = chosen or [max(utility.columns, key=lambda column: column.distance)]
    return _chart_cards(
        [
            _chart_by(
                lambda result, name=column_utility.column: charts.distributions(result, name),
                utility,
            )
            for column_utility in chosen
        ]
    )


def _cost_table(explanation: generalization.Explanation) -> Html:
    """Build the table of the cost of each requirement.

    Rows show the release without a requirement, with more suppression, or with Mondrian boxes.
    """

    def row(name: Any, instead: Any, effect: str) -> Html:
        if instead.exact:
            value = number(instead.value)
        else:
            value = f"{number(instead.value)} or better"
        if instead.saves > 0:
            saving = f"saves {number(instead.saves)}"
        else:
            saving = "saves nothing"
        return html.price_row(name, effect, [value], saving)

    rows = [
        html.price_row("as asked", "keeps every promise", [number(explanation.value)], "", now=True)
    ]
    rows += [
        row(
            joined(("without ", html.value(price.promise))),
            price.without,
            f"{', '.join(price.binds)} finer" if price.binds else "no change",
        )
        for price in explanation.promises
    ]
    rows += [
        row(
            f"with up to {percent(share)} left out",
            instead,
            f"{people(instead.suppressed)} left out",
        )
        for share, instead in explanation.suppression.items()
    ]
    if explanation.boxes is not None and explanation.objective == "loss":
        rows.append(row("Mondrian", explanation.boxes, f"{explanation.boxes.classes:,} boxes"))
    head = ("release", "what it does", explanation.objective, "")
    table = html.rows_of_parts(head, rows, caption="What each promise costs", numbers=[2])
    lead = (
        "The release that keeps all promises, and what would change without each of them, or by "
        "another way. "
    )
    lead += f"{explanation.objective}: the lower, the more is kept."
    return joined(
        (
            el("h3", "What each promise costs"),
            el("p", lead, class_="lead"),
            el("div", table, class_="card"),
        )
    )


def _finite_or_text(value: float) -> Any:
    if abs(value) < float("inf"):
        return value
    return number(value)


def _attack_section(report: Report, result: attacks.AttackResult) -> Html:
    is_main_result = result is report.found
    return attack.sections(
        result,
        _chart_by(charts.knowledge, result) if is_main_result else None,
        with_details=is_main_result,
    )


def _result_section(report: Report) -> Html:
    if isinstance(report.found, comparing.TableComparison):
        return compare.sections(report.found, _chart(report.found))
    if isinstance(report.found, composition.Composition):
        return compose.sections(report.found, _chart(report.found))
    frame = results.rows_of(report.found)
    if isinstance(frame, tuple):
        head, rows = frame
    else:
        head = frame.column_names
        rows = [list(row.values()) for row in frame.to_pylist()]
    chart = _chart(report.found)
    return joined(
        (
            el("div", html.table(head, rows, most=500), class_="card"),
            el("div", chart, class_="card") if chart else None,
        )
    )


# --- limits of the guarantees ---------------------------------------------------------------------
def not_promised(report: Report) -> Iterator[Html]:
    """Yield guarantees that a reader might expect and that the report does not give."""

    def item(title: str, *sentences: Any) -> Html:
        return joined((el("b", f"{title}. "), *sentences))

    yield item(
        "A second release",
        "Promises do not add up: together with another table of the same people, classes can "
        "become small again.",
    )
    yield item(
        "The method itself",
        "Whoever knows how the table was made knows that a finer one would have broken a promise "
        "(minimality); where other columns are known, that can make a value more likely.",
    )
    uniqueness = report.uniqueness
    if uniqueness is not None and uniqueness.columns and uniqueness.required is None:
        yield item(
            "Columns that are not quasi-identifiers",
            "No requirement limits who is unique by them. ",
            summary.unique_sentence(uniqueness, report.measurement),
        )
    elif report.measurement is not None and uniqueness is None:
        yield item(
            "Other columns", "What somebody knows beside the quasi-identifiers is not counted."
        )
    yield item(
        "What is true of groups",
        "That a group of people has something more often is a finding, not a leak, as long as "
        "the promises hold.",
    )
    if report.public:
        yield item(
            "What only the publisher can show",
            "Numbers here are worked out from the published files alone. A promise that was "
            "judged against the original is named, "
            "without its number: numbers of the original could give away what was left out.",
        )
    elif report.measurement is not None:
        yield item(
            "Another adversary",
            "Numbers depend on what she was assumed to believe and to know; see how this was made.",
        )


# --- regulators -----------------------------------------------------------------------------------
def _reviewer_section(report: Report) -> Html:
    measured = report.measurement
    lead = (
        "Our numbers under the headings that reviewers use. They measure; whether a risk is small "
        "enough for a purpose, and whether a law is kept, somebody has to decide who knows the "
        "recipients and the controls. This page claims no compliance."
    )
    singling, linking, inferring = _regulatory_risks(report, measured)
    risks = {"Singling out": singling, "Linkability": linking, "Inference": inferring}
    settings = report.settings
    document = report.release or {}
    roles = document.get("roles", settings)
    quasi_identifiers = roles.get("quasi_identifiers") or settings.get("quasi_identifiers") or ()
    direct_identifiers = [*roles.get("identifier", ()), *roles.get("leave_out", ())]
    identifier_text = summary.listed(direct_identifiers) if direct_identifiers else "none was named"
    population = settings.get("population")
    if population:
        population_note = "a population table was held against it"
    else:
        population_note = "no population table was held against it"
    hipaa = {
        "Replicability": joined(
            (
                "Taken to be knowable again and again: ",
                summary.listed(list(quasi_identifiers))
                if quasi_identifiers
                else "see the tables above",
                ".",
            )
        ),
        "Data source availability": f"Assumed to be known to the recipient; {population_note}.",
        "Distinguishability": singling,
        "Assessed risk": linking,
    }
    nist = {
        "Direct identifiers": identifier_text,
        "Quasi-identifiers": summary.listed(list(quasi_identifiers))
        if quasi_identifiers
        else "published apart, see above",
        "De-identification technique": _technique(report),
        "Identity disclosure": singling,
        "Attribute and inferential disclosure": inferring,
        "Data-sharing model": "Not decided here: who gets the table, under which agreement, and "
        "who reviews it.",
    }
    return joined(
        (
            el("p", lead, class_="lead"),
            *(
                el("div", el("h3", title), html.definitions(definitions), class_="card")
                for title, definitions in (
                    (
                        (
                            "Anonymity in the words of the European data protection authorities "
                            "(WP 216)"
                        ),
                        risks,
                    ),
                    (
                        (
                            "Expert determination (HIPAA, 45 CFR 164.514(b)(1)): the principles of "
                            "its guidance"
                        ),
                        hipaa,
                    ),
                    ("De-identification in the words of NIST SP 800-188", nist),
                )
            ),
        )
    )


def _regulatory_risks(report: Report, measured: Measurement | None) -> tuple[str, str, Html]:
    """Return the numbers of singling out, linkability and inference as sentences."""
    result = report.found
    if measured is None:
        if not isinstance(result, AnatomizedRelease | ReleaseCheck):
            raise BadInput("nothing was measured that could be told")
        levels = result.levels
        return (
            (
                "Quasi-identifiers of a record are put together with certainty at most "
                f"{number(float(levels.alpha))} (alpha); "
                f"a record as a whole, {number(float(levels.gamma))} (gamma)."
            ),
            (
                "One row of each table is tied to one record with certainty at most "
                f"{number(float(levels.gamma))} (gamma)."
            ),
            html.escape(
                "A sensitive value is inferred with certainty at most "
                f"{number(float(levels.beta))} (beta); "
                f"belief in one moves by at most {number(float(levels.delta))} (delta)."
            ),
        )
    identity = measured.identity_view.whole_table
    smallest_class = int(identity.sizes.min())
    unique_people = int(metrics.uniques(identity))
    if measured.settings["person"]:
        row_note = " in at least one of their rows"
    else:
        row_note = ""
    singling = (
        f"{unique_people:,} of {people(measured.people)} are unique{row_note}; at least "
        f"{people(smallest_class)} in each class (k = {smallest_class})."
    )
    if report.uniqueness is not None:
        singling = summary.unique_sentence(report.uniqueness, measured)
    linking = [
        f"{metric_words(score.metric.name)} {percent(score.value)} ({score.metric.plain})"
        for score in measured.identity.values()
        if score.metric.links
    ]
    inferring = [
        joined(
            (
                html.value(guess.attribute),
                f": a value is inferred with {percent(guess.after)} confidence in one class ",
                (
                    f"(prior of that value: {percent(guess.value_prior)}; best guess without the "
                    f"table: {percent(guess.before)}). "
                ),
            )
        )
        for guess in (summary.best_guess(measured, name) for name in measured.beliefs)
    ]
    return (
        singling,
        f"Measured: {'; '.join(linking)}.",
        joined(inferring) or Html("No column was named as sensitive."),
    )


def _technique(report: Report) -> str:
    if _is_anatomized(report):
        return (
            "Anatomization: values as they are, in several tables tied by groups; which belong "
            "together is hidden."
        )
    if isinstance(report.found, GeneralizedRelease) or report.release is not None:
        return "Generalization of quasi-identifiers, and records left out."
    return "None here: the table was measured as it is."
