# SPDX-License-Identifier: Apache-2.0
"""Views of the joint disclosure risk of several releases: text, JSON, table and HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import composition, results
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check_groups import ReleaseCheck
from divulge.metrics import Measurement
from divulge.output import html, summary
from divulge.output.formatting import (
    bullet,
    grid,
    heading,
    metric_words,
    noted,
    number,
    people,
    written_text,
)
from divulge.output.html import Html, el, joined
from divulge.text import class_name


# --- prior releases -------------------------------------------------------------------------------
def prior_releases_section(
    released: Sequence[Mapping[str, Any]], result: Any
) -> Iterator[tuple[str, Html]]:
    """Yield the section on prior releases, for the publisher.

    It lists the releases that were already published, and how the people were matched to them.
    """
    if not released:
        return
    measurement = getattr(result, "after", None) or getattr(result, "measurement", None) or result
    if "released" in getattr(measurement, "settings", {}):
        explanation = (
            "The promises above are about joint classes: people who are in the same class of this "
            "release and of each of these."
        )
    else:
        explanation = (
            "When it was published its promises were held in joint classes, with those of these "
            "releases. The numbers on this page are those of the release alone."
        )
    head = ("release", "kind", "classes", "people of the table in it", "found by", "made of")
    rows = [
        (
            item["release"],
            item["kind"],
            f"{item['classes']:,}",
            f"{item['people']:,}",
            item["found_by"]["how"],
            item["made_of"],
        )
        for item in released
    ]
    # other results show their notes with their numbers
    if isinstance(result, AnatomizedRelease | ReleaseCheck):
        notes = result.notes
    else:
        notes = ()
    note_list = html.bullets(*(noted(note) for note in notes)) if notes else ""
    card = el("div", html.table(head, rows), class_="card")
    yield "Beside what is out already", joined((el("p", explanation), card, note_list))


# --- the answer -----------------------------------------------------------------------------------
def joint_risk_sentence(result: composition.Composition) -> str:
    """State the most important finding in one sentence."""
    release_count = len(result.releases)
    joint_risk = result.together
    if joint_risk is None:
        worst = max(result.derived, key=lambda item: item.below)
        return (
            f"{release_count} releases, without the truth, if they are about the same "
            f"{people(worst.people)}: {_sharing_clause(worst.below)} "
            f"classes with fewer than {worst.smallest}, which no release does alone."
        )
    if not joint_risk.below:
        return (
            f"{release_count} releases together: everybody of {people(joint_risk.people)} shares "
            f"all classes with at least {joint_risk.smallest}, as in each of them alone."
        )
    return (
        f"{release_count} releases together: {joint_risk.below:,} of {people(joint_risk.people)} "
        f"share all their classes with fewer than {joint_risk.smallest}, "
        f"which no release does alone; {_unique_clause(result)}."
    )


def _unique_clause(result: composition.Composition) -> str:
    joint_risk = result.together
    if joint_risk is None or not joint_risk.became_alone:
        return "nobody became alone"
    return f"{people(joint_risk.became_alone)} became alone"


def sentences(result: composition.Composition) -> Iterator[str]:
    """Yield sentences on people who became unique, m-invariance and derived bounds."""
    if result.together is not None:
        for unique_person in result.together.named:
            classes = "; ".join(
                f"{name}: {'not there' if key is None else class_name(key)}"
                for name, key in unique_person["classes"].items()
            )
            yield f"alone: {unique_person.get('person', 'somebody')} ({classes})"
    for item in result.invariance:
        yield _invariance_sentence(item)
    for pair in result.derived:
        yield _derived_sentence(pair)


def _invariance_sentence(item: Any) -> str:
    if item.m:
        return (
            f"{item.attribute}: {item.m}-invariant; whoever holds the releases alone has "
            f"{item.m} values left for each person"
        )
    reasons = []
    if not min(item.unique):
        reasons.append("some class has a value twice, so it is not m-unique for any m")
    if item.changed:
        reasons.append(
            f"the values of the class changed between releases for {item.changed:,} of "
            f"{people(item.followed)} who are in several, "
            "and whoever intersects them has fewer left"
        )
    return (
        f"{item.attribute}: not m-invariant: {'; '.join(reasons)} (fewest distinct values: "
        f"{', '.join(map(str, item.distinct))})"
    )


def _derived_sentence(pair: Any) -> str:
    if pair.attribute:
        value_note = f"; one value of {pair.attribute} is left for {_people_range(pair.one_value)}"
    else:
        value_note = ""
    if pair.certain:
        certain_note = f"{pair.certain:,} surely do"
    else:
        certain_note = "none surely does"
    return (
        f"{pair.first} and {pair.second}: of {pair.possible:,} pairs of classes that may share "
        f"people {certain_note}; "
        f"{_sharing_clause(pair.below)} with fewer than {pair.smallest}{value_note}"
    )


def _sharing_clause(bounds: tuple[int, int]) -> str:
    return f"{_people_range(bounds)} {'shares' if bounds in ((0, 0), (1, 1)) else 'share'} both"


def _people_range(bounds: tuple[int, int]) -> str:
    """Format a lower and an upper bound on a number of people."""
    low, high = bounds
    if low == high:
        if high:
            return people(high)
        return "nobody"
    if low:
        return f"at least {low:,} and at most {people(high)}"
    return f"nobody for certain and at most {people(high)}"


# --- text -----------------------------------------------------------------------------------------
@results.text_of.register(composition.Composition)
def composition_text(
    result: composition.Composition, *, written: Sequence[Any] = ()
) -> RenderableType:
    """Render the answer, the releases, metrics alone and joint, and the risk each release adds."""
    parts: list[RenderableType] = [
        Text(joint_risk_sentence(result)),
        *map(bullet, sentences(result)),
    ]
    release_grid = grid(*_release_table(result)[0], right=(2, 3))
    for release, kind, record_count, classes, how in _release_table(result)[1]:
        release_grid.add_row(release, kind, f"{record_count:,}", f"{classes:,}", how)
    parts += [heading("The releases"), release_grid]
    for attribute in _attributes(result):
        if attribute is None:
            title = "Whose record is it?"
        else:
            title = f"What is learnt about {attribute}"
        head, rows = metric_table(result, attribute)
        table = grid(*head, right=range(1, len(head)))
        for name, *cells in rows:
            table.add_row(name, *("-" if cell is None else number(cell) for cell in cells))
        parts += [heading(title), table]
    if lines := list(_added_risk_sentences(result)):
        parts += [heading("What each release adds to those before it"), *map(bullet, lines)]
    if result.notes:
        parts += [Text(""), *(bullet(noted(note)) for note in result.notes)]
    return Group(*parts, *written_text(tuple(written)))


def _release_table(
    result: composition.Composition,
) -> tuple[tuple[str, ...], list[tuple[str, str, int, int, str]]]:
    """Return the head and the rows of the table of releases."""
    return ("release", "kind", "rows", "classes", "people found by"), [
        (
            f"{number} {release.name}",
            release.kind,
            release.people,
            release.classes,
            "-" if release.found is None else release.found.how,
        )
        for number, release in enumerate(result.releases, start=1)
    ]


def _attributes(result: composition.Composition) -> list[str | None]:
    last = result.measurement
    if last is None:
        return []
    return [None, *last.sensitive]


def _scores(measured: Measurement | None, attribute: str | None) -> dict[str, Any]:
    if measured is None:
        return {}
    return dict(measured.identity if attribute is None else measured.sensitive.get(attribute, {}))


def metric_table(
    result: composition.Composition, attribute: str | None
) -> tuple[list[str], list[list[Any]]]:
    """Return the head and the rows of a table of metrics, for each release alone and for all.

    A cell is None if a release lacks the metric.
    """
    columns = [_scores(release.alone, attribute) for release in result.releases] + [
        _scores(result.measurement, attribute)
    ]
    head = [
        "metric",
        *(f"{number} alone" for number in range(1, len(result.releases) + 1)),
        "together",
    ]
    rows = [
        [name, *(scores[name].number if name in scores else None for scores in columns)]
        for name in columns[-1]
    ]
    return head, rows


def _added_risk_sentences(result: composition.Composition) -> Iterator[str]:
    for before, release in zip(result.releases, result.releases[1:], strict=False):
        for attribute in _attributes(result):
            score_changes = [
                f"{score.metric.name} {number(_scores(before.so_far, attribute)[name].number)} "
                f"to {number(score.number)}"
                for name, score in _scores(release.so_far, attribute).items()
                if (score.metric.leads or score.metric.common)
                and name in _scores(before.so_far, attribute)
            ]
            if attribute is None:
                bits = ""
            else:
                bits = f"{_added_bits(before, release, attribute):+.4g} bits; "
            yield (
                f"{release.name}{'' if attribute is None else f', about {attribute}'}: "
                f"{bits}{', '.join(score_changes)}"
            )


def _added_bits(
    before: composition.OneRelease, release: composition.OneRelease, attribute: str
) -> float:
    """Mean information about an attribute that a release adds to those before it, in bits."""
    if before.so_far is None or release.so_far is None:
        return math.nan
    return (
        release.so_far.information_about(attribute)[0]
        - before.so_far.information_about(attribute)[0]
    )


# --- JSON and table -------------------------------------------------------------------------------
@results.document_of.register(composition.Composition)
def composition_document(
    result: composition.Composition, *, written: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return the document of `divulge compose --json`."""
    before: list[composition.OneRelease | None] = [None, *result.releases[:-1]]
    return {
        "releases": [
            _release_document(release, earlier)
            for earlier, release in zip(before, result.releases, strict=True)
        ],
        "together": results.plain(result.together),
        "invariance": [{**results.plain(item), "m": item.m} for item in result.invariance],
        "derived": [results.plain(item) for item in result.derived],
        "notes": list(result.notes),
        "settings": dict(result.settings),
        "written": [str(path) for path in written],
    }


def _release_document(
    release: composition.OneRelease, before: composition.OneRelease | None
) -> dict[str, Any]:
    return {
        "name": release.name,
        "kind": release.kind,
        "people": release.people,
        "classes": release.classes,
        "found": results.plain(release.found),
        "alone": _measurement_document(release.alone),
        "so_far": _measurement_document(release.so_far),
        "adds": None
        if before is None or release.so_far is None
        else _added_document(before, release),
    }


def _measurement_document(measured: Measurement | None) -> dict[str, Any] | None:
    if measured is None:
        return None
    return {
        "people": measured.people,
        "classes": measured.class_count,
        "identity": {name: score.number for name, score in measured.identity.items()},
        "sensitive": {
            attribute: {name: score.number for name, score in scores.items()}
            for attribute, scores in measured.sensitive.items()
        },
    }


def _added_document(
    before: composition.OneRelease, release: composition.OneRelease
) -> dict[str, Any]:
    def differences(attribute: str | None) -> dict[str, float | None]:
        earlier = _scores(before.so_far, attribute)
        score_differences = {
            name: float(score.value) - float(earlier[name].value)
            for name, score in _scores(release.so_far, attribute).items()
            if name in earlier
        }
        return {
            name: value if math.isfinite(value) else None
            for name, value in score_differences.items()
        }

    if release.so_far is None:
        names = []
    else:
        names = list(release.so_far.sensitive)
    return {
        "bits": {name: _added_bits(before, release, name) for name in names},
        "identity": differences(None),
        "sensitive": {name: differences(name) for name in names},
    }


@results.rows_of.register(composition.Composition)
def composition_rows(result: composition.Composition) -> results.Rows:
    """Table with one row for each number of each release, alone and joint with those before.

    Without the original table, it has a row for each pair of releases.
    """
    if result.together is None:
        head = (
            "first",
            "second",
            "attribute",
            "possible",
            "certain",
            "smallest",
            "at_least_below",
            "at_most_below",
        )
        return head, [
            (
                pair.first,
                pair.second,
                pair.attribute,
                pair.possible,
                pair.certain,
                pair.smallest,
                *pair.below,
            )
            for pair in result.derived
        ]
    rows = [
        (release.name, scope, attribute, name, float(score.value))
        for release in result.releases
        for scope, measurement in (("alone", release.alone), ("so far", release.so_far))
        for attribute in _attributes(result)
        for name, score in _scores(measurement, attribute).items()
    ]
    return ("release", "told", "attribute", "name", "value"), rows


# --- HTML -----------------------------------------------------------------------------------------
def answer(result: composition.Composition) -> Html:
    """Return the most important finding as HTML."""
    return html.escape(joint_risk_sentence(result))


def sections(result: composition.Composition, chart: Html | None) -> Html:
    """Build the HTML: findings, releases, chart, metrics alone and joint, added risk."""
    head, rows = _release_table(result)
    parts: list[Any] = [
        html.bullets(*sentences(result)),
        el("div", html.table(head, rows), class_="card"),
    ]
    if chart:
        parts += [el("div", chart, class_="card")]
    for attribute in _attributes(result):
        names, table = metric_table(result, attribute)
        if attribute is None:
            title = "Whose record is it?"
        else:
            title = f"What is learnt about {attribute}"
        metric_rows = [(metric_words(name), *cells) for name, *cells in table]
        parts += [el("h3", title), el("div", html.table(names, metric_rows), class_="card")]
    if lines := list(_added_risk_sentences(result)):
        parts += [el("h3", "What each release adds to those before it"), html.bullets(*lines)]
    if result.notes:
        parts += [html.bullets(*(noted(note) for note in result.notes))]
    return joined(parts)


@results.html_of.register(composition.Composition)
def composition_html(result: composition.Composition, **_: Any) -> str:
    """Return the HTML for notebooks."""
    if result.together is not None:
        chart = summary.main_picture(result)
    else:
        chart = None
    return summary.notebook(el("p", answer(result), class_="verdict"), sections(result, chart))


# --- one person -----------------------------------------------------------------------------------
@results.text_of.register(composition.PersonDossier)
def person_text(person_dossier: composition.PersonDossier, **_: Any) -> RenderableType:
    """Render the leakage of a person after each release, and the final posterior."""
    last = person_dossier.steps[-1]
    table = grid(
        "release", "her class", "people in it", "leakage alone", "leakage so far", right=(2, 3, 4)
    )
    for step in person_dossier.steps:
        if step.alone is None:
            single_leakage = "-"
        else:
            single_leakage = number(step.alone)
        table.add_row(
            step.release,
            class_name(step.key) if step.key else "not there",
            f"{step.people:,}",
            single_leakage,
            number(step.so_far),
        )
    posterior_lines = [
        f"{a.label}={a.value}: {c:.3g}"
        for a, c in sorted(last.record.attributes.items(), key=lambda item: -item[1])
    ]
    return Group(
        Text(
            f"{person_dossier.person}: leakage {number(last.so_far)} after "
            f"{len(person_dossier.steps)} releases; {last.together:,} share all her classes."
        ),
        table,
        heading("What is believed of her then"),
        *map(bullet, posterior_lines),
        Text(""),
        *(bullet(noted(note)) for note in person_dossier.notes),
    )


@results.document_of.register(composition.PersonDossier)
def person_document(person_dossier: composition.PersonDossier, **_: Any) -> dict[str, Any]:
    """Return the document of `divulge compose --who --json`."""
    return {
        "person": person_dossier.person,
        "reference": {a.label: a.value for a in person_dossier.reference.attributes},
        "steps": [
            {
                "release": step.release,
                "class": step.key,
                "people": step.people,
                "together": step.together,
                "leakage_alone": step.alone,
                "leakage_so_far": step.so_far,
                "record": [[a.label, a.value, c] for a, c in step.record.attributes.items()],
            }
            for step in person_dossier.steps
        ],
        "notes": list(person_dossier.notes),
        "settings": dict(person_dossier.settings),
    }


@results.rows_of.register(composition.PersonDossier)
def person_rows(person_dossier: composition.PersonDossier, **_: Any) -> results.Rows:
    """Table with one row for each release."""
    head = ("release", "people", "together", "leakage_alone", "leakage_so_far")
    return head, [
        (step.release, step.people, step.together, step.alone, step.so_far)
        for step in person_dossier.steps
    ]
